"""VACUUM: removes files that nothing refers to any more, and then empty directories.

For managed tables: files that were replaced or dropped longer ago than the retention, and files of transactions that
never committed. For external tables and multi-inserts: staging directories that have not changed for a day.
For exposed tables: the directories of older states (``exposed_directories``).
``catalog.maintenance.file_garbage`` decides which files are unneeded. ``safe_removal`` removes them: it follows no
link, and removes a link in an ended write's directory itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.catalog.catalog import TRANSACTION_TIMEOUT_SECONDS
from rewriter.catalog.clusters.definitions import is_owned
from rewriter.catalog.commit.exposures import FOLDER, OF_A_COMMIT, table_directory
from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.maintenance import file_garbage
from rewriter.catalog.maintenance import file_garbage as unused
from rewriter.catalog.maintenance.file_garbage import (
    StoredTable,
    UnneededFile,
    Write,
    needed_directories,
    written_tables,
)
from rewriter.catalog.maintenance.warehouse_identity import IDENTITY_FILE, write_directories
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Column
from rewriter.catalog.model.stored_paths import is_in
from rewriter.catalog.model.temporary_views import with_typed_names
from rewriter.catalog.storage.partition_directories import folders_in, names_in
from rewriter.directory_changes import (
    Entry,
    files_below,
    link_in,
    remove_directory,
    remove_empty,
    remove_file,
    remove_tree,
)
from rewriter.errors import DataError, OperationalError
from rewriter.grammar.families import maintenance as s
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.result import Result, Row, listing
from rewriter.runtime.statement_runners import runs
from rewriter.statements.resolve.locations import root_of_cluster
from rewriter.statements.write.insert import STAGING
from rewriter.statements.write.multi_insert import SOURCE
from rewriter.uris import is_uri, root_and_levels

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: The retention where RETAIN is left out.
_RETAINED_HOURS = 24
#: No transaction of a staging directory shows whether its writer is alive. No writer works this long
#: without writing.
_STAGING_HOURS = 24
#: The files from which ``durable_files.write_whole`` makes ``warehouse.json``.
_UNFINISHED_IDENTITY = re.compile(rf"\.{re.escape(IDENTITY_FILE)}-[0-9a-f]{{32}}")

#: The most warnings that are shown one by one.
_WARNINGS = 20
#: How many files of an object store are removed before progress is shown.
_AT_ONCE = 100

_SUPERSEDED, _DROPPED, _ORPHANED, _STAGING = "superseded", "dropped", "orphaned", "staging"
_EXPOSED = "exposed"
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
    """A file, or a staging or exposed directory, the reason why it may be removed, and the rows that go with it."""

    table: str
    reason: str
    path: str
    bytes: int
    unneeded: UnneededFile | None = None
    exposed: UnneededDirectory | None = None


@dataclass(frozen=True)
class _Folder:
    """The directory of a write below the directory of a table."""

    table: str
    write: Write
    path: str


@dataclass(frozen=True)
class _Recent:
    """The directories of copies, in which a user may be putting files for ADD CLUSTER, and the retention in seconds."""

    places: Collection[str]
    retained: float

    def keeps(self, folder: _Folder, modified: float) -> bool:
        """Tests whether a file is too recent to be an orphan."""
        return os.path.dirname(folder.path) in self.places and modified > time.time() - self.retained


class _Buckets:
    """The buckets of object stores, each asked for once whether it can be reached."""

    def __init__(self) -> None:
        self._problems: dict[str, str | None] = {}

    def problem(self, path: str) -> str | None:
        """Returns why nothing is removed in the bucket of a path; ``None`` for a local one, and where it can be."""
        if not is_uri(path):
            return None
        bucket = root_and_levels(path)[0]
        if bucket not in self._problems:
            try:
                exists = store_of(bucket).has_directory(bucket)
                self._problems[bucket] = None if exists else f"{bucket} does not exist: nothing is removed in it."
            except OperationalError as error:
                self._problems[bucket] = f"Nothing is removed in {bucket}: {error.message}"
        return self._problems[bucket]


@runs(s.Vacuum)
def vacuum(statement: s.Vacuum, context: Context) -> Result:
    """VACUUM: rows of (table, reason, files, bytes) of the files that were removed, or with DRY RUN would be.

    Without a table, dropped tables are included. A file that cannot be removed is a warning, and the next VACUUM
    finds it again. Raises ``DataError`` RETENTION_TOO_SHORT. Reads the paths of all files in the catalog once or
    twice, and lists the directories of all ended writes.
    """
    retained = _retained_seconds(statement, context)
    only_table = None if statement.table is None else context.table(statement.table)
    catalog = context.catalog
    if not statement.dry_run:
        catalog.abort_dead(TRANSACTION_TIMEOUT_SECONDS)
    with catalog.database.read() as connection:
        all_tables = file_garbage.stored_tables(connection)
        limit = file_garbage.horizon(connection, retained)
        unneeded = file_garbage.unneeded_files(
            connection, all_tables, limit, None if only_table is None else only_table.id
        )
        locations = file_garbage.database_locations(connection)
    roots = _roots([str(context.catalog.warehouse.absolute()), *locations], all_tables, context)
    buckets = _Buckets()
    files_of_writes = [file for file in unneeded if _is_of_a_write(file.path) and buckets.problem(file.path) is None]
    tables = [table for table in all_tables if only_table is None or table.table.id == only_table.id]
    searched = [] if only_table is not None else _searched(roots, context, buckets)
    table_locations, skipped = _locations(tables, all_tables, searched, roots, buckets, context)
    folders = _ended(_folders(table_locations), tables, context)
    elsewhere = {place for table in all_tables for place in (*_copy_places(table), *table.former)}
    removable = _orphans(folders, roots, _Recent(elsewhere, retained), context)
    removable += _staging(tables, None if only_table is not None else catalog.warehouse, retained)
    exposed = _unneeded_directories(all_tables, None if only_table is None else only_table.id, retained, context)
    removable += [_Removable(item.table, _EXPOSED, item.path, item.bytes, exposed=item) for item in exposed]
    if statement.dry_run:
        return _result([*map(_removable, files_of_writes), *removable], _bounded(skipped))
    given_up = file_garbage.declare_removed(catalog.database, files_of_writes, retained, TRANSACTION_TIMEOUT_SECONDS)
    live = {place for table in tables if table.dropped is None for place in table.places}
    removed_files, warnings = _clean_up([*map(_removable, given_up), *removable], folders, live, roots, context)
    return _result(removed_files, _bounded([*skipped, *warnings]))


def _clean_up(
    removable: Sequence[_Removable], folders: Sequence[_Folder], live: set[str], roots: Sequence[str], context: Context
) -> tuple[list[_Removable], list[str]]:
    """Removes files, their rows in the catalog, and the directories that are empty then. ``live`` are the places of
    tables that exist. Returns what was removed, and warnings about the rest.
    """
    advance = context.progress.counter("removing", "files", len(removable))
    removed_files, warnings = _remove(removable, roots, advance)
    unneeded = [file.unneeded for file in removed_files if file.unneeded is not None]
    file_garbage.delete_rows(context.catalog.database, unneeded)
    _remove_emptied([file.exposed for file in removed_files if file.exposed is not None], context)
    _remove_empty(folders, live, roots, [item.path for item in removed_files])
    return removed_files, warnings


def _retained_seconds(statement: s.Vacuum, context: Context) -> float:
    hours = _RETAINED_HOURS if statement.hours is None else statement.hours
    minimum = context.settings.least_retention_hours
    if hours < minimum:
        raise DataError(
            f"RETAIN {hours} HOURS is less than {minimum}: files that are still being read could be removed.",
            condition="RETENTION_TOO_SHORT",
            position=statement.span,
            hint=f"Write RETAIN {minimum} HOURS. If no query is running, SET rewriter.least_retention_hours = 0.",
        )
    return hours * 3600.0


def _is_of_a_write(path: str) -> bool:
    """Returns whether a file is in a directory of a write of a managed table; no other file is ever removed."""
    return any(_OF_A_WRITE.fullmatch(level) for level in path.split(os.sep)[:-1])


def _removable(unneeded: UnneededFile) -> _Removable:
    return _Removable(
        unneeded.table.name, _DROPPED if unneeded.dropped else _SUPERSEDED, unneeded.path, unneeded.bytes, unneeded
    )


def _searched(roots: Sequence[str], context: Context, buckets: _Buckets) -> list[str]:
    """Returns the directories that contain the directories of managed tables: the roots, and the ``<database>.db`` of
    the warehouse and of clusters.
    """
    homes = (roots[0], *(root_of_cluster(cluster, context.catalog) for cluster in context.clusters.by_name.values()))
    homes = tuple(home for home in homes if buckets.problem(home) is None)
    databases = (os.path.join(home, name) for home in homes for name in folders_in(home) if name.endswith(".db"))
    return list(dict.fromkeys((*roots, *databases)))


def _roots(roots: Sequence[str], tables: Sequence[StoredTable], context: Context) -> tuple[str, ...]:
    """Returns the directories below which files are removed: the directories of databases, clusters, and tables of
    clusters that are no longer defined.
    """
    defined = [root_of_cluster(cluster, context.catalog) for cluster in context.clusters.by_name.values()]
    placed = [
        location
        for table in tables
        if table.table.cluster or table.table.copies or table.former
        for location in (*table.places, *table.former)
    ]
    parents = [os.path.dirname(location) for location in placed]
    is_new = [parent for parent in parents if not any(is_in(parent, root) for root in (*roots, *defined))]
    return tuple(dict.fromkeys((*roots, *defined, *is_new)))


def _left(table: StoredTable, tables: Sequence[StoredTable], context: Context) -> list[str]:
    """Returns the directories that a table has left, in the warehouse and in directories of clusters that bear its
    identity. Others belong to the user. The directory of a table by another path is left out: a link, or another
    name of the root.
    """
    warehouse, identity = str(context.catalog.warehouse.absolute()), context.catalog.identity
    ours = [place for place in table.former if is_owned(place, warehouse, identity)]
    current = [place for other in tables for place in other.places] if ours else []
    return [place for place in ours if not any(_is_same(place, other) for other in current)]


def _is_same(path: str, other: str) -> bool:
    if is_uri(path) or is_uri(other):
        return path == other
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _locations(
    tables: Sequence[StoredTable],
    all_tables: Sequence[StoredTable],
    searched: Iterable[str],
    roots: Sequence[str],
    buckets: _Buckets,
    context: Context,
) -> tuple[dict[str, tuple[str, int]], list[str]]:
    """Returns the directories to search, each with the name and id of its table, and warnings.

    These are the directories of the tables, and those in the searched directories whose id belongs to no table: a
    statement began to create such a table. Directories that are not named as we name them are ignored. The warnings
    are about links in place of a directory, or above it; such links are not followed.

    A directory that bears a table's id but lies elsewhere than the catalog says is the table's by another path: a
    link, or another host's name for the disk. The catalog does not name its files by that path, but they are not
    orphans.
    """
    locations = {
        place: (table.table.name, table.table.id)
        for table in tables
        for place in (*table.places, *_left(table, all_tables, context))
    }
    ids = {table.table.id for table in tables}
    skipped = {root: _skipped(root, roots) or buckets.problem(root) for root in searched}
    for root in searched:
        for name in () if skipped[root] else folders_in(root):
            match = _OF_A_TABLE.fullmatch(name)
            if match is not None and int(match[2]) not in ids:
                locations.setdefault(os.path.join(root, name), (match[1], int(match[2])))
    skipped |= {directory: _skipped(directory, roots) or buckets.problem(directory) for directory in locations}
    warnings = sorted({reason for reason in skipped.values() if reason is not None})
    return {directory: table for directory, table in locations.items() if skipped[directory] is None}, warnings


def _skipped(directory: str, roots: Sequence[str]) -> str | None:
    """Returns why VACUUM does not look into a directory; ``None`` where it does."""
    outside = f"{directory} is outside the warehouse and its databases: it is not removed."
    if is_uri(directory):
        return None if any(is_in(directory, root) for root in roots) else outside
    try:
        link = link_in(directory, roots)
    except OSError:
        return outside if os.path.isdir(directory) else None
    return None if link is None else f"{link} is a symbolic link: its target is not removed."


def _folders(locations: Mapping[str, tuple[str, int]]) -> Iterator[_Folder]:
    """Yields the directories of writes below the directories of tables, and links in their place."""
    for directory, (table, table_id) in locations.items():
        for name in names_in(directory):
            write = _OF_A_WRITE.fullmatch(name)
            if write is not None:
                yield _Folder(table, (table_id, int(write[1])), os.path.join(directory, name))


def _ended(folders: Iterable[_Folder], tables: Iterable[StoredTable], context: Context) -> list[_Folder]:
    """Returns the directories of writes that have ended; a write that is not in the catalog belongs to another catalog.

    Tables created since ``tables`` was read are left to the next VACUUM, because their locations were not searched.
    """
    folder_list = list(folders)
    with context.catalog.database.read() as connection:
        ended = file_garbage.ended_writes(connection, {folder.write for folder in folder_list})
        since = file_garbage.table_ids(connection) - {table.table.id for table in tables}
    return [folder for folder in folder_list if folder.write in ended and folder.write[0] not in since]


def _copy_places(table: StoredTable) -> tuple[str, ...]:
    return tuple(copy.location for copy in table.table.copies)


def _orphans(folders: Sequence[_Folder], roots: Sequence[str], recent: _Recent, context: Context) -> list[_Removable]:
    """Returns the files and links of ended writes that no row names; for a link, also no row names a file behind it.

    The rows are read last: by then an ended write has all of its rows.
    """
    files = [
        (folder.table, file)
        for folder in folders
        for file, modified in _files_of(folder.path, roots)
        if not recent.keeps(folder, modified)
    ]
    with context.catalog.database.read() as connection:
        referenced_paths = file_garbage.referenced_paths(connection, {file.path for _, file in files})
        referenced_paths |= file_garbage.referenced_below(connection, {file.path for _, file in files if file.is_link})
    return [
        _Removable(table, _ORPHANED, file.path, file.bytes)
        for table, file in files
        if file.path not in referenced_paths
    ]


def _files_of(folder: str, roots: Sequence[str]) -> Iterator[tuple[Entry, float]]:
    """Yields the files and links below a directory, with the times of their last changes."""
    if is_uri(folder):
        for file in store_of(folder).files_below(folder):
            yield Entry(file.path, file.bytes, False), file.modified / 1e9
        return
    for entry in files_below(folder, roots):
        with suppress(FileNotFoundError):
            yield entry, os.lstat(entry.path).st_mtime


def _staging(tables: Sequence[StoredTable], warehouse: Path | None, retained: float) -> list[_Removable]:
    """Returns the staging directories in which nothing has changed for long: of external tables, and in the warehouse
    the directories of multi-inserts, and unfinished files of the identity, which belong to no table.
    """
    before = time.time() - max(retained, _STAGING_HOURS * 3600.0)
    places = [
        (table.table.name, table.table.location, STAGING)
        for table in tables
        if table.table.external and table.dropped is None and not is_uri(table.table.location)
    ]
    if warehouse is not None:
        places.append(("", str(warehouse.absolute()), SOURCE))
    removable = []
    for name, place, prefix in places:
        for path in _directories_in(place, prefix):
            files = list(files_below(path, (place,)))
            with suppress(FileNotFoundError):  # A writer still works there.
                moments = [os.lstat(folder).st_mtime for folder, _, _ in os.walk(path)]
                moments += [os.lstat(file.path).st_mtime for file in files]
                if max(moments, default=time.time()) < before:
                    removable.append(_Removable(name, _STAGING, path, sum(file.bytes for file in files)))
    return removable if warehouse is None else [*removable, *_unfinished_identities(warehouse.absolute(), before)]


def _unfinished_identities(warehouse: Path, before: float) -> Iterator[_Removable]:
    """Yields the files that processes have left that died while they wrote ``warehouse.json``."""
    with suppress(OSError), os.scandir(warehouse) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if _UNFINISHED_IDENTITY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                if status.st_mtime < before:
                    yield _Removable("", _STAGING, entry.path, status.st_size)


def _directories_in(place: str, prefix: str) -> list[str]:
    with suppress(OSError), os.scandir(place) as entries:
        return sorted(
            entry.path for entry in entries if entry.name.startswith(prefix) and entry.is_dir(follow_symlinks=False)
        )
    return []


def _remove(
    removable: Iterable[_Removable], roots: Sequence[str], advance: Callable[[int], None]
) -> tuple[list[_Removable], list[str]]:
    """Removes files, and what was staged; a file that has vanished counts as removed. ``advance`` may end it."""
    removed_files: list[_Removable] = []
    items = list(removable)
    objects = [item for item in items if is_uri(item.path)]
    failures = _remove_objects(objects, advance)
    warnings = [f"{path} cannot be removed: {reason}." for path, reason in failures.items()]
    removed_files += [item for item in objects if item.path not in failures]
    for item in items:
        if is_uri(item.path):
            continue
        advance(1)
        try:
            if item.reason == _STAGING:
                remove_tree(item.path, (os.path.dirname(item.path),))
            elif item.reason == _EXPOSED:
                remove_tree(item.path, roots)
            else:
                remove_file(item.path, roots)
        except FileNotFoundError:
            pass
        except OSError as error:
            warnings.append(f"{item.path} cannot be removed: {error.strerror}.")
            continue
        removed_files.append(item)
    return removed_files, warnings


def _remove_objects(objects: Sequence[_Removable], advance: Callable[[int], None]) -> dict[str, str]:
    """Removes files of object stores, several at once. Returns the reasons why some were not removed, by path."""
    failures: dict[str, str] = {}
    paths_by_bucket: dict[str, list[str]] = {}
    for item in objects:
        paths_by_bucket.setdefault(root_and_levels(item.path)[0], []).append(item.path)
    for bucket, paths in paths_by_bucket.items():
        for start in range(0, len(paths), _AT_ONCE):
            advance(len(paths[start : start + _AT_ONCE]))
            failures |= dict(store_of(bucket).delete(paths[start : start + _AT_ONCE]))
    return failures


def _bounded(warnings: Sequence[str]) -> tuple[str, ...]:
    """Returns the first of many warnings, and the number of the others."""
    omitted = len(warnings) - _WARNINGS
    return tuple(warnings) if omitted <= 0 else (*warnings[:_WARNINGS], f"There are {omitted:,} more such warnings.")


def _remove_empty(
    folders: Iterable[_Folder], live: set[str], roots: Sequence[str], removed_paths: Sequence[str]
) -> None:
    """Removes the empty directories of ended writes, and of tables that are dropped or were never created; in an object
    store, the markers of those in which files were removed.
    """
    for folder in folders:
        directory = os.path.dirname(folder.path)
        if is_uri(folder.path):
            for path in (folder.path, *(() if directory in live else (directory,))):
                if any(is_in(removed, folder.path) for removed in removed_paths) and not store_of(path).has_files(path):
                    store_of(path).delete_below(path)
            continue
        remove_empty(folder.path, roots)
        if directory not in live:
            with suppress(OSError):
                remove_directory(directory, roots)


def _result(items: Sequence[_Removable], warnings: tuple[str, ...] = ()) -> Result:
    amounts: dict[tuple[str, str], list[int]] = {}
    for item in items:
        amounts.setdefault((with_typed_names(item.table), item.reason), []).append(item.bytes)
    rows: list[Row] = [(*key, len(sizes), sum(sizes)) for key, sizes in sorted(amounts.items())]
    result = listing("VACUUM", _COLUMNS, rows)
    result.warnings = warnings
    return result


# VACUUM of the directories of exposed tables: the directories that clients no longer read, and the directories of
# commits that failed.


@dataclass(frozen=True)
class UnneededDirectory:
    """A directory that no client reads: the name of its table, its path, and the bytes of its files, which are links.

    ``is_dropped`` if its table does not exist.
    """

    table: str
    path: str
    bytes: int
    is_dropped: bool


def _unneeded_directories(
    tables: Sequence[StoredTable], only: int | None, retained: float, context: Context
) -> list[UnneededDirectory]:
    """Returns the directories below the directories of exposed tables that no state since the retention names. Follows
    no links.

    ``only`` restricts them to one table. Directories of another catalog are left out. Lists all of these directories,
    and then takes the turn of a writer, so that no commit is under way that made one of them. Reads the partitions of
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


