"""Random histories of warehouses, each with models of its cubes.

A history consists of random inserts, overwrites, drops, loads and refreshes in random order. So rollups are missing,
outdated, computed from other rollups or doubled. Periods of divided tables are usually complete, sometimes not, and
lose single partitions. Owners keep their promises: after every step TRUSTED rollups are correct, and the facts of one
cube describe the same events.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import rewriter
from rewriter.exec.engine import Engine
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.time_bounds import parse_instant

from .derivations import (
    CUBE_WAYS,
    READS,
    TIMED,
    TWISTS,
    WAYS,
    Accept,
    Derivation,
    Derive,
    MarkComplete,
    Rely,
    Retract,
    derivable,
)
from .model import Inconsistent, Model
from .periods import Period
from .random_schemas import forked_rng
from .schemas import VALUES, Column, CubeSchema, FactSchema, Schema, Value, statements
from .steps import Add, Drop, DropPart, DropPeriod, Load, Recreate, RefreshFact, RollUp, Row, Step, Write, within

#: The pinned present of all sessions, in the middle of the data of some histories.
NOW_TEXT = "2013-02-11T12"
NOW = parse_instant(NOW_TEXT)


@dataclass
class History:
    """A warehouse after ``steps``, and the models of its cubes by name. ``catalog`` is its URL."""

    schema: Schema
    warehouse: Path
    connection: rewriter.Connection
    models: dict[str, Model]
    steps: list[Step | Derivation] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    catalog: str | None = None

    def take(self, step: Step | Derivation) -> None:
        """Runs a step in the model and in the warehouse, with the steps that keep the promises that it would break.

        Raises ``Inconsistent`` before the warehouse is changed.
        """
        for done in self.models[step.cube.name].apply(step):
            for sql in done.statements():
                self.run(sql)
        self.steps.append(step)

    def run(self, sql: str) -> None:
        """Runs a statement. ``log`` has all of them, in order."""
        self.connection.cursor().execute(sql)
        self.log.append(sql)

    def open(self, engine: str | Engine) -> rewriter.Connection:
        """Opens another session over the warehouse."""
        return _open(self.warehouse, engine, self.catalog)


def _open(warehouse: Path, engine: str | Engine, catalog: str | None = None) -> rewriter.Connection:
    connection = rewriter.connect(warehouse, engine=engine, catalog=catalog)
    connection.cursor().execute(f"SET rewriter.now = '{NOW_TEXT}'")
    return connection


def begin(schema: Schema, warehouse: Path, catalog: str | None = None) -> History:
    """Creates a warehouse with the schema's objects and without partitions."""
    models = {cube.name: Model(cube) for cube in schema.cubes}
    history = History(schema, warehouse, _open(warehouse, "duckdb", catalog), models, catalog=catalog)
    for sql in statements(schema):
        history.run(sql)
    return history


def replay(schema: Schema, steps: Iterable[Step | Derivation], warehouse: Path) -> History:
    """Runs a history of exactly these steps."""
    history = begin(schema, warehouse)
    for step in steps:
        history.take(step)
    return history


# -- random ones ------------------------------------------------------------------------------------------------------


def load(history: History, rng: random.Random, complete: float = 0.0) -> None:
    """Writes the first rows of every cube, and usually rollups over them. ``complete`` is the probability that the
    missing base periods are marked complete, so that the rollups are fresh.
    """
    for cube in history.schema.cubes:
        # Some histories begin without holes, some with a few, some with many.
        share = rng.choice((1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.93))
        chosen = [o for o in range(cube.first, cube.first + cube.count) if rng.random() < share] or [cube.first]
        history.take(Write(cube, tuple((o, _whole(rng, cube, o, 1)) for o in chosen), overwrite=False, dynamic=True))
        if complete and forked_rng(rng).random() < complete:
            history.take(MarkComplete(cube, range(cube.first, cube.first + cube.count)))
        for fact in cube.facts:
            for period in fact.periods[1:]:
                targets = _targets(rng, cube, period)
                if targets and rng.random() < 0.7:
                    history.take(_refresh(rng, cube, fact, fact.base, period, targets, double=False))
            if fact.narrow:
                history.take(RefreshFact(cube, fact, None))


