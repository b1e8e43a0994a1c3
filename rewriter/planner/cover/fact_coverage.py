"""The coverage of one fact: its candidates by state, the cover of a time range by them, and which time queries can read
now. Reads timelines only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import snapped, touched
from rewriter.planner.cover.cover import Candidate, Costs, costs, cover_by_scans, extent
from rewriter.planner.cover.open_ends import close_ends, promised, widened
from rewriter.planner.cover.validity import cut, window
from rewriter.planner.model.coverage_chart import joined_periods, overlapping
from rewriter.timeline.calendars import Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, StorageTable
    from rewriter.planner.model.plan import CoverPart, Settings
    from rewriter.planner.scope.blocks import CatalogReader

#: Reads the timeline of (storage table, period, time dimension).
TimelineReader = Callable[[str, Period, str], PartitionTimeline]


#: The state of what exists and no query may use, by SET.
_EXCLUDED = "excluded by rewriter.periods"


@dataclass(frozen=True)
class UnusedTime:
    """Time that no cover has, though partitions of it exist. ``state`` says why they are not used."""

    state: str
    table: str
    period: Period
    partitions: int
    time: TimeRange


@dataclass(frozen=True)
class CoveredTime:
    """The cover of a fact's time: the parts taken, the time that exists and is not used, and the time without any
    partition.
    """

    parts: tuple[CoverPart, ...]
    unused: tuple[UnusedTime, ...]
    missing: RangeSet


class Readable(Enum):
    """The part of a time that the queries over a fact can read now."""

    #: Every query: base partitions hold all of it, which are fresh and have all columns of the fact.
    WHOLE = "whole"
    #: Some queries: those of a part of it, of longer periods, or of fewer columns.
    PARTLY = "partly"
    #: No query: no partition that a query may use holds any of it.
    NOT = "not"


@dataclass(frozen=True)
class Gap:
    """Time of one reason that not every query can read: ``PARTLY`` or ``NOT``. ``reason`` is a text, as ``dropped; only
    DAILY periods of days``.
    """

    time: TimeRange
    readable: Readable
    reason: str


@dataclass(frozen=True)
class Readiness:
    """The time of a fact that queries can read now. ``asked`` is the time of a query over all time, in whole base
    periods.

    ``whole`` is the time that every query can read, and ``gaps`` are the rest of ``asked``, in order.
    """

    asked: RangeSet
    whole: RangeSet
    gaps: tuple[Gap, ...]

    @cached_property
    def partly(self) -> RangeSet:
        """The time that only some queries can read."""
        return RangeSet(gap.time for gap in self.gaps if gap.readable is Readable.PARTLY)

    def readable(self, time: TimeRange | None = None) -> Readable | None:
        """Returns how much of a time can be read, or of all; ``None`` where no query over all time would ask for any.

        O(log ranges + ranges in the time).
        """
        asked, whole, partly = self.asked, self.whole, self.partly
        if time is not None:
            part = RangeSet.of(time)
            asked, whole, partly = asked & part, whole & part, partly & part
        if not asked:
            return None
        if whole == asked:
            return Readable.WHOLE
        return Readable.PARTLY if whole or partly else Readable.NOT

    def gaps_in(self, time: TimeRange) -> tuple[Gap, ...]:
        """Returns the gaps that share time with a range, uncut. O(log gaps + gaps in the time)."""
        first = bisect_right(self.gaps, time.start, key=lambda gap: gap.time.end)
        last = bisect_left(self.gaps, time.end, key=lambda gap: gap.time.start)
        return self.gaps[first:last]


@dataclass(frozen=True)
class FactCoverage:
    """The partitions of a fact in one snapshot, as a query with these settings would use them."""

    fact: Fact
    reader: CatalogReader
    settings: Settings

    @cached_property
    def fresh(self) -> list[Candidate]:
        """The candidates that queries may use."""
        return self._candidates(self.reader.timeline)

    @cached_property
    def unused(self) -> Mapping[str, list[Candidate]]:
        """The candidates that exist and that no query uses, by their state, but for the ones that streams fill."""
        readers = {
            "outdated": self.reader.outdated,
            "incomplete": self.reader.incomplete,
            "unproven": self.reader.unproven,
        }
        return {state: self._candidates(reader) for state, reader in readers.items()}

    @cached_property
    def open(self) -> list[Candidate]:
        """The candidates that streams fill."""
        return self._candidates(self.reader.open)

    @cached_property
    def windows(self) -> list[tuple[Fact, StorageTable, RangeSet]]:
        """The storage tables, each with the time for which it is valid."""
        now = self.settings.now
        return [
            (self.fact, table, window(storage, table, now, self.fact.calendar))
            for storage in self.fact.storages
            for table in storage.tables
        ]

    def extent(self) -> TimeRange | None:
        """Returns the range of a query over all time: the extent of all partitions, and the time that LATENESS
        promises; ``None`` for no time.
        """
        lines = (self.reader.timeline, self.reader.outdated, self.reader.incomplete, self.reader.unproven)
        existing = [candidate for line in lines for candidate in self._unpriced(line)]
        existing_time = widened(extent(existing), self.windows, self.reader)
        promise = promised([self.fact], ((fact, valid) for fact, _, valid in self.windows), self.settings.now)
        ranges = close_ends(RangeSet.ALL, existing_time, promise, ignored_from=None).searched.ranges
        return ranges[0] if ranges else None

    def readiness(self) -> Readiness:
        """Returns which time queries over this fact alone can read now. O(ranges of all timelines · tables)."""
        everything, base = self.extent(), self.fact.base_period
        asked = RangeSet.EMPTY if everything is None else touched(RangeSet.of(everything), base)
        allowed = self.settings.periods
        held_fresh, rollups = self._split(c for c in self.fresh if allowed is None or c.period.kind in allowed)
        excluded = [c for c in self.fresh if allowed is not None and c.period.kind not in allowed]
        states = {_EXCLUDED: excluded, **self.unused, "open": self.open}
        unused = {state: self._split(found) for state, found in states.items()}
        dropped, _ = self._split(self._unpriced(self.reader.retired))
        causes = [(state, _held(candidate)) for state, (held, _) in unused.items() for candidate in held]
        causes += [("dropped", _held(candidate)) for candidate in dropped]
        serving = [(f"only {self._offer(candidate)}", _held(candidate)) for candidate in rollups]
        idle = [
            (f"{candidate.period.name} of {candidate.table} {'is ' * (state != 'open')}{state}", _held(candidate))
            for state, (_, found) in unused.items()
            for candidate in found
        ]
        whole = asked & RangeSet(range_ for candidate in held_fresh for range_ in _held(candidate))
        gaps: list[Gap] = []
        for cause, time in _shares([*causes, ("missing", RangeSet.ALL)], asked - whole):
            for reason, share in _shares([*serving, ("", RangeSet.ALL)], time):
                if reason:
                    gaps += [Gap(range_, Readable.PARTLY, f"{cause}: {reason}") for range_ in share]
                    continue
                for other, rest in _shares([*idle, ("", RangeSet.ALL)], share):
                    gaps += [Gap(range_, Readable.NOT, f"{cause}; {other}" if other else cause) for range_ in rest]
        return Readiness(asked, whole, tuple(sorted(gaps, key=lambda gap: gap.time.start)))

    def _split(self, candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
        """Returns the candidates that hold base rows, and the rollups, the finest first, and of these the widest."""
        tables = {table.table: table for table in self.fact.tables}
        held: list[Candidate] = []
        rollups: list[Candidate] = []
        for candidate in candidates:
            table = tables[candidate.table]
            (held if self.fact.is_base(table, candidate.period) else rollups).append(candidate)
        return held, sorted(rollups, key=lambda rollup: (int(rollup.period), tables[rollup.table].columns is not None))

    def _offer(self, rollup: Candidate) -> str:
        """Returns the queries that a rollup can serve, in words."""
        is_narrow = any(table.table == rollup.table and table.columns is not None for table in self.fact.tables)
        return f"{rollup.period.name} periods{' and the columns' * is_narrow} of {rollup.table}"

    def over(self, requested: RangeSet) -> CoveredTime:
        """Returns the cover of a closed range, which is first aligned to base periods. Costs what ``cover`` costs."""
        base = self.fact.base_period
        scan_cost = self._priced(self.fresh).of_scan
        covered = cover_by_scans((touched if self.fact.is_raw else snapped)(requested, base), self.fresh, scan_cost)
        missing = covered.missing
        unused: list[UnusedTime] = []
        for state, candidates in {**self.unused, "open": self.open}.items():
            existing = [candidate for candidate in candidates if not candidate.timeline.is_empty]
            for candidate in sorted(existing, key=lambda candidate: -int(candidate.period)):
                parts = list(_found(state, candidate, missing))
                unused += parts
                missing = missing - RangeSet(part.time for part in parts)
        return CoveredTime(covered.parts, tuple(unused), missing)

    def _candidates(self, line: TimelineReader) -> list[Candidate]:
        """Returns the candidates, as ``line`` gives them, in their windows of validity."""
        candidates = self._unpriced(line)
        priced = self._priced(candidates)
        return [
            replace(candidate, cost=priced.of_partition(candidate.table, candidate.period)) for candidate in candidates
        ]

    def _priced(self, candidates: Sequence[Candidate]) -> Costs:
        """Returns the costs of those that have partitions."""
        existing = [(candidate.table, candidate.period) for candidate in candidates if not candidate.timeline.is_empty]
        return costs(existing, self.reader, self.settings)

    def _unpriced(self, line: TimelineReader) -> list[Candidate]:
        """Returns the candidates without their costs."""
        candidates = []
        for storage in self.fact.storages:
            for table in storage.tables:
                valid = window(storage, table, self.settings.now, self.fact.calendar)
                for period in table.layouts:
                    line_there = cut(line(table.table, period, table.time), period, valid)
                    is_raw = table.raw is not None
                    candidates.append(
                        Candidate(self.fact.name, storage.name, table.table, period, line_there, events=is_raw)
                    )
        return candidates


def instants(period: Period, ordinals: OrdinalRange) -> TimeRange:
    """Returns the time of a range of periods."""
    return TimeRange(period.start(ordinals.start), period.start(ordinals.end))


def _held(candidate: Candidate) -> RangeSet:
    """Returns the time of the periods of a candidate."""
    return joined_periods(candidate.period, candidate.timeline.ranges())


def _shares(parts: Iterable[tuple[str, RangeSet]], time: RangeSet) -> Iterator[tuple[str, RangeSet]]:
    """Yields what each part has of a time that no part before it has; nothing for the others."""
    for text, part in parts:
        if share := part & time:
            time -= share
            yield text, share


def _found(state: str, candidate: Candidate, gaps: RangeSet) -> Iterator[UnusedTime]:
    """Yields what a candidate has of the gaps."""
    for gap in gaps:
        for ordinals in candidate.timeline.covered(overlapping(candidate.period, gap)):
            for time in RangeSet.of(instants(candidate.period, ordinals)) & RangeSet.of(gap):
                yield UnusedTime(state, candidate.table, candidate.period, len(ordinals), time)
