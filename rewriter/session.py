"""The session: the only module that connects grammar, catalog, planner and engines.

A statement is parsed, gets one snapshot and one reading of the clock, and goes to the function that runs its kind
(``statements.dispatch``). Several statements of a transaction share a snapshot and a commit
(``runtime.multi_statement``). The engine starts when a statement first needs one.
"""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rewriter.cancellation import Cancellation, cancellable
from rewriter.catalog.catalog import Catalog, not_found
from rewriter.catalog.filesystems.registry import Stores, using
from rewriter.catalog.model.objects import DEFAULT_DATABASE
from rewriter.connectors.table_sink import PartitionableTableSink, check_sink
from rewriter.errors import (
    EngineError,
    Error,
    InterfaceError,
    NotSupportedError,
    ProgrammingError,
    only_ours,
    shift_position,
)
from rewriter.exec.batch_stream import OpenStreams
from rewriter.exec.spark.session_kinds import is_spark_session, temporary_view
from rewriter.grammar.families.databases import DropDatabase, UseDatabase
from rewriter.grammar.families.queries import Select
from rewriter.grammar.families.session_variables import ExecuteImmediate
from rewriter.grammar.families.settings import ResetSetting, SetSetting
from rewriter.grammar.families.tables import DropTable
from rewriter.grammar.families.transactions import Commit, Rollback, StartTransaction
from rewriter.grammar.families.views import DropView
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.qualify_names import qualified
from rewriter.grammar.statements import Statement
from rewriter.grammar.terms import parse_name, queries_in
from rewriter.planner.model.plan import quote_identifier
from rewriter.runtime.cluster_engines import ClusterEngines, SessionClusters
from rewriter.runtime.connection_settings import engine_of, setting_text
from rewriter.runtime.constant_expressions import compute_constants
from rewriter.runtime.engine_start import start_engine
from rewriter.runtime.parameters import BoundText, Parameters, bind
from rewriter.runtime.prepared_queries import PreparedQueries
from rewriter.runtime.program_statements import Append, ProveRollups, StartStream
from rewriter.runtime.progress import Progress, ProgressReporter
from rewriter.runtime.recent_statements import RecentStatements
from rewriter.runtime.result import Result
from rewriter.runtime.running_streams import RunningStream, RunningStreams, StreamWriter
from rewriter.runtime.session_transaction import SessionTransaction
from rewriter.runtime.set_statement import is_a_variable, run_set
from rewriter.runtime.settings import SPARK_PAGES, CacheSettings, SessionSettings
from rewriter.runtime.shadow_proofs import ShadowProofs
from rewriter.runtime.statement_context import Context
from rewriter.runtime.system_guard import check_no_system_table
from rewriter.runtime.target_database import check_database, lacks_object
from rewriter.runtime.temporary_tables import Temporaries, show_plainly
from rewriter.runtime.text_variables import Variables, mask_references, substitute_variables
from rewriter.statements.dispatch import runner_of
from rewriter.statements.query.identifier_clause import with_names
from rewriter.statements.query.inlined_names import inlined_statement
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.catalog.reading.snapshot_reads import SnapshotReads
    from rewriter.exec.engine import Engine, OpenFrame
    from rewriter.planner.model.plan import Plan
    from rewriter.runtime.multi_statement import OpenTransaction
    from rewriter.runtime.query_log import SessionLog

#: Runs a statement.
_S = TypeVar("_S", bound=Statement)
_Run = Callable[[Statement, Context], Result]
#: The most EXECUTE IMMEDIATE in each other.
_MOST_NESTED = 32
#: Numbers the relations of all sessions, because an engine may serve several of them.
_RELATION_NUMBERS = itertools.count(1)


