"""The check that a query makes the rows of a stream's batch from each row of the batch alone.

Rows of a stream arrive in batches. A query with GROUP BY, DISTINCT or a window would compute each batch by itself, and
its result would depend on how the rows happened to arrive.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.terms import Query
from rewriter.planner.text.query_text import QueryText
from rewriter.statements.stream.clause_spans import call_span, clause_span, joined_span, table_span, word_span

_CLAUSES = {
    "group": "GROUP BY", "having": "HAVING", "distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT",
    "offset": "OFFSET", "qualify": "QUALIFY", "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}  # fmt: skip
#: Spark's aggregates that sqlglot reads as calls of unknown functions.
UNKNOWN_AGGREGATES = frozenset({
    "bitmap_and_agg", "collect_union", "count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg",
    "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float", "kll_sketch_agg_bigint",
    "kll_sketch_agg_double", "kll_sketch_agg_float", "mean", "measure", "some", "std", "theta_intersection_agg",
    "theta_sketch_agg", "theta_union_agg", "try_avg", "try_sum", "tuple_intersection_agg_double",
    "tuple_intersection_agg_integer", "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double",
    "tuple_union_agg_integer",
})  # fmt: skip
_HINT = "Load the rows as they are, and aggregate them by a query, or by REFRESH FACT."


def check_row_query(query: Query, path: str) -> None:
    """Checks a query that reads the files of ``path`` as a stream.

    It has to be one SELECT whose FROM begins with the stream, joined by inner, left and cross joins. Raises
    ``NotSupportedError`` STREAM_QUERY for others, with the position of what is not possible.
    """
    text = QueryText(query.text, query.span.start, query.tokens)
    tree = text.tree
    if not isinstance(tree, exp.Select):
        position = word_span(text, "UNION", "EXCEPT", "MINUS", "INTERSECT", "VALUES")
        raise _refused("A stream is read by one SELECT, without UNION or VALUES.", position)
    uses = [table for table in tree.find_all(exp.Table) if table.name == path]
    source = tree.args.get("from_")
    first = source.this if source is not None else None
    if len(uses) != 1 or first is not uses[0]:
        misplaced = next((use for use in uses if use is not first), first)
        position = table_span(text, misplaced) if isinstance(misplaced, exp.Table) else query.span
        raise _refused(
            "The STREAM has to be the first relation of the outer FROM, and its path may occur once.", position
        )
    for key, words in _CLAUSES.items():
        if tree.args.get(key):
            position = word_span(text, words) if key == "distinct" else clause_span(text, words)
            raise _refused(f"{words} would be computed for each batch of the stream alone.", position)
    for join in tree.args.get("joins") or ():
        side = join.side.upper()
        if side in ("RIGHT", "FULL"):
            position = joined_span(text, join.this, side)
            raise _refused(f"A {side} JOIN would return the rows of the other side with each batch.", position)
    _check_stream(first, text)
    for item in tree.expressions:
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query)):
            if is_fold(node):
                raise _refused(
                    "An aggregate or window would be computed for each batch of the stream alone.",
                    call_span(text, node),
                )


def _check_stream(stream: exp.Table, text: QueryText) -> None:
    """Checks what follows the stream in FROM."""
    if any(not pivot.args.get("unpivot") for pivot in stream.args.get("pivots") or ()):
        position = word_span(text, "PIVOT")
        raise _refused("PIVOT would be computed for each batch of the stream alone.", position)
    sample = stream.args.get("sample")
    if sample is not None and sample.args.get("size") is not None:
        position = word_span(text, "TABLESAMPLE")
        raise _refused("TABLESAMPLE (… ROWS) would be computed for each batch of the stream alone.", position)


def is_fold(node: exp.Expr) -> bool:
    """Tests whether a node is an aggregate or a window."""
    if isinstance(node, exp.Any):  # any(x), but not LIKE ANY (…).
        return not isinstance(node.parent, exp.Like | exp.ILike)
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in UNKNOWN_AGGREGATES
    return isinstance(node, exp.AggFunc | exp.Window)


def _refused(message: str, position: Span) -> NotSupportedError:
    return NotSupportedError(message, condition="STREAM_QUERY", position=position, hint=_HINT)
