"""Covering a set of time ranges by the partitions that exist (seed 000).

The periods admitted form a chain, MINUTELY ⊂ HOURLY ⊂ DAILY ⊂ MONTHLY ⊂ QUARTERLY ⊂ YEARLY, each nesting in the next.
``cover`` goes down the chain and takes, of each period, all that exists and lies wholly inside what is still
uncovered.

Why that is optimal. Call a *slot* one period of one kind that some candidate has and that lies wholly inside one
target range. Because the chain nests, two slots are disjoint or one contains the other. Call a slot *maximal* if no
other slot contains it.

1. The maximal slots are disjoint, and every slot lies in one of them. Their union is all that any cover can reach,
   so what they leave is the least that can be missing, and it is the same instants in every such cover.
2. ``cover`` takes exactly the maximal slots. When it comes to the period of a maximal slot, only coarser slots have
   been taken; none contains it, so none meets it, and it lies wholly uncovered. A slot that is not maximal lies in a
   coarser maximal one, which has been taken before.
3. A disjoint cover that reaches as much must fill each maximal slot, and only by slots inside it: one at least. Taking
   the maximal slot itself is exactly one, and any other filling is more. So the fewest partitions are these slots, and
   no other choice has as few.
4. What remains open is which candidate serves a slot; slots are independent, so the lowest (weight, fact, storage,
   table) for each is the least sum of weights, and then the first by name.

Weeks nest in no month, so step 1 fails with them: WEEKLY is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rewriter.errors import NotSupportedError
from rewriter.planner.plan import CoverPart
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timelines import OrdinalRange, PartitionTimeline

#: The periods that ``cover`` admits, fine to coarse; each nests in the next.
CHAIN = (
    UpdatePeriod.MINUTELY,
    UpdatePeriod.HOURLY,
    UpdatePeriod.DAILY,
    UpdatePeriod.MONTHLY,
    UpdatePeriod.QUARTERLY,
    UpdatePeriod.YEARLY,
)


@dataclass(frozen=True)
class Candidate:
    """One (storage table, period) that may serve, with the periods that exist there. ``weight`` is its fact's."""

    fact: str
    storage: str
    table: str
    period: UpdatePeriod
    timeline: PartitionTimeline = field(hash=False)
    weight: int = 0


@dataclass(frozen=True)
class Cover:
    """The partitions that answer a target, and what of it none can answer.

    ``parts`` come coarse to fine, then by (weight, fact, storage, table); no two share an instant, a part without
    partitions does not occur. Together with ``missing`` they are the target exactly.
    """

    parts: tuple[CoverPart, ...]
    missing: RangeSet


def cover(target: RangeSet, candidates: Sequence[Candidate]) -> Cover:
    """The best cover of ``target``: least missing, then fewest partitions, lowest weight, name (proof above).

    A period that sticks out of its target range is not used; what no candidate can cover is ``missing``, to the
    microsecond. Align the target to the base period first, and bound open ends by ``extent``.
    Raises ``NotSupportedError`` for a WEEKLY candidate.

    Cost: for each candidate one look-up per stretch still uncovered, and what the cover answers. The number of
    partitions does not matter, nor do ranges of a timeline where coarser periods cover already.
    """
    ranked = sorted(candidates, key=_rank)
    uncovered = [(r.start, r.end) for r in target]
    parts: list[CoverPart] = []
    for candidate in ranked:
        taken, uncovered = _take(candidate, uncovered)
        if taken:
            parts.append(CoverPart(candidate.fact, candidate.storage, candidate.table, candidate.period, tuple(taken)))
    return Cover(tuple(parts), RangeSet(TimeRange(start, end) for start, end in uncovered))


def extent(candidates: Sequence[Candidate]) -> TimeRange | None:
    """From the first instant that any candidate has to the last; ``None`` where none has anything. O(candidates)."""
    starts: list[int] = []
    ends: list[int] = []
    for candidate in candidates:
        first, latest = candidate.timeline.first, candidate.timeline.latest
        if first is not None and latest is not None:
            starts.append(candidate.period.start(first))
            ends.append(candidate.period.end(latest))
    return TimeRange(min(starts), max(ends)) if starts else None


def _rank(candidate: Candidate) -> tuple[int, int, str, str, str]:
    """Coarse before fine, then cheap before dear, then by name."""
    if candidate.period not in CHAIN:
        raise NotSupportedError(
            f"{candidate.period.name} partitions of {candidate.table} cannot take part in a cover",
            condition="UNSUPPORTED_UPDATE_PERIOD",
            object=candidate.table,
            hint="weeks straddle months; declare " + ", ".join(period.name for period in CHAIN),
        )
    return -candidate.period, candidate.weight, candidate.fact, candidate.storage, candidate.table


def _take(candidate: Candidate, uncovered: list[tuple[int, int]]) -> tuple[list[OrdinalRange], list[tuple[int, int]]]:
    """All that the candidate has wholly inside the uncovered stretches, and the stretches that remain."""
    period = candidate.period
    taken: list[OrdinalRange] = []
    remaining: list[tuple[int, int]] = []
    for start, end in uncovered:
        position = start
        for run in _available(candidate, start, end):
            taken.append(run)
            run_start = period.start(run.start)
            if position < run_start:
                remaining.append((position, run_start))
            position = period.start(run.end)
        if position < end:
            remaining.append((position, end))
    return taken, remaining


def _available(candidate: Candidate, start: int, end: int) -> tuple[OrdinalRange, ...]:
    """What the candidate has of the periods that lie wholly in ``[start, end)``."""
    period = candidate.period
    first = period.ordinal(start)
    if period.start(first) < start:
        first += 1
    # The period that contains the end is not whole; where the end is its start, the one before is the last.
    stop = period.ordinal(end)
    return candidate.timeline.covered(OrdinalRange(first, stop)) if first < stop else ()
