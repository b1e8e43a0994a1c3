"""What a literal of a filter is to a partition column: the field bytes (``catalog.keys``) of the values equal to it.

A comparand is a range of fields: what lies below it is less than the literal, what lies at or above its end is greater.
It is empty where no value of the type equals the literal, which still has its place in the order: ``p < 3.5`` on INT is
``p <= 3``, ``p = 300`` on TINYINT is never true. Types meet as in Spark 4.3 in ANSI mode; where Spark would cast the
column (text against a number) the comparison is refused, because the order of the keys is not that of the cast values.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal, localcontext

from rewriter.catalog import keys
from rewriter.catalog.casts import cast_text, literal_text
from rewriter.catalog.floats import nearest_float
from rewriter.catalog.keys import NOT_NULL, TOP, KeyRange
from rewriter.catalog.models import Column
from rewriter.catalog.partition_types import INTEGER_WIDTHS, PartitionType, partition_type
from rewriter.catalog.values import DEFAULT_PARTITION, coerce
from rewriter.errors import AnalysisError, DataError, Error
from rewriter.grammar.statements import Literal

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


def compared(column: Column, literal: Literal) -> KeyRange | None:
    """The literal's place among the column's fields; ``None`` for NULL, which compares as NULL.

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
        return _place(kind, literal)
    except Error as error:
        error.object = column.name
        raise error.at(literal.span) from None


def named(column: Column, literal: Literal) -> KeyRange | None:
    """The partition value that a literal of a partition spec means, as ``coerce`` reads it; ``None`` for NULL.

    Raises what ``coerce`` raises, at the literal.
    """
    try:
        value = coerce(column, literal.kind, literal.text)
    except Error as error:
        raise error.at(literal.span) from None
    return None if value is None else _point(keys.encode_value(column.type, value))


def _place(kind: PartitionType, literal: Literal) -> KeyRange:
    if kind.name in ("string", "varchar"):
        return _point(text_field(literal.text))
    if kind.name == "char":
        return _padded(kind, literal.text)
    if kind.name in INTEGER_WIDTHS:
        return _integral(_number(kind, literal), 0, INTEGER_WIDTHS[kind.name])
    if kind.name == "decimal":
        return _integral(_number(kind, literal), kind.scale, 16)
    if kind.name in ("double", "float"):
        return _floating(kind, literal)
    if kind.name in ("date", "timestamp"):
        return _instant(kind, literal)
    return _point(keys.encode_value("boolean", cast_text(kind, literal.text)))


def text_field(text: str) -> bytes:
    """The field of a text; ``DataError`` for half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(
            "a text cannot hold half a surrogate pair", hint="write the character itself, or both of its halves"
        ) from None
    return keys.encode_value("string", text)


def _point(field: bytes) -> KeyRange:
    return KeyRange(field, keys.after(field))


def _padded(kind: PartitionType, text: str) -> KeyRange:
    """CHAR compares as if both sides were padded to the same length."""
    point = _point(text_field(text[: kind.length].ljust(kind.length)))
    beyond = text[kind.length :].rstrip(" ")
    if not beyond:
        return point
    edge = point.end if " " * len(beyond) < beyond else point.start
    return KeyRange(edge, edge)


def _number(kind: PartitionType, literal: Literal) -> Decimal:
    """The exact value of a number literal, or of a text that is one."""
    if literal.kind == "number":
        text = literal_text("number", literal.text)
        return Decimal(nearest_float(text)) if literal.text[-1] in "fF" else Decimal(text)
    text = literal.text.strip(" \t\r\n")
    try:
        number = Decimal(text) if text.isascii() and "_" not in text else None
    except ArithmeticError:
        number = None
    whole = kind.name in INTEGER_WIDTHS
    if number is None or not number.is_finite() or (whole and not text.lstrip("+-").isdigit()):
        raise DataError(
            f"the value '{literal.text}' cannot be cast to {'BIGINT' if whole else kind} because it is malformed",
            hint="write a number",
        )
    return number


def _integral(number: Decimal, scale: int, width: int) -> KeyRange:
    """The place of a number among those that are stored as whole numbers of ``width`` bytes, ``scale`` decimals."""
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
    return _point(field) if exact else KeyRange(field, field)


def _floating(kind: PartitionType, literal: Literal) -> KeyRange:
    """DOUBLE compares with the nearest double, as FLOAT does unless the literal says that it is a float (``0.1F``)."""
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
    place = _floats("float", repr(near))
    if near == double:
        return place
    edge = place.start if near > double else place.end
    return KeyRange(edge, edge)


def _floats(name: str, text: str) -> KeyRange:
    field = keys.encode_value(name, text)
    if float(text.replace("Infinity", "inf")) == 0:
        # Both zeros are one number.
        return KeyRange(keys.encode_value(name, "-0.0"), keys.after(keys.encode_value(name, "0.0")))
    return _point(field)


def _instant(kind: PartitionType, literal: Literal) -> KeyRange:
    """A date against a timestamp is its midnight."""
    text = literal_text(literal.kind, literal.text)
    if kind.name == "timestamp":
        return _point(keys.encode_value("timestamp", cast_text(_TIMESTAMP, text)))
    if literal.kind != "timestamp":
        return _point(keys.encode_value("date", cast_text(_DATE, text)))
    day, _, time = text.partition(" ")
    point = _point(keys.encode_value("date", day))
    return point if time == "00:00:00" else KeyRange(point.end, point.end)


def _mismatch(column: Column, literal: Literal) -> AnalysisError:
    names = ("string", "text"), ("number", "a number"), ("boolean", "a boolean"), ("date", "a date")
    wanted = {**dict(names), "timestamp": "a timestamp"}
    kinds = _KINDS[partition_type(column.type).name]
    hint = f"{column.name} compares with text: write '{literal.text}'."
    if kinds is not _TEXT:
        hint = f"{column.name} compares with {' or '.join(wanted[one] for one in kinds)}."
    return AnalysisError(
        f"{column.name} {column.type.upper()} does not compare with {wanted[literal.kind]}.",
        condition="DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
        sqlstate="42K09",
        hint=hint,
    )


def _default_partition(column: Column) -> AnalysisError:
    return AnalysisError(
        f"'{DEFAULT_PARTITION}' is how the name of a partition spells NULL, and no value.",
        condition="INVALID_PARTITION_SPEC",
        sqlstate="42601",
        hint=f"Write {column.name} IS NULL.",
    )
