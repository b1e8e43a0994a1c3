"""Window functions and OVER, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from rewriter.exec.sql_types import DOUBLE, INT, SqlType
from rewriter.exec.translate.aggregates import aggregate, applied
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, functions
from rewriter.exec.translate.math_functions import literal_int

_RANKS = {"row_number": INT, "rank": INT, "dense_rank": INT, "percent_rank": DOUBLE, "cume_dist": DOUBLE}


def _over(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.only(node, "this", "partition_by", "order", "spec", "over")
    if str(node.args.get("over") or "").upper() != "OVER":
        e.refuse(node)
    e.construct("f(…) OVER (PARTITION BY … ORDER BY …)")
    if isinstance(node.this, exp.IgnoreNulls | exp.RespectNulls):
        e.refuse(node, "IGNORE NULLS and RESPECT NULLS")
    function = e.text.called(node.this)
    order = node.args.get("order")
    ranked = _RANKED.get(function or "")
    if ranked is not None and (order is None or node.args.get("spec") is not None):
        # Spark rejects both, and DuckDB accepts them.
        e.refuse(node, f"{str(function).upper()} without ORDER BY or with a frame")
    parts = [e.translate(key, scope).sql for key in node.args.get("partition_by") or ()]
    words = [f"PARTITION BY {', '.join(parts)}"] if parts else []
    if order is not None:
        words.append(f"ORDER BY {', '.join(_key(e, key, scope) for key in order.expressions)}")
    if node.args.get("spec") is not None:
        words.append(_frame(e, node.args["spec"], order is not None))
    clause = f" OVER ({' '.join(words)})"
    if ranked is not None:
        e.entries.add(_entry(str(function)))
        sql, type_ = ranked(e, node.this, scope)
        return Typed(plain_cast(sql + clause, type_), type_)
    called = aggregate(e, node.this, scope)
    if called is None:
        e.refuse(node.this)
    if called.argument.startswith("DISTINCT "):
        e.refuse(node, "DISTINCT with OVER")
    return Typed(applied(called, clause), called.type)


def _entry(function: str) -> Entry:
    entry = FUNCTIONS[function].entry
    assert entry is not None
    return entry


def _key(e: Expressions, ordered: exp.Expr, scope: Scope) -> str:
    e.only(ordered, "this", "desc", "nulls_first")
    value = e.translate(ordered.this, scope)
    nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
    return f"{value.sql} {'DESC' if ordered.args.get('desc') else 'ASC'} NULLS {nulls}"


def _frame(e: Expressions, spec: exp.Expr, ordered: bool) -> str:
    e.only(spec, "kind", "start", "start_side", "end", "end_side")
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in ("ROWS", "RANGE") or not ordered:
        e.refuse(spec, "A frame without ORDER BY")
    e.construct(f"{kind} BETWEEN … AND …")
    start = _bound(e, spec, "start", kind)
    end = _bound(e, spec, "end", kind) if spec.args.get("end") is not None else "CURRENT ROW"
    return f"{kind} BETWEEN {start} AND {end}"


def _bound(e: Expressions, spec: exp.Expr, which: str, kind: str) -> str:
    bound, side = spec.args[which], str(spec.args.get(f"{which}_side") or "")
    if isinstance(bound, str):
        return f"{bound} {side}".strip()
    if kind == "RANGE":
        e.refuse(spec, "RANGE with a distance")
    return f"{literal_int(e, bound)} {side}"


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


def _shifted(function: str) -> Callable[[Expressions, exp.Expr, Scope], tuple[str, SqlType]]:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[str, SqlType]:
        argument, *rest = e.arguments(node, 1, 3)
        distance = literal_int(e, rest[0]) if rest else 1
        values = [e.translate(argument, scope)]
        if len(rest) < 2:
            return f"{function}({values[0].sql}, {distance})", values[0].type
        values.append(e.translate(rest[1], scope))
        (value, default), type_ = e.together(values, node)
        if type_ != values[0].type:
            e.refuse(node, f"{function.upper()} of {values[0].type} with a default of {values[1].type}")
        return f"{function}({value}, {distance}, {default})", type_

    return translate


_RANKED: dict[str, Callable[[Expressions, exp.Expr, Scope], tuple[str, SqlType]]] = {
    **{name: _rank(name) for name in _RANKS},
    "ntile": _ntile,
    "lag": _shifted("lag"),
    "lead": _shifted("lead"),
}


def _alone(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return e.refuse(node, f"The window function {e.text.called(node)} without OVER")


NODES: dict[type[exp.Expr] | str, Allowed] = {exp.Window: Allowed(_over, None)}
FUNCTIONS = functions(
    "Window functions",
    ("row_number()", _alone, "without ORDER BY"),
    ("rank()", _alone, "without ORDER BY"),
    ("dense_rank()", _alone, "without ORDER BY"),
    ("percent_rank()", _alone, "without ORDER BY"),
    ("cume_dist()", _alone, "without ORDER BY"),
    ("ntile(n)", _alone, "without ORDER BY; n that is not a literal"),
    ("lag(x[, n[, default]])", _alone, "IGNORE NULLS; a default of another type"),
    ("lead(x[, n[, default]])", _alone, "IGNORE NULLS; a default of another type"),
)
