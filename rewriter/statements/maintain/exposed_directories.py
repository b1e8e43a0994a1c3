"""VACUUM of the directories of exposed tables: those that clients no longer read, and those of commits that failed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rewriter.catalog.commit.exposures import FOLDER, OF_A_COMMIT, table_directory
from rewriter.catalog.maintenance import file_garbage
from rewriter.catalog.maintenance.exposed_garbage import needed_directories, written_tables
from rewriter.catalog.maintenance.file_garbage import StoredTable
from rewriter.catalog.model.real_paths import is_in
from rewriter.catalog.storage.partition_directories import folders_in
from rewriter.runtime.statement_context import Context
from rewriter.safe_removal import files_below, link_in, remove_directory


@dataclass(frozen=True)
class UnneededDirectory:
    """A directory that no client reads: the name of its table, its path, and the bytes of its files, which are links.

    ``is_dropped`` if its table does not exist.
    """

    table: str
    path: str
    bytes: int
    is_dropped: bool


def unneeded_directories(
    tables: Sequence[StoredTable], only: int | None, retained: float, context: Context
) -> list[UnneededDirectory]:
    """Returns the directories below those of exposed tables that no state since the retention names. Follows no links.

    ``only`` restricts them to one table. Those of another catalog are left out. Lists all of these directories, and
    then takes the turn of a writer, so that no commit is under way that made one of them. Reads the partitions of
    exposed tables.
    """
    warehouse = str(context.catalog.warehouse.absolute())
    found = {
        table_id: list(_leaves(table_directory(warehouse, table_id), warehouse))
        for table_id in _table_ids(warehouse)
        if only in (None, table_id)
    }
    if not any(found.values()):
        return []
    database = context.catalog.database
    with database.write() if database.refusal is None else database.read() as connection:
        limit = file_garbage.horizon(connection, retained)
        written = written_tables(connection, found.keys())
        needed = {table_id: needed_directories(connection, table_id, limit) for table_id in written}
    live = {table.table.id for table in tables if table.dropped is None}
    names = {table.table.id: table.table.name for table in tables}
    return [
        UnneededDirectory(
            names.get(table_id, str(table_id)),
            path,
            sum(file.bytes for file in files_below(path, (warehouse,))),
            table_id not in live,
        )
        for table_id, paths in found.items()
        for path in paths
        if table_id in needed and os.path.relpath(path, table_directory(warehouse, table_id)) not in needed[table_id]
    ]


def remove_emptied(removed: Collection[UnneededDirectory], context: Context) -> None:
    """Removes the directories above removed ones that hold nothing else. Those of a live table stay: a commit may be
    about to use them.
    """
    warehouse = str(context.catalog.warehouse.absolute())
    top = os.path.join(warehouse, FOLDER)
    for directory in removed:
        above = os.path.dirname(directory.path)
        with suppress(OSError):
            while is_in(above, top) and above != top and (directory.is_dropped or os.path.dirname(above) != top):
                remove_directory(above, (warehouse,))
                above = os.path.dirname(above)


def _table_ids(warehouse: str) -> list[int]:
    top = os.path.join(warehouse, FOLDER)
    if os.path.islink(top):
        return []
    with suppress(OSError), os.scandir(top) as entries:
        return sorted(
            int(entry.name)
            for entry in entries
            if entry.name.isascii() and entry.name.isdigit() and entry.is_dir(follow_symlinks=False)
        )
    return []


def _leaves(path: str, warehouse: str) -> Iterator[str]:
    """Yields the directories that commits have made below that of a table, and that have none below them."""
    if link_in(path, (warehouse,)) is not None:
        return
    made = (os.path.join(path, name) for name in folders_in(path) if OF_A_COMMIT.fullmatch(name))
    for directory in made:
        for folder, folders, _ in () if os.path.islink(directory) else os.walk(directory):
            if all(os.path.islink(os.path.join(folder, below)) for below in folders):
                yield folder
