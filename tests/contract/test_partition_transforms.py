"""Tables partitioned by ``days(ts)`` and the like: random writes and conditions, beside a model in plain Python.

The model knows the rows, and computes the partition of each with ``datetime``. Conditions are evaluated with three
truth values.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from rewriter.errors import DataError
from rewriter.exec.engine import Engine
from rewriter.session import Session

#: id, region, ts without a zone, in UTC, and the date.
Row = tuple[int, str | None, datetime | None, date | None]
Truth = Callable[[Row], bool | None]

#: Changes of the clocks in New York and Berlin, month and year ends, times before 1970, and the ends of the calendar.
TIMES = [
    datetime(1, 1, 1), datetime(1, 1, 1, 0, 59, 59, 999999), datetime(1582, 10, 10, 5), datetime(1899, 12, 31, 23, 59),
    datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1970, 1, 1), datetime(2023, 12, 31, 23, 59, 59),
    datetime(2024, 1, 1), datetime(2024, 2, 29, 12), datetime(2024, 3, 10, 6, 59, 59), datetime(2024, 3, 10, 7),
    datetime(2024, 3, 31, 0, 59, 59, 999999), datetime(2024, 3, 31, 1), datetime(2024, 11, 3, 5, 30),
    datetime(2024, 11, 3, 6, 30), datetime(9999, 12, 31, 23), datetime(9999, 12, 31, 23, 59, 59, 999999),
]  # fmt: skip
DATES = [
    date(1, 1, 1), date(1582, 10, 15), date(1969, 12, 31), date(1970, 1, 1), date(2023, 12, 31), date(2024, 1, 1),
    date(2024, 2, 29), date(2024, 3, 31), date(9999, 12, 31),
]  # fmt: skip
#: Each transform with the column of the row that it reads, and the start of the period.
TRANSFORMS: dict[str, tuple[int, Callable[[Any], str]]] = {
    "years(ts)": (2, lambda at: f"{at.year:04d}-01-01"),
    "month(ts)": (2, lambda at: f"{at.year:04d}-{at.month:02d}-01"),
    "days(ts)": (2, lambda at: at.date().isoformat()),
    "date_hour(ts)": (2, lambda at: at.replace(minute=0, second=0, microsecond=0).isoformat(" ").replace(":", "%3A")),
    "year(d)": (3, lambda at: f"{at.year:04d}-01-01"),
    "months(d)": (3, lambda at: f"{at.year:04d}-{at.month:02d}-01"),
    "date(d)": (3, lambda at: at.isoformat()),
}
COLUMNS = {
    "years(ts)": "ts_year", "month(ts)": "ts_month", "days(ts)": "ts_day", "date_hour(ts)": "ts_hour",
    "year(d)": "d_year", "months(d)": "d_month", "date(d)": "d_day",
}  # fmt: skip
NULL = "__HIVE_DEFAULT_PARTITION__"


def time_sql(at: datetime | None) -> str:
    return "CAST(NULL AS TIMESTAMP)" if at is None else f"TIMESTAMP '{at.isoformat(' ')}'"


def date_sql(at: date | None) -> str:
    return "CAST(NULL AS DATE)" if at is None else f"DATE '{at.isoformat()}'"


def text_sql(text: str | None) -> str:
    return "CAST(NULL AS STRING)" if text is None else f"'{text}'"


@dataclass
class World:
    """A table on an engine, and the rows that it should have."""

    session: Session
    random: random.Random
    transform: str
    has_region: bool
    rows: list[Row] = field(default_factory=list)
    made: int = 0
    region_first: bool = False

    def create(self) -> None:
        using = self.random.choice(("", "USING parquet", "USING csv"))
        self.region_first = self.has_region and self.random.random() < 0.5
        by = f"region, {self.transform}" if self.region_first else self.transform + ", region" * self.has_region
        self.session.execute(
            f"CREATE TABLE t (id INT, region STRING, ts TIMESTAMP, d DATE) {using} PARTITIONED BY ({by})"
        )

    def partition(self, row: Row) -> tuple[str | None, str]:
        """Returns the region, if it names partitions, and the value of the hidden column as a directory has it."""
        index, start = TRANSFORMS[self.transform]
        value = row[index]
        return row[1] if self.has_region else None, NULL if value is None else start(value)

    def name(self, row: Row) -> str:
        region, value = self.partition(row)
        parts = [f"{COLUMNS[self.transform]}={value}"]
        if self.has_region:
            parts.insert(0 if self.region_first else 1, f"region={NULL if region is None else region}")
        return "/".join(parts)

    def new_rows(self, count: int, region: str | type[Any] | None = Any) -> list[Row]:
        rows: list[Row] = []
        for _ in range(count):
            self.made += 1
            at = self.random.choice([*TIMES, None, self._near()])
            day = self.random.choice([*DATES, None, self._near().date()])
            own = self.random.choice(("eu", "us", None)) if region is Any else region
            rows.append((self.made, own if own is None else str(own), at, day))
        return rows

    def _near(self) -> datetime:
        return datetime(2024, 1, 1) + timedelta(seconds=self.random.randrange(400 * 86400))

    def write(self) -> None:
        self.random.choice(
            (self._values, self._values, self._listed, self._by_name, self._append, self._many, self._overwrite,
             self._static, self._multi, self._drop)
        )()  # fmt: skip

    def _relation(self, rows: Sequence[Row]) -> str:
        listed = ", ".join(f"({i}, {text_sql(r)}, {time_sql(t)}, {date_sql(d)})" for i, r, t, d in rows)
        return f"(VALUES {listed}) AS v(id, region, ts, d)"

    @property
    def natural(self) -> str:
        return "id, ts, d, region" if self.has_region else "id, region, ts, d"

    def _values(self) -> None:
        rows = self.new_rows(self.random.randrange(1, 6))
        self.session.execute(f"INSERT INTO t SELECT {self.natural} FROM {self._relation(rows)}")
        self.rows += rows

    def _listed(self) -> None:
        rows = self.new_rows(2)
        order = self.random.sample(["id", "region", "ts", "d"], 4)
        left_out = "d" if self.random.random() < 0.5 else None
        order = [name for name in order if name != left_out]
        self.session.execute(
            f"INSERT INTO t ({', '.join(order)}) SELECT {', '.join(order)} FROM {self._relation(rows)}"
        )
        self.rows += [(i, r, t, None if left_out else d) for i, r, t, d in rows]

    def _by_name(self) -> None:
        rows = self.new_rows(2)
        order = self.random.sample(["id", "region", "ts", "d"], 4)
        self.session.execute(f"INSERT INTO t BY NAME SELECT {', '.join(order)} FROM {self._relation(rows)}")
        self.rows += rows

    def _append(self) -> None:
        rows = self.new_rows(3)
        ids, regions, times, dates = zip(*rows, strict=True)
        data = {
            "d": pa.array(dates, pa.date32()),
            "id": pa.array(ids, pa.int32()),
            "ts": pa.array([at if at is None else at.replace(tzinfo=UTC) for at in times], pa.timestamp("us", "UTC")),
            "region": pa.array(regions, pa.string()),
        }
        self.session.append("t", pa.table(data))
        self.rows += rows

    def _many(self) -> None:
        rows = self.new_rows(2)
        for i, r, t, d in rows:
            row = {"i": i, "r": r, "t": t if t is None else t.replace(tzinfo=UTC), "d": d}
            self.session.execute("INSERT INTO t (id, region, ts, d) VALUES (:i, :r, :t, :d)", row)
        self.rows += rows

    def _overwrite(self) -> None:
        rows = self.new_rows(2)
        self.session.execute(f"INSERT OVERWRITE t SELECT {self.natural} FROM {self._relation(rows)}")
        self._replaced(rows)

    def _replaced(self, rows: Sequence[Row]) -> None:
        written = {self.partition(row) for row in rows}
        self.rows = [row for row in self.rows if self.partition(row) not in written] + list(rows)

    def _static(self) -> None:
        if not self.has_region:
            return self._overwrite()
        rows, mode = self.new_rows(2, "eu"), self.random.choice(("dynamic", "static"))
        self.session.execute(f"SET rewriter.partition_overwrite_mode = {mode if self.region_first else 'dynamic'}")
        self.session.execute(
            f"INSERT OVERWRITE t PARTITION (region = 'eu') SELECT id, ts, d FROM {self._relation(rows)}"
        )
        self.session.execute("RESET rewriter.partition_overwrite_mode")
        if mode == "static" and self.region_first:
            self.rows = [row for row in self.rows if row[1] != "eu"]
        self._replaced(rows)
        return None

    def _multi(self) -> None:
        rows = self.new_rows(4)
        self.session.execute(
            f"FROM {self._relation(rows)} INSERT INTO t SELECT {self.natural} WHERE id % 2 = 0 "
            f"INSERT INTO t SELECT {self.natural} WHERE id % 2 = 1"
        )
        self.rows += rows

    def _drop(self) -> None:
        if self.rows:
            row = self.random.choice(self.rows)
            value = self.partition(row)[1].replace("%3A", ":")
            column = COLUMNS[self.transform]
            spec = f"{column} IS NULL" if value == NULL else f"{column} = '{value}'"
            self.session.execute(f"ALTER TABLE t DROP PARTITION ({spec})")
            self.rows = [other for other in self.rows if self.partition(other)[1] != self.partition(row)[1]]

    def condition(self, depth: int = 2) -> tuple[str, Truth]:
        kind = self.random.random()
        if depth and kind < 0.3:
            (left, first), (right, second) = self.condition(depth - 1), self.condition(depth - 1)
            if self.random.random() < 0.5:
                return f"({left} AND {right})", lambda row: _and(first(row), second(row))
            return f"({left} OR {right})", lambda row: _not(_and(_not(first(row)), _not(second(row))))
        if depth and kind < 0.45:
            text, truth = self.condition(depth - 1)
            return f"NOT ({text})", lambda row: _not(truth(row))
        return self._of_time() if self.random.random() < 0.6 else self._of_date()

    def _of_time(self) -> tuple[str, Truth]:
        at = self.random.choice([*TIMES, self._near()])
        other = max(at, self.random.choice(TIMES))
        day, month = datetime(at.year, at.month, at.day), datetime(at.year, at.month, 1)
        op, test = self.random.choice(list(_TESTS.items()))
        wall = at.replace(tzinfo=ZoneInfo("America/New_York"))
        in_zone = wall.astimezone(UTC).replace(tzinfo=None) if 1970 < at.year < 2099 else None
        forms: list[tuple[str, Truth]] = [
            (f"ts {op} {time_sql(at)}", _of(2, lambda t: test(t, at))),
            (f"ts {op} '{at.isoformat(' ')}'", _of(2, lambda t: test(t, at))),
            (f"{time_sql(at)} {op} ts", _of(2, lambda t: test(at, t))),
            (f"ts {op} DATE '{at.date().isoformat()}'", _of(2, lambda t: test(t, day))),
            (f"ts BETWEEN {time_sql(at)} AND {time_sql(other)}", _of(2, lambda t: at <= t <= other)),
            (f"ts IN ({time_sql(at)}, {time_sql(other)})", _of(2, lambda t: t in (at, other))),
            (f"to_date(ts) {op} DATE '{at.date().isoformat()}'", _of(2, lambda t: test(t.date(), at.date()))),
            (f"CAST(ts AS DATE) {op} '{at.date().isoformat()}'", _of(2, lambda t: test(t.date(), at.date()))),
            (
                f"date_trunc('month', ts) {op} {time_sql(month)}",
                _of(2, lambda t: test(datetime(t.year, t.month, 1), month)),
            ),
            (f"year(ts) {op} {at.year}", _of(2, lambda t: test(t.year, at.year))),
            (f"ts <=> {time_sql(at)}", lambda row: row[2] == at),
            ("ts IS NULL", lambda row: row[2] is None),
            ("ts IS NOT NULL", lambda row: row[2] is not None),
            (f"ts {op} NULL", lambda row: None),
        ]
        if in_zone is not None and (
            wall.utcoffset() == in_zone.replace(tzinfo=UTC).astimezone(wall.tzinfo).utcoffset()
        ):
            text = f"ts {op} to_utc_timestamp({time_sql(at)}, 'America/New_York')"
            forms.append((text, _of(2, lambda t: test(t, in_zone))))
        return self.random.choice(forms)

    def _of_date(self) -> tuple[str, Truth]:
        day = self.random.choice([*DATES, self._near().date()])
        op, test = self.random.choice(list(_TESTS.items()))
        noon = datetime(day.year, day.month, day.day, 12)
        forms: list[tuple[str, Truth]] = [
            (f"d {op} DATE '{day.isoformat()}'", _of(3, lambda d: test(d, day))),
            (f"d {op} '{day.isoformat()}'", _of(3, lambda d: test(d, day))),
            (f"d {op} {time_sql(noon)}", _of(3, lambda d: test(datetime(d.year, d.month, d.day), noon))),
            (f"d IN ('{day.isoformat()}', NULL)", lambda row: True if row[3] == day else None),
            (f"year(d) {op} {day.year}", _of(3, lambda d: test(d.year, day.year))),
            (
                f"date_trunc('year', d) {op} DATE '{day.year:04d}-01-01'",
                _of(3, lambda d: test(date(d.year, 1, 1), date(day.year, 1, 1))),
            ),
            ("d IS NULL", lambda row: row[3] is None),
            ("isnotnull(d)", lambda row: row[3] is not None),
            (f"id > {self.random.randrange(self.made + 1)}", lambda row: None),
        ]
        text, truth = self.random.choice(forms)
        if text.startswith("id > "):
            least = int(text.removeprefix("id > "))
            return text, lambda row: row[0] > least
        return text, truth

    def check(self) -> None:
        text, truth = self.condition()
        wanted = sorted((row for row in self.rows if truth(row)), key=lambda row: row[0])
        rows = self.session.execute(f"SELECT id, region, ts, d FROM t WHERE {text} ORDER BY id").rows()
        assert [(i, r, t and t.replace(tzinfo=None), d) for i, r, t, d in rows] == wanted, text
        ((count,),) = self.session.execute(f"SELECT COUNT(*) FROM t WHERE {text}").rows()
        assert count == len(wanted), text
        names = {row[0] for row in self.session.execute("SHOW PARTITIONS t").rows()}
        assert {self.name(row) for row in self.rows} <= names


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _and(left: bool | None, right: bool | None) -> bool | None:
    return False if left is False or right is False else None if left is None or right is None else True


def _of(index: int, test: Callable[[Any], bool]) -> Truth:
    return lambda row: None if row[index] is None else test(row[index])


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


@contextlib.contextmanager
def _world(seed: int, engine: Engine, path: Path) -> Iterator[World]:
    choices = random.Random(f"transforms {seed}")
    with Session(path / "warehouse", engine) as session:
        world = World(session, choices, choices.choice(list(TRANSFORMS)), choices.random() < 0.5)
        world.create()
        yield world


@pytest.mark.share(60)
@pytest.mark.parametrize("seed", range(60))
def test_random_writes_and_conditions_agree_with_a_model_on_duckdb(seed: int, duckdb: Engine, tmp_path: Path) -> None:
    with _world(seed, duckdb, tmp_path) as world:
        for _ in range(5):
            world.write()
            for _ in range(5):
                world.check()
        _check_copy(world)


@pytest.mark.spark
@pytest.mark.share(8)
@pytest.mark.parametrize("seed", range(1000, 1008))
def test_random_writes_and_conditions_agree_with_a_model_on_spark(seed: int, spark: Engine, tmp_path: Path) -> None:
    with _world(seed, spark, tmp_path) as world:
        for _ in range(4):
            world.write()
            for _ in range(3):
                world.check()
        _check_copy(world)


def _check_copy(world: World) -> None:
    """SHOW CREATE TABLE makes the same table, CREATE TABLE AS has the same partitions, and COMPACT keeps the rows."""
    session = world.session

    def rows(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in session.execute(sql).rows()]

    ((text,),) = rows("SHOW CREATE TABLE t")
    session.execute(text.replace("default.t", "copy", 1))
    assert rows("SHOW CREATE TABLE copy") == [(text.replace("default.t", "default.copy", 1),)]
    by = f"region, {world.transform}" if world.has_region else world.transform
    session.execute(f"CREATE TABLE made PARTITIONED BY ({by}) AS SELECT * FROM t")
    session.execute("INSERT INTO copy BY NAME SELECT * FROM made")
    session.execute("ALTER TABLE copy COMPACT")
    assert {name for (name,) in rows("SHOW PARTITIONS copy")} == {world.name(row) for row in world.rows}
    assert rows("SELECT * FROM copy ORDER BY id") == rows("SELECT * FROM t ORDER BY id")


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_time_outside_of_the_years_of_partitions_is_refused(transform: str, engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", engine) as session:
        session.execute(f"CREATE TABLE t (ts TIMESTAMP, d DATE) PARTITIONED BY ({transform})")
        for late in ("date_add(DATE '9999-12-31', 1)", "date_sub(DATE '0001-01-01', 1)"):
            with pytest.raises(DataError) as error:
                session.execute(f"INSERT INTO t SELECT CAST(x AS TIMESTAMP), x FROM (SELECT {late} AS x)")
            assert error.value.condition in ("INVALID_PARTITION_VALUE", "CAST_INVALID_INPUT")
        assert list(session.execute("SELECT * FROM t").rows()) == []
