"""Window functions and OVER, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.exec.sql_types import DOUBLE, INT, SqlType
from rewriter.exec.translate.aggregates import aggregate, aggregate_sql
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, functions
from rewriter.exec.translate.math_functions import literal_int

_RANKS = {"row_number": INT, "rank": INT, "dense_rank": INT, "percent_rank": DOUBLE, "cume_dist": DOUBLE}


def _window(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "partition_by", "order", "spec", "over")
    if str(node.args.get("over") or "").upper() != "OVER":
        e.refuse(node)
    e.construct("f(…) OVER (PARTITION BY … ORDER BY …)")
    if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls):
        e.refuse(node, "IGNORE NULLS and RESPECT NULLS")
    function = e.text.called(node.this)
    order = node.args.get("order")
    rank_translation = _RANKED.get(function or "")
    if rank_translation is not None and (order is None or node.args.get("spec") is not None):
        # Spark rejects both, and DuckDB accepts them.
        e.refuse(node, f"{str(function).upper()} without ORDER BY or with a frame")
    parts = [e.translate(key, scope).sql for key in node.args.get("partition_by") or ()]
    words = [f"PARTITION BY {', '.join(parts)}"] if parts else []
    if order is not None:
        words.append(f"ORDER BY {', '.join(_key(e, key, scope) for key in order.expressions)}")
    if node.args.get("spec") is not None:
        words.append(_frame(e, node.args["spec"], order is not None))
    clause = f" OVER ({' '.join(words)})"
    if rank_translation is not None:
        e.entries.add(_entry(str(function)))
        sql, type_ = rank_translation(e, node.this, scope)
        return Typed(plain_cast(sql + clause, type_), type_)
    translated_aggregate = aggregate(e, node.this, scope)
    if translated_aggregate is None:
        e.refuse(node.this)
    if translated_aggregate.argument.startswith("DISTINCT "):
        e.refuse(node, "DISTINCT with OVER")
    return Typed(aggregate_sql(translated_aggregate, clause), translated_aggregate.type)


def _entry(function: str) -> Entry:
    entry = FUNCTIONS[function].entry
    assert entry is not None
    return entry


def _key(e: Expressions, sort_key: exp.Expr, scope: Scope) -> str:
    e.allow_only(sort_key, "this", "desc", "nulls_first")
    value = e.translate(sort_key.this, scope)
    nulls = "FIRST" if sort_key.args.get("nulls_first") else "LAST"
    return f"{value.sql} {'DESC' if sort_key.args.get('desc') else 'ASC'} NULLS {nulls}"


def _frame(e: Expressions, spec: exp.Expr, has_order: bool) -> str:
    e.allow_only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or not has_order:
        e.refuse(spec, "A frame without ORDER BY")
    e.construct(f"{kind} BETWEEN … AND …")
    start = _frame_bound(e, spec, "start", kind)
    end = _frame_bound(e, spec, "end", kind) if spec.args.get("end") is not None else "CURRENT ROW"
    return f"{kind} BETWEEN {start} AND {end}"


def _frame_bound(e: Expressions, spec: exp.Expr, key: str, kind: str) -> str:
    bound_node, side = spec.args[key], str(spec.args.get(f"{key}_side") or "")
    if isinstance(bound_node, str):
        return f"{bound_node} {side}".strip()
    if kind == "RANGE":
        e.refuse(spec, "RANGE with a distance")
    return f"{literal_int(e, bound_node)} {side}"


def _rank(function: str) -> Callable[[Expressions, exp.Expr, Scope], tuple[str, SqlType]]:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[str, SqlType]:
        e.arguments(node, 0)
        return f"{function}()", _RANKS[function]

    return translate


def _ntile(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[str, SqlType]:
    number = literal_int(e, e.arguments(node, 1)[0])
    if number < 1:
        e.refuse(node, f"NTILE({number})")
    return f"ntile({number})", INT


def _neighbor(function: str) -> Callable[[Expressions, exp.Expr, Scope], tuple[str, SqlType]]:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[str, SqlType]:
        argument, *options = e.arguments(node, 1, 3)
        distance = literal_int(e, options[0]) if options else 1
        values = [e.translate(argument, scope)]
        if len(options) < 2:
            return f"{function}({values[0].sql}, {distance})", values[0].type
        values.append(e.translate(options[1], scope))
        (value, default), type_ = e.cast_to_common_type(values, node)
        if type_ != values[0].type:
            e.refuse(node, f"{function.upper()} of {values[0].type} with a default of {values[1].type}")
        return f"{function}({value}, {distance}, {default})", type_

    return translate


_RANKED: dict[str, Callable[[Expressions, exp.Expr, Scope], tuple[str, SqlType]]] = {
    **{name: _rank(name) for name in _RANKS},
    "ntile": _ntile,
    "lag": _neighbor("lag"),
    "lead": _neighbor("lead"),
}


def _refuse_without_over(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return e.refuse(node, f"The window function {e.text.called(node)} without OVER")


NODES: dict[type[exp.Expr] | str, Allowed] = {exp.Window: Allowed(_window, None)}
FUNCTIONS = functions(
    "Window functions",
    ("row_number()", _refuse_without_over, "without ORDER BY"),
    ("rank()", _refuse_without_over, "without ORDER BY"),
    ("dense_rank()", _refuse_without_over, "without ORDER BY"),
    ("percent_rank()", _refuse_without_over, "without ORDER BY"),
    ("cume_dist()", _refuse_without_over, "without ORDER BY"),
    ("ntile(n)", _refuse_without_over, "without ORDER BY; n that is not a literal"),
    ("lag(x[, n[, default]])", _refuse_without_over, "IGNORE NULLS; a default of another type"),
    ("lead(x[, n[, default]])", _refuse_without_over, "IGNORE NULLS; a default of another type"),
)
