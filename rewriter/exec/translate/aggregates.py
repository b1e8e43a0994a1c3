"""Aggregates, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from rewriter.catalog.model.wider_types import decimal_sum
from rewriter.exec.sql_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TINYINT,
    VOID,
    SqlType,
    decimal,
    duckdb_type,
    parse_type,
)
from rewriter.exec.translate import arrays, chosen_values, correlations, percentiles, string_aggregates
from rewriter.exec.translate.aggregate_calls import (
    Aggregate,
    AggregateCall,
    AggregateRule,
    aggregate_call,
    wrapped_call,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.arithmetic import divided_decimals
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import (
    Allowed,
    Expressions,
    OuterScope,
    Scope,
    Translation,
    Typed,
    call,
    functions,
)
from rewriter.exec.translate.grouping_sets import ALL_KEYS

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
    return _no_number(e, value, "SUM", node)


def _no_number(e: Expressions, value: Typed, function: str, node: exp.Expr) -> NoReturn:
    """Raises Spark's error for an aggregate of numbers over another type; NULL is refused."""
    if value.type == VOID:
        e.refuse(node, f"{function} of NULL")
    e.text.wrong(
        f"{function} needs a number, not a {value.type.shown}.",
        "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
    )  # fmt: skip


def _sum_type(type_: SqlType) -> SqlType:
    return parse_type(decimal_sum(type_.precision, type_.scale))


