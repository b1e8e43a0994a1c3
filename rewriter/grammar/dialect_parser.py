"""Feeds our tokens to the grammar, and reports the expected terminals if they do not fit.

A word is a keyword only if the grammar accepts that keyword, and a name otherwise. If both are possible, the
keyword is tried first, and the name if the next token does not fit (``DESCRIBE fact`` describes a table of that name).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from rewriter.errors import ParseError, Span
from rewriter.grammar.dialect_rules import dialect_rules, is_word
from rewriter.grammar.filters import Filter, check_depth
from rewriter.grammar.lalr_tables import END, Parse, Tables, accepted
from rewriter.grammar.lexer import Token, TokenKind
from rewriter.grammar.query_spans import misplaced_parameter, starts_query
from rewriter.grammar.statement_parts import Terminal
from rewriter.grammar.statements import BUILDERS, Statement
from rewriter.grammar.stored_grammar import stored_grammar

_BY_KIND = {TokenKind.IDENTIFIER: "NAME", TokenKind.STRING: "STRING", TokenKind.NUMBER: "NUMBER"}
_READABLE = {
    "NAME": "a name",
    "STRING": "a string",
    "NUMBER": "a number",
    "QUERY": "a query",
    "EXPRESSION": "an expression",
    "CONSTANT": "a constant expression",
    END: "the end of the statement",
}
#: Keywords that cannot be names if the grammar accepts them, so that a long filter is parsed without retreat.
_RESERVED = frozenset({"NOT", "NULL", "TRUE", "FALSE"})
_MAX_SHOWN_WORDS = 8


class SyntaxFailure(Exception):
    """The token at ``index`` does not fit (``len(tokens)``: the end does not). Never leaves this package."""

    def __init__(self, tokens: Sequence[Token], index: int, error: ParseError) -> None:
        super().__init__(index)
        self.tokens = tokens
        self.index = index
        self.error = error


def parse_tokens(tokens: Sequence[Token], text: str) -> Statement:
    """Parses the tokens of ``text``, at least one, to a statement.

    Linear in the number of tokens. Raises ``SyntaxFailure`` if the tokens do not fit, and the builder's error for
    tokens that fit the grammar but are invalid.
    """
    statement: Statement = _parse(_without_parameters(tokens) if ":" in text else tokens, text, "start")
    return statement


def parse_filter_tokens(tokens: Sequence[Token], text: str) -> Filter:
    """Parses all tokens of ``text`` to a partition filter.

    Linear in the number of tokens. Raises ``ParseError``, and ``AnalysisError`` if it nests too deeply.
    """
    if not tokens:
        raise ParseError(
            "There is no filter.",
            condition="PARSE_EMPTY_STATEMENT",
            sqlstate="42617",
            position=Span(len(text), len(text)),
            hint="Write conditions on partition columns, as in dt >= '2015-01-29'.",
        )
    try:
        tree: Filter = _parse(tokens, text, "filter")
    except SyntaxFailure as failure:
        raise failure.error from None
    check_depth(tree)
    return tree


def _parse(tokens: Sequence[Token], text: str, start: str) -> Any:
    """Builds the value of the rule ``start`` from the tokens; raises ``SyntaxFailure`` at a token that does not fit."""
    state = Parse(grammar().tables, start)
    terminals: list[Terminal] = []
    alternative: tuple[int, Terminal] | None = None
    furthest: SyntaxFailure | None = None
    index = 0
    while True:
        options = _options(tokens, index, text, state.choices, start)
        if len(options) > 1:
            alternative = (index, options[1])
        if options and state.feed(options[0]):
            if options[0].type == END:
                return state.result
            terminals.append(options[0])
            index += 1
            while index < len(tokens) and tokens[index].start < options[0].token.end:
                index += 1  # A QUERY, an EXPRESSION or a CONSTANT has several tokens.
            continue
        if furthest is None or index > furthest.index:
            furthest = SyntaxFailure(tokens, index, _syntax_error(tokens, index, terminals, start))
        if alternative is None:
            raise furthest
        (index, name), alternative = alternative, None
        terminals = [*(terminal for terminal in terminals if terminal.token.end <= name.token.start), name]
        state = Parse(grammar().tables, start)
        if not all(map(state.feed, terminals)):
            raise furthest
        index += 1


def first_words() -> frozenset[str]:
    """Returns the words that the statements of the grammar begin with, upper case."""
    tables = grammar().tables
    return frozenset(grammar().spellings[name] for name in tables.actions[tables.starts["start"]])


class Grammar(NamedTuple):
    """The compiled grammar; ``types`` are the terminals by what is typed, ``spellings`` the reverse."""

    tables: Tables
    types: dict[str, str]
    spellings: dict[str, str]


@cache
def grammar() -> Grammar:
    """Returns the dialect's grammar. The first call loads it."""
    stored = stored_grammar(dialect_rules())  # Loads the families, and thereby the builders.
    types = stored["types"]
    spellings = {name: spelling for spelling, name in types.items()}
    return Grammar(Tables.of(stored, BUILDERS), types, spellings)


