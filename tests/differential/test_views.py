"""A view is its text: a query over views answers what it answers with the texts in their places, by the same plans.

The queries with subqueries and common table expressions are those of the differential test, which knows their answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import rotation

import rewriter
from rewriter.errors import Error

from .checking import normal
from .generator import Generator
from .histories import NOW, begin, load, step
from .queries import Compound, Derived, Named, Query, Select, With, asked
from .random_schemas import random_schema

SHAPES = {"projected": 3, "cte": 3, "cte_twice": 2, "above": 1, "above_rows": 1, "above_distinct": 1}


@dataclass
class Views:
    """Takes the subqueries out of queries: each becomes the text of a view."""

    prefix: str
    texts: dict[str, str] = field(default_factory=dict)

    def replaced(self, query: Query) -> Query:
        """The query with views for its common table expressions and for the subqueries in FROM, inner ones first."""
        if not isinstance(query, With):
            return self._inside(query)
        for name, body in query.ctes:
            self.texts[name] = asked(self._inside(body)).text
        return self._inside(query.body)

    def _inside(self, node: Any) -> Any:
        if isinstance(node, tuple):
            return tuple(map(self._inside, node))
        if not is_dataclass(node) or isinstance(node, type):
            return node
        mapped = replace(node, **{field.name: self._inside(getattr(node, field.name)) for field in fields(node)})
        if isinstance(mapped, Derived) and isinstance(mapped.query, Select | Compound):
            name = f"{self.prefix}{len(self.texts)}"
            self.texts[name] = asked(mapped.query).text
            return Named(name, mapped.alias)
        return mapped


def outcome(connection: rewriter.Connection, sql: str, *, ordered: bool) -> tuple[Any, ...]:
    """Columns, rows, what is missing and by which plans; or the condition of the refusal."""
    cursor = connection.cursor()
    connection.execute("SET rewriter.partial_data = true")
    try:
        cursor.execute(sql)
    except Error as error:
        return (error.condition,)
    plans = [(reference.cube, reference.parts, reference.missing) for reference in cursor.plan.coverage.references]
    columns = [column[:2] for column in cursor.description or ()]
    return columns, normal(cursor.fetchall(), ordered=ordered), sorted(plans, key=repr)


def compared(seed: int, queries: int, folder: Path) -> Iterator[tuple[Any, ...]]:
    """Asserts for one history that views change nothing; gives the outcomes."""
    rng = random.Random(seed)
    history = begin(random_schema(rng), folder / str(seed))
    load(history, rng)
    for _ in range(8):
        step(history, rng)
    generator = Generator(history.schema, rng, NOW, weights=SHAPES)
    for number in range(queries):
        query, views = generator.query(), Views(f"view_{number}_")
        over = asked(views.replaced(query)).text
        if not views.texts:
            continue
        for name, text in views.texts.items():
            history.connection.execute(f"CREATE OR REPLACE VIEW {name} AS {text}")
        ordered = isinstance(query, Select) and bool(query.order)
        answered = outcome(history.connection, over, ordered=ordered)
        told = f"seed {seed}: {over}\n{views.texts}\n" + ";\n".join(history.log)
        assert answered == outcome(history.connection, asked(query).text, ordered=ordered), told
        yield answered
    history.connection.close()


def check(seeds: Sequence[int], queries: int, folder: Path) -> None:
    outcomes = [answered for seed in seeds for answered in compared(seed, queries, folder)]
    answered = [answered for answered in outcomes if len(answered) > 1]
    assert len(answered) > 0.7 * len(outcomes), [answered for answered in outcomes if len(answered) == 1]
    assert sum(len(plans) > 1 or len(plans[0][1]) > 1 for _, _, plans in answered) > len(answered) / 12


def test_a_view_is_its_text(tmp_path: Path) -> None:
    check(rotation.share(range(300, 304), 2), 30, tmp_path)


@pytest.mark.long
def test_a_view_is_its_text_long(tmp_path: Path) -> None:
    check(range(310, 350), 100, tmp_path)
