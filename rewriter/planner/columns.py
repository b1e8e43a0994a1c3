"""Which columns of a block are the cube's, and which of them the derived table must offer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import exp

from rewriter.catalog.models import Measure
from rewriter.errors import AnalysisError
from rewriter.planner.additivity import Additivity
from rewriter.planner.blocks import Block, did_you_mean
from rewriter.planner.text import QueryText


class Columns:
    """Resolves the columns of a block with one cube, as Spark would."""

    def __init__(self, text: QueryText, block: Block, blocks: Sequence[Block]) -> None:
        self._text = text
        self._block = block
        self._blocks = {id(one.select): one for one in blocks}
        self._source = block.cubes[0]
        cube = self._source.cube
        self._measures = {measure.name.lower(): measure for measure in cube.measures}
        self._types = {column.name.lower(): column.type for column in cube.dimensions}
        self._types |= {measure.name.lower(): measure.type for measure in cube.measures}
        self._names = {name.lower(): name for name in cube.column_order}
        self._times = {name.lower() for name in cube.times}
        self._aliases = {item.alias.lower() for item in block.select.expressions if isinstance(item, exp.Alias)}

    def owned(self, column: exp.Column) -> bool:
        """Whether a column of the block is the cube's."""
        if isinstance(column.this, exp.Star):
            return not column.table or column.table.lower() == self._source.alias.lower()
        if column.name.lower() not in self._names:
            return False
        if column.table:
            return column.table.lower() == self._source.alias.lower()
        return not self._shadowed(column)

    def measure(self, column: exp.Column) -> Measure | None:
        """The measure that a column is, or ``None``."""
        return self._measures.get(column.name.lower()) if self.owned(column) else None

    def type_of(self, column: exp.Column) -> str | None:
        """The type of a column of the block, or ``None`` where it is not known."""
        name = column.name.lower()
        if self.owned(column):
            return self._types.get(name, "timestamp")
        mine = (o for o in self._block.others if column.table.lower() in ("", o.alias.lower()))
        found = [other.columns[name] for other in mine if other.columns is not None and name in other.columns]
        return found[0] if len(found) == 1 else None

    def is_time(self, column: exp.Column) -> bool:
        """Whether a column is the cube's time dimension."""
        return column.name.lower() in self._times and self.owned(column)

    def check(self, nodes: Iterable[exp.Expr]) -> None:
        """Raises ``AnalysisError`` UNRESOLVED_COLUMN, with position, for a column that nothing in the block offers."""
        alone = not self._block.others and self._block.select.parent_select is None
        for node in nodes:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or self.owned(node):
                continue
            mine = node.table.lower() == self._source.alias.lower() if node.table else alone
            if (
                mine
                and node.name.lower() not in self._names
                and not (not node.table and node.name.lower() in self._aliases)
                and "(" not in node.name  # ORDER BY `count(1)`
            ):
                span = self._text.span_of(node)
                raise AnalysisError(
                    f"The cube {self._source.cube.name} has no column {node.name}.",
                    condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
                    sqlstate="42703",
                    position=self._text.place(span) if span else None,
                    object=node.name,
                    hint=did_you_mean(node.name, list(self._names.values()))
                    or f"DESCRIBE CUBE {self._source.cube.name} lists its columns.",
                )

    def correlated(self, queries: Iterator[exp.Query]) -> set[str]:
        """Names of the cube's columns that subqueries among the block's expressions may read."""
        columns = (column for query in queries for column in query.find_all(exp.Column))
        names = {column.name.lower() for column in columns if self._reaches(column)}
        return {name for name in names if name in self._names}

    def _reaches(self, column: exp.Column) -> bool:
        """Whether a column inside a subquery may be the outer cube's: no block between offers it for certain."""
        select = column.parent_select
        while select is not None and select is not self._block.select:
            inner = self._blocks.get(id(select))
            if inner is not None and _offers(inner, column):
                return False
            select = select.parent_select
        return not column.table or column.table.lower() == self._source.alias.lower()

    def needed(self, nodes: Iterable[exp.Expr], additivity: Additivity, correlated: set[str]) -> tuple[str, ...]:
        """The cube's columns that the derived table must offer, in the cube's order."""
        wanted = set(correlated)
        for node in nodes:
            if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
                wanted |= set(self._names)
            elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
                wanted |= set(self._names) if self.owned(node) else set()
            elif isinstance(node, exp.Column) and (self.owned(node) or not node.table):
                # Unowned, it means an output column; which one Spark takes depends on what is there.
                wanted.add(node.name.lower())
            elif isinstance(node, exp.Join):
                wanted |= {
                    name.name.lower() for name in node.args.get("using") or () if name.name.lower() in self._names
                }
        hint = self._block.select.args.get("hint")
        wanted |= {column.name.lower() for column in hint.find_all(exp.Column)} if hint is not None else set()
        count = self._source.cube.count_measure
        if additivity.counts and count is not None:
            wanted.add(count.name.lower())
        wanted |= {call.measure.counted_by.lower() for call in additivity.averages if call.measure.counted_by}
        order = self._source.cube.column_order
        return tuple(name for name in order if name.lower() in wanted) or (order[0],)

    def _shadowed(self, column: exp.Column) -> bool:
        """Whether an unqualified name in ORDER BY or HAVING means an output column, not the cube's."""
        if column.name.lower() not in self._aliases:
            return False
        node: exp.Expr | None = column.parent
        while node is not None and node is not self._block.select:
            if isinstance(node, exp.AggFunc | exp.Window):
                return False
            if isinstance(node, exp.Order | exp.Having) and node.parent is self._block.select:
                return True
            node = node.parent
        return False


def _offers(block: Block, column: exp.Column) -> bool:
    """Whether a block's own sources surely offer a column."""
    name, qualifier = column.name.lower(), column.table.lower()
    for cube in block.cubes:
        if qualifier in ("", cube.alias.lower()) and name in (known.lower() for known in cube.cube.column_order):
            return True
    for other in block.others:
        if qualifier:
            if qualifier == other.alias.lower():
                return True
        elif other.columns is not None and name in other.columns:
            return True
    return False
