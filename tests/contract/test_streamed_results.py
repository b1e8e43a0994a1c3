"""Results are computed while they are read, on both engines; a stream keeps its snapshot, its files and its errors."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rewriter
from rewriter.catalog.store.leases import Leases
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.exec.spark.spilled_rows import pack_rows
from rewriter.session import Session

ROWS = 400_000
QUERY = "SELECT n, s FROM t ORDER BY n"


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def shared_engine(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.getfixturevalue(request.param)
    return engine


@pytest.fixture(scope="module")
def warehouse(shared_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose files are too big to be read at once for a faster start."""
    path = tmp_path_factory.mktemp("streams") / "w"
    with Connection(Session(path, shared_engine)) as connection:
        connection.execute("CREATE TABLE t (n BIGINT, s STRING, x DOUBLE) PARTITIONED BY (p INT)")
        table = pa.table(
            {
                "n": pa.array(range(ROWS), pa.int64()),
                "s": [f"{i * 2654435761 % 2**32:010}-{i * 40503 % 65536}" for i in range(ROWS)],
                "x": [i * 0.1 for i in range(ROWS)],
                "p": pa.array([i % 4 for i in range(ROWS)], pa.int32()),
            }
        )
        connection.append("t", table)
    return path


@pytest.fixture
def connection(warehouse: Path, shared_engine: Engine) -> Iterator[Connection]:
    with Connection(Session(warehouse, shared_engine)) as opened:
        yield opened


def is_open(connection: Connection) -> bool:
    """Returns whether a result of the connection still has rows to compute."""
    return any(stream._batches is not None for stream in connection.session._results)


def test_all_ways_to_fetch(connection: Connection) -> None:
    cursor = connection.execute(QUERY)
    assert is_open(connection)
    assert cursor.rowcount == -1
    assert cursor.fetchone() == (0, "0000000000-0")
    assert [row[0] for row in cursor.fetchmany(5000)] == list(range(1, 5001))
    with cursor.fetch_record_batches() as reader:
        assert reader.schema.names == ["n", "s"]
        first = reader.read_next_batch()
        assert first.column(0)[0].as_py() == 5001
        assert first.num_rows < ROWS / 2
        rest = reader.read_all()
    assert first.num_rows + rest.num_rows == ROWS - 5001
    assert rest.column(0)[-1].as_py() == ROWS - 1
    assert cursor.fetchall() == []
    assert cursor.fetchone() is None
    assert not is_open(connection)


