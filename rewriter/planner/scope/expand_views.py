"""Expands views to derived tables, and shared CTEs over cubes to one derived table for each reference.

This happens in the text, before planning. The planner then sees a query without views, in which every reference has a
scope of its own. A view's body is read by itself: no CTE and no column of the surrounding query is visible in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from sqlglot import exp

from rewriter.cancellation import check_cancellation
from rewriter.catalog.model.objects import DEFAULT_DATABASE, Cube, Fact, Table, View, seen_from
from rewriter.catalog.model.temporary_views import TemporaryView, with_typed_names
from rewriter.errors import AnalysisError, Error, NotSupportedError, ParseError, Span
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import (
    CatalogReader,
    Key,
    catalog_name,
    databases,
    is_file,
    key_of,
    meaning,
    prefix_of,
)
from rewriter.planner.scope.column_lineage import escaping, is_correlatable
from rewriter.planner.scope.cte_references import CteReferences, names_in
from rewriter.planner.scope.deterministic import brings_code, called_code, is_scalar
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.item_names import Offered, OutputColumns
from rewriter.planner.scope.joins import relations
from rewriter.planner.scope.sql_functions import ViewColumns, inlined
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, alias_text, replaced, with_table_queries
from rewriter.planner.text.query_text import QueryText, has_place

#: The maximum nesting depth of views, as in Spark.
_DEEPEST = 100

#: The parts that the name of a view may have; any other (TABLESAMPLE, time travel) would change its meaning elsewhere.
_PARTS = ("this", "db", "catalog", "alias", "joins", "laterals", "pivots")


def expand(text: QueryText, reader: CatalogReader, created_view: str | None = None) -> QueryText:
    """Returns the query without views and without shared CTEs over cubes; ``text`` itself where it names none of them.

    Places in the result refer to the statement: a view's body has the place of the view's name, a CTE's copy the place
    of the CTE. ``created_view`` is the view that is being created from the query; the query must not read it.

    Raises ``AnalysisError``: RECURSIVE_VIEW, and TABLE_OR_VIEW_NOT_FOUND for a table that a view reads;
    ``NotSupportedError``. Costs a walk over the names of a query that names no view; each view costs in addition the
    parsing of its body.
    """
    views, expanded = _Views(reader), text
    replacements = views.replacements(text, () if created_view is None else (created_view,))
    if replacements:
        pieces = replaced(text, Span(0, len(text.text)), replacements)
        expanded = DerivedText(text, pieces, {text.place(span): name for span, name in views.names_by_span.items()})
    expanded = _expand_ctes(expanded, reader)
    unread = expanded.unread() if expanded is not text else None
    if unread is not None:
        raise unread
    return expanded


class _Views:
    """The views of one query: their expanded bodies by name, and the places where the query names them."""

    def __init__(self, reader: CatalogReader) -> None:
        self._reader = reader
        self._bodies: dict[str, str] = {}
        self.names_by_span: dict[Span, str] = {}

    def replacements(self, text: QueryText, chain: tuple[str, ...]) -> list[Replacement]:
        """Returns the replacements that put derived tables in place of the views that the user's query names."""
        replacements: list[Replacement] = []
        keys: set[Key | None] = set()
        current = self._reader.current
        for node, span in names_in(text):
            view = self._view(node, current)
            if view is None:
                continue
            try:
                replacements += self._replacing(text, node, span, view, chain)
            except (AnalysisError, NotSupportedError, ParseError) as error:
                raise error.at(text.place(span)) from None
            self.names_by_span[span] = with_typed_names(view.name)
            keys |= _keys(node, view, current)
        return replacements + [Replacement(span, ()) for span, _ in databases(text, keys)]

    def _view(self, node: exp.Table, current: str, reading: View | None = None) -> View | None:
        """Returns the view that a name means in the user's query, or in the query of the view ``reading``."""
        name = None if is_file(node) else catalog_name(node, current)
        if name is None:
            return None
        temporary = self._temporary(node, reading)
        return self._reader.find_view(name) if temporary is None else temporary if isinstance(temporary, View) else None

    def _temporary(self, node: exp.Table, reading: View | None) -> Table | TemporaryView | None:
        """Returns the temporary table or view that a name means.

        A stored view reads none. A temporary view reads the tables and views that it read when it was created, and
        raises ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND for one that was dropped.
        """
        if node.db or (reading is not None and not reads_temporary(reading, node.name)):
            return None
        temporary = self._reader.temporary_view(node.name) or self._reader.temporary(node.name)
        if temporary is None and reading is not None:
            raise _not_found(reading.name, node.name, node.name, f"TEMPORARY VIEW {with_typed_names(reading.name)}")
        return temporary

    def _typed_name(self, view: View) -> str:
        """Returns the view's name as the query would type it."""
        return (
            with_typed_names(view.name)
            if isinstance(view, TemporaryView)
            else seen_from(self._reader.current, view.name)
        )

    def _replacing(
        self, text: QueryText, node: exp.Table, span: Span, view: View, chain: tuple[str, ...]
    ) -> Iterator[Replacement]:
        alias = node.args.get("alias")
        has_alias_place = alias is None or has_place(alias.this)
        if not has_alias_place or any(value and key not in _PARTS for key, value in node.args.items()):
            raise NotSupportedError(
                f"Only an alias and PIVOT can follow the view {view.name}; TABLESAMPLE and time travel are not "
                "supported.",
                object=view.name,
                hint=f"Put it into a subquery: (SELECT * FROM {self._typed_name(view)}).",
            )
        body = self._body(view, chain)
        if is_correlatable(node):
            self._check_closed(view, body)
        columns = [quote_identifier(name) for name, _ in view.columns]
        renamed = alias.args.get("columns") if alias is not None else None
        if renamed and columns and len(renamed) != len(columns):
            raise AnalysisError(
                f"The view {view.name} has {len(columns)} columns, but {len(renamed)} names are given here.",
                condition="ASSIGNMENT_ARITY_MISMATCH",
                sqlstate="42802",
                object=view.name,
                hint=f"Its columns are {', '.join(columns)}.",
            )
        column_list = f"({', '.join(columns)})" if columns and not renamed else ""
        if alias is None:
            yield Replacement(span, (Piece(f"({body}){alias_text(text, span.end, node.name, column_list)}", span),))
        else:
            yield Replacement(span, (Piece(f"({body})", span),))
            end = alias.this.meta["end"] + 1
            yield Replacement(Span(end, end), (Piece(column_list, span),))

    def _body(self, view: View, chain: tuple[str, ...]) -> str:
        """Returns the body of a view as a query that has the same meaning in any place."""
        check_cancellation()
        key = view.name.lower()
        if key in (name.lower() for name in chain):
            raise AnalysisError(
                f"Recursive view {view.name} detected (cycle: {' -> '.join((*chain, view.name))}).",
                condition="RECURSIVE_VIEW",
                sqlstate="42K0H",
                object=view.name,
                hint="A view cannot read itself; CREATE OR REPLACE VIEW one of them with another query.",
            )
        if len(chain) >= _DEEPEST:
            raise AnalysisError(
                f"The depth of view {view.name} exceeds the maximum view resolution depth ({_DEEPEST}).",
                condition="VIEW_EXCEED_MAX_NESTED_DEPTH",
                sqlstate="54K00",
                object=view.name,
                hint="Store the rows that one of the views reads in a table.",
            )
        if key not in self._bodies:
            self._bodies[key] = self._expanded(view, (*chain, view.name))
        return self._bodies[key]

    def _expanded(self, view: View, chain: tuple[str, ...]) -> str:
        text = with_table_queries(QueryText(view.query))
        unread = text.unread()
        if unread is not None:
            raise ParseError(f"The query of the view {view.name} cannot be parsed: {unread.message}", object=view.name)
        code = None if isinstance(view, TemporaryView) else called_code(text.tokens)
        if code is not None:
            raise brings_code(view.name, code)
        text = self._inlined(text, view)
        text = disambiguated(text, view.database, partial(reads_temporary, view))
        prefix = prefix_of(view.database)
        replacements: list[Replacement] = []
        keys: set[Key | None] = set()
        for node, span in names_in(text):
            inner_view = self._view(node, view.database, view)
            temporary = self._temporary(node, view)
            if inner_view is not None:
                replacements += self._replacing(text, node, span, inner_view, chain)
                keys |= _keys(node, inner_view, view.database)
            elif isinstance(temporary, Table):
                replacements += _bound(text, node, span, temporary)
            elif not is_file(node):
                self._check_there(view, node)
                # A name with its database means the same where another one is current, and is never the name of a CTE.
                replacements += [] if node.db else [Replacement(Span(span.start, span.start), (Piece(prefix, span),))]
        replacements += [Replacement(span, ()) for span, _ in databases(text, keys)]
        full_span = Span(text.tokens[0].start, text.tokens[-1].end)  # a comment at the end would hide what follows
        body = "".join(piece.text for piece in replaced(text, full_span, replacements))
        if isinstance(text.tree, exp.Values):
            # sqlglot reads no alias behind VALUES … AS t(a) in parentheses.
            body = f"SELECT * FROM {body}"
        if len(body) > _LONGEST:
            raise NotSupportedError(
                f"The view {view.name} expands to more than {_LONGEST:,} characters.",
                object=view.name,
                hint="Store the rows that it reads in a table.",
            )
        return body

    def _inlined(self, text: QueryText, view: View) -> QueryText:
        reader = cast("CatalogReader", _ReaderOfView(self._reader, view))
        return inlined(text, reader, view.database, columns_of_views(reader), isinstance(view, TemporaryView))

    def _check_there(self, view: View, node: exp.Table) -> None:
        full_name = catalog_name(node, view.database)
        if full_name is None or self._reader.find(full_name) is None:
            name = (
                seen_from(self._reader.current, full_name) if full_name else node.sql(dialect="spark", comments=False)
            )
            kind = "TEMPORARY VIEW" if isinstance(view, TemporaryView) else "VIEW"
            raise _not_found(view.name, name, node.name, f"{kind} {self._typed_name(view)}")

    def _check_closed(self, view: View, body: str) -> None:
        tree = QueryText(body).tree
        column = escaping(tree, OutputColumns(tree, self._reader))
        if column is not None:
            raise NotSupportedError(
                f"The view {view.name} cannot be used in a subquery: the origin of its column {column} is ambiguous.",
                object=view.name,
                hint=f"Name the view before the query: WITH x AS (SELECT * FROM {self._typed_name(view)}) SELECT ….",
            )


