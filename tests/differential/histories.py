"""Random histories of warehouses, and beside each the models of its cubes.

A history is made of random inserts, overwrites, drops, loads and refreshes in random order, so rollups are missing,
outdated, computed from other rollups or doubled. Periods of divided tables are usually whole, sometimes not, and lose
single partitions. Owners keep their promises: after every step TRUSTED rollups are right, and facts of one cube
describe the same events.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import rewriter
from rewriter.exec.engine import Engine
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.periods import UpdatePeriod

from .model import Inconsistent, Model
from .random_schemas import apart
from .schemas import VALUES, Column, CubeSchema, FactSchema, Schema, Value, statements
from .steps import Add, Drop, DropPart, DropPeriod, Load, RefreshFact, RollUp, Row, Step, Write, within

#: The pinned present of all sessions: in the middle of what some histories hold.
NOW_TEXT = "2013-02-11T12"
NOW = parse_instant(NOW_TEXT)


@dataclass
class History:
    """A warehouse that went through ``steps``, and the models of its cubes by name. ``catalog`` is its URL."""

    schema: Schema
    warehouse: Path
    connection: rewriter.Connection
    models: dict[str, Model]
    steps: list[Step] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    catalog: str | None = None

    def take(self, step: Step) -> None:
        """Runs a step in the model and in the warehouse, and what keeps the promises that it would break.

        Raises ``Inconsistent`` before the warehouse is touched.
        """
        for done in self.models[step.cube.name].apply(step):
            for sql in done.statements():
                self.run(sql)
        self.steps.append(step)

    def run(self, sql: str) -> None:
        """Runs a statement; ``log`` has all of them, in order."""
        self.connection.cursor().execute(sql)
        self.log.append(sql)

    def open(self, engine: str | Engine) -> rewriter.Connection:
        """Another session over the warehouse."""
        return _open(self.warehouse, engine, self.catalog)


def _open(warehouse: Path, engine: str | Engine, catalog: str | None = None) -> rewriter.Connection:
    connection = rewriter.connect(warehouse, engine=engine, catalog=catalog)
    connection.cursor().execute(f"SET rewriter.now = '{NOW_TEXT}'")
    return connection


def begin(schema: Schema, warehouse: Path, catalog: str | None = None) -> History:
    """A warehouse with the schema's objects and without partitions."""
    models = {cube.name: Model(cube) for cube in schema.cubes}
    history = History(schema, warehouse, _open(warehouse, "duckdb", catalog), models, catalog=catalog)
    for sql in statements(schema):
        history.run(sql)
    return history


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
        history.take(Write(cube, tuple((o, _whole(rng, cube, 1)) for o in chosen), overwrite=False, dynamic=True))
        for fact in cube.facts:
            for period in fact.periods[1:]:
                targets = _targets(rng, cube, period)
                if targets and rng.random() < 0.7:
                    history.take(_refresh(rng, cube, fact, fact.base, period, targets, double=False))


#: What may happen, and how often it does.
STEPS = {
    "refresh": 26, "refresh_all": 6, "into": 8, "overwrite": 6, "many": 4, "empty": 2, "drop": 4, "drop_many": 2,
    "add": 3, "double": 3, "from_rollup": 8, "drop_rollup": 5, "timeless": 2, "refresh_fact": 6,
}  # fmt: skip
#: And what happens besides, now and then.
BESIDES = {"load": 3, "drop_part": 4}


def step(history: History, rng: random.Random, weights: Mapping[str, int] = MappingProxyType(STEPS)) -> None:
    """One random step of the kinds in ``weights``; without them now and then another one of ``BESIDES``."""
    _take(history, rng, weights)
    other = apart(rng)
    if weights == STEPS and other.random() < 0.15:
        _take(history, other, BESIDES)


def _take(history: History, rng: random.Random, weights: Mapping[str, int]) -> None:
    cube = rng.choice(history.schema.cubes)
    model = history.models[cube.name]
    found = _step(model, rng, rng.choices(list(weights), list(weights.values()))[0])
    try:
        if isinstance(found, Drop) and found.ordinals != (None,) and rng.random() < 0.7:
            # What goes is usually rolled up before.
            for fact in cube.fine:
                period = rng.choice(fact.periods[1:])
                targets = tuple(
                    dict.fromkeys(period.ordinal(cube.base.start(o)) for o in found.ordinals if o is not None)
                )
                history.take(_refresh(rng, cube, fact, fact.base, period, targets, double=False))
        history.take(found)
    except Inconsistent:
        # Partitions that only some facts have left are written anew in all of them.
        rows = tuple((o, _rows(rng, cube)) for o in model.torn())
        history.take(Write(cube, rows, overwrite=True, dynamic=False))


