"""Databases, tables, views and partitions of a metastore as the catalog takes them, or the reason why it does not.

All functions are pure. A table becomes external, and is never purged: its files belong to the source.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from rewriter.catalog.commit.reserved_properties import refuse_reserved
from rewriter.catalog.metastore_writes import is_interpreted
from rewriter.catalog.model.objects import Column, Namespace, Table, View
from rewriter.catalog.model.system_tables import SYSTEM_DATABASES
from rewriter.catalog.table_definitions import check_database_name, check_name
from rewriter.errors import AnalysisError, Error, NotSupportedError, Span
from rewriter.grammar.datatypes import scalar_type
from rewriter.lazy_dataclass import dataclass
from rewriter.metastore.descriptors import (
    EXTERNAL,
    HIDDEN,
    KEPT,
    MANAGED,
    PURGE,
    VIEW,
    catalog_table,
    catalog_view,
    path,
    stated_location,
)
from rewriter.statements.resolve.type_trees import TypeTree, type_tree
from rewriter.uris import is_uri, normalize_uri, shown

#: The property of what an import made: the URI of the source.
IMPORTED = "rewriter.imported"
_NESTED = ("array", "map", "struct")
_NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Wanted:
    """What the catalog is to have for an object of the source. Its id is 0.

    ``left_out`` are the properties that the catalog does not take.
    """

    object: Table | View
    left_out: tuple[str, ...] = ()


def wanted_database(given: Any, name: str, uri: str) -> Namespace:
    """Returns a database of the source, without its location: managed tables that are created later are ours.

    Raises ``AnalysisError`` for its name.
    """
    check_database_name(name)
    if name.lower() in SYSTEM_DATABASES:
        raise NotSupportedError(f"The name {name} belongs to system tables.", object=name)
    owner = {"ownerName": given.ownerName, "ownerType": given.ownerType}
    text = json.dumps({key: value for key, value in owner.items() if value is not None})
    properties, _ = taken_properties(given.parameters or {})
    return Namespace(0, name.lower(), None, given.description or None, {**properties, KEPT: text, IMPORTED: uri})


def wanted_object(given: Any, uri: str) -> Wanted:
    """Returns the table or view that the catalog is to have. Raises errors with the reason why it cannot have it."""
    name = str(given.tableName)
    check_name(name)
    described = copy(given)
    described.dbName, described.tableName = str(given.dbName).lower(), name.lower()
    described.parameters, left_out = taken_properties(given.parameters or {})
    if given.tableType == VIEW:
        return Wanted(_view(described, uri), left_out)
    kind = given.tableType or MANAGED
    if kind not in (MANAGED, EXTERNAL):
        raise NotSupportedError(f"Tables of the type {kind} are not supported.", object=name)
    location = None if given.sd is None else stated_location(given)
    if location is None:
        raise NotSupportedError("The table has no location.", object=name)
    _refuse_unreadable(described.parameters, given.sd, name)
    described.tableType = EXTERNAL
    described.parameters = {**described.parameters, "EXTERNAL": "TRUE"}
    table = catalog_table(described, 0, place(location))
    for column in table.columns:
        _check_type(column, type_tree(column.type))
    return Wanted(replace(table, properties={**table.properties, IMPORTED: uri}), left_out)


def taken_properties(parameters: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Returns the parameters that the catalog takes, and the names of the others.

    Those by which an import or a server marks its tables are neither.
    """
    taken: dict[str, str] = {}
    left_out: list[str] = []
    for key, value in parameters.items():
        if key in (IMPORTED, PURGE) or key in HIDDEN:
            continue
        if is_interpreted(key) or _is_reserved(key):
            left_out.append(key)
        else:
            taken[key] = value
    return taken, tuple(sorted(left_out))


def _is_reserved(key: str) -> bool:
    try:
        refuse_reserved(key)
    except AnalysisError:
        return True
    return False


def place(location: str) -> str:
    """Returns a location as the catalog keeps it: an absolute path, or a URI of an object store.

    Raises ``NotSupportedError`` for other locations, such as locations of HDFS.
    """
    if location.startswith("file://") and not location.startswith(("file:///", "file://localhost/")):
        raise _no_place(location, "it names a file system of another machine")
    if location.startswith("file:"):
        location = path(location.replace("file://localhost/", "file:///", 1))
    if is_uri(location):
        try:
            return normalize_uri(location)
        except ValueError as error:
            raise _no_place(location, str(error)) from None
    if not location.startswith("/") or "\0" in location:
        raise _no_place(location, "it is no absolute path")
    # ``normpath`` keeps two slashes at the beginning, which mean the same as one.
    return os.path.normpath("/" + location.lstrip("/"))


def _no_place(location: str, reason: str) -> NotSupportedError:
    return NotSupportedError(
        f"The location '{shown(location)}' is not supported: {reason}.",
        object=location,
        hint="Copy the files to a file system of this machine or to an object store, and import them from there.",
    )


def _check_type(column: Column, tree: TypeTree) -> None:
    if tree.name in _NESTED and tree.parts:
        for _, part in tree.parts:
            _check_type(column, part)
        return
    try:
        scalar_type(tree.name, [str(size) for size in tree.sizes], _NOWHERE)
    except Error as error:
        error.position, error.object = None, column.name
        error.message = f"The column {column.name}: {error.message}"
        raise


def _view(given: Any, uri: str) -> View:
    parameters = given.parameters
    if parameters.get("presto_view", "").lower() == "true":
        raise NotSupportedError("The view is one of Trino: its text is no SQL.", object=given.tableName)
    if not (given.viewOriginalText or given.viewExpandedText):
        raise NotSupportedError("The view has no text.", object=given.tableName)
    view = catalog_view(given, 0)
    return replace(view, properties={**view.properties, IMPORTED: uri})


def _refuse_unreadable(parameters: Mapping[str, str], descriptor: Any, name: str) -> None:
    """Raises ``NotSupportedError`` for tables whose directories hold something other than the rows of the table."""
    if parameters.get("transactional", "").lower() == "true":
        reason = "It is transactional: its directories hold deltas, and rows that were deleted."
    elif descriptor.storedAsSubDirectories:
        reason = "Its rows are in subdirectories by skewed values."
    elif "storage_handler" in parameters:
        reason = f"Its rows are kept by {parameters['storage_handler']}."
    else:
        return
    raise NotSupportedError(reason, object=name)
