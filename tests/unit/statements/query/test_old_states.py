"""VERSION AS OF beside VACUUM, transactions, caches, certificates and proofs, and what has no versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError, Error, NotSupportedError, OperationalError, ParseError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE t (a INT) PARTITIONED BY (d INT)")  # 1
        session.execute("INSERT INTO t VALUES (1, 1), (2, 2)")  # 2
        session.execute("INSERT OVERWRITE t VALUES (10, 1), (2, 2)")  # 3
        session.execute("SET rewriter.least_retention_hours = 0")
        yield session


def values(session: Session, sql: str) -> list[object]:
    return sorted(row[0] for row in session.execute(sql).rows())


def test_a_running_query_keeps_its_files(session: Session, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as reader:
        result = reader.execute("SELECT a FROM t VERSION AS OF 2")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert sorted(row[0] for row in result.rows()) == [1, 2]
        assert values(reader, "SELECT a FROM t VERSION AS OF 2") == [1, 2]
    session.execute("VACUUM RETAIN 0 HOURS")
    for sql in ("SELECT * FROM t VERSION AS OF 2", "SELECT count(*) FROM t x JOIN t VERSION AS OF 2 y ON true"):
        with pytest.raises(OperationalError) as caught:
            session.execute(sql)
        assert caught.value.condition == "SNAPSHOT_TOO_OLD"
        assert "commit 3, which is the oldest one that can be read" in caught.value.message
        assert caught.value.position is not None
    assert values(session, "SELECT a FROM t VERSION AS OF 3") == [2, 10]


def test_in_a_transaction(session: Session) -> None:
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES (3, 3)")
    assert values(session, "SELECT a FROM t VERSION AS OF 2") == [1, 2]
    assert values(session, "SELECT a FROM t VERSION AS OF 3") == [2, 10]
    assert values(session, "SELECT x.a FROM t x LEFT JOIN t VERSION AS OF 2 y ON x.a = y.a") == [2, 3, 10]
    session.execute("INSERT OVERWRITE t SELECT * FROM t VERSION AS OF 2")
    session.execute("COMMIT")
    assert values(session, "SELECT a FROM t") == [1, 2, 3]


def test_with_a_cache_of_the_catalog(session: Session) -> None:
    session.execute("SET rewriter.cache_bytes = 10000000")
    for _ in range(2):
        assert values(session, "SELECT a FROM t") == [2, 10]
        assert values(session, "SELECT a FROM t VERSION AS OF 2") == [1, 2]
        assert values(session, "SELECT y.a FROM t x RIGHT JOIN t VERSION AS OF 2 y ON x.a = y.a") == [1, 2]
        session.execute("INSERT OVERWRITE t VALUES (10, 1)")


def test_a_query_that_ran_before_is_not_taken_for_another_state(session: Session) -> None:
    for _ in range(2):
        for commit, rows in ((2, [1, 2]), (3, [2, 10]), (1, [])):
            assert values(session, f"SELECT a FROM t VERSION AS OF {commit}") == rows
            mixed = f"SELECT a FROM (SELECT 1 FROM t LIMIT 1) n, t VERSION AS OF {commit} o"
            assert values(session, mixed) == rows


def test_the_database_is_the_current_one(session: Session) -> None:
    session.execute("CREATE DATABASE o")
    session.execute("CREATE TABLE o.t AS SELECT 100 AS a")
    newest = session.snapshot().sequence
    session.execute("USE o")
    assert values(session, f"SELECT a FROM t VERSION AS OF {newest}") == [100]
    assert values(session, "SELECT a FROM default.t VERSION AS OF 2") == [1, 2]
    mixed = f"SELECT t.a + x.a FROM t VERSION AS OF {newest}, spark_catalog.default.t VERSION AS OF 2 x"
    assert values(session, mixed) == [101, 102]


def cube_of(session: Session) -> int:
    """A cube whose rollup is outdated after the commit that is returned."""
    for _ in session.script(
        """
        CREATE CUBE c (u STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME);
        CREATE TABLE days (u STRING, n BIGINT) PARTITIONED BY (dt STRING);
        CREATE TABLE months (u STRING, n BIGINT) PARTITIONED BY (m STRING);
        CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt),
          TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m));
        INSERT INTO days PARTITION (dt) MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'
          VALUES ('a', 1, '2024-01-01'), ('b', 10, '2024-01-31');
        REFRESH FACT f
        """
    ):
        pass
    commit = session.snapshot().sequence
    session.execute("INSERT INTO days VALUES ('c', 100, '2024-01-05')")
    return commit


QUERY = "SELECT sum(n) FROM c {} WHERE t >= '2024-01-01' AND t < '2024-02-01'"


def test_a_cube_has_the_cover_of_its_state(session: Session) -> None:
    commit = cube_of(session)
    result = session.execute(QUERY.format(f"VERSION AS OF {commit}"))
    assert result.fetch() == [(11,)]
    assert [part.table for reference in result.coverage.references for part in reference.parts] == ["months"]
    assert result.certify is not None
    assert result.certify()["commit"] == commit
    assert session.execute(QUERY.format("")).fetch() == [(111,)]
    session.execute("SET rewriter.verify = certificate")
    assert session.execute(QUERY.format(f"VERSION AS OF {commit}")).fetch() == [(11,)]
    with pytest.raises(NotSupportedError) as caught:
        session.execute(f"SELECT * FROM t, c VERSION AS OF {commit}")
    assert "c is no table" in caught.value.message
    with pytest.raises(NotSupportedError):
        session.execute(f"INSERT INTO t SELECT n, 1 FROM c VERSION AS OF {commit}")


def test_rows_of_an_earlier_state_prove_no_rollup(session: Session) -> None:
    commit = cube_of(session)
    rollup = "INSERT OVERWRITE months PARTITION (m = '2024-01') SELECT u, sum(n) FROM days {} GROUP BY u"
    result = session.execute(rollup.format(f"VERSION AS OF {commit}"))
    assert any(f"its query reads days VERSION AS OF {commit}, an earlier state" in text for text in result.warnings)
    assert session.execute(QUERY.format("")).fetch() == [(111,)]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM v «VERSION AS OF 5»", "v is a view"),
        ("SELECT * FROM x «VERSION AS OF 5»", "no versions"),
        ("SELECT * FROM mine «VERSION AS OF 5»", "mine is temporary"),
        ("SELECT * FROM information_schema.tables «VERSION AS OF 3»", "no versions"),
        ("SELECT * FROM t «VERSION AS OF 1000»", "not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF 1.5»", "not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF 'x'»", "not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF abs»(1)", "An expression is not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF (»1)", "An expression is not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF NULL»", "NULL is not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF -1» AS x", "-1 is not the number of a commit"),
        ("SELECT * FROM t «VERSION AS OF - 1»", "not the number of a commit"),
        ("SELECT * FROM t «TIMESTAMP AS OF '1990-01-01'»", "before the first commit"),
        ("SELECT * FROM t «TIMESTAMP AS OF (SELECT a FROM t)»", "not an instant"),
        ("SELECT * FROM t «TIMESTAMP AS OF '0000-13-01'» AS x", "not an instant"),
        ("WITH t AS (SELECT 1) SELECT * FROM t «VERSION AS OF 3»", "no table or cube of the catalog"),
        ("CREATE VIEW w AS SELECT * FROM t «VERSION AS OF 3»", "reads the newest state"),
        ("DELETE FROM t WHERE d IN (SELECT d FROM t «VERSION AS OF 3»)", "reads the newest state"),
        ("SELECT * FROM gone «VERSION AS OF 3»", "cannot be found"),
    ],
)
def test_what_is_refused(session: Session, sql: str, message: str) -> None:
    session.execute("CREATE VIEW v AS SELECT * FROM t")
    session.execute("CREATE EXTERNAL TABLE x (a INT) LOCATION 'x'")
    session.execute("CREATE TEMPORARY TABLE mine AS SELECT 1 AS a")
    start, end = sql.index("«"), sql.index("»") - 1
    with pytest.raises((AnalysisError, NotSupportedError)) as caught:
        session.execute(sql.replace("«", "").replace("»", ""))
    assert message in caught.value.message
    assert caught.value.position is not None
    assert (caught.value.position.start, caught.value.position.end) == (start, end)


@pytest.mark.parametrize(
    ("clause", "hint"),
    [
        ("VERSION AS OF «v»", "'SELECT … VERSION AS OF ?' USING v"),
        ("VERSION AS OF «session.v» AS x", "'SELECT … VERSION AS OF ?' USING v"),
        ("VERSION AS OF («v»)", "'SELECT … VERSION AS OF ?' USING v"),
        ("VERSION AS OF «v» + 1", "'SELECT … VERSION AS OF ?' USING v"),
        ("TIMESTAMP AS OF «at»", "'SELECT … TIMESTAMP AS OF ?' USING at"),
        ("TIMESTAMP AS OF «at» - INTERVAL 1 DAY", "'SELECT … TIMESTAMP AS OF ?' USING at"),
    ],
)
def test_variables_are_refused_as_in_spark(session: Session, clause: str, hint: str) -> None:
    """Spark takes a number, a string or a parameter for a version, and no names in an instant."""
    session.execute("DECLARE v INT = 2")
    session.execute("DECLARE at TIMESTAMP = current_timestamp()")
    for sql in (f"SELECT a FROM t {clause}", f"INSERT INTO t SELECT a FROM t {clause}"):
        start, end = sql.index("«"), sql.index("»") - 1
        with pytest.raises(ParseError) as caught:
            session.execute(sql.replace("«", "").replace("»", ""))
        assert caught.value.position is not None
        assert (caught.value.position.start, caught.value.position.end) == (start, end)
        assert hint in (caught.value.hint or "")


def test_execute_immediate_takes_the_value_of_a_variable(session: Session) -> None:
    session.execute("DECLARE v INT = 2")
    assert values(session, "EXECUTE IMMEDIATE 'SELECT a FROM t VERSION AS OF ?' USING v") == [1, 2]
    assert values(session, "EXECUTE IMMEDIATE 'SELECT a FROM t VERSION AS OF ' || v") == [1, 2]
    session.execute("SET VAR v = 3")
    assert values(session, "EXECUTE IMMEDIATE 'SELECT a FROM t VERSION AS OF ?' USING v") == [2, 10]


def test_what_only_looks_like_a_clause(session: Session) -> None:
    assert values(session, "SELECT a version FROM t VERSION AS OF 2") == [1, 2]
    assert values(session, "SELECT version AS of FROM (SELECT a AS version FROM t)") == [2, 10]
    assert values(session, "SELECT 'x VERSION AS OF 3' FROM t") == ["x VERSION AS OF 3"] * 2
    for sql in ("SELECT * FROM VERSION AS OF 3", "SELECT 1 VERSION AS OF 3", "SELECT * FROM t VERSION AS OF"):
        with pytest.raises(Error) as caught:
            session.execute(sql)
        assert isinstance(caught.value, ParseError | AnalysisError | NotSupportedError)
