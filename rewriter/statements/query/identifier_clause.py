"""``IDENTIFIER('name')``: the name that a constant text spells, put into the statement before anything reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError, Error, ParseError
from rewriter.exec.spark_functions import is_function
from rewriter.grammar.lexer import Token, TokenKind, identifier_value, tokens
from rewriter.grammar.terms import parse_name
from rewriter.runtime.parameters import BoundText

if TYPE_CHECKING:
    from rewriter.catalog.model.sql_functions import SessionVariable
    from rewriter.errors import Span

_NAMES = (TokenKind.WORD, TokenKind.IDENTIFIER)


def with_names(
    text: str, parameters: Mapping[str, object], variables: Mapping[str, SessionVariable]
) -> BoundText | None:
    """Returns the statement with names in place of ``IDENTIFIER(constant)``; ``None`` where there is none. The constant
    may have parameters and session variables. The name is in backquotes: it adds nothing but its own parts.

    Raises ``AnalysisError`` NOT_A_CONSTANT_STRING 42601, and ``ParseError`` for a text that is no name.
    """
    if "IDENTIFIER" not in text.upper():
        return None
    lexed = tokens(text)
    parts: list[str] = []
    edits: list[tuple[Span, int]] = []
    position = 0
    for index, token in enumerate(lexed):
        if token.start < position or not token.is_word("IDENTIFIER") or not _is_clause(lexed, index):
            continue
        closing = _closing(lexed, index + 1)
        if closing is None:
            break  # The parser tells what is missing.
        span = token.span._replace(end=lexed[closing].end)
        argument = lexed[index + 2 : closing]
        try:
            name = parse_name(_constant(text, argument, parameters, variables))
        except Error as error:
            error.position = span
            raise
        following = lexed[closing + 1] if closing + 1 < len(lexed) else None
        is_call = following is not None and following.is_operator("(") and is_function(name.last.lower())
        made = (
            name.last if is_call and len(name.parts) == 1 else ".".join(f"`{p.replace('`', '``')}`" for p in name.parts)
        )
        parts += [text[position : span.start], made]
        edits.append((span, len(made)))
        position = span.end
    return BoundText("".join([*parts, text[position:]]), {}, tuple(edits)) if edits else None


def _is_clause(lexed: Sequence[Token], index: int) -> bool:
    """Tests whether IDENTIFIER begins the clause, and is no name with columns: ``WITH identifier(a) AS``."""
    after = lexed[index + 1 : index + 4]
    if not after or not after[0].is_operator("(") or (index and lexed[index - 1].is_operator(".")):
        return False
    is_declared = index > 0 and lexed[index - 1].is_word("WITH", "AS")
    return not (is_declared and len(after) == 3 and after[1].kind in _NAMES and after[2].is_operator(",", ")"))


def _closing(lexed: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for index in range(opening, len(lexed)):
        depth += lexed[index].is_operator("(") - lexed[index].is_operator(")")
        if not depth:
            return index
    return None


def _constant(
    text: str, argument: Sequence[Token], parameters: Mapping[str, object], variables: Mapping[str, SessionVariable]
) -> str:
    from rewriter.exec.duckdb.evaluate_predicate import constant_value

    shown = text[argument[0].start : argument[-1].end] if argument else ""
    try:
        type_, value = constant_value(_with_values(text, argument, variables), parameters)
    except Error as error:
        raise _not_constant("NOT_CONSTANT", shown, "it depends on more than constants") from error
    if type_.name != "string":
        raise _not_constant("WRONG_TYPE", shown, f"its type is {type_.shown}")
    if not isinstance(value, str):
        raise _not_constant("NULL", shown, "it is NULL")
    if not value.strip():
        raise ParseError(
            "IDENTIFIER of an empty text names nothing.", condition="PARSE_EMPTY_STATEMENT", sqlstate="42617",
            hint="Write a name, or database.name.",
        )  # fmt: skip
    return value


def _with_values(text: str, argument: Sequence[Token], variables: Mapping[str, SessionVariable]) -> str:
    """Returns the argument with literals in place of session variables. There are no columns beside them."""
    if not argument:
        return "NULL"
    parts, position, index = [], argument[0].start, 0
    while index < len(argument):
        token, start = argument[index], argument[index].start
        path = [identifier_value(token).lower()] if token.kind in _NAMES else []
        while path and index + 2 < len(argument) and argument[index + 1].is_operator("."):
            index += 2
            path.append(identifier_value(argument[index]).lower())
        is_call = index + 1 < len(argument) and argument[index + 1].is_operator("(")
        is_own = tuple(path[:-1]) in ((), ("session",), ("system", "session"))
        if path and not is_call and is_own and path[-1] in variables:
            parts += [text[position:start], variables[path[-1]].value]
            position = argument[index].end
        index += 1
    return "".join([*parts, text[position : argument[-1].end]])


def _not_constant(kind: str, shown: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"The expression {shown} used for IDENTIFIER must be a constant STRING which is NOT NULL, and {reason}.",
        condition=f"NOT_A_CONSTANT_STRING.{kind}",
        sqlstate="42601",
        object=shown,
        hint="Write a text, a parameter :name or a session variable.",
    )
