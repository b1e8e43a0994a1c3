"""The TABLE clauses of CREATE FACT: periods, layouts and completeness, checked against the cube and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.catalog.binding import UPDATE_PERIOD, declared_period
from rewriter.catalog.models import Column, Completeness, Cube, OtherTime, StorageTable, Table
from rewriter.catalog.names import seen_from
from rewriter.catalog.partition_types import partition_type
from rewriter.catalog.temporary import session_of
from rewriter.context import Context
from rewriter.cubes import not_supported
from rewriter.errors import AnalysisError, Error, IntegrityError, Span
from rewriter.grammar import statements as s
from rewriter.properties import check_storage_table
from rewriter.specs import value_of
from rewriter.timeline.layouts import TimeLayout, check_told_apart
from rewriter.timeline.periods import UpdatePeriod


def storage_table(one: s.FactTable, cube: Cube, columns: tuple[str, ...] | None, context: Context) -> StorageTable:
    if one.table is None:
        raise not_supported("A storage table without a name", one.span, "Name it: TABLE t PERIOD …")
    for flag, hint in _FLAG_HINTS.items():
        if flag in one.flags:
            raise not_supported(flag, one.table.span, hint)
    table = context.table(one.table)
    if session_of(table.name):
        raise AnalysisError(
            f"The temporary table {one.table.last} cannot be a table of a fact, which outlives it.",
            condition="INVALID_TEMP_OBJ_REFERENCE",
            sqlstate="42K0F",
            position=one.table.span,
            object=one.table.last,
            hint=f"Create it without TEMPORARY; default.{one.table.last} is the table that it hides.",
        )
    owner = context.snapshot.fact_using(table.name)
    if owner is not None:
        raise IntegrityError(
            f"The table {table.name} belongs to the fact {seen_from(context.snapshot.current, owner.name)} already.",
            condition="TABLE_IN_USE",
            position=one.table.span,
            object=table.name,
            hint="A table stores one fact. Create another table, or drop that fact.",
        )
    times = _times(one, cube, table)
    types = _time_types(one, table, [column for layout_columns in times.values() for column in layout_columns])
    plain = {time: _layouts(one, layout_columns, types) for time, layout_columns in times.items()}
    _check_property(one.table, table, plain[cube.times[0]])
    of = cube.calendar.of
    layouts = {time: {of(period): layout for period, layout in found.items()} for time, found in plain.items()}
    complete = _completeness(one, cube, table, times)
    _check_carried(one.table, cube, columns, table, [column.column for column in complete])
    leading, *others = layouts
    place = StorageTable(
        table.name,
        leading,
        layouts[leading],
        "TRUSTED" in one.flags,
        complete,
        tuple(OtherTime(time, layouts[time]) for time in others),
        one.start,
        one.end,
    )
    check_storage_table(table, place, one.table.span)
    return place


_FLAG_HINTS = {"RAW": "Leave RAW out: a row's time is then the start of its period."}


def _times(one: s.FactTable, cube: Cube, table: Table) -> dict[str, tuple[s.LayoutColumn, ...]]:
    """The time dimensions, in the cube's spelling and the statement's order, and the columns that name each."""
    if not one.partitioned_by:
        raise invalid_fact(
            f"The table {table.name} needs PARTITIONED BY.",
            one.span,
            f"Add PARTITIONED BY {cube.times[0]} AS (column = 'pattern').",
        )
    times: dict[str, tuple[s.LayoutColumn, ...]] = {}
    for name, columns in one.partitioned_by:
        time = next((known for known in cube.times if known.lower() == name.lower()), None)
        if time is None:
            raise invalid_fact(
                f"{name} is no time dimension of the cube {cube.name}.",
                one.span,
                f"Write PARTITIONED BY {cube.times[0]} AS (…).",
            )
        times[time] = columns
    if next(iter(times)) != cube.times[0]:
        raise invalid_fact(
            f"The table {table.name} must name {cube.times[0]} first: it is the first time dimension of the cube "
            f"{cube.name}, on which completeness is judged.",
            one.span,
            f"Write PARTITIONED BY {cube.times[0]} AS (…) before the others.",
        )
    return times


def _layouts(
    one: s.FactTable, columns: tuple[s.LayoutColumn, ...], types: dict[str, str]
) -> dict[UpdatePeriod, TimeLayout]:
    layouts: dict[UpdatePeriod, TimeLayout] = {}
    if not one.periods:
        raise invalid_fact(
            "A storage table needs a period.", one.span, "Add PERIOD HOURLY, or PERIODS (HOURLY, DAILY)."
        )
    if len(one.periods) > 1 and any(column.pattern is not None for column in columns):
        raise invalid_fact(
            "One pattern cannot name several periods.",
            one.span,
            "Leave the pattern out: each period has its own default.",
        )
    for word in one.periods:
        try:
            period = UpdatePeriod.named(word)
            if period in layouts:
                raise invalid_fact(f"The period {period.name} stands twice.", one.span, "Name each period once.")
            layouts[period] = TimeLayout.of(period, [(column.column, column.pattern) for column in columns], types)
        except Error as error:
            raise error.at(one.span) from None
    try:
        check_told_apart(layouts.values())
    except Error as error:
        raise error.at(one.span) from None
    return layouts


def _time_types(one: s.FactTable, table: Table, columns: Sequence[s.LayoutColumn]) -> dict[str, str]:
    """The types of the layouts' columns, which must be partition columns of the table; each names one time."""
    seen: set[str] = set()
    for column in columns:
        if column.column.lower() in seen:
            raise invalid_fact(
                f"{column.column} stands twice in PARTITIONED BY.", one.span, "Each time has columns of its own."
            )
        seen.add(column.column.lower())
    partitioning = {column.name.lower(): column for column in table.partition_columns}
    types: dict[str, str] = {}
    for column in columns:
        found = partitioning.get(column.column.lower())
        if found is None:
            known = ", ".join(c.name for c in table.partition_columns) or "there are none"
            raise invalid_fact(
                f"{column.column} is no partition column of {table.name}.", one.span, f"The partition columns: {known}."
            )
        types[column.column] = partition_type(found.type).name
    return types


