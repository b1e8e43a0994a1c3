"""The identity of a warehouse, which shows that a directory and a catalog belong together.

The directory has its identity in a small file, and the catalog repeats it. A new identity is set in an order in which
any process can finish the work of a killed one: first the catalog notes the coming identity, then the file gets it,
then the catalog.

A copy of the directory has the same identity. The catalog also stores where the directory was: a moved directory is no
longer there, a copied one is. A copy may be read. It cannot be written before ``adopt`` made it a warehouse of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rewriter.catalog.filesystems.reading import fetch_file
from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, Table, database_of
from rewriter.catalog.model.stored_paths import loaded_path, stored
from rewriter.catalog.model.temporary_views import with_typed_names
from rewriter.catalog.store import schema
from rewriter.catalog.store.path_upgrade import give_up_copies, give_up_former_places, replace_prefixes
from rewriter.directory_changes import write_whole
from rewriter.errors import OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.maintenance.file_garbage import StoredTable
    from rewriter.catalog.store.database import Database

#: The file in a warehouse directory that contains its identity.
IDENTITY_FILE = "warehouse.json"
#: The catalog's file in the warehouse directory.
FILE_NAME = "catalog.db"

#: Files of file systems and desktops that may be in an empty directory.
_NO_CONTENT = re.compile(r"\..*|lost\+found")
_OF_A_TABLE = re.compile(r".+-([0-9]+)", re.DOTALL)
_OF_A_WRITE = re.compile(rf"{WRITE_ID_LEVEL}=([0-9]+)(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Identity:
    """The identities of a directory: the current one, and earlier ones of it or of the directory it was copied from."""

    identity: str
    formerly: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """All identities that a dump of this warehouse may have."""
        return (self.identity, *self.formerly)


@dataclass(frozen=True)
class WarehouseLocation:
    """The location of a warehouse directory, as this host sees it."""

    place: str
    device: str
    inode: str
    host: str

    @classmethod
    def of(cls, warehouse: Path) -> WarehouseLocation:
        """Returns the location of a directory with an identity file."""
        status = os.stat(warehouse / IDENTITY_FILE)
        return cls(os.path.realpath(warehouse), str(status.st_dev), str(status.st_ino), socket.gethostname())

    def is_same(self, other: WarehouseLocation) -> bool:
        """Returns True if both are one directory.

        Numbers of devices differ between hosts and mounts, paths between containers, numbers of files after a restore
        to the same path.
        """
        if self.inode == other.inode and (self.device == other.device or self.place == other.place):
            return True
        return self.place == other.place and self.host == other.host


@dataclass(frozen=True)
class WriteDirectory:
    """The directory of a write below the warehouse, and the ids of table and write in its name."""

    path: str
    table_id: int
    write_id: int


@dataclass(frozen=True)
class _Row:
    identity: str | None
    next_identity: str | None
    place: WarehouseLocation | None


def read_identity(warehouse: Path) -> Identity | None:
    """Returns the directory's identity; ``None`` if it has no such file.

    Raises ``OperationalError`` NOT_A_WAREHOUSE if the file is damaged, CATALOG_UNAVAILABLE if it cannot be read.
    """
    path = warehouse / IDENTITY_FILE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Identity(str(data["identity"]), tuple(map(str, data["formerly"])))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise OperationalError(
            f"the file {path} does not contain the identity of a warehouse",
            condition="NOT_A_WAREHOUSE",
            object=str(path),
            hint="Remove it and run `rewriter catalog adopt`, if the catalog belongs to this directory.",
        ) from error
    except OSError as error:
        raise OperationalError(
            f"the file {path} cannot be read: {error.strerror}",
            condition="CATALOG_UNAVAILABLE",
            object=str(path),
            hint="Check that this user can read the directory and all its files.",
        ) from error


def write_directories(warehouse: Path) -> Iterator[WriteDirectory]:
    """Yields the directories below the warehouse whose names are names of writes, by any catalog.

    Does not follow links. Lists the directories of all tables.
    """
    roots = [str(warehouse), *(path for path in _folders(str(warehouse)) if path.endswith(".db"))]
    for table in (path for root in roots for path in _folders(root)):
        of_table = _OF_A_TABLE.fullmatch(os.path.basename(table))
        for path in _folders(table) if of_table else ():
            of_write = _OF_A_WRITE.fullmatch(os.path.basename(path))
            if of_table and of_write:
                yield WriteDirectory(path, int(of_table[1]), int(of_write[1]))


def check_blank(warehouse: Path, catalog_address: str) -> None:
    """Raises unless a directory without a catalog may become a warehouse: it does not exist, or is empty.

    Raises ``OperationalError`` CATALOG_MISSING if it is a warehouse, NOT_A_WAREHOUSE if it has other content,
    CATALOG_UNAVAILABLE if it cannot be listed or is not a directory. ``catalog_address`` names the empty catalog.
    """
    try:
        names = os.listdir(warehouse)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OperationalError(
            f"the warehouse {warehouse} cannot be read: {error.strerror}",
            condition="CATALOG_UNAVAILABLE",
            object=str(warehouse),
            hint="Name a directory that exists or can be created.",
        ) from error
    if read_identity(warehouse) is not None or next(write_directories(warehouse), None) is not None:
        raise _catalog_missing(warehouse, catalog_address)
    catalog_files = (FILE_NAME, f"{FILE_NAME}-wal", f"{FILE_NAME}-shm", f"{FILE_NAME}-journal")
    foreign_names = sorted(name for name in names if name not in catalog_files and not _NO_CONTENT.fullmatch(name))
    if foreign_names:
        raise OperationalError(
            f"the directory {warehouse} is not a warehouse, and contains other files ({_first_names(foreign_names)})",
            condition="NOT_A_WAREHOUSE",
            object=str(warehouse),
            hint="Name a warehouse, or a directory that is empty or does not exist.",
        )


def _catalog_missing(warehouse: Path, catalog_address: str) -> OperationalError:
    """Returns the error for an empty catalog of a warehouse with content."""
    return OperationalError(
        f"the catalog {catalog_address} of the warehouse {warehouse} is missing or empty, but the directory "
        "contains files of the warehouse",
        condition="CATALOG_MISSING",
        object=str(warehouse),
        hint=f"`rewriter catalog restore -w {warehouse} FILE` fills it from a dump, or copy a backup of the "
        "catalog back; `rewriter catalog new` creates an empty catalog and leaves the old files unused.",
    )


def check(database: Database, warehouse: Path, catalog_address: str, *, is_shared: bool) -> None:
    """Checks that a catalog belongs to a directory, and gives both their identity if they have none yet.

    A copy refuses every write (``database.refusal``). ``is_shared`` is for a catalog on a server: it has one directory,
    so a second one is refused. Raises ``OperationalError``: CATALOG_MISSING, WAREHOUSE_NOT_FOUND,
    CATALOG_OF_ANOTHER_WAREHOUSE, WAREHOUSE_COPIED. One read, and a few accesses to the disk.
    """
    row, identity = _row(database), read_identity(warehouse)
    if identity is None and not warehouse.is_dir():
        raise OperationalError(
            f"there is no warehouse in {warehouse}; the catalog {catalog_address} belongs to another directory",
            condition="WAREHOUSE_NOT_FOUND",
            object=str(warehouse),
            hint="Name its directory"
            + (f", which was {row.place.place} on {row.place.host}." if row.place is not None else "."),
        )
    if row.identity is None:
        _check_first(database, warehouse, catalog_address, row, identity)
    elif identity is None or identity.identity not in (row.identity, row.next_identity):
        raise _foreign(
            warehouse, catalog_address, "their identities differ" if identity else f"it has no {IDENTITY_FILE}"
        )
    if row.place is not None and identity is not None and identity.identity == row.identity:
        _check_location(database, warehouse, catalog_address, row.place, is_shared=is_shared)
    if database.refusal is None and (row.identity is None or row.next_identity is not None):
        apply_new_identity(database, warehouse)


def _check_first(
    database: Database, warehouse: Path, catalog_address: str, row: _Row, identity: Identity | None
) -> None:
    """Raises unless a catalog without an identity, a new one or one of an earlier release, is the directory's."""
    if identity is not None and identity.identity != row.next_identity:
        raise (
            _foreign(warehouse, catalog_address, "the catalog has no identity")
            if _is_used(database)
            else _catalog_missing(warehouse, catalog_address)
        )
    if identity is None:
        unmatched = _unmatched_directories(database, warehouse)
        if unmatched and not _is_used(database):
            raise _catalog_missing(warehouse, catalog_address)
        if unmatched:
            raise _foreign(
                warehouse, catalog_address, f"it does not agree with the directory on {_first_names(unmatched)}"
            )


