"""The SELECT blocks of a query and the relations in their FROM: cubes, tables, files, CTEs and derived tables."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from rewriter.catalog.model.objects import (
    CATALOG,
    DEFAULT_DATABASE,
    Cube,
    Fact,
    FilesTable,
    Function,
    Partition,
    Table,
    View,
    full_name,
    seen_from,
)
from rewriter.catalog.model.stored_paths import files_hint
from rewriter.catalog.model.system_tables import SYSTEM_DATABASES, SYSTEM_TABLES
from rewriter.catalog.model.temporary_views import TemporaryView, TemporaryViews, with_typed_names
from rewriter.data_formats import SOURCE_FORMATS
from rewriter.errors import AnalysisError, NotSupportedError, ParseError, Span
from rewriter.grammar.unsupported import no_time_travel
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.counted_relations import CountedRelations, CountedRows, ShownCount
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.inlining import Inlining, Level, OutputNames, identity, of_source
from rewriter.planner.scope.joins import nullable, relations
from rewriter.planner.scope.projections import own_nodes, substituted
from rewriter.planner.scope.read_files import call_span, calls_read_files, files_of_call
from rewriter.planner.text.literals import string_literal
from rewriter.planner.text.query_text import Edit, QueryText, has_place
from rewriter.planner.text.sqlglot_trees import children

if TYPE_CHECKING:
    from rewriter.catalog.model.key_ranges import KeyRange
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.timeline import PartitionTimeline


class CatalogReader(Protocol):
    """The part of the catalog that planning reads. A ``Snapshot`` of the catalog implements it. Planning never writes.

    Names are the catalog's (``catalog.model.objects``). ``current`` is the database of names that are typed
    without one.
    """

    current: str

    @property
    def temporary_views(self) -> TemporaryViews: ...
    def find_function(self, name: str) -> Function | None: ...
    def find(self, name: str) -> Table | Cube | Fact | None: ...
    def temporary(self, name: str) -> Table | None: ...
    def temporary_view(self, name: str) -> TemporaryView | None: ...
    def is_temporary(self, name: str) -> bool: ...
    def table(self, name: str) -> Table: ...
    def cube(self, name: str) -> Cube: ...
    def facts_of(self, cube_name: str) -> tuple[Fact, ...]: ...
    def tables(self) -> tuple[Table, ...]: ...
    def cubes(self) -> tuple[Cube, ...]: ...
    def facts(self) -> tuple[Fact, ...]: ...
    def find_view(self, name: str) -> View | None: ...
    def views(self) -> tuple[View, ...]: ...
    def timeline(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def outdated(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def unproven(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def incomplete(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def open(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def retired(self, table_name: str, period: Period, time_dimension: str) -> PartitionTimeline: ...
    def lacking(
        self, table_name: str, period: Period, time_dimension: str, columns: Iterable[str] | None = None
    ) -> PartitionTimeline: ...
    def doubts(self, table: Table, ranges: Sequence[KeyRange]) -> tuple[str, ...]: ...
    def differing_keys(self, table: Table) -> frozenset[bytes]: ...
    def mean_bytes(self, table_name: str, period: Period) -> int | None: ...
    def partitions(self, table: Table, ranges: Sequence[KeyRange] | None = None) -> tuple[Partition, ...]: ...


@dataclass(frozen=True, eq=False)
class CubeSource:
    """A cube, or one fact of it, in a block's FROM, directly or through subqueries that only project and filter.

    ``node`` and ``span`` are the cube's name in the text. ``alias`` is the block's name for the relation ('' where it
    has no name). ``index`` is its position among the block's relations. ``levels`` are the inlined subqueries,
    innermost first.
    """

    node: exp.Table
    alias: str
    cube: Cube
    facts: tuple[Fact, ...]
    span: Span
    index: int = 0
    levels: tuple[Level, ...] = ()

    @cached_property
    def columns(self) -> Mapping[str, exp.Expr]:
        """The columns that the block sees: values over the cube's columns, by name in lower case."""
        return self.levels[-1].output_values if self.levels else identity(self.cube)


@dataclass(frozen=True)
class OtherSource:
    """A table, file, CTE or derived table in a block's FROM.

    ``columns`` are its columns' types by name in lower case, ``None`` where the columns are unknown.
    """

    alias: str
    columns: Mapping[str, str] | None


