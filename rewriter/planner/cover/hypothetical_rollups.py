"""What queries would read if a cube had other rollups: the planner's own choice over a catalog that has them.

A hypothetical rollup is a table of a fact that does not exist, with every period that its base has as a whole. A query
is a need (``model.rollup_needs``), placed at the newest time of the data. ``rows_read`` lets ``choose_facts.choose``
plan it, so it is the planner that decides which rollups serve. ``CostModel`` computes the same from parts, because a
search asks for thousands of sets: which candidates may serve a need comes from ``choose_facts.allowed_sources``, and
how many partitions of each period a cover takes from ``cover.cover``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.objects import Cube, Fact, StorageTable
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import Choice, Demand, allowed_sources, choose, snapped, touched
from rewriter.planner.cover.cover import Candidate, cover
from rewriter.planner.cover.stored_measures import rounding_tables
from rewriter.planner.cover.validity import cut
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.planner.cover.sources import Source
    from rewriter.planner.model.plan import Settings
    from rewriter.planner.model.rollup_needs import RollupNeed
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Period

_TIMELINES = ("timeline", "outdated", "unproven", "incomplete", "open")
#: The key of the periods of a table: its name, and the kind of its periods.
TableKey = tuple[str, UpdatePeriod]


@dataclass(frozen=True)
class HypotheticalRollup:
    """A rollup of a fact: the period and the dimensions of ADD ROLLUP, in the cube's order. ``rows`` and ``bytes`` are
    of one partition on average, ``timeline`` the periods that it would have.
    """

    fact: str
    period: Period
    dimensions: tuple[str, ...]
    rows: float
    bytes: float
    timeline: PartitionTimeline = field(compare=False, hash=False)

    @property
    def table(self) -> str:
        """The name of its table. No table has such a name."""
        return f"{self.fact}:{self.period.name}({','.join(self.dimensions)})"

    @property
    def total_bytes(self) -> float:
        return self.bytes * self.timeline.count

    def storage_table(self, fact: Fact, cube: Cube) -> StorageTable:
        measures = [m.name for m in cube.measures if fact.columns is None or m.name in fact.columns]
        layout = TimeLayout.of(self.period.kind, [("dt", None)])
        columns = (*self.dimensions, *measures)
        return StorageTable(self.table, cube.times[0], {self.period: layout}, columns=columns, made=True)


def with_rollups(
    facts: Sequence[Fact], rollups: Iterable[HypotheticalRollup], cube: Cube, without: Iterable[str] = ()
) -> tuple[Fact, ...]:
    """Returns facts with hypothetical rollups in their first storages, and without some tables."""
    removed = {name.lower() for name in without}
    added = list(rollups)
    changed = []
    for fact in facts:
        storages = [
            replace(storage, tables=tuple(t for t in storage.tables if t.table.lower() not in removed))
            for storage in fact.storages
        ]
        own = tuple(rollup.storage_table(fact, cube) for rollup in added if rollup.fact == fact.name)
        storages[0] = replace(storages[0], tables=(*storages[0].tables, *own))
        changed.append(replace(fact, storages=tuple(storage for storage in storages if storage.tables)))
    return tuple(changed)


class HypotheticalReader:
    """Reads the catalog as if it had the rollups."""

    def __init__(self, reader: CatalogReader, rollups: Iterable[HypotheticalRollup]) -> None:
        self._reader = reader
        self._rollups = {rollup.table: rollup for rollup in rollups}
        for name in _TIMELINES:
            setattr(self, name, self._line_reader(name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def _line_reader(self, name: str) -> Any:
        def line(table_name: str, period: Period, time_dimension: str) -> PartitionTimeline:
            rollup = self._rollups.get(table_name)
            if rollup is None:
                existing: PartitionTimeline = getattr(self._reader, name)(table_name, period, time_dimension)
                return existing
            return rollup.timeline if name == "timeline" else RangesPartitionTimeline()

        return line

    def mean_bytes(self, table_name: str, period: Period) -> int | None:
        """Returns the mean bytes of one period in a storage table, rounded up; ``None`` if they are unknown."""
        rollup = self._rollups.get(table_name)
        return self._reader.mean_bytes(table_name, period) if rollup is None else max(1, round(rollup.bytes))


@dataclass(frozen=True)
class AdvisedCube:
    """A cube with its facts, the time of its data, and the mean rows of a partition of each table and period."""

    cube: Cube
    facts: tuple[Fact, ...]
    extent: TimeRange
    rows: Mapping[TableKey, float]
    reader: CatalogReader
    settings: Settings

    def demands(self, need: RollupNeed) -> list[tuple[Demand, float]]:
        """Returns the demands of a need, placed at the newest time, and how often the query has each."""
        columns = tuple(name for name in self.cube.column_order if name.lower() in need.columns)
        others = self.cube.times[1:]
        rounded = frozenset(rounding_tables(self.cube, self.facts, self.reader, columns))
        return [
            (
                Demand(
                    requested,
                    exact_ranges=(),
                    columns=tuple(name for name in columns if name not in others),
                    units=frozenset(need.units),
                    additive=not need.needs_base,
                    raw=need.needs_base,
                    bounded=True,
                    rounded=rounded,
                ),
                times,
            )
            for requested, times in need.requested(self.extent, self.cube.calendar)
        ]

    def rows_read(
        self, need: RollupNeed, rollups: Sequence[HypotheticalRollup] = (), without: Iterable[str] = ()
    ) -> tuple[float, frozenset[str]]:
        """Returns the rows that the planner reads for a need if the cube has these rollups, and has not some of its
        tables; and the tables that it reads. One choice of facts for each shape of the need.
        """
        facts = with_rollups(self.facts, rollups, self.cube, without)
        reader: Any = HypotheticalReader(self.reader, rollups) if rollups else self.reader
        means = {**self.rows, **{(r.table, r.period.kind): r.rows for r in rollups}}
        rows, tables = 0.0, set[str]()
        for demand, times in self.demands(need):
            choice = choose(demand, facts, reader, self.settings)
            if choice is not None:
                rows += times * _rows_of(choice, means)
                tables.update(part.table for part in choice.cover.parts)
        return rows, frozenset(tables)


def _rows_of(choice: Choice, means: Mapping[TableKey, float]) -> float:
    """Returns the rows of a cover, from the mean rows of a partition of each table and period."""
    return sum(part.partitions * means.get((part.table, part.period.kind), 0.0) for part in choice.cover.parts)


@dataclass(frozen=True)
class Serving:
    """A candidate that may serve a need: the mean rows of its partitions, and its rank among those of its period, by
    bytes and dimensions: the least is read. ``alone`` says that no other one of the period may serve.
    """

    period: Period
    rank: tuple[float, int]
    rows: float
    alone: bool = True

    @property
    def tie_rank(self) -> tuple[float, int]:
        """The rank among covers of equal cost (``choose_facts._row_ranks``): alone, no bytes are asked for."""
        return (0.0, self.rank[1]) if self.alone else self.rank


class CostModel:
    """The rows that needs read under any set of the candidates, from precomputed parts.

    A cover takes the fewest partitions, so which periods are there decides how many partitions of each it takes; of
    the tables of one period it reads the one with the smallest partitions. Both are the planner's rules, and the
    results are those of ``AdvisedCube.rows_read`` where the tables that exist have every period of their time.
    """

    def __init__(
        self, cube: AdvisedCube, needs: Sequence[tuple[RollupNeed, float]], rollups: Sequence[HypotheticalRollup]
    ) -> None:
        """``needs`` come with how many queries have each; ``rollups`` are the candidates, by number."""
        self.rollups = rollups
        self._slots: dict[tuple[RangeSet, tuple[Period, ...]], dict[Period, int]] = {}
        self._lines: dict[Period, PartitionTimeline] = {}
        self._cube = cube
        self._is_raw = any(fact.is_raw for fact in cube.facts)
        numbers = {rollup.table: number for number, rollup in enumerate(rollups)}
        facts = with_rollups(cube.facts, rollups, cube.cube)
        dimensions = [d.name for d in cube.cube.dimensions]
        #: For each demand: how many queries have it, its range, the tables that exist, and the candidates that serve.
        self.weights: list[float] = []
        self.ranges: list[RangeSet] = []
        self.existing: list[dict[Period, Serving]] = []
        #: The rows that all queries would read of base rows alone.
        self.base_rows = 0.0
        self.served_by: list[dict[int, Serving]] = []
        for need, weight in needs:
            for demand, times in cube.demands(need):
                existing: dict[Period, Serving] = {}
                bases: dict[Period, Serving] = {}
                served_by: dict[int, Serving] = {}
                for source in allowed_sources(demand, facts, cube.settings):
                    number = numbers.get(source.storage_table.table)
                    if number is not None:
                        rollup = rollups[number]
                        rank = (rollup.bytes, len(rollup.dimensions))
                        served_by[number] = Serving(rollup.period, rank, rollup.rows)
                    elif (serving := self._stored(source, dimensions)) is not None:
                        _keep_least(existing, serving)
                        if source.is_base:
                            _keep_least(bases, serving)
                self.weights.append(weight * times)
                self.ranges.append(demand.requested)
                self.existing.append(existing)
                self.served_by.append(served_by)
                self.base_rows += self.weights[-1] * self.demand_rows(len(self.weights) - 1, bases)
        #: For each candidate, the demands that it may serve.
        self.demands_of: list[list[int]] = [[] for _ in rollups]
        for index, candidates in enumerate(self.served_by):
            for number in candidates:
                self.demands_of[number].append(index)

    def _stored(self, source: Source, dimensions: Sequence[str]) -> Serving | None:
        table, period = source.storage_table.table, source.period
        line = self._cube.reader.timeline(table, period, source.storage_table.time)
        rows = self._cube.rows.get((table, period.kind))
        if line.is_empty or rows is None:
            return None
        own = source.fact.columns_of(source.storage_table)
        count = len(dimensions) if own is None else sum(name in own for name in dimensions)
        size = self._cube.reader.mean_bytes(table, period)
        return Serving(period, (float("inf") if size is None else size, count), rows)

    def demand_rows(self, index: int, available: Mapping[Period, Serving]) -> float:
        """Returns the rows that one demand reads of the tables that serve it, once."""
        slots = self._taken(self.ranges[index], available)
        return sum(count * available[period].rows for period, count in slots.items())

    def chosen(self, index: int, numbers: Iterable[int]) -> dict[Period, Serving]:
        """Returns the table of each period that one demand reads, if these candidates exist."""
        available = dict(self.existing[index])
        for number in numbers:
            serving = self.served_by[index].get(number)
            if serving is not None:
                _keep_least(available, serving)
        return available

    def changed(self, index: int, available: Mapping[Period, Serving], number: int) -> dict[Period, Serving] | None:
        """Returns what ``chosen`` returns after one more candidate; ``None`` if its table is not read."""
        serving = self.served_by[index][number]
        known = available.get(serving.period)
        if known is not None and known.rank <= serving.rank:
            return None
        return {**available, serving.period: serving if known is None else replace(serving, alone=False)}

    def total(self, numbers: Iterable[int]) -> float:
        """Returns the rows that all queries read, if these candidates exist."""
        chosen = tuple(numbers)
        return sum(
            weight * self.demand_rows(index, self.chosen(index, chosen)) for index, weight in enumerate(self.weights)
        )

    def _taken(self, requested: RangeSet, available: Mapping[Period, Serving]) -> dict[Period, int]:
        """Returns how many partitions of each period a cover takes if all of them exist."""
        periods = tuple(sorted(available, key=int))
        if any(period.kind is UpdatePeriod.WEEKLY for period in periods):
            # Weeks and months may cost the same, and then the ranks decide.
            periods = tuple(sorted(periods, key=lambda period: available[period].tie_rank))
        key = requested, periods
        if key not in self._slots:
            finest = min(periods, default=None)
            # Events of a base partition that the range cuts are read, and its rollup is not.
            lines = {
                period: cut(self._line(period), period, requested)
                if self._is_raw and period is not finest
                else self._line(period)
                for period in periods
            }
            candidates = [
                Candidate("", "", period.name, period, line, row_rank=rank)
                for rank, (period, line) in enumerate(lines.items())
            ]
            whole = touched if self._is_raw else snapped
            parts = cover(requested if finest is None else whole(requested, finest), candidates).parts
            self._slots[key] = {part.period: part.partitions for part in parts}
        return self._slots[key]

    def _line(self, period: Period) -> PartitionTimeline:
        if period not in self._lines:
            self._lines[period] = whole_time(period, RangeSet.of(self._cube.extent))
        return self._lines[period]


def whole_time(period: Period, time: RangeSet) -> PartitionTimeline:
    """Returns the periods that lie wholly in some time."""
    bounds = ((period.ordinal(range_.start - 1) + 1, period.ordinal(range_.end)) for range_ in time)
    return RangesPartitionTimeline(OrdinalRange(start, end) for start, end in bounds if start < end)


def _keep_least(available: dict[Period, Serving], serving: Serving) -> None:
    """Adds a candidate to those that are read, one of each period."""
    known = available.get(serving.period)
    if known is not None:
        serving = replace(serving if serving.rank < known.rank else known, alone=False)
    available[serving.period] = serving
