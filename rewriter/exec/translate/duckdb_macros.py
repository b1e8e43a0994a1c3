"""Macros that translated queries call on DuckDB.

Text becomes a value in three steps. A form that both engines read alike is read. A form that Spark reads, or may read,
in a way that is not proven equal is an error DUCKDB_UNSUPPORTED. Any other form is malformed: NULL for TRY_CAST,
CAST_INVALID_INPUT for CAST.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache

from rewriter.exec.sql_types import INTEGERS, SqlType, duckdb_type

#: The types to which ``rw_<type>`` and ``rw_try_<type>`` cast text; decimals are cast by ``rw_digits``.
READABLE = ("boolean", *INTEGERS, "float", "double", "date", "timestamp", "timestamp_ntz")

#: The characters that Spark strips from both ends of a text before it reads a value. Java's own trim keeps DEL.
_ENDS = r"[\x00-\x20\x7f]*"
_JAVA_ENDS = r"[\x00-\x20]*"
_NUMBER = r"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)"
_DAY = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_ZONE = "(Z|[+-][0-9]{2}:[0-9]{2})$"
_CLOCK = "{hour}:[0-9]{{1,2}}(?::[0-9]{{1,2}}(?:[.][0-9]{{1,6}})?)?(?:Z|[+-]{zone}:[0-9]{{2}})?"
_VALID_CLOCK = _CLOCK.format(hour="(?:[01]?[0-9]|2[0-3])", zone="(?:0[0-9]|1[0-7])")
_PLAIN_CLOCK = f"{_DAY} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ANY_CLOCK = _CLOCK.format(hour="[0-9]{1,2}", zone="(?:0[0-9]|1[0-7])")


@cache
def macros() -> Mapping[str, str]:
    """Returns the statements that define the macros, by name. Definitions may call other macros."""
    definitions = _definitions()
    of_keys = {f"{name}{_OF_KEYS}": for_key(definitions[name]) for name in _raising()}
    return {name: f"CREATE MACRO IF NOT EXISTS {text}" for name, text in {**definitions, **of_keys}.items()}


@cache
def _definitions() -> Mapping[str, str]:
    texts = (*_ERRORS, *_FORMS, *_readers(), *_TEXTS, *_JSON, *_TIMES, *_NUMBERS, *_BITMAPS)
    return {text.partition("(")[0]: text for text in texts}


#: The end of the name of a macro that a key of a window calls.
_OF_KEYS = "_key"
#: A text or a quoted name, or a call of error() or of a macro.
_CALL = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(error|rw_[a-z0-9_]+)\(""")


def for_key(sql: str) -> str:
    """Returns a key of a window without error(), which DuckDB takes for a value that changes, and refuses there. In its
    place stands a cast of the message to a number, which fails with it.
    """

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name == "error":
            return "rw_failure("
        return f"{name}{_OF_KEYS}(" if name in _raising() else match[0]

    return _CALL.sub(replaced, sql)


@cache
def _raising() -> frozenset[str]:
    """Returns the names of the macros that call error(), also by other macros."""
    calls = {name: {match[1] for match in _CALL.finditer(text)} for name, text in _definitions().items()}
    names = {"error"}
    while more := {name for name, called in calls.items() if called & names} - names:
        names |= more
    return frozenset(names - {"error"})


@cache
def lambda_macros() -> frozenset[str]:
    """Returns the names of the macros that call a lambda, in which DuckDB binds no aggregate of HAVING or ORDER BY."""
    return frozenset(name for name, definition in macros().items() if " lambda " in definition)


_ERRORS = (
    "rw_failure(m) AS CASE WHEN CAST(m AS TINYINT) IS NULL THEN NULL END",
    "rw_bad(x, t) AS error('[CAST_INVALID_INPUT] The value ''' || x || ''' of the type \"STRING\" "
    "cannot be cast to \"' || t || '\" because it is malformed.')",
    "rw_unsure(x, t) AS error('[DUCKDB_UNSUPPORTED] Reading the text ''' || x || ''' as ' || t || ' is not supported "
    "on DuckDB.')",
    "rw_present(y, x, t) AS CASE WHEN x IS NULL OR y IS NOT NULL THEN y ELSE rw_bad(x, t) END",
    "rw_parsed(y, x, f) AS CASE WHEN x IS NULL OR y IS NOT NULL THEN y ELSE "
    "error('[CANNOT_PARSE_TIMESTAMP] Text ' || x || ' could not be parsed with the format ' || f || '.') END",
)

