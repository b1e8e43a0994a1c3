"""MAINTAIN FACT over ten years of hours; ALTER CUBE; DROP FACT and an equal CREATE FACT."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import rewriter
from benchmarks.timing import Figure, Table, seconds

#: Hours of ten years, from 2014 on.
HOURS = 87_648
_CREATE = (
    "CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
    "ROLLUPS (DAILY, MONTHLY, DAILY (), MONTHLY ())"
)
_WORLD = f"""
CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME);
CREATE TABLE h (page STRING, n BIGINT) PARTITIONED BY (dt STRING);
{_CREATE};
SET rewriter.max_dynamic_partitions = 200000;
SET rewriter.now = '2024-01-01 00:00';
INSERT INTO h
  SELECT 'a', 1L, date_format(timestamp_seconds(1388534400 + 3600 * id), 'yyyy-MM-dd-HH') FROM range({HOURS})
"""
_QUERY = "SELECT COUNT(*) FROM v WHERE t >= '2014-01-01' AND t < '2024-01-01'"


def measure() -> Table:
    """Returns the figures, on DuckDB and SQLite."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with rewriter.connect(Path(folder) / "w", engine="duckdb") as connection:
            run = connection.execute
            for statement in _WORLD.split(";"):
                run(statement)
            first = seconds(lambda: run("MAINTAIN FACT f").fetchall())
            nothing = seconds(lambda: run("MAINTAIN FACT f").fetchall(), 5)
            run("INSERT INTO h VALUES ('b', 1, '2023-05-05-05')")
            late = seconds(lambda: run("MAINTAIN FACT f").fetchall())
            run("INSERT INTO h VALUES ('b', 1, '2023-06-05-05')")
            refresh = seconds(lambda: run("REFRESH FACT f").fetchall())
            insert = seconds(lambda: run("INSERT INTO h VALUES ('b', 1, '2023-07-05-05')"))
            refresh_alone = seconds(lambda: run("REFRESH FACT f").fetchall())
            run("ALTER FACT f SET REFRESH ON COMMIT")
            on_commit = seconds(lambda: run("INSERT INTO h VALUES ('b', 1, '2023-08-05-05')"))
            run("ALTER FACT f UNSET REFRESH ON COMMIT")
            run("ALTER TABLE h ADD COLUMNS (city STRING, ms INT)")
            alterations = [
                Figure(text, seconds(lambda text=text: run(text)))  # type: ignore[misc]
                for text in (
                    "ALTER CUBE v ADD (city STRING, ms INT MEASURE SUM)",
                    "ALTER CUBE v ALTER ms TYPE BIGINT",
                    "ALTER CUBE v RENAME COLUMN page TO url",
                    "ALTER CUBE v DROP (city, ms)",
                )
            ]
            run("ALTER FACT f TABLE h SET RETAIN 90 DAYS")
            retain = seconds(lambda: run("MAINTAIN FACT f").fetchall())
            before = run(_QUERY).fetchall()
            drop = seconds(lambda: run("DROP FACT f"))
            create = seconds(lambda: run(_CREATE))
            assert run(_QUERY).fetchall() == before == [(HOURS + 4,)]
    return Table(
        f"MAINTAIN FACT and ALTER CUBE over {HOURS:,} hours, with 4 rollups",
        (
            Figure("all rollups are missing", first),
            Figure("nothing to do", nothing),
            Figure("one late hour", late),
            Figure("— REFRESH FACT after another late hour", refresh, f"{late / refresh:.2f}×"),
            Figure("INSERT of a late hour, with REFRESH ON COMMIT", on_commit),
            Figure(
                "— INSERT, then REFRESH FACT", insert + refresh_alone, f"{on_commit / (insert + refresh_alone):.2f}×"
            ),
            *alterations,
            Figure("RETAIN 90 DAYS, for the first time: 85,440 hours leave", retain),
            Figure("DROP FACT", drop),
            Figure("CREATE FACT of the same meaning: 7,500 proofs are kept", create),
        ),
    )
