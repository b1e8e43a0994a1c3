"""No cover is better: random problems against searches that ignore nesting, and faults that they find."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.planner.cover import cover as cover_module
from rewriter.planner.cover import nested_cover
from rewriter.planner.cover.cover import Candidate, cover
from rewriter.planner.cover.nested_cover import CandidateRuns, Chain, CostIndex, Filling, PricedCandidate, Segment
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline
from tests.unit.planner.covering import (
    DAILY,
    HOURLY,
    MONTHLY,
    TINY,
    WEEKLY,
    all_sets,
    assert_optimal,
    between,
    has,
    long_problem,
    random_problem,
    shortest,
    tied_problem,
    usable,
)


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(30))
def test_no_cover_is_better(seed: int) -> None:
    random = Random(seed)
    for _ in range(120):
        assert_optimal(cover, *random_problem(random))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 2000))
def test_no_cover_is_better_in_very_many_problems(seed: int) -> None:
    random = Random(seed)
    for _ in range(200):
        assert_optimal(cover, *random_problem(random))


@pytest.mark.parametrize("seed", range(5))
def test_no_cover_comes_before_it_by_name(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        assert_optimal(cover, *tied_problem(random))


@pytest.mark.parametrize("seed", range(8))
def test_no_cover_of_many_years_is_better(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        assert_optimal(cover, *long_problem(random))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_no_cover_of_many_years_is_better_in_very_many_problems(seed: int) -> None:
    random = Random(seed)
    for _ in range(50):
        assert_optimal(cover, *long_problem(random))


def tiny_problem(random: Random) -> tuple[RangeSet, list[Candidate]]:
    """Returns a problem with at most twelve usable partitions."""
    while True:
        target, candidates = random_problem(random, TINY)
        if sum(len(usable(stretch, candidates)) for stretch in target) <= 12:
            return target, candidates


@pytest.mark.parametrize("seed", range(10))
def test_no_set_of_partitions_is_better(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        problem = tiny_problem(random)
        assert_optimal(cover, *problem, all_sets)
        assert shortest(*problem) == all_sets(*problem)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_cover_is_better_and_failures_shrink(data: st.DataObject) -> None:
    window = between("2015-01-25", "2015-03-12")
    days = range(DAILY.ordinal(window.start), DAILY.ordinal(window.end))
    pick = st.lists(st.sampled_from(days), min_size=2, max_size=6, unique=True).map(sorted)
    cuts = data.draw(pick, label="target")
    target = RangeSet.of(
        *(TimeRange(DAILY.start(a), DAILY.start(b)) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    )
    candidates = []
    periods = st.lists(st.sampled_from([HOURLY, DAILY, WEEKLY, MONTHLY]), max_size=4)
    for number, period in enumerate(data.draw(periods, label="periods")):
        bounds = [period.ordinal(DAILY.start(day)) for day in data.draw(pick, label=f"runs of t{number}")]
        runs = [OrdinalRange(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=False) if a < b]
        weight = data.draw(st.integers(0, 2), label=f"weight of t{number}")
        cost = data.draw(st.sampled_from([1, 1, 2, 7, 24, 30]), label=f"cost of t{number}")
        timeline = RangesPartitionTimeline(runs)
        candidates.append(Candidate("f", "s", f"t{number}", period, timeline, weight, cost))
    assert_optimal(cover, target, candidates)


def test_the_searches_can_tell_a_worse_cover() -> None:
    days, hours = has(DAILY, ("2015", "2016"), weight=3), has(HOURLY, ("2015", "2016"), cost=2)
    day = RangeSet.of(between("2015-02-03", "2015-02-04"))
    assert shortest(day, [hours])[:4] == (0, 48, 24, 0)
    assert shortest(day, [hours, days])[:4] == (0, 1, 1, 3)
    assert shortest(day, [])[0] == 24 * 3_600_000_000
    assert all_sets(day, [days]) == shortest(day, [days])


# --- planted faults: each is a mistake that one could make here, and the problems above find it ---------------------


def largest_first(segment: Segment, calendar: Chain, weeks: Chain, days: Chain) -> Filling:
    """Weeks as if they nested in months."""
    priced_candidates = [priced for part in (calendar, weeks) for level in part.levels for priced in level.candidates]
    return Chain.of(priced_candidates, weeks.missing_price).fill([segment])


def weeks_first(segment: Segment, calendar: Chain, weeks: Chain, days: Chain) -> Filling:
    """Uses months only where there is no week."""
    filled = weeks.fill([segment])
    rest = Chain.of([priced for part in (calendar, days) for level in part.levels for priced in level.candidates], 1)
    left = rest.fill(filled.gaps)
    return Filling(filled.partitions + left.partitions, left.gaps)


def never_contested(priced: PricedCandidate, runs: list[OrdinalRange], finer: Chain) -> list[CandidateRuns]:
    """Uses the coarser partition whatever it costs."""
    return [(priced, runs)]


def always_lost(priced: PricedCandidate, runs: list[OrdinalRange], finer: Chain) -> list[CandidateRuns]:
    """Uses finer partitions wherever they could be cheaper, even with holes."""
    begin = priced.period.start
    return finer.fill([(begin(run.start), begin(run.end)) for run in runs]).partitions


def later(first: PricedCandidate | None, second: PricedCandidate | None) -> bool:
    """Compares names in reverse order."""
    return second is not None and (first is None or second.rank < first.rank)


def backwards(candidate: Candidate) -> tuple[int, ...]:
    """Sorts names in reverse order."""
    return tuple(-ord(letter) for letter in f"{candidate.fact} {candidate.storage} {candidate.table}")


def check(random: Random, times: int) -> None:
    """Runs the checks of the tests above with few problems."""
    for _ in range(times):
        assert_optimal(cover, *random_problem(random))
        assert_optimal(cover, *tied_problem(random))


def check_years(random: Random, times: int) -> None:
    """Runs the check of the test of many years."""
    for _ in range(times):
        assert_optimal(cover, *long_problem(random))


def all_in_one_unit(target: RangeSet, ranked: Sequence[Candidate]) -> tuple[list[PricedCandidate], int]:
    """Prices in which cost, partitions and weight mix."""
    priced_candidates, missing = PRICE(target, ranked)
    mixed = [priced.cost + 1 + candidate.weight for priced, candidate in zip(priced_candidates, ranked, strict=True)]
    return [replace(priced, price=price) for priced, price in zip(priced_candidates, mixed, strict=True)], missing


PRICE = cover_module._price
PRICES = cover_module._prices
DEAR = 10**60


def any_days(
    period: UpdatePeriod, run: OrdinalRange, by_day: CostIndex, cheap: set[PricedCandidate]
) -> list[OrdinalRange]:
    """Years taken for settled whatever the days before them cost, or lack."""
    return [run]


@pytest.mark.parametrize(
    ("module", "function", "fault"),
    [
        (cover_module, "fill_with_weeks", largest_first),
        (cover_module, "fill_with_weeks", weeks_first),
        (nested_cover, "_contested", never_contested),
        (nested_cover, "_contested", always_lost),
        (cover_module, "_earlier", later),
        (cover_module, "_name", backwards),
        (cover_module, "_price", all_in_one_unit),
    ],
)
def test_a_fault_is_found(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, function: str, fault: Callable[..., object]
) -> None:
    monkeypatch.setattr(module, function, fault)
    with pytest.raises(AssertionError):
        check(Random(1), 300)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("module", "function", "fault"),
    [
        (cover_module, "_after_cheap_days", any_days),
        (cover_module, "_prices", lambda *levels: (DEAR, PRICES(*levels)[1])),
        (cover_module, "_prices", lambda *levels: (PRICES(*levels)[0], DEAR)),
        (cover_module._Path, "is_clean", True),
    ],
    ids=["days that lack", "finer ones that cost less", "weeks that cost less", "a week over the end"],
)
def test_a_fault_of_many_years_is_found(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | type, function: str, fault: object
) -> None:
    monkeypatch.setattr(module, function, fault)
    with pytest.raises(AssertionError):
        check_years(Random(1), 400)


def test_periods_that_stick_out_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def rounded(period: UpdatePeriod, timeline: PartitionTimeline, start: int, end: int) -> Sequence[OrdinalRange]:
        return timeline.covered(OrdinalRange(period.ordinal(start), period.ordinal(end - 1) + 1))

    monkeypatch.setattr(nested_cover, "whole_periods", rounded)
    with pytest.raises((AssertionError, ValueError)):
        check(Random(1), 300)
