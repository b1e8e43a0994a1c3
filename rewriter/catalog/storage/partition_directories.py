"""Finds the partitions on disk below an external table: lists its directories level by level.

Directories of one level are listed in parallel, and one whose values the filter excludes is not entered. No finding
stops the listing: a directory that names no partition is reported, with the reason.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from rewriter.catalog.filesystems.registry import current, store_of, using
from rewriter.catalog.filters.predicates import AllOf, AnyOf, Computed, FieldsIn, NotOfNulls, ScanFilter
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.paths import has_value_directories, is_hidden, level_text, level_value
from rewriter.directory_changes import make_directory
from rewriter.errors import DataError, OperationalError
from rewriter.gc_pause import paused
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Column, PartitionValues, Table

_THREADS = 16
#: The number of directories listed before the speed is judged. Listing is quick at ``_QUICK`` seconds each, plus
#: ``_PATIENCE`` for a pause.
_FEW, _QUICK, _PATIENCE = 8, 0.0005, 0.005
#: The most directories that a thread takes at once.
_BATCH = 64

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class FoundDirectory:
    """A directory that names a partition: its absolute path, the canonical values, and the partition's key."""

    path: str
    values: PartitionValues
    key: bytes


@dataclass(frozen=True)
class Stray:
    """An entry among the partitions that is none: its absolute path, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """The result of a listing, in order of paths. ``hidden`` are directories that were skipped, as absolute paths."""

    directories: tuple[FoundDirectory, ...]
    stray_directories: tuple[Stray, ...]
    hidden: tuple[str, ...]

    def by_key(self) -> dict[bytes, list[FoundDirectory]]:
        """Returns the directories by the partition that they name, which should be one each."""
        groups: dict[bytes, list[FoundDirectory]] = {}
        for directory in self.directories:
            groups.setdefault(directory.key, []).append(directory)
        return groups


@dataclass(frozen=True)
class _Level:
    """A directory, and the values that its path gives so far."""

    path: str
    values: PartitionValues
    fields: tuple[bytes, ...]


@dataclass
class _Walk:
    table: Table
    scan_filter: ScanFilter | None
    stray_directories: list[Stray] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    #: Value and field by column and text. Values repeat from directory to directory.
    parsed_values: dict[tuple[int, str], tuple[str | None, bytes] | DataError] = field(default_factory=dict)

    def subdirectories(self, level: _Level, index: int, entries: Sequence[tuple[str, bool]]) -> Iterable[_Level]:
        files: list[str] = []
        stem = os.path.join(level.path, "")
        for name, is_folder in entries:
            path = stem + name
            text = level_text(self.table, index, name) if is_folder else None
            if text is None:
                if not is_folder and not is_hidden(name):
                    files.append(name)
                elif is_folder and is_hidden(name):
                    self.hidden.append(path)
                elif is_folder:
                    self.stray_directories.append(Stray(path, self._no_level(index)))
                continue
            parsed_value = self._read(index, text)
            if isinstance(parsed_value, DataError):
                self.stray_directories.append(Stray(path, printable(parsed_value.message)))
                continue
            value, encoded = parsed_value
            fields = (*level.fields, encoded)
            if self.scan_filter is None or _may_hold(self.scan_filter, fields):
                yield _Level(path, (*level.values, value), fields)
        if files:
            names = ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
            self.stray_directories.append(
                Stray(level.path, printable(f"files above the partitions, which queries do not read: {names}"))
            )

    def _read(self, index: int, text: str) -> tuple[str | None, bytes] | DataError:
        if (index, text) not in self.parsed_values:
            self.parsed_values[index, text] = _value(self.table.partition_columns[index], text)
        return self.parsed_values[index, text]

    def _no_level(self, index: int) -> str:
        name = self.table.partition_columns[index].name
        if has_value_directories(self.table):
            return f"the directory has a column name, but the table declares that names are values only (of {name})"
        return f"the directory is not named {name}=…"


def list_directories(
    table: Table, scan_filter: ScanFilter | None = None, advance: Callable[[int], None] = lambda _: None
) -> Listing:
    """Returns the directories of an external table's partitions that satisfy ``scan_filter``.

    Lists each directory that is entered once; only directories of the last level are not entered. ``advance`` is called
    with the number of further directories. Where the table's location does not exist, nothing is found. Raises
    ``OperationalError`` FAILED_READ_FILE for a directory that may not be read.
    """
    walk = _Walk(table, scan_filter)
    levels = [_Level(table.location, (), ())]
    for index in range(len(table.partition_columns)):
        entry_lists = in_parallel(_entries, [level.path for level in levels], advance)
        with paused():
            levels = [
                next_level
                for level, entries in zip(levels, entry_lists, strict=True)
                for next_level in walk.subdirectories(level, index, entries)
            ]
    head = encoding.prefix(table.id)
    with paused():
        directories = tuple(FoundDirectory(level.path, level.values, head + b"".join(level.fields)) for level in levels)
    return Listing(
        directories, tuple(sorted(walk.stray_directories, key=lambda stray: stray.path)), tuple(sorted(walk.hidden))
    )


def folders_in(path: str) -> list[str]:
    """Returns the names of a directory's subdirectories, without hidden ones. Raises as ``list_directories`` does."""
    return [name for name, is_folder in _entries(path) if is_folder and not is_hidden(name)]


def names_in(path: str) -> list[str]:
    """Returns all names in a directory, sorted. Raises as ``list_directories`` does."""
    return [name for name, _ in _entries(path)]


