"""Directories of external tables: the path of a partition below its table, and what the name of a directory says.

Two table properties, given in CREATE TABLE and never changed, speak of them. ``rewriter.directories`` is ``names``
(``date=2019-8-30/country=china``) or ``values`` (``2019-8-30/china``, seed 003). ``rewriter.partitions`` is
``registered`` (in the catalog) or ``discovered`` (what directories there are when a statement looks).
"""

from __future__ import annotations

import os
import re

from rewriter.catalog.models import Column, PartitionValues, Table
from rewriter.catalog.partition_types import partition_type
from rewriter.catalog.values import DEFAULT_PARTITION, canonical, escape, partition_name
from rewriter.errors import AnalysisError, DataError, NotSupportedError

DIRECTORIES = "rewriter.directories"
PARTITIONS = "rewriter.partitions"

#: What each property may be, the default first.
_CHOICES = {DIRECTORIES: ("names", "values"), PARTITIONS: ("registered", "discovered")}
_ESCAPED_RUN = re.compile("(?:%[0-9A-Fa-f]{2})+")
_TEXTS = ("string", "varchar", "char")


def has_value_directories(table: Table) -> bool:
    """Whether a level of its paths is a value alone."""
    return table.properties.get(DIRECTORIES) == "values"


def is_discovered(table: Table) -> bool:
    """Whether its partitions are what directories there are, and none is in the catalog."""
    return table.properties.get(PARTITIONS) == "discovered"


def is_about_directories(key: str) -> bool:
    """Whether a property is one of the two, in any case."""
    return key.lower() in _CHOICES


def checked_property(key: str, value: str, table: Table) -> tuple[str, str]:
    """One of the two properties in its one spelling.

    Raises ``AnalysisError`` INVALID_DIRECTORY_PROPERTY for another value, and where the table is not external and
    partitioned.
    """
    choices = _CHOICES[key.lower()]
    if value.strip().lower() not in choices:
        raise _invalid(
            f"'{value}' is no value of the property {key}.", key, f"Write {' or '.join(map(repr, choices))}."
        )
    if not table.external or not table.partition_columns:
        raise _invalid(
            f"The property {key} is about directories of partitions, which {table.name} does not have.",
            key,
            "It belongs to CREATE EXTERNAL TABLE … PARTITIONED BY … LOCATION.",
        )
    return key.lower(), value.strip().lower()


def refuse_change(key: str, value: str | None, table: Table) -> None:
    """Raises ``AnalysisError`` INVALID_DIRECTORY_PROPERTY where SET or UNSET (``value`` is ``None``) would change one
    of the two properties: every partition of the table would lie somewhere else at once.
    """
    if not is_about_directories(key):
        return
    default = _CHOICES[key.lower()][0]
    wanted = default if value is None else value.strip().lower()
    if wanted != table.properties.get(key.lower(), default):
        raise _invalid(
            f"The property {key} of the table {table.name} stays as it was created.",
            key,
            "Drop the table, whose files stay, and create it anew with the property.",
        )


def _invalid(message: str, key: str, hint: str) -> AnalysisError:
    return AnalysisError(message, condition="INVALID_DIRECTORY_PROPERTY", object=key, hint=hint)


def not_registered(table: Table) -> NotSupportedError:
    """The error for what speaks of registered partitions, of a table that has none."""
    return NotSupportedError(
        f"Partitions of the table {table.name} are discovered: they are its directories, and none is registered.",
        condition="DISCOVERED_PARTITIONS",
        sqlstate="0A000",
        object=table.name,
        hint=f"Make or remove directories below {table.location}, or create the table without {PARTITIONS}.",
    )


def partition_path(table: Table, values: PartitionValues) -> str:
    """Where a partition lies below its table unless it has a location of its own; never outside the table."""
    if not has_value_directories(table):
        return partition_name(table.partition_columns, values)
    return os.path.join(*map(_value_level, values))


def _value_level(value: str | None) -> str:
    if value is None:
        return DEFAULT_PARTITION
    # A name that begins so would be hidden, or lead elsewhere (``..``).
    text = escape(value)
    return f"%{ord(text[0]):02X}{text[1:]}" if text.startswith((".", "_")) else text


def is_hidden(name: str) -> bool:
    """Whether a file or directory is none of the table's data, as in Spark."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name and name != DEFAULT_PARTITION)


def level_text(table: Table, index: int, name: str) -> str | None:
    """What the name of a directory says of the partition column ``index``, as it stands there; ``None``: nothing.

    A column may be named in any case, and be escaped.
    """
    if has_value_directories(table):
        return None if "=" in name or is_hidden(name) else name
    column, equals, text = name.partition("=")
    named = (_decoded(column) or "").lower() == table.partition_columns[index].name.lower()
    return text if equals and named else None


def level_value(column: Column, text: str) -> str | None:
    """The canonical value that the text of a level means; NULL where it is empty or Hive's default partition.

    ``%XX`` is read as Hive writes it (one byte, ASCII) and as UTF-8, as DuckDB and others write it. The word ``null``
    is a value of a text column, as in Hive and Spark, and NULL otherwise, where it can mean nothing else. Raises
    ``DataError`` for what is no value of the column's type.
    """
    decoded = _decoded(text)
    if decoded is None:
        raise DataError(
            f"the value '{text}' of {column.name} is escaped, but not as UTF-8",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            object=column.name,
        )
    if decoded.lower() == "null" and partition_type(column.type).name not in _TEXTS:
        return None
    return canonical(column, decoded)


def _decoded(text: str) -> str | None:
    """The text without escapes; ``None`` where they are no UTF-8."""
    try:
        return _ESCAPED_RUN.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)
    except UnicodeDecodeError:
        return None
