"""Sessions in one process that take turns, between statements and within them, in an order that a seed determines.

The model checks their results: a read returns the state that it saw, a write produces the state after it, and a refusal
needs a conflicting commit.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import rewriter
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.dbapi import Connection, Cursor
from rewriter.errors import Error
from rewriter.exec.batch_stream import BatchStream
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

from .authoring import Author
from .outcomes import FACT, SETUP, START, Answer, Outcome, Refused, Statement
from .rowmodel import Change, Row, Rows, State, may_meet, meets

#: The part of the statements that read an earlier state.
EARLIER = 0.1


class Interrupted(DuckDBEngine):
    """An engine that lets other sessions take turns while it works."""

    def __init__(self, turn: Callable[[], None]) -> None:
        super().__init__()
        self._turn = turn

    def execute(self, query: Any) -> Any:
        self._turn()
        return super().execute(query)

    def stream_rows(self, query: Any) -> BatchStream:
        """Returns all rows at once: a result that is read later would be no statement of its own."""
        return BatchStream.of_table(self.execute(query).read_all())

    def write(self, query: Any, write: Any) -> Any:
        self._turn()
        written = super().write(query, write)
        self._turn()
        return written

    def columns(self, query: Any, declared: bool = False) -> Any:
        self._turn()
        return super().columns(query, declared)


@dataclass
class Pending:
    """An open transaction: the commits at its start, and the changes that it will commit."""

    start: int
    changes: list[Change] = field(default_factory=list)


@dataclass
class Actor:
    """A session, its open transaction and cursor, and the snapshots of its current statement. A snapshot is the number
    of commits that it saw.
    """

    name: str
    engine: DuckDBEngine
    connection: Connection
    partial: bool
    pending: Pending | None = None
    fetching: tuple[Cursor, list[Row], Answer] | None = None
    snapshots: list[int] = field(default_factory=list)


class History:
    """One history in a warehouse. ``told`` is its log, line by line. ``tally`` counts the outcomes."""

    def __init__(self, warehouse: Path, url: str | None, seed: int) -> None:
        self._warehouse, self._url = warehouse, url
        self._chance = random.Random(seed)
        self._author = Author(self._chance)
        self._states = [START]
        self._commits: list[tuple[Change, ...]] = [()]
        self._busy: list[Actor] = []
        self.told: list[str] = []
        self.tally: Counter[str] = Counter()
        with rewriter.connect(warehouse, engine="duckdb", catalog=url) as connection:
            for text in SETUP:
                connection.execute(text)
            #: The catalog's number of the commit after which each state is.
            self._sequences = [_newest(connection)]
            #: The time of that commit, as a text in UTC.
            self._times = [_time_of(connection, self._sequences[-1])]
        self._actors = [self._actor(f"s{number}") for number in range(self._chance.choice((2, 3, 3, 4)))]

    @property
    def _now(self) -> State:
        return self._states[-1]

    def _actor(self, name: str) -> Actor:
        partial, cached = self._chance.random() < 0.4, self._chance.random() < 0.5
        settings = {"rewriter.least_retention_hours": 0, "rewriter.partial_data": partial}
        settings |= {"rewriter.cache_bytes": 1 << 24} if cached else {}
        engine = Interrupted(lambda: self._others_turn(actor))
        session = Session(self._warehouse, engine, settings=settings, catalog=self._url)
        actor = Actor(name, engine, Connection(session), partial)
        self._watch(actor, session.catalog)
        return actor

    def _watch(self, actor: Actor, catalog: Any) -> None:
        """Records the snapshots of a session. Other sessions take a turn after the first snapshot of a statement and
        before a write begins. REFRESH takes its last snapshot after its commit.
        """
        take, begin = catalog.snapshot, catalog.begin

        def snapshot(*given: Any) -> Any:
            actor.snapshots.append(self._now.number)
            taken = take(*given)
            if len(actor.snapshots) == 1:
                self._others_turn(actor)
            return taken

        def begun(*given: Any) -> Any:
            self._others_turn(actor)
            return begin(*given)

        catalog.snapshot, catalog.begin = snapshot, begun

    def run(self, steps: int) -> None:
        """Runs the given number of turns and checks the final state. An ``AssertionError`` lists all statements."""
        try:
            for _ in range(steps):
                self._turn(self._chance.choice(self._actors))
            self._end()
        except Exception as error:
            raise AssertionError("\n".join([*self.told[-60:], repr(error)])) from error
        finally:
            for actor in self._actors:
                with suppress(Error):
                    actor.connection.close()

    def _others_turn(self, actor: Actor) -> None:
        """Lets another session act, sometimes, while a session executes a statement."""
        if not self._busy or self._busy[-1] is not actor:
            return
        idle = [actor for actor in self._actors if actor not in self._busy]
        if len(self._busy) < 3 and idle and self._chance.random() < 0.12:
            self._turn(self._chance.choice(idle))

    # One turn.

    def _turn(self, actor: Actor) -> None:
        draw = self._chance.random()
        if actor.fetching is not None and draw < 0.3:
            self._fetch(actor)
        elif draw < 0.01:
            self._say(actor, "-- closes")
            self._close(actor)
        elif actor.pending is None and draw < 0.08:
            self._say(actor, "START TRANSACTION")
            actor.connection.execute("START TRANSACTION")
            actor.pending = Pending(self._now.number)
        elif actor.pending is not None and draw < 0.2:
            self._finish(actor, self._chance.random() < 0.75)
        else:
            view = self._view(actor, self._now.number)
            statement = self._author.statement(view, actor.partial)
            while actor.pending is not None and statement.alone and self._chance.random() < 0.9:
                statement = self._author.statement(view, actor.partial)
            if draw > 1 - EARLIER:
                newest = self._now.number if actor.pending is None else actor.pending.start
                number = self._chance.randint(max(0, newest - 8), newest)
                statement = self._author.earlier(view, self._states[number], self._clause(number), actor.partial)
            self._execute(actor, statement)

    def _clause(self, number: int) -> str:
        """Returns a clause that asks for the state after a commit: by its number, or by its time where no other commit
        has the same one.
        """
        behind = [at for at in self._times[number + 1 :] if at is not None]
        at = self._times[number]
        if at is not None and (not behind or at < min(behind)) and self._chance.random() < 0.5:
            return f"TIMESTAMP AS OF '{at}'"
        return f"VERSION AS OF {self._sequences[number]}"

    def _say(self, actor: Actor, text: str) -> None:
        self.told.append(f"{'  ' * len(self._busy)}{self._now.number} {actor.name}: {text}")

    def _close(self, actor: Actor) -> None:
        actor.connection.close()
        actor.engine.close()
        self._actors[self._actors.index(actor)] = self._actor(actor.name)

    def _fetch(self, actor: Actor) -> None:
        assert actor.fetching is not None
        cursor, fetched, wanted = actor.fetching
        actor.fetching = None
        self._say(actor, "-- fetches the rest")
        _check_answer([*fetched, *cursor.fetchall()], wanted)

    def _view(self, actor: Actor, number: int) -> State:
        """Returns the state that a statement of the session sees if it begins after ``number`` commits."""
        if actor.pending is None:
            return self._states[number]
        return self._states[actor.pending.start].after(tuple(actor.pending.changes))

    @contextmanager
    def _working(self, actor: Actor) -> Iterator[None]:
        actor.snapshots = []
        self._busy.append(actor)
        try:
            yield
        finally:
            self._busy.pop()

    def _execute(self, actor: Actor, statement: Statement) -> None:
        self._say(actor, statement.text)
        start = self._now.number
        with self._working(actor):
            try:
                cursor = actor.connection.execute(statement.text)
                rows = _rows_of(cursor, statement)
                error = None
            except Error as raised:
                error = raised
        if error is not None:
            self._say(actor, f"  -> {error}")
            self.tally["errors"] += 1
            self._check_error(actor, statement, error, start)
            return
        # INSERT is retried over a newer snapshot. REFRESH takes its second snapshot after it has listed the files of
        # external tables. All other statements read their first snapshot.
        seen = actor.snapshots[-1] if statement.text.startswith("INSERT") and actor.pending is None else start
        seen = actor.snapshots[1] if statement.text.startswith("REFRESH") else seen
        view = self._view(actor, seen)
        assert not (statement.alone and actor.pending), "it is part of no transaction"
        outcomes = [outcome for outcome in statement.effect(view) if not isinstance(outcome, Refused)]
        assert outcomes, f"wanted {statement.effect(view)}"
        if statement.told is not None:
            outcomes = [statement.told(view, tuple(rows or ()))]
        if isinstance(outcomes[0], Answer):
            self._answered(actor, statement, cursor, outcomes)
        else:
            assert isinstance(outcomes[0], tuple)
            self._changed(actor, statement, outcomes[0], seen)

    def _answered(self, actor: Actor, statement: Statement, cursor: Cursor, outcomes: list[Outcome]) -> None:
        wanted = Answer(tuple(rows for outcome in outcomes if isinstance(outcome, Answer) for rows in outcome.options))
        if actor.pending is not None and actor.pending.changes:
            names = self._view(actor, 0).names
            read = {names[name] for name in statement.reads if name in names}
            self.tally["own rows"] += any(change.table in read for change in actor.pending.changes)
        self.tally["answers"] += 1
        self.tally["earlier states"] += " AS OF " in statement.text
        if " FROM sales " in statement.text and cursor.plan is not None and "quarters" in cursor.plan.sql:
            self.tally["rollups"] += 1
        if statement.text.startswith("EXPLAIN"):
            _check_answer(_partitions(cursor), wanted)
        elif statement.text.startswith("SHOW"):
            _check_answer([row[:1] for row in cursor.fetchall()], wanted)
        elif actor.fetching is None and self._chance.random() < 0.3:
            actor.fetching = cursor, cursor.fetchmany(1), wanted
        else:
            _check_answer(cursor.fetchall(), wanted)

    def _changed(self, actor: Actor, statement: Statement, changes: tuple[Change, ...], seen: int) -> None:
        if actor.pending is None:
            self._commit(actor, changes, seen)
            return
        actor.pending.changes += changes

    def _commit(self, actor: Actor, changes: tuple[Change, ...], seen: int) -> None:
        if not changes:
            return
        for commit in self._commits[seen + 1 :]:
            for earlier in commit:
                met = [mine for mine in changes if meets(mine, earlier)]
                assert not met, f"{met} met {earlier}, and neither transaction failed"
        self._states.append(self._now.after(changes))
        self._commits.append(changes)
        self._sequences.append(_newest(actor.connection))
        self._times.append(_time_of(actor.connection, self._sequences[-1]))
        self.tally["commits"] += 1

    def _finish(self, actor: Actor, commits: bool) -> None:
        pending, actor.pending = actor.pending, None
        assert pending is not None
        word = "COMMIT" if commits else "ROLLBACK"
        self._say(actor, word)
        refusal = _refusal(actor.connection, word)
        if refusal is not None:
            self._say(actor, f"  -> {refusal}")
            self.tally["conflicts"] += 1
            assert commits, refusal
            assert refusal.sqlstate == "40001" or refusal.condition in _LATE, refusal
            assert self._may_meet(pending.changes, pending.start), f"{refusal} without a reason"
            return
        if commits:
            self.tally["transactions"] += bool(pending.changes)
            self._commit(actor, _lasting(pending.changes), pending.start)

    def _may_meet(self, changes: list[Change], start: int) -> bool:
        committed = [change for commit in self._commits[start + 1 :] for change in commit]
        return any(may_meet(mine, theirs) for mine in changes for theirs in committed)

    def _check_error(self, actor: Actor, statement: Statement, error: Error, start: int) -> None:
        condition, pending = error.condition, actor.pending
        if pending is not None and statement.alone:
            assert condition == "NOT_IN_TRANSACTION", error
            return
        if condition == "SNAPSHOT_TOO_OLD" and " AS OF " in statement.text:
            assert any("VACUUM" in line for line in self.told), error
            self.tally["too old"] += 1
            return
        if condition == "SNAPSHOT_TOO_OLD":
            assert pending is None, "an open transaction keeps what it sees"
            assert any("VACUUM" in line for line in self.told[-40:]), error
            self.tally["too old"] += 1
            return
        began = start if pending is None else pending.start
        seen = [self._view(actor, number) for number in range(start, self._now.number + 1)]
        if pending is not None:
            seen += self._states[began:]
        outcomes = [outcome for view in seen for outcome in statement.effect(view)]
        if any(isinstance(outcome, Refused) and _is_one(condition, outcome) for outcome in outcomes):
            return
        assert error.sqlstate == "40001", f"{error!r}: wanted {statement.effect(seen[0])}"
        self.tally["conflicts"] += 1
        mine = [change for outcome in outcomes if isinstance(outcome, tuple) for change in outcome]
        mine += [Change("put", name) for name in FACT] if statement.told is not None else []
        if not statement.text.startswith("INSERT"):
            ids = [view.names[name] for view in seen for name in statement.writes if name in view.names]
            mine += [Change("look", id) for id in ids]
        mine += pending.changes if pending is not None else []  # They are prepared again.
        assert self._may_meet(mine, began), f"{error} without a reason"

    # The end.

    def _end(self) -> None:
        for actor in self._actors:
            if actor.fetching is not None:
                self._fetch(actor)
            if actor.pending is not None:
                self._finish(actor, True)
        for actor in self._actors:
            self._check_all(actor.connection)
            self._close(actor)
        with rewriter.connect(self._warehouse, engine="duckdb", catalog=self._url) as connection:
            connection.execute("SET rewriter.least_retention_hours = 0")
            connection.execute("VACUUM RETAIN 0 HOURS")
            self._check_all(connection)
            assert connection.execute("REFRESH TIMELINES OF all_sales").fetchall() == []
            referred: set[str] = set()
            snapshot = connection.session.catalog.snapshot()
            for table in snapshot.tables():
                referred |= {file.path for _, file in snapshot.files(table)}
            lying = {str(path) for path in self._warehouse.rglob("*.parquet")}
            assert lying == referred, f"orphans {lying - referred}, lost {referred - lying}"
            problems = list(findings(connection.session.catalog.database))
            assert not problems, problems

    def _check_all(self, connection: Connection) -> None:
        """Compares all rows of all tables with the state after the last commit."""
        names = sorted(row[0] for row in connection.execute("SHOW TABLES").fetchall())
        assert names == sorted(self._now.names)
        for name in names:
            table = self._now.find(name)
            assert table is not None
            rows = connection.execute(f"SELECT * FROM {name}").fetchall()
            _check_answer(rows, Answer((sorted(table.all_rows(), key=repr),)))


#: Errors of COMMIT other than 40001, for objects that other sessions have created or dropped since.
_LATE = ("TABLE_OR_VIEW_ALREADY_EXISTS", "TABLE_OR_VIEW_NOT_FOUND")


def _lasting(changes: list[Change]) -> tuple[Change, ...]:
    """Returns the changes without those of tables that the same transaction has created and dropped."""
    created = {change.table for change in changes if change.kind == "create"}
    brief = {change.table for change in changes if change.kind == "end"} & created
    return tuple(change for change in changes if change.table not in brief)


def _newest(connection: Connection) -> int:
    """Returns the number of the newest commit of the catalog."""
    ((number,),) = connection.session.catalog.database.select("SELECT value FROM counters WHERE name = 'commit'", {})
    return int(number)


def _time_of(connection: Connection, commit: int) -> str | None:
    """Returns the time of a commit, rounded up to whole microseconds, as a text in UTC."""
    rows = connection.session.catalog.database.select(
        "SELECT heartbeat_at FROM transactions WHERE commit_seq = :commit", {"commit": commit}
    )
    if not rows:
        return None
    at = datetime.fromtimestamp(rows[0][0], UTC) + timedelta(microseconds=1)
    return at.replace(tzinfo=None).isoformat(" ", "microseconds")


def _refusal(connection: Connection, text: str) -> Error | None:
    try:
        connection.execute(text)
    except Error as error:
        return error
    return None


def _is_one(condition: str, refused: Refused) -> bool:
    return any(condition == expected or condition.startswith(f"{expected}.") for expected in refused.conditions)


def _rows_of(cursor: Cursor, statement: Statement) -> Rows | None:
    """Returns the result of a statement whose changes depend on its result. Returns () if the result is fetched later,
    and ``None`` if the statement has no rows.
    """
    if cursor.description is None:
        return None
    return tuple(cursor.fetchall()) if statement.told is not None else ()


def _partitions(cursor: Cursor) -> list[Row]:
    """Returns the number of partitions that EXPLAIN SCAN reports."""
    (line, *_) = (str(row[0]) for row in cursor.fetchall())
    match = re.search(r": (\d+) partition", line)
    return [(int(match[1]),)] if match else []


def _check_answer(fetched: list[Row], wanted: Answer) -> None:
    rows = sorted(fetched, key=repr)
    assert rows in wanted.options, f"found {rows}, wanted {wanted.options}"
