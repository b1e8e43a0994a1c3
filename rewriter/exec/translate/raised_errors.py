"""RAISE_ERROR and ASSERT_TRUE, for the allow-list of ``expressions``.

Their value is a NULL of no type, which many translations replace with another NULL. So they are translated only where
their SQL certainly stays: as items of the outermost SELECT list, and beside typed values.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.exec.sql_types import STRING, VOID
from rewriter.exec.translate.casts import string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions

_CONDITION = "USER_RAISED_EXCEPTION"
_RAISING = ("raise_error", "assert_true")


def _raise_error(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (argument,) = e.arguments(node, 1)
    _check_place(e, node, scope)
    message = e.translate(argument, scope)
    name = call("raise_error", _CONDITION, call("map", "errorMessage", message.name))
    return Typed(_error(e.cast(message, STRING, argument)), VOID, name)


def _assert_true(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    test_node, *message_nodes = e.arguments(node, 1, 2)
    _check_place(e, node, scope)
    test = e.condition(test_node, scope)
    if message_nodes:
        message = e.translate(message_nodes[0], scope)
        text, name = e.cast(message, STRING, message_nodes[0]), message.name
    else:
        if test.name is None:
            e.refuse(node, "ASSERT_TRUE without a message, of a condition whose name in Spark is not certain,")
        name = f"'{test.name}' is not true!"
        text = string_literal(name)
    sql = f"CASE WHEN {test.sql} THEN NULL ELSE {_error(text)} END"
    return Typed(sql, VOID, call("assert_true", test.name, name))


def _error(message: str) -> str:
    return f"error('[{_CONDITION}] ' || coalesce({message}, 'null'))"


def _check_place(e: Expressions, node: exp.Expr, scope: Scope) -> None:
    """Refuses a call whose SQL another expression may leave out."""
    child, parent = node, node.parent
    while parent is not None and (branches := _branches(e, child, parent)) is not None:
        if any(_has_type(e, branch, scope) for branch in branches):
            return
        child, parent = parent, parent.parent
    if not isinstance(parent, exp.Select) or parent.parent is not None or child not in parent.expressions:
        name = str(e.text.called(node)).upper()
        e.text.refuse(
            f"{name} as an operand of another expression than CASE, IF and COALESCE, or in a subquery,", node,
            "Write CASE WHEN … THEN … ELSE … END with a value of a type.",
        )  # fmt: skip


def _branches(e: Expressions, child: exp.Expr, parent: exp.Expr) -> Sequence[exp.Expr] | None:
    """Returns the values beside a value of a conditional expression; none for parentheses and names, ``None`` for other
    parents.
    """
    if isinstance(parent, exp.Paren | exp.Alias):
        return ()
    if isinstance(parent, exp.If) and isinstance(parent.parent, exp.Case):
        return () if child is parent.args["true"] else None
    if isinstance(parent, exp.Case):
        values = [branch.args["true"] for branch in parent.args["ifs"]]
        return None if child is parent.this else [*values, *filter(None, [parent.args.get("default")])]
    name = e.text.called(parent)
    if name == "if":
        return None if child is parent.expressions[0] else parent.expressions[1:]
    return parent.expressions if name in ("coalesce", "nvl", "ifnull") else None


def _has_type(e: Expressions, node: exp.Expr, scope: Scope) -> bool:
    """Tests for a value that is neither NULL nor has one of these calls."""
    if any(e.text.called(part) in _RAISING for part in node.walk()):
        return False
    return e.translate(node, scope).type != VOID


_REFUSED = (
    "as an operand of another expression than CASE, IF and COALESCE, and in a subquery, except beside a value of a type"
)
FUNCTIONS = functions(
    "Conditions",
    ("raise_error(message)", _raise_error, _REFUSED),
    ("assert_true(condition[, message])", _assert_true, _REFUSED),
)
