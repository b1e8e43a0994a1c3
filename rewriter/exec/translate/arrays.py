"""Functions of arrays and maps, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, DATE, INT, STRING, VOID, SqlType, array_of, struct_of
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.casts import as_decimal, common_type, plain_cast, string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Translation, Typed, call, functions
from rewriter.exec.translate.intervals import CLOCK_UNITS, interval_of_one_unit
from rewriter.exec.translate.math_functions import literal_int
from rewriter.exec.translate.nested_sql import is_exact, list_sql, map_sql, with_values
from rewriter.exec.translate.string_functions import count

#: A regular expression that stands for one text: plain characters, ``\\.`` and ``[.]``.
_PLAIN_REGEX = re.compile(r"(?:[^\\\[\](){}.*+?^$|]|\\[^0-9A-Za-z]|\[[^\\\[\]^&]\])+", re.DOTALL)


def array(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates an argument that is an array."""
    value = e.translate(node, scope)
    if value.type == VOID:
        e.refuse(node, "NULL as an array")
    if value.type.element is None:
        e.text.wrong(
            f"{e.text.shown(node)} is no ARRAY, but {value.type.shown}.",
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "42K09", node,
        )  # fmt: skip
    return value


def _element_of(value: Typed) -> SqlType:
    """Returns the type of the elements of an array."""
    return value.type.element or VOID


def _split(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *others = e.arguments(node, 2, 3)
    value, pattern = e.translate(first, scope), e.translate(others[0], scope)
    limit = e.translate(others[1], scope).digits if len(others) > 1 else -1
    regex = pattern.text
    if regex is None or not _PLAIN_REGEX.fullmatch(regex):
        e.refuse(node, f"SPLIT by {e.text.shown(others[0])}, which is not one text,")
    if limit != -1:
        e.refuse(node, "SPLIT with a limit")
    separator = re.sub(r"\\(.)|\[(.)\]", lambda match: match[1] or match[2], regex, flags=re.DOTALL)
    type_ = array_of(STRING)
    sql = plain_cast(f"string_split({e.cast(value, STRING, node)}, {string_literal(separator)})", type_)
    return Typed(sql, type_, call("split", value.name, pattern.name))


def _size(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (part,) = e.arguments(node, 1)
    value, function = e.translate(part, scope), str(e.text.called(node))
    if value.type.name != "map" or function == "array_size":
        value = array(e, part, scope)
    length = "cardinality" if value.type.name == "map" else "len"
    return Typed(plain_cast(f"{length}({value.sql})", INT), INT, call(function, value.name))


def _array_and_item(e: Expressions, node: exp.Expr, scope: Scope, is_tight: bool = True) -> tuple[Typed, Typed, str]:
    """Returns an array and a value of the type of its elements, and the value's SQL. Refuses values that are equal
    although they are not the same, and where ``is_tight``, decimals that no type of both sides holds.
    """
    value, sought, element = _to_common_type(e, node, scope, is_tight)
    if not is_exact(element) or sought.type == VOID:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type} and {sought.type}")
    return value, sought, e.cast(sought, element, node)


def _to_common_type(
    e: Expressions, node: exp.Expr, scope: Scope, is_tight: bool = True
) -> tuple[Typed, Typed, SqlType]:
    """Returns an array whose elements have the common type of its elements and of a value, the value, and the type."""
    first, second = e.arguments(node, 2)
    value, sought = array(e, first, scope), e.translate(second, scope)
    if is_tight and _mixes_decimals(_element_of(value), sought.type):
        e.text.wrong(
            f"The elements of {e.text.shown(first)} are {_element_of(value).shown}, and {e.text.shown(second)} is "
            f"{sought.type.shown}.",
            "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES", "42K09", node, hint=_CAST_HINT,
        )  # fmt: skip
    element = common_type(_element_of(value), sought.type)
    if element is None:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type} and {sought.type}")
    type_ = array_of(element)
    return replace(value, sql=e.cast(value, type_, node), type=type_), sought, element


_CAST_HINT = "Cast one of them to the type of the other."


