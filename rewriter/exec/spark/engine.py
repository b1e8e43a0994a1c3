"""The Spark engine: sessions of a classic Spark, or of a Spark Connect server, started when first needed."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import uuid
import weakref
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.cancellation import Cancellation, check_cancellation, current_cancellation
from rewriter.catalog.keys.values import DEFAULT_PARTITION, partition_name
from rewriter.catalog.model.objects import Column
from rewriter.errors import EngineError, Error, disk_full, is_disk_full
from rewriter.exec.batch_stream import BatchStream, prefetch_rows
from rewriter.exec.damaged_files import name_damaged_file
from rewriter.exec.data_files import check_written, file_columns
from rewriter.exec.engine import (
    CLOSING_SECONDS,
    EngineQuery,
    EngineState,
    EngineStream,
    FrameView,
    LoadBatch,
    OpenFrame,
    Relation,
    Write,
    WrittenFile,
    disk_content,
    engine_closed,
    input_bytes,
    may_multiply,
    too_many_partitions,
)
from rewriter.exec.file_groups import is_managed
from rewriter.exec.interrupts import PATIENCE_SECONDS, interruptible
from rewriter.exec.sinks.partition_limit import TooManyPartitionsError
from rewriter.exec.sinks.sink_kinds import SinkKind
from rewriter.exec.spark.connect_session import SCHEME, ConnectedSpark, arrow_tables, connect, over
from rewriter.exec.spark.errors import translate_error
from rewriter.exec.spark.relations import DECLARED_TYPE, KeptFrames, Views, identifier
from rewriter.exec.spark.session_kinds import functions_of, is_connect
from rewriter.exec.spark.small_queries import is_small
from rewriter.exec.spark.spilled_rows import ArrowPartitions, arrow_schema, pack_rows, unpack_rows
from rewriter.exec.sql_types import parse_type
from rewriter.exec.translate.store_assignment import SPARK, assign, check_arity
from rewriter.exec.write_target import file_sink
from rewriter.scratch_directories import ScratchDirectory
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rewriter.exec.spark.session import StartedSpark


T = TypeVar("T")

#: Spark's conditions for a file that it cannot read, without the file's name.
_OF_FILES = (
    "MALFORMED_CSV_RECORD",
    "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    "MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS",
    "SPARK_ERROR",
)

#: The beginning of the name of a group of jobs; the id of a statement follows.
_GROUP = "rewriter-"

#: The characters of a statement that Spark shows.
_SHOWN = 200

#: The seconds in which canceled jobs end. A query that is being planned takes longer, and then starts none.
_PATIENCE_SECONDS = 1.5

#: The rows that are computed when a query starts.
_FIRST_ROWS = 100_000

#: The bytes of files that one task of Spark reads.
_TASK_BYTES = 128 << 20


class SparkEngine:
    """Runs queries on Spark. ``master`` is any master URL, ``local[*]`` by default, or ``sc://host:15002`` for Spark
    Connect; ``conf`` are Spark settings. With ``session``, a session of either kind, it uses new sessions of the same
    Spark.

    Starting takes 5 to 30 s, once: at the first query, or in the background after ``prewarm``. If Spark is already
    running in this process, the engine opens its own session in it.
    """

    name = "spark"

    def __init__(
        self, master: str | None = None, conf: Mapping[str, str] | None = None, session: SparkSession | None = None
    ) -> None:
        self._master = master
        self._given = session
        self._conf = dict(conf or {})
        self._lock = threading.Lock()
        self._started: StartedSpark | ConnectedSpark | None = None
        self._scratch: ScratchDirectory | None = None
        self._is_closed = False
        #: The number of running queries, in any thread, and of the running jobs of each group: a group has the jobs of
        #: a statement.
        self._queries = 0
        self._groups: Counter[str] = Counter()
        self._views = _KeptViews()
        self._kept_frames = KeptFrames()
        #: What the DataFrames need that were handed out.
        self._opened: list[Views] = []
        #: DataFrames that queries read, with their global views, by the identity of the DataFrames.
        self._shared: dict[int, tuple[object, str]] = {}
        self._prewarming: EngineState = "idle"

    @property
    def writes_here(self) -> bool:
        """True if Spark runs in this process. Starts it."""
        return self._awaited_spark().shares_files

    @property
    def state(self) -> EngineState:
        return "ready" if self._started is not None else self._prewarming

    def prewarm(self) -> None:
        """Starts Spark in the background. The first query raises the errors of the start."""

        def quietly() -> None:
            try:
                self._running_spark()
            except Exception:
                self._prewarming = "failed"

        self._prewarming = "starting"
        threading.Thread(target=quietly, name="rewriter-spark-start", daemon=True).start()

    def columns(self, query: EngineQuery, declared: bool = False) -> tuple[Column, ...]:
        with self._frame(query) as frame:
            fields = interruptible(lambda: frame.schema.fields)
        types = [field.metadata.get(DECLARED_TYPE) if declared else None for field in fields]
        return tuple(
            Column(field.name, type_ or field.dataType.simpleString())
            for field, type_ in zip(fields, types, strict=True)
        )

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query. The result is held in memory, of this process alone."""
        import pyarrow as pa

        with self.batches(query) as batches:
            rows = list(batches)
        return pa.RecordBatchReader.from_batches(rows[0].schema, rows)

    def stream_rows(self, query: EngineQuery) -> BatchStream:
        """Runs the query. Its partitions are computed in groups, or by a Spark Connect server all in order; on this
        machine their rows wait in temporary files. A cluster's driver holds the rows of a group.
        """
        batches = self._batches(query)
        return prefetch_rows(next(batches).schema, batches, _FIRST_ROWS)

    @contextmanager
    def batches(self, query: EngineQuery) -> Iterator[Iterator[pa.RecordBatch]]:
        """Runs the query as ``stream_rows`` does. The first batch is empty."""
        with contextlib.closing(self._batches(query)) as batches:
            yield batches

    def _batches(self, query: EngineQuery) -> Generator[pa.RecordBatch, None, None]:
        """Yields an empty batch, and then the rows. Between two batches, no query of a classic Spark is running."""
        import pyarrow as pa

        started = self._awaited_spark()
        is_small = _is_small(query)
        spill = ScratchDirectory("rows") if started.is_local and not is_small else None
        try:
            with self._frame(query) as frame:
                schema = interruptible(lambda: arrow_schema(frame))
                yield pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)
                sent = frame if spill is None else interruptible(lambda: pack_rows(frame, spill.path))
                receive = self._received if isinstance(started, ConnectedSpark) else self._collected
                with contextlib.closing(receive(query.shown, sent, is_small or spill is not None)) as received:
                    for batch in received if spill is None else unpack_rows(received):
                        with self._paused():
                            yield _with_schema(batch, schema)
        finally:
            if spill is not None:
                spill.remove()

    def _collected(self, shown: str, frame: DataFrame, are_small: bool) -> Generator[pa.RecordBatch, None, None]:
        """Yields the rows of a classic Spark, group by group. ``are_small`` states that its partitions are."""
        partitions = self._job(shown, frame, lambda: ArrowPartitions(frame, are_small))
        for group in partitions.groups():
            address = self._job(shown, frame, partial(partitions.compute, group))
            with partitions.reading(group, address) as batches:
                while (batch := interruptible(partial(next, batches, None))) is not None:
                    yield batch

    def _received(self, shown: str, frame: DataFrame, are_small: bool) -> Generator[pa.RecordBatch, None, None]:
        """Yields the rows as a Spark Connect server sends them."""
        group = _group(current_cancellation())
        tables = arrow_tables(frame)
        try:
            while (table := self._job(shown, frame, partial(next, tables, None), group)) is not None:
                yield from table.to_batches()
        except GeneratorExit:  # Nobody reads the rest.
            with contextlib.suppress(Exception):
                self._running_spark().cancel(group)
            raise

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """Lets ``close`` not wait for a query while its rows are not being read."""
        with self._lock:
            self._queries -= 1
        try:
            yield
        finally:
            with self._lock:
                self._queries += 1
        if self._is_closed:
            raise engine_closed()

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query and writes a file for each partition and task. Each partition belongs to one task, unless it
        is so big that Spark splits it.

        A single partition gets a file of each task. Spark's own writer fills files of Parquet if they may be as large
        as what a task reads, and all tasks run in one process on this machine. Raises ``EngineError``
        WRITTEN_FILES_NOT_SHARED if workers wrote to storage of their own.
        """
        check_written(write.format, write.columns)
        with self._frame(query, write.directory) as frame:
            rows = _assigned(frame, write)
            os.makedirs(write.directory, exist_ok=True)
            if write.used_sink.kind in (SinkKind.SINGLE, SinkKind.SORTED):
                rows = _with_few_tasks(rows, query, write)
            # The files of Spark's own writer have to be listed. The files of other machines, or of a repeated task, are
            # not certain to be listed, or to be of this write.
            is_listed = self._awaited_spark().shares_files and write.format.lower() == "parquet"
            if is_listed and not write.dynamic_columns and _most_file_bytes(write) >= _TASK_BYTES:
                return self._write_one(rows, query, write)
            return self._write_partitions(rows, query, write)

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        return file_columns(format, path, options)

    def open_frame(self, query: EngineQuery) -> OpenFrame:
        """Returns the query as a DataFrame: of the session that was handed in if that is a classic one, else of the
        connection's own session.

        The query is analyzed in the connection's own session: literals, casts and time zones mean there what they mean
        in every query.
        """
        started = self._awaited_spark()
        session = started.session
        if not isinstance(started, ConnectedSpark):
            started.prepare_given(query)
        with self._lock:
            if self._scratch is None:
                raise engine_closed()
            views = Views(session, self._scratch.path, self._kept_frames)
            self._opened.append(views)
        may_keep = all(map(is_managed, query.relations))
        copies: list[Views] = []

        def close() -> None:
            while copies:
                copies.pop().close()
            if views in self._opened:
                self._opened.remove(views)
                if not may_keep or self._views.get(query, session) is not views:
                    views.close()

        def define() -> DataFrame:
            started.enter_job(session, _group(current_cancellation()), mask_credentials(query.shown)[:_SHOWN])
            self._views.close_expired()
            # The views of a query that ran have the same names.
            if not may_keep or self._views.get(query, session) is None:
                for relation in query.relations:
                    check_cancellation()
                    views.create(relation)
                if may_keep:
                    self._views.keep(query, session, views)
            if isinstance(started, ConnectedSpark):
                # Its server looks up the views each time.
                return self._analyze_on_server(started, query, session, copies)
            frame = started.analyze(query, session, arguments(query, session))
            # An analyzed plan has the files, and needs no views.
            close()
            return started.for_user(frame)

        try:
            with self._errors(started, query.sql, None, query.relations):
                return OpenFrame(interruptible(define), close)
        except BaseException:
            close()
            raise

    def view_of_frame(self, frame: Any, columns: Sequence[Column]) -> FrameView | None:
        started = self._awaited_spark()
        if isinstance(started, ConnectedSpark) or is_connect(frame):
            return None
        if frame.sparkSession.sparkContext is not started.session.sparkContext:
            return None
        from rewriter.exec.spark.session import rows_of_frame

        name = f"rewriter_frame_{uuid.uuid4().hex}"
        items = [f"CAST({identifier(column.name)} AS {column.type}) AS {identifier(column.name)}" for column in columns]

        def define() -> FrameView:
            # In a session in UTC, where a time without a zone is one of UTC.
            rows, tasks, size = rows_of_frame(frame, started.session)
            own_frame = rows.toDF(*(column.name for column in columns))
            own_frame.selectExpr(*items).createOrReplaceGlobalTempView(name)
            return FrameView(name, tasks, size)

        with self._errors(started, "", None, ()):
            view = interruptible(define)
        self.forget_frame(frame)
        with self._lock:
            self._shared[id(frame)] = frame, name
        return view

    def forget_frame(self, frame: object) -> None:
        with self._lock:
            _, view = self._shared.pop(id(frame), (None, None))
            started = self._started
        if view is not None and started is not None:
            with contextlib.suppress(Exception):  # Its Spark may have died.
                started.session.catalog.dropGlobalTempView(view)

    def explain(self, query: EngineQuery) -> str:
        with self._frame(query) as frame:
            explained, values = f"EXPLAIN FORMATTED {query.sql}", arguments(query, frame)
            rows = interruptible(lambda: frame.sparkSession.sql(explained, args=values).collect())
        return "\n".join(str(row[0]) for row in rows)

    def stream(
        self, frame: object, checkpoint: str, available_now: bool, seconds: float, load: LoadBatch
    ) -> EngineStream:
        from rewriter.exec.spark.streaming import FrameStream

        self._running_spark()
        return FrameStream(frame, checkpoint, available_now, seconds, load)

    def close(self) -> None:
        with self._lock:
            spark, self._started = self._started, None
            scratch, self._scratch = self._scratch, None
            self._is_closed = True
        deadline = time.monotonic() + CLOSING_SECONDS
        while self._queries and spark is not None and time.monotonic() < deadline:
            with self._lock:
                groups = list(self._groups)
            for group in groups:
                with contextlib.suppress(Exception):  # Its Spark may have died.
                    spark.cancel(group)
            time.sleep(0.1)
        if spark is not None:
            with contextlib.suppress(Exception):  # They are gone with their Spark.
                self._views.close()
                for views in self._opened:
                    views.close()
                for _, view in self._shared.values():
                    spark.session.catalog.dropGlobalTempView(view)
            spark.stop()
        if scratch is not None:
            scratch.remove()

    def _running_spark(self) -> StartedSpark | ConnectedSpark:
        from rewriter.exec.spark.session import start

        with self._lock:
            if self._is_closed:
                raise engine_closed()
            if self._started is None:
                if self._given is not None and is_connect(self._given):
                    self._started = over(self._given, self._conf)
                elif self._master is not None and self._master.startswith(SCHEME):
                    self._started = connect(self._master, self._conf)
                else:
                    self._started = start(self._master, self._conf, self._given)
                self._scratch = ScratchDirectory("scan")
            return self._started

    def _awaited_spark(self) -> StartedSpark | ConnectedSpark:
        """Returns the running Spark. Its start is a phase of the statement, and goes on if that is canceled."""
        cancellation = current_cancellation()
        if self._started is None and cancellation is not None:
            cancellation.observer.report("starting", subject="Spark")
        return interruptible(self._running_spark)

    @contextmanager
    def _frame(self, query: EngineQuery, directory: str | None = None) -> Iterator[DataFrame]:
        """The query as a DataFrame over views of its relations, which are kept for the next run of the same query, or
        dropped at the end of the block.

        ``directory`` is the target of a write inside the block.
        """
        started = self._awaited_spark()
        session = started.small_session if directory is None and is_small(query) else started.session
        views: list[Views] = []
        copies: list[Views] = []
        with self._lock:
            if self._scratch is None:
                raise engine_closed()
            scratch = self._scratch.path
            self._queries += 1
        try:
            with self._errors(started, query.sql, directory, query.relations):
                may_keep = directory is None and all(map(is_managed, query.relations))

                def define() -> DataFrame:
                    started.enter_job(session, _group(current_cancellation()), mask_credentials(query.shown)[:_SHOWN])
                    self._views.close_expired()
                    if not may_keep or self._views.get(query, session) is None:
                        views.append(Views(session, scratch, self._kept_frames))
                        for relation in query.relations:
                            check_cancellation()
                            views[0].create(relation)
                    if isinstance(started, ConnectedSpark):
                        return self._analyze_on_server(started, query, session, copies)
                    return started.analyze(query, session, arguments(query, session))

                yield interruptible(define)
                if views and may_keep:
                    self._views.keep(query, session, views.pop())
        finally:
            try:
                for unkept in (*views, *copies):
                    unkept.close()
            except Exception:
                if not self._is_closed and self._started is started:  # Otherwise they are gone with their Spark.
                    raise
            finally:
                with self._lock:
                    self._queries -= 1

    def _analyze_on_server(
        self, started: ConnectedSpark, query: EngineQuery, session: SparkSession, copies: list[Views]
    ) -> DataFrame:
        """Returns a query as a DataFrame of a session of ours, or of a copy of the user's session if it calls functions
        of that one. ``copies`` gets the views of the copy.
        """
        from pyspark.errors import AnalysisException

        from rewriter.exec.spark.session import function_over_cube, unresolved_function

        try:
            return session.sql(query.sql, args=arguments(query, session))
        except AnalysisException as error:
            name = unresolved_function(error)
            copy = None if name is None else started.copy_given(session)
            if name is None or copy is None:
                raise
        with self._lock:
            if self._scratch is None:
                raise engine_closed()
            copies.append(Views(copy, self._scratch.path, self._kept_frames, started.end_copy))
        started.enter_job(copy, _group(current_cancellation()), "")
        for relation in query.relations:
            check_cancellation()
            copies[0].create(relation)
        frame: DataFrame = copy.sql(query.sql, args=arguments(query, copy))
        if query.reads_cube:
            raise function_over_cube(name)
        return frame

    @contextmanager
    def _errors(
        self, started: StartedSpark | ConnectedSpark, sql: str, directory: str | None, relations: Sequence[Relation]
    ) -> Iterator[None]:
        try:
            with self._found_lost(started), _spark_errors(sql, directory):
                yield
        except Error as error:
            if self._is_closed:
                raise engine_closed() from error
            raise name_damaged_file(error, relations, _OF_FILES) from None
        except Exception as error:
            # If another thread has stopped Spark, any attribute may be gone.
            if self._is_closed:
                raise engine_closed() from error
            raise

    @contextmanager
    def _found_lost(self, started: StartedSpark | ConnectedSpark) -> Iterator[None]:
        """Raises ENGINE_UNREACHABLE for an error that came because Spark is gone. The next query starts it anew."""
        try:
            yield
        except Exception as error:
            is_of_engine = isinstance(error, EngineError) or not isinstance(error, Error)
            causes = [cause for cause in (error, error.__context__) if cause is not None]
            if self._is_closed or not is_of_engine or not any(map(started.is_lost, causes)):
                raise
            with self._lock:
                if self._started is started:
                    self._started, self._views, self._kept_frames = None, _KeptViews(), KeptFrames()
            raise started.abandon() from None

    def _write_partitions(self, frame: DataFrame, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Writes through our own data source. For a grouped sink, one task has all rows of a partition, sorted."""
        from rewriter.exec.spark.writer import write_partitions

        if write.dynamic_columns and file_sink(write).enable_dynamic_partition_grouping():
            keys = frame.columns[len(write.columns) :]
            frame = frame.hint("rebalance", *keys).sortWithinPartitions(*keys)
        scratch = self._scratch
        if scratch is None:
            raise engine_closed()
        try:
            files = self._job(query.shown, frame, lambda: write_partitions(frame, write, scratch.path), is_write=True)
        except Exception as error:
            if isinstance(error, TooManyPartitionsError) or TooManyPartitionsError.__name__ in str(error):
                raise too_many_partitions(write) from None
            raise
        if not self._awaited_spark().shares_files:
            check_shared(files)
        return files

    def _write_one(self, frame: DataFrame, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Writes everything into one partition with Spark's own writer, which needs no Python workers."""
        import pyarrow.parquet as pq

        partition_directory = os.path.join(write.directory, partition_name(write.partition_columns, write.static))
        directory = partition_directory if write.partition_columns else write.directory
        before = set(os.listdir(directory)) if os.path.isdir(directory) else set()
        self._job(query.shown, frame, lambda: frame.write.mode("append").parquet(directory), is_write=True)
        files = []
        for name in sorted(os.listdir(directory)):
            path = os.path.join(directory, name)
            if name in before or name.startswith((".", "_")):
                continue
            files.append(WrittenFile(path, write.static, pq.read_metadata(path).num_rows, os.path.getsize(path)))
        return tuple(files)

    def _job(
        self, shown: str, frame: DataFrame, run: Callable[[], T], group: str | None = None, *, is_write: bool = False
    ) -> T:
        """Runs Spark jobs so that Ctrl-C stops them: in another thread, as a group that can be cancelled.

        The end of a write is awaited for longer: Spark makes its directories late.
        """
        started = self._running_spark()
        group = group or _group(current_cancellation())

        def work() -> T:
            started.enter_job(
                frame.sparkSession, group, f"{group.removeprefix(_GROUP)}: {mask_credentials(shown)[:_SHOWN]}"
            )
            return run()

        cancel = partial(started.cancel, group)
        with self._lock:
            self._groups[group] += 1
        patience = PATIENCE_SECONDS if is_write else _PATIENCE_SECONDS
        try:
            with started.watch.over(cancel) as check:
                return interruptible(work, cancel, lambda: started.measure(group), patience, check)
        finally:
            with self._lock:
                self._groups[group] -= 1
                if not self._groups[group]:
                    del self._groups[group]


#: The most rows and bytes of the files of a query whose rows are held in memory, unless it may multiply them.
_SMALL_ROWS, _SMALL_BYTES = 200_000, 8 << 20


def _is_small(query: EngineQuery) -> bool:
    """Tests whether all rows of a query are so few that the JVM may hold them: Python workers that pass them on would
    take longer than the query itself.
    """
    files = [file for relation in query.relations for file in relation.files]
    rows = [file.rows for file in files if file.rows is not None]
    is_known = len(rows) == len(files) and all(relation.view is None for relation in query.relations)
    is_little = sum(rows) <= _SMALL_ROWS and sum(file.bytes for file in files) <= _SMALL_BYTES
    return is_known and is_little and not may_multiply(query)


def _group(cancellation: Cancellation | None) -> str:
    """Returns the name of the group of a statement's jobs."""
    return _GROUP + (str(uuid.uuid4()) if cancellation is None else cancellation.query_id)


@contextmanager
def _spark_errors(sql: str, directory: str | None) -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise translate_error(error, sql, directory) from None
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(disk_content(directory), directory) from None
        raise EngineError(str(error), condition="FAILED_WRITE_FILE", sqlstate="58030") from None


def _most_file_bytes(write: Write) -> int:
    target_bytes = write.used_sink.target_file_bytes
    return _TASK_BYTES if target_bytes is None else target_bytes


def _with_few_tasks(frame: DataFrame, query: EngineQuery, write: Write) -> DataFrame:
    """Returns the query in fewer tasks, each of which makes files of its own, where these would be small: in at most so
    many as the sink says, and otherwise, for larger files, in as many as the files that it reads would fill.
    """
    if write.sink.most_tasks is not None:
        return frame.coalesce(write.sink.most_tasks)
    read_bytes, most_bytes = input_bytes(query), _most_file_bytes(write)
    return frame.coalesce(-(-read_bytes // most_bytes)) if read_bytes and most_bytes > _TASK_BYTES else frame


def _with_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Returns the columns of a batch with a schema that differs from its own in names and in what may be NULL alone."""
    import pyarrow as pa

    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# Keeps the views of queries that may run again.


class _KeptViews:
    """The views of queries over files that never change, by the identity of the ``EngineQuery`` and of the session.

    When a query ends, its views wait in ``expired``: the thread that drops the last reference may be any. Entries may
    be read and added from several threads.
    """

    def __init__(self) -> None:
        self.expired: deque[Views] = deque()
        self._entries: dict[tuple[int, int], tuple[weakref.ref[EngineQuery], Views]] = {}

    def get(self, query: EngineQuery, session: SparkSession) -> Views | None:
        """Returns the views of a query in one of our sessions; ``None`` if there are none."""
        reference, views = self._entries.get((id(query), id(session)), (None, None))
        return views if reference is not None and reference() is query else None

    def keep(self, query: EngineQuery, session: SparkSession, views: Views) -> None:
        """Keeps views as long as the query exists."""
        key, owner = (id(query), id(session)), weakref.ref(self)

        def expire(reference: weakref.ref[EngineQuery]) -> None:
            kept = owner()
            entry = None if kept is None else kept._entries.get(key)
            if kept is not None and entry is not None and entry[0] is reference:
                del kept._entries[key]
                kept.expired.append(entry[1])

        self._entries[key] = weakref.ref(query, expire), views

    def close_expired(self) -> None:
        """Drops the views of queries that have ended."""
        while self.expired:
            try:
                views = self.expired.popleft()
            except IndexError:  # Another thread was faster.
                return
            views.close()

    def close(self) -> None:
        """Drops all views."""
        self.expired.extend(views for _, views in self._entries.values())
        self._entries.clear()
        self.close_expired()


# The columns of a query as a table declares them, before a write.


def _assigned(frame: DataFrame, write: Write) -> DataFrame:
    """Returns the columns by position, as the table declares them; dynamic partition columns as texts of their
    values.
    """
    targets = (*write.columns, *write.dynamic_columns)
    types = [field.dataType.simpleString() for field in frame.schema.fields]
    check_arity(len(types), len(targets))
    # Generated names: the names of the query may repeat.
    renamed = frame.toDF(*(f"q{number}" for number in range(len(types))))
    items = []
    for number, (type_name, column) in enumerate(zip(types, targets, strict=True)):
        value = assign(f"q{number}", type_name, column, SPARK)
        if number >= len(write.columns):
            items.append(f"{_partition_text(value, column)} AS rewriter_key_{number}")
        else:
            items.append(f"{value} AS {identifier(column.stored_name)}")
    return renamed.selectExpr(*items)


def _partition_text(value: str, column: Column) -> str:
    """Returns the canonical text of a partition value; NULL, '' and Hive's name for NULL are NULL."""
    type_ = parse_type(column.type)
    if type_.is_floating:
        # -0.0 and 0.0 are one partition.
        value = f"CASE WHEN {value} = 0 THEN CAST(0 AS {type_}) ELSE {value} END"
    text = f"CAST({value} AS STRING)"
    return f"CASE WHEN {text} IN ('', '{DEFAULT_PARTITION}') THEN NULL ELSE {text} END"


# The values of a query's parameters, as Spark takes them.

#: The first whole year in which Java counts days as we do.
_FIRST_GREGORIAN_YEAR = 1583


def arguments(query: EngineQuery, owner: object) -> dict[str, Any] | None:
    """Returns the parameters in the form that Spark expects: a datetime without a zone is UTC. ``owner`` is the session
    that takes them, or a DataFrame of it.
    """
    return {name: _argument(value, owner) for name, value in query.parameters.items()} or None


def _argument(value: object, owner: object) -> object:
    """Returns one parameter. Days before the Gregorian calendar are literals, because Java would take them as days of
    the Julian one, and shift them.
    """
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    if isinstance(value, date) and value.year < _FIRST_GREGORIAN_YEAR:
        expr = functions_of(owner).expr
        if isinstance(value, datetime):
            return expr(f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=' ')} UTC'")
        return expr(f"DATE '{value.isoformat()}'")
    return value


# Tests whether this machine sees the files that workers on other machines wrote.


def check_shared(files: Iterable[WrittenFile]) -> None:
    """Raises ``EngineError`` WRITTEN_FILES_NOT_SHARED for a file that is not here, or has another size.

    A worker that does not share the warehouse writes to its own disk, without an error: its rows would be lost. Costs
    a ``stat`` a file.
    """
    for path, size in {(f.path, f.bytes if f.part is None else f.part.file_bytes) for f in files}:
        try:
            is_here = os.stat(path).st_size == size
        except OSError:
            is_here = False
        if not is_here:
            raise EngineError(
                f"A worker of Spark wrote {path}, which this machine does not see.",
                condition="WRITTEN_FILES_NOT_SHARED",
                object=path,
                hint="None of the statement's changes were kept. Put the warehouse on storage that this machine and "
                "all workers mount under the same path. The worker's own copy of the file can be removed.",
            )
