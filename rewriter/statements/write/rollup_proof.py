"""Proves the rollup partitions that an INSERT writes: that they hold the rows of the base for their time.

The proof accepts the plain form of a rollup: dimensions as they are, each measure by its own aggregate, over
partitions of the fact that are read whole, each into the rollup partition of its time. A query of another form may
be right as well, but nothing shows it: its partitions are unproven, with the reason, until CHECK FACT … ACCEPT has
compared them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from rewriter.catalog.facts.time_binding import Slot, TimeBinding
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.objects import Aggregate, Column, Cube, Fact, Measure, PartitionValues, Table, TableKind
from rewriter.catalog.model.origins import Origin, OriginKind, Origins, merged_origins, over_time
from rewriter.catalog.model.proofs import NO_BASE_READ, REGISTERED
from rewriter.catalog.model.wider_types import is_wider
from rewriter.errors import Error
from rewriter.exec.duckdb.evaluate_predicate import evaluate_condition
from rewriter.planner.cover.sources import split
from rewriter.planner.model.plan import DerivedRows, Plan, Reading, TableUse, quote_identifier
from rewriter.planner.rewrite.additivity import rolls_up, union_precision
from rewriter.planner.scope.column_lineage import columns_in, unwrapped
from rewriter.planner.text.sqlglot_trees import cast_type
from rewriter.statements.query.select import selected_partitions
from rewriter.timeline.calendars import UTC, Calendar, Period
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context
    from rewriter.statements.write.insert_target import Target
    from rewriter.timeline.layouts import TimeLayout
    from rewriter.timeline.timeline import PartitionTimeline

#: The most partitions whose target partitions are computed; the rows of more partitions are unproven.
_MOST_PARTITIONS = 200_000

#: The most characters of a reason that are kept.
_LONGEST_REASON = 300

_RELATION = "base_partitions"
#: The column of the starts of partitions in UTC, and its name in a value, which no column of a cube has.
_UTC_COLUMN, _UTC_TIME = "u_time", "\0utc"
_EPOCH = datetime(1970, 1, 1)

#: Functions of a time dimension whose values are values of the zone's clocks: dates, fields and texts, no instants.
_CLOCK_READERS = (exp.TsOrDsToDate, exp.TimeStrToTime, exp.Hour, exp.Quarter, exp.LastDay)


class _Read(NamedTuple):
    """The partitions of one table that a reference reads, each with its time."""

    source: TimeBinding
    partitions: Sequence[tuple[PartitionValues, Slot]]


class _Given(NamedTuple):
    """The columns that the expressions of a query can use, and a line of their values for each partition that it reads.

    ``names`` are the names of the columns by the names that the query gives them, in lower case.
    """

    columns: Sequence[Column]
    names: Mapping[str, str]
    partitions: Sequence[PartitionValues]


def fact_binding(target: Target, context: Context) -> TimeBinding | None:
    """Returns how the table that an INSERT writes stores its fact; ``None`` where it belongs to no fact."""
    fact = context.snapshot.fact_using(target.table.name)
    storage_table = fact.storage_table(target.table.name) if fact is not None else None
    if fact is None or storage_table is None:
        return None
    return TimeBinding(fact, storage_table, target.table)


def _rollup_binding(target: Target, context: Context) -> TimeBinding | None:
    """Returns the same binding where the table holds rollups; otherwise ``None``."""
    binding = fact_binding(target, context)
    return binding if binding is not None and binding.coarser_periods else None


def deriving(target: Target, context: Context) -> Context:
    """Returns the context for planning the query that fills the table. The planner derives where the rows come from for
    rollups, and for facts beside others; for all tables of a fact, it finds the clocks that values were read off.
    """
    binding = fact_binding(target, context)
    if binding is None:
        return context
    derive = bool(binding.coarser_periods) or len(context.snapshot.facts_of(binding.fact.cube)) > 1
    return replace(context, planning=replace(context.planning, derive=derive, clocks=True))


def doubt_about(plan: Plan, target: Target, context: Context) -> str | None:
    """Returns why the rollup partitions that a planned query fills are unproven; ``None`` where they are proven or are
    no rollups.

    Reads the partitions that the query reads, and computes where their rows go: about 2 µs each.
    """
    binding = _rollup_binding(target, context)
    if binding is None:
        return None
    states = [use.table for reading in plan.readings for use in reading.uses if use.table.kind is TableKind.STATE]
    if states:
        return f"its query reads {states[0].name}, an earlier state"
    if plan.derivation is None:
        return NO_BASE_READ
    if plan.derivation.doubt is not None:
        reads_base = any(_is_of(use, binding.fact) for reading in plan.readings for use in reading.uses)
        return plan.derivation.doubt if reads_base else NO_BASE_READ
    try:
        reads = [
            reference_read
            for rows in plan.derivation.rows
            for reference_read in _check_rows(rows, plan, target, binding, context)
        ]
        _check_once(reads)
    except _Unproven as reason:
        text = str(reason)
        return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…"
    return None


def unproven_warning(doubt: str | None, target: Target, context: Context) -> tuple[str, ...]:
    """Returns the warning that a query of the fact wrote rollups that are not used. There is none for a table that is
    TRUSTED, and none for rows from elsewhere, which no proof can be expected of.
    """
    binding = _rollup_binding(target, context)
    if doubt in (None, NO_BASE_READ) or binding is None or binding.is_trusted:
        return ()
    return (
        f"{target.table.name}: what was written is unproven, and is not used until CHECK FACT {binding.fact.name} "
        f"ACCEPT has compared it: {doubt}",
    )


def keeps_time(plan: Plan, target: Target, context: Context) -> bool:
    """Returns whether the rows that a planned query writes into each partition come from its own time alone, whatever
    it computes of them. Costs like ``doubt_about``. Events of RAW tables have other times than their partitions.
    """
    binding = fact_binding(target, context)
    if binding is None or plan.derivation is None or plan.derivation.doubt is not None:
        return False
    if {rows.reading for rows in plan.derivation.rows} != set(range(len(plan.readings))):
        return False
    try:
        for rows in plan.derivation.rows:
            values = _values(rows, target)
            for use in plan.readings[rows.reading].uses:
                source, partitions = _located(use, context)
                is_raw = source.storage_table.raw is not None
                if is_raw or source.time_key != binding.time_key or not binding.has_base:
                    return False
                _check_period(
                    rows, values, source, partitions, binding.base_period, target, binding, plan.parameters, context
                )
    except _Unproven:
        return False
    return True


def _values(rows: DerivedRows, target: Target) -> dict[str, exp.Expr]:
    """Returns the expressions of the target's columns, by name in lower case."""
    if len(rows.outputs) != len(target.provided):
        raise _Unproven("its query and the table have different numbers of columns")
    return dict(zip((column.name.lower() for column in target.provided), rows.outputs, strict=True))


