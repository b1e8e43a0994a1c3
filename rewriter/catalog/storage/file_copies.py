"""Copies of data files between file systems, each compared with its original."""

from __future__ import annotations

import contextvars
import errno
import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from io import FileIO
from typing import Any

from rewriter.cancellation import Cancellation, cancellable, check_cancellation
from rewriter.catalog.filesystems.object_files import repeated
from rewriter.catalog.filesystems.reading import stored_size
from rewriter.catalog.filesystems.registry import store_of
from rewriter.directory_changes import make_directory
from rewriter.errors import Error, OperationalError, disk_full, is_disk_full
from rewriter.lazy_dataclass import dataclass
from rewriter.uris import is_uri, shown

_PIECE = 1 << 20
#: The bytes that are compared at once: both pieces stay in a processor's cache.
_COMPARED = 1 << 18
_THREADS = 4
#: The bytes of one call of the system.
_SYSTEM_PIECE = 64 << 20
#: Errors of systems and file systems that cannot copy by themselves. They are raised before the first byte is copied.
_NOT_IN_SYSTEM = frozenset({errno.EXDEV, errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})
#: How long copies that have begun are waited for after an error, in seconds.
_LAST_SECONDS = 5.0
#: Seconds between two looks whether the statement was canceled.
_PATIENCE = 0.2


@dataclass(frozen=True)
class FileCopy:
    """A file to copy: absolute paths or URIs, and the size that the original must have, in bytes."""

    source: str
    target: str
    bytes: int


def copy_files(copies: Sequence[FileCopy], roots: Sequence[str], advance: Callable[[int], None]) -> None:
    """Copies files, several at a time, and compares each copy with its original: byte by byte if both are local,
    otherwise by size and checksum. A target must not exist.

    ``roots`` are the roots of local targets (``directory_changes``); ``advance`` is called with the bytes of each
    file that is done. Raises ``OperationalError``: FAILED_READ_FILE, FAILED_WRITE_FILE, and COPY_DIFFERS for a copy
    that is not its original. What was written stays then. After an error, or when the statement is canceled, what has
    begun ends soon; a store that does not respond is waited for some seconds only. Reads each original once and each
    copy once.
    """
    stopping = Cancellation()

    def work(copy: FileCopy) -> None:
        with cancellable(stopping):
            _copied(copy, roots)

    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="rewriter-copy")
    # The configuration of object stores is this thread's statement's.
    jobs = [pool.submit(contextvars.copy_context().run, work, copy) for copy in copies]
    try:
        for copy, job in zip(copies, jobs, strict=True):
            while not job.done():
                check_cancellation()
                wait([job], timeout=_PATIENCE)
            job.result()
            advance(copy.bytes)
    finally:
        stopping.request()
        pool.shutdown(wait=False, cancel_futures=True)
        wait([job for job in jobs if not job.cancelled()], _LAST_SECONDS)


def is_same(source: str, target: str, size: int) -> bool:
    """Returns whether two files have the same content of this size. Reads both. A missing one is not the same.

    Raises ``OperationalError`` FAILED_READ_FILE.
    """
    for path in (source, target):
        try:
            if stored_size(path) != size:
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unreadable(path, error) from error
    if is_uri(source) or is_uri(target):
        return checksum(source) == checksum(target)
    return _has_same_bytes(source, target)


def _has_same_bytes(source: str, target: str) -> bool:
    """Compares two local files. Raises ``OperationalError`` FAILED_READ_FILE."""
    left, right = bytearray(_COMPARED), bytearray(_COMPARED)
    path = source
    try:
        with open(source, "rb", buffering=0) as first, open(target, "rb", buffering=0) as second:
            while True:
                check_cancellation()
                path = source
                count = first.readinto(left) or 0
                path = target
                if (second.readinto(right) or 0) != count or left != right:
                    return False
                if count < _COMPARED:
                    return count == 0 or not (first.read(1) or second.read(1))
    except OSError as error:
        raise _unreadable(path, error) from error


