"""COUNT(*), and MIN and MAX of the first partition column, from the catalog: no file is opened."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from rewriter.exec.engine import Engine
from rewriter.session import Session
from tests.rotation import turn

VALUES = {
    "STRING": ["'a'", "'b'", "'B'", "''", "NULL", "'10'", "'9'", "'ä'", "'\U0001f600'", "'x y'"],
    "INT": ["-5", "0", "7", "NULL", "2147483647"],
    "BIGINT": ["-9223372036854775808", "NULL", "3"],
    "TINYINT": ["-127Y", "0Y", "NULL", "9Y"],
    "DATE": ["DATE '1969-12-31'", "DATE '2024-02-29'", "NULL", "DATE '0001-01-01'"],
    "TIMESTAMP": ["TIMESTAMP '1969-12-31 23:59:59.5'", "TIMESTAMP '2024-02-29 00:00:00'", "NULL"],
    "DOUBLE": ["-0.0D", "1.5D", "NULL", "CAST('NaN' AS DOUBLE)"],
}
ITEMS = [
    "COUNT(*)",
    "count(1) AS n",
    "MIN(p)",
    "max(t.p) AS `the end`",
    "MIN(q)",
    "COUNT(x)",
    "MAX(x)",
    "COUNT(DISTINCT p)",
]
CATALOG_ITEMS = ITEMS[:4]


@pytest.fixture
def session(duckdb: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def _fill(session: Session, type_: str, source: random.Random) -> None:
    session.execute(f"CREATE TABLE t (x INT) PARTITIONED BY (p {type_}, q INT)")
    for _ in range(source.randrange(1, 6)):
        rows = [
            ", ".join(map(source.choice, (["NULL", "1", "2"], VALUES[type_], ["1", "2", "NULL"])))
            for _ in range(source.randrange(1, 8))
        ]
        session.execute(f"INSERT {source.choice(['INTO', 'OVERWRITE'])} t VALUES ({'), ('.join(rows)})")
        if source.random() < 0.4:
            value = source.choice([value for value in VALUES[type_] if value != "''"])
            value = "'NaN'" if "NaN" in value else value  # PARTITION takes literals only.
            session.execute(f"ALTER TABLE t ADD IF NOT EXISTS PARTITION (p = {value}, q = 7)")
        if source.random() < 0.3:
            session.execute(f"ALTER TABLE t DROP IF EXISTS PARTITION (q = {source.choice([1, 2])})")
        if source.random() < 0.3:
            session.execute(f"TRUNCATE TABLE t PARTITION (q = {source.choice([1, 2])})")
        if source.random() < 0.2:
            session.execute("ALTER TABLE t COMPACT")


def _conditions(type_: str, source: random.Random) -> str:
    value = source.choice([value for value in VALUES[type_] if value != "NULL"])
    return source.choice([
        "", "", f" WHERE p >= {value}", f" WHERE p = {value} OR q = 1", " WHERE q IN (1, 2)", " WHERE p IS NULL",
        " WHERE q IS NOT NULL AND p IS NOT NULL", f" WHERE NOT (p < {value})", " WHERE q > 5", " WHERE x = 1",
        " WHERE p > q" if type_ == "INT" else " WHERE q % 2 = 1",
        " WHERE q = 1 AND p LIKE 'a%'" if type_ == "STRING" else "",
    ])  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("number", range(14))
def test_the_catalog_returns_what_the_engine_returns(
    session: Session, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    source = random.Random(turn() * 100 + number)
    type_ = sorted(VALUES)[number % len(VALUES)]
    _fill(session, type_, source)
    from_catalog = 0
    for number_of_query in range(25):
        items = source.sample(source.choice([ITEMS, CATALOG_ITEMS]), source.randrange(1, 4))
        query = f"SELECT {', '.join(items)} FROM t{_conditions(type_, source)}"
        query = query if number_of_query else "SELECT COUNT(*) FROM t"
        result = session.execute(query)
        is_computed = "no file" in session.execute(f"EXPLAIN SCAN {query}").fetch()[0][0]
        assert not is_computed or result.stats.files == 0
        from_catalog += is_computed
        # A comment makes it another text, which the session has not planned.
        with monkeypatch.context() as patch:
            patch.setattr("rewriter.statements.query.select.computed_query", lambda plan, context: None)
            patch.setattr("rewriter.statements.query.select.read_footers", lambda plan, context: None)
            expected = session.execute(f"{query} -- {source.random()}")
            assert [column.name for column in result.columns] == [column.name for column in expected.columns], query
            assert [column.type for column in result.columns] == [column.type for column in expected.columns], query
            assert repr(result.fetch()) == repr(expected.fetch()), query
    assert from_catalog


def test_counts_open_no_file(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p DATE)")
        session.execute("INSERT INTO t VALUES (1, DATE '2024-01-01'), (2, DATE '2024-01-02'), (NULL, NULL)")
        result = session.execute("SELECT COUNT(*), MIN(p) AS `first day`, MAX(t.p) FROM t WHERE p > '2023-12-31'")
        assert [(column.name, column.type) for column in result.columns] == [
            ("count(1)", "bigint"), ("first day", "date"), ("max(p)", "date")
        ]  # fmt: skip
        assert result.fetch() == [(2, date(2024, 1, 1), date(2024, 1, 2))]
        assert result.stats.files == 0
        session.execute("CREATE TABLE u (x INT)")
        session.execute("INSERT INTO u VALUES (1), (2)")
        result = session.execute("SELECT COUNT(*) FROM u")
        assert (result.fetch(), result.stats.files) == ([(2,)], 0)


def test_another_sessions_rows_count_at_once(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", duckdb) as session, Session(tmp_path / "warehouse", duckdb) as other:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
        for number in range(4):
            other.execute(f"INSERT INTO t VALUES (1, {number})")
            assert session.execute("SELECT COUNT(*), MAX(p) FROM t").fetch() == [(number + 1, number)]
        other.execute("ALTER TABLE t DROP PARTITION (p = 3)")
        assert session.execute("SELECT COUNT(*), MAX(p) FROM t").fetch() == [(3, 2)]


def test_counts_are_written(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
        session.execute("INSERT INTO t VALUES (1, 7), (2, 8)")
        session.execute("CREATE TABLE u AS SELECT COUNT(*) AS n, MAX(p) AS p, MIN(x) AS x, COUNT(p) AS m FROM t")
        session.execute("INSERT INTO u SELECT COUNT(*), MIN(p), MAX(x), 0 FROM t WHERE p = 8")
        session.execute("INSERT INTO u (n, p) SELECT COUNT(*), MIN(p) FROM t WHERE p = 7")
        session.execute("INSERT INTO u SELECT MAX(n), MAX(p), MAX(x), COUNT(n) FROM u")
        session.execute("FROM t INSERT INTO u SELECT MAX(p), 0, 0, 0 INSERT INTO u SELECT MIN(x), 1, 1, 1")
        assert [(column.name, column.type) for column in session.execute("SELECT * FROM u").columns or ()] == [
            ("n", "bigint"), ("p", "int"), ("x", "int"), ("m", "bigint")
        ]  # fmt: skip
        assert sorted(session.execute("SELECT * FROM u").fetch(), key=repr) == [
            (1, 1, 1, 1), (1, 7, None, None), (1, 8, 2, 0), (2, 8, 1, 2), (2, 8, 2, 3), (8, 0, 0, 0)
        ]  # fmt: skip
