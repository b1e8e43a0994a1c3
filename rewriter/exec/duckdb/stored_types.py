"""The types of the columns of Parquet files as DuckDB spells them, and their values as declared types."""

from __future__ import annotations

import re

from rewriter.exec.sql_types import SqlType, duckdb_type
from rewriter.exec.translate.casts import field_sql, struct_sql

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_NESTED = re.compile(r"(STRUCT|MAP)\((.*)\)\Z", re.DOTALL)
_FIELD = re.compile(r'("(?:[^"]|"")*"|\w+) (.*)\Z', re.DOTALL)
_MARKS = re.compile(r"\"(?:[^\"]|\"\")*\"|'(?:[^']|'')*'|[(),]")
_DEPTHS = {"(": 1, ")": -1}


def declared_value(sql: str, stored: str, target: SqlType, is_exact: bool) -> str | None:
    """Returns a value of a file, whose type DuckDB spells ``stored``, as the declared type, provided that no value can
    change; ``None`` otherwise. ``is_exact`` says that the file has no statistics that leave out NaN.

    A struct has the declared fields, found by their names in any case; a field that the file does not have is NULL.
    """
    if target.name == "array":
        return _array(sql, stored, target, is_exact)
    match = _NESTED.match(stored)
    if target.name == "map":
        return None if match is None or match[1] != "MAP" else _map(sql, _split(match[2]), target, is_exact)
    if target.name == "struct":
        return None if match is None or match[1] != "STRUCT" else _struct(sql, _split(match[2]), target, is_exact)
    value = sql if is_exact else _with_nan(sql, stored)
    declared = duckdb_type(target)
    if stored == declared:
        return value
    if not _readable(stored, target):
        return None
    if stored == "TIMESTAMP WITH TIME ZONE":
        # A cast takes the long way through the rules of time zones. Only the two infinite values need it.
        return f"COALESCE(make_timestamp(epoch_us({value})), CAST({value} AS {declared}))"
    return f"CAST({value} AS {declared})"


def _variable(sql: str) -> str:
    """Returns the name of a variable that ``sql`` does not have."""
    return f"d{sql.count('(')}"


def _array(sql: str, stored: str, target: SqlType, is_exact: bool) -> str | None:
    if not stored.endswith("[]"):
        return None
    item = _variable(sql)
    element = declared_value(item, stored.removesuffix("[]"), target.parts[0][1], is_exact)
    if element is None or element == item:
        return None if element is None else sql
    return f"list_transform({sql}, lambda {item}: {element})"


def _map(sql: str, parts: list[str], target: SqlType, is_exact: bool) -> str | None:
    item = _variable(sql)
    (_, key_type), (_, value_type) = target.parts
    sources = (f"{item}.key", f"{item}.value")
    key = declared_value(sources[0], parts[0], key_type, is_exact)
    value = declared_value(sources[1], parts[1], value_type, is_exact)
    if key is None or value is None or (key, value) == sources:
        return None if key is None or value is None else sql
    entry = struct_sql([("key", key), ("value", value)])
    return f"map_from_entries(list_transform(map_entries({sql}), lambda {item}: {entry}))"


def _struct(sql: str, parts: list[str], target: SqlType, is_exact: bool) -> str | None:
    matches = [_FIELD.match(part) for part in parts]
    stored_fields = [(_unquoted(match[1]), match[2]) for match in matches if match is not None]
    by_name = {name.lower(): (name, type_name) for name, type_name in stored_fields}
    if len(by_name) < len(parts):
        return None  # fields whose names differ in case alone
    item = _variable(sql)
    fields, unchanged = [], []
    for name, type_ in target.parts:
        if name.lower() not in by_name:
            fields.append((name, f"CAST(NULL AS {duckdb_type(type_)})"))
            continue
        stored_name, type_name = by_name[name.lower()]
        source = field_sql(item, stored_name)
        value = declared_value(source, type_name, type_, is_exact)
        if value is None:
            return None
        fields.append((name, value))
        unchanged.append(value == source and stored_name == name)
    if not unchanged:
        return None  # Spark's releases differ in whether such a struct is NULL.
    if all(unchanged) and [name for name, _ in stored_fields] == [name for name, _ in target.parts]:
        return sql
    made = f"CASE WHEN {item} IS NOT NULL THEN {struct_sql(fields)} END"
    return f"list_transform([{sql}], lambda {item}: {made})[1]"


def _split(text: str) -> list[str]:
    """Returns the parts of a type between its commas."""
    parts, depth, start = [], 0, 0
    for mark in _MARKS.finditer(text):
        depth += _DEPTHS.get(mark[0], 0)
        if mark[0] == "," and depth == 0:
            parts.append(text[start : mark.start()].strip())
            start = mark.end()
    return [*parts, text[start:].strip()]


def _unquoted(name: str) -> str:
    return name[1:-1].replace('""', '"') if name.startswith('"') else name


def _with_nan(sql: str, type_name: str) -> str:
    """Returns a column so that DuckDB reads its values: a file's minimum and maximum ignore NaN, and DuckDB trusts
    them.
    """
    if type_name not in ("FLOAT", "DOUBLE"):
        return sql
    return f"CASE WHEN isnan({sql}) THEN CAST('NaN' AS {type_name}) ELSE {sql} END"


def _readable(type_name: str, target: SqlType) -> bool:
    match = _DECIMAL.match(type_name)
    if target.is_integer:
        return type_name in _INTEGERS
    if target.is_decimal:
        return type_name in _INTEGERS or (match is not None and int(match[2]) <= target.scale)
    if target.name == "double":
        return type_name == "FLOAT" or type_name in _INTEGERS
    if target.name == "timestamp":
        return type_name in ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_MS", "TIMESTAMP_S")
    return type_name in ('"NULL"', "NULL")
