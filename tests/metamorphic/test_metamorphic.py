"""Pairs of queries with one meaning return the same rows, on each engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.spark.engine import SparkEngine
from tests.rotation import turn

from .campaign import Figures, run
from .pairs import ALWAYS, OF_CUBES, OF_TIME, OF_TWINS
from .worlds import WORLDS

#: Pairs of an ordinary run, over a world; the least share of them that is compared, not refused.
PAIRS, SPARK_PAIRS, LEAST = 50, 4, 0.6
#: Worlds and pairs of the long form.
LONG_WORLDS, LONG_PAIRS = 200, 500


def _check(figures: Figures, pairs: int) -> None:
    assert sum(figures.compared.values()) >= LEAST * pairs, figures


@pytest.mark.share(2)
@pytest.mark.parametrize("world", WORLDS)
def test_pairs_are_equal(tmp_path: Path, duckdb: DuckDBEngine, world: str) -> None:
    _check(run(tmp_path / "w", duckdb, world, turn() % 10_000, PAIRS), PAIRS)


@pytest.mark.parametrize("world", WORLDS)
def test_pairs_are_equal_on_spark(tmp_path: Path, spark: SparkEngine, world: str) -> None:
    run(tmp_path / "w", spark, world, turn() % 10_000, SPARK_PAIRS)


@pytest.mark.long
def test_a_hundred_thousand_pairs_are_equal(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    figures = Figures()
    for seed in range(LONG_WORLDS):
        world = list(WORLDS)[seed % len(WORLDS)]
        figures.add(run(tmp_path / str(seed), duckdb, world, 20_000 + seed, LONG_PAIRS))
    _check(figures, LONG_WORLDS * LONG_PAIRS)
    assert set(figures.compared) == {make.__name__ for make in (*ALWAYS, *OF_TIME, *OF_CUBES, *OF_TWINS)}


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
def test_a_thousand_pairs_are_equal_on_spark(tmp_path: Path, spark: SparkEngine, world: str) -> None:
    _check(run(tmp_path / "w", spark, world, 30_000, 280), 280)
