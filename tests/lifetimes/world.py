"""A warehouse that a random history changes, with the model of what its queries must return.

``STEPS`` is the table of steps, with their weights. A step changes the warehouse and the model. After each step
``World.ask`` compares the fixed set of queries with the model.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from kills import killed_at

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.dump import dump
from rewriter.errors import Error, MissingDataError
from rewriter.exec.engine import Engine
from rewriter.session import Session

from .model import DAY, DROPPED, GOOD, HOUR, LIVE, UNSURE, Lifetime, Question, Rollup, Row, ordered

#: Columns that the base has from the beginning, and those that may come later, with their first types.
FIRST = {"page": "STRING", "u": "BIGINT", "n": "INT", "s": "INT"}
LATER = {"city": "STRING", "k": "INT", "x": "INT", "z": "BIGINT"}
TYPES = {**FIRST, **LATER}
DIMENSIONS = ("page", "u", "city", "k")
WIDER = {"INT": "BIGINT"}
#: A text, a quoted name or a word of a statement.
_WORD = re.compile(r"'[^']*'|`[^`]*`|\w+")
#: Settings that all sessions have.
SETTINGS = {"rewriter.least_retention_hours": 0, "rewriter.verify_seconds": 60, "rewriter.verify_when": "before"}


class World:
    """A warehouse, its model, and the counts of what its queries returned.

    The steps named in ``often`` are twenty times as frequent as usual. ``refused`` counts the queries without a result,
    none of which must have one, and ``doubtful`` those of them for which the model is not sure.
    """

    def __init__(self, folder: Path, engine: Engine, rng: random.Random, often: Collection[str] = ()) -> None:
        self.folder, self.engine, self.rng, self.often = folder, engine, rng, often
        self.log: list[str] = []
        self.right = self.refused = self.doubtful = self.dropped = 0
        self.types = dict(TYPES)
        #: Column of the model → the name that it has now.
        self.names = {name: name for name in TYPES}
        self.is_hourly = rng.random() < 0.2
        #: A row of the base is an event, which has its time, and no count.
        self.is_raw = rng.random() < 0.2
        present = [*FIRST, *(name for name in LATER if rng.random() < 0.5)]
        cube = {name: self._role(name) for name in present if name in FIRST or rng.random() < 0.5}
        self.model = Lifetime(HOUR if self.is_hourly else DAY, present, cube)
        #: Rollups and their periods of which a file was changed on disk.
        self.rotten: list[tuple[Rollup, int]] = []
        #: Plain rows by day, in a table of no fact.
        self.plain: dict[int, int] = {}
        self.verify = rng.choice(("off", "off", "off", "certificate", "100%"))
        self.form = "%Y-%m-%d-%H" if self.is_hourly else "%Y-%m-%d"
        self.open()
        self._create()
        self.templates = rng.sample(list(self._templates()), 5)
        go_on(self)
        go_on(self)
        refresh(self)

    def close(self) -> None:
        for session in self.sessions:
            session.close()

    @property
    def session(self) -> Session:
        return self.sessions[0]

    def open(self) -> None:
        """Opens two sessions. The second one has a cache of the catalog."""
        own = ({"rewriter.verify": self.verify}, {"rewriter.cache_bytes": 1 << 24})
        self.sessions = [Session(self.folder, self.engine, settings={**SETTINGS, **some}) for some in own]

    def set_clock(self) -> None:
        for session in self.sessions:
            session.execute(f"SET rewriter.now = '{self.model.now:%Y-%m-%d %H:%M}'")

    def _role(self, name: str) -> str:
        return "" if name in DIMENSIONS else "COUNT" if name == "n" else self.rng.choice(("SUM", "SUM", "MAX", "MIN"))

    def _create(self) -> None:
        model, rng = self.model, self.rng
        self.dt = "STRING" if self.is_hourly else rng.choice(("STRING", "DATE"))
        model.retain = rng.choice((None, *self.lengths))
        self.run(self.create_cube())
        columns = ", ".join(f"{name} {self.stored_type(name)}" for name in self.stored)
        self.run(f"CREATE TABLE h ({columns}) PARTITIONED BY (dt {self.dt})")
        rollups = []
        for _ in range(rng.choice((1, 2, 3))):
            period, dimensions = self.random_rollup()
            if self.is_new(period, dimensions):
                rollups.append(self.new_rollup(period, dimensions))
        listed = ", ".join(rollups)
        model.refreshes_on_commit = rng.random() < 0.2
        period, raw = "HOURLY" if self.is_hourly else "DAILY", " RAW" if self.is_raw else ""
        self.run(
            f"CREATE FACT f OF CUBE v{' REFRESH ON COMMIT' if model.refreshes_on_commit else ''} STORED IN "
            f"(TABLE h PERIOD {period} PARTITIONED BY t AS (dt){raw}{retained(model.retain)}) "
            f"{f'ROLLUPS ({listed})' if listed else ''}"
        )
        self.create_view()
        self.run(
            "CREATE TABLE plain (m BIGINT) PARTITIONED BY (day STRING) TBLPROPERTIES ('rewriter.retain' = '30 days')"
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        return (2, 5, 9) if self.is_hourly else (5, 20, 40)

    def create_view(self) -> None:
        """Creates a view over the cube with the first names of its columns, which it keeps when they are renamed."""
        items = (name if now == name else f"`{now}` AS {name}" for name, now in self.names.items() if name in FIRST)
        self.log.append(f"CREATE VIEW w AS SELECT {', '.join(items)}, t FROM v")
        self.session.execute(self.log[-1])

    def create_cube(self) -> str:
        columns = [
            f"{name} {self.types[name]}{f' MEASURE {role}' if role else ''}{' EVENTS' if name == 'n' else ''}"
            for name, role in self.model.cube.items()
        ]
        return f"CREATE CUBE v ({', '.join(columns)}, t TIMESTAMP TIME)"

    def random_rollup(self) -> tuple[str, tuple[str, ...] | None]:
        """Returns the period and the dimensions of a rollup."""
        periods = (
            ("DAILY", "WEEKLY", "WEEKLY", "MONTHLY") if self.is_hourly else ("DAILY", "WEEKLY", "MONTHLY", "MONTHLY")
        )
        dimensions = tuple(name for name in self.dimensions if self.rng.random() < 0.5)
        # One that lists all dimensions has the name of one that lists none.
        is_wide = self.rng.random() < 0.3 or dimensions == tuple(self.dimensions)
        return self.rng.choice(periods), None if is_wide else dimensions

    @property
    def dimensions(self) -> list[str]:
        return [name for name, role in self.model.cube.items() if not role]

    def is_new(self, period: str, dimensions: tuple[str, ...] | None) -> bool:
        """Tests whether a rollup is neither a copy of the base nor one that the fact has, nor has its name."""
        columns = self.columns_of(dimensions)
        taken = {(rollup.period, rollup.columns) for rollup in self.model.rollups.values()}
        is_copy = (period, self.is_hourly) == ("DAILY", False) and columns == frozenset(self.model.cube)
        is_named = self.table_name(period, dimensions) in self.model.rollups
        return not (is_copy or is_named or (period, columns) in taken)

    def columns_of(self, dimensions: tuple[str, ...] | None) -> frozenset[str]:
        measures = {name for name, role in self.model.cube.items() if role}
        return frozenset(measures | set(self.dimensions if dimensions is None else dimensions))

    def new_rollup(self, period: str, dimensions: tuple[str, ...] | None) -> str:
        """Adds a rollup to the model, and returns its clause."""
        retain = self.rng.choice((None, None, *self.lengths)) if period != "MONTHLY" else None
        table = self.table_name(period, dimensions)
        columns = self.columns_of(dimensions)
        self.model.rollups[table] = Rollup(table, period, columns, columns, retain, is_whole=dimensions is None)
        listed = "" if dimensions is None else f" ({', '.join(dimensions)})"
        return f"{period}{listed}{retained(retain)}"

    def table_name(self, period: str, dimensions: tuple[str, ...] | None) -> str:
        named = "" if dimensions is None else "".join(f"_{self.names[name]}" for name in dimensions) or "_total"
        return f"f_{period.lower()}{named}"

    @property
    def stored(self) -> list[str]:
        """The columns of the base table, but for that of its partitions."""
        return [*(n for n in self.model.table_columns if n != "n"), "t"] if self.is_raw else self.model.table_columns

    def stored_type(self, name: str) -> str:
        return "TIMESTAMP" if name == "t" else self.types[name]

    # -- statements ---------------------------------------------------------------------------------------------------

    def run(self, sql: str) -> Any:
        """Runs a statement of the first session."""
        sql = self.named(sql)
        self.log.append(sql)
        return self.session.execute(sql)

    def named(self, sql: str) -> str:
        """Returns a statement with the names that columns have now. The model goes on to use their first names."""
        return _WORD.sub(lambda word: self.names.get(word[0], word[0]), sql)

    def attempt(self, sql: str, condition: str) -> Error | None:
        """Runs a statement of the first session. Returns its error if it has this condition."""
        try:
            self.run(sql)
        except Error as error:
            if error.condition != condition:
                raise
            return error
        return None

    def partition(self, unit: int) -> str:
        return f"{'' if self.dt == 'STRING' else 'DATE '}'{self.model.at(unit):{self.form}}'"

    def bound(self, unit: int) -> str:
        return f"'{self.model.at(unit):%Y-%m-%d %H:%M}'"

    def row(self) -> Row:
        """Returns a random row of the base."""
        rng = self.rng
        values: Row = {
            "page": rng.choice(("a", "b", None)),
            "u": rng.randrange(3),
            "n": rng.randrange(1, 4),
            "s": rng.choice((None, *range(-20, 80))),
            "city": rng.choice(("x", "y", None)),
            "k": rng.randrange(2),
            "x": rng.choice((None, *range(-20, 80))),
            "z": rng.randrange(100),
        }
        return {name: values[name] for name in self.model.table_columns} | ({"n": 1} if self.is_raw else {})

    def values(self, unit: int, row: Row) -> str:
        """Returns a row of VALUES: its stored columns, and its partition."""
        at = self.model.at(unit) + timedelta(minutes=self.rng.randrange(60))
        texts = [f"TIMESTAMP '{at:%Y-%m-%d %H:%M}:00'" if name == "t" else literal(row[name]) for name in self.stored]
        return f"({', '.join([*texts, self.partition(unit)])})"

    def insert(self, rows: dict[int, list[Row]], overwrite: bool = False, mark: str = "") -> None:
        """Writes rows into units of the base. An INSERT that the model refuses must fail, and change nothing."""
        if not rows:
            return
        values = ", ".join(self.values(unit, row) for unit, some in rows.items() for row in some)
        into = f"{'OVERWRITE' if overwrite else 'INTO'} h ({', '.join([*self.stored, 'dt'])})"
        error = self.attempt(f"INSERT {into} {mark} VALUES {values}", "LATE_EVENTS")
        if not overwrite and self.model.is_refused(rows):
            assert error is not None, "an event for a dropped partition was accepted"
            return
        assert error is None, f"refused: {error}"
        self.model.insert(rows, overwrite)
        self.after_commit()

    def after_commit(self) -> None:
        if self.model.refreshes_on_commit:
            self.model.refresh(most=0)

    def units(self, state: str = LIVE) -> list[int]:
        return [unit for unit in range(self.model.loaded) if self.model.of(unit).state == state]

    # -- queries ------------------------------------------------------------------------------------------------------

    def _templates(self) -> Iterator[tuple[tuple[str, ...], tuple[tuple[str, str], ...], int, int, str | None]]:
        """Yields queries: keys, calls, the first day and the one after the last, a page. ``declared`` is the cube's
        aggregate.
        """
        s = ("declared", "s")
        scale = 1 if not self.is_hourly else 0
        first = self.rng.choice((0, 0, 7, 31)) * scale
        yield (), (("COUNT", "*"), s), 0, 1000, None
        yield ("page",), (("SUM", "n"), s), (31 if scale else 7), (60 if scale else 14), None
        yield ("u",), (s,), 7 + first, 21 + first, None
        yield ("page", "u"), (("COUNT", "*"),), first, first + 31, self.rng.choice((None, "a"))
        yield (), (("SUM", "n"), ("MAX", "n")), 5, 9, None
        yield ("city",), (("SUM", "n"), s), first, 60, None
        yield ("page",), (("declared", "x"), ("COUNT", "*")), 0, 35, None
        yield ("month",), (s, ("declared", "z")), 0, 91, None
        yield ("k",), (("declared", "x"),), 7, 63, None

    def questions(self) -> Iterator[Question]:
        per_day = DAY // self.model.step
        for keys, calls, first, last, page in self.templates:
            named = tuple(
                (self.model.cube.get(m, "SUM") if function == "declared" else function, m) for function, m in calls
            )
            start, end = first * per_day, min(last * per_day, self.model.loaded)
            fits = not any(self.model.cube.get(key) for key in keys) and all(function for function, _ in named)
            if start < end and fits:
                yield Question(keys, named, start, end, page)

    def ask(self, session: Session | None = None) -> None:
        """Compares the fixed set of queries with the model."""
        session = session or self.session
        for question in self.questions():
            behind_view = question.columns <= FIRST.keys() and self.rng.random() < 0.3
            sql = self.sql(question, "w" if behind_view else "v")
            rows: list[tuple[Any, ...]] | None = None
            refusal: Error | None = None
            try:
                rows = ordered(map(naive, session.execute(sql if behind_view else self.named(sql)).rows()))
            except Error as error:
                refusal = error
            if not self.model.knows(question):
                told = refusal is not None and refusal.condition.startswith("UNRESOLVED_COLUMN")
                assert told, f"{sql} names a column that the cube has not: {rows} {refusal}"
            elif refusal is not None:
                assert isinstance(refusal, MissingDataError), f"{sql}: {refusal!r} {refusal}"
                assert not self.model.must_return(question), f"{sql} must have a result: {refusal}"
                self.refused += 1
                self.doubtful += self.model.may_return(question)
            else:
                wanted = self.model.number(question)
                assert rows == wanted, f"{sql}\nreturned {rows}\ninstead of {wanted}"
                self.right += 1

    def sql(self, question: Question, source: str = "v") -> str:
        texts = {"month": "date_trunc('MONTH', t)"}
        keys = [texts.get(name, name) for name in question.keys]
        calls = [f"{function}({measure})" for function, measure in question.calls]
        page = f" AND page = '{question.page}'" if question.page else ""
        where = f"t >= {self.bound(question.start)} AND t < {self.bound(question.end)}{page}"
        grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join([*keys, *calls])} FROM {source} WHERE {where}{grouped}"

    def step(self) -> str:
        """Runs a random step, and returns its name."""
        weights = [weight * (20 if name in self.often else 1) for name, (weight, _) in STEPS.items()]
        (name,) = self.rng.choices(list(STEPS), weights)
        self.log.append(f"-- {name}")
        STEPS[name][1](self)
        return name

    def there(self, table: str) -> set[int]:
        """Returns the first units of the partitions of a table of the fact."""
        self.log.append(f"SHOW PARTITIONS {table}")
        names = [str(row[0]).partition("=")[2] for row in self.session.execute(f"SHOW PARTITIONS {table}").rows()]
        period = self.model.rollups[table].period if table in self.model.rollups else None
        return {self._first_unit(name, period) for name in names}

    def _first_unit(self, name: str, period: str | None) -> int:
        if period == "WEEKLY":
            return self.model.unit(datetime.strptime(f"{name}-1", "%G-W%V-%u"))
        form = {"DAILY": "%Y-%m-%d", "MONTHLY": "%Y-%m"}.get(period or "", self.form)
        return self.model.unit(datetime.strptime(name, form))


def naive(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns a row whose instants are times of UTC without a zone."""
    return tuple(value.replace(tzinfo=None) if isinstance(value, datetime) else value for value in row)


def literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def retained(days: int | None) -> str:
    return "" if days is None else f" RETAIN {days} DAYS"


# -- steps ------------------------------------------------------------------------------------------------------------


def go_on(world: World) -> None:
    """Time passes, and its rows are loaded; a part of it may have to wait for a MARK COMPLETE."""
    model, rng = world.model, world.rng
    hours = rng.randrange(24, 96) if world.is_hourly else 24 * rng.randint(3, 25) + rng.randrange(24)
    model.now += timedelta(hours=hours)
    world.set_clock()
    start, end = model.loaded, model.unit(model.now)
    if start == end:
        return
    rows: dict[int, list[Row]] = {}
    for _ in range(rng.randint(2, 16)):
        rows.setdefault(rng.randrange(start, end), []).append(world.row())
    model.loaded = end
    is_marked = rng.random() < 0.9
    mark = f"MARK COMPLETE FROM {world.bound(start)} TO {world.bound(end)}" if is_marked else ""
    if is_marked:
        model.mark(start, end)
    world.insert(rows, mark=mark)
    day = int((model.now - world.model.at(0)) / DAY)
    world.plain[day] = world.plain.get(day, 0) + 1
    world.run(f"INSERT INTO plain VALUES ({day}, '{model.at(0) + day * DAY:%Y-%m-%d}')")


