"""Random histories of warehouses, and beside each a model that says what the base rows of its cubes are.

The history is made of random inserts, overwrites, drops and refreshes in random order, so rollups are missing,
outdated, computed from other rollups or doubled. The model keeps the base rows as the law of ``semantics.md`` wants
them: those of dropped base partitions are still there, because dropping is retention. It knows neither planner nor
catalog.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import rewriter
from rewriter.exec.engine import Engine
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.periods import UpdatePeriod

from .schemas import VALUES, Column, CubeSchema, FactSchema, Schema, Value, statements
from .steps import Add, Drop, DropRollUp, RefreshFact, RollUp, Row, Step, Write, held, within

#: The pinned present of all sessions: in the middle of what some histories hold.
NOW_TEXT = "2013-02-11T12"
NOW = parse_instant(NOW_TEXT)


class Inconsistent(Exception):
    """A step after which the facts of a cube would not describe the same events any more."""


@dataclass
class Model:
    """The base rows of one cube by ordinal of the base period, and which partitions each fact has by period.

    ``merged`` are the same events as facts hold them that merge rows. ``fresh`` are rollup partitions that certainly
    say what the base rows say; others may, too.
    """

    cube: CubeSchema
    rows: dict[int, list[Row]] = field(default_factory=dict)
    timeless: list[Row] = field(default_factory=list)
    merged: dict[str, dict[int, list[Row]]] = field(default_factory=dict)
    partitions: dict[tuple[str, UpdatePeriod], set[int]] = field(default_factory=dict)
    fresh: set[tuple[str, UpdatePeriod, int]] = field(default_factory=set)

    def apply(self, step: Step) -> None:
        """What a step does. Raises ``Inconsistent``."""
        base = self.cube.base
        if isinstance(step, Write):
            self._write(step)
        elif isinstance(step, Drop):
            for name in step.facts:
                self.of(name, base).difference_update(o for o in step.ordinals if o is not None)
            if None in step.ordinals:
                self.timeless = []
        elif isinstance(step, Add):
            if self._dropped(step.ordinal):
                self._replace(step.ordinal, ())
            for fact in self.cube.facts:
                self.of(fact.name, base).add(step.ordinal)
            self._outdate(step.ordinal)
        elif isinstance(step, RollUp):
            self._roll_up(step)
        elif isinstance(step, DropRollUp):
            self.of(step.fact.name, step.period).discard(step.target)
            self.fresh.discard((step.fact.name, step.period, step.target))
        # REFRESH FACT computes what whole periods of base partitions allow: it adds neither events nor time.

    def of(self, fact: str, period: UpdatePeriod) -> set[int]:
        """The ordinals of the partitions of one period of a fact."""
        return self.partitions.setdefault((fact, period), set())

    def extent(self, facts: Collection[str]) -> tuple[int, int]:
        """From the first to behind the last instant of all partitions of these facts; empty where there is none."""
        found = [
            (period, ordinals) for (fact, period), ordinals in self.partitions.items() if fact in facts and ordinals
        ]
        starts = [period.start(min(ordinals)) for period, ordinals in found]
        ends = [period.end(max(ordinals)) for period, ordinals in found]
        return (min(starts), max(ends)) if found else (0, 0)

    def _write(self, step: Write) -> None:
        if not step.overwrite:
            for ordinal, _ in step.rows:
                if ordinal is not None:
                    self._dropped(ordinal)  # raises before anything is changed
        for ordinal, rows in step.rows:
            if step.dynamic and not rows:
                continue
            if ordinal is None:
                self.timeless = [*(() if step.overwrite else self.timeless), *rows]
                continue
            if step.overwrite or self._dropped(ordinal):
                self._replace(ordinal, rows)
            else:
                self._insert(ordinal, rows)
            for fact in self.cube.facts:
                self.of(fact.name, self.cube.base).add(ordinal)
            self._outdate(ordinal)

    def _replace(self, ordinal: int, rows: Iterable[Row]) -> None:
        for held_rows in (self.rows, *self.merged.values()):
            held_rows[ordinal] = []
        self._insert(ordinal, rows)

    def _insert(self, ordinal: int, rows: Iterable[Row]) -> None:
        self.rows.setdefault(ordinal, []).extend(rows)
        for fact in self.cube.facts:
            if fact.merged:
                self.merged.setdefault(fact.name, {}).setdefault(ordinal, []).extend(held(self.cube, fact, rows))

    def _outdate(self, ordinal: int) -> None:
        start = self.cube.base.start(ordinal)
        self.fresh = {(fact, period, one) for fact, period, one in self.fresh if one != period.ordinal(start)}

    def _roll_up(self, step: RollUp) -> None:
        base = self.of(step.fact.name, self.cube.base)
        for target in step.targets:
            if step.dynamic and not self._has_rows(step, target):
                continue
            self.of(step.fact.name, step.period).add(target)
            known = within(self.cube.base, step.period, target)
            sure = step.source is self.cube.base and all(o in base for o in known if o in self.rows)
            name = (step.fact.name, step.period, target)
            (self.fresh.add if sure and not step.double else self.fresh.discard)(name)

    def _dropped(self, ordinal: int) -> bool:
        """Whether no fact has a base partition any more: what is written there replaces what was."""
        present = [ordinal in self.of(fact.name, self.cube.base) for fact in self.cube.facts]
        if any(present) and not all(present):
            raise Inconsistent
        return not any(present)

    def _has_rows(self, step: RollUp, target: int) -> bool:
        present = self.of(step.fact.name, step.source)
        return any(self.rows.get(o) for o in within(step.source, step.period, target) if o in present)


@dataclass
class History:
    """A warehouse that went through ``steps``, and the models of its cubes by name."""

    schema: Schema
    warehouse: Path
    connection: rewriter.Connection
    models: dict[str, Model]
    steps: list[Step] = field(default_factory=list)

    def take(self, step: Step) -> None:
        """Runs a step in the model and in the warehouse. Raises ``Inconsistent`` before the warehouse is touched."""
        self.models[step.cube.name].apply(step)
        for sql in step.statements():
            self.connection.cursor().execute(sql)
        self.steps.append(step)

    def open(self, engine: str | Engine) -> rewriter.Connection:
        """Another session over the warehouse."""
        return _open(self.warehouse, engine)

    @property
    def log(self) -> list[str]:
        """All statements, in order."""
        return statements(self.schema) + [sql for step in self.steps for sql in step.statements()]


def _open(warehouse: Path, engine: str | Engine) -> rewriter.Connection:
    connection = rewriter.connect(warehouse, engine=engine)
    connection.cursor().execute(f"SET rewriter.now = '{NOW_TEXT}'")
    return connection


def begin(schema: Schema, warehouse: Path) -> History:
    """A warehouse with the schema's objects and without partitions."""
    connection = _open(warehouse, "duckdb")
    for sql in statements(schema):
        connection.cursor().execute(sql)
    return History(schema, warehouse, connection, {cube.name: Model(cube) for cube in schema.cubes})


