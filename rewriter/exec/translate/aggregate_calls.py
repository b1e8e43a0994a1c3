"""Calls of aggregates: their parts as typed, and the values that their translations are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Typed
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.sql_types import SqlType

#: The calls in which NULLS may also be ignored within the parentheses.
_NULLS_WITHIN = ("first", "last", "any_value")


@dataclass(frozen=True)
class AggregateCall:
    """A call of an aggregate. ``ignore_nulls`` is ``None`` if neither IGNORE NULLS nor RESPECT NULLS was typed;
    ``order`` are the sort keys of WITHIN GROUP.
    """

    node: exp.Expr
    function: str
    ignore_nulls: bool | None = None
    order: tuple[exp.Expr, ...] | None = None

    def arguments(self, e: Expressions, min_count: int, max_count: int | None = None) -> list[exp.Expr]:
        """Returns the arguments, see ``Expressions.arguments``. Refuses DISTINCT."""
        if self.node.expressions and isinstance(self.node.expressions[0], exp.Distinct):
            e.refuse(self.node, f"{self.function.upper()}(DISTINCT …)")
        return e.arguments(self.node, min_count, max_count)

    def only_plain(self, e: Expressions) -> None:
        """Refuses IGNORE NULLS, RESPECT NULLS and WITHIN GROUP."""
        if self.ignore_nulls is not None:
            e.refuse(self.node, f"IGNORE NULLS and RESPECT NULLS of {self.function.upper()}")
        if self.order is not None:
            e.refuse(self.node, f"{self.function.upper()} WITHIN GROUP")


@dataclass(frozen=True)
class Aggregate:
    """A translated aggregate. ``template`` is its SQL, with ``{0}`` for the argument and, after each call, ``{1}`` for
    a clause (FILTER, OVER) or nothing. ``row_test`` is what it asks of rows itself. ``frames`` says
    whether its window may have ORDER BY and a frame.
    """

    template: str
    argument: str
    type: SqlType
    name: str | None
    row_test: str = ""
    frames: bool = True

    def sql(self, test: str = "", window: str = "") -> str:
        """Returns the SQL. ``test`` is the condition of FILTER, ``window`` is OVER with its definition."""
        tests = [row_test for row_test in (self.row_test, test) if row_test]
        clause = f" FILTER (WHERE {' AND '.join(tests)})" if tests else ""
        return plain_cast(self.template.format(self.argument, clause + window), self.type)


#: Translates the call of an aggregate.
AggregateRule = Callable[[Expressions, AggregateCall, Scope], Aggregate]


def aggregate_call(e: Expressions, node: exp.Expr) -> AggregateCall | None:
    """Returns the call of a function with its clauses; ``None`` if the node is none."""
    ignore_nulls, order = None, None
    call_node = node
    while isinstance(call_node, exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        if isinstance(call_node, exp.WithinGroup):
            e.allow_only(call_node, "this", "expression")
            order = tuple(call_node.expression.expressions)
        else:
            e.allow_only(call_node, "this")
            ignore_nulls = isinstance(call_node, exp.IgnoreNulls)
        call_node = call_node.this
    function = e.text.called(call_node)
    return None if function is None else AggregateCall(call_node, function, ignore_nulls, order)


def chosen_value(e: Expressions, call: AggregateCall, scope: Scope) -> tuple[Typed, bool]:
    """Returns the argument of FIRST and similar functions, and whether NULLs are ignored: ``f(x)``, ``f(x, true)``,
    ``f(x) IGNORE NULLS``.
    """
    argument, *flags = call.arguments(e, 1, 2)
    ignore_nulls = bool(call.ignore_nulls)
    if flags and call.ignore_nulls is None and isinstance(flags[0], exp.Boolean):
        ignore_nulls = bool(flags[0].this)
    elif flags:
        e.refuse(flags[0], f"The second argument of {call.function.upper()}, which is not TRUE or FALSE,")
    if isinstance(argument, exp.IgnoreNulls) and call.function in _NULLS_WITHIN and call.ignore_nulls is None:
        e.allow_only(argument, "this")
        argument, ignore_nulls = argument.this, True
    return e.translate(argument, scope), ignore_nulls


def wrapped_call(node: exp.Expr) -> exp.Expr:
    """Returns the node that consists of a call and its clauses: IGNORE NULLS, WITHIN GROUP, FILTER."""
    wrappers = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Filter)
    while isinstance(node.parent, wrappers) and node.parent.this is node:
        node = node.parent
    return node
