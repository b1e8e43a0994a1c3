"""JSON texts as Spark's parser (Jackson) reads them, for FROM_JSON, JSON_TUPLE and the rows of JSON files.

Python's own parser reads valid texts. Where Spark also reads a text that is malformed, or keeps a part of it, the text
is refused: ``ValueError`` with the condition DUCKDB_UNSUPPORTED. Texts after the end of the value are ignored.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NoReturn

from rewriter.exec.duckdb.json_writer import JsonConstant, JsonFraction, JsonInteger, JsonObject, copied_text
from rewriter.exec.sql_types import SqlType, arrow_type
from rewriter.exec.translate.json_functions import is_parsed, row_type
from rewriter.timeline.civil import DAY
from rewriter.timeline.timestamp_casts import date_text, is_malformed_date, is_malformed_timestamp, timestamp_text

#: A column of Arrow.
_Column = Any
#: Converts a value of a JSON text. Raises ``_NotOfType``.
_Converter = Callable[[Any], Any]


class _NotOfType(Exception):
    """A value that is not one of the declared type: NULL, where a struct or the whole text holds it."""


#: The numbers of seconds that are times within 64 bits of microseconds.
_MOST_SECONDS = 9_000_000_000_000
#: Limits of Jackson: the longest number, the longest name, and about half the nesting.
_MOST_DIGITS, _MOST_NAME, _MOST_DEPTH = 1000, 50_000, 500
_MOST_EXPONENT = 400
_BLANKS = re.compile(r"[ \t\n\r]*")
_LONG_NUMBER_OR_NAME = re.compile(rf"[0-9.]{{{_MOST_DIGITS},}}|\"[^\"]{{{_MOST_NAME},}}\"[ \t\n\r]*:")
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_ESCAPE_OR_QUOTE = re.compile(r"\\.|\"", re.DOTALL)
_SIGNED_INFINITY = re.compile(r"[-+](?:INF|Infinity)")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,9}))?")
_EXPONENT = re.compile(r"-?[0-9.]+[eE][-+]?[0-9]{1,3}")
_IS_EMPTY = re.compile(r"\{[ \t\n\r]*\}")
_DAYS = re.compile(r"[+-]?[0-9]+")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_NUMBERS_AS_TEXTS = {
    "NaN": float("nan"),
    **dict.fromkeys(("+INF", "+Infinity", "Infinity"), float("inf")),
    **dict.fromkeys(("-INF", "-Infinity"), float("-inf")),
}
_INTEGER_BITS = {"smallint": 16, "int": 32, "bigint": 64}


def _refuse_value(value: str) -> NoReturn:
    """Raises the error for a text or a value whose result on Spark is not certain."""
    raise ValueError(f"[DUCKDB_UNSUPPORTED] Reading the text '{_shown(value)}' as JSON is not supported on DuckDB.")


def _shown(value: str) -> str:
    return value if len(value) <= 100 else f"{value[:100]}…"


def _no_constant(text: str) -> NoReturn:
    raise json.JSONDecodeError("A number is not finite", text, 0)


_DECODER = json.JSONDecoder(
    object_pairs_hook=JsonObject, parse_int=JsonInteger, parse_float=JsonFraction, parse_constant=JsonConstant
)
#: JSON_TUPLE reads control characters in strings, and no NaN.
_LENIENT_DECODER = json.JSONDecoder(
    object_pairs_hook=JsonObject, parse_int=JsonInteger, parse_float=JsonFraction, parse_constant=_no_constant,
    strict=False,
)  # fmt: skip


def _decoded(text: str, decoder: json.JSONDecoder, start: int) -> Any:
    """Returns the value that begins at a place. Raises ``JSONDecodeError`` for a malformed one."""
    try:
        value, _ = decoder.raw_decode(text, start)
    except json.JSONDecodeError:
        plain = _with_double_quotes(text)
        if plain == text:
            raise
        value, _ = decoder.raw_decode(plain, start)
    except RecursionError:
        _refuse_value(text)
    if "\\u" in text and _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        _refuse_value(text)
    _check_limits(text, value)
    return value


def _check_limits(text: str, value: Any) -> None:
    if len(text) > _MOST_DIGITS and (_LONG_NUMBER_OR_NAME.search(text) or _is_deep(value)):
        _refuse_value(text)


def _is_deep(value: Any) -> bool:
    """Tests whether objects and arrays are nested about as deep as Jackson allows."""
    level = [value]
    for _ in range(_MOST_DEPTH):
        parts = [item for part in level for item in (part if type(part) is list else [v for _, v in part])]
        level = [part for part in parts if type(part) in (list, JsonObject)]
        if not level:
            return False
    return True


def _with_double_quotes(text: str) -> str:
    """Returns a text whose strings in single quotes are in double quotes, and without ``\\'``, which JSON has not."""

    def requoted(match: re.Match[str]) -> str:
        body = _ESCAPE_OR_QUOTE.sub(lambda part: {'"': '\\"', "\\'": "'"}.get(part[0], part[0]), match[0][1:-1])
        return f'"{body}"'

    return _QUOTED.sub(requoted, text)