@dataclass(frozen=True)
class Block:
    """One SELECT and its sources, in order.

    ``effective`` is the SELECT as planning reads it. Where subqueries are inlined, it is a copy in which the
    subqueries' columns are replaced by their values. Its nodes keep their places in the text. ``shown`` are the counts
    that the block also selects (``CountedRows``).
    """

    select: exp.Select
    effective: exp.Select
    cubes: tuple[CubeSource, ...]
    others: tuple[OtherSource, ...]
    shown: tuple[ShownCount, ...] = ()

    @property
    def shows_texts(self) -> bool:
        """Returns True if no count that the block also selects is one of its cube."""
        return all(count.text for count in self.shown)

    @cached_property
    def original_nodes(self) -> tuple[exp.Expr, ...]:
        """The block's own nodes, as typed."""
        return tuple(own_nodes(self.select))

    @cached_property
    def nodes(self) -> tuple[exp.Expr, ...]:
        """The block's own nodes, as planning reads them."""
        return self.original_nodes if self.effective is self.select else tuple(own_nodes(self.effective))

    @cached_property
    def joined_names(self) -> frozenset[str]:
        """The names, in lower case, that USING or NATURAL join by. Unqualified, they may be columns of another
        relation.
        """
        return _joined_names(self.select, self.cubes, self.others)


@dataclass(frozen=True)
class TableReference:
    """A table or a file that the query names; the planner adds ``alias``, as SQL, where the user gave none."""

    node: exp.Table
    table: Table
    span: Span
    alias: str | None


@dataclass(frozen=True)
class Resolved:
    """The meaning of all names in FROM."""

    blocks: tuple[Block, ...]
    tables: tuple[TableReference, ...]
    counted: tuple[CountedRows, ...] = ()


def resolve(query: QueryText, reader: CatalogReader) -> Resolved:
    """Resolves every name in the position of a table.

    Raises ``AnalysisError``, with position, for an unknown name.
    """
    cubes: dict[int, CubeSource] = {}
    tables: dict[int, TableReference] = {}
    files = 0
    ctes = CteReferences(query.nodes)
    for node in query.find_all(exp.Table):
        if calls_read_files(node) and not query.in_hint(node):
            files += 1
            tables[id(node)] = TableReference(node, files_of_call(node, -files, query), call_span(node, query), None)
            continue
        if not isinstance(node.this, exp.Identifier) or ctes.cte_of(node) is not None or query.in_hint(node):
            continue
        span = _name_span(query, node)
        if is_file(node):
            files += 1
            tables[id(node)] = TableReference(node, _file(node, -files), span, None)
            continue
        if node.args.get("version") is not None:
            raise no_time_travel("VERSION or TIMESTAMP", query.place(span))
        resolved = _find(query, node, span, reader)
        if isinstance(resolved, Table):
            alias = None if node.alias or node.args.get("sample") else quote_identifier(node.name)
            tables[id(node)] = TableReference(node, resolved, span, alias)
        else:
            cube = reader.cube(resolved.cube) if isinstance(resolved, Fact) else resolved
            facts = (resolved,) if isinstance(resolved, Fact) else reader.facts_of(cube.name)
            cubes[id(node)] = CubeSource(node, node.alias or node.name, cube, facts, span)
    all_resolved = _blocks(query, cubes, tables, ctes)
    placed = {id(source.node) for block in all_resolved.blocks for source in block.cubes}
    for key, source in cubes.items():
        if key not in placed:
            if isinstance(source.node.find_ancestor(exp.Subquery, exp.Select), exp.Subquery):
                raise NotSupportedError(
                    f"The cube {source.cube.name} in a join in parentheses that does not come first is not supported.",
                    position=query.place(source.span),
                    object=source.cube.name,
                    hint="Write the joins without parentheses, FROM a JOIN b ON … JOIN c ON …, or in a subquery.",
                )
            raise NotSupportedError(
                f"The cube {source.cube.name} is used where only a table is allowed.",
                position=query.place(source.span),
                object=source.cube.name,
                hint="Name a cube in the FROM clause of a SELECT.",
            )
    return all_resolved


def inner_queries(select: exp.Select, expressions: Iterable[exp.Expr] | None = None) -> Iterator[exp.Query]:
    """Returns the subqueries among a block's expressions (which may be correlated with it), outermost only.

    ``expressions`` are the block's own nodes, where the caller has them already.
    """
    for node in (select, *(own_nodes(select) if expressions is None else expressions)):
        # The joined side is a relation of its own; the ON condition belongs to the block.
        for child in [node.args.get("on")] if isinstance(node, exp.Join) else children(node):
            if isinstance(child, exp.Query):
                yield child


