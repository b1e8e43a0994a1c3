"""sqlglot's parser for Spark, which reads the literals of long lists in one step each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parsers.spark import SparkParser

_LITERALS = (TokenType.NUMBER, TokenType.STRING)
_ENDS = (TokenType.COMMA, TokenType.R_PAREN)


class ListParser(SparkParser):
    """Parses the same texts as ``SparkParser``. A literal between commas or parentheses is returned at once, without a
    test for each operator that could follow it, as for an element of ``IN (1, 2, …)`` or a row of VALUES.
    """

    def _parse_select_or_expression(self, alias: bool = False) -> exp.Expr | None:
        return self._alone() or super()._parse_select_or_expression(alias)

    def _parse_expression(self) -> exp.Expr | None:
        return self._alone() or super()._parse_expression()

    def _alone(self) -> exp.Expr | None:
        """The literal that is all there is before a comma or a closing parenthesis."""
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
