"""Functions of numbers, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BINARY, DOUBLE, INT, MAX_PRECISION, STRING, VOID, SqlType, decimal
from rewriter.exec.translate.arithmetic import (
    digits_rounded,
    positive_remainder,
    translate_operation,
    with_sign,
    without_overflow,
)
from rewriter.exec.translate.casts import as_decimal, plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.literals import LEAST

_E, _PI = "2.718281828459045", "3.141592653589793"
#: Bits of the integers whose sums Java wraps.
_WRAPPED = {INT: 32, BIGINT: 64}
#: The number whose factorial is the greatest BIGINT.
_GREATEST_FACTORIAL = 20


def literal_int(e: Expressions, node: exp.Expr) -> int:
    """Returns the value of a literal integer. Anything else is refused."""
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    if not isinstance(literal, exp.Literal) or literal.args.get("is_string") or not str(literal.this).isdigit():
        e.refuse(node, f"The argument {e.text.shown(node)}, which is not a literal integer,")
    return sign * int(str(literal.this))


def bits_of_bitmap(e: Expressions, value: Typed, node: exp.Expr) -> str:
    """Returns SQL for the BIT of a bitmap that a function takes. A value of another type is an error."""
    if value.type != BINARY:
        e.text.wrong(
            f"{str(e.text.called(node)).upper()} takes a BINARY, not {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
        )  # fmt: skip
    return f"rw_bitmap_bits({value.sql})"


def _number_argument(e: Expressions, node: exp.Expr, value: Typed) -> Typed:
    """Returns a number. A string or NULL becomes a DOUBLE."""
    if value.type in (STRING, VOID):
        return Typed(e.cast(value, DOUBLE, node), DOUBLE, value.name)
    if not value.type.is_numeric:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value


def _one_number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (argument,) = e.arguments(node, 1)
    return _number_argument(e, node, e.translate(argument, scope))


def _abs(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    return Typed(without_overflow("abs", value), value.type, call("abs", value.name))


def _sqrt(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    double = e.cast(value, DOUBLE, node)
    sql = f"CASE WHEN {double} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({double}) END"
    return Typed(sql, DOUBLE, call("sqrt", value.name))


def _sign(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    name = call("signum" if e.text.called(node) == "signum" else "sign", value.name)
    if value.type.is_floating:
        # NaN, 0.0 and -0.0 are their own signs.
        double = plain_cast(value.sql, DOUBLE)
        sql = f"CASE WHEN isnan({double}) OR {double} = 0 THEN {double} ELSE sign({double}) END"
        return Typed(plain_cast(sql, DOUBLE), DOUBLE, name)
    return Typed(plain_cast(f"sign({value.sql})", DOUBLE), DOUBLE, name)


def _mod(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    return replace(translate_operation(e, left, right, "%", node), name=call("mod", left.name, right.name))


def _pmod(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``pmod(a, n)``: a negative remainder, plus ``n``, modulo ``n``."""
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    if STRING in (left.type, right.type):
        e.refuse(node, "PMOD of a string")
    name = call("pmod", left.name, right.name)
    remainder = translate_operation(e, left, right, "%", node)
    if remainder.type.is_decimal:
        return replace(positive_remainder(e, left, right, node), name=name)
    divisor = e.cast(right, remainder.type, node)
    sql = f"rw_pmod_{_pmod_kind(remainder.type)}({remainder.sql}, {divisor})"
    return Typed(plain_cast(sql, remainder.type), remainder.type, name)


def _pmod_kind(type_: SqlType) -> str:
    return "double" if type_.is_floating else str(_WRAPPED.get(type_, "exact"))


