"""A fact with any layouts of its tables has the results of the default layouts, from as many partitions.

One history has holes, periods of several partitions, rows of NULL time, outdated and dropped partitions. It runs with
every layout and with all periods in one table. Each run must have the rows, coverage and findings of the default.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from rewriter.errors import DataError, Error
from rewriter.exec.engine import Engine
from rewriter.planner.text.literals import timestamp_literal
from rewriter.session import Session
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod as P
from rewriter.timeline.time_bounds import parse_instant

#: The layouts of a fact by period, in the order of the tables' columns: name, type and, if there is one, pattern.
Layouts = dict[P, str]

DEFAULT: Layouts = dict.fromkeys((P.HOURLY, P.DAILY, P.WEEKLY, P.MONTHLY), "dt string")
LAYOUTS: dict[str, Layouts] = {
    "split": {
        P.HOURLY: "ds string yyyy-MM-dd; hr string HH",
        P.DAILY: "y string yyyy; mo string 'm'MM; d string dd",
        P.WEEKLY: "y string YYYY; w string ww",
        P.MONTHLY: "y string yyyy; mo string MM",
    },
    "dates": {P.HOURLY: "ds date; hr tinyint HH"} | dict.fromkeys((P.DAILY, P.WEEKLY, P.MONTHLY), "ds date"),
    "timestamps": dict.fromkeys(DEFAULT, "ts timestamp"),
    "numbers": {P.HOURLY: "dt bigint"} | dict.fromkeys((P.DAILY, P.WEEKLY, P.MONTHLY), "dt int"),
    "split numbers": {
        P.HOURLY: "y smallint yyyy; mo tinyint MM; d int dd; h bigint HH",
        P.DAILY: "ym int yyyyMM; d string dd",
        P.WEEKLY: "y int YYYY; w tinyint ww",
        P.MONTHLY: "y string yyyy; mo int MM",
    },
    "unordered": {
        P.HOURLY: "dt string HH:dd-MM-yyyy",
        P.DAILY: "dt string dd'th of 'MM, yyyy",
        P.WEEKLY: "dt string ww/YYYY",
        P.MONTHLY: "dt string MM.yyyy",
    },
    "unordered numbers": {
        P.HOURLY: "hd int HHddMM; y int yyyy",
        P.DAILY: "dt int ddMMyyyy",
        P.WEEKLY: "dt int wwYYYY",
        P.MONTHLY: "dt int MMyyyy",
    },
    "columns in another order": {
        P.HOURLY: "hr int HH; ds date",
        P.DAILY: "d string dd; ym string yyyy-MM",
        P.WEEKLY: "w string ww; y int YYYY",
        P.MONTHLY: "mo tinyint MM; y string yyyy",
    },
}
#: All periods in one table, if their values distinguish them.
TOGETHER = {"strings together": "dt string", "numbers together": "dt bigint"}
PERIODS = [(P.HOURLY, P.DAILY), (P.DAILY, P.WEEKLY, P.MONTHLY), (P.DAILY, P.MONTHLY)]
LISTED = "'a', 'b'"


class World:
    """A fact of some periods, as statements. ``columns`` are the time columns in the order of each table."""

    def __init__(self, session: Session, periods: Sequence[P], name: str, *, parted: bool) -> None:
        self._session = session
        self.parted = parted
        self.together = name in TOGETHER
        declared = dict.fromkeys(periods, TOGETHER[name]) if self.together else LAYOUTS.get(name, DEFAULT)
        self.layouts: dict[P, TimeLayout] = {}
        self.columns: dict[P, dict[str, str]] = {}
        clauses: dict[str, str] = {}
        self.run("CREATE CUBE c (u STRING, n BIGINT MEASURE COUNT NOT NULL, m BIGINT MEASURE MAX, t TIMESTAMP TIME)")
        for period in periods:
            split = [column.split(" ", 2) for column in declared[period].split("; ")]
            self.columns[period] = {column: kind for column, kind, *_ in split}
            pairs = [(column, pattern[0] if pattern else None) for column, _, *pattern in split]
            self.layouts[period] = TimeLayout.of(period, pairs, self.columns[period])
            clauses[self.table(period)] = ", ".join(
                column if pattern is None else f'{column} = "{pattern}"' for column, pattern in pairs
            )
        tables = []
        for table, clause in clauses.items():
            held = [period for period in periods if self.table(period) == table]
            columns = [f"{column} {kind}" for column, kind in self.columns[held[0]].items()]
            columns += ["u STRING"] * parted
            self.run(
                f"CREATE TABLE {table} ({'' if parted else 'u STRING, '}n BIGINT, m BIGINT) "
                f"PARTITIONED BY ({', '.join(columns)})"
            )
            words = f"PERIODS ({', '.join(period.name for period in held)}) PARTITIONED BY t AS ({clause})"
            tables.append(f"TABLE {table} {words}{' COMPLETE WITH u IN (' + LISTED + ')' if parted else ''}")
        self.run(f"CREATE FACT f OF CUBE c STORED IN ({', '.join(tables)})")

    def table(self, period: P) -> str:
        return "all_of_it" if self.together else f"of_{period.name.lower()}"

    def run(self, sql: str) -> list[tuple[object, ...]]:
        result = self._session.execute(sql)
        return list(result.fetch()) if result.columns else []

    def literals(self, period: P, ordinal: int | None) -> dict[str, str]:
        """Returns the values of a table's time columns as literals. No ordinal means NULL."""
        layout, kinds = self.layouts[period], self.columns[period]
        if ordinal is None:
            return dict.fromkeys(kinds, "NULL")
        values = dict(zip(layout.columns, layout.values(ordinal), strict=True))
        prefix = {"date": "DATE ", "timestamp": "TIMESTAMP "}
        return {
            column: value if kind.endswith("int") else f"{prefix.get(kind, '')}'{value}'"
            for column, kind in kinds.items()
            for value in (values[column],)
        }

    def rows(self, period: P, rows: Sequence[tuple[str, int, int | None]]) -> str:
        """Returns VALUES of (u, m, ordinal), in the order of the table's columns."""
        told = []
        for u, m, ordinal in rows:
            values = ["1", str(m), *self.literals(period, ordinal).values()]
            values.insert(len(values) if self.parted else 0, f"'{u}'")
            told.append(f"({', '.join(values)})")
        return f"INSERT INTO {self.table(period)} VALUES {', '.join(told)}"

    def spec(self, period: P, ordinal: int, u: str = "a") -> str:
        items = [f"{column} = {value}" for column, value in self.literals(period, ordinal).items()]
        return f"PARTITION ({', '.join([*items, *([f'u = {u!r}'] if self.parted else [])])})"

    def failure(self, sql: str) -> str | None:
        """Returns the condition of the statement's error, or ``None`` if it succeeds."""
        try:
            self.run(sql)
        except Error as error:
            return error.condition
        return None

    def ask(self, sql: str) -> tuple[object, ...]:
        """Returns the rows of a query, its missing range, and the number of partitions that it read."""
        result = self._session.execute(sql)
        assert result.coverage is not None
        return sorted(result.fetch(), key=repr), result.coverage.missing, result.stats.partitions


