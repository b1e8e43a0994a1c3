"""The clocks on which the values that name partitions were computed: the clocks of the layout that the partition has.

Hours and minutes are named in UTC, days and longer periods on the clocks of the fact's zone. A function of a cube's
time reads the clocks of the cube's zone. Where these differ, every partition would hold rows of another time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rewriter.errors import NotSupportedError
from rewriter.planner.model.plan import ClockReading, Plan, moved_from, quote_identifier
from rewriter.planner.text.clock_places import WEEK_FIELDS
from rewriter.planner.text.literals import string_literal
from rewriter.statements.write.rollup_proof import fact_binding
from rewriter.timeline.layouts import DATE, TIMESTAMP, LayoutPart, TimeLayout
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.catalog.facts.time_binding import TimeBinding
    from rewriter.runtime.statement_context import Context
    from rewriter.statements.write.insert_target import Target

_UTC = "UTC"
#: The fields of a layout that ``date_format`` has, too.
_FORMATTED = frozenset(("yyyy", "MM", "dd", "HH", "mm"))
#: The others, as SQL over the time; for weeks over the start of the week.
_COMPUTED = {"q": "CAST(quarter({t}) AS STRING)", **WEEK_FIELDS}
#: The units of ``date_trunc`` for periods that begin before the day of a time.
_UNITS = {
    UpdatePeriod.WEEKLY: "week",
    UpdatePeriod.MONTHLY: "month",
    UpdatePeriod.QUARTERLY: "quarter",
    UpdatePeriod.YEARLY: "year",
}


def check_partition_clocks(target: Target, plan: Plan, context: Context) -> None:
    """Raises ``NotSupportedError`` ZONED_TIME, with the right expression, if a value that names a partition was
    computed on other clocks than the layout's. The clocks of plain columns and literals are unknown: nothing is said of
    them.
    """
    binding = fact_binding(target, context)
    if binding is None or len(plan.clock_readings) != len(target.provided):
        return
    readings = {
        column.name.lower(): [
            reading for reading in column_readings if not (reading.is_instant and column.type == TIMESTAMP)
        ]
        for column, column_readings in zip(target.provided, plan.clock_readings, strict=True)
    }
    for layouts in _layouts_by_time(binding):
        names = [column.lower() for column in dict.fromkeys(column for layout in layouts for column in layout.columns)]
        named = [(name, reading) for name in names for reading in readings.get(name, ())]
        for name, reading in named:
            layout = _layout_of(layouts, [other for _, other in named])
            if reading.zone not in _zones_of(layout, binding):
                raise _mismatch(name, reading, layout, target, binding)


def _layouts_by_time(binding: TimeBinding) -> Iterator[Sequence[TimeLayout]]:
    """Yields the layouts of the table for each time dimension, fine to coarse."""
    for layouts in binding.storage_table.layouts_of_times:
        yield [layouts[period] for period in sorted(layouts)]


def _layout_of(layouts: Sequence[TimeLayout], readings: Sequence[ClockReading]) -> TimeLayout:
    """Returns the layout that values computed from these readings name. Of several, it is the layout of the unit on
    which the values depend; only hours and minutes depend on the hour.
    """
    unit = min(reading.unit for reading in readings)
    fitting = [layout for layout in layouts if (layout.period < UpdatePeriod.DAILY) is (unit < UpdatePeriod.DAILY)]
    return min(fitting or layouts, key=lambda layout: abs(layout.period - unit))


def _zone_of(layout: TimeLayout, binding: TimeBinding) -> str:
    return _UTC if layout.period < UpdatePeriod.DAILY else binding.fact.zone


def _zones_of(layout: TimeLayout, binding: TimeBinding) -> tuple[str, ...]:
    """Returns the clocks that may name a layout's partitions. For hours, the owner of a cube without a zone may say
    that its times are times of the fact's zone.
    """
    zone = _zone_of(layout, binding)
    return (zone, moved_from(binding.fact.zone)) if zone == _UTC != binding.fact.zone else (zone,)


def _mismatch(
    name: str, reading: ClockReading, layout: TimeLayout, target: Target, binding: TimeBinding
) -> NotSupportedError:
    table, zone = target.table.name, _zone_of(layout, binding)
    parts = {part.column.lower(): part for part in layout.parts}
    provided = [parts[column.name.lower()] for column in target.provided if column.name.lower() in parts]
    values = [f"{_expression(part, layout, reading, zone)} AS {quote_identifier(part.column)}" for part in provided]
    return NotSupportedError(
        f"{reading.words} reads the clocks of {reading.zone}, but the {layout.period.name} partitions of {table} are "
        f"named by those of {zone}.",
        condition="ZONED_TIME",
        position=reading.position,
        object=name,
        hint=f"Write {', '.join(values)}.",
    )


def _expression(part: LayoutPart, layout: TimeLayout, reading: ClockReading, zone: str) -> str:
    """Returns the value of a part of a partition's name, as SQL over the cube's time."""
    if part.type == TIMESTAMP and layout.period < UpdatePeriod.DAILY:
        unit = "hour" if layout.period is UpdatePeriod.HOURLY else "minute"
        return f"date_trunc('{unit}', {reading.time})"
    time = _time_on(zone, reading)
    start = f"date_trunc('{_UNITS[layout.period]}', {time})" if layout.period in _UNITS else time
    if part.type in (DATE, TIMESTAMP):
        return f"to_date({start})"
    text = _text(part, layout, time, start)
    return f"CAST({text} AS {part.type.upper()})" if part.is_number else text


def _time_on(zone: str, reading: ClockReading) -> str:
    """Returns the cube's time on the clocks of a zone, as SQL."""
    if reading.cube_zone == zone:
        return reading.time
    is_utc = reading.cube_zone == _UTC
    utc = reading.time if is_utc else f"to_utc_timestamp({reading.time}, {string_literal(reading.cube_zone)})"
    return utc if zone == _UTC else f"from_utc_timestamp({utc}, {string_literal(zone)})"


def _text(part: LayoutPart, layout: TimeLayout, time: str, start: str) -> str:
    """Returns the text of a part as SQL. ``time`` lies in the period, which begins at ``start``."""
    if _FORMATTED.issuperset(part.fields):
        return f"date_format({time}, {string_literal(part.pattern)})"
    index = layout.parts.index(part)
    sample = layout.values(0)[index]
    pieces: list[str] = []
    position = 0
    for field, first, width in layout.fields(index):
        pieces += [string_literal(sample[position:first])] if position < first else []
        is_formatted = field in _FORMATTED
        computed = "" if is_formatted else _COMPUTED[field].format(t=start if field in WEEK_FIELDS else time)
        pieces.append(f"date_format({time}, '{field}')" if is_formatted else computed)
        position = first + width
    pieces += [string_literal(sample[position:])] if position < len(sample) else []
    return f"concat({', '.join(pieces)})" if len(pieces) > 1 else pieces[0]