def did_you_mean(name: str, names: list[str]) -> str | None:
    """Returns a hint with the nearest of ``names``, or ``None``."""
    lowered = {candidate.lower(): candidate for candidate in names}
    close = difflib.get_close_matches(name.lower(), list(lowered), n=1)
    return f"Did you mean {lowered[close[0]]}?" if close else None


def _find(query: QueryText, node: exp.Table, span: Span, reader: CatalogReader) -> Table | Cube | Fact:
    resolved = meaning(node, reader)
    if resolved is None:
        kinds = (reader.tables(), reader.cubes(), reader.facts(), reader.views())
        names = [with_typed_names(seen_from(reader.current, entry.name)) for kind in kinds for entry in kind]
        names += SYSTEM_TABLES if (node.db or reader.current).lower() in SYSTEM_DATABASES else ()
        name = catalog_name(node, reader.current)
        name_in_text = node.name if name is None else seen_from(reader.current, name)
        raise AnalysisError(
            f"The table, cube or fact {_name_without_alias(node)} cannot be found.",
            condition="TABLE_OR_VIEW_NOT_FOUND",
            sqlstate="42P01",
            position=query.place(span),
            object=node.name,
            hint=files_hint(".".join(part.name for part in node.parts))
            or did_you_mean(name_in_text, names)
            or _where_to_look(node, reader),
        )
    return resolved


def _name_without_alias(node: exp.Table) -> str:
    return ".".join(part.sql(dialect="spark", comments=False) for part in node.parts)


def _where_to_look(node: exp.Table, reader: CatalogReader) -> str:
    if node.db:
        return (
            "SHOW DATABASES lists the databases; SHOW TABLES, SHOW CUBES and SHOW FACTS IN a database list its objects."
        )
    return "SHOW TABLES, SHOW CUBES and SHOW FACTS list all objects" + (
        "." if reader.current == DEFAULT_DATABASE else f" in {reader.current}, the current database."
    )


def _blocks(
    query: QueryText, cubes: dict[int, CubeSource], tables: dict[int, TableReference], ctes: CteReferences
) -> Resolved:
    """Returns the blocks, the tables, and the derived tables whose events the blocks count. A block that is inlined
    into another has no cubes of its own.
    """
    all_counted: list[CountedRows] = []
    sources: dict[int, tuple[CubeSource, ...]] = {}
    inlined: set[int] = set()
    selects = list(query.find_all(exp.Select))
    cube_of = {key: cube_source.cube for key, cube_source in cubes.items()}
    inlining = Inlining(cube_of, ctes, len(query.nodes))
    table_of = {key: reference.table for key, reference in tables.items()}
    counting = CountedRelations(inlining, ctes, cube_of, table_of)
    for select in selects:
        own_queries = []
        for index, relation in enumerate(relations(select)):
            source = cubes.get(id(relation))
            if source is not None:
                own_queries.append(replace(source, index=index))
                continue
            try:
                table, levels = inlining.levels(relation)
                counted = counting.counted_rows(select, relation) if table is None else None
                all_counted += [] if counted is None else [counted]
            except NotSupportedError as error:
                raise error.at(query.place(query.span_of(relation) or Span(0, len(query.text)))) from None
            if table is not None:
                alias = relation.alias_or_name
                own_queries.append(replace(cubes[id(table)], index=index, alias=alias, levels=levels))
                for level in reversed(levels):
                    if id(level.select) in inlined:
                        break  # and all below it
                    inlined.add(id(level.select))
        sources[id(select)] = tuple(own_queries)
    blocks = (_block(select, () if id(select) in inlined else sources[id(select)], tables) for select in selects)
    all_blocks = tuple(replace(block, shown=counting.shown(block.select)) for block in blocks)
    return Resolved(all_blocks, tuple(tables.values()), tuple(all_counted))


