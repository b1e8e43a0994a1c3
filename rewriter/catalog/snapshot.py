"""Snapshots: what a statement sees of the catalog, from its first read to its last."""

from __future__ import annotations

import copy
import difflib
import time
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import sqlalchemy as sa

from rewriter.catalog import reads, schema, timeline_properties
from rewriter.catalog.binding import TimeBinding
from rewriter.catalog.codec import Object, kind_of
from rewriter.catalog.database import Database
from rewriter.catalog.history import Content, History, contents, object_created, partition_history
from rewriter.catalog.keys import KeyRange, encode, merged, prefix
from rewriter.catalog.listed_reads import ListedReads
from rewriter.catalog.lookup import Lookup
from rewriter.catalog.models import Cube, DataFile, Fact, Namespace, Partition, PartitionValues, Table, View
from rewriter.catalog.names import DEFAULT_DATABASE, database_key, database_of, seen_from
from rewriter.catalog.pending import NOTHING, Pending
from rewriter.catalog.scan_filters import ScanFilter, bind_filter, bind_text
from rewriter.catalog.temporary import session_of, stored_name
from rewriter.catalog.values import require_canonical
from rewriter.catalog.volumes import mean_bytes
from rewriter.catalog.writeids import ValidTxnList, ValidWriteIdList
from rewriter.errors import AnalysisError, OperationalError
from rewriter.grammar.filters import Filter
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.timeline_classes import DEFAULT, make_timeline
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

_Kind = TypeVar("_Kind", Table, View, Cube, Fact)