def _is_of(use: TableUse, fact: Fact) -> bool:
    return fact.storage_table(use.table.name) is not None


def _check_rows(rows: DerivedRows, plan: Plan, target: Target, binding: TimeBinding, context: Context) -> list[_Read]:
    """Checks the form of some rows of the query and the partitions that they go to. Returns what was read for them."""
    reading, fact = plan.readings[rows.reading], binding.fact
    for table in (*(use.table for use in reading.uses), *reading.unread):
        stored = fact.storage_table(table.name)
        if stored is None:
            raise _Unproven(f"its query reads {table.name}, which is not a table of the fact {fact.name}")
        if stored.raw is not None and rows.cube is None:
            raise _Unproven(f"its query reads the events of {table.name} themselves, and not the cube {fact.cube}")
    if rows.computed and any(note.startswith("not used") for note in reading.notes):
        raise _Unproven("its query has a condition that does not select whole partitions")
    cube = context.snapshot.cube(fact.cube)
    values = _values(rows, target)
    _check_columns(rows, values, target, binding, cube)
    reads = [_located(use, context) for use in reading.uses]
    _check_widths(reads, cube.columns_in(fact.columns_of(binding.storage_table)), context)
    _check_targets(rows, values, reads, target, binding, plan.parameters, context)
    return reads


