"""DuckDB's SQL for arrays, maps and structs: values that are used several times, and maps of checked keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rewriter.exec.sql_types import SqlType, array_of
from rewriter.exec.translate.casts import plain_cast, struct_sql

#: A column, a variable, a field of one, or a number.
_SHORT = re.compile(r"(?:CAST\([-\w]+ AS [A-Z]+\)|[\w.]+|s\d+\.\"(?:[^\"]|\"\")*\")\Z")
#: Types whose values are equal exactly if they are the same, so that they can be keys and members of sets.
_EXACT = ("boolean", "tinyint", "smallint", "int", "bigint", "decimal", "string", "date", "timestamp", "timestamp_ntz",
          "binary")  # fmt: skip


def with_values(values: Mapping[str, str], body: Callable[[Mapping[str, str]], str]) -> str:
    """Returns the SQL that ``body`` makes of values, of which it may use each several times: a long expression is
    computed once. ``values`` are the values' SQL by names that are valid in DuckDB.

    >>> with_values({"a": "s1.c0"}, lambda v: f"len({v['a']}) + len({v['a']})")
    'len(s1.c0) + len(s1.c0)'
    """
    if all(_SHORT.match(sql) for sql in values.values()):
        return body(values)
    # A lambda within the values cannot use the variable, and one within the body has another name.
    row = f"r{sum(sql.count('lambda ') for sql in values.values())}"
    bound = body({name: f"{row}.{name}" for name in values})
    return f"list_transform([{struct_sql(list(values.items()))}], lambda {row}: {bound})[1]"


def is_exact(type_: SqlType) -> bool:
    """Tests whether equal values of the type are the same value: not for 0.0 and -0.0, nor for maps."""
    return type_.leaves <= {*_EXACT, "array", "struct", "void"}


def map_sql(keys: str, values: str) -> str:
    """Returns the map of two arrays of the same length, NULL if one of them is NULL. Keys that are NULL or equal are
    errors.
    """
    return with_values({"k": keys, "v": values}, _checked_map)


def _checked_map(v: Mapping[str, str]) -> str:
    keys, values = v["k"], v["v"]
    repeated = f"len(list_distinct({keys})) < list_count({keys})"
    return (
        f"CASE WHEN {keys} IS NULL OR {values} IS NULL THEN NULL "
        f"WHEN len({keys}) <> len({values}) THEN error('[DUCKDB_UNSUPPORTED] A map of keys and values of different "
        "numbers is not supported on DuckDB.') "
        f"WHEN list_count({keys}) < len({keys}) AND {repeated} THEN error('[DUCKDB_UNSUPPORTED] A map with a key that "
        "is NULL, and with equal keys, is not supported on DuckDB.') "
        f"WHEN list_count({keys}) < len({keys}) THEN error('[NULL_MAP_KEY] A key of a map is NULL.') "
        f"WHEN {repeated} THEN error('[DUPLICATED_MAP_KEY] Two keys of a map are equal.') "
        f"ELSE map({keys}, {values}) END"
    )


def list_sql(items: list[str], element: SqlType) -> str:
    """Returns the array of these elements."""
    return plain_cast(f"[{', '.join(items)}]", array_of(element))
