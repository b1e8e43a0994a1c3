"""The functions of decimals in Python: exact results by another way, NULLs, parts of columns, and their names."""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import duckdb
import pyarrow as pa
import pytest

from rewriter.exec.duckdb.own_decimals import decimal_columns
from rewriter.exec.sql_types import SqlType, decimal
from rewriter.exec.translate.decimals import (
    DecimalFunction,
    DecimalOperation,
    combined_decimals,
    decimal_function,
    operation_type,
)

_EXACT = Context(prec=200)
_CALCULATED = {
    DecimalOperation.SUM: _EXACT.add,
    DecimalOperation.DIFFERENCE: _EXACT.subtract,
    DecimalOperation.PRODUCT: _EXACT.multiply,
    DecimalOperation.QUOTIENT: _EXACT.divide,
}


def _column(values: list[Decimal | None], scale: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, pa.decimal128(38, scale))])


def _number(generator: random.Random, scale: int) -> Decimal:
    digits = generator.choice((generator.randrange(10 ** generator.randrange(1, 39)), 10**38 - 1, 5 * 10**20, 1))
    return Decimal(digits * generator.choice((-1, 1))).scaleb(-scale, _EXACT)


@pytest.mark.parametrize("operation", _CALCULATED)
def test_results_are_exact_and_rounded_half_up(operation: DecimalOperation) -> None:
    generator = random.Random(operation)
    for _ in range(40):
        scales = generator.choice((0, 2, 10, 19, 37, 38)), generator.choice((0, 2, 10, 19, 37, 38))
        type_ = operation_type(operation, decimal(38, scales[0]), decimal(38, scales[1]))
        firsts, seconds = ([_number(generator, scale) for _ in range(20)] for scale in scales)
        # An overflow is NULL.
        function = DecimalFunction(operation, scales, type_, tolerant=True)
        results = decimal_columns(function)(_column(firsts, scales[0]), _column(seconds, scales[1]))
        assert results.type == pa.decimal128(type_.precision, type_.scale)
        for first, second, result in zip(firsts, seconds, results.to_pylist(), strict=True):
            exact = _CALCULATED[operation](first, second)
            rounded = exact.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, _EXACT)
            assert result == (rounded if rounded.copy_abs() < Decimal(10) ** (38 - type_.scale) else None)


def test_a_changed_sign_has_34_digits() -> None:
    context = Context(prec=34, rounding=ROUND_HALF_EVEN)
    generator = random.Random(3)
    numbers = [_number(generator, 4) for _ in range(200)] + [Decimal(10**37 + 5000 * k).scaleb(-4) for k in range(5)]
    function = DecimalFunction(DecimalOperation.NEGATIVE, (4, 0), decimal(38, 4), tolerant=True)
    results = decimal_columns(function)(_column(numbers, 4), _column([Decimal(0)] * len(numbers), 0)).to_pylist()
    expected = [context.minus(number) for number in numbers]
    assert results == [value if value.copy_abs() < 10**34 else None for value in expected]


def test_null_and_parts_of_columns() -> None:
    function = DecimalFunction(DecimalOperation.SUM, (1, 0), decimal(38, 1))
    values = pa.array([Decimal("1.5"), None, Decimal("-0.1"), Decimal(7)], pa.decimal128(38, 1))
    chunks = pa.chunked_array([values.slice(0, 2), values.slice(2, 0), values.slice(2, 2)])
    ones = pa.chunked_array([pa.array([Decimal(1), Decimal(1), None, Decimal(1)], pa.decimal128(38, 0))])
    assert decimal_columns(function)(chunks, ones).to_pylist() == [Decimal("2.5"), None, None, Decimal("8.0")]


