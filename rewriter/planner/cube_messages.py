"""Errors and warnings of a reference to a cube, and the user's words in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import SupportsInt

from sqlglot import exp

from rewriter.catalog.model.objects import Cube
from rewriter.errors import AnalysisError, InternalError, Span
from rewriter.planner.cover.choose_facts import (
    Choice,
    Demand,
    missing_columns,
    nearest_aligned,
    timeless_outside,
)
from rewriter.planner.scope.blocks import CatalogReader, CubeSource
from rewriter.planner.text.query_text import QueryText
from rewriter.planner.time.time_usage import TimeUse
from rewriter.timeline.civil import DAY, HOUR, MINUTE


def lag_warnings(choice: Choice, demand: Demand, now: SupportsInt, cube: Cube) -> Iterator[str]:
    """Yields a warning that says how far the data ends before now, for a range computed from now with an open end."""
    newest = choice.newest
    if not demand.from_now or choice.end is None or newest is None:
        return
    instant = int(now)
    if newest < choice.base.floor(instant):
        text = cube.calendar.text
        yield f"{cube.name} ends at {text(newest)}, {_duration(instant - newest)} before now ({text(instant)})"


def _duration(length: int) -> str:
    """Returns a length of time in its two greatest units, rounded down."""
    parts = []
    for name, unit in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        count, length = divmod(length, unit)
        if count:
            parts.append(f"{count} {name}{'' if count == 1 else 's'}")
    return " ".join(parts[:2]) or "less than a minute"


def timeless_warnings(choice: Choice, reader: CatalogReader) -> Iterator[str]:
    for table in timeless_outside(reader, choice.facts):
        yield f"the rows of {table} without a time are left out: its storage is limited to a window of time"


def no_candidate(text: QueryText, source: CubeSource, demand: Demand, time: TimeUse) -> AnalysisError:
    lacking = {fact.name: missing_columns(fact, demand) for fact in source.facts}
    if all(lacking.values()):
        fact_texts = "; ".join(f"{name} lacks {', '.join(columns)}" for name, columns in lacking.items())
        return AnalysisError(
            f"No fact of the cube {source.cube.name} has all required columns: {fact_texts}.",
            condition="NO_CANDIDATE_FACT",
            object=source.cube.name,
        )
    base = min(fact.base_period for fact in source.facts if not lacking[fact.name])
    unaligned = next(r for r in demand.exact_ranges if not (base.is_aligned(r.start) and base.is_aligned(r.end)))
    range_text = source.cube.calendar.shown(unaligned)
    call = next((call for call, ranges in time.calls if unaligned in ranges.ranges), None)
    return AnalysisError(
        f"time_range_in promises exactness, but {range_text} does not consist of whole {base.name} periods.",
        condition="UNALIGNED_TIME_RANGE",
        position=text.place(text.call(call)[0]) if call is not None else None,
        object=source.cube.name,
        hint=f"The nearest range of whole periods is {nearest_aligned(unaligned, base, source.cube.calendar)}.",
    )


def words(text: QueryText, node: exp.Expr) -> str:
    """Returns the user's own words for a node, shortened."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Select):
        return "SELECT …"
    span: Span | None = text.span_of(node)
    if span is None:
        return node.key.upper()
    if isinstance(node, exp.Func | exp.Cast | exp.Extract) and not (node._meta and "start" in node.meta):
        span = text.enclosing_call(span) or span
    elif isinstance(node, exp.Func):
        with suppress(InternalError):  # a function without parentheses
            span = text.call(node)[0]
    words = " ".join(text.text[span.start : span.end].split())
    return words if len(words) <= 60 else words[:57] + "…"