class _ReaderOfView:
    """Reads the catalog for the names in the query of a view."""

    def __init__(self, reader: CatalogReader, view: View) -> None:
        self._reader = reader
        self._view = view
        self.current = view.database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)

    def temporary(self, name: str) -> Table | None:
        return self._reader.temporary(name) if reads_temporary(self._view, name) else None

    def temporary_view(self, name: str) -> TemporaryView | None:
        return self._reader.temporary_view(name) if reads_temporary(self._view, name) else None

    def is_temporary(self, name: str) -> bool:
        return reads_temporary(self._view, name) and self._reader.is_temporary(name)


def columns_of_views(reader: CatalogReader) -> ViewColumns:
    """Returns the function that finds the columns of a view, which are unknown where its query cannot be read."""

    def columns_of(node: exp.Table) -> Offered:
        name = ".".join(quote_identifier(part.name) for part in node.parts)
        try:
            tree = expand(QueryText(f"SELECT * FROM {name}"), reader).tree
        except Error:
            return (None,)
        return OutputColumns(tree, reader).of_query(tree)

    return columns_of


def reads_temporary(view: View, name: str) -> bool:
    """Tests whether a name without a database means a temporary object in the query of a view."""
    return isinstance(view, TemporaryView) and name.lower() in view.reads


