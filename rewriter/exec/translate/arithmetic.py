"""Arithmetic with Spark's result types, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TINYINT,
    VOID,
    SqlType,
    decimal,
    duckdb_type,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import as_decimal, common_type, plain_cast, promoted_type, string_literal
from rewriter.exec.translate.expressions import (
    Allowed,
    Expressions,
    Scope,
    Translation,
    Typed,
    call,
    functions,
    infix,
    narrow_literal,
)
from rewriter.exec.translate.intervals import interval_arithmetic
from rewriter.exec.translate.literals import has_suffix, number

_OPERATORS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
#: The maximum number of digits of a decimal that DuckDB keeps in 64 bits.
_SMALL_DECIMAL = 18
#: The maximum number of digits of a decimal whose sign Spark changes without rounding it.
EXACT_SIGN = 34
#: The smallest values of the types whose operations of two values have a separate condition in Spark.
_SMALL_INTEGERS = {"tinyint": -(2**7), "smallint": -(2**15)}
#: The minimum number of digits after the point of a quotient of decimals.
_MIN_SCALE = 6


def arithmetic(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a + b`` and similar operations of two numbers."""
    e.allow_only(node, "this", "expression", "typed", "safe")
    left, right = e.translate(node.this, scope), e.translate(node.expression, scope)
    operator = _OPERATORS[type(node)]
    special = _with_days(left, right, operator) or interval_arithmetic(e, left, right, operator, node)
    return special or replace(
        translate_operation(e, left, right, operator, node), name=infix(operator, left.name, right.name)
    )


def _with_days(left: Typed, right: Typed, operator: str) -> Typed | None:
    """Returns a date plus or minus an integer, which is a number of days; ``None`` for other operands."""
    date, days = (right, left) if operator == "+" and right.type == DATE else (left, right)
    if date.type != DATE or not days.type.is_integer or days.type == BIGINT or operator not in ("+", "-"):
        return None
    sql = plain_cast(f"{date.sql} {operator} {plain_cast(days.sql, INT)}", DATE)
    return Typed(sql, DATE, call("date_sub" if operator == "-" else "date_add", date.name, days.name))


