"""REFRESH FACT: recomputes the rollups that are missing or outdated from the base period."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from rewriter.catalog.facts.time_key_ranges import time_values
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.objects import Column, Cube, Fact, PartitionValues, Table
from rewriter.errors import DataError, Error, InternalError
from rewriter.exec.engine import Write, WrittenFile
from rewriter.grammar.families import timelines as s
from rewriter.planner.cover.arms import Arm
from rewriter.planner.cover.validity import window
from rewriter.planner.model.plan import Reading, SqlTemplate, TableToken, quote_identifier
from rewriter.planner.rewrite.union_arms import relation
from rewriter.planner.text.literals import string_literal
from rewriter.planner.zones.zone_sql import wall_time
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.check_fact import (
    base_arms,
    base_listings,
    carried,
    complete_base_time,
    inside,
    ordinals_of,
)
from rewriter.statements.maintain.fact_comparison import aggregated, engine_query, period_start, time_of, uses_of
from rewriter.statements.resolve.fact_periods import StoredPeriod, base_periods, stored_periods, times, within
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.statements.resolve.partition_specs import key_range
from rewriter.statements.show.coverage import asked, overlapping
from rewriter.statements.write.external_base_changes import note_listed, read_base
from rewriter.statements.write.managed_write import WriteChange, grouped, write_managed
from rewriter.statements.write.sink_choice import grouped_sink, packing_of
from rewriter.timeline.calendars import Period, ZonedPeriod
from rewriter.timeline.layout_parts import DATE, TIMESTAMP
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange


@runs(s.RefreshFact)
def refresh_fact(statement: s.RefreshFact, context: Context) -> Result:
    """Recomputes every rollup partition that is missing or unused and whose base is complete; with FORCE also fresh
    ones.

    The files of external bases are listed first; changes among them outdate rollups. Rows of (table, period, from,
    to, was, status, partitions). ``was`` is ``missing``, ``outdated``, ``incomplete``, ``unproven`` or ``fresh``;
    ``status`` is ``refreshed``, ``to refresh`` with DRY RUN, or begins with ``skipped`` and the reason. Partitions
    that share time with the range are included. Runs one query and one transaction for each (storage table, period),
    all of them over the state at the statement's start. Later changes outdate the partitions again, and the rows
    report that.

    Raises ``ConflictError`` (retryable) where another transaction wrote the same partitions meanwhile. Partitions
    that were refreshed before stay so.
    """
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    base_time = complete_base_time(base_periods(fact), context)
    everything = TimeRange(base_time.ranges[0].start, base_time.ranges[-1].end) if base_time else None
    range_ = asked(statement, fact, context, everything)
    rows: list[Row] = []
    try:
        changed_time = _changed_files(fact, range_, statement.dry_run, context)
        if not statement.dry_run:
            context = context.renewed()
        for stored in stored_periods(fact):
            if not stored.is_base:
                rows += _refresh(stored, cube, base_time, range_, changed_time, statement, context)
    except Error as error:
        error.position = None  # The position was in a generated query.
        raise error.at(statement.fact.span) from None
    columns = (*strings("table", "period", "from", "to", "was", "status"), Column("partitions", "bigint"))
    return listing("REFRESH FACT", columns, rows)


def _changed_files(fact: Fact, requested: RangeSet, dry_run: bool, context: Context) -> RangeSet:
    """Lists the files of external bases inside the rollup periods that share time with the range.

    Returns the time in which some files have changed. The changes are committed, unless it is a dry run.
    """
    changed_time = RangeSet.EMPTY
    for binding, files in base_listings(fact, requested, context):
        slots = (binding.locate(partition.values) for partition in files.changed.values())
        changed_time |= RangeSet(TimeRange(slot.start, slot.end) for slot in slots if slot is not None)
        if not dry_run:
            note_listed(files, context)
    return changed_time


def _refresh(
    stored: StoredPeriod,
    cube: Cube,
    base_time: RangeSet,
    requested: RangeSet,
    changed_time: RangeSet,
    statement: s.RefreshFact,
    context: Context,
) -> Iterator[Row]:
    table, period, dry_run = context.snapshot.table(stored.table.table), stored.period, statement.dry_run
    useless = {
        was: inside(line(table.name, period, stored.table.time).ranges(), period, requested)
        for was, line in context.snapshot.unused_timelines.items()
    }
    fresh_ranges = context.snapshot.timeline(table.name, period, stored.table.time).ranges()
    # The timelines do not contain the changes that a dry run found.
    by_files = inside(fresh_ranges, period, changed_time) if dry_run else RangeSet.EMPTY
    useless["outdated"] |= by_files
    fresh = times(period, fresh_ranges) - by_files
    stale = RangeSet(range_ for time in useless.values() for range_ in time)
    valid = window(stored.storage, stored.table, context.planning.now, stored.fact.calendar)
    computable = inside(ordinals_of(period, within(period, base_time & valid)), period, requested)
    missing = computable - fresh - stale
    forced = computable & fresh if statement.force else RangeSet.EMPTY
    reason = obstacle(stored, table, cube)
    if reason is not None:
        yield from _rows(cube, table, period, missing, "missing", reason)
        for was, time in (*useless.items(), ("fresh", forced)):
            yield from _rows(cube, table, period, time, was, reason)
        return
    recomputed = (computable - fresh) | forced
    status = "to refresh"
    if recomputed and not dry_run:
        _write(stored, table, cube, recomputed, context)
        after = context.catalog.snapshot().timeline(table.name, period, stored.table.time)
        unfinished = recomputed - times(period, after.ranges())
        yield from _rows(
            cube, table, period, unfinished, "outdated", "outdated again: its base has changed in the meantime"
        )
        recomputed, status = recomputed - unfinished, "refreshed"
    yield from _rows(cube, table, period, recomputed & missing, "missing", status)
    yield from _rows(cube, table, period, recomputed & forced, "fresh", status)
    for was, time in useless.items():
        yield from _rows(cube, table, period, recomputed & time, was, status)
        yield from _rows(cube, table, period, time - computable, was, "skipped: its base is incomplete")


def obstacle(stored: StoredPeriod, table: Table, cube: Cube) -> str | None:
    """Returns why the table is not refreshed; ``None`` if it is."""
    if not stored.fact.base_period.nests_in(stored.period):
        return f"skipped: {stored.fact.base_period.name} periods do not add up to {stored.period.name} ones"
    if table.external:
        return "skipped: the table is external"
    if stored.table.trusted:
        return "skipped: the table is TRUSTED"
    dimensions, measures = carried(stored.fact, cube)
    columns = {dimension.name.lower() for dimension in dimensions} | {measure.name.lower() for measure in measures}
    columns |= {time.lower() for time in stored.table.times}
    columns |= {column.lower() for layout in _layouts(stored).values() for column in layout.columns}
    rounded = set(cube.rounded_sums(table)) & {measure.name for measure in measures}
    if rounded:
        return f"skipped: {min(rounded)} is FLOAT in this table, which would round its sums"
    surplus = [column.name for column in table.all_columns if column.name.lower() not in columns]
    return f"skipped: the fact has no column {surplus[0]}" if surplus else None


def _write(stored: StoredPeriod, table: Table, cube: Cube, recomputed: RangeSet, context: Context) -> None:
    arms = base_arms(base_periods(stored.fact), recomputed, context)
    uses = uses_of(arms)
    query = engine_query(_template(stored, table, cube, arms), uses, context)

    def fill(folder: str) -> tuple[WrittenFile, ...]:
        sink = grouped_sink(context)
        write = Write(
            folder,
            table.format,
            table.columns,
            table.partition_columns,
            packing=packing_of(table, sink),
            options=table.file_options,
            sink=sink,
        )
        return tuple(file for file in context.engine().write(query, write) if file.rows != 0)

    def change(write_id: int, files: Sequence[WrittenFile]) -> list[WriteChange]:
        by_values = grouped(files)
        layout, runs = stored.table.layouts[stored.period], ordinals_of(stored.period, recomputed)
        ordinals = (ordinal for run in runs for ordinal in range(run.start, run.end))
        period = stored.period
        # A date that a zone leaves out has no partition.
        values_of_times = [
            time_values(table, layout, ordinal) for ordinal in ordinals if period.start(ordinal) < period.end(ordinal)
        ]
        targets = list(_targets(stored, table, values_of_times, by_values.keys()))
        if by_values.keys() - set(targets):
            if stored.fact.is_raw:
                raise _misplaced(stored.fact)
            raise InternalError(f"rows of {table.name} belong to partitions that were not selected for the refresh")
        parts = tuple(PartitionWrite(values, by_values.get(values, ())) for values in targets)
        # All other partitions of the periods become empty.
        wipes = tuple(key_range(table, time) for time in values_of_times) if stored.table.parted else ()
        return [WritePartitions(table, write_id, parts, overwrite=True, wipes=wipes)]

    write_managed(table, fill, change, (Reading(uses),), context, read_base(table, uses, query.relations, context))


def _misplaced(fact: Fact) -> DataError:
    events = next(table.table for table in fact.tables if table.raw is not None)
    return DataError(
        f"Events of {events} lie outside the periods of their partitions.",
        condition="TIME_OUTSIDE_PARTITION",
        object=events,
        hint=f"CHECK FACT {fact.name} lists the partitions. Write these events into the partitions of their time.",
    )


def _template(stored: StoredPeriod, table: Table, cube: Cube, arms: Sequence[Arm]) -> SqlTemplate:
    """Returns the base aggregated to the period, with the columns in the table's order, then the partition columns."""
    dimensions, measures = carried(stored.fact, cube)
    layouts = _layouts(stored)
    starts = {time: f"t{number}" for number, time in enumerate(layouts)}
    groups = [*starts.values(), *(f"d{number}" for number in range(len(dimensions)))]
    values = {column.name.lower(): f"d{number}" for number, column in enumerate(dimensions)}
    values |= {
        measure.name.lower(): f"CAST(v{number} AS {measure.rollup_type.upper()})"
        for number, measure in enumerate(measures)
    }
    calendar = cube.calendar
    for time, start in starts.items():
        values[time.lower()] = start
        start_name = start
        if isinstance(stored.period, ZonedPeriod):
            # The first rows of another time may lie inside a period, which begins before them.
            rows = time_of(arms, time, calendar)
            start_name = wall_time(calendar, start, TimeRange(stored.period.floor(rows.start), rows.end))
        values |= _time_texts(layouts[time], start_name)
    items = [f"{values[column.name.lower()]} AS {quote_identifier(column.name)}" for column in table.all_columns]
    rolled = [f"{aggregated(measure, f'm{number}')} AS v{number}" for number, measure in enumerate(measures)]
    cut = {time: period_start(stored.period, time, arms, calendar) for time in starts}
    start_items = [f"{cut[time]} AS {start}" for time, start in starts.items()]
    start_items += [f"{quote_identifier(column.name)} AS d{number}" for number, column in enumerate(dimensions)]
    start_items += [f"{quote_identifier(measure.name)} AS m{number}" for number, measure in enumerate(measures)]
    columns = [*starts, *(column.name for column in dimensions), *(measure.name for measure in measures)]
    parts: list[str | TableToken] = [
        f"SELECT {', '.join(items)} FROM (SELECT {', '.join([*groups, *rolled])} FROM "
        f"(SELECT {', '.join(start_items)} FROM ",
        *relation(arms, cube, columns),
        f" AS base) AS plain GROUP BY {', '.join(groups)}) AS rolled",
    ]
    return SqlTemplate(tuple(parts))


