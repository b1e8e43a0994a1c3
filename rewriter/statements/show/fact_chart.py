"""The chart of a fact that a command or a page names."""

from __future__ import annotations

from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.errors import DataError, only_ours
from rewriter.grammar.terms import Name
from rewriter.grammar.typed_names import parse_name
from rewriter.planner.cover.fact_chart import fact_chart
from rewriter.planner.model.coverage_chart import CoverageChart
from rewriter.planner.model.plan import Settings
from rewriter.runtime.statement_context import single
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import resolve_bound


def named_fact_chart(
    name: str, snapshot: Snapshot, settings: Settings, bounds: tuple[str, str] | None = None
) -> CoverageChart:
    """Returns the chart of the fact ``f`` or ``db.f``, over all time or between two bounds, as SHOW COVERAGE has them.

    Raises ``ParseError`` for what is no name, ``AnalysisError`` FACT_NOT_FOUND, and ``DataError`` for a bound that is
    no time, and INVALID_TIME_RANGE for bounds in the wrong order. O(ranges).
    """
    with only_ours():
        typed = parse_name(name)
        parts = typed.parts if len(typed.parts) > 1 else (snapshot.current, *typed.parts)
        fact = snapshot.fact(single(Name(parts)))
        if bounds is None:
            return fact_chart(fact, snapshot, settings)
        start, end = (resolve_bound(bound, settings.now, fact.calendar) for bound in bounds)
        if start > end:
            raise DataError(
                f"The range begins at {fact.calendar.text(start)}, after its end at {fact.calendar.text(end)}.",
                condition="INVALID_TIME_RANGE",
                hint="Swap the bounds.",
            )
        requested = RangeSet.of(TimeRange(start, end)) if start < end else RangeSet.EMPTY
        return fact_chart(fact, snapshot, settings, requested)
