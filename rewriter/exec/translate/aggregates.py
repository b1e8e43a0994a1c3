"""Aggregates, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, DOUBLE, MAX_PRECISION, TINYINT, VOID, SqlType, decimal
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.arithmetic import divided_decimals
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of one value. ``template`` is its SQL, with ``{0}`` for the argument and, after each call, ``{1}``
    for a clause (FILTER, OVER) or nothing.
    """

    template: str
    argument: str
    type: SqlType
    name: str | None


#: A function of the argument that returns the aggregate's template, the argument's SQL, and the type of the result.
_Rule = Callable[[Expressions, Typed, exp.Expr], tuple[str, str, SqlType]]


def _count(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    return "count({0}){1}", value.sql, BIGINT


def _sum(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.is_integer:
        return "sum({0}){1}", value.sql, BIGINT
    if value.type.is_decimal:
        return "sum({0}){1}", value.sql, _sum_type(value.type)
    if value.type.is_floating:
        return "sum({0}){1}", plain_cast(value.sql, DOUBLE), DOUBLE
    return e.refuse(node, f"SUM of {value.type}")


def _sum_type(type_: SqlType) -> SqlType:
    return decimal(min(MAX_PRECISION, type_.precision + 10), type_.scale)


def _avg(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.is_integer or value.type.is_floating:
        return "avg({0}){1}", plain_cast(value.sql, DOUBLE), DOUBLE
    if not value.type.is_decimal:
        return e.refuse(node, f"AVG of {value.type}")
    total, average_type = _sum_type(value.type), decimal(value.type.precision + 4, value.type.scale + 4)
    first, second = plain_cast("sum({0}){1}", total), plain_cast("nullif(count({0}){1}, 0)", decimal(20, 0))
    sql, _ = divided_decimals(first, total, second, decimal(20, 0), average_type)
    if sql is None or average_type.precision > MAX_PRECISION:
        return e.refuse(node, f"AVG of {value.type}")
    return sql, value.sql, average_type


def _extreme(function: str) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if value.type == VOID:
            e.refuse(node, f"{function.upper()} of NULL")
        return f"{function}({{0}}){{1}}", value.sql, value.type

    return rule


def _spread(function: str) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if not value.type.is_numeric:
            e.refuse(node, f"{function.upper()} of {value.type}")
        return f"{function}({{0}}){{1}}", e.cast(value, DOUBLE, node), DOUBLE

    return rule


def _truth(template: str, type_: SqlType) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if value.type != BOOLEAN:
            e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
        return template, value.sql, type_

    return rule


_RULES: dict[str, _Rule] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "min": _extreme("min"),
    "max": _extreme("max"),
    # DuckDB's own function returns NULL for no rows.
    "count_if": _truth("count(CASE WHEN {0} THEN 1 END){1}", BIGINT),
    **{name: _truth("bool_and({0}){1}", BOOLEAN) for name in ("bool_and", "every")},
    **{name: _truth("bool_or({0}){1}", BOOLEAN) for name in ("bool_or", "some", "any")},
    **{name: _spread("stddev_samp") for name in ("stddev", "std", "stddev_samp")},
    "stddev_pop": _spread("stddev_pop"),
    **{name: _spread("var_samp") for name in ("variance", "var_samp")},
    "var_pop": _spread("var_pop"),
}
#: The aggregates that are translated with DISTINCT.
_DISTINCT = ("count", "sum", "avg", "mean", "min", "max")


def aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> Aggregate | None:
    """Returns the aggregate that a node calls; ``None`` if it calls none of the list. Raises the errors of
    ``translate``.
    """
    function = e.text.called(node)
    rule = _RULES.get(function or "")
    if rule is None or function is None:
        return None
    (argument,) = e.arguments(node, 1)
    if isinstance(argument, exp.Star) and function == "count":
        e.allow_only(argument)
        return Aggregate("count({0}){1}", "*", BIGINT, "count(1)")
    word = ""
    if isinstance(argument, exp.Distinct):
        e.allow_only(argument, "expressions")
        if len(argument.expressions) != 1 or function not in _DISTINCT:
            e.refuse(node, f"{function.upper()}(DISTINCT …) of several columns" if function in _DISTINCT else None)
        argument, word = argument.expressions[0], "DISTINCT "
        if isinstance(argument, exp.Star):
            e.refuse(node, f"{function.upper()}(DISTINCT *)")
    value = e.translate(argument, scope)
    template, sql, type_ = rule(e, value, node)
    return Aggregate(template, word + sql, type_, call(function, None if value.name is None else word + value.name))


def aggregate_sql(aggregate_: Aggregate, clause: str) -> str:
    """Returns the aggregate's SQL with FILTER or OVER, or nothing, after each of its calls."""
    return plain_cast(aggregate_.template.format(aggregate_.argument, clause), aggregate_.type)


def _aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    translated = aggregate(e, node, scope)
    assert translated is not None
    return Typed(aggregate_sql(translated, ""), translated.type, translated.name)


def _filter(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    translated = aggregate(e, node.this, scope)
    if translated is None:
        e.refuse(node, f"FILTER after {e.text.shown(node.this)}")
    test = e.test(node.expression.this, scope, "FILTER")
    name = f"{translated.name} FILTER (WHERE {test.name})" if translated.name and test.name else None
    return Typed(aggregate_sql(translated, f" FILTER (WHERE {test.sql})"), translated.type, name)


def _grouping(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    return Typed(plain_cast(f"grouping({value.sql})", TINYINT), TINYINT, call("grouping", value.name))


def _grouping_id(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(part, scope) for part in e.arguments(node, 1, 30)]
    sql = f"grouping({', '.join(value.sql for value in values)})"
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("grouping_id", *(value.name for value in values)))


_SECTION = "Aggregates"
_SPREAD = "DISTINCT; NaN and infinity, when they occur"

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Filter: Allowed(_filter, Entry(_SECTION, "f(…) FILTER (WHERE …)")),
}


def _functions(*lines: tuple[str, str]) -> dict[type[exp.Expr] | str, Allowed]:
    entries: list[tuple[str, Translation, str]] = [(form, _aggregate, refused) for form, refused in lines]
    return functions(_SECTION, *entries)


FUNCTIONS = {
    **_functions(
        ("count(* | [DISTINCT] x)", "several columns"),
        ("sum([DISTINCT] x)", "other than numbers"),
        ("avg([DISTINCT] x)", "DECIMAL of more than 24 digits"),
        ("mean([DISTINCT] x)", "DECIMAL of more than 24 digits"),
        ("min(x)", ""),
        ("max(x)", ""),
        ("count_if(condition)", "DISTINCT"),
        ("bool_and(x)", "DISTINCT"),
        ("every(x)", "DISTINCT"),
        ("bool_or(x)", "DISTINCT"),
        ("some(x)", "DISTINCT"),
        ("any(x)", "DISTINCT"),
        ("stddev(x)", _SPREAD),
        ("std(x)", _SPREAD),
        ("stddev_samp(x)", _SPREAD),
        ("stddev_pop(x)", _SPREAD),
        ("variance(x)", _SPREAD),
        ("var_samp(x)", _SPREAD),
        ("var_pop(x)", _SPREAD),
    ),
    **functions(_SECTION, ("grouping(key)", _grouping), ("grouping_id(key, …)", _grouping_id, "no argument")),
}
