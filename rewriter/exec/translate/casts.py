"""Casts and common types of Spark's ANSI mode, in DuckDB's SQL.

DuckDB rounds where Spark truncates, and reads texts as numbers and times that Spark refuses. So a cast of text goes
through one of the macros (``duckdb_macros``).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from rewriter.exec.sql_types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    INTEGERS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    SqlType,
    decimal,
    duckdb_type,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.duckdb_macros import READABLE
from rewriter.timeline.timestamp_casts import date_text, timestamp_text

#: Months of the units of intervals of years and months, microseconds of the others.
INTERVAL_SIZES = {"year": 12, "month": 1, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000,
                  "second": 1_000_000}  # fmt: skip
_EPOCH = dt.datetime(1970, 1, 1)
_MICRO_DIGITS = 6
#: The most digits of an integer that a double always holds. Java releases show more digits differently.
EXACT_DIGITS = 15


def quote(name: str) -> str:
    """Returns a name in DuckDB's quotes."""
    return '"' + name.replace('"', '""') + '"'


def string_literal(value: str) -> str:
    """Returns a string in DuckDB's quotes, in which a backslash is an ordinary character."""
    return "'" + value.replace("'", "''") + "'"


def plain_cast(sql: str, target: SqlType) -> str:
    return f"CAST({sql} AS {duckdb_type(target)})"


def cast(sql: str, source: SqlType, target: SqlType, tolerant: bool = False) -> str | None:
    """Returns the SQL of ``CAST`` (or ``TRY_CAST`` if ``tolerant``) with Spark's meaning; ``None`` if equality is not
    proven.
    """
    if source == target or (source.name == target.name == "string"):
        return sql
    if source.name == "void":
        return plain_cast(sql, target)
    if source.is_nested:
        return _nested_text(sql, source) if target.name == "string" else _nested(sql, source, target, tolerant)
    if target.is_nested or BINARY in (source, target):
        return None
    if source.name == "string":
        return _from_string(sql, target, tolerant)
    if source.is_interval and target.is_interval:
        # A type with all units of the other one.
        return sql if source.united(target) == target else None
    keyword = "TRY_CAST" if tolerant else "CAST"
    direct = f"{keyword}({sql} AS {duckdb_type(target)})"
    if target.name == "string":
        return _to_string(sql, source)
    if source.is_interval and target.is_integer:
        size = INTERVAL_SIZES[source.interval_units[-1]]
        return f"{keyword}({sql} // {size} AS {duckdb_type(target)})"
    if source.is_datetime and target.is_datetime:
        return direct
    if source.name == "timestamp" and (target.is_integer or target.is_decimal or target.name == "double"):
        return _seconds(sql, target, keyword)
    if target.name == "timestamp" and (source.is_integer or source.is_decimal):
        return _moment(sql, source)
    if source.name == "boolean" and target.is_numeric:
        return direct if target.is_integer else f"{keyword}(CAST({sql} AS INTEGER) AS {duckdb_type(target)})"
    if target.name == "boolean" and source.is_numeric:
        # NaN is true.
        return direct if source.is_integer else f"({sql} <> 0)"
    if not (source.is_numeric and target.is_numeric):
        return None
    return _numeric(sql, source, target, keyword, direct)


def cast_of_bytes(sql: str, source: SqlType, target: SqlType) -> str | None:
    """Returns the SQL of a typed ``CAST`` between STRING and BINARY; ``None`` for other types. Where one of them stands
    in place of the other, Spark has other rules.
    """
    if source == STRING and target == BINARY:
        return f"encode({sql})"
    return f"rw_decoded({sql})" if source == BINARY and target == STRING else None


def _nested(sql: str, source: SqlType, target: SqlType, tolerant: bool) -> str | None:
    """Returns an array, a map or a struct as another one of its kind. Fields are assigned by their places."""
    # Keys that become equal, and values that become NULL, have rules of their own.
    if source.name != target.name or len(source.parts) != len(target.parts) or tolerant:
        return None
    if source.parts[0][1].name == "void" and source.name == "map":
        return plain_cast(sql, target)  # It is empty.
    value = f"e{_depth(source)}"
    pairs = [(part, cast_part) for (_, part), (_, cast_part) in zip(source.parts, target.parts, strict=True)]
    if source.name == "array":
        element = cast(value, *pairs[0])
        return None if element is None else f"list_transform({sql}, lambda {value}: {element})"
    if source.name == "map":
        if pairs[0][0] != pairs[0][1]:
            return None
        item = cast(f"{value}.value", *pairs[1])
        entry = f"struct_pack(key := {value}.key, value := {item})"
        return (
            None if item is None else f"map_from_entries(list_transform(map_entries({sql}), lambda {value}: {entry}))"
        )
    fields = [cast(field_sql(value, name), *pair) for (name, _), pair in zip(source.parts, pairs, strict=True)]
    if any(field is None for field in fields):
        return None
    made = struct_sql([(name, str(field)) for (name, _), field in zip(target.parts, fields, strict=True)])
    return f"list_transform([{sql}], lambda {value}: CASE WHEN {value} IS NOT NULL THEN {made} END)[1]"


