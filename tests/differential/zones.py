"""Random questions about a cube with a time zone, and their results in plain Python with ``zoneinfo``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from rewriter.session import Session

HOUR = timedelta(hours=1)
Instant = datetime
Function = Callable[[Instant], object]


@dataclass(frozen=True)
class Event:
    at: Instant
    origin: str
    n: int


@dataclass(frozen=True)
class World:
    """A zone, and the rows of a cube; without ``hours`` a row's time is the first instant of its day."""

    zone: str
    first: date
    last: date
    hours: bool
    events: tuple[Event, ...]

    @property
    def tz(self) -> ZoneInfo:
        return ZoneInfo(self.zone)

    def local(self, at: Instant) -> datetime:
        return at.astimezone(self.tz)

    def wall(self, wall: datetime) -> Instant:
        """The instant of a wall time: the earlier of two, and what a gap leaves out is moved by its length."""
        return wall.replace(tzinfo=self.tz, fold=0).astimezone(UTC)

    def midnight(self, day: date) -> Instant:
        """The first instant of a day, sought among all quarters of an hour."""
        at = datetime.combine(day, time(), UTC) - 18 * HOUR
        while self.local(at).date() < day:
            at += HOUR / 4
        return at


def world(zone: str, first: date, last: date, seed: int, *, hours: bool) -> World:
    """A world with a row or two in each hour, or each day, of these days."""
    chosen = random.Random(seed)
    empty = World(zone, first, last, hours, ())
    at, end = empty.midnight(first), empty.midnight(last + timedelta(days=1))
    times = []
    while at < end:
        times.append(at)
        at = at + HOUR if hours else empty.midnight(empty.local(at).date() + timedelta(days=1))
    events = tuple(
        Event(at, origin, chosen.randrange(100)) for at in times for origin in chosen.sample(["JFK", "LGA", "EWR"], 2)
    )
    return World(zone, first, last, hours, events)


def build(session: Session, here: World, seed: int) -> None:
    """The cube, its rows by hours or days, and rollups of which some are missing."""
    chosen = random.Random(seed)
    session.execute(
        "CREATE CUBE c (origin STRING, events BIGINT MEASURE COUNT, n BIGINT MEASURE SUM, t TIMESTAMP TIME) "
        f"TIME ZONE '{here.zone}'"
    )
    tables = {"days": "%Y-%m-%d", "months": "%Y-%m"}
    for name in ("hours", *tables):
        session.execute(f"CREATE TABLE {name} (origin STRING, events BIGINT, n BIGINT) PARTITIONED BY (p STRING)")
    periods = {"hours": "HOURLY", "days": "DAILY", "months": "MONTHLY"}
    used = periods if here.hours else {name: periods[name] for name in tables}
    listed = ", ".join(f"TABLE {name} PERIOD {period} PARTITIONED BY t AS (p)" for name, period in used.items())
    session.execute(f"CREATE FACT f OF CUBE c STORED IN ({listed})")
    if here.hours:
        _insert(session, "hours", [(e.origin, 1, e.n, e.at.strftime("%Y-%m-%d-%H")) for e in here.events])
    for name, pattern in tables.items():
        groups: dict[tuple[str, str], list[int]] = {}
        for event in here.events:
            groups.setdefault((event.origin, here.local(event.at).strftime(pattern)), []).append(event.n)
        cut_months = {here.first.strftime("%Y-%m"), here.last.strftime("%Y-%m")} if here.first.day > 1 else set()
        parts = sorted({part for _, part in groups} - (cut_months if name == "months" else set()))
        if name != "days" or here.hours:
            parts = [part for part in parts if chosen.random() < 0.7]
        _insert(session, name, [(o, len(ns), sum(ns), p) for (o, p), ns in groups.items() if p in parts])


def _insert(session: Session, table: str, rows: list[tuple[object, ...]]) -> None:
    if rows:
        session.execute(f"INSERT INTO {table} VALUES " + ", ".join(map(str, rows))).fetch()


