"""The protocol of engines, and the data that passes through it.

A query reaches an engine as Spark SQL text in which every table is the name of a relation, with one ``Relation`` per
name that lists its files. The engine creates the relations, runs the text and returns Arrow batches. A write has a
directory of its own; the engine fills it and reports the files. Engines have no access to the catalog: the session
commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

from rewriter.catalog.model.objects import (
    Column,
    DataFile,
    PackedPart,
    Partition,
    PartitionValues,
    Table,
    shown_columns,
)
from rewriter.errors import EngineError
from rewriter.exec.sinks.sink_kinds import GROUPED_SINK, SinkChoice, SinkKind
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rewriter.exec.batch_stream import BatchStream


class ScanFile(NamedTuple):
    """A file to read: its absolute path, its partition's canonical values from the catalog, and its size.

    ``modified`` is the time of its last change, in nanoseconds; -1 for managed tables, whose files never change. Of a
    packed file, only the rows of ``part`` are read. ``rows`` is the number of rows that are read, if it is known.
    """

    path: str
    values: PartitionValues
    bytes: int
    modified: int = -1
    part: PackedPart | None = None
    rows: int | None = None


def scanned(files: Iterable[tuple[Partition, DataFile]]) -> tuple[ScanFile, ...]:
    """Returns ``scan_file`` of files of the catalog and their partitions."""
    return tuple([ScanFile(f.path, p.values, f.bytes, part=f.part, rows=f.rows) for p, f in files])


def scan_file(file: DataFile, values: PartitionValues) -> ScanFile:
    """Returns a file of the catalog, or a part of one, as an engine reads it, with the values of its partition."""
    return ScanFile(file.path, values, file.bytes, part=file.part, rows=file.rows)


@dataclass(frozen=True)
class FrameView:
    """The global temporary view of Spark that has the rows of a DataFrame. ``tasks`` is the number of tasks that
    compute them, and ``bytes`` is Spark's estimate of their size, if they are known.
    """

    name: str
    tasks: int | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Relation:
    """A named set of files that a query reads as one table.

    ``all_columns`` (data columns, then the ``partition_columns`` that are not hidden) are the columns of ``SELECT *``,
    in order and with these types, whatever the files contain. Values of partition columns are the ``ScanFile``'s, even
    if the path differs. A relation without files is empty and has the right types. Columns are found in the files by
    name, ignoring case; a column that a file lacks is NULL there.

    Packed files (``ScanFile.part``) store the partition columns under the names ``packed_columns``, which are
    ``partition_columns`` where these are not given.

    ``format`` is ``parquet``, ``csv``, ``json`` (one object a line), ``orc``, ``avro`` or ``textfile``. CSV files have
    a header. A value of CSV, JSON or a text file is read as text and cast; one that does not fit is a ``DataError``.
    With ``view``, the rows are the rows of a DataFrame of Spark; only Spark reads it, and there are no files.

    ``options`` are the options of ``rewriter.exec.data_files`` and ``rewriter.exec.formats.delimited_text``. All CSV
    files have one header; if ``grown``, because columns were added, some may have only the first of ``columns``. If
    columns were ``dropped``, a file may have any of these names and of ``columns``.

    Files have a column under its ``stored_name``: an engine reads the relation ``as_stored``, and gives its columns
    their names.

    ``time_patterns`` are time patterns of partition columns, by name in lower case, that each value of the files
    follows: ``yyyy-MM``.
    """

    name: str
    format: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    files: tuple[ScanFile, ...]
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    grown: bool = False
    packed_columns: tuple[Column, ...] = ()
    view: FrameView | None = None
    dropped: tuple[str, ...] = ()
    time_patterns: tuple[tuple[str, str], ...] = ()

    def as_stored(self) -> Relation:
        """Returns the relation with the names that its files have, and without a hidden column; itself if it is so."""
        shown = self.with_hidden_columns()
        if all(column.stored is None for column in self.columns):
            return shown
        return replace(shown, columns=tuple(column.renamed(column.stored_name) for column in self.columns))

    def with_hidden_columns(self) -> Relation:
        """Returns the relation in which hidden partition columns are columns as others; itself if there are none."""
        if self.all_columns == self.stored_columns:
            return self
        columns = tuple(replace(column, transform=None) for column in self.partition_columns)
        return replace(self, partition_columns=columns)

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return self.columns + shown_columns(self.partition_columns)

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """Returns the data columns, then all partition columns."""
        return self.columns + self.partition_columns

    @property
    def stored_partition_columns(self) -> tuple[Column, ...]:
        """Returns the partition columns as packed files store them."""
        return self.packed_columns or self.partition_columns


def table_relation(name: str, table: Table, files: tuple[ScanFile, ...] = ()) -> Relation:
    """Returns files of a table of the catalog as a relation of a name."""
    return Relation(
        name,
        table.format,
        table.columns,
        table.partition_columns,
        files,
        options=table.file_options,
        grown=True,
        dropped=table.dropped_columns,
    )


@dataclass(frozen=True)
class EngineQuery:
    """Spark SQL text, the relations that it names, and values for its named parameters (``:name``).

    ``tokens`` are the tokens of the text, if they are known: a long text is not lexed again. ``description`` is what
    the engine's own pages show of the query, in place of its text. ``reads_cube`` says that its cover rests on what its
    functions are: it calls no function that only the user's session of Spark knows.
    """

    sql: str
    relations: tuple[Relation, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    tokens: tuple[Token, ...] | None = field(default=None, compare=False, repr=False)
    description: str = field(default="", compare=False, repr=False)
    reads_cube: bool = field(default=False, compare=False, repr=False)

    @property
    def shown(self) -> str:
        """Returns what the engine's own pages show of the query."""
        return self.description or self.sql

    def lexed(self) -> EngineQuery:
        """Returns the query, whose tokens are known from now on. It stays the same object, by which engines know it."""
        if self.tokens is None:
            object.__setattr__(self, "tokens", tuple(tokens(self.sql)))
        return self

    def with_sql(self, sql: str) -> EngineQuery:
        """Returns the query with another text over the same relations."""
        return self if sql == self.sql else replace(self, sql=sql, tokens=None)


