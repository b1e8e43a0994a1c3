"""Inlining: how a block sees a cube through subqueries and CTEs that only project and filter."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import NotSupportedError
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.first_rows import returns_first_rows
from rewriter.planner.scope.joins import contributes, relations, typed_conjuncts
from rewriter.planner.scope.projections import descend, own_nodes, projection_of, substituted
from rewriter.planner.text.sqlglot_trees import children, find_all, one_of, walk

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Cube
    from rewriter.planner.scope.cte_references import CteReferences

#: The key under which a column of a tree keeps the source of its block that it belongs to.
_MARK = "rewriter_source"

#: The maximum number of nodes in the columns that subqueries offer, besides the nodes of the query itself.
_MOST_NODES = 100_000


@dataclass(frozen=True, eq=False)
class Level:
    """One inlined subquery.

    ``alias`` is the name of its one relation inside it. ``source_values`` are the values that the relation offers,
    ``output_values`` the values that the subquery offers itself. Both are over the cube's columns, by name in lower
    case. ``column_lists`` are the lists of names that follow its alias, and the alias of its CTE.
    """

    select: exp.Select
    alias: str
    source_values: Mapping[str, exp.Expr]
    output_values: Mapping[str, exp.Expr]
    column_lists: tuple[tuple[exp.Identifier, ...], ...]

    @property
    def passes_all(self) -> bool:
        """Returns True if ``*`` passes on all columns of its relation."""
        return any(_is_star(item, self.alias) for item in self.select.expressions)

    def value_of(self, column: exp.Column) -> exp.Expr | None:
        """Returns the value of a column in this subquery."""
        if isinstance(column.this, exp.Star) or column.table.lower() not in ("", self.alias.lower()):
            return None
        return self.source_values.get(column.name.lower())

    def filters(self) -> Iterator[tuple[exp.Expr, exp.Expr]]:
        """Returns the subquery's own conditions: as typed, and over the cube's columns."""
        where = self.select.args.get("where")
        if where is not None:
            yield from typed_conjuncts(where, substituted(where, self.value_of))

    def names_read(self, names: Set[str] | None) -> Set[str] | None:
        """Returns the names of its relation's columns that the subquery reads where the query around it reads
        ``names`` of the subquery's columns. ``None`` stands for all names; all are in lower case.

        An item that no query reads needs no column: the subquery returns the same rows with any value of it.
        """
        items = {id(item): (self._name_of(index, item), item) for index, item in enumerate(self.select.expressions)}
        read: Set[str] | None = names_in(
            [clause for clause in map(self.select.args.get, ("where", "hint")) if clause is not None], self.alias
        )
        # An item may use the name of another one.
        has_more = True
        while has_more and read is not None:
            wanted = None if names is None else names | read
            used = [key for key, (name, _) in items.items() if wanted is None or name is None or name in wanted]
            has_more = bool(used)
            of_items = names_in([items.pop(key)[1] for key in used], self.alias)
            read = None if of_items is None else read | of_items
        if read is None or not self.passes_all:
            return read
        return None if names is None else read | names

    def _name_of(self, index: int, item: exp.Expr) -> str | None:
        """Returns the name of an item, in lower case; ``None`` for one that only the engine names."""
        if _is_star(item, self.alias):
            return ""
        names = self.column_lists[-1] if self.column_lists else ()
        if index < len(names):
            return names[index].name.lower()
        return item.alias_or_name.lower() if isinstance(item, exp.Alias | exp.Column) else None

    def named_columns(self) -> Iterator[exp.Column]:
        """Returns the cube's columns that the subquery's text names."""
        for node in (*self.select.expressions, self.select.args.get("where")):
            for column in () if node is None else (node, *descend(node)):
                value = self.value_of(column) if isinstance(column, exp.Column) else None
                if value is not None:
                    yield from (
                        inner_column for inner_column in find_all(value, exp.Column) if belongs(inner_column, None)
                    )


def names_in(nodes: Iterable[exp.Expr], alias: str, apart: Container[int] = ()) -> Set[str] | None:
    """Returns the names, in lower case, by which nodes may read columns of the relation ``alias``: all that they name,
    and nothing that is given a name; ``None`` where they may read columns that they do not name. The ``*`` of a
    subquery that passes on all columns is left to it. ``apart`` are the identities of nodes that are left out.
    """
    names: set[str] = set()
    stack = [*nodes]
    while stack:
        node = stack.pop()
        if id(node) in apart:
            continue
        stack += children(node)
        if isinstance(node, exp.Identifier):
            is_given = isinstance(node.parent, exp.Alias) and node.arg_key == "alias"
            if is_given or isinstance(node.parent, exp.TableAlias | exp.Table):
                continue
            if "(" in node.name or (isinstance(node.parent, exp.Column) and _is_relation(node.parent, alias)):
                return None  # An item that only the engine names; a struct of all columns.
            names.add(node.name.lower())
        elif isinstance(node, exp.Columns) or (isinstance(node, exp.Anonymous) and node.name.upper() == "IDENTIFIER"):
            return None
    return names


def _is_relation(column: exp.Column, alias: str) -> bool:
    return not column.table and column.name.lower() == alias.lower()


@lru_cache(maxsize=256)
def identity(cube: Cube) -> Mapping[str, exp.Expr]:
    """Returns the columns that a cube offers under its own name. A caller that puts one of them into a tree must copy
    it.
    """
    return {name.lower(): _marked(exp.Column(this=exp.to_identifier(name)), True) for name in cube.column_order}


def of_source(value: exp.Expr, index: int) -> exp.Expr:
    """Returns a copy of a value whose columns are marked as belonging to the source ``index`` of a block."""
    copied = value.copy()
    for column in copied.find_all(exp.Column):
        if belongs(column, None):
            _marked(column, index)
    return copied


def belongs(column: exp.Column, index: int | None) -> bool:
    """Tests whether a column is marked as a cube's (of the source ``index`` where one is given)."""
    mark = column._meta.get(_MARK) if column._meta else None
    return mark is not None if index is None else mark is not True and mark == index


