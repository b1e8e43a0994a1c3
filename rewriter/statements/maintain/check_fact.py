"""CHECK FACT: checks that the rollups of a fact agree with its base, and that the facts of a cube agree."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING

from rewriter.catalog.commit.external_file_changes import recorded_digest
from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.changes import AcceptPartitions, RejectPartitions
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.objects import (
    Aggregate,
    Column,
    Cube,
    Fact,
    Measure,
    Partition,
)
from rewriter.catalog.model.proofs import BY_COMPARISON
from rewriter.errors import Error
from rewriter.exec.engine import EngineQuery
from rewriter.grammar.families import timelines as s
from rewriter.grammar.unparse import quote
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.arms import Arm, key_ranges, time_of, uses_of
from rewriter.planner.cover.choose_facts import check_certain
from rewriter.planner.cover.cover import Candidate, cover, extent
from rewriter.planner.cover.secondary_times import SecondaryTimeUse, extents
from rewriter.planner.cover.validity import cut, window
from rewriter.planner.model.coverage_chart import overlapping
from rewriter.planner.model.plan import SqlTemplate, TableToken, TableUse, quote_identifier
from rewriter.planner.rewrite.union_arms import (
    columns_of_values,
    constructed,
    edge_of,
    partition_column,
    relation,
    rolled_up,
    tables_read_once,
    values_of_events,
)
from rewriter.planner.zones.zoned_expressions import truncated_instant
from rewriter.runtime.progress import Progress
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.runtime.transaction_errors import not_in_transaction
from rewriter.statements.query.not_null_measures import not_null_measures
from rewriter.statements.query.routing import place_on_cluster
from rewriter.statements.query.select import relation_numbers, scan_files, scan_relation
from rewriter.statements.resolve.fact_periods import (
    StoredPeriod,
    base_periods,
    carried,
    stored_periods,
    time_of_ordinals,
    times,
    widths,
    within,
)
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.statements.show.coverage import asked
from rewriter.statements.write.external_base_changes import (
    Listing,
    external_binding,
    holds_base,
    list_files,
    listed_again,
    listed_digests,
    note_changed,
)
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context
    from rewriter.timeline.calendars import Calendar, Period
    from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

# Compares two sides that should agree about a fact, by one query: base and rollup, or two facts.
#
# Both sides are aggregated to periods and dimensions, each measure by its own aggregate, and combined by UNION ALL
# and GROUP BY, so that NULL is a value like any other and a row that only one side has is found, too.

#: The allowed difference of sums of floating-point numbers, relative to the sum of their magnitudes.
_TOLERANCE = "1e-9"

_UNITS = {
    UpdatePeriod.MINUTELY: "MINUTE",
    UpdatePeriod.HOURLY: "HOUR",
    UpdatePeriod.DAILY: "DAY",
    UpdatePeriod.WEEKLY: "WEEK",
    UpdatePeriod.MONTHLY: "MONTH",
    UpdatePeriod.QUARTERLY: "QUARTER",
    UpdatePeriod.YEARLY: "YEAR",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Comparison:
    """The partitions of both sides to be compared, over the same time, in units of ``period``.

    ``times`` are the time dimensions beside the leading one that both sides have; they are in units of ``period``,
    too.
    """

    cube: Cube
    period: Period
    base: tuple[Arm, ...]
    other: tuple[Arm, ...]
    times: tuple[str, ...]
    dimensions: tuple[Column, ...]
    measures: tuple[Measure, ...]

    @property
    def keys(self) -> tuple[Column, ...]:
        """Returns the columns that identify a row within a period: other times and dimensions."""
        return (*(Column(time, "timestamp") for time in self.times), *self.dimensions)


@dataclass(frozen=True)
class Difference:
    """A group of rows in which the sides differ. ``values`` are the values of the comparison's keys.

    ``finding`` is ``row missing`` (the base has it), ``row surplus``, or ``value differs``; for the last, ``base``
    and ``found_value`` are the measure's values.
    """

    ordinal: int
    values: tuple[object, ...]
    finding: str
    measure: str | None = None
    base: object = None
    found_value: object = None


def differences(comparison: Comparison, context: Context) -> Iterator[Difference]:
    """Runs the comparison. Yields the differences in order of time, dimensions and measures; none if both agree."""
    uses = uses_of([*comparison.base, *comparison.other])
    context = place_on_cluster(uses, context)
    reader = context.engine().execute(engine_query(_template(comparison), uses, context))
    dimensions, period = len(comparison.keys), comparison.period
    for batch in reader:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            ordinal = period.ordinal((row[0] - _EPOCH) // timedelta(microseconds=1))
            values, (base_rows, other_rows) = row[1 : dimensions + 1], row[dimensions + 1 : dimensions + 3]
            if not base_rows or not other_rows:
                yield Difference(ordinal, values, "row missing" if base_rows else "row surplus")
                continue
            for number, measure in enumerate(comparison.measures):
                base, other, agrees = row[dimensions + 3 + 3 * number : dimensions + 6 + 3 * number]
                if not agrees:
                    yield Difference(ordinal, values, "value differs", measure.name, base, other)


def engine_query(template: SqlTemplate, uses: Sequence[TableUse], context: Context) -> EngineQuery:
    """Returns the query of the template over exactly the partitions of the uses."""
    serial = relation_numbers(uses, context)
    names = {use.table.id: f"rw_{next(serial)}" for use in uses}
    relations = tuple(
        scan_relation(names[use.table.id], use, scan_files(use, context)).with_hidden_columns() for use in uses
    )
    return EngineQuery(template.render(lambda table: names[table.id]), relations)


def period_start(period: Period, time: str, arms: Sequence[Arm], calendar: Calendar) -> str:
    """Returns the start of the period that holds a time dimension of the arms' rows, as Spark SQL."""
    return truncated_instant(
        _UNITS[period.kind], period, calendar, quote_identifier(time), time_of(arms, time, calendar)
    )


