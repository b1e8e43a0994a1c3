"""Helpers of the tests of covers: short ways to write candidates, random problems, and exhaustive searches.

Both searches treat partitions as intervals. ``all_sets`` tries every set of disjoint ones. ``shortest`` is a shortest
path through all of their bounds, for larger problems.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from random import Random

from rewriter.planner.cover.cover import Candidate, Cover
from rewriter.planner.cover.validity import cut
from rewriter.timeline.calendars import calendar_of
from rewriter.timeline.civil import HOUR
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange

MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY, QUARTERLY, YEARLY = UpdatePeriod

#: A cover's place in the total order: microseconds missing, cost, partitions, weight, then its partitions in order of
#: time as (start, fact, storage, table, -period), nested so that a longer list shares the end of a shorter one.
Order = tuple[int, int, int, int, tuple[object, ...]]
Slot = tuple[int, int, Candidate]


def between(start: str, end: str) -> TimeRange:
    return TimeRange(parse_instant(start), parse_instant(end))


def ordinals(period: UpdatePeriod, start: str, end: str) -> OrdinalRange:
    """Returns the periods that start in ``[start, end)``."""
    first, stop = (period.ceil(parse_instant(bound)) for bound in (start, end))
    return OrdinalRange(period.ordinal(first), period.ordinal(stop))


def has(
    period: UpdatePeriod,
    *spans: tuple[str, str],
    without: Sequence[str] = (),
    table: str = "",
    weight: int = 0,
    fact: str = "f",
    storage: str = "s",
    cost: int = 1,
    valid: RangeSet | None = None,
) -> Candidate:
    """Returns a candidate that has the periods of the spans, except those that start at ``without``."""
    timeline = RangesPartitionTimeline(ordinals(period, *span) for span in spans)
    for absent in without:
        assert timeline.drop(period.ordinal(parse_instant(absent)))
    held = timeline if valid is None else cut(timeline, period, valid)
    return Candidate(fact, storage, table or period.name.lower(), period, held, weight, cost)


def shape(covered: Cover) -> dict[str, int]:
    """Returns the number of partitions per table."""
    return {part.table: part.partitions for part in covered.parts}


def segments(covered: Cover, table: str) -> str:
    """Returns the time that a table covers, as text."""
    return str(
        RangeSet.of(
            *(
                TimeRange(part.period.start(r.start), part.period.start(r.end))
                for part in covered.parts
                if part.table == table
                for r in part.ranges
            )
        )
    )


# --- searches -----------------------------------------------------------------------------------------------------


def usable(stretch: TimeRange, candidates: Sequence[Candidate]) -> list[Slot]:
    """Returns every partition that lies completely in the range, in order of time."""
    slots = []
    for c in candidates:
        for r in c.timeline.ranges():
            for o in range(r.start, r.end):
                start, end = c.period.start(o), c.period.end(o)
                if stretch.start <= start and end <= stretch.end:
                    slots.append((start, end, c))
    return sorted(slots, key=lambda slot: slot[:2])


def name(slot: Slot) -> tuple[int, str, str, str, int]:
    start, _, candidate = slot
    return start, candidate.fact, candidate.storage, candidate.table, -int(candidate.period)


def names(order: Order) -> Iterator[object]:
    """Returns the names in order, one after another. As they are nested, Python compares only some hundred."""
    rest = order[4]
    while rest:
        first, rest = rest  # type: ignore[assignment, misc]
        yield first


def with_slot(slot: Slot, rest: Order) -> Order:
    """Returns a cover of the following time with the slot before it."""
    missing, cost, partitions, weight, following = rest
    candidate = slot[2]
    return missing, cost + candidate.cost, partitions + 1, weight + candidate.weight, (name(slot), following)


def shortest(target: RangeSet, candidates: Sequence[Candidate]) -> Order:
    """Returns the least of all disjoint covers: from each bound any partition that starts there, or the next bound."""
    total: Order = (0, 0, 0, 0, ())
    for r in reversed(target.ranges):
        slots = usable(r, candidates)
        nodes = sorted({r.start, r.end, *(s[0] for s in slots), *(s[1] for s in slots)})
        leaving: dict[int, list[Slot]] = {}
        for slot in slots:
            leaving.setdefault(slot[0], []).append(slot)
        best = {r.end: total}
        for here, following in reversed(list(pairwise(nodes))):
            missing, *rest = best[following]
            options = [(missing + following - here, *rest)]
            options += [with_slot(slot, best[slot[1]]) for slot in leaving.get(here, ())]
            best[here] = min(options)  # type: ignore[type-var]
        total = best[r.start]
    return total


def all_sets(target: RangeSet, candidates: Sequence[Candidate]) -> Order:
    """Returns the least of all disjoint covers. It tries each of them."""
    slots = [slot for r in target for slot in usable(r, candidates)]
    lacking = sum(r.end - r.start for r in target)

    def sets(index: int, free_from: int) -> Iterator[tuple[Slot, ...]]:
        if index == len(slots):
            yield ()
            return
        yield from sets(index + 1, free_from)
        if slots[index][0] >= free_from:
            for rest in sets(index + 1, slots[index][1]):
                yield (slots[index], *rest)

    return min(ordered(lacking, chosen) for chosen in sets(0, min((s[0] for s in slots), default=0)))


def ordered(lacking: int, slots: Sequence[Slot]) -> Order:
    """Returns the rank of a set of slots, given in order of time."""
    order: Order = (lacking - sum(end - start for start, end, _ in slots), 0, 0, 0, ())
    for slot in reversed(slots):
        order = with_slot(slot, order)
    return order


# --- checking -----------------------------------------------------------------------------------------------------


def used_slots(covered: Cover, candidates: Sequence[Candidate]) -> list[Slot]:
    """Returns the partitions of a cover. Each must exist in the candidate that it names."""
    used = []
    for part in covered.parts:
        [candidate] = [c for c in candidates if (c.table, c.period) == (part.table, part.period)]
        assert (part.fact, part.storage) == (candidate.fact, candidate.storage)
        assert all(left.end < right.start for left, right in pairwise(part.ranges))
        for r in part.ranges:
            assert candidate.timeline.missing(r) == ()
            used += [(part.period.start(o), part.period.end(o), candidate) for o in range(r.start, r.end)]
    return sorted(used, key=lambda slot: slot[:2])


Solver = Callable[[RangeSet, Sequence[Candidate]], Cover]
Search = Callable[[RangeSet, Sequence[Candidate]], Order]


def assert_optimal(solve: Solver, target: RangeSet, candidates: Sequence[Candidate], search: Search = shortest) -> None:
    """Asserts that the cover divides the target into used and missing parts, and is the first in the order."""
    solved = solve(target, candidates)
    used = used_slots(solved, candidates)
    assert all(left[1] <= right[0] for left, right in pairwise(used))
    covered = RangeSet.of(*(TimeRange(start, end) for start, end, _ in used))
    assert not covered & solved.missing
    assert covered | solved.missing == target
    total = ordered(sum(r.end - r.start for r in target), used)
    best = search(target, candidates)
    assert solved.badness == total[:4] == best[:4]
    assert list(names(total)) == list(names(best))
    order = [
        (-int(c.period), c.cost, c.weight, c.fact, c.storage, c.table) for c in {id(s[2]): s[2] for s in used}.values()
    ]
    named = [(-int(part.period), part.fact, part.storage, part.table) for part in solved.parts]
    assert named == [(key[0], *key[3:]) for key in sorted(order)]


# --- random problems ----------------------------------------------------------------------------------------------

#: Windows small enough to search, at calendar boundaries: (start, end, periods, longest run of a period).
SCALES = [
    ("2015-02-26", "2015-03-04", (HOURLY, DAILY, WEEKLY), 40),
    ("2016-02-28T20", "2016-03-01T04", (MINUTELY, HOURLY, DAILY), 70),
    ("2015-12-24T12", "2016-01-12", (HOURLY, DAILY, WEEKLY), 60),
    ("2014-11-20", "2016-02-10", (DAILY, WEEKLY, MONTHLY, QUARTERLY, YEARLY), 60),
    ("2014-11-20", "2016-02-10", (DAILY, MONTHLY, QUARTERLY, YEARLY), 60),
    ("2012", "2017", (WEEKLY, MONTHLY, QUARTERLY, YEARLY), 20),
    ("2012", "2017", (MONTHLY, QUARTERLY, YEARLY), 20),
    ("2015-05-25", "2015-10-10", (DAILY, WEEKLY, MONTHLY, QUARTERLY), 40),
    ("2015-01-26", "2015-04-06", (DAILY, WEEKLY, MONTHLY), 20),
    ("2015-01-25T20", "2015-03-03T04", (HOURLY, DAILY, WEEKLY, MONTHLY), 80),
]
#: For ``all_sets``: windows with few slots.
TINY = [
    ("2015-06-01", "2015-08-31", (WEEKLY, MONTHLY, QUARTERLY), 4),
    ("2015-01-29", "2015-02-03", (DAILY, WEEKLY), 3),
    ("2015-02-01", "2015-03-09", (WEEKLY, MONTHLY), 4),
    ("2014-12-31T21", "2015-01-01T03", (HOURLY, DAILY), 3),
    ("2014-07", "2016-01", (MONTHLY, QUARTERLY, YEARLY), 3),
]
#: Costs that are near those of the finer periods together, so that the choice is close.
HOURS = {MINUTELY: 1 / 60, HOURLY: 1, DAILY: 24, WEEKLY: 168, MONTHLY: 730, QUARTERLY: 2191, YEARLY: 8766}


def random_problem(
    random: Random, scales: Sequence[tuple[str, str, tuple[UpdatePeriod, ...], int]] = SCALES
) -> tuple[RangeSet, list[Candidate]]:
    """Returns a target of a few ranges, and two to seven candidates. Each has all or no periods, with a few segments
    changed.
    """
    start, end, periods, longest = random.choice(scales)
    window = between(start, end)
    grid = random.choice([min(periods), min(random.choice(periods), MONTHLY)])
    low, high = grid.ordinal(window.start), grid.ordinal(window.end)
    cuts = sorted(random.sample(range(low, high + 1), 2 * random.randint(1, min(3, (high - low + 1) // 2))))
    if random.random() < 0.4:
        cuts = [low, high]
    nudge = random.choice([0, 0, 0, 1])
    target = RangeSet.of(
        *(TimeRange(grid.start(a) + nudge, grid.start(b)) for a, b in zip(cuts[::2], cuts[1::2], strict=True))
    )
    costs = random.choice([flat, flat, small, close])
    candidates = []
    for number in range(random.randint(2, 7)):
        period = random.choice(periods)
        first, last = period.ordinal(window.start), period.ordinal(window.end)
        timeline = RangesPartitionTimeline()
        if random.random() < 0.5:
            timeline.add_range(OrdinalRange(first, last + 1))
        reach = min(random.choice([2, longest]), last - first + 1)
        for change in random.choices([timeline.add_range, timeline.drop_range], k=random.choice([0, 1, 3, 9])):
            at = random.randint(first, last)
            change(OrdinalRange(at, at + random.randint(1, reach)))
        fact, weight = random.choice([("a", 2), ("b", 0), ("c", 0), ("d", -1), ("e", 10**9)])
        table = f"t{random.randint(0, 9)}{number}"
        valid = random_validity(random, window) if random.random() < 0.25 else None
        held = timeline if valid is None else cut(timeline, period, valid)
        cost = costs(random, period)
        candidates.append(Candidate(fact, random.choice("xy"), table, period, held, weight, cost))
    return target, candidates


def tied_problem(random: Random) -> tuple[RangeSet, list[Candidate]]:
    """Returns nearly complete days, weeks and months at one cost. Five weeks often have as many partitions as a month
    and four days, so that names decide.
    """
    low, high = ordinals(WEEKLY, "2015-02-16", "2015-09-14").start, ordinals(WEEKLY, "2015-02-16", "2015-09-14").end
    start, end = sorted(random.sample(range(low, high + 1), 2))
    target = RangeSet.of(TimeRange(WEEKLY.start(start), WEEKLY.start(end)))
    candidates = []
    for period in (DAILY, WEEKLY, MONTHLY, random.choice([DAILY, WEEKLY, MONTHLY])):
        first, last = period.ordinal(target.ranges[0].start), period.ordinal(target.ranges[0].end)
        timeline = RangesPartitionTimeline([OrdinalRange(first, last + 1)])
        for _ in range(random.choice([0, 0, 1])):
            timeline.drop(random.randint(first, last))
        table = f"{random.choice('abc')}{len(candidates)}"
        candidates.append(Candidate(random.choice("fg"), random.choice("xy"), table, period, timeline))
    return target, candidates


def long_problem(random: Random) -> tuple[RangeSet, list[Candidate]]:
    """Returns several years of years, weeks, days and perhaps quarters, months and hours, nearly complete, in some
    calendar. The holes lie around starts of years, where a week may serve a part of a missing year.
    """
    calendar = calendar_of(random.choice(["UTC", "UTC", "America/New_York", "Pacific/Apia"]))
    first = random.randint(2003, 2009)
    last = first + random.randint(2, 5)
    day, year = calendar.of(DAILY), calendar.of(YEARLY)
    cuts = [year.start(first - 1970) + random.randint(0, 400) * 24 * HOUR, year.start(last - 1970)]
    cuts[1] += random.choice([0, 0, random.randint(-20, 40) * 24 * HOUR])
    target = RangeSet.of(TimeRange(*map(random.choice([day, day, calendar.of(WEEKLY)]).floor, cuts)))
    costs = random.choice([flat, small, close, uneven, uneven])
    trouble = random.randint(first, last)
    candidates = []
    periods = [YEARLY, QUARTERLY, MONTHLY, MONTHLY, WEEKLY, DAILY]
    kinds = [YEARLY, WEEKLY, DAILY, *random.sample(periods, random.choice([0, 0, 1, 2, 3]))]
    for number, kind in enumerate(kinds):
        period = calendar.of(kind)
        bounds = [period.ordinal(cut) for cut in cuts]
        timeline = RangesPartitionTimeline([OrdinalRange(bounds[0], bounds[1] + 1)])
        for _ in range(random.choice([0, 0, 1, 2, 4])):
            near = random.choice([trouble, trouble, random.randint(first, last)]) - 1970
            at = period.ordinal(year.start(near) + random.randint(-9, 9) * 24 * HOUR)
            timeline.drop_range(OrdinalRange(at, at + random.choice([1, 1, 2, 7] if kind <= WEEKLY else [1])))
        if kind is DAILY and calendar.zone == "Pacific/Apia":
            timeline.drop(day.kind.ordinal(parse_instant("2011-12-30")))
        fact, weight = random.choice([("a", 2), ("b", 0), ("c", 0), ("d", -1)])
        table = f"t{random.randint(0, 9)}{number}"
        valid = random_validity(random, target.ranges[0]) if random.random() < 0.03 else None
        held = timeline if valid is None else cut(timeline, period, valid)
        candidates.append(Candidate(fact, "s", table, period, held, weight, costs(random, kind)))
    if random.random() < 0.5:
        # A run of years ends, and no table has the first days of the next year: a week over its start may serve.
        day_after = day.ordinal(year.start(trouble - 1970)) + random.randint(0, 5)
        for candidate in candidates:
            if candidate.period in (day, year):
                candidate.timeline.drop(day_after if candidate.period is day else trouble - 1970)
    if random.random() < 0.3:
        at = HOURLY.ordinal(year.start(random.randint(first, last) - 1970))
        timeline = RangesPartitionTimeline([OrdinalRange(at - random.randint(0, 90), at + random.randint(1, 90))])
        candidates.append(Candidate("h", "s", "h", HOURLY, timeline, 0, costs(random, HOURLY)))
    return target, candidates


def flat(random: Random, period: UpdatePeriod) -> int:
    return 1


def small(random: Random, period: UpdatePeriod) -> int:
    return random.choice([1, 1, 2, 3, 7, 31])


def uneven(random: Random, period: UpdatePeriod) -> int:
    """Returns uneven costs: a day is a week's share or far more, and a year much more than its quarters, or little less
    than its weeks.
    """
    of_kind = {DAILY: (1, 40), WEEKLY: (1, 7), MONTHLY: (4, 31), QUARTERLY: (1, 12), YEARLY: (5, 45)}
    return random.choice(of_kind.get(period, (1, 1)))


def close(random: Random, period: UpdatePeriod) -> int:
    return max(1, round(60 * HOURS[period] * random.choice([0.5, 0.97, 1, 1, 1.01, 1.5])))


def random_validity(random: Random, window: TimeRange) -> RangeSet:
    """Returns one or two ranges that start and end anywhere, often beyond the window."""
    length = window.end - window.start
    bounds = sorted(window.start + random.randint(-length // 2, length * 3 // 2) for _ in range(4))
    if random.random() < 0.5:
        bounds = [bounds[0], bounds[3]]
    return RangeSet.of(*(TimeRange(a, b) for a, b in zip(bounds[::2], bounds[1::2], strict=True) if a < b))
