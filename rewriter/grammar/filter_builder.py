"""Builds partition filters out of what the grammar recognised: one method per rule of ``filter.lark``."""

from __future__ import annotations

from lark import Transformer, v_args

from rewriter.errors import Span
from rewriter.grammar import filters as f
from rewriter.grammar.clauses import Terminal, from_to
from rewriter.grammar.statements import Literal


@v_args(inline=True)
class FilterBuilder(Transformer):  # type: ignore[misc]
    """The transformer that lark calls while it reads; literals and operators come built."""

    def any_of(self, *operands: f.Filter) -> f.Filter:
        return f.disjunction(operands)

    def all_of(self, *operands: f.Filter) -> f.Filter:
        return f.conjunction(operands)

    def negated(self, _word: Terminal, operand: f.Filter) -> f.Filter:
        return f.negation(operand)

    def column_name(self, name: Terminal) -> tuple[str, Span]:
        return name.name, name.span

    def comparison(self, column: tuple[str, Span], op: str, value: Literal) -> f.Filter:
        name, span = column
        return f.Comparison(name, op, value, from_to(span, value.span))

    def flipped(self, value: Literal, op: str, column: tuple[str, Span]) -> f.Filter:
        name, span = column
        return f.Comparison(name, f.FLIPPED[op], value, from_to(value.span, span))

    def like(self, column: tuple[str, Span], word: Terminal | None, pattern: Literal) -> f.Filter:
        name, span = column
        return _maybe(word, f.Like(name, pattern, from_to(span, pattern.span)))

    def in_list(self, column: tuple[str, Span], word: Terminal | None, *values: Literal) -> f.Filter:
        name, span = column
        return _maybe(word, f.InList(name, values, from_to(span, values[-1].span)))

    def between(self, column: tuple[str, Span], word: Terminal | None, low: Literal, high: Literal) -> f.Filter:
        name, span = column
        return _maybe(word, f.Between(name, low, high, from_to(span, high.span)))

    def is_null(self, column: tuple[str, Span], word: Terminal | None, null: Terminal) -> f.Filter:
        name, span = column
        return _maybe(word, f.IsNull(name, from_to(span, null.span)))


def _maybe(word: Terminal | None, predicate: f.Predicate) -> f.Filter:
    """The predicate, under NOT where the word stands."""
    return predicate if word is None else f.Not(predicate)
