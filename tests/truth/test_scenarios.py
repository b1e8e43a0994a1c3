"""The public bench of ``truth``: its right answers, DuckDB by hand, and rewriter; the other tools are long."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from truth.adapters.base import Adapter, outcome
from truth.adapters.duckdb_by_hand import Appended, EventsOnly, Rebuilt
from truth.adapters.rewriter_cube import Cube
from truth.environments import tools
from truth.judge import verdict
from truth.model import NO_REPORT, Scenario
from truth.oracle import disagreement
from truth.report import Column, html, markdown
from truth.scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
COMPARISON = "docs/explanation/comparison.md"
#: Where the right answer needs what the tool cannot have, so that a refusal is all that it can return.
REFUSED = {
    "range-past-the-end",
    "missing-day",
    "missing-hour",
    "missing-day-by-day",
    "dropped-hour-asked",
    "late-row-of-dropped-month",
    "lost-files",
}
#: Where `rewriter` lacks what it would need: ALTER CUBE changes no type that an expression of RAW reads.
UNSUPPORTED = {"column-widened", "column-widened-late-row"}
by_name = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


def test_scenarios_are_complete() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert len(names) == len(set(names)) >= 82
    for scenario in SCENARIOS:
        assert scenario.derivation
        assert scenario.reports
        for report in scenario.reports:
            assert report == NO_REPORT or report.startswith("https://github.com/"), scenario.name


@by_name
def test_duckdb_agrees_with_the_right_answer(scenario: Scenario, tmp_path: Path) -> None:
    assert disagreement(scenario, tmp_path) is None


@by_name
def test_rewriter_is_never_silently_wrong(scenario: Scenario) -> None:
    result = outcome(Cube, scenario)
    expected = "refused or warned" if scenario.name in REFUSED | UNSUPPORTED else "right"
    assert verdict(result, scenario.right) == expected, "\n".join(result["steps"])


@pytest.mark.parametrize(
    ("adapter", "scenario", "expected"),
    [
        (EventsOnly, "whole-days", "right"),
        (EventsOnly, "missing-day", "not expressible"),
        (EventsOnly, "dropped-months-stay", "silently wrong"),
        (Rebuilt, "late-after-refresh", "right"),
        (Rebuilt, "late-before-refresh", "silently wrong"),
        (Appended, "late-after-refresh", "silently wrong"),
        (Rebuilt, "never-refreshed", "refused or warned"),
        (Appended, "column-widened", "silently wrong"),
        (Rebuilt, "column-renamed", "right"),
        (Rebuilt, "written-during-refresh", "silently wrong"),
        (Rebuilt, "written-during-refresh-then-refreshed", "right"),
        (Rebuilt, "batch-again-after-withdrawal", "right"),
        (Rebuilt, "groups-of-nan", "right"),
    ],
)
def test_duckdb_by_hand(adapter: type[Adapter], scenario: str, expected: str) -> None:
    chosen = next(made for made in SCENARIOS if made.name == scenario)
    assert verdict(outcome(adapter, chosen), chosen.right) == expected


def test_report_opens_each_cell() -> None:
    scenarios = SCENARIOS[:2]
    outcomes = {scenario.name: outcome(Rebuilt, scenario) for scenario in scenarios}
    columns = [Column("by hand", "1.0", Rebuilt.page, outcomes)]
    assert "| [by hand](" in markdown(scenarios, columns)
    page = html(scenarios, columns)
    assert page.count("<summary>right</summary>") == len(scenarios)
    assert "CREATE OR REPLACE TABLE days" in page


def test_a_write_beside_a_refresh_comes_before_its_commit() -> None:
    chosen = next(made for made in SCENARIOS if made.name == "written-during-refresh")
    steps = outcome(Cube, chosen)["steps"]
    refresh = steps.index("REFRESH FACT sales_all")
    assert steps[refresh + 1] == "-- by another connection, before the refresh commits:"
    assert steps[refresh + 2].startswith("INSERT INTO events")


def test_pages_quote_the_results() -> None:
    totals = re.findall(
        r"^\| \[(.+?)\]\(\S+\) \| [^|]+ \| (.+) \|$", (ROOT / "truth/results.md").read_text(), re.MULTILINE
    )
    quoted = re.findall(r"^\| (.+?) \| (\d+ \| \d+ \| \d+ \| \d+) \|$", (ROOT / COMPARISON).read_text(), re.MULTILINE)
    assert quoted == totals
    assert all(sum(map(int, numbers.split(" | "))) == len(SCENARIOS) for _, numbers in totals)
    for page in ("README.md", "truth/README.md", COMPARISON):
        assert f"{len(SCENARIOS)} " in (ROOT / page).read_text(), page


def test_core_imports_no_tool() -> None:
    code = "import sys; import truth.__main__; print(*{name.split('.')[0] for name in sys.modules})"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert not {"rewriter", "duckdb", "pandas"} & set(done.stdout.split())


def peers() -> Iterator[Any]:
    """Returns the tools that need an environment of their own."""
    return (pytest.param(tool.name, id=tool.name) for tool in tools() if tool.requirements)


@pytest.mark.long
@pytest.mark.parametrize("name", peers())
def test_peer_runs_all_scenarios(name: str, tmp_path: Path) -> None:
    """Takes the environments that ``python -m truth`` made, in ``TRUTH_ENVIRONMENTS``: a test installs nothing."""
    environments = os.environ.get("TRUTH_ENVIRONMENTS")
    if not environments or not (Path(environments) / name).exists():
        pytest.skip("TRUTH_ENVIRONMENTS names no environment of this tool")
    command = [
        sys.executable,
        "-m",
        "truth",
        "--tools",
        name,
        "--environments",
        environments,
        "--output",
        str(tmp_path),
    ]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    columns = json.loads((tmp_path / "results.json").read_text())
    assert columns
    for column in columns:
        assert set(column["outcomes"]) == {scenario.name for scenario in SCENARIOS}
        assert verdict(column["outcomes"]["whole-days"], SCENARIOS[0].right) == "right"