def _not_found(view: str, name: str, object_: str, typed: str) -> AnalysisError:
    return AnalysisError(
        f"The view {view} reads {name}, which cannot be found.",
        condition="TABLE_OR_VIEW_NOT_FOUND",
        sqlstate="42P01",
        object=object_,
        hint=f"Create it again, or replace the view: CREATE OR REPLACE {typed} AS SELECT ….",
    )


def _keys(node: exp.Table, view: View, current: str) -> set[Key | None]:
    """Returns the key by which columns name a view with its database; a temporary view is in none."""
    return set() if node.alias or isinstance(view, TemporaryView) else {key_of(node, current)}


def _bound(text: QueryText, node: exp.Table, span: Span, table: Table) -> Iterator[Replacement]:
    """Names a temporary table so that no CTE of a surrounding query has its name."""
    if any(value and key not in _PARTS for key, value in node.args.items()):
        raise NotSupportedError(
            f"Only an alias can follow the temporary table {node.name} in a view.",
            object=node.name,
            hint=f"Put it into a subquery: (SELECT * FROM {node.name}).",
        )
    name = f"{prefix_of(DEFAULT_DATABASE)}{quote_identifier(table.name)}"
    alias = "" if node.alias else alias_text(text, span.end, node.name, "")
    yield Replacement(span, (Piece(f"{name}{alias}", span),))


