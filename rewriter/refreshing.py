"""REFRESH FACT: recomputes the rollups that are missing or outdated from the base period."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

from rewriter.catalog.changes import PartitionWrite, WritePartitions
from rewriter.catalog.models import Column, Cube, PartitionValues, Table
from rewriter.catalog.time_keys import time_values
from rewriter.checking import (
    Place,
    base_arms,
    base_places,
    carried,
    inside,
    ordinals_of,
    places,
    times,
    whole_base,
    within,
)
from rewriter.comparing import aggregated, engine_query, period_start, time_of, uses_of
from rewriter.context import Context
from rewriter.coverage import asked, overlapping
from rewriter.errors import Error, InternalError
from rewriter.exec.engine import Write, WrittenFile
from rewriter.grammar import statements as s
from rewriter.managed import grouped, write_managed
from rewriter.planner.arms import Arm, relation
from rewriter.planner.literals import string_literal
from rewriter.planner.plan import Reading, SqlTemplate, TableToken, quote_identifier
from rewriter.planner.validity import window
from rewriter.planner.zones import wall_time
from rewriter.result import Result, Row
from rewriter.showing import listing, named_fact, strings
from rewriter.specs import key_range
from rewriter.timeline.calendars import Period, ZonedPeriod
from rewriter.timeline.layout_parts import DATE, TIMESTAMP
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet, TimeRange


def refresh_fact(statement: s.RefreshFact, context: Context) -> Result:
    """Recomputes every rollup partition that is missing or outdated and whose base is wholly there.

    Rows of (table, period, from, to, was, status, partitions); ``was`` is ``missing`` or ``outdated``; ``status`` is
    ``refreshed``, ``to refresh`` with DRY RUN, or begins with ``skipped`` and the reason. Partitions that share time
    with the range are in it. One query and one transaction for each (storage table, period), all of them over what the
    statement saw at its start; what came later has made them outdated again, and is told.

    Raises ``ConflictError`` (retryable) where another transaction wrote the same partitions meanwhile; those that were
    refreshed before stay so.
    """
    fact = named_fact(statement.fact, context)
    cube = context.snapshot.cube(fact.cube)
    whole = whole_base(base_places(fact), context)
    everything = TimeRange(whole.ranges[0].start, whole.ranges[-1].end) if whole else None
    wanted = asked(statement, fact, context, everything)
    rows: list[Row] = []
    try:
        for place in places(fact):
            if place.period is not fact.base_period:
                rows += _refresh(place, cube, whole, wanted, statement.dry_run, context)
    except Error as error:
        error.position = None  # It was a place in a query that nobody typed.
        raise error.at(statement.fact.span) from None
    columns = (*strings("table", "period", "from", "to", "was", "status"), Column("partitions", "bigint"))
    return listing("REFRESH FACT", columns, rows)


def _refresh(
    place: Place, cube: Cube, whole: RangeSet, wanted: RangeSet, dry_run: bool, context: Context
) -> Iterator[Row]:
    table, period = context.snapshot.table(place.table.table), place.period
    fresh = times(period, context.snapshot.timeline(table.name, period, place.table.time).ranges())
    stale = inside(context.snapshot.outdated(table.name, period, place.table.time).ranges(), period, wanted)
    valid = window(place.storage, place.table, context.planning.now, place.fact.calendar)
    possible = inside(ordinals_of(period, within(period, whole & valid)), period, wanted)
    missing = possible - fresh - stale
    reason = _unfit(place, table, cube)
    if reason is not None:
        yield from _rows(cube, table, period, missing, "missing", reason)
        yield from _rows(cube, table, period, stale, "outdated", reason)
        return
    chosen = possible - fresh
    status = "to refresh"
    if chosen and not dry_run:
        _write(place, table, cube, chosen, context)
        after = context.catalog.snapshot().timeline(table.name, period, place.table.time)
        again = chosen - times(period, after.ranges())
        yield from _rows(cube, table, period, again, "outdated", "outdated again: its base has changed meanwhile")
        chosen, status = chosen - again, "refreshed"
    yield from _rows(cube, table, period, chosen & missing, "missing", status)
    yield from _rows(cube, table, period, chosen & stale, "outdated", status)
    yield from _rows(cube, table, period, stale - possible, "outdated", "skipped: its base is not wholly there")


def _unfit(place: Place, table: Table, cube: Cube) -> str | None:
    """Why the table is not refreshed, if it is not."""
    if not place.fact.base_period.nests_in(place.period):
        return f"skipped: {place.fact.base_period.name} periods do not add up to {place.period.name} ones"
    if table.external:
        return "skipped: the table is external"
    if place.table.trusted:
        return "skipped: the table is TRUSTED"
    dimensions, measures = carried(place.fact, cube)
    known = {dimension.name.lower() for dimension in dimensions} | {measure.name.lower() for measure in measures}
    known |= {time.lower() for time in place.table.times}
    known |= {column.lower() for layout in _layouts(place).values() for column in layout.columns}
    surplus = [column.name for column in table.all_columns if column.name.lower() not in known]
    return f"skipped: the fact does not know the column {surplus[0]}" if surplus else None


def _write(place: Place, table: Table, cube: Cube, chosen: RangeSet, context: Context) -> None:
    arms = base_arms(base_places(place.fact), chosen, context)
    uses = uses_of(arms)
    query = engine_query(_template(place, table, cube, arms), uses, context)

    def fill(folder: str) -> tuple[WrittenFile, ...]:
        write = Write(folder, table.format, table.columns, table.partition_columns)
        return tuple(file for file in context.engine().write(query, write) if file.rows != 0)

    def change(write_id: int, files: Sequence[WrittenFile]) -> WritePartitions:
        found = grouped(files)
        layout, runs = place.table.layouts[place.period], ordinals_of(place.period, chosen)
        ordinals = (ordinal for run in runs for ordinal in range(run.start, run.end))
        period = place.period
        # A date that a zone leaves out has no partition.
        named = [time_values(table, layout, one) for one in ordinals if period.start(one) < period.end(one)]
        targets = list(_targets(place, table, named, found.keys()))
        if found.keys() - set(targets):
            raise InternalError(f"rows of {table.name} fell into partitions that were not to be refreshed")
        parts = tuple(PartitionWrite(values, found.get(values, ())) for values in targets)
        # What else the periods consisted of is nothing from now on.
        wipes = tuple(key_range(table, time) for time in named) if place.table.parted else ()
        return WritePartitions(table, write_id, parts, overwrite=True, wipes=wipes)

    write_managed(table, fill, change, (Reading(uses),), context)


def _template(place: Place, table: Table, cube: Cube, arms: Sequence[Arm]) -> SqlTemplate:
    """The base aggregated to the period, with the columns in the table's order, then the partition columns."""
    dimensions, measures = carried(place.fact, cube)
    layouts = _layouts(place)
    starts = {time: f"t{number}" for number, time in enumerate(layouts)}
    groups = [*starts.values(), *(f"d{number}" for number in range(len(dimensions)))]
    values = {column.name.lower(): f"d{number}" for number, column in enumerate(dimensions)}
    values |= {
        measure.name.lower(): f"CAST(v{number} AS {measure.type.upper()})" for number, measure in enumerate(measures)
    }
    calendar = cube.calendar
    for time, start in starts.items():
        values[time.lower()] = start
        named = start
        if isinstance(place.period, ZonedPeriod):
            # The first rows of another time may lie inside a period, which begins before them.
            rows = time_of(arms, time, calendar)
            named = wall_time(calendar, start, TimeRange(place.period.floor(rows.start), rows.end))
        values |= _time_texts(layouts[time], named)
    items = [f"{values[column.name.lower()]} AS {quote_identifier(column.name)}" for column in table.all_columns]
    rolled = [f"{aggregated(measure, f'm{number}')} AS v{number}" for number, measure in enumerate(measures)]
    cut = {time: period_start(place.period, time, arms, calendar) for time in starts}
    plain = [f"{cut[time]} AS {start}" for time, start in starts.items()]
    plain += [f"{quote_identifier(column.name)} AS d{number}" for number, column in enumerate(dimensions)]
    plain += [f"{quote_identifier(measure.name)} AS m{number}" for number, measure in enumerate(measures)]
    columns = [*starts, *(column.name for column in dimensions), *(measure.name for measure in measures)]
    parts: list[str | TableToken] = [
        f"SELECT {', '.join(items)} FROM (SELECT {', '.join([*groups, *rolled])} FROM (SELECT {', '.join(plain)} FROM ",
        *relation(arms, cube, columns),
        f" AS base) AS plain GROUP BY {', '.join(groups)}) AS rolled",
    ]
    return SqlTemplate(tuple(parts))


