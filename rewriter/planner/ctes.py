"""CTEs over cubes that are named more than once: each place gets a copy, so that its own range plans it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.models import Cube, Fact
from rewriter.errors import Span
from rewriter.planner.blocks import CatalogReader, meaning
from rewriter.planner.closed import escaping
from rewriter.planner.derived import DerivedText, Piece, Replacement, alias_text, replaced
from rewriter.planner.inlining import CteReferences
from rewriter.planner.joins import relations
from rewriter.planner.names import prefix_of
from rewriter.planner.plan import quote_identifier
from rewriter.planner.scalars import is_scalar
from rewriter.planner.text import QueryText, has_place

_CLAUSES = ("expressions", "from_", "where")
_PARTS = ("this", "db", "catalog", "alias")


@dataclass(frozen=True)
class _Definition:
    """Where a CTE stands in the text: all of it, and the query between its parentheses."""

    cte: exp.CTE
    span: Span
    body: Span


def is_projection(select: exp.Expr) -> bool:
    """Whether a query is one SELECT that only projects and filters one relation, by functions that are known to
    answer the same for the same row: as many copies of it as one likes answer the same.
    """
    if not isinstance(select, exp.Select) or any(value and key not in _CLAUSES for key, value in select.args.items()):
        return False
    sources = relations(select)
    if len(sources) != 1 or not isinstance(sources[0], exp.Table | exp.Subquery):
        return False
    source = sources[0]
    if any(value and key not in _PARTS for key, value in source.args.items()):
        return False
    if isinstance(source, exp.Subquery) and not is_projection(source.this):
        return False
    where = select.args.get("where")
    computed = [*select.expressions, *([where.this] if where is not None else [])]
    return all(_is_plain(node) for one in computed for node in one.walk())


def _is_plain(node: exp.Expr) -> bool:
    return is_scalar(node) or (isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"))


def expand_ctes(text: QueryText, reader: CatalogReader) -> QueryText:
    """The query with shared CTEs that only project and filter a cube copied to each place that names them, and their
    definitions removed; ``text`` itself where there are none. A copy has the place of the definition.
    """
    if next(text.find_all(exp.CTE), None) is None:
        return text
    shared = _Shared(text, reader)
    replacements = [*shared.copies(), *shared.removals()]
    if not replacements:
        return text
    return DerivedText(text, replaced(text, Span(0, len(text.text)), replacements), {})


class _Shared:
    """The CTEs of one query that are to be copied."""

    def __init__(self, text: QueryText, reader: CatalogReader) -> None:
        self._text, self._reader = text, reader
        self._references = CteReferences(text.nodes)
        self._named: dict[int, list[exp.Table]] = {}
        for node in text.find_all(exp.Table):
            cte = self._references.of(node)
            if cte is not None:
                self._named.setdefault(id(cte), []).append(node)
        self._withs = [definitions for with_ in text.find_all(exp.With) if (definitions := self._located(with_))]
        self._definitions = {id(one.cte): one for definitions in self._withs for one in definitions}
        self._copied = {
            key for key, one in self._definitions.items() if self._fits(one.cte) and self._uses(one.cte) > 1
        }

    def copies(self) -> Iterator[Replacement]:
        """What puts a copy in the place of each name outside the definitions that go."""
        for key in self._copied:
            for node in self._named[key]:
                if not any(id(cte) in self._copied for cte in _around(node)):
                    yield from self._copy(node)

    def removals(self) -> Iterator[Replacement]:
        """What takes the definitions away, and WITH where none is left."""
        for definitions in self._withs:
            kept = [index for index, one in enumerate(definitions) if id(one.cte) not in self._copied]
            if len(kept) == len(definitions):
                continue
            end = definitions[-1].span.end
            if not kept:
                first = self._text.index_at(definitions[0].span.start)
                rest = self._text.text[end:]
                end += len(rest) - len(rest.lstrip())
                yield Replacement(Span(self._text.tokens[first - 1].start, end), ())
                continue
            for index in range(kept[-1]):
                if index not in kept:
                    yield Replacement(Span(definitions[index].span.start, definitions[index + 1].span.start), ())
            if kept[-1] < len(definitions) - 1:
                yield Replacement(Span(definitions[kept[-1]].span.end, end), ())

    def _copy(self, node: exp.Table) -> Iterator[Replacement]:
        """A copy of the CTE in the place of its name."""
        cte = self._references.of(node)
        assert cte is not None
        span, alias = _place(node.this), node.args.get("alias")
        columns = [quote_identifier(column.name) for column in cte.args["alias"].args.get("columns") or ()]
        renamed = alias is not None and alias.args.get("columns")
        listed = f"({', '.join(columns)})" if columns and not renamed else ""
        body = self._body(cte)
        if alias is None:
            name = f"){alias_text(self._text, span.end, node.name, listed)}"
            yield Replacement(span, (Piece("(", span), *body, Piece(name, span)))
        else:
            yield Replacement(span, (Piece("(", span), *body, Piece(")", span)))
            end = _place(alias.this).end
            yield Replacement(Span(end, end), (Piece(listed, span),))

    def _body(self, cte: exp.CTE) -> tuple[Piece, ...]:
        inside: list[Replacement] = []
        for node in cte.this.find_all(exp.Table):
            if self._references.of(node) is not None:
                inside += self._copy(node)
            elif node.args.get("db") is None:
                # A name with its database is never that of a CTE that the copy's new place sees.
                span = _place(node.this)
                inside.append(
                    Replacement(Span(span.start, span.start), (Piece(prefix_of(self._reader.current), span),))
                )
        return replaced(self._text, self._definitions[id(cte)].body, inside)

    def _fits(self, cte: exp.CTE) -> bool:
        """Whether copies of a CTE are right and of use: it projects and filters a cube, alone or through others."""
        if id(cte) not in self._definitions or not is_projection(cte.this):
            return False
        read, named = next(cte.this.find_all(exp.Table)), self._named.get(id(cte), [])
        if not all(_is_plain_name(node) for node in (read, *named)):
            return False
        lists = [one.args["alias"].args.get("columns") for one in (cte, *named) if one.args.get("alias")]
        if any(lists) and any(item.is_star for item in cte.this.expressions):
            return False  # which columns the names of the list mean is not told by the copy
        through = self._references.of(read)
        if through is not None:
            return self._fits(through) and escaping(cte.this, self._reader) is None
        found = meaning(read, self._reader)
        return isinstance(found, Cube | Fact) and escaping(cte.this, self._reader) is None

    def _uses(self, cte: exp.CTE) -> int:
        """In how many places of the answer a CTE is read."""
        count = 0
        for node in self._named.get(id(cte), ()):
            users = [other for other in _around(node) if id(other) in self._definitions and self._fits(other)]
            count += max(1, self._uses(users[0])) if users else 1
        return count

    def _located(self, with_: exp.With) -> list[_Definition]:
        """Where the CTEs of a WITH stand; nothing for a recursive one, or one that is not written plainly."""
        found: list[_Definition] = []
        tokens = self._text.tokens
        for cte in with_.expressions if not with_.args.get("recursive") else ():
            alias = cte.args.get("alias")
            if alias is None or not has_place(alias.this):
                return []
            first = self._text.index_at(_place(alias.this).start)
            at = first + 1
            if alias.args.get("columns"):
                at = self._text.closing(at) + 1
            at += tokens[at].is_word("AS")
            before_is_right = tokens[first - 1].is_operator(",") if found else tokens[first - 1].is_word("WITH")
            if not (tokens[at].is_operator("(") and tokens[at + 1].is_word("SELECT", "FROM") and before_is_right):
                return []
            last = self._text.closing(at)
            span = Span(tokens[first].start, tokens[last].end)
            found.append(_Definition(cte, span, Span(tokens[at + 1].start, tokens[last - 1].end)))
        return found


def _is_plain_name(node: exp.Table) -> bool:
    """Whether a name behind FROM stands in the text as such, with nothing but an alias behind it."""
    if any(value and key not in _PARTS for key, value in node.args.items()) or node.find_ancestor(exp.Hint):
        return False
    alias = node.args.get("alias")
    return has_place(node.this) and (alias is None or has_place(alias.this))


def _around(node: exp.Expr) -> Iterator[exp.CTE]:
    """The CTEs in whose definition a node stands, innermost first."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.CTE):
            yield parent
        parent = parent.parent


def _place(identifier: exp.Expr) -> Span:
    return Span(identifier.meta["start"], identifier.meta["end"] + 1)
