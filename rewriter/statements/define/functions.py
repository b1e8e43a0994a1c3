"""SQL functions: CREATE and DROP FUNCTION.

A function is the text of an expression or of a query under a name. Its body is checked when it is created, and read
again at each use. The objects and functions that it reads may be dropped; then its use raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.commit.reserved_properties import credentials_refused
from rewriter.catalog.model.changes import Change, CreateObject, DropObject
from rewriter.catalog.model.objects import CATALOG, Column, Function, full_name, parts_of
from rewriter.catalog.model.sql_functions import FunctionParameter, ReturnedColumn, SqlBody
from rewriter.errors import AnalysisError, DataError, Error, IntegrityError, NotSupportedError, ParseError, Span
from rewriter.exec.spark_functions import is_function
from rewriter.grammar.families import functions as s
from rewriter.grammar.families.queries import Select
from rewriter.grammar.lexer import TokenKind, tokens
from rewriter.grammar.terms import Name, Query
from rewriter.planner.model.plan import quote_identifier
from rewriter.planner.scope.expand_views import columns_of_views
from rewriter.planner.scope.sql_functions import Inliner, body_text, is_callable_name, unknown_calls
from rewriter.planner.text.query_text import QueryText
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.define.tables import plain_name
from rewriter.statements.query.select import select
from rewriter.uris import has_credentials

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnDef
    from rewriter.runtime.statement_context import Context

_SESSION = (("session",), ("system", "session"))


@runs(s.CreateFunction, in_transaction=True, without_warehouse=True)
def create_function(statement: s.CreateFunction, context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] FUNCTION … RETURN expression, or RETURNS TABLE … RETURN query.

    The engine reads the expression once, over parameters that are NULL, for no row: it finds what has no meaning, and
    the types of the result where RETURNS is left out. Raises ``ParseError`` and ``AnalysisError`` with positions in the
    statement.
    """
    parameters = _parameters(statement.parameters, statement.function)
    plain_name(Name(statement.function.parts[-1:], statement.function.span), "function")
    _check_name(statement.function)
    body = SqlBody(
        parameters,
        statement.returns or "",
        statement.body.text,
        context.snapshot.current,
        statement.comment,
        None if statement.columns is None else _returned(statement.columns, statement.function.last),
    )
    if statement.temporary:
        return _create_temporary(statement, body, context)
    name = _full_name(statement.function, context)
    existing = context.snapshot.find_function(name)
    if existing is not None and statement.if_not_exists:
        return Result("CREATE FUNCTION")
    if existing is not None and not statement.or_replace:
        raise _already_exists(statement.function, ".".join(f"`{part}`" for part in parts_of(name)))
    function = Function(1, name, "", created=int(context.planning.now) // 1_000_000, sql=body)
    function = _checked(function, statement, context)
    with context.begin() as transaction:
        changes: list[Change] = [] if existing is None else [DropObject(existing)]
        try:
            transaction.commit([*changes, CreateObject(replace(function, id=transaction.allocate_id()))])
        except Error as error:
            raise error.at(statement.function.span) from None
    return Result("CREATE FUNCTION")


def _create_temporary(statement: s.CreateFunction, body: SqlBody, context: Context) -> Result:
    *qualifier, name = statement.function.parts
    if qualifier and tuple(part.lower() for part in qualifier) not in _SESSION:
        raise ParseError(
            f"The temporary function {name} cannot be qualified with {'.'.join(qualifier)}: it belongs to the session.",
            condition="INVALID_TEMP_OBJ_QUALIFIER",
            sqlstate="42602",
            position=statement.function.span,
            object=name,
            hint=f"Write CREATE TEMPORARY FUNCTION {name}.",
        )
    own = context.temporaries.views.functions
    if name.lower() in own and not statement.or_replace:
        raise _already_exists(statement.function, f"`{name}`")
    function = _checked(Function(0, name, "", sql=body), statement, context)
    context.temporaries.views = context.temporaries.views.with_functions({**own, name.lower(): function})
    return Result("CREATE FUNCTION")


@runs(s.DropFunction, in_transaction=True)
def drop_function(statement: s.DropFunction, context: Context) -> Result:
    """DROP [TEMPORARY] FUNCTION. Views and functions that call it stay, and fail when they are used.

    Raises ROUTINE_NOT_FOUND, unless IF EXISTS, and EXPECT_PERSISTENT_FUNCTION_NOT_TEMP without TEMPORARY.
    """
    name, own = statement.function.last, context.temporaries.views.functions
    is_own = name.lower() in own
    if statement.temporary:
        if not is_own and not statement.if_exists:
            raise _not_found(statement.function, f"`{name}`")
        remaining = {key: function for key, function in own.items() if key != name.lower()}
        context.temporaries.views = context.temporaries.views.with_functions(remaining)
        return Result("DROP FUNCTION")
    if is_own and len(statement.function.parts) == 1:
        raise AnalysisError(
            f"{name} is a temporary function. 'DROP FUNCTION' expects a persistent function.",
            condition="EXPECT_PERSISTENT_FUNCTION_NOT_TEMP",
            sqlstate="42809",
            position=statement.function.span,
            object=name,
            hint=f"Write DROP TEMPORARY FUNCTION {name}.",
        )
    full = _full_name(statement.function, context)
    function = context.snapshot.find_function(full)
    if function is None:
        if statement.if_exists:
            return Result("DROP FUNCTION")
        raise _not_found(statement.function, ".".join(f"`{part}`" for part in parts_of(full)))
    with context.begin() as transaction:
        try:
            transaction.commit([DropObject(function)])
        except Error as error:
            raise error.at(statement.function.span) from None
    return Result("DROP FUNCTION")


def _full_name(name: Name, context: Context) -> str:
    *qualifier, last = name.parts
    if len(qualifier) == 2 and qualifier[0].lower() == CATALOG:
        qualifier = qualifier[1:]
    if len(qualifier) > 1 or any("." in part for part in name.parts):
        raise AnalysisError(
            f"{'.'.join(name.parts)} is not the name of a function.",
            condition="REQUIRES_SINGLE_PART_NAMESPACE",
            sqlstate="42K05",
            position=name.span,
            object=last,
            hint="Write the name, or database.name.",
        )
    return full_name(qualifier[0] if qualifier else context.snapshot.current, last)


def _check_name(name: Name) -> None:
    """Refuses names by which no call would reach the function."""
    if not is_function(name.last.lower()) and is_callable_name(name.last):
        return
    raise NotSupportedError(
        f"A SQL function cannot be called {name.last}: that name has a meaning of its own in a call.",
        position=name.span,
        object=name.last,
        hint="Choose another name: in a call, a function of Spark comes before one of the session and of the catalog.",
    )


def _parameters(columns: Sequence[ColumnDef], function: Name) -> tuple[FunctionParameter, ...]:
    names = [column.name.lower() for column in columns]
    for index, column in enumerate(columns):
        if column.name.lower() in names[:index]:
            raise AnalysisError(
                f"Found duplicate name(s) in the parameter list of the user-defined routine {function.last}: "
                f"{column.name}.",
                condition="DUPLICATE_ROUTINE_PARAMETER_NAMES",
                sqlstate="42734",
                position=column.span,
                object=column.name,
                hint="Give each parameter a name of its own.",
            )
        if column.default is None and any(other.default is not None for other in columns[:index]):
            raise AnalysisError(
                f"The parameter {column.name} of {function.last} has no DEFAULT, and follows one that has.",
                condition="USER_DEFINED_FUNCTIONS.NOT_A_VALID_DEFAULT_PARAMETER_POSITION",
                sqlstate="42601",
                position=column.span,
                object=column.name,
                hint="Move it before the parameters with a DEFAULT, or give it one.",
            )
        _check_type(column.type or "", column.span)
    return tuple(FunctionParameter(c.name, c.type or "", c.default, c.comment) for c in columns)


def _returned(columns: Sequence[ColumnDef], function: str) -> tuple[ReturnedColumn, ...]:
    """Returns the columns of RETURNS TABLE. Raises ``AnalysisError`` and ``NotSupportedError`` for what none can be."""
    names = [column.name.lower() for column in columns]
    for index, column in enumerate(columns):
        if names[index] in names[:index]:
            raise _duplicate_column(column.name, function, column.span)
        _check_type(column.type or "", column.span)
    return tuple(ReturnedColumn(column.name, column.type or "", column.comment) for column in columns)


def _duplicate_column(name: str, function: str, position: Span) -> AnalysisError:
    return AnalysisError(
        f"Found duplicate column(s) in the RETURNS clause column list of the user-defined routine {function}: {name}.",
        condition="DUPLICATE_ROUTINE_RETURNS_COLUMNS",
        sqlstate="42711",
        position=position,
        object=name,
        hint="Give each column a name of its own.",
    )


def _check_type(type_: str, position: Span) -> None:
    if "char(" in type_:
        raise NotSupportedError(f"A SQL function has no {type_.upper()}.", position=position, hint="Use STRING.")


def _checked(function: Function, statement: s.CreateFunction, context: Context) -> Function:
    """Returns the function with the type of its result, after its body and its defaults were read as callers will."""
    assert function.sql is not None
    _check_type(function.sql.returns, statement.function.span)
    for text, span in (
        (function.sql.expression, statement.body.span),
        *((column.default or "", column.default_span) for column in statement.parameters),
    ):
        _check_words(text, span, function)
    try:
        if not statement.temporary:
            _check_permanent(function, context)
        columns = columns_of_views(context.snapshot)
        inliner = Inliner(context.snapshot, columns, function)
        nulls = [f"CAST(NULL AS {parameter.type})" for parameter in function.sql.parameters]
        call = inliner.called(function, nulls)
        unknown = next(unknown_calls(QueryText(f"SELECT {call}")), None)
        if unknown is not None:
            raise AnalysisError(
                f"Cannot resolve routine {unknown}, which the body of the function calls.",
                condition="UNRESOLVED_ROUTINE",
                sqlstate="42883",
                object=unknown,
                hint="SHOW FUNCTIONS lists all.",
            )
        defaults = inliner.defaults(function)
    except Error as error:
        raise error.at(statement.body.span) from None
    for default, column in zip(defaults, statement.parameters, strict=True):
        if default is not None:
            _type_of(f"CAST({default} AS {column.type})", column.default_span, function, context)
    if function.sql.columns is not None:
        return _with_columns(function, nulls, statement, context)
    type_ = _type_of(call, statement.body.span, function, context)
    if function.sql.returns:
        return function
    if type_ is None or type_ == "void":
        raise NotSupportedError(
            "The type of the result is not known.", position=statement.body.span, hint="Write RETURNS and the type."
        )
    return replace(function, sql=replace(function.sql, returns=type_))


def _with_columns(function: Function, nulls: Sequence[str], statement: s.CreateFunction, context: Context) -> Function:
    """Returns a function with its columns, those of its query where RETURNS TABLE names none."""
    body, span = function.sql, statement.body.span
    assert body is not None

    def columns_of(columns: tuple[ReturnedColumn, ...]) -> tuple[Column, ...] | None:
        candidate = replace(function, sql=replace(body, columns=columns))
        inliner = Inliner(context.snapshot, columns_of_views(context.snapshot), candidate)
        relation = f"{inliner.called(candidate, nulls)} AS {quote_identifier(statement.function.last)}"
        return _columns_of(f"SELECT * FROM {relation} WHERE FALSE", span, function, context)

    found = columns_of(())
    if not body.columns:
        if found is None or any(column.type == "void" for column in found):
            raise NotSupportedError(
                "The types of the columns are not known.", position=span, hint="Write RETURNS TABLE (a INT, …)."
            )
        _check_named(body, statement)
        names = [column.name.lower() for column in found]
        duplicate = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if duplicate is not None:
            raise _duplicate_column(duplicate, statement.function.last, span)
        return replace(function, sql=replace(body, columns=tuple(ReturnedColumn(c.name, c.type) for c in found)))
    if found is not None and len(found) != len(body.columns):
        raise AnalysisError(
            "User defined function is invalid: The number of columns produced by the RETURN clause (num: "
            f"{len(found)}) does not match the number of column names specified by the RETURNS clause (num: "
            f"{len(body.columns)}) of {statement.function.last}.",
            condition="USER_DEFINED_FUNCTIONS.RETURN_COLUMN_COUNT_MISMATCH",
            sqlstate="42601",
            position=span,
            object=statement.function.last,
            hint="List a column for each one of the query.",
        )
    with suppress(DataError):  # A constant of the query, which fails where it is computed.
        columns_of(body.columns)
    return function


def _check_named(body: SqlBody, statement: s.CreateFunction) -> None:
    query = body_text(body).tree.expressions[0]
    while isinstance(query, exp.Subquery | exp.Paren | exp.SetOperation):
        query = query.this
    if all(isinstance(item, exp.Alias | exp.Column | exp.Star | exp.Dot) for item in query.expressions):
        return
    raise AnalysisError(
        "User defined function is invalid: The relation returned by the query in the CREATE FUNCTION statement for "
        f"{statement.function.last} with RETURNS TABLE clause lacks explicit names for one or more output columns.",
        condition="USER_DEFINED_FUNCTIONS.SQL_TABLE_UDF_MISSING_COLUMN_NAMES",
        sqlstate="42601",
        position=statement.body.span,
        object=statement.function.last,
        hint="Write an alias for each expression, or RETURNS TABLE (a INT, …).",
    )


def _check_words(text: str, span: Span, function: Function) -> None:
    for token in tokens(text):
        if token.kind is TokenKind.PARAMETER:
            raise NotSupportedError(
                "Parameters are not allowed in the body of a function.",
                condition="UNSUPPORTED_FEATURE.PARAMETER_MARKER_IN_UNEXPECTED_STATEMENT",
                sqlstate="0A000",
                position=token.span.shifted(span.start),
                hint="Declare a parameter of the function, and pass the value.",
            )
        if has_credentials(token.text):
            raise credentials_refused(function.name).at(token.span.shifted(span.start))


def _check_permanent(function: Function, context: Context) -> None:
    """Refuses temporary functions and variables in the body of a permanent function, which outlives them."""
    assert function.sql is not None
    names = {parameter.name.lower() for parameter in function.sql.parameters}
    text = body_text(function.sql)
    if text.unread() is not None:
        return  # The inliner refuses it.
    inliner = Inliner(context.snapshot, columns_of_views(context.snapshot))
    for _, name, kind in inliner.temporary_names(text, context.snapshot.current):
        if kind == "FUNCTION" or name.lower() not in names:
            raise invalid_temporary(parts_of(function.name)[1], "FUNCTION", name, kind)


def invalid_temporary(object_: str, object_kind: str, name: str, kind: str) -> AnalysisError:
    """Returns the error for a temporary object in one that outlives it."""
    return AnalysisError(
        f"Cannot create the persistent object {object_} of the type {object_kind} because it references to the "
        f"temporary object {name} of the type {kind}.",
        condition="INVALID_TEMP_OBJ_REFERENCE",
        sqlstate="42K0F",
        object=name,
        hint=f"Create the temporary object permanently, or write CREATE TEMPORARY {object_kind}.",
    )


def _type_of(expression: str, position: Span, function: Function, context: Context) -> str | None:
    """Returns the type of an expression without columns; ``None`` if the engine does not read such ones. Raises the
    errors of the engine at ``position``.
    """
    text = f"SELECT {expression} AS {quote_identifier('value')} WHERE FALSE"
    columns = _columns_of(text, position, function, context)
    return columns[0].type if columns else None


def _columns_of(text: str, position: Span, function: Function, context: Context) -> tuple[Column, ...] | None:
    """Returns the columns of a query; ``None`` if the engine does not run it, and the function declares its types."""
    try:
        result = select(Select(query=Query(text)), context)
        assert result.stream is not None
        result.stream.close()
        return tuple(result.columns or ())
    except NotSupportedError as error:
        is_declared = function.sql is not None and bool(function.sql.returns or function.sql.columns)
        if error.condition == "DUCKDB_UNSUPPORTED" and is_declared:
            return None
        error.position = position
        raise
    except Error as error:
        error.position = position
        raise


def _already_exists(name: Name, shown: str) -> IntegrityError:
    return IntegrityError(
        f"Cannot create the routine {shown} because a routine of that name already exists.",
        condition="ROUTINE_ALREADY_EXISTS",
        sqlstate="42723",
        position=name.span,
        object=name.last,
        hint="Choose a different name, or write CREATE OR REPLACE FUNCTION.",
    )


def _not_found(name: Name, shown: str) -> AnalysisError:
    return AnalysisError(
        f"The routine {shown} cannot be found.",
        condition="ROUTINE_NOT_FOUND",
        sqlstate="42883",
        position=name.span,
        object=name.last,
        hint="SHOW USER FUNCTIONS lists all; DROP FUNCTION IF EXISTS drops one that may be missing.",
    )