def _of_side(side: int, number: int) -> str:
    return f"CASE WHEN s = {side} THEN m{number} END"


def _template(comparison: Comparison) -> SqlTemplate:
    dimensions = [f"d{number}" for number in range(len(comparison.keys))]
    groups = ["t", *dimensions]
    inner_items = [*groups, *(f"COUNT(CASE WHEN s = {side} THEN 1 END) AS r{side}" for side in (0, 1))]
    outer_items = [*groups, "r0", "r1"]
    agree, edges = ["r0 > 0", "r1 > 0"], []
    values = values_of_events(comparison.base, comparison.cube, comparison.measures)
    lone = tables_read_once(comparison.base, comparison.other)
    for number, measure in enumerate(comparison.measures):
        for side in (0, 1):
            of_side, edge = partial(_of_side, side), f"w{side}{number}"
            is_constructed = side == 0 and number in values
            rolled = rolled_up(comparison.measures, number, of_side, edge)
            inner_items.append(f"{constructed(measure, f'c{number}') if is_constructed else rolled} AS v{side}{number}")
            newest = edge_of(comparison.measures, number, of_side, ", ".join(groups))
            edges += [] if newest is None else [f", {newest} AS {edge}"]
        equality = f"v0{number} <=> v1{number}"
        if measure.aggregate is Aggregate.SUM and measure.rollup_type == "double":
            inner_items.append(f"SUM(CASE WHEN s = 0 THEN ABS(m{number}) END) AS a{number}")
            # Only numbers are near each other: a tolerance of Infinity or NaN would let anything pass.
            approximate_equality = (
                f"a{number} < CAST('Infinity' AS DOUBLE) AND ABS(v0{number} - v1{number}) <= {_TOLERANCE} * a{number}"
            )
            equality = f"({equality} OR COALESCE({approximate_equality}, FALSE))"
        outer_items += [f"v0{number}", f"v1{number}", f"{equality} AS e{number}"]
        agree.append(equality)
    parts: list[str | TableToken] = [
        f"SELECT {', '.join(outer_items)} FROM (SELECT {', '.join(inner_items)} FROM (SELECT *{''.join(edges)} FROM (",
        *_side(comparison, comparison.base, 0, values, lone),
        " UNION ALL ",
        *_side(comparison, comparison.other, 1, values, lone),
        f") AS rows) AS sides GROUP BY {', '.join(groups)}) AS compared WHERE NOT ({' AND '.join(agree)}) "
        f"ORDER BY {', '.join(groups)}",
    ]
    return SqlTemplate(tuple(parts))


def _side(
    comparison: Comparison, arms: Sequence[Arm], side: int, values: Mapping[int, str], lone: Collection[int]
) -> Iterator[str | TableToken]:
    """Yields the rows of a side. Of ``values``, the base has the columns c1, …, and no sketches and bitmaps of them."""
    time = arms[0].storage_table.time
    calendar = comparison.cube.calendar
    items = [f"{side} AS s", f"{period_start(comparison.period, time, arms, calendar)} AS t"]
    keys = [period_start(comparison.period, other, arms, calendar) for other in comparison.times]
    keys += [quote_identifier(column.name) for column in comparison.dimensions]
    items += [f"{key} AS d{n}" for n, key in enumerate(keys)]
    stored = [side == 1 or n not in values for n in range(len(comparison.measures))]
    names = [measure.name for measure in comparison.measures]
    sketches = [quote_identifier(name) if stored[n] else "CAST(NULL AS BINARY)" for n, name in enumerate(names)]
    items += [f"{sql} AS m{n}" for n, sql in enumerate(sketches)]
    items += [f"{'NULL' if side else f'rw_value{n}'} AS c{n}" for n in values]
    columns = [time, *(c.name for c in comparison.keys), *compress(names, stored)]
    yield f"SELECT {', '.join(items)} FROM "
    extras = {} if side else columns_of_values(values)
    yield from relation(arms, comparison.cube, columns, extras, lone_tables=lone)
    yield f" AS side{side}"


