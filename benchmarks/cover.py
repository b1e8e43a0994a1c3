"""The cover alone, over timelines in memory, compared with procedures that enumerate partitions.

*Enumeration* is the procedure at the beginning of seed 000, which looks up every partition in the timeline. It supports
neither weeks nor costs. They are compared with a shortest path that has a step for each partition in the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from benchmarks.sqlmesh_peer import missing_hours
from benchmarks.timing import Figure, Table, ratio, seconds
from rewriter.planner.cover.cover import Candidate, cover
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.time_bounds import parse_instant
from rewriter.timeline.timeline import OrdinalRange

REPEAT = 51
MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY, QUARTERLY, YEARLY = UpdatePeriod
NESTED = (YEARLY, QUARTERLY, MONTHLY, DAILY, HOURLY, MINUTELY)
#: Bytes of a partition that make the choice close: a month of 31 days is smaller than its days together, February
#: larger.
BYTES = {MINUTELY: 50, HOURLY: 2_000, DAILY: 40_000, WEEKLY: 275_000, MONTHLY: 1_200_000, QUARTERLY: 3_580_000}


@dataclass(frozen=True)
class _Case:
    """A cover to measure; ``enumerated`` states whether the seed's procedure also covers it."""

    label: str
    target: RangeSet
    candidates: Sequence[Candidate]
    enumerated: bool = True


def measure() -> Table:
    """Returns the figures of the cover."""
    figures: list[Figure] = []
    for case in _cases():
        covered = cover(case.target, case.candidates)
        taken = seconds(lambda case=case: cover(case.target, case.candidates), REPEAT)  # type: ignore[misc]
        partitions = sum(part.partitions for part in covered.parts)
        figures.append(
            Figure(case.label, taken, f"{partitions:,} partitions in {_runs(case, covered.missing):,} ranges")
        )
        enumerate_all = naive_cover if case.enumerated else shortest_path
        slow = seconds(lambda case=case, run=enumerate_all: run(case.target, case.candidates))  # type: ignore[misc]
        name = "enumeration" if case.enumerated else "shortest path over all partitions"
        figures.append(Figure(f"— {name}", slow, f"the cover takes {ratio(slow, taken)} less"))
    figures += _five_years()
    for label, periods in (("no weeks", NESTED), ("weeks, too", (*NESTED, WEEKLY))):
        candidates = [_has(period) for period in periods]
        single, hundred = (
            seconds(lambda years=years, c=candidates: cover(_ragged(years), c), REPEAT)  # type: ignore[misc]
            for years in (1, 100)
        )
        figures.append(Figure(f"100 years, complete, {label}", hundred, f"{hundred / single:.2f}× of 1 year"))
    return Table("The cover", tuple(figures))


def _five_years() -> Iterator[Figure]:
    """Measures five years of hours with 1,000 holes: the cover, and SQLMesh's function for the same question."""
    start, end = parse_instant("2015"), parse_instant("2020")
    first, stop = HOURLY.ordinal(start), HOURLY.ordinal(end)
    timeline = RangesPartitionTimeline([OrdinalRange(first, stop)])
    timeline.drop_all(Random(0).sample(range(first, stop), 1000))
    target, candidates = RangeSet.of(TimeRange(start, end)), [Candidate("f", "s", "t", HOURLY, timeline)]
    taken = seconds(lambda: cover(target, candidates), REPEAT)
    yield Figure("5 years of hours with 1,000 random holes", taken, f"{timeline.count:,} partitions")
    present = [(HOURLY.start(stretch.start), HOURLY.start(stretch.end)) for stretch in timeline.ranges()]
    gaps = missing_hours(start, end, present)
    if gaps is not None:
        slow, missing = gaps
        assert missing == stop - first - timeline.count
        yield Figure("— SQLMesh's compute_missing_intervals", slow, f"the cover takes {ratio(slow, taken)} less")