def is_directory(path: str) -> bool:
    """Returns whether there is a directory.

    In an object store, there is one if it holds a file or a marker. Raises ``OperationalError`` FAILED_READ_FILE where
    that cannot be determined; ``os.path.isdir`` would return false.
    """
    if is_uri(path):
        return store_of(path).has_directory(path)
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, error) from error


def unlisted_directories(paths: Sequence[str], advance: Callable[[int], None] = lambda _: None) -> set[str]:
    """Returns the given paths that are no directories, or may not be listed.

    Opens each local directory. In an object store, lists each directory above the paths once, by a request for each
    thousand of its entries. ``advance`` is called with the number of further listings. Raises ``OperationalError``
    FAILED_READ_FILE for a store that does not respond.
    """
    local_paths = [path for path in paths if not is_uri(path)]
    are_listed = in_parallel(_may_be_listed, local_paths, advance)
    unlisted = {path for path, is_listed in zip(local_paths, are_listed, strict=True) if not is_listed}
    names_by_parent: dict[str, list[str]] = {}
    for parent, name in (os.path.split(path) for path in paths if is_uri(path)):
        names_by_parent.setdefault(parent, []).append(name)
    entry_lists = in_parallel(_entries, list(names_by_parent), advance)
    for (parent, names), entries in zip(names_by_parent.items(), entry_lists, strict=True):
        folders = {name for name, is_folder in entries if is_folder}
        unlisted.update(os.path.join(parent, name) for name in names if name not in folders)
    return unlisted


def _may_be_listed(path: str) -> bool:
    try:
        os.scandir(path).close()
    except OSError:
        return False
    return True


def make_directories(table: Table, paths: Sequence[str]) -> None:
    """Makes directories of an external table's partitions, which may exist; in an object store, their markers.

    Raises ``OperationalError``: EXTERNAL_WRITE_FAILED for errors of the disk, and FAILED_WRITE_FILE for a store.
    """

    def make(path: str) -> None:
        if is_uri(path):
            store_of(path).make_directory(path)
        else:
            make_directory(path, (table.location, path), exist_ok=True)

    try:
        in_parallel(make, paths)
    except OSError as error:
        raise OperationalError(
            f"The external table {table.name} cannot be written: {error}.",
            condition="EXTERNAL_WRITE_FAILED",
            object=table.name,
            hint=f"Check the directory {table.location}.",
        ) from error


def in_parallel(
    run: Callable[[_In], _Out], items: Sequence[_In], advance: Callable[[int], None] = lambda _: None
) -> list[_Out]:
    """Returns the results of ``run`` for each item, in their order.

    If the first items turn out slow, threads share the rest. Threads pay off while waiting for a disk or a network;
    entries that the system has cached are listed faster by this thread. ``advance`` is called with the number of
    further items that are done, by this thread.
    """
    results: list[_Out] = []
    began = time.perf_counter()
    while len(results) < len(items) and time.perf_counter() - began < _PATIENCE + _QUICK * len(results):
        chunk = items[len(results) : len(results) + _FEW]
        results += map(run, chunk)
        advance(len(chunk))
    remaining = items[len(results) :]
    if not remaining:
        return results
    size = min(_BATCH, -(-len(remaining) // _THREADS))
    batches = [remaining[start : start + size] for start in range(0, len(remaining), size)]
    stores = current()

    def run_all(batch_items: Sequence[_In]) -> list[_Out]:
        with using(stores):
            return [run(item) for item in batch_items]

    with ThreadPoolExecutor(_THREADS, thread_name_prefix="rewriter-listing") as pool:
        for batch in pool.map(run_all, batches):
            results += batch
            advance(len(batch))
    return results


def _may_hold(scan_filter: ScanFilter, fields: Sequence[bytes]) -> bool:
    """Returns whether a filter may be TRUE of a key that begins with these fields; exact if they are all of its fields.

    Filters are monotone in their predicates, so a predicate about a field that is unknown so far counts as TRUE.
    """
    if isinstance(scan_filter, AllOf):
        return all(_may_hold(part, fields) for part in scan_filter.parts)
    if isinstance(scan_filter, AnyOf):
        return any(_may_hold(part, fields) for part in scan_filter.parts)
    if isinstance(scan_filter, FieldsIn):
        return max(scan_filter.indexes) >= len(fields) or scan_filter.holds(fields)
    if isinstance(scan_filter, Computed | NotOfNulls):
        return True
    return scan_filter.index >= len(fields) or scan_filter.holds(fields)


def printable(text: str) -> str:
    """Returns a path as printable text: bytes that are no UTF-8 become escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _value(column: Column, text: str) -> tuple[str | None, bytes] | DataError:
    try:
        value = level_value(column, text)
    except DataError as error:
        return error
    return value, encoding.encode_value(column.type, value)


def _entries(path: str) -> list[tuple[str, bool]]:
    """Returns the names in a directory, sorted, and whether each is a directory; none where it has just vanished."""
    if is_uri(path):
        return store_of(path).entries(path)
    try:
        with os.scandir(path) as entries:
            return sorted((entry.name, _is_folder(entry)) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(path, error) from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return False  # A link that leads to itself leads to no directory.


def _unreadable(path: str, error: OSError) -> OperationalError:
    return OperationalError(
        f"The directory {printable(path)} cannot be read: {error.strerror}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=printable(path),
        hint="Grant this user permission to read it, or exclude it with PARTITION (…).",
    )
