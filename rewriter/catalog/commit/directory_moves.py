"""The directories of the partitions of external tables, and their moves with a commit.

A catalog's commit and the rename of a directory cannot be one step, so the commit records both places: the partition
has its new name, and its data is in the old directory as long as a marker lies there, in the new one after that. The
marker, a hidden file, is made before the commit and moves with the directory. The note, a property of the tables, is
removed by a second commit. So every reader finds the data at any stage of the move, and the next statement that
changes one of the tables finishes the move.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rewriter.catalog.keys.paths import partition_path
from rewriter.catalog.model.objects import Partition, PartitionValues, Table
from rewriter.catalog.model.stored_paths import MOVING
from rewriter.errors import Error, IntegrityError, NotSupportedError, OperationalError
from rewriter.safe_removal import remove_file

_MARKER = ".rewriter-moving-"
#: In bytes, on all common file systems.
_LONGEST_NAME = 255


@dataclass(frozen=True)
class DirectoryMoves:
    """Directories that move with one commit, each from an absolute path to another, and the name of their marker."""

    id: str
    places: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """The property that notes them."""
        return MOVING + self.id

    @property
    def text(self) -> str:
        """The value of that property."""
        return json.dumps(self.places, ensure_ascii=False)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The old directory of each new one."""
        return {goal: source for source, goal in self.places}

    def is_left(self, source: str) -> bool:
        """Returns True if a directory has not moved yet."""
        return os.path.lexists(os.path.join(source, _MARKER + self.id))


def default_directory(table: Table, values: PartitionValues) -> str:
    """Returns the directory of an external table's partition that has no location of its own."""
    return os.path.join(table.location, partition_path(table, values))


def directory(table: Table, partition: Partition) -> str:
    """Returns the current directory of an external table's partition: its location, or the default below the table.

    While a directory moves, returns the old or the new one, whichever holds the data.
    """
    if partition.location is not None:
        return partition.location
    path = default_directory(table, partition.values)
    for moves in pending(table):
        source = moves.sources.get(path)
        if source is not None and moves.is_left(source):
            return source
    return path


def pending(table: Table) -> tuple[DirectoryMoves, ...]:
    """Returns the moves that a table notes. Ignores notes of another form."""
    noted = tuple((key, text) for key, text in table.properties.items() if key.startswith(MOVING))
    return _read(noted) if noted else ()


def prepare(places: Sequence[tuple[str, str]]) -> DirectoryMoves | None:
    """Marks the existing directories, so that they can move with a commit. Returns ``None`` if none exists.

    After an error, nothing is marked. Raises IntegrityError LOCATION_ALREADY_EXISTS 42710 if a goal is not empty,
    ``NotSupportedError`` DIRECTORY_NOT_MOVABLE if a rename would not be one step, ``OperationalError`` with the same
    condition if a directory may not be read or written.
    """
    existing = tuple((source, goal) for source, goal in places if os.path.lexists(source))
    moves = DirectoryMoves(uuid.uuid4().hex, existing)
    try:
        for source, goal in places:
            _check_goal(source, goal)
        for source, goal in existing:
            _check(source, goal)
        for source, goal in existing:
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            with open(os.path.join(source, _MARKER + moves.id), "x"):
                pass
            _sync(source)
    except OSError as error:
        unmark(moves)
        raise _failed(source, goal, error) from error
    return moves if existing else None


def carry_out(moves: DirectoryMoves) -> None:
    """Renames the directories that have not moved yet. Two processes may do so at once.

    Raises ``OperationalError`` DIRECTORY_MOVE_PENDING; a directory that could not be moved is read at its old place.
    """
    for source, goal in moves.places:
        try:
            if moves.is_left(source):
                os.makedirs(os.path.dirname(goal), exist_ok=True)
                os.rename(source, goal)
                for moved in (source, goal):
                    _sync(os.path.dirname(moved))
        except OSError as error:
            if not moves.is_left(source):
                continue  # another process has moved it
            raise OperationalError(
                f"The directory {source} cannot be moved to {goal}: {error.strerror}. Its partition "
                "has the new name, and is still read from the old directory.",
                condition="DIRECTORY_MOVE_PENDING",
                object=source,
                hint=f"Free space at {goal}, or grant permission to write there: the next statement that "
                "changes the table moves the directory.",
            ) from error


def unmark(moves: DirectoryMoves) -> None:
    """Removes the markers from both places."""
    for place in (place for places in moves.places for place in places):
        with contextlib.suppress(OSError):
            remove_file(os.path.join(place, _MARKER + moves.id), (os.path.dirname(place),))


def check_unshared(places: Iterable[tuple[str, str]], readers: Iterable[tuple[str, str]]) -> None:
    """Raises ``NotSupportedError`` DIRECTORY_NOT_MOVABLE if a directory that is to move has another reader.

    ``readers`` are the readers, each with its directory: external tables, and partitions with a location of their own.
    """
    moved = [(source, os.path.realpath(source)) for source, _ in places]
    for user, place in readers if moved else ():
        for source, real in moved:
            if any(_is_below(place, path) or _is_below(path, place) for path in (source, real)):
                raise _not_movable(source, f"{user} reads {place}")


def _check_goal(source: str, goal: str) -> None:
    """Refuses a goal that is not empty: its files would belong to the partition, even one without a directory."""
    if any(len(name.encode()) > _LONGEST_NAME for name in goal.split(os.sep)):
        raise _not_movable(source, f"{goal} is not a valid directory name")
    if os.path.lexists(goal) and (os.path.islink(goal) or not os.path.isdir(goal) or os.listdir(goal)):
        raise IntegrityError(
            f"The directory {goal} already exists and is not empty.",
            condition="LOCATION_ALREADY_EXISTS",
            sqlstate="42710",
            object=goal,
            hint="Check its content; register it with ADD PARTITION, or move it away.",
        )


def _check(source: str, goal: str) -> None:
    reason: str | None = None
    above = os.path.dirname(goal)
    while not os.path.exists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if os.path.islink(source) or not os.path.isdir(source):
        reason = "it is not a separate directory"
    elif _is_below(os.path.realpath(goal), os.path.realpath(source)):
        reason = f"{goal} would be inside it"
    elif os.stat(source).st_dev != os.stat(above).st_dev:
        reason = f"{goal} is on another file system, and a copy is not atomic"
    elif not all(os.access(path, os.W_OK | os.X_OK) for path in (source, os.path.dirname(source), above)):
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


def _is_below(path: str, above: str) -> bool:
    """Returns True if an absolute path equals another one or lies in it."""
    return path == above or path.startswith(above.rstrip(os.sep) + os.sep)


def _sync(folder: str) -> None:
    """Flushes the entries of a directory to disk before the catalog relies on them, if the file system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failed(source: str, goal: str, error: OSError) -> Error:
    return OperationalError(
        f"The directory {source} cannot be moved to {goal}: {error.strerror}.",
        condition="DIRECTORY_NOT_MOVABLE",
        object=source,
        hint="Check that this user can write to both places.",
    )


@lru_cache(maxsize=64)
def _read(noted: tuple[tuple[str, str], ...]) -> tuple[DirectoryMoves, ...]:
    moves = []
    for key, text in noted:
        with contextlib.suppress(ValueError, TypeError):
            places = tuple((os.fspath(source), os.fspath(goal)) for source, goal in json.loads(text))
            moves.append(DirectoryMoves(key.removeprefix(MOVING), places))
    return tuple(moves)
