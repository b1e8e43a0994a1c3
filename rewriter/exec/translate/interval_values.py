"""Intervals as values, for the allow-list of ``expressions``. DuckDB holds those of days to seconds as microseconds,
and those of years and months as months.

Their type says the largest and the smallest unit, as Spark's: ``interval day to second`` of a timestamp minus another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.exec.sql_types import (
    BIGINT,
    DATE,
    INT,
    INTERVAL_UNITS,
    MONTH_UNITS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    SqlType,
    decimal,
    interval_of,
)
from rewriter.exec.translate.casts import INTERVAL_SIZES, plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions, infix

if TYPE_CHECKING:
    from sqlglot import exp

_DAY_TO_SECOND, _YEAR_TO_MONTH = interval_of("day", "second"), interval_of("year", "month")
_SECONDS = decimal(8, 6)
#: Digits of the seconds that MAKE_DT_INTERVAL takes.
_MOST_SECONDS = decimal(18, 6)
#: The units of a field: what a larger one leaves is divided by the size.
_LARGER = {"month": "year", "hour": "day", "minute": "hour", "second": "minute"}

_FORM = "time - time, interval ± interval, time ± interval, interval * n, interval / n"


def interval_arithmetic(e: Expressions, left: Typed, right: Typed, operator: str, node: exp.Expr) -> Typed | None:
    """Translates a time minus a time, and the arithmetic of interval values; ``None`` for other operands."""
    if operator == "-" and left.type.is_datetime and right.type.is_datetime:
        e.construct(_FORM)
        return _between_times(left, right)
    if not (left.type.is_interval or right.type.is_interval):
        return None
    e.construct(_FORM)
    if operator in "+-" and VOID in (left.type, right.type):
        left, right = (_null_of(value, other) for value, other in ((left, right), (right, left)))
    type_ = left.type.united(right.type) if left.type.is_interval and right.type.is_interval else None
    if type_ is not None and operator in "+-":
        sql = f"CAST({left.sql} AS HUGEINT) {operator} CAST({right.sql} AS HUGEINT)"
        return Typed(fitting_interval(sql, type_), type_, infix(operator, left.name, right.name))
    if operator == "+" and right.type.is_interval and left.type.is_datetime:
        return _moved(left, right, "+")
    if operator == "+" and left.type.is_interval and right.type.is_datetime:
        return _moved(right, left, "+")
    if operator == "-" and left.type.is_datetime:
        return _moved(left, right, "-")
    if operator == "*":
        interval, factor = (left, right) if left.type.is_interval else (right, left)
        if factor.type.is_integer or factor.type == VOID:
            sql, type_ = f"CAST({interval.sql} AS HUGEINT) * CAST({factor.sql} AS HUGEINT)", _of_all_units(interval)
            return Typed(fitting_interval(sql, type_), type_, infix("*", interval.name, factor.name))
    if operator == "/" and left.type.is_interval and (right.type.is_integer or right.type == VOID):
        sql = f"rw_divided_interval(CAST({left.sql} AS HUGEINT), CAST({right.sql} AS HUGEINT))"
        type_ = _of_all_units(left)
        return Typed(fitting_interval(sql, type_), type_, infix("/", left.name, right.name))
    return e.refuse(node, f"{left.type} {operator} {right.type}")


def _null_of(value: Typed, other: Typed) -> Typed:
    """Returns NULL as one of the type of the other operand."""
    return Typed(plain_cast(value.sql, other.type), other.type, value.name) if value.type == VOID else value


def _of_all_units(interval: Typed) -> SqlType:
    """Returns the type of an interval that is multiplied or divided."""
    return _YEAR_TO_MONTH if interval.type.is_month_interval else _DAY_TO_SECOND


def fitting_interval(sql: str, type_: SqlType) -> str:
    """Returns a HUGEINT as an interval of a type. It fails if the interval is too long."""
    return plain_cast(f"rw_{'months' if type_.is_month_interval else 'interval'}({sql})", type_)


def _between_times(left: Typed, right: Typed) -> Typed:
    is_days = left.type == right.type == DATE
    moments = [f"epoch_us({plain_cast(value.sql, TIMESTAMP)})" for value in (left, right)]
    type_ = interval_of("day", "day") if is_days else _DAY_TO_SECOND
    return Typed(f"({moments[0]} - {moments[1]})", type_, infix("-", left.name, right.name))


def _moved(time: Typed, interval: Typed, operator: str) -> Typed:
    """Returns a time plus or minus an interval. A date stays one if the interval is of months, or of whole days."""
    if interval.type.is_month_interval:
        sql = plain_cast(f"{time.sql} {operator} to_months({interval.sql})", time.type)
        return Typed(sql, time.type, _moved_name(time, interval, operator))
    is_date = time.type == DATE and interval.type == interval_of("day", "day")
    step = f"to_microseconds({interval.sql})"
    type_ = DATE if is_date else TIMESTAMP_NTZ if time.type == TIMESTAMP_NTZ else TIMESTAMP
    sql = plain_cast(f"{plain_cast(time.sql, TIMESTAMP)} {operator} {step}", type_)
    if is_date and time.name is not None and interval.name is not None:
        days = f"extractansiintervaldays({interval.name})"
        return Typed(sql, type_, f"date_add({time.name}, {days if operator == '+' else f'(- {days})'})")
    return Typed(sql, type_, _moved_name(time, interval, operator))


def _moved_name(time: Typed, interval: Typed, operator: str) -> str | None:
    return None if time.name is None or interval.name is None else f"{time.name} {operator} {interval.name}"


def interval_field(e: Expressions, node: exp.Expr, field: str, value: Typed) -> tuple[Typed, SqlType]:
    """Returns a field of an interval, and its type. Fields of a negative interval are negative."""
    unit = field.lower().removesuffix("s")
    if unit not in value.type.interval_units:
        e.text.wrong(f"There is no {field} in an {value.type.shown}.", "INVALID_EXTRACT_FIELD", "42601", node)
    # The largest unit of the type holds all that is more; but Spark takes hours, minutes and seconds of each alone.
    rest = f"({value.sql} % {INTERVAL_SIZES[_LARGER[unit]]})" if unit in _LARGER else value.sql
    if unit == "second":
        sql = f"CAST({rest} AS DECIMAL(18,0)) * CAST('0.000001' AS DECIMAL(7,6))"
        return Typed(plain_cast(sql, _SECONDS), _SECONDS, value.name), _SECONDS
    type_ = INT if unit in ("year", "day") else TINYINT
    return Typed(plain_cast(f"{rest} // {INTERVAL_SIZES[unit]}", type_), type_, value.name), type_


def _make_dt_interval(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = [e.translate(argument, scope) for argument in e.arguments(node, 0, 4)]
    terms, names = [], [part.name for part in parts]
    for unit, part in zip(INTERVAL_UNITS, parts, strict=False):
        if unit == "second":
            if not (part.type.is_integer or part.type.is_decimal):
                e.refuse(node, f"MAKE_DT_INTERVAL of {part.type} seconds")
            terms.append(f"rw_unscaled({plain_cast(part.sql, _MOST_SECONDS)})")
            continue
        if (not part.type.is_integer or part.type == BIGINT) and part.type != VOID:
            e.refuse(node, f"MAKE_DT_INTERVAL of {part.type}")
        terms.append(f"CAST({plain_cast(part.sql, INT)} AS HUGEINT) * {INTERVAL_SIZES[unit]}")
    names += ["0", "0", "0", "0.000000"][len(parts) :]
    sql = fitting_interval(" + ".join(terms) or "CAST(0 AS HUGEINT)", _DAY_TO_SECOND)
    return Typed(sql, _DAY_TO_SECOND, call("make_dt_interval", *names))


def _make_ym_interval(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = [e.translate(argument, scope) for argument in e.arguments(node, 0, 2)]
    for part in parts:
        if (not part.type.is_integer or part.type == BIGINT) and part.type != VOID:
            e.refuse(node, f"MAKE_YM_INTERVAL of {part.type}")
    sizes = (INTERVAL_SIZES[unit] for unit in MONTH_UNITS)
    terms = [f"CAST({part.sql} AS HUGEINT) * {size}" for part, size in zip(parts, sizes, strict=False)]
    sql = fitting_interval(" + ".join(terms) or "CAST(0 AS HUGEINT)", _YEAR_TO_MONTH)
    names = [part.name for part in parts] + ["0", "0"][len(parts) :]
    return Typed(sql, _YEAR_TO_MONTH, call("make_ym_interval", *names))


FUNCTIONS = functions(
    "Dates and times",
    ("make_ym_interval([years[, months]])", _make_ym_interval, "BIGINT, DECIMAL, FLOAT, DOUBLE"),
    ("make_dt_interval([days[, hours[, minutes[, seconds]]]])", _make_dt_interval, "BIGINT, FLOAT, DOUBLE"),
)
