"""connection.append: Arrow data goes into a table by names, and a batch with an id at most once."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rewriter
from rewriter.errors import (
    AnalysisError,
    DataError,
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ParseError,
)

DAY = dt.date(2013, 1, 1)
ROWS = pa.table({"dt": [DAY, DAY], "s": ["a", None], "x": pa.array([1, 2], pa.int32())})


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.Connection]:
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as opened:
        opened.execute("CREATE TABLE t (x INT, s STRING) PARTITIONED BY (dt DATE)")
        yield opened


def count(connection: rewriter.Connection, table: str = "t") -> int:
    return int(connection.execute(f"SELECT COUNT(x) FROM {table}").fetchall()[0][0])


def test_rows_go_into_their_columns_and_partitions(connection: rewriter.Connection) -> None:
    assert connection.append("t", ROWS).rowcount == 2
    assert connection.append("default.`t`", ROWS.to_batches()[0]).rowcount == 2
    assert connection.append("t", ROWS.drop_columns(["s"]).to_reader()).rowcount == 2
    rows = connection.execute("SELECT x, s, dt FROM t ORDER BY x, s").fetchall()
    assert rows == [(1, None, DAY), (1, "a", DAY), (1, "a", DAY), *[(2, None, DAY)] * 3]
    assert connection.execute("SHOW PARTITIONS t").fetchall() == [("dt=2013-01-01",)]


def test_an_object_that_exports_arrow_data_is_appended(connection: rewriter.Connection) -> None:
    class Frame:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return ROWS.__arrow_c_stream__(requested_schema)

    assert connection.append("t", Frame()).rowcount == 2


def test_no_rows_change_nothing(connection: rewriter.Connection) -> None:
    assert connection.append("t", ROWS.slice(0, 0)).rowcount == 0
    assert connection.execute("SHOW PARTITIONS t").fetchall() == []


def test_a_batch_is_committed_once(connection: rewriter.Connection, tmp_path: Path) -> None:
    assert connection.append("t", ROWS, batch_id="2013-01-01").rowcount == 2
    again = connection.append("t", ROWS, batch_id="2013-01-01")
    assert (again.rowcount, again.warnings) == (
        0,
        ["The batch 2013-01-01 was committed to t before: nothing was written."],
    )
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as other:
        assert other.append("t", ROWS, batch_id="2013-01-01").rowcount == 0
        assert other.append("t", ROWS, batch_id="2013-01-02").rowcount == 2
    connection.execute("CREATE TABLE u (x INT, s STRING, dt DATE)")
    assert connection.append("u", ROWS, batch_id="2013-01-01").rowcount == 2
    assert count(connection) == 4


def test_an_empty_batch_is_committed_too(connection: rewriter.Connection) -> None:
    assert connection.append("t", ROWS.slice(0, 0), batch_id="b").rowcount == 0
    assert connection.append("t", ROWS, batch_id="b").warnings


def test_a_batch_that_failed_was_not_committed(connection: rewriter.Connection) -> None:
    with pytest.raises(DataError):
        connection.append("t", ROWS.set_column(2, "x", pa.array([1, 2**40])), batch_id="b")
    assert connection.append("t", ROWS, batch_id="b").rowcount == 2


def test_of_many_processes_one_commits_a_batch(tmp_path: Path, catalog_url: str | None) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as connection:
        connection.execute("CREATE TABLE t (x INT, s STRING) PARTITIONED BY (dt DATE)")
        written: list[int] = []
        start = threading.Barrier(4)

        def work() -> None:
            with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as own:
                start.wait()
                for number in range(5):
                    written.append(own.append("t", ROWS, batch_id=str(number)).rowcount)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(written) == [0] * 15 + [2] * 5
        assert count(connection) == 10


def test_types_of_arrow_become_those_of_the_table(connection: rewriter.Connection) -> None:
    connection.execute(
        "CREATE TABLE w (b SMALLINT, c DECIMAL(20,0), d TIMESTAMP, e TIMESTAMP, f STRING, g DATE, h INT, j FLOAT)"
    )
    moment = dt.datetime(2013, 1, 1, 5)
    data = pa.table(
        {
            "b": pa.array([255], pa.uint8()),
            "c": pa.array([2**64 - 1], pa.uint64()),
            "d": pa.array([moment], pa.timestamp("ns")),
            "e": pa.array([moment], pa.timestamp("s", "Europe/Berlin")),
            "f": pa.array(["x"]).dictionary_encode(),
            "g": pa.array([DAY], pa.date64()),
            "h": pa.nulls(1),
            "j": pa.array([0.5], pa.float16()),
        }
    )
    assert connection.append("w", data).rowcount == 1
    utc = moment.replace(tzinfo=dt.UTC)
    row = connection.execute("SELECT b, c, d, e, f, g, h, j FROM w").fetchall()
    assert row == [(255, Decimal(2**64 - 1), utc, utc, "x", DAY, None, 0.5)]


def test_decimals_of_arrow_have_at_most_38_digits(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TABLE w (a DECIMAL(5,0), b DECIMAL(38,2), c DECIMAL(9,2))")
    thousands = pa.array([Decimal("-99E3"), None], pa.decimal128(2, -3))
    great = [Decimal("9" * 36 + ".25"), None]
    data = pa.table(
        {"a": thousands, "b": pa.array(great, pa.decimal256(76, 2)), "c": thousands.cast(pa.decimal32(9, 2))}
    )
    assert connection.append("w", data).rowcount == 2
    rows = connection.execute("SELECT a, b, c FROM w WHERE a IS NOT NULL").fetchall()
    assert rows == [(Decimal(-99000), great[0], Decimal("-99000.00"))]
    with pytest.raises(DataError, match="does not fit"):
        connection.append("w", pa.table({"b": pa.array([Decimal(10) ** 40], pa.decimal256(76, 2))}))


class Failing:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise RuntimeError("the source is gone")


def failing_batches() -> Iterator[pa.RecordBatch]:
    yield ROWS.to_batches()[0]
    raise OSError("the source is gone")


@pytest.mark.parametrize(
    ("table", "data", "error", "condition"),
    [
        ("t x", ROWS, ParseError, "PARSE_SYNTAX_ERROR"),
        ("", ROWS, ParseError, "PARSE_SYNTAX_ERROR"),
        ("a.b.", ROWS, ParseError, "PARSE_SYNTAX_ERROR"),
        ("missing", ROWS, AnalysisError, "TABLE_OR_VIEW_NOT_FOUND"),
        (None, ROWS, InterfaceError, "INTERFACE_ERROR"),
        ("t", [1], InterfaceError, "INTERFACE_ERROR"),
        ("t", Failing(), DataError, "INVALID_ARROW_DATA"),
        ("t", pa.chunked_array([[1]]), DataError, "INVALID_ARROW_DATA"),
        ("t", pa.table({}), DataError, "INVALID_ARROW_DATA"),
        ("t", ROWS.drop_columns(["dt"]), AnalysisError, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA"),
        ("t", ROWS.append_column("y", ROWS["x"]), AnalysisError, "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"),
        ("t", ROWS.rename_columns(["dt", "y", "x"]), AnalysisError, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"),
        (
            "t",
            ROWS.rename_columns(["dt", "x", "x"]),
            AnalysisError,
            "INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME",
        ),
        (
            "t",
            ROWS.set_column(2, "x", pa.array(["1", "2"])),
            AnalysisError,
            "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
        ),
        ("t", ROWS.set_column(2, "x", pa.array([dt.time(1), None])), DataError, "INVALID_ARROW_DATA"),
        ("t", ROWS.set_column(2, "x", pa.array([1, 2**40])), DataError, "CAST_OVERFLOW"),
        (
            "t",
            ROWS.set_column(1, "s", pa.array([1, 2], pa.timestamp("ns"))),
            DataError,
            "INVALID_ARROW_DATA",
        ),
        (
            "t",
            pa.RecordBatchReader.from_batches(ROWS.schema, failing_batches()),
            DataError,
            "INVALID_ARROW_DATA",
        ),
    ],
)
def test_wrong_data_is_an_error_and_writes_nothing(
    connection: rewriter.Connection, table: Any, data: Any, error: type[Error], condition: str
) -> None:
    with pytest.raises(error) as caught:
        connection.append(table, data)
    assert caught.value.condition == condition
    assert caught.value.position is None
    assert "query" not in caught.value.message
    assert count(connection) == 0


def test_a_batch_needs_a_table_that_commits(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute(f"CREATE EXTERNAL TABLE e (x INT, s STRING, dt DATE) LOCATION '{tmp_path}/e'")
    assert connection.append("e", ROWS).rowcount == 2
    with pytest.raises(NotSupportedError, match="at most once"):
        connection.append("e", ROWS, batch_id="b")
    with pytest.raises(DataError, match="empty"):
        connection.append("t", ROWS, batch_id="")
    with pytest.raises(InterfaceError, match="batch_id is a int"):
        connection.append("t", ROWS, batch_id=1)  # type: ignore[arg-type]
    assert count(connection, "e") == 2


def test_an_append_takes_part_in_a_transaction(connection: rewriter.Connection) -> None:
    connection.execute("START TRANSACTION")
    connection.append("t", ROWS)
    with pytest.raises(NotSupportedError) as caught:
        connection.append("t", ROWS, batch_id="b")
    assert caught.value.condition == "NOT_IN_TRANSACTION"
    connection.execute("ROLLBACK")
    assert count(connection) == 0


def test_a_temporary_table_takes_rows(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE v (x INT, s STRING) PARTITIONED BY (dt DATE)")
    connection.append("v", ROWS)
    connection.append("v", ROWS, batch_id="b")
    connection.append("v", ROWS, batch_id="b")
    assert count(connection, "v") == 4


def test_without_a_warehouse_there_is_no_table(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "none", engine="duckdb") as opened, pytest.raises(OperationalError) as caught:
        opened.append("t", ROWS)
    assert caught.value.condition == "WAREHOUSE_NOT_FOUND"


def test_rows_that_no_query_computed_do_not_prove_a_rollup(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TABLE hours (m BIGINT) PARTITIONED BY (hr STRING)")
    connection.execute("CREATE TABLE days (m BIGINT) PARTITIONED BY (dt STRING)")
    connection.execute("CREATE CUBE c (m BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    connection.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (hr), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    hours = [f"2013-01-01-{hour:02}" for hour in range(24)]
    connection.append("hours", pa.table({"m": [1] * 24, "hr": hours}))
    connection.append("days", pa.table({"m": [999], "dt": ["2013-01-01"]}))
    query = "SELECT SUM(m) FROM c WHERE t >= '2013-01-01' AND t < '2013-01-02'"
    assert connection.execute(query).fetchall() == [(24,)]
    (unproven,) = connection.execute("SHOW UNPROVEN PARTITIONS OF f").fetchall()
    assert unproven[0] == "days"


def test_a_reader_is_read_once(tmp_path: Path) -> None:
    """A reader that was read has no rows: an append of it would spend its id, and an overwrite would empty tables."""
    table = pa.table({"n": [1, 2]})
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE numbers (n BIGINT)")
        wrong = pa.table({"m": [1]}).to_reader()
        with pytest.raises(rewriter.Error):
            connection.append("numbers", wrong, batch_id="a")
        reader = table.to_reader()
        assert connection.append("numbers", reader, batch_id="b").rowcount == 2
        for again in (wrong, reader):
            with pytest.raises(rewriter.InterfaceError, match="read before"):
                connection.append("numbers", again, batch_id="c")
        with pytest.raises(rewriter.InterfaceError, match="read before"):
            connection.overwrite("numbers", reader, partitions="static")
        read_elsewhere = table.to_reader()
        read_elsewhere.read_all()
        with pytest.raises(rewriter.InterfaceError, match="has no rows"):
            connection.append("numbers", read_elsewhere, batch_id="c")
        assert connection.append("numbers", table.slice(0, 0), batch_id="empty").rowcount == 0
        assert connection.append("numbers", table, batch_id="c").rowcount == 2
        with pytest.warns(rewriter.Warning, match="committed to numbers before"):
            assert connection.append("numbers", reader, batch_id="b").rowcount == 0
        assert connection.execute("SELECT COUNT(*) FROM numbers").fetchall() == [(4,)]


def test_data_that_no_table_can_be(tmp_path: Path) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        connection.execute("CREATE TABLE t (a INT)")
        for make, told in (
            (lambda: connection.create_table("u", pa.table({})), "The data has no columns."),
            (lambda: connection.register_source("u", pa.table({})), "The source u has no columns."),
            (
                lambda: connection.create_table("u", pa.table({"t": pa.array([1], pa.time64("us"))})),
                "The data has a column of another type: its type time64[us] has no counterpart in Spark SQL.",
            ),
            (
                lambda: connection.execute("CREATE TABLE u (s STRUCT<a: INT, A: INT>)"),
                "The field A of the column s already exists.",
            ),
            (
                lambda: connection.execute("ALTER TABLE t ADD COLUMNS (b ARRAY<STRUCT<x: INT, X: INT>>)"),
                "The field X of the column b already exists.",
            ),
        ):
            with pytest.raises(rewriter.Error) as caught:
                make()
            assert caught.value.message == told
        assert len(connection.execute("SHOW TABLES").fetchall()) == 1
