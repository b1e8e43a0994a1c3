"""Columns of a grouped query that are neither grouped nor aggregated: the error names them as they were typed.

DuckDB finds them, too, but calls them by the names of the translation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from rewriter.errors import Error
from rewriter.exec.translate.aggregates import is_aggregate
from rewriter.exec.translate.expressions import Expressions, Scope


def check_ungrouped(
    e: Expressions, parts: Iterable[exp.Expr], keys: frozenset[str], scope: Scope, *, grouped: bool
) -> None:
    """Raises ``EngineError`` MISSING_AGGREGATION for a column in ``parts`` that no key of GROUP BY contains;
    MISSING_GROUP_BY if the query is not ``grouped``, so that it is one group because of an aggregate or HAVING.
    """
    own_columns = {column.sql for source in scope.sources for column in source.columns}
    for column in (column for part in parts for column in _outside_aggregates(e, part)):
        try:
            sql = e.translate(column, scope).sql
        except Error:
            continue  # no column of this query
        if sql in own_columns and not any(sql in key for key in keys):
            name = e.text.shown(column)
            if not grouped:
                e.text.wrong(
                    f"The column {name} is beside an aggregate or HAVING, in a query without GROUP BY. Write GROUP BY "
                    f"{name}, or MAX({name}).",
                    "MISSING_GROUP_BY", "42803", column, column.name,
                )  # fmt: skip
            e.text.wrong(
                f"The column {name} is neither in GROUP BY nor in an aggregate. Group by it, or write MAX({name}).",
                "MISSING_AGGREGATION", "42803", column, column.name,
            )  # fmt: skip


def _outside_aggregates(e: Expressions, node: exp.Expr) -> Iterator[exp.Column]:
    """Returns the columns of an expression outside its subqueries, lambdas and aggregates."""
    if isinstance(node, exp.Column):
        if not isinstance(node.this, exp.Star):
            yield node
        return
    if isinstance(node, exp.Query | exp.Lambda) or _aggregates(e, node):
        return
    for child in node.iter_expressions():
        yield from _outside_aggregates(e, child)


def _aggregates(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node is an aggregate, perhaps with FILTER, IGNORE NULLS or WITHIN GROUP. One with OVER is a
    function of groups.
    """
    inner = node
    while isinstance(inner, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        inner = inner.this
    is_call = isinstance(inner, exp.Expr) and (is_aggregate(e, inner) or isinstance(inner, exp.AggFunc))
    return is_call and not (isinstance(node.parent, exp.Window) and node.arg_key == "this")
