"""Aggregates and window functions where a query cannot have them: the errors are Spark's."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from rewriter.exec.translate.expressions import Expressions


def check_calls(e: Expressions, select: exp.Select, is_aggregate: Callable[[exp.Expr], bool]) -> None:
    """Raises ``EngineError`` for an aggregate in WHERE, a window function in WHERE or HAVING, an aggregate in the
    argument of another, and an aggregate in the condition of FILTER.
    """
    where, having = select.args.get("where"), select.args.get("having")
    for call in _calls(where, lambda node: _is_grouping(e, node)):
        e.text.wrong(
            f"{e.text.shown(call)} is about the groups of the query, which do not exist yet in WHERE.",
            "UNSUPPORTED_GROUPING_EXPRESSION", "42K0E", call, None, "Write it in HAVING.",
        )  # fmt: skip
    for call in _calls(where, is_aggregate):
        e.text.wrong(
            f"{e.text.shown(call)} is an aggregate, which cannot be in WHERE. Write it in HAVING.",
            "INVALID_WHERE_CONDITION", "42903", call,
        )  # fmt: skip
    for word, clause in (("WHERE", where), ("HAVING", having)):
        for window in _calls(clause, _is_window):
            hint = "Write it in QUALIFY, or in a subquery of FROM."
            e.text.wrong(
                f"{e.text.shown(window)} is a window function, which cannot be in {word}.",
                "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE", "42601", window, None, hint,
            )  # fmt: skip
    for part in (*select.expressions, having, select.args.get("order"), select.args.get("qualify")):
        for call in _calls(part, is_aggregate):
            _check_nested(e, call, is_aggregate)


def _check_nested(e: Expressions, call: exp.Expr, is_aggregate: Callable[[exp.Expr], bool]) -> None:
    for argument in call.iter_expressions():
        for inner in _calls(argument, is_aggregate):
            _refuse_aggregated_grouping(e, inner)
            hint = "Compute the inner one in a subquery of FROM."
            e.text.wrong(
                f"The aggregate {e.text.shown(inner)} is in the argument of the aggregate {e.text.shown(call)}.",
                "NESTED_AGGREGATE_FUNCTION", "42607", inner, None, hint,
            )  # fmt: skip
    if isinstance(call.parent, exp.Filter) and call.arg_key == "this":
        for inner in _calls(call.parent.expression, is_aggregate):
            _refuse_aggregated_grouping(e, inner)
            e.text.wrong(
                f"The condition of FILTER has the aggregate {e.text.shown(inner)}. Write CASE in an outer query.",
                "INVALID_AGGREGATE_FILTER.CONTAINS_AGGREGATE", "42903", inner,
            )  # fmt: skip


def _refuse_aggregated_grouping(e: Expressions, call: exp.Expr) -> None:
    # Spark takes GROUPING for a key there, and aggregates it.
    if _is_grouping(e, call):
        hint = "Select it in a subquery of FROM, and aggregate that."
        e.text.refuse("GROUPING and GROUPING_ID in an aggregate", call, hint)


def _is_grouping(e: Expressions, node: exp.Expr) -> bool:
    return e.text.called(node) in ("grouping", "grouping_id")


def _is_window(node: exp.Expr) -> bool:
    return isinstance(node, exp.Window)


def _calls(node: exp.Expr | None, test: Callable[[exp.Expr], bool]) -> Iterator[exp.Expr]:
    """Returns the nodes of an expression that pass a test, outside its subqueries."""
    for part in () if node is None else node.walk(prune=lambda part: isinstance(part, exp.Query)):
        if test(part):
            yield part
