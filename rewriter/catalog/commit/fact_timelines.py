"""The effect of a commit on one fact: the timelines of its tables, and the rollups that stay fresh."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.commit import partition_rows as rows
from rewriter.catalog.commit.completeness import PartsByPeriod, PeriodPartitions
from rewriter.catalog.commit.freshness import BaseContent, Provenance, Sources, times_of
from rewriter.catalog.commit.origin_changes import OriginChanges, changed_meanwhile, has_dependents, including
from rewriter.catalog.commit.partition_rows import NewestVersion, StoredPartition, StoredProofs, newest_versions
from rewriter.catalog.commit.stored_timelines import (
    ABSENT,
    States,
    TimelineChange,
    TimelineDifference,
    change_timeline,
    compare_timelines,
    end_timelines,
    lines_of,
    ranges_of,
    replace_timelines,
    stored_lines,
)
from rewriter.catalog.facts.time_binding import Slot, TimeBinding, overlapped
from rewriter.catalog.keys.encoding import encode, prefix
from rewriter.catalog.model.key_ranges import KeyRange, merge_ranges
from rewriter.catalog.model.origins import Origins, over_time
from rewriter.catalog.model.proofs import INCOMPLETE, OPEN, REGISTERED, UNKNOWN, NetProof, Proof
from rewriter.catalog.model.stored_rows import values_in
from rewriter.catalog.store import schema
from rewriter.catalog.store.partition_versions import RowState
from rewriter.catalog.store.prepared_statements import search
from rewriter.catalog.store.schema import FRESH
from rewriter.errors import ConflictError, DataError
from rewriter.timeline.calendars import Period
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.commit.commit_context import CommitContext
    from rewriter.catalog.model.objects import PartitionValues, Table

_FRESH_ONLY: States = frozenset({schema.FRESH})
_INCOMPLETE: States = frozenset({schema.INCOMPLETE})
_OPEN: States = frozenset({schema.OPEN})
#: By time dimension and period.
_Changes = Mapping[tuple[str, Period], TimelineChange]


class FactTimelineUpdate:
    """Collects the changes of one fact's partitions; ``finish`` writes them to the timelines."""

    def __init__(self, context: CommitContext, bindings: Sequence[TimeBinding], made_by: int) -> None:
        """``made_by`` is the number of the commit that created the fact."""
        self._context = context
        self._bindings = {binding.table.id: binding for binding in bindings}
        self._made_by = made_by
        #: The proofs of each reading, by the identity of its sources.
        self._provenances: dict[int, Provenance] = {}
        #: The base content that others have written since the snapshot, read when a proof needs it.
        self._content_of_others: BaseContent | None = None
        self._stored_proofs = StoredProofs(made_by, context.trusted, bindings)
        self._origins = OriginChanges(context.connection, self._bindings_with)
        self._parts = PeriodPartitions(context.connection, bindings, self._stored_proofs, self._origins)
        self._secondary_timelines = _SecondaryTimelines()
        #: By table: the new states of slots; the proofs of rollup slots that are judged at the end; and the slots of
        #: several partitions, which are judged at the end from all of these.
        self._states: dict[int, dict[Slot, States]] = {}
        self._proofs: dict[int, dict[Slot, Proof]] = {}
        self._parted: dict[int, set[Slot]] = {}
        #: By table: the first widening whose columns the partition of a rollup slot lacks, unless it was just written.
        self._narrow: dict[int, dict[Slot, int]] = {}
        #: By time dimension: the slots whose base content changed; ``None`` is the partition of NULL time.
        self._base_changes: dict[str, list[Slot | None]] = {}
        #: By time dimension: base slots that were registered empty, which does not change their content.
        self._registered: dict[str, list[Slot]] = {}
        #: By table: the rollup slots whose partitions this commit changed; and what single base partitions rest on.
        self._changed: dict[int, set[Slot]] = {}
        self._base_origins: dict[int, dict[Slot, Origins]] = {}
        #: By table, for timelines that are rebuilt: the commit that judged a rollup slot of several partitions.
        self._judged_by: dict[int, dict[Slot, int]] = {}

    def _bindings_with(self, table_id: int) -> Sequence[TimeBinding]:
        if table_id not in self._bindings:
            return self._context.bindings_with(table_id)
        return sorted(self._bindings.values(), key=lambda binding: binding.table.id != table_id)

    def binding(self, table: Table) -> TimeBinding:
        """Returns the time binding of a table of the fact."""
        return self._bindings[table.id]

    def proof(
        self,
        table: Table,
        values: PartitionValues,
        slot: Slot | None,
        sources: Sources,
        unproven: Collection[int],
        doubt: str | None,
    ) -> Proof:
        """Returns the proof of content that this transaction computed from ``sources``.

        ``doubt`` is the reason, in words, why nothing follows from the tables that the query read.
        """
        binding = self._bindings[table.id]
        if slot is None or binding.is_base(slot.period):
            return Proof(self._context.snapshot.sequence)
        if doubt is not None:
            return Proof(UNKNOWN, doubt)
        if any(table_id in self._bindings for table_id in unproven):
            return Proof(UNKNOWN)
        if id(sources) not in self._provenances:
            bindings = list(self._bindings.values())
            made_by = max(member.since(self._made_by) for member in bindings)
            self._provenances[id(sources)] = Provenance(self._context.snapshot, sources, bindings, made_by)
        return self._provenances[id(sources)].proof(binding, slot, binding.combination(values, slot))

    def net_proof(self, table: Table, values: PartitionValues, slot: Slot | None, net: NetProof) -> Proof:
        """Returns the proof of content that several statements of this transaction made.

        It includes the transaction's own base content only if no other commit has changed the base since the snapshot:
        one number cannot include one commit without those before it.
        """
        binding, context = self._bindings[table.id], self._context
        if not net.includes_own or slot is None or changed_meanwhile(context, net.proof.origins):
            return net.proof
        net = net._replace(proof=including(net.proof, context))
        if binding.is_base(slot.period):
            return net.proof
        if self._content_of_others is None:
            bindings, seen = list(self._bindings.values()), context.snapshot.sequence
            self._content_of_others = BaseContent(context.connection, bindings, seen, before=context.sequence)
        newest = self._content_of_others.newest(binding, slot, binding.combination(values, slot))
        return net.proof if newest > context.snapshot.sequence else net.proof._replace(as_of=context.sequence)

    def is_base(self, table: Table, slot: Slot | None) -> bool:
        """Returns True for a partition of the base period, or of NULL time, which only base rows have."""
        binding = self._bindings[table.id]
        return binding.has_base and (slot is None or binding.is_base(slot.period))

    def stored_proof(self, table: Table, stored: StoredPartition) -> Proof:
        """Returns the proof of an existing partition."""
        return self._stored_proofs.of(self._bindings[table.id], stored.proof, stored.sources, stored.commit_seq)

    def proof_still_holds(
        self,
        table: Table,
        values: PartitionValues,
        slot: Slot | None,
        origin: tuple[Table, PartitionValues] | None,
        sources: Collection[int],
        commit: int,
    ) -> bool:
        """Returns True if the proof that a commit gave to content computed from ``sources`` holds in its new partition.

        The new partition must have the same time and the same combination as ``origin``, the former partition. Its
        table must belong to this fact, too. ``None`` returns False.
        """
        origin_binding = self._bindings.get(origin[0].id) if origin is not None else None
        if origin is None or origin_binding is None:
            return False
        tables = (self._bindings[table.id].storage_table, origin_binding.storage_table)
        if any(stored.first_lacking(commit) is not None for stored in tables):
            return False  # Its new row would have another commit, and not tell that it lacks columns.
        if self._stored_proofs.of(origin_binding, Proof(REGISTERED), sources, commit).as_of == UNKNOWN:
            return False
        binding, origin_slot = self._bindings[table.id], origin_binding.locate(origin[1])
        if (
            origin_slot != slot
            or binding.time_key != origin_binding.time_key
            or binding.combination_names != origin_binding.combination_names
        ):
            return False
        return binding.combination(values, slot) == origin_binding.combination(origin[1], origin_slot)

    def note_written(self, table: Table, values: PartitionValues, slot: Slot | None, proof: Proof) -> None:
        """Notes a partition with new content, or one that was registered (``REGISTERED``)."""
        binding = self._bindings[table.id]
        self._note_changed(table, slot)
        if binding.storage_table.raw is not None and not table.external and proof.as_of != REGISTERED:
            self._check_known(binding)
        self._secondary_timelines.note_written(binding, values)
        if not binding.parted and slot is not None and slot.period in binding.rollup_periods:
            self._states.get(table.id, {}).pop(slot, None)
            self._narrow.get(table.id, {}).pop(slot, None)
            self._proofs.setdefault(table.id, {})[slot] = proof
        else:
            self._set_states(table, slot, frozenset({schema.FRESH}))
            self._note_base_origins(table, slot, proof.origins)
        if proof.as_of != REGISTERED:
            self._note_base_change(binding, slot)
        elif slot is not None and binding.is_base(slot.period):
            self._registered.setdefault(binding.time_key, []).append(slot)

    def _check_known(self, binding: TimeBinding) -> None:
        """Raises ``ConflictError`` if another transaction has just made the table RAW: the events are unchecked."""
        if self._context.snapshot.sequence < binding.since(self._made_by) < self._context.sequence:
            raise ConflictError(
                f"another transaction has made '{binding.table.name}' a RAW table of the fact '{binding.fact.name}'",
                object=binding.table.name,
            )

    def whole(self, table: Table, slots: Collection[Slot]) -> set[Slot]:
        """Returns the given slots that several partitions make whole, none of them open."""
        binding = self._bindings[table.id]
        if not binding.parted:
            return set()
        return {
            slot
            for slot, parts in self._parts.of(binding, slots).items()
            if binding.is_whole({part.combination for part in parts if not part.dropped})
            and not any(part.proof.is_open for part in parts)
        }

    def note_opened(self, table: Table, slot: Slot | None) -> None:
        """Notes a partition that a stream fills. Its rows are no base change until its commit, which is noted as
        written.
        """
        self._note_changed(table, slot)
        self._set_states(table, slot, _OPEN)

    def note_dropped(self, table: Table, values: PartitionValues) -> None:
        """Notes a dropped partition. For a base table that is retention, and its timeline remembers it."""
        binding = self._bindings[table.id]
        slot = binding.locate(values)
        self._note_changed(table, slot)
        self._secondary_timelines.note_dropped(binding, values)
        is_base = slot is not None and binding.is_base(slot.period)
        self._set_states(table, slot, frozenset({schema.RETIRED}) if is_base else ABSENT)

    def note_wiped(self, table: Table, values: PartitionValues) -> None:
        """Notes a partition removed by an OVERWRITE that had no rows for it, or dropped while a stream filled it.

        It is empty, not absent: rollups that include its rows are outdated.
        """
        slot = self._bindings[table.id].locate(values)
        self._note_changed(table, slot)
        self._secondary_timelines.note_dropped(self._bindings[table.id], values)
        self._set_states(table, slot, ABSENT)
        self._note_base_change(self._bindings[table.id], slot)

    def _note_changed(self, table: Table, slot: Slot | None) -> None:
        if slot is not None and not self._bindings[table.id].is_base(slot.period):
            self._changed.setdefault(table.id, set()).add(slot)

    def _note_base_origins(self, table: Table, slot: Slot | None, origins: Origins) -> None:
        binding = self._bindings[table.id]
        if origins and slot is not None and not binding.parted and binding.is_base(slot.period):
            self._base_origins.setdefault(table.id, {})[slot] = over_time(origins, slot.start, slot.end)

    @property
    def changed(self) -> Mapping[int, Collection[Slot]]:
        """The slots whose partitions the commit has changed, by table: of rollups, and, for each base table, the base
        slots of the fact whose content has changed.
        """
        base_slots = {slot for slots in self._base_changes.values() for slot in slots if slot is not None}
        bases = [binding.table.id for binding in self._bindings.values() if binding.has_base] if base_slots else []
        return {
            table_id: {*self._changed.get(table_id, ()), *(base_slots if table_id in bases else ())}
            for table_id in {*self._changed, *bases}
        }

    def judge_again(self, table: Table, slots: Collection[Slot]) -> None:
        """Judges slots by the rows of their partitions, as a rebuild does. Reads the rows of these slots."""
        binding = self._bindings[table.id]
        keys = merge_ranges(
            key
            for slot in slots
            for key in binding.key_ranges(slot.period, OrdinalRange(slot.ordinal, slot.ordinal + 1))
        )
        for row in newest_versions(self._context.connection, binding.table, keys):
            is_newer = row.state is RowState.LIVE or row.changed_by > binding.first_since(self._made_by)
            if is_newer and binding.locate(row.values) in slots:
                self._rebuild(binding, row)
        base_slots = [slot for slot in slots if self.is_base(table, slot)]
        for other in self._bindings.values() if base_slots else ():
            over = {
                Slot(period, ordinal)
                for period in other.rollup_periods
                for slot in base_slots
                for ordinal in overlapped(slot, period)
            }
            if over:
                self.judge_again(other.table, over)

    def finish(self) -> None:
        """Judges the written rollups and updates the affected parts of the timelines."""
        for binding, changes in self._judged_changes(()):
            self._change(binding, changes)

    def _judged_changes(self, rebuilt: Collection[int]) -> Iterator[tuple[TimeBinding, _Changes]]:
        """Yields the changes of each table's timelines. ``rebuilt`` are the ids of the tables that are rebuilt."""
        parts = {table_id: self._parts.of(self._bindings[table_id], slots) for table_id, slots in self._parted.items()}
        proofs = self._collect_closed_proofs(parts)
        self._origins.note(origin for proof in proofs for origin in proof.origins)
        base_origins = [origins for by_slot in self._base_origins.values() for origins in by_slot.values()]
        base_origins += [
            over_time(part.proof.origins, slot.start, slot.end)
            for table_id, by_slot in parts.items()
            for slot, period_parts in by_slot.items()
            for part in period_parts
            if part.proof.origins and self._bindings[table_id].is_base(slot.period)
        ]
        self._origins.note(origin for origins in base_origins for origin in origins)
        commits = (proof.as_of for proof in proofs if proof.as_of != UNKNOWN)
        oldest = min(commits, default=self._context.sequence)
        content = BaseContent(self._context.connection, list(self._bindings.values()), oldest)
        judged: dict[int, dict[Period, TimelineChange]] = {}
        presence = BasePresence(self._context.connection, list(self._bindings.values()), rebuilt, self._parts)
        for table_id, binding in self._bindings.items():
            judged[table_id] = changes = self._collect_known_states(binding, parts.get(table_id, {}))
            if binding.has_base:
                presence.change(binding, changes[binding.base_period])
        for table_id, binding in self._bindings.items():
            changes = judged[table_id]
            self._judge_rollups(binding, changes, parts.get(table_id, {}), content, presence)
            leading_changes = {(binding.time_key, period): change for period, change in changes.items()}
            other_changes = self._secondary_timelines.changes(binding, partial(self._live_values, binding.table))
            yield binding, {**leading_changes, **other_changes}

    def _collect_closed_proofs(self, parts: Mapping[int, PartsByPeriod]) -> list[Proof]:
        """Returns the proofs of the rollup slots of one partition, and of all partitions that no stream fills."""
        proofs = [proof for written in self._proofs.values() for proof in written.values()]
        return proofs + [
            part.proof
            for by_slot in parts.values()
            for period_parts in by_slot.values()
            for part in period_parts
            if not part.proof.is_open
        ]

    def _collect_known_states(self, binding: TimeBinding, parts: PartsByPeriod) -> dict[Period, TimelineChange]:
        """Returns the changes of a table's timelines by the states that need no judgement: the states of base slots,
        and the states of rollup slots that are known already.
        """
        table_id = binding.table.id
        changes = {period: TimelineChange() for period in binding.storage_table.layouts}
        for slot, states in self._states.get(table_id, {}).items():
            origins = self._base_origins.get(table_id, {}).get(slot, ())
            changes[slot.period].states[slot.ordinal] = self._origins.base_states(states, origins)
        for slot, period_parts in parts.items():
            if binding.is_base(slot.period):
                changes[slot.period].states[slot.ordinal] = self._parts.base_states(binding, slot, period_parts)
        return changes

    def _judge_rollups(
        self,
        binding: TimeBinding,
        changes: Mapping[Period, TimelineChange],
        parts: PartsByPeriod,
        content: BaseContent,
        presence: BasePresence,
    ) -> None:
        """Adds the states of a table's written rollups to its changes, and the slots that changes of the base touch."""
        for slot, proof in self._proofs.get(binding.table.id, {}).items():
            states = self._state(binding, slot, proof, content)
            dependent = proof.doubt == INCOMPLETE
            narrow = self._narrow.get(binding.table.id, {}).get(slot)
            widths = ABSENT if narrow is None else frozenset({schema.NARROW + narrow})
            changes[slot.period].states[slot.ordinal] = presence.checked(binding, slot, states, dependent) | widths
        for slot, period_parts in parts.items():
            if not binding.is_base(slot.period):
                states = self._parts.rollup_states(binding, slot, period_parts, content)
                states = presence.checked(binding, slot, states, self._parts.depends_on_whole_base(period_parts))
                changes[slot.period].states[slot.ordinal] = self._since(binding, slot, states, content)
        for period in binding.rollup_periods:
            changes[period].touched += self._touched(binding, period)
            changes[period].completed += self._completed(binding, period, presence)

    def _state(self, binding: TimeBinding, slot: Slot, proof: Proof, content: BaseContent) -> States:
        """Returns the states of a rollup slot of one partition, if its base periods exist."""
        if proof.is_unproven or self._origins.are_withdrawn(proof.origins):
            return frozenset({schema.UNPROVEN})
        is_fresh = content.is_fresh(binding, slot, proof.as_of) and not self._origins.are_outdated(proof.origins)
        return frozenset({schema.FRESH if is_fresh else schema.OUTDATED})

    def _since(self, binding: TimeBinding, slot: Slot, states: States, content: BaseContent) -> States:
        """Returns the state of a rollup slot that an earlier commit judged: any base content since then outdates it."""
        judged_by = self._judged_by.get(binding.table.id, {}).get(slot, self._context.sequence)
        depends = states in (_FRESH_ONLY, _INCOMPLETE) and not binding.is_trusted
        if depends and content.newest(binding, slot, None) > judged_by:
            return frozenset({schema.OUTDATED})
        return states

    def build(self, tables: Collection[int] | None = None) -> list[TimelineDifference]:
        """Rebuilds the timelines of some tables (``None``: all) and returns the differences from their previous state.

        The result is the result of all the commits since the fact was created, one after the other. The newest row of
        each partition, dropped ones included, and the events of the base contain all that is needed. Content that is
        older than the fact is judged as at its creation. Runs one statement that reads a row for each partition that
        ever existed.
        """
        differences: list[TimelineDifference] = []
        for binding, changes in self._rebuilt(tables):
            differences += self._replace(binding, changes)
        return differences

    def compare(self) -> list[TimelineDifference]:
        """Returns the differences that ``build`` would return. Writes nothing."""
        differences: list[TimelineDifference] = []
        for binding, changes in self._rebuilt(None):
            differences += compare_timelines(self._context.connection, binding.table, lines_of(changes)).differences
        return differences

    def _rebuilt(self, tables: Collection[int] | None) -> Iterator[tuple[TimeBinding, _Changes]]:
        """Yields the complete timelines that some tables (``None``: all) should have."""
        for table_id, binding in self._bindings.items():
            if tables is None or table_id in tables:
                for row in newest_versions(
                    self._context.connection, binding.table, [KeyRange.of_prefix(prefix(table_id))]
                ):
                    self._rebuild(binding, row)
        for binding, changes in self._judged_changes(self._bindings if tables is None else tables):
            if tables is None or binding.table.id in tables:
                yield binding, changes

    def _rebuild(self, binding: TimeBinding, row: NewestVersion) -> None:
        """Notes one partition of a rebuild."""
        table, joined_at = binding.table, binding.first_since(self._made_by)
        is_newer = row.changed_by > joined_at
        live = row.state is RowState.LIVE
        if not live and not is_newer:
            return  # A partition that was dropped or wiped before the fact is ignored.
        try:
            slot = binding.locate(row.values)
        except DataError:
            if live:
                raise
            return  # It was written and dropped between two equal facts, and belonged to neither.
        if live:
            binding.check_period(row.values, row.properties, slot)
            if not row.proof.is_open:
                self._secondary_timelines.note_written(binding, row.values)
        if slot is None:
            return
        is_rollup = slot.period in binding.rollup_periods
        if binding.parted:
            self._parted.setdefault(table.id, set()).add(slot)
            judged_by = self._judged_by.setdefault(table.id, {})
            judged_by[slot] = max(judged_by.get(slot, joined_at), row.changed_by)
        elif row.state is RowState.WIPED:
            return
        elif row.state is RowState.DROPPED:
            self.note_dropped(table, row.values)
        elif row.proof.is_open:
            self.note_opened(table, slot)
        elif is_rollup:
            proof = self._stored_proofs.of(binding, row.proof, row.sources, row.commit)
            self._proofs.setdefault(table.id, {})[slot] = proof
            lacking = binding.storage_table.first_lacking(row.commit)
            if lacking is not None:
                self._narrow.setdefault(table.id, {})[slot] = lacking
        else:
            self._set_states(table, slot, _FRESH_ONLY)
            self._note_base_origins(table, slot, row.proof.origins)

    def outdated(self) -> dict[int, set[Slot]]:
        """Returns the rollup slots of each table, by id, that ``build`` would call outdated."""
        return {
            binding.table.id: {
                Slot(period, ordinal)
                for (time_key, period), change in changes.items()
                if time_key == binding.time_key
                for ordinal, states in change.states.items()
                if schema.OUTDATED in states and not binding.is_base(period)
            }
            for binding, changes in self._rebuilt(None)
        }

    def end(self) -> None:
        """Ends the timelines of these tables, which no longer belong to a fact."""
        for table_id in self._bindings:
            end_timelines(self._context.connection, table_id, self._context.write_id(table_id))

    def _set_states(self, table: Table, slot: Slot | None, states: States) -> None:
        """Sets the states of a partition's slot. A slot of several partitions is judged at the end instead."""
        if slot is None:
            return
        if self._bindings[table.id].parted:
            self._parted.setdefault(table.id, set()).add(slot)
            return
        self._proofs.get(table.id, {}).pop(slot, None)
        self._base_origins.get(table.id, {}).pop(slot, None)
        self._states.setdefault(table.id, {})[slot] = states

    def _note_base_change(self, binding: TimeBinding, slot: Slot | None) -> None:
        if self.is_base(binding.table, slot):
            self._base_changes.setdefault(binding.time_key, []).append(slot)

    def _touched(self, binding: TimeBinding, period: Period) -> list[OrdinalRange]:
        """Returns the rollup periods over the base partitions that this commit changed."""
        if any(time_key != binding.time_key for time_key in self._base_changes):
            # Partitions named by another time dimension may hold rows of any time.
            return [OrdinalRange(period.ordinal(MIN_INSTANT), period.ordinal(MAX_INSTANT - 1) + 1)]
        slots = self._base_changes.get(binding.time_key, ())
        return ranges_of({ordinal for slot in slots if slot is not None for ordinal in overlapped(slot, period)})

    def _completed(self, binding: TimeBinding, period: Period, presence: BasePresence) -> list[OrdinalRange]:
        """Returns the rollup periods all of whose base periods exist now, if this commit registered one of them."""
        slots = self._registered.get(binding.time_key, ())
        ordinals = {ordinal for slot in slots for ordinal in overlapped(slot, period)}
        return ranges_of({ordinal for ordinal in ordinals if presence.is_whole(binding, Slot(period, ordinal))})

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
            context.connection, table, lines_of(changes), lambda: context.write_id(table.id), context.sequence
        )

    def remove_proofs(self, binding: TimeBinding, slots: Collection[Slot]) -> None:
        """Makes new versions, without a proof, of the live partitions of these slots. Their content is the same."""
        columns = [column.type for column in binding.table.partition_columns]
        keys = [
            encode(binding.table.id, columns, values)
            for values in self._live_values(binding.table)
            if binding.locate(values) in slots
        ]
        rows.remove_proofs(self._context.connection, binding.table, keys, self._context.write_id)

    def _live_values(self, table: Table) -> Iterator[PartitionValues]:
        """Yields the values of the partitions that exist and are not open."""
        row, keys = schema.partitions, KeyRange.of_prefix(prefix(table.id))
        is_committed = sa.or_(row.c.doubt.is_(None), row.c.doubt != OPEN)
        columns, live = (row.c.partition_values, row.c.key), (row.c.ended == schema.NEVER, is_committed)
        query = search(self._context.connection, row.c.key, columns, live, [keys])
        for values, _ in self._context.connection.execute(query):
            yield values_in(values, table.name)


