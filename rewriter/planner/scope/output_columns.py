"""The columns that the relations of a query offer, as far as they are known without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from rewriter.catalog.model.objects import Column, Cube, Fact, Table
from rewriter.planner.scope.blocks import CatalogReader, meaning
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import relations

#: Columns in order. A name or a type of '' is unknown; ``None`` represents any number of columns.
Offered = tuple[Column | None, ...]

_UNKNOWN: Offered = (None,)


class OutputColumns:
    """The columns that the relations of one query without views offer. Each SELECT is examined once."""

    def __init__(self, tree: exp.Expr, reader: CatalogReader) -> None:
        self._reader = reader
        self._ctes = CteReferences(tuple(tree.root().walk()))
        self._columns_of: dict[int, tuple[tuple[str, Offered], ...]] = {}

    def of_relations(self, select: exp.Select) -> tuple[tuple[str, Offered], ...]:
        """Returns the alias, in lower case, and the columns of each relation of a SELECT."""
        if id(select) not in self._columns_of:
            self._columns_of[id(select)] = ()  # the columns that a recursive CTE offers itself are unknown
            sources = [*relations(select), *(select.args.get("laterals") or ())]
            self._columns_of[id(select)] = tuple(
                (relation.alias_or_name.lower(), self._columns(relation)) for relation in sources
            )
        return self._columns_of[id(select)]

    def of_query(self, query: exp.Expr) -> Offered:
        """Returns the output columns of a query."""
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return _UNKNOWN
        return tuple(column for item in query.expressions for column in self._item(item, query))

    def _item(self, item: exp.Expr, select: exp.Select) -> Iterator[Column | None]:
        value = item.unalias()
        star = value.this if isinstance(value, exp.Column) else value
        if isinstance(star, exp.Star):
            alias = value.table.lower() if isinstance(value, exp.Column) else ""
            columns_of_relations = [columns for name, columns in self.of_relations(select) if alias in ("", name)]
            is_merged = len(columns_of_relations) > 1 and any(_merges(join) for join in select.args.get("joins") or ())
            is_plain = columns_of_relations and not is_merged and not any(star.args.values())  # no * EXCEPT (…)
            yield from (column for columns in columns_of_relations for column in columns) if is_plain else _UNKNOWN
        elif isinstance(item, exp.Alias | exp.Column):
            yield Column(item.alias_or_name, self._type(value, select))
        elif is_scalar(value) or isinstance(value, exp.AggFunc | exp.Window):
            yield Column("", "")
        else:
            yield None

    def _type(self, value: exp.Expr, select: exp.Select) -> str:
        if not isinstance(value, exp.Column):
            return ""
        alias, name = value.table.lower(), value.name.lower()
        columns_of_relations = [columns for relation, columns in self.of_relations(select) if alias in ("", relation)]
        if any(None in columns for columns in columns_of_relations):
            return ""
        types = {
            column.type
            for columns in columns_of_relations
            for column in columns
            if column and column.name.lower() == name
        }
        return types.pop() if len(types) == 1 else ""

    def _columns(self, relation: exp.Expr) -> Offered:
        alias = relation.args.get("alias")
        if relation.args.get("pivots"):
            return _UNKNOWN
        columns = self._unnamed(relation)
        if alias is not None and alias.args.get("columns"):
            return renamed(columns, [column.name for column in alias.args["columns"]])
        return columns

    def _unnamed(self, relation: exp.Expr) -> Offered:
        if isinstance(relation, exp.Subquery):
            return self.of_query(relation.this)
        if not isinstance(relation, exp.Table):
            return _UNKNOWN
        cte = self._ctes.cte_of(relation)
        if cte is not None:
            column_list = cte.args["alias"].args.get("columns")
            columns = self.of_query(cte.this)
            return renamed(columns, [column.name for column in column_list]) if column_list else columns
        resolved = meaning(relation, self._reader)
        if isinstance(resolved, Table):
            return resolved.all_columns
        if resolved is None:
            return _UNKNOWN
        return _cube_columns(self._reader.cube(resolved.cube) if isinstance(resolved, Fact) else resolved)


def renamed(offered: Offered, names: Sequence[str]) -> Offered:
    """Returns the columns under the names of a list."""
    is_known = len(offered) == len(names) and None not in offered
    types = [column.type for column in offered if column] if is_known else [""] * len(names)
    return tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))


def _merges(join: exp.Join) -> bool:
    """Tests whether a join removes columns from ``*``: USING and NATURAL merge two columns, SEMI and ANTI drop
    a side.
    """
    kind = (join.args.get("kind") or "").upper()
    return bool(join.args.get("using") or join.args.get("method")) or kind in ("SEMI", "ANTI")


def _cube_columns(cube: Cube) -> Offered:
    types = {column.name: column.type for column in cube.dimensions}
    types |= {measure.name: measure.type for measure in cube.measures}
    return tuple(Column(name, types.get(name, "timestamp")) for name in cube.column_order)
