"""Renders a plan as text: the rewritten SQL, and the cover with the reasons that narrowed the choice."""

from __future__ import annotations

from collections.abc import Iterator

from rewriter.planner.model.plan import CoverPart, Plan, ReferencePlan
from rewriter.timeline.ranges import RangeSet, TimeRange


def explain_rewrite(plan: Plan) -> str:
    """Returns the rewritten SQL over the storage tables' own names."""
    return plan.sql


def explain_cover(plan: Plan) -> str:
    """Describes each reference to a cube: range, allowed periods and why, cover, missing ranges, prune
    causes, edits.
    """
    if not plan.coverage.references:
        return "The query references no cube."
    lines = [line for reference in plan.coverage.references for line in _lines(reference)]
    return "\n".join([*lines, *(f"edit: {edit}" for edit in plan.edits)])


def part_ranges(part: CoverPart) -> RangeSet:
    """Returns the time ranges that a part of a cover supplies."""
    return RangeSet.of(*(TimeRange(part.period.start(r.start), part.period.start(r.end)) for r in part.ranges))


def counted(count: int, noun: str) -> str:
    """Returns ``1 partition``, ``2 partitions``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _lines(reference: ReferencePlan) -> Iterator[str]:
    cube_text = reference.cube if reference.alias == reference.cube else f"{reference.cube} as {reference.alias}"
    shown = reference.calendar.shown
    yield f"{cube_text}: {shown(reference.requested)}"
    for time, ranges in reference.secondary_ranges:
        yield f"  {time}: {shown(ranges)}"
    for side, open_end in (("begin", reference.open_begin), ("end", reference.open_end)):
        if open_end is not None:
            yield f"  open {side}: closed at {reference.calendar.text(open_end.at)}, {open_end.reason}"
    if reference.inexact:
        yield f"  exact: no, a base period is read completely or not at all at {', '.join(reference.inexact)}"
    yield f"  periods allowed: {', '.join(period.name for period in reference.periods) or 'none'}"
    if not reference.reasons and not reference.units:
        yield "    why: single rows are not needed, and time is only used as a range"
    for reason in reference.reasons:
        yield f"    base period only: {reason}"
    for unit, words in reference.units:
        yield f"    must nest in {unit.name}: {words}"
    for part in reference.parts:
        source_text = f"{part.fact}.{part.table} {part.period.name}"
        yield f"  {source_text}: {counted(part.partitions, 'partition')} {shown(part_ranges(part))}"
    if not reference.parts:
        yield "  no partitions"
    total = sum(part.partitions for part in reference.parts)
    yield f"  total: {counted(total, 'partition')}"
    if reference.cost:
        yield f"  cost: {reference.cost}"
    yield f"  missing: {shown(reference.missing) if reference.missing else 'nothing'}"
    if reference.outdated:
        yield f"  of these outdated: {shown(reference.outdated)}"
    for cause in reference.causes:
        yield f"  pruned: {cause}"
    for edit in reference.edits:
        yield f"  edit: {edit}"
    for warning in (*reference.warnings, *reference.row_aggregates):
        yield f"  warning: {warning}"
