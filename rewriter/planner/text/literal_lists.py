"""sqlglot's parser for Spark, which reads the literals of long lists in one step each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlglot import TokenType, exp
from sqlglot.parsers.spark import SparkParser

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

_LITERALS = (TokenType.NUMBER, TokenType.STRING)
_ENDS = (TokenType.COMMA, TokenType.R_PAREN)


class ListParser(SparkParser):
    """Parses the same texts as ``SparkParser``. A literal between commas or parentheses is returned at once, without a
    test for each operator that could follow it, as for an element of ``IN (1, 2, …)`` or a row of VALUES.
    """

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        return self._single_literal() or super()._parse_select_or_expression(alias)

    def _parse_expression(self) -> exp.Expr | None:
        return self._single_literal() or super()._parse_expression()

    def _parse_in(self, this: exp.Expr | None, alias: bool = False) -> exp.In:
        literals = self._parenthesized_literals()
        if literals is None:
            return super()._parse_in(this, alias)
        node = self.expression(exp.In(this=this, expressions=literals))
        self._match_r_paren(node)
        return node

    def _parenthesized_literals(self) -> list[exp.Expr] | None:
        """Reads ``(literal, literal, …``, up to the closing parenthesis. Returns ``None``, and reads nothing, if other
        tokens or comments are between the parentheses.
        """
        tokens: Any = self._tokens
        first = self._index
        if self._curr.token_type is not TokenType.L_PAREN or self._curr.comments:
            return None
        literals: list[exp.Expr] = []
        for index in range(first + 1, len(tokens) - 1, 2):
            token, separator = tokens[index], tokens[index + 1]
            if token.token_type not in _LITERALS or token.comments or separator.comments:
                return None
            literal = exp.Literal(this=token.text, is_string=token.token_type is TokenType.STRING)
            literal._meta = {"line": token.line, "col": token.col, "start": token.start, "end": token.end}
            literals.append(literal)
            if separator.token_type is TokenType.R_PAREN:
                self._advance(index + 1 - first)
                return literals
            if separator.token_type is not TokenType.COMMA:
                return None
        return None

    def _single_literal(self) -> exp.Expr | None:
        """Reads a literal that is all there is before a comma or a closing parenthesis."""
        token: Any = self._curr
        if token and token.token_type in _LITERALS and self._next and self._next.token_type in _ENDS:
            self._advance()
            read: Callable[[Any, Any], exp.Expr] = self.PRIMARY_PARSERS[token.token_type]
            return read(self, token)
        return None


def list_parser(dialect: Dialect | str) -> SparkParser:
    """Returns a parser of Spark SQL: a ``ListParser`` or, if sqlglot is compiled, sqlglot's own.

    A compiled class has no subclasses in Python, and is quick enough without them.
    """
    return (SparkParser if is_compiled() else ListParser)(dialect=dialect)


@cache
def is_compiled() -> bool:
    """Returns True if the installed sqlglot is the compiled build (the extra ``fast``)."""
    path = sys.modules[SparkParser.__module__].__file__
    return path is not None and not path.endswith(".py")
