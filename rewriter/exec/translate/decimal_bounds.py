"""Comparisons of an integer with a decimal literal, which Spark turns into comparisons of integers.

Spark rounds the literal: ``i < 1.5`` is ``i < 2``, which its column's name shows. A literal beyond BIGINT makes the
comparison TRUE or FALSE, also where the integer is NULL.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN
from rewriter.exec.translate.expressions import Typed, infix
from rewriter.planner.text.rounded_bounds import MIRRORED, rounded_bound

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def with_decimal_literal(
    nodes: tuple[exp.Expr, exp.Expr], values: tuple[Typed, Typed], operator: str, sql: str
) -> Typed | None:
    """Returns the comparison ``sql`` as Spark shows and evaluates it, or None if it is not of an integer with a decimal
    literal by ``<``, ``<=``, ``>`` or ``>=``.
    """
    if operator not in MIRRORED:
        return None
    bounds = [_decimal_literal(node, value) for node, value in zip(nodes, values, strict=True)]
    for integer, literal in ((0, 1), (1, 0)):
        bound = bounds[literal]
        if bound is None or not values[integer].type.is_integer:
            continue
        # The operator with the integer on its left.
        seen = operator if integer == 0 else MIRRORED[operator]
        holds = rounded_bound(bound, seen)
        if not isinstance(holds, bool):
            names = [value.name for value in values]
            names[literal] = str(holds)
            return Typed(sql, BOOLEAN, infix(operator, *names))
        # The comparison stays, so that an aggregate in it makes a query of one row.
        return Typed(f"({sql} OR TRUE)" if holds else f"({sql} AND FALSE)", BOOLEAN, str(holds).lower())
    return None


def _decimal_literal(node: exp.Expr, value: Typed) -> Decimal | None:
    is_column = isinstance(node.unnest(), exp.Column)
    if is_column or not value.type.is_decimal or value.name is None or not _NUMBER.fullmatch(value.name):
        return None
    return Decimal(value.name)
