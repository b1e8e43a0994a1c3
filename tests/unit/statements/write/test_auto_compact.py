"""The property rewriter.auto_compact.files: streams and appends merge the small files that they leave."""

from __future__ import annotations

import datetime as dt
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.model.objects import DataFile, PackedPart
from rewriter.errors import AnalysisError, ConflictError, Error
from rewriter.session import Session
from rewriter.statements.write import auto_compact, merged_files
from rewriter.statements.write.auto_compact import files_to_merge

DAY = dt.date(2013, 1, 1)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.Connection]:
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as opened:
        yield opened


def create(connection: rewriter.Connection, least: int = 3, clauses: str = "(x INT) PARTITIONED BY (dt DATE)") -> None:
    connection.execute(f"CREATE TABLE t {clauses} TBLPROPERTIES ('rewriter.auto_compact.files' = '{least}')")


def rows(*numbers: int, days: int = 2) -> pa.Table:
    return pa.table({"x": pa.array(numbers, pa.int32()), "dt": [DAY + dt.timedelta(n % days) for n in numbers]})


def numbers(connection: rewriter.Connection) -> list[int]:
    return sorted(row[0] for row in connection.execute("SELECT x FROM t").fetchall())


def files(connection: rewriter.Connection) -> list[int]:
    """Returns the number of files of each partition."""
    session = connection.session
    snapshot = session.catalog.snapshot()
    assert list(findings(session.catalog.database)) == []
    return [partition.files for partition in snapshot.partitions(snapshot.table("t"))]


@pytest.mark.parametrize(
    "clauses",
    [
        "(x INT) PARTITIONED BY (dt DATE)",
        "(x INT) USING csv PARTITIONED BY (dt DATE)",
        "(x INT, dt DATE)",
        "(x INT, dt DATE) USING json",
    ],
)
def test_appends_leave_few_files(connection: rewriter.Connection, clauses: str) -> None:
    create(connection, clauses=clauses)
    for batch in range(20):
        result = connection.append("t", rows(2 * batch, 2 * batch + 1), batch_id=str(batch))
        assert (result.rowcount, result.warnings) == (2, [])
        assert max(files(connection)) < 3
        assert numbers(connection) == list(range(2 * batch + 2))
    assert connection.append("t", rows(0, 1), batch_id="7").rowcount == 0


