"""The allowed locations of external tables, the files that INSERT OVERWRITE removes, and the output of EXPLAIN."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.errors import Error
from rewriter.session import Session

SHARED = "TBLPROPERTIES ('rewriter.shared_location' = 'true')"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "to-e").symlink_to(tmp_path / "e" / "deep")
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as opened:
        opened.execute("CREATE TABLE m (x INT)")
        opened.execute("INSERT INTO m VALUES (1)")
        opened.execute("CREATE DATABASE sales")
        opened.execute(f"CREATE DATABASE far LOCATION '{tmp_path}/far'")
        opened.execute("CREATE TABLE far.m (x INT)")
        opened.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/e'")
        opened.execute(f"ALTER TABLE e ADD PARTITION (p='own') LOCATION '{tmp_path}/own/p'")
        opened.execute("ALTER TABLE e ADD PARTITION (p='here')")
        yield opened


def failure(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as raised:
        session.execute(sql).fetch()
    return raised.value


def lines(session: Session, sql: str) -> list[str]:
    """Returns the lines of EXPLAIN without those of sinks."""
    return [text for (text,) in session.execute(f"EXPLAIN {sql}").fetch() if " sink, " not in str(text)]


UNSAFE = [
    "/", "//", "/tmp/..", "file:///", "{w}", "{w}/", "{w}/../warehouse", "{t}", "{t}/link/warehouse", "{t}/warehouse/.",
    "{w}/{m}", "{w}/{m}/x/y", "{w}/sales.db", "{w}/SALES.db/t", "{w}/sales.db/x/y", "{w}/later.db/t", "{w}/u-17",
    "u-17",
    "{w}/catalog.db", "{w}/temporary-00000000000000000000000000000000/t", "{t}/far", "{t}/far/u-5", "{t}/far/{fm}/deep",
    "file:{w}/{m}", "file:///{w}/{m}", "{t}/link/warehouse/{m}/x",
]  # fmt: skip
SHARING = [
    "{t}/e", "{t}/e/", "file:{t}/e", "{t}/x/../e", "{t}/link/e", "{t}/e/p=here", "{t}/e/new", "{t}/to-e", "{t}/to-e/x",
    "{t}/own", "{t}/own/p", "{t}/own/p/q", "{t}/link/own/p/q",
]  # fmt: skip
FREE = ["{w}/mine", "mine/below", "{t}/e2", "{t}/ee", "{t}/own/p2", "{t}/far/mine", "{t}/e.bak", "{t}/new/below"]


def places(session: Session, tmp_path: Path, patterns: list[str]) -> list[str]:
    tables = {name: Path(session.catalog.snapshot().table(name).location).name for name in ("m", "far.m")}
    return [
        pattern.format(t=tmp_path, w=session.catalog.warehouse, m=tables["m"], fm=tables["far.m"])
        for pattern in patterns
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE n (x INT) LOCATION '{}'",
        "CREATE EXTERNAL TABLE n LOCATION '{}' AS SELECT 1 AS x",
        "CREATE TABLE n LIKE m LOCATION '{}'",
        "ALTER TABLE other SET LOCATION '{}'",
        "ALTER TABLE other PARTITION (p='a') SET LOCATION '{}'",
        "ALTER TABLE other ADD PARTITION (p='b') LOCATION '{}'",
    ],
)
def test_where_a_table_or_partition_may_lie(session: Session, tmp_path: Path, statement: str) -> None:
    session.execute(f"CREATE EXTERNAL TABLE other (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/other'")
    session.execute("ALTER TABLE other ADD PARTITION (p='a')")
    before = session.catalog.snapshot().sequence
    for condition, patterns in (("UNSAFE_LOCATION", UNSAFE), ("SHARED_LOCATION", SHARING)):
        for location in places(session, tmp_path, patterns):
            # The locations of partitions start at their table's directory.
            if location[0] != "/" and not location.startswith("file:") and "PARTITION" in statement:
                continue
            error = failure(session, statement.format(location))
            assert error.condition == condition, location
            assert error.position is not None
            assert error.hint
    assert session.catalog.snapshot().sequence == before
    for location in places(session, tmp_path, FREE):
        session.execute(statement.format(location))
        session.execute("DROP TABLE IF EXISTS n")
        session.execute("ALTER TABLE other DROP IF EXISTS PARTITION (p='b')")


def test_what_shares_files_says_so(session: Session, tmp_path: Path) -> None:
    for number, location in enumerate(places(session, tmp_path, SHARING)):
        session.execute(f"CREATE TABLE n{number} (x INT) LOCATION '{location}' {SHARED}")
        session.execute(f"DROP TABLE n{number}")
    # One of both is enough, and it may say so later.
    session.execute(f"ALTER TABLE e SET {SHARED.replace('rewriter', 'Rewriter').replace('true', ' TRUE ')}")
    session.execute(f"CREATE TABLE n (x INT) LOCATION '{tmp_path}/e'")
    assert "'rewriter.shared_location' = 'true'" in str(session.execute("SHOW CREATE TABLE e").fetch()[0][0])
    for location in places(session, tmp_path, UNSAFE):
        assert failure(session, f"CREATE TABLE o (x INT) LOCATION '{location}' {SHARED}").condition == "UNSAFE_LOCATION"
    for sql in (
        "ALTER TABLE m SET TBLPROPERTIES ('rewriter.shared_location' = 'true')",
        "ALTER TABLE e SET TBLPROPERTIES ('rewriter.shared_location' = 'perhaps')",
        "CREATE TABLE o (x INT) TBLPROPERTIES ('rewriter.shared_location' = 'true')",
    ):
        assert failure(session, sql).condition == "INVALID_DIRECTORY_PROPERTY"


def test_a_table_that_is_replaced_or_gone_shares_nothing(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE OR REPLACE TABLE e (y INT) LOCATION '{tmp_path}/e'")
    session.execute("DROP TABLE e")
    session.execute(f"CREATE TABLE f (y INT) LOCATION '{tmp_path}/e'")
    session.execute(f"ALTER TABLE f SET LOCATION '{tmp_path}/e/below'")


def test_partitions_of_one_table_share_no_files(session: Session, tmp_path: Path) -> None:
    session.execute("INSERT INTO e VALUES (1, 'here')")
    for location in ("e", "", "own/p", "own/p/x", "own", "e/p=here", "e/p=here/x"):
        error = failure(session, f"ALTER TABLE e ADD PARTITION (p='q') LOCATION '{tmp_path}/{location}'")
        assert error.condition in ("SHARED_LOCATION", "UNSAFE_LOCATION"), location
    two = f"PARTITION (p='q') LOCATION '{tmp_path}/two' PARTITION (p='r') LOCATION '{tmp_path}/two'"
    assert failure(session, f"ALTER TABLE e ADD {two}").condition == "SHARED_LOCATION"
    # What would be the directory of a partition that is yet to come.
    session.execute(f"ALTER TABLE e ADD PARTITION (p='q') LOCATION '{tmp_path}/e/p=new'")
    for verb in ("INTO", "OVERWRITE"):
        assert failure(session, f"INSERT {verb} e VALUES (1, 'new')").condition == "SHARED_LOCATION"
    assert not os.path.exists(tmp_path / "e" / "p=new")
    assert failure(session, f"ALTER TABLE e SET LOCATION '{tmp_path}/own/p/x'").condition == "SHARED_LOCATION"
    assert failure(session, f"ALTER TABLE e SET LOCATION '{tmp_path}/e/p=here'").condition == "SHARED_LOCATION"
    session.execute(f"ALTER TABLE e SET {SHARED}")
    session.execute("ALTER TABLE e DROP PARTITION (p='q')")
    session.execute(f"ALTER TABLE e ADD {two}")


def test_exchange_takes_no_location_out_of_its_table(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE f (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/f'")
    session.execute(f"ALTER TABLE e ADD PARTITION (p='in') LOCATION '{tmp_path}/e/inside'")
    error = failure(session, "ALTER TABLE f EXCHANGE PARTITION (p='in') WITH TABLE e")
    assert error.condition == "SHARED_LOCATION"
    session.execute("ALTER TABLE f EXCHANGE PARTITION (p='own') WITH TABLE e")
    assert failure(session, f"CREATE TABLE n (x INT) LOCATION '{tmp_path}/own/p/q'").condition == "SHARED_LOCATION"


def test_a_database_lies_in_no_external_table(session: Session, tmp_path: Path) -> None:
    for location in ("e", "e/x", "link/e/x", "own/p/x", "warehouse/sales.db/x", "far/m-7"):
        assert failure(session, f"CREATE DATABASE d LOCATION '{tmp_path}/{location}'").condition == "UNSAFE_LOCATION", (
            location
        )
    assert failure(session, "CREATE DATABASE d LOCATION '/'").condition == "UNSAFE_LOCATION"
    session.execute(f"CREATE DATABASE d LOCATION '{tmp_path}/apart'")


def test_an_older_catalog_keeps_its_tables_and_loses_no_file(session: Session, tmp_path: Path) -> None:
    """Tables from before these rules are read and added to; OVERWRITE is refused."""
    managed = session.catalog.snapshot().table("m").location
    session.execute(f"CREATE TABLE a (x INT) LOCATION '{tmp_path}/a'")
    session.execute(f"CREATE TABLE b (x INT) LOCATION '{tmp_path}/b'")
    row = schema.objects.c
    for name, location in (("a", f"{tmp_path}/e"), ("b", managed)):
        with session.catalog.database.write() as connection:
            (text,) = connection.execute(sa.select(row.definition).where(row.name == name)).scalars()
            changed = text.replace(f"{tmp_path}/{name}", location)
            connection.execute(sa.update(schema.objects).where(row.name == name).values(definition=changed))
    session.execute("INSERT INTO e VALUES (5, 'here')")
    assert session.execute("SELECT x FROM a").fetch() == [(5,)]
    session.execute("INSERT INTO a VALUES (6)")
    for sql in ("INSERT OVERWRITE {} VALUES (1)", "EXPLAIN INSERT OVERWRITE {} VALUES (1)"):
        assert failure(session, sql.format("a")).condition == "SHARED_LOCATION"
        assert failure(session, sql.format("b")).condition == "UNSAFE_LOCATION"
    assert session.execute("SELECT x FROM m").fetch() == [(1,)]
    session.execute(f"ALTER TABLE a SET {SHARED}")
    session.execute("INSERT OVERWRITE a VALUES (1)")


def test_overwrite_removes_data_files_alone(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE u (x INT) LOCATION '{tmp_path}/u'")
    session.execute("INSERT INTO u VALUES (1)")
    (part,) = (tmp_path / "u").iterdir()
    for path in ("below/part", "_hidden", ".hidden", "_dir/part", "below/_SUCCESS", "empty"):
        (tmp_path / "u" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "u" / path).write_bytes(b"" if path == "empty" else part.read_bytes())
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "data").write_bytes(part.read_bytes())
    (tmp_path / "u" / "dir").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "u" / "file").symlink_to(tmp_path / "elsewhere" / "data")
    (tmp_path / "u" / "foreign.txt").write_text("a letter")
    before = set((tmp_path / "u").rglob("*"))
    assert failure(session, "INSERT OVERWRITE u VALUES (7)").condition == "FOREIGN_FILE"
    told = lines(session, "INSERT OVERWRITE u VALUES (7)")
    assert set((tmp_path / "u").rglob("*")) == before
    (tmp_path / "u" / "foreign.txt").unlink()
    session.execute("INSERT OVERWRITE u VALUES (7)")
    after = set((tmp_path / "u").rglob("*"))
    gone = {str(path.relative_to(tmp_path / "u")) for path in before - after}
    assert gone == {part.name, "below/part", "empty", "file", "foreign.txt"}
    assert (tmp_path / "elsewhere" / "data").exists()
    listed = {line.split(" (")[0].strip() for line in told[2:]}
    assert listed == {str(tmp_path / "u" / name) for name in gone}
    assert sum("not a parquet file" in line for line in told) == 1
    assert session.execute("SELECT x FROM u").fetch() == [(7,)]


def test_explain_says_what_would_be_replaced(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING, q INT)")
    session.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)")
    session.execute("INSERT INTO e VALUES (1, 'here'), (2, 'own')")
    (tmp_path / "e" / "p=unregistered").mkdir()
    before = session.catalog.snapshot().sequence, {str(path) for path in tmp_path.rglob("*")}

    def heads(sql: str) -> list[str]:
        return [line.split(": ")[0] for line in lines(session, sql) if not line.startswith("    ")]

    assert heads("INSERT OVERWRITE t VALUES (1, 'a', 1)") == ["t", "  p=a/q=1", "  p=a/q=2", "  p=b/q=1"]
    assert heads("INSERT OVERWRITE t PARTITION (p='a') SELECT 1, 1") == ["t", "  p=a/q=1", "  p=a/q=2"]
    assert heads("INSERT OVERWRITE t PARTITION (p, q=1) SELECT 1, 'a'") == ["t", "  p=a/q=1", "  p=b/q=1"]
    told = lines(session, "INSERT OVERWRITE t PARTITION (p='a', q=2) SELECT 1")
    assert told[0].startswith("t: content that is replaced: 1 file (")
    assert told[0].endswith("kept on disk until VACUUM")
    assert len(told) == 3
    assert "the query has rows of it" in lines(session, "INSERT OVERWRITE t VALUES (1, 'a', 1)")[0]
    assert heads("INSERT OVERWRITE e SELECT 1, 'x'") == ["e", "  p=here", "  p=own", "  p=unregistered"]
    assert heads("INSERT OVERWRITE e PARTITION (p='own') SELECT 1") == ["e", "  p=own"]
    assert lines(session, "INSERT OVERWRITE e PARTITION (p='own') SELECT 1")[0].endswith("removed immediately")
    assert lines(session, "INSERT INTO e VALUES (1, 'x')") == ["e: rows are added; nothing is replaced or removed"]
    assert heads("WITH w AS (SELECT 1, 'x') INSERT OVERWRITE e SELECT * FROM w")[0] == "e"
    inserts = "FROM m INSERT OVERWRITE m SELECT x INSERT INTO e SELECT x, 'p'"
    assert heads(inserts) == ["m", "  (the whole table)", "e"]
    assert heads(f"LOAD DATA INPATH '{tmp_path}/nowhere' OVERWRITE INTO TABLE m") == ["m", "  (the whole table)"]
    assert failure(session, "EXPLAIN INSERT OVERWRITE nosuch VALUES (1)").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert failure(session, "EXPLAIN INSERT OVERWRITE m SELECT * FROM nosuch").condition == "TABLE_OR_VIEW_NOT_FOUND"
    session.execute("SET rewriter.partition_overwrite_mode = static")
    assert lines(session, "INSERT OVERWRITE t PARTITION (p='a') SELECT 1, 1")[0].startswith(
        "t: content that is replace"
    )
    assert (session.catalog.snapshot().sequence, {str(path) for path in tmp_path.rglob("*")}) == before


def test_explain_is_bounded(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE u (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/u'")
    numbers = ", ".join(f"({number})" for number in range(70))
    session.execute(f"INSERT INTO u SELECT 1, x FROM (VALUES {numbers}) AS n(x)")
    for number in range(300):
        (tmp_path / "u" / "p=3" / f"part-{number}").write_bytes(b"PAR1")
    told = lines(session, "INSERT OVERWRITE u SELECT 1, 1")
    assert "370 files" in told[0]
    assert told[-1] == "  and 20 more partitions"
    assert len(told) < 310
    assert any("more" in line for line in told[:-1])


@pytest.fixture(params=["sqlite", "postgresql"])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Session, Session]]:
    """Opens two sessions of one warehouse, for a catalog on each database."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    (tmp_path / "link").symlink_to(tmp_path)
    warehouse = tmp_path / "warehouse"
    with Session(warehouse, "duckdb", catalog=url) as first, Session(warehouse, "duckdb", catalog=url) as second:
        first.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/e'")
        first.execute(f"CREATE EXTERNAL TABLE g (x INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/g'")
        first.execute(f"CREATE TABLE h (x INT) LOCATION '{tmp_path}/h'")
        yield first, second