#: Spark's bitmaps: 4,096 bytes, in which the bit of position p is bit p % 8 of byte p // 8, the lowest bit first. The
#: first bit of a BIT is the highest one of its first byte.
_BITMAPS = (
    "rw_bitmap_bit(p) AS CASE WHEN p < 0 OR p > 32767 THEN error('[INVALID_BITMAP_POSITION] The bitmap position ' || p "
    "|| ' is not between 0 and 32,767.') ELSE (p // 8) * 8 + 7 - p % 8 END",
    "rw_bitmap_bits(b) AS CASE WHEN octet_length(b) <> 4096 THEN error('[DUCKDB_UNSUPPORTED] A bitmap of ' || "
    "octet_length(b) || ' bytes, not 4,096, is not supported on DuckDB.') ELSE CAST(b AS BIT) END",
    # ``bit`` is that of all positions if there is no bitmap.
    "rw_bitmap(bits, bit) AS COALESCE(CAST(bits AS BLOB), CAST(CAST(repeat(bit, 32768) AS BIT) AS BLOB))",
    # The positions of -1, -2, … go up, too. -(x % y) has no overflow where -x has one.
    "rw_bitmap_position(v) AS CASE WHEN v > 0 THEN (v - 1) % 32768 ELSE -(v % 32768) END",
    "rw_bitmap_bucket(v) AS CASE WHEN v > 0 THEN (v - 1) // 32768 + 1 ELSE (v - v % 32768) // 32768 END",
)

#: Convert a text to one that DuckDB's own cast reads as Spark does, or to NULL.
_FORMS = (
    f"rw_trimmed(x) AS regexp_extract(x, '^{_ENDS}(.*?){_ENDS}$', 1, 's')",
    # The common form first, because it costs least.
    f"rw_whole(x) AS CASE WHEN regexp_full_match(x, '[0-9]+') THEN x "
    f"WHEN regexp_full_match(x, '{_ENDS}[+-]?[0-9]+{_ENDS}') THEN rw_trimmed(x) END",
    # BigDecimal also reads digits of other alphabets.
    f"rw_digits(x) AS CASE WHEN regexp_full_match(x, '{_JAVA_ENDS}{_NUMBER}{_JAVA_ENDS}') THEN rw_trimmed(x) "
    f"WHEN regexp_full_match(x, '.*([0-9.][eE]|[^\\x00-\\x7f]).*', 's') THEN rw_unsure(x, 'DECIMAL') END",
    "rw_special_float(y) AS CASE WHEN y IN ('+nan', '-nan') THEN NULL ELSE y END",
    f"rw_floating(x) AS CASE WHEN regexp_full_match(x, '{_JAVA_ENDS}{_NUMBER}(?:[eE][+-]?[0-9]+)?[dDfF]?{_JAVA_ENDS}') "
    "THEN rtrim(rw_trimmed(x), 'dDfF') "
    f"WHEN regexp_full_match(x, '{_JAVA_ENDS}[+-]?(inf|infinity|nan){_JAVA_ENDS}', 'i') "
    "THEN rw_special_float(lower(rw_trimmed(x))) "
    f"WHEN regexp_full_match(x, '{_JAVA_ENDS}[+-]?0[xX].*', 's') THEN rw_unsure(x, 'DOUBLE') END",
    f"rw_day(x) AS CASE WHEN regexp_full_match(x, '{_DAY}') THEN x "
    f"WHEN regexp_full_match(x, '{_ENDS}[0-9]{{4}}{_ENDS}') THEN rw_trimmed(x) || '-01-01' "
    f"WHEN regexp_full_match(x, '{_ENDS}[0-9]{{4}}-[0-9]{{1,2}}{_ENDS}') THEN rw_trimmed(x) || '-01' "
    f"WHEN regexp_full_match(x, '{_ENDS}{_DAY}([ T].*)?{_ENDS}', 's') THEN regexp_extract(x, '{_DAY}') "
    f"WHEN regexp_full_match(x, '{_ENDS}[+-]?[0-9]{{4,}}.*', 's') THEN rw_unsure(x, 'DATE') END",
    # Hours and minutes of one digit, and texts without seconds.
    "rw_full_clock(x) AS CASE WHEN NOT contains(x, ':') THEN x ELSE "
    "regexp_extract(x, '^[^ T]*') || ' ' || lpad(regexp_extract(x, '[ T]([0-9]+):', 1), 2, '0') || ':' || "
    "lpad(regexp_extract(x, '[ T][0-9]+:([0-9]+)', 1), 2, '0') || ':' || "
    "lpad(coalesce(nullif(regexp_extract(x, '[ T][0-9]+:[0-9]+:([0-9]+)', 1), ''), '00'), 2, '0') || "
    f"regexp_extract(x, '[.][0-9]+') || regexp_extract(x, '{_ZONE}') END",
    f"rw_clock(x) AS CASE WHEN regexp_full_match(x, '{_PLAIN_CLOCK}') THEN x "
    f"WHEN regexp_full_match(x, '{_ENDS}{_DAY}(?:[ T]{_VALID_CLOCK})?{_ENDS}') "
    "THEN rw_full_clock(rw_trimmed(x)) "
    # DuckDB accepts 24:00.
    f"WHEN regexp_full_match(x, '{_ENDS}{_DAY}[ T]{_ANY_CLOCK}{_ENDS}') THEN NULL "
    "WHEN regexp_full_match(x, '.*[0-9].*', 's') THEN rw_unsure(x, 'TIMESTAMP') END",
    "rw_try_boolean(x) AS CASE WHEN lower(rw_trimmed(x)) IN ('t', 'true', 'y', 'yes', '1') THEN true "
    "WHEN lower(rw_trimmed(x)) IN ('f', 'false', 'n', 'no', '0') THEN false END",
)


