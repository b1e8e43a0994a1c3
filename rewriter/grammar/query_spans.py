"""Finds where a query begins, and refuses text that only looks like one. Queries remain in the user's words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, shifted
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unsupported import no_identifier_clause, no_time_travel

#: The words that begin a query; parentheses may precede them.
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")

#: The words before AS OF that ask for an earlier state, each with the clause that it is.
_STATES = {"VERSION": "VERSION", "SYSTEM_VERSION": "VERSION", "TIMESTAMP": "TIMESTAMP", "SYSTEM_TIME": "TIMESTAMP"}
_INSTANTS = ("CURRENT_TIMESTAMP", "CURRENT_DATE", "DATE", "TIMESTAMP")

_CHANGES = ("UPDATE", "DELETE", "MERGE")


def starts_query(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether a query begins at the token: a word that begins one, or parentheses around it."""
    while index < len(tokens) and tokens[index].is_operator("("):
        index += 1
    return index < len(tokens) and tokens[index].is_word(*QUERY_STARTS)


def read_query(text: str, tokens: Sequence[Token]) -> Query:
    """Returns the query that the tokens of ``text`` spell, verbatim.

    Only the outline is parsed. Raises ``NotSupportedError`` for an INSERT inside, ``ParseError`` if no query begins.
    """
    start = next((token for token in tokens if not token.is_operator("(")), None)
    if start is None or not start.is_word(*QUERY_STARTS):
        near = f"'{start.shown}'" if start else "end of input"
        position = start.span if start else Span(tokens[-1].end, tokens[-1].end) if tokens else None
        raise ParseError(
            f"Syntax error at or near {near}.", position=position, hint=f"Expected {', '.join(QUERY_STARTS)}."
        )
    if start.is_word("WITH"):
        _check_main(tokens)
    _check_inserts(tokens)
    _check_conflicts(tokens)
    _check_names_and_states(tokens)
    span = Span(tokens[0].start, tokens[-1].end)
    return Query(text[span.start : span.end], span, shifted(tokens, -span.start))


def misplaced_parameter(position: Span) -> ParseError:
    """Returns the error for a parameter outside of expressions."""
    return ParseError(
        "A parameter is not allowed here.",
        position=position,
        hint="Parameters are allowed only in expressions of queries; write the value itself.",
    )


def is_name(token: Token) -> bool:
    """Tests whether a token may be a name, or a part of one."""
    return token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER)


def read_name(tokens: Sequence[Token], index: int, hint: str) -> tuple[Name, int]:
    """Returns the name of an object that begins at a token, and the index of the token behind it. Raises
    ``ParseError`` with the hint where there is none.
    """
    first, parts = index, list[str]()
    while True:
        if index < len(tokens) and tokens[index].kind is TokenKind.PARAMETER:
            raise misplaced_parameter(tokens[index].span)
        if index >= len(tokens) or not is_name(tokens[index]):
            raise unexpected_token(tokens, index, hint)
        parts.append(identifier_value(tokens[index]))
        index += 1
        if index >= len(tokens) or not tokens[index].is_operator("."):
            return Name(tuple(parts), Span(tokens[first].start, tokens[index - 1].end)), index
        index += 1


def unexpected_token(tokens: Sequence[Token], index: int, hint: str) -> ParseError:
    """Returns the error for the token at ``index``, or for the end of the statement."""
    if index < len(tokens):
        return ParseError(f"Syntax error at or near '{tokens[index].shown}'.", position=tokens[index].span, hint=hint)
    end = tokens[-1].end
    return ParseError("Syntax error at or near end of input.", position=Span(end, end), hint=hint)