def translate_operation(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> Typed:
    """Translates an operation, without its name."""
    left, right = _numbers(e, left, right, operator, node)
    if left.type.is_decimal or right.type.is_decimal:
        left, right = narrow_literal(left), narrow_literal(right)
    if any(not value.type.is_numeric and value.type != VOID for value in (left, right)):
        types = {left.type.name, right.type.name}
        is_wrong = "boolean" in types or (types & {"date", "timestamp"} and operator not in "+-")
        if is_wrong or ("timestamp" in types and (left.type.is_numeric or right.type.is_numeric)):
            e.refuse_mixed(left.type, right.type, node, binary=False)
        e.refuse(node, f"{left.type} {operator} {right.type}")
    floating = left.type.is_floating or right.type.is_floating
    if (left.type.is_decimal or right.type.is_decimal) and not floating:
        return _decimals(e, left, right, operator, node)
    if operator in "/%":
        return _divided(e, left, right, operator, node)
    (first, second), type_ = e.cast_to_common_type([left, right], node)
    if type_.is_integer:
        return Typed(plain_cast(f"{_widened(first)} {operator} {_widened(second)}", type_), type_)
    return Typed(plain_cast(f"{first} {operator} {second}", type_), type_)


def _numbers(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> tuple[Typed, Typed]:
    """Returns the operands, of which a string beside a number is read as the type that it is promoted to."""
    if left.type == right.type == STRING:
        e.text.wrong(
            f"The operator {operator} needs numbers, and both operands are a STRING.",
            "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE", "42K09", node,
        )  # fmt: skip
    if left.type == STRING and right.type.is_numeric:
        type_ = promoted_type(right.type)
        return Typed(e.cast(left, type_, node), type_, left.name), right
    if right.type == STRING and left.type.is_numeric:
        type_ = promoted_type(left.type)
        return left, Typed(e.cast(right, type_, node), type_, right.name)
    return left, right


def _widened(sql: str) -> str:
    """Returns an integer in 128 bits. The cast back to its type detects an overflow.

    DuckDB's optimizer assumes that its own checked operations never fail: it rewrites ``a + 1 > 0`` as ``a > -1``, and
    ``sum(a + 1)`` as ``sum(a) + count(a)``, and counts rows for ``count(a + 1)``.
    """
    return f"CAST({sql} AS HUGEINT)"


def without_overflow(function: str, value: Typed) -> str:
    """Returns SQL of ``-`` or ``abs`` of a number. It fails for the smallest integer of a type, which has no positive
    counterpart.
    """
    if value.type.name not in _SMALL_INTEGERS:
        widened = _widened(value.sql) if value.type.is_integer else value.sql
        return plain_cast(f"{function}({widened})", value.type)
    # The cast of a wider integer to these types has the condition of operations of two values.
    minimum = _SMALL_INTEGERS[value.type.name]
    failure = "error('[ARITHMETIC_OVERFLOW] The value has no counterpart in its type.')"
    sql = f"CASE WHEN {value.sql} = {minimum} THEN {failure} ELSE {function}({value.sql}) END"
    return plain_cast(sql, value.type)


def _decimals(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> Typed:
    # NULL has the type of the other operand.
    a, b = (
        as_decimal(right.type if left.type == VOID else left.type),
        as_decimal(left.type if right.type == VOID else right.type),
    )
    first, second = e.cast(left, a, node), e.cast(right, b, node)
    if operator == "/":
        sql, type_ = divided_decimals(first, a, second, b)
        if sql is None:
            e.refuse(node, f"{a} / {b}")
        return Typed(sql, type_)
    if operator == "%":
        return _remainder(e, first, a, second, b, node)
    if operator == "*":
        precision, scale = a.precision + b.precision + 1, a.scale + b.scale
    else:
        scale = max(a.scale, b.scale)
        precision = max(a.precision - a.scale, b.precision - b.scale) + scale + 1
    if precision > MAX_PRECISION:
        e.refuse(node, f"{a} {operator} {b}, which needs {precision} digits,")
    type_ = decimal(precision, scale)
    if operator != "*":
        first, second = plain_cast(first, type_), plain_cast(second, type_)
    elif type_.precision > _SMALL_DECIMAL:
        # DuckDB multiplies two small decimals in 64 bits, even if the product needs more.
        widened_precision = max(a.precision, b.precision, _SMALL_DECIMAL + 1)
        if a.precision >= b.precision:
            first = plain_cast(first, decimal(widened_precision, a.scale))
        else:
            second = plain_cast(second, decimal(widened_precision, b.scale))
    return Typed(plain_cast(f"{first} {operator} {second}", type_), type_)


def divided_decimals(
    first: str, a: SqlType, second: str, b: SqlType, result_type: SqlType | None = None
) -> tuple[str | None, SqlType]:
    """Returns the quotient of two decimals, exact and then rounded half up, and its type: ``result_type`` or Spark's.
    The SQL is ``None`` if the digits do not fit in 128 bits.

    DuckDB divides decimals as doubles. So the digits are divided as integers: ``a / b`` at scale ``s`` is
    ``A * 10^(s - scale(a) + scale(b)) / B``.
    """
    type_ = result_type or _quotient_type(a, b)
    shift = type_.scale - a.scale + b.scale
    if shift < 0 or a.precision + shift > MAX_PRECISION:
        return None, type_
    numerator = f"rw_unscaled({first}) * CAST('1{'0' * shift}' AS HUGEINT)"
    quotient = f"rw_quotient({numerator}, rw_unscaled({second}))"
    return plain_cast(f"rw_scaled({quotient}, {type_.scale})", type_), type_


def _quotient_type(a: SqlType, b: SqlType) -> SqlType:
    scale = max(_MIN_SCALE, a.scale + b.precision + 1)
    precision = a.precision - a.scale + b.scale + scale
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, _MIN_SCALE))
    return decimal(min(precision, MAX_PRECISION), scale)


def _remainder(e: Expressions, first: str, a: SqlType, second: str, b: SqlType, node: exp.Expr) -> Typed:
    scale = max(a.scale, b.scale)
    common = decimal(min(MAX_PRECISION, max(a.precision - a.scale, b.precision - b.scale) + scale), scale)
    if common_type(a, b) != common:
        e.refuse(node, f"{a} % {b}")
    type_ = decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    digits = (f"rw_unscaled({plain_cast(operand, common)})" for operand in (first, second))
    return Typed(plain_cast(f"rw_scaled(rw_remainder({', '.join(digits)}), {scale})", type_), type_)


def _divided(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> Typed:
    if operator == "/":
        type_ = DOUBLE
        first, second = e.cast(left, type_, node), e.cast(right, type_, node)
    else:
        (first, second), type_ = e.cast_to_common_type([left, right], node)
    sql = f"{first} {operator} {second}"
    if _is_never_zero(node):
        return Typed(sql, type_)
    condition = "DIVIDE_BY_ZERO" if operator == "/" else "REMAINDER_BY_ZERO"
    return Typed(_unless_zero(first, second, condition, sql), type_)


def _is_never_zero(node: exp.Expr) -> bool:
    """Tests whether the divisor is ``NULLIF(…, 0)``, as the planner writes averages."""
    divisor = node.args.get("expression")
    divisor = divisor.unnest() if isinstance(divisor, exp.Expr) else None
    zero = divisor.expression if isinstance(divisor, exp.Nullif) else None
    return isinstance(zero, exp.Literal) and not zero.is_string and zero.this == "0"


def _unless_zero(first: str, second: str, condition: str, sql: str) -> str:
    """Returns the SQL of a division with Spark's rules for zero, also for doubles: NULL / 0 is NULL, and x / 0 is an
    error.
    """
    return (
        f"CASE WHEN {second} = 0 AND {first} IS NOT NULL THEN error('[{condition}] Division by zero.') ELSE {sql} END"
    )


def whole_division(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a DIV b`` of integers, towards zero."""
    e.allow_only(node, "this", "expression")
    left, right = e.translate(node.this, scope), e.translate(node.expression, scope)
    left, right = _numbers(e, left, right, "div", node)
    if VOID in (left.type, right.type) and (left.type.is_integer or right.type.is_integer):
        return Typed(plain_cast("NULL", BIGINT), BIGINT, infix("div", left.name, right.name))
    if left.type.is_decimal or right.type.is_decimal:
        return _whole_quotient(e, left, right, node)
    if not (left.type.is_integer and right.type.is_integer):
        e.refuse(node, f"{left.type} div {right.type}")
    first, second = plain_cast(left.sql, BIGINT), plain_cast(right.sql, BIGINT)
    sql = _unless_zero(first, second, "DIVIDE_BY_ZERO", f"{first} // {second}")
    return Typed(plain_cast(sql, BIGINT), BIGINT, infix("div", left.name, right.name))


def _whole_quotient(e: Expressions, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """Divides decimals, towards zero: their digits as integers of the same scale.

    A quotient that is no BIGINT, of which Spark keeps the lowest bits, is an error.
    """
    scale = max(left.type.scale, right.type.scale)
    digits = []
    for value in (left, right):
        if not value.type.is_integer and not value.type.is_decimal:
            e.refuse(node, f"{left.type} div {right.type}")
        type_ = as_decimal(value.type)
        shift = scale - type_.scale
        if type_.precision + shift > MAX_PRECISION:
            e.refuse(node, f"{left.type} div {right.type}")
        digits.append(f"rw_unscaled({e.cast(value, type_, node)}) * CAST('1{'0' * shift}' AS HUGEINT)")
    sql = _unless_zero(f"({digits[0]})", f"({digits[1]})", "DIVIDE_BY_ZERO", f"({digits[0]}) // ({digits[1]})")
    return Typed(plain_cast(sql, BIGINT), BIGINT, infix("div", left.name, right.name))


def minus(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``-x``; ``-2147483648`` is a literal."""
    e.allow_only(node, "this")
    if isinstance(node.this, exp.Literal) and not node.this.args.get("is_string"):
        value = number(e, str(node.this.this), node)
        if value.digits == 2**31:
            return Typed("CAST(-2147483648 AS INTEGER)", INT, "-2147483648", digits=-(2**31))
        if value.type.is_decimal and value.name == str(2**63):
            return Typed("CAST(-9223372036854775808 AS BIGINT)", BIGINT, f"-{2**63}", digits=-(2**63))
        digits = None if value.digits is None else -value.digits
        name = None if value.name is None else f"-{value.name}"
        return Typed(plain_cast(f"-{value.sql}", value.type), value.type, name, digits=digits)
    cast_operand = node.this.this if isinstance(node.this, exp.Cast) else None
    if (
        isinstance(cast_operand, exp.Literal)
        and e.text.shown(node.this) == e.typed_text(cast_operand)
        and not has_suffix(e.typed_text(cast_operand))
    ):
        # Spark reads ``-1::int`` as ``(-1)::int``.
        e.refuse(node, f"{e.text.shown(node)} without parentheses")
    is_typed_literal = isinstance(cast_operand, exp.Expr) and has_suffix(e.typed_text(cast_operand))
    value = e.translate(node.this, scope)
    if isinstance(cast_operand, exp.Literal) and is_typed_literal and value.type.is_integer:
        literal = f"-{cast_operand.this}"
        return Typed(plain_cast(string_literal(literal), value.type), value.type, literal)
    signed = with_sign(e, node, "-", value)
    # -1.5D is a literal, and its column is named like one.
    return replace(signed, name=f"-{value.name}") if is_typed_literal and value.name is not None else signed


def with_sign(e: Expressions, node: exp.Expr, sign: str, value: Typed) -> Typed:
    """Returns a number with a sign before it. A string or NULL becomes a DOUBLE."""
    if value.type in (STRING, VOID):
        value = Typed(e.cast(value, DOUBLE, node), DOUBLE, value.name)
    if value.type.is_interval and sign == "-":
        name = None if value.name is None else f"(- {value.name})"
        return Typed(f"CAST(rw_interval(-CAST({value.sql} AS HUGEINT)) AS BIGINT)", value.type, name)
    if not value.type.is_numeric or (sign == "-" and value.type.precision > EXACT_SIGN):
        e.refuse(node, f"{sign}({value.type})")
    name = None if value.name is None else f"({sign} {value.name})"
    return Typed(without_overflow("-", value) if sign == "-" else value.sql, value.type, name)


def digits_rounded(value: Typed, scale: int) -> str:
    """Returns a DOUBLE rounded half up to ``scale`` digits, based on its displayed digits."""
    text = plain_cast(value.sql, STRING)
    return f"rw_rounded({value.sql}, {plain_cast(text, decimal(MAX_PRECISION, scale))})"


# Operations of bits, for the allow-list of ``expressions``.

#: The operators from the one that binds most, as in Spark. sqlglot reads all of them from left to right.
_BIT_OPERATION_OPERATORS: dict[type[exp.Expr], str] = {
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.BitwiseAnd: "&",
    exp.BitwiseXor: "^",
    exp.BitwiseOr: "|",
}
_BINDING = {"<<": 3, ">>": 3, "&": 2, "^": 1, "|": 0}


def _integer(e: Expressions, node: exp.Expr, value: Typed, what: str) -> Typed:
    if not value.type.is_integer and value.type != VOID:
        e.refuse(node, f"{what} of {value.type}")
    return value


def _chain(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a | b & c``, whose operators are grouped by how much they bind."""
    operators: list[str] = []
    operands = []
    while type(node) in _BIT_OPERATION_OPERATORS:
        e.allow_only(node, "this", "expression")
        e.entries.add(_ENTRY)
        operators.append(_BIT_OPERATION_OPERATORS[type(node)])
        operands.append(node.expression)
        last, node = node, node.this
    operands.append(node)
    if isinstance(node, exp.DPipe):
        # Spark reads ``a || b & c`` as typed, and ``a & b || c`` as ``a & (b || c)``.
        e.refuse(last, f"{e.text.shown(last)} without parentheses")
    values = [e.translate(operand, scope) for operand in reversed(operands)]
    return _grouped(e, last, values, operators[::-1])


def _grouped(e: Expressions, node: exp.Expr, values: list[Typed], operators: list[str]) -> Typed:
    """Combines operands, at the operator that binds least and is the last of its kind first."""
    if not operators:
        return values[0]
    place = min(range(len(operators)), key=lambda index: (_BINDING[operators[index]], -index))
    left = _grouped(e, node, values[: place + 1], operators[:place])
    right = _grouped(e, node, values[place + 1 :], operators[place + 1 :])
    operator = operators[place]
    name = infix(operator, left.name, right.name)
    if operator in ("<<", ">>"):
        return replace(_shifted(e, node, left, right, operator), name=name)
    return replace(_combined(e, node, left, right, operator), name=name)


def _combined(e: Expressions, node: exp.Expr, left: Typed, right: Typed, operator: str) -> Typed:
    for value in (left, right):
        _integer(e, node, value, operator)
    type_ = common_type(left.type, right.type)
    if type_ is None or type_ == VOID:
        e.refuse(node, f"{left.type} {operator} {right.type}")
    first, second = plain_cast(left.sql, type_), plain_cast(right.sql, type_)
    sql = f"xor({first}, {second})" if operator == "^" else f"({first} {operator} {second})"
    return Typed(plain_cast(sql, type_), type_)


def _shifted(e: Expressions, node: exp.Expr, value: Typed, distance: Typed, operator: str) -> Typed:
    """Shifts an INT or BIGINT. As in Java, only the lowest bits of the distance count, and upper bits are lost."""
    _integer(e, node, value, operator), _integer(e, node, distance, operator)
    if distance.type == BIGINT:
        e.refuse(node, f"{operator} by {distance.type}")
    type_, bits = (BIGINT, 64) if value.type == BIGINT else (INT, 32)
    number = plain_cast(value.sql, type_)
    places = f"({plain_cast(distance.sql, INT)} & {bits - 1})"
    if operator == ">>":
        return Typed(plain_cast(f"{number} >> {places}", type_), type_)
    sql = f"CAST({number} AS HUGEINT)"
    if operator == "<<":
        sql = f"{sql} * (CAST(1 AS HUGEINT) << {places})"
    else:
        sql = f"(CASE WHEN {number} < 0 THEN {sql} + {2**bits} ELSE {sql} END >> {places})"
    return Typed(plain_cast(f"rw_wrapped_{bits}({sql})", type_), type_)


def _shift(operator: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value, distance = (e.translate(argument, scope) for argument in e.arguments(node, 2))
        shifted = _shifted(e, node, value, distance, operator)
        return replace(shifted, name=call(str(e.text.called(node)), value.name, distance.name))

    return translate


def _not(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this")
    value = e.translate(node.this, scope)
    if not value.type.is_integer:
        e.refuse(node, f"~ of {value.type}")
    name = None if value.name is None else f"~{value.name}"
    return Typed(plain_cast(f"(~({value.sql}))", value.type), value.type, name)


def _bit_count(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _integer(e, node, e.translate(e.arguments(node, 1)[0], scope), "BIT_COUNT")
    return Typed(plain_cast(f"bit_count({plain_cast(value.sql, BIGINT)})", INT), INT, call("bit_count", value.name))


def _getbit(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, place = (e.translate(argument, scope) for argument in e.arguments(node, 2))
    bits = 64 if value.type == BIGINT else 32
    if not value.type.is_integer or place.digits is None or not 0 <= place.digits < bits:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}, or of a place that is not a literal,")
    sql = f"(({plain_cast(value.sql, BIGINT)} >> {place.digits}) & 1)"
    return Typed(plain_cast(sql, TINYINT), TINYINT, call(str(e.text.called(node)), value.name, place.name))


_SECTION = "Operators"
_ENTRY = Entry(_SECTION, "a & b, a | b, a ^ b, a << n, a >> n", "other than integers; a || without parentheses")
NODES: dict[type[exp.Expr] | str, Allowed] = {
    **dict.fromkeys(_BIT_OPERATION_OPERATORS, Allowed(_chain, _ENTRY)),
    exp.BitwiseNot: Allowed(_not, Entry(_SECTION, "~a", "other than integers")),
}
FUNCTIONS = functions(
    "Numbers",
    ("shiftleft(a, n)", _shift("<<"), "other than integers"),
    ("shiftright(a, n)", _shift(">>"), "other than integers"),
    ("shiftrightunsigned(a, n)", _shift(">>>"), "other than integers"),
    ("bit_count(a)", _bit_count, "BOOLEAN"),
    ("getbit(a, n)", _getbit, "a place that is not a literal"),
    ("bit_get(a, n)", _getbit, "a place that is not a literal"),
)


# Arithmetic that returns NULL in place of an error, for the allow-list of ``expressions``.
#
# Only the operation itself is tried. An error of an operand remains an error.


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
            return replace(translate_operation(e, left, right, operator, node), name=_name(e, node, left, right))
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
        quotient = translate_operation(e, left, divisor, operator, node)
        if quotient.type.precision == MAX_PRECISION:
            e.refuse(node, f"{str(e.text.called(node)).upper()} with a result of {quotient.type}")
        return replace(quotient, name=name)

    return translate


_REFUSED = "other than numbers"
TRY_ARITHMETIC_FUNCTIONS = functions(
    "Numbers",
    ("try_add(a, b)", _without_overflow("+"), _REFUSED),
    ("try_subtract(a, b)", _without_overflow("-"), _REFUSED),
    ("try_multiply(a, b)", _without_overflow("*"), _REFUSED),
    ("try_divide(a, b)", _without_zero("/"), f"{_REFUSED}; results of 38 digits"),
    ("try_mod(a, b)", _without_zero("%"), f"{_REFUSED}; results of 38 digits"),
)
