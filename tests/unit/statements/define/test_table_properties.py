"""Properties that mean something to their table: its comment, what Spark reserves, Hive's ``immutable``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, Error
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def comment(session: Session, name: str = "t") -> object:
    rows = {row[0]: row[1] for row in session.execute(f"DESCRIBE EXTENDED {name}").fetch()}
    return rows.get("Comment")


def properties(session: Session, name: str = "t") -> dict[str, str]:
    return {str(key): str(value) for key, value in session.execute(f"SHOW TBLPROPERTIES {name}").fetch()}


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in session.execute(sql).fetch())


def test_the_property_comment_is_the_comment_of_the_table(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) COMMENT 'first'")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('comment' = 'second', 'a' = '1')")
    assert (comment(session), properties(session)) == ("second", {"a": "1"})
    session.execute("ALTER TABLE t UNSET TBLPROPERTIES ('comment')")
    session.execute("ALTER TABLE t UNSET TBLPROPERTIES ('comment')")
    assert (comment(session), properties(session)) == (None, {"a": "1"})
    session.execute("COMMENT ON TABLE t IS 'third'")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('a' = '2')")
    assert comment(session) == "third"
    # Names have their case, as in Spark.
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('Comment' = 'a property')")
    assert (comment(session), properties(session)) == ("third", {"Comment": "a property", "a": "2"})


def test_created_things_take_the_comment_of_their_properties(session: Session) -> None:
    for created, wanted in (
        ("TABLE t (n INT) TBLPROPERTIES ('comment' = 'p')", "p"),
        ("TABLE t (n INT) COMMENT 'clause' TBLPROPERTIES ('comment' = 'p')", "clause"),
        ("TABLE t TBLPROPERTIES ('comment' = 'p') AS SELECT 1 AS n", "p"),
    ):
        session.execute(f"CREATE {created}")
        assert (comment(session), properties(session)) == (wanted, {})
        session.execute("CREATE TABLE copied LIKE t")
        assert comment(session, "copied") == wanted
        session.execute("CREATE TABLE other LIKE t TBLPROPERTIES ('comment' = 'q')")
        assert comment(session, "other") == "q"
        for name in ("t", "copied", "other"):
            session.execute(f"DROP TABLE {name}")
    session.execute("CREATE VIEW v TBLPROPERTIES ('comment' = 'p') AS SELECT 1 AS n")
    assert (comment(session, "v"), properties(session, "v")) == ("p", {})


@pytest.mark.parametrize("key", ["owner", "location", "provider", "external", "is_managed_location", "collation"])
def test_what_spark_reserves_is_refused(session: Session, key: str) -> None:
    session.execute("CREATE TABLE t (n INT)")
    for statement in (
        f"ALTER TABLE t SET TBLPROPERTIES ('a' = '1', '{key}' = 'x')",
        f"ALTER TABLE t UNSET TBLPROPERTIES ('{key}')",
        f"CREATE TABLE u (n INT) TBLPROPERTIES ('{key}' = 'x')",
        f"CREATE TABLE u TBLPROPERTIES ('{key}' = 'x') AS SELECT 1 AS n",
        f"CREATE TABLE u LIKE t TBLPROPERTIES ('{key}' = 'x')",
    ):
        with pytest.raises(AnalysisError) as caught:
            session.execute(statement)
        assert (caught.value.condition, caught.value.sqlstate) == ("UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY", "0A000")
        assert caught.value.position is not None
        assert caught.value.hint
    assert properties(session) == {}
    session.execute(f"ALTER TABLE t SET TBLPROPERTIES ('{key.upper()}' = 'x')")
    assert properties(session) == {key.upper(): "x"}


def refused(session: Session, sql: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        session.execute(sql)
    assert caught.value.condition == "IMMUTABLE_TABLE"


def test_an_immutable_table_takes_one_insert_into(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) TBLPROPERTIES ('immutable' = 'true')")
    session.execute("INSERT INTO t SELECT 1 AS n WHERE false")
    session.execute("INSERT INTO t VALUES (1)")
    refused(session, "INSERT INTO t VALUES (2)")
    refused(session, "INSERT INTO t SELECT 1 AS n WHERE false")
    session.execute("INSERT OVERWRITE t VALUES (3)")
    refused(session, "INSERT INTO t VALUES (4)")
    assert rows(session, "SELECT n FROM t") == [(3,)]
    session.execute("TRUNCATE TABLE t")
    session.execute("INSERT INTO t VALUES (5)")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('immutable' = 'false')")
    session.execute("INSERT INTO t VALUES (6)")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('immutable' = 'TRUE')")
    refused(session, "INSERT INTO t VALUES (7)")
    session.execute("ALTER TABLE t UNSET TBLPROPERTIES ('immutable')")
    session.execute("INSERT INTO t VALUES (8)")
    assert rows(session, "SELECT n FROM t") == [(5,), (6,), (8,)]


@pytest.mark.parametrize("location", ["", "LOCATION '{}'"])
def test_partitions_of_an_immutable_table_take_one_each(session: Session, tmp_path: Path, location: str) -> None:
    session.execute(
        f"CREATE TABLE t (n INT) PARTITIONED BY (p STRING) {location.format(tmp_path / 'there')} "
        "TBLPROPERTIES ('immutable' = 'true')"
    )
    session.execute("ALTER TABLE t ADD PARTITION (p = 'a')")
    session.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    refused(session, "INSERT INTO t VALUES (3, 'b'), (3, 'c')")
    refused(session, "INSERT INTO t PARTITION (p = 'a') VALUES (3)")
    session.execute("INSERT INTO t PARTITION (p = 'c') VALUES (4)")
    session.execute("INSERT OVERWRITE t PARTITION (p = 'a') VALUES (5)")
    session.execute("FROM (SELECT 6 AS n) INSERT OVERWRITE TABLE t PARTITION (p = 'b') SELECT n")
    assert rows(session, "SELECT n, p FROM t") == [(4, "c"), (5, "a"), (6, "b")]


def test_inserts_of_one_statement_count_together(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('immutable' = 'true')")
    both = "INSERT INTO t PARTITION (p = '{}') SELECT n INSERT INTO t PARTITION (p = '{}') SELECT n + 1"
    refused(session, f"FROM (SELECT 1 AS n) {both.format('a', 'a')}")
    assert rows(session, "SELECT * FROM t") == []
    session.execute(f"FROM (SELECT 1 AS n) {both.format('a', 'b')}")
    refused(session, f"FROM (SELECT 1 AS n) {both.format('c', 'b')}")
    assert rows(session, "SELECT n, p FROM t") == [(1, "a"), (2, "b")]


def test_inserts_of_one_transaction_count_together(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('immutable' = 'true')")
    session.execute("INSERT INTO t VALUES (0, 'z')")
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES (1, 'a')")
    session.execute("INSERT INTO t PARTITION (p = 'b') VALUES (2)")
    refused(session, "INSERT INTO t VALUES (3, 'a')")
    refused(session, "INSERT INTO t VALUES (3, 'z')")
    session.execute("COMMIT")
    assert rows(session, "SELECT n, p FROM t") == [(0, "z"), (1, "a"), (2, "b")]


def test_the_commit_asks_what_is_there_then(session: Session, tmp_path: Path) -> None:
    """If two began while the table was empty, the second is refused."""
    session.execute("CREATE TABLE t (n INT) TBLPROPERTIES ('immutable' = 'true')")
    with Session(tmp_path / "warehouse", "duckdb") as other:
        other.execute("START TRANSACTION")
        other.execute("INSERT INTO t VALUES (1)")
        session.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(Error) as caught:
            other.execute("COMMIT")
        assert caught.value.condition == "IMMUTABLE_TABLE"
    assert rows(session, "SELECT n FROM t") == [(2,)]


def test_load_data_counts_as_an_insert(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE TABLE source (n INT) LOCATION '{tmp_path / 'source'}'")
    session.execute("INSERT INTO source VALUES (1)")
    session.execute("CREATE TABLE t (n INT) TBLPROPERTIES ('immutable' = 'true')")
    (file,) = (tmp_path / "source").glob("*.parquet")
    session.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE t")
    refused(session, f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE t")
    session.execute(f"LOAD DATA LOCAL INPATH '{file}' OVERWRITE INTO TABLE t")
    assert rows(session, "SELECT n FROM t") == [(1,)]


def test_a_double_quoted_column_name_is_a_warning(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT, day STRING)")
    session.execute("INSERT INTO t VALUES (1, 'd')")
    warning = '"n" is a string, as in Spark; write the column n as `n`'
    for query in (
        'SELECT "n" FROM t',
        'SELECT day FROM t WHERE "n" = day',
        "SELECT concat(\"n\", 'n') FROM t",
        'WITH q AS (SELECT "n" AS x FROM t) SELECT x FROM q',
        'INSERT INTO t SELECT 1, "n" FROM t',
        'CREATE OR REPLACE TABLE made AS SELECT "n" AS x FROM t',
    ):
        assert list(session.execute(query).warnings) == [warning], query
    assert session.execute('SELECT "n" FROM t').fetch(1) == [("n",)]
    for query in (
        "SELECT 'n', n, `n` FROM t",
        'SELECT "m", "a b" FROM t',
        "SELECT date_trunc(\"day\", TIMESTAMP '2014-01-01 00:00:00') FROM t",
    ):
        assert list(session.execute(query).warnings) == []
