"""The one protocol of engines, and what goes through it.

A query reaches an engine as Spark SQL text in which every table of ours is the name of a relation, with one
``Relation`` per name saying which files it consists of. The engine makes the relations, runs the text and
answers Arrow batches. A write names a directory of its own; the engine fills it and reports the files. No
engine knows the catalog: committing is the session's work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rewriter.catalog.models import Column, PartitionValues
from rewriter.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ScanFile:
    """A file to read: its absolute path, its partition's canonical values as the catalog has them, its size."""

    path: str
    values: PartitionValues
    bytes: int


@dataclass(frozen=True)
class Relation:
    """A named set of files that a query reads as one table.

    ``columns`` (data columns, then ``partition_columns``) is what ``SELECT *`` answers, in order and with these
    types, whatever the files say. Values of partition columns are those of the ``ScanFile``, even where the path
    says otherwise. No files is an empty relation of the right types. Columns are found in the files by name, without
    case; one that a file lacks is NULL there.

    ``format`` is ``parquet``, ``csv``, ``json`` (one object a line) or ``orc`` (Spark only). CSV files have a header; a
    value of CSV or JSON is read as text and cast, and what does not fit is a ``DataError``. ``options`` are those of
    ``rewriter.exec.files``. All CSV files have one header; where ``grown``, as columns were added, some may have the
    first of ``columns`` alone.
    """

    name: str
    format: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    files: tuple[ScanFile, ...]
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    grown: bool = False

    @property
    def all_columns(self) -> tuple[Column, ...]:
        return self.columns + self.partition_columns


@dataclass(frozen=True)
class EngineQuery:
    """Spark SQL text, the relations it names, and values for its named parameters (``:name``)."""

    sql: str
    relations: tuple[Relation, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Write:
    """Where and how a query's rows are written.

    The query answers ``columns`` and then the dynamic partition columns, by position; each value is assigned to the
    declared type as an INSERT does (``rewriter.exec.assignment``): a type that cannot be assigned is an ``EngineError``
    INCOMPATIBLE_DATA_FOR_TABLE, a value that does not fit or would be rounded is a ``DataError``. ``directory`` may not
    exist yet; it belongs to the writes of one statement, whose files stand beside each other. ``static`` are the
    canonical values of the leading static partition columns. The files of a partition land in
    ``directory/<col>=<escaped value>/…`` for all partition columns, static ones first.
    NULL, ``''`` and ``__HIVE_DEFAULT_PARTITION__`` are one partition: NULL.

    More than ``most_partitions`` are an ``EngineError`` TOO_MANY_DYNAMIC_PARTITIONS that tells how many there would be.
    Whoever writes stops at that number and only counts what is left, so that no mistake fills the disk; on Spark each
    task writes up to that many.
    """

    directory: str
    format: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    static: PartitionValues = ()
    most_partitions: int | None = None

    @property
    def dynamic_columns(self) -> tuple[Column, ...]:
        return self.partition_columns[len(self.static) :]


@dataclass(frozen=True)
class WrittenFile:
    """A file that a write made, with the canonical values of its partition (all partition columns)."""

    path: str
    values: PartitionValues
    rows: int | None
    bytes: int


def check_partitions(count: int, write: Write) -> None:
    """Raises ``EngineError`` TOO_MANY_DYNAMIC_PARTITIONS where a write makes more partitions than it may."""
    if write.most_partitions is not None and count > write.most_partitions:
        raise EngineError(
            f"The INSERT would write {count:,} partitions, more than {write.most_partitions:,}.",
            condition="TOO_MANY_DYNAMIC_PARTITIONS",
            hint=f"Check the partition columns of the query, or SET rewriter.max_dynamic_partitions = {count}.",
        )


class Engine(Protocol):
    """An engine runs Spark SQL.

    All errors that leave it are ``EngineError`` or ``DataError`` with the engine's own words, or ``NotSupportedError``
    for what only another engine does. Positions in them are those of ``EngineQuery.sql``. Ctrl-C stops the query and
    leaves the engine usable. Row order is that of the query's ORDER BY, else any.
    """

    @property
    def name(self) -> str:
        """``spark`` or ``duckdb``."""

    def columns(self, query: EngineQuery) -> tuple[Column, ...]:
        """Names and types that the query would answer, without running it. Types are Spark's spelling."""

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query. Column types are the same on all engines: timestamps are ``timestamp[us, UTC]``."""

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query and writes its rows. A failure leaves at most files below ``write.directory``."""

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        """Names and types of the columns of the file, directory or pattern ``path``; the same on all engines."""

    def explain(self, query: EngineQuery) -> str:
        """The engine's own plan as text."""

    def close(self) -> None:
        """Ends what the engine started. Idempotent."""