def _layouts(place: Place) -> dict[str, TimeLayout]:
    """How the partitions of the place name each time dimension, the leading one first."""
    table, period = place.table, place.period
    return {table.time: table.layouts[period]} | {other.time: other.layouts[period] for other in table.others}


#: The year and the number of a period's ISO week, which begins on a Monday and belongs to its Thursday's year.
_WEEK_FIELDS = {
    "YYYY": "lpad(CAST(year(date_add(to_date({t}), 3)) AS STRING), 4, '0')",
    "ww": "lpad(CAST(weekofyear({t}) AS STRING), 2, '0')",
}
#: Where a timestamp's text has a field of a layout: place from 1, and width.
_FIELDS = {"yyyy": (1, 4), "MM": (6, 2), "dd": (9, 2), "HH": (12, 2), "mm": (15, 2)}


def _time_texts(layout: TimeLayout, t: str) -> dict[str, str]:
    """Each time partition column's value for the period that begins at the wall time ``t``, as SQL; NULL of NULL."""
    sample = layout.values(0)
    found: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        if part.type in (DATE, TIMESTAMP):
            # A day of a zone that begins with a gap is named by its midnight all the same.
            whole_days = part.type == TIMESTAMP and layout.period >= UpdatePeriod.DAILY
            named = f"date_trunc('DAY', {t})" if whole_days else t
            found[part.column.lower()] = f"CAST({named} AS {part.type.upper()})"
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
        found[part.column.lower()] = f"CAST({text} AS {part.type.upper()})" if part.is_number else text
    return found


