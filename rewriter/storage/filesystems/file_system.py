"""The protocol of file systems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class StoredFile(NamedTuple):
    """A file: its path, its size in bytes, and the time of its last change, in nanoseconds."""

    path: str
    bytes: int
    modified: int


class FileSystem(Protocol):
    """Files that are found by their paths, and never change once they are written.

    Errors are ``OperationalError``: FAILED_READ_FILE KD001 and FAILED_WRITE_FILE 58030, with the path.
    """

    def find(self, path: str) -> StoredFile | None:
        """Returns the file of a path; ``None`` if there is none. One access."""

    def has_files(self, path: str) -> bool:
        """Tests whether there is any file at or below a path."""

    def has_directory(self, path: str) -> bool:
        """Tests whether there is a directory: any file below a path, or the marker of an empty directory."""

    def files_below(self, path: str) -> list[StoredFile]:
        """Returns all files below a directory, sorted by path; none where there is no directory."""

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """Returns the names of a directory's entries, sorted, and whether each is a directory."""

    def open(self, path: str) -> pa.NativeFile:
        """Opens a file for reading at any position."""

    def upload(self, pairs: Sequence[tuple[str, str]], advance: Callable[[int], object] = lambda files: None) -> None:
        """Copies local files to paths here, several at once, and checks their sizes. ``advance`` is called with the
        number of further files, and may end the copying by an error.

        After an error, some of the files may exist.
        """

    def delete(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Deletes files, missing ones too, and returns those that could not be deleted, each with the reason."""

    def delete_below(self, path: str) -> None:
        """Deletes all files below a directory, as far as possible. Raises nothing."""
