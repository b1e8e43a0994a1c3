"""Explains why existing partitions are not used: the catalog's notes on them, and the gaps in their base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.catalog.facts.time_key_ranges import time_ranges
from rewriter.catalog.model.proofs import BEFORE_FACT, INCOMPLETE, OPEN
from rewriter.planner.cover.sources import Source, Timelines
from rewriter.planner.model.plan import PruneCause
from rewriter.planner.scope.blocks import CatalogReader
from rewriter.timeline.calendars import Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange

#: The maximum number of reasons that are shown for one candidate.
MOST_REASONS = 3


@dataclass(frozen=True)
class DoubtReader:
    """Reads the reasons on demand: plans that serve everything read none."""

    reader: CatalogReader
    lines: Timelines
    base: Period

    def reason(self, source: Source, kind: PruneCause, time: RangeSet) -> str:
        """Returns the reason why partitions of a candidate are unproven, incomplete or open; '' for any other cause."""
        if kind is PruneCause.PARTITIONS_OPEN:
            return OPEN
        if kind is PruneCause.PARTITIONS_UNPROVEN:
            return self._unproven(source, time)
        return self._incomplete(source, time) if kind is PruneCause.PARTITIONS_INCOMPLETE else ""

    def _unproven(self, source: Source, time: RangeSet) -> str:
        period, storage_table = source.period, source.storage_table
        table = self.reader.table(storage_table.table)
        ordinals = [
            OrdinalRange(period.ordinal(time_range.start), period.ordinal(time_range.end - 1) + 1)
            for time_range in time
        ]
        return unproven_reason(self.reader.doubts(table, time_ranges(table, storage_table.layouts[period], ordinals)))

    def _incomplete(self, source: Source, time: RangeSet) -> str:
        """Returns the number of base periods of the fact that are missing inside the partitions now."""
        lacking = time
        for other, timelines in self.lines.items():
            if other.fact is source.fact and other.is_base:
                ranges = timelines.fresh.ranges()
                lacking = lacking - RangeSet(
                    TimeRange(other.period.start(r.start), other.period.start(r.end)) for r in ranges
                )
        return incomplete_reason(source.fact.base_period, lacking)


def unproven_reason(reasons: Sequence[str]) -> str:
    """Returns the reasons why some partitions are unproven, as one text: the first ones, and the number of the
    others.
    """
    shown_reasons = [reason for reason in reasons if reason != INCOMPLETE] or [BEFORE_FACT]
    omitted = len(shown_reasons) - MOST_REASONS
    return "; ".join([*shown_reasons[:MOST_REASONS], *([f"{omitted} more reasons"] if omitted > 0 else [])])


def incomplete_reason(base: Period, lacking: RangeSet) -> str:
    """Returns the number of base periods that incomplete partitions lack, as text. ``lacking`` is the time without
    them.
    """
    count = sum(base.ordinal(time_range.end - 1) + 1 - base.ordinal(time_range.start) for time_range in lacking)
    if count == 0:
        return "it was computed before its base was complete"
    return f"its base lacks {count:,} {base.name} {'period' if count == 1 else 'periods'}"
