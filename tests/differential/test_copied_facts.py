"""Random facts that are filled from a cube: a query returns all events, or says that some are missing.

One fact holds the events. The other is filled from the cube or from the table of the first, in one of several forms.
Late events, updates and retention come in between, in random order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rewriter.catalog.commit.origin_changes import OriginChanges
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import IntegrityError, MissingDataError
from rewriter.session import Session

from .plants import Patch

DAYS = [f"2013-01-{day:02d}" for day in range(1, 7)]
STEPS = 14

SETUP = (
    "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME)",
    "CREATE TABLE hours (k STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (k STRING, n BIGINT) PARTITIONED BY (ds STRING)",
    "CREATE TABLE staging (k STRING, n BIGINT) PARTITIONED BY (ds STRING)",
    "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))",
    "CREATE FACT g OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (ds))",
)


class Wrong(Exception):
    """A result that is not that of all events."""


def _between(first: int, end: int) -> str:
    return f"t >= '2013-01-{first + 1:02d}' AND t < '2013-01-{end + 1:02d}'"


def _fill(rng: random.Random, first: int, end: int) -> list[str]:
    """Returns statements that fill days of the second fact from the first one, or from the cube."""
    cube = f"SELECT k, COUNT(*), date_format(t, 'yyyy-MM-dd') FROM c WHERE {_between(first, end)} GROUP BY 1, 3"
    match rng.choice(["cube", "static", "table", "staging", "joined", "twice"]):
        case "cube":
            return [f"INSERT OVERWRITE days {cube}"]
        case "static":
            counted = f"SELECT k, COUNT(*) FROM c WHERE {_between(first, first + 1)} GROUP BY k"
            return [f"INSERT OVERWRITE days PARTITION (ds = '{DAYS[first]}') {counted}"]
        case "table":
            days = ", ".join(f"'{day}'" for day in DAYS[first:end])
            summed = f"SELECT k, SUM(n), substr(dt, 1, 10) FROM hours WHERE substr(dt, 1, 10) IN ({days}) GROUP BY 1, 3"
            return [f"INSERT OVERWRITE days {summed}"]
        case "staging":
            copied = f"SELECT * FROM staging WHERE ds >= '{DAYS[first]}' AND ds <= '{DAYS[end - 1]}'"
            return [f"INSERT OVERWRITE staging {cube}", f"INSERT OVERWRITE days {copied}"]
        case "joined":
            return [f"INSERT OVERWRITE days SELECT x.* FROM ({cube}) AS x JOIN (SELECT 1 AS one) AS y ON true"]
        case _:
            return ["BEGIN", f"INSERT OVERWRITE staging {cube}", f"INSERT OVERWRITE days {cube}", "COMMIT"]


def _history(folder: Path, rng: random.Random) -> Iterator[str]:
    """Runs a history and yields each step. Raises ``Wrong``."""
    with closing(Session(folder, "duckdb")) as session:
        for statement in SETUP:
            session.execute(statement)
        rows = ", ".join(f"('a', {int(hour == 0)}, '{day}-{hour:02d}')" for day in DAYS for hour in range(24))
        session.execute(f"INSERT INTO hours VALUES {rows}")
        events = dict.fromkeys(DAYS, 1)
        for _ in range(STEPS):
            first = rng.randrange(len(DAYS))
            end, day = rng.randint(first + 1, len(DAYS)), DAYS[first]
            step = rng.choice(["late", "late", "fill", "fill", "fill", "drop", "update"])
            statements: Sequence[str] = ()
            if step == "late":
                statements, added = [f"INSERT INTO hours VALUES ('a', 1, '{day}-05')"], 1
            elif step == "fill":
                statements, added = _fill(rng, first, end), 0
            elif step == "update":
                named = f"dt = '{day}-00'"
                statements = [f"INSERT OVERWRITE hours PARTITION ({named}) SELECT k, n + 1 FROM hours WHERE {named}"]
                (held,) = session.execute(f"SELECT COUNT(*) FROM hours WHERE {named}").fetch()
                added = int(str(held[0]))
            else:
                statements, added = [f"ALTER TABLE hours DROP IF EXISTS PARTITION (dt LIKE '{day}%')"], 0
            try:
                for statement in statements:
                    session.execute(statement)
                events[day] += added
            except MissingDataError:
                session.execute("ROLLBACK") if statements[0] == "BEGIN" else None
            _check(session, events, rng)
            yield step
        problems = [finding.problem for finding in findings(session.catalog.database)]
        assert problems == []


def _check(session: Session, events: dict[str, int], rng: random.Random) -> None:
    first = rng.randrange(len(DAYS))
    for start, end in ((first, first + 1), (first, rng.randint(first + 1, len(DAYS)))):
        try:
            ((count,),) = session.execute(f"SELECT COUNT(*) FROM c WHERE {_between(start, end)}").fetch()
        except MissingDataError:
            continue
        wanted = sum(events[day] for day in DAYS[start:end])
        if count != wanted:
            raise Wrong(f"{count} events from {DAYS[start]} on, not {wanted}")


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(12))
def test_a_query_returns_all_events_or_says_that_some_are_missing(tmp_path: Path, seed: int) -> None:
    assert len(list(_history(tmp_path, random.Random(seed)))) == STEPS


def _copies_are_forgotten(patch: Patch) -> None:
    """Lets a copy be current whatever became of the fact that it was copied from."""
    patch.setattr(OriginChanges, "are_outdated", lambda *args: False)


@pytest.mark.share(1)
def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker of certificates may refuse it before the rows are compared."""
    _copies_are_forgotten(monkeypatch)
    with pytest.raises((Wrong, IntegrityError)):
        _many_histories(tmp_path, 12)


def _many_histories(folder: Path, count: int) -> None:
    for seed in range(count):
        (folder / str(seed)).mkdir()
        list(_history(folder / str(seed), random.Random(seed)))
