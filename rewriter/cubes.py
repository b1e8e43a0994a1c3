"""CREATE and DROP CUBE and FACT: declarations checked against each other and against their storage tables.

What the dialect reads but this version does not answer (weeks, zones, raw time, completeness, validity windows,
clusters) is refused here, before it could mean something wrong.
"""

from __future__ import annotations

from rewriter.catalog.changes import CreateObject, DropObject
from rewriter.catalog.models import Aggregate, Column, Cube, Fact, Measure, Storage, StorageTable, Table
from rewriter.context import Context, single
from rewriter.ddl import already_exists
from rewriter.errors import AnalysisError, Error, IntegrityError, NotSupportedError, Span
from rewriter.grammar import statements as s
from rewriter.result import Result
from rewriter.showing import named_cube, named_fact
from rewriter.specs import check_unique
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod


def create_cube(statement: s.CreateCube, context: Context) -> Result:
    """CREATE CUBE: columns with unique names, one TIME, COUNTED BY that names a COUNT measure."""
    name = single(statement.name)
    if statement.time_zone is not None and statement.time_zone.upper() not in ("UTC", "Z"):
        raise not_supported(
            f"The time zone {statement.time_zone}",
            statement.name.span,
            "Leave TIME ZONE out: the calendar is that of UTC.",
        )
    if context.snapshot.find(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE CUBE")
        raise already_exists(statement.name)
    _check_columns(statement)
    with context.catalog.begin(context.snapshot) as transaction:
        cube = Cube(
            id=transaction.allocate_id(),
            name=name,
            dimensions=tuple(Column(c.name, c.type) for c in statement.columns if c.role == "DIMENSION"),
            measures=tuple(
                Measure(c.name, c.type, Aggregate(c.role), c.counted_by, c.not_null)
                for c in statement.columns
                if c.role not in ("DIMENSION", "TIME")
            ),
            times=tuple(c.name for c in statement.columns if c.role == "TIME"),
            column_order=tuple(c.name for c in statement.columns),
        )
        transaction.commit([CreateObject(cube)])
    return Result("CREATE CUBE")


def _check_columns(statement: s.CreateCube) -> None:
    check_unique(statement.columns)
    by_name = {column.name.lower(): column for column in statement.columns}
    times = [column for column in statement.columns if column.role == "TIME"]
    if not times:
        raise _invalid_cube(
            "A cube needs a time dimension.", statement.name.span, "Add a column such as: departed TIMESTAMP TIME."
        )
    if len(times) > 1:
        raise not_supported("More than one time dimension", times[1].span, "Keep one column as TIME.")
    if times[0].type != "timestamp":
        raise _invalid_cube(
            f"The time dimension {times[0].name} is a {times[0].type}.", times[0].span, "Declare it TIMESTAMP TIME."
        )
    for column in statement.columns:
        _check_measure(column, by_name)


_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


def _check_measure(column: s.CubeColumn, by_name: dict[str, s.CubeColumn]) -> None:
    if column.role == "COUNT" and column.type not in ("bigint", "int"):
        raise _invalid_cube(
            f"The COUNT measure {column.name} is a {column.type}.", column.span, "Declare it BIGINT MEASURE COUNT."
        )
    if column.role == "SUM" and not column.type.startswith(_NUMBERS):
        raise _invalid_cube(f"A {column.type} cannot be summed.", column.span, "Give the measure a number's type.")
    if column.role in ("MIN", "MAX") and column.type.startswith(("array", "map", "struct", "binary")):
        raise _invalid_cube(f"A {column.type} has no {column.role}.", column.span, "Give the measure a plain type.")
    if column.counted_by is None:
        return
    counter = by_name.get(column.counted_by.lower())
    if column.role != "SUM" or counter is None or counter.role != "COUNT":
        reason = (
            "only a SUM measure is counted"
            if column.role != "SUM"
            else f"{column.counted_by} is no COUNT measure of this cube"
        )
        raise _invalid_cube(
            f"The measure {column.name} cannot be COUNTED BY {column.counted_by}: {reason}.",
            column.span,
            f"Declare {column.counted_by} BIGINT MEASURE COUNT: the number of rows where {column.name} is not NULL.",
        )


def _invalid_cube(message: str, position: Span, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_CUBE", position=position, hint=hint)


def drop_cube(statement: s.DropCube, context: Context) -> Result:
    """DROP CUBE; refused while it has facts."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Cube):
        return Result("DROP CUBE")
    cube = named_cube(statement.name, context)
    return _drop(cube, "DROP CUBE", statement.name, context)


def drop_fact(statement: s.DropFact, context: Context) -> Result:
    """DROP FACT; its storage tables stay."""
    if statement.if_exists and not isinstance(context.snapshot.find(single(statement.name)), Fact):
        return Result("DROP FACT")
    fact = named_fact(statement.name, context)
    return _drop(fact, "DROP FACT", statement.name, context)


def _drop(found: Cube | Fact, kind: str, name: s.Name, context: Context) -> Result:
    with context.catalog.begin(context.snapshot) as transaction:
        try:
            transaction.commit([DropObject(found)])
        except Error as error:
            raise error.at(name.span) from None
    return Result(kind)


def create_fact(statement: s.CreateFact, context: Context) -> Result:
    """CREATE FACT: its storage tables exist, carry its columns, and name their partitions as the layouts say."""
    name = single(statement.name)
    if context.snapshot.find(name) is not None:
        if statement.if_not_exists:
            return Result("CREATE FACT")
        raise already_exists(statement.name)
    cube = named_cube(statement.cube, context)
    columns = _fact_columns(statement, cube)
    storages = tuple(_storage(one, cube, columns, context) for one in statement.storages)
    _check_distinct(statement, storages)
    with context.catalog.begin(context.snapshot) as transaction:
        fact = Fact(transaction.allocate_id(), name, cube.name, storages, columns, statement.weight)
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
    if block.start is not None or block.end is not None:
        raise not_supported(
            "A validity window (START, END)", block.span, "Drop the partitions that should not be read."
        )
    return Storage(block.name, tuple(_storage_table(one, cube, columns, context) for one in block.tables))


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
    layouts = _layouts(one, layout_columns)
    _check_time_columns(one, table, layout_columns)
    _check_carried(one.table, cube, columns, table)
    return StorageTable(table.name, time, layouts, trusted="TRUSTED" in one.flags)


_FLAG_HINTS = {
    "RAW": "Leave RAW out: a row's time is then the start of its period.",
    "COMPLETE": "Use tables that are partitioned by time alone.",
}


def _time(one: s.FactTable, cube: Cube, table: Table) -> tuple[str, tuple[s.LayoutColumn, ...]]:
    if not one.partitioned_by:
        raise _invalid_fact(
            f"The table {table.name} needs PARTITIONED BY.",
            one,
            f"Add PARTITIONED BY {cube.times[0]} AS (column = 'pattern').",
        )
    if len(one.partitioned_by) > 1:
        raise not_supported("More than one time dimension", one.span, "Keep one PARTITIONED BY.")
    name, columns = one.partitioned_by[0]
    time = next((known for known in cube.times if known.lower() == name.lower()), None)
    if time is None:
        raise _invalid_fact(
            f"{name} is no time dimension of the cube {cube.name}.",
            one,
            f"Write PARTITIONED BY {cube.times[0]} AS (…).",
        )
    return time, columns


def _layouts(one: s.FactTable, columns: tuple[s.LayoutColumn, ...]) -> dict[UpdatePeriod, TimeLayout]:
    layouts: dict[UpdatePeriod, TimeLayout] = {}
    if not one.periods:
        raise _invalid_fact("A storage table needs a period.", one, "Add PERIOD HOURLY, or PERIODS (HOURLY, DAILY).")
    if len(one.periods) > 1 and any(column.pattern is not None for column in columns):
        raise _invalid_fact(
            "One pattern cannot name several periods.", one, "Leave the pattern out: each period has its own default."
        )
    for word in one.periods:
        try:
            period = UpdatePeriod.named(word)
            if period is UpdatePeriod.WEEKLY:
                raise not_supported("The period WEEKLY", one.span, "Use DAILY; weeks are added up from days.")
            if period in layouts:
                raise _invalid_fact(f"The period {period.name} stands twice.", one, "Name each period once.")
            layouts[period] = TimeLayout.of(period, [(column.column, column.pattern) for column in columns])
        except Error as error:
            raise error.at(one.span) from None
    return layouts


def _check_time_columns(one: s.FactTable, table: Table, columns: tuple[s.LayoutColumn, ...]) -> None:
    """The layout's columns are the table's partition columns, all of them, and STRING."""
    partitioning = {column.name.lower(): column for column in table.partition_columns}
    named = {column.column.lower() for column in columns}
    for column in columns:
        found = partitioning.get(column.column.lower())
        if found is None:
            known = ", ".join(c.name for c in table.partition_columns) or "there are none"
            raise _invalid_fact(
                f"{column.column} is no partition column of {table.name}.", one, f"The partition columns: {known}."
            )
        if found.type != "string":
            raise not_supported(
                f"A time partition column of the type {found.type}", one.span, f"Declare {found.name} STRING."
            )
    further = [column.name for column in table.partition_columns if column.name.lower() not in named]
    if further:
        raise not_supported(
            f"A storage table with further partition columns ({', '.join(further)})",
            one.span,
            "Partition it by time alone, and keep the other columns in its files.",
        )


def _check_carried(name: s.Name, cube: Cube, columns: tuple[str, ...] | None, table: Table) -> None:
    """The table has the fact's dimensions and measures, with the cube's types."""
    carried = {column.name.lower(): column for column in table.columns}
    declared = [*cube.dimensions, *(Column(measure.name, measure.type) for measure in cube.measures)]
    for column in declared:
        if columns is not None and column.name not in columns:
            continue
        found = carried.get(column.name.lower())
        if found is None:
            raise AnalysisError(
                f"The table {table.name} lacks the column {column.name} of the cube {cube.name}.",
                condition="INVALID_FACT",
                position=name.span,
                object=column.name,
                hint="Add it to the table, or list the fact's columns: CREATE FACT f OF CUBE c (columns).",
            )
        if found.type != column.type:
            raise AnalysisError(
                f"{found.name} is {found.type.upper()} in {table.name}, but {column.type.upper()} in {cube.name}.",
                condition="INVALID_FACT",
                position=name.span,
                object=column.name,
                hint="Declare both with the same type.",
            )


def _check_distinct(statement: s.CreateFact, storages: tuple[Storage, ...]) -> None:
    seen: set[str] = set()
    for block, storage in zip(statement.storages, storages, strict=True):
        if storage.name.lower() in {other.name.lower() for other in storages if other is not storage}:
            raise AnalysisError(
                f"The storage {storage.name} stands twice.",
                condition="INVALID_FACT",
                position=block.span,
                object=storage.name,
                hint="Give each STORED IN block a name of its own: STORED IN STORAGE s (…).",
            )
        for one, table in zip(block.tables, storage.tables, strict=True):
            if table.table.lower() in seen:
                raise _invalid_fact(
                    f"The table {table.table} stands twice.", one, "Name several periods of a table in one PERIODS (…)."
                )
            seen.add(table.table.lower())


def _invalid_fact(message: str, one: s.FactTable, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_FACT", position=one.span, hint=hint)


def not_supported(what: str, position: Span, hint: str) -> NotSupportedError:
    """The refusal of something that a later version will answer."""
    return NotSupportedError(f"{what} is not supported yet.", position=position, hint=hint)
