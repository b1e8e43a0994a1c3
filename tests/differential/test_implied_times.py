"""Queries whose conditions on time the cover implies: an engine gets one time for all rows, and returns the same rows.
DuckDB computes them here, although only Spark is given such texts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import rotation

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


@pytest.mark.parametrize("check", ["_is_only_bounded", "_is_within_range"])
def test_each_check_is_needed(check: str, implied: list[Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, the campaign finds other rows."""

    def without_check(query: cube_reference.CubeQuery) -> bool:
        return bool(query.arms) and all(arm.ranges for arm in query.arms)

    monkeypatch.setattr(cube_reference, check, without_check)
    for seed in range(920, 932):
        folder = tmp_path / str(seed)
        folder.mkdir()
        if run_seed(seed, CAMPAIGN, folder).failures:
            return
    raise AssertionError(f"no wrong result without {check}")
