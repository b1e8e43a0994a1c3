"""Charts of coverage (``model.coverage_chart``): of a fact, and of a query's reference to a cube. O(ranges): timelines
are read, and partitions only where a comparison has found differences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.planner.cover.choose_facts import check_certain
from rewriter.planner.cover.fact_coverage import FactCoverage, TimelineReader
from rewriter.planner.cover.open_ends import extent
from rewriter.planner.cover.validity import cut, window
from rewriter.planner.model.coverage_chart import (
    EXISTING_STATES,
    ChartRow,
    ChartState,
    CoverageChart,
    hull_of,
    overlapping,
    reference_chart,
    window_of,
)
from rewriter.timeline.calendars import Period
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, StorageTable
    from rewriter.planner.model.plan import Coverage, CoverPart, ReferencePlan, Settings
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

_Part = tuple[str, str, Period]


def fact_chart(
    fact: Fact, reader: CatalogReader, settings: Settings, requested: RangeSet | None = None
) -> CoverageChart:
    """Returns what a fact has, what it lacks, and what a query over ``requested`` takes; without it, over all time.

    Raises ``NotSupportedError`` UNCERTAIN_TIME_ZONE for a range that the calendar does not allow.
    """
    coverage = FactCoverage(fact, reader, settings)
    if requested is None:
        asked = coverage.extent()
        requested = RangeSet.EMPTY if asked is None else RangeSet.of(asked)
        existing = extent(
            (period, line(table.table, period, table.time))
            for state, line in _readers(reader).items()
            if state in EXISTING_STATES
            for table in fact.tables
            for period in table.layouts
        )
        drawn = hull_of(requested if existing is None else requested | RangeSet.of(existing))
    else:
        drawn = hull_of(requested)
    check_certain(requested, [fact])
    covered = coverage.over(requested)
    rows = tuple(_rows([fact], covered.parts, drawn, reader, settings))
    return CoverageChart(
        fact.name, requested, drawn, rows, covered.missing, base=fact.base_period, calendar=fact.calendar
    )


def query_charts(coverage: Coverage, reader: CatalogReader, settings: Settings) -> list[CoverageChart]:
    """Returns a chart for each reference to a cube in a query: what the cube's facts have in the time of the query, and
    what the query takes and lacks.

    ``reader`` has the state under which the query was planned, or a newer one: what the query takes is what its plan
    takes. A cube that was dropped since has no more than that.
    """
    cubes = {cube.name for cube in reader.cubes()} if coverage.references else ()
    return [
        _query_chart(reference, reader, settings) if reference.cube in cubes else reference_chart(reference)
        for reference in coverage.references
    ]


def _query_chart(reference: ReferencePlan, reader: CatalogReader, settings: Settings) -> CoverageChart:
    facts = reader.facts_of(reference.cube)
    rows = tuple(_rows(facts, reference.parts, hull_of(reference.requested), reader, settings))
    return CoverageChart(
        reference.cube,
        reference.requested,
        window_of(reference.requested, rows, reference.missing),
        rows,
        reference.missing,
        reference.outdated,
        min((fact.base_period for fact in facts), default=None),
        reference.calendar,
    )


def _rows(
    facts: Sequence[Fact],
    parts: Iterable[CoverPart],
    hull: TimeRange | None,
    reader: CatalogReader,
    settings: Settings,
) -> list[ChartRow]:
    """Returns the rows of all storage tables within the hull, coarse to fine, in the order of their declaration."""
    taken: Mapping[_Part, CoverPart] = {(part.fact, part.table, part.period): part for part in parts}
    rows = []
    for fact in facts:
        for storage in fact.storages:
            for table in storage.tables:
                valid = window(storage, table, settings.now, fact.calendar)
                for period in table.layouts:
                    lines = {s: line(table.table, period, table.time) for s, line in _readers(reader).items()}
                    lines[ChartState.EXISTING] = cut(lines[ChartState.OUTSIDE], period, valid)
                    ordinals = {state: _within(line, period, hull) for state, line in lines.items()}
                    ordinals[ChartState.OUTSIDE] = [
                        absent
                        for run in ordinals[ChartState.OUTSIDE]
                        for absent in lines[ChartState.EXISTING].missing(run)
                    ]
                    if unproven := ordinals[ChartState.UNPROVEN]:
                        time = differing_time(fact, table, period, reader)
                        differing = RangesPartitionTimeline(overlapping(period, range_) for range_ in time)
                        ordinals[ChartState.DIFFERING] = [run for r in unproven for run in differing.covered(r)]
                        ordinals[ChartState.UNPROVEN] = [run for r in unproven for run in differing.missing(r)]
                    part = taken.get((fact.name, table.table, period))
                    ordinals[ChartState.TAKEN] = () if part is None else part.ranges
                    shown = {state: ordinals[state] for state in ChartState if ordinals.get(state)}
                    rows.append(ChartRow(fact.name, storage.name, table.table, period, shown))
    return sorted(rows, key=lambda row: -int(row.period))


def _readers(reader: CatalogReader) -> dict[ChartState, TimelineReader]:
    """Returns the readers of the states. What is whole and fresh is ``OUTSIDE`` until it is cut to its window."""
    return {
        ChartState.OUTSIDE: reader.timeline,
        ChartState.OUTDATED: reader.outdated,
        ChartState.INCOMPLETE: reader.incomplete,
        ChartState.UNPROVEN: reader.unproven,
        ChartState.OPEN: reader.open,
        ChartState.DROPPED: reader.retired,
    }


def differing_time(fact: Fact, table: StorageTable, period: Period, reader: CatalogReader) -> RangeSet:
    """Returns the time of the rollups that a comparison has found to differ from the base. One read; O(partitions of
    the table) where there are any.
    """
    storage = reader.table(table.table)
    keys = reader.differing_keys(storage)
    binding = TimeBinding(fact, table, storage)
    partitions = reader.partitions(storage, None) if keys else ()
    slots = (binding.locate(partition.values) for partition in partitions if partition.key in keys)
    return RangeSet(TimeRange(slot.start, slot.end) for slot in slots if slot is not None and slot.period == period)


def _within(line: PartitionTimeline, period: Period, hull: TimeRange | None) -> Sequence[OrdinalRange]:
    return () if hull is None else line.covered(overlapping(period, hull))
