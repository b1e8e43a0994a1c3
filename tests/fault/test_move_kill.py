"""SIGKILL at database calls and steps on disk of RENAME, EXCHANGE, TRUNCATE and DROP: the state is that before or
after, and the catalog never names a directory without the data.

Every n-th moment is tried, which includes some of each kind. ``pytest -m long tests/fault/test_move_kill.py`` tries
all.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from kills import died, killed_at

from rewriter.catalog import Catalog, Snapshot
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import DataFile, Table
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.catalog.storage.data_files import external_files
from rewriter.session import Session

Content = dict[tuple[str, tuple[str | None, ...]], list[str]]

#: By kind of table: statements, the statements that undo them, and the stride of the moments.
STATEMENTS = [
    ("EXTERNAL", "ALTER TABLE t PARTITION (c='a', d=1) RENAME TO PARTITION (c='n', d=9)",
     "ALTER TABLE t PARTITION (c='n', d=9) RENAME TO PARTITION (c='a', d=1)", 6),
    ("EXTERNAL", "ALTER TABLE u EXCHANGE PARTITION (c='a') WITH TABLE t",
     "ALTER TABLE t EXCHANGE PARTITION (c='a') WITH TABLE u", 9),
    ("", "ALTER TABLE t PARTITION (c='a', d=1) RENAME TO PARTITION (c='n', d=9)",
     "ALTER TABLE t PARTITION (c='n', d=9) RENAME TO PARTITION (c='a', d=1)", 9),
    ("", "ALTER TABLE u EXCHANGE PARTITION (c='a') WITH TABLE t",
     "ALTER TABLE t EXCHANGE PARTITION (c='a') WITH TABLE u", 9),
    ("", "TRUNCATE TABLE t PARTITION (c='a')", "", 9),
    ("", "ALTER TABLE t DROP PARTITION (c='a')", "", 9),
    ("EXTERNAL", "ALTER TABLE t DROP PARTITION (c='a', d=1), PARTITION (c='b')",
     "ALTER TABLE t ADD PARTITION (c='a', d=1) PARTITION (c='b', d=1)", 9),
]  # fmt: skip


def content(catalog: Catalog) -> Content:
    """Returns the names of the files of every partition of every table that a reader sees, by table and values."""
    snapshot = catalog.snapshot()
    files_by_partition: Content = {}
    for table in snapshot.tables():
        partitions = snapshot.partitions(table)
        files_by_partition |= {(table.name, partition.values): [] for partition in partitions}
        files = external_files(table, partitions) if table.external else snapshot.files(table)
        for partition, file in files:
            assert not table.external or os.path.exists(file.path)
            files_by_partition[table.name, partition.values].append(os.path.basename(file.path))
    return files_by_partition


def fill(session: Session, warehouse: Path, external: bool) -> None:
    """Writes two files in each partition of t, and one partition of u."""
    where = {name: f"LOCATION '{warehouse}/{name}'" if external else "" for name in "tu"}
    for name in "tu":
        kind = "EXTERNAL" if external else ""
        session.execute(f"CREATE {kind} TABLE {name} (x INT) PARTITIONED BY (c STRING, d INT) {where[name]}")
    for name, c, d in [("t", "a", "1"), ("t", "a", "2"), ("t", "b", "1"), ("u", "z", "1")]:
        files = [f"{name}-{c}-{d}-{number}" for number in range(2)]
        if external:
            folder = warehouse / name / f"c={c}" / f"d={d}"
            folder.mkdir(parents=True)
            for file in files:
                (folder / file).write_text("x")
            session.execute(f"ALTER TABLE {name} ADD PARTITION (c='{c}', d={d})")
            continue
        write(session.catalog, session.catalog.snapshot().table(name), (c, d), files)


def write(catalog: Catalog, table: Table, values: tuple[str, str], files: list[str]) -> None:
    with catalog.begin() as tx:
        part = PartitionWrite(values, tuple(DataFile(f"{table.location}/{file}", 1, 1) for file in files))
        tx.commit([WritePartitions(table, tx.write_id(table), (part,), overwrite=True)])


def killed_before_the_directory_moves(warehouse: Path, statement: str) -> bool:
    """Runs the statement in a child that kills itself before it renames a directory."""

    def run() -> None:
        os.rename = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        with Session(warehouse, "duckdb") as session:
            session.execute(statement)

    return died(run)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "statement", "undo"), [case[:3] for case in STATEMENTS])
def test_killed_at_every_step_of_a_move(tmp_path: Path, kind: str, statement: str, undo: str) -> None:
    test_killed_at_steps_of_a_move(tmp_path, kind, statement, undo, 1)


@pytest.mark.parametrize(("kind", "statement", "undo", "stride"), STATEMENTS)
def test_killed_at_steps_of_a_move(tmp_path: Path, kind: str, statement: str, undo: str, stride: int) -> None:
    moves = "RENAME" in statement or "EXCHANGE" in statement
    with Session(tmp_path, "duckdb") as session:
        fill(session, tmp_path, kind == "EXTERNAL")
        before = content(session.catalog)
        session.execute(statement)
        after = content(session.catalog)
        assert after != before
        assert (files_of(after) == files_of(before)) == moves
        restore(session, undo)
        assert content(session.catalog) == before
    moment, seen = 1, {"before": 0, "after": 0, "half": 0}
    while killed_at(tmp_path, statement, moment):
        with Session(tmp_path, "duckdb") as session:
            now = content(session.catalog)
            assert now in (before, after), f"moment {moment}"
            seen["after" if now == after else "before"] += 1
            if is_noted(session.catalog.snapshot()):
                seen["half"] += 1
                # The next statement that changes a table finishes the move. Readers are not affected.
                for name in "tu":
                    session.execute(f"ALTER TABLE {name} SET TBLPROPERTIES ('moment' = '{moment}')")
                assert content(session.catalog) == now, f"moment {moment}"
                assert not is_noted(session.catalog.snapshot())
            if now == after:
                restore(session, undo)
            assert content(session.catalog) == before, f"moment {moment}"
        moment += stride
    assert seen["before"] > 25 // stride
    # The rows of a managed table change with the last statement of the database; directories take a few steps more.
    assert not (kind and moves) or min(seen["after"], seen["half"]) > 8 // stride
    with Session(tmp_path, "duckdb") as session:
        assert content(session.catalog) == after


def restore(session: Session, undo: str) -> None:
    if undo:
        session.execute(undo)
        return
    table = session.catalog.snapshot().table("t")
    for d in "12":
        write(session.catalog, table, ("a", d), [f"t-a-{d}-{number}" for number in range(2)])


def files_of(content: Content) -> list[str]:
    return sorted(file for files in content.values() for file in files)


def is_noted(snapshot: Snapshot) -> bool:
    return any(key.startswith(MOVING) for table in snapshot.tables() for key in table.properties)


def test_a_directory_that_cannot_move_is_read_where_it_is(tmp_path: Path) -> None:
    """Makes the state of a move that another directory blocks. The move continues after that directory is removed."""
    with Session(tmp_path, "duckdb") as session:
        fill(session, tmp_path, external=True)
        goal = tmp_path / "t" / "c=n" / "d=9"
        before = content(session.catalog)
        assert killed_before_the_directory_moves(tmp_path, STATEMENTS[0][1])
        assert is_noted(session.catalog.snapshot())
        goal.mkdir(parents=True, exist_ok=True)
        (goal / "in-the-way").write_text("x")
        moved = content(session.catalog)
        assert moved["t", ("n", "9")] == before["t", ("a", "1")]
        for statement in ("ALTER TABLE t ADD PARTITION (c='a', d=1)", "SHOW PARTITIONS t"):
            with pytest.raises(Exception, match="DIRECTORY_MOVE_PENDING"):
                session.execute(statement)
        assert content(session.catalog) == moved
        (goal / "in-the-way").unlink()
        session.execute("ALTER TABLE t ADD PARTITION (c='a', d=1)")
        (tmp_path / "t" / "c=a" / "d=1").mkdir(parents=True)
        assert content(session.catalog) == {**moved, ("t", ("a", "1")): []}
        assert sorted(name for name in os.listdir(goal) if name[0] != ".") == before["t", ("a", "1")]
