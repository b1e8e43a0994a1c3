"""Pages of HTML that need no other file: a fact's coverage, with zoom and tooltips. They load nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rewriter.display.html.coverage_picture import chart_data, chart_svg, html_text

if TYPE_CHECKING:
    from rewriter.planner.model.coverage_chart import CoverageChart


def coverage_page(*charts: CoverageChart) -> str:
    """Returns charts as a page. Without scripts, a reader sees their pictures. O(ranges)."""
    parts: list[str] = []
    for number, chart in enumerate(charts, 1):
        name = "chart" if number == 1 else f"chart{number}"
        parts += [f"<h1>{html_text(chart.title, 200)}</h1>", _chart_html(chart, name)]
    return page(charts[0].title, parts, [resource("chart.js")])


def _chart_html(chart: CoverageChart, name: str) -> str:
    """Returns the place of a chart in a page: its picture, which ``chart.js`` replaces, and its data. ``name`` is the
    id of the place.
    """
    return (
        f'<div class="chart" id="{html_text(name)}">{chart_svg(chart)}</div>'
        f'<script type="application/json" data-chart="{html_text(name)}">{json_text(chart_data(chart))}</script>'
    )


def page(title: str, body: Iterable[str], scripts: Iterable[str], *, policy: Sequence[str] = ()) -> str:
    """Returns a page with a policy by which only these scripts and the style run, and nothing is loaded. ``policy`` are
    further directives, as ``connect-src 'self'``.
    """
    sources, style = [*scripts], resource("page.css")
    directives = [
        "default-src 'none'",
        f"script-src {' '.join(map(_source_digest, sources))}",
        f"style-src {_source_digest(style)}",
        "base-uri 'none'",
        "form-action 'none'",
        *policy,
    ]
    content = "; ".join(directives)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{content}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{html_text(title, 200)}</title><style>{style}</style></head><body>\n"
        f"{''.join(body)}\n{''.join(f'<script>{source}</script>' for source in sources)}</body></html>\n"
    )


def json_text(value: object) -> str:
    """Returns JSON that can stand in a script element: nothing in it ends the element or begins a comment.

    >>> json_text("</script><!--")
    '"\\\\u003c/script\\\\u003e\\\\u003c!--"'
    """
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _source_digest(source: str) -> str:
    """Returns the source of a policy that allows an inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


@cache
def resource(name: str, package: str = "rewriter.display.html") -> str:
    """Returns the text of a file of a package."""
    return files(package).joinpath(name).read_text(encoding="utf-8")