#: The kinds of steps and their weights.
STEPS = {
    "refresh": 26, "refresh_all": 6, "into": 8, "overwrite": 6, "many": 4, "empty": 2, "drop": 4, "drop_many": 2,
    "add": 3, "double": 3, "from_rollup": 8, "drop_rollup": 5, "timeless": 2, "refresh_fact": 6,
}  # fmt: skip
#: The kinds of steps that replace them for a fact without rollups.
_WITHOUT_ROLLUPS_COARSE = {"refresh": "into", "refresh_all": "many", "from_rollup": "overwrite", "double": "into"}
_WITHOUT_ROLLUPS = {
    **_WITHOUT_ROLLUPS_COARSE,
    "drop_rollup": "drop",
    "load": "into",
    "drop_part": "drop",
    "newest_rollup": "newest",
}
#: Additional kinds of steps, which occur sometimes.
BESIDES = {"load": 3, "drop_part": 4}
#: Steps that are interesting for open ends: the last base period becomes incomplete, and rollups end with it.
NEWEST = {"newest": 2, "newest_rollup": 1}


#: Steps that prove rollups, and steps that do not.
DERIVED = {"derive": 8, "derive_half": 1, "mark_complete": 2, "accept": 1, "retract": 1, "derive_timed": 4}
#: Rollups that are computed from promised ones.
RELYING = {"rely": 1}


def step(history: History, rng: random.Random, weights: Mapping[str, int] = MappingProxyType(STEPS)) -> None:
    """Runs one random step of the kinds in ``weights``. With the default weights it sometimes runs another one of
    ``BESIDES``.
    """
    _take(history, rng, weights)
    forked = forked_rng(rng)
    if weights == STEPS and forked.random() < 0.15:
        _take(history, forked, BESIDES)
    if weights == STEPS and forked.random() < 0.1:
        _take(history, forked, NEWEST)
    if weights == STEPS and forked.random() < 0.3:
        _take(history, forked, DERIVED)
    if weights == STEPS and forked.random() < 0.1:
        _take(history, forked, RELYING)
    if weights == STEPS and forked.random() < 0.08:
        cube = forked.choice(history.schema.cubes)
        history.take(Recreate(cube, forked.choice(cube.facts)))
    narrowed = [(cube, fact) for cube in history.schema.cubes for fact in cube.facts if fact.narrow]
    if weights == STEPS and narrowed and forked.random() < 0.3:
        history.take(RefreshFact(*forked.choice(narrowed), None))


def _take(history: History, rng: random.Random, weights: Mapping[str, int]) -> None:
    cube = rng.choice(history.schema.cubes)
    model = history.models[cube.name]
    step = _step(model, rng, rng.choices(list(weights), list(weights.values()))[0])
    try:
        if isinstance(step, Drop) and step.ordinals != (None,) and rng.random() < 0.7:
            # Base periods are usually rolled up before they are dropped.
            for fact in (fact for fact in cube.fine if len(fact.periods) > 1):
                period = rng.choice(fact.periods[1:])
                targets = tuple(
                    dict.fromkeys(period.ordinal(cube.base.start(o)) for o in step.ordinals if o is not None)
                )
                history.take(_refresh(rng, cube, fact, fact.base, period, targets, double=False))
        history.take(step)
    except Inconsistent:
        # Partitions that only some facts still have are written again in all of them.
        rows = tuple((o, _rows(rng, cube, o)) for o in model.torn())
        history.take(Write(cube, rows, overwrite=True, dynamic=False))


