"""Random histories of statements: sessions on DuckDB in several processes, some killed, against a model of rows."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import rewriter
from rewriter.catalog import Catalog

from .checking import rows_of
from .rowmodel import Change, State, Table

STEPS = 14
DAYS = "days"


@dataclass
class Statement:
    """One statement with the result that its process received. ``transactions`` are those that it began, one for each
    attempt.
    """

    kind: str
    day: str
    row: int
    snapshots: list[int] = field(default_factory=list)
    transactions: list[int] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    rows: list[list[object]] | None = None


def told(warehouse: Path) -> Iterator[Statement]:
    """Reads all statements of all processes."""
    for path in sorted(warehouse.glob("session-*.log")):
        current: Statement | None = None
        for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if "kind" in entry:
                if current is not None:
                    yield current
                current = Statement(**entry)
            elif current is not None:
                if "snapshot" in entry:
                    current.snapshots.append(entry["snapshot"])
                elif "transaction" in entry:
                    current.transactions.append(entry["transaction"])
                elif "committed" in entry:
                    current.numbers[entry["committed"]] = entry["number"]
                elif "conflict" in entry:
                    assert entry["conflict"] == "40001", current
                else:
                    current.rows = entry["rows"]
        if current is not None:
            yield current


def changes(before: State, statement: Statement) -> list[Change]:
    """Returns the changes of a statement that saw the day in the state just before."""
    there = before.tables[DAYS].parts.get(statement.day)
    if statement.kind == "into":
        return [Change("into", DAYS, statement.day, ((statement.row,),))]
    if statement.kind == "count":
        newest = max((int(str(row)) for (row,) in there or ()), default=0)
        return [Change("put", DAYS, statement.day, ((newest + 1,),))]
    return [] if there is None else [Change("drop", DAYS, statement.day)]


def flat(state: State) -> list[list[object]]:
    """Returns the rows as a query returns them, sorted."""
    return sorted([day, row] for row, day in state.tables[DAYS].all_rows())


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", range(2))
def test_sessions(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    check(tmp_path, catalog_url, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_sessions(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    check(tmp_path, catalog_url, seed)


def check(warehouse: Path, url: str | None, seed: int) -> None:
    """Runs the history of a seed."""
    print(f"seed {seed}")
    with rewriter.connect(warehouse, engine="duckdb", catalog=url) as connection:
        connection.cursor().execute("CREATE TABLE days (x BIGINT) PARTITIONED BY (dt STRING)")
    run(warehouse, url, seed)
    with closing(Catalog.open(warehouse, url)) as catalog:
        catalog.abort_dead(0.0)  # The database may still work for a killed process. This call runs after that work.
        committed = dict(rows_of(catalog, url, "SELECT transaction_id, commit_seq FROM transactions"))
        newest, statements = catalog.snapshot().sequence, list(told(warehouse))
    writers: dict[int, Statement] = {}
    for statement in statements:
        commits = {id: committed[id] for id in statement.transactions if committed[id] is not None}
        assert statement.numbers.items() <= commits.items(), statement
        assert len(commits) <= 1, f"{statement} was committed twice"
        writers |= dict.fromkeys(commits.values(), statement)
    assert sorted(writers) == list(range(2, newest + 1))
    worlds = {1: State(1, {DAYS: DAYS}, {DAYS: Table(("x",), "dt")})}
    for number in range(2, newest + 1):
        before = worlds[number - 1]
        worlds[number] = before.after(changes(before, writers[number]))
    reads = [statement for statement in statements if statement.rows is not None]
    for statement in reads:
        assert statement.rows == flat(worlds[statement.snapshots[-1]]), statement
    with rewriter.connect(warehouse, engine="duckdb", catalog=url) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT dt, x FROM days")
        assert sorted(map(list, cursor.fetchall())) == flat(worlds[newest])
    assert newest > 5
    assert reads


def run(warehouse: Path, url: str | None, seed: int) -> None:
    """Runs three processes and kills one of them at some time."""
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join(map(str, (tests, tests.parent)))
    command = [sys.executable, "-m", "histories.sessions", str(warehouse), url or "", str(seed)]
    children = [
        subprocess.Popen([*command, str(number), str(STEPS)], env={**os.environ, "PYTHONPATH": paths})
        for number in range(3)
    ]
    first = warehouse / "session-0.log"
    while children[0].poll() is None and not (first.exists() and first.stat().st_size):
        time.sleep(0.01)
    time.sleep(random.Random(seed).uniform(0.0, 1.5))
    children[0].kill()
    assert [child.wait() for child in children][1:] == [0, 0]
