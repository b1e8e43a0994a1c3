"""Window functions and OVER, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.sql_types import DOUBLE, INT, STRING, VOID, SqlType
from rewriter.exec.translate.aggregate_calls import AggregateCall, aggregate_call, chosen_value
from rewriter.exec.translate.aggregates import aggregate
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.chosen_values import chosen_name
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.math_functions import literal_int
from rewriter.exec.translate.window_frames import frame

#: The ranks: their types, and their names in the names of columns.
_RANKS = {
    "row_number": (INT, "row_number()"),
    "rank": (INT, "RANK()"),
    "dense_rank": (INT, "DENSE_RANK()"),
    "percent_rank": (DOUBLE, "PERCENT_RANK()"),
    "cume_dist": (DOUBLE, "cume_dist()"),
}
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_TO_ROW = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_TO_PEERS = "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


@dataclass(frozen=True)
class _Function:
    """A translated function without OVER. ``frame`` is Spark's name of the frame that it always has."""

    sql: str
    type: SqlType
    name: str | None
    frame: str | None = None


@dataclass(frozen=True)
class _Definition:
    """The window of a function. ``sql`` is OVER with its definition. ``keys`` and ``frame`` are its parts in Spark's
    name of the column; ``keys`` are ``None`` if one of them has no name.
    """

    sql: str
    keys: str | None
    frame: str
    is_ordered: bool
    has_frame: bool

    def name(self, function: str | None, frame: str | None) -> str | None:
        if function is None or self.keys is None:
            return None
        return f"{function} OVER ({self.keys}{' ' if self.keys else ''}{frame or self.frame})"


def _window(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "partition_by", "order", "spec", "over", "alias")
    if str(node.args.get("over") or "").upper() != "OVER":
        e.refuse(node)
    e.construct("f(…) [FILTER (…)] OVER (PARTITION BY … ORDER BY …)")
    function_node, filter_node = node.this, None
    if isinstance(function_node, exp.Filter):
        e.allow_only(function_node, "this", "expression")
        function_node, filter_node = function_node.this, function_node.expression
    window = _definition(e, _named(e, node, scope), scope)
    call_ = aggregate_call(e, function_node)
    if call_ is not None and call_.function in _RULES:
        if filter_node is not None:
            hint = "Filter the rows in a subquery, or put the condition into the argument."
            e.text.refuse(f"{call_.function.upper()} with FILTER and OVER", node, hint)
        function = _ranked(e, call_, window, scope)
        sql = plain_cast(function.sql + window.sql, function.type)
        return Typed(sql, function.type, window.name(function.name, function.frame))
    translated = aggregate(e, function_node, scope)
    if translated is None:
        e.refuse(function_node)
    if translated.argument.startswith("DISTINCT "):
        hint = "Aggregate with GROUP BY in a subquery of FROM, and join its rows."
        e.text.wrong(
            f"DISTINCT cannot be in a window function: {e.text.shown(function_node)}.",
            "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED", "0A000", node, None, hint,
        )  # fmt: skip
    if not translated.frames and (window.is_ordered or window.has_frame):
        e.text.wrong(
            f"The window of {e.text.shown(function_node)} has no ORDER BY and no frame.",
            "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC", "42601", node,
        )  # fmt: skip
    name, test = translated.name, ""
    if filter_node is not None:
        condition = e.test(filter_node.this, scope, "FILTER")
        test, name = condition.sql, f"{name} FILTER (WHERE {condition.name})" if name and condition.name else None
    return Typed(translated.sql(test, window.sql), translated.type, window.name(name, None))


def _ranked(e: Expressions, call_: AggregateCall, window: _Definition, scope: Scope) -> _Function:
    """Translates a function of the places of rows."""
    name = call_.function.upper()
    if call_.function in _ORDERED and not window.is_ordered:
        e.text.wrong(
            f"The window of {e.text.shown(call_.node)} has no ORDER BY.",
            "WINDOW_FUNCTION_FRAME_NOT_ORDERED", "42601", call_.node, None, "Write OVER (… ORDER BY …).",
        )  # fmt: skip
    if call_.function in _ORDERED and (not window.is_ordered or (window.has_frame and call_.function != "nth_value")):
        # Spark rejects both, and DuckDB accepts them.
        without = "ORDER BY" if call_.function == "nth_value" else "ORDER BY or with a frame"
        e.refuse(call_.node, f"{name} without {without}")
    if call_.order is not None or (call_.ignore_nulls is not None and call_.function not in _NULLS):
        e.refuse(call_.node, f"{name} with IGNORE NULLS, RESPECT NULLS or WITHIN GROUP")
    entry = ENTRIES.get(call_.function)
    if entry is not None:
        e.entries.add(entry)
    return _RULES[call_.function](e, call_, scope)


