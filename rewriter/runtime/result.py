"""The result of a statement: rows with their columns, and statistics of what was read and written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from rewriter.cancellation import current_cancellation
from rewriter.catalog.model.objects import Column
from rewriter.errors import DataError, Error, only_ours
from rewriter.exec.batch_stream import BatchStream
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import Coverage, Plan

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.exec.engine import OpenFrame

Row = tuple[object, ...]


@dataclass(frozen=True)
class Amount:
    """Numbers of ``partitions`` and ``files``, and the ``bytes`` of these files. Amounts can be added.

    Examples:
        >>> Amount(1, 2, 300) + Amount(1, 1, 50)
        Amount(partitions=2, files=3, bytes=350)
    """

    partitions: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.partitions + other.partitions, self.files + other.files, self.bytes + other.bytes)


@dataclass(frozen=True)
class Scan:
    """The part of a ``table`` that a statement read: the numbers of ``partitions`` and ``files``, and their ``bytes``.
    ``whole`` looks up the amount of all that the table has.
    """

    table: str
    partitions: int
    files: int
    bytes: int
    whole: Callable[[], Amount] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def avoided(self) -> Amount:
        """Returns the rest of the table, which was not read. Its costs and errors are the costs and errors of
        ``Stats.avoided``.
        """
        if self.whole is None:
            return Amount()
        with only_ours():
            whole = self.whole()
        partitions, files, size = whole.partitions - self.partitions, whole.files - self.files, whole.bytes - self.bytes
        return Amount(max(0, partitions), max(0, files), max(0, size))


@dataclass(frozen=True)
class Verification:
    """The verdict of the checker on the cover of a query. ``certificate`` is the evidence; ``findings`` say why it is
    not accepted, and are empty if it is.
    """

    certificate: Mapping[str, Any]
    findings: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """True if the evidence proves each part of the cover."""
        return not self.findings


class ShadowProof:
    """The shadow proof of one query. Complete when ``wait`` returns; all attributes are of the part that is done.

    ``compared`` is the number of rollup partitions that were compared, of ``partitions`` that the query read.
    ``differing`` names the partitions at fault, as ``table PERIOD start``, and ``first_difference`` the first group of
    rows. ``trusted`` are the differing ones that stay in use on the word of their owner. ``error`` ended the proof: it
    proves nothing about the partitions that were not compared.
    """

    def __init__(self) -> None:
        self.compared = 0
        self.partitions = 0
        self.differing: tuple[str, ...] = ()
        self.trusted: tuple[str, ...] = ()
        self.first_difference: str | None = None
        self.error: Error | None = None
        #: True until the proof has begun.
        self.is_pending = True
        self._ended = threading.Event()

    @property
    def is_running(self) -> bool:
        """Tests whether the proof goes on."""
        return not self.is_pending and not self._ended.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the proof has ended, at most ``timeout`` seconds; returns whether it has."""
        return self._ended.wait(timeout)

    def wait_cancellable(self) -> None:
        """Waits until the proof has ended. Raises ``OperationalError`` OPERATION_CANCELED where the statement of this
        thread is canceled.
        """
        cancellation = current_cancellation()
        while not self.wait(0.1):
            if cancellation is not None:
                cancellation.check()

    def end(self) -> None:
        """Notes that the proof has ended."""
        self._ended.set()

    def warning(self) -> str | None:
        """Returns what a user should know: rollups that differ, or an error that ended the proof."""
        if self.differing:
            count, trusted = len(self.differing), len(self.trusted)
            more = f" and {count - 1:,} more" if count > 1 else ""
            verb, are = ("differs", "is") if count == 1 else ("differ", "are")
            use = f"{are} not used until REFRESH FACT has computed {'it' if count == 1 else 'them'} again"
            if self.error is not None:
                use = f"{are} still used, because the commit failed ({self.error.message.rstrip('.')})"
            elif trusted:
                use = f"{are if trusted == count else f'{trusted:,} are'} used on the word of the owner (TRUSTED)"
            return f"{self.differing[0]}{more} {verb} from the base, and {use}. {self.first_difference}"
        return None if self.error is None else f"The shadow proof of a query failed: {self.error.message}"


@dataclass(frozen=True)
class Stats:
    """The work of a statement.

    ``scans`` are what was read, by table. ``written_partitions``, ``written_files`` and ``written_bytes`` are what was
    written. ``planning_seconds`` and ``execution_seconds`` are wall time; the latter end when the engine first returns.
    ``verification`` and ``shadow_proof`` are there for a query over a cube where ``rewriter.verify`` asks for them.
    """

    scans: tuple[Scan, ...] = ()
    written_partitions: int = 0
    written_files: int = 0
    written_bytes: int = 0
    planning_seconds: float = 0.0
    execution_seconds: float = 0.0
    verification: Verification | None = None
    shadow_proof: ShadowProof | None = None

    @property
    def partitions(self) -> int:
        """Returns the number of partitions read, of all tables."""
        return sum(scan.partitions for scan in self.scans)

    @property
    def files(self) -> int:
        """Returns the number of files read, of all tables."""
        return sum(scan.files for scan in self.scans)

    @property
    def bytes(self) -> int:
        """Returns the bytes of the files read, of all tables."""
        return sum(scan.bytes for scan in self.scans)

    @property
    def avoided(self) -> Amount:
        """Returns the amount that the tables that were read have beside what was read, in the state of the statement.

        Of external tables, only partitions are counted, and only registered ones. The first call reads the list of the
        tables' files: O(files). Raises ``OperationalError``, such as SNAPSHOT_TOO_OLD after VACUUM.
        """
        return sum((scan.avoided for scan in self.scans), Amount())


