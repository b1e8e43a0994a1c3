"""Names that a program or a command line passes as text."""

from __future__ import annotations

from rewriter.errors import Error, ParseError
from rewriter.grammar.lexer import TokenKind, identifier_value, tokens
from rewriter.grammar.terms import Name


def parse_name(text: str) -> Name:
    """Returns the name of an object as it is typed in a statement: ``t``, ``db.t``, or with backquotes.

    Raises ``ParseError`` for other texts.
    """
    try:
        name_tokens = tokens(text)
    except Error:
        name_tokens = ()
    parts, dots = name_tokens[::2], name_tokens[1::2]
    is_name = all(token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER) for token in parts)
    if not parts or len(parts) != len(dots) + 1 or not is_name or any(token.text != "." for token in dots):
        raise ParseError(f"'{text}' is not a name.", object=text, hint="Write table, or database.table.")
    return Name(tuple(map(identifier_value, parts)))
