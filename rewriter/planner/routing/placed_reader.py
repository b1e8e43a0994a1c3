"""The catalog as one cluster has it: timelines without the periods whose partitions it lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.key_ranges import KeyRange, without
from rewriter.planner.scope.blocks import CatalogReader
from rewriter.timeline.kinds.registry import DEFAULT, make_timeline
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.clusters.definitions import Cluster, Clusters
    from rewriter.catalog.model.objects import Fact, Table
    from rewriter.timeline.calendars import Period


class PlacementReader(CatalogReader, Protocol):
    """The part of the catalog that routing reads."""

    def fact_using(self, table_name: str) -> Fact | None: ...
    def copied_ranges(self, table: Table, cluster: str) -> tuple[KeyRange, ...]: ...


class PlacedReader:
    """Reads the catalog for a plan that one cluster can run. Partitions of other clusters do not exist for it.

    A secondary cluster has the periods of a table all of whose partitions it has. Costs a read of the partitions that
    it lacks, for each table and period that the plan asks for.
    """

    def __init__(self, reader: PlacementReader, cluster: Cluster, clusters: Clusters) -> None:
        self._reader = reader
        self._cluster = cluster
        self._clusters = clusters
        self._absent: dict[str, list[tuple[Period, int]] | None] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def timeline(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
        """Returns the periods that the cluster has."""
        whole = self._reader.timeline(table_name, period, time_dimension)
        absent = self._absent_periods(table_name)
        if absent is None:
            return make_timeline((), DEFAULT)
        ordinals = sorted({ordinal for other, ordinal in absent if other == period})
        return make_timeline(_without(whole.ranges(), ordinals), DEFAULT) if ordinals else whole

    def _absent_periods(self, table_name: str) -> list[tuple[Period, int]] | None:
        """Returns the periods of a table that the cluster lacks; ``None`` for all."""
        key = table_name.lower()
        if key not in self._absent:
            self._absent[key] = self._lacking(self._reader.table(table_name))
        return self._absent[key]

    def _lacking(self, table: Table) -> list[tuple[Period, int]] | None:
        if self._clusters.is_primary(table, self._cluster.name):
            return []
        held = self._reader.copied_ranges(table, self._cluster.name)
        fact = self._reader.fact_using(table.name)
        stored = None if fact is None else fact.storage_table(table.name)
        if not held or fact is None or stored is None:
            return None
        binding = TimeBinding(fact, stored, table)
        elsewhere = self._reader.partitions(table, without([KeyRange.of_prefix(prefix(table.id))], held))
        slots = (binding.locate(partition.values) for partition in elsewhere)
        return [(slot.period, slot.ordinal) for slot in slots if slot is not None]


def _without(ranges: Sequence[OrdinalRange], ordinals: Sequence[int]) -> list[OrdinalRange]:
    """Returns ordinal ranges without some ordinals, given in order.

    >>> _without([OrdinalRange(1, 5)], [2, 9])
    [OrdinalRange(start=1, end=2), OrdinalRange(start=3, end=5)]
    """
    remaining = []
    for ordinal_range in ranges:
        start = ordinal_range.start
        for ordinal in ordinals:
            if start <= ordinal < ordinal_range.end:
                remaining += [OrdinalRange(start, ordinal)] if start < ordinal else []
                start = ordinal + 1
        remaining += [OrdinalRange(start, ordinal_range.end)] if start < ordinal_range.end else []
    return remaining
