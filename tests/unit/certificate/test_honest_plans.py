"""Plans of random queries in the part of SQL that the checker is documented to understand: it accepts each of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.session import Session
from rewriter.statements.query.certificates import check_certificate

_CUBE = """
CREATE CUBE sales (shop STRING, kind STRING, sales BIGINT MEASURE COUNT EVENTS NOT NULL, amount BIGINT MEASURE SUM
  COUNTED BY sales NOT NULL, least BIGINT MEASURE MIN, most BIGINT MEASURE MAX, sold TIMESTAMP TIME){zone};
CREATE TABLE shops (shop STRING, town STRING);
INSERT INTO shops VALUES ('a', 'Oslo'), ('b', 'Rome'), ('b', 'Bonn');
CREATE VIEW big AS SELECT shop, kind, sales, amount, least, most, sold FROM sales WHERE kind <> 'x';
CREATE VIEW renamed (place, what, n, money, lowest, highest, at) AS
  SELECT shop, kind, sales, amount, least, most, sold FROM big;
"""
_ROWS = (
    "SELECT substring('abc', CAST(1 + id % 3 AS INT), 1), substring('xyz', CAST(1 + id % 3 AS INT), 1), {columns}, "
    "date_format(timestamp_seconds(1704060000 + {step} * id), '{pattern}') FROM range({count})"
)
_HOURS = """
CREATE TABLE hours (shop STRING, kind STRING, sales BIGINT, amount BIGINT, least BIGINT, most BIGINT)
  PARTITIONED BY (h STRING);
CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY sold AS (h))
  ROLLUPS (DAILY, DAILY (shop), MONTHLY, {more});
SET rewriter.max_dynamic_partitions = 20000;
INSERT INTO hours """ + _ROWS.format(
    columns="1L, id, id, id", step=3600, pattern="yyyy-MM-dd-HH", count=2602
)  # fmt: skip
_DAYS = """
CREATE TABLE days (shop STRING, kind STRING, sales BIGINT, amount BIGINT, least BIGINT, most BIGINT)
  PARTITIONED BY (d STRING);
CREATE FACT f OF CUBE sales STORED IN (TABLE days PERIOD DAILY PARTITIONED BY sold AS (d)) ROLLUPS (MONTHLY, YEARLY);
INSERT INTO days """ + _ROWS.format(
    columns="1L, id, id, id", step=3600, pattern="yyyy-MM-dd", count=2602
)  # fmt: skip
_EVENTS = """
CREATE TABLE events (sold TIMESTAMP, shop STRING, kind STRING, amount BIGINT) PARTITIONED BY (d STRING);
CREATE TABLE days (shop STRING, kind STRING, sales BIGINT, amount BIGINT, least BIGINT, most BIGINT)
  PARTITIONED BY (d STRING);
CREATE TABLE months (shop STRING, kind STRING, sales BIGINT, amount BIGINT, least BIGINT, most BIGINT)
  PARTITIONED BY (y INT, m INT);
CREATE FACT f OF CUBE sales STORED IN (
  TABLE events PERIOD DAILY PARTITIONED BY sold AS (d) RAW (least AS amount, most AS amount),
  TABLE days PERIOD DAILY PARTITIONED BY sold AS (d),
  TABLE months PERIOD MONTHLY PARTITIONED BY sold AS (y = 'yyyy', m = 'MM'));
INSERT INTO events SELECT timestamp_seconds(1704067200 + 3600 * id), substring('abc', CAST(1 + id % 3 AS INT), 1),
  substring('xyz', CAST(1 + id % 3 AS INT), 1), id, date_format(timestamp_seconds(1704067200 + 3600 * id), 'yyyy-MM-dd')
  FROM range(2592)
