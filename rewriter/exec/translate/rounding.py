"""Rounding of numbers to digits, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, DOUBLE, MAX_PRECISION, SqlType, decimal
from rewriter.exec.translate.arithmetic import digits_rounded
from rewriter.exec.translate.casts import as_decimal, plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.literals import LEAST
from rewriter.exec.translate.math_functions import literal_int, number

#: A double below 2^53 has 16 digits before the point.
_MOST_ROUNDED = MAX_PRECISION - 17
#: Macros that divide integers, by the way of rounding.
_QUOTIENTS = {
    "round": "rw_quotient",
    "bround": "rw_even_quotient",
    "floor": "rw_floor_divided",
    "ceil": "rw_ceil_divided",
}


def _rounded_type(type_: SqlType, digits: int) -> SqlType | None:
    """Returns Spark's type of a decimal that is rounded; ``None`` if it needs too many digits."""
    integer_digits = type_.precision - type_.scale + 1
    precision, scale = (
        (max(integer_digits, 1 - digits), 0)
        if digits < 0
        else (integer_digits + min(digits, type_.scale), min(digits, type_.scale))
    )
    return decimal(precision, scale) if precision <= MAX_PRECISION else None


def _rounded_decimal(e: Expressions, node: exp.Expr, value: Typed, digits: int, way: str) -> Typed:
    """Divides the digits of a decimal as an integer."""
    type_ = _rounded_type(value.type, digits)
    if type_ is None:
        e.refuse(node, f"{way.upper()} of {value.type} to {digits} digits")
    removed = value.type.scale - digits
    if removed <= 0 or (way == "round" and digits >= 0):
        return Typed(plain_cast(value.sql, type_), type_)
    if removed > MAX_PRECISION:
        e.refuse(node, f"{way.upper()} of {value.type} to {digits} digits")
    sql = f"{_QUOTIENTS[way]}(rw_unscaled({value.sql}), CAST('1{'0' * removed}' AS HUGEINT))"
    if digits < 0:
        return Typed(plain_cast(f"{sql} * CAST('1{'0' * -digits}' AS HUGEINT)", type_), type_)
    return Typed(plain_cast(f"rw_scaled({sql}, {type_.scale})", type_), type_)


def _round(way: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        argument, *places = e.arguments(node, 1, 2)
        value = number(e, node, e.translate(argument, scope))
        digits = literal_int(e, places[0]) if places else 0
        name = call(way, value.name, str(digits))
        if value.type.is_integer and digits >= 0:
            return Typed(value.sql, value.type, name)
        if value.type.is_integer:
            whole = _rounded_decimal(e, node, _as_decimal(value), digits, way)
            sql = f"rw_in_range(CAST({whole.sql} AS HUGEINT), CAST('{LEAST[value.type.name]}' AS HUGEINT))"
            return Typed(plain_cast(sql, value.type), value.type, name)
        if value.type.is_decimal:
            rounded = _rounded_decimal(e, node, value, digits, way)
            return Typed(rounded.sql, rounded.type, name)
        if value.type == DOUBLE and way == "round" and 0 <= digits <= _MOST_ROUNDED:
            return Typed(digits_rounded(value, digits), DOUBLE, name)
        return e.refuse(node, f"{way.upper()} of {value.type} to {digits} digits")

    return translate


def _as_decimal(value: Typed) -> Typed:
    type_ = as_decimal(value.type)
    return Typed(plain_cast(value.sql, type_), type_, value.name)


def _to_integer(way: str) -> Translation:
    """Returns the translation of FLOOR and CEIL. With digits, the result is a decimal."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        argument, *places = e.arguments(node, 1, 2)
        value = number(e, node, e.translate(argument, scope))
        function = str(e.text.called(node))
        if places:
            digits = literal_int(e, places[0])
            if value.type.is_floating:
                e.refuse(node, f"{way.upper()} of {value.type} to digits")
            whole = _as_decimal(value) if value.type.is_integer else value
            rounded = _rounded_decimal(e, node, whole, digits, way)
            return Typed(rounded.sql, rounded.type, call(function, value.name, str(digits)))
        name = call("ceiling" if function == "ceiling" else way.upper(), value.name)
        if value.type.is_integer:
            return Typed(plain_cast(value.sql, BIGINT), BIGINT, name)
        if value.type.is_decimal:
            type_ = decimal(min(MAX_PRECISION, value.type.precision - value.type.scale + 1), 0)
            return Typed(plain_cast(f"{way}({value.sql})", type_), type_, name)
        return Typed(plain_cast(f"rw_whole_double({way}({plain_cast(value.sql, DOUBLE)}))", BIGINT), BIGINT, name)

    return translate


_DIGITS = "DOUBLE to digits; digits that are not a literal"
FUNCTIONS = functions(
    "Numbers",
    ("round(x[, digits])", _round("round"), "FLOAT; DOUBLE to negative digits; digits that are not a literal"),
    ("bround(x[, digits])", _round("bround"), "DOUBLE and FLOAT; digits that are not a literal"),
    ("floor(x[, digits])", _to_integer("floor"), _DIGITS),
    ("ceil(x[, digits])", _to_integer("ceil"), _DIGITS),
    ("ceiling(x[, digits])", _to_integer("ceil"), _DIGITS),
)
