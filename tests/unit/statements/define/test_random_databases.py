"""Random queries over tables of one name in several databases: each name means one table, or the query is refused.

Every table has one number of its own, so the result shows which tables were read. The expected result is computed with
the query, by Spark's rules: a CTE goes before a table, and a view's names are those of its definition.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rewriter.errors import Error, NotSupportedError
from rewriter.session import Session

DATABASES = ("default", "a", "b")
NAMES = ("t", "u")
HELD = {(database, name): 3 + 4 * i + 2 * j for i, database in enumerate(DATABASES) for j, name in enumerate(NAMES)}
SEEDS = 3
QUERIES = 40

#: A query that returns one column ``x``, and its rows.
Made = tuple[str, list[int]]


@dataclass
class Maker:
    """Makes queries. ``views`` are those that exist: their names, qualified, and their rows."""

    rng: random.Random
    session: Session
    views: dict[str, list[int]] = field(default_factory=dict)

    def query(self, depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        kinds = [self.plain, self.plain, self.plain]
        if depth:
            kinds += [self.union, self.derived, self.with_, self.exists, self.joined, self.of_view]
        return self.rng.choice(kinds)(depth - 1, current, ctes)

    def reference(self, current: str, ctes: dict[str, list[int]]) -> tuple[str, str, list[int]]:
        """Returns a name after FROM, the possible qualifiers of its columns, and its rows."""
        name, database = self.rng.choice(NAMES), self.rng.choice(DATABASES)
        typed = self.rng.choice((name, f"{database}.{name}", f"{database}.{name}", f"spark_catalog.{database}.{name}"))
        plain = typed == name
        rows = ctes[name] if plain and name in ctes else [HELD[current if plain else database, name]]
        alias = self.rng.choice(("", "", "", "z", *NAMES))
        if alias:
            return f"{typed} AS {alias}", f"{alias}.", rows
        of_table = "" if plain and name in ctes else f"{current if plain else database}.{name}."
        return typed, self.rng.choice(("", f"{name}.", of_table, of_table)), rows

    def plain(self, _depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        typed, before, rows = self.reference(current, ctes)
        return f"SELECT {before}x FROM {typed}", rows

    def union(self, depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        left, right = self.query(depth, current, ctes), self.query(depth, current, ctes)
        return f"SELECT x FROM ({left[0]}) AS l UNION ALL SELECT x FROM ({right[0]}) AS r", left[1] + right[1]

    def derived(self, depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        text, rows = self.query(depth, current, ctes)
        alias = self.rng.choice(("q", *NAMES))
        return f"SELECT {self.rng.choice(('', f'{alias}.'))}x FROM ({text}) AS {alias}", rows

    def with_(self, depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        name, (inner, rows) = self.rng.choice(NAMES), self.query(depth, current, ctes)
        outer, answer = self.query(depth, current, {**ctes, name: rows})
        return f"SELECT x FROM (WITH {name} AS ({inner}) SELECT x FROM ({outer}) AS body) AS whole", answer

    def exists(self, _depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        """Returns a condition inside on a column of inside, or on one of outside that nothing inside matches."""
        outer, before, rows = self.reference(current, ctes)
        inner, qualifier, columns = self.reference(current, ctes)
        value = self.rng.choice((*columns, *rows, self.rng.choice(list(HELD.values()))))
        head = f"SELECT {before}x FROM {outer} WHERE EXISTS (SELECT 1 FROM {inner} WHERE"
        if before and self.rng.random() < 0.6 and before not in answering(inner, current, ctes):
            return f"{head} {before}x = {value})", [row for row in rows if row == value and columns]
        return f"{head} {qualifier}x = {value})", rows if value in columns else []

    def joined(self, _depth: int, current: str, ctes: dict[str, list[int]]) -> Made:
        (left, left_name, a), (right, right_name, b) = self.reference(current, ctes), self.reference(current, ctes)
        if not left_name or not right_name or left_name == right_name:
            return self.plain(0, current, ctes)
        return f"SELECT {left_name}x * 100 + {right_name}x AS x FROM {left} CROSS JOIN {right}", [
            p * 100 + q for p in a for q in b
        ]

    def of_view(self, depth: int, _current: str, ctes: dict[str, list[int]]) -> Made:
        made_in, lies_in = self.rng.choice(DATABASES), self.rng.choice(DATABASES)
        text, rows = self.query(depth, made_in, {})
        name = f"{lies_in}.v{len(self.views)}"
        self.session.execute(f"USE {made_in}")
        self.session.execute(f"CREATE VIEW {name} AS {text}")
        self.views[name] = rows
        name = self.rng.choice(list(self.views))
        return f"SELECT {self.rng.choice(('', f'{name}.'))}x FROM {name}", self.views[name]


def answering(reference: str, current: str, ctes: dict[str, list[int]]) -> tuple[str, ...]:
    """Returns the qualifiers of the columns of a reference."""
    typed, _, alias = reference.partition(" AS ")
    if alias:
        return (f"{alias}.",)
    database, _, name = typed.removeprefix("spark_catalog.").rpartition(".")
    return (f"{name}.",) if not database and name in ctes else (f"{name}.", f"{database or current}.{name}.")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        for database in DATABASES[1:]:
            opened.execute(f"CREATE DATABASE {database}")
        for (database, name), number in HELD.items():
            opened.execute(f"CREATE TABLE {database}.{name} (x INT)")
            opened.execute(f"INSERT INTO {database}.{name} VALUES ({number})")
        yield opened


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_name_means_one_table(session: Session, seed: int) -> None:
    rng = random.Random(seed)
    maker, answered = Maker(rng, session), 0
    for _ in range(QUERIES):
        current = rng.choice(DATABASES)
        text = "(not made)"
        try:
            text, rows = maker.query(3, current, {})
            session.execute(f"USE {current}")
            listed = sorted(row[0] for row in session.execute(text).rows())
        except Error as error:
            # Two relations of one name, and a column that says no more, are refused, as Spark does.
            if isinstance(error, NotSupportedError) or error.condition == "AMBIGUOUS_REFERENCE":
                continue
            raise
        assert listed == sorted(rows), f"seed {seed}, in {current}: {text}"
        answered += 1
    assert answered > QUERIES * 0.6, f"only {answered} of {QUERIES} were answered"
