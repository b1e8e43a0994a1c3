"""Rewritten answer = answer over the base period, on random histories and random queries.

The reference is plain SQL over the model's base rows in a DuckDB of its own: neither our planner nor our catalog
takes part in it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

import rewriter
from rewriter.errors import MissingDataError

from .histories import SHAPES, History, Row, build, extent, model_rows
from .queries import Question, question

COLUMNS = (
    "origin VARCHAR, carrier VARCHAR, flights BIGINT, departures BIGINT, distance BIGINT, delay DOUBLE, worst DOUBLE"
)


class Reference:
    """Answers plain SQL over base rows."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()

    def answer(self, history: History, coverage: Any, sql: str) -> list[tuple[Any, ...]]:
        references = sorted(coverage.references, key=lambda reference: reference.position.start)
        for index, reference in enumerate(references):
            rows = model_rows(history, reference.wanted, reference.missing)
            self._connection.execute(f"CREATE OR REPLACE TABLE base{index} ({COLUMNS}, departed TIMESTAMP)")
            if rows:
                values = ", ".join(_values(row) for row in rows)
                self._connection.execute(f"INSERT INTO base{index} VALUES {values}")
        return self._connection.execute(sql).fetchall()


def _values(row: tuple[Any, ...] | Row) -> str:
    *fields, instant = row
    texts = ["NULL" if v is None else f"'{v}'" if isinstance(v, str) else str(v) for v in fields]
    return f"({', '.join(texts)}, make_timestamp({instant}::BIGINT))"


def normal(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows in a comparable order and form: naive UTC timestamps, numbers as floats rounded far below their meaning."""
    return sorted((tuple(_normal(value) for value in row) for row in rows), key=repr)


def _normal(value: Any) -> Any:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return round(float(value), 6)
    return value


@dataclass(frozen=True)
class Answered:
    """How a question was answered: from all partitions that it needs, and from rollups at least in part."""

    complete: bool
    by_rollups: bool


def check(history: History, reference: Reference, asked: Question, connection: rewriter.Connection) -> Answered:
    """Asserts that the answer is right in partial mode, and that strict mode gives the same or refuses."""
    cursor = connection.cursor()
    cursor.execute("SET rewriter.partial_data = true")
    cursor.execute(asked.asked)
    got = cursor.fetchall()
    expected = reference.answer(history, cursor.coverage, asked.plain)
    told = f"\nasked: {asked.asked}\nplan: {cursor.plan.sql}\nhistory:\n" + ";\n".join(history.log)
    assert normal(got) == normal(expected), told
    complete = bool(cursor.coverage.complete)
    base = history.shape.base
    by_rollups = any(part.period is not base for one in cursor.coverage.references for part in one.parts)
    missing = cursor.coverage.missing
    cursor.execute("SET rewriter.partial_data = false")
    if complete:
        cursor.execute(asked.asked)
        assert normal(cursor.fetchall()) == normal(expected), told
    else:
        with pytest.raises(MissingDataError) as caught:
            cursor.execute(asked.asked)
        assert set(caught.value.missing) <= set(missing), told
    return Answered(complete, by_rollups)


def _cases(seeds: range, queries: int, steps: int, tmp_path: Path) -> tuple[int, int, int]:
    """Runs the cases; answers how many were complete, partial, and answered by rollups at least in part."""
    reference = Reference()
    complete = partial = rolled = 0
    for seed in seeds:
        shape = SHAPES[seed % len(SHAPES)]
        history = build(shape, tmp_path / str(seed), seed, steps)
        rng = random.Random(seed)
        for number in range(queries):
            asked = question(rng, extent(history))
            try:
                answered = check(history, reference, asked, history.connection)
            except BaseException:
                print(f"seed {seed}, query {number}: {asked.asked}")
                raise
            complete += answered.complete
            partial += not answered.complete
            rolled += answered.by_rollups
        history.connection.close()
    return complete, partial, rolled


def test_rewritten_answers_are_base_answers(tmp_path: Path) -> None:
    complete, partial, rolled = _cases(range(18), 120, 25, tmp_path)
    # The generator must reach what it is for: complete and partial answers, and answers from rollups.
    assert complete > 200
    assert partial > 200
    assert rolled > 400


@pytest.mark.long
def test_rewritten_answers_are_base_answers_long(tmp_path: Path) -> None:
    _cases(range(1000, 1100), 60, 30, tmp_path)


def test_spark_answers_as_duckdb_and_the_base_do(tmp_path: Path, spark: Any) -> None:
    reference = Reference()
    answered = 0
    for seed, shape in ((7001, SHAPES[1]), (7002, SHAPES[4])):
        history = build(shape, tmp_path / str(seed), seed, 20)
        connection = rewriter.connect(tmp_path / str(seed), engine=spark)
        rng = random.Random(seed)
        for _ in range(20):
            asked = question(rng, extent(history))
            try:
                answered += check(history, reference, asked, connection).complete
            except BaseException:
                print(f"seed {seed}: {asked.asked}")
                raise
    assert answered > 5