def _located(use: TableUse, context: Context) -> _Read:
    fact = context.snapshot.fact_using(use.table.name)
    stored = None if fact is None else fact.storage_table(use.table.name)
    if fact is None or stored is None:
        raise _Unproven(f"its query reads {use.table.name}, which belongs to no fact")
    source = TimeBinding(fact, stored, use.table)
    slots: list[tuple[PartitionValues, Slot]] = []
    for partition in selected_partitions(use, context):
        slot = source.locate(partition.values)
        if slot is None:
            raise _Unproven(f"its query reads rows of {use.table.name} without a time")
        slots.append((partition.values, slot))
    if len(slots) > _MOST_PARTITIONS:
        raise _Unproven(f"its query reads more than {_MOST_PARTITIONS:,} partitions")
    return _Read(source, slots)


def _check_widths(reads: Sequence[_Read], columns: Collection[str], context: Context) -> None:
    """Checks that the partitions that are read have the columns, in lower case, of the table that is written: those of
    a rollup that got a column later read as NULL.
    """
    for source, partitions in reads:
        table, stored = source.table, source.storage_table
        if stored.last_widening(columns) is not None:
            lines = {p: context.snapshot.lacking(table.name, p, stored.time, columns) for p in stored.layouts}
            for values, slot in partitions:
                if lines[slot.period].exists(slot.ordinal):
                    name = partition_name(table.partition_columns, values)
                    raise _Unproven(f"its query reads {table.name} {name}, which was computed with fewer columns")


def _check_once(reads: Sequence[_Read]) -> None:
    """Checks that no row is counted twice: no partition is read by two references, and no time in two forms."""
    partitions: set[tuple[int, PartitionValues]] = set()
    slots: dict[tuple[int, Period], list[TimeRange]] = {}
    for reference_read in reads:
        table = reference_read.source.table
        for values, slot in reference_read.partitions:
            if (table.id, values) in partitions:
                raise _Unproven(f"its query reads {table.name} {partition_name(table.partition_columns, values)} twice")
            partitions.add((table.id, values))
            slots.setdefault((table.id, slot.period), []).append(TimeRange(slot.start, slot.end))
    before = RangeSet.EMPTY
    for ranges in slots.values():
        times = RangeSet(ranges)
        if times & before:
            raise _Unproven(f"its query reads {reads[0].source.fact.calendar.shown(times & before)} twice")
        before |= times


def _check_targets(
    rows: DerivedRows,
    values: Mapping[str, exp.Expr],
    reads: Sequence[_Read],
    target: Target,
    binding: TimeBinding,
    parameters: Mapping[str, object],
    context: Context,
) -> None:
    """Checks the target of every row: the rollup partition that its own partition names, by time and other columns."""
    for source, partitions in reads:
        for condition in rows.chosen:
            partitions = _satisfying_partitions(condition, partitions, source, target, binding, parameters)
        failures: list[str] = []
        for period in binding.coarser_periods:
            try:
                _check_period(rows, values, source, partitions, period, target, binding, parameters, context)
                break
            except _Unproven as reason:
                failures.append(str(reason))
        else:
            raise _Unproven(failures[0])


def _satisfying_partitions(
    condition: exp.Expr,
    located_partitions: Sequence[tuple[PartitionValues, Slot]],
    source: TimeBinding,
    target: Target,
    binding: TimeBinding,
    parameters: Mapping[str, object],
) -> list[tuple[PartitionValues, Slot]]:
    """Returns the partitions whose rows satisfy a condition on dimensions.

    Both tables must be partitioned by these dimensions. A partition that the statement names must not lose rows by
    the condition.
    """
    refusal = _Unproven(f"its query has a condition that does not select whole partitions of {source.table.name}")
    dimensions = set(columns_in(condition))
    other_times = {other.time.lower() for other in binding.storage_table.others}
    if not dimensions <= set(binding.combination_names) - other_times:
        raise refusal
    source_columns = {
        column.name.lower(): (index, column) for index, column in enumerate(source.table.partition_columns)
    }
    target_columns = {
        column.name.lower(): (index, column) for index, column in enumerate(target.table.partition_columns)
    }
    if any(
        name not in source_columns or source_columns[name][1].type.lower() != target_columns[name][1].type.lower()
        for name in dimensions
    ):
        raise refusal
    given = _list_partition_values(source, located_partitions)
    text = _text(condition, given.names, source_columns[min(dimensions)][1], zoned_time="")
    lines = list(dict.fromkeys(given.partitions))
    try:
        truths = dict(zip(lines, evaluate_condition(text, _RELATION, given.columns, lines, parameters), strict=True))
    except Error:
        raise refusal from None
    if None in truths.values():
        raise refusal
    static = {
        name: target.spec.static[index] for name, (index, _) in target_columns.items() if index in target.spec.static
    }
    for partition in lines:
        own_values = {name: partition[source_columns[name][0]] for name in dimensions}
        if not truths[partition] and all(name in static and static[name] == own_values[name] for name in dimensions):
            raise _Unproven("its query leaves out rows of the partition that its statement names")
    return [located for located in located_partitions if truths[located[0]]]