def _named(e: Expressions, node: exp.Expr, scope: Scope) -> exp.Expr:
    """Returns the definition of the window that ``OVER name`` names; the node itself if OVER defines its own."""
    if node.args.get("alias") is None:
        return node
    if any(node.args.get(key) for key in ("partition_by", "order", "spec")):
        e.refuse(node, "A window that extends another")
    name = node.args["alias"].name
    window = scope.windows.get(name)
    if window is None:
        hint = f" The windows are {', '.join(scope.windows)}." if scope.windows else ""
        e.text.wrong(
            f"The window `{name}` is not defined in the WINDOW clause.{hint}",
            "MISSING_WINDOW_SPECIFICATION", "42P20", node, name,
        )  # fmt: skip
    e.construct("f(…) OVER name, WINDOW name AS (…)")
    e.allow_only(window, "this", "partition_by", "order", "spec")
    return window


def _definition(e: Expressions, window: exp.Expr, scope: Scope) -> _Definition:
    parts = [
        e.comparable(e.translate(key, scope), key, "PARTITION BY") for key in window.args.get("partition_by") or ()
    ]
    order, spec = window.args.get("order"), window.args.get("spec")
    sorted_values = [e.translate(key.this, scope) for key in order.expressions] if order is not None else []
    keys = [_key(e, key, value) for key, value in zip(order.expressions if order else (), sorted_values, strict=True)]
    clauses = [("PARTITION BY", parts)] if parts else []
    clauses += [("ORDER BY", keys)] if keys else []
    typed_frame = None if spec is None else frame(e, spec, sorted_values)
    words = [f"{word} {', '.join(value.sql for value in values)}" for word, values in clauses]
    names = None
    if all(value.name is not None for value in (*parts, *keys)):
        names = " ".join(f"{word} {', '.join(str(value.name) for value in values)}" for word, values in clauses)
    if typed_frame is not None:
        words.append(typed_frame.sql)
    shown = typed_frame.name if typed_frame is not None else _TO_PEERS if keys else _WHOLE
    return _Definition(f" OVER ({' '.join(words)})", names, shown, bool(keys), typed_frame is not None)


def _key(e: Expressions, sort_key: exp.Expr, value: Typed) -> Typed:
    e.allow_only(sort_key, "this", "desc", "nulls_first")
    nulls = "FIRST" if sort_key.args.get("nulls_first") else "LAST"
    direction = f"{'DESC' if sort_key.args.get('desc') else 'ASC'} NULLS {nulls}"
    return Typed(f"{value.sql} {direction}", VOID, None if value.name is None else f"{value.name} {direction}")


_Rule = Callable[[Expressions, AggregateCall, Scope], _Function]


def _rank(e: Expressions, call_: AggregateCall, scope: Scope) -> _Function:
    e.arguments(call_.node, 0)
    type_, name = _RANKS[call_.function]
    return _Function(f"{call_.function}()", type_, name, _TO_PEERS if call_.function == "cume_dist" else _TO_ROW)


def _ntile(e: Expressions, call_: AggregateCall, scope: Scope) -> _Function:
    arguments = e.arguments(call_.node, 0, 1)
    number = literal_int(e, arguments[0]) if arguments else 1
    if number < 1:
        e.text.wrong(
            f"The number of groups of NTILE is at least 1, not {number}.",
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "42K09", call_.node,
        )  # fmt: skip
    return _Function(f"ntile({number})", INT, f"ntile({number})", _TO_ROW)