@dataclass(frozen=True)
class Packing:
    """Packed files as the target of a write: Parquet files that hold several partitions.

    ``columns`` are the partition columns as the files store them. If ``keys`` are given, the only dynamic partition
    column of the write is a number: an index of these values.
    """

    columns: tuple[Column, ...]
    keys: tuple[PartitionValues, ...] = ()


@dataclass(frozen=True)
class Write:
    """The target of a query's rows, and the way they are written.

    The query returns ``columns`` and then the dynamic partition columns, by position. Each value is assigned to the
    declared type as in an INSERT (``rewriter.exec.translate.store_assignment``): a type that cannot be assigned is an
    ``EngineError`` INCOMPATIBLE_DATA_FOR_TABLE; a value that does not fit or would be rounded is a ``DataError``.
    ``directory`` may not exist yet. It belongs to the writes of one statement, whose files lie side by side.
    ``static`` are the canonical values of the leading static partition columns. The files of a partition are put in
    ``directory/<col>=<escaped value>/…`` for all partition columns, static ones first.
    NULL, ``''`` and ``__HIVE_DEFAULT_PARTITION__`` are one partition: NULL.

    More than ``most_partitions`` partitions raise ``EngineError`` TOO_MANY_DYNAMIC_PARTITIONS while the rows are read:
    a writer reads no rows beyond the first excess, and a task of Spark none after the tasks together have found one.

    ``options`` are the options of a ``Relation`` that reads the files, which have each column under its
    ``stored_name``.

    With ``packing``, a file holds several partitions, and lies in ``directory`` itself. ``sink`` is how rows become
    files; a write without dynamic partition columns has the sink of one partition.
    """

    directory: str
    format: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    static: PartitionValues = ()
    most_partitions: int | None = None
    packing: Packing | None = None
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    sink: SinkChoice = GROUPED_SINK

    @property
    def used_sink(self) -> SinkChoice:
        """Returns the sink of the write."""
        return self.sink if self.dynamic_columns else replace(self.sink, kind=SinkKind.SINGLE)

    @property
    def dynamic_columns(self) -> tuple[Column, ...]:
        return self.partition_columns[len(self.static) :]


