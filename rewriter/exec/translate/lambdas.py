"""Functions with lambdas over arrays and maps, for the allow-list of ``expressions``.

As in Spark, the variables of a lambda hide columns, and a name of variables is found in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BOOLEAN, INT, SqlType, array_of, map_of
from rewriter.exec.translate.aggregates import is_aggregate
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import field_sql, plain_cast, struct_sql
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.nested_constructors import map_type
from rewriter.exec.translate.nested_sql import map_sql, with_values
from rewriter.lazy_dataclass import dataclass

_SECTION = "Functions with lambdas"


@dataclass(frozen=True)
class _Body:
    """The expression of a lambda, and its name in Spark."""

    value: Typed
    name: str | None


#: The value of a variable of a lambda, as DuckDB has it.
_Variable = tuple[str, SqlType]


def _body(e: Expressions, node: exp.Expr, variables: Sequence[_Variable], scope: Scope) -> _Body:
    """Translates the expression of a lambda of at most so many variables."""
    if not isinstance(node, exp.Lambda):
        e.refuse(node, f"{e.text.shown(node)}, which is no lambda,")
    e.allow_only(node, "this", "expressions")
    names = [variable.name.lower() for variable in node.expressions]
    if len(set(names)) < len(names) or len(names) > len(variables):
        e.refuse(node, f"A lambda of the variables {', '.join(names)}")
    inner = node.this.find(exp.Query, exp.Window)
    if inner is not None or any(is_aggregate(e, part) for part in node.this.walk()):
        e.refuse(node, "A subquery, an aggregate or a window in a lambda")
    spelled = {variable.name for variable in node.expressions}
    for column in node.this.find_all(exp.Column):
        if column.parts[0].name.lower() in names and column.parts[0].name not in spelled:
            e.refuse(column, f"The variable {column.parts[0].name} of a lambda in another case")
    typed = {
        name: Typed(sql, type_, "namedlambdavariable()") for name, (sql, type_) in zip(names, variables, strict=False)
    }
    value = e.translate(node.this, replace(scope, variables={**scope.variables, **typed}))
    shown = ["namedlambdavariable()"] * len(names)
    return _Body(value, call("lambdafunction", value.name, *shown))


def _variable(scope: Scope, letter: str) -> str:
    """Returns the name of a variable that the lambdas around it do not have."""
    return f"{letter}{len(scope.variables)}"


def _array(e: Expressions, node: exp.Expr, scope: Scope) -> tuple[Typed, SqlType]:
    value = e.translate(node, scope)
    if value.type.element is None:
        e.refuse(node, f"A function with a lambda over {value.type}")
    return value, value.type.element


def _parts(e: Expressions, node: exp.Expr) -> list[exp.Expr]:
    """Returns the array and the lambda of a call. FILTER and EXISTS are classes of their own to sqlglot."""
    if isinstance(node, exp.Anonymous):
        return e.arguments(node, 2)
    e.allow_only(node, "this", "expression")
    return [node.this, node.expression]


def _condition(e: Expressions, body: _Body, node: exp.Expr) -> str:
    if body.value.type != BOOLEAN:
        e.refuse(node, f"A condition of the type {body.value.type}")
    return body.value.sql


def _transform(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, element = _array(e, first, scope)
    item, place = _variable(scope, "x"), _variable(scope, "i")
    body = _body(e, second, [(item, element), (f"CAST({place} - 1 AS INTEGER)", INT)], scope)
    variables = f"{item}, {place}" if len(second.expressions) > 1 else item
    sql = f"list_transform({value.sql}, lambda {variables}: {body.value.sql})"
    type_ = array_of(body.value.type)
    return Typed(plain_cast(sql, type_), type_, call("transform", value.name, body.name))


def _filter(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = _parts(e, node)
    value, element = _array(e, first, scope)
    item, place = _variable(scope, "x"), _variable(scope, "i")
    body = _body(e, second, [(item, element), (f"CAST({place} - 1 AS INTEGER)", INT)], scope)
    variables = f"{item}, {place}" if len(second.expressions) > 1 else item
    sql = f"list_filter({value.sql}, lambda {variables}: {_condition(e, body, second)})"
    return Typed(sql, value.type, call("filter", value.name, body.name))


def _exists(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``exists(array, x -> …)``: TRUE for any element, or else NULL if it is NULL for any."""
    return _quantified(e, node, scope, "exists", decided=True)


