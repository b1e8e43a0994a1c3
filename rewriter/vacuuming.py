"""VACUUM: files that nothing refers to any more are removed, and no directory that holds anything.

Of managed tables: what was replaced or dropped longer ago than the retention, and what a transaction left that never
committed. Of external ones: staging directories of writers that are gone. ``catalog.vacuum`` says what nobody needs.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from rewriter.catalog import vacuum as unused
from rewriter.catalog.models import WRITE_ID_LEVEL, Column, Table
from rewriter.catalog.store import TRANSACTION_TIMEOUT_SECONDS
from rewriter.catalog.temporary import shown
from rewriter.catalog.vacuum import Known, Unneeded, Write
from rewriter.context import Context
from rewriter.directories import folders_in
from rewriter.errors import DataError
from rewriter.grammar import statements as s
from rewriter.result import Result, Row
from rewriter.showing import listing
from rewriter.writing import STAGING

#: What stays where RETAIN does not say.
RETAINED_HOURS = 24
#: A staging directory belongs to no transaction that could tell whether its writer lives, and no writer works so long
#: without writing.
_STAGING_HOURS = 24

_SUPERSEDED, _DROPPED, _ORPHANED, _STAGING = "superseded", "dropped", "orphaned", "staging"
_COLUMNS = (
    Column("table", "string"),
    Column("reason", "string"),
    Column("files", "bigint"),
    Column("bytes", "bigint"),
)
#: A transaction of several statements has several directories, numbered from the second on.
_OF_A_WRITE = re.compile(rf"{WRITE_ID_LEVEL}=([0-9]+)(?:\.[0-9]+)?")
_OF_A_TABLE = re.compile(r"(.+)-([0-9]+)", re.DOTALL)


@dataclass(frozen=True)
class _Removable:
    """A file, or a staging directory, why it may go, and what of the catalog goes with it."""

    table: str
    reason: str
    path: str
    bytes: int
    unneeded: Unneeded | None = None


@dataclass(frozen=True)
class _Folder:
    """The directory of a write below that of a table."""

    table: str
    write: Write
    path: str


def vacuum(statement: s.Vacuum, context: Context) -> Result:
    """VACUUM: rows of (table, reason, files, bytes) of what was removed, or with DRY RUN would be.

    Without a table also of those that were dropped. What cannot be removed is told as a warning, and found again by the
    next VACUUM. Raises ``DataError`` RETENTION_TOO_SHORT. Reads the paths of all files in the catalog once or twice,
    and lists the directories of all ended writes.
    """
    retained = _retained_seconds(statement, context)
    only = None if statement.table is None else context.table(statement.table)
    catalog = context.catalog
    if not statement.dry_run:
        catalog.abort_dead(TRANSACTION_TIMEOUT_SECONDS)
    with catalog.database.read() as connection:
        every = unused.tables(connection)
        limit = unused.horizon(connection, retained)
        found = unused.unneeded(connection, every, limit, None if only is None else only.id)
        roots = [] if only is not None else _roots(context, unused.database_locations(connection))
    chosen = [one for one in found if _is_of_a_write(one.path)]
    known = [one for one in every if only is None or one.table.id == only.id]
    folders = _ended(_folders(known, roots), known, context)
    removable = [*_orphans(folders, context), *_staging(known, retained)]
    if statement.dry_run:
        return _told([*map(_removable, chosen), *removable])
    gone = unused.give_up(catalog.database, chosen, retained, TRANSACTION_TIMEOUT_SECONDS)
    removed, warnings = _remove([*map(_removable, gone), *removable])
    unused.forget(catalog.database, [one.unneeded for one in removed if one.unneeded is not None])
    _remove_empty(folders, {one.table.location for one in known if one.dropped is None})
    return _told(removed, warnings)


def _retained_seconds(statement: s.Vacuum, context: Context) -> float:
    hours = RETAINED_HOURS if statement.hours is None else statement.hours
    least = context.settings.least_retention_hours
    if hours < least:
        raise DataError(
            f"RETAIN {hours} HOURS is less than {least}: files could go that somebody is reading.",
            condition="RETENTION_TOO_SHORT",
            position=statement.span,
            hint=f"Write RETAIN {least} HOURS. Where surely nobody reads, SET rewriter.least_retention_hours = 0.",
        )
    return hours * 3600.0


def _is_of_a_write(path: str) -> bool:
    """Whether a file lies where writes of managed tables put them; no other one is ever removed."""
    return any(_OF_A_WRITE.fullmatch(level) for level in path.split(os.sep)[:-1])


def _removable(one: Unneeded) -> _Removable:
    return _Removable(one.table.name, _DROPPED if one.dropped else _SUPERSEDED, one.path, one.bytes, one)


def _roots(context: Context, locations: Iterable[str]) -> list[str]:
    """Where managed tables have their directories."""
    warehouse = str(context.catalog.warehouse.absolute())
    inside = [os.path.join(warehouse, name) for name in folders_in(warehouse) if name.endswith(".db")]
    return [warehouse, *inside, *locations]


def _folders(known: Sequence[Known], roots: Iterable[str]) -> Iterator[_Folder]:
    """The directories of writes below the tables, and below those in the roots that bear the id of no table: somebody
    began to create one. What is not named as we name it is nobody's business.

    A directory that bears a table's id and is not where the catalog says is the table's by another way: a link, or
    another host's name for the disk. The catalog does not name its files so, and yet they are not orphans.
    """
    places = {one.table.location: (one.table.name, one.table.id) for one in known if not one.table.external}
    ids = {one.table.id for one in known}
    for root in roots:
        for name in folders_in(root):
            made = _OF_A_TABLE.fullmatch(name)
            if made is not None and int(made[2]) not in ids:
                places.setdefault(os.path.join(root, name), (made[1], int(made[2])))
    for place, (table, table_id) in places.items():
        for name in folders_in(place):
            write = _OF_A_WRITE.fullmatch(name)
            if write is not None:
                yield _Folder(table, (table_id, int(write[1])), os.path.join(place, name))


def _ended(folders: Iterable[_Folder], known: Iterable[Known], context: Context) -> list[_Folder]:
    """Those of writes that have ended; one that the catalog does not know is another catalog's. Tables that were
    created since ``known`` was read are left to the next VACUUM: where the catalog says they are, nobody has looked.
    """
    every = list(folders)
    with context.catalog.database.read() as connection:
        ended = unused.ended_writes(connection, {one.write for one in every})
        since = unused.table_ids(connection) - {one.table.id for one in known}
    return [one for one in every if one.write in ended and one.write[0] not in since]


def _orphans(folders: Sequence[_Folder], context: Context) -> list[_Removable]:
    """The files of ended writes that no row names. The rows are read last: those of an ended write are all there."""
    found = [_Removable(one.table, _ORPHANED, *file) for one in folders for file in _files(one.path)]
    with context.catalog.database.read() as connection:
        named = unused.named_paths(connection, {one.path for one in found})
    return [one for one in found if one.path not in named]


def _staging(known: Sequence[Known], retained: float) -> list[_Removable]:
    """Staging directories of external tables in which nothing has changed for long."""
    before = time.time() - max(retained, _STAGING_HOURS * 3600.0)
    found = []
    for table in (one.table for one in known if one.table.external and one.dropped is None):
        for path in _staging_in(table):
            files = list(_files(path))
            with suppress(FileNotFoundError):  # Somebody works there after all.
                moments = [os.lstat(folder).st_mtime for folder, _, _ in os.walk(path)]
                moments += [os.lstat(file).st_mtime for file, _ in files]
                if max(moments, default=time.time()) < before:
                    found.append(_Removable(table.name, _STAGING, path, sum(size for _, size in files)))
    return found


def _staging_in(table: Table) -> list[str]:
    with suppress(OSError), os.scandir(table.location) as entries:
        return sorted(
            entry.path for entry in entries if entry.name.startswith(STAGING) and entry.is_dir(follow_symlinks=False)
        )
    return []


def _files(root: str) -> Iterator[tuple[str, int]]:
    """Paths and sizes of the files below a directory; links are not followed."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with suppress(FileNotFoundError):
                yield path, os.lstat(path).st_size