@dataclass(frozen=True)
class WrittenFile:
    """A file that a write made, with the canonical values of its partition (all partition columns), or a ``part`` of a
    packed file.
    """

    path: str
    values: PartitionValues
    rows: int | None
    bytes: int
    part: PackedPart | None = None


def input_bytes(query: EngineQuery) -> int:
    """Returns the bytes of the files that a query reads."""
    return sum([file.bytes for relation in query.relations for file in relation.files])


#: The words of queries that may have more rows than the files, or much longer ones, and the UNIONs that are many.
_MULTIPLYING = frozenset(
    "JOIN LATERAL EXPLODE EXPLODE_OUTER POSEXPLODE POSEXPLODE_OUTER INLINE INLINE_OUTER STACK SEQUENCE UNNEST RANGE "
    "RECURSIVE REPEAT LPAD RPAD SPACE ARRAY_REPEAT".split()
)
_MANY_UNIONS = 100
_ENDS_OF_FROM = tuple("WHERE GROUP HAVING ORDER SORT LIMIT UNION EXCEPT INTERSECT WINDOW SELECT".split())


def may_multiply(query: EngineQuery) -> bool:
    """Tests whether a result may have more rows than the files, or much longer ones: by a join, also one with a comma,
    a generator, a range, a recursion, many SELECTs, or a function that repeats a value.
    """
    in_from, unions, word = [False], 0, ""
    for token in tokens(query.sql) if query.tokens is None else query.tokens:
        if token.kind is TokenKind.WORD:
            word = token.upper
            unions += word == "UNION"
            if word in _MULTIPLYING or unions > _MANY_UNIONS:
                return True
            if word == "FROM":
                in_from[-1] = True
            elif word in _ENDS_OF_FROM:
                in_from[-1] = False
        elif token.kind is not TokenKind.OPERATOR:
            word = ""
        elif token.text == "(":
            if in_from[-1] and word not in ("FROM", "VALUES"):
                return True  # A function of tables, or names of columns.
            in_from.append(False)
        elif token.text == ")" and len(in_from) > 1:
            in_from.pop()
        elif token.text == "," and in_from[-1]:
            return True
    return False


def written_file(
    path: str, values: Sequence[str | None], rows: int, bytes: int, place: Sequence[int] | None
) -> WrittenFile:
    """Returns a file as a writer reports it. ``place`` is a part of a packed file (``file_target.Place``)."""
    part = None if place is None else PackedPart(tuple(values), *place)
    return WrittenFile(path, tuple(values), rows, bytes, part)


def engine_closed() -> EngineError:
    """Returns ``EngineError`` ENGINE_CLOSED, for calls after ``close`` and for queries that are running when it is
    called.
    """
    return EngineError(
        "The engine is closed.",
        condition="ENGINE_CLOSED",
        hint="None of the statement's changes were kept. Open a new connection.",
    )


def disk_content(directory: str | None) -> str:
    """Returns the kind of files that fill a disk, for ``errors.disk_full``: the files of a write, or a query's spill
    files.
    """
    return "The spill data of the query" if directory is None else f"The directory {directory}"


def too_many_partitions(write: Write) -> EngineError:
    """Returns ``EngineError`` TOO_MANY_DYNAMIC_PARTITIONS, for a write whose rows have more partitions than allowed."""
    return EngineError(
        f"The INSERT would write more than {write.most_partitions:,} partitions, the limit of "
        "rewriter.max_dynamic_partitions.",
        condition="TOO_MANY_DYNAMIC_PARTITIONS",
        hint="Check the partition columns of the query, or SET rewriter.max_dynamic_partitions to a larger number.",
    )


#: The time that ``close`` waits for interrupted queries, in seconds.
CLOSING_SECONDS = 30.0


#: Loads a batch of a stream: its number, the id of the checkpoint, and its rows.
LoadBatch = Callable[[int, str, Relation], object]


EngineState = Literal["idle", "starting", "ready", "failed"]


#: A DataFrame of Spark, classic or of Spark Connect.
SparkDataFrame: TypeAlias = "DataFrame"


