"""The types that queries handle: their Spark names, and their counterparts in DuckDB and in Arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError
from rewriter.grammar.datatypes import MAX_DEPTH, struct_type, type_depth
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MAX_PRECISION = 38
#: The digits behind the point that remain in the type of an operation on decimals.
_LEAST_SCALE = 6
_QUOTE = '"'
_SIZED = re.compile(r"(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?\Z")


@dataclass(frozen=True)
class SqlType:
    """A scalar type, an array, a map or a struct. ``precision`` and ``scale`` belong to a decimal; ``length`` belongs
    to ``char`` and ``varchar``. These are strings except where values are stored, and where a ``char`` (``padded``) is
    compared. ``parts`` are the element of an array, the key and the value of a map, and the fields of a struct, each
    with its name.
    """

    name: str
    precision: int = 0
    scale: int = 0
    length: int | None = field(default=None, compare=False)
    padded: bool = field(default=False, compare=False)
    parts: tuple[tuple[str, SqlType], ...] = ()

    def __str__(self) -> str:
        if self.name == "struct":
            return struct_type([(name, str(part)) for name, part in self.parts])
        if self.parts:
            return f"{self.name}<{','.join(str(part) for _, part in self.parts)}>"
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    @property
    def declared_name(self) -> str:
        """The type as a table declares it: ``char(3)`` where ``str`` returns ``string``."""
        if self.length is None:
            return str(self)
        return f"{'char' if self.padded else 'varchar'}({self.length})"

    @property
    def shown(self) -> str:
        """The type in messages: ``DECIMAL(3,2)``."""
        return self.declared_name.upper()

    @property
    def plain(self) -> SqlType:
        """The type of a value that is no longer a column."""
        return self if self.length is None else replace(self, length=None, padded=False)

    @property
    def is_nested(self) -> bool:
        return bool(self.parts)

    @property
    def element(self) -> SqlType | None:
        """The type of an array's elements; ``None`` for other types."""
        return self.parts[0][1] if self.name == "array" else None

    @property
    def leaves(self) -> frozenset[str]:
        """The names of all types in the type: of ``map<string,array<int>>``, these are map, string, array and int."""
        return frozenset({self.name}).union(*(part.leaves for _, part in self.parts))

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"

    @property
    def is_floating(self) -> bool:
        return self.name in ("float", "double")

    @property
    def is_numeric(self) -> bool:
        return self.is_integer or self.is_decimal or self.is_floating

    @property
    def is_interval(self) -> bool:
        """True for intervals of days to seconds, which DuckDB holds as microseconds, and of years and months."""
        return self.name.startswith("interval")

    @property
    def is_month_interval(self) -> bool:
        """True for intervals of years and months, which DuckDB holds as months."""
        return self.is_interval and self.interval_units[0] in MONTH_UNITS

    @property
    def interval_units(self) -> tuple[str, ...]:
        """The units of an interval, from the largest to the smallest."""
        first, last = self.name.removeprefix("interval ").partition(" to ")[::2]
        return _UNITS[_UNITS.index(first) : _UNITS.index(last or first) + 1]

    def united(self, other: SqlType) -> SqlType | None:
        """Returns the type of intervals of the units of two types, and of those between; ``None`` if only one of them
        is of years and months.
        """
        if self.is_month_interval is not other.is_month_interval:
            return None
        units = [unit for unit in _UNITS if unit in self.interval_units + other.interval_units]
        return interval_of(units[0], units[-1])

    @property
    def is_datetime(self) -> bool:
        return self.name in ("date", "timestamp", "timestamp_ntz")


BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = (SqlType(n) for n in ("boolean", "tinyint", "smallint", "int", "bigint"))
FLOAT, DOUBLE, STRING, DATE, TIMESTAMP, BINARY, VOID = (
    SqlType(n) for n in ("float", "double", "string", "date", "timestamp", "binary", "void")
)

#: The integer types with the digits that their values need, narrow to wide.
INTEGERS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}

_ALIASES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float"}
_SCALARS = {
    type_.name: type_
    for type_ in (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, DATE, TIMESTAMP, BINARY, VOID)
}
#: A time of no zone: the result of some functions, and no type of columns of tables. In UTC it is the TIMESTAMP of the
#: same text.
TIMESTAMP_NTZ = SqlType("timestamp_ntz")
_DUCKDB = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
    "void": '"NULL"',
}


#: The units of the two kinds of intervals, from the largest.
MONTH_UNITS = ("year", "month")
INTERVAL_UNITS = ("day", "hour", "minute", "second")
_UNITS = (*MONTH_UNITS, *INTERVAL_UNITS)


def interval_of(first: str, last: str) -> SqlType:
    """Returns the type of intervals of the units from the largest to the smallest one.

    >>> str(interval_of("day", "second")), str(interval_of("day", "day"))
    ('interval day to second', 'interval day')
    """
    return SqlType(f"interval {first}" if first == last else f"interval {first} to {last}")


def decimal(precision: int, scale: int) -> SqlType:
    return SqlType("decimal", precision, scale)


def adjusted_decimal(integer_digits: int, scale: int) -> SqlType:
    """Returns the type of an operation that needs these digits before and behind the point. Beyond 38 digits, Spark
    gives up digits behind the point, of which up to 6 remain.

    >>> str(adjusted_decimal(20, 10)), str(adjusted_decimal(30, 10)), str(adjusted_decimal(40, 10))
    ('decimal(30,10)', 'decimal(38,8)', 'decimal(38,6)')
    """
    if integer_digits + scale <= MAX_PRECISION:
        return decimal(integer_digits + scale, scale)
    return decimal(MAX_PRECISION, max(MAX_PRECISION - integer_digits, min(scale, _LEAST_SCALE)))


