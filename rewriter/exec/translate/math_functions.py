"""Functions of numbers, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, DOUBLE, MAX_PRECISION, decimal
from rewriter.exec.translate.arithmetic import EXACT_SIGN, calculated, digits_rounded, without_overflow
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions

#: A double below 2^53 has 16 digits before the point.
_MOST_ROUNDED = MAX_PRECISION - 17


def literal_int(e: Expressions, node: exp.Expr) -> int:
    """Returns the value of a literal integer. Anything else is refused."""
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if not isinstance(literal, exp.Literal) or literal.args.get("is_string") or not str(literal.this).isdigit():
        e.refuse(node, f"The argument {e.text.shown(node)}, which is not a literal integer,")
    return sign * int(str(literal.this))


def _number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (argument,) = e.arguments(node, 1)
    value = e.translate(argument, scope)
    if not value.type.is_numeric:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value


def _abs(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _number(e, node, scope)
    if value.type.precision > EXACT_SIGN:
        e.refuse(node, f"ABS of {value.type}")
    return Typed(without_overflow("abs", value), value.type, call("abs", value.name))


def _round(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    argument, *places = e.arguments(node, 1, 2)
    value = e.translate(argument, scope)
    digits = literal_int(e, places[0]) if places else 0
    name = call("round", value.name, str(digits))
    if value.type.is_integer and digits >= 0:
        return Typed(value.sql, value.type, name)
    if value.type.is_decimal and digits >= 0:
        integer_digits = value.type.precision - value.type.scale + 1
        scale = min(digits, value.type.scale)
        if integer_digits + scale <= MAX_PRECISION:
            return Typed(
                plain_cast(value.sql, decimal(integer_digits + scale, scale)),
                decimal(integer_digits + scale, scale),
                name,
            )
    if value.type == DOUBLE and 0 <= digits <= _MOST_ROUNDED:
        return Typed(digits_rounded(value, digits), DOUBLE, name)
    return e.refuse(node, f"ROUND of {value.type} to {digits} digits")


def _to_integer(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _number(e, node, scope)
        function_name = e.text.called(node)
        name = call("ceiling" if function_name == "ceiling" else function.upper(), value.name)
        if value.type.is_integer:
            return Typed(plain_cast(value.sql, BIGINT), BIGINT, name)
        if value.type.is_decimal:
            type_ = decimal(min(MAX_PRECISION, value.type.precision - value.type.scale + 1), 0)
            return Typed(plain_cast(f"{function}({value.sql})", type_), type_, name)
        return Typed(plain_cast(f"{function}({plain_cast(value.sql, DOUBLE)})", BIGINT), BIGINT, name)

    return translate


def _sqrt(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _number(e, node, scope)
    number = e.cast(value, DOUBLE, node)
    sql = f"CASE WHEN {number} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({number}) END"
    return Typed(sql, DOUBLE, call("SQRT", value.name))


def _sign(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _number(e, node, scope)
    if value.type.is_floating:
        # The engines differ for -0.0 and NaN.
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    name = call({"signum": "SIGNUM"}.get(str(e.text.called(node)), "sign"), value.name)
    return Typed(plain_cast(f"sign({value.sql})", DOUBLE), DOUBLE, name)


def _mod(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    return replace(calculated(e, left, right, "%", node), name=call("mod", left.name, right.name))


FUNCTIONS = functions(
    "Numbers",
    ("abs(x)", _abs),
    ("round(x[, digits])", _round, "negative digits; FLOAT; digits that are not a literal"),
    ("floor(x)", _to_integer("floor"), "a second argument"),
    ("ceil(x)", _to_integer("ceil"), "a second argument"),
    ("ceiling(x)", _to_integer("ceil"), "a second argument"),
    ("sqrt(x)", _sqrt),
    ("sign(x)", _sign, "DOUBLE and FLOAT"),
    ("signum(x)", _sign, "DOUBLE and FLOAT"),
    ("mod(a, b)", _mod),
)
