"""Small warehouses with everything that a query may meet: cubes over sums and over events, plain and external tables.

A world is one session and the relations that queries may name. Its rows have NULL, NaN, both zeros, blanks at the ends
of texts, decimals and, in plain tables, nested values. Its rollups have holes, and some are outdated by late rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path

from rewriter.exec.engine import Engine
from rewriter.session import Session


@dataclass(frozen=True)
class Column:
    """A column: its name, the group of types for which predicates are written, and literals of its values."""

    name: str
    kind: str
    literals: tuple[str, ...]


@dataclass(frozen=True)
class Aggregate:
    """An aggregate, and the function that combines its values over parts of the rows."""

    text: str
    combined_by: str


@dataclass(frozen=True)
class Average:
    """A column that AVG takes, and the aggregate that counts its values."""

    column: str
    count: str


@dataclass(frozen=True)
class Relation:
    """A cube or a table.

    ``counter`` is the number of events of a row. ``bounds`` are texts of times, in order; a cube has ``time``, and a
    table may have it. ``base`` is the setting of its base period. ``views`` are views over it, with their texts.
    ``twin`` is another relation with the same events.
    """

    name: str
    columns: tuple[Column, ...]
    values: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    averages: tuple[Average, ...]
    counter: str = "1"
    time: str | None = None
    bounds: tuple[str, ...] = ()
    base: str | None = None
    units: tuple[tuple[str, str, str], ...] = ()
    views: tuple[tuple[str, str], ...] = ()
    twin: str | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Returns the names of the columns by which a query may group."""
        return tuple(column.name for column in self.columns if column.kind not in ("array", "map", "struct"))


@dataclass(frozen=True)
class World:
    """A session, its relations, and what may happen to its tables between two queries."""

    name: str
    session: Session
    relations: tuple[Relation, ...]
    changes: tuple[Callable[[random.Random], str], ...] = field(default=())

    def change(self, rng: random.Random) -> None:
        """Runs a random change, if the world has any."""
        if self.changes:
            self.session.execute(rng.choice(self.changes)(rng))


_TEXTS = ("'UA'", "'AA'", "''", "'b '", "'\u00e9'")
_WHOLE = ("0", "1", "2", "-3", "11")
_DECIMALS = ("1.50", "-0.25", "0.00", "7.00")
_DOUBLES = ("0.0D", "-0.0D", "1.25D", "-2.5D", "CAST('NaN' AS DOUBLE)")
_CHARS = ("'a'", "'ab'", "'abcd'")
_BOOLEANS = ("TRUE", "FALSE")
_DIMENSIONS = (
    Column("k", "text", _TEXTS),
    Column("d", "whole", _WHOLE),
    Column("z", "decimal", _DECIMALS),
    Column("f", "double", _DOUBLES),
    Column("c", "char", _CHARS),
    Column("b", "boolean", _BOOLEANS),
)
_DIMENSION_TYPES = "k STRING, d INT, z DECIMAL(6,2), f DOUBLE, c CHAR(4), b BOOLEAN"
_MEASURE_TYPES = "n BIGINT, m DECIMAL(12,2), v BIGINT, x BIGINT, w BIGINT, y DOUBLE, lo INT, hi DOUBLE, yes BOOLEAN"
_MEASURES = (
    "n BIGINT MEASURE COUNT EVENTS NOT NULL, m DECIMAL(12,2) MEASURE SUM COUNTED BY v, "
    "v BIGINT MEASURE COUNT NOT NULL, x BIGINT MEASURE SUM COUNTED BY w, w BIGINT MEASURE COUNT NOT NULL, "
    "y DOUBLE MEASURE SUM, lo INT MEASURE MIN, hi DOUBLE MEASURE MAX, yes BOOLEAN MEASURE BOOL_OR"
)
_CUBE_AGGREGATES = (
    Aggregate("COUNT(*)", "SUM"),
    Aggregate("COUNT(k)", "SUM"),
    Aggregate("SUM(n)", "SUM"),
    Aggregate("SUM(m)", "SUM"),
    Aggregate("SUM(x)", "SUM"),
    Aggregate("SUM(y)", "SUM"),
    Aggregate("MIN(lo)", "MIN"),
    Aggregate("MAX(hi)", "MAX"),
    Aggregate("bool_or(yes)", "bool_or"),
    Aggregate("MAX(d)", "MAX"),
    Aggregate("MIN(f)", "MIN"),
    Aggregate("MIN(k)", "MIN"),
    Aggregate("MIN(lo)", "MIN"),
    Aggregate("SUM(x) FILTER (WHERE d > 0)", "SUM"),
    Aggregate("SUM(CASE WHEN b THEN x ELSE 0 END)", "SUM"),
)
_CUBE_AVERAGES = (Average("m", "SUM(v)"), Average("x", "SUM(w)"))
#: A unit of time; a longer one that consists of whole ones, of the time; and the longer one, of a value of the shorter.
_UNITS = (
    *(
        (f"date_trunc('{short}', {{}})", f"date_trunc('{long}', {{}})", f"date_trunc('{long}', {{}})")
        for short, long in (("HOUR", "DAY"), ("DAY", "MONTH"), ("DAY", "WEEK"), ("MONTH", "YEAR"))
    ),
    ("to_date({})", "trunc(to_date({}), 'MM')", "trunc({}, 'MM')"),
)