def test_only_partitions_of_the_batch_are_compacted(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TABLE t (x INT) PARTITIONED BY (dt DATE)")
    for batch in range(4):
        connection.append("t", rows(2 * batch, 2 * batch + 1))
    assert files(connection) == [4, 4]
    connection.execute("ALTER TABLE t SET TBLPROPERTIES ('REWRITER.auto_compact.files' = ' 4 ')")
    properties = dict(connection.execute("SHOW TBLPROPERTIES t").fetchall())
    assert properties["rewriter.auto_compact.files"] == "4"
    connection.append("t", rows(8))
    assert files(connection) == [1, 4]
    connection.append("t", rows(9))
    assert files(connection) == [1, 1]
    connection.execute("ALTER TABLE t UNSET TBLPROPERTIES ('rewriter.auto_compact.files')")
    for batch in range(10, 15):
        connection.append("t", rows(batch, days=1))
    assert files(connection) == [6, 1]
    assert numbers(connection) == list(range(15))


def test_statements_and_transactions_do_not_compact(connection: rewriter.Connection) -> None:
    create(connection, 2)
    connection.execute("START TRANSACTION")
    for number in range(3):
        connection.append("t", rows(2 * number))
    connection.execute("COMMIT")
    connection.execute("INSERT INTO t VALUES (6, DATE '2013-01-01')")
    assert files(connection) == [4]


def test_a_temporary_table_is_compacted(connection: rewriter.Connection) -> None:
    connection.execute("CREATE TEMPORARY TABLE t (x INT, dt DATE) TBLPROPERTIES ('rewriter.auto_compact.files' = '2')")
    for number in range(4):
        assert not connection.append("t", rows(number)).warnings
    assert numbers(connection) == [0, 1, 2, 3]


@pytest.mark.parametrize("value", ["", "0", "1", "-2", "2.5", "many", "²", "99999999999"])
def test_wrong_values_are_errors_at_the_property(connection: rewriter.Connection, value: str) -> None:
    text = f"CREATE TABLE t (x INT) TBLPROPERTIES ('rewriter.auto_compact.files' = '{value}')"
    with pytest.raises(AnalysisError) as caught:
        connection.execute(text)
    assert caught.value.condition == "INVALID_FILE_PROPERTY"
    assert caught.value.position is not None
    assert text[caught.value.position.start :].startswith("'rewriter")
    connection.execute("CREATE TABLE t (x INT)")
    with pytest.raises(AnalysisError, match="INVALID_FILE_PROPERTY"):
        connection.execute(f"ALTER TABLE t SET TBLPROPERTIES ('rewriter.auto_compact.files' = '{value}')")


def test_an_external_table_is_refused(connection: rewriter.Connection, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match="belong to the user"):
        connection.execute(
            f"CREATE EXTERNAL TABLE t (x INT) LOCATION '{tmp_path}/t' "
            "TBLPROPERTIES ('rewriter.auto_compact.files' = '2')"
        )


@pytest.mark.parametrize("failure", [ConflictError("another transaction"), OSError(28, "No space left"), ValueError(1)])
def test_a_failure_is_tried_again_after_the_next_batch(
    connection: rewriter.Connection, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    create(connection, 2)

    def fail(*_: object) -> None:
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(merged_files, "_write_files", fail)
        for number in range(3):
            result = connection.append("t", rows(number, days=1), batch_id=str(number))
            assert result.rowcount == 1
            assert len(result.warnings) == (number > 0 and not isinstance(failure, ConflictError))
    assert files(connection) == [3]
    connection.append("t", rows(3, days=1), batch_id="3")
    assert files(connection) == [1]
    assert numbers(connection) == [0, 1, 2, 3]


def test_a_concurrent_overwrite_wins(connection: rewriter.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    create(connection, 2)
    connection.append("t", rows(0, days=1))
    written = merged_files._write_files

    def meanwhile(*args: object) -> object:
        with Session(connection.session.catalog.warehouse, "duckdb") as other:
            other.execute("INSERT OVERWRITE t VALUES (7, DATE '2013-01-01')")
        return written(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(merged_files, "_write_files", meanwhile)
    result = connection.append("t", rows(1, days=1), batch_id="b")
    assert (result.rowcount, result.warnings) == (1, [])
    assert numbers(connection) == [7]
    assert connection.append("t", rows(1, days=1), batch_id="b").rowcount == 0


def stream(tmp_path: Path, name: str) -> str:
    options = f"'stream' = '{name}', 'checkpoint' = '{tmp_path}/{name}-checkpoint', 'max files' = '1'"
    return f"INSERT INTO t SELECT x, dt FROM STREAM parquet.`{tmp_path}/{name}` OPTIONS ({options})"


def put(tmp_path: Path, name: str, *numbers: int) -> None:
    (tmp_path / name).mkdir(exist_ok=True)
    hidden = tmp_path / name / f"_{numbers[0]}"
    pq.write_table(rows(*numbers), hidden)
    os.rename(hidden, tmp_path / name / f"{numbers[0]}.parquet")


def test_two_streams_into_one_table(tmp_path: Path) -> None:
    """They run beside each other, so that they want to merge the same files."""
    for name, first in (("a", 0), ("b", 1000)):
        for number in range(first, first + 60, 2):
            put(tmp_path, name, number, number + 1)

    def load(name: str) -> None:
        with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as own:
            result = own.execute(stream(tmp_path, name))
            assert result.warnings == []
            ended.append(name)

    ended: list[str] = []
    with rewriter.connect(tmp_path / "warehouse", engine="duckdb") as connection:
        create(connection, 4)
        threads = [threading.Thread(target=load, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(ended) == ["a", "b"]
        assert numbers(connection) == [*range(60), *range(1000, 1060)]
        # What two conflicting runs left is merged after the next batch.
        put(tmp_path, "a", 60, 61)
        connection.execute(stream(tmp_path, "a"))
        assert max(files(connection)) < 4
        assert numbers(connection) == [*range(62), *range(1000, 1060)]
        assert [row[2:5] for row in connection.execute("SHOW STREAMS").fetchall()] == [
            ("finished", 31, 2),
            ("finished", 30, 60),
        ]


def test_a_failure_does_not_end_a_stream(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(connection, 2)
    for number in range(4):
        put(tmp_path, "a", number)

    def fail(*_: object) -> None:
        raise Error("The disk is on fire.")

    monkeypatch.setattr(auto_compact, "merge_files", fail)
    warning = "t: its small files were not compacted: The disk is on fire."
    assert connection.execute(stream(tmp_path, "a")).warnings == [warning]
    assert numbers(connection) == [0, 1, 2, 3]
    (shown,) = connection.execute("SHOW STREAMS").fetchall()
    assert (shown[2], shown[9]) == ("finished", warning)


def of_sizes(*sizes: int) -> list[DataFile]:
    return [DataFile(f"/{index:04}", 1, size) for index, size in enumerate(sizes)]


def merged_sizes(least: int, *sizes: int, target: int = 1000) -> list[int]:
    return sorted(file.bytes for file in files_to_merge(of_sizes(*sizes), least, target))


def test_the_smallest_files_are_merged() -> None:
    assert merged_sizes(3, 1, 1) == []
    assert merged_sizes(3, 1, 1, 1) == [1, 1, 1]
    assert merged_sizes(3, 100, 1, 1) == [1, 1]  # 2 files remain.
    assert merged_sizes(2, 100, 1) == [1, 100]
    assert merged_sizes(4, 1, 2, 3, 400) == [1, 2, 3]
    assert merged_sizes(3, 1, 2, 3, 400) == [1, 2, 3]
    # Files of half of the target are full, and count for nothing.
    assert merged_sizes(3, 500, 501, 2000, 499, 1) == []
    assert merged_sizes(3, 500, 501, 2000, 499, 1, 1) == [1, 1]
    part = PackedPart(("a",), 0, 1, 1, 10**9)
    assert files_to_merge([file._replace(part=part) for file in of_sizes(1, 1)], 2, 1000)


@pytest.mark.parametrize(("least", "times"), [(2, 2049), (3, 514), (10, 5), (20, 3)])
def test_bytes_are_written_again_a_few_times(least: int, times: int) -> None:
    sizes: list[int] = []
    written = 0
    for _ in range(4096):
        sizes.append(1)
        merged = merged_sizes(least, *sizes, target=10**9)
        for size in merged:
            sizes.remove(size)
        sizes += [sum(merged)] if merged else []
        written += sum(merged)
        assert len(sizes) < least
    assert written < 4096 * times
