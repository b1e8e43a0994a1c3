"""Clocks that jump by days, in either direction: rows are there once, and files that a state needs stay.

The seeds of an ordinary run come from the commit. ``pytest -m long tests/fault/test_clock_jumps.py`` runs many.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from clocks import DAY, Clock, moved_clock
from rotation import share

from rewriter.catalog import Catalog
from rewriter.catalog.commit.refresh_claims import ClaimRequest
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet

WORLD = """
CREATE CUBE v (n INT MEASURE SUM, at TIMESTAMP TIME);
CREATE TABLE h (n INT) PARTITIONED BY (dt DATE);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY at AS (dt)) ROLLUPS (MONTHLY);
INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-02-01' VALUES (0, DATE '2024-01-01')
"""
SUM = "SELECT SUM(n) FROM v WHERE at >= '2024-01-01' AND at < '2024-02-01'"
ROWS = "SELECT n, CAST(dt AS STRING) FROM h"
JUMPS = tuple(sign * days * DAY for sign in (-1, 1) for days in (0.03, 1, 5, 400))


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moved_clock() as moved:
        yield moved


def made(folder: Path, engine: DuckDBEngine) -> Session:
    session = Session(folder, engine, settings={"rewriter.cache_bytes": 1 << 24})
    list(session.script(WORLD))
    return session


def test_a_dead_writer_of_a_clock_that_was_ahead(folder: Path, duckdb: DuckDBEngine, clock: Clock) -> None:
    """It is found dead when the clock is right again, not only days later."""
    with made(folder, duckdb) as session, closing(Catalog.open(folder)) as other:
        clock.offset = 5 * DAY
        dead = other.begin()
        clock.offset = 0
        assert session.catalog.abort_dead(3600.0) == 1
        with pytest.raises(Error, match="TRANSACTION_NOT_OPEN"):
            dead.commit([])


def test_a_dead_refresh_of_a_clock_that_was_ahead(folder: Path, duckdb: DuckDBEngine, clock: Clock) -> None:
    """Its claim keeps nothing from the next worker."""
    with made(folder, duckdb) as session, closing(Catalog.open(folder)) as other:
        table_id = session.catalog.snapshot().table("f_monthly").id
        january = RangeSet.of_bounds([(0, 100)])
        request = ClaimRequest(table_id, UpdatePeriod.MONTHLY, lambda claimed: january - claimed, 60.0)
        clock.offset = 1800
        assert other.begin_claiming(None, request)[1] == january
        assert not session.catalog.begin_claiming(None, request)[1]
        clock.offset = 0
        assert session.catalog.begin_claiming(None, request)[1] == january


def test_a_commit_of_a_clock_that_was_ahead_does_not_stop_vacuum(
    folder: Path, duckdb: DuckDBEngine, clock: Clock
) -> None:
    with made(folder, duckdb) as session:
        clock.offset = 400 * DAY
        session.execute("INSERT OVERWRITE h VALUES (1, DATE '2024-01-01')")
        clock.offset = 0
        session.execute("INSERT OVERWRITE h VALUES (2, DATE '2024-01-01')")
        assert session.execute("VACUUM RETAIN 24 HOURS").fetch() == []
        clock.offset = 2 * DAY
        assert [row[:3] for row in session.execute("VACUUM RETAIN 24 HOURS").fetch()] == [("h", "superseded", 2)]
        assert session.execute(ROWS).fetch() == [(2, "2024-01-01")]


@dataclass
class World:
    """A warehouse under a clock that jumps, and the rows of each commit. ``told`` counts what the steps saw."""

    engine: DuckDBEngine
    session: Session
    other: Session
    clock: Clock
    rng: random.Random
    rows: Counter[tuple[object, ...]] = field(default_factory=lambda: Counter({(0, "2024-01-01"): 1}))
    states: dict[int, Counter[tuple[object, ...]]] = field(default_factory=dict)
    told: Counter[str] = field(default_factory=Counter)
    log: list[str] = field(default_factory=list)
    #: Queries of a transaction that was opened long ago, and the rows that it saw.
    reader: tuple[Session, Counter[tuple[object, ...]]] | None = None
    number: int = 0

    def run(self, text: str, session: Session | None = None) -> list[tuple[object, ...]]:
        self.log.append(f"{self.clock.offset / DAY:+.2f} days: {text}")
        return list((session or self.session).execute(text).fetch())

    def check(self) -> None:
        assert [finding.problem for finding in findings(self.session.catalog.database)] == []
        for session in (self.session, self.other):
            assert Counter(session.execute(ROWS).fetch()) == self.rows
            assert session.execute(SUM).fetch() == [(sum(int(str(n)) * k for (n, _), k in self.rows.items()),)]
        self.states[self.session.catalog.snapshot().sequence] = self.rows.copy()

    def refused(self, error: Error, *conditions: str) -> None:
        """Counts an error of one of these conditions. Raises any other."""
        if error.condition not in conditions:
            raise error
        self.told[error.condition] += 1

    def day(self) -> str:
        return f"2024-01-{self.rng.randrange(1, 6):02}"

    def new_row(self) -> tuple[object, ...]:
        self.number += 1
        return self.number, self.day()

    def step(self) -> None:
        steps, weights = zip(*STEPS.items(), strict=True)
        self.rng.choices(steps, weights)[0](self)
        self.check()


def jump(world: World) -> None:
    world.clock.offset = 0 if world.rng.random() < 0.3 else world.clock.offset + world.rng.choice(JUMPS)


def insert(world: World) -> None:
    number, day = world.new_row()
    world.run(f"INSERT INTO h VALUES ({number}, DATE '{day}')", world.rng.choice((world.session, world.other)))
    world.rows[number, day] += 1


def overwrite(world: World) -> None:
    number, day = world.new_row()
    world.run(f"INSERT OVERWRITE h VALUES ({number}, DATE '{day}')")
    world.rows = Counter({row: count for row, count in world.rows.items() if row[1] != day}) + Counter([(number, day)])


def writer_across_a_jump(world: World) -> None:
    """The other writer may abort it, and then none of its rows is there."""
    number, day = world.new_row()
    world.run("START TRANSACTION", world.session)
    try:
        world.run(f"INSERT INTO h VALUES ({number}, DATE '{day}')", world.session)
        jump(world)
        if world.rng.random() < 0.5:
            world.run("CREATE OR REPLACE VIEW w AS SELECT 1 AS a", world.other)
        world.run("COMMIT", world.session)
        world.rows[number, day] += 1
        world.told["committed"] += 1
    except Error as error:
        world.refused(error, "TRANSACTION_NOT_OPEN")
        if world.session.in_transaction:
            world.run("ROLLBACK", world.session)


def maintain(world: World) -> None:
    text = world.rng.choice(("REFRESH FACT f", "ALTER TABLE h COMPACT", "VACUUM RETAIN 1 HOURS", "VACUUM"))
    if text.startswith("VACUUM"):
        world.told["removed"] += sum(int(str(row[2])) for row in world.run(text))
    else:
        world.run(text)


def old_version(world: World) -> None:
    version = world.rng.choice([*world.states])
    read(world, f"VERSION AS OF {version}", [world.states[version]])


def old_time(world: World) -> None:
    moment = datetime.fromtimestamp(world.clock.now() - world.rng.uniform(0, 3 * DAY), UTC)
    read(world, f"TIMESTAMP AS OF '{moment:%Y-%m-%d %H:%M:%S}Z'", [*world.states.values()])


def read(world: World, clause: str, allowed: list[Counter[tuple[object, ...]]]) -> None:
    """An old state is one that was there, or is refused by name."""
    try:
        assert Counter(world.run(f"SELECT n, CAST(dt AS STRING) FROM h {clause}")) in allowed
        world.told["old states"] += 1
    except Error as error:
        world.refused(error, "SNAPSHOT_TOO_OLD", "INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT", "TABLE_OR_VIEW_NOT_FOUND")


def long_reader(world: World) -> None:
    """A transaction sees its own state for ever, or fails by name."""
    if world.reader is None:
        session = Session(world.session.catalog.warehouse, world.engine)
        session.execute("START TRANSACTION")
        world.reader = session, Counter(session.execute(ROWS).fetch())
        return
    session, rows = world.reader
    try:
        assert Counter(session.execute(ROWS).fetch()) == rows
        world.told["read"] += 1
    except Error as error:
        world.refused(error, "SNAPSHOT_TOO_OLD", "TRANSACTION_NOT_OPEN")
    if world.rng.random() < 0.5:
        session.close()
        world.reader = None


STEPS = {
    jump: 5, insert: 5, overwrite: 4, writer_across_a_jump: 3, maintain: 5, old_version: 2, old_time: 2, long_reader: 4,
}  # fmt: skip


def lived(folder: Path, engine: DuckDBEngine, clock: Clock, seed: int, steps: int) -> Counter[str]:
    clock.offset = 0
    with made(folder, engine) as session, Session(folder, engine) as other:
        world = World(engine, session, other, clock, random.Random(seed))
        try:
            world.check()
            for _ in range(steps):
                world.step()
        except BaseException as error:
            error.add_note(f"seed {seed}\n" + "\n".join(world.log))
            raise
        finally:
            if world.reader is not None:
                world.reader[0].close()
    return world.told


@pytest.mark.share(1)
def test_random_histories(folder: Path, duckdb: DuckDBEngine, clock: Clock) -> None:
    for seed in share(range(64), 64):
        lived(folder / str(seed), duckdb, clock, seed, 25)


@pytest.mark.long
def test_many_random_histories(folder: Path, duckdb: DuckDBEngine, clock: Clock) -> None:
    told: Counter[str] = Counter()
    for seed in range(64, 364):
        told += lived(folder / str(seed), duckdb, clock, seed, 40)
    assert all(told[name] > 100 for name in ("committed", "TRANSACTION_NOT_OPEN", "removed", "old states", "read")), (
        told
    )
