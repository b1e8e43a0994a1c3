"""Random INSERTs from a cube into partitions of another zone's clocks, or UTC's: the rows lie where ``zoneinfo`` says.

A value on other clocks than the layout's is refused, and the hint's expression is written instead.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from rewriter.errors import NotSupportedError
from rewriter.exec.engine import Engine
from rewriter.planner.zones import zone_rewrites
from rewriter.session import Session
from rewriter.statements.write import insert, partition_clocks
from rewriter.timeline.periods import UpdatePeriod

from .naming import TYPED_FORMS, Naming, TimeColumn, named
from .periods import HOUR, instant_text, midnight, period
from .plants import Patch

P = UpdatePeriod
#: Zones of cubes, with a day around which their clocks change, or any day.
ZONES = {
    "UTC": date(2013, 1, 1),
    "America/New_York": date(2013, 3, 10),
    "Europe/London": date(2013, 3, 31),
    "America/Sao_Paulo": date(2012, 10, 21),
    "Asia/Tokyo": date(2012, 12, 31),
    "Asia/Kolkata": date(2012, 12, 31),
}
#: Periods of targets, with the default layout and others.
FORMS = {
    kind: (f"dt string {pattern}", *TYPED_FORMS[kind])
    for kind, pattern in (
        (P.HOURLY, "yyyy-MM-dd-HH"),
        (P.DAILY, "yyyy-MM-dd"),
        (P.WEEKLY, "YYYY-'W'ww"),
        (P.MONTHLY, "yyyy-MM"),
        (P.QUARTERLY, "yyyy-'Q'q"),
    )
}
WAYS = ("plain", "derived", "renamed", "CTE", "UNION ALL", "view", "multi-insert")
#: The fields of names as SQL over a time and the start of its week.
FIELDS = {
    "yyyy": "date_format({t}, 'yyyy')", "MM": "lpad(CAST(month({t}) AS STRING), 2, '0')",
    "dd": "date_format({t}, 'dd')", "HH": "lpad(CAST(hour({t}) AS STRING), 2, '0')",
    "mm": "date_format({t}, 'mm')", "q": "CAST(quarter({t}) AS STRING)",
    "YYYY": "CAST(year(date_add(to_date({w}), 3)) AS STRING)", "ww": "lpad(CAST(weekofyear({t}) AS STRING), 2, '0')",
}  # fmt: skip
UNITS = {P.WEEKLY: "week", P.MONTHLY: "month", P.QUARTERLY: "quarter"}


@dataclass(frozen=True)
class World:
    """A cube of a zone with an event in each of these hours, and a fact whose partitions have names of another zone."""

    zone: str
    naming: Naming
    hours: range

    @property
    def bounds(self) -> tuple[str, str]:
        start, end = (instant_text("UTC", bound * HOUR) for bound in (self.hours.start, self.hours.stop))
        return f"'{start}Z'", f"'{end}Z'"

    def create(self, session: Session) -> None:
        clause = "" if self.zone == "UTC" else f"TIME ZONE '{self.zone}'"
        target = self.naming.period.zone
        columns = ", ".join(self.naming.declared)
        for statement in (
            f"CREATE CUBE c (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME) {clause}",
            "CREATE TABLE minutes (n BIGINT) PARTITIONED BY (m STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE minutes PERIOD MINUTELY PARTITIONED BY t AS (m))",
            "CREATE VIEW seen AS SELECT n, t AS b FROM c",
            "CREATE CUBE other (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME) "
            + ("" if target == "UTC" else f"TIME ZONE '{target}'"),
            f"CREATE TABLE named (n BIGINT) PARTITIONED BY ({columns})",
            f"CREATE FACT g OF CUBE other STORED IN (TABLE named PERIOD {self.naming.period.name} "
            f"PARTITIONED BY t AS {self.naming.clause})",
        ):
            session.execute(statement)
        first, last = (bound.replace(" ", "T").replace("Z", "") for bound in self.bounds)
        first, last = (f"{bound[:-1]}Z'" if self.zone != "UTC" else bound for bound in (first, last))
        texts = [instant_text("UTC", hour * HOUR)[:16].replace(" ", "-").replace(":", "-") for hour in self.hours]
        rows = ", ".join(f"(1, '{text}')" for text in texts)
        session.execute(f"INSERT INTO minutes MARK COMPLETE FROM {first} TO {last} VALUES {rows}")

    @property
    def expected(self) -> Counter[tuple[str, ...]]:
        """The values of the partitions, as SQL, with their numbers of events."""
        names = (self.naming.literals(self.naming.period.ordinal(hour * HOUR)) for hour in self.hours)
        return Counter(tuple(name) for name in names)

    def written(self, session: Session) -> Counter[tuple[str, ...]]:
        """The same from the table."""
        found: Counter[tuple[str, ...]] = Counter()
        for name in self.expected:
            test = " AND ".join(f"{column} = {value}" for column, value in zip(self.naming.names, name, strict=True))
            ((number,),) = session.execute(f"SELECT CAST(COUNT(*) AS INT) FROM named WHERE {test}").fetch()
            found[name] += number
        ((total,),) = session.execute("SELECT COUNT(*) FROM named").fetch()
        assert total == sum(self.expected.values())
        return found


def world(rng: random.Random) -> World:
    zone, target, kind = rng.choice(list(ZONES)), rng.choice(list(ZONES)), rng.choice(list(FORMS))
    naming = named(rng.choice(FORMS[kind]), period(kind, target))
    first = midnight("UTC", ZONES[rng.choice((zone, target))]) // HOUR - rng.randrange(6, 20)
    return World(zone, naming, range(first, first + rng.randrange(26, 40)))


def values(rng: random.Random, naming: Naming, time: str) -> str:
    """Returns the values of the columns on the clocks of the cube, as a user may write them."""
    unit = UNITS.get(naming.period.kind)
    start = f"date_trunc('{unit}', {time})" if unit else time

    def value(column: TimeColumn) -> str:
        if column.type == "timestamp" and not unit and naming.period.kind is P.HOURLY:
            text = f"CAST(date_format({time}, 'yyyy-MM-dd HH:mm:00') AS TIMESTAMP)"
            return rng.choice((f"date_trunc('hour', {time})", text))
        if column.type in ("date", "timestamp"):
            return rng.choice((f"to_date({start})", f"CAST({start} AS DATE)"))
        pieces: list[str] = []
        for piece in re.finditer(r"'([^']*)'|yyyy|YYYY|MM|dd|HH|mm|ww|q|[^']", naming.pattern(column)):
            form = FIELDS.get(piece[0])
            text = piece[0] if piece[1] is None else piece[1]
            pieces.append(f"'{text}'" if form is None else form.format(t=time, w=f"date_trunc('week', {time})"))
        text = f"concat({', '.join(pieces)})"
        return f"CAST({text} AS {column.type.upper()})" if column.is_number else text

    return ", ".join(f"{value(column)} AS {column.name}" for column in naming.columns)


def statement(way: str, items: str, here: World) -> str:
    """Returns the INSERT, whose query has the items over the time ``b``, or ``t`` where there is no other name."""
    first, last = here.bounds
    where = f"WHERE {{}} >= {first} AND {{}} < {last}"
    inside = where.format("t", "t")
    names = ", ".join(here.naming.names)
    return {
        "plain": f"INSERT INTO named SELECT n, {items} FROM c {inside}",
        "derived": f"INSERT INTO named SELECT n, {names} FROM (SELECT n, {items} FROM c {inside}) x",
        "renamed": f"INSERT INTO named SELECT n, {items} FROM (SELECT n, t AS b FROM c {inside}) x",
        "CTE": f"INSERT INTO named WITH x (n, b) AS (SELECT n, t FROM c {inside}) SELECT n, {items} FROM x",
        "UNION ALL": f"INSERT INTO named SELECT n, {items} FROM c {inside} UNION ALL "
        f"SELECT n, {items} FROM c {inside} AND n < 0",
        "view": f"INSERT INTO named SELECT n, {items} FROM seen {where.format('b', 'b')}",
        "multi-insert": f"FROM c INSERT INTO named SELECT n, {items} {inside}",
    }[way]


def run(session: Session, rng: random.Random, here: World) -> bool:
    """Writes the events. Returns whether the first statement was refused."""
    way = rng.choice(WAYS)
    time = "b" if way in ("renamed", "CTE", "view") else "t"
    items, was_refused = values(rng, here.naming, time), False
    try:
        session.execute(statement(way, items, here))
    except NotSupportedError as error:
        right = re.fullmatch(r"Write (.*)\.", error.hint or "")
        if error.condition != "ZONED_TIME" or "reads the clocks of" not in error.message or right is None:
            raise
        session.execute(statement(way, right[1], here))
        was_refused = True
    assert here.written(session) == here.expected, (here, way, items)
    return was_refused


def refusals(engine: str | Engine, seeds: range, folder: Path) -> int:
    number = 0
    for seed in seeds:
        rng = random.Random(seed)
        here = world(rng)
        with Session(folder / str(seed), engine) as session:
            here.create(session)
            number += run(session, rng, here)
    return number


def test_rows_lie_in_the_partitions_of_their_time(tmp_path: Path) -> None:
    assert 0 < refusals("duckdb", range(24), tmp_path) < 24


@pytest.mark.long
def test_many_rows_lie_in_the_partitions_of_their_time(tmp_path: Path) -> None:
    refusals("duckdb", range(100, 400), tmp_path)


def test_both_engines_name_partitions_alike(tmp_path: Path, spark: Engine) -> None:
    assert refusals(spark, range(3), tmp_path) > 0


def clocks_are_not_compared(patch: Patch) -> None:
    patch.setattr(insert, "check_partition_clocks", lambda *args: None)


def hours_are_of_the_zone(patch: Patch) -> None:
    patch.setattr(partition_clocks, "_zone_of", lambda layout, binding: binding.fact.zone)


def utc_is_the_zone(patch: Patch) -> None:
    """Reads the clocks of the zone where those of UTC are asked for."""
    find = zone_rewrites.wall_time

    def planted(self: zone_rewrites.ZoneEdits, use: object, extent: object) -> None:
        edit(self, use, extent)  # type: ignore[arg-type]
        for span, made in list(self._edits.items()):
            if made.what.endswith(", in UTC"):
                wall = find(self._calendar, str(made.parts[0]), extent)  # type: ignore[arg-type]
                self._edits[span] = type(made)(span, (wall,), made.what)

    edit = zone_rewrites.ZoneEdits._edit
    patch.setattr(zone_rewrites.ZoneEdits, "_edit", planted)


@pytest.mark.parametrize("plant", [clocks_are_not_compared, hours_are_of_the_zone, utc_is_the_zone])
def test_a_planted_fault_is_found(plant: object, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)  # type: ignore[operator]
        with pytest.raises(AssertionError):
            refusals("duckdb", range(24), tmp_path)
