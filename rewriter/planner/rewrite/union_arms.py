"""The relation that replaces a cube in a query: one SELECT per storage table, joined by UNION ALL.

A table that holds several periods is read once: its arms become one SELECT, with a CASE where their columns differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rewriter.catalog.model.objects import Cube
from rewriter.catalog.model.wider_types import widest
from rewriter.planner.cover.arms import Arm
from rewriter.planner.cover.secondary_times import layout_of
from rewriter.planner.model.plan import TableToken, quote_identifier
from rewriter.planner.rewrite.raw_columns import raw_expression
from rewriter.planner.text.literals import string_literal, timestamp_literal
from rewriter.planner.zones.zone_sql import start_of
from rewriter.timeline.calendars import ZonedPeriod
from rewriter.timeline.layout_parts import DATE, STRING, TIMESTAMP
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.timeline import OrdinalRange

#: The expression of a column over the table of an arm.
Extra = Callable[[Arm], str]
#: The most ranges of an arm that shares a SELECT with other arms of its table.
_MOST_SHARED_RANGES = 16


def relation(
    arms: Sequence[Arm], cube: Cube, columns: Sequence[str], extras: Mapping[str, Extra] | None = None
) -> list[str | TableToken]:
    """``(SELECT … UNION ALL SELECT …)`` over the arms, with ``columns`` of the cube in that order; without arms an
    empty relation. ``extras`` are further columns, by name: each returns its expression over an arm's table.
    """
    if not arms:
        return [f"({_empty(cube, columns, extras or ())})"]
    parts: list[str | TableToken] = ["("]
    types = _measure_types(arms, cube)
    for index, scan in enumerate(scans(arms)):
        if index:
            parts.append(" UNION ALL ")
        predicates = [_predicate(arm) for arm in scan]
        items = [_item(name, [_typed_column(arm, name, cube, types) for arm in scan], predicates) for name in columns]
        items += [_item(name, [extra(arm) for arm in scan], predicates) for name, extra in (extras or {}).items()]
        parts += [f"SELECT {', '.join(items)} FROM ", TableToken(scan[0].table)]
        either = predicates[0] if len(scan) == 1 else " OR ".join(f"({predicate})" for predicate in predicates)
        parts.append(f" WHERE {either}")
    return [*parts, ")"]


def scans(arms: Sequence[Arm]) -> list[list[Arm]]:
    """Returns the arms that one SELECT reads. Arms of one table share it, unless an arm has many ranges, which a CASE
    would repeat.
    """
    scans_by_table: dict[str, list[Arm]] = {}
    others: list[list[Arm]] = []
    for arm in arms:
        if len(arm.ranges) + sum(len(selection.ranges) for selection in arm.secondary_selections) > _MOST_SHARED_RANGES:
            others.append([arm])
        else:
            scans_by_table.setdefault(arm.table.name, []).append(arm)
    return [*scans_by_table.values(), *others]


def _item(name: str, values: Sequence[str], predicates: Sequence[str]) -> str:
    """Returns a column of a SELECT over several arms, from its values and the predicates of the arms."""
    value = values[0]
    if len(set(values)) > 1:
        branches = zip(predicates, values, strict=True)
        value = f"CASE {' '.join(f'WHEN {predicate} THEN {value}' for predicate, value in branches)} END"
    column_name = quote_identifier(name)
    return column_name if value == column_name else f"{value} AS {column_name}"


def _measure_types(arms: Sequence[Arm], cube: Cube) -> dict[str, str]:
    """Returns the type of each measure in the relation, by name in lower case: that of the cube, or the widest one of
    the rollups. Base rows may have a narrower one.
    """
    stored = [_stored_types(arm, cube) for arm in arms]
    names = [measure.name.lower() for measure in cube.measures]
    declared = {measure.name.lower(): measure.type for measure in cube.measures}
    return {name: widest([declared[name], *(types[name] for types in stored if name in types)]) for name in names}


def _stored_types(arm: Arm, cube: Cube) -> dict[str, str]:
    """Returns the types of an arm's columns, by name in lower case. Measures of events have the cube's types."""
    if arm.storage_table.raw is not None:
        return {measure.name.lower(): measure.type for measure in cube.measures}
    return {column.name.lower(): column.type for column in arm.table.columns}


def _typed_column(arm: Arm, name: str, cube: Cube, types: Mapping[str, str]) -> str:
    """Returns the value of a column in an arm's rows, with the type that it has in the relation."""
    value, type_ = arm_column(arm, name, cube), types.get(name.lower())
    if type_ is None or type_ == _stored_types(arm, cube).get(name.lower()):
        return value
    return f"CAST({value} AS {type_.upper()})"


def arm_column(arm: Arm, name: str, cube: Cube) -> str:
    """Returns the value of a column of the cube in an arm's rows."""
    if arm.storage_table.raw is not None:
        return raw_expression(arm.storage_table.raw, arm.table, cube, name)
    return partition_column(arm, name, cube)


def partition_column(arm: Arm, name: str, cube: Cube) -> str:
    """Returns a column of the cube in a table of which all rows of a partition have one time, the start of its period:
    that time, and other columns by their names.
    """
    period = cube.calendar.of(arm.layout.period)
    if name.lower() == arm.storage_table.time.lower():
        start = "CAST(NULL AS TIMESTAMP)" if arm.null_time else start_expression(arm.layout)
    elif any(name.lower() == other.time.lower() for other in arm.storage_table.others):
        start = start_expression(layout_of(arm.storage_table, name, period))
    else:
        return quote_identifier(name)
    if isinstance(period, ZonedPeriod):
        ordinals = arm.ordinals(name)
        start = start_of(period, start, ordinals) if ordinals else "CAST(NULL AS TIMESTAMP)"
    return start


