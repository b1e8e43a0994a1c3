"""Finds where a query begins, and refuses text that only looks like one. Queries remain in the user's words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rewriter.errors import NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, shifted
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unsupported import no_identifier_clause
from rewriter.lazy_dataclass import dataclass

#: The words that begin a query; parentheses may precede them.
QUERY_STARTS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")

#: The words before AS OF that ask for an earlier state, each with the clause that it is.
_STATES = {"VERSION": "VERSION", "SYSTEM_VERSION": "VERSION", "TIMESTAMP": "TIMESTAMP", "SYSTEM_TIME": "TIMESTAMP"}
_UNITS = tuple(
    unit + plural for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND") for plural in ("", "S")
)
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
    _check_names(tokens)
    span = Span(tokens[0].start, tokens[-1].end)
    return Query(text[span.start : span.end], span, shifted(tokens, -span.start))


def misplaced_parameter(position: Span) -> ParseError:
    """Returns the error for a parameter outside of expressions."""
    return ParseError(
        "A parameter is not allowed here.",
        position=position,
        hint="Parameters are allowed only in expressions of queries; write the value itself.",
    )


def may_be_name(token: Token) -> bool:
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
        if index >= len(tokens) or not may_be_name(tokens[index]):
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


def _check_names(tokens: Sequence[Token]) -> None:
    """Refuses ``IDENTIFIER('name')``."""
    for index, token in enumerate(tokens):
        if token.kind is not TokenKind.WORD:
            continue
        after = tokens[index + 1 : index + 4]
        if token.is_word("IDENTIFIER") and after and after[0].is_operator("(") and not _is_declared(tokens, index):
            raise no_identifier_clause(token.span)


@dataclass(frozen=True)
class StateClause:
    """``t VERSION AS OF 3``: ``name`` is the name of the object, ``kind`` is VERSION or TIMESTAMP, ``span`` is the
    clause behind the name, and ``value`` the version or the expression of an instant. All spans are in the query.
    """

    name: Name
    kind: str
    span: Span
    value: Span


def state_clauses(tokens: Sequence[Token]) -> tuple[StateClause, ...]:
    """Returns the clauses that ask for an earlier state, in order: ``t [FOR] VERSION|SYSTEM_VERSION AS OF 3`` and
    ``t [FOR] TIMESTAMP|SYSTEM_TIME AS OF '…'``. ``SELECT version AS of FROM t`` names a column.

    Raises ``ParseError`` where no name precedes one, or an instant is not understood.
    """
    clauses = []
    for index, token in enumerate(tokens[:-3]):
        kind = _STATES.get(token.upper) if token.kind is TokenKind.WORD else None
        if kind is None or not (tokens[index + 1].is_word("AS") and tokens[index + 2].is_word("OF")):
            continue
        first = tokens[index + 3]
        is_called = index + 4 < len(tokens) and tokens[index + 4].is_operator("(") and not first.is_word("FROM")
        is_value = first.kind in (TokenKind.NUMBER, TokenKind.STRING, TokenKind.PARAMETER) or first.is_operator("(")
        is_negative = first.is_operator("-") and index + 4 < len(tokens) and tokens[index + 4].kind is TokenKind.NUMBER
        is_wrong = kind == "VERSION" and (is_negative or first.is_word("NULL"))
        if not (is_value or is_called or is_wrong or first.upper in _INSTANTS):
            continue
        before = index - tokens[index - 1].is_word("FOR")
        name = _name_before(tokens, before)
        if name is None:
            raise ParseError(
                f"There is no name of a table in front of {kind} AS OF.",
                position=token.span,
                hint="Write FROM t VERSION AS OF 3, in front of an alias.",
            )
        end = index + 4 + is_negative if kind == "VERSION" else _instant_end(tokens, index + 3)
        span = Span(tokens[before].start, tokens[end - 1].end)
        clauses.append(StateClause(name, kind, span, Span(first.start, span.end)))
    return tuple(clauses)


def _name_before(tokens: Sequence[Token], end: int) -> Name | None:
    """Returns the name whose last token is before the one at ``end``."""
    first = end - 1
    if first < 0 or not may_be_name(tokens[first]):
        return None
    while first >= 2 and tokens[first - 1].is_operator(".") and may_be_name(tokens[first - 2]):
        first -= 2
    parts = tuple(identifier_value(token) for token in tokens[first:end:2])
    return Name(parts, Span(tokens[first].start, tokens[end - 1].end))


def _instant_end(tokens: Sequence[Token], index: int) -> int:
    """Returns the index of the token behind an instant: literals, calls and intervals with + and - between them."""
    while True:
        index = _operand_end(tokens, index)
        if index >= len(tokens) or not tokens[index].is_operator("+", "-"):
            return index
        index += 1


def _operand_end(tokens: Sequence[Token], index: int) -> int:
    if index < len(tokens) and tokens[index].is_word("INTERVAL", "TIMESTAMP", "DATE") and index + 1 < len(tokens):
        is_interval, index = tokens[index].is_word("INTERVAL"), index + 1
        index += tokens[index].is_operator("-", "+")
        if index < len(tokens) and tokens[index].kind in (TokenKind.STRING, TokenKind.NUMBER):
            has_unit = is_interval and index + 1 < len(tokens) and tokens[index + 1].is_word(*_UNITS)
            return index + 1 + has_unit
        index -= 1
    if index < len(tokens) and tokens[index].kind in (TokenKind.STRING, TokenKind.NUMBER, TokenKind.PARAMETER):
        return index + 1
    if index < len(tokens) and tokens[index].kind is TokenKind.WORD:
        index += 1
        if index >= len(tokens) or not tokens[index].is_operator("("):
            return index
    if index >= len(tokens) or not tokens[index].is_operator("("):
        raise unexpected_token(tokens, index, "Write an instant, as in TIMESTAMP AS OF '2024-01-01 12:00:00'.")
    depth = 0
    while index < len(tokens):
        depth += tokens[index].is_operator("(") - tokens[index].is_operator(")")
        index += 1
        if depth == 0:
            return index
    raise unexpected_token(tokens, index, "Close the parentheses.")


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