@dataclass
class Result:
    """The result of one statement.

    ``kind`` names the statement (``SELECT``, ``CREATE TABLE`` …). ``columns`` are name and type of each column,
    ``None`` where a statement returns no rows. ``coverage``, ``plan``, ``warnings`` and ``stats`` are as a cursor has
    them. Rows come from an engine's ``stream`` as they are computed, or are in ``data``. Each can be taken once, by
    ``rows`` or in ``batches``. ``rowcount`` is the number of rows written, or of rows where it is known, else
    -1. ``differs`` states that CHECK FACT found a difference from the base. ``query_id`` is the id of the execution.
    ``cluster`` is the one that ran a query; ``None`` without clusters. ``certify`` makes the certificate of a query
    over a cube, ``open_frame`` a DataFrame of Spark of a query; ``None`` for other statements.
    """

    kind: str
    columns: tuple[Column, ...] | None = None
    data: Sequence[Row] = ()
    stream: BatchStream | None = None
    rowcount: int = -1
    coverage: Coverage = field(default_factory=Coverage)
    plan: Plan | None = None
    warnings: tuple[str, ...] = ()
    stats: Stats = field(default_factory=Stats)
    differs: bool = False
    query_id: str = ""
    cluster: str | None = None
    certify: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False, compare=False)
    open_frame: Callable[[], OpenFrame] | None = field(default=None, repr=False, compare=False)
    _rows: Iterator[Row] | None = field(default=None, init=False, repr=False)
    _slices: _Slices | None = field(default=None, init=False, repr=False)

    def rows(self) -> Iterator[Row]:
        """Returns the rows not taken yet, as Python values; timestamps are aware and in UTC.

        All calls share their place in the result. From a stream, one batch is held at a time.
        """
        if self.stream is None:
            if self._rows is None:
                self._rows = iter(self.data)
            return self._rows
        if self._slices is None:
            self._slices = _Slices(self.stream)
        return self._slices.rows()

    def fetch(self, count: int | None = None) -> list[Row]:
        """Returns at most ``count`` rows, or all, as a list."""
        return list(self.rows() if count is None else islice(self.rows(), count))

    def peek(self, count: int) -> tuple[list[Row], bool]:
        """Returns the next rows, at most ``count``, without taking them, and whether no others follow.

        Of a stream, it reads one batch beyond these rows at most, which later calls return. Fewer rows than ``count``
        may be returned although others follow.
        """
        if self.stream is None:
            rest = list(copy(self.rows()))
            return rest[:count], len(rest) <= count
        if self._slices is None:
            self._slices = _Slices(self.stream)
        return self._slices.peek(count)

    def batches(self) -> BatchStream:
        """Returns the rows not taken yet as Arrow batches. From a stream, one batch is held at a time."""
        if self.stream is None:
            with only_ours():
                return BatchStream.of_table(self._table_of(list(self.rows())))
        if self._slices is None:
            return self.stream
        return BatchStream(self.stream.schema, self._slices.batches())

    def arrow_table(self) -> pa.Table:
        """Returns the rows not taken yet as an Arrow table."""
        with only_ours():
            return self.batches().read_all()

    def _table_of(self, rows: Sequence[Row]) -> pa.Table:
        import pyarrow as pa

        columns = self.columns or ()
        schema = pa.schema([(column.name, _arrow_types().get(column.type, pa.string())) for column in columns])
        arrays = [pa.array([row[i] for row in rows], type=schema_field.type) for i, schema_field in enumerate(schema)]
        return pa.Table.from_arrays(arrays, schema=schema)

    def metadata(self) -> dict[str, Any]:
        """Returns what a result over cubes carries beside its rows: ``complete``, the ``missing`` ranges, the instants
        where an open begin or end was closed, and the verified ``certificate``, if there is one. Empty for others.
        """
        if not self.coverage.references:
            return {}
        verification = self.stats.verification
        return {
            "complete": self.coverage.complete,
            "missing": list(self.coverage.missing),
            "open_begins": list(self.coverage.open_begins),
            "open_ends": list(self.coverage.open_ends),
            **({} if verification is None else {"certificate": verification.certificate}),
        }

    def close(self) -> None:
        """Ends the query, if its rows were not all taken. Idempotent."""
        if self.stream is not None:
            self.stream.close()


