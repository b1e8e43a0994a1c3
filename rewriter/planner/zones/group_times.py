"""The instants by which a SELECT groups, and their wall times.

An engine runs ``SELECT year(date_trunc('month', t)) … GROUP BY date_trunc('month', t)`` because the first expression
contains the second. In a zone the second becomes an instant, and ``year`` reads a wall time. So the wall time is
computed from that instant, and the text of the instant stays in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.planner.zones.zoned_expressions import (
    TimeOf,
    cases,
    climbed,
    merged_pieces,
    moved_parts,
    offsets,
    truncations,
)
from rewriter.timeline.calendars import Calendar, Period, ZonedPeriod
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import TimeRange

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import Part

_GROUPING = (exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup)


class GroupTimes:
    """The truncated times by which a SELECT groups."""

    def __init__(self, select: exp.Select, uses: Iterable[TimeOf]) -> None:
        """``uses`` are all uses of time in the SELECT."""
        group = select.args.get("group")
        #: The ordinals and names in GROUP BY. Those inside of its expressions are none, which makes a text longer.
        self._named = (
            set() if group is None else {node.name.lower() for node in group.find_all(exp.Column, exp.Literal)}
        )
        self._groups = {
            _steps(use.column, use.top)
            for use in uses
            if group is not None and _is_truncated(use) and self._is_grouped(use.top)
        }

    def group_of(self, use: TimeOf) -> TimeOf | None:
        """Returns the widest truncated time that ``use`` is a function of and by which the SELECT groups.

        ``None`` if there is none, and for uses in WHERE and ON, which are computed before the groups.
        """
        if not self._groups or isinstance(
            use.column.find_ancestor(exp.Where, exp.Join, exp.Select), exp.Where | exp.Join
        ):
            return None
        group, node = None, use.column
        while node is not use.top and node.parent is not None:
            node = node.parent
            is_itself = node is use.cut and _is_truncated(use)
            if isinstance(node, exp.TimestampTrunc) and not is_itself and _steps(use.column, node) in self._groups:
                group = climbed(use.column, node)
        return group

    def _is_grouped(self, node: exp.Expr) -> bool:
        """Tests whether a node is an expression of GROUP BY, or an item of the select list that GROUP BY names."""
        while isinstance(node.parent, exp.Paren | exp.Tuple | exp.Alias):
            node = node.parent
        if isinstance(node.parent, exp.Select) and node.arg_key == "expressions":
            return bool({str((node.index or 0) + 1), node.alias.lower()} & self._named)
        return isinstance(node.parent, _GROUPING)


def _is_truncated(use: TimeOf) -> bool:
    """Tests whether a use is the first instant of a period."""
    return use.cut is not None and not (use.date or use.value or use.utc)


def _steps(column: exp.Expr, top: exp.Expr) -> tuple[str, ...]:
    """Returns the functions from a column to ``top``: equal ones compute the same of the same time."""
    steps, node = [column.name.lower()], column
    while node is not top and node.parent is not None:
        node = node.parent
        if isinstance(node, exp.TimestampTrunc):
            steps.append(node.text("unit").upper())
        elif not isinstance(node, exp.Paren):
            steps.append(type(node).__name__)
    return tuple(steps)


def instants_of(period: Period, extent: TimeRange) -> TimeRange:
    """Returns a range of the first instants of the periods around all instants of ``extent``."""
    start = period.floor(extent.start) if isinstance(period, ZonedPeriod) else extent.start - HOUR
    return TimeRange(start, extent.end)


def wall_of_start(
    period: Period,
    calendar: Calendar,
    start: tuple[Part, ...],
    extent: TimeRange,
    truncated: Callable[[tuple[Part, ...]], tuple[Part, ...]],
) -> tuple[Part, ...] | None:
    """Returns the wall time at which a period around an instant of the range begins, computed from the instant
    ``start`` at which it begins. ``truncated`` returns the call that truncates a time to the period. A text for days or
    longer periods has ``start`` once, except in a zone that has changed its date.

    ``None`` if clocks change within one of the periods, which are hours or minutes.
    """
    if isinstance(period, UpdatePeriod):
        starts, length = instants_of(period, extent), HOUR if period is UpdatePeriod.HOURLY else MINUTE
        for change in calendar.transitions(starts.start, starts.end):
            if (change.instant + change.before) % length or (change.after - change.before) % length:
                return None
        return cases(start, offsets(calendar, starts), lambda shifts: moved_parts(start, shifts[0]))
    pieces = merged_pieces([(bound, (shifts[1],)) for bound, shifts in truncations(period, calendar, extent)])
    distinct_shifts = {shifts[0] for _, shifts in pieces}
    latest = max(distinct_shifts)
    if len(distinct_shifts) > 1 and latest - min(distinct_shifts) < DAY:
        return truncated(moved_parts(start, latest))  # a time of the first 24 hours of the period
    return cases(start, pieces, lambda shifts: moved_parts(start, shifts[0]))