def _check_period(
    rows: DerivedRows,
    values: Mapping[str, exp.Expr],
    source: TimeBinding,
    located_partitions: Sequence[tuple[PartitionValues, Slot]],
    period: Period,
    target: Target,
    binding: TimeBinding,
    parameters: Mapping[str, object],
    context: Context,
) -> None:
    """Checks the same for the rollup partitions of one period."""
    dimensions = {dimension.name.lower() for dimension in context.snapshot.cube(binding.fact.cube).dimensions}
    free_names = {name for name in dimensions & values.keys() if _is_column(values[name], name)}
    expected = [
        _expected_partition(source, partition, slot, period, binding, free_names)
        for partition, slot in located_partitions
    ]
    computed = _check_static_columns(values, source, located_partitions, expected, target)
    if not computed or not expected:
        return
    if rows.cube is None:
        given = _list_partition_values(source, located_partitions)
    else:
        given = _list_cube_values(source, located_partitions, binding)
    zoned = rows.cube is not None and not binding.fact.calendar.is_utc
    zoned_time = source.storage_table.time.lower() if zoned else ""
    texts = [_text(value, given.names, column, zoned_time) for column, value in computed]
    _check_computed_columns([column for column, _ in computed], texts, given, expected, source, parameters)


def _check_static_columns(
    values: Mapping[str, exp.Expr],
    source: TimeBinding,
    located_partitions: Sequence[tuple[PartitionValues, Slot]],
    expected: Sequence[Mapping[str, str | None]],
    target: Target,
) -> list[tuple[Column, exp.Expr]]:
    """Checks the partition columns whose values the statement names. Returns the others, which its query computes, with
    their expressions.
    """
    partition_columns = target.table.partition_columns
    indexes = {column.name.lower(): index for index, column in enumerate(partition_columns)}
    computed: list[tuple[Column, exp.Expr]] = []
    for name in expected[0] if expected else ():
        index = indexes[name]
        if index not in target.spec.static:
            computed.append((partition_columns[index], values[name]))
            continue
        static_value = target.spec.static[index]
        for (partition, _), expected_values in zip(located_partitions, expected, strict=True):
            if expected_values[name] != static_value:
                partition_text = partition_name(source.table.partition_columns, partition)
                raise _Unproven(
                    f"its query reads {source.table.name} {partition_text}, which is outside the range that it writes"
                )
    return computed


def _list_partition_values(source: TimeBinding, located_partitions: Sequence[tuple[PartitionValues, Slot]]) -> _Given:
    """Returns what a query of the table itself has of each partition: the values of its columns."""
    partition_columns = source.table.partition_columns
    return _Given(
        [Column(f"p_{column.name}", column.type) for column in partition_columns],
        {column.name.lower(): f"p_{column.name}" for column in partition_columns},
        [partition for partition, _ in located_partitions],
    )


def _list_cube_values(
    source: TimeBinding, located_partitions: Sequence[tuple[PartitionValues, Slot]], binding: TimeBinding
) -> _Given:
    """Returns what a query of the cube has of each partition: its start, by the clocks of the fact and in UTC, and the
    dimensions that it is partitioned by.
    """
    time = source.storage_table.time
    times = {name.lower() for name in (time, *(other.time for other in source.storage_table.others))}
    own_values = [
        (position, column)
        for position, column in enumerate(source.table.partition_columns)
        if column.name.lower() in binding.combination_names and column.name.lower() not in times
    ]
    columns = [
        Column(f"p_{time}", "timestamp"),
        Column(_UTC_COLUMN, "timestamp"),
        *(Column(f"p_{column.name}", column.type) for _, column in own_values),
    ]
    names = {time.lower(): f"p_{time}", **{column.name.lower(): f"p_{column.name}" for _, column in own_values}}
    partitions: list[PartitionValues] = [
        (
            _wall_text(slot.start, binding.fact.calendar),
            _wall_text(slot.start, UTC),
            *(partition[position] for position, _ in own_values),
        )
        for partition, slot in located_partitions
    ]
    return _Given(columns, names, partitions)


