"""VACUUM: removed and kept files, on both databases; no reader loses a file that it may still read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rewriter.catalog import Transaction
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.changes import CreateObject
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Column, Table
from rewriter.catalog.store import leases, schema
from rewriter.catalog.store.database_server import NOW
from rewriter.errors import Error, OperationalError
from rewriter.session import Session
from rewriter.statements.write.managed_write import make_write_directory

SUPERSEDED, DROPPED, ORPHANED = "superseded", "dropped", "orphaned"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as opened:
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('rewriter.packed' = 'false')")
        opened.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def vacuum(session: Session, more: str = "") -> list[tuple[object, ...]]:
    """Returns what was removed: table, reason, files."""
    return [row[:3] for row in rows(session, f"VACUUM {more}")]


def later(session: Session, hours: float = 100) -> None:
    """Moves all past events back in time."""
    row = schema.transactions
    with session.catalog.database.write() as connection:
        connection.execute(sa.update(row).values(heartbeat_at=row.c.heartbeat_at - hours * 3600))


def on_disk(session: Session) -> set[str]:
    """Returns the files of managed tables, below the warehouse."""
    root = session.catalog.warehouse
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path) for path in files if not path.name.startswith(("catalog.db", "warehouse.json"))}


def paths(session: Session, name: str = "t") -> set[str]:
    snapshot, root = session.catalog.snapshot(), session.catalog.warehouse
    return {os.path.relpath(file.path, root) for _, file in snapshot.files(snapshot.table(name))}


def file_rows(session: Session) -> int:
    with session.catalog.database.read() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(schema.files)).scalar_one()


def test_what_was_replaced_goes_after_the_retention(session: Session) -> None:
    session.execute("INSERT OVERWRITE t PARTITION (p = 'a') VALUES (3)")
    session.execute("ALTER TABLE t DROP PARTITION (p = 'b')")
    session.execute("INSERT INTO t VALUES (4, 'a')")
    session.execute("ALTER TABLE t COMPACT")
    assert vacuum(session) == []
    later(session, 10)
    assert vacuum(session) == []
    assert vacuum(session, "TABLE t RETAIN 9 HOURS DRY RUN") == [("t", SUPERSEDED, 4)]
    assert len(on_disk(session)) == file_rows(session) == 5
    assert vacuum(session, "TABLE t RETAIN 9 HOURS") == [("t", SUPERSEDED, 4)]
    assert on_disk(session) == paths(session)
    assert file_rows(session) == 1
    assert sorted(rows(session, "SELECT * FROM t")) == [(3, "a"), (4, "a")]
    assert vacuum(session, "RETAIN 9 HOURS") == []
    assert list(findings(session.catalog.database)) == []
    session.execute("INSERT INTO t VALUES (5, 'b')")
    assert sorted(rows(session, "SELECT * FROM t")) == [(3, "a"), (4, "a"), (5, "b")]


def test_bytes_are_told(session: Session) -> None:
    size = sum(os.path.getsize(session.catalog.warehouse / path) for path in on_disk(session))
    session.execute("TRUNCATE TABLE t")
    later(session)
    assert rows(session, "VACUUM") == [("t", SUPERSEDED, 2, size)]


def test_a_file_that_has_moved_is_needed(session: Session) -> None:
    session.execute("CREATE TABLE u (x INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('rewriter.packed' = 'false')")
    session.execute("ALTER TABLE t PARTITION (p = 'a') RENAME TO PARTITION (p = 'n')")
    session.execute("ALTER TABLE u EXCHANGE PARTITION (p = 'b') WITH TABLE t")
    later(session)
    assert vacuum(session) == []
    session.execute("DROP TABLE t")
    later(session)
    # The row of t has gone with t; the file is u's by now, though it lies in the directory of t.
    assert vacuum(session) == [("t", DROPPED, 1)]
    assert rows(session, "SELECT * FROM u") == [(2, "b")]
    assert on_disk(session) == paths(session, "u")
    assert list(findings(session.catalog.database)) == []
    session.execute("ALTER TABLE u DROP PARTITION (p = 'b')")
    later(session)
    assert vacuum(session, "TABLE u") == [("u", SUPERSEDED, 1)]
    assert on_disk(session) == set()


def test_a_table_goes_when_it_was_dropped_for_long(session: Session) -> None:
    session.execute("CREATE TABLE u AS SELECT 1 AS x")
    session.execute("DROP TABLE t")
    later(session, 10)
    session.execute("DROP TABLE u")
    assert vacuum(session, "RETAIN 9 HOURS") == [("t", DROPPED, 2)]
    assert not (session.catalog.warehouse / "t-1").exists()
    assert len(on_disk(session)) == 1
    session.execute("CREATE TABLE t (x INT)")
    session.execute("INSERT INTO t VALUES (7)")
    later(session)
    assert vacuum(session) == [("u", DROPPED, 1)]
    assert rows(session, "SELECT * FROM t") == [(7,)]


def begun(session: Session, name: str = "t") -> tuple[Transaction, str]:
    """Begins a transaction that has written files for a table and does nothing more."""
    transaction = session.catalog.begin()
    table = transaction.snapshot.table(name)
    folder = make_write_directory(table, transaction, session._context({}), transaction.write_id(table)).folder
    os.makedirs(f"{folder}/p=a")
    Path(f"{folder}/p=a/part-0.parquet").write_text("x")
    return transaction, folder


def test_what_a_dead_writer_left_goes(session: Session) -> None:
    before = on_disk(session)
    living, living_folder = begun(session)
    aborted, folder = begun(session)
    aborted.rollback()
    assert vacuum(session, "TABLE t DRY RUN") == [("t", ORPHANED, 1)]
    assert vacuum(session) == [("t", ORPHANED, 1)]
    assert not os.path.exists(folder)
    # Another catalog's write, a stranger's files, and those of a task that failed in a write that has committed.
    table = session.catalog.snapshot().table("t")
    os.makedirs(f"{table.location}/{WRITE_ID_LEVEL}=77")
    kept = [f"{table.location}/{WRITE_ID_LEVEL}=77/a", f"{table.location}/b", f"{living_folder}/p=a/part-1.parquet"]
    failed = f"{table.location}/{WRITE_ID_LEVEL}=2/p=a/failed"
    for path in (*kept, failed):
        Path(path).write_text("x")
    assert vacuum(session, "RETAIN 99 HOURS") == [("t", ORPHANED, 1)]
    assert not os.path.exists(failed)
    assert all(map(os.path.exists, kept))
    # A writer that was silent for too long is dead; the same command aborts it.
    later(session, 2)
    assert vacuum(session) == [("t", ORPHANED, 2)]
    assert not os.path.exists(living_folder)
    with pytest.raises(Error, match="TRANSACTION_NOT_OPEN"):
        living.heartbeat()
    assert all(map(os.path.exists, kept[:2]))
    assert before < on_disk(session)


def test_what_is_left_of_a_table_that_never_came_to_be_goes(session: Session) -> None:
    session.execute("CREATE DATABASE d")
    left = []
    for parent in (session.catalog.warehouse, session.catalog.warehouse / "d.db"):
        transaction = session.catalog.begin()
        id = transaction.allocate_id()
        table = Table(id, "new", (Column("x", "int"),), (), "parquet", str(parent / f"new-{id}"))
        folder = make_write_directory(table, transaction, session._context({}), transaction.write_id(table)).folder
        Path(f"{folder}/part-0.parquet").write_text("x")
        left.append((transaction, table))
    assert vacuum(session) == []
    for transaction, _ in left:
        transaction.rollback()
    assert vacuum(session) == [("new", ORPHANED, 2)]
    assert not any(os.path.exists(table.location) for _, table in left)


def test_staging_directories_of_external_tables_go_when_they_are_old(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/e'")
    session.execute("INSERT INTO e VALUES (1, 'a')")
    old, young = tmp_path / "e" / ".rewriter-staging-1", tmp_path / "e" / ".rewriter-staging-2"
    for folder in (old, young):
        (folder / "p=a").mkdir(parents=True)
        (folder / "p=a" / "part").write_text("xy")
    for path in (old / "p=a" / "part", old / "p=a", old, young):
        os.utime(path, (time.time() - 25 * 3600,) * 2)
    session.execute("SET rewriter.least_retention_hours = 0")
    assert rows(session, "VACUUM TABLE e RETAIN 0 HOURS") == [("e", "staging", 1, 2)]
    assert (old.exists(), young.exists()) == (False, True)
    assert rows(session, "SELECT * FROM e") == [(1, "a")]


def test_the_rows_of_a_multi_insert_that_was_killed_go_when_they_are_old(session: Session) -> None:
    folder = Path(session.catalog.warehouse) / ".rewriter-source-1"
    folder.mkdir()
    (folder / "part").write_text("xyz")
    session.execute("SET rewriter.least_retention_hours = 0")
    assert rows(session, "VACUUM RETAIN 0 HOURS") == []
    for path in (folder / "part", folder):
        os.utime(path, (time.time() - 25 * 3600,) * 2)
    assert rows(session, "VACUUM TABLE t RETAIN 0 HOURS") == []
    assert rows(session, "VACUUM RETAIN 0 HOURS") == [("", "staging", 1, 3)]
    assert not folder.exists()


def test_an_unfinished_identity_of_a_killed_process_goes_when_it_is_old(session: Session) -> None:
    warehouse = Path(session.catalog.warehouse)
    old, young = (warehouse / f".warehouse.json-{digit * 32}" for digit in "ab")
    own, link = warehouse / ".warehouse.json-mine", warehouse / f".warehouse.json-{'c' * 32}"
    for path in (old, young, own):
        path.write_text("{}")
    link.symlink_to(own)
    for path in (old, own, warehouse / "warehouse.json"):
        os.utime(path, (time.time() - 25 * 3600,) * 2)
    session.execute("SET rewriter.least_retention_hours = 0")
    assert rows(session, "VACUUM RETAIN 0 HOURS DRY RUN") == [("", "staging", 1, 2)]
    assert rows(session, "VACUUM RETAIN 0 HOURS") == [("", "staging", 1, 2)]
    assert [path.exists() for path in (old, young, own, link, warehouse / "warehouse.json")] == [False, *[True] * 4]


def overwritten(session: Session) -> None:
    session.execute("INSERT OVERWRITE t VALUES (8, 'a'), (9, 'b')")
    later(session)


def test_an_open_transaction_keeps_what_it_sees(session: Session) -> None:
    with session.catalog.begin():
        overwritten(session)
        transaction_row = schema.transactions
        with session.catalog.database.write() as connection:
            connection.execute(
                sa.update(transaction_row).values(heartbeat_at=NOW).where(transaction_row.c.state == "open")
            )
        assert vacuum(session) == []
    assert vacuum(session) == [("t", SUPERSEDED, 2)]


def lease_rows(session: Session) -> list[int]:
    with session.catalog.database.read() as connection:
        return list(connection.execute(sa.select(schema.leases.c.commit_seq)).scalars())


def test_a_long_reader_keeps_what_it_sees(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = session.catalog.snapshot()
    reader.files(reader.table("t"))
    session.catalog.database.leases.renew()
    assert lease_rows(session) == []  # Nothing is written for who has just begun.
    monkeypatch.setattr(leases, "LEASED_AFTER_SECONDS", 0.0)
    session.catalog.database.leases.renew()
    assert lease_rows(session) == [reader.sequence]
    overwritten(session)
    assert vacuum(session) == []
    assert all(os.path.exists(file.path) for _, file in reader.files(reader.table("t")))
    # A process that says nothing any more is dead.
    row = schema.leases
    with session.catalog.database.write() as connection:
        connection.execute(sa.update(row).values(renewed_at=row.c.renewed_at - leases.EXPIRY_SECONDS))
    assert vacuum(session, "DRY RUN") == [("t", SUPERSEDED, 2)]
    monkeypatch.setattr(leases, "EVERY_SECONDS", 0.0)
    session.catalog.database.leases.renew()
    assert vacuum(session, "DRY RUN") == []
    del reader
    session.catalog.database.leases.renew()
    assert lease_rows(session) == []
    assert vacuum(session) == [("t", SUPERSEDED, 2)]


def test_files_that_memory_answers_are_held_too(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.catalog.use_cache(1 << 20, follow=False)
    first = session.catalog.snapshot()
    table = first.table("t")
    first.files(table)
    reader, late = session.catalog.snapshot(), session.catalog.snapshot()
    reader.files(table)
    del first
    monkeypatch.setattr(leases, "LEASED_AFTER_SECONDS", 0.0)
    session.catalog.database.leases.renew()
    assert lease_rows(session) == [reader.sequence]
    overwritten(session)
    assert vacuum(session) == []
    del reader
    session.catalog.database.leases.renew()
    assert vacuum(session) == [("t", SUPERSEDED, 2)]
    with pytest.raises(OperationalError, match="SNAPSHOT_TOO_OLD"):
        late.files(table)


def test_a_transaction_that_has_written_is_as_old_as_before(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE u (x INT)")
    session.execute("START TRANSACTION")
    taken = time.monotonic()
    session.execute("INSERT INTO u VALUES (1)")
    monkeypatch.setattr(leases, "LEASED_AFTER_SECONDS", time.monotonic() - taken)
    session.execute("SELECT * FROM t")
    assert len(lease_rows(session)) == 1
    session.execute("ROLLBACK")


def test_all_directories_of_a_dead_transaction_go(session: Session, catalog_url: str | None) -> None:
    before = on_disk(session)
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES (3, 'c')")
    session.execute("INSERT INTO t VALUES (4, 'd')")
    assert len(on_disk(session)) == len(before) + 2
    with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as other:
        assert vacuum(other) == []
        later(other, 2)
        assert vacuum(other) == [("t", ORPHANED, 2)]
    assert on_disk(session) == before
    with pytest.raises(Error, match="TRANSACTION_NOT_OPEN"):
        session.execute("COMMIT")


def test_a_thread_renews_the_lease_and_closing_ends_it(
    session: Session, catalog_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASED_AFTER_SECONDS", 0.1)
    monkeypatch.setattr(leases, "EVERY_SECONDS", 0.05)
    with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as other:
        snapshot = other.catalog.snapshot()
        snapshot.files(snapshot.table("t"))
        _wait(lambda: lease_rows(session) == [snapshot.sequence])
        first = _renewed(session)
        _wait(lambda: _renewed(session) > first)
    assert lease_rows(session) == []


def _renewed(session: Session) -> float:
    with session.catalog.database.read() as connection:
        return connection.execute(sa.select(sa.func.max(schema.leases.c.renewed_at))).scalar() or 0.0


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_an_older_snapshot_is_told_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    old = session.catalog.snapshot()
    table = old.table("t")
    overwritten(session)
    between = session.catalog.snapshot()
    assert len(old.files(table)) == 2
    del old
    old = session.catalog.snapshot()
    overwritten(session)
    assert vacuum(session) == [("t", SUPERSEDED, 4)]
    for snapshot in (old, between):
        with pytest.raises(OperationalError) as caught:
            snapshot.files(table)
        assert caught.value.condition == "SNAPSHOT_TOO_OLD"
        # A late lease does not help, and says so, too.
        monkeypatch.setattr(leases, "LEASED_AFTER_SECONDS", 0.0)
        with pytest.raises(OperationalError, match="SNAPSHOT_TOO_OLD"):
            snapshot.files(table)
    assert len(session.catalog.snapshot().files(table)) == 2


def test_a_query_that_loses_its_files_says_why(
    session: Session, catalog_url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute("SELECT 1")
    engine = session._started_engine()
    stream_rows = type(engine).stream_rows

    def late(self: object, query: object) -> object:
        with Session(session.catalog.warehouse, "duckdb", catalog=catalog_url) as other:
            other.execute("TRUNCATE TABLE t")
            later(other)
            assert vacuum(other) == [("t", SUPERSEDED, 2)]
        return stream_rows(self, query)  # type: ignore[arg-type]

    monkeypatch.setattr(type(engine), "stream_rows", late)
    with pytest.raises(OperationalError) as caught:
        session.execute("SELECT * FROM t")
    assert caught.value.condition == "SNAPSHOT_TOO_OLD"


def test_a_retention_that_is_too_short_is_refused(session: Session) -> None:
    overwritten(session)
    with pytest.raises(Error) as caught:
        session.execute("VACUUM RETAIN 0 HOURS DRY RUN")
    assert caught.value.condition == "RETENTION_TOO_SHORT"
    session.execute("SET rewriter.least_retention_hours = 0")
    assert vacuum(session, "RETAIN 0 HOURS DRY RUN") == [("t", SUPERSEDED, 2)]


def test_what_cannot_be_removed_is_told_and_kept_in_mind(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    overwritten(session)
    remove = os.unlink

    def locked(name: str, *, dir_fd: int) -> None:
        if "p=a" in os.readlink(f"/proc/self/fd/{dir_fd}"):
            raise PermissionError(13, "Permission denied", name)
        remove(name, dir_fd=dir_fd)

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", locked)
        result = session.execute("VACUUM")
        assert [row[:3] for row in result.fetch()] == [("t", SUPERSEDED, 1)]
        assert len(result.warnings) == 1
        assert "Permission denied" in result.warnings[0]
    assert vacuum(session) == [("t", SUPERSEDED, 1)]
    assert on_disk(session) == paths(session)


def test_a_path_that_is_no_writes_is_left_alone(session: Session, tmp_path: Path) -> None:
    """For any catalog that another program has damaged."""
    overwritten(session)
    precious = tmp_path / "precious"
    precious.write_text("x")
    row = schema.files
    with session.catalog.database.write() as connection:
        connection.execute(sa.update(row).values(path=str(precious)).where(row.c.ended != schema.NEVER))
    assert vacuum(session, "DRY RUN") == [("t", ORPHANED, 2)]
    vacuum(session)
    assert precious.exists()


def test_create_object_is_no_reader(session: Session) -> None:
    """Statements about other tables hold nothing back once they have ended."""
    overwritten(session)
    with session.catalog.begin() as transaction:
        table = Table(transaction.allocate_id(), "v", (Column("x", "int"),), (), "parquet", "/nowhere/v-9")
        transaction.commit([CreateObject(table)])
    assert vacuum(session) == [("t", SUPERSEDED, 2)]


def test_a_warehouse_under_another_name_loses_nothing(
    session: Session, tmp_path: Path, catalog_url: str | None
) -> None:
    """The catalog names files by the path that their writer knew; a link, or a way around, leads to the same ones."""
    (tmp_path / "link").symlink_to(tmp_path / "warehouse")
    expected = rows(session, "SELECT * FROM t ORDER BY x")
    for spelling in (tmp_path / "link", tmp_path / "link" / ".." / "warehouse"):
        with Session(spelling, "duckdb", catalog=catalog_url) as second:
            assert vacuum(second) == []
            assert rows(second, "SELECT * FROM t ORDER BY x") == expected
    assert list(findings(session.catalog.database)) == []


def test_databases_whose_directories_are_the_same_lose_nothing(session: Session, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place")
    for name, directory in (("one", "place"), ("two", "link")):
        session.execute(f"CREATE DATABASE {name} LOCATION '{tmp_path / directory}'")
        session.execute(f"CREATE TABLE {name}.t (x INT)")
        session.execute(f"INSERT INTO {name}.t VALUES (1)")
    assert vacuum(session) == []
    assert rows(session, "SELECT * FROM one.t") == rows(session, "SELECT * FROM two.t") == [(1,)]


def test_a_staging_directory_whose_writer_ends_meanwhile_is_left_alone(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{tmp_path}/e'")
    staging = tmp_path / "e" / ".rewriter-staging-1"
    staging.mkdir(parents=True)
    (staging / "part").write_text("xy")
    looked = os.lstat

    def ends(path: str) -> os.stat_result:
        seen = looked(path)
        if path.endswith("part"):
            os.remove(path)
        return seen

    monkeypatch.setattr("rewriter.statements.maintain.vacuum.os.lstat", ends)
    assert vacuum(session) == []
