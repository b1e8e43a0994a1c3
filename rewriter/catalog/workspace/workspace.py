"""The private catalog of one transaction, and the changes of its statements in it."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, assert_never

import sqlalchemy as sa

from rewriter.catalog.commit.freshness import BaseContent
from rewriter.catalog.commit.merged_changes import WrittenKeys, merged_changes
from rewriter.catalog.commit.move_changes import moved_ranges
from rewriter.catalog.commit.origin_changes import OriginChanges, dependent_tables
from rewriter.catalog.commit.transaction import Transaction
from rewriter.catalog.facts.time_binding import TimeBinding, bind
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.changes import (
    AddPartitions,
    Change,
    CreateObject,
    DefinitionChange,
    DropObject,
    DropPartitions,
    MovePartitions,
    NoteFiles,
    PartitionNote,
    PartitionWrite,
    TruncatePartitions,
    WritePartitions,
)
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.objects import DataFile, Fact, PartitionValues, Table
from rewriter.catalog.model.proofs import REGISTERED, UNKNOWN, NetProof, Proof
from rewriter.catalog.model.stored_paths import loaded_path
from rewriter.catalog.model.stored_rows import origins_in, part_in, properties_in, values_in
from rewriter.catalog.reading import queries
from rewriter.catalog.reading.pending_changes import OwnRows
from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.catalog.store import schema
from rewriter.catalog.store.backend import warehouse_of
from rewriter.catalog.store.database import Database
from rewriter.catalog.store.partition_versions import RowState, state_of
from rewriter.catalog.store.prepared_statements import insert_rows
from rewriter.lazy_dataclass import dataclass
from rewriter.scratch_directories import ScratchDirectory

#: Numbers that no identity of an opened catalog equals, which are positive.
_IDENTITIES = itertools.count(-1, -1)


class Workspace:
    """The changes of a transaction's statements over its snapshot. One thread at a time.

    The private catalog is made at its first use, with the changes of the statements so far. A transaction that only
    writes does not make it. It is a copy of the rows of the changed tables and the tables of their facts: O(rows).
    """

    def __init__(self, source: Database, snapshot: Snapshot, write_id: Callable[[Table], int]) -> None:
        """``source`` is the catalog, and ``snapshot`` what the transaction sees of it. ``write_id`` returns the
        transaction's write id of a table.
        """
        self._source = source
        self._snapshot = snapshot
        self._write_id = write_id
        self._changes: tuple[Change, ...] = ()
        self._identity = next(_IDENTITIES)
        self._affected: frozenset[int] = frozenset()
        #: The changes of the statements that are not in the private catalog yet.
        self._waiting: tuple[Sequence[Change], ...] = ()
        self._count = 0
        self._folder: ScratchDirectory | None = None
        self._private: Database | None = None
        self._copied: set[int] = set()

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all statements, in their order."""
        return self._changes

    @property
    def is_used(self) -> bool:
        """True if the private catalog exists: a statement has read what an earlier one has changed, or changed it
        again.
        """
        return self._private is not None

    def add(self, changes: Sequence[Change]) -> None:
        """Adds the changes of the next statement, which are applied at the next use."""
        self._waiting = (*self._waiting, changes)
        self._note(changes)

    @contextmanager
    def applying(
        self, changes: Sequence[Change], keys: Mapping[int, WrittenKeys], *, kept: bool
    ) -> Iterator[Sequence[Change]]:
        """Applies the changes of the next statement, and yields the net changes of all, as ``net`` does.

        The changes are undone if the block raises, or unless they are to be ``kept``. Raises the errors of a commit.
        """
        private = self.database()
        self._copy(changes)
        snapshot = Snapshot.take(private)
        with private.write() as connection:
            Transaction.apply_alone(private, connection, snapshot, changes)
            yield _net_changes(connection, self._snapshot, (*self._changes, *changes), keys, self._write_id)
            if not kept:
                connection.rollback()
        if kept:
            self._note(changes)

    def net(self, keys: Mapping[int, WrittenKeys]) -> Sequence[Change]:
        """Returns the net changes of all statements (``_net_changes``). ``keys`` are the keys that they wrote."""
        with self.database().read() as connection:
            return _net_changes(connection, self._snapshot, self._changes, keys, self._write_id)

    def database(self) -> Database:
        """Returns the private catalog. The commit of each statement is the next number after the snapshot's number."""
        if self._private is None:
            self._private = self._created()
        while self._waiting:
            changes, *later = self._waiting
            self._copy(changes)
            snapshot = Snapshot.take(self._private)
            with self._private.write() as connection:
                Transaction.apply_alone(self._private, connection, snapshot, changes)
            self._waiting = tuple(later)
        return self._private

    def own_rows(self) -> OwnRows | None:
        """Returns the rows that the transaction's next statement sees; ``None`` if it has changed none."""
        if not self._affected:
            return None
        return OwnRows(self._identity, self._affected, self._snapshot.sequence + self._count, self.database)

    def close(self) -> None:
        """Removes the private catalog. Idempotent."""
        if self._private is not None:
            self._private.close()
        if self._folder is not None:
            self._folder.remove()

    def _note(self, changes: Sequence[Change]) -> None:
        self._count += 1
        self._changes = (*self._changes, *changes)
        self._affected |= self._affected_by(changes)

    def _affected_by(self, changes: Sequence[Change]) -> frozenset[int]:
        """Returns the ids of the tables whose rows or states changes may change: also copies of their facts."""
        affected = _affected_tables(changes, self._snapshot)
        with self._source.read() as connection:
            copies = dependent_tables(connection, affected) - affected
        if not copies:
            return affected
        members = [_tables_of(fact, self._snapshot) for fact in self._snapshot.facts()]
        return affected.union(copies, *(tables for tables in members if not copies.isdisjoint(tables)))

    def _created(self) -> Database:
        self._folder = ScratchDirectory("transaction")
        warehouse = Path(self._source.warehouse) if self._source.warehouse else None
        private = Database(Path(self._folder.path) / "workspace.db", warehouse=warehouse)
        with self._source.read() as source, private.write() as target:
            queries.check_readable(source, self._snapshot.sequence)
            _copy_objects(source, target, self._snapshot.sequence)
        return private

    def _copy(self, changes: Sequence[Change]) -> None:
        """Copies the rows of the tables that changes affect, unless they were copied before."""
        assert self._private is not None
        missing = self._affected_by(changes) - self._copied
        if missing:
            with self._source.read() as source, self._private.write() as target:
                queries.check_readable(source, self._snapshot.sequence)
                _copy_tables(source, target, missing, self._snapshot.sequence)
            self._copied |= missing


