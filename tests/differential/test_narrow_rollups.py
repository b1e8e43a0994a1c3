"""Random queries over a fact whose rollups have different columns, compared with plain SQL over the base rows.

The base is hours, or RAW events. Each day or month has several rollups, of random dimensions and measures. Some tables
have further columns that their fact does not list, which hold other values: they must never be read.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

import rewriter
from rewriter.catalog.model.objects import Aggregate, Measure
from rewriter.dbapi import Connection
from rewriter.exec.engine import Engine
from rewriter.planner.cover import choose_facts
from rewriter.planner.rewrite import additivity
from rewriter.planner.scope.column_lineage import Columns, NeededColumns
from rewriter.statements.maintain import check_fact, refresh_fact
from tests.rotation import share

START, DAYS = datetime(2024, 1, 30), 33
END = START + timedelta(days=DAYS)
DIMENSIONS = {"page": "STRING", "country": "STRING", "user_id": "BIGINT"}
MEASURES = {"n": ("BIGINT", "COUNT"), "ms": ("BIGINT", "SUM"), "slowest": ("INT", "MAX"), "seen": ("BIGINT", "COUNT"),
            "depth": ("BIGINT", "SUM"), "paid": ("BOOLEAN", "BOOL_OR"), "good": ("BOOLEAN", "BOOL_AND"),
            "flags": ("INT", "BIT_OR"), "mask": ("BIGINT", "BIT_AND"), "ids": ("BINARY", "BITMAP_OR"),
            "stamp": ("BIGINT", "MAX"), "level": ("INT", "LAST"), "began": ("BIGINT", "MIN"),
            "opening": ("INT", "FIRST"), "who": ("BINARY", "THETA_UNION")}  # fmt: skip
TYPES = {**DIMENSIONS, **{name: type_ for name, (type_, _) in MEASURES.items()}}
FORMS = {"HOURLY": "%Y-%m-%d-%H", "DAILY": "%Y-%m-%d", "MONTHLY": "%Y-%m"}
AGGREGATES = ("COUNT(*)", "SUM(n)", "SUM(ms)", "MAX(slowest)", "AVG(depth)", "SUM(depth)", "COUNT(DISTINCT user_id)",
              "COUNT(country)", "MAX(page)", "SUM(CASE WHEN country = 'c1' THEN ms END)", "SUM(seen)",
              "SUM(ms) FILTER (WHERE user_id < 3)", "BOOL_OR(paid)", "EVERY(good)", "BIT_OR(flags)", "BIT_AND(mask)",
              "BOOL_AND(good) FILTER (WHERE country = 'c1')", "BOOL_AND(paid)", "BIT_OR(mask)", "BIT_AND(user_id)",
              "BITMAP_COUNT(BITMAP_OR_AGG(ids))", "HEX(BITMAP_OR_AGG(ids))", "MAX_BY(level, stamp)",
              "MIN_BY(opening, began)", "MAX_BY(level, stamp) FILTER (WHERE country = 'c1')",
              "MAX_BY(level, began)", "HEX(THETA_UNION_AGG(who, 6))", "THETA_SKETCH_ESTIMATE(THETA_UNION_AGG(who, 5))",
              "THETA_SKETCH_ESTIMATE(THETA_UNION_AGG(who))",
              "HEX(THETA_UNION_AGG(who, 5) FILTER (WHERE user_id < 3))",
              "HEX(THETA_SKETCH_AGG(user_id))",
              "THETA_SKETCH_ESTIMATE(THETA_SKETCH_AGG(concat(page, country), 5))", "PERCENTILE(user_id, 0.3, n)",
              "PERCENTILE(user_id * 2, 0.9, seen) FILTER (WHERE country = 'c1')", "PERCENTILE(user_id, 0.5, ms * ms)",
              "PERCENTILE(user_id, 0.5)", "PERCENTILE(slowest, 0.5, n)")  # fmt: skip
KEYS = (*DIMENSIONS, "date_trunc('month', t)", "to_date(t)", "upper(page)", "concat(page, country)", "user_id % 2")
CONDITIONS = ("page = 'p1'", "country IN ('c0', 'c2')", "user_id < 3", "country IS NULL", "page <> country")
#: Items of views and subqueries that no query uses.
COMPUTED = (
    "upper(country) AS uc",
    "concat(page, country) AS pc",
    "user_id + 1 AS next",
    "ms * 2 AS twice_ms",
    "length(page)",
)
#: What a table with a column must have, too.
NEEDED = {
    "depth": ("seen",),
    "ids": ("user_id",),
    "level": ("user_id", "stamp"),
    "opening": ("user_id", "began"),
}
ROLLED = {"n": "SUM(n)", "ms": "SUM(ms)", "slowest": "MAX(slowest)", "seen": "SUM(seen)", "depth": "SUM(depth)",
          "paid": "BOOL_OR(paid)", "good": "BOOL_AND(good)", "flags": "BIT_OR(flags)", "mask": "BIT_AND(mask)",
          "ids": "BITMAP_OR_AGG(ids)", "stamp": "MAX(stamp)", "level": "MAX_BY(level, stamp)", "began": "MIN(began)",
          "opening": "MIN_BY(opening, began)", "who": "THETA_UNION_AGG(who, 6)"}  # fmt: skip


class World:
    """A warehouse with hours and narrow rollups, which random steps change; ``rows`` are the base rows."""

    def __init__(self, connection: Connection, source: random.Random) -> None:
        self.connection, self.source = connection, source
        self.rows: list[tuple[Any, ...]] = []
        self.stamps = 0
        #: By name of the table: its period, and the columns that the fact says it has.
        self.rollups: dict[str, tuple[str, tuple[str, ...]]] = {}
        run = connection.execute
        run(f"CREATE CUBE views ({_declared(DIMENSIONS)}, n BIGINT MEASURE COUNT EVENTS, "
            "ms BIGINT MEASURE SUM, slowest INT MEASURE MAX, seen BIGINT MEASURE COUNT, "
            "depth BIGINT MEASURE SUM COUNTED BY seen, paid BOOLEAN MEASURE BOOL_OR, good BOOLEAN MEASURE BOOL_AND, "
            "flags INT MEASURE BIT_OR, mask BIGINT MEASURE BIT_AND, ids BINARY MEASURE BITMAP_OR BUCKETED BY user_id, "
            "stamp BIGINT MEASURE MAX, level INT MEASURE LAST BY stamp PER (user_id), began BIGINT MEASURE MIN, "
            "opening INT MEASURE FIRST BY began PER (user_id), who BINARY MEASURE THETA_UNION PRECISION 6, "
            "t TIMESTAMP TIME)")  # fmt: skip
        run("CREATE TABLE positions (position INT, ids BINARY)")
        run("INSERT INTO positions SELECT CAST(id AS INT), bitmap_construct_agg(id) FROM range(9) GROUP BY id")
        # Sets of up to 90 values, in sketches of other precisions than the measure's.
        run("CREATE TABLE sketches (number INT, who BINARY)")
        for precision in (5, 6, 9):
            run(f"INSERT INTO sketches SELECT CAST(id % 9 AS INT) + {precision * 10}, "
                f"theta_sketch_agg(id * (id % 9 + {precision}), {precision}) FROM range(810) "
                "WHERE id % 9 > 1 OR id < 90 GROUP BY id % 9")  # fmt: skip
        run(f"CREATE TABLE hours ({_declared(TYPES)}) PARTITIONED BY (p STRING)")
        tables = ["TABLE hours PERIOD HOURLY PARTITIONED BY t AS (p)"]
        for number in range(source.randint(2, 5)):
            tables.append(self._rollup(f"r{number}", source.choice(("HOURLY", "DAILY", "DAILY", "MONTHLY"))))
        run(f"CREATE FACT f OF CUBE views STORED IN ({', '.join(tables)})")
        hours = f"MARK COMPLETE FROM '{START:%Y-%m-%d}' TO '{END:%Y-%m-%d}'"
        self._insert(self._random_rows(200), hours)
        run("REFRESH FACT f")

    def _rollup(self, name: str, period: str) -> str:
        """Creates a table, and returns its TABLE clause."""
        source = self.source
        # With all columns, a table of hours would be a copy of the base.
        columns = [
            column for column in DIMENSIONS if source.random() < 0.5 and (period, column) != ("HOURLY", "user_id")
        ]
        columns += [column for column in MEASURES if source.random() < 0.6] or ["n"]
        for column in [column for column in columns if column in NEEDED]:
            absent = [needed for needed in NEEDED[column] if needed not in columns]
            if any(needed in DIMENSIONS for needed in absent):
                columns.remove(column)
            else:
                columns += absent
        if not any(column in MEASURES for column in columns):
            columns.append("n")
        is_listed = source.random() < 0.5
        # Columns that the list leaves out: nothing proves what they hold, and REFRESH leaves the table alone.
        others = [column for column in TYPES if column not in columns and is_listed and source.random() < 0.3]
        stored = {column: TYPES[column] for column in source.sample([*columns, *others], len(columns) + len(others))}
        self.connection.execute(f"CREATE TABLE {name} ({_declared(stored)}) PARTITIONED BY (p STRING)")
        self.rollups[name] = period, tuple(columns)
        listed = f" ({', '.join(columns)})" if is_listed else ""
        return f"TABLE {name}{listed} PERIOD {period} PARTITIONED BY t AS (p)"

    def _random_rows(self, count: int) -> list[tuple[Any, ...]]:
        source, rows = self.source, []
        for _ in range(count):
            at = START + timedelta(hours=source.randrange(24 * DAYS))
            seen = source.randrange(3)
            rows.append((
                source.choice(("p0", "p1", "c1", None)), source.choice(("c0", "c1", "c2", None)), source.randrange(6),
                source.randrange(1, 4), source.choice((None, 5, -7, 40)), source.choice((None, 1, 9, -2)), seen,
                source.randrange(10) if seen else None, source.choice((True, False, False, None)),
                source.choice((True, True, False, None)), source.choice((None, 0, 1, 6, -1)),
                source.choice((None, 7, 6, 12, -2)), source.choice((*range(9), None)), self._unique(),
                source.choice((None, 3, 4, 50)), self._unique(), source.choice((None, 0, 8)),
                source.choice((None, 50, 53, 58, 61, 65, 90, 94, 98)), at,
            ))  # fmt: skip
        return rows

    def _unique(self) -> int | None:
        """Returns a time that no other row has, or none: of two rows with one time, either may be the last."""
        self.stamps += 1
        return self.source.choice((None, self.stamps * 977 % 100_003, self.stamps * 983 % 100_003))

    def _insert(self, rows: list[tuple[Any, ...]], mark: str = "") -> None:
        self.rows += rows
        shown = ", ".join(f"({', '.join(map(_literal, row[:-1]))}, '{row[-1]:%Y-%m-%d-%H}')" for row in rows)
        joined = {"ids": "i.ids", "who": "s.who"}
        names = ", ".join(joined.get(name, name) for name in TYPES)
        self.connection.execute(
            f"INSERT INTO hours {mark} SELECT {names}, p FROM VALUES {shown} AS v({', '.join(TYPES)}, p) "
            "LEFT JOIN positions i ON i.position = v.ids LEFT JOIN sketches s ON s.number = v.who"
        )

    def step(self) -> None:
        """Writes late rows, computes rollups again, or fills one by an INSERT that the catalog proves."""
        choice = self.source.randrange(4)
        if choice == 0:
            self._insert(self._random_rows(3))
        elif choice == 1:
            self.connection.execute("REFRESH FACT f")
        elif choice == 2:
            self._fill(self.source.choice(list(self.rollups)))
        else:
            assert {row[8] for row in self.connection.execute("CHECK FACT f").fetchall()} <= {
                "agrees", "nothing compared", "outdated", "incomplete", "unproven"
            }  # fmt: skip

    def _fill(self, name: str) -> None:
        """Computes a rollup by an INSERT. Its columns that the fact does not list get wrong values."""
        period, columns = self.rollups[name]
        described = self.connection.execute(f"DESCRIBE TABLE {name}").fetchall()
        stored = [row[0] for row in described[: [row[0] for row in described].index("p")]]
        grouped = [column for column in DIMENSIONS if column in columns]
        wrong = {"STRING": "'wrong'", "BIGINT": "CAST(-1000 AS BIGINT)", "INT": "1000", "BOOLEAN": "TRUE",
                 "BINARY": "bitmap_construct_agg(10)"}  # fmt: skip
        values = [
            ROLLED.get(column, column) if column in columns else f"{wrong[TYPES[column]]} AS {column}"
            for column in stored
        ]
        length = {"HOURLY": 13, "DAILY": 10, "MONTHLY": 7}[period]
        end = "" if period != "MONTHLY" else f" WHERE p >= '2024-02-01' AND p < '{END:%Y-%m}'"
        keys = ", ".join([*grouped, f"left(p, {length})"])
        self.connection.execute(
            f"INSERT OVERWRITE {name} SELECT {', '.join([*values, f'left(p, {length}) AS p'])} FROM hours{end} "
            f"GROUP BY {keys}"
        )

    def check(self) -> None:
        """Compares a random query over the cube with the same query over the base rows."""
        source = self.source
        calls = source.sample(AGGREGATES, source.randint(1, 3))
        keys = source.sample(KEYS, source.choice((0, 1, 1, 2)))
        if any("ids" in call or "_BY" in call for call in calls) and "user_id" not in keys:
            keys.append("user_id")
        start = START + timedelta(hours=source.randrange(24 * DAYS)) if source.random() < 0.5 else START
        end = source.choice((END, datetime(2024, 3, 1), start + timedelta(days=3)))
        conditions = [f"t >= '{start}'", f"t < '{min(max(end, start), END)}'"]
        conditions += source.sample(CONDITIONS, source.choice((0, 0, 1)))
        items = ", ".join(f"{item} AS c{number}" for number, item in enumerate([*keys, *calls]))
        grouped = f" GROUP BY {', '.join(map(str, range(1, len(keys) + 1)))}" if keys else ""
        query = f"SELECT {items} FROM {{}} WHERE {' AND '.join(conditions)}{grouped}"
        expected = query.replace("COUNT(*)", "COALESCE(SUM(n), 0)").replace("AVG(depth)", "SUM(depth) / SUM(seen)")
        expected = expected.replace("COUNT(country)", "COALESCE(SUM(CASE WHEN country IS NULL THEN 0 ELSE n END), 0)")
        base = "(SELECT *, to_timestamp(p, 'yyyy-MM-dd-HH') AS t FROM hours)"
        before, cube = self._cube()
        asked = before + query.format(cube)
        returned = self.connection.execute(asked).fetchall()
        wanted = self.connection.execute(expected.format(base)).fetchall()
        assert _sorted(returned) == _sorted(wanted), asked

    def _cube(self) -> tuple[str, str]:
        """Returns what stands before a query, and the name or the subquery by which it reads the cube. Most of these
        select columns that the query does not use.
        """
        source = self.source
        kind = source.choice(("cube", "cube", "view", "view of view", "derived", "with", "nested"))
        columns = [*TYPES, "t", *source.sample(COMPUTED, source.randint(0, len(COMPUTED)))]
        items = ", ".join(source.sample(columns, len(columns)))
        if kind == "cube":
            return "", "views"
        if kind == "with":
            return f"WITH w AS (SELECT {items} FROM views) ", source.choice(("w", "w AS v"))
        if kind.startswith("view"):
            self.connection.execute(f"CREATE OR REPLACE VIEW shown AS SELECT {items} FROM views")
            self.connection.execute(f"CREATE OR REPLACE VIEW twice AS SELECT {', '.join([*TYPES, 't'])} FROM shown")
            return "", "shown" if kind == "view" else "twice"
        inner = f"(SELECT {items} FROM views) AS i"
        return "", inner if kind == "derived" else f"(SELECT *, page AS again FROM {inner}) AS o"


def _declared(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns.items())


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _sorted(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return sorted(tuple(f"{v:.9g}" if isinstance(v, float) else str(v) for v in row) for row in rows)


def run(seed: int, engine: Engine | str, path: Path, steps: int = 6) -> None:
    source = random.Random(seed)
    with rewriter.connect(path, engine=engine) as connection:
        world = World(connection, source)
        # A cover that the checker of certificates refutes is an error of the query.
        connection.execute("SET rewriter.verify = certificate")
        for _ in range(steps):
            for _ in range(5):
                world.check()
            world.step()


@pytest.mark.share(1)
@pytest.mark.parametrize("part", range(6))
def test_queries_return_what_the_base_holds(part: int, tmp_path: Path) -> None:
    for seed in share(range(part, 150, 6), 25):
        run(seed, "duckdb", tmp_path / str(seed))


@pytest.mark.share(4)
@pytest.mark.parametrize("seed", range(1000, 1004))
def test_queries_on_spark(seed: int, spark: Engine, tmp_path: Path) -> None:
    run(seed, spark, tmp_path / "w", steps=2)


def _serve_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow table serves a query on a column that it does not have."""
    monkeypatch.setattr(choose_facts, "_missing_in_table", lambda source, demand: [])


