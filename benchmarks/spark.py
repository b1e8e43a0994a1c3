"""A session of Spark with a warehouse beside the same session without one: queries, writes, and many rows, in turns."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.planning import SQL
from benchmarks.timing import WideTable, shown

#: The turns of each measure, and of those of many events.
TURNS, LONG_TURNS = 7, 3
ROWS = 5_000_000
_TABLES = ("flights_hourly", "flights_daily", "flights_monthly")
_SUMS = """SUM(distance) AS distance, SUM(flights) AS flights, SUM(delay) / NULLIF(SUM(departures), 0) AS delay,
  MAX(worst_delay) AS worst"""
_COLUMNS = "carrier, distance, flights, delay, departures, worst_delay"
_EVENTS = """SELECT CAST(id % 1000 AS INT) AS a, id AS b, CAST(id AS DOUBLE) AS c,
  concat('key', id % 5000) AS s, {partition} AS dt FROM range({rows})"""
_HOUR = "date_format(timestamp_seconds(1704067200 + 3600 * ({hour})), 'yyyy-MM-dd-HH')"
#: Nine of ten rows are in the first of 24 hours.
_SKEWED = "CASE WHEN id % 10 < 9 THEN 0 ELSE id DIV 10 % 24 END"

#: Events spread over the year 2024, and queries over them, of a cube or of plain rows.
_VISITS = """SELECT CAST(id % 997 AS INT) AS page, id % 4096 AS bytes, at, date_format(at, 'yyyy-MM-dd') AS dt FROM (
  SELECT id, timestamp_seconds(1704067200 + id * 31536000 DIV {events}) AS at FROM range({events}))"""
_VISIT_QUERIES = {
    "by page, 300 days": """SELECT page, COUNT(*) AS visits, SUM(bytes) AS bytes FROM {source}
      WHERE {time} >= '2024-02-03' AND {time} < '2024-11-29' GROUP BY page""",
    "by day, a year": """SELECT to_date({time}) AS day, COUNT(*) AS visits FROM {source}
      WHERE {time} >= '2024-01-01' AND {time} < '2024-12-31' GROUP BY to_date({time})""",
    "by page, cut inside of two days": """SELECT page, SUM(bytes) AS bytes FROM {source}
      WHERE {time} >= '2024-02-03 10:30' AND {time} < '2024-11-29 07:15' GROUP BY page""",
    "MEDIAN of a month, which no rollup has": """SELECT page, MEDIAN(bytes) AS median FROM {source}
      WHERE {time} >= '2024-03-01' AND {time} < '2024-04-01' GROUP BY page""",
}

#: What is measured in turns: a name, and the function of a turn's number that does it.
_Ways = Mapping[str, Callable[[int], object]]


def measure(warehouse: Path, spark: Any, rows: int = ROWS) -> WideTable:
    """Returns the medians of a warm session ``spark``. ``warehouse`` has the flights (``benchmarks.flights``)."""
    work = warehouse.parent / "spark_sessions"
    work.mkdir(exist_ok=True)
    load = os.getloadavg()
    try:
        with rewriter.spark.register(spark, warehouse) as lake, _quiet(spark):
            cells = [
                ("query of a month, days and hours", _in_turns(_queries(lake, spark, work), TURNS)),
                ("INSERT of 1,000 hours", _in_turns(_inserts(lake, spark, work, 100_000, "1000", "id % 1000"), TURNS)),
                (
                    f"INSERT of {rows:,} rows, 24 hours",
                    _in_turns(_inserts(lake, spark, work, rows, "24", "id % 24"), TURNS),
                ),
                (
                    f"INSERT of {rows:,} rows, 24 hours, 90 % in one",
                    _in_turns(_inserts(lake, spark, work, rows, "skewed", _SKEWED), TURNS),
                ),
                ("OVERWRITE of a day", _in_turns(_overwrites(lake, spark, work), TURNS)),
                ("REFRESH of a month of days", _in_turns(_refreshes(lake, spark, work), TURNS)),
                (f"{2 * rows:,} rows out", _in_turns(_results(lake, spark, work, rows), TURNS)),
            ]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    lines = []
    for what, medians in cells:
        plain = list(medians.values())[-1]
        lines += [(what, way, shown(median), f"{median / plain:.2f}×") for way, median in medians.items()]
    return WideTable(
        "A warehouse in a session of Spark",
        ("what", "way", "median", "of the last way"),
        tuple(lines),
        (
            f"Medians of {TURNS} turns; each turn does every way once.",
            f"Load of {os.cpu_count()} cores: {load[0]:.0f} at the start, {os.getloadavg()[0]:.0f} at the end.",
        ),
    )


def measure_events(folder: Path, spark: Any, events: int) -> WideTable:
    """Returns the medians of queries of a cube over a year of events, beside plain Spark over the events' files, and
    the seconds to load them and to build the rollups.
    """
    load = os.getloadavg()
    with rewriter.spark.register(spark, folder / "events_warehouse") as lake, _quiet(spark):
        execute = lake.connection.execute
        execute("CREATE TABLE visits (page INT, bytes BIGINT, at TIMESTAMP) PARTITIONED BY (dt STRING)")
        execute(
            "CREATE CUBE traffic (page INT, visits BIGINT MEASURE COUNT, bytes BIGINT MEASURE SUM, t TIMESTAMP TIME)"
        )
        execute(
            "CREATE FACT traffic_all OF CUBE traffic STORED IN (TABLE visits PERIOD DAILY PARTITIONED BY t AS (dt) "
            "RAW (t AS at)) ROLLUPS (DAILY, MONTHLY)"
        )
        source = spark.sql(_VISITS.format(events=events))
        spent = {}
        for what, run in (
            ("load", lambda: lake.connection.append("visits", source)),
            ("REFRESH of days and months", lambda: execute("REFRESH FACT traffic_all")),
        ):
            start = time.perf_counter()
            run()
            spent[what] = time.perf_counter() - start
        snapshot = lake.connection.session.snapshot()
        files = {file.path for _, file in snapshot.files(snapshot.table("visits"))}  # Several partitions share one.
        spark.read.parquet(*files).createOrReplaceTempView("plain_visits")
        lines = [(what, "rewriter", shown(seconds), "") for what, seconds in spent.items()]
        for what, sql in _VISIT_QUERIES.items():
            ways = {
                "`lake.sql`": partial(_collect, lake.sql, sql.format(source="traffic", time="t")),
                "plain Spark over the events": partial(
                    _collect, spark.sql, sql.format(source="plain_visits", time="at")
                ),
            }
            assert len({str(run(0)) for run in ways.values()}) == 1, what
            medians = _in_turns(ways, LONG_TURNS)
            plain = list(medians.values())[-1]
            lines += [(what, way, shown(median), f"{median / plain:.3f}×") for way, median in medians.items()]
    return WideTable(
        f"A cube over {events:,} events in a session of Spark",
        ("what", "way", "median", "of the last way"),
        tuple(lines),
        (
            f"A year, 1,000 pages, {len(files):,} files. Medians of {LONG_TURNS} turns; both return the same rows.",
            f"Load of {os.cpu_count()} cores: {load[0]:.0f} at the start, {os.getloadavg()[0]:.0f} at the end.",
        ),
    )


def _collect(run: Callable[[str], Any], sql: str, _: int) -> list[Any]:
    return sorted(run(sql).collect())


@contextmanager
def _quiet(spark: Any) -> Iterator[None]:
    """Sets what ways of plain Spark need, and restores it."""
    wanted = {"spark.sql.sources.partitionOverwriteMode": "dynamic", "spark.sql.session.timeZone": "UTC"}
    before = {name: spark.conf.get(name) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


def _in_turns(ways: _Ways, turns: int) -> dict[str, float]:
    """Returns the median seconds of each way. One turn before is not counted."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 1):
        for name, run in ways.items():
            start = time.perf_counter()
            run(turn)
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


