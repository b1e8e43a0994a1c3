"""Schemas as values: cubes with dimensions, measures and times, their facts with periods and layouts, and a table to
join.

A second time is an ordinary column of the cube's rows. It divides a table that names it, where any pair with a period
of the leading time makes that period complete.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from rewriter.timeline.periods import UpdatePeriod

from .naming import Naming, named
from .periods import Period, instant_text

Value = str | int | float | bool | date | Decimal | None

DECIMAL = "decimal(10,2)"
#: The values of each type. There are few, so that rows share groups and doubles add up exactly.
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
    """A dimension (no aggregate), a measure or a second time.

    ``counted_by`` names the measure that counts its non-null rows. A ``time`` is an instant in the rows: the start of a
    base period. ``events`` marks the measure that counts events. ``chosen`` are values other than those of the type.
    ``rollup`` is a wider type that the measure has in rollups.
    """

    name: str
    type: str
    aggregate: str = ""
    counted_by: str = ""
    not_null: bool = False
    time: bool = False
    events: bool = False
    chosen: tuple[Value, ...] = ()
    rollup: str = ""

    @property
    def values(self) -> tuple[Value, ...]:
        """The possible values."""
        return self.chosen or VALUES[self.type]

    @property
    def declaration(self) -> str:
        words = [quoted(self.name), self.type.upper(), *(["TIME"] if self.time else [])]
        words += ["MEASURE", self.aggregate] if self.aggregate else []
        words += ["EVENTS"] if self.events else []
        words += ["COUNTED BY", quoted(self.counted_by)] if self.counted_by else []
        words += ["NOT NULL"] if self.not_null and self.aggregate else []
        return " ".join(words)


@dataclass(frozen=True)
class Division:
    """The column that partitions a table besides time, and the values that make a period complete.

    Without values any one of them makes a period. A second time has none.
    """

    column: Column
    values: tuple[Value, ...]

    def is_whole(self, parts: Collection[Value]) -> bool:
        """Returns True if a period with partitions for these values is complete."""
        return bool(parts) and all(value in parts for value in self.values)

    def part(self, period: Period, value: Value) -> Value:
        """Returns the partition of a period that a row with this value falls into. For another time it is the start of
        its period.
        """
        return period.floor(value) if self.column.time and isinstance(value, int) else value

    @property
    def clause(self) -> str:
        name = quoted(self.column.name)
        if not self.values:
            return f"COMPLETE WITH ANY {name}"
        return f"COMPLETE WITH {name} IN ({', '.join(plain(value) for value in self.values)})"


@dataclass(frozen=True)
class Narrow:
    """A further table of a fact: rollups of a period over some of its columns. REFRESH FACT alone fills it."""

    table: str
    period: Period
    columns: tuple[str, ...]


@dataclass(frozen=True)
class FactSchema:
    """A fact: its periods, finest first, and the names of the columns that it carries.

    ``forms`` determine how partitions of a period name their time, and ``second_forms`` how they name the second time
    (``naming``; without: by the default text). A ``merged`` fact has one base row where others have several with the
    same dimensions. The tables of some periods are divided by a dimension, or by the second time. Rollups of the
    ``trusted`` periods are promised by their owner. ``window`` is the time, in microseconds, for which the fact is
    used.
    """

    name: str
    periods: tuple[Period, ...]
    columns: tuple[str, ...]
    partial: bool = False
    shared: bool = False
    weight: int = 0
    forms: tuple[tuple[Period, str], ...] = ()
    second_forms: tuple[tuple[Period, str], ...] = ()
    merged: bool = False
    divisions: tuple[tuple[Period, Division], ...] = ()
    trusted: tuple[Period, ...] = ()
    window: tuple[int | None, int | None] = (None, None)
    narrow: tuple[Narrow, ...] = ()

    def is_valid(self, period: Period, ordinal: int) -> bool:
        """Returns True if a period lies completely in the window."""
        start, end = self.window
        return (start is None or start <= period.start(ordinal)) and (end is None or period.end(ordinal) <= end)

    @property
    def base(self) -> Period:
        return self.periods[0]

    def division(self, period: Period) -> Division | None:
        """Returns the division of a period's table, if any."""
        return dict(self.divisions).get(period)

    def table(self, period: Period) -> str:
        return f"{self.name}_all" if self.shared else f"{self.name}_{period.name.lower()}"

    def naming(self, period: Period) -> Naming:
        """Returns the partition columns that name a period."""
        return named(dict(self.forms).get(period, "dt string"), period)

    def other_naming(self, period: Period) -> Naming | None:
        """Returns the columns that name the second time in the same table, if any."""
        division = self.division(period)
        if division is None or not division.column.time:
            return None
        return named(dict(self.second_forms).get(period, "dt string"), period).prefixed("e_")

    def of_kind(self, kind: UpdatePeriod) -> Period:
        """Returns the fact's period of a kind."""
        return next(period for period in self.periods if period.kind is kind)