def _readers() -> Iterator[str]:
    for name in READABLE:
        form = {"float": "rw_floating", "double": "rw_floating", "date": "rw_day", "timestamp": "rw_clock"}.get(
            name, "rw_whole"
        )
        if name == "timestamp":
            yield f"rw_try_{name}(x) AS TRY_CAST({form}(x) AS TIMESTAMPTZ) AT TIME ZONE 'UTC'"
        elif name == "timestamp_ntz":
            # A zone in the text has no effect.
            yield f"rw_try_{name}(x) AS TRY_CAST(regexp_replace(rw_clock(x), '{_ZONE}', '') AS TIMESTAMP)"
        elif name != "boolean":
            yield f"rw_try_{name}(x) AS TRY_CAST({form}(x) AS {duckdb_type(SqlType(name))})"
        yield f"rw_{name}(x) AS rw_present(rw_try_{name}(x), x, '{name.upper()}')"


_TEXTS = (
    "rw_like(x, p, c) AS CASE WHEN x IS NULL OR p IS NULL THEN NULL "
    "WHEN regexp_full_match(p, rw_unescaped(c), 's') THEN x LIKE p ESCAPE c "
    "WHEN regexp_full_match(p, rw_unescaped(c) || regexp_escape(c), 's') "
    "THEN error('[INVALID_FORMAT.ESC_AT_THE_END] The pattern ''' || p || ''' ends with its escape character.') "
    "ELSE error('[INVALID_FORMAT.ESC_IN_THE_MIDDLE] The pattern ''' || p || ''' has its escape character before "
    "another one than %, _ and itself.') END",
    "rw_unescaped(c) AS '(?:[^' || regexp_escape(c) || ']|' || regexp_escape(c) || '[%_' || regexp_escape(c) || '])*'",
    "rw_decimal_text(x) AS CASE WHEN starts_with(x, '.') THEN '0' || x WHEN starts_with(x, '-.') THEN '-0' || "
    "substring(x, 2) ELSE x END",
    # From 0.001 to 2^53, DuckDB's digits are Java's: no short decimal lies half-way between two doubles. Only for a
    # number that is itself half-way between two short decimals, DuckDB shows one digit more, the 5.
    "rw_double_text(x) AS CASE WHEN length(CAST(x AS VARCHAR)) > 16 AND ends_with(CAST(x AS VARCHAR), '5') "
    "THEN rw_other_double_text(x) WHEN x = 0 OR (abs(x) >= CAST(0.001 AS DOUBLE) AND abs(x) < CAST(1e7 AS DOUBLE)) "
    "THEN CAST(x AS VARCHAR) WHEN abs(x) >= CAST(1e7 AS DOUBLE) AND abs(x) < CAST(9007199254740992 AS DOUBLE) "
    "THEN rw_scientific(CAST(x AS VARCHAR)) ELSE rw_other_double_text(x) END",
    "rw_float_text(x) AS CASE WHEN length(CAST(x AS VARCHAR)) > 7 AND ends_with(CAST(x AS VARCHAR), '5') "
    "THEN rw_other_float_text(x) WHEN x = 0 OR (abs(x) >= CAST(0.001 AS FLOAT) AND abs(x) < CAST(1e7 AS FLOAT)) "
    "THEN CAST(x AS VARCHAR) WHEN abs(x) >= CAST(1e7 AS FLOAT) AND abs(x) < CAST(16777216 AS FLOAT) "
    "THEN rw_scientific(CAST(x AS VARCHAR)) ELSE rw_other_float_text(x) END",
    "rw_without_line_end(x, y) AS CASE WHEN regexp_matches(x, '[\\n\\r\\x{85}\\x{2028}\\x{2029}]\\z') THEN "
    "error('[DUCKDB_UNSUPPORTED] A regular expression with $ and a text that ends with a line end is not supported on "
    "DuckDB.') ELSE y END",
    "rw_scientific(t) AS CASE WHEN starts_with(t, '-') THEN '-' || rw_scientific_digits(substring(t, 2)) "
    "ELSE rw_scientific_digits(t) END",
    "rw_scientific_digits(t) AS left(t, 1) || '.' || coalesce(nullif(rtrim(substring(replace(t, '.', ''), 2), '0'), "
    "''), '0') || 'E' || CAST(instr(t, '.') - 2 AS VARCHAR)",
    "rw_time_text(x) AS CASE WHEN x IS NULL OR year(x) BETWEEN 1 AND 9999 THEN CAST(x AS VARCHAR) ELSE "
    "error('[DUCKDB_UNSUPPORTED] A time outside the years 1 to 9999 as text is not supported on DuckDB.') END",
    "rw_formatted(x, y) AS CASE WHEN x IS NULL OR year(x) BETWEEN 1 AND 9999 THEN y ELSE "
    "error('[DUCKDB_UNSUPPORTED] A time outside the years 1 to 9999 as text is not supported on DuckDB.') END",
    # DuckDB accepts 24:00:00.
    "rw_make_timestamp(y, m, d, h, i, s) AS CASE WHEN h > 23 THEN error('[DATETIME_FIELD_OUT_OF_BOUNDS] Invalid hour ' "
    "|| h || '.') WHEN s > 59 THEN error('[DUCKDB_UNSUPPORTED] The second ' || s || ' is not supported on DuckDB.') "
    "ELSE make_timestamp(y, m, d, h, i, s) END",
    "rw_initcap(x) AS array_to_string(list_transform(string_split(lower(x), ' '), "
    "lambda w: upper(left(w, 1)) || substring(w, 2)), ' ')",
    # A position below 1 counts from the end, 0 means 1, and the length counts from there, even before the text.
    "rw_start(x, p) AS CAST(CASE WHEN p > 0 THEN p - 1 WHEN p < 0 THEN length(x) + p ELSE 0 END AS BIGINT)",
    "rw_between(x, a, b) AS CASE WHEN b <= greatest(a, 0) THEN '' "
    "ELSE substring(x, greatest(a, 0) + 1, least(b, length(x)) - greatest(a, 0)) END",
    "rw_substring(x, p, n) AS list_transform([{'x': x, 'p': p, 'n': n}], lambda v: CASE WHEN v.x IS NOT NULL AND "
    "v.p IS NOT NULL AND v.n IS NOT NULL THEN "
    "rw_between(v.x, rw_start(v.x, v.p), rw_start(v.x, v.p) + CAST(v.n AS BIGINT)) END)[1]",
    "rw_locate(p, x, n) AS CASE WHEN n IS NULL THEN 0 WHEN p IS NULL OR x IS NULL THEN NULL WHEN n < 1 THEN 0 "
    "WHEN p = '' THEN 1 WHEN instr(substring(x, n), p) = 0 THEN 0 ELSE instr(substring(x, n), p) + n - 1 END",
    "rw_substring_index(x, d, n) AS list_transform([{'v': string_split(x, d), 'n': n}], lambda s: CASE "
    "WHEN s.n > 0 THEN array_to_string(s.v[1:s.n], d) WHEN s.n < 0 "
    "THEN array_to_string(s.v[greatest(len(s.v) + s.n + 1, 1):], d) WHEN s.n = 0 AND s.v IS NOT NULL THEN '' END)[1]",
    "rw_overlay(x, y, p, n) AS list_transform([{'x': x, 'y': y, 'p': CAST(p AS BIGINT), 'n': CAST(n AS BIGINT)}], "
    "lambda v: rw_between(v.x, 0, v.p - 1) || v.y || CASE WHEN v.n >= 0 THEN rw_substring(v.x, v.p + v.n, 2147483647) "
    "WHEN v.n < 0 THEN rw_substring(v.x, v.p + length(v.y), 2147483647) END)[1]",
    # The length in Java's characters: two of them are a letter beyond the first 65,536.
    "rw_java_length(x) AS length(x) + length(regexp_replace(x, '[^\\x{10000}-\\x{10ffff}]', '', 'g'))",
    "rw_wide(x, w, l) AS CASE WHEN l THEN x || repeat(' ', greatest(w - rw_java_length(x), 0)) "
    "ELSE repeat(' ', greatest(w - rw_java_length(x), 0)) || x END",
    "rw_zero_filled(x, w) AS CASE WHEN starts_with(x, '-') THEN '-' || repeat('0', greatest(w - length(x), 0)) || "
    "substring(x, 2) ELSE repeat('0', greatest(w - length(x), 0)) || x END",
    "rw_grouped(x) AS CASE WHEN starts_with(x, '-') THEN '-' ELSE '' END || reverse(rtrim(regexp_replace(reverse("
    "ltrim(x, '-')), '([0-9]{3})', '\\1,', 'g'), ','))",
    "rw_grouped_number(x) AS CASE WHEN contains(x, '.') THEN rw_grouped(split_part(x, '.', 1)) || '.' || "
    "split_part(x, '.', 2) ELSE rw_grouped(x) END",
    "rw_fixed_double(x, y) AS CASE WHEN x IS NULL THEN NULL WHEN isnan(x) THEN 'NaN' WHEN isinf(x) "
    "THEN CASE WHEN x > 0 THEN 'Infinity' ELSE '-Infinity' END "
    "WHEN abs(x) < 9007199254740992 THEN CASE WHEN starts_with(CAST(x AS VARCHAR), '-') THEN '-' ELSE '' END || "
    "rw_decimal_text(CAST(y AS VARCHAR)) ELSE error('[DUCKDB_UNSUPPORTED] A number from 2^53 on by %f is not "
    "supported on DuckDB.') END",
    # Both round the binary value half to even. Beyond 15 digits, Java writes zeros.
    "rw_format_double(x, f, n) AS CASE WHEN x IS NULL THEN NULL WHEN isnan(x) THEN 'NaN' WHEN isinf(x) THEN "
    "CASE WHEN x > 0 THEN '∞' ELSE '-∞' END WHEN abs(x) < pow(10, 15 - n) THEN format(f, x) ELSE "
    "error('[DUCKDB_UNSUPPORTED] FORMAT_NUMBER of the DOUBLE ' || x || ', which needs more than 15 digits, is not "
    "supported on DuckDB.') END",
)

