"""Partition keys: bytes whose order is the order of the values, nulls first (seed 002).

A key is the table's id and then each partition value, encoded as Hive's ``BinarySortableSerDe`` does: null is ``00``,
anything else ``01`` and then, by type: integers big-endian with the sign bit flipped; doubles and floats with the
sign bit flipped, all bits if negative; strings in UTF-8 with ``00`` as ``01 01`` and ``01`` as ``01 02``, ended by
``00``; booleans ``01`` and ``02``; dates as days, timestamps as microseconds since 1970; decimals as their unscaled
number in 16 bytes. No encoding is a prefix of another one, so the keys that begin with the encoding of leading values
are exactly the keys of the partitions that have these values.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

from rewriter.catalog.keys.java_floats import java_double, java_float
from rewriter.catalog.keys.types import INTEGER_WIDTHS, PartitionType, partition_type
from rewriter.catalog.keys.values import require_canonical
from rewriter.errors import InternalError

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import PartitionValues, Table

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DECIMAL_WIDTH = 16

NULL = b"\x00"
NOT_NULL = b"\x01"
#: The upper bound of all fields.
TOP = b"\x02"

#: The number of bytes of the table id that every key begins with.
TABLE_WIDTH = 9
_TEXTS = ("string", "varchar", "char")
_WIDTHS = {"date": 4, "timestamp": 8, "decimal": _DECIMAL_WIDTH, "boolean": 1, "double": 8, "float": 4}


def encode_value(type: str, text: str | None) -> bytes:
    """Encodes one value, given as canonical text of its type; ``None`` is NULL. O(length).

    Raises ``InternalError`` for text that is not canonical enough to be read; ``values.coerce`` makes it canonical.
    """
    if text is None:
        return NULL
    kind = partition_type(type)
    try:
        return encode_bytes(text.encode()) if kind.name in _TEXTS else NOT_NULL + _encode(kind, text)
    except (ValueError, KeyError, ArithmeticError, struct.error) as error:
        raise InternalError(f"'{text}' is not a canonical {kind} partition value") from error


def decode_value(type: str, field: bytes) -> str | None:
    """Returns the canonical text of bytes from ``encode_value``; ``None`` for NULL. O(length)."""
    if field == NULL:
        return None
    kind = partition_type(type)
    return decode_bytes(field).decode() if kind.name in _TEXTS else _decode(kind, field[1:])


def encode_bytes(raw: bytes) -> bytes:
    """Encodes any bytes as a field, like the UTF-8 of a text: in the order of bytes, without loss. O(length).

    No partition column is BINARY (``types`` explains why); its key would be this.
    """
    return NOT_NULL + raw.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01") + b"\x00"


def decode_bytes(field: bytes) -> bytes:
    """Decodes a field from ``encode_bytes``."""
    return field[1:-1].replace(b"\x01\x01", b"\x00").replace(b"\x01\x02", b"\x01")


def width_of(type: str) -> int | None:
    """Returns the bytes of each value that is not NULL; ``None`` for text, which ends at its first ``00``."""
    name = partition_type(type).name
    return None if name in _TEXTS else 1 + (INTEGER_WIDTHS.get(name) or _WIDTHS[name])


def split_key(widths: Sequence[int | None], key: bytes) -> tuple[bytes, ...]:
    """Splits a table's key into its fields, given ``width_of`` for each type. Decodes nothing."""
    fields = []
    start = TABLE_WIDTH
    for width in widths:
        if not key[start]:
            end = start + 1
        else:
            end = key.index(0, start) + 1 if width is None else start + width
        fields.append(key[start:end])
        start = end
    return tuple(fields)


def entry_prefix(table_id: int, column: int, field: bytes = b"") -> bytes:
    """Returns the prefix of the entries of keys with this field in the secondary index (``schema.partition_fields``).

    ``column`` is counted from 0. Without a field, returns the prefix of all entries of the column.
    """
    return prefix(table_id) + column.to_bytes(2, "big") + field


