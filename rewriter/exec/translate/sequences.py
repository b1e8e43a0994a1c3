"""SEQUENCE of whole numbers and of dates: an array from the first to the last value, usually for EXPLODE.

As in Spark, the months of a step are added to the first date, so that each month keeps its last day.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, DATE, array_of
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.intervals import CLOCK_UNITS, interval_of_one_unit
from rewriter.exec.translate.math_functions import literal_int

_MONTHS = {"MONTH": 1, "YEAR": 12}
_AGAINST_STEP = (
    "error('[DUCKDB_UNSUPPORTED] A sequence whose step leads away from its end is not supported on DuckDB.')"
)


def _sequence(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first_node, last_node, *steps = e.arguments(node, 2, 3)
    first, last = e.translate(first_node, scope), e.translate(last_node, scope)
    if first.type.is_integer and last.type.is_integer:
        sqls, type_ = e.cast_to_common_type([first, last], node)
        step = literal_int(e, steps[0]) if steps else None
        series, shown = _numbers(sqls[0], sqls[1], step), None if step is None else str(step)
    elif first.type == last.type == DATE:
        sqls, type_ = [first.sql, last.sql], DATE
        series, shown = _days(e, node, sqls[0], sqls[1], steps[0] if steps else None)
    else:
        e.text.refuse(
            f"A sequence from {first.type} to {last.type}", node, "Write it over DATEs or whole numbers, and cast them."
        )
    list_type = array_of(type_)
    sql = f"CASE WHEN {sqls[0]} IS NULL OR {sqls[1]} IS NULL THEN NULL {series} END"
    names = (first.name, last.name) if shown is None else (first.name, last.name, shown)
    return Typed(plain_cast(sql, list_type), list_type, call("sequence", *names))


def _numbers(first: str, last: str, step: int | None) -> str:
    """Returns the branches of CASE for whole numbers."""
    wide = [plain_cast(sql, BIGINT) for sql in (first, last)]
    if step is None:
        up, down = (f"generate_series({wide[0]}, {wide[1]}, {sign})" for sign in (1, -1))
        return f"WHEN {first} <= {last} THEN {up} ELSE {down}"
    if step == 0:
        return f"WHEN {first} = {last} THEN [{wide[0]}] ELSE {_AGAINST_STEP}"
    order = "<=" if step > 0 else ">="
    return f"WHEN {first} {order} {last} THEN generate_series({wide[0]}, {wide[1]}, {step}) ELSE {_AGAINST_STEP}"


def _days(e: Expressions, node: exp.Expr, first: str, last: str, step: exp.Expr | None) -> tuple[str, str | None]:
    """Returns the branches of CASE for dates, and the step in the name of the column."""
    if step is None:
        up, down = (f"generate_series({first}, {last}, INTERVAL ({sign}) DAY)" for sign in (1, -1))
        return f"WHEN {first} <= {last} THEN {up} ELSE {down}", None
    if not isinstance(step, exp.Interval):
        e.text.refuse("A sequence of dates with a step that is no interval", step, "Write INTERVAL 1 DAY.")
    amount, unit = interval_of_one_unit(e, step)
    if unit in CLOCK_UNITS or amount < 1:
        e.text.refuse(
            f"A sequence of dates with the step {e.text.shown(step)}", step, "Write whole days, months or years."
        )
    shown = f"INTERVAL '{amount}' {unit}"
    if unit in _MONTHS:
        months = amount * _MONTHS[unit]
        dates = (
            f"list_transform(generate_series(0, datediff('month', {first}, {last}), {months}), "
            f"lambda i: CAST({first} + to_months(CAST(i AS INTEGER)) AS DATE))"
        )
        series = f"list_filter({dates}, lambda d: d <= {last})"
    else:
        series = f"generate_series({first}, {last}, INTERVAL ({amount}) {unit})"
    return f"WHEN {first} <= {last} THEN {series} ELSE {_AGAINST_STEP}", shown


FUNCTIONS = functions(
    "Arrays",
    (
        "sequence(first, last[, step])",
        _sequence,
        "TIMESTAMP; a step that is not a literal; negative steps of dates",
    ),
)
