"""Random predicates on the time of a cube with a zone, and what they mean over instants and wall times."""

from __future__ import annotations

import random

from rewriter.timeline.periods import UpdatePeriod

from .expressions import Offered
from .periods import HOUR, instant_text, period, wall
from .queries import Expr
from .ranges import instants, timestamp
from .schemas import CubeSchema

P = UpdatePeriod


def zoned_range(rng: random.Random, column: Offered, cube: CubeSchema, now: int) -> Expr:
    """A predicate that reduces to ranges."""
    first, second = instants(rng, cube.stretch, cube.base)
    if rng.random() < 0.2:
        return _time_range_in(rng, column, cube, first, second, now)
    t, w, zone = column.text, column.hidden("rw_wall"), cube.zone
    a, b, x, y = _typed(rng, zone, first), _typed(rng, zone, second), timestamp(first), timestamp(second)
    middle = (first + second) // 2 // HOUR * HOUR
    hole, z = _typed(rng, zone, middle), timestamp(middle)
    first_day, last_day = wall(zone, first).date(), wall(zone, second).date()
    month, today = period(P.MONTHLY, zone), wall(zone, now).date()
    starts = timestamp(month.floor(second))
    asked, means = rng.choice(
        (
            *3 * ((f"{t} >= {a} AND {t} < {b}", f"{t} >= {x} AND {t} < {y}"),),
            (f"{b} > {t} AND {a} <= {t}", f"{t} >= {x} AND {t} < {y}"),
            (f"{t} BETWEEN {a} AND {b}", f"{t} BETWEEN {x} AND {y}"),
            (f"NOT ({t} < {a} OR {t} >= {b})", f"{t} >= {x} AND {t} < {y}"),
            (f"{t} >= {a}", f"{t} >= {x}"),
            (f"{t} < {b}", f"{t} < {y}"),
            (f"({t} < {a} OR {t} >= {b})", f"({t} < {x} OR {t} >= {y})"),
            (f"{t} > {a} AND {t} <= {b}", f"{t} > {x} AND {t} <= {y}"),
            (f"{t} >= {a} AND {t} < {b} AND {t} <> {hole}", f"{t} >= {x} AND {t} < {y} AND {t} <> {z}"),
            (f"{t} IN ({a}, {b}, {hole})", f"{t} IN ({x}, {y}, {z})"),
            (f"{t} = {a}", f"{t} = {x}"),
            (
                f"to_date({t}) BETWEEN '{first_day}' AND DATE '{last_day}'",
                f"to_date({w}) BETWEEN '{first_day}' AND DATE '{last_day}'",
            ),
            (f"CAST({t} AS DATE) < DATE '{last_day}'", f"CAST({w} AS DATE) < DATE '{last_day}'"),
            (f"date_trunc('day', {t}) = '{first_day}'", f"CAST({w} AS DATE) = DATE '{first_day}'"),
            (f"date_trunc('MONTH', {t}) <= '{last_day:%Y-%m}-01'", f"{column.hidden('rw_month')} <= {starts}"),
            (f"date_format({t}, 'yyyy-MM-dd') = '{first_day}'", f"date_format({w}, 'yyyy-MM-dd') = '{first_day}'"),
            (f"year({t}) = {first_day.year} AND {t} < {b}", f"year({w}) = {first_day.year} AND {t} < {y}"),
            (f"year({t}) >= {first_day.year}", f"year({w}) >= {first_day.year}"),
            (
                f"year({t}) = {first_day.year} AND month({t}) = {first_day.month}",
                f"year({w}) = {first_day.year} AND month({w}) = {first_day.month}",
            ),
            (f"to_date({t}) < current_date()", f"to_date({w}) < DATE '{today}'"),
        )
    )
    return Expr("boolean", (f"({asked})",), (f"({means})",))


def odd_zoned_use(rng: random.Random, column: Offered, cube: CubeSchema, predicate: str) -> Expr:
    """A predicate on time that is not a range; ``predicate`` is a predicate on something else."""
    at = rng.randrange(*cube.stretch) // HOUR * HOUR
    t, w, a, x = column.text, column.hidden("rw_wall"), _typed(rng, cube.zone, at), timestamp(at)
    month = rng.randrange(1, 13)
    asked, means, unit = rng.choice(
        (
            (f"month({t}) = {month}", f"month({w}) = {month}", P.MONTHLY),
            (f"dayofweek({t}) IN (1, 7)", f"dayofweek({w}) IN (1, 7)", P.DAILY),
            (f"hour({t}) >= 12", f"hour({w}) >= 12", P.HOURLY),
            (f"({t} < {a} OR {predicate})", f"({t} < {x} OR {predicate})", None),
            (f"{t} IS NULL", f"{t} IS NULL", None),
            (f"{t} IS NOT NULL", f"{t} IS NOT NULL", None),
            (f"({t} IS NULL OR {t} >= {a})", f"({t} IS NULL OR {t} >= {x})", None),
        )
    )
    return Expr("boolean", (asked,), (means,), units=frozenset([unit] if unit else ()), raw=unit is None)


def _time_range_in(rng: random.Random, column: Offered, cube: CubeSchema, first: int, second: int, now: int) -> Expr:
    base, zone, t = cube.base, cube.zone, column.text
    if rng.random() < 0.8:
        first, second = base.ceil(first), base.ceil(second)
    if first == second:
        second = base.end(base.ordinal(second))
    texts = f"'{instant_text(zone, first, 'T')}', {_typed(rng, zone, second)}"
    day = period(P.DAILY, zone)
    if rng.random() < 0.3 and base.kind <= P.DAILY:
        days = max(0, day.ordinal(now) - day.ordinal(first))
        start, end = day.start(day.ordinal(now) - days), day.end(day.ordinal(second))
        if start < end:
            first, second = start, end
            texts = f"'now.day - {days} days', '{wall(zone, second).date()}'"
    cuts = not (base.is_aligned(first) and base.is_aligned(second))
    plain = f"({t} >= {timestamp(first)} AND {t} < {timestamp(second)})"
    return Expr("boolean", (f"time_range_in({t}, {texts})",), (plain,), cuts=cuts)


def _typed(rng: random.Random, zone: str, instant: int) -> str:
    """A text that means the instant in the zone."""
    if rng.random() < 0.15:
        return f"'{instant_text('UTC', instant)}Z'"
    text = instant_text(zone, instant)
    return f"'{text.removesuffix(' 00:00:00')}'"
