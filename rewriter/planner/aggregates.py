"""COUNT and AVG over a cube as sums of the measure that counts, written into the user's text."""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError, Span
from rewriter.planner.additivity import Additivity, AvgCall, CountCall
from rewriter.planner.blocks import Block, own_nodes
from rewriter.planner.plan import quote_identifier
from rewriter.planner.text import Edit, QueryText


def aggregate_edits(text: QueryText, block: Block, additivity: Additivity) -> list[Edit]:
    """The edits of all COUNT and AVG calls of a block; an unaliased item of the select list that they change keeps its
    name.
    """
    edits: list[Edit] = []
    for count in additivity.counts:
        edits += _count_edits(text, block, count)
    for average in additivity.averages:
        edits += _average_edits(text, block, average)
    changed = {id(count.node) for count in additivity.counts} | {id(one.node) for one in additivity.averages}
    for item in block.select.expressions:
        call = None if isinstance(item, exp.Alias) else next((n for n in _own(item) if id(n) in changed), None)
        if call is not None:
            edits.append(_alias_edit(text, item, text.select_item(call.meta["start"])))
    return edits


def _own(item: exp.Expr) -> list[exp.Expr]:
    return [item, *own_nodes(item)]  # type: ignore[arg-type]


def _count_edits(text: QueryText, block: Block, call: CountCall) -> list[Edit]:
    _refuse_window(text, call.node)
    measure = _column(block, block.cubes[0].cube.count_measure.name)  # type: ignore[union-attr]
    span, inside = text.call(call.node)
    end = _end_of_filter(text, call.node, span)
    closing: list[Edit] = []
    if end > span.end:
        closing.append(Edit(Span(end, end), (", 0)",)))
        tail = ""
    else:
        tail = ", 0)"
    if call.argument is None:
        what = f"{text.text[span.start : span.end]} becomes the sum of {measure}"
        return [Edit(span, (f"COALESCE(SUM({measure}){tail}",), what), *closing]
    start = inside.start
    first = text.tokens[text.index_at(call.node.meta["start"]) + 2]
    if first.is_word("ALL"):
        start = first.end
    what = f"{text.text[span.start : span.end]} becomes the sum of {measure} where it is not NULL"
    return [
        Edit(Span(span.start, start), ("COALESCE(SUM(CASE WHEN (",), what),
        Edit(Span(inside.end, span.end), (f") IS NOT NULL THEN {measure} END){tail}",)),
        *closing,
    ]


def _average_edits(text: QueryText, block: Block, call: AvgCall) -> list[Edit]:
    _refuse_window(text, call.node)
    if call.measure.type.startswith("decimal"):
        raise NotSupportedError(
            f"AVG of the DECIMAL measure {call.measure.name} is not supported yet.",
            position=text.place(text.call(call.node)[0]),
            object=call.measure.name,
            hint=f"Write SUM({call.measure.name}) / SUM({call.measure.counted_by}).",
        )
    span, _ = text.call(call.node)
    end = _end_of_filter(text, call.node, span)
    condition = text.text[span.end : end]
    if end > span.end and call.node.parent is not None and _holds_edited(call.node.parent):
        raise NotSupportedError(
            "AVG with a FILTER that depends on the current time is not supported yet.", position=text.place(span)
        )
    counter = _column(block, str(call.measure.counted_by))
    argument = column_text(call.column)
    written = f"(SUM({argument}){condition} / NULLIF(SUM({counter}){condition}, 0))"
    what = f"{text.text[span.start : span.end]} becomes SUM({argument}) / SUM({counter})"
    return [Edit(Span(span.start, end), (written,), what)]


def _holds_edited(filter_: exp.Expr) -> bool:
    """Whether a FILTER clause holds what becomes other text itself, which a copy of it would miss."""
    return any(
        isinstance(node, exp.CurrentTimestamp | exp.CurrentDate)
        or (isinstance(node, exp.Anonymous) and node.name.upper() in ("NOW", "TIME_RANGE_IN"))
        or (isinstance(node, exp.Column) and node.args.get("db") is not None)
        or isinstance(node, exp.Query)
        for node in filter_.walk()
    )


def _end_of_filter(text: QueryText, node: exp.Expr, span: Span) -> int:
    """Where the call ends with its FILTER clause, if it has one."""
    if not isinstance(node.parent, exp.Filter):
        return span.end
    closing = next(i for i, token in enumerate(text.tokens) if token.end == span.end)
    return text.tokens[text.closing(closing + 2)].end


def _refuse_window(text: QueryText, node: exp.Expr) -> None:
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    if isinstance(parent, exp.Window):
        raise NotSupportedError(
            "COUNT and AVG as window functions over a cube are not supported yet.",
            position=text.place(text.call(node)[0]),
            hint="Aggregate the cube in a subquery, and use the window function outside.",
        )


def _column(block: Block, name: str) -> str:
    """A column of the cube, qualified where another source or an output column (in ORDER BY) may have the name."""
    quoted = quote_identifier(name)
    outputs = {item.alias.lower() for item in block.select.expressions}
    clear = not block.others and name.lower() not in outputs
    return quoted if clear else f"{quote_identifier(block.cubes[0].alias)}.{quoted}"


def column_text(column: exp.Column) -> str:
    """A column as text of the rewritten query, where no relation has a database."""
    qualifier = f"{quote_identifier(column.table)}." if column.table else ""
    return qualifier + quote_identifier(column.name)


def _alias_edit(text: QueryText, item: exp.Expr, whole: Span) -> Edit:
    """``AS name`` behind an unaliased item: the name that Spark gives the text as typed, where it is a plain call."""
    typed = " ".join(text.text[whole.start : whole.end].split())
    if isinstance(item, exp.Count) and (isinstance(item.this, exp.Star | exp.Literal)):
        typed = "count(1)"
    elif isinstance(item, exp.Count | exp.Avg) and isinstance(item.this, exp.Column):
        typed = f"{item.key}({item.this.name})"
    return Edit(Span(whole.end, whole.end), (f" AS {quote_identifier(typed)}",))