def _layouts(stored: StoredPeriod) -> dict[str, TimeLayout]:
    """Returns how the partitions of the place name each time dimension, the leading one first."""
    table, period = stored.table, stored.period
    return {table.time: table.layouts[period]} | {other.time: other.layouts[period] for other in table.others}


#: The year and the number of a period's ISO week, which begins on a Monday and belongs to its Thursday's year.
_WEEK_FIELDS = {
    "YYYY": "lpad(CAST(year(date_add(to_date({t}), 3)) AS STRING), 4, '0')",
    "ww": "lpad(CAST(weekofyear({t}) AS STRING), 2, '0')",
}
#: The position of a layout's field in a timestamp's text: start from 1, and width.
_FIELDS = {"yyyy": (1, 4), "MM": (6, 2), "dd": (9, 2), "HH": (12, 2), "mm": (15, 2)}


def _time_texts(layout: TimeLayout, t: str) -> dict[str, str]:
    """Returns each time partition column's value for the period that begins at the wall time ``t``, as SQL; NULL of
    NULL.
    """
    sample = layout.values(0)
    texts: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        if part.type in (DATE, TIMESTAMP):
            # A day of a zone that begins with a gap is still named by its midnight.
            whole_days = part.type == TIMESTAMP and layout.period >= UpdatePeriod.DAILY
            date_expression = f"date_trunc('DAY', {t})" if whole_days else t
            texts[part.column.lower()] = f"CAST({date_expression} AS {part.type.upper()})"
            continue
        pieces: list[str] = []
        position = 0
        for field, start, width in layout.fields(index):
            if position < start:
                pieces.append(string_literal(sample[index][position:start]))
            pieces.append(_field(field, t))
            position = start + width
        if position < len(sample[index]):
            pieces.append(string_literal(sample[index][position:]))
        text = f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]
        texts[part.column.lower()] = f"CAST({text} AS {part.type.upper()})" if part.is_number else text
    return texts


