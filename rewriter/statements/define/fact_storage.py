"""The TABLE clauses of CREATE FACT: periods, layouts and completeness, checked against the cube and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import UPDATE_PERIOD, declared_period
from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.keys.values import hidden_column
from rewriter.catalog.model.objects import (
    Column,
    Completeness,
    Cube,
    Fact,
    OtherTime,
    StorageTable,
    Table,
    database_of,
    seen_from,
)
from rewriter.catalog.model.temporary_views import session_of
from rewriter.catalog.model.wider_types import is_wider
from rewriter.errors import AnalysisError, Error, IntegrityError, Span
from rewriter.grammar.families.facts import LayoutColumn
from rewriter.grammar.terms import Name
from rewriter.runtime.statement_context import Context, single
from rewriter.statements.define.cubes import not_supported
from rewriter.statements.define.raw_tables import raw_columns, transform_of_time
from rewriter.statements.define.table_properties import check_storage_table
from rewriter.statements.resolve.partition_specs import value_of
from rewriter.timeline.layouts import TimeLayout, check_distinguishable
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.grammar.families import facts as s


def with_table_names(block: s.FactStorage, fact: Name, context: Context) -> s.FactStorage:
    """Returns a block whose tables are all named. A table without TABLE is ``<storage>_<fact>``, in the database of the
    fact.

    Raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND if such a table does not exist.
    """
    return replace(block, tables=tuple(_with_table_name(clause, block, fact, context) for clause in block.tables))


def _with_table_name(clause: s.FactTable, block: s.FactStorage, fact: Name, context: Context) -> s.FactTable:
    if clause.table is not None:
        return clause
    # With its database, it is no temporary table.
    name = Name((database_of(single(fact)), f"{block.name}_{fact.last}"), clause.span)
    if context.named(name) is None:
        raise AnalysisError(
            f"the table or view '{name.last}' cannot be found",
            condition="TABLE_OR_VIEW_NOT_FOUND",
            sqlstate="42P01",
            position=clause.span,
            object=name.last,
            hint="Without TABLE, the name of the table is <storage>_<fact>: create it first, or write TABLE t.",
        )
    return replace(clause, table=name)


def storage_table(clause: s.FactTable, cube: Cube, columns: tuple[str, ...] | None, context: Context) -> StorageTable:
    """Returns a named table of a storage block, which fits the cube. Raises INVALID_FACT and TABLE_IN_USE for one that
    does not.
    """
    assert clause.table is not None
    name = clause.table
    table = context.table(name)
    if session_of(table.name):
        raise AnalysisError(
            f"The temporary table {clause.table.last} cannot be a table of a fact: the fact outlives it.",
            condition="INVALID_TEMP_OBJ_REFERENCE",
            sqlstate="42K0F",
            position=clause.table.span,
            object=clause.table.last,
            hint=f"Create it without TEMPORARY; default.{clause.table.last} refers to the permanent table "
            "of that name.",
        )
    owner = context.snapshot.fact_using(table.name)
    if owner is not None:
        raise IntegrityError(
            f"The table {table.name} already belongs to the fact {seen_from(context.snapshot.current, owner.name)}.",
            condition="TABLE_IN_USE",
            position=clause.table.span,
            object=table.name,
            hint="A table stores one fact. Create another table, or drop that fact.",
        )
    clause = _with_transform(clause, cube, table)
    times = _times(clause, cube, table)
    types = _time_types(clause, table, [column for layout_columns in times.values() for column in layout_columns])
    layouts_by_time = {time: _layouts(clause, layout_columns, types) for time, layout_columns in times.items()}
    _check_property(name, table, layouts_by_time[cube.times[0]])
    period_of = cube.calendar.of
    layouts = {
        time: {period_of(period): layout for period, layout in by_period.items()}
        for time, by_period in layouts_by_time.items()
    }
    complete = _completeness(clause, cube, table, times)
    other_columns = tuple(column.column for column in complete)
    raw = raw_columns(clause, cube, columns, table, other_columns)
    own = _own_columns(clause, name, cube, columns, table, other_columns) if raw is None else None
    leading, *other_times = layouts
    stored = StorageTable(
        table.name,
        leading,
        layouts[leading],
        "TRUSTED" in clause.flags,
        complete,
        tuple(OtherTime(time, layouts[time]) for time in other_times),
        clause.start,
        clause.end,
        raw=raw,
        columns=own,
        retain=clause.retain,
    )
    check_storage_table(table, stored, name.span)
    return stored


def _with_transform(clause: s.FactTable, cube: Cube, table: Table) -> s.FactTable:
    """Returns the clause of a RAW table with the period and the layout that follow from a transform of the time, where
    it states neither. Raises INVALID_FACT for a table of sums with a hidden partition column.
    """
    hidden = hidden_column(table)
    if hidden is not None and clause.raw is None:
        raise invalid_fact(
            f"The hidden partition column {hidden.name} of {table.name} is computed from single events.",
            clause.span,
            "Write RAW for a table of events. Partition a table of sums by a column.",
            table.name,
        )
    if clause.raw is None or clause.periods or clause.partitioned_by:
        return clause
    named = transform_of_time({column.column: column.expression for column in clause.raw}, cube, table)
    if named is None or named.transform is None:
        return clause
    layout = (cube.times[0], (LayoutColumn(named.name),))
    return replace(clause, periods=(named.transform.period.name,), partitioned_by=(layout,))


def _times(clause: s.FactTable, cube: Cube, table: Table) -> dict[str, tuple[s.LayoutColumn, ...]]:
    """Returns the columns that name each time dimension, in the cube's spelling and the statement's order."""
    if not clause.partitioned_by:
        raise invalid_fact(
            f"The table {table.name} needs PARTITIONED BY.",
            clause.span,
            f"Add PARTITIONED BY {cube.times[0]} AS (column = 'pattern').",
        )
    times: dict[str, tuple[s.LayoutColumn, ...]] = {}
    for name, columns in clause.partitioned_by:
        time = next((cube_time for cube_time in cube.times if cube_time.lower() == name.lower()), None)
        if time is None:
            raise invalid_fact(
                f"{name} is not a time dimension of the cube {cube.name}.",
                clause.span,
                f"Write PARTITIONED BY {cube.times[0]} AS (…).",
            )
        times[time] = columns
    if next(iter(times)) != cube.times[0]:
        raise invalid_fact(
            f"The table {table.name} must name {cube.times[0]} first: it is the first time dimension of the cube "
            f"{cube.name}, which determines completeness.",
            clause.span,
            f"Write PARTITIONED BY {cube.times[0]} AS (…) before the other times.",
        )
    return times


def _layouts(
    clause: s.FactTable, columns: tuple[s.LayoutColumn, ...], types: dict[str, str]
) -> dict[UpdatePeriod, TimeLayout]:
    layouts: dict[UpdatePeriod, TimeLayout] = {}
    if not clause.periods:
        raise invalid_fact(
            "A storage table needs a period.", clause.span, "Add PERIOD HOURLY, or PERIODS (HOURLY, DAILY)."
        )
    if len(clause.periods) > 1 and any(column.pattern is not None for column in columns):
        raise invalid_fact(
            "One pattern cannot name several periods.",
            clause.span,
            "Leave the pattern out: each period has its own default.",
        )
    for word in clause.periods:
        try:
            period = UpdatePeriod.named(word)
            if period in layouts:
                raise invalid_fact(f"The period {period.name} occurs twice.", clause.span, "Name each period once.")
            layouts[period] = TimeLayout.of(period, [(column.column, column.pattern) for column in columns], types)
        except Error as error:
            raise error.at(clause.span) from None
    try:
        check_distinguishable(layouts.values())
    except Error as error:
        raise error.at(clause.span) from None
    return layouts


def _time_types(clause: s.FactTable, table: Table, columns: Sequence[s.LayoutColumn]) -> dict[str, str]:
    """Returns the types of the layouts' columns, which must be partition columns of the table; each names one time."""
    names: set[str] = set()
    for column in columns:
        if column.column.lower() in names:
            raise invalid_fact(
                f"{column.column} occurs twice in PARTITIONED BY.",
                clause.span,
                "Each time dimension needs its own columns.",
            )
        names.add(column.column.lower())
    partitioning = {column.name.lower(): column for column in table.partition_columns}
    types: dict[str, str] = {}
    for column in columns:
        partition_column = partitioning.get(column.column.lower())
        if partition_column is None:
            partition_columns = ", ".join(c.name for c in table.partition_columns) or "there are none"
            raise invalid_fact(
                f"{column.column} is not a partition column of {table.name}.",
                clause.span,
                f"The partition columns: {partition_columns}.",
            )
        types[column.column] = partition_type(partition_column.type).name
    return types


