"""The environment of one statement: one snapshot, one reading of the clock, the settings, and an engine on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import CATALOG, DEFAULT_DATABASE, Namespace, Table, TableKind, View, full_name
from rewriter.catalog.model.system_tables import system_read_only
from rewriter.catalog.model.temporary_views import TemporaryView, session_of
from rewriter.catalog.reading.missing_objects import view_instead
from rewriter.errors import AnalysisError, Error, InternalError, NotSupportedError, ProgrammingError
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.cluster_engines import SessionClusters
from rewriter.runtime.prepared_queries import PreparedQueries
from rewriter.runtime.progress import ProgressReporter
from rewriter.runtime.recent_statements import RecentStatements
from rewriter.runtime.transaction_errors import not_in_transaction

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.clusters.definitions import Clusters
    from rewriter.catalog.commit.freshness import Sources
    from rewriter.catalog.commit.transaction import Writer
    from rewriter.catalog.model.changes import Change
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.reading.snapshot import Snapshot
    from rewriter.exec.engine import Engine, Relation
    from rewriter.grammar.terms import DatabaseName, Name
    from rewriter.planner.model.plan import Settings
    from rewriter.planner.routing.routes import Attempt
    from rewriter.runtime.multi_statement import OpenTransaction
    from rewriter.runtime.query_log import SessionLog
    from rewriter.runtime.running_streams import RunningStreams
    from rewriter.runtime.settings import SessionSettings
    from rewriter.runtime.shadow_proofs import ShadowProofs
    from rewriter.runtime.temporary_tables import Temporaries


@dataclass(frozen=True)
class BatchRows:
    """The rows of one batch of a stream. ``relation`` stands for ``location`` in the query, under any name."""

    location: str
    relation: Relation


@dataclass(frozen=True)
class Context:
    """The environment of one statement.

    ``engine`` starts the engine when first called, and ``engine_name`` is ``spark`` or ``duckdb``; ``serial`` numbers
    relations; ``progress`` receives the statement's progress; ``prepared`` are the session's prepared queries.
    ``rehearsed`` gets the changes of a statement that is explained instead of run; otherwise it is ``None``. ``batch``
    has the rows of a stream that the statement loads, in place of the files that its query names.
    ``streams`` are the streams that the session has started, ``queries`` its last statements, ``session_clusters`` its
    choice of a cluster, ``shadow_proofs`` the proofs of its queries, ``query_log`` those that the log lacks.

    ``cluster`` is the one whose engine and files are used, ``None`` without clusters. ``required`` is the only one that
    may be used, with the reason. ``written`` are the tables that have required one. ``unreachable`` were tried by this
    statement.
    """

    catalog: Catalog
    snapshot: Snapshot
    settings: SessionSettings
    planning: Settings
    engine: Callable[[], Engine]
    engine_name: str
    serial: Iterator[int]
    parameters: Mapping[str, object]
    temporaries: Temporaries
    progress: ProgressReporter = field(default_factory=ProgressReporter)
    transaction: OpenTransaction | None = None
    prepared: PreparedQueries = field(default_factory=PreparedQueries)
    rehearsed: list[Change] | None = None
    batch: BatchRows | None = None
    streams: RunningStreams | None = None
    queries: RecentStatements = field(default_factory=RecentStatements)
    session_clusters: SessionClusters = field(default_factory=SessionClusters)
    shadow_proofs: ShadowProofs | None = None
    query_log: SessionLog | None = None
    cluster: str | None = None
    required: tuple[str, str] | None = None
    written: tuple[str, ...] = ()
    unreachable: tuple[Attempt, ...] = ()

    @property
    def clusters(self) -> Clusters:
        """The clusters that the statement sees. One read if the catalog has properties, otherwise none.

        Raises ``DataError`` INVALID_CLUSTER_PROPERTIES if settings do not fit to the properties of the catalog.
        """
        return self.session_clusters.of(self.snapshot.properties(), self.settings)

    @property
    def chosen_cluster(self) -> str | None:
        """The name of the cluster that USE CLUSTER chose; ``None`` without a choice. Raises ``AnalysisError``
        CLUSTER_NOT_FOUND if it is not defined any more.
        """
        return self.session_clusters.chosen_in(self.clusters) if self.session_clusters.chosen is not None else None

    @property
    def required_cluster(self) -> tuple[str | None, str]:
        """Returns the only cluster that may be used, with the reason; ``None`` if the session chooses."""
        if self.required is not None:
            return self.required
        chosen = self.chosen_cluster
        return chosen, "" if chosen is None else f"USE CLUSTER {chosen}"

    def on(self, cluster: str | None) -> Context:
        """Returns the context of the same statement on a cluster: with its engine, and its copies of files. ``None``
        is the session's own engine.
        """
        engines = self.session_clusters.engines
        if cluster is None or engines is None:
            return self
        definition = self.clusters.named(cluster)
        engine = partial(engines.of, definition, self.settings)
        return replace(self, cluster=definition.name, engine=engine, engine_name=engines.name_of(definition))

    def require_own_engine(self, table: Table) -> None:
        """Raises ``NotSupportedError`` STREAM_ON_CLUSTER if the table's cluster has another engine than the session: a
        stream has an engine of its own, of the session's kind.
        """
        engines = self.session_clusters.engines
        if self.cluster is None or engines is None or engines.is_own(self.clusters.named(self.cluster)):
            return
        raise NotSupportedError(
            f"{table.name} is on {self.cluster}, which has another engine than this session: a stream cannot load it.",
            condition="STREAM_ON_CLUSTER",
            object=table.name,
            hint=f"Open a session whose engine is that of {self.cluster}: SHOW CLUSTERS has the address.",
        )

    def writing(self, table: Table) -> Context:
        """Returns the context of a statement that writes a table: on its primary cluster, and no other.

        Raises ``ProgrammingError`` CLUSTER_IS_NOT_PRIMARY after USE CLUSTER of another one, or if the statement writes
        a table of another primary cluster, too. Without clusters, the context is returned as it is.
        """
        primary = self.clusters.primary_of(table) if self.clusters else None
        if primary is None or session_of(table.name) is not None:
            return self
        required, why = self.required_cluster
        if required is not None and required.lower() != primary.lower():
            raise ProgrammingError(
                f"{table.name} is written on its primary cluster, {primary}, and the statement must run on {required} "
                f"({why}).",
                condition="CLUSTER_IS_NOT_PRIMARY",
                object=table.name,
                hint=f"USE CLUSTER {primary}, or USE CLUSTER without a name."
                if self.required is None
                else "Write tables of different primary clusters by separate statements.",
            )
        reason = f"the primary cluster of {table.name}"
        return replace(self.on(primary), required=(primary, reason), written=(*self.written, table.name))

    def begin(self) -> Writer:
        """Returns the statement's transaction: its own, on its snapshot, or its part in the one that the session
        opened. The transaction of a statement that is explained makes no change.
        """
        if self.rehearsed is not None:
            rehearse = partial(self.catalog.rehearse, self.snapshot)
            return _Rehearsal(rehearse if self.transaction is None else self.transaction.rehearse, self.rehearsed)
        return self.catalog.begin(self.snapshot) if self.transaction is None else self.transaction.part()

    def require_transactional(self, table: Table) -> None:
        """Raises ``NotSupportedError`` NOT_IN_TRANSACTION if a transaction is open and the table's files would not wait
        for it.
        """
        if self.transaction is not None and table.external:
            raise not_in_transaction(f"The files of the external table {table.name} move immediately", table.name)

    def in_background(self, engine: Engine) -> Context:
        """Returns the context for work in another thread, with an engine of its own. It reports no progress."""
        return replace(
            self,
            settings=self.settings.copy(),
            engine=lambda: engine,
            progress=ProgressReporter(),
            prepared=PreparedQueries(),
            session_clusters=SessionClusters(chosen=self.session_clusters.chosen),
        )

    def renewed(self) -> Context:
        """Returns the context of the same statement over the newest state; its present moment stays. Another
        transaction may have given another primary cluster to a table that is written. Raises as ``writing`` does.
        """
        context = self.over(self.catalog.snapshot(self.snapshot.session))
        if not self.written:
            return context
        context = replace(context, required=None, written=())
        for name in self.written:
            table = context.snapshot.named(name)
            if isinstance(table, Table):
                context = context.writing(table)
        return context

    def over(self, snapshot: Snapshot) -> Context:
        """Returns the context of the same statement over another snapshot of its session."""
        snapshot = snapshot.within(self.snapshot.current).showing(self.snapshot.temporary_views)
        return replace(self, snapshot=snapshot.with_states_of(self.snapshot) if self.snapshot.states else snapshot)

    def table(self, name: Name) -> Table:
        """Returns the table, or raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND at the name.

        First finishes the moves of an external table's directories that a killed statement left half done, unless the
        statement is only explained.
        """
        unqualified = single(name)
        temporary = self._temporary(name)
        if isinstance(temporary, Table):
            if temporary.kind is TableKind.SOURCE:
                from rewriter.connectors.table_source import read_only

                raise read_only(temporary).at(name.span)
            return temporary
        try:
            if temporary is not None:
                raise view_instead(temporary)
            if self.snapshot.system_table(unqualified) is not None:
                raise system_read_only(unqualified)
            table = self.snapshot.table(unqualified)
            if self.rehearsed is None:
                self.catalog.finish_moves(table)
            return table
        except Error as error:
            raise error.at(name.span) from None

    def is_temporary(self, name: str) -> bool:
        """Returns whether a name without a database is the name of a temporary table or view of the session."""
        return self.snapshot.is_temporary(name)

    def _temporary(self, name: Name) -> Table | TemporaryView | None:
        if len(name.parts) > 1:
            return None
        return self.snapshot.temporary_view(name.last) or self.snapshot.temporary(name.last)

    def view(self, name: Name) -> View:
        """Returns the view, or raises ``AnalysisError`` VIEW_NOT_FOUND at the name."""
        object_ = self.named(name)
        if isinstance(object_, TemporaryView):
            return object_
        try:
            return self.snapshot.view(single(name) if object_ is None else object_.name)
        except Error as error:
            raise error.at(name.span) from None

    def database(self, name: DatabaseName | None) -> Namespace:
        """Returns the database, the current one if ``name`` is ``None``. Raises ``AnalysisError`` SCHEMA_NOT_FOUND at
        the name.
        """
        try:
            return self.snapshot.database(self.snapshot.current if name is None else name.text)
        except Error as error:
            if name is None:
                error.hint = f"It is the current database, and was dropped: USE {DEFAULT_DATABASE}, or another one."
                raise
            raise error.at(name.span) from None

    def named(self, name: Name) -> Object | None:
        """Returns the object of a name, the session's temporary one first, or a system table; ``None`` where there is
        no such object.
        """
        return self._temporary(name) or self.snapshot.system_table(single(name)) or self.snapshot.named(single(name))


def single(name: Name) -> str:
    """Returns the parts as one text, the object's name in the catalog (``catalog.model.objects``).

    At this point, a statement's names include their database where another one than ``default`` is current
    (``grammar.qualify_names``), so a single part is a name in ``default``. Raises ``AnalysisError`` for invalid names.
    """
    parts = name.parts[1:] if len(name.parts) == 3 and name.parts[0].lower() == CATALOG else name.parts
    if len(parts) > 2:
        raise AnalysisError(
            f"{CATALOG} requires a single-part namespace, but got {'.'.join(parts[:-1])}.",
            condition="REQUIRES_SINGLE_PART_NAMESPACE",
            sqlstate="42K05",
            position=name.span,
            object=".".join(parts),
            hint=f"There is one catalog: write database.{name.last}, or {CATALOG}.database.{name.last}.",
        )
    for part in parts:
        if "." in part:
            raise AnalysisError(
                f"'{part}' is not a name: a dot separates a database from a name in it.",
                condition="INVALID_SCHEMA_OR_RELATION_NAME",
                sqlstate="42602",
                position=name.span,
                object=part,
                hint="Names consist of letters, digits and underscores; quote each part separately: `database`.`name`.",
            )
    return full_name(parts[0] if len(parts) == 2 else DEFAULT_DATABASE, parts[-1])


# The writer of a statement that is explained: its changes are checked as the changes of a commit, and made nowhere.


class _Rehearsal:
    """A ``Writer`` for statements that write no files. ``changes`` gets what the statement would commit."""

    def __init__(self, rehearse: Callable[[Sequence[Change]], object], changes: list[Change]) -> None:
        self._rehearse = rehearse
        self._changes = changes

    def commit(
        self, changes: Sequence[Change], sources: Collection[int] | Sources = (), unproven: Collection[int] = ()
    ) -> None:
        """Raises the errors of a commit; keeps the changes as values."""
        self._rehearse(changes)
        self._changes += changes

    def allocate_id(self) -> int:
        """Raises ``InternalError``: a rehearsal uses up no numbers."""
        raise _not_rehearsed()

    def write_ids(self, tables: Sequence[Table]) -> tuple[int, ...]:
        """Raises ``InternalError``, as ``allocate_id`` does."""
        raise _not_rehearsed()

    def directory_name(self, table: Table) -> str:
        """Raises ``InternalError``, as ``allocate_id`` does."""
        raise _not_rehearsed()

    def heartbeat(self) -> None:
        """Does nothing: no transaction is open."""

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Does nothing: there is nothing to end."""


def _not_rehearsed() -> InternalError:
    return InternalError("a statement that creates objects or writes files is not rehearsed")
