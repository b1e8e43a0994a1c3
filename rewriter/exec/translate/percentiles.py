"""MEDIAN, percentiles and MODE.

Spark interpolates between doubles as ``low + (high - low) * fraction``, and finds a place as ``ceil(p * n)``, in
doubles. DuckDB's own functions round otherwise, so the values are sorted as a list.
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, DOUBLE, array_of
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call
from rewriter.exec.translate.math_functions import literal_int

_APPROXIMATE_ACCURACY = 10000
_MOST_PERCENTAGES = 1000


def _percentage(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[str, str | None]:
    """Returns a literal percentage as SQL and its name."""
    if _is_array(e, node):
        hint = "Write one call for each percentage, or use the Spark engine (engine spark)."
        e.text.refuse("An array of percentages", node, hint)
    value = e.translate(node, scope)
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    number = e.parameters.get(str(literal.this)) if isinstance(literal, exp.Placeholder) else None
    if isinstance(literal, exp.Literal) and not literal.args.get("is_string"):
        number = float(str(literal.this))
    if not isinstance(number, int | float | Decimal) or isinstance(number, bool):
        e.refuse(node, f"The percentage {e.text.shown(node)}, which is not a literal number,")
    percentage = sign * float(number)
    if not 0 <= percentage <= 1:
        e.text.wrong(
            f"A percentage is between 0.0 and 1.0, not {percentage}.",
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "42K09", node,
        )  # fmt: skip
    return f"CAST('{percentage!r}' AS DOUBLE)", value.name


def _double(e: Expressions, aggregate: AggregateCall, node: exp.Expr, scope: Scope) -> tuple[str, str | None]:
    value = e.translate(node, scope)
    if value.type.name == "string":
        hint = "Write CAST(… AS DOUBLE) around the argument."
        e.text.refuse(f"{aggregate.function.upper()} of strings", aggregate.node, hint)
    if not value.type.is_numeric:
        e.refuse(aggregate.node, f"{aggregate.function.upper()} of {value.type}")
    return e.cast(value, DOUBLE, aggregate.node), value.name


def _median(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    aggregate.only_plain(e)
    sql, name = _double(e, aggregate, aggregate.arguments(e, 1)[0], scope)
    return Aggregate("rw_percentile(list({0}){1}, 0.5, 'ASC')", sql, DOUBLE, call("median", name), frames=False)


def _percentile(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    aggregate.only_plain(e)
    if len(aggregate.node.expressions) == 3:
        e.refuse(aggregate.node, "PERCENTILE with frequencies (a third argument)")
    argument, percentage_node = aggregate.arguments(e, 2)
    sql, name = _double(e, aggregate, argument, scope)
    if _is_array(e, percentage_node):
        parts = percentage_node.expressions
        if not 1 <= len(parts) <= _MOST_PERCENTAGES:
            e.refuse(percentage_node, f"An array of {len(parts):,} percentages")
        pairs = [_percentage(e, part, scope) for part in parts]
        values = ", ".join(f"rw_percentile(list({{0}}){{1}}, {percentage}, 'ASC')" for percentage, _ in pairs)
        array_name = call("percentile", name, call("array", *(part_name for _, part_name in pairs)), "1")
        return Aggregate(f"CASE WHEN count({{0}}){{1}} > 0 THEN [{values}] END", sql, array_of(DOUBLE), array_name)
    percentage, percentage_name = _percentage(e, percentage_node, scope)
    template = f"rw_percentile(list({{0}}){{1}}, {percentage}, 'ASC')"
    return Aggregate(template, sql, DOUBLE, call("percentile", name, percentage_name, "1"))


def _is_array(e: Expressions, node: exp.Expr) -> bool:
    return isinstance(node, exp.Array) or e.text.called(node) == "array"


def _within(macro: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        key, direction = _key(e, aggregate)
        percentage, percentage_name = _percentage(e, aggregate.arguments(e, 1)[0], scope)
        sql, name = _double(e, aggregate, key, scope)
        template = f"{macro}(list({{0}}){{1}}, {percentage}, '{direction}')"
        call_name = call(aggregate.function, percentage_name)
        suffix = " DESC" if direction == "DESC" else ""
        full_name = f"{call_name} WITHIN GROUP (ORDER BY {name}{suffix})" if call_name and name else None
        return Aggregate(template, sql, DOUBLE, full_name, frames=False)

    return rule


def _key(e: Expressions, aggregate: AggregateCall) -> tuple[exp.Expr, str]:
    """Returns the sort key of WITHIN GROUP and its direction. NULLs are not among the values, wherever they are
    sorted.
    """
    if aggregate.ignore_nulls is not None:
        e.refuse(aggregate.node, f"IGNORE NULLS and RESPECT NULLS of {aggregate.function.upper()}")
    if aggregate.order is None:
        e.text.wrong(
            f"{aggregate.function.upper()} needs WITHIN GROUP (ORDER BY …).",
            "INVALID_WITHIN_GROUP_EXPRESSION.WITHIN_GROUP_MISSING", "42K0K", aggregate.node,
        )  # fmt: skip
    if len(aggregate.order) != 1:
        e.text.wrong(
            f"{aggregate.function.upper()} has one sort key in WITHIN GROUP, not {len(aggregate.order)}.",
            "INVALID_WITHIN_GROUP_EXPRESSION.WRONG_NUM_ORDERINGS", "42K0K", aggregate.node,
        )  # fmt: skip
    (sort_key,) = aggregate.order
    e.allow_only(sort_key, "this", "desc", "nulls_first")
    return sort_key.this, "DESC" if sort_key.args.get("desc") else "ASC"


def _approximate(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    """Returns the exact percentile: one of the values, in its own type."""
    aggregate.only_plain(e)
    argument, percentage_node, *accuracies = aggregate.arguments(e, 2, 3)
    accuracy = literal_int(e, accuracies[0]) if accuracies else _APPROXIMATE_ACCURACY
    if accuracy < 1:
        e.text.wrong(
            f"The accuracy of {aggregate.function.upper()} is at least 1, not {accuracy}.",
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "42K09", accuracies[0],
        )  # fmt: skip
    value = e.translate(argument, scope)
    if not (value.type.is_numeric or value.type.is_datetime):
        e.refuse(aggregate.node, f"{aggregate.function.upper()} of {value.type}")
    percentage, percentage_name = _percentage(e, percentage_node, scope)
    template = f"rw_ranked(list({{0}}){{1}}, {percentage}, 'ASC')"
    name = call(aggregate.function, value.name, percentage_name, str(accuracy))
    return Aggregate(template, value.sql, value.type, name)


def _approximate_count(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    """Returns the exact count of the distinct values. The second argument, an error, has no effect."""
    aggregate.only_plain(e)
    argument, *error = aggregate.arguments(e, 1, 2)
    if error and not isinstance(error[0], exp.Literal):
        e.refuse(error[0], "An error that is not a literal number")
    value = e.translate(argument, scope)
    return Aggregate("count(DISTINCT {0}){1}", value.sql, BIGINT, call(aggregate.function, value.name))


def _mode(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    """Translates ``mode(x)``, ``mode(x, true)`` and ``mode() WITHIN GROUP (ORDER BY x)``. The last two return the first
    of several values that are as frequent.
    """
    if aggregate.order is not None:
        aggregate.arguments(e, 0)
        argument, direction = _key(e, aggregate)
        return _first_mode(e, aggregate, e.translate(argument, scope), direction)
    aggregate.only_plain(e)
    argument, *flags = aggregate.arguments(e, 1, 2)
    value = e.translate(argument, scope)
    if flags and not isinstance(flags[0], exp.Boolean):
        e.refuse(flags[0], "The second argument of MODE, which is not TRUE or FALSE,")
    if flags and flags[0].this:
        return _first_mode(e, aggregate, value, "ASC")
    return Aggregate("mode({0}){1}", _comparable(e, aggregate, value), value.type, call("mode", value.name))


def _first_mode(e: Expressions, aggregate: AggregateCall, value: Typed, direction: str) -> Aggregate:
    # Spark names the direction in reverse.
    suffix = " DESC" if direction == "ASC" else ""
    name = None if value.name is None else f"mode() WITHIN GROUP (ORDER BY {value.name}{suffix})"
    sql = f"{_comparable(e, aggregate, value)} ORDER BY {value.sql} {direction}"
    return Aggregate("mode({0}){1}", sql, value.type, name, frames=False)


def _comparable(e: Expressions, aggregate: AggregateCall, value: Typed) -> str:
    if value.type.is_floating or value.type.name == "void":
        # DuckDB counts each NaN as a value of its own.
        e.refuse(aggregate.node, f"MODE of {value.type}")
    return plain_cast(value.sql, value.type)


RULES: dict[str, AggregateRule] = {
    "median": _median,
    "percentile": _percentile,
    "percentile_cont": _within("rw_percentile"),
    "percentile_disc": _within("rw_ranked"),
    "percentile_approx": _approximate,
    "approx_percentile": _approximate,
    "approx_count_distinct": _approximate_count,
    "mode": _mode,
}
_PERCENTAGES = "DISTINCT; strings; percentages that are arrays or not literal"
LINES = (
    ("median(x)", "DISTINCT; strings"),
    ("percentile(x, p)", "DISTINCT; strings; percentages that are no literals, or arrays of others; frequencies"),
    ("percentile_cont(p) WITHIN GROUP (ORDER BY x)", _PERCENTAGES),
    ("percentile_disc(p) WITHIN GROUP (ORDER BY x)", _PERCENTAGES),
    ("percentile_approx(x, p[, accuracy])", _PERCENTAGES),
    ("approx_percentile(x, p[, accuracy])", _PERCENTAGES),
    ("approx_count_distinct(x[, error])", "DISTINCT"),
    ("mode(x[, true]), mode() WITHIN GROUP (ORDER BY x)", "DISTINCT; DOUBLE and FLOAT"),
)