class Session:
    """A warehouse directory, an engine for it, and settings. One thread at a time; close it, or use ``with``.

    A missing warehouse is made by the first statement that creates an object. Until then all other statements,
    except queries that read nothing in it, raise ``OperationalError`` WAREHOUSE_NOT_FOUND. A warehouse that this
    process may not write can be read.

    ``engine`` is ``spark``, ``duckdb``, a master URL of Spark, a ``SparkSession`` (classic, or of Spark Connect), or an
    ``Engine``, which its owner closes; by default Spark, or DuckDB if Spark is not installed. ``master`` is Spark's
    master URL. ``settings`` are the settings of SET, by name. ``catalog`` is the URL of the PostgreSQL database that
    holds the catalog; without one it is a file in the warehouse. An open ``Catalog`` is shared with its owner, who
    closes it and sets up its cache. ``progress`` is called while long statements run, from any thread
    (``runtime.progress``). ``filesystems`` are options of object stores, by bucket (``catalog.filesystems.options``).
    Environment variables and profiles are not read (``rewriter.connect``).
    """

    def __init__(
        self,
        warehouse: str | os.PathLike[str],
        engine: str | Engine | Any = None,
        master: str | None = None,
        settings: Mapping[str, object] | None = None,
        catalog: str | Catalog | None = None,
        progress: Callable[[Progress], object] | None = None,
        filesystems: Stores | None = None,
    ) -> None:
        if engine is None or isinstance(engine, str):
            engine, master = engine_of(engine, master)
        elif master is not None:
            raise InterfaceError("The engine has started already.", object="master", hint="Leave master out.")
        self._spark_session = engine if is_spark_session(engine) else None
        self._given_engine = None if isinstance(engine, str) or self._spark_session is not None else engine
        self.settings = SessionSettings()
        for name, value in (settings or {}).items():
            self.settings.set(name, setting_text(value))
        self._engine_name = engine if isinstance(engine, str) else None
        self._progress = progress
        self._stores = dict(filesystems or {})
        self._engine: Engine | None = None
        self._master = master
        self._prepared, self._queries, self._temporaries = PreparedQueries(), RecentStatements(), Temporaries()
        with only_ours():
            self._shares_catalog = isinstance(catalog, Catalog)
            opened = catalog if isinstance(catalog, Catalog) else Catalog.open(warehouse, catalog, create=False)
            self._catalog: Catalog | None = opened
            self._caching = CacheSettings()
            self._use_cache()
        self._database = DEFAULT_DATABASE
        self._clusters = SessionClusters(ClusterEngines(self._started_engine, self.engine_name, master))
        self._transaction = SessionTransaction(self._open_transaction)
        self._cancellation = Cancellation()
        #: The results that may still have rows.
        self._results = OpenStreams()
        #: The DataFrames that hold snapshots.
        self._frames: set[OpenFrame] = set()
        #: The sources, in lower case, that stand for temporary views of the user's session of Spark.
        self._spark_views: set[str] = set()
        self.streams = RunningStreams(self._new_engine)
        self._shadow_proofs = ShadowProofs(lambda: _ProvingSession(self))
        #: There once ``rewriter.query_log`` was on.
        self._query_log: SessionLog | None = None
        #: How many EXECUTE IMMEDIATE are running, each in the text of the one before.
        self._nesting = 0
        #: What the last snapshot has read of the catalog.
        self._reads: SnapshotReads | None = None

    def execute(self, text: str, parameters: Parameters = None) -> Result:
        """Runs one statement. Positions in errors refer to ``text``.

        ``parameters`` are a sequence for ``?`` or a mapping for ``:name``. Every error is one of ``rewriter.errors``.
        """
        with self._statement(), self._queries.running(text, self.query_id) as logged:
            try:
                return logged.of(self._execute(text, parameters))
            finally:
                self._temporaries.sources.end_statement()
                if self._reads is not None and not self._reads.is_small:
                    self._reads = None

    def cancel(self) -> None:
        """Ends the statement that the session is executing, and the results whose rows are not all read. Call it from
        another thread. They raise ``OperationalError`` OPERATION_CANCELED; what was not committed is undone.

        The engine ends its work within about a second. A statement that is committing already succeeds.
        """
        self._cancellation.request()
        for stream in self._results:
            stream.cancel()

    @contextmanager
    def _statement(self) -> Iterator[None]:
        self._cancellation = Cancellation()
        with self._scope(), cancellable(self._cancellation):
            yield

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Lets only errors of ours out, and reaches object stores by the session's options."""
        with only_ours(), using(self._stores):
            yield

    def register_source(self, name: str, source: Any) -> None:
        """Makes the rows of a source readable in this session's queries as the table ``name``, until it is closed.

        ``source`` is a ``PartitionableTableSource``, a DataFrame of Spark, pandas or Polars, or Arrow data. The engine
        of the same classic Spark reads a DataFrame in place, each time; other data is taken as it is now. A source of
        that name is replaced. It comes before a table of the catalog of that name, as a temporary table
        does. Raises ``InterfaceError`` for an object that is no source, or has columns that no table has, and
        ``AnalysisError`` TABLE_OR_VIEW_ALREADY_EXISTS where the session has a temporary table or view of that name.
        """
        from rewriter.runtime.sources import name_is_taken

        with only_ours():
            if not isinstance(name, str) or not name.strip():
                raise InterfaceError("The name of a source is a text that is not empty.", hint='Write "names".')
            views = self._temporaries.views
            if name.lower() not in views.sources and self._snapshot(self.catalog).is_temporary(name):
                raise name_is_taken(name)
            self._temporaries.views = views.with_source(self._temporaries.sources.register(name, source))

    def write(
        self,
        query: str,
        sink: PartitionableTableSink,
        partition: Mapping[str, str] | None = None,
        parameters: Parameters = None,
    ) -> Result:
        """Passes the rows of a query to a sink. ``partition`` has the values of the static partition columns.

        Raises the errors of the query, and the errors of ``statements.query.write_to_sink``.
        """
        from rewriter.statements.query.write_to_sink import write_to_sink

        with self._statement(), self._queries.running(query, self.query_id) as logged:
            check_sink(sink)
            try:
                return logged.of(
                    self._execute(query, parameters, lambda s, c: write_to_sink(s, sink, partition or {}, c))
                )
            finally:
                self._temporaries.sources.end_statement()

    def plan_frame(self, query: str, parameters: Parameters = None) -> Result:
        """Plans a query for a DataFrame of Spark, which ``open_frame`` makes. Nothing is computed."""
        from rewriter.statements.query.select import lazy_select

        with self._statement(), self._queries.running(query, self.query_id) as logged:
            return logged.of(self._execute(query, parameters, lazy_select))

    def open_frame(self, result: Result) -> OpenFrame:
        """Returns a DataFrame of Spark of a query's result. The snapshot that the query read is held until the object
        that is returned is closed and dropped, or the session is closed.
        """
        if result.open_frame is None:
            raise InterfaceError(f"{result.kind} has no DataFrame.", hint="Make one of a query.")
        with self._statement():
            opened = result.open_frame()

        def close() -> None:
            self._frames.discard(held)
            opened.close()

        held = replace(opened, close=close)
        self._frames.add(held)
        return held

    def overwrite(self, table: str, data: Any, partition: Mapping[str, str | int | date | None]) -> Result:
        """Replaces partitions of a table by the rows of data, as INSERT OVERWRITE … BY NAME does."""
        from rewriter.planner.text.literals import string_literal

        values = ", ".join(
            f"{quote_identifier(column)} = {'NULL' if value is None else string_literal(str(value))}"
            for column, value in _partition_values(partition)
        )
        clause = f" PARTITION ({values})" if values else ""
        return self._with_rows(data, f"INSERT OVERWRITE TABLE {_quoted(table)}{clause} BY NAME SELECT * FROM ")

    def create_table(self, table: str, data: Any, partitioned_by: Sequence[str]) -> Result:
        """Creates a table of the rows of data, as CREATE TABLE … AS does."""
        if isinstance(partitioned_by, str) or not all(isinstance(name, str) for name in partitioned_by or ()):
            raise InterfaceError("The partition columns are no list of names.", hint='Write partitioned_by=["day"].')
        columns = ", ".join(map(quote_identifier, partitioned_by or ()))
        clause = f" PARTITIONED BY ({columns})" if columns else ""
        return self._with_rows(data, f"CREATE TABLE {_quoted(table)}{clause} AS SELECT * FROM ")

    def _with_rows(self, data: Any, beginning: str) -> Result:
        """Runs a statement that reads data as a source. Its errors have no position: nobody has typed the text."""
        name = f"rewriter_rows_{uuid.uuid4().hex}"
        try:
            self.register_source(name, data)
            return self.execute(beginning + name)
        except Error as error:
            error.position = None
            error.message = error.message.replace(f"source {name}", "data").replace(name, "the data")
            error.object = None if error.object == name else error.object
            raise
        finally:
            self._forget_source(name)

    def append(self, table: str, data: Any, batch_id: str | None = None) -> Result:
        """Appends the rows of Arrow data to a table, by the names of the columns, as INSERT INTO … BY NAME does.

        ``data`` is a pyarrow ``Table``, ``RecordBatch`` or ``RecordBatchReader``, or another object that exports an
        Arrow stream. ``batch_id`` is an id that the caller chose for these rows: if a batch of this id was committed to
        the table before, nothing is written, and the result has a warning. So a caller that does not know whether an
        append was committed repeats it.
        """
        if batch_id is not None and not isinstance(batch_id, str):
            raise InterfaceError(f"The batch_id is a {type(batch_id).__name__}.", hint="Pass it as a str.")
        with self._statement():
            return self._run_program(Append(table=parse_name(table), data=data, batch_id=batch_id))

    def stream(self, frame: object) -> StreamWriter:
        """Returns the writer of a streaming DataFrame of Spark: ``session.stream(frame).into("t", …)``."""
        return StreamWriter(frame, self._start_stream)

    def _start_stream(self, statement: StartStream) -> RunningStream:
        with self._scope():
            self._run_program(statement)
        return self.streams.latest()

    def _run_program(self, statement: Statement) -> Result:
        """Runs a statement that has no text, so that its errors have no position."""
        try:
            result = self._run_statement(statement, {})
        except Error as error:
            error.position = None
            show_plainly(error, self._temporaries.session)
            raise
        result.query_id, result.warnings = self.query_id, tuple(map(mask_credentials, result.warnings))
        return result

    def _execute(self, text: str, parameters: Parameters, run: _Run | None = None) -> Result:
        _ = self.catalog
        texts: list[BoundText] = []

        def as_typed(error: Error) -> Error:
            return self._as_typed(error, texts)

        try:
            values = self._bound(text, parameters, texts)
            result = self._run_with_views(parse(texts[-1].text), values, texts, run)
        except Error as error:
            as_typed(error)
            raise
        warnings = (*result.warnings, *self._shadow_proofs.take_warnings())
        result.query_id, result.warnings = self.query_id, tuple(map(mask_credentials, warnings))
        if result.stream is not None:
            result.stream.convert_errors(as_typed)
            self._results.add(result.stream)
        return result

    def _bound(self, text: str, parameters: Parameters, texts: list[BoundText]) -> Mapping[str, object]:
        """Returns the values of a statement's parameters. Adds to ``texts`` what becomes of its text before it is
        parsed: with the variables of ``${x}``, with placeholders that engines know, with the names of IDENTIFIER.
        """
        texts.append(substitute_variables(text, Variables(), self.settings.text_variables, colons=False))
        bound = bind(texts[-1].text, parameters)
        texts.append(bound)
        named = with_names(bound.text, bound.parameters, self._temporaries.views.variables)
        if named is not None:
            texts.append(named)
        return bound.parameters

    def _as_typed(self, error: Error, texts: Sequence[BoundText]) -> Error:
        for edited in reversed(texts):
            error.position = edited.original(error.position)
        show_plainly(error, self._temporaries.session)
        return error

    def _run_with_views(
        self, statement: Statement, parameters: Mapping[str, object], texts: list[BoundText], run: _Run | None
    ) -> Result:
        """Runs a statement. A name that the warehouse does not have may be a temporary view of the session of Spark
        that was handed in: a source, as it is now, for this statement alone.

        ``texts`` are its text and what became of it, to which the text that is run is added.
        """
        while self._spark_views:
            self._forget_source(self._spark_views.pop())
        typed = tuple(texts)
        while True:
            texts[:] = typed
            try:
                return self._run_statement(statement, parameters, run, texts)
            except Error as error:
                name = error.object or ""
                is_missing = error.condition == "TABLE_OR_VIEW_NOT_FOUND" and name.lower() not in self._spark_views
                frame = temporary_view(self._spark_session, name) if is_missing and self._spark_session else None
                if frame is None:
                    raise
                self.register_source(name, frame)
                self._spark_views.add(name.lower())

    def _forget_source(self, name: str) -> None:
        views = self._temporaries.views
        if name in views.sources:
            self._temporaries.sources.forget(views.sources[name].id, self._engine)
            self._temporaries.views = views.without_source(name)

    def _run_statement(
        self,
        statement: Statement,
        parameters: Mapping[str, object],
        run: _Run | None = None,
        texts: list[BoundText] | None = None,
    ) -> Result:
        """Runs a statement by its own function, or by ``run``."""
        catalog = self.catalog
        if isinstance(statement, SetSetting | ResetSetting):
            return self._set(statement)
        if isinstance(statement, ExecuteImmediate):
            return self._execute_immediate(statement, parameters, run)
        runner = runner_of(type(statement))
        if not (runner and runner.without_warehouse) and not catalog.find_warehouse():
            if isinstance(statement, DropTable | DropView | DropDatabase) and statement.if_exists:
                return Result(f"DROP {type(statement).__name__.removeprefix('Drop').upper()}")
            raise not_found(catalog.warehouse).at(statement.span)
        if isinstance(statement, StartTransaction | Commit | Rollback):
            return self._transaction.run(statement)
        self._transaction.prepare(statement, runner, catalog.find_warehouse())
        context = self._context(parameters)
        if runner is None:
            assert isinstance(statement, UseDatabase)
            self._database = context.database(statement.database).name
            return Result("USE")
        inlined = None if texts is None else inlined_statement(statement, texts[-1].text, context.snapshot)
        if texts is not None and inlined is not None:
            statement = inlined[0]
            texts.append(inlined[1])
        if self._database != DEFAULT_DATABASE:
            statement = qualified(statement, self._database, context.is_temporary)
        statement = compute_constants(statement, context)
        statement, context = _of_old_states(statement, context)
        if not runner.reads_system_tables:
            check_no_system_table(statement, context)
        try:
            if catalog.is_absent:
                check_database(statement, context)
            result = self._run(runner.run_placed if run is None else run, statement, context)
            written = tuple(runner.writes(statement)) if run is None and context.transaction is None else ()
            if written and any(fact.refresh_on_commit for fact in context.snapshot.facts()):
                from rewriter.statements.maintain.refresh_on_commit import refresh_after

                result.warnings = (*result.warnings, *refresh_after(written, context))
            return result
        except EngineError:
            context.snapshot.check_readable()  # An engine misses a file; the catalog has the cause.
            raise
        except Error as error:
            if catalog.is_absent and lacks_object(error):
                raise not_found(catalog.warehouse).at(error.position) from error
            raise

    def _execute_immediate(
        self, statement: ExecuteImmediate, parameters: Mapping[str, object], run: _Run | None
    ) -> Result:
        """Executes the text of a statement; its errors have the position of the expression that returned it."""
        from rewriter.statements.define.session_variables import (
            immediate_text,
            into_without_query,
            nested_too_deeply,
            set_to_row,
        )

        self.catalog.find_warehouse()
        text = immediate_text(statement, self._context(parameters))
        position = statement.statement.span
        if self._nesting == _MOST_NESTED:
            raise nested_too_deeply(position)
        self._nesting += 1
        try:
            if statement.into and not isinstance(parse(text), Select):
                raise into_without_query(position)
            result = self._execute(text, None, run)
        except Error as error:
            error.position = position
            raise
        finally:
            self._nesting -= 1
        return set_to_row(statement.into, result, position, self._context({})) if statement.into else result

    def _context(self, parameters: Mapping[str, object]) -> Context:
        """Returns the environment of the next statement."""
        return Context(
            self.catalog,
            self._snapshot(self.catalog),
            self.settings,
            self.settings.for_planner(),
            self._started_engine,
            self.engine_name,
            _RELATION_NUMBERS,
            parameters,
            self._temporaries,
            self._cancellation.observed_by(ProgressReporter(self._progress)),
            self._transaction.opened,
            self._prepared,
            streams=self.streams,
            queries=self._queries,
            session_clusters=self._clusters,
            shadow_proofs=self._shadow_proofs,
            query_log=self._log_of_queries(),
        )

    def _log_of_queries(self) -> SessionLog | None:
        if self._query_log is None and self.settings.logs_queries:
            from rewriter.runtime.query_log import SessionLog

            self._query_log = SessionLog()
        return self._query_log

    def script(self, text: str) -> Iterator[tuple[str, Result]]:
        """Runs the statements of a text one after the other. Yields the text and the result of each; runs it when it is
        requested.

        Positions in errors refer to the whole text.
        """
        with only_ours():
            spans = split_statements(mask_references(text))
        for span in spans:
            statement = text[span.start : span.end]
            try:
                result = self.execute(statement)
            except Error as error:
                raise shift_position(error, span) from None
            yield statement, result

    def plan(self, text: str, parameters: Parameters = None) -> Plan:
        """Returns the plan of a query, without starting an engine. As strict as the query itself."""
        with self._scope():
            return self._plan(text, parameters)

    def _plan(self, text: str, parameters: Parameters) -> Plan:
        # Statements that plan nothing do not wait for the planner and its parser to be loaded.
        from rewriter.planner.plan_query import plan_query

        texts: list[BoundText] = []
        try:
            self.catalog.find_warehouse()
            values = self._bound(text, parameters, texts)
            statement = parse(texts[-1].text)
            if not isinstance(statement, Select):
                raise ProgrammingError(
                    "Only queries are rewritten.", position=statement.span, hint="Write SELECT … FROM a cube."
                )
            context = self._context(values)
            inlined = inlined_statement(statement, texts[-1].text, context.snapshot)
            if inlined is not None:
                statement = inlined[0]
                texts.append(inlined[1])
            assert isinstance(statement, Select)
            select, context = _of_old_states(statement, context)
            return plan_query(select.query, context.snapshot, self.settings.for_planner(), values)
        except Error as error:
            self._as_typed(error, texts)
            raise

    @property
    def catalog(self) -> Catalog:
        """Returns the warehouse's catalog. Raises ``InterfaceError`` after ``close``."""
        if self._catalog is None:
            raise InterfaceError("The session is closed.", hint="Open a new one.")
        return self._catalog

    def snapshot(self) -> Snapshot:
        """Returns the state of the catalog that the next statement would read, with the session's temporary objects:
        the state of the open transaction, or the newest. It is empty where the warehouse does not exist.

        Raises ``InterfaceError`` after ``close``, and ``OperationalError`` CATALOG_UNAVAILABLE. One read.
        """
        with only_ours():
            self.catalog.find_warehouse()
            return self._snapshot(self.catalog)

    @property
    def engine_name(self) -> str:
        """Returns ``spark`` or ``duckdb``."""
        if self._given_engine is not None:
            return self._given_engine.name
        return self._engine_name or "spark"

    def prewarm(self) -> None:
        """Starts the engine in the background. The statement that needs it first raises the errors of the start."""
        self._started_engine().prewarm()

    @property
    def engine_state(self) -> str:
        """Returns ``idle``, ``starting``, ``ready`` or ``failed``."""
        return "idle" if self._engine is None else self._engine.state

    @property
    def database(self) -> str:
        """Returns the current database, in lower case: ``default`` until USE names another one."""
        return self._database

    @property
    def cluster(self) -> str | None:
        """Returns the cluster that USE CLUSTER chose, as declared; ``None`` without a choice."""
        return self._clusters.chosen

    @property
    def query_id(self) -> str:
        """Returns the id of the execution that is running, or of the last one: a UUID, which no other execution has.

        Spark shows it with the jobs of the statement.
        """
        return self._cancellation.query_id

    @property
    def in_transaction(self) -> bool:
        """Returns whether START TRANSACTION was executed, and neither COMMIT nor ROLLBACK since."""
        return self._transaction.opened is not None

    @property
    def autocommit(self) -> bool:
        """True if each statement commits by itself, the default. Without it, a statement opens a transaction where
        none is open. One that cannot be part of a transaction (NOT_IN_TRANSACTION) runs if no changes are pending, and
        commits by itself. So do statements that make the warehouse.

        Setting it raises ``ProgrammingError`` TRANSACTION_ALREADY_OPEN while changes of such a transaction are pending.
        """
        return self._transaction.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        with only_ours():
            self._transaction.autocommit = value

    def last_warnings(self) -> tuple[str, ...]:
        """Waits for the running shadow proof, and returns the warnings that the next statement would have shown."""
        self._shadow_proofs.wait()
        return self._shadow_proofs.take_warnings()

    def close(self) -> None:
        """Ends a shadow proof, streams after their current batch, and results; rolls an open transaction back, closes
        the engine if the session started it, drops temporary tables, and closes the catalog. Idempotent.
        """
        try:
            with self._scope():
                self._shadow_proofs.close()
        finally:
            self._close_all()

    def _close_all(self) -> None:
        engine, self._engine = self._engine, None
        catalog, self._catalog = self._catalog, None
        transaction = self._transaction.take()
        with self._scope(), ExitStack() as stack:
            stack.callback(self._close, engine, catalog)
            if catalog is not None and self._query_log is not None:
                self._query_log.write(catalog)
            self.streams.close()
            if transaction is not None:
                transaction.rollback()

    def _close(self, engine: Engine | None, catalog: Catalog | None) -> None:
        try:
            self._frames.clear()
            for stream in self._results:
                stream.close()  # Before the engine, which would fail their queries.
            self._clusters.close()
            if engine is not None and engine is not self._given_engine:
                engine.close()
        finally:
            if catalog is not None:
                try:
                    self._temporaries.close(catalog)
                finally:
                    if not self._shares_catalog:
                        catalog.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _started_engine(self) -> Engine:
        if self._engine is None:
            self._engine = self._given_engine if self._given_engine is not None else self._new_engine()
        return self._engine

    def _new_engine(self) -> Engine:
        """Returns an engine of the same kind, for work beside the session's work."""
        return start_engine(self.engine_name, self._master, self._spark_session, self.settings.spark_options)

    def _open_transaction(self) -> OpenTransaction:
        from rewriter.runtime.multi_statement import OpenTransaction

        return OpenTransaction(self.catalog, self._temporaries.session)

    def _snapshot(self, catalog: Catalog) -> Snapshot:
        """Returns the snapshot of the next statement: the newest state, or the state of the open transaction."""
        if self._transaction.opened is not None:
            return self._transaction.opened.snapshot.within(self._database).showing(self._temporaries.views)
        snapshot = catalog.snapshot(self._temporaries.session)
        snapshot.resume(self._reads)
        self._reads = snapshot.reads
        return snapshot.within(self._database).showing(self._temporaries.views)

    def _run(self, run: _Run, statement: Statement, context: Context) -> Result:
        try:
            return run(statement, context)
        except NotSupportedError as error:
            if self._transaction.left_for(error):
                return run(statement, self._context(context.parameters))
            # The snapshot that raises the error does not have the position.
            if error.condition == "CHANGED_IN_TRANSACTION":
                error.at(statement.span)
            raise

    def _set(self, statement: SetSetting | ResetSetting) -> Result:
        if statement.key is not None and statement.key.lower() in self._temporaries.views.variables:
            raise is_a_variable(statement.key).at(statement.span)
        result = run_set(statement, self.settings, lambda: self.snapshot().properties())
        try:
            self._use_cache()
        except Error as error:
            raise error.at(statement.span) from None
        if (statement.key or "").lower() == SPARK_PAGES and self.engine_state in ("starting", "ready"):
            result.warnings += (f"{SPARK_PAGES} counts when Spark starts, and it has started.",)
        return result

    def _use_cache(self) -> None:
        requested = self.settings.caching
        if requested != self._caching and not self._shares_catalog:
            self.catalog.use_cache(requested.capacity, prewarm=requested.prewarm, retention=requested.retention)
            self._caching = requested


