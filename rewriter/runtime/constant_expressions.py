"""Constant expressions of a statement as literals: ``DROP PARTITION (dt < current_date - INTERVAL 90 DAYS)``.

Each is computed once, in this process and alike for both engines, at the statement's present moment. CURRENT_DATE is a
date of UTC, and of the zone if the statement is about a fact with a zone, or about a table of one. There, other dates
and texts of the present moment are refused, because they would be dates and texts of UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar, cast

from rewriter.catalog.model.objects import Fact
from rewriter.errors import AnalysisError, EngineError, Error, InternalError, NotSupportedError, ParseError, Span
from rewriter.exec.sql_types import INTEGERS
from rewriter.grammar.lexer import Token, TokenKind, tokens
from rewriter.grammar.statements import Statement
from rewriter.grammar.terms import Literal, Name, Query
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.statement_context import Context, single
from rewriter.timeline.calendars import UTC as UTC_CALENDAR
from rewriter.timeline.calendars import Calendar

_S = TypeVar("_S", bound=Statement)
_TODAY, _NOW = ("CURRENT_DATE", "CURDATE"), ("CURRENT_TIMESTAMP", "NOW")
#: The words of an instant that means the same in every zone.
_ZONELESS = (*_NOW, "INTERVAL", "HOUR", "HOURS", "MINUTE", "MINUTES", "SECOND", "SECONDS")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def compute_constants(statement: _S, context: Context) -> _S:
    """Returns the statement with the value of each constant expression in its place, at the expression's span.

    Raises, at the expression, ``NotSupportedError`` for one that is not evaluated alike on both engines, or depends on
    a zone; ``AnalysisError`` NOT_A_CONSTANT for one that names a column, is NULL, or has no type that a partition
    column can have; and the errors of its evaluation. O(size of the statement), plus 2 ms for each expression.
    """
    if not any(literal.kind == "constant" for literal in _literals(statement)):
        return statement
    return cast(_S, _computed(statement, _Evaluation(context, UTC_CALENDAR)))


def _literals(value: Any) -> Iterator[Literal]:
    if isinstance(value, Literal):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _literals(item)
    elif isinstance(value, Query | Token | Span):
        return  # Their constants are the engine's.
    elif is_dataclass(value):
        for item in vars(value).values():
            yield from _literals(item)


def _computed(value: Any, evaluation: _Evaluation) -> Any:
    if isinstance(value, Literal):
        return evaluation.literal(value) if value.kind == "constant" else value
    if isinstance(value, tuple):
        return tuple(_computed(item, evaluation) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    evaluation = evaluation.about(value)
    parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    changed = {name: _computed(part, evaluation) for name, part in parts.items() if any(_literals(part))}
    return replace(value, **changed) if changed else value


@dataclass(frozen=True)
class _Evaluation:
    """The moment and the parameters of a statement, and the calendar of the fact that it is about."""

    context: Context
    calendar: Calendar

    def about(self, part: object) -> _Evaluation:
        """Returns the evaluation of the constants in a part of a statement, which may name a fact or a table."""
        snapshot = self.context.snapshot
        fact_name, table_name = getattr(part, "fact", None), getattr(part, "table", None)
        fact: object = None
        if isinstance(fact_name, Name):
            fact = snapshot.named(single(fact_name))
        elif isinstance(table_name, Name):
            fact = snapshot.fact_using(single(table_name))
        return replace(self, calendar=fact.calendar) if isinstance(fact, Fact) else self

    def literal(self, constant: Literal) -> Literal:
        """Returns the value of a constant expression as a literal."""
        expression_tokens = tokens(constant.text)
        parameters = self.context.parameters
        parameter = _single_parameter(expression_tokens, parameters)
        try:
            if parameter is not None:
                self._check_naive(parameters[parameter])
                kind, text = _literal_of(parameters[parameter])
            else:
                kind, text = self._evaluated(constant.text, expression_tokens)
        except Error as error:
            raise error.at(constant.span) from None
        return replace(constant, kind=kind, text=text)

    def _evaluated(self, expression: str, expression_tokens: tuple[Token, ...]) -> tuple[str, str]:
        from rewriter.exec.duckdb.evaluate_predicate import constant_value

        now = _EPOCH + timedelta(microseconds=int(self.context.planning.now))
        wall = _EPOCH + timedelta(microseconds=self.calendar.wall(int(self.context.planning.now)))
        clock = {"rewriter_now": now, "rewriter_today": wall.date()}
        text = _with_clock(expression, expression_tokens)
        try:
            type_, value = constant_value(text, {**self.context.parameters, **clock})
        except NotSupportedError as error:
            raise _not_evaluated(expression, error) from None
        except EngineError as error:
            raise _no_constant(expression, error.message) from None
        except ParseError:
            raise _no_constant(expression, "it is no expression of Spark SQL") from None
        if not self.calendar.is_utc:
            self._check_zone(expression, expression_tokens, value)
        if type_.name not in (*INTEGERS, "decimal", "double", "float", "string", "boolean", "date", "timestamp"):
            raise _no_constant(expression, "NULL has no type" if value is None else f"it is of the type {type_.shown}")
        if value is None:
            raise _no_constant(expression, "it is NULL")
        if type_.name in ("date", "timestamp") and not isinstance(value, date):
            raise _no_constant(expression, "it is outside the years 1 to 9999")
        return _literal_of(value)

    def _check_naive(self, value: object) -> None:
        if not self.calendar.is_utc and isinstance(value, datetime) and value.tzinfo is None:
            raise NotSupportedError(
                f"{value} has no zone, and the fact has the zone {self.calendar.zone}.",
                condition="ZONED_TIME",
                hint="Pass a datetime with a zone, or a str or a date, which are read in the fact's zone.",
            )

    def _check_zone(self, expression: str, expression_tokens: tuple[Token, ...], value: object) -> None:
        """Raises where a value would be read off the clock of UTC."""
        parameters = self.context.parameters
        names = [token.text[1:] for token in expression_tokens if token.kind is TokenKind.PARAMETER]
        has_instant = any(token.is_word(*_NOW) for token in expression_tokens) or any(
            isinstance(parameters[name], datetime) for name in names
        )
        words = [token for token in expression_tokens if token.kind is TokenKind.WORD]
        is_instant = isinstance(value, datetime) and all(word.is_word(*_ZONELESS) for word in words)
        if is_instant if has_instant else not isinstance(value, datetime):
            return
        raise NotSupportedError(
            f"{expression} depends on the time zone, which is {self.calendar.zone} here.",
            condition="ZONED_TIME",
            object=expression,
            hint="Use CURRENT_DATE, which is the zone's date, or write the value itself.",
        )


def constant_instant(expression: str, context: Context) -> int:
    """Returns the instant that an expression without columns has as a TIMESTAMP, in microseconds since 1970, at the
    statement's present moment. Raises ``AnalysisError`` INVALID_TIME_TRAVEL_TIMESTAMP_EXPR for any other expression.
    """
    from rewriter.exec.duckdb.evaluate_predicate import constant_value

    now = _EPOCH + timedelta(microseconds=int(context.planning.now))
    clock = {"rewriter_now": now, "rewriter_today": now.date()}
    text = f"CAST(({_with_clock(expression, tokens(expression))}) AS TIMESTAMP)"
    reason = "it is NULL, or outside the years 1 to 9999"
    try:
        _, value = constant_value(text, {**context.parameters, **clock})
    except Error as error:
        value, reason = None, error.message.removesuffix(".")
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    raise AnalysisError(
        f"{expression} is not an instant: {reason}.",
        condition="INVALID_TIME_TRAVEL_TIMESTAMP_EXPR.INPUT",
        sqlstate="42K0E",
        hint="Write TIMESTAMP AS OF '2024-01-01 12:00:00'.",
    )


def _single_parameter(expression_tokens: tuple[Token, ...], parameters: Mapping[str, object]) -> str | None:
    """Returns the name of the parameter that the whole expression is."""
    first = expression_tokens[0]
    is_parameter = len(expression_tokens) == 1 and first.kind is TokenKind.PARAMETER
    return first.text[1:] if is_parameter and first.text[1:] in parameters else None


def _with_clock(expression: str, expression_tokens: tuple[Token, ...]) -> str:
    """Returns the expression with parameters in place of the calls that read the clock."""
    parts, position = [], 0
    for index, token in enumerate(expression_tokens):
        following = [after.text for after in expression_tokens[index + 1 : index + 3]]
        called = following == ["(", ")"]
        if not token.is_word(*_TODAY, *_NOW) or not (called or token.text.upper().startswith("CURRENT")):
            continue
        name = "rewriter_today" if token.is_word(*_TODAY) else "rewriter_now"
        parts += [expression[position : token.start], f":{name}"]
        position = expression_tokens[index + 2].end if called else token.end
    return "".join([*parts, expression[position:]])


def _literal_of(value: object) -> tuple[str, str]:
    """Returns the kind and the text that a value has as a literal. A datetime without a zone is one of UTC."""
    match value:
        case None:
            return "null", ""
        case bool():
            return "boolean", str(value).lower()
        case str():
            return "string", value
        case datetime():
            return "timestamp", f"{value.replace(tzinfo=None).isoformat(' ')}Z"
        case date():
            return "date", value.isoformat()
        case int():
            return "number", str(value)
        case Decimal():
            return "number", f"{value:f}BD"
        case float():
            return "number", f"{value!r}D"
    raise InternalError(f"a constant of the type {type(value).__name__}")


def _not_evaluated(expression: str, error: NotSupportedError) -> NotSupportedError:
    reason = error.message.removesuffix(".").removesuffix(" is not supported on DuckDB")
    return NotSupportedError(
        f"The constant {expression} is not computed here: {reason} is not in the list of expressions that both engines "
        "evaluate alike.",
        object=expression,
        hint=f"Run SELECT {expression} first, and write its result as a literal.",
    )


def _no_constant(expression: str, reason: str) -> AnalysisError:
    return AnalysisError(
        f"{expression} is not a constant of a partition column: {reason.removesuffix('.')}.",
        condition="NOT_A_CONSTANT",
        sqlstate="42K09",
        object=expression,
        hint="Write a literal, or an expression of literals, parameters and the current time.",
    )
