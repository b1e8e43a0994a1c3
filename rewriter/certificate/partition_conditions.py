"""Reads conditions on partition columns, which are comparisons of literals with the values of a partition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from rewriter.certificate.verdicts import NotUnderstood

#: The values of a partition by column, as text. A condition tests them.
Values = Mapping[str, str | None]
Condition = Callable[[Values], bool]

_COMPARISONS: Mapping[type[exp.Expr], Callable[[Any, Any], bool]] = {
    exp.EQ: operator.eq, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt, exp.GTE: operator.ge,
}  # fmt: skip


def read_condition(node: exp.Expr, columns: frozenset[str]) -> Condition:
    """Returns the test of a condition on partition columns, whose values are texts in the order of their type."""
    node = node.unnest()
    if isinstance(node, exp.And | exp.Or):
        left, right = read_condition(node.this, columns), read_condition(node.expression, columns)
        if isinstance(node, exp.And):
            return lambda values: left(values) and right(values)
        return lambda values: left(values) or right(values)
    if isinstance(node, exp.In) and not node.args.get("query"):
        column, options = _column(node.this, columns), [_comparison(exp.EQ, option) for option in node.expressions]
        return lambda values: any(test(values[column]) for test in options)
    if isinstance(node, exp.Between):
        column = _column(node.this, columns)
        low, high = _comparison(exp.GTE, node.args["low"]), _comparison(exp.LTE, node.args["high"])
        return lambda values: low(values[column]) and high(values[column])
    if type(node) not in _COMPARISONS:
        raise NotUnderstood(f"the condition {node.sql('spark')[:80]} of a piece")
    column, test = _column(node.this, columns), _comparison(type(node), node.expression)
    return lambda values: test(values[column])


def _column(node: exp.Expr, columns: frozenset[str]) -> str:
    if not isinstance(node, exp.Column) or node.name.lower() not in columns:
        raise NotUnderstood(f"{node.sql('spark')[:80]} in the condition of a piece")
    return node.name.lower()


def _comparison(kind: type[exp.Expr], literal: exp.Expr) -> Callable[[str | None], bool]:
    """Returns the comparison of a value with a literal; NULL satisfies none. A number is compared with numbers."""
    compare = _COMPARISONS[kind]
    if isinstance(literal, exp.Cast) and isinstance(literal.this, exp.Literal):
        text = literal.this.name
    elif not isinstance(literal, exp.Literal):
        raise NotUnderstood(f"{literal.sql('spark')[:80]} in the condition of a piece")
    elif literal.is_string:
        text = literal.name
    else:
        number = int(literal.name)
        return lambda value: value is not None and compare(int(value), number)
    return lambda value: value is not None and compare(value, text)