def names_stream(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether a token is the STREAM in front of ``format.`path```."""
    if not tokens[index].is_word("STREAM") or index + 3 >= len(tokens):
        return False
    format_token, dot, path = tokens[index + 1 : index + 4]
    return format_token.kind is TokenKind.WORD and dot.is_operator(".") and path.kind is TokenKind.IDENTIFIER


def first_stream(text: str, tokens: Sequence[Token]) -> Token | None:
    """Returns the first STREAM that tokens of ``text`` read from."""
    if "STREAM" not in text.upper():
        return None
    return next((token for index, token in enumerate(tokens) if names_stream(tokens, index)), None)


def after_with(tokens: Sequence[Token]) -> int:
    """Returns the index of the token behind the common table expressions of WITH, the first token; their number without
    one.
    """
    depth = 0
    for index, token in enumerate(tokens, start=1):
        depth += token.is_operator("(") - token.is_operator(")")
        after = tokens[index] if index < len(tokens) else None
        if depth == 0 and token.is_operator(")") and not (after and (after.is_operator(",") or after.is_word("AS"))):
            return index
    return len(tokens)


def _check_main(tokens: Sequence[Token]) -> None:
    """Refuses text after the common table expressions of WITH that is not a query."""
    main = after_with(tokens)
    if main < len(tokens) and tokens[main].is_word(*_CHANGES):
        raise NotSupportedError(
            f"{tokens[main].upper} is not supported: rows cannot be changed in place.",
            position=tokens[main].span,
            hint="Rewrite the partition: INSERT OVERWRITE t PARTITION (…) SELECT ….",
        )


def _check_inserts(tokens: Sequence[Token]) -> None:
    """Refuses an INSERT inside of what must be a query, as in ``INSERT INTO t FROM s INSERT INTO u SELECT a``."""
    depth = 0
    for token, after in pairwise(tokens):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth == 0 and token.is_word("INSERT") and after.is_word("INTO", "OVERWRITE"):
            raise NotSupportedError(
                "An INSERT inside a query is not supported.",
                position=token.span,
                hint="For several tables, write the source first: FROM s INSERT INTO t SELECT … INSERT INTO u ….",
            )


def _check_names_and_states(tokens: Sequence[Token]) -> None:
    """Refuses ``IDENTIFIER('name')`` and time travel (``t VERSION AS OF 3``, ``t FOR SYSTEM_TIME AS OF '…'``)."""
    for index, token in enumerate(tokens):
        if token.kind is not TokenKind.WORD:
            continue
        after = tokens[index + 1 : index + 4]
        if token.is_word("IDENTIFIER") and after and after[0].is_operator("(") and not _is_declared(tokens, index):
            raise no_identifier_clause(token.span)
        clause = _STATES.get(token.upper)
        if clause is not None and len(after) == 3 and after[0].is_word("AS") and after[1].is_word("OF"):
            # ``SELECT version AS of FROM t`` names a column.
            called = not after[2].is_word("FROM") and index + 4 < len(tokens) and tokens[index + 4].is_operator("(")
            if after[2].kind in (TokenKind.NUMBER, TokenKind.STRING) or called or after[2].upper in _INSTANTS:
                raise no_time_travel(clause, Span(token.start, after[1].end))


def _is_declared(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether a word before a parenthesis is a name with columns: ``WITH name(a) AS``, ``AS name(a)``."""
    return index > 0 and tokens[index - 1].is_word("WITH", "AS")


def _check_conflicts(tokens: Sequence[Token]) -> None:
    """Refuses ``ON CONFLICT …`` and ``ON DUPLICATE KEY …`` behind what an INSERT inserts."""
    depth = 0
    for token, word, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        depth += token.is_operator("(") - token.is_operator(")")
        if depth or not token.is_word("ON"):
            continue
        conflict = word.is_word("CONFLICT") and (after.is_word("DO", "ON") or after.is_operator("("))
        if conflict or (word.is_word("DUPLICATE") and after.is_word("KEY")):
            raise NotSupportedError(
                f"ON {word.upper} is not supported: no column is a key, and rows cannot be changed in place.",
                position=Span(token.start, word.end),
                hint="Rewrite the partition: INSERT OVERWRITE t PARTITION (…) SELECT … the old rows to "
                "keep UNION ALL the new rows.",
            )
