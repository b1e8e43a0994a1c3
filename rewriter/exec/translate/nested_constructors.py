"""Arrays, maps and structs from their parts, for the allow-list of ``expressions``."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from rewriter.exec.sql_types import STRING, VOID, SqlType, array_of, map_of, struct_of
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import field_sql, plain_cast, string_literal, struct_sql
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.nested_sql import is_exact, list_sql, map_sql, with_values

_SECTION = "Arrays, maps and structs"
_MOST_PARTS = 1000


def _array(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(part, scope) for part in e.arguments(node, 0, _MOST_PARTS)]
    sqls, element = e.cast_to_common_type(values, node) if values else ([], VOID)
    return Typed(list_sql(sqls, element), array_of(element), call("array", *(value.name for value in values)))


def map_type(e: Expressions, key: SqlType, value: SqlType, node: exp.Expr) -> SqlType:
    """Returns the type of a map. Refuses keys that are not equal exactly if they are the same."""
    if not is_exact(key) or key.is_nested or key.name == "void":
        e.refuse(node, f"A map with keys of the type {key}")
    return map_of(key, value)


def _map(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = e.arguments(node, 0, _MOST_PARTS)
    if not parts:
        return Typed("MAP {}", map_of(VOID, VOID), "map()")
    if len(parts) % 2:
        e.text.wrong(
            f"MAP takes keys and values in turn, not {len(parts)} arguments.",
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "42605", node, "map",
        )  # fmt: skip
    values = [e.translate(part, scope) for part in parts]
    if any(value.type.name == "void" for value in values[::2]):
        e.refuse(node, "A map with the key NULL")
    keys, key_type = e.cast_to_common_type(values[::2], node)
    items, item_type = e.cast_to_common_type(values[1::2], node)
    type_ = map_type(e, key_type, item_type, node)
    sql = plain_cast(map_sql(list_sql(keys, key_type), list_sql(items, item_type)), type_)
    return Typed(sql, type_, call("map", *(value.name for value in values)))


def _made_struct(e: Expressions, node: exp.Expr, fields: Sequence[tuple[str, Typed]], name: str | None) -> Typed:
    names = {field.lower() for field, _ in fields}
    if len(names) < len(fields) or "" in names:
        e.refuse(node, f"{e.text.shown(node)}, whose fields have equal names or none,")
    type_ = struct_of([(field, value.type) for field, value in fields])
    sql = struct_sql([(field, plain_cast(value.sql, value.type)) for field, value in fields])
    return Typed(plain_cast(sql, type_), type_, name)


def _named_struct(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    parts = e.arguments(node, 1, _MOST_PARTS)
    if len(parts) % 2:
        e.text.wrong(
            f"NAMED_STRUCT takes names and values in turn, not {len(parts)} arguments.",
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "42605", node, "named_struct",
        )  # fmt: skip
    values = [e.translate(part, scope) for part in parts]
    for part, value in zip(parts[::2], values[::2], strict=True):
        if value.text is None:
            e.text.wrong(
                f"The names of fields are string literals, not {e.text.shown(part)}.",
                "DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING", "42K09", part,
            )  # fmt: skip
    fields = [(str(key.text), value) for key, value in zip(values[::2], values[1::2], strict=True)]
    return _made_struct(e, node, fields, call("named_struct", *(value.name for value in values)))


def _struct(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``struct(a, b AS c, 1)``, whose fields are named by columns, names and positions: ``a``, ``c``,
    ``col3``.
    """
    e.arguments(node, 1, _MOST_PARTS)
    fields: list[tuple[str, Typed]] = []
    names: list[str | None] = []
    for number, part in enumerate(node.expressions, 1):
        if part.find(exp.Star) is not None:
            e.refuse(node, "STRUCT of *")
        if isinstance(part, exp.Alias):
            e.allow_only(part, "this", "alias")
            value = e.translate(part.this, scope)
            field, shown = part.alias, None if value.name is None else f"{value.name} AS {part.alias}"
        else:
            value = e.translate(part, scope)
            is_named = isinstance(part, exp.Column | exp.Identifier)
            field, shown = part.name if is_named else f"col{number}", value.name
        fields.append((field, value))
        names.append(shown)
    return _made_struct(e, node, fields, call("struct", *names))


