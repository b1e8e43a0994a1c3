"""What the grammar accepts behind the start of a statement: keywords, names, literals, or a query."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.grammar.dialect_parser import grammar, is_column_list, may_end_in_query
from rewriter.grammar.dialect_rules import is_word
from rewriter.grammar.lalr_tables import END, Tables, accepted_in, advanced
from rewriter.grammar.lexer import Token, TokenKind
from rewriter.grammar.query_spans import starts_query
from rewriter.lazy_dataclass import dataclass

#: The most readings of a text that are followed: a word can be a keyword and a name.
_MOST_READINGS = 16
_BY_KIND = {TokenKind.IDENTIFIER: "NAME", TokenKind.STRING: "STRING", TokenKind.NUMBER: "NUMBER"}


@dataclass(frozen=True)
class Expected:
    """What may follow some tokens. ``words`` are the keywords in upper case, in alphabetical order.

    ``contexts`` are the readings of the tokens, each as terminals (``ALTER``, ``TABLE``, ``NAME``), by which a NAME
    can follow. ``query`` is the number of the token that begins a query, which the grammar does not read.
    ``in_expression`` says that the tokens end inside an expression.
    """

    words: tuple[str, ...] = ()
    contexts: tuple[tuple[str, ...], ...] = ()
    strings: tuple[tuple[str, ...], ...] = ()
    query: int | None = None
    expects_query: bool = False
    in_expression: bool = False


@dataclass(frozen=True)
class _Reading:
    """A state of the parser's stack, and the terminals that led to it."""

    states: tuple[int, ...]
    terminals: tuple[str, ...]


def expected_after(tokens: Sequence[Token]) -> Expected:
    """Returns what may follow the tokens of a statement that is read by the grammar; nothing if they do not fit.

    Linear in the number of tokens. Loads the grammar.
    """
    tables = grammar().tables
    end = tables.ends["start"]
    readings = [_Reading((tables.starts["start"],), ())]
    index = 0
    while index < len(tokens):
        next_readings: dict[_Reading, None] = {}
        length = 1
        for reading in readings:
            choices = tables.actions[reading.states[-1]]
            if "QUERY" in choices and _is_query_at(tokens, index, tables, reading, end):
                return Expected(query=index)
            if "EXPRESSION" in choices:
                length = _length_of_expression(tokens, index)
                if index + length >= len(tokens):
                    return Expected(in_expression=True)
                names = ["EXPRESSION"]
            else:
                names = _terminals_of(tokens[index])
            for name in names:
                moved = _advanced(tables, reading, name, end)
                if moved is not None:
                    next_readings[moved] = None
        readings = list(next_readings)[:_MOST_READINGS]
        index += length
    return _collect_expected(readings, tokens, tables, end)


def _is_query_at(tokens: Sequence[Token], index: int, tables: Tables, reading: _Reading, end: int) -> bool:
    """Tests whether a token behind the first one begins a query, by the words there and by a reading before it."""
    return (
        index > 0
        and may_end_in_query(tokens, index)
        and starts_query(tokens, index)
        and not is_column_list(tokens, index)
        and _advanced(tables, reading, "QUERY", end) is not None
    )


def _collect_expected(readings: Sequence[_Reading], tokens: Sequence[Token], tables: Tables, end: int) -> Expected:
    """Returns what the readings of all tokens accept next."""
    words: set[str] = set()
    contexts, strings = [], []
    expects_query = in_expression = False
    for reading in readings:
        accepted = accepted_in(tables, reading.states, end)
        words |= {grammar().spellings.get(name, "") for name in accepted if name not in ("NAME", END)}
        contexts += [reading.terminals] if "NAME" in accepted else []
        strings += [reading.terminals] if "STRING" in accepted else []
        expects_query = expects_query or (
            "QUERY" in accepted and bool(tokens) and may_end_in_query(tokens, len(tokens))
        )
        in_expression = in_expression or "EXPRESSION" in accepted
    keywords = tuple(sorted(word for word in words if is_word(word)))
    return Expected(keywords, tuple(contexts), tuple(strings), None, expects_query, in_expression)


def _terminals_of(token: Token) -> list[str]:
    """Returns the terminals that a token can be, the keyword before the name."""
    if token.kind is not TokenKind.WORD:
        return [_BY_KIND.get(token.kind) or grammar().types.get(token.text, "")]
    keyword = grammar().types.get(token.text.upper())
    return ["NAME"] if keyword is None else [keyword, "NAME"]


def _advanced(tables: Tables, reading: _Reading, name: str, end: int) -> _Reading | None:
    states = advanced(tables, reading.states, name, end)
    return None if states is None else _Reading(states, (*reading.terminals, name))


def _length_of_expression(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of tokens up to the next comma, or the end of the parentheses around ``index``."""
    depth = 0
    for position in range(index, len(tokens)):
        token = tokens[position]
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if depth < 0 or (not depth and token.is_operator(",")):
            return max(position - index, 1)
    return len(tokens) - index
