"""Where the partitions of external tables lie, and how their directories move with a commit.

A catalog's commit and the rename of a directory cannot be one step, so the commit says both: the partition has its new
name, and its data is in the old directory as long as a marker lies there, in the new one after that. The marker, a
hidden file, is made before the commit and moves with the directory; the note, a property of the tables, goes in a
second commit. So whoever reads finds the data, whatever was done of it, and whoever next names one of the tables in a
statement that writes brings the move to its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rewriter.catalog.models import Partition, PartitionValues, Table
from rewriter.catalog.partition_paths import partition_path
from rewriter.errors import Error, IntegrityError, NotSupportedError, OperationalError

#: What the properties that note a move begin with; each move has one of its own.
MOVING = "rewriter.moving."

_MARKER = ".rewriter-moving-"
#: In bytes, on every file system that we know.
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
        """What it says."""
        return json.dumps(self.places, ensure_ascii=False)

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """The old directory of each new one."""
        return {goal: source for source, goal in self.places}

    def is_left(self, source: str) -> bool:
        """Whether a directory has not moved yet."""
        return os.path.lexists(os.path.join(source, _MARKER + self.id))


def default_directory(table: Table, values: PartitionValues) -> str:
    """Where a partition of an external table lies that has no location of its own."""
    return os.path.join(table.location, partition_path(table, values))


def directory(table: Table, partition: Partition) -> str:
    """Where an external table's partition lies now: its own location, or the default one below the table's.

    While a directory moves, the one of both that holds the data.
    """
    if partition.location is not None:
        return partition.location
    place = default_directory(table, partition.values)
    for moves in pending(table):
        source = moves.sources.get(place)
        if source is not None and moves.is_left(source):
            return source
    return place


def pending(table: Table) -> tuple[DirectoryMoves, ...]:
    """The moves that a table notes. Notes that are none of ours are left alone."""
    noted = tuple((key, text) for key, text in table.properties.items() if key.startswith(MOVING))
    return _read(noted) if noted else ()


def prepare(places: Sequence[tuple[str, str]]) -> DirectoryMoves | None:
    """Marks the directories that are there, so that they can move with a commit; ``None`` where none is.

    Nothing is marked after an error. Raises IntegrityError LOCATION_ALREADY_EXISTS 42710 where a goal holds something,
    ``NotSupportedError`` DIRECTORY_NOT_MOVABLE where a rename would not be one step, ``OperationalError`` of the same
    condition for what may not be read or written.
    """
    there = tuple((source, goal) for source, goal in places if os.path.lexists(source))
    moves = DirectoryMoves(uuid.uuid4().hex, there)
    try:
        for source, goal in places:
            _check_goal(source, goal)
        for source, goal in there:
            _check(source, goal)
        for source, goal in there:
            os.makedirs(os.path.dirname(goal), exist_ok=True)
            with open(os.path.join(source, _MARKER + moves.id), "x"):
                pass
            _sync(source)
    except OSError as error:
        unmark(moves)
        raise _failed(source, goal, error) from error
    return moves if there else None


def carry_out(moves: DirectoryMoves) -> None:
    """Renames the directories that still lie where they were. Two may do it at once.

    Raises ``OperationalError`` DIRECTORY_MOVE_PENDING; what could not be moved is read where it is.
    """
    for source, goal in moves.places:
        try:
            if moves.is_left(source):
                os.makedirs(os.path.dirname(goal), exist_ok=True)
                os.rename(source, goal)
                for place in (source, goal):
                    _sync(os.path.dirname(place))
        except OSError as error:
            if not moves.is_left(source):
                continue  # another one has moved it
            raise OperationalError(
                f"The directory {source} cannot be moved to {goal}: {error.strerror}. Its partition, which has the "
                "new name, is read where it is.",
                condition="DIRECTORY_MOVE_PENDING",
                object=source,
                hint=f"Make room at {goal}, or the right to write there: the next statement that changes the table "
                "moves it.",
            ) from error


def unmark(moves: DirectoryMoves) -> None:
    """Takes the markers away, wherever they are."""
    for place in (place for places in moves.places for place in places):
        with contextlib.suppress(OSError):
            os.remove(os.path.join(place, _MARKER + moves.id))


def check_unshared(places: Iterable[tuple[str, str]], others: Iterable[tuple[str, str]]) -> None:
    """Raises ``NotSupportedError`` DIRECTORY_NOT_MOVABLE where somebody else reads a directory that is to move.

    ``others`` are who reads which directory: other external tables, and partitions with a location of their own.
    """
    moved = [(source, os.path.realpath(source)) for source, _ in places]
    for user, place in others if moved else ():
        for source, real in moved:
            if any(_is_below(place, one) or _is_below(one, place) for one in (source, real)):
                raise _not_movable(source, f"{user} reads {place}")


def _check_goal(source: str, goal: str) -> None:
    """What lies there would be taken for the partition's, whether it has a directory or none."""
    if any(len(name.encode()) > _LONGEST_NAME for name in goal.split(os.sep)):
        raise _not_movable(source, f"{goal} is no name that a directory can have")
    if os.path.lexists(goal) and (os.path.islink(goal) or not os.path.isdir(goal) or os.listdir(goal)):
        raise IntegrityError(
            f"The directory {goal} exists already, and is not empty.",
            condition="LOCATION_ALREADY_EXISTS",
            sqlstate="42710",
            object=goal,
            hint="Look what it holds; register it by ADD PARTITION, or move it away.",
        )


def _check(source: str, goal: str) -> None:
    reason: str | None = None
    above = os.path.dirname(goal)
    while not os.path.exists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if os.path.islink(source) or not os.path.isdir(source):
        reason = "it is no directory of its own"
    elif _is_below(os.path.realpath(goal), os.path.realpath(source)):
        reason = f"{goal} would lie within it"
    elif os.stat(source).st_dev != os.stat(above).st_dev:
        reason = f"{goal} is on another file system, and a copy is not atomic"
    elif not all(os.access(one, os.W_OK | os.X_OK) for one in (source, os.path.dirname(source), above)):
        reason = "this user may not write there"
    if reason is not None:
        raise _not_movable(source, reason)


def _not_movable(source: str, reason: str) -> NotSupportedError:
    return NotSupportedError(
        f"The directory {source} cannot be moved: {reason}.",
        condition="DIRECTORY_NOT_MOVABLE",
        object=source,
        hint="Copy it yourself, then ALTER TABLE … DROP PARTITION and ADD PARTITION … LOCATION.",
    )


def _is_below(place: str, above: str) -> bool:
    """Whether an absolute path is another one, or lies in it."""
    return place == above or place.startswith(above.rstrip(os.sep) + os.sep)


def _sync(folder: str) -> None:
    """What a directory names is on disk before the catalog relies on it, where the file system can promise that."""
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
        hint="See that both places may be written.",
    )


@lru_cache(maxsize=64)
def _read(noted: tuple[tuple[str, str], ...]) -> tuple[DirectoryMoves, ...]:
    found = []
    for key, text in noted:
        with contextlib.suppress(ValueError, TypeError):
            places = tuple((os.fspath(source), os.fspath(goal)) for source, goal in json.loads(text))
            found.append(DirectoryMoves(key.removeprefix(MOVING), places))
    return tuple(found)