def apply_new_identity(database: Database, warehouse: Path) -> None:
    """Gives the directory and the catalog the coming identity, or a new one if none is noted.

    Runs at most two write transactions; a file is replaced in the second.
    """
    row = schema.warehouse
    if _row(database).next_identity is None:
        with database.write() as connection:
            new_identity = {"next_identity": uuid.uuid4().hex}
            connection.execute(
                sa.update(row).where(row.c.next_identity.is_(None), row.c.identity.is_(None)).values(new_identity)
            )
    with database.write() as connection:
        identity = connection.execute(sa.select(row.c.next_identity)).scalar()
        if identity is None:
            return  # Another process was faster.
        old_identity = read_identity(warehouse)
        if old_identity is None or old_identity.identity != identity:
            formerly = () if old_identity is None else old_identity.all
            _write_identity(warehouse, Identity(identity, formerly))
        connection.execute(
            sa.update(row).values(identity=identity, next_identity=None, **vars(WarehouseLocation.of(warehouse)))
        )


def record_new_identity(connection: sa.Connection, warehouse: Path, identity: str | None) -> None:
    """Notes that a catalog is to get a new identity with a directory, which now has ``identity``.

    Also notes the directory's writes by other catalogs. Part of the caller's write transaction; ``apply_new_identity``
    does the rest.
    """
    connection.execute(sa.delete(schema.warehouse))
    connection.execute(schema.warehouse.insert(), {"identity": identity, "next_identity": uuid.uuid4().hex})
    write_id, counter = schema.write_ids.c, schema.counters
    own_writes = {tuple(row) for row in connection.execute(sa.select(write_id.object_id, write_id.write_id))}
    foreign = schema.foreign_writes
    noted_writes = {tuple(row) for row in connection.execute(sa.select(foreign.c.object_id, foreign.c.write_id))}
    directory_writes = {(directory.table_id, directory.write_id) for directory in write_directories(warehouse)}
    rows = [
        {"object_id": table, "write_id": write} for table, write in sorted(directory_writes - own_writes - noted_writes)
    ]
    if rows:
        connection.execute(foreign.insert(), rows)
    newest = max((table_id for table_id, _ in directory_writes), default=0)
    connection.execute(
        sa.update(counter).where(counter.c.name == "object", counter.c.value < newest).values(value=newest)
    )


