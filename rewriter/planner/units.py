"""Which calendar unit a function of the time dimension depends on.

``date_trunc('day', t)``, ``to_date(t)`` and ``dayofweek(t)`` depend only on t's day: they give every instant of a day
the same value. So a period answers a query that uses them if it nests in the day (``semantics.md``, rule 2). A
function that is not listed here is raw use of t, which only the base period serves.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.timeline.periods import UpdatePeriod

_P = UpdatePeriod
_NAMES = {
    "MINUTE": _P.MINUTELY, "HOUR": _P.HOURLY,
    "DAY": _P.DAILY, "DD": _P.DAILY, "WEEK": _P.WEEKLY,
    "MONTH": _P.MONTHLY, "MM": _P.MONTHLY, "MON": _P.MONTHLY,
    "QUARTER": _P.QUARTERLY, "YEAR": _P.YEARLY, "YYYY": _P.YEARLY, "YY": _P.YEARLY,
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expr], UpdatePeriod] = {
    exp.Year: _P.YEARLY, exp.Quarter: _P.QUARTERLY, exp.Month: _P.MONTHLY, exp.WeekOfYear: _P.WEEKLY,
    exp.Day: _P.DAILY, exp.DayOfMonth: _P.DAILY, exp.DayOfWeek: _P.DAILY, exp.DayOfYear: _P.DAILY,
    exp.LastDay: _P.MONTHLY,
    exp.Hour: _P.HOURLY, exp.Minute: _P.MINUTELY,
}  # fmt: skip
#: What parses as a wrapper around t but has no text of its own and changes nothing.
_TRANSPARENT = (exp.TimeStrToTime, exp.Paren)
_STRFTIME = {
    "%Y": _P.YEARLY, "%m": _P.MONTHLY, "%d": _P.DAILY, "%H": _P.HOURLY, "%M": _P.MINUTELY,
}  # fmt: skip


def unit_named(name: str) -> UpdatePeriod | None:
    """The period that a unit of date_trunc, trunc or extract names, or ``None``."""
    return _NAMES.get(name.upper())


def truncation(node: exp.Expr, operand: exp.Expr) -> UpdatePeriod | None:
    """The unit U where ``node`` answers the start of the operand's U (so it orders as time does), or ``None``."""
    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc) and node.this is operand:
        unit = node.args.get("unit")
        period = unit_named(unit.name) if unit is not None and not node.args.get("zone") else None
        # TRUNC answers NULL for units finer than a week.
        return None if period and isinstance(node, exp.DateTrunc) and period < _P.WEEKLY else period
    if isinstance(node, exp.TsOrDsToDate) and node.this is operand and not node.args.get("format"):
        # DATEDIFF(HOUR, …) is parsed with dates around its operands, too, and takes none.
        return None if isinstance(node.parent, exp.DateDiff) and node.parent.args.get("unit") else _P.DAILY
    if isinstance(node, exp.Cast | exp.TryCast) and node.this is operand and node.to.is_type("date"):
        return _P.DAILY
    return None


def unit_of(node: exp.Expr, operand: exp.Expr) -> UpdatePeriod | None:
    """The unit that ``node`` depends on, as a function of ``operand`` alone, or ``None`` for a function not known."""
    truncated = truncation(node, operand)
    if truncated is not None:
        return truncated
    if isinstance(node, exp.Extract) and node.expression is operand:
        # EXTRACT counts weeks by ISO and years by the calendar; only the plain units are taken.
        return (
            unit_named(node.name)
            if node.name.upper() in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE")
            else None
        )
    if isinstance(node, exp.TimeToStr) and node.this is operand:
        return _format_unit(node.text("format"))
    unit = _FUNCTIONS.get(type(node))
    extra = any(value for key, value in node.args.items() if key not in ("this", "safe"))
    return unit if unit is not None and node.this is operand and not extra else None


def _format_unit(strftime: str) -> UpdatePeriod | None:
    """The finest unit in a format as sqlglot translated it; ``None`` where any letter is not understood."""
    plain = strftime.replace("strict", "")
    units = [_STRFTIME.get(found) for found in re.findall(r"%.", plain)]
    rest = re.sub(r"%.", "", plain)
    if not units or None in units or re.search(r"[A-Za-z%]", rest):
        return None
    return min(unit for unit in units if unit is not None)


def used_unit(column: exp.Column) -> tuple[UpdatePeriod | None, exp.Expr]:
    """The unit in which an occurrence of t is used, and the outermost function that says so.

    ``None`` is raw use. ``year(to_date(t))`` depends on the year alone, because days nest in years.
    """
    unit: UpdatePeriod | None = None
    node: exp.Expr = column
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, _TRANSPARENT):
            node = parent
            continue
        outer = unit_of(parent, node)
        if outer is None:
            break
        # The value depends on the inner unit in any case; on the outer one where the inner nests in it.
        unit = outer if unit is None or unit.nests_in(outer) else unit
        node = parent
    return unit, node
