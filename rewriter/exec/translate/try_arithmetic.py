"""Arithmetic that returns NULL in place of an error, for the allow-list of ``expressions``.

Only the operation itself is tried. An error of an operand remains an error.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import MAX_PRECISION, duckdb_type
from rewriter.exec.translate.arithmetic import calculated
from rewriter.exec.translate.expressions import (
    Expressions,
    Scope,
    Translation,
    Typed,
    call,
    functions,
    narrow_literal,
)


def _operands(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[Typed, Typed]:
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    for value in (left, right):
        if not value.type.is_numeric:
            e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return left, right


def _name(e: Expressions, node: exp.Expr, left: Typed, right: Typed) -> str | None:
    return call(str(e.text.called(node)), left.name, right.name)


def _without_overflow(operator: str) -> Translation:
    """Returns the translation of a sum, a difference or a product, which only integers can exceed."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        left, right = _operands(e, node, scope)
        if not (left.type.is_integer and right.type.is_integer):
            return replace(calculated(e, left, right, operator, node), name=_name(e, node, left, right))
        (first, second), type_ = e.cast_to_common_type([left, right], node)
        sql = f"TRY_CAST(CAST({first} AS HUGEINT) {operator} CAST({second} AS HUGEINT) AS {duckdb_type(type_)})"
        return Typed(sql, type_, _name(e, node, left, right))

    return translate


def _without_zero(operator: str) -> Translation:
    """Returns the translation of a division, in which the divisor 0 becomes NULL."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        left, right = _operands(e, node, scope)
        name = _name(e, node, left, right)
        if left.type.is_decimal:
            right = narrow_literal(right)
        divisor = replace(right, sql=f"CASE WHEN {right.sql} = 0 THEN NULL ELSE {right.sql} END", digits=None)
        quotient = calculated(e, left, divisor, operator, node)
        if quotient.type.precision == MAX_PRECISION:
            e.refuse(node, f"{str(e.text.called(node)).upper()} with a result of {quotient.type}")
        return replace(quotient, name=name)

    return translate


_REFUSED = "other than numbers"
FUNCTIONS = functions(
    "Numbers",
    ("try_add(a, b)", _without_overflow("+"), _REFUSED),
    ("try_subtract(a, b)", _without_overflow("-"), _REFUSED),
    ("try_multiply(a, b)", _without_overflow("*"), _REFUSED),
    ("try_divide(a, b)", _without_zero("/"), f"{_REFUSED}; results of 38 digits"),
    ("try_mod(a, b)", _without_zero("%"), f"{_REFUSED}; results of 38 digits"),
)