def _step(model: Model, rng: random.Random, kind: str) -> Step | Derivation:
    cube = model.cube
    fact = rng.choice(cube.facts)
    if kind in DERIVED or kind in RELYING:
        return _derivation(model, rng, kind, fact)
    ordinal = cube.first + rng.randrange(cube.count)
    if len(fact.periods) == 1:
        kind = _WITHOUT_ROLLUPS.get(kind, kind) if fact in cube.fine else _WITHOUT_ROLLUPS_COARSE.get(kind, kind)
    period = rng.choice(fact.periods[1:] or fact.periods)
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
        return _drop_part(model, forked_rng(rng), fact)
    if kind == "newest":
        newest = cube.first + cube.count - 1
        return Write(cube, ((newest, _parted(rng, cube, newest)),), overwrite=True, dynamic=False)
    if kind == "newest_rollup":
        newest = period.ordinal(cube.base.start(cube.first + cube.count - 1))
        return _refresh(rng, cube, fact, fact.base, period, (newest,), double=False)
    if kind == "drop_rollup":
        if fact in cube.coarse and forked_rng(rng).random() < 0.4:
            return DropPeriod(cube, fact, fact.base, fact.base.ordinal(cube.base.start(ordinal)))
        return DropPeriod(cube, fact, period, target)
    if kind in ("drop", "drop_many"):
        names = tuple(fact.name for fact in cube.fine)
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
            return Drop(cube, tuple(fact.name for fact in cube.facts), (None,))
        rows = ((None, _rows(rng, cube, None, 1)),)
        return Write(cube, rows, overwrite=rng.random() < 0.5, dynamic=rng.random() < 0.5)
    overwrite = kind == "overwrite" or (kind == "many" and rng.random() < 0.5)
    count = rng.randrange(2, 6) if kind == "many" else 1
    chosen = range(ordinal, min(ordinal + count, cube.first + cube.count))
    rows = tuple((o, () if kind == "empty" else _whole(rng, cube, o)) for o in chosen)
    return Write(cube, rows, overwrite=overwrite or kind == "empty", dynamic=kind == "many")


def _derivation(model: Model, rng: random.Random, kind: str, fact: FactSchema) -> Step | Derivation:
    """Returns a step that writes a rollup partition, proven or not, or a declaration about partitions."""
    cube, periods = model.cube, list(derivable(fact))
    first = cube.first + rng.randrange(cube.count)
    if kind == "mark_complete":
        # Often some rollup lacks this base period.
        coarse = rng.choice(fact.periods[1:] or fact.periods)
        lacking = sorted(o for _, period, o in model.doubtful if period is coarse)
        inside = within(cube.base, coarse, rng.choice(lacking or [coarse.ordinal(cube.base.start(first))]))
        short = range(first, min(first + rng.randrange(1, 40), cube.first + cube.count))
        return MarkComplete(cube, inside if len(inside) < 800 else short)
    if kind == "accept" or not periods:
        return Accept(cube, fact)
    period = rng.choice(periods)
    if kind == "retract":
        return Retract(cube, fact, period)
    if kind == "rely":
        pairs = [(finer, coarser) for finer in periods for coarser in periods if finer < coarser]
        pairs = [(finer, coarser) for finer, coarser in pairs if finer.nests_in(coarser)]
        if not pairs:
            return Retract(cube, fact, period)
        source, period = rng.choice(pairs)
    target = rng.choice(_targets(rng, cube, period) or (period.ordinal(cube.base.start(first)),))
    if kind == "derive_timed" and _has_whole(model, fact, period, target):
        way, reads = rng.choice(CUBE_WAYS), rng.choice(("whole", "whole", "whole", "half"))
        return Derive(cube, fact, period, target, way, reads, rng.choice(TIMED) if rng.random() < 0.7 else "")
    if kind == "rely":
        return Rely(cube, fact, source, period, target)
    if kind == "derive_half":
        return Derive(cube, fact, period, target, rng.choice(WAYS[1:4]), "half")
    twist = rng.choice(TWISTS) if rng.random() < 0.4 else ""
    twist = twist if any(column.aggregate for column in cube.stored(fact, fact.base)) else ""
    return Derive(cube, fact, period, target, rng.choice(WAYS), "whole" if twist else rng.choice(READS), twist)


def _has_whole(model: Model, fact: FactSchema, period: Period, target: int) -> bool:
    """Tests whether a query of the fact finds all base periods of a rollup period, and a dimension to group by."""
    cube, base = model.cube, fact.base
    start, end = cube.stretch
    is_inside = start <= period.start(target) and period.end(target) <= end
    has_dimensions = any(not column.aggregate and not column.time for column in cube.carried(fact))
    return is_inside and has_dimensions and model.valid(fact, base).issuperset(within(base, period, target))


def _refresh(
    rng: random.Random,
    cube: CubeSchema,
    fact: FactSchema,
    source: Period,
    period: Period,
    targets: tuple[int, ...],
    *,
    double: bool,
) -> RollUp:
    # The hours of UTC do not begin with the names of a zone's days.
    told = cube.zone == "UTC" or source.kind >= UpdatePeriod.DAILY
    prefix = told and fact.naming(period).begins(fact.naming(source))
    dynamic = bool(prefix) and source is fact.base and rng.random() < (0.9 if len(targets) > 3 else 0.2)
    return RollUp(cube, fact, source, period, targets, double=double, dynamic=dynamic)


