"""The origins of proofs after a commit: which of them still hold, and which partitions name them.

A partition that rests on others is unproven as soon as the declaration is withdrawn, or one of those partitions was
written, dropped or removed after the commit that it includes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import sqlalchemy as sa

from rewriter.catalog.commit.partition_rows import NewestVersion, newest_versions
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.origins import LOST, Origin, OriginKind, Origins, naming
from rewriter.catalog.model.proofs import REGISTERED, Proof
from rewriter.catalog.model.stored_rows import origins_in, values_in
from rewriter.catalog.store import schema
from rewriter.catalog.store.partition_versions import RowState
from rewriter.catalog.store.prepared_statements import fetch_value, once
from rewriter.catalog.store.schema import FRESH, OUTDATED, UNPROVEN
from rewriter.errors import DataError
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.commit.stored_timelines import States
    from rewriter.catalog.facts.time_binding import Slot, TimeBinding
    from rewriter.catalog.model.objects import PartitionValues
    from rewriter.timeline.calendars import Period

#: The newest changes of the partitions of one table and period: sorted ordinals, and the commit of each.
_Changes = tuple[list[int], list[int]]


class OriginChanges:
    """Reads the newest changes of the partitions that origins name. One statement for each table and period."""

    def __init__(self, connection: sa.Connection, bindings: Callable[[int], Sequence[TimeBinding]]) -> None:
        """``bindings`` returns how the tables of the fact of a table, given by id, store it; the one of the table
        itself first. Empty if it belongs to none.
        """
        self._connection = connection
        self._find = bindings
        self._bindings: dict[int, Sequence[TimeBinding]] = {}
        self._noted: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self._changes: dict[tuple[int, int], _Changes] = {}

    def note(self, origins: Iterable[Origin]) -> None:
        """Notes origins that will be judged, so that one statement reads their changes."""
        for origin in origins:
            if origin.start < origin.end:
                for binding in self._changing(origin):
                    self._note(binding, origin)

    def are_withdrawn(self, origins: Origins) -> bool:
        """Returns True if one of the words that content rests on does not hold any more."""
        return any(origin.kind is not OriginKind.COPIED and self.has_changed(origin) for origin in origins)

    def are_outdated(self, origins: Origins) -> bool:
        """Returns True if one of the bases that content was copied from has changed since."""
        return any(origin.kind is OriginKind.COPIED and self.has_changed(origin) for origin in origins)

    def base_states(self, states: States, origins: Origins) -> States:
        """Returns the states of a base period that would be fresh, by what it rests on."""
        if FRESH not in states or not origins:
            return states
        if self.are_withdrawn(origins):
            return states - {FRESH} | {UNPROVEN}
        return states - {FRESH} | {OUTDATED} if self.are_outdated(origins) else states

    def has_changed(self, origin: Origin) -> bool:
        """Returns True if an origin does not hold any more. Content that was copied stays as it is if the table that it
        came from leaves its fact.
        """
        if origin.kind is OriginKind.COPIED:
            return origin.as_of == LOST or self.newest(origin) > origin.as_of
        bindings = self._bindings_with(origin.table)
        is_given = bool(bindings) and (origin.kind is OriginKind.ACCEPTED or bindings[0].is_trusted)
        return not is_given or self.newest(origin) > origin.as_of

    def newest(self, origin: Origin) -> int:
        """Returns the newest commit that changed one of the partitions of an origin; -1 if there is none.

        For a copy, these are the base partitions of all tables of the fact. Dropping them is retention.
        """
        if origin.start == origin.end:
            return -1
        return max((self._newest(binding, origin) for binding in self._changing(origin)), default=-1)

    def _changing(self, origin: Origin) -> Sequence[TimeBinding]:
        """Returns the tables whose changes concern an origin."""
        bindings = self._bindings_with(origin.table)
        if origin.kind is OriginKind.COPIED:
            return [binding for binding in bindings if binding.has_base]
        return bindings[:1]

    def _bindings_with(self, table_id: int) -> Sequence[TimeBinding]:
        if table_id not in self._bindings:
            self._bindings[table_id] = self._find(table_id)
        return self._bindings[table_id]

    def _note(self, binding: TimeBinding, origin: Origin) -> None:
        key, time = (binding.table.id, origin.period), (origin.start, origin.end)
        noted = self._noted.setdefault(key, set())
        if time not in noted:
            noted.add(time)
            self._changes.pop(key, None)

    def _newest(self, binding: TimeBinding, origin: Origin) -> int:
        period = next((period for period in binding.storage_table.layouts if int(period) == origin.period), None)
        if period is None:
            return -1
        self._note(binding, origin)
        key = (binding.table.id, origin.period)
        if key not in self._changes:
            self._changes[key] = self._read(binding, period, self._noted[key])
        ordinals, commits = self._changes[key]
        first = bisect_left(ordinals, period.ordinal(origin.start))
        last = bisect_left(ordinals, period.ordinal(origin.end - 1) + 1)
        return max(commits[first:last], default=-1)

    def _read(self, binding: TimeBinding, period: Period, times: Collection[tuple[int, int]]) -> _Changes:
        ranges = merge_ranges(
            key
            for start, end in times
            for key in binding.key_ranges(period, OrdinalRange(period.ordinal(start), period.ordinal(end - 1) + 1))
        )
        changes: dict[int, int] = {}
        for version in newest_versions(self._connection, binding.table, ranges):
            slot = _slot(binding, version.values)
            if slot is not None and slot.period is period:
                commit = _event(version, binding) if binding.is_base(period) else version.changed_by
                changes[slot.ordinal] = max(commit, changes.get(slot.ordinal, -1))
        ordinals = sorted(changes)
        return ordinals, [changes[ordinal] for ordinal in ordinals]


def _event(version: NewestVersion, binding: TimeBinding) -> int:
    """Returns the commit that wrote a base partition last, or brought it into the fact; -1 for one registered empty."""
    joined = binding.storage_table.joined
    was_there = version.state is RowState.LIVE or version.changed_by > joined
    return -1 if version.proof.as_of == REGISTERED else max(version.commit, joined if was_there else -1)


def _slot(binding: TimeBinding, values: PartitionValues) -> Slot | None:
    try:
        return binding.locate(values)
    except DataError:
        return None  # A dropped partition from before the fact.


class Dependent(NamedTuple):
    """A live partition that rests on others."""

    table: int
    key: bytes
    values: PartitionValues
    origins: Origins


def has_dependents(connection: sa.Connection, table: int | None = None) -> bool:
    """Returns True if a live partition (of a table, by id) rests on others. One prepared statement, over the same
    index.
    """
    if table is None:
        return fetch_value(connection, _any(connection.dialect)) is not None
    return fetch_value(connection, _any_of(connection.dialect), owner=table) is not None


@once
def _any() -> sa.Select[Any]:
    row = schema.partitions.c
    return sa.select(row.row_id).where(schema.HAS_ORIGINS, row.ended == schema.NEVER).limit(1)


@once
def _any_of() -> sa.Select[Any]:
    row, owner = schema.partitions.c, sa.bindparam("owner", 0, sa.BigInteger)
    of_table = (row.table_id == owner, row.ended == schema.NEVER)
    return sa.select(row.row_id).where(schema.HAS_ORIGINS, *of_table).limit(1)


def dependents(connection: sa.Connection, tables: Collection[int]) -> Iterator[Dependent]:
    """Yields the live partitions whose proofs rest on partitions of these tables. One statement, over an index that has
    partitions with origins alone.
    """
    if not tables:
        return
    row = schema.partitions.c
    query = sa.select(row.table_id, row.partition_values, row.origins, row.key).where(
        schema.HAS_ORIGINS,
        row.ended == schema.NEVER,
        sa.or_(*(row.origins.like(naming(table)) for table in sorted(tables))),
    )
    for table, values, origins, key in connection.execute(query).all():
        yield Dependent(table, key, values_in(values, key), origins_in(origins, key))


def dependent_tables(connection: sa.Connection, tables: Collection[int]) -> frozenset[int]:
    """Returns the ids of the tables that have partitions, of any version, that rest on partitions of these tables. One
    statement over the same index, and none where no partition rests on others.
    """
    if not tables or not has_dependents(connection):
        return frozenset()
    row = schema.partitions.c
    names = sa.or_(*(row.origins.like(naming(table)) for table in sorted(tables)))
    return frozenset(connection.execute(sa.select(row.table_id).where(schema.HAS_ORIGINS, names).distinct()).scalars())


def including(proof: Proof, context: CommitContext) -> Proof:
    """Returns a proof whose origins include what the transaction itself has changed, unless they are older than what it
    saw.
    """
    seen, commit = context.snapshot.sequence, context.sequence
    return proof._replace(
        origins=tuple(origin if origin.as_of < seen else origin._replace(as_of=commit) for origin in proof.origins)
    )


def changed_meanwhile(context: CommitContext, origins: Origins) -> bool:
    """Returns True if another commit has changed the fact of an origin since the transaction's snapshot."""
    named = {origin.table for origin in origins}
    tables = named | {binding.table.id for table in named for binding in context.bindings_with(table)}
    if not tables:
        return False
    row = schema.write_ids.c
    since = sa.and_(row.commit_seq > context.snapshot.sequence, row.commit_seq < context.sequence)
    query = sa.select(row.object_id).where(row.object_id.in_(sorted(tables)), since).limit(1)
    return context.connection.execute(query).first() is not None


def touches(origins: Origins, changed: Mapping[int, Collection[Slot]]) -> bool:
    """Returns True if one of the changed slots, by table, is in one of the origins."""
    return any(
        int(slot.period) == origin.period and origin.start <= slot.start < origin.end
        for origin in origins
        for slot in changed.get(origin.table, ())
    )