def _row(rng: random.Random) -> str:
    """Returns dimensions of a row as SQL. Many rows have the same ones, so that rollups merge them."""
    is_common = rng.random() < 0.5
    parts = []
    for column in _DIMENSIONS:
        literal = (
            "NULL" if not is_common and rng.random() < 0.2 else rng.choice(column.literals[: 1 if is_common else 9])
        )
        parts.append(literal if column.kind != "decimal" or literal == "NULL" else f"CAST({literal} AS DECIMAL(6,2))")
    return ", ".join(parts)


def _measures(rng: random.Random) -> str:
    """Returns measures of a row that stands for several events."""
    count = rng.choice((1, 1, 2, 5))
    valued, whole = rng.randrange(count + 1), rng.randrange(count + 1)
    m = f"CAST({rng.randrange(-900, 900)}.{rng.randrange(100):02} AS DECIMAL(12,2))" if valued else "NULL"
    x = str(rng.randrange(-50, 90)) if whole else "NULL"
    y = rng.choice(("NULL", "0.25D", "-1.5D", "8.0D", "CAST('NaN' AS DOUBLE)" if rng.random() < 0.1 else "2.0D"))
    hi = rng.choice(("NULL", "0.5D", "-7.25D", "99.0D", "CAST('NaN' AS DOUBLE)" if rng.random() < 0.2 else "3.0D"))
    lo = rng.choice(("NULL", "4", "-2", "90"))
    return f"{count}, {m}, {valued}, {x}, {whole}, {y}, {lo}, {hi}, {rng.choice(('NULL', 'TRUE', 'FALSE'))}"


_HOURS_FIRST, _HOURS_END = "2013-01-28", "2013-03-13"


def _days(first: str, end: str) -> list[str]:
    day = date.fromisoformat(first)
    return [(day + timedelta(days=i)).isoformat() for i in range((date.fromisoformat(end) - day).days)]


#: Ends of ranges: most are ends of days, so that rollups serve.
_BOUNDS = (
    "2013-01-28", "2013-01-29 06:00", "2013-01-30", "2013-01-31 23:00", "2013-02-01", "2013-02-05", "2013-02-06 13:00",
    "2013-02-11", "2013-02-17", "2013-02-28 01:00", "2013-03-01", "2013-03-02 05:00", "2013-03-10",
    "2013-03-10 12:00", "2013-03-12",
)  # fmt: skip


def _hour_values(rng: random.Random, days: Sequence[str], count: int) -> str:
    """Returns rows of hours. A third of them lies at the ends of ranges, and one hour before."""
    rows = []
    for _ in range(count):
        hour = datetime.fromisoformat(rng.choice(days)) + timedelta(hours=rng.randrange(24))
        if len(days) > 2 and rng.random() < 0.35:
            hour = datetime.fromisoformat(rng.choice(_BOUNDS[1:])) - timedelta(hours=rng.randrange(2))
        rows.append(f"({_row(rng)}, {_measures(rng)}, '{hour:%Y-%m-%d-%H}')")
    return ", ".join(rows)


