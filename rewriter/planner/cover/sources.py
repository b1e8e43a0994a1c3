"""One candidate that may serve a block: a period in a storage table of a fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, Storage, StorageTable
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import PartitionTimeline


@dataclass(frozen=True, eq=False)
class Source:
    """One (storage table, period) that may serve. Compared by identity."""

    fact: Fact
    storage: Storage
    storage_table: StorageTable
    period: Period

    @property
    def is_base(self) -> bool:
        """True if its partitions hold base rows of its fact."""
        return self.fact.is_base(self.storage_table, self.period)

    def __str__(self) -> str:
        return f"{self.fact.name}.{self.storage_table.table} {self.period.name}"


class SourceTimelines(NamedTuple):
    """The periods of one candidate: fresh periods, and periods that do not serve, separated by the reason."""

    fresh: PartitionTimeline
    outdated: PartitionTimeline
    unproven: PartitionTimeline
    incomplete: PartitionTimeline
    open: PartitionTimeline
    #: Fresh, but computed before the table got a column that is needed.
    narrow: PartitionTimeline

    @property
    def existing(self) -> tuple[PartitionTimeline, ...]:
        """The periods that count for open ends of a range: all but the periods that streams still fill."""
        return self.fresh, self.narrow, self.outdated, self.unproven, self.incomplete


def split_by_width(
    source: Source, columns: Sequence[str], fresh: PartitionTimeline, reader: CatalogReader
) -> tuple[PartitionTimeline, PartitionTimeline]:
    """Returns the fresh periods of a candidate whose partitions have the columns, and those whose partitions were
    computed before the table got one of them. O(ranges); reads nothing for a table that got none.
    """
    stored = source.storage_table
    if stored.last_widening(columns) is None:
        return fresh, RangesPartitionTimeline()
    return split(fresh, reader.lacking(stored.table, source.period, stored.time, columns))


def split(line: PartitionTimeline, other: PartitionTimeline) -> tuple[PartitionTimeline, PartitionTimeline]:
    """Returns the periods of a timeline that are not in another one, and those that are. O(ranges)."""
    runs = line.ranges()
    return (
        RangesPartitionTimeline(part for run in runs for part in other.missing(run)),
        RangesPartitionTimeline(part for run in runs for part in other.covered(run)),
    )


Timelines = Mapping[Source, SourceTimelines]
