"""Random lives of a cube under retention, ALTER CUBE, dropped and declared facts, kills and rot: its numbers stay.

After each step each query of a fixed set returns the number of all rows that the base was ever given, or fails where
the model says that something is missing. A query that units and proven rollups cover must have a number.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from tests.rotation import share

from .campaign import Tally, run


def check(tally: Tally) -> None:
    """Checks that the histories had something to check. No refused query had to have a number (``World.ask``)."""
    assert tally.right > 2 * tally.refused, tally
    assert tally.dropped > tally.histories, tally
    assert tally.doubtful < 0.05 * tally.refused + 3, tally


@pytest.mark.share(1)
def test_numbers_stay(tmp_path: Path, duckdb: DuckDBEngine) -> None:
    seeds = share(range(400), 80)
    tally = run(seeds, tmp_path, duckdb)
    print(f"seeds {seeds}: {tally}")
    # Of five lives, some may have lost their base early, and then refuse each query.
    assert tally.right >= 5, tally


@pytest.mark.long
@pytest.mark.parametrize("first", range(100_000, 110_000, 100))
def test_numbers_stay_in_many_lives(tmp_path: Path, duckdb: DuckDBEngine, first: int) -> None:
    tally = run(range(first, first + 100), tmp_path, duckdb)
    print(f"seeds {first} to {first + 99}: {tally}")
    check(tally)
