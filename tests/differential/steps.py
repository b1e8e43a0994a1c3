"""The steps of a history as values, with their statements for a warehouse."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from .naming import Naming
from .periods import Period, instant_text
from .schemas import Column, CubeSchema, Division, FactSchema, Value, create_fact, literal, plain, quoted

Row = tuple[Value, ...]
Line = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Write:
    """Rows for base partitions of every fact with the cube's base period.

    The ordinal ``None`` is the partition whose time is NULL, which every fact has. A dynamic write without rows for a
    partition leaves it unchanged. A static one empties it, or adds nothing to it. A static overwrite of a divided
    period replaces all partitions.
    """

    cube: CubeSchema
    rows: tuple[tuple[int | None, tuple[Row, ...]], ...]
    overwrite: bool
    dynamic: bool

    def statements(self) -> list[str]:
        return [sql for fact in self.cube.facts for sql in self._of(fact)]

    def _of(self, fact: FactSchema) -> list[str]:
        verb, period = "OVERWRITE" if self.overwrite else "INTO", fact.base
        lines = {
            ordinal: _lines(self.cube, fact, period, rows if ordinal is None else held(self.cube, fact, rows))
            for ordinal, rows in self.rows
            if ordinal is None or fact in self.cube.fine
        }
        if self.dynamic:
            values = [
                ", ".join([*line, *_texts(fact, period, ordinal), *part])
                for ordinal, some in lines.items()
                for line, part in some
            ]
            into = f"INSERT {verb} {fact.table(period)} PARTITION ({_names(fact, period)})"
            return [f"{into} VALUES {', '.join(f'({row})' for row in values)}"] if values else []
        inserts = [_static(self.cube, fact, period, verb, ordinal, some) for ordinal, some in lines.items()]
        return replacing(fact, period, inserts) if self.overwrite else inserts


@dataclass(frozen=True)
class Drop:
    """Retention: base partitions of some facts are dropped, and their results stay true."""

    cube: CubeSchema
    facts: tuple[str, ...]
    ordinals: tuple[int | None, ...]

    def statements(self) -> list[str]:
        return [
            f"ALTER TABLE {fact.table(fact.base)} DROP IF EXISTS {spec(fact, fact.base, ordinal)}"
            for fact in self.cube.facts
            if fact.name in self.facts
            for ordinal in self.ordinals
        ]


@dataclass(frozen=True)
class Add:
    """An empty base partition of every fact, unless it exists. For a divided period these are the partitions that make
    it complete.
    """

    cube: CubeSchema
    ordinal: int

    def statements(self) -> list[str]:
        return [
            f"ALTER TABLE {fact.table(fact.base)} ADD IF NOT EXISTS {spec(fact, fact.base, self.ordinal, *part)}"
            for fact in self.cube.fine
            for part in self.parts(fact)
        ]

    @staticmethod
    def parts(fact: FactSchema) -> list[tuple[Value, ...]]:
        """Returns the values of the partitions that make a base period complete. It is the empty tuple if the period is
        not divided.
        """
        division = fact.division(fact.base)
        return [()] if division is None else [(value,) for value in division.values or (None,)]


@dataclass(frozen=True)
class RollUp:
    """Rollup partitions of one fact, computed from a finer period. ``double`` adds the rows to existing ones."""

    cube: CubeSchema
    fact: FactSchema
    source: Period
    period: Period
    targets: tuple[int, ...]
    double: bool = False
    dynamic: bool = False

    def statements(self) -> list[str]:
        fact, verb = self.fact, "INTO" if self.double else "OVERWRITE"
        carried = [column for column in self.cube.carried(fact) if not column.time]
        dimensions = [quoted(column.name) for column in carried if not column.aggregate]
        measures = [
            f"{column.aggregate.replace('COUNT', 'SUM')}({quoted(column.name)})"
            for column in carried
            if column.aggregate
        ]
        table, part = fact.table(self.period), self._part()
        stored = [name for name in dimensions if name not in part]
        groups = [*stored, *part]
        if self.dynamic:
            width = fact.naming(self.period).begins(fact.naming(self.source))
            time = f"substring(dt, 1, {width})"
            inside = [o for target in self.targets for o in self.inside(target)]
            query = self._query([*stored, *measures, time, *part], inside, [*groups, time])
            return [f"INSERT {verb} {table} PARTITION ({_names(fact, self.period)}) {query}"]
        inserts = []
        for target in self.targets:
            query = self._query([*stored, *measures, *part], self.inside(target), groups)
            inserts.append(f"INSERT {verb} {table} {_prefix(fact, self.period, target)} {query}")
        return inserts if self.double else replacing(fact, self.period, inserts)

    def _query(self, items: list[str], ordinals: Iterable[int], groups: list[str]) -> str:
        # Without a group a sum over no rows is a row, too. A rollup has none then.
        grouped = f"GROUP BY {', '.join(groups or ['true'])}"
        where = matching(self.fact.naming(self.source), ordinals)
        return f"SELECT {', '.join(items)} FROM {self.fact.table(self.source)} WHERE {where} {grouped}"

    @property
    def _known(self) -> range:
        """The possible periods of the source."""
        start, end = self.cube.stretch
        return range(self.source.ordinal(start), self.source.ordinal(end - 1) + 1)

    def inside(self, target: int) -> range:
        """Returns the periods of the source that the query names for one target."""
        inside, existing = within(self.source, self.period, target), self._known
        return range(max(inside.start, existing.start), min(inside.stop, existing.stop))

    def _part(self) -> list[str]:
        """Returns the expressions of the dividing columns of the rollup over the columns of its source. A second time
        is a CASE.
        """
        finer, coarser = self.fact.other_naming(self.source), self.fact.other_naming(self.period)
        if coarser is None or finer is None:
            return _dividing(self.fact, self.period)
        width = coarser.begins(finer)
        if width:
            return [f"substring({finer.names[0]}, 1, {width})"]
        by_target: dict[int, list[int]] = {}
        for ordinal in self._known:
            by_target.setdefault(self.period.ordinal(self.source.start(ordinal)), []).append(ordinal)
        values = [(matching(finer, some), coarser.literals(target)) for target, some in by_target.items()]
        return [
            f"CASE {' '.join(f'WHEN {test} THEN {texts[position]}' for test, texts in values)} END"
            for position in range(len(coarser.columns))
        ]


@dataclass(frozen=True)
class Load:
    """Partitions of one fact, loaded from elsewhere: the content is correct, and nothing says where it came from.

    They are rollups, or the base of a fact that begins coarser than its cube. ``rows`` are base rows by target, which
    the model fills in.
    """

    cube: CubeSchema
    fact: FactSchema
    period: Period
    targets: tuple[int, ...]
    rows: tuple[tuple[Row, ...], ...] = ()

    def statements(self) -> list[str]:
        inserts = []
        for target, rows in zip(self.targets, self.rows, strict=True):
            kept = held(self.cube, replace(self.fact, merged=True), rows) if self.folds else rows
            lines = _lines(self.cube, self.fact, self.period, kept)
            inserts.append(_static(self.cube, self.fact, self.period, "OVERWRITE", target, lines))
        return replacing(self.fact, self.period, inserts)

    @property
    def folds(self) -> bool:
        """True if rows with the same dimensions become one."""
        return self.fact.merged or self.period is not self.fact.base


@dataclass(frozen=True)
class DropPeriod:
    """All partitions of one period of a fact are dropped: of a rollup, or of the base of a fact that begins coarse."""

    cube: CubeSchema
    fact: FactSchema
    period: Period
    target: int

    def statements(self) -> list[str]:
        dropped = spec(self.fact, self.period, self.target)
        return [f"ALTER TABLE {self.fact.table(self.period)} DROP IF EXISTS {dropped}"]


@dataclass(frozen=True)
class DropPart:
    """One partition of a divided period of a fact is dropped, of a rollup or of the base."""

    cube: CubeSchema
    fact: FactSchema
    period: Period
    target: int
    value: Value

    def statements(self) -> list[str]:
        dropped = spec(self.fact, self.period, self.target, self.value)
        return [f"ALTER TABLE {self.fact.table(self.period)} DROP IF EXISTS {dropped}"]


@dataclass(frozen=True)
class RefreshFact:
    """The warehouse computes missing or outdated rollups, between two instants or all."""

    cube: CubeSchema
    fact: FactSchema
    bounds: tuple[int, int] | None

    def statements(self) -> list[str]:
        between = ""
        if self.bounds is not None:
            start, end = (f"'{instant_text(self.cube.zone, instant)}'" for instant in self.bounds)
            between = f" FROM {start} TO {end}"
        return [f"REFRESH FACT {self.fact.name}{between}"]


@dataclass(frozen=True)
class Recreate:
    """A fact is dropped and declared again: all that was proven stays so."""

    cube: CubeSchema
    fact: FactSchema

    def statements(self) -> list[str]:
        return [f"DROP FACT {self.fact.name}", create_fact(self.cube, self.fact)]


Step = Recreate | Write | Drop | Add | RollUp | Load | DropPeriod | DropPart | RefreshFact


def held(cube: CubeSchema, fact: FactSchema, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Returns the rows that a fact stores for rows written at once to one partition.

    A ``merged`` fact adds up rows with the same dimensions. A column that it does not carry is NULL in them. A second
    time is the start of one of its base periods.
    """
    if cube.second is not None and fact.base is not cube.base:
        position = cube.columns.index(cube.second)
        part = Division(cube.second, ()).part
        rows = [(*row[:position], part(fact.base, row[position]), *row[position + 1 :]) for row in rows]
    if not fact.merged:
        return tuple(rows)
    carried = set(cube.carried(fact))
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        key = tuple(v if c in carried and not c.aggregate else None for v, c in zip(row, cube.columns, strict=True))
        groups.setdefault(key, []).append(row)
    return tuple(
        tuple(
            _folded(column, [row[i] for row in some]) if column in carried and column.aggregate else key[i]
            for i, column in enumerate(cube.columns)
        )
        for key, some in groups.items()
    )