def _check_property(name: s.Name, table: Table, layouts: dict[UpdatePeriod, TimeLayout]) -> None:
    """The table's property that names the period of its partitions agrees with the layouts, where it is set."""
    declared = declared_period(table.properties)
    for period in layouts:
        if declared is not None and period is not declared:
            raise invalid_fact(
                f"The fact says that {table.name} holds {period.name} partitions, and the property {UPDATE_PERIOD} of "
                f"the table says {declared.name}.",
                name.span,
                f"Write PERIOD {declared.name}, or create the table without the property.",
                table.name,
            )


def _completeness(
    one: s.FactTable, cube: Cube, table: Table, times: Mapping[str, Sequence[s.LayoutColumn]]
) -> tuple[Completeness, ...]:
    """What COMPLETE WITH says of each partition column that names no time: it has a rule, and is a dimension."""
    timed = [column.column.lower() for layout in times.values() for column in layout]
    leading = [column.column.lower() for column in times[cube.times[0]]]
    further = [column for column in table.partition_columns if column.name.lower() not in timed]
    rules = {rule.column.lower(): rule for rule in one.complete}
    dimensions = {column.name.lower() for column in cube.dimensions}
    unnamed = [time for time in cube.times if time not in times]
    for column in further:
        if column.name.lower() not in rules:
            raise invalid_fact(
                f"{table.name} is also partitioned by {column.name}: when is a period whole?",
                one.span,
                f"Add COMPLETE WITH {column.name} IN ('…', '…'), or COMPLETE WITH ANY {column.name}."
                + (f" If it names {unnamed[0]}, add PARTITIONED BY {unnamed[0]} AS (…)." if unnamed else ""),
            )
        if column.name.lower() not in dimensions:
            raise invalid_fact(
                f"{table.name} is partitioned by {column.name}, which is no dimension of the cube {cube.name}.",
                one.span,
                f"Declare {column.name} {column.type.upper()} in the cube, or partition the table without it.",
            )
    for rule in one.complete:
        if rule.column.lower() not in {column.name.lower() for column in further}:
            known = ", ".join(column.name for column in further) or "there are none"
            raise AnalysisError(
                f"{rule.column} is no partition column of {table.name} beside those of time.",
                condition="INVALID_FACT",
                position=rule.span,
                object=rule.column,
                hint=f"COMPLETE WITH names the partition columns that name no time: {known}.",
            )
    if {column.name.lower() for column in table.partition_columns[: len(leading)]} != set(leading):
        raise not_supported(
            "A storage table whose partition columns do not begin with those of time",
            one.span,
            "Declare the time columns first in PARTITIONED BY."
            if len(times) == 1
            else f"Declare the columns of {cube.times[0]} first in PARTITIONED BY.",
        )
    return tuple(_listed(column, rules[column.name.lower()]) for column in further)


def _listed(column: Column, rule: s.CompleteWith) -> Completeness:
    if rule.values is None:
        return Completeness(column.name, None)
    return Completeness(column.name, tuple(dict.fromkeys(value_of(column, value) for value in rule.values)))


def _check_carried(name: s.Name, cube: Cube, columns: tuple[str, ...] | None, table: Table, further: list[str]) -> None:
    """The table has the fact's dimensions and measures, with the cube's types, in its files or as ``further``
    partition columns. Those of time do not count: their values differ from period to period.
    """
    carried = {c.name.lower(): c for c in table.all_columns if c in table.columns or c.name in further}
    declared = [*cube.dimensions, *(Column(measure.name, measure.type) for measure in cube.measures)]
    for column in declared:
        if columns is not None and column.name not in columns:
            continue
        found = carried.get(column.name.lower())
        if found is None:
            raise invalid_fact(
                f"The table {table.name} lacks the column {column.name} of the cube {cube.name}.",
                name.span,
                "Add it to the table, or list the fact's columns: CREATE FACT f OF CUBE c (columns).",
                column.name,
            )
        if found.type != column.type:
            raise invalid_fact(
                f"{found.name} is {found.type.upper()} in {table.name}, but {column.type.upper()} in {cube.name}.",
                name.span,
                "Declare both with the same type.",
                column.name,
            )


def invalid_fact(message: str, at: Span, hint: str, named: str | None = None) -> AnalysisError:
    """The error for a fact that contradicts its cube, its tables or itself."""
    return AnalysisError(message, condition="INVALID_FACT", position=at, object=named, hint=hint)