def _negative(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    if not value.type.is_interval:
        value = _one_number(e, node, scope)
    return replace(with_sign(e, node, "-", value), name=call("negative", value.name))


def _positive(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return with_sign(e, node, "+", e.translate(e.arguments(node, 1)[0], scope))


def _constant(text: str, name: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        e.arguments(node, 0)
        return Typed(f"CAST('{text}' AS DOUBLE)", DOUBLE, name)

    return translate


def _factorial(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    if not value.type.is_integer or value.type == BIGINT:
        e.refuse(node, f"FACTORIAL of {value.type}")
    sql = f"CASE WHEN {value.sql} BETWEEN 0 AND {_GREATEST_FACTORIAL} THEN factorial({plain_cast(value.sql, INT)}) END"
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("factorial", value.name))


def _bin(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    if not value.type.is_integer and value.type != VOID:
        e.refuse(node, f"BIN of {value.type}")
    return Typed(f"bin({plain_cast(value.sql, BIGINT)})", STRING, call("bin", value.name))


def _hex(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    if not value.type.is_integer and value.type not in (STRING, BINARY):
        e.refuse(node, f"HEX of {value.type}")
    sql = plain_cast(value.sql, BIGINT) if value.type.is_integer else value.sql
    return Typed(f"hex({sql})", STRING, call("hex", value.name))


def _of_position(macro: str) -> Translation:
    """Translates the bucket of a number, or its position in the bitmap of that bucket."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = e.translate(e.arguments(node, 1)[0], scope)
        if not value.type.is_integer:
            e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
        name = call(str(e.text.called(node)), value.name)
        return Typed(f"{macro}({plain_cast(value.sql, BIGINT)})", BIGINT, name)

    return translate


def _bitmap_count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    return Typed(f"bit_count({bits_of_bitmap(e, value, node)})", BIGINT, call("bitmap_count", value.name))


FUNCTIONS = functions(
    "Numbers",
    ("abs(x)", _abs),
    ("sqrt(x)", _sqrt),
    ("sign(x)", _sign),
    ("signum(x)", _sign),
    ("mod(a, b)", _mod),
    ("pmod(a, n)", _pmod, "strings"),
    ("negative(x)", _negative),
    ("positive(x)", _positive),
    ("pi()", _constant(_PI, "PI()")),
    ("e()", _constant(_E, "E()")),
    ("factorial(n)", _factorial, "BIGINT"),
    ("bin(n)", _bin, "other than integers"),
    ("hex(x)", _hex, "other than integers, strings and BINARY"),
    ("bitmap_bit_position(n)", _of_position("rw_bitmap_position"), "other than integers"),
    ("bitmap_bucket_number(n)", _of_position("rw_bitmap_bucket"), "other than integers"),
    ("bitmap_count(bitmap)", _bitmap_count, "bitmaps of a length other than 4,096 bytes"),
)


# Exponentials, logarithms and powers, for the allow-list of ``expressions``.
#
# The engines may round their last digit differently. Spark's logarithms of a base are quotients of natural
# logarithms, and a logarithm of 0 or less is NULL.


def _doubles(e: Expressions, node: exp.Expr, scope: Scope, min_count: int, max_count: int) -> list[Typed]:
    values = [e.translate(argument, scope) for argument in e.arguments(node, min_count, max_count)]
    numbers = [_number_argument(e, node, value) for value in values]
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
        return Typed(_LN.format(value.sql), DOUBLE, call("log", value.name))
    (base,) = bases
    sql = f"CASE WHEN {base.sql} > 0 AND {value.sql} > 0 THEN ln({value.sql}) / ln({base.sql}) END"
    return Typed(sql, DOUBLE, call("log", base.name, value.name))


def _power(name: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value, exponent = _doubles(e, node, scope, 2, 2)
        return Typed(f"pow({value.sql}, {exponent.sql})", DOUBLE, call(name, value.name, exponent.name))

    return translate


def _width_bucket(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(argument, scope) for argument in e.arguments(node, 4)]
    numbers = [_number_argument(e, node, value) for value in values]
    if not (numbers[3].type.is_integer or values[3].type == VOID):
        e.refuse(node, f"WIDTH_BUCKET of a {values[3].type} of buckets")
    doubles = [e.cast(value, DOUBLE, node) for value in numbers[:3]]
    sql = f"rw_width_bucket({', '.join(doubles)}, {plain_cast(numbers[3].sql, BIGINT)})"
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("width_bucket", *(value.name for value in values)))


def _inverse(function: str, name: str) -> Translation:
    """Translates an inverse of a function whose values are between -1 and 1: NaN of another number."""
    return _of_one(f"CASE WHEN abs({{0}}) <= 1 THEN {function}({{0}}) ELSE {{0}} + CAST('NaN' AS DOUBLE) END", name)


def _of_angle(template: str, name: str) -> Translation:
    """Translates a function of an angle: NaN of infinity."""
    return _of_one(f"CASE WHEN isfinite({{0}}) THEN {template} ELSE {{0}} + CAST('NaN' AS DOUBLE) END", name)


def _of_two(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        first, second = _doubles(e, node, scope, 2, 2)
        return Typed(f"{function}({first.sql}, {second.sql})", DOUBLE, call(function, first.name, second.name))

    return translate


_LN = "CASE WHEN {0} > 0 THEN ln({0}) END"
TRANSCENDENTAL_FUNCTIONS = functions(
    "Numbers",
    ("exp(x)", _of_one("exp({0})", "exp")),
    ("ln(x)", _of_one(_LN, "ln")),
    ("log([base, ]x)", _log),
    ("log10(x)", _of_one("CASE WHEN {0} > 0 THEN log10({0}) END", "log10")),
    ("log2(x)", _of_one("CASE WHEN {0} > 0 THEN ln({0}) / ln(CAST(2 AS DOUBLE)) END", "log2")),
    ("cbrt(x)", _of_one("cbrt({0})", "cbrt")),
    ("power(x, y)", _power("power")),
    ("pow(x, y)", _power("pow")),
    ("sin(x)", _of_angle("sin({0})", "sin")),
    ("cos(x)", _of_angle("cos({0})", "cos")),
    ("tan(x)", _of_angle("tan({0})", "tan")),
    ("asin(x)", _inverse("asin", "asin")),
    ("acos(x)", _inverse("acos", "acos")),
    ("atan(x)", _of_one("atan({0})", "atan")),
    ("atan2(y, x)", _of_two("atan2")),
    ("sinh(x)", _of_one("sinh({0})", "sinh")),
    ("cosh(x)", _of_one("cosh({0})", "cosh")),
    ("tanh(x)", _of_one("tanh({0})", "tanh")),
    ("degrees(x)", _of_one("degrees({0})", "degrees")),
    ("radians(x)", _of_one("radians({0})", "radians")),
    ("width_bucket(x, min, max, n)", _width_bucket, "intervals"),
)


# Rounding of numbers to digits, for the allow-list of ``expressions``.

#: A double below 2^53 has 16 digits before the point.
_MOST_ROUNDED = MAX_PRECISION - 17
#: Macros that divide integers, by the way of rounding.
_QUOTIENTS = {
    "round": "rw_quotient",
    "bround": "rw_even_quotient",
    "floor": "rw_floor_divided",
    "ceil": "rw_ceil_divided",
}


def _rounded_type(type_: SqlType, digits: int) -> SqlType:
    """Returns Spark's type of a decimal that is rounded."""
    integer_digits = type_.precision - type_.scale + 1
    precision, scale = (
        (max(integer_digits, 1 - digits), 0)
        if digits < 0
        else (integer_digits + min(digits, type_.scale), min(digits, type_.scale))
    )
    return decimal(min(precision, MAX_PRECISION), scale)


def _rounded_decimal(e: Expressions, node: exp.Expr, value: Typed, digits: int, way: str) -> Typed:
    """Divides the digits of a decimal as an integer."""
    type_ = _rounded_type(value.type, digits)
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
        value = _number_argument(e, node, e.translate(argument, scope))
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
        value = _number_argument(e, node, e.translate(argument, scope))
        function = str(e.text.called(node))
        if places:
            digits = literal_int(e, places[0])
            if value.type.is_floating:
                e.refuse(node, f"{way.upper()} of {value.type} to digits")
            whole = _as_decimal(value) if value.type.is_integer else value
            rounded = _rounded_decimal(e, node, whole, digits, way)
            return Typed(rounded.sql, rounded.type, call(function, value.name, str(digits)))
        name = call("ceiling" if function == "ceiling" else way, value.name)
        if value.type.is_integer:
            return Typed(plain_cast(value.sql, BIGINT), BIGINT, name)
        if value.type.is_decimal:
            type_ = decimal(min(MAX_PRECISION, value.type.precision - value.type.scale + 1), 0)
            return Typed(plain_cast(f"{way}({value.sql})", type_), type_, name)
        return Typed(plain_cast(f"rw_whole_double({way}({plain_cast(value.sql, DOUBLE)}))", BIGINT), BIGINT, name)

    return translate


_DIGITS = "DOUBLE to digits; digits that are not a literal"
ROUNDING_FUNCTIONS = functions(
    "Numbers",
    ("round(x[, digits])", _round("round"), "FLOAT; DOUBLE to negative digits; digits that are not a literal"),
    ("bround(x[, digits])", _round("bround"), "DOUBLE and FLOAT; digits that are not a literal"),
    ("floor(x[, digits])", _to_integer("floor"), _DIGITS),
    ("ceil(x[, digits])", _to_integer("ceil"), _DIGITS),
    ("ceiling(x[, digits])", _to_integer("ceil"), _DIGITS),
)