#: The most rows, and about the most bytes, of which Python values are made at a time.
_SLICE, _SLICE_BYTES = 4096, 8 << 20
#: The beginning of Arrow's time. Its own conversion of an instant takes ten times as long as an addition.
_EPOCH, _UTC_EPOCH = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_FIRST_DAY, _LAST_DAY = date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY


class _Slices:
    """The rows of a stream, of which short slices become Python values at a time."""

    def __init__(self, stream: BatchStream) -> None:
        self._stream = stream
        #: The slice whose rows are being taken, the rows of it that are left, and the batch behind it.
        self._slice: pa.RecordBatch | None = None
        self._slice_rows: Iterator[Row] = iter(())
        self._rest: pa.RecordBatch | None = None

    def rows(self) -> Iterator[Row]:
        """Yields the rows that are left. After an error of the stream, it is raised again."""
        yield from self._slice_rows
        while self._take_slice():
            yield from self._slice_rows

    def peek(self, count: int) -> tuple[list[Row], bool]:
        """Returns rows as ``Result.peek`` does."""
        rows = list(copy(self._slice_rows))
        while not rows and self._take_slice():
            rows = list(copy(self._slice_rows))
        if len(rows) > count:
            return rows[:count], False
        while self._rest is None or not self._rest.num_rows:
            self._rest = next(self._stream, None)
            if self._rest is None:
                return rows, True
        return rows, False

    def _take_slice(self) -> bool:
        """Begins the next slice. Returns False after the last one."""
        batch = next(self._stream, None) if self._rest is None else self._rest
        if batch is None:
            return False
        size = max(1, min(_SLICE, batch.num_rows * _SLICE_BYTES // max(batch.nbytes, 1)))
        self._slice = batch.slice(0, size)
        self._rest = batch.slice(size) if batch.num_rows > size else None
        with only_ours():
            columns = [python_values(column) for column in self._slice.columns]
        self._slice_rows = iter(list(zip(*columns, strict=True)) if columns else [()] * self._slice.num_rows)
        return True

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows that are left, without making Python values of them."""
        left = sum(1 for _ in self._slice_rows)
        if self._slice is not None and left:
            yield self._slice.slice(self._slice.num_rows - left)
        if self._rest is not None:
            rest, self._rest = self._rest, None
            yield rest
        yield from self._stream


def _arrow_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {"string": pa.string(), "bigint": pa.int64(), "boolean": pa.bool_()}


def python_values(array: pa.Array) -> list[Any]:
    """Returns the values of an array as ``rows`` gives them. Raises ``DataError`` for years that Python has not."""
    import pyarrow as pa

    try:
        if pa.types.is_timestamp(array.type) and array.type.unit == "us":
            epoch = _EPOCH if array.type.tz is None else _UTC_EPOCH
            microseconds = array.view(pa.int64()).to_pylist()
            return [None if value is None else epoch + timedelta(0, 0, value) for value in microseconds]
        if pa.types.is_date32(array.type):
            days = array.view(pa.int32()).to_pylist()
            if any(day is not None and not _FIRST_DAY <= day <= _LAST_DAY for day in days):
                raise OverflowError("date value out of range")
            return [None if day is None else date.fromordinal(_EPOCH_DAY + day) for day in days]
        values: list[Any] = array.to_pylist()
    except (OverflowError, ValueError) as error:
        raise DataError(
            f"A value of the type {spark_type(array.type)} cannot be shown: {error}.",
            condition="DATETIME_OVERFLOW",
            sqlstate="22008",
            hint="Python supports the years 1 to 9999: write CAST(… AS STRING), or fetch Arrow.",
        ) from None
    return values


def spark_type(arrow_type: pa.DataType) -> str:
    """Returns Spark's spelling of an Arrow type that engines return."""
    import pyarrow as pa

    is_, name = pa.types, str(arrow_type)
    if name in _SPELLING:
        return _SPELLING[name]
    if is_.is_timestamp(arrow_type):
        return "timestamp" if arrow_type.tz is not None else "timestamp_ntz"
    if is_.is_decimal(arrow_type):
        return f"decimal({arrow_type.precision},{arrow_type.scale})"
    if is_.is_map(arrow_type):
        return f"map<{spark_type(arrow_type.key_type)},{spark_type(arrow_type.item_type)}>"
    if is_.is_list(arrow_type) or is_.is_large_list(arrow_type):
        return f"array<{spark_type(arrow_type.value_type)}>"
    if is_.is_struct(arrow_type):
        fields = (arrow_type.field(i) for i in range(arrow_type.num_fields))
        return f"struct<{','.join(f'{struct_field.name}:{spark_type(struct_field.type)}' for struct_field in fields)}>"
    return name


_SPELLING = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "date32[day]": "date",
    "duration[us]": "interval day to second",
    "month_interval": "interval year to month",
    "null": "void",
}


def strings(*names: str) -> tuple[Column, ...]:
    """Returns columns of the type STRING."""
    return tuple(Column(name, "string") for name in names)


def listing(kind: str, columns: tuple[Column, ...], rows: list[Row]) -> Result:
    """Returns a result whose rows are complete."""
    return Result(kind, columns, rows, rowcount=len(rows))
