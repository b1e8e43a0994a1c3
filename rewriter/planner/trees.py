"""Ways through sqlglot's trees: what its own generators answer, as lists, which is most of what planning did."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

from sqlglot import exp

_Node = TypeVar("_Node", bound=exp.Expr)


def children(node: exp.Expr) -> list[exp.Expr]:
    """The nodes directly below a node, in order (``iter_expressions``)."""
    found: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            found.append(value)
        elif isinstance(value, list):
            found += [one for one in value if isinstance(one, exp.Expr)]
    return found


def walk(root: exp.Expr) -> list[exp.Expr]:
    """A node and all below it, breadth first (``walk``)."""
    found = [root]
    for node in found:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                found.append(value)
            elif isinstance(value, list):
                found += [one for one in value if isinstance(one, exp.Expr)]
    return found


def find_all(root: exp.Expr, kind: type[_Node]) -> list[_Node]:
    """The nodes of that kind among a node and all below it, breadth first (``find_all``)."""
    return [node for node in walk(root) if isinstance(node, kind)]


def settle_joins(tree: exp.Expr) -> None:
    """Hangs the joins of ``FROM a JOIN b … SELECT …`` on the SELECT, as those of ``SELECT … FROM a JOIN b`` are.

    sqlglot leaves them on the first relation, where a SELECT that begins as such has none.
    """
    for select in find_all(tree, exp.Select):
        from_ = select.args.get("from_")
        first = from_.this if isinstance(from_, exp.From) else None
        joins = first.args.get("joins") if isinstance(first, exp.Expr) else None
        if first is not None and joins:
            first.set("joins", None)
            select.set("joins", [*joins, *(select.args.get("joins") or ())])


def one_of(*kinds: type[exp.Expr]) -> Callable[[type[exp.Expr]], bool]:
    """Whether a class is one of these or derived from one: asked of every node, and remembered for each class."""
    return cache(lambda kind: issubclass(kind, kinds))  # type: ignore[return-value]  # a class has a hash
