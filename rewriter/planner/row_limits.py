"""Queries whose result needs few files of their table.

A query is recognised by its tree, clause by clause: whatever is not listed here is read the ordinary way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.planner.scope.blocks import Resolved, renames
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.text.sqlglot_trees import walk

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

#: The clauses that a SELECT may have whose LIMIT any rows satisfy.
_LIMITED = frozenset(("expressions", "from_", "limit"))
#: The parts that the name of the table may have: no TABLESAMPLE, no version, no join.
_RELATION = frozenset(("this", "db", "alias"))


def row_limit(text: QueryText, resolved: Resolved, parameters: Mapping[str, object]) -> int | None:
    """Returns the number of rows of its only table that a query needs, whichever they are; ``None`` if that is not
    certain.
    """
    select = text.tree
    if not isinstance(select, exp.Select) or len(resolved.blocks) != 1 or len(resolved.tables) != 1:
        return None
    (block,), (reference,) = resolved.blocks, resolved.tables
    if block.cubes or not reference.table.kind.is_in_catalog or reference.node is not only_relation(select):
        return None
    clauses = {name for name, value in select.args.items() if value}
    if clauses != _LIMITED or not all(map(_is_row_by_row, select.expressions)):
        return None
    return _row_count(select.args["limit"], parameters)


def only_relation(select: exp.Select) -> exp.Expr | None:
    """Returns the relation of a FROM that is a name, perhaps with an alias, and nothing else."""
    source = select.args.get("from_")
    relation = None if source is None else source.this
    if not isinstance(relation, exp.Table) or renames(relation):
        return None
    return relation if {name for name, value in relation.args.items() if value} <= _RELATION else None


def _is_row_by_row(item: exp.Expr) -> bool:
    """Tests whether an item gives one value for each row: no aggregate, no window, no generator."""
    return all(is_scalar(node) for node in walk(item))


def _row_count(limit: exp.Expr, parameters: Mapping[str, object]) -> int | None:
    """Returns the number of rows of a LIMIT with a literal or a bound parameter; ``None`` for any other."""
    value = limit.args.get("expression") if isinstance(limit, exp.Limit) else None
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isascii() and value.this.isdigit():
        return int(value.this)
    bound = parameters.get(value.name) if isinstance(value, exp.Placeholder) else None
    return bound if type(bound) is int and bound >= 0 else None
