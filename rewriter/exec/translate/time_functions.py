"""Functions of dates and times, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    SqlType,
    decimal,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import assigned_literal, is_day, plain_cast, string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.interval_values import interval_field
from rewriter.exec.translate.patterns import time_format, time_pattern
from rewriter.timeline.time_bounds import check_text

_TRUNCATIONS = {"year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
                "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute",
                "second": "second", "millisecond": "milliseconds", "microsecond": "microseconds"}  # fmt: skip
#: Fields of EXTRACT, DATE_PART and DATEPART: DuckDB's function, and the text that is added to its result.
_FIELDS = {"year": ("year", ""), "quarter": ("quarter", ""), "month": ("month", ""), "week": ("week", ""),
           "day": ("day", ""), "dayofweek": ("dayofweek", " + 1"), "dow": ("dayofweek", " + 1"),
           "dayofweek_iso": ("isodow", ""), "dow_iso": ("isodow", ""), "yearofweek": ("isoyear", ""),
           "doy": ("dayofyear", ""), "hour": ("hour", ""), "minute": ("minute", "")}  # fmt: skip
_PLURALS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
_WEEK = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"
_SECOND = 1_000_000
_SECONDS = decimal(8, 6)


def _time_value(e: Expressions, node: exp.Expr, scope: Scope, text_type: SqlType = DATE) -> Typed:
    """Translates a date or timestamp, or a string, which is read as ``text_type``. A time of no zone is one in UTC."""
    value = e.translate(node, scope)
    if value.text is not None:
        kind = DATE if is_day(value.text) else TIMESTAMP
        sql = assigned_literal(value.text, kind)
        if sql is not None:
            return Typed(sql, kind, value.name)
        check_text(value.text, str(TIMESTAMP).upper(), e.text.position(node))
    if value.type == VOID:
        return Typed(plain_cast(value.sql, TIMESTAMP), TIMESTAMP, value.name)
    if value.type == STRING:
        return Typed(e.cast(value, text_type, node), text_type, value.name)
    if not value.type.is_datetime:
        e.refuse(node, f"A {value.type} where a date or timestamp is needed")
    return replace(value, type=TIMESTAMP) if value.type == TIMESTAMP_NTZ else value


def _one_time(e: Expressions, node: exp.Expr, scope: Scope, text_type: SqlType = DATE) -> Typed:
    return _time_value(e, e.arguments(node, 1)[0], scope, text_type)


def _whole_number(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates an integer."""
    value = e.translate(node, scope)
    if not value.type.is_integer and value.type != VOID:
        e.refuse(node, f"A {value.type} where an integer is needed")
    return value


def _name(e: Expressions, node: exp.Expr) -> str:
    return str(e.text.called(node))


def _word(e: Expressions, node: exp.Expr, scope: Scope) -> str:
    """Returns the string literal that selects a variant of a function."""
    value = e.translate(node, scope)
    if value.text is None:
        e.refuse(node, f"The argument {e.text.shown(node)}, which is not a string literal,")
    return value.text


