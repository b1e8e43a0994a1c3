"""Aggregates, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from sqlglot import exp

from rewriter.catalog.model.wider_types import decimal_sum
from rewriter.exec.sql_types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    TINYINT,
    VOID,
    SqlType,
    array_of,
    decimal,
    duckdb_type,
    parse_type,
)
from rewriter.exec.translate import arrays, conditionals, theta_functions
from rewriter.exec.translate.aggregate_calls import (
    Aggregate,
    AggregateCall,
    AggregateRule,
    aggregate_call,
    wrapped_call,
)
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast, string_literal
from rewriter.exec.translate.decimals import divided_decimals
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
from rewriter.exec.translate.math_functions import bits_of_bitmap, literal_int

# LISTAGG and STRING_AGG. Without WITHIN GROUP, the order of the texts is not defined, on either engine.


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
    name = call("listagg" if keys else aggregate.function, None if value.name is None else word + value.name, shown)
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


_STRING_AGGREGATE_RULES: dict[str, AggregateRule] = {"listagg": _list, "string_agg": _list}
_STRING_AGGREGATE_LINES = tuple(
    (
        f"{function}([DISTINCT] x[, 'delimiter']) [WITHIN GROUP (ORDER BY …)]",
        "FLOAT and DOUBLE; DISTINCT of other arguments than STRING columns; a delimiter that is not a literal",
    )
    for function in _STRING_AGGREGATE_RULES
)


# MEDIAN, percentiles and MODE.
#
# Spark interpolates between doubles as ``low + (high - low) * fraction``, and finds a place as ``ceil(p * n)``, in
# doubles. DuckDB's own functions round otherwise, so the values are sorted as a list.

_APPROXIMATE_ACCURACY = 10000
_MOST_PERCENTAGES = 1000
#: The length of an argument, in characters of SQL, from which AVG of decimals is not repeated.
_LONG_ARGUMENT = 400


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
    argument, percentage_node, *frequency = aggregate.arguments(e, 2, 3)
    sql, name = _double(e, aggregate, argument, scope)
    if frequency:
        return _weighted_percentile(e, (sql, name), percentage_node, frequency[0], scope)
    if _is_array(e, percentage_node):
        pairs = _percentages(e, percentage_node, scope)
        values = ", ".join(f"rw_percentile(list({{0}}){{1}}, {percentage}, 'ASC')" for percentage, _ in pairs)
        array_name = call("percentile", name, call("array", *(part_name for _, part_name in pairs)))
        return Aggregate(f"CASE WHEN count({{0}}){{1}} > 0 THEN [{values}] END", sql, array_of(DOUBLE), array_name)
    percentage, percentage_name = _percentage(e, percentage_node, scope)
    template = f"rw_percentile(list({{0}}){{1}}, {percentage}, 'ASC')"
    return Aggregate(template, sql, DOUBLE, call("percentile", name, percentage_name))


def _weighted_percentile(
    e: Expressions,
    value: tuple[str, str | None],
    percentage_node: exp.Expr,
    frequency_node: exp.Expr,
    scope: Scope,
) -> Aggregate:
    """Translates ``percentile(x, p, frequency)``: each value occurs as often as its frequency says."""
    frequency = e.translate(frequency_node, scope)
    if not frequency.type.is_integer:
        e.text.wrong(
            f"The frequency of PERCENTILE is an integer, not {frequency.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", frequency_node,
        )  # fmt: skip
    is_array, pairs = _is_array(e, percentage_node), _percentages(e, percentage_node, scope)
    (sql, name), count = value, plain_cast(frequency.sql, BIGINT)
    template = f"rw_weighted_percentiles(list({{0}}){{1}}, [{', '.join(percentage for percentage, _ in pairs)}])"
    shown = call("array", *(part_name for _, part_name in pairs)) if is_array else pairs[0][1]
    return Aggregate(
        template if is_array else f"{template}[1]",
        f"struct_pack(v := {sql}, n := {count})",
        array_of(DOUBLE) if is_array else DOUBLE,
        call("percentile", name, shown, frequency.name),
        f"{sql} IS NOT NULL AND {count} IS NOT NULL",
        frames=False,
    )


def _percentages(e: Expressions, node: exp.Expr, scope: Scope) -> list[tuple[str, str | None]]:
    """Returns the SQL and the name of each percentage of an array, or of the only one."""
    parts = node.expressions if _is_array(e, node) else [node]
    if not 1 <= len(parts) <= _MOST_PERCENTAGES:
        e.refuse(node, f"An array of {len(parts):,} percentages")
    return [_percentage(e, part, scope) for part in parts]


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
    if value.type.is_floating or value.type.is_nested or value.type.name == "void":
        # DuckDB counts each NaN as a value of its own.
        e.refuse(aggregate.node, f"MODE of {value.type}")
    return plain_cast(value.sql, value.type)


_PERCENTILE_RULES: dict[str, AggregateRule] = {
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
_PERCENTILE_LINES = (
    ("median(x)", "DISTINCT; strings"),
    ("percentile(x, p[, frequency])", "DISTINCT; strings; percentages that are no literals, or arrays of others"),
    ("percentile_cont(p) WITHIN GROUP (ORDER BY x)", _PERCENTAGES),
    ("percentile_disc(p) WITHIN GROUP (ORDER BY x)", _PERCENTAGES),
    ("percentile_approx(x, p[, accuracy])", _PERCENTAGES),
    ("approx_percentile(x, p[, accuracy])", _PERCENTAGES),
    ("approx_count_distinct(x[, error])", "DISTINCT"),
    ("mode(x[, true]), mode() WITHIN GROUP (ORDER BY x)", "DISTINCT; DOUBLE and FLOAT"),
)


# Aggregates of pairs of numbers (CORR, COVAR_POP, REGR_SLOPE and similar ones), SKEWNESS and KURTOSIS.
#
# DuckDB returns NaN where Spark returns NULL, so the quotients are written out. They use the engines' sums of
# products of deviations. DuckDB's own SKEWNESS is the skewness of a sample, and its moments lose digits; so they are
# computed from a list.

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


#: A function of the argument that returns the aggregate's template, the argument's SQL, and the type of the result.
_Rule = Callable[[Expressions, Typed, exp.Expr], tuple[str, str, SqlType]]


def _count(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.precision == MAX_PRECISION and "(" in value.sql:
        # DuckDB computes no operator whose operands have no NULL, and so finds no overflow. It computes texts.
        return "count({0}){1}", plain_cast(value.sql, STRING), BIGINT
    return "count({0}){1}", value.sql, BIGINT


def _sum(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if value.type.is_integer:
        return "sum({0}){1}", value.sql, BIGINT
    if value.type.is_decimal:
        return "sum({0}){1}", value.sql, _sum_type(value.type)
    if value.type.is_floating:
        return "sum({0}){1}", plain_cast(value.sql, DOUBLE), DOUBLE
    if value.type.is_interval:
        kind = "months" if value.type.is_month_interval else "interval"
        return f"rw_{kind}_sum(sum({{0}}){{1}})", value.sql, value.type
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
    if value.type.is_interval:
        e.refuse(node, f"AVG of {value.type}")
    if not value.type.is_decimal:
        return _no_number(e, value, "AVG", node)
    precision, scale = (min(digits + 4, MAX_PRECISION) for digits in (value.type.precision, value.type.scale))
    total, average_type = _sum_type(value.type), decimal(precision, scale)
    # DuckDB computes equal aggregates once, but windows and long arguments each time.
    repeats_operands = not isinstance(wrapped_call(node).parent, exp.Window) and len(value.sql) < _LONG_ARGUMENT
    sql = divided_decimals(
        "sum({0}){1}", total, "nullif(count({0}){1}, 0)", decimal(20, 0), average_type,
        repeats_operands=repeats_operands,
    )  # fmt: skip
    return sql, value.sql, average_type


def _try_avg(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    _refuse_long_sum(e, value, node)
    return _avg(e, value, node)


def _refuse_long_sum(e: Expressions, value: Typed, node: exp.Expr) -> None:
    """Refuses an aggregate that would have to return NULL where the sum is an error."""
    if value.type.is_decimal and value.type.precision + 10 > MAX_PRECISION:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")


def _try_sum(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    _refuse_long_sum(e, value, node)
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


def _bitmap_of_positions(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
    if not value.type.is_integer:
        e.refuse(node, f"BITMAP_CONSTRUCT_AGG of {value.type}")
    bit = f"rw_bitmap_bit({plain_cast(value.sql, BIGINT)})"
    return "rw_bitmap(bitstring_agg({0}, 0, 32767){1}, '0')", bit, BINARY


def _bitmap_of_bitmaps(template: str) -> _Rule:
    def rule(e: Expressions, value: Typed, node: exp.Expr) -> tuple[str, str, SqlType]:
        return template, bits_of_bitmap(e, value, node), BINARY

    return rule


_RULES: dict[str, _Rule] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "mean": _avg,
    "try_sum": _try_sum,
    "try_avg": _try_avg,
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
    "bitmap_construct_agg": _bitmap_of_positions,
    "bitmap_or_agg": _bitmap_of_bitmaps("rw_bitmap(bit_or({0}){1}, '0')"),
    "bitmap_and_agg": _bitmap_of_bitmaps("rw_bitmap(bit_and({0}){1}, '1')"),
}
#: The aggregates that read a string as a DOUBLE.
_OF_NUMBERS = frozenset(name for name, rule in _RULES.items() if rule in (_sum, _avg) or rule.__name__ == "spread")
#: The rules of other aggregates.
_CALL_RULES: dict[str, AggregateRule] = {
    **conditionals.RULES,
    **_PERCENTILE_RULES,
    **RULES,
    **arrays.RULES,
    **theta_functions.AGGREGATE_RULES,
    **_STRING_AGGREGATE_RULES,
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
    if call_.function in theta_functions.AGGREGATE_RULES:
        result = _of_correlated_rows(e, node, result, scope, is_correlated=before > 0)
    if len(outer_names) > before:
        # DuckDB may aggregate the rows of the outer query, as other dialects do. Spark refuses most of these.
        e.text.refuse(
            f"The aggregate {e.text.shown(node)} of columns of the outer query",
            node,
            "Aggregate columns of the subquery's own FROM; compute other aggregates in the outer query.",
        )
    return result


def _of_correlated_rows(
    e: Expressions, node: exp.Expr, sketch: Aggregate, scope: Scope, *, is_correlated: bool
) -> Aggregate:
    """Returns a sketch as a correlated subquery returns it. Spark joins such a query: of no rows at all, it is NULL."""
    if scope.outer_scope is not None and not isinstance(scope.outer_scope, OuterScope):
        e.refuse(node, f"{str(e.text.called(node)).upper()} in LATERAL")
    if not is_correlated or isinstance(wrapped_call(node).parent, exp.Window):
        return sketch
    return replace(sketch, template=f"CASE WHEN count(*) > 0 THEN {sketch.template} END")


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
        e.comparable(value, node, f"{function.upper()}(DISTINCT …)", grouped=True)
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
        e.comparable(value, node, "COUNT(DISTINCT …)", grouped=True)
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
        ("avg([DISTINCT] x)", ""),
        ("mean([DISTINCT] x)", ""),
        ("try_sum(x)", "DISTINCT; DECIMAL of more than 28 digits"),
        ("try_avg(x)", "DISTINCT; DECIMAL of more than 28 digits"),
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
        ("bitmap_construct_agg(position)", "DISTINCT; other than integers"),
        ("bitmap_or_agg(bitmap)", "DISTINCT; bitmaps of a length other than 4,096 bytes"),
        ("bitmap_and_agg(bitmap)", "DISTINCT; bitmaps of a length other than 4,096 bytes"),
        *conditionals.LINES,
        *_PERCENTILE_LINES,
        *LINES,
        *arrays.LINES,
        *theta_functions.AGGREGATE_LINES,
        *_STRING_AGGREGATE_LINES,
    ),
    **functions(_SECTION, ("grouping(key)", _grouping), ("grouping_id([key, …])", _grouping_id)),
}
