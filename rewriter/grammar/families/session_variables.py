"""Session variables: DECLARE, SET VARIABLE, DROP TEMPORARY VARIABLE; EXECUTE IMMEDIATE, which sets them, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.errors import ParseError, Span
from rewriter.grammar.lexer import Token, identifier_value
from rewriter.grammar.statements import Statement, builds, reads, renders
from rewriter.grammar.terms import ColumnName, Expression, parse_name
from rewriter.grammar.unparse import listed, name_text, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.statement_parts import Terminal

RULES = r"""
?statement: declare_variable | set_variables | set_variables_by_query | drop_variable

declare_variable: "DECLARE" [or_replace] "VARIABLE"? variable_names [type] [variable_default]
variable_default: ("DEFAULT" | "=") EXPRESSION
variable_names: property_path ("," property_path)*
set_variables: "SET" ("VAR" | "VARIABLE") assignment ("," assignment)*
assignment: property_path "=" EXPRESSION
set_variables_by_query: "SET" ("VAR" | "VARIABLE") "(" variable_names ")" "=" EXPRESSION
drop_variable: "DROP" "TEMPORARY" "VARIABLE" [if_exists] property_path
"""


@dataclass(frozen=True, kw_only=True)
class DeclareVariable(Statement):
    """``DECLARE [OR REPLACE] [VARIABLE] v, … [type] [DEFAULT expression]``."""

    variables: tuple[ColumnName, ...]
    type: str | None = None
    default: Expression | None = None
    or_replace: bool = False


@builds("variable_names")
def variable_names(*names: ColumnName) -> tuple[ColumnName, ...]:
    return names


@builds("variable_default")
def variable_default(value: Terminal) -> Expression:
    return _expression(value)


@builds("declare_variable")
def declare_variable(
    or_replace: bool | None, variables: tuple[ColumnName, ...], type_: str | None, default: Expression | None
) -> DeclareVariable:
    return DeclareVariable(variables=variables, type=type_, default=default, or_replace=bool(or_replace))


def _expression(terminal: Terminal) -> Expression:
    return Expression(terminal.token.text, terminal.span)


@renders(DeclareVariable)
def declare_variable_text(s: DeclareVariable) -> str:
    return words(
        "DECLARE OR REPLACE VARIABLE" if s.or_replace else "DECLARE VARIABLE",
        ", ".join(map(name_text, s.variables)),
        s.type,
        None if s.default is None else f"DEFAULT {s.default.text}",
    )


@dataclass(frozen=True, kw_only=True)
class SetVariables(Statement):
    """``SET VARIABLE v = expression, …``. The expression DEFAULT is that of the declaration."""

    variables: tuple[ColumnName, ...]
    values: tuple[Expression, ...]


@builds("assignment")
def assignment(name: ColumnName, value: Terminal) -> tuple[ColumnName, Expression]:
    return name, _expression(value)


@builds("set_variables")
def set_variables(*assignments: tuple[ColumnName, Expression]) -> SetVariables:
    return SetVariables(
        variables=tuple(name for name, _ in assignments), values=tuple(value for _, value in assignments)
    )


@renders(SetVariables)
def set_variables_text(s: SetVariables) -> str:
    pairs = zip(s.variables, s.values, strict=True)
    return f"SET VARIABLE {', '.join(f'{name_text(name)} = {value.text}' for name, value in pairs)}"


@dataclass(frozen=True, kw_only=True)
class SetVariablesByQuery(Statement):
    """``SET VARIABLE (v, …) = (query)``: the values of the only row, NULL without a row."""

    variables: tuple[ColumnName, ...]
    source: Expression


@builds("set_variables_by_query")
def set_variables_by_query(variables: tuple[ColumnName, ...], query: Terminal) -> SetVariablesByQuery:
    return SetVariablesByQuery(variables=variables, source=_expression(query))


@renders(SetVariablesByQuery)
def set_variables_by_query_text(s: SetVariablesByQuery) -> str:
    return f"SET VARIABLE {listed(map(name_text, s.variables))} = {s.source.text}"


@dataclass(frozen=True, kw_only=True)
class DropVariable(Statement):
    variable: ColumnName
    if_exists: bool = False


@builds("drop_variable")
def drop_variable(if_exists: bool | None, variable: ColumnName) -> DropVariable:
    return DropVariable(variable=variable, if_exists=bool(if_exists))


@renders(DropVariable)
def drop_variable_text(s: DropVariable) -> str:
    return words("DROP TEMPORARY VARIABLE", "IF EXISTS" if s.if_exists else None, name_text(s.variable))


@dataclass(frozen=True, kw_only=True)
class ExecuteImmediate(Statement):
    """``EXECUTE IMMEDIATE text [INTO v, …] [USING expression [AS name], …]``. An argument's name may be ``None``."""

    statement: Expression
    into: tuple[ColumnName, ...] = ()
    arguments: tuple[tuple[Expression, str | None], ...] = ()