def _block(select: exp.Select, cubes: tuple[CubeSource, ...], tables: dict[int, TableReference]) -> Block:
    others: list[OtherSource] = []
    cube_indexes = {source.index for source in cubes}
    for index, relation in enumerate(relations(select)):
        if index in cube_indexes:
            continue
        if id(relation) in tables and (columns := tables[id(relation)].table.all_columns) and not renames(relation):
            types = {column.name.lower(): column.type for column in columns}
            others.append(OtherSource(relation.alias or relation.name, types))
        else:
            others.append(OtherSource(relation.alias or relation.name, None))
    others += [OtherSource(view.alias, None) for view in select.args.get("laterals") or ()]
    through = [source for source in cubes if source.levels]
    effective_select = _effective(select, through, _joined_names(select, cubes, others)) if through else select
    return Block(select, effective_select, cubes, tuple(others))


def _joined_names(
    select: exp.Select, cubes: Sequence[CubeSource], other_sources: Sequence[OtherSource]
) -> frozenset[str]:
    """Returns the names that USING and NATURAL join by, in lower case."""
    joins = select.args.get("joins") or ()
    names = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
    if any(str(join.args.get("method") or "").upper() == "NATURAL" for join in joins):
        offered = [set(cube.columns) for cube in cubes] + [set(other.columns or ()) for other in other_sources]
        names |= {name for columns in offered for name in columns if sum(name in other for other in offered) > 1}
    return frozenset(names)


def _effective(select: exp.Select, sources: Sequence[CubeSource], joined_columns: frozenset[str]) -> exp.Select:
    """Returns a copy of a block in which the columns of inlined sources are replaced by their values.

    Names in ``joined`` stay, because they may be columns of another relation.
    """

    output = OutputNames()

    def value_of(column: exp.Column) -> exp.Expr | None:
        if isinstance(column.this, exp.Star) or output.shadow(column):
            return None
        if not column.table and column.name.lower() in joined_columns:
            return None
        for source in sources:
            if column.table.lower() in ("", source.alias.lower()) and (not column.table or source.alias):
                value = source.columns.get(column.name.lower())
                if value is not None:
                    return of_source(_kept_apart(value, select, source), source.index)
        return None

    copied = substituted(select, value_of)
    assert isinstance(copied, exp.Select)
    return copied


def _kept_apart(value: exp.Expr, select: exp.Select, source: CubeSource) -> exp.Expr:
    """Returns the value of a source that an outer join may leave absent, in which case the value is NULL.

    ``TRUE AS seen`` must not be folded in ``seen IS NULL``, so the value is hidden from folding. Measures and functions
    of time are NULL for NULL anyway, or are not understood.
    """
    if isinstance(value, exp.Column) or not nullable(select, source.index):
        return value
    names = {measure.name.lower() for measure in source.cube.measures} | {time.lower() for time in source.cube.times}
    if any(column.name.lower() in names for column in value.find_all(exp.Column)):
        return value
    return exp.Coalesce(this=value.copy(), expressions=[])


def meaning(node: exp.Table, reader: CatalogReader) -> Table | Cube | Fact | None:
    """Resolves a name behind FROM that is not a CTE: a temporary table of the session first, then the catalog.

    Returns ``None`` for files, views and unknown names.
    """
    if is_file(node):
        return None
    temporary = None if node.db else reader.temporary(node.name)
    name = catalog_name(node, reader.current)
    return temporary or (None if name is None else reader.find(name))


def is_file(node: exp.Table) -> bool:
    """Tests whether a relation behind FROM is files: ``parquet.`path```, where no database has the name of a format, or
    a call of ``read_files``.
    """
    if calls_read_files(node):
        return True
    return node.args.get("db") is not None and node.db.lower() in SOURCE_FORMATS and not node.catalog


def renames(relation: exp.Expr) -> bool:
    """Tests whether a relation's columns differ from its table's columns: ``t AS x (a, b)``, PIVOT, UNPIVOT."""
    alias = relation.args.get("alias")
    return bool(relation.args.get("pivots") or (alias is not None and alias.args.get("columns")))


def modifiers(select: exp.Select) -> set[str]:
    """Returns the modifiers that a block applies to its relations besides joining them: ``pivots``, ``sample``,
    ``laterals``, ``version`` …

    sqlglot attaches the same clause to the SELECT, the join or the relation, depending on what precedes it.
    """
    keys = {key for key, value in select.args.items() if value and key not in _CLAUSES}
    for join in select.args.get("joins") or ():
        keys |= {key for key, value in join.args.items() if value and key not in _JOIN_PARTS}
    for relation in relations(select):
        if isinstance(relation, exp.Table | exp.Subquery):
            keys |= {key for key, value in relation.args.items() if value and key not in _RELATION_PARTS}
        elif isinstance(relation, exp.Lateral):
            keys.add("laterals")
    return keys


