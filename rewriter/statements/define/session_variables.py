"""Session variables: DECLARE, SET VARIABLE and DROP TEMPORARY VARIABLE; the text of EXECUTE IMMEDIATE.

A variable is a constant: its value is computed once, by the session's engine, when the variable is set. Queries get it
as a literal of its type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewriter.catalog.model.sql_functions import SessionVariable
from rewriter.errors import (
    AnalysisError,
    Error,
    NotSupportedError,
    OperationalError,
    ParseError,
    ProgrammingError,
    Span,
)
from rewriter.grammar.families import session_variables as s
from rewriter.grammar.families.queries import Select
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.grammar.terms import Expression
from rewriter.planner.text.literals import literal_name, typed_literal
from rewriter.runtime.result import Result
from rewriter.runtime.statement_runners import runs
from rewriter.statements.query.inlined_names import inlined_query
from rewriter.statements.query.select import select

if TYPE_CHECKING:
    from rewriter.grammar.terms import ColumnName
    from rewriter.runtime.statement_context import Context

_SESSION = ((), ("session",), ("system", "session"))


@runs(s.DeclareVariable, in_transaction=True, without_warehouse=True)
def declare_variable(statement: s.DeclareVariable, context: Context) -> Result:
    """DECLARE [OR REPLACE] [VARIABLE]. Without DEFAULT the value is NULL; without a type, the type is that of DEFAULT.

    Raises VARIABLE_ALREADY_EXISTS 42723, UNRESOLVED_VARIABLE 42883 for another schema than ``session``, and the errors
    of the default.
    """
    variables = context.temporaries.views.variables
    names = [_name(name) for name in statement.variables]
    for index, (name, typed) in enumerate(zip(names, statement.variables, strict=True)):
        if name.lower() in (other.lower() for other in names[:index]):
            raise _assigned_twice(typed)
        if name.lower() in variables and not statement.or_replace:
            raise AnalysisError(
                f"Cannot create the variable system.session.{name} because it already exists.",
                condition="VARIABLE_ALREADY_EXISTS",
                sqlstate="42723",
                position=typed.span,
                object=name,
                hint="Choose a different name, or write DECLARE OR REPLACE.",
            )
    if statement.type is None and statement.default is None:
        raise ParseError(
            "A variable needs a type or a DEFAULT.",
            condition="INVALID_SQL_SYNTAX.VARIABLE_TYPE_OR_DEFAULT_REQUIRED",
            sqlstate="42000",
            position=statement.variables[0].span,
            hint="Write DECLARE name STRING, or DECLARE name = 'text'.",
        )
    default = statement.default or Expression("NULL", statement.variables[0].span)
    subquery = next((token for token in tokens(default.text) if token.is_word("SELECT")), None)
    if subquery is not None:
        raise AnalysisError(
            f"The DEFAULT value of the variable {names[0]} contains a subquery.",
            condition="INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION",
            sqlstate="42623",
            position=default.span,
            object=names[0],
            hint="Declare the variable, then write SET VARIABLE name = (SELECT …).",
        )
    (value,) = _computed([default], [statement.type], context)
    type_, constant = value
    declared = {name.lower(): _variable(name, type_, constant, default.text, default.span) for name in names}
    context.temporaries.views = context.temporaries.views.with_variables({**variables, **declared})
    return Result("DECLARE VARIABLE")


@runs(s.SetVariables, in_transaction=True, without_warehouse=True)
def set_variables(statement: s.SetVariables, context: Context) -> Result:
    """SET VARIABLE v = e, …. Raises as ``set_to_row`` does, and ``NotSupportedError`` for an expression that names a
    variable which the same statement has set before it: in Spark, that means the expression, before it is cast.
    """
    variables = _known(statement.variables, context)
    _check_independent(statement)
    values = [
        Expression(variable.default, value.span) if value.text.upper() == "DEFAULT" else value
        for variable, value in zip(variables, statement.values, strict=True)
    ]
    computed = _computed(values, [variable.type for variable in variables], context)
    _store(
        [
            _variable(variable.name, type_, constant, variable.default, value.span)
            for variable, (type_, constant), value in zip(variables, computed, values, strict=True)
        ],
        context,
    )
    return Result("SET VARIABLE")


def _check_independent(statement: s.SetVariables) -> None:
    for index, value in enumerate(statement.values):
        earlier = {name.last.lower() for name in statement.variables[:index]}
        for token in tokens(value.text) if earlier else ():
            if token.kind in (TokenKind.WORD, TokenKind.IDENTIFIER) and identifier_value(token).lower() in earlier:
                raise NotSupportedError(
                    f"{identifier_value(token)} is set by the same SET VARIABLE.",
                    position=token.span.shifted(value.span.start),
                    object=identifier_value(token),
                    hint="Write a SET VARIABLE for each.",
                )


@runs(s.SetVariablesByQuery, in_transaction=True, without_warehouse=True)
def set_variables_by_query(statement: s.SetVariablesByQuery, context: Context) -> Result:
    """SET VARIABLE (v, …) = (query). Raises as ``set_to_row`` does."""
    query = statement.source
    read = tokens(query.text)
    if not read or not read[0].is_operator("(") or not read[-1].is_operator(")"):
        raise ParseError(
            "SET VARIABLE (…) takes a query in parentheses.",
            position=query.span,
            hint="Write SET VARIABLE (a, b) = (SELECT …).",
        )
    _known(statement.variables, context)
    try:
        result = select(Select(query=inlined_query(query.text[1:-1], context.snapshot)), context)
    except Error as error:
        error.position = query.span
        raise
    return set_to_row(statement.variables, result, query.span, context)


def set_to_row(names: Sequence[ColumnName], result: Result, position: Span, context: Context) -> Result:
    """Sets variables to the only row of a query, cast to their types; to NULL where it has no row.

    Raises UNRESOLVED_VARIABLE 42883, DUPLICATE_ASSIGNMENTS 42701, ASSIGNMENT_ARITY_MISMATCH 42802,
    ROW_SUBQUERY_TOO_MANY_ROWS 21000, and the errors of the casts.
    """
    variables = _known(names, context)
    columns = result.columns or ()
    if len(columns) != len(variables):
        result.close()
        raise AnalysisError(
            f"The number of columns or variables assigned or aliased: {len(variables)} does not match the number of "
            f"source expressions: {len(columns)}.",
            condition="ASSIGNMENT_ARITY_MISMATCH",
            sqlstate="42802",
            position=position,
            hint="Select one column for each variable.",
        )
    rows = result.fetch(2)
    result.close()
    if len(rows) > 1:
        raise OperationalError(
            "More than one row returned by a subquery used as a row.",
            condition="ROW_SUBQUERY_TOO_MANY_ROWS",
            sqlstate="21000",
            position=position,
            hint="Aggregate the rows, or add LIMIT 1.",
        )
    row: Sequence[Any] = rows[0] if rows else [None] * len(columns)
    values = [
        Expression("NULL" if value is None else _literal(column.type, value, position)[0], position)
        for column, value in zip(columns, row, strict=True)
    ]
    computed = _computed(values, [variable.type for variable in variables], context)
    _store(
        [
            _variable(variable.name, type_, constant, variable.default, position)
            for variable, (type_, constant) in zip(variables, computed, strict=True)
        ],
        context,
    )
    return Result("SET VARIABLE", warnings=result.warnings)


@runs(s.DropVariable, in_transaction=True, without_warehouse=True)
def drop_variable(statement: s.DropVariable, context: Context) -> Result:
    """DROP TEMPORARY VARIABLE. Raises VARIABLE_NOT_FOUND 42883, unless IF EXISTS."""
    name, variables = _name(statement.variable), context.temporaries.views.variables
    if name.lower() not in variables and not statement.if_exists:
        raise AnalysisError(
            f"The variable system.session.{name} cannot be found.",
            condition="VARIABLE_NOT_FOUND",
            sqlstate="42883",
            position=statement.variable.span,
            object=name,
            hint="Write DROP TEMPORARY VARIABLE IF EXISTS for one that may be missing.",
        )
    remaining = {key: variable for key, variable in variables.items() if key != name.lower()}
    context.temporaries.views = context.temporaries.views.with_variables(remaining)
    return Result("DROP VARIABLE")


def _computed_literals(expressions: Sequence[Expression], context: Context) -> list[tuple[str, str, object]]:
    """Returns the type of each expression, its value as a literal of that type, and the value."""
    computed = _computed(expressions, [None] * len(expressions), context)
    return [
        (type_, _literal(type_, value, expression.span)[0], value)
        for (type_, value), expression in zip(computed, expressions, strict=True)
    ]


def _computed(
    expressions: Sequence[Expression], types: Sequence[str | None], context: Context
) -> list[tuple[str, object]]:
    """Returns the types and the values of expressions, which the engine computes at once."""
    items = [
        f"({expression.text})" if type_ is None else f"CAST(({expression.text}) AS {type_})"
        for expression, type_ in zip(expressions, types, strict=True)
    ]
    position = Span(expressions[0].span.start, expressions[-1].span.end)
    for expression in expressions:
        if tokens(expression.text)[0].is_word("SELECT", "WITH", "VALUES", "FROM", "TABLE"):
            raise ParseError(
                "A query is no value.", position=expression.span, hint="Put it into parentheses: (SELECT …)."
            )
    try:
        query = inlined_query(
            f"SELECT {', '.join(f'{item} AS c{n}' for n, item in enumerate(items))}", context.snapshot
        )
        result = select(Select(query=query), context)
        rows = result.fetch(2)
    except Error as error:
        error.position = position
        raise
    if len(rows) != 1 or result.columns is None:
        raise NotSupportedError(
            "An expression of a variable returns one value.", position=position, hint="Write SELECT … into parentheses."
        )
    return [(type_ or column.type, value) for type_, column, value in zip(types, result.columns, rows[0], strict=True)]


def _variable(name: str, type_: str, value: object, default: str, position: Span) -> SessionVariable:
    if type_ == "void":
        raise NotSupportedError("A variable has a type.", position=position, hint=f"Write DECLARE {name} type.")
    literal, shown = _literal(type_, value, position)
    return SessionVariable(name, type_, literal, shown, default)


def _literal(type_: str, value: object, position: Span) -> tuple[str, str]:
    """Returns a value as a literal, and as Spark shows it in names of columns."""
    try:
        return typed_literal(type_, value), literal_name(type_, value)
    except Error as error:
        raise error.at(position) from None


def _name(name: ColumnName) -> str:
    """Returns the plain name of a variable. Raises UNRESOLVED_VARIABLE for one of another schema."""
    if tuple(part.lower() for part in name.parts[:-1]) not in _SESSION:
        raise _unresolved(name)
    return name.last


def _known(names: Sequence[ColumnName], context: Context) -> list[SessionVariable]:
    variables = context.temporaries.views.variables
    keys = [_name(name).lower() for name in names]
    for index, (key, name) in enumerate(zip(keys, names, strict=True)):
        if key not in variables:
            raise _unresolved(name)
        if key in keys[:index]:
            raise _assigned_twice(name)
    return [variables[key] for key in keys]


def _store(changed: Sequence[SessionVariable], context: Context) -> None:
    views = context.temporaries.views
    by_name = {variable.name.lower(): variable for variable in changed}
    context.temporaries.views = views.with_variables({**views.variables, **by_name})


def _unresolved(name: ColumnName) -> AnalysisError:
    shown = ".".join(name.parts)
    return AnalysisError(
        f"Cannot resolve variable {shown} on search path system.session.",
        condition="UNRESOLVED_VARIABLE",
        sqlstate="42883",
        position=name.span,
        object=shown,
        hint=f"DECLARE VARIABLE {name.last} declares it.",
    )


def _assigned_twice(name: ColumnName) -> ProgrammingError:
    return ProgrammingError(
        f"The columns or variables {name.last} appear more than once as assignment targets.",
        condition="DUPLICATE_ASSIGNMENTS",
        sqlstate="42701",
        position=name.span,
        object=name.last,
        hint="Name each once.",
    )


# EXECUTE IMMEDIATE: the text of a statement is computed, and its parameters become literals of their values' types.


def immediate_text(statement: s.ExecuteImmediate, context: Context) -> str:
    """Returns the statement that EXECUTE IMMEDIATE executes, with literals in place of its parameters.

    Raises ``AnalysisError`` INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE 42K09, NULL_QUERY_STRING_EXECUTE_IMMEDIATE
    22004 and UNSUPPORTED_EXPR_FOR_PARAMETER 42K0E, ``ProgrammingError`` UNBOUND_SQL_PARAMETER 42P02,
    INVALID_QUERY_MIXED_QUERY_PARAMETERS 42613 and ALL_PARAMETERS_MUST_BE_NAMED 07001.
    """
    position = statement.statement.span
    ((type_, _, text),) = _computed_literals([statement.statement], context)
    if type_ != "string":
        raise AnalysisError(
            f"Expression type must be string type but got {type_.upper()}.",
            condition="INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE",
            sqlstate="42K09",
            position=position,
            hint="Write the text of a statement, or a variable that has it.",
        )
    if not isinstance(text, str):
        raise AnalysisError(
            "The text of EXECUTE IMMEDIATE is NULL.",
            condition="NULL_QUERY_STRING_EXECUTE_IMMEDIATE",
            sqlstate="22004",
            position=position,
            hint="Set the variable first.",
        )
    for expression, _ in statement.arguments:
        if any(token.is_word("SELECT") for token in tokens(expression.text)):
            raise AnalysisError(
                "A query parameter contains unsupported expression: parameters are constants.",
                condition="UNSUPPORTED_EXPR_FOR_PARAMETER",
                sqlstate="42K0E",
                position=expression.span,
                hint="SET VARIABLE v = (SELECT …), and pass the variable.",
            )
    computed = (
        _computed_literals([expression for expression, _ in statement.arguments], context)
        if statement.arguments
        else []
    )
    literals = [literal for _, literal, _ in computed]
    placeholders = [token for token in tokens(text) if token.kind is TokenKind.PARAMETER]
    marks = [token for token in placeholders if token.text == "?"]
    if marks and len(marks) < len(placeholders):
        raise ProgrammingError(
            "Parameterized query must either use positional, or named parameters, but not both.",
            condition="INVALID_QUERY_MIXED_QUERY_PARAMETERS",
            sqlstate="42613",
            position=position,
            hint="Give all parameters names, or none.",
        )
    values: list[str] = []
    if marks:
        if len(marks) > len(literals):
            raise _unbound("?", position)
        values = literals[: len(marks)]
    elif placeholders:
        by_name = _by_name(statement, literals)
        for token in placeholders:
            if token.text[1:] not in by_name:
                raise _unbound(token.text, position)
            values.append(by_name[token.text[1:]])
    return _with_literals(text, placeholders, values)


def _by_name(statement: s.ExecuteImmediate, literals: Sequence[str]) -> Mapping[str, str]:
    """Returns the literals by name; a variable that stands alone has its own name."""
    by_name: dict[str, str] = {}
    for (expression, name), literal in zip(statement.arguments, literals, strict=True):
        read = tokens(expression.text)
        if name is None and len(read) == 1 and read[0].kind in (TokenKind.WORD, TokenKind.IDENTIFIER):
            name = identifier_value(read[0])
        if name is None:
            raise ProgrammingError(
                "Using name parameterized queries requires all parameters to be named.",
                condition="ALL_PARAMETERS_MUST_BE_NAMED",
                sqlstate="07001",
                position=expression.span,
                hint="Write USING expression AS name.",
            )
        by_name[name] = literal
    return by_name


def _with_literals(text: str, placeholders: Sequence[Token], values: Sequence[str]) -> str:
    parts, position = [], 0
    for token, value in zip(placeholders, values, strict=True):
        parts += [text[position : token.start], f" {value} "]
        position = token.end
    return "".join([*parts, text[position:]])


def _unbound(name: str, position: Span) -> ProgrammingError:
    return ProgrammingError(
        f"Found the unbound parameter: {name}.",
        condition="UNBOUND_SQL_PARAMETER",
        sqlstate="42P02",
        position=position,
        object=name,
        hint="Pass its value: EXECUTE IMMEDIATE text USING value AS name.",
    )


def into_without_query(position: Span) -> ProgrammingError:
    """Returns the error for INTO behind a statement that returns no rows."""
    return ProgrammingError(
        "The INTO clause of EXECUTE IMMEDIATE is only valid for queries.",
        condition="INVALID_STATEMENT_FOR_EXECUTE_INTO",
        sqlstate="07501",
        position=position,
        hint="Leave INTO out.",
    )


def nested_too_deeply(position: Span) -> NotSupportedError:
    """Returns the error for an EXECUTE IMMEDIATE that executes itself."""
    return NotSupportedError(
        "EXECUTE IMMEDIATE is nested too deeply.", position=position, hint="Does the text execute itself?"
    )