def replay(schema: Schema, steps: Iterable[Step], warehouse: Path) -> History:
    """The history of these very steps."""
    history = begin(schema, warehouse)
    for step in steps:
        history.take(step)
    return history


# -- random ones ------------------------------------------------------------------------------------------------------


def load(history: History, rng: random.Random) -> None:
    """The first rows of every cube, and usually rollups over them."""
    for cube in history.schema.cubes:
        # Some histories begin without holes, others with a few, others with many.
        share = rng.choice((1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.93))
        chosen = [o for o in range(cube.first, cube.first + cube.count) if rng.random() < share] or [cube.first]
        history.take(Write(cube, tuple((o, _rows(rng, cube, 1)) for o in chosen), overwrite=False, dynamic=True))
        for fact in cube.facts:
            for period in fact.periods[1:]:
                targets = _targets(rng, cube, period)
                if targets and rng.random() < 0.7:
                    history.take(_refresh(rng, cube, fact, cube.base, period, targets, double=False))


#: What may happen, and how often it does.
STEPS = {
    "refresh": 26, "refresh_all": 6, "into": 8, "overwrite": 6, "many": 4, "empty": 2, "drop": 4, "drop_many": 2,
    "add": 3, "double": 3, "from_rollup": 8, "drop_rollup": 5, "timeless": 2, "refresh_fact": 6,
}  # fmt: skip


def step(history: History, rng: random.Random, weights: Mapping[str, int] = MappingProxyType(STEPS)) -> None:
    """One random step of the kinds in ``weights``."""
    cube = rng.choice(history.schema.cubes)
    model = history.models[cube.name]
    found = _step(model, rng, rng.choices(list(weights), list(weights.values()))[0])
    try:
        if isinstance(found, Drop) and found.ordinals != (None,) and rng.random() < 0.7:
            # What goes is usually rolled up before.
            for fact in cube.facts:
                period = rng.choice(fact.periods[1:])
                targets = tuple(
                    dict.fromkeys(period.ordinal(cube.base.start(o)) for o in found.ordinals if o is not None)
                )
                history.take(_refresh(rng, cube, fact, cube.base, period, targets, double=False))
        history.take(found)
    except Inconsistent:
        # Partitions that only some facts have left are written anew in all of them.
        gone = [o for o in model.rows if len({o in model.of(f.name, cube.base) for f in cube.facts}) > 1]
        history.take(Write(cube, tuple((o, _rows(rng, cube)) for o in gone), overwrite=True, dynamic=False))