def late(world: World) -> None:
    """Late events, into some units; often of dropped ones, where retention is."""
    model, rng = world.model, world.rng
    recent = rng.choice((3, 30, 10**6)) * (DAY // model.step)
    start = max(0, model.loaded - recent)
    chosen = {rng.randrange(start, model.loaded) for _ in range(rng.randint(1, 2))}
    dropped = world.units(DROPPED)
    if dropped and rng.random() < 0.7:
        chosen.add(rng.choice(dropped))
    world.insert({unit: [world.row()] for unit in chosen})


def overwrite(world: World) -> None:
    unit = world.rng.randrange(world.model.loaded)
    world.insert({unit: [world.row() for _ in range(world.rng.randint(1, 2))]}, overwrite=True)


def empty(world: World) -> None:
    """An OVERWRITE without rows: nothing happened in the unit."""
    unit = world.rng.randrange(world.model.loaded)
    columns = ", ".join(world.stored)
    nothing = ", ".join(f"CAST(NULL AS {world.stored_type(name)}) AS {name}" for name in world.stored)
    world.run(f"INSERT OVERWRITE h PARTITION (dt = {world.partition(unit)}) ({columns}) SELECT {nothing} WHERE 1 = 0")
    world.model.insert({unit: []}, overwrite=True)
    world.after_commit()


def drop_unit(world: World) -> None:
    """The owner drops partitions of the base, proven rollups or not."""
    start = world.rng.randrange(world.model.loaded)
    end = min(start + world.rng.choice((1, 1, 7)), world.model.loaded)
    if world.dt == "DATE":
        for unit in range(start, end):
            world.run(f"ALTER TABLE h DROP IF EXISTS PARTITION (dt = {world.partition(unit)})")
    else:
        low, high = world.partition(start), world.partition(end)
        world.run(f"ALTER TABLE h DROP IF EXISTS PARTITION (dt >= {low}, dt < {high})")
    for unit in range(start, end):
        world.model.drop(unit)


def drop_rollup_partition(world: World) -> None:
    held = [(rollup, first) for rollup in world.model.rollups.values() for first in rollup.states]
    if held:
        rollup, first = world.rng.choice(held)
        world.run(f"ALTER TABLE {rollup.table} DROP IF EXISTS PARTITION (dt = '{period_text(world, rollup, first)}')")
        rollup.spoil(first)


def period_text(world: World, rollup: Rollup, first: int) -> str:
    form = {"DAILY": "%Y-%m-%d", "WEEKLY": "%G-W%V", "MONTHLY": "%Y-%m"}[rollup.period]
    return world.model.at(first).strftime(form)


def refresh(world: World) -> None:
    world.run("REFRESH FACT f")
    world.model.refresh()


def refresh_part(world: World) -> None:
    start = world.rng.randrange(world.model.loaded)
    end = min(world.model.loaded, start + world.rng.randint(1, 40))
    world.run(f"REFRESH FACT f FROM {world.bound(start)} TO {world.bound(end)}")
    world.model.refresh(start, end)


def mark(world: World) -> None:
    world.run(f"ALTER FACT f MARK COMPLETE FROM {world.bound(0)} TO {world.bound(world.model.loaded)}")
    world.model.mark(0, world.model.loaded)


def compact(world: World) -> None:
    world.run(f"ALTER TABLE {world.rng.choice(['h', *world.model.rollups])} COMPACT")


def vacuum(world: World) -> None:
    world.run("VACUUM RETAIN 0 HOURS")


def maintain(world: World) -> None:
    """Retention. What the model does not let go must stay."""
    world.run("MAINTAIN FACT f")
    world.model.refresh()
    note_what_left(world)


def killed(world: World) -> None:
    """A process dies at any moment of MAINTAIN FACT or REFRESH FACT."""
    statement, moment = world.rng.choice(("MAINTAIN FACT f", "REFRESH FACT f")), world.rng.randrange(1, 300)
    world.log.append(f"-- killed at moment {moment}: {statement}")
    killed_at(world.folder, statement, moment, first=(f"SET rewriter.now = '{world.model.now:%Y-%m-%d %H:%M}'",))
    world.model.refresh(most=0)
    note_what_left(world)


def note_what_left(world: World) -> None:
    """Reads which partitions are there, and compares those that have left with those that may leave."""
    model = world.model
    before = set(world.units())
    kept = world.there("h")
    for unit in before - kept:
        assert model.retain is not None, "a table without RETAIN lost a partition"
        assert model.may_leave(None, unit, unit + 1, model.retain), f"{world.partition(unit)} has left too early"
        model.drop(unit)
    world.dropped += len(before - kept)
    for rollup in model.rollups.values():
        if rollup.retain is None:
            continue
        there = world.there(rollup.table)
        for first in set(rollup.states) - there:
            stop = model.around(rollup.period, first)[1]
            assert rollup.state(first) == UNSURE or model.may_leave(rollup.period, first, stop, rollup.retain), (
                f"{rollup.table} lost {period_text(world, rollup, first)} too early"
            )
            rollup.spoil(first)
            world.dropped += 1


def maintain_plain(world: World) -> None:
    """MAINTAIN TABLE: old days of a table of no fact leave, and a table of a fact is refused."""
    with suppress(Error):
        world.run("MAINTAIN TABLE h")
        raise AssertionError("MAINTAIN TABLE of a table of a fact")
    world.run("MAINTAIN TABLE plain")
    cutoff = int((world.model.now - timedelta(days=30) - world.model.at(0)) / DAY)
    if world.model.now - timedelta(days=30) < world.model.at(0):
        cutoff = 0
    world.plain = {day: count for day, count in world.plain.items() if day >= cutoff}
    rows = world.run("SELECT m, COUNT(*) FROM plain GROUP BY m").rows()
    assert dict(rows) == world.plain, "MAINTAIN TABLE"


def retain(world: World) -> None:
    """RETAIN of the base or of a rollup comes, changes or goes."""
    model, rng = world.model, world.rng
    tables = ["h", "h", *(rollup.table for rollup in model.rollups.values() if rollup.period != "MONTHLY")]
    table, days = rng.choice(tables), rng.choice((None, *world.lengths))
    world.run(f"ALTER FACT f TABLE {table} {'UNSET RETAIN' if days is None else f'SET{retained(days)}'}")
    if table == "h":
        model.retain = days
    else:
        model.rollups[table].retain = days


def on_commit(world: World) -> None:
    model = world.model
    model.refreshes_on_commit = not model.refreshes_on_commit
    world.run(f"ALTER FACT f {'SET' if model.refreshes_on_commit else 'UNSET'} REFRESH ON COMMIT")


def add_column(world: World) -> None:
    """ALTER CUBE ADD: of a column that the base has, or gets first. Rollups without a list get it, and their partitions
    do not have it, whatever they held.
    """
    model, rng = world.model, world.rng
    absent = [name for name in LATER if name not in model.cube]
    if not absent:
        return
    names = rng.sample(absent, rng.randint(1, min(2, len(absent))))
    for name in names:
        if name not in model.table_columns:
            world.run(f"ALTER TABLE h ADD COLUMNS ({name} {world.types[name]})")
            model.table_columns.append(name)
    # A name may come back in another role.
    roles = {
        name: "" if world.types[name] == "STRING" else rng.choice(("", "SUM", "MAX")) if rng.random() < 0.4 else role
        for name, role in ((name, world._role(name)) for name in names)
    }
    listed = ", ".join(f"{n} {world.types[n]}{f' MEASURE {role}' if role else ''}" for n, role in roles.items())
    world.run(f"ALTER CUBE v ADD ({listed})")
    model.cube.update(roles)
    measures = frozenset(name for name, role in roles.items() if role)
    for rollup in model.rollups.values():
        added = frozenset(names) if rollup.is_whole else measures if rollup.made else frozenset()
        if rollup.made or added <= rollup.stored:
            rollup.add(added)
        else:
            rollup.is_whole = False
    if rng.random() < 0.5:
        world.ask()
        refresh(world)


def drop_column(world: World) -> None:
    """ALTER CUBE DROP. It is refused where two rollups would be the same."""
    model, rng = world.model, world.rng
    present = [name for name in LATER if name in model.cube]
    if not present:
        return
    name = rng.choice(present)
    error = world.attempt(f"ALTER CUBE v DROP ({name})", "INVALID_FACT")
    if error is not None:
        left = [(rollup.period, rollup.columns - {name}) for rollup in model.rollups.values()]
        if not world.is_hourly:
            left.append(("DAILY", frozenset(model.cube) - {name}))
        assert len(set(left)) < len(left), f"refused: {error}"
        return
    del model.cube[name]
    for rollup in model.rollups.values():
        rollup.remove(name)
        is_of_base = rollup.period == "DAILY" and not world.is_hourly
        rollup.is_whole |= rollup.columns == model.cube.keys() and not is_of_base


def rename(world: World) -> None:
    """ALTER CUBE RENAME: a column has another name in the cube and in all tables; or its first name again."""
    if world.is_raw:
        return  # Its table keeps the name, and its cube does not.
    name = world.rng.choice(list(world.model.cube))
    first = world.names[name] == name
    new_name = f"{name}_{world.rng.randrange(1000)}" if first or world.rng.random() < 0.5 else name
    if new_name in world.names.values():
        return
    change = f"ALTER CUBE v RENAME COLUMN {name} TO `{new_name}`"
    if name in FIRST:
        assert world.attempt(change, "COLUMN_IN_USE"), "a view names the column"
    refusal = world.attempt(f"{change} CASCADE", "COLUMN_IN_USE")
    if refusal is not None:
        assert new_name in FIRST, refusal  # The view names its own column so.
        world.run("DROP VIEW w")
        world.run(change)
    world.names[name] = new_name
    if refusal is not None:
        world.create_view()


def widen(world: World) -> None:
    present = [n for n in world.model.cube if world.types[n] in WIDER and not (world.is_raw and n == "n")]
    if present:
        name = world.rng.choice([name for name in present if name not in DIMENSIONS] or present)
        world.types[name] = WIDER[world.types[name]]
        world.run(f"ALTER CUBE v ALTER {name} TYPE {world.types[name]}")


def _show_create(world: World, what: str) -> str:
    ((text,),) = world.run(f"SHOW CREATE {what}").rows()
    return str(text)


def again(world: World) -> None:
    """A fact with the same meaning keeps its proofs; rows that come between the two facts are seen."""
    shown = _show_create(world, "FACT f")
    world.run("DROP FACT f")
    if world.rng.random() < 0.3:
        model, protected = world.model, (world.model.retain, world.model.refreshes_on_commit)
        model.retain, model.refreshes_on_commit = None, False
        late(world)
        model.retain, model.refreshes_on_commit = protected
    world.run(shown)
    note_lists(world)


def note_lists(world: World) -> None:
    """A fact that is declared again lists the columns of a rollup only if some are left out."""
    for rollup in world.model.rollups.values():
        rollup.is_whole = rollup.columns == world.model.cube.keys()


def redeclare(world: World) -> None:
    """A measure has another aggregate from now on: what rollups hold of it proves nothing."""
    model, rng = world.model, world.rng
    if rng.random() < 0.7:
        refresh(world)
    name = rng.choice([name for name, role in model.cube.items() if role and name != "n"])
    shown = _show_create(world, "FACT f")
    world.run("DROP FACT f")
    world.run("DROP CUBE v")
    model.cube[name] = rng.choice([role for role in ("SUM", "MAX", "MIN") if role != model.cube[name]])
    world.run(world.create_cube())
    world.run(shown)
    listed = shown.partition("ROLLUPS")[0].lower()
    for rollup in model.rollups.values():
        rollup.made = rollup.made and f".{rollup.table} " not in listed
        rollup.states = dict.fromkeys(rollup.states, UNSURE)
        rollup.widths = {}
    note_lists(world)
    model.is_redeclared = True


def add_rollup(world: World) -> None:
    period, dimensions = world.random_rollup()
    if world.is_new(period, dimensions):
        world.run(f"ALTER FACT f ADD ROLLUP {world.new_rollup(period, dimensions)}")


def drop_rollup(world: World) -> None:
    """A rollup leaves, with its table."""
    if len(world.model.rollups) < 2:
        return
    rollup = world.rng.choice(list(world.model.rollups.values()))
    world.run(f"ALTER FACT f DROP STORAGE {rollup.table}")
    world.run(f"DROP TABLE {rollup.table}")
    del world.model.rollups[rollup.table]


def check(world: World) -> None:
    """CHECK FACT finds nothing where all rollups are proven, and what it accepts changes no number."""
    is_sure = not world.model.is_redeclared and all(
        UNSURE not in rollup.states.values() for rollup in world.model.rollups.values()
    )
    is_sure &= all(rollup.state(first) == GOOD for rollup, first in world.rotten)
    result = world.run(f"CHECK FACT f{world.rng.choice(('', ' ACCEPT'))}")
    assert not (is_sure and result.differs), "a rollup differs from its base"


def rot(world: World) -> None:
    """A file of a rollup changes on disk. Shadow proofs compare what queries read first; CHECK FACT finds it."""
    model, rng = world.model, world.rng
    refresh(world)
    held = [
        (rollup, first)
        for rollup in model.rollups.values()
        for first, state in rollup.states.items()
        if state == GOOD and model.has_rows(first, model.around(rollup.period, first)[1])
    ]
    rng.shuffle(held)
    for rollup, first in held:
        if spoil_file(world, rollup.table, period_text(world, rollup, first)):
            world.log.append(f"-- {rollup.table} {period_text(world, rollup, first)} has a wrong row")
            rollup.spoil(first)
            world.rotten.append((rollup, first))
            if rng.random() < 0.6:
                world.run("SET rewriter.verify = 100%")
                world.ask()
                world.run(f"SET rewriter.verify = {world.verify}")
            # It is found whether or not a query has read it, and whether or not that has rejected it.
            assert world.run("CHECK FACT f ACCEPT").differs, f"CHECK FACT did not find the wrong row in {rollup.table}"
            return


def spoil_file(world: World, table: str, partition: str) -> bool:
    """Adds 1 to a count in the newest file with rows of a partition. Returns False if there is none."""
    directories = [path for path in world.folder.iterdir() if path.name.rpartition("-")[0] == table]
    newest = max(directories, key=lambda path: int(path.name.rpartition("-")[2]))
    for path in sorted(newest.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns, reverse=True):
        written = path.stat()
        file = pq.ParquetFile(path)
        rows = file.read()
        alone = [path.parent.name.partition("=")[2]] * len(rows)
        inside = rows["dt"].to_pylist() if "dt" in rows.column_names else alone
        if partition not in inside:
            continue
        at = inside.index(partition)
        # The name of the time at which the table was made.
        (count,) = [name for name in rows.column_names if name == "n" or name.startswith("n_")]
        counts = rows[count].to_pylist()
        counts[at] += 1
        index = rows.schema.get_field_index(count)
        changed = rows.set_column(index, rows.schema.field(count), pa.array(counts, rows.schema.field(count).type))
        with pq.ParquetWriter(path, changed.schema) as writer:
            begun = 0
            for group in range(file.num_row_groups):
                length = file.metadata.row_group(group).num_rows
                writer.write_table(changed.slice(begun, length), row_group_size=length)
                begun += length
        os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))
        return True
    return False


