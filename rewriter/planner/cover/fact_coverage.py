"""The coverage of one fact: its candidates by state, and the cover of a time range by them. Reads timelines only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import snapped, touched
from rewriter.planner.cover.cover import Candidate, costs, cover, extent
from rewriter.planner.cover.open_ends import close_ends, promised, widened
from rewriter.planner.cover.validity import cut, window
from rewriter.planner.model.coverage_chart import overlapping
from rewriter.timeline.calendars import Period
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Fact, StorageTable
    from rewriter.planner.model.plan import CoverPart, Settings
    from rewriter.planner.scope.blocks import CatalogReader

#: Reads the timeline of (storage table, period, time dimension).
TimelineReader = Callable[[str, Period, str], PartitionTimeline]


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

    def over(self, requested: RangeSet) -> CoveredTime:
        """Returns the cover of a closed range, which is first aligned to base periods. Costs what ``cover`` costs."""
        base = self.fact.base_period
        covered = cover((touched if self.fact.is_raw else snapped)(requested, base), self.fresh)
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
        existing = [(candidate.table, candidate.period) for candidate in candidates if not candidate.timeline.is_empty]
        priced = costs(existing, self.reader, by_bytes=self.settings.cost_in_bytes)
        return [
            replace(candidate, cost=priced.of_partition(candidate.table, candidate.period)) for candidate in candidates
        ]

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


def _found(state: str, candidate: Candidate, gaps: RangeSet) -> Iterator[UnusedTime]:
    """Yields what a candidate has of the gaps."""
    for gap in gaps:
        for ordinals in candidate.timeline.covered(overlapping(candidate.period, gap)):
            for time in RangeSet.of(instants(candidate.period, ordinals)) & RangeSet.of(gap):
                yield UnusedTime(state, candidate.table, candidate.period, len(ordinals), time)
