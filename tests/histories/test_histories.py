"""Random histories of several processes over one catalog, some of them killed, against a model."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from postgres import PostgresServer

from .campaign import Databases, HistoryError, Size, run
from .plants import PLANTS

#: The seed of the only history to run, if it is set.
AGAIN = os.environ.get("REWRITER_HISTORY")


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """The directory of the warehouses, in memory if possible. Processes die here, but the machine does not."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    directory = Path(tempfile.mkdtemp(prefix="histories", dir=memory))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request: pytest.FixtureRequest) -> Databases:
    """Creates an empty database for each history."""
    if request.param == "sqlite":
        return _in_the_warehouse
    server: PostgresServer = request.getfixturevalue("postgres_server")

    @contextmanager
    def schema() -> Iterator[str | None]:
        url = server.create()
        try:
            yield url
        finally:
            server.drop(url)

    return schema


@contextmanager
def _in_the_warehouse() -> Iterator[str | None]:
    yield None


def _seeds(first: int, number: int) -> range:
    return range(first, first + number) if AGAIN is None else range(int(AGAIN), int(AGAIN) + 1)


@pytest.mark.share(10)
@pytest.mark.parametrize("first", range(0, 50, 10))
def test_histories(directory: Path, databases: Databases, first: int) -> None:
    tally = run(_seeds(first, 10), directory, databases, Size())
    print(f"seeds {first} to {first + 9}: {tally}")
    assert AGAIN or (tally.commits > 80 and tally.conflicts > 3 and tally.answers > 80 and tally.died > 3)


@pytest.mark.share(4)
@pytest.mark.parametrize("plant", PLANTS)
def test_planted_bugs_are_found(directory: Path, plant: str) -> None:
    # Real processes take turns as they happen to run: if the first histories miss the bug, others follow.
    with pytest.raises(HistoryError):
        _run_in_turn(range(1000, 1080, 20), directory, plant)


def _run_in_turn(starts: Iterable[int], directory: Path, plant: str) -> None:
    for first in starts:
        run(_seeds(first, 20), directory, _in_the_warehouse, Size(), plant=plant)


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 12_000, 100))
def test_many_histories(directory: Path, databases: Databases, first: int) -> None:
    size = Size(steps=24 if first % 500 else 200)
    print(f"seeds {first} to {first + 99}: {run(_seeds(first, 100), directory, databases, size)}")
