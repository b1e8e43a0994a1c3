"""Functions of JSON texts, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING

from rewriter.errors import Error, NotSupportedError, Span
from rewriter.exec.sql_types import BINARY, STRING, TIMESTAMP_NTZ, VOID, SqlType, parse_type, struct_of
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.inferred_json_schemas import json_schema
from rewriter.exec.translate.string_functions import text
from rewriter.grammar.datatypes import scalar_type, struct_type
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sqlglot import exp


class JsonUse(Enum):
    """The uses of a function of JSON. ``WITH_NULLS`` is TO_JSON that writes fields that are NULL, too. ``ROW`` reads a
    line of a file as a struct of its columns.
    """

    FROM_JSON = "from_json"
    TO_JSON = "to_json"
    WITH_NULLS = "to_json_with_nulls"
    ROW = "json_row"


@dataclass(frozen=True)
class JsonFunction:
    """A function of JSON and values of a type.

    >>> JsonFunction(JsonUse.FROM_JSON, parse_type("array<int>")).name
    'rw_from_json_61727261793c696e743e'
    """

    use: JsonUse
    type: SqlType

    @property
    def name(self) -> str:
        return f"rw_{self.use.value}_{str(self.type).encode().hex()}"


def is_parsed(type_: SqlType) -> bool:
    """Tests whether Spark's reader of JSON files parses the values of a column: values with parts, and base64. The
    others are texts that are cast.
    """
    return type_.is_nested or type_ == BINARY


def row_type(type_: SqlType) -> SqlType:
    """Returns the struct of the columns of a line as they are read from it: texts, except for those that are parsed."""
    return struct_of([(name, part if is_parsed(part) else STRING) for name, part in type_.parts])


_FUNCTION_NAME = re.compile(rf"rw_({'|'.join(use.value for use in JsonUse)})_((?:[0-9a-f]{{2}})+)")


def json_function(name: str) -> JsonFunction | None:
    """Returns the function of that name; ``None`` for names of other functions."""
    match = _FUNCTION_NAME.fullmatch(name)
    try:
        type_ = parse_type(bytes.fromhex(match[2]).decode()) if match else None
    except (ValueError, NotSupportedError):
        return None
    if match is None or type_ is None:
        return None
    return JsonFunction(JsonUse(match[1]), type_)


# GET_JSON_OBJECT, for the allow-list of ``expressions``.
#
# Spark reads JSON as a stream, writes what it finds anew, and passes over errors in some places. DuckDB reads the
# whole text. A text or a value for which the results may differ is an error when it occurs.

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_ -]*)|\['([A-Za-z_][A-Za-z0-9_ .-]*)'\]|\[(\d{1,9})\]", re.ASCII)


def _steps(path: str) -> list[str | int] | None:
    """Returns the keys and indexes of a path; ``None`` for one that is not simple."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        name, quoted_name, index = match.groups()
        steps.append(int(index) if index is not None else name or quoted_name)
        position = match.end()
    return steps or None


