"""An open file of an object store, which is read to its end as it was at the beginning, or not at all."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from rewriter.cancellation import check_cancellation
from rewriter.errors import OperationalError

#: A text that differs when the content of a file does.
Version = tuple[bytes | None, ...]


def version_of(file: Any) -> Version:
    """Returns the version of an open file: what the store said when it was opened."""
    metadata = file.metadata()
    return tuple(metadata.get(name) for name in ("Content-Length", "ETag", "Last-Modified"))


def file_changed(path: str) -> OperationalError:
    """Returns the error of a file that another program has replaced."""
    return OperationalError(
        f"{path} cannot be read: it was changed while it was read.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=path,
        hint="Run the statement again when no program writes the file.",
    )


class StoredReader(io.RawIOBase):
    """Reads a file at any position; each read is a request.

    ``read_at`` returns bytes at a position, or raises ``OperationalError``. At the end of the file, the store is asked
    for its version again, and a file that was replaced raises FAILED_READ_FILE.
    """

    def __init__(
        self, path: str, size: int, version: Version, read_at: Callable[[int, int], bytes], ask: Callable[[], Version]
    ) -> None:
        super().__init__()
        self._path, self._size, self._version = path, size, version
        self._read_at, self._ask = read_at, ask
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def size(self) -> int:
        return self._size

    def require_unchanged(self) -> None:
        """Raises ``OperationalError`` FAILED_READ_FILE if the file is another than the one that was opened."""
        if self._ask() != self._version:
            raise file_changed(self._path)

    def read(self, size: int = -1) -> bytes:
        check_cancellation()
        rest = max(self._size - self._position, 0)
        wanted = rest if size < 0 else min(size, rest)
        content = self._read_at(self._position, wanted) if wanted else b""
        if len(content) != wanted:
            raise file_changed(self._path)
        self._position += wanted
        if size < 0 or (size and not wanted):
            self.require_unchanged()
        return content

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        content = self.read(len(view))
        view[: len(content)] = content
        return len(content)
