"""Charts of coverage as SVG: a bar for each table and period, and one for what is missing or outdated.

Each state has a colour, and a place in the height of its bar, so that no state is told by its colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rewriter.planner.cover.fact_coverage import Readable
from rewriter.planner.model.coverage_chart import (
    ChartRow,
    ChartState,
    CoverageChart,
    is_open,
    overlapping,
    reference_chart,
)
from rewriter.terminal_text import counted, printable
from rewriter.timeline.civil import DAY, SECOND
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.planner.cover.fact_coverage import Readiness
    from rewriter.planner.model.plan import ReferencePlan
    from rewriter.timeline.calendars import Calendar, Period

#: A picture has labels, then the plot, up to ``_RIGHT``, then numbers, up to ``_WIDTH``.
_LABELS, _RIGHT, _WIDTH, _ROW, _BAR = 240, 720, 860, 20, 12
#: The most characters of a number beside the plot.
_LONGEST_NUMBER = 24
#: Partitions are separated by a line if they are at least this wide, in pixels.
_SEPARATED = 5.0
#: Ranges that are nearer than this are drawn as one, in pixels. So a bar has few rectangles, whatever the cover.
_JOINED = 0.5
_LONGEST = 34
#: How a pixel is drawn of which a part exists.
_PART = ' fill-opacity="0.55"'
_NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


class Shape(NamedTuple):
    """The look of a state: its colour, its place in the bar (from the top, and its height, as shares of the bar's
    height), and its name in the legend. The colours are mid tones, which are visible on light and dark pages.
    """

    colour: str
    top: float
    height: float
    name: str


#: What is drawn later lies above.
_SHAPES = {
    ChartState.DROPPED: Shape("#8a8f98", 0.0, 0.15, "dropped"),
    ChartState.OUTSIDE: Shape("#8a8f98", 0.85, 0.15, "outside of its storage's time"),
    ChartState.EXISTING: Shape("#8fb3dd", 0.3, 0.4, "exists"),
    ChartState.TAKEN: Shape("#3b7dd8", 0.0, 1.0, "taken"),
    ChartState.OPEN: Shape("#3fa36b", 0.4, 0.2, "filled by a stream"),
    ChartState.UNPROVEN: Shape("#a06cd5", 0.0, 0.5, "unproven"),
    ChartState.INCOMPLETE: Shape("#c9822b", 0.25, 0.75, "incomplete"),
    ChartState.OUTDATED: Shape("#d9a227", 0.5, 0.5, "outdated"),
    ChartState.DIFFERING: Shape("#d9534f", 0.25, 0.5, "differs from its base"),
}
MISSING = Shape("#d9534f", 0.0, 1.0, "missing")
#: The margin of a file, in pixels.
_MARGIN = 10
#: A page has the colour of the text; a file has none around it.
_FILE_STYLE = (
    "<style>svg{color:#1f2328;background:#fff}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3;background:#0d1117}}</style>"
)


class _Bar(NamedTuple):
    """A part of a row, in one look. ``kind`` is its class."""

    kind: str
    ranges: RangeSet
    shape: Shape
    title: str


class _Row(NamedTuple):
    """A line of a picture: bars over each other, the instants at which a partition follows another, and a number."""

    label: str
    bars: list[_Bar]
    bounds: list[int]
    number: str


def coverage_svg(reference: ReferencePlan) -> str:
    """Returns the cover of a reference as SVG, which is well-formed XML. O(ranges)."""
    return chart_svg(reference_chart(reference))


def chart_svg(chart: CoverageChart, *, is_file: bool = False) -> str:
    """Returns a chart as SVG, which is well-formed XML. O(ranges).

    ``is_file`` gives it colours of its own for text and background; otherwise they are the colours of the page around
    it.
    """
    return charts_svg([chart], is_file=is_file)


def charts_svg(charts: Sequence[CoverageChart], *, is_file: bool = False) -> str:
    """Returns charts below each other as one SVG, as ``chart_svg`` draws each."""
    parts: list[str] = []
    height = 0
    for chart in charts:
        drawn, lines = _drawing(chart)
        content = "".join(drawn)
        parts.append(content if height == 0 else f'<g transform="translate(0 {height + _ROW})">{content}</g>')
        height += _ROW * (lines + bool(height))
    margin, style = (_MARGIN, _FILE_STYLE) if is_file else (0, "")
    width, height = _WIDTH + 2 * margin, height + 2 * margin
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-margin} {-margin} {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" role="img">'
        f"{style}{''.join(parts)}</svg>"
    )


def _drawing(chart: CoverageChart) -> tuple[list[str], int]:
    """Returns the parts of a chart's picture, and the number of its lines."""
    parts = [f'<text x="0" y="14" fill="currentColor" font-weight="bold">{html_text(chart.title, 100)}</text>']
    if chart.window is None:
        return [*parts, f'<text x="0" y="{_ROW + 14}" fill="currentColor">{chart.emptiness}</text>'], 2
    start, end = (html_text(chart.calendar.text(at)) for at in (chart.window.start, chart.window.end))
    parts.append(f'<text x="{_LABELS}" y="{_ROW + 14}" fill="currentColor">{start}</text>')
    parts.append(f'<text x="{_RIGHT}" y="{_ROW + 14}" fill="currentColor" text-anchor="end">{end}</text>')
    parts.append(_at_the_right(_ROW + 14, "taken of existing" if chart.is_whole else "taken"))
    rows = list(_rows(chart, chart.window))
    for line, row in enumerate(rows, 2):
        top = _ROW * line
        parts.append(f'<text x="0" y="{top + 14}" fill="currentColor">{html_text(row.label, _LONGEST)}</text>')
        parts += [_group(bar, chart.window, top + 4) for bar in row.bars]
        parts += _separators(row.bounds, chart.window, top + 4)
        parts.append(_at_the_right(top + 14, row.number))
    used = [
        shape for shape in (*_SHAPES.values(), MISSING) if any(bar.shape is shape for row in rows for bar in row.bars)
    ]
    lines = len(rows) + 2
    if chart.is_whole:
        parts += _legend(used, lines)
        lines += 1 + (len(used) - 1) // 3 if used else 0
    return parts, lines


