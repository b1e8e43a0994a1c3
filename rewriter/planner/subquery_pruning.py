"""Subqueries in conditions on partition columns, and joins with a filtered table, as conditions to compute.

``dt = (SELECT max(dt) FROM t)`` selects one partition, but no comparison with a value says which. A subquery that
stands alone, and has the same rows whenever it is computed under one state of the catalog, is computed first, and its
values stand in the condition. The query itself keeps its text, and the engine computes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.catalog.filters.predicates import Subquery
from rewriter.errors import Error, Span
from rewriter.planner.scope.deterministic import is_scalar
from rewriter.planner.scope.joins import nullable, relations
from rewriter.planner.text.query_text import Edit, QueryText
from rewriter.planner.text.sqlglot_trees import children, find_all, one_of, walk

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column

#: The name of the parameter that stands for a subquery, and of the first of the parameters that stand for its values.
_PLACEHOLDER = "rewriter_subquery_"
#: What a subquery may consist of, beside deterministic functions of a row.
_is_part = one_of(
    exp.Select, exp.From, exp.Join, exp.Table, exp.TableAlias, exp.Subquery, exp.Group, exp.Having, exp.Max, exp.Min,
    exp.Count,
)  # fmt: skip
_COMPARISONS = (exp.EQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


def outer_nodes(node: exp.Expr) -> list[exp.Expr]:
    """Returns the nodes of a condition outside its subqueries, and the outermost nodes of these."""
    nodes = [node]
    for part in nodes:  # which grows meanwhile
        if not isinstance(part, exp.Query):
            nodes += children(part)
    return nodes


def with_placeholders(text: QueryText, node: exp.Expr, span: Span) -> tuple[str, tuple[Subquery, ...]] | None:
    """Returns the text of a condition with parameters in place of its subqueries, and these; ``None`` if one of them
    cannot be computed before the query.
    """
    edits: list[Edit] = []
    subqueries: list[Subquery] = []
    for part in outer_nodes(node):
        if not isinstance(part, exp.Query):
            continue
        parent = part.parent
        is_list = isinstance(parent, exp.In) and parent.args.get("query") is part
        is_value = isinstance(parent, _COMPARISONS) and isinstance(part, exp.Subquery)
        inner = part.this if isinstance(part, exp.Subquery) else part
        place = _place(text, inner) if (is_list or is_value) and _is_repeatable(text, inner) else None
        if place is None:
            return None
        name = f"{_PLACEHOLDER}{len(subqueries)}"
        subqueries.append(Subquery(name, text.text[place.start + 1 : place.end - 1], is_list))
        edits.append(Edit(place, (f"(:{name})",)))
    edits.sort(key=lambda edit: edit.span.start)
    return text.edited(span, edits), tuple(subqueries)


def _is_repeatable(text: QueryText, query: exp.Expr) -> bool:
    """Tests whether a subquery returns the same values wherever it is computed. Columns of the query around it are
    found when it is computed alone: then it fails.
    """
    ctes = {cte.alias.lower() for cte in text.find_all(exp.CTE)}
    nodes = walk(query)
    return (
        isinstance(query, exp.Select)
        and text.typed == text.text
        and _PLACEHOLDER not in text.text.lower()
        and len(query.expressions) == 1
        and all(_is_part(type(node)) or is_scalar(node) for node in nodes)
        and not any(isinstance(node, exp.Table) and node.name.lower() in ctes for node in nodes)
    )


def _place(text: QueryText, query: exp.Expr) -> Span | None:
    """Returns the stretch of a subquery with its parentheses; ``None`` if it is not found."""
    inside = text.span_of(query)
    if inside is None:
        return None
    depth = 0
    for index in range(text.index_at(inside.start) - 1, -1, -1):
        token = text.tokens[index]
        depth += token.is_operator(")") - token.is_operator("(")
        if depth < 0:
            depth = 0
            if text.tokens[index + 1].is_word("SELECT"):
                place = Span(token.start, text.tokens[text.closing(index)].end)
                return place if _reads_as(text.text[place.start + 1 : place.end - 1], query) else None
    return None


def _reads_as(sql: str, query: exp.Expr) -> bool:
    try:
        return QueryText(sql).tree == query
    except Error:
        return False


def joined_values(
    text: QueryText,
    node: exp.Expr,
    others: Iterable[exp.Expr],
    column_of: Callable[[exp.Expr], Column | None],
    may_be_absent: bool,
) -> tuple[Column, Subquery] | None:
    """Returns the partition column that a join's condition equals with a column of a table, and the subquery of the
    values that this column has in the table's rows that satisfy further conditions; ``None`` for other conditions, and
    where no condition is about that table alone.

    ``others`` are conditions that hold together with ``node``. ``column_of`` returns the partition column that an
    expression is. ``may_be_absent`` says that the block has rows in which the relation of this column is absent.
    """
    if not isinstance(node, exp.EQ):
        return None
    for own, other in ((node.this, node.expression), (node.expression, node.this)):
        column = column_of(own)
        if column is None or not isinstance(other, exp.Column) or not other.table or column_of(other) is not None:
            continue
        name = other.table.lower()
        select = node.find_ancestor(exp.Select)
        sources = [] if select is None else relations(select)
        indexes = [index for index, source in enumerate(sources) if source.alias_or_name.lower() == name]
        table = sources[indexes[0]] if len(indexes) == 1 else None
        if select is None or not isinstance(table, exp.Table) or table.args.get("sample") or table.args.get("pivots"):
            return None
        wanted = [condition for condition in others if condition is not node and _is_about(condition, name)]
        if may_be_absent and nullable(select, indexes[0]):
            # Where a row was not read, another row may be without a match, and NULLs may pass a condition of a later
            # clause.
            wanted = [condition for condition in wanted if _clause(condition) is _clause(node)]
        if not wanted:
            return None
        spans = [text.exactly(condition) for condition in wanted]
        table_span, column_span = text.span_of(table), text.span_of(other)
        if None in spans or table_span is None or column_span is None:
            return None
        parts = [text.text[span.start : span.end] for span in spans if span is not None]
        sql = (
            f"SELECT DISTINCT {text.text[column_span.start : column_span.end]} "
            f"FROM {text.text[table_span.start : table_span.end]} WHERE ({') AND ('.join(parts)})"
        )
        try:
            query = QueryText(sql).tree
        except Error:
            return None
        is_whole = isinstance(query, exp.Select) and query.args["from_"].this == table
        return (column, Subquery(f"{_PLACEHOLDER}0", sql, True)) if is_whole and _is_repeatable(text, query) else None
    return None


def _clause(condition: exp.Expr) -> exp.Expr | None:
    """Returns the WHERE, or the join of the ON, that a condition stands in."""
    return condition.find_ancestor(exp.Where, exp.Join)


def _is_about(condition: exp.Expr, name: str) -> bool:
    """Tests whether a condition reads columns of one relation alone, and has no subquery."""
    columns = find_all(condition, exp.Column)
    is_own = bool(columns) and all(column.table.lower() == name and not column.db for column in columns)
    return is_own and not find_all(condition, exp.Query)
