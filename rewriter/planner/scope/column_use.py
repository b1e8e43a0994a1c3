"""Decides which columns of a block belong to a cube, and which of them the derived table in its place must offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sqlglot import exp

from rewriter.catalog.model.objects import Measure
from rewriter.planner.scope.blocks import Block, CubeSource, inner_queries
from rewriter.planner.scope.inlining import OutputNames, belongs, is_marked
from rewriter.planner.text.query_text import QueryText


class Columns:
    """Resolves the columns of a block for one of its cubes, by Spark's rules."""

    def __init__(self, text: QueryText, block: Block, source: CubeSource, blocks: dict[int, Block]) -> None:
        self._text = text
        self._block = block
        self._source = source
        self._blocks = blocks
        cube = source.cube
        self._measures = {measure.name.lower(): measure for measure in cube.measures}
        self._types = {column.name.lower(): column.type for column in cube.dimensions}
        self._types |= {measure.name.lower(): measure.type for measure in cube.measures}
        self._names = {name.lower(): name for name in cube.column_order}
        self._times = {name.lower() for name in cube.times}
        self._output = OutputNames()

    def owned(self, column: exp.Column) -> bool:
        """Tests whether a column of the effective block belongs to the cube."""
        if isinstance(column.this, exp.Star):
            return not column.table or column.table.lower() == self._source.alias.lower()
        if self._source.levels or is_marked(column):
            return belongs(column, self._source.index)
        if column.name.lower() not in self._names:
            return False
        if column.table:
            return column.table.lower() == self._source.alias.lower()
        return not self._output.shadow(column)

    def measure(self, column: exp.Column) -> Measure | None:
        """Returns the measure that a column denotes, or ``None``."""
        return self._measures.get(column.name.lower()) if self.owned(column) else None

    def type_of(self, column: exp.Column) -> str | None:
        """Returns the type of a column of the block, or ``None`` where it is unknown."""
        name = column.name.lower()
        if self.owned(column):
            return self._types.get(name, "timestamp")
        candidates = (o for o in self._block.others if column.table.lower() in ("", o.alias.lower()))
        types = [other.columns[name] for other in candidates if other.columns is not None and name in other.columns]
        return types[0] if len(types) == 1 and len(self._block.cubes) == 1 else None

    def is_time(self, column: exp.Column, dimension: str | None = None) -> bool:
        """Tests whether a column is the given time dimension of the cube, or any of them if none is given.

        Returns ``False`` where a join may have put another column in its place.
        """
        names = self._times if dimension is None else {dimension.lower()}
        if column.name.lower() not in names or not self.owned(column):
            return False
        return bool(column.table) or is_marked(column) or column.name.lower() not in self._block.joined_names

    def joined_value(self, name: exp.Identifier) -> exp.Expr | None:
        """Returns the value that a name in USING denotes in this source, or ``None`` where the source does not offer
        it.
        """
        return self._source.columns.get(name.name.lower())

    def references(self) -> Iterator[exp.Column]:
        """Returns the cube's columns that ``*`` shows."""
        for value in self._source.columns.values():
            yield from (column for column in value.find_all(exp.Column) if is_marked(column))

    def measures_in(self, value: exp.Expr) -> bool:
        """Tests whether a value that the source offers (not yet part of the block) reads a measure."""
        return any(is_marked(c) and c.name.lower() in self._measures for c in value.find_all(exp.Column))

    def times_in(self, value: exp.Expr) -> bool:
        """Tests whether a value that the source offers (not yet part of the block) reads a time dimension."""
        return any(is_marked(c) and c.name.lower() in self._times for c in value.find_all(exp.Column))

    def correlated(self) -> list[tuple[exp.Column, exp.Expr]]:
        """Returns the columns inside subqueries that may be the cube's, each with its value."""
        pairs = [
            (column, value)
            for query in inner_queries(self._block.select, self._block.original_nodes)
            for column in query.find_all(exp.Column)
            if (value := self._outer_value(column, self._source.alias, self._source.columns, self._block.select))
        ]
        for level in self._source.levels:
            pairs += [
                (column, value)
                for query in inner_queries(level.select)
                for column in query.find_all(exp.Column)
                if (value := self._outer_value(column, level.alias, level.source_values, level.select))
            ]
        return pairs

    def _outer_value(
        self, column: exp.Column, alias: str, columns: Mapping[str, exp.Expr], outer_select: exp.Select
    ) -> exp.Expr | None:
        """Returns the value in ``outer`` of a column inside a subquery, unless a block between certainly offers the
        column.
        """
        if column.name.lower() not in columns:
            return None
        if column.table and column.table.lower() != alias.lower():
            return None
        select = column.parent_select
        while select is not None and select is not outer_select:
            inner_block = self._blocks.get(id(select))
            if inner_block is not None and _has_column(inner_block, column):
                return None
            select = select.parent_select
        return columns[column.name.lower()]

    def needed_names(
        self, nodes: Iterable[exp.Expr], correlated: Iterable[exp.Expr], extra: Iterable[str]
    ) -> tuple[str, ...]:
        """Returns the cube's columns that the derived table must offer, in the cube's order.

        ``nodes`` are those of the effective block and its inlined conditions, ``correlated`` the values that subqueries
        read, ``extra`` further names.
        """
        names = {name.lower() for name in extra}
        for level in self._source.levels:
            names |= {column.name.lower() for column in level.named_columns()}
        for value in correlated:
            names |= {column.name.lower() for column in value.find_all(exp.Column) if is_marked(column)}
        for node in nodes:
            if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                names |= {column.name.lower() for column in self.references()}
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                names |= {column.name.lower() for column in self.references()} if self.owned(node) else set()
            elif isinstance(node, exp.Column) and (self.owned(node) or not (node.table or is_marked(node))):
                # Unowned, it means an output column; Spark's choice depends on the columns that exist.
                names.add(node.name.lower())
            elif isinstance(node, exp.Join):
                for name in node.args.get("using") or ():
                    joined_value = self.joined_value(name)
                    names |= (
                        {c.name.lower() for c in joined_value.find_all(exp.Column)}
                        if joined_value is not None
                        else set()
                    )
        hint = self._block.select.args.get("hint")
        names |= {column.name.lower() for column in hint.find_all(exp.Column)} if hint is not None else set()
        order = self._source.cube.column_order
        return tuple(name for name in order if name.lower() in names) or (order[0],)


def _has_column(block: Block, column: exp.Column) -> bool:
    """Tests whether a block's own sources certainly offer a column."""
    name, qualifier = column.name.lower(), column.table.lower()
    for cube in block.cubes:
        if qualifier in ("", cube.alias.lower()) and name in cube.columns:
            return True
    for other in block.others:
        if qualifier:
            if qualifier == other.alias.lower():
                return True
        elif other.columns is not None and name in other.columns:
            return True
    return False
