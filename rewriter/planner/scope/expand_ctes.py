"""Expands CTEs over cubes that are named more than once: each reference gets a copy with its own time range."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from rewriter.catalog.model.objects import Cube, Fact
from rewriter.errors import NotSupportedError, Span
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.blocks import CatalogReader, meaning
from rewriter.planner.scope.correlation import escaping
from rewriter.planner.scope.cte_references import CteReferences
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import relations
from rewriter.planner.scope.output_columns import OutputColumns
from rewriter.planner.scope.table_names import prefix_of
from rewriter.planner.text.derived_text import DerivedText, Piece, Replacement, alias_text, replaced
from rewriter.planner.text.query_text import QueryText, has_place

#: The longest text that views, or copies of CTEs, may expand to, in characters.
LONGEST = 1_000_000

#: In addition, the copies may have this many times the length of the query's text.
_MOST_TIMES = 10

_CLAUSES = ("expressions", "from_", "where")
_PARTS = ("this", "db", "catalog", "alias")


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
    if any(value and key not in _PARTS for key, value in source.args.items()):
        return False
    if isinstance(source, exp.Subquery) and not is_projection(source.this):
        return False
    where = select.args.get("where")
    computed = [*select.expressions, *([where.this] if where is not None else [])]
    return all(_is_plain(node) for expression in computed for node in expression.walk())


def _is_plain(node: exp.Expr) -> bool:
    return is_scalar(node) or (isinstance(node, exp.Anonymous) and node.name.upper() in ("TIME_RANGE_IN", "NOW"))


def expand_ctes(text: QueryText, reader: CatalogReader) -> QueryText:
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
        remaining_length = LONGEST + _MOST_TIMES * len(self._text.text)
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
                # A name with its database is never that of a CTE that the copy's new place sees.
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
        if any(value and key not in _PARTS for key, value in node.args.items()) or self._text.in_hint(node):
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