TABLE = "CREATE TABLE {name} (x INT) LOCATION '{place}'"
DATABASE = "CREATE DATABASE {name} LOCATION '{place}'"
PARTITION = "ALTER TABLE e ADD PARTITION (p='{name}') LOCATION '{place}'"
DEFAULT = "ALTER TABLE e ADD PARTITION (p='{name}')"
FOREIGN = "ALTER TABLE g ADD PARTITION (p='{name}') LOCATION '{place}'"
MOVED = "ALTER TABLE h SET LOCATION '{place}'"
#: The statements and locations of the first and the second transaction, and the second one's error when it is retried.
CLASHES = [
    (TABLE, "new", TABLE, "new", "SHARED_LOCATION"),
    (TABLE, "new", TABLE, "link/new/below", "SHARED_LOCATION"),
    (TABLE, "new/below", TABLE, "new", "SHARED_LOCATION"),
    (MOVED, "new", TABLE, "new", "SHARED_LOCATION"),
    (TABLE, "new", PARTITION, "new/p", "SHARED_LOCATION"),
    (PARTITION, "new/p", TABLE, "link/new", "SHARED_LOCATION"),
    (PARTITION, "new", FOREIGN, "link/new", "SHARED_LOCATION"),
    (PARTITION, "new", PARTITION, "new", "SHARED_LOCATION"),
    (PARTITION, "e/p=two", DEFAULT, "", "SHARED_LOCATION"),
    (DEFAULT, "", PARTITION, "e/p=one", "SHARED_LOCATION"),
    (DATABASE, "new", TABLE, "new", "UNSAFE_LOCATION"),
]
APART = [
    (TABLE, "new", TABLE, "newer"),
    (PARTITION, "new/p", PARTITION, "new/q"),
    (PARTITION, "e/x", DEFAULT, ""),
    (DEFAULT, "", DEFAULT, ""),
    (TABLE + f" {SHARED}", "new", TABLE + f" {SHARED}", "new"),
]