def checksum(path: str) -> int:
    """Returns the CRC-32 of a file. Raises ``OperationalError`` FAILED_READ_FILE."""

    def read() -> int:
        value = 0
        with _opened(path) as file:
            for piece in _pieces(file):
                value = zlib.crc32(piece, value)
        return value

    try:
        return repeated(read) if is_uri(path) else read()
    except OSError as error:
        raise _unreadable(path, error) from error


def _copied(copy: FileCopy, roots: Sequence[str]) -> None:
    is_local = not is_uri(copy.source) and not is_uri(copy.target)
    expected = _written(copy, roots)
    try:
        size = stored_size(copy.target)
    except OSError as error:
        raise _unreadable(copy.target, error) from error
    if size != copy.bytes:
        raise _differs(copy, f"it has {size:,} bytes, and the catalog says {copy.bytes:,}")
    if not (_has_same_bytes(copy.source, copy.target) if is_local else checksum(copy.target) == expected):
        raise _differs(copy, "its content is another")


def _written(copy: FileCopy, roots: Sequence[str]) -> int:
    """Writes a copy, and returns the checksum of the bytes that were read; 0 if both files are local."""
    with_retries = is_uri(copy.source) or is_uri(copy.target)
    try:
        if not is_uri(copy.target):
            make_directory(os.path.dirname(copy.target), roots, exist_ok=True)
        if not with_retries:
            _copied_by_system(copy)
            return 0
        return repeated(lambda: _streamed(copy))
    except _ReadError as error:
        raise _unreadable(copy.source, error) from error
    except OSError as error:
        raise _unwritable(copy.target, error) from error


def _streamed(copy: FileCopy) -> int:
    value = 0
    try:
        source = _opened(copy.source)
    except OSError as error:
        raise _ReadError(error.errno, error.strerror or str(error)) from error
    with source, _created(copy.target) as target:
        pieces = _pieces(source)
        while True:
            try:
                piece = next(pieces, b"")
            except OSError as error:
                raise _ReadError(error.errno, error.strerror or str(error)) from error
            if not piece:
                return value
            value = zlib.crc32(piece, value)
            target.write(piece)


def _copied_by_system(copy: FileCopy) -> None:
    """Copies a local file inside the system, where it can do that."""
    with _local_source(copy) as source, open(copy.target, "xb", buffering=0) as target:
        try:
            while os.copy_file_range(source.fileno(), target.fileno(), _SYSTEM_PIECE):
                check_cancellation()
        except OSError as error:
            if error.errno not in _NOT_IN_SYSTEM:
                raise
            shutil.copyfileobj(source, target, _PIECE)


def _local_source(copy: FileCopy) -> FileIO:
    try:
        return FileIO(copy.source)
    except OSError as error:
        raise _ReadError(error.errno, error.strerror or str(error)) from error


class _ReadError(OSError):
    """An error of the file that is copied, not of the copy."""


def _opened(path: str) -> Any:
    if not is_uri(path):
        return open(path, "rb")
    try:
        return store_of(path).open_stream(path)
    except Error as error:
        raise OSError(None, error.message, path) from error


def _created(path: str) -> Any:
    # A local file that a first attempt left is written again: the directory belongs to this transaction.
    return store_of(path).open_output(path) if is_uri(path) else open(path, "wb")


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        check_cancellation()
        yield piece


def _unreadable(path: str, error: OSError) -> OperationalError:
    return OperationalError(
        f"The file {shown(path)} cannot be read: {error.strerror or error}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=shown(path),
        hint="Check that the filesystem of the cluster can be reached, and that this user may read it.",
    )


def _unwritable(path: str, error: OSError) -> OperationalError:
    if is_disk_full(error):
        return disk_full(f"The file {path}")
    return OperationalError(
        f"The file {shown(path)} cannot be written: {error.strerror or error}.",
        condition="FAILED_WRITE_FILE",
        sqlstate="58030",
        object=shown(path),
        hint="Check that this user can write to the filesystem of the cluster, and that it has free space.",
    )


def _differs(copy: FileCopy, reason: str) -> OperationalError:
    return OperationalError(
        f"The copy {shown(copy.target)} differs from {shown(copy.source)}: {reason}.",
        condition="COPY_DIFFERS",
        object=shown(copy.target),
        hint="Nothing was registered. Check the files of the primary cluster, then run the statement again.",
    )