"""
#: By name: hours with rollups, the same with weeks, on the clocks of a zone, days, and events with days and months.
_WORLDS = {
    "hours": _CUBE.format(zone="") + _HOURS.format(more="YEARLY"),
    "weeks": _CUBE.format(zone="") + _HOURS.format(more="WEEKLY (shop, kind)"),
    "zone": _CUBE.format(zone=" TIME ZONE 'Europe/Berlin'") + _HOURS.format(more="QUARTERLY"),
    "days": _CUBE.format(zone="") + _DAYS,
    "events": _CUBE.format(zone="") + _EVENTS,
}
_LAST_DAY = datetime(2024, 3, 30)
_COLUMNS = ("shop", "kind", "sales", "amount", "least", "most", "sold")
_RENAMED = dict(zip(_COLUMNS, ("place", "what", "n", "money", "lowest", "highest", "at"), strict=True))


class _Writer:
    """Writes one random query. ``names`` are the names of the cube's columns in the source that was chosen.

    Conditions on the hour are not understood on the clocks of a zone, and bounds inside a day may leave no days.
    """

    def __init__(self, rng: random.Random, world: str) -> None:
        self._rng, self._world = rng, world
        self.names = {column: column for column in _COLUMNS}

    def query(self) -> str:
        rng = self._rng
        prefix, source, inner = self._source()
        is_joined = rng.random() < 0.2
        if is_joined:
            self.names = {column: f"s.{name}" for column, name in self.names.items()}
        keys = rng.sample(self._keys(), rng.choice((0, 1, 1, 2)))
        items = [f"{key} AS k{i}" for i, key in enumerate(keys)]
        items += [f"{self._aggregate()} AS a{i}" for i in range(rng.randint(1, 3))]
        if keys and rng.random() < 0.15:
            function = rng.choice((f"SUM({self._aggregate()})", "RANK()", "COUNT(*)", f"LAG({self._aggregate()})"))
            items.append(f"{function} OVER (ORDER BY {keys[0]}) AS w")
        conditions = [self._time(), *(self._condition() for _ in range(rng.choice((0, 0, 1, 2))))]
        rng.shuffle(conditions)
        alias = " s" if is_joined else " AS v" if source.startswith("(") else ""
        text = f"{prefix}SELECT {', '.join(items)} FROM {source}{alias}"
        if is_joined:
            is_cube = source in ("sales", "f")
            join = rng.choice(
                ("JOIN", "LEFT JOIN", *(("RIGHT JOIN", "FULL JOIN", "LEFT ANTI JOIN") if is_cube else ()))
            )
            dimension = rng.choice(("shops", "(SELECT shop, MAX(town) AS town FROM shops GROUP BY shop)"))
            condition = f"ON t.shop = {self.names['shop']}" if rng.random() < 0.7 or not is_cube else "USING (shop)"
            text += f" {join} {dimension} t {condition}"
        text += f" WHERE {' AND '.join(conditions)}"
        if keys:
            text += f" GROUP BY {', '.join(keys)}"
            text += rng.choice(("", "", f" HAVING {self._aggregate()} > 3"))
        if keys and not inner and rng.random() < 0.15:
            return f"SELECT COUNT(*) AS n, MAX(a0) AS m FROM ({text}) q WHERE a0 IS NOT NULL"
        return text + rng.choice(("", "", " ORDER BY a0", " ORDER BY 1 LIMIT 5"))

    def _source(self) -> tuple[str, str, bool]:
        """Returns what stands before the query, the source of the cube's rows, and whether it is a query in WITH."""
        kind = self._rng.choice(("cube", "cube", "fact", "big", "renamed", "derived", "with"))
        if kind in ("cube", "fact", "big"):
            return "", {"cube": "sales", "fact": "f", "big": "big"}[kind], False
        if kind == "renamed":
            self.names = dict(_RENAMED)
            return "", "renamed", False
        self.names = {column: f"c{i}" for i, column in enumerate(_COLUMNS)}
        items = ", ".join(f"{column} AS {name}" for column, name in self.names.items())
        inner = f"SELECT {items} FROM sales" + self._rng.choice(("", " WHERE shop <> 'c'"))
        return ("", f"({inner})", False) if kind == "derived" else (f"WITH v AS ({inner}) ", "v", True)

    def _keys(self) -> list[str]:
        names = self.names
        units = [f"date_trunc('{unit}', {names['sold']})" for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")]
        dates = [f"to_date({names['sold']})", f"CAST({names['sold']} AS DATE)", f"year({names['sold']})"]
        return [names["shop"], names["kind"], f"upper({names['shop']})", *units, *dates]

    def _aggregate(self) -> str:
        n = self.names
        case = f"CASE WHEN {n['shop']} = 'a' THEN {n['amount']} ELSE 0 END"
        return self._rng.choice((
            f"SUM({n['amount']})", "COUNT(*)", f"SUM({n['sales']})", f"MIN({n['least']})", f"MAX({n['most']})",
            f"AVG({n['amount']})", f"COUNT(DISTINCT {n['kind']})", f"SUM({case})", f"SUM({n['amount']} * 2)",
            f"MAX({n['shop']})", f"SUM({n['amount']}) FILTER (WHERE {n['kind']} = 'y')",
            f"COUNT_IF({n['kind']} = 'x')", f"SUM(CASE {n['kind']} WHEN 'x' THEN {n['amount']} END)",
            f"SUM({n['amount']} + {n['sales']})", f"SUM({n['amount']}) / NULLIF(COUNT(*), 0)",
        ))  # fmt: skip

    def _condition(self) -> str:
        shop, kind = self.names["shop"], self.names["kind"]
        return self._rng.choice((
            f"{shop} = 'a'", f"{shop} IN ('a', 'b')", f"{kind} LIKE 'x%'", f"({shop} = 'a' OR {kind} <> 'z')",
            f"NOT {shop} = 'c'", f"{kind} IS NOT NULL", f"length({shop}) = 1", f"{shop} BETWEEN 'a' AND 'b'",
            f"{shop} IN (SELECT o.shop FROM shops o WHERE o.town > 'C')",
        ))  # fmt: skip

    def _time(self) -> str:
        rng, sold = self._rng, self.names["sold"]
        first = datetime(2024, 1, 1) + timedelta(hours=rng.randrange(2000))
        last = first + timedelta(hours=rng.choice((1, 5, 24, 100, 500, 1500)))
        if rng.random() < 0.6 or self._world == "days":
            first, last = (at.replace(hour=0) for at in (first, last + timedelta(days=1)))
        last = min(last, datetime(2024, 4, 1))
        form = rng.randrange(9)
        if form == 0:
            return f"{sold} >= '{first}' AND {sold} < '{last}'"
        if form == 1:
            return f"time_range_in({sold}, '{first:%Y-%m-%dT%H}', '{last:%Y-%m-%dT%H}')"
        if form == 2:
            return f"{sold} >= TIMESTAMP '{first}' AND {sold} < TIMESTAMP '{first}' + INTERVAL 3 DAYS"
        if form == 3:
            return f"to_date({sold}) BETWEEN DATE '{first:%Y-%m-%d}' AND DATE '{min(last, _LAST_DAY):%Y-%m-%d}'"
        if form == 4:
            return f"year({sold}) = 2024 AND month({sold}) = {first.month}"
        if form == 5:
            return f"date_trunc('MONTH', {sold}) = '2024-0{first.month}-01'"
        if form == 6:
            other = first + timedelta(days=9)
            return (
                f"({sold} >= '{first}' AND {sold} < '{first + timedelta(days=2)}' "
                f"OR {sold} >= '{other}' AND {sold} < '{other + timedelta(hours=30)}')"
            )
        if form == 7:
            has_hours = self._world != "zone" and rng.random() < 0.5
            hours = f" AND hour({sold}) >= {rng.randrange(9)}" if has_hours else ""
            calendar = f"day({sold}) = {first.day}{hours}"
            first, last = first.replace(hour=0), last + timedelta(hours=5)
            return f"{sold} >= '{first}' AND {sold} <= '{last}' AND {calendar} AND month({sold}) = {first.month}"
        return f"CAST({sold} AS DATE) = '{first:%Y-%m-%d}'"


def _check(session: Session, world: str, seeds: range) -> Counter[str]:
    """Returns how many plans were accepted, how many of them read rollups, and how many queries were refused."""
    tally: Counter[str] = Counter()
    for seed in seeds:
        query = _Writer(random.Random(seed), world).query()
        try:
            rows = [str(row[0]) for row in session.execute(f"EXPLAIN CERTIFICATE {query}").rows()]
        except Error:
            tally["refused"] += 1
            continue
        certificate = json.loads("\n".join(rows))
        verdict = check_certificate(certificate, session.catalog)
        assert verdict.is_accepted, f"{query}\n{'; '.join(map(str, verdict.findings))}"
        periods = {piece["period"] for reference in certificate["references"] for piece in reference["pieces"]}
        tally["accepted"] += 1
        tally["of rollups"] += bool(periods - {"HOURLY"})
    return tally


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Session]]:
    opened: dict[str, Session] = {}
    yield opened
    for session in opened.values():
        session.close()


