"""CSV and TSV of Arrow columns are the text that ``rendering`` writes of the same values in Python."""

from __future__ import annotations

import itertools
import math
import random
import struct
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from rewriter.display.terminal.rendering import ARROW_TEXT_FORMATS, chunks, render_lines
from rewriter.errors import DataError
from rewriter.runtime.result import python_values

#: Texts of NULL, among them those of values and of parts of values.
NULLS = (None, "", "NULL", r"\N", "NaN", "0.0", "1", "true", "x\\y", "  ")

TEXTS = (
    "", " ", "a", "NULL", r"\N", "NaN", "1", "0.0", "true", "a,b", ",", '"', '""', 'say "x"', "a\nb", "\r", "\r\n",
    "\t", "a\tb", "\\", "\\t", "\\\\N", "x\\y", "日本語", "é,è", "\U0001f600", "\x00", "\x1b[31m", "\u2028", "'", "  ",
    ".", "e+5",
)  # fmt: skip

DOUBLES = (
    0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 100.0, 1e-3, 1e-4, 9.999999999999999e-05, 0.00010000000000000002, 1e-5, -1e-7,
    1e-9, 1e-10, 123456789.125, 9999999999.0, 9999999999.999998, 1e10, 10000000000.000002, 1e11, 1e15,
    999999999999999.9, 1e16, 9999999999999998.0, 1.5e16, 9007199254740993.0, 1e21, 1e22, 1e23, -1e22, 1e100, 5e-324,
    -5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, 1.7976931348623157e308, math.inf, -math.inf, math.nan,
    4.35, 2.675, 0.30000000000000004,
)  # fmt: skip

Values = Callable[[random.Random], object]


def _double(source: random.Random) -> float:
    return source.choice(
        (
            lambda: source.choice(DOUBLES),
            lambda: struct.unpack("<d", source.randbytes(8))[0],
            lambda: source.choice((-1, 1)) * 10 ** source.uniform(-12, 20),
            lambda: float(source.randint(-(10**12), 10**12)),
            lambda: source.randint(-(10**9), 10**9) / 10 ** source.randint(0, 12),
            lambda: math.nextafter(10.0 ** source.randint(-6, 18), source.choice((0, math.inf))),
        )
    )()


def _single(source: random.Random) -> float:
    if source.random() < 0.5:
        return float(struct.unpack("<f", source.randbytes(4))[0])
    return source.choice(
        (0.0, -0.0, 0.1, 1.5, 16777216.0, 1e10, 1e16, 1e-4, 1e-5, 1e-45, math.inf, -math.inf, math.nan)
    )


def _integer(bits: int) -> Values:
    most = 2 ** (bits - 1)
    return lambda source: source.choice((0, 1, -1, most - 1, -most, source.randrange(-most, most)))


def _decimal(precision: int, scale: int) -> Values:
    def value(source: random.Random) -> Decimal:
        digits = source.choice((0, 1, source.randrange(10 ** source.randint(1, precision)), 10**precision - 1))
        return Decimal((source.randint(0, 1), tuple(map(int, str(digits))), -scale))

    return value


def _text(source: random.Random) -> str:
    return source.choice(TEXTS) if source.random() < 0.8 else "".join(source.choices(TEXTS, k=3))


def _binary(source: random.Random) -> bytes:
    return source.randbytes(source.randint(0, 5))