def _step(model: Model, rng: random.Random, kind: str) -> Step:
    cube = model.cube
    fact = rng.choice(cube.facts)
    ordinal = cube.first + rng.randrange(cube.count)
    period = rng.choice(fact.periods[1:])
    target = rng.choice(_targets(rng, cube, period) or (period.ordinal(cube.base.start(ordinal)),))
    if kind in ("refresh", "double"):
        return _refresh(rng, cube, fact, fact.base, period, (target,), double=kind == "double")
    if kind == "refresh_all":
        return _refresh(rng, cube, fact, fact.base, period, _targets(rng, cube, period) or (target,), double=False)
    if kind == "from_rollup":
        finer = [p for p in fact.periods if p < period and p.nests_in(period)]
        source = fact.base if fact.division(period) else finer[-1]
        return _refresh(rng, cube, fact, source, period, (target,), double=False)
    if kind == "load":
        return Load(cube, fact, period, (target,))
    if kind == "drop_part":
        return _drop_part(model, apart(rng), fact)
    if kind == "drop_rollup":
        if fact in cube.coarse and apart(rng).random() < 0.4:
            return DropPeriod(cube, fact, fact.base, fact.base.ordinal(cube.base.start(ordinal)))
        return DropPeriod(cube, fact, period, target)
    if kind in ("drop", "drop_many"):
        names = tuple(one.name for one in cube.fine)
        facts = names if rng.random() < 0.6 else (rng.choice(names),)
        end = min(ordinal + (1 if kind == "drop" else rng.randrange(2, 12)), cube.first + cube.count)
        return Drop(cube, facts, tuple(range(ordinal, end)))
    if kind == "refresh_fact":
        bounds = (period.start(target), period.end(target + rng.randrange(2))) if rng.random() < 0.5 else None
        return RefreshFact(cube, fact, bounds)
    if kind == "add":
        return Add(cube, ordinal)
    if kind == "timeless":
        if model.rows.get(None) and rng.random() < 0.3:
            return Drop(cube, tuple(one.name for one in cube.facts), (None,))
        return Write(cube, ((None, _rows(rng, cube, 1)),), overwrite=rng.random() < 0.5, dynamic=rng.random() < 0.5)
    overwrite = kind == "overwrite" or (kind == "many" and rng.random() < 0.5)
    count = rng.randrange(2, 6) if kind == "many" else 1
    chosen = range(ordinal, min(ordinal + count, cube.first + cube.count))
    rows = tuple((o, () if kind == "empty" else _whole(rng, cube)) for o in chosen)
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
    dynamic = one and source is fact.base and rng.random() < (0.9 if len(targets) > 3 else 0.2)
    return RollUp(cube, fact, source, period, targets, double=double, dynamic=dynamic)


def whole_refresh(cube: CubeSchema, fact: FactSchema, period: UpdatePeriod) -> RollUp:
    """All rollup partitions of a period that overlap the stretch, computed from the base."""
    first, last = (period.ordinal(cube.base.start(cube.first + n)) for n in (0, cube.count - 1))
    return RollUp(cube, fact, fact.base, period, tuple(range(first, last + 1)))


def _targets(rng: random.Random, cube: CubeSchema, period: UpdatePeriod) -> tuple[int, ...]:
    """The periods that lie in the stretch; now and then also those that only begin or end in it, whose rollups know
    more time than the base has.
    """
    start, end = cube.base.start(cube.first), cube.base.start(cube.first + cube.count)
    found = range(period.ordinal(start), period.ordinal(end - 1) + 1)
    beyond = rng.random() < 0.1
    return tuple(o for o in found if beyond or (start <= period.start(o) and period.end(o) <= end))


def _drop_part(model: Model, rng: random.Random, fact: FactSchema) -> Step:
    """One partition of some divided period goes; where there is none, a rollup."""
    divided = [period for period, _ in fact.divisions if model.of(fact, period)]
    if not divided:
        return DropPeriod(model.cube, fact, fact.periods[1], min(model.of(fact, fact.periods[1]), default=0))
    period = rng.choice(divided)
    target = rng.choice(sorted(model.of(fact, period)))
    return DropPart(
        model.cube, fact, period, target, rng.choice(sorted(model.parts[fact.name, period][target], key=str))
    )


def _whole(rng: random.Random, cube: CubeSchema, least: int = 0) -> tuple[Row, ...]:
    """Rows of one base period; usually among them are those without which divided ones are not whole."""
    rows, other = _rows(rng, cube, least), apart(rng)
    for division in (fact.division(fact.base) for fact in cube.fine):
        place = cube.columns.index(division.column) if division else 0
        for value in division.values if division and other.random() < 0.9 else ():
            if all(row[place] != value for row in rows):
                one = _row(other, cube)
                rows = (*rows, (*one[:place], value, *one[place + 1 :]))
    return rows


def _rows(rng: random.Random, cube: CubeSchema, least: int = 0) -> tuple[Row, ...]:
    """A few rows, some of them twice."""
    rows = [_row(rng, cube) for _ in range(rng.choice((least, 1, 1, 2, 3)))]
    return tuple(rows + [row for row in rows if rng.random() < 0.15])


def _row(rng: random.Random, cube: CubeSchema) -> Row:
    counts = {column.name: rng.randrange(3) for column in cube.measures if column.aggregate == "COUNT"}
    if cube.counter is not None:
        counts[cube.counter.name] = rng.randrange(1, 4)
    dividing = {division.column for fact in cube.facts for _, division in fact.divisions}
    row = tuple(_value(rng, column, counts) for column in cube.columns)
    # No partition has an empty text for its value.
    return tuple(
        VALUES["string"][0] if value == "" and column in dividing else value
        for value, column in zip(row, cube.columns, strict=True)
    )


def _value(rng: random.Random, column: Column, counts: dict[str, int]) -> Value:
    if column.name in counts:
        return counts[column.name]
    if column.counted_by:
        return rng.choice(VALUES[column.type]) if counts[column.counted_by] else None
    if not column.not_null and rng.random() < 0.2:
        return None
    return rng.choice(VALUES[column.type])
