"""The types of measures in a fact's tables: base rows may have narrower types than the cube, rollups wider ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from rewriter.catalog.model.wider_types import is_wider
from rewriter.statements.define.fact_storage import invalid_fact

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Fact, Measure, Table
    from rewriter.errors import Span
    from rewriter.grammar.families import facts as s
    from rewriter.runtime.statement_context import Context


def check_measure_types(statement: s.CreateFact, fact: Fact, cube: Cube, context: Context) -> None:
    """Checks that base rows have the cube's type or a narrower one, and rollups the cube's type or a wider one.

    A sum of FLOAT is DOUBLE in rollups, and the base tables of a fact have one type for it. A fact whose base period is
    coarser than the base period of another fact of its cube is a rollup of that fact. A table of several periods holds
    rollups, too. Raises INVALID_FACT.
    """
    siblings = (fact, *context.snapshot.facts_of(cube.name))
    finest = min(sibling.base_period for sibling in siblings)
    has_events = any(sibling.is_raw and sibling.base_period is finest for sibling in siblings)
    first_base: Table | None = None
    for stored, span in zip(fact.tables, _find_table_spans(statement), strict=True):
        table, own = context.snapshot.table(stored.table), fact.columns_of(stored)
        measures = [measure for measure in cube.measures if own is None or measure.name in own]
        if own is not None:
            _check_keys(measures, own, table, span)
        is_oldest = stored.raw is not None or not has_events
        rolled_up = [period.name for period in sorted(stored.layouts) if period is not finest or not is_oldest]
        if stored.raw is None:
            if rolled_up:
                _check_rollups(measures, table, rolled_up[0], cube, span)
            if len(rolled_up) < len(stored.layouts):
                _check_base(measures, table, cube, span)
        if any(fact.is_base(stored, period) for period in stored.layouts):
            first_base = first_base or table
            _check_same_rounding(measures, first_base, table, cube, span)


def _check_keys(measures: Iterable[Measure], own: Collection[str], table: Table, span: Span) -> None:
    """Checks that a table with a bitmap, LAST or FIRST measure has the columns by which its rows are united."""
    names = {name.lower() for name in own}
    for measure in measures:
        needed = measure.keys if measure.ordered_by is None else (measure.ordered_by, *measure.keys)
        absent = [name for name in needed if name.lower() not in names]
        if absent:
            raise invalid_fact(
                f"{measure.name} cannot be united without {', '.join(absent)}, which {table.name} lacks.",
                span,
                f"List the columns of the table without {measure.name}.",
                measure.name,
            )


def _find_table_spans(statement: s.CreateFact) -> list[Span]:
    """Returns where the statement names each table of the fact, or else where its clause is."""
    return [
        clause.table.span if clause.table else clause.span for block in statement.storages for clause in block.tables
    ]


def _check_same_rounding(measures: Iterable[Measure], first_base: Table, table: Table, cube: Cube, at: Span) -> None:
    """Checks that a base table holds the same sums as FLOAT as the fact's first one."""
    names = {measure.name for measure in measures}
    rounded, rounded_first = (
        names.intersection(cube.rounded_sums(table)),
        names.intersection(cube.rounded_sums(first_base)),
    )
    if rounded != rounded_first:
        name = min(rounded ^ rounded_first)
        raise invalid_fact(
            f"{name} is FLOAT in {table.name if name in rounded else first_base.name}, and DOUBLE in "
            f"{first_base.name if name in rounded else table.name}: both hold the base.",
            at,
            "Declare it with the same type in both.",
            name,
        )


def _check_rollups(measures: Iterable[Measure], table: Table, period: str, cube: Cube, at: Span) -> None:
    types = {column.name.lower(): column.type for column in table.columns}
    for measure in measures:
        name, type_ = measure.name, types[measure.name.lower()]
        if name in cube.rounded_sums(table):
            raise invalid_fact(
                f"{name} is FLOAT in {table.name}, which holds its {period} sums: the sums would be rounded.",
                at,
                f"Declare {name} DOUBLE in {table.name}: a sum of FLOAT values is DOUBLE. Base tables may hold FLOAT.",
                name,
            )
        if is_wider(measure.type, type_):
            raise invalid_fact(
                f"{name} is {type_.upper()} in {table.name}, which holds {period} rollups, but {measure.type.upper()} "
                f"in {cube.name}.",
                at,
                f"Declare {name} {measure.type.upper()} in {table.name}, or a wider type: only base tables may hold a "
                "narrower one.",
                name,
            )


def _check_base(measures: Iterable[Measure], table: Table, cube: Cube, at: Span) -> None:
    types = {column.name.lower(): column.type for column in table.columns}
    for measure in measures:
        name, type_ = measure.name, types[measure.name.lower()]
        is_exact = is_wider(measure.type, type_) and type_ != "float"
        if type_ not in (measure.type, measure.rollup_type) and not is_exact:
            raise invalid_fact(
                f"{name} is {type_.upper()} in {table.name}, which holds base rows, but {measure.type.upper()} in "
                f"{cube.name}.",
                at,
                f"Declare {name} {type_.upper()} in {cube.name}: only rollups may hold a wider type than the cube.",
                name,
            )