def _at_the_right(y: int, text: str) -> str:
    shown = html_text(text, _LONGEST_NUMBER)
    return f'<text x="{_WIDTH}" y="{y}" fill="currentColor" text-anchor="end">{shown}</text>'


def _rows(chart: CoverageChart, window: TimeRange) -> Iterator[_Row]:
    for row in chart.rows:
        label = f"{_without_middle(row.table, _LONGEST - 1 - len(row.period.name))} {row.period.name}"
        taken = f"{row.count(ChartState.TAKEN):,}"
        number = f"{taken} of {row.count():,}" if chart.is_whole else taken
        yield _Row(label, list(_bars(row)), _bounds(row, window), number)
    if chart.missing:
        bar = _Bar("missing", chart.missing, MISSING, f"missing: {chart.lacking}")
        yield _Row("missing", [bar], [], chart.lacking)
    if chart.outdated and not chart.is_whole:
        title = f"of it outdated: {counted(len(chart.outdated), 'range')}"
        bar = _Bar("outdated", chart.outdated, _SHAPES[ChartState.OUTDATED], title)
        yield _Row("of it outdated", [bar], [], "")


def _bounds(row: ChartRow, window: TimeRange) -> list[int]:
    """Returns the instants at which a taken partition follows another, if the partitions are wide enough to be told
    apart. There are few.
    """
    runs = row.ordinals.get(ChartState.TAKEN, ())
    if row.count(ChartState.TAKEN) * _SEPARATED > _RIGHT - _LABELS:
        return []
    starts = [(row.period.start(at - 1), row.period.start(at)) for run in runs for at in range(run.start + 1, run.end)]
    return [start for before, start in starts if (start - before) * _scale(window) >= _SEPARATED]


