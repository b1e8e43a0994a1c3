"""COUNT and AVG over random unions, joins and chains of subqueries: a cube of several events a row = its events.

The result over the cube must be that over a plain table of the events, or the query is refused.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import event_worlds
import pytest
import rotation

from rewriter.errors import NotSupportedError
from rewriter.session import Session

#: Values of each output column of a SELECT over the relation ``{r}`` with the columns of the cube, by their types.
_VALUES = {
    "a": ("k", "{r}.k", "upper(k)", "coalesce(k, 'none')", "CASE WHEN d = 1 THEN k END", "NULL", "CAST(d AS STRING)"),
    "b": ("d", "d + 1", "NULL", "length(k)", "nullif(d, 2)", "hour(t)"),
    "m": ("m", "{r}.m", "(m)", "CAST(NULL AS DECIMAL(10,2))", "NULL", "m"),
    "x": ("x", "CAST(NULL AS BIGINT)", "NULL", "{r}.x", "x"),
    # COUNT of the first and AVG of the second are refused for some of these values, and no other call has them.
    "y": (*5 * ("k",), "CAST(d AS STRING)", "CAST(m AS STRING)", "CAST(hi + d AS STRING)"),
    "z": (*5 * ("x",), "x + d", "CAST(hi AS BIGINT)"),
}
#: SELECTs of which a row is one event.
_OTHER_ROWS = (
    "SELECT name AS a, 1 AS b, m, NULL AS x, k AS y, NULL AS z FROM names",
    "SELECT k AS a, COUNT(*) AS b, NULL AS m, NULL AS x, k AS y, NULL AS z FROM {c} GROUP BY k",
    "SELECT DISTINCT k AS a, d AS b, NULL AS m, NULL AS x, k AS y, NULL AS z FROM {c}",
)


class _Generator:
    """Makes queries over ``{c}``, which stands for the cube or for the table of its events."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._serial = 0
        self._ctes: list[str] = []

    def query(self) -> str:
        relation = self._relation(self._rng.choice((0, 1, 1, 2)))
        joined = self._rng.random() < 0.25
        side = self._rng.choice(("", "LEFT ", "RIGHT "))
        from_ = f"{relation} u" + (f" {side}JOIN names ON u.a = names.k" if joined else "")
        # Over a cube alone, COUNT and AVG of such values read base rows.
        united = "UNION ALL" in " ".join((relation, *self._ctes))
        items = [self._aggregate(joined, united) for _ in range(self._rng.choice((1, 2, 3)))]
        where = self._rng.choice(("", "", " WHERE u.b = 1", " WHERE u.a IS NOT NULL"))
        grouped = self._rng.random() < 0.5
        group = (" GROUP BY u.a" + self._rng.choice(("", "", " HAVING COUNT(u.b) > 1"))) if grouped else ""
        keys = ["u.a"] if grouped else []
        with_ = f"WITH {', '.join(self._ctes)} " if self._ctes else ""
        aliased = [f"{item} AS r{number}" for number, item in enumerate(items)]
        return f"{with_}SELECT {', '.join([*keys, *aliased])} FROM {from_}{where}{group}"

    def _aggregate(self, joined: bool, united: bool) -> str:
        column = self._rng.choice(("a", "b", "u.a", "u.b", *(("names.name", "name") if joined else ())))
        filtered = self._rng.choice(("", "", "", " FILTER (WHERE u.b < 3)"))
        call = self._rng.choice(
            ("COUNT(*)", "COUNT(1)", *3 * (f"COUNT({column})",), f"COUNT(CASE WHEN u.b = 1 THEN {column} END)",
             *3 * (f"AVG(u.{self._rng.choice('mx')})",), "SUM(u.m)", "SUM(u.x)")
        )  # fmt: skip
        if self._rng.random() < 0.2:
            return self._rng.choice(("COUNT_IF(u.b = 1)", *(("COUNT(u.y)", "AVG(u.z)") if united else ())))
        return call + filtered

    def _relation(self, depth: int) -> str:
        query = self._united(depth)
        if self._rng.random() < 0.3:
            self._serial += 1
            self._ctes.append(f"w{self._serial} AS ({query})")
            return f"w{self._serial}"
        return f"({query})"

    def _united(self, depth: int) -> str:
        branches = [self._branch(depth) for _ in range(self._rng.choice((1, 2, 2, 3)))]
        return " UNION ALL ".join(branches)

    def _branch(self, depth: int) -> str:
        rng = self._rng
        if depth and rng.random() < 0.5:
            items = rng.choice(
                (
                    "*",
                    "a, b, m, x, y, z",
                    "upper(a) AS a, b + 1 AS b, m, (x) AS x, y, z",
                    "v.a, v.b, v.m, v.x, v.y, v.z",
                )
            )
            where = rng.choice(("", " WHERE b IS NOT NULL", " WHERE a <> 'AA'"))
            return f"SELECT {items} FROM {self._relation(depth - 1)} v{where}"
        if rng.random() < 0.2:
            return rng.choice(_OTHER_ROWS)
        table = rng.choice(("{c}", "{c}", "p"))
        values = {name: rng.choice(choices).format(r="r") for name, choices in _VALUES.items()}
        items = ", ".join(f"{value} AS {name}" for name, value in values.items())
        relation = rng.choice((f"{table} r", f"{table} AS r", f"(SELECT * FROM {table}) r"))
        if rng.random() < 0.1:
            relation += " LEFT SEMI JOIN names ON r.k = names.k"
        where = rng.choice(("", "", " WHERE t >= '2013-01-31'", " WHERE k = 'UA' OR d IS NULL"))
        return f"SELECT {items} FROM {relation}{where}"


def _differences(seeds: Sequence[int], queries: int, tmp_path: Path) -> tuple[list[str], Counter[str]]:
    failures: list[str] = []
    tally: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        with Session(tmp_path / f"world{seed}", "duckdb") as session:
            event_worlds.make(session, event_worlds.random_rows(rng))
            for _ in range(queries):
                query = _Generator(rng).query()
                try:
                    expected = sorted(session.execute(query.replace("{c}", "e")).fetch(), key=repr)
                except NotSupportedError:  # the sum of a NULL without a type
                    tally["unsupported"] += 1
                    continue
                try:
                    actual = sorted(session.execute(query.replace("{c}", "c")).fetch(), key=repr)
                except NotSupportedError:
                    tally["refused"] += 1
                    continue
                tally["same"] += actual == expected
                if actual != expected:
                    failures.append(f"seed {seed}: {query}\n  cube:   {actual}\n  events: {expected}")
    return failures, tally


def test_counts_over_unions_are_those_of_the_events(tmp_path: Path) -> None:
    failures, tally = _differences(rotation.share(range(24), 12), 40, tmp_path)
    assert not failures, "\n".join(failures)
    assert tally["same"] > tally["refused"], tally


@pytest.mark.long
def test_counts_over_unions_are_those_of_the_events_long(tmp_path: Path) -> None:
    failures, tally = _differences(range(100, 200), 100, tmp_path)
    assert not failures, "\n".join(failures)
    assert tally["same"] > 2 * tally["refused"], tally