def _check_property(name: Name, table: Table, layouts: dict[UpdatePeriod, TimeLayout]) -> None:
    """Checks that the table's property that names the period of its partitions, where set, agrees with the layouts."""
    declared = declared_period(table.properties)
    for period in layouts:
        if declared is not None and period is not declared:
            raise invalid_fact(
                f"The fact declares that {table.name} holds {period.name} partitions, but the property "
                f"{UPDATE_PERIOD} of the table is {declared.name}.",
                name.span,
                f"Write PERIOD {declared.name}, or create the table without the property.",
                table.name,
            )


def _completeness(
    clause: s.FactTable, cube: Cube, table: Table, times: Mapping[str, Sequence[s.LayoutColumn]]
) -> tuple[Completeness, ...]:
    """Returns the COMPLETE WITH rule of each partition column that names no time.

    Raises unless each such column has a rule and is a dimension.
    """
    timed = [column.column.lower() for layout in times.values() for column in layout]
    leading = [column.column.lower() for column in times[cube.times[0]]]
    other_columns = [column for column in table.partition_columns if column.name.lower() not in timed]
    rules = {rule.column.lower(): rule for rule in clause.complete}
    unnamed = [time for time in cube.times if time not in times]
    _check_rules(clause, other_columns, rules, unnamed, cube, table)
    if {column.name.lower() for column in table.partition_columns[: len(leading)]} != set(leading):
        raise not_supported(
            "A storage table whose partition columns do not begin with the time columns",
            clause.span,
            "Declare the time columns first in PARTITIONED BY."
            if len(times) == 1
            else f"Declare the columns of {cube.times[0]} first in PARTITIONED BY.",
        )
    return tuple(_listed_values(column, rules[column.name.lower()]) for column in other_columns)


