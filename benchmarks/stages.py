"""Where the time of a query goes: the stages of known and of new texts of the four questions on DuckDB."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rewriter
from benchmarks.flights import unpack_flights
from benchmarks.peers import EVENTS_OF_CSV, HOURS_OF_EVENTS, build, over_cube
from benchmarks.questions import QUESTIONS
from benchmarks.timing import WideTable
from rewriter.dbapi import Connection

RUNS = 30
#: The stages in their order, and the functions that are their work. Work of a later stage inside of one is not counted.
STAGES: dict[str, tuple[str, ...]] = {
    "parse the statement": ("rewriter.session.parse",),
    "plan": ("rewriter.statements.query.select.plan_query",),
    "choose the cover": ("rewriter.planner.cube_reference.choose",),
    "look up files": ("rewriter.statements.query.select._relation",),
    "translate": ("rewriter.exec.duckdb.engine._Translations.of",),
    "DuckDB: parse": (
        "rewriter.exec.duckdb.engine.DuckDBEngine._define_relations",
        "rewriter.exec.duckdb.engine.DuckDBEngine._parsed",
    ),
    "DuckDB: bind and run": ("rewriter.exec.duckdb.engine.DuckDBEngine._table",),
    "fetch rows": ("rewriter.dbapi.cursor.Cursor.fetchall",),
}
_REST = "the rest"


class _Stopwatch:
    """The seconds of each stage in one statement, without those of other stages inside of it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._stack: list[float] = []

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, whose time is counted."""

        def run(*arguments: Any, **options: Any) -> Any:
            self._stack.append(0.0)
            start = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                seconds = time.perf_counter() - start
                self.seconds[stage] += seconds - self._stack.pop()
                if self._stack:
                    self._stack[-1] += seconds

        return run


@contextmanager
def _watched() -> Iterator[_Stopwatch]:
    """Counts the time of all stages while the block runs, in this thread."""
    import importlib

    watch = _Stopwatch()
    with ExitStack() as stack:
        for stage, paths in STAGES.items():
            for path in paths:
                module, _, name = path.rpartition(".")
                owner_name = ""
                if module.rpartition(".")[2][:1].isupper() or module.rpartition(".")[2].startswith("_"):
                    module, _, owner_name = module.rpartition(".")
                owner: Any = importlib.import_module(module)
                owner = getattr(owner, owner_name) if owner_name else owner
                stack.enter_context(patch.object(owner, name, watch.timed(stage, getattr(owner, name))))
        yield watch


def _medians(connection: Connection, texts: Callable[[], str]) -> dict[str, float]:
    cursor, watches = connection.cursor(), []
    for _ in range(RUNS):
        text = texts()
        with _watched() as watch:
            start = time.perf_counter()
            cursor.execute(text)
            cursor.fetchall()
            whole = time.perf_counter() - start
        watch.seconds[_REST] = whole - sum(watch.seconds.values())
        watches.append(watch.seconds)
    return {stage: statistics.median(seconds[stage] for seconds in watches[3:]) for stage in (*STAGES, _REST)}


def measure(folder: Path) -> WideTable:
    """Returns the median milliseconds of each stage: of a known text and of new texts, by question."""
    import duckdb

    csv, events, hours = (folder / name for name in ("flights.csv", "events.parquet", "hours.parquet"))
    unpack_flights(csv)
    with duckdb.connect() as database:
        database.execute(EVENTS_OF_CSV.format(csv=csv, events=events))
        database.execute(HOURS_OF_EVENTS.format(events=events, hours=hours))
    build(folder / "stages", str(hours))
    columns: list[dict[str, float]] = []
    numbers = itertools.count()
    with rewriter.connect(folder / "stages", engine="duckdb") as connection:
        for question in QUESTIONS:
            sql = over_cube(question)
            columns.append(_medians(connection, lambda sql=sql: sql))  # type: ignore[misc]
            columns.append(_medians(connection, lambda sql=sql: f"{sql} -- {next(numbers)}"))  # type: ignore[misc]
    rows = [
        (stage, *(f"{1000 * column[stage]:.2f}{_bar(1000 * column[stage])}" for column in columns))
        for stage in (*STAGES, _REST)
    ]
    rows.append(("together", *(f"{1000 * sum(column.values()):.1f}" for column in columns)))
    heads = [f"{question.name}, {text}" for question in QUESTIONS for text in ("known", "new")]
    return WideTable(
        "Where the time of a query goes, in milliseconds",
        ("stage", *heads),
        tuple(rows),
        (f"Medians of {RUNS - 3} runs on DuckDB; a block is half a millisecond. A new text ends in a new comment.",),
    )


def _bar(milliseconds: float) -> str:
    blocks = "█" * round(milliseconds * 2)
    return f" {blocks}" if blocks else ""