def _neighbor(e: Expressions, call_: AggregateCall, scope: Scope) -> _Function:
    function = call_.function
    argument, *options = e.arguments(call_.node, 1, 3)
    distance = literal_int(e, options[0]) if options else 1
    value, default = e.translate(argument, scope), Typed("NULL", VOID, "NULL")
    sqls, type_ = [value.sql], value.type
    if len(options) == 2:
        default = e.translate(options[1], scope)
        sqls, type_ = e.cast_to_common_type([value, default], call_.node)
        is_mixed = default.type != VOID and (value.type == STRING) is not (default.type == STRING)
        if type_ != value.type or is_mixed:
            e.refuse(call_.node, f"{function.upper()} of {value.type} with a default of {default.type}")
    sqls.insert(1, str(distance))
    offset = distance if function == "lead" else -distance
    return _Function(
        f"{function}({', '.join(sqls)}{_nulls(call_)})",
        type_,
        call(function, value.name, str(distance), default.name),
        f"ROWS BETWEEN {offset} FOLLOWING AND {offset} FOLLOWING",
    )


def _end_value(function: str) -> _Rule:
    def rule(e: Expressions, call_: AggregateCall, scope: Scope) -> _Function:
        value, ignore_nulls = chosen_value(e, call_, scope)
        if value.type == VOID:
            e.refuse(call_.node, f"{call_.function.upper()} of NULL")
        sql = f"{function}({value.sql}{' IGNORE NULLS' if ignore_nulls else ''})"
        return _Function(sql, value.type, call(chosen_name(call_), value.name))

    return rule


def _nth_value(e: Expressions, call_: AggregateCall, scope: Scope) -> _Function:
    argument, place_node = e.arguments(call_.node, 2)
    value, place = e.translate(argument, scope), literal_int(e, place_node)
    if place < 1:
        e.text.wrong(
            f"The place of a value in NTH_VALUE is at least 1, not {place}.",
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE", "42K09", place_node,
        )  # fmt: skip
    if value.type == VOID:
        e.refuse(call_.node, "NTH_VALUE of NULL")
    name = call("nth_value", value.name, str(place))
    name = f"{name} ignore nulls" if name is not None and call_.ignore_nulls else name
    return _Function(f"nth_value({value.sql}, {place}{_nulls(call_)})", value.type, name)


def _nulls(call_: AggregateCall) -> str:
    return " IGNORE NULLS" if call_.ignore_nulls else ""


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_RANKS, _rank),
    "ntile": _ntile,
    "lag": _neighbor,
    "lead": _neighbor,
    "nth_value": _nth_value,
    "first": _end_value("first_value"),
    "first_value": _end_value("first_value"),
    "any_value": _end_value("first_value"),
    "last": _end_value("last_value"),
    "last_value": _end_value("last_value"),
}
#: The functions that need ORDER BY.
_ORDERED = (*_RANKS, "ntile", "lag", "lead", "nth_value")
#: The functions with IGNORE NULLS.
_NULLS = ("lag", "lead", "nth_value", "first", "first_value", "any_value", "last", "last_value")


def _refuse_without_over(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return e.text.wrong(
        f"The window function {e.text.shown(node)} has no OVER.",
        "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", "42601", node, None, "Write … OVER (ORDER BY …).",
    )  # fmt: skip


NODES: dict[type[exp.Expr] | str, Allowed] = {exp.Window: Allowed(_window, None)}
FUNCTIONS = functions(
    "Window functions",
    ("row_number()", _refuse_without_over, "without ORDER BY"),
    ("rank()", _refuse_without_over, "without ORDER BY"),
    ("dense_rank()", _refuse_without_over, "without ORDER BY"),
    ("percent_rank()", _refuse_without_over, "without ORDER BY"),
    ("cume_dist()", _refuse_without_over, "without ORDER BY"),
    ("ntile([n])", _refuse_without_over, "without ORDER BY; n that is not a literal"),
    ("lag(x[, n[, default]]) [IGNORE NULLS]", _refuse_without_over, "a default of another type"),
    ("lead(x[, n[, default]]) [IGNORE NULLS]", _refuse_without_over, "a default of another type"),
    ("nth_value(x, n) [IGNORE NULLS]", _refuse_without_over, "without ORDER BY; n that is not a literal"),
)
ENTRIES: dict[object, Entry | None] = {name: allowed.entry for name, allowed in FUNCTIONS.items()}
