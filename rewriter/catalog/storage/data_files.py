"""Files on disk as sessions see them: the files that a path names, and the files in a table's directories."""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from rewriter.catalog.filesystems.registry import store_of
from rewriter.catalog.keys.directory_moves import directory as directory
from rewriter.catalog.keys.paths import is_hidden
from rewriter.catalog.keys.values import partition_name
from rewriter.catalog.storage.partition_directories import in_parallel, printable
from rewriter.errors import NotSupportedError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri, normalize_uri, shown

if TYPE_CHECKING:
    from rewriter.catalog.filesystems.object_files import StoredFile
    from rewriter.catalog.model.objects import Partition, Table


@dataclass(frozen=True)
class FoundFile:
    """A file found by listing: absolute path, size in bytes, and time of the last change, in nanoseconds."""

    path: str
    bytes: int
    modified: int


def expand(path: str) -> tuple[FoundFile, ...]:
    """Returns the files that ``path`` names: one file, all in a directory, or the files of a glob. Sorted by path.

    Names that begin with ``.`` or ``_`` are hidden, as in Spark. Relative paths start at the working directory.
    Raises ``OperationalError`` PATH_NOT_FOUND 42K03 where there is nothing, and for files that may not be read;
    ``NotSupportedError`` for a directory of partitions.
    """
    if is_uri(path) and not path.startswith("file:"):
        return _expand_uri(path)
    location = _local(path)
    roots = [location] if os.path.lexists(location) else sorted(glob.glob(location))
    files: list[FoundFile] = []
    for root in roots:
        if os.path.isdir(root):
            for data_file in visible_files(root) or ():
                _refuse_partitions(path, root, data_file.path)
                files.append(data_file)
        elif (file := _measured(root)) is not None:
            files.append(file)
    if not files:
        raise OperationalError(
            f"Path does not exist: {path}." if not roots else f"There is no data file in {path}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=path,
            hint=f"Name a file, a directory or a pattern; relative paths start at {os.getcwd()}.",
        )
    for data_file in files:
        if not os.access(data_file.path, os.R_OK):
            raise OperationalError(
                f"This user has no permission to read the file {data_file.path}.",
                condition="FAILED_READ_FILE",
                sqlstate="KD001",
                object=path,
                hint="Grant this user permission to read it.",
            )
    return tuple(files)


def external_files(table: Table, partitions: tuple[Partition, ...]) -> Iterator[tuple[Partition, FoundFile]]:
    """Yields the files of an external table's partitions, by listing their directories.

    For an unpartitioned table pass its one partition, whose values are ``()``. Raises ``OperationalError``
    PATH_NOT_FOUND 42K03 for a directory that does not exist, which is not an empty one, and FAILED_READ_FILE for a
    directory that may not be listed, and for a link that leads to no file, whose rows would be missing.
    """
    if is_uri(table.location):
        listings: Iterable[list[FoundFile]] = in_parallel(partial(_listed_files, table), partitions)
    else:
        listings = (_listed_files(table, partition) for partition in partitions)
    for partition, files in zip(partitions, listings, strict=True):
        for file in files:
            yield partition, file


def external_paths(table: Table, partitions: tuple[Partition, ...]) -> list[str]:
    """Returns the paths of the same files, including links that lead nowhere; none of a directory that does not exist.
    The files themselves are not opened or measured.
    """
    return [path for partition in partitions for path in _paths(directory(table, partition)) or ()]


def directory_not_found(table: Table, partition: Partition | None) -> OperationalError:
    """Returns the error of a partition, or of an external table without one, whose directory does not exist."""
    path = printable(table.location if partition is None else directory(table, partition))
    owner, repair = table.name, ""
    if partition is not None and partition.values:
        owner = f"the partition {partition_name(table.partition_columns, partition.values)} of {table.name}"
        repair = f" ALTER TABLE {table.name} DROP PARTITION (…) removes the partition."
    empty = f"put an empty object {path}/ there" if is_uri(path) else "create it"
    return OperationalError(
        f"The directory {path} of {owner} {_absence(table, path)}.",
        condition="PATH_NOT_FOUND",
        sqlstate="42K03",
        object=path,
        hint=f"Mount or restore it, or {empty} if it has no rows.{repair}",
    )


def _absence(table: Table, path: str) -> str:
    if is_uri(path):
        return "does not exist: the object store has no file below it, and no marker of an empty directory"
    if os.path.exists(path):
        return "is not a directory"
    if os.path.islink(path):
        return "does not exist: it is a broken symbolic link"
    if path.startswith(os.path.join(table.location, "")) and not os.path.isdir(table.location):
        return f"does not exist: the location {printable(table.location)} of the table is absent"
    return "does not exist"


