"""The rows that a sink takes: those of a query, batch by batch, on both engines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.dbapi import Connection
from rewriter.errors import Error
from rewriter.exec.engine import Engine, EngineQuery
from rewriter.session import Session


class Sink:
    """Passes its rows to a function. ``dynamic`` are its partition columns."""

    def __init__(self, write: Callable[[Iterable[pa.RecordBatch]], object], *dynamic: str) -> None:
        self._write = write
        self._dynamic = dynamic

    def set_static_partition(self, partition: Mapping[str, str]) -> None:
        pass

    def get_dynamic_partition_field_names(self) -> tuple[str, ...]:
        return self._dynamic

    def enable_dynamic_partition_grouping(self) -> bool:
        return True

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._write(batches)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns a relation of a million rows."""
    path = tmp_path_factory.mktemp("numbers") / "numbers.parquet"
    pq.write_table(pa.table({"id": pa.array(range(1_000_000), pa.int64())}), path, row_group_size=100_000)
    return f"parquet.`{path}`"


@pytest.fixture
def connection(engine: Engine, tmp_path: Path) -> Iterator[Connection]:
    with Connection(Session(tmp_path / "warehouse", engine)) as opened:
        yield opened


VALUES = """
SELECT * FROM VALUES
  (1Y, 1S, 1, 1L, 1.5F, 1.5D, 1.50BD, true, 'é', DATE '2013-01-01', TIMESTAMP '2013-03-10 02:30:00.123456'),
  (NULL, NULL, NULL, NULL, CAST('NaN' AS FLOAT), -0.0D, -99999999.99BD, false, '', NULL, NULL)
"""


@pytest.mark.parametrize(
    "sql",
    [
        VALUES,
        "SELECT 1 AS a, 2 AS A, 'x' AS `a b``c`",
        "SELECT id, id % 7 AS k FROM {numbers} WHERE id < 300000 ORDER BY k DESC, id",
        "SELECT id FROM {numbers} WHERE id < 0",
        "SELECT NULL AS n",
    ],
)
def test_the_rows_are_those_of_the_query(connection: Connection, numbers: str, sql: str) -> None:
    query = sql.format(numbers=numbers)
    taken: list[pa.RecordBatch] = []
    expected = connection.session.execute(query).arrow_table()
    assert connection.write(query, Sink(taken.extend)) == expected.num_rows
    table = pa.Table.from_batches(taken, expected.schema)
    assert table.schema == expected.schema
    assert [*map(repr, table.to_pylist())] == [*map(repr, expected.to_pylist())]
    # The next query of the connection sees nothing of it.
    assert connection.session.execute(query).arrow_table().num_rows == expected.num_rows


def test_values_that_only_spark_has(spark: Engine) -> None:
    query = EngineQuery(
        "SELECT named_struct('a', 1, 'b', array(map('k', TIMESTAMP '2013-01-01 00:00:00'))) AS s, "
        "INTERVAL '1 02:03:04.5' DAY TO SECOND AS i, X'00FF' AS x, TIMESTAMP_NTZ '2013-01-01 00:00:00' AS n"
    )
    expected = spark.execute(query).read_all()
    with spark.batches(query) as batches:
        assert pa.Table.from_batches(list(batches)) == expected


def test_rows_are_sorted_for_a_grouped_sink(connection: Connection, numbers: str) -> None:
    taken: list[pa.RecordBatch] = []
    sql = f"SELECT id, id % 2000 AS k FROM {numbers} WHERE id < 500000"
    assert connection.write(sql, Sink(taken.extend, "k"), {"s": "x"}) == 500_000
    table = pa.Table.from_batches(taken)
    keys = table.column("k").to_pylist()
    assert keys == sorted(keys)
    assert sorted(table.column("id").to_pylist()) == list(range(500_000))
    assert set(table.column("s").to_pylist()) == {"x"}


def test_a_sink_runs_in_the_thread_of_its_caller(connection: Connection, numbers: str) -> None:
    threads: list[threading.Thread] = []

    def write(batches: Iterable[pa.RecordBatch]) -> None:
        threads.append(threading.current_thread())
        assert sum(batch.num_rows for batch in batches) == 1000

    connection.write(f"SELECT id FROM {numbers} WHERE id < 1000", Sink(write))
    assert threads == [threading.current_thread()]


def test_a_sink_may_ask_the_same_connection(connection: Connection, numbers: str) -> None:
    connection.execute("CREATE TABLE t (n BIGINT)")

    def write(batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            connection.append("t", batch)

    assert connection.write(f"SELECT id AS n FROM {numbers} WHERE id < 300000", Sink(write)) == 300_000
    assert connection.execute("SELECT COUNT(DISTINCT n) FROM t").fetchall() == [(300_000,)]


def test_a_sink_may_stop_early(connection: Connection, numbers: str) -> None:
    taken: list[pa.RecordBatch] = []
    rows = connection.write(f"SELECT id FROM {numbers}", Sink(lambda batches: taken.extend(islice(batches, 1))))
    assert rows == taken[0].num_rows < 1_000_000
    assert connection.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("is_swallowed", [False, True])
def test_an_error_of_the_query_is_its_own(connection: Connection, numbers: str, is_swallowed: bool) -> None:
    """Also where the sink takes it for something else."""
    ends: list[Exception] = []

    def write(batches: Iterable[pa.RecordBatch]) -> None:
        try:
            for _ in batches:
                pass
        except Exception as error:
            ends.append(error)
            if not is_swallowed:
                raise ValueError("no more") from None

    sql = f"SELECT CAST(id AS INT) + 2146483649 AS n FROM {numbers}"
    with pytest.raises(Error) as caught:
        connection.write(sql, Sink(write))
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"
    assert caught.value.position is not None
    assert all(isinstance(error, Error) for error in ends)


def test_duckdb_passes_rows_before_it_has_all(duckdb: Engine, tmp_path: Path, numbers: str) -> None:
    """The rows are wider than what DuckDB computes ahead, so it waits for the sink before it comes to the last ones."""
    rows: list[int] = []
    with Connection(Session(tmp_path, duckdb)) as connection, pytest.raises(Error) as caught:
        connection.write(
            f"SELECT CAST(id AS INT) + 2146483649 AS n, repeat(CAST(id AS STRING), 40) AS s FROM {numbers}",
            Sink(lambda batches: rows.extend(batch.num_rows for batch in batches)),
        )
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"
    assert 0 < sum(rows) < 1_000_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_memory_does_not_grow_with_the_rows(connection: Connection, numbers: str) -> None:
    """Of 600 MB, this process holds a few batches. DuckDB would sort them in this process, Spark does so elsewhere."""
    dynamic = ("k",) if connection.session.engine_name == "spark" else ()
    sampled: list[int] = []
    connection.execute("SELECT 1").fetchall()
    before = resident_bytes()
    sql = f"SELECT id % 2000 AS k, repeat(CAST(1000000 + id AS STRING), 86) AS s FROM {numbers}"
    sink = Sink(lambda batches: sampled.extend(resident_bytes() for _ in batches), *dynamic)
    assert connection.write(sql, sink) == 1_000_000
    assert len(sampled) > 5
    assert max(sampled) - before < 300_000_000