_NOT_FOUND = {
    Table: ("table or view", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    View: ("view", "VIEW_NOT_FOUND", "42P01"),
    Cube: ("cube", "CUBE_NOT_FOUND", "42P01"),
    Fact: ("fact", "FACT_NOT_FOUND", "42P01"),
}


class Snapshot:
    """An immutable view. Taking one is one read of the transaction list; rows are read when first asked for.

    Rows are versioned, so a later read under the same snapshot sees the same. Answers are kept. One thread at a time.
    Objects are looked up by the catalog's names (``catalog.names``); ``current`` says to which database a name belongs
    that somebody types without one.
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
        self._pending = pending
        self._database = database
        self._cache = database.cache
        self._session = session
        self._sequence = sequence
        self._taken = time.monotonic()
        self._transactions = transactions
        self._write_ids: dict[int, ValidWriteIdList] = {}
        self._by_name: dict[str, Object | None] = {}
        self._by_kind: dict[str, tuple[Object, ...]] = {}
        self._partitions: dict[tuple[int, tuple[KeyRange, ...]], tuple[Partition, ...]] = {}
        self._satisfying: dict[tuple[int, ScanFilter | None], tuple[Partition, ...]] = {}
        #: Of each table that was asked for, the stored timelines; and those that were made of them, by table.
        self._stored: dict[int, reads.StoredTimelines] = {}
        self._timelines: dict[tuple[int, reads.TimelineKey], PartitionTimeline] = {}

    @classmethod
    def take(cls, database: Database, session: str | None = None) -> Snapshot:
        """A view of everything that is committed now, temporary tables of one session included. One statement."""
        with database.read() as connection:
            return cls.on(database, connection, session)

    @classmethod
    def on(cls, database: Database, connection: sa.Connection, session: str | None = None) -> Snapshot:
        """The view of everything that a connection sees. One statement."""
        version, sequence, transactions = reads.transaction_list(connection)
        database.check_version(*version)
        if database.cache is not None:
            database.cache.seen(sequence)
        return cls(database, sequence, transactions, session)

    @property
    def session(self) -> str | None:
        """The session whose temporary tables it shows; ``None`` for those of nobody."""
        return self._session

    def within(self, database: str) -> Snapshot:
        """The same view, with everything that it has read, whose current database is that one."""
        other = copy.copy(self)
        other.current = database.lower()
        return other

    def over(self, pending: Pending) -> Snapshot:
        """The same view, for the statements of a transaction that has these changes to commit."""
        other = Snapshot(self._database, self._sequence, self._transactions, self._session, pending)
        other.current = self.current
        other._taken = self._taken
        return other

    @property
    def sequence(self) -> int:
        """The number of the newest commit it sees; 0 before the first."""
        return self._sequence

    @property
    def taken(self) -> float:
        """When it was taken, in seconds on the clock of ``time.monotonic``."""
        return self._taken

    def check_readable(self) -> None:
        """Raises ``OperationalError`` SNAPSHOT_TOO_OLD where VACUUM has removed files that it may see. One read."""
        with self._database.read() as connection:
            reads.check_readable(connection, self._sequence)

    @property
    def transactions(self) -> ValidTxnList:
        """The transactions that had ended when it was taken."""
        return self._transactions

    def write_ids(self, object_id: int) -> ValidWriteIdList:
        """The write ids of a table, view, cube or fact that it sees; ``table`` in the list is the object's id.

        Raises ``NotSupportedError`` CHANGED_IN_TRANSACTION for a table that its own transaction has changed: all reads
        of partitions, files and timelines ask here.
        """
        self._pending.check_unchanged(object_id)
        return self._list_of(object_id)

    def _list_of(self, object_id: int) -> ValidWriteIdList:
        if object_id not in self._write_ids:
            ids = None if self._cache is None else self._cache.write_ids(object_id, self._sequence)
            if ids is None:
                with self._database.read() as connection:
                    ids = reads.write_id_list(connection, object_id, self._sequence, self._transactions)
                if self._cache is not None:
                    self._cache.learn(object_id, ids, self._sequence)
            self._write_ids[object_id] = ids
        return self._write_ids[object_id]

    def _under_list(self, object_id: int) -> ListedReads:
        return ListedReads(self._database, object_id, self.write_ids(object_id), self)

    def find(self, name: str) -> Table | Cube | Fact | None:
        """The table, cube or fact of that name, without case; ``None`` where there is none. One indexed read."""
        found = self.named(name)
        return found if isinstance(found, Table | Cube | Fact) else None

    def temporary(self, name: str) -> Table | None:
        """The session's temporary table of that plain name, without case; ``None`` where it has none."""
        found = None if self._session is None else self.named(stored_name(name, self._session))
        return found if isinstance(found, Table) else None

    def temporary_tables(self, session: str) -> tuple[Table, ...]:
        """All temporary tables of a session, which need not be that of the snapshot."""
        with self._database.read() as connection:
            found = [thing for thing, _ in reads.objects(connection, self._sequence, kind="table")]
        return tuple(one for one in found if isinstance(one, Table) and session_of(one.name) == session)

    def find_view(self, name: str) -> View | None:
        """The view of that name, without case; ``None`` where there is none. One indexed read, shared with ``find``."""
        found = self.named(name)
        return found if isinstance(found, View) else None

    def named(self, name: str) -> Object | None:
        """Whatever has that name: tables, views, cubes and facts share one space of names. One indexed read."""
        key = name.lower()
        if key not in self._by_name:
            read = partial(self._read_named, key)
            found = read() if self._cache is None else self._cache.named(key, self._sequence, self._list_of, read)
            self._by_name[key] = self._pending.named(key, found)
        return self._by_name[key]

    def _read_named(self, key: str) -> Object | None:
        with self._database.read() as connection:
            found = reads.objects(connection, self._sequence, name=key)
        return found[0][0] if found else None

    def table(self, name: str) -> Table:
        """The table of that name; ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND with the nearest names as hint."""
        return self._named(Table, name)

    def view(self, name: str) -> View:
        """The view of that name; ``AnalysisError`` VIEW_NOT_FOUND."""
        return self._named(View, name)

    def cube(self, name: str) -> Cube:
        """The cube of that name; ``AnalysisError`` CUBE_NOT_FOUND."""
        return self._named(Cube, name)

    def fact(self, name: str) -> Fact:
        """The fact of that name; ``AnalysisError`` FACT_NOT_FOUND."""
        return self._named(Fact, name)

    def tables(self) -> tuple[Table, ...]:
        """All tables by name, but for the temporary ones of others."""
        return tuple(thing for thing in self._all("table") if isinstance(thing, Table))

    def views(self) -> tuple[View, ...]:
        """All views by name."""
        return tuple(thing for thing in self._all("view") if isinstance(thing, View))

    def cubes(self) -> tuple[Cube, ...]:
        """All cubes by name."""
        return tuple(thing for thing in self._all("cube") if isinstance(thing, Cube))

    def facts(self) -> tuple[Fact, ...]:
        """All facts by name."""
        return tuple(thing for thing in self._all("fact") if isinstance(thing, Fact))

    def databases(self) -> tuple[Namespace, ...]:
        """All databases by name, ``default`` among them."""
        found = [thing for thing in self._all("database") if isinstance(thing, Namespace)]
        return tuple(sorted((_DEFAULT, *found), key=lambda database: database.name))

    def database(self, name: str) -> Namespace:
        """The database of that name, in any case; ``AnalysisError`` SCHEMA_NOT_FOUND."""
        found = _DEFAULT if name.lower() == DEFAULT_DATABASE else self.named(database_key(name))
        if isinstance(found, Namespace):
            return found
        near = difflib.get_close_matches(name.lower(), [one.name for one in self.databases()], n=3)
        raise AnalysisError(
            f"the database '{name}' cannot be found",
            condition="SCHEMA_NOT_FOUND",
            sqlstate="42704",
            object=name,
            hint=f"Did you mean {' or '.join(near)}?" if near else "SHOW DATABASES lists all",
        )

    def facts_of(self, cube_name: str) -> tuple[Fact, ...]:
        """The facts of a cube by name."""
        return tuple(fact for fact in self.facts() if fact.cube.lower() == cube_name.lower())

    def fact_using(self, table_name: str) -> Fact | None:
        """The fact that a table is a storage table of; a table serves one fact at most."""
        return next((fact for fact in self.facts() if fact.storage_table(table_name) is not None), None)

    def partition(self, table: Table, values: PartitionValues) -> Partition | None:
        """The partition with these canonical values; ``None`` where there is none. One indexed read.

        Raises ``DataError`` INVALID_PARTITION_SPEC where they are not canonical, or not as many as the columns.
        """
        require_canonical(table.partition_columns, values)
        key = encode(table.id, [column.type for column in table.partition_columns], values)
        return self._under_list(table.id).partition(table, key)

    def partitions(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[Partition, ...]:
        """The partitions with keys in any of the ranges (``None``: all), in key order, each once."""
        if ranges is None:
            return self.satisfying(table, None)
        wanted = merged(ranges)
        if (table.id, wanted) not in self._partitions:
            self._partitions[table.id, wanted] = self._under_list(table.id).partitions(table, wanted)
        return self._partitions[table.id, wanted]

    def lookup(self, table: Table, wanted: ScanFilter | None, ranges: Sequence[KeyRange] | None = None) -> Lookup:
        """The partitions of a table that satisfy a bound filter (``None``: all), found when they are asked for.

        With ``ranges`` only those with keys in any of these.
        """
        return self._under_list(table.id).lookup(table, wanted, ranges)

    def satisfying(self, table: Table, wanted: ScanFilter | None) -> tuple[Partition, ...]:
        """All partitions of a table that satisfy a bound filter, in key order. Kept, as those of ranges are."""
        if (table.id, wanted) not in self._satisfying:
            self._satisfying[table.id, wanted] = self._under_list(table.id).satisfying(table, wanted)
        return self._satisfying[table.id, wanted]

    def get_partitions_by_expr(
        self, table: Table, tree: Filter | None, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """The partitions for which a filter is TRUE (``None``: all), in key order, which is that of the values.

        At most ``limit`` of those behind the one whose key or name ``after`` is. Raises what ``bind_filter`` raises.
        Reads only stretches of the index that ``ways`` chooses; ``lookup`` streams, names and counts.
        """
        wanted = None if tree is None else bind_filter(tree, table.partition_columns)
        return tuple(self.lookup(table, wanted).partitions(limit, after))

    def get_partitions_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """The same for a filter as text, which is data and never becomes SQL. Raises ``ParseError``, too."""
        return tuple(self.lookup(table, bind_text(text, table.partition_columns)).partitions(limit, after))

    def list_partitions_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[Partition, ...]:
        """``get_partitions_by_filter`` under the name that the Flink proposal gives it."""
        return self.get_partitions_by_filter(table, text, limit, after)

    def partition_names_by_filter(
        self, table: Table, text: str, limit: int | None = None, after: bytes | str | None = None
    ) -> tuple[str, ...]:
        """The names (``c=US/d=1``) of these partitions, in key order. Reads the keys alone."""
        return tuple(self.lookup(table, bind_text(text, table.partition_columns)).names(limit, after))

    def count_partitions_by_filter(self, table: Table, text: str) -> int:
        """How many partitions satisfy a filter. What ranges of keys decide is counted by the database."""
        return self.lookup(table, bind_text(text, table.partition_columns)).count()

    def files(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[tuple[Partition, DataFile], ...]:
        """The files of these partitions, in (key, path) order: those of the newest OVERWRITE and the INTOs after it.

        An external table answers none: who reads it lists its directories. The files stay as long as this object does:
        VACUUM removes them later. Raises ``OperationalError`` SNAPSHOT_TOO_OLD where they may be gone already.
        """
        return self._under_list(table.id).files_in(table, None if ranges is None else merged(ranges))

    def files_satisfying(self, table: Table, wanted: ScanFilter) -> tuple[tuple[Partition, DataFile], ...]:
        """The files of the partitions that satisfy a bound filter, as ``files`` answers them."""
        return self._under_list(table.id).files_satisfying(table, wanted)

    def contents(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[Content, ...]:
        """Which content the partitions with keys in any of the ranges have (``None``: all), in key order."""
        wanted = (KeyRange.of_prefix(prefix(table.id)),) if ranges is None else merged(ranges)
        with self._database.read() as connection:
            return tuple(contents(connection, self.write_ids(table.id), wanted))

    def history(self, table: Table, key: bytes) -> History | None:
        """Since when there is a partition, and when it changed last; ``None`` where there is no such partition."""
        with self._database.read() as connection:
            return partition_history(connection, table.id, self.write_ids(table.id), key)

    def created(self, thing: Object) -> float | None:
        """When a table, view, cube or fact was created, in seconds since 1970 on the database's clock."""
        with self._database.read() as connection:
            return object_created(connection, thing.id)

    def timeline(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """The periods that exist, whole and fresh, in a storage table; empty where no fact uses the table so.

        Its class is the one that the table's properties choose. All timelines of a table are one read. The answer is
        shared: do not change it. Raises what ``timeline_classes.make_timeline`` raises.
        """
        return self._timeline(table_name, period, time_dimension, schema.FRESH)

    def outdated(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """The periods that exist in a storage table but are outdated. The answer is shared: do not change it."""
        return self._timeline(table_name, period, time_dimension, schema.OUTDATED)

    def retired(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """The base periods of a storage table that were dropped and not written since. Do not change it either."""
        return self._timeline(table_name, period, time_dimension, schema.RETIRED)

    def _timeline(self, name: str, period: Period, time: str, state: int) -> PartitionTimeline:
        table = self.table(name)
        key = (int(period), time.lower(), state)
        if (table.id, key) not in self._timelines:
            kind = self._implementation(table, period, time)
            self._timelines[table.id, key] = make_timeline(self._ranges(table, key), kind)
        return self._timelines[table.id, key]

    def _implementation(self, table: Table, period: Period, time: str) -> str:
        """The name of the class that a timeline of the table is kept in."""
        if not any(timeline_properties.choices(table.properties)):
            return DEFAULT
        fact = self.fact_using(table.name)
        place = fact.storage_table(table.name) if fact is not None else None
        if place is None:
            return DEFAULT
        return timeline_properties.chosen(table.properties, place, period, time)

    def _ranges(self, table: Table, key: reads.TimelineKey) -> Sequence[OrdinalRange]:
        """What is stored of one timeline; of fresh periods those that were not retired."""
        stored = self._stored_timelines(table)
        period, time, state = key
        ranges, retired = stored.get(key, ()), stored.get((period, time, schema.RETIRED), ())
        if state != schema.FRESH or not retired:
            return ranges
        # Whole by its rule, but a partition was dropped: what is left does not say what was there.
        return runs.ranges(*runs.without(runs.of_ranges(ranges), runs.of_ranges(retired)))

    def _stored_timelines(self, table: Table) -> reads.StoredTimelines:
        if table.id not in self._stored:
            self._check_fact_unchanged(table)
            try:
                self._stored[table.id] = self._under_list(table.id).timelines()
            except ValueError as error:
                raise OperationalError(
                    f"a stored timeline of '{table.name}' is damaged: {error}",
                    condition="DAMAGED_TIMELINE",
                    object=table.name,
                    hint="REFRESH TIMELINES OF its fact builds it anew from the partitions",
                ) from error
        return self._stored[table.id]

    def _check_fact_unchanged(self, table: Table) -> None:
        """What the own transaction has changed in one table of a fact may have outdated what is in the others."""
        fact = self.fact_using(table.name) if self._pending.written else None
        for storage in fact.storages if fact is not None else ():
            for one in storage.tables:
                self._pending.check_unchanged(self.table(one.table).id)

    def mean_bytes(self, table_name: str, period: Period) -> int | None:
        """The mean bytes of one period in a storage table, rounded up; ``None`` where they are not known.

        O(partitions) for the first one who asks after a write to the table, then from memory.
        """
        table = self.table(table_name)
        fact = self.fact_using(table.name)
        place = fact.storage_table(table.name) if fact is not None else None
        if fact is None or place is None:
            return None
        binding = TimeBinding(fact, place, table)
        ids, cache = self.write_ids(table.id), self._database.volumes
        found = cache.get(binding, ids)
        if found is None:
            found = mean_bytes(binding, self.lookup(table, None).partitions())
            cache.put(binding, ids, found)
        return found.get(period)

    def _all(self, kind: str) -> tuple[Object, ...]:
        if kind not in self._by_kind:
            read = partial(self._read_kind, kind)
            found = read() if self._cache is None else self._cache.of_kind(kind, self._sequence, read)
            found = tuple(self._pending.among(kind, found))
            if kind == "table":
                found = tuple(thing for thing in found if session_of(thing.name) in (None, self._session))
            self._by_kind[kind] = tuple(sorted(found, key=lambda thing: (thing.name.lower(), thing.name)))
        return self._by_kind[kind]

    def _read_kind(self, kind: str) -> tuple[Object, ...]:
        with self._database.read() as connection:
            return tuple(thing for thing, _ in reads.objects(connection, self._sequence, kind=kind))

    def _named(self, kind: type[_Kind], name: str) -> _Kind:
        found = self.named(name)
        if isinstance(found, kind):
            return found
        if kind is Table and isinstance(found, View):
            raise AnalysisError(
                f"'{found.name}' is a view, and a table is expected here",
                condition="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
                sqlstate="42809",
                object=found.name,
                hint="Name the table that the view reads; CREATE OR REPLACE VIEW and DROP VIEW change a view.",
            )
        word, condition, sqlstate = _NOT_FOUND[kind]
        if found is not None:
            hint = f"'{found.name}' is a {kind_of(found)}"
        else:
            hint = self._nearest(kind, name)
        raise AnalysisError(
            f"the {word} '{name}' cannot be found", condition=condition, sqlstate=sqlstate, object=name, hint=hint
        )

    def _nearest(self, kind: type[_Kind], name: str) -> str:
        """What somebody may have meant by a name that is not there."""
        database = database_of(name)
        if database != DEFAULT_DATABASE and self.named(database_key(database)) is None:
            return f"there is no database '{database}'; SHOW DATABASES lists all"
        seen = [seen_from(self.current, thing.name) for thing in self._all(kind.__name__.lower())]
        names = {one.lower(): one for one in seen}
        near = difflib.get_close_matches(seen_from(self.current, name).lower(), names, n=3)
        inside = "" if database == DEFAULT_DATABASE == self.current else f" IN {database}"
        return (
            f"Did you mean {' or '.join(names[n] for n in near)}?" if near else f"SHOW {_shown(kind)}{inside} lists all"
        )


_DEFAULT = Namespace(0, DEFAULT_DATABASE, comment="Default database")


def _shown(kind: type) -> str:
    return {Table: "TABLES", View: "VIEWS", Cube: "CUBES", Fact: "FACTS"}[kind]
