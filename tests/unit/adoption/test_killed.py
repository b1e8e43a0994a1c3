"""An import whose process is killed, wherever that is, goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_metastore import FakeMetastore
from imported import imported, importing, picture
from kills import died
from rotation import turn
from statements import dying_at, watch


def _metastore() -> FakeMetastore:
    metastore = FakeMetastore()
    metastore.add_database("d")
    metastore.add_table("t", keys={"p": "int"}, database="d")
    metastore.add_table("u")
    for number in range(6):
        metastore.add_partition("t", f"p={number}", f"file:/other/{number}" if number % 2 else None, database="d")
    return metastore


def _killed_at(warehouse: Path, url: str, moment: int) -> bool:
    def run() -> None:
        count = dying_at(moment)
        with importing(warehouse, url, batch=2) as one:
            watch(count)
            one.everything()

    return died(run)


@pytest.mark.long
def test_killed_at_every_call_of_the_database(tmp_path: Path) -> None:
    _check(tmp_path, 1, stride=1)


def test_killed_at_calls_of_the_database(tmp_path: Path) -> None:
    _check(tmp_path, 1 + turn() % 17, stride=17)


def _check(tmp_path: Path, first: int, stride: int) -> None:
    metastore = _metastore()
    with metastore.serving() as url:
        imported(tmp_path / "whole", url)
        expected = picture(tmp_path / "whole")
        moment, partly = first, 0
        while _killed_at(tmp_path / str(moment), url, moment):
            warehouse = tmp_path / str(moment)
            there = picture(warehouse)
            count = len(there["d.t"][-1]) if "d.t" in there else 0
            assert count in (0, 2, 4, 6)
            partly += 0 < count < 6
            assert imported(warehouse, url, batch=2).is_complete
            assert picture(warehouse) == expected
            moment += stride
        assert moment > first
        assert partly or stride > 1