# NULLs in the measures of a fact that are declared NOT NULL. Statements write none (``query.not_null_measures``), but
# files of other programs may have them, and so may tables of earlier releases.


def _null_measures(
    arms: Sequence[Arm], cube: Cube, measures: Sequence[Measure], period: Period, context: Context
) -> Iterator[tuple[int, str, int]]:
    """Yields (ordinal, measure, number of rows) for each period whose rows have NULL in one of the measures, in the
    order of time. Runs one query over the arms.
    """
    if not arms or not measures:
        return
    time, names = arms[0].storage_table.time, [quote_identifier(measure.name) for measure in measures]
    counts = [f"COUNT(CASE WHEN {name} IS NULL THEN 1 END) AS n{n}" for n, name in enumerate(names)]
    start = period_start(period, time, arms, cube.calendar)
    template = SqlTemplate(
        (
            f"SELECT {start} AS t, {', '.join(counts)} FROM ",
            *relation(arms, cube, [time, *(measure.name for measure in measures)]),
            f" AS measured WHERE {' OR '.join(f'{name} IS NULL' for name in names)} GROUP BY {start} ORDER BY t",
        )
    )
    uses = uses_of(arms)
    context = place_on_cluster(uses, context)
    for batch in context.engine().execute(engine_query(template, uses, context)):
        for first, *nulls in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            ordinal = period.ordinal((first - _EPOCH) // timedelta(microseconds=1))
            yield from ((ordinal, measure.name, n) for measure, n in zip(measures, nulls, strict=True) if n)


@dataclass(frozen=True)
class _Scope:
    """The time that is checked, and the percentage of its periods; ``None`` for all of them."""

    requested: RangeSet
    percent: float | None

    def sample(self, period: Period, time: RangeSet) -> RangeSet:
        """Returns periods of a time of whole periods, chosen at random: at least one if there is one."""
        if self.percent is None or not time:
            return time
        ordinals = [ordinal for range_ in ordinals_of(period, time) for ordinal in range(range_.start, range_.end)]
        chosen = random.sample(ordinals, math.ceil(len(ordinals) * self.percent / 100))
        return time_of_ordinals(period, chosen)


#: The most differences that one comparison shows; the others are counted.
_MOST_SHOWN = 100
_RANGES_SHOWN = 3
#: The finding in the summary of a comparison that found differences.
_DIFFERS = "differs"


@runs(s.CheckFact, in_transaction=True)
def check_fact(statement: s.CheckFact, context: Context) -> Result:
    """Compares every rollup, every copy of the base and every other fact of the cube with the base of the fact.

    Rows of (checked, period, from, to, row, measure, base, found, finding, partitions). For each comparison: first
    the ranges that were not compared (``outdated``, or ``not checked`` with the reason), then the differences in
    order, at most 100, with the number of those left out, and last a summary: ``agrees``, ``differs`` or ``nothing
    compared``. The result states whether any comparison ``differs``. Partitions that share time with the range are
    included. Every comparison is one query, over both sides' partitions only. NULLs in measures that are declared NOT
    NULL are differences, too.

    With SAMPLE n PERCENT, each comparison is of so many periods, chosen at random, of those that could be compared.

    Unproven rollup partitions are compared, too. With ACCEPT, partitions that agree become proven, in one transaction
    for each (storage table, period), and are reported as ``accepted``. Partitions that were used and differ become
    unproven, are reported as ``rejected``, and what was computed from them follows. Without ACCEPT nothing is written.
    With it, the files of external tables are compared with those noted before: an accepted rollup with other files is
    unproven again, even if it was outdated. Raises ``ConflictError`` (retryable) where another transaction wrote one of
    them meanwhile.
    """
    if statement.accept and context.transaction is not None:
        raise not_in_transaction("CHECK FACT … ACCEPT commits automatically", statement.fact.last).at(
            statement.fact.span
        )
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    facts = [fact, *(other for other in context.snapshot.facts_of(cube.name) if other.id != fact.id)]
    candidates = [_candidate(stored, context) for other_fact in facts for stored in stored_periods(other_fact)]
    candidates += [
        replace(_candidate(stored, context), timeline=_unproven_line(stored, context))
        for stored in stored_periods(fact)
    ]
    range_ = asked(statement, fact, context, extent(candidates))
    scope = _Scope(range_, statement.percent)
    listings = [listing.complete() for _, listing in file_listings(fact, range_, context)] if statement.accept else []
    if note_changed(listings, context):
        context = context.renewed()
        listings = [listing.complete() for _, listing in file_listings(fact, range_, context)]
    rows: list[Row] = []
    try:
        stored_of_fact = list(stored_periods(fact))
        total = len(stored_of_fact) + len(facts) - 1
        for number, stored in enumerate(stored_of_fact):
            with context.progress.within(_checking(stored.table.table, number, total)):
                if stored.table.raw is not None:
                    rows += _check_events(stored, cube, scope, statement.start is None, context)
                rows += _check_not_null(stored, cube, scope, context)
                rows += _check_stored_period(stored, cube, scope, listings if statement.accept else None, context)
        for number, other in enumerate(facts[1:], len(stored_of_fact)):
            with context.progress.within(_checking(other.name, number, total)):
                rows += _check_other(fact, other, cube, scope, context)
    except Error as error:
        error.position = None  # The position was in a generated query.
        raise error.at(statement.fact.span) from None
    columns = strings("checked", "period", "from", "to", "row", "measure", "base", "found", "finding")
    result = listing("CHECK FACT", (*columns, Column("partitions", "bigint")), rows)
    return replace(result, differs=any(row[8] == _DIFFERS for row in rows))


def _checking(subject: str, done: int, total: int) -> Progress:
    return Progress("checking", done, total, "comparisons", subject=subject)


def complete_base_time(bases: Sequence[StoredPeriod], context: Context) -> RangeSet:
    """Returns the time of base periods that exist as a whole, while their storages are valid."""
    time = RangeSet.EMPTY
    for stored in bases:
        time |= times(stored.period, _fresh_line(stored, context).ranges())
    return time


def inside(ordinals: Sequence[OrdinalRange], period: Period, requested: RangeSet) -> RangeSet:
    """Returns the time of the periods that share time with the range."""
    outward = RangeSet(TimeRange(period.floor(time.start), period.ceil(time.end)) for time in requested)
    return times(period, ordinals) & outward


def ordinals_of(period: Period, time: RangeSet) -> tuple[OrdinalRange, ...]:
    """Returns the periods that share time with some ranges."""
    return tuple(overlapping(period, range_) for range_ in time)


def base_arms(bases: Sequence[StoredPeriod], time: RangeSet, context: Context) -> tuple[Arm, ...]:
    """Returns the base partitions of some time, which must exist."""
    parts = cover(time, [_candidate(stored, context) for stored in bases]).parts
    tables = {stored.table.table: stored for stored in bases}
    return tuple(_arm(tables[part.table], part.ranges, context) for part in parts)


def _bases_before(stored: StoredPeriod) -> list[StoredPeriod]:
    """Returns the places of the base that a place is compared with: a copy, with those before it."""
    bases = base_periods(stored.fact)
    return bases[: bases.index(stored)] if stored in bases else bases


def comparable_time(stored: StoredPeriod, requested: RangeSet, context: Context) -> RangeSet:
    """Returns the time of the rollups in use that share time with a range and can be compared: their base exists."""
    bases, period = _bases_before(stored), stored.period
    if stored.is_base or not stored.fact.base_period.nests_in(period):
        return RangeSet.EMPTY
    complete_base = complete_base_time(bases, context)
    fresh = inside(_fresh_line(stored, context).ranges(), period, requested)
    return RangeSet(r for time in fresh for r in _periods_without(period, time, RangeSet.of(time) - complete_base))


def comparison_with_base(
    stored: StoredPeriod, time: RangeSet, lacking: Collection[str], context: Context
) -> Comparison:
    """Returns the comparison of a place with the base in a time of whole periods, in which both exist. The partitions
    lack some columns of the table, because it got them later.
    """
    cube = context.snapshot.cube(stored.fact.cube)
    own = cube.columns_in(stored.fact.columns_of(stored.table)) - {name.lower() for name in lacking}
    dimensions, measures = carried(own, cube)
    arm = _arm(stored, ordinals_of(stored.period, time), context)
    base = base_arms(_bases_before(stored), time, context)
    return Comparison(cube, stored.period, base, (arm,), stored.table.times[1:], dimensions, measures)


def _check_stored_period(
    stored: StoredPeriod, cube: Cube, scope: _Scope, accepting: Sequence[Listing] | None, context: Context
) -> Iterator[Row]:
    """Checks one place. ``accepting`` are the files of external tables that are compared; ``None`` where nothing is
    accepted.
    """
    bases = _bases_before(stored)
    if not bases:
        return
    period, name, requested = stored.period, stored.table.table, scope.requested
    outdated = inside(context.snapshot.outdated(name, period, stored.table.time).ranges(), period, requested)
    if outdated:
        yield from _finding_rows(name, period, outdated, "outdated", cube.calendar)
    incomplete = inside(context.snapshot.incomplete(name, period, stored.table.time).ranges(), period, requested)
    if incomplete:
        yield from _finding_rows(name, period, incomplete, "incomplete", cube.calendar)
    unproven = inside(_unproven_line(stored, context).ranges(), period, requested)
    if unproven:
        yield from _finding_rows(name, period, unproven, "unproven", cube.calendar)
    fresh = inside(_fresh_line(stored, context).ranges(), period, requested) | unproven
    finest = stored.fact.base_period
    if not finest.nests_in(period):
        for time in fresh:
            reason = f"not checked: {finest.name} periods do not add up to {period.name} ones"
            yield from _finding_rows(name, period, RangeSet.of(time), reason, cube.calendar)
        return
    complete_base = complete_base_time(bases, context)
    checked = RangeSet(r for time in fresh for r in _periods_without(period, time, RangeSet.of(time) - complete_base))
    for time in fresh - checked:
        lacking = RangeSet.of(time) - complete_base
        reason = f"not checked: the base lacks {_shortened(lacking, cube.calendar)}"
        yield from _finding_rows(name, period, RangeSet.of(time), reason, cube.calendar)
    checked = scope.sample(period, checked)
    parts = [*widths(stored, checked, context.snapshot)]
    for columns, part in parts:
        if columns:
            reason = f"narrow: compared without {', '.join(columns)}"
            yield from _finding_rows(name, period, part, reason, cube.calendar)
        yield from _check_width(stored, cube, part, columns, unproven, accepting, context)
    if not parts:
        yield from _compared(name, comparison_with_base(stored, checked, (), context), checked, set(), context)


def _check_width(
    stored: StoredPeriod,
    cube: Cube,
    checked: RangeSet,
    lacking: Collection[str],
    unproven: RangeSet,
    accepting: Sequence[Listing] | None,
    context: Context,
) -> Iterator[Row]:
    """Compares partitions of one place that lack the same columns. Those that lack some are not accepted: to compare
    what they have does not prove the rest.
    """
    period, name = stored.period, stored.table.table
    comparison = comparison_with_base(stored, checked, lacking, context)
    # Listed before they are read: a change during the comparison is found later.
    acceptable = checked & (unproven | _without_digest(stored, checked, context)) if accepting is not None else unproven
    acceptable = RangeSet.EMPTY if lacking else acceptable
    files = _rollup_files(stored, acceptable, context) if accepting is not None else {}
    differing: set[int] = set()
    yield from _compared(name, comparison, checked, differing, context)
    if accepting is not None and checked:
        declared = not_null_measures([column.name for column in comparison.measures], cube)
        differing |= {
            ordinal
            for ordinal, _, _ in _null_measures((*comparison.base, *comparison.other), cube, declared, period, context)
        }
        agreeing = _periods_without_differences(period, acceptable, differing)
        rejected = RangeSet.EMPTY if stored.is_base else checked - unproven
        rejected -= _periods_without_differences(period, rejected, differing)
        if agreeing or rejected:
            _judge(stored, agreeing, rejected, files, accepting, context)
            yield from _finding_rows(name, period, agreeing, "accepted", cube.calendar)
            yield from _finding_rows(name, period, rejected, "rejected", cube.calendar)


def _check_events(stored: StoredPeriod, cube: Cube, scope: _Scope, whole: bool, context: Context) -> Iterator[Row]:
    """Checks that the events of a RAW table lie in the periods of their partitions; with ``whole``, also that those in
    the partition of NULL time have none.
    """
    period, name, calendar = stored.period, stored.table.table, cube.calendar
    checked = inside(_fresh_line(stored, context).ranges(), period, scope.requested)
    checked = scope.sample(period, checked)
    arm = _arm(stored, ordinals_of(period, checked), context)
    timeless = replace(arm, ranges=(), null_time=True)
    has_timeless = whole and context.snapshot.partitions(arm.table, key_ranges(timeless))
    arms = [*([arm] if checked else []), *([timeless] if has_timeless else [])]
    count = 0
    misplaced = (partition for arm in arms for partition in _misplaced_events(arm, cube, context))
    for count, (ordinal, events) in enumerate(misplaced, start=1):
        if count <= _MOST_SHOWN:
            start, end = (
                (None, None) if ordinal is None else _bounds(period.start(ordinal), period.end(ordinal), calendar)
            )
            finding = f"{events:,} event{'' if events == 1 else 's'} outside the partition's period"
            yield (name, period.name, start, end, *[None] * 4, finding, 1)
    if count > _MOST_SHOWN:
        yield (name, period.name, *[None] * 6, f"{count - _MOST_SHOWN} more partitions are not shown", None)
    if checked or count:
        ranges = checked.ranges
        start, end = _bounds(ranges[0].start, ranges[-1].end, calendar) if ranges else (None, None)
        finding = _DIFFERS if count else "agrees"
        yield (name, period.name, start, end, None, stored.table.time, None, None, finding, _count(period, checked))


def _check_not_null(stored: StoredPeriod, cube: Cube, scope: _Scope, context: Context) -> Iterator[Row]:
    """Yields the periods whose rows have NULL in measures that are declared NOT NULL, and a summary if any have."""
    period, name, calendar = stored.period, stored.table.table, cube.calendar
    measures = not_null_measures(stored.fact.columns_of(stored.table), cube)
    checked = inside(_fresh_line(stored, context).ranges(), period, scope.requested)
    checked |= inside(_unproven_line(stored, context).ranges(), period, scope.requested)
    checked = scope.sample(period, checked)
    if not measures or not checked:
        return
    parts = [
        ([m for m in measures if m.name not in lacking], _arm(stored, ordinals_of(period, time), context))
        for lacking, time in widths(stored, checked, context.snapshot)
    ]
    null_rows = (row for held, arm in parts for row in _null_measures((arm,), cube, held, period, context))
    count = 0
    for count, (ordinal, measure, nulls) in enumerate(null_rows, start=1):
        if count <= _MOST_SHOWN:
            bounds = _bounds(period.start(ordinal), period.end(ordinal), calendar)
            finding = f"{nulls:,} row{' has' if nulls == 1 else 's have'} NULL, but the measure is NOT NULL"
            yield (name, period.name, *bounds, None, measure, None, None, finding, 1)
    if count > _MOST_SHOWN:
        yield (name, period.name, *[None] * 6, f"{count - _MOST_SHOWN} more are not shown", None)
    if count:
        bounds = _bounds(checked.ranges[0].start, checked.ranges[-1].end, calendar)
        yield (name, period.name, *bounds, *[None] * 4, _DIFFERS, _count(period, checked))


def _bounds(start: int, end: int, calendar: Calendar) -> tuple[str, str]:
    return calendar.text(start), calendar.text(end)


def _periods_without_differences(period: Period, time: RangeSet, differing: Collection[int]) -> RangeSet:
    """Returns the periods of some time, without the differing ones."""
    return time - time_of_ordinals(period, differing)


def file_listings(fact: Fact, requested: RangeSet, context: Context) -> Iterator[tuple[TimeBinding, Listing]]:
    """Yields the files of external bases inside the rollup periods that share time with a range, and of the accepted
    rollups in external tables that share time with it.
    """
    periods = {stored.period for stored in stored_periods(fact)}
    time = RangeSet(
        TimeRange(period.floor(range_.start), period.ceil(range_.end)) for range_ in requested for period in periods
    )
    for name in dict.fromkeys(stored.table.table for stored in stored_periods(fact)):
        table = context.snapshot.table(name)
        binding = external_binding(table, context)
        if binding is not None:
            keys = merge_ranges(
                key
                for period in binding.storage_table.layouts
                for ordinal_range in ordinals_of(period, time if binding.is_base(period) else requested)
                for key in binding.key_ranges(period, ordinal_range)
            )
            yield binding, list_files(binding, context.snapshot.partitions(table, keys), context)


def reject(stored: StoredPeriod, time: RangeSet, doubt: str, context: Context) -> None:
    """Notes in a commit of its own that the partitions of these periods differ from the base. ``doubt`` is the reason,
    in words. Raises ``ConflictError`` where another transaction wrote one of them.
    """
    table = context.snapshot.table(stored.table.table)
    keys = tuple(partition.key for partition in partitions_inside(stored, time, context))
    with context.catalog.begin(context.snapshot) as transaction:
        transaction.commit([RejectPartitions(table, keys, doubt)])


def _judge(
    stored: StoredPeriod,
    agreeing: RangeSet,
    rejected: RangeSet,
    files: Mapping[bytes, str],
    listings: Sequence[Listing],
    context: Context,
) -> None:
    """Notes that the partitions of these periods agree with the base in the statement's snapshot, or differ from it.

    ``files`` are the digests of the files of the partitions that agree, if the table is external. Files of ``listings``
    that have changed since they were listed are noted in the same commit.
    """
    table = context.snapshot.table(stored.table.table)
    keys, differing = (
        tuple(partition.key for partition in partitions_inside(stored, time, context)) if time else ()
        for time in (agreeing, rejected)
    )
    digests = {key: files[key] for key in keys if key in files}
    changes = [AcceptPartitions(table, keys, digests)] if keys else []
    rejections = [RejectPartitions(table, differing, BY_COMPARISON)] if differing else []
    with context.catalog.begin(context.snapshot) as transaction:
        transaction.commit([*listed_again(listings, context), *changes, *rejections])


def _without_digest(stored: StoredPeriod, time: RangeSet, context: Context) -> RangeSet:
    """Returns the time of the rollup partitions of an external table whose files have no digest: they are unproven, or
    an earlier release has accepted them. Partitions of other tables have none.
    """
    table = context.snapshot.table(stored.table.table)
    if not table.external or stored.table.trusted:
        return RangeSet.EMPTY
    binding = TimeBinding(stored.fact, stored.table, table)
    without_digest = (
        partition
        for partition in partitions_inside(stored, time, context)
        if recorded_digest(partition.properties) is None and not holds_base(binding, partition)
    )
    slots = (binding.locate(partition.values) for partition in without_digest)
    return RangeSet(TimeRange(slot.start, slot.end) for slot in slots if slot is not None)


def _rollup_files(stored: StoredPeriod, time: RangeSet, context: Context) -> Mapping[bytes, str]:
    """Returns the digests of the files of the partitions of these periods, by key; none for a managed table."""
    table = context.snapshot.table(stored.table.table)
    return listed_digests(table, partitions_inside(stored, time, context), context) if table.external else {}


def partitions_inside(stored: StoredPeriod, time: RangeSet, context: Context) -> list[Partition]:
    """Returns the partitions of a storage table and period in a time of whole periods."""
    table = context.snapshot.table(stored.table.table)
    binding = TimeBinding(stored.fact, stored.table, table)
    ranges = [
        key
        for ordinal_range in ordinals_of(stored.period, time)
        for key in binding.key_ranges(stored.period, ordinal_range)
    ]
    partitions = []
    for partition in context.snapshot.partitions(table, ranges):
        slot = binding.locate(partition.values)
        if slot is not None and slot.period is stored.period and time.contains(slot.start):
            partitions.append(partition)
    return partitions


def _check_other(fact: Fact, other: Fact, cube: Cube, scope: _Scope, context: Context) -> Iterator[Row]:
    finer, period = sorted((fact.base_period, other.base_period))
    bases, other_bases = base_periods(fact), base_periods(other)
    common_time = complete_base_time(bases, context) & complete_base_time(other_bases, context)
    common_time = common_time if finer.nests_in(period) else RangeSet.EMPTY
    checked = scope.sample(period, inside(ordinals_of(period, within(period, common_time)), period, scope.requested))
    dimensions, measures = carried(fact.columns, cube)
    their_dimensions, their_measures = carried(other.columns, cube)
    comparison = Comparison(
        cube,
        period,
        base_arms(bases, checked, context),
        base_arms(other_bases, checked, context),
        tuple(time for time in fact.times[1:] if time in other.times),
        tuple(column for column in dimensions if column in their_dimensions),
        tuple(measure for measure in measures if measure in their_measures),
    )
    yield from _compared(f"fact {other.name}", comparison, checked, set(), context)


def _compared(
    name: str, comparison: Comparison, checked: RangeSet, differing: set[int], context: Context
) -> Iterator[Row]:
    """Yields the differences as rows, and the summary. Adds the ordinals of differing periods to ``differing``."""
    period, count = comparison.period, 0
    if checked:
        for count, difference in enumerate(differences(comparison, context), start=1):
            differing.add(difference.ordinal)
            if count <= _MOST_SHOWN:
                yield _difference(name, comparison, difference)
        if count > _MOST_SHOWN:
            yield (name, period.name, *[None] * 6, f"{count - _MOST_SHOWN} more differences are not shown", None)
    start = comparison.cube.calendar.text(checked.ranges[0].start) if checked else None
    end = comparison.cube.calendar.text(checked.ranges[-1].end) if checked else None
    finding = "nothing compared" if not checked else _DIFFERS if count else "agrees"
    yield (name, period.name, start, end, *[None] * 4, finding, _count(period, checked))


def _difference(name: str, comparison: Comparison, difference: Difference) -> Row:
    period = comparison.period
    pairs = zip(comparison.keys, difference.values, strict=True)
    row = ", ".join(f"{column.name}={_text(value, literal=True) or 'NULL'}" for column, value in pairs)
    text = comparison.cube.calendar.text
    start, end = text(period.start(difference.ordinal)), text(period.end(difference.ordinal))
    values = (_text(difference.base), _text(difference.found_value))
    return name, period.name, start, end, row or None, difference.measure, *values, difference.finding, None


def difference_text(comparison: Comparison, difference: Difference) -> str:
    """Returns a difference in words."""
    _, period, start, _, row, measure, base, found_value, finding, _ = _difference("", comparison, difference)
    place = f"{period} {start}" if row is None else f"{period} {start}, {row}"
    return f"{place}: {finding}" if measure is None else f"{place}: {measure} is {found_value}, the base has {base}"


def _text(value: object, *, literal: bool = False) -> str | None:
    """Returns a value as text; ``literal`` quotes strings, so that they are not taken for NULL."""
    if value is None or isinstance(value, str):
        return quote(value) if literal and isinstance(value, str) else value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"{len(value):,} bytes, {int.from_bytes(value).bit_count():,} bits set"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _finding_rows(name: str, period: Period, time: RangeSet, finding: str, calendar: Calendar) -> Iterator[Row]:
    for time_range in time:
        texts = (calendar.text(time_range.start), calendar.text(time_range.end))
        yield (name, period.name, *texts, *[None] * 4, finding, _count(period, RangeSet.of(time_range)))


def _shortened(time: RangeSet, calendar: Calendar) -> str:
    """Returns the first ranges, and the number of the others."""
    range_texts = ", ".join(calendar.shown(range_) for range_ in time.ranges[:_RANGES_SHOWN])
    omitted = len(time.ranges) - _RANGES_SHOWN
    return f"{range_texts} and {omitted} more" if omitted > 0 else range_texts


def _count(period: Period, time: RangeSet) -> int:
    return sum(len(ordinals) for ordinals in ordinals_of(period, time))


def _periods_without(period: Period, time: TimeRange, lacking: RangeSet) -> RangeSet:
    """Returns the periods of some time in which nothing is lacking."""
    return RangeSet.of(time) - times(period, ordinals_of(period, lacking))


def _fresh_line(stored: StoredPeriod, context: Context) -> PartitionTimeline:
    """Returns the timeline of the partitions that are whole and fresh, while their storage is valid."""
    line = context.snapshot.timeline(stored.table.table, stored.period, stored.table.time)
    return cut(line, stored.period, window(stored.storage, stored.table, context.planning.now, stored.fact.calendar))


def _unproven_line(stored: StoredPeriod, context: Context) -> PartitionTimeline:
    """Returns the timeline of the unproven partitions, while their storage is valid."""
    line = context.snapshot.unproven(stored.table.table, stored.period, stored.table.time)
    return cut(line, stored.period, window(stored.storage, stored.table, context.planning.now, stored.fact.calendar))


def _candidate(stored: StoredPeriod, context: Context) -> Candidate:
    line = _fresh_line(stored, context)
    return Candidate(stored.fact.name, stored.storage.name, stored.table.table, stored.period, line)


def _arm(stored: StoredPeriod, ranges: Sequence[OrdinalRange], context: Context) -> Arm:
    """Returns the partitions of some periods.

    Raises ``NotSupportedError`` where their other times lie before the zone's calendar is certain.
    """
    table, period, calendar = stored.table, stored.period, stored.fact.calendar
    arm = Arm(context.snapshot.table(table.table), table, table.layouts[period], tuple(ranges))
    uses = [SecondaryTimeUse(other.time, None) for other in table.others]
    arm = replace(arm, extents=extents(uses, table, period, context.snapshot))
    for other in table.others:
        check_certain(arm.within(other.time, calendar), [stored.fact], other.time)
    return arm


# The time of events in RAW tables, which must lie in the period of their partition: a cover reads by partitions, and
# a condition selects by the events' time.

_START = "rewriter_period_start"


def _misplaced_events(arm: Arm, cube: Cube, context: Context) -> Iterator[tuple[int | None, int]]:
    """Yields (ordinal, number of events) for each partition of a RAW table that holds events of another period, or
    without a time, in the order of time. Runs one query over the arm. For the arm of NULL time, the ordinal is
    ``None``, and the counted events are the events that have a time.
    """
    period, time = cube.calendar.of(arm.layout.period), arm.storage_table.time
    parts = relation((arm,), cube, [time], {_START: lambda arm: partition_column(arm, time, cube)})
    # Events without a time belong into the partition of NULL time, and no others.
    own_start = quote_identifier(time) if arm.null_time else period_start(period, time, (arm,), cube.calendar)
    template = SqlTemplate(
        (
            f"SELECT {_START}, COUNT(*) AS events FROM (SELECT {_START}, {own_start} AS own_start FROM ",
            *parts,
            f" AS {quote_identifier('events')}) AS started WHERE NOT (own_start <=> {_START}) GROUP BY {_START} "
            f"ORDER BY {_START}",
        )
    )
    uses = uses_of((arm,))
    context = place_on_cluster(uses, context)
    for batch in context.engine().execute(engine_query(template, uses, context)):
        for start, count in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield None if start is None else period.ordinal((start - _EPOCH) // timedelta(microseconds=1)), count