def is_marked(column: exp.Column) -> bool:
    """Tests whether inlining has inserted a column."""
    return belongs(column, None)


def _folds(select: exp.Select) -> bool:
    """Tests whether a SELECT returns something other than the single rows that it reads."""
    if any(select.args.get(key) for key in ("group", "distinct", "limit", "offset", "having")):
        return True
    return any(isinstance(node, exp.AggFunc) and not isinstance(node.parent, exp.Window) for node in own_nodes(select))


class Inlining:
    """The view that the blocks of one query have of its cubes. Each relation is examined once, however often it is
    named.
    """

    def __init__(self, cubes: Mapping[int, Cube], ctes: CteReferences, size: int) -> None:
        """``cubes`` are the query's, by the identity of their nodes; ``size`` is the number of its nodes."""
        self._cubes, self._ctes = cubes, ctes
        self._left = _MOST_NODES + size
        self._levels: dict[int, tuple[exp.Table | None, tuple[Level, ...]] | NotSupportedError] = {}
        self._rows: dict[int, tuple[Cube, ...]] = {}
        #: The number of nodes of each computed value, by its identity; the value is kept, so its identity is unique.
        self._sizes: dict[int, tuple[int, exp.Expr]] = {}
        if not cubes:
            return
        bodies = {id(cte): cte for cte in ctes.in_order}
        for cte in bodies.values():
            self.rows_of(cte.this)
            if isinstance(select := projection_of(cte.this), exp.Select):
                with suppress(NotSupportedError):  # raised where a block reads it
                    self.levels(relations(select)[0])

    def rows_of(self, node: exp.Expr | None) -> tuple[Cube, ...]:
        """Returns the cubes whose single rows a relation returns, each once."""
        if node is None:
            return ()
        if id(node) not in self._rows:
            self._rows[id(node)] = ()  # a recursive CTE names itself
            self._rows[id(node)] = tuple(dict.fromkeys(self._find_cubes(node)))
        return self._rows[id(node)]

    def _find_cubes(self, node: exp.Expr) -> Iterator[Cube]:
        if isinstance(node, exp.Table):
            if id(node) in self._cubes:
                yield self._cubes[id(node)]
            elif (cte := self._ctes.cte_of(node)) is not None:
                yield from self.rows_of(cte.this)
        elif isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Table):
            yield from self.rows_of(node.this)
        elif isinstance(node, exp.Union) and not node.args.get("distinct"):
            yield from self.rows_of(node.this)
            yield from self.rows_of(node.expression)
        elif isinstance(node, exp.Select) and not _folds(node):
            for index, relation in enumerate(relations(node)):
                if contributes(node, index):
                    cubes = self.rows_of(relation)
                    yield from () if returns_first_rows(node, relation, cubes) else cubes

    def levels(self, relation: exp.Expr) -> tuple[exp.Table | None, tuple[Level, ...]]:
        """Returns the cube's name below a derived table or a CTE that only projects and filters it, and the levels
        between.

        Returns ``(None, ())`` for any other relation.
        """
        if not self._cubes:
            return None, ()
        if id(relation) not in self._levels:
            try:
                self._levels[id(relation)] = self._inlined(relation)
            except NotSupportedError as error:
                self._levels[id(relation)] = error
        result = self._levels[id(relation)]
        if isinstance(result, NotSupportedError):
            raise result
        return result

    def _inlined(self, relation: exp.Expr) -> tuple[exp.Table | None, tuple[Level, ...]]:
        if isinstance(relation, exp.Table):
            cte = self._ctes.cte_read_once(relation)
            if cte is None or any(value and key not in ("this", "alias") for key, value in relation.args.items()):
                return None, ()
            select, lists = projection_of(cte.this), (cte.args.get("alias"), relation.args.get("alias"))
        elif isinstance(relation, exp.Subquery):
            select, lists = projection_of(relation), (relation.args.get("alias"), None)
        else:
            return None, ()
        if select is None:
            return None, ()
        source = relations(select)[0]
        inner_levels: tuple[Level, ...] = ()
        table: exp.Table | None
        if id(source) in self._cubes:
            assert isinstance(source, exp.Table)
            alias = source.args.get("alias")
            if alias is not None and alias.args.get("columns"):
                return None, ()
            table, source_values = source, identity(self._cubes[id(source)])
        else:
            table, inner_levels = self.levels(source)
            if table is None:
                return None, ()
            source_values = dict(inner_levels[-1].output_values)
        column_lists = tuple(
            tuple(column_list.args["columns"])
            for column_list in lists
            if column_list is not None and column_list.args.get("columns")
        )
        level = Level(select, source.alias_or_name, source_values, {}, column_lists)
        if column_lists and level.passes_all:
            raise NotSupportedError(
                "A column list after a subquery that selects * from a cube is not supported yet.",
                hint="Name the columns in the subquery.",
            )
        output_values = dict(
            self._find_outputs(level, [identifier.name for identifier in column_lists[-1]] if column_lists else [])
        )
        return table, (*inner_levels, Level(select, level.alias, source_values, output_values, column_lists))

    def _find_outputs(self, level: Level, names: list[str]) -> Iterator[tuple[str, exp.Expr]]:
        """Yields each output column's name and value. It yields neither of two columns with the same name, because
        Spark refuses the name as ambiguous.
        """
        values: dict[str, exp.Expr | None] = {}
        for index, item in enumerate(level.select.expressions):
            if _is_star(item, level.alias):
                for name, value in level.source_values.items():
                    values[name] = None if name in values else value
                continue
            is_named = isinstance(item, exp.Alias | exp.Column)
            name = names[index].lower() if index < len(names) else item.alias_or_name.lower() if is_named else ""
            if name:
                values[name] = None if name in values else self._value(item.unalias(), level, name)
        yield from ((name, value) for name, value in values.items() if value is not None)

    def _value(self, item: exp.Expr, level: Level, name: str) -> exp.Expr:
        """Returns the value of an item, over the cube's columns."""
        source_value = level.value_of(item) if isinstance(item, exp.Column) else None
        if isinstance(source_value, exp.Paren):
            return source_value
        nodes = walk(item)
        size = len(nodes) + sum(self._size(node, level) for node in nodes if isinstance(node, exp.Column))
        if source_value is None:
            # x + x over x + x over x + x: each step may double it.
            self._left -= size
            if self._left < 0:
                raise NotSupportedError(
                    f"The column {name} is computed in too many steps from other computed columns: the "
                    "expanded columns of this query are too long.",
                    hint="Aggregate the cube first, then compute from the result.",
                )
        value = substituted(item, level.value_of)
        self._sizes[id(value)] = size, value
        return value

    def _size(self, column: exp.Column, level: Level) -> int:
        """Returns the number of nodes that replace a column."""
        value = level.value_of(column)
        return self._sizes[id(value)][0] if id(value) in self._sizes else 0


