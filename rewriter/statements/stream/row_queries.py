"""The check that a query makes the rows of a stream's batch from each row of the batch alone.

Rows of a stream arrive in batches. A query with GROUP BY, DISTINCT or a window would compute each batch by itself, and
its result would depend on how the rows happened to arrive.
"""

from __future__ import annotations

from sqlglot import exp

from rewriter.errors import NotSupportedError, Span
from rewriter.grammar.terms import Query
from rewriter.planner.text.query_text import QueryText

_CLAUSES = {
    "group": "GROUP BY", "having": "HAVING", "distinct": "DISTINCT", "order": "ORDER BY", "limit": "LIMIT",
    "offset": "OFFSET", "qualify": "QUALIFY", "windows": "WINDOW", "sort": "SORT BY", "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
}  # fmt: skip
_HINT = "Load the rows as they are, and aggregate them by a query, or by REFRESH FACT."


def check_row_query(query: Query, path: str) -> None:
    """Checks a query that reads the files of ``path`` as a stream.

    It has to be one SELECT whose FROM begins with the stream, joined by inner, left and cross joins. Raises
    ``NotSupportedError`` STREAM_QUERY for others, with the position of what is not possible.
    """
    text = QueryText(query.text, query.span.start, query.tokens)
    tree = text.tree
    if not isinstance(tree, exp.Select):
        raise _refused("A stream is read by one SELECT, without UNION or VALUES.", query.span)
    uses = [table for table in tree.find_all(exp.Table) if table.name == path]
    source = tree.args.get("from_")
    first = source.this if source is not None else None
    if len(uses) != 1 or first is not uses[0]:
        raise _refused(
            "The STREAM has to be the first relation of the outer FROM, and its path may occur once.", query.span
        )
    for key, word in _CLAUSES.items():
        if tree.args.get(key):
            raise _refused(f"{word} would be computed for each batch of the stream alone.", query.span)
    for join in tree.args.get("joins") or ():
        if join.side.upper() in ("RIGHT", "FULL"):
            raise _refused(
                f"A {join.side.upper()} JOIN would return the rows of the other side with each batch.", query.span
            )
    for item in tree.expressions:
        for node in item.walk(prune=lambda node: isinstance(node, exp.Query)):
            if isinstance(node, exp.AggFunc | exp.Window):
                raise _refused(
                    "An aggregate or window would be computed for each batch of the stream alone.", query.span
                )


def _refused(message: str, position: Span) -> NotSupportedError:
    return NotSupportedError(message, condition="STREAM_QUERY", position=position, hint=_HINT)