def _without_middle(name: str, longest: int) -> str:
    """Returns a name of at most ``longest`` characters: names of tables often differ in their end."""
    if len(name) <= longest:
        return name
    return f"{name[: longest // 2]}…{name[len(name) - (longest - 1 - longest // 2) :]}"


def _bars(row: ChartRow) -> Iterator[_Bar]:
    for state, shape in _SHAPES.items():
        if state in row.ordinals:
            title = f"{row.table} {row.period.name}: {shape.name}, {counted(row.count(state), 'partition')}"
            yield _Bar(state.value, row.ranges(state), shape, title)


def _group(bar: _Bar, window: TimeRange, top: int) -> str:
    y, height = top + bar.shape.top * _BAR, max(2.0, bar.shape.height * _BAR)
    is_good = bar.shape in (_SHAPES[ChartState.TAKEN], _SHAPES[ChartState.EXISTING])
    rectangles = "".join(
        f'<rect x="{span.left:.2f}" y="{y:g}" width="{span.right - span.left:.2f}" height="{height:g}"'
        f"{_PART if span.is_part else ''}/>"
        for span in _spans(bar.ranges, window, shows_holes=is_good)
    )
    return f'<g class="{bar.kind}" fill="{bar.shape.colour}"><title>{html_text(bar.title)}</title>{rectangles}</g>'


def _separators(bounds: Sequence[int], window: TimeRange, top: int) -> Iterator[str]:
    lines = "".join(
        f'<rect x="{(at - window.start) * _scale(window) + _LABELS - 0.5:.2f}" y="{top}" width="1" height="{_BAR}"/>'
        for at in bounds
        if window.start < at < window.end
    )
    if lines:
        yield f'<g class="bounds" fill="currentColor" fill-opacity="0.6">{lines}</g>'


def _scale(window: TimeRange) -> float:
    """Returns the pixels of a microsecond."""
    return (_RIGHT - _LABELS) / (window.end - window.start)


class _Span(NamedTuple):
    """A rectangle of a bar, in pixels. ``is_part`` says that it has holes that are narrower than a pixel."""

    left: float
    right: float
    is_part: bool = False


def _spans(ranges: RangeSet, window: TimeRange, *, shows_holes: bool) -> list[_Span]:
    """Returns the rectangles of a bar, at most two for a pixel. A range that is shorter than a pixel is one pixel wide.

    Holes that are too narrow, or that such a pixel hides, are hidden. With ``shows_holes``, their pixels are drawn in
    part.
    """
    scale = _scale(window)
    spans: list[_Span] = []
    end = 0.0
    for range_ in ranges & RangeSet.of(window):
        left, right = ((at - window.start) * scale + _LABELS for at in (range_.start, range_.end))
        if not spans or left - spans[-1].right >= _JOINED:
            left_shown = min(left, _RIGHT - 1.0)
            spans.append(_Span(left_shown, max(right, left_shown + 1.0)))
        elif not shows_holes:
            spans[-1] = spans[-1]._replace(right=max(spans[-1].right, right))
        else:
            last, first, following = spans[-1], math.floor(end), math.floor(left) + 1
            if last.is_part or last.left >= first:
                spans[-1] = _Span(last.left, max(last.right, following), is_part=True)
            else:
                spans[-1] = last._replace(right=first)
                spans.append(_Span(first, following, is_part=True))
            if right > following:
                spans.append(_Span(following, right))
        end = right
    return spans


