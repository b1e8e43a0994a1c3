"""Directories of external tables: the path of a partition below its table, and the meaning of a directory's name.

Two table properties, given in CREATE TABLE and never changed, control them. ``rewriter.directories`` is ``names``
(``date=2019-8-30/country=china``) or ``values`` (``2019-8-30/china``, seed 003). ``rewriter.partitions`` is
``registered`` (in the catalog) or ``discovered`` (the existing directories when a statement lists them).
"""

from __future__ import annotations

import os
import re

from rewriter.catalog.keys.types import partition_type
from rewriter.catalog.keys.values import DEFAULT_PARTITION, canonical, escape, partition_name
from rewriter.catalog.model.objects import PARTITIONS, Column, PartitionValues, Table, TableKind
from rewriter.errors import AnalysisError, DataError, NotSupportedError

_DIRECTORIES = "rewriter.directories"

#: The values of each property, the default first.
_CHOICES = {_DIRECTORIES: ("names", "values"), PARTITIONS: ("registered", "discovered")}
_ESCAPED_RUN = re.compile("(?:%[0-9A-Fa-f]{2})+")
_TEXTS = ("string", "varchar", "char")


def has_value_directories(table: Table) -> bool:
    """Returns True if a level of the table's paths is a value alone."""
    return table.properties.get(_DIRECTORIES) == "values"


def is_discovered(table: Table) -> bool:
    """Returns True if the table's partitions are the existing directories, and none is in the catalog."""
    return table.kind is TableKind.DISCOVERED


def is_about_directories(key: str) -> bool:
    """Returns True if a property is one of the two, in any case."""
    return key.lower() in _CHOICES


def checked_property(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns one of the two properties in its normal spelling.

    Raises ``AnalysisError`` INVALID_DIRECTORY_PROPERTY for an invalid value, or for a table that is not external and
    partitioned.
    """
    choices = _CHOICES[key.lower()]
    if value.strip().lower() not in choices:
        raise _invalid(
            f"'{value}' is not a value of the property {key}.", key, f"Write {' or '.join(map(repr, choices))}."
        )
    if not table.external or not table.partition_columns:
        raise _invalid(
            f"The property {key} applies to partition directories, which {table.name} does not have.",
            key,
            "Use it in CREATE EXTERNAL TABLE … PARTITIONED BY … LOCATION.",
        )
    return key.lower(), value.strip().lower()


def refuse_change(key: str, value: str | None, table: Table) -> None:
    """Raises ``AnalysisError`` INVALID_DIRECTORY_PROPERTY if SET or UNSET (``value`` is ``None``) would change one of
    the two properties: every partition of the table would move.
    """
    if not is_about_directories(key):
        return
    default = _CHOICES[key.lower()][0]
    normalized = default if value is None else value.strip().lower()
    if normalized != table.properties.get(key.lower(), default):
        raise _invalid(
            f"The property {key} of the table {table.name} cannot be changed.",
            key,
            "Drop the table and create it again with the property. Its files remain.",
        )


def _invalid(message: str, key: str, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_DIRECTORY_PROPERTY", object=key, hint=hint)


def not_registered(table: Table) -> NotSupportedError:
    """Returns the error for an operation on registered partitions of a table that has none."""
    return NotSupportedError(
        f"The partitions of the table {table.name} are discovered from its directories, not registered.",
        condition="DISCOVERED_PARTITIONS",
        sqlstate="0A000",
        object=table.name,
        hint=f"Create or remove directories below {table.location}, or create the table without {PARTITIONS}.",
    )


def partition_path(table: Table, values: PartitionValues) -> str:
    """Returns a partition's path below its table, without a location of its own; never outside the table."""
    if not has_value_directories(table):
        return partition_name(table.partition_columns, values)
    return os.path.join(*map(_value_level, values))


def _value_level(value: str | None) -> str:
    if value is None:
        return DEFAULT_PARTITION
    # A name with this beginning would be hidden, or lead elsewhere (``..``).
    text = escape(value)
    return f"%{ord(text[0]):02X}{text[1:]}" if text.startswith((".", "_")) else text


def is_hidden(name: str) -> bool:
    """Returns True if a file or directory does not belong to the table's data, as in Spark."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name and name != DEFAULT_PARTITION)


def level_text(table: Table, index: int, name: str) -> str | None:
    """Returns the text of the partition column ``index`` in a directory's name, still escaped; ``None`` if there is
    none.

    The column may be named in any case, and be escaped.
    """
    if has_value_directories(table):
        return None if "=" in name or is_hidden(name) else name
    column, equals, text = name.partition("=")
    named = (_decoded(column) or "").lower() == table.partition_columns[index].name.lower()
    return text if equals and named else None


def level_value(column: Column, text: str) -> str | None:
    """Returns the canonical value of a level's text; NULL if it is empty or Hive's default partition.

    ``%XX`` is read as Hive writes it (one byte, ASCII) and as UTF-8, as DuckDB and others write it. The word ``null``
    is a value of a text column, as in Hive and Spark, and NULL otherwise, where it has no other meaning. Raises
    ``DataError`` for a text that is no value of the column's type.
    """
    decoded = _decoded(text)
    if decoded is None:
        raise DataError(
            f"the value '{text}' of {column.name} has an escape sequence that is not UTF-8",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            object=column.name,
        )
    if decoded.lower() == "null" and partition_type(column.type).name not in _TEXTS:
        return None
    return canonical(column, decoded)


def _decoded(text: str) -> str | None:
    """Returns the text without escapes; ``None`` if they are not UTF-8."""
    try:
        return _ESCAPED_RUN.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)
    except UnicodeDecodeError:
        return None


def default_directory(table: Table, values: PartitionValues) -> str:
    """Returns the directory of an external table's partition that has no location of its own."""
    return os.path.join(table.location, partition_path(table, values))
