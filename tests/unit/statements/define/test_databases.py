"""Databases where several sessions meet, in parameters, files and scripts; what reads and writes which table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter import dbapi
from rewriter.catalog.model.changes import (
    AddPartitions,
    AlterTable,
    CreateObject,
    DropObject,
    PartitionWrite,
    RenameObject,
)
from rewriter.catalog.model.objects import Column, Table
from rewriter.errors import ConflictError, Error, IntegrityError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        yield opened


@pytest.fixture
def either(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    """Opens a session on each database that can hold the catalog."""
    with Session(tmp_path, "duckdb", catalog=catalog_url) as opened:
        yield opened


def rows(session: Session, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(text).rows()]


def run(session: Session, script: str) -> None:
    for _ in session.script(script):
        pass


def failure(session: Session, text: str) -> Error:
    with pytest.raises(Error) as info:
        session.execute(text)
    assert info.value.hint, info.value
    return info.value


def table(id: int, name: str) -> Table:
    return Table(id, name, (Column("a", "int"),), (Column("p", "string"),), "parquet", f"/nowhere/{id}")


def test_each_session_has_its_own_current_database(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as first, Session(tmp_path, "duckdb") as second:
        run(first, "CREATE DATABASE Sales; USE SALES; CREATE TABLE t (a INT)")
        assert (first.database, second.database) == ("sales", "default")
        assert rows(second, "SHOW TABLES") == []
        assert failure(second, "SELECT * FROM t").condition == "TABLE_OR_VIEW_NOT_FOUND"
        second.execute("USE sales")
        second.execute("DROP DATABASE sales CASCADE")
        assert failure(first, "SELECT * FROM t").condition == "TABLE_OR_VIEW_NOT_FOUND"
        assert failure(first, "CREATE TABLE t (a INT)").condition == "SCHEMA_NOT_FOUND"
        assert (
            failure(first, "CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)").condition == "SCHEMA_NOT_FOUND"
        )
        assert failure(first, "SHOW VIEWS").condition == "SCHEMA_NOT_FOUND"
        assert first.database == "sales"
        first.execute("USE default")
        assert rows(first, "SHOW TABLES") == []


def test_a_connection_begins_in_default(tmp_path: Path) -> None:
    with dbapi.connect(tmp_path, engine="duckdb") as connection:
        cursor = connection.cursor()
        for text in ("CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)"):
            cursor.execute(text)
        cursor.execute("SELECT a, current_database() AS d FROM t WHERE a = ?", (1,))
        assert cursor.fetchall() == [(1, "d")]
    with dbapi.connect(tmp_path, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT current_schema() AS d")
        assert cursor.fetchall() == [("default",)]


def test_managed_tables_lie_below_their_database(session: Session) -> None:
    warehouse = session.catalog.warehouse
    run(session, "CREATE DATABASE a; CREATE DATABASE b LOCATION 'else/where'; CREATE TABLE t (x INT)")
    run(
        session,
        "CREATE TABLE a.t (x INT); CREATE TABLE b.t (x INT); INSERT INTO a.t VALUES (1); INSERT INTO b.t VALUES (2)",
    )
    snapshot = session.catalog.snapshot()
    places = [Path(snapshot.table(name).location).parent for name in ("t", "a.t", "b.t")]
    assert places == [warehouse, warehouse / "a.db", warehouse / "else" / "where"]
    assert all(os.path.isdir(snapshot.table(name).location) for name in ("a.t", "b.t"))
    assert rows(session, "SELECT a.t.x, b.t.x AS y FROM a.t CROSS JOIN b.t") == [(1, 2)]


def test_catalogs_without_databases_hold_what_they_did(session: Session) -> None:
    """Names in ``default`` have no database before them, however they are typed."""
    session.execute("CREATE TABLE spark_catalog.default.T (x INT)")
    session.execute("CREATE VIEW default.v AS SELECT x FROM T")
    snapshot = session.catalog.snapshot()
    assert [relation.name for relation in (*snapshot.tables(), *snapshot.views())] == ["T", "v"]
    assert snapshot.named("t") is snapshot.named("T")


def test_a_name_with_a_point_is_nobodys(session: Session) -> None:
    """Quoted as one part, ``a.t`` must not be taken for ``t`` of the database ``a``."""
    run(session, "CREATE DATABASE a; CREATE TABLE a.t (x INT); INSERT INTO a.t VALUES (1)")
    for text in ("SELECT * FROM `a.t`", "SELECT * FROM default.`a.t`", "SELECT * FROM `default.a`.t"):
        assert failure(session, text).condition == "TABLE_OR_VIEW_NOT_FOUND"
    for text in ("DROP TABLE `a.t`", "DROP TABLE IF EXISTS `a.t`", "CREATE CUBE `a.c` (t TIMESTAMP TIME)"):
        assert failure(session, text).condition == "INVALID_SCHEMA_OR_RELATION_NAME"
    assert rows(session, "SELECT x FROM a.t") == [(1,)]


def test_a_database_may_be_called_as_a_table_is(session: Session) -> None:
    run(session, "CREATE TABLE t (x INT); INSERT INTO t VALUES (1); CREATE DATABASE t; CREATE TABLE t.t (x INT)")
    session.execute("INSERT INTO t.t VALUES (2)")
    assert rows(session, "SELECT t.x FROM t") == [(1,)]
    assert rows(session, "SELECT t.x FROM t.t") == [(2,)]
    assert rows(session, "SELECT t.t.x FROM t.t") == [(2,)]
    session.execute("DROP TABLE t")
    assert rows(session, "SELECT x FROM t.t") == [(2,)]


def test_an_insert_reads_and_writes_tables_of_one_name(session: Session) -> None:
    for database in ("a", "b"):
        run(session, f"CREATE DATABASE {database}; CREATE TABLE {database}.t (x INT, p STRING) PARTITIONED BY (p)")
    run(session, "INSERT INTO a.t VALUES (1, 'p'), (2, 'q'); USE b; INSERT INTO t VALUES (7, 'p')")
    session.execute("INSERT OVERWRITE t PARTITION (p = 'p') SELECT x + 10 FROM a.t WHERE a.t.p = 'q'")
    assert rows(session, "SELECT x, p FROM t") == [(12, "p")]
    assert rows(session, "SELECT x, p FROM a.t ORDER BY x") == [(1, "p"), (2, "q")]
    session.execute("INSERT INTO a.t SELECT x, 'r' FROM t")
    assert rows(session, "SHOW PARTITIONS a.t") == [("p=p",), ("p=q",), ("p=r",)]
    result = session.execute("SELECT x FROM t WHERE b.t.p = 'p'")
    assert [(scan.table, scan.partitions) for scan in result.stats.scans] == [("b.t", 1)] if result.stats else False


def test_views_of_two_databases_over_each_other(session: Session) -> None:
    """Each name is looked up where its view was made, at every depth."""
    for database, value in (("a", 1), ("b", 2)):
        run(
            session,
            f"CREATE DATABASE {database}; USE {database}; CREATE TABLE t (x INT); INSERT INTO t VALUES ({value})",
        )
        run(session, "CREATE VIEW v AS SELECT x FROM t; CREATE VIEW u AS WITH w AS (SELECT x FROM v) SELECT x FROM w")
    body = "SELECT a.u.x, b.v.x AS y, a.v.x + b.u.x AS z FROM u, b.v, v, b.u"
    run(session, f"USE a; CREATE VIEW b.both AS {body}; USE default; CREATE TABLE t (x STRING)")
    for database in ("default", "a", "b"):
        session.execute(f"USE {database}")
        assert rows(session, "SELECT x, y, z FROM b.both") == [(1, 2, 3)]
        assert rows(session, "SELECT a.u.x, b.u.x AS y FROM a.u CROSS JOIN b.u") == [(1, 2)]
    session.execute("CREATE OR REPLACE VIEW a.v AS SELECT x * 10 AS x FROM t")
    assert rows(session, "SELECT x, y, z FROM b.both") == [(20, 2, 22)]
    session.execute("CREATE TABLE a.b (x INT)")
    assert failure(session, "CREATE OR REPLACE VIEW a.v AS SELECT x FROM a.u").condition == "RECURSIVE_VIEW"


def test_a_rename_meets_the_writers_that_it_overtakes(either: Session) -> None:
    """A writer that looked the table up by its old name must not write into it under the new one, unseen by a fact."""
    run(either, "CREATE TABLE t (x INT, p STRING) PARTITIONED BY (p); INSERT INTO t VALUES (1, 'a')")
    catalog = either.catalog
    before = catalog.snapshot()
    either.execute("ALTER TABLE t RENAME TO u")
    assert before.table("t").name == "t"
    assert [partition.values for partition in before.partitions(before.table("t"))] == [("a",)]
    write = AddPartitions(before.table("t"), (PartitionWrite(("b",)),))
    with catalog.begin(before) as transaction, pytest.raises(ConflictError):
        transaction.commit([write])
    with catalog.begin(before) as transaction:
        transaction.commit([AlterTable(before.table("t"), {"k": "v"})])
    renamed = catalog.snapshot().table("u")
    assert (renamed.properties, catalog.snapshot().named("t")) == ({"k": "v"}, None)
    assert rows(either, "SELECT x, p FROM u") == [(1, "a")]
    with catalog.begin(before) as transaction, pytest.raises(ConflictError):
        transaction.commit([RenameObject(before.table("t"), "w")])
    either.execute("INSERT INTO u VALUES (2, 'b')")
    assert rows(either, "SHOW PARTITIONS u") == [("p=a",), ("p=b",)]


def test_a_rename_does_not_meet_what_it_has_seen(session: Session) -> None:
    run(session, "CREATE TABLE t (x INT, p STRING) PARTITIONED BY (p); CREATE DATABASE d")
    for number in range(3):
        run(
            session,
            f"INSERT INTO t VALUES ({number}, 'a'); ALTER TABLE t RENAME TO d.t; ALTER TABLE d.t RENAME TO default.t",
        )
    assert rows(session, "SELECT x FROM t ORDER BY x") == [(0,), (1,), (2,)]
    before = session.catalog.snapshot()
    session.execute("INSERT INTO t VALUES (3, 'b')")
    with session.catalog.begin(before) as transaction:
        transaction.commit([RenameObject(before.table("t"), "d.t")])
    assert rows(session, "SELECT COUNT(x) AS n FROM d.t") == [(4,)]


def test_a_database_that_goes_while_something_comes(either: Session) -> None:
    either.execute("CREATE DATABASE d")
    catalog = either.catalog
    before = catalog.snapshot()
    with catalog.begin(before) as transaction:
        transaction.commit([CreateObject(table(transaction.allocate_id(), "d.t"))])
    for changes in (
        [DropObject(before.database("d"))],
        [CreateObject(table(900, "d.u")), DropObject(before.database("d"))],
    ):
        with catalog.begin(before) as transaction, pytest.raises(IntegrityError) as info:
            transaction.commit(changes)
        assert (info.value.condition, info.value.sqlstate) == ("SCHEMA_NOT_EMPTY", "2BP01")
    assert [table.name for table in catalog.snapshot().tables()] == ["d.t"]
    either.execute("DROP DATABASE d CASCADE")
    with catalog.begin(before) as transaction, pytest.raises(Error) as gone:
        transaction.commit([CreateObject(table(901, "d.u"))])
    assert gone.value.condition == "SCHEMA_NOT_FOUND"
    with catalog.begin(before) as transaction, pytest.raises(ConflictError):
        transaction.commit([DropObject(before.database("d"))])
    assert [database.name for database in before.databases()] == ["d", "default"]
    assert [database.name for database in catalog.snapshot().databases()] == ["default"]


def test_cascade_is_all_or_none(either: Session) -> None:
    run(
        either,
        "CREATE DATABASE d; USE d; CREATE TABLE t (n BIGINT) PARTITIONED BY (dt STRING);"
        "CREATE VIEW v AS SELECT n FROM t",
    )
    run(either, "CREATE CUBE c (n BIGINT MEASURE COUNT, departed TIMESTAMP TIME); USE default")
    either.execute(
        "CREATE FACT f OF CUBE d.c STORED IN (TABLE d.t PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'))"
    )
    assert failure(either, "DROP DATABASE d CASCADE").condition == "CUBE_IN_USE"
    assert rows(either, "SHOW VIEWS IN d") == [("v", None, False)]
    either.execute("DROP FACT f")
    either.execute("DROP DATABASE d CASCADE")
    snapshot = either.catalog.snapshot()
    assert (snapshot.tables(), snapshot.views(), snapshot.cubes(), snapshot.facts()) == ((), (), (), ())


@pytest.mark.parametrize("name", ["parquet", "CSV", "spark_catalog", "system", "session", "global_temp"])
def test_names_that_mean_something_else(session: Session, name: str) -> None:
    run(session, "CREATE TABLE t (x INT)")
    assert failure(session, f"CREATE DATABASE {name}").position is not None
    assert rows(session, "SHOW DATABASES") == [("default",), ("information_schema",), ("system",)]


def test_a_file_is_read_whatever_is_current(session: Session) -> None:
    run(session, "CREATE DATABASE d; CREATE TABLE t (x INT); INSERT INTO t VALUES (5); USE d")
    location = session.catalog.snapshot().table("t").location
    assert rows(session, f"SELECT x FROM parquet.`{location}/*`") == [(5,)]


def test_a_fact_is_made_of_what_was_checked(session: Session) -> None:
    """Another process may give the name of its table to another one between the check and the commit."""
    run(session, "CREATE CUBE c (n BIGINT MEASURE COUNT, departed TIMESTAMP TIME)")
    run(session, "CREATE TABLE t (n BIGINT) PARTITIONED BY (dt STRING)")
    make = "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'))"
    session.execute(make)
    catalog = session.catalog
    fact = catalog.snapshot().fact("f")
    session.execute("DROP FACT f")
    before = catalog.snapshot()
    run(session, "ALTER TABLE t RENAME TO u; CREATE TABLE t (other STRING) PARTITIONED BY (dt STRING)")
    with catalog.begin(before) as transaction, pytest.raises(ConflictError):
        transaction.commit([CreateObject(fact)])
    assert failure(session, make).condition == "INVALID_FACT"


@pytest.mark.parametrize("name", ["a.b.c.d", "a.b.t", "`spark_catalog`.`d.x`.t"])
def test_names_of_too_many_parts_are_not_found(session: Session, name: str) -> None:
    run(session, "CREATE TABLE t (x INT); CREATE DATABASE d; CREATE TABLE d.t (x INT)")
    session.execute("USE d")
    error = failure(session, f"SELECT * FROM {name}")
    assert error.position is not None
    assert failure(session, f"DROP TABLE {name}").sqlstate in ("42K05", "42602")


def test_a_cube_is_found_by_its_full_name(session: Session) -> None:
    run(session, "CREATE DATABASE d; CREATE CUBE d.c (n BIGINT MEASURE COUNT, departed TIMESTAMP TIME)")
    run(session, "CREATE TABLE d.t (n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE FACT d.f OF CUBE d.c STORED IN (TABLE d.t PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'))"
    )
    session.execute("INSERT INTO d.t VALUES (3, '2013-01-01'), (4, '2013-01-02')")
    when = "WHERE departed >= '2013-01-01' AND departed < '2013-01-03'"
    for text in (
        f"SELECT COUNT(*) AS n FROM spark_catalog.d.c {when}",
        f"SELECT COUNT(*) AS n FROM (SELECT departed FROM spark_catalog.d.c) AS x {when}",
        f"WITH x AS (SELECT departed FROM spark_catalog.d.f) SELECT COUNT(*) AS n FROM x {when}",
        f"SELECT COUNT(*) AS n FROM d.c {when} AND spark_catalog.d.c.n > 0 AND d.c.departed < '2014-01-01'",
    ):
        assert rows(session, text) == [(7,)], text


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("SELECT x FROM t WHERE x !> 1", "SELECT x FROM d.t AS t WHERE x !> 1"),
        ("SELECT x FROM default.t WHERE x !> 1", "SELECT x FROM t AS t WHERE x !> 1"),
        ("SELECT x FROM spark_catalog . D . `T` AS a WHERE x !> 1", "SELECT x FROM d.t AS a WHERE x !> 1"),
        ("SELECT x FROM t JOIN default.t u WHERE x !> 1", "SELECT x FROM d.t AS t JOIN t u WHERE x !> 1"),
        ("SELECT x FROM `d.t` WHERE x !> 1", "SELECT x FROM `d.t` WHERE x !> 1"),
        ("SELECT x FROM a.d.t WHERE x !> 1", "SELECT x FROM a.d.t WHERE x !> 1"),
        ("SELECT x FROM only WHERE x !> 1", "SELECT x FROM only WHERE x !> 1"),
        ("SELECT current_database() FROM t WHERE x !> 1",
         "SELECT 'd' AS `current_schema()` FROM d.t AS t WHERE x !> 1"),
    ],
)  # fmt: skip
def test_what_nobody_can_read_names_tables_all_the_same(session: Session, text: str, reads: str) -> None:
    """A query that only Spark can read runs as typed, except for its tables: a name means what it means elsewhere."""
    run(
        session, "CREATE TABLE t (x INT); CREATE TABLE only (x INT); CREATE DATABASE d; CREATE TABLE d.t (x INT); USE d"
    )
    assert session.plan(text).sql == reads


def test_what_nobody_can_read_names_no_cube(session: Session) -> None:
    run(session, "CREATE DATABASE d; CREATE CUBE d.c (n BIGINT MEASURE COUNT, departed TIMESTAMP TIME)")
    for text in ("SELECT n FROM d.c WHERE n !> 1", "SELECT n FROM c WHERE n !> 1"):
        with pytest.raises(Error):
            session.plan(text)


def test_hints_name_things_as_the_session_would(session: Session) -> None:
    """``DROP FACT f first`` must not be said of another ``f`` than the one in the current database."""
    for database in ("default", "d"):
        run(session, f"CREATE DATABASE IF NOT EXISTS d; USE {database}")
        run(session, "CREATE CUBE c (n BIGINT MEASURE COUNT, departed TIMESTAMP TIME)")
        run(session, "CREATE TABLE t (n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd'))"
        )
    for text in ("DROP CUBE {}c", "DROP TABLE {}t", "ALTER TABLE {}t RENAME TO u"):
        for current, target in (("default", "d"), ("d", "default")):
            session.execute(f"USE {current}")
            assert "FACT f" in str(failure(session, text.format("")).hint)
            assert f"FACT {target}.f" in str(failure(session, text.format(f"{target}.")).hint)
    error = failure(session, "ALTER TABLE default.t DROP PARTITION (dt = 'x')")
    assert str(error.hint).startswith("SHOW PARTITIONS default.t ")
