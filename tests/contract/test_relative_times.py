"""Relative times as people type them, over cubes with and without a zone, on both engines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

NEW_YORK = ZoneInfo("America/New_York")
#: Clocks in New York went forward on 2024-03-10, within the 30 days.
NOW = dt.datetime(2024, 3, 31, 2, 34, 56, tzinfo=dt.UTC)
FIRST = dt.datetime(2024, 2, 20, tzinfo=dt.UTC)
#: Every ninth hour, and all hours around now.
HOURS = [
    (FIRST + dt.timedelta(hours=number), number % 7 + 1)
    for number in range(24 * 42)
    if number % 9 == 0 or 24 * 38 < number < 24 * 41
]


@pytest.fixture(scope="module", params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    yield from opened(request.getfixturevalue(request.param), tmp_path_factory.mktemp("relative"))


def opened(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    settings = {"rewriter.now": f"{NOW:%Y-%m-%dT%H:%M:%S}", "rewriter.partial_data": "true"}
    with Session(tmp_path / "warehouse", engine, settings=settings) as connected:
        rows = ", ".join(f"({n}, '{t:%Y-%m-%d-%H}')" for t, n in HOURS)
        for name, zone in (("zoned", "TIME ZONE 'America/New_York'"), ("plain", "")):
            for statement in (
                f"CREATE TABLE {name}_hours (n BIGINT) PARTITIONED BY (h STRING)",
                f"CREATE CUBE {name} (n BIGINT MEASURE COUNT, t TIMESTAMP TIME) {zone}",
                f"CREATE FACT {name}_f OF CUBE {name} STORED IN ("
                f"TABLE {name}_hours PERIOD HOURLY PARTITIONED BY t AS (h))",
                f"INSERT INTO {name}_hours VALUES {rows}",
            ):
                connected.execute(statement)
        yield connected


BASE = "(SELECT n, to_timestamp(h, 'yyyy-MM-dd-HH') AS t FROM plain_hours) AS base"
TODAY = {"zoned": dt.datetime(2024, 3, 30, tzinfo=NEW_YORK), "plain": dt.datetime(2024, 3, 31, tzinfo=dt.UTC)}


def sum_between(start: dt.datetime | None, end: dt.datetime | None) -> int:
    return sum(n for t, n in HOURS if (start is None or t >= start) and (end is None or t < end))


def day(cube: str, days: int) -> dt.datetime:
    """Returns the midnight some days after today, on the clocks of the cube."""
    midnight = TODAY[cube].replace(tzinfo=None) + dt.timedelta(days=days)
    return midnight.replace(tzinfo=TODAY[cube].tzinfo)


#: Conditions, with the first and the last day after today (exclusive) that they keep.
OF_DAYS: dict[str, tuple[int | None, int | None]] = {
    "t >= current_date - INTERVAL 30 DAYS": (-30, None),
    "t >= current_date() - INTERVAL 30 DAYS AND t < current_date": (-30, 0),
    "t >= CURRENT_DATE - INTERVAL '30' DAY": (-30, None),
    "current_date - INTERVAL 30 DAYS <= t": (-30, None),
    "(t >= (current_date - INTERVAL 30 DAYS)) AND ((current_date) > t)": (-30, 0),
    "t >= date_sub(current_date, 7)": (-7, None),
    "t >= current_date - 7 AND t < date_add(current_date, -1)": (-7, -1),
    "t >= date_sub(current_date, 30) AND NOT t >= current_date": (-30, 0),
    "t >= current_date - INTERVAL 4 WEEKS": (-28, None),
    "to_date(t) >= current_date - INTERVAL 7 DAYS AND to_date(t) < current_date": (-7, 0),
    "to_date(t) BETWEEN current_date - INTERVAL 7 DAYS AND current_date - INTERVAL 1 DAY": (-7, 0),
    "to_date(t) = current_date - 1": (-1, 0),
    "to_date(t) = current_date": (0, 1),
    "CAST(t AS DATE) > current_date - INTERVAL 20 DAYS": (-19, None),
    "t >= trunc(current_date, 'MM')": (None, None),
}
#: Conditions, with the times from and to which they keep rows.
OF_INSTANTS: dict[str, tuple[dt.datetime | None, dt.datetime | None]] = {
    "t >= now() - INTERVAL 720 HOURS": (NOW - dt.timedelta(hours=720), None),
    "t > now() - INTERVAL '36' HOUR AND t < now()": (NOW - dt.timedelta(hours=36), NOW),
    "t >= current_timestamp - INTERVAL 90 MINUTES": (NOW - dt.timedelta(minutes=90), None),
    "t >= current_timestamp() - INTERVAL 30 HOURS": (NOW - dt.timedelta(hours=30), None),
    "t BETWEEN now() - INTERVAL 24 HOURS AND now()": (NOW - dt.timedelta(hours=24), NOW),
    "t BETWEEN current_timestamp - INTERVAL 24 HOURS AND current_timestamp": (NOW - dt.timedelta(hours=24), NOW),
    "t < current_timestamp": (None, NOW),
    "now() - INTERVAL 720 HOURS < t": (NOW - dt.timedelta(hours=720), None),
    "t >= timestampadd(HOUR, -30, now())": (NOW - dt.timedelta(hours=30), None),
}
ZONES = {"+00": 0, "+0000": 0, "Z": 0, "+05:30": 5.5, "-08": -8, " +00": 0, "-8": -8, " UTC": 0, "+01:00": 1}


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("condition", OF_DAYS)
def test_days_before_today_are_those_of_the_cube(session: Session, condition: str) -> None:
    first, last = OF_DAYS[condition]
    for cube in TODAY:
        start = day(cube, first) if first is not None else None
        if "trunc" in condition:
            start = TODAY[cube].replace(day=1, tzinfo=None).replace(tzinfo=TODAY[cube].tzinfo)
        expected = sum_between(start, day(cube, last) if last is not None else None)
        assert session.execute(f"SELECT SUM(n) FROM {cube} WHERE {condition}").fetch() == [(expected,)]
    assert (
        session.execute(f"SELECT SUM(n) FROM {BASE} WHERE {condition}").fetch()
        == session.execute(f"SELECT SUM(n) FROM plain WHERE {condition}").fetch()
    )


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("condition", OF_INSTANTS)
def test_hours_before_now_have_the_same_length_in_every_zone(session: Session, condition: str) -> None:
    expected = sum_between(*OF_INSTANTS[condition])
    for source in ("zoned", "plain", BASE):
        assert session.execute(f"SELECT SUM(n) FROM {source} WHERE {condition}").fetch() == [(expected,)]


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize("zone", ZONES)
def test_a_text_names_its_zone(session: Session, zone: str) -> None:
    expected = sum_between(dt.datetime(2024, 3, 20, tzinfo=dt.timezone(dt.timedelta(hours=ZONES[zone]))), None)
    text = f"2024-03-20 00:00:00{zone}"
    for source in ("zoned", "plain", BASE):
        for literal in (f"'{text}'", f"TIMESTAMP '{text}'", f"CAST('{text}' AS TIMESTAMP)"):
            assert session.execute(f"SELECT SUM(n) FROM {source} WHERE t >= {literal}").fetch() == [(expected,)]
        assert session.execute(f"SELECT SUM(n) FROM {source} WHERE t >= ?", [text]).fetch() == [(expected,)]


@pytest.mark.share(2, "spark")
@pytest.mark.parametrize("unit", ["day", "HOUR", "month", "week"])
def test_a_bound_unit_is_that_unit(session: Session, unit: str) -> None:
    for source in ("zoned", "plain", BASE):
        where = "WHERE t >= '2024-03-20'"
        literal = session.execute(f"SELECT date_trunc('{unit}', t), SUM(n) FROM {source} {where} GROUP BY 1 ORDER BY 1")
        expected = literal.fetch()
        for query, parameters in (
            ("SELECT date_trunc(?, t), SUM(n) FROM {} {} GROUP BY date_trunc(?, t) ORDER BY 1", [unit, unit]),
            ("SELECT date_trunc(:u, t), SUM(n) FROM {} {} GROUP BY date_trunc(:u, t) ORDER BY 1", {"u": unit}),
        ):
            assert session.execute(query.format(source, where), parameters).fetch() == expected  # type: ignore[arg-type]
    for value in ("dayy", "day'", "day', t), ('", None, 5):
        with pytest.raises(Error):
            session.execute("SELECT date_trunc(?, t), SUM(n) FROM plain GROUP BY 1", [value])


@pytest.mark.share(2, "spark")
@pytest.mark.parametrize(
    "condition",
    [
        "t > now() - INTERVAL 30 DAYS",
        "t > current_timestamp - INTERVAL 1 MONTH",
        "t >= now() - INTERVAL '1 day 2 hours'",
    ],
)
def test_days_before_an_instant_depend_on_the_zone(session: Session, condition: str) -> None:
    with pytest.raises(Error) as caught:
        session.execute(f"SELECT SUM(n) FROM zoned WHERE {condition}")
    assert caught.value.condition == "ZONED_TIME"
    assert "INTERVAL 720 HOURS" in (caught.value.hint or "")
    assert (
        session.execute(f"SELECT SUM(n) FROM plain WHERE {condition}").fetch()
        == session.execute(f"SELECT SUM(n) FROM {BASE} WHERE {condition}").fetch()
    )


def test_window_is_refused_by_its_name(session: Session) -> None:
    if session.engine_name == "spark":
        sources = ["zoned"]
    else:
        sources = ["zoned", "plain", BASE]
    for source in sources:
        with pytest.raises(Error) as caught:
            session.execute(f"SELECT window(t, '6 hours'), SUM(n) FROM {source} GROUP BY window(t, '6 hours')")
        assert "window" in caught.value.message.lower()
        assert caught.value.position is not None
