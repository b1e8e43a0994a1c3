"""What partitions there are on disk, below an external table: directories listed level by level.

Directories of one level are listed in parallel, and one whose values rule the filter out is not entered. Nothing that
is found stops the listing: what names no partition is answered as such, with the reason.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from rewriter.catalog import keys
from rewriter.catalog.models import Column, PartitionValues, Table
from rewriter.catalog.partition_paths import has_value_directories, is_hidden, level_text, level_value
from rewriter.catalog.scan_filters import AllOf, AnyOf, Computed, FieldsIn, NotOfNulls, ScanFilter
from rewriter.collector import paused
from rewriter.errors import DataError, OperationalError

_THREADS = 16
#: So many are listed before it is looked whether that is quick: ``_QUICK`` seconds each, and ``_PATIENCE`` for a pause.
_FEW, _QUICK, _PATIENCE = 8, 0.0005, 0.005
#: How many a thread takes at once, at most.
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
    """What lies among the partitions and is none: its absolute path, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Listing:
    """What was found, in order of paths. ``hidden`` are directories that were passed over, as absolute paths."""

    found: tuple[FoundDirectory, ...]
    strays: tuple[Stray, ...]
    hidden: tuple[str, ...]

    def by_key(self) -> dict[bytes, list[FoundDirectory]]:
        """The directories by the partition that they name, which should be one each."""
        groups: dict[bytes, list[FoundDirectory]] = {}
        for one in self.found:
            groups.setdefault(one.key, []).append(one)
        return groups


@dataclass(frozen=True)
class _Level:
    """A directory and what it says so far."""

    path: str
    values: PartitionValues
    fields: tuple[bytes, ...]


@dataclass
class _Walk:
    table: Table
    wanted: ScanFilter | None
    strays: list[Stray] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    #: By column and text: value and field. Values repeat from directory to directory.
    known: dict[tuple[int, str], tuple[str | None, bytes] | DataError] = field(default_factory=dict)

    def below(self, level: _Level, index: int, entries: Sequence[tuple[str, bool]]) -> Iterable[_Level]:
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
                    self.strays.append(Stray(path, self._no_level(index)))
                continue
            read = self._read(index, text)
            if isinstance(read, DataError):
                self.strays.append(Stray(path, printable(read.message)))
                continue
            value, encoded = read
            fields = (*level.fields, encoded)
            if self.wanted is None or may_hold(self.wanted, fields):
                yield _Level(path, (*level.values, value), fields)
        if files:
            names = ", ".join(files[:3]) + (", …" if len(files) > 3 else "")
            self.strays.append(
                Stray(level.path, printable(f"files above the partitions, which no query reads: {names}"))
            )

    def _read(self, index: int, text: str) -> tuple[str | None, bytes] | DataError:
        if (index, text) not in self.known:
            self.known[index, text] = _value(self.table.partition_columns[index], text)
        return self.known[index, text]

    def _no_level(self, index: int) -> str:
        name = self.table.partition_columns[index].name
        if has_value_directories(self.table):
            return f"the directory names a column, where the table declares values alone (of {name})"
        return f"the directory is not named {name}=…"


def list_directories(
    table: Table, wanted: ScanFilter | None = None, advance: Callable[[int], None] = lambda _: None
) -> Listing:
    """The directories of an external table's partitions, those that satisfy ``wanted``.

    One listing of a directory for each that is entered, the last level alone is not; ``advance`` is told of how many
    more. Where the table's location is not there, nothing is found. Raises ``OperationalError`` FAILED_READ_FILE for a
    directory that may not be read.
    """
    walk = _Walk(table, wanted)
    levels = [_Level(table.location, (), ())]
    for index in range(len(table.partition_columns)):
        listed = in_parallel(_entries, [level.path for level in levels], advance)
        with paused():
            levels = [
                below
                for level, entries in zip(levels, listed, strict=True)
                for below in walk.below(level, index, entries)
            ]
    head = keys.prefix(table.id)
    with paused():
        found = tuple(FoundDirectory(one.path, one.values, head + b"".join(one.fields)) for one in levels)
    return Listing(found, tuple(sorted(walk.strays, key=lambda one: one.path)), tuple(sorted(walk.hidden)))


def folders_in(path: str) -> list[str]:
    """The directories directly in one, hidden ones left out. Raises as ``list_directories`` does."""
    return [name for name, is_folder in _entries(path) if is_folder and not is_hidden(name)]


def is_directory(path: str) -> bool:
    """Whether there is a directory. Where nobody can tell it raises ``OperationalError`` FAILED_READ_FILE, and does not
    say no, as ``os.path.isdir`` would.
    """
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise _unreadable(path, error) from error


def in_parallel(
    run: Callable[[_In], _Out], items: Sequence[_In], advance: Callable[[int], None] = lambda _: None
) -> list[_Out]:
    """``run`` of each item, in their order. Where they turn out slow threads share the rest: waiting for a disk or a
    network is what they share, and what the system knows is listed sooner than handed over.

    ``advance`` is told of how many further items are done, by this thread.
    """
    found: list[_Out] = []
    began = time.perf_counter()
    while len(found) < len(items) and time.perf_counter() - began < _PATIENCE + _QUICK * len(found):
        some = items[len(found) : len(found) + _FEW]
        found += map(run, some)
        advance(len(some))
    rest = items[len(found) :]
    if not rest:
        return found
    size = min(_BATCH, -(-len(rest) // _THREADS))
    batches = [rest[start : start + size] for start in range(0, len(rest), size)]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="rewriter-listing") as pool:
        for batch in pool.map(lambda some: [run(item) for item in some], batches):
            found += batch
            advance(len(batch))
    return found


def may_hold(wanted: ScanFilter, fields: Sequence[bytes]) -> bool:
    """Whether a filter may be TRUE of a key that begins with these fields; exact where they are all there are.

    Filters are monotone in their predicates, so that one about a field that is not known yet counts as TRUE.
    """
    if isinstance(wanted, AllOf):
        return all(may_hold(part, fields) for part in wanted.parts)
    if isinstance(wanted, AnyOf):
        return any(may_hold(part, fields) for part in wanted.parts)
    if isinstance(wanted, FieldsIn):
        return max(wanted.indexes) >= len(fields) or wanted.holds(fields)
    if isinstance(wanted, Computed | NotOfNulls):
        return True
    return wanted.index >= len(fields) or wanted.holds(fields)


def printable(text: str) -> str:
    """A path as text that can be printed: bytes that are no UTF-8 are shown as such."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _value(column: Column, text: str) -> tuple[str | None, bytes] | DataError:
    try:
        value = level_value(column, text)
    except DataError as error:
        return error
    return value, keys.encode_value(column.type, value)


def _entries(path: str) -> list[tuple[str, bool]]:
    """Names in a directory, sorted, and whether each is a directory; none where it has just gone."""
    try:
        with os.scandir(path) as entries:
            return sorted((entry.name, entry.is_dir()) for entry in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: OSError) -> OperationalError:
    return OperationalError(
        f"The directory {printable(path)} cannot be read: {error.strerror}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=printable(path),
        hint="Give this user the right to read it, or leave it out by PARTITION (…).",
    )
