"""The ranges of charts are those of SHOW COVERAGE and SHOW TIMELINES, and what is called whole, partly or not is what
queries can read, over random histories.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rewriter
from rewriter.planner.cover import fact_chart as module
from rewriter.planner.cover.fact_coverage import FactCoverage
from rewriter.planner.model.coverage_chart import ChartState, CoverageChart
from rewriter.planner.model.plan import quoted
from rewriter.statements.show.coverage import named_fact_chart
from rewriter.timeline.ranges import RangeSet, TimeRange

from .histories import begin, load, step
from .random_schemas import forked_rng, random_schema

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Fact, StorageTable
    from rewriter.session import Session
    from rewriter.timeline.calendars import Period

SEEDS = range(5)
_COUNTED = {
    (ChartState.OUTDATED,): "outdated",
    (ChartState.UNPROVEN, ChartState.DIFFERING): "unproven",
    (ChartState.INCOMPLETE,): "incomplete",
    (ChartState.OPEN,): "open",
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
            assert {name: row.count(*states) for states, name in _COUNTED.items()} == {
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


def check_readiness(connection: rewriter.Connection, rng: random.Random) -> set[str]:
    """Asserts what the three words promise, by queries of each fact. Returns the words that occurred."""
    session = connection.session
    snapshot, settings = session.snapshot(), session.settings.for_planner()
    seen: set[str] = set()
    for fact in snapshot.facts():
        readiness = FactCoverage(fact, snapshot, settings).readiness()
        cube = snapshot.cube(fact.cube)
        partly = readiness.partly
        assert not readiness.whole & partly
        assert readiness.whole | partly | RangeSet(gap.time for gap in readiness.gaps) == readiness.asked

        def query(columns: str, time: TimeRange, fact: Fact = fact, cube: Cube = cube) -> str:
            start, end = fact.calendar.text(time.start), fact.calendar.text(time.end)
            where = f"time_range_in({quoted(cube.times[0])}, '{start}', '{end}')"
            return f"SELECT {columns} FROM {quoted(fact.name)} WHERE {where}"

        def sums(table: StorageTable, fact: Fact = fact, cube: Cube = cube) -> list[str]:
            carried = cube.columns_in(fact.columns_of(table))
            return [
                f"{measure.aggregate.rollup_function}({quoted(measure.name)})"
                for measure in cube.measures
                if measure.name.lower() in carried
            ]

        whole_sums = [text for table in fact.tables for text in sums(table)][:1]
        every = ", ".join(quoted(name) for name in cube.column_order if name.lower() in cube.columns_in(fact.columns))
        for time in pieces(readiness.whole, fact.base_period, rng):
            seen.add("whole")
            session.plan(query(every, time))
        for time in pieces(partly, fact.base_period, rng):
            seen.add("partly")
            assert not can_plan(session, query(every, time)), (fact.name, str(time))
            assert any(
                can_plan(
                    session, query(text, TimeRange(period.floor(time.start), period.end(period.ordinal(time.start))))
                )
                for table in fact.tables
                for period in table.layouts
                for text in sums(table)
            ), (fact.name, str(time))
        unreadable = readiness.asked - readiness.whole - partly
        assert (
            not taken_partially(session, [query(text, all_) for all_ in readiness.asked for text in whole_sums])
            & unreadable
        )
        for time in pieces(unreadable, fact.base_period, rng):
            seen.add("not")
            for table in fact.tables:
                for text in sums(table):
                    assert not can_plan(session, query(text, time)), (fact.name, str(time))
                    for period in table.layouts:
                        wider = TimeRange(period.floor(time.start), period.end(period.ordinal(time.start)))
                        assert not can_plan(session, query(text, wider)), (fact.name, str(wider))
    return seen


def pieces(time: RangeSet, base: Period, rng: random.Random) -> list[TimeRange]:
    """Returns some base periods and some ranges of a time that consists of base periods."""
    ranges = rng.sample(time.ranges, min(2, len(time)))
    firsts = [base.ordinal(rng.randrange(range_.start, range_.end)) for range_ in ranges]
    return [*ranges, *(TimeRange(base.start(first), base.end(first)) for first in firsts)]


def taken_partially(session: Session, queries: list[str]) -> RangeSet:
    """Returns the time that queries read where missing partitions are tolerated."""
    session.settings.set("rewriter.partial_data", "true")
    try:
        parts = [part for text in queries for ref in session.plan(text).coverage.references for part in ref.parts]
    finally:
        session.settings.set("rewriter.partial_data", "false")
    return RangeSet(
        TimeRange(part.period.start(r.start), part.period.start(r.end)) for part in parts for r in part.ranges
    )


def can_plan(session: Session, text: str) -> bool:
    try:
        session.plan(text)
    except rewriter.Error:
        return False
    return True


def run_history(seed: int, folder: Path) -> set[str]:
    rng = random.Random(seed)
    history = begin(random_schema(rng), folder / "warehouse")
    try:
        load(history, rng)
        seen = check_charts(history.connection) | check_readiness(history.connection, forked_rng(rng))
        for _ in range(5):
            step(history, rng)
            seen |= check_charts(history.connection)
        return seen | check_readiness(history.connection, forked_rng(rng))
    finally:
        history.connection.close()


def test_charts_are_what_show_returns(tmp_path: Path) -> None:
    seen: set[str] = set()
    for seed in SEEDS:
        seen |= run_history(seed, tmp_path / str(seed))
    assert {"taken", "exists", "outdated", "unproven", "incomplete", "dropped", "missing"} <= seen
    assert {"whole", "partly", "not"} <= seen


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


@pytest.mark.parametrize("fault", ["rollups count as base", "outdated counts as fresh", "narrow rollups are forgotten"])
def test_a_planted_fault_of_readiness_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    split, candidates = FactCoverage._split, FactCoverage._candidates

    def faulty_split(self: FactCoverage, found: Any) -> Any:
        held, rollups = split(self, found)
        return ([*held, *rollups], []) if fault == "rollups count as base" else (held, rollups[:0])

    def faulty_candidates(self: FactCoverage, line: Any) -> Any:
        return candidates(self, self.reader.outdated if line == self.reader.timeline else line)

    if fault == "outdated counts as fresh":
        monkeypatch.setattr(FactCoverage, "_candidates", faulty_candidates)
    else:
        monkeypatch.setattr(FactCoverage, "_split", faulty_split)
    # The charts are right: only the words are wrong.
    monkeypatch.setattr(sys.modules[__name__], "check_charts", lambda connection: set())

    def run_all() -> None:
        for seed in SEEDS:
            run_history(seed, tmp_path / str(seed))

    with pytest.raises((AssertionError, rewriter.Error)):
        run_all()
