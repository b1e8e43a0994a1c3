"""Code that SQL text calls by its name. Text of the catalog may not: its readers would run what its author named."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError
from rewriter.grammar.lexer import Token, TokenKind, identifier_value

#: Spark's functions that call a method of any Java class by its name, and its clause that names a function by a text.
_RUN_CODE = frozenset(("java_method", "reflect", "try_reflect", "identifier"))
_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)


def called_code(tokens: Sequence[Token]) -> Token | None:
    """Returns the name of the first function that runs a Java method by its name, or the word USING before the text of
    a program (``TRANSFORM (a) USING 'program'``), or ``None``.
    """
    for token, after in pairwise(tokens):
        if token.kind not in _NAMES:
            continue
        if after.is_operator("("):
            if identifier_value(token).lower() in _RUN_CODE:
                return token
        elif after.kind is TokenKind.STRING and token.is_word("USING"):
            return token
    return None


def what_it_does(code: Token) -> str:
    """Returns a phrase for a message: what the text does at this token of ``called_code``."""
    return "runs a program (TRANSFORM … USING)" if code.is_word("USING") else f"calls {identifier_value(code)}"


def brings_code(view: str, code: Token) -> NotSupportedError:
    """Returns the error for a view whose query calls code: its readers would run code that its author named."""
    return NotSupportedError(
        f"The view {view} would run code on the machine of its readers: its query {what_it_does(code)}.",
        condition="CODE_IN_VIEW",
        object=view,
        hint="Write this part in the query that reads the view.",
    )
