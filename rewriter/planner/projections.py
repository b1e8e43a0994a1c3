"""Subqueries that only project and filter: a query over one is a query over what it reads.

``semantics.md``, rule 4: they are inlined before a reference is planned, so that a range, an aggregate or a time
function outside finds the cube inside. Only the planner's view of the query is inlined; the text keeps its shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from rewriter.planner.joins import relations
from rewriter.planner.scalars import is_scalar
from rewriter.planner.trees import children, one_of

#: What a SELECT that only projects and filters may hold.
_CLAUSES = ("with_", "expressions", "from_", "where", "kind", "hint", "operation_modifiers")
_WRAPPER = ("this", "alias")


def projection_of(node: exp.Expr) -> exp.Select | None:
    """The SELECT in a derived table or the body of a CTE, if it only projects and filters one relation."""
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
    """All nodes of the select list and of WHERE; what subqueries in them compute is their own."""
    stack: list[exp.Expr] = list(select.expressions)
    where = select.args.get("where")
    if where is not None:
        stack.append(where.this)
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
    """All nodes of a block that are evaluated in it: not those of subqueries, nor those below FROM's own relations."""
    return descend(select)


def descend(root: exp.Expr) -> Iterator[exp.Expr]:
    """The nodes below ``root``, without those of subqueries, of CTEs, of relations and of hints."""
    stack: list[exp.Expr] = [root]
    while stack:
        for child in children(stack.pop()):
            if not _is_apart(type(child)):
                yield child
                stack.append(child)


#: A hint is read by itself, and its places are not places of the text.
_is_apart = one_of(exp.With, exp.From, exp.Table, exp.Hint, exp.Query)


def substituted(root: exp.Expr, value_of: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """A copy of ``root`` in which columns are replaced by their values; subqueries keep theirs."""
    copied = root.copy()
    if isinstance(copied, exp.Column):
        return _placed(value_of(copied), copied) or copied
    for node in [found for found in descend(copied) if isinstance(found, exp.Column)]:
        value = _placed(value_of(node), node)
        if value is not None:
            node.replace(value)
    return copied


def _placed(value: exp.Expr | None, column: exp.Column) -> exp.Expr | None:
    """A copy of a column's value; a bare column stands in the text where the replaced one does.

    Anything else is put in parentheses: ``COUNT(one)`` over ``1 AS one`` is no COUNT(1) where an outer join may put
    NULL in its place.
    """
    if value is None:
        return None
    copied = value.copy()
    if not isinstance(copied, exp.Column):
        return exp.Paren(this=copied)
    if column.this._meta:
        copied.this.meta.update(column.this.meta)
    return copied
