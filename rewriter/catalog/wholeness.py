"""Periods that consist of several partitions: dt and country, of which COMPLETE WITH says when a period is whole; or
two times, where any value of the second makes a period of the first.

Only the columns of the leading time decide where a partition stands on a timeline; here are the partitions behind one
period, from the rows that a commit can see.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from rewriter.catalog import schema, stretches
from rewriter.catalog.binding import Combination, Slot, TimeBinding, overlapped
from rewriter.catalog.freshness import UNKNOWN, BaseContent
from rewriter.catalog.keys import merged
from rewriter.catalog.reads import chunks
from rewriter.catalog.schema import FRESH, OUTDATED, RETIRED
from rewriter.catalog.timelines import ABSENT, States, ranges_of
from rewriter.errors import DataError
from rewriter.timeline.calendars import Period
from rewriter.timeline.timelines import OrdinalRange


@dataclass(frozen=True)
class Part:
    """A partition of a period: what tells it from the others, and what its newest content knows of the base.

    ``dropped`` is one that is gone, by a drop and not by a wipe; ``has_content`` says of it what it was.
    """

    combination: Combination
    as_of: int
    has_content: bool
    dropped: bool


Parts = Mapping[Slot, Sequence[Part]]


class PeriodParts:
    """Reads and judges the parts of periods, for the tables of one fact."""

    def __init__(self, connection: sa.Connection, bindings: Sequence[TimeBinding], made_by: int) -> None:
        """``made_by`` is the number of the commit that made the fact."""
        self._connection = connection
        self._bases = [binding for binding in bindings if binding.has_base and not binding.table.external]
        self._rollup_tables = {binding.table.id for binding in bindings if binding.rollup_periods}
        self._made_by = made_by

    def of(self, binding: TimeBinding, slots: Iterable[Slot]) -> Parts:
        """The parts of these periods; one indexed statement for each run of consecutive periods."""
        by_period: dict[Period, set[int]] = {}
        for slot in slots:
            by_period.setdefault(slot.period, set()).add(slot.ordinal)
        found: dict[Slot, list[Part]] = {}
        for period, ordinals in by_period.items():
            found |= {Slot(period, ordinal): [] for ordinal in ordinals}
            for run in ranges_of(ordinals):
                for slot, part in self._read(binding, period, run):
                    found[slot].append(part)
        return found

    def base_states(self, binding: TimeBinding, parts: Sequence[Part]) -> States:
        """What a base period is: fresh where it is whole, retired where a part of it was dropped, or both."""
        live = {part.combination for part in parts if not part.dropped}
        fresh = ABSENT | {FRESH} if binding.is_whole(live) else ABSENT
        return fresh | {RETIRED} if any(part.dropped for part in parts) else fresh

    def rollup_states(self, binding: TimeBinding, slot: Slot, parts: Sequence[Part], content: BaseContent) -> States:
        """What a rollup period is: absent unless it is whole; fresh where all its parts are, and it lacks none: neither
        one that was dropped, nor one that the base has.

        A part depends on the base partitions that have its values in the columns that both tables are partitioned by,
        and that lie in its period of every other time that both name.
        """
        live = [part for part in parts if not part.dropped]
        if not binding.is_whole({part.combination for part in live}):
            return ABSENT
        fresh = binding.promised or (
            all(content.is_fresh(binding, slot, part.as_of, part.combination) for part in live)
            and not any(part.dropped and part.has_content for part in parts)
            and not self._lacks_a_part(binding, slot, live)
        )
        return frozenset({FRESH if fresh else OUTDATED})

    def _lacks_a_part(self, binding: TimeBinding, slot: Slot, live: Sequence[Part]) -> bool:
        """Whether the base has, or had, content of which the rollup has no partition at all."""
        for base in self._bases:
            shared = binding.shared(base)
            if not shared:
                continue
            there = {tuple(part.combination[mine] for mine, _ in shared) for part in live}
            ordinals = overlapped(slot, base.base_period)
            for _, part in self._read(base, base.base_period, OrdinalRange(ordinals.start, ordinals.stop)):
                if part.has_content and not there.issuperset(
                    base.seen_from(base.base_period, part.combination, binding, slot.period)
                ):
                    return True
        return False

    def _read(self, binding: TimeBinding, period: Period, run: OrdinalRange) -> Iterable[tuple[Slot, Part]]:
        row = schema.partitions
        state = (row.c.partition_values, row.c.as_of, row.c.sources, row.c.files, row.c.made, row.c.ended)
        columns = (*state, row.c.commit_seq, row.c.row_id, row.c.key)
        newest = {
            values: rest
            for some in chunks(merged(binding.key_ranges(period, run)), stretches.MOST)
            for values, *rest in self._connection.execute(
                stretches.search(self._connection, row.c.key, columns, (), some).order_by("row_id")
            )
        }
        for text, (as_of, sources, files, made, ended, commit, _, _) in newest.items():
            values = tuple(json.loads(text))
            # A row that ended as it was made tells of a wipe.
            dropped = ended != schema.NEVER
            if dropped and ended == made:
                continue
            try:
                slot = binding.locate(values)
            except DataError:
                continue  # A partition that is gone, from before the fact.
            if slot is None or slot.period is not period or not run.start <= slot.ordinal < run.end:
                continue
            # From before the fact: what an earlier rollup was outdated by is not known any more.
            proven = commit > self._made_by or self._rollup_tables.isdisjoint(json.loads(sources))
            yield slot, Part(binding.combination(values, slot), as_of if proven else UNKNOWN, files > 0, dropped)
