"""Functions of numbers, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, DOUBLE, INT, STRING, VOID, SqlType
from rewriter.exec.translate.arithmetic import EXACT_SIGN, calculated, with_sign, without_overflow
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions

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


def number(e: Expressions, node: exp.Expr, value: Typed) -> Typed:
    """Returns a number. A string or NULL becomes a DOUBLE."""
    if value.type in (STRING, VOID):
        return Typed(e.cast(value, DOUBLE, node), DOUBLE, value.name)
    if not value.type.is_numeric:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value


def _one_number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (argument,) = e.arguments(node, 1)
    return number(e, node, e.translate(argument, scope))


def _abs(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    if value.type.precision > EXACT_SIGN:
        e.refuse(node, f"ABS of {value.type}")
    return Typed(without_overflow("abs", value), value.type, call("abs", value.name))


def _sqrt(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    double = e.cast(value, DOUBLE, node)
    sql = f"CASE WHEN {double} < 0 THEN CAST('NaN' AS DOUBLE) ELSE sqrt({double}) END"
    return Typed(sql, DOUBLE, call("SQRT", value.name))


def _sign(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_number(e, node, scope)
    name = call({"signum": "SIGNUM"}.get(str(e.text.called(node)), "sign"), value.name)
    if value.type.is_floating:
        # NaN, 0.0 and -0.0 are their own signs.
        double = plain_cast(value.sql, DOUBLE)
        sql = f"CASE WHEN isnan({double}) OR {double} = 0 THEN {double} ELSE sign({double}) END"
        return Typed(plain_cast(sql, DOUBLE), DOUBLE, name)
    return Typed(plain_cast(f"sign({value.sql})", DOUBLE), DOUBLE, name)


def _mod(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    return replace(calculated(e, left, right, "%", node), name=call("mod", left.name, right.name))


def _pmod(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``pmod(a, n)``: a negative remainder, plus ``n``, modulo ``n``."""
    left, right = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    if STRING in (left.type, right.type):
        e.refuse(node, "PMOD of a string")
    remainder = calculated(e, left, right, "%", node)
    divisor = e.cast(right, right.type if remainder.type.is_decimal else remainder.type, node)
    sql = f"rw_pmod_{_pmod_kind(remainder.type)}({remainder.sql}, {divisor})"
    return Typed(plain_cast(sql, remainder.type), remainder.type, call("pmod", left.name, right.name))


def _pmod_kind(type_: SqlType) -> str:
    return "double" if type_.is_floating else str(_WRAPPED.get(type_, "exact"))


def _negative(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
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
    if not value.type.is_integer and value.type != STRING:
        e.refuse(node, f"HEX of {value.type}")
    sql = value.sql if value.type == STRING else plain_cast(value.sql, BIGINT)
    return Typed(f"hex({sql})", STRING, call("hex", value.name))


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
    ("hex(x)", _hex, "other than integers and strings"),
)
