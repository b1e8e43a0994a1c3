"""Functions of a group's time in a cube with a zone: SELECT, HAVING and ORDER BY contain the expressions of GROUP BY.

The results are those of plain Python with ``zoneinfo``, over changes of the clocks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from rewriter.session import Session
from tests.differential.test_zones import WORLDS as ZONES
from tests.differential.zones import Event, World, build, functions, ordered, world

#: Zones, the days around a change of theirs, and whether their days are made of hours of UTC.
WORLDS = [
    *ZONES,
    # Years begin on the clocks of UTC, and summers do not.
    ("Europe/London", date(2015, 3, 27), date(2015, 4, 2), True),
    ("Australia/Adelaide", date(2015, 10, 2), date(2015, 10, 5), False),
]
#: Functions of the first instant of a period, in SQL, and of its wall time in Python.
Reading = tuple[str, Callable[[datetime], object]]
OF_ALL: tuple[Reading, ...] = (
    ("to_date({k})", lambda wall: wall.date()),
    ("CAST({k} AS DATE)", lambda wall: wall.date()),
    ("year({k})", lambda wall: wall.year),
    ("quarter({k}) * 10 + month({k})", lambda wall: (wall.month + 2) // 3 * 10 + wall.month),
    ("concat('d', date_format({k}, 'yyyy-MM-dd'))", lambda wall: f"d{wall:%Y-%m-%d}"),
    ("dayofweek({k})", lambda wall: wall.isoweekday() % 7 + 1),
    ("date_add({k}, 3)", lambda wall: wall.date() + timedelta(days=3)),
    ("CASE WHEN {k} IS NULL THEN 'total' ELSE date_format({k}, 'MM') END", lambda wall: f"{wall:%m}"),
)
OF_HOURS: tuple[Reading, ...] = (
    ("hour({k})", lambda wall: wall.hour),
    ("date_format({k}, 'yyyy-MM-dd HH')", lambda wall: f"{wall:%Y-%m-%d %H}"),
)
#: Weeks have no months of their own.
OF_MONTHS: tuple[Reading, ...] = (("year(date_trunc('month', {k}))", lambda wall: wall.year),)
#: Periods of GROUP BY, with the longer ones that consist of them.
KEYS = {
    "date_trunc('hour', t)": ("DAY", "month", "YEAR"),
    "date_trunc('DAY', t)": ("week", "month", "YEAR"),
    "date_trunc('week', t)": (),
    "date_trunc('month', t)": ("YEAR",),
    "date_trunc('quarter', c.t)": ("YEAR",),
    "date_trunc('YEAR', t)": (),
}


@dataclass(frozen=True)
class Question:
    """A query, and its rows in order of their text."""

    sql: str
    rows: list[tuple[object, ...]]


def question(here: World, chosen: random.Random) -> Question:
    """A random query with functions of what it groups by."""
    starts = functions(here)
    # The clocks there change by half an hour: hours beside a grand total are refused.
    key = chosen.choice([key for key in KEYS if "hour" not in key or here.zone != "Australia/Lord_Howe"])
    start_of = starts[key]
    readings: list[tuple[str, Callable[[datetime], object]]] = []
    offered = [*OF_ALL, *(OF_HOURS if "hour" in key else ()), *(() if "week" in key else OF_MONTHS)]
    for text, read in chosen.sample(offered, 2):
        readings.append((text.format(k=key), lambda at, read=read: read(here.local(at))))
    for unit in chosen.sample(KEYS[key], min(1, len(KEYS[key]))):
        of_unit = starts[next(text for text in starts if f"'{unit}', t)" in text or f"'{unit}', c.t)" in text)]
        readings.append((f"date_trunc('{unit}', {key})", of_unit))
    if chosen.random() < 0.5:
        readings.append((key, lambda at: at))
    chosen.shuffle(readings)
    items = [text for text, _ in readings]
    at_key = items.index(key) if key in items else None
    grouped, is_rolled_up, is_by_origin = _group_by(chosen, key, at_key)
    if at_key is not None and grouped.startswith("GROUP BY k"):
        items[at_key] += " AS k"
    middle = here.midnight(here.first + (here.last - here.first) / 2)
    # Spark resolves them over no grand totals, and only one of them over expressions that the list has not.
    place = "" if is_rolled_up else chosen.choice(("", "HAVING", "ORDER BY"))
    condition = f"HAVING to_date({key}) >= '{here.local(middle).date()}'" if place == "HAVING" else ""
    order = f"ORDER BY date_format({key}, 'yyyy-MM-dd'), SUM(n)" if place == "ORDER BY" else ""
    origin = ["origin"] if is_by_origin else []
    sql = (
        f"SELECT {', '.join([*items, *origin, 'SUM(n)', 'COUNT(*)'])} FROM c "
        f"WHERE t >= '{here.first}' AND t < '{here.last + timedelta(days=1)}' {grouped} {condition} {order}"
    )
    groups: dict[tuple[datetime | None, str | None], list[Event]] = {}
    for event in here.events:
        start = start_of(event.at)
        assert isinstance(start, datetime)
        groups.setdefault((start, event.origin if is_by_origin else None), []).append(event)
        if is_rolled_up:
            groups.setdefault((None, None), []).append(event)
    rows: list[tuple[object, ...]] = []
    for (group, of_origin), events in groups.items():
        if condition and (group is None or here.local(group).date() < here.local(middle).date()):
            continue
        values = [("total" if "'total'" in text else None) if group is None else read(group) for text, read in readings]
        rows.append((*values, *([of_origin] if is_by_origin else []), sum(e.n for e in events), len(events)))
    return Question(sql, ordered(rows))


def _group_by(chosen: random.Random, key: str, at_key: int | None) -> tuple[str, bool, bool]:
    """A GROUP BY clause, whether it has a grand total, and whether it groups by the origin, too."""
    clauses = [
        (f"GROUP BY {key}", False, False),
        (f"GROUP BY origin, ({key})", False, True),
        (f"GROUP BY ROLLUP({key})", True, False),
        (f"GROUP BY GROUPING SETS (({key}, origin), ())", True, True),
        (f"GROUP BY {key} WITH ROLLUP", True, False),
    ]
    if at_key is not None:
        clauses += [(f"GROUP BY {at_key + 1}", False, False), ("GROUP BY k", False, False)]
    return chosen.choice(clauses)


def ask(here: World, seed: int, questions: int, folder: Path, engine: object) -> None:
    chosen = random.Random(seed)
    with Session(folder / "warehouse", engine) as session:  # type: ignore[arg-type]
        build(session, here, seed)
        for number in range(questions):
            asked = question(here, chosen)
            rows = ordered(session.execute(asked.sql).fetch())
            assert rows == asked.rows, f"{here.zone}, seed {seed}, question {number}: {asked.sql}"


@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_functions_of_groups(zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    ask(world(zone, first, last, 1, hours=hours), 1, 25, tmp_path, "duckdb")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 4))
@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_functions_of_many_groups(seed: int, zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    ask(world(zone, first, last, seed, hours=hours), seed, 80, tmp_path, "duckdb")


def test_both_engines_agree(tmp_path: Path, spark: object) -> None:
    for at in (1, 3, 8):
        zone, first, last, hours = WORLDS[at]
        ask(world(zone, first, last, 3, hours=hours), 3, 15, tmp_path / str(at), spark)