#: The first and the last instant of the years 1 to 9999, in microseconds.
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def _microseconds(source: random.Random) -> int:
    whole = source.randint(_FIRST // 10**6, _LAST // 10**6) * 10**6
    return source.choice(
        (0, -1, 1, _FIRST, _LAST, whole, whole + 500_000, whole + 120, source.randint(_FIRST, _LAST), 10**12)
    )


def _list_of(value: Values) -> Values:
    return lambda source: [None if source.random() < 0.2 else value(source) for _ in range(source.randint(0, 3))]


def _struct(source: random.Random) -> dict[str, object]:
    return {"a": _integer(32)(source), "b": None if source.random() < 0.3 else _text(source)}


def _map(source: random.Random) -> list[tuple[str, object]]:
    return [(f"{key}{_text(source)}", _double(source)) for key in range(source.randint(0, 2))]


TYPES: dict[pa.DataType, Values] = {
    pa.bool_(): lambda source: source.random() < 0.5,
    pa.int8(): _integer(8),
    pa.int16(): _integer(16),
    pa.int32(): _integer(32),
    pa.int64(): _integer(64),
    pa.float32(): _single,
    pa.float64(): _double,
    **{
        pa.decimal128(precision, scale): _decimal(precision, scale)
        for precision, scale in ((1, 0), (10, 2), (18, 6), (18, 7), (20, 18), (38, 0), (38, 6), (38, 37))
    },
    pa.string(): _text,
    pa.large_string(): _text,
    pa.binary(): _binary,
    pa.large_binary(): _binary,
    pa.date32(): lambda source: source.choice((0, -1, -719_162, 2_932_896, source.randint(-719_162, 2_932_896))),
    pa.timestamp("us", "UTC"): _microseconds,
    pa.timestamp("us"): _microseconds,
    pa.null(): lambda source: None,
    pa.list_(pa.float64()): _list_of(_double),
    pa.list_(pa.string()): _list_of(_text),
    pa.struct([("a", pa.int32()), ("b", pa.string())]): _struct,
    pa.map_(pa.string(), pa.float64()): _map,
}


def _column(source: random.Random, type_: pa.DataType, rows: int) -> pa.Array:
    value, share = TYPES[type_], source.choice((0.0, 0.2, 1.0) if source.random() < 0.3 else (0.2,))
    return pa.array([None if source.random() < share else value(source) for _ in range(rows)], type_)


def _expected(names: list[str], batches: list[pa.RecordBatch], form: str, null: str | None) -> str:
    rows = itertools.chain.from_iterable(
        zip(*map(python_values, batch.columns), strict=True) if batch.num_columns else [()] * batch.num_rows
        for batch in batches
    )
    return "".join(f"{line}\n" for line in render_lines(names, rows, form, null))


def _check(names: list[str], batches: list[pa.RecordBatch], form: str, null: str | None) -> None:
    text = "".join(chunks(names, batches, form, null))
    expected = _expected(names, batches, form, null)
    differences = [pair for pair in zip(text.split("\n"), expected.split("\n"), strict=False) if pair[0] != pair[1]]
    assert text == expected, f"{form} {null!r}, seen and expected: {differences[:3]}"


@pytest.mark.parametrize("form", ARROW_TEXT_FORMATS)
@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_a_column_of_each_type(type_: pa.DataType, form: str) -> None:
    source = random.Random(f"{type_} {form}")
    for null in NULLS:
        column = _column(source, type_, 200)
        batch = pa.record_batch([column], ["c"])
        _check(["c"], [batch, batch.slice(7, 40), batch.slice(0, 0)], form, null)


@pytest.mark.parametrize("form", ARROW_TEXT_FORMATS)
@pytest.mark.parametrize("seed", range(25))
def test_random_tables(form: str, seed: int) -> None:
    source = random.Random(seed)
    types = source.choices(list(TYPES), k=source.randint(1, 6))
    names = [_text(source) for _ in types]
    fields = [pa.field(name, type_) for name, type_ in zip(names, types, strict=True)]
    batches = []
    for _ in range(3):
        rows = source.randint(0, 60)
        columns = [_column(source, type_, rows) for type_ in types]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)).slice(source.randint(0, 3)))
    _check(names, batches, form, source.choice(NULLS))


def test_many_doubles_have_the_text_of_python() -> None:
    source = random.Random(1)
    doubles = [*DOUBLES, *(-value for value in DOUBLES), *(_double(source) for _ in range(40_000))]
    batch = pa.record_batch([pa.array(doubles)], ["x"])
    _check(["x"], [batch], "csv", None)


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.0, -0.0, None, 3.0], "0.0 -0.0  3.0"),
        ([1e-5, 1e-4, 0.5], "1e-05 0.0001 0.5"),
        ([9999999999.0, 1e10, 1e15, 1e16, 1e22], "9999999999.0 10000000000.0 1000000000000000.0 1e+16 1e+22"),
        ([math.nan, math.inf, -math.inf, 5e-324], "NaN Infinity -Infinity 5e-324"),
    ],
)
def test_doubles(values: list[float | None], texts: str) -> None:
    batch = pa.record_batch([pa.array(values, pa.float64())], ["x"])
    assert "".join(chunks(["x"], [batch], "csv")).split("\n") == ["x", *texts.split(" "), ""]


def test_a_batch_of_several_chunks() -> None:
    rows = 40_000
    batch = pa.record_batch([pa.array(range(rows)), pa.array([TEXTS[i % len(TEXTS)] for i in range(rows)])], ["n", "s"])
    assert len(list(chunks(["n", "s"], [batch], "csv"))) == 4
    _check(["n", "s"], [batch], "csv", None)


@pytest.mark.parametrize("form", ARROW_TEXT_FORMATS)
def test_rows_without_columns(form: str) -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    _check([], [batch], form, None)


@pytest.mark.parametrize("form", ARROW_TEXT_FORMATS)
@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, None, _LAST + 1], pa.timestamp("us", "UTC")),
        pa.array([_FIRST - 1, 0], pa.timestamp("us")),
        pa.array([2_932_897], pa.date32()),
        pa.array([None, -719_163], pa.date32()),
    ],
)
def test_a_year_that_python_has_not(column: pa.Array, form: str) -> None:
    with pytest.raises(DataError, match="DATETIME_OVERFLOW"):
        list(chunks(["c"], [pa.record_batch([column], ["c"])], form))
