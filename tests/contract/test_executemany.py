"""``executemany`` of INSERT … VALUES is one write, and stores what single INSERTs store, on both engines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.session import Session

INSTANT = dt.datetime(2013, 1, 29, 6, 0, 0, 123456, tzinfo=dt.UTC)


@pytest.fixture
def connection(tmp_path: Path, engine: Engine) -> Iterator[Connection]:
    with Connection(Session(tmp_path / "w", engine)) as opened:
        yield opened


def test_parameters_before_the_gregorian_calendar(connection: Connection) -> None:
    values = [
        dt.date(1, 1, 1),
        dt.datetime(1, 1, 1, tzinfo=dt.UTC),
        dt.date(1582, 10, 4),
        dt.date(1582, 10, 15),
        dt.datetime(1582, 12, 31, 23, 59, 59, 999999, dt.UTC),
        dt.datetime(1583, 1, 1, tzinfo=dt.UTC),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC),
        dt.date(9999, 12, 31),
    ]
    assert connection.execute(f"SELECT {', '.join('?' * len(values))}", values).fetchall() == [tuple(values)]
    texts = connection.execute("SELECT CAST(? AS STRING), CAST(? AS STRING)", values[:2]).fetchall()
    assert texts == [("0001-01-01", "0001-01-01 00:00:00")]


def commits(connection: Connection) -> int:
    return connection.session.catalog.snapshot().sequence


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ("a INT, b STRING", [(1, "x"), (2, None), (None, "it's \\ 'ö'")]),
        ("a TINYINT, b BIGINT", [(1, 2**40), (-128, 1)]),
        ("a DOUBLE, b FLOAT", [(1.5, 0.1), (float("nan"), -0.0), (float("inf"), None)]),
        ("a DECIMAL(20,4), b DECIMAL(38,0)", [(Decimal("1.50"), Decimal(10) ** 37), (Decimal("-0.0001"), None)]),
        ("a DATE, b TIMESTAMP", [(dt.date(2013, 1, 29), INSTANT), (None, dt.datetime(1, 1, 1))]),
        ("a BOOLEAN, b VARCHAR(3)", [(True, "abc"), (False, "")]),
        # A column of several types: each value is assigned as it is.
        ("a STRING, b STRING", [(1, 15), ("x", Decimal("1.50")), (True, Decimal("1.5")), (None, INSTANT)]),
        ("a DOUBLE, b INT", [(1, 1), (1.5, 2), (Decimal("2.25"), 3)]),
        ("a INT, b STRING", [(None, None), (None, None)]),
    ],
)
def test_many_rows_are_stored_as_single_ones(
    connection: Connection, columns: str, rows: Sequence[tuple[object, ...]]
) -> None:
    connection.execute(f"CREATE TABLE many ({columns})")
    connection.execute(f"CREATE TABLE single ({columns})")
    before = commits(connection)
    cursor = connection.cursor().executemany("INSERT INTO many VALUES (?, ?)", rows)
    assert cursor.rowcount == len(rows)
    assert cursor.description is None
    assert commits(connection) == before + 1
    for row in rows:
        connection.execute("INSERT INTO single VALUES (?, ?)", row)
    stored = [sorted(map(repr, connection.execute(f"SELECT * FROM {t}").fetchall())) for t in ("many", "single")]
    assert stored[0] == stored[1]


def test_partitions_names_and_literals(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (a INT, b STRING, n DOUBLE) PARTITIONED BY (dt STRING, h INT)")
    before = commits(connection)
    rows = [{"a": i, "dt": f"2013-01-{i % 3 + 1:02}", "unused": object()} for i in range(100)]
    cursor = connection.cursor()
    cursor.executemany("INSERT INTO t PARTITION (dt, h = 7) (dt, a, b, n) VALUES (:dt, :a, ':dt?', -1.5)", rows)
    assert (cursor.rowcount, commits(connection)) == (100, before + 1)
    assert connection.execute("SHOW PARTITIONS t").fetchall() == [(f"dt=2013-01-0{d}/h=7",) for d in (1, 2, 3)]
    query = "SELECT COUNT(*), SUM(a), MIN(b), MIN(n), MAX(n) FROM t WHERE dt = '2013-01-02'"
    assert connection.execute(query).fetchall() == [(33, sum(range(1, 100, 3)), ":dt?", -1.5, -1.5)]


def test_a_row_that_does_not_fit_leaves_nothing(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (a TINYINT)")
    before = commits(connection)
    for rows in ([(1,), (300,)], [(1,), (object(),)], [(1,), (1, 2)], [(1,), ("x",)]):
        with pytest.raises(rewriter.Error) as caught:
            connection.cursor().executemany("INSERT INTO t VALUES (?)", rows)
        assert caught.value.position is not None
        assert "parquet" not in str(caught.value)
    assert commits(connection) == before
    assert connection.execute("SELECT * FROM t").fetchall() == []
    assert not connection.session.in_transaction


def test_in_a_transaction(connection: Connection) -> None:
    connection.execute("CREATE TABLE t (a STRING)")
    for end, expected in ((connection.rollback, 0), (connection.commit, 3)):
        connection.execute("START TRANSACTION")
        connection.cursor().executemany("INSERT INTO t VALUES (?)", [(1,), ("x",), (None,)])
        end()
        assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(expected,)]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # The last one replaces the others.
        ("INSERT OVERWRITE t VALUES (?)", ["3"]),
        ("INSERT INTO t VALUES (? || 'x')", ["0", "1x", "2x", "3x"]),
        ("INSERT INTO t SELECT CAST(? AS STRING)", ["0", "1", "2", "3"]),
        ("INSERT INTO t VALUES (?), ('y')", ["0", "1", "2", "3", "y", "y", "y"]),
        ("INSERT INTO t VALUES (?) ;", ["0", "1", "2", "3"]),
    ],
)
def test_other_statements_run_once_for_each(connection: Connection, statement: str, expected: list[str]) -> None:
    connection.execute("CREATE TABLE t AS SELECT '0' AS a")
    connection.cursor().executemany(statement, [("1",), ("2",), ("3",)])
    assert sorted(connection.execute("SELECT a FROM t").fetchall()) == [(a,) for a in expected]


def test_an_external_table_of_several_types(connection: Connection, tmp_path: Path) -> None:
    connection.execute(f"CREATE EXTERNAL TABLE t (a STRING) STORED AS PARQUET LOCATION '{tmp_path / 'x'}'")
    connection.cursor().executemany("INSERT INTO t VALUES (?)", [(1,), ("x",)])
    assert sorted(connection.execute("SELECT a FROM t").fetchall()) == [("1",), ("x",)]
