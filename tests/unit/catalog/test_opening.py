"""Opening a catalog: new, older, newer and foreign files."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from statements import watch

from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import AddPartitions, CreateObject, PartitionWrite
from rewriter.catalog.model.objects import Column, Table, View
from rewriter.catalog.reading.queries import transaction_list
from rewriter.catalog.store import migrations, schema, stream_runs
from rewriter.catalog.store.database import Database, next_number
from rewriter.errors import OperationalError
from rewriter.exec.engine import Engine
from rewriter.session import Session


def _table(catalog: Catalog, name: str) -> Table:
    with catalog.begin() as transaction:
        table = Table(transaction.allocate_id(), name, (Column("x", "int"),), (), "parquet", f"/w/{name}")
        transaction.commit([CreateObject(table)])
    return table


def test_a_catalog_is_kept(tmp_path: Path) -> None:
    warehouse = tmp_path / "a" / "b"
    first = Catalog.open(warehouse)
    table = _table(first, "t")
    first.close()
    first.close()
    second = Catalog.open(str(warehouse))
    assert second.warehouse == warehouse
    assert second.snapshot().table("T") == table


def test_a_read_of_several_statements_sees_one_state(tmp_path: Path, catalog_url: str | None) -> None:
    database = Database(tmp_path / "catalog.db" if catalog_url is None else catalog_url)

    def newest(connection: sa.Connection) -> int:
        return transaction_list(connection)[1]

    with database.read() as connection:
        before = newest(connection)
        with database.write() as writer:
            next_number(writer, "commit")
        assert newest(connection) == before
    with database.read() as connection:
        assert newest(connection) == before + 1
    database.close()


def test_a_statement_waits_for_the_disk_once(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    _table(catalog, "t")
    said: list[str] = []
    end = watch(said.append)
    with catalog.begin() as transaction:
        transaction.commit([AddPartitions(catalog.snapshot().table("t"), (PartitionWrite(()),))])
    end()
    assert [statement for statement in said if statement.startswith("PRAGMA synchronous")] == [
        "PRAGMA synchronous = NORMAL",
        "PRAGMA synchronous = FULL",
    ]
    catalog.close()


def test_an_older_catalog_is_upgraded_at_once_or_not_at_all(tmp_path: Path) -> None:
    table = _table(Catalog.open(tmp_path), "t")

    def second(connection: sa.Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE news (x INTEGER)")

    def fails(connection: sa.Connection) -> None:
        connection.exec_driver_sql("INSERT INTO news VALUES (1)")
        raise RuntimeError("no power")

    with pytest.raises(RuntimeError):
        Database(tmp_path / "catalog.db", (*migrations.STEPS, second, fails))
    # Nothing of the failed upgrade is left, and the file is still of our version.
    assert Catalog.open(tmp_path).snapshot().table("t") == table
    Database(tmp_path / "catalog.db", (*migrations.STEPS, second)).close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(len(migrations.STEPS) + 1,)]
        assert connection.execute("SELECT count(*) FROM news").fetchall() == [(0,)]
    with pytest.raises(OperationalError) as caught:
        Catalog.open(tmp_path)
    assert caught.value.condition == "CATALOG_TOO_NEW"
    assert caught.value.hint is not None


def test_a_catalog_from_before_views_is_upgraded(tmp_path: Path) -> None:
    Database(tmp_path / "catalog.db", migrations.STEPS[:1]).close()
    catalog = Catalog.open(tmp_path)
    with catalog.begin() as transaction:
        transaction.commit([CreateObject(View(transaction.allocate_id(), "v", "SELECT 1 AS a"))])
    # A release without views must not read one as something else.
    with pytest.raises(OperationalError) as caught:
        Database(tmp_path / "catalog.db", migrations.STEPS[:1])
    assert caught.value.condition == "CATALOG_TOO_NEW"


def test_a_new_catalog_is_what_all_upgrades_make(tmp_path: Path, catalog_url: str | None) -> None:
    location = tmp_path / "catalog.db" if catalog_url is None else catalog_url
    Database(location, migrations.STEPS[:1]).close()
    Database(location).close()
    engine = sa.create_engine(catalog_url or f"sqlite:///{location}")
    upgraded = _described(engine)
    schema.metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []
    Database(location).close()
    assert _described(engine) == upgraded
    engine.dispose()


def _described(engine: sa.Engine) -> dict[str, object]:
    """Returns tables, columns, keys, indexes and rows. Random identities are only tested for existence."""
    inspector = sa.inspect(engine)
    described: dict[str, object] = {}
    with engine.connect() as connection:
        for table in sorted(inspector.get_table_names()):
            columns = [{**column, "type": str(column["type"])} for column in inspector.get_columns(table)]
            indexes = sorted(str({**index, "dialect_options": _texts(index)}) for index in inspector.get_indexes(table))
            rows = sorted(map(tuple, connection.execute(sa.text(f'SELECT * FROM "{table}"'))), key=str)
            if table == "warehouse":
                rows = [tuple(value is None for value in row) for row in rows]
            described[table] = columns, inspector.get_pk_constraint(table), indexes, rows
        if engine.dialect.name == "sqlite":
            texts = connection.execute(sa.text("SELECT name, sql FROM sqlite_master")).all()
            described["definitions"] = {name: " ".join((text or "").split()) for name, text in texts}
    return described


def _texts(index: Mapping[str, Any]) -> dict[str, str]:
    """Returns the options of an index as text: conditions of equal text are not equal."""
    return {name: str(option) for name, option in index.get("dialect_options", {}).items()}


def test_the_index_of_keys_is_replaced(tmp_path: Path) -> None:
    fresh, older = tmp_path / "fresh.db", tmp_path / "catalog.db"
    Database(older, migrations.STEPS[:7]).close()
    with sqlite3.connect(older) as connection:  # As an earlier release made it.
        connection.execute("DROP INDEX partitions_by_version")
        connection.execute("CREATE INDEX partitions_by_key ON partitions (key, ended)")
    for location in (fresh, older):
        Database(location).close()
        with sqlite3.connect(location) as connection:
            query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'partitions' ORDER BY name"
            names = [name for (name,) in connection.execute(query)]
            indexes = ["open_partitions", "partitions_by_commit", "partitions_by_version", "partitions_with_origins"]
            assert names == indexes


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_text("Dear diary, this is a text of more than a hundred bytes. " * 9)
    with pytest.raises(OperationalError) as caught:
        Catalog.open(tmp_path)
    assert caught.value.condition == "NOT_A_CATALOG"


def test_a_database_of_somebody_else(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("CREATE TABLE diary (day TEXT)")
    with pytest.raises(OperationalError) as caught:
        Catalog.open(tmp_path)
    assert caught.value.condition == "NOT_A_CATALOG"


def test_a_warehouse_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "w").write_text("x")
    with pytest.raises(OperationalError) as caught:
        Catalog.open(tmp_path / "w")
    assert caught.value.condition == "CATALOG_UNAVAILABLE"


def test_several_processes_make_the_same_catalog(tmp_path: Path) -> None:
    code = "import sys; from rewriter.catalog import Catalog; Catalog.open(sys.argv[1]).begin()"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(4)]
    assert [run.wait(60) for run in runs] == [0, 0, 0, 0]
    assert Catalog.open(tmp_path).begin().id == 5


def test_who_has_the_catalog_open_notices_that_a_later_release_upgraded_it(tmp_path: Path) -> None:
    catalog = Catalog.open(tmp_path)
    _table(catalog, "t")
    running = catalog.begin()
    table = running.snapshot.table("t")
    Database(tmp_path / "catalog.db", (*migrations.STEPS, lambda connection: None)).close()
    added = AddPartitions(table, (PartitionWrite(()),))
    for refused in (catalog.snapshot, catalog.begin, lambda: running.commit([added]), running.heartbeat):
        with pytest.raises(OperationalError) as caught:
            refused()
        assert caught.value.condition == "CATALOG_TOO_NEW"


def test_a_release_without_the_secondary_index_cannot_write_beside_it(tmp_path: Path) -> None:
    """A process that opened the catalog at version 5 no longer checks the version, and writes its claims first."""
    Catalog.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("DROP TABLE partition_fields")
        connection.execute("ALTER TABLE claimed_ranges RENAME TO written_ranges")
        connection.execute("UPDATE schema_version SET version = 5")
    with sqlite3.connect(tmp_path / "catalog.db") as older:
        older.execute("DELETE FROM written_ranges")
        older.commit()
        Catalog.open(tmp_path).close()
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            older.execute("DELETE FROM written_ranges")


def test_importing_the_catalog_is_cheap() -> None:
    code = (
        "import sys, rewriter.catalog, rewriter.catalog.keys.encoding; "
        "heavy = {'pyspark', 'duckdb', 'pyarrow', 'pandas', 'numpy', 'lark', 'sqlglot'}; "
        "sys.exit(','.join(heavy & set(sys.modules)) or None)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_catalog_from_before_properties_of_partitions_is_upgraded(tmp_path: Path) -> None:
    table = _table(Catalog.open(tmp_path), "t")
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("ALTER TABLE partitions DROP COLUMN properties")
        connection.execute("UPDATE schema_version SET version = 4")
    snapshot = Catalog.open(tmp_path).snapshot()
    assert snapshot.table("t") == table
    assert snapshot.partitions(table) == ()


def test_files_of_a_release_without_packed_files_are_read_whole(tmp_path: Path, duckdb: Engine) -> None:
    with Session(tmp_path, duckdb) as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (y INT) TBLPROPERTIES ('rewriter.packed' = 'false')")
        session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as connection, connection:
        connection.execute("ALTER TABLE files DROP COLUMN part")
        connection.execute("UPDATE schema_version SET version = 14")
    with Session(tmp_path, duckdb) as session:
        assert sorted(session.execute("SELECT * FROM t").fetch()) == [(1, 1), (2, 2)]
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.packed' = 'true')")
        session.execute("INSERT INTO t VALUES (3, 2), (4, 4)")
        session.execute("ALTER TABLE t COMPACT")
        assert sorted(session.execute("SELECT * FROM t").fetch()) == [(1, 1), (2, 2), (3, 2), (4, 4)]


def test_the_batches_of_a_stream_are_those_that_were_committed(tmp_path: Path, catalog_url: str | None) -> None:
    """An earlier release repeated the number of the last batch in the row of the run."""
    location = tmp_path / "catalog.db" if catalog_url is None else catalog_url
    Database(location).close()
    engine = sa.create_engine(catalog_url or f"sqlite:///{location}")
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE streams ADD COLUMN batch BIGINT"))
        connection.execute(sa.text("UPDATE schema_version SET version = 17"))
        for stream, batch, rows in (("a", 5, 70), ("b", None, 0)):
            run = {"stream": stream, "table_id": 3, "run": stream, "checkpoint": "c", "state": "finished"}
            times = {"stopping": False, "started_at": 0.0, "heartbeat_at": 0.0, "process": "p", "rows": rows}
            connection.execute(schema.streams.insert(), {**run, **times})
            connection.execute(
                sa.text("UPDATE streams SET batch = :batch WHERE stream = :stream"), {"batch": batch, "stream": stream}
            )
        # Of stream a in its table, of stream b in another table, and without a stream.
        for table_id, stream, batch in ((3, "a", "5"), (4, "b", "8"), (3, "", "load-17")):
            values = {"table_id": table_id, "stream": stream, "checkpoint": "c", "batch": batch, "commit_seq": 1}
            connection.execute(schema.batches.insert(), values)
    database = Database(location)
    with database.read() as connection:
        runs = stream_runs.stream_runs(connection)
        assert "batch" not in {column["name"] for column in sa.inspect(connection).get_columns("streams")}
    assert [(run.stream, run.batches, run.rows) for run in runs] == [("a", 6, 70), ("b", 0, 0)]
    database.close()
    engine.dispose()
