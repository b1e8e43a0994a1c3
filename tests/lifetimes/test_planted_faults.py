"""Faults that are planted in the product: the histories detect each of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine

from .campaign import run
from .plants import PLANTS, Plant

#: The most histories in which a fault must show.
_MOST = 40


@pytest.mark.share(len(PLANTS))
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.fault.__name__)
def test_planted_faults_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant) -> None:
    plant.fault(monkeypatch)
    engine = DuckDBEngine()  # Prepared queries of other tests do not have the fault.
    try:
        with pytest.raises((AssertionError, Error)) as caught:
            run(range(plant.first_seed, plant.first_seed + _MOST), tmp_path, engine, often=plant.often)
    finally:
        engine.close()
    assert re.search(plant.shown, str(caught.value))
