"""Random schemas: cubes with dimensions and measures, their facts with periods and layouts, a table to join."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

P = UpdatePeriod
Value = str | int | float | bool | date | Decimal | None

DECIMAL = "decimal(10,2)"
#: What a value of each type may be; few of each, so that rows meet in groups and doubles add up exactly.
VALUES: dict[str, tuple[Value, ...]] = {
    "string": ("UA", "AA", "it's", "é", ""),
    "int": (0, 1, -2, 7),
    "bigint": (0, 3, -5, 40, 10**10),
    "double": (0.0, 0.25, -1.5, 12.75, 90.0),
    "date": (date(2013, 1, 1), date(2013, 1, 31), date(2012, 2, 29)),
    "boolean": (True, False),
    DECIMAL: (Decimal("0.00"), Decimal("1.25"), Decimal("-3.50"), Decimal("99.99")),
}


@dataclass(frozen=True)
class Column:
    """A dimension (no aggregate) or a measure. ``counted_by`` names the measure that counts its non-null rows."""

    name: str
    type: str
    aggregate: str = ""
    counted_by: str = ""
    not_null: bool = False

    @property
    def declaration(self) -> str:
        words = [quoted(self.name), self.type.upper()]
        words += ["MEASURE", self.aggregate] if self.aggregate else []
        words += ["COUNTED BY", quoted(self.counted_by)] if self.counted_by else []
        words += ["NOT NULL"] if self.not_null and self.aggregate else []
        return " ".join(words)


@dataclass(frozen=True)
class FactSchema:
    """A fact: its periods, finest first, and the names of the columns that it carries.

    ``form`` says how partitions name their time: ``default`` patterns, ``compact`` ones, or ``split`` over two columns.
    A ``merged`` fact holds one base row where others hold several with the same dimensions.
    """

    name: str
    periods: tuple[UpdatePeriod, ...]
    columns: tuple[str, ...]
    partial: bool = False
    shared: bool = False
    weight: int = 0
    form: str = "default"
    merged: bool = False

    @property
    def base(self) -> UpdatePeriod:
        return self.periods[0]

    def table(self, period: UpdatePeriod) -> str:
        return f"{self.name}_all" if self.shared else f"{self.name}_{period.name.lower()}"

    def layout(self, period: UpdatePeriod) -> TimeLayout:
        return TimeLayout.of(period, [("dt", None)] if self.shared else self._patterns(period))

    def _patterns(self, period: UpdatePeriod) -> list[tuple[str, str | None]]:
        if self.form == "split" and period is P.HOURLY:
            return [("dt", "yyyy-MM-dd"), ("hr", "HH")]
        if self.form == "compact" and period is P.DAILY:
            return [("dt", "yyyyMMdd")]
        return [("dt", None)]


@dataclass(frozen=True)
class CubeSchema:
    """A cube, and the stretch of base periods in which its histories happen: ``count`` from ordinal ``first``."""

    name: str
    time: str
    columns: tuple[Column, ...]
    facts: tuple[FactSchema, ...]
    first: int
    count: int

    @property
    def base(self) -> UpdatePeriod:
        return self.facts[0].base

    @property
    def dimensions(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not column.aggregate)

    @property
    def measures(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.aggregate)

    @property
    def counter(self) -> Column | None:
        """The measure that COUNT(*) adds up: one that counts no other measure's rows."""
        counting = {column.counted_by for column in self.columns}
        return next((c for c in self.measures if c.aggregate == "COUNT" and c.name not in counting), None)

    def carried(self, fact: FactSchema) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.name in fact.columns)


@dataclass(frozen=True)
class Schema:
    """Cubes, and the rows of ``lookup``, an ordinary table whose first column is a key of the first cube's type."""

    cubes: tuple[CubeSchema, ...]
    lookup: tuple[Column, ...]
    lookup_rows: tuple[tuple[Value, ...], ...]


def quoted(name: str) -> str:
    """A name as SQL text; in backquotes where it is not plain."""
    return name if name.isascii() and name.isidentifier() else f"`{name}`"


def literal(value: Value, type_: str) -> str:
    """A value as Spark SQL text of exactly this type."""
    if value is None:
        return f"CAST(NULL AS {type_.upper()})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "\\'") + "'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return str(value) if type_ == "int" else f"CAST({value} AS {type_.upper()})"


def statements(schema: Schema) -> list[str]:
    """The statements that make a schema's objects, in order."""
    made = [f"CREATE TABLE lookup ({_columns(schema.lookup)})"]
    rows = [
        ", ".join(literal(v, c.type) for v, c in zip(row, schema.lookup, strict=True)) for row in schema.lookup_rows
    ]
    made.append(f"INSERT INTO lookup VALUES {', '.join(f'({row})' for row in rows)}")
    for cube in schema.cubes:
        declared = [column.declaration for column in cube.columns] + [f"{quoted(cube.time)} TIMESTAMP TIME"]
        made.append(f"CREATE CUBE {quoted(cube.name)} ({', '.join(declared)})")
        for fact in cube.facts:
            tables = {fact.table(period): fact.layout(period) for period in fact.periods}
            for table, layout in tables.items():
                partitioned = ", ".join(f"{name} STRING" for name in layout.columns)
                made.append(f"CREATE TABLE {table} ({_columns(cube.carried(fact))}) PARTITIONED BY ({partitioned})")
            made.append(_create_fact(cube, fact))
    return made


