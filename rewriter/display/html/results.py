"""Tables, results, plans and covers as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.display.html.coverage_picture import coverage_svg, html_text
from rewriter.display.terminal.rendering import Row, is_numeric, text_of
from rewriter.errors import Error
from rewriter.terminal_text import printable
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.planner.model.plan import Coverage, Plan
    from rewriter.runtime.result import Result

#: The most rows and columns of a table, and the most characters of a value.
MOST_ROWS, MOST_COLUMNS, LONGEST_VALUE = 50, 100, 500
#: The most characters of the rows that the script of the pages gets.
_MOST_CHARACTERS = 200_000
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


def result_data(result: Result, most: int) -> dict[str, object]:
    """Returns the first rows of a result as JSON values, for the script of the pages: texts are ``printable``, and
    ``right`` says which columns are numbers. Takes no row. Raises the errors of the rows.
    """
    rows, is_all = result.peek(most)
    columns = (result.columns or ())[:MOST_COLUMNS]
    kept: list[list[str]] = []
    room = _MOST_CHARACTERS
    for row in rows:
        texts = [printable(_shortened(text_of(value))) for value in row[:MOST_COLUMNS]]
        room -= sum(map(len, texts))
        if room < 0 and kept:
            break
        kept.append(texts)
    return {
        "columns": [{"name": printable(column.name), "type": column.type} for column in columns],
        "right": [is_numeric([row[index] for row in rows]) for index in range(len(columns))],
        "rows": kept,
        "more": not is_all or len(kept) < len(rows),
        "omitted": len(result.columns or ()) - len(columns),
    }


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


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
