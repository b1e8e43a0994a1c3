"""Checkpoints of streams that load the files of a directory: which files belong to which batch.

``rewriter-stream.json`` has the id of the checkpoint, the id of its stream, and its source. ``batches/00000000.json``
lists the files of a batch. It is written before the batch runs and never changed: a batch that runs again reads the
same files. Every file appears with its full content, and is forced to disk.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rewriter.catalog.storage.data_files import FoundFile
from rewriter.directory_changes import write_whole
from rewriter.errors import ConflictError, IntegrityError, OperationalError
from rewriter.lazy_dataclass import dataclass

_FORMAT = "rewriter stream of files 1"
_MARKER = "rewriter-stream.json"
_BATCHES = "batches"
#: A file that Spark makes in its checkpoints.
_OF_SPARK = "metadata"


@dataclass(frozen=True)
class FileCheckpoint:
    """The checkpoint in a directory. ``id`` is part of the identity of its batches."""

    directory: str
    id: str

    @staticmethod
    def is_in(directory: str) -> bool:
        """Returns whether a directory has a checkpoint."""
        return os.path.exists(os.path.join(directory, _MARKER))

    @classmethod
    def open(cls, directory: str, stream: str, source: str) -> FileCheckpoint:
        """Returns the checkpoint of a directory, and creates a missing one. ``source`` names the files.

        Raises ``IntegrityError`` CHECKPOINT_OF_ANOTHER_STREAM for one of another stream, source or of Spark, and
        ``OperationalError`` CHECKPOINT_FAILED for a directory that cannot be used.
        """
        marker = os.path.join(directory, _MARKER)
        try:
            os.makedirs(os.path.join(directory, _BATCHES), exist_ok=True)
            if os.path.lexists(os.path.join(directory, _OF_SPARK)):
                raise _of_another(directory, "a stream of Spark")
            if not os.path.exists(marker):
                content = {"format": _FORMAT, "id": uuid.uuid4().hex, "stream": stream, "source": source}
                write_whole(marker, json.dumps(content), replace=False)
            content = _read(marker)
        except OSError as error:
            raise _failed(directory, error) from error
        if content.get("format") != _FORMAT or not isinstance(content.get("id"), str):
            raise _damaged(marker)
        if content.get("stream") != stream:
            raise _of_another(directory, f"the stream {content.get('stream')}")
        if content.get("source") != source:
            raise _of_another(directory, str(content.get("source")))
        return cls(directory, content["id"])

    def batches(self) -> tuple[tuple[FoundFile, ...], ...]:
        """Returns the files of all planned batches, by number. Costs the reading of one small file for each batch.

        Raises ``OperationalError`` CHECKPOINT_DAMAGED if a batch is missing or not readable.
        """
        folder = os.path.join(self.directory, _BATCHES)
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
            batches = [_read(os.path.join(folder, name)) for name in names]
        except OSError as error:
            raise _failed(self.directory, error) from error
        if names != [_name(number) for number in range(len(names))]:
            raise _damaged(folder)
        try:
            return tuple(tuple([FoundFile(**file) for file in batch["files"]]) for batch in batches)
        except (KeyError, TypeError):
            raise _damaged(folder) from None

    def plan(self, number: int, files: Sequence[FoundFile]) -> None:
        """Writes the plan of a batch. Raises ``ConflictError`` STREAM_TAKEN_OVER if another process has planned it."""
        path = os.path.join(self.directory, _BATCHES, _name(number))
        try:
            if not write_whole(path, json.dumps({"files": [asdict(file) for file in files]}), replace=False):
                raise ConflictError(
                    f"Another process has planned batch {number} of the checkpoint {self.directory}.",
                    condition="STREAM_TAKEN_OVER",
                    object=self.directory,
                    hint="Nothing is lost: the other process goes on with the stream.",
                )
        except OSError as error:
            raise _failed(self.directory, error) from error


def _name(number: int) -> str:
    return f"{number:08d}.json"


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(content, dict):
        raise _damaged(path)
    return content


def _of_another(directory: str, source: str) -> IntegrityError:
    return IntegrityError(
        f"The checkpoint {directory} belongs to {source}.",
        condition="CHECKPOINT_OF_ANOTHER_STREAM",
        object=directory,
        hint="Name another directory, which need not exist.",
    )


def _damaged(path: str) -> OperationalError:
    return OperationalError(
        f"The checkpoint is damaged at {path}.",
        condition="CHECKPOINT_DAMAGED",
        object=path,
        hint="Restore it. Without it, files that were loaded are not known: another stream would load them again.",
    )


def _failed(directory: str, error: OSError) -> OperationalError:
    return OperationalError(
        f"The checkpoint {directory} cannot be used: {error.strerror or error}.",
        condition="CHECKPOINT_FAILED",
        object=directory,
        hint="Name a directory in which this user can write.",
    )
