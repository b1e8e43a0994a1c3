"""CREATE CUBE … FROM: a cube, its events, a fact and rollups, declared by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from rewriter.errors import ParseError, Span
from rewriter.grammar.families.facts import Rollup, rollup_text
from rewriter.grammar.lexer import tokens
from rewriter.grammar.statement_parts import Clause, Terminal, refuse_duplicates, values_by_kind
from rewriter.grammar.statements import Statement, builds, renders
from rewriter.grammar.unparse import listed, name_text, names_text, option, quote_name, words
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.grammar.lexer import Token
    from rewriter.grammar.terms import Name

RULES = r"""
?statement: create_cube_from

create_cube_from: "CREATE" "CUBE" name "FROM" name _cube_from_clause*
_cube_from_clause: event_time | event_dimensions | event_measures | event_rollups | event_zone | event_files
event_time: TIME NAME
event_dimensions: DIMENSIONS names
event_measures: MEASURES "(" EXPRESSION ("," EXPRESSION)* ")"
event_rollups: rollups
event_zone: TIME "ZONE" STRING
event_files: EXTERNAL
"""
#: The kinds of measures by the names of their aggregates.
_KINDS = {name: name for name in ("COUNT", "SUM", "MIN", "MAX", "BOOL_AND", "BOOL_OR", "BIT_AND", "BIT_OR")} | {
    "EVERY": "BOOL_AND",
    "SOME": "BOOL_OR",
    "ANY": "BOOL_OR",
    "THETA_SKETCH_AGG": "THETA_UNION",
}


@dataclass(frozen=True)
class EventMeasure:
    """``SUM(expression) AS name``: what each event adds. ``expression`` is ``None`` for ``COUNT(*)``.

    ``precision`` is the second argument of THETA_SKETCH_AGG.
    """

    aggregate: str
    expression: str | None
    name: str
    span: Span = field(default=Span(0, 0), compare=False)
    precision: int | None = None


@dataclass(frozen=True, kw_only=True)
class CreateCubeFrom(Statement):
    """``CREATE CUBE c FROM source [EXTERNAL] [TIME t] [DIMENSIONS (…)] [MEASURES (…)] [ROLLUPS (…)] [TIME ZONE '…']``.

    ``source`` is a table, or files: ``parquet.`path```; with ``external`` they stay where they are. What is ``None`` is
    inferred.
    """

    name: Name
    source: Name
    time: str | None = None
    dimensions: tuple[str, ...] | None = None
    measures: tuple[EventMeasure, ...] | None = None
    rollups: tuple[Rollup, ...] = ()
    time_zone: str | None = None
    external: bool = False
    time_span: Span = field(default=Span(0, 0), compare=False)

    def permanent_names(self) -> tuple[str, ...]:
        return ("name",)


@builds("event_time")
def event_time(word: Terminal, name: Terminal) -> Clause:
    return Clause("TIME", name, word.span)


@builds("event_dimensions")
def event_dimensions(word: Terminal, names: tuple[str, ...]) -> Clause:
    refuse_duplicates([(name, word.span) for name in names], str.lower)
    return Clause("DIMENSIONS", names, word.span)


@builds("event_measures")
def event_measures(word: Terminal, *items: Terminal) -> Clause:
    measures = tuple(map(_event_measure, items))
    refuse_duplicates([(measure.name, measure.span) for measure in measures], str.lower)
    return Clause("MEASURES", measures, word.span)


def _event_measure(item: Terminal) -> EventMeasure:
    """Reads ``SUM(ms) AS total``; ``SUM(ms)`` has the name ``ms``."""
    listed_tokens = tokens(item.token.text)
    named = len(listed_tokens) > 2 and listed_tokens[-2].is_word("AS")
    call = listed_tokens[:-2] if named else listed_tokens
    is_call = len(call) > 3 and call[0].is_word(*_KINDS) and call[1].is_operator("(") and _closes(call)
    arguments, precision = call[2:-1], None
    if is_call and call[0].is_word("THETA_SKETCH_AGG") and len(arguments) > 2 and arguments[-2].is_operator(","):
        arguments, precision = arguments[:-2], _precision(arguments[-1], item)
    is_call = is_call and not _has_comma(arguments)
    inner = item.token.text[arguments[0].start : arguments[-1].end] if is_call else ""
    is_star = inner == "*" and is_call and call[0].upper == "COUNT"
    is_distinct = is_call and call[2].is_word("DISTINCT")
    if (
        not is_call
        or is_distinct
        or (inner == "*" and not is_star)
        or not (named or len(arguments) == 1)
        or (is_star and not named)
    ):
        raise ParseError(
            f"{item.token.shown} is not a measure.",
            position=item.span,
            hint="Write COUNT(*) AS name, or SUM, MIN, MAX, COUNT, BOOL_AND, BOOL_OR, BIT_AND, BIT_OR or "
            "THETA_SKETCH_AGG of a column or an expression, with AS name.",
        )
    name = Terminal("NAME", listed_tokens[-1] if named else call[2]).name
    return EventMeasure(_KINDS[call[0].upper], None if is_star else inner, name, item.span, precision)


def _has_comma(listed: Sequence[Token]) -> bool:
    """Tests for several arguments: a comma that is in no parentheses."""
    depth = 0
    for token in listed:
        depth += token.is_operator("(", "[") - token.is_operator(")", "]")
        if depth == 0 and token.is_operator(","):
            return True
    return False


def _precision(token: Token, item: Terminal) -> int:
    text = token.text
    if not text.isascii() or not text.isdigit() or len(text) > 2:
        raise ParseError(f"The precision {text} is not a whole number of two digits.", position=item.span)
    return int(text)


def _closes(call: Sequence[object]) -> bool:
    """Tests whether the last token closes the parenthesis that the second one opens."""
    depth = 0
    for position, token in enumerate(call[1:], start=1):
        depth += token.is_operator("(") - token.is_operator(")")  # type: ignore[attr-defined]
        if depth == 0:
            return position == len(call) - 1
    return False


@builds("event_rollups")
def event_rollups(rollups: tuple[Rollup, ...]) -> Clause:
    return Clause("ROLLUPS", rollups, rollups[0].span)


@builds("event_zone")
def event_zone(word: Terminal, zone: Terminal) -> Clause:
    return Clause("TIME ZONE", zone.string, word.span)


@builds("event_files")
def event_files(word: Terminal) -> Clause:
    return Clause("EXTERNAL", True, word.span)


@builds("create_cube_from")
def create_cube_from(name: Name, source: Name, *clauses: Clause) -> CreateCubeFrom:
    values = values_by_kind(clauses)
    time = values.get("TIME")
    return CreateCubeFrom(
        name=name,
        source=source,
        time=time.name if time else None,
        dimensions=values.get("DIMENSIONS"),
        measures=values.get("MEASURES"),
        rollups=values.get("ROLLUPS", ()),
        time_zone=values.get("TIME ZONE"),
        external=values.get("EXTERNAL", False),
        time_span=time.span if time else name.span,
    )


def _measure_text(measure: EventMeasure) -> str:
    function = "THETA_SKETCH_AGG" if measure.aggregate == "THETA_UNION" else measure.aggregate
    precision = "" if measure.precision is None else f", {measure.precision}"
    return f"{function}({measure.expression or '*'}{precision}) AS {quote_name(measure.name)}"


@renders(CreateCubeFrom)
def create_cube_from_text(s: CreateCubeFrom) -> str:
    return words(
        f"CREATE CUBE {name_text(s.name)} FROM {name_text(s.source)}",
        "EXTERNAL" if s.external else None,
        f"TIME {quote_name(s.time)}" if s.time is not None else None,
        f"DIMENSIONS {names_text(s.dimensions)}" if s.dimensions is not None else None,
        f"MEASURES {listed(map(_measure_text, s.measures))}" if s.measures is not None else None,
        f"ROLLUPS {listed(map(rollup_text, s.rollups))}" if s.rollups else None,
        option("TIME ZONE", s.time_zone),
    )
