"""Dimensions whose equality merges values that a query can distinguish, as ``CAST(f AS STRING)`` does 0.0 and -0.0.

GROUP BY keeps one of several equal values, and so does a rollup. It may serve where such a dimension is grouped,
compared or selected as it is; whatever else is done with it needs base rows. So do MIN and MAX, which return a value of
some row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from sqlglot import exp

from rewriter.planner.model.plan import ReasonKind
from rewriter.planner.rewrite.additivity import Objection
from rewriter.planner.scope.blocks import Block, CubeSource, inner_queries
from rewriter.planner.scope.column_use import Columns
from rewriter.planner.scope.inlining import is_marked
from rewriter.planner.text.sqlglot_trees import find_all, one_of

#: FLOAT and DOUBLE have two zeros, MAP an order of its entries; so has what holds them. The name of a field, which a
#: colon follows, is not a type.
_MERGING = re.compile(r"\b(float|double|map)\b(?!:)")

_compares = one_of(
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between
)  # fmt: skip
_groups = one_of(exp.Group, exp.GroupingSets, exp.Cube, exp.Rollup, exp.Grouping, exp.GroupingId)


def is_merging(type_: str) -> bool:
    """Tests whether two values of a type, in the catalog's spelling, may be equal and yet distinguishable.

    ``double`` and ``array<float>`` are, ``string`` is not.
    """
    return _MERGING.search(type_) is not None


def merged_uses(
    block: Block,
    source: CubeSource,
    columns: Columns,
    nodes: Iterable[exp.Expr],
    correlated: Iterable[tuple[exp.Column, exp.Expr]],
) -> Iterator[Objection]:
    """Returns the uses of such dimensions of one cube in a block that need base rows.

    ``nodes`` are the block's own and the conditions inlined with the reference, ``correlated`` the columns in
    subqueries that may be the cube's, with the values that they represent.
    """
    dimensions = {column.name.lower() for column in source.cube.dimensions if is_merging(column.type)}
    if dimensions:
        yield from _Uses(block, source, columns, dimensions).found(nodes, correlated)


class _Uses:
    def __init__(self, block: Block, source: CubeSource, columns: Columns, dimensions: set[str]) -> None:
        self._block = block
        self._source = source
        self._columns = columns
        self._dimensions = dimensions
        offered = {name: value for name, value in source.columns.items() if self._reads(value)}
        #: A value computed on a dimension, not the dimension itself.
        self._computed = {name for name, value in offered.items() if not isinstance(value, exp.Column)}
        self._names = dimensions | set(offered)
        cubes = {cube.alias.lower() for cube in block.cubes}
        self._relations = cubes | {relation.alias.lower() for relation in block.others}
        items = block.effective.expressions
        self._aliases = {item.alias.lower() for item in items if isinstance(item, exp.Alias) and self._is(item.this)}

    def found(
        self, nodes: Iterable[exp.Expr], correlated: Iterable[tuple[exp.Column, exp.Expr]]
    ) -> Iterator[Objection]:
        for node in nodes:
            if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
                if self._is(node) or self._is_output(node):
                    if not _as_it_is(node):
                        yield _objection(node.name, node.parent or node)
                elif self._is_field(node):
                    yield _objection(node.name, node)
            elif isinstance(node, exp.Column | exp.Star):
                is_output = isinstance(node.parent, exp.Select) and (
                    isinstance(node, exp.Star) or self._columns.owned(node)
                )
                yield from (_objection(name, node) for name in sorted(self._computed) if is_output)
        for name in sorted(self._block.joined_names & self._computed):
            yield _objection(name, self._block.effective)
        for column, value in correlated:
            if self._reads(value) and not (isinstance(value, exp.Column) and _is_compared(column)):
                yield _objection(column.name, column)
        for query in inner_queries(self._block.select, self._block.original_nodes):
            yield from (_objection(part.name, part) for part in find_all(query, exp.Column) if self._is_field(part))

    def _is(self, node: exp.Expr) -> bool:
        """Tests whether a node of the block is such a dimension."""
        return isinstance(node, exp.Column) and node.name.lower() in self._dimensions and self._columns.owned(node)

    def _is_output(self, column: exp.Column) -> bool:
        """Tests whether a name may denote an item of the select list that is such a dimension."""
        return not column.table and column.name.lower() in self._aliases

    def _is_field(self, column: exp.Column) -> bool:
        """Tests whether a name may denote a field within such a dimension."""
        names = [part.name.lower() for part in column.parts]
        if names[0] in self._relations:
            del names[0]
        return len(names) > 1 and names[0] in self._names

    def _reads(self, value: exp.Expr) -> bool:
        """Tests whether a value that the source offers, or a subquery reads, is computed from such a dimension."""
        return any(
            is_marked(marked) and marked.name.lower() in self._dimensions for marked in find_all(value, exp.Column)
        )


def _objection(name: str, node: exp.Expr) -> Objection:
    text = (
        f"{name} has equal values that can be distinguished, and is used for more than grouping, "
        "comparison or selection"
    )
    return Objection(ReasonKind.MERGED_VALUES, text, node)


def _as_it_is(column: exp.Column) -> bool:
    """Tests whether a column is grouped, ordered, counted, compared or selected unchanged."""
    node = _outermost(column)
    parent = node.parent
    if isinstance(parent, exp.Alias):
        node, parent = parent, parent.parent
    if isinstance(parent, exp.Select):
        return node.arg_key == "expressions"
    if isinstance(parent, exp.Window):
        return node.arg_key == "partition_by"
    if isinstance(parent, exp.Distinct):
        return isinstance(parent.parent, exp.Count)
    if isinstance(parent, exp.Tuple):
        # A set of GROUPING SETS.
        return _is(_groups, _outermost(parent).parent)
    return isinstance(parent, exp.Ordered | exp.Count) or _is(_groups, parent) or _is(_compares, parent)


def _is_compared(column: exp.Column) -> bool:
    return _is(_compares, _outermost(column).parent)


def _is(kinds: Callable[[type[exp.Expr]], bool], node: exp.Expr | None) -> bool:
    return node is not None and kinds(type(node))


def _outermost(node: exp.Expr) -> exp.Expr:
    """Returns the node in its parentheses."""
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node
