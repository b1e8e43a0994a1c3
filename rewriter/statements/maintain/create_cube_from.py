"""CREATE CUBE … FROM: one statement from files, or a table of events, to a cube with rollups.

It stands for CREATE TABLE, CREATE CUBE, CREATE FACT, INSERT or MSCK REPAIR TABLE, and REFRESH FACT, which it prints.
The objects come in one commit; then the events are copied or registered, and the rollups computed. After an error, all
of it is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.model.changes import CreateObject, DropObject
from rewriter.catalog.model.objects import Column, Fact, Table, parts_of
from rewriter.catalog.store import stream_runs
from rewriter.directory_changes import discard_tree
from rewriter.errors import AnalysisError, Error, Span
from rewriter.grammar.families.cube_from import CreateCubeFrom, EventMeasure
from rewriter.grammar.families.cubes import CreateCube, CubeColumn
from rewriter.grammar.families.facts import CreateFact, FactStorage, FactTable, LayoutColumn, RawColumn
from rewriter.grammar.families.maintenance import RepairTable
from rewriter.grammar.families.streams import InsertStream, streamed
from rewriter.grammar.families.tables import CreateTable
from rewriter.grammar.families.timelines import CheckFact, RefreshFact
from rewriter.grammar.families.writes import Insert
from rewriter.grammar.terms import ColumnDef, Name, Query
from rewriter.grammar.unparse import quote_name, render
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.text.literals import string_literal
from rewriter.runtime.result import Result, listing, strings
from rewriter.runtime.statement_context import single
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.cubes import build_cube
from rewriter.statements.define.facts import build_fact
from rewriter.statements.define.show_create import laid_out
from rewriter.statements.define.tables import already_exists, build_table, plain_name
from rewriter.statements.maintain.check_fact import check_fact
from rewriter.statements.maintain.event_sources import EventSource, event_columns, event_source, invalid_cube
from rewriter.statements.maintain.refresh_fact import refresh_fact
from rewriter.statements.partitions.repair_table import ADDED, repair_table
from rewriter.statements.stream.insert_stream import insert_stream
from rewriter.statements.stream.stream_options import MOST_FILES, default_checkpoint
from rewriter.statements.write.insert import insert
from rewriter.timeline.calendars import calendar_of
from rewriter.timeline.layouts import SPELLINGS, LayoutPart, TimeLayout
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement
    from rewriter.runtime.statement_context import Context

_TIMES = ("timestamp", "date")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
#: The types of values that theta sketches take on both engines.
_HASHED = ("int", "bigint", "float", "double", "string")
_TEXTS = ("string", "boolean", "date")
_CONVERT = (
    "A view gives columns their types, those of times and of numbers: CREATE VIEW v AS SELECT to_timestamp(t) AS t, "
    "CAST(n AS BIGINT) AS n, … FROM …; then CREATE CUBE … FROM v."
)


@dataclass(frozen=True)
class _Declaration:
    """The statements that the statement stands for; no table where the events are one already. ``load`` copies files,
    or registers the directories of external ones.
    """

    table: CreateTable | None
    cube: CreateCube
    fact: CreateFact
    load: Insert | InsertStream | RepairTable | None
    refresh: RefreshFact | None

    def texts(self) -> Iterator[str]:
        definitions: list[Statement | None] = [self.table, self.cube, self.fact]
        for definition in definitions:
            if definition is not None:
                yield f"{laid_out(render(definition))};"
        writes: list[Statement | None] = [self.load, self.refresh]
        for write in writes:
            if write is not None:
                yield f"{render(write)};"


@runs(CreateCubeFrom, without_warehouse=True)
def create_cube_from(statement: CreateCubeFrom, context: Context) -> Result:
    """CREATE CUBE c FROM source: returns the statements that it stands for, one row of (createtab_stmt) each.

    Costs the copy of the files, and one query for each rollup. Raises INVALID_CUBE where nothing says which column is
    the time, the errors of the statements that it stands for, and leaves nothing behind then.
    """
    if context.snapshot.named(single(statement.name)) is not None:
        raise already_exists(statement.name, has_condition=False)
    plain_name(statement.name, "cube")
    events = event_source(statement, context)
    declaration = _declare(statement, events, context)
    fact, created = _create(declaration, context)
    warnings: tuple[str, ...] = (events.left_out,) if events.left_out else ()
    try:
        if declaration.load is not None:
            warnings += _load(declaration.load, context.renewed())
        if events.copied is None:
            _check_places(declaration.fact, statement, context.renewed())
        if declaration.refresh is not None:
            refresh_fact(declaration.refresh, context.renewed())
    except BaseException as error:
        _drop(fact, created, context.renewed())
        if isinstance(declaration.load, InsertStream):
            _drop_stream(created, context)
        if isinstance(error, Error):
            error.position = None  # The position was in a statement that the user did not type.
            raise error.at(statement.name.span) from None
        raise
    result = listing("CREATE CUBE", strings("createtab_stmt"), [(text,) for text in declaration.texts()])
    return replace(result, warnings=(*warnings, *_gaps(fact, context.renewed())))


def _load(load: Insert | InsertStream | RepairTable, context: Context) -> tuple[str, ...]:
    """Runs the statement that brings the events, and returns its warnings. Raises INVALID_CUBE for a directory of
    external files that is no partition.
    """
    match load:
        case Insert():
            return insert(load, context).warnings
        case InsertStream():
            # One batch is one commit: no query sees a day of which some files are copied.
            one_batch = ("max files", str(MOST_FILES), load.span)
            return insert_stream(replace(load, options=(one_batch,)), context).warnings
        case RepairTable():
            result = repair_table(load, context)
            for _, status, location, reason in result.rows():
                if status != ADDED:
                    raise invalid_cube(
                        f"The directory {location} is no partition: {reason}.",
                        load.table.span,
                        "Rename it, or leave EXTERNAL out: the files are copied once, into partitions.",
                    )
            return result.warnings
    assert_never(load)


def _gaps(fact: Fact, context: Context) -> Iterator[str]:
    """Yields a warning if periods between the first and the last event have none."""
    (stored,) = (table for table in fact.tables if table.raw is not None)
    (period,) = stored.layouts
    ranges = context.snapshot.timeline(stored.table, period, stored.time).ranges()
    if not ranges:
        return
    first, end = ranges[0].start, ranges[-1].end
    absent = end - first - sum(map(len, ranges))
    if absent:
        start, behind = (fact.calendar.text(period.start(ordinal)) for ordinal in (first, end))
        yield (
            f"{absent:,} of {end - first:,} {period.name} periods have no events: a query of them fails, and no rollup "
            f"over them is computed, until ALTER FACT {fact.name} MARK COMPLETE FROM '{start}' TO '{behind}' says that "
            "nothing happened"
        )


def _create(declaration: _Declaration, context: Context) -> tuple[Fact, list[CreateObject]]:
    """Creates the table of events, the cube, the fact and the tables of its rollups in one commit."""
    with context.catalog.begin(context.snapshot) as transaction:
        created: list[CreateObject] = []
        if declaration.table is not None:
            if context.snapshot.named(single(declaration.table.table)) is not None:
                raise already_exists(declaration.table.table, has_condition=False)
            created.append(CreateObject(build_table(declaration.table, transaction.allocate_id(), context)))
        cube = declaration.cube
        try:
            calendar = calendar_of(cube.time_zone or "UTC")
        except Error as error:
            raise error.at(cube.name.span) from None
        new = build_cube(cube, transaction.allocate_id(), calendar)
        created.append(CreateObject(new))
        changes, fact, _ = build_fact(declaration.fact, new, transaction, context, created)
        transaction.commit(changes)
    return fact, changes


def _check_places(fact: CreateFact, statement: CreateCubeFrom, context: Context) -> None:
    """Raises INVALID_CUBE for events that lie in the partition of another time. Costs a scan of their times."""
    result = check_fact(CheckFact(fact=fact.name), context)
    if result.differs:
        table, _, start, end, _, _, _, _, finding, _ = next(iter(result.rows()))
        raise invalid_cube(
            f"The partition of {table} from {start} to {end} has {finding}.",
            statement.time_span,
            "Correct the partitions, name another column with TIME, or copy the events: CREATE TABLE t AS SELECT ….",
        )


def _drop(fact: Fact, created: Sequence[CreateObject], context: Context) -> None:
    """Drops what ``_create`` has created, in one commit: the fact, the cube, then the tables."""
    objects = sorted((change.object for change in created), key=lambda o: (o.id != fact.id, isinstance(o, Table)))
    with context.catalog.begin(context.snapshot) as transaction:
        live = [context.snapshot.named(object_.name) for object_ in objects]
        pairs = zip(objects, live, strict=True)
        transaction.commit([DropObject(now) for then, now in pairs if now is not None and now.id == then.id])


def _drop_stream(created: Sequence[CreateObject], context: Context) -> None:
    """Removes the stream that has begun to copy files, and its checkpoint."""
    table = next(change.object for change in created if isinstance(change.object, Table))
    warehouse = context.catalog.warehouse
    with suppress(AnalysisError), context.catalog.database.write() as connection:
        stream_runs.forget(connection, table.name)
    discard_tree(default_checkpoint(table.name, table, warehouse), (str(warehouse),))


# The statements that CREATE CUBE … FROM stands for.


def _declare(statement: CreateCubeFrom, events: EventSource, context: Context) -> _Declaration:
    name, span = statement.name, statement.name.span
    time = _time(statement, events)
    measures, dimensions = _measures_and_dimensions(statement, events, time)
    types = _measure_types(measures, events, context)
    layout = events.layout or _copy_layout(statement, events, measures, time)
    fact_name, events_name = (Name((*name.parts[:-1], f"{name.last}_{end}"), span) for end in ("all", "events"))
    table_name = events_name if events.table is None else Name(parts_of(events.table.name), statement.source.span)
    storage = FactTable(
        table_name,
        (layout.period.name,),
        ((time.name, tuple(map(_layout_column, layout.parts))),),
        raw=tuple(_raw(measures, types, events)),
        span=span,
    )
    fact = CreateFact(
        name=fact_name,
        cube=name,
        storages=(FactStorage("default", (storage,), span=span),),
        rollups=statement.rollups,
    )
    cube = CreateCube(
        name=name,
        columns=tuple(_cube_columns(dimensions, measures, types, time, span)),
        time_zone=statement.time_zone,
    )
    refresh = RefreshFact(fact=fact_name) if statement.rollups else None
    if events.table is not None:
        return _Declaration(None, cube, fact, None, refresh)
    columns = tuple(ColumnDef(column.name, column.type) for column in events.columns)
    if events.external is not None:
        files = events.external
        table = CreateTable(
            table=events_name,
            columns=columns,
            partitioned_by=tuple(ColumnDef(column.name, column.type) for column in files.partition_columns),
            external=True,
            format=files.format,
            location=files.location,
        )
        return _Declaration(table, cube, fact, RepairTable(table=events_name, repair=True, what="ADD"), refresh)
    (part,) = layout.parts
    table = CreateTable(table=events_name, columns=columns, partitioned_by=(ColumnDef(part.column, "string"),))
    at = quote_name(time.name)
    if statement.time_zone is not None and layout.period >= UpdatePeriod.DAILY:
        at = f"from_utc_timestamp({at}, {string_literal(statement.time_zone)})"
    listed = ", ".join(quote_name(column.name) for column in events.columns)
    query = Query(f"SELECT {listed}, date_format({at}, '{part.pattern}') FROM {events.copied}", span)
    # A stream adds the files that are new. Other events are copied as a whole, and replace what a copy has left.
    is_stream = events.copied is not None and events.copied.startswith("STREAM ")
    copy = Insert(table=events_name, query=query, overwrite=not is_stream)
    return _Declaration(table, cube, fact, streamed(copy), refresh)


def _layout_column(part: LayoutPart) -> LayoutColumn:
    return LayoutColumn(part.column, None if part.type in SPELLINGS else part.pattern)


def _time(statement: CreateCubeFrom, events: EventSource) -> Column:
    """Returns the time of an event: the named column, or the only one of the type TIMESTAMP, or else of DATE."""
    if statement.time is not None:
        column = events.named(statement.time)
        if column is None:
            raise _unresolved(statement.time, statement.time_span, events)
        if column.type not in _TIMES:
            raise invalid_cube(f"{column.name} is {column.type.upper()}, and no time.", statement.time_span, _CONVERT)
        return column
    for type_ in _TIMES:
        candidates = [column for column in events.columns if column.type == type_]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = ", ".join(column.name for column in candidates)
            hint = f"Name one: TIME {candidates[0].name}."
            raise invalid_cube(f"{names} are {type_.upper()}: nothing says which is the time of an event.",
                           statement.source.span, hint)  # fmt: skip
    names = ", ".join(f"{column.name} {column.type.upper()}" for column in events.columns)
    raise invalid_cube(f"No column is a TIMESTAMP or DATE: {names}.", statement.source.span, _CONVERT)


def _measures_and_dimensions(
    statement: CreateCubeFrom, events: EventSource, time: Column
) -> tuple[tuple[EventMeasure, ...], tuple[Column, ...]]:
    """Returns the measures and dimensions that are named, or else inferred.

    Texts, booleans, dates, and integers whose name is id or ends in _id are dimensions. Other numbers are summed, and
    events are counted. A column that a SUM adds up, of which there is a sketch, or that is a measure under its own
    name, is no dimension.
    """
    others = [column for column in events.columns if column is not time]
    given = statement.measures or ()
    used = {m.expression.lower() for m in given if m.expression is not None and m.aggregate in ("SUM", "THETA_UNION")}
    used |= {m.name.lower() for m in given if m.expression is not None and m.expression.lower() == m.name.lower()}
    if statement.dimensions is not None:
        dimensions = []
        for name in statement.dimensions:
            column = events.named(name)
            if column is None:
                raise _unresolved(name, statement.source.span, events)
            dimensions.append(column)
    else:
        dimensions = [column for column in others if is_dimension(column) and column.name.lower() not in used]
    if statement.measures is not None:
        measures = statement.measures
    else:
        numbers = [column for column in others if column not in dimensions and is_number(column.type)]
        count = EventMeasure("COUNT", None, _free_name("events", events), statement.name.span)
        measures = (count, *(_sum(column, statement.name.span) for column in numbers))
    for measure in measures:
        column = events.named(measure.name)
        if measure.expression is None and column is not None:
            raise invalid_cube(
                f"The events have a column {column.name}: it would be read as the number of events.",
                measure.span,
                "Give COUNT(*) another name.",
            )
    return measures, tuple(dimensions)


def is_dimension(column: Column) -> bool:
    """Tests whether a column is a dimension where no clause says so."""
    name = column.name.lower()
    return column.type in _TEXTS or (column.type in _INTEGERS and (name == "id" or name.endswith("_id")))


def is_number(type_: str) -> bool:
    """Tests whether values of a type are added up."""
    return type_ in (*_INTEGERS, "float", "double") or type_.startswith("decimal")


def _sum(column: Column, span: Span) -> EventMeasure:
    return EventMeasure("SUM", quote_name(column.name), column.name, span)


def _free_name(name: str, events: EventSource) -> str:
    return next(free for n in range(1, 1000) if events.named(free := name if n == 1 else f"{name}_{n}") is None)


def _measure_types(
    measures: Sequence[EventMeasure], events: EventSource, context: Context
) -> dict[str, tuple[str, str]]:
    """Returns by measure the type of its expression and the type that it is declared with: of a sum, the wider one."""
    computed = [measure for measure in measures if measure.expression is not None]
    if not computed:
        return {}
    items = ", ".join(f"{measure.expression} AS {quote_name(measure.name)}" for measure in computed)
    columns = event_columns(f"SELECT {items} FROM {events.text}", computed[0].span, context)
    types = {}
    for measure, column in zip(computed, columns, strict=True):
        if measure.aggregate == "SUM" and not is_number(column.type):
            raise invalid_cube(
                f"SUM({measure.expression}) adds up {column.type.upper()} values.", measure.span, "Sum numbers only."
            )
        if measure.aggregate == "THETA_UNION" and column.type not in _HASHED:
            raise invalid_cube(
                f"THETA_SKETCH_AGG({measure.expression}) hashes {column.type.upper()} values.",
                measure.span,
                f"Write THETA_SKETCH_AGG(CAST({measure.expression} AS STRING)) AS {quote_name(measure.name)}.",
            )
        types[measure.name] = column.type, _declared_type(measure.aggregate, column.type)
    return types


def _declared_type(aggregate: str, type_: str) -> str:
    if aggregate == "COUNT":
        return "bigint"
    if aggregate == "THETA_UNION":
        return "binary"
    if aggregate != "SUM":
        return type_
    digits = re.fullmatch(r"decimal\((\d+),\s*(\d+)\)", type_)
    if digits is not None:
        return f"decimal({min(38, int(digits[1]) + 10)},{digits[2]})"
    return "bigint" if type_ in _INTEGERS else type_


def _raw(
    measures: Sequence[EventMeasure], types: dict[str, tuple[str, str]], events: EventSource
) -> Iterator[RawColumn]:
    """Yields what an event gives a measure that is not its column of that name. COUNT(*) counts without it."""
    for measure in measures:
        expression = measure.expression
        if expression is None:
            continue
        type_, declared = types[measure.name]
        if measure.aggregate == "COUNT":
            counted = f"CAST(CASE WHEN {expression} IS NULL THEN 0 ELSE 1 END AS BIGINT)"
            yield RawColumn(measure.name, counted)
        elif measure.aggregate == "THETA_UNION":
            yield RawColumn(measure.name, f"theta_sketch_agg({expression})")
        elif expression.strip("`").lower() != measure.name.lower() or type_ != declared:
            cast = expression if type_ == declared else f"CAST({expression} AS {declared.upper()})"
            yield RawColumn(measure.name, cast)


def _cube_columns(
    dimensions: Sequence[Column],
    measures: Sequence[EventMeasure],
    types: dict[str, tuple[str, str]],
    time: Column,
    span: Span,
) -> Iterator[CubeColumn]:
    for dimension in dimensions:
        yield CubeColumn(dimension.name, dimension.type, span=span)
    counters = {m.expression.lower(): m.name for m in measures if m.aggregate == "COUNT" and m.expression is not None}
    for measure in measures:
        expression = measure.expression
        declared = "bigint" if expression is None else types[measure.name][1]
        counter = counters.get(expression.lower()) if expression is not None and measure.aggregate == "SUM" else None
        is_events = expression is None and bool(counters)
        yield CubeColumn(
            measure.name,
            declared,
            measure.aggregate,
            counter,
            not_null=False,
            events=is_events,
            precision=measure.precision,
            span=measure.span,
        )
    yield CubeColumn(time.name, "timestamp", "TIME", span=span)


def _copy_layout(
    statement: CreateCubeFrom, events: EventSource, measures: Sequence[EventMeasure], time: Column
) -> TimeLayout:
    """Returns the layout of copied events: days, or shorter periods where a rollup has them."""
    periods = [UpdatePeriod.named(rollup.period) for rollup in statement.rollups]
    names = {name.lower() for name in (*(c.name for c in events.columns), *(m.name for m in measures))}
    free_name = next(name for n in range(len(names) + 1) if (name := "dt" + "_" * n) not in names)
    if time.type == "date" and min([UpdatePeriod.DAILY, *periods]) < UpdatePeriod.DAILY:
        raise invalid_cube(
            f"{time.name} is a DATE: the events have no {min(periods).name} periods.",
            statement.rollups[0].span,
            "Name DAILY or a longer period.",
        )
    return TimeLayout.of(min([UpdatePeriod.DAILY, *periods]), [(free_name, None)])


def _unresolved(name: str, span: Span, events: EventSource) -> AnalysisError:
    return AnalysisError(
        f"The events have no column {name}.",
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=span,
        object=name,
        hint=f"The columns are {', '.join(column.name for column in events.columns)}.",
    )
