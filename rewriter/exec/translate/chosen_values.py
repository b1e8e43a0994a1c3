"""Aggregates that return one of the values of a group: FIRST, MAX_BY, MODE and similar ones."""

from __future__ import annotations

from rewriter.exec.sql_types import VOID
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule, chosen_value
from rewriter.exec.translate.expressions import Expressions, Scope, call


def _chosen(function: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        if aggregate.order is not None:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} WITHIN GROUP")
        value, ignore_nulls = chosen_value(e, aggregate, scope)
        if value.type == VOID:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of NULL")
        row_test = f"{value.sql} IS NOT NULL" if ignore_nulls else ""
        name = call(chosen_name(aggregate), value.name)
        return Aggregate(f"{function}({{0}}){{1}}", value.sql, value.type, name, row_test)

    return rule


def chosen_name(aggregate: AggregateCall) -> str:
    """Returns the name of FIRST or LAST in a column's name. Before IGNORE NULLS, Spark calls FIRST_VALUE first."""
    forgets = bool(aggregate.ignore_nulls) and aggregate.function in ("first_value", "last_value")
    return aggregate.function.removesuffix("_value") if forgets else aggregate.function


def _by(function: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        if len(aggregate.node.expressions) == 3:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of several values (a third argument)")
        value, key = (e.translate(argument, scope) for argument in aggregate.arguments(e, 2))
        if VOID in (value.type, key.type):
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of NULL")
        name = call(aggregate.function, value.name, key.name)
        return Aggregate(f"{function}({{0}}){{1}}", f"{value.sql}, {key.sql}", value.type, name)

    return rule


RULES: dict[str, AggregateRule] = {
    "first": _chosen("first"),
    "first_value": _chosen("first"),
    "any_value": _chosen("first"),
    "last": _chosen("last"),
    "last_value": _chosen("last"),
    # DuckDB's max_by passes over the rows whose value is NULL.
    "max_by": _by("arg_max_null"),
    "min_by": _by("arg_min_null"),
}
_CHOSEN = "DISTINCT; FILTER with OVER"
LINES = (
    ("first(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("first_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("last(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("last_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("any_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("max_by(x, key)", "DISTINCT; a third argument"),
    ("min_by(x, key)", "DISTINCT; a third argument"),
)
