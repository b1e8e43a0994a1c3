"""``rewriter coverage FACT``: what is to be loaded, refreshed or checked in a fact, with exit codes for schedulers.

It draws that, too, and with ``--query`` the cover of a query.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection, connection_options
from rewriter.display.terminal.errors import exit_code, write_error
from rewriter.errors import ConflictError, Error
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.planner.model.coverage_chart import CoverageChart
    from rewriter.session import Session


#: The exit codes by what is in the work list; the first that applies.
_CODES = {"MISSING": 3, "OUTDATED": 4, "UNPROVEN": 5}
_COLUMNS = ("state", "table", "period", "from", "to", "periods", "action")


@click.command()
@connection_options
@click.argument("fact", metavar="[FACT]", required=False)
@click.option(
    "--require",
    nargs=2,
    metavar="FROM TO",
    help="The range of time that has to be complete: two bounds, as '2024-01-01' or 'now.day - 7 days'. Default: the "
    "range of a query without a condition on time.",
)
@click.option(
    "--query", metavar="SQL", help="In place of a FACT: draw what this query takes and lacks (--svg, --html)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON object.")
@click.option("--svg", metavar="FILE", help="In place of the list, write a picture (SVG) of what exists; - is stdout.")
@click.option(
    "--html",
    metavar="FILE",
    help="In place of the list, write a page with this picture, zoom, tooltips; - is stdout.",
)
def coverage(
    fact: str | None,
    require: tuple[str, str] | None,
    query: str | None,
    as_json: bool,
    svg: str | None,
    html: str | None,
    **options: Any,
) -> int:
    """List the partitions of a fact to load, refresh or check.

    FACT is the name of the fact: f or db.f.

    Exit codes: 0 if there is nothing to do, and for pictures; 3 if partitions are missing; 4 if none is missing, and
    rollups are outdated; 5 if all of them are unproven rollups.
    """
    pictures = {form: path for form, path in (("svg", svg), ("html", html)) if path is not None}
    for form, path in pictures.items():
        if not path:
            raise click.UsageError(f"--{form} needs the name of a file, or - for stdout.")
    if as_json and pictures:
        raise click.UsageError("--json prints the list; --svg and --html draw a picture instead of it.")
    if query is not None and fact is None:
        if require or not pictures:
            raise click.UsageError(
                "--query draws the time that the query asks for: write --svg or --html, no --require."
            )
        work = partial(_draw_query, query, pictures)
    elif fact is not None and query is None:
        work = partial(_draw_fact, fact, require, pictures) if pictures else partial(_list, fact, require, as_json)
    else:
        raise click.UsageError("Name a fact, or a query with --query.")
    with connection(**options).reading_session("Name the warehouse's directory with -w.") as session:
        return work(session)


def _list(fact: str, require: tuple[str, str] | None, as_json: bool, session: Session) -> int:
    try:
        return _list_work(session, fact, require, as_json)
    except Error as error:
        error.position = None  # The position was in a generated statement.
        raise


def _draw_fact(fact: str, require: tuple[str, str] | None, pictures: Mapping[str, str], session: Session) -> int:
    from rewriter.cli.coverage_pictures import fact_charts

    return _draw(fact_charts(fact, session, require), pictures)


def _draw_query(query: str, pictures: Mapping[str, str], session: Session) -> int:
    from rewriter.cli.coverage_pictures import covers

    try:
        charts = covers(query, session)
    except Error as error:
        write_error(error, query, click.get_current_context().obj)
        return exit_code(error)
    if not charts:
        raise click.UsageError("The query references no cube: there is no cover to draw.")
    return _draw(charts, pictures)


def _draw(charts: Sequence[CoverageChart], pictures: Mapping[str, str]) -> int:
    from rewriter.cli.coverage_pictures import write_picture

    for form, path in pictures.items():
        write_picture(charts, form, path, sys.stdout.write)
    return 0


#: How often the lists are read again because another commit came between.
_MOST_READS = 100


def _rows_of_one_state(session: Session, statements: Mapping[str, str]) -> list[Sequence[object]]:
    """Returns the rows of some statements, each after the key of its statement, of one state of the catalog. It opens
    no transaction, which needs the right to write.

    Raises ``ConflictError`` if others commit all the time.
    """
    for _ in range(_MOST_READS):
        before = session.snapshot().sequence
        rows = [(key.lower(), *row) for key, text in statements.items() for row in session.execute(text).fetch()]
        if session.snapshot().sequence == before:
            return list(rows)
    raise ConflictError("Other transactions commit faster than the work lists can be read.", hint="Run it again.")


def _list_work(session: Session, fact_name: str, require: tuple[str, str] | None, as_json: bool) -> int:
    """Writes the work list of a fact in one snapshot. Returns 0, or the code in ``_CODES``."""
    from rewriter.grammar.families.timelines import ShowWork
    from rewriter.grammar.terms import Literal, parse_name
    from rewriter.grammar.unparse import render

    fact = parse_name(fact_name)
    start, end = (Literal("string", bound) for bound in require) if require else (None, None)
    statements = {state: render(ShowWork(state=state, fact=fact, start=start, end=end)) for state in _CODES}
    rows = _rows_of_one_state(session, statements)
    if as_json:
        work = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
        first, last = require or (None, None)
        import json

        print(printable(json.dumps({"fact": fact_name, "from": first, "to": last, "complete": not rows, "work": work})))
    else:
        from rewriter.display.terminal.rendering import render_lines

        for line in render_lines(_COLUMNS, rows, "table", None):
            print(printable(line))
    states = {row[0] for row in rows}
    return next((code for state, code in _CODES.items() if state.lower() in states), 0)
