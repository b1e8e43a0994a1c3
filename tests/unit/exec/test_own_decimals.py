"""The functions of decimals in Python: exact results by another way, NULLs, parts of columns, and their names."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

import duckdb
import pyarrow as pa
import pytest

from rewriter.exec.duckdb.own_decimals import decimal_columns
from rewriter.exec.duckdb.own_functions import OwnFunctions
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


@pytest.mark.parametrize("seed", range(8))
def test_a_quotient_of_few_digits_is_that_of_the_function(seed: int) -> None:
    """DuckDB divides integers where the row has at most 15 digits, and calls the function elsewhere."""
    generator = random.Random(seed)
    connection = duckdb.connect()
    own_functions = OwnFunctions(connection)
    native = 0
    for _ in range(12):
        a = decimal(precision := generator.randint(1, 20), generator.randint(0, min(precision, 6)))
        b = decimal(precision := generator.randint(1, 18), generator.randint(0, min(precision, 4)))
        sql, type_ = combined_decimals(DecimalOperation.QUOTIENT, "a", a, "b", b, tolerant=True)
        function = DecimalFunction(DecimalOperation.QUOTIENT, (a.scale, b.scale), type_, tolerant=True).call("a", "b")
        native += "//" in sql
        columns = [
            pa.array([_short_number(generator, value) for _ in range(200)], pa.decimal128(value.precision, value.scale))
            for value in (a, b)
        ]
        connection.register("t", pa.table(columns, ["a", "b"]))
        rows = connection.execute(own_functions.define(f"SELECT a, b, {sql}, {function} FROM t")).fetchall()
        assert [row for row in rows if row[2] != row[3]] == []
    assert native > 3
    connection.close()


def _short_number(generator: random.Random, type_: SqlType) -> Decimal | None:
    most = 10 ** generator.randint(1, type_.precision)
    digits = generator.choice((generator.randrange(most), most - 1, most // 2, 1, 0, None))
    return None if digits is None else Decimal(digits * generator.choice((-1, 1))).scaleb(-type_.scale, _EXACT)


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