# Copies of objects and tables, as a snapshot sees them, from a catalog into an empty one.

#: The number of rows that are in memory while they are copied.
_BATCH = 10_000


def _copy_objects(source: sa.Connection, target: sa.Connection, sequence: int) -> None:
    """Copies all objects as the snapshot of a commit sees them, and the counters of a catalog. O(objects)."""
    row, maker, ender = schema.objects.c, schema.write_ids.alias("maker"), schema.write_ids.alias("ender")
    visible = (
        sa.select(*_columns(schema.objects, ended=sa.literal(schema.NEVER)))
        .join_from(schema.objects, maker, _is_id(maker, row.object_id, row.made))
        .join(ender, _is_id(ender, row.object_id, row.ended), isouter=True)
        .where(maker.c.commit_seq <= sequence, sa.or_(ender.c.commit_seq.is_(None), ender.c.commit_seq > sequence))
        .order_by(row.row_id)
    )
    _insert(target, schema.objects, _rows(source, visible))
    # The write id that made each object. All others of a table come with its rows.
    makers = sa.select(schema.write_ids).join_from(
        schema.write_ids, schema.objects, _is_id(schema.write_ids, row.object_id, row.made)
    )
    is_kept = set(map(tuple, target.execute(sa.select(row.object_id, row.made))))
    _insert(target, schema.write_ids, (ids for ids in _rows(source, makers.distinct()) if ids[:2] in is_kept))
    counter = schema.counters
    for name, value in source.execute(sa.select(counter.c.name, counter.c.value)):
        newest = sequence if name == "commit" else value
        target.execute(sa.update(counter).where(counter.c.name == name).values(value=newest))