def _check_rules(
    clause: s.FactTable,
    other_columns: Sequence[Column],
    rules: Mapping[str, s.CompleteWith],
    unnamed: Sequence[str],
    cube: Cube,
    table: Table,
) -> None:
    """Checks that each column that names no time is a dimension with a rule, and that there are no other rules.

    ``unnamed`` are the time dimensions that no partition column names.
    """
    dimensions = {column.name.lower() for column in cube.dimensions}
    for column in other_columns:
        if column.name.lower() not in rules:
            raise invalid_fact(
                f"{table.name} is also partitioned by {column.name}: the fact must declare when a period is complete.",
                clause.span,
                f"Add COMPLETE WITH {column.name} IN ('…', '…'), or COMPLETE WITH ANY {column.name}."
                + (f" If it names {unnamed[0]}, add PARTITIONED BY {unnamed[0]} AS (…)." if unnamed else ""),
            )
        if column.name.lower() not in dimensions:
            raise invalid_fact(
                f"{table.name} is partitioned by {column.name}, which is not a dimension of the cube {cube.name}.",
                clause.span,
                f"Declare {column.name} {column.type.upper()} in the cube, or partition the table without it.",
            )
    for rule in clause.complete:
        if rule.column.lower() not in {column.name.lower() for column in other_columns}:
            further_names = ", ".join(column.name for column in other_columns) or "there are none"
            raise AnalysisError(
                f"{rule.column} is not a partition column of {table.name} that is outside the time layout.",
                condition="INVALID_FACT",
                position=rule.span,
                object=rule.column,
                hint=f"COMPLETE WITH names the partition columns outside the time layout: {further_names}.",
            )


def _listed_values(column: Column, rule: s.CompleteWith) -> Completeness:
    if rule.values is None:
        return Completeness(column.name, None)
    return Completeness(column.name, tuple(dict.fromkeys(value_of(column, value) for value in rule.values)))


