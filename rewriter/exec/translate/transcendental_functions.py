"""Exponentials, logarithms and powers, for the allow-list of ``expressions``.

The engines may round their last digit differently. Spark's logarithms of a base are quotients of natural logarithms,
and a logarithm of 0 or less is NULL.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import DOUBLE
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.math_functions import number


def _doubles(e: Expressions, node: exp.Expr, scope: Scope, min_count: int, max_count: int) -> list[Typed]:
    values = [e.translate(argument, scope) for argument in e.arguments(node, min_count, max_count)]
    numbers = [number(e, node, value) for value in values]
    return [Typed(e.cast(value, DOUBLE, node), DOUBLE, value.name) for value in numbers]


def _of_one(template: str, name: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        (value,) = _doubles(e, node, scope, 1, 1)
        return Typed(template.format(value.sql), DOUBLE, call(name, value.name))

    return translate


def _log(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``log(base, x)``, and ``log(x)`` to the base e."""
    *bases, value = _doubles(e, node, scope, 1, 2)
    if not bases:
        return Typed(_LN.format(value.sql), DOUBLE, call("LOG", "E()", value.name))
    (base,) = bases
    sql = f"CASE WHEN {base.sql} > 0 AND {value.sql} > 0 THEN ln({value.sql}) / ln({base.sql}) END"
    return Typed(sql, DOUBLE, call("LOG", base.name, value.name))


def _power(name: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value, exponent = _doubles(e, node, scope, 2, 2)
        return Typed(f"pow({value.sql}, {exponent.sql})", DOUBLE, call(name, value.name, exponent.name))

    return translate


_LN = "CASE WHEN {0} > 0 THEN ln({0}) END"
FUNCTIONS = functions(
    "Numbers",
    ("exp(x)", _of_one("exp({0})", "EXP")),
    ("ln(x)", _of_one(_LN, "ln")),
    ("log([base, ]x)", _log),
    ("log10(x)", _of_one("CASE WHEN {0} > 0 THEN log10({0}) END", "LOG10")),
    ("log2(x)", _of_one("CASE WHEN {0} > 0 THEN ln({0}) / ln(CAST(2 AS DOUBLE)) END", "LOG2")),
    ("cbrt(x)", _of_one("cbrt({0})", "CBRT")),
    ("power(x, y)", _power("POWER")),
    ("pow(x, y)", _power("pow")),
)
