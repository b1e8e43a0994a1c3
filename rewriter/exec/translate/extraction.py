"""Parts of nested values: fields of structs, elements of arrays, values of maps, for the allow-list of ``expressions``.

As Spark reads ``a.b``, it is a field of a struct, the fields ``b`` of all structs in an array, or the value of a map's
key ``'b'``.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, STRING, SqlType, array_of
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import common_type, field_sql, plain_cast
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions, quoted
from rewriter.exec.translate.nested_sql import is_exact, with_values

_SECTION = "Arrays, maps and structs"


def field(e: Expressions, value: Typed, name: str, node: exp.Expr) -> Typed:
    """Returns the part of a value that ``value.name`` means. Raises Spark's errors for names that are no field."""
    if value.type.name == "map":
        return _map_value(e, value, Typed(f"'{name.replace(chr(39), chr(39) * 2)}'", STRING, name, text=name), node)
    element = value.type.element
    struct = element if element is not None and element.name == "struct" else value.type
    if struct.name != "struct":
        if element is not None:
            e.refuse(node, f"The field {name} of {value.type}")
        e.text.wrong(
            f"{e.text.shown(node)} names the field {name} of a value of the type {value.type.shown}, which has none.",
            "INVALID_EXTRACT_BASE_FIELD_TYPE", "42000", node, name,
        )  # fmt: skip
    matches = [part for part in struct.parts if part[0].lower() == name.lower()]
    if not matches:
        e.text.wrong(
            f"There is no field {quoted(name)}. The fields are {', '.join(part for part, _ in struct.parts)}.",
            "FIELD_NOT_FOUND", "42704", node, name,
        )  # fmt: skip
    declared_name, type_ = matches[0]
    if struct is value.type:
        sql = field_sql(value.sql, declared_name)
        return Typed(sql, type_, None if value.name is None else f"{value.name}.{name}")
    variable = f"f{value.sql.count('lambda ')}"
    sql = f"list_transform({value.sql}, lambda {variable}: {field_sql(variable, declared_name)})"
    return Typed(sql, array_of(type_), None if value.name is None else f"{value.name}.{declared_name}")


