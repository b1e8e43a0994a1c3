"""Partition values: from a literal to canonical text, and from text to a path and back.

A canonical value is the text of a value of the column's type as Spark 4.3 names a partition after it, before escaping:
INT ``'01'`` is ``1``, DECIMAL(6,2) ``1`` is ``1.00``, DATE ``'2020-1-2'`` is ``2020-01-02``. ``None`` is NULL.
If Spark would silently change the value (a DATE with a time of day, a DECIMAL that rounds), it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rewriter.catalog.keys.literal_casts import cast_text, literal_text
from rewriter.catalog.keys.types import partition_type
from rewriter.errors import AnalysisError, DataError, NotSupportedError

if TYPE_CHECKING:
    from rewriter.catalog.model.changes import PartitionWrite
    from rewriter.catalog.model.objects import Column, PartitionValues, Table

#: The value that represents NULL in the name of a partition.
DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"

_ESCAPED = re.compile("[\x01-\x1f\"#%'*/:=?\\\\\x7f{\\[\\]^]")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")


def check_partition_column(column: Column) -> None:
    """Raises ``NotSupportedError`` INVALID_PARTITION_COLUMN_DATA_TYPE if the type cannot partition a table."""
    partition_type(column.type)


def coerce(column: Column, kind: str, text: str) -> str | None:
    """Returns the canonical value of a literal for the column.

    ``kind`` and ``text`` are as in ``grammar.terms.Literal`` (``null``, ``string``, ``number``, ``boolean``, ``date``,
    ``timestamp``). Returns ``None`` for NULL and ``'__HIVE_DEFAULT_PARTITION__'``. Raises ``DataError`` for a value
    that the type cannot hold, ``AnalysisError`` INVALID_PARTITION_SPEC for ``''``, both without a position.
    """
    partition_type(column.type)
    if kind == "null" or (kind == "string" and text == DEFAULT_PARTITION):
        return None
    if kind == "string" and not text:
        raise AnalysisError(
            f"partition spec is invalid: the value of {column.name} is empty",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            object=column.name,
            hint="Write NULL for rows without a value.",
        )
    return canonical(column, literal_text(kind, text))


def canonical(column: Column, text: str | None) -> str | None:
    """Returns the canonical form of a value given as text, such as one from a path. ``''`` is NULL, as in Spark."""
    if text is None or text in ("", DEFAULT_PARTITION):
        return None
    try:
        return cast_text(partition_type(column.type), text)
    except DataError as error:
        error.object = column.name
        raise


def require_canonical(columns: Sequence[Column], values: Sequence[str | None]) -> None:
    """Raises ``DataError`` if a value is not in canonical form, or their number is not the number of the columns."""
    if len(columns) != len(values):
        raise DataError(
            f"{len(values)} partition values for {len(columns)} partition columns",
            condition="INVALID_PARTITION_SPEC",
            sqlstate="42601",
            hint="Give one value for each partition column.",
        )
    for column, value in zip(columns, values, strict=True):
        if value is not None and not isinstance(value, str):
            raise DataError(
                f"the value of {column.name} is a {type(value).__name__}, and partition values are texts",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                object=column.name,
                hint=f"Pass a str, such as '{value}', or None for NULL.",
            )
        canonical_value = canonical(column, value)
        if canonical_value != value:
            shown = "NULL" if canonical_value is None else f"'{canonical_value}'"
            raise DataError(
                f"'{value}' is not the canonical form of a value of {column.name} {column.type}; that is {shown}",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                object=column.name,
                hint=f"Write {shown}.",
            )


#: The longest name of a directory, in bytes of UTF-8, on all common file systems.
LONGEST_NAME = 255


def check_path(column: Column, value: str | None) -> None:
    """Raises ``DataError`` PARTITION_VALUE_TOO_LONG if the name of a canonical value is too long for a directory."""
    length = len(_level(column.name, value).encode())
    if length > LONGEST_NAME:
        raise DataError(
            f"a value of the partition column {column.name} is too long for a directory name: {length} "
            f"bytes with the column name, at most {LONGEST_NAME} are allowed",
            condition="PARTITION_VALUE_TOO_LONG",
            sqlstate="22001",
            object=column.name,
            hint="Partition by a shorter value, and keep the long text in a data column.",
        )


def escape(text: str) -> str:
    """Escapes a text as Spark and Hive write it in a path: control characters and ``"#%'*/:=?\\{[]^`` as ``%XX``."""
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape(text: str) -> str:
    """Reverses ``escape``: every ``%XX`` is the character of that number; other percent signs stay."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def partition_name(columns: Sequence[Column | str], values: PartitionValues) -> str:
    """Returns the name, and default path, of a partition: ``c=US/d=1``. NULL is ``__HIVE_DEFAULT_PARTITION__``."""
    return "/".join(
        [
            _level(column if isinstance(column, str) else column.name, value)
            for column, value in zip(columns, values, strict=True)
        ]
    )


@lru_cache(maxsize=10_000)
def _level(name: str, value: str | None) -> str:
    """Returns one level of a name. Cached, because partitions share most of their levels."""
    return f"{escape(name)}={DEFAULT_PARTITION if value is None else escape(value)}"


def parse_partition_name(text: str) -> tuple[tuple[str, str | None], ...]:
    """Returns the (column, value) pairs of a partition's name, unescaped, not yet cast to the columns' types.

    Raises ``DataError`` INVALID_PARTITION_SPEC if a level has no ``=`` or no column.
    """
    pairs: list[tuple[str, str | None]] = []
    for level in text.split("/"):
        name, equals, value = level.partition("=")
        if not name or not equals:
            raise DataError(
                f"'{text}' is not a partition name: '{level}' does not have the form column=value",
                condition="INVALID_PARTITION_SPEC",
                sqlstate="42601",
                hint="A partition name has the form column=value/column=value.",
            )
        pairs.append((unescape(name), None if value in ("", DEFAULT_PARTITION) else unescape(value)))
    return tuple(pairs)


# Hidden partition columns, whose values are computed from each row (``days(ts)``).


def hidden_column(table: Table) -> Column | None:
    """Returns the first hidden partition column of a table."""
    return next((column for column in table.partition_columns if column.transform is not None), None)


def files_of_others(table: Table, column: Column) -> NotSupportedError:
    """Returns the error for files that would become a partition as they are."""
    assert column.transform is not None
    return NotSupportedError(
        f"Files cannot become a partition of {table.name} as they are: {column.name} is computed from the "
        f"{column.transform.source} of each row.",
        object=table.name,
        hint=f"INSERT INTO {table.name} SELECT … FROM parquet.`path` reads the files.",
    )


def check_added(table: Table, partitions: Iterable[PartitionWrite]) -> None:
    """Raises ``NotSupportedError`` for a new partition with files of others, and ``DataError`` INVALID_TIME_PARTITION
    for a value that is computed from no time.
    """
    for index, column in enumerate(table.partition_columns):
        if column.transform is None:
            continue
        for partition in partitions:
            if partition.location is not None:
                raise files_of_others(table, column)
            value = partition.values[index]
            if value is not None:
                column.transform.layout.ordinal((value,))


def check_kept(table: Table, moves: Iterable[tuple[PartitionValues, PartitionValues]]) -> None:
    """Raises ``NotSupportedError`` for a partition that would get another value than the one of its rows. ``moves`` are
    old and new values.
    """
    hidden = [(at, column) for at, column in enumerate(table.partition_columns) if column.transform is not None]
    for old, new in moves if hidden else ():
        for index, column in hidden:
            if old[index] != new[index] and column.transform is not None:
                raise NotSupportedError(
                    f"The partition cannot get another value of {column.name}, which is computed from the "
                    f"{column.transform.source} of its rows.",
                    object=column.name,
                    hint=f"INSERT INTO {table.name} … SELECT … puts rows into their partitions.",
                )