def _get_json_object(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, path = text(e, first, scope), e.translate(second, scope)
    name = call("get_json_object", value.name, path.name)
    if path.type == VOID:
        return Typed(e.cast(path, STRING, node), STRING, name)
    steps = _steps(path.text) if path.text is not None else None
    if steps is None:
        e.refuse(node, f"The JSON path {e.text.shown(second)}")
    place, repeated = "$", []
    for step in steps:
        if isinstance(step, str):
            # Of equal keys, Spark continues with the next one if the first one has no value.
            repeated.append(f"rw_repeats({value.sql}, {string_literal(place)}, {string_literal(step)})")
        place += f"[{step}]" if isinstance(step, int) else f'."{step}"'
    if isinstance(steps[-1], int):
        # Spark returns the text null for an element that is null.
        repeated.append(f"coalesce(json_type(rw_valid_json({value.sql}), {string_literal(place)}) = 'NULL', false)")
    sql = f"rw_json({value.sql}, {string_literal(place)}, {' OR '.join(repeated) or 'false'})"
    return Typed(sql, STRING, name)


# TO_JSON and FROM_JSON, which are functions in Python (``exec.duckdb.json_reader``, ``json_writer``).


def _options(e: Expressions, node: exp.Expr, parts: list[exp.Expr], scope: Scope) -> Mapping[str, str]:
    """Returns the options of a call, by names in lower case: the literals of MAP('name', 'value', …)."""
    if not parts:
        return {}
    (option_map,) = parts
    texts = [e.translate(part, scope).text for part in option_map.expressions]
    if e.text.called(option_map) != "map" or len(texts) % 2 or None in texts:
        e.refuse(node, f"The options {e.text.shown(option_map)}")
    names = (str(name).lower() for name in texts[::2])
    return dict(zip(names, map(str, texts[1::2]), strict=True))


def _to_json(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *others = e.arguments(node, 1, 2)
    value, options = e.translate(first, scope), _options(e, node, others, scope)
    name = call("to_json", value.name)
    if value.type == VOID:
        return Typed(plain_cast("NULL", STRING), STRING, name)
    if not value.type.is_nested:
        e.text.wrong(
            f"TO_JSON takes a struct, an array or a map, but not {value.type.shown}.",
            "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA", "42K09", node,
        )  # fmt: skip
    keeps_nulls = options.get("ignorenullfields", "true").lower()
    if options.keys() - {"ignorenullfields"} or keeps_nulls not in ("true", "false"):
        e.refuse(node, f"TO_JSON with the options {e.text.shown(others[0])}")
    if not _is_writable(value.type):
        e.refuse(node, f"TO_JSON of {value.type}")
    function = JsonFunction(JsonUse.WITH_NULLS if keeps_nulls == "false" else JsonUse.TO_JSON, value.type)
    return Typed(f"{function.name}({plain_cast(value.sql, value.type)})", STRING, name)


def _is_writable(type_: SqlType) -> bool:
    """Tests whether all values have a text: not for intervals and times of no zone, nor for keys of maps that are
    objects of Java.
    """
    if (
        type_.is_interval
        or type_ == TIMESTAMP_NTZ
        or (type_.name == "map" and type_.parts[0][1].name in ("binary", "array", "struct", "map"))
    ):
        return False
    return all(_is_writable(part) for _, part in type_.parts)


def _from_json(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, *others = e.arguments(node, 2, 3)
    value, schema, options = e.translate(first, scope), e.translate(second, scope), _options(e, node, others, scope)
    if schema.text is None:
        e.refuse(node, f"The schema {e.text.shown(second)} in FROM_JSON")
    if value.type not in (STRING, VOID):
        e.text.wrong(
            f"FROM_JSON takes a STRING, but not {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
        )  # fmt: skip
    if options.keys() - {"mode"} or options.get("mode", "permissive").lower() != "permissive":
        e.refuse(node, f"FROM_JSON with the options {e.text.shown(others[0])}")
    type_ = _schema_type(schema.text)
    if type_ is None or not _is_readable(type_) or _CORRUPT_RECORD in (name for name, _ in type_.parts):
        e.refuse(node, f"The schema {e.text.shown(second)} in FROM_JSON")
    if "timestamp" in type_.leaves and _TO_JSON in e.entries:
        # Spark may leave out both calls, with which times keep the digits that TO_JSON drops.
        e.refuse(node, "FROM_JSON with times beside TO_JSON")
    # Spark's name of a map that is read.
    name = "entries" if type_.name == "map" else call("from_json", value.name)
    return Typed(f"{JsonFunction(JsonUse.FROM_JSON, type_).name}({e.cast(value, STRING, node)})", type_, name)


def _schema_of_json(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *options = e.arguments(node, 1, 2)
    value = e.translate(first, scope)
    if options:
        e.refuse(node, f"SCHEMA_OF_JSON with the options {e.text.shown(options[0])}")
    if value.type == VOID:
        e.text.wrong("The text of SCHEMA_OF_JSON is not NULL.", "DATATYPE_MISMATCH.UNEXPECTED_NULL", "42K09", node)
    schema = None if value.text is None else json_schema(value.text)
    if schema is None:
        e.refuse(node, f"SCHEMA_OF_JSON of {e.text.shown(first)}")
    return Typed(string_literal(schema), STRING, call("schema_of_json", value.name), schema)


def _is_readable(type_: SqlType) -> bool:
    is_usable = type_.name != "map" or type_.parts[0][1] == STRING
    return is_usable and "void" not in type_.leaves and all(_is_readable(part) for _, part in type_.parts if part.parts)


# Schemas: a type, or columns with their types.

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([A-Za-z0-9_]+)|('[^'\\]*'|\"[^\"\\]*\")|([<>(),:]))\s*")


class _OtherSchema(ValueError):
    """A text that is not a schema, or has parts that only Spark reads."""


def _schema_type(text: str) -> SqlType | None:
    """Returns the type of a schema; ``None`` if it is malformed, or only Spark handles it.

    >>> str(_schema_type("a INT, `b c` ARRAY<STRUCT<d: STRING NOT NULL>> COMMENT 'x'"))
    'struct<a:int,`b c`:array<struct<d:string>>>'
    """
    try:
        tokens = _tokens(text)
        is_type = len(tokens) > 1 and tokens[0].lower() in ("array", "map", "struct") and tokens[1] == "<"
        spelled = _type(tokens) if is_type else _struct(tokens, "")
        if tokens:
            return None
        return parse_type(spelled)
    except (Error, _OtherSchema):
        return None


def _tokens(text: str) -> list[str]:
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _OtherSchema
        tokens.append(match[0].strip())
        position = match.end()
    return tokens


def _take(tokens: list[str], expected: str = "") -> str:
    if not tokens or (expected and tokens[0].lower() != expected):
        raise _OtherSchema
    return tokens.pop(0)


def _follows(tokens: list[str], word: str) -> bool:
    return bool(tokens) and tokens[0].lower() == word


def _type(tokens: list[str]) -> str:
    """Takes a type from the front of the tokens. Returns its spelling."""
    name = _take(tokens)
    lower = name.lower()
    if lower in ("array", "map"):
        _take(tokens, "<")
        parts = [_type(tokens)]
        if lower == "map":
            _take(tokens, ",")
            parts.append(_type(tokens))
        _take(tokens, ">")
        return f"{lower}<{','.join(parts)}>"
    if lower == "struct":
        _take(tokens, "<")
        return _struct(tokens, ">")
    sizes = []
    if _follows(tokens, "("):
        _take(tokens)
        sizes = [_take(tokens)]
        while _follows(tokens, ","):
            _take(tokens)
            sizes.append(_take(tokens))
        _take(tokens, ")")
    return scalar_type(name, sizes, Span(0, 0))


def _struct(tokens: list[str], end: str) -> str:
    """Takes fields up to the end of the tokens, or to a sign after them. Returns their struct."""
    fields = []
    while True:
        name = _take(tokens)
        if _follows(tokens, ":"):
            _take(tokens)
        fields.append((name[1:-1].replace("``", "`") if name.startswith("`") else name, _type(tokens)))
        if _follows(tokens, "not"):
            _take(tokens)
            _take(tokens, "null")
        if _follows(tokens, "comment"):
            _take(tokens)
            if _take(tokens)[0] not in "'\"":
                raise _OtherSchema
        if not _follows(tokens, ","):
            break
        _take(tokens)
    if end:
        _take(tokens, end)
    return struct_type(fields)


#: The field in which Spark keeps malformed texts.
_CORRUPT_RECORD = "_corrupt_record"
FUNCTIONS = functions(
    "Strings",
    (
        "get_json_object(s, '$.key[index].key')",
        _get_json_object,
        "other paths; when they occur: malformed JSON, repeated keys without a value, fractions below 0.001 and from "
        "10 million on, objects and arrays with fractions or escapes",
    ),
    (
        "to_json(struct|map|array[, map('ignoreNullFields', 'false')])",
        _to_json,
        "other options; intervals; TIMESTAMP_NTZ; keys of maps that are BINARY or nested; numbers that Java 17 and "
        "later releases print differently, when they occur",
    ),
    (
        "from_json(s, 'schema'[, map('mode', 'PERMISSIVE')])",
        _from_json,
        "other options; a schema that is not a literal, has VOID, CHAR or VARCHAR, equal names, or _corrupt_record; "
        "times beside to_json; when they occur: some errors within nested objects and arrays, repeated keys of a map, "
        "lone surrogates, unusual times",
    ),
    (
        "schema_of_json('json')",
        _schema_of_json,
        "options; texts that are not literals, are not strict JSON, or have empty objects, repeated fields or whole "
        "numbers beyond BIGINT",
    ),
)
_TO_JSON = FUNCTIONS["to_json"].entry
