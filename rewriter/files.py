"""Files on disk as sessions see them: what a path names, and what a table's directories hold."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass

from rewriter.catalog.directories import directory as directory
from rewriter.catalog.models import Partition, Table
from rewriter.catalog.partition_paths import is_hidden
from rewriter.errors import NotSupportedError, OperationalError


@dataclass(frozen=True)
class FoundFile:
    """A file that listing found: absolute path and size in bytes."""

    path: str
    bytes: int


def expand(path: str) -> tuple[FoundFile, ...]:
    """The files that ``path`` names: one file, all in a directory, or those of a glob. Sorted by path.

    Names that begin with ``.`` or ``_`` are hidden, as in Spark. Relative paths start at the working directory.
    Raises ``OperationalError`` PATH_NOT_FOUND 42K03 where there is nothing, and for what may not be read;
    ``NotSupportedError`` for a directory of partitions.
    """
    location = _local(path)
    roots = [location] if os.path.exists(location) else sorted(glob.glob(location))
    found: list[FoundFile] = []
    for root in roots:
        if os.path.isdir(root):
            for one in _walk(root):
                _refuse_partitions(path, root, one.path)
                found.append(one)
        else:
            found.append(FoundFile(root, os.path.getsize(root)))
    if not found:
        raise OperationalError(
            f"Path does not exist: {path}." if not roots else f"There is no data file in {path}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=path,
            hint=f"Name a file, a directory or a pattern; relative paths start at {os.getcwd()}.",
        )
    for one in found:
        if not os.access(one.path, os.R_OK):
            raise OperationalError(
                f"The file {one.path} may not be read.",
                condition="FAILED_READ_FILE",
                sqlstate="KD001",
                object=path,
                hint="Give this user the right to read it.",
            )
    return tuple(found)


def external_files(table: Table, partitions: tuple[Partition, ...]) -> Iterator[tuple[Partition, FoundFile]]:
    """The files of an external table's partitions, by listing their directories; one that is not there holds nothing.

    For an unpartitioned table pass its one partition, whose values are ``()``.
    """
    for partition in partitions:
        for one in _listed(table, partition):
            yield partition, one


def _listed(table: Table, partition: Partition) -> list[FoundFile]:
    while True:
        place = directory(table, partition)
        found = _walk(place)
        # A directory that moves lies in one of two places: what was found is all only if it lay there all the time.
        if place == directory(table, partition):
            return found


def _walk(root: str) -> list[FoundFile]:
    found: list[FoundFile] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        for name in names:
            if not is_hidden(name):
                path = os.path.join(folder, name)
                found.append(FoundFile(path, os.path.getsize(path)))
    return sorted(found, key=lambda one: one.path)


def _local(path: str) -> str:
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    if "://" in path or "\0" in path:
        raise NotSupportedError(f"The path {path} is not local.", object=path, hint="Copy the files here first.")
    return os.path.abspath(path)


def _refuse_partitions(path: str, root: str, file: str) -> None:
    below = os.path.relpath(os.path.dirname(file), root)
    if "=" in below:
        raise NotSupportedError(
            f"The directory {path} holds partitions ({below}), whose values are not in the files.",
            object=path,
            hint="CREATE EXTERNAL TABLE … PARTITIONED BY … LOCATION, then ALTER TABLE … ADD PARTITION; "
            "or name one partition's directory.",
        )
