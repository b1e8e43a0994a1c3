"""Partition keys: bytes whose order is the order of the values, nulls first (seed 002).

A key is the table's id and then each partition value, encoded as Hive's ``BinarySortableSerDe`` does: null is ``00``,
anything else ``01`` and then, by type: integers big-endian with the sign bit flipped; doubles and floats with the
sign bit flipped, all bits if negative; strings in UTF-8 with ``00`` as ``01 01`` and ``01`` as ``01 02``, ended by
``00``; booleans ``01`` and ``02``; dates as days, timestamps as microseconds since 1970; decimals as their unscaled
number in 16 bytes. No encoding is a prefix of another one, so the keys that begin with the encoding of leading values
are exactly those of the partitions that have these values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext

from rewriter.catalog.floats import java_double, java_float
from rewriter.catalog.partition_types import INTEGER_WIDTHS, PartitionType, partition_type
from rewriter.errors import InternalError

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_DECIMAL_WIDTH = 16

NULL = b"\x00"
NOT_NULL = b"\x01"
#: Above all fields.
TOP = b"\x02"

#: How many bytes the table takes, which every key begins with.
TABLE_WIDTH = 9
_TEXTS = ("string", "varchar", "char")
_WIDTHS = {"date": 4, "timestamp": 8, "decimal": _DECIMAL_WIDTH, "boolean": 1, "double": 8, "float": 4}


@dataclass(frozen=True, order=True)
class KeyRange:
    """The keys from ``start`` up to, but not including, ``end``. Holds nothing where ``start >= end``."""

    start: bytes
    end: bytes

    def __contains__(self, key: object) -> bool:
        return isinstance(key, bytes) and self.start <= key < self.end

    def __and__(self, other: KeyRange) -> KeyRange:
        """The keys that lie in both."""
        return KeyRange(max(self.start, other.start), min(self.end, other.end))

    def overlaps(self, other: KeyRange) -> bool:
        """Whether some byte string lies in both."""
        both = self & other
        return both.start < both.end

    @classmethod
    def of_key(cls, key: bytes) -> KeyRange:
        """One key alone: nothing lies between it and the next byte string."""
        return cls(key, key + b"\x00")

    @property
    def is_one_key(self) -> bool:
        """Whether it holds one byte string and no other."""
        return self.end == self.start + b"\x00"

    @classmethod
    def of_prefix(cls, prefix: bytes) -> KeyRange:
        """All keys that begin with ``prefix``."""
        return cls(prefix, successor(prefix))


def encode_value(type: str, text: str | None) -> bytes:
    """The bytes of one value, given as canonical text of its type; ``None`` is NULL. O(length).

    Raises ``InternalError`` for text that is not canonical enough to be read; ``values.coerce`` makes it so.
    """
    if text is None:
        return NULL
    kind = partition_type(type)
    try:
        return encode_bytes(text.encode()) if kind.name in _TEXTS else NOT_NULL + _encode(kind, text)
    except (ValueError, KeyError, ArithmeticError, struct.error) as error:
        raise InternalError(f"'{text}' is not a canonical {kind} partition value") from error


def decode_value(type: str, field: bytes) -> str | None:
    """The canonical text that ``encode_value`` made the bytes of; ``None`` for NULL. O(length)."""
    if field == NULL:
        return None
    kind = partition_type(type)
    return decode_bytes(field).decode() if kind.name in _TEXTS else _decode(kind, field[1:])


def encode_bytes(raw: bytes) -> bytes:
    """The field of any bytes, as that of a text is of its UTF-8: in the order of bytes, nothing lost. O(length).

    No partition column is BINARY (``partition_types`` says why); its key would be this.
    """
    return NOT_NULL + raw.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01") + b"\x00"


def decode_bytes(field: bytes) -> bytes:
    """What ``encode_bytes`` made the field of."""
    return field[1:-1].replace(b"\x01\x01", b"\x00").replace(b"\x01\x02", b"\x01")


def width_of(type: str) -> int | None:
    """How many bytes each value that is not NULL takes; ``None`` for text, which ends at its first ``00``."""
    name = partition_type(type).name
    return None if name in _TEXTS else 1 + (INTEGER_WIDTHS.get(name) or _WIDTHS[name])


def split(widths: Sequence[int | None], key: bytes) -> tuple[bytes, ...]:
    """The fields of a table's key, given what ``width_of`` says of each type. Nothing is decoded."""
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


def place(table_id: int, column: int, field: bytes = b"") -> bytes:
    """Where the secondary index (``schema.partition_fields``) has the keys with this field in a column, counted from 0.

    Without a field, what all places of the column begin with.
    """
    return prefix(table_id) + column.to_bytes(2, "big") + field


def after(field: bytes) -> bytes:
    """The least bytes above everything that begins with ``field``, in the same length.

    Of a type of fixed width that is the next value. It cannot overflow: a field begins with ``00`` or ``01``.
    """
    return (int.from_bytes(field, "big") + 1).to_bytes(len(field), "big")


def encode(table_id: int, types: Sequence[str], values: Sequence[str | None]) -> bytes:
    """The whole key of a partition: one value for each type."""
    if len(types) != len(values):
        raise InternalError(f"{len(values)} partition values for {len(types)} partition columns")
    return prefix_of(table_id, types, values)


def prefix(table_id: int) -> bytes:
    """What all keys of a table begin with, and the key of the one partition of an unpartitioned table."""
    return NOT_NULL + _integer(table_id, 8)


def prefix_of(table_id: int, types: Sequence[str], leading: Sequence[str | None]) -> bytes:
    """What the keys of all partitions with these leading values begin with; ``types`` may be longer."""
    if len(leading) > len(types):
        raise InternalError(f"{len(leading)} partition values for {len(types)} partition columns")
    return prefix(table_id) + b"".join(map(encode_value, types, leading))


def successor(prefix: bytes) -> bytes:
    """The least byte string above everything that begins with ``prefix``.

    Trailing ``ff`` carry into the byte before them, so nothing overflows; our keys begin with ``01``, so that there is
    always such a byte. ``ValueError`` for bytes that have none (empty, or nothing but ``ff``).
    """
    stem = prefix.rstrip(b"\xff")
    if not stem:
        raise ValueError("nothing lies above all byte strings with this prefix")
    return stem[:-1] + bytes([stem[-1] + 1])


def merged(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    """The same keys as sorted ranges that neither overlap nor touch, empty ones left out. O(n log n)."""
    out: list[KeyRange] = []
    for current in sorted(ranges):
        if current.start >= current.end:
            continue
        if out and current.start <= out[-1].end:
            if current.end > out[-1].end:
                out[-1] = KeyRange(out[-1].start, current.end)
        else:
            out.append(current)
    return tuple(out)


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
                raise ValueError("more decimals than the column's scale")
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
        whole, _, fraction = (_EPOCH + number * _MICROSECOND).isoformat(" ").partition(".")
        return f"{whole}.{fraction.rstrip('0')}" if fraction else whole
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
