"""Aggregates of pairs of numbers (CORR, COVAR_POP, REGR_SLOPE and similar ones), SKEWNESS and KURTOSIS.

DuckDB returns NaN where Spark returns NULL, so the quotients are written out. They use the engines' sums of products of
deviations. DuckDB's own SKEWNESS is that of a sample, and its moments lose digits; so they are computed from a list.
"""

from __future__ import annotations

from rewriter.exec.sql_types import BIGINT, DOUBLE, SqlType
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call

#: Of one row DuckDB returns 0 in place of NaN.
_SXX, _SYY = (
    f"CASE WHEN regr_count({{0}}){{1}} = 1 THEN regr_avg{side}({{0}}){{1}} - regr_avg{side}({{0}}){{1}} "
    f"ELSE regr_s{side}{side}({{0}}){{1}} END"
    for side in "xy"
)
_SXY = "regr_sxy({0}){1}"
_HAS_SLOPE = f"({_SXX}) <> 0"
_CORRELATION = f"{_SXY} / sqrt(({_SXX}) * ({_SYY}))"
_PAIRS: dict[str, tuple[str, SqlType]] = {
    "corr": (
        f"CASE WHEN regr_count({{0}}){{1}} > 1 AND ({_SXX}) <> 0 AND ({_SYY}) <> 0 AND ({_SXX}) * ({_SYY}) <> 0 "
        f"THEN {_CORRELATION} END",
        DOUBLE,
    ),
    "covar_pop": ("covar_pop({0}){1}", DOUBLE),
    "covar_samp": ("covar_samp({0}){1}", DOUBLE),
    "regr_count": ("regr_count({0}){1}", BIGINT),
    "regr_avgx": ("regr_avgx({0}){1}", DOUBLE),
    "regr_avgy": ("regr_avgy({0}){1}", DOUBLE),
    "regr_sxx": (_SXX, DOUBLE),
    "regr_syy": (_SYY, DOUBLE),
    "regr_sxy": (_SXY, DOUBLE),
    "regr_slope": (f"CASE WHEN {_HAS_SLOPE} THEN {_SXY} / ({_SXX}) END", DOUBLE),
    "regr_intercept": (
        f"CASE WHEN {_HAS_SLOPE} THEN regr_avgy({{0}}){{1}} - {_SXY} / ({_SXX}) * regr_avgx({{0}}){{1}} END",
        DOUBLE,
    ),
    "regr_r2": (
        f"CASE WHEN {_HAS_SLOPE} THEN CASE WHEN ({_SYY}) = 0 THEN 1 ELSE pow({_CORRELATION}, 2) END END",
        DOUBLE,
    ),
}


def _number(e: Expressions, aggregate: AggregateCall, value: Typed) -> str:
    if value.type.name == "string":
        hint = "Write CAST(… AS DOUBLE) around the argument."
        e.text.refuse(f"{aggregate.function.upper()} of strings", aggregate.node, hint)
    if not value.type.is_numeric:
        e.refuse(aggregate.node, f"{aggregate.function.upper()} of {value.type}")
    return e.cast(value, DOUBLE, aggregate.node)


def _pair(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    aggregate.only_plain(e)
    values = [e.translate(argument, scope) for argument in aggregate.arguments(e, 2)]
    averaged = {"regr_avgy": 0, "regr_avgx": 1}.get(aggregate.function)
    if averaged is not None and values[averaged].type.is_decimal:
        # Spark returns the average as a decimal.
        hint = "Write CAST(… AS DOUBLE) around the argument."
        e.text.refuse(f"{aggregate.function.upper()} of {values[averaged].type}", aggregate.node, hint)
    template, type_ = _PAIRS[aggregate.function]
    sql = ", ".join(_number(e, aggregate, value) for value in values)
    return Aggregate(template, sql, type_, call(aggregate.function, *(value.name for value in values)))


def _moment(macro: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        value = e.translate(aggregate.arguments(e, 1)[0], scope)
        sql = _number(e, aggregate, value)
        return Aggregate(f"{macro}(list({{0}}){{1}})", sql, DOUBLE, call(aggregate.function, value.name))

    return rule


RULES: dict[str, AggregateRule] = {
    **dict.fromkeys(_PAIRS, _pair),
    "skewness": _moment("rw_skewness"),
    "kurtosis": _moment("rw_kurtosis"),
}
_REFUSED = "DISTINCT; strings"
LINES = (
    *(
        (
            f"{function}({'y, x' if function.startswith('regr') else 'x, y'})",
            f"{_REFUSED}; averages of DECIMAL" if "avg" in function else _REFUSED,
        )
        for function in _PAIRS
    ),
    ("skewness(x)", _REFUSED),
    ("kurtosis(x)", _REFUSED),
)
