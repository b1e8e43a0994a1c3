"""The steps of a history: values that say what happens, as statements for a warehouse."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import format_instant

from .schemas import Column, CubeSchema, FactSchema, Value, literal, quoted

Row = tuple[Value, ...]


@dataclass(frozen=True)
class Write:
    """Rows for base partitions of every fact. The ordinal ``None`` is the partition whose time is NULL.

    A dynamic write without rows for a partition leaves it alone; a static one makes it empty, or adds nothing to it.
    """

    cube: CubeSchema
    rows: tuple[tuple[int | None, tuple[Row, ...]], ...]
    overwrite: bool
    dynamic: bool

    def statements(self) -> list[str]:
        return [sql for fact in self.cube.facts for sql in self._of(fact)]

    def _of(self, fact: FactSchema) -> list[str]:
        table, layout = fact.table(fact.base), fact.layout(fact.base)
        verb = "OVERWRITE" if self.overwrite else "INTO"
        columns = self.cube.carried(fact)
        kept = [index for index, column in enumerate(self.cube.columns) if column in columns]
        lines = {
            ordinal: [
                [literal(row[i], column.type) for i, column in zip(kept, columns, strict=True)]
                for row in (rows if ordinal is None else held(self.cube, fact, rows))
            ]
            for ordinal, rows in self.rows
        }
        if self.dynamic:
            values = [
                ", ".join([*line, *_texts(fact, fact.base, ordinal)])
                for ordinal, some in lines.items()
                for line in some
            ]
            into = f"INSERT {verb} {table} PARTITION ({', '.join(layout.columns)})"
            return [f"{into} VALUES {', '.join(f'({one})' for one in values)}"] if values else []
        empty = ", ".join(f"CAST(NULL AS {column.type.upper()})" for column in columns)
        found = []
        for ordinal, some in lines.items():
            listed = ", ".join(f"({', '.join(line)})" for line in some)
            query = f"VALUES {listed}" if some else f"SELECT {empty} WHERE 1 = 0"
            found.append(f"INSERT {verb} {table} {spec(fact, fact.base, ordinal)} {query}")
        return found


@dataclass(frozen=True)
class Drop:
    """Retention: base partitions of some facts go, and what they said stays true."""

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
    """An empty base partition of every fact, unless it is there."""

    cube: CubeSchema
    ordinal: int

    def statements(self) -> list[str]:
        return [
            f"ALTER TABLE {fact.table(fact.base)} ADD IF NOT EXISTS {spec(fact, fact.base, self.ordinal)}"
            for fact in self.cube.facts
        ]


@dataclass(frozen=True)
class RollUp:
    """Rollup partitions of one fact, computed from a finer period; ``double`` adds the rows where they may be."""

    cube: CubeSchema
    fact: FactSchema
    source: UpdatePeriod
    period: UpdatePeriod
    targets: tuple[int, ...]
    double: bool = False
    dynamic: bool = False

    def statements(self) -> list[str]:
        fact, verb = self.fact, "INTO" if self.double else "OVERWRITE"
        carried = self.cube.carried(fact)
        dimensions = [quoted(column.name) for column in carried if not column.aggregate]
        measures = [
            f"{column.aggregate.replace('COUNT', 'SUM')}({quoted(column.name)})"
            for column in carried
            if column.aggregate
        ]
        table = fact.table(self.period)
        if self.dynamic:
            width = len(fact.layout(self.period).values(self.targets[0])[0])
            time = f"substring(dt, 1, {width})"
            inside = [o for target in self.targets for o in within(self.source, self.period, target)]
            query = self._query([*dimensions, *measures, time], inside, [*dimensions, time])
            return [f"INSERT {verb} {table} PARTITION (dt) {query}"]
        made = []
        for target in self.targets:
            query = self._query([*dimensions, *measures], within(self.source, self.period, target), dimensions)
            made.append(f"INSERT {verb} {table} {spec(fact, self.period, target)} {query}")
        return made

    def _query(self, items: list[str], ordinals: Iterable[int], groups: list[str]) -> str:
        fact, source = self.fact, self.fact.layout(self.source)
        # Without dimensions a sum over nothing is a row, too; a rollup has none then.
        grouped = f"GROUP BY {', '.join(groups)}" if groups else "HAVING COUNT(*) > 0"
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for ordinal in ordinals:
            values = source.values(ordinal)
            by_first.setdefault(values[0], []).append(values)
        if len(source.columns) == 1:
            where = f"dt IN ({', '.join(literal(value, 'string') for value in by_first)})"
        else:
            hours = {day: ", ".join(literal(one[1], "string") for one in some) for day, some in by_first.items()}
            where = " OR ".join(f"(dt = {literal(day, 'string')} AND hr IN ({some}))" for day, some in hours.items())
        return f"SELECT {', '.join(items)} FROM {fact.table(self.source)} WHERE {where} {grouped}"


@dataclass(frozen=True)
class DropRollUp:
    """A rollup partition goes."""

    cube: CubeSchema
    fact: FactSchema
    period: UpdatePeriod
    target: int

    def statements(self) -> list[str]:
        dropped = spec(self.fact, self.period, self.target)
        return [f"ALTER TABLE {self.fact.table(self.period)} DROP IF EXISTS {dropped}"]


@dataclass(frozen=True)
class RefreshFact:
    """The warehouse computes the rollups itself that are missing or outdated, between two instants or all."""

    cube: CubeSchema
    fact: FactSchema
    bounds: tuple[int, int] | None

    def statements(self) -> list[str]:
        between = ""
        if self.bounds is not None:
            start, end = (f"'{format_instant(instant)}'" for instant in self.bounds)
            between = f" FROM {start} TO {end}"
        return [f"REFRESH FACT {self.fact.name}{between}"]


Step = Write | Drop | Add | RollUp | DropRollUp | RefreshFact


def held(cube: CubeSchema, fact: FactSchema, rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows that a fact holds of rows written at once for one partition. A ``merged`` fact adds up those with the
    same dimensions; what it does not carry is NULL in them.
    """
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
    known = [value for value in values if value is not None]
    fold: Any = {"MIN": min, "MAX": max}.get(column.aggregate, sum)
    return fold(known) if known else None


def within(source: UpdatePeriod, period: UpdatePeriod, target: int) -> range:
    """The ordinals of ``source`` inside one period."""
    return range(source.ordinal(period.start(target)), source.ordinal(period.end(target) - 1) + 1)


def spec(fact: FactSchema, period: UpdatePeriod, ordinal: int | None) -> str:
    """``PARTITION (…)`` for one partition."""
    columns = fact.layout(period).columns
    named = (f"{column} = {value}" for column, value in zip(columns, _texts(fact, period, ordinal), strict=True))
    return f"PARTITION ({', '.join(named)})"


def _texts(fact: FactSchema, period: UpdatePeriod, ordinal: int | None) -> list[str]:
    layout = fact.layout(period)
    if ordinal is None:
        return ["NULL"] * len(layout.columns)
    return [literal(value, "string") for value in layout.values(ordinal)]
