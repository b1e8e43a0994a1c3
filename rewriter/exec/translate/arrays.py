"""Arrays, for the allow-list of ``expressions``: they are made, taken apart and shown, but never compared."""

from __future__ import annotations

import re

from sqlglot import exp

from rewriter.exec.sql_types import BIGINT, BOOLEAN, DATE, INT, STRING, VOID, SqlType, array_of
from rewriter.exec.translate.aggregate_calls import Aggregate, AggregateCall, AggregateRule
from rewriter.exec.translate.allowlist_entries import Entry
from rewriter.exec.translate.casts import common_type, plain_cast, string_literal
from rewriter.exec.translate.expressions import Allowed, Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.intervals import CLOCK_UNITS, interval_of_one_unit
from rewriter.exec.translate.math_functions import literal_int
from rewriter.exec.translate.string_functions import text

#: The types of elements. Timestamps in arrays have no zone in DuckDB's files and results.
_ELEMENTS = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "string", "date")
_MOST_ELEMENTS = 1000
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


def element_of(value: Typed) -> SqlType:
    """Returns the type of the elements of an array."""
    return value.type.element or VOID


def is_generator(e: Expressions, node: exp.Expr) -> bool:
    """Tests whether a node is a call of EXPLODE or POSEXPLODE, perhaps with names for its columns."""
    call_node = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    return e.text.called(call_node) in ("explode", "posexplode", "explode_outer", "posexplode_outer")


def _check_element(e: Expressions, type_: SqlType, node: exp.Expr) -> None:
    if type_.name not in _ELEMENTS:
        e.refuse(node, f"An array of {type_}")


