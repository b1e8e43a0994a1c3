"""The directory of a write into a managed table, which is named by the write id.

On this machine's disks an engine fills it in place. For a table in an object store, an engine fills a directory on this
machine, and then its files are uploaded under the same names. Nothing is renamed, and no reader lists the place: files
are seen once the catalog names them. After a failure what was uploaded is deleted, and nothing else: another catalog
may have used the same write id meanwhile. What a killed process leaves is found by VACUUM.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from rewriter.catalog.commit.transaction import Writer, note_foreign_write
from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.filesystems.removal import discard_files
from rewriter.catalog.model.objects import WRITE_ID_LEVEL, DataFile, Table
from rewriter.catalog.model.removal_roots import link_not_followed, roots_of
from rewriter.errors import CommitUnknownError, Error, OperationalError, disk_full, is_disk_full
from rewriter.runtime.statement_context import Context
from rewriter.safe_removal import discard_tree, make_directory
from rewriter.scratch_directories import ScratchDirectory
from rewriter.uris import is_uri


@dataclass(frozen=True)
class WriteDirectory:
    """The place where one statement writes into a table.

    ``folder`` is the local directory that an engine fills, and ``location`` is where its files are in the end: the same
    for a local table. ``owned`` is what is removed after a failure, and holds nothing else: a local directory. In an
    object store, where nobody can own a directory, that are the files ``uploaded``.
    """

    table: Table
    write_id: int
    folder: str
    location: str
    owned: str
    roots: tuple[str, ...]
    scratch: ScratchDirectory | None = None
    uploaded: set[str] = field(default_factory=set)

    def path_of(self, path: str) -> str:
        """Returns where a file of ``folder`` is in the end; the path of any other file."""
        stem = os.path.join(self.folder, "")
        return self.location + path[len(self.folder) :] if path.startswith(stem) else path

    def moved(self, files: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Returns files under the paths where they are in the end."""
        return tuple([file._replace(path=self.path_of(file.path)) for file in files])

    def publish(self, files: Iterable[DataFile], context: Context) -> None:
        """Uploads those of the files that are in ``folder``, each once. Does nothing for a local table.

        Raises ``OperationalError`` FAILED_WRITE_FILE; some files may have been uploaded then. Raises
        WRITE_DIRECTORY_EXISTS where another catalog has written meanwhile.
        """
        if self.scratch is None:
            return
        paths = dict.fromkeys(file.path for file in files)
        pairs = [(path, self.path_of(path)) for path in paths if self.path_of(path) != path]
        self.require_ours(context)
        self.uploaded.update(path for _, path in pairs)
        store_of(self.location).upload(pairs, context.progress.counter("uploading", "files", len(pairs)))

    def require_ours(self, context: Context) -> None:
        """Raises ``OperationalError`` WRITE_DIRECTORY_EXISTS if another catalog has written at ``location``: before the
        first file is, for a local one. Lists the place in an object store.
        """
        if is_uri(self.location):
            files = store_of(self.location).files_below(self.location)
            is_foreign = any(file.path not in self.uploaded for file in files)
        else:
            is_foreign = os.path.lexists(self.location)
        if is_foreign:
            note_foreign_write(context.catalog.database, self.table, self.write_id)
            raise directory_exists(self.table, self.location)

    def discard(self) -> None:
        """Removes what was written, as far as possible."""
        if is_uri(self.location):
            discard_files(self.uploaded)
        else:
            discard_tree(self.owned, self.roots)

    def close(self) -> None:
        """Removes the working directory of a table in an object store. Idempotent."""
        if self.scratch is not None:
            self.scratch.remove()


def make_write_directory(table: Table, transaction: Writer, context: Context, write_id: int) -> WriteDirectory:
    """Creates the directory of a write, which no other writer has: everything removed after a failure is ours.

    Raises ``OperationalError``: WRITE_DIRECTORY_EXISTS; LINK_NOT_FOLLOWED where a directory below the root is a link,
    because files behind it would lie outside of the warehouse, where nothing removes them; FAILED_WRITE_FILE for other
    errors of the disk, FAILED_READ_FILE for those of an object store.
    """
    roots = roots_of(table, context.catalog.warehouse)
    folder = os.path.join(table.location, f"{WRITE_ID_LEVEL}={transaction.directory_name(table)}")
    if is_uri(folder):
        if store_of(folder).has_files(folder):
            note_foreign_write(context.catalog.database, table, write_id)
            raise directory_exists(table, folder)
        scratch = ScratchDirectory("upload")
        local = os.path.join(scratch.path, "files")
        return WriteDirectory(table, write_id, local, folder, local, (scratch.path,), scratch)
    try:
        make_directory(folder, roots)
    except FileExistsError:
        raise directory_exists(table, folder) from None
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {folder}", table.name) from error
        if error.errno == errno.ELOOP:
            raise link_not_followed(str(error.filename), table) from error
        raise OperationalError(
            f"The directory {folder} cannot be created: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=table.name,
            hint="Check that this user can write to the table's location, and that it has free space.",
        ) from error
    return WriteDirectory(table, write_id, folder, folder, folder, roots)


def of_new_table(directory: WriteDirectory, table: Table) -> WriteDirectory:
    """Returns the directory of the first write of a new table: the table's whole directory bears its id, which no other
    table ever gets, and is this write's. In an object store that cannot be checked for one moment, and only the
    directory of the write is removed.
    """
    return directory if directory.scratch is not None else replace(directory, owned=table.location)


def directory_exists(table: Table, folder: str) -> OperationalError:
    """Returns the error of a write whose directory another catalog has made."""
    return OperationalError(
        f"The directory {folder} of this write already exists.",
        condition="WRITE_DIRECTORY_EXISTS",
        object=table.name,
        hint="Two catalogs use one warehouse directory, or the catalog was restored from an older copy: "
        "run the statement again to use the next write id.",
    )


@contextmanager
def removed_on_failure(directory: WriteDirectory) -> Iterator[None]:
    """Removes a write's directory if the block fails."""
    try:
        yield
    except BaseException:
        directory.discard()
        raise


@contextmanager
def removed_on_refusal(directory: WriteDirectory) -> Iterator[None]:
    """Removes a directory if the commit in the block certainly failed.

    Only one of our own errors shows that, except ``CommitUnknownError``: that commit may have succeeded.
    """
    try:
        yield
    except CommitUnknownError:
        raise
    except Error:
        directory.discard()
        raise
