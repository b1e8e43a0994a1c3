"""CREATE FACT: its columns, storages and tables, checked against the cube and each other.

What the dialect reads but this version does not answer (raw time, clusters) is refused here, before it
could mean something wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rewriter.catalog.changes import CreateObject
from rewriter.catalog.models import Cube, Fact, Storage
from rewriter.context import Context, single
from rewriter.cubes import not_supported
from rewriter.ddl import already_exists
from rewriter.errors import AnalysisError, Error, Span
from rewriter.fact_tables import invalid_fact, storage_table
from rewriter.grammar import statements as s
from rewriter.planner.validity import between, described, window
from rewriter.result import Result
from rewriter.showing import named_cube
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
    tables = tuple(storage_table(one, cube, columns, context) for one in block.tables)
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
        raise invalid_fact(
            f"{what} is never valid: {text} is empty.",
            at,
            "START is included, END excluded: the start must be before the end.",
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
            raise invalid_fact(
                f"The table {names.table} is partitioned by {time}, and {lacks.table}, which holds the base period "
                f"{base.name}, is not.",
                one.span,
                f"Add PARTITIONED BY {time} AS (…) to {lacks.table}, or leave it out of {names.table}.",
                time,
            )
    unnamed = [name for name in columns or () if name in cube.times and name not in first.times]
    if unnamed:
        raise invalid_fact(
            f"The fact lists {unnamed[0]}, which no PARTITIONED BY names.",
            statement.name.span,
            f"Add PARTITIONED BY {unnamed[0]} AS (…), or list the fact's columns without it.",
            unnamed[0],
        )


def _check_distinct(statement: s.CreateFact, storages: tuple[Storage, ...]) -> None:
    seen: set[str] = set()
    for block, storage in zip(statement.storages, storages, strict=True):
        if storage.name.lower() in {other.name.lower() for other in storages if other is not storage}:
            raise invalid_fact(
                f"The storage {storage.name} stands twice.",
                block.span,
                "Give each STORED IN block a name of its own: STORED IN STORAGE s (…).",
                storage.name,
            )
        for one, table in zip(block.tables, storage.tables, strict=True):
            if table.table.lower() in seen:
                raise invalid_fact(
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
            raise invalid_fact(
                f"{period.name} periods are those of UTC, and the days of {fact.zone} are not made of them.",
                at,
                f"{hint}, or store the {period.name} partitions in a fact without {days.name} and coarser ones.",
                fact.name,
            )
