"""Differences and sums of times in a unit, for the allow-list of ``expressions``."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, TIMESTAMP
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.time_functions import time_value, whole_number

#: The units of a sum in DuckDB's function, and how many of them one is.
_STEPS = {"MICROSECOND": ("microseconds", 1), "MILLISECOND": ("milliseconds", 1), "SECOND": ("seconds", 1),
          "MINUTE": ("minutes", 1), "HOUR": ("hours", 1), "DAY": ("days", 1), "DAYOFYEAR": ("days", 1),
          "WEEK": ("days", 7), "MONTH": ("months", 1), "QUARTER": ("months", 3), "YEAR": ("months", 12)}  # fmt: skip
#: The units of a difference in microseconds, and those in months.
_MICROS = {"MICROSECOND": 1, "MILLISECOND": 10**3, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6,
           "DAY": 86_400 * 10**6, "WEEK": 7 * 86_400 * 10**6}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _unit(e: Expressions, node: exp.Expr) -> str:
    """Returns a unit as typed, which is a word without quotes."""
    return node.name if isinstance(node, exp.Column) and not node.args.get("table") else e.text.shown(node)


def _added(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, third = e.arguments(node, 3)
    unit = _unit(e, first)
    if unit.upper() not in _STEPS:
        e.refuse(node, f"The unit {unit}")
    amount, value = whole_number(e, second, scope), time_value(e, third, scope, TIMESTAMP)
    if amount.type == BIGINT:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of a BIGINT")
    function, factor = _STEPS[unit.upper()]
    number = plain_cast(amount.sql, INT)
    step = f"to_{function}({number if factor == 1 else f'{number} * {factor}'})"
    sql = plain_cast(f"{plain_cast(value.sql, TIMESTAMP)} + {step}", TIMESTAMP)
    return Typed(sql, TIMESTAMP, call("timestampadd", unit, amount.name, value.name))


def _added_days(operator: str) -> Translation:
    """Returns the translation of ``date_add(time, days)``; with three arguments, the first is a unit."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        if operator == "+" and len(node.expressions) == 3:
            return _added(e, node, scope)
        first, second = e.arguments(node, 2)
        value, days = time_value(e, first, scope), whole_number(e, second, scope)
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
    end, start = time_value(e, first, scope), time_value(e, second, scope)
    sql = f"date_diff('day', {plain_cast(start.sql, DATE)}, {plain_cast(end.sql, DATE)})"
    return Typed(plain_cast(sql, INT), INT, call(str(e.text.called(node)), end.name, start.name))


def _units_between(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Returns the number of whole units between two times, towards zero."""
    first, *times = e.arguments(node, 3)
    unit = _unit(e, first)
    start, end = (time_value(e, time, scope, TIMESTAMP) for time in times)
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
    first, second = (time_value(e, time, scope, TIMESTAMP) for time in times if time is not None)
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
FUNCTIONS = functions(
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
