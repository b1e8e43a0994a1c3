"""Arithmetic of decimals: Spark's result types and roundings, in DuckDB's SQL.

Spark computes in up to 77 digits and rounds to at most 38. DuckDB has no more than 38, and divides decimals as doubles.
So an operation runs in DuckDB itself where the types or the values of the row prove that all digits fit. Elsewhere it
is a function of ours (``exec.duckdb.own_decimals``), which computes with the integers of Python.
"""

from __future__ import annotations

import re
from enum import StrEnum

from rewriter.exec.sql_types import MAX_PRECISION, SqlType, adjusted_decimal, decimal, duckdb_type
from rewriter.exec.translate.casts import EXACT_DIGITS, plain_cast, string_literal
from rewriter.lazy_dataclass import dataclass

#: The maximum number of digits of a decimal that DuckDB keeps in 64 bits.
_SMALL_DECIMAL = 18
#: The number of digits to which Spark rounds a decimal, half to even, when it changes its sign.
SIGN_DIGITS = 34
#: The longest operands, in characters of SQL, that are repeated: nested operations would grow without bounds.
_MOST_REPEATED = 400
#: What runs again, or returns another value, where its SQL is repeated.
_REPEATED_AT_A_COST = re.compile(r"\bselect\b|\bover\b|\brandom\b|\buuid\b|\berror\b", re.IGNORECASE)


class DecimalOperation(StrEnum):
    """An operation. The values are part of the names of functions."""

    SUM = "sum"
    DIFFERENCE = "difference"
    PRODUCT = "product"
    QUOTIENT = "quotient"
    REMAINDER = "remainder"
    POSITIVE_REMAINDER = "pmod"
    WHOLE_QUOTIENT = "div"
    NEGATIVE = "negative"


DECIMAL_OPERATORS = {
    "+": DecimalOperation.SUM,
    "-": DecimalOperation.DIFFERENCE,
    "*": DecimalOperation.PRODUCT,
    "/": DecimalOperation.QUOTIENT,
    "%": DecimalOperation.REMAINDER,
}


@dataclass(frozen=True)
class DecimalFunction:
    """A function of two decimals of 38 digits, which returns Spark's result of an operation, exact and rounded as Spark
    rounds it. ``type`` is the type of the result, for ``WHOLE_QUOTIENT`` before it becomes a BIGINT. If ``tolerant``,
    it returns NULL in place of an error.

    >>> DecimalFunction(DecimalOperation.PRODUCT, (10, 2), decimal(38, 6)).name
    'rw_decimal_product_10_2_38_6'
    """

    operation: DecimalOperation
    scales: tuple[int, int]
    type: SqlType
    tolerant: bool = False

    @property
    def name(self) -> str:
        digits = (*self.scales, self.type.precision, self.type.scale)
        return f"rw_{'try_' * self.tolerant}decimal_{self.operation}_{'_'.join(map(str, digits))}"

    @property
    def argument_types(self) -> tuple[SqlType, SqlType]:
        first, second = (decimal(MAX_PRECISION, scale) for scale in self.scales)
        return first, second

    def call(self, first: str, second: str) -> str:
        """Returns the SQL of a call with two decimals of these scales."""
        arguments = zip((first, second), self.argument_types, strict=True)
        return f"{self.name}({', '.join(plain_cast(sql, type_) for sql, type_ in arguments)})"


_NAME = re.compile(r"rw_(try_)?decimal_([a-z]+)_(\d+)_(\d+)_(\d+)_(\d+)")


def decimal_function(name: str) -> DecimalFunction | None:
    """Returns the function of that name; ``None`` for names of other functions."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    tolerant, operation, *digits = match.groups()
    first, second, precision, scale = map(int, digits)
    return DecimalFunction(
        DecimalOperation(operation), (first, second), decimal(precision, scale), tolerant is not None
    )


def operation_type(operation: DecimalOperation, a: SqlType, b: SqlType) -> SqlType:
    """Returns Spark's type of the result, for ``WHOLE_QUOTIENT`` before it becomes a BIGINT."""
    a_digits, b_digits = a.precision - a.scale, b.precision - b.scale
    scale = max(a.scale, b.scale)
    match operation:
        case DecimalOperation.SUM | DecimalOperation.DIFFERENCE:
            return adjusted_decimal(max(a_digits, b_digits) + 1, scale)
        case DecimalOperation.PRODUCT:
            return adjusted_decimal(a_digits + b_digits + 1, a.scale + b.scale)
        case DecimalOperation.QUOTIENT:
            return adjusted_decimal(a_digits + b.scale, max(6, a.scale + b.precision + 1))
        case DecimalOperation.REMAINDER | DecimalOperation.POSITIVE_REMAINDER:
            return adjusted_decimal(min(a_digits, b_digits), scale)
        case DecimalOperation.WHOLE_QUOTIENT:
            return adjusted_decimal(max(a_digits + b.scale, 1), 0)
        case DecimalOperation.NEGATIVE:
            return a


