"""The Spark engine: one classic session, started when first needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.catalog.models import Column
from rewriter.catalog.values import DEFAULT_PARTITION, escape, partition_name
from rewriter.errors import EngineError, Error
from rewriter.exec.assignment import SPARK, assign, check_arity
from rewriter.exec.engine import EngineQuery, Write, WrittenFile, check_partitions
from rewriter.exec.files import check_written, file_columns
from rewriter.exec.interrupts import interruptible
from rewriter.exec.spark_errors import translated
from rewriter.exec.spark_relations import Views, identifier
from rewriter.exec.sqltypes import parse_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rewriter.exec.spark_session import StartedSpark

T = TypeVar("T")

_ESCAPES = {char: escape(char) for char in map(chr, range(1, 256)) if escape(char) != char}


class SparkEngine:
    """Runs queries on Spark. ``master`` is any master URL, ``local[*]`` by default; ``conf`` are settings of Spark.

    Starting takes 5 to 30 s, once, when the first query comes, or in the background after ``prewarm``. A Spark that
    runs in this process already is used in a session of our own.
    """

    name = "spark"

    def __init__(self, master: str | None = None, conf: Mapping[str, str] | None = None) -> None:
        self._master = master
        self._conf = dict(conf or {})
        self._lock = threading.Lock()
        self._started: StartedSpark | None = None
        self._scratch: str | None = None
        self._closed = False

    def prewarm(self) -> None:
        """Starts Spark in the background. What goes wrong is told when the first query comes."""

        def quietly() -> None:
            with contextlib.suppress(Error):
                self._running()

        threading.Thread(target=quietly, name="rewriter-spark-start", daemon=True).start()

    def columns(self, query: EngineQuery) -> tuple[Column, ...]:
        with self._frame(query) as frame:
            return tuple(Column(field.name, field.dataType.simpleString()) for field in frame.schema.fields)

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query. The answer is held in memory."""
        with self._frame(query) as frame:
            table: pa.Table = self._job(query.sql, frame.toArrow)
        return table.cast(_plain_schema(table.schema)).to_reader()

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query and writes a file for each partition and task; each partition belongs to one task, unless it
        is so big that Spark splits it.
        """
        check_written(write.format)
        with self._frame(query) as frame:
            arranged = _assigned(frame, write)
            os.makedirs(write.directory, exist_ok=True)
            if write.dynamic_columns or write.format.lower() != "parquet":
                return self._write_partitions(arranged, query, write)
            return self._write_one(arranged, query, write)

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        return file_columns(format, path, options)

    def explain(self, query: EngineQuery) -> str:
        with self._frame(query) as frame:
            rows = frame.sparkSession.sql(f"EXPLAIN FORMATTED {query.sql}", args=_arguments(query)).collect()
        return "\n".join(str(row[0]) for row in rows)

    def close(self) -> None:
        with self._lock:
            started, self._started = self._started, None
            scratch, self._scratch = self._scratch, None
            self._closed = True
        if started is not None:
            started.stop()
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)

    def _running(self) -> StartedSpark:
        from rewriter.exec.spark_session import start

        with self._lock:
            if self._closed:
                raise EngineError("The engine is closed.", condition="ENGINE_CLOSED")
            if self._started is None:
                self._started = start(self._master, self._conf)
                self._scratch = tempfile.mkdtemp(prefix="rewriter-scan-")
                # Also where nobody closes the engine.
                weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
            return self._started

    @contextmanager
    def _frame(self, query: EngineQuery) -> Iterator[DataFrame]:
        """The query as a DataFrame over views of its relations, which are gone afterwards."""
        session = interruptible(self._running).session
        assert self._scratch is not None
        views = Views(session, self._scratch)
        try:
            with _spark_errors(query.sql):
                for relation in query.relations:
                    views.create(relation)
                yield session.sql(query.sql, args=_arguments(query))
        finally:
            views.close()

    def _write_partitions(self, frame: DataFrame, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Through our own data source: one task has all rows of a partition, sorted by partition."""
        from rewriter.exec.spark_writer import PartitionTarget, write_partitions

        keys = frame.columns[len(write.columns) :]
        if keys:
            frame = frame.hint("rebalance", *keys).sortWithinPartitions(*keys)
        levels = [escape(column.name) for column in write.partition_columns]
        scratch = self._scratch
        assert scratch is not None
        target = PartitionTarget(
            write.directory,
            write.format.lower(),
            tuple(levels),
            write.static,
            len(write.columns),
            _ESCAPES,
            write.most_partitions,
        )
        files, left = self._job(query.sql, lambda: write_partitions(frame, target, scratch))
        check_partitions(len({file.values for file in files}) + left, write)
        return files

    def _write_one(self, frame: DataFrame, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Everything into one partition: Spark's own writer, which needs no Python workers."""
        import pyarrow.parquet as pq

        place = os.path.join(write.directory, partition_name(write.partition_columns, write.static))
        directory = place if write.partition_columns else write.directory
        before = set(os.listdir(directory)) if os.path.isdir(directory) else set()
        self._job(query.sql, lambda: frame.write.mode("append").parquet(directory))
        written = []
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            if name in before or name.startswith((".", "_")):
                continue
            written.append(WrittenFile(path, write.static, pq.read_metadata(path).num_rows, os.path.getsize(path)))
        return tuple(written)

    def _job(self, sql: str, run: Callable[[], T]) -> T:
        """Runs Spark jobs so that Ctrl-C stops them: in another thread, as a group that can be cancelled."""
        started = self._running()
        group = f"rewriter-{uuid.uuid4().hex}"

        def work() -> T:
            started.enter_job(group, sql[:200])
            return run()

        return interruptible(work, lambda: started.cancel(group))


@contextmanager
def _spark_errors(sql: str) -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translated(error, sql) from None
    except OSError as error:
        raise EngineError(str(error), condition="FAILED_WRITE_FILE", sqlstate="58030") from None


def _arguments(query: EngineQuery) -> dict[str, Any] | None:
    """The parameters as Spark takes them: an instant without a zone means UTC."""
    found = {
        name: value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
        for name, value in query.parameters.items()
    }
    return found or None


def _assigned(frame: DataFrame, write: Write) -> DataFrame:
    """The columns by position, as the table declares them; dynamic partition columns as texts of their values."""
    targets = (*write.columns, *write.dynamic_columns)
    given = [field.dataType.simpleString() for field in frame.schema.fields]
    check_arity(len(given), len(targets))
    # Names of ours: those of the query may repeat.
    plain = frame.toDF(*(f"q{number}" for number in range(len(given))))
    items = []
    for number, (type_name, column) in enumerate(zip(given, targets, strict=True)):
        value = assign(f"q{number}", type_name, column, SPARK)
        if number >= len(write.columns):
            items.append(f"{_partition_text(value, column)} AS rewriter_key_{number}")
        else:
            items.append(f"{value} AS {identifier(column.name)}")
    return plain.selectExpr(*items)


def _partition_text(value: str, column: Column) -> str:
    """The canonical text of a partition value; NULL, '' and Hive's name for NULL are NULL."""
    type_ = parse_type(column.type)
    if type_.is_floating:
        # -0.0 and 0.0 are one partition.
        value = f"CASE WHEN {value} = 0 THEN CAST(0 AS {type_}) ELSE {value} END"
    text = f"CAST({value} AS STRING)"
    return f"CASE WHEN {text} IN ('', '{DEFAULT_PARTITION}') THEN NULL ELSE {text} END"


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The same names and types, every column nullable: what Spark knows of NULLs differs from engine to engine."""
    import pyarrow as pa

    return pa.schema([pa.field(field.name, field.type) for field in schema])
