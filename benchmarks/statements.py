"""Generated statements: long lists, long chains, deep nesting, with 10³, 10⁴ and 10⁵ parts.

Queries over a cube are planned, all others are executed on DuckDB. The time is the CPU time of this process. A shape is
not measured at a size for which it would take longer than ``LIMIT``, extrapolated from the smaller sizes.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from benchmarks.timing import Figure, Table
from rewriter.errors import Error
from rewriter.session import Session

SIZES = (1_000, 10_000, 100_000)
LIMIT = 120.0
_RANGE = "departed >= '2013-02-01' AND departed < '2013-02-03'"
_HOURS = [f"{datetime(2013, 1, 1) + timedelta(hours=hour):%Y-%m-%d-%H}" for hour in range(24 * 90)]


def _hour(number: int) -> str:
    return f"{datetime(2013, 1, 1) + timedelta(hours=number % len(_HOURS)):%Y-%m-%d %H:00}"


def _chain(first: str, step: str, length: int) -> str:
    ctes = [f"c0 AS ({first})", *(f"c{n} AS ({step.format(f'c{n - 1}')})" for n in range(1, length))]
    return f"WITH {', '.join(ctes)} SELECT * FROM c{length - 1}"


_SUMS = f"SELECT carrier, SUM(distance) AS distance FROM flights WHERE {_RANGE} GROUP BY carrier"
_TWICE = "SELECT a.carrier, a.distance FROM {0} a JOIN {0} b ON a.carrier = b.carrier"
_TERM = "(departed >= '{0}' AND departed < timestamp '{0}' + INTERVAL 1 HOUR)"

#: Whether a shape is only planned, and its text with so many parts. CTEs have a hundredth of them.
SHAPES: dict[str, tuple[bool, Callable[[int], str]]] = {
    "a chain of CTEs, each named twice, a hundredth of": (True, lambda n: _chain(_SUMS, _TWICE, n // 100)),
    "a chain of CTEs, each named once, a tenth of": (
        True,
        lambda n: _chain(f"SELECT * FROM flights WHERE {_RANGE}", "SELECT carrier, distance FROM {0}", n // 10),
    ),
    "OR of time ranges over a cube": (
        True,
        lambda n: f"SELECT SUM(distance) FROM flights WHERE {' OR '.join(_TERM.format(_hour(i)) for i in range(n))}",
    ),
    "parentheses, refused": (False, lambda n: f"SELECT {'(' * n}1{')' * n}"),
    "IN over a cube": (
        True,
        lambda n: f"SELECT SUM(distance) FROM flights WHERE {_RANGE} AND carrier IN ({_texts(n)})",
    ),
    "IN over a table": (False, lambda n: f"SELECT COUNT(*) FROM airlines WHERE carrier IN ({_texts(n)})"),
    "SHOW PARTITIONS … WHERE k IN": (
        False,
        lambda n: f"SHOW PARTITIONS parts WHERE k IN ({', '.join(map(str, range(n)))})",
    ),
    "INSERT … VALUES, rows": (
        False,
        lambda n: f"INSERT INTO airlines VALUES {', '.join(f'({i}, {i})' for i in range(n))}",
    ),
    "ADD PARTITION, specs": (
        False,
        lambda n: f"ALTER TABLE parts ADD {' '.join(f'PARTITION (k = {i})' for i in range(n))}",
    ),
    "items of GROUP BY over a cube": (
        True,
        lambda n: f"SELECT {_items(n)}, SUM(distance) FROM flights WHERE {_RANGE} GROUP BY {_items(n)}",
    ),
    "a || b || … over a cube": (
        True,
        lambda n: f"SELECT {' || '.join(['carrier'] * n)} FROM flights WHERE {_RANGE}",
    ),
    "UNION ALL over a cube": (True, lambda n: " UNION ALL ".join([_SUMS] * n)),
    "OR of pairs over a table": (
        False,
        lambda n: "SELECT COUNT(*) FROM parts WHERE " + " OR ".join(f"(k = {i} AND a = {i})" for i in range(n)),
    ),
    "IN of pairs, refused": (
        False,
        lambda n: f"SELECT * FROM airlines WHERE (carrier, name) IN ({', '.join(f'({i}, {i})' for i in range(n))})",
    ),
    "joins, a tenth of": (
        False,
        lambda n: (
            "SELECT 1 FROM airlines a "
            + " ".join(f"JOIN airlines a{i} ON a.carrier = a{i}.carrier" for i in range(n // 10))
        ),
    ),
    "COUNT(*) over that many partitions": (False, lambda n: "SELECT COUNT(*) FROM parts"),
}


def _items(length: int) -> str:
    return ", ".join(f"concat(carrier, {number})" for number in range(length))


def _texts(length: int) -> str:
    return ", ".join(f"'c{number}'" for number in range(length))


def measure() -> Table:
    """Returns the figures of all shapes."""
    return Table("Statements that programs write", tuple(_figures()))


def _figures() -> Iterator[Figure]:
    slow: set[str] = set()
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder, _built(folder) as session:
            for label, (planned, text) in SHAPES.items():
                if label in slow:
                    continue
                taken, outcome = _taken(session, text(size), planned=planned)
                yield Figure(f"{label} {size:,}", taken, outcome)
                slow |= {label} if taken * (SIZES[1] / SIZES[0]) > LIMIT else set()


def _taken(session: Session, sql: str, *, planned: bool) -> tuple[float, str]:
    start = time.process_time()
    try:
        if planned:
            session.plan(sql)
        else:
            session.execute(sql)
        outcome = ""
    except Error as error:
        outcome = error.message[:60]
    return time.process_time() - start, outcome


def _built(folder: str) -> Session:
    session = Session(folder, engine="duckdb")
    for statement in (
        "CREATE TABLE hourly (carrier STRING, distance BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE airlines (carrier STRING, name STRING)",
        "CREATE TABLE parts (a INT) PARTITIONED BY (k INT)",
        "CREATE CUBE flights (carrier STRING, distance BIGINT MEASURE SUM, departed TIMESTAMP TIME)",
        "CREATE FACT flights_all OF CUBE flights STORED IN (TABLE hourly PERIOD HOURLY PARTITIONED BY departed AS "
        "(dt = 'yyyy-MM-dd-HH'))",
        f"ALTER TABLE hourly ADD {' '.join(f'PARTITION (dt = {hour!r})' for hour in _HOURS)}",
        "INSERT INTO airlines VALUES ('AA', 'American')",
    ):
        session.execute(statement)
    return session
