"""Column lineage: traces each output column of a query down to the table or cube that has the rows.

The trace follows projections, conditions and aggregations of one relation, subqueries, CTEs, views and UNION ALL.
Everything else may leave rows out or repeat them (joins, DISTINCT, LIMIT, windows, generators), so it is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.blocks import Block, CubeSource, inner_queries, modifiers
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.inlining import OutputNames, belongs, is_marked, names_in
from rewriter.planner.scope.joins import conjuncts, relations
from rewriter.planner.scope.projections import own_nodes, substituted
from rewriter.planner.text.sqlglot_trees import one_of

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Measure
    from rewriter.planner.scope.cte_references import CteReferences
    from rewriter.planner.scope.item_names import OutputColumns
    from rewriter.planner.text.query_text import QueryText

#: What a query has that reads nothing.
NO_TABLE = "rows that are not from a table"
#: The columns of a table or cube that a query names, in order.
ColumnsOf = Callable[[exp.Table], Sequence[str]]


class NotFollowed(Exception):
    """A part of a query that lineage cannot follow; the text names it."""


@dataclass(frozen=True)
class Condition:
    """One part of a WHERE: as typed, and over the columns of the reference below."""

    original: exp.Expr
    value: exp.Expr


@dataclass(frozen=True)
class Lineage:
    """The rows of a query that come from one reference.

    ``outputs`` are the values of the output columns, by name in lower case ('' where there is none). ``conditions`` are
    the conditions on the way. Both are over the columns of the reference. ``aggregated`` says that a block on the way
    aggregates; ``grouped`` are the columns, in lower case, that such blocks group by.
    """

    node: exp.Table
    outputs: tuple[tuple[str, exp.Expr], ...]
    conditions: tuple[Condition, ...] = ()
    aggregated: bool = False
    grouped: frozenset[str] = frozenset()


def lineages(query: exp.Expr, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    """Returns the lineages of a query, one for each branch of UNION ALL. Raises ``NotFollowed``."""
    if isinstance(query, exp.Subquery):
        return _subquery(query, ctes, columns_of)
    if isinstance(query, exp.SetOperation):
        if not isinstance(query, exp.Union) or query.args.get("distinct") or query.args.get("by_name"):
            raise NotFollowed("a set operation other than UNION ALL")
        _refuse_clauses(query, ("this", "expression", "distinct", "with_", "order"))
        left, right = (lineages(side, ctes, columns_of) for side in (query.this, query.expression))
        names = [name for name, _ in left[0].outputs]
        return (*left, *(_renamed(lineage, names) for lineage in right))
    if not isinstance(query, exp.Select):
        raise NotFollowed(NO_TABLE)
    return tuple(_select(query, inner_lineages) for inner_lineages in _relation(query, ctes, columns_of))


def _relation(select: exp.Select, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    if select.args.get("joins"):
        raise NotFollowed("a join, which may drop or repeat rows")
    _refuse_clauses(select, _CLAUSES)
    group = select.args.get("group")
    if group is not None:
        _refuse_clauses(group, ("expressions", "all"))
        if any(isinstance(element, exp.Rollup | exp.Cube | exp.GroupingSets) for element in group.expressions):
            raise NotFollowed("several groupings, which repeat rows")
    sources = relations(select)
    if len(sources) != 1:
        raise NotFollowed(NO_TABLE if not sources else "a join, which may drop or repeat rows")
    source = sources[0]
    if isinstance(source, exp.Subquery):
        return _subquery(source, ctes, columns_of)
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        raise NotFollowed(NO_TABLE)
    _refuse_clauses(source, ("this", "alias", "db", "catalog"))
    cte = ctes.cte_of(source)
    if cte is None:
        inner_lineages: tuple[Lineage, ...] = (
            Lineage(source, tuple((name.lower(), _column(name)) for name in columns_of(source))),
        )
    elif cte.parent is not None and cte.parent.args.get("recursive"):
        raise NotFollowed("a recursive CTE")
    else:
        inner_lineages = _aliased(lineages(cte.this, ctes, columns_of), cte)
    return _aliased(inner_lineages, source)


def _subquery(query: exp.Subquery, ctes: CteReferences, columns_of: ColumnsOf) -> tuple[Lineage, ...]:
    _refuse_clauses(query, ("this", "alias"))
    return _aliased(lineages(query.this, ctes, columns_of), query)


def _aliased(inner_lineages: Sequence[Lineage], relation: exp.Expr) -> tuple[Lineage, ...]:
    """``AS x (a, b)`` gives the columns other names."""
    alias = relation.args.get("alias")
    names = [] if alias is None else [column.name.lower() for column in alias.args.get("columns") or ()]
    return tuple(_renamed(lineage, names) for lineage in inner_lineages) if names else tuple(inner_lineages)


def _renamed(lineage: Lineage, names: Sequence[str]) -> Lineage:
    if len(names) != len(lineage.outputs):
        raise NotFollowed("a column list with the wrong number of names")
    outputs = tuple((name, value) for name, (_, value) in zip(names, lineage.outputs, strict=True))
    return replace(lineage, outputs=outputs)


_CLAUSES = (
    "with_", "expressions", "hint", "from_", "where", "group", "order", "sort", "cluster", "distribute",
    "operation_modifiers",
)  # fmt: skip
_CLAUSE_NAMES = {"from_": "FROM", "laterals": "LATERAL VIEW", "sample": "TABLESAMPLE", "pivots": "PIVOT"}


def _refuse_clauses(node: exp.Expr, allowed_keys: Sequence[str]) -> None:
    for key, value in node.args.items():
        if value and key not in allowed_keys:
            name = _CLAUSE_NAMES.get(key, key.strip("_").replace("_", " ").upper())
            raise NotFollowed(f"{name}, which may drop or repeat rows")


def _select(select: exp.Select, inner_lineage: Lineage) -> Lineage:
    """Returns the lineage of one block over the lineage of its only relation."""
    for node in own_nodes(select):
        _check_node(node)
    values = dict(inner_lineage.outputs)
    source = relations(select)[0]
    alias = (source.alias_or_name if isinstance(source, exp.Table | exp.Subquery) else "").lower()
    where = select.args.get("where")
    conditions = [
        Condition(conjunct, _over_inner_columns(conjunct, values, alias))
        for conjunct in ([] if where is None else conjuncts(where.this))
    ]
    for condition in conditions:
        if next(condition.value.find_all(exp.AggFunc), None) is not None:
            raise NotFollowed("a condition on aggregated values")
    outputs = _outputs(select, inner_lineage, values, alias)
    group = select.args.get("group")
    aggregated = group is not None or any(isinstance(node, exp.AggFunc) for node in own_nodes(select))
    grouped = inner_lineage.grouped
    if aggregated:
        keys = [value for _, value in outputs if next(value.find_all(exp.AggFunc), None) is None]
        group_items = [
            expression
            for expression in ([] if group is None else group.expressions)
            if not isinstance(expression, exp.Literal)
        ]
        keys += [_over_inner_columns(key, {**dict(outputs), **values}, alias) for key in group_items]
        grouped |= {name for key in keys for name in columns_in(key)}
    all_conditions = (*inner_lineage.conditions, *conditions)
    return Lineage(inner_lineage.node, tuple(outputs), all_conditions, inner_lineage.aggregated or aggregated, grouped)


def _outputs(
    select: exp.Select, inner_lineage: Lineage, values: Mapping[str, exp.Expr], alias: str
) -> list[tuple[str, exp.Expr]]:
    """Returns the items of a select list, with their names, over the columns inside. A ``*`` is all items inside."""
    outputs: list[tuple[str, exp.Expr]] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            if any((item.this if isinstance(item, exp.Column) else item).args.values()):
                raise NotFollowed("* EXCEPT")
            outputs += inner_lineage.outputs
            continue
        expression = item.this if isinstance(item, exp.Alias) else item
        outputs.append((item.alias_or_name.lower(), _over_inner_columns(expression, values, alias)))
    return outputs


def _check_node(node: exp.Expr) -> None:
    if isinstance(node, exp.Filter):
        raise NotFollowed("FILTER, which drops rows")
    if isinstance(node, exp.Window):
        raise NotFollowed("a window function")
    if isinstance(node, exp.Query):
        raise NotFollowed("a subquery in an expression")
    if isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"):
        return
    if isinstance(node, exp.Func) and not isinstance(node, exp.AggFunc) and not is_scalar(node):
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        raise NotFollowed(f"the function {name.lower()}")


def _over_inner_columns(expression: exp.Expr, values: Mapping[str, exp.Expr], alias: str) -> exp.Expr:
    """Rewrites an expression of a block over the columns of the reference below."""
    if any(isinstance(node, exp.Query) for node in expression.walk()):
        raise NotFollowed("a subquery in an expression")

    def value_of(column: exp.Column) -> exp.Expr:
        value = values.get(column.name.lower())
        qualifier = column.table.lower()
        if value is None or qualifier not in ("", alias) or isinstance(column.this, exp.Star):
            raise NotFollowed(f"the column {column.sql(dialect='spark')}")
        return value

    return substituted(expression, value_of)


def _column(name: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name))


def unwrapped(value: exp.Expr) -> exp.Expr:
    """Returns an expression without the parentheses around it."""
    while isinstance(value, exp.Paren):
        value = value.this
    return value


def columns_in(value: exp.Expr) -> Iterator[str]:
    """Returns the names, in lower case, of the columns that an expression reads."""
    return (column.name.lower() for column in value.find_all(exp.Column))


# Decides which columns of a block belong to a cube, and which of them the derived table in its place must offer.


@dataclass(frozen=True)
class NeededColumns:
    """Columns of a cube, in its order: those that a query reads, and those that only its text names."""

    read: tuple[str, ...]
    unread: tuple[str, ...]


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
        if len([*self._text.find_all(exp.Query)]) == 1:
            return []
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

    def needed_columns(
        self, nodes: Iterable[exp.Expr], correlated: Iterable[exp.Expr], extra: Iterable[str], *, shown: bool
    ) -> NeededColumns:
        """Returns the cube's columns that the derived table must offer.

        ``nodes`` are the nodes of the effective block and its inlined conditions, ``correlated`` the values that
        subqueries read, ``extra`` further names. ``shown`` says that ``*`` of the block shows columns of the cube.
        """
        names = {name.lower() for name in extra}
        for value in correlated:
            names |= {column.name.lower() for column in value.find_all(exp.Column) if is_marked(column)}
        for node in nodes:
            if _may_read(type(node)):
                names.update(column.name.lower() for column in self._columns_for(node))
        hint = self._block.select.args.get("hint")
        names |= {column.name.lower() for column in hint.find_all(exp.Column)} if hint is not None else set()
        levels, cube = self._source.levels, self._source.cube
        named = {column.name.lower() for level in levels for column in level.named_columns()}
        used = self._names_used(shown=shown) if levels else set()
        for level in reversed(levels):
            used = level.names_read(used)
        # The leading time of a row is always known, and so are all times on which a zone's clocks are read.
        kept = {time.lower() for time in (cube.times[:1] if cube.calendar.is_utc else cube.times)}
        names |= named if used is None else named & (used | kept)
        read, unread = (
            tuple(name for name in cube.column_order if name.lower() in of) for of in (names, named - names)
        )
        return NeededColumns(read if read or unread else (cube.column_order[0],), unread)

    def _names_used(self, *, shown: bool) -> Set[str] | None:
        """Returns the names, in lower case, by which the block and its subqueries may read columns of the source;
        ``None`` for all of its columns.
        """
        select, alias = self._block.select, self._source.alias
        if modifiers(select) - {"laterals"} or any(join.args.get("method") for join in select.find_all(exp.Join)):
            return None
        # Queries in WITH and in FROM see no column of the block.
        bodies = [relation.unnest() for relation in relations(select) if isinstance(relation, exp.Subquery)]
        apart = {id(node) for node in (select.args.get("with_"), *bodies) if isinstance(node, exp.With | exp.Query)}
        for star in select.find_all(exp.Star):
            is_own = star.find_ancestor(exp.Select) is select and not isinstance(star.parent, exp.Count | exp.Column)
            is_qualified = isinstance(star.parent, exp.Column) and star.parent.table.lower() == alias.lower()
            if is_qualified or (is_own and (shown or not isinstance(star.parent, exp.Select))):
                return None
        return names_in([select], alias, apart)

    def _columns_for(self, node: exp.Expr) -> Iterable[exp.Column]:
        """Returns the columns that a node of the block reads, or may read, of the cube."""
        if isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count | exp.Column):
            return self.references()
        if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            return self.references() if self.owned(node) else ()
        if isinstance(node, exp.Column) and (self.owned(node) or not (node.table or is_marked(node))):
            # Unowned, it means an output column; Spark's choice depends on the columns that exist.
            return (node,)
        if isinstance(node, exp.Join):
            joined_values = map(self.joined_value, node.args.get("using") or ())
            return [column for value in joined_values if value is not None for column in value.find_all(exp.Column)]
        return ()


_may_read = one_of(exp.Star, exp.Column, exp.Join)


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


# Detects column capture: whether a query, once moved into another one, would bind one of its columns to the outer
# query.
#
# In a subquery of an expression, Spark resolves a column that it does not find inside among the columns outside. Code
# that moves a query there must first check that all of its columns are bound inside.


def is_correlatable(node: exp.Expr) -> bool:
    """Tests whether a relation is inside a subquery of an expression, or behind LATERAL."""
    inner, outer = node, node.parent
    while outer is not None:
        if isinstance(outer, exp.Lateral):
            return True
        relation = isinstance(outer, exp.From | exp.CTE | exp.Subquery | exp.SetOperation) or (
            isinstance(outer, exp.Join) and inner.arg_key == "this"
        )
        if isinstance(inner, exp.Query) and not relation:
            return True
        inner, outer = outer, outer.parent
    return False


def escaping(query: exp.Expr, output_columns: OutputColumns) -> str | None:
    """Returns a column of the query, as typed, that is not certainly bound by its own relations, or ``None``.

    ``output_columns`` belong to the tree that contains the query.
    """
    columns = (column for column in query.find_all(exp.Column) if not isinstance(column.this, exp.Star))
    return next((column.sql("spark") for column in columns if not _is_bound(column, query, output_columns)), None)


def _is_bound(column: exp.Column, root: exp.Expr, output_columns: OutputColumns) -> bool:
    """Tests whether a relation inside certainly binds the column."""
    table, name = column.table.lower(), column.name.lower()
    for select, sees_list in _scopes(column, root):
        offered = [
            (alias, {known_column.name.lower() for known_column in columns if known_column})
            for alias, columns in output_columns.of_relations(select)
        ]
        qualified = [names for alias, names in offered if table and alias == table]
        if qualified:
            return any(name in names for names in qualified)
        # x.y may be a field of the struct x, too.
        if any((table or name) in names for _, names in offered):
            return True
        if sees_list and not table and any(item.alias.lower() == name for item in select.expressions):
            return True
    return False


def _scopes(column: exp.Column, root: exp.Expr) -> Iterator[tuple[exp.Select, bool]]:
    """Yields the SELECTs whose relations a column sees, innermost first, and whether it sees the aliases of their
    lists.
    """
    node: exp.Expr = column
    in_from = in_condition = False
    while node is not root and node.parent is not None:
        inner, node = node, node.parent
        in_from |= isinstance(node, exp.From | exp.CTE) or (isinstance(node, exp.Join) and inner is node.this)
        in_condition |= isinstance(node, exp.Where | exp.Join)
        if isinstance(node, exp.Select):
            if not in_from:
                yield node, not in_condition
            in_from = in_condition = False
