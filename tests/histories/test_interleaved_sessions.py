"""Sessions that take turns in one process, statement by statement and within statements, against a model of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from postgres import seeds

from rewriter.catalog.reading.snapshot import Snapshot
from rewriter.runtime import multi_statement

from . import plants
from .interleaving import History


def reads_without_own_rows() -> None:
    """Reads what a transaction has changed as it was before."""
    plants._replace(Snapshot, "_own_of", lambda *_: None)


def writes_at_the_state_of_the_start() -> None:
    """Commits the changes of all statements as if each had been the first."""
    plants._replace(multi_statement, "with_written_keys", lambda keys, changes: (keys, False))


def run(warehouse: Path, url: str | None, chosen: Iterable[int], steps: int) -> Counter[str]:
    """Returns the counted outcomes of the histories of some seeds."""
    tally: Counter[str] = Counter()
    for seed in chosen:
        print(f"seed {seed}")
        history = History(warehouse / str(seed), url, seed)
        history.run(steps)
        tally += history.tally
    return tally


@pytest.mark.share(2)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(4), indirect=["catalog_url"])
def test_sessions_take_turns(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    tally = run(tmp_path, catalog_url, [seed], 90)
    assert tally["commits"] > 20
    assert tally["answers"] > 5
    assert tally["errors"] > 5


@pytest.mark.share(4)
@pytest.mark.parametrize(
    "plant",
    [
        plants.no_conflicts,
        plants.rollups_stay_fresh,
        plants.lists_are_not_compared,
        reads_without_own_rows,
        writes_at_the_state_of_the_start,
    ],
    ids=lambda plant: plant.__name__,
)
def test_planted_bugs_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: plants.Plant) -> None:
    monkeypatch.setattr(plants, "_replace", monkeypatch.setattr)  # They are undone at the end.
    plant()
    with pytest.raises(AssertionError):
        run(tmp_path, None, range(1000, 1010), 100)


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 10_200, 10))
def test_sessions_take_many_turns(tmp_path: Path, first: int) -> None:
    tally = run(tmp_path, None, range(first, first + 10), 250)
    print(tally)
    assert min(tally[event] for event in ("commits", "answers", "conflicts", "transactions", "rollups")) > 10


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20_000, 20_020))
def test_sessions_take_many_turns_on_postgresql(tmp_path: Path, postgres_url: str, seed: int) -> None:
    run(tmp_path, postgres_url, [seed], 250)
