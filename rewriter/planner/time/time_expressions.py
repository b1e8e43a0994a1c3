"""Chains of time-valued functions over the time dimension t.

``CAST(date_trunc('month', t + INTERVAL 1 DAY) AS DATE)`` is t, moved by a day, cut to its month, as a date. Both the
units in which t is used and the ranges of predicates follow such chains, from t outwards.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.sqlglot_trees import TIMESTAMPS, is_of_type
from rewriter.planner.time.constant_folding import NO_INTERVAL, Constants, Interval, Kind
from rewriter.planner.time.datetime_fields import unit_named
from rewriter.timeline.civil import DAY, HOUR, MINUTE
from rewriter.timeline.periods import UpdatePeriod

_P = UpdatePeriod
_LENGTHS = {_P.MINUTELY: MINUTE, _P.HOURLY: HOUR, _P.DAILY: DAY, _P.WEEKLY: 7 * DAY}
_MONTHS = {_P.MONTHLY: 1, _P.QUARTERLY: 3, _P.YEARLY: 12}


@dataclass(frozen=True)
class Chain:
    """A time derived from t: ``t + shift``, then cut to its ``unit`` (``None``: not cut), as a DATE or a TIMESTAMP.

    ``starts`` says that it is the unit's start; ``last_day`` is another instant of the same month. ``depends`` is the
    coarsest known unit whose start alone decides the value.
    """

    shift: Interval = NO_INTERVAL
    unit: UpdatePeriod | None = None
    date: bool = False
    starts: bool = True
    depends: UpdatePeriod | None = None

    def coarsest_unit(self, unit: UpdatePeriod) -> UpdatePeriod | None:
        """Returns the unit U such that a function of the chain's ``unit`` is a function of t's U, or ``None``."""
        if self.unit is not None and not self.unit.nests_in(unit):
            return self.depends
        moved_unit = _moved_unit(unit, self.shift)
        if self.depends is None or (moved_unit is not None and self.depends.nests_in(moved_unit)):
            return moved_unit
        return self.depends


def utc_time(column: exp.Expr, zone: str) -> exp.Expr | None:
    """Returns the call ``to_utc_timestamp(t, 'zone')`` around ``column``: t on the clocks of UTC, in a cube of that
    zone. ``None`` if there is none.
    """
    node = column
    while isinstance(node.parent, exp.Paren | exp.Cast) and node.parent.this is node:
        node = node.parent
    call = node.parent
    is_utc_time = isinstance(call, exp.FromTimeZone) and call.this is node and _is_text(call.args["zone"], zone)
    return call if is_utc_time else None


def _is_text(node: exp.Expr, text: str) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string) and node.name == text


def climb(column: exp.Expr, constants: Constants, top: exp.Expr | None = None) -> tuple[Chain, exp.Expr]:
    """Returns the chain of the functions around ``column``, up to ``top`` or as far as they are time-valued and known,
    and the outermost of them.
    """
    chain, node = Chain(), column
    current: exp.Expr = node
    while current is not top and current.parent is not None:
        wider = _through(chain, current.parent, current, constants)
        if wider is None:
            break
        chain, current = wider, current.parent
    return chain, current


def truncation(node: exp.Expr, operand: exp.Expr) -> UpdatePeriod | None:
    """Returns the unit U if ``node`` is the start of the operand's U (and so is monotone in time), or ``None``."""
    if node.this is not operand:
        return None
    match node:
        case exp.TimestampTrunc() | exp.DateTrunc():
            period = unit_named(node.text("unit")) if not node.args.get("zone") else None
            # TRUNC returns NULL for units finer than a week.
            return None if period and isinstance(node, exp.DateTrunc) and period < _P.WEEKLY else period
        case exp.TsOrDsToDate():
            # DATEDIFF(HOUR, …) is also parsed with dates around its operands, but takes none.
            return None if isinstance(node.parent, exp.DateDiff) and node.parent.args.get("unit") else _P.DAILY
        case exp.Cast() | exp.TryCast() if not node.args.get("format"):
            return _P.DAILY if is_of_type(node.args["to"], exp.DType.DATE) else None
    return None


