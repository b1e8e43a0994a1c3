"""Statements that write and remove, with links in their paths: nothing is removed or written through a link."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rewriter.catalog.maintenance import file_garbage as unused
from rewriter.catalog.model.objects import WRITE_ID_LEVEL
from rewriter.catalog.store import schema
from rewriter.errors import Error, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write
from rewriter.session import Session
from rewriter.statements.write.managed_write import make_write_directory


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('rewriter.packed' = 'false')")
        opened.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        yield opened


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """Creates a directory with names that writes use. None of its files may be removed."""
    directory = tmp_path / "precious"
    for path in ("keep", "p=a/keep", f"{WRITE_ID_LEVEL}=1/p=a/keep", f"{WRITE_ID_LEVEL}=2/p=a/keep"):
        directory.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        directory.joinpath(path).write_text("keep")
    return directory


def contents(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def later(session: Session, hours: float = 100) -> None:
    row = schema.transactions
    with session.catalog.database.write() as connection:
        connection.execute(sa.update(row).values(heartbeat_at=row.c.heartbeat_at - hours * 3600))


def vacuum(session: Session, more: str = "") -> tuple[list[tuple[object, ...]], tuple[str, ...]]:
    result = session.execute(f"VACUUM {more}")
    return [row[:3] for row in result.fetch()], result.warnings


def aborted(session: Session, name: str = "t") -> Path:
    """Creates the directory of a write whose writer is dead, with a file."""
    transaction = session.catalog.begin()
    table = session.catalog.snapshot().table(name)
    transaction.write_id(table)
    folder = Path(make_write_directory(table, transaction, session._context({}), transaction.write_id(table)).folder)
    (folder / "p=a").mkdir()
    (folder / "p=a" / "part").write_text("half")
    transaction.rollback()
    return folder


def written_directories(session: Session) -> set[str]:
    """Returns the directories of writes."""
    return {str(path) for path in session.catalog.warehouse.glob(f"*/{WRITE_ID_LEVEL}=*")}


def replaced(directory: Path, target: Path) -> None:
    """Moves a directory aside and puts a link in its place."""
    aside = target.parent / "aside"
    aside.mkdir(exist_ok=True)
    directory.rename(aside / f"{len(list(aside.iterdir()))}")
    directory.symlink_to(target)


def failure(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as raised:
        session.execute(sql).fetch()
    return raised.value


def test_a_link_in_place_of_an_aborted_write_goes_alone(session: Session, precious: Path) -> None:
    folder, before = aborted(session), contents(precious)
    replaced(folder, precious)
    assert vacuum(session, "DRY RUN")[0] == [("t", "orphaned", 1)]
    assert vacuum(session) == ([("t", "orphaned", 1)], ())
    assert not os.path.lexists(folder)
    assert contents(precious) == before


@pytest.mark.parametrize("level", ["p=a", "p=a/part"])
def test_a_link_within_an_aborted_write_goes_alone(session: Session, precious: Path, level: str) -> None:
    folder, before = aborted(session), contents(precious)
    replaced(folder / level, precious)
    removed, warnings = vacuum(session)
    assert (removed, warnings) == ([("t", "orphaned", 1)], ())
    assert not folder.exists()
    assert contents(precious) == before


def test_a_link_behind_which_files_of_the_catalog_lie_stays(session: Session, tmp_path: Path) -> None:
    """An owner has moved what a write made to another disk."""
    snapshot = session.catalog.snapshot()
    folder = Path(next(file.path for _, file in snapshot.files(snapshot.table("t")))).parent.parent
    folder.rename(tmp_path / "disk")
    folder.symlink_to(tmp_path / "disk")
    assert vacuum(session) == ([], ())
    assert session.execute("SELECT x FROM t ORDER BY x").fetch() == [(1,), (2,)]


def test_what_was_replaced_behind_a_link_is_left_and_told(session: Session, precious: Path) -> None:
    session.execute("INSERT OVERWRITE t VALUES (3, 'a'), (4, 'b')")
    later(session)
    snapshot = session.catalog.snapshot()
    live = {file.path for _, file in snapshot.files(snapshot.table("t"))}
    table = Path(snapshot.table("t").location)
    (old,) = [directory for directory in table.iterdir() if not any(path.startswith(f"{directory}/") for path in live)]
    for part in (old / "p=a").iterdir():
        (precious / part.name).write_text("keep")
    before = contents(precious)
    replaced(old / "p=a", precious)
    removed, warnings = vacuum(session)
    assert removed == [("t", "superseded", 1)]
    assert [f"{old / 'p=a'} is a symbolic link" in warning for warning in warnings] == [True]
    assert contents(precious) == before
    # The catalog does not forget it.
    (old / "p=a").unlink()
    (precious.parent / "aside" / "0").rename(old / "p=a")
    assert vacuum(session) == ([("t", "superseded", 1)], ())


@pytest.mark.parametrize("level", ["table", "database", "unknown"])
def test_a_link_in_place_of_a_table_or_database_is_not_followed(session: Session, precious: Path, level: str) -> None:
    session.execute("CREATE DATABASE sales")
    session.execute("CREATE TABLE sales.t (x INT) PARTITIONED BY (p STRING)")
    session.execute("INSERT INTO sales.t VALUES (1, 'a')")
    session.execute("INSERT OVERWRITE sales.t VALUES (1, 'a')")
    folder = aborted(session, "sales.t")
    later(session)
    table = folder.parent
    if level == "unknown":
        directory = session.catalog.warehouse / "u-99"
        directory.symlink_to(precious)
    else:
        directory = table if level == "table" else table.parent
        moved = precious / "moved"
        directory.rename(moved)
        directory.symlink_to(moved)
    before = contents(precious)
    removed, warnings = vacuum(session)
    if level == "unknown":
        assert removed == [("sales.t", "orphaned", 1), ("sales.t", "superseded", 1)]
        assert warnings == (f"{directory} is a symbolic link: its target is not removed.",)
    else:
        assert removed == []
        assert all(f"{directory} is a symbolic link" in warning for warning in warnings)
        assert warnings
        error = failure(session, "INSERT INTO sales.t VALUES (2, 'a')")
        assert (error.condition, error.object) == ("LINK_NOT_FOLLOWED", str(directory))
        assert error.hint
        assert session.execute("SELECT x FROM sales.t").fetch() == [(1,)]
    assert contents(precious) == before
    assert os.path.islink(directory)


def test_a_directory_swapped_while_vacuum_runs(
    session: Session, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = aborted(session), contents(precious)
    declare_removed = unused.declare_removed
    (precious / "p=a" / "part").write_text("keep")
    before = contents(precious)

    def swapping(*given: object, **named: object) -> object:
        replaced(folder, precious)
        return declare_removed(*given, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("rewriter.statements.maintain.vacuum.file_garbage.declare_removed", swapping)
        removed, warnings = vacuum(session)
    assert removed == []
    assert [f"{folder} is a symbolic link" in warning for warning in warnings] == [True]
    assert contents(precious) == before


def test_rollback_follows_no_link(session: Session, precious: Path) -> None:
    before, earlier = contents(precious), written_directories(session)
    session.execute("START TRANSACTION")
    session.execute("CREATE TABLE u AS SELECT 1 AS x, 'a' AS p")
    session.execute("INSERT INTO t VALUES (3, 'a')")
    written = [Path(path) for path in written_directories(session) - earlier]
    for folder in written:
        replaced(folder, precious)
    session.execute("ROLLBACK")
    assert not any(map(os.path.islink, written))
    assert contents(precious) == before


@pytest.mark.parametrize("statement", ["INSERT INTO t SELECT 1, 'a'", "CREATE TABLE u AS SELECT 1 AS x"])
def test_a_write_that_fails_follows_no_link(
    session: Session, precious: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(precious)
    seen: list[Path] = []
    write = DuckDBEngine.write

    def failing(engine: DuckDBEngine, query: EngineQuery, where: Write) -> object:
        write(engine, query, where)
        folder = Path(where.directory)
        seen.append(folder)
        replaced(folder, precious)
        raise OperationalError("The disk is full.")

    monkeypatch.setattr(DuckDBEngine, "write", failing)
    assert failure(session, statement).message == "The disk is full."
    assert not os.path.lexists(seen[0])
    assert contents(precious) == before


@pytest.mark.parametrize("verb", ["INTO", "OVERWRITE"])
def test_a_partition_of_an_external_table_behind_a_link(
    session: Session, tmp_path: Path, precious: Path, verb: str
) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING, q STRING) LOCATION '{tmp_path}/e'")
    session.execute("INSERT INTO e VALUES (1, 'a', 'b')")
    for level in ("p=a/q=b", "p=a"):
        directory = tmp_path / "e" / level
        moved = precious / f"moved-{len(level)}"
        directory.rename(moved)
        directory.symlink_to(moved)
        before = contents(precious)
        error = failure(session, f"INSERT {verb} e VALUES (2, 'a', 'b')")
        assert (error.condition, error.object) == ("LINK_NOT_FOLLOWED", str(directory))
        assert contents(precious) == before
        assert session.execute("SELECT x FROM e").fetch() == [(1,)]
        directory.unlink()
        moved.rename(directory)
    session.execute(f"INSERT {verb} e VALUES (2, 'a', 'b')")


def test_a_named_location_may_be_a_link_and_a_file_may(session: Session, tmp_path: Path, precious: Path) -> None:
    for name in ("disk", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/link-disk'")
    session.execute(f"ALTER TABLE e ADD PARTITION (p='b') LOCATION '{tmp_path}/link-other'")
    session.execute("INSERT INTO e VALUES (1, 'a'), (2, 'b')")
    (part,) = (tmp_path / "other").iterdir()
    part.rename(precious / "data.parquet")
    part.symlink_to(precious / "data.parquet")
    before = contents(precious)
    session.execute("INSERT OVERWRITE e VALUES (3, 'a'), (4, 'b')")
    assert session.execute("SELECT x FROM e ORDER BY x").fetch() == [(3,), (4,)]
    assert contents(precious) == before
    assert not os.path.lexists(part)


def test_a_link_in_place_of_temporary_tables_goes_alone(session: Session, tmp_path: Path, precious: Path) -> None:
    before = contents(precious)
    with Session(tmp_path / "warehouse", "duckdb") as second:
        second.execute("CREATE TEMPORARY TABLE x AS SELECT 1 AS a")
        (directory,) = session.catalog.warehouse.glob("temporary-*")
        replaced(directory, precious)
    assert not os.path.lexists(directory)
    assert contents(precious) == before
