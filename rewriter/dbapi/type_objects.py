"""Type objects and constructors of PEP 249."""

from __future__ import annotations

import datetime
import re


class DBAPIType:
    """A group of column types: equal to each type code in it. Each type code is equal to one of the five groups.

    ``name`` is the name of the group.

    Examples:
        >>> "decimal(10,2)" == NUMBER, "decimal(10,2)" == STRING
        (True, False)
    """

    def __init__(self, name: str, *types: str) -> None:
        self.name = name
        self._types = types

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DBAPIType):
            return self._types == other._types
        return isinstance(other, str) and _NAME.split(other, 1)[0] in self._types

    def __hash__(self) -> int:
        return hash(self._types)

    def __repr__(self) -> str:
        return self.name


_NAME = re.compile("[(< ]")

STRING = DBAPIType("STRING", "string", "varchar", "char", "array", "map", "struct", "variant", "void")
"""The type codes of texts, and of what PEP 249 has no group for: nested types, and NULL alone."""
BINARY = DBAPIType("BINARY", "binary")
"""The type code ``binary``."""
NUMBER = DBAPIType("NUMBER", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
"""The type codes of numbers, and ``boolean``."""
DATETIME = DBAPIType("DATETIME", "date", "timestamp", "timestamp_ntz", "interval")
"""The type codes of dates, timestamps and intervals."""
ROWID = DBAPIType("ROWID")
"""The group of no type code: no column has row ids."""

Date = datetime.date
"""Makes a DATE: ``Date(2024, 1, 31)``."""
Time = datetime.time
"""Makes a time of day. No column has such a type."""
Timestamp = datetime.datetime
"""Makes a TIMESTAMP. One without a zone is taken as UTC."""
Binary = bytes
"""Makes a value of bytes."""


def DateFromTicks(ticks: float) -> datetime.date:
    """Returns the UTC day of a number of seconds since 1970.

    Examples:
        >>> DateFromTicks(86_400)
        datetime.date(1970, 1, 2)
    """
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> datetime.time:
    """Returns the UTC time of day of a number of seconds since 1970."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """Returns the instant of a number of seconds since 1970, aware and in UTC."""
    return datetime.datetime.fromtimestamp(ticks, datetime.UTC)


_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")

#: Name, type code, display size, internal size, precision, scale, and whether NULL is allowed.
ColumnDescription = tuple[str, str, None, None, int | None, int | None, None]


def column_description(name: str, type_code: str) -> ColumnDescription:
    """Returns the seven fields of a column. Decimals have a precision and a scale.

    >>> column_description("price", "decimal(10,2)")
    ('price', 'decimal(10,2)', None, None, 10, 2, None)
    """
    digits = _DECIMAL.fullmatch(type_code)
    precision, scale = (int(digits[1]), int(digits[2])) if digits else (None, None)
    return name, type_code, None, None, precision, scale, None
