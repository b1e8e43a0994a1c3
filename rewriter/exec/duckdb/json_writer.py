"""JSON texts as Spark's generator (Jackson) writes them, for TO_JSON, and for values that are read as texts."""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rewriter.exec.duckdb.number_texts import double_text, float_text

if TYPE_CHECKING:
    from rewriter.exec.sql_types import SqlType

#: A column of Arrow.
_Column = Any
#: Returns the text of a value that is not NULL.
_Writer = Callable[[Any], str]

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPED = re.compile(r'[\x00-\x1f"\\]')
#: Where a value is copied, Jackson also escapes the two halves of a character beyond the first 65,536.
_ESCAPED_IN_COPIES = re.compile('[\x00-\x1f"\\\\\U00010000-\U0010ffff]')
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DAY, _LAST_DAY = ((day - dt.date(1970, 1, 1)).days for day in (dt.date.min, dt.date.max))


class JsonInteger(str):
    """The digits of a number without a fraction and an exponent."""


class JsonFraction(str):
    """The digits of another number."""


class JsonConstant(str):
    """``NaN``, ``Infinity`` or ``-Infinity``."""


class JsonObject(list[tuple[str, Any]]):
    """The fields of an object in their order. Names may repeat."""


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[place]:02X}{units[place + 1]:02X}" for place in range(0, len(units), 2))


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _quoted_copy(text: str) -> str:
    return f'"{_ESCAPED_IN_COPIES.sub(_escape, text)}"'


# -- values of a JSON text as texts ---------------------------------------------------------------------------------


def copied_text(value: Any) -> str:
    """Returns a value that ``json_reader`` read as Spark writes it anew: without blanks, with numbers as Java prints
    them. Raises ``ValueError`` for a number that Java releases print differently.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return _boolean(value)
    if isinstance(value, JsonInteger):
        return str(int(value))
    if isinstance(value, JsonFraction | JsonConstant):
        return _number(double_text(float(value)))
    if isinstance(value, str):
        return _quoted_copy(value)
    if isinstance(value, JsonObject):
        return f"{{{','.join(f'{_quoted_copy(name)}:{copied_text(item)}' for name, item in value)}}}"
    return f"[{','.join(map(copied_text, value))}]"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _number(text: str) -> str:
    """Returns a number's text: in quotes if it is not finite."""
    return text if text[-1].isdigit() else f'"{text}"'


# -- TO_JSON --------------------------------------------------------------------------------------------------------


def json_texts(type_: SqlType, keeps_nulls: bool) -> Callable[[_Column], _Column]:
    """Returns TO_JSON of a column of that type. ``keeps_nulls`` says that fields that are NULL are written, too.

    Raises ``ValueError`` for times outside the years 1 to 9999 and for numbers that Java releases print differently.
    """
    write = _writer(type_, keeps_nulls)

    def texts(column: _Column) -> _Column:
        import pyarrow as pa

        plain = _with_plain_times(column.type)
        values = (value for chunk in column.chunks for value in _as_type(chunk, plain).to_pylist())
        return pa.array([None if value is None else write(value) for value in values], pa.string())

    return texts


def _as_type(chunk: Any, type_: Any) -> Any:
    return chunk if chunk.type == type_ else chunk.cast(type_)


def _with_plain_times(type_: Any) -> Any:
    """Returns a type of Arrow with integers in place of times: Python has no times beyond the year 9999."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        return pa.int64()
    if pa.types.is_date(type_):
        return pa.int32()
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _with_plain_times(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_with_plain_times(type_.key_type), _with_plain_times(type_.item_type))
    return pa.list_(_with_plain_times(type_.value_type)) if pa.types.is_list(type_) else type_


def _writer(type_: SqlType, keeps_nulls: bool) -> _Writer:
    if type_.name == "struct":
        fields = [(name, f"{_quoted(name)}:", _writer(part, keeps_nulls)) for name, part in type_.parts]

        def write_struct(value: dict[str, Any]) -> str:
            parts = (
                f"{shown}{'null' if value[name] is None else write(value[name])}"
                for name, shown, write in fields
                if keeps_nulls or value[name] is not None
            )
            return f"{{{','.join(parts)}}}"

        return write_struct
    if type_.name == "map":
        key, item = _key_writer(type_.parts[0][1]), _writer(type_.parts[1][1], keeps_nulls)
        return lambda value: f"{{{','.join(f'{_quoted(key(k))}:{_or_null(item, v)}' for k, v in value)}}}"
    if type_.element is not None:
        element = _writer(type_.element, keeps_nulls)
        return lambda value: f"[{','.join(_or_null(element, v) for v in value)}]"
    if type_.is_integer or type_.is_decimal:
        return str
    writers: dict[str, _Writer] = {
        "void": lambda _: "null",
        "boolean": _boolean,
        "float": lambda value: _number(float_text(value)),
        "double": lambda value: _number(double_text(value)),
        "string": _quoted,
        "date": lambda value: f'"{_day(value)}"',
        "timestamp": lambda value: f'"{_day(value // 86_400_000_000)}T{_clock(value)}Z"',
        "binary": lambda value: f'"{base64.b64encode(value).decode()}"',
    }
    return writers[type_.name]


def _or_null(write: _Writer, value: Any) -> str:
    return "null" if value is None else write(value)


def _key_writer(type_: SqlType) -> _Writer:
    """Returns the writer of a map's keys. Spark writes a time as the number that holds it."""
    return _boolean if type_.name == "boolean" else str


def _day(days: int) -> str:
    if not _FIRST_DAY <= days <= _LAST_DAY:
        raise ValueError("[DUCKDB_UNSUPPORTED] A time outside the years 1 to 9999 as text is not supported on DuckDB.")
    return (dt.date(1970, 1, 1) + dt.timedelta(days=days)).isoformat()


def _clock(micros: int) -> str:
    """Returns the time of day with milliseconds. The other digits are dropped."""
    return (_EPOCH + dt.timedelta(microseconds=micros % 86_400_000_000)).time().isoformat("milliseconds")
