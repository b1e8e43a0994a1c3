"""Opens files wherever they are, for readers that take a path or an open file."""

from __future__ import annotations

import io
import os
import shutil
from typing import IO, Any, TextIO

from rewriter.catalog.filesystems.registry import store_of
from rewriter.errors import OperationalError
from rewriter.uris import is_uri


def arrow_source(path: str) -> Any:
    """Returns what Arrow's readers take for a path: a local path itself, or a ``StoredReader``.

    Raises ``OperationalError`` FAILED_READ_FILE.
    """
    return store_of(path).open_reader(path) if is_uri(path) else path


def open_text(path: str, newline: str | None = None) -> TextIO:
    """Opens a text file in UTF-8, with or without a byte order mark, for reading from its beginning.

    Raises ``OSError`` for local files, ``OperationalError`` FAILED_READ_FILE for others.
    """
    if not is_uri(path):
        return open(path, encoding="utf-8-sig", newline=newline)
    return io.TextIOWrapper(store_of(path).open_stream(path), encoding="utf-8-sig", newline=newline)


def open_bytes(path: str) -> IO[bytes]:
    """Opens a file for reading bytes from its beginning. Raises as ``open_text`` does."""
    return store_of(path).open_stream(path) if is_uri(path) else open(path, "rb")


def stored_size(path: str) -> int:
    """Returns the bytes of a file. Raises ``OSError``, which has a reason as ``strerror``, where it cannot be read."""
    if not is_uri(path):
        return os.stat(path).st_size
    try:
        file = store_of(path).find(path)
    except OperationalError as error:
        raise OSError(None, error.message, path) from error
    if file is None:
        raise FileNotFoundError(None, "No such file", path)
    return file.bytes


def fetch_file(path: str, target: str) -> None:
    """Copies a file to a local path. Raises ``OSError``, and ``OperationalError`` FAILED_READ_FILE, also for a file of
    an object store that is changed meanwhile.
    """
    if not is_uri(path):
        shutil.copyfile(path, target)
        return
    with store_of(path).open_stream(path) as source, open(target, "wb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