def functions(here: World) -> dict[str, Function]:
    """Functions of t in SQL and in Python."""

    def day(at: Instant) -> date:
        return here.local(at).date()

    def month(at: Instant) -> date:
        return day(at).replace(day=1)

    def unit(start: Callable[[date], date]) -> Function:
        return lambda at: here.midnight(start(day(at)))

    def quarter(local: date) -> date:
        return date(local.year, (local.month + 2) // 3 * 3 - 2, 1)

    return {
        "t": lambda at: at,
        "date_trunc('DAY', t)": unit(lambda local: local),
        "date_trunc('week', t)": unit(lambda local: local - timedelta(days=local.weekday())),
        "date_trunc('month', t)": unit(lambda local: local.replace(day=1)),
        "date_trunc('quarter', c.t)": unit(quarter),
        "date_trunc('YEAR', t)": unit(lambda local: local.replace(month=1, day=1)),
        "date_trunc('hour', t)": lambda at: at - timedelta(minutes=here.local(at).minute),
        "date_trunc('month', date_trunc('day', t))": unit(lambda local: local.replace(day=1)),
        "CAST(date_trunc('month', t) AS DATE)": month,
        "year(t)": lambda at: day(at).year,
        "month(t)": lambda at: day(at).month,
        "quarter(t)": lambda at: (day(at).month + 2) // 3,
        "day(t)": lambda at: day(at).day,
        "dayofweek(t)": lambda at: day(at).isoweekday() % 7 + 1,
        "weekofyear(t)": lambda at: day(at).isocalendar().week,
        "hour(t)": lambda at: here.local(at).hour,
        "minute(c.t)": lambda at: here.local(at).minute,
        "EXTRACT(DAY FROM t)": lambda at: day(at).day,
        "date_format(t, 'yyyy-MM-dd HH')": lambda at: here.local(at).strftime("%Y-%m-%d %H"),
        "date_format(t, 'yyyy-MM')": lambda at: here.local(at).strftime("%Y-%m"),
        "to_date(t)": day,
        "CAST(t AS DATE)": day,
        "trunc(t, 'MM')": month,
        "date_add(t, 3)": lambda at: day(at) + timedelta(days=3),
        "date_sub(t, 1)": lambda at: day(at) - timedelta(days=1),
        "last_day(t)": lambda at: (month(at) + timedelta(days=32)).replace(day=1) - timedelta(days=1),
        "year(to_date(t))": lambda at: day(at).year,
    }


Predicate = tuple[str, Callable[[Instant], bool]]


def predicate(here: World, chosen: random.Random) -> Predicate:
    """A random condition on t."""
    expressions = functions(here)
    days = (here.last - here.first).days

    def a_day() -> date:
        return here.first + timedelta(days=chosen.randrange(-1, days + 2))

    def a_wall() -> tuple[str, Instant]:
        hour = chosen.choice([0, 0, 1, 2, 3, chosen.randrange(24)])
        wall = datetime.combine(a_day(), time(hour, chosen.choice([0, 0, 0, 30])))
        if chosen.random() < 0.2:
            return f"{wall:%Y-%m-%d %H:%M:%S}Z", wall.replace(tzinfo=UTC)
        shown = f"{wall:%Y-%m-%d}" if wall.time() == time() else f"{wall:%Y-%m-%d %H:%M}"
        return shown, here.wall(wall)

    match chosen.randrange(11):
        case 0:
            text, bound = a_wall()
            return f"t >= '{text}'", lambda at: at >= bound
        case 1:
            text, bound = a_wall()
            return f"'{text}' > t", lambda at: at < bound
        case 2:
            (low, start), (high, end) = a_wall(), a_wall()
            return f"t BETWEEN '{low}' AND '{high}'", lambda at: start <= at <= end
        case 3:
            (first_wall, first), (second_wall, second) = a_wall(), a_wall()
            return f"t NOT IN ('{first_wall}', '{second_wall}')", lambda at: at not in (first, second)
        case 4:
            first_wall = a_day()
            return f"to_date(t) <= '{first_wall}'", lambda at: here.local(at).date() <= first_wall
        case 5:
            first_wall = a_day()
            return f"CAST(t AS DATE) = DATE '{first_wall}'", lambda at: here.local(at).date() == first_wall
        case 6:
            first_wall = a_day()
            midnight = here.wall(datetime.combine(first_wall, time()))
            trunc = expressions["date_trunc('DAY', t)"]
            return f"date_trunc('day', t) > '{first_wall}'", lambda at: trunc(at) > midnight  # type: ignore[operator]
        case 7:
            first_wall = a_day()
            return f"date_format(t, 'yyyy-MM-dd') = '{first_wall}'", lambda at: here.local(at).date() == first_wall
        case 8:
            first_wall = a_day()
            return f"month(t) = {first_wall.month}", lambda at: here.local(at).month == first_wall.month
        case 9:
            hour = chosen.randrange(4)
            return f"hour(t) = {hour}", lambda at: here.local(at).hour == hour
    start, end = sorted([a_day(), a_day() + timedelta(days=1)])
    low, high = here.wall(datetime.combine(start, time())), here.wall(datetime.combine(end, time()))
    return f"time_range_in(t, '{start}', '{end}')", lambda at: low <= at < high


def condition(here: World, chosen: random.Random) -> Predicate:
    """One to three predicates, joined."""
    sql, holds = predicate(here, chosen)
    for _ in range(chosen.randrange(3)):
        more, also = predicate(here, chosen)
        match chosen.randrange(4):
            case 0:
                sql, holds = f"({sql} OR {more})", _either(holds, also)
            case 1:
                sql, holds = f"{sql} AND NOT ({more})", _both(holds, lambda at, also=also: not also(at))
            case _:
                sql, holds = f"{sql} AND {more}", _both(holds, also)
    return sql, holds


def _both(first: Callable[[Instant], bool], second: Callable[[Instant], bool]) -> Callable[[Instant], bool]:
    return lambda at: first(at) and second(at)


def _either(first: Callable[[Instant], bool], second: Callable[[Instant], bool]) -> Callable[[Instant], bool]:
    return lambda at: first(at) or second(at)


def question(here: World, chosen: random.Random) -> tuple[str, list[tuple[object, ...]]]:
    """A query, and its rows in order of their text."""
    groupings = functions(here)
    named = chosen.sample(sorted(groupings), chosen.randrange(0, 3))
    dimension = chosen.random() < 0.3
    wanted, holds = condition(here, chosen)
    bound = f"({wanted}) AND t >= '{here.first}' AND t < '{here.last + timedelta(days=1)}'"
    case, counted = predicate(here, chosen)
    use_case = "time_range_in" not in case and chosen.random() < 0.3
    keys = [*named, *(["origin"] if dimension else [])]
    total = f"SUM(CASE WHEN {case} THEN n END)" if use_case else "SUM(n)"
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    sql = f"SELECT {', '.join([*keys, total, 'COUNT(*)'])} FROM c WHERE {bound}{grouped}"
    if chosen.random() < 0.25:
        # The same through a subquery that only projects.
        sql = f"SELECT {', '.join([*keys, total, 'COUNT(*)'])} FROM (SELECT * FROM c) AS c WHERE {bound}{grouped}"
    rows: dict[tuple[object, ...], list[Event]] = {}
    for event in here.events:
        if holds(event.at):
            key = tuple(groupings[name](event.at) for name in named) + ((event.origin,) if dimension else ())
            rows.setdefault(key, []).append(event)
    if not keys:
        rows.setdefault((), [])
    results: list[tuple[object, ...]] = []
    for key, events in rows.items():
        chosen_events = [event for event in events if not use_case or counted(event.at)]
        results.append((*key, sum(event.n for event in chosen_events) if chosen_events else None, len(events)))
    return sql, ordered(results)


def ordered(rows: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Rows in order of their text, instants without a zone."""
    plain = [
        tuple(v.astimezone(UTC).replace(tzinfo=None) if isinstance(v, datetime) and v.tzinfo else v for v in row)
        for row in rows
    ]
    return sorted(plain, key=str)