@pytest.mark.parametrize(("first", "there", "second", "here", "told"), CLASHES)
def test_two_transactions_do_not_give_one_location(
    pair: tuple[Session, Session], tmp_path: Path, first: str, there: str, second: str, here: str, told: str
) -> None:
    first_session, second_session = pair
    second_session.execute("START TRANSACTION")
    again = second.format(name="two", place=tmp_path / here)
    second_session.execute(again).fetch()
    first_session.execute(first.format(name="one", place=tmp_path / there)).fetch()
    error = failure(second_session, "COMMIT")
    assert (error.sqlstate, error.retryable) == ("40001", True)
    assert "after this one began" in str(error)
    assert failure(second_session, again).condition == told


@pytest.mark.parametrize(("first", "there", "second", "here"), APART)
def test_two_transactions_give_locations_that_are_apart(
    pair: tuple[Session, Session], tmp_path: Path, first: str, there: str, second: str, here: str
) -> None:
    first_session, second_session = pair
    for session in pair:
        session.execute("START TRANSACTION")
    first_session.execute(first.format(name="one", place=tmp_path / there)).fetch()
    second_session.execute(second.format(name="two", place=tmp_path / here)).fetch()
    first_session.execute("COMMIT")
    second_session.execute("COMMIT")


def test_one_transaction_gives_a_location_once(session: Session, tmp_path: Path) -> None:
    session.execute("START TRANSACTION")
    session.execute(TABLE.format(name="one", place=tmp_path / "new"))
    assert failure(session, TABLE.format(name="two", place=tmp_path / "link" / "new")).condition == "SHARED_LOCATION"
    session.execute("ROLLBACK")


