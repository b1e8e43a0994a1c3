"""What a commit does to a fact: the timelines of its tables, and which rollups stay fresh."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sa

from rewriter.catalog import schema
from rewriter.catalog.binding import Slot, TimeBinding, bind, overlapped
from rewriter.catalog.context import CommitContext
from rewriter.catalog.freshness import REGISTERED, UNKNOWN, BaseContent, Provenance, Sources
from rewriter.catalog.keys import KeyRange, prefix
from rewriter.catalog.models import Fact, PartitionValues, Table
from rewriter.catalog.othertimes import OtherTimes
from rewriter.catalog.stretches import search
from rewriter.catalog.timelines import (
    ABSENT,
    STATES,
    Lines,
    States,
    TimelineChange,
    TimelineDifference,
    change_timeline,
    compare_timelines,
    end_timelines,
    ranges_of,
    replace_timelines,
)
from rewriter.catalog.wholeness import PeriodParts
from rewriter.timeline.calendars import Period
from rewriter.timeline.periods import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges_timeline import RangesPartitionTimeline
from rewriter.timeline.timelines import OrdinalRange

_FRESH_ONLY: States = frozenset({schema.FRESH})
#: By time dimension and period.
_Changes = Mapping[tuple[str, Period], TimelineChange]


@dataclass(frozen=True)
class _Newest:
    """The newest row of a partition; ``changed_by`` is the commit that wrote, wiped or dropped it last."""

    values: PartitionValues
    properties: Mapping[str, str]
    as_of: int
    sources: list[int]
    live: bool
    wiped: bool
    commit: int
    changed_by: int


class FactWork:
    """Gathers what happens to the partitions of one fact; ``finish`` writes it to the timelines."""

    def __init__(self, context: CommitContext, bindings: Sequence[TimeBinding], made_by: int) -> None:
        """``made_by`` is the number of the commit that made the fact."""
        self._context = context
        self._bindings = {binding.table.id: binding for binding in bindings}
        self._made_by = made_by
        #: What was proven of each reading, by the identity of its sources.
        self._provenances: dict[int, Provenance] = {}
        self._parts = PeriodParts(context.connection, bindings, made_by)
        self._others = OtherTimes()
        #: By table: what slots become; the ``as_of`` of rollup slots that are judged at the end; and the slots of
        #: several partitions, which are judged at the end by all of these.
        self._states: dict[int, dict[Slot, States]] = {}
        self._as_of: dict[int, dict[Slot, int]] = {}
        self._parted: dict[int, set[Slot]] = {}
        #: By time dimension: the slots whose base content changed; ``None`` is the partition of NULL time.
        self._base_changes: dict[str, list[Slot | None]] = {}
        #: By table, where timelines are built anew: the commit that judged a rollup slot of several partitions.
        self._judged_by: dict[int, dict[Slot, int]] = {}

    def binding(self, table: Table) -> TimeBinding:
        """How the table stands in the fact."""
        return self._bindings[table.id]

    def as_of(
        self, table: Table, values: PartitionValues, slot: Slot | None, sources: Sources, unproven: Collection[int]
    ) -> int:
        """The commit up to which content that this transaction computed from ``sources`` knows the base of the fact."""
        binding = self._bindings[table.id]
        if slot is None or slot.period not in binding.rollup_periods:
            return self._context.snapshot.sequence
        if any(table_id in self._bindings for table_id in unproven):
            return UNKNOWN
        if id(sources) not in self._provenances:
            bindings = list(self._bindings.values())
            self._provenances[id(sources)] = Provenance(self._context.snapshot, sources, bindings, self._made_by)
        return self._provenances[id(sources)].as_of(binding, slot, binding.combination(values, slot))

    def is_base(self, table: Table, slot: Slot | None) -> bool:
        """Whether a partition is of the base period, or of NULL time, which only base rows have."""
        binding = self._bindings[table.id]
        return binding.has_base and (slot is None or slot.period == binding.base_period)

    def still_holds(
        self,
        table: Table,
        values: PartitionValues,
        slot: Slot | None,
        left: tuple[Table, PartitionValues] | None,
        sources: Collection[int],
        commit: int,
    ) -> bool:
        """Whether what a commit found out about content that it computed from ``sources`` holds where that is now.

        Always where it was computed from no table of this fact. Otherwise where it is of the same time and the same
        combination as in the table that it ``left``, which must be one of this fact, too (``None``: it was renamed).
        """
        if self._bindings.keys().isdisjoint(sources):
            return True
        before = self._bindings.get(left[0].id) if left is not None else None
        if left is None or before is None:
            return False
        rollup_tables = {table_id for table_id, other in self._bindings.items() if other.rollup_periods}
        if commit <= self._made_by and not rollup_tables.isdisjoint(sources):
            return False  # What an earlier rollup was outdated by is not known any more.
        now, was = self._bindings[table.id], before.locate(left[1])
        if was != slot or now.time_key != before.time_key or now.further != before.further:
            return False
        return now.combination(values, slot) == before.combination(left[1], was)

    def wrote(self, table: Table, values: PartitionValues, slot: Slot | None, as_of: int) -> None:
        """A partition has new content, or was registered (``REGISTERED``)."""
        binding = self._bindings[table.id]
        self._others.written(binding, values)
        if not binding.parted and slot is not None and slot.period in binding.rollup_periods:
            self._states.get(table.id, {}).pop(slot, None)
            self._as_of.setdefault(table.id, {})[slot] = as_of
        else:
            self._become(table, slot, frozenset({schema.FRESH}))
        if as_of != REGISTERED:
            self._note_base_change(binding, slot)

    def dropped(self, table: Table, values: PartitionValues) -> None:
        """A partition was dropped. Of a base table that is retention, and its timeline remembers it."""
        slot = self._bindings[table.id].locate(values)
        self._others.gone(self._bindings[table.id], values)
        is_base = slot is not None and slot.period == self._bindings[table.id].base_period
        self._become(table, slot, frozenset({schema.RETIRED}) if is_base else ABSENT)

    def wiped(self, table: Table, values: PartitionValues) -> None:
        """A partition was removed by an OVERWRITE that had no rows for it: its content is known to be nothing."""
        slot = self._bindings[table.id].locate(values)
        self._others.gone(self._bindings[table.id], values)
        self._become(table, slot, ABSENT)
        self._note_base_change(self._bindings[table.id], slot)

    def finish(self) -> None:
        """Judges the rollups written and changes the timelines next to what happened."""
        for binding, changes in self._judged():
            self._change(binding, changes)

    def _judged(self) -> Iterator[tuple[TimeBinding, _Changes]]:
        """What becomes of the timelines of each table."""
        parts = {table_id: self._parts.of(self._bindings[table_id], slots) for table_id, slots in self._parted.items()}
        known = [as_of for written in self._as_of.values() for as_of in written.values()]
        known += [part.as_of for found in parts.values() for one in found.values() for part in one]
        least = min((as_of for as_of in known if as_of != UNKNOWN), default=self._context.sequence)
        content = BaseContent(self._context.connection, list(self._bindings.values()), least)
        for table_id, binding in self._bindings.items():
            changes = {period: TimelineChange() for period in binding.storage_table.layouts}
            for slot, states in self._states.get(table_id, {}).items():
                changes[slot.period].states[slot.ordinal] = states
            for slot, as_of in self._as_of.get(table_id, {}).items():
                judged = schema.FRESH if content.is_fresh(binding, slot, as_of) else schema.OUTDATED
                changes[slot.period].states[slot.ordinal] = frozenset({judged})
            for slot, found in parts.get(table_id, {}).items():
                changes[slot.period].states[slot.ordinal] = (
                    self._parts.base_states(binding, found)
                    if slot.period == binding.base_period
                    else self._since(binding, slot, self._parts.rollup_states(binding, slot, found, content), content)
                )
            for period in binding.rollup_periods:
                changes[period].touched += self._touched(binding, period)
            leading = {(binding.time_key, period): change for period, change in changes.items()}
            others = self._others.changes(binding, partial(self._live_values, binding.table))
            yield binding, {**leading, **others}

    def _since(self, binding: TimeBinding, slot: Slot, states: States, content: BaseContent) -> States:
        """What a rollup slot is that a commit before this one judged: any base content since has outdated it."""
        judged_by = self._judged_by.get(binding.table.id, {}).get(slot, self._context.sequence)
        if states == _FRESH_ONLY and not binding.promised and content.newest(binding, slot, None) > judged_by:
            return frozenset({schema.OUTDATED})
        return states

    def build(self, tables: Collection[int] | None = None) -> list[TimelineDifference]:
        """Makes the timelines of some tables (``None``: all) anew, and answers what stood otherwise.

        They say what the commits since the fact was made would have made them say, one after the other: all that takes
        is in the newest row of each partition, dropped ones included, and in the events of the base. What is older than
        the fact is judged as the fact found it. One statement that reads a row for each partition there ever was.
        """
        found: list[TimelineDifference] = []
        for binding, changes in self._rebuilt(tables):
            found += self._replace(binding, changes)
        return found

    def compare(self) -> list[TimelineDifference]:
        """What ``build`` would answer. Writes nothing."""
        found: list[TimelineDifference] = []
        for binding, changes in self._rebuilt(None):
            found += compare_timelines(self._context.connection, binding.table, _lines(changes)).differences
        return found

    def _rebuilt(self, tables: Collection[int] | None) -> Iterator[tuple[TimeBinding, _Changes]]:
        """All that the timelines of some tables (``None``: all) should say."""
        for table_id, binding in self._bindings.items():
            if tables is None or table_id in tables:
                for row in self._newest_rows(binding.table):
                    self._rebuild(binding, row)
        for binding, changes in self._judged():
            if tables is None or binding.table.id in tables:
                yield binding, changes

    def _rebuild(self, binding: TimeBinding, row: _Newest) -> None:
        """Takes one partition into account."""
        table, since = binding.table, row.changed_by > self._made_by
        if not row.live and not since:
            return  # What was dropped or wiped before the fact is forgotten.
        slot = binding.locate(row.values)
        if row.live:
            binding.check_period(row.values, row.properties, slot)
            self._others.written(binding, row.values)
        if slot is None:
            return
        is_rollup = slot.period in binding.rollup_periods
        if binding.parted:
            self._parted.setdefault(table.id, set()).add(slot)
            judged = self._judged_by.setdefault(table.id, {})
            judged[slot] = max(judged.get(slot, self._made_by), row.changed_by)
        elif row.wiped:
            return
        elif not row.live:
            self.dropped(table, row.values)
        elif is_rollup:
            rollup_tables = {table_id for table_id, other in self._bindings.items() if other.rollup_periods}
            # What an earlier rollup was outdated by is not known any more.
            proven = row.commit > self._made_by or rollup_tables.isdisjoint(row.sources)
            self._as_of.setdefault(table.id, {})[slot] = row.as_of if proven else UNKNOWN
        else:
            self._become(table, slot, _FRESH_ONLY)

    def end(self) -> None:
        """The end of the timelines of a fact that was dropped."""
        for table_id in self._bindings:
            end_timelines(self._context.connection, table_id, self._context.write_id(table_id))

    def _become(self, table: Table, slot: Slot | None, states: States) -> None:
        """What the slot of a partition becomes; one of several partitions is judged at the end instead."""
        if slot is None:
            return
        if self._bindings[table.id].parted:
            self._parted.setdefault(table.id, set()).add(slot)
            return
        self._as_of.get(table.id, {}).pop(slot, None)
        self._states.setdefault(table.id, {})[slot] = states

    def _note_base_change(self, binding: TimeBinding, slot: Slot | None) -> None:
        if self.is_base(binding.table, slot) and not binding.table.external:
            self._base_changes.setdefault(binding.time_key, []).append(slot)

    def _touched(self, binding: TimeBinding, period: Period) -> list[OrdinalRange]:
        """The rollup periods over the base partitions that this commit changed."""
        if any(time_key != binding.time_key for time_key in self._base_changes):
            # Partitions named by another time dimension may hold rows of any time.
            return [OrdinalRange(period.ordinal(MIN_INSTANT), period.ordinal(MAX_INSTANT - 1) + 1)]
        slots = self._base_changes.get(binding.time_key, ())
        return ranges_of({ordinal for slot in slots if slot is not None for ordinal in overlapped(slot, period)})

    def _change(self, binding: TimeBinding, changes: _Changes) -> None:
        context, table_id = self._context, binding.table.id
        for (time_key, period), change in changes.items():
            change_timeline(
                context.connection,
                table_id,
                period,
                time_key,
                change,
                lambda: context.write_id(table_id),
                context.sequence,
            )

    def _replace(self, binding: TimeBinding, changes: _Changes) -> list[TimelineDifference]:
        context, table = self._context, binding.table
        return replace_timelines(
            context.connection, table, _lines(changes), lambda: context.write_id(table.id), context.sequence
        )

    def _newest_rows(self, table: Table) -> Iterator[_Newest]:
        row, ender, keys = schema.partitions, schema.write_ids, KeyRange.of_prefix(prefix(table.id))
        found = search(self._context.connection, row.c.key, (row.c.key, row.c.row_id), (), [keys]).subquery()
        newest = sa.select(sa.func.max(found.c.row_id)).group_by(found.c.key)
        query = (
            sa.select(row.c.partition_values, row.c.as_of, row.c.sources, row.c.made, row.c.ended)
            .add_columns(row.c.commit_seq, ender.c.commit_seq, row.c.properties)
            .join_from(
                row, ender, sa.and_(ender.c.object_id == row.c.table_id, ender.c.write_id == row.c.ended), isouter=True
            )
            .where(row.c.row_id.in_(newest))
        )
        for values, as_of, sources, made, ended, commit, ended_by, given in self._context.connection.execute(query):
            live, wiped = ended == schema.NEVER, ended == made
            changed_by = commit if live else ended_by
            properties = json.loads(given) if given else {}
            read = tuple(json.loads(values)), properties, as_of, json.loads(sources)
            yield _Newest(*read, live, wiped, commit, changed_by)

    def _live_values(self, table: Table) -> Iterator[PartitionValues]:
        row, keys = schema.partitions, KeyRange.of_prefix(prefix(table.id))
        columns, live = (row.c.partition_values, row.c.key), (row.c.ended == schema.NEVER,)
        query = search(self._context.connection, row.c.key, columns, live, [keys])
        for values, _ in self._context.connection.execute(query):
            yield tuple(json.loads(values))


def _lines(changes: _Changes) -> dict[tuple[int, str], Lines]:
    """The timelines that changes make of nothing."""
    wanted: dict[tuple[int, str], Lines] = {}
    for (time_key, period), change in changes.items():
        lines: Lines = {state: RangesPartitionTimeline() for state in STATES}
        change.apply(lines)
        wanted[int(period), time_key] = lines
    return wanted


class FactWorks:
    """The work of one commit on all facts that it meets, by table."""

    def __init__(self, context: CommitContext) -> None:
        self._context = context
        self._facts: list[tuple[Fact, int]] | None = None
        self._works: dict[int, FactWork] = {}

    def of(self, table: Table) -> FactWork | None:
        """The work on the fact that the table belongs to as of now; ``None`` where it belongs to none."""
        if self._facts is None:
            self._facts = self._context.live_facts()
        for fact, made_by in self._facts:
            if fact.storage_table(table.name) is not None:
                if fact.id not in self._works:
                    self._works[fact.id] = FactWork(self._context, bind(fact, self._context.live_object), made_by)
                return self._works[fact.id]
        return None

    def start(self, bindings: Sequence[TimeBinding]) -> None:
        """A fact was created: builds its timelines."""
        self.finish()
        FactWork(self._context, bindings, self._context.sequence).build()

    def rebuild(self, fact: Fact, tables: Collection[int] | None = None) -> list[TimelineDifference]:
        """Builds the timelines of some tables (``None``: all) of a live fact anew, and answers what stood otherwise."""
        self.finish()
        made_by = next(made_by for live, made_by in self._context.live_facts() if live.id == fact.id)
        return FactWork(self._context, bind(fact, self._context.live_object), made_by).build(tables)

    def end(self, bindings: Sequence[TimeBinding]) -> None:
        """A fact was dropped: ends its timelines."""
        self.finish()
        FactWork(self._context, bindings, self._context.sequence).end()

    def finish(self) -> None:
        """Brings all timelines up to the changes made so far."""
        for work in self._works.values():
            work.finish()
        self._works.clear()
        self._facts = None