def encode(table_id: int, types: Sequence[str], values: Sequence[str | None]) -> bytes:
    """Encodes the complete key of a partition: one value for each type."""
    if len(types) != len(values):
        raise InternalError(f"{len(values)} partition values for {len(types)} partition columns")
    return prefix_of(table_id, types, values)


def partition_key(table: Table, values: PartitionValues) -> bytes:
    """Returns the key of values in a table. Raises ``DataError`` INVALID_PARTITION_SPEC if they are not canonical."""
    require_canonical(table.partition_columns, values)
    return encode(table.id, [column.type for column in table.partition_columns], values)


def prefix(table_id: int) -> bytes:
    """Returns the prefix of all keys of a table, which is the key of an unpartitioned table's only partition."""
    return NOT_NULL + _integer(table_id, 8)


def prefix_of(table_id: int, types: Sequence[str], leading: Sequence[str | None]) -> bytes:
    """Returns the prefix of the keys of all partitions with these leading values; ``types`` may be longer."""
    if len(leading) > len(types):
        raise InternalError(f"{len(leading)} partition values for {len(types)} partition columns")
    return prefix(table_id) + b"".join(map(encode_value, types, leading))


def _encode(kind: PartitionType, text: str) -> bytes:
    name = kind.name
    if name in INTEGER_WIDTHS:
        return _integer(int(text), INTEGER_WIDTHS[name])
    if name == "date":
        return _integer(date.fromisoformat(text).toordinal() - _EPOCH_DAY, 4)
    if name == "timestamp":
        return _integer((_timestamp(text) - _EPOCH) // _MICROSECOND, 8)
    if name == "decimal":
        with localcontext() as context:
            context.prec = 80
            unscaled = Decimal(text).scaleb(kind.scale)
            if unscaled != unscaled.to_integral_value():
                raise ValueError("more decimal places than the column's scale")
            return _integer(int(unscaled), _DECIMAL_WIDTH)
    if name == "boolean":
        return {"false": b"\x01", "true": b"\x02"}[text.lower()]
    return _floating(float(text), ">d" if name == "double" else ">f")


def _integer(number: int, width: int) -> bytes:
    return (number + (1 << (8 * width - 1))).to_bytes(width, "big")


def _floating(number: float, form: str) -> bytes:
    raw = struct.pack(form, number)
    if raw[0] & 0x80:
        return bytes(byte ^ 0xFF for byte in raw)
    return bytes([raw[0] | 0x80]) + raw[1:]


def _timestamp(text: str) -> datetime:
    seconds, _, fraction = text.partition(".")
    return datetime.fromisoformat(seconds) + timedelta(microseconds=int(fraction.ljust(6, "0")))


def _decode(kind: PartitionType, raw: bytes) -> str:
    name = kind.name
    if name == "boolean":
        return "true" if raw == b"\x02" else "false"
    if name in ("double", "float"):
        bits = bytes([raw[0] & 0x7F]) + raw[1:] if raw[0] & 0x80 else bytes(byte ^ 0xFF for byte in raw)
        return _floating_text(struct.unpack(">d" if name == "double" else ">f", bits)[0], name)
    number = int.from_bytes(raw, "big") - (1 << (8 * len(raw) - 1))
    if name == "date":
        return date.fromordinal(number + _EPOCH_DAY).isoformat()
    if name == "timestamp":
        seconds, _, fraction = (_EPOCH + number * _MICROSECOND).isoformat(" ").partition(".")
        return f"{seconds}.{fraction.rstrip('0')}" if fraction else seconds
    if name == "decimal":
        with localcontext() as context:
            context.prec = 80
            return f"{Decimal(number).scaleb(-kind.scale):f}"
    return str(number)


def _floating_text(number: float, name: str) -> str:
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    return java_double(number) if name == "double" else java_float(number)
