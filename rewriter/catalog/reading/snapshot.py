"""Snapshots: the view of the catalog that a statement keeps from its first read to its last."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from rewriter.catalog.facts import timeline_properties
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.keys.encoding import encode, prefix
from rewriter.catalog.keys.values import require_canonical
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import (
    DEFAULT_DATABASE,
    NO_PROPERTIES,
    PROPERTIES_KEY,
    CatalogProperties,
    Cube,
    DataFile,
    Fact,
    Function,
    Namespace,
    Partition,
    PartitionValues,
    Table,
    TableState,
    View,
    database_key,
    database_of,
    function_key,
)
from rewriter.catalog.model.system_tables import SYSTEM_DATABASES, SYSTEM_TABLES, SystemTable
from rewriter.catalog.model.temporary_views import NO_VIEWS, TemporaryView, TemporaryViews, session_of, stored_name
from rewriter.catalog.reading import history as versions
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.history import TransactionRecord, transaction_records
from rewriter.catalog.reading.missing_objects import (
    another_kind,
    database_not_found,
    function_not_found,
    nearest_names_hint,
    no_database_hint,
    object_not_found,
)
from rewriter.catalog.reading.pending_changes import NOTHING, OwnRows, Pending
from rewriter.catalog.reading.queries import transaction_list, write_id_list
from rewriter.catalog.reading.snapshot_reads import (
    MOST_ROWS,
    CatalogState,
    CopyReads,
    FilesKey,
    FilteredReads,
    ProofReads,
    SnapshotReads,
    damaged_timeline,
    existing_ranges,
    implementation,
)
from rewriter.catalog.reading.versioned_reads import ListedReads, PartitionFiles, hold
from rewriter.catalog.store import schema
from rewriter.timeline.kinds.registry import DEFAULT, make_timeline
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline

if TYPE_CHECKING:
    import sqlalchemy as sa

    from rewriter.catalog.filters.predicates import ScanFilter
    from rewriter.catalog.model.json_codec import Object
    from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList
    from rewriter.catalog.reading.partition_lookup import Lookup
    from rewriter.catalog.store.database import Database
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import PartitionTimeline

# The databases, functions and properties that a snapshot sees: databases of the catalog and of system tables.

_DEFAULT = Namespace(0, DEFAULT_DATABASE, comment="Default database")


class DatabaseReads(ABC):
    """Reads of databases, functions, system tables and properties, all of a snapshot by name or kind."""

    #: Whether the catalog has properties.
    _has_properties = False

    @abstractmethod
    def named(self, name: str) -> Object | None:
        """Returns the object of the catalog with that name."""

    @abstractmethod
    def _all(self, kind: str) -> tuple[Object, ...]:
        """Returns all objects of a kind by name."""

    def properties(self) -> Mapping[str, str]:
        """Returns the properties of the catalog by name. One indexed read, or none if there are no properties."""
        object_ = self.named(PROPERTIES_KEY) if self._has_properties else None
        return object_.properties if isinstance(object_, CatalogProperties) else NO_PROPERTIES

    def databases(self) -> tuple[Namespace, ...]:
        """Returns the databases of the catalog by name, including ``default``."""
        named_databases = [object_ for object_ in self._all("database") if isinstance(object_, Namespace)]
        return tuple(sorted((_DEFAULT, *named_databases), key=lambda database: database.name))

    def all_databases(self) -> tuple[Namespace, ...]:
        """Returns all databases by name, including the databases of system tables."""
        own = [database for name in SYSTEM_DATABASES if (database := self.system_database(name)) is not None]
        return tuple(sorted((*self.databases(), *own), key=lambda database: database.name))

    def database(self, name: str) -> Namespace:
        """Returns the database of that name, in any case, or the database of system tables. Raises ``AnalysisError``
        SCHEMA_NOT_FOUND.
        """
        object_ = _DEFAULT if name.lower() == DEFAULT_DATABASE else self.named(database_key(name))
        object_ = object_ or self.system_database(name)
        if isinstance(object_, Namespace):
            return object_
        raise database_not_found(name, [database.name for database in self.all_databases()])

    def find_function(self, name: str) -> Function | None:
        """Returns the function of that name, in any case; ``None`` if there is none. One indexed read."""
        object_ = self.named(function_key(name))
        return object_ if isinstance(object_, Function) else None

    def function(self, name: str) -> Function:
        """Returns the function of that name, in any case. Raises ``AnalysisError`` ROUTINE_NOT_FOUND 42883, with near
        names as hint.
        """
        function = self.find_function(name)
        if function is None:
            raise function_not_found(name, [function.name for function in self.functions()])
        return function

    def functions(self, database: str | None = None) -> tuple[Function, ...]:
        """Returns the functions of a database by name, none if it does not exist; without a database the functions of
        all databases.

        One read of the functions of all databases.
        """
        functions = [object_ for object_ in self._all("function") if isinstance(object_, Function)]
        key = None if database is None else database.lower()
        return tuple(function for function in functions if key in (None, database_of(function.name)))

    def system_table(self, name: str) -> SystemTable | None:
        """Returns the system table of that name, in any case; ``None`` for other names, and where the catalog has a
        database of that name itself.
        """
        table = SYSTEM_TABLES.get(name.lower())
        return None if table is None or self.system_database(database_of(name)) is None else table

    def system_database(self, name: str) -> Namespace | None:
        """Returns the database of system tables of that name; ``None`` as ``system_table`` does. One indexed read."""
        database = SYSTEM_DATABASES.get(name.lower())
        return None if database is None or self.named(database_key(name)) is not None else database


_Kind = TypeVar("_Kind", Table, View, Cube, Fact)
_Arguments = ParamSpec("_Arguments")
_Read = TypeVar("_Read")


def _in_its_state(
    read: Callable[Concatenate[Snapshot, Table, _Arguments], _Read],
) -> Callable[Concatenate[Snapshot, Table, _Arguments], _Read]:
    """Decorates a read of a table: a ``TableState`` is read from the snapshot that it is of."""

    @functools.wraps(read)
    def in_its_state(self: Snapshot, table: Table, /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Read:
        state = self.states.get(table.id) if self.states else None
        return read(self, table, *args, **kwargs) if state is None else read(state[0], state[1], *args, **kwargs)

    return in_its_state


class Snapshot(DatabaseReads, FilteredReads, CopyReads, ProofReads):
    """An immutable view. Taking one is one read of the transaction list; rows are read on first use.

    Rows are versioned, so a later read under the same snapshot gives the same result. Results are cached. One thread at
    a time. Objects are looked up by the catalog's names (``qualified_names``); ``current`` is the database of a name
    that is written without one.
    """

    def __init__(
        self,
        database: Database,
        sequence: int,
        transactions: ValidTxnList,
        session: str | None = None,
        pending: Pending = NOTHING,
    ) -> None:
        self.current = DEFAULT_DATABASE
        self._temporary_views = NO_VIEWS
        #: By the id of a ``TableState``: the snapshot and the table that it is of.
        self.states: Mapping[int, tuple[Snapshot, Table]] = {}
        self._states_by_name: Mapping[str, Table] = {}
        self._pending = pending
        self._database = database
        self._cache = database.cache
        self._session = session
        self._sequence = sequence
        self._taken_at = time.monotonic()
        self._transactions = transactions
        own = pending.own
        state = (id(database), sequence) if own is None else (own.identity, own.sequence)
        self._reads = SnapshotReads(CatalogState(*state, transactions, session))

    @classmethod
    def take(cls, database: Database, session: str | None = None) -> Snapshot:
        """Takes a view of all commits up to now, with the temporary tables of one session. One statement."""
        with database.read() as connection:
            return cls.on(database, connection, session)

    @classmethod
    def on(cls, database: Database, connection: sa.Connection, session: str | None = None) -> Snapshot:
        """Takes a view of all that a connection sees. One statement."""
        version, sequence, transactions, has_properties = transaction_list(connection)
        database.check_version(*version)
        if database.cache is not None:
            database.cache.note_seen_commit(sequence)
        snapshot = cls(database, sequence, transactions, session)
        snapshot._has_properties = has_properties
        return snapshot

    @property
    def session(self) -> str | None:
        """The session whose temporary tables the snapshot shows; ``None`` for none."""
        return self._session

    def within(self, database: str) -> Snapshot:
        """Returns the same view, with all its cached reads, under another current database."""
        view = copy.copy(self)
        view.current = database.lower()
        return view

    def showing(self, views: TemporaryViews) -> Snapshot:
        """Returns the same view, with all its cached reads, of a session with these temporary views."""
        view = copy.copy(self)
        view._temporary_views = views
        return view

    def as_of(self, commit: int) -> Snapshot:
        """Returns the view of the state that a commit has left, at most this one, whose files stay as long as it lives.
        One read, and one write.

        Raises ``OperationalError`` SNAPSHOT_TOO_OLD if VACUUM has removed files of that state.
        """
        view = Snapshot(self._database, commit, self._transactions, self._session)
        view.current = self.current
        view._temporary_views = self._temporary_views
        view._has_properties = self._has_properties
        view._cache = None
        view.hold_files_at_once()
        return view

    def with_states(self, states: Mapping[str, tuple[TableState, Snapshot, Table]]) -> Snapshot:
        """Returns the same view, with all its cached reads, in which names without a database are those of tables of
        earlier states: each with the snapshot and the table that it is of.
        """
        view = copy.copy(self)
        view.states = {table.id: (snapshot, of) for table, snapshot, of in states.values()}
        view._states_by_name = {name: table for name, (table, *_) in states.items()}
        return view

    def with_states_of(self, other: Snapshot) -> Snapshot:
        """Returns the same view, with all its cached reads, and the tables of earlier states of another one."""
        view = copy.copy(self)
        view.states, view._states_by_name = other.states, other._states_by_name
        return view

    def commit_before(self, microseconds: int) -> int | None:
        """Returns the newest commit of the view that was made at or before an instant, in microseconds since 1970 by
        the database's clock; ``None`` before the first. One read.
        """
        return versions.commit_before(self._database, self._sequence, microseconds)

    @property
    def temporary_views(self) -> TemporaryViews:
        """The temporary views of the session."""
        return self._temporary_views

    def over(self, pending: Pending) -> Snapshot:
        """Returns the same view for the statements of a transaction, with its uncommitted changes."""
        view = Snapshot(self._database, self._sequence, self._transactions, self._session, pending)
        view.current = self.current
        view._temporary_views = self._temporary_views
        view._taken_at = self._taken_at
        view._has_properties = self._has_properties
        view.states, view._states_by_name = self.states, self._states_by_name
        return view

    @property
    def state(self) -> CatalogState:
        """Returns the state that the snapshot sees."""
        return self._reads.state

    def hold_files(self) -> None:
        """Ensures that the files that the snapshot sees stay as long as it lives. For lists of files that were read
        under an earlier snapshot of the same state. Raises SNAPSHOT_TOO_OLD, like ``files``.
        """
        hold(self._database, self)

    def hold_files_at_once(self) -> None:
        """Does the same for files that are read later, if at all: VACUUM knows of it now, whatever its retention."""
        self._taken_at = -math.inf
        self.hold_files()

    @property
    def reads(self) -> SnapshotReads:
        """Returns what was read so far."""
        return self._reads

    def resume(self, reads: SnapshotReads | None) -> None:
        """Takes over what an earlier snapshot has read, if that was of the same state, and is not much.

        With a cache, each result is in the cache already.
        """
        if reads is not None and self._cache is None and reads.state == self._reads.state and reads.is_small:
            self._reads = reads

    @property
    def sequence(self) -> int:
        """The number of the newest commit that the snapshot sees; 0 before the first."""
        return self._sequence

    @property
    def has_own_changes(self) -> bool:
        """True if the snapshot shows changes of an own transaction, which no other reader sees."""
        return self._pending is not NOTHING

    @property
    def taken_at(self) -> float:
        """The time at which the snapshot was taken, in seconds on the clock of ``time.monotonic``."""
        return self._taken_at

    def check_readable(self) -> None:
        """Raises ``OperationalError`` SNAPSHOT_TOO_OLD if VACUUM has removed files that it may see. One read."""
        with self._database.read() as connection:
            queries.check_readable(connection, self._sequence)

    def transaction_records(self) -> tuple[TransactionRecord, ...]:
        """Returns the transactions that began before the snapshot, oldest first. O(transactions)."""
        with self._database.read() as connection:
            return tuple(transaction_records(connection, self._sequence, self._transactions))

    def logged_changes(self, object_ids: Collection[int], limit: int | None = None) -> list[versions.LoggedChange]:
        """Returns the changes of objects that the log has up to the snapshot, the newest first. Reads the log."""
        return versions.logged_changes(self._database, self._sequence, object_ids, limit)

    @property
    def transactions(self) -> ValidTxnList:
        """The transactions that had ended when the snapshot was taken."""
        return self._transactions

    def write_ids(self, object_id: int) -> ValidWriteIdList:
        """Returns the visible write ids of a table, view, cube or fact; ``table`` in the list is the object's id.

        The write ids of a table that the own transaction affects are numbers of its private catalog.
        """
        own = self._own_of(object_id)
        return self._list_of(object_id) if own is None else own.write_ids(object_id)

    def _own_of(self, object_id: int) -> OwnRows | None:
        """Returns the rows of the own transaction if they are an object's rows; ``None`` if the catalog has them."""
        own = self._pending.own
        return own if own is not None and object_id in own.tables else None

    def _store(self, object_id: int) -> Database:
        """Returns the database that has the rows of a table."""
        return self._database if (own := self._own_of(object_id)) is None else own.database()

    def _list_of(self, object_id: int) -> ValidWriteIdList:
        if object_id not in self._reads.write_ids:
            ids = None if self._cache is None else self._cache.write_ids(object_id, self._sequence)
            if ids is None:
                with self._database.read() as connection:
                    ids = write_id_list(connection, object_id, self._sequence, self._transactions)
                if self._cache is not None:
                    self._cache.note_write_ids(object_id, ids, self._sequence)
            self._reads.write_ids[object_id] = ids
        return self._reads.write_ids[object_id]

    def _under_list(self, object_id: int) -> ListedReads:
        # The private catalog of a transaction has no leases: ``_files`` holds the files of the catalog.
        holder = self if self._own_of(object_id) is None else None
        return ListedReads(self._store(object_id), object_id, self.write_ids(object_id), holder)

    def find(self, name: str) -> Table | Cube | Fact | None:
        """Returns the table, cube or fact of that name, in any case; ``None`` if there is none. One indexed read."""
        object_ = self._temporary_views.source_stored_as(name) or self.system_table(name) or self.named(name)
        return object_ if isinstance(object_, Table | Cube | Fact) else None

    def temporary(self, name: str) -> Table | None:
        """Returns the session's source or temporary table of that plain name, in any case; ``None`` if it has none."""
        source = self._temporary_views.sources.get(name.lower()) or self._states_by_name.get(name)
        if source is not None:
            return source
        object_ = None if self._session is None else self.named(stored_name(name, self._session))
        return object_ if isinstance(object_, Table) else None

    def temporary_view(self, name: str) -> TemporaryView | None:
        """Returns the session's temporary view of that plain name, in any case; ``None`` if it has none."""
        return self._temporary_views.get(name)

    def is_temporary(self, name: str) -> bool:
        """Returns whether a name without a database is the name of a temporary view or table of the session."""
        return self.temporary_view(name) is not None or self.temporary(name) is not None

    def temporary_tables(self, session: str) -> tuple[Table, ...]:
        """Returns all temporary tables of a session, which need not be the snapshot's session."""
        with self._database.read() as connection:
            all_objects = [object_ for object_, _ in queries.objects(connection, self._sequence, kind="table")]
        return tuple(
            object_ for object_ in all_objects if isinstance(object_, Table) and session_of(object_.name) == session
        )

    def find_view(self, name: str) -> View | None:
        """Returns the view of that name, in any case; ``None`` if there is none. Shares the read of ``find``."""
        object_ = self.named(name)
        return object_ if isinstance(object_, View) else None

    def named(self, name: str) -> Object | None:
        """Returns the object of that name: tables, views, cubes and facts share one name space. One indexed read."""
        key = name.lower()
        if key not in self._reads.by_name:
            read = partial(self._read_named, key)
            committed = read() if self._cache is None else self._cache.named(key, self._sequence, self._list_of, read)
            self._reads.by_name[key] = self._pending.named(key, committed)
        return self._reads.by_name[key]

    def _read_named(self, key: str) -> Object | None:
        with self._database.read() as connection:
            objects = queries.objects(connection, self._sequence, name=key)
        return objects[0][0] if objects else None

    def table(self, name: str) -> Table:
        """Returns the table of that name. Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND, with near names as hint."""
        return self._named(Table, name)

    def view(self, name: str) -> View:
        """Returns the view of that name. Raises ``AnalysisError`` VIEW_NOT_FOUND."""
        return self._named(View, name)

    def cube(self, name: str) -> Cube:
        """Returns the cube of that name. Raises ``AnalysisError`` CUBE_NOT_FOUND."""
        return self._named(Cube, name)

    def fact(self, name: str) -> Fact:
        """Returns the fact of that name. Raises ``AnalysisError`` FACT_NOT_FOUND."""
        return self._named(Fact, name)

    def tables(self) -> tuple[Table, ...]:
        """Returns all tables by name, except the temporary ones of other sessions."""
        return tuple(object_ for object_ in self._all("table") if isinstance(object_, Table))

    def views(self) -> tuple[View, ...]:
        """Returns all views by name, and the temporary ones of the session."""
        stored = tuple(object_ for object_ in self._all("view") if isinstance(object_, View))
        return (*stored, *self._temporary_views.by_name.values())

    def cubes(self) -> tuple[Cube, ...]:
        """Returns all cubes by name."""
        return tuple(object_ for object_ in self._all("cube") if isinstance(object_, Cube))

    def facts(self) -> tuple[Fact, ...]:
        """Returns all facts by name."""
        return tuple(object_ for object_ in self._all("fact") if isinstance(object_, Fact))

    def facts_of(self, cube_name: str) -> tuple[Fact, ...]:
        """Returns the facts of a cube by name."""
        return tuple(fact for fact in self.facts() if fact.cube.lower() == cube_name.lower())

    def fact_using(self, table_name: str) -> Fact | None:
        """Returns the fact that has a table as storage table. A table serves at most one fact."""
        return next((fact for fact in self.facts() if fact.storage_table(table_name) is not None), None)

    def partition(self, table: Table, values: PartitionValues) -> Partition | None:
        """Returns the partition with these canonical values; ``None`` if there is none. One indexed read.

        Raises ``DataError`` INVALID_PARTITION_SPEC if they are not canonical, or their number is not the number of the
        columns.
        """
        require_canonical(table.partition_columns, values)
        key = encode(table.id, [column.type for column in table.partition_columns], values)
        return self._under_list(table.id).partition(table, key)

    @_in_its_state
    def partitions(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[Partition, ...]:
        """Returns the partitions with keys in any of the ranges (``None``: all), in key order, each once."""
        if ranges is None:
            return self.satisfying(table, None)
        merged_ranges = merge_ranges(ranges)
        if (table.id, merged_ranges) not in self._reads.partitions:
            self._reads.partitions[table.id, merged_ranges] = self._under_list(table.id).partitions(
                table, merged_ranges
            )
        return self._reads.partitions[table.id, merged_ranges]

    @_in_its_state
    def partition_count(self, table: Table) -> int:
        """Returns the number of a table's partitions. Reads none of them."""
        if (table.id, None) in self._reads.satisfying:
            return len(self._reads.satisfying[table.id, None])
        return self._under_list(table.id).count(table)

    def partitions_at(self, table: Table, paths: Collection[str]) -> list[Partition]:
        """Returns the partitions whose own location equals one of these absolute paths, is below one, or above one.

        Links are resolved. Scans the table's partitions, and accesses the disk once for each location. Nothing is
        cached.
        """
        return queries.partitions_at(self._store(table.id), table, self.write_ids(table.id), paths) if paths else []

    @_in_its_state
    def lookup(self, table: Table, scan_filter: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """Returns a lookup of the partitions that satisfy a bound filter (``None``: all), read when they are used.

        With ``ranges``, only those with keys in any of them.
        """
        return self._under_list(table.id).lookup(table, scan_filter, ranges)

    @_in_its_state
    def satisfying(self, table: Table, scan_filter: ScanFilter | None) -> tuple[Partition, ...]:
        """Returns all partitions of a table that satisfy a bound filter, in key order. Cached, like the partitions of
        ranges.
        """
        if (table.id, scan_filter) not in self._reads.satisfying:
            self._reads.satisfying[table.id, scan_filter] = self._under_list(table.id).satisfying(table, scan_filter)
        return self._reads.satisfying[table.id, scan_filter]

    @_in_its_state
    def files(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[tuple[Partition, DataFile], ...]:
        """Returns the files of these partitions, in (key, path) order: the newest OVERWRITE and the INTOs after it.

        Empty for an external table, whose readers list its directories. The files stay as long as this object lives;
        VACUUM removes them later. Raises ``OperationalError`` SNAPSHOT_TOO_OLD if they may have been removed already.
        """
        merged_ranges = None if ranges is None else merge_ranges(ranges)
        reads = self._under_list(table.id)
        read = partial(reads.files_in, table, merged_ranges, partial(self.partitions, table, ranges))
        return self._files((table.id, merged_ranges), read)

    @_in_its_state
    def files_satisfying(self, table: Table, scan_filter: ScanFilter) -> tuple[tuple[Partition, DataFile], ...]:
        """Returns the files of the partitions that satisfy a bound filter, like ``files``."""
        reads = self._under_list(table.id)
        return self._files((table.id, scan_filter), partial(reads.files_satisfying, table, scan_filter))

    def _files(self, key: FilesKey, read: Callable[[], PartitionFiles]) -> PartitionFiles:
        files = self._reads.files.get(key)
        if files is not None or self._own_of(key[0]) is not None:
            hold(self._database, self)
        files = read() if files is None else files
        if len(files) <= MOST_ROWS:
            self._reads.files[key] = files
        return files

    def contents(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[versions.Content, ...]:
        """Returns the contents of the partitions with keys in any of the ranges (``None``: all), in key order."""
        key_ranges = (KeyRange.of_prefix(prefix(table.id)),) if ranges is None else merge_ranges(ranges)
        with self._store(table.id).read() as connection:
            return tuple(versions.contents(connection, self.write_ids(table.id), key_ranges))

    def history(self, table: Table, key: bytes) -> versions.History | None:
        """Returns the times of a partition's creation and last change; ``None`` if there is no such partition."""
        with self._store(table.id).read() as connection:
            return versions.partition_history(connection, table.id, self.write_ids(table.id), key)

    def created(self, object_: Object) -> float | None:
        """Returns the creation time of an object, in seconds since 1970 on the database's clock."""
        with self._database.read() as connection:
            return versions.object_created(connection, object_.id)

    def timeline(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the periods that exist, whole and fresh, in a storage table; empty if no fact uses the table so.

        The table's properties choose its class. All timelines of a table are one read. Do not change the result.
        """
        return self._timeline(table_name, period, time_dimension, schema.FRESH)

    def outdated(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the outdated periods that exist in a storage table. The result is shared: do not change it."""
        return self._timeline(table_name, period, time_dimension, schema.OUTDATED)

    def unproven(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the rollup periods that exist without a proof of their content. Do not change the result either."""
        return self._timeline(table_name, period, time_dimension, schema.UNPROVEN)

    def incomplete(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the rollup periods that were computed while base periods inside them were missing. Shared, too."""
        return self._timeline(table_name, period, time_dimension, schema.INCOMPLETE)

    def open(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the periods that streams fill and no trigger has committed. Shared, too."""
        return self._timeline(table_name, period, time_dimension, schema.OPEN)

    def lacking(
        self, table_name: str, period: Period, time_dimension: str, columns: Iterable[str] | None = None
    ) -> PartitionTimeline:
        """Returns the rollup periods, of any state, whose partitions lack one of some columns, in any case; of all
        columns of the fact for ``None``: they were computed before the table got it. Do not change the result.
        """
        fact = self.fact_using(table_name)
        stored = None if fact is None else fact.storage_table(table_name)
        last = None if stored is None else stored.last_widening(columns)
        if last is None:
            return RangesPartitionTimeline()
        key = (int(period), time_dimension.lower())
        lines = self._stored_timelines(self.table(table_name))
        narrow = (lines.get((*key, schema.NARROW + number), ()) for number in range(last + 1))
        return RangesPartitionTimeline(itertools.chain.from_iterable(narrow))

    @property
    def unused_timelines(self) -> Mapping[str, Callable[[str, Period, str], PartitionTimeline]]:
        """The readers of the partitions that exist and serve no cube, by the name of their state."""
        return {"outdated": self.outdated, "incomplete": self.incomplete, "unproven": self.unproven}

    def retired(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the base periods of a storage table that were dropped and not written since. Shared, too."""
        return self._timeline(table_name, period, time_dimension, schema.RETIRED)

    def _timeline(self, name: str, period: Period, time: str, state: int) -> PartitionTimeline:
        table = self.table(name)
        key = (int(period), time.lower(), state)
        if (table.id, key) not in self._reads.timelines:
            has_choice = any(timeline_properties.choices(table.properties))
            kind = implementation(table, self.fact_using(name), period, time) if has_choice else DEFAULT
            ranges = existing_ranges(self._stored_timelines(table), key)
            self._reads.timelines[table.id, key] = make_timeline(ranges, kind)
        return self._reads.timelines[table.id, key]

    def _stored_timelines(self, table: Table) -> queries.StoredTimelines:
        if table.id not in self._reads.stored:
            try:
                self._reads.stored[table.id] = self._under_list(table.id).timelines()
            except ValueError as error:
                raise damaged_timeline(table, error) from error
        return self._reads.stored[table.id]

    def mean_bytes(self, table_name: str, period: Period) -> int | None:
        """Returns the mean bytes of one period in a storage table, rounded up; ``None`` if they are unknown.

        O(partitions) for the first call after a write to the table, then from memory.
        """
        table = self.table(table_name)
        fact = self.fact_using(table.name)
        storage_table = fact.storage_table(table.name) if fact is not None else None
        if fact is None or storage_table is None:
            return None
        binding, ids = TimeBinding(fact, storage_table, table), self.write_ids(table.id)
        partitions = partial(self._all_partitions, table)
        return self._store(table.id).volumes.of(binding, ids, partitions).get(period)

    def _all_partitions(self, table: Table) -> Iterable[Partition]:
        return self.lookup(table, None).partitions()

    def _all(self, kind: str) -> tuple[Object, ...]:
        if kind not in self._reads.by_kind:
            read = partial(self._read_kind, kind)
            all_objects = read() if self._cache is None else self._cache.of_kind(kind, self._sequence, read)
            all_objects = tuple(self._pending.among(kind, all_objects))
            if kind == "table":
                all_objects = tuple(
                    object_ for object_ in all_objects if session_of(object_.name) in (None, self._session)
                )
            in_order = sorted(all_objects, key=lambda object_: (object_.name.lower(), object_.name))
            self._reads.by_kind[kind] = tuple(in_order)
        return self._reads.by_kind[kind]

    def _read_kind(self, kind: str) -> tuple[Object, ...]:
        with self._database.read() as connection:
            return tuple(object_ for object_, _ in queries.objects(connection, self._sequence, kind=kind))

    def _named(self, kind: type[_Kind], name: str) -> _Kind:
        object_ = self.named(name)
        if isinstance(object_, kind):
            return object_
        if object_ is None:
            raise object_not_found(kind, name, self._nearest(kind, name))
        raise another_kind(kind, name, object_, self.facts_of, self.current)

    def _nearest(self, kind: type[_Kind], name: str) -> str:
        database = database_of(name)
        if self.system_database(database) is not None:
            return nearest_names_hint(kind, name, self.current, SYSTEM_TABLES)
        if database != DEFAULT_DATABASE and self.named(database_key(database)) is None:
            return no_database_hint(name)
        names = [object_.name for object_ in self._all(kind.__name__.lower())]
        return nearest_names_hint(kind, name, self.current, names)
