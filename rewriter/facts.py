"""CREATE FACT: its storage tables, periods, layouts and completeness, checked against the cube and the tables.

What the dialect reads but this version does not answer (raw time, several times, clusters) is refused here, before it
could mean something wrong.
"""

from __future__ import annotations

from rewriter.catalog.changes import CreateObject
from rewriter.catalog.models import Column, Completeness, Cube, Fact, Storage, StorageTable, Table
from rewriter.context import Context, single
from rewriter.cubes import not_supported
from rewriter.ddl import already_exists
from rewriter.errors import AnalysisError, Error, IntegrityError, Span
from rewriter.grammar import statements as s
from rewriter.planner.validity import described, window
from rewriter.result import Result
from rewriter.showing import named_cube
from rewriter.specs import value_of
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod


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
    try:
        valid = window(storage, context.planning.now, cube.calendar)
    except Error as error:
        raise error.at(block.span) from None
    if not valid:
        raise _invalid_fact(
            f"The storage {block.name} is never valid: {described(storage)} is empty.",
            block.span,
            "START is included, END excluded: the start must be before the end.",
            block.name,
        )
    return storage


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
    time, layout_columns = _time(one, cube, table)
    layouts = {cube.calendar.of(period): layout for period, layout in _layouts(one, layout_columns).items()}
    _check_time_columns(one, table, layout_columns)
    complete = _completeness(one, cube, table, layout_columns)
    _check_carried(one.table, cube, columns, table, [column.column for column in complete])
    return StorageTable(table.name, time, layouts, "TRUSTED" in one.flags, complete)


_FLAG_HINTS = {"RAW": "Leave RAW out: a row's time is then the start of its period."}


def _time(one: s.FactTable, cube: Cube, table: Table) -> tuple[str, tuple[s.LayoutColumn, ...]]:
    if not one.partitioned_by:
        raise _invalid_fact(
            f"The table {table.name} needs PARTITIONED BY.",
            one.span,
            f"Add PARTITIONED BY {cube.times[0]} AS (column = 'pattern').",
        )
    if len(one.partitioned_by) > 1:
        raise not_supported("More than one time dimension", one.span, "Keep one PARTITIONED BY.")
    name, columns = one.partitioned_by[0]
    time = next((known for known in cube.times if known.lower() == name.lower()), None)
    if time is None:
        raise _invalid_fact(
            f"{name} is no time dimension of the cube {cube.name}.",
            one.span,
            f"Write PARTITIONED BY {cube.times[0]} AS (…).",
        )
    return time, columns


def _layouts(one: s.FactTable, columns: tuple[s.LayoutColumn, ...]) -> dict[UpdatePeriod, TimeLayout]:
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
            layouts[period] = TimeLayout.of(period, [(column.column, column.pattern) for column in columns])
        except Error as error:
            raise error.at(one.span) from None
    return layouts


def _check_time_columns(one: s.FactTable, table: Table, columns: tuple[s.LayoutColumn, ...]) -> None:
    """The layout's columns are partition columns of the table, and STRING."""
    partitioning = {column.name.lower(): column for column in table.partition_columns}
    for column in columns:
        found = partitioning.get(column.column.lower())
        if found is None:
            known = ", ".join(c.name for c in table.partition_columns) or "there are none"
            raise _invalid_fact(
                f"{column.column} is no partition column of {table.name}.", one.span, f"The partition columns: {known}."
            )
        if found.type != "string":
            raise not_supported(
                f"A time partition column of the type {found.type}", one.span, f"Declare {found.name} STRING."
            )


def _completeness(
    one: s.FactTable, cube: Cube, table: Table, layout: tuple[s.LayoutColumn, ...]
) -> tuple[Completeness, ...]:
    """What COMPLETE WITH says of each partition column that names no time: it has a rule, and is a dimension."""
    timed = [column.column.lower() for column in layout]
    further = [column for column in table.partition_columns if column.name.lower() not in timed]
    rules = {rule.column.lower(): rule for rule in one.complete}
    dimensions = {column.name.lower() for column in cube.dimensions}
    for column in further:
        if column.name.lower() not in rules:
            raise _invalid_fact(
                f"{table.name} is also partitioned by {column.name}: when is a period whole?",
                one.span,
                f"Add COMPLETE WITH {column.name} IN ('…', '…'), or COMPLETE WITH ANY {column.name}.",
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
    if further and [column.name.lower() for column in table.partition_columns[: len(timed)]] != timed:
        raise not_supported(
            "A storage table whose partition columns do not begin with those of time, in their order,",
            one.span,
            "Declare the time columns first in PARTITIONED BY, coarse to fine.",
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
