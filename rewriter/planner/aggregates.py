"""COUNT and AVG over a cube as sums of the measure that counts, written into the user's text."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.lexer import identifier_value
from rewriter.planner.additivity import Additivity, AvgCall, CountCall
from rewriter.planner.counters import Counters
from rewriter.planner.plan import quote_identifier
from rewriter.planner.projections import descend
from rewriter.planner.text import Copied, Edit, QueryText, is_name


def aggregate_edits(text: QueryText, select: exp.Select, additivity: Additivity, counters: Counters) -> list[Edit]:
    """The edits of all COUNT and AVG calls of a block; an unaliased item of the select list that they change keeps its
    name.
    """
    edits: list[Edit] = []
    for count in additivity.counts:
        edits += _count_edits(text, count, counters.of_events())
    for average in additivity.averages:
        edits.append(_average_edit(text, average, counters))
    changed = {id(count.node) for count in additivity.counts} | {id(one.node) for one in additivity.averages}
    for item in select.expressions:
        call = (
            None if isinstance(item, exp.Alias) else next((n for n in (item, *descend(item)) if id(n) in changed), None)
        )
        if call is not None:
            edits.append(_alias_edit(text, item, text.select_item(call.meta["start"])))
    return edits


def _count_edits(text: QueryText, call: CountCall, events: str) -> list[Edit]:
    span, inside = text.call(call.node)
    end = _end_of_call(text, span)
    closing: list[Edit] = []
    if end > span.end:
        closing.append(Edit(Span(end, end), (", 0)",)))
        tail = ""
    else:
        tail = ", 0)"
    if call.argument is None:
        what = f"{text.text[span.start : span.end]} becomes the sum of {events}"
        return [Edit(span, (f"COALESCE(SUM({events}){tail}",), what), *closing]
    start = inside.start
    first = text.tokens[text.index_at(call.node.meta["start"]) + 2]
    if first.is_word("ALL"):
        start = first.end
    test = "" if isinstance(call.node, exp.CountIf) else " IS NOT NULL"
    what = (
        f"{text.text[span.start : span.end]} becomes the sum of {events} where it is {'not NULL' if test else 'true'}"
    )
    return [
        Edit(Span(span.start, start), ("COALESCE(SUM(CASE WHEN (",), what),
        Edit(Span(inside.end, span.end), (f"){test} THEN {events} END){tail}",)),
        *closing,
    ]


def _average_edit(text: QueryText, call: AvgCall, counters: Counters) -> Edit:
    span, inside = text.call(call.node)
    if call.measure.type.startswith("decimal"):
        raise NotSupportedError(
            f"AVG of the DECIMAL measure {call.measure.name} is not supported yet.",
            position=text.place(span),
            object=call.measure.name,
            hint=f"Write SUM({call.measure.name}) / SUM({call.measure.counted_by}).",
        )
    end = _end_of_call(text, span)
    # A FILTER and an OVER belong to both sums.
    suffix = (Copied(Span(span.end, end)),) if end > span.end else ()
    counter = counters.column(str(call.measure.counted_by))
    within = [token for token in text.within(inside) if not token.is_word("ALL")]
    argument = Span(within[0].start, within[-1].end)
    what = (
        f"{text.text[span.start : span.end]} becomes SUM({text.text[argument.start : argument.end]}) / SUM({counter})"
    )
    parts = ("(SUM(", Copied(argument), ")", *suffix, f" / NULLIF(SUM({counter})", *suffix, ", 0))")
    return Edit(Span(span.start, end), parts, what)


def _end_of_call(text: QueryText, span: Span) -> int:
    """Where a call ends with its FILTER and OVER clauses, if it has any."""
    index = text.index_at(text.within(span)[-1].start)
    while index + 2 < len(text.tokens) and text.tokens[index + 1].is_word("FILTER", "OVER"):
        opened = text.tokens[index + 2].is_operator("(")
        index = text.closing(index + 2) if opened else index + 2
    return text.tokens[index].end


def _alias_edit(text: QueryText, item: exp.Expr, whole: Span) -> Edit:
    """``AS name`` behind an unaliased item: the name that Spark gives the text as typed, where it is a plain call."""
    typed = " ".join(text.text[whole.start : whole.end].split())
    if isinstance(item, exp.Count) and (isinstance(item.this, exp.Star | exp.Literal)):
        typed = "count(1)"
    elif isinstance(item, exp.Count | exp.Avg) and _bare_column(text, item):
        typed = f"{item.key}({identifier_value(text.tokens[text.index_at(text.call(item)[0].end - 1) - 1])})"
    return Edit(Span(whole.end, whole.end), (f" AS {quote_identifier(typed)}",), f"the column keeps its name {typed}")


def _bare_column(text: QueryText, call: exp.Expr) -> bool:
    """Whether a call is of one column as typed, qualified or not."""
    inside = text.call(call)[1]
    within = [token for token in text.within(inside) if not token.is_word("ALL")]
    return all(is_name(token) if number % 2 == 0 else token.is_operator(".") for number, token in enumerate(within))
