"""Timelines from their stored ranges."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.facts import timeline_properties
from rewriter.catalog.model.objects import Fact, Table
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.errors import OperationalError
from rewriter.timeline import runs
from rewriter.timeline.calendars import Period
from rewriter.timeline.kinds.registry import DEFAULT
from rewriter.timeline.timeline import OrdinalRange


def implementation(table: Table, fact: Fact | None, period: Period, time: str) -> str:
    """Returns the name of the class of a timeline of a table that a fact uses, which the table's properties choose."""
    storage_table = fact.storage_table(table.name) if fact is not None else None
    if storage_table is None:
        return DEFAULT
    return timeline_properties.chosen(table.properties, storage_table, period, time)


def existing_ranges(stored: queries.StoredTimelines, key: queries.TimelineKey) -> Sequence[OrdinalRange]:
    """Returns the stored ranges of one timeline; for fresh periods, those that were not retired."""
    period, time, state = key
    ranges, retired = stored.get(key, ()), stored.get((period, time, schema.RETIRED), ())
    if state != schema.FRESH or not retired:
        return ranges
    # The period is complete by its rule, but a partition was dropped: the others do not have the former content.
    return runs.ranges(*runs.without(runs.of_ranges(ranges), runs.of_ranges(retired)))


def damaged_timeline(table: Table, error: ValueError) -> OperationalError:
    """Returns the error DAMAGED_TIMELINE."""
    return OperationalError(
        f"a stored timeline of '{table.name}' is damaged: {error}",
        condition="DAMAGED_TIMELINE",
        object=table.name,
        hint="REFRESH TIMELINES OF its fact rebuilds it from the partitions.",
    )
