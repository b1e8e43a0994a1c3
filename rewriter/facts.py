"""CREATE FACT: its storage tables, periods, layouts and completeness, checked against the cube and the tables.

What the dialect reads but this version does not answer (raw time, clusters) is refused here, before it
could mean something wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rewriter.catalog.binding import UPDATE_PERIOD, declared_period
from rewriter.catalog.changes import CreateObject
from rewriter.catalog.models import Column, Completeness, Cube, Fact, OtherTime, Storage, StorageTable, Table
from rewriter.catalog.partition_types import partition_type
from rewriter.context import Context, single
from rewriter.cubes import not_supported
from rewriter.ddl import already_exists
from rewriter.errors import AnalysisError, Error, IntegrityError, Span
from rewriter.grammar import statements as s
from rewriter.planner.validity import between, described, window
from rewriter.properties import check_storage_table
from rewriter.result import Result
from rewriter.showing import named_cube
from rewriter.specs import value_of
from rewriter.timeline.layout_parts import TIMESTAMP
from rewriter.timeline.layouts import TimeLayout, check_told_apart
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.ranges import RangeSet


def create_fact(statement: s.CreateFact, context: Context) -> Result:
    """CREATE FACT: its storage tables exist, carry its columns, and name their partitions as the layouts say."""
    name = single(statement.name)
    if context.snapshot.named(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE FACT")
        raise already_exists(statement.name)
    cube = named_cube(statement.cube, context)
    columns = _fact_columns(statement, cube)
    storages = tuple(_storage(one, cube, columns, context) for one in statement.storages)
    _check_distinct(statement, storages)
    _check_times(statement, storages, columns, cube)
    with context.catalog.begin(context.snapshot) as transaction:
        fact = Fact(transaction.allocate_id(), name, cube.name, storages, columns, statement.weight, cube.zone)
        _check_nesting(fact, statement.name.span)
        try:
            transaction.commit([CreateObject(fact)])
        except Error as error:
            raise error.at(statement.name.span) from None
    return Result("CREATE FACT")


def _fact_columns(statement: s.CreateFact, cube: Cube) -> tuple[str, ...] | None:
    """The cube's own spelling of the columns that the fact carries; ``None`` is all."""
    if statement.columns is None:
        return None
    known = {name.lower(): name for name in cube.column_order}
    chosen: list[str] = []
    for name in statement.columns:
        found = known.get(name.lower())
        if found is None or found in chosen:
            raise AnalysisError(
                f"The column {name} stands twice." if found else f"The cube {cube.name} has no column {name}.",
                condition="COLUMN_ALREADY_EXISTS" if found else "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                sqlstate="42711" if found else "42703",
                position=statement.name.span,
                object=name,
                hint=f"The columns are {', '.join(cube.column_order)}.",
            )
        chosen.append(found)
    return tuple(chosen)


def _storage(block: s.FactStorage, cube: Cube, columns: tuple[str, ...] | None, context: Context) -> Storage:
    if block.cluster is not None:
        raise not_supported("ON CLUSTER", block.span, "Leave ON CLUSTER out: there is one engine per session.")
    tables = tuple(_storage_table(one, cube, columns, context) for one in block.tables)
    storage = Storage(block.name, tables, block.start, block.end)
    now, text, calendar = context.planning.now, described(storage), cube.calendar
    named = f"The storage {block.name}"
    _check_window(partial(between, block.start, block.end, now, calendar), block.span, named, text)
    for one, table in zip(block.tables, tables, strict=True):
        at = one.table.span if one.table is not None else one.span
        text = described(storage, table)
        _check_window(partial(window, storage, table, now, calendar), at, f"The table {table.table}", text)
    return storage