# Expands CTEs over cubes that are named more than once: each reference gets a copy with its own time range.

#: The longest text that views, or copies of CTEs, may expand to, in characters.
_LONGEST = 1_000_000

#: In addition, the copies may have this many times the length of the query's text.
_MOST_TIMES = 10

_CLAUSES = ("expressions", "from_", "where")
_EXPAND_CTE_PARTS = ("this", "db", "catalog", "alias")


@dataclass(frozen=True)
class _Definition:
    """The places of a CTE in the text: the whole definition, and the query between its parentheses."""

    cte: exp.CTE
    span: Span
    body: Span


def is_projection(select: exp.Expr) -> bool:
    """Tests whether a query is one SELECT that only projects and filters one relation by deterministic functions.

    All copies of such a query return the same rows.
    """
    if not isinstance(select, exp.Select) or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return False
    sources = relations(select)
    if len(sources) != 1 or not isinstance(sources[0], exp.Table | exp.Subquery):
        return False
    source = sources[0]
    if any(value and key not in _EXPAND_CTE_PARTS for key, value in source.args.items()):
        return False
    if isinstance(source, exp.Subquery) and not is_projection(source.this):
        return False
    where = select.args.get("where")
    computed = [*select.expressions, *([where.this] if where is not None else [])]
    return all(_is_plain(node) for expression in computed for node in expression.walk())


