"""Types: Spark's spelling of SQLAlchemy's types, SQLAlchemy's types for the types of columns, and literals."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import exc
from sqlalchemy import types as sqltypes
from sqlalchemy.sql.compiler import GenericTypeCompiler

#: The precision up to which ``Float`` is Spark's FLOAT, in bits.
_FLOAT_BITS = 24
#: The digits of ``Numeric`` without a precision: the digits that Spark gives to a decimal of unknown size.
_ANY_DECIMAL = (38, 18)
_SIZED = re.compile(r"(char|varchar|decimal)\((\d+)(?:,(\d+))?\)")


class TINYINT(sqltypes.SmallInteger):
    """An integer of one byte."""

    __visit_name__ = "TINYINT"


class TIMESTAMP_NTZ(sqltypes.DateTime):
    """A date and a time of day without a zone."""

    __visit_name__ = "TIMESTAMP_NTZ"


class SparkType(sqltypes.UserDefinedType[Any]):
    """A type of Spark that SQLAlchemy has no name for: ``map<string,int>``, ``struct<a:int>``, ``variant``."""

    cache_ok = True

    def __init__(self, text: str) -> None:
        self.text = text

    def get_col_spec(self, **_: Any) -> str:
        return self.text


class _Instant(sqltypes.DateTime):
    """A TIMESTAMP. Without ``timezone`` its values are naive and in UTC."""

    def result_processor(self, dialect: Any, coltype: object) -> Callable[[Any], Any] | None:
        return None if self.timezone else _naive

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return _instant_literal


class _Day(sqltypes.Date):
    """A DATE. A datetime becomes its day."""

    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return _day

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"DATE '{_day(value).isoformat()}'"


class _Decimals(sqltypes.Numeric[Any]):
    """A DECIMAL. Its literals never become a DOUBLE."""

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return _number_literal


class _Floats(sqltypes.Float[Any]):
    """A DOUBLE, or a FLOAT of at most 24 bits. Its literals are exact."""

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return _number_literal


#: What the dialect has instead of SQLAlchemy's types.
COLUMN_TYPES: dict[type[Any], type[Any]] = {
    sqltypes.DateTime: _Instant,
    sqltypes.Date: _Day,
    sqltypes.Numeric: _Decimals,
    sqltypes.Float: _Floats,
}

_SCALARS: dict[str, Callable[[], sqltypes.TypeEngine[Any]]] = {
    "boolean": sqltypes.BOOLEAN,
    "tinyint": TINYINT,
    "smallint": sqltypes.SMALLINT,
    "int": sqltypes.INTEGER,
    "bigint": sqltypes.BIGINT,
    "float": sqltypes.REAL,
    "double": sqltypes.DOUBLE,
    "string": sqltypes.String,
    "binary": sqltypes.LargeBinary,
    "date": sqltypes.DATE,
    "timestamp": lambda: sqltypes.TIMESTAMP(timezone=True),
    "timestamp_ntz": TIMESTAMP_NTZ,
    "void": sqltypes.NullType,
}


def column_type(text: str) -> sqltypes.TypeEngine[Any]:
    """Returns SQLAlchemy's type for Spark's spelling of one, in lower case.

    >>> column_type("decimal(10,2)")
    DECIMAL(precision=10, scale=2)
    """
    scalar = _SCALARS.get(text)
    if scalar is not None:
        return scalar()
    sized = _SIZED.fullmatch(text)
    if sized is not None:
        if sized[1] == "decimal":
            return sqltypes.DECIMAL(int(sized[2]), int(sized[3] or 0))
        return (sqltypes.CHAR if sized[1] == "char" else sqltypes.VARCHAR)(int(sized[2]))
    item, dimensions = text, 0
    while item.startswith("array<") and item.endswith(">"):
        item, dimensions = item[len("array<") : -1], dimensions + 1
    return sqltypes.ARRAY(column_type(item), dimensions=dimensions) if dimensions else SparkType(text)


class TypeCompiler(GenericTypeCompiler):
    """Writes types as Spark spells them. Raises ``CompileError`` for types that tables cannot have."""

    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:
        return "INT"

    def visit_TINYINT(self, type_: Any, **kw: Any) -> str:
        return "TINYINT"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE" if type_.precision is None or type_.precision > _FLOAT_BITS else "FLOAT"

    def visit_REAL(self, type_: Any, **kw: Any) -> str:
        return "FLOAT"

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_DOUBLE_PRECISION(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL({}, {})".format(*_ANY_DECIMAL)
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    def visit_DECIMAL(self, type_: Any, **kw: Any) -> str:
        return self.visit_NUMERIC(type_, **kw)

    def visit_CHAR(self, type_: Any, **kw: Any) -> str:
        return f"CHAR({type_.length})" if type_.length else "STRING"

    def visit_NCHAR(self, type_: Any, **kw: Any) -> str:
        return self.visit_CHAR(type_, **kw)

    def visit_VARCHAR(self, type_: Any, **kw: Any) -> str:
        return f"VARCHAR({type_.length})" if type_.length else "STRING"

    def visit_NVARCHAR(self, type_: Any, **kw: Any) -> str:
        return self.visit_VARCHAR(type_, **kw)

    def visit_TEXT(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    def visit_CLOB(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    def visit_NCLOB(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    def visit_UUID(self, type_: Any, **kw: Any) -> str:
        return "STRING"

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    def visit_BLOB(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    def visit_VARBINARY(self, type_: Any, **kw: Any) -> str:
        return "BINARY"

    def visit_DATETIME(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP"

    def visit_TIMESTAMP_NTZ(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP_NTZ"

    def visit_ARRAY(self, type_: Any, **kw: Any) -> str:
        item = self.process(type_.item_type, **kw)
        for _ in range(type_.dimensions or 1):
            item = f"ARRAY<{item}>"
        return item

    def visit_TIME(self, type_: Any, **kw: Any) -> str:
        raise exc.CompileError("Tables have no columns of type TIME: use String, or DateTime.")

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        raise exc.CompileError("Tables have no columns of type JSON: use String, and get_json_object in queries.")


def _naive(value: Any) -> Any:
    return None if value is None else value.replace(tzinfo=None)


def _day(value: Any) -> Any:
    return value.date() if isinstance(value, datetime.datetime) else value


def _instant_literal(value: datetime.date) -> str:
    """Returns a literal without a zone where the value has none: over a cube with a zone, it is refused."""
    if not isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat()} 00:00:00'"
    if value.tzinfo is None:
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return f"TIMESTAMP '{value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(sep=' ')}Z'"


def _number_literal(value: Any) -> str:
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    return str(int(value))