@pytest.mark.parametrize("spelling", ["{t}/own/p/", "{t}/own/x/../p", "/{t}/own/p", "{t}//own/./p", "{t}/link/own/p"])
def test_locations_of_partitions_are_compared_without_their_spelling(
    session: Session, tmp_path: Path, spelling: str
) -> None:
    location = spelling.format(t=tmp_path)
    for name, given in (("e", location), ("e", f"{location}/below"), ("f", location)):
        session.execute(f"CREATE TABLE IF NOT EXISTS f (x INT, p STRING) PARTITIONED BY (p) LOCATION '{tmp_path}/f'")
        error = failure(session, f"ALTER TABLE {name} ADD PARTITION (p='q') LOCATION '{given}'")
        assert error.condition == "SHARED_LOCATION"
    # The other way round: what is there was given in another spelling.
    session.execute("ALTER TABLE e DROP PARTITION (p='own')")
    session.execute(f"ALTER TABLE e ADD PARTITION (p='own') LOCATION '{location}'")
    for name in ("e", "f"):
        error = failure(session, f"ALTER TABLE {name} ADD PARTITION (p='q') LOCATION '{tmp_path}/own/p'")
        assert error.condition == "SHARED_LOCATION"
    assert failure(session, TABLE.format(name="g", place=tmp_path / "own")).condition == "SHARED_LOCATION"


def test_a_partition_in_the_warehouse_shares_no_files(session: Session, tmp_path: Path) -> None:
    location = tmp_path / "warehouse" / "mine" / "p"
    session.execute(f"ALTER TABLE e ADD PARTITION (p='w') LOCATION '{location}'")
    assert failure(session, f"ALTER TABLE e ADD PARTITION (p='v') LOCATION '{location}'").condition == "SHARED_LOCATION"
    assert failure(session, TABLE.format(name="g", place=location)).condition == "SHARED_LOCATION"


def test_a_link_to_the_directory_of_a_partition_is_that_directory(session: Session, tmp_path: Path) -> None:
    session.execute("INSERT INTO e VALUES (1, 'here')")
    error = failure(session, f"ALTER TABLE e ADD PARTITION (p='q') LOCATION '{tmp_path}/link/e/p=here'")
    assert error.condition == "SHARED_LOCATION"