_CLAUSES = (
    "with_", "kind", "expressions", "hint", "distinct", "from_", "joins", "where", "group", "having", "windows",
    "order", "sort", "cluster", "distribute", "limit", "offset", "qualify", "operation_modifiers",
)  # fmt: skip
_JOIN_PARTS = ("this", "on", "using", "side", "kind", "method")
_RELATION_PARTS = ("this", "alias", "db", "catalog", "joins", "with_", "order", "limit", "offset")


def _name_span(query: QueryText, node: exp.Table) -> Span:
    parts = [part for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part is not None]
    if not all(has_place(part) for part in parts):
        raise ParseError("A name after FROM cannot be parsed.", position=query.place(Span(0, len(query.text))))
    return Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)


def _file(node: exp.Table, number: int) -> Table:
    name = f"{node.db}.`{node.name.replace('`', '``')}`"
    return FilesTable(number, name, (), (), format=node.db.lower(), location=node.name, external=True)


# Resolves names behind FROM to catalog names, and finds the databases that precede columns.

#: A database and a name in it, in lower case.
Key = tuple[str, str]


def key_of(node: exp.Table, current: str) -> Key | None:
    """Returns the meaning of a name behind FROM where ``current`` is the database of names without one.

    Returns ``None`` where it has other parts than a database of ours and a name.
    """
    if not isinstance(node.this, exp.Identifier) or "." in node.name or "." in node.db:
        return None
    if node.args.get("catalog") is not None and node.catalog.lower() != CATALOG:
        return None
    return (node.db or current).lower(), node.name.lower()


def catalog_name(node: exp.Table, current: str) -> str | None:
    """Returns the same as the catalog's name; ``None`` where the catalog cannot have such a name."""
    key = key_of(node, current)
    return None if key is None else full_name(key[0], node.name)


def prefix_of(database: str) -> str:
    """Returns the prefix that binds a name to a database, whatever the current database and the CTEs in scope."""
    return f"{quote_identifier(database)}."


def meant(text: QueryText, column: exp.Column) -> Key | None:
    """Returns the table of a column that also names its database, unless it is in a hint."""
    database, table = column.args.get("db"), column.args.get("table")
    if not (has_place(database) and has_place(table)) or text.in_hint(column):
        return None
    if column.args.get("catalog") is not None and column.catalog.lower() != CATALOG:
        return None
    return database.name.lower(), table.name.lower()


def databases(text: QueryText, keys: Collection[Key | None]) -> Iterator[tuple[Span, exp.Column]]:
    """Yields the span of ``sales.`` in ``sales.flights.carrier``, with the column, for the tables ``keys``.

    The relation that replaces such a name belongs to no database.
    """
    for column in text.find_all(exp.Column) if keys else ():
        key = meant(text, column)
        if key is not None and key in keys:
            first = column.args.get("catalog") or column.args["db"]
            yield Span(first.meta["start"], column.args["table"].meta["start"]), column


def current_edits(text: QueryText, current: str) -> list[Edit]:
    """Replaces ``current_database()`` and ``current_schema()`` by the session's own: an engine has another current
    database.

    An item of a SELECT list keeps the name that Spark gives to both. Costs a look at every token.
    """
    edits = []
    tokens = text.tokens
    for index, token in enumerate(tokens[:-2]):
        if not token.is_word("CURRENT_DATABASE", "CURRENT_SCHEMA") or (index and tokens[index - 1].is_operator(".")):
            continue
        if tokens[index + 1].is_operator("(") and tokens[index + 2].is_operator(")"):
            value = string_literal(current)
            name = quote_identifier("current_schema()")
            replacement = f"{value} AS {name}" if is_item(text, index, 3) else value
            edits.append(
                Edit(Span(token.start, tokens[index + 2].end), (replacement,), f"{token.text}() becomes {value}")
            )
    return edits


def is_item(text: QueryText, index: int, length: int) -> bool:
    """Tests whether some tokens, a call without arguments, are a whole item of a SELECT list without an alias."""
    tokens = text.tokens
    next_token = tokens[index + length] if index + length < len(tokens) else None
    if next_token is not None and not (next_token.is_operator(",", ")") or next_token.is_word("FROM")):
        return False
    if not index or not (tokens[index - 1].is_operator(",") or tokens[index - 1].is_word("SELECT", "DISTINCT")):
        return False
    return text.items.directly_in_list(index)