def _date_trunc(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    unit, value = _unit(e, first, scope), _time_value(e, second, scope, TIMESTAMP)
    return Typed(_truncated(unit, value, TIMESTAMP, _TRUNCATIONS), TIMESTAMP, call("date_trunc", unit.name, value.name))


def _trunc(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, unit = _time_value(e, first, scope), _unit(e, second, scope)
    units = {text: unit for text, unit in _TRUNCATIONS.items() if unit in ("year", "quarter", "month", "week")}
    return Typed(_truncated(unit, value, DATE, units), DATE, call("trunc", value.name, unit.name))


def _unit(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates the unit of a truncation: a literal, or NULL."""
    unit = e.translate(node, scope)
    if unit.text is None and unit.type != VOID:
        e.refuse(node, f"The argument {e.text.shown(node)}, which is not a string literal,")
    return unit


def _truncated(typed: Typed, value: Typed, type_: SqlType, units: Mapping[str, str]) -> str:
    """Returns a truncated time: NULL if there is no such unit, as in Spark."""
    unit = units.get((typed.text or "").lower())
    if unit is None:
        return plain_cast("NULL", type_)
    return plain_cast(f"date_trunc('{unit}', {plain_cast(value.sql, type_)})", type_)


def _part(function: str, offset: str = "") -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _one_time(e, node, scope, _text_type(function))
        return Typed(_field(function, offset, value), INT, call(_name(e, node), value.name))

    return translate


def _text_type(field: str) -> SqlType:
    """Returns the type that a string is read as where a field of it is needed."""
    return TIMESTAMP if field in ("hour", "minute", "second") else DATE


def _field(function: str, offset: str, value: Typed) -> str:
    return plain_cast(f"{function}({plain_cast(value.sql, TIMESTAMP)}){offset}", INT)


def _extracted(e: Expressions, node: exp.Expr, field: str, source: exp.Expr, scope: Scope) -> tuple[Typed, SqlType]:
    key = field.lower().removesuffix("s" if field.lower() in _PLURALS else "")
    interval = e.translate(source, scope)
    if interval.type.is_interval:
        return interval_field(e, source, field, interval)
    value = _time_value(e, source, scope, _text_type(key))
    if key == "second":
        micros = plain_cast(f"microsecond({plain_cast(value.sql, TIMESTAMP)})", decimal(8, 0))
        sql = plain_cast(f"{micros} * CAST('0.000001' AS DECIMAL(7,6))", _SECONDS)
        return Typed(sql, _SECONDS, value.name), _SECONDS
    if key not in _FIELDS:
        e.refuse(node, f"The field {field}")
    return Typed(_field(*_FIELDS[key], value), INT, value.name), INT


def _extract(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    field = str(node.this.name)
    value, type_ = _extracted(e, node, field, node.expression, scope)
    field_text = e.text.extracted(node) if isinstance(node, exp.Extract) else None
    name = None if value.name is None or field_text is None else f"extract({field_text} FROM {value.name})"
    return Typed(value.sql, type_, name)


def _date_part(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    field = _word(e, first, scope)
    value, type_ = _extracted(e, node, field, second, scope)
    if _name(e, node) == "datepart":
        return Typed(value.sql, type_, None if value.name is None else f"datepart({field} FROM {value.name})")
    return Typed(value.sql, type_, call("date_part", field, value.name))


def _reading(type_: SqlType, tolerant: bool = False) -> Translation:
    """Returns the translation of ``to_date(x[, format])`` and the like; if ``tolerant``, an unreadable text is NULL."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        argument, *options = e.arguments(node, 1, 2)
        value = e.translate(argument, scope)
        if options:
            format = _word(e, options[0], scope)
            sql = plain_cast(_parsed(e, node, value, format, tolerant), type_)
            return Typed(sql, type_, call(_name(e, node), value.name, format))
        if value.type != STRING and not value.type.is_datetime:
            e.refuse(node, f"{_name(e, node).upper()} of {value.type}")
        return Typed(e.cast(value, type_, node, tolerant), type_, call(_name(e, node), value.name))

    return translate


def _parsed(e: Expressions, node: exp.Expr, value: Typed, format: str, tolerant: bool = False) -> str:
    if value.type != STRING:
        e.refuse(node, f"Reading {value.type} with a format")
    pattern = time_pattern(format)
    if pattern is None or not pattern.has_year:
        e.refuse(node, f"Reading by the time format '{format}'")
    regex, strptime = string_literal(pattern.regex), string_literal(pattern.strftime)
    if value.time_pattern == format:
        # DuckDB may compute it for rows that a filter drops later, whose values follow other patterns.
        return f"try_strptime({value.sql}, {strptime})"
    parsed = f"CASE WHEN regexp_full_match({value.sql}, {regex}) THEN try_strptime({value.sql}, {strptime}) END"
    return parsed if tolerant else f"rw_parsed({parsed}, {value.sql}, {string_literal(format)})"


def _date_format(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, format = _time_value(e, first, scope, TIMESTAMP), _word(e, second, scope)
    return Typed(_formatted(e, node, value.sql, format), STRING, call("date_format", value.name, format))


def _formatted(e: Expressions, node: exp.Expr, sql: str, format: str) -> str:
    pattern = time_format(format)
    if pattern is None:
        e.refuse(node, f"Writing by the time format '{format}'")
    moment = plain_cast(sql, TIMESTAMP)
    return f"rw_formatted({moment}, strftime({moment}, {string_literal(pattern)}))"


def _to_char(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``to_char(time, format)``, which is DATE_FORMAT."""
    first, second = e.arguments(node, 2)
    value, format = e.translate(first, scope), _word(e, second, scope)
    if not value.type.is_datetime:
        e.refuse(node, f"{_name(e, node).upper()} of {value.type}")
    return Typed(_formatted(e, node, value.sql, format), STRING, call("date_format", value.name, format))


def _short_name(format: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _one_time(e, node, scope)
        return Typed(_formatted(e, node, value.sql, format), STRING, call(_name(e, node), value.name))

    return translate


def _next_day(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, word = _time_value(e, first, scope), _word(e, second, scope)
    days = [number for number, day in enumerate(_WEEK, start=1) if word.upper() in (day[:2], day[:3], day)]
    if not days:
        e.refuse(node, f"The day of the week '{word}'")
    date = plain_cast(value.sql, DATE)
    sql = f"{date} + CAST(({days[0]} - isodow({date}) + 6) % 7 + 1 AS INTEGER)"
    return Typed(plain_cast(sql, DATE), DATE, call("next_day", value.name, word))


def _make_timestamp(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = [_whole_number(e, part, scope) for part in e.arguments(node, 6)]
    name = call("make_timestamp", *(part.name for part in parts))
    return Typed(f"rw_make_timestamp({', '.join(plain_cast(part.sql, BIGINT) for part in parts)})", TIMESTAMP, name)


def _make_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = [_whole_number(e, part, scope) for part in e.arguments(node, 3)]
    name = call("make_date", *(part.name for part in parts))
    return Typed(f"make_date({', '.join(plain_cast(part.sql, BIGINT) for part in parts)})", DATE, name)


def _add_months(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, months = _time_value(e, first, scope), _whole_number(e, second, scope)
    sql = f"{plain_cast(value.sql, DATE)} + to_months({plain_cast(months.sql, INT)})"
    return Typed(plain_cast(sql, DATE), DATE, call("add_months", value.name, months.name))


def _last_day(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_time(e, node, scope)
    return Typed(f"last_day({plain_cast(value.sql, DATE)})", DATE, call("last_day", value.name))


def _micros(value: Typed) -> str:
    return f"epoch_us({plain_cast(value.sql, TIMESTAMP)})"


_NOW = Typed(plain_cast("current_timestamp AT TIME ZONE 'UTC'", TIMESTAMP), TIMESTAMP, "current_timestamp()")


def _unix_timestamp(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    arguments = e.arguments(node, 0 if _name(e, node) == "unix_timestamp" else 1, 2)
    value = e.translate(arguments[0], scope) if arguments else _NOW
    format = _word(e, arguments[1], scope) if len(arguments) > 1 else _DEFAULT_FORMAT
    name = call(_name(e, node), value.name, format)
    if value.type == STRING:
        value = Typed(_parsed(e, node, value, format), TIMESTAMP, value.name)
    if not value.type.is_datetime:
        e.refuse(node, f"{_name(e, node).upper()} of {value.type}")
    # Towards zero, while unix_seconds rounds down.
    return Typed(f"({_micros(value)} // {_SECOND})", BIGINT, name)


def _unix(divisor: int) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _one_time(e, node, scope)
        if value.type != TIMESTAMP:
            e.refuse(node, f"{_name(e, node).upper()} of {value.type}")
        return Typed(f"rw_floor_divided({_micros(value)}, {divisor})", BIGINT, call(_name(e, node), value.name))

    return translate


def _from_unix(factor: int) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _whole_number(e, e.arguments(node, 1)[0], scope)
        return Typed(_moment(value, factor), TIMESTAMP, call(_name(e, node), value.name))

    return translate


def _moment(value: Typed, factor: int) -> str:
    return f"make_timestamp({plain_cast(value.sql, BIGINT)} * {factor})"


def _from_unixtime(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    argument, *options = e.arguments(node, 1, 2)
    value = _whole_number(e, argument, scope)
    format = _word(e, options[0], scope) if options else _DEFAULT_FORMAT
    name = call("from_unixtime", value.name, format)
    return Typed(_formatted(e, node, _moment(value, _SECOND), format), STRING, name)


def _unix_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _one_time(e, node, scope)
    if value.type != DATE:
        e.refuse(node, f"UNIX_DATE of {value.type}")
    return Typed(plain_cast(f"{value.sql} - DATE '1970-01-01'", INT), INT, call("unix_date", value.name))


def _date_from_unix_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    days = _whole_number(e, e.arguments(node, 1)[0], scope)
    if days.type == BIGINT:
        e.refuse(node, "DATE_FROM_UNIX_DATE of a BIGINT")
    sql = plain_cast(f"DATE '1970-01-01' + {plain_cast(days.sql, INT)}", DATE)
    return Typed(sql, DATE, call("date_from_unix_date", days.name))


def _clock(type_: SqlType) -> Translation:
    """Returns the translation of the present moment or day in UTC: one instant for the whole statement, which DuckDB
    takes anew when a prepared statement runs again.
    """

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        called = e.text.called(node)
        if called is None:
            # Without parentheses, a column of this name comes first, as in Spark.
            e.allow_only(node)
            matches = scope.find(e.text.shown(node), None)
            if len(matches) == 1 and matches[0].type is not None:
                return matches[0].typed(matches[0].name)
        else:
            e.arguments(node, 0)
        name = "now()" if called == "now" else f"current_{'date' if type_ == DATE else 'timestamp'}()"
        return Typed(plain_cast("current_timestamp AT TIME ZONE 'UTC'", type_), type_, name)

    return translate


_SECTION = "Dates and times"
_FORMATS = "formats other than those below"
_EXTRACT = (
    "fields other than YEAR[S], YEAROFWEEK, QUARTER, MONTH[S], WEEK[S], DAY[S], DAYOFWEEK, DOW, DAYOFWEEK_ISO, "
    "DOW_ISO, DOY, HOUR[S], MINUTE[S], SECOND[S]"
)

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.CurrentTimestamp: Allowed(_clock(TIMESTAMP), Entry(_SECTION, "current_timestamp[()]")),
    exp.CurrentDate: Allowed(_clock(DATE), Entry(_SECTION, "current_date[()]")),
    exp.Extract: Allowed(_extract, Entry(_SECTION, "extract(field FROM time)", _EXTRACT)),
}
FUNCTIONS = functions(
    _SECTION,
    ("now()", _clock(TIMESTAMP)),
    ("curdate()", _clock(DATE)),
    ("year(time)", _part("year")),
    ("quarter(time)", _part("quarter")),
    ("month(time)", _part("month")),
    ("day(time)", _part("day")),
    ("dayofmonth(time)", _part("day")),
    ("dayofyear(time)", _part("dayofyear")),
    ("dayofweek(time)", _part("dayofweek", " + 1")),
    ("weekday(time)", _part("isodow", " - 1")),
    ("weekofyear(time)", _part("week")),
    ("hour(time)", _part("hour")),
    ("minute(time)", _part("minute")),
    ("second(time)", _part("second")),
    ("date_part('field', time)", _date_part, _EXTRACT),
    ("datepart('field', time)", _date_part, _EXTRACT),
    ("date_trunc('unit', time)", _date_trunc, "a unit that is not a literal"),
    ("trunc(time, 'unit')", _trunc, "a unit that is not a literal"),
    ("last_day(time)", _last_day),
    ("add_months(time, n)", _add_months),
    ("to_date(x[, format])", _reading(DATE), _FORMATS),
    ("to_timestamp(x[, format])", _reading(TIMESTAMP), _FORMATS),
    ("to_timestamp_ltz(x[, format])", _reading(TIMESTAMP), _FORMATS),
    ("to_timestamp_ntz(x[, format])", _reading(TIMESTAMP_NTZ), _FORMATS),
    ("try_to_date(x[, format])", _reading(DATE, tolerant=True), _FORMATS),
    ("try_to_timestamp(x[, format])", _reading(TIMESTAMP, tolerant=True), _FORMATS),
    ("date_format(time, format)", _date_format, _FORMATS),
    ("to_char(time, format)", _to_char, f"numbers; {_FORMATS}"),
    ("to_varchar(time, format)", _to_char, f"numbers; {_FORMATS}"),
    ("dayname(time)", _short_name("EEE")),
    ("monthname(time)", _short_name("MMM")),
    ("next_day(time, 'day')", _next_day, "a day that is not literal"),
    ("make_date(year, month, day)", _make_date),
    ("make_timestamp(year, month, day, hour, minute, second)", _make_timestamp, "parts of a second, a zone"),
    ("unix_timestamp([x[, format]])", _unix_timestamp, _FORMATS),
    ("to_unix_timestamp(x[, format])", _unix_timestamp, _FORMATS),
    ("from_unixtime(n[, format])", _from_unixtime, _FORMATS),
    ("unix_seconds(timestamp)", _unix(_SECOND)),
    ("unix_millis(timestamp)", _unix(1000)),
    ("unix_micros(timestamp)", _unix(1)),
    ("unix_date(date)", _unix_date),
    ("date_from_unix_date(days)", _date_from_unix_date, "BIGINT"),
    ("timestamp_seconds(n)", _from_unix(_SECOND), "parts of a second"),
    ("timestamp_millis(n)", _from_unix(1000)),
    ("timestamp_micros(n)", _from_unix(1)),
)


# Differences and sums of times in a unit, for the allow-list of ``expressions``.

#: The units of a sum in DuckDB's function, and how many of them one is.
_STEPS = {"MICROSECOND": ("microseconds", 1), "MILLISECOND": ("milliseconds", 1), "SECOND": ("seconds", 1),
          "MINUTE": ("minutes", 1), "HOUR": ("hours", 1), "DAY": ("days", 1), "DAYOFYEAR": ("days", 1),
          "WEEK": ("days", 7), "MONTH": ("months", 1), "QUARTER": ("months", 3), "YEAR": ("months", 12)}  # fmt: skip
#: The units of a difference in microseconds, and those in months.
_MICROS = {"MICROSECOND": 1, "MILLISECOND": 10**3, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6,
           "DAY": 86_400 * 10**6, "WEEK": 7 * 86_400 * 10**6}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _time_difference_unit(e: Expressions, node: exp.Expr) -> str:
    """Returns a unit as typed, which is a word without quotes."""
    return node.name if isinstance(node, exp.Column) and not node.args.get("table") else e.text.shown(node)


def _added(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, third = e.arguments(node, 3)
    unit = _time_difference_unit(e, first)
    if unit.upper() not in _STEPS:
        e.refuse(node, f"The unit {unit}")
    amount, value = _whole_number(e, second, scope), _time_value(e, third, scope, TIMESTAMP)
    type_ = TIMESTAMP_NTZ if e.translate(third, scope).type == TIMESTAMP_NTZ else TIMESTAMP
    if amount.type == BIGINT:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of a BIGINT")
    function, factor = _STEPS[unit.upper()]
    number = plain_cast(amount.sql, INT)
    step = f"to_{function}({number if factor == 1 else f'{number} * {factor}'})"
    sql = plain_cast(f"{plain_cast(value.sql, TIMESTAMP)} + {step}", type_)
    return Typed(sql, type_, call("timestampadd", unit, amount.name, value.name))


def _added_days(operator: str) -> Translation:
    """Returns the translation of ``date_add(time, days)``; with three arguments, the first is a unit."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        if operator == "+" and len(node.expressions) == 3:
            return _added(e, node, scope)
        first, second = e.arguments(node, 2)
        value, days = _time_value(e, first, scope), _whole_number(e, second, scope)
        if days.type == BIGINT:
            e.refuse(node, f"{str(e.text.called(node)).upper()} of a BIGINT")
        sql = f"{plain_cast(value.sql, DATE)} {operator} {plain_cast(days.sql, INT)}"
        name = call("date_sub" if operator == "-" else "date_add", value.name, days.name)
        return Typed(plain_cast(sql, DATE), DATE, name)

    return translate


def _days_between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``datediff(end, start)``; with three arguments, the first is a unit, and the start comes before the
    end.
    """
    if len(node.expressions) == 3:
        return _units_between(e, node, scope)
    first, second = e.arguments(node, 2)
    end, start = _time_value(e, first, scope), _time_value(e, second, scope)
    sql = f"date_diff('day', {plain_cast(start.sql, DATE)}, {plain_cast(end.sql, DATE)})"
    return Typed(plain_cast(sql, INT), INT, call(str(e.text.called(node)), end.name, start.name))


def _units_between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Returns the number of whole units between two times, towards zero."""
    first, *times = e.arguments(node, 3)
    unit = _time_difference_unit(e, first)
    start, end = (_time_value(e, time, scope, TIMESTAMP) for time in times)
    moments = [plain_cast(value.sql, TIMESTAMP) for value in (start, end)]
    if unit.upper() in _MICROS:
        sql = f"((epoch_us({moments[1]}) - epoch_us({moments[0]})) // {_MICROS[unit.upper()]})"
    elif unit.upper() in _MONTHS:
        sql = f"(rw_whole_months({', '.join(moments)}) // {_MONTHS[unit.upper()]})"
    else:
        e.refuse(node, f"The unit {unit}")
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("timestampdiff", unit, start.name, end.name))


def _months_between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    *times, rounded = [*e.arguments(node, 2, 3), None][:3]
    first, second = (_time_value(e, time, scope, TIMESTAMP) for time in times if time is not None)
    is_rounded = Typed("true", BOOLEAN, "true") if rounded is None else e.condition(rounded, scope)
    moments = [plain_cast(value.sql, TIMESTAMP) for value in (first, second)]
    months = f"rw_months_between({', '.join(moments)})"
    sql = {"true": f"rw_rounded_months({months})", "false": months}.get(
        is_rounded.sql, f"CASE WHEN {is_rounded.sql} THEN rw_rounded_months({months}) "
        f"WHEN {is_rounded.sql} IS NOT NULL THEN {months} END",
    )  # fmt: skip
    return Typed(plain_cast(sql, DOUBLE), DOUBLE, call("months_between", first.name, second.name, is_rounded.name))


_UNITS = ", ".join(_STEPS)
_DIFFERENCES = f"other units than {', '.join((*_MICROS, *_MONTHS))}"
TIME_DIFFERENCE_FUNCTIONS = functions(
    "Dates and times",
    ("date_add(time, days), date_add(unit, n, time)", _added_days("+"), f"units other than {_UNITS}; BIGINT"),
    ("dateadd(time, days), dateadd(unit, n, time)", _added_days("+"), "as DATE_ADD"),
    ("date_sub(time, days)", _added_days("-"), "BIGINT"),
    ("timestampadd(unit, n, time)", _added, "as DATE_ADD"),
    ("datediff(end, start), datediff(unit, start, end)", _days_between, _DIFFERENCES),
    ("date_diff(end, start), date_diff(unit, start, end)", _days_between, "as DATEDIFF"),
    ("timestampdiff(unit, start, end)", _units_between, "as DATEDIFF"),
    ("timediff(unit, start, end)", _units_between, "as DATEDIFF"),
    ("months_between(time, time[, rounded])", _months_between),
)


# FROM_UTC_TIMESTAMP and TO_UTC_TIMESTAMP, for the allow-list of ``expressions``.
#
# Java and DuckDB have rules of time zones of their own, and each release of either may know other ones. The zones
# below have had the same rules since 2019, for the times from 1970 to 2099.

ZONES = frozenset(
    "Africa/Algiers Africa/Johannesburg Africa/Lagos Africa/Nairobi America/Anchorage America/Argentina/Buenos_Aires "
    "America/Caracas America/Chicago America/Denver America/Lima America/Los_Angeles America/New_York America/Phoenix "
    "America/Sao_Paulo Asia/Bangkok Asia/Calcutta Asia/Dhaka Asia/Dubai Asia/Ho_Chi_Minh Asia/Hong_Kong Asia/Jakarta "
    "Asia/Karachi Asia/Kolkata Asia/Kuala_Lumpur Asia/Riyadh Asia/Seoul Asia/Shanghai Asia/Singapore Asia/Taipei "
    "Asia/Tashkent Asia/Tokyo Atlantic/Reykjavik Australia/Adelaide Australia/Brisbane Australia/Melbourne "
    "Australia/Perth Australia/Sydney Europe/Amsterdam Europe/Athens Europe/Belgrade Europe/Berlin Europe/Brussels "
    "Europe/Bucharest Europe/Budapest Europe/Copenhagen Europe/Dublin Europe/Helsinki Europe/Istanbul Europe/Lisbon "
    "Europe/Ljubljana Europe/London Europe/Luxembourg Europe/Madrid Europe/Moscow Europe/Oslo Europe/Paris "
    "Europe/Prague Europe/Riga Europe/Rome Europe/Sofia Europe/Stockholm Europe/Tallinn Europe/Vienna Europe/Vilnius "
    "Europe/Warsaw Europe/Zagreb Europe/Zurich Pacific/Auckland Pacific/Honolulu US/Central US/Eastern US/Mountain "
    "US/Pacific".split()
)
_UTC = ("UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT")
_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
_MOST_MINUTES = 18 * 60


def _shifted(is_local: bool) -> Translation:
    """Returns the translation of ``to_utc_timestamp`` if the time is local, of ``from_utc_timestamp`` otherwise."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        first, second = e.arguments(node, 2)
        value, zone = _time_value(e, first, scope, TIMESTAMP), e.translate(second, scope)
        sql = _in_zone(e, second, plain_cast(value.sql, TIMESTAMP), zone, is_local=is_local)
        return Typed(plain_cast(sql, TIMESTAMP), TIMESTAMP, call(str(e.text.called(node)), value.name, zone.name))

    return translate


def _in_zone(e: Expressions, node: exp.Expr, moment: str, zone: Typed, *, is_local: bool) -> str:
    """Returns the SQL of a local time of a zone, typed as ``node``, as UTC, or of a time in UTC as the local one."""
    if zone.type == VOID:
        return "NULL"
    if zone.text in _UTC:
        return moment
    minutes = None if zone.text is None else _minutes(zone.text)
    if minutes is not None:
        return f"{moment} + to_minutes({-minutes if is_local else minutes})"
    if zone.text not in ZONES:
        e.refuse(node, f"The time zone {e.text.shown(node)}")
    return f"{'rw_to_utc' if is_local else 'rw_from_utc'}({moment}, {string_literal(zone.text or '')})"


def _convert_timezone(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``convert_timezone([from, ]to, time)``: a time on the clocks of one zone as one on those of another.
    Without the first zone, it is on clocks of UTC.
    """
    *zone_nodes, time_node = e.arguments(node, 2, 3)
    zones = [e.translate(zone_node, scope) for zone_node in zone_nodes]
    value = e.translate(time_node, scope)
    name = call("convert_timezone", *(["current_timezone()", *(zone.name for zone in zones)][-2:]), value.name)
    if not (value.type in (STRING, VOID) or value.type.is_datetime):
        e.text.wrong(
            f"CONVERT_TIMEZONE takes a TIMESTAMP_NTZ, and no {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", time_node,
        )  # fmt: skip
    literal = None if value.text is None else assigned_literal(value.text, TIMESTAMP_NTZ)
    moment = plain_cast(literal or e.cast(value, TIMESTAMP_NTZ, time_node), TIMESTAMP_NTZ)
    if len(zones) > 1:
        moment = plain_cast(_in_zone(e, zone_nodes[0], moment, zones[0], is_local=True), TIMESTAMP_NTZ)
    sql = _in_zone(e, zone_nodes[-1], moment, zones[-1], is_local=False)
    return Typed(plain_cast(sql, TIMESTAMP_NTZ), TIMESTAMP_NTZ, name)


def _current_timezone(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.arguments(node, 0)
    return Typed("'UTC'", STRING, "current_timezone()")


def _minutes(zone: str) -> int | None:
    """Returns the offset ``±HH:MM`` in minutes; ``None`` for another text."""
    match = _OFFSET.fullmatch(zone)
    if match is None or int(match[3]) > 59:
        return None
    minutes = int(match[2]) * 60 + int(match[3])
    return None if minutes > _MOST_MINUTES else -minutes if match[1] == "-" else minutes


_REFUSED = "a zone that is not a literal, or not listed below; years before 1970 and after 2099"
TIME_ZONE_FUNCTIONS = functions(
    "Dates and times",
    ("from_utc_timestamp(time, 'zone')", _shifted(False), _REFUSED),
    ("to_utc_timestamp(time, 'zone')", _shifted(True), _REFUSED),
    ("convert_timezone(['zone', ]'zone', time)", _convert_timezone, _REFUSED),
    ("current_timezone()", _current_timezone),
)
