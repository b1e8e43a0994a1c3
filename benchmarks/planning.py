"""Planning the demo's query with 6,936 hourly partitions and with a hundred times as many, compared with naive
enumeration.

The catalogs have timelines of hours, days and months without files: planning reads only timelines. Naive enumeration is
the procedure at the beginning of seed 000. It looks up every partition of every period in the catalog.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import sqlglot

import rewriter
from benchmarks.timing import Figure, Table, ratio, seconds
from rewriter.catalog import Catalog
from rewriter.catalog.keys.encoding import encode
from rewriter.catalog.model.changes import AddPartitions, PartitionWrite
from rewriter.catalog.model.key_ranges import KeyRange, successor
from rewriter.errors import Span
from rewriter.grammar.terms import Query
from rewriter.planner.model.plan import Settings
from rewriter.planner.plan_query import plan_query
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant

SQL = """SELECT carrier, SUM(distance) AS distance, COUNT(*) AS flights, AVG(delay) AS delay, MAX(worst_delay) AS worst
FROM flights WHERE time_range_in(departed, '2013-01-29T06', '2013-03-01T06') GROUP BY carrier ORDER BY carrier"""
STAR = """SELECT a.name AS airline, p.city, date_trunc('day', f.departed) AS day, SUM(f.distance) AS distance,
  COUNT(*) AS flights, AVG(f.delay) AS delay, MAX(f.worst_delay) AS worst