def _field(field: str, t: str) -> str:
    if field in _WEEK_FIELDS:
        return _WEEK_FIELDS[field].format(t=t)
    if field == "q":
        return f"CAST(quarter({t}) AS STRING)"
    place, width = _FIELDS[field]
    return f"substring(CAST({t} AS STRING), {place}, {width})"


def _targets(
    place: Place, table: Table, named: Sequence[PartitionValues], found: Collection[PartitionValues]
) -> Iterator[PartitionValues]:
    """The partitions that some periods consist of afterwards: those with rows, and empty ones to be whole."""
    if not place.table.parted:
        yield from named
        return
    rules = {one.column.lower(): one.values for one in place.table.complete}
    # Of the columns behind those of the leading time; another time may have any value.
    listed = [rules.get(column.name.lower()) for column in table.partition_columns[len(named[0]) :]]
    written: dict[PartitionValues, list[PartitionValues]] = {time: [] for time in named}
    for values in found:
        written.setdefault(values[: len(named[0])], []).append(values)
    for time in named:
        yield from written[time]
        yield from _lacking(listed, time, written[time])


def _lacking(
    listed: Sequence[tuple[str | None, ...] | None], time: PartitionValues, there: Sequence[PartitionValues]
) -> Iterator[PartitionValues]:
    """What COMPLETE WITH asks for and no partition has. Where any value serves, NULL does."""
    known = {tuple(None if some is None else v for v, some in zip(values[len(time) :], listed, strict=True))
             for values in there}  # fmt: skip
    for combination in itertools.product(*((None,) if some is None else some for some in listed)):
        if combination not in known:
            yield (*time, *combination)


def _rows(cube: Cube, table: Table, period: Period, time: RangeSet, was: str, status: str) -> Iterator[Row]:
    for one in time:
        ends = (cube.calendar.text(one.start), cube.calendar.text(one.end))
        yield (table.name, period.name, *ends, was, status, len(overlapping(period, one)))
