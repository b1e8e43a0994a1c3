"""Random INSERTs into RAW tables fail exactly if they put an event outside of the period of its partition.

Periods and the names of partitions are computed by ``datetime`` and ``zoneinfo``, not by the code under test.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rewriter.catalog.facts.time_binding import Slot
from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session
from rewriter.statements.write import event_times
from rewriter.timeline.periods import UpdatePeriod as P
from tests.rotation import turn

from .naming import TYPED_FORMS, Naming, named
from .periods import Period, period

ZONES = ("UTC", "UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia")
FORMATS = ("", "", "TBLPROPERTIES ('rewriter.packed' = 'false')", "STORED AS orc", "STORED AS csv", "STORED AS json")
#: The type of the column with the time, and its expression in RAW.
TIMES = {
    "happened": "TIMESTAMP",
    "`happened`": "TIMESTAMP",
    "happened + INTERVAL 0 SECONDS": "TIMESTAMP",
    "CAST(happened AS TIMESTAMP)": "STRING",
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class World:
    """A RAW table with random partitions, zone and format."""

    def __init__(self, session: Session, source: random.Random) -> None:
        self.session, self.source = session, source
        zone = source.choice(ZONES)
        kinds = [P.MINUTELY, P.HOURLY] if zone == "UTC" else [P.MINUTELY]
        kind = source.choice([*kinds, P.DAILY, P.DAILY, P.WEEKLY, P.MONTHLY, P.QUARTERLY, P.YEARLY])
        self.period: Period = period(kind, zone)
        self.naming: Naming = named(source.choice(["dt string", *TYPED_FORMS[kind]]), self.period)
        self.expression = source.choice(sorted(TIMES))
        self.count = 0
        at_zone = "" if zone == "UTC" else f" TIME ZONE '{zone}'"
        session.execute(
            f"CREATE TABLE events (k INT, happened {TIMES[self.expression]}) "
            f"PARTITIONED BY ({', '.join([*self.naming.declared, 'part STRING'])}) {source.choice(FORMATS)}"
        )
        session.execute(f"CREATE CUBE c (part STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME){at_zone}")
        session.execute(
            f"CREATE FACT f OF CUBE c STORED IN (TABLE events PERIOD {kind.name} PARTITIONED BY t AS "
            f"{self.naming.clause} RAW (t AS {self.expression}) COMPLETE WITH ANY part)"
        )

    def ordinal(self) -> int | None:
        """Returns a random period between 2009 and 2013, or sometimes no time."""
        number = self.period.ordinal(self.source.randrange(1_230_768_000, 1_388_534_400) * 1_000_000)
        return number if self.source.random() < 0.9 else None

    def inside(self, ordinal: int | None) -> int | None:
        """Returns the time of an event of a period, often its first or last microsecond."""
        if ordinal is None:
            return None
        start, end = self.period.start(ordinal), self.period.end(ordinal)
        return self.source.choice([start, self.source.randrange(start, end), end - 1])

    def outside(self, ordinal: int | None) -> int | None:
        """Returns the time of an event that does not belong into the partition of a period, or no time."""
        if ordinal is None:
            return self.inside(self.period.ordinal(1_300_000_000_000_000))
        start, end = self.period.start(ordinal), self.period.end(ordinal)
        return self.source.choice([start - 1, end, start - 40 * (end - start), None])

    def shown(self, at: int | None) -> str:
        """Returns the time of an event as SQL, in the type of its column."""
        if at is None:
            return "NULL"
        literal = f"TIMESTAMP '{(EPOCH + timedelta(microseconds=at)).isoformat(' ')[:-6]}Z'"
        return f"CAST({literal} AS STRING)" if TIMES[self.expression] == "STRING" else literal

    def step(self) -> None:
        """Writes a few events, of which one may be in a wrong partition, and checks the outcome."""
        is_wrong, is_static = self.source.random() < 0.5, self.source.random() < 0.5
        rows = []
        for _ in range(1 if is_static else self.source.randrange(1, 4)):
            ordinal, part = self.ordinal(), self.source.choice(["'a'", "'b'"])
            rows += [(self.inside(ordinal), ordinal, part) for _ in range(self.source.randrange(1, 4))]
        if is_wrong:
            number = self.source.randrange(len(rows))
            _, ordinal, part = rows[number]
            rows[number] = (self.outside(ordinal), ordinal, part)
        if is_static:
            values = [*self.naming.literals(rows[0][1]), rows[0][2]]
            named_values = zip([*self.naming.names, "part"], values, strict=True)
            spec = ", ".join(f"{name} = {value}" for name, value in named_values)
            lines = [f"(1, {self.shown(at)})" for at, _, _ in rows]
            statement = f"INSERT INTO events PARTITION ({spec}) VALUES {', '.join(lines)}"
        else:
            lines = [
                f"({', '.join(['1', self.shown(at), *self.naming.literals(ordinal), part])})"
                for at, ordinal, part in rows
            ]
            statement = f"INSERT INTO events VALUES {', '.join(lines)}"
        refusal: Error | None = None
        try:
            self.session.execute(statement)
        except Error as error:
            refusal = error
        assert (refusal is not None) is is_wrong, f"{statement}: {refusal}"
        assert refusal is None or refusal.condition == "TIME_OUTSIDE_PARTITION", f"{statement}: {refusal}"
        self.count += 0 if is_wrong else len(rows)
        assert self.session.execute("SELECT COUNT(*) FROM events").fetch() == [(self.count,)]


def _history(path: Path, engine: Engine, seed: int, steps: int) -> None:
    with Session(path / str(seed), engine) as session:
        world = World(session, random.Random(seed))
        for _ in range(steps):
            world.step()
        assert {row[8] for row in session.execute("CHECK FACT f").fetch()} <= {"agrees"}


@pytest.mark.parametrize("number", range(4))
def test_events_are_written_into_the_partitions_of_their_times(duckdb: Engine, tmp_path: Path, number: int) -> None:
    for seed in range(5):
        _history(tmp_path, duckdb, 100 * turn() + 20 * number + seed, 6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(300))
def test_many_worlds_of_events(duckdb: Engine, tmp_path: Path, seed: int) -> None:
    _history(tmp_path, duckdb, seed, 20)


def test_events_that_spark_writes(spark: Engine, tmp_path: Path) -> None:
    for seed in range(2):
        _history(tmp_path, spark, 10 * turn() + seed, 3)


def _trust_footers(patch: pytest.MonkeyPatch) -> None:
    """The footer of a file proves every file."""
    patch.setattr(event_times._Events, "footer_proves", lambda events, file: file.part is None)


def _ignore_starts(patch: pytest.MonkeyPatch) -> None:
    """Only the last event of a file is judged."""
    bounds = event_times.time_bounds
    patch.setattr(event_times, "time_bounds", lambda path, column: (found := bounds(path, column)) and (found[1],) * 2)


def _include_ends(patch: pytest.MonkeyPatch) -> None:
    """An event may happen at the end of its partition's period."""
    patch.setattr(event_times, "Slot", type("Late", (Slot,), {"end": property(lambda slot: Slot.end.fget(slot) + 1)}))


def _allow_no_time(patch: pytest.MonkeyPatch) -> None:
    """Events without a time may be anywhere."""
    misplaced = event_times._Events.misplaced
    patch.setattr(
        event_times._Events,
        "misplaced",
        lambda events, files, context: (e for e in misplaced(events, files, context) if "without" not in e.message),
    )


@pytest.mark.share(4)
@pytest.mark.parametrize("plant", [_trust_footers, _ignore_starts, _include_ends, _allow_no_time])
def test_planted_faults_are_found(
    duckdb: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    def run() -> None:
        for seed in range(60):
            _history(tmp_path, duckdb, seed, 20)

    plant(monkeypatch)
    with pytest.raises(AssertionError):
        run()
