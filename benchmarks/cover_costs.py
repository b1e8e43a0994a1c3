"""The rules of a cover's cost: queries over ranges that cut periods, by fewest partitions and by least work."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.certificates import HOURS_DAYS_MONTHS, world
from benchmarks.timing import WideTable, shown
from rewriter.dbapi.connection import Connection

_ROWS_AND_ROLLUPS = """INSERT INTO hours SELECT c, CAST(abs(hash(c, i)) % 1000000 AS BIGINT),
  date_format(timestamp_seconds(1672531200 + 3600 * i), 'yyyy-MM-dd-HH')
  FROM (SELECT id AS i FROM range(2160)) CROSS JOIN (SELECT concat('c', id) AS c FROM range({rows}));
REFRESH FACT flown
"""
#: The rows of an hour, and the ranges of the queries.
ROWS = (20, 200, 1_000)
RANGES = (("2023-01-03 05:00", "2023-01-05 20:00"), ("2023-01-01 05:00", "2023-01-20 20:00"),
          ("2023-01-01 05:00", "2023-03-15 20:00"), ("2023-01-03 00:00", "2023-02-05 00:00"))  # fmt: skip
_RULES = ("partitions", "work")
_TURNS = 25


def measure() -> WideTable:
    """Returns the median times of known texts, in turns, and the tables that they read."""
    lines = []
    for rows in ROWS:
        with world(HOURS_DAYS_MONTHS + _ROWS_AND_ROLLUPS.format(rows=rows)) as connection:
            lines += [_line(connection, rows, first, end) for first, end in RANGES]
    return WideTable(
        "Queries on DuckDB over hours, days and months, by the rule of a cover's cost",
        ("rows of an hour", "range", *(f"`{rule}`" for rule in _RULES), "work / partitions", *_RULES),
        tuple(lines),
    )


def _line(connection: Connection, rows: int, first: str, end: str) -> tuple[str, ...]:
    query = (
        f"SELECT carrier, SUM(flights) FROM flights WHERE departed >= '{first}' AND departed < '{end}' GROUP BY carrier"
    )
    times: dict[str, list[float]] = {rule: [] for rule in _RULES}
    reads: dict[str, str] = {}
    for turn in range(_TURNS + 3):
        for rule in _RULES:
            connection.execute(f"SET rewriter.cover_cost = {rule}")
            # A text runs twice in a row: the first run plans it.
            for _ in range(2):
                begun = time.perf_counter()
                cursor = connection.execute(query)
                cursor.fetchall()
                seconds = time.perf_counter() - begun
            if turn >= 3:
                times[rule].append(seconds)
            assert cursor.stats is not None
            reads[rule] = ", ".join(f"{scan.partitions:,} {scan.table}" for scan in cursor.stats.scans)
    partitions, work = (median(times[rule]) for rule in _RULES)
    figures = shown(partitions), shown(work), f"{work / partitions:.2f}×"
    return f"{rows:,}", f"{first} to {end}", *figures, *(reads[rule] for rule in _RULES)