# The base periods of a fact that exist after a commit. They distinguish an incomplete rollup from a complete one.


class BasePresence:
    """The base periods that exist, or that retention dropped.

    A period of several partitions counts if its existing and its dropped partitions together make it whole. Dropping
    half of a period does not make the other half exist.
    """

    def __init__(
        self,
        connection: sa.Connection,
        bindings: Sequence[TimeBinding],
        rebuilt: Collection[int],
        parts: PeriodPartitions,
    ) -> None:
        """``rebuilt`` are the ids of the tables whose timelines the commit builds from scratch."""
        self._connection = connection
        self._parts = parts
        self._bindings = [binding for binding in bindings if binding.has_base]
        self._rebuilt = rebuilt
        self._changes: dict[int, TimelineChange] = {}
        self._present: dict[str, RangeSet] = {}
        self._stale: dict[str, RangeSet] = {}
        #: By time dimension: the periods of several partitions, one of which retention dropped, by table.
        self._retired: dict[str, list[tuple[TimeBinding, RangeSet]]] = {}

    def change(self, binding: TimeBinding, change: TimelineChange) -> None:
        """Notes the change of a table's base periods by this commit. Must be called before any other method."""
        self._changes[binding.table.id] = change

    def is_whole(self, binding: TimeBinding, slot: Slot) -> bool:
        """Returns True if every base period inside a slot exists.

        Runs one statement for each base table, at the first call. Runs one more for each run of periods inside the slot
        that consist of several partitions, one of which retention dropped.
        """
        key = binding.time_key
        if key not in self._present:
            self._read(key)
        missing = RangeSet.of(TimeRange(slot.start, slot.end)) - self._present[key]
        for base, retired in self._retired[key]:
            missing -= self._once_whole(base, retired & missing)
        return not missing

    def checked(self, binding: TimeBinding, slot: Slot, states: States, dependent: bool) -> States:
        """Returns the final state of a rollup slot that would be fresh.

        It is outdated over a base period that is. A ``dependent`` slot is right only if the whole base exists.
        """
        if states != {schema.FRESH} or binding.is_trusted:
            return states
        if self._is_stale(binding, slot):
            return frozenset({schema.OUTDATED})
        if dependent and not self.is_whole(binding, slot):
            return frozenset({schema.INCOMPLETE})
        return states

    @cached_property
    def _copied_bases(self) -> Sequence[TimeBinding]:
        """The base tables with partitions that rest on others: only these become outdated."""
        return [base for base in self._bindings if has_dependents(self._connection, base.table.id)]

    def _is_stale(self, binding: TimeBinding, slot: Slot) -> bool:
        """Returns True if a base period inside a slot rests on content that has changed. Base periods with another
        leading time may hold rows of any time.
        """
        for base in self._copied_bases:
            if base.time_key not in self._present:
                self._read(base.time_key)
        time = RangeSet.of(TimeRange(slot.start, slot.end))
        stale_times = self._stale.items() if self._copied_bases else ()
        return any(stale if key != binding.time_key else stale & time for key, stale in stale_times)

    def _read(self, key: str) -> None:
        """Reads the times of all base periods of one time dimension that exist, and of the periods that retention
        dropped.
        """
        present: list[TimeRange] = []
        stale = RangeSet.EMPTY
        self._retired[key] = []
        for binding in self._bindings:
            if binding.time_key == key:
                period, table = binding.base_period, binding.table
                lines = stored_lines(None if table.id in self._rebuilt else self._connection, table.id, period, key)
                if table.id in self._changes:
                    self._changes[table.id].apply(lines)
                retired = times_of(period, lines[schema.RETIRED])
                present += times_of(period, lines[schema.FRESH])
                stale |= times_of(period, lines[schema.OUTDATED]) | times_of(period, lines[schema.UNPROVEN])
                if binding.parted:
                    self._retired[key].append((binding, retired))
                else:
                    present += retired
        self._present[key], self._stale[key] = RangeSet(present), stale

    def _once_whole(self, base: TimeBinding, retired: RangeSet) -> RangeSet:
        """Returns the periods all of whose required partitions exist or were dropped."""
        period = base.base_period
        slots = [
            Slot(period, ordinal)
            for time in retired
            for ordinal in range(period.ordinal(time.start), period.ordinal(time.end - 1) + 1)
        ]
        parts_by_slot = self._parts.of(base, slots)
        return RangeSet(
            TimeRange(slot.start, slot.end)
            for slot, parts in parts_by_slot.items()
            if base.is_whole({part.combination for part in parts if not part.proof.is_open})
        )


