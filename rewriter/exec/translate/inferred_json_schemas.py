"""The schema of a JSON text as SCHEMA_OF_JSON returns it, for the allow-list of ``expressions``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NoReturn

#: A type of JSON before the schema is written: a scalar's name, the one element type of an array, or the fields of an
#: object. ``None`` is the type of null and of the elements of an empty array.
_Type = str | list["_Type"] | dict[str, "_Type"] | None

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: The longest text, and the most brackets in it, that certainly are within the limits of Spark's and Python's parsers.
_LONGEST, _MOST_BRACKETS = 100_000, 200


class _OtherJson(ValueError):
    """A text that only Spark reads, or may read otherwise."""


def json_schema(text: str) -> str | None:
    """Returns the schema of a JSON text; ``None`` for a text that is no strict JSON, or has empty objects, fields that
    are repeated or have no name, or whole numbers beyond BIGINT, for which Spark has rules of its own.

    >>> json_schema('{"b": [1, 2.5], "a": null}')
    'STRUCT<a: STRING, b: ARRAY<DOUBLE>>'
    """
    if len(text) > _LONGEST or text.count("[") + text.count("{") > _MOST_BRACKETS:
        return None
    try:
        return _shown(_type_of(json.loads(text, object_pairs_hook=_object, parse_int=_whole, parse_constant=_other)))
    except ValueError:  # json's own errors, too
        return None


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    names = {name for name, _ in pairs}
    if not pairs or len(names) < len(pairs) or "" in names or any(re.search(r"[\0\ud800-\udfff]", n) for n in names):
        raise _OtherJson
    return dict(pairs)


def _whole(digits: str) -> int:
    if len(digits) > len(str(-(2**63))) or not -(2**63) <= int(digits) < 2**63:
        raise _OtherJson
    return int(digits)


def _other(constant: str) -> NoReturn:
    raise _OtherJson


def _type_of(value: object) -> _Type:
    if isinstance(value, dict):
        return {name: _type_of(part) for name, part in value.items()}
    if isinstance(value, list):
        element: _Type = None
        for part in value:
            element = _common(element, _type_of(part))
        return [element]
    if value is None:
        return None
    return {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}.get(type(value), "STRING")


def _common(left: _Type, right: _Type) -> _Type:
    """Returns the type of two values of one array."""
    if left is None or right is None or left == right:
        return right if left is None else left
    if isinstance(left, list) and isinstance(right, list):
        return [_common(left[0], right[0])]
    if isinstance(left, dict) and isinstance(right, dict):
        return {name: _common(left.get(name), right.get(name)) for name in (*left, *right)}
    return "DOUBLE" if {str(left), str(right)} == {"BIGINT", "DOUBLE"} else "STRING"


def _shown(type_: _Type) -> str:
    if isinstance(type_, dict):
        # In the order of Java's texts.
        names = sorted(type_, key=lambda name: name.encode("utf-16-be"))
        return f"STRUCT<{', '.join(f'{_quoted(name)}: {_shown(type_[name])}' for name in names)}>"
    if isinstance(type_, list):
        return f"ARRAY<{_shown(type_[0])}>"
    return type_ or "STRING"


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name.replace('`', '``')}`"