def _check_computed_columns(
    computed_columns: Sequence[Column],
    texts: Sequence[str],
    given: _Given,
    expected: Sequence[Mapping[str, str | None]],
    source: TimeBinding,
    parameters: Mapping[str, object],
) -> None:
    """Checks that the texts, computed for each partition that is read, give the values where its rows belong."""
    wanted_columns = [Column(f"w_{column.name}", column.type) for column in computed_columns]
    condition = " AND ".join(
        f"(CAST(({text}) AS {column.type.upper()}) <=> {quote_identifier(column.name)})"
        for text, column in zip(texts, wanted_columns, strict=True)
    )
    lines = sorted(
        {
            (*given_values, *(expected_values[column.name.lower()] for column in computed_columns))
            for given_values, expected_values in zip(given.partitions, expected, strict=True)
        },
        key=lambda line: [value or "" for value in line],
    )
    try:
        truths = evaluate_condition(condition, _RELATION, [*given.columns, *wanted_columns], lines, parameters)
    except Error as error:
        raise _Unproven(f"the partitions that its query writes cannot be computed: {error.message}") from None
    if not all(truths):
        line = lines[truths.index(next(truth for truth in truths if not truth))]
        partition_text = ", ".join(str(value) for value in line[: len(given.columns)])
        rows_text = f"rows of {source.table.name} {partition_text}"
        raise _Unproven(f"its query puts {rows_text} into a partition that does not match their time")


def _expected_partition(
    source: TimeBinding,
    partition: PartitionValues,
    slot: Slot,
    period: Period,
    binding: TimeBinding,
    free_names: Collection[str],
) -> dict[str, str | None]:
    """Returns the values of the target's partition columns where rows of a partition belong, by name in lower case.

    Leaves out the columns of ``free_names``, whose values each row brings by itself.
    """
    storage_table = binding.storage_table
    values = dict(_layout_values(storage_table.layouts[period], slot, period))
    other_slots = dict(source.other_slots(partition))
    for other in storage_table.others:
        other_slot = other_slots.get(other.time.lower())
        layout = other.layouts[period]
        values |= (
            dict(_layout_values(layout, other_slot, period))
            if other_slot
            else {name.lower(): None for name in layout.columns}
        )
    own_values = dict(zip((column.name.lower() for column in source.table.partition_columns), partition, strict=True))
    for column in binding.combination_names:
        if column in {other.time.lower() for other in storage_table.others}:
            continue
        if column in own_values:
            values[column] = own_values[column]
        elif column not in free_names:
            raise _Unproven(f"{source.table.name} is not partitioned by {column}")
    return values


def _layout_values(layout: TimeLayout, slot: Slot, period: Period) -> Iterator[tuple[str, str | None]]:
    ordinal = period.ordinal(slot.start)
    if slot.end > period.end(ordinal):
        raise _Unproven(f"{slot.period.name} periods do not nest in {period.name} ones")
    for column, value in zip(layout.columns, layout.values(ordinal), strict=True):
        yield column.lower(), value


def _wall_text(instant: int, calendar: Calendar) -> str:
    """Returns an instant on the clocks of a zone, as TIMESTAMP reads it: '2013-01-29 06:00:00'."""
    return (_EPOCH + timedelta(microseconds=calendar.wall(instant))).isoformat(" ")


def _with_utc_times(value: exp.Expr, time: str) -> exp.Expr:
    """Returns a copy of a value in which ``to_utc_timestamp(t, 'zone')`` is a column. ``time`` is the name of t; the
    planner allows no other zone than the cube's.
    """
    copied = value.copy()
    for call in list(copied.find_all(exp.FromTimeZone)):
        if [column.name.lower() for column in call.find_all(exp.Column)] == [time]:
            call.replace(exp.column(_UTC_TIME))
    return copied


