"""ALTER CUBE … ADD: more dimensions and measures of a cube, whose rollups stay as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.model.changes import AlterCube
from rewriter.errors import AnalysisError, Error
from rewriter.grammar.families import cubes as s
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.cubes import build_cube
from rewriter.statements.define.fact_storage import invalid_fact
from rewriter.statements.define.measure_columns import check_measure_types
from rewriter.statements.define.show_create import declared_cube, declared_fact
from rewriter.statements.query.not_null_measures import check_stored_not_null
from rewriter.statements.resolve.named_objects import named_cube

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, Cube, Fact, StorageTable
    from rewriter.grammar.terms import Name
    from rewriter.runtime.statement_context import Context


@runs(s.AlterCube)
def alter_cube(statement: s.AlterCube, context: Context) -> Result:
    """ALTER CUBE c ADD (column, …): adds dimensions and measures to a cube, and to facts that have all of its columns.

    The base tables of these facts must have the columns. Rollups keep the columns that they have, as narrow rollups do:
    they serve what needs no others, and their proofs stay. A warning names them. Facts that list their columns stay.

    Raises INVALID_CUBE and COLUMN_ALREADY_EXISTS for the columns, INVALID_FACT for a base table that lacks one or has
    another type, NOT_NULL_ASSERT_VIOLATION, and ``ConflictError`` where another transaction changes the cube or a fact.
    """
    cube = named_cube(statement.name, context)
    time = next((column for column in statement.columns if column.role == "TIME"), None)
    if time is not None:
        raise AnalysisError(
            f"A time cannot be added to the cube {cube.name}.",
            condition="INVALID_CUBE",
            position=time.span,
            object=time.name,
            hint="The times of a cube name its partitions. Create another cube.",
        )
    declared = declared_cube(cube)
    altered = build_cube(replace(declared, columns=(*declared.columns, *statement.columns)), cube.id, cube.calendar)
    pairs = [(fact, _widened(fact, cube, statement, altered)) for fact in context.snapshot.facts_of(cube.name)]
    try:
        for fact, wider in pairs:
            if wider != fact or fact.columns is None:
                _check(wider, altered, statement, context)
        with context.catalog.begin(context.snapshot) as transaction:
            transaction.commit([AlterCube(cube, altered, tuple(pairs))])
    except Error as error:
        raise error.at(statement.name.span) from None
    names = ", ".join(column.name for column in statement.columns)
    narrow = [
        new.table
        for fact, wider in pairs
        for old, new in zip(fact.tables, wider.tables, strict=True)
        if old.columns != new.columns
    ]
    warning = f"these rollups do not have {names}: {', '.join(narrow)}; ALTER FACT … ADD ROLLUP makes rollups that do"
    return Result("ALTER CUBE", warnings=(warning,) if narrow else ())


def _widened(fact: Fact, cube: Cube, statement: s.AlterCube, altered: Cube) -> Fact:
    """Returns the fact of the altered cube: its rollups keep the columns of the cube as it was."""
    if fact.columns is not None:
        return fact
    before = tuple(name for name in cube.column_order if name not in cube.times)

    def kept(table: StorageTable) -> StorageTable:
        holds_base = any(fact.is_base(table, period) for period in table.layouts)
        return table if holds_base or table.columns is not None else replace(table, columns=before)

    storages = tuple(replace(storage, tables=tuple(map(kept, storage.tables))) for storage in fact.storages)
    return replace(fact, storages=storages)


def _check(fact: Fact, cube: Cube, statement: s.AlterCube, context: Context) -> None:
    """Checks that the base tables of a fact have the new columns, with fitting types and without NULL where that is
    declared; and that a table of the base and of rollups is refused.
    """
    for stored in fact.tables:
        periods = {fact.is_base(stored, period) for period in stored.layouts}
        if True not in periods:
            continue
        if len(periods) > 1:
            raise invalid_fact(
                f"The table {stored.table} holds the base and rollups, which would lack the new columns.",
                statement.name.span,
                "Drop the fact, and create it with a table for each period.",
                stored.table,
            )
        table = context.snapshot.table(stored.table)
        own = {column.name.lower(): column for column in table.all_columns}
        for column in statement.columns:
            _check_column(column, own.get(column.name.lower()), stored, statement.name)
    check_measure_types(declared_fact(fact), fact, cube, context)
    for stored in fact.tables:
        check_stored_not_null(stored, fact, cube, context)


def _check_column(column: s.CubeColumn, own: Column | None, stored: StorageTable, name: Name) -> None:
    type_ = column.type
    if own is None:
        raise invalid_fact(
            f"The table {stored.table} lacks the column {column.name}, and holds the base.",
            column.span,
            f"ALTER TABLE {stored.table} ADD COLUMNS ({column.name} {type_.upper()}) adds it, as NULL in older rows.",
            column.name,
        )
    if own.type != type_ and (column.role == "DIMENSION" or stored.raw is not None):
        raise invalid_fact(
            f"{own.name} is {own.type.upper()} in {stored.table}, but {type_.upper()} in {name.last}.",
            column.span,
            "Declare both with the same type.",
            column.name,
        )
