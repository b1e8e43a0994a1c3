"""Compares the results of a history's processes with the model. A difference is an ``AssertionError``."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import RefreshTimelines

from .asking import ask, everything
from .meeting import meets, want_one_name
from .model import TableState, World, answer, applied, first_days
from .operations import FREE_NAMES, PERIODS, Operation

#: The commits that build the warehouse.
FIRST = 3


@dataclass
class Told:
    """The log entries of one transaction. ``number`` is 0 if it did not commit."""

    transaction: int
    seen: int
    operation: Operation
    begun: float
    number: int = 0
    #: The times of COMMIT and of its result. A process that died has no result.
    start: float = 0.0
    end: float | None = None
    condition: str = ""


@dataclass
class Logs:
    """The logged results of all processes."""

    writes: dict[int, Told] = field(default_factory=dict)
    reads: list[dict[str, Any]] = field(default_factory=list)
    aborts: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, warehouse: Path) -> Logs:
        """Reads the logs of all workers."""
        logs = cls()
        for path in sorted(warehouse.glob("worker-*.log")):
            for line in path.read_text(encoding="utf-8").splitlines():
                logs._take(json.loads(line))
        return logs

    def _take(self, entry: dict[str, Any]) -> None:
        if "intent" in entry:
            operation = Operation.read(entry["operation"])
            told = Told(entry["intent"], entry["seen"], operation, entry["begun"], start=entry["end"])
            self.writes[told.transaction] = told
            self.reads.append({"read": told.seen, "start": 0.0, "end": told.begun, "answers": []})
        elif "committed" in entry:
            told = self.writes[entry["committed"]]
            told.number, told.start, told.end = entry["number"], entry["start"], entry["end"]
            assert entry["differences"] == [], f"commit {told.number}: a rebuild found {entry['differences']}"
        elif "conflict" in entry:
            assert entry["retryable"], f"{entry} without 40001"
            if entry["conflict"] in self.writes:  # It may be refused before it has chosen an operation.
                told = self.writes[entry["conflict"]]
                told.end, told.condition = entry["end"], entry["condition"]
        elif "read" in entry:
            self.reads.append(entry)
        else:
            self.aborts.append(entry)


@dataclass(frozen=True)
class Tally:
    """Counts of what the histories did. ``untold`` is the number of commits whose processes died before they received
    the result. ``died`` is the number of processes that died.
    """

    commits: int = 0
    conflicts: int = 0
    answers: int = 0
    untold: int = 0
    died: int = 0

    def __add__(self, more: Tally) -> Tally:
        return Tally(*(getattr(self, name) + getattr(more, name) for name in self.__dataclass_fields__))


def check(catalog: Catalog, url: str | None) -> Tally:
    """Compares all results of the ended processes, and the final state."""
    # The database may still work for a process that was killed. This call runs after that work.
    catalog.abort_dead(0.0)
    logs = Logs.read(catalog.warehouse)
    untold = _settle(logs, catalog, url)
    commits = {told.number: told for told in logs.writes.values() if told.number}
    newest = catalog.snapshot().sequence
    assert sorted(commits) == list(range(FIRST + 1, newest + 1)), "a commit is nobody's, or two have one number"
    worlds = _worlds(catalog, commits, newest)
    _check_conflicts(logs, commits)
    answers = _check_reads(logs, worlds, commits)
    _check_order(logs, commits)
    final_checks(catalog, url, worlds[newest])
    conflicts = sum(bool(told.condition) for told in logs.writes.values())
    return Tally(len(commits), conflicts, answers, untold)


def _settle(logs: Logs, catalog: Catalog, url: str | None) -> int:
    """Asks the database for the result of the transactions of dead processes. Returns the number of those that
    committed.
    """
    rows = rows_of(catalog, url, "SELECT transaction_id, commit_seq FROM transactions WHERE state = 'committed'")
    committed = {int(id): int(number) for id, number in rows}
    count = 0
    for told in logs.writes.values():
        number = committed.get(told.transaction, 0)
        if told.end is None:
            told.number, count = number, count + (number > 0)
        assert told.number == number, f"{told} was told otherwise: {number}"
    return count


def _worlds(catalog: Catalog, commits: dict[int, Told], newest: int) -> dict[int, World]:
    """Returns the world after each commit."""
    first = World()
    for table in catalog.snapshot().tables():
        if table.name in PERIODS:
            first.tables[table.id] = TableState(table.name)
    last_id = sorted(first.tables)[-1]
    # The first free tables may have been dropped. Their ids follow those of the cube and the fact.
    for index, name in enumerate(FREE_NAMES[:2]):
        first.tables[last_id + 3 + index] = TableState(name)
    first.of("days").partitions = first_days()
    worlds = {FIRST: first}
    for number in range(FIRST + 1, newest + 1):
        told = commits[number]
        try:
            seen = worlds[max(told.seen, FIRST)]
            worlds[number] = applied(worlds[number - 1], told.operation, told.transaction, number, seen, told.seen)
        except AssertionError as error:
            raise AssertionError(f"commit {number} of {told}: {error}") from error
    return worlds


def _check_conflicts(logs: Logs, commits: dict[int, Told]) -> None:
    """Asserts that the first of two conflicting transactions commits, and that only transactions with a conflict are
    refused.
    """
    for told in logs.writes.values():
        if told.number:
            met = [
                n
                for n in range(told.seen + 1, told.number)
                if n > FIRST and meets(told.operation, commits[n].operation)
            ]
            assert not met, f"{told} has committed beside {[commits[n] for n in met]}"
        elif told.condition == "TRANSACTION_NOT_OPEN":
            assert any(abort["end"] > told.begun - 1 and abort["start"] < (told.end or 0) for abort in logs.aborts), (
                told
            )
        elif told.condition:
            later = [
                commit for commit in commits.values() if commit.number > told.seen and commit.start < (told.end or 0)
            ]
            mine = told.operation
            met_one = any(meets(mine, commit.operation) or want_one_name(mine, commit.operation) for commit in later)
            assert met_one, f"{told} met nobody"


def _check_reads(logs: Logs, worlds: dict[int, World], commits: dict[int, Told]) -> int:
    """Asserts that each result is that of its snapshot. No snapshot may be older than the commits that its reader had
    seen.
    """
    ends = sorted((told.end, told.number) for told in commits.values() if told.end is not None)
    highest = [0]
    for _, number in ends:
        highest.append(max(highest[-1], number))
    count = 0
    for read in logs.reads:
        acknowledged = highest[bisect_left(ends, (read["start"], 0))]
        assert read["read"] >= acknowledged, (
            f"a snapshot of commit {read['read']}, when {acknowledged} had been answered"
        )
        later = commits.get(read["read"])
        assert later is None or later.start <= read["end"], f"a snapshot of commit {read['read']} before it was"
        for question, answered in read["answers"]:
            expected = json.loads(json.dumps(answer(worlds[read["read"]], question)))
            assert answered == expected, f"commit {read['read']}, {question}: {answered} and not {expected}"
            count += 1
    return count


def _check_order(logs: Logs, commits: dict[int, Told]) -> None:
    """Asserts that commits have the order of their confirmations, and that no aborted transaction commits."""
    latest = float("-inf")
    for number in sorted(commits):
        told = commits[number]
        assert told.end is None or told.end >= latest, f"{told} was answered before an earlier one was asked for"
        latest = max(latest, told.start)
        for abort in logs.aborts:
            # SQLite's clock has milliseconds. A transaction that has just begun may have the time of the abort.
            zombie = told.begun + 0.002 < abort["start"] and abort["end"] < told.start
            assert not zombie, f"{told} has committed after it was aborted by {abort}"


def final_checks(catalog: Catalog, url: str | None, world: World) -> None:
    """Checks the catalog itself after all processes have ended."""
    snapshot = catalog.snapshot()
    for question in everything(snapshot):
        answered, expected = (
            json.loads(json.dumps(result)) for result in (ask(snapshot, question), answer(world, question))
        )
        assert answered == expected, f"at the end, {question}: {answered} and not {expected}"
    events = catalog.events(limit=1_000_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1)), "the log has gaps"
    commits = [event.commit_sequence for event in events if event.kind == "COMMIT"]
    assert commits == list(range(1, snapshot.sequence + 1)), "a commit has no event"
    counters = dict(rows_of(catalog, url, "SELECT name, value FROM counters"))
    assert (counters["commit"], counters["event"]) == (snapshot.sequence, len(events))
    for meaning, query in _NEVER.items():
        assert rows_of(catalog, url, query) == [], meaning
    _write_files(catalog)
    problems = list(findings(catalog.database))
    assert problems == [], f"rewriter catalog check finds {problems}"
    with catalog.begin() as tx:
        tx.commit([RefreshTimelines(snapshot.fact("f"))])
        assert tx.differences == (), f"timelines are not those of the partitions: {tx.differences}"


def _write_files(catalog: Catalog) -> None:
    """Writes the files that the catalog lists. The processes write none."""
    snapshot = catalog.snapshot()
    for table in snapshot.tables():
        for _, file in snapshot.files(table):
            os.makedirs(os.path.dirname(file.path), exist_ok=True)
            Path(file.path).write_bytes(bytes(file.bytes))


_LIVE = (1 << 63) - 1
_COMMITTED = "SELECT object_id, write_id FROM write_ids WHERE commit_seq IS NOT NULL"
_MADE = f"SELECT made FROM %s r WHERE NOT EXISTS ({_COMMITTED} AND object_id = r.table_id AND write_id = r.%s)"

#: Queries that must return no rows.
_NEVER = {
    "two live rows of one key": f"SELECT key FROM partitions WHERE ended = {_LIVE} GROUP BY key HAVING COUNT(*) > 1",
    "two live objects of one name": (
        f"SELECT name_key FROM objects WHERE ended = {_LIVE} GROUP BY name_key HAVING COUNT(*) > 1"
    ),
    "rows of who has not committed": _MADE % ("partitions", "made"),
    "rows ended by who has not committed": f"{_MADE % ('partitions', 'ended')} AND ended < {_LIVE}",
    "timelines of who has not committed": _MADE % ("timeline_ranges", "made"),
    "files without a partition": (
        f"SELECT path FROM files f WHERE ended = {_LIVE} AND NOT EXISTS"
        f" (SELECT 1 FROM partitions WHERE key = f.key AND ended = {_LIVE})"
    ),
    "a commit that its write ids do not know": (
        "SELECT w.write_id FROM write_ids w JOIN transactions t ON t.transaction_id = w.transaction_id"
        " WHERE COALESCE(w.commit_seq, 0) <> COALESCE(t.commit_seq, 0)"
    ),
    "open transactions": "SELECT transaction_id FROM transactions WHERE state = 'open'",
}


def rows_of(catalog: Catalog, url: str | None, query: str) -> list[tuple[Any, ...]]:
    """Returns the rows of a query on the database itself."""
    engine = sa.create_engine(url or f"sqlite:///{catalog.warehouse / 'catalog.db'}")
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql(query)]
    engine.dispose()
    return rows
