"""Queries whose text ran before: the session keeps their plans and reads while the catalog stays the same."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.catalog.reading import snapshot_reads
from rewriter.catalog.reading.snapshot_reads import CatalogState
from rewriter.errors import Error
from rewriter.exec.batch_stream import BatchStream
from rewriter.exec.duckdb import engine as duckdb_engine
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery
from rewriter.statements.query import select

SETUP = (
    "CREATE TABLE hours (id BIGINT, amount BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE days (id BIGINT, amount BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE TABLE spare (id BIGINT, amount BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE CUBE sales (id BIGINT, amount BIGINT MEASURE SUM, sold TIMESTAMP TIME)",
    "CREATE FACT all_sales OF CUBE sales STORED IN ("
    "TABLE hours PERIOD HOURLY PARTITIONED BY sold AS (dt = 'yyyy-MM-dd-HH'), "
    "TABLE days PERIOD DAILY PARTITIONED BY sold AS (dt = 'yyyy-MM-dd'))",
    "CREATE VIEW totals AS SELECT SUM(amount) AS total FROM hours",
    "INSERT INTO hours PARTITION (dt) SELECT id, id * 10, concat('2024-01-01-', substr(concat('0', id), -2)) "
    f"FROM VALUES {', '.join(f'({hour})' for hour in range(24))} AS t(id)",
)
QUERIES = (
    "SELECT SUM(amount) AS total FROM sales WHERE sold >= '2024-01-01' AND sold < '2024-01-02'",
    "SELECT id, amount, dt FROM hours ORDER BY dt, id",
    "SELECT * FROM totals",
    "SELECT COUNT(*) AS n, MAX(dt) AS last FROM hours WHERE dt >= '2024-01-01-20'",
    "SELECT COUNT(*) AS n FROM spare",
)
#: Each may change what a query means or returns. "!" is run by another session.
CHANGES = (
    "REFRESH FACT all_sales",
    "INSERT INTO hours PARTITION (dt = '2024-01-01-05') VALUES (100, 1000)",
    "!INSERT INTO hours PARTITION (dt = '2024-01-01-06') VALUES (101, 1001)",
    "SET rewriter.periods = 'HOURLY'",
    "RESET rewriter.periods",
    "ALTER TABLE hours DROP PARTITION (dt = '2024-01-01-21')",
    "SET rewriter.partial_data = true",
    "SET rewriter.partial_data = false",
    "!ALTER TABLE hours PARTITION (dt = '2024-01-01-22') RENAME TO PARTITION (dt = '2024-01-01-21')",
    "INSERT INTO spare PARTITION (dt = '2024-01-01-22') VALUES (7, 70)",
    "!ALTER TABLE hours EXCHANGE PARTITION (dt = '2024-01-01-22') WITH TABLE spare",
    "CREATE TEMPORARY TABLE hours (id BIGINT, amount BIGINT, dt STRING)",
    "INSERT INTO hours VALUES (1, 2, '2024-01-01-23')",
    "DROP TABLE hours",
    "CREATE OR REPLACE VIEW totals AS SELECT MIN(amount) AS least, MAX(amount) AS most FROM hours",
    "!ALTER TABLE spare ADD COLUMNS (note STRING)",
    "CREATE DATABASE other",
    "USE other",
    "CREATE TABLE spare (x INT)",
    "USE default",
    "START TRANSACTION",
    "INSERT INTO spare PARTITION (dt = 'x') VALUES (1, 1, 'n')",
    "ROLLBACK",
    "!TRUNCATE TABLE hours PARTITION (dt = '2024-01-01-00')",
    "ALTER TABLE hours COMPACT 'major'",
    "!DROP TABLE spare",
    "CREATE TABLE spare (id BIGINT) PARTITIONED BY (dt STRING)",
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as connection:
        cursor = connection.cursor()
        for statement in SETUP:
            cursor.execute(statement)
    return tmp_path / "warehouse"


@pytest.fixture
def session(warehouse: Path) -> Iterator[Any]:
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        yield connection.cursor()


def outcome(cursor: Any, sql: str, parameters: Any = None) -> object:
    """Returns the names and rows of a query, or the condition of its error."""
    try:
        cursor.execute(sql, parameters)
    except Error as error:
        return error.condition
    return [column[0] for column in cursor.description], cursor.fetchall()


def compare_with_unprepared(warehouse: Path, forget: Callable[[Any], None]) -> None:
    """Runs the changes in one session, and each query before and after each of them, twice. The same session's result
    without anything prepared is the truth.
    """
    with (
        rewriter.connect(warehouse, engine="duckdb") as connection,
        rewriter.connect(warehouse, engine="duckdb") as other,
    ):
        cursor = connection.cursor()
        for change in ("SELECT 1", *CHANGES):
            (other.cursor() if change.startswith("!") else cursor).execute(change.removeprefix("!"))
            outcomes = [outcome(cursor, query) for query in QUERIES]
            assert outcomes == [outcome(cursor, query) for query in QUERIES], change
            forget(connection)
            assert outcomes == [outcome(cursor, query) for query in QUERIES], change


def forget_all(connection: Any) -> None:
    connection.session._reads = None
    connection.session._prepared = type(connection.session._prepared)()


def test_a_prepared_query_returns_what_an_unprepared_one_does(warehouse: Path) -> None:
    compare_with_unprepared(warehouse, forget_all)


def test_a_state_without_its_newest_commit_would_be_found(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CatalogState, "__eq__", lambda self, other: isinstance(other, CatalogState))
    with pytest.raises(AssertionError):
        compare_with_unprepared(warehouse, forget_all)


def test_a_key_without_settings_would_be_found(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(query: Any, database: str, *_: object) -> Any:
        return query.text, database

    monkeypatch.setattr(select, "query_key", blind)
    with pytest.raises(AssertionError):
        compare_with_unprepared(warehouse, forget_all)


def test_a_text_that_ran_before_is_neither_planned_nor_translated(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [outcome(session, query) for query in QUERIES]

    def fail(*_: object) -> None:
        raise AssertionError("called")

    monkeypatch.setattr(select, "plan_query", fail)
    monkeypatch.setattr(duckdb_engine, "translate", fail)
    assert [outcome(session, query) for query in QUERIES] == expected


def test_the_plan_of_a_query_about_now_is_not_kept(session: Any) -> None:
    sql = "SELECT SUM(amount) AS total FROM sales WHERE time_range_in(sold, 'now - 2 hours', 'now')"
    for now, total in (("2024-01-01T02:00", 10), ("2024-01-01T04:00", 50), ("2024-01-01T02:00", 10)):
        session.execute(f"SET rewriter.now = '{now}'")
        session.execute(sql)
        assert session.fetchall() == [(total,)]


def test_a_window_relative_to_now_is_not_kept(warehouse: Path) -> None:
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        for statement in (
            "DROP FACT all_sales",
            "CREATE FACT recent OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY sold AS "
            "(dt = 'yyyy-MM-dd-HH') START 'now - 10 hours')",
            "SET rewriter.partial_data = true",
        ):
            cursor.execute(statement)
        for now, total in (("2024-01-01T10:00", 2760), ("2024-01-02T00:00", 1850), ("2024-01-01T10:00", 2760)):
            cursor.execute(f"SET rewriter.now = '{now}'")
            cursor.execute("SELECT SUM(amount) FROM sales WHERE sold >= '2024-01-01' AND sold < '2024-01-02'")
            assert cursor.fetchall()[0][0] == total


def test_files_of_an_external_table_are_listed_each_time(session: Any, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE found (id BIGINT) STORED AS PARQUET LOCATION '{tmp_path / 'found'}'")
    (tmp_path / "found").mkdir(exist_ok=True)
    for number in range(3):
        pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), tmp_path / "found" / f"{number}.parquet")
        session.execute("SELECT COUNT(*) FROM found")
        assert session.fetchall() == [(number + 1,)]
        session.execute(f"SELECT COUNT(*) FROM parquet.`{tmp_path / 'found'}`")
        assert session.fetchall() == [(number + 1,)]


def test_a_query_of_an_external_table_reads_the_files_that_are_there_now(session: Any, tmp_path: Path) -> None:
    """Its plan, its statement and the columns of its files are kept while the files have their sizes and times."""
    directory = tmp_path / "found"
    directory.mkdir()

    def write(name: str, column: str, values: pa.Array, changed: int) -> None:
        pq.write_table(pa.table({column: values}), directory / name)
        os.utime(directory / name, ns=(changed, changed))

    past = 1_700_000_000 * 10**9
    write("a.parquet", "id", pa.array([1, 2], pa.int32()), past)
    session.execute(f"CREATE EXTERNAL TABLE found (id BIGINT, x DOUBLE) STORED AS PARQUET LOCATION '{directory}'")
    queries = ("SELECT COUNT(id), SUM(id), MAX(x) FROM found", "SELECT id, x FROM found ORDER BY id LIMIT 10")
    steps = (
        lambda: None,
        lambda: write("b.parquet", "id", pa.array([3], pa.int64()), past),
        lambda: write("b.parquet", "x", pa.array([float("nan")]), past + 1),
        lambda: write("a.parquet", "ID", pa.array([9, 8], pa.int32()), past + 2),
        lambda: (directory / "b.parquet").unlink(),
        lambda: write("a.parquet", "id", pa.array([7], pa.int64()), time.time_ns()),
    )
    outcomes = []
    for step in steps:
        step()
        outcomes.append([outcome(session, query) for query in (*queries, *queries)])
        forget_all(session.connection)
        assert repr(outcomes[-1][:2]) == repr(outcomes[-1][2:])
        assert repr([outcome(session, query) for query in queries]) == repr(outcomes[-1][:2])
    assert [repr(rows[0][1]) for rows in outcomes] == [  # type: ignore[index]
        "[(2, 3, None)]", "[(3, 6, None)]", "[(2, 3, nan)]", "[(2, 17, nan)]", "[(2, 17, None)]", "[(1, 7, None)]"
    ]  # fmt: skip
    shutil.rmtree(directory)
    assert [outcome(session, query) for query in queries] == ["PATH_NOT_FOUND", "PATH_NOT_FOUND"]


def test_a_query_of_files_that_do_not_change_is_not_planned_again(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "found").mkdir()
    pq.write_table(pa.table({"id": pa.array([5], pa.int64())}), tmp_path / "found" / "a.parquet")
    os.utime(tmp_path / "found" / "a.parquet", (1_700_000_000, 1_700_000_000))
    session.execute(f"CREATE EXTERNAL TABLE found (id BIGINT) STORED AS PARQUET LOCATION '{tmp_path / 'found'}'")
    expected = outcome(session, "SELECT SUM(id) FROM found")
    monkeypatch.setattr(select, "plan_query", None)
    monkeypatch.setattr(duckdb_engine, "translate", None)
    monkeypatch.setattr(DuckDBEngine, "_complete", None)
    assert outcome(session, "SELECT SUM(id) FROM found") == expected


@pytest.mark.parametrize("order", [(1, True, "1", 1.0), ("1", True, 1, 1.0)])
def test_equal_values_of_different_types_are_different_parameters(session: Any, order: tuple[object, ...]) -> None:
    for value in order:
        session.execute("SELECT ? AS value, id FROM hours WHERE dt = '2024-01-01-01'", [value])
        assert repr(session.fetchall()) == repr([(value, 1)])


def test_much_is_not_kept(session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_reads, "MOST_ROWS", 3)
    outcome(session, QUERIES[1])
    assert session.connection.session._reads is None


class RecordingEngine(DuckDBEngine):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def stream_rows(self, query: EngineQuery) -> BatchStream:
        self.names += [relation.name for relation in query.relations]
        return super().stream_rows(query)


def test_sessions_that_share_an_engine_with_views_never_use_one_name(warehouse: Path) -> None:
    """Relations are views of an engine like Spark. DuckDB reads them in the statement, under the same names each time,
    so that its translations are kept.
    """
    engine = RecordingEngine()
    engine.name = "spark"
    for _ in range(3):
        with rewriter.connect(warehouse, engine=engine) as connection:
            outcome(connection.cursor(), "SELECT SUM(id) AS n FROM spare")
    engine.close()
    assert len(set(engine.names)) == 3
