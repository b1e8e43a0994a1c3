"""CREATE CUBE … FROM beside the same statements by hand; a dashboard with and without rollups over fewer columns."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import rewriter
from benchmarks.timing import Figure, Table, ratio, seconds
from rewriter.dbapi.connection import Connection

#: Three years of events of 20,000 users, in files; each dimension but the user has few values.
DAYS, EVENTS, USERS = 1096, 2_700_000, 20_000
_FILES = f"""
INSERT OVERWRITE DIRECTORY '{{}}' USING parquet
SELECT timestamp_seconds(1704067200 + CAST(id * {DAYS * 86_400} / {EVENTS} AS BIGINT)) AS viewed_at,
  concat('page ', id % 40) AS page, concat('country ', id % 7) AS country, id * 7919 % {USERS} AS user_id,
  id % 1000 AS ms
FROM range({EVENTS})
"""
_CREATE = (
    "CREATE CUBE views FROM parquet.`{}` TIME viewed_at DIMENSIONS (page, country, user_id) "
    "MEASURES (COUNT(*) AS views, SUM(ms) AS ms, MAX(ms) AS slowest){}"
)
_WIDE = " ROLLUPS (HOURLY, DAILY, MONTHLY)"
_NARROW = (
    " ROLLUPS (HOURLY, DAILY, MONTHLY, DAILY (page), DAILY (country), DAILY (page, country), MONTHLY (page, country))"
)
#: 20 queries of a dashboard: by page or country, over 20 ranges of days.
_DASHBOARD = [
    f"SELECT {key}, COUNT(*) AS n, SUM(ms) AS ms FROM views WHERE viewed_at >= '2024-01-{1 + number:02d}' "
    f"AND viewed_at < '2026-11-{5 + number:02d}' GROUP BY {key}"
    for number in range(20)
    for key in (("page", "country")[number % 2],)
]


def measure() -> Table:
    """Returns the figures of both, on DuckDB."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = Path(folder) / "events"
        with rewriter.connect(Path(folder) / "source", engine="duckdb") as connection:
            connection.execute("CREATE TABLE none (n INT)")
            connection.execute(_FILES.format(files))
        texts: list[str] = []
        with rewriter.connect(Path(folder) / "wide", engine="duckdb") as wide:
            short = seconds(
                lambda: texts.extend(row[0] for row in wide.execute(_CREATE.format(files, _WIDE)).fetchall())
            )
            wide_rows, wide_time = _dashboard(wide)
        with rewriter.connect(Path(folder) / "hand", engine="duckdb") as connection:

            def by_hand() -> None:
                for text in texts:
                    connection.execute(text.rstrip(";"))

            hand = seconds(by_hand)
        with rewriter.connect(Path(folder) / "narrow", engine="duckdb") as narrow:
            both = seconds(lambda: narrow.execute(_CREATE.format(files, _NARROW)))
            narrow_rows, narrow_time = _dashboard(narrow)
            plan = seconds(lambda: [narrow.session.plan(query) for query in _DASHBOARD], 5) / len(_DASHBOARD)
            narrow.execute(
                "ALTER FACT views_all ADD ROLLUP HOURLY (country), DAILY (user_id), MONTHLY (page), MONTHLY (country)"
            )
            twelve = seconds(lambda: [narrow.session.plan(query) for query in _DASHBOARD], 5) / len(_DASHBOARD)
        with rewriter.connect(Path(folder) / "wide", engine="duckdb") as wide:
            three = seconds(lambda: [wide.session.plan(query) for query in _DASHBOARD], 5) / len(_DASHBOARD)
    return Table(
        f"A cube of {EVENTS:,} events of {USERS:,} users, by one statement",
        (
            Figure("CREATE CUBE … FROM, rollups of hours, days and months", short, f"{short / hand:.2f}× of the next"),
            Figure("— the five statements that it stands for", hand),
            Figure("CREATE CUBE … FROM, these rollups and 4 narrow ones", both),
            Figure("20 queries of a dashboard, wide rollups alone", wide_time, f"{wide_rows:,} rows read"),
            Figure("20 queries of a dashboard, narrow rollups, too", narrow_time,
                   f"{narrow_rows:,} rows read; {ratio(wide_time, narrow_time)} faster"),
            Figure("planning one of them, 4 tables in the fact", three),
            Figure("planning one of them, 8 tables", plan, f"{plan / three:.2f}× of 4 tables"),
            Figure("planning one of them, 12 tables", twelve, f"{twelve / three:.2f}× of 4 tables"),
        ),
    )  # fmt: skip


def _dashboard(connection: Connection) -> tuple[int, float]:
    """Returns the rows of the partitions that the queries read, and their time."""

    def run() -> None:
        for query in _DASHBOARD:
            connection.execute(query).fetchall()

    run()
    rows = 0
    for query in _DASHBOARD:
        certificate = connection.execute(query).certificate
        assert certificate is not None
        rows += sum(piece["rows"] for piece in certificate["references"][0]["pieces"])
    return rows, seconds(run, 3)