def _mixes_decimals(left: SqlType, right: SqlType) -> bool:
    """Tests whether types differ by a decimal that is not the type of both: for two arrays, and to find or add a value,
    Spark widens a whole number to a decimal that holds all values of its type, and no decimal otherwise.
    """
    if left.is_nested or right.is_nested:
        return any(_mixes_decimals(part, other) for (_, part), (_, other) in zip(left.parts, right.parts, strict=False))
    if left == right or VOID in (left, right) or not (left.is_numeric and right.is_numeric):
        return False
    if not (left.is_decimal or right.is_decimal):
        return False
    wide, other = (left, right) if left.is_decimal else (right, left)
    return not other.is_integer or wide.precision - wide.scale < as_decimal(other).precision


def _contains(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, sought, item = _array_and_item(e, node, scope, is_tight=False)

    def body(v: Mapping[str, str]) -> str:
        return (
            f"CASE WHEN {v['a']} IS NULL OR {v['x']} IS NULL THEN NULL WHEN list_contains({v['a']}, {v['x']}) "
            f"THEN true WHEN list_count({v['a']}) < len({v['a']}) THEN NULL ELSE false END"
        )

    sql = with_values({"a": value.sql, "x": item}, body)
    return Typed(plain_cast(sql, BOOLEAN), BOOLEAN, call("array_contains", value.name, sought.name))


def _position_of(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, sought, item = _array_and_item(e, node, scope)

    def body(v: Mapping[str, str]) -> str:
        place = f"coalesce(list_position({v['a']}, {v['x']}), 0)"
        return f"CASE WHEN {v['a']} IS NOT NULL AND {v['x']} IS NOT NULL THEN {place} END"

    sql = with_values({"a": value.sql, "x": item}, body)
    return Typed(plain_cast(sql, BIGINT), BIGINT, call("array_position", value.name, sought.name))


def _without_item(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, sought, item = _array_and_item(e, node, scope)

    def body(v: Mapping[str, str]) -> str:
        kept = f"list_filter({v['a']}, lambda y: y IS DISTINCT FROM {v['x']})"
        return f"CASE WHEN {v['x']} IS NOT NULL THEN {kept} END"

    sql = with_values({"a": value.sql, "x": item}, body)
    return Typed(plain_cast(sql, value.type), value.type, call("array_remove", value.name, sought.name))


def _extended(at_end: bool) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value, added, element = _to_common_type(e, node, scope)

        def body(v: Mapping[str, str]) -> str:
            lists = (v["a"], v["x"]) if at_end else (v["x"], v["a"])
            return f"CASE WHEN {v['a']} IS NOT NULL THEN list_concat({', '.join(lists)}) END"

        sql = with_values({"a": value.sql, "x": list_sql([e.cast(added, element, node)], element)}, body)
        name = call(str(e.text.called(node)), value.name, added.name)
        return Typed(plain_cast(sql, value.type), value.type, name)

    return translate


def _joined(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second, *third = e.arguments(node, 2, 3)
    value, separator = array(e, first, scope), e.translate(second, scope)
    for_null = [e.translate(part, scope) for part in third]
    if _element_of(value).is_nested or any(part.type != STRING for part in (separator, *for_null)):
        e.refuse(node, f"ARRAY_JOIN of {value.type} and {separator.type}")
    if separator.text is None and not separator.sql.startswith("$"):
        e.refuse(second, "ARRAY_JOIN with a computed separator")
    item = e.cast(Typed("x", _element_of(value)), STRING, node)
    if not for_null:
        texts = f"list_transform(list_filter({value.sql}, lambda x: x IS NOT NULL), lambda x: {item})"
        sql = f"array_to_string({texts}, {separator.sql})"
    else:
        texts = f"list_transform({value.sql}, lambda x: coalesce({item}, {for_null[0].sql}))"
        sql = f"CASE WHEN {for_null[0].sql} IS NOT NULL THEN array_to_string({texts}, {separator.sql}) END"
    names = (value.name, separator.name, *(part.name for part in for_null))
    return Typed(plain_cast(sql, STRING), STRING, call("array_join", *names))


def _ordered(e: Expressions, value: Typed, node: exp.Expr) -> None:
    """Refuses elements whose order differs: NaN and zeros, and structs, whose NULLs are in another order."""
    element = _element_of(value)
    if not is_exact(element) or element.is_nested:
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")


def _sorted(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *options = e.arguments(node, 1, 2)
    value = array(e, first, scope)
    ascending = True
    if options:
        if not isinstance(options[0], exp.Boolean):
            e.refuse(node, "SORT_ARRAY by a computed direction")
        ascending = bool(options[0].this)
    _ordered(e, value, node)
    direction = "'ASC', 'NULLS FIRST'" if ascending else "'DESC', 'NULLS LAST'"
    name = call("sort_array", value.name, str(ascending).lower())
    return Typed(plain_cast(f"list_sort({value.sql}, {direction})", value.type), value.type, name)


#: The comparison that Spark shows for ARRAY_SORT without a lambda.
_VARIABLE = "namedlambdavariable()"
_COMPARED = (
    f"(IF((({_VARIABLE} IS NULL) AND ({_VARIABLE} IS NULL)), 0, (IF(({_VARIABLE} IS NULL), 1, (IF(({_VARIABLE} IS "
    f"NULL), -1, (IF(({_VARIABLE} < {_VARIABLE}), -1, (IF(({_VARIABLE} > {_VARIABLE}), 1, 0))))))))))"
)


def _sorted_with_nulls_last(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    (first,) = e.arguments(node, 1)
    value = array(e, first, scope)
    _ordered(e, value, node)
    name = call("array_sort", value.name, f"lambdafunction({_COMPARED}, {_VARIABLE}, {_VARIABLE})")
    return Typed(plain_cast(f"list_sort({value.sql}, 'ASC', 'NULLS LAST')", value.type), value.type, name)


def _extreme(function: str) -> Translation:
    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = array(e, e.arguments(node, 1)[0], scope)
        _ordered(e, value, node)
        sql = plain_cast(f"list_{function}({value.sql})", _element_of(value))
        return Typed(sql, _element_of(value), call(f"array_{function}", value.name))

    return translate


def _of_array(template: str) -> Translation:
    """Translates a function that rearranges the elements of an array; ``{0}`` is the array."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = array(e, e.arguments(node, 1)[0], scope)
        name = call(str(e.text.called(node)), value.name)
        return Typed(plain_cast(template.format(value.sql), value.type), value.type, name)

    return translate


def _distinct_sql(array_sql: str) -> str:
    """Returns the elements without repetitions, in the order of their first places."""
    return f"list_filter({array_sql}, lambda y, j: list_position({array_sql}, y) = j)"


def _distinct(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = array(e, e.arguments(node, 1)[0], scope)
    if not is_exact(_element_of(value)):
        e.refuse(node, f"ARRAY_DISTINCT of {value.type}")
    sql = with_values({"a": value.sql}, lambda v: _distinct_sql(v["a"]))
    return Typed(plain_cast(sql, value.type), value.type, call("array_distinct", value.name))


def _of_two_arrays(build: Callable[[str, str], str], type_: SqlType | None = None) -> Translation:
    """Translates a function of two arrays of one type that compares their elements, and is NULL if one of them is."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        values = [array(e, part, scope) for part in e.arguments(node, 2)]
        function = str(e.text.called(node))
        if _mixes_decimals(*(value.type for value in values)):
            types = " and ".join(value.type.shown for value in values)
            e.text.wrong(
                f"{function} takes two arrays of one type, and these are {types}.",
                "DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES", "42K09", node, hint=_CAST_HINT,
            )  # fmt: skip
        sqls, common = e.cast_to_common_type(values, node)
        if not is_exact(common):
            e.refuse(node, f"{function.upper()} of {common}")

        def body(v: Mapping[str, str]) -> str:
            return f"CASE WHEN {v['a']} IS NOT NULL AND {v['b']} IS NOT NULL THEN {build(v['a'], v['b'])} END"

        result = common if type_ is None else type_
        sql = plain_cast(with_values(dict(zip("ab", sqls, strict=True)), body), result)
        return Typed(sql, result, call(function, *(value.name for value in values)))

    return translate


def _unite(left: str, right: str) -> str:
    both = f"list_concat({left}, {right})"
    return f"list_transform([{both}], lambda u: {_distinct_sql('u')})[1]"


def _intersect(left: str, right: str) -> str:
    kept = f"list_position({left}, y) = j AND list_position({right}, y) IS NOT NULL"
    return f"list_filter({left}, lambda y, j: {kept})"


def _subtract(left: str, right: str) -> str:
    return f"list_filter({left}, lambda y, j: list_position({left}, y) = j AND list_position({right}, y) IS NULL)"


def _overlap(left: str, right: str) -> str:
    """Returns NULL where only a NULL could be in both."""
    has_null = f"list_count({left}) < len({left}) OR list_count({right}) < len({right})"
    common = f"list_filter({left}, lambda y: y IS NOT NULL AND list_position({right}, y) IS NOT NULL)"
    return (
        f"CASE WHEN len({common}) > 0 THEN true WHEN len({left}) > 0 AND len({right}) > 0 AND ({has_null}) THEN NULL "
        "ELSE false END"
    )


def _slice(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *bounds = e.arguments(node, 3)
    value = array(e, first, scope)
    start, length = (count(e, bound, scope) for bound in bounds)
    sqls = {"a": value.sql, "s": plain_cast(start.sql, BIGINT), "n": plain_cast(length.sql, BIGINT)}

    def body(v: Mapping[str, str]) -> str:
        begin = f"CASE WHEN {v['s']} > 0 THEN {v['s']} ELSE len({v['a']}) + {v['s']} + 1 END"
        kept = f"list_filter({v['a']}, lambda y, j: j >= {begin} AND j < {begin} + {v['n']})"
        return (
            f"CASE WHEN {v['a']} IS NULL OR {v['s']} IS NULL OR {v['n']} IS NULL THEN NULL "
            f"WHEN {v['s']} = 0 THEN error('[INVALID_PARAMETER_VALUE.START] The start of SLICE is 0.') "
            f"WHEN {v['n']} < 0 THEN error('[INVALID_PARAMETER_VALUE.LENGTH] The length of SLICE is negative.') "
            f"WHEN {begin} < 1 THEN [] ELSE {kept} END"
        )

    name = call("slice", value.name, start.name, length.name)
    return Typed(plain_cast(with_values(sqls, body), value.type), value.type, name)


def _flattened(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = array(e, e.arguments(node, 1)[0], scope)
    type_ = _element_of(value)
    if type_.element is None:
        e.refuse(node, f"FLATTEN of {value.type}")

    def body(v: Mapping[str, str]) -> str:
        return f"CASE WHEN list_count({v['a']}) = len({v['a']}) THEN flatten({v['a']}) END"

    return Typed(plain_cast(with_values({"a": value.sql}, body), type_), type_, call("flatten", value.name))


def _repeated(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, number = e.translate(first, scope), count(e, second, scope)
    type_ = array_of(value.type)

    def body(v: Mapping[str, str]) -> str:
        return f"CASE WHEN {v['n']} IS NOT NULL THEN list_transform(range({v['n']}), lambda j: {v['x']}) END"

    sql = plain_cast(with_values({"x": plain_cast(value.sql, value.type), "n": number.sql}, body), type_)
    return Typed(sql, type_, call("array_repeat", value.name, number.name))


def _map_part(function: str) -> Translation:
    """Translates MAP_KEYS, MAP_VALUES and MAP_ENTRIES."""

    def translate(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
        value = _map(e, node, scope)
        (_, key), (_, item) = value.type.parts
        element = {"map_keys": key, "map_values": item}.get(function) or struct_of([("key", key), ("value", item)])
        sql = plain_cast(f"{function}({value.sql})", array_of(element))
        return Typed(sql, array_of(element), call(function, value.name))

    return translate


def _map(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(node.expressions[0], scope) if node.expressions else e.refuse(node)
    if value.type.name != "map":
        e.refuse(node, f"{str(e.text.called(node)).upper()} of {value.type}")
    return value


def _map_contains_key(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    _, second = e.arguments(node, 2)
    value, key = _map(e, node, scope), e.translate(second, scope)
    key_type = value.type.parts[0][1]
    if not is_exact(key_type) or common_type(key_type, key.type) != key_type or key.type == VOID:
        e.refuse(node, f"MAP_CONTAINS_KEY of {value.type} and {key.type}")

    def body(v: Mapping[str, str]) -> str:
        return f"CASE WHEN {v['k']} IS NOT NULL THEN list_contains(map_keys({v['m']}), {v['k']}) END"

    sql = plain_cast(with_values({"m": value.sql, "k": e.cast(key, key_type, node)}, body), BOOLEAN)
    return Typed(sql, BOOLEAN, call("map_contains_key", value.name, key.name))


def _map_concat(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(part, scope) for part in e.arguments(node, 1, _MOST_MAPS)]
    if any(value.type != values[0].type or value.type.name != "map" for value in values):
        e.refuse(node, f"MAP_CONCAT of {' and '.join(dict.fromkeys(str(value.type) for value in values))}")
    if not is_exact(values[0].type.parts[0][1]):
        e.refuse(node, f"MAP_CONCAT of {values[0].type}")
    by_name = {f"m{number}": value.sql for number, value in enumerate(values)}

    def body(v: Mapping[str, str]) -> str:
        keys, items = (f"flatten([{', '.join(f'{part}({sql})' for sql in v.values())}])" for part in
                       ("map_keys", "map_values"))  # fmt: skip
        return f"CASE WHEN {' AND '.join(f'{sql} IS NOT NULL' for sql in v.values())} THEN {map_sql(keys, items)} END"

    type_ = values[0].type
    sql = plain_cast(with_values(by_name, body), type_)
    return Typed(sql, type_, call("map_concat", *(value.name for value in values)))


def _collected(distinct: bool) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        value = e.translate(aggregate.arguments(e, 1)[0], scope)
        if value.type == VOID or (distinct and not is_exact(value.type)):
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of {value.type}")
        type_ = array_of(value.type)
        template = f"coalesce(list({'DISTINCT ' if distinct else ''}{{0}}){{1}}, {plain_cast('[]', type_)})"
        name = "collect_set" if distinct else "collect_list"
        return Aggregate(
            template, value.sql, type_, call(name, value.name), f"{value.sql} IS NOT NULL", frames=not distinct
        )

    return rule


_SECTION = "Arrays, maps and structs"
_MOST_MAPS = 100
_EXACT = "FLOAT, DOUBLE and maps"
_COMPARED_TYPES = f"{_EXACT}; NULL"
FUNCTIONS = functions(
    _SECTION,
    ("split(x, 'text')", _split, "regular expressions other than one text, as in '\\\\|' or '[.]'; a limit"),
    ("size(array|map)", _size),
    ("cardinality(array|map)", _size),
    ("array_size(array)", _size),
    ("array_contains(array, x)", _contains, _COMPARED_TYPES),
    ("array_position(array, x)", _position_of, _COMPARED_TYPES),
    ("array_remove(array, x)", _without_item, _COMPARED_TYPES),
    ("array_append(array, x)", _extended(at_end=True)),
    ("array_prepend(array, x)", _extended(at_end=False)),
    (
        "array_join(array, separator[, text for NULL])",
        _joined,
        "FLOAT, DOUBLE, BINARY and nested elements; a computed separator",
    ),
    ("sort_array(array[, true|false])", _sorted, f"{_EXACT}; structs and arrays"),
    ("array_sort(array)", _sorted_with_nulls_last, f"a lambda; {_EXACT}; structs and arrays"),
    ("array_max(array)", _extreme("max"), f"{_EXACT}; structs and arrays"),
    ("array_min(array)", _extreme("min"), f"{_EXACT}; structs and arrays"),
    ("array_distinct(array)", _distinct, _EXACT),
    ("array_union(array, array)", _of_two_arrays(_unite), _EXACT),
    ("array_intersect(array, array)", _of_two_arrays(_intersect), _EXACT),
    ("array_except(array, array)", _of_two_arrays(_subtract), _EXACT),
    ("arrays_overlap(array, array)", _of_two_arrays(_overlap, BOOLEAN), _EXACT),
    ("array_compact(array)", _of_array("list_filter({0}, lambda y: y IS NOT NULL)")),
    ("array_repeat(x, n)", _repeated),
    ("slice(array, start, length)", _slice, "a BIGINT"),
    ("flatten(array of arrays)", _flattened),
    ("map_keys(map)", _map_part("map_keys")),
    ("map_values(map)", _map_part("map_values")),
    ("map_entries(map)", _map_part("map_entries")),
    ("map_contains_key(map, key)", _map_contains_key, _COMPARED_TYPES),
    ("map_concat(map, …)", _map_concat, "maps of several types; keys that are FLOAT or DOUBLE"),
)
RULES: dict[str, AggregateRule] = {
    "collect_list": _collected(distinct=False),
    "array_agg": _collected(distinct=False),
    "collect_set": _collected(distinct=True),
}
LINES = (
    ("collect_list(x)", "DISTINCT; the order of the elements is not defined"),
    ("array_agg(x)", "DISTINCT; the order of the elements is not defined"),
    ("collect_set(x)", f"{_EXACT}; the order of the elements is not defined"),
)


# SEQUENCE of whole numbers and of dates: an array from the first to the last value, usually for EXPLODE.
#
# As in Spark, the months of a step are added to the first date, so that each month keeps its last day.

_MONTHS = {"MONTH": 1, "YEAR": 12}
_OR_SPARK = ", or use the Spark engine (engine spark)."
_AGAINST_STEP = (
    "error('[DUCKDB_UNSUPPORTED] A sequence whose step leads away from its end is not supported on DuckDB.')"
)


def _sequence(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first_node, last_node, *steps = e.arguments(node, 2, 3)
    first, last = e.translate(first_node, scope), e.translate(last_node, scope)
    if first.type.is_integer and last.type.is_integer:
        sqls, type_ = e.cast_to_common_type([first, last], node)
        step = literal_int(e, steps[0]) if steps else None
        series, shown = _numbers(sqls[0], sqls[1], step), None if step is None else str(step)
    elif first.type == last.type == DATE:
        sqls, type_ = [first.sql, last.sql], DATE
        series, shown = _days(e, node, sqls[0], sqls[1], steps[0] if steps else None)
    else:
        e.text.refuse(
            f"A sequence from {first.type} to {last.type}",
            node,
            f"Write it over DATEs or whole numbers, and cast them{_OR_SPARK}",
        )
    list_type = array_of(type_)
    sql = f"CASE WHEN {sqls[0]} IS NULL OR {sqls[1]} IS NULL THEN NULL {series} END"
    names = (first.name, last.name) if shown is None else (first.name, last.name, shown)
    return Typed(plain_cast(sql, list_type), list_type, call("sequence", *names))


def _numbers(first: str, last: str, step: int | None) -> str:
    """Returns the branches of CASE for whole numbers."""
    wide = [plain_cast(sql, BIGINT) for sql in (first, last)]
    if step is None:
        up, down = (f"generate_series({wide[0]}, {wide[1]}, {sign})" for sign in (1, -1))
        return f"WHEN {first} <= {last} THEN {up} ELSE {down}"
    if step == 0:
        return f"WHEN {first} = {last} THEN [{wide[0]}] ELSE {_AGAINST_STEP}"
    order = "<=" if step > 0 else ">="
    return f"WHEN {first} {order} {last} THEN generate_series({wide[0]}, {wide[1]}, {step}) ELSE {_AGAINST_STEP}"


def _days(e: Expressions, node: exp.Expr, first: str, last: str, step: exp.Expr | None) -> tuple[str, str | None]:
    """Returns the branches of CASE for dates, and the step in the name of the column."""
    if step is None:
        up, down = (f"generate_series({first}, {last}, INTERVAL ({sign}) DAY)" for sign in (1, -1))
        return f"WHEN {first} <= {last} THEN {up} ELSE {down}", None
    if not isinstance(step, exp.Interval):
        e.text.refuse("A sequence of dates with a step that is no interval", step, f"Write INTERVAL 1 DAY{_OR_SPARK}")
    amount, unit = interval_of_one_unit(e, step)
    if unit in CLOCK_UNITS or amount < 1:
        e.text.refuse(
            f"A sequence of dates with the step {e.text.shown(step)}",
            step,
            f"Write whole days, months or years{_OR_SPARK}",
        )
    shown = f"INTERVAL '{amount}' {unit}"
    if unit in _MONTHS:
        months = amount * _MONTHS[unit]
        dates = (
            f"list_transform(generate_series(0, datediff('month', {first}, {last}), {months}), "
            f"lambda i: CAST({first} + to_months(CAST(i AS INTEGER)) AS DATE))"
        )
        series = f"list_filter({dates}, lambda d: d <= {last})"
    else:
        series = f"generate_series({first}, {last}, INTERVAL ({amount}) {unit})"
    return f"WHEN {first} <= {last} THEN {series} ELSE {_AGAINST_STEP}", shown


SEQUENCE_FUNCTIONS = functions(
    _SECTION,
    (
        "sequence(first, last[, step])",
        _sequence,
        "TIMESTAMP; a step that is not a literal; negative steps of dates",
    ),
)
