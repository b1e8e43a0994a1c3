"""The directories of external tables and their partitions, and their moves with a commit.

A catalog's commit and the rename of a directory cannot be one step, so the commit records both paths: the partition
has its new name, and its data is in the old directory as long as it contains a marker, in the new one after that.
The marker, a hidden file, is made before the commit and moves with the directory. The note, a property of the
tables, is removed by a second commit. So every reader finds the data at any stage of the move, and the next
statement that changes one of the tables finishes the move.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from rewriter.catalog.keys.paths import default_directory
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.directory_changes import remove_file, sync_directory
from rewriter.errors import Error, IntegrityError, NotSupportedError, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Partition, Table

_MARKER = ".rewriter-moving-"


#: In bytes, on all common file systems.
_LONGEST_NAME = 255


@dataclass(frozen=True)
class DirectoryMoves:
    """Directories that move with one commit, each from an absolute path to another, and the name of their marker."""

    id: str
    path_pairs: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The name of the table property that records these moves."""
        return MOVING + self.id

    @property
    def text(self) -> str:
        """The value of that property."""
        return json.dumps(self.path_pairs, ensure_ascii=False)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The old directory of each new one."""
        return {target: source for source, target in self.path_pairs}

    def is_unmoved(self, source: str) -> bool:
        """Returns True if a directory has not moved yet."""
        return os.path.lexists(os.path.join(source, _MARKER + self.id))


def directory(table: Table, partition: Partition) -> str:
    """Returns the current directory of an external table's partition: its location, or the default below the table.

    While a directory moves, returns the one with the data, the old or the new one.
    """
    if partition.location is not None and partition.values:
        return partition.location
    # The one partition of an unpartitioned table has the location of the table, and moves with it.
    path = default_directory(table, partition.values) if partition.location is None else partition.location
    for moves in pending(table):
        for target, source in moves.sources.items():
            if _is_below(path, target) and moves.is_unmoved(source):
                return source + path[len(target) :]
    return path


def pending(table: Table) -> tuple[DirectoryMoves, ...]:
    """Returns the moves that a table's properties record. Ignores properties of another form."""
    notes = tuple((key, text) for key, text in table.properties.items() if key.startswith(MOVING))
    return _read(notes) if notes else ()


def prepare(path_pairs: Sequence[tuple[str, str]]) -> DirectoryMoves | None:
    """Marks the existing directories, so that they can move with a commit. Returns ``None`` if none exists.

    After an error, nothing is marked. Raises IntegrityError LOCATION_ALREADY_EXISTS 42710 if a target is not empty,
    ``NotSupportedError`` DIRECTORY_NOT_MOVABLE if a rename would not be one step, ``OperationalError`` with the same
    condition if a directory may not be read or written.
    """
    existing = check_movable(path_pairs)
    moves = DirectoryMoves(uuid.uuid4().hex, existing)
    try:
        for source, target in existing:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(os.path.join(source, _MARKER + moves.id), "x"):
                pass
            sync_directory(source)
    except OSError as error:
        unmark(moves)
        raise _failed(source, target, error) from error
    return moves if existing else None