def _remove_emptied(removed: Collection[UnneededDirectory], context: Context) -> None:
    """Removes the directories above removed ones that hold nothing else. Directories of a live table stay: a commit may
    be about to use them.
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
    """Yields the directories that commits have made below the directory of a table, and that have none below them."""
    if link_in(path, (warehouse,)) is not None:
        return
    made = (os.path.join(path, name) for name in folders_in(path) if OF_A_COMMIT.fullmatch(name))
    for directory in made:
        for folder, folders, _ in () if os.path.islink(directory) else os.walk(directory):
            if all(os.path.islink(os.path.join(folder, below)) for below in folders):
                yield folder


# VACUUM UNKNOWN DIRECTORIES: removes directories that VACUUM leaves below the warehouse, because another catalog made
# them.
#
# After a restore of an older catalog, or a new beginning, directories of writes remain that this catalog did not give
# out. Only a person can decide whether they are still needed: a dry run lists them and prints a code. That code
# removes only the same directories with the same content.

_DIRECTORY_COLUMNS = (Column("directory", "string"), Column("files", "bigint"), Column("bytes", "bigint"))
_DIGITS = 16


@dataclass(frozen=True)
class _Unknown:
    """A directory (absolute path) and its files: path, size in bytes, and time of the last change in nanoseconds."""

    path: str
    files: tuple[tuple[str, int, int], ...]


@runs(s.VacuumUnknown)
def vacuum_unknown(statement: s.VacuumUnknown, context: Context) -> Result:
    """VACUUM UNKNOWN DIRECTORIES: rows of (directory below the warehouse, files, bytes) of the directories that were
    removed, or with DRY RUN would be; then a warning states the code that removes them.

    A directory is unknown if its name is the name of a write which this catalog did not give out, or whose directory
    another catalog made, and no row names a file in it. Links are not followed, and nothing outside the warehouse is
    looked at. Raises ``DataError`` CONFIRMATION_MISMATCH where the code does not match the current directories. A
    warning names each directory that cannot be removed. Lists all directories of writes, and reads the paths of all
    files.
    """
    warehouse = str(context.catalog.warehouse)
    entries = _unknown_directories(context)
    code = _code(entries)
    warnings: list[str] = []
    if statement.code is None:
        if entries:
            warnings.append(f"VACUUM UNKNOWN DIRECTORIES CONFIRM '{code}' permanently removes these directories.")
    elif statement.code != code:
        raise DataError(
            f"'{statement.code}' is not the code of the current unknown directories.",
            condition="CONFIRMATION_MISMATCH",
            position=statement.code_span,
            object=statement.code,
            hint="VACUUM UNKNOWN DIRECTORIES DRY RUN lists them with their code.",
        )
    else:
        context.catalog.begin(context.snapshot).rollback()  # Raises without write access to the catalog.
        for entry in list(entries):
            try:
                remove_tree(entry.path, (warehouse,))
            except OSError as error:
                warnings.append(f"{entry.path} cannot be removed: {error.strerror}.")
                entries.remove(entry)
    rows: list[Row] = [
        (os.path.relpath(entry.path, warehouse), len(entry.files), sum(size for _, size, _ in entry.files))
        for entry in entries
    ]
    result = listing("VACUUM", _DIRECTORY_COLUMNS, rows)
    result.warnings = tuple(warnings)
    return result


def _unknown_directories(context: Context) -> list[_Unknown]:
    directories = list(write_directories(context.catalog.warehouse))
    with context.catalog.database.read() as connection:  # Read later: it has the writes that began meanwhile.
        allocated_writes = unused.allocated_writes(connection)
        entries = [
            _Unknown(entry.path, tuple(_files(entry.path)))
            for entry in directories
            if (entry.table_id, entry.write_id) not in allocated_writes
        ]
        referenced_paths = unused.referenced_paths(
            connection, {path for entry in entries for path, _, _ in entry.files}
        )
    return [entry for entry in entries if not any(path in referenced_paths for path, _, _ in entry.files)]


def _files(root: str) -> Iterator[tuple[str, int, int]]:
    for folder, _, names in sorted(os.walk(root)):
        for path in (os.path.join(folder, name) for name in sorted(names)):
            status = os.lstat(path)
            yield path, status.st_size, status.st_mtime_ns


def _code(directories: list[_Unknown]) -> str:
    text = "\0".join(repr((entry.path, entry.files)) for entry in directories)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]
