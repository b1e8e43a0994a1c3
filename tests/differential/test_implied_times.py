"""Queries whose conditions on time the cover implies: an engine gets one time for all rows, and returns the same rows.
DuckDB computes them here, although only Spark is given such texts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import rotation

import rewriter
from rewriter.planner import cube_reference
from rewriter.planner.model.plan import Plan
from rewriter.statements.query import select

from .campaign import Campaign, run_seed

#: Queries of time alone, and of time in other places, too.
CAMPAIGN = Campaign(queries=30)


@pytest.fixture
def implied(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """Has DuckDB take such texts, and collects the plans that have one."""
    plans: list[Plan] = []
    prepared = select._prepared

    def collecting(query: object, plan: Plan, context: object) -> object:
        if plan.engine_template is not None:
            plans.append(plan)
        return prepared(query, plan, context)  # type: ignore[arg-type]

    monkeypatch.setattr(select, "_WITH_ENGINE_TEMPLATE", frozenset({"duckdb", "spark"}))
    monkeypatch.setattr(select, "_prepared", collecting)
    return plans


@pytest.mark.parametrize("seed", rotation.share(range(920, 932), 4))
def test_rows_are_base_rows(seed: int, implied: list[Plan], tmp_path: Path) -> None:
    tally = run_seed(seed, CAMPAIGN, tmp_path)
    assert not tally.failures, "\n\n".join(tally.failures)
    assert tally.rolled == 0 or implied


def test_the_campaign_needs_the_check_of_other_uses(
    implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If time is used elsewhere, too, one time for all rows returns other rows."""
    monkeypatch.setattr(cube_reference, "_is_only_bounded", lambda query: query.time.bounded)
    for seed in range(920, 932):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if run_seed(seed, CAMPAIGN, folder).failures:
            return
    raise AssertionError("no wrong result")


@pytest.mark.parametrize("is_checked", [True, False])
def test_events_inside_of_periods_need_the_check_of_the_range(
    implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    """An event has a time of its own. Without the check, all events of the hours at both ends are counted, or none."""
    if not is_checked:
        monkeypatch.setattr(cube_reference, "_is_within_range", lambda query: bool(query.arms))
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        for statement in (
            "CREATE TABLE clicks (at TIMESTAMP, n BIGINT) PARTITIONED BY (h STRING)",
            "INSERT INTO clicks SELECT timestamp_seconds(1704067200 + 60 * id), 1, "
            "date_format(timestamp_seconds(1704067200 + 60 * id), 'yyyy-MM-dd-HH') FROM range(600)",
            "CREATE CUBE c (n BIGINT MEASURE SUM, at TIMESTAMP TIME)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE clicks PERIOD HOURLY PARTITIONED BY at AS (h) RAW)",
        ):
            connection.execute(statement)
        query = "SELECT SUM(n) FROM c WHERE at >= '2024-01-01 01:10' AND at < '2024-01-01 05:30'"
        rows = connection.execute(query).fetchall()
        assert (rows == [(260,)]) is is_checked
        assert bool(implied) is not is_checked
        query = "SELECT SUM(n) FROM c WHERE at >= '2024-01-01 01:10' AND at < '2024-01-01 05:30' AND minute(at) < 10"
        assert is_checked is False or connection.execute(query).fetchall() == [(40,)]
