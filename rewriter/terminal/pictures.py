"""The cover as a picture for a terminal: a bar per (table, period) over the time asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.planner.explain import counted, part_ranges
from rewriter.planner.model.plan import ReferencePlan
from rewriter.terminal_text import printable
from rewriter.timeline.calendars import UTC, Calendar
from rewriter.timeline.civil import MAX_INSTANT, MIN_INSTANT
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rich.console import RenderableType

_NARROWEST, _WIDEST = 30, 60
#: Room for the columns of period and partitions, and for the blanks between columns.
_LABELS = 25
_COLOURS = {
    UpdatePeriod.MINUTELY: "magenta",
    UpdatePeriod.HOURLY: "cyan",
    UpdatePeriod.DAILY: "blue",
    UpdatePeriod.WEEKLY: "blue",
    UpdatePeriod.MONTHLY: "green",
    UpdatePeriod.QUARTERLY: "yellow",
    UpdatePeriod.YEARLY: "white",
}


def bar(ranges: RangeSet, window: TimeRange, width: int) -> str:
    """Returns ``width`` characters over ``window``: full where the ranges fill a cell, light where they touch it, or a
    dot.
    """
    cells = []
    for number in range(width):
        start = window.start + (window.end - window.start) * number // width
        end = window.start + (window.end - window.start) * (number + 1) // width
        cell = RangeSet.of(TimeRange(start, max(end, start + 1)))
        covered_ranges = cell & ranges
        cells.append("·" if not covered_ranges else "█" if covered_ranges == cell else "▒")
    return "".join(cells)


def cover_picture(reference: ReferencePlan, columns: int = 100) -> RenderableType:
    """Returns a table with one bar for each part of the cover, coarse to fine, and one for the missing time.

    It takes at most ``columns`` columns of the terminal, as long as the names leave room for the bars.
    """
    from rich.table import Table
    from rich.text import Text

    picture = Table(
        title=Text(
            printable(f"{reference.cube}: {reference.calendar.shown(reference.requested)}"), style="table.title"
        ),
        title_justify="left",
        box=None,
        pad_edge=False,
    )
    picture.add_column("period", no_wrap=True)
    picture.add_column("table", no_wrap=True)
    picture.add_column("partitions", justify="right", no_wrap=True)
    window = window_of(reference.requested)
    names = max((len(part.table) for part in reference.parts), default=5)
    width = min(_WIDEST, max(_NARROWEST, columns - names - _LABELS))
    picture.add_column("" if window is None else axis(window, width, reference.calendar), no_wrap=True)
    if window is None:
        return picture
    for part in reference.parts:
        colour = _COLOURS[part.period.kind]
        line = Text(bar(part_ranges(part), window, width), style=colour)
        table = Text(printable(part.table))
        picture.add_row(Text(part.period.name, style=colour), table, f"{part.partitions:,}", line)
    if reference.missing:
        line = Text(bar(reference.missing, window, width), style="red")
        picture.add_row(Text("missing", style="red"), "", counted(len(reference.missing), "range"), line)
    return picture


def window_of(requested: RangeSet) -> TimeRange | None:
    """Returns the time from the first wanted instant to the last, without open ends; ``None`` where that is empty."""
    edges = [edge for range_ in requested for edge in (range_.start, range_.end) if MIN_INSTANT < edge < MAX_INSTANT]
    return TimeRange(edges[0], edges[-1]) if len(edges) > 1 else None


def axis(window: TimeRange, width: int, calendar: Calendar = UTC) -> str:
    """Returns the window's ends, left and right over the bars."""
    start, end = calendar.text(window.start), calendar.text(window.end)
    return start + " " * max(1, width - len(start) - len(end)) + end
