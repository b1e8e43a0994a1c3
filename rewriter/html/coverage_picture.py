"""The cover of a query as a picture: a bar for each table and period, and one for what is missing or outdated."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from rewriter.planner.explain import counted, part_ranges
from rewriter.planner.model.plan import ReferencePlan
from rewriter.terminal.pictures import window_of
from rewriter.terminal_text import printable
from rewriter.timeline.ranges import RangeSet, TimeRange

_WIDTH, _LABELS, _ROW, _BAR = 720, 240, 20, 12
#: Mid tones, which are visible on light and dark pages. Texts have the colour of the page.
_COVERED, _MISSING, _OUTDATED = "#4c8dd6", "#d9534f", "#d99a2b"
#: Ranges that are nearer than this are drawn as one, in pixels. So a bar has few rectangles, whatever the cover.
_JOINED = 0.5
_LONGEST = 34
_NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}


def coverage_svg(reference: ReferencePlan) -> str:
    """Returns the picture as SVG, which is well-formed XML. O(ranges)."""
    window = window_of(reference.requested)
    title = html_text(f"{reference.cube}: {reference.calendar.shown(reference.requested)}", 100)
    bars = [(f"{part.table} {part.period.name}", part_ranges(part), _COVERED, "covered") for part in reference.parts]
    if reference.missing:
        bars.append(("missing", reference.missing, _MISSING, "missing"))
    if reference.outdated:
        bars.append(("of it outdated", reference.outdated, _OUTDATED, "outdated"))
    shown = bars if window is not None else []
    height = _ROW * (len(shown) + 2)
    parts = [f'<text x="0" y="14" fill="currentColor" font-weight="bold">{title}</text>']
    if window is not None:
        start, end = (html_text(reference.calendar.text(at)) for at in (window.start, window.end))
        parts.append(f'<text x="{_LABELS}" y="{_ROW + 14}" fill="currentColor">{start}</text>')
        parts.append(f'<text x="{_WIDTH}" y="{_ROW + 14}" fill="currentColor" text-anchor="end">{end}</text>')
        for number, (label, ranges, colour, kind) in enumerate(shown, 2):
            parts.append(
                f'<text x="0" y="{_ROW * number + 14}" fill="currentColor">{html_text(label, _LONGEST)}</text>'
            )
            parts.append(
                f'<g class="{kind}" fill="{colour}"><title>{html_text(label)}: {counted(len(ranges), "range")}</title>'
                + "".join(_rectangles(ranges, window, _ROW * number + 4))
                + "</g>"
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12" role="img">{"".join(parts)}</svg>'
    )


def _rectangles(ranges: RangeSet, window: TimeRange, top: int) -> Iterator[str]:
    """Yields the rectangles of a bar. A range that is shorter than a pixel is one pixel wide."""
    scale = (_WIDTH - _LABELS) / (window.end - window.start)
    drawn: list[tuple[float, float]] = []
    for range_ in ranges & RangeSet.of(window):
        left, right = ((at - window.start) * scale + _LABELS for at in (range_.start, range_.end))
        if drawn and left - drawn[-1][1] < _JOINED:
            drawn[-1] = drawn[-1][0], right
        else:
            drawn.append((left, right))
    for left, right in drawn:
        width = max(1.0, right - left)
        yield f'<rect x="{min(left, _WIDTH - width):.2f}" y="{top}" width="{width:.2f}" height="{_BAR}"/>'


def html_text(text: str, longest: int = 500) -> str:
    """Returns a text escaped for HTML and XML, without characters that XML does not allow, and not too long."""
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return escape(printable(shown).translate(_NO_CHARACTERS))
