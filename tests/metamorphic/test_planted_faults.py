"""Faults that are planted in the product: the pairs of an ordinary run detect each of them."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine

from .campaign import Different, run
from .plants import PLANTS, Plant

#: As many as an ordinary run has over all worlds.
PAIRS = 100


@pytest.mark.share(len(PLANTS))
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.fault.__name__)
def test_planted_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant.fault(monkeypatch)
    # An engine of its own: prepared queries of other tests do not have the fault.
    with contextlib.closing(DuckDBEngine()) as engine, pytest.raises(Different):
        run(tmp_path / "w", engine, plant.world, plant.seed, PAIRS)
