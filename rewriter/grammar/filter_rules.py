"""Partition filters: the rules of the grammar, and the builders of their values."""

from __future__ import annotations

from rewriter.errors import Span
from rewriter.grammar import filters as f
from rewriter.grammar.statement_parts import Terminal, from_to
from rewriter.grammar.statements import builds
from rewriter.grammar.terms import Literal

#: NOT, NULL, TRUE and FALSE are keywords here, and names only in backquotes.
RULES = r"""
?filter: conjunction
       | conjunction ("OR" conjunction)+      -> any_of
?conjunction: negation
            | negation ("AND" negation)+      -> all_of
?negation: predicate
         | "(" filter ")"
         | NOT negation                       -> negated

?predicate: column_predicate
          | literal operator partition_column             -> flipped
?column_predicate: partition_column operator literal                         -> comparison
                 | partition_column [NOT] "LIKE" string                      -> like
                 | partition_column [NOT] "IN" "(" literal ("," literal)* ")" -> in_list
                 | partition_column [NOT] "BETWEEN" literal "AND" literal    -> between
                 | partition_column "IS" [NOT] NULL                          -> is_null

?partition_column: column_name | "(" partition_column ")"
column_name: NAME
!operator: "=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">="
"""


@builds("any_of")
def any_of(*operands: f.Filter) -> f.Filter:
    return f.disjunction(operands)


@builds("all_of")
def all_of(*operands: f.Filter) -> f.Filter:
    return f.conjunction(operands)


@builds("negated")
def negated(_word: Terminal, operand: f.Filter) -> f.Filter:
    return f.negation(operand)


@builds("column_name")
def column_name(name: Terminal) -> tuple[str, Span]:
    return name.name, name.span


@builds("operator")
def operator(op: Terminal) -> str:
    return {"==": "=", "!=": "<>"}.get(op.token.text, op.token.text)


@builds("comparison")
def comparison(column: tuple[str, Span], op: str, value: Literal) -> f.Filter:
    name, span = column
    return f.Comparison(name, op, value, from_to(span, value.span))


@builds("flipped")
def flipped(value: Literal, op: str, column: tuple[str, Span]) -> f.Filter:
    name, span = column
    return f.Comparison(name, f.FLIPPED[op], value, from_to(value.span, span))


@builds("like")
def like(column: tuple[str, Span], word: Terminal | None, pattern: Literal) -> f.Filter:
    name, span = column
    return _maybe(word, f.Like(name, pattern, from_to(span, pattern.span)))


@builds("in_list")
def in_list(column: tuple[str, Span], word: Terminal | None, *values: Literal) -> f.Filter:
    name, span = column
    return _maybe(word, f.InList(name, values, from_to(span, values[-1].span)))


@builds("between")
def between(column: tuple[str, Span], word: Terminal | None, low: Literal, high: Literal) -> f.Filter:
    name, span = column
    return _maybe(word, f.Between(name, low, high, from_to(span, high.span)))


@builds("is_null")
def is_null(column: tuple[str, Span], word: Terminal | None, null: Terminal) -> f.Filter:
    name, span = column
    return _maybe(word, f.IsNull(name, from_to(span, null.span)))


def _maybe(word: Terminal | None, predicate: f.Predicate) -> f.Filter:
    """Returns the predicate, under NOT if that word was typed."""
    return predicate if word is None else f.Not(predicate)
