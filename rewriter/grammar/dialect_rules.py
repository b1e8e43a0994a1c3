"""The text of the dialect's grammar: the shared rules, the filters' rules and those of all families."""

from __future__ import annotations

import re
from functools import cache

from rewriter.grammar import filter_rules, shared_rules
from rewriter.grammar.statements import families

#: The terminals that the lexer makes. A QUERY is the user's text from its first word to the end of the statement, an
#: EXPRESSION that up to the next comma, or the end of the parentheses around it. A CONSTANT is an expression where a
#: literal may stand (``constant_spans``).
_TOKENS = ("NAME", "STRING", "NUMBER", "QUERY", "EXPRESSION", "CONSTANT")
#: Keywords that hints name in this order, after those that builders get and before all others.
_LIKELY = (
    "CREATE DATABASE SCHEMA NAMESPACE DROP LIKE DATABASES SCHEMAS NAMESPACES CURRENT ALTER RENAME CACHE AS SERDE "
    "TABLES SET UNSET TIMELINE BY TEMPORARY TEMP COLUMN COLUMNS ADD CHANGE VIEWS PARTITION PARTITIONS EXCHANGE WEIGHT"
).split()
_QUOTED_OR_COMMENT = re.compile(r'"[^"]*"|//.*')
_TERMINAL = re.compile(r"\b[A-Z][A-Z_]*\b")
_DEFINED = re.compile(r"^([A-Z][A-Z_]*):", re.MULTILINE)
_QUOTED_WORD = re.compile(r'"([A-Z]+)"')


@cache
def dialect_rules() -> str:
    """Returns the grammar as lark reads it; ``start`` is any statement that the grammar reads, ``filter`` a partition
    filter.

    A quoted word is a keyword in any case, and only if the grammar accepts it: otherwise the same word is a NAME, so
    that columns may be called date, user or partition. Comments, strings and positions are the lexer's. Loads no lark.
    """
    rules_by_statement = {f"statement_of_{family}": rules for family, rules in families().items()}
    parts = [rules.replace("?statement:", f"?{name}:") for name, rules in rules_by_statement.items()]
    rules = "\n".join([f"?start: {' | '.join(rules_by_statement)}", shared_rules.RULES, *parts, filter_rules.RULES])
    defined_terminals = {*_TOKENS, *_DEFINED.findall(rules)}
    terminals = sorted(set(_TERMINAL.findall(_QUOTED_OR_COMMENT.sub("", rules))) - defined_terminals)
    words = (f'{word}: "{word}"' for word in dict.fromkeys([*terminals, *_LIKELY]))
    return "\n".join([f"%declare {' '.join(_TOKENS)}", rules, *words])


@cache
def keywords() -> frozenset[str]:
    """Returns all words that are a keyword somewhere in the grammar, or begin a query, upper case."""
    return frozenset(_QUOTED_WORD.findall(dialect_rules())) | {"SELECT", "VALUES"}
