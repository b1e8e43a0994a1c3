"""Table properties that this project interprets, as Spark and Hive do.

``comment`` is the table's comment, and not an additional property. ``immutable`` is Hive's: INSERT INTO fills empty
partitions and is refused if rows exist; OVERWRITE is not. ``rewriter.packed`` is ours: unless it is false, one file
may hold several partitions; ``rewriter.auto_compact.files`` is the number of small files of a partition at which
streams and appends compact it; ``rewriter.expose`` keeps plain directories of the newest state (``exposures``). The
owner of a table, and its storage, belong in clauses of statements; as properties they are refused, as in Spark. Names
are case-sensitive, as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.model.changes import (
    AlterColumns,
    AlterDatabase,
    AlterStorages,
    AlterTable,
    Change,
    ContentChange,
    CreateObject,
    DefinitionChange,
    PartitionNote,
)
from rewriter.catalog.model.temporary_views import session_of, with_typed_names
from rewriter.errors import AnalysisError, NotSupportedError
from rewriter.uris import has_credentials, is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import PartitionValues, Table

COMMENT = "comment"
IMMUTABLE = "immutable"
_PACKED = "rewriter.packed"
_AUTO_COMPACT = "rewriter.auto_compact.files"
EXPOSE = "rewriter.expose"

#: Spark's reserved properties, and their replacements.
_RESERVED = {
    "collation": "Columns have no collations: compare the results of UPPER or LOWER.",
    "external": "Write CREATE EXTERNAL TABLE … LOCATION, or LOCATION in CREATE TABLE.",
    "is_managed_location": "Write LOCATION in CREATE TABLE if the catalog does not own the files.",
    "location": "Write LOCATION in CREATE TABLE, or ALTER TABLE … SET LOCATION.",
    "owner": "Tables have no owner; choose another name, such as 'team'.",
    "provider": "Write USING or STORED AS in CREATE TABLE.",
}


def refuse_reserved(key: str) -> None:
    """Raises ``AnalysisError`` UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY for a property that Spark reserves."""
    if key in _RESERVED:
        raise AnalysisError(
            f"The property {key} is reserved.",
            condition="UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
            sqlstate="0A000",
            object=key,
            hint=_RESERVED[key],
        )


def is_immutable(table: Table) -> bool:
    """Returns True if INSERT INTO may only fill empty partitions."""
    return table.properties.get(IMMUTABLE, "").strip().lower() == "true"


def is_packed(table: Table) -> bool:
    """Returns True if writes put several partitions into one file: only in managed, partitioned tables of Parquet that
    are not exposed.
    """
    return (
        can_be_packed(table)
        and not is_exposed(table)
        and table.properties.get(_PACKED, "true").strip().lower() == "true"
    )


def can_be_packed(table: Table) -> bool:
    """Returns True for a table some of whose files may hold several partitions."""
    return not table.external and bool(table.partition_columns) and table.format.lower() == "parquet"


def is_about_packing(key: str) -> bool:
    """Returns whether a property is ``_PACKED``, in any case."""
    return key.lower() == _PACKED


def checked_packing(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns the property in its canonical spelling.

    Raises ``AnalysisError`` INVALID_FILE_PROPERTY for another value, and for a table that is not managed, partitioned
    and of Parquet.
    """
    text = value.strip().lower()
    possible = can_be_packed(table)
    if text not in ("true", "false") or not possible:
        raise AnalysisError(
            f"'{value}' is neither true nor false."
            if possible
            else f"The table {table.name} cannot have packed files: it is not a managed, partitioned table of Parquet.",
            condition="INVALID_FILE_PROPERTY",
            object=key,
            hint=f"{_PACKED} = 'false' gives each partition files of its own; 'true' is the default.",
        )
    return _PACKED, text


def is_exposed(table: Table) -> bool:
    """Returns True if a table keeps plain directories of its newest state: only a managed, permanent one."""
    exposes = table.properties.get(EXPOSE, "").strip().lower() == "true"
    return exposes and not table.external and session_of(table.name) is None


def is_about_exposing(key: str) -> bool:
    """Returns whether a property is ``EXPOSE``, in any case."""
    return key.lower() == EXPOSE