# Timelines of the time dimensions other than the leading one: the values that live partitions have.
#
# Many partitions may have one value of such a dimension, so a value leaves its timeline only with the last of them.


class _SecondaryTimelines:
    """Collects the changes of one commit to the values of other times in the tables of a fact."""

    def __init__(self) -> None:
        #: By table: the noted values, by time dimension, and True if a partition that has them certainly exists.
        self._noted: dict[int, dict[tuple[str, Slot], bool]] = {}

    def note_written(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition exists."""
        self._note(binding, values, is_live=True)

    def note_dropped(self, binding: TimeBinding, values: PartitionValues) -> None:
        """Notes that a partition was dropped or wiped."""
        self._note(binding, values, is_live=False)

    def changes(
        self, binding: TimeBinding, live: Callable[[], Iterable[PartitionValues]]
    ) -> Mapping[tuple[str, Period], TimelineChange]:
        """Returns the changes of a table's timelines, by (time dimension, period).

        ``live`` returns the values of the current partitions. It is called only if one was dropped: O(partitions of the
        table).
        """
        noted = self._noted.pop(binding.table.id, {})
        lost_slots = {slot_key for slot_key, is_live in noted.items() if not is_live}
        for values in live() if lost_slots else ():
            lost_slots.difference_update(binding.other_slots(values))
            if not lost_slots:
                break
        changes: dict[tuple[str, Period], TimelineChange] = {}
        for key, slot in noted:
            change = changes.setdefault((key, slot.period), TimelineChange())
            change.states[slot.ordinal] = ABSENT if (key, slot) in lost_slots else frozenset({FRESH})
        return changes

    def _note(self, binding: TimeBinding, values: PartitionValues, *, is_live: bool) -> None:
        for slot_key in binding.other_slots(values):
            self._noted.setdefault(binding.table.id, {})[slot_key] = is_live
