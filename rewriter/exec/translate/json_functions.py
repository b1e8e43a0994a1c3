"""Functions of JSON texts, for the allow-list of ``expressions``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rewriter.exec.sql_types import STRING, VOID
from rewriter.exec.translate.casts import string_literal
from rewriter.exec.translate.expressions import Expressions, Scope, Typed, call, functions
from rewriter.exec.translate.string_functions import text

if TYPE_CHECKING:
    from sqlglot import exp

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
    if isinstance(steps[-1], int):
        # Spark returns the text null for an element that is null.
        repeated.append(f"coalesce(json_type(rw_valid_json({value.sql}), {string_literal(place)}) = 'NULL', false)")
    sql = f"rw_json({value.sql}, {string_literal(place)}, {' OR '.join(repeated) or 'false'})"
    return Typed(sql, STRING, name)


FUNCTIONS = functions(
    "Strings",
    (
        "get_json_object(s, '$.key[index].key')",
        _get_json_object,
        "other paths; when they occur: malformed JSON, repeated keys without a value, fractions below 0.001 and from "
        "10 million on, objects and arrays with fractions or escapes",
    ),
)
