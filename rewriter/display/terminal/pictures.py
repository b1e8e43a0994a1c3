"""Coverage as a picture for a terminal: a bar for each (table, period), each state with a character of its own.

A cell of a bar is a stretch of time. It shows the worst state of the periods in it, so that one outdated hour of ten
years is seen. The picture is readable without colours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from rewriter.planner.model.coverage_chart import ChartRow, ChartState, CoverageChart, reference_chart, slices_of
from rewriter.terminal_text import printable, width
from rewriter.timeline.calendars import UTC, Calendar

if TYPE_CHECKING:
    from rich.text import Text

    from rewriter.planner.model.plan import ReferencePlan
    from rewriter.timeline.ranges import RangeSet, TimeRange

_NARROWEST, _WIDEST = 24, 100
_LONGEST_NAME = 24


class Mark(NamedTuple):
    """A character of a bar, its colour, and what it means."""

    character: str
    style: str
    meaning: str


_NOTHING = Mark("·", "bright_black", "nothing")
_MISSING = Mark("×", "red", "missing")
#: The marks of the states, in the order of the legend. A mark in part is of states that are good.
_MARKS = {
    (ChartState.TAKEN, True): Mark("█", "cyan", "taken"),
    (ChartState.TAKEN, False): Mark("▒", "cyan", "taken in part"),
    (ChartState.EXISTING, True): Mark("━", "blue", "exists"),
    (ChartState.EXISTING, False): Mark("╌", "blue", "exists in part"),
    (ChartState.OUTDATED, True): Mark("o", "yellow", "outdated"),
    (ChartState.INCOMPLETE, True): Mark("i", "yellow", "incomplete"),
    (ChartState.UNPROVEN, True): Mark("?", "magenta", "unproven"),
    (ChartState.DIFFERING, True): Mark("≠", "red", "differs from its base"),
    (ChartState.OPEN, True): Mark("~", "green", "filled by a stream"),
    (ChartState.OUTSIDE, True): Mark("-", "bright_black", "outside of its storage's time"),
    (ChartState.DROPPED, True): Mark("'", "bright_black", "dropped"),
}
#: The states whose periods need work, and are counted in the legend.
_COUNTED = (
    ChartState.OUTDATED,
    ChartState.INCOMPLETE,
    ChartState.UNPROVEN,
    ChartState.DIFFERING,
    ChartState.OPEN,
)

#: A line, as texts with their styles.
_Line = list[tuple[str, str]]


def chart_picture(chart: CoverageChart, columns: int = 80) -> Text:
    """Returns the chart as lines of at most ``columns`` columns (40 or more), styled; its ``plain`` has no styles.

    Names are ``printable``. Where they leave too little room beside them, the bars have lines of their own.
    """
    from rich.text import Text

    picture = Text(no_wrap=True, overflow="crop")
    lines = list(_lines(chart, max(columns, _NARROWEST)))
    for number, line in enumerate(lines):
        for text, style in line:
            picture.append(text, style)
        if number < len(lines) - 1:
            picture.append("\n")
    return picture


def cover_picture(reference: ReferencePlan, columns: int = 80) -> Text:
    """Returns what a reference to a cube takes and lacks, without what else exists (``chart_picture`` of a chart has
    it, too).
    """
    return chart_picture(reference_chart(reference), columns)


def axis(window: TimeRange, width: int, calendar: Calendar = UTC) -> str:
    """Returns the window's ends, left and right over the bars; the first alone where there is no room for both."""
    start, end = calendar.text(window.start), calendar.text(window.end)
    if len(start) + len(end) >= width:
        return start[:width]
    return start + " " * (width - len(start) - len(end)) + end


def row_marks(row: ChartRow, window: TimeRange, width: int) -> list[Mark]:
    """Returns the marks of a bar of ``width`` cells over ``window``. O(width · log ranges + ranges)."""
    return [
        _NOTHING if state is None else _MARKS.get((state, is_whole)) or _MARKS[state, True]
        for state, is_whole in row.slices(window, width)
    ]