def _queries(lake: Any, spark: Any, work: Path) -> _Ways:
    """The demo's query, from another hour each turn, to 1 March 06:00."""
    snapshot = lake.connection.session.snapshot()
    for name in _TABLES:
        files = {file.path for _, file in snapshot.files(snapshot.table(name))}
        spark.read.parquet(*files).createOrReplaceTempView(f"hand_{name}")
    hours = spark.table("hand_flights_hourly").selectExpr("*", "substring(dt, 1, 10) AS day")
    hours.coalesce(1).sortWithinPartitions("dt").write.parquet(str(work / "one_file"))
    hours.repartition("day").write.partitionBy("day").parquet(str(work / "hive_layout"))
    spark.read.parquet(str(work / "one_file")).createOrReplaceTempView("one_file")
    spark.read.parquet(str(work / "hive_layout")).createOrReplaceTempView("hive_layout")

    def ours(turn: int) -> str:
        return SQL.replace("2013-01-29T06", f"2013-01-{29 - turn:02d}T06")

    def by_hand(turn: int) -> str:
        day = f"2013-01-{29 - turn:02d}"
        after = f"2013-01-{30 - turn:02d}"
        return f"""SELECT carrier, {_SUMS} FROM (
          SELECT {_COLUMNS} FROM hand_flights_monthly WHERE dt = '2013-02'
          UNION ALL SELECT {_COLUMNS} FROM hand_flights_daily WHERE dt >= '{after}' AND dt <= '2013-01-31'
          UNION ALL SELECT {_COLUMNS} FROM hand_flights_hourly WHERE dt >= '{day}-06' AND dt <= '{day}-23'
          UNION ALL SELECT {_COLUMNS} FROM hand_flights_hourly WHERE dt >= '2013-03-01-00' AND dt <= '2013-03-01-05')
          GROUP BY carrier ORDER BY carrier"""

    def plain(turn: int, source: str) -> str:
        day = f"2013-01-{29 - turn:02d}"
        pruned = f"day >= '{day}' AND day <= '2013-03-01' AND " if source == "hive_layout" else ""
        return f"""SELECT carrier, {_SUMS} FROM {source}
          WHERE {pruned} dt >= '{day}-06' AND dt < '2013-03-01-06' GROUP BY carrier ORDER BY carrier"""

    counts = {len(lake.sql(ours(0)).collect()), len(spark.sql(by_hand(0)).collect())}
    assert len(counts) == 1
    return {
        "cursor, known text": lambda _: lake.connection.execute(ours(0)).fetchall(),
        "cursor, new text": lambda turn: lake.connection.execute(ours(turn)).fetchall(),
        "`lake.sql`, known text": lambda _: lake.sql(ours(0)).collect(),
        "`lake.sql`, new text": lambda turn: lake.sql(ours(turn + 10)).collect(),
        "plain Spark, directories of days": lambda turn: spark.sql(plain(turn, "hive_layout")).collect(),
        "plain Spark, one file of hours": lambda turn: spark.sql(plain(turn, "one_file")).collect(),
        "the same SQL by hand, the same files": lambda turn: spark.sql(by_hand(turn)).collect(),
    }


