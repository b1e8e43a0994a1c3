"""Spark SQL text as the translator reads it: sqlglot's tree, our lexer's strings, and places for errors.

sqlglot misreads doubled quotes and drops what it finds redundant (``varchar(3)`` becomes text). What it may have
misread is taken from our own lexer, or refused.
"""

from __future__ import annotations

import bisect
from functools import cached_property
from typing import NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from rewriter.errors import EngineError, NotSupportedError, ParseError, Span
from rewriter.grammar.lexer import Token, TokenKind, string_value, tokens
from rewriter.planner.text import parser_words

#: Takes the place of what sqlglot could misread; never taken for a value, because ``string`` knows no such text.
_MASK = "!"
_HINT = "Use the Spark engine, or write it differently."


class SqlText:
    """A text and its tree. Raises ``ParseError`` where it cannot be read, ``NotSupportedError`` for what sqlglot
    would read otherwise than Spark.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self._refuse_misread()

    @cached_property
    def tree(self) -> exp.Expr:
        try:
            trees = [tree for tree in sqlglot.parse(self._masked(), dialect="spark") if tree is not None]
        except SqlglotError as error:
            words = parser_words(error)
            raise ParseError(f"DuckDB's translator cannot read this query: {words}.", hint=_HINT) from None
        except RecursionError:
            raise ParseError("This query nests too deeply to be read.", hint="Split it with CTEs.") from None
        if len(trees) != 1:
            raise ParseError("One query was expected here.", position=Span(0, len(self.text)))
        return trees[0]

    def position(self, node: exp.Expr) -> Span | None:
        """From the first to the last place that sqlglot remembers within the node, and a function's name before it."""
        places = [child.meta for child in node.walk() if child._meta and "start" in child.meta]
        if not places:
            return None
        span = Span(min(place["start"] for place in places), max(place["end"] for place in places) + 1)
        name = self._name_before(span.start) if isinstance(node, exp.Func) and not node._meta else None
        return span if name is None else Span(name.start, span.end)

    def function_name(self, call: exp.Expr) -> str:
        """The function's name as typed, where it can be found; else sqlglot's."""
        if call._meta and "start" in call.meta:
            return self.text[call.meta["start"] : call.meta["end"] + 1].lower()
        span = self.position(call)
        name = None if span is None else self._name_before(span.start) or self._token_at(span.start)
        if name is not None and name.kind is TokenKind.WORD:
            return name.text.lower()
        return call.sql_name().lower() if isinstance(call, exp.Func) else call.key

    def _name_before(self, start: int) -> Token | None:
        """The word before a parenthesis that opens before ``start``."""
        index = bisect.bisect_left(self._starts, start)
        if index >= 2 and self.tokens[index - 1].is_operator("(") and self.tokens[index - 2].kind is TokenKind.WORD:
            return self.tokens[index - 2]
        return None

    def _token_at(self, start: int) -> Token | None:
        index = bisect.bisect_left(self._starts, start)
        return self.tokens[index] if index < len(self.tokens) else None

    def refuse(self, what: str, node: exp.Expr | None = None, hint: str = _HINT) -> NoReturn:
        """Raises the error for a construct whose answer on DuckDB is not proven equal to Spark's."""
        raise NotSupportedError(
            f"{what} is not supported on DuckDB.",
            condition="DUCKDB_UNSUPPORTED",
            position=None if node is None else self.position(node),
            hint=hint,
        )

    def wrong(self, message: str, condition: str, sqlstate: str, node: exp.Expr, object: str | None = None) -> NoReturn:
        """Raises the error that Spark, too, has for this node."""
        raise EngineError(message, condition=condition, sqlstate=sqlstate, position=self.position(node), object=object)

    def string(self, node: exp.Expr) -> str:
        """The value of a string literal, as Spark reads it.

        Refuses one whose place sqlglot has forgotten, unless its text can only be itself.
        """
        start = node.meta.get("start") if node._meta else None
        token = self._strings.get(start) if start is not None else None
        if token is not None:
            return string_value(token)
        text = str(node.this)
        if not all(char.isalnum() or char in " .+-:" for char in text):
            self.refuse("This string literal", node)
        return text

    def last_string(self, call: exp.Expr) -> str:
        """The string literal that is the last argument of a call; sqlglot rewrites formats, so the text is read."""
        start = call.meta.get("start") if call._meta else None
        first = bisect.bisect_left(self._starts, start) if start is not None else len(self.tokens)
        depth = 0
        for index in range(first + 1, len(self.tokens)):
            token = self.tokens[index]
            depth += token.is_operator("(") - token.is_operator(")")
            if depth == 0:
                last, comma = self.tokens[index - 1], self.tokens[index - 2]
                if token.is_operator(")") and last.kind is TokenKind.STRING and comma.is_operator(","):
                    return string_value(last)
                break
        return self.refuse("A format that is no string literal", call)

    @cached_property
    def _strings(self) -> dict[int, Token]:
        return {token.start: token for token in self.tokens if token.kind is TokenKind.STRING}

    @cached_property
    def _starts(self) -> list[int]:
        return [token.start for token in self.tokens]

    def _masked(self) -> str:
        """The text with strings that sqlglot could misread replaced by plain ones of the same length."""
        parts: list[str] = []
        position = 0
        for token in self._strings.values():
            body = token.text[1:-1]
            if token.text[0] in "rR" or "\\" in body or token.text[0] in body:
                parts += [self.text[position : token.start], "'", _MASK * (len(token.text) - 2), "'"]
                position = token.end
        return "".join([*parts, self.text[position:]])

    def _refuse_misread(self) -> None:
        for first, second in zip(self.tokens, self.tokens[1:], strict=False):
            span = Span(first.start, second.end)
            if first.kind is TokenKind.STRING and second.kind is TokenKind.STRING:
                raise _misread("Two string literals side by side are", span)
            if first.is_word("VARCHAR", "CHAR", "CHARACTER") and second.is_operator("("):
                raise _misread(f"{first.upper}(…) is", span)
            # sqlglot takes these words for a table of that name with an alias.
            if first.is_word("TABLE", "STREAM") and second.kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
                raise _misread(f"{first.upper} is", span)


def _misread(what: str, span: Span) -> NotSupportedError:
    return NotSupportedError(
        f"{what} not supported on DuckDB.", condition="DUCKDB_UNSUPPORTED", position=span, hint=_HINT
    )
