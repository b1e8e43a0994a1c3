"""PEP 249 over DuckDB: cursors, descriptions, values, closed things."""

from __future__ import annotations

import datetime as dt
import threading
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

import rewriter
from rewriter import dbapi
from rewriter.runtime.result import Amount, Stats


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.dbapi.Connection]:
    with rewriter.connect(tmp_path, engine="duckdb") as opened:
        yield opened


def test_a_query(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert cursor.execute("SELECT a, b FROM (VALUES (1, 'x'), (2, 'y'), (3, 'z')) AS t(a, b) ORDER BY a") is cursor
    assert cursor.description is not None
    assert [(column[0], column[1]) for column in cursor.description] == [("a", "int"), ("b", "string")]
    assert all(len(column) == 7 for column in cursor.description)
    assert cursor.description[0][1] == dbapi.NUMBER
    assert cursor.description[1][1] == dbapi.STRING
    assert cursor.description[1][1] != dbapi.DATETIME
    assert cursor.fetchone() == (1, "x")
    assert cursor.fetchmany(1) == [(2, "y")]
    assert cursor.fetchall() == [(3, "z")]
    assert cursor.fetchone() is None
    assert cursor.fetchall() == []


def test_fetchmany_takes_arraysize(connection: dbapi.Connection) -> None:
    cursor = connection.execute("SELECT a FROM (VALUES (1), (2), (3)) AS t(a) ORDER BY a")
    assert cursor.fetchmany() == [(1,)]
    cursor.arraysize = 5
    assert cursor.fetchmany() == [(2,), (3,)]
    assert list(connection.execute("SELECT 1")) == [(1,)]


def test_arrow(connection: dbapi.Connection) -> None:
    table = connection.execute("SELECT a FROM (VALUES (1), (2)) AS t(a) ORDER BY a").fetch_arrow_table()
    assert table.to_pydict() == {"a": [1, 2]}
    connection.execute("CREATE DATABASE d")
    assert connection.execute("SHOW TABLES").fetch_arrow_table().num_rows == 0


def test_statements_without_rows(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    for sql, count in (("CREATE TABLE t (a INT)", -1), ("INSERT INTO t VALUES (1), (2)", 2)):
        cursor.execute(sql)
        assert cursor.description is None
        assert cursor.rowcount == count
        for fetch in (cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetch_arrow_table):
            with pytest.raises(rewriter.Error):
                fetch()


def test_executemany(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE t (a INT, b STRING)")
    cursor.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
    assert cursor.rowcount == 2
    assert cursor.execute("SELECT * FROM t ORDER BY a").fetchall() == [(1, "x"), (2, None)]
    with pytest.raises(rewriter.ProgrammingError):
        cursor.executemany("SELECT ?", [(1,)])


def test_values_come_back_as_they_went(connection: dbapi.Connection) -> None:
    instant = dt.datetime(2013, 1, 29, 6, 0, 0, 123456, tzinfo=dt.UTC)
    values = [None, True, 7, 2**40, 1.5, "it's \\ 'ö'", Decimal("12.34"), dt.date(2013, 1, 29), instant]
    sql = "SELECT " + ", ".join("?" for _ in values)
    assert connection.execute(sql, values).fetchall() == [tuple(values)]
    named = {f"v{i}": value for i, value in enumerate(values)}
    assert connection.execute("SELECT " + ", ".join(f":{n}" for n in named), named).fetchall() == [tuple(values)]


def test_instants_are_utc(connection: dbapi.Connection) -> None:
    kolkata = dt.timezone(dt.timedelta(hours=5, minutes=30))
    (row,) = connection.execute(
        "SELECT ?, ?, TIMESTAMP '2013-01-29 06:00:00'",
        [dt.datetime(2013, 1, 29, 11, 30, tzinfo=kolkata), dt.datetime(2013, 1, 29, 6)],
    ).fetchall()
    expected = dt.datetime(2013, 1, 29, 6, tzinfo=dt.UTC)
    assert row == (expected, expected, expected)
    assert all(value.utcoffset() == dt.timedelta(0) for value in row)


@pytest.mark.parametrize("value", [2**63, Decimal("1E+40"), b"x", [1], object()])
def test_values_that_do_not_fit(connection: dbapi.Connection, value: object) -> None:
    with pytest.raises(rewriter.DataError):
        connection.execute("SELECT ?", [value])


def test_what_a_cursor_tells(connection: dbapi.Connection) -> None:
    cursor = connection.cursor()
    assert (cursor.coverage, cursor.plan, cursor.stats, cursor.warnings) == (None, None, None, [])
    cursor.execute("CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)")
    cursor.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    cursor.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))")
    cursor.execute("INSERT INTO hours VALUES (1, '2013-01-01-00'), (2, '2013-01-01-02')")
    query = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T03')"
    with pytest.raises(rewriter.OperationalError):
        cursor.execute(query)
    assert cursor.description is None
    cursor.execute("SET rewriter.partial_data = true")
    with pytest.warns(rewriter.PartialResultWarning):
        cursor.execute(query)
    assert cursor.fetchall() == [(3,)]
    assert cursor.coverage is not None
    assert cursor.coverage.missing == ("[2013-01-01T01, 2013-01-01T02)",)
    assert len(cursor.warnings) == 1
    assert cursor.plan is not None
    assert "hours" in cursor.plan.sql
    assert cursor.stats is not None
    assert cursor.stats.partitions == 2


def test_settings_of_connect(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path, engine="duckdb", partial_data=True, max_dynamic_partitions=5) as connection:
        assert connection.execute("SET rewriter.partial_data").fetchall() == [("rewriter.partial_data", "true")]
    with pytest.raises(rewriter.ProgrammingError):
        rewriter.connect(tmp_path, engine="duckdb", partial_dat=True)


def test_closed_things(connection: dbapi.Connection) -> None:
    cursor = connection.execute("SELECT 1")
    cursor.close()
    cursor.close()
    for call in (lambda: cursor.execute("SELECT 1"), cursor.fetchone, lambda: cursor.executemany("SELECT 1", [])):
        with pytest.raises(rewriter.InterfaceError):
            call()
    second = connection.cursor()
    with pytest.raises(rewriter.InterfaceError):
        second.fetchone()
    connection.close()
    connection.close()
    second.close()
    for call in (
        connection.cursor,
        connection.__enter__,
        second.__enter__,
        lambda: list(second),
        connection.commit,
        connection.rollback,
        lambda: second.execute("SELECT 1"),
    ):
        with pytest.raises(rewriter.InterfaceError):
            call()


def test_the_number_of_rows_is_known_after_close(connection: dbapi.Connection) -> None:
    cursor = connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    cursor.close()
    assert cursor.rowcount == 1


def test_without_a_transaction_commit_and_rollback_do_nothing(connection: dbapi.Connection) -> None:
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.commit()
    connection.rollback()
    assert connection.execute("SELECT a FROM t").fetchall() == [(1,)]


def test_constructors() -> None:
    assert dbapi.TimestampFromTicks(0) == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert dbapi.DateFromTicks(86400) == dt.date(1970, 1, 2)
    assert dbapi.TimeFromTicks(3600) == dt.time(1)
    assert dbapi.Date(2013, 1, 1) == dt.date(2013, 1, 1)
    assert dbapi.NUMBER == "decimal(10,2)"
    assert dbapi.NUMBER != "string"
    assert len({dbapi.STRING, dbapi.NUMBER, dbapi.STRING}) == 2


def test_a_catalog_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    """The whole way; a second connection sees what the first one did, and files lie in the directory."""
    hours = [f"('UA', 1, '2013-01-01-{hour:02}')" for hour in range(24)]
    with (
        rewriter.connect(tmp_path, engine="duckdb", catalog=postgres_url) as connection,
        rewriter.connect(tmp_path, engine="duckdb", catalog=postgres_url) as second,
    ):
        for statement in (
            "CREATE TABLE hours (carrier STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE days (carrier STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE CUBE c (carrier STRING, n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'),"
            " TABLE days PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd'))",
            f"INSERT INTO hours PARTITION (dt) VALUES {', '.join(hours)}",
            "INSERT INTO hours PARTITION (dt = '2013-01-02-00') VALUES ('AA', 5), ('ÜA', 6)",
            "REFRESH FACT f",
        ):
            connection.execute(statement)
        where = "t >= '2013-01-01' AND t < '2013-01-02 01:00'"
        query = f"SELECT carrier, SUM(n) FROM c WHERE {where} GROUP BY carrier ORDER BY 2"
        cursor = second.execute(query)
        assert cursor.fetchall() == [("AA", 5), ("ÜA", 6), ("UA", 24)]
        parts = cursor.plan.coverage.references[0].parts  # type: ignore[union-attr]
        assert {part.table: part.partitions for part in parts} == {"days": 1, "hours": 1}
        shown = second.execute("SHOW PARTITIONS hours WHERE dt LIKE '%-00' ORDER BY dt DESC").fetchall()
        assert shown == [("dt=2013-01-02-00",), ("dt=2013-01-01-00",)]
        second.execute("ALTER TABLE hours DROP PARTITION (dt = '2013-01-02-00')")
        with pytest.raises(rewriter.OperationalError) as caught:
            connection.execute(query)
        assert caught.value.condition == "MISSING_PARTITIONS"
        for statement in ("DROP FACT f", "DROP CUBE c", "DROP TABLE hours", "DROP TABLE days"):
            connection.execute(statement)
        assert second.execute("SHOW TABLES").fetchall() == []
    assert not (tmp_path / "catalog.db").exists()
    assert list(tmp_path.glob("**/*.parquet"))


def test_description_of_decimals(connection: dbapi.Connection) -> None:
    cursor = connection.execute("SELECT CAST(1 AS DECIMAL(10,2)) AS d, 1 AS n, array(CAST(1 AS DECIMAL(3,1))) AS a")
    assert cursor.description == [
        ("d", "decimal(10,2)", None, None, 10, 2, None),
        ("n", "int", None, None, None, None, None),
        ("a", "array<decimal(3,1)>", None, None, None, None, None),
    ]


class TestWith:
    """``with connection`` commits, or rolls back after an exception, and closes."""

    def test_commits(self, tmp_path: Path) -> None:
        with rewriter.connect(tmp_path, engine="duckdb", autocommit=True) as connection:
            connection.execute("CREATE TABLE t (a INT)")
            connection.execute("START TRANSACTION")
            connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(rewriter.InterfaceError):
            connection.cursor()
        assert rewriter.connect(tmp_path, engine="duckdb").execute("SELECT a FROM t").fetchall() == [(1,)]

    def test_rolls_back(self, tmp_path: Path) -> None:
        with (  # noqa: PT012
            pytest.raises(ZeroDivisionError),
            rewriter.connect(tmp_path, engine="duckdb", autocommit=False) as connection,
        ):
            connection.execute("CREATE TABLE t (a INT)")
            connection.commit()
            connection.execute("INSERT INTO t VALUES (1)")
            raise ZeroDivisionError
        with pytest.raises(rewriter.InterfaceError):
            connection.cursor()
        assert rewriter.connect(tmp_path, engine="duckdb").execute("SELECT a FROM t").fetchall() == []

    def test_a_failing_commit_closes(self, tmp_path: Path) -> None:
        with (  # noqa: PT012
            rewriter.connect(tmp_path, engine="duckdb") as other,
            pytest.raises(rewriter.OperationalError) as caught,
            rewriter.connect(tmp_path, engine="duckdb") as connection,
        ):
            connection.execute("CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
            connection.execute("START TRANSACTION")
            connection.execute("INSERT OVERWRITE t VALUES (1, 1)")
            other.execute("INSERT OVERWRITE t VALUES (2, 1)")
        assert caught.value.condition == "CONCURRENT_WRITE"
        with pytest.raises(rewriter.InterfaceError):
            connection.cursor()

    def test_a_closed_connection(self, tmp_path: Path) -> None:
        with rewriter.connect(tmp_path, engine="duckdb") as connection:
            connection.close()


class TestAutocommit:
    @pytest.fixture
    def two(self, tmp_path: Path) -> Iterator[tuple[dbapi.Connection, dbapi.Connection]]:
        """A connection without autocommit, and one with it. There are a managed table ``t`` and an external ``e``."""
        with (
            rewriter.connect(tmp_path / "w", engine="duckdb") as other,
            rewriter.connect(tmp_path / "w", engine="duckdb", autocommit=False) as connection,
        ):
            other.execute("CREATE TABLE t (a INT)")
            other.execute("CREATE TABLE u (a INT)")
            (tmp_path / "e").mkdir()
            other.execute(f"CREATE EXTERNAL TABLE e (a INT) STORED AS PARQUET LOCATION '{tmp_path / 'e'}'")
            yield connection, other

    def count(self, connection: dbapi.Connection, table: str = "t") -> object:
        (row,) = connection.execute(f"SELECT COUNT(*) FROM {table}").fetchall()
        return row[0]

    def test_the_default(self, connection: dbapi.Connection) -> None:
        assert connection.autocommit is True
        with pytest.raises(rewriter.InterfaceError):
            connection.autocommit = 1  # type: ignore[assignment]

    def test_a_statement_opens_a_transaction(self, two: tuple[dbapi.Connection, dbapi.Connection]) -> None:
        connection, other = two
        assert not connection.session.in_transaction
        connection.execute("INSERT INTO t VALUES (1)")
        connection.cursor().executemany("INSERT INTO t VALUES (?)", [(2,), (3,)])
        assert self.count(other) == 0
        connection.commit()
        assert self.count(other) == 3
        connection.execute("INSERT INTO t VALUES (4)")
        connection.rollback()
        assert (self.count(other), self.count(connection)) == (3, 3)

    def test_reads_see_one_snapshot(self, two: tuple[dbapi.Connection, dbapi.Connection]) -> None:
        connection, other = two
        assert self.count(connection) == 0
        other.execute("INSERT INTO t VALUES (1)")
        assert self.count(connection) == 0
        connection.rollback()
        assert self.count(connection) == 1

    @pytest.mark.parametrize("statement", ["INSERT INTO e VALUES (1)", "VACUUM", "ANALYZE TABLE u COMPUTE STATISTICS"])
    def test_statements_that_no_transaction_takes(
        self, two: tuple[dbapi.Connection, dbapi.Connection], statement: str
    ) -> None:
        connection, other = two
        connection.execute("SELECT * FROM t").fetchall()
        connection.execute(statement)  # Nothing is pending.
        assert not connection.session.in_transaction
        connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(rewriter.NotSupportedError) as caught:
            connection.execute(statement)
        assert caught.value.condition == "NOT_IN_TRANSACTION"
        connection.commit()
        connection.execute(statement)
        assert self.count(other, "e") == (2 if "INSERT" in statement else 0)

    def test_an_explicit_transaction(self, two: tuple[dbapi.Connection, dbapi.Connection]) -> None:
        connection, other = two
        connection.execute("SELECT * FROM t").fetchall()
        connection.execute("START TRANSACTION")
        with pytest.raises(rewriter.NotSupportedError):
            connection.execute("INSERT INTO e VALUES (1)")
        connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(rewriter.ProgrammingError):
            connection.execute("START TRANSACTION")
        connection.execute("COMMIT")
        connection.execute("COMMIT")
        connection.execute("ROLLBACK")
        assert self.count(other) == 1

    def test_a_change(self, two: tuple[dbapi.Connection, dbapi.Connection]) -> None:
        connection, other = two
        connection.execute("SELECT * FROM t").fetchall()
        connection.autocommit = True
        assert not connection.session.in_transaction
        connection.execute("INSERT INTO t VALUES (1)")
        connection.autocommit = False
        connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(rewriter.ProgrammingError) as caught:
            connection.autocommit = True
        assert caught.value.condition == "TRANSACTION_ALREADY_OPEN"
        connection.rollback()
        connection.autocommit = True
        assert self.count(other) == 1

    def test_a_new_warehouse(self, tmp_path: Path) -> None:
        with rewriter.connect(tmp_path / "new", engine="duckdb", autocommit=False) as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
            connection.commit()
            connection.execute("CREATE TABLE t (a INT)")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.rollback()
            assert self.count(connection) == 0


def test_threads_with_connections_of_their_own(tmp_path: Path) -> None:
    """``threadsafety`` is 1: threads share the module."""
    rewriter.connect(tmp_path, engine="duckdb").execute("CREATE TABLE t (i INT, n INT)")
    barrier = threading.Barrier(4)

    def work(i: int) -> int:
        with rewriter.connect(tmp_path, engine="duckdb") as own:
            barrier.wait()
            for n in range(5):
                own.cursor().executemany("INSERT INTO t VALUES (?, ?)", [(i, n), (i, n)])
            rows = own.execute("SELECT n FROM t WHERE i = ? ORDER BY n", [i]).fetchall()
            assert rows == [(n,) for n in range(5) for _ in range(2)]
            return len(rows)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [10] * 4
    with rewriter.connect(tmp_path, engine="duckdb") as connection:
        assert connection.execute("SELECT COUNT(*), COUNT(DISTINCT i) FROM t").fetchall() == [(40, 4)]


class TestWhatIsKnownOfAStatement:
    """``query_id``, ``rewritten_sql``, the amounts that were avoided, and warnings of Python."""

    @pytest.fixture
    def cursor(self, connection: dbapi.Connection) -> dbapi.Cursor:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)")
        cursor.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
        cursor.execute("CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))")
        cursor.execute("INSERT INTO hours VALUES (1, '2013-01-01-00')")
        cursor.execute("INSERT INTO hours VALUES (2, '2013-01-01-02')")
        cursor.execute("SET rewriter.partial_data = true")
        return cursor

    PARTIAL = "SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T03')"

    def test_each_execution_has_its_own_id(self, cursor: dbapi.Cursor) -> None:
        seen = [cursor.query_id]
        for sql in ("SELECT 1", "SELECT 1", "CREATE TABLE t (a INT)"):
            cursor.execute(sql)
            seen.append(cursor.query_id)
            assert cursor.query_id == cursor.connection.session.query_id
        for sql in ("SELEC 1", "SELECT nothing FROM hours"):
            with pytest.raises(rewriter.DatabaseError):
                cursor.execute(sql)
            seen.append(cursor.query_id)
        cursor.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
        seen.append(cursor.query_id)
        cursor.executemany("INSERT INTO t SELECT ?", [(1,), (2,)])
        seen.append(cursor.query_id)
        assert len({str(uuid.UUID(id_)) for id_ in seen}) == len(seen)

    def test_the_id_belongs_to_the_cursor(self, cursor: dbapi.Cursor) -> None:
        other = cursor.connection.session
        first = cursor.execute("SELECT n FROM hours").query_id
        other.execute("SELECT 2")
        assert cursor.query_id == first
        with pytest.raises(rewriter.InterfaceError):
            cursor.execute(1)  # type: ignore[arg-type]
        assert cursor.query_id == first
        cursor.close()
        assert cursor.query_id is None

    def test_the_rewritten_text_runs(self, cursor: dbapi.Cursor) -> None:
        with pytest.warns(rewriter.PartialResultWarning):
            rows = cursor.execute(self.PARTIAL).fetchall()
        rewritten = cursor.rewritten_sql
        assert rewritten is not None
        assert "FROM hours" in rewritten
        assert "FROM c" not in rewritten
        assert cursor.execute(rewritten).fetchall() == rows
        cursor.execute("INSERT INTO hours SELECT 3, '2013-01-01-05'")
        assert cursor.rewritten_sql == "SELECT 3, '2013-01-01-05'"
        assert cursor.execute("SHOW TABLES").rewritten_sql is None

    def test_read_and_avoided_are_the_whole(self, cursor: dbapi.Cursor) -> None:
        def stats(sql: str) -> Stats:
            found = cursor.execute(sql).stats
            assert found is not None
            return found

        whole = stats("SELECT n FROM hours")
        assert whole.avoided == Amount()
        assert (whole.partitions, whole.files) == (2, 2)
        one = stats("SELECT n FROM hours WHERE dt = '2013-01-01-02'")
        assert one.avoided == Amount(1, 1, whole.bytes - one.bytes)
        assert one.avoided.bytes > 0
        assert one.planning_seconds > 0
        assert one.execution_seconds > 0
        both = stats("SELECT h.n FROM hours h JOIN (SELECT * FROM hours WHERE dt = 'x') g ON h.n = g.n")
        assert both.avoided == Amount()
        written = stats("CREATE TABLE copy AS SELECT * FROM hours WHERE dt < '2013-01-01-01'")
        assert written.avoided.partitions == 1
        assert stats("SELECT 1").avoided == Amount()
        # The amounts are those of the statement's state.
        cursor.execute("SELECT n FROM hours WHERE dt = '2013-01-01-02'")
        cursor.connection.session.execute("ALTER TABLE hours DROP PARTITION (dt = '2013-01-01-00')")
        assert cursor.stats is not None
        assert cursor.stats.avoided.partitions == 1

    def test_in_a_transaction_the_own_rows_count(self, cursor: dbapi.Cursor) -> None:
        cursor.execute("START TRANSACTION")
        cursor.execute("INSERT INTO hours VALUES (3, '2013-01-01-05')")
        stats = cursor.execute("SELECT n FROM hours WHERE dt = '2013-01-01-05'").stats
        assert stats is not None
        assert (stats.partitions, stats.avoided.partitions) == (1, 2)

    def test_of_an_external_table_partitions_are_known(self, cursor: dbapi.Cursor, tmp_path: Path) -> None:
        cursor.execute(
            f"CREATE EXTERNAL TABLE e (n BIGINT) PARTITIONED BY (dt STRING) STORED AS PARQUET LOCATION '{tmp_path}/e'"
        )
        cursor.execute("INSERT INTO e SELECT * FROM hours")
        stats = cursor.execute("SELECT n FROM e WHERE dt = '2013-01-01-02'").stats
        assert stats is not None
        assert (stats.files, stats.avoided) == (1, Amount(1, 0, 0))

    def test_after_the_connection_is_closed(self, tmp_path: Path) -> None:
        with rewriter.connect(tmp_path, engine="duckdb") as own:
            own.execute("CREATE TABLE p (a INT) PARTITIONED BY (d INT)")
            own.execute("INSERT INTO p VALUES (1, 1), (2, 2)")
            stats = own.execute("SELECT a FROM p WHERE d = 1").stats
            assert stats is not None
        assert (stats.avoided.partitions, stats.avoided.files) == (1, 0)  # The file is a packed one.

    def test_a_partial_result_is_a_warning_of_python(self, cursor: dbapi.Cursor) -> None:
        with pytest.warns(rewriter.PartialResultWarning, match="partial data: c lacks") as caught:
            cursor.execute(self.PARTIAL)
        assert [str(warning.message) for warning in caught] == cursor.warnings
        assert caught[0].filename == __file__
        with pytest.warns(rewriter.Warning) as caught:
            cursor.connection.execute(self.PARTIAL)  # type: ignore[attr-defined]
        assert [warning.filename for warning in caught] == [__file__]

    def test_filters_choose(self, cursor: dbapi.Cursor) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", rewriter.PartialResultWarning)
            with pytest.raises(rewriter.PartialResultWarning):
                cursor.execute(self.PARTIAL)
            cursor.execute("SELECT SUM(n) FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-01T01')")
            assert cursor.fetchall() == [(1,)]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore", rewriter.Warning)
            cursor.execute(self.PARTIAL)
        assert caught == []

    def test_other_warnings(self, cursor: dbapi.Cursor) -> None:
        with pytest.warns(rewriter.Warning, match='"n" is a string') as caught:
            cursor.execute('SELECT "n" FROM hours')
        assert caught[0].category is rewriter.Warning

    def test_pandas(self, cursor: dbapi.Cursor) -> None:
        pandas = pytest.importorskip("pandas")
        with pytest.warns() as caught:
            frame = pandas.read_sql(self.PARTIAL, cursor.connection)
        assert frame.iloc[0, 0] == 3
        partial = [warning for warning in caught if warning.category is rewriter.PartialResultWarning]
        assert [warning.filename for warning in partial] == [__file__]