def _of_old_states(statement: _S, context: Context) -> tuple[_S, Context]:
    """Returns the statement without clauses AS OF, and its context. Few statements ask for earlier states."""
    if not any("OF" in query.text.upper() for query in queries_in(statement)):
        return statement, context
    from rewriter.statements.query.old_states import with_old_states

    return with_old_states(statement, context)


def _partition_values(partition: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yields names and values of partition columns: texts, whole numbers, dates or ``None``."""
    if not isinstance(partition, Mapping):
        raise InterfaceError(
            f"The partition is a {type(partition).__name__}.", hint='Pass a dict: partition={"day": "2024-01-01"}.'
        )
    for name, value in partition.items():
        is_value = value is None or isinstance(value, str | int | date)
        if not isinstance(name, str) or not is_value or isinstance(value, bool | datetime):
            raise InterfaceError(
                f"The value of the partition column {name} is a {type(value).__name__}.",
                hint="Pass a str, an int, a datetime.date or None.",
            )
        yield name, value


def _quoted(name: str) -> str:
    """Returns the name of a table as it stands in a statement."""
    return ".".join(map(quote_identifier, parse_name(name).parts))


class _ProvingSession:
    """A session of the same kind over the same catalog, with an engine of its own, for the shadow proofs of another."""

    def __init__(self, session: Session) -> None:
        self._engine = session._new_engine()
        catalog = session.catalog
        self._session = Session(catalog.warehouse, self._engine, catalog=catalog, filesystems=session._stores)
        self._session.settings.take(session.settings)

    def prove(self, statement: ProveRollups) -> None:
        with self._session._statement():
            self._session._run_program(statement)

    def cancel(self) -> None:
        self._session.cancel()

    def close(self) -> None:
        try:
            self._session.close()
        finally:
            self._engine.close()
