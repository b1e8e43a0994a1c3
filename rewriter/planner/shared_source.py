"""The shared source of several INSERTs: each may read it by itself, or it must be computed once for all."""

from __future__ import annotations

from sqlglot import exp

from rewriter.catalog.model.objects import TableKind
from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.query_spans import after_with
from rewriter.grammar.terms import Query
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.scope.blocks import CatalogReader, modifiers, resolve
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.expand_views import expand, is_projection
from rewriter.planner.scope.joins import relations
from rewriter.planner.text.query_text import QueryText

#: Functions that expand one value into rows, always the same.
_GENERATORS = (exp.Explode, exp.ExplodeOuter, exp.Posexplode, exp.PosexplodeOuter, exp.Inline)
_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate)


@dataclass(frozen=True)
class Shared:
    """The one relation of a source that is computed once. ``span`` is its span in the source's text.

    ``query`` returns its rows. ``alias`` must be added behind its replacement; it is '' where the text has one.
    """

    span: Span
    query: Query
    alias: str


def shared_part(source: Query, reader: CatalogReader) -> Shared | None:
    """Returns the part of ``[WITH …] FROM …`` to compute once for several INSERTs; ``None`` where each may read it
    again.

    Tables, cubes and files, their joins, and queries that only project and filter one of them by deterministic
    functions are read again: under one snapshot they have the same rows every time, and each INSERT reads only the rows
    it needs. Everything else, from aggregates to functions that have not been reviewed, is computed once. Raises
    ``NotSupportedError`` where that is not possible: for one of several relations, and for rows of a cube, which are
    counted as events only where the planner sees the cube.
    """
    text = QueryText(f"{source.text}\nSELECT 1", source.span.start)
    unread = text.unread()
    if unread is not None:
        raise unread
    expanded = expand(text, reader)
    select = expanded.tree
    assert isinstance(select, exp.Select)
    resolved = resolve(expanded, reader)
    block = next(block for block in resolved.blocks if block.select is select)
    # A program's own rows may be others each time.
    is_stored = all(reference.table.kind is not TableKind.SOURCE for reference in resolved.tables)
    if is_stored and _is_repeatable(select, CteReferences(expanded.nodes), pinned=bool(block.cubes)):
        return None
    if block.cubes:
        raise _refused(source, f"the rows of the cube {block.cubes[0].cube.name}", "Aggregate them in the source")
    relation = _only_relation(text)
    if relation is None:
        raise _refused(source, "one of several relations", "Put everything into one subquery: FROM (SELECT … FROM …) s")
    return relation


def _refused(source: Query, construct: str, hint: str) -> NotSupportedError:
    return NotSupportedError(
        f"The source may return different rows for each INSERT, and {construct} cannot be stored for all of them.",
        condition="SOURCE_NOT_REPEATABLE",
        position=source.span,
        hint=f"{hint}, or write one INSERT for each target.",
    )


def _is_repeatable(select: exp.Select, ctes: CteReferences, pinned: bool) -> bool:
    """Tests whether each INSERT may read the source again.

    ``pinned`` says that the clock is the statement's. That is so where the planner edits a query over cubes.
    """
    if modifiers(select) - {"laterals"} or not all(_is_plain(relation, ctes, pinned) for relation in relations(select)):
        return False
    join_conditions = [join.args["on"] for join in select.args.get("joins") or () if join.args.get("on")]
    if not all(_all_scalar(condition, pinned) for condition in join_conditions):
        return False
    return all(
        isinstance(view.this, _GENERATORS) and _all_scalar(view.this.this, pinned)
        for view in select.args.get("laterals") or ()
    )


def _is_plain(relation: exp.Expr, ctes: CteReferences, pinned: bool) -> bool:
    if isinstance(relation, exp.Values):
        return all(_all_scalar(row, pinned) for row in relation.expressions)
    if isinstance(relation, exp.Subquery):
        return _is_plain_query(relation.this, ctes, pinned)
    if not isinstance(relation, exp.Table) or not isinstance(relation.this, exp.Identifier):
        return False
    cte = ctes.cte_of(relation)
    if cte is None:
        return True
    recursive = cte.parent is not None and bool(cte.parent.args.get("recursive"))
    return not recursive and _is_plain_query(cte.this, ctes, pinned)


def _is_plain_query(query: exp.Expr, ctes: CteReferences, pinned: bool) -> bool:
    if not is_projection(query):
        return False
    assert isinstance(query, exp.Select)
    clocks = next(query.find_all(*_CLOCKS), None) or any(
        node.name.upper() in ("NOW", "CURDATE") for node in query.find_all(exp.Anonymous)
    )
    return (pinned or not clocks) and all(_is_plain(relation, ctes, pinned) for relation in relations(query))


def _all_scalar(tree: exp.Expr, pinned: bool) -> bool:
    return all(is_scalar(node) and (pinned or not isinstance(node, _CLOCKS)) for node in tree.walk())


def _only_relation(text: QueryText) -> Shared | None:
    """Returns the source's one relation, a query in parentheses or a name, followed by nothing but an alias. A name may
    have a TABLESAMPLE, too.
    """
    select = text.tree
    assert isinstance(select, exp.Select)
    sources = relations(select)
    if len(sources) != 1 or not isinstance(sources[0], exp.Subquery | exp.Table):
        return None
    if modifiers(select) - ({"sample"} if isinstance(sources[0], exp.Table) else set()):
        return None
    tokens = text.tokens
    from_ = after_with(tokens) if tokens[0].is_word("WITH") else 0
    first = tokens[from_ + 1]
    before = text.text[: tokens[from_].start].rstrip()
    if isinstance(sources[0], exp.Subquery):
        if not first.is_operator("("):
            return None
        last = text.closing(from_ + 1)
        relation_span = Span(tokens[from_ + 2].start, tokens[last - 1].end)
        words, span = text.text[relation_span.start : relation_span.end], Span(first.start, tokens[last].end)
        start = relation_span.start
        alias = ""
    else:
        if not isinstance(sources[0].this, exp.Identifier):
            return None
        name_ends = [part.meta["end"] + 1 for part in (sources[0].args.get("db"), sources[0].this) if part is not None]
        span = Span(first.start, _end_of_sample(text, max(name_ends)))
        words = f"SELECT * FROM {text.text[span.start : span.end]}"
        start = span.start - len("SELECT * FROM ")
        alias = "" if sources[0].alias else sources[0].name
    gap = " " * max(1, start - len(before))
    query = f"{before}{gap}{words}" if before else words
    origin = text.origin if before else text.origin + start
    return Shared(span, Query(query, Span(origin, origin + len(query))), alias)


def _end_of_sample(text: QueryText, name_end: int) -> int:
    """Returns the end of ``TABLESAMPLE (…) [REPEATABLE (…)]`` behind a name; the end of the name where it has none."""
    tokens, end = text.tokens, name_end
    index = next(index for index, token in enumerate(tokens) if token.start >= name_end)
    while tokens[index].is_word("TABLESAMPLE", "REPEATABLE") and tokens[index + 1].is_operator("("):
        last = text.closing(index + 1)
        index, end = last + 1, tokens[last].end
    return end