def _folded(column: Column, values: Iterable[Any]) -> Value:
    numbers = [value for value in values if value is not None]
    fold: Any = {"MIN": min, "MAX": max}.get(column.aggregate, sum)
    return fold(numbers) if numbers else None


def within(source: Period, period: Period, target: int) -> range:
    """Returns the ordinals of ``source`` inside one period."""
    return range(source.ordinal(period.start(target)), source.ordinal(period.end(target) - 1) + 1)


def spec(fact: FactSchema, period: Period, ordinal: int | None, *part: Value) -> str:
    """Returns ``PARTITION (…)`` for one partition, or for all of a period."""
    columns, texts = fact.naming(period).names, _texts(fact, period, ordinal)
    if fact.division(period) and part:
        columns, texts = [*columns, *_dividing(fact, period)], [*texts, *_part_texts(fact, period, part[0], plain)]
    return f"PARTITION ({', '.join(f'{column} = {text}' for column, text in zip(columns, texts, strict=True))})"


def replacing(fact: FactSchema, period: Period, overwrites: list[str]) -> list[str]:
    """Returns statements that replace whole periods, whatever their number of partitions."""
    if fact.division(period) is None or not overwrites:
        return overwrites
    mode = "SET rewriter.partition_overwrite_mode"
    return [f"{mode} = static", *overwrites, f"{mode} = dynamic"]


