"""Measures and prints figures."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One row of a table: a label, a duration in seconds, and a note."""

    label: str
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Table:
    title: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True)
class WideTable:
    """A table with several columns of figures, which are texts, and notes below it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def seconds(run: Callable[[], object], repeat: int = 1) -> float:
    """Returns the median of ``repeat`` runs, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def shown(value: float) -> str:
    """Formats seconds for a person: ``0.25 µs``, ``0.81 ms``, ``12.3 s``."""
    if value < 1e-4:
        return f"{value * 1_000_000:.3g} µs"
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"


def ratio(slow: float, fast: float) -> str:
    """Returns how many times faster, as ``12×``."""
    times = slow / fast
    return f"{times:,.0f}×" if times >= 10 else f"{times:.1f}×"


def markdown(tables: Sequence[Table]) -> str:
    """Returns the tables as Markdown."""
    lines: list[str] = []
    for table in tables:
        lines += [f"### {table.title}", "", "| what | time | |", "| --- | ---: | --- |"]
        lines += [f"| {figure.label} | {shown(figure.seconds)} | {figure.note} |" for figure in table.figures]
        lines.append("")
    return "\n".join(lines)


def wide_markdown(table: WideTable) -> str:
    """Returns the table as Markdown, its notes as a list."""
    lines = [f"### {table.title}", "", _row(table.columns), _row(("---", *["---:"] * (len(table.columns) - 1)))]
    lines += [_row(row) for row in table.rows]
    lines += ["", *(f"- {note}" for note in table.notes), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
