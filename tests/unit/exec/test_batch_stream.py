"""Streams of batches: what they hold, and what becomes of late errors."""

from __future__ import annotations

from collections.abc import Generator

import pyarrow as pa
import pytest

from rewriter.errors import DataError, Error, InterfaceError, InternalError
from rewriter.exec.batch_stream import BatchStream, prefetch_rows
from rewriter.runtime import result
from rewriter.runtime.result import Result

SCHEMA = pa.schema([("a", pa.int64())])


class Query:
    """The batches of a query, which tells how far it came."""

    def __init__(self, sizes: list[int], error: Exception | None = None) -> None:
        self.sizes, self.error = sizes, error
        self.given, self.ended = 0, False

    def batches(self) -> Generator[pa.RecordBatch, None, None]:
        try:
            for size in self.sizes:
                self.given += 1
                yield pa.record_batch({"a": pa.array(range(size), pa.int64())})
            if self.error is not None:
                raise self.error
        finally:
            self.ended = True


@pytest.mark.parametrize(
    ("sizes", "given", "ended"), [([], 0, True), ([3, 3], 2, True), ([3, 7, 5], 2, False), ([10], 1, False)]
)
def test_the_first_rows_are_computed_at_once(sizes: list[int], given: int, ended: bool) -> None:
    query = Query(sizes)
    stream = prefetch_rows(SCHEMA, query.batches(), 10)
    assert (query.given, query.ended) == (given, ended)
    assert stream.read_all().num_rows == sum(sizes)
    assert query.ended


def test_python_values_of_large_rows_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = result.python_values

    def observed(array: pa.Array) -> list[object]:
        sizes.append(len(array))
        return original(array)

    monkeypatch.setattr(result, "python_values", observed)
    monkeypatch.setattr(result, "_SLICE_BYTES", 4000)
    table = pa.table({"a": ["x" * 1000] * 50})
    rows = list(Result("SELECT", (), stream=BatchStream.of_table(table)).rows())
    assert rows == [("x" * 1000,)] * 50
    assert max(sizes) <= 4


def test_few_wide_rows_are_as_good_as_many() -> None:
    """100,000 rows of a megabyte each would fill the memory before the first one is read."""
    given = 0

    def batches() -> Generator[pa.RecordBatch, None, None]:
        nonlocal given
        for _ in range(10):
            given += 1
            yield pa.record_batch({"a": ["x" * (8 << 20)]})

    stream = prefetch_rows(pa.schema([("a", pa.string())]), batches(), 100_000)
    assert given == 2
    assert sum(batch.num_rows for batch in stream) == 10


def test_close_ends_the_query() -> None:
    for take in (0, 1, 2):
        query = Query([10, 10, 10])
        stream = prefetch_rows(SCHEMA, query.batches(), 10)
        for _ in range(take):
            next(stream)
        stream.close()
        stream.close()
        assert query.ended
        with pytest.raises(InterfaceError):
            list(stream)


def test_a_forgotten_stream_ends_the_query() -> None:
    query = Query([10, 10])
    stream = prefetch_rows(SCHEMA, query.batches(), 10)
    reader = stream.to_reader()
    del stream
    assert not query.ended
    del reader
    assert query.ended


def test_what_is_held_until_the_end() -> None:
    owner = object()
    stream = BatchStream(SCHEMA, Query([1]).batches())
    stream.hold(owner)
    assert stream._held == [owner]
    assert len(list(stream)) == 1
    assert stream._held == []
    stream.hold(owner)
    assert stream._held == []


def test_late_errors_are_converted_and_end_the_stream() -> None:
    query = Query([1], DataError("first"))
    stream = BatchStream(SCHEMA, query.batches())

    def mark(error: Error) -> Error:
        error.hint = "marked"
        return error

    stream.convert_errors(mark)
    stream.convert_errors(lambda error: DataError(f"second of {error.message}", hint=error.hint))
    result = Result("SELECT", stream=stream)
    assert next(result.rows()) == (0,)
    with pytest.raises(DataError, match="second of first") as caught:
        result.fetch()
    assert caught.value.hint == "marked"
    assert query.ended
    for _ in range(2):  # Never as if all rows were read.
        with pytest.raises(DataError):
            result.fetch()
        with pytest.raises(DataError):
            list(result.batches())


def test_foreign_errors_become_ours() -> None:
    with pytest.raises(InternalError):
        list(BatchStream(SCHEMA, Query([1], KeyError("x")).batches()))


def test_rows_and_batches_of_one_result() -> None:
    for taken in (0, 1, 4095, 4096, 4097, 9000, 9001, 12000):
        result = Result("SELECT", stream=BatchStream(SCHEMA, Query([9000, 3000]).batches()))
        rows = result.fetch(taken)
        batches = list(result.batches())
        expected = [*range(9000), *range(3000)]
        assert [a for (a,) in rows] == expected[:taken]
        assert [a for batch in batches for a in batch.column(0).to_pylist()] == expected[taken:]
        assert result.fetch() == []
