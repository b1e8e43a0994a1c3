"""Functions that choose among values, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, DOUBLE, INT, VOID
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule, chosen_value
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import plain_cast
from rewriter.exec.translate.expressions import (
    Allowed,
    Expressions,
    Scope,
    Translation,
    Typed,
    as_no_literal,
    call,
    functions,
)

_MAX_ARGUMENTS = 1000


def _name_and_arguments(
    e: Expressions, node: exp.Expr, scope: Scope, min_count: int, max_count: int
) -> tuple[str, list[Typed]]:
    name = e.text.called(node) or ""
    return name, [e.translate(part, scope) for part in e.arguments(node, min_count, max_count)]


def _coalesce(max_count: int) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        function, values = _name_and_arguments(e, node, scope, 1 if max_count > 2 else 2, max_count)
        sqls, type_ = e.cast_to_common_type(values, node)
        name = call(function, *(value.name for value in values))
        return Typed(f"coalesce({', '.join(sqls)})", type_, name)

    return translate


def _nvl2(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    function, (test, *results) = _name_and_arguments(e, node, scope, 3, 3)
    (first, second), type_ = e.cast_to_common_type(results, node)
    name = call(function, test.name, *(value.name for value in results))
    return Typed(f"CASE WHEN {test.sql} IS NOT NULL THEN {first} ELSE {second} END", type_, name)


def _nullif(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    _, (value, other) = _name_and_arguments(e, node, scope, 2, 2)
    # Spark reads the value once, to compare and to return it. So a literal there is no literal beside the other value.
    (first, second), _ = e.cast_to_common_type([as_no_literal(value), other], node, binary=True)
    sql = f"CASE WHEN {first} = {second} THEN NULL ELSE {value.sql} END"
    return Typed(plain_cast(sql, value.type), value.type, call("nullif", value.name, other.name))


def _nullifzero(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    function, (value,) = _name_and_arguments(e, node, scope, 1, 1)
    if not value.type.is_numeric:
        e.refuse(node, f"{function.upper()} of {value.type}")
    sql = plain_cast(f"CASE WHEN {value.sql} = 0 THEN NULL ELSE {value.sql} END", value.type)
    return Typed(sql, value.type, call(function, value.name))


def _zeroifnull(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    function, (value,) = _name_and_arguments(e, node, scope, 1, 1)
    if not value.type.is_numeric:
        e.refuse(node, f"{function.upper()} of {value.type}")
    (first, zero), type_ = e.cast_to_common_type([value, Typed("CAST(0 AS INTEGER)", INT, "0", digits=0)], node)
    return Typed(f"coalesce({first}, {zero})", type_, call(function, value.name))


def _equal_null(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    function, values = _name_and_arguments(e, node, scope, 2, 2)
    (first, second), _ = e.cast_to_common_type(values, node, binary=True)
    return Typed(f"({first} IS NOT DISTINCT FROM {second})", BOOLEAN, call(function, *(v.name for v in values)))


def _if(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    condition, *nodes = e.arguments(node, 3)
    test = e.condition(condition, scope)
    branches = [e.translate(branch, scope) for branch in nodes]
    (first, second), type_ = e.cast_to_common_type(branches, node)
    name = call("if", test.name, *(branch.name for branch in branches))
    return Typed(f"CASE WHEN {test.sql} THEN {first} ELSE {second} END", type_, name)


def _case(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "ifs", "default")
    subject = e.translate(node.this, scope) if node.this is not None else None
    tests, results = [], []
    for branch in node.args["ifs"]:
        e.allow_only(branch, "this", "true")
        if subject is None:
            tests.append(e.test(branch.this, scope, "CASE"))
        else:
            option = e.translate(branch.this, scope)
            (first, second), _ = e.cast_to_common_type([subject, option], branch.this, binary=True)
            name = None if subject.name is None or option.name is None else f"({subject.name} = {option.name})"
            tests.append(Typed(f"{first} = {second}", BOOLEAN, name))
        results.append(e.translate(branch.args["true"], scope))
    if node.args.get("default") is not None:
        results.append(e.translate(node.args["default"], scope))
    sqls, type_ = e.cast_to_common_type(results, node)
    return Typed(_branches([test.sql for test in tests], sqls), type_, _case_name(tests, results))


def _branches(tests: Sequence[str], results: Sequence[str]) -> str:
    arms = " ".join(f"WHEN {test} THEN {sql}" for test, sql in zip(tests, results, strict=False))
    else_clause = f" ELSE {results[-1]}" if len(results) > len(tests) else ""
    return f"CASE {arms}{else_clause} END"


def _case_name(tests: Sequence[Typed], results: Sequence[Typed]) -> str | None:
    if any(part.name is None for part in (*tests, *results)):
        return None
    return _branches([str(test.name) for test in tests], [str(result.name) for result in results])


def _decode(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``decode(x, search, result, …[, default])``, in which NULL equals NULL; with two arguments it reads
    bytes.
    """
    _, (subject, *alternatives) = _name_and_arguments(e, node, scope, 3, _MAX_ARGUMENTS)
    searches, results = alternatives[0 : len(alternatives) - 1 : 2], alternatives[1::2]
    if len(alternatives) % 2:
        results = [*results, alternatives[-1]]
    tests = []
    for search in searches:
        if search.type == VOID:
            # Spark may return another type then.
            e.refuse(node, "DECODE with NULL as a search value")
        (first, second), _ = e.cast_to_common_type([subject, search], node, binary=True)
        tests.append(f"{first} IS NOT DISTINCT FROM {second}")
    sqls, type_ = e.cast_to_common_type(results, node)
    return Typed(_branches(tests, sqls), type_, call("decode", subject.name, *(value.name for value in alternatives)))


