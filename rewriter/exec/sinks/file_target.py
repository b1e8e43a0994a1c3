"""The place of the files of a write, and the protocol of sinks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

#: The texts of a partition's values; ``None`` is NULL.
Key = tuple["str | None", ...]
#: First row group, number of row groups, partitions of the file, bytes of the file, and position, as ``PackedPart`` has
#: them.
Place = tuple[int, int, int, int, "int | None"]
#: Path, key, rows, bytes, and the place of a part of a packed file.
WrittenEntry = tuple[str, Key, int, int, "Place | None"]


@dataclass(frozen=True)
class FileTarget:
    """The place and the form of the files of a write.

    ``levels`` are the names of the partition columns in a path, ``escapes`` maps characters to their replacements
    there, and ``null`` is the text for NULL. A file that reaches ``target_bytes`` is closed, and the rows of the
    partition that follow get another one.
    """

    directory: str
    format: str
    levels: tuple[str, ...]
    escapes: Mapping[str, str]
    null: str
    target_bytes: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def level_names(self, key: Key) -> list[str]:
        """Returns the names of the directories of a partition, as ``dt=2013-01-01``.

        Raises ``ValueError`` for a value that no directory can be named by.
        """
        names = []
        for level, value in zip(self.levels, key, strict=True):
            escaped = self.null if value is None else "".join([self.escapes.get(char, char) for char in value])
            name = f"{level}={escaped}"
            if len(name.encode("utf-8")) > 255:
                raise ValueError(
                    f"[PARTITION_VALUE_TOO_LONG] A value of the partition column {level} is too long "
                    f"for a directory name: {len(value or '')} characters."
                )
            if "\0" in name:
                raise ValueError(
                    f"[INVALID_PARTITION_VALUE] A value of the partition column {level} contains the "
                    "character NUL, which paths cannot contain."
                )
            names.append(name)
        return names

    def partition_directory(self, key: Key) -> str:
        """Returns the directory of a partition, as a path. Raises ``ValueError`` as ``level_names`` does."""
        return os.path.join(self.directory, *self.level_names(key))


@contextmanager
def named_in_errors(path: str) -> Iterator[None]:
    """Names a file that the block writes in errors of the disk: Arrow's have no path."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), path) from error


class PartitionSink(Protocol):
    """Takes rows of partitions and writes files.

    ``written`` lists the finished files.
    """

    @property
    def written(self) -> list[WrittenEntry]: ...

    def add(self, key: Key, rows: pa.RecordBatch) -> None:
        """Adds rows of one partition. Raises ``ValueError`` for values that files or directories cannot hold."""

    def close(self) -> None:
        """Finishes the open files."""

    def discard(self) -> None:
        """Closes the open files after a failure. They are not listed as written."""
