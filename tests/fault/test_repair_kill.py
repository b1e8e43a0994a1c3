"""SIGKILL at database calls of MSCK: all of its partitions exist, or none.

Every n-th moment is tried. ``pytest -m long tests/fault/test_repair_kill.py`` tries all.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kills import died
from statements import dying_at, watch

from rewriter.session import Session

DAYS = [f"2019-08-{day:02d}" for day in range(1, 31)]
REPAIR = "MSCK REPAIR TABLE days SYNC PARTITIONS"


def _warehouse(directory: Path, url: str | None) -> None:
    """Creates an external table of a fact. The first ten days are registered without directories, the last ten days
    have directories and are not registered.
    """
    with Session(directory / "warehouse", "duckdb", catalog=url) as session:
        session.execute(f"CREATE EXTERNAL TABLE days (n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{directory}/days'")
        session.execute("CREATE CUBE visits (n BIGINT MEASURE SUM, at TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT all_visits OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (dt))"
        )
        for day in DAYS[:20]:
            (directory / "days" / f"dt={day}").mkdir(parents=True)
        session.execute("MSCK REPAIR TABLE days")
    for day in DAYS[:10]:
        shutil.rmtree(directory / "days" / f"dt={day}")
    for day in DAYS[20:]:
        (directory / "days" / f"dt={day}").mkdir()


def _state(directory: Path, url: str | None) -> tuple[object, ...]:
    """Returns what a separate session sees: partitions, timelines, and whether they agree."""
    with Session(directory / "warehouse", "duckdb", catalog=url) as session:
        partitions = [name for (name,) in session.execute("SHOW PARTITIONS days").rows()]
        line = session.execute("SHOW TIMELINES OF all_visits").fetch()
        return partitions, line, session.catalog.snapshot().sequence


def _killed_at(directory: Path, url: str | None, moment: int) -> bool:
    """Returns True if a child that repairs reached the n-th call of the database, where it kills itself."""

    def run() -> None:
        count = dying_at(moment)
        with Session(directory / "warehouse", "duckdb", catalog=url) as session:
            watch(count)
            session.execute(REPAIR)

    return died(run)


@pytest.mark.long
def test_killed_at_every_call_of_the_database(tmp_path: Path, catalog_url: str | None) -> None:
    _check(tmp_path, catalog_url, stride=1)


def test_killed_at_calls_of_the_database(tmp_path: Path, catalog_url: str | None) -> None:
    # Every moment takes a process, and on PostgreSQL a connection, too.
    _check(tmp_path, catalog_url, stride=9 if catalog_url is None else 7)


def _check(tmp_path: Path, catalog_url: str | None, stride: int) -> None:
    _warehouse(tmp_path, catalog_url)
    before = _state(tmp_path, catalog_url)
    assert before[0] == [f"dt={day}" for day in DAYS[:20]]
    moment, outcomes = 1, []
    while _killed_at(tmp_path, catalog_url, moment):
        now = _state(tmp_path, catalog_url)
        outcomes.append(now == before)
        if now != before:
            break
        moment += stride
    after = _state(tmp_path, catalog_url)
    assert after[0] == [f"dt={day}" for day in DAYS[10:]]
    assert after[2] == before[2] + 1  # one commit
    assert len(outcomes) > 25 // stride
    with Session(tmp_path / "warehouse", "duckdb", catalog=catalog_url) as session:
        assert session.execute(REPAIR).fetch() == []
        assert session.execute("REFRESH TIMELINES OF all_visits").fetch() == []
    for day in DAYS[10:]:
        assert (tmp_path / "days" / f"dt={day}").is_dir(), "no file is touched"


@pytest.mark.parametrize("half", ["ADD", "DROP"])
def test_the_other_half_is_left_alone(tmp_path: Path, half: str) -> None:
    _warehouse(tmp_path, None)
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute(f"MSCK REPAIR TABLE days {half} PARTITIONS")
    kept = DAYS if half == "ADD" else DAYS[10:20]
    assert _state(tmp_path, None)[0] == [f"dt={day}" for day in kept]