_JSON = (
    "rw_repeats(x, p, n) AS coalesce(len(list_filter(json_keys(rw_valid_json(x), p), lambda k: k = n)) > 1, false)",
    "rw_valid_json(x) AS CASE WHEN json_valid(x) THEN x END",
    # DuckDB also reads NaN, infinity and a comma before a closing bracket.
    "rw_odd_json(y) AS regexp_matches(y, ',[ \\t\\r\\n]*[}\\]]') OR "
    "regexp_matches(regexp_replace(y, 'true|false|null', '', 'g'), '[A-DF-Za-df-z]')",
    "rw_without_strings(x) AS regexp_replace(x, '\"(?:[^\"\\\\]|\\\\.)*\"', '_', 'gs')",
    # A text that begins with no bracket is no object or array.
    "rw_json(x, p, r) AS CASE WHEN x IS NULL OR regexp_matches(x, '^[ \\t\\r\\n]*([^ \\t\\r\\n{[]|$)') THEN NULL "
    "WHEN NOT json_valid(x) OR rw_odd_json(rw_without_strings(x)) THEN rw_unsure(x, 'JSON') "
    "ELSE rw_json_text(x, json_extract(rw_valid_json(x), p), r) END",
    "rw_json_text(x, j, r) AS CASE WHEN j IS NULL OR json_type(j) = 'NULL' THEN CASE WHEN r THEN rw_unsure(x, 'JSON') "
    "END WHEN json_type(j) = 'VARCHAR' THEN j ->> '$' WHEN json_type(j) = 'BOOLEAN' THEN CAST(j AS VARCHAR) "
    "WHEN json_type(j) IN ('OBJECT', 'ARRAY') THEN rw_json_object(x, CAST(j AS VARCHAR)) "
    "ELSE rw_json_number(x, CAST(j AS VARCHAR)) END",
    # Spark writes letters beyond the first plane as escapes.
    "rw_json_object(x, t) AS CASE WHEN contains(t, '\\') OR regexp_matches(t, '[^\\x{0}-\\x{FFFF}]') OR "
    "regexp_matches(regexp_replace(rw_without_strings(t), "
    "'true|false', '', 'g'), '[.eE]') THEN rw_unsure(x, 'JSON') ELSE t END",
    "rw_json_number(x, t) AS CASE WHEN regexp_full_match(t, '0|-?[1-9][0-9]*') THEN t WHEN contains(t, '.') AND "
    "(CAST(t AS DOUBLE) = 0 OR abs(CAST(t AS DOUBLE)) BETWEEN 0.001 AND 9999999) "
    "THEN CAST(CAST(t AS DOUBLE) AS VARCHAR) ELSE rw_unsure(x, 'JSON') END",
)

