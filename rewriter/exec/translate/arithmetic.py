"""Arithmetic with Spark's result types, for the allow-list of ``expressions``."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

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
from rewriter.exec.translate.decimals import (
    DECIMAL_OPERATORS,
    SIGN_DIGITS,
    DecimalOperation,
    absolute_decimal,
    combined_decimals,
    negative_decimal,
)
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
from rewriter.exec.translate.interval_values import fitting_interval, interval_arithmetic
from rewriter.exec.translate.literals import has_suffix, number

_OPERATORS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
#: The smallest values of the types whose operations of two values have a separate condition in Spark.
_SMALL_INTEGERS = {"tinyint": -(2**7), "smallint": -(2**15)}


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


def translate_operation(
    e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr, *, tolerant: bool = False
) -> Typed:
    """Translates an operation, without its name. If ``tolerant``, decimals have NULL in place of an overflow and of a
    division by zero.
    """
    left, right = _numbers(e, left, right, operator, node)
    if left.type.is_decimal or right.type.is_decimal:
        left, right = narrow_literal(left), narrow_literal(right)
    if any(not value.type.is_numeric and value.type != VOID for value in (left, right)):
        types = {left.type.name, right.type.name}
        has_time = left.type.is_datetime or right.type.is_datetime
        is_wrong = "boolean" in types or (has_time and operator not in "+-")
        if is_wrong or (types & {"timestamp", "timestamp_ntz"} and (left.type.is_numeric or right.type.is_numeric)):
            e.refuse_mixed(left.type, right.type, node, binary=False)
        e.refuse(node, f"{left.type} {operator} {right.type}")
    floating = left.type.is_floating or right.type.is_floating
    if (left.type.is_decimal or right.type.is_decimal) and not floating:
        return _decimals(e, left, right, DECIMAL_OPERATORS[operator], node, tolerant=tolerant)
    if operator in "/%":
        return _divided(e, left, right, operator, node)
    (first, second), type_ = e.cast_to_common_type([left, right], node)
    if type_.is_integer and _always_fits(left, right, operator, type_):
        return Typed(f"({first} {operator} {second})", type_)
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


#: The greatest absolute value of each type of integers.
_GREATEST = {"tinyint": 1 << 7, "smallint": 1 << 15, "int": 1 << 31, "bigint": 1 << 63}


def _always_fits(left: Typed, right: Typed, operator: str, type_: SqlType) -> bool:
    """Tests whether the types, and the values of literals, prove that an operation of integers never overflows. DuckDB
    can then rewrite it.
    """
    if VOID in (left.type, right.type):
        return False
    first, second = (
        _GREATEST[value.type.name] if value.digits is None else abs(value.digits) for value in (left, right)
    )
    return (first * second if operator == "*" else first + second) < _GREATEST[type_.name]


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
    if value.type.precision > SIGN_DIGITS:
        signed = negative_decimal if function == "-" else absolute_decimal
        return signed(value.sql, value.type)
    if value.type.name not in _SMALL_INTEGERS:
        widened = _widened(value.sql) if value.type.is_integer else value.sql
        return plain_cast(f"{function}({widened})", value.type)
    # The cast of a wider integer to these types has the condition of operations of two values.
    minimum = _SMALL_INTEGERS[value.type.name]
    failure = "error('[ARITHMETIC_OVERFLOW] The value has no counterpart in its type.')"
    sql = f"CASE WHEN {value.sql} = {minimum} THEN {failure} ELSE {function}({value.sql}) END"
    return plain_cast(sql, value.type)


def _decimals(
    e: Expressions, left: Typed, right: Typed, operation: DecimalOperation, node: exp.Expr, *, tolerant: bool = False
) -> Typed:
    # NULL has the type of the other operand.
    a, b = (
        as_decimal(right.type if left.type == VOID else left.type),
        as_decimal(left.type if right.type == VOID else right.type),
    )
    sql, type_ = combined_decimals(operation, e.cast(left, a, node), a, e.cast(right, b, node), b, tolerant=tolerant)
    return Typed(sql, type_)


def positive_remainder(e: Expressions, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    """Translates ``pmod(a, b)`` of numbers one of which is a decimal, without its name."""
    return _decimals(e, narrow_literal(left), narrow_literal(right), DecimalOperation.POSITIVE_REMAINDER, node)


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
        left, right = narrow_literal(left), narrow_literal(right)
        if any(not (value.type.is_integer or value.type.is_decimal or value.type == VOID) for value in (left, right)):
            e.refuse(node, f"{left.type} div {right.type}")
        # A quotient that is no BIGINT, of which Spark keeps the lowest bits, is an error.
        quotient = _decimals(e, left, right, DecimalOperation.WHOLE_QUOTIENT, node)
        return Typed(quotient.sql, BIGINT, infix("div", left.name, right.name))
    if not (left.type.is_integer and right.type.is_integer):
        e.refuse(node, f"{left.type} div {right.type}")
    first, second = plain_cast(left.sql, BIGINT), plain_cast(right.sql, BIGINT)
    sql = _unless_zero(first, second, "DIVIDE_BY_ZERO", f"{first} // {second}")
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
        return Typed(plain_cast(f"-{value.sql}", value.type), value.type, _negated_name(value), digits=digits)
    cast_operand = node.this.this if isinstance(node.this, exp.Cast) else None
    if (
        isinstance(cast_operand, exp.Literal)
        and e.text.shown(node.this) == e.typed_text(cast_operand)
        and not has_suffix(e.typed_text(cast_operand))
    ):
        # Spark reads ``-1::int`` as ``(-1)::int``.
        e.refuse(node, f"{e.text.shown(node)} without parentheses")
    text = e.typed_text(cast_operand) if isinstance(cast_operand, exp.Literal) else None
    # 1.5BD is the cast of a string that was not typed.
    is_typed_literal = text is not None and (not text or has_suffix(text))
    value = e.translate(node.this, scope)
    if isinstance(cast_operand, exp.Literal) and is_typed_literal and value.type.is_integer:
        literal = f"-{cast_operand.this}"
        suffixed = None if value.suffixed is None else -value.suffixed
        sql = plain_cast(string_literal(literal), value.type)
        return Typed(sql, value.type, _negated_name(value), suffixed=suffixed)
    signed = with_sign(e, node, "-", value)
    # -1.5D is a literal, and its column is named like one.
    return replace(signed, name=_negated_name(value)) if is_typed_literal else signed


def _negated_name(literal: Typed) -> str | None:
    """Returns the name of a literal number with a minus: 0 has none, unless it is a DOUBLE or FLOAT."""
    if literal.name is None or (not literal.type.is_floating and not Decimal(literal.name)):
        return literal.name
    return f"-{literal.name}"


def with_sign(e: Expressions, node: exp.Expr, sign: str, value: Typed) -> Typed:
    """Returns a number with a sign before it. A string or NULL becomes a DOUBLE."""
    if value.type in (STRING, VOID):
        value = Typed(e.cast(value, DOUBLE, node), DOUBLE, value.name)
    name = None if value.name is None else f"({sign} {value.name})"
    if value.type.is_interval:
        negative = fitting_interval(f"-CAST({value.sql} AS HUGEINT)", value.type)
        return Typed(negative if sign == "-" else value.sql, value.type, name)
    if not value.type.is_numeric:
        e.refuse(node, f"{sign}({value.type})")
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
            result = translate_operation(e, left, right, operator, node, tolerant=True)
            return replace(result, name=_name(e, node, left, right))
        (first, second), type_ = e.cast_to_common_type([left, right], node)
        sql = f"TRY_CAST({_widened(first)} {operator} {_widened(second)} AS {duckdb_type(type_)})"
        return Typed(sql, type_, _name(e, node, left, right))

    return translate


def _without_zero(operator: str) -> Translation:
    """Returns the translation of a division, in which the divisor 0 becomes NULL."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        left, right = _operands(e, node, scope)
        name = _name(e, node, left, right)
        floating = left.type.is_floating or right.type.is_floating
        if (left.type.is_decimal or right.type.is_decimal) and not floating:
            return replace(translate_operation(e, left, right, operator, node, tolerant=True), name=name)
        divisor = replace(right, sql=f"CASE WHEN {right.sql} = 0 THEN NULL ELSE {right.sql} END", digits=None)
        return replace(translate_operation(e, left, divisor, operator, node), name=name)

    return translate


_REFUSED = "other than numbers"
TRY_ARITHMETIC_FUNCTIONS = functions(
    "Numbers",
    ("try_add(a, b)", _without_overflow("+"), _REFUSED),
    ("try_subtract(a, b)", _without_overflow("-"), _REFUSED),
    ("try_multiply(a, b)", _without_overflow("*"), _REFUSED),
    ("try_divide(a, b)", _without_zero("/"), _REFUSED),
    ("try_mod(a, b)", _without_zero("%"), _REFUSED),
)
