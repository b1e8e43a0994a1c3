"""Refuses URIs with credentials in what a commit stores of an object: all who read the catalog would see them."""

from __future__ import annotations

from typing import assert_never

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
    SetCatalogProperty,
)
from rewriter.errors import NotSupportedError
from rewriter.uris import has_credentials


def check(change: Change) -> None:
    """Raises ``NotSupportedError`` if a change stores a URI with a password or a signature, in any text.

    What was stored before is not looked at, so that it can be removed.
    """
    name, definition = _defined(change)
    if has_credentials(repr(definition)):
        raise refused(name)


def refused(name: str) -> NotSupportedError:
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
        case SetCatalogProperty(name=name):
            return name, change.value
    if isinstance(change, DefinitionChange | ContentChange | PartitionNote):
        return "", None
    assert_never(change)
