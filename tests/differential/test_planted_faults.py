"""The differential test can fail: faults planted in the planner are found by the same generator within a few cases."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from rewriter.planner import arms, candidates, reference, units
from rewriter.planner.additivity import Additivity
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timelines import OrdinalRange, RangesPartitionTimeline

from .histories import SHAPES, History, build, extent
from .queries import question
from .test_rewriting import Reference, check

Patch = pytest.MonkeyPatch


def _everything_is_additive(patch: Patch) -> None:
    judge = reference.judge

    def planted(*args: Any) -> Additivity:
        found = judge(*args)
        return Additivity((), found.counts, found.averages)

    patch.setattr(reference, "judge", planted)


def _every_unit_is_a_year(patch: Patch) -> None:
    patch.setattr(reference, "used_unit", lambda column: (UpdatePeriod.YEARLY, units.used_unit(column)[1]))


def _outdated_is_fresh(patch: Patch) -> None:
    timeline = candidates._timeline

    def planted(reader: Any, source: Any) -> RangesPartitionTimeline:
        fresh, stale = timeline(reader, source), candidates._outdated(reader, source)
        both = RangesPartitionTimeline(fresh.ranges())
        for one in stale.ranges():
            both.add_range(one)
        return both

    patch.setattr(candidates, "_timeline", planted)


def _the_last_partition_of_an_arm_is_lost(patch: Patch) -> None:
    arm_range = arms._range

    def planted(columns: Any, layout: Any, ordinals: OrdinalRange) -> str:
        short = OrdinalRange(ordinals.start, ordinals.end - 1) if len(ordinals) > 1 else ordinals
        return arm_range(columns, layout, short)

    patch.setattr(arms, "_range", planted)


def _counts_are_rows(patch: Patch) -> None:
    patch.setattr(reference, "aggregate_edits", lambda *args: [])


FAULTS: list[Callable[[Patch], None]] = [
    _everything_is_additive,
    _every_unit_is_a_year,
    _outdated_is_fresh,
    _the_last_partition_of_an_arm_is_lost,
    _counts_are_rows,
]


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> list[History]:
    folder = tmp_path_factory.mktemp("planted")
    return [build(SHAPES[n % len(SHAPES)], folder / str(n), 500 + n, 25) for n in range(4)]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
def test_a_planted_fault_is_found(fault: Callable[[Patch], None], histories: list[History]) -> None:
    reference_answers = Reference()
    with pytest.MonkeyPatch.context() as patch:
        fault(patch)
        for round_ in range(80):
            for history in histories:
                asked = question(random.Random(round_ * 10 + history.rng.randrange(10)), extent(history))
                try:
                    check(history, reference_answers, asked, history.connection)
                except AssertionError:
                    return
    pytest.fail("no case found the fault")