def test_the_rows_are_those_of_the_table(connection: Connection) -> None:
    expected = {"count": ROWS, "sum": ROWS * (ROWS - 1) // 2}
    rows = connection.execute("SELECT n, p FROM t").fetchall()
    assert {"count": len(rows), "sum": sum(row[0] for row in rows)} == expected
    assert all(n % 4 == p for n, p in rows)
    table = pa.table(connection.execute("SELECT n, p FROM t"))
    assert (table.num_rows, sum(table.column("n").to_pylist())) == (ROWS, expected["sum"])
    assert table.schema == connection.execute("SELECT n, p FROM t LIMIT 0").fetch_arrow_table().schema
    frame = connection.execute("SELECT n, p FROM t").fetch_df()
    assert (len(frame), int(frame["n"].sum())) == (ROWS, expected["sum"])
    of_polars = connection.execute("SELECT n, p FROM t").fetch_polars()
    assert (of_polars.height, of_polars["n"].sum()) == (ROWS, expected["sum"])
    streamed = connection.execute(QUERY)
    assert [row[0] for row in streamed] == list(range(ROWS))


def test_a_small_result_is_complete(connection: Connection) -> None:
    cursor = connection.execute("SELECT p, COUNT(*) FROM t GROUP BY p ORDER BY p")
    assert cursor.fetchall() == [(p, ROWS // 4) for p in range(4)]
    assert pa.table(connection.execute("SELECT 1 AS a, 'x' AS b")).to_pydict() == {"a": [1], "b": ["x"]}
    assert pa.table(connection.execute("SELECT n FROM t WHERE n < 0")).num_rows == 0
    assert connection.execute("SHOW PARTITIONS t").fetch_record_batches().read_all().num_rows == 4


def test_other_statements_leave_a_stream_alone(connection: Connection) -> None:
    """It reads its own snapshot, whatever is written, replaced or dropped meanwhile, by this connection or others."""
    connection.execute("CREATE TABLE copied AS SELECT n, s FROM t")
    first, second = connection.execute("SELECT n FROM copied ORDER BY n"), connection.execute("SELECT n FROM copied")
    assert first.fetchmany(2) == [(0,), (1,)]
    connection.execute("INSERT INTO copied VALUES (-1, 'new')")
    connection.execute("INSERT OVERWRITE copied SELECT n, s FROM t WHERE n < 10")
    assert connection.execute("SELECT COUNT(*) FROM copied").fetchall() == [(10,)]
    connection.execute("DROP TABLE copied")
    connection.execute("VACUUM")
    assert len(first.fetchall()) == ROWS - 2
    assert sum(batch.num_rows for batch in second.fetch_record_batches()) == ROWS


def test_a_stream_holds_its_files(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease of the process is as old as the oldest stream, until it ends."""
    monkeypatch.setattr("rewriter.catalog.store.leases.LEASED_AFTER_SECONDS", 0.0)

    def held() -> int:
        gc.collect()
        leases: Leases = connection.session.catalog._database.leases
        return len(list(leases._snapshots))

    connection.session._reads = None
    before = held()
    cursor = connection.execute("SELECT n, s, x FROM t")
    assert held() == before + 1
    cursor.fetchmany(10)
    assert held() == before + 1
    cursor.close()
    connection.session._reads = None
    assert held() == before


@pytest.mark.parametrize("end", ["close", "execute", "forgotten", "connection"])
def test_an_end_before_the_last_row(warehouse: Path, shared_engine: Engine, end: str) -> None:
    connection = Connection(Session(warehouse, shared_engine))
    cursor = connection.execute(QUERY)
    reader = cursor.fetch_record_batches()
    reader.read_next_batch()
    assert is_open(connection)
    session = connection.session
    if end == "close":
        cursor.close()
    elif end == "execute":
        assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    elif end == "forgotten":
        del cursor, reader
        gc.collect()
    else:
        connection.close()
        with pytest.raises(rewriter.InterfaceError):
            cursor.fetchone()
    assert not any(stream._batches is not None for stream in session._results)
    if end != "forgotten":
        with pytest.raises(rewriter.InterfaceError, match="closed before its last row"):
            list(reader)
    connection.close()


@pytest.mark.parametrize("fetch", ["fetchall", "fetch_arrow_table", "fetch_df"])
def test_a_late_error(connection: Connection, fetch: str) -> None:
    """It has the condition, the position in the user's text, and the hint of an early one."""
    text = (
        f"SELECT ? AS p, CAST(CASE WHEN n = {ROWS - 1} AND k = 9 THEN 'x' ELSE '1' END AS INT) AS i "
        "FROM t CROSS JOIN (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v(k)"
    )
    with pytest.raises(rewriter.DataError) as caught:
        getattr(connection.execute(text, ["a longer text"]), fetch)()
    assert caught.value.condition == "CAST_INVALID_INPUT"
    assert caught.value.position is not None
    assert caught.value.position.end <= len(text)
    assert caught.value.hint == "Correct the value, or exclude its row with WHERE."
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_batches_in_another_thread(connection: Connection) -> None:
    cursor = connection.execute(QUERY)
    counts: list[int] = []
    thread = threading.Thread(target=lambda: counts.append(cursor.fetch_record_batches().read_all().num_rows))
    thread.start()
    thread.join()
    assert counts == [ROWS]


def test_two_streams_take_turns(connection: Connection) -> None:
    readers = [connection.execute(QUERY).fetch_record_batches() for _ in range(3)]
    counts = [0, 0, 0]
    while any(batches := [next(reader, None) for reader in readers]):
        counts = [count + (batch.num_rows if batch else 0) for count, batch in zip(counts, batches, strict=True)]
    assert counts == [ROWS] * 3


def test_without_rows_to_fetch(connection: Connection) -> None:
    cursor = connection.execute("SET rewriter.partial_data = false")
    assert cursor.fetch_record_batches().read_all().num_rows == 1
    connection.execute("CREATE TABLE IF NOT EXISTS none (a INT)")
    cursor.execute("DROP TABLE none")
    for fetch in (cursor.fetch_record_batches, cursor.fetch_df, cursor.__arrow_c_stream__):
        with pytest.raises(rewriter.InterfaceError):
            fetch()


def test_rows_that_are_certainly_few_are_not_passed_on_by_python_workers(
    spark: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers hold many rows in files, and take longer than a small query."""
    passed_on: list[str] = []

    def packed(frame: Any, directory: str) -> Any:
        passed_on.append(directory)
        return pack_rows(frame, directory)

    monkeypatch.setattr("rewriter.exec.spark.engine.pack_rows", packed)
    with Connection(Session(tmp_path / "w", spark)) as connection:
        connection.execute("CREATE TABLE small (n BIGINT, s STRING) PARTITIONED BY (p INT)")
        connection.execute("INSERT INTO small VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 2)")
        connection.execute("CREATE TABLE large (n BIGINT)")
        connection.execute("INSERT INTO large SELECT id FROM range(300000)")
        for query, is_passed_on in (
            ("SELECT * FROM small", False),
            ("SELECT p, SUM(n) AS n FROM small GROUP BY p UNION ALL SELECT n, p FROM small", False),
            ("SELECT * FROM small, small AS others", True),
            ("SELECT repeat(s, 3) AS s FROM small", True),
            ("SELECT explode(array(n, n)) AS n FROM small", True),
            ("SELECT * FROM range(3)", True),
            ("SELECT n FROM large", True),
        ):
            passed_on.clear()
            rows = connection.execute(query).fetchall()
            assert (bool(passed_on), bool(rows)) == (is_passed_on, True), query
