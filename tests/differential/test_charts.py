"""The ranges of charts are those of SHOW COVERAGE and SHOW TIMELINES, over random histories."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import rewriter
from rewriter.planner.cover import fact_chart as module
from rewriter.planner.model.coverage_chart import ChartState, CoverageChart
from rewriter.statements.show.coverage import named_fact_chart

from .histories import begin, load, step
from .random_schemas import random_schema

SEEDS = range(5)
_COUNTED = {
    ChartState.OUTDATED: "outdated",
    ChartState.UNPROVEN: "unproven",
    ChartState.INCOMPLETE: "incomplete",
    ChartState.OPEN: "open",
}


def charts_of(connection: rewriter.Connection) -> dict[str, CoverageChart]:
    session = connection.session
    snapshot, settings = session.snapshot(), session.settings.for_planner()
    return {fact.name: named_fact_chart(fact.name, snapshot, settings) for fact in snapshot.facts()}


def rows_of(connection: rewriter.Connection, sql: str) -> list[dict[str, Any]]:
    result = connection.session.execute(sql)
    assert result.columns is not None
    names = [column.name for column in result.columns]
    return [dict(zip(names, row, strict=True)) for row in result.fetch()]


def check_charts(connection: rewriter.Connection) -> set[str]:
    """Asserts that each chart equals the rows of SHOW. Returns the states that occurred."""
    seen: set[str] = set()
    for fact, chart in charts_of(connection).items():
        text = chart.calendar.text
        leading = {
            (table.table, period.name): table.time
            for table in connection.session.snapshot().fact(fact).tables
            for period in table.layouts
        }
        lines = {
            (line["table"], line["period"]): line
            for line in rows_of(connection, f"SHOW TIMELINES OF {fact}")
            if line["time"] == leading[line["table"], line["period"]]
        }
        assert {(row.table, row.period.name) for row in chart.rows} == lines.keys()
        for row in chart.rows:
            line = lines[row.table, row.period.name]
            assert row.count(ChartState.EXISTING, ChartState.OUTSIDE) == line["partitions"]
            assert {name: row.count(state) for state, name in _COUNTED.items()} == {
                name: line[name] for name in _COUNTED.values()
            }
        covered = rows_of(connection, f"SHOW COVERAGE OF {fact}")

        assert {(text(r.start), text(r.end)) for r in chart.missing} == {
            (row["from"], row["to"]) for row in covered if row["status"] == "missing"
        }
        taken = [(row, r) for row in chart.rows for r in row.ranges(ChartState.TAKEN)]
        assert {(row.table, row.period.name, text(r.start), text(r.end)) for row, r in taken} == {
            (row["table"], row["period"], row["from"], row["to"]) for row in covered if row["status"] == "covered"
        }
        seen |= {state.value for row in chart.rows for state in row.ordinals} | (
            {"missing"} if chart.missing else set()
        )
    return seen


def run_history(seed: int, folder: Path) -> set[str]:
    rng = random.Random(seed)
    history = begin(random_schema(rng), folder / "warehouse")
    try:
        load(history, rng)
        seen = check_charts(history.connection)
        for _ in range(5):
            step(history, rng)
            seen |= check_charts(history.connection)
        return seen
    finally:
        history.connection.close()


def test_charts_are_what_show_returns(tmp_path: Path) -> None:
    seen: set[str] = set()
    for seed in SEEDS:
        seen |= run_history(seed, tmp_path / str(seed))
    assert {"taken", "exists", "outdated", "unproven", "incomplete", "missing"} <= seen


@pytest.mark.parametrize("state", [ChartState.OUTDATED, ChartState.UNPROVEN, ChartState.OUTSIDE])
def test_a_planted_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: ChartState) -> None:
    readers = module._readers

    def faulty(reader: Any) -> Any:
        wrong = readers(reader)
        wrong[state] = reader.open
        return wrong

    monkeypatch.setattr(module, "_readers", faulty)

    def run_all() -> None:
        for seed in SEEDS:
            run_history(seed, tmp_path / str(seed))

    with pytest.raises(AssertionError):
        run_all()