@pytest.mark.parametrize(
    ("operation", "first", "second", "condition"),
    [
        (DecimalOperation.SUM, "9" * 38, "1", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
        (DecimalOperation.QUOTIENT, "1", "0", "DIVIDE_BY_ZERO"),
        (DecimalOperation.REMAINDER, "1", "0", "REMAINDER_BY_ZERO"),
        (DecimalOperation.POSITIVE_REMAINDER, "-1", "0", "REMAINDER_BY_ZERO"),
        (DecimalOperation.WHOLE_QUOTIENT, "1", "0", "DIVIDE_BY_ZERO"),
        (DecimalOperation.WHOLE_QUOTIENT, str(2**63), "1", "ARITHMETIC_OVERFLOW"),
    ],
)
def test_errors(operation: DecimalOperation, first: str, second: str, condition: str) -> None:
    function = DecimalFunction(operation, (0, 0), decimal(38, 0))
    with pytest.raises(ValueError, match=rf"^\[{condition}\]"):
        decimal_columns(function)(_column([Decimal(first)], 0), _column([Decimal(second)], 0))


def test_a_remainder_that_java_does_not_compute() -> None:
    for tolerant in (False, True):
        function = DecimalFunction(DecimalOperation.REMAINDER, (0, 38), decimal(38, 38), tolerant=tolerant)
        with pytest.raises(ValueError, match=r"^\[DUCKDB_UNSUPPORTED\]"):
            decimal_columns(function)(_column([Decimal("9" * 38)], 0), _column([Decimal(7).scaleb(-38)], 38))


def test_names_are_read_back() -> None:
    for operation in DecimalOperation:
        for tolerant in (False, True):
            function = DecimalFunction(operation, (3, 10), decimal(38, 6), tolerant)
            assert decimal_function(function.name) == function
    assert decimal_function("rw_decimal_text") is None


def test_operations_that_fit_run_in_duckdb() -> None:
    money, share = decimal(15, 2), decimal(16, 2)
    charge, type_ = combined_decimals(DecimalOperation.PRODUCT, "a", decimal(32, 4), "b", share)
    assert (str(type_), "rw_" in charge) == ("decimal(38,6)", False)
    for operation in (DecimalOperation.SUM, DecimalOperation.DIFFERENCE, DecimalOperation.PRODUCT):
        assert "rw_" not in combined_decimals(operation, "a", money, "b", money)[0]
    # Long operands are not repeated.
    long = "a" * 1000
    assert len(combined_decimals(DecimalOperation.PRODUCT, long, decimal(38, 10), "b", decimal(38, 10))[0]) < 1200


def test_quotients_in_64_bits_are_those_of_the_function() -> None:
    generator = random.Random(11)
    divided_rows = 0
    with duckdb.connect() as connection:
        for _ in range(150):
            a_scale, b_scale = generator.randrange(13), generator.randrange(9)
            a = decimal(generator.randrange(max(a_scale, 1), 39), a_scale)
            b = decimal(generator.randrange(max(b_scale, 1), 39), b_scale)
            sql, type_ = combined_decimals(DecimalOperation.QUOTIENT, "x", a, "y", b)
            function = DecimalFunction(DecimalOperation.QUOTIENT, (a_scale, b_scale), type_, tolerant=True)
            firsts, seconds = ([_decimal_of(generator, operand) for _ in range(100)] for operand in (a, b))
            expected = decimal_columns(function)(_column(firsts, a_scale), _column(seconds, b_scale)).to_pylist()
            # Rows that are left to the function are NULL.
            connection.execute(f"CREATE OR REPLACE MACRO {replace(function, tolerant=False).name}(x, y) AS NULL")
            x, y = (
                pa.array(values, pa.decimal128(operand.precision, operand.scale))
                for values, operand in ((firsts, a), (seconds, b))
            )
            connection.register("operands", pa.table({"i": range(100), "x": x, "y": y}))
            for i, quotient in connection.execute(f"SELECT i, {sql} FROM operands").fetchall():
                if quotient is not None:
                    divided_rows += 1
                    assert quotient == expected[i], (firsts[i], a, seconds[i], b)
    assert divided_rows > 2000


def _decimal_of(generator: random.Random, type_: SqlType) -> Decimal:
    size = 10 ** generator.randrange(1, type_.precision + 1)
    digits = generator.choice((generator.randrange(size), size - 1, size // 10, size // 2, 1, 3))
    return Decimal(digits * generator.choice((-1, 1))).scaleb(-type_.scale, _EXACT)
