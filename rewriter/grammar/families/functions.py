"""Spark's functions: SHOW FUNCTIONS and DESCRIBE FUNCTION."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import ColumnName, DatabaseName
from rewriter.grammar.unparse import in_database_text, option, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: show_functions | describe_function

show_functions: "SHOW" [USER | SYSTEM | ALL] "FUNCTIONS" [in_database] ["LIKE"? (STRING | property_path)]
describe_function: ("DESC" | "DESCRIBE") "FUNCTION" [EXTENDED] (STRING | property_path)
"""


@dataclass(frozen=True, kw_only=True)
class ShowFunctions(Statement):
    """``SHOW [USER|SYSTEM|ALL] FUNCTIONS [IN db] [[LIKE] pattern]``; ``user`` is the word USER alone."""

    like: str | None = None
    user: bool = False
    database: DatabaseName | None = None


@builds("show_functions")
def show_functions(
    scope: Terminal | None, database: DatabaseName | None, pattern: Terminal | ColumnName | None
) -> ShowFunctions:
    like = pattern.last if isinstance(pattern, ColumnName) else pattern and pattern.string
    return ShowFunctions(like=like, user=scope is not None and scope.type == "USER", database=database)


@renders(ShowFunctions)
def show_functions_text(s: ShowFunctions) -> str:
    scope = "SHOW USER FUNCTIONS" if s.user else "SHOW FUNCTIONS"
    return words(scope, in_database_text(s.database), option("LIKE", s.like))


@dataclass(frozen=True, kw_only=True)
class DescribeFunction(Statement):
    """``DESCRIBE FUNCTION [EXTENDED] f``. An operator is a string: ``DESCRIBE FUNCTION '+'``."""

    function: ColumnName
    extended: bool = False


@builds("describe_function")
def describe_function(extended: Terminal | None, function: Terminal | ColumnName) -> DescribeFunction:
    name = function if isinstance(function, ColumnName) else ColumnName((function.string,), function.span)
    return DescribeFunction(function=name, extended=extended is not None)


@renders(DescribeFunction)
def describe_function_text(s: DescribeFunction) -> str:
    name = ".".join("`" + part.replace("`", "``") + "`" for part in s.function.parts)
    return words("DESCRIBE FUNCTION", "EXTENDED" if s.extended else None, name)
