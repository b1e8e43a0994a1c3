"""Pages of HTML that need no other file: a fact's coverage, with zoom and tooltips. They load nothing from anywhere."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from rewriter.display.html.coverage_picture import chart_data, chart_svg, coverage_svg, html_text
from rewriter.display.terminal.rendering import Row, is_numeric, text_of
from rewriter.errors import Error
from rewriter.planner.model.coverage_chart import CoverageChart
from rewriter.planner.model.plan import Coverage, Plan
from rewriter.runtime.result import Result
from rewriter.uris import mask_credentials


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


# Tables, results, plans and covers as HTML.

#: The most rows and columns of a table, and the most characters of a value.
MOST_ROWS, MOST_COLUMNS, LONGEST_VALUE = 50, 100, 500
_LONGEST_SQL = 20_000
#: The most references to cubes whose covers are drawn.
MOST_PICTURES = 10


def result_html(result: Result) -> str:
    """Returns warnings, the first rows that were not fetched yet, and pictures of the covers. Takes no row.

    Of a result that is streamed, it computes one batch beyond the shown rows at most. An error of the rows is shown.
    """
    notes: list[str] = []
    parts = list(_warnings(result.warnings))
    if result.columns is None:
        count = f", {result.rowcount:,} rows" if result.rowcount >= 0 else ""
        parts.append(f"<p>{html_text(result.kind)}: OK{count}</p>")
    else:
        try:
            rows, is_all = result.peek(MOST_ROWS)
        except Error as error:
            parts.append(f"<p><b>Error:</b> {html_text(error.headline)}</p>")
        else:
            parts.append(_table_html([column.name for column in result.columns], rows))
            total = f" of {result.rowcount:,}" if result.rowcount > len(rows) and not is_all else ""
            more = "" if is_all else f"{total}; more rows follow"
            notes.append(f"{len(rows):,} {'row' if len(rows) == 1 else 'rows'}{more}")
            if len(result.columns) > MOST_COLUMNS:
                notes.append(f"the first {MOST_COLUMNS} of {len(result.columns):,} columns")
    parts += [f"<p>{html_text('; '.join(notes))}</p>"] if notes else []
    parts += _pictures(result.coverage)
    return _block(parts)


def plan_html(plan: Plan) -> str:
    """Returns the warnings of a plan, the rewritten text, and pictures of the covers."""
    text = f"<pre>{html_text(mask_credentials(plan.sql), _LONGEST_SQL)}</pre>"
    return _block([*_warnings(plan.warnings), text, *_pictures(plan.coverage)])


def coverage_html(coverage: Coverage) -> str:
    """Returns what is missing, and a picture of each cover."""
    missing = coverage.missing
    text = f"<p><b>Missing:</b> {html_text(', '.join(missing[:MOST_ROWS]))}{_more(len(missing))}</p>"
    return _block([*([text] if missing else []), *_pictures(coverage)] or ["<p>The query reads no cube.</p>"])


def _table_html(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Returns a table of rows that are few. Numbers stand to the right."""
    names, rows = names[:MOST_COLUMNS], [tuple(row)[:MOST_COLUMNS] for row in rows]
    right = [is_numeric([row[index] for row in rows]) for index in range(len(names))]
    header = "".join(
        f'<th style="{_align(to_right)}">{html_text(name)}</th>' for name, to_right in zip(names, right, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(value, to_right) for value, to_right in zip(row, right, strict=True)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object, to_right: bool) -> str:
    text = html_text(text_of(value), LONGEST_VALUE)
    return f'<td style="{_align(to_right)}">{f"<i>{text}</i>" if value is None else text}</td>'


def _align(to_right: bool) -> str:
    return "text-align: right" if to_right else "text-align: left; white-space: pre-wrap"


def _warnings(warnings: Iterable[str]) -> Iterator[str]:
    for warning in warnings:
        yield f"<p><b>Warning:</b> {html_text(warning)}</p>"


def _pictures(coverage: Coverage) -> Iterator[str]:
    for reference in coverage.references[:MOST_PICTURES]:
        yield coverage_svg(reference)
    if len(coverage.references) > MOST_PICTURES:
        yield f"<p>{len(coverage.references) - MOST_PICTURES} more covers are not drawn.</p>"


def _more(count: int) -> str:
    return f" and {count - MOST_ROWS:,} more" if count > MOST_ROWS else ""


def _block(parts: Sequence[str]) -> str:
    return f"<div>{''.join(parts)}</div>"


# The method ``_repr_html_`` of results, plans and covers, by which notebooks show them.
#
# Their classes stand below the renderer and cannot import it, so ``connect`` gives them the method.


def display_as_html() -> None:
    """Gives the classes of results, plans and covers the method. Idempotent."""
    for displayed in (Result, Plan, Coverage):
        setattr(displayed, "_repr_html_", html_of)  # noqa: B010 - mypy knows no such attribute.


def html_of(value: object) -> str | None:
    """Returns a result, plan or cover as HTML; ``None`` for any other object."""
    # Loaded when it is used.

    if isinstance(value, Result):
        return result_html(value)
    if isinstance(value, Plan):
        return plan_html(value)
    return coverage_html(value) if isinstance(value, Coverage) else None
