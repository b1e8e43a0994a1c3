"""Directories of tables that clients create and drop.

A client of the metastore names any directory as a location. The server acts with the rights of its user, so it makes
and removes directories only below those that its user named, and below its own in the warehouse. Elsewhere it leaves
them to the client.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from rewriter.catalog.catalog import Catalog
from rewriter.catalog.model.objects import Namespace, Table
from rewriter.catalog.model.qualified_names import DEFAULT_DATABASE
from rewriter.hive.descriptors import MANAGED, PURGE, kept
from rewriter.safe_removal import discard_tree, make_directory, remove_directory
from rewriter.serve.metastore.calls.call import Service

#: The directory of the warehouse in which clients create tables.
_FOLDER = "metastore"


def database_root(database: Namespace, catalog: Catalog) -> str:
    """Returns the directory in which clients create tables of a database: its location, or one in the warehouse."""
    if database.location is not None:
        return database.location
    root = _own_root(catalog)
    return root if database.name == DEFAULT_DATABASE else f"{root}/{database.name}.db"


def make_table_directory(location: str, service: Service) -> None:
    """Makes a directory for a table, a database or a partition, as Hive does, if it lies below one of the roots."""
    with suppress(OSError):
        for root in _roots_of(location, service):
            os.makedirs(root, exist_ok=True)
            make_directory(location, [root], exist_ok=True)


def is_purged(table: Table) -> bool:
    """Returns whether the files of a table are removed with it: a client created it as a managed table, or says so."""
    is_managed = kept(table.properties).get("tableType") == MANAGED
    return table.external and (is_managed or table.properties.get(PURGE, "").lower() == "true")


def remove_tables(tables: Sequence[Table], service: Service) -> None:
    """Removes the directories of dropped tables whose files belong to them. What cannot be removed stays."""
    for table in tables:
        if is_purged(table):
            remove_location(table.location, service)


def remove_location(location: str, service: Service) -> None:
    """Removes a directory with all that is in it, if it lies below one of the roots, and follows no link. Raises
    nothing.
    """
    for root in _roots_of(location, service):
        discard_tree(location, [root])


def remove_empty_location(location: str, service: Service) -> None:
    """Removes a directory that is empty and lies below one of the roots. Raises nothing."""
    with suppress(OSError):
        for root in _roots_of(location, service):
            remove_directory(location, [root])


def is_below_roots(location: str, service: Service) -> bool:
    """Returns whether a directory lies below one of the roots."""
    return any(_roots_of(location, service))


def _own_root(catalog: Catalog) -> str:
    return f"{catalog.warehouse.absolute()}/{_FOLDER}"


def _roots_of(location: str, service: Service) -> Iterator[str]:
    """Yields the first root above a location. A path with dots is below none."""
    normal = os.path.normpath(location)
    if location.startswith("/") and normal == location:
        roots = (root for root in (_own_root(service.catalog), *service.roots) if location.startswith(f"{root}/"))
        yield from list(roots)[:1]
