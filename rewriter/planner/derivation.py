"""The derivation of a query's rows, for the proof of a rollup that an INSERT writes.

A row is derived from a reading if every condition on the way selects whole partitions. Then the query's rows come from
all rows of the partitions read, and from no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.planner.model.plan import Derivation, DerivedRows
from rewriter.planner.scope.column_lineage import Condition, Lineage, NotFollowed, columns_in, lineages, unwrapped
from rewriter.planner.scope.cte_references import CteReferences

if TYPE_CHECKING:
    from rewriter.planner.cube_reference import PlannedReference
    from rewriter.planner.scope.blocks import CubeSource, Resolved
    from rewriter.planner.table_pruning import Pruning
    from rewriter.planner.text.query_text import QueryText

_LONGEST_SHOWN = 80

#: The parts of conditions on dimensions that have the same value for a partition as for each of its rows.
_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.And, exp.Or, exp.Not, exp.EQ,
    exp.NEQ, exp.NullSafeEQ, exp.In, exp.Is,
)  # fmt: skip


def derive(
    text: QueryText, resolved: Resolved, prunings: Sequence[Pruning], planned: Sequence[PlannedReference]
) -> Derivation:
    """Returns the derivation of a planned query. ``prunings`` belong to the tables, ``planned`` to the cubes. The
    readings of the plan are in the same order, tables first.
    """
    cubes = [source for block in resolved.blocks for source in block.cubes]
    tables = {id(reference.node): number for number, reference in enumerate(resolved.tables)}

    def columns_of(node: exp.Table) -> Sequence[str]:
        if id(node) in tables:
            return [column.name for column in resolved.tables[tables[id(node)]].table.all_columns]
        source = next((source for source in cubes if source.node is node), None)
        if source is None:
            raise NotFollowed("a cube that is read as rows")
        return source.cube.column_order

    try:
        query_lineages = lineages(text.tree, CteReferences(text.nodes), columns_of)
        rows = []
        for lineage in query_lineages:
            number = tables.get(id(lineage.node))
            if number is not None:
                rows.append(_of_table(lineage, number, prunings[number]))
            else:
                at = next(at for at, source in enumerate(cubes) if source.node is lineage.node)
                rows.append(_of_cube(lineage, len(tables) + at, cubes[at], planned[at]))
        return Derivation(tuple(rows))
    except NotFollowed as reason:
        return Derivation(doubt=f"its query has {reason}")


def _of_table(lineage: Lineage, reading: int, pruning: Pruning) -> DerivedRows:
    for condition in lineage.conditions:
        if id(condition.original) not in pruning.exact_conditions | pruning.computed and not _always_true(
            condition.value
        ):
            raise NotFollowed(f"a condition that does not select whole partitions: {_condition_text(condition)}")
    computed = any(id(condition.original) in pruning.computed for condition in lineage.conditions)
    return _rows(lineage, reading, None, computed)


def _of_cube(lineage: Lineage, reading: int, source: CubeSource, planned: PlannedReference) -> DerivedRows:
    """Derives rows of a cube; raises ``NotFollowed`` for a condition that does not select whole partitions.

    The cover holds the range of the leading time, so a condition that the range took over exactly selects all rows of
    it. A plain condition on dimensions chooses whole partitions where tables are partitioned by them.
    """
    if planned.splits_partitions:
        raise NotFollowed("a use of time that divides the events of one partition")
    dimensions = {column.name.lower() for column in source.cube.dimensions}
    conditions_ = []
    for condition in lineage.conditions:
        if id(condition.original) in planned.exact_conditions or _always_true(condition.value):
            continue
        names = set(columns_in(condition.value))
        if names and names <= dimensions and all(isinstance(node, _PLAIN) for node in condition.value.walk()):
            conditions_.append(condition.value)
        else:
            raise NotFollowed(f"a condition that does not select whole partitions: {_condition_text(condition)}")
    return _rows(lineage, reading, source.cube.name, computed=False, chosen=conditions_)


def _always_true(value: exp.Expr) -> bool:
    """Tests whether a condition is TRUE, or compares a number or a text with itself: ``1 = 1``."""
    value = unwrapped(value)
    if isinstance(value, exp.EQ):
        return isinstance(value.this, exp.Literal) and value.this == value.expression
    return isinstance(value, exp.Boolean) and bool(value.this)


def _rows(
    lineage: Lineage, reading: int, cube: str | None, computed: bool, chosen: Sequence[exp.Expr] = ()
) -> DerivedRows:
    outputs = tuple(value for _, value in lineage.outputs)
    return DerivedRows(reading, outputs, cube, computed, lineage.aggregated, lineage.grouped, tuple(chosen))


def _condition_text(condition: Condition) -> str:
    words = " ".join(condition.original.sql(dialect="spark").split())
    return words if len(words) <= _LONGEST_SHOWN else f"{words[:_LONGEST_SHOWN]}…"
