"""Caches of two instances against an uncached catalog, in random histories; faults that these must find."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from postgres import seeds

from rewriter.catalog.cache import cache, log_view
from rewriter.catalog.cache.log_view import COMMIT, LogEntry, LogView
from rewriter.catalog.following import log_follower
from rewriter.catalog.keys.encoding import prefix
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.write_ids import ValidWriteIdList
from rewriter.catalog.reading import partition_refresh, queries
from rewriter.catalog.store.database import Database

from .cache_histories import History

STEPS = 120


def _run(folder: Path, url: str | None, seed: int, steps: int = STEPS) -> None:
    history = History(folder, url, seed)
    try:
        history.run(steps)
    except AssertionError as error:
        told = "\n".join(f"{number}: {step}" for number, step in enumerate(history.steps))
        raise AssertionError(f"seed {seed}: {error}\n{told}") from error
    finally:
        history.close()


@pytest.mark.share(2)
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(6), indirect=["catalog_url"])
def test_a_cached_answer_is_that_of_the_store(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, seed)


@pytest.mark.long
@pytest.mark.parametrize(("catalog_url", "seed"), seeds(300), indirect=["catalog_url"])
def test_long(tmp_path: Path, catalog_url: str | None, seed: int) -> None:
    _run(tmp_path, catalog_url, 1000 + seed, 400)


def _whole_too_early(self: LogView, entry: LogEntry) -> None:
    """Counts a commit as read with its first event."""
    _APPLY(self, entry)
    self.commit = entry.commit


def _without_lists(self: LogView, entry: LogEntry) -> None:
    """Ignores the write ids of a commit."""
    _APPLY(self, LogEntry(entry.number, entry.commit, entry.kind, entry.object_id, entry.name))


def _nothing_created(self: LogView, entry: LogEntry) -> None:
    """Reads only the events that close a commit."""
    if entry.kind == COMMIT:
        _APPLY(self, entry)
    self.position = entry.number


def _only_made(database: Database, table: Table, ids: ValidWriteIdList, excluded: ValidWriteIdList) -> list[bytes]:
    """Returns the new or written partitions of a renewed set, without the dropped ones."""
    there = {partition.key for partition in queries.partition_page(database, table, ids, [_whole(table)], 1000)}
    return [key for key in _MAY_DIFFER(database, table, ids, excluded) if key in there]


def _whole(table: Table) -> KeyRange:
    return KeyRange.of_prefix(prefix(table.id))


_APPLY, _MAY_DIFFER = LogView.apply, partition_refresh._may_differ

FAULTS: dict[str, tuple[Any, str, Any]] = {
    "lists are never compared": (cache, "equivalent", lambda a, b: True),
    "half a commit counts": (log_view.LogView, "apply", _whole_too_early),
    "the log's lists are passed over": (log_view.LogView, "apply", _without_lists),
    "creations are passed over": (log_view.LogView, "apply", _nothing_created),
    "nothing of a set has changed": (partition_refresh, "_may_differ", lambda *_: []),
    "what ended stays in a set": (partition_refresh, "_may_differ", _only_made),
    "a gap is passed over": (log_follower, "_has_gap", lambda rows, position, newest, limit: False),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            _run(folder, None, seed)
        except AssertionError:
            return
    pytest.fail(f"no history finds that {fault}")
