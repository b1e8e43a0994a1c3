"""The cover: the seed's tables, what a hole costs, and optimality against an exhaustive search."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.errors import NotSupportedError
from rewriter.planner.cover import CHAIN, Candidate, Cover, cover, extent
from rewriter.timeline.bounds import parse_instant
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, RangesPartitionTimeline

MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY, QUARTERLY, YEARLY = UpdatePeriod


def between(start: str, end: str) -> TimeRange:
    return TimeRange(parse_instant(start), parse_instant(end))


def ordinals(period: UpdatePeriod, start: str, end: str) -> OrdinalRange:
    return OrdinalRange(period.ordinal(parse_instant(start)), period.ordinal(parse_instant(end)))


def has(
    period: UpdatePeriod,
    *spans: tuple[str, str],
    without: Sequence[str] = (),
    table: str = "",
    weight: int = 0,
    fact: str = "f",
    storage: str = "s",
) -> Candidate:
    """A candidate that has the periods of the spans, except those that start at ``without``."""
    timeline = RangesPartitionTimeline(ordinals(period, *span) for span in spans)
    for absent in without:
        assert timeline.drop(period.ordinal(parse_instant(absent)))
    return Candidate(fact, storage, table or period.name.lower(), period, timeline, weight)


def shape(made: Cover) -> dict[str, int]:
    """Partitions per table."""
    return {part.table: part.partitions for part in made.parts}


def stretches(made: Cover, table: str) -> str:
    """The time that a table covers, as text."""
    return str(
        RangeSet.of(
            *(
                TimeRange(part.period.start(r.start), part.period.start(r.end))
                for part in made.parts
                if part.table == table
                for r in part.ranges
            )
        )
    )


YEAR = ("2014", "2017")
SEED = RangeSet.of(between("2015-01-29T06", "2015-03-01T06"))


@pytest.mark.parametrize(
    ("candidates", "expected"),
    [
        ([has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)], {"monthly": 1, "daily": 2, "hourly": 24}),
        ([has(HOURLY, YEAR)], {"hourly": 744}),
        ([has(MONTHLY, YEAR), has(HOURLY, YEAR)], {"monthly": 1, "hourly": 72}),
        ([has(DAILY, YEAR), has(HOURLY, YEAR)], {"daily": 30, "hourly": 24}),
        ([has(DAILY, YEAR, without=["2015-02-10"]), has(HOURLY, YEAR)], {"daily": 29, "hourly": 48}),
    ],
    ids=["all rollups", "hours only", "no days", "no months", "one day missing"],
)
def test_the_seeds_tables(candidates: list[Candidate], expected: dict[str, int]) -> None:
    made = cover(SEED, candidates)
    assert shape(made) == expected
    assert made.missing == RangeSet.EMPTY


def test_the_seeds_best_case_names_the_partitions() -> None:
    made = cover(SEED, [has(HOURLY, YEAR), has(DAILY, YEAR), has(MONTHLY, YEAR)])
    assert [part.period for part in made.parts] == [MONTHLY, DAILY, HOURLY]
    assert stretches(made, "monthly") == "[2015-02-01, 2015-03-01)"
    assert stretches(made, "daily") == "[2015-01-30, 2015-02-01)"
    assert stretches(made, "hourly") == "[2015-01-29T06, 2015-01-30) ∪ [2015-03-01, 2015-03-01T06)"


def test_quarters_serve_where_they_are_whole() -> None:
    target = RangeSet.of(between("2015-02-10", "2015-11-10"))
    made = cover(target, [has(period, YEAR) for period in CHAIN])
    assert shape(made) == {"quarterly": 2, "monthly": 2, "daily": 19 + 9}
    assert stretches(made, "quarterly") == "[2015-04-01, 2015-10-01)"
    assert stretches(made, "monthly") == "[2015-03-01, 2015-04-01) ∪ [2015-10-01, 2015-11-01)"
    assert stretches(made, "daily") == "[2015-02-10, 2015-03-01) ∪ [2015-11-01, 2015-11-10)"


def test_a_missing_day_hides_no_other() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-03-01"))
    made = cover(target, [has(DAILY, YEAR, without=["2015-02-03"])])
    assert shape(made) == {"daily": 27}
    assert str(made.missing) == "[2015-02-03, 2015-02-04)"


@given(st.integers(0, 24 * 31 - 1))
def test_one_missing_hour_never_changes_the_rest(hour: int) -> None:
    start = SEED.ranges[0].start + HOURLY.start(hour)
    gap = RangeSet.of(TimeRange(start, HOURLY.start(HOURLY.ordinal(start) + 1)))
    full = [has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)]
    holed = [has(MONTHLY, YEAR), has(DAILY, YEAR), has(HOURLY, YEAR)]
    assert holed[2].timeline.drop(HOURLY.ordinal(start))
    whole, made = cover(SEED, full), cover(SEED, holed)
    hours_used = RangeSet.of(between("2015-01-29T06", "2015-01-30"), between("2015-03-01", "2015-03-01T06"))
    assert made.parts[:2] == whole.parts[:2]
    assert made.missing == gap & hours_used
    if not made.missing:
        assert made == whole
    else:
        assert made.parts[2].partitions == whole.parts[2].partitions - 1


def test_a_gap_is_filled_from_another_table() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-02-11"))
    main = has(DAILY, ("2015-02-01", "2015-02-11"), without=["2015-02-04", "2015-02-07"], table="main")
    spare = has(DAILY, ("2015-02-01", "2015-02-05"), table="spare", weight=1)
    hours = has(HOURLY, ("2015-02-06", "2015-02-08"), table="hours")
    made = cover(target, [hours, spare, main])
    assert [(part.table, part.partitions) for part in made.parts] == [("main", 8), ("spare", 1), ("hours", 24)]
    assert stretches(made, "spare") == "[2015-02-04, 2015-02-05)"
    assert stretches(made, "hours") == "[2015-02-07, 2015-02-08)"
    assert not made.missing


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ({"weight": 1, "fact": "z", "table": "z"}, {"weight": 2, "fact": "a", "table": "a"}),
        ({"fact": "a", "storage": "z", "table": "z"}, {"fact": "b", "storage": "a", "table": "a"}),
        ({"storage": "a", "table": "z"}, {"storage": "b", "table": "a"}),
        ({"table": "a"}, {"table": "b"}),
    ],
    ids=["weight", "fact", "storage", "table"],
)
def test_equal_periods_come_from_the_lowest_weight_then_name(better: dict[str, str], worse: dict[str, str]) -> None:
    days = [has(DAILY, YEAR, **kind) for kind in (better, worse)]  # type: ignore[arg-type]
    for candidates in (days, days[::-1]):
        made = cover(SEED, candidates)
        assert [part.table for part in made.parts] == [better["table"]]


def test_fewer_partitions_beat_a_lower_weight() -> None:
    made = cover(SEED, [has(MONTHLY, YEAR, weight=9), has(DAILY, YEAR), has(HOURLY, YEAR)])
    assert shape(made)["monthly"] == 1


def test_periods_that_stick_out_of_a_range_are_not_used() -> None:
    target = RangeSet.of(between("2015-02-01", "2015-02-14"), between("2015-02-15", "2015-03-01"))
    made = cover(target, [has(MONTHLY, YEAR), has(DAILY, YEAR)])
    assert shape(made) == {"daily": 27}
    assert stretches(made, "daily") == str(target)


def test_ends_inside_the_finest_period_are_missing() -> None:
    target = RangeSet.of(between("2015-02-03T04:00:00.000001", "2015-02-03T07:30"))
    made = cover(target, [has(HOURLY, YEAR)])
    assert shape(made) == {"hourly": 2}
    assert str(made.missing) == "[2015-02-03T04:00:00.000001, 2015-02-03T05) ∪ [2015-02-03T07, 2015-02-03T07:30)"
    inside = RangeSet.of(between("2015-02-03T04:10", "2015-02-03T04:50"))
    assert cover(inside, [has(HOURLY, YEAR)]) == Cover((), inside)


def test_nothing_to_cover_and_nothing_to_cover_with() -> None:
    assert cover(RangeSet.EMPTY, [has(DAILY, YEAR)]) == Cover((), RangeSet.EMPTY)
    assert cover(SEED, []) == Cover((), SEED)
    assert cover(SEED, [has(DAILY)]) == Cover((), SEED)
    assert cover(SEED, [has(DAILY, ("2014", "2015"))]) == Cover((), SEED)


def test_an_open_target_takes_all_there_is() -> None:
    made = cover(RangeSet.ALL, [has(DAILY, ("2015-02-01", "2015-02-03")), has(YEARLY, ("2012", "2014"))])
    assert shape(made) == {"daily": 2, "yearly": 2}
    assert str(made.missing) == "[-∞, 2012-01-01) ∪ [2014-01-01, 2015-02-01) ∪ [2015-02-03, ∞)"


@pytest.mark.parametrize("target", [SEED, RangeSet.EMPTY])
def test_weeks_are_refused(target: RangeSet) -> None:
    with pytest.raises(NotSupportedError, match=r"UNSUPPORTED_UPDATE_PERIOD.*weekly"):
        cover(target, [has(DAILY, YEAR), has(WEEKLY, YEAR)])


def test_the_extent_reaches_from_the_first_to_the_last_instant() -> None:
    candidates = [has(DAILY, ("2015-01-29", "2015-03-02")), has(MONTHLY, ("2014-11", "2015-03")), has(HOURLY)]
    assert str(extent(candidates)) == "[2014-11-01, 2015-03-02)"
    assert extent([has(HOURLY)]) is None
    assert extent([]) is None


class CountingTimeline(RangesPartitionTimeline):
    """Counts what is asked of it and what it answers."""

    asked = 0
    answered = 0

    def covered(self, ordinals: OrdinalRange) -> tuple[OrdinalRange, ...]:
        """As always, and counted."""
        found = super().covered(ordinals)
        self.asked += 1
        self.answered += len(found)
        return found

    def exists(self, ordinal: int) -> bool:
        """Never asked: that would be a partition at a time."""
        raise AssertionError(f"asked for the single ordinal {ordinal}")


def test_the_work_depends_on_ranges_that_matter_not_on_partitions() -> None:
    days = CountingTimeline([ordinals(DAILY, "2005", "2025")])
    assert all(days.drop(DAILY.ordinal(parse_instant(f"{year}-06-15"))) for year in range(2005, 2025))
    minutes = CountingTimeline([ordinals(MINUTELY, "2005", "2025")])
    # Thousands of holes in the minutes, all of them under days that exist.
    hole = MINUTELY.ordinal(parse_instant("2012-01-02"))
    assert all(minutes.drop(hole + 7 * i) for i in range(5000))
    candidates = [Candidate("f", "s", "d", DAILY, days), Candidate("f", "s", "m", MINUTELY, minutes)]
    made = cover(RangeSet.of(between("2010-02-10T06:17", "2020-11-05T18:43")), candidates)
    assert made.missing == RangeSet.EMPTY
    assert (days.asked, days.answered) == (1, 12)
    # Both ends and the eleven days of June.
    assert (minutes.asked, minutes.answered) == (13, 13)


# --- optimality ---------------------------------------------------------------------------------------------------

#: Windows small enough to search, at calendar boundaries: (start, end, periods, longest run of a period).
SCALES = [
    ("2015-02-26", "2015-03-04", (HOURLY, DAILY), 40),
    ("2016-02-28T20", "2016-03-01T04", (MINUTELY, HOURLY, DAILY), 70),
    ("2014-11-20", "2016-02-10", (DAILY, MONTHLY, QUARTERLY, YEARLY), 60),
    ("2012", "2017", (MONTHLY, QUARTERLY, YEARLY), 20),
]
Slot = tuple[int, int, Candidate]


def slots(candidates: Sequence[Candidate]) -> list[Slot]:
    """Every partition of every candidate, as start, end and candidate."""
    return [
        (c.period.start(o), c.period.end(o), c)
        for c in candidates
        for r in c.timeline.ranges()
        for o in range(r.start, r.end)
    ]


def least_cost(target: RangeSet, candidates: Sequence[Candidate]) -> tuple[int, int, int]:
    """The least (missing, partitions, weight) of any disjoint cover, by a shortest path through all boundaries.

    It knows nothing of nesting: from each boundary one may take any partition that starts there, or go to the next.
    """
    everything = slots(candidates)
    total = (0, 0, 0)
    for r in target:
        usable = [s for s in everything if r.start <= s[0] and s[1] <= r.end]
        nodes = sorted({r.start, r.end, *(s[0] for s in usable), *(s[1] for s in usable)})
        leaving: dict[int, list[Slot]] = {}
        for slot in usable:
            leaving.setdefault(slot[0], []).append(slot)
        best = {r.end: (0, 0, 0)}
        for index in range(len(nodes) - 2, -1, -1):
            here, following = nodes[index], nodes[index + 1]
            missing, partitions, weight = best[following]
            options = [(missing + following - here, partitions, weight)]
            for _, end, candidate in leaving.get(here, ()):
                missing, partitions, weight = best[end]
                options.append((missing, partitions + 1, weight + candidate.weight))
            best[here] = min(options)
        total = tuple(a + b for a, b in zip(total, best[r.start], strict=True))  # type: ignore[assignment]
    return total


def used_slots(made: Cover, candidates: Sequence[Candidate]) -> list[Slot]:
    """The partitions of a cover; every one of them must exist in the candidate it names."""
    used = []
    for part in made.parts:
        [candidate] = [c for c in candidates if (c.table, c.period) == (part.table, part.period)]
        assert (part.fact, part.storage) == (candidate.fact, candidate.storage)
        for r in part.ranges:
            assert all(candidate.timeline.exists(o) for o in range(r.start, r.end))
            used += [(part.period.start(o), part.period.end(o), candidate) for o in range(r.start, r.end)]
    return sorted(used, key=lambda slot: slot[:2])


def assert_optimal(target: RangeSet, candidates: Sequence[Candidate]) -> None:
    made = cover(target, candidates)
    used = used_slots(made, candidates)
    assert all(left[1] <= right[0] for left, right in pairwise(used))
    covered = RangeSet.of(*(TimeRange(start, end) for start, end, _ in used))
    assert not covered & made.missing
    assert covered | made.missing == target
    cost = (sum(r.end - r.start for r in made.missing), len(used), sum(c.weight for _, _, c in used))
    assert cost == least_cost(target, candidates)
    for start, _, chosen in used:
        rivals = [c for c in candidates if c.period is chosen.period and c.timeline.exists(c.period.ordinal(start))]
        assert chosen == min(rivals, key=lambda c: (c.weight, c.fact, c.storage, c.table))
    order = [(-c.period, c.weight, c.fact, c.storage, c.table) for c in candidates if c in {s[2] for s in used}]
    named = [(-part.period, part.fact, part.storage, part.table) for part in made.parts]
    assert named == [(key[0], *key[2:]) for key in sorted(order)]


def random_problem(random: Random) -> tuple[RangeSet, list[Candidate]]:
    """A target of a few ranges, and two to seven candidates, each all or nothing with a few stretches changed."""
    start, end, periods, longest = random.choice(SCALES)
    window = between(start, end)
    grid = min(periods)
    low, high = grid.ordinal(window.start), grid.ordinal(window.end)
    cuts = sorted(random.sample(range(low, high + 1), 2 * random.randint(1, 3)))
    nudge = random.choice([0, 0, 0, 1])
    target = RangeSet.of(
        *(TimeRange(grid.start(a) + nudge, grid.start(b)) for a, b in zip(cuts[::2], cuts[1::2], strict=True))
    )
    candidates = []
    for number in range(random.randint(2, 7)):
        period = random.choice(periods)
        first, last = period.ordinal(window.start), period.ordinal(window.end)
        timeline = RangesPartitionTimeline()
        if random.random() < 0.4:
            timeline.add_range(OrdinalRange(first, last + 1))
        reach = min(random.choice([2, longest]), last - first + 1)
        for change in random.choices([timeline.add_range, timeline.drop_range], k=random.randint(0, 9)):
            at = random.randint(first, last)
            change(OrdinalRange(at, at + random.randint(1, reach)))
        fact, weight = random.choice([("a", 2), ("b", 0), ("c", 0)])
        table = f"t{random.randint(0, 9)}{number}"
        candidates.append(Candidate(fact, random.choice("xy"), table, period, timeline, weight))
    return target, candidates


@pytest.mark.parametrize("seed", range(30))
def test_no_cover_is_better(seed: int) -> None:
    random = Random(seed)
    for _ in range(100):
        assert_optimal(*random_problem(random))


@settings(max_examples=60)
@given(st.data())
def test_no_cover_is_better_and_failures_shrink(data: st.DataObject) -> None:
    window = between("2015-01-25", "2015-02-05")
    days = range(DAILY.ordinal(window.start), DAILY.ordinal(window.end))
    pick = st.lists(st.sampled_from(days), min_size=2, max_size=6, unique=True).map(sorted)
    cuts = data.draw(pick, label="target")
    target = RangeSet.of(
        *(TimeRange(DAILY.start(a), DAILY.start(b)) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    )
    candidates = []
    for number, period in enumerate(data.draw(st.lists(st.sampled_from([HOURLY, DAILY]), max_size=4), label="periods")):
        bounds = [period.ordinal(DAILY.start(day)) for day in data.draw(pick, label=f"runs of t{number}")]
        runs = [OrdinalRange(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=False)]
        weight = data.draw(st.integers(0, 2), label=f"weight of t{number}")
        candidates.append(Candidate("f", "s", f"t{number}", period, RangesPartitionTimeline(runs), weight))
    assert_optimal(target, candidates)


def test_the_exhaustive_search_can_tell_a_worse_cover() -> None:
    days, hours = has(DAILY, YEAR), has(HOURLY, YEAR)
    day = RangeSet.of(between("2015-02-03", "2015-02-04"))
    assert least_cost(day, [hours]) == (0, 24, 0)
    assert least_cost(day, [hours, days]) == (0, 1, 0)