@reads("EXECUTE")
def read_execute(text: str, statement_tokens: Sequence[Token]) -> ExecuteImmediate | None:
    if len(statement_tokens) < 3 or not statement_tokens[1].is_word("IMMEDIATE"):
        return None
    clauses = _clauses(statement_tokens)
    (start, end), into, using = clauses
    if start == end:
        raise _syntax_error(statement_tokens, start, "Expected the text of a statement.")
    names = [] if into is None else [_variable(text, statement_tokens, part) for part in _items(statement_tokens, into)]
    arguments = () if using is None else tuple(_arguments(text, statement_tokens, using))
    return ExecuteImmediate(statement=_of(text, statement_tokens, (start, end)), into=tuple(names), arguments=arguments)


#: The first token, and that behind the last.
_Range = tuple[int, int]


def _clauses(tokens: Sequence[Token]) -> tuple[_Range, _Range | None, _Range | None]:
    """Returns where the text, INTO and USING stand."""
    places = {"INTO": len(tokens), "USING": len(tokens)}
    depth = 0
    for index, token in enumerate(tokens):
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if not depth and index > 1 and token.is_word("INTO", "USING") and places[token.upper] == len(tokens):
            places[token.upper] = index
    into, using = places["INTO"], places["USING"]
    if into > using and into < len(tokens):
        raise _syntax_error(tokens, into, "INTO stands before USING.")
    return (
        (2, min(into, using)),
        None if into == len(tokens) else (into + 1, using),
        None if using == len(tokens) else (using + 1, len(tokens)),
    )


def _items(tokens: Sequence[Token], of: _Range) -> list[_Range]:
    """Returns the parts of a list between commas."""
    parts, start, depth = [], of[0], 0
    for index in range(*of):
        depth += tokens[index].is_operator("(", "[") - tokens[index].is_operator(")", "]")
        if not depth and tokens[index].is_operator(","):
            parts.append((start, index))
            start = index + 1
    parts.append((start, of[1]))
    empty = next((part for part in parts if part[0] == part[1]), None)
    if empty is not None:
        raise _syntax_error(tokens, empty[0], "Expected an expression.")
    return parts


def _arguments(text: str, tokens: Sequence[Token], using: _Range) -> list[tuple[Expression, str | None]]:
    first, last = using
    is_in_parentheses = last - first > 2 and tokens[first].is_operator("(") and _closing(tokens, first) == last - 1
    if is_in_parentheses and not tokens[first + 1].is_word("SELECT", "WITH", "VALUES"):
        first, last = first + 1, last - 1
    arguments: list[tuple[Expression, str | None]] = []
    for start, end in _items(tokens, (first, last)):
        if end - start > 2 and tokens[end - 2].is_word("AS"):
            arguments.append((_of(text, tokens, (start, end - 2)), identifier_value(tokens[end - 1])))
        else:
            arguments.append((_of(text, tokens, (start, end)), None))
    return arguments


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for index in range(opening, len(tokens)):
        depth += tokens[index].is_operator("(") - tokens[index].is_operator(")")
        if not depth:
            return index
    return len(tokens)


def _variable(text: str, tokens: Sequence[Token], part: _Range) -> ColumnName:
    expression = _of(text, tokens, part)
    try:
        return ColumnName(parse_name(expression.text).parts, expression.span)
    except ParseError:
        raise _syntax_error(tokens, part[0], "Expected the name of a session variable.") from None


def _of(text: str, tokens: Sequence[Token], part: _Range) -> Expression:
    span = Span(tokens[part[0]].start, tokens[part[1] - 1].end)
    return Expression(text[span.start : span.end], span)


def _syntax_error(tokens: Sequence[Token], index: int, hint: str) -> ParseError:
    token = tokens[index] if index < len(tokens) else None
    near = "end of input" if token is None else f"'{token.shown}'"
    position = Span(tokens[-1].end, tokens[-1].end) if token is None else token.span
    return ParseError(f"Syntax error at or near {near}.", position=position, hint=hint)


@renders(ExecuteImmediate)
def execute_immediate_text(s: ExecuteImmediate) -> str:
    arguments = [f"{value.text}{f' AS {quote_name(name)}' if name else ''}" for value, name in s.arguments]
    return words(
        f"EXECUTE IMMEDIATE {s.statement.text}",
        f"INTO {', '.join(map(name_text, s.into))}" if s.into else None,
        f"USING {', '.join(arguments)}" if arguments else None,
    )