def _text(value: exp.Expr, names: Mapping[str, str], column: Column, zoned_time: str) -> str:
    """Returns the Spark SQL of a partition value over the values of partitions that were read.

    ``zoned_time`` is the name of the time of a cube with a zone, or ''. It is a wall time there, so only functions that
    read clocks may take it. Functions that read the clocks of UTC take another column.
    """
    if zoned_time:
        value = _with_utc_times(value, zoned_time)
        names = {**names, _UTC_TIME: _UTC_COLUMN}
    if zoned_time and not all(isinstance(node.parent, _CLOCK_READERS) for node in value.find_all(exp.Column)):
        raise _Unproven(f"its query computes the partition column {column.name} from an instant in a zone")
    copied = value.copy()
    for node in list(copied.find_all(exp.Column)):
        read_column = names.get(node.name.lower())
        if read_column is None:
            raise _Unproven(f"its query computes the partition column {column.name} from {node.name}")
        node.replace(exp.column(exp.to_identifier(read_column, quoted=True))) if node is not copied else None
    if isinstance(copied, exp.Column):
        return quote_identifier(names[copied.name.lower()])
    return copied.sql(dialect="spark")


# Proves the columns of a rollup that an INSERT writes: dimensions as they are, measures by their aggregates.


class _Unproven(Exception):
    """The reason why nothing proves the rows of a query, in words."""


def _check_columns(
    rows: DerivedRows, values: Mapping[str, exp.Expr], target: Target, binding: TimeBinding, cube: Cube
) -> None:
    """Checks that dimensions stay as they are and measures use their aggregates. Covers all columns of the fact."""
    fact, types = binding.fact, {column.name.lower(): column.type for column in target.table.all_columns}
    own = fact.columns_of(binding.storage_table)
    carried = None if own is None else {name.lower() for name in own}
    static = {target.table.partition_columns[index].name.lower() for index in target.spec.static}
    for measure in cube.measures:
        name = measure.name.lower()
        if carried is not None and name not in carried:
            continue
        if name not in values:
            raise _Unproven(f"its statement leaves out the measure {measure.name}")
        if name in rows.grouped:
            raise _Unproven(f"its query groups by the measure {measure.name}")
        if not _is_rolled_up(values[name], types[name], measure, cube, rows):
            second = measure.ordered_by if measure.precision is None else measure.precision
            arguments = measure.name if second is None else f"{measure.name}, {second}"
            computed = f"{measure.aggregate.rollup_function}({arguments})"
            raise _Unproven(f"its query does not compute {measure.name} as {computed}")
    for dimension in cube.dimensions:
        name = dimension.name.lower()
        if (carried is not None and name not in carried) or name in static:
            continue
        if name not in values:
            raise _Unproven(f"its statement leaves out the dimension {dimension.name}")
        if not _is_column(_uncast(values[name], types[name]), name):
            raise _Unproven(f"its query computes the dimension {dimension.name}")


def _is_column(value: exp.Expr, name: str) -> bool:
    """Returns whether a value is the column of that name, in lower case, as it is."""
    value = unwrapped(value)
    return isinstance(value, exp.Column) and value.name.lower() == name


def _is_rolled_up(value: exp.Expr, stored: str, measure: Measure, cube: Cube, rows: DerivedRows) -> bool:
    """Returns whether a value is the measure of its source rows, by its own aggregate at every level.

    ``stored`` is the type of its column in the table.
    """
    value = _uncast(value, stored, measure.type)
    counted = isinstance(value, exp.Count) and isinstance(value.this, exp.Star)
    if rows.cube is not None and counted and measure.aggregate is Aggregate.COUNT:
        return cube.count_measure == measure
    depth = 0
    while rolls_up(value, measure) and union_precision(value) == measure.precision:
        argument = value.expressions[0] if isinstance(value, exp.AnonymousAggFunc) else value.this
        value, depth = _uncast(argument, stored, measure.type), depth + 1
    return (depth > 0) is rows.aggregated and _is_column(value, measure.name.lower())


def _uncast(value: exp.Expr, stored: str, declared: str | None = None) -> exp.Expr:
    """Returns a value without casts that keep it or fail: to the type of its column, which an INSERT makes by itself,
    and to a wider type than the one that the cube declares. TRY_CAST does not fail.
    """
    value = unwrapped(value)
    while isinstance(value, exp.Cast) and not value.args.get("safe"):
        type_ = cast_type(value)
        if type_ != stored.lower().replace(" ", "") and not (declared is not None and is_wider(type_, declared)):
            break
        value = unwrapped(value.this)
    return value


