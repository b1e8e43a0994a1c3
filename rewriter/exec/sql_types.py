"""The types that queries handle: their Spark names, and their counterparts in DuckDB and in Arrow."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

MAX_PRECISION = 38
_SIZED = re.compile(r"(\w+)\s*(?:\(\s*(\d+)\s*(?:,\s*(-?\d+)\s*)?\))?\Z")


@dataclass(frozen=True)
class SqlType:
    """A scalar type, or an array of one. ``precision`` and ``scale`` belong to a decimal; ``length`` belongs to
    ``char`` and ``varchar``. These are strings except where values are stored, and where a ``char`` (``padded``) is
    compared. ``element`` is the type of an array's elements.
    """

    name: str
    precision: int = 0
    scale: int = 0
    length: int | None = field(default=None, compare=False)
    padded: bool = field(default=False, compare=False)
    element: SqlType | None = None

    def __str__(self) -> str:
        if self.element is not None:
            return f"array<{self.element}>"
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
        """Whether values are intervals of days to seconds, which DuckDB holds as microseconds."""
        return self.name.startswith("interval")

    @property
    def interval_units(self) -> tuple[str, ...]:
        """The units of an interval, from the largest to the smallest."""
        first, last = self.name.removeprefix("interval ").partition(" to ")[::2]
        return INTERVAL_UNITS[INTERVAL_UNITS.index(first) : INTERVAL_UNITS.index(last or first) + 1]

    def united(self, other: SqlType) -> SqlType:
        """Returns the type of intervals of the units of two types, and of those between."""
        units = [unit for unit in INTERVAL_UNITS if unit in self.interval_units + other.interval_units]
        return interval_of(units[0], units[-1])

    @property
    def is_datetime(self) -> bool:
        return self.name in ("date", "timestamp")


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
    "binary": "BLOB",
    "void": '"NULL"',
}


#: The units of intervals, from the largest.
INTERVAL_UNITS = ("day", "hour", "minute", "second")


def interval_of(first: str, last: str) -> SqlType:
    """Returns the type of intervals of the units from the largest to the smallest one.

    >>> str(interval_of("day", "second")), str(interval_of("day", "day"))
    ('interval day to second', 'interval day')
    """
    return SqlType(f"interval {first}" if first == last else f"interval {first} to {last}")


def decimal(precision: int, scale: int) -> SqlType:
    return SqlType("decimal", precision, scale)


def array_of(element: SqlType) -> SqlType:
    """Returns the type of arrays. Their elements may be NULL."""
    return SqlType("array", element=element.plain)


def parse_type(text: str) -> SqlType:
    """Returns the type that Spark spells ``text``. Raises ``NotSupportedError`` for types that only Spark handles."""
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


def duckdb_type(type_: SqlType) -> str:
    """Returns the type's name in DuckDB. Timestamps are plain there, meaning UTC."""
    if type_.element is not None:
        return f"{duckdb_type(type_.element)}[]"
    if type_.is_interval:
        return "BIGINT"
    return f"DECIMAL({type_.precision},{type_.scale})" if type_.is_decimal else _DUCKDB[type_.name]


def arrow_type(type_: SqlType) -> pa.DataType:
    """Returns the type of a result column: timestamps are ``timestamp[us, UTC]``."""
    import pyarrow as pa

    if type_.element is not None:
        return pa.list_(pa.field("element", arrow_type(type_.element)))
    if type_.is_decimal:
        return pa.decimal128(type_.precision, type_.scale)
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
        "binary": pa.binary(),
        "void": pa.null(),
    }[type_.name]
