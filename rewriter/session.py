"""The session: the only wiring of grammar, catalog, planner and engines.

A statement is parsed, gets one snapshot and one reading of the clock, and goes to the module that runs its kind
(``transactions``: several statements share a snapshot and a commit):
``ddl`` (tables and partitions), ``creating`` (CREATE TABLE … AS, LIKE), ``altering`` (columns), ``properties`` (of
tables, and their timelines), ``cubes``, ``showing`` and ``coverage`` (what there is), ``reading`` (queries and
EXPLAIN), ``writing`` (INSERT), ``moving`` and ``storing`` (partitions under other names, in other places). The engine
starts when a statement first needs one.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from rewriter import (
    altering,
    analyzing,
    caching,
    checking,
    compacting,
    coverage,
    creating,
    cubes,
    databases,
    ddl,
    describing,
    explaining,
    facts,
    loading,
    moving,
    multi_inserting,
    properties,
    reading,
    refreshing,
    renaming,
    repairing,
    showcreate,
    showing,
    storing,
    table_listings,
    vacuuming,
    views,
    writing,
)
from rewriter.catalog.models import Column
from rewriter.catalog.names import DEFAULT_DATABASE
from rewriter.catalog.snapshot import Snapshot
from rewriter.catalog.store import Catalog
from rewriter.catalog.temporary import plainly
from rewriter.context import Context
from rewriter.errors import EngineError, Error, InterfaceError, NotSupportedError, ProgrammingError, Span
from rewriter.exec.engine import Engine
from rewriter.grammar import statements as s
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.qualifying import qualified
from rewriter.parameters import Parameters, bind
from rewriter.planner.plan import Plan
from rewriter.planner.planner import plan_query
from rewriter.progress import Progress, Teller
from rewriter.result import Result, Row
from rewriter.settings import CacheSettings, SessionSettings, without_effect
from rewriter.showing import listing, strings
from rewriter.temporaries import Temporaries
from rewriter.transactions import OpenTransaction, already_open, none_open, not_in_transaction

ENGINES = ("spark", "duckdb")

_RUNNERS: Mapping[type[s.Statement], Callable[[Any, Context], Result]] = {
    s.Select: reading.select,
    s.Explain: reading.explain,
    s.ExplainScan: explaining.explain_scan,
    s.Insert: writing.insert,
    s.MultiInsert: multi_inserting.multi_insert,
    s.LoadData: loading.load_data,
    s.CreateTable: ddl.create_table,
    s.CreateTableAs: creating.create_table_as,
    s.CreateTableLike: creating.create_table_like,
    s.AddColumns: altering.add_columns,
    s.CommentColumn: altering.comment_column,
    s.CommentTable: altering.comment_table,
    s.DropTable: ddl.drop_table,
    s.SetProperties: properties.set_properties,
    s.UnsetProperties: properties.unset_properties,
    s.SetTimeline: properties.set_timeline,
    s.AddPartitions: ddl.add_partitions,
    s.DropPartitions: ddl.drop_partitions,
    s.RenamePartition: moving.rename_partition,
    s.ExchangePartitions: moving.exchange_partitions,
    s.Truncate: moving.truncate,
    s.Compact: compacting.compact,
    s.Vacuum: vacuuming.vacuum,
    s.SetLocation: storing.set_location,
    s.SetFileFormat: storing.set_file_format,
    s.SetSerde: storing.set_serde,
    s.CreateView: views.create_view,
    s.DropView: views.drop_view,
    s.ShowViews: showing.show_views,
    s.ShowTables: showing.show_tables,
    s.ShowPartitions: showing.show_partitions,
    s.RepairTable: repairing.repair_table,
    s.ShowCubes: showing.show_cubes,
    s.Describe: describing.describe,
    s.CreateCube: cubes.create_cube,
    s.CreateFact: facts.create_fact,
    s.DropCube: cubes.drop_cube,
    s.DropFact: cubes.drop_fact,
    s.CreateDatabase: databases.create_database,
    s.DropDatabase: databases.drop_database,
    s.ShowDatabases: databases.show_databases,
    s.DescribeDatabase: databases.describe_database,
    s.Rename: renaming.rename,
    s.ShowCreate: showcreate.show_create,
    s.ShowTimelines: coverage.show_timelines,
    s.ShowCoverage: coverage.show_coverage,
    s.ShowLatest: coverage.show_latest,
    s.CheckFact: checking.check_fact,
    s.RefreshFact: refreshing.refresh_fact,
    s.RefreshTimelines: properties.refresh_timelines,
    s.RefreshTable: table_listings.refresh_table,
    s.DescribeQuery: describing.describe_query,
    s.ShowTableExtended: table_listings.show_table_extended,
    s.ShowColumns: table_listings.show_columns,
    s.ShowTableProperties: table_listings.show_table_properties,
    s.AnalyzeTable: analyzing.analyze_table,
    s.AnalyzeTables: analyzing.analyze_tables,
    s.ShowCache: caching.show_cache,
}

#: What only reads, and what hands its changes over to be committed with those of other statements.
_IN_TRANSACTION = (
    s.Select, s.Explain, s.ExplainScan, s.CheckFact, s.Describe, s.DescribeDatabase, s.DescribeQuery, s.ShowColumns,
    s.ShowCoverage, s.ShowCreate, s.ShowCubes, s.ShowDatabases, s.ShowLatest, s.ShowPartitions, s.ShowTableExtended,
    s.ShowTableProperties, s.ShowTables, s.ShowTimelines, s.ShowViews, s.ShowCache, s.UseDatabase, s.RefreshTable,
    s.Insert, s.MultiInsert, s.LoadData, s.AddPartitions, s.DropPartitions, s.RenamePartition, s.ExchangePartitions,
    s.Truncate, s.CreateTable, s.CreateTableAs, s.CreateTableLike, s.DropTable, s.CreateView, s.DropView,
)  # fmt: skip


class Session:
    """A warehouse directory, an engine for it, and settings. One thread at a time; close it, or use ``with``.

    ``engine`` is ``spark``, ``duckdb`` or an ``Engine``, which stays its owner's to close. ``master`` is Spark's
    master URL. ``settings`` are those of SET, by name. ``catalog`` is the URL of the PostgreSQL database that holds the
    catalog; without one it is a file in the warehouse. ``progress`` is called while long statements run, from whatever
    thread (``rewriter.progress``).
    """

    def __init__(
        self,
        warehouse: str | os.PathLike[str],
        engine: str | Engine = "spark",
        master: str | None = None,
        settings: Mapping[str, object] | None = None,
        catalog: str | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        if isinstance(engine, str) and engine not in ENGINES:
            raise InterfaceError(f"There is no engine '{engine}'.", object=engine, hint="Use spark or duckdb.")
        if master is not None and engine != "spark":
            raise InterfaceError("Only Spark has a master URL.", object="master", hint="Leave master out.")
        self.settings = SessionSettings()
        for name, value in (settings or {}).items():
            self.settings.set(name, _setting_text(value))
        self._engine_name = engine
        self._progress = progress
        self._engine: Engine | None = None
        self._master = master
        self._serial = itertools.count(1)
        self._temporaries = Temporaries()
        self._catalog: Catalog | None = Catalog.open(warehouse, catalog)
        self._caching = CacheSettings()
        self._use_cache()
        self._database = DEFAULT_DATABASE
        self._transaction: OpenTransaction | None = None

    def execute(self, text: str, parameters: Parameters = None) -> Result:
        """Runs one statement. Positions in errors are those of ``text``.

        ``parameters`` are a sequence for ``?`` or a mapping for ``:name``. Every error is one of ``rewriter.errors``.
        """
        catalog = self.catalog
        bound = bind(text, parameters)
        try:
            statement = parse(bound.text)
            if isinstance(statement, s.SetSetting | s.ResetSetting):
                return self._set(statement)
            if isinstance(statement, s.StartTransaction | s.Commit | s.Rollback):
                return self._bound(statement)
            self._check_part(statement)
            context = Context(
                catalog,
                self._snapshot(catalog),
                self.settings,
                self.settings.for_planner(),
                self._started_engine,
                self._serial,
                bound.parameters,
                self._temporaries,
                Teller(self._progress),
                self._transaction,
            )
            if isinstance(statement, s.UseDatabase):
                self._database = context.database(statement.database).name
                return Result("USE")
            if self._database != DEFAULT_DATABASE:
                statement = qualified(statement, self._database, context.is_temporary)
            try:
                return self._run(statement, context)
            except EngineError:
                context.snapshot.check_readable()  # An engine misses a file; why it is gone, the catalog knows.
                raise
        except Error as error:
            error.position = bound.original(error.position)
            self._show_plainly(error)
            raise

    def script(self, text: str) -> Iterator[tuple[str, Result]]:
        """Runs the statements of a text one after the other, as they are asked for: each with its own words.

        Positions in errors are those of the whole text.
        """
        for span in split_statements(text):
            statement = text[span.start : span.end]
            try:
                result = self.execute(statement)
            except Error as error:
                raise shifted(error, span) from None
            yield statement, result

    def plan(self, text: str, parameters: Parameters = None) -> Plan:
        """The plan of a query, without any engine. As strict as the query would be."""
        bound = bind(text, parameters)
        try:
            statement = parse(bound.text)
            if not isinstance(statement, s.Select):
                raise ProgrammingError(
                    "Only queries are rewritten.", position=statement.span, hint="Write SELECT … FROM a cube."
                )
            return plan_query(
                statement.query, self._snapshot(self.catalog), self.settings.for_planner(), bound.parameters
            )
        except Error as error:
            error.position = bound.original(error.position)
            self._show_plainly(error)
            raise

    @property
    def catalog(self) -> Catalog:
        """The warehouse's catalog. Raises ``InterfaceError`` after ``close``."""
        if self._catalog is None:
            raise InterfaceError("The session is closed.", hint="Open a new one.")
        return self._catalog

    @property
    def engine_name(self) -> str:
        """``spark`` or ``duckdb``."""
        return self._engine_name if isinstance(self._engine_name, str) else self._engine_name.name

    @property
    def database(self) -> str:
        """The current database, in lower case: ``default`` until USE names another one."""
        return self._database

    @property
    def in_transaction(self) -> bool:
        """Whether START TRANSACTION was executed, and neither COMMIT nor ROLLBACK since."""
        return self._transaction is not None

    def close(self) -> None:
        """Rolls an open transaction back, closes the engine where the session started it, drops temporary tables,
        closes the catalog. Idempotent.
        """
        engine, self._engine = self._engine, None
        catalog, self._catalog = self._catalog, None
        transaction, self._transaction = self._transaction, None
        try:
            if transaction is not None:
                transaction.rollback()
        finally:
            self._close(engine, catalog)

    def _close(self, engine: Engine | None, catalog: Catalog | None) -> None:
        try:
            if engine is not None and isinstance(self._engine_name, str):
                engine.close()
        finally:
            if catalog is not None:
                try:
                    self._temporaries.close(catalog)
                finally:
                    catalog.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _show_plainly(self, error: Error) -> None:
        """Gives an error the names of temporary tables as they were typed."""
        session = self._temporaries.session
        error.message = plainly(error.message, session)
        error.hint = error.hint and plainly(error.hint, session)
        error.object = error.object and plainly(error.object, session)

    def _started_engine(self) -> Engine:
        if self._engine is None:
            self._engine = _start(self._engine_name, self._master)
        return self._engine

    def _snapshot(self, catalog: Catalog) -> Snapshot:
        """What the next statement sees: the newest state, or that of the open transaction."""
        if self._transaction is not None:
            return self._transaction.snapshot.within(self._database)
        return catalog.snapshot(self._temporaries.session).within(self._database)

    def _bound(self, statement: s.StartTransaction | s.Commit | s.Rollback) -> Result:
        """START TRANSACTION, COMMIT, ROLLBACK. Whatever the last two raise, the transaction has ended."""
        transaction = self._transaction
        if isinstance(statement, s.StartTransaction):
            if transaction is not None:
                raise already_open().at(statement.span)
            self._transaction = OpenTransaction(self.catalog, self._temporaries.session)
            return Result("START TRANSACTION")
        word = "COMMIT" if isinstance(statement, s.Commit) else "ROLLBACK"
        if transaction is None:
            raise none_open(word).at(statement.span)
        self._transaction = None
        try:
            (transaction.commit if isinstance(statement, s.Commit) else transaction.rollback)()
        except Error as error:
            raise error.at(statement.span) from None
        return Result(word)

    def _run(self, statement: s.Statement, context: Context) -> Result:
        try:
            return _RUNNERS[type(statement)](statement, context)
        except NotSupportedError as error:
            # The snapshot that refuses knows no places.
            if error.condition == "CHANGED_IN_TRANSACTION":
                error.at(statement.span)
            raise

    def _check_part(self, statement: s.Statement) -> None:
        """Raises ``NotSupportedError`` NOT_IN_TRANSACTION for a statement that an open transaction does not take."""
        if self._transaction is not None and not isinstance(statement, _IN_TRANSACTION):
            raise not_in_transaction("This statement commits by itself").at(statement.span)

    def _set(self, statement: s.SetSetting | s.ResetSetting) -> Result:
        try:
            if isinstance(statement, s.ResetSetting):
                self.settings.reset(statement.key)
                self._use_cache()
                return Result("RESET")
            rows: list[Row]
            if statement.key is None:
                rows = list(self.settings.items())
                return listing("SET", strings("key", "value", "meaning"), rows)
            if statement.value is not None:
                self.settings.set(statement.key, statement.value)
                self._use_cache()
            rows = [(statement.key, self.settings.get(statement.key))]
            idle = statement.value is not None and without_effect(statement.key)
            warnings = (f"{statement.key} changes nothing here: it says how Hive or Spark works.",) if idle else ()
            columns = (Column("key", "string"), Column("value", "string"))
            return Result("SET", columns, rows, rowcount=1, warnings=warnings)
        except Error as error:
            raise error.at(statement.span) from None

    def _use_cache(self) -> None:
        wanted = self.settings.caching
        if wanted != self._caching:
            self.catalog.use_cache(wanted.capacity, prewarm=wanted.prewarm, retention=wanted.retention)
            self._caching = wanted


def shifted(error: Error, span: Span) -> Error:
    """An error of a statement that stands at ``span`` of a longer text, with its position in that text."""
    if error.position is not None:
        error.position = error.position.shifted(span.start)
    return error


def _start(engine: str | Engine, master: str | None) -> Engine:
    if not isinstance(engine, str):
        return engine
    if engine == "duckdb":
        from rewriter.exec.duckdb import DuckDBEngine

        return DuckDBEngine()
    from rewriter.exec.spark import SparkEngine

    return SparkEngine(master)


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
