"""The origins of proofs after a commit: which of them still hold, and which partitions name them.

A partition that rests on others is unproven as soon as the declaration is withdrawn, or one of those partitions was
written, dropped or removed after the commit that it includes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import sqlalchemy as sa

from rewriter.catalog.commit.commit_context import CommitContext
from rewriter.catalog.commit.newest_versions import newest_versions
from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.model.key_ranges import merged
from rewriter.catalog.model.objects import PartitionValues
from rewriter.catalog.model.origins import Origin, OriginKind, Origins, naming
from rewriter.catalog.model.stored_rows import origins_in, values_in
from rewriter.catalog.store import schema
from rewriter.errors import DataError
from rewriter.timeline.calendars import Period
from rewriter.timeline.timeline import OrdinalRange

#: The newest changes of the partitions of one table and period: sorted ordinals, and the commit of each.
_Changes = tuple[list[int], list[int]]


class OriginChanges:
    """Reads the newest changes of the partitions that origins name. One statement for each table and period."""

    def __init__(self, connection: sa.Connection, binding: Callable[[int], TimeBinding | None]) -> None:
        """``binding`` returns how the table with an id stores its fact; ``None`` if it belongs to none."""
        self._connection = connection
        self._binding = binding
        self._noted: dict[tuple[int, int], list[Origin]] = {}
        self._changes: dict[tuple[int, int], _Changes] = {}

    def note(self, origins: Iterable[Origin]) -> None:
        """Notes origins that will be judged, so that one statement reads their changes."""
        for origin in origins:
            self._noted.setdefault((origin.table, origin.period), []).append(origin)
            self._changes.pop((origin.table, origin.period), None)

    def are_withdrawn(self, origins: Origins) -> bool:
        """Returns True if one of the origins does not hold any more."""
        return any(self._is_withdrawn(origin) for origin in origins)

    def _is_withdrawn(self, origin: Origin) -> bool:
        binding = self._binding(origin.table)
        if binding is None or (origin.kind is OriginKind.TRUSTED and not binding.is_trusted):
            return True
        return self.newest(origin) > origin.as_of

    def newest(self, origin: Origin) -> int:
        """Returns the newest commit that changed one of the partitions of an origin; -1 if there is none."""
        binding = self._binding(origin.table)
        period = _period(binding, origin)
        if binding is None or period is None or origin.start == origin.end:
            return -1
        key = (origin.table, origin.period)
        if key not in self._changes:
            if origin not in self._noted.get(key, ()):
                self.note((origin,))
            self._changes[key] = self._read(binding, period, self._noted[key])
        ordinals, commits = self._changes[key]
        first = bisect_left(ordinals, period.ordinal(origin.start))
        last = bisect_left(ordinals, period.ordinal(origin.end - 1) + 1)
        return max(commits[first:last], default=-1)

    def _read(self, binding: TimeBinding, period: Period, origins: Collection[Origin]) -> _Changes:
        ranges = merged(
            key
            for start, end in {(origin.start, origin.end) for origin in origins if origin.start < origin.end}
            for key in binding.key_ranges(period, OrdinalRange(period.ordinal(start), period.ordinal(end - 1) + 1))
        )
        changes: dict[int, int] = {}
        for version in newest_versions(self._connection, binding.table, ranges):
            slot = _slot(binding, version.values)
            if slot is not None and slot.period is period:
                changes[slot.ordinal] = max(version.changed_by, changes.get(slot.ordinal, -1))
        ordinals = sorted(changes)
        return ordinals, [changes[ordinal] for ordinal in ordinals]


def _period(binding: TimeBinding | None, origin: Origin) -> Period | None:
    layouts = () if binding is None else binding.storage_table.layouts
    return next((period for period in layouts if int(period) == origin.period), None)


def _slot(binding: TimeBinding, values: PartitionValues) -> Slot | None:
    try:
        return binding.locate(values)
    except DataError:
        return None  # A dropped partition from before the fact.


class Dependent(NamedTuple):
    """A live partition that rests on others."""

    table: int
    values: PartitionValues
    origins: Origins


def dependents(connection: sa.Connection, tables: Collection[int]) -> Iterator[Dependent]:
    """Yields the live partitions whose proofs rest on partitions of these tables. One statement, over an index that has
    partitions with origins alone.
    """
    row = schema.partitions.c
    query = sa.select(row.table_id, row.partition_values, row.origins, row.key).where(
        schema.HAS_ORIGINS,
        row.ended == schema.NEVER,
        sa.or_(*(row.origins.like(naming(table)) for table in sorted(tables))),
    )
    for table, values, origins, key in connection.execute(query).all() if tables else ():
        yield Dependent(table, values_in(values, key), origins_in(origins, key))


def changed_meanwhile(context: CommitContext, tables: Collection[int]) -> bool:
    """Returns True if another commit has changed one of these tables since the transaction's snapshot."""
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
