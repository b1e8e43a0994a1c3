"""DELETE FROM in facts, external tables and transactions, beside other writers, and the statements that it proposes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, ConflictError, NotSupportedError, ParseError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE t (a STRING, v INT) PARTITIONED BY (dt STRING, n INT)")
        session.execute(
            "INSERT INTO t VALUES ('a', 1, '2024-01-01', 1), ('b', NULL, '2024-01-01', 2), ('c', 3, '2024-01-02', 1), "
            "('d', 4, NULL, NULL)"
        )
        yield session


def rows(session: Session, table: str = "t") -> list[str]:
    return sorted(str(row[0]) for row in session.execute(f"SELECT * FROM {table}").rows())


@pytest.mark.parametrize(
    "condition",
    [
        "v = 1",
        "v > 1 AND dt < '2024-01-02'",
        "dt = '2024-01-01' AND n = 1 AND a = 'a'",
        "t.n IS NULL OR `a` <> 'it''s'",
    ],
)
def test_the_proposed_statement_keeps_the_other_rows(session: Session, condition: str) -> None:
    expected = [
        str(a) for (a,) in session.execute(f"SELECT a FROM t WHERE ({condition}) IS NOT TRUE ORDER BY a").rows()
    ]
    with pytest.raises(NotSupportedError) as caught:
        session.execute(f"DELETE FROM t WHERE {condition}")
    assert caught.value.condition == "UNDECIDED_CONDITION"
    assert caught.value.hint is not None
    for _ in session.script(caught.value.hint.removeprefix("Write the rows that stay: ").removesuffix(".")):
        pass
    assert rows(session) == expected
    assert session.settings.get("rewriter.partition_overwrite_mode") == "dynamic"


def test_the_proposed_statement_sets_no_mode_that_is_set(session: Session) -> None:
    session.execute("SET spark.sql.sources.partitionOverwriteMode = STATIC")
    with pytest.raises(NotSupportedError) as caught:
        session.execute("DELETE FROM t WHERE v = 1")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("Write the rows that stay: INSERT OVERWRITE t SELECT a, v, dt, n FROM t WHERE")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("c = 'a'", "c is a CHAR column"),
        ("length(c) = 2 AND n = 1", "c is a CHAR column"),
        (" OR ".join(f"n * n = {n}" for n in range(1500)), "it has more than 4,000 parts"),
        ("exists(array(n), x -> x > 4)", "it is not a function of single values"),
    ],
)
def test_the_reason_why_a_condition_is_not_decided(session: Session, condition: str, reason: str) -> None:
    session.execute("CREATE TABLE chars (a INT) PARTITIONED BY (c CHAR(3), n INT)")
    with pytest.raises(NotSupportedError) as caught:
        session.execute(f"DELETE FROM chars WHERE {condition}")
    assert caught.value.condition == "UNDECIDED_CONDITION"
    assert reason in caught.value.message


def test_rows_of_a_transaction(session: Session) -> None:
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES ('e', 5, '2024-03-01', 1)")
    assert session.execute("DELETE FROM t WHERE dt >= '2024-01-02'").rowcount == 2
    assert rows(session) == ["a", "b", "d"]
    session.execute("ROLLBACK")
    assert rows(session) == ["a", "b", "c", "d"]
    session.execute("START TRANSACTION")
    session.execute("DELETE FROM t")
    session.execute("INSERT INTO t VALUES ('e', 5, '2024-03-01', 1)")
    session.execute("COMMIT")
    assert rows(session) == ["e"]


def test_a_concurrent_write_conflicts_in_the_searched_keys_alone(session: Session, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as other:
        session.execute("START TRANSACTION")
        session.execute("DELETE FROM t WHERE dt < '2024-01-02'")
        other.execute("INSERT INTO t VALUES ('e', 5, '2024-03-01', 1)")
        session.execute("COMMIT")
        assert rows(session) == ["c", "d", "e"]
        session.execute("START TRANSACTION")
        session.execute("DELETE FROM t WHERE substr(dt, 1, 4) = '2024' AND dt > '2024-02'")
        other.execute("INSERT INTO t VALUES ('f', 5, '2024-03-01', 1)")
        with pytest.raises(ConflictError):
            session.execute("COMMIT")
    assert rows(session) == ["c", "d", "e", "f"]


def test_parameters(session: Session) -> None:
    assert session.execute("DELETE FROM t WHERE dt = ? AND n IN (?, ?)", ("2024-01-01", 2, 9)).rowcount == 1
    assert session.execute("DELETE FROM t WHERE concat(dt, '') = :day", {"day": "2024-01-01"}).rowcount == 1
    assert rows(session) == ["c", "d"]


def test_names(session: Session) -> None:
    session.execute("CREATE DATABASE o")
    session.execute("CREATE TABLE o.`select` (`v w` INT) PARTITIONED BY (`it's` STRING)")
    session.execute("INSERT INTO o.`select` VALUES (1, 'x'), (2, '')")
    with pytest.raises(NotSupportedError) as caught:
        session.execute("DELETE FROM o.`select` WHERE `it's` = 'x' AND `v w` = 1")
    assert "INSERT OVERWRITE o.`select` PARTITION (`it's` = 'x') SELECT `v w` FROM" in str(caught.value.hint)
    session.execute("USE o")
    assert session.execute("DELETE FROM `select` AS `x``y` WHERE `x``y`.`it's` = 'x'").rowcount == 1
    assert rows(session, "`select`") == ["2"]
    assert session.execute("DELETE FROM o.`select` WHERE o.`select`.`it's` IS NULL").rowcount == 1
    session.execute("CREATE TEMPORARY TABLE mine AS SELECT 1 AS a")
    session.execute("DELETE FROM mine")
    assert rows(session, "mine") == []


def test_a_computed_partition_column_is_no_condition(session: Session) -> None:
    session.execute("CREATE TABLE h (a INT, ts TIMESTAMP) PARTITIONED BY (days(ts))")
    with pytest.raises(NotSupportedError, match="cannot name ts_day, which is computed from ts") as caught:
        session.execute("DELETE FROM h WHERE ts_day = '2024-01-01'")
    assert caught.value.hint is not None


def test_what_is_no_table(session: Session) -> None:
    session.execute("CREATE VIEW w AS SELECT * FROM t")
    session.execute("CREATE CUBE c (u STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    for name in ("w", "c", "information_schema.tables"):
        with pytest.raises((AnalysisError, NotSupportedError)) as caught:
            session.execute(f"DELETE FROM {name}")
        assert caught.value.position is not None
    for text in ("DELETE FROM", "DELETE FROM t.", "DELETE FROM t AS", "DELETE FROM t x y", "DELETE FROM 'x'", "DELETE"):
        with pytest.raises(ParseError):
            session.execute(text)


def test_an_external_table_keeps_its_files(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE EXTERNAL TABLE x (a INT) PARTITIONED BY (c STRING) LOCATION 'x'")
    session.execute("INSERT INTO x VALUES (1, 'a'), (2, 'b')")
    files = sorted((tmp_path / "warehouse" / "x").rglob("*.parquet"))
    result = session.execute("DELETE FROM x WHERE c = 'a'")
    assert result.warnings == (
        "The files of 1 partition of the external table x stay; MSCK REPAIR TABLE would add them again.",
    )
    assert rows(session, "x") == ["2"]
    session.execute("DELETE FROM x")
    assert rows(session, "x") == []
    assert len(files) == 2
    assert sorted((tmp_path / "warehouse" / "x").rglob("*.parquet")) == files
    session.execute("CREATE EXTERNAL TABLE plain (a INT) LOCATION 'plain'")
    with pytest.raises(NotSupportedError) as caught:
        session.execute("DELETE FROM plain")
    assert caught.value.condition == "TRUNCATE_EXTERNAL_TABLE"


def cube_of(session: Session) -> None:
    for _ in session.script(
        """
        CREATE CUBE c (u STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME);
        CREATE TABLE days (u STRING, n BIGINT) PARTITIONED BY (dt STRING);
        CREATE TABLE months (u STRING, n BIGINT) PARTITIONED BY (m STRING);
        CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
          TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m));
        INSERT INTO days PARTITION (dt) MARK COMPLETE FROM '2024-01-01' TO '2024-03-01'
          VALUES ('a', 1, '2024-01-01'), ('b', 10, '2024-01-31'), ('c', 100, '2024-02-01');
        REFRESH FACT f
        """
    ):
        pass


def total(session: Session) -> object:
    sql = "SELECT sum(n) FROM c WHERE t >= '2024-01-01' AND t < '2024-03-01'"
    return session.execute(sql).fetch()[0][0]


def test_rows_that_are_deleted_leave_the_sums_of_a_cube(session: Session) -> None:
    cube_of(session)
    assert total(session) == 111
    result = session.execute("DELETE FROM days WHERE dt = '2024-01-31'")
    assert result.rowcount == 1
    assert "has the events of the fact f: without the rows of 1 partition," in result.warnings[0]
    assert total(session) == 101
    session.execute("REFRESH FACT f")
    assert total(session) == 101
    session.execute("INSERT INTO days VALUES ('b', 20, '2024-01-31')")
    assert total(session) == 121
    session.execute("DELETE FROM days")
    assert total(session) is None
    session.execute("INSERT INTO days VALUES ('b', 5, '2024-01-02')")
    assert total(session) == 5


def test_rollups_that_are_deleted_are_computed_again(session: Session) -> None:
    cube_of(session)
    assert session.execute("DELETE FROM months WHERE m < '2024-02'").rowcount == 2
    assert [name for (name,) in session.execute("SHOW PARTITIONS months").rows()] == ["m=2024-02"]
    assert total(session) == 111
    refreshed = session.execute("REFRESH FACT f").fetch()
    assert [str(row[2]) for row in refreshed] == ["2024-01-01"]


def test_the_clock_of_a_zone(session: Session) -> None:
    session.execute("CREATE CUBE z (u STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME) TIME ZONE 'Asia/Tokyo'")
    session.execute("CREATE TABLE zd (u STRING, n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE FACT zf OF CUBE z STORED IN (TABLE zd PERIOD DAILY PARTITIONED BY t AS (dt))")
    with pytest.raises(NotSupportedError) as caught:
        session.execute("DELETE FROM zd WHERE dt < current_date")
    assert caught.value.condition == "ZONED_TIME"
    session.execute("DELETE FROM t WHERE dt < date_sub(current_date(), 90)")
    assert rows(session) == ["d"]