@dataclass(frozen=True, eq=False)
class OpenFrame:
    """A DataFrame of Spark that reads the rows of a query whenever it is used. ``close`` removes what that needs
    besides the files; ``held`` keeps the files from being removed, as long as this object lives.
    """

    frame: SparkDataFrame
    close: Callable[[], None]
    held: object = None


class EngineStream(Protocol):
    """A streaming query that runs in an engine, whose batches are loaded one after the other."""

    def wait(self, seconds: float) -> bool:
        """Waits until the query has ended, and returns whether it has. Raises the error of the batch that failed, and
        ``EngineError`` STREAM_FAILED for other failures.
        """

    def stop(self) -> None:
        """Ends the query after the current batch. Idempotent."""


class Engine(Protocol):
    """An engine runs Spark SQL.

    It raises only ``EngineError`` or ``DataError`` with the engine's own message, or ``NotSupportedError`` for features
    that only another engine has. Positions in them are positions in ``EngineQuery.sql``. Ctrl-C stops the query and
    leaves the engine usable. Rows are in the order of the query's ORDER BY; without one, in any order.
    """

    @property
    def name(self) -> str:
        """``spark`` or ``duckdb``."""

    @property
    def writes_here(self) -> bool:
        """True if this machine makes the files of a write. May start the engine."""

    @property
    def state(self) -> EngineState:
        """``ready`` where the next query need not wait for the engine's start."""

    def prewarm(self) -> None:
        """Starts the engine in the background. The first query raises the errors of the start."""

    def columns(self, query: EngineQuery, declared: bool = False) -> tuple[Column, ...]:
        """Names and types of the query's result, without running it. Types have Spark's spelling.

        A CHAR or VARCHAR column is a ``string`` in queries. With ``declared``, a column that is selected unchanged
        keeps its declared type: through aliases, subqueries, joins and GROUP BY, and in the first query of a UNION.
        """

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query, and holds its rows in memory. Column types are the same on all engines: timestamps are
        ``timestamp[us, UTC]``.
        """

    def stream_rows(self, query: EngineQuery) -> BatchStream:
        """Runs the query as far as its first rows, and computes the others while they are read, with little memory.

        Types are as in ``execute``. Other calls may come between two batches.
        """

    def batches(self, query: EngineQuery) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
        """Runs the query, with rows as in ``execute``, and bounded memory: the engine does not hold the result.

        Errors of the query are raised when the block begins, or by the iterator. The rows can be read in the block.
        """

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query and writes its rows. A failure leaves files only below ``write.directory``, if any."""

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        """Names and types of the columns of the file, directory or pattern ``path``; the same on all engines."""

    def open_frame(self, query: EngineQuery) -> OpenFrame:
        """Returns the query as a DataFrame of Spark, of which nothing is computed yet.

        Raises ``NotSupportedError`` for other engines, and SPARK_SETTING_CHANGES_RESULTS where a setting of the session
        that was handed in would change what the DataFrame reads.
        """

    def view_of_frame(self, frame: object, columns: Sequence[Column]) -> FrameView | None:
        """Returns a ``Relation.view`` of the rows of a DataFrame of Spark, as columns of these types; ``None`` unless
        the engine is in the Spark of the DataFrame. It lasts until ``forget_frame``, or the end of the engine.
        """

    def forget_frame(self, frame: object) -> None:
        """Drops the view of a DataFrame, if there is one."""

    def explain(self, query: EngineQuery) -> str:
        """Returns the engine's own plan as text."""

    def stream(
        self, frame: object, checkpoint: str, available_now: bool, seconds: float, load: LoadBatch
    ) -> EngineStream:
        """Starts the query of a streaming DataFrame. With ``available_now`` it ends when everything that exists is
        loaded; otherwise it runs a batch every ``seconds``. A batch whose ``load`` failed runs again with the same
        number in the next query over the same ``checkpoint``.

        Raises ``InterfaceError`` for an object that is no streaming DataFrame, ``NotSupportedError`` for engines
        without streams, and ``EngineError`` STREAM_NOT_STARTED.
        """

    def close(self) -> None:
        """Stops everything that the engine started. Idempotent. Queries in other threads are interrupted and raise
        ``engine_closed``.
        """