def array_of(element: SqlType) -> SqlType:
    """Returns the type of arrays. Their elements may be NULL."""
    return SqlType("array", parts=(("element", element.plain),))


def map_of(key: SqlType, value: SqlType) -> SqlType:
    """Returns the type of maps. Their values may be NULL."""
    return SqlType("map", parts=(("key", key.plain), ("value", value.plain)))


def struct_of(fields: Sequence[tuple[str, SqlType]]) -> SqlType:
    """Returns the type of structs with these fields, of which there is at least one. Each of them may be NULL."""
    return SqlType("struct", parts=tuple([(name, type_.plain) for name, type_ in fields]))


def parse_type(text: str) -> SqlType:
    """Returns the type that Spark spells ``text``. Raises ``NotSupportedError`` for types that only Spark handles: CHAR
    and VARCHAR within others, structs without fields or with equal names, and types of intervals are such types.

    >>> parse_type("struct<a:array<int>>").parts[0][0]
    'a'
    """
    nested = _nested_type(text.strip()) if text.rstrip().endswith(">") else None
    if nested is not None:
        return nested
    match = _SIZED.match(text.strip().lower())
    if match:
        name, first, second = match.groups()
        name = _ALIASES.get(name, name)
        if name in _SCALARS and first is None:
            return _SCALARS[name]
        if name in ("decimal", "dec", "numeric"):
            return decimal(int(first or 10), int(second or 0))
        if name in ("char", "varchar") and first and second is None:
            return SqlType("string", length=int(first), padded=name == "char")
    raise NotSupportedError(
        f"Type {text} is not supported on DuckDB.",
        condition="DUCKDB_UNSUPPORTED",
        hint="Use the Spark engine (engine spark).",
    )


_NESTED = re.compile(r"(array|map|struct)\s*<(.*)>\Z", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(r"\s*(`(?:[^`]|``)*`|\w+)\s*:\s*(.*)\Z", re.DOTALL)
_MARKS = re.compile(r"`(?:[^`]|``)*`|[<>(),]")
_OPENING = {"<": 1, "(": 1, ">": -1, ")": -1}


def _nested_type(text: str) -> SqlType | None:
    """Returns an array, a map or a struct; ``None`` for other types and for parts that only Spark handles."""
    match = _NESTED.match(text)
    if match is None or type_depth(text) > MAX_DEPTH:
        return None
    kind, inner = match[1].lower(), _split_parts(match[2])
    if kind == "struct":
        matches = [_FIELD.match(field) for field in inner]
        fields = [(_unquoted(field[1]), parse_type(field[2])) for field in matches if field is not None]
        names = {name.lower() for name, _ in fields}
        usable = len(inner) == len(fields) == len(names) and "" not in names
        return struct_of(fields) if usable and all(type_.length is None for _, type_ in fields) else None
    parts = [parse_type(part) for part in inner]
    if any(part.length is not None for part in parts) or len(parts) != (2 if kind == "map" else 1):
        return None
    return map_of(*parts) if kind == "map" else array_of(*parts)


def _split_parts(text: str) -> list[str]:
    """Returns the parts of a type between its commas: of ``string,map<int,int>``, two."""
    parts, depth, start = [], 0, 0
    for mark in _MARKS.finditer(text):
        depth += _OPENING.get(mark[0], 0)
        if mark[0] == "," and depth == 0:
            parts.append(text[start : mark.start()])
            start = mark.end()
    return [*parts, text[start:]]


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def duckdb_type(type_: SqlType) -> str:
    """Returns the type's name in DuckDB. Timestamps are plain there, meaning UTC."""
    if type_.name == "struct":
        fields = (f'"{name.replace(_QUOTE, _QUOTE * 2)}" {duckdb_type(part)}' for name, part in type_.parts)
        return f"STRUCT({', '.join(fields)})"
    if type_.name == "map":
        return f"MAP({', '.join(duckdb_type(part) for _, part in type_.parts)})"
    if type_.element is not None:
        return f"{duckdb_type(type_.element)}[]"
    if type_.is_interval:
        return "INTEGER" if type_.is_month_interval else "BIGINT"
    return f"DECIMAL({type_.precision},{type_.scale})" if type_.is_decimal else _DUCKDB[type_.name]


def arrow_type(type_: SqlType) -> pa.DataType:
    """Returns the type of a result column: timestamps are ``timestamp[us, UTC]``, those of no zone
    ``timestamp[us]``. Raises ``NotSupportedError`` for an interval of years and months, for which Spark has no type of
    Arrow.
    """
    import pyarrow as pa

    if type_.element is not None:
        return pa.list_(pa.field("element", arrow_type(type_.element)))
    if type_.name == "struct":
        return pa.struct([pa.field(name, arrow_type(part)) for name, part in type_.parts])
    if type_.name == "map":
        return pa.map_(*(arrow_type(part) for _, part in type_.parts))
    if type_.is_decimal:
        return pa.decimal128(type_.precision, type_.scale)
    if type_.is_month_interval:
        raise NotSupportedError(
            f"A result column of the type {type_.shown} is not supported.",
            condition="UNSUPPORTED_DATATYPE",
            sqlstate="0A000",
            hint="Write CAST(… AS STRING).",
        )
    if type_.is_interval:
        return pa.duration("us")
    return {
        "boolean": pa.bool_(),
        "tinyint": pa.int8(),
        "smallint": pa.int16(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "binary": pa.binary(),
        "void": pa.null(),
    }[type_.name]