def _empty(cube: Cube, columns: Sequence[str], extras: Iterable[str]) -> str:
    types = {column.name.lower(): column.type for column in cube.dimensions}
    types |= {measure.name.lower(): measure.type for measure in cube.measures}
    items = [
        f"CAST(NULL AS {types.get(name.lower(), 'timestamp').upper()}) AS {quote_identifier(name)}" for name in columns
    ]
    items += [f"CAST(NULL AS BIGINT) AS {quote_identifier(name)}" for name in extras]
    return f"SELECT {', '.join(items)} WHERE 1 = 0"


def start_expression(layout: TimeLayout) -> str:
    """Returns the first instant of a partition's period, as Spark SQL over the layout's columns; in a zone, its wall
    time.
    """
    if len(layout.parts) == 1 and layout.parts[0].type in (DATE, TIMESTAMP):
        # A cast of a TIMESTAMP to itself costs nothing, and leaves no doubt.
        return f"CAST({quote_identifier(layout.parts[0].column)} AS TIMESTAMP)"
    if all(part.type == STRING and not set("'qw") & set(part.pattern) for part in layout.parts):
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
    parts = [names[0]]
    for name in names[1:]:
        parts += ["' '", name]
    return parts


def _field_expressions(layout: TimeLayout) -> dict[str, str]:
    """Returns each field's number, cut out of the values by position (all values of a layout are of fixed width)."""
    expressions: dict[str, str] = {}
    for index, part in enumerate(layout.parts):
        column, fields = quote_identifier(part.column), layout.fields(index)
        for letters, start, width in fields:
            if part.type == DATE:
                expressions[letters] = f"{_DATE_PARTS[letters]}({column})"
            elif part.is_number:
                digits_after = sum(other for _, position, other in fields if position > start)
                number = f"({column} DIV {10**digits_after})" if digits_after else column
                expressions[letters] = f"CAST({number}{f' % {10**width}' if start else ''} AS INT)"
            else:
                expressions[letters] = f"CAST(substring({column}, {start + 1}, {width}) AS INT)"
    return expressions


_DATE_PARTS = {"yyyy": "year", "MM": "month", "dd": "day"}


def _predicate(arm: Arm) -> str:
    """Returns the predicate of an arm: ranges of plain literals on the partition columns, and a test of the values'
    shape where periods share the table.
    """
    columns = _columns(arm.layout)
    other_predicates = [_time_predicate(other.layout, other.ranges) for other in arm.secondary_selections]
    if arm.null_time:
        return " AND ".join([f"{columns[0]} IS NULL", *other_predicates])
    # Numbers of different periods have different lengths, so that none lies in a range of the others.
    shapes = (
        f"{column} RLIKE {string_literal(arm.layout.regex(i))}"
        for i, column in enumerate(columns)
        if arm.layout.parts[i].type == STRING
    )
    predicates = [_time_predicate(arm.layout, arm.ranges), *(shapes if len(arm.storage_table.layouts) > 1 else ())]
    return " AND ".join([*predicates, *other_predicates])


def _columns(layout: TimeLayout) -> list[str]:
    return [quote_identifier(part.column) for part in layout.parts]


def _time_predicate(layout: TimeLayout, wanted: Sequence[OrdinalRange]) -> str:
    ranges = [_range(_columns(layout), layout, ordinals) for ordinals in wanted]
    return ranges[0] if len(ranges) == 1 else "(" + " OR ".join(f"({range_})" for range_ in ranges) + ")"


def _range(columns: Sequence[str], layout: TimeLayout, ordinals: OrdinalRange) -> str:
    first, last = (_literals(layout, ordinal) for ordinal in (ordinals.start, ordinals.end - 1))
    if not layout.text_ordered and first != last:
        # The values' own order differs from the order of time.
        start, end = (timestamp_literal(layout.period.start(o)) for o in (ordinals.start, ordinals.end - 1))
        return f"{start_expression(layout)} BETWEEN {start} AND {end}"
    if first == last:
        return " AND ".join(f"{column} = {value}" for column, value in zip(columns, first, strict=True))
    return f"{_bounded(columns, first, '>')} AND {_bounded(columns, last, '<')}"


def _literals(layout: TimeLayout, ordinal: int) -> list[str]:
    """Returns the period's values as literals of the columns' own types, so that no cast hides a column."""
    values = zip(layout.parts, layout.values(ordinal), strict=True)
    return [value if part.is_number else _WORDS.get(part.type, "") + string_literal(value) for part, value in values]


_WORDS = {DATE: "DATE ", TIMESTAMP: "TIMESTAMP "}


def _bounded(columns: Sequence[str], values: Sequence[str], op: str) -> str:
    """``columns >= values`` (or ``<=``) in the order of rows: first column first."""
    if len(columns) == 1:
        return f"{columns[0]} {op}= {values[0]}"
    remaining = _bounded(columns[1:], values[1:], op)
    return f"({columns[0]} {op} {values[0]} OR ({columns[0]} = {values[0]} AND {remaining}))"