def _listed_files(table: Table, partition: Partition) -> list[FoundFile]:
    while True:
        path = directory(table, partition)
        files = visible_files(path)
        # A directory that moves lies in one of two places: the listing is complete only if it stayed in one.
        if path == directory(table, partition):
            if files is None:
                raise directory_not_found(table, partition)
            return files


#: How often a directory is listed again if files vanish while they are measured.
_LISTINGS = 5


def visible_files(root: str) -> list[FoundFile] | None:
    """Returns the files below a directory, without hidden ones, sorted by path; ``None`` if there is no directory."""
    if is_uri(root):
        objects = _shown_objects(root)
        return None if objects is None else [FoundFile(*file) for file in objects]
    for _ in range(_LISTINGS):
        paths = _paths(root)
        if paths is None:
            return None
        measured = [_measured(path) for path in paths]
        files = [file for file in measured if file is not None]
        if len(files) == len(measured):
            return files
    return files


def _paths(root: str) -> list[str] | None:
    """Returns the sorted paths of the files below a directory, without hidden ones; ``None`` if there is no
    directory.
    """
    if is_uri(root):
        objects = _shown_objects(root)
        return None if objects is None else [file.path for file in objects]
    paths: list[str] = []
    unlisted: list[str] = []
    for folder, folders, names in os.walk(root, onerror=partial(_note_unlisted, unlisted)):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        paths += [os.path.join(folder, name) for name in names if not is_hidden(name)]
    return None if root in unlisted else sorted(paths)


def _shown_objects(root: str) -> list[StoredFile] | None:
    """Returns the files below a place in an object store, without hidden ones, sorted by path; ``None`` if it is
    no directory.
    """
    files = store_of(root).files_in(root)
    if files is None:
        return None
    return [file for file in files if not any(map(is_hidden, file.path[len(root) :].strip("/").split("/")))]


def _expand_uri(path: str) -> tuple[FoundFile, ...]:
    try:
        uri = normalize_uri(path)
    except ValueError as error:
        raise NotSupportedError(
            f"The path {shown(path)} is not supported: {error}.",
            object=shown(path),
            hint="Write s3://bucket/directory.",
        ) from None
    file = store_of(uri).find(uri)
    files = (FoundFile(*file),) if file is not None else tuple(visible_files(uri) or ())
    for data_file in files if file is None else ():
        _refuse_partitions(uri, uri, data_file.path)
    if not files:
        raise OperationalError(
            f"Path does not exist: {uri}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=uri,
            hint="Name a file, or a directory with files that are not hidden.",
        )
    return files


def _note_unlisted(unlisted: list[str], error: OSError) -> None:
    """Notes a directory that has vanished. Raises ``OperationalError`` for any other reason not to list one."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise _unreadable("directory", str(error.filename), error.strerror or "it cannot be listed") from error
    unlisted.append(str(error.filename))


def _measured(path: str) -> FoundFile | None:
    """Returns a file with its size; ``None`` where it has vanished since it was listed."""
    try:
        status = os.stat(path)
    except OSError as error:
        try:
            is_link = stat.S_ISLNK(os.lstat(path).st_mode)
        except FileNotFoundError:
            return None
        nowhere = is_link and error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
        reason = "it is a broken symbolic link" if nowhere else error.strerror or "its status is unknown"
        raise _unreadable("file", path, reason) from error
    if not stat.S_ISREG(status.st_mode):
        # Opening a pipe would wait for a writer.
        raise _unreadable("file", path, "it is not a regular file")
    return FoundFile(path, status.st_size, status.st_mtime_ns)


def _unreadable(kind: str, path: str, reason: str) -> OperationalError:
    path_text = printable(path)
    return OperationalError(
        f"The {kind} {path_text} cannot be read: {reason[:1].lower()}{reason[1:]}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=path_text,
        hint="Remove or repair it. Names that begin with . or _ are skipped.",
    )


def _local(path: str) -> str:
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path or "\0" in path:
        raise NotSupportedError(f"The path {path} is not local.", object=path, hint="Copy the files here first.")
    return os.path.abspath(path)


def _refuse_partitions(path: str, root: str, file: str) -> None:
    relative_path = os.path.relpath(os.path.dirname(file), root)
    if "=" in relative_path:
        pattern = os.path.join(path, *["*"] * len(relative_path.split(os.sep)), f"*{os.path.splitext(file)[1]}")
        raise NotSupportedError(
            f"The directory {path} holds partitions ({relative_path}), whose values are not in the files.",
            object=path,
            hint=f"Name the files by a pattern, such as {pattern}, which leaves these values out; or CREATE EXTERNAL "
            "TABLE … PARTITIONED BY … LOCATION, then MSCK REPAIR TABLE. CREATE CUBE … FROM takes the directory with "
            "EXTERNAL if all of these values are times.",
        )