# -- the first error of a malformed text ----------------------------------------------------------------------------

_VALUE = re.compile(
    r"\"(?:[^\"\\\x00-\x1f]|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*\"|(?:true|false|null|NaN|-?Infinity"
    r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?![-+A-Za-z0-9.])"
)
_REST_AT_END = re.compile(r"(?:[-+A-Za-z0-9.]*|\"(?:[^\"\\\x00-\x1f]|\\[\"\\/bfnrtu])*\\?)\Z")


def _is_null_if_malformed(text: str) -> bool:
    """Tests whether Spark certainly keeps nothing of a malformed text: it ends too early, or its first error stands
    between the parts of the outermost object or array. Elsewhere Spark may continue after an error.
    """
    text = _with_double_quotes(text)
    if _SIGNED_INFINITY.search(text):
        return False
    position, closing, expected = _after_blanks(text, 0), "", "value"
    while True:
        character = text[position : position + 1]
        follows: str | None = None
        if expected.startswith("value") and character and character in "{[":
            closing += "}" if character == "{" else "]"
            position, follows = position + 1, "key or end" if character == "{" else "value or end"
        elif expected.endswith("end") and closing.endswith(character) and character:
            closing, position, follows = closing[:-1], position + 1, "comma or end"
        elif expected.startswith("comma") and character == ",":
            position, follows = position + 1, "key" if closing.endswith("}") else "value"
        elif expected == "colon" and character == ":":
            position, follows = position + 1, "value"
        elif expected.startswith(("value", "key")) and (match := _VALUE.match(text, position)):
            if expected.startswith("value"):
                position, follows = match.end(), "comma or end"
            elif character == '"':
                position, follows = match.end(), "colon"
        if follows is None or not closing:
            break
        position, expected = _after_blanks(text, position), follows
    is_string = expected.startswith(("value", "key")) and text.startswith('"', position)
    if _REST_AT_END.match(text, position) is None:
        return len(closing) == 1 and not is_string
    # Behind the name of a field in an inner object, Jackson takes the end of the text for the end of all objects.
    is_behind_name = closing.endswith("}") and (expected == "colon" or (expected == "value" and not is_string))
    return len(closing) == 1 or not is_behind_name


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return position if match is None else match.end()


# -- FROM_JSON ------------------------------------------------------------------------------------------------------


def json_values(type_: SqlType) -> Callable[[_Column], _Column]:
    """Returns FROM_JSON of a column of texts, in the mode PERMISSIVE: a field without a value of its type is NULL, and
    so are all fields of a malformed text. Costs some µs for each field of a text.
    """
    convert = _converter(type_, in_file=False)
    nothing = dict.fromkeys(name for name, _ in type_.parts) if type_.name == "struct" else None
    first = "[{" if type_.element is not None and type_.element.name == "struct" else "["
    first = first if type_.name == "array" else "{"

    def value_of(text: str) -> Any:
        start = _after_blanks(text, 0)
        character = text[start : start + 1]
        if not character:
            return None
        if character not in first:
            return nothing
        try:
            value = _decoded(text, _DECODER, start)
        except json.JSONDecodeError:
            if not _is_null_if_malformed(text):
                _refuse_value(text)
            return nothing
        if type_.name == "array" and character == "{":
            value = [value]
        try:
            return convert(value)
        except _NotOfType:
            return nothing

    arrow = _plain_type(arrow_type(type_))

    def values(column: _Column) -> _Column:
        import pyarrow as pa

        return pa.array([None if text is None else value_of(text) for text in _texts(column)], arrow)

    return values