def _check_location(
    database: Database, warehouse: Path, catalog_address: str, recorded: WarehouseLocation, *, is_shared: bool
) -> None:
    """Makes writes refused if the directory is a copy; if it has moved, stores its new path."""
    current = WarehouseLocation.of(warehouse)
    if recorded.is_same(current) and recorded.place == current.place and recorded.inode == current.inode:
        return
    is_copied = _exists_elsewhere(recorded, warehouse)
    if is_copied or (is_shared and is_copied is None and not recorded.is_same(current)):
        raise_copied = partial(_copied, warehouse, catalog_address, recorded, is_shared)
        if is_shared:
            raise raise_copied()
        database.refusal = database.refusal or raise_copied
    elif database.refusal is None and not (recorded.is_same(current) and _is_same(recorded.place, warehouse)):
        with database.write() as connection:
            connection.execute(sa.update(schema.warehouse).values(**vars(current)))


def _exists_elsewhere(recorded: WarehouseLocation, warehouse: Path) -> bool | None:
    """Returns True if the warehouse still exists at its recorded path, as another directory than this one.

    Returns ``None`` if that is unknown, because it was on another host.
    """
    is_same_host = recorded.host == socket.gethostname()
    try:
        if os.path.samefile(recorded.place, warehouse):
            return False if is_same_host else None
        old_identity, new_identity = read_identity(Path(recorded.place)), read_identity(warehouse)
        if old_identity is not None and new_identity is not None and old_identity.identity == new_identity.identity:
            return True
    except FileNotFoundError:
        pass
    except (OSError, OperationalError):
        return True  # This user may not read the directory that exists there.
    return False if is_same_host else None


