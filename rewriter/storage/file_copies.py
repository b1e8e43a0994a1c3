"""Copies of data files, each compared with its original."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from rewriter.cancellation import check_cancellation
from rewriter.errors import OperationalError, disk_full, is_disk_full
from rewriter.safe_removal import make_directory

_PIECE = 1 << 20
_THREADS = 4
#: Seconds between two looks whether the statement was canceled.
_PATIENCE = 0.2


@dataclass(frozen=True)
class FileCopy:
    """A file to copy: absolute paths, and the size that the original must have, in bytes."""

    source: str
    target: str
    bytes: int


def copy_files(copies: Sequence[FileCopy], roots: Sequence[str], advance: Callable[[int], None]) -> None:
    """Copies files, several at a time, and compares sizes and checksums. A target must not exist.

    ``roots`` are those of the targets (``rewriter.safe_removal``); ``advance`` is called with the bytes of each file
    that is done. Raises ``OperationalError``: FAILED_READ_FILE, FAILED_WRITE_FILE, and COPY_DIFFERS for a copy that is
    not its original. What was written stays then. Reads each original once and each copy once.
    """
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="rewriter-copy") as pool:
        jobs = [pool.submit(_copied, copy, roots) for copy in copies]
        try:
            for copy, job in zip(copies, jobs, strict=True):
                while not job.done():
                    check_cancellation()
                    wait([job], timeout=_PATIENCE)
                job.result()
                advance(copy.bytes)
        except BaseException:
            for job in jobs:
                job.cancel()
            raise


def is_same(source: str, target: str, size: int) -> bool:
    """Returns whether two files have the same content of this size. Reads both. A missing one is not the same.

    Raises ``OperationalError`` FAILED_READ_FILE.
    """
    for path in (source, target):
        try:
            if os.stat(path).st_size != size:
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unreadable(path, error) from error
    return checksum(source) == checksum(target)


def checksum(path: str) -> int:
    """Returns the CRC-32 of a file. Raises ``OperationalError`` FAILED_READ_FILE."""
    value = 0
    try:
        with open(path, "rb") as file:
            for piece in _pieces(file):
                value = zlib.crc32(piece, value)
    except OSError as error:
        raise _unreadable(path, error) from error
    return value


def _copied(copy: FileCopy, roots: Sequence[str]) -> None:
    expected = _written(copy, roots)
    size = os.path.getsize(copy.target)
    if size != copy.bytes:
        raise _differs(copy, f"it has {size:,} bytes, and the catalog says {copy.bytes:,}")
    if checksum(copy.target) != expected:
        raise _differs(copy, "its checksum is another")


def _written(copy: FileCopy, roots: Sequence[str]) -> int:
    """Writes a copy, and returns the checksum of the bytes that were read."""
    value = 0
    try:
        source = open(copy.source, "rb")  # noqa: SIM115
    except OSError as error:
        raise _unreadable(copy.source, error) from error
    try:
        with source:
            make_directory(os.path.dirname(copy.target), roots, exist_ok=True)
            with open(copy.target, "xb") as target:
                for piece in _pieces(source):
                    value = zlib.crc32(piece, value)
                    target.write(piece)
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The file {copy.target}") from error
        raise OperationalError(
            f"The file {copy.target} cannot be written: {error.strerror or error}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=copy.target,
            hint="Check that this user can write to the filesystem of the cluster, and that it has free space.",
        ) from error
    return value


def _pieces(file: object) -> Iterator[bytes]:
    while piece := file.read(_PIECE):  # type: ignore[attr-defined]
        yield piece


def _unreadable(path: str, error: OSError) -> OperationalError:
    return OperationalError(
        f"The file {path} cannot be read: {error.strerror or error}.",
        condition="FAILED_READ_FILE",
        sqlstate="KD001",
        object=path,
        hint="Check that the filesystem of the cluster can be reached, and that this user may read it.",
    )


def _differs(copy: FileCopy, reason: str) -> OperationalError:
    return OperationalError(
        f"The copy {copy.target} differs from {copy.source}: {reason}.",
        condition="COPY_DIFFERS",
        object=copy.target,
        hint="Nothing was registered. Check the files of the primary cluster, then run the statement again.",
    )