def combined_decimals(
    operation: DecimalOperation, first: str, a: SqlType, second: str, b: SqlType, *, tolerant: bool = False
) -> tuple[str, SqlType]:
    """Returns the SQL of an operation of two decimals, and its type. If ``tolerant``, NULL is returned in place of an
    overflow and of a division by zero.
    """
    type_ = operation_type(operation, a, b)
    sql = None
    if operation is DecimalOperation.PRODUCT:
        sql = _product(first, a, second, b, type_, tolerant)
    elif operation in (DecimalOperation.SUM, DecimalOperation.DIFFERENCE):
        sql = _sum(operation, first, a, second, b, type_, tolerant)
    elif operation is DecimalOperation.QUOTIENT:
        return _quotient(first, a, second, b, type_, tolerant), type_
    return sql or DecimalFunction(operation, (a.scale, b.scale), type_, tolerant).call(first, second), type_


def divided_decimals(
    first: str, a: SqlType, second: str, b: SqlType, type_: SqlType, *, repeats_operands: bool = True
) -> str:
    """Returns the SQL of the quotient of two decimals in a type of its own, as AVG has. ``repeats_operands`` is false
    for operands that run again where their SQL is repeated, such as windows.
    """
    if repeats_operands:
        return _quotient(first, a, second, b, type_, tolerant=False)
    return DecimalFunction(DecimalOperation.QUOTIENT, (a.scale, b.scale), type_).call(first, second)


def _quotient(first: str, a: SqlType, second: str, b: SqlType, type_: SqlType, tolerant: bool) -> str:
    """Returns a quotient, for rows of at most 15 digits as DuckDB divides integers of 64 bits, about 70 times as fast
    as the function.

    Twice the dividend, and the divisor added to it with its sign, is divided by twice the divisor: half up.
    """
    function_sql = DecimalFunction(DecimalOperation.QUOTIENT, (a.scale, b.scale), type_, tolerant).call(first, second)
    shift, scale = type_.scale - a.scale + b.scale, type_.scale
    most_digits = min(EXACT_DIGITS, _SMALL_DECIMAL - 1 - shift)
    is_short = a.scale < most_digits and b.scale < EXACT_DIGITS and 0 < scale <= MAX_PRECISION - _SMALL_DECIMAL
    is_repeatable = len(first) + len(second) <= _MOST_REPEATED and not _REPEATED_AT_A_COST.search(first + second)
    if shift < 0 or not is_short or not is_repeatable:
        return function_sql
    dividend, divisor = _whole(first, a.scale), _whole(second, b.scale)
    rounded = f"({dividend} * {2 * 10**shift} + sign({dividend}) * abs({divisor})) // (2 * {divisor})"
    unit = f"CAST('0.{'1'.rjust(scale, '0')}' AS {duckdb_type(decimal(scale, scale))})"
    quotient = plain_cast(f"{plain_cast(rounded, decimal(_SMALL_DECIMAL, 0))} * {unit}", type_)
    tests = [f"{second} <> 0"]
    tests += [
        f"abs({sql}) < {plain_cast(string_literal('1' + '0' * (digits - value_type.scale)), value_type)}"
        for sql, value_type, digits in ((first, a, most_digits), (second, b, EXACT_DIGITS))
        if value_type.precision > digits
    ]
    either_null = f"{first} IS NULL OR {second} IS NULL"
    return f"CASE WHEN {' AND '.join(tests)} THEN {quotient} WHEN {either_null} THEN NULL ELSE {function_sql} END"


def _whole(sql: str, scale: int) -> str:
    """Returns the digits of a decimal of at most 15 as an integer. As a DOUBLE it is off by less than half of one."""
    return f"CAST(round({_double(sql)} * CAST(1{'0' * scale} AS DOUBLE)) AS BIGINT)"


