"""Bounds of filter literals: the field bytes (``catalog.keys.encoding``) of the partition values that equal a literal.

A comparand is a range of fields: fields below it are less than the literal, fields at or above its end are greater.
It is empty if no value of the type equals the literal, which still has its position in the order: ``p < 3.5`` on INT is
``p <= 3``, ``p = 300`` on TINYINT is never true. Types are compared as in Spark 4.3 in ANSI mode. If Spark would cast
the column (text against a number), the comparison is refused, because the keys are not in the order of the cast values.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import NOT_NULL, TOP
from rewriter.catalog.keys.java_floats import nearest_float
from rewriter.catalog.keys.literal_casts import cast_text, literal_text
from rewriter.catalog.keys.types import INTEGER_WIDTHS, PartitionType, partition_type
from rewriter.catalog.keys.values import DEFAULT_PARTITION, coerce
from rewriter.catalog.model.key_ranges import KeyRange, after
from rewriter.errors import AnalysisError, DataError, Error

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column
    from rewriter.grammar.terms import Literal

_BELOW_ALL, _ABOVE_ALL = KeyRange(NOT_NULL, NOT_NULL), KeyRange(TOP, TOP)
_DATE, _TIMESTAMP = PartitionType("date"), PartitionType("timestamp")

#: The kinds of literals that each type compares with.
_TEXT, _NUMBER = ("string",), ("number", "string")
_TIME, _BOOLEAN = ("date", "timestamp", "string"), ("boolean", "string")
_KINDS = {
    **dict.fromkeys(("string", "varchar", "char"), _TEXT),
    **dict.fromkeys((*INTEGER_WIDTHS, "decimal", "double", "float"), _NUMBER),
    **dict.fromkeys(("date", "timestamp"), _TIME),
    "boolean": _BOOLEAN,
}


def comparison_range(column: Column, literal: Literal) -> KeyRange | None:
    """Returns the literal's position among the column's fields; ``None`` for NULL, which compares as NULL.

    Raises, at the literal, ``AnalysisError`` DATATYPE_MISMATCH for kinds that do not compare and ``DataError`` for text
    that is no value of the kind.
    """
    kind = partition_type(column.type)
    if literal.kind == "null":
        return None
    try:
        if literal.kind not in _KINDS[kind.name]:
            raise _mismatch(column, literal)
        if literal.kind == "string" and literal.text == DEFAULT_PARTITION:
            raise _default_partition(column)
        return _literal_range(kind, literal)
    except Error as error:
        error.object = column.name
        raise error.at(literal.span) from None


def partition_value_range(column: Column, literal: Literal) -> KeyRange | None:
    """Returns the partition value of a literal in a partition spec, as ``coerce`` reads it; ``None`` for NULL.

    Raises the errors of ``coerce``, at the literal.
    """
    try:
        value = coerce(column, literal.kind, literal.text)
    except Error as error:
        raise error.at(literal.span) from None
    return None if value is None else _value_range(encoding.encode_value(column.type, value))


def _literal_range(kind: PartitionType, literal: Literal) -> KeyRange:
    if kind.name in ("string", "varchar"):
        return _value_range(text_field(literal.text))
    if kind.name == "char":
        return _char_range(kind, literal.text)
    if kind.name in INTEGER_WIDTHS:
        return _integer_range(_number(kind, literal), 0, INTEGER_WIDTHS[kind.name])
    if kind.name == "decimal":
        return _integer_range(_number(kind, literal), kind.scale, 16)
    if kind.name in ("double", "float"):
        return _float_range(kind, literal)
    if kind.name in ("date", "timestamp"):
        return _time_range(kind, literal)
    return _value_range(encoding.encode_value("boolean", cast_text(kind, literal.text)))


def text_field(text: str) -> bytes:
    """Encodes a text as a field. Raises ``DataError`` for half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            "a string cannot contain half of a surrogate pair",
            hint="Write the character itself, or both halves of the pair.",
        ) from None
    return encoding.encode_value("string", text)


def _value_range(field: bytes) -> KeyRange:
    return KeyRange(field, after(field))


def _char_range(kind: PartitionType, text: str) -> KeyRange:
    """Compares CHAR as if both sides were padded to the same length."""
    point = _value_range(text_field(text[: kind.length].ljust(kind.length)))
    rest = text[kind.length :].rstrip(" ")
    if not rest:
        return point
    edge = point.end if " " * len(rest) < rest else point.start
    return KeyRange(edge, edge)