def check_movable(path_pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Returns the pairs whose source exists. Raises the errors of ``prepare``, and marks nothing."""
    for source, target in path_pairs:
        if is_uri(source) or is_uri(target):
            raise _not_movable(source, "nothing can be renamed in an object store")
    existing = tuple((source, target) for source, target in path_pairs if os.path.lexists(source))
    try:
        for source, target in path_pairs:
            _check_target(source, target)
        for source, target in existing:
            _check(source, target)
    except OSError as error:
        raise _failed(source, target, error) from error
    return existing


def carry_out(moves: DirectoryMoves) -> None:
    """Renames the directories that have not moved yet. Two processes may do so concurrently.

    Raises ``OperationalError`` DIRECTORY_MOVE_PENDING; a directory that could not be moved is read at its old path.
    """
    for source, target in moves.path_pairs:
        try:
            if moves.is_unmoved(source):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.rename(source, target)
                for path in (source, target):
                    sync_directory(os.path.dirname(path))
        except OSError as error:
            if not moves.is_unmoved(source):
                continue  # another process has moved it
            raise OperationalError(
                f"The directory {source} cannot be moved to {target}: {error.strerror}. Its partition "
                "has the new name, and is still read from the old directory.",
                condition="DIRECTORY_MOVE_PENDING",
                object=source,
                hint=f"Free space at {target}, or grant permission to write there: the next statement that "
                "changes the table moves the directory.",
            ) from error


def unmark(moves: DirectoryMoves) -> None:
    """Removes the markers from both directories."""
    for directory in (directory for path_pairs in moves.path_pairs for directory in path_pairs):
        with contextlib.suppress(OSError):
            remove_file(os.path.join(directory, _MARKER + moves.id), (os.path.dirname(directory),))


def check_unshared(path_pairs: Iterable[tuple[str, str]], readers: Iterable[tuple[str, str]]) -> None:
    """Raises ``NotSupportedError`` DIRECTORY_NOT_MOVABLE if a directory that is to move has another reader.

    ``readers`` are the readers, each with its directory: external tables, and partitions with a location of their own.
    """
    moved = [(source, os.path.realpath(source)) for source, _ in path_pairs]
    for reader, directory in readers if moved else ():
        for source, real in moved:
            if any(_is_below(directory, path) or _is_below(path, directory) for path in (source, real)):
                raise _not_movable(source, f"{reader} reads {directory}")


def _check_target(source: str, target: str) -> None:
    """Refuses a target that is not empty: its files would belong to the partition, even one without a directory."""
    if any(len(name.encode()) > _LONGEST_NAME for name in target.split(os.sep)):
        raise _not_movable(source, f"{target} is not a valid directory name")
    if os.path.lexists(target) and (os.path.islink(target) or not os.path.isdir(target) or os.listdir(target)):
        raise IntegrityError(
            f"The directory {target} already exists and is not empty.",
            condition="LOCATION_ALREADY_EXISTS",
            sqlstate="42710",
            object=target,
            hint="Check its content; register it with ADD PARTITION, or move it away.",
        )


def _check(source: str, target: str) -> None:
    reason: str | None = None
    ancestor = os.path.dirname(target)
    while not os.path.exists(ancestor) and ancestor != os.path.dirname(ancestor):
        ancestor = os.path.dirname(ancestor)
    if os.path.islink(source) or not os.path.isdir(source):
        reason = "it is not a separate directory"
    elif _is_below(os.path.realpath(target), os.path.realpath(source)):
        reason = f"{target} would be inside it"
    elif os.stat(source).st_dev != os.stat(ancestor).st_dev:
        reason = f"{target} is on another file system, and a copy is not atomic"
    elif not all(os.access(path, os.W_OK | os.X_OK) for path in (source, os.path.dirname(source), ancestor)):
        reason = "this user has no permission to write there"
    if reason is not None:
        raise _not_movable(source, reason)


def _not_movable(source: str, reason: str) -> NotSupportedError:
    return NotSupportedError(
        f"The directory {source} cannot be moved: {reason}.",
        condition="DIRECTORY_NOT_MOVABLE",
        object=source,
        hint="Copy it manually, then run ALTER TABLE … DROP PARTITION and ADD PARTITION … LOCATION.",
    )


def _is_below(path: str, ancestor: str) -> bool:
    """Returns True if an absolute path equals another one or is inside it."""
    return path == ancestor or path.startswith(ancestor.rstrip(os.sep) + os.sep)


def _failed(source: str, target: str, error: OSError) -> Error:
    return OperationalError(
        f"The directory {source} cannot be moved to {target}: {error.strerror}.",
        condition="DIRECTORY_NOT_MOVABLE",
        object=source,
        hint="Check that this user can write to both places.",
    )


@lru_cache(maxsize=64)
def _read(notes: tuple[tuple[str, str], ...]) -> tuple[DirectoryMoves, ...]:
    moves = []
    for key, text in notes:
        with contextlib.suppress(ValueError, TypeError):
            path_pairs = tuple((os.fspath(source), os.fspath(target)) for source, target in json.loads(text))
            moves.append(DirectoryMoves(key.removeprefix(MOVING), path_pairs))
    return tuple(moves)
