"""Directories of tables that clients create and drop.

A client of the metastore names any directory as a location. The server acts with the rights of its user, so it makes
and removes directories only below the directories that its user named, and below its own in the warehouse. Elsewhere it
leaves them to the client.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import DEFAULT_DATABASE, Namespace, Table
from rewriter.directory_changes import discard_tree, make_directory, remove_directory
from rewriter.metastore.descriptors import MANAGED, PURGE, kept

if TYPE_CHECKING:
    from rewriter.catalog.catalog import Catalog
    from rewriter.metastore.service.calls.call import Call, Service

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


def _is_purged(table: Table) -> bool:
    """Returns whether the files of a table are removed with it: a client created it as a managed table, or says so."""
    is_managed = kept(table.properties).get("tableType") == MANAGED
    return table.external and (is_managed or table.properties.get(PURGE, "").lower() == "true")


def remove_locations(table: Table, locations: Sequence[str], call: Call) -> None:
    """Removes directories of a table, or of partitions of it, that the call has dropped, with all that is in them, if
    its files belong to it.

    Those stay that others read, that lie below none of the roots, or behind a link. Raises nothing.
    """
    if _is_purged(table):
        for location in call.unused_locations(table, [one for one in locations if is_below_roots(one, call.service)]):
            for root in _roots_of(location, call.service):
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