def _check_window(window: Callable[[], RangeSet], at: Span, what: str, text: str) -> None:
    """Raises the error, at its place, for bounds that cannot be read or leave no time between them."""
    try:
        valid = window()
    except Error as error:
        raise error.at(at) from None
    if not valid:
        raise _invalid_fact(
            f"{what} is never valid: {text} is empty.",
            at,
            "START is included, END excluded: the start must be before the end.",
        )


def _storage_table(one: s.FactTable, cube: Cube, columns: tuple[str, ...] | None, context: Context) -> StorageTable:
    if one.table is None:
        raise not_supported("A storage table without a name", one.span, "Name it: TABLE t PERIOD …")
    for flag, hint in _FLAG_HINTS.items():
        if flag in one.flags:
            raise not_supported(flag, one.table.span, hint)
    table = context.table(one.table)
    owner = context.snapshot.fact_using(table.name)
    if owner is not None:
        raise IntegrityError(
            f"The table {table.name} belongs to the fact {owner.name} already.",
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
        raise _invalid_fact(
            f"The table {table.name} needs PARTITIONED BY.",
            one.span,
            f"Add PARTITIONED BY {cube.times[0]} AS (column = 'pattern').",
        )
    times: dict[str, tuple[s.LayoutColumn, ...]] = {}
    for name, columns in one.partitioned_by:
        time = next((known for known in cube.times if known.lower() == name.lower()), None)
        if time is None:
            raise _invalid_fact(
                f"{name} is no time dimension of the cube {cube.name}.",
                one.span,
                f"Write PARTITIONED BY {cube.times[0]} AS (…).",
            )
        times[time] = columns
    if next(iter(times)) != cube.times[0]:
        raise _invalid_fact(
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
        raise _invalid_fact(
            "A storage table needs a period.", one.span, "Add PERIOD HOURLY, or PERIODS (HOURLY, DAILY)."
        )
    if len(one.periods) > 1 and any(column.pattern is not None for column in columns):
        raise _invalid_fact(
            "One pattern cannot name several periods.",
            one.span,
            "Leave the pattern out: each period has its own default.",
        )
    for word in one.periods:
        try:
            period = UpdatePeriod.named(word)
            if period in layouts:
                raise _invalid_fact(f"The period {period.name} stands twice.", one.span, "Name each period once.")
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
            raise _invalid_fact(
                f"{column.column} stands twice in PARTITIONED BY.", one.span, "Each time has columns of its own."
            )
        seen.add(column.column.lower())
    partitioning = {column.name.lower(): column for column in table.partition_columns}
    types: dict[str, str] = {}
    for column in columns:
        found = partitioning.get(column.column.lower())
        if found is None:
            known = ", ".join(c.name for c in table.partition_columns) or "there are none"
            raise _invalid_fact(
                f"{column.column} is no partition column of {table.name}.", one.span, f"The partition columns: {known}."
            )
        types[column.column] = partition_type(found.type).name
    return types


def _check_property(name: s.Name, table: Table, layouts: dict[UpdatePeriod, TimeLayout]) -> None:
    """The table's property that names the period of its partitions agrees with the layouts, where it is set."""
    declared = declared_period(table.properties)
    for period in layouts:
        if declared is not None and period is not declared:
            raise _invalid_fact(
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
            raise _invalid_fact(
                f"{table.name} is also partitioned by {column.name}: when is a period whole?",
                one.span,
                f"Add COMPLETE WITH {column.name} IN ('…', '…'), or COMPLETE WITH ANY {column.name}."
                + (f" If it names {unnamed[0]}, add PARTITIONED BY {unnamed[0]} AS (…)." if unnamed else ""),
            )
        if column.name.lower() not in dimensions:
            raise _invalid_fact(
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
            raise _invalid_fact(
                f"The table {table.name} lacks the column {column.name} of the cube {cube.name}.",
                name.span,
                "Add it to the table, or list the fact's columns: CREATE FACT f OF CUBE c (columns).",
                column.name,
            )
        if found.type != column.type:
            raise _invalid_fact(
                f"{found.name} is {found.type.upper()} in {table.name}, but {column.type.upper()} in {cube.name}.",
                name.span,
                "Declare both with the same type.",
                column.name,
            )


def _check_times(
    statement: s.CreateFact, storages: tuple[Storage, ...], columns: tuple[str, ...] | None, cube: Cube
) -> None:
    """All base tables name the same time dimensions, all that the fact lists are among them, and no rollup names more:
    what a rollup says of a time is what the base says of it.
    """
    base = min(period for storage in storages for table in storage.tables for period in table.layouts)
    pairs = [
        (one, table)
        for block, storage in zip(statement.storages, storages, strict=True)
        for one, table in zip(block.tables, storage.tables, strict=True)
    ]
    first = next(table for _, table in pairs if base in table.layouts)
    for one, table in pairs:
        differing = (
            set(table.times) ^ set(first.times) if base in table.layouts else set(table.times) - set(first.times)
        )
        if differing:
            time = sorted(differing)[0]
            names, lacks = (first, table) if time in first.times else (table, first)
            raise _invalid_fact(
                f"The table {names.table} is partitioned by {time}, and {lacks.table}, which holds the base period "
                f"{base.name}, is not.",
                one.span,
                f"Add PARTITIONED BY {time} AS (…) to {lacks.table}, or leave it out of {names.table}.",
                time,
            )
    unnamed = [name for name in columns or () if name in cube.times and name not in first.times]
    if unnamed:
        raise _invalid_fact(
            f"The fact lists {unnamed[0]}, which no PARTITIONED BY names.",
            statement.name.span,
            f"Add PARTITIONED BY {unnamed[0]} AS (…), or list the fact's columns without it.",
            unnamed[0],
        )


def _check_distinct(statement: s.CreateFact, storages: tuple[Storage, ...]) -> None:
    seen: set[str] = set()
    for block, storage in zip(statement.storages, storages, strict=True):
        if storage.name.lower() in {other.name.lower() for other in storages if other is not storage}:
            raise _invalid_fact(
                f"The storage {storage.name} stands twice.",
                block.span,
                "Give each STORED IN block a name of its own: STORED IN STORAGE s (…).",
                storage.name,
            )
        for one, table in zip(block.tables, storage.tables, strict=True):
            if table.table.lower() in seen:
                raise _invalid_fact(
                    f"The table {table.table} stands twice.",
                    one.span,
                    "Name several periods of a table in one PERIODS (…).",
                )
            seen.add(table.table.lower())


def _check_nesting(fact: Fact, at: Span) -> None:
    """In a zone, what is finer than a day must be what its days are made of."""
    periods = sorted({period for table in fact.tables for period in table.layouts})
    days = next((period for period in periods if not isinstance(period, UpdatePeriod)), None)
    for table in fact.tables:
        for layout in (table.layouts[period] for period in table.layouts if not isinstance(period, UpdatePeriod)):
            instants = next((part for part in layout.parts if part.type == TIMESTAMP), None)
            if instants is not None:
                # Whether it would hold the zone's wall time or an instant nobody has said.
                raise not_supported(
                    f"A TIMESTAMP partition column for {layout.period.name} partitions of {fact.zone}",
                    at,
                    f"Declare {instants.column} DATE.",
                )
    for period in periods:
        if days is not None and period.kind < UpdatePeriod.DAILY and not period.nests_in(days):
            hint = "Declare MINUTELY instead" if UpdatePeriod.MINUTELY.nests_in(days) else "Leave it out"
            raise _invalid_fact(
                f"{period.name} periods are those of UTC, and the days of {fact.zone} are not made of them.",
                at,
                f"{hint}, or store the {period.name} partitions in a fact without {days.name} and coarser ones.",
                fact.name,
            )


def _invalid_fact(message: str, at: Span, hint: str, named: str | None = None) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_FACT", position=at, object=named, hint=hint)
