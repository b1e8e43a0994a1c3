"""The relation that takes a cube's place in a query: one SELECT per (storage table, period), joined by UNION ALL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rewriter.catalog import keys
from rewriter.catalog.keys import KeyRange
from rewriter.catalog.models import Cube, StorageTable, Table
from rewriter.errors import NotSupportedError
from rewriter.planner.literals import string_literal
from rewriter.planner.plan import TableToken, quote_identifier
from rewriter.planner.zones import start_of
from rewriter.timeline.calendars import Calendar, ZonedPeriod
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.timelines import OrdinalRange


@dataclass(frozen=True)
class Arm:
    """The partitions of one period in one storage table; no ranges with ``null_time`` is the partition whose time is
    NULL.
    """

    table: Table
    storage_table: StorageTable
    layout: TimeLayout
    ranges: tuple[OrdinalRange, ...]
    null_time: bool = False


def relation(
    arms: Sequence[Arm], cube: Cube, columns: Sequence[str], extras: Mapping[str, str] | None = None
) -> list[str | TableToken]:
    """``(SELECT … UNION ALL SELECT …)`` over the arms, with ``columns`` of the cube in that order; without arms an
    empty relation. ``extras`` are further numbers: expressions over an arm's table, by name.
    """
    if not arms:
        return [f"({_empty(cube, columns, extras or ())})"]
    parts: list[str | TableToken] = ["("]
    for index, arm in enumerate(arms):
        if index:
            parts.append(" UNION ALL ")
        items = [_column(arm, name, cube.calendar) for name in columns]
        items += [f"{expression} AS {quote_identifier(name)}" for name, expression in (extras or {}).items()]
        parts += [f"SELECT {', '.join(items)} FROM ", TableToken(arm.table)]
        parts.append(f" WHERE {_predicate(arm)}")
    return [*parts, ")"]


def key_ranges(arm: Arm) -> tuple[KeyRange, ...]:
    """The stretches of partition keys in which the arm's partitions lie."""
    types = [column.type for column in arm.table.partition_columns]
    check_layout_order(arm.table, arm.layout)
    if arm.null_time:
        prefix = keys.prefix_of(arm.table.id, types, (None,))
        return (KeyRange(prefix, keys.successor(prefix)),)
    found = []
    for ordinals in arm.ranges:
        first = keys.prefix_of(arm.table.id, types, arm.layout.values(ordinals.start))
        last = keys.prefix_of(arm.table.id, types, arm.layout.values(ordinals.end - 1))
        found.append(KeyRange(first, keys.successor(last)))
    return tuple(found)


def check_layout_order(table: Table, layout: TimeLayout) -> None:
    """Refuses a layout whose columns are not the leading partition columns in order: its time order would not be key
    order.
    """
    leading = [column.name.lower() for column in table.partition_columns][: len(layout.columns)]
    if leading != [column.lower() for column in layout.columns]:
        raise NotSupportedError(
            f"The time layout of {table.name} names its columns in another order than the table's partition columns.",
            object=table.name,
            hint="Declare the time columns first in PARTITIONED BY, coarse to fine.",
        )


def _column(arm: Arm, name: str, calendar: Calendar) -> str:
    if name.lower() != arm.storage_table.time.lower():
        return quote_identifier(name)
    time = "CAST(NULL AS TIMESTAMP)" if arm.null_time else start_expression(arm.layout)
    period = calendar.of(arm.layout.period)
    if isinstance(period, ZonedPeriod) and not arm.null_time:
        time = start_of(period, time, arm.ranges)
    return f"{time} AS {quote_identifier(name)}"


def _empty(cube: Cube, columns: Sequence[str], extras: Iterable[str]) -> str:
    types = {column.name.lower(): column.type for column in cube.dimensions}
    types |= {measure.name.lower(): measure.type for measure in cube.measures}
    items = [
        f"CAST(NULL AS {types.get(name.lower(), 'timestamp').upper()}) AS {quote_identifier(name)}" for name in columns
    ]
    items += [f"CAST(NULL AS BIGINT) AS {quote_identifier(name)}" for name in extras]
    return f"SELECT {', '.join(items)} WHERE 1 = 0"


def start_expression(layout: TimeLayout) -> str:
    """The first instant of a partition's period, as Spark SQL over the layout's columns; in a zone, its wall time."""
    plain = all(
        "'" not in part.pattern and "q" not in part.pattern and "w" not in part.pattern for part in layout.parts
    )
    if plain:
        names = [quote_identifier(part.column) for part in layout.parts]
        text = names[0] if len(names) == 1 else f"concat({', '.join(_separated(names))})"
        pattern = " ".join(part.pattern for part in layout.parts)
        return f"to_timestamp({text}, {string_literal(pattern)})"
    fields = _field_expressions(layout)
    if "ww" in fields:
        # Week 1 of an ISO year is the one with January 4th.
        first = f"date_trunc('week', make_timestamp({fields['YYYY']}, 1, 4, 0, 0, 0))"
        return f"timestampadd(DAY, ({fields['ww']} - 1) * 7, {first})"
    month = fields.get("MM", f"{fields['q']} * 3 - 2" if "q" in fields else "1")
    parts = [fields["yyyy"], month, fields.get("dd", "1"), fields.get("HH", "0"), fields.get("mm", "0"), "0"]
    return f"make_timestamp({', '.join(parts)})"


def _separated(names: Sequence[str]) -> list[str]:
    out = [names[0]]
    for name in names[1:]:
        out += ["' '", name]
    return out


def _field_expressions(layout: TimeLayout) -> dict[str, str]:
    """Each field's number, cut out of the values by position (all values of a layout are of fixed width)."""
    found: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        for field, start, width in layout.fields(index):
            found[field] = f"CAST(substring({quote_identifier(part.column)}, {start + 1}, {width}) AS INT)"
    return found


def _predicate(arm: Arm) -> str:
    """Which partitions, as ranges of plain literals on the partition columns, and by shape where periods share the
    table.
    """
    columns = [quote_identifier(part.column) for part in arm.layout.parts]
    if arm.null_time:
        return f"{columns[0]} IS NULL"
    ranges = [_range(columns, arm.layout, ordinals) for ordinals in arm.ranges]
    chosen = ranges[0] if len(ranges) == 1 else "(" + " OR ".join(f"({one})" for one in ranges) + ")"
    if len(arm.storage_table.layouts) == 1:
        return chosen
    shapes = (f"{column} RLIKE {string_literal(arm.layout.regex(i))}" for i, column in enumerate(columns))
    return " AND ".join([chosen, *shapes])


def _range(columns: Sequence[str], layout: TimeLayout, ordinals: OrdinalRange) -> str:
    first = [string_literal(value) for value in layout.values(ordinals.start)]
    last = [string_literal(value) for value in layout.values(ordinals.end - 1)]
    if first == last:
        return " AND ".join(f"{column} = {value}" for column, value in zip(columns, first, strict=True))
    return f"{_bounded(columns, first, '>')} AND {_bounded(columns, last, '<')}"


def _bounded(columns: Sequence[str], values: Sequence[str], op: str) -> str:
    """``columns >= values`` (or ``<=``) in the order of rows: first column first."""
    if len(columns) == 1:
        return f"{columns[0]} {op}= {values[0]}"
    rest = _bounded(columns[1:], values[1:], op)
    return f"({columns[0]} {op} {values[0]} OR ({columns[0]} = {values[0]} AND {rest}))"