def _step(model: Model, rng: random.Random, kind: str) -> Step:
    cube = model.cube
    fact = rng.choice(cube.facts)
    ordinal = cube.first + rng.randrange(cube.count)
    period = rng.choice(fact.periods[1:])
    target = rng.choice(_targets(rng, cube, period) or (period.ordinal(cube.base.start(ordinal)),))
    if kind in ("refresh", "double"):
        return _refresh(rng, cube, fact, cube.base, period, (target,), double=kind == "double")
    if kind == "refresh_all":
        return _refresh(rng, cube, fact, cube.base, period, _targets(rng, cube, period) or (target,), double=False)
    if kind == "from_rollup":
        finer = [p for p in fact.periods if p < period and p.nests_in(period)]
        return _refresh(rng, cube, fact, finer[-1], period, (target,), double=False)
    if kind == "drop_rollup":
        return DropRollUp(cube, fact, period, target)
    if kind in ("drop", "drop_many"):
        names = tuple(one.name for one in cube.facts)
        facts = names if rng.random() < 0.6 else (rng.choice(names),)
        end = min(ordinal + (1 if kind == "drop" else rng.randrange(2, 12)), cube.first + cube.count)
        return Drop(cube, facts, tuple(range(ordinal, end)))
    if kind == "refresh_fact":
        bounds = (period.start(target), period.end(target + rng.randrange(2))) if rng.random() < 0.5 else None
        return RefreshFact(cube, fact, bounds)
    if kind == "add":
        return Add(cube, ordinal)
    if kind == "timeless":
        if model.timeless and rng.random() < 0.3:
            return Drop(cube, tuple(one.name for one in cube.facts), (None,))
        return Write(cube, ((None, _rows(rng, cube, 1)),), overwrite=rng.random() < 0.5, dynamic=rng.random() < 0.5)
    overwrite = kind == "overwrite" or (kind == "many" and rng.random() < 0.5)
    count = rng.randrange(2, 6) if kind == "many" else 1
    chosen = range(ordinal, min(ordinal + count, cube.first + cube.count))
    rows = tuple((o, () if kind == "empty" else _rows(rng, cube)) for o in chosen)
    return Write(cube, rows, overwrite=overwrite or kind == "empty", dynamic=kind == "many")


def _refresh(
    rng: random.Random,
    cube: CubeSchema,
    fact: FactSchema,
    source: UpdatePeriod,
    period: UpdatePeriod,
    targets: tuple[int, ...],
    *,
    double: bool,
) -> RollUp:
    first = fact.layout(period).values(targets[0])[0]
    last = fact.layout(source).values(within(source, period, targets[0])[0])[0]
    one = len(fact.layout(period).columns) == 1 and last.startswith(first)
    dynamic = one and source is cube.base and rng.random() < (0.9 if len(targets) > 3 else 0.2)
    return RollUp(cube, fact, source, period, targets, double=double, dynamic=dynamic)


def whole_refresh(cube: CubeSchema, fact: FactSchema, period: UpdatePeriod) -> RollUp:
    """All rollup partitions of a period that overlap the stretch, computed from the base."""
    first, last = (period.ordinal(cube.base.start(cube.first + n)) for n in (0, cube.count - 1))
    return RollUp(cube, fact, cube.base, period, tuple(range(first, last + 1)))


def _targets(rng: random.Random, cube: CubeSchema, period: UpdatePeriod) -> tuple[int, ...]:
    """The periods that lie in the stretch; now and then also those that only begin or end in it, whose rollups know
    more time than the base has.
    """
    start, end = cube.base.start(cube.first), cube.base.start(cube.first + cube.count)
    found = range(period.ordinal(start), period.ordinal(end - 1) + 1)
    beyond = rng.random() < 0.1
    return tuple(o for o in found if beyond or (start <= period.start(o) and period.end(o) <= end))


def _rows(rng: random.Random, cube: CubeSchema, least: int = 0) -> tuple[Row, ...]:
    """A few rows, some of them twice."""
    rows = [_row(rng, cube) for _ in range(rng.choice((least, 1, 1, 2, 3)))]
    return tuple(rows + [row for row in rows if rng.random() < 0.15])


def _row(rng: random.Random, cube: CubeSchema) -> Row:
    counts = {column.name: rng.randrange(3) for column in cube.measures if column.aggregate == "COUNT"}
    if cube.counter is not None:
        counts[cube.counter.name] = rng.randrange(1, 4)
    return tuple(_value(rng, column, counts) for column in cube.columns)


def _value(rng: random.Random, column: Column, counts: dict[str, int]) -> Value:
    if column.name in counts:
        return counts[column.name]
    if column.counted_by:
        return rng.choice(VALUES[column.type]) if counts[column.counted_by] else None
    if not column.not_null and rng.random() < 0.2:
        return None
    return rng.choice(VALUES[column.type])