def _number(kind: PartitionType, literal: Literal) -> Decimal:
    """Returns the exact value of a number literal, or of a text that is one."""
    if literal.kind == "number":
        text = literal_text("number", literal.text)
        return Decimal(nearest_float(text)) if literal.text[-1] in "fF" else Decimal(text)
    text = literal.text.strip(" \t\r\n")
    try:
        number = Decimal(text) if text.isascii() and "_" not in text else None
    except ArithmeticError:
        number = None
    is_integer = kind.name in INTEGER_WIDTHS
    if number is None or not number.is_finite() or (is_integer and not text.lstrip("+-").isdigit()):
        raise DataError(
            f"the value '{literal.text}' cannot be cast to {'BIGINT' if is_integer else kind} because it is malformed",
            hint="Write a number.",
        )
    return number


def _integer_range(number: Decimal, scale: int, width: int) -> KeyRange:
    """Returns the position of a number among whole numbers of ``width`` bytes with ``scale`` decimals."""
    if number.adjusted() > 60:
        return _BELOW_ALL if number < 0 else _ABOVE_ALL
    if number.adjusted() < -60:
        number = Decimal(0) if not number else Decimal("1e-60").copy_sign(number)
    with localcontext() as context:
        context.prec = 400
        unscaled = number.scaleb(scale)
        floor = math.floor(unscaled)
        exact = floor == unscaled
    first = floor if exact else floor + 1
    bound = 1 << (8 * width - 1)
    if first < -bound:
        return _BELOW_ALL
    if first >= bound:
        return _ABOVE_ALL
    field = NOT_NULL + (first + bound).to_bytes(width, "big")
    return _value_range(field) if exact else KeyRange(field, field)


def _float_range(kind: PartitionType, literal: Literal) -> KeyRange:
    """Compares with the nearest double; FLOAT with the nearest float if the literal is a float (``0.1F``)."""
    text = literal_text(literal.kind, literal.text)
    if kind.name == "double" or (literal.text[-1:] in ("f", "F") and literal.kind == "number"):
        return _floats(kind.name, cast_text(kind, text))
    double = float(cast_text(PartitionType("double"), text).replace("Infinity", "inf"))
    if math.isnan(double) or math.isinf(double):
        return _floats(kind.name, cast_text(kind, text))
    try:
        near: float = struct.unpack(">f", struct.pack(">f", double))[0]
    except OverflowError:
        edge = _floats("float", "Infinity").start if double > 0 else _floats("float", "-Infinity").end
        return KeyRange(edge, edge)
    key_range = _floats("float", repr(near))
    if near == double:
        return key_range
    edge = key_range.start if near > double else key_range.end
    return KeyRange(edge, edge)


def _floats(name: str, text: str) -> KeyRange:
    field = encoding.encode_value(name, text)
    if float(text.replace("Infinity", "inf")) == 0:
        # Both zeros are the same number.
        return KeyRange(encoding.encode_value(name, "-0.0"), after(encoding.encode_value(name, "0.0")))
    return _value_range(field)


def _time_range(kind: PartitionType, literal: Literal) -> KeyRange:
    """Compares a date with a timestamp as its midnight."""
    text = literal_text(literal.kind, literal.text)
    if kind.name == "timestamp":
        return _value_range(encoding.encode_value("timestamp", cast_text(_TIMESTAMP, text)))
    if literal.kind != "timestamp":
        return _value_range(encoding.encode_value("date", cast_text(_DATE, text)))
    day, _, time = text.partition(" ")
    point = _value_range(encoding.encode_value("date", day))
    return point if time == "00:00:00" else KeyRange(point.end, point.end)


def _mismatch(column: Column, literal: Literal) -> AnalysisError:
    names = ("string", "text"), ("number", "a number"), ("boolean", "a boolean"), ("date", "a date")
    kind_names = {**dict(names), "timestamp": "a timestamp"}
    kinds = _KINDS[partition_type(column.type).name]
    hint = f"{column.name} must be compared with a text of the form of its values."
    if kinds is not _TEXT:
        hint = f"{column.name} must be compared with {' or '.join(kind_names[kind] for kind in kinds)}."
    return AnalysisError(
        f"{column.name} {column.type.upper()} cannot be compared with {kind_names[literal.kind]}.",
        condition="DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
        sqlstate="42K09",
        hint=hint,
    )


def _default_partition(column: Column) -> AnalysisError:
    return AnalysisError(
        f"'{DEFAULT_PARTITION}' is the name of the NULL partition, not a value.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        hint=f"Write {column.name} IS NULL.",
    )