def _remove(removable: Iterable[_Removable]) -> tuple[list[_Removable], tuple[str, ...]]:
    """Removes files and staging directories; what is gone by now counts as removed."""
    removed: list[_Removable] = []
    warnings: list[str] = []
    for one in removable:
        try:
            if one.reason == _STAGING:
                shutil.rmtree(one.path)
            else:
                os.remove(one.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            warnings.append(f"{one.path} cannot be removed: {error.strerror}.")
            continue
        removed.append(one)
    return removed, tuple(warnings)


def _remove_empty(folders: Iterable[_Folder], live: set[str]) -> None:
    """Removes what is empty of the directories of ended writes, and of tables that are gone or never came to be."""
    for one in folders:
        for folder, _, _ in os.walk(one.path, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)
        place = os.path.dirname(one.path)
        if place not in live:
            with suppress(OSError):
                os.rmdir(place)


def _told(found: Sequence[_Removable], warnings: tuple[str, ...] = ()) -> Result:
    amounts: dict[tuple[str, str], list[int]] = {}
    for one in found:
        amounts.setdefault((shown(one.table), one.reason), []).append(one.bytes)
    rows: list[Row] = [(*key, len(sizes), sum(sizes)) for key, sizes in sorted(amounts.items())]
    result = listing("VACUUM", _COLUMNS, rows)
    result.warnings = warnings
    return result
