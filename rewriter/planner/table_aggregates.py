"""Queries for which no row is read: the number of rows of a table, and the bounds and the NULLs of its columns.

A query is recognised by its tree, clause by clause: whatever is not listed here is computed by an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from rewriter.catalog.model.objects import Column, Table
from rewriter.planner.model.plan import TableAggregate
from rewriter.planner.row_limits import only_relation
from rewriter.planner.scope.blocks import Resolved
from rewriter.planner.scope.item_names import item_name
from rewriter.planner.scope.joins import filters
from rewriter.planner.table_pruning import Pruning
from rewriter.planner.text.query_text import QueryText

#: The clauses that such a SELECT may have.
_CLAUSES = frozenset(("expressions", "from_", "where"))
_FUNCTIONS: dict[type[exp.Expr], Literal["COUNT", "MIN", "MAX"]] = {
    exp.Count: "COUNT",
    exp.Min: "MIN",
    exp.Max: "MAX",
}


def table_aggregates(text: QueryText, resolved: Resolved, prunings: Sequence[Pruning]) -> tuple[TableAggregate, ...]:
    """Returns the items of a query if each of them is such an aggregate, over all rows of partitions that the query
    selects; otherwise nothing.
    """
    select = text.tree
    if not isinstance(select, exp.Select) or len(resolved.blocks) != 1 or len(resolved.tables) != 1:
        return ()
    (block,), (reference,), (pruning,) = resolved.blocks, resolved.tables, prunings
    table = reference.table
    if not table.kind.is_in_catalog or block.cubes or reference.node is not only_relation(select):
        return ()
    if not {name for name, value in select.args.items() if value} <= _CLAUSES or pruning.timed:
        return ()
    if not all(id(condition) in pruning.exact_conditions for condition in filters(select, 0)):
        return ()
    names = {reference.node.alias_or_name.lower(), ""}
    items = [_aggregate(item, text, table, names) for item in select.expressions]
    return tuple(item for item in items if item is not None) if None not in items else ()


def _aggregate(item: exp.Expr, text: QueryText, table: Table, names: set[str]) -> TableAggregate | None:
    call = item.this if isinstance(item, exp.Alias) else item
    operands = {name for name, value in call.args.items() if value and name != "big_int"}
    if operands != {"this"}:
        return None
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal):
        is_bare_star = isinstance(call.this, exp.Literal) or not any(call.this.args.values())
        return TableAggregate("COUNT", _name(item, text)) if is_bare_star else None
    function = _FUNCTIONS.get(type(call))
    column = _column(call.this, table, names)
    return None if function is None or column is None else TableAggregate(function, _name(item, text), column)


def _column(node: exp.Expr, table: Table, names: set[str]) -> Column | None:
    if not isinstance(node, exp.Column) or node.db or node.table.lower() not in names:
        return None
    return next((column for column in table.all_columns if column.name.lower() == node.name.lower()), None)


def _name(item: exp.Expr, text: QueryText) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    span = text.call(item)[0]
    return item_name(text.text[span.start : span.end])