def _extreme(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates the greatest or least of the values that are not NULL."""
    function, values = _name_and_arguments(e, node, scope, 2, _MAX_ARGUMENTS)
    for value in values:
        e.comparable(value, node, function.upper())
    types = {value.type.name: value.type for value in values if value.type != VOID}
    if "string" in types and len(types) > 1:
        first_type, second_type, *_ = types.values()
        e.refuse_mixed(first_type, second_type, node, binary=False)
    sqls, type_ = e.cast_to_common_type(values, node)
    if type_ == VOID:
        e.refuse(node, f"{function.upper()} of {type_}")
    name = call(function, *(value.name for value in values))
    if type_.is_floating:
        # Of 0.0 and -0.0, the first one is returned.
        return Typed(plain_cast(f"rw_{function}([{', '.join(sqls)}])", type_), type_, name)
    return Typed(f"{function}({', '.join(sqls)})", type_, name)


def _null_test(negated: bool) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        _, (value,) = _name_and_arguments(e, node, scope, 1, 1)
        word = "IS NOT NULL" if negated else "IS NULL"
        name = None if value.name is None else f"({value.name} {word})"
        return Typed(f"({value.sql} {word})", BOOLEAN, name)

    return translate


def _double(e: Expressions, node: exp.Expr, value: Typed) -> Typed:
    if not value.type.is_floating and value.type != VOID:
        e.refuse(node, f"{(e.text.called(node) or '').upper()} of {value.type}")
    return replace(value, sql=e.cast(value, DOUBLE, node), type=DOUBLE)


def _isnan(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = _double(e, node, _name_and_arguments(e, node, scope, 1, 1)[1][0])
    return Typed(f"coalesce(isnan({value.sql}), false)", BOOLEAN, call("isnan", value.name))


def _nanvl(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, other = (_double(e, node, argument) for argument in _name_and_arguments(e, node, scope, 2, 2)[1])
    sql = f"CASE WHEN isnan({value.sql}) THEN {other.sql} ELSE {value.sql} END"
    return Typed(sql, DOUBLE, call("nanvl", value.name, other.name))


_SECTION = "Conditions"

NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Case: Allowed(_case, Entry(_SECTION, "CASE [x] WHEN … THEN … [ELSE …] END"))
}
FUNCTIONS = functions(
    _SECTION,
    ("if(condition, a, b)", _if),
    ("coalesce(a, b, …)", _coalesce(_MAX_ARGUMENTS)),
    ("nvl(a, b)", _coalesce(2)),
    ("ifnull(a, b)", _coalesce(2)),
    ("nvl2(a, b, c)", _nvl2),
    ("nullif(a, b)", _nullif),
    ("nullifzero(x)", _nullifzero),
    ("zeroifnull(x)", _zeroifnull),
    ("equal_null(a, b)", _equal_null, "a column of strings with another type; a CHAR column"),
    ("decode(x, search, result, …[, default])", _decode, "two arguments (a character set); NULL as search"),
    ("greatest(a, b, …)", _extreme),
    ("least(a, b, …)", _extreme),
    ("isnull(x)", _null_test(False)),
    ("isnotnull(x)", _null_test(True)),
    ("isnan(x)", _isnan, "other than DOUBLE and FLOAT"),
    ("nanvl(a, b)", _nanvl, "other than DOUBLE and FLOAT"),
)


# Aggregates that return one of the values of a group: FIRST, MAX_BY, MODE and similar ones.


def _chosen(function: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        if aggregate.order is not None:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} WITHIN GROUP")
        value, ignore_nulls = chosen_value(e, aggregate, scope)
        if value.type == VOID:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of NULL")
        row_test = f"{value.sql} IS NOT NULL" if ignore_nulls else ""
        name = call(chosen_name(aggregate), value.name)
        return Aggregate(f"{function}({{0}}){{1}}", value.sql, value.type, name, row_test)

    return rule


def chosen_name(aggregate: AggregateCall) -> str:
    """Returns the name of FIRST or LAST in a column's name. Before IGNORE NULLS, Spark calls FIRST_VALUE first."""
    forgets = bool(aggregate.ignore_nulls) and aggregate.function in ("first_value", "last_value")
    return aggregate.function.removesuffix("_value") if forgets else aggregate.function


def _by(function: str) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        if len(aggregate.node.expressions) == 3:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of several values (a third argument)")
        value, key = (e.translate(argument, scope) for argument in aggregate.arguments(e, 2))
        if VOID in (value.type, key.type):
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of NULL")
        e.comparable(key, aggregate.node, f"{aggregate.function.upper()} by a key")
        name = call(aggregate.function, value.name, key.name)
        return Aggregate(f"{function}({{0}}){{1}}", f"{value.sql}, {key.sql}", value.type, name)

    return rule


RULES: dict[str, AggregateRule] = {
    "first": _chosen("first"),
    "first_value": _chosen("first"),
    "any_value": _chosen("first"),
    "last": _chosen("last"),
    "last_value": _chosen("last"),
    # DuckDB's max_by passes over the rows whose value is NULL.
    "max_by": _by("arg_max_null"),
    "min_by": _by("arg_min_null"),
}
_CHOSEN = "DISTINCT; FILTER with OVER"
LINES = (
    ("first(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("first_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("last(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("last_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("any_value(x[, true]) [IGNORE NULLS]", _CHOSEN),
    ("max_by(x, key)", "DISTINCT; a third argument"),
    ("min_by(x, key)", "DISTINCT; a third argument"),
)
