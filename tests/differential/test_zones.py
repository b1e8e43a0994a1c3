"""Cubes with a time zone: every answer is that of plain Python with ``zoneinfo``, over changes of the clocks."""

from __future__ import annotations

import random
from datetime import date
from pathlib import Path

import pytest

from rewriter.session import Session
from tests.differential.zones import build, ordered, question, world

#: Zones, the days around a change of theirs, and whether their days are made of hours of UTC.
WORLDS = [
    ("America/New_York", date(2015, 2, 27), date(2015, 4, 2), True),
    ("America/New_York", date(2015, 10, 30), date(2015, 11, 3), True),
    ("Asia/Tokyo", date(2015, 3, 1), date(2015, 3, 4), True),
    ("America/Sao_Paulo", date(2015, 10, 15), date(2015, 10, 20), True),
    ("America/Sao_Paulo", date(2016, 2, 19), date(2016, 2, 22), True),
    ("America/Havana", date(2015, 3, 6), date(2015, 3, 9), True),
    ("America/Havana", date(2015, 10, 31), date(2015, 11, 2), True),
    ("Atlantic/Azores", date(2016, 3, 26), date(2016, 3, 28), True),
    ("Atlantic/Azores", date(2016, 10, 29), date(2016, 10, 31), True),
    ("Pacific/Apia", date(2011, 12, 27), date(2012, 1, 3), True),
    ("Asia/Kolkata", date(2014, 12, 30), date(2015, 2, 3), False),
    ("Asia/Kathmandu", date(2015, 1, 1), date(2015, 3, 2), False),
    ("Australia/Lord_Howe", date(2015, 3, 1), date(2015, 4, 30), False),
    ("Pacific/Apia", date(2011, 12, 1), date(2012, 1, 31), False),
]


@pytest.mark.share(3)
@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_answers_are_those_of_the_zone(zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    ask(zone, first, last, hours, 1, 40, tmp_path, "duckdb")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
@pytest.mark.parametrize(("zone", "first", "last", "hours"), WORLDS, ids=lambda value: str(value))
def test_many_answers(seed: int, zone: str, first: date, last: date, hours: bool, tmp_path: Path) -> None:
    ask(zone, first, last, hours, seed, 120, tmp_path, "duckdb")


def test_both_engines_agree(tmp_path: Path, spark: object) -> None:
    for at in (6, 12):
        zone, first, last, hours = WORLDS[at]
        ask(zone, first, last, hours, 3, 12, tmp_path / str(at), spark)


def ask(
    zone: str, first: date, last: date, hours: bool, seed: int, questions: int, folder: Path, engine: object
) -> None:
    here = world(zone, first, last, seed, hours=hours)
    chosen = random.Random(seed)
    with Session(folder / "warehouse", engine) as session:  # type: ignore[arg-type]
        build(session, here, seed)
        for number in range(questions):
            sql, expected = question(here, chosen)
            rows = ordered(session.execute(sql).fetch())
            assert rows == expected, f"{zone}, seed {seed}, question {number}: {sql}"