def _copy_tables(source: sa.Connection, target: sa.Connection, tables: Collection[int], sequence: int) -> None:
    """Copies all versions of the partitions, files and timelines of tables that the snapshot of a commit may see.

    A row that a later commit has ended is live in the copy. O(rows of the tables), in batches.
    """
    for table_id in sorted(tables):
        _copy_write_ids(source, target, table_id, sequence)
        keys = KeyRange.of_prefix(prefix(table_id))
        write_id = schema.write_ids.c
        seen = sa.select(write_id.write_id).where(write_id.object_id == table_id, write_id.commit_seq <= sequence)
        for table, is_of_table in (
            (schema.partitions, schema.partitions.c.table_id == table_id),
            (schema.files, _within(schema.files.c.key, keys)),
            (schema.timeline_ranges, schema.timeline_ranges.c.table_id == table_id),
        ):
            ended = sa.case((table.c.ended.in_(seen), table.c.ended), else_=schema.NEVER)
            query = sa.select(*_columns(table, ended=ended)).where(is_of_table, table.c.made.in_(seen))
            # The newest version of a key is the one that was inserted last.
            _insert(target, table, _rows(source, query.order_by(table.c.row_id)))
        place = schema.partition_fields.c.place
        entries = sa.select(schema.partition_fields).where(_within(place, keys)).order_by(place)
        _insert(target, schema.partition_fields, _rows(source, entries))


def _copy_write_ids(source: sa.Connection, target: sa.Connection, table_id: int, sequence: int) -> None:
    """Copies the write ids of a table up to a commit, and the transactions that held them."""
    ids, transaction = schema.write_ids.c, schema.transactions.c
    copied_ids = set(target.execute(sa.select(ids.write_id).where(ids.object_id == table_id)).scalars())
    of_table = (ids.object_id == table_id, ids.commit_seq <= sequence)
    new_ids = _rows(source, sa.select(schema.write_ids).where(*of_table))
    _insert(target, schema.write_ids, (row for row in new_ids if row[1] not in copied_ids))
    copied_transactions = set(target.execute(sa.select(transaction.transaction_id)).scalars())
    holders = sa.select(schema.transactions).where(
        transaction.transaction_id.in_(sa.select(ids.transaction_id).where(*of_table))
    )
    _insert(target, schema.transactions, (row for row in _rows(source, holders) if row[0] not in copied_transactions))


def _columns(table: sa.Table, ended: sa.ColumnElement[int]) -> list[sa.ColumnElement[Any]]:
    """Returns the columns of a versioned table in order, without the number of the row."""
    columns = [column for column in table.c if column.name != "row_id"]
    return [ended.label("ended") if column.name == "ended" else column for column in columns]


def _within(key: sa.Column[bytes], keys: KeyRange) -> sa.ColumnElement[bool]:
    return sa.and_(key >= keys.start, key < keys.end)


def _is_id(ids: Any, object_id: sa.Column[int], write_id: sa.Column[int]) -> sa.ColumnElement[bool]:
    return sa.and_(ids.c.object_id == object_id, ids.c.write_id == write_id)