def _depth(type_: SqlType) -> int:
    return 1 + max((_depth(part) for _, part in type_.parts), default=0)


def field_sql(sql: str, name: str) -> str:
    """Returns the field of a struct; NULL where the struct is NULL."""
    return f"struct_extract({sql}, {string_literal(name)})"


def struct_sql(fields: Sequence[tuple[str, str]]) -> str:
    """Returns the struct of fields, each with its name and its SQL."""
    return f"struct_pack({', '.join(f'{quote(name)} := {sql}' for name, sql in fields)})"


def _nested_text(sql: str, source: SqlType) -> str | None:
    """Returns the text of an array, a map or a struct: ``[1, null]``, ``{a -> 1}`` and ``{1, null}``."""
    value = f"e{_depth(source)}"

    def text_of(part_sql: str, part: SqlType) -> str | None:
        converted = cast(part_sql, part, STRING)
        return None if converted is None else f"coalesce({converted}, 'null')"

    if source.name == "array":
        element = text_of(value, source.parts[0][1])
        return None if element is None else _listed_text(sql, value, element, "[]")
    if source.name == "map":
        (_, key_type), (_, value_type) = source.parts
        key, item = text_of(f"{value}.key", key_type), text_of(f"{value}.value", value_type)
        if key is None or item is None:
            return None
        return _listed_text(f"map_entries({sql})", value, f"{key} || ' -> ' || {item}", "{}")
    fields = [text_of(field_sql(value, name), part) for name, part in source.parts]
    if any(field is None for field in fields):
        return None
    joined = " || ', ' || ".join(map(str, fields))
    made = f"'{{' || {joined} || '}}'"
    return f"list_transform([{sql}], lambda {value}: CASE WHEN {value} IS NOT NULL THEN {made} END)[1]"


def _listed_text(list_sql: str, value: str, item: str, brackets: str) -> str:
    texts = f"list_transform({list_sql}, lambda {value}: {item})"
    return f"('{brackets[0]}' || array_to_string({texts}, ', ') || '{brackets[1]}')"


def _to_string(sql: str, source: SqlType) -> str | None:
    if source.is_decimal:
        # DuckDB writes 0.5 as '.5' if all digits are after the point.
        return f"rw_decimal_text({plain_cast(sql, STRING)})"
    if source.is_datetime:
        return f"rw_time_text({sql})"
    if source.is_interval:
        return _interval_text(sql, source)
    if source.is_floating:
        return f"rw_{source.name}_text({sql})"
    return plain_cast(sql, STRING) if source.is_integer or source.name == "boolean" else None


def _interval_text(sql: str, source: SqlType) -> str:
    """Returns ``INTERVAL '1 02:03:04.5' DAY TO SECOND`` or ``INTERVAL '1-2' YEAR TO MONTH``."""
    units = source.interval_units
    amount = f"abs(CAST({sql} AS HUGEINT))"
    text = ""
    for larger, unit in zip(("", *units), units, strict=False):
        rest = f"({amount} % {INTERVAL_SIZES[larger]})" if larger else amount
        number = plain_cast(f"{rest} // {INTERVAL_SIZES[unit]}", STRING)
        separator = {"": "", "year": "'-' || ", "day": "' ' || "}.get(larger, "':' || ")
        padded = (
            number
            if unit in ("year", "month", "day")
            else f"CASE WHEN length({number}) < 2 THEN '0' ELSE '' END || {number}"
        )
        text += f"{separator}{padded} || "
    if units[-1] == "second":
        fraction = f"rtrim('.' || lpad(CAST({amount} % 1000000 AS VARCHAR), 6, '0'), '0')"
        text += f"CASE WHEN {amount} % 1000000 = 0 THEN '' ELSE {fraction} END || "
    sign = f"CASE WHEN {sql} < 0 THEN '-' ELSE '' END"
    start, end = string_literal("INTERVAL '"), string_literal(f"' {source.name.removeprefix('interval ').upper()}")
    return f"({start} || {sign} || {text}{end})"


def _seconds(sql: str, target: SqlType, keyword: str) -> str:
    """Returns the seconds since 1970: whole ones are rounded down."""
    if target.name == "double":
        return f"(CAST(epoch_us({sql}) AS DOUBLE) / 1000000)"
    if target.is_decimal:
        seconds = f"CAST(epoch_us({sql}) AS DECIMAL(20,0)) * CAST('0.000001' AS DECIMAL(7,6))"
        return f"{keyword}({seconds} AS {duckdb_type(target)})"
    return f"{keyword}(rw_floor_divided(epoch_us({sql}), 1000000) AS {duckdb_type(target)})"


def _moment(sql: str, source: SqlType) -> str:
    """Returns the time of seconds since 1970. Digits behind microseconds are dropped."""
    if source.is_integer:
        return f"make_timestamp({plain_cast(sql, BIGINT)} * 1000000)"
    shift = _MICRO_DIGITS - source.scale
    operator, factor = ("*", shift) if shift >= 0 else ("//", -shift)
    return f"make_timestamp(CAST(rw_unscaled({sql}) {operator} CAST('1{'0' * factor}' AS HUGEINT) AS BIGINT))"


def _numeric(sql: str, source: SqlType, target: SqlType, keyword: str, direct: str) -> str | None:
    if target.is_integer:
        truncated = sql if source.is_integer else f"trunc({sql})"
        return f"{keyword}({truncated} AS {duckdb_type(target)})"
    if target.is_decimal:
        return _rounded(plain_cast(sql, DOUBLE), target, keyword) if source.is_floating else direct
    if source.is_decimal:
        # Dividing the digits rounds twice if there are many of them; reading them rounds once.
        if target != DOUBLE:
            return None
        return direct if source.precision <= EXACT_DIGITS else plain_cast(plain_cast(sql, STRING), DOUBLE)
    # A double that is not a float may round differently, and so may an integer above 2^24.
    return None if target.name == "float" and source != target else direct


def _rounded(double: str, target: SqlType, keyword: str) -> str | None:
    """Returns a decimal of the digits that Spark would show, rounded half up; NULL for NaN and infinity."""
    if target.precision == target.scale == MAX_PRECISION:
        return None
    # DuckDB reads no exponent if all digits are behind the point.
    read = decimal(max(target.precision, target.scale + 1), target.scale)
    digits = f"{keyword}({plain_cast(double, STRING)} AS {duckdb_type(read)})"
    digits = digits if read == target else f"{keyword}({digits} AS {duckdb_type(target)})"
    if target.precision - target.scale > EXACT_DIGITS:
        digits = f"rw_exact({double}, {digits})"
    return f"CASE WHEN isfinite({double}) THEN {digits} END"


def _from_string(sql: str, target: SqlType, tolerant: bool) -> str | None:
    if target.is_decimal:
        digits = f"{target.precision}, {target.scale}"
        cast_digits = f"{'TRY_CAST' if tolerant else 'CAST'}(rw_digits({sql}) AS {duckdb_type(target)})"
        return cast_digits if tolerant else f"rw_present({cast_digits}, {sql}, 'DECIMAL({digits})')"
    if target.name not in READABLE:
        return None
    return f"rw_{'try_' if tolerant else ''}{target.name}({sql})"


_CAST_TYPES = (
    *map(SqlType, ("boolean", *INTEGERS, "float", "double", "string", "date", "timestamp", "timestamp_ntz", "binary")),
    decimal(10, 2),
)
_REMARKS = {
    ("binary", "string"): "bytes that are not UTF-8, when they occur",
    ("string", "decimal"): "exponents",
    ("double", "decimal"): "DECIMAL(38,38); from 2^53 on, when it occurs",
    ("float", "decimal"): "DECIMAL(38,38); from 2^53 on, when it occurs",
    ("string", "float"): "hexadecimal numbers",
    ("string", "double"): "hexadecimal numbers",
    ("string", "date"): "years of other than four digits",
    ("string", "timestamp"): "other forms than 'yyyy-M-d[ H:m[:s[.SSSSSS]]][Z|±HH:mm]'",
    (
        "float",
        "string",
    ): "numbers that Java 17 and later releases print differently (some from 2^24 on), when they occur",
    (
        "double",
        "string",
    ): "numbers that Java 17 and later releases print differently (some from 2^53 on), when they occur",
    ("string", "timestamp_ntz"): "as for TIMESTAMP",
    ("date", "string"): "years before 1 and after 9999",
    ("timestamp", "string"): "years before 1 and after 9999",
    ("timestamp_ntz", "string"): "years before 1 and after 9999",
}


@cache
def _entries() -> dict[tuple[str, str, bool], Entry]:
    casts = {}
    for tolerant in (False, True):
        for source in _CAST_TYPES:
            for target in _CAST_TYPES:
                sql = cast("x", source, target, tolerant) or cast_of_bytes("x", source, target)
                if source.name != target.name and sql is not None:
                    form = f"{'TRY_CAST' if tolerant else 'CAST'}({source.name} AS {target.name})"
                    remark = _REMARKS.get((source.name, target.name), "")
                    casts[source.name, target.name, tolerant] = Entry("Casts", form, remark)
    for tolerant in (False, True):
        casts["decimal", "decimal", tolerant] = Entry("Casts", f"{'TRY_' * tolerant}CAST(decimal AS decimal)")
    return casts


def cast_entry(source: SqlType, target: SqlType, tolerant: bool) -> Entry | None:
    """Returns the line of the allow-list for a cast; ``None`` for a cast that changes nothing, and for a cast
    of NULL.
    """
    return None if source == target else _entries().get((source.name, target.name, tolerant))


def cast_entries() -> tuple[Entry, ...]:
    """Returns the lines of the allow-list for casts."""
    return tuple(_entries().values())


def common_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the common type of two values in a comparison, a CASE or a set operation (Spark's ANSI rules); ``None``
    if there is no common type or it is not proven.
    """
    if left == right:
        return left
    if left.is_nested and left.name == right.name:
        return _common_nested_type(left, right)
    if left.name == right.name and not left.is_decimal:
        return left
    if left.name == "void":
        return right.plain
    if right.name == "void":
        return left
    if left.is_interval and right.is_interval:
        return left.united(right)
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda type_: INTEGERS[type_.name])
    if left.is_datetime and right.is_datetime:
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    if not (left.is_numeric and right.is_numeric):
        return None
    if left.is_floating or right.is_floating:
        return DOUBLE
    first, second = as_decimal(left), as_decimal(right)
    scale = max(first.scale, second.scale)
    integer_digits = max(first.precision - first.scale, second.precision - second.scale)
    # Beyond 38 digits, those before the point are kept, and the values are rounded.
    scale = min(scale, MAX_PRECISION - integer_digits)
    return decimal(integer_digits + scale, scale)


def _common_nested_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the common type of two arrays, maps with the same keys, or structs with the same names of fields."""
    parts = []
    for (left_name, left_part), (right_name, right_part) in zip(left.parts, right.parts, strict=False):
        part = common_type(left_part, right_part)
        if part is None or left_name.lower() != right_name.lower():
            return None
        parts.append((left_name, part))
    keys = {type_.parts[0][1] for type_ in (left, right) if type_.name == "map"}
    if len(left.parts) != len(right.parts) or len(keys - {VOID}) > 1:
        return None
    return replace(left, parts=tuple(parts))


def promoted_type(type_: SqlType) -> SqlType:
    """Returns the type that a string takes beside a value of another type (Spark's ANSI rules): BIGINT beside integers,
    DOUBLE beside other numbers.

    >>> str(promoted(SqlType("int"))), str(promoted(SqlType("decimal", 10, 2))), str(promoted(SqlType("date")))
    ('bigint', 'double', 'date')
    """
    if type_.is_integer:
        return BIGINT
    return DOUBLE if type_.is_numeric else type_.plain


def wider_type(left: SqlType, right: SqlType) -> SqlType | None:
    """Returns the common type of two values, of which a string takes the type that it is promoted to."""
    if left.is_nested or right.is_nested:
        return common_type(left, right)
    if left.name == "string" and right.name not in ("string", "void"):
        return promoted_type(right)
    if right.name == "string" and left.name not in ("string", "void"):
        return promoted_type(left)
    return common_type(left, right)


def as_decimal(type_: SqlType) -> SqlType:
    """Returns the decimal that holds all values of an integer type."""
    return type_ if type_.is_decimal else decimal(INTEGERS[type_.name], 0)


def assigned_literal(value: str, target: SqlType) -> str | None:
    """Returns SQL for a string literal where a value of ``target`` is needed: only forms with an unambiguous
    meaning.
    """
    if target.name == "string":
        return string_literal(value)
    if target == DATE:
        day = date_text(value)
        return None if day is None else f"DATE '{(_EPOCH + dt.timedelta(microseconds=day)).date().isoformat()}'"
    if target in (TIMESTAMP, TIMESTAMP_NTZ):
        instant = timestamp_text(value, has_zone=target == TIMESTAMP)
        return None if instant is None else timestamp_sql(_EPOCH + dt.timedelta(microseconds=instant))
    if target.is_integer and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return plain_cast(str(int(value)), BIGINT)
    if target == DOUBLE and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", value):
        return plain_cast(string_literal(value), DOUBLE)
    return None


def is_day(text: str) -> bool:
    """Tests whether a text is a day, without a time of day."""
    return re.fullmatch(r" *\d{4}-\d{1,2}-\d{1,2} *", text, re.ASCII) is not None and date_text(text) is not None


def timestamp_sql(instant: dt.datetime) -> str:
    text = instant.isoformat(sep=" ")
    return f"TIMESTAMP '{text.rstrip('0') if instant.microsecond else text}'"
