"""Distinct users from rollups of bitmaps and of theta sketches, beside DuckDB's COUNT(DISTINCT) and
approx_count_distinct over the events.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import duckdb

import rewriter
from benchmarks.timing import Figure, Table, seconds
from rewriter.dbapi.connection import Connection
from rewriter.terminal_text import counted

#: A year of days; each page is read by all users.
EVENTS, DAYS, USERS, PAGES = 10_000_000, 366, 100_000, 100
_EVENTS = """
COPY (SELECT TIMESTAMP '2024-01-01' + to_seconds(CAST(id AS BIGINT) * {days} * 86400 // {events}) AS viewed_at,
  'page ' || hash(id) % {pages} AS page, CAST(hash(id + 7) % {users} AS BIGINT) AS user_id
  FROM range({events}) t(id)) TO '{folder}' (FORMAT parquet, PER_THREAD_OUTPUT)
"""
_WORLD = """
CREATE EXTERNAL TABLE events (viewed_at TIMESTAMP, page STRING, user_id BIGINT) STORED AS PARQUET LOCATION '{folder}';
CREATE CUBE readers (page STRING, bucket BIGINT, n BIGINT MEASURE COUNT,
  users BINARY MEASURE BITMAP_OR BUCKETED BY bucket, viewed_at TIMESTAMP TIME);
CREATE TABLE days (page STRING, bucket BIGINT, n BIGINT, users BINARY) PARTITIONED BY (dt STRING);
CREATE FACT all_readers OF CUBE readers STORED IN (TABLE days PERIOD DAILY PARTITIONED BY viewed_at AS (dt))
  ROLLUPS (MONTHLY);
CREATE CUBE people (page STRING, n BIGINT MEASURE COUNT, users BINARY MEASURE THETA_UNION, viewed_at TIMESTAMP TIME);
CREATE TABLE sketch_days (page STRING, n BIGINT, users BINARY) PARTITIONED BY (dt STRING);
CREATE FACT all_people OF CUBE people STORED IN (TABLE sketch_days PERIOD DAILY PARTITIONED BY viewed_at AS (dt))
  ROLLUPS (MONTHLY)
"""
_INSERT = """
INSERT INTO days MARK COMPLETE FROM '2024-01-01' TO '2025-01-01'
SELECT page, bitmap_bucket_number(user_id), COUNT(*), bitmap_construct_agg(bitmap_bit_position(user_id)),
  date_format(viewed_at, 'yyyy-MM-dd') FROM events
GROUP BY page, bitmap_bucket_number(user_id), date_format(viewed_at, 'yyyy-MM-dd')
"""
#: By months: the distinct values of a group and day are held until its sketch is made.
_INSERT_SKETCHES = """
INSERT INTO sketch_days MARK COMPLETE FROM '{0}' TO '{1}'
SELECT page, COUNT(*), theta_sketch_agg(user_id), date_format(viewed_at, 'yyyy-MM-dd') FROM events
WHERE viewed_at >= '{0}' AND viewed_at < '{1}' GROUP BY page, date_format(viewed_at, 'yyyy-MM-dd')
"""
_ESTIMATE = """
SELECT page, theta_sketch_estimate(theta_union_agg(users)) AS users FROM people
WHERE viewed_at >= '{}' AND viewed_at < '{}' GROUP BY page ORDER BY page
"""
_QUERY = """
SELECT page, SUM(users) AS users FROM (
  SELECT page, bucket, bitmap_count(bitmap_or_agg(users)) AS users FROM readers
  WHERE viewed_at >= '{}' AND viewed_at < '{}' GROUP BY page, bucket) GROUP BY page ORDER BY page
"""
_DIRECT = """
SELECT page, {} AS users FROM read_parquet('{}/*.parquet') WHERE viewed_at >= TIMESTAMP '{}'
  AND viewed_at < TIMESTAMP '{}' GROUP BY page ORDER BY page
"""
_RANGES = {"a year": ("2024-01-01", "2025-01-01"), "a range cut inside of two months": ("2024-02-03", "2024-11-28"),
           "27 days": ("2024-05-03", "2024-05-30"), "a day": ("2024-05-03", "2024-05-04")}  # fmt: skip


def measure(events: int = EVENTS) -> Table:
    """Returns the figures, on DuckDB. Each count of distinct users is compared with that over the events."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), duckdb.connect() as direct:
        warnings.simplefilter("ignore")
        files, warehouse = Path(folder) / "events", Path(folder) / "warehouse"
        files.mkdir()
        direct.execute(_EVENTS.format(events=events, days=DAYS, pages=PAGES, users=USERS, folder=files))
        with rewriter.connect(warehouse, engine="duckdb") as connection:
            for statement in _WORLD.format(folder=files).split(";"):
                connection.execute(statement)
            loading = seconds(lambda: connection.execute(_INSERT))
            figures.append(Figure("INSERT of 366 days of bitmaps", loading, f"{events / loading:,.0f} events a second"))
            figures.append(
                Figure("REFRESH of 12 months", seconds(lambda: connection.execute("REFRESH FACT all_readers")))
            )
            months = [f"2024-{month:02}-01" for month in range(1, 13)] + ["2025-01-01"]

            def load_sketches() -> None:
                for month in pairwise(months):
                    connection.execute(_INSERT_SKETCHES.format(*month))

            loading = seconds(load_sketches)
            figures.append(
                Figure("INSERT of 366 days of sketches", loading, f"{events / loading:,.0f} events a second")
            )
            figures.append(
                Figure("REFRESH of 12 months", seconds(lambda: connection.execute("REFRESH FACT all_people")))
            )
            for what, range_ in _RANGES.items():
                figures += _counts(what, range_, files, connection, direct)
        sizes = {
            "events": _megabytes(files.rglob("*.parquet")),
            "days": _megabytes(warehouse.glob("days-*/**/*.parquet")),
            "months": _megabytes(warehouse.glob("all_readers_monthly-*/**/*.parquet")),
            "days of sketches": _megabytes(warehouse.glob("sketch_days-*/**/*.parquet")),
            "months of sketches": _megabytes(warehouse.glob("all_people_monthly-*/**/*.parquet")),
        }
    shown = ", ".join(f"{name} {size:,.0f} MB" for name, size in sizes.items())
    return Table(f"{events:,} events of {USERS:,} users, {PAGES} pages, a year ({shown})", tuple(figures))


def _counts(
    what: str, range_: tuple[str, str], files: Path, connection: Connection, direct: duckdb.DuckDBPyConnection
) -> Iterator[Figure]:
    query = _QUERY.format(*range_)
    over_events = [
        _DIRECT.format(call, files, *range_) for call in ("COUNT(DISTINCT user_id)", "approx_count_distinct(user_id)")
    ]
    cursor = connection.execute(query)
    assert cursor.fetchall() == direct.execute(over_events[0]).fetchall()
    scans = " and ".join(f"{counted(scan.partitions, 'partition')} of {scan.table}" for scan in cursor.stats.scans)
    bitmaps = seconds(lambda: connection.execute(query).fetchall(), 7)
    exact, approximate = (seconds(lambda text=text: direct.execute(text).fetchall(), 3) for text in over_events)  # type: ignore[misc]
    yield Figure(f"users of each page, {what}", bitmaps, scans)
    estimates, counts = (connection.execute(text).fetchall() for text in (_ESTIMATE.format(*range_), query))
    error = max(abs(estimate / count - 1) for (_, estimate), (_, count) in zip(estimates, counts, strict=True))
    sketches = seconds(lambda: connection.execute(_ESTIMATE.format(*range_)).fetchall(), 7)
    yield Figure("— by sketches", sketches, f"the largest error of {PAGES} pages is {error:.1%}")
    yield Figure("— COUNT(DISTINCT) over the events", exact, f"{exact / bitmaps:.1f}× of it")
    yield Figure("— approx_count_distinct over the events", approximate, f"{approximate / bitmaps:.1f}× of it")


def _megabytes(files: Iterable[Path]) -> float:
    return sum(file.stat().st_size for file in files) / 1e6