def _own_columns(
    clause: s.FactTable,
    name: Name,
    cube: Cube,
    columns: tuple[str, ...] | None,
    table: Table,
    other_columns: Sequence[str],
) -> tuple[str, ...] | None:
    """Returns the dimensions and measures that the table has, of the cube's types, in its files or as
    ``other_columns``: those that the clause lists, or else those among its columns; ``None`` for all of the fact.

    Time columns do not count: their values differ from period to period. A measure may have another number of the same
    kind (``measure_columns``).
    """
    carried = {c.name.lower(): c for c in table.all_columns if c in table.columns or c.name in other_columns}
    listed = None if clause.columns is None else {column.lower() for column in clause.columns}
    declared = [*cube.dimensions, *(Column(measure.name, measure.type) for measure in cube.measures)]
    of_fact = [column for column in declared if columns is None or column.name in columns]
    _check_listed(clause, name, of_fact, other_columns)
    measures = {measure.name for measure in cube.measures}
    own: list[str] = []
    for column in of_fact:
        stored = carried.get(column.name.lower())
        if listed is not None and column.name.lower() not in listed:
            continue
        if stored is None and listed is None:
            continue
        if stored is None:
            raise invalid_fact(
                f"The table {table.name} has no column {column.name}.",
                name.span,
                "List the columns of the cube that the table has, or leave the list out.",
                column.name,
            )
        is_alike = is_wider(stored.type, column.type) or is_wider(column.type, stored.type)
        if stored.type != column.type and not (column.name in measures and is_alike):
            raise invalid_fact(
                f"{stored.name} is {stored.type.upper()} in {table.name}, but {column.type.upper()} in {cube.name}.",
                name.span,
                "Declare both with the same type.",
                column.name,
            )
        own.append(column.name)
    return None if len(own) == len(of_fact) else tuple(own)


def _check_listed(clause: s.FactTable, name: Name, of_fact: Sequence[Column], other_columns: Sequence[str]) -> None:
    """Checks that the columns that a clause lists are dimensions and measures of the fact. A partition column that
    names no time is one of them.
    """
    names = [column.name for column in of_fact]
    listed = {column.lower() for column in clause.columns or ()}
    for column in clause.columns or ():
        if column.lower() not in {own.lower() for own in names}:
            raise invalid_fact(
                f"{column} is no dimension and no measure of the fact.",
                name.span,
                f"The dimensions and measures are {', '.join(names)}.",
                column,
            )
    for column in other_columns if clause.columns is not None else ():
        if column.lower() not in listed:
            raise invalid_fact(
                f"The table is partitioned by {column}, which its list of columns lacks.",
                name.span,
                f"Add {column} to the list.",
                column,
            )


def check_width(fact: Fact, cube: Cube, statement: s.CreateFact) -> None:
    """Checks that a table of the base period has all columns of the fact, and that each narrow table has a measure.

    Rollups may have fewer columns: the base computes them, and serves what needs others. ``statement`` is the fact's
    CREATE FACT. Raises INVALID_FACT.
    """
    clauses = [clause for block in statement.storages for clause in block.tables]
    has_base = any(fact.is_base(table, period) for table in fact.tables for period in table.layouts)
    for stored, clause in zip(fact.tables, clauses, strict=True):
        if stored.columns is None:
            continue
        at = clause.table.span if clause.table is not None else clause.span
        own = {name.lower() for name in stored.columns}
        of_cube = [*(d.name for d in cube.dimensions), *(m.name for m in cube.measures)]
        of_fact = of_cube if fact.columns is None else fact.columns
        lacking = [name for name in of_fact if name.lower() not in own and name not in cube.times]
        if not has_base and fact.base_period in stored.layouts:
            raise invalid_fact(
                f"The table {stored.table} lacks the column {lacking[0]} of the cube {cube.name}, and it holds the "
                f"base period {fact.base_period.name}.",
                at,
                "Add it to the table: only rollups may have fewer columns. If no table of the fact has it, list the "
                "fact's columns: CREATE FACT f OF CUBE c (columns).",
                lacking[0],
            )
        if not any(measure.name.lower() in own for measure in cube.measures):
            raise invalid_fact(
                f"The table {stored.table} has no measure of the cube {cube.name}.",
                at,
                "A rollup has one measure at least.",
                stored.table,
            )


def invalid_fact(message: str, at: Span, hint: str, named: str | None = None) -> AnalysisError:
    """Returns the error for a fact that contradicts its cube, its tables or itself."""
    return AnalysisError(message, condition="INVALID_FACT", position=at, object=named, hint=hint)