def _rows(connection: sa.Connection, query: sa.Select[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in connection.execute(query).partitions(_BATCH):
        yield from map(tuple, batch)


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[tuple[Any, ...]]) -> None:
    columns = [column.name for column in table.c if column.name != "row_id"]
    batch: list[tuple[Any, ...]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            insert_rows(connection, table.insert(), columns, batch)
            batch = []
    insert_rows(connection, table.insert(), columns, batch)


# The net effect of a transaction's statements: one change for each partition, to be made by one commit.
#
# It is the difference between the private catalog and the snapshot. A partition of the snapshot that was only added
# to gets an INTO of the new files. One with other content gets an OVERWRITE, one that is gone a drop or a wipe. Every
# change of content in between is an event for rollups that were computed before it. So a partition that was changed
# and then dropped is wiped, and one that was made and is gone again leaves a tombstone. The keys that the statements
# searched stay claimed.


@dataclass
class _Versions:
    """The versions of one partition that a transaction has changed.

    ``before`` is its row in the snapshot, and ``newest`` its newest one; the files are the snapshot's files that are
    left or gone, and the new ones.
    """

    values: PartitionValues
    before: sa.Row[Any] | None = None
    newest: sa.Row[Any] | None = None
    own: list[sa.Row[Any]] = field(default_factory=list)
    kept: int = 0
    removed: int = 0
    added: list[DataFile] = field(default_factory=list)

    @property
    def state(self) -> RowState | None:
        return None if self.newest is None else state_of(self.newest.made, self.newest.ended)

    @property
    def is_replaced(self) -> bool:
        """True if the partition of the snapshot was removed before the newest version was made: the write that ended a
        version did not make the next one.
        """
        next_by_made = {row.made: row for row in self.own if state_of(row.made, row.ended) is not RowState.WIPED}
        version = self.before
        while version is not None and version is not self.newest:
            version = next_by_made.get(version.ended)
        return self.before is not None and version is None

    @property
    def had_content(self) -> bool:
        """True if a version that the transaction made is an event for rollups."""
        return any(row.as_of != REGISTERED for row in self.own)


def _net_changes(
    connection: sa.Connection,
    snapshot: Snapshot,
    changes: Sequence[Change],
    keys: Mapping[int, WrittenKeys],
    write_id: Callable[[Table], int],
) -> list[Change]:
    """Returns the changes that have the effect of all changes of a transaction.

    ``connection`` is one to the private catalog that contains them. ``keys`` are the keys that the statements have
    written, by table id. ``write_id`` returns the transaction's write id of a table. Reads the rows of the changed
    partitions alone: three statements for each table.
    """
    objects, gone = _net_objects(changes)
    by_table: dict[int, tuple[Table, list[Change]]] = {}
    others: list[Change] = []
    for change in changes:
        if isinstance(change, CreateObject | DropObject):
            continue
        tables = (change.table,) if isinstance(change, NoteFiles) else _changed_tables(change)
        tables = tuple(table for table in tables if table.id not in gone)
        if any(table.external for table in tables):
            others.append(change)
            continue
        for table in tables:
            by_table.setdefault(table.id, (table, []))[1].append(change)
    net: list[Change] = [*objects]
    for table_id, (table, of_table) in by_table.items():
        state = _TableState(connection, table, snapshot)
        exclusive = keys.get(table_id, WrittenKeys()).exclusive
        net += _net(state, of_table, exclusive, partial(write_id, table))
    return [*net, *merged_changes(others)]


def _net_objects(changes: Sequence[Change]) -> tuple[list[Change], set[int]]:
    """Returns the changes of objects without the objects that the transaction has made and dropped, and the ids of all
    that it has dropped.
    """
    made = {change.object.id for change in changes if isinstance(change, CreateObject)}
    gone = {change.object.id for change in changes if isinstance(change, DropObject)}
    objects: list[Change] = [
        change
        for change in changes
        if isinstance(change, CreateObject | DropObject) and change.object.id not in made & gone
    ]
    return objects, gone


@dataclass
class _NetPartitions:
    """The net changes of the partitions of one table that the transaction has changed.

    ``passing`` are the partitions that it has made and dropped, with content in between; ``wipes`` the keys of the
    snapshot's partitions that are gone after other changes. ``proofs`` are the proofs of the partitions that are
    written.
    """

    overwritten: list[PartitionWrite] = field(default_factory=list)
    appended: list[PartitionWrite] = field(default_factory=list)
    dropped: list[bytes] = field(default_factory=list)
    passing: list[PartitionValues] = field(default_factory=list)
    wipes: list[KeyRange] = field(default_factory=list)
    proofs: dict[PartitionValues, NetProof] = field(default_factory=dict)


def _net(
    state: _TableState, changes: Sequence[Change], exclusive: Sequence[KeyRange], write_id: Callable[[], int]
) -> Iterator[Change]:
    """Yields the net changes of one managed table."""
    table = state.table
    wipes = [keys for change in changes if isinstance(change, WritePartitions) for keys in change.wipes]
    searched = _collect_searched_keys(table, changes)
    searched += [keys for keys in exclusive if keys.is_one_key and keys.start not in state.versions]
    sources: dict[int, Sequence[KeyRange] | None] = {
        source: None for change in changes if isinstance(change, WritePartitions) for source in change.sources or ()
    }
    partitions = _classify_partitions(state, exclusive, merge_ranges(wipes))
    wipes += partitions.wipes
    if partitions.dropped or searched or partitions.passing:
        yield DropPartitions(table, tuple(partitions.dropped), merge_ranges(searched), tuple(partitions.passing))
    for overwrite, writes in ((True, partitions.overwritten), (False, partitions.appended)):
        if writes or (overwrite and wipes):
            yield WritePartitions(
                table,
                write_id(),
                tuple(writes),
                overwrite,
                wipes=merge_ranges(wipes) if overwrite else (),
                sources=sources,
                proofs={write.values: partitions.proofs[write.values] for write in writes},
            )


def _collect_searched_keys(table: Table, changes: Sequence[Change]) -> list[KeyRange]:
    """Returns the keys of a table in which the statements have looked for partitions to drop or to move."""
    dropped = [keys for change in changes if isinstance(change, DropPartitions) for keys in change.ranges]
    moved = [move for change in changes for move in moved_ranges(change)]
    return dropped + [keys for moved_table, ranges in moved if moved_table.id == table.id for keys in ranges]


def _classify_partitions(
    state: _TableState, exclusive: Sequence[KeyRange], wiped: Sequence[KeyRange]
) -> _NetPartitions:
    """Returns what has become of each partition. ``exclusive`` are the keys that were not written by INTOs alone, and
    ``wiped`` the keys that an OVERWRITE has wiped.
    """
    net = _NetPartitions()
    for key, versions in state.versions.items():
        existed = versions.before is not None
        if versions.state is RowState.LIVE:
            write = state.write(versions)
            # Rows that came with INTOs alone, and rows that came to the rows of the snapshot, were added.
            if not _contains(exclusive, key) or (versions.kept and not versions.removed):
                if write.files or not existed:
                    net.appended.append(write)
            else:
                net.overwritten.append(write)
            net.proofs[versions.values] = state.proof(versions)
        elif not existed:
            net.passing += [versions.values] if versions.had_content else []
        elif versions.state is RowState.DROPPED and not versions.had_content and not _contains(wiped, key):
            net.dropped.append(key)
        else:
            net.wipes.append(KeyRange.of_key(key))
    return net


class _TableState:
    """The partitions of one table that the transaction has changed."""

    def __init__(self, connection: sa.Connection, table: Table, snapshot: Snapshot) -> None:
        self.table = table
        self._connection = connection
        self._snapshot = snapshot
        self._binding, self._content, self._origin_changes = self._fact_content()
        self.versions = self._read()

    def _fact_content(self) -> tuple[TimeBinding | None, BaseContent | None, OriginChanges]:
        """Returns the table's binding in its fact, the base content that the transaction itself wrote, and the changes
        of what proofs rest on.
        """
        fact = self._snapshot.fact_using(self.table.name)
        bindings = () if fact is None else bind(fact, self._snapshot.named)
        changes = OriginChanges(self._connection, self._bindings_with)
        if fact is None:
            return None, None, changes
        own = BaseContent(self._connection, bindings, after=self._snapshot.sequence)
        return next(binding for binding in bindings if binding.table.id == self.table.id), own, changes

    def _bindings_with(self, table_id: int) -> Sequence[TimeBinding]:
        """Returns the bindings of the fact of a table, its own first."""
        for fact in self._snapshot.facts():
            bindings = bind(fact, self._snapshot.named)
            if any(binding.table.id == table_id for binding in bindings):
                return sorted(bindings, key=lambda binding: binding.table.id != table_id)
        return ()

    def _read(self) -> dict[bytes, _Versions]:
        """Returns the versions of the changed partitions, by key."""
        ids, row, file = schema.write_ids.c, schema.partitions.c, schema.files.c
        own_ids = sa.select(ids.write_id).where(
            ids.object_id == self.table.id, ids.commit_seq > self._snapshot.sequence
        )
        is_own = set(self._connection.execute(own_ids).scalars())
        changed_keys = sa.select(row.key).where(
            row.table_id == self.table.id, sa.or_(row.made.in_(own_ids), row.ended.in_(own_ids))
        )
        query = sa.select(schema.partitions).where(row.key.in_(changed_keys)).order_by(row.row_id)
        by_key: dict[bytes, _Versions] = {}
        for version in self._connection.execute(query):
            versions = by_key.setdefault(version.key, _Versions(values_in(version.partition_values, self.table.name)))
            versions.newest = version
            if version.made in is_own:
                versions.own.append(version)
            elif version.ended == schema.NEVER or version.ended in is_own:
                versions.before = version
        warehouse = warehouse_of(self._connection)
        for version in self._connection.execute(
            sa.select(schema.files).where(file.key.in_(changed_keys)).order_by(file.row_id)
        ):
            versions, is_live = by_key[version.key], version.ended == schema.NEVER
            if version.made in is_own:
                if is_live:
                    path = loaded_path(version.path, warehouse)
                    versions.added.append(DataFile(path, version.rows, version.bytes, part_in(version.part, path)))
            else:
                versions.kept += is_live
                versions.removed += version.ended in is_own
        return by_key

    def write(self, versions: _Versions) -> PartitionWrite:
        """Returns the write that leads from the snapshot's version of a partition to the newest one."""
        before, newest = versions.before, versions.newest
        assert newest is not None
        is_new = versions.is_replaced
        before = None if is_new else before
        location = newest.location if before is None or before.location != newest.location else None
        earlier = {} if before is None else properties_in(before.properties, self.table.name)
        properties = properties_in(newest.properties, self.table.name)
        return PartitionWrite(
            versions.values,
            tuple(versions.added),
            None if location is None else loaded_path(location, warehouse_of(self._connection)),
            {name: value for name, value in properties.items() if earlier.get(name) != value},
            is_new,
        )

    def proof(self, versions: _Versions) -> NetProof:
        """Returns the proof of the newest version of a partition."""
        assert versions.newest is not None
        seen, origins = self._snapshot.sequence, origins_in(versions.newest.origins, self.table.name)
        proof = Proof(versions.newest.as_of, versions.newest.doubt, origins)
        is_empty_copy = proof.as_of == REGISTERED and bool(origins)
        if self._binding is None or (not is_empty_copy and (proof.as_of == UNKNOWN or proof.as_of <= seen)):
            return NetProof(_seen(proof, seen))
        slot = self._binding.locate(versions.values)
        includes_own = (
            slot is not None
            and self._content is not None
            and (
                self._binding.is_base(slot.period)
                or self._content.is_fresh(
                    self._binding, slot, proof.as_of, self._binding.combination(versions.values, slot)
                )
            )
            and not any(self._origin_changes.newest(origin) > origin.as_of for origin in origins)
        )
        return NetProof(_seen(proof, seen), includes_own)


def _seen(proof: Proof, seen: int) -> Proof:
    """Returns a proof that includes no commit after the snapshot's commit."""
    origins = tuple(origin._replace(as_of=min(origin.as_of, seen)) for origin in proof.origins)
    return proof._replace(as_of=min(proof.as_of, seen), origins=origins)


def _contains(ranges: Sequence[KeyRange], key: bytes) -> bool:
    """Tests whether one of the sorted, disjoint ranges contains a key. O(log n)."""
    position = bisect_right(ranges, key, key=attrgetter("start"))
    return position > 0 and key in ranges[position - 1]


# The tables whose rows changes may change.


def _affected_tables(changes: Sequence[Change], snapshot: Snapshot) -> frozenset[int]:
    """Returns the ids of the tables whose rows changes may change: the tables of the changes, and of their facts."""
    affected: set[int] = set()
    for change in changes:
        for table in _changed_tables(change):
            fact = snapshot.fact_using(table.name)
            affected |= {table.id, *(() if fact is None else _tables_of(fact, snapshot))}
    return frozenset(affected)


def _tables_of(fact: Fact, snapshot: Snapshot) -> frozenset[int]:
    return frozenset(snapshot.table(stored.table).id for stored in fact.tables)


def _changed_tables(change: Change) -> tuple[Table, ...]:
    """Returns the tables that a change makes, drops, or changes the partitions of."""
    if isinstance(change, CreateObject | DropObject):
        return (change.object,) if isinstance(change.object, Table) else ()
    if isinstance(change, MovePartitions):
        return change.source, change.target
    if isinstance(change, WritePartitions | AddPartitions | DropPartitions | TruncatePartitions):
        return (change.table,)
    if isinstance(change, DefinitionChange | PartitionNote):
        return ()
    assert_never(change)
