"""Evaluates conditions on partition columns, which are a comparison of literals with the values of a partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from rewriter.certificate.verdicts import NotUnderstood


def holds(node: exp.Expr, values: Mapping[str, str | None]) -> bool:
    """Evaluates a condition on partition columns, whose values are texts in the order of their type."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return holds(node.this, values) and holds(node.expression, values)
    if isinstance(node, exp.Or):
        return holds(node.this, values) or holds(node.expression, values)
    if isinstance(node, exp.In) and not node.args.get("query"):
        value = _column_value(node.this, values)
        return any(_typed(value, option) == _literal_value(option) for option in node.expressions)
    if isinstance(node, exp.Between):
        value = _column_value(node.this, values)
        low, high = node.args["low"], node.args["high"]
        return value is not None and _literal_value(low) <= _typed(value, low) <= _literal_value(high)
    comparisons: Mapping[type[exp.Expr], Any] = {
        exp.EQ: lambda left, right: left == right, exp.LT: lambda left, right: left < right,
        exp.LTE: lambda left, right: left <= right, exp.GT: lambda left, right: left > right,
        exp.GTE: lambda left, right: left >= right,
    }  # fmt: skip
    comparison = comparisons.get(type(node))
    if comparison is None:
        raise NotUnderstood(f"the condition {node.sql('spark')[:80]} of a piece")
    value = _column_value(node.this, values)
    return value is not None and bool(comparison(_typed(value, node.expression), _literal_value(node.expression)))


def _column_value(node: exp.Expr, values: Mapping[str, str | None]) -> str | None:
    if not isinstance(node, exp.Column) or node.name.lower() not in values:
        raise NotUnderstood(f"{node.sql('spark')[:80]} in the condition of a piece")
    return values[node.name.lower()]


def _literal_value(node: exp.Expr) -> Any:
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        return node.this.name
    if not isinstance(node, exp.Literal):
        raise NotUnderstood(f"{node.sql('spark')[:80]} in the condition of a piece")
    return node.name if node.is_string else int(node.name)


def _typed(value: str | None, literal: exp.Expr) -> Any:
    is_number = isinstance(literal, exp.Literal) and not literal.is_string
    return int(value) if is_number and value is not None else value