def _options(tokens: Sequence[Token], index: int, text: str, choices: Any, rule: str) -> list[Terminal]:
    """Returns the terminals that the token can be in this state of the parser, the likelier first.

    A filter by itself has no constant expressions: no statement gives them a present moment.
    """
    if index == len(tokens):
        end = tokens[-1].end
        return [Terminal(END, Token(TokenKind.OPERATOR, "", end, end))]
    token = tokens[index]
    if (
        "QUERY" in choices
        and may_end_in_query(tokens, index)
        and starts_query(tokens, index)
        and not is_column_list(tokens, index)
    ):
        start, end = token.start, tokens[-1].end
        return [Terminal("QUERY", Token(TokenKind.WORD, text[start:end], start, end))]
    if "EXPRESSION" in choices:
        end = _end_of_expression(tokens, index)
        text_of_expression = Token(TokenKind.WORD, text[token.start : end], token.start, end)
        return [Terminal("EXPRESSION", text_of_expression)] if end > token.start else []
    if "CONSTANT" in choices and rule == "start":
        behind = _end_of_constant(tokens, index, "NAME" in choices)
        if behind > index:
            end = tokens[behind - 1].end
            return [Terminal("CONSTANT", Token(TokenKind.WORD, text[token.start : end], token.start, end))]
    if token.kind is not TokenKind.WORD:
        name = _BY_KIND.get(token.kind) or grammar().types.get(token.text, "")
        return [Terminal(name, token)] if name in choices else []
    keyword = grammar().types.get(token.text.upper(), "")
    if keyword in ("DATE", "TIMESTAMP") and "NAME" in choices and not _is_string(tokens, index + 1):
        keyword = ""
    if keyword not in choices:
        return [Terminal("NAME", token)] if "NAME" in choices else []
    if keyword in _RESERVED or "NAME" not in choices:
        return [Terminal(keyword, token)]
    return [Terminal(keyword, token), Terminal("NAME", token)]