def whole_refresh(cube: CubeSchema, fact: FactSchema, period: Period) -> RollUp:
    """Returns a step that computes all rollup partitions of a period that overlap the stretch from the base."""
    first, last = (period.ordinal(cube.base.start(cube.first + n)) for n in (0, cube.count - 1))
    return RollUp(cube, fact, fact.base, period, tuple(range(first, last + 1)))


def _targets(rng: random.Random, cube: CubeSchema, period: Period) -> tuple[int, ...]:
    """Returns the periods inside the stretch. Sometimes it includes those that only begin or end in it, whose rollups
    cover more time than the base has.
    """
    start, end = cube.stretch
    touched = range(period.ordinal(start), period.ordinal(end - 1) + 1)
    beyond = rng.random() < 0.1
    return tuple(o for o in touched if beyond or (start <= period.start(o) and period.end(o) <= end))


def _drop_part(model: Model, rng: random.Random, fact: FactSchema) -> Step:
    """Returns a step that drops one partition of a divided period, or a rollup if there is none."""
    divided = [period for period, _ in fact.divisions if model.of(fact, period)]
    if not divided:
        period = (*fact.periods, *fact.periods)[1]
        return DropPeriod(model.cube, fact, period, min(model.of(fact, period), default=0))
    period = rng.choice(divided)
    target = rng.choice(sorted(model.of(fact, period)))
    return DropPart(
        model.cube, fact, period, target, rng.choice(sorted(model.parts[fact.name, period][target], key=str))
    )


def _whole(rng: random.Random, cube: CubeSchema, ordinal: int, least: int = 0) -> tuple[Row, ...]:
    """Returns rows of one base period. Usually they include the values that make a divided period complete."""
    rows, forked = _rows(rng, cube, ordinal, least), forked_rng(rng)
    for division in (fact.division(fact.base) for fact in cube.fine):
        position = cube.columns.index(division.column) if division else 0
        for value in division.values if division and forked.random() < 0.9 else ():
            if all(row[position] != value for row in rows):
                row = _row(forked, cube, ordinal)
                rows = (*rows, (*row[:position], value, *row[position + 1 :]))
    return rows


def _parted(rng: random.Random, cube: CubeSchema, ordinal: int) -> tuple[Row, ...]:
    """Returns rows that fall into one partition of a divided base period, usually not all of it."""
    return (_row(rng, cube, ordinal),) * rng.choice((1, 2))


def _rows(rng: random.Random, cube: CubeSchema, ordinal: int | None, least: int = 0) -> tuple[Row, ...]:
    """Returns a few rows, some of them twice."""
    rows = [_row(rng, cube, ordinal) for _ in range(rng.choice((least, 1, 1, 2, 3)))]
    return tuple(rows + [row for row in rows if rng.random() < 0.15])


def _row(rng: random.Random, cube: CubeSchema, ordinal: int | None) -> Row:
    counts = {column.name: rng.randrange(3) for column in cube.measures if column.aggregate == "COUNT"}
    if cube.counter is not None:
        counts[cube.counter.name] = rng.randrange(1, 4)
    dividing = {division.column for fact in cube.facts for _, division in fact.divisions}
    row = tuple(_second(rng, cube, ordinal) if column.time else _value(rng, column, counts) for column in cube.columns)
    # No partition has an empty text as its value.
    return tuple(
        VALUES["string"][0] if value == "" and column in dividing else value
        for value, column in zip(row, cube.columns, strict=True)
    )


def _second(rng: random.Random, cube: CubeSchema, ordinal: int | None) -> Value:
    """Returns the second time of a row: often that of its period, sometimes long before or after, or NULL."""
    kind = rng.random()
    if kind < 0.1:
        return None
    if ordinal is None or kind < 0.3:
        ordinal = cube.first + rng.randrange(cube.count)
    elif kind < 0.5:
        ordinal = max(cube.first, ordinal - rng.randrange(3))
    return cube.base.start(ordinal)


def _value(rng: random.Random, column: Column, counts: dict[str, int]) -> Value:
    if column.name in counts:
        return counts[column.name]
    if column.counted_by:
        return rng.choice(column.values) if counts[column.counted_by] else None
    if not column.not_null and rng.random() < 0.2:
        return None
    return rng.choice(column.values)
