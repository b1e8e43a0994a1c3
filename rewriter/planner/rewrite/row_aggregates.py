"""Warnings for AVG, MIN, MAX, median … of a SUM or COUNT measure: their values are base rows, each of several events.

By the law the result is that over the base rows. A user who means the events gets a number that they did not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.model.objects import Aggregate, Cube, Measure
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.rewrite.additivity import MeasureOf, in_window, is_aggregate
from rewriter.planner.text.sqlglot_trees import find_all, one_of, walk

#: Aggregates whose result depends on what a row is. COUNT is not one of them: it counts events, or is refused.
_AVERAGES = (exp.Avg,)
_EXTREMES = (exp.Min, exp.Max)
_is_of_rows = one_of(
    *_AVERAGES, *_EXTREMES, exp.Median, exp.Mode, exp.Quantile, exp.ApproxQuantile, exp.PercentileCont,
    exp.PercentileDisc, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Skewness,
    exp.Kurtosis,
)  # fmt: skip
#: Other names of such aggregates, which sqlglot does not know.
_MEAN, _STD = "MEAN", "STD"


@dataclass(frozen=True)
class RowAggregate:
    """An aggregate ``node`` of one SUM or COUNT ``measure`` that is computed over base rows."""

    node: exp.Expr
    measure: Measure


def row_aggregates(
    nodes: Iterable[exp.Expr], cube: Cube, measure_of: MeasureOf, rewritten: Collection[int]
) -> Iterator[RowAggregate]:
    """Yields the aggregates of a block that are computed over base rows although a row holds several events.

    A cube without a COUNT measure yields none: its rows may be events. Neither do calls over several measures, such as
    ``AVG(ms / views)``, nor functions of windows, nor the calls in ``rewritten``, by identity, which are sums.
    """
    if not cube.counters:
        return
    for node in nodes:
        if not _is_of_base_rows(node) or id(node) in rewritten or in_window(node):
            continue
        call = node.parent if isinstance(node.parent, exp.WithinGroup) else node
        measures = {measure for column in find_all(call, exp.Column) if (measure := measure_of(column)) is not None}
        is_nested = any(is_aggregate(inner_node) for inner_node in walk(node) if inner_node is not node)
        if len(measures) == 1 and not is_nested:
            measure = measures.pop()
            if measure.aggregate.rollup_function == "SUM":
                yield RowAggregate(node, measure)


def _is_of_base_rows(node: exp.Expr) -> bool:
    return _is_of_rows(type(node)) or _is_named(node, _MEAN) or _is_named(node, _STD)


def _is_named(node: exp.Expr, name: str) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == name


def row_aggregate_warnings(
    aggregates: Iterable[RowAggregate], cube: Cube, tables: Collection[str], words: Callable[[exp.Expr], str]
) -> tuple[str, ...]:
    """Returns a warning for each text of an aggregate. ``tables`` are read; without one, no row is there."""
    if not tables:
        return ()
    names = " and ".join(dict.fromkeys(tables))
    warnings = {}
    for aggregate in aggregates:
        held = "sums" if aggregate.measure.aggregate is Aggregate.SUM else "counts"
        text = words(aggregate.node)
        fact = f"{text} is over the rows of {names}, which hold {held} of several events each."
        warnings[text] = f"{fact} {_advice(aggregate, cube)}"
    return tuple(warnings.values())


def _advice(aggregate: RowAggregate, cube: Cube) -> str:
    """Returns the declaration or the query that computes what the user probably means."""
    node, measure = aggregate.node, aggregate.measure
    name = quote_identifier(measure.name)
    if measure.aggregate is Aggregate.COUNT:
        return f"For the counts of groups, write SUM({name}) in a subquery with GROUP BY."
    if isinstance(node, _EXTREMES):
        extreme, adjective = ("MIN", "smallest") if isinstance(node, exp.Min) else ("MAX", "largest")
        return f"For the {adjective} value of an event, declare a measure {extreme}."
    if not isinstance(node, _AVERAGES) and not _is_named(node, _MEAN):
        return "For the values of events, the base of the fact must be a table of events (RAW)."
    if measure.counted_by is not None:
        return f"Write AVG({name}), which is SUM({name}) / SUM({quote_identifier(measure.counted_by)}), for events."
    return _counting(measure, cube)


def _counting(measure: Measure, cube: Cube) -> str:
    """Returns how an average over events is declared, or written without a declaration."""
    name, counter = quote_identifier(measure.name), cube.count_measure
    declared = f"{name} {measure.type.upper()} MEASURE SUM COUNTED BY"
    if counter is None:
        return f"Declare which COUNT measure counts its values: {declared} …."
    if measure.not_null:
        return f"Declare {declared} {quote_identifier(counter.name)} NOT NULL, or write SUM({name}) / COUNT(*)."
    return f"Declare {declared} …, or write SUM({name}) / COUNT(*) if {name} is never NULL."