def _is_same(path: str, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _row(database: Database) -> _Row:
    row = schema.warehouse.c
    columns = (row.identity, row.next_identity, row.place, row.device, row.inode, row.host)
    with database.read() as connection:
        row_values = connection.execute(sa.select(*columns)).first()
    identity, next_identity, *location = (None,) * len(columns) if row_values is None else row_values
    return _Row(identity, next_identity, None if location[0] is None else WarehouseLocation(*location))


def _is_used(database: Database) -> bool:
    """Returns True if a transaction ever began, or an id was given."""
    with database.read() as connection:
        return bool(connection.execute(sa.select(sa.func.max(schema.counters.c.value))).scalar())


def _unmatched_directories(database: Database, warehouse: Path) -> list[str]:
    """Returns the directories on which a catalog and a warehouse do not agree. O(versions of tables).

    These are directories of writes that the catalog never made, or has at another path, and directories of the
    catalog's files that do not exist.
    """
    from rewriter.catalog.maintenance.file_garbage import stored_tables

    write_id = schema.write_ids.c
    with database.read() as connection:
        locations = {table_row.table.id: table_row.table.location for table_row in stored_tables(connection)}
        own_writes = {tuple(row) for row in connection.execute(sa.select(write_id.object_id, write_id.write_id))}
        file_paths = sa.select(schema.files.c.path).where(schema.files.c.ended == schema.NEVER)
        table_directories = {
            loaded_path(path, str(warehouse)).partition(f"/{WRITE_ID_LEVEL}=")[0]
            for path in connection.execute(file_paths).scalars()
        }
    unmatched = []
    for directory in write_directories(warehouse):
        directory_of_table = os.path.dirname(directory.path)
        if (directory.table_id, directory.write_id) not in own_writes or locations.get(
            directory.table_id, directory_of_table
        ) != directory_of_table:
            unmatched.append(os.path.relpath(directory.path, warehouse))
    return sorted(unmatched) + sorted(
        path for path in table_directories if not is_uri(path) and not os.path.isdir(path)
    )


def _write_identity(warehouse: Path, identity: Identity) -> None:
    text = json.dumps({"identity": identity.identity, "formerly": identity.formerly}) + "\n"
    try:
        write_whole(str(warehouse / IDENTITY_FILE), text, replace=True)
    except OSError as error:
        raise OperationalError(
            f"the file {warehouse / IDENTITY_FILE} cannot be written: {error.strerror}",
            condition="CATALOG_UNAVAILABLE",
            object=str(warehouse),
            hint="Check that this user can write to the directory, and that it has free space.",
        ) from error


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as entries:
            return sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _first_names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _foreign(warehouse: Path, catalog_address: str, reason: str) -> OperationalError:
    return OperationalError(
        f"the catalog {catalog_address} does not belong to the warehouse {warehouse}: {reason}",
        condition="CATALOG_OF_ANOTHER_WAREHOUSE",
        object=str(warehouse),
        hint="Put its own catalog back, or restore a dump into an empty one: `rewriter catalog restore -w "
        f"{warehouse} FILE`; "
        "if they do belong together, run `rewriter catalog adopt`.",
    )


def _copied(warehouse: Path, catalog_address: str, recorded: WarehouseLocation, is_shared: bool) -> OperationalError:
    if is_shared:
        return OperationalError(
            f"the catalog {catalog_address} belongs to the warehouse in {recorded.place} on {recorded.host}; "
            f"{warehouse} seems to be a copy of it",
            condition="WAREHOUSE_COPIED",
            object=str(warehouse),
            hint="Name the original; run `rewriter catalog adopt` if this directory replaces it; for a "
            "separate warehouse, restore a dump into another database.",
        )
    return OperationalError(
        f"the warehouse {warehouse} is a copy of {recorded.place}, and is read-only",
        condition="WAREHOUSE_COPIED",
        object=str(warehouse),
        hint=f"`rewriter catalog adopt -w {warehouse}` makes it a warehouse of its own.",
    )


# Explicit statements about a catalog and a directory: that they belong together, or that a new catalog replaces a
# lost one.


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
    from rewriter.catalog.maintenance.file_garbage import stored_tables

    with database.read() as connection:
        outside = [
            table_row for table_row in stored_tables(connection) if is_copy and _is_outside(table_row.table, warehouse)
        ]
    live = [table_row for table_row in outside if table_row.dropped is None]
    if outside and not copy_outside:
        raise OperationalError(
            f"these tables of the warehouse {warehouse} are outside its directory, and the original "
            "uses the same files: "
            + ", ".join(
                sorted(
                    {f"{with_typed_names(table_row.table.name)} ({table_row.table.location})" for table_row in outside}
                )
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
    return Adoption(tuple(sorted(with_typed_names(table_row.table.name) for table_row in live)))


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
                fetch_file(file.path, path)
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
