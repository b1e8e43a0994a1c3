"""The places at which the query of a view names a column of some tables, cubes or facts: all of them, or a doubt.

A name is followed to its relation by the rules that both engines share. Where they might differ, or where the name of a
column becomes a value (``struct(a)``), there is a doubt, and the view is left to its owner.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.model.objects import Cube, Fact, Table, View
from rewriter.grammar.lexer import Token, identifier_value
from rewriter.grammar.unparse import quote_name
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.blocks import CatalogReader, catalog_name, is_file, key_of, modifiers
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.item_names import certain_item_name
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.query_text import QueryText, has_place

if TYPE_CHECKING:
    from rewriter.errors import Span

#: What makes the names of columns into values, or shadows them, or has columns that only an engine knows.
_OPAQUE = (
    exp.Hint, exp.Lambda, exp.Lateral, exp.MatchRecognize, exp.Pivot, exp.QueryTransform, exp.Struct, exp.TableSample,
    exp.Unnest, exp.Values,
)  # fmt: skip
#: The clauses of a block that also see the names of its items.
_BEHIND_ITEMS = ("group", "having", "qualify", "order", "sort", "cluster", "distribute")
_RELATION_PARTS = ("this", "alias", "db", "catalog")
_DEEPEST = 20


class _DoubtError(Exception):
    """A name whose column is not certain."""


@dataclass(frozen=True)
class _Use:
    """A name of the column: its place, the qualifier that another name would need, and whether it is an item of a
    select list without an alias.
    """

    span: Span
    qualifier: str
    is_item: bool


@dataclass(frozen=True)
class ColumnUses:
    """The uses of a column in a query.

    ``given`` are the names, by the offset behind it, of items that have the names that engines make of their texts.
    ``reads`` says whether the query itself names one of the sources, ``shows_all`` whether ``*`` shows their columns.
    ``doubt`` is the reason why there may be other uses, and ``obstacle`` why another name would change the result.
    """

    uses: tuple[_Use, ...] = ()
    given: tuple[tuple[int, str], ...] = ()
    reads: bool = False
    shows_all: bool = False
    doubt: str | None = None
    obstacle: str | None = None

    def with_name(self, query: str, name: str) -> str:
        """Returns the query with another name of the column. Its output columns keep their names."""
        edits = [(end, end, f" AS {quote_name(item_name)}") for end, item_name in self.given]
        for use in self.uses:
            alias = f" AS {query[use.span.start : use.span.end]}" if use.is_item else ""
            edits.append((use.span.start, use.span.end, f"{use.qualifier}{quote_name(name)}{alias}"))
        for start, end, text in sorted(edits, reverse=True):
            query = f"{query[:start]}{text}{query[end:]}"
        return query


def column_uses(
    view: View, sources: Collection[str], column: str, new_name: str | None, reader: CatalogReader
) -> ColumnUses:
    """Returns the uses of a column of ``sources`` (catalog names, in lower case) in a view's query. ``new_name`` is the
    name that the column is to have. Costs the parsing of the query, and of the views that it reads.
    """
    search = _Search(QueryText(view.query), view.database, frozenset(sources), column.lower(), new_name, reader)
    try:
        return search.found()
    except _DoubtError as doubt:
        return ColumnUses(reads=True, shows_all=True, doubt=str(doubt))
    except RecursionError:
        return ColumnUses(reads=True, shows_all=True, doubt="is nested too deeply")


@dataclass(frozen=True)
class _Relation:
    """A relation of a block: its alias and the names of its columns, in lower case; ``None`` if they are not known."""

    node: exp.Expr
    alias: str
    names: frozenset[str] | None
    is_source: bool

    def may_have(self, name: str) -> bool:
        return self.names is None or name in self.names


class _Search:
    """A search for a column in one query."""

    def __init__(
        self,
        text: QueryText,
        database: str,
        sources: frozenset[str],
        column: str,
        new_name: str | None,
        reader: CatalogReader,
        depth: int = 0,
    ) -> None:
        self._text, self._database, self._sources, self._reader = text, database, sources, reader
        self._column, self._new_name, self._depth = column, new_name, depth
        self._relations: dict[int, tuple[_Relation, ...]] = {}
        self._open_ctes: set[int] = set()
        #: Names of items, by the offset behind them.
        self._given: dict[int, str] = {}

    @cached_property
    def _ctes(self) -> CteReferences:
        return CteReferences(self._text.nodes)

    def found(self) -> ColumnUses:
        text = self._text
        unread = text.unread()
        if unread is not None:
            raise _DoubtError(f"cannot be parsed: {unread.message}")
        if not any(self._is_source(table) for table in text.find_all(exp.Table)):
            return ColumnUses()
        names = [token for token in text.tokens if _is_name(token, self._column)]
        if any(_is_name(token, "natural") for token in text.tokens):
            raise _DoubtError("has a NATURAL JOIN")
        if self._new_name is not None and any(_is_name(token, self._new_name.lower()) for token in text.tokens):
            raise _DoubtError(f"names {self._new_name}")
        shows_all = any(map(self._shows_source, text.find_all(exp.Star)))
        if not names:
            return ColumnUses(reads=True, shows_all=shows_all)
        self._refuse_opaque()
        obstacles: list[str] = []
        uses = [use for token in names for use in self._use(token, obstacles)]
        if shows_all and not uses:
            raise _DoubtError("shows all columns with *")
        if shows_all:
            obstacles.append("shows all columns with *")
        given = tuple(self._given.items())
        return ColumnUses(tuple(uses), given, True, shows_all, obstacle=obstacles[0] if obstacles else None)

    def _refuse_opaque(self) -> None:
        for node in self._text.nodes:
            is_opaque = isinstance(node, _OPAQUE)
            if isinstance(node, exp.Tuple):
                is_opaque = not isinstance(node.parent, exp.Group | exp.GroupingSets | exp.Cube | exp.Rollup)
            if is_opaque:
                raise _DoubtError(f"names {self._column} beside a {node.key.upper()}")
        for column in self._text.find_all(exp.Column):
            # DuckDB takes the name of a relation for a struct of its columns.
            select = column.find_ancestor(exp.Select)
            if column.table or select is None or isinstance(column.this, exp.Star):
                continue
            for relation in self._of(select):
                if (
                    relation.is_source
                    and relation.alias == column.name.lower()
                    and not relation.may_have(relation.alias)
                ):
                    raise _DoubtError(f"names {column.name} as a value")

    def _is_source(self, table: exp.Table) -> bool:
        if self._ctes.cte_of(table) is not None or is_file(table):
            return False
        name = catalog_name(table, self._database)
        return name is not None and name.lower() in self._sources

    def _shows_source(self, star: exp.Star) -> bool:
        """Tests whether a star shows the columns of a source. ``COUNT(*)`` shows none."""
        if isinstance(star.parent, exp.Count):
            return False
        select = star.find_ancestor(exp.Select)
        if select is None:
            return True
        alias = star.parent.table.lower() if isinstance(star.parent, exp.Column) else ""
        return any(
            isinstance(node, exp.Table) and self._is_source(node)
            for node in relations(select)
            if alias in ("", node.alias_or_name.lower())
        )

    # The relations of blocks, with their columns.

    def _of(self, select: exp.Select) -> tuple[_Relation, ...]:
        if id(select) not in self._relations:
            odd = modifiers(select)
            nodes = relations(select)
            for node in nodes:
                odd |= {key for key, value in node.args.items() if value and key not in _RELATION_PARTS}
            if odd:
                raise _DoubtError(f"names {self._column} in a block with {min(odd)}")
            block_relations = tuple(map(self._relation, nodes))
            aliases = [relation.alias for relation in block_relations]
            if len(set(aliases)) < len(aliases):
                raise _DoubtError("names two relations alike")
            self._relations[id(select)] = block_relations
        return self._relations[id(select)]

    def _relation(self, node: exp.Expr) -> _Relation:
        is_source = isinstance(node, exp.Table) and self._is_source(node)
        alias = node.args.get("alias")
        listed = None if alias is None else alias.args.get("columns")
        if listed and is_source:
            raise _DoubtError("gives other names to the columns")
        names = frozenset(c.name.lower() for c in listed) if listed else self._names(node)
        return _Relation(node, node.alias_or_name.lower(), names, is_source)

    def _names(self, node: exp.Expr) -> frozenset[str] | None:
        if isinstance(node, exp.Subquery):
            return self._outputs(node.this)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return None
        cte = self._ctes.cte_of(node)
        if cte is not None:
            listed = cte.args["alias"].args.get("columns")
            if listed:
                return frozenset(column.name.lower() for column in listed)
            if id(cte) in self._open_ctes:
                return None  # a recursive one
            self._open_ctes.add(id(cte))
            try:
                return self._outputs(cte.this)
            finally:
                self._open_ctes.remove(id(cte))
        name = None if is_file(node) else catalog_name(node, self._database)
        return None if name is None else self._names_of_object(name)

    def _names_of_object(self, name: str) -> frozenset[str] | None:
        view = self._reader.find_view(name)
        if view is not None and view.columns:
            return frozenset(column.lower() for column, _ in view.columns)
        if view is not None:
            text, inner = QueryText(view.query), self._depth + 1
            if inner > _DEEPEST or text.unread() is not None:
                return None
            args = (self._sources, self._column, self._new_name, self._reader, inner)
            return _Search(text, view.database, *args)._outputs(text.tree)
        object_ = self._reader.find(name)
        if isinstance(object_, Table):
            names = [column.name for column in object_.all_columns]
            return frozenset(map(str.lower, names)) if names else None
        cube = self._reader.cube(object_.cube) if isinstance(object_, Fact) else object_
        return frozenset(map(str.lower, cube.column_order)) if isinstance(cube, Cube) else None

    def _outputs(self, query: exp.Expr) -> frozenset[str] | None:
        """Returns the names that the columns of a query may have; ``None`` if they are not known."""
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        names: set[str] = set()
        for item in query.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if isinstance(star, exp.Star):
                alias = item.table.lower() if isinstance(item, exp.Column) else ""
                for relation in self._of(query):
                    if alias in ("", relation.alias):
                        if relation.names is None:
                            return None
                        names |= relation.names
            elif isinstance(item, exp.Alias | exp.Column):
                names.add(item.alias_or_name.lower())
            else:
                # Spark names a cast as its operand.
                names |= {column.name.lower() for column in item.find_all(exp.Column)}
        return frozenset(names)

    # The names.

    def _use(self, token: Token, obstacles: list[str]) -> Iterator[_Use]:
        """Yields the use of the column at a token, if it is one. Adds a reason to ``obstacles`` where a new name would
        change the result.
        """
        identifier = self._identifiers.get(token.start)
        parent = None if identifier is None else identifier.parent
        if isinstance(parent, exp.Join):
            raise _DoubtError(f"joins USING {self._column}")
        if identifier is None or parent is None:
            raise _DoubtError(f"names {self._column} in a way that is not certain")
        if isinstance(parent, exp.Column):
            if identifier.arg_key != "this":
                self._block_of(parent.table.lower(), parent)  # A qualifier, unless it is a struct.
                return
            relation, inner_blocks = self._resolved(parent)
            if relation is None or self._is_output(parent, obstacles):
                return
            self._note_unnamed_item(parent, obstacles)
            is_item = isinstance(parent.parent, exp.Select) and parent.arg_key == "expressions"
            qualifier = "" if parent.table else self._qualifier(relation, inner_blocks, obstacles)
            yield _Use(token.span, qualifier, is_item)
        elif not (
            (isinstance(parent, exp.Alias) and identifier.arg_key == "alias")
            or isinstance(parent, exp.TableAlias | exp.Table)
        ):
            raise _DoubtError(f"names {self._column} in a way that is not certain")

    @cached_property
    def _identifiers(self) -> dict[int, exp.Identifier]:
        return {int(node.meta["start"]): node for node in self._text.find_all(exp.Identifier) if has_place(node)}

    def _resolved(self, column: exp.Column) -> tuple[_Relation | None, list[exp.Select]]:
        """Returns the source that a column is of, ``None`` for a column of another relation or an output column; and
        the blocks from the one that names it to the one that has the source.
        """
        if column.table:
            relation, inner_blocks = self._block_of(column.table.lower(), column)
            if not relation.may_have(self._column):
                raise _DoubtError(f"names {self._column} behind {relation.alias}, which may be a struct")
            return relation if relation.is_source else None, inner_blocks
        blocks: list[exp.Select] = []
        for block in self._blocks(column):
            blocks.append(block)
            having = [relation for relation in self._of(block) if relation.may_have(self._column)]
            if len(having) > 1 or (having and having[0].names is None):
                raise _DoubtError(f"names {self._column}, which several relations may have")
            if having:
                return having[0] if having[0].is_source else None, blocks
            if any(isinstance(item, exp.Alias) and item.alias.lower() == self._column for item in block.expressions):
                return None, blocks
        if isinstance(_query_of(column)[0], exp.SetOperation):
            return None, blocks  # ORDER BY behind UNION names output columns.
        raise _DoubtError(f"names {self._column}, whose relation is not certain")

    def _block_of(self, alias: str, column: exp.Column) -> tuple[_Relation, list[exp.Select]]:
        """Returns the relation that a qualifier means, and the blocks up to that of the relation."""
        if column.args.get("catalog") is not None:
            raise _DoubtError(f"names {self._column} behind three names")
        blocks: list[exp.Select] = []
        for block in self._blocks(column):
            blocks.append(block)
            for relation in self._of(block):
                if relation.alias != alias:
                    continue
                node = relation.node
                if column.db and not (
                    isinstance(node, exp.Table)
                    and not node.alias
                    and self._ctes.cte_of(node) is None
                    and key_of(node, self._database) == (column.db.lower(), alias)
                ):
                    raise _DoubtError(f"names {self._column} behind a database or a struct")
                return relation, blocks
        raise _DoubtError(f"names {self._column} behind {alias}, which may be a struct")

    def _blocks(self, node: exp.Expr) -> Iterator[exp.Select]:
        """Yields the blocks whose relations a column may be of, the innermost first."""
        query, _ = _query_of(node)
        while isinstance(query, exp.Select):
            yield query
            outer: exp.Expr | None = query.parent
            while isinstance(outer, exp.Subquery | exp.SetOperation | exp.Paren):
                outer = outer.parent
            if outer is None or isinstance(outer, exp.CTE | exp.From | exp.Join):
                return
            query, _ = _query_of(outer)

    def _is_output(self, column: exp.Column, obstacles: list[str]) -> bool:
        """Tests whether a name of the source's column may stay, because the block has an output column of that name,
        with the same value. Raises ``_DoubtError`` where the output column has another value.
        """
        query, clause = _query_of(column)
        if not isinstance(query, exp.Select) or clause not in _BEHIND_ITEMS:
            return False
        named = [item for item in query.expressions if item.alias_or_name.lower() == self._column]
        is_same = all(isinstance(item, exp.Column) and self._resolved(item)[0] is not None for item in named)
        if named and not column.table and not is_same:
            raise _DoubtError(f"names {self._column} in {clause.upper()}, and has an output column of that name")
        is_key = isinstance(column.parent, exp.Ordered) and column.parent.parent is query.args.get("order")
        if named and not column.table and is_key:
            return True
        if query.args.get("distinct") is not None and clause not in ("group", "having"):
            obstacles.append(f"names {self._column} in ORDER BY beside DISTINCT")
        return False

    def _note_unnamed_item(self, column: exp.Column, obstacles: list[str]) -> None:
        """Notes the name of an item without an alias that has a column in it, or that its name is not certain."""
        node: exp.Expr = column
        while node.parent is not None:
            in_list = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
            if in_list and node is not column and not isinstance(node, exp.Alias):
                item = self._text.select_item(int(column.this.meta["start"]))
                columns = {inner_column.name.lower() for inner_column in node.find_all(exp.Column)}
                name = certain_item_name(self._text.text[item.start : item.end], columns)
                # Such a name as that of a cast, which is the column's own, could mean something in ORDER BY.
                if name is None or name.isidentifier() or node.find(exp.Query) is not None:
                    obstacles.append(f"has an item with {self._column} and without an alias")
                else:
                    self._given[item.end] = name
            node = node.parent

    def _qualifier(self, relation: _Relation, blocks: list[exp.Select], obstacles: list[str]) -> str:
        """Returns what has to stand before the new name so that it means a column of the relation."""
        visible = [other for block in blocks for other in self._of(block) if other.node is not relation.node]
        if self._new_name is None or not any(other.may_have(self._new_name.lower()) for other in visible):
            return ""
        if not relation.alias or any(other.alias == relation.alias for other in visible):
            obstacles.append(f"has other relations with {self._new_name}")
        return f"{quote_name(relation.node.alias_or_name)}."


def _is_name(token: Token, name: str) -> bool:
    return identifier_value(token).lower() == name


def _query_of(node: exp.Expr) -> tuple[exp.Expr | None, str]:
    """Returns the innermost SELECT or set operation around a node, and the clause in which the node stands."""
    while node.parent is not None:
        if isinstance(node.parent, exp.Select | exp.SetOperation):
            return node.parent, str(node.arg_key)
        if isinstance(node.parent, exp.Subquery) and node.arg_key not in ("this", "alias"):
            raise _DoubtError("has clauses behind a query in parentheses")
        node = node.parent
    return None, ""
