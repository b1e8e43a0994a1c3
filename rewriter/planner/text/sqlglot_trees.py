"""Traversals of sqlglot's trees that return lists: sqlglot's own generators took most of the planning time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeVar

from sqlglot import exp

from rewriter.grammar.lexer import Token

_Node = TypeVar("_Node", bound=exp.Expr)


def children(node: exp.Expr) -> list[exp.Expr]:
    """Returns the nodes directly below a node, in order (``iter_expressions``)."""
    nodes: list[exp.Expr] = []
    for value in node.args.values():
        if isinstance(value, exp.Expr):
            nodes.append(value)
        elif isinstance(value, list):
            nodes += [element for element in value if isinstance(element, exp.Expr)]
    return nodes


def walk(root: exp.Expr) -> list[exp.Expr]:
    """Returns a node and all below it, breadth first (``walk``)."""
    nodes = [root]
    for node in nodes:  # which grows meanwhile
        for value in node.args.values():
            if isinstance(value, exp.Expr):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [element for element in value if isinstance(element, exp.Expr)]
    return nodes


def find_all(root: exp.Expr, kind: type[_Node]) -> list[_Node]:
    """Returns the nodes of that kind among a node and all below it, breadth first (``find_all``)."""
    return [node for node in walk(root) if isinstance(node, kind)]


def settle(tree: exp.Expr) -> list[exp.Expr]:
    """Settles the joins and the long chains of a tree, and returns all its nodes, breadth first."""
    nodes = walk(tree)
    has_changed = settle_joins(nodes)
    has_changed |= settle_chains(nodes)
    return walk(tree) if has_changed else nodes


def settle_joins(nodes: Iterable[exp.Expr]) -> bool:
    """Attaches the joins of ``FROM a JOIN b … SELECT …`` to the SELECT, like those of ``SELECT … FROM a JOIN b``.

    sqlglot leaves them on the first relation, where a query that begins with SELECT has none. Joins in parentheses that
    come first, ``FROM (a JOIN b …) JOIN c``, are joins without parentheses. Returns whether there were any.
    """
    has_changed = False
    for select in nodes:
        if not isinstance(select, exp.Select):
            continue
        from_ = select.args.get("from_")
        first = from_.this if isinstance(from_, exp.From) else None
        while isinstance(from_, exp.From) and (inner := _in_parentheses(first)) is not None:
            assert first is not None
            select.set("joins", [*(first.args.get("joins") or ()), *(select.args.get("joins") or ())])
            from_.set("this", inner)
            first, has_changed = inner, True
        joins = first.args.get("joins") if isinstance(first, exp.Expr) else None
        if first is not None and joins:
            first.set("joins", None)
            select.set("joins", [*joins, *(select.args.get("joins") or ())])
            has_changed = True
    return has_changed


def _in_parentheses(relation: exp.Expr | None) -> exp.Expr | None:
    """Returns the relation, perhaps with joins, of which ``relation`` adds no more than parentheses; else ``None``."""
    if not isinstance(relation, exp.Subquery) or not isinstance(relation.this, exp.Table | exp.Subquery):
        return None
    return (
        None if any(value and key not in ("this", "joins") for key, value in relation.args.items()) else relation.this
    )


#: How deep parentheses may nest: sqlglot needs several of Python's thousand frames for each, and takes long to run out
#: of them where there are many more.
_DEEPEST = 1000


def nests_too_deeply(tokens: Iterable[Token]) -> bool:
    """Tests whether the tokens of a text nest deeper than sqlglot can read."""
    depth = 0
    for token in tokens:
        if token.text == "(" or token.text == "[":
            depth += 1
            if depth > _DEEPEST:
                return True
        elif token.text == ")" or token.text == "]":
            depth -= 1
    return False


#: From how many operands on a chain of ANDs or ORs is a balanced tree.
_LONG_CHAIN = 64


def settle_chains(nodes: Iterable[exp.Expr]) -> bool:
    """Balances the trees of long chains of AND and of OR, as Spark's parser does.

    sqlglot builds a tree as deep as such a chain is long. Code that visits the ancestors of each operand, or recurses
    into the operands, would take time quadratic in the chain's length. Returns whether there were any.
    """
    has_changed = False
    for node in nodes:
        kind = type(node)
        if isinstance(node, exp.And | exp.Or) and type(node.parent) is not kind:
            operands = _operands(node, kind)
            if len(operands) >= _LONG_CHAIN:
                middle = (len(operands) - 1) // 2
                node.set("this", _balanced(kind, operands[: middle + 1]))
                node.set("expression", _balanced(kind, operands[middle + 1 :]))
                has_changed = True
    return has_changed


def _operands(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """Returns the operands of a chain of one operator, in order; an expression in parentheses is one operand."""
    operands: list[exp.Expr] = []
    stack = [node]
    while stack:
        operand = stack.pop()
        if type(operand) is kind:
            stack += (operand.args["expression"], operand.args["this"])
        else:
            operands.append(operand)
    return operands


def _balanced(kind: type[exp.Expr], operands: list[exp.Expr]) -> exp.Expr:
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) - 1) // 2
    return kind(this=_balanced(kind, operands[: middle + 1]), expression=_balanced(kind, operands[middle + 1 :]))


#: The types that sqlglot's names for Spark's TIMESTAMP build.
TIMESTAMPS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def is_of_type(data_type: exp.Expr, *types: exp.DType) -> bool:
    """Tests whether a data type, as of a cast, is one of ``types``, with any parameters (``DataType.is_type``, which
    parses the names of types for each call).
    """
    return isinstance(data_type, exp.DataType) and data_type.this in types


def one_of(*kinds: type[exp.Expr]) -> Callable[[type[exp.Expr]], bool]:
    """Returns a test whether a class is one of these or derived from one. Results are cached for each class."""
    return cache(lambda kind: issubclass(kind, kinds))  # type: ignore[return-value]  # a class has a hash


def cast_type(cast: exp.Cast) -> str:
    """Returns the type of a cast as the catalog spells it: ``decimal(10,2)``."""
    return cast.to.sql(dialect="spark").lower().replace(" ", "")
