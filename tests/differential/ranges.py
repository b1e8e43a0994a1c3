"""Random predicates on time, in all forms that users write."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from rewriter.timeline.periods import UpdatePeriod

from .expressions import Offered
from .periods import DAY, HOUR, Period, period
from .queries import Expr
from .schemas import CubeSchema

_GRIDS = {UpdatePeriod.MINUTELY: HOUR // 60, UpdatePeriod.HOURLY: HOUR}
#: Units of the present, and their words.
_RELATIVE = {
    UpdatePeriod.HOURLY: "hour", UpdatePeriod.DAILY: "day", UpdatePeriod.MONTHLY: "month", UpdatePeriod.YEARLY: "year",
}  # fmt: skip


def instants(rng: random.Random, extent: tuple[int, int], base: Period) -> tuple[int, int]:
    """Returns two instants in order: anywhere around the extent, near each other, or on the edges of coarse periods,
    for which rollups are used.
    """
    usual = _GRIDS.get(base.kind, DAY)
    grid = rng.choice((usual, usual, HOUR, DAY))
    start, end = extent
    steps = max(1, (end - start) // grid)
    kind = rng.randrange(4)
    # A range beyond the extent is missing nearly always, so it is rare.
    beyond = rng.random() < 0.2
    if kind == 0:
        low, high = (-1, steps + 2) if beyond else (0, steps + 1)
        first, second = sorted(start + rng.randrange(low, high) * grid for _ in range(2))
    elif kind == 1:
        first = start + rng.randrange(steps) * grid
        second = first + rng.randrange(1, 1 + max(1, steps // 4)) * grid
    else:
        first, second = sorted(rng.sample(_edges(rng, extent, base, beyond=beyond), 2))
    return (first, second) if first < second else (first, first + grid)


def _edges(rng: random.Random, extent: tuple[int, int], base: Period, *, beyond: bool) -> list[int]:
    """Returns the starts of some coarser period around the extent, or inside it if there are at least two."""
    start, end = extent
    coarser = [period(kind, base.zone) for kind in UpdatePeriod if kind > base.kind]
    by_period = {p: [p.start(o) for o in range(p.ordinal(start), p.ordinal(end - 1) + 2)] for p in coarser}
    inside = [[edge for edge in edges if start <= edge <= end] for edges in by_period.values()]
    divided = [edges for edges in inside if len(edges) > 1]
    return rng.choice(divided if divided and not beyond else list(by_period.values()))


def time_range(rng: random.Random, column: Offered, cube: CubeSchema, now: int) -> Expr:
    """Returns a predicate on the leading time of a cube in UTC that reduces to ranges."""
    base = cube.base
    first, second = instants(rng, cube.stretch, base)
    a, b = _typed(rng, first), _typed(rng, second)
    hole = timestamp((first + second) // 2 // HOUR * HOUR)
    t = column.text
    if rng.random() < 0.12:
        return Expr("boolean", (f"({rng.choice(_fields_and_texts(t, first, second))})",))
    if rng.random() < 0.04:
        return _since_now(rng, t, first, now)
    if rng.random() < 0.2:
        return _time_range_in(rng, t, first, second, base, now)
    texts = (
        *3 * (f"{t} >= {a} AND {t} < {b}",),
        f"{b} > {t} AND {a} <= {t}",
        f"{t} BETWEEN {a} AND {b}",
        f"NOT ({t} < {a} OR {t} >= {b})",
        f"{t} >= {a}",
        f"{t} < {b}",
        f"({t} < {a} OR {t} >= {b})",
        f"{t} > {a} AND {t} <= {b}",
        f"{t} >= {a} AND {t} < {b} AND {t} <> {hole}",
        f"{t} IN ({a}, {b}, {hole})",
        f"{t} = {a}",
        f"NOT ({t} BETWEEN {a} AND {b})",
        f"({t} IS NULL OR {t} >= {a})",
        f"CAST({t} AS DATE) >= CAST({a} AS DATE) AND date_trunc('month', {t}) <= {timestamp(second)}",
        f"to_date({t}) BETWEEN {_date(first)} AND {_date(second)}",
        f"date_trunc('day', {t}) = {timestamp(first // DAY * DAY)}",
        f"date_trunc('HOUR', {t}) < {timestamp(second)}",
        f"year({t}) = {_year(first)} AND {t} >= {timestamp(first)} AND {t} < {timestamp(second)}",
        f"year({t}) = {_year(first)}",
        f"year({t}) >= {_year(first)}",
        f"{t} >= {timestamp(first)} + INTERVAL 1 DAY AND {t} < {timestamp(second)} + INTERVAL 1 DAY",
    )
    return Expr("boolean", (f"({rng.choice(texts)})",))


def _fields_and_texts(t: str, first: int, second: int) -> tuple[str, ...]:
    """Returns ranges in fields of the time and in texts of it."""
    return (
        f"year({t}) = {_year(first)} AND month({t}) IN ({_month(first)}, {_month(second)})",
        f"year({t}) = {_year(first)} AND month({t}) = {_month(first)} AND day({t}) <= {_day(first)}",
        f"hour({t}) >= 12 AND day({t}) = {_day(first)} AND month({t}) = '{_month(first)}' "
        f"AND year({t}) = {_year(first)}",
        f"NOT (year({t}) <> {_year(first)} OR quarter({t}) <> {(_month(first) + 2) // 3})",
        f"date_format({t}, 'yyyy-MM') = '{_text(first)[:7]}'",
        f"date_format({t}, 'yyyyMMdd') BETWEEN '{_text(first)[:10].replace('-', '')}' AND "
        f"'{_text(second)[:10].replace('-', '')}'",
        f"CAST({t} AS STRING) >= '{_text(first)[:10]}' AND CAST({t} AS STRING) < '{_text(second)[:13]}'",
        f"{t} >= '{_text(first)[:7]}' AND {t} < '{_text(second)[:4]}'",
    )


def second_range(rng: random.Random, column: Offered, cube: CubeSchema) -> Expr:
    """Returns a predicate on a second time that reduces to ranges. It uses time in the coarsest unit that no end of
    them cuts: nothing finer than the leading time fills the ends.
    """
    base, t = cube.base, column.text
    first, second = instants(rng, cube.stretch, base)
    day, month = period(UpdatePeriod.DAILY), period(UpdatePeriod.MONTHLY)
    a, b = _typed(rng, first), _typed(rng, second)
    start, behind = f"'{_text(first)}'", f"'{_text(second)}'"
    cuts = False
    text, ends = rng.choice(
        (
            *3 * ((f"{t} >= {a} AND {t} < {b}", (first, second)),),
            (f"{t} >= {a}", (first,)),
            (f"{b} > {t}", (second,)),
            (f"NOT ({t} < {a} OR {t} >= {b})", (first, second)),
            (f"({t} < {a} OR {t} >= {b})", (first, second)),
            (f"{t} BETWEEN {a} AND {b}", (first, second + 1)),
            (f"{t} = {a}", (first, first + 1)),
            (f"to_date({t}) = {_date(first)}", (day.floor(first), day.end(day.ordinal(first)))),
            (f"to_date({t}) < {_date(second)}", (day.floor(second),)),
            (f"date_trunc('month', {t}) = {_date(month.floor(first))}", (month.floor(first), month.ceil(first + 1))),
            (f"time_range_in({t}, {start}, {behind})", (first, second)),
        )
    )
    plain = None
    if text.startswith("time_range_in"):
        plain = (f"({t} >= {timestamp(first)} AND {t} < {timestamp(second)})",)
        cuts = not (base.is_aligned(first) and base.is_aligned(second))
    kinds = (kind for kind in reversed(UpdatePeriod) if all(period(kind).is_aligned(base.ceil(end)) for end in ends))
    return Expr("boolean", (f"({text})",), plain, units=frozenset([next(kinds)]), cuts=cuts)


def odd_use(rng: random.Random, used: Offered, cube: CubeSchema, predicate: str) -> Expr:
    """Returns a predicate on time that is not a range. ``predicate`` is a predicate on another column."""
    column, bound = used.text, timestamp(rng.randrange(*cube.stretch) // HOUR * HOUR)
    text, unit = rng.choice(
        (
            (f"month({column}) = {rng.randrange(1, 13)}", UpdatePeriod.MONTHLY),
            (f"dayofweek({column}) IN (1, 7)", UpdatePeriod.DAILY),
            (f"hour({column}) >= 12", UpdatePeriod.HOURLY),
            (f"({column} < {bound} OR {predicate})", None),
            (f"{column} IS NULL", None),
            (f"{column} IS NOT NULL", None),
            (f"({column} IS NULL OR {column} >= {bound})", None),
            (f"coalesce({column}, {bound}) <= {bound}", None),
        )
    )
    return Expr("boolean", (text,), units=frozenset([unit] if unit else ()), raw=unit is None)


def timestamp(instant: int) -> str:
    """Returns an instant as a literal of Spark SQL."""
    return f"TIMESTAMP '{_text(instant)}'"


def _time_range_in(rng: random.Random, t: str, first: int, second: int, base: Period, now: int) -> Expr:
    # It promises exactness, so only complete base periods make sense. Sometimes it gets others.
    if rng.random() < 0.8:
        first, second = base.ceil(first), base.ceil(second)
    if first == second:
        second = base.end(base.ordinal(second))
    kind = rng.randrange(5)
    if kind == 0 and second <= now and now % HOUR == 0:
        days = (now // DAY) - first // DAY
        bounds, first, second = f"'now.day - {days} days', 'now'", now // DAY * DAY - days * DAY, now
        if not (base.is_aligned(first) and base.is_aligned(second)):
            bounds, first, second = f"'{_text(base.floor(first))}', 'now.year'", base.floor(first), _year_start(now)
            if first >= second:
                second = base.end(base.ordinal(first))
                bounds = f"'{_text(first)}', '{_text(second)}'"
    elif kind == 1 and first % DAY == 0 and second % DAY == 0:
        bounds = f"'{_text(first)[:10]}', '{_text(second)[:10]}'"
    elif kind == 4:
        bounds = f"'{_relative(rng, first, now)}', '{_relative(rng, second, now)}'"
    elif kind == 2:
        bounds = f"{timestamp(first)}, {timestamp(second)}"
    else:
        bounds = f"'{_text(first).replace(' ', 'T')}', '{_text(second)}'"
    name = rng.choice(("time_range_in", "TIME_RANGE_IN"))
    plain = f"({t} >= {timestamp(first)} AND {t} < {timestamp(second)})"
    cuts = not (base.is_aligned(first) and base.is_aligned(second))
    return Expr("boolean", (f"{name}({t}, {bounds})",), (plain,), cuts=cuts)


def _relative(rng: random.Random, instant: int, now: int) -> str:
    """Returns an instant of whole minutes as a chain of steps from the present."""
    unit = period(rng.choice(list(_RELATIVE)))
    word = _RELATIVE[unit.kind]
    days, rest = divmod(instant - unit.floor(now), DAY)
    steps = ((days, "days"), (rest // HOUR, "hours"), (rest % HOUR // (HOUR // 60), "minutes"))
    return f"now.{word}" + "".join(f" {'-' if n < 0 else '+'} {abs(n)} {name}" for n, name in steps if n)


def _since_now(rng: random.Random, t: str, first: int, now: int) -> Expr:
    """Returns a range that ends now or a little earlier, in functions of the present."""
    days = max(1, (now - first) // DAY)
    start, end = now - days * DAY, rng.choice((("now()", now), ("date_trunc('DAY', now())", now // DAY * DAY)))
    begins = (f"current_timestamp() - INTERVAL {days} DAYS", start)
    if rng.random() < 0.5:
        begins = (f"current_date() - INTERVAL {days} DAYS", start // DAY * DAY)
    (low, a), (high, b) = begins, end
    return Expr(
        "boolean",
        (f"({t} >= {low} AND {t} < {high})",),
        (f"({t} >= {timestamp(a)} AND {t} < {timestamp(b)})",),
    )


def _typed(rng: random.Random, instant: int) -> str:
    """Returns an instant in one of the forms of a constant."""
    forms = [timestamp(instant)] * 3 + [f"'{_text(instant)}'", f"CAST('{_text(instant)}' AS TIMESTAMP)"]
    if instant % DAY == 0:
        forms += [f"'{_text(instant)[:10]}'", _date(instant)]
    return rng.choice(forms)


def _date(instant: int) -> str:
    return f"DATE '{_text(instant)[:10]}'"


def _text(instant: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(microseconds=instant)).isoformat(sep=" ")


def _year(instant: int) -> int:
    return datetime.fromtimestamp(instant / 1e6, UTC).year


def _month(instant: int) -> int:
    return datetime.fromtimestamp(instant / 1e6, UTC).month


def _day(instant: int) -> int:
    return datetime.fromtimestamp(instant / 1e6, UTC).day


def _year_start(instant: int) -> int:
    return period(UpdatePeriod.YEARLY).floor(instant)
