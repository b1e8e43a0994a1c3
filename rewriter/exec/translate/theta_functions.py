"""Theta sketches of Apache DataSketches, for the allow-list of ``expressions``.

A sketch holds the least hashes of a set of values, at most 2^precision of them, so it is a function of the set alone.
DuckDB has no sketches: the functions ``rw_theta_…`` are those of ``exec/duckdb/own_functions.py``. They return the
bytes that Spark returns.
"""

from __future__ import annotations

from importlib.util import find_spec

from sqlglot import exp

from rewriter.catalog.model.objects import DEFAULT_PRECISION, PRECISIONS
from rewriter.errors import NotSupportedError
from rewriter.exec.sql_types import BIGINT, BINARY, DOUBLE, INT, STRING, VOID, SqlType
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.math_functions import literal_int

#: The functions of ``own_functions`` that hash values, by the type of the values.
_OF_VALUES: dict[str, tuple[str, SqlType]] = {
    "int": ("rw_theta_of_integers", BIGINT),
    "bigint": ("rw_theta_of_integers", BIGINT),
    "float": ("rw_theta_of_doubles", DOUBLE),
    "double": ("rw_theta_of_doubles", DOUBLE),
    "string": ("rw_theta_of_texts", STRING),
}


#: The least precision on Spark, which is one less than elsewhere.
_SPARK_LEAST = PRECISIONS[0] - 1


def _require_library(e: Expressions, node: exp.Expr) -> None:
    if find_spec("datasketches") is None:
        raise NotSupportedError(
            f"{str(e.text.called(node)).upper()} needs the package datasketches on DuckDB, which is not installed.",
            condition="DUCKDB_UNSUPPORTED",
            position=e.text.position(node),
            hint="Run pip install 'rewriter[sketches]', or use the Spark engine (engine spark).",
        )


def _precision(e: Expressions, node: exp.Expr, precision: list[exp.Expr]) -> int:
    """Returns the precision that is the last argument of a call, where there is one. A wrong one is an error."""
    if not precision:
        return DEFAULT_PRECISION
    given = precision[0].unnest()
    value = e.parameters.get(str(given.this)) if isinstance(given, exp.Placeholder) else None
    number = value if isinstance(value, int) and not isinstance(value, bool) else literal_int(e, given)
    if number == _SPARK_LEAST:
        e.refuse(node, f"The precision {number} of {str(e.text.called(node)).upper()}")
    if number not in PRECISIONS:
        e.text.wrong(
            f"{str(e.text.called(node)).upper()} takes a precision from {_SPARK_LEAST} to {PRECISIONS[-1]}, not "
            f"{number}.",
            "SKETCH_INVALID_LG_NOM_ENTRIES", "22003", precision[0],
        )  # fmt: skip
    return number


def _sketch(e: Expressions, value: Typed, node: exp.Expr) -> str:
    """Returns SQL for a sketch that a function takes. A value of another type is an error."""
    if value.type not in (BINARY, VOID):
        e.text.wrong(
            f"{str(e.text.called(node)).upper()} takes a BINARY, not {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
        )  # fmt: skip
    return plain_cast(value.sql, BINARY)


def _of_values(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
    aggregate.only_plain(e)
    _require_library(e, aggregate.node)
    argument, *rest = aggregate.arguments(e, 1, 2)
    value, precision = e.translate(argument, scope), _precision(e, aggregate.node, rest)
    if value.type in (BINARY, VOID) or value.type.name == "array":
        e.refuse(aggregate.node, f"THETA_SKETCH_AGG of {value.type}")
    if value.type.name not in _OF_VALUES:
        e.text.wrong(
            f"THETA_SKETCH_AGG takes an INT, BIGINT, FLOAT, DOUBLE or STRING, not {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", aggregate.node,
        )  # fmt: skip
    function, type_ = _OF_VALUES[value.type.name]
    template = f"{function}({_LISTED}, {plain_cast(str(precision), INT)})"
    name = call("theta_sketch_agg", value.name, str(precision))
    return Aggregate(template, plain_cast(value.sql, type_), BINARY, name, f"{value.sql} IS NOT NULL")


#: The values of a group, once each.
_LISTED = "list(DISTINCT {0}){1}"


def sketch_of_row(sketch: Aggregate) -> str:
    """Returns the SQL of the sketch of a row's own value, in place of one of a window in which all rows have it."""
    value = sketch.argument
    return sketch.template.replace(_LISTED, f"CASE WHEN {value} IS NOT NULL THEN [{value}] END")


def _of_sketches(function: str, *, has_precision: bool) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        _require_library(e, aggregate.node)
        argument, *rest = aggregate.arguments(e, 1, 2 if has_precision else 1)
        value = e.translate(argument, scope)
        shown = (str(_precision(e, aggregate.node, rest)),) if has_precision else ()
        template = f"{function}({', '.join(('list({0}){1}', *(plain_cast(number, INT) for number in shown)))})"
        name = call(aggregate.function, value.name, *shown)
        sql = _sketch(e, value, aggregate.node)
        return Aggregate(template, sql, BINARY, name, f"{sql} IS NOT NULL")

    return rule


def _of_two(function: str, *, has_precision: bool = False) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        _require_library(e, node)
        first, second, *rest = e.arguments(node, 2, 3 if has_precision else 2)
        values = e.translate(first, scope), e.translate(second, scope)
        left, right = (_sketch(e, value, node) for value in values)
        shown = (str(_precision(e, node, rest)),) if has_precision else ()
        operands = ", ".join((f"[{left}, {right}]", *(plain_cast(number, INT) for number in shown)))
        sql = f"CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL THEN {function}({operands}) END"
        return Typed(sql, BINARY, call(str(e.text.called(node)), *(value.name for value in values), *shown))

    return translate


def _estimate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    _require_library(e, node)
    value = e.translate(e.arguments(node, 1)[0], scope)
    sql = f"rw_theta_estimate({_sketch(e, value, node)})"
    return Typed(sql, BIGINT, call("theta_sketch_estimate", value.name))


_NO_LITERAL = "precisions that are computed, and 4"

AGGREGATE_RULES: dict[str, AggregateRule] = {
    "theta_sketch_agg": _of_values,
    "theta_union_agg": _of_sketches("rw_theta_union", has_precision=True),
    "theta_intersection_agg": _of_sketches("rw_theta_intersection", has_precision=False),
}
AGGREGATE_LINES = (
    ("theta_sketch_agg(x[, precision])", "DISTINCT; other than INT, BIGINT, FLOAT, DOUBLE and STRING"),
    ("theta_union_agg(sketch[, precision])", f"DISTINCT; {_NO_LITERAL}"),
    ("theta_intersection_agg(sketch)", "DISTINCT"),
)
FUNCTIONS = functions(
    "Sketches",
    ("theta_sketch_estimate(sketch)", _estimate),
    (
        "theta_union(a, b[, precision])",
        _of_two("rw_theta_union", has_precision=True),
        _NO_LITERAL,
    ),
    ("theta_intersection(a, b)", _of_two("rw_theta_intersection")),
    ("theta_difference(a, b)", _of_two("rw_theta_difference")),
)
