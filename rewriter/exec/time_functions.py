"""Functions of dates and times, for the allow-list of ``expressions``."""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.exec.casts import assigned, date_value, plain_cast, string_literal
from rewriter.exec.expressions import Expressions, Scope, Translation, Typed, call
from rewriter.exec.functions import spelling
from rewriter.exec.patterns import TimePattern, time_pattern
from rewriter.exec.sqltypes import BIGINT, DATE, INT, STRING, TIMESTAMP, VOID

_TRUNCATIONS = {"year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
                "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute",
                "second": "second"}  # fmt: skip


def _time(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """A date or timestamp; sqlglot puts casts around the arguments of date functions, which say nothing."""
    while isinstance(node, exp.TsOrDsToDate | exp.TimeStrToTime) and not node.args.get("format"):
        if node._meta and "start" in node.meta:
            break
        node = node.this
    value = e.translate(node, scope)
    if value.text is not None:
        kind = DATE if date_value(value.text) is not None else TIMESTAMP
        sql = assigned(value.text, kind)
        if sql is not None:
            return Typed(sql, kind, value.name)
    if not value.type.is_datetime:
        e.refuse(node, f"A {value.type} where a date or timestamp is needed")
    return value


def _whole(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(node, scope)
    if not value.type.is_integer and value.type != VOID:
        e.refuse(node, f"A {value.type} where an integer is needed")
    return value


def _first_string(e: Expressions, call_node: exp.Expr) -> str | None:
    """The string literal that is a call's first argument, for its name only."""
    if not call_node._meta or "start" not in call_node.meta:
        return None
    text = e.text.text[call_node.meta["end"] + 1 :]
    match = re.match(r"\s*\(\s*(['\"])(\w+)\1", text)
    return match[2] if match else None


def _truncated_timestamp(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "unit")
    typed = str(node.args["unit"].name)
    unit = _TRUNCATIONS.get(typed.lower())
    if unit is None:
        e.refuse(node, f"DATE_TRUNC to {typed}")
    value = _time(e, node.this, scope)
    name = call("date_trunc", _first_string(e, node), value.name)
    return Typed(f"date_trunc('{unit}', {plain_cast(value.sql, TIMESTAMP)})", TIMESTAMP, name)


def _truncated_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "unit")
    typed = e.text.last_string(node)
    unit = _TRUNCATIONS.get(typed.lower())
    if unit not in ("year", "quarter", "month", "week"):
        e.refuse(node, f"TRUNC to {typed}")
    value = _time(e, node.this, scope)
    name = call("trunc", value.name, typed)
    return Typed(plain_cast(f"date_trunc('{unit}', {plain_cast(value.sql, DATE)})", DATE), DATE, name)


def _part(function: str, spark: str, offset: str = "") -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        e.only(node, "this", "expressions")
        argument = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        value = _time(e, argument, scope)
        name = call(spelling(e, node, spark), value.name)
        return Typed(plain_cast(f"{function}({plain_cast(value.sql, TIMESTAMP)}){offset}", INT), INT, name)

    return translate


def _extract(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    field = str(node.this.name).lower()
    if field not in ("year", "quarter", "month", "day", "hour", "minute"):
        e.refuse(node, f"EXTRACT of {field}")
    value = _time(e, node.expression, scope)
    name = None if value.name is None else f"extract({node.this.name.lower()} FROM {value.name})"
    return Typed(plain_cast(f"{field}({plain_cast(value.sql, TIMESTAMP)})", INT), INT, name)


def _to_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "format", "safe")
    value = e.translate(node.this, scope)
    if node.args.get("format") is not None:
        parsed = _parsed(e, node, value)
        return Typed(plain_cast(parsed, DATE), DATE, call("to_date", value.name, e.text.last_string(node)))
    if value.type.name not in ("string", "date", "timestamp"):
        e.refuse(node, f"TO_DATE of {value.type}")
    return Typed(e.cast(value, DATE, node), DATE, call("to_date", value.name))


def _to_timestamp(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "format")
    value = e.translate(node.this, scope)
    return Typed(_parsed(e, node, value), TIMESTAMP, call("to_timestamp", value.name, e.text.last_string(node)))


def _parsed(e: Expressions, node: exp.Expr, value: Typed) -> str:
    if value.type != STRING:
        e.refuse(node, f"Reading {value.type} with a format")
    pattern = _pattern(e, node)
    if not pattern.has_year:
        e.refuse(node, "A format without a year")
    regex, format = string_literal(pattern.regex), string_literal(pattern.strftime)
    parsed = f"CASE WHEN regexp_full_match({value.sql}, {regex}) THEN try_strptime({value.sql}, {format}) END"
    return f"rw_parsed({parsed}, {value.sql}, {string_literal(pattern.text)})"


def _date_format(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "format")
    value = _time(e, node.this, scope)
    pattern = _pattern(e, node)
    sql = f"strftime({plain_cast(value.sql, TIMESTAMP)}, {string_literal(pattern.strftime)})"
    return Typed(sql, STRING, call("date_format", value.name, pattern.text))


def _pattern(e: Expressions, node: exp.Expr) -> TimePattern:
    text = e.text.last_string(node)
    pattern = time_pattern(text)
    if pattern is None:
        e.refuse(node, f"The time format '{text}'")
    return pattern


def _make_timestamp(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    keys = ("year", "month", "day", "hour", "min", "sec")
    e.only(node, *keys)
    parts = []
    for key in keys:
        if node.args.get(key) is None:
            e.refuse(node, "MAKE_TIMESTAMP of fewer than six numbers")
        parts.append(_whole(e, node.args[key], scope))
    name = call("make_timestamp", *(part.name for part in parts))
    return Typed(f"make_timestamp({', '.join(plain_cast(part.sql, BIGINT) for part in parts)})", TIMESTAMP, name)


def _make_date(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = [_whole(e, part, scope) for part in node.expressions]
    if len(parts) != 3:
        e.refuse(node)
    name = call("make_date", *(part.name for part in parts))
    return Typed(f"make_date({', '.join(plain_cast(part.sql, BIGINT) for part in parts)})", DATE, name)


def _date_add(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression", "unit")
    if str(node.args["unit"].name).upper() != "DAY":
        e.refuse(node)
    value = _time(e, node.this, scope)
    function, amount = spelling(e, node, "date_add"), node.expression
    if function == "date_sub" and isinstance(amount, exp.Mul):
        # sqlglot writes date_sub(d, n) as d + n * -1.
        amount = amount.this
    days = _whole(e, amount, scope)
    operator = "-" if function == "date_sub" else "+"
    sql = f"{plain_cast(value.sql, DATE)} {operator} {plain_cast(days.sql, INT)}"
    return Typed(plain_cast(sql, DATE), DATE, call(function, value.name, days.name))


def _add_months(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    value, months = _time(e, node.this, scope), _whole(e, node.expression, scope)
    sql = f"{plain_cast(value.sql, DATE)} + to_months({plain_cast(months.sql, INT)})"
    return Typed(plain_cast(sql, DATE), DATE, call("add_months", value.name, months.name))


def _date_diff(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "expression")
    end, start = _time(e, node.this, scope), _time(e, node.expression, scope)
    sql = f"date_diff('day', {plain_cast(start.sql, DATE)}, {plain_cast(end.sql, DATE)})"
    return Typed(plain_cast(sql, INT), INT, call(spelling(e, node, "datediff"), end.name, start.name))


def _last_day(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this")
    value = _time(e, node.this, scope)
    return Typed(f"last_day({plain_cast(value.sql, DATE)})", DATE, call("last_day", value.name))


TRANSLATIONS: dict[type[exp.Expr] | str, Translation] = {
    exp.TimestampTrunc: _truncated_timestamp,
    exp.DateTrunc: _truncated_date,
    exp.Year: _part("year", "year"),
    exp.Quarter: _part("quarter", "quarter"),
    exp.Month: _part("month", "month"),
    exp.Day: _part("day", "day"),
    exp.DayOfMonth: _part("day", "dayofmonth"),
    exp.DayOfYear: _part("dayofyear", "dayofyear"),
    exp.DayOfWeek: _part("dayofweek", "dayofweek", " + 1"),
    exp.WeekOfYear: _part("week", "weekofyear"),
    "weekday": _part("isodow", "weekday", " - 1"),
    exp.Hour: _part("hour", "hour"),
    exp.Minute: _part("minute", "minute"),
    exp.Second: _part("second", "second"),
    exp.Extract: _extract,
    exp.TsOrDsToDate: _to_date,
    exp.StrToTime: _to_timestamp,
    exp.TimeToStr: _date_format,
    exp.TimestampFromParts: _make_timestamp,
    "make_date": _make_date,
    exp.TsOrDsAdd: _date_add,
    exp.AddMonths: _add_months,
    exp.DateDiff: _date_diff,
    exp.LastDay: _last_day,
}