def may_end_in_query(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether the statement can end in a query that begins at ``index``; the state's lookahead may merely seem to
    allow one.
    """
    if tokens[index - 1].is_word("AS") or tokens[0].is_word("INSERT"):
        return True
    if tokens[index - 1].is_word("RETURN"):
        # The body of a function that returns a value may go on behind a query in parentheses.
        return not tokens[index].is_operator("(") or any(
            token.is_word("RETURNS") and after.is_word("TABLE") for token, after in pairwise(tokens[:index])
        )
    return index > 2 and (tokens[0].is_word("CACHE") or tokens[1].is_word("VIEW"))


def _end_of_expression(tokens: Sequence[Token], index: int) -> int:
    """Returns the end of the text before the next comma, the next option of a column, or the end of the parentheses
    around ``index``; the start of the token if it is one of them.
    """
    depth, end = 0, tokens[index].start
    for position in range(index, len(tokens)):
        token = tokens[position]
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if depth < 0 or (not depth and (token.is_operator(",") or _is_column_option(tokens, index, position))):
            break
        end = token.end
    return end


def _is_column_option(tokens: Sequence[Token], start: int, index: int) -> bool:
    """Tests for COMMENT '…', NOT NULL or DEFAULT behind an expression that begins at ``start``."""
    following = tokens[index + 1] if start < index < len(tokens) - 1 else None
    if following is None:
        return False
    if tokens[index].is_word("COMMENT"):
        return following.kind is TokenKind.STRING
    return tokens[index].is_word("DEFAULT") or (tokens[index].is_word("NOT") and following.is_word("NULL"))


def _is_string(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].kind is TokenKind.STRING


def is_column_list(tokens: Sequence[Token], index: int) -> bool:
    """Tests whether the parenthesis after INSERT's head encloses names and is followed by the start of a query."""
    if not tokens[index].is_operator("("):
        return False
    for position in range(index + 1, len(tokens) - 1, 2):
        token, after = tokens[position], tokens[position + 1]
        if token.kind not in (TokenKind.WORD, TokenKind.IDENTIFIER) or not after.is_operator(",", ")"):
            return False
        if after.text == ")":
            return starts_query(tokens, position + 2)
    return False


def _without_parameters(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """Splits each ``:name`` into two tokens: a struct's field may be typed so (``a :int``), and a parameter fits
    nowhere.
    """
    split: list[Token] = []
    for token in tokens:
        if token.kind is TokenKind.PARAMETER and len(token.text) > 1:
            split.append(Token(TokenKind.OPERATOR, ":", token.start, token.start + 1))
            split.append(Token(TokenKind.WORD, token.text[1:], token.start + 1, token.end))
        else:
            split.append(token)
    return tuple(split)


def _syntax_error(tokens: Sequence[Token], index: int, terminals: Sequence[Terminal], start: str) -> ParseError:
    """Returns the error for a token that does not fit after these terminals."""
    parameter = _parameter_at(tokens, index)
    if parameter is not None:
        return misplaced_parameter(parameter)
    expected = _expected(terminals, start)
    if index == len(tokens):
        near, position = "end of input", Span(tokens[-1].end, tokens[-1].end)
    else:
        near, position = f"'{tokens[index].shown}'", tokens[index].span
    return ParseError(f"Syntax error at or near {near}.", position=position, hint=_hint(tokens, index, expected, start))


def _parameter_at(tokens: Sequence[Token], index: int) -> Span | None:
    """Returns the place of a parameter at a token, which ``_without_parameters`` may have split."""
    if index < len(tokens) and tokens[index].kind is TokenKind.PARAMETER:
        return tokens[index].span
    if index + 1 >= len(tokens) or not tokens[index].is_operator(":"):
        return None
    colon, name = tokens[index : index + 2]
    is_name = name.kind is TokenKind.WORD and name.start == colon.end
    before = tokens[index - 1] if index and tokens[index - 1].end == colon.start else None
    is_type = before is not None and (before.kind is not TokenKind.OPERATOR or before.is_operator(")", "]"))
    return Span(colon.start, name.end) if is_name and not is_type else None


def _expected(terminals: Sequence[Terminal], start: str) -> list[str]:
    """Returns the terminals that the grammar accepts after these, the likelier first."""
    accepted_terminals = accepted(grammar().tables, start, [terminal.type for terminal in terminals])
    spellings = grammar().spellings
    if start == "filter":
        accepted_terminals = set(accepted_terminals) - {"CONSTANT"}
    words = sorted(spellings, key=lambda name: not is_word(spellings[name]))
    return [name for name in (*_READABLE, *words) if name in accepted_terminals]


def _readable(terminal: str) -> str:
    spelling = grammar().spellings.get(terminal, "")
    return _READABLE.get(terminal) or (spelling if is_word(spelling) else f"'{spelling}'")


def _value_hint(tokens: Sequence[Token], index: int, start: str) -> str | None:
    """Returns the hint for a query or a name in place of a constant; ``None`` for anything else."""
    if starts_query(tokens, index):
        return "A value must be a constant: run the query first, and write its result."
    if tokens[index].kind not in (TokenKind.WORD, TokenKind.IDENTIFIER):
        return None
    if _is_string(tokens, index + 1):
        return "A value must be a string, a number, DATE '…', TIMESTAMP '…', TRUE, FALSE or NULL."
    if start == "filter":
        return "A value must be a literal: a text in quotes, a number, DATE '…', TIMESTAMP '…'."
    return "A value must be a constant: a text in quotes, a number, DATE '…', CURRENT_DATE, another expression."


def _hint(tokens: Sequence[Token], index: int, expected: Sequence[str], start: str) -> str:
    token = tokens[index] if index < len(tokens) else None
    names = [_readable(name) for name in expected]
    if token is not None:
        value_hint = _value_hint(tokens, index, start) if {"NULL", "STRING"} <= set(expected) else None
        if value_hint is not None:
            return value_hint
        if token.is_word("CASCADE", "RESTRICT") and tokens[0].is_word("DROP"):
            return "Only DROP DATABASE has CASCADE. Drop what uses the object first: the error of DROP names it."
        if token.is_word("PARTITION") and "','" in names:
            return "Separate partitions with commas: PARTITION (…), PARTITION (…)."
        date = _unquoted_date(tokens, index - 1) if token.is_operator("-") and index else None
        if date is not None:
            return f"Write DATE '{date}', or the text of the column's values. Without quotes it is a subtraction."
        if token.kind is TokenKind.WORD:
            near = difflib.get_close_matches(token.upper, [name for name in names if name.isupper()], 1, 0.75)
            if near:
                return f"Did you mean {near[0]}?"
        if "NAME" in expected and token.kind is TokenKind.STRING:
            files = " Files are named by their format: FROM parquet.`…`." if tokens[index - 1].is_word("FROM") else ""
            return f"Expected a name: quote names with backquotes, `…`.{files}"
    shown = names if len(names) <= _MAX_SHOWN_WORDS + 1 else [*names[:_MAX_SHOWN_WORDS], "…"]
    return f"Expected {', '.join(shown)}."


# Finds where a constant expression stands in place of a literal: ``dt < current_date - INTERVAL 90 DAYS``.
#
# Only the outline is read: operands, and operators between them. The expression remains in the user's words, and is
# computed before its statement runs.

#: The words that are calls without parentheses.
_CLOCK_WORDS = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP")

_COMPARISONS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
_INFIX = ("+", "-", "*", "/", "%", "||", "::")
_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)
_SINGULAR = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
_UNITS = (*_SINGULAR, *(f"{unit}S" for unit in _SINGULAR), "TO")
_NEITHER = ("AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN", "NULL", "TRUE", "FALSE")


def _end_of_constant(tokens: Sequence[Token], index: int, may_be_column: bool) -> int:
    """Returns the number of the token behind the constant expression that begins at ``index``; ``index`` itself where
    none does, but a literal, a name, a query or text that is no value.

    ``may_be_column``: the grammar accepts a column there, too. Where a condition begins, a constant is one whose
    comparison with a column follows: ``current_date > dt``, not ``current_date > '5'``.
    """
    end = _constant_span_end_of_expression(tokens, index)
    if end == index or not may_be_column or tokens[index - 1].is_operator(*_COMPARISONS):
        return end
    if end + 1 >= len(tokens) or not tokens[end].is_operator(*_COMPARISONS):
        return index
    name = tokens[end + 1]
    is_name = name.kind in _NAMES and not name.is_word(*_CLOCK_WORDS)
    return end if is_name and _constant_span_end_of_expression(tokens, end + 1) == end + 1 else index


def _unquoted_date(tokens: Sequence[Token], index: int) -> str | None:
    """Returns the text of a date that is typed without quotes, which is a subtraction: ``2015-01-31``."""
    parts = tokens[index : index + 5]
    texts = [part.text for part in parts]
    if len(parts) < 5 or texts[1::2] != ["-", "-"] or not all(text.isdigit() for text in texts[::2]):
        return None
    return "".join(texts) if len(texts[0]) == 4 and max(map(len, texts[2::2])) <= 2 else None


def _constant_span_end_of_expression(tokens: Sequence[Token], index: int) -> int:
    """Returns the end of an expression that is more than a literal or a name; ``index`` where there is none."""
    end, operands = _end_of_operand(tokens, index), 1
    while index < end < len(tokens) and (tokens[end].is_operator(*_INFIX) or tokens[end].is_word("DIV")):
        behind = _end_of_operand(tokens, end + 1)
        if behind == end + 1:
            return index
        end, operands = behind, operands + 1
    if end == index or _unquoted_date(tokens, index) is not None or starts_query(tokens, index):
        return index
    is_simple = operands == 1 and not tokens[index].is_word(*_CLOCK_WORDS) and _is_literal_or_name(tokens[index:end])
    return index if is_simple else end


def _end_of_operand(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind a literal, a name, a call, CASE … END or parentheses."""
    start = index
    while index < len(tokens) and tokens[index].is_operator("+", "-"):
        index += 1
    token = tokens[index] if index < len(tokens) else None
    if token is None or token.is_word(*_NEITHER) or token.is_operator("+", "-"):
        return start
    if token.is_operator("(") or token.is_word("CASE"):
        return _closed(tokens, index)
    if token.kind is TokenKind.STRING or (token.is_word("DATE", "TIMESTAMP") and _is_string(tokens, index + 1)):
        index += 1
        while _is_string(tokens, index):
            index += 1
        return index
    if token.is_word("INTERVAL"):
        return _end_of_interval(tokens, index + 1)
    if token.kind in (TokenKind.NUMBER, TokenKind.PARAMETER):
        return index + 1
    if token.is_operator(":"):  # A parameter whose name is a token of its own.
        return index + 2 if index + 1 < len(tokens) and tokens[index + 1].kind is TokenKind.WORD else start
    if token.kind not in _NAMES:
        return start
    is_call = index + 1 < len(tokens) and tokens[index + 1].is_operator("(")
    return _closed(tokens, index + 1) if is_call else index + 1


def _end_of_interval(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind the amounts and units of an INTERVAL."""
    while index < len(tokens):
        token = tokens[index]
        is_amount = token.kind in (TokenKind.NUMBER, TokenKind.STRING) or (
            token.is_operator("-") and tokens[index - 1].is_word("INTERVAL")
        )
        is_unit = token.is_word(*_UNITS) and (not token.is_word("TO") or _is_unit(tokens, index + 1))
        if not is_amount and not is_unit:
            break
        index += 1
    return index


def _is_unit(tokens: Sequence[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].is_word(*_UNITS)


def _closed(tokens: Sequence[Token], index: int) -> int:
    """Returns the number of the token behind the parentheses, or the CASE, that opens at ``index``."""
    depth = 0
    for position in range(index, len(tokens)):
        depth += tokens[position].is_operator("(", "[") or tokens[position].is_word("CASE")
        depth -= tokens[position].is_operator(")", "]") or tokens[position].is_word("END")
        if not depth:
            return position + 1
    return len(tokens)


def _is_literal_or_name(operand: Sequence[Token]) -> bool:
    if operand[0].is_operator("-"):
        return len(operand) == 2 and operand[1].kind is TokenKind.NUMBER
    strings = operand[1:] if operand[0].is_word("DATE", "TIMESTAMP") else operand
    is_single = len(operand) == 1 and operand[0].kind in (*_NAMES, TokenKind.NUMBER)
    return is_single or all(token.kind is TokenKind.STRING for token in strings)