def history(world: World, rng: random.Random, periods: Sequence[P], length: int) -> Iterator[object]:
    """Runs the statements of a user and yields their results. The choices are the same for every layout: no use of
    ``rng`` depends on it.
    """
    base, *rollups = periods
    world.run("SET rewriter.partial_data = true")
    first = base.ordinal(parse_instant(rng.choice(["2015-01-30", "2015-12-21", "2016-02-27", "2014-12-31T17"])))
    span = range(first, first + length)
    share = rng.choice((0.97, 1.0))
    kept = [ordinal for ordinal in span if rng.random() < share]
    rows: list[tuple[str, int, int | None]] = [(u, rng.randrange(100), o) for o in kept for u in "ab"]
    if rng.random() < 0.6:
        rows.append(("a", 7, None))
        rows += [("b", 8, None)] * world.parted
    if rng.random() < 0.5:
        rows.remove(rng.choice(rows[:10]))
    rng.shuffle(rows)
    world.run(world.rows(base, rows))
    added = span[-1] + 2
    world.run(f"ALTER TABLE {world.table(base)} ADD {world.spec(base, added)}")
    yield from _seen(world, rng, base, span)
    yield sorted((row[1:] for row in world.run("REFRESH FACT f")), key=repr)
    yield from _seen(world, rng, base, span)
    some = rng.sample(kept, 3)
    world.run(world.rows(base, [("a", 1000, o) for o in some[:2]]))
    world.run(f"ALTER TABLE {world.table(base)} DROP IF EXISTS {world.spec(base, some[2])}")
    for period in rollups:
        middle = period.ordinal(base.start(rng.choice(kept)))
        world.run(f"ALTER TABLE {world.table(period)} DROP IF EXISTS {world.spec(period, middle)}")
    yield from _seen(world, rng, base, span)
    target, prefix = world.spec(base, rng.choice(kept)), "" if world.parted else "'b', "
    world.run(f"INSERT OVERWRITE {world.table(base)} {target} VALUES ({prefix}1, 5)")
    # A rollup that the user computes is fresh if all of its base was read. Keys of other periods do not count.
    period = rollups[0]
    ordinal = period.ordinal(period.ceil(base.start(first)))
    within = f"t >= {timestamp_literal(period.start(ordinal))} AND t < {timestamp_literal(period.end(ordinal))}"
    yield world.failure(
        f"INSERT OVERWRITE {world.table(period)} {world.spec(period, ordinal)} "
        f"SELECT {'' if world.parted else 'u, '}COUNT(*), MAX(m) FROM c WHERE {within} AND u = 'a' GROUP BY u"
    )
    yield from _seen(world, rng, base, span)
    yield sorted((row[1:] for row in world.run("REFRESH FACT f")), key=repr)
    yield from _seen(world, rng, base, span)
    yield sorted((row[1:] for row in world.run("CHECK FACT f")), key=repr)


