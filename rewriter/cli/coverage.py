"""``rewriter coverage FACT``: what is to be loaded, refreshed or checked in a fact, with exit codes for schedulers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rewriter.terminal.rendering import rendered

if TYPE_CHECKING:
    from rewriter.session import Session

#: The exit codes by what is in the work list; the first that applies.
CODES = {"MISSING": 3, "OUTDATED": 4, "UNPROVEN": 5}
_COLUMNS = ("state", "table", "period", "from", "to", "periods", "action")


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the arguments. The exit code is 0 where nothing is to be done."""
    command.add_argument("fact", metavar="FACT", help="the fact, as f or db.f")
    command.add_argument(
        "--require",
        nargs=2,
        metavar=("FROM", "TO"),
        help="the range that must be complete, as '2024-01-01' or 'now.day - 7 days' (default: that of a query over "
        "all time)",
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace, session: Session, write: Callable[[str], object]) -> int:
    """Writes the work list of a fact in one snapshot. Returns 0, or the code in ``CODES``."""
    from rewriter.grammar.families.timelines import ShowWork
    from rewriter.grammar.terms import Literal
    from rewriter.grammar.typed_names import parse_name
    from rewriter.grammar.unparse import render

    fact = parse_name(arguments.fact)
    start, end = (Literal("string", bound) for bound in arguments.require) if arguments.require else (None, None)
    rows: list[Sequence[object]] = []
    session.execute("START TRANSACTION")
    try:
        for state in CODES:
            statement = render(ShowWork(state=state, fact=fact, start=start, end=end))
            rows += [(state.lower(), *row) for row in session.execute(statement).fetch()]
    finally:
        session.execute("ROLLBACK")
    if arguments.json:
        work = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
        first, last = arguments.require or (None, None)
        write(json.dumps({"fact": arguments.fact, "from": first, "to": last, "complete": not rows, "work": work}))
    else:
        for line in rendered(_COLUMNS, rows, "table", None):
            write(line)
    states = {row[0] for row in rows}
    return next((code for state, code in CODES.items() if state.lower() in states), 0)
