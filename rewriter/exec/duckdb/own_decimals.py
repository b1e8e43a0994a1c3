"""Functions of decimals in Python, as ``exec.translate.decimals`` calls them: Spark's results beyond 38 digits.

Sums, products and quotients are exact, and rounded half up to the scale of their types. Spark cuts products and
quotients to 39 digits first, which changes no result that fits in 38.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

from rewriter.exec.translate.decimals import SIGN_DIGITS, DecimalFunction, DecimalOperation

#: The most digits of a quotient without its fraction.
_WHOLE_DIGITS = 39
_DIVISION = "[DIVIDE_BY_ZERO] Division by zero."
_BYTES = 16

#: Returns the digits of a result as an integer, of those of the operands.
_Kernel = Callable[[int, int], int]


def decimal_columns(function: DecimalFunction) -> Callable[[Any, Any], Any]:
    """Returns the function of columns of Arrow. It raises ``ValueError`` with Spark's condition, costs about 1 µs for
    each row, and returns NULL for NULL.
    """
    kernel, type_ = _kernel(function), function.type
    limit, is_whole = 10**type_.precision, function.operation is DecimalOperation.WHOLE_QUOTIENT

    def checked(first: int, second: int) -> int:
        digits = kernel(first, second)
        if not -limit < digits < limit:
            shown = _shown(digits, type_.scale)
            raise ValueError(f"[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] {shown} does not fit {type_.shown}.")
        if is_whole and not -(2**63) <= digits < 2**63:
            raise ValueError(f"[ARITHMETIC_OVERFLOW] overflow: {digits} does not fit BIGINT.")
        return digits

    def tolerant(first: int, second: int) -> int | None:
        try:
            return checked(first, second)
        except ValueError as error:
            if str(error).startswith("[DUCKDB_UNSUPPORTED]"):
                raise
            return None

    compute = tolerant if function.tolerant else checked

    def columns(firsts: Any, seconds: Any) -> Any:
        results = [
            None if first is None or second is None else compute(first, second)
            for first, second in zip(_digits(firsts), _digits(seconds), strict=True)
        ]
        return _whole_numbers(results) if is_whole else _decimals(results, type_.precision, type_.scale)

    return columns


def _shown(digits: int, scale: int) -> str:
    text = str(abs(digits)).rjust(scale + 1, "0")
    return f"{'-' * (digits < 0)}{text[: len(text) - scale]}{'.' * (scale > 0)}{text[len(text) - scale :]}"


def _digits(column: Any) -> Iterable[int | None]:
    """Yields the digits of each decimal of a column as an integer."""
    for chunk in column.chunks:
        _, buffer = chunk.buffers()
        view = memoryview(buffer)[chunk.offset * _BYTES : (chunk.offset + len(chunk)) * _BYTES]
        low, high = view.cast("Q")[::2].tolist(), view.cast("q")[1::2].tolist()
        values = (upper << 64 | lower for lower, upper in zip(low, high, strict=True))
        if chunk.null_count == 0:
            yield from values
        else:
            for value, is_valid in zip(values, chunk.is_valid().to_pylist(), strict=True):
                yield value if is_valid else None


def _decimals(results: list[int | None], precision: int, scale: int) -> Any:
    """Returns a column of decimals of 128 bits with these digits."""
    import pyarrow as pa

    data = b"".join((digits or 0).to_bytes(_BYTES, "little", signed=True) for digits in results)
    validity = None
    if None in results:
        validity = pa.array([digits is not None for digits in results], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(results), [validity, pa.py_buffer(data)])


def _whole_numbers(results: list[int | None]) -> Any:
    import pyarrow as pa

    return pa.array(results, pa.int64())


def _kernel(function: DecimalFunction) -> _Kernel:
    a, b = function.scales
    scale = function.type.scale
    match function.operation:
        case DecimalOperation.SUM | DecimalOperation.DIFFERENCE:
            return _sum(a, b, scale, -1 if function.operation is DecimalOperation.DIFFERENCE else 1)
        case DecimalOperation.PRODUCT:
            divisor = int(10 ** (a + b - scale))
            return lambda first, second: _rounded(first * second, divisor)
        case DecimalOperation.QUOTIENT:
            return _quotient(scale - a + b)
        case DecimalOperation.REMAINDER | DecimalOperation.POSITIVE_REMAINDER:
            return _remainder(a, b, function.operation is DecimalOperation.POSITIVE_REMAINDER)
        case DecimalOperation.WHOLE_QUOTIENT:
            first_factor, second_factor = _factors(a, b)
            return lambda first, second: _divided(first * first_factor, second * second_factor)
        case DecimalOperation.NEGATIVE:
            return lambda first, _: -_rounded_to_even(first)
        case _:
            assert_never(function.operation)


def _factors(a: int, b: int) -> tuple[int, int]:
    """Returns the powers of ten that give numbers of two scales the greater one."""
    scale = max(a, b)
    return 10 ** (scale - a), 10 ** (scale - b)


def _sum(a: int, b: int, scale: int, sign: int) -> _Kernel:
    first_factor, second_factor = _factors(a, b)
    divisor: int = 10 ** (max(a, b) - scale)
    return lambda first, second: _rounded(first * first_factor + sign * second * second_factor, divisor)


def _quotient(shift: int) -> _Kernel:
    numerator_factor, denominator_factor = 10 ** max(shift, 0), 10 ** max(-shift, 0)

    def kernel(first: int, second: int) -> int:
        if second == 0:
            raise ValueError(_DIVISION)
        return _rounded(first * numerator_factor, second * denominator_factor)

    return kernel


def _rounded(numerator: int, denominator: int) -> int:
    """Returns a quotient as a whole number, half up."""
    size = abs(denominator)
    whole = (2 * abs(numerator) + size) // (2 * size)
    return whole if (numerator < 0) is (denominator < 0) else -whole


def _length(number: int) -> int:
    """Returns the number of digits, 0 for 0."""
    return len(str(number)) if number else 0


def _remainder(a: int, b: int, is_positive: bool) -> _Kernel:
    first_factor, second_factor = _factors(a, b)

    def remainder(dividend: int, divisor: int) -> int:
        if divisor == 0:
            raise ValueError("[REMAINDER_BY_ZERO] Division by zero.")
        return dividend - _whole_quotient(dividend, divisor) * divisor

    def kernel(first: int, second: int) -> int:
        divisor = second * second_factor
        digits = remainder(first * first_factor, divisor)
        return remainder(digits + divisor, divisor) if is_positive and digits < 0 else digits

    return kernel


def _divided(dividend: int, divisor: int) -> int:
    if divisor == 0:
        raise ValueError(_DIVISION)
    return _whole_quotient(dividend, divisor)


def _whole_quotient(dividend: int, divisor: int) -> int:
    """Returns a quotient without its fraction. Java has no result if it does not fit 39 digits and zeros."""
    size = abs(dividend) // abs(divisor)
    surplus = _length(size) - _WHOLE_DIGITS
    if surplus > 0 and size % 10**surplus:
        raise ValueError("[DUCKDB_UNSUPPORTED] A whole quotient of more than 39 digits is not supported on DuckDB.")
    return size if (dividend < 0) is (divisor < 0) else -size


def _rounded_to_even(number: int) -> int:
    """Returns a number rounded half to even to the digits that Spark keeps when it changes a sign."""
    size = abs(number)
    surplus = _length(size) - SIGN_DIGITS
    if surplus <= 0:
        return number
    unit: int = 10**surplus
    whole, remainder = divmod(size, unit)
    if 2 * remainder > unit or (2 * remainder == unit and whole % 2):
        whole += 1
    return whole * unit if number >= 0 else -whole * unit
