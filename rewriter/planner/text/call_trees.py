"""Parses a text with sqlglot so that every call keeps its name and its arguments as typed.

sqlglot normalizes known calls: it merges names (``nvl`` and ``coalesce``), swaps arguments and translates
formats. Here each call arrives as an ``Anonymous``, so sqlglot recognizes none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import sqlglot
from sqlglot import TokenType, exp

from rewriter.grammar.lexer import Token, TokenKind
from rewriter.planner.text.literal_lists import list_parser
from rewriter.planner.text.sqlglot_tokens import sqlglot_tokens

#: Goes before the name of each call; names cannot contain a blank, so sqlglot has no such function.
CALL = "call "
#: Replaces text that sqlglot could misread. It is never taken for a value.
_MASK = "!"
#: Words that are types with parameters behind AS, and functions elsewhere.
_SIZED_TYPES = frozenset(("CHAR", "DECIMAL", "BINARY"))
#: The tokens before the type of a cast.
_BEFORE_TYPE = (TokenType.ALIAS, TokenType.DCOLON)
#: Calls with a grammar of their own, which sqlglot reads right, and the word before the parenthesis of UNPIVOT.
_OWN_GRAMMAR = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "GROUP", "NULLS")
#: The words before a parenthesis that sqlglot has tokens of their own for and Spark has functions of.
_FUNCTION_WORDS = frozenset(
    "LEFT RIGHT REPLACE IF DATE TIMESTAMP YEAR BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING ANY SOME "
    "FORMAT ISNULL FIRST SEQUENCE RANGE".split()
)
_COMPARING = (TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.LIKE,
              TokenType.ILIKE, TokenType.RLIKE)  # fmt: skip


#: The node of a plus before a value, which sqlglot would drop. It is read as the root ``|/ x``, which Spark lacks.
PLUS = exp.Sqrt
PLUS_TOKEN = TokenType.PIPE_SLASH


def read_with_calls(
    text: str, lexed: Sequence[Token], replaced: Mapping[int, TokenType] | None = None
) -> list[exp.Expr | None]:
    """Returns the statements of a text. ``lexed`` are its tokens, and ``replaced`` the kinds as which sqlglot reads the
    tokens at some positions: ``PLUS_TOKEN``, or a comma. Raises sqlglot's errors, and RecursionError.
    """
    masked = _masked(text, lexed)
    dialect = sqlglot.Dialect.get_or_raise("spark")
    tokens = sqlglot_tokens(dialect, masked, lexed)
    if replaced:
        for token in tokens:
            token.token_type = replaced.get(token.start, token.token_type)
    has_nested_types = names_nested_type(lexed)
    for index, following in enumerate(tokens[1:]):
        if following.token_type is not TokenType.L_PAREN:
            continue
        token = tokens[index]
        word = token.text.upper()
        is_call = token.token_type is TokenType.VAR and word not in _OWN_GRAMMAR
        # ``= ANY (…)`` and ``LIKE ANY (…)`` are no calls.
        compared = word in ("ANY", "SOME") and index > 0 and tokens[index - 1].token_type in _COMPARING
        is_type = index > 0 and tokens[index - 1].token_type in _BEFORE_TYPE
        is_function = word in _FUNCTION_WORDS or (word in _SIZED_TYPES and not is_type and not has_nested_types)
        if is_call or (is_function and not compared):
            token.text = CALL + token.text
    return list_parser(dialect).parse(tokens, masked)


def names_nested_type(lexed: Sequence[Token]) -> bool:
    """Tests whether a text names a type of other types: ``array<char(3)>``."""
    return any(
        first.is_word("ARRAY", "MAP", "STRUCT") and second.is_operator("<", "<>") for first, second in pairwise(lexed)
    )


def called(node: exp.Expr) -> str | None:
    """Returns the name of the function that a node calls, in lower case; ``None`` if it is not a call."""
    name = str(node.this) if isinstance(node, exp.Anonymous) else ""
    return name.removeprefix(CALL).lower() if name.startswith(CALL) else None


def _masked(text: str, lexed: Iterable[Token]) -> str:
    """The text with strings that sqlglot could misread replaced by plain ones of the same length."""
    parts: list[str] = []
    position = 0
    for token in lexed:
        if token.kind is not TokenKind.STRING:
            continue
        body = token.text[1:-1]
        if token.text[0] in "rR" or "\\" in body or token.text[0] in body:
            parts += [text[position : token.start], "'", _MASK * (len(token.text) - 2), "'"]
            position = token.end
    return "".join([*parts, text[position:]])
