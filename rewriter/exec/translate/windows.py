"""Window functions and OVER, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from rewriter.exec.sql_types import DATE, DOUBLE, INT, STRING, TIMESTAMP, VOID, SqlType
from rewriter.exec.translate.aggregate_calls import AggregateCall, aggregate_call, chosen_value
from rewriter.exec.translate.aggregates import aggregate
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.conditionals import chosen_name
from rewriter.exec.translate.duckdb_macros import for_key
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.intervals import CLOCK_UNITS, interval_of_one_unit
from rewriter.exec.translate.math_functions import literal_int
from rewriter.exec.translate.theta_functions import sketch_of_row
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.exec.translate.allowlist_entries import Entry

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
    if filter_node is None and _is_of_own_value(e, node, function_node):
        return Typed(plain_cast(sketch_of_row(translated), translated.type), translated.type, window.name(name, None))
    if filter_node is not None:
        condition = e.test(filter_node.this, scope, "FILTER")
        test, name = condition.sql, f"{name} FILTER (WHERE {condition.name})" if name and condition.name else None
    return Typed(translated.sql(test, window.sql), translated.type, window.name(name, None))


def _is_of_own_value(e: Expressions, node: exp.Expr, function_node: exp.Expr) -> bool:
    """Tests for ``theta_sketch_agg(x) OVER (PARTITION BY x)``: each event has the sketch of its own value."""
    keys: list[exp.Expr] = node.args.get("partition_by") or []
    is_alone = len(keys) == 1 and not any(node.args.get(part) for part in ("order", "spec", "alias"))
    if e.text.called(function_node) != "theta_sketch_agg" or not is_alone or keys[0] != function_node.expressions[0]:
        return False
    return not any(e.text.called(part) in _RANDOM for part in keys[0].walk())


#: Functions that return another value each time.
_RANDOM = ("rand", "random", "randn", "uuid")


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
    entry = _ENTRIES.get(call_.function)
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
    values = [
        e.comparable(e.translate(key, scope), key, "PARTITION BY", grouped=True)
        for key in window.args.get("partition_by") or ()
    ]
    parts = [replace(value, sql=for_key(value.sql)) for value in values]
    order, spec = window.args.get("order"), window.args.get("spec")
    sorted_values = [
        e.comparable(e.translate(key.this, scope), key, "ORDER BY")
        for key in (order.expressions if order is not None else ())
    ]
    keys = [_key(e, key, value) for key, value in zip(order.expressions if order else (), sorted_values, strict=True)]
    clauses = [("PARTITION BY", parts)] if parts else []
    clauses += [("ORDER BY", keys)] if keys else []
    typed_frame = None if spec is None else _frame(e, spec, sorted_values)
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
    return Typed(f"{for_key(value.sql)} {direction}", VOID, None if value.name is None else f"{value.name} {direction}")


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
_ENTRIES: dict[object, Entry | None] = {name: allowed.entry for name, allowed in FUNCTIONS.items()}


# Frames of windows: ROWS, and RANGE with a distance.
#
# The distance of RANGE has the type of the sort key, in which Spark, too, computes the ends: an overflow is an error.

_MISMATCH = "DATATYPE_MISMATCH."
_NO_DISTANCE = "Cast the sort key to BIGINT, DATE or TIMESTAMP in a subquery, if its values allow it."
#: The least value that an integer type does not have.
_LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


@dataclass(frozen=True)
class Frame:
    """A translated frame, and its text in Spark's name of the column."""

    sql: str
    name: str


@dataclass(frozen=True)
class _Bound:
    """An end of a frame. ``offset`` is the signed distance; ``None`` for UNBOUNDED and CURRENT ROW. ``unit`` is the
    unit of an interval.
    """

    sql: str
    name: str
    offset: int | None = None
    unit: str = ""


