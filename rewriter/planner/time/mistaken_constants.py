"""Constants that cannot be compared with a time: ``t >= 2013-07-01`` (a number), ``t >= '2013-02-30'``.

Spark raises the same errors, some of them only when a row is compared. They are raised before partitions are chosen,
because without the condition the query would request all time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.errors import Span
from rewriter.grammar.lexer import TokenKind, string_value
from rewriter.planner.time.constant_folding import Constants, Kind
from rewriter.planner.time.exactness import compared_with, uses
from rewriter.planner.time.granularity import COMPARISONS
from rewriter.planner.time.time_expressions import climb
from rewriter.timeline.time_bounds import check_literal, check_text, refuse_number

if TYPE_CHECKING:
    from rewriter.planner.text.query_text import QueryText

_LITERALS = ("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ")


def check_literals(text: QueryText) -> None:
    """Raises ``AnalysisError`` for a ``DATE '…'`` or ``TIMESTAMP '…'`` that is invalid."""
    for word, string in zip(text.tokens, text.tokens[1:], strict=False):
        if string.kind is TokenKind.STRING and word.is_word(*_LITERALS):
            check_literal(string_value(string), word.text.upper(), text.place(Span(word.start, string.end)))


def check_constants(text: QueryText, column: exp.Column, constants: Constants) -> None:
    """Raises ``AnalysisError`` or ``DataError``, with position, for a constant that a time dimension is compared with
    and that cannot be compared with a time.
    """
    chain, outermost = climb(column, constants)
    time_type = "DATE" if chain.date else "TIMESTAMP"
    for node in uses(outermost):
        if not isinstance(node.parent, COMPARISONS):
            continue
        for _, other in compared_with(node):
            value, span = constants.fold(other), text.span_of(other)
            position = text.place(span) if span is not None else None
            unwrapped = other.unnest()
            is_number = isinstance(unwrapped, exp.Literal) and not unwrapped.is_string
            if is_number or (value is not None and value.kind is Kind.INTEGER):
                typed = other.sql(dialect="spark") if span is None else text.text[span.start : span.end]
                kind = "an INT" if value is not None else "a number"
                refuse_number(typed, time_type, kind, position, is_list=isinstance(node.parent, exp.In))
            if value is not None and value.kind is Kind.STRING:
                check_text(value.text, time_type, position)
