"""Certificates: their size, and the time to check them; shadow proofs: their cost, and when they find a fault."""

from __future__ import annotations

import itertools
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import rewriter
from benchmarks.timing import Figure, Table, WideTable, seconds, shown
from rewriter.dbapi.connection import Connection
from rewriter.statements.query.certificates import check_certificate

#: A fact of hours, days and months.
HOURS_DAYS_MONTHS = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, flights BIGINT) PARTITIONED BY (h STRING);
CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (d DATE);
CREATE TABLE months (carrier STRING, flights BIGINT) PARTITIONED BY (m STRING);
CREATE FACT flown OF CUBE flights STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (h), TABLE days PERIOD DAILY PARTITIONED BY departed AS (d),
  TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (m = 'yyyy-MM'));
"""
#: A year of hours; late events in each third week, half of them refreshed: pieces of months, days and hours.
_YEAR = f"""{HOURS_DAYS_MONTHS}INSERT INTO hours SELECT c, 1L,
  date_format(timestamp_seconds(1672531200 + 3600 * id), 'yyyy-MM-dd-HH')
  FROM range(8760) CROSS JOIN (VALUES ('AA'), ('UA')) AS v (c);
REFRESH FACT flown
"""
_LATE = "INSERT INTO hours VALUES ('AA', 1, '2023-{:02d}-{:02d}-07')"
_YEAR_QUERY = (
    "SELECT carrier, SUM(flights) AS n FROM flights "
    "WHERE departed >= '2023-01-01 05:00' AND departed < '2023-12-31 20:00' GROUP BY carrier"
)

#: Events and their sums, an hour each: 10,000 partitions of both.
HOURS, EVENTS = 10_000, 100
_EVENTS = f"""
CREATE CUBE clicks (page STRING, clicks BIGINT MEASURE COUNT, spent BIGINT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE events (at TIMESTAMP, page STRING, spent BIGINT) PARTITIONED BY (h STRING);
CREATE TABLE sums (page STRING, clicks BIGINT, spent BIGINT) PARTITIONED BY (h STRING);
CREATE FACT clicked OF CUBE clicks STORED IN (
  TABLE events PERIOD HOURLY PARTITIONED BY at AS (h) RAW, TABLE sums PERIOD HOURLY PARTITIONED BY at AS (h));
SET rewriter.max_dynamic_partitions = 20000;
INSERT INTO events SELECT timestamp_seconds(s + 30 * e), concat('page ', e % 20), e * 7,
  date_format(timestamp_seconds(s), 'yyyy-MM-dd-HH')
  FROM (SELECT 1672531200 + 3600 * id AS s FROM range({HOURS})) CROSS JOIN (SELECT id AS e FROM range({EVENTS}));
REFRESH FACT clicked
"""
_EVENTS_QUERY = (
    "SELECT page, SUM(spent) AS spent FROM clicks WHERE at >= '2023-01-01' AND at < '2024-02-21 16:00' GROUP BY page"
)
#: The most queries of a trial, the trials of a setting, and the percentages of queries that get a proof.
QUERIES, TRIALS, PERCENTS = 4_000, 2, (1, 3, 10)


@contextmanager
def world(script: str) -> Iterator[Connection]:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rewriter.connect(Path(folder) / "warehouse", engine="duckdb") as connection:
            for statement in script.split(";"):
                connection.execute(statement)
            yield connection


def measure() -> Table:
    """Returns the figures of a certificate of a year of mixed pieces."""
    with world(_YEAR) as connection:
        for week in range(17):
            connection.execute(_LATE.format(1 + week * 3 * 7 // 31, 1 + week * 3 * 7 % 28))
        connection.execute("REFRESH FACT flown FROM '2023-01-01' TO '2023-07-01'")
        made = seconds(lambda: connection.execute(f"EXPLAIN CERTIFICATE {_YEAR_QUERY}").fetchall(), 5)
        certificate = connection.execute(_YEAR_QUERY).certificate
        assert certificate is not None
        size, pieces = len(json.dumps(certificate)), len(certificate["references"][0]["pieces"])
        verdict = check_certificate(certificate, connection.session.catalog)
        assert verdict.is_accepted, verdict
        checked = seconds(lambda: check_certificate(certificate, connection.session.catalog), 5)
        off, verified = (_seconds_of_new_texts(connection, mode) for mode in ("off", "certificate"))
        new_off, new_verified = (_seconds_of_new_ranges(connection, mode) for mode in ("off", "certificate"))
        connection.execute(_YEAR_QUERY).fetchall()
        again = seconds(lambda: connection.execute(_YEAR_QUERY).fetchall(), 25)
    return Table(
        "A certificate of a year",
        (
            Figure("EXPLAIN CERTIFICATE", made, f"{size / 1000:.1f} kB, {pieces} pieces"),
            Figure("the check", checked, f"of {sum(p['partitions'] for p in certificate['references'][0]['pieces'])} "
                   "partitions, all of them read"),
            Figure("a query of a new text, over a range that others read", off, "unchecked"),
            Figure("the same, with `rewriter.verify = certificate`", verified, f"{1000 * (verified - off):+.1f} ms"),
            Figure("a query over a new range", new_off, "unchecked"),
            Figure("the same, verified", new_verified, f"{1000 * (new_verified - new_off):+.1f} ms"),
            Figure("a text that ran before, verified", again),
        ),
    )  # fmt: skip


def _seconds_of_new_texts(connection: Connection, mode: str) -> float:
    """Returns the median time of queries whose texts are all different, between two commits."""
    connection.execute(f"SET rewriter.verify = {mode}")
    numbers = itertools.count()
    return seconds(lambda: connection.execute(_YEAR_QUERY.replace("AS n", f"AS {mode}_{next(numbers)}")).fetchall(), 25)


def _seconds_of_new_ranges(connection: Connection, mode: str) -> float:
    """Returns the median time of queries whose ranges are all different, between two commits."""
    connection.execute(f"SET rewriter.verify = {mode}")
    # Both modes read different ranges.
    hours = itertools.count(5 if mode == "off" else 35)
    return seconds(
        lambda: connection.execute(_YEAR_QUERY.replace("01-01 05", _day_and_hour(next(hours)))).fetchall(), 25
    )


def _day_and_hour(hour: int) -> str:
    return f"01-{1 + hour // 24:02d} {hour % 24:02d}"


def _plant(connection: Connection) -> None:
    """Changes one number of the rollups, in its file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The last refresh wrote the newest file. No query reads older files.
    files = Path(connection.session.catalog.warehouse).rglob("sums-*/**/*.parquet")
    path = max(files, key=lambda file: file.stat().st_mtime_ns)
    table = pq.read_table(path)
    spent = table["spent"].to_pylist()
    spent[len(spent) // 2] += 1
    pq.write_table(table.set_column(table.schema.get_field_index("spent"), "spent", pa.array(spent)), path)


def measure_proofs(percents: tuple[int, ...] = PERCENTS, trials: int = TRIALS, queries: int = QUERIES) -> WideTable:
    """Returns the cost of shadow proofs of a part of the queries, and the query after which a wrong row was found, in
    each trial.
    """
    rows = []
    with world(_EVENTS) as connection:
        connection.execute("SET rewriter.verify_when = before")
        for percent in percents:
            plain: list[float] = []
            proven: list[float] = []
            compared = 0
            findings = []
            for _ in range(trials):
                connection.execute("REFRESH FACT clicked FORCE")
                _plant(connection)
                connection.execute("SET rewriter.verify = off")
                for _ in range(20):
                    connection.execute(_EVENTS_QUERY).fetchall()
                connection.execute(f"SET rewriter.verify = {percent}%")
                finding = None
                for number in range(1, queries + 1):
                    begun = time.perf_counter()
                    cursor = connection.execute(_EVENTS_QUERY)
                    cursor.fetchall()
                    proof = None if cursor.stats is None else cursor.stats.shadow_proof
                    times = plain if proof is None or not proof.partitions else proven
                    times.append(time.perf_counter() - begun)
                    compared += 0 if proof is None else proof.compared
                    if proof is not None and proof.differing:
                        finding = number
                findings.append("not found" if finding is None else f"{finding:,}")
            query = median(plain)
            every = len(plain) + len(proven)
            rows.append(
                (
                    f"{percent} %",
                    shown(query),
                    f"{(sum(proven) - query * len(proven)) / (query * every):+.1%}",
                    shown(sum(proven) / max(1, len(proven))),
                    f"{1000 * compared // every:,}",
                    ", ".join(findings),
                )
            )
    return WideTable(
        f"Shadow proofs of up to {queries:,} queries over {HOURS:,} rollups of {HOURS * EVENTS:,} events",
        (
            "`rewriter.verify`",
            "a query",
            "more time in all",
            "a query with a proof",
            "rollups compared in 1,000 queries",
            "wrong row left covers with query",
        ),
        tuple(rows),
    )
