"""Faults that are planted in the product: the pairs of an ordinary run detect each of them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine

from .campaign import Different, run
from .plants import PLANTS, Plant

#: Worlds in which a fault must show, and the pairs of each.
WORLDS_OF_A_FAULT, PAIRS = 4, 60


@pytest.mark.share(len(PLANTS))
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.fault.__name__)
def test_planted_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant.fault(monkeypatch)
    # An engine of its own: prepared queries of other tests do not have the fault.
    with contextlib.closing(DuckDBEngine()) as engine, pytest.raises(Different):
        _run_worlds(tmp_path, engine, plant)


def _run_worlds(directory: Path, engine: DuckDBEngine, plant: Plant) -> None:
    for seed in range(WORLDS_OF_A_FAULT):
        run(directory / str(seed), engine, plant.world, seed, PAIRS)