def _forall(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return _quantified(e, node, scope, "forall", decided=False)


def _quantified(e: Expressions, node: exp.Expr, scope: Scope, function: str, decided: bool) -> Typed:
    first, second = _parts(e, node)
    value, element = _array(e, first, scope)
    item = _variable(scope, "x")
    body = _body(e, second, [(item, element)], scope)
    tests = f"list_transform({value.sql}, lambda {item}: {_condition(e, body, second)})"

    def decide(v: Mapping[str, str]) -> str:
        return (
            f"CASE WHEN list_contains({v['t']}, {str(decided).lower()}) THEN {str(decided).lower()} "
            f"WHEN list_count({v['t']}) = len({v['t']}) THEN {str(not decided).lower()} END"
        )

    sql = with_values({"t": tests}, decide)
    return Typed(plain_cast(sql, BOOLEAN), BOOLEAN, call(function, value.name, body.name))


def _aggregate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``aggregate(array, start, (acc, x) -> …[, acc -> …])``."""
    first, second, third, *last = e.arguments(node, 3, 4)
    (value, element), start = _array(e, first, scope), e.translate(second, scope)
    if start.type.name == "void":
        e.refuse(second, f"{str(e.text.called(node)).upper()} that starts with NULL of no type")
    before, row = _variable(scope, "p"), _variable(scope, "q")
    merged = _body(e, third, [(f"{before}.a", start.type), (f"{row}.x", element)], scope)
    if merged.value.type != start.type:
        e.refuse(
            third,
            f"{str(e.text.called(node)).upper()} that starts with {start.type}, and continues with "
            f"{merged.value.type},",
        )
    # DuckDB takes the first value and the elements as values of one type.
    item = _variable(scope, "x")
    none_of_start, none_of_element = plain_cast("NULL", start.type), plain_cast("NULL", element)
    rows = f"list_transform({value.sql}, lambda {item}: {struct_sql([('a', none_of_start), ('x', item)])})"
    merged_row = struct_sql([("a", plain_cast(merged.value.sql, start.type)), ("x", none_of_element)])
    initial = struct_sql([("a", plain_cast(start.sql, start.type)), ("x", none_of_element)])
    sql = field_sql(f"list_reduce({rows}, lambda {before}, {row}: {merged_row}, {initial})", "a")
    type_, finish_name = start.type, call("lambdafunction", *["namedlambdavariable()"] * 2)
    if last:
        result = _variable(scope, "x")
        finish = _body(e, last[0], [(result, type_)], scope)
        type_, finish_name = finish.value.type, finish.name
        sql = f"list_transform([{sql}], lambda {result}: {finish.value.sql})[1]"
        sql = with_values({"v": value.sql}, lambda v: f"CASE WHEN {v['v']} IS NOT NULL THEN {sql} END")
    names = value.name, start.name, merged.name, finish_name
    return Typed(plain_cast(sql, type_), type_, call(str(e.text.called(node)), *names))


def _zip_with(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, third = e.arguments(node, 3)
    (left, left_element), (right, right_element) = (_array(e, part, scope) for part in (first, second))
    place, row = _variable(scope, "i"), _variable(scope, "z")
    items = [(f"{row}.a[{place}]", left_element), (f"{row}.b[{place}]", right_element)]
    body = _body(e, third, items, scope)
    zipped = f"list_transform(range(1, greatest(len({row}.a), len({row}.b)) + 1), lambda {place}: {body.value.sql})"
    arrays = struct_sql([("a", left.sql), ("b", right.sql)])
    guarded = f"CASE WHEN {row}.a IS NOT NULL AND {row}.b IS NOT NULL THEN {zipped} END"
    type_ = array_of(body.value.type)
    sql = plain_cast(f"list_transform([{arrays}], lambda {row}: {guarded})[1]", type_)
    return Typed(sql, type_, call("zip_with", left.name, right.name, body.name))


def _over_map(build: Callable[[Expressions, exp.Expr, Typed, str, _Body], tuple[str, SqlType]]) -> Translation:
    """Returns the translation of a function of a map and a lambda of keys and values."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        first, second = e.arguments(node, 2)
        value = e.translate(first, scope)
        if value.type.name != "map":
            e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
        entry = _variable(scope, "x")
        variables = [(field_sql(entry, name), type_) for name, type_ in value.type.parts]
        body = _body(e, second, variables, scope)
        sql, type_ = build(e, second, value, entry, body)
        return Typed(plain_cast(sql, type_), type_, call(str(e.text.called(node)), value.name, body.name))

    return translate


def _with_keys(e: Expressions, node: exp.Expr, value: Typed, entry: str, body: _Body) -> tuple[str, SqlType]:
    type_ = map_type(e, body.value.type, value.type.parts[1][1], node)
    keys = f"list_transform(map_entries({value.sql}), lambda {entry}: {body.value.sql})"
    return map_sql(keys, f"map_values({value.sql})"), type_


def _with_map_values(e: Expressions, node: exp.Expr, value: Typed, entry: str, body: _Body) -> tuple[str, SqlType]:
    row = struct_sql([("key", f"{entry}.key"), ("value", body.value.sql)])
    sql = f"map_from_entries(list_transform(map_entries({value.sql}), lambda {entry}: {row}))"
    return sql, map_of(value.type.parts[0][1], body.value.type)


def _filtered(e: Expressions, node: exp.Expr, value: Typed, entry: str, body: _Body) -> tuple[str, SqlType]:
    test = _condition(e, body, node)
    return f"map_from_entries(list_filter(map_entries({value.sql}), lambda {entry}: {test}))", value.type


_INNER = "a subquery, an aggregate or a window in the lambda"
_FILTER = Entry(_SECTION, "filter(array, x -> …), filter(array, (x, i) -> …)", _INNER)
NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.ArrayFilter: Allowed(_filter, _FILTER),
}
FUNCTIONS = functions(
    _SECTION,
    ("transform(array, x -> …), transform(array, (x, i) -> …)", _transform, _INNER),
    ("exists(array, x -> …)", _exists, _INNER),
    ("forall(array, x -> …)", _forall, _INNER),
    ("aggregate(array, start, (acc, x) -> …[, acc -> …])", _aggregate, f"other types of acc than start's; {_INNER}"),
    ("reduce(array, start, (acc, x) -> …[, acc -> …])", _aggregate, f"other types of acc than start's; {_INNER}"),
    ("zip_with(array, array, (x, y) -> …)", _zip_with, _INNER),
    ("transform_keys(map, (k, v) -> …)", _over_map(_with_keys), f"keys that are FLOAT, DOUBLE or nested; {_INNER}"),
    ("transform_values(map, (k, v) -> …)", _over_map(_with_map_values), _INNER),
    ("map_filter(map, (k, v) -> …)", _over_map(_filtered), _INNER),
)