def _is_plain(node: exp.Expr) -> bool:
    return is_scalar(node) or (isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"))


def _expand_ctes(text: QueryText, reader: CatalogReader) -> QueryText:
    """Copies shared CTEs that only project and filter a cube to each place that names them, and removes their
    definitions.

    Returns ``text`` itself where there are none. A copy has the place of the definition.
    """
    if next(text.find_all(exp.CTE), None) is None:
        return text
    shared_ctes = _SharedCtes(text, reader)
    replacements = [*shared_ctes.copies(), *shared_ctes.removals()]
    if not replacements:
        return text
    return DerivedText(text, replaced(text, Span(0, len(text.text)), replacements), {})


class _SharedCtes:
    """The CTEs of one query that are copied."""

    def __init__(self, text: QueryText, reader: CatalogReader) -> None:
        self._text, self._reader = text, reader
        self._references = CteReferences(text.nodes)
        self._output_columns = OutputColumns(text.tree, reader)
        self._references_of: dict[int, list[exp.Table]] = {}
        for node in text.find_all(exp.Table):
            cte = self._references.cte_of(node)
            if cte is not None:
                self._references_of.setdefault(id(cte), []).append(node)
        self._withs = [definitions for with_ in text.find_all(exp.With) if (definitions := self._located(with_))]
        self._definitions = {
            id(definition.cte): definition for definitions in self._withs for definition in definitions
        }
        self._copyable: set[int] = set()
        self._enclosing: dict[int, tuple[exp.CTE, ...]] = {}
        for cte in self._references.in_order:
            if self._is_copyable(cte):
                self._copyable.add(id(cte))
        uses: dict[int, int] = {}
        for cte in reversed(self._references.in_order):
            uses[id(cte)] = self._uses(cte, uses)
        self._copied = {key for key in self._definitions if key in self._copyable and uses[key] > 1}
        self._bodies: dict[int, tuple[Piece, ...]] = {}

    def copies(self) -> Iterator[Replacement]:
        """Yields the replacements that put a copy in place of each name outside the removed definitions.

        Raises ``NotSupportedError`` where the copies are many times longer than the query.
        """
        remaining_length = _LONGEST + _MOST_TIMES * len(self._text.text)
        for cte in self._references.in_order if self._copied else ():
            if id(cte) in self._copied:
                self._bodies[id(cte)] = self._body(cte)
                length = sum(len(piece.text) for piece in self._bodies[id(cte)])
                for node in self._references_of[id(cte)]:
                    if not any(id(enclosing) in self._copied for enclosing in self._enclosing_ctes(node)):
                        remaining_length -= length
                        yield from self._copy(node)
                if remaining_length < 0:
                    raise NotSupportedError(
                        f"The copies of the CTE {cte.alias} and others, one for each reference, are too long.",
                        position=self._text.place(_span_of(cte.args["alias"].this)),
                        object=cte.alias,
                        hint="Aggregate the cube inside the CTE.",
                    )

    def removals(self) -> Iterator[Replacement]:
        """Yields the replacements that remove the definitions, and WITH where none is left."""
        for definitions in self._withs:
            kept_indexes = [
                index for index, definition in enumerate(definitions) if id(definition.cte) not in self._copied
            ]
            if len(kept_indexes) == len(definitions):
                continue
            end = definitions[-1].span.end
            if not kept_indexes:
                first = self._text.index_at(definitions[0].span.start)
                remaining = self._text.text[end:]
                end += len(remaining) - len(remaining.lstrip())
                yield Replacement(Span(self._text.tokens[first - 1].start, end), ())
                continue
            for index in range(kept_indexes[-1]):
                if index not in kept_indexes:
                    yield Replacement(Span(definitions[index].span.start, definitions[index + 1].span.start), ())
            if kept_indexes[-1] < len(definitions) - 1:
                yield Replacement(Span(definitions[kept_indexes[-1]].span.end, end), ())

    def _copy(self, node: exp.Table) -> Iterator[Replacement]:
        """Yields the replacements that put a copy of the CTE in place of its name."""
        cte = self._references.cte_of(node)
        assert cte is not None
        span, alias = _span_of(node.this), node.args.get("alias")
        columns = [quote_identifier(column.name) for column in cte.args["alias"].args.get("columns") or ()]
        renamed = alias is not None and alias.args.get("columns")
        column_list = f"({', '.join(columns)})" if columns and not renamed else ""
        body = self._bodies[id(cte)]
        if alias is None:
            name = f"){alias_text(self._text, span.end, node.name, column_list)}"
            yield Replacement(span, (Piece("(", span), *body, Piece(name, span)))
        else:
            yield Replacement(span, (Piece("(", span), *body, Piece(")", span)))
            end = _span_of(alias.this).end
            yield Replacement(Span(end, end), (Piece(column_list, span),))

    def _body(self, cte: exp.CTE) -> tuple[Piece, ...]:
        replacements: list[Replacement] = []
        for node in cte.this.find_all(exp.Table):
            if self._references.cte_of(node) is not None:
                replacements += self._copy(node)
            elif node.args.get("db") is None:
                # A name with its database is never the name of a CTE that the copy's new place sees.
                span = _span_of(node.this)
                replacements.append(
                    Replacement(Span(span.start, span.start), (Piece(prefix_of(self._reader.current), span),))
                )
        return replaced(self._text, self._definitions[id(cte)].body, replacements)

    def _is_copyable(self, cte: exp.CTE) -> bool:
        """Tests whether copies of a CTE are correct and useful: it projects and filters a cube, directly or through
        other CTEs that qualify.
        """
        if id(cte) not in self._definitions or not is_projection(cte.this):
            return False
        table, references = next(cte.this.find_all(exp.Table)), self._references_of.get(id(cte), [])
        if not all(self._is_plain_name(node) for node in (table, *references)):
            return False
        lists = [
            relation.args["alias"].args.get("columns") for relation in (cte, *references) if relation.args.get("alias")
        ]
        if any(lists) and any(item.is_star for item in cte.this.expressions):
            return False  # the copy does not say which columns the names of the list denote
        inner_cte = self._references.cte_of(table)
        if inner_cte is not None:
            return id(inner_cte) in self._copyable and escaping(cte.this, self._output_columns) is None
        resolved = meaning(table, self._reader)
        return isinstance(resolved, Cube | Fact) and escaping(cte.this, self._output_columns) is None

    def _uses(self, cte: exp.CTE, uses_by_cte: Mapping[int, int]) -> int:
        """Returns the number of places in the expanded query that read a CTE; ``uses_by_cte`` has later CTEs."""
        count = 0
        for node in self._references_of.get(id(cte), ()):
            user = next((other for other in self._enclosing_ctes(node) if id(other) in self._copyable), None)
            count += 1 if user is None else max(1, uses_by_cte[id(user)])
        return count

    def _is_plain_name(self, node: exp.Table) -> bool:
        """Tests whether a name behind FROM stands in the text as such, followed by nothing but an alias."""
        if any(value and key not in _EXPAND_CTE_PARTS for key, value in node.args.items()) or self._text.in_hint(node):
            return False
        alias = node.args.get("alias")
        return has_place(node.this) and (alias is None or has_place(alias.this))

    def _enclosing_ctes(self, node: exp.Expr) -> tuple[exp.CTE, ...]:
        """Returns the CTEs whose definition contains a node, innermost first. Each place is looked up once."""
        path: list[exp.Expr] = []
        ancestor = node.parent
        while ancestor is not None and id(ancestor) not in self._enclosing:
            path.append(ancestor)
            ancestor = ancestor.parent
        ctes = () if ancestor is None else self._enclosing[id(ancestor)]
        for path_node in reversed(path):
            ctes = (path_node, *ctes) if isinstance(path_node, exp.CTE) else ctes
            self._enclosing[id(path_node)] = ctes
        return ctes

    def _located(self, with_: exp.With) -> list[_Definition]:
        """Returns the places of the CTEs of a WITH; none if it is recursive or a CTE is not written plainly."""
        definitions: list[_Definition] = []
        tokens = self._text.tokens
        for cte in with_.expressions if not with_.args.get("recursive") else ():
            alias = cte.args.get("alias")
            if alias is None or not has_place(alias.this):
                return []
            first = self._text.index_at(_span_of(alias.this).start)
            index = first + 1
            if alias.args.get("columns"):
                index = self._text.closing(index) + 1
            index += tokens[index].is_word("AS")
            before_is_right = tokens[first - 1].is_operator(",") if definitions else tokens[first - 1].is_word("WITH")
            if not (tokens[index].is_operator("(") and tokens[index + 1].is_word("SELECT", "FROM") and before_is_right):
                return []
            last = self._text.closing(index)
            span = Span(tokens[first].start, tokens[last].end)
            definitions.append(_Definition(cte, span, Span(tokens[index + 1].start, tokens[last - 1].end)))
        return definitions


def _span_of(identifier: exp.Expr) -> Span:
    return Span(identifier.meta["start"], identifier.meta["end"] + 1)
