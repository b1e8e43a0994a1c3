"""MAINTAIN FACT over ten years of hours; ALTER CUBE; DROP FACT and an equal CREATE FACT; REFRESH FACT of a year beside
INSERTs by hand.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from types import FrameType

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


_HOURS_TO_MONTHS = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, flights BIGINT) PARTITIONED BY (h STRING);
CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (d DATE);
CREATE TABLE months (carrier STRING, flights BIGINT) PARTITIONED BY (m STRING);
CREATE TABLE days_by_hand (carrier STRING, flights BIGINT) PARTITIONED BY (d DATE);
CREATE TABLE months_by_hand (carrier STRING, flights BIGINT) PARTITIONED BY (m STRING);
CREATE FACT flown OF CUBE flights STORED IN (
  TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (h), TABLE days PERIOD DAILY PARTITIONED BY departed AS (d),
  TABLE months PERIOD MONTHLY PARTITIONED BY departed AS (m = 'yyyy-MM'));
SET rewriter.now = '2024-02-01 00:00';
INSERT INTO hours SELECT c, 1L,
  date_format(timestamp_seconds(1672531200 + 3600 * id), 'yyyy-MM-dd-HH')
  FROM range({hours}) CROSS JOIN (VALUES ('AA'), ('UA')) AS v (c)
"""
_DAYS_BY_HAND = (
    "INSERT OVERWRITE days_by_hand SELECT carrier, SUM(flights), CAST(substring(h, 1, 10) AS DATE) "
    "FROM hours GROUP BY carrier, CAST(substring(h, 1, 10) AS DATE)"
)
_MONTHS_BY_HAND = (
    "INSERT OVERWRITE months_by_hand SELECT carrier, SUM(flights), substring(h, 1, 7) "
    "FROM hours GROUP BY carrier, substring(h, 1, 7)"
)
#: Hours of 90 days, and of the year 2023.
_SEASON, _YEAR = 2_160, 8_760


def measure_refresh(turns: int = 5) -> Table:
    """Returns the time of REFRESH FACT of hours to days and months, and of two INSERTs by hand, in turns; and the
    calls of functions of this package.
    """
    refresh: list[float] = []
    by_hand: list[float] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(turns + 1):
            with rewriter.connect(Path(folder) / str(turn), engine="duckdb") as connection:
                run = connection.execute
                for statement in _HOURS_TO_MONTHS.format(hours=_YEAR if turn < turns else _SEASON).split(";"):
                    run(statement)
                if turn == turns:
                    calls = calls_of_ours(partial(run, "REFRESH FACT flown"))
                    break

                statements = [(refresh, ["REFRESH FACT flown"]), (by_hand, [_DAYS_BY_HAND, _MONTHS_BY_HAND])]
                # Whatever runs first warms the caches of the engine for the other.
                for times, texts in statements if turn % 2 else reversed(statements):
                    times.append(sum(seconds(partial(run, text)) for text in texts))
                assert run("SELECT * FROM days ORDER BY d, carrier").fetchall() == (
                    run("SELECT * FROM days_by_hand ORDER BY d, carrier").fetchall()
                )
                assert run("SELECT * FROM months ORDER BY m, carrier").fetchall() == (
                    run("SELECT * FROM months_by_hand ORDER BY m, carrier").fetchall()
                )
    computed, inserted = median(refresh), median(by_hand)
    return Table(
        f"REFRESH FACT of {_YEAR:,} hours to days and months",
        (
            Figure("REFRESH FACT", computed, f"{computed / inserted:.2f}×; {calls:,} calls for {_SEASON:,} hours"),
            Figure("— two INSERT OVERWRITE by hand, over the hours", inserted),
        ),
    )


def calls_of_ours(run: Callable[[], object]) -> int:
    """Returns the number of calls of functions of this package in this thread, resumed generators included."""
    calls = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_globals.get("__name__", "").partition(".")[0] == "rewriter"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls
