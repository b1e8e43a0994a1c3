"""Casts and common types of Spark's ANSI mode, in DuckDB's SQL.

DuckDB rounds where Spark truncates, and reads texts as numbers and times that Spark refuses. So a cast of text goes
through one of the macros (``duckdb_macros``).
"""

from __future__ import annotations

import datetime as dt
import re
from functools import cache

from rewriter.exec.sql_types import (
    BIGINT,
    DATE,
    DOUBLE,
    INTEGERS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    SqlType,
    decimal,
    duckdb_type,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.duckdb_macros import READABLE


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
    if source.name == "string":
        return _from_string(sql, target, tolerant)
    keyword = "TRY_CAST" if tolerant else "CAST"
    direct = f"{keyword}({sql} AS {duckdb_type(target)})"
    if target.name == "string":
        return _to_string(sql, source)
    if source.is_datetime and target.is_datetime:
        return direct
    if "boolean" in (source.name, target.name):
        return direct if source.is_integer or target.is_integer else None
    if not (source.is_numeric and target.is_numeric):
        return None
    return _numeric(sql, source, target, keyword, direct)


def _to_string(sql: str, source: SqlType) -> str | None:
    if source.is_decimal:
        # DuckDB writes 0.5 as '.5' if all digits are after the point.
        return f"rw_decimal_text({plain_cast(sql, STRING)})"
    if source.is_datetime:
        return f"rw_time_text({sql})"
    return plain_cast(sql, STRING) if source.is_integer or source.name == "boolean" else None


def _numeric(sql: str, source: SqlType, target: SqlType, keyword: str, direct: str) -> str | None:
    if target.is_integer:
        truncated = sql if source.is_integer else f"trunc({sql})"
        return f"{keyword}({truncated} AS {duckdb_type(target)})"
    if target.is_decimal:
        return None if source.is_floating else direct
    if source.is_decimal:
        # Dividing the digits rounds twice if there are many of them; reading them rounds once.
        return plain_cast(plain_cast(sql, STRING), DOUBLE) if target == DOUBLE else None
    # A double that is not a float may round differently, and so may an integer above 2^24.
    return None if target.name == "float" and source != target else direct


def _from_string(sql: str, target: SqlType, tolerant: bool) -> str | None:
    if target.is_decimal:
        digits = f"{target.precision}, {target.scale}"
        cast_digits = f"{'TRY_CAST' if tolerant else 'CAST'}(rw_digits({sql}) AS {duckdb_type(target)})"
        return cast_digits if tolerant else f"rw_present({cast_digits}, {sql}, 'DECIMAL({digits})')"
    if target.name not in READABLE:
        return None
    return f"rw_{'try_' if tolerant else ''}{target.name}({sql})"


_CAST_TYPES = (
    *map(SqlType, ("boolean", *INTEGERS, "float", "double", "string", "date", "timestamp")),
    decimal(10, 2),
)
_REMARKS = {
    ("string", "decimal"): "exponents",
    ("string", "double"): "hexadecimal numbers",
    ("string", "date"): "years of other than four digits",
    ("string", "timestamp"): "other forms than 'yyyy-M-d[ H:m[:s[.SSSSSS]]][Z|±HH:mm]'",
    ("date", "string"): "years before 1 and after 9999",
    ("timestamp", "string"): "years before 1 and after 9999",
}


@cache
def _entries() -> dict[tuple[str, str, bool], Entry]:
    casts = {}
    for tolerant in (False, True):
        for source in _CAST_TYPES:
            for target in _CAST_TYPES:
                if source.name != target.name and cast("x", source, target, tolerant) is not None:
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
    if left.name == right.name and not left.is_decimal:
        return left
    if left.name == "void":
        return right.plain
    if right.name == "void":
        return left
    if left.is_integer and right.is_integer:
        return max(left, right, key=lambda type_: INTEGERS[type_.name])
    if left.is_datetime and right.is_datetime:
        return TIMESTAMP
    if not (left.is_numeric and right.is_numeric):
        return None
    if left.is_floating or right.is_floating:
        return DOUBLE
    first, second = as_decimal(left), as_decimal(right)
    scale = max(first.scale, second.scale)
    integer_digits = max(first.precision - first.scale, second.precision - second.scale)
    return decimal(integer_digits + scale, scale) if integer_digits + scale <= MAX_PRECISION else None


def as_decimal(type_: SqlType) -> SqlType:
    """Returns the decimal that holds all values of an integer type."""
    return type_ if type_.is_decimal else decimal(INTEGERS[type_.name], 0)


def assigned(value: str, target: SqlType) -> str | None:
    """Returns SQL for a string literal where a value of ``target`` is needed: only forms with an unambiguous
    meaning.
    """
    if target.name == "string":
        return string_literal(value)
    if target == DATE:
        day = date_value(value)
        return None if day is None else f"DATE '{day.isoformat()}'"
    if target == TIMESTAMP:
        instant = timestamp_value(value)
        return None if instant is None else timestamp_sql(instant)
    if target.is_integer and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
        return plain_cast(str(int(value)), BIGINT)
    if target == DOUBLE and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", value):
        return plain_cast(string_literal(value), DOUBLE)
    return None


def assigned_type(target: SqlType) -> SqlType:
    """Returns the type that a string takes in a comparison with ``target``."""
    return BIGINT if target.is_integer else target


def date_value(text: str) -> dt.date | None:
    match = re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", text.strip(" "), re.ASCII)
    try:
        return dt.date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?(Z|[+-]\d{2}:\d{2})?)?",
    re.ASCII,
)


def timestamp_value(text: str) -> dt.datetime | None:
    """Returns the instant in UTC, without a zone."""
    match = _TIMESTAMP.fullmatch(text.strip(" "))
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    clock = (int(hour or 0), int(minute or 0), int(second or 0), int((fraction or "0").ljust(6, "0")))
    try:
        instant = dt.datetime(int(year), int(month), int(day), *clock)
        if zone not in (None, "Z"):
            hours, minutes = int(zone[1:3]), int(zone[4:6])
            if hours > 18 or minutes > 59:
                return None
            offset = dt.timedelta(hours=hours, minutes=minutes)
            instant += offset if zone[0] == "-" else -offset
    except (ValueError, OverflowError):
        return None
    return instant


def timestamp_sql(instant: dt.datetime) -> str:
    text = instant.isoformat(sep=" ")
    return f"TIMESTAMP '{text.rstrip('0') if instant.microsecond else text}'"
