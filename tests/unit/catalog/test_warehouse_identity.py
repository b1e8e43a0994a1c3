"""A catalog and a directory belong together: lost and foreign catalogs, copies, moves, and what VACUUM leaves alone."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance import warehouse_identity
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump
from rewriter.catalog.maintenance.warehouse_identity import IDENTITY_FILE, WarehouseLocation
from rewriter.catalog.store import migrations, schema
from rewriter.cli import main
from rewriter.errors import Error
from rewriter.session import Session

SETUP = """CREATE TABLE t (x INT) PARTITIONED BY (p STRING)
TBLPROPERTIES ('rewriter.packed' = 'false'); INSERT INTO t VALUES (1, 'a'), (2, 'b');
CREATE DATABASE d; CREATE TABLE d.u (x INT); INSERT INTO d.u VALUES (5)"""


def run(directory: Path, text: str, url: str | None = None) -> list[tuple[object, ...]]:
    """Returns the rows of the last statement."""
    rows: list[tuple[object, ...]] = []
    with Session(directory, "duckdb", catalog=url) as session:
        for _, result in session.script(text):
            rows = result.fetch() if result.columns is not None else []
    return rows


def refused(action: Callable[[], object], condition: str) -> Error:
    with pytest.raises(Error) as caught:
        action()
    assert caught.value.condition == condition, caught.value
    return caught.value


def tree(directory: Path) -> dict[str, bytes]:
    """Returns the data files of a warehouse."""
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*.parquet")}


def long_ago(directory: Path, url: str | None = None) -> None:
    """Moves all past events back in time, so that VACUUM may remove their files."""
    row, catalog = schema.transactions, Catalog.open(directory, url)
    with catalog.database.write() as connection:
        connection.execute(sa.update(row).values(heartbeat_at=row.c.heartbeat_at - 1e6))
    catalog.close()


def emptied(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        schema.metadata.drop_all(connection)
    engine.dispose()


def lost(directory: Path, url: str | None, how: str) -> None:
    """Removes the catalog of a warehouse."""
    if url is not None:
        emptied(url)
        return
    file = directory / "catalog.db"
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.unlink() if how == "deleted" else os.truncate(file, 0)


@pytest.fixture
def warehouse(tmp_path: Path, catalog_url: str | None) -> Path:
    run(tmp_path / "A", SETUP, catalog_url)
    return tmp_path / "A"


# --- a catalog that is lost ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["deleted", "truncated"])
@pytest.mark.parametrize("with_identity", [True, False])
def test_a_lost_catalog_is_told_and_no_file_goes(
    warehouse: Path, catalog_url: str | None, how: str, with_identity: bool
) -> None:
    before = tree(warehouse)
    lost(warehouse, catalog_url, how)
    if not with_identity:  # As earlier releases left it.
        (warehouse / IDENTITY_FILE).unlink()
    for statement in ("SHOW TABLES", "SELECT 1", "CREATE TABLE t (x INT)", "VACUUM RETAIN 24 HOURS", "DROP TABLE t"):
        error = refused(lambda statement=statement: run(warehouse, statement, catalog_url), "CATALOG_MISSING")
        assert "rewriter catalog restore" in (error.hint or "")
        assert "rewriter catalog new" in (error.hint or "")
        assert str(warehouse) in error.message
    for command in ("check", "dump", "upgrade", "adopt"):
        arguments = ["catalog", command, "-w", str(warehouse)]
        assert main.main([*arguments, *([] if catalog_url is None else ["--catalog", catalog_url])]) == 2
    assert tree(warehouse) == before


def test_a_lost_catalog_is_restored(warehouse: Path, catalog_url: str | None, tmp_path: Path) -> None:
    with Session(warehouse, "duckdb", catalog=catalog_url) as session:
        lines = list(dump(session.catalog.database, warehouse))
        for _ in range(3):
            session.execute("INSERT INTO t VALUES (3, 'c')")  # They are not in the dump.
    before = tree(warehouse)
    lost(warehouse, catalog_url, "deleted")
    assert Catalog.restore(warehouse, catalog_url, lines) == len(lines) - 2
    assert run(warehouse, "SELECT SUM(x) FROM t", catalog_url) == [(3,)]
    # The next write goes on behind the numbers of the lost ones: neither it nor VACUUM touches their files.
    run(warehouse, "INSERT INTO t VALUES (4, 'c')", catalog_url)
    long_ago(warehouse, catalog_url)
    assert run(warehouse, "VACUUM", catalog_url) == []
    assert before.items() <= tree(warehouse).items()
    assert run(warehouse, "SELECT SUM(x) FROM t", catalog_url) == [(7,)]
    # Dumps from before the restore still fit.
    lost(warehouse, catalog_url, "deleted")
    assert Catalog.restore(warehouse, catalog_url, lines) == len(lines) - 2


def test_a_catalog_put_back_by_hand_deletes_no_newer_file(tmp_path: Path) -> None:
    warehouse = tmp_path / "A"
    run(warehouse, SETUP)
    shutil.copy(warehouse / "catalog.db", tmp_path / "kept.db")
    run(warehouse, "INSERT INTO t VALUES (3, 'c')")
    run(warehouse, "CREATE TABLE n (x INT); INSERT INTO n VALUES (1); INSERT OVERWRITE n VALUES (2)")
    before = tree(warehouse)
    shutil.copy(tmp_path / "kept.db", warehouse / "catalog.db")
    refused(lambda: run(warehouse, "CREATE TABLE n AS SELECT 1 AS x"), "WRITE_DIRECTORY_EXISTS")
    run(warehouse, "INSERT INTO t VALUES (4, 'c')")
    long_ago(warehouse)
    assert run(warehouse, "VACUUM") == []
    assert before.items() <= tree(warehouse).items()
    assert run(warehouse, "SELECT SUM(x) FROM t") == [(7,)]


def test_starting_anew_leaves_the_old_files_alone(warehouse: Path, catalog_url: str | None) -> None:
    before = tree(warehouse)
    lost(warehouse, catalog_url, "truncated")
    url = [] if catalog_url is None else ["--catalog", catalog_url]
    assert main.main(["catalog", "new", "-w", str(warehouse), *url]) == 0
    assert run(warehouse, "SHOW TABLES", catalog_url) == []
    run(warehouse, SETUP, catalog_url)
    assert run(warehouse, "SELECT SUM(x) FROM t", catalog_url) == [(3,)]
    run(warehouse, "DROP TABLE t; DROP TABLE d.u", catalog_url)
    long_ago(warehouse, catalog_url)
    assert len(run(warehouse, "VACUUM", catalog_url)) == 2
    assert tree(warehouse) == before
    assert main.main(["catalog", "new", "-w", str(warehouse), *url]) == 1  # It is not empty.


def test_unknown_directories_go_only_by_name(warehouse: Path, catalog_url: str | None, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(warehouse, outside)
    lost(warehouse, catalog_url, "deleted")
    Catalog.create_new(warehouse, catalog_url)
    run(warehouse, "CREATE TABLE mine AS SELECT 1 AS x", catalog_url)
    (warehouse / "linked-77").symlink_to(outside / "t-1")
    (warehouse / "t-1" / "rewriter_write_id=9").symlink_to(outside / "t-1")
    (warehouse / "files").mkdir()
    (warehouse / "files" / "x.parquet").write_text("x")
    kept = tree(outside)
    with Session(warehouse, "duckdb", catalog=catalog_url) as session:
        dry = session.execute("VACUUM UNKNOWN DIRECTORIES DRY RUN")
        listed = dry.fetch()
        assert [(str(row[0]).split("/rewriter_write_id")[0], row[1]) for row in listed] == [("t-1", 2), ("d.db/u-3", 1)]
        code = dry.warnings[0].split("'")[1]
        refused(lambda: session.execute("VACUUM UNKNOWN DIRECTORIES CONFIRM '1234'"), "CONFIRMATION_MISMATCH")
        (changed,) = (warehouse / "t-1").glob("rewriter_write_id=[0-8]")
        (changed / "late.parquet").write_text("x")
        refused(lambda: session.execute(f"VACUUM UNKNOWN DIRECTORIES CONFIRM '{code}'"), "CONFIRMATION_MISMATCH")
        code = session.execute("VACUUM UNKNOWN DIRECTORIES DRY RUN").warnings[0].split("'")[1]
        removed = session.execute(f"VACUUM UNKNOWN DIRECTORIES CONFIRM '{code}'").fetch()
        assert [row[0] for row in removed] == [row[0] for row in listed]
        assert session.execute("VACUUM UNKNOWN DIRECTORIES DRY RUN").fetch() == []
        assert session.execute("SELECT x FROM mine").fetch() == [(1,)]
        refused(lambda: session.execute("VACUUM EVERY THING DRY RUN"), "UNSUPPORTED")
    assert tree(outside) == kept
    assert (warehouse / "files" / "x.parquet").exists()
    assert not changed.exists()


# --- a catalog of another warehouse --------------------------------------------------------------------------------


def test_a_foreign_catalog_is_refused(tmp_path: Path) -> None:
    for name in ("A", "B"):
        run(tmp_path / name, SETUP)
    shutil.copy(tmp_path / "B" / "catalog.db", tmp_path / "A" / "catalog.db")
    before = tree(tmp_path / "A")
    for statement in ("SELECT * FROM t", "DROP TABLE t", "VACUUM"):
        error = refused(lambda statement=statement: run(tmp_path / "A", statement), "CATALOG_OF_ANOTHER_WAREHOUSE")
        assert "rewriter catalog adopt" in (error.hint or "")
    assert tree(tmp_path / "A") == before
    assert main.main(["catalog", "adopt", "-w", str(tmp_path / "A")]) == 0
    assert run(tmp_path / "A", "SHOW TABLES") == run(tmp_path / "B", "SHOW TABLES")


def test_a_foreign_catalog_of_an_earlier_release_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "A", SETUP)
    run(tmp_path / "B", "CREATE TABLE other (x INT); INSERT INTO other VALUES (1)")
    for name in ("A", "B"):
        as_before(tmp_path / name)
    shutil.copy(tmp_path / "B" / "catalog.db", tmp_path / "A" / "catalog.db")
    error = refused(lambda: run(tmp_path / "A", "SHOW TABLES"), "CATALOG_OF_ANOTHER_WAREHOUSE")
    assert "t-1" in error.message
    assert not (tmp_path / "A" / IDENTITY_FILE).exists()


def test_a_server_holds_the_catalog_of_one_warehouse(tmp_path: Path, postgres_url: str) -> None:
    run(tmp_path / "A", SETUP, postgres_url)
    for statement in ("SHOW TABLES", "CREATE TABLE n (x INT)"):
        refused(lambda statement=statement: run(tmp_path / "B", statement, postgres_url), "WAREHOUSE_NOT_FOUND")
    run(tmp_path / "B", "CREATE TABLE n (x INT)")
    refused(lambda: run(tmp_path / "B", "SHOW TABLES", postgres_url), "CATALOG_OF_ANOTHER_WAREHOUSE")


# --- copies and moves ----------------------------------------------------------------------------------------------


def test_a_copy_neither_writes_into_its_original_nor_deletes_from_it(tmp_path: Path) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, SETUP)
    before = tree(a)
    shutil.copytree(a, b)
    assert run(b, "SELECT SUM(x) FROM t") == [(3,)]
    for statement in ("INSERT INTO t VALUES (9, 'c')", "DROP TABLE t", "VACUUM", "CREATE TABLE n (x INT)"):
        error = refused(lambda statement=statement: run(b, statement), "WAREHOUSE_COPIED")
        assert "rewriter catalog adopt" in (error.hint or "")
    assert main.main(["catalog", "adopt", "-w", str(b)]) == 0
    run(b, "INSERT INTO t VALUES (9, 'c'); DROP TABLE d.u")
    assert run(b, "SELECT SUM(x) FROM t") == [(12,)]
    long_ago(b)
    assert run(b, "DROP TABLE t; VACUUM") != []
    assert tree(a) == before
    assert run(a, "SELECT SUM(x) FROM t") == [(3,)]
    shutil.rmtree(a)
    assert run(b, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1); SELECT * FROM t") == [(1,)]


def test_an_external_table_in_a_copy_is_the_copys(tmp_path: Path) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, "CREATE TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION 'files/e'; INSERT INTO e VALUES (1, 'a')")
    run(a, f"CREATE TABLE o (x INT) LOCATION '{tmp_path}/outside'; INSERT INTO o VALUES (7)")
    (tmp_path / "elsewhere").symlink_to(a)
    run(a, f"CREATE TABLE n (x INT) LOCATION '{tmp_path}/elsewhere/files/n'; INSERT INTO n VALUES (3)")
    run(a, "ALTER TABLE e ADD PARTITION (p = 'q') LOCATION 'own'")
    (a / "files" / "e" / "own").mkdir(parents=True, exist_ok=True)
    before = tree(a)
    shutil.copytree(a, b)
    main.main(["catalog", "adopt", "-w", str(b)])
    run(b, "INSERT OVERWRITE e VALUES (5, 'a'), (6, 'q'); INSERT INTO n VALUES (4)")
    assert tree(a) == before
    assert run(a, "SELECT SUM(x) FROM e") == [(1,)]
    assert run(b, "SELECT SUM(x) FROM e") == [(11,)]
    assert run(b, "SELECT SUM(x) FROM n") == [(7,)]
    assert run(b, "SELECT x FROM o") == [(7,)]


def test_tables_outside_the_warehouse_are_the_originals(tmp_path: Path) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, f"CREATE DATABASE far LOCATION '{tmp_path}/far'; CREATE TABLE far.t (x INT); INSERT INTO far.t VALUES (1)")
    run(a, "CREATE TABLE far.gone (x INT); INSERT INTO far.gone VALUES (1); DROP TABLE far.gone")
    shutil.copytree(a, b)
    before = tree(tmp_path / "far")
    error = refused(lambda: Catalog.adopt(b), "WAREHOUSE_SHARES_TABLES")
    assert "far.t" in error.message
    refused(lambda: run(b, "DROP TABLE far.t"), "WAREHOUSE_COPIED")
    assert main.main(["catalog", "adopt", "-w", str(b), "--copy-outside"]) == 0
    run(b, "INSERT INTO far.t VALUES (2); CREATE TABLE far.n AS SELECT 1 AS x")
    assert run(b, "SELECT SUM(x) FROM far.t") == [(3,)]
    run(b, "DROP TABLE far.t")
    long_ago(b)
    run(b, "VACUUM")
    assert tree(tmp_path / "far") == before
    assert run(a, "SELECT x FROM far.t") == [(1,)]


@pytest.mark.parametrize("link", [False, True])
def test_a_moved_warehouse_works(warehouse: Path, catalog_url: str | None, tmp_path: Path, link: bool) -> None:
    new = tmp_path / "new" / "place"
    new.parent.mkdir()
    warehouse.rename(new)
    if link:
        warehouse.symlink_to(new)
    for location in (new, warehouse) if link else (new, new):
        run(location, "INSERT INTO t VALUES (4, 'c'); INSERT INTO d.u VALUES (1)", catalog_url)
    assert run(new, "SELECT SUM(x) FROM t", catalog_url) == [(11,)]
    catalog = Catalog.open(new, catalog_url)
    assert list(findings(catalog.database)) == []
    catalog.close()
    assert warehouse.exists() == link


def test_a_warehouse_that_was_copied_and_whose_original_is_gone_has_moved(tmp_path: Path) -> None:
    """As after a move between file systems, and after a restore from a backup to another place."""
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, SETUP)
    shutil.copytree(a, b)
    shutil.rmtree(a)
    run(b, "INSERT INTO t VALUES (4, 'c')")
    # A restore to the place where it was.
    shutil.copytree(b, a)
    shutil.rmtree(b)
    run(a, "INSERT INTO t VALUES (4, 'c')")
    assert run(a, "SELECT SUM(x) FROM t") == [(11,)]


def test_a_copy_beside_a_server_is_refused(tmp_path: Path, postgres_url: str) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, SETUP, postgres_url)
    shutil.copytree(a, b)
    for statement in ("SELECT * FROM t", "INSERT INTO t VALUES (9, 'c')", "SHOW TABLES"):
        refused(lambda statement=statement: run(b, statement, postgres_url), "WAREHOUSE_COPIED")
    # The original goes on; when the copy takes its place it is refused.
    run(a, "INSERT INTO t VALUES (4, 'c')", postgres_url)
    shutil.rmtree(b)
    shutil.copytree(a, b)
    assert main.main(["catalog", "adopt", "-w", str(b), "--catalog", postgres_url]) == 0
    assert run(b, "SELECT SUM(x) FROM t", postgres_url) == [(7,)]
    refused(lambda: run(a, "SHOW TABLES", postgres_url), "CATALOG_OF_ANOTHER_WAREHOUSE")


def test_a_server_cannot_tell_a_copy_on_another_host_from_the_original(tmp_path: Path, postgres_url: str) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, SETUP, postgres_url)
    shutil.copytree(a, b)
    shutil.rmtree(a)
    with Catalog.open(b, postgres_url).database.write() as connection:  # It has moved: the host is the same.
        connection.execute(sa.update(schema.warehouse).values(host="another", place="/data", inode="1", device="1"))
    refused(lambda: run(b, "SHOW TABLES", postgres_url), "WAREHOUSE_COPIED")
    assert main.main(["catalog", "adopt", "-w", str(b), "--catalog", postgres_url]) == 0
    assert run(b, "SELECT SUM(x) FROM t", postgres_url) == [(3,)]


@pytest.mark.parametrize(
    ("location", "same"),
    [
        (WarehouseLocation("/a", "1", "5", "h"), True),
        (WarehouseLocation("/mounted/elsewhere", "1", "5", "container"), True),
        (WarehouseLocation("/a", "9", "5", "another host of the same file server"), True),
        (WarehouseLocation("/a", "9", "9", "h"), True),
        (WarehouseLocation("/a", "9", "9", "another host"), False),
        (WarehouseLocation("/b", "9", "5", "h"), False),
        (WarehouseLocation("/b", "1", "9", "h"), False),
    ],
)
def test_what_is_the_same_directory(location: WarehouseLocation, same: bool) -> None:
    assert WarehouseLocation("/a", "1", "5", "h").is_same(location) == same


def test_a_copy_by_hard_links_is_not_written(tmp_path: Path) -> None:
    a, b = tmp_path / "A", tmp_path / "B"
    run(a, SETUP)
    shutil.copytree(a, b, copy_function=os.link)
    refused(lambda: run(b, "DROP TABLE t"), "WAREHOUSE_COPIED")
    assert main.main(["catalog", "adopt", "-w", str(b)]) == 2
    shutil.copy(b / "catalog.db", b / "new")
    (b / "new").rename(b / "catalog.db")
    assert main.main(["catalog", "adopt", "-w", str(b)]) == 0
    run(b, "DROP TABLE t")
    assert run(a, "SELECT SUM(x) FROM t") == [(3,)]


# --- earlier releases ----------------------------------------------------------------------------------------------


def as_before(directory: Path, url: str | None = None, *, root: Path | None = None) -> None:
    """Makes the catalog that of an earlier release: absolute paths below ``root``, and no identity."""
    root = root or directory
    (directory / IDENTITY_FILE).unlink()
    with connected(directory, url) as connection:
        for table in ("warehouse", "foreign_writes"):
            connection.execute(sa.text(f"DROP TABLE {table}"))
        connection.execute(sa.text("UPDATE schema_version SET version = 10"))
        absolute = sa.text("UPDATE files SET path = :root || path WHERE substr(path, 1, 1) <> '/'")
        connection.execute(absolute, {"root": f"{root}/"})
        located = sa.text("SELECT row_id, definition FROM objects WHERE kind IN ('table', 'database')")
        for row_id, text in connection.execute(located).all():
            data = json.loads(text)
            if data["location"] is not None and not data["location"].startswith("/"):
                data["location"] = f"{root}/{data['location']}"
                changed = {"text": json.dumps(data, separators=(",", ":"), ensure_ascii=False), "row": row_id}
                connection.execute(sa.text("UPDATE objects SET definition = :text WHERE row_id = :row"), changed)


@contextlib.contextmanager
def connected(directory: Path, url: str | None) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url or f"sqlite:///{directory / 'catalog.db'}")
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def stored_paths(directory: Path, url: str | None = None) -> set[str]:
    with connected(directory, url) as connection:
        texts = connection.execute(sa.text("SELECT definition FROM objects WHERE kind = 'table'")).scalars()
        locations = {json.loads(text)["location"] for text in texts}
        return locations | set(connection.execute(sa.text("SELECT path FROM files")).scalars())


@pytest.mark.parametrize("moved", ["no", "by another name", "before it was upgraded"])
def test_paths_of_an_earlier_release_become_relative(tmp_path: Path, catalog_url: str | None, moved: str) -> None:
    warehouse = tmp_path / "A"
    run(warehouse, SETUP + "; CREATE TABLE empty (x INT)", catalog_url)
    run(
        warehouse,
        f"CREATE TABLE o (x INT) LOCATION '{tmp_path}/outside'; CREATE TABLE i (x INT) LOCATION 'files'",
        catalog_url,
    )
    run(
        warehouse,
        f"CREATE DATABASE far LOCATION '{tmp_path}/far'; CREATE TABLE far.t (x INT); INSERT INTO far.t VALUES (1)",
        catalog_url,
    )
    run(warehouse, "ALTER TABLE d.u RENAME TO d.renamed", catalog_url)
    root = tmp_path / "link" if moved == "by another name" else tmp_path / "old.db" if moved != "no" else warehouse
    if moved == "by another name":
        root.symlink_to(warehouse)
    as_before(warehouse, catalog_url, root=root)
    assert any(path.startswith(f"{root}/") for path in stored_paths(warehouse, catalog_url))
    assert run(warehouse, "SELECT SUM(x) FROM t", catalog_url) == [(3,)]
    assert {path for path in stored_paths(warehouse, catalog_url) if path.startswith("/")} == {
        str(tmp_path / "outside"),
        *(path for path in stored_paths(warehouse, catalog_url) if path.startswith(f"{tmp_path}/far/t-")),
    }
    assert (warehouse / IDENTITY_FILE).exists()
    run(
        warehouse,
        "INSERT INTO d.renamed VALUES (1); INSERT INTO empty VALUES (1); INSERT INTO far.t VALUES (1)",
        catalog_url,
    )
    assert run(warehouse, "SELECT SUM(x) FROM d.renamed", catalog_url) == [(6,)]
    assert run(warehouse, "SELECT SUM(x) FROM far.t", catalog_url) == [(2,)]
    catalog = Catalog.open(warehouse, catalog_url)
    assert list(findings(catalog.database)) == []
    catalog.close()


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_kill_while_paths_are_made_relative(
    tmp_path: Path, catalog_url: str | None, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    warehouse, change = tmp_path / "A", migrations.make_relative
    run(warehouse, SETUP, catalog_url)
    as_before(warehouse, catalog_url)
    before = stored_paths(warehouse, catalog_url)

    def kill(*arguments: object) -> None:
        if where == "after":
            change(*arguments)  # type: ignore[arg-type]
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "make_relative", kill)
        with pytest.raises(Killed):
            run(warehouse, "SHOW TABLES", catalog_url)
    assert stored_paths(warehouse, catalog_url) == before
    assert run(warehouse, "SELECT SUM(x) FROM t", catalog_url) == [(3,)]
    assert not any(path.startswith("/") for path in stored_paths(warehouse, catalog_url))


# --- killed in the middle ------------------------------------------------------------------------------------------


class Killed(BaseException):
    pass


@pytest.mark.parametrize("begun", ["new", "earlier release", "restored", "copied", "anew"])
@pytest.mark.parametrize("where", ["before the file", "after the file"])
def test_a_kill_while_the_identity_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: str, where: str
) -> None:
    warehouse, write = tmp_path / "A", warehouse_identity._write_identity
    action: Callable[[], object] = lambda: run(warehouse, SETUP)  # noqa: E731
    if begun != "new":
        run(warehouse, SETUP)
    if begun == "earlier release":
        as_before(warehouse)
        action = lambda: run(warehouse, "SHOW TABLES")  # noqa: E731
    elif begun == "restored":
        lines = list(dump(Catalog.open(warehouse).database, warehouse))
        lost(warehouse, None, "deleted")
        action = lambda: Catalog.restore(warehouse, None, lines)  # noqa: E731
    elif begun == "copied":
        shutil.copytree(warehouse, tmp_path / "B")
        warehouse = tmp_path / "B"
        action = lambda: Catalog.adopt(warehouse)  # noqa: E731
    elif begun == "anew":
        lost(warehouse, None, "deleted")
        action = lambda: Catalog.create_new(warehouse)  # noqa: E731

    def kill(*arguments: object) -> None:
        if where == "after the file":
            write(*arguments)  # type: ignore[arg-type]
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(warehouse_identity, "_write_identity", kill)
        with pytest.raises(Killed):
            action()
    if begun == "copied" and where == "before the file":
        Catalog.adopt(warehouse)
    if begun in ("new", "anew"):
        run(warehouse, SETUP)
    assert run(warehouse, "SELECT SUM(x) FROM t") == [(3,)]
    run(warehouse, "INSERT INTO t VALUES (9, 'z')")
    with Session(warehouse, "duckdb") as session, session.catalog.database.read() as connection:
        identity, following = connection.execute(
            sa.select(schema.warehouse.c.identity, schema.warehouse.c.next_identity)
        ).one()
    assert (json.loads((warehouse / IDENTITY_FILE).read_text())["identity"], following) == (identity, None)
