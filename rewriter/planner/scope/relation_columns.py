"""The names and the values of the columns of relations, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.planner.scope.joins import relations

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube, Table
    from rewriter.planner.scope.cte_references import CteReferences


class UnknownColumnsError(Exception):
    """The columns of a relation, or their order, are not known without an engine."""


class RelationColumns:
    """The columns of the relations of one query. Each SELECT is examined once."""

    def __init__(self, ctes: CteReferences, cubes: Mapping[int, Cube], tables: Mapping[int, Table]) -> None:
        """``cubes`` and ``tables`` are the query's, by the identity of their nodes."""
        self._ctes, self._cubes, self._tables = ctes, cubes, tables
        self._items: dict[int, list[tuple[str, exp.Expr]]] = {}

    def names(self, relation: exp.Expr) -> list[str]:
        """Returns the names of a relation's columns, in lower case; '' for a column without a plain name.

        Raises ``UnknownColumnsError``.
        """
        query: exp.Expr | None = relation
        while isinstance(query, exp.Table | exp.Subquery | exp.SetOperation):
            _refuse_clauses(query)
            if id(query) in self._cubes:
                return [name.lower() for name in self._cubes[id(query)].column_order]
            if id(query) in self._tables:
                return [column.name.lower() for column in self._table(query).all_columns]
            query = self._ctes.cte_of(query) if isinstance(query, exp.Table) else query.this
            if isinstance(query, exp.CTE):
                _refuse_list(query)
                query = query.this
        if not isinstance(query, exp.Select):
            raise UnknownColumnsError
        return [name for name, _ in self.items(query)]

    def position(self, name: str, relation: exp.Expr) -> int:
        """Returns the position of a relation's only column of that name. Raises ``UnknownColumnsError``."""
        names = self.names(relation)
        if names.count(name) != 1:
            raise UnknownColumnsError
        return names.index(name)

    def type_in_table(self, table: exp.Expr, position: int) -> str | None:
        """Returns the type of a table's column; ``None`` for any other relation. Raises ``UnknownColumnsError``."""
        return self._table(table).all_columns[position].type if id(table) in self._tables else None

    def value(self, select: exp.Select, position: int) -> exp.Expr:
        """Returns the value of an output column, without parentheses around it. Raises ``UnknownColumnsError``."""
        items = self.items(select)
        if position >= len(items):
            raise UnknownColumnsError
        return items[position][1].unnest()

    def items(self, select: exp.Select) -> list[tuple[str, exp.Expr]]:
        """Returns the name and the value of each output column. ``*`` of one relation is expanded.

        Raises ``UnknownColumnsError``.
        """
        if id(select) not in self._items:
            self._items[id(select)] = list(self._found_items(select))
        return self._items[id(select)]

    def _found_items(self, select: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
        for item in select.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if not isinstance(star, exp.Star):
                yield item.alias_or_name.lower() if isinstance(item, exp.Alias | exp.Column) else "", item.unalias()
                continue
            sources = relations(select)
            if any(star.args.values()) or len(sources) != 1 or select.args.get("laterals"):
                raise UnknownColumnsError
            alias = sources[0].alias_or_name
            if isinstance(item, exp.Column) and item.table.lower() != alias.lower():
                raise UnknownColumnsError
            yield from ((name, exp.column(name, alias or None)) for name in self.names(sources[0]))

    def _table(self, relation: exp.Expr) -> Table:
        table = self._tables[id(relation)]
        if not table.all_columns:
            raise UnknownColumnsError  # a file
        return table


def _refuse_clauses(query: exp.Table | exp.Subquery | exp.SetOperation) -> None:
    """Raises ``UnknownColumnsError`` for PIVOT, a column list and whatever else may change the columns."""
    _refuse_list(query)
    if isinstance(query, exp.SetOperation):
        if query.args.get("by_name"):
            raise UnknownColumnsError
    elif any(value and key not in ("this", "alias", "db", "catalog") for key, value in query.args.items()):
        raise UnknownColumnsError


def _refuse_list(named: exp.Expr) -> None:
    alias = named.args.get("alias")
    if isinstance(alias, exp.TableAlias) and alias.columns:
        raise UnknownColumnsError