# The contents of facts that the query of a write has read, as the origins of the partitions that it writes.
#
# A table that is filled from a cube, or from tables of a fact, has a copy of the events of that fact: changes there
# make the copy outdated. A copy of a copy rests on the first fact, too, also through tables of no fact.


def read_origins(table: Table, readings: Sequence[Reading], context: Context) -> Origins:
    """Returns the origins of what a query has read for a table: the facts of other tables, and what these rest on.

    Reads the partitions that were read, and one indexed statement for each table.
    """
    fact = context.snapshot.fact_using(table.name)
    uses = (use for reading in readings for use in reading.uses if use.table.kind.is_in_catalog)
    columns = [column.name for column in table.all_columns]
    return merged_origins(origin for use in uses for origin in _origins(use, fact, columns, context))


def _origins(use: TableUse, target: Fact | None, columns: Collection[str], context: Context) -> Iterator[Origin]:
    snapshot = context.snapshot
    inherited, fact = snapshot.origins(use.table), snapshot.fact_using(use.table.name)
    is_copy = fact is not None and (target is None or fact.id != target.id)
    if not inherited and not is_copy:
        return
    stored = None if fact is None else fact.storage_table(use.table.name)
    binding = None if fact is None or stored is None else TimeBinding(fact, stored, use.table)
    fresh = {} if binding is None else _fresh(binding, columns, context)
    read_at = snapshot.state.sequence
    copied: list[Slot] = []
    for partition in selected_partitions(use, context):
        slot = None if binding is None else binding.locate(partition.values)
        if binding is None or slot is None:
            yield from inherited.get(partition.key, ())
            continue
        is_base, is_fresh = binding.is_base(slot.period), fresh[slot.period].exists(slot.ordinal)
        is_promised = binding.is_trusted and not is_base
        rests_on = () if is_promised else inherited.get(partition.key, ())
        for origin in over_time(rests_on, slot.start, slot.end) if is_base else rests_on:
            yield origin._replace(as_of=read_at) if is_fresh else origin
        if is_copy and (is_base or is_fresh):
            copied.append(slot)
        elif fact is not None and is_copy:  # A rollup that is not fresh is older than any change.
            yield from _copied(fact, REGISTERED, slot.start, slot.end, context)
        if is_copy and is_promised:
            yield Origin(OriginKind.TRUSTED, use.table.id, int(slot.period), read_at, slot.start, slot.end)
    if is_copy and fact is not None:
        # The query read all time from its first partition to its last one, also where a partition was absent.
        start, end = min((slot.start for slot in copied), default=0), max((slot.end for slot in copied), default=0)
        yield from _copied(fact, read_at, start, end, context)
        # A copy without partitions to read has its own source, which may get rows later.
        sources = () if copied else itertools.chain.from_iterable(inherited.values())
        yield from (origin._replace(start=0, end=0) for origin in sources if origin.kind is OriginKind.COPIED)


def _copied(fact: Fact, as_of: int, start: int, end: int, context: Context) -> Iterator[Origin]:
    """Yields the origins of a copy of a fact's events: all its base tables, whichever tables were read."""
    for stored in fact.tables:
        binding = TimeBinding(fact, stored, context.snapshot.table(stored.table))
        if binding.has_base:
            yield Origin(OriginKind.COPIED, binding.table.id, int(binding.base_period), as_of, start, end)


def _fresh(binding: TimeBinding, columns: Collection[str], context: Context) -> Mapping[Period, PartitionTimeline]:
    """Returns the timelines of a table of a fact, without the partitions that lack one of some columns: a copy of them
    has NULL there.
    """
    stored, snapshot = binding.storage_table, context.snapshot
    lines = {period: snapshot.timeline(binding.table.name, period, binding.time_key) for period in stored.layouts}
    if stored.last_widening(columns) is None:
        return lines
    lacking = {period: snapshot.lacking(binding.table.name, period, stored.time, columns) for period in lines}
    return {period: split(line, lacking[period])[0] for period, line in lines.items()}