def _create_fact(cube: CubeSchema, fact: FactSchema) -> str:
    by = f"PARTITIONED BY {quoted(cube.time)} AS "
    if fact.shared:
        periods = ", ".join(period.name for period in fact.periods)
        tables = [f"TABLE {fact.table(fact.base)} PERIODS ({periods}) {by}(dt)"]
    else:
        tables = []
        for period in fact.periods:
            parts = ", ".join(
                f"{part.column} = {literal(part.pattern, 'string')}" for part in fact.layout(period).parts
            )
            tables.append(f"TABLE {fact.table(period)} PERIOD {period.name} {by}({parts})")
    columns = f" ({', '.join(quoted(name) for name in fact.columns)})" if fact.partial else ""
    weight = f" WEIGHT {fact.weight}" if fact.weight else ""
    return f"CREATE FACT {fact.name} OF CUBE {quoted(cube.name)}{columns}{weight} STORED IN ({', '.join(tables)})"


def _columns(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{quoted(column.name)} {column.type.upper()}" for column in columns)


# -- random ones ------------------------------------------------------------------------------------------------------

#: Base period, start of the stretch, its length, and the periods of which rollups are drawn.
_STRETCHES: tuple[tuple[UpdatePeriod, str, int, tuple[UpdatePeriod, ...]], ...] = (
    (P.DAILY, "2012-12-01", 95, (P.MONTHLY, P.QUARTERLY)),
    (P.DAILY, "2012-01-31", 32, (P.MONTHLY,)),
    (P.DAILY, "2012-02-28", 35, (P.MONTHLY,)),
    (P.HOURLY, "2013-01-30", 75, (P.DAILY, P.MONTHLY)),
    (P.HOURLY, "2013-02-27", 50, (P.DAILY,)),
    (P.MONTHLY, "2011-12-01", 26, (P.QUARTERLY, P.YEARLY)),
    (P.MINUTELY, "2013-01-31", 130, (P.HOURLY, P.DAILY)),
)
_DIMENSIONS = ("carrier", "origin", "größe", "two words", "Kind")
_TIMES = ("departed", "t", "time of day")


def random_schema(rng: random.Random) -> Schema:
    """A random schema; the same state of ``rng`` makes the same one."""
    first = _cube(rng, "flights", "f", rng.choice(("departed", "departed", *_TIMES)))
    cubes = [first]
    if rng.random() < 0.4:
        other = _cube(rng, "würfel", "w", rng.choice(_TIMES), like=first)
        cubes.append(other)
    key = first.dimensions[0]
    lookup = (Column(key.name, key.type), Column("name", "string"), Column("size", "int"))
    keys = [*VALUES[key.type], None, VALUES[key.type][0]]
    rows = tuple((k, rng.choice(VALUES["string"]), rng.choice(VALUES["int"])) for k in keys if rng.random() < 0.8)
    return Schema(tuple(cubes), lookup, rows or ((keys[0], "x", 1),))


def _cube(rng: random.Random, name: str, prefix: str, time: str, like: CubeSchema | None = None) -> CubeSchema:
    base, start, count, coarser = rng.choice(_STRETCHES)
    dimensions = [
        Column(one, rng.choice(("string", "string", "int", "bigint", "date", "boolean")), not_null=rng.random() < 0.2)
        for one in rng.sample(_DIMENSIONS, rng.choice((1, 2, 2, 3, 4)))
    ]
    if like is not None:
        # The two cubes share a dimension, on which they can be joined.
        shared = like.dimensions[0]
        dimensions = [shared, *(one for one in dimensions if one.name != shared.name)]
    columns = (*dimensions, *_measures(rng))
    first = base.ordinal(_instant(start))
    names = tuple(column.name for column in columns)
    rollups = [tuple(sorted(rng.sample(coarser, rng.randrange(1, len(coarser) + 1)))) for _ in range(2)]
    form = rng.choice(("default", "default", "compact", "split"))
    facts = [FactSchema(f"{prefix}1", (base, *rollups[0]), names, shared=rng.random() < 0.3, form=form)]
    if rng.random() < 0.3:
        facts.append(_second_fact(rng, f"{prefix}2", (base, *rollups[1]), columns))
    return CubeSchema(name, time, columns, tuple(facts), first, count)


def _second_fact(
    rng: random.Random, name: str, periods: tuple[UpdatePeriod, ...], columns: tuple[Column, ...]
) -> FactSchema:
    """A fact of the same base period that lacks some columns, but never one that counts for another."""
    needed = {column.counted_by for column in columns}
    kept = tuple(c.name for c in columns if c.name in needed or c.aggregate == "COUNT" or rng.random() < 0.7)
    fact = FactSchema(name, periods, kept or (columns[0].name,), partial=True, weight=rng.randrange(-2, 3))
    return replace(fact, shared=rng.random() < 0.3, weight=max(0, fact.weight), merged=rng.random() < 0.5)


def _measures(rng: random.Random) -> list[Column]:
    """One to five measures; most schemas have one that counts events, some an average."""
    found: list[Column] = []
    if rng.random() < 0.7:
        found.append(Column("flights", rng.choice(("bigint", "bigint", "int")), "COUNT", not_null=rng.random() < 0.5))
    if rng.random() < 0.5:
        found.append(Column("departures", "bigint", "COUNT", not_null=True))
        found.append(Column("delay", rng.choice(("double", "bigint")), "SUM", counted_by="departures"))
    kinds = (
        ("distance", "SUM", ("bigint", "bigint", "int", "double", DECIMAL)),
        ("seats", "SUM", ("bigint", "double")),
        ("worst", "MAX", ("double", "int", "date", "string", DECIMAL)),
        ("best", "MIN", ("bigint", "double", "string")),
    )
    for name, aggregate, types in rng.sample(kinds, rng.randrange(1, 5)):
        found.append(Column(name, rng.choice(types), aggregate, not_null=rng.random() < 0.4))
    return found[:6]


def _instant(day: str) -> int:
    return (date.fromisoformat(day) - date(1970, 1, 1)) // timedelta(microseconds=1)