def _common(session: Session) -> None:
    """Creates the tables and functions that all worlds have."""
    session.execute("CREATE TABLE names (k STRING, d INT, label STRING)")
    session.execute(
        "INSERT INTO names VALUES ('UA', 1, 'u'), ('UA', 2, NULL), ('b ', NULL, 'b'), ('ZZ', 11, 'z'), (NULL, 1, 'n')"
    )
    session.execute("CREATE FUNCTION band(a INT, step INT DEFAULT 10) RETURNS INT RETURN CAST(floor(a / step) AS INT)")
    session.execute("CREATE FUNCTION is_ours(a STRING) RETURNS BOOLEAN RETURN a IN ('UA', 'b ')")
    session.execute("CREATE FUNCTION either(a STRING, c STRING) RETURNS STRING RETURN COALESCE(a, c, 'none')")


def _views(session: Session, name: str, time: str | None) -> tuple[tuple[str, str], ...]:
    """Creates the views of a relation, and a function that returns a table. Returns the views with their texts."""
    texts = [f"SELECT * FROM {name}", f"SELECT * FROM {name} WHERE k = 'UA' OR d > 0"]
    if time is not None:
        texts.append(f"SELECT * FROM {name} WHERE NOT {time} < '2013-01-31'")
    views = tuple((f"view_{i}_{name}", text) for i, text in enumerate(texts))
    for view, text in views:
        session.execute(f"CREATE VIEW {view} AS {text}")
    session.execute(
        f"CREATE FUNCTION rows_of_{name}(who STRING) RETURNS TABLE RETURN SELECT * FROM {name} WHERE k = who"
    )
    return views


def hours(directory: Path, engine: str | Engine, seed: int, zone: str | None = None) -> World:
    """Returns a world of a cube over sums of hours, with days, weeks and months. With a zone, its days are local."""
    rng = random.Random(seed)
    session = Session(directory, engine)
    _common(session)
    zoned = f" TIME ZONE '{zone}'" if zone else ""
    session.execute(f"CREATE CUBE c ({_DIMENSION_TYPES}, {_MEASURES}, t TIMESTAMP TIME){zoned}")
    session.execute(f"CREATE TABLE hours ({_DIMENSION_TYPES}, {_MEASURE_TYPES}) PARTITIONED BY (dt STRING)")
    rollups = "DAILY, DAILY (k, d), MONTHLY" if zone else "DAILY, DAILY (k, d), WEEKLY (k, b), MONTHLY"
    session.execute(
        f"CREATE FACT fact OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt)) ROLLUPS ({rollups})"
    )
    days = _days(_HOURS_FIRST, _HOURS_END)
    session.execute(
        f"INSERT INTO hours MARK COMPLETE FROM '{_HOURS_FIRST}' TO '{_HOURS_END}' VALUES {_hour_values(rng, days, 220)}"
    )
    session.execute("REFRESH FACT fact")
    session.execute("ALTER TABLE fact_daily DROP PARTITION (dt = '2013-02-06')")
    session.execute("ALTER TABLE fact_daily_k_d DROP PARTITION (dt >= '2013-02-12', dt < '2013-02-14')")
    session.execute(f"INSERT INTO hours VALUES {_hour_values(rng, ['2013-01-30', '2013-02-09'], 6)}")
    session.execute(f"INSERT INTO hours VALUES {', '.join(f'({_row(rng)}, {_measures(rng)}, NULL)' for _ in range(4))}")
    # Hours that only rollups have, and in every second world an hour that is missing.
    session.execute("ALTER TABLE hours DROP PARTITION (dt >= '2013-01-28-00', dt <= '2013-01-28-23')")
    if seed % 2:
        session.execute("ALTER TABLE hours DROP PARTITION (dt = '2013-03-12-05')")
    cube = Relation(
        "c", _DIMENSIONS, ("n", "m", "lo"), _CUBE_AGGREGATES, _CUBE_AVERAGES, "n", "t", _BOUNDS, "HOURLY", _UNITS,
        _views(session, "c", "t"),
    )  # fmt: skip
    changes = (
        lambda rng: f"INSERT INTO hours VALUES {_hour_values(rng, days[1:-1], 3)}",
        lambda rng: "REFRESH FACT fact",
        lambda rng: f"ALTER TABLE fact_daily DROP IF EXISTS PARTITION (dt = '{rng.choice(days)}')",
    )
    return World("zoned" if zone else "hours", session, (cube,), changes)