def concatenated_arrays(e: Expressions, node: exp.Expr, values: Sequence[Typed]) -> Typed:
    """Translates ``concat`` of arrays: NULL if one of them is."""
    sqls, type_ = e.cast_to_common_type(values, node)
    joined = sqls[0]
    for sql in sqls[1:]:
        joined = f"list_concat({joined}, {sql})"
    test = " AND ".join(f"{sql} IS NOT NULL" for sql in sqls)
    sql = plain_cast(f"CASE WHEN {test} THEN {joined} END", type_)
    return Typed(sql, type_, call("concat", *(value.name for value in values)))


def _map_from_arrays(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    keys, items = (e.translate(part, scope) for part in e.arguments(node, 2))
    if keys.type.element is None or items.type.element is None:
        e.refuse(node, f"MAP_FROM_ARRAYS of {keys.type} and {items.type}")
    type_ = map_type(e, keys.type.element, items.type.element, node)
    return Typed(plain_cast(map_sql(keys.sql, items.sql), type_), type_, call("map_from_arrays", keys.name, items.name))


def _map_from_entries(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (part,) = e.arguments(node, 1)
    value = e.translate(part, scope)
    entry = value.type.element
    if entry is None or entry.name != "struct" or len(entry.parts) != 2:
        e.refuse(node, f"MAP_FROM_ENTRIES of {value.type}")
    (key_name, key_type), (item_name, item_type) = entry.parts
    type_ = map_type(e, key_type, item_type, node)

    def body(v: dict[str, str]) -> str:
        keys, items = (f"list_transform({v['a']}, lambda p: {field_sql('p', name)})" for name in (key_name, item_name))
        # An entry that is NULL makes the map NULL.
        return f"CASE WHEN list_count({v['a']}) = len({v['a']}) THEN {map_sql(keys, items)} END"

    sql = with_values({"a": value.sql}, lambda v: body(dict(v)))
    return Typed(plain_cast(sql, type_), type_, call("map_from_entries", value.name))


_SPECIAL = "\\^$.|?*+()[]{}"


def _plain_character(pattern: str | None) -> str | None:
    """Returns the single character that a regular expression means, as ``,`` and ``\\|`` do; ``None`` for others."""
    if pattern is not None and len(pattern) == 2 and pattern[0] == "\\" and pattern[1] in _SPECIAL:
        return pattern[1]
    return pattern if pattern is not None and len(pattern) == 1 and pattern not in _SPECIAL else None


def _str_to_map(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *others = e.arguments(node, 1, 3)
    value = e.translate(first, scope)
    separators = [e.translate(part, scope) for part in others]
    patterns = [separator.text for separator in separators] + [",", ":"][len(others) :]
    texts = [_plain_character(pattern) for pattern in patterns]
    if value.type != STRING or None in texts:
        e.refuse(node, f"{e.text.shown(node)}, whose separators are not single characters without a special meaning,")
    pair, key = (string_literal(str(text)) for text in texts)
    type_ = map_of(STRING, STRING)
    # A pair without a separator has the value NULL.
    place = f"instr(p, {key})"
    keys = f"lambda p: CASE WHEN {place} = 0 THEN p ELSE substring(p, 1, {place} - 1) END"
    items = f"lambda p: CASE WHEN {place} > 0 THEN substring(p, {place} + 1) END"

    def body(pairs: str) -> str:
        return map_sql(f"list_transform({pairs}, {keys})", f"list_transform({pairs}, {items})")

    sql = with_values({"a": f"string_split({value.sql}, {pair})"}, lambda v: body(v["a"]))
    names = [value.name, *(separator.name for separator in separators), *[",", ":"][len(others) :]]
    return Typed(plain_cast(sql, type_), type_, call("str_to_map", *names))


_KEYS = "keys that are FLOAT, DOUBLE or nested"
NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Array: Allowed(
        _array, Entry(_SECTION, "array(x, …)", "values without a common type; elements of no type in a result")
    ),
}
FUNCTIONS = functions(
    _SECTION,
    ("map(key, value, …)", _map, _KEYS),
    ("struct(x, …)", _struct, "*; equal names"),
    ("named_struct('name', x, …)", _named_struct, "equal names"),
    ("map_from_arrays(keys, values)", _map_from_arrays, f"{_KEYS}; arrays of different lengths, when they occur"),
    ("map_from_entries(array)", _map_from_entries, _KEYS),
    (
        "str_to_map(s[, pair separator[, key separator]])",
        _str_to_map,
        "separators of several characters, and patterns other than `\\.`",
    ),
)
