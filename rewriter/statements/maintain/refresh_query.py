"""The query of REFRESH FACT: the base of a fact, aggregated to the periods of a rollup table."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.catalog.model.objects import Cube, Table
from rewriter.planner.cover.arms import Arm
from rewriter.planner.model.plan import SqlTemplate, TableToken, quote_identifier
from rewriter.planner.rewrite.union_arms import relation
from rewriter.planner.text.literals import string_literal
from rewriter.planner.text.week_fields import WEEK_FIELDS
from rewriter.planner.zones.zone_sql import wall_time
from rewriter.statements.maintain.check_fact import carried
from rewriter.statements.maintain.fact_comparison import aggregated, period_start, time_of
from rewriter.statements.resolve.fact_periods import StoredPeriod
from rewriter.timeline.calendars import ZonedPeriod
from rewriter.timeline.layout_parts import DATE, TIMESTAMP
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import TimeRange


def rollup_query(stored: StoredPeriod, table: Table, cube: Cube, arms: Sequence[Arm]) -> SqlTemplate:
    """Returns the base aggregated to the period, with the columns in the table's order, then the partition columns."""
    dimensions, measures = carried(stored.fact, cube)
    layouts = layouts_of(stored)
    starts = {time: f"t{number}" for number, time in enumerate(layouts)}
    groups = [*starts.values(), *(f"d{number}" for number in range(len(dimensions)))]
    values = {column.name.lower(): f"d{number}" for number, column in enumerate(dimensions)}
    types = {column.name.lower(): column.type.upper() for column in table.columns}
    values |= {
        measure.name.lower(): f"CAST(v{number} AS {types[measure.name.lower()]})"
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


def layouts_of(stored: StoredPeriod) -> dict[str, TimeLayout]:
    """Returns how the partitions of the place name each time dimension, the leading one first."""
    table, period = stored.table, stored.period
    return {table.time: table.layouts[period]} | {other.time: other.layouts[period] for other in table.others}


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
    if field in WEEK_FIELDS:
        return WEEK_FIELDS[field].format(t=t)
    if field == "q":
        return f"CAST(quarter({t}) AS STRING)"
    position, width = _FIELDS[field]
    return f"substring(CAST({t} AS STRING), {position}, {width})"
