"""One place that may serve a block: a period in a storage table of a fact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.catalog.models import Fact, Storage, StorageTable
from rewriter.timeline.calendars import Period
from rewriter.timeline.timelines import PartitionTimeline


@dataclass(frozen=True, eq=False)
class Source:
    """One (storage table, period) that may serve. Compared by identity."""

    fact: Fact
    storage: Storage
    storage_table: StorageTable
    period: Period

    def __str__(self) -> str:
        return f"{self.fact.name}.{self.storage_table.table} {self.period.name}"


#: What exists of each candidate: fresh, and outdated.
Timelines = Mapping[Source, tuple[PartitionTimeline, PartitionTimeline]]