_folds_rows = one_of(exp.AggFunc, exp.Window)
_sees_output = one_of(exp.Order, exp.Having)


@dataclass(frozen=True, eq=False)
class _NodeContext:
    """The surroundings of a node: the SELECT around it, unless an aggregate or a window stands between, and whether the
    node is part of that SELECT's ORDER BY or HAVING. The node is kept, so its identity is unique.
    """

    node: exp.Expr | None
    select: exp.Select | None
    sees_output: bool


_NO_CONTEXT = _NodeContext(None, None, False)


class OutputNames:
    """The output columns that unqualified names in ORDER BY and HAVING denote, in trees whose nodes keep their parents.

    What stands above each node is found once: a chain of operators is a tree as deep as the chain is long.
    """

    def __init__(self) -> None:
        self._contexts: dict[int, _NodeContext] = {}
        self._aliases: dict[int, frozenset[str]] = {}

    def shadow(self, column: exp.Column) -> bool:
        """Tests whether an unqualified name in ORDER BY or HAVING denotes an output column of its SELECT."""
        if column.table:
            return False
        context = self._context_above(column)
        if context.select is None or not context.sees_output:
            return False
        aliases = self._aliases.get(id(context.select))
        if aliases is None:
            items = context.select.expressions
            aliases = frozenset(item.alias.lower() for item in items if isinstance(item, exp.Alias))
            self._aliases[id(context.select)] = aliases
        return column.name.lower() in aliases

    def _context_above(self, column: exp.Column) -> _NodeContext:
        path: list[exp.Expr] = []
        context, node = _NO_CONTEXT, column.parent
        while node is not None:
            if id(node) in self._contexts:
                context = self._contexts[id(node)]
                break
            path.append(node)
            if isinstance(node, exp.Select) or _folds_rows(type(node)):
                break
            node = node.parent
        for node in reversed(path):
            if isinstance(node, exp.Select):
                context = _NodeContext(node, node, False)
            elif _folds_rows(type(node)):
                context = _NodeContext(node, None, False)
            else:
                in_clause = _sees_output(type(node)) and isinstance(node.parent, exp.Select)
                context = _NodeContext(node, context.select, context.sees_output or in_clause)
            self._contexts[id(node)] = context
        return context


def _is_star(item: exp.Expr, alias: str) -> bool:
    if isinstance(item, exp.Column):
        return isinstance(item.this, exp.Star) and item.table.lower() == alias.lower()
    return isinstance(item, exp.Star)


def _marked(column: exp.Column, mark: int | bool) -> exp.Column:
    column.meta[_MARK] = mark
    return column
