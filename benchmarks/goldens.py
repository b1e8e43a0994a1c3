"""The cost of planning compared with parsing: every query of the golden files, planned in the state of its file.

The peer is sqlglot's own parse of the same text, in the same run. A plan includes that parse, too; the overhead is the
rest. Snapshots of the catalog are taken outside of the measured time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlglot

from benchmarks.timing import Figure, Table
from rewriter.errors import Error
from rewriter.golden.golden_file import Case, read_cases
from rewriter.golden.runner import golden_files
from rewriter.grammar.families.queries import Explain, Select
from rewriter.grammar.parser import parse
from rewriter.planner.plan_query import plan_query
from rewriter.session import Session

GOLDENS = Path(__file__).parent.parent / "tests" / "golden"


def measure() -> Table:
    """Returns percentiles over all queries that name a cube and can be planned. Each is the best of seven runs."""
    overheads, parses = [], []
    for planned, parsed in _timings():
        parses.append(parsed)
        overheads.append(planned - parsed)
    overheads.sort()
    parses.sort()

    def at(values: list[float], share: float) -> float:
        return values[min(len(values) - 1, int(share * len(values)))]

    middle = at(overheads, 0.5)
    return Table(
        f"Planning {len(overheads)} golden queries",
        (
            Figure("sqlglot's parse, p50", at(parses, 0.5)),
            Figure("planning on top of it, p50", middle, f"{middle / at(parses, 0.5):.1f}× of the parse"),
            Figure("planning on top of it, p95", at(overheads, 0.95)),
            Figure("planning on top of it, worst", overheads[-1]),
        ),
    )


def _timings() -> Iterator[tuple[float, float]]:
    """Returns the seconds to plan a query and to parse it."""
    for path in golden_files(GOLDENS):
        cases = read_cases(path.read_text(encoding="utf-8")).cases
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
            Session(os.getcwd(), "duckdb") as session,
        ):
            for case in cases:
                if case.command in ("rewrite", "explain"):
                    yield from _case(case, session)
                elif case.command == "sql" and case.options.get("engine", "duckdb") == "duckdb":
                    with contextlib.suppress(Error):
                        for _, result in session.script(case.text):
                            list(result.rows())


def _case(case: Case, session: Session) -> Iterator[tuple[float, float]]:
    try:
        statement = parse(case.text)
        query = statement.query if isinstance(statement, Select | Explain) else None
        session.settings.set("rewriter.partial_data", "true")
        settings, snapshot = session.settings.for_planner(), session.catalog.snapshot()
        if query is None or not plan_query(query, snapshot, settings, {}).coverage.references:
            return
        text = query.text
        yield (
            _best(lambda: plan_query(query, snapshot, settings, {})),
            _best(lambda: sqlglot.parse_one(text, dialect="spark")),
        )
    except (Error, sqlglot.errors.SqlglotError):
        return
    finally:
        session.settings.reset("rewriter.partial_data")


def _best(work: Callable[[], object]) -> float:
    scripts = []
    for _ in range(7):
        started = time.perf_counter()
        work()
        scripts.append(time.perf_counter() - started)
    return min(scripts)
