"""The DuckDB engine: in memory, in UTC, Spark SQL through the allow-list of ``translate``."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
import warnings
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import field as dataclass_field
from dataclasses import replace
from decimal import Decimal
from itertools import starmap
from typing import TYPE_CHECKING, Any

from rewriter.catalog.keys.values import canonical
from rewriter.catalog.model.objects import Column
from rewriter.errors import InternalError, NotSupportedError
from rewriter.exec.batch_stream import BatchStream, prefetch_rows
from rewriter.exec.damaged_files import name_damaged_file
from rewriter.exec.data_files import check_written, file_columns
from rewriter.exec.duckdb.object_files import ObjectFileSystems
from rewriter.exec.duckdb.own_errors import own_error
from rewriter.exec.duckdb.own_functions import OwnFunctions
from rewriter.exec.duckdb.relations import FileSchemas, has_copied_files, relation_select, with_relations
from rewriter.exec.engine import (
    CLOSING_SECONDS,
    EngineQuery,
    EngineState,
    EngineStream,
    FrameView,
    LoadBatch,
    OpenFrame,
    Write,
    WrittenFile,
    engine_closed,
    may_multiply,
    too_many_partitions,
    written_file,
)
from rewriter.exec.file_groups import is_managed, settled_files
from rewriter.exec.interrupts import Measured, interruptible
from rewriter.exec.sinks.partition_limit import TooManyPartitionsError
from rewriter.exec.sql_types import arrow_type, duckdb_type, parse_type
from rewriter.exec.translate import literal_tables
from rewriter.exec.translate.casts import quote
from rewriter.exec.translate.queries import Translation, translate
from rewriter.exec.translate.store_assignment import DUCKDB, assign, check_arity
from rewriter.exec.write_target import file_sink
from rewriter.lazy_dataclass import dataclass
from rewriter.scratch_directories import ScratchDirectory

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


#: The rows of a batch that is written, and the rows that are computed before the first row of a stream is asked for.
_BATCH_ROWS = 122_880
#: The rows of a batch of a stream: DuckDB makes a batch of this many rows, whatever their size.
_STREAMED_ROWS = 8_192
#: The most connections that wait for the next queries.
_MOST_IDLE = 4
#: The conditions of DuckDB's errors for a file that it cannot read.
_OF_FILES = ("DUCKDB_ERROR", "FAILED_READ_FILE")


@dataclass
class _OpenedQuery:
    """A connection for one query: the queries that read its relations, by name, and the temporary tables for them."""

    connection: duckdb.DuckDBPyConnection
    relations: dict[str, str] = dataclass_field(default_factory=dict)
    tables: list[str] = dataclass_field(default_factory=list)

    @property
    def is_stateless(self) -> bool:
        """Returns whether the query left nothing in the connection."""
        return not self.tables

    def measure(self) -> Measured | None:
        """Returns the percent of the running query that are done; ``None`` if DuckDB cannot tell, or not yet."""
        percent = self.connection.query_progress()
        return (int(percent), 100, "percent") if percent >= 0 else None


class DuckDBEngine:
    """Runs queries in this process. Needs no Java and starts in milliseconds."""

    name = "duckdb"
    writes_here = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database: duckdb.DuckDBPyConnection | None = None
        self._own_functions: OwnFunctions | None = None
        self._spill: ScratchDirectory | None = None
        self._is_closed = False
        self._schemas = FileSchemas()
        self._object_files = ObjectFileSystems()
        self._prepared = _PreparedQueries()
        self._translations = _Translations()
        #: The connections of queries that are running now, in any thread; and those for the next queries, by whether
        #: they read managed files alone.
        self._busy: set[duckdb.DuckDBPyConnection] = set()
        self._idle: dict[bool, list[duckdb.DuckDBPyConnection]] = {True: [], False: []}
        #: The query whose columns were asked last: an INSERT asks for them, and writes it next.
        self._translated: tuple[EngineQuery, Translation] | None = None

    def columns(self, query: EngineQuery, declared: bool = False) -> tuple[Column, ...]:
        translation = translate(query)
        self._translated = query, translation
        with self._opened(_without_copied_files(query), translation) as opened:
            sql = self._complete(translation.sql, opened)
            _check_types(opened.connection.sql(sql, params=_parameters(translation)), translation)
        return tuple(
            Column(name, type_.declared_name if declared else str(type_)) for name, type_ in translation.columns
        )

    def execute(self, query: EngineQuery) -> pa.RecordBatchReader:
        """Runs the query. The result is held in memory. A query that runs again is neither translated nor parsed."""
        import pyarrow as pa

        prepared = self._prepared.get(query)
        translation = self._translations.of(query) if prepared is None else prepared.translation
        table = self._table(query, translation, prepared, is_copied(query))
        return table.to_reader() if table.num_columns else pa.table({}).to_reader()

    def _table(
        self, query: EngineQuery, translation: Translation, prepared: PreparedQuery | None, copied: bool
    ) -> pa.Table:
        """Runs a query. DuckDB plans the statement of a relation twice; rows of all others are copied in memory."""
        parameters = _parameters(translation)
        with self._opened(query, translation, prepared) as opened:
            statement = self._parsed(query, translation, opened, copied) if prepared is None else prepared.statement

            def run() -> pa.Table:
                if copied:
                    _expect_copies()
                    return opened.connection.execute(statement, parameters).to_arrow_table()
                return opened.connection.sql(statement, params=parameters).to_arrow_table()

            table = interruptible(run, opened.connection.interrupt, opened.measure)
        return _as_declared(table, translation) if table.num_columns else table

    def stream_rows(self, query: EngineQuery) -> BatchStream:
        """Runs the query. Rows of small files are computed at once, which is faster."""
        query = query.lexed()
        prepared = self._prepared.get(query)
        translation = self._translations.of(query) if prepared is None else prepared.translation
        if translation.has_few_rows or is_copied(query) if prepared is None else prepared.is_copied:
            return BatchStream.of_table(self._table(query, translation, prepared, copied=True))
        schema = _declared_schema(translation)
        return prefetch_rows(schema, self._batches(query, translation, schema, prepared), _BATCH_ROWS)

    def _batches(
        self, query: EngineQuery, translation: Translation, schema: pa.Schema, prepared: PreparedQuery | None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yields the rows of a query. Between two batches, its connection is not busy, so ``close`` does not wait."""
        with self._opened(query, translation, prepared) as opened:
            statement = self._parsed(query, translation, opened, False) if prepared is None else prepared.statement

            def start() -> pa.RecordBatchReader:
                relation = opened.connection.sql(statement, params=_parameters(translation))
                return relation.to_arrow_reader(_STREAMED_ROWS)

            reader = interruptible(start, opened.connection.interrupt, opened.measure)
            _check_arrow_types(reader.schema, schema, translation)
            try:
                while True:
                    batch = interruptible(lambda: next(reader, None), opened.connection.interrupt, opened.measure)
                    if batch is None:
                        break
                    self._leave(opened.connection)
                    yield _cast(batch, schema)
                    self._enter(opened.connection)
            finally:
                opened.connection.interrupt()  # Otherwise ``close`` computes the rows that are left.
                reader.close()

    @contextmanager
    def batches(self, query: EngineQuery) -> Iterator[Iterator[pa.RecordBatch]]:
        with closing(self.stream_rows(query)) as stream:
            yield stream

    def _parsed(
        self, query: EngineQuery, translation: Translation, opened: _OpenedQuery, copied: bool
    ) -> duckdb.Statement:
        """Returns DuckDB's statement for a query. It is kept, with ``copied``, if the query can run again."""
        (statement,) = opened.connection.extract_statements(self._complete(translation.sql, opened))
        is_settled = all(settled_files(relation) is not None for relation in query.relations)
        if opened.is_stateless and is_settled:
            self._prepared.keep(query, PreparedQuery(translation, statement, copied))
        return statement

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        """Runs the query, sorted by its dynamic partition columns if the sink is a grouped one, and writes the rows."""
        import pyarrow as pa

        check_written(write.format, write.columns)
        translation = self._translation(query)
        targets = (*write.columns, *write.dynamic_columns)
        check_arity(len(translation.columns), len(targets))
        items = ", ".join(
            f"{assign(f'q.c{number}', str(type_), column, DUCKDB)} AS {quote(f'w{number}')}"
            for number, ((_, type_), column) in enumerate(zip(translation.columns, targets, strict=True))
        )
        keys = ", ".join(f"w{number}" for number in range(len(write.columns), len(targets)))
        sink = file_sink(write, _texts(write.dynamic_columns))
        is_grouped = bool(write.dynamic_columns) and sink.enable_dynamic_partition_grouping()
        order = f" ORDER BY {keys}" if is_grouped else ""
        schema = pa.schema([pa.field(column.stored_name, arrow_type(parse_type(column.type))) for column in targets])
        with self._opened(query, translation, directory=write.directory) as opened:
            os.makedirs(write.directory, exist_ok=True)
            sql = self._complete(f"SELECT {items} FROM ({translation.sql}) AS q{order}", opened)

            def run() -> None:
                relation = opened.connection.sql(sql, params=_parameters(translation))
                reader = relation.to_arrow_reader(_BATCH_ROWS)
                try:
                    sink.write(_cast(batch, schema) for batch in reader)
                except BaseException:
                    opened.connection.interrupt()  # Otherwise ``close`` computes the rows that are left.
                    raise
                finally:
                    reader.close()

            try:
                interruptible(run, opened.connection.interrupt, opened.measure)
            except TooManyPartitionsError:
                raise too_many_partitions(write) from None
        return tuple(starmap(written_file, sink.written))

    def _translation(self, query: EngineQuery) -> Translation:
        """Returns the translation of a query, the one that ``columns`` has made if there is one."""
        last, self._translated = self._translated, None
        if last is not None:
            last_query, last_translation = last
            same_inputs = last_query.relations is query.relations and last_query.parameters is query.parameters
            if same_inputs and last_query.sql == query.sql:
                return last_translation
        return translate(query)

    def file_columns(self, format: str, path: str, options: Mapping[str, str] | None = None) -> tuple[Column, ...]:
        return file_columns(format, path, options)

    def explain(self, query: EngineQuery) -> str:
        translation = translate(query)
        with self._opened(query, translation) as opened:
            sql = f"EXPLAIN {self._complete(translation.sql, opened)}"
            rows = opened.connection.execute(sql, _parameters(translation) or None).fetchall()
        return f"{translation.sql}\n\n" + "\n".join(str(row[-1]) for row in rows)

    def open_frame(self, query: EngineQuery) -> OpenFrame:
        raise NotSupportedError(
            "Only the Spark engine has DataFrames of Spark.",
            object=self.name,
            hint="Open the warehouse with engine='spark', or a session of Spark as the engine; fetch_df and "
            "fetch_arrow_table are there on DuckDB, too.",
        )

    def view_of_frame(self, frame: object, columns: Sequence[Column]) -> FrameView | None:
        return None

    def forget_frame(self, frame: object) -> None:
        """Does nothing: there are no views of DataFrames."""

    def stream(
        self, frame: object, checkpoint: str, available_now: bool, seconds: float, load: LoadBatch
    ) -> EngineStream:
        raise NotSupportedError(
            "Only Spark has streaming DataFrames.",
            object=self.name,
            hint="Open the warehouse with engine='spark', or use INSERT … FROM STREAM for files.",
        )

    @property
    def state(self) -> EngineState:
        return "ready"

    def prewarm(self) -> None:
        """Does nothing: the engine starts within milliseconds."""

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            database, self._database = self._database, None
            spill, self._spill = self._spill, None
            idle = [connection for connections in self._idle.values() for connection in connections]
            self._idle = {True: [], False: []}
        deadline = time.monotonic() + CLOSING_SECONDS
        while time.monotonic() < deadline:
            with self._lock:
                busy = list(self._busy)
            if not busy:
                break
            for connection in busy:
                connection.interrupt()
            time.sleep(0.02)
        self._prepared.clear()
        for connection in idle:
            connection.close()
        if database is not None:
            import duckdb

            with suppress(duckdb.Error):  # Still busy; it is closed after its last query.
                database.close()
        if spill is not None:
            spill.remove()

    @contextmanager
    def _opened(
        self,
        query: EngineQuery,
        translation: Translation,
        prepared: PreparedQuery | None = None,
        directory: str | None = None,
    ) -> Iterator[_OpenedQuery]:
        """Opens a connection for one query, with its literals, and reads of its relations unless it is prepared.

        ``directory`` is the target of a write inside the block.
        """
        managed = all(map(is_managed, query.relations))
        opened = _OpenedQuery(self._connected(managed))
        is_clean = False
        try:
            with self._own_errors(query, directory), self._object_files.unchanged(query.relations):
                if prepared is None:
                    interruptible(
                        lambda: self._define_relations(query, translation.sql, opened), opened.connection.interrupt
                    )
                if translation.literals is not None:
                    opened.connection.register(literal_tables.NAME, translation.literals.arrow)
                    opened.tables.append(literal_tables.NAME)
                yield opened
                is_clean = opened.is_stateless
        finally:
            self._release(opened.connection, is_clean, managed)

    def _define_relations(self, query: EngineQuery, sql: str, opened: _OpenedQuery) -> None:
        """Reads the columns of files, and copies the files that DuckDB does not read. ``sql`` is the translation."""
        self._object_files.register(opened.connection, query.relations)
        for serial, relation in enumerate(query.relations):
            opened.relations[relation.name] = relation_select(
                opened.connection, relation, serial, self._schemas, opened.tables, sql
            )

    @contextmanager
    def _own_errors(self, query: EngineQuery, directory: str | None = None) -> Iterator[None]:
        """Turns DuckDB's errors into ours."""
        import duckdb

        try:
            yield
        except (duckdb.Error, RuntimeError, OSError, ValueError) as error:
            if self._is_closed:
                raise engine_closed() from None
            if isinstance(error, duckdb.InternalException | duckdb.FatalException):
                self._forget_database()
            if "interrupted" in str(error).lower() and isinstance(error, RuntimeError | duckdb.InterruptException):
                raise KeyboardInterrupt from None
            raise name_damaged_file(own_error(error, directory), query.relations, _OF_FILES) from None

    def _forget_database(self) -> None:
        """Leaves a database that DuckDB has invalidated after an internal error: the next query starts another one."""
        with self._lock:
            self._database, self._own_functions = None, None
            self._idle = {True: [], False: []}
            spill, self._spill = self._spill, None
        if spill is not None:
            spill.remove()

    def _connected(self, managed: bool) -> duckdb.DuckDBPyConnection:
        """Returns a connection that has our settings.

        For queries that read ``managed`` files alone, DuckDB keeps the footers of files: managed files never change.
        """
        database = self._start()
        with self._lock:
            if self._is_closed:
                raise engine_closed()
            idle = self._idle[managed]
            connection = idle.pop() if idle else None
            if connection is None:
                connection = database.cursor()
                connection.execute(f"{SESSION_SETTINGS}SET parquet_metadata_cache = {str(managed).lower()};")
            self._busy.add(connection)
            return connection

    def _leave(self, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            self._busy.discard(connection)

    def _enter(self, connection: duckdb.DuckDBPyConnection) -> None:
        with self._lock:
            if self._is_closed:
                raise engine_closed()
            self._busy.add(connection)

    def _release(self, connection: duckdb.DuckDBPyConnection, is_clean: bool, managed: bool) -> None:
        """Keeps the connection of a query for the next one if the query left nothing in it."""
        import duckdb

        with self._lock:
            self._busy.discard(connection)
            if is_clean and not self._is_closed and len(self._idle[managed]) < _MOST_IDLE:
                self._idle[managed].append(connection)
                return
        with suppress(duckdb.Error):  # Still busy, because Ctrl-C did not reach it.
            connection.close()

    def _complete(self, sql: str, opened: _OpenedQuery) -> str:
        """Returns a statement over the query's relations, and defines the macros that it calls."""
        assert self._own_functions is not None  # A connection is open.
        return self._own_functions.define(with_relations(sql, opened.relations))

    def _start(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        with self._lock:
            if self._is_closed:
                raise engine_closed()
            if self._database is None:
                self._spill = ScratchDirectory("duckdb")
                self._database = duckdb.connect(":memory:", config={"temp_directory": self._spill.path})
                self._own_functions = OwnFunctions(self._database.cursor())
            return self._database


#: Set on every connection, because inheritance is not guaranteed for any of them. The progress is measured from the
#: start, and DuckDB's own bar would write into the user's terminal. One text takes 1.1 ms, five statements 1.7 ms.
SESSION_SETTINGS = """
SET TimeZone = 'UTC';
SET enable_progress_bar = true;
SET enable_progress_bar_print = false;
SET progress_bar_time = 0;
SET default_null_order = 'nulls_first_on_asc_last_on_desc';
SET ieee_floating_point_ops = true;
SET scalar_subquery_error_on_multiple_rows = true;
"""


def _without_copied_files(query: EngineQuery) -> EngineQuery:
    """Returns the query without the files that would be copied although its types do not depend on them."""
    if not any(map(has_copied_files, query.relations)):
        return query
    relations = [replace(r, files=()) if has_copied_files(r) else r for r in query.relations]
    return EngineQuery(query.sql, tuple(relations), query.parameters)


def _parameters(translation: Translation) -> dict[str, object]:
    return dict(translation.parameters)


def _check_types(relation: duckdb.DuckDBPyRelation, translation: Translation) -> None:
    """Checks that DuckDB's result types are the promised ones; otherwise the translator has a bug."""
    # DuckDB quotes the names of fields that are its keywords.
    result_types = [str(type_).replace('"', "") for type_ in relation.types]
    translated_types = [duckdb_type(type_).replace('"', "") for _, type_ in translation.columns]
    if result_types != translated_types:
        raise InternalError(
            f"DuckDB returned {result_types} where {translated_types} was expected, for {translation.sql}"
        )


def _declared_schema(translation: Translation) -> pa.Schema:
    """Returns Spark's names and types of the columns. Refuses arrays of no type, which DuckDB returns damaged."""
    import pyarrow as pa

    for name, type_ in translation.columns:
        if type_.is_nested and "void" in type_.leaves:
            raise NotSupportedError(
                f"The type {type_} of the column {name} is not supported on DuckDB.",
                condition="DUCKDB_UNSUPPORTED",
                object=name,
                hint="Cast it: CAST(array() AS ARRAY<INT>).",
            )
    return pa.schema([pa.field(name, arrow_type(type_)) for name, type_ in translation.columns])


def _check_arrow_types(returned: pa.Schema, declared: pa.Schema, translation: Translation) -> None:
    """Raises ``InternalError`` if a type that DuckDB returned differs from the promised one."""
    for field, declared_field in zip(returned, declared, strict=True):
        if not _is_same_type(field.type, declared_field.type):
            raise InternalError(
                f"DuckDB returned {field.type} where {declared_field.type} was expected: {translation.sql}"
            )


def _is_same_type(returned: pa.DataType, declared: pa.DataType) -> bool:
    """Tests whether types differ at most in the zone of timestamps and in intervals: DuckDB returns times without a
    zone, and an interval as its microseconds.
    """
    import pyarrow as pa

    if pa.types.is_nested(declared):
        parts = [[type_.field(number) for number in range(type_.num_fields)] for type_ in (returned, declared)]
        return (
            returned.id == declared.id
            and len(parts[0]) == len(parts[1])
            and all(
                _is_same_type(part.type, declared_part.type)
                and (part.name == declared_part.name or not pa.types.is_struct(declared))
                for part, declared_part in zip(*parts, strict=True)
            )
        )
    if pa.types.is_duration(declared):
        return bool(returned == pa.int64())
    return bool(returned == declared or (pa.types.is_timestamp(declared) and returned == pa.timestamp("us")))


def _as_declared(table: pa.Table, translation: Translation) -> pa.Table:
    """Returns the table with Spark's names and types."""
    import pyarrow as pa

    schema = _declared_schema(translation)
    _check_arrow_types(table.schema, schema, translation)
    renamed = table.rename_columns(schema.names)
    has_parts = any(pa.types.is_nested(field.type) for field in schema)
    return renamed if renamed.schema.equals(schema) and not has_parts else renamed.cast(schema)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    arrays = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _texts:
    """The canonical texts of values of partition columns; each value is computed once."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._texts_by_value: dict[tuple[int, Any], str | None] = {}

    def __call__(self, index: int, value: Any) -> str | None:
        # 0.0 and -0.0 are one key, and one partition.
        key = (index, value)
        if key not in self._texts_by_value:
            self._texts_by_value[key] = canonical(self._columns[index], _plain_text(value))
        return self._texts_by_value[key]


def _plain_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return repr(value)
    return str(value)


# The choice of the results that are computed at once instead of streamed.
#
# DuckDB plans a query whose rows are streamed twice, which costs one or two milliseconds, and 0.15 ms for each file.
# The rows of a query of few bytes, or of many small files, are copied in memory instead, unless it may multiply them;
# and those of a query that has few rows by its form.

#: The most bytes of the files whose rows are copied: of few files, and of many, whose second planning takes long.
_MOST_BYTES, _MOST_BYTES_OF_MANY = 8 << 20, 64 << 20
#: The least files that are many.
_MANY_FILES = 20


def _expect_copies() -> None:
    """Puts a filter of DuckDB's warning about a copied result before all filters, of which others may make it an error.
    Adding it again moves it.
    """
    warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy", UserWarning, __name__)


def is_copied(query: EngineQuery) -> bool:
    """Tests whether the rows of a query are computed at once. O(tokens of the query)."""
    sizes = [file.bytes for relation in query.relations for file in relation.files]
    most_bytes = _MOST_BYTES_OF_MANY if len(sizes) >= _MANY_FILES else _MOST_BYTES
    return sum(sizes) <= most_bytes and not may_multiply(query)


# Keeps the translations of queries that may run again.


@dataclass(frozen=True)
class PreparedQuery:
    """A translated query, DuckDB's statement for it, which contains the relations and is parsed, and ``is_copied``."""

    translation: Translation
    statement: duckdb.Statement
    is_copied: bool


class _PreparedQueries:
    """The prepared queries of one database, by the identity of the ``EngineQuery``.

    An entry ends with the last reference to its query: a caller that runs a query again keeps the query. Entries may be
    read and added from several threads.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[EngineQuery], PreparedQuery]] = {}

    def get(self, query: EngineQuery) -> PreparedQuery | None:
        """Returns the entry of a query; ``None`` if there is none."""
        reference, prepared = self._entries.get(id(query), (None, None))
        return prepared if reference is not None and reference() is query else None

    def keep(self, query: EngineQuery, prepared: PreparedQuery) -> None:
        """Keeps an entry as long as the query exists."""
        key, owner = id(query), weakref.ref(self)

        def remove(reference: weakref.ref[EngineQuery]) -> None:
            queries = owner()
            entry = None if queries is None else queries._entries.get(key)
            if queries is not None and entry is not None and entry[0] is reference:
                del queries._entries[key]

        self._entries[key] = weakref.ref(query, remove), prepared

    def clear(self) -> None:
        """Drops all entries."""
        self._entries.clear()


class _Translations:
    """The translations of the last queries, by their tokens, the columns of their relations, and their parameters. A
    query over a cube for another range has the same one, where the cover implies its conditions. Any thread may use it.
    """

    def __init__(self) -> None:
        self._translations: dict[object, Translation] = {}

    def of(self, query: EngineQuery) -> Translation:
        """Returns the translation of a query, a kept one if there is one. Raises as ``translate`` does."""
        key = _translation_key(query)
        if key is None:
            return translate(query)
        translation = self._translations.get(key)
        if translation is None:
            translation = translate(query)
            if translation.literals is None:
                if len(self._translations) >= _MOST_TRANSLATIONS:
                    self._translations.clear()
                self._translations[key] = translation
        return translation


#: How many translations are kept, and the most tokens of their queries.
_MOST_TRANSLATIONS, _MOST_TOKENS = 256, 2_000


def _translation_key(query: EngineQuery) -> object | None:
    """Returns what the translation of a query depends on; ``None`` of a query that is not to be kept."""
    query_tokens = query.lexed().tokens or ()
    if len(query_tokens) > _MOST_TOKENS:
        return None
    relations = tuple([(relation.name, relation.all_columns, relation.time_patterns) for relation in query.relations])
    parameters = tuple([(name, type(value), str(value)) for name, value in query.parameters.items()])
    return tuple([token.text for token in query_tokens]), relations, parameters
