"""Proves the columns of a rollup that an INSERT writes: dimensions as they are, measures by their aggregates."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.objects import Aggregate, Cube, Measure
from rewriter.catalog.model.wider_types import is_wider
from rewriter.planner.model.plan import DerivedRows
from rewriter.planner.scope.column_lineage import unwrapped
from rewriter.planner.text.sqlglot_trees import cast_type
from rewriter.statements.write.insert_target import Target


class Unproven(Exception):
    """The reason why nothing proves the rows of a query, in words."""


def check_columns(
    rows: DerivedRows, values: Mapping[str, exp.Expr], target: Target, binding: TimeBinding, cube: Cube
) -> None:
    """Checks that dimensions stay as they are and measures use their aggregates. Covers all columns of the fact."""
    fact, types = binding.fact, {column.name.lower(): column.type for column in target.table.all_columns}
    carried = None if fact.columns is None else {name.lower() for name in fact.columns}
    static = {target.table.partition_columns[index].name.lower() for index in target.spec.static}
    for measure in cube.measures:
        name = measure.name.lower()
        if carried is not None and name not in carried:
            continue
        if name not in values:
            raise Unproven(f"its statement leaves out the measure {measure.name}")
        if name in rows.grouped:
            raise Unproven(f"its query groups by the measure {measure.name}")
        if not _is_rolled_up(values[name], types[name], measure, cube, rows):
            computed = f"{measure.aggregate.rollup_function}({measure.name})"
            raise Unproven(f"its query does not compute {measure.name} as {computed}")
    for dimension in cube.dimensions:
        name = dimension.name.lower()
        if (carried is not None and name not in carried) or name in static:
            continue
        if name not in values:
            raise Unproven(f"its statement leaves out the dimension {dimension.name}")
        if not is_column(_uncast(values[name], types[name]), name):
            raise Unproven(f"its query computes the dimension {dimension.name}")


def is_column(value: exp.Expr, name: str) -> bool:
    """Returns whether a value is the column of that name, in lower case, as it is."""
    value = unwrapped(value)
    return isinstance(value, exp.Column) and value.name.lower() == name


def _is_rolled_up(value: exp.Expr, stored: str, measure: Measure, cube: Cube, rows: DerivedRows) -> bool:
    """Returns whether a value is the measure of its source rows, by its own aggregate at every level.

    ``stored`` is the type of its column in the table.
    """
    function = measure.aggregate.rollup_function
    value = _uncast(value, stored, measure.type)
    counted = isinstance(value, exp.Count) and isinstance(value.this, exp.Star)
    if rows.cube is not None and counted and measure.aggregate is Aggregate.COUNT:
        return cube.count_measure == measure
    depth = 0
    while isinstance(value, exp.AggFunc) and value.sql_name() == function:
        value, depth = _uncast(value.this, stored, measure.type), depth + 1
    return (depth > 0) is rows.aggregated and is_column(value, measure.name.lower())


def _uncast(value: exp.Expr, stored: str, declared: str | None = None) -> exp.Expr:
    """Returns a value without casts that keep it or fail: to the type of its column, which an INSERT makes by itself,
    and to a wider type than the one that the cube declares. TRY_CAST does not fail.
    """
    value = unwrapped(value)
    while isinstance(value, exp.Cast) and not value.args.get("safe"):
        type_ = cast_type(value)
        if type_ != stored.lower().replace(" ", "") and not (declared is not None and is_wider(type_, declared)):
            break
        value = unwrapped(value.this)
    return value
