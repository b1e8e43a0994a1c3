"""RECOMMEND ROLLUPS and SHOW ROLLUP USE: which rollups would serve the queries that are run, and which ones do.

The advice rests on needs (``planner.model.rollup_needs``): those of the query log, or of the queries of a file. The
candidates are the rollups of each need, of each period that may serve it, and of unions of needs. The rows of a
candidate are counted in a few of its periods, by one query of the cube for each. Which rollups serve is the planner's
decision (``planner.cover.hypothetical_rollups``), and a search chooses the set (``planner.cover.rollup_search``).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.cancellation import check_cancellation
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.column_statistics import statistics_in
from rewriter.catalog.model.objects import Column, Cube, Fact, StorageTable, seen_from
from rewriter.catalog.store.query_log import LoggedNeed, TablePeriod, logged_needs
from rewriter.errors import AnalysisError, Error, OperationalError, ProgrammingError, Span, shift_position
from rewriter.grammar.families import fact_changes as s
from rewriter.grammar.families.facts import Rollup
from rewriter.grammar.families.queries import Select
from rewriter.grammar.lexer import readable_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unparse import render
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import allowed_sources
from rewriter.planner.cover.hypothetical_rollups import (
    AdvisedCube,
    CostModel,
    HypotheticalRollup,
    TableKey,
    whole_time,
    with_rollups,
)
from rewriter.planner.cover.rollup_search import Limits, find_rollups
from rewriter.planner.model.plan import quote_identifier, quoted
from rewriter.planner.model.rollup_needs import PeriodReads, RollupNeed, reads_of
from rewriter.planner.plan_query import plan_query
from rewriter.planner.text.literals import string_literal
from rewriter.runtime.query_log import without_literals
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.alter_fact import time_held_alone
from rewriter.statements.define.rollups import shown_rollups
from rewriter.statements.maintain.check_fact import complete_base_time
from rewriter.statements.query.select import prepare
from rewriter.statements.resolve.fact_periods import base_periods, stored_periods
from rewriter.statements.resolve.named_objects import named_cube, named_fact
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    import pyarrow as pa

    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.calendars import Period

#: Queries of a file that differ in literals alone: so many are planned, and stand for the others.
_MOST_PLANNED = 5
#: If there are more needs, the lengths of their ranges are rounded, so that fewer of them differ.
_MOST_EXACT_NEEDS = 200
#: How many sets of dimensions of needs are combined by two, and how many sets a period has at most.
_MOST_COMBINED, _MOST_SETS = 16, 48
#: The most rows of the base that the counting of one period reads.
_MOST_SAMPLED_ROWS = 100_000
#: The least bytes of a value of a measure: sums hardly repeat. The bytes that a partition takes in a packed file for
#: each column, and those of the files of a table that has no rows. Measured on several rollups.
_BYTES_OF_MEASURE, _BYTES_OF_COLUMN, _BYTES_OF_TABLE = 3.0, 10, 2_500
#: The most errors of a file that are shown.
_MOST_ERRORS = 20

#: What follows if some queries are unknown.
_NO_DROP = "no rollup is listed with DROP"

#: The dimensions of a rollup, and a number for each.
_Dimensions = frozenset[str]
_Rows = dict[_Dimensions, float]

_ADVICE_COLUMNS = (
    *strings("statement", "reason"),
    *(
        Column(name, "bigint")
        for name in ("queries", "rows_before", "rows_after", "bytes", "build_rows", "build_bytes")
    ),
)
_USE_COLUMNS = (
    *strings("table", "period"),
    *(Column(name, "bigint") for name in ("queries", "partitions", "rows")),
    Column("last_used", "timestamp"),
)


@dataclass(frozen=True)
class _Needs:
    """The needs of a cube, with how many queries have each; the tables that have served them, as far as a log knows;
    and what to tell the user. Unless ``is_whole``, some needs are unknown.
    """

    weights: Mapping[RollupNeed, float]
    source: str
    served: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    is_whole: bool = True

    @property
    def queries(self) -> float:
        return sum(self.weights.values())

    def rounded(self) -> _Needs:
        """Returns the needs with rounded lengths of ranges, if there are many different ones."""
        if len(self.weights) <= _MOST_EXACT_NEEDS:
            return self
        weights: dict[RollupNeed, float] = defaultdict(float)
        for need, weight in self.weights.items():
            weights[need.rounded()] += weight
        return replace(self, weights=weights)


@runs(s.RecommendRollups)
def recommend_rollups(statement: s.RecommendRollups, context: Context) -> Result:
    """Rows of (statement, reason, queries, rows_before, rows_after, bytes, build_rows, build_bytes), ADD before DROP.

    The queries are those that would read the rollup, with the rows that they read now, and after all statements and a
    REFRESH FACT. Then follow the estimated size of the rollup, and the rows and bytes of the base that the refresh
    reads. All are of the newest data, by the mean rows of a partition. Runs a few queries that count the rows of
    candidates, and writes nothing but the queries of this session that the log lacks.

    Raises QUERY_LOG_EMPTY without needs, STATISTICS_MISSING if the rows of the base are unknown, NO_CANDIDATE_FACT
    without facts, and PATH_NOT_FOUND for the file.
    """
    cube = named_cube(statement.cube, context)
    facts = context.snapshot.facts_of(cube.name)
    if not facts:
        raise AnalysisError(
            f"The cube {cube.name} has no fact.",
            condition="NO_CANDIDATE_FACT",
            position=statement.cube.span,
            object=cube.name,
            hint=f"CREATE FACT … OF CUBE {cube.name} declares where its partitions are.",
        )
    found = _logged(cube, statement, context) if statement.file is None else _of_file(cube, statement, context)
    needs = found.rounded()
    try:
        advised = _advised(cube, facts, context)
    except Error as error:
        raise error.at(statement.cube.span) from None
    candidates = _candidates(advised, needs, context)
    model = CostModel(advised, list(needs.weights.items()), candidates)
    advice = _Advice(model, find_rollups(model, Limits(statement.most_bytes)), advised, needs, context)
    return replace(listing("RECOMMEND ROLLUPS", _ADVICE_COLUMNS, advice.rows()), warnings=tuple(advice.notes()))


# The needs: from the log, or from a file.


def _logged(cube: Cube, statement: s.RecommendRollups, context: Context) -> _Needs:
    log = _log_of(cube, context)
    weights: Counter[RollupNeed] = Counter()
    gone: Counter[str] = Counter()
    for entry in log.entries:
        need = RollupNeed.of_text(entry.need)
        columns = {name: column for name in need.columns if (column := cube.column_logged_as(name)) is not None}
        if len(columns) == len(need.columns):
            weights[need.under_names(columns.__getitem__)] += entry.queries
        else:
            gone[min({*need.columns} - columns.keys())] += entry.queries
    if not weights:
        of_file = f"; or name a file of queries: RECOMMEND ROLLUPS FOR {statement.cube.last} FROM 'queries.sql'."
        raise log.is_empty(cube, statement.cube.span, of_file)
    served = frozenset(table_id for entry in log.entries for table_id, _ in entry.reads)
    notes = tuple(
        f"{_queries(count)} of the query log {'needs' if count == 1 else 'need'} {name}, a column that was dropped: "
        f"not counted, and {_NO_DROP}"
        for name, count in gone.items()
    )
    losses = tuple(f"{loss}; {_NO_DROP}" for loss in log.losses)
    return _Needs(weights, "the query log", served, (*losses, *notes), is_whole=not gone and not log.losses)


@dataclass(frozen=True)
class _Log:
    """The entries of a cube, and what the log lacks of this session."""

    entries: tuple[LoggedNeed, ...]
    losses: tuple[str, ...]

    def is_empty(self, cube: Cube, span: Span, hint: str = ".") -> Error:
        """Returns the error QUERY_LOG_EMPTY. The hint begins with what to set."""
        lost = "".join(f" {loss[0].upper()}{loss[1:]}." for loss in self.losses)
        return ProgrammingError(
            f"The query log has no query of the cube {cube.name}.{lost}",
            condition="QUERY_LOG_EMPTY",
            position=span,
            object=cube.name,
            hint=f"SET rewriter.query_log = on in the sessions that run queries, and run them{hint}",
        )


def _log_of(cube: Cube, context: Context) -> _Log:
    """Returns the entries of a cube. Those that wait in this session are written first."""
    own = context.query_log
    if own is not None:
        own.write(context.catalog)
    with context.catalog.database.read() as connection:
        entries = logged_needs(connection, cube.id)
    return _Log(entries, () if own is None or own.loss is None else (own.loss,))


def _of_file(cube: Cube, statement: s.RecommendRollups, context: Context) -> _Needs:
    queries = _file_queries(cube, str(statement.file), statement.file_span, context)
    weights: dict[RollupNeed, float] = defaultdict(float)
    for weight, need, _ in queries.references:
        weights[need] += weight
    verb = "is" if round(queries.unknown) == 1 else "are"
    unknown = f"{statement.file} has {_queries(queries.unknown)} that {verb} not understood: {_NO_DROP}"
    notes = (*queries.notes, *((unknown,) if queries.unknown else ()))
    return _Needs(weights, str(statement.file), notes=notes, is_whole=not queries.unknown)


@dataclass(frozen=True)
class _FileQueries:
    """The references to a cube of the queries of a file, with how many queries each stands for, what it needs and what
    it reads now; what to tell the user; and the number of queries that are not understood.
    """

    references: tuple[tuple[float, RollupNeed, tuple[PeriodReads, ...]], ...]
    notes: tuple[str, ...]
    unknown: float


def _file_queries(cube: Cube, name: str, name_span: Span, context: Context) -> _FileQueries:
    """Returns the queries of a file. Of those that differ in literals alone, a few are planned. Raises QUERY_LOG_EMPTY
    if no query of the cube can be planned, and PATH_NOT_FOUND.
    """
    text = _text_of(name, name_span)
    alike: dict[str, list[Span]] = defaultdict(list)
    spans, unreadable = readable_statements(text)
    for span in spans:
        alike[without_literals(text[span.start : span.end])].append(span)

    def placed(error: Error, span: Span) -> str:
        line, column = span.line_column(text)
        return f"{name}, line {line}, column {column}: {error.message}"

    references: list[tuple[float, RollupNeed, tuple[PeriodReads, ...]]] = []
    errors = [placed(error, error.position or Span(0, 0)) for error in unreadable]
    others, unknown = 0.0, float(len(unreadable))
    for some in alike.values():
        check_cancellation()
        planned = some[:: max(1, -(-len(some) // _MOST_PLANNED))]
        weight = len(some) / len(planned)
        for span in planned:
            try:
                statement = parse(text[span.start : span.end])
                if not isinstance(statement, Select):
                    hint = "Write SELECT statements."
                    errors.append(placed(ProgrammingError("Only queries need rollups.", hint=hint), span))
                    continue
                of_statement = list(_references_of(statement.query, cube, context))
            except Error as error:
                unknown += weight
                errors.append(placed(error, shift_position(error, span).position or span))
                continue
            others += 0 if of_statement else weight
            references += [(weight, need, reads) for need, reads in of_statement]
    notes = errors[:_MOST_ERRORS]
    if len(errors) > _MOST_ERRORS:
        notes.append(f"{name} has {len(errors) - _MOST_ERRORS:,} more queries with errors")
    if not references:
        raise ProgrammingError(
            f"{name} has no query of the cube {cube.name} that can be planned. {''.join(notes[:1])}".rstrip(),
            condition="QUERY_LOG_EMPTY",
            position=name_span,
            object=name,
            hint="Write SELECT statements that end with a semicolon.",
        )
    if others:
        notes.append(f"{name} has {_queries(others)} without {cube.name}")
    return _FileQueries(tuple(references), tuple(notes), unknown)


def _text_of(name: str, span: Span) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise OperationalError(
            f"The file {name} cannot be read: {getattr(error, 'strerror', None) or 'it is no UTF-8 text'}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            position=span,
            object=name,
            hint="Name a file of queries that end with a semicolon.",
        ) from None


def _references_of(query: Query, cube: Cube, context: Context) -> Iterator[tuple[RollupNeed, tuple[PeriodReads, ...]]]:
    planning = replace(context.planning, partial_data=True)
    for reference, reads in reads_of(plan_query(query, context.snapshot, planning, {})):
        if reference.cube == cube.name:
            yield RollupNeed.of(reference, cube.times[1:]), reads


# The cube as it is: its time, and the mean rows of its partitions.


def _advised(cube: Cube, facts: Sequence[Fact], context: Context) -> AdvisedCube:
    finest = min(fact.base_period for fact in facts)
    bases = [stored for fact in facts if fact.base_period is finest for stored in base_periods(fact)]
    time = complete_base_time(bases, context)
    if not time:
        raise ProgrammingError(
            f"The cube {cube.name} has no data.",
            condition="STATISTICS_MISSING",
            object=cube.name,
            hint="Load its base first: advice rests on the rows of its partitions.",
        )
    extent = TimeRange(time.ranges[0].start, time.ranges[-1].end)
    rows: dict[TableKey, float] = {}
    for fact in facts:
        for table in fact.tables:
            for key, mean in _mean_rows(fact, table, context):
                if mean is None:
                    raise ProgrammingError(
                        f"The rows of some partitions of {table.table} are not known.",
                        condition="STATISTICS_MISSING",
                        object=table.table,
                        hint=f"ANALYZE TABLE {table.table} COMPUTE STATISTICS counts them.",
                    )
                rows[key] = mean
    return AdvisedCube(cube, tuple(facts), extent, rows, context.snapshot, context.planning)


def _mean_rows(fact: Fact, stored: StorageTable, context: Context) -> Iterator[tuple[TableKey, float | None]]:
    """Yields the mean rows of one period of a table, for each of its periods that has partitions: from the catalog,
    or from ANALYZE; ``None`` if the rows of some are unknown.
    """
    table = context.snapshot.table(stored.table)
    binding = TimeBinding(fact, stored, table)
    rows: Counter[UpdatePeriod] = Counter()
    slots: dict[UpdatePeriod, set[int]] = defaultdict(set)
    unknown: set[UpdatePeriod] = set()
    for partition in context.snapshot.partitions(table):
        slot = binding.locate(partition.values)
        if slot is None:
            continue
        kind = slot.period.kind
        slots[kind].add(slot.ordinal)
        counted = partition.rows if partition.rows is not None else _counted_rows(partition.properties)
        rows[kind] += counted or 0
        if counted is None:
            unknown.add(kind)
    of_table = _counted_rows(table.properties)
    if unknown and len(slots) == 1 and of_table is not None:
        rows, unknown = Counter(dict.fromkeys(slots, of_table)), set()
    for kind, ordinals in slots.items():
        yield (stored.table, kind), None if kind in unknown else rows[kind] / len(ordinals)


def _counted_rows(properties: Mapping[str, str]) -> int | None:
    """Returns the rows that ANALYZE has counted, also if others were written since."""
    statistics = statistics_in(properties)
    return None if statistics is None else statistics.rows


# The candidates: rollups that may serve, and the rows that they would have.


def _candidates(advised: AdvisedCube, needs: _Needs, context: Context) -> list[HypotheticalRollup]:
    """Returns the rollups of needs and of their unions, for each period that may serve them, with estimated rows."""
    cube = advised.cube
    wanted: dict[tuple[str, Period], _Rows] = defaultdict(lambda: defaultdict(float))
    periods_of: dict[object, list[tuple[str, Period]]] = {}
    for need, weight in needs.weights.items():
        if need.needs_base:
            continue
        dimensions = frozenset(d.name for d in cube.dimensions if d.name.lower() in need.columns)
        key = need.columns, need.units
        if key not in periods_of:
            periods_of[key] = list(_serving_periods(advised, need, dimensions))
        ranges = [demand.requested for demand, _ in advised.demands(need)]
        for fact_name, period in periods_of[key]:
            if any(not whole_time(period, requested).is_empty for requested in ranges):
                wanted[fact_name, period][dimensions] += weight
    facts = {fact.name: fact for fact in advised.facts}
    candidates: list[HypotheticalRollup] = []
    for (fact_name, period), sets in wanted.items():
        fact = facts[fact_name]
        existing = {cube.columns_in(fact.columns_of(t)) for t in fact.tables if period in t.layouts and t.raw is None}
        timeline = whole_time(period, complete_base_time(base_periods(fact), context))
        own = {name for name in (d.name for d in cube.dimensions) if fact.columns is None or name in fact.columns}
        columns_of = {
            dimensions: cube.columns_in((*dimensions, *cube.measures_over(dimensions, fact.columns)))
            for dimensions in _unions(sets)
            if dimensions <= own
        }
        unions = [dimensions for dimensions, columns in columns_of.items() if columns not in existing]
        if timeline.is_empty or not unions:
            continue
        rows = _Sample(advised, fact, period, context).rows(unions)
        bytes_of_value = _bytes_of_value(advised, fact, context)
        for dimensions in unions:
            ordered = tuple(d.name for d in cube.dimensions if d.name in dimensions)
            count = len(columns_of[dimensions])
            bytes_of_measures = max(bytes_of_value, _BYTES_OF_MEASURE) * (count - len(ordered))
            bytes_of_row = bytes_of_value * len(ordered) + bytes_of_measures
            size = rows[dimensions] * bytes_of_row + _BYTES_OF_COLUMN * count + _BYTES_OF_TABLE / timeline.count
            candidates.append(HypotheticalRollup(fact_name, period, ordered, rows[dimensions], size, timeline))
    return candidates


def _serving_periods(advised: AdvisedCube, need: RollupNeed, dimensions: _Dimensions) -> Iterator[tuple[str, Period]]:
    """Yields the facts and periods whose rollup of these dimensions the planner lets serve a need."""
    cube, calendar = advised.cube, advised.cube.calendar
    ordered = tuple(d.name for d in cube.dimensions if d.name in dimensions)
    nothing = whole_time(UpdatePeriod.DAILY, RangeSet.EMPTY)
    for fact in advised.facts:
        periods = [calendar.of(kind) for kind in UpdatePeriod if calendar.of(kind) >= fact.base_period]
        rollups = [HypotheticalRollup(fact.name, period, ordered, 0, 0, nothing) for period in periods]
        facts = with_rollups(advised.facts, rollups, cube)
        by_table = {rollup.table: rollup for rollup in rollups}
        for demand, _ in advised.demands(need)[:1]:
            for source in allowed_sources(demand, facts, advised.settings):
                found = by_table.get(source.storage_table.table)
                if found is not None:
                    yield fact.name, found.period


def _unions(sets: Mapping[_Dimensions, float]) -> list[_Dimensions]:
    """Returns sets of dimensions, the frequent ones first, and the unions of two of the most frequent ones."""
    by_weight = sorted(sets, key=lambda dimensions: (-sets[dimensions], sorted(dimensions)))
    pairs = (a | b for a, b in combinations(by_weight[:_MOST_COMBINED], 2))
    whole = frozenset[str]().union(*by_weight)
    return list(dict.fromkeys([*by_weight[: _MOST_SETS // 2], whole, *pairs]))[:_MOST_SETS]


def _bytes_of_value(advised: AdvisedCube, fact: Fact, context: Context) -> float:
    """Returns the mean bytes that a row of the base of a fact takes for each column."""
    for stored in base_periods(fact):
        size = context.snapshot.mean_bytes(stored.table.table, stored.period)
        rows = advised.rows.get((stored.table.table, stored.period.kind))
        if size is not None and rows:
            return size / rows / max(1, len(context.snapshot.table(stored.table.table).columns))
    return 8.0  # A number.


@dataclass(frozen=True)
class _Sample:
    """Counts the rows that rollups of a period of a fact have, in the newest period and one in the middle.

    The counts are exact for these periods; the mean of others may differ. A period with more base rows than
    ``_MOST_SAMPLED_ROWS`` is not read as a whole: the rows of its last part, and of the second half of that, tell how
    they grow with time (d = c · tᵇ, Heaps' law). That is exact for dimensions all of whose values occur all the time
    (b = 0) and for those whose values never recur (b = 1), and an estimate between them.
    """

    advised: AdvisedCube
    fact: Fact
    period: Period
    context: Context

    def rows(self, sets: Sequence[_Dimensions]) -> _Rows:
        names = [d.name for d in self.advised.cube.dimensions if any(d.name in each for each in sets)]
        time = complete_base_time(base_periods(self.fact), self.context)
        ordinals = [o for r in whole_time(self.period, time).ranges() for o in range(r.start, r.end)]
        total = dict.fromkeys(sets, 0.0)
        length = self.period.end(ordinals[-1]) - self.period.start(ordinals[-1])
        is_long = self._base_rows(length) > _MOST_SAMPLED_ROWS
        sampled = dict.fromkeys((ordinals[-1],) if is_long else (ordinals[-1], ordinals[len(ordinals) // 2]))
        for ordinal in sampled:
            counts = self._counts(TimeRange(self.period.start(ordinal), self.period.end(ordinal)), names, sets)
            for dimensions in sets:
                total[dimensions] += counts[dimensions]
        return {dimensions: total[dimensions] / len(sampled) for dimensions in sets}

    def _base_rows(self, length: int) -> float:
        """Returns how many rows the base has in a length of time, in microseconds."""
        stored, base = base_periods(self.fact)[0], self.fact.base_period
        start = base.ordinal(self.advised.extent.start)
        return self.advised.rows[stored.table.table, base.kind] * length / (base.end(start) - base.start(start))

    def _counts(self, time: TimeRange, names: Sequence[str], sets: Sequence[_Dimensions]) -> _Rows:
        base = self.fact.base_period
        first, end = base.ordinal(time.start), base.ordinal(time.end)
        most = max(1, int(_MOST_SAMPLED_ROWS // max(1.0, self._base_rows(base.end(end - 1) - base.start(end - 1)))))
        if end - first <= most:
            return dict(self._distinct(time, names, sets))
        part = self._distinct(TimeRange(base.start(end - most), time.end), names, sets)
        if most < 2:
            return {dimensions: count * (end - first) / most for dimensions, count in part.items()}
        half = self._distinct(TimeRange(base.start(end - most // 2), time.end), names, sets)
        factor, parts = most / (most // 2), (end - first) / most
        grown: _Rows = {}
        for dimensions, count in part.items():
            exponent = math.log(max(count, 1) / max(half[dimensions], 1)) / math.log(factor)
            grown[dimensions] = count * parts ** min(max(exponent, 0.0), 1.0)
        return grown

    def _distinct(self, time: TimeRange, names: Sequence[str], sets: Sequence[_Dimensions]) -> _Rows:
        """Returns how many combinations of values each set of dimensions has in some time. One query."""
        if not names:
            return dict.fromkeys(sets, 1.0)
        check_cancellation()
        cube, calendar = self.advised.cube, self.advised.cube.calendar
        bounds = ", ".join(string_literal(calendar.text(bound)) for bound in (time.start, time.end))
        columns = ", ".join(map(quote_identifier, names))
        text = (
            f"SELECT {columns} FROM {quoted(cube.name)} "
            f"WHERE time_range_in({quote_identifier(cube.times[0])}, {bounds}) GROUP BY {columns}"
        )
        planning = replace(self.context.planning, partial_data=True)
        context = replace(self.context, planning=planning)
        prepared = prepare(Query(text), context)
        table = context.on(prepared.route.cluster).engine().execute(prepared.query).read_all()
        codes = {name: _codes(table.column(index)) for index, name in enumerate(names)}
        return {dimensions: _combinations([codes[name] for name in names if name in dimensions]) for dimensions in sets}


def _codes(column: pa.ChunkedArray) -> tuple[pa.Array, int]:
    """Returns a number for each value, and how many values there are. NULL is a value."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices, max(1, len(encoded.dictionary))


def _combinations(columns: Sequence[tuple[pa.Array, int]]) -> float:
    """Returns how many combinations of values the columns have."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not columns:
        return 1.0
    numbers, count = pc.cast(columns[0][0], pa.int64()), columns[0][1]
    for codes, size in columns[1:]:
        if count * size >= 1 << 62:
            numbers, count = _codes(pa.chunked_array([numbers]))
            numbers = pc.cast(numbers, pa.int64())
        numbers = pc.add(pc.multiply(numbers, size), pc.cast(codes, pa.int64()))
        count *= size
    return float(pc.count_distinct(numbers).as_py())


# The advice as statements.


@dataclass(frozen=True)
class _Advice:
    """A chosen set of candidates, by number, as statements and figures."""

    model: CostModel
    chosen: tuple[int, ...]
    advised: AdvisedCube
    needs: _Needs
    context: Context

    def rows(self) -> list[Row]:
        """Returns the rows of the statement: the rollups that queries would read, and those that none reads."""
        facts = {fact.name: fact for fact in self.advised.facts}
        rows: list[Row] = []
        for number in self.chosen:
            rollup = self.model.rollups[number]
            using = [index for index in self._classes if rollup.table in self._tables(index, self.chosen)]
            if using:
                rows.append(self._added(rollup, facts[rollup.fact], using))
        for fact in self.advised.facts:
            rows += self._dropped(fact)
        return rows

    def notes(self) -> Iterator[str]:
        """Yields the warnings: the errors of a file, the sums of all queries, and what limits the advice."""
        yield from self.needs.notes
        queries, before, after = self._sums(self._classes)
        yield (
            f"rows read by {_queries(queries)}: {round(before):,} now, and {round(after):,} after these statements and "
            "REFRESH FACT, by the mean rows of a partition"
        )
        if self.context.planning.cost_in_bytes:
            rule = "work" if self.context.planning.scan_bytes else "bytes"
            yield f"the advice counts partitions as the cost of a cover, and rewriter.cover_cost is {rule}"
        base_only = sum(each.queries for each in self.model.classes if each.needs_base)
        if base_only:
            yield f"no rollup serves {_queries(base_only)}: EXPLAIN COVER says why base rows are needed"
        for fact in self.advised.facts:
            for stored in stored_periods(fact):
                line = self.context.snapshot.timeline(stored.table.table, stored.period, stored.table.time)
                if stored.table.made and line.is_empty:
                    yield f"{stored.table.table} has no fresh partition: REFRESH FACT {fact.name} computes it"

    @property
    def _classes(self) -> range:
        return range(len(self.model.classes))

    def _tables(self, index: int, numbers: Iterable[int]) -> set[str]:
        """Returns the tables that the queries of a class read."""
        available = self.model.chosen(index, numbers)
        return {available[period].table for period in self.model.slots(index, available)}

    def _sums(self, classes: Iterable[int]) -> tuple[float, float, float]:
        """Returns how many queries some classes have, and the rows that they read before and after."""
        queries = before = after = 0.0
        for index in classes:
            queries += self.model.classes[index].queries
            before += self.model.class_rows(index, self.model.chosen(index, ()))
            after += self.model.class_rows(index, self.model.chosen(index, self.chosen))
        return queries, before, after

    def _added(self, rollup: HypotheticalRollup, fact: Fact, using: Sequence[int]) -> Row:
        own = [d.name for d in self.advised.cube.dimensions if fact.columns is None or d.name in fact.columns]
        dimensions = None if list(rollup.dimensions) == own else rollup.dimensions
        stored = base_periods(fact)[0]
        count = self.context.snapshot.timeline(stored.table.table, stored.period, stored.table.time).count
        size = self.context.snapshot.mean_bytes(stored.table.table, stored.period)
        queries, before, after = self._sums(using)
        return (
            self._text(fact, s.AddRollups((Rollup(rollup.period.name, dimensions),))),
            f"{_queries(queries)} of {self.needs.source} would read it",
            round(queries),
            round(before),
            round(after),
            round(rollup.total_bytes),
            round(self.advised.rows[stored.table.table, stored.period.kind] * count),
            None if size is None else size * count,
        )

    def _text(self, fact: Fact, action: s.FactAction) -> str:
        name = Name(tuple(seen_from(self.context.snapshot.current, fact.name).split(".")))
        return render(s.AlterFact(fact=name, action=action))

    def _dropped(self, fact: Fact) -> Iterator[Row]:
        """Yields the drops of rollups that no query has read or would read, without which no query reads more, and
        which hold no time that nothing else holds.
        """
        if not self.needs.is_whole:
            return
        snapshot = self.context.snapshot
        used = {
            table for index in self._classes for numbers in ((), self.chosen) for table in self._tables(index, numbers)
        }
        dropped: list[str] = []
        for table, rollup in shown_rollups(fact, fact.tables, self.advised.cube).items():
            stored = fact.storage_table(table)
            if stored is None or table in used or snapshot.table(table).id in self.needs.served:
                continue
            if all(snapshot.timeline(table, period, stored.time).is_empty for period in stored.layouts):
                continue  # Nothing can have read it.
            without = [*dropped, table]
            left = _without(fact, without)
            if _is_kept_for_retention(stored, left) or time_held_alone(stored, left, self.context):
                continue
            if any(self._reads_more(index, without) for index in self._classes):
                continue
            dropped.append(table)
            text = self._text(fact, s.DropRollup(replace(rollup, retain=None)))
            size = sum(partition.bytes for partition in snapshot.partitions(snapshot.table(table)))
            yield text, f"none of {_queries(self.needs.queries)} of {self.needs.source} reads it", 0, 0, 0, size, 0, 0

    def _reads_more(self, index: int, without: Sequence[str]) -> bool:
        """Tests whether the queries of a class read more, or lack time, without some tables."""
        kept = self.model.chosen(index, self.chosen)
        left = self.model.chosen(index, self.chosen, without)
        return self.model.slots(index, kept) != self.model.slots(index, left) or self.model.class_rows(
            index, left
        ) > self.model.class_rows(index, kept)


def _without(fact: Fact, tables: Sequence[str]) -> Fact:
    storages = (replace(each, tables=tuple(t for t in each.tables if t.table not in tables)) for each in fact.storages)
    return replace(fact, storages=tuple(storage for storage in storages if storage.tables))


def _is_kept_for_retention(rollup: StorageTable, left: Fact) -> bool:
    """Tests whether a rollup may come to hold time that nothing else holds: MAINTAIN FACT drops partitions of a table
    with RETAIN, and no other rollup without RETAIN has all columns of this one.
    """
    if all(table.retain is None for table in left.tables):
        return False
    (period,) = rollup.layouts
    return not any(
        stored.table.retain is None
        and stored.period.nests_in(period)
        and (stored.table.columns is None or {*(rollup.columns or ("",))} <= {*stored.table.columns})
        for stored in stored_periods(left)
    )


def _queries(count: float) -> str:
    return "1 query" if round(count) == 1 else f"{round(count):,} queries"


# SHOW ROLLUP USE.


@runs(s.ShowRollupUse)
def show_rollup_use(statement: s.ShowRollupUse, context: Context) -> Result:
    """Rows of (table, period, queries, partitions, rows, last_used), one for each table and period of a fact, coarse
    before fine: which queries of the log have read it, or which queries of a file would read it now; these have no
    ``last_used``. The rows are the partitions, times the mean rows of a partition now; NULL where these are unknown. A
    table that no query reads has 0 queries. Raises QUERY_LOG_EMPTY, and PATH_NOT_FOUND for the file.
    """
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    if statement.file is None:
        log = _log_of(cube, context)
        if not log.entries:
            raise log.is_empty(cube, statement.fact.span)
        uses, notes = _uses_of_log(log.entries), log.losses
    else:
        queries = _file_queries(cube, statement.file, statement.file_span, context)
        uses, notes = _uses_of_file(queries, context), queries.notes
    means = {key: mean for table in fact.tables for key, mean in _mean_rows(fact, table, context)}
    rows: list[Row] = []
    for stored in stored_periods(fact):
        table, kind = context.snapshot.table(stored.table.table), stored.period.kind
        use = uses.get((table.id, kind.name), _Use())
        mean = means.get((stored.table.table, kind))
        read_rows = 0 if not use.partitions else None if mean is None else round(use.partitions * mean)
        last = None if use.last_at is None else datetime.fromtimestamp(use.last_at, UTC)
        rows.append((table.name, kind.name, round(use.queries), round(use.partitions), read_rows, last))
    return replace(listing("SHOW ROLLUP USE", _USE_COLUMNS, rows), warnings=notes)


@dataclass(frozen=True)
class _Use:
    """How many queries read a period of a table, and how many of its partitions; and the time of the last one, in
    seconds since 1970, if it is known.
    """

    queries: float = 0.0
    partitions: float = 0.0
    last_at: float | None = None

    def plus(self, other: _Use) -> _Use:
        last_at = max((at for at in (self.last_at, other.last_at) if at is not None), default=None)
        return _Use(self.queries + other.queries, self.partitions + other.partitions, last_at)


def _uses_of_log(entries: Iterable[LoggedNeed]) -> dict[TablePeriod, _Use]:
    uses: dict[TablePeriod, _Use] = defaultdict(_Use)
    for entry in entries:
        for key, reads in entry.reads.items():
            uses[key] = uses[key].plus(_Use(reads.queries, reads.partitions, reads.last_at))
    return uses


def _uses_of_file(queries: _FileQueries, context: Context) -> dict[TablePeriod, _Use]:
    uses: dict[TablePeriod, _Use] = defaultdict(_Use)
    for weight, _, reads in queries.references:
        for read in reads:
            key = context.snapshot.table(read.table).id, read.period.name
            uses[key] = uses[key].plus(_Use(weight, weight * read.partitions))
    return uses