def events(directory: Path, engine: str | Engine, seed: int) -> World:
    """Returns a world of a cube over single events, in partitions of days, and the same events as a table."""
    rng = random.Random(seed)
    session = Session(directory, engine)
    _common(session)
    columns = f"{_DIMENSION_TYPES}, m DECIMAL(8,2), x INT, y DOUBLE, lo INT, hi DOUBLE, yes BOOLEAN, t TIMESTAMP"
    session.execute(f"CREATE TABLE events ({columns}) PARTITIONED BY (day STRING)")
    session.execute(f"CREATE CUBE c ({_DIMENSION_TYPES}, {_MEASURES}, t TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT fact OF CUBE c STORED IN (TABLE events PERIOD DAILY PARTITIONED BY t AS (day) RAW) "
        "ROLLUPS (DAILY, WEEKLY (k, d), MONTHLY)"
    )
    days = _days(_HOURS_FIRST, _HOURS_END)
    bounds = (*_BOUNDS[:7], "2013-02-06 13:30", *_BOUNDS[7:])

    def event(rng: random.Random, days: Sequence[str]) -> str:
        time = datetime.fromisoformat(rng.choice(days)) + timedelta(
            hours=rng.randrange(24), minutes=rng.choice((0, 59))
        )
        if len(days) > 2 and rng.random() < 0.35:
            time = datetime.fromisoformat(rng.choice(bounds[1:])) - timedelta(microseconds=rng.randrange(2))
        m = rng.choice(("NULL", f"CAST({rng.randrange(-900, 900)}.{rng.randrange(100):02} AS DECIMAL(8,2))"))
        measures = ", ".join(_measures(rng).rsplit(", ", 4)[1:])
        x = rng.choice(("NULL", "-4", "7", "60"))
        return f"({_row(rng)}, {m}, {x}, {measures}, TIMESTAMP '{time}', '{time:%Y-%m-%d}')"

    values = ", ".join(event(rng, days) for _ in range(250))
    session.execute(f"INSERT INTO events MARK COMPLETE FROM '{_HOURS_FIRST}' TO '{_HOURS_END}' VALUES {values}")
    session.execute("REFRESH FACT fact")
    session.execute("ALTER TABLE fact_daily DROP PARTITION (dt = '2013-02-06')")
    session.execute(
        f"INSERT INTO events VALUES {', '.join(event(rng, ['2013-01-30', '2013-02-09']) for _ in range(6))}"
    )
    cube = Relation(
        "c", _DIMENSIONS, ("n", "m", "lo"), _CUBE_AGGREGATES, _CUBE_AVERAGES, "n", "t", bounds, "DAILY", _UNITS,
        _views(session, "c", "t"),
    )  # fmt: skip
    plain = Relation(
        "events", (*_DIMENSIONS, Column("x", "whole", ("-4", "7", "60"))), ("m", "lo", "t"), _EVENT_AGGREGATES,
        (Average("m", "COUNT(m)"), Average("x", "COUNT(x)")), "1", "t", bounds, None, _UNITS,
        _views(session, "events", "t"), "c",
    )  # fmt: skip
    changes = (
        lambda rng: f"INSERT INTO events VALUES {', '.join(event(rng, days) for _ in range(3))}",
        lambda rng: "REFRESH FACT fact",
    )
    return World("events", session, (cube, plain), changes)


