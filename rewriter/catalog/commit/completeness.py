"""Periods that consist of several partitions: dt and country, where COMPLETE WITH says when a period is whole; or two
times, where any value of the second makes a period of the first.

Only the columns of the leading time decide the position of a partition on a timeline. This module reads the partitions
behind one period from the rows that a commit can see.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.commit.stored_timelines import ABSENT, States, ranges_of
from rewriter.catalog.facts.time_binding import Combination, Slot, TimeBinding, overlapped
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.origins import over_time
from rewriter.catalog.model.proofs import INCOMPLETE, REGISTERED, Proof
from rewriter.catalog.model.stored_rows import ids_in, origins_in, values_in
from rewriter.catalog.reading.queries import chunks
from rewriter.catalog.store import prepared_statements, schema
from rewriter.catalog.store.partition_versions import RowState, newest_rows, state_of
from rewriter.catalog.store.schema import FRESH, OPEN, OUTDATED, RETIRED, UNPROVEN
from rewriter.errors import DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.commit.freshness import BaseContent
    from rewriter.catalog.commit.origin_changes import OriginChanges
    from rewriter.catalog.commit.partition_rows import StoredProofs
    from rewriter.timeline.calendars import Period


@dataclass(frozen=True)
class Part:
    """A partition of a period: the values that identify it within the period, and the proof of its newest content.

    A ``dropped`` partition was removed by a drop, not by a wipe; its ``has_content`` describes the time before.
    """

    combination: Combination
    proof: Proof
    has_content: bool
    dropped: bool


PartsByPeriod = Mapping[Slot, Sequence[Part]]


class PeriodPartitions:
    """Reads and judges the parts of periods, for the tables of one fact."""

    def __init__(
        self,
        connection: sa.Connection,
        bindings: Sequence[TimeBinding],
        proofs: StoredProofs,
        origins: OriginChanges,
    ) -> None:
        """``proofs`` reads the proofs of rollups from the rows of the fact; ``origins`` judges what they rest on."""
        self._connection = connection
        self._bases = [binding for binding in bindings if binding.has_base]
        self._proofs = proofs
        self._origins = origins

    def of(self, binding: TimeBinding, slots: Iterable[Slot]) -> PartsByPeriod:
        """Returns the parts of these periods. Runs one indexed statement for each run of consecutive periods."""
        by_period: dict[Period, set[int]] = {}
        for slot in slots:
            by_period.setdefault(slot.period, set()).add(slot.ordinal)
        parts_by_slot: dict[Slot, list[Part]] = {}
        for period, ordinals in by_period.items():
            parts_by_slot |= {Slot(period, ordinal): [] for ordinal in ordinals}
            for run in ranges_of(ordinals):
                for slot, part in self._read(binding, period, run):
                    parts_by_slot[slot].append(part)
        return parts_by_slot

    def base_states(self, binding: TimeBinding, slot: Slot, parts: Sequence[Part]) -> States:
        """Returns the states of a base period: open if a part of it is, else fresh if it is whole; retired, too, if a
        part of it was dropped.

        An open part beside the parts that make a period whole would be read with them. A part that was copied lacks
        what came later into its period, where it was copied from.
        """
        live = {part.combination for part in parts if not part.dropped}
        fresh = ABSENT | {FRESH} if binding.is_whole(live) else ABSENT
        if any(part.proof.is_open for part in parts):
            fresh = frozenset({OPEN})
        origins = tuple(origin for part in parts if not part.dropped for origin in part.proof.origins)
        fresh = self._origins.base_states(fresh, over_time(origins, slot.start, slot.end))
        return fresh | {RETIRED} if any(part.dropped for part in parts) else fresh

    def rollup_states(self, binding: TimeBinding, slot: Slot, parts: Sequence[Part], content: BaseContent) -> States:
        """Returns the states of a rollup period: open if a part of it is; absent unless it is whole; fresh if all its
        parts are and none is missing, neither a dropped one nor one that the base has.

        A part depends on the base partitions with the same values in the partition columns that both tables have, and
        in the same period of every other time that both tables have.
        """
        live = [part for part in parts if not part.dropped]
        if any(part.proof.is_open for part in live):
            return frozenset({OPEN})
        if not binding.is_whole({part.combination for part in live}):
            return ABSENT
        if not binding.is_trusted and any(
            part.proof.is_unproven or self._origins.are_withdrawn(part.proof.origins) for part in live
        ):
            return frozenset({UNPROVEN})
        fresh = binding.is_trusted or (
            all(content.is_fresh(binding, slot, part.proof.as_of, part.combination) for part in live)
            and not any(self._origins.are_outdated(part.proof.origins) for part in live)
            and not any(part.dropped and part.has_content for part in parts)
            and not self._lacks_a_part(binding, slot, live)
        )
        return frozenset({FRESH if fresh else OUTDATED})

    @staticmethod
    def depends_on_whole_base(parts: Sequence[Part]) -> bool:
        """Returns True if a rollup period is right only if every base period inside it exists."""
        return any(part.proof.doubt == INCOMPLETE for part in parts if not part.dropped)

    def _lacks_a_part(self, binding: TimeBinding, slot: Slot, live: Sequence[Part]) -> bool:
        """Returns True if the base has, or had, content for which the rollup has no partition at all."""
        for base in self._bases:
            shared_columns = binding.common_elements(base)
            if not shared_columns:
                continue
            present_values = {tuple(part.combination[index] for index, _ in shared_columns) for part in live}
            ordinals = overlapped(slot, base.base_period)
            for _, part in self._read(base, base.base_period, OrdinalRange(ordinals.start, ordinals.stop)):
                if (
                    part.has_content
                    and not part.proof.is_open
                    and not present_values.issuperset(
                        base.common_values(base.base_period, part.combination, binding, slot.period)
                    )
                ):
                    return True
        return False

    def _read(self, binding: TimeBinding, period: Period, run: OrdinalRange) -> Iterable[tuple[Slot, Part]]:
        row = schema.partitions.c
        columns = (
            row.partition_values, row.as_of, row.doubt, row.origins, row.sources, row.files, row.commit_seq, row.made,
            row.ended,
        )  # fmt: skip
        newest = (
            stored
            for chunk in chunks(merge_ranges(binding.key_ranges(period, run)), prepared_statements.MOST)
            for stored in self._connection.execute(sa.select(newest_rows(self._connection, columns, chunk))).all()
        )
        for text, as_of, doubt, origins, sources, files, commit, made, ended in newest:
            values, state = values_in(text, binding.table.name), state_of(made, ended)
            if state is RowState.WIPED:
                continue
            try:
                slot = binding.locate(values)
            except DataError:
                continue  # A dropped partition from before the fact.
            if slot is None or slot.period is not period or not run.start <= slot.ordinal < run.end:
                continue
            proof = Proof(as_of, doubt, origins_in(origins, binding.table.name))
            if not proof.is_open and not binding.is_base(period):
                proof = self._proofs.of(binding, proof, ids_in(sources, binding.table.name), commit)
            # The files of external tables are not counted.
            has_content = files > 0 or (binding.table.external and as_of != REGISTERED)
            yield slot, Part(binding.combination(values, slot), proof, has_content, state is RowState.DROPPED)
