"""LISTAGG and STRING_AGG. Without WITHIN GROUP, the order of the texts is not defined, on either engine."""

from __future__ import annotations

from sqlglot import exp

from rewriter.exec.sql_types import STRING
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.casts import string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, call


def _list(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    node = aggregate.node
    e.allow_only(node, "this", "expressions")
    if aggregate.ignore_nulls is not None:
        e.refuse(node, f"IGNORE NULLS and RESPECT NULLS of {aggregate.function.upper()}")
    arguments, word = list(node.expressions), ""
    if arguments and isinstance(arguments[0], exp.Distinct):
        e.allow_only(arguments[0], "expressions")
        arguments, word = [*arguments[0].expressions, *arguments[1:]], "DISTINCT "
    if len(arguments) not in (1, 2):
        e.check_arity(node, len(arguments))
        e.refuse(node, f"{aggregate.function.upper()} of {len(arguments)} arguments")
    value = e.translate(arguments[0], scope)
    delimiter, shown = _delimiter(e, arguments[1]) if len(arguments) == 2 else ("", "NULL")
    keys, names = [], []
    for sort_key in aggregate.order or ():
        e.allow_only(sort_key, "this", "desc", "nulls_first")
        key = e.comparable(e.translate(sort_key.this, scope), sort_key, "WITHIN GROUP")
        nulls = "FIRST" if sort_key.args.get("nulls_first") else "LAST"
        direction = f"{'DESC' if sort_key.args.get('desc') else 'ASC'} NULLS {nulls}"
        if word and key.sql != value.sql:
            e.text.wrong(
                f"{aggregate.function.upper()}(DISTINCT …) is sorted by its argument {e.text.shown(arguments[0])}.",
                "INVALID_WITHIN_GROUP_EXPRESSION.MISMATCH_WITH_DISTINCT_INPUT", "42K0K", sort_key,
            )  # fmt: skip
        keys.append(f"{key.sql} {direction}")
        names.append(None if key.name is None else f"{key.name} {direction}")
    if word and (value.type != STRING or not isinstance(arguments[0], exp.Column)):
        hint = "Compute the STRING in a subquery of FROM, and name its column here."
        e.text.refuse(f"{aggregate.function.upper()}(DISTINCT …) of another argument than a STRING column", node, hint)
    name = call("listagg", None if value.name is None else word + value.name, shown)
    order = ""
    if keys:
        order = f" ORDER BY {', '.join(keys)}"
        within = call("WITHIN GROUP ", *names)
        name = None if name is None or within is None else f"{name} {within.replace('(', '(ORDER BY ', 1)}"
    options = f", {string_literal(delimiter)}{order}".replace("{", "{{").replace("}", "}}")
    sql = word + e.cast(value, STRING, node)
    return Aggregate(f"string_agg({{0}}{options}){{1}}", sql, STRING, name, frames=False)


def _delimiter(e: Expressions, node: exp.Expr) -> tuple[str, str]:
    """Returns the delimiter, and its text in Spark's name of the column."""
    if isinstance(node, exp.Null):
        return "", "NULL"
    if not isinstance(node, exp.Literal) or not node.args.get("is_string"):
        if node.find(exp.Column) is not None:
            e.text.wrong(
                f"The delimiter of LISTAGG is a constant, not {e.text.shown(node)}.",
                "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT", "42K09", node,
            )  # fmt: skip
        e.refuse(node, f"The delimiter {e.text.shown(node)}")
    text = e.text.string(node)
    return text, text


RULES: dict[str, AggregateRule] = {"listagg": _list, "string_agg": _list}
LINES = tuple(
    (
        f"{function}([DISTINCT] x[, 'delimiter']) [WITHIN GROUP (ORDER BY …)]",
        "FLOAT and DOUBLE; DISTINCT of other arguments than STRING columns; a delimiter that is not a literal",
    )
    for function in RULES
)
