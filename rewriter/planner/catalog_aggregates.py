"""Queries that the catalog can compute: the number of rows of a table, and the ends of its first partition column.

A query is recognised by its tree, clause by clause: whatever is not listed here is computed by an engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from rewriter.catalog.keys.paths import is_discovered
from rewriter.catalog.model.objects import Column, Table
from rewriter.planner.model.plan import CatalogAggregate
from rewriter.planner.row_limits import only_relation
from rewriter.planner.scope.blocks import Resolved
from rewriter.planner.scope.item_names import item_name
from rewriter.planner.scope.joins import filters
from rewriter.planner.table_pruning import Pruning
from rewriter.planner.text.query_text import QueryText

#: The clauses that such a SELECT may have.
_CLAUSES = frozenset(("expressions", "from_", "where"))
#: The types whose stored values are exactly what an engine returns.
_TYPES = frozenset(("string", "date", "tinyint", "smallint", "int", "bigint"))
_ENDS: dict[type[exp.Expr], Literal["MIN", "MAX"]] = {exp.Min: "MIN", exp.Max: "MAX"}


def catalog_aggregates(
    text: QueryText, resolved: Resolved, prunings: Sequence[Pruning]
) -> tuple[CatalogAggregate, ...]:
    """Returns the items of a query if the catalog can compute each of them over exactly the rows that the query
    selects; otherwise nothing.
    """
    select = text.tree
    if not isinstance(select, exp.Select) or len(resolved.blocks) != 1 or len(resolved.tables) != 1:
        return ()
    (block,), (reference,), (pruning,) = resolved.blocks, resolved.tables, prunings
    table = reference.table
    is_listed = table.id >= 0 and not table.external and not is_discovered(table)
    if not is_listed or block.cubes or reference.node is not only_relation(select):
        return ()
    if not {name for name, value in select.args.items() if value} <= _CLAUSES or pruning.timed:
        return ()
    if not all(id(condition) in pruning.exact_conditions for condition in filters(select, 0)):
        return ()
    names = {reference.node.alias_or_name.lower(), ""}
    items = [_aggregate(item, text, table, names) for item in select.expressions]
    return tuple(item for item in items if item is not None) if None not in items else ()


def _aggregate(item: exp.Expr, text: QueryText, table: Table, names: set[str]) -> CatalogAggregate | None:
    call = item.this if isinstance(item, exp.Alias) else item
    operands = {name for name, value in call.args.items() if value and name != "big_int"}
    if operands != {"this"}:
        return None
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star | exp.Literal):
        is_bare_star = isinstance(call.this, exp.Literal) or not any(call.this.args.values())
        return CatalogAggregate("COUNT", _name(item, text)) if is_bare_star else None
    end = _ENDS.get(type(call))
    column = _first_column(call.this, table, names)
    return None if end is None or column is None else CatalogAggregate(end, _name(item, text), column)


def _first_column(node: exp.Expr, table: Table, names: set[str]) -> Column | None:
    if not isinstance(node, exp.Column) or node.db or node.table.lower() not in names or not table.partition_columns:
        return None
    column = table.partition_columns[0]
    is_named = node.name.lower() == column.name.lower()
    return column if is_named and column.type.lower() in _TYPES else None


def _name(item: exp.Expr, text: QueryText) -> str:
    if isinstance(item, exp.Alias):
        return item.alias
    span = text.call(item)[0]
    return item_name(text.text[span.start : span.end])