def _legend(shapes: list[Shape], line: int) -> Iterator[str]:
    for number, shape in enumerate(shapes):
        x, top = 240 * (number % 3), _ROW * (line + number // 3) + 4
        y, height = top + shape.top * _BAR, max(2.0, shape.height * _BAR)
        yield f'<rect x="{x}" y="{y:g}" width="16" height="{height:g}" fill="{shape.colour}"/>'
        yield f'<text x="{x + 22}" y="{top + 10}" fill="currentColor">{html_text(shape.name)}</text>'


def html_text(text: str, longest: int = 500) -> str:
    """Returns a text escaped for HTML and XML, without characters that XML does not allow, and not too long."""
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return escape(printable(shown).translate(_NO_CHARACTERS))


# A chart of coverage as JSON, for the script of the pages. Ranges are triples of numbers, and no period is listed.

#: An instant or a distance in seconds. Calendars of zones and partitions have whole ones.
_Seconds = int | float
#: The title of a query with many ranges would fill the page.
_LONGEST_TITLE = 300


def chart_data(chart: CoverageChart) -> dict[str, object]:
    """Returns the values that ``chart.js`` draws: texts are ``printable``, and times are in seconds since 1970.

    The ranges of a state are ``gap, length, periods`` one after the other; the first gap begins at the window's start.
    O(ranges).
    """
    window = chart.window
    data: dict[str, object] = {"title": _title(chart), "zone": printable(chart.calendar.zone)}
    if window is None:
        return {**data, "window": None, "rows": [], "emptiness": chart.emptiness}
    rows = [_row(row, window) for row in chart.rows]
    unit = chart.base
    if chart.missing:
        amounts = [0 if unit is None or is_open(gap) else len(overlapping(unit, gap)) for gap in chart.missing]
        ranges = _triples(chart.missing.ranges, amounts, window)
        rows.append(
            {
                "label": "missing",
                "period": "" if unit is None else unit.name,
                "amount": chart.lacking,
                "states": {"missing": ranges},
            }
        )
    return {
        **data,
        "window": [_seconds(window.start), _seconds(window.end)],
        "clock": _clock(chart.calendar, window),
        "rows": rows,
        "shapes": {
            **{state.value: _shape(shape, state.meaning) for state, shape in _SHAPES.items()},
            "missing": _shape(MISSING, "no query gets rows of it"),
        },
    }


def _title(chart: CoverageChart) -> str:
    title = printable(chart.title)
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _row(row: ChartRow, window: TimeRange) -> Mapping[str, object]:
    starts = row.period.start
    states = {}
    for state in _SHAPES:
        ordinals = row.ordinals.get(state, ())
        times = [(starts(run.start), starts(run.end), len(run)) for run in ordinals]
        kept = [(TimeRange(start, end), count) for start, end, count in times if start < end]
        if kept:
            states[state.value] = _triples([time for time, _ in kept], [count for _, count in kept], window)
    return {
        "label": printable(f"{row.table} {row.period.name}"),
        "fact": printable(row.fact),
        "storage": printable(row.storage),
        "period": row.period.name,
        "amount": f"{row.count(ChartState.TAKEN):,} taken of {row.count():,}",
        "states": states,
    }


def _triples(ranges: Iterable[TimeRange], counts: Sequence[int], window: TimeRange) -> list[_Seconds]:
    numbers: list[_Seconds] = []
    last = window.start
    for range_, count in zip(ranges, counts, strict=True):
        numbers += [_seconds(range_.start - last), _seconds(range_.end - range_.start), count]
        last = range_.end
    return numbers


def _seconds(us: int) -> _Seconds:
    whole, rest = divmod(us, SECOND)
    return us / SECOND if rest else whole


def _clock(calendar: Calendar, window: TimeRange) -> list[list[_Seconds]]:
    """Returns the offsets from UTC: ``[from, offset]`` in order; the first holds from the start on."""
    start = window.start - 2 * DAY
    changes = [[_seconds(start), _seconds(calendar.offset(start))]]
    for change in calendar.transitions(start + 1, window.end + 2 * DAY):
        changes.append([_seconds(change.instant), _seconds(change.after)])
    return changes


def shape_names() -> dict[str, str]:
    """Returns the names of the states of partitions, as a legend has them."""
    return {state.value: shape.name for state, shape in _SHAPES.items()}


def _shape(shape: Shape, meaning: str) -> Mapping[str, object]:
    return {"top": shape.top, "height": shape.height, "name": shape.name, "meaning": meaning}


# The time that queries can read, as a calendar.

#: The units of cells, and the periods of the rows that they stand in. Rows of years are decades.
_CELL_UNITS = (
    (UpdatePeriod.HOURLY, UpdatePeriod.DAILY),
    (UpdatePeriod.DAILY, UpdatePeriod.MONTHLY),
    (UpdatePeriod.MONTHLY, UpdatePeriod.YEARLY),
    (UpdatePeriod.YEARLY, None),
)
#: The characters of a date that name a row or a cell.
_NAME_LENGTHS = {UpdatePeriod.DAILY: 10, UpdatePeriod.MONTHLY: 7, UpdatePeriod.YEARLY: 4}


def calendar_data(
    readiness: Readiness, base: Period, calendar: Calendar, window: TimeRange | None = None, *, most: int
) -> dict[str, object] | None:
    """Returns which time can be read as rows of cells: hours of days, days of months, months of years, or years. The
    unit is the shortest one, not shorter than the base period, of which there are at most ``most``; of years there may
    be more. ``None`` for no time.

    A row is its name, its column of the first cell, and its cells: name, state, start and end in seconds since 1970,
    the first gap as a text, and how many others there are. O(cells · log ranges + ranges).
    """
    if window is None:
        if not readiness.asked:
            return None
        window = TimeRange(readiness.asked.ranges[0].start, readiness.asked.ranges[-1].end)
    units = [(calendar.of(kind), row_kind) for kind, row_kind in _CELL_UNITS if kind >= base.kind] or [
        (calendar.of(UpdatePeriod.YEARLY), None)
    ]
    unit, row_kind = next(
        (pair for pair in units if len(overlapping(pair[0], window)) <= most),
        units[-1],
    )
    cells = overlapping(unit, window)
    starts = unit.starts(range(cells.start, cells.end + 1))
    names = [text[: _NAME_LENGTHS.get(unit.kind)] for text in calendar.texts(starts)]
    rows: dict[str, tuple[int, list[list[object]]]] = {}
    for number, (start, end) in enumerate(pairwise(starts)):
        row_name, column = _row_place(unit, cells.start + number, row_kind, calendar, names[number])
        _, row = rows.setdefault(row_name, (column, []))
        if start < end:
            row.append(_cell(names[number], TimeRange(start, end), readiness, calendar))
    return {
        "unit": unit.name,
        "rows": [{"name": name, "column": column, "cells": row} for name, (column, row) in rows.items()],
    }


def _row_place(
    unit: Period, ordinal: int, row_kind: UpdatePeriod | None, calendar: Calendar, name: str
) -> tuple[str, int]:
    """Returns the name of the row that a cell stands in, and its column there."""
    if row_kind is None:
        year = int(name[:4])
        return f"{year // 10 * 10}s", year % 10
    row = calendar.of(row_kind)
    start = row.floor(unit.start(ordinal))
    return calendar.text(start)[: _NAME_LENGTHS[row_kind]], ordinal - unit.ordinal(start)


def _cell(name: str, time: TimeRange, readiness: Readiness, calendar: Calendar) -> list[object]:
    state = readiness.readable(time)
    gaps = () if state in (None, Readable.WHOLE) else readiness.gaps_in(time)
    texts = [f"{calendar.shown(gap.time)}: {printable(gap.reason)}" for gap in gaps[:1]]
    more = [f"and {len(gaps) - 1:,} more"] if len(gaps) > 1 else []
    return [name, state.value if state else "", _seconds(time.start), _seconds(time.end), *texts, *more]