@dataclass(frozen=True)
class CubeSchema:
    """A cube, and the stretch of base periods of its histories: ``count`` of them, from ordinal ``first``."""

    name: str
    time: str
    columns: tuple[Column, ...]
    facts: tuple[FactSchema, ...]
    first: int
    count: int

    @property
    def base(self) -> Period:
        return self.facts[0].base

    @property
    def stretch(self) -> tuple[int, int]:
        """The first instant and the end of the stretch."""
        return self.base.start(self.first), self.base.start(self.first + self.count)

    @property
    def fine(self) -> tuple[FactSchema, ...]:
        """The facts that begin with the base period."""
        return tuple(fact for fact in self.facts if fact.base is self.base)

    @property
    def coarse(self) -> tuple[FactSchema, ...]:
        """The facts that begin with a coarser period. They have the same events, at its start."""
        return tuple(fact for fact in self.facts if fact.base is not self.base)

    @property
    def dimensions(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not (column.aggregate or column.time))

    @property
    def second(self) -> Column | None:
        """The second time."""
        return next((column for column in self.columns if column.time), None)

    @property
    def zone(self) -> str:
        return self.base.zone

    @property
    def measures(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.aggregate)

    @property
    def counter(self) -> Column | None:
        """The measure that COUNT(*) adds up: the marked one, or the only one that does not count values that may be
        NULL.
        """
        of_values = {column.counted_by for column in self.columns if not column.not_null}
        counters = [column for column in self.measures if column.aggregate == "COUNT"]
        counting = [c for c in counters if c.events] or [c for c in counters if c.name not in of_values]
        return counting[0] if len(counting) == 1 else None

    def carried(self, fact: FactSchema) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.name in fact.columns)

    def stored(self, fact: FactSchema, period: Period) -> tuple[Column, ...]:
        """Returns the columns in the files of a fact's table: without time and without the dividing column."""
        division = fact.division(period)
        left_out = division and division.column
        return tuple(column for column in self.carried(fact) if column != left_out and not column.time)


@dataclass(frozen=True)
class Schema:
    """Cubes, and the rows of ``lookup``, an ordinary table whose first column is a key of the first cube's type."""

    cubes: tuple[CubeSchema, ...]
    lookup: tuple[Column, ...]
    lookup_rows: tuple[tuple[Value, ...], ...]


def quoted(name: str) -> str:
    """Returns a name as SQL text, in backquotes if it is not plain."""
    return name if name.isascii() and name.isidentifier() else f"`{name}`"


def literal(value: Value, type_: str) -> str:
    """Returns a value as Spark SQL text of exactly this type."""
    if value is None:
        return f"CAST(NULL AS {type_.upper()})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return "'" + value.replace("'", "\\'") + "'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, float) and (type_ == "float" or not value):
        return f"{value!r}{'F' if type_ == 'float' else 'D'}"  # A DECIMAL has one zero, and DuckDB casts none to FLOAT.
    return str(value) if type_ == "int" else f"CAST({value} AS {type_.upper()})"


def plain(value: Value) -> str:
    """Returns a value as the text of a constant in a PARTITION or COMPLETE WITH clause."""
    if value is None:
        return "NULL"
    return literal(value, "int" if isinstance(value, int) else "string")