def _avg(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.is_integer or value.type.is_floating:
        return "avg({0}){1}", plain_cast(value.sql, DOUBLE), DOUBLE
    if not value.type.is_decimal:
        return _no_number(e, value, "AVG", node)
    total, average_type = _sum_type(value.type), decimal(value.type.precision + 4, value.type.scale + 4)
    first, second = plain_cast("sum({0}){1}", total), plain_cast("nullif(count({0}){1}, 0)", decimal(20, 0))
    sql, _ = divided_decimals(first, total, second, decimal(20, 0), average_type)
    if sql is None or average_type.precision > MAX_PRECISION:
        return e.refuse(node, f"AVG of {value.type}")
    return sql, value.sql, average_type


def _try_sum(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.is_decimal and value.type.precision + 10 > MAX_PRECISION:
        e.refuse(node, f"TRY_SUM of {value.type}")
    template, sql, type_ = _sum(e, value, node)
    return f"TRY_CAST({template} AS {duckdb_type(type_)})", sql, type_


def _extreme(function: str) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if value.type == VOID:
            e.refuse(node, f"{function.upper()} of NULL")
        e.comparable(value, node, function.upper())
        return f"{function}({{0}}){{1}}", value.sql, value.type

    return rule


def _spread(function: str) -> _Rule:
    def spread(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if not value.type.is_numeric:
            return _no_number(e, value, function.upper(), node)
        return f"{function}({{0}}){{1}}", e.cast(value, DOUBLE, node), DOUBLE

    return spread


def _truth(template: str, type_: SqlType) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if value.type != BOOLEAN:
            e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
        return template, value.sql, type_

    return rule


def _bits(function: str) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        if not value.type.is_integer:
            e.refuse(node, f"{function.upper()} of {value.type}")
        return f"{function}({{0}}){{1}}", value.sql, value.type

    return rule


_RULES: dict[str, _Rule] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "try_sum": _try_sum,
    "try_avg": _avg,
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
    **{name: _bits(name) for name in ("bit_and", "bit_or", "bit_xor")},
}
#: The aggregates that read a string as a DOUBLE.
_OF_NUMBERS = frozenset(name for name, rule in _RULES.items() if rule in (_sum, _avg) or rule.__name__ == "spread")
#: The rules of other aggregates.
_CALL_RULES: dict[str, AggregateRule] = {
    **chosen_values.RULES,
    **percentiles.RULES,
    **correlations.RULES,
    **arrays.RULES,
    **string_aggregates.RULES,
}
#: The aggregates that are translated with DISTINCT.
_DISTINCT = ("count", "sum", "avg", "mean", "min", "max")


def is_aggregate(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node calls an aggregate of the list, or GROUPING or GROUPING_ID, without OVER."""
    if e.text.called(node) not in FUNCTIONS:
        return False
    wrapped = wrapped_call(node)
    return not (isinstance(wrapped.parent, exp.Window) and wrapped.parent.this is wrapped)


def aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> Aggregate | None:
    """Returns the aggregate that a node calls; ``None`` if it calls none of the list. Raises the errors of
    ``translate``.
    """
    call_ = aggregate_call(e, node)
    allowed = FUNCTIONS.get(call_.function) if call_ is not None else None
    if call_ is None or allowed is None or call_.function not in (_RULES | _CALL_RULES):
        return None
    if allowed.entry is not None:
        e.entries.add(allowed.entry)
    rule = _CALL_RULES.get(call_.function)
    outer_names = scope.outer_scope.used_names if isinstance(scope.outer_scope, OuterScope) else []
    before = len(outer_names)
    result = _of_one_value(e, call_, scope) if rule is None else rule(e, call_, scope)
    if len(outer_names) > before:
        # DuckDB may aggregate the rows of the outer query, as other dialects do. Spark refuses most of these.
        e.text.refuse(
            f"The aggregate {e.text.shown(node)} of columns of the outer query",
            node,
            "Aggregate columns of the subquery's own FROM; compute other aggregates in the outer query.",
        )
    return result


def _of_one_value(e: Expressions, call_: AggregateCall, scope: Scope) -> Aggregate:
    call_.only_plain(e)
    node, function = call_.node, call_.function
    if function == "count":
        several = _count_of_several(e, call_, scope)
        if several is not None:
            return several
    (argument,) = e.arguments(node, 1)
    if isinstance(argument, exp.Star) and function == "count":
        e.allow_only(argument)
        return Aggregate("count({0}){1}", "*", BIGINT, "count(1)")
    word = ""
    if isinstance(argument, exp.Distinct):
        e.allow_only(argument, "expressions")
        if len(argument.expressions) != 1 or function not in _DISTINCT:
            e.refuse(node, f"{function.upper()}(DISTINCT …)")
        argument, word = argument.expressions[0], "DISTINCT "
    if isinstance(argument, exp.Star):
        return _count_of_all(e, node, scope)
    value = e.translate(argument, scope)
    if value.type == STRING and function in _OF_NUMBERS:
        value = replace(value, sql=e.cast(value, DOUBLE, node), type=DOUBLE, text=None)
    if word:
        e.comparable(value, node, f"{function.upper()}(DISTINCT …)")
    template, sql, type_ = _RULES[function](e, value, node)
    return Aggregate(template, word + sql, type_, call(function, None if value.name is None else word + value.name))


def _count_of_several(e: Expressions, call_: AggregateCall, scope: Scope) -> Aggregate | None:
    """Translates ``count([DISTINCT] a, b, …)``, which passes over rows with a NULL in any of them; ``None`` for one
    argument.
    """
    arguments, word = call_.node.expressions, ""
    if arguments and isinstance(arguments[0], exp.Distinct):
        e.allow_only(arguments[0], "expressions")
        arguments, word = arguments[0].expressions, "DISTINCT "
    if len(arguments) < 2:
        return None
    e.allow_only(call_.node, "this", "expressions")
    return _counted(e, call_.node, [e.translate(argument, scope) for argument in arguments], word)


def _count_of_all(e: Expressions, node: exp.Expr, scope: Scope) -> Aggregate:
    """Translates ``count(DISTINCT *)``: of all columns."""
    columns = [
        column
        for source in scope.sources
        for column in source.columns
        if column.name.lower() not in source.hidden_names
    ]
    if e.text.called(node) != "count" or not columns:
        e.refuse(node, f"{str(e.text.called(node)).upper()}(DISTINCT *)")
    for column in columns:
        if column.type is None:
            e.refuse(node, f"The type {column.type_name} of the column {column.name}")
    return _counted(e, node, [column.typed(column.name) for column in columns], "DISTINCT ")


def _counted(e: Expressions, node: exp.Expr, values: Sequence[Typed], word: str) -> Aggregate:
    for value in values if word else ():
        e.comparable(value, node, "COUNT(DISTINCT …)")
    present = " AND ".join(f"{value.sql} IS NOT NULL" for value in values)
    # 0.0 and -0.0 are one value.
    row = ", ".join(f"{value.sql} + 0" if value.type.is_floating else value.sql for value in values)
    counted = f"ROW({row})" if word else "1"
    name = call("count", *(value.name for value in values))
    name = None if name is None else name.replace("count(", f"count({word}", 1)
    return Aggregate("count({0}){1}", f"{word}CASE WHEN {present} THEN {counted} END", BIGINT, name)


def _aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    translated = aggregate(e, node, scope)
    if translated is None:
        clause = "WITHIN GROUP" if isinstance(node, exp.WithinGroup) else "IGNORE NULLS or RESPECT NULLS"
        e.refuse(node, f"{clause} after {e.text.shown(node.this)}")
    return Typed(translated.sql(), translated.type, translated.name)


def _filter(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    translated = aggregate(e, node.this, scope)
    if translated is None:
        e.refuse(node, f"FILTER after {e.text.shown(node.this)}")
    test = e.test(node.expression.this, scope, "FILTER")
    name = f"{translated.name} FILTER (WHERE {test.name})" if translated.name and test.name else None
    return Typed(translated.sql(test.sql), translated.type, name)


def _grouping(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(e.arguments(node, 1)[0], scope)
    return Typed(plain_cast(f"grouping({value.sql})", TINYINT), TINYINT, call("grouping", value.name))


def _grouping_id(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    arguments = e.arguments(node, 0, 30)
    if not arguments:
        return Typed(plain_cast(ALL_KEYS, BIGINT), BIGINT, "grouping_id()")
    values = [e.translate(part, scope) for part in arguments]
    sql = f"grouping({', '.join(value.sql for value in values)})"
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("grouping_id", *(value.name for value in values)))


_SECTION = "Aggregates"
_SPREAD = "DISTINCT; NaN and infinity, when they occur"

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Filter: Allowed(_filter, Entry(_SECTION, "f(…) FILTER (WHERE …)")),
    exp.IgnoreNulls: Allowed(_aggregate, None),
    exp.RespectNulls: Allowed(_aggregate, None),
    exp.WithinGroup: Allowed(_aggregate, None),
}


def _functions(*lines: tuple[str, str]) -> dict[type[exp.Expr] | str, Allowed]:
    entries: list[tuple[str, Translation, str]] = [(form, _aggregate, refused) for form, refused in lines]
    return functions(_SECTION, *entries)


FUNCTIONS = {
    **_functions(
        ("count(* | [DISTINCT] x, … | DISTINCT *)", ""),
        ("sum([DISTINCT] x)", "other than numbers"),
        ("avg([DISTINCT] x)", "DECIMAL of more than 24 digits"),
        ("mean([DISTINCT] x)", "DECIMAL of more than 24 digits"),
        ("try_sum(x)", "DISTINCT; DECIMAL of more than 28 digits"),
        ("try_avg(x)", "DISTINCT; DECIMAL of more than 24 digits"),
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
        ("bit_and(x)", "DISTINCT; other than integers"),
        ("bit_or(x)", "DISTINCT; other than integers"),
        ("bit_xor(x)", "DISTINCT; other than integers"),
        *chosen_values.LINES,
        *percentiles.LINES,
        *correlations.LINES,
        *arrays.LINES,
        *string_aggregates.LINES,
    ),
    **functions(_SECTION, ("grouping(key)", _grouping), ("grouping_id([key, …])", _grouping_id)),
}