def short_history(world: World, rng: random.Random, periods: Sequence[P], length: int) -> Iterator[object]:
    """Runs every kind of statement that an engine executes, once."""
    base = periods[0]
    first = base.ordinal(parse_instant("2015-01-31T23"))
    span = [first + index for index in range(length) if index != 1]
    world.run(world.rows(base, [(u, rng.randrange(100), o) for o in [*span, None] for u in "ab"]))
    yield sorted((row[1:] for row in world.run("REFRESH FACT f")), key=repr)
    world.run(world.rows(base, [("a", 1000, first)]))
    within = f"t >= {timestamp_literal(base.start(first + 2))} AND t < {timestamp_literal(base.start(span[-1]))}"
    yield world.ask(f"SELECT u, COUNT(*), MAX(m) FROM c WHERE {within} GROUP BY u")
    yield world.ask(f"SELECT t, u, m FROM c WHERE {within} AND m > 30")
    yield sorted((row[1:] for row in world.run("CHECK FACT f")), key=repr)


def _seen(world: World, rng: random.Random, base: P, span: range) -> Iterator[object]:
    yield sorted((row[:3] + row[4:] for row in world.run("SHOW COVERAGE OF f")), key=repr)
    yield sorted((row[1:3] + row[4:] for row in world.run("SHOW TIMELINES OF f")), key=repr)
    for _ in range(2):
        start, end = sorted(base.start(rng.randrange(span.start - 3, span.stop + 3)) for _ in range(2))
        if rng.random() < 0.3:
            end = base.end(base.ordinal(start))
        within = f"t >= {timestamp_literal(start)} AND t < {timestamp_literal(max(end, base.end(base.ordinal(start))))}"
        yield world.ask(f"SELECT u, COUNT(*), MAX(m) FROM c WHERE {within} GROUP BY u")
        yield world.ask(f"SELECT t, COUNT(*), SUM(m) FROM c WHERE {within} AND m < 900 GROUP BY t")
    yield world.ask("SELECT u, COUNT(*), MAX(m) FROM c GROUP BY u")


def told(
    engine: Engine, folder: Path, seed: int, name: str, length: int, tell: Callable[..., Iterator[object]] = history
) -> list[object]:
    rng = random.Random(seed)
    parted, periods = rng.random() < 0.4, PERIODS[seed % len(PERIODS)]
    with Session(folder / name.replace(" ", "-"), engine) as session:
        return list(tell(World(session, periods, name, parted=parted), rng, periods, length))


def check(engine: Engine, folder: Path, seed: int, names: Sequence[str], length: int) -> None:
    expected = told(engine, folder, seed, "default", length)
    for name in names:
        if name == "numbers together" and P.WEEKLY in PERIODS[seed % len(PERIODS)]:
            continue  # 201501 would be a week and a month.
        results = told(engine, folder, seed, name, length)
        for index, (default, result) in enumerate(zip(expected, results, strict=True)):
            assert result == default, f"seed {seed}, {name}, answer {index}"


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(2 * len(PERIODS)))
def test_every_layout_answers_as_the_default_ones_do(duckdb: Engine, tmp_path: Path, seed: int) -> None:
    check(duckdb, tmp_path, seed, [*LAYOUTS, *TOGETHER][seed % 2 :: 2], 44)


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", [0, 3])
def test_many_periods_that_are_not_in_key_order(duckdb: Engine, tmp_path: Path, seed: int) -> None:
    check(duckdb, tmp_path, seed, ["unordered", "columns in another order"], 130)