_EVENT_AGGREGATES = tuple(
    each for each in _CUBE_AGGREGATES if each.text not in ("SUM(n)", "SUM(CASE WHEN b THEN x ELSE 0 END)")
)
_PLAIN_TYPES = (
    f"{_DIMENSION_TYPES}, e DATE, g FLOAT, l BIGINT, s STRUCT<a: INT, b: STRING>, a ARRAY<INT>, h MAP<STRING, INT>"
)
_FLAT_TYPES = f"{_DIMENSION_TYPES}, e DATE, g FLOAT, l BIGINT"
_FLAT_COLUMNS = (
    *_DIMENSIONS,
    Column("e", "date", ("DATE '2013-01-31'", "DATE '1969-12-31'", "DATE '2024-02-29'")),
    Column("g", "float", ("0.5F", "CAST('NaN' AS FLOAT)", "-0.0F")),
    Column("l", "whole", ("0", "9223372036854775807", "-5")),
    Column("p", "whole", ("1", "2", "3")),
)
_NESTED = (
    Column("s", "struct", ("1", "2")),
    Column("a", "array", ("1", "2")),
    Column("h", "map", ("1", "2")),
)
_PLAIN_AGGREGATES = (
    *(
        Aggregate(text, "SUM")
        for text in ("COUNT(*)", "COUNT(k)", "COUNT(z)", "SUM(d)", "SUM(z)", "SUM(f)", "COUNT_IF(d > 0)")
    ),
    *(Aggregate(f"{function}({column})", function) for function in ("MIN", "MAX") for column in "kdzfcegl"),
    Aggregate("bool_and(b)", "bool_and"),
    Aggregate("bool_or(b)", "bool_or"),
)


def tables(directory: Path, engine: str | Engine, seed: int) -> World:
    """Returns a world of plain tables with the same rows: managed, and external ones of Parquet and of CSV."""
    rng = random.Random(seed)
    session = Session(directory, engine)
    _common(session)

    def row() -> str:
        e, g, whole = ("NULL" if rng.random() < 0.2 else rng.choice(column.literals) for column in _FLAT_COLUMNS[6:9])
        s = rng.choice(("NULL", "named_struct('a', 1, 'b', 'x')", "named_struct('a', CAST(NULL AS INT), 'b', '')"))
        a = rng.choice(("NULL", "array(1, 2)", "array(2, CAST(NULL AS INT))", "array(7)"))
        h = rng.choice(("NULL", "map('x', 1)", "map('x', 2, 'y', CAST(NULL AS INT))"))
        return f"({_row(rng)}, {e}, {g}, {whole}, {s}, {a}, {h}, {rng.choice(('1', '2', '3', 'NULL'))})"

    session.execute(f"CREATE TABLE plain ({_PLAIN_TYPES}) PARTITIONED BY (p INT)")
    session.execute(f"INSERT INTO plain VALUES {', '.join(row() for _ in range(120))}")
    relations = []
    for name, form, types, columns in (
        ("plain", None, _PLAIN_TYPES, (*_FLAT_COLUMNS, *_NESTED)),
        ("files", "parquet", _PLAIN_TYPES, (*_FLAT_COLUMNS, *_NESTED)),
        ("lines", "csv", _FLAT_TYPES, _FLAT_COLUMNS),
    ):
        names = ("k, d, z, f, c, b, e, g, l" if form == "csv" else "k, d, z, f, c, b, e, g, l, s, a, h") + ", p"
        if form:
            session.execute(
                f"CREATE EXTERNAL TABLE {name} ({types}) PARTITIONED BY (p INT) STORED AS {form} LOCATION '{name}'"
            )
            session.execute(f"INSERT INTO {name} SELECT {names} FROM plain")
        twin = "plain" if name == "files" else None
        averages, views = (Average("d", "COUNT(d)"), Average("z", "COUNT(z)")), _views(session, name, None)
        relations.append(Relation(name, columns, ("z", "e", "g"), _PLAIN_AGGREGATES, averages, views=views, twin=twin))
    return World("tables", session, tuple(relations))


#: Name of a world → the function that makes it.
WORLDS: dict[str, Callable[[Path, str | Engine, int], World]] = {
    "hours": hours,
    "events": events,
    "zoned": lambda directory, engine, seed: hours(directory, engine, seed, "America/New_York"),
    "tables": tables,
}