def _frame(e: Expressions, spec: exp.Expr, keys: Sequence[Typed]) -> Frame:
    """Translates a frame of a window that is sorted by ``keys``."""
    e.allow_only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "").upper()
    has_distance = kind == "RANGE" and not all(
        isinstance(spec.args.get(end), str | None) for end in ("start", "end")
    )  # fmt: skip
    if has_distance and len(keys) != 1:
        e.text.wrong(
            "RANGE with a distance needs exactly one sort key in ORDER BY.",
            f"{_MISMATCH}RANGE_FRAME_{'MULTI_ORDER' if keys else 'WITHOUT_ORDER'}", "42K09", spec,
        )  # fmt: skip
    if kind not in ("ROWS", "RANGE") or not keys:
        e.refuse(spec, "A frame without ORDER BY")
    e.construct(f"{kind} BETWEEN … AND …")
    key = keys[0] if kind == "RANGE" else None
    start = _bound(e, spec, "start", key)
    end = _Bound("CURRENT ROW", "CURRENT ROW") if spec.args.get("end") is None else _bound(e, spec, "end", key)
    _check(e, spec, start, end)
    return Frame(f"{kind} BETWEEN {start.sql} AND {end.sql}", f"{kind} BETWEEN {start.name} AND {end.name}")


def _check(e: Expressions, spec: exp.Expr, start: _Bound, end: _Bound) -> None:
    if start.sql == "UNBOUNDED FOLLOWING" or end.sql == "UNBOUNDED PRECEDING":
        e.text.wrong(
            f"A frame cannot begin with UNBOUNDED FOLLOWING or end with UNBOUNDED PRECEDING: {e.text.shown(spec)}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_INVALID_BOUND", "42K09", spec,
        )  # fmt: skip
    if start.offset is None and end.offset is None:
        return
    if start.offset is None or end.offset is None:
        before, after = start.offset or 0, end.offset or 0
        if "UNBOUNDED" not in start.sql + end.sql and before > after:
            e.refuse(spec, f"The frame from {start.name} to {end.name}, which has no rows,")
    elif start.unit != end.unit:
        e.text.wrong(
            f"The distances of a frame have one unit, not {start.unit or 'none'} and {end.unit or 'none'}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_DIFF_TYPES", "42K09", spec,
        )  # fmt: skip
    elif start.offset > end.offset:
        e.text.wrong(
            f"The frame begins at {start.name}, behind its end {end.name}.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON", "42K09", spec,
        )  # fmt: skip


def _bound(e: Expressions, spec: exp.Expr, end: str, key: Typed | None) -> _Bound:
    """Translates an end. ``key`` is the sort key of RANGE."""
    node, side = spec.args[end], str(spec.args.get(f"{end}_side") or "").upper()
    if isinstance(node, str):
        text = f"{node.upper()} {side}".strip()
        return _Bound(text, text)
    sign = -1 if side == "PRECEDING" else 1
    if key is None:
        distance = literal_int(e, node)
        return _Bound(f"{distance} {side}", f"{distance} {side}", sign * distance)
    return _range_bound(e, node, side, sign, key)


def _range_bound(e: Expressions, node: exp.Expr, side: str, sign: int, key: Typed) -> _Bound:
    type_ = key.type
    if type_ == STRING:
        e.text.wrong(
            "RANGE with a distance needs a sort key that is a number or a time, not a STRING.",
            f"{_MISMATCH}SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE", "42K09", node,
        )  # fmt: skip
    if isinstance(node, exp.Interval):
        amount, unit = interval_of_one_unit(e, node)
        if not type_.is_datetime or (type_ == DATE and unit in CLOCK_UNITS):
            e.text.refuse(f"RANGE with an interval of {unit} over {type_}", node, _NO_DISTANCE)
        shown = f"{amount:02d}" if unit in CLOCK_UNITS else str(amount)
        sql, name = f"INTERVAL ({amount}) {unit}", f"INTERVAL '{shown}' {unit}"
    else:
        if not type_.is_integer and type_ not in (DATE, TIMESTAMP):
            e.text.refuse(f"RANGE with a distance over {type_}", node, _NO_DISTANCE)
        amount, unit = literal_int(e, node), ""
        if type_ == TIMESTAMP:
            e.text.wrong(
                "RANGE over a TIMESTAMP needs an interval: INTERVAL 1 HOUR.",
                f"{_MISMATCH}RANGE_FRAME_INVALID_TYPE", "42K09", node,
            )  # fmt: skip
        if amount >= _LIMITS.get(type_.name, 2**31):
            e.refuse(node, f"RANGE with the distance {amount} over {type_}")
        sql, name = (f"INTERVAL ({amount}) DAY" if type_ == DATE else plain_cast(str(amount), type_)), str(amount)
    if amount < 0:
        e.text.refuse("RANGE with a negative distance", node, "Write PRECEDING in place of FOLLOWING, or the reverse.")
    return _Bound(f"{sql} {side}", f"{name} {side}", sign * amount, unit)