def statements(schema: Schema) -> list[str]:
    """Returns the statements that create a schema's objects, in order."""
    texts = [f"CREATE TABLE lookup ({_columns(schema.lookup)})"]
    rows = [
        ", ".join(literal(v, c.type) for v, c in zip(row, schema.lookup, strict=True)) for row in schema.lookup_rows
    ]
    texts.append(f"INSERT INTO lookup VALUES {', '.join(f'({row})' for row in rows)}")
    for cube in schema.cubes:
        times = [f"{quoted(cube.time)} TIMESTAMP TIME", *(c.declaration for c in cube.columns if c.time)]
        declared = [*(column.declaration for column in cube.columns if not column.time), *times]
        zone = f" TIME ZONE '{cube.zone}'" if cube.zone != "UTC" else ""
        texts.append(f"CREATE CUBE {quoted(cube.name)} ({', '.join(declared)}){zone}")
        for fact in cube.facts:
            for table, period in {fact.table(period): period for period in fact.periods}.items():
                by = ", ".join([*fact.naming(period).declared, *_dividing(fact, period)])
                stored = _columns(cube.stored(fact, period))
                if period is not fact.base:
                    stored = _columns(cube.stored(fact, period), sums_of_float(), rolled_up=True)
                # A third of the tables has a file for each partition. The text decides, so that seeds stay the same.
                single = zlib.crc32(f"{table} {stored}".encode()) % 3 == 0
                packing = " TBLPROPERTIES ('rewriter.packed' = 'false')" if single else ""
                texts.append(f"CREATE TABLE {table} ({stored}) PARTITIONED BY ({by}){packing}")
            for narrow in fact.narrow:
                kept = tuple(column for column in cube.carried(fact) if column.name in narrow.columns)
                by = ", ".join(fact.naming(narrow.period).declared)
                stored = _columns(kept, sums_of_float(), rolled_up=True)
                texts.append(f"CREATE TABLE {narrow.table} ({stored}) PARTITIONED BY ({by})")
            texts.append(create_fact(cube, fact))
    return texts


def create_fact(cube: CubeSchema, fact: FactSchema) -> str:
    """Returns the statement that declares a fact."""
    tables = []
    for period in fact.periods[-1:] if fact.shared else fact.periods:
        held = (
            f"PERIODS ({', '.join(period.name for period in fact.periods)})" if fact.shared else f"PERIOD {period.name}"
        )
        by = f"PARTITIONED BY {quoted(cube.time)} AS {fact.naming(period).clause}"
        second = fact.other_naming(period)
        if second is not None and cube.second is not None:
            by += f" PARTITIONED BY {quoted(cube.second.name)} AS {second.clause}"
        tables.append(f"TABLE {fact.table(period)} {held} {by}{_promises(fact, period)}")
    for narrow in fact.narrow:
        by = f"PARTITIONED BY {quoted(cube.time)} AS {fact.naming(narrow.period).clause}"
        tables.append(f"TABLE {narrow.table} PERIOD {narrow.period.name} {by}")
    listed = [quoted(column.name) for column in cube.carried(fact) if not column.time]
    columns = f" ({', '.join(listed)})" if fact.partial else ""
    weight = f" WEIGHT {fact.weight}" if fact.weight else ""
    bounds = zip(("START", "END"), fact.window, strict=True)
    window = "".join(f" {word} '{instant_text(cube.zone, bound)}'" for word, bound in bounds if bound is not None)
    stored = f"STORED IN ({', '.join(tables)}){window}"
    return f"CREATE FACT {fact.name} OF CUBE {quoted(cube.name)}{columns}{weight} {stored}"


def _dividing(fact: FactSchema, period: Period) -> list[str]:
    """Returns the declarations of the further partition columns of a table."""
    division, second = fact.division(period), fact.other_naming(period)
    return second.declared if second else [_columns((division.column,))] if division else []


def _promises(fact: FactSchema, period: Period) -> str:
    division = fact.division(period)
    rule = f" {division.clause}" if division and not division.column.time else ""
    return rule + (" TRUSTED" if period in fact.trusted else "")


def sums_of_float() -> str:
    """Returns the type of a FLOAT measure in rollups."""
    return "DOUBLE"


def _columns(columns: tuple[Column, ...], floats: str = "FLOAT", *, rolled_up: bool = False) -> str:
    types = [(c.rollup if rolled_up else "") or c.type for c in columns]
    texts = [floats if type_ == "float" else type_.upper() for type_ in types]
    return ", ".join(f"{quoted(c.name)} {text}" for c, text in zip(columns, texts, strict=True))
