"""A chart of coverage as JSON, for the script of the pages. Ranges are triples of numbers, and no period is listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rewriter.display.html.coverage_picture import MISSING, SHAPES, Shape
from rewriter.planner.model.coverage_chart import ChartRow, ChartState, CoverageChart, is_open, overlapping
from rewriter.terminal_text import printable
from rewriter.timeline.calendars import Calendar
from rewriter.timeline.civil import DAY, SECOND
from rewriter.timeline.ranges import TimeRange

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
            **{state.value: _shape(shape, state.meaning) for state, shape in SHAPES.items()},
            "missing": _shape(MISSING, "no query gets rows of it"),
        },
    }


def _title(chart: CoverageChart) -> str:
    title = printable(chart.title)
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _row(row: ChartRow, window: TimeRange) -> Mapping[str, object]:
    starts = row.period.start
    states = {}
    for state in SHAPES:
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


def _shape(shape: Shape, meaning: str) -> Mapping[str, object]:
    return {"top": shape.top, "height": shape.height, "name": shape.name, "meaning": meaning}