FROM flights f JOIN airlines a ON f.carrier = a.carrier LEFT JOIN airports p ON f.origin = p.airport
WHERE f.departed >= '2013-01-29 06:00' AND f.departed < '2013-03-01 06:00' AND a.country = 'US' AND f.dest <> 'BOS'
GROUP BY a.name, p.city, date_trunc('day', f.departed) HAVING COUNT(*) > 10 ORDER BY flights DESC LIMIT 100"""
STAR_TABLES = ("airlines (carrier STRING, name STRING, country STRING)", "airports (airport STRING, city STRING)")
START, END = parse_instant("2013-01-29T06"), parse_instant("2013-03-01T06")
PERIODS = {
    UpdatePeriod.HOURLY: "flights_hourly",
    UpdatePeriod.DAILY: "flights_daily",
    UpdatePeriod.MONTHLY: "flights_monthly",
}
DATA = """origin STRING, dest STRING, carrier STRING, flights BIGINT, departures BIGINT, distance BIGINT,
  delay DOUBLE, worst_delay DOUBLE"""
CUBE = """CREATE CUBE flights (origin STRING, dest STRING, carrier STRING, flights BIGINT MEASURE COUNT,
  departures BIGINT MEASURE COUNT, distance BIGINT MEASURE SUM, delay DOUBLE MEASURE SUM COUNTED BY departures,
  worst_delay DOUBLE MEASURE MAX, departed TIMESTAMP TIME)"""
FACT = """CREATE FACT flights_all OF CUBE flights STORED IN (
  TABLE flights_hourly PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'),
  TABLE flights_daily PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd') TRUSTED,
  TABLE flights_monthly PERIOD MONTHLY PARTITIONED BY departed AS (dt = 'yyyy-MM') TRUSTED)"""


def build(warehouse: Path, hours: int) -> Catalog:
    """Creates a fact with ``hours`` hours around 2013-02, all of which exist, and their days and months."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        for table in PERIODS.values():
            cursor.execute(f"CREATE TABLE {table} ({DATA}) PARTITIONED BY (dt STRING)")
        for table in STAR_TABLES:
            cursor.execute(f"CREATE TABLE {table}")
        cursor.execute(CUBE)
        cursor.execute(FACT)
    catalog = Catalog.open(warehouse)
    middle = (START + END) // 2
    first, last = (UpdatePeriod.HOURLY.ordinal(middle) + step * hours // 2 for step in (-1, 1))
    for period, name in PERIODS.items():
        start, end = period.ordinal(UpdatePeriod.HOURLY.start(first)), period.ordinal(UpdatePeriod.HOURLY.start(last))
        layout = TimeLayout.of(period, [("dt", None)])
        with catalog.begin() as transaction:
            table = transaction.snapshot.table(name)
            partitions = tuple(PartitionWrite(layout.values(ordinal), ()) for ordinal in range(start, end))
            transaction.commit([AddPartitions(table, partitions, if_not_exists=False)])
    return catalog


def naive_cover(
    catalog: Catalog, start: int, end: int, periods: list[UpdatePeriod]
) -> Iterator[tuple[UpdatePeriod, int]]:
    """Runs seed 000's procedure (its second recursion corrected): every partition is looked up in the catalog, one by
    one.
    """
    snapshot = catalog.snapshot()

    def exists(period: UpdatePeriod, ordinal: int) -> bool:
        table = snapshot.table(PERIODS[period])
        key = encode(table.id, ["string"], TimeLayout.of(period, [("dt", None)]).values(ordinal))
        return bool(snapshot.partitions(table, [KeyRange(key, successor(key))]))

    def cover(low: int, high: int, left: list[UpdatePeriod]) -> Iterator[tuple[UpdatePeriod, int]]:
        if low >= high or not left:
            return
        period, finer = left[0], left[1:]
        first, last = period.ceil(low), period.floor(high)
        if first >= last:
            yield from cover(low, high, finer)
            return
        yield from cover(low, first, finer)
        for ordinal in range(period.ordinal(first), period.ordinal(last)):
            if exists(period, ordinal):
                yield period, ordinal
            else:
                yield from cover(period.start(ordinal), period.end(ordinal), finer)
        yield from cover(last, high, finer)

    return cover(start, end, periods)


def measure() -> Table:
    """Returns the figures of planning."""
    query = Query(SQL, Span(0, len(SQL)))
    figures: list[Figure] = []
    warm: list[float] = []
    for hours in (6_936, 693_600):
        with tempfile.TemporaryDirectory() as folder:
            catalog = build(Path(folder), hours)
            figures += _measured(catalog, query, hours, warm)
            if hours == 6_936:
                figures += _star(catalog)
            catalog.close()
            figures.append(
                Figure(f"rewriter rewrite, {hours:,} hourly partitions", _command(folder), "CPU of the process")
            )
    note = f"{warm[1] / warm[0]:.2f}× of the smaller"
    return Table(
        "Planning the demo's query", (*figures, Figure("planning, 100 times as many partitions", warm[1], note))
    )


def _star(catalog: Catalog) -> Iterator[Figure]:
    """Measures parse, cover and rewritten SQL of a star query, and sqlglot's parse and generation of the same text."""
    snapshot, settings = catalog.snapshot(), Settings(now=END)
    ours = seconds(lambda: plan_query(Query(STAR, Span(0, len(STAR))), snapshot, settings, {}).sql, 101)
    theirs = seconds(lambda: sqlglot.parse_one(STAR, dialect="spark").sql(dialect="spark"), 101)
    yield Figure("star query, parse to rewritten SQL, p50", ours, f"{ours / theirs:.1f}× of the next")
    yield Figure("— sqlglot's parse and generation of the text", theirs)


def _measured(catalog: Catalog, query: Query, hours: int, warm: list[float]) -> Iterator[Figure]:
    snapshot, settings = catalog.snapshot(), Settings(now=END)
    plan_query(query, snapshot, settings, {})
    warm.append(seconds(lambda: plan_query(query, snapshot, settings, {}), 200))
    yield Figure(f"plan, {hours:,} hourly partitions, timelines in memory", warm[-1])
    cold = seconds(lambda: plan_query(query, catalog.snapshot(), settings, {}), 20)
    yield Figure(f"plan, {hours:,} hourly partitions, new snapshot from SQLite", cold)
    for label, periods in (("rollups there", list(reversed(PERIODS))), ("hours only", [UpdatePeriod.HOURLY])):
        plans: list[object] = []

        def enumerate_all(into: list[object] = plans, over: list[UpdatePeriod] = periods) -> None:
            into.extend(naive_cover(catalog, START, END, over))

        taken = seconds(enumerate_all)
        note = f"{len(plans)} partitions found; the plan above takes {ratio(taken, warm[-1])} less"
        yield Figure(f"naive enumeration, {hours:,} hourly partitions, {label}", taken, note)


def _command(warehouse: str) -> float:
    """Returns the CPU seconds, user and system, of a process of ``rewriter rewrite``; the least of five runs."""
    command = [sys.executable, "-m", "rewriter", "rewrite", "-w", warehouse, SQL]
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(taken)