def _prefix(fact: FactSchema, period: Period, ordinal: int | None) -> str:
    """Returns ``PARTITION (…)`` for rows of one period that each name their own partition of it."""
    named = spec(fact, period, ordinal)
    return f"{', '.join([named[:-1], *_dividing(fact, period)])})"


def _names(fact: FactSchema, period: Period) -> str:
    return ", ".join([*fact.naming(period).names, *_dividing(fact, period)])


def _dividing(fact: FactSchema, period: Period) -> list[str]:
    """Returns the names of the columns that divide a table, as SQL."""
    division, second = fact.division(period), fact.other_naming(period)
    return second.names if second else [quoted(division.column.name)] if division else []


def _part_texts(fact: FactSchema, period: Period, value: Value, text: Callable[[Value], str]) -> list[str]:
    """Returns the value of a dividing column as SQL. ``text`` writes that of a dimension."""
    second = fact.other_naming(period)
    if second is None:
        return [text(value)]
    return second.literals(period.ordinal(value) if isinstance(value, int) else None)


def matching(naming: Naming, ordinals: Iterable[int]) -> str:
    """Returns a condition that holds for the partitions of these periods."""
    *names, last = naming.names
    by_prefix: dict[tuple[str, ...], list[str]] = {}
    for ordinal in ordinals:
        *texts, text = naming.literals(ordinal)
        by_prefix.setdefault(tuple(texts), []).append(text)
    tests = [
        " AND ".join([*(f"{n} = {t}" for n, t in zip(names, texts, strict=True)), f"{last} IN ({', '.join(some)})"])
        for texts, some in by_prefix.items()
    ]
    return tests[0] if len(tests) == 1 else " OR ".join(f"({test})" for test in tests)


def _lines(cube: CubeSchema, fact: FactSchema, period: Period, rows: Iterable[Row]) -> list[Line]:
    """Returns rows as literals: the values of the files' columns, and that of the dividing column, if any."""
    stored, division = cube.stored(fact, period), fact.division(period)

    def text(row: Row, column: Column) -> str:
        type_ = column.type if period is fact.base else column.rollup or column.type
        return literal(row[cube.columns.index(column)], type_)

    def part(row: Row) -> list[str]:
        if division is None:
            return []
        column = division.column
        value = row[cube.columns.index(column)]
        return _part_texts(fact, period, value, lambda dividing: literal(dividing, column.type))

    return [([text(row, column) for column in stored], part(row)) for row in rows]


def static(
    cube: CubeSchema, fact: FactSchema, period: Period, verb: str, ordinal: int | None, rows: Iterable[Row]
) -> str:
    """Returns the INSERT of these rows into one period, as VALUES."""
    return _static(cube, fact, period, verb, ordinal, _lines(cube, fact, period, rows))


def _static(
    cube: CubeSchema, fact: FactSchema, period: Period, verb: str, ordinal: int | None, lines: list[Line]
) -> str:
    """Returns the INSERT of these rows into one period."""
    division, second = fact.division(period), fact.other_naming(period)
    types = [column.type for column in cube.stored(fact, period)]
    types += [column.type for column in second.columns] if second else [division.column.type] if division else []
    empty = ", ".join(f"CAST(NULL AS {type_.upper()})" for type_ in types)
    listed = ", ".join(f"({', '.join([*line, *part])})" for line, part in lines)
    query = f"VALUES {listed}" if lines else f"SELECT {empty} WHERE 1 = 0"
    return f"INSERT {verb} {fact.table(period)} {_prefix(fact, period, ordinal)} {query}"


def _texts(fact: FactSchema, period: Period, ordinal: int | None) -> list[str]:
    return fact.naming(period).literals(ordinal)