_TIMES = (
    # java.time compares the days, one day less if the time of the last day is not reached, and then the packed months.
    "rw_last_day_reached(a, b) AS CAST(b AS DATE) - CASE WHEN CAST(b AS DATE) > CAST(a AS DATE) AND "
    "CAST(b AS TIME) < CAST(a AS TIME) THEN 1 WHEN CAST(b AS DATE) < CAST(a AS DATE) AND "
    "CAST(b AS TIME) > CAST(a AS TIME) THEN -1 ELSE 0 END",
    "rw_packed(d) AS CAST((year(d) * 12 + month(d)) * 32 + day(d) AS BIGINT)",
    "rw_whole_months(x, y) AS list_transform([{'a': x, 'b': y}], lambda v: "
    "(rw_packed(rw_last_day_reached(v.a, v.b)) - rw_packed(v.a)) // 32)[1]",
    "rw_seconds_of_month(x) AS day(x) * 86400 + (epoch_us(x) - epoch_us(date_trunc('day', x))) // 1000000",
    "rw_months_between(x, y) AS list_transform([{'a': x, 'b': y}], lambda v: "
    "CAST((year(v.a) - year(v.b)) * 12 + month(v.a) - month(v.b) AS DOUBLE) + "
    "CASE WHEN day(v.a) = day(v.b) OR (day(v.a) = day(last_day(v.a)) AND day(v.b) = day(last_day(v.b))) THEN 0 "
    "ELSE CAST(rw_seconds_of_month(v.a) - rw_seconds_of_month(v.b) AS DOUBLE) / 2678400 END)[1]",
    # Java's Math.round: half up, also of negative numbers.
    "rw_rounded_months(x) AS list_transform([x * CAST(100000000 AS DOUBLE)], lambda v: "
    "(floor(v) + CASE WHEN v - floor(v) >= 0.5 THEN 1 ELSE 0 END) / CAST(100000000 AS DOUBLE))[1]",
    "rw_zoned(x, y) AS CASE WHEN x IS NULL OR year(x) BETWEEN 1970 AND 2099 THEN y ELSE error('[DUCKDB_UNSUPPORTED] "
    "The time ' || CAST(x AS VARCHAR) || ' in a time zone is not supported on DuckDB: only the years 1970 to 2099 "
    "are.') END",
    "rw_from_utc(x, z) AS rw_zoned(x, timezone(z, x AT TIME ZONE 'UTC'))",
    # The offset from UTC at a moment of UTC, in microseconds.
    "rw_offset(x, z) AS epoch_us(timezone(z, x AT TIME ZONE 'UTC')) - epoch_us(x)",
    # Of a time that occurs twice, or never, the offset before the change counts.
    "rw_to_utc(x, z) AS rw_zoned(x, list_transform([{'x': x, 'a': rw_offset(x - INTERVAL 1 DAY, z), "
    "'b': rw_offset(x + INTERVAL 1 DAY, z)}], lambda v: CASE WHEN v.a <> v.b "
    "AND rw_offset(v.x - to_microseconds(v.a), z) <> v.a AND rw_offset(v.x - to_microseconds(v.b), z) = v.b "
    "THEN v.x - to_microseconds(v.b) ELSE v.x - to_microseconds(v.a) END)[1])",
)

