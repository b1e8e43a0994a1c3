"""Functions: CREATE and DROP FUNCTION of SQL functions, SHOW FUNCTIONS and DESCRIBE FUNCTION."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rewriter.errors import AnalysisError, ParseError
from rewriter.grammar.statement_parts import values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.terms import ColumnDef, ColumnName, DatabaseName, Expression, Name
from rewriter.grammar.unparse import column_text, dropping, in_database_text, listed, name_text, option, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: create_function | drop_function | show_functions | describe_function

create_function: "CREATE" [or_replace] [temporary] "FUNCTION" [if_not_exists] name \
                 (function_parameters | no_parameters) ["RETURNS" (type | returned_table)] comment* \
                 "RETURN" (EXPRESSION | QUERY)
function_parameters: columns
returned_table: "TABLE" [columns]
no_parameters: "(" ")"
drop_function: "DROP" [temporary] "FUNCTION" [if_exists] name
show_functions: "SHOW" [USER | SYSTEM | ALL] "FUNCTIONS" [in_database] ["LIKE"? (STRING | property_path)]
describe_function: ("DESC" | "DESCRIBE") "FUNCTION" [EXTENDED] (STRING | property_path)
"""


@dataclass(frozen=True, kw_only=True)
class CreateFunction(Statement):
    """``CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] f(x type [DEFAULT e], …) [RETURNS type] [COMMENT '…']
    RETURN expression``, or ``… RETURNS TABLE [(y type, …)] … RETURN query``.

    ``returns`` is the type, ``None`` without RETURNS. ``columns`` are those of RETURNS TABLE, none where they are those
    of the query, and ``None`` where the function returns a value.
    """

    function: Name
    parameters: tuple[ColumnDef, ...]
    body: Expression
    returns: str | None = None
    columns: tuple[ColumnDef, ...] | None = None
    temporary: bool = False
    or_replace: bool = False
    if_not_exists: bool = False
    comment: str | None = None

    def permanent_names(self) -> tuple[str, ...]:
        return () if self.temporary else ("function",)

    def unqualified_names(self) -> tuple[str, ...]:
        return ("function",) if self.temporary else ()


@builds("no_parameters")
def no_parameters() -> tuple[ColumnDef, ...]:
    return ()


@builds("function_parameters")
def function_parameters(parameters: tuple[ColumnDef, ...]) -> tuple[ColumnDef, ...]:
    _refuse_not_null(parameters)
    return parameters


def _refuse_not_null(columns: tuple[ColumnDef, ...]) -> None:
    for column in columns:
        if column.not_null:
            raise AnalysisError(
                f"User defined function is invalid: Cannot specify NOT NULL on function parameters: {column.name}.",
                condition="USER_DEFINED_FUNCTIONS.NOT_NULL_ON_FUNCTION_PARAMETERS",
                sqlstate="42601",
                position=column.not_null_span,
                object=column.name,
                hint="Omit NOT NULL.",
            )


@builds("returned_table")
def returned_table(columns: tuple[ColumnDef, ...] | None) -> tuple[ColumnDef, ...]:
    for column in columns or ():
        if column.default is not None:
            raise ParseError(
                f"The returned column {column.name} has a DEFAULT.",
                position=column.default_span,
                object=column.name,
                hint="Only parameters have one.",
            )
    _refuse_not_null(columns or ())
    return columns or ()


@builds("create_function")
def create_function(
    or_replace: bool | None,
    temporary: bool | None,
    if_not_exists: bool | None,
    function: Name,
    parameters: tuple[ColumnDef, ...],
    returns: str | tuple[ColumnDef, ...] | None,
    *rest: Any,
) -> CreateFunction:
    *clauses, body = rest
    values = values_by_kind(clauses)
    if if_not_exists and (temporary or or_replace):
        kind = "TEMP_FUNC_WITH_IF_NOT_EXISTS" if temporary else "ROUTINE_WITH_IF_NOT_EXISTS_AND_REPLACE"
        raise ParseError(
            f"CREATE {'TEMPORARY' if temporary else 'OR REPLACE'} FUNCTION with IF NOT EXISTS is not allowed.",
            condition=f"INVALID_SQL_SYNTAX.CREATE_{kind}",
            sqlstate="42000",
            position=function.span,
            object=function.last,
            hint="Leave one of them out.",
        )
    return CreateFunction(
        function=function,
        parameters=parameters,
        body=Expression(body.token.text, body.span),
        returns=returns if isinstance(returns, str) else None,
        columns=returns if isinstance(returns, tuple) else None,
        temporary=bool(temporary),
        or_replace=bool(or_replace),
        if_not_exists=bool(if_not_exists),
        comment=values.get("COMMENT"),
    )


@renders(CreateFunction)
def create_function_text(s: CreateFunction) -> str:
    table = None
    if s.columns is not None:
        table = words("RETURNS TABLE", listed(map(column_text, s.columns)) if s.columns else None)
    return words(
        "CREATE OR REPLACE" if s.or_replace else "CREATE",
        "TEMPORARY FUNCTION" if s.temporary else "FUNCTION",
        "IF NOT EXISTS" if s.if_not_exists else None,
        f"{name_text(s.function)}{listed(map(column_text, s.parameters))}",
        f"RETURNS {s.returns}" if s.returns else table,
        option("COMMENT", s.comment),
        f"RETURN {s.body.text}",
    )


@dataclass(frozen=True, kw_only=True)
class DropFunction(Statement):
    function: Name
    temporary: bool = False
    if_exists: bool = False

    def permanent_names(self) -> tuple[str, ...]:
        return () if self.temporary else ("function",)

    def unqualified_names(self) -> tuple[str, ...]:
        return ("function",) if self.temporary else ()


@builds("drop_function")
def drop_function(temporary: bool | None, if_exists: bool | None, function: Name) -> DropFunction:
    return DropFunction(function=function, temporary=bool(temporary), if_exists=bool(if_exists))


@renders(DropFunction)
def drop_function_text(s: DropFunction) -> str:
    return dropping("TEMPORARY FUNCTION" if s.temporary else "FUNCTION", s.function, s.if_exists)


@dataclass(frozen=True, kw_only=True)
class ShowFunctions(Statement):
    """``SHOW [USER|SYSTEM|ALL] FUNCTIONS [IN db] [[LIKE] pattern]``."""

    like: str | None = None
    user: bool = False
    system: bool = False
    database: DatabaseName | None = None


@builds("show_functions")
def show_functions(
    scope: Terminal | None, database: DatabaseName | None, pattern: Terminal | ColumnName | None
) -> ShowFunctions:
    like = pattern.last if isinstance(pattern, ColumnName) else pattern and pattern.string
    word = None if scope is None else scope.type
    return ShowFunctions(like=like, user=word == "USER", system=word == "SYSTEM", database=database)


@renders(ShowFunctions)
def show_functions_text(s: ShowFunctions) -> str:
    scope = f"SHOW {'USER ' * s.user}{'SYSTEM ' * s.system}FUNCTIONS"
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
