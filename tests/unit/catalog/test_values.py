"""Partition values: Spark 4.3's coercions as measured, our deliberate refusals, and Hive's path escaping."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.catalog.keys.java_floats import java_float, nearest_float
from rewriter.catalog.keys.values import (
    canonical,
    check_partition_column,
    coerce,
    escape,
    parse_partition_name,
    partition_name,
    require_canonical,
    unescape,
)
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, DataError, NotSupportedError

#: (type, literal kind, literal text, canonical value), each seen in Spark 4.3.
MEASURED = [
    ("int", "number", "1", "1"),
    ("int", "string", "02", "2"),
    ("int", "string", "022", "22"),
    ("int", "number", "02", "2"),
    ("string", "string", "US", "US"),
    ("string", "string", "a b/c:d=e%f", "a b/c:d=e%f"),
    ("string", "date", "2020-01-01", "2020-01-01"),
    ("string", "number", "007", "7"),
    ("string", "boolean", "true", "true"),
    ("string", "string", "é中", "é中"),
    ("string", "null", "", None),
    ("int", "null", "", None),
    ("string", "string", "__HIVE_DEFAULT_PARTITION__", None),
    ("date", "string", "2020-1-2", "2020-01-02"),
    ("date", "string", "2020", "2020-01-01"),
    ("timestamp", "string", "2020-01-02", "2020-01-02 00:00:00"),
    ("timestamp", "string", "2020-01-02 03:04:05.100", "2020-01-02 03:04:05.1"),
    ("timestamp", "timestamp", "2020-01-02 03:04:06", "2020-01-02 03:04:06"),
    ("decimal(6,2)", "number", "1", "1.00"),
    ("decimal(6,2)", "string", "1.00", "1.00"),
    ("decimal(6,2)", "number", "1.5", "1.50"),
    ("boolean", "string", "T", "true"),
    ("boolean", "number", "1", "true"),
    ("boolean", "boolean", "false", "false"),
    ("varchar(3)", "string", "ab", "ab"),
    ("varchar(3)", "string", "ab ", "ab "),
    ("char(4)", "string", "xy", "xy  "),
    ("char(4)", "string", "xyz  ", "xyz "),
    ("double", "number", "1", "1.0"),
    ("double", "string", "1e2", "100.0"),
    ("double", "string", "NaN", "NaN"),
    ("double", "number", "-0.0", "0.0"),
    ("bigint", "number", "-0", "0"),
    ("bigint", "string", "+5", "5"),
    ("bigint", "string", " 6 ", "6"),
    ("bigint", "number", "0L", "0"),
    ("double", "string", "1.5d", "1.5"),
    ("float", "string", "1.5f", "1.5"),
]

#: (type, literal kind, literal text, condition) that Spark refuses, too.
REFUSED_BY_SPARK = [
    ("int", "string", "abc", "CAST_INVALID_INPUT"),
    ("int", "number", "1.5", "CAST_INVALID_INPUT"),
    ("int", "string", "1.5", "CAST_INVALID_INPUT"),
    ("int", "number", "3000000000", "CAST_INVALID_INPUT"),
    ("date", "string", "2020-13-01", "CAST_INVALID_INPUT"),
    ("date", "number", "20200101", "CAST_INVALID_INPUT"),
    ("varchar(3)", "string", "abcd", "EXCEED_LIMIT_LENGTH"),
    ("decimal(6,2)", "number", "10000", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"),
    ("int", "number", "300Y", "INVALID_NUMERIC_LITERAL_RANGE"),
    ("string", "number", "1e400", "INVALID_NUMERIC_LITERAL_RANGE"),
    ("string", "number", "1" * 39, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"),
    ("string", "date", "2020-02-30", "INVALID_TYPED_LITERAL"),
    ("timestamp", "timestamp", "nonsense", "INVALID_TYPED_LITERAL"),
    ("timestamp", "string", "2020-01-04T05:06+02:00", "CAST_INVALID_INPUT"),
    ("double", "string", "1.5x", "CAST_INVALID_INPUT"),
    ("double", "string", "d", "CAST_INVALID_INPUT"),
]

#: Values that Spark accepts by dropping a part of them. We refuse them.
REFUSED_BY_US = [
    ("date", "string", "2020-01-03 10:00:00", "CAST_INVALID_INPUT"),
    ("date", "timestamp", "2020-01-03 10:00:00", "CAST_INVALID_INPUT"),
    ("decimal(6,2)", "number", "1.555", "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"),
    ("timestamp", "string", "2020-01-02 03:04:05.1234567", "CAST_INVALID_INPUT"),
    ("double", "string", "1e400", "CAST_OVERFLOW"),
    ("float", "string", "1e40", "CAST_OVERFLOW"),
    ("string", "string", "a\x00b", "INVALID_PARTITION_SPEC"),
    ("string", "string", "\ud800", "INVALID_PARTITION_SPEC"),
    ("date", "string", "0000-01-01", "CAST_INVALID_INPUT"),
]


@pytest.mark.parametrize(("type", "kind", "text", "value"), MEASURED)
def test_coercions_measured_in_spark(type: str, kind: str, text: str, value: str | None) -> None:
    column = Column("p", type)
    assert coerce(column, kind, text) == value
    assert canonical(column, value) == value


@pytest.mark.parametrize(("type", "kind", "text", "condition"), REFUSED_BY_SPARK + REFUSED_BY_US)
def test_refused_values(type: str, kind: str, text: str, condition: str) -> None:
    with pytest.raises(DataError) as caught:
        coerce(Column("p", type), kind, text)
    assert caught.value.condition == condition
    assert caught.value.sqlstate is not None
    assert caught.value.hint


@pytest.mark.parametrize("type", ["string", "int", "char(3)", "date"])
def test_the_empty_string_is_no_partition_value(type: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        coerce(Column("p", type), "string", "")
    assert (caught.value.condition, caught.value.sqlstate) == ("INVALID_PARTITION_SPEC", "42601")
    assert canonical(Column("p", type), "") is None


def test_binary_partitions_nothing() -> None:
    with pytest.raises(NotSupportedError) as caught:
        check_partition_column(Column("p", "binary"))
    assert caught.value.condition == "INVALID_PARTITION_COLUMN_DATA_TYPE"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e7", "1.0E7"),
        ("9999999", "9999999.0"),
        ("0.001", "0.001"),
        ("0.000999", "9.99E-4"),
        ("-123456.789", "-123456.789"),
        ("1e-320", "1.0E-320"),
        ("4.94e-324", "4.9E-324"),
        ("2e23", "2.0E23"),
        ("-inf", "-Infinity"),
        ("12345678901234567890", "1.2345678901234567E19"),
    ],
)
def test_doubles_read_as_in_java(text: str, value: str) -> None:
    assert coerce(Column("p", "double"), "string", text) == value


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_texts_read_back(number: float) -> None:
    text = java_float(number)
    assert nearest_float(text) == number
    assert canonical(Column("p", "float"), text) == text


def test_a_float_is_rounded_once() -> None:
    # Half way between two floats, plus a bit that a double cannot hold: rounding twice would end below.
    tie = "1.00000005960464477539062500000001"
    assert nearest_float(tie) == struct.unpack(">f", struct.pack(">I", 0x3F800001))[0]
    assert struct.unpack(">f", struct.pack(">f", float(tie)))[0] == 1.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-01-02 03:04:00+02:00", "2020-01-02 01:04:00"),
        ("2020-01-01T00:30:00Z", "2020-01-01 00:30:00"),
        ("2020-01-01 00:30:00 -01:00", "2020-01-01 01:30:00"),
    ],
)
def test_timestamps_are_utc(text: str, value: str) -> None:
    assert coerce(Column("p", "timestamp"), "string", text) == value


def test_the_escaping_example_of_spark() -> None:
    value = "a b/c:d=e%f#g?h\\i\"j'k{l[m]n^o*p+q,r;s~u&v(w)x@y"
    shown = "c=a b%2Fc%3Ad%3De%25f%23g%3Fh%5Ci%22j%27k%7Bl%5Bm%5Dn%5Eo%2Ap+q,r;s~u&v(w)x@y/d=9"
    assert partition_name([Column("c", "string"), Column("d", "int")], (value, "9")) == shown
    assert parse_partition_name(shown) == (("c", value), ("d", "9"))


def test_other_names_of_spark() -> None:
    columns = [Column("c", "string"), Column("d", "int")]
    assert partition_name(columns, ("tab\tx", "20")) == "c=tab%09x/d=20"
    assert partition_name(columns, ("é中", None)) == "c=é中/d=__HIVE_DEFAULT_PARTITION__"
    assert partition_name(["p"], ("2020-01-02 03:04:06",)) == "p=2020-01-02 03%3A04%3A06"
    assert parse_partition_name("c=é/d=__HIVE_DEFAULT_PARTITION__") == (("c", "é"), ("d", None))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_escape_and_back(text: str) -> None:
    assert unescape(escape(text)) == text
    assert not set(escape(text)) & set("\"#'*/:=?\\\x7f{[]^\n\t\x01")


@pytest.mark.parametrize(
    ("text", "value"), [("%zz", "%zz"), ("a%2", "a%2"), ("100%", "100%"), ("%41", "A"), ("%e9", "é")]
)
def test_unescape_leaves_what_is_no_escape(text: str, value: str) -> None:
    assert unescape(text) == value


@pytest.mark.parametrize("name", ["c", "c=1/d", "=1", "c=1//d=2"])
def test_what_is_no_partition_name(name: str) -> None:
    with pytest.raises(DataError, match="does not have the form column=value"):
        parse_partition_name(name)


def test_values_must_be_canonical() -> None:
    columns = [Column("c", "string"), Column("d", "int")]
    require_canonical(columns, ("x", "1"))
    require_canonical(columns, (None, None))
    for values in [("x", "01"), ("", "1"), ("x",), ("__HIVE_DEFAULT_PARTITION__", "1")]:
        with pytest.raises(DataError):
            require_canonical(columns, values)
