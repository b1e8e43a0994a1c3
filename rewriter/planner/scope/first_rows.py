"""Subqueries of which a block takes the first row of each group: ``row_number() OVER (PARTITION BY …) AS rn … rn = 1``.

Whether such a row is an event or stands for several, there is one for each group. So COUNT counts the same over them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.planner.scope.joins import conjuncts, relations
from rewriter.planner.text.sqlglot_trees import find_all

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube


def returns_first_rows(select: exp.Select, relation: exp.Expr, cubes: Iterable[Cube]) -> bool:
    """Tests whether the conditions of ``select`` leave one row of each group of ``relation``, a subquery of ``cubes``,
    where no group depends on a measure.
    """
    if not isinstance(relation, exp.Subquery) or not isinstance(inner := relation.this, exp.Select):
        return False
    where, alias = select.args.get("where"), relation.args.get("alias")
    if where is None or (isinstance(alias, exp.TableAlias) and alias.columns):
        return False
    if not all(isinstance(source, exp.Table) for source in relations(inner)):
        return False  # names in it may stand for measures
    measures = {measure.name.lower() for cube in cubes for measure in cube.measures}
    numbers = {
        item.alias.lower()
        for item in inner.expressions
        if isinstance(item, exp.Alias) and _numbers_rows(item.this, measures)
    }
    is_only_relation = len(relations(select)) == 1 and not select.args.get("laterals")
    names = [item.alias_or_name.lower() for item in inner.expressions]
    return any(
        column is not None
        and column.name.lower() in numbers
        and names.count(column.name.lower()) == 1
        and (column.table.lower() == relation.alias.lower() if column.table else is_only_relation)
        for column in map(_compared_with_one, conjuncts(where.this))
    )


def _numbers_rows(node: exp.Expr, measures: set[str]) -> bool:
    """Tests whether a node is ``row_number()`` over groups that depend on no measure."""
    if not isinstance(node, exp.Window) or not isinstance(node.this, exp.RowNumber) or node.args.get("alias"):
        return False
    groups = node.args.get("partition_by") or []
    columns = [column for group in groups for column in find_all(group, exp.Column)]
    return not any(column.name.lower() in measures or isinstance(column.this, exp.Star) for column in columns)


def _compared_with_one(condition: exp.Expr) -> exp.Column | None:
    """Returns the column of ``column = 1`` or ``column <= 1``."""
    condition = condition.unnest()
    if not isinstance(condition, exp.EQ | exp.LTE):
        return None
    left, right = condition.this, condition.expression
    if isinstance(condition, exp.EQ) and isinstance(left, exp.Literal):
        left, right = right, left
    is_one = isinstance(right, exp.Literal) and not right.is_string and right.name == "1"
    return left if is_one and isinstance(left, exp.Column) else None
