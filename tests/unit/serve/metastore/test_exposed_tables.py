"""Managed tables for clients without lists of write ids: plain directories of the newest state, through Thrift."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from kills import died, killed_at
from postgres import seeds
from pymetastore.hive_metastore import ttypes as hive
from statements import dying_at
from unit.serve.metastore.descriptions import table as description

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import Error
from rewriter.metastore.wire.interface import structure
from rewriter.session import Session

EXPOSED = "TBLPROPERTIES ('rewriter.packed' = 'false', 'rewriter.expose' = 'true')"
CREATE = f"CREATE TABLE t (x INT, y STRING) PARTITIONED BY (p INT, q STRING) {EXPOSED}"
REFUSED = "VALID_WRITE_ID_LIST_REQUIRED"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as opened:
        opened.execute("SET rewriter.least_retention_hours = 0")
        yield opened


@pytest.fixture
def reader(session: Session, start: Callable[..., Any], tmp_path: Path, catalog_url: str | None) -> Any:
    return start(tmp_path / "warehouse", catalog_url).connect()


def places(client: Any, name: str = "t") -> list[tuple[list[str], Path]]:
    """Returns the directories that a client lists, each with the values of its partition."""
    table = client.get_table("default", name)
    assert table.tableType == "EXTERNAL_TABLE"
    assert table.parameters["EXTERNAL"] == "TRUE"
    assert "transactional" not in table.parameters
    if not table.partitionKeys:
        return [([], Path(table.sd.location.removeprefix("file:")))]
    listed = client.get_partitions("default", name, -1)
    return [(list(one.values), Path(one.sd.location.removeprefix("file:"))) for one in listed]


def rows_in(listed: Sequence[tuple[list[str], Path]]) -> Counter[tuple[str, ...]]:
    """Returns the rows of all files in directories. Each directory must exist and hold files alone."""
    rows: Counter[tuple[str, ...]] = Counter()
    for values, folder in listed:
        for file in folder.iterdir():
            for row in pq.ParquetFile(file).read().to_pylist():
                rows[(*(str(row[column]) for column in row), *values)] += 1
    return rows


def rows_of(session: Session, name: str = "t") -> Counter[tuple[str, ...]]:
    default = "__HIVE_DEFAULT_PARTITION__"
    columns = session.catalog.snapshot().table(name).columns
    found = session.execute(f"SELECT * FROM {name}").fetch()
    return Counter(
        tuple(default if value is None and i >= len(columns) else str(value) for i, value in enumerate(row))
        for row in found
    )


def is_exposed(session: Session, name: str) -> bool:
    return session.catalog.snapshot().table(name).properties.get("rewriter.expose") == "true"


def assert_right(client: Any, session: Session, *names: str) -> None:
    """Clients read what sessions do, or are refused."""
    for name in names or ("t",):
        if is_exposed(session, name):
            assert rows_in(places(client, name)) == rows_of(session, name)
        else:
            with pytest.raises(hive.MetaException, match=REFUSED):
                client.get_table("default", name)


def top(session: Session, name: str = "t") -> Path:
    return Path(session.catalog.warehouse) / "exposed" / str(session.catalog.snapshot().table(name).id)


def leaves(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_dir() and not any(child.is_dir() for child in path.iterdir())}


def statement_by(chance: random.Random, number: int) -> str:
    """Returns a statement about the tables t and u. It may fail."""

    def p() -> str:
        return chance.choice(["1", "2", "NULL"])

    def q() -> str:
        return chance.choice(["'a'", "'b/ =%'"])

    def spec() -> str:
        return f"PARTITION (p = {chance.choice('12')}, q = {q()})"

    def values() -> str:
        return ", ".join(f"({number}, 'y{i}', {p()}, {q()})" for i in range(chance.randint(1, 3)))

    t, u = chance.sample(["t", "u"], 2)
    return chance.choice(
        [
            f"INSERT INTO {t} VALUES {values()}",
            f"INSERT INTO {t} VALUES {values()}",
            f"INSERT OVERWRITE {t} VALUES {values()}",
            f"INSERT OVERWRITE {t} {spec()} SELECT {number}, 'o'",
            f"INSERT INTO {t} {spec()} SELECT {number}, 'i'",
            f"INSERT OVERWRITE {t} {spec()} SELECT {number}, 'n' WHERE false",
            f"INSERT OVERWRITE {t} PARTITION (p = 1, q) SELECT {number}, 'd', {q()}",
            f"ALTER TABLE {t} DROP IF EXISTS {spec()}",
            f"ALTER TABLE {t} ADD IF NOT EXISTS {spec()}",
            f"TRUNCATE TABLE {t}",
            f"TRUNCATE TABLE {t} {spec()}",
            f"ALTER TABLE {t} {spec()} RENAME TO {spec()}",
            f"ALTER TABLE {t} EXCHANGE {spec()} WITH TABLE {u}",
            f"ALTER TABLE {t} COMPACT",
            "VACUUM RETAIN 0 HOURS",
            f"ALTER TABLE {t} SET TBLPROPERTIES ('rewriter.expose' = '{chance.choice(['true', 'true', 'false'])}')",
            f"ALTER TABLE {t} UNSET TBLPROPERTIES ('rewriter.expose')",
            f"ANALYZE TABLE {t} COMPUTE STATISTICS",
        ]
    )


@pytest.mark.parametrize(("catalog_url", "seed"), seeds(4), indirect=["catalog_url"])
def test_clients_read_what_sessions_do(session: Session, reader: Any, seed: int) -> None:
    chance = random.Random(seed)
    session.execute(CREATE)
    session.execute(CREATE.replace("TABLE t", "TABLE u"))
    succeeded = 0
    for number in range(40):
        statements = [statement_by(chance, number)]
        if chance.random() < 0.2:
            statements = ["START TRANSACTION", *(statement_by(chance, number) for _ in range(3)), "COMMIT"]
        for statement in statements:
            with contextlib.suppress(Error):
                session.execute(statement)
                succeeded += 1
        if session.in_transaction:
            session.execute("ROLLBACK")
        assert_right(reader, session, "t", "u")
    assert succeeded > 20
    session.execute("VACUUM RETAIN 0 HOURS")
    listed = [folder for name in ("t", "u") if is_exposed(session, name) for _, folder in places(reader, name)]
    assert {*listed} == leaves(top(session).parent) - {top(session), top(session, "u")}
    assert list(findings(session.catalog.database)) == []


def test_an_unpartitioned_table(session: Session, reader: Any) -> None:
    session.execute("CREATE TABLE t (x INT, y STRING) TBLPROPERTIES ('rewriter.expose' = 'true')")
    for statement in (
        "INSERT INTO t VALUES (1, 'a')",
        "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
        "ALTER TABLE t COMPACT",
        "INSERT OVERWRITE t VALUES (3, 'b')",
        "VACUUM RETAIN 0 HOURS",
        "TRUNCATE TABLE t",
        "VACUUM RETAIN 0 HOURS",
    ):
        assert_right(reader, session)
        session.execute(statement)
    assert_right(reader, session)


def test_a_table_that_has_rows(session: Session, reader: Any) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
    session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
    assert_right(reader, session)
    with pytest.raises(Error, match="several of its partitions are in one file") as refused:
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.expose' = 'true')")
    assert refused.value.condition == "NOT_EXPOSABLE"
    assert not top(session).exists()
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.packed' = 'false')")
    session.execute("ALTER TABLE t COMPACT")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('Rewriter.Expose' = ' TRUE ', 'rewriter.packed' = 'true')")
    assert is_exposed(session, "t")
    session.execute("INSERT INTO t VALUES (3, 2), (4, 3)")
    assert len(places(reader)) == 3
    assert_right(reader, session)
    parts = reader.get_partitions_by_names("default", "t", ["p=2"])
    assert rows_in([(["2"], Path(parts[0].sd.location.removeprefix("file:")))]) == Counter([("2", "2"), ("3", "2")])
    assert not [key for key in parts[0].parameters if key.startswith("rewriter.")]


def test_a_transaction_makes_directories_when_it_commits(session: Session, reader: Any) -> None:
    session.execute(CREATE)
    session.execute("EXPLAIN ALTER TABLE t ADD PARTITION (p = 1, q = 'a')")
    for end in ("ROLLBACK", "COMMIT"):
        session.execute("START TRANSACTION")
        for number in range(3):
            session.execute(f"INSERT INTO t VALUES ({number}, 'x', 1, 'a')")
        session.execute("ALTER TABLE t PARTITION (p = 1, q = 'a') RENAME TO PARTITION (p = 2, q = 'b')")
        assert leaves(top(session)) == set()
        session.execute(end)
    assert leaves(top(session)) == {folder for _, folder in places(reader)}
    assert rows_in(places(reader)).total() == 3
    assert_right(reader, session)


def test_a_table_made_by_a_query(session: Session, reader: Any) -> None:
    session.execute(f"CREATE TABLE t PARTITIONED BY (p) {EXPOSED} AS SELECT 1 AS x, 2 AS p")
    assert rows_in(places(reader)) == Counter([("1", "2")])


def test_two_sessions_insert_into_one_partition(
    session: Session, reader: Any, tmp_path: Path, catalog_url: str | None
) -> None:
    session.execute(CREATE)
    failures: list[BaseException] = []

    def insert(name: str) -> None:
        try:
            with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as own:
                for number in range(5):
                    own.execute(f"INSERT INTO t PARTITION (p = 1, q = 'a') SELECT {number}, '{name}'")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=insert, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert rows_in(places(reader)).total() == 10
    assert_right(reader, session)


def test_a_writer_that_began_before_the_table_was_exposed(
    session: Session, reader: Any, tmp_path: Path, catalog_url: str | None
) -> None:
    session.execute("CREATE TABLE t (x INT, y STRING)")
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as other:
        other.execute("START TRANSACTION")
        other.execute("INSERT INTO t VALUES (1, 'a')")
        session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.expose' = 'true')")
        other.execute("COMMIT")
    assert rows_in(places(reader)) == Counter([("1", "a")])


def test_a_reader_keeps_the_directories_that_it_has_listed(session: Session, reader: Any) -> None:
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a'), (2, 'b', 2, 'b')")
    listed = places(reader)
    before = rows_in(listed)
    session.execute("INSERT OVERWRITE t PARTITION (p = 1, q = 'a') SELECT 3, 'c'")
    session.execute("ALTER TABLE t DROP PARTITION (p = 2)")
    session.execute("VACUUM")
    assert rows_in(listed) == before
    removed = session.execute("VACUUM RETAIN 0 HOURS").fetch()
    assert [row[:3] for row in removed if row[1] == "exposed"] == [("t", "exposed", 2)]
    assert not [folder for _, folder in listed if folder.exists()]
    assert {folder for _, folder in places(reader)} == leaves(top(session))
    assert_right(reader, session)


def test_tables_that_are_not_exposed_any_more(session: Session, reader: Any) -> None:
    for name in ("t", "u"):
        session.execute(CREATE.replace("TABLE t", f"TABLE {name}"))
        session.execute(f"INSERT INTO {name} VALUES (1, 'a', 1, 'a')")
    of_t, of_u, listed = top(session), top(session, "u"), [*places(reader), *places(reader, "u")]
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.expose' = 'false')")
    session.execute("DROP TABLE u")
    assert_right(reader, session)
    session.execute("VACUUM")
    assert all(folder.exists() for _, folder in listed)
    session.execute("VACUUM TABLE t RETAIN 0 HOURS")
    assert (leaves(of_t), len(leaves(of_u))) == (set(), 1)
    session.execute("VACUUM RETAIN 0 HOURS")
    assert not of_u.exists()
    session.execute("INSERT INTO t VALUES (2, 'b', 1, 'a')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.expose' = 'true')")
    assert rows_in(places(reader)).total() == 2
    assert_right(reader, session)


def test_vacuum_follows_no_links_and_removes_its_own_directories(session: Session, reader: Any, tmp_path: Path) -> None:
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a')")
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "1" / "below").mkdir(parents=True)
    (elsewhere / "1" / "below" / "kept").touch()
    (top(session) / "1-0123abcd").symlink_to(elsewhere)
    (top(session).parent / "999").symlink_to(elsewhere)
    of_a_user = top(session) / "more" / "files"
    of_a_user.mkdir(parents=True)
    of_another_catalog = top(session).parent / "77" / "1-0123abcd"
    of_another_catalog.mkdir(parents=True)
    session.execute("VACUUM RETAIN 0 HOURS")
    assert (elsewhere / "1" / "below" / "kept").exists()
    assert of_a_user.exists()
    assert of_another_catalog.exists()
    assert_right(reader, session)


INSERT_TWO = "INSERT INTO t VALUES (3, 'c', 1, 'a'), (4, 'd', 2, 'b')"


def with_a_row(warehouse: Path) -> Path:
    with Session(warehouse, "duckdb") as session:
        session.execute(CREATE)
        session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a')")
    return warehouse


def assert_recovers(client: Any, warehouse: Path) -> None:
    """The state is that before or after the writer, and VACUUM removes what is of neither."""
    with Session(warehouse, "duckdb") as session:
        assert_right(client, session)
        assert rows_in(places(client)).total() in (1, 3)
        session.execute("SET rewriter.least_retention_hours = 0")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert {folder for _, folder in places(client)} == leaves(top(session))
        session.execute(INSERT_TWO)
        assert_right(client, session)


@pytest.mark.parametrize("moments", [range(2, 60, 9), pytest.param(range(1, 200), marks=pytest.mark.long)])
def test_a_killed_writer(tmp_path: Path, start: Callable[..., Any], moments: Sequence[int]) -> None:
    # The processes are forked before any server starts.
    warehouses = [with_a_row(tmp_path / f"w{moment}") for moment in moments]
    killed = [w for w, moment in zip(warehouses, moments, strict=True) if killed_at(w, INSERT_TWO, moment)]
    assert killed
    for warehouse in killed:
        assert_recovers(start(warehouse).connect(), warehouse)


def test_a_writer_killed_after_its_links(tmp_path: Path, start: Callable[..., Any]) -> None:
    warehouse = with_a_row(tmp_path / "warehouse")

    def run() -> None:
        link, count = os.link, dying_at(3)

        def linked(source: str, target: str) -> None:
            link(source, target)
            count()

        with Session(warehouse, "duckdb") as session:
            os.link = linked  # type: ignore[assignment]
            session.execute(INSERT_TWO)

    assert died(run)
    client = start(warehouse).connect()
    assert rows_in(places(client)).total() == 1
    with Session(warehouse, "duckdb") as session:
        assert len(leaves(top(session))) == 3
        assert session.execute("VACUUM DRY RUN").fetch()[0][:3] == ("t", "exposed", 2)
    assert_recovers(client, warehouse)


def test_a_link_that_fails(session: Session, reader: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a')")
    before, links = leaves(top(session)), 0
    link = os.link

    def failing(source: str, target: str) -> None:
        nonlocal links
        links += 1
        if links == 2:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), source)
        link(source, target)

    monkeypatch.setattr(os, "link", failing)
    with pytest.raises(Error, match="hard links") as refused:
        session.execute("INSERT INTO t VALUES (3, 'c', 1, 'a'), (4, 'd', 2, 'b')")
    monkeypatch.undo()
    assert (links, refused.value.condition) == (2, "NOT_EXPOSABLE")
    assert leaves(top(session)) == before
    assert rows_of(session).total() == 1
    assert_right(reader, session)


@pytest.mark.parametrize(
    ("create", "value", "condition"),
    [
        ("CREATE TABLE t (x INT)", "yes", "INVALID_FILE_PROPERTY"),
        ("CREATE TEMPORARY TABLE t (x INT)", "true", "NOT_EXPOSABLE"),
        ("CREATE EXTERNAL TABLE t (x INT) STORED AS PARQUET LOCATION '{}'", "true", "NOT_EXPOSABLE"),
    ],
)
@pytest.mark.parametrize("catalog_url", ["sqlite"], indirect=True)
def test_tables_that_cannot_be_exposed(
    session: Session, tmp_path: Path, create: str, value: str, condition: str
) -> None:
    session.execute(create.format(tmp_path / "external"))
    with pytest.raises(Error) as refused:
        session.execute(f"ALTER TABLE t SET TBLPROPERTIES ('rewriter.expose' = '{value}')")
    assert refused.value.condition == condition


@pytest.mark.parametrize("catalog_url", ["sqlite"], indirect=True)
def test_no_table_lies_among_the_directories(session: Session) -> None:
    location = Path(session.catalog.warehouse) / "exposed" / "1"
    with pytest.raises(Error) as refused:
        session.execute(f"CREATE EXTERNAL TABLE t (x INT) STORED AS PARQUET LOCATION '{location}'")
    assert refused.value.condition == "UNSAFE_LOCATION"


@pytest.mark.parametrize("catalog_url", ["sqlite"], indirect=True)
def test_clients_write_no_exposed_table(session: Session, reader: Any) -> None:
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a')")
    table, (part,) = reader.get_table("default", "t"), reader.get_partitions("default", "t", -1)
    of_client = description("c", parameters={"rewriter.expose": "true"})
    for write in (
        lambda: reader.create_table(of_client),
        lambda: reader.drop_table("default", "t", True),
        lambda: reader.alter_table("default", "t", table),
        lambda: reader.add_partition(part),
        lambda: reader.alter_partition("default", "t", part),
        lambda: reader.drop_partition("default", "t", ["1", "a"], True),
        lambda: reader.drop_database("default", True, True),
    ):
        with pytest.raises((hive.MetaException, hive.InvalidOperationException)):
            write()
    assert rows_of(session).total() == 1
    assert_right(reader, session)


@pytest.mark.parametrize("catalog_url", ["sqlite"], indirect=True)
def test_clients_with_a_list_see_a_managed_table(
    session: Session, start: Callable[..., Any], send: Callable[..., Any], tmp_path: Path
) -> None:
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'a')")
    metastore = start(tmp_path / "warehouse")
    listed = {"validWriteIdList": str(metastore.service.listed.valid_write_id_list("t"))}
    client, stored = metastore.connect(), session.catalog.snapshot().table("t")
    table = send(client, "get_table", dbname="default", tbl_name="t", **listed)
    assert (table.tableType, table.sd.location) == ("MANAGED_TABLE", f"file:{stored.location}")
    (part,) = send(client, "get_partitions", db_name="default", tbl_name="t", max_parts=-1, **listed)
    assert part.sd.location == f"file:{stored.location}/p=1/q=a"
    assert "rewriter.exposed" not in part.parameters
    assert client.get_tables_by_type("default", "*", "EXTERNAL_TABLE") == ["t"]
    assert [one.tableType for one in client.get_table_objects_by_name("default", ["t"])] == ["EXTERNAL_TABLE"]


def test_clients_see_the_names_that_files_have(
    session: Session, start: Callable[..., Any], send: Callable[..., Any], tmp_path: Path, catalog_url: str | None
) -> None:
    metastore = start(tmp_path / "warehouse", catalog_url)
    reader = metastore.connect()
    session.execute(CREATE)
    session.execute("INSERT INTO t VALUES (1, 'a', 1, 'q')")
    session.execute("ALTER TABLE t RENAME COLUMN x TO z")
    session.execute("ALTER TABLE t DROP COLUMN y")
    session.execute("ALTER TABLE t ADD COLUMNS (y STRING)")
    session.execute("INSERT INTO t VALUES (2, 'b', 2, 'q')")
    shown = reader.get_table("default", "t")
    assert [field.name for field in shown.sd.cols] == ["x", "y_2"]
    stored = {
        tuple(row.get(field.name) for field in shown.sd.cols)
        for _, folder in places(reader)
        for file in folder.iterdir()
        for row in pq.ParquetFile(file).read().to_pylist()
    }
    assert stored == {(1, None), (2, "b")} == set(session.execute("SELECT z, y FROM t").fetch())

    def add(name: str) -> None:
        listed = str(metastore.service.listed.valid_write_id_list("t"))
        wanted = send(reader, "get_table", dbname="default", tbl_name="t", validWriteIdList=listed)
        wanted.sd.cols.append(structure("FieldSchema")(name=name, type="int"))
        send(reader, "alter_table", dbname="default", tbl_name="t", new_tbl=wanted, validWriteIdList=listed)

    for name in ("y", "z"):
        with pytest.raises(structure("InvalidOperationException"), match="has, or had, the name"):
            add(name)
    add("w")
    columns = session.catalog.snapshot().table("t").columns
    assert [(column.name, column.stored_name) for column in columns] == [("z", "x"), ("y", "y_2"), ("w", "w")]
