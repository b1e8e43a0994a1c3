"""Explicit statements about a catalog and a directory: that they belong together, or that a new catalog replaces a lost
one.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rewriter.catalog.filesystems.reading import fetch
from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.maintenance.file_garbage import StoredTable, tables
from rewriter.catalog.maintenance.warehouse_identity import apply_new_identity, read_identity, record_new_identity
from rewriter.catalog.model.objects import Table
from rewriter.catalog.model.qualified_names import database_of
from rewriter.catalog.model.stored_paths import stored
from rewriter.catalog.model.temporary_names import shown
from rewriter.catalog.store.database import Database
from rewriter.catalog.store.path_upgrade import give_up_copies, give_up_former_places, replace_prefixes
from rewriter.errors import OperationalError
from rewriter.uris import is_uri


@dataclass(frozen=True)
class Adoption:
    """The result of ``adopt``: the managed tables whose files it copied into the warehouse."""

    copied: tuple[str, ...]


def adopt(database: Database, warehouse: Path, *, is_copy: bool, copy_outside: bool) -> Adoption:
    """Binds a catalog and a directory to each other and gives both a new identity.

    After that, any other directory or catalog with the old identity is refused. With ``is_copy``, the original stays in
    use with a catalog of its own. Managed tables outside the warehouse (in databases with a LOCATION) then belong to
    the original: with ``copy_outside`` their files are copied into this warehouse, without it ``OperationalError``
    WAREHOUSE_SHARES_TABLES is raised if such tables exist. So do the copies of partitions on secondary clusters, which
    are given up here. O(rows), and the bytes that are copied. A failure or a kill
    before the end changes nothing, except files below the warehouse that no table names.
    """
    with database.read() as connection:
        outside = [table_row for table_row in tables(connection) if is_copy and _is_outside(table_row.table, warehouse)]
    live = [table_row for table_row in outside if table_row.dropped is None]
    if outside and not copy_outside:
        raise OperationalError(
            f"these tables of the warehouse {warehouse} are outside its directory, and the original "
            "uses the same files: "
            + ", ".join(
                sorted({f"{shown(table_row.table.name)} ({table_row.table.location})" for table_row in outside})
            ),
            condition="WAREHOUSE_SHARES_TABLES",
            object=str(warehouse),
            hint="`rewriter catalog adopt --copy-outside` copies their files into this warehouse.",
        )
    prefixes = {table_row.table.location: _location_inside(table_row) for table_row in outside}
    for table_row in live:
        _copy(table_row.table.location, warehouse / prefixes[table_row.table.location])
    databases = {os.path.dirname(location): os.path.dirname(inside) for location, inside in prefixes.items()}
    old_identity = read_identity(warehouse)
    with database.write() as connection:
        if is_copy:
            give_up_copies(connection)
        replace_prefixes(connection, {**databases, **prefixes})
        if is_copy:
            give_up_former_places(connection)
        record_new_identity(connection, warehouse, None if old_identity is None else old_identity.identity)
    apply_new_identity(database, warehouse)
    return Adoption(tuple(sorted(shown(table_row.table.name) for table_row in live)))


def create_new(database: Database, warehouse: Path) -> None:
    """Gives a directory a new identity with an empty catalog.

    The ids of new tables are above all ids in the directory's names, so no later write or VACUUM uses an existing
    file.
    """
    old_identity = read_identity(warehouse)
    with database.write() as connection:
        record_new_identity(connection, warehouse, None if old_identity is None else old_identity.identity)
    apply_new_identity(database, warehouse)


def _is_outside(table: Table, warehouse: Path) -> bool:
    return not table.external and stored(table.location, str(warehouse)) == table.location


def _location_inside(table_row: StoredTable) -> str:
    return os.path.join(f"{database_of(table_row.table.name)}.db", os.path.basename(table_row.table.location))


def _copy(source: str, target: Path) -> None:
    try:
        if is_uri(source):
            store = store_of(source)
            for file in store.files_below(source):
                path = str(target) + file.path[len(source) :]
                os.makedirs(os.path.dirname(path), exist_ok=True)
                fetch(file.path, path)
        elif os.path.isdir(source):
            shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise OperationalError(
            f"the directory {source} cannot be copied to {target}: {getattr(error, 'strerror', None) or error}",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=source,
            hint="Check that this user can read it, and that the warehouse has free space.",
        ) from error