def _cases() -> Iterator[_Case]:
    every = [_has(period) for period in NESTED]
    weeks = [*every, _has(WEEKLY)]
    priced = [replace(candidate, cost=BYTES[candidate.period]) for candidate in weeks if candidate.period in BYTES]
    seed = _between("2015-01-29T06", "2015-03-01T06")
    yield _Case("the seed's range, months, days and hours", seed, [_has(p) for p in (MONTHLY, DAILY, HOURLY)])
    yield _Case("the seed's range, hours only", seed, [_has(HOURLY)])
    yield _Case("10 years, all periods but weeks, complete", _ragged(10), every)
    yield _Case("10 years, hours only, complete", _ragged(10), [_has(HOURLY)])
    holed = _has(HOURLY)
    first = HOURLY.ordinal(parse_instant("2015"))
    for hour in Random(0).sample(range(8760), 1000):
        holed.timeline.drop(first + hour)
    yield _Case("1 year of hours with 1,000 random holes", _between("2015", "2016"), [holed])
    summer = _between("2015-06-01", "2015-08-03")
    yield _Case("nine weeks, weeks and months only", summer, [_has(WEEKLY), _has(MONTHLY)], enumerated=False)
    without_minutes = [candidate for candidate in weeks if candidate.period is not MINUTELY]
    yield _Case("10 years, weeks and all periods but minutes", _ragged(10), without_minutes, enumerated=False)
    yield _Case("1 year, weeks, costs in bytes", _ragged(1), priced, enumerated=False)


def _has(period: UpdatePeriod) -> Candidate:
    first, stop = (period.ordinal(parse_instant(year)) for year in ("1900", "2100"))
    return Candidate("f", "s", period.name, period, RangesPartitionTimeline([OrdinalRange(first, stop)]))


def _between(start: str, end: str) -> RangeSet:
    return RangeSet.of(TimeRange(parse_instant(start), parse_instant(end)))


def _ragged(years: int) -> RangeSet:
    """Returns a number of whole years, with quarters, months, days and hours at both ends."""
    return _between("1950-02-10T06", f"{1951 + years}-11-05T18")


def _runs(case: _Case, missing: RangeSet) -> int:
    return sum(len(part.ranges) for part in cover(case.target, case.candidates).parts) + len(missing)


def naive_cover(target: RangeSet, candidates: Sequence[Candidate]) -> list[tuple[UpdatePeriod, int]]:
    """Runs seed 000's procedure (its second recursion corrected), one look-up for each partition that it tries."""
    by_size = sorted(candidates, key=lambda candidate: -candidate.period)

    def fill(low: int, high: int, depth: int) -> Iterator[tuple[UpdatePeriod, int]]:
        if low >= high or depth == len(by_size):
            return
        candidate = by_size[depth]
        period = candidate.period
        first, last = period.ceil(low), period.floor(high)
        if first >= last:
            yield from fill(low, high, depth + 1)
            return
        yield from fill(low, first, depth + 1)
        for ordinal in range(period.ordinal(first), period.ordinal(last)):
            if candidate.timeline.exists(ordinal):
                yield period, ordinal
            else:
                yield from fill(period.start(ordinal), period.end(ordinal), depth + 1)
        yield from fill(last, high, depth + 1)

    return [part for stretch in target for part in fill(stretch.start, stretch.end, 0)]


def shortest_path(target: RangeSet, candidates: Sequence[Candidate]) -> tuple[int, int, int]:
    """Returns the least (missing, cost, partitions), with a step for each partition inside the target."""
    total = (0, 0, 0)
    for stretch in target:
        leaving: dict[int, list[tuple[int, int]]] = {stretch.start: [], stretch.end: []}
        for candidate in candidates:
            period = candidate.period
            for run in candidate.timeline.covered(
                OrdinalRange(period.ordinal(stretch.start), period.ordinal(stretch.end) + 1)
            ):
                for ordinal in range(run.start, run.end):
                    start, end = period.start(ordinal), period.end(ordinal)
                    if stretch.start <= start and end <= stretch.end:
                        leaving.setdefault(start, []).append((end, candidate.cost))
                        leaving.setdefault(end, [])
        nodes = sorted(leaving)
        best = {stretch.end: total}
        for here, following in zip(nodes[-2::-1], nodes[:0:-1], strict=True):
            missing, cost, partitions = best[following]
            options = [(missing + following - here, cost, partitions)]
            options += [(best[end][0], best[end][1] + price, best[end][2] + 1) for end, price in leaving[here]]
            best[here] = min(options)
        total = best[stretch.start]
    return total