def _inserts(lake: Any, spark: Any, work: Path, rows: int, suffix: str, hour: str) -> _Ways:
    """Rows of a Parquet file into hourly partitions of a new table each turn. ``hour`` computes the partition."""
    source = str(work / f"source_{suffix}")
    partition = _HOUR.format(hour=hour)
    spark.sql(_EVENTS.format(partition=partition, rows=rows)).coalesce(2).write.parquet(source)

    def ours(turn: int) -> None:
        name = f"inserted_{suffix}_{turn}"
        lake.connection.execute(f"CREATE TABLE {name} (a INT, b BIGINT, c DOUBLE, s STRING) PARTITIONED BY (dt STRING)")
        assert lake.connection.append(name, spark.read.parquet(source)).rowcount == rows

    def plain(turn: int) -> None:
        spark.read.parquet(source).write.partitionBy("dt").parquet(str(work / f"plain_{suffix}_{turn}"))

    return {"`lake.connection.append`": ours, "`write.partitionBy`": plain}


def _overwrites(lake: Any, spark: Any, work: Path) -> _Ways:
    """The 24 hours of a day of ``inserted_1000_1`` and of the same rows in directories."""
    day = spark.read.parquet(str(work / "source_1000")).where("dt LIKE '2024-01-05%'")
    plain = str(work / "plain_1000_1")
    return {
        "`lake.connection.overwrite`": lambda _: lake.connection.overwrite("inserted_1000_1", day),
        "`write.mode('overwrite')`, dynamic": lambda _: day.write.mode("overwrite").partitionBy("dt").parquet(plain),
    }


def _refreshes(lake: Any, spark: Any, work: Path) -> _Ways:
    """The days of a month from its hours."""
    execute = lake.connection.execute
    execute(
        "CREATE CUBE refreshed (carrier STRING, flights BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM, "
        "t TIMESTAMP TIME)"
    )
    execute("CREATE TABLE refreshed_hours (carrier STRING, flights BIGINT, distance BIGINT) PARTITIONED BY (dt STRING)")
    execute(
        "CREATE FACT refreshed_all OF CUBE refreshed STORED IN (TABLE refreshed_hours PERIOD HOURLY PARTITIONED BY t "
        "AS (dt)) ROLLUPS (DAILY)"
    )
    hours = "SELECT carrier, flights, distance, dt FROM flights_hourly WHERE dt >= '2013-03-01' AND dt < '2013-04'"
    execute(f"INSERT INTO refreshed_hours MARK COMPLETE FROM '2013-03-01' TO '2013-04-01' {hours}")
    source = str(work / "month")
    lake.sql(hours).coalesce(2).write.parquet(source)

    def ours(_: int) -> None:
        execute("REFRESH FACT refreshed_all")

    def plain(_: int) -> None:
        days = spark.read.parquet(source).selectExpr("*", "substring(dt, 1, 10) AS day").groupBy("carrier", "day")
        days.sum("flights", "distance").write.mode("overwrite").partitionBy("day").parquet(str(work / "days"))

    def outdate(_: int) -> None:
        execute(f"INSERT OVERWRITE refreshed_hours {hours}")

    return {"INSERT OVERWRITE of its hours": outdate, "`REFRESH FACT`": ours, "`groupBy`, `write.partitionBy`": plain}


def _results(lake: Any, spark: Any, work: Path, rows: int) -> _Ways:
    """All rows of a table, twice, ordered by nothing."""
    target = str(work / "out")
    query = "SELECT * FROM inserted_24_1 UNION ALL SELECT * FROM inserted_24_1"

    def batches(_: int) -> None:
        reader = lake.connection.execute(query).fetch_record_batches()
        assert sum(batch.num_rows for batch in reader) == 2 * rows

    def frame(_: int) -> None:
        lake.sql(query).write.mode("overwrite").parquet(target)

    def plain(_: int) -> None:
        rows_once = spark.read.parquet(str(work / "plain_24_1"))
        rows_once.unionAll(rows_once).write.mode("overwrite").parquet(target)

    return {"batches of Arrow": batches, "`lake.sql(…).write`": frame, "plain `read`, `write`": plain}