def _missing_marks(ranges: RangeSet, window: TimeRange, width: int, mark: Mark) -> list[Mark]:
    return [mark if cell & ranges else _NOTHING for cell in slices_of(window, width)]


class _Labels(NamedTuple):
    period: str
    table: str
    amount: str


def _lines(chart: CoverageChart, columns: int) -> Iterator[_Line]:
    yield [(_shortened(printable(chart.title), columns), "bold")]
    if chart.window is None:
        yield [(chart.emptiness, "")]
        return
    labels = [_labels(row, chart) for row in chart.rows]
    count_title = "taken of" if chart.is_whole else "partitions"
    header = _Labels("period", "table", count_title)
    extra = []
    if chart.missing:
        extra.append((_Labels("missing", "", chart.lacking), chart.missing, _MISSING))
    if chart.outdated and not chart.is_whole:
        outdated = _Labels("outdated", "", "of it")
        extra.append((outdated, chart.outdated, _MARKS[ChartState.OUTDATED, True]))
    widths = [max(width(label[index]) for label in [header, *labels]) for index in range(3)]
    # What is missing belongs to no table: its amount takes the room of both columns.
    widths[0] = max([widths[0], *(width(label.period) for label, _, _ in extra)])
    widest = max((width(label.amount) for label, _, _ in extra), default=0)
    widths[1] = max(widths[1], widest - widths[2] - 2)
    room = columns - sum(widths) - 3 * 2
    is_stacked = room < _NARROWEST
    cells = min(columns if is_stacked else room, _WIDEST)
    used: dict[Mark, None] = {}

    def line(label: _Labels, cells_text: _Line) -> Iterator[_Line]:
        if not is_stacked:
            blanks = sum(widths) + 4 - widths[0] - 2 - width(label.table) - width(label.amount)
            yield [
                (f"{_padded(label.period, widths[0])}  {label.table}{' ' * blanks}{label.amount}  ", ""),
                *cells_text,
            ]
            return
        yield [(_shortened("  ".join(filter(None, label)), columns), "")]
        yield cells_text

    yield from line(header, [(axis(chart.window, cells, chart.calendar), "")])
    bars = [(label, row_marks(row, chart.window, cells)) for label, row in zip(labels, chart.rows, strict=True)]
    bars += [(label, _missing_marks(ranges, chart.window, cells, mark)) for label, ranges, mark in extra]
    for label, marks in bars:
        used.update(dict.fromkeys(marks))
        styled = [("".join(mark.character for mark in run), mark.style) for mark, run in groupby(marks)]
        yield from line(label, styled)
    yield from _legend(chart, used, columns)


def _labels(row: ChartRow, chart: CoverageChart) -> _Labels:
    taken = f"{row.count(ChartState.TAKEN):,}"
    count = f"{taken} of {row.count():,}" if chart.is_whole else taken
    return _Labels(row.period.name, _shortened(printable(row.table), _LONGEST_NAME), count)


def _legend(chart: CoverageChart, used: dict[Mark, None], columns: int) -> Iterator[_Line]:
    """Yields the meaning of the marks that occur, with the number of periods in a state that needs work."""
    counts = {_MARKS[state, True]: chart.count(state) for state in _COUNTED}
    line: _Line = []
    room = columns
    for mark in (*_MARKS.values(), _MISSING):
        if mark not in used:
            continue
        count = f": {counts[mark]:,}" if counts.get(mark) else ""
        text = f" {mark.meaning}{count}"
        if line and len(text) + 3 > room:
            yield line
            line, room = [], columns
        line += [("  ", "")] if line else []
        line += [(mark.character, mark.style), (text, "")]
        room -= len(text) + 3
    if line:
        yield line


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def _shortened(text: str, columns: int) -> str:
    """Returns the text as one line of at most ``columns`` columns; what is cut off is marked."""
    text = text.replace("\n", "\\n").replace("\t", "\\t")
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) >= columns:
            break
        kept += char
    return f"{kept}…"