def _made(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [e.translate(part, scope) for part in e.arguments(node, 1, _MOST_ELEMENTS)]
    sqls, element = e.cast_to_common_type(values, node)
    _check_element(e, element, node)
    type_ = array_of(element)
    return Typed(plain_cast(f"[{', '.join(sqls)}]", type_), type_, call("array", *(value.name for value in values)))


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
    value = array(e, e.arguments(node, 1)[0], scope)
    return Typed(plain_cast(f"len({value.sql})", INT), INT, call(str(e.text.called(node)), value.name))


def _contains(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, sought = array(e, first, scope), e.translate(second, scope)
    element = element_of(value)
    if element.is_floating or common_type(element, sought.type) != element or sought.type == VOID:
        e.refuse(node, f"ARRAY_CONTAINS of {value.type} and {sought.type}")
    item = e.cast(sought, element, node)
    sql = (
        f"CASE WHEN {value.sql} IS NULL OR {item} IS NULL THEN NULL WHEN list_contains({value.sql}, {item}) THEN true "
        f"WHEN list_count({value.sql}) < len({value.sql}) THEN NULL ELSE false END"
    )
    return Typed(plain_cast(sql, BOOLEAN), BOOLEAN, call("array_contains", value.name, sought.name))


def _position(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = e.translate(node, scope)
    if not value.type.is_integer or value.type == BIGINT:
        e.refuse(node, f"{value.type} as the place of an element")
    return value


def _bracket(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``a[i]``, whose first element is ``a[0]``; outside the array it fails."""
    e.allow_only(node, "this", "expressions")
    value = array(e, node.this, scope)
    if len(node.expressions) != 1:
        e.refuse(node)
    place = _position(e, node.expressions[0], scope)
    failure = "error('[INVALID_ARRAY_INDEX] The index is outside the array.')"
    sql = (
        f"CASE WHEN {value.sql} IS NULL OR {place.sql} IS NULL THEN NULL "
        f"WHEN {place.sql} < 0 OR {place.sql} >= len({value.sql}) THEN {failure} ELSE {value.sql}[{place.sql} + 1] END"
    )
    name = None if value.name is None or place.name is None else f"{value.name}[{place.name}]"
    return Typed(plain_cast(sql, element_of(value)), element_of(value), name)


def _element_at(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """Translates ``element_at(a, n)``: counted from 1, or from the end by negative numbers."""
    first, second = e.arguments(node, 2)
    value, place = array(e, first, scope), _position(e, second, scope)
    function = str(e.text.called(node))
    outside = f"abs({place.sql}) > len({value.sql})"
    failure = "error('[INVALID_ARRAY_INDEX_IN_ELEMENT_AT] The index is outside the array.')"
    sql = (
        f"CASE WHEN {value.sql} IS NULL OR {place.sql} IS NULL THEN NULL "
        f"WHEN {place.sql} = 0 THEN error('[INVALID_INDEX_OF_ZERO] The first index is 1.') "
        f"WHEN {outside} THEN {'NULL' if function == 'try_element_at' else failure} ELSE {value.sql}[{place.sql}] END"
    )
    return Typed(plain_cast(sql, element_of(value)), element_of(value), call(function, value.name, place.name))


def _get(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, place = array(e, first, scope), _position(e, second, scope)
    sql = f"CASE WHEN {place.sql} >= 0 THEN {value.sql}[CAST({place.sql} AS BIGINT) + 1] END"
    return Typed(plain_cast(sql, element_of(value)), element_of(value), call("get", value.name, place.name))


def _joined(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, separator = array(e, first, scope), e.translate(second, scope)
    if element_of(value) != STRING or separator.type != STRING:
        e.refuse(node, f"ARRAY_JOIN of {value.type} and {separator.type}")
    sql = f"array_to_string(list_filter({value.sql}, lambda x: x IS NOT NULL), {separator.sql})"
    return Typed(plain_cast(sql, STRING), STRING, call("array_join", value.name, separator.name))


def _sorted(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, *options = e.arguments(node, 1, 2)
    value = array(e, first, scope)
    ascending = True
    if options:
        if not isinstance(options[0], exp.Boolean):
            e.refuse(node, "SORT_ARRAY by a computed direction")
        ascending = bool(options[0].this)
    if element_of(value).is_floating:
        e.refuse(node, f"SORT_ARRAY of {value.type}")
    direction = "'ASC', 'NULLS FIRST'" if ascending else "'DESC', 'NULLS LAST'"
    name = call("sort_array", value.name, str(ascending).lower())
    return Typed(plain_cast(f"list_sort({value.sql}, {direction})", value.type), value.type, name)


def _collected(distinct: bool) -> AggregateRule:
    def rule(e: Expressions, aggregate: AggregateCall, scope: Scope) -> Aggregate:
        aggregate.only_plain(e)
        value = e.translate(aggregate.arguments(e, 1)[0], scope)
        _check_element(e, value.type, aggregate.node)
        if distinct and value.type.is_floating:
            e.refuse(aggregate.node, f"{aggregate.function.upper()} of {value.type}")
        type_ = array_of(value.type)
        template = f"coalesce(list({'DISTINCT ' if distinct else ''}{{0}}){{1}}, {plain_cast('[]', type_)})"
        name = "collect_set" if distinct else "collect_list"
        return Aggregate(
            template, value.sql, type_, call(name, value.name), f"{value.sql} IS NOT NULL", frames=not distinct
        )

    return rule


def _nested_generator(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return e.text.wrong(
        f"{e.text.shown(node)} is a part of an expression.",
        "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS", "42K0E", node,
        hint="Make it an item of the SELECT list, or write LATERAL VIEW explode(…) v AS x.",
    )  # fmt: skip


_SECTION = "Arrays"
_ELEMENT_TYPES = "elements of other types than BOOLEAN, numbers, STRING and DATE"
NODES: dict[type[exp.Expr] | str, Allowed] = {
    exp.Array: Allowed(_made, Entry(_SECTION, "array(x, …)", f"no argument; {_ELEMENT_TYPES}")),
    exp.Bracket: Allowed(_bracket, Entry(_SECTION, "array[i]", "maps; a BIGINT")),
}
FUNCTIONS = functions(
    _SECTION,
    ("split(x, 'text')", _split, "regular expressions other than one text, as in '\\\\|' or '[.]'; a limit"),
    ("size(array)", _size, "maps"),
    ("cardinality(array)", _size, "maps"),
    ("array_size(array)", _size),
    ("array_contains(array, x)", _contains, "FLOAT and DOUBLE; NULL"),
    ("element_at(array, n)", _element_at, "maps; a BIGINT"),
    ("try_element_at(array, n)", _element_at, "maps; a BIGINT"),
    ("get(array, i)", _get, "a BIGINT"),
    ("array_join(array, separator)", _joined, "a replacement of NULL"),
    ("sort_array(array[, true|false])", _sorted, "FLOAT and DOUBLE"),
    ("explode(array)", _nested_generator, "beside aggregates and windows; maps"),
    ("posexplode(array)", _nested_generator, "beside aggregates and windows; maps"),
)
GENERATOR_ENTRIES = {name: FUNCTIONS[name].entry for name in ("explode", "posexplode")}
RULES: dict[str, AggregateRule] = {
    "collect_list": _collected(distinct=False),
    "array_agg": _collected(distinct=False),
    "collect_set": _collected(distinct=True),
}
LINES = (
    ("collect_list(x)", f"DISTINCT; {_ELEMENT_TYPES}; the order of the elements is not defined"),
    ("array_agg(x)", f"DISTINCT; {_ELEMENT_TYPES}; the order of the elements is not defined"),
    ("collect_set(x)", f"FLOAT and DOUBLE; {_ELEMENT_TYPES}; the order of the elements is not defined"),
)


# SEQUENCE of whole numbers and of dates: an array from the first to the last value, usually for EXPLODE.
#
# As in Spark, the months of a step are added to the first date, so that each month keeps its last day.

_MONTHS = {"MONTH": 1, "YEAR": 12}
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
            f"A sequence from {first.type} to {last.type}", node, "Write it over DATEs or whole numbers, and cast them."
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
        e.text.refuse("A sequence of dates with a step that is no interval", step, "Write INTERVAL 1 DAY.")
    amount, unit = interval_of_one_unit(e, step)
    if unit in CLOCK_UNITS or amount < 1:
        e.text.refuse(
            f"A sequence of dates with the step {e.text.shown(step)}", step, "Write whole days, months or years."
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
    "Arrays",
    (
        "sequence(first, last[, step])",
        _sequence,
        "TIMESTAMP; a step that is not a literal; negative steps of dates",
    ),
)


# GET_JSON_OBJECT, for the allow-list of ``expressions``.
#
# Spark reads JSON as a stream, writes what it finds anew, and passes over errors in some places. DuckDB reads the
# whole text. A text or a value for which the results may differ is an error when it occurs.

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_ -]*)|\['([A-Za-z_][A-Za-z0-9_ .-]*)'\]|\[(\d{1,9})\]", re.ASCII)


def _steps(path: str) -> list[str | int] | None:
    """Returns the keys and indexes of a path; ``None`` for one that is not simple."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    position = 1
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        name, quoted_name, index = match.groups()
        steps.append(int(index) if index is not None else name or quoted_name)
        position = match.end()
    return steps or None


def _get_json_object(e: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    first, second = e.arguments(node, 2)
    value, path = text(e, first, scope), e.translate(second, scope)
    name = call("get_json_object", value.name, path.name)
    if path.type == VOID:
        return Typed(e.cast(path, STRING, node), STRING, name)
    steps = _steps(path.text) if path.text is not None else None
    if steps is None:
        e.refuse(node, f"The JSON path {e.text.shown(second)}")
    place, repeated = "$", []
    for step in steps:
        if isinstance(step, str):
            # Of equal keys, Spark continues with the next one if the first one has no value.
            repeated.append(f"rw_repeats({value.sql}, {string_literal(place)}, {string_literal(step)})")
        place += f"[{step}]" if isinstance(step, int) else f'."{step}"'
    sql = f"rw_json({value.sql}, {string_literal(place)}, {' OR '.join(repeated) or 'false'})"
    return Typed(sql, STRING, name)


JSON_FUNCTIONS = functions(
    "Strings",
    (
        "get_json_object(s, '$.key[index].key')",
        _get_json_object,
        "other paths; when they occur: malformed JSON, repeated keys without a value, fractions below 0.001 and from "
        "10 million on, objects and arrays with fractions or escapes",
    ),
)