def second_session(world: World) -> None:
    """Another session with a cache of its own, opened long ago, has the same numbers."""
    world.ask(world.sessions[1])


def restore(world: World) -> None:
    """The catalog is dumped, lost and restored."""
    world.close()
    with closing(Catalog.open(world.folder)) as catalog:
        lines = list(dump(catalog.database, catalog.warehouse))
    for path in world.folder.glob("catalog.db*"):
        path.unlink()
    Catalog.restore(world.folder, None, lines)
    world.open()
    world.set_clock()


#: The steps by name, with their weights.
STEPS: dict[str, tuple[int, Callable[[World], None]]] = {
    "go on": (14, go_on),
    "late": (8, late),
    "overwrite": (5, overwrite),
    "empty": (2, empty),
    "drop unit": (3, drop_unit),
    "drop rollup partition": (3, drop_rollup_partition),
    "refresh": (7, refresh),
    "refresh part": (3, refresh_part),
    "mark": (3, mark),
    "compact": (2, compact),
    "vacuum": (2, vacuum),
    "maintain": (12, maintain),
    "killed": (1, killed),
    "maintain plain": (2, maintain_plain),
    "retain": (4, retain),
    "on commit": (2, on_commit),
    "add column": (7, add_column),
    "drop column": (4, drop_column),
    "widen": (3, widen),
    "rename": (4, rename),
    "again": (4, again),
    "redeclare": (3, redeclare),
    "add rollup": (4, add_rollup),
    "drop rollup": (2, drop_rollup),
    "check": (3, check),
    "rot": (3, rot),
    "second session": (4, second_session),
    "restore": (2, restore),
}
