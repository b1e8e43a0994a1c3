"""Subqueries that only project and filter: a query over one is a query over the relation that it reads.

``semantics.md``, rule 4: they are inlined before a reference is planned, so that a range, an aggregate or a time
function outside applies to the cube inside. Only the planner's view of the query is inlined; the text keeps its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.sqlglot_trees import children, one_of

#: The clauses of a SELECT that only projects and filters.
_CLAUSES = ("with_", "expressions", "from_", "where", "kind", "hint", "operation_modifiers")
_WRAPPER = ("this", "alias")


def projection_of(node: exp.Expr) -> exp.Select | None:
    """Returns the SELECT in a derived table or the body of a CTE, if it only projects and filters one relation."""
    while isinstance(node, exp.Subquery):
        if any(value and key not in _WRAPPER for key, value in node.args.items()):
            return None
        node = node.this
    if not isinstance(node, exp.Select) or any(value and key not in _CLAUSES for key, value in node.args.items()):
        return None
    sources = relations(node)
    if len(sources) != 1 or not isinstance(sources[0], exp.Table | exp.Subquery):
        return None
    if any(value and key not in ("this", "alias", "db", "catalog") for key, value in sources[0].args.items()):
        return None
    return node if all(_plain(inner) for inner in _computed(node)) else None


def _computed(select: exp.Select) -> Iterator[exp.Expr]:
    """Yields all nodes of the select list and of WHERE, without those inside subqueries."""
    stack: list[exp.Expr] = list(select.expressions)
    where_clause = select.args.get("where")
    if where_clause is not None:
        stack.append(where_clause.this)
    while stack:
        node = stack.pop()
        if not isinstance(node, exp.Query):
            yield node
            stack += children(node)


def _plain(node: exp.Expr) -> bool:
    if isinstance(node, exp.Star):
        return not any(node.args.values())
    if isinstance(node, exp.AggFunc | exp.Window):
        return False
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"):
        return True
    return is_scalar(node)


def own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """Yields all nodes that a block itself evaluates, without the nodes of subqueries and the nodes below FROM's
    relations.
    """
    return descend(select)


def descend(root: exp.Expr) -> Iterator[exp.Expr]:
    """Yields the nodes below ``root``, without the nodes of subqueries, CTEs, relations and hints."""
    stack: list[exp.Expr] = [root]
    while stack:
        for child in children(stack.pop()):
            if not _is_apart(type(child)):
                yield child
                stack.append(child)


#: A hint is parsed separately, and its places are not places of the text.
_is_apart = one_of(exp.With, exp.From, exp.Table, exp.Hint, exp.Query)


def substituted(root: exp.Expr, value_of: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """Returns a copy of ``root`` in which columns are replaced by their values; subqueries keep their columns."""
    copied = root.copy()
    if isinstance(copied, exp.Column):
        return _placed(value_of(copied), copied) or copied
    for node in [inner for inner in descend(copied) if isinstance(inner, exp.Column)]:
        value = _placed(value_of(node), node)
        if value is not None:
            node.replace(value)
    return copied


def _placed(value: exp.Expr | None, column: exp.Column) -> exp.Expr | None:
    """Returns a copy of a column's value; a bare column takes the place in the text of the replaced one.

    Any other value is put in parentheses: ``COUNT(one)`` over ``1 AS one`` is not COUNT(1) where an outer join may put
    NULL in its place.
    """
    if value is None:
        return None
    copied = value.copy()
    if not isinstance(copied, exp.Column):
        return copied if isinstance(copied, exp.Paren) else exp.Paren(this=copied)
    if column.this._meta:
        copied.this.meta.update(column.this.meta)
    return copied
