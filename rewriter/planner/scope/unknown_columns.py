"""Columns over a cube that no relation offers: an error of ours, which knows all columns of the cube.

An engine sees in the place of the cube only the columns that the query needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import DEFAULT_PRECISION
from rewriter.errors import AnalysisError
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import Block, CubeSource, did_you_mean
from rewriter.planner.scope.inlining import is_marked

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube
    from rewriter.planner.text.query_text import QueryText

#: The most columns that a hint lists.
_MOST_LISTED = 40


def check_columns(
    text: QueryText, block: Block, source: CubeSource, blocks: Mapping[int, Block], nodes: Iterable[exp.Expr]
) -> None:
    """Raises ``AnalysisError`` UNRESOLVED_COLUMN, with position, for a column of ``nodes`` that is unknown: it either
    has the qualifier of the cube, or no block in which it may be resolved offers its name.
    """
    unqualified = _offered(block.select, blocks)
    for node in nodes:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or is_marked(node):
            continue
        name = node.name.lower()
        if node.table:
            is_unknown = node.table.lower() == source.alias.lower() and name not in source.columns
        else:
            is_unknown = unqualified is not None and name not in unqualified
        # ORDER BY `count(1)`, and the output of GROUP BY window(t, '1 day').
        if is_unknown and "(" not in name and name != "window":
            raise _unknown(text, block, source, node)


def _offered(select: exp.Select, blocks: Mapping[int, Block]) -> set[str] | None:
    """Returns the names, in lower case, that an unqualified column of a SELECT may denote: names of its own relations
    and of the relations of the SELECTs around it; ``None`` where some are unknown.
    """
    names: set[str] = set()
    for visible in _visible(select):
        block = blocks.get(id(visible))
        if block is None or any(other.columns is None for other in block.others):
            return None
        names.update(*(cube.columns for cube in block.cubes), *(other.columns or () for other in block.others))
        levels = (level.select for cube in block.cubes for level in cube.levels)
        for items in (visible, *levels):  # an item may use the alias of another one
            names |= {item.alias.lower() for item in items.expressions if isinstance(item, exp.Alias)}
    return names


def _visible(select: exp.Select) -> Iterator[exp.Select]:
    """Yields a SELECT and those around it whose columns its expressions may use."""
    yield select
    node: exp.Expr = select
    is_relation = False
    while node.parent is not None:
        parent = node.parent
        if isinstance(parent, exp.Select):
            if not is_relation:
                yield parent
            is_relation = False
        elif isinstance(parent, exp.From | exp.CTE) or (isinstance(parent, exp.Join) and parent.this is node):
            is_relation = not isinstance(node, exp.Lateral)
        node = parent


def _unknown(text: QueryText, block: Block, source: CubeSource, column: exp.Column) -> AnalysisError:
    if column.table or (not block.others and len(block.cubes) == 1):
        names = list(source.columns) if source.levels else list(source.cube.column_order)
        message = f"The {'subquery' if source.levels else f'cube {source.cube.name}'} has no column {column.name}."
    else:
        offered = (cube.columns if cube.levels else cube.cube.column_order for cube in block.cubes)
        others = (other.columns or () for other in block.others)
        names = list(dict.fromkeys(name for columns in (*offered, *others) for name in columns))
        message = f"No relation in FROM has a column {column.name}."
    listed = f"The columns are {', '.join(names)}." if len(names) <= _MOST_LISTED else None
    hint = did_you_mean(column.name, names) or listed or f"DESCRIBE CUBE {source.cube.name} lists its columns."
    span = text.span_of(column)
    return AnalysisError(
        message,
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
        sqlstate="42703",
        position=text.place(span) if span else None,
        object=column.name,
        hint=_counted_by_sketch(column, source.cube) or hint,
    )


def _counted_by_sketch(column: exp.Column, cube: Cube) -> str | None:
    """Returns a hint where a query counts the distinct values of a column, and the cube has sketches or bitmaps."""
    call = column.find_ancestor(exp.Count, exp.ApproxDistinct)
    if call is None or (isinstance(call, exp.Count) and not isinstance(call.this, exp.Distinct)):
        return None
    for measure in cube.measures:
        name = quote_identifier(measure.name)
        if measure.precision is not None:
            precision = "" if measure.precision >= DEFAULT_PRECISION else f", {measure.precision}"
            return f"{measure.name} has sketches of values: theta_sketch_estimate(theta_union_agg({name}{precision}))."
        if measure.bucketed_by is not None:
            of_bucket = f"SELECT bitmap_count(bitmap_or_agg({name})) AS ids … GROUP BY {measure.bucketed_by}"
            return f"{measure.name} has bitmaps of ids: SELECT SUM(ids) FROM ({of_bucket})."
    return None
