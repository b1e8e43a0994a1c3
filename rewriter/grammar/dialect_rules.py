"""The text of the dialect's grammar: the shared rules, the filters' rules and the rules of all families."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from rewriter.grammar import filters as f
from rewriter.grammar import shared_rules
from rewriter.grammar.statement_parts import Terminal, from_to
from rewriter.grammar.statements import builds, families

if TYPE_CHECKING:
    from rewriter.errors import Span
    from rewriter.grammar.terms import Literal

#: The terminals that the lexer makes. A QUERY is the user's text from its first word to the end of the statement, an
#: EXPRESSION that up to the next comma, or the end of the parentheses around it. A CONSTANT is an expression where a
#: literal may stand (``constant_spans``).
_TOKENS = ("NAME", "STRING", "NUMBER", "QUERY", "EXPRESSION", "CONSTANT")
#: Keywords that hints name in this order, after the keywords that builders get and before all others.
_LIKELY = (
    "CREATE DATABASE SCHEMA NAMESPACE DROP LIKE DATABASES SCHEMAS NAMESPACES CURRENT ALTER RENAME CACHE AS SERDE "
    "TABLES SET UNSET TIMELINE BY TEMPORARY TEMP COLUMN COLUMNS ADD CHANGE VIEWS PARTITION PARTITIONS EXCHANGE WEIGHT"
).split()
_QUOTED_OR_COMMENT = re.compile(r'"[^"]*"|//.*')
_TERMINAL = re.compile(r"\b[A-Z][A-Z_]*\b")
_DEFINED = re.compile(r"^([A-Z][A-Z_]*):", re.MULTILINE)
_QUOTED_WORD = re.compile(r'"([A-Z_]+)"')


@cache
def dialect_rules() -> str:
    """Returns the grammar as lark reads it; ``start`` is any statement that the grammar reads, ``filter`` a partition
    filter.

    A quoted word is a keyword in any case, and only if the grammar accepts it: otherwise the same word is a NAME, so
    that columns may be called date, user or partition. Comments, strings and positions are the lexer's. Loads no lark.
    """
    rules_by_statement = {f"statement_of_{family}": rules for family, rules in families().items()}
    parts = [rules.replace("?statement:", f"?{name}:") for name, rules in rules_by_statement.items()]
    rules = "\n".join([f"?start: {' | '.join(rules_by_statement)}", shared_rules.RULES, *parts, RULES])
    defined_terminals = {*_TOKENS, *_DEFINED.findall(rules)}
    terminals = sorted(set(_TERMINAL.findall(_QUOTED_OR_COMMENT.sub("", rules))) - defined_terminals)
    words = (f'{word}: "{word}"' for word in dict.fromkeys([*terminals, *_LIKELY]))
    return "\n".join([f"%declare {' '.join(_TOKENS)}", rules, *words])


def is_word(spelling: str) -> bool:
    """Tests whether a terminal is spelled as a word, such as BOOL_OR, and not as an operator."""
    return spelling.replace("_", "").isalpha()


@cache
def keywords() -> frozenset[str]:
    """Returns all words that are a keyword somewhere in the grammar, or begin a query, upper case."""
    return frozenset(_QUOTED_WORD.findall(dialect_rules())) | {"SELECT", "VALUES"}


# Partition filters: the rules of the grammar, and the builders of their values.

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