def checked_exposing(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns the property in its canonical spelling.

    Raises ``AnalysisError`` INVALID_FILE_PROPERTY for another value than true and false, and ``NotSupportedError``
    NOT_EXPOSABLE for an external or temporary table, and for one in an object store.
    """
    text = value.strip().lower()
    if text not in ("true", "false"):
        raise AnalysisError(
            f"'{value}' is neither true nor false.",
            condition="INVALID_FILE_PROPERTY",
            object=key,
            hint=f"{EXPOSE} = 'true' lets clients of a metastore without lists of write ids read the table.",
        )
    if table.external:
        raise not_exposable(
            table.name, "it is external", "Clients read the directories of external tables as they are."
        )
    if session_of(table.name) is not None:
        raise not_exposable(with_typed_names(table.name), "it is temporary", "Create a table without TEMPORARY.")
    if is_uri(table.location):
        raise not_exposable(
            table.name, "its files are in an object store", "Keep the table on the disk of the warehouse."
        )
    return EXPOSE, text


def not_exposable(name: str, reason: str, hint: str) -> NotSupportedError:
    """Returns the error for a table of which no plain directories can be kept."""
    return NotSupportedError(
        f"The table {name} cannot be exposed: {reason}.",
        condition="NOT_EXPOSABLE",
        sqlstate="0A000",
        object=name,
        hint=hint,
    )


def auto_compact_files(table: Table) -> int | None:
    """Returns the number of small files of a partition at which a stream compacts it; ``None`` if it never does."""
    text = table.properties.get(_AUTO_COMPACT, "")
    return int(text) if text.isdecimal() and not table.external else None


def is_about_auto_compact(key: str) -> bool:
    """Returns whether a property is ``_AUTO_COMPACT``, in any case."""
    return key.lower() == _AUTO_COMPACT


def checked_auto_compact(key: str, value: str, table: Table) -> tuple[str, str]:
    """Returns the property in its canonical spelling.

    Raises ``AnalysisError`` INVALID_FILE_PROPERTY for a value that is no whole number from 2 on, and for an external
    table.
    """
    text = value.strip()
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if number < 2 or table.external:
        raise AnalysisError(
            f"The files of the external table {table.name} belong to the user: nothing compacts them."
            if table.external
            else f"'{value}' is not a number of files from 2 on.",
            condition="INVALID_FILE_PROPERTY",
            object=key,
            hint=f"{_AUTO_COMPACT} = '20' lets streams and appends compact a partition that has 20 small files.",
        )
    return _AUTO_COMPACT, str(number)


def not_empty(table: Table, values: PartitionValues) -> AnalysisError:
    """Returns the error for an INSERT INTO onto rows of an immutable table, in the partition of these values."""
    name = partition_name(table.partition_columns, values)
    subject = f"the partition {name} of the table {table.name}" if name else f"the table {table.name}"
    return AnalysisError(
        f"INSERT INTO cannot add rows to {subject}, which is immutable and has rows.",
        condition="IMMUTABLE_TABLE",
        object=table.name,
        hint="INSERT OVERWRITE replaces the rows; ALTER TABLE … SET TBLPROPERTIES ('immutable' = 'false') allows more.",
    )


# Refuses URIs with credentials in what a commit stores of an object: all who read the catalog would see them.


def check_credentials(change: Change) -> None:
    """Raises ``NotSupportedError`` if a change stores a URI with a password or a signature, in any text.

    What was stored before is not looked at, so that it can be removed. ``SetCatalogProperty`` checks its own value.
    """
    name, definition = _defined(change)
    if has_credentials(repr(definition)):
        raise credentials_refused(name)


def credentials_refused(name: str) -> NotSupportedError:
    """Returns the error for an object whose definition has a URI with credentials."""
    return NotSupportedError(
        f"The definition of {name} has a URI with credentials, which all readers of the catalog would see.",
        object=name,
        hint="Write the URI without them: rewriter.toml and the environment of the reader say how a store is reached.",
    )


def _defined(change: Change) -> tuple[str, object]:
    """Returns the name of the object that a change defines, and what is new of it; nothing for other changes."""
    match change:
        case CreateObject(object=object_):
            return object_.name, object_
        case AlterTable(table=table):
            return table.name, dict(change.set)
        case AlterDatabase(database=database):
            return database.name, database
        case AlterColumns(table=table):
            return table.name, (change.added, dict(change.comments), dict(change.defaults))
        case AlterStorages(fact=fact):
            return fact.name, change.storages
    if isinstance(change, DefinitionChange | ContentChange | PartitionNote):
        return "", None
    assert_never(change)
