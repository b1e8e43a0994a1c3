"""Whether a query that is put into another one could take a column of that other one for its own.

In a subquery of an expression, Spark looks for a column that it does not find inside among those outside. Whoever
moves a query there must know that all of its columns are found inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.planner.blocks import CatalogReader
from rewriter.planner.offers import Offers


def is_correlatable(node: exp.Expr) -> bool:
    """Whether a relation stands somewhere in a subquery of an expression, or behind LATERAL."""
    inner, outer = node, node.parent
    while outer is not None:
        if isinstance(outer, exp.Lateral):
            return True
        relation = isinstance(outer, exp.From | exp.CTE | exp.Subquery | exp.SetOperation) or (
            isinstance(outer, exp.Join) and inner.arg_key == "this"
        )
        if isinstance(inner, exp.Query) and not relation:
            return True
        inner, outer = outer, outer.parent
    return False


def escaping(query: exp.Expr, reader: CatalogReader) -> str | None:
    """A column of the query that is not found for certain among its own relations, as it is written, or ``None``."""
    offers = Offers(query, reader)
    columns = (column for column in query.find_all(exp.Column) if not isinstance(column.this, exp.Star))
    return next((column.sql("spark") for column in columns if not _is_bound(column, query, offers)), None)


def _is_bound(column: exp.Column, root: exp.Expr, offers: Offers) -> bool:
    """Whether the column is certainly one of a relation inside."""
    table, name = column.table.lower(), column.name.lower()
    for select, sees_list in _scopes(column, root):
        offered = [(alias, {one.name.lower() for one in known if one}) for alias, known in offers.of(select)]
        qualified = [names for alias, names in offered if table and alias == table]
        if qualified:
            return any(name in names for names in qualified)
        # x.y may be a field of the struct x, too.
        if any((table or name) in names for _, names in offered):
            return True
        if sees_list and not table and any(item.alias.lower() == name for item in select.expressions):
            return True
    return False


def _scopes(column: exp.Column, root: exp.Expr) -> Iterator[tuple[exp.Select, bool]]:
    """The SELECTs whose relations a column sees, innermost first, and whether it sees the aliases of their lists."""
    node: exp.Expr = column
    apart = in_condition = False
    while node is not root and node.parent is not None:
        inner, node = node, node.parent
        apart |= isinstance(node, exp.From | exp.CTE) or (isinstance(node, exp.Join) and inner is node.this)
        in_condition |= isinstance(node, exp.Where | exp.Join)
        if isinstance(node, exp.Select):
            if not apart:
                yield node, not in_condition
            apart = in_condition = False
