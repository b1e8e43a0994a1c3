"""DELETE FROM, which is recognized by its first word: its condition stays in the user's words."""

from __future__ import annotations

from collections.abc import Sequence

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.lexer import Token, identifier_value, shifted
from rewriter.grammar.query_spans import may_be_name, read_name, unexpected_token
from rewriter.grammar.statements import Statement, reads, renders
from rewriter.grammar.terms import Name, Query
from rewriter.grammar.unparse import name_text, quote_name, words
from rewriter.lazy_dataclass import dataclass

_HINT = "Write DELETE FROM t [AS alias] [WHERE condition]."


@dataclass(frozen=True, kw_only=True)
class Delete(Statement):
    """``DELETE FROM t [[AS] alias] [WHERE condition]``; ``where`` is the condition as typed, an expression."""

    table: Name
    alias: str | None = None
    where: Query | None = None


@renders(Delete)
def delete_text(s: Delete) -> str:
    return words(
        f"DELETE FROM {name_text(s.table)}",
        None if s.alias is None else f"AS {quote_name(s.alias)}",
        None if s.where is None else f"WHERE {s.where.text}",
    )


@reads("DELETE")
def read_delete(text: str, statement_tokens: Sequence[Token]) -> Delete:
    """Parses DELETE FROM. Raises ``ParseError`` at the first token that does not fit."""
    if len(statement_tokens) < 2 or not statement_tokens[1].is_word("FROM"):
        raise unexpected_token(statement_tokens, 1, _HINT)
    table, index = read_name(statement_tokens, 2, _HINT)
    alias: str | None = None
    if index < len(statement_tokens) and not statement_tokens[index].is_word("WHERE"):
        index += statement_tokens[index].is_word("AS")
        if index == len(statement_tokens) or not may_be_name(statement_tokens[index]):
            raise unexpected_token(statement_tokens, index, _HINT)
        alias, index = identifier_value(statement_tokens[index]), index + 1
    if index == len(statement_tokens):
        return Delete(table=table, alias=alias)
    if statement_tokens[index].is_operator("(") and alias is not None:
        raise NotSupportedError(
            "Names of columns behind the alias are not supported.",
            position=statement_tokens[index].span,
            hint="Use the names of the table's columns.",
        )
    if not statement_tokens[index].is_word("WHERE") or index + 1 == len(statement_tokens):
        raise unexpected_token(statement_tokens, index + statement_tokens[index].is_word("WHERE"), _HINT)
    condition = statement_tokens[index + 1 :]
    span = Span(condition[0].start, condition[-1].end)
    where = Query(text[span.start : span.end], span, shifted(tuple(condition), -span.start))
    return Delete(table=table, alias=alias, where=where)