def _compute_from_rollups(monkeypatch: pytest.MonkeyPatch) -> None:
    """REFRESH computes a narrow table from the first rollup, which may be narrower."""
    plain = refresh_fact.base_periods

    def bases(fact: Any) -> Any:
        stored = [s for s in refresh_fact.stored_periods(fact) if s.table.columns is not None]
        return stored[:1] or plain(fact)

    monkeypatch.setattr(refresh_fact, "base_periods", bases)


def _compare_at_full_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """CHECK FACT compares all columns of the fact."""
    plain = check_fact.carried
    monkeypatch.setattr(check_fact, "carried", lambda columns, cube: plain(None, cube))


def _lose_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that a query reads through a subquery is taken for one that nobody reads."""
    plain = Columns.needed_columns

    def needed(*arguments: Any, **named: Any) -> NeededColumns:
        columns = plain(*arguments, **named)
        read = columns.read[:-1] if columns.unread else columns.read
        return NeededColumns(read, (*columns.unread, *columns.read[len(read) :]))

    monkeypatch.setattr(Columns, "needed_columns", needed)


def _roll_up_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """REFRESH computes BIT_AND measures by BIT_OR."""
    plain = refresh_fact.rolled_up

    def rolled_up(measures: Sequence[Measure], number: int, value: Callable[[int], str], edge: str) -> str:
        wrong = [
            replace(measure, aggregate=Aggregate.BIT_OR) if measure.aggregate is Aggregate.BIT_AND else measure
            for measure in measures
        ]
        return plain(wrong, number, value, edge)

    monkeypatch.setattr(refresh_fact, "rolled_up", rolled_up)


def _take_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """MAX_BY of a LAST measure by another time is read from rollups."""
    plain = additivity.rolls_up

    def rolls_up(node: exp.Expr, measure: Measure) -> bool:
        return plain(node, measure) or (isinstance(node, exp.ArgMax) and measure.aggregate is Aggregate.LAST)

    monkeypatch.setattr(additivity, "rolls_up", rolls_up)


def _take_any_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """A union that keeps more hashes than rollups have is read from rollups."""
    plain = additivity.rolls_up

    def rolls_up(node: exp.Expr, measure: Measure) -> bool:
        return plain(node, measure) or (isinstance(node, exp.AnonymousAggFunc) and measure.precision is not None)

    monkeypatch.setattr(additivity, "rolls_up", rolls_up)


def _take_any_frequency(monkeypatch: pytest.MonkeyPatch) -> None:
    """PERCENTILE of values that rollups do not keep is read from them."""
    monkeypatch.setattr(additivity._Verdict, "_percentile", lambda self, node: self._aggregated_columns.update(
        id(column) for column in node.find_all(exp.Column)))  # fmt: skip


def _take_any_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """BOOL_AND of a BOOL_OR measure is read from rollups."""
    monkeypatch.setitem(additivity._IDEMPOTENT, exp.LogicalAnd, Aggregate.BOOL_OR)


@pytest.mark.parametrize(
    "fault",
    [
        _roll_up_by_another,
        _take_any_kind,
        _take_any_order,
        _take_any_precision,
        _take_any_frequency,
        _serve_all,
        _compute_from_rollups,
        _compare_at_full_width,
        _lose_a_column,
    ],
)
def test_planted_faults_are_caught(
    fault: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fault(monkeypatch)
    for seed in range(20):
        try:
            run(seed, "duckdb", tmp_path / str(seed))
        except (AssertionError, rewriter.Error):
            return
    pytest.fail("no seed shows the fault")