def _plain_type(type_: Any) -> Any:
    """Returns a type of Arrow whose times have no zone, as DuckDB has them."""
    import pyarrow as pa

    if pa.types.is_timestamp(type_):
        return pa.timestamp("us")
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _plain_type(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(_plain_type(type_.key_type), _plain_type(type_.item_type))
    return pa.list_(_plain_type(type_.value_type)) if pa.types.is_list(type_) else type_


def _texts(column: _Column) -> Iterable[str | None]:
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _converter(type_: SqlType, in_file: bool) -> _Converter:
    """Returns the function that converts a value of a text; NULL remains NULL. ``in_file`` says that a field that
    is not of its type raises ``_NotOfType`` in a struct, too, and that a STRING keeps the characters of other values.
    """
    convert = _converter_of_values(type_, in_file)
    return lambda value: None if value is None else convert(value)


def _converter_of_values(type_: SqlType, in_file: bool) -> _Converter:
    if type_.name == "struct":
        return _structs(type_, in_file)
    if type_.name == "map":
        return _maps(_converter(type_.parts[1][1], in_file))
    if type_.element is not None:
        return _arrays(_converter(type_.element, in_file))
    if type_.is_decimal:
        return _decimals(type_)
    if type_.name in _INTEGER_BITS:
        limit = 1 << (_INTEGER_BITS[type_.name] - 1)
        return lambda value: _integer(value, -limit, limit)
    converters: dict[str, _Converter] = {
        "tinyint": _byte,
        "boolean": _boolean,
        "string": _characters if in_file else _string,
        "binary": _binary,
        "float": _float,
        "double": _double,
        "date": _date,
        "timestamp": _timestamp,
    }
    return converters[type_.name]


def _structs(type_: SqlType, in_file: bool) -> _Converter:
    converters = {name: _converter(part, in_file) for name, part in type_.parts}
    empty: dict[str, Any] = dict.fromkeys(converters)

    def convert(value: Any) -> dict[str, Any]:
        if type(value) is not JsonObject:
            raise _NotOfType
        row = empty.copy()
        for name, item in value:
            if name in converters:
                try:
                    row[name] = converters[name](item)
                except _NotOfType:
                    if in_file:
                        raise
        return row

    return convert


def _arrays(convert: _Converter) -> _Converter:
    def convert_all(value: Any) -> list[Any]:
        if type(value) is not list:
            raise _NotOfType
        return [convert(item) for item in value]

    return convert_all


def _maps(convert: _Converter) -> _Converter:
    def convert_all(value: Any) -> list[tuple[str, Any]]:
        if type(value) is not JsonObject:
            raise _NotOfType
        entries = [(name, convert(item)) for name, item in value]
        if len({name for name, _ in entries}) < len(entries):
            # Spark keeps both entries, which no other map has.
            _refuse_value(copied_text(value))
        return entries

    return convert_all


def _integer(value: Any, least: int, limit: int) -> int:
    if type(value) is not JsonInteger or not least <= (number := int(value)) < limit:
        raise _NotOfType
    return number


def _byte(value: Any) -> int:
    """Returns a TINYINT. Jackson takes a byte without a sign, too."""
    number = _integer(value, -128, 256)
    return number - 256 if number > 127 else number


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise _NotOfType
    return value


def _string(value: Any) -> str:
    return value if type(value) is str else copied_text(value)


def _characters(value: Any) -> str:
    """Returns a value of a file as STRING: a number as it is written there."""
    if type(value) is list or type(value) is JsonObject:
        _refuse_value(copied_text(value))  # Its blanks are not known.
    return value if isinstance(value, str) else copied_text(value)


def _binary(value: Any) -> bytes:
    if type(value) is not str:
        raise _NotOfType
    if not _BASE64.fullmatch(value):
        _refuse_value(value)
    return binascii.a2b_base64(value)


def _double(value: Any) -> float:
    if type(value) is str and value in _NUMBERS_AS_TEXTS:
        return _NUMBERS_AS_TEXTS[value]
    if type(value) not in (JsonInteger, JsonFraction, JsonConstant):
        raise _NotOfType
    return float(int(value)) if value == "-0" else float(value)


def _float(value: Any) -> float:
    import numpy as np

    number = _double(value)
    with np.errstate(over="ignore"):
        rounded = np.float32(number)
    if type(value) is str or type(value) is JsonConstant or float(rounded) == number:
        return float(rounded)
    other = float(np.nextafter(rounded, np.float32(np.inf if number > rounded else -np.inf)))
    if float(rounded) + other == 2 * number or (np.isinf(rounded) and abs(number) < 3.5e38):
        _refuse_value(value)  # A double between two floats: the digits behind it decide.
    return float(rounded)


def _decimals(type_: SqlType) -> _Converter:
    unit, context = Decimal(1).scaleb(-type_.scale), Context(prec=2 * _MOST_DIGITS)
    limit = Decimal(10) ** (type_.precision - type_.scale)

    def convert(value: Any) -> Decimal:
        if type(value) not in (JsonInteger, JsonFraction, str):
            raise _NotOfType
        match = _DECIMAL.fullmatch(value)
        if match is None and value.isascii():
            raise _NotOfType
        if match is None or abs(int(match[1] or 0)) > _MOST_EXPONENT or len(value) > _MOST_DIGITS:
            _refuse_value(value)
        number = Decimal(value).quantize(unit, ROUND_HALF_UP, context)
        if abs(number) >= limit:
            raise _NotOfType
        return number

    return convert


def _date(value: Any) -> int:
    """Returns the day since 1970. Spark takes a text of digits alone for the number of it."""
    if type(value) is not str:
        raise _NotOfType
    day = date_text(value)
    if day is not None:
        return day // DAY
    if _DAYS.fullmatch(value) or "GMT" in value or not (is_malformed_date(value) or not value):
        _refuse_value(value)
    raise _NotOfType


def _timestamp(value: Any) -> int:
    if type(value) is JsonInteger:
        seconds = _integer(value, -(2**63), 2**63)
        if abs(seconds) > _MOST_SECONDS:
            _refuse_value(value)
        return seconds * 1_000_000
    if type(value) is not str:
        raise _NotOfType
    instant = timestamp_text(value)
    if instant is not None:
        return instant
    if "GMT" in value or not (is_malformed_timestamp(value) or not value):
        _refuse_value(value)
    raise _NotOfType


# -- rows of files --------------------------------------------------------------------------------------------------


def json_rows(type_: SqlType) -> Callable[[_Column], _Column]:
    """Returns the rows of lines of files, with the columns of the struct ``type_``, as structs of ``row_type``.

    As Spark in the mode FAILFAST, raises ``ValueError`` for a line that is no object and for a value that is not of its
    type. Costs some µs for each field of a line.
    """
    types = dict(type_.parts)
    converters = {name: _converter(part, True) if is_parsed(part) else _text_for(part) for name, part in types.items()}
    empty: dict[str, Any] = dict.fromkeys(converters)

    def row_of(line: str) -> dict[str, Any]:
        if "\r" in line.rstrip("\r"):
            _refuse_value(line)  # Spark ends a line there.
        row = empty.copy()
        for name, value, characters in _fields(line):
            if name not in converters:
                continue
            is_read = value is None or type(value) is str or is_parsed(types[name])
            try:
                row[name] = converters[name](value if is_read else characters)
            except _NotOfType:
                shown = f"The value '{_shown(characters)}' of the column {name} in a JSON file"
                raise ValueError(f"[CANNOT_PARSE_JSON_FIELD] {shown} is no {str(types[name]).upper()}.") from None
        return row

    arrow = _plain_type(arrow_type(row_type(type_)))

    def rows(column: _Column) -> _Column:
        import pyarrow as pa

        return pa.array([None if line is None else row_of(line) for line in _texts(column)], arrow)

    return rows


def _fields(line: str) -> list[tuple[str, Any, str]]:
    """Returns the fields of the object of a line: the name, the value and its characters. Raises ``ValueError``."""
    fields, position, character = [], _after_blanks(line, 0), "{"
    try:
        while line[position] == character and not (character == "{" and _IS_EMPTY.match(line, position)):
            position = _after_blanks(line, position + 1)
            name, position = _DECODER.raw_decode(line, position)
            position = _after_blanks(line, position)
            if type(name) is not str or line[position] != ":":
                break
            start = _after_blanks(line, position + 1)
            value, end = _DECODER.raw_decode(line, start)
            fields.append((name, value, line[start:end]))
            position, character = _after_blanks(line, end), ","
        is_whole = (character == "," and line[position] == "}") or _IS_EMPTY.match(line, position) is not None
    except (json.JSONDecodeError, IndexError):
        is_whole = False
    except RecursionError:
        _refuse_value(line)
    if not is_whole:
        raise ValueError(
            f"[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] The line '{_shown(line)}' of a JSON file is no object."
        )
    _check_limits(line, [value for _, value, _ in fields])
    return fields


def _text_for(type_: SqlType) -> _Converter:
    """Returns the function that makes the characters of a value the text that Spark casts to the type."""

    def text_of(characters: str | None) -> str | None:
        if characters is not None and type_.is_decimal and _EXPONENT.fullmatch(characters):
            return f"{Decimal(characters):f}"
        return characters

    return text_of


# -- JSON_TUPLE -----------------------------------------------------------------------------------------------------


def json_tuples(texts: _Column, names: _Column) -> _Column:
    """Returns the values of fields of each text, as texts in the order of the names: all are NULL if a text is not an
    object or is malformed. Of fields of one name, the last one with a value counts.
    """
    import pyarrow as pa

    rows = zip(_texts(texts), _texts(names), strict=True)
    return pa.array([_tuple(text, fields or ()) for text, fields in rows], pa.list_(pa.string()))


def _tuple(text: str | None, names: Iterable[str | None]) -> list[str | None]:
    values: dict[str | None, str] = {}
    start = 0 if text is None else _after_blanks(text, 0)
    if text is not None and text.startswith("{", start):
        try:
            fields = _decoded(text, _LENIENT_DECODER, start)
        except json.JSONDecodeError:
            fields = ()
        wanted = set(names)
        values = {
            name: value if type(value) is str else copied_text(value)
            for name, value in fields
            if name in wanted and value is not None
        }
    return [values.get(name) for name in names]