def _through(chain: Chain, node: exp.Expr, operand: exp.Expr, constants: Constants) -> Chain | None:
    """Returns the chain of ``node``, a function of ``operand``, whose chain is given; ``None`` if ``node``
    forms none.
    """
    unit = truncation(node, operand)
    if unit is not None:
        return _cut(chain, unit, date=not isinstance(node, exp.TimestampTrunc))
    match node:
        # sqlglot reads date_format(t, …) with a cast to a time around t.
        case exp.Paren() | exp.TimeStrToTime():
            return chain
        case exp.Cast() | exp.TryCast() if not node.args.get("format"):
            kind = node.args["to"]
            return replace(chain, date=False) if is_of_type(kind, *TIMESTAMPS) else None
        case exp.LastDay() if not node.args.get("unit"):
            cut = _cut(chain, _P.MONTHLY, date=True)
            return replace(cut, starts=False) if cut is not None else None
        case exp.Add() | exp.Sub():
            return _add_interval(chain, node, operand, constants)
        case exp.TimestampAdd() | exp.TsOrDsAdd() | exp.AddMonths() if node.this is operand:
            step, keeps_time = constants.step(node), isinstance(node, exp.TimestampAdd)
            time = replace(chain, date=False) if keeps_time else _cut(chain, _P.DAILY, date=True)
            return _shifted(time, step) if time is not None and step is not None else None
    return None


def _add_interval(chain: Chain, node: exp.Expr, operand: exp.Expr, constants: Constants) -> Chain | None:
    if isinstance(node, exp.Sub) and node.this is not operand:
        return None
    value = constants.fold(node.expression if node.this is operand else node.this)
    if value is None:
        return None
    if value.kind is Kind.INTEGER and chain.date:
        step = Interval(micros=value.number * DAY)
    elif value.kind is Kind.INTERVAL:
        step = Interval(value.months, value.number)
    else:
        return None
    return _shifted(chain, -step if isinstance(node, exp.Sub) else step)


def _cut(chain: Chain, unit: UpdatePeriod, date: bool) -> Chain | None:
    if chain.unit is None or chain.unit.nests_in(unit):
        return replace(chain, unit=unit, date=date, starts=True, depends=chain.coarsest_unit(unit))
    # The start of a month is the start of its day. A DATE is the start of a day, an hour and a minute anyway.
    is_unchanged = unit <= _P.DAILY if chain.date else chain.starts and unit.nests_in(chain.unit)
    return replace(chain, date=date) if is_unchanged else None


def _shifted(chain: Chain, interval: Interval) -> Chain | None:
    """Returns the chain, moved further. If it is cut already, only if cutting after the move gives the same result."""
    if chain.unit is not None and _moved_unit(chain.unit, interval) is not chain.unit:
        return None
    if chain.shift == NO_INTERVAL:
        total = interval
    elif chain.shift.months or interval.months:
        # A month forward and a month back does not always end where it began.
        return None
    else:
        total = Interval(micros=chain.shift.micros + interval.micros)
    return replace(chain, shift=total, date=chain.date and interval.micros % DAY == 0)


def _moved_unit(unit: UpdatePeriod, shift: Interval) -> UpdatePeriod | None:
    """Returns the coarsest U such that the ``unit`` of t + shift is a function of t's U; ``None`` if it is finer than
    all units.
    """
    if shift.months:
        if unit not in _MONTHS:
            # Days are clamped to the month's length, so weeks do not move as a whole.
            return _P.DAILY if unit is _P.WEEKLY else unit
        return max(period for period, months in _MONTHS.items() if period <= unit and shift.months % months == 0)
    if shift.micros:
        candidate_units = (
            period for period, length in _LENGTHS.items() if shift.micros % length == 0 and period.nests_in(unit)
        )
        return max(candidate_units, default=None)
    return unit
