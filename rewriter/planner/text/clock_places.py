"""The places of constants in which sqlglot keeps no place: ``current_date - INTERVAL 30 DAYS``, ``current_timestamp``.

They are found beside the other operand of their comparison, whose place is known.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import Span
from rewriter.planner.text.query_text import QueryText, reads_as

_OPERATORS = ("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=")
#: Operators that would make a constant a part of a longer expression.
_LONGER = ("+", "-", "*", "/", "%", "||", "::", "(", ".")
#: The most tokens of a constant.
_MOST = 24

#: The year and the number of an ISO week, as Spark SQL over the time ``t`` at which it begins, a Monday. A week belongs
#: to its Thursday's year.
WEEK_FIELDS = {
    "YYYY": "lpad(CAST(year(date_add(to_date({t}), 3)) AS STRING), 4, '0')",
    "ww": "lpad(CAST(weekofyear({t}) AS STRING), 2, '0')",
}


def place_beside(text: QueryText, node: exp.Expr) -> Span | None:
    """Returns the stretch that is read as the constant ``node``, an operand of a comparison or of BETWEEN whose other
    operand has a place; ``None`` where it is not certain. Reads up to 24 short texts.
    """
    operand = node
    while isinstance(operand.parent, exp.Paren):
        operand = operand.parent
    parent = operand.parent
    if isinstance(parent, exp.Between):
        before = parent.this if operand is parent.args.get("low") else parent.args.get("low")
        return _behind(text, node, before, ("BETWEEN",) if before is parent.this else ("AND",))
    if isinstance(parent, exp.Binary) and parent.expression is operand:
        return _behind(text, node, parent.this, ())
    if isinstance(parent, exp.Binary) and parent.this is operand:
        return _in_front(text, node, parent.expression)
    return None


def _behind(text: QueryText, node: exp.Expr, before: exp.Expr | None, words: tuple[str, ...]) -> Span | None:
    """Returns the place behind another operand, parentheses, and an operator or one of the words."""
    span = None if before is None else text.exactly(before) or text.span_of(before) or place_beside(text, before)
    if span is None:
        return None
    index = next((i for i, token in enumerate(text.tokens) if token.start >= span.end), len(text.tokens))
    tokens = text.tokens
    while index < len(tokens) and (tokens[index].is_operator(")") or tokens[index].is_word("NOT")):
        index += 1
    if index == len(tokens) or not (tokens[index].is_word(*words) if words else tokens[index].is_operator(*_OPERATORS)):
        return None
    index += 1
    while index < len(tokens) and tokens[index].is_operator("("):
        index += 1
    for last in range(min(index + _MOST, len(tokens)) - 1, index - 1, -1):
        if last + 1 < len(tokens) and tokens[last + 1].is_operator(*_LONGER):
            continue
        stretch = Span(tokens[index].start, tokens[last].end)
        if reads_as(text.text[stretch.start : stretch.end], node):
            return stretch
    return None


def _in_front(text: QueryText, node: exp.Expr, behind: exp.Expr) -> Span | None:
    """Returns the place in front of an operator, parentheses, and another operand."""
    span = text.exactly(behind) or text.span_of(behind)
    if span is None:
        return None
    tokens = text.tokens
    index = next(i for i, token in enumerate(tokens) if token.start >= span.start) - 1
    while index >= 0 and tokens[index].is_operator("("):
        index -= 1
    if index < 1 or not tokens[index].is_operator(*_OPERATORS):
        return None
    index -= 1
    while index > 0 and tokens[index].is_operator(")") and not tokens[index - 1].is_operator("("):
        index -= 1
    for first in range(max(0, index - _MOST), index + 1):
        if first and tokens[first - 1].is_operator(*_LONGER[:-2]):
            continue
        stretch = Span(tokens[first].start, tokens[index].end)
        if reads_as(text.text[stretch.start : stretch.end], node):
            return stretch
    return None
