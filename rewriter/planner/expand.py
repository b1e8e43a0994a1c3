"""Views become derived tables, and CTEs over cubes that are named more than once become one for each place.

This happens in the text, before anything is planned: what is planned afterwards is a query without views, in which
every reference has a scope of its own. A view's body is read by itself: no CTE and no column of the query around it can
get into it.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewriter.catalog.models import View
from rewriter.catalog.names import seen_from
from rewriter.errors import AnalysisError, NotSupportedError, ParseError, Span
from rewriter.planner.apart import told_apart
from rewriter.planner.blocks import CatalogReader, is_file
from rewriter.planner.closed import escaping, is_correlatable
from rewriter.planner.ctes import expand_ctes
from rewriter.planner.derived import DerivedText, Piece, Replacement, alias_text, replaced
from rewriter.planner.inlining import CteReferences
from rewriter.planner.names import Key, catalog_name, databases, key_of, prefix_of
from rewriter.planner.plan import quote_identifier
from rewriter.planner.text import QueryText, has_place

#: The longest text that views may expand to, in characters; views over views can double it at every step.
LONGEST = 1_000_000

#: How deep views may read views, as in Spark.
DEEPEST = 100

#: What may hang on the name of a view; anything else (TABLESAMPLE, PIVOT …) would mean another thing elsewhere.
_PARTS = ("this", "db", "catalog", "alias", "joins", "laterals")


def expand(text: QueryText, reader: CatalogReader, within: str | None = None) -> QueryText:
    """The query without views and without shared CTEs over cubes; ``text`` itself where it names none of them.

    Places in the answer are those of the statement: of a view's body that of the view's name, of a CTE's copy that of
    the CTE. ``within`` is the view that is being made of the query, which must not be in it.

    Raises ``AnalysisError``: RECURSIVE_VIEW, and TABLE_OR_VIEW_NOT_FOUND for what a view lacks; ``NotSupportedError``.
    Costs a walk over the names of a query that names no view, and for each view the reading of its body.
    """
    views, made = _Views(reader), text
    replacements = views.replacements(text, () if within is None else (within,))
    if replacements:
        pieces = replaced(text, Span(0, len(text.text)), replacements)
        made = DerivedText(text, pieces, {text.place(span): name for span, name in views.named.items()})
    made = expand_ctes(made, reader)
    unread = made.unread() if made is not text else None
    if unread is not None:
        raise unread
    return made


class _Views:
    """The views of one query: their bodies by name, expanded, and where the query names them."""

    def __init__(self, reader: CatalogReader) -> None:
        self._reader = reader
        self._bodies: dict[str, str] = {}
        self.named: dict[Span, str] = {}

    def replacements(self, text: QueryText, chain: tuple[str, ...]) -> list[Replacement]:
        """What puts derived tables in the place of the views that the user's query names."""
        found: list[Replacement] = []
        keys: set[Key | None] = set()
        current = self._reader.current
        for node, span in names_in(text):
            view = self._view(node, current)
            if view is None or (not node.db and self._reader.temporary(node.name) is not None):
                continue
            try:
                found += self._replacing(text, node, span, view, chain)
            except (AnalysisError, NotSupportedError, ParseError) as error:
                raise error.at(text.place(span)) from None
            self.named[span] = view.name
            keys |= set() if node.alias else {key_of(node, current)}
        return found + [Replacement(span, ()) for span, _ in databases(text, keys)]

    def _view(self, node: exp.Table, current: str) -> View | None:
        name = None if is_file(node) else catalog_name(node, current)
        return None if name is None else self._reader.find_view(name)

    def _seen(self, view: View) -> str:
        """The view's name as the query would write it."""
        return seen_from(self._reader.current, view.name)

    def _replacing(
        self, text: QueryText, node: exp.Table, span: Span, view: View, chain: tuple[str, ...]
    ) -> Iterator[Replacement]:
        alias = node.args.get("alias")
        known = alias is None or has_place(alias.this)
        if not known or any(value and key not in _PARTS for key, value in node.args.items()):
            raise NotSupportedError(
                f"Nothing but an alias may follow the view {view.name}: no TABLESAMPLE, PIVOT or time travel.",
                object=view.name,
                hint=f"Put it into a subquery: (SELECT * FROM {self._seen(view)}).",
            )
        body = self._body(view, chain)
        if is_correlatable(node):
            self._check_closed(view, body)
        columns = [quote_identifier(name) for name, _ in view.columns]
        renamed = alias.args.get("columns") if alias is not None else None
        if renamed and columns and len(renamed) != len(columns):
            raise AnalysisError(
                f"The view {view.name} has {len(columns)} columns, and {len(renamed)} names are given here.",
                condition="ASSIGNMENT_ARITY_MISMATCH",
                sqlstate="42802",
                object=view.name,
                hint=f"Its columns are {', '.join(columns)}.",
            )
        listed = f"({', '.join(columns)})" if columns and not renamed else ""
        if alias is None:
            yield Replacement(span, (Piece(f"({body}){alias_text(text, span.end, node.name, listed)}", span),))
        else:
            yield Replacement(span, (Piece(f"({body})", span),))
            end = alias.this.meta["end"] + 1
            yield Replacement(Span(end, end), (Piece(listed, span),))

    def _body(self, view: View, chain: tuple[str, ...]) -> str:
        """The body of a view as a query that means the same in any place."""
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
                hint="Write what one of the views reads into a table.",
            )
        if key not in self._bodies:
            self._bodies[key] = self._expanded(view, (*chain, view.name))
        return self._bodies[key]

    def _expanded(self, view: View, chain: tuple[str, ...]) -> str:
        text = QueryText(view.query)
        unread = text.unread()
        if unread is not None:
            raise ParseError(f"The query of the view {view.name} cannot be read: {unread.message}", object=view.name)
        text = told_apart(text, view.database)
        prefix = prefix_of(view.database)
        found: list[Replacement] = []
        keys: set[Key | None] = set()
        for node, span in names_in(text):
            inner = self._view(node, view.database)
            if inner is not None:
                found += self._replacing(text, node, span, inner, chain)
                keys |= set() if node.alias else {key_of(node, view.database)}
            elif not is_file(node):
                self._check_there(view, node)
                # A name with its database means the same where another one is current, and is never that of a CTE.
                found += [] if node.db else [Replacement(Span(span.start, span.start), (Piece(prefix, span),))]
        found += [Replacement(span, ()) for span, _ in databases(text, keys)]
        whole = Span(text.tokens[0].start, text.tokens[-1].end)  # a comment at the end would hide what follows
        body = "".join(piece.text for piece in replaced(text, whole, found))
        if len(body) > LONGEST:
            raise NotSupportedError(
                f"The view {view.name} expands to more than {LONGEST:,} characters.",
                object=view.name,
                hint="Write what it reads into a table.",
            )
        return body

    def _check_there(self, view: View, node: exp.Table) -> None:
        known = catalog_name(node, view.database)
        if known is None or self._reader.find(known) is None:
            name = seen_from(self._reader.current, known) if known else node.sql(dialect="spark", comments=False)
            raise AnalysisError(
                f"The view {view.name} reads {name}, which cannot be found.",
                condition="TABLE_OR_VIEW_NOT_FOUND",
                sqlstate="42P01",
                object=node.name,
                hint=f"Create it again, or make the view anew: CREATE OR REPLACE VIEW {self._seen(view)} AS SELECT …",
            )

    def _check_closed(self, view: View, body: str) -> None:
        column = escaping(QueryText(body).tree, self._reader)
        if column is not None:
            raise NotSupportedError(
                f"The view {view.name} cannot be used in a subquery: where its column {column} is from is not certain.",
                object=view.name,
                hint=f"Name the view before the query: WITH x AS (SELECT * FROM {self._seen(view)}) SELECT …",
            )


def names_in(text: QueryText) -> Iterator[tuple[exp.Table, Span]]:
    """The names behind FROM and JOIN that are no CTEs, with their places."""
    ctes = CteReferences(text.nodes)
    for node in text.find_all(exp.Table):
        if isinstance(node.this, exp.Identifier) and ctes.of(node) is None and not node.find_ancestor(exp.Hint):
            parts = [part for part in (node.args.get("catalog"), node.args.get("db"), node.this) if part is not None]
            # A name without a place is looked up, and refused, with all others.
            if all(has_place(part) for part in parts):
                yield node, Span(parts[0].meta["start"], parts[-1].meta["end"] + 1)