def _product(first: str, a: SqlType, second: str, b: SqlType, type_: SqlType, tolerant: bool) -> str | None:
    """Returns the product as DuckDB computes it, also for a part of the rows; ``None`` if it never does."""
    scale = a.scale + b.scale
    if scale > MAX_PRECISION:
        return None
    is_short = a.precision + b.precision <= MAX_PRECISION
    if is_short or (scale == type_.scale and not tolerant):
        # DuckDB multiplies two small decimals in 64 bits, even if the product needs more. Its error for a product of
        # more than 38 digits is Spark's.
        widened = max(a.precision, b.precision, _SMALL_DECIMAL + 1)
        left, right = first, second
        if type_.precision > _SMALL_DECIMAL and a.precision >= b.precision:
            left = plain_cast(first, decimal(widened, a.scale))
        elif type_.precision > _SMALL_DECIMAL:
            right = plain_cast(second, decimal(widened, b.scale))
        return plain_cast(f"{left} * {right}", type_)
    if tolerant or len(first) + len(second) > _MOST_REPEATED:
        return None
    product = f"{plain_cast(first, decimal(MAX_PRECISION, a.scale))} * {second}"
    size = f"abs({_double(first)} * {_double(second)})"
    function = DecimalFunction(DecimalOperation.PRODUCT, (a.scale, b.scale), type_)
    return _unless_long(size, scale, plain_cast(product, type_), function.call(first, second))


def _sum(
    operation: DecimalOperation, first: str, a: SqlType, second: str, b: SqlType, type_: SqlType, tolerant: bool
) -> str | None:
    """Returns the sum or difference as DuckDB computes it, also for a part of the rows; ``None`` if it never does."""
    operator = "+" if operation is DecimalOperation.SUM else "-"
    scale = max(a.scale, b.scale)
    digits = max(a.precision - a.scale, b.precision - b.scale) + scale
    exact = decimal(min(MAX_PRECISION, digits + 1), scale)
    sql = plain_cast(f"{plain_cast(first, exact)} {operator} {plain_cast(second, exact)}", type_)
    if digits < MAX_PRECISION or (digits == MAX_PRECISION and scale == type_.scale and not tolerant):
        return sql
    if tolerant or len(first) + len(second) > _MOST_REPEATED:
        return None
    function = DecimalFunction(operation, (a.scale, b.scale), type_)
    return _unless_long(f"abs({_double(first)}) + abs({_double(second)})", scale, sql, function.call(first, second))


def _double(sql: str) -> str:
    return f"CAST({sql} AS DOUBLE)"


def _unless_long(size: str, scale: int, sql: str, function_sql: str) -> str:
    """Returns ``sql`` where a size, as a double, proves that all values of that scale have at most 38 digits. The
    distance from 10^38 is far more than what the doubles are rounded by.
    """
    return f"CASE WHEN {size} < CAST('9e{MAX_PRECISION - scale - 1}' AS DOUBLE) THEN {sql} ELSE {function_sql} END"


def negative_decimal(sql: str, type_: SqlType) -> str:
    """Returns the SQL of ``-x`` of a decimal of more than ``SIGN_DIGITS`` digits."""
    least, greatest = (f"CAST('{sign}{_exact_bound(type_)}' AS DECIMAL(38,{type_.scale}))" for sign in ("-", ""))
    return _signed(sql, type_, f"{sql} BETWEEN {least} AND {greatest}", f"-{sql}")


def absolute_decimal(sql: str, type_: SqlType) -> str:
    """Returns the SQL of ``abs(x)`` of a decimal of more than ``SIGN_DIGITS`` digits. Spark changes, and rounds, a
    negative one alone.
    """
    least = f"CAST('-{_exact_bound(type_)}' AS DECIMAL(38,{type_.scale}))"
    return _signed(sql, type_, f"{sql} >= {least}", f"abs({sql})")


def _exact_bound(type_: SqlType) -> str:
    """Returns the greatest number whose sign changes without rounding."""
    digits = "9" * SIGN_DIGITS
    whole = digits[: max(0, SIGN_DIGITS - type_.scale)]
    return f"{whole or '0'}.{(digits[len(whole) :]).rjust(type_.scale, '0')}" if type_.scale else whole


def _signed(sql: str, type_: SqlType, exact_test: str, exact: str) -> str:
    function = DecimalFunction(DecimalOperation.NEGATIVE, (type_.scale, 0), type_).call(sql, "0")
    if len(sql) > _MOST_REPEATED:
        # The sign of a negative number is changed, of others it is not.
        return function if exact.startswith("-") else f"CASE WHEN {sql} < 0 THEN {function} ELSE {sql} END"
    return plain_cast(f"CASE WHEN {exact_test} THEN {exact} ELSE {function} END", type_)