def _session(sessions: dict[str, Session], world: str, folder: Path) -> Session:
    if world not in sessions:
        sessions[world] = Session(folder / "w", engine="duckdb")
        list(sessions[world].script(_WORLDS[world]))
        sessions[world].execute("REFRESH FACT f")
    return sessions[world]


@pytest.mark.parametrize("world", _WORLDS)
def test_each_plan_is_accepted(
    sessions: dict[str, Session], tmp_path_factory: pytest.TempPathFactory, world: str
) -> None:
    tally = _check(_session(sessions, world, tmp_path_factory.mktemp(world)), world, range(40))
    assert tally["of rollups"] >= 15


def test_a_bound_that_the_calendar_leaves_out_says_nothing_inexact(
    sessions: dict[str, Session], tmp_path_factory: pytest.TempPathFactory
) -> None:
    session = _session(sessions, "days", tmp_path_factory.mktemp("days"))
    query = (
        "SELECT COUNT(*) AS n FROM sales WHERE sold > '2024-01-29 02:00:00' AND sold <= '2024-02-12 10:00:00' "
        "AND hour(sold) >= 12 AND day(sold) = 4 AND month(sold) = 2 AND year(sold) = 2024"
    )
    rows = [str(row[0]) for row in session.execute(f"EXPLAIN CERTIFICATE {query}").rows()]
    assert check_certificate(json.loads("\n".join(rows)), session.catalog).is_accepted


@pytest.mark.long
@pytest.mark.parametrize("world", _WORLDS)
def test_each_plan_is_accepted_long(
    sessions: dict[str, Session], tmp_path_factory: pytest.TempPathFactory, world: str
) -> None:
    session = _session(sessions, world, tmp_path_factory.mktemp(world))
    tally = _check(session, world, range(1_000, 26_000))
    print(world, dict(tally))
    assert tally["of rollups"] > tally.total() // 4