def _dot(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    e.allow_only(node, "this", "expression")
    if isinstance(node.expression, exp.Func):
        e.text.refuse(
            f"The function {e.text.shown(node).partition('(')[0].strip()}, which is no SQL function of the catalog,",
            node, "SHOW FUNCTIONS lists all. A temporary function has no database: write its name alone.",
        )  # fmt: skip
    if not isinstance(node.expression, exp.Identifier):
        e.refuse(node)
    return field(e, e.translate(node.this, scope), node.expression.name, node)


def _variable(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates the variable of a lambda."""
    value = scope.variables.get(node.name.lower())
    return e.refuse(node) if value is None else value


def _place(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(node, scope)
    if not value.type.is_integer:
        e.refuse(node, f"{value.type} as the place of an element")
    return value


def _map_value(e: Expressions, value: Typed, key: Typed, node: exp.Expr) -> Typed:
    """Returns ``m[k]``, NULL for a key that the map does not have."""
    sql, type_ = _lookup(e, value, key, node)
    return Typed(sql, type_, None if value.name is None or key.name is None else f"{value.name}[{key.name}]")


def _lookup(e: Expressions, value: Typed, key: Typed, node: exp.Expr) -> tuple[str, SqlType]:
    (_, key_type), (_, type_) = value.type.parts
    if not is_exact(key_type) or common_type(key_type, key.type) != key_type or key.type.name == "void":
        e.refuse(node, f"The key of the type {key.type} in {value.type}")
    return plain_cast(f"map_extract_value({value.sql}, {e.cast(key, key_type, node)})", type_), type_


def _bracket(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a[i]``, whose first element is ``a[0]``, and outside of which it fails, ``m[key]`` and
    ``s['field']``.
    """
    e.allow_only(node, "this", "expressions")
    value = e.translate(node.this, scope)
    if len(node.expressions) != 1:
        e.refuse(node)
    (inner,) = node.expressions
    if value.type.name == "map":
        return _map_value(e, value, e.translate(inner, scope), node)
    element = value.type.element
    if element is None or (element.name == "struct" and isinstance(inner, exp.Literal) and inner.is_string):
        key = e.translate(inner, scope)
        if key.text is None:
            e.refuse(node, f"{e.text.shown(node)} of {value.type}")
        return field(e, value, key.text, node)
    place = _place(e, inner, scope)
    failure = "error('[INVALID_ARRAY_INDEX] The index is outside the array.')"

    def body(v: Mapping[str, str]) -> str:
        array, index = v["a"], v["i"]
        return (
            f"CASE WHEN {array} IS NULL OR {index} IS NULL THEN NULL "
            f"WHEN {index} < 0 OR {index} >= len({array}) THEN {failure} ELSE {array}[{index} + 1] END"
        )

    sql = with_values({"a": value.sql, "i": place.sql}, body)
    name = None if value.name is None or place.name is None else f"{value.name}[{place.name}]"
    return Typed(plain_cast(sql, element), element, name)


def _element_at(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``element_at(a, n)``, counted from 1 or, by negative numbers, from the end, and a map's value."""
    first, second = e.arguments(node, 2)
    value, function = e.translate(first, scope), str(e.text.called(node))
    if value.type.name == "map":
        key = e.translate(second, scope)
        sql, type_ = _lookup(e, value, key, node)
        return Typed(sql, type_, call(function, value.name, key.name))
    element, place = _element(e, value, node), _place(e, second, scope)
    if place.type == BIGINT:
        e.refuse(second, "BIGINT as the place of an element")
    failure = "error('[INVALID_ARRAY_INDEX_IN_ELEMENT_AT] The index is outside the array.')"

    def body(v: Mapping[str, str]) -> str:
        array, index = v["a"], v["i"]
        return (
            f"CASE WHEN {array} IS NULL OR {index} IS NULL THEN NULL "
            f"WHEN {index} = 0 THEN error('[INVALID_INDEX_OF_ZERO] The first index is 1.') "
            f"WHEN abs({index}) > len({array}) THEN {'NULL' if function == 'try_element_at' else failure} "
            f"ELSE {array}[{index}] END"
        )

    sql = with_values({"a": value.sql, "i": plain_cast(place.sql, BIGINT)}, body)
    return Typed(plain_cast(sql, element), element, call(function, value.name, place.name))


def _get(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, place = e.translate(first, scope), _place(e, second, scope)
    element = _element(e, value, node)
    if place.type == BIGINT:
        e.refuse(second, "BIGINT as the place of an element")

    def body(v: Mapping[str, str]) -> str:
        return f"CASE WHEN {v['i']} >= 0 THEN {v['a']}[CAST({v['i']} AS BIGINT) + 1] END"

    sql = with_values({"a": value.sql, "i": place.sql}, body)
    return Typed(plain_cast(sql, element), element, call("get", value.name, place.name))


def _element(e: Expressions, value: Typed, node: exp.Expr) -> SqlType:
    if value.type.element is None:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value.type.element


def is_field(node: exp.Expr, scope: Scope) -> bool:
    """Tests whether a name with dots means a field of a column, not a column."""
    names = [part.name for part in node.parts] if isinstance(node, exp.Column) else []
    return len(names) > 1 and bool(scope.find_path(names)[1])


NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Dot: Allowed(_dot, Entry(_SECTION, "struct.field, array.field, map.key")),
    exp.Identifier: Allowed(_variable, None),
    exp.Bracket: Allowed(
        _bracket, Entry(_SECTION, "array[i], map[key], struct['field']", "keys that are FLOAT, DOUBLE or wider")
    ),
}
FUNCTIONS = functions(
    _SECTION,
    ("element_at(array|map, n|key)", _element_at, "a BIGINT; keys that are FLOAT, DOUBLE or wider"),
    ("try_element_at(array|map, n|key)", _element_at, "a BIGINT; keys that are FLOAT, DOUBLE or wider"),
    ("get(array, i)", _get, "a BIGINT"),
)
