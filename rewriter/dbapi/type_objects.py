"""Type objects and constructors of PEP 249."""

from __future__ import annotations

import datetime
import re


class DBAPIType:
    """A group of column types: equal to each type code in it. Each type code is equal to one of the five groups.

    ``cursor.description[0][1] == NUMBER`` is true of ``"decimal(10,2)"``.
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

#: PEP 249 has no nested types and no type of NULL alone: here they are strings, and booleans are numbers.
STRING = DBAPIType("STRING", "string", "varchar", "char", "array", "map", "struct", "variant", "void")
BINARY = DBAPIType("BINARY", "binary")
NUMBER = DBAPIType("NUMBER", "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
DATETIME = DBAPIType("DATETIME", "date", "timestamp", "timestamp_ntz", "interval")
#: No column has row ids.
ROWID = DBAPIType("ROWID")

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """Returns the UTC day of a number of seconds since 1970."""
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
