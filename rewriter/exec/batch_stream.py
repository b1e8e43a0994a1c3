"""The rows of a query as Arrow batches that an engine computes while they are read."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from rewriter.cancellation import cancellable, current_cancellation
from rewriter.errors import Error, InterfaceError, only_ours
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    import pyarrow as pa


#: The bytes at which no more rows are computed before the first one is read.
_MOST_PREFETCHED_BYTES = 16 << 20


class Failure(NamedTuple):
    """The words of an error, without the objects that an error holds."""

    condition: str
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        if isinstance(error, Error):
            return cls(error.condition, error.message)
        return cls(type(error).__name__, mask_credentials(str(error)))


@dataclass
class StreamProgress:
    """The rows of a stream that were read: their number, the time of its end, and whether the last row was read."""

    rows: int = 0
    ended_at: float | None = None
    is_complete: bool = False
    failure: Failure | None = None


class BatchStream:
    """The batches of a result, in order, each once. One thread at a time.

    The engine's connection, the snapshot, and the files that are read are held until the last batch was read, or
    ``close``. ``batches`` is a generator that releases them as it ends.

    >>> import pyarrow as pa
    >>> stream = BatchStream.of_table(pa.table({"a": [1, 2]}))
    >>> [batch.num_rows for batch in stream], list(stream)
    ([2], [])
    """

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self.schema = schema
        self.progress = StreamProgress()
        self._batches: Iterator[pa.RecordBatch] | None = batches
        self._cancellation = current_cancellation()
        #: The error of all calls after the stream has ended early.
        self._failure: Error | None = None
        self._held: list[object] = []
        self._conversions: list[Callable[[Error], Error]] = []
        self._followers: list[Callable[[Failure | None], None]] = []

    @classmethod
    def of_table(cls, table: pa.Table) -> BatchStream:
        """Returns the batches of a table in memory."""
        return cls(table.schema, iter(table.to_batches()))

    def hold(self, owner: object) -> None:
        """Keeps an object, such as a snapshot, as long as the stream is open."""
        if self._batches is not None:
            self._held.append(owner)

    def convert_errors(self, convert: Callable[[Error], Error]) -> None:
        """Passes every error of a later batch through ``convert``, which may return another one."""
        self._conversions.append(convert)

    def on_end(self, follow: Callable[[Failure | None], None]) -> None:
        """Calls ``follow`` once, when all rows were read, the stream was closed, or an error has ended it."""
        self._followers.append(follow)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        """Returns the next batch. An error ends the stream, and is raised again by later calls: the rows before
        it are not all rows.

        Raises ``StopIteration`` after the last batch, ``InterfaceError`` after ``close`` before it, and
        ``OperationalError`` OPERATION_CANCELED.
        """
        if self._failure is not None:
            raise self._failure
        if self._batches is None:
            raise StopIteration
        try:
            with only_ours(), cancellable(self._cancellation):
                if self._cancellation is not None:
                    self._cancellation.check()
                batch = next(self._batches, None)
        except Error as error:
            cause, failure = error.__cause__, error
            for convert in self._conversions:
                failure = convert(failure)
            self.progress.failure = Failure.of(failure)
            self._end(failure)
            raise failure from cause
        except BaseException:  # Ctrl-C
            self.close()
            raise
        if batch is None:
            self.progress.is_complete = True
            self._end(None)
            raise StopIteration
        self.progress.rows += batch.num_rows
        return batch

    def read_all(self) -> pa.Table:
        """Returns the batches that are left as one table."""
        import pyarrow as pa

        return pa.Table.from_batches(list(self), schema=self.schema)

    def to_reader(self, metadata: Mapping[str, str] | None = None) -> pa.RecordBatchReader:
        """Returns a reader of the batches that are left. ``metadata`` are added to those of the schema."""
        import pyarrow as pa

        schema = self.schema.with_metadata({**(self.schema.metadata or {}), **metadata}) if metadata else self.schema
        return pa.RecordBatchReader.from_batches(schema, self)

    def cancel(self) -> None:
        """Ends the stream, also while another thread reads a batch: ``OperationalError`` OPERATION_CANCELED."""
        if self._cancellation is not None:
            self._cancellation.request()

    def close(self) -> None:
        """Ends the query and releases everything. Idempotent."""
        if self._batches is not None:
            self._end(_closed())

    def _end(self, failure: Error | None) -> None:
        batches, self._batches, self._failure = self._batches, None, failure
        self.progress.ended_at = time.time()
        self._held.clear()
        end = getattr(batches, "close", None)
        if end is not None:
            with only_ours():
                end()
        followers, self._followers = self._followers, []
        for follow in followers:
            follow(self.progress.failure)


def _closed() -> InterfaceError:
    return InterfaceError(
        "The result was closed before its last row was fetched.",
        hint="Fetch all rows before the cursor executes another statement, or is closed; or use a cursor for each.",
    )


def prefetch_rows(schema: pa.Schema, batches: Generator[pa.RecordBatch, None, None], least_rows: int) -> BatchStream:
    """Returns the stream of a query whose first rows are computed now, so that most errors are raised here.

    A result of fewer than ``least_rows`` rows, and of few bytes, is complete then, and the query has ended.
    """
    first: list[pa.RecordBatch] = []
    rows = size = 0
    while rows < least_rows and size < _MOST_PREFETCHED_BYTES:
        batch = next(batches, None)
        if batch is None:
            return BatchStream(schema, iter(first))
        first.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
    return BatchStream(schema, _joined(first, batches))


def _joined(
    first: list[pa.RecordBatch], batches: Generator[pa.RecordBatch, None, None]
) -> Generator[pa.RecordBatch, None, None]:
    with closing(batches):
        while first:
            yield first.pop(0)
        yield from batches


class OpenStreams:
    """The streams that may still have rows, as long as something holds them. Any thread may iterate over them."""

    def __init__(self) -> None:
        self._streams: weakref.WeakSet[BatchStream] = weakref.WeakSet()
        self._lock = threading.Lock()

    def add(self, stream: BatchStream) -> None:
        with self._lock:
            self._streams.add(stream)

    def __iter__(self) -> Iterator[BatchStream]:
        with self._lock:
            return iter(list(self._streams))
