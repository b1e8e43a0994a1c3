"""The columns of a table that Spark made by ``USING``, which are in its properties as JSON.

The columns of its descriptor are those only if Hive could read the files; otherwise there is one column, ``col``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewriter.catalog.model.objects import Column

_SCHEMA = "spark.sql.sources.schema"
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def has_defaults(properties: Mapping[str, str]) -> bool:
    """Returns whether a column has a default value: then older files are to be read with it, which is not done here."""
    return any('"EXISTS_DEFAULT"' in text or '"CURRENT_DEFAULT"' in text for text in _texts(properties))


def has_constraints(properties: Mapping[str, str]) -> bool:
    """Returns whether rows must obey what is not checked here: buckets, or columns without NULL."""
    is_bucketed = f"{_SCHEMA}.numBuckets" in properties
    return is_bucketed or any('"nullable":false' in text for text in _texts(properties))


def _texts(properties: Mapping[str, str]) -> list[str]:
    return [text for key, text in properties.items() if key == _SCHEMA or key.startswith(f"{_SCHEMA}.part.")]


def columns_of_spark(properties: Mapping[str, str], partition_columns: Sequence[Column]) -> tuple[Column, ...] | None:
    """Returns the data columns of a table's properties, or ``None`` if they have none that the catalog can have."""
    text = properties.get(_SCHEMA)
    if text is None and f"{_SCHEMA}.numParts" in properties:
        count = properties[f"{_SCHEMA}.numParts"]
        text = "".join(properties.get(f"{_SCHEMA}.part.{n}", "") for n in range(int(count) if count.isdigit() else 0))
    partitioned = {column.name.lower() for column in partition_columns}
    try:
        fields = json.loads(text or "{}").get("fields", ())
        columns = tuple(
            Column(str(field["name"]), _type(field), field.get("metadata", {}).get("comment"))
            for field in fields
            if str(field["name"]).lower() not in partitioned
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return columns or None


def _type(field: Mapping[str, Any]) -> str:
    """Returns the type of a field. CHAR and VARCHAR are in its metadata."""
    stated = field.get("metadata", {}).get("__CHAR_VARCHAR_TYPE_STRING")
    return str(stated) if stated else _spelled(field["type"])


def _spelled(type: Any) -> str:
    if isinstance(type, str):
        return _TYPES.get(type, type)
    kind = type["type"]
    if kind == "array":
        return f"array<{_spelled(type['elementType'])}>"
    if kind == "map":
        return f"map<{_spelled(type['keyType'])},{_spelled(type['valueType'])}>"
    return "struct<" + ",".join(f"{field['name']}:{_type(field)}" for field in type["fields"]) + ">"
