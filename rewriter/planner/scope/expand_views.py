"""Expands views to derived tables, and shared CTEs over cubes to one derived table for each reference.

This happens in the text, before planning. The planner then sees a query without views, in which every reference has a
scope of its own. A view's body is read by itself: no CTE and no column of the surrounding query is visible in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from sqlglot import exp

from rewriter.cancellation import check_cancellation
from rewriter.catalog.model.objects import Table, View
from rewriter.catalog.model.qualified_names import DEFAULT_DATABASE, seen_from
from rewriter.catalog.model.temporary_names import shown
from rewriter.catalog.model.temporary_views import TemporaryView
from rewriter.errors import AnalysisError, NotSupportedError, ParseError, Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import CatalogReader, is_file
from rewriter.planner.scope.called_code import brings_code, called_code
from rewriter.planner.scope.correlation import escaping, is_correlatable
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.scope.expand_ctes import LONGEST, expand_ctes
from rewriter.planner.scope.output_columns import OutputColumns
from rewriter.planner.scope.table_names import Key, catalog_name, databases, key_of, prefix_of
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, alias_text, replaced
from rewriter.planner.text.query_text import QueryText, has_place
from rewriter.planner.text.table_queries import with_table_queries

#: The maximum nesting depth of views, as in Spark.
DEEPEST = 100

#: The parts that the name of a view may have; any other (TABLESAMPLE, time travel) would change its meaning elsewhere.
_PARTS = ("this", "db", "catalog", "alias", "joins", "laterals", "pivots")


def expand(text: QueryText, reader: CatalogReader, created_view: str | None = None) -> QueryText:
    """Returns the query without views and without shared CTEs over cubes; ``text`` itself where it names none of them.

    Places in the result are those of the statement: a view's body has the place of the view's name, a CTE's copy that
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
    expanded = expand_ctes(expanded, reader)
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
            self.names_by_span[span] = shown(view.name)
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

        A stored view reads none. A temporary view reads those that it read when it was created, and raises
        ``AnalysisError`` TABLE_OR_VIEW_NOT_FOUND for one that was dropped.
        """
        if node.db or (reading is not None and not reads_temporary(reading, node.name)):
            return None
        temporary = self._reader.temporary_view(node.name) or self._reader.temporary(node.name)
        if temporary is None and reading is not None:
            raise _not_found(reading.name, node.name, node.name, f"TEMPORARY VIEW {shown(reading.name)}")
        return temporary

    def _typed_name(self, view: View) -> str:
        """Returns the view's name as the query would type it."""
        return shown(view.name) if isinstance(view, TemporaryView) else seen_from(self._reader.current, view.name)

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
        if len(chain) >= DEEPEST:
            raise AnalysisError(
                f"The depth of view {view.name} exceeds the maximum view resolution depth ({DEEPEST}).",
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
                # A name with its database means the same where another one is current, and is never that of a CTE.
                replacements += [] if node.db else [Replacement(Span(span.start, span.start), (Piece(prefix, span),))]
        replacements += [Replacement(span, ()) for span, _ in databases(text, keys)]
        full_span = Span(text.tokens[0].start, text.tokens[-1].end)  # a comment at the end would hide what follows
        body = "".join(piece.text for piece in replaced(text, full_span, replacements))
        if isinstance(text.tree, exp.Values):
            # sqlglot reads no alias behind VALUES … AS t(a) in parentheses.
            body = f"SELECT * FROM {body}"
        if len(body) > LONGEST:
            raise NotSupportedError(
                f"The view {view.name} expands to more than {LONGEST:,} characters.",
                object=view.name,
                hint="Store the rows that it reads in a table.",
            )
        return body

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


def names_in(text: QueryText) -> Iterator[tuple[exp.Table, Span]]:
    """Yields the names behind FROM and JOIN that are not CTEs, with their places."""
    ctes = CteReferences(text.nodes)
    for node in text.find_all(exp.Table):
        if isinstance(node.this, exp.Identifier) and ctes.cte_of(node) is None and not text.in_hint(node):
            parts = [part for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part is not None]
            # A name without a place is looked up, and refused, with all others.
            if all(has_place(part) for part in parts):
                yield node, Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)
