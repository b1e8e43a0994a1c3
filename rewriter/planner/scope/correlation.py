"""Detects column capture: whether a query, once moved into another one, would bind one of its columns to the outer
query.

In a subquery of an expression, Spark resolves a column that it does not find inside among the columns outside. Code
that moves a query there must first check that all of its columns are bound inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.planner.scope.output_columns import OutputColumns


def is_correlatable(node: exp.Expr) -> bool:
    """Tests whether a relation is inside a subquery of an expression, or behind LATERAL."""
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


def escaping(query: exp.Expr, output_columns: OutputColumns) -> str | None:
    """Returns a column of the query, as typed, that is not certainly bound by its own relations, or ``None``.

    ``output_columns`` are those of the tree that contains the query.
    """
    columns = (column for column in query.find_all(exp.Column) if not isinstance(column.this, exp.Star))
    return next((column.sql("spark") for column in columns if not _is_bound(column, query, output_columns)), None)


def _is_bound(column: exp.Column, root: exp.Expr, output_columns: OutputColumns) -> bool:
    """Tests whether a relation inside certainly binds the column."""
    table, name = column.table.lower(), column.name.lower()
    for select, sees_list in _scopes(column, root):
        offered = [
            (alias, {known_column.name.lower() for known_column in columns if known_column})
            for alias, columns in output_columns.of_relations(select)
        ]
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
    """Yields the SELECTs whose relations a column sees, innermost first, and whether it sees the aliases of their
    lists.
    """
    node: exp.Expr = column
    in_from = in_condition = False
    while node is not root and node.parent is not None:
        inner, node = node, node.parent
        in_from |= isinstance(node, exp.From | exp.CTE) or (isinstance(node, exp.Join) and inner is node.this)
        in_condition |= isinstance(node, exp.Where | exp.Join)
        if isinstance(node, exp.Select):
            if not in_from:
                yield node, not in_condition
            in_from = in_condition = False
