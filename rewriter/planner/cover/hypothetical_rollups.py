"""What queries would read if a cube had other rollups: the planner's own choice over a catalog that has them.

A hypothetical rollup is a table of a fact that does not exist, with every period that its base has as a whole. A query
is a need (``model.rollup_needs``), placed at the newest time of the data. ``rows_read`` lets ``choose_facts.choose``
plan it, so it is the planner that decides which rollups serve. ``CostModel`` computes the same from parts, because a
search asks for thousands of sets: which candidates may serve a need comes from ``choose_facts.allowed_sources``, and
how many partitions of each period a cover takes from ``cover.cover``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.objects import Cube, Fact, StorageTable
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import Choice, Demand, allowed_sources, choose, snapped, touched
from rewriter.planner.cover.cover import Candidate, cover
from rewriter.planner.cover.stored_measures import rounding_tables
from rewriter.planner.cover.validity import cut, window
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

if TYPE_CHECKING:
    from rewriter.planner.cover.sources import Source
    from rewriter.planner.model.plan import Settings
    from rewriter.planner.model.rollup_needs import RollupNeed
    from rewriter.planner.scope.blocks import CatalogReader
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.ranges import RangeSet, TimeRange

_TIMELINES = ("timeline", "outdated", "unproven", "incomplete", "open")
#: More than there are different timelines.
_TOKENS = 1_000_000
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
        measures = cube.measures_over(self.dimensions, fact.columns)
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
    """A candidate that may serve: its table, the periods that it has, the mean rows of its partitions, and its rank
    among those of its period, by bytes and dimensions: the least is read. ``token`` stands for the period and for the
    periods that it has. ``alone`` says that no other one of the
    period may serve.
    """

    table: str
    period: Period
    rank: tuple[float, int]
    rows: float
    line: PartitionTimeline = field(compare=False, hash=False)
    token: int
    alone: bool = True

    @property
    def tie_rank(self) -> tuple[float, int]:
        """The rank among covers of equal cost (``choose_facts._row_ranks``): alone, no bytes are asked for."""
        return (0.0, self.rank[1]) if self.alone else self.rank


#: The table that is read of each period.
Available = Mapping["Period", Serving]


@dataclass
class NeedClass:
    """The needs for which the same tables may serve: how many queries have them, their ranges, how often all queries
    have each range, and the tables that exist and the candidates, by number, that may serve.
    """

    queries: float = 0.0
    needs_base: bool = False
    ranges: dict[RangeSet, float] = field(default_factory=dict)
    existing: list[Serving] = field(default_factory=list)
    bases: list[Serving] = field(default_factory=list)
    served_by: dict[int, Serving] = field(default_factory=dict)


class CostModel:
    """The rows that needs read under any set of the candidates, from precomputed parts.

    A cover takes the fewest partitions, so which periods are there decides how many partitions of each it takes; of
    the tables of one period it reads the one with the smallest partitions. Both are the planner's rules. The results
    are those of ``AdvisedCube.rows_read``, except where partitions are missing in a table that has the smallest of its
    period, and another table of that period has them.
    """

    def __init__(
        self, cube: AdvisedCube, needs: Sequence[tuple[RollupNeed, float]], rollups: Sequence[HypotheticalRollup]
    ) -> None:
        """``needs`` come with how many queries have each; ``rollups`` are the candidates, by number."""
        self.rollups = rollups
        self._cube = cube
        self._is_raw = any(fact.is_raw for fact in cube.facts)
        self._line_numbers: dict[int, int] = {}
        self._taken_of: dict[tuple[RangeSet, tuple[int, ...]], dict[Period, int]] = {}
        self._lines: dict[tuple[str, Period], PartitionTimeline] = {}
        self._slots: dict[tuple[int, tuple[int, ...]], dict[Period, float]] = {}
        classes: dict[object, NeedClass] = {}
        self._numbers = {rollup.table: number for number, rollup in enumerate(rollups)}
        self._by_period: dict[tuple[str, Period], list[HypotheticalRollup]] = {}
        for rollup in rollups:
            self._by_period.setdefault((rollup.fact, rollup.period), []).append(rollup)
        # Weeks do not nest in months: there a range decides whether a longer period may serve.
        by_range = any(fact.base_period.kind is UpdatePeriod.WEEKLY for fact in cube.facts)
        for need, weight in needs:
            demands = cube.demands(need)
            if demands:
                columns = demands[0][0].columns
                key = columns, need.units, need.needs_base, need.shapes if by_range else None
                if key not in classes:
                    classes[key] = self._class_of(demands[0][0], need.needs_base)
                each = classes[key]
                each.queries += weight
                for demand, times in demands:
                    each.ranges[demand.requested] = each.ranges.get(demand.requested, 0.0) + times * weight
        self.classes = list(classes.values())
        #: For each candidate, the classes that it may serve.
        self.classes_of: list[list[int]] = [[] for _ in rollups]
        for index, each in enumerate(self.classes):
            for number in each.served_by:
                self.classes_of[number].append(index)
        #: The rows that all queries would read of base rows alone, where a rollup may serve.
        self.base_rows = sum(
            self.class_rows(index, _least(each.bases)) for index, each in enumerate(self.classes) if not each.needs_base
        )

    def _class_of(self, demand: Demand, needs_base: bool) -> NeedClass:
        """Returns a class without queries. The planner judges one rollup of each fact and period, which has the
        dimensions of the demand; those with more dimensions may serve, too.
        """
        need_class = NeedClass(needs_base=needs_base)
        dimensions = tuple(d.name for d in self._cube.cube.dimensions if d.name in demand.columns)
        judged = [replace(rollups[0], dimensions=dimensions) for rollups in self._by_period.values()]
        numbers = {each.table: (each.fact, each.period) for each in judged}
        facts = with_rollups(self._cube.facts, judged, self._cube.cube)
        for source in allowed_sources(demand, facts, self._cube.settings):
            fact_and_period = numbers.get(source.storage_table.table)
            if fact_and_period is not None:
                for rollup in self._by_period[fact_and_period]:
                    if set(dimensions) <= set(rollup.dimensions):
                        rank = (rollup.bytes, len(rollup.dimensions))
                        serving = self._serving(rollup.table, rollup.period, rank, rollup.rows, rollup.timeline)
                        need_class.served_by[self._numbers[rollup.table]] = serving
            elif (stored := self._stored(source)) is not None:
                need_class.existing.append(stored)
                if source.is_base:
                    need_class.bases.append(stored)
        return need_class

    def _stored(self, source: Source) -> Serving | None:
        table, period = source.storage_table.table, source.period
        line = self._lines.get((table, period))
        if line is None:
            line = self._cube.reader.timeline(table, period, source.storage_table.time)
            valid = window(source.storage, source.storage_table, self._cube.settings.now, source.fact.calendar)
            line = self._lines[table, period] = cut(line, period, valid)
        rows = self._cube.rows.get((table, period.kind))
        if line.is_empty or rows is None:
            return None
        own = source.fact.columns_of(source.storage_table)
        count = sum(own is None or dimension.name in own for dimension in self._cube.cube.dimensions)
        size = self._cube.reader.mean_bytes(table, period)
        return self._serving(table, period, (float("inf") if size is None else size, count), rows, line)

    def _serving(
        self, table: str, period: Period, rank: tuple[float, int], rows: float, line: PartitionTimeline
    ) -> Serving:
        number = self._line_numbers.setdefault(id(line), len(self._line_numbers))
        return Serving(table, period, rank, rows, line, int(period) * _TOKENS + number)

    def class_rows(self, index: int, available: Available) -> float:
        """Returns the rows that the queries of a class read of the tables that serve them."""
        slots = self.slots(index, available)
        return sum(count * available[period].rows for period, count in slots.items())

    def chosen(self, index: int, numbers: Iterable[int], without: Collection[str] = ()) -> dict[Period, Serving]:
        """Returns the table of each period that a class reads, if these candidates exist, and some tables do not."""
        each = self.classes[index]
        added = (each.served_by[number] for number in numbers if number in each.served_by)
        return _least([*(serving for serving in each.existing if serving.table not in without), *added])

    def changed(self, index: int, available: Available, number: int) -> Available | None:
        """Returns what ``chosen`` returns after one more candidate; ``None`` if its table is not read."""
        serving = self.classes[index].served_by[number]
        serving_now = available.get(serving.period)
        if serving_now is not None and serving_now.rank <= serving.rank:
            return None
        return {**available, serving.period: serving if serving_now is None else replace(serving, alone=False)}

    def total(self, numbers: Iterable[int]) -> float:
        """Returns the rows that all queries read, if these candidates exist."""
        chosen = tuple(numbers)
        return sum(self.class_rows(index, self.chosen(index, chosen)) for index in range(len(self.classes)))

    def slots(self, index: int, available: Available) -> Mapping[Period, float]:
        """Returns how many partitions of each period the queries of a class read together."""
        tokens = tuple(sorted([serving.token for serving in available.values()]))
        if any(token // _TOKENS == UpdatePeriod.WEEKLY for token in tokens):
            # Weeks and months may cost the same, and then the ranks decide.
            ranked = sorted(available.values(), key=lambda serving: (serving.tie_rank, serving.token))
            tokens = tuple(serving.token for serving in ranked)
        slots = self._slots.get((index, tokens))
        if slots is None:
            by_token = {serving.token: serving for serving in available.values()}
            servings = [by_token[token] for token in tokens]
            slots = self._slots[index, tokens] = {}
            for requested, weight in self.classes[index].ranges.items():
                taken = self._taken_of.get((requested, tokens))
                if taken is None:
                    taken = self._taken_of[requested, tokens] = self._taken(requested, servings)
                for period, count in taken.items():
                    slots[period] = slots.get(period, 0.0) + weight * count
        return slots

    def _taken(self, requested: RangeSet, servings: Sequence[Serving]) -> dict[Period, int]:
        """Returns how many partitions of each table a cover of a range takes."""
        finest = min((serving.period for serving in servings), default=None)
        # Events of a base partition that the range cuts are read, and its rollup is not.
        candidates = [
            Candidate(
                "",
                "",
                serving.period.name,
                serving.period,
                cut(serving.line, serving.period, requested)
                if self._is_raw and serving.period is not finest
                else serving.line,
                row_rank=rank,
            )
            for rank, serving in enumerate(servings)
        ]
        whole = touched if self._is_raw else snapped
        parts = cover(requested if finest is None else whole(requested, finest), candidates).parts
        return {part.period: part.partitions for part in parts}


def _least(servings: Iterable[Serving]) -> dict[Period, Serving]:
    """Returns the candidate of each period that is read."""
    available: dict[Period, Serving] = {}
    for serving in servings:
        serving_now = available.get(serving.period)
        if serving_now is not None:
            serving = replace(serving if serving.rank < serving_now.rank else serving_now, alone=False)
        available[serving.period] = serving
    return available


def whole_time(period: Period, time: RangeSet) -> PartitionTimeline:
    """Returns the periods that lie wholly in some time."""
    bounds = ((period.ordinal(range_.start - 1) + 1, period.ordinal(range_.end)) for range_ in time)
    return RangesPartitionTimeline(OrdinalRange(start, end) for start, end in bounds if start < end)