def _field(field: str, t: str) -> str:
    if field in _WEEK_FIELDS:
        return _WEEK_FIELDS[field].format(t=t)
    if field == "q":
        return f"CAST(quarter({t}) AS STRING)"
    position, width = _FIELDS[field]
    return f"substring(CAST({t} AS STRING), {position}, {width})"


def _targets(
    stored: StoredPeriod, table: Table, named_values: Sequence[PartitionValues], computed: Collection[PartitionValues]
) -> Iterator[PartitionValues]:
    """Yields the partitions that some periods consist of afterwards: those with rows, and empty ones to make them
    complete.
    """
    if not stored.table.parted:
        yield from named_values
        return
    rules = {rule.column.lower(): rule.values for rule in stored.table.complete}
    # The columns behind those of the leading time; another time may have any value.
    required_values = [rules.get(column.name.lower()) for column in table.partition_columns[len(named_values[0]) :]]
    targets_by_time: dict[PartitionValues, list[PartitionValues]] = {time: [] for time in named_values}
    for values in computed:
        targets_by_time.setdefault(values[: len(named_values[0])], []).append(values)
    for time in named_values:
        yield from targets_by_time[time]
        yield from _lacking(required_values, time, targets_by_time[time])


def _lacking(
    required_values: Sequence[tuple[str | None, ...] | None],
    time: PartitionValues,
    existing_partitions: Sequence[PartitionValues],
) -> Iterator[PartitionValues]:
    """Yields the partitions that COMPLETE WITH requires and that do not exist. Where any value serves, NULL does."""
    existing = {
        tuple(
            None if required is None else value
            for value, required in zip(values[len(time) :], required_values, strict=True)
        )
        for values in existing_partitions
    }
    for combination in itertools.product(*((None,) if required is None else required for required in required_values)):
        if combination not in existing:
            yield (*time, *combination)


def _rows(cube: Cube, table: Table, period: Period, time: RangeSet, was: str, status: str) -> Iterator[Row]:
    for time_range in time:
        texts = (cube.calendar.text(time_range.start), cube.calendar.text(time_range.end))
        yield (table.name, period.name, *texts, was, status, len(overlapping(period, time_range)))
