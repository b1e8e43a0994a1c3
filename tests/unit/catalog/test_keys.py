"""Partition keys: the vectors, and byte order = value order."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.catalog.keys.encoding import (
    NULL,
    TOP,
    decode_bytes,
    decode_value,
    encode,
    encode_bytes,
    encode_value,
    prefix,
    prefix_of,
    split_key,
    width_of,
)
from rewriter.catalog.keys.java_floats import java_double, java_float
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges, successor
from rewriter.errors import InternalError, NotSupportedError

VECTORS = json.loads((Path(__file__).parent / "ordered-keys.json").read_text())


def _text(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(("type", "value", "hex"), VECTORS["rows"])
def test_vectors(type: str, value: object, hex: str) -> None:
    kind = "string" if type == "null" else type
    assert encode_value(kind, _text(value)).hex() == hex


def test_vector_of_the_prefix() -> None:
    encoded = encode_value("string", "testdb") + encode_value("string", "testtb")
    assert encoded.hex() == VECTORS["prefix of (testdb, testtb)"]


def _double(number: float) -> tuple[tuple[bool, float], str]:
    number = number + 0.0 if number else 0.0
    return (math.isnan(number), 0.0 if math.isnan(number) else number), _special(number) or java_double(number)


def _float(number: float) -> tuple[tuple[bool, float], str]:
    number = number if number else 0.0
    return (math.isnan(number), 0.0 if math.isnan(number) else number), _special(number) or java_float(number)


def _special(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    return None if math.isfinite(number) else ("Infinity" if number > 0 else "-Infinity")


def _moment(moment: datetime) -> tuple[datetime, str]:
    seconds, _, fraction = moment.isoformat(" ").partition(".")
    return moment, seconds + (f".{fraction.rstrip('0')}" if fraction else "")


def _fraction(number: int, scale: int) -> str:
    return f"{'-' * (number < 0)}0.{abs(number):0{scale}}"


_TEXT = st.text()

#: By type: values that compare as Spark orders them, with their canonical text.
TYPED: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any], tuple[Any, str]]]] = {
    "tinyint": (st.integers(-128, 127), lambda n: (n, str(n))),
    "smallint": (st.integers(-(2**15), 2**15 - 1), lambda n: (n, str(n))),
    "int": (st.integers(-(2**31), 2**31 - 1), lambda n: (n, str(n))),
    "bigint": (st.integers(-(2**63), 2**63 - 1), lambda n: (n, str(n))),
    "decimal(10,2)": (st.integers(-(10**10) + 1, 10**10 - 1), lambda n: (n, f"{Decimal(n).scaleb(-2):f}")),
    "decimal(5,5)": (st.integers(-99_999, 99_999), lambda n: (n, f"{Decimal(n).scaleb(-5):f}")),
    "decimal(38,38)": (st.integers(-(10**38) + 1, 10**38 - 1), lambda n: (n, _fraction(n, 38))),
    "decimal(38,0)": (st.integers(-(10**38) + 1, 10**38 - 1), lambda n: (n, str(n))),
    "string": (st.one_of(_TEXT, st.text(st.sampled_from("\x00\x01\x02a"))), lambda s: (s.encode(), s)),
    "varchar(30)": (st.text(max_size=30), lambda s: (s.encode(), s)),
    "char(4)": (st.text(max_size=4), lambda s: (s.ljust(4).encode(), s.ljust(4))),
    "boolean": (st.booleans(), lambda b: (b, str(b).lower())),
    "date": (st.dates(), lambda d: (d, d.isoformat())),
    "timestamp": (st.datetimes(), _moment),
    "double": (st.floats(), _double),
    "float": (st.floats(width=32), _float),
}


#: Values that random tests rarely meet: both ends, their neighbors and those of zero, carries, escaped bytes.
EXTREMES: dict[str, list[Any]] = {
    **{
        type: [-(1 << bits), 1 - (1 << bits), -257, -256, -1, 0, 1, 127, 255, 256, (1 << bits) - 2, (1 << bits) - 1]
        for type, bits in (("smallint", 15), ("int", 31), ("bigint", 63))
    },
    "tinyint": [-128, -127, -1, 0, 1, 126, 127],
    "decimal(10,2)": [1 - 10**10, -100, -99, -1, 0, 1, 99, 100, 255, 256, 10**10 - 1],
    "decimal(5,5)": [-99_999, -1, 0, 1, 99_999],
    "decimal(38,38)": [1 - 10**38, -1, 0, 1, 10**38 - 1],
    "decimal(38,0)": [1 - 10**38, -(2**64), -1, 0, 1, 2**64, 10**38 - 1],
    "string": ["", "\0", "\0\0", "\0\1", "\1", "\1\0", "\1\1", "\1\2", "\2", "a", "a\0", "a\1", "\uffff", "\U0010ffff"],
    "varchar(30)": ["", " ", "a", "a ", "é", "e\u0301"],
    "char(4)": ["", "a", "a\0", "a\1", "a\t", "ab"],
    "boolean": [False, True],
    "date": [date.min, date(1969, 12, 31), date(1970, 1, 1), date.max],
    "timestamp": [
        datetime.min, datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1970, 1, 1),
        datetime(1970, 1, 1, 0, 0, 0, 1), datetime.max,
    ],
    "double": [
        -math.inf, -1.7976931348623157e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.2250738585072014e-308, 1.0,
        1.0000000000000002, 1.7976931348623157e308, math.inf, math.nan,
    ],
    "float": [
        -math.inf, -3.4028234663852886e38, -1.401298464324817e-45, -0.0, 0.0, 1.401298464324817e-45, 1.0,
        1.0000001192092896, 3.4028234663852886e38, math.inf, math.nan,
    ],
}  # fmt: skip


def test_there_are_extremes_of_every_type() -> None:
    assert EXTREMES.keys() == TYPED.keys()


@pytest.mark.parametrize("type", TYPED)
def test_extremes_are_in_order_and_come_back(type: str) -> None:
    """Each with each, and with NULL."""
    of = TYPED[type][1]
    encoded = [_encoded(type, of, value) for value in [None, *EXTREMES[type]]]
    for a, a_key in encoded:
        for b, b_key in encoded:
            assert ((a < b), (a == b)) == ((a_key < b_key), (a_key == b_key)), (a, b)
            assert a == b or not a_key.startswith(b_key)
    for value in EXTREMES[type]:
        assert decode_value(type, encode_value(type, of(value)[1])) == of(value)[1]


@given(st.lists(st.binary(max_size=6) | st.lists(st.sampled_from([0, 1, 2, 255]), max_size=4).map(bytes), min_size=2))
def test_any_bytes_have_a_field_in_their_order(values: list[bytes]) -> None:
    for value in values:
        assert decode_bytes(encode_bytes(value)) == value
        assert split_key([None, 5], prefix(1) + encode_bytes(value) + encode_value("int", "0"))[0] == encode_bytes(
            value
        )
        assert NULL < encode_bytes(value) < TOP
    assert sorted(values) == [decode_bytes(field) for field in sorted(map(encode_bytes, values))]


@pytest.mark.parametrize("type", TYPED)
def test_byte_order_is_value_order_nulls_first(type: str) -> None:
    strategy, of = TYPED[type]

    @given(st.lists(st.none() | strategy, min_size=2, max_size=2))
    def check(pair: list[Any]) -> None:
        (a, a_key), (b, b_key) = (_encoded(type, of, value) for value in pair)
        assert (a < b) == (a_key < b_key)
        assert (a == b) == (a_key == b_key)

    check()


def _encoded(type: str, of: Callable[[Any], tuple[Any, str]], value: Any) -> tuple[tuple[Any, ...], bytes]:
    if value is None:
        return (0,), encode_value(type, None)
    comparable, text = of(value)
    return (1, comparable), encode_value(type, text)


@pytest.mark.parametrize("type", TYPED)
def test_decoding_is_the_opposite_of_encoding(type: str) -> None:
    strategy, of = TYPED[type]

    @given(st.none() | strategy)
    def check(value: Any) -> None:
        text = None if value is None else of(value)[1]
        field = encode_value(type, text)
        assert decode_value(type, field) == text
        assert value is None or width_of(type) in (None, len(field))
        assert field < after(field)
        assert len(after(field)) == len(field)

    check()


@pytest.mark.parametrize(("type", "value", "hex"), VECTORS["rows"])
def test_vectors_decode(type: str, value: object, hex: str) -> None:
    # Canonical text has one zero, which Java, too, prints of both.
    text = "0.0" if value == 0 and type == "double" else _text(value)
    assert decode_value("string" if type == "null" else type, bytes.fromhex(hex)) == text


@given(st.data())
def test_a_key_splits_into_its_fields(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(sorted(TYPED)), max_size=4))
    drawn = [data.draw(st.none() | TYPED[type][0]) for type in types]
    texts = [None if value is None else TYPED[type][1](value)[1] for type, value in zip(types, drawn, strict=True)]
    fields = split_key([width_of(type) for type in types], encode(7, types, texts))
    assert fields == tuple(map(encode_value, types, texts))


@given(st.data())
def test_rows_of_values_order_as_their_keys(data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(sorted(TYPED)), min_size=1, max_size=3))
    rows = []
    for _ in range(2):
        values, texts = [], []
        for type in types:
            strategy, of = TYPED[type]
            drawn = data.draw(st.none() | strategy)
            values.append(_encoded(type, of, drawn)[0])
            texts.append(None if drawn is None else of(drawn)[1])
        rows.append((tuple(values), texts))
    (a, a_texts), (b, b_texts) = rows
    keys = [encode(7, types, texts) for texts in (a_texts, b_texts)]
    assert (a < b) == (keys[0] < keys[1])
    for cut in range(len(types) + 1):
        lead = prefix_of(7, types, a_texts[:cut])
        assert (keys[1] in KeyRange.of_prefix(lead)) == (a[:cut] == b[:cut])


@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_tables_do_not_mix(a: int, b: int) -> None:
    assert (a < b) == (prefix(a) < prefix(b))
    if a != b:
        assert encode(b, ["string"], ["x"]) not in KeyRange.of_prefix(prefix(a))


@given(st.binary(), st.binary(max_size=4))
def test_successor_is_the_least_bound_above_a_prefix(stem: bytes, tail: bytes) -> None:
    start = b"\x01" + stem
    end = successor(start)
    assert start + tail < end
    assert start + b"\xff" * 8 < end
    # One less is not enough: everything below the bound is not above all strings with the prefix.
    below = end[:-1] + bytes([end[-1] - 1]) + b"\xff" * (len(start) + 9 - len(end))
    assert below <= start + b"\xff" * 9


@pytest.mark.parametrize("bytes", [b"", b"\xff", b"\xff\xff"])
def test_nothing_succeeds_what_has_no_successor(bytes: bytes) -> None:
    with pytest.raises(ValueError, match="no byte string is greater"):
        successor(bytes)


@given(st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=2))), st.binary(max_size=3))
def test_merged_ranges_hold_the_same_keys(pairs: list[tuple[bytes, bytes]], key: bytes) -> None:
    ranges = [KeyRange(*pair) for pair in pairs]
    disjoint = merge_ranges(ranges)
    assert any(key in r for r in ranges) == any(key in r for r in disjoint)
    assert all(a.end < b.start for a, b in pairwise(disjoint))


@pytest.mark.parametrize(
    ("type", "text"),
    [("int", "x"), ("int", "2147483648"), ("date", "2015-13-01"), ("boolean", "T"), ("decimal(4,1)", "1.23")],
)
def test_what_is_not_canonical_is_not_encoded(type: str, text: str) -> None:
    with pytest.raises(InternalError, match="not a canonical"):
        encode_value(type, text)


@pytest.mark.parametrize(
    "type", ["binary", "array<int>", "decimal(39,0)", "char", "string(3)", "timestamp_ntz", "int,"]
)
def test_types_that_partition_nothing(type: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        encode_value(type, "1")
    assert caught.value.condition == "INVALID_PARTITION_COLUMN_DATA_TYPE"
    assert caught.value.sqlstate == "0A000"


def test_some_keys_by_hand() -> None:
    assert encode_value("timestamp", "1970-01-01 00:00:00.000001").hex() == "018000000000000001"
    assert encode_value("decimal(6,2)", "-0.01") == b"\x01" + (2**127 - 1).to_bytes(16, "big")
    assert encode_value("float", "1.5") == b"\x01" + bytes([0xBF]) + struct.pack(">f", 1.5)[1:]
    assert encode_value("date", "1970-01-01").hex() == "0180000000"