def test_a_period_of_several_partitions_is_judged_by_its_own(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        for sql in (
            "CREATE CUBE c (u STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, u STRING)",
            "CREATE TABLE weeks (n BIGINT) PARTITIONED BY (w INT, y INT, u STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'HH:dd-MM-yyyy') "
            "COMPLETE WITH ANY u, TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w = 'ww', y = 'YYYY') "
            "COMPLETE WITH ANY u)",
            # Hours of other weeks, with values that the week does not have.
            "INSERT INTO hours VALUES (1, '00:09-02-2015', 'b'), (1, '23:01-02-2015', 'b')",
        ):
            session.execute(sql)
        hours = ((hour, day) for day in range(2, 9) for hour in range(24))
        rows = ", ".join(f"(1, '{hour:02d}:{day:02d}-02-2015', 'a')" for hour, day in hours)
        session.execute(f"INSERT INTO hours VALUES {rows}")
        refreshed = ("weeks", "WEEKLY", "2015-02-02", "2015-02-09", "missing", "refreshed", 1)
        assert session.execute("REFRESH FACT f").fetch() == [refreshed]
        assert session.execute("SHOW PARTITIONS weeks").fetch() == [("w=6/y=2015/u=a",)]
        result = session.execute("SELECT COUNT(*) FROM c WHERE t >= '2015-02-01 23:00' AND t < '2015-02-09 01:00'")
        assert result.fetch() == [(170,)]
        assert result.stats.partitions == 3


@pytest.mark.parametrize("kind", ["TABLE", "EXTERNAL TABLE"])
def test_a_value_that_fits_no_layout_leaves_nothing_behind(engine: Engine, tmp_path: Path, kind: str) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        location = f" LOCATION '{tmp_path}/outside'" if kind.startswith("EXTERNAL") else ""
        session.execute("CREATE CUBE c (u STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        session.execute(f"CREATE {kind} hours (u STRING, n BIGINT) PARTITIONED BY (hr INT, ds DATE){location}")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (ds, hr = 'HH'))"
        )
        session.execute("INSERT INTO hours VALUES ('a', 1, 23, DATE '2015-01-31')")
        before = sorted(tmp_path.rglob("*.parquet"))
        for hour, day in ((24, "DATE '2015-01-31'"), (-1, "DATE '2015-01-31'"), (5, "CAST(NULL AS DATE)")):
            with pytest.raises(DataError) as caught:
                session.execute(f"INSERT INTO hours VALUES ('a', 1, 0, DATE '2015-02-01'), ('a', 1, {hour}, {day})")
            assert caught.value.condition == "INVALID_TIME_PARTITION"
            assert caught.value.object == ("ds" if "NULL" in day else "hr")
            assert caught.value.position is not None
            assert caught.value.hint
        with pytest.raises(DataError, match="hour 24 is not in 0–23"):
            session.execute("INSERT INTO hours PARTITION (hr = 24, ds = '2015-01-31') VALUES ('a', 1)")
        assert sorted(tmp_path.rglob("*.parquet")) == before
        assert session.execute("SHOW PARTITIONS hours").fetch() == [("hr=23/ds=2015-01-31",)]
        assert session.execute("SELECT COUNT(*) FROM c WHERE t = '2015-01-31 23:00:00'").fetch() == [(1,)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 140))
def test_more_histories(duckdb: Engine, tmp_path: Path, seed: int) -> None:
    check(duckdb, tmp_path, seed, [*LAYOUTS, *TOGETHER], 60)


@pytest.mark.share(2)
@pytest.mark.parametrize("seed", [0, 1])
def test_spark_answers_as_duckdb_does(spark: Engine, duckdb: Engine, tmp_path: Path, seed: int) -> None:
    names = [[*LAYOUTS][1::2], [*LAYOUTS][2::2]][seed] + [[*TOGETHER][1 - seed]]
    expected = told(duckdb, tmp_path / "duckdb", seed, "default", 26, short_history)
    for name in names:
        assert told(spark, tmp_path / "spark", seed, name, 26, short_history) == expected, name