#: Macros that need a value several times take it as a lambda's variable. A macro's argument is repeated as written, so
#: nested calls would grow without bounds.
_NUMBERS = (
    "rw_exact(x, y) AS CASE WHEN abs(x) < 9007199254740992 THEN y ELSE error('[DUCKDB_UNSUPPORTED] The DOUBLE ' "
    "|| x || ' as a DECIMAL is not supported on DuckDB: only those below 2^53 are.') END",
    # Spark rounds the digits that it would show, half up; DuckDB rounds the binary value.
    "rw_rounded(x, y) AS CASE WHEN isfinite(x) AND abs(x) < 9007199254740992 "
    "THEN CAST(CAST(y AS VARCHAR) AS DOUBLE) ELSE x END",
    # The digits of a decimal as an integer, and back.
    "rw_unscaled(x) AS CAST(replace(CAST(x AS VARCHAR), '.', '') AS HUGEINT)",
    "rw_pointed(x, s) AS substring(x, 1, length(x) - s) || '.' || substring(x, length(x) - s + 1)",
    "rw_scaled(x, s) AS list_transform([CAST(x AS VARCHAR)], lambda v: CASE WHEN starts_with(v, '-') THEN '-' ELSE '' "
    "END || rw_pointed(repeat('0', s + 1 - length(ltrim(v, '-'))) || ltrim(v, '-'), s))[1]",
    # Half up, away from zero, without doubling a number that may fill its type.
    "rw_quotient(n, d) AS list_transform([{'n': n, 'd': d}], lambda v: CASE WHEN v.d = 0 AND v.n IS NOT NULL "
    "THEN error('[DIVIDE_BY_ZERO] Division by zero.') WHEN v.d <> 0 THEN "
    "(CASE WHEN (v.n < 0) = (v.d < 0) THEN 1 ELSE -1 END) * (abs(v.n) // abs(v.d) + "
    "CASE WHEN abs(v.n) % abs(v.d) >= abs(v.d) - abs(v.n) % abs(v.d) THEN 1 ELSE 0 END) END)[1]",
    # The value at a place of a sorted list that counts from 0, between two values if it has a fraction.
    "rw_between_values(v, k) AS CASE WHEN v[CAST(floor(k) AS BIGINT) + 1] = v[CAST(ceil(k) AS BIGINT) + 1] "
    "THEN v[CAST(floor(k) AS BIGINT) + 1] ELSE v[CAST(floor(k) AS BIGINT) + 1] + "
    "(v[CAST(ceil(k) AS BIGINT) + 1] - v[CAST(floor(k) AS BIGINT) + 1]) * (k - floor(k)) END",
    "rw_percentile(x, p, d) AS list_transform([list_sort(list_filter(x, lambda v: v IS NOT NULL), d)], "
    "lambda v: CASE WHEN len(v) > 0 THEN rw_between_values(v, (len(v) - 1) * p) END)[1]",
    "rw_ranked(x, p, d) AS list_transform([list_sort(list_filter(x, lambda v: v IS NOT NULL), d)], "
    "lambda v: v[greatest(CAST(ceil(p * len(v)) AS BIGINT), 1)])[1]",
    # Sums of powers of deviations from the mean. Equal values have none, even if their mean was rounded.
    "rw_moments(x) AS list_transform([list_filter(x, lambda v: v IS NOT NULL)], lambda v: "
    "list_transform([list_avg(v)], lambda a: {'n': len(v), 'm2': "
    "CASE WHEN list_min(v) = list_max(v) AND isfinite(v[1]) THEN 0 "
    "ELSE list_sum(list_transform(v, lambda w: (w - a) * (w - a))) END, "
    "'m3': list_sum(list_transform(v, lambda w: (w - a) * (w - a) * (w - a))), "
    "'m4': list_sum(list_transform(v, lambda w: (w - a) * (w - a) * (w - a) * (w - a)))})[1])[1]",
    "rw_skewness(x) AS list_transform([rw_moments(x)], lambda s: "
    "CASE WHEN s.m2 <> 0 THEN sqrt(s.n) * s.m3 / sqrt(s.m2 * s.m2 * s.m2) END)[1]",
    "rw_kurtosis(x) AS list_transform([rw_moments(x)], lambda s: "
    "CASE WHEN s.m2 <> 0 THEN s.n * s.m4 / (s.m2 * s.m2) - 3 END)[1]",
    # A whole DOUBLE that fits BIGINT; NaN is 0, as in Java.
    "rw_whole_double(x) AS CASE WHEN isnan(x) THEN 0 WHEN x >= 9223372036854775808 OR x < -9223372036854775808 "
    "THEN error('[ARITHMETIC_OVERFLOW] A number is too large for BIGINT.') ELSE x END",
    # Rounded down.
    "rw_floor_divided(n, d) AS list_transform([n], lambda v: (v - ((v % d) + d) % d) // d)[1]",
    # Half to even, up, and towards minus infinity of a quotient of integers.
    "rw_even_quotient(n, d) AS list_transform([{'q': rw_floor_divided(n, d), 'r': ((n % d) + d) % d}], lambda v: "
    "v.q + CASE WHEN v.r > d - v.r OR (v.r = d - v.r AND v.q % 2 <> 0) THEN 1 ELSE 0 END)[1]",
    "rw_ceil_divided(n, d) AS -rw_floor_divided(-(n), d)",
    # The condition of an overflow in rounding is the condition of one value.
    "rw_in_range(x, n) AS list_transform([x], lambda v: CASE WHEN v IS NULL OR (v >= -n AND v < n) THEN v ELSE "
    "error('[ARITHMETIC_OVERFLOW] The rounded number ' || v || ' does not fit in its type.') END)[1]",
    # The number is the place of the call in the query.
    "rw_rand(n) AS random()",
    "rw_randn(n) AS sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())",
    "rw_uuid(n) AS CAST(uuid() AS VARCHAR)",
    # The lowest bits of an integer of 128 bits.
    "rw_wrapped_32(x) AS ((x + CAST(2147483648 AS HUGEINT)) & CAST(4294967295 AS HUGEINT)) "
    "- CAST(2147483648 AS HUGEINT)",
    "rw_wrapped_64(x) AS ((x + CAST('9223372036854775808' AS HUGEINT)) & CAST('18446744073709551615' AS HUGEINT)) "
    "- CAST('9223372036854775808' AS HUGEINT)",
    "rw_width_bucket(x, a, b, n) AS CASE WHEN n <= 0 OR n = 9223372036854775807 OR isnan(x) OR a = b "
    "OR NOT isfinite(a) OR NOT isfinite(b) THEN NULL WHEN a < b THEN CASE WHEN x < a THEN 0 WHEN x >= b THEN n + 1 "
    "ELSE CAST(trunc(CAST(n AS DOUBLE) * (x - a) / (b - a)) AS BIGINT) + 1 END "
    "WHEN a > b THEN CASE WHEN x > a THEN 0 WHEN x <= b THEN n + 1 "
    "ELSE CAST(trunc(CAST(n AS DOUBLE) * (a - x) / (a - b)) AS BIGINT) + 1 END END",
    "rw_interval(x) AS list_transform([x], lambda v: CASE WHEN v IS NULL OR v BETWEEN CAST('-9223372036854775808' AS "
    "HUGEINT) AND CAST('9223372036854775807' AS HUGEINT) THEN v ELSE error('[INTERVAL_ARITHMETIC_OVERFLOW."
    "WITH_SUGGESTION] The interval has too many microseconds.') END)[1]",
    "rw_months(x) AS list_transform([x], lambda v: CASE WHEN v IS NULL OR v BETWEEN -2147483648 AND 2147483647 THEN v "
    "ELSE error('[INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION] The interval has too many months.') END)[1]",
    "rw_months_sum(x) AS CASE WHEN x IS NULL OR TRY_CAST(x AS INTEGER) IS NOT NULL THEN CAST(x AS INTEGER) ELSE "
    "error('[INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION] The interval has too many months.') END",
    "rw_interval_sum(x) AS CASE WHEN x IS NULL OR TRY_CAST(x AS BIGINT) IS NOT NULL THEN CAST(x AS BIGINT) ELSE "
    "error('[INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION] The interval has too many microseconds.') END",
    "rw_divided_interval(n, d) AS CASE WHEN d = 0 AND n IS NOT NULL THEN error('[INTERVAL_DIVIDED_BY_ZERO] Division by "
    "zero.') ELSE rw_quotient(n, nullif(d, 0)) END",
    # A remainder as PMOD returns it. The sum of a negative remainder and a negative divisor wraps in Java.
    "rw_pmod_exact(r, n) AS list_transform([{'r': r, 'n': n}], lambda v: "
    "CASE WHEN v.r < 0 AND v.n > 0 THEN v.r + v.n ELSE v.r END)[1]",
    "rw_pmod_32(r, n) AS list_transform([{'r': CAST(r AS HUGEINT), 'n': CAST(n AS HUGEINT)}], lambda v: "
    "CASE WHEN v.r < 0 THEN rw_wrapped_32(v.r + v.n) % v.n ELSE v.r END)[1]",
    "rw_pmod_64(r, n) AS list_transform([{'r': CAST(r AS HUGEINT), 'n': CAST(n AS HUGEINT)}], lambda v: "
    "CASE WHEN v.r < 0 THEN rw_wrapped_64(v.r + v.n) % v.n ELSE v.r END)[1]",
    "rw_pmod_double(r, n) AS list_transform([{'r': r, 'n': n}], lambda v: "
    "CASE WHEN v.r < 0 THEN (v.r + v.n) % v.n ELSE v.r END)[1]",
    # The first of equal numbers, of which one may be -0.0.
    "rw_greatest(v) AS list_reduce(v, lambda x, y: CASE WHEN x IS NULL OR y > x THEN y ELSE x END)",
    "rw_least(v) AS list_reduce(v, lambda x, y: CASE WHEN x IS NULL OR y < x THEN y ELSE x END)",
)
