"""Checks of the directory of a warehouse, and of the file system below it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from rewriter.doctor.check import Check, error, ok, skipped, warning

_MB = 1_000_000
#: The free bytes below which writes fail soon, and those below which they may.
_LEAST_BYTES, _FEW_BYTES = 200 * _MB, 2000 * _MB
_SLOW_SYNC_SECONDS = 5.0
#: Another process tries to write into a database while this one does.
_SECOND_WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    connection.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print("refused" if "locked" in str(error) else error)
else:
    print("admitted")
"""
_LOCAL_DISK = "Put the warehouse on a local disk, or its catalog into PostgreSQL (--catalog)."


class Space(NamedTuple):
    """The free and all bytes of a file system, and its free files; -1 files if it has no limit."""

    free: int
    total: int
    files: int


def space_of(path: str) -> Space:
    """Returns the space of the file system of a directory."""
    usage, status = shutil.disk_usage(path), os.statvfs(path)
    return Space(usage.free, usage.total, status.f_favail if status.f_files else -1)


def directory(warehouse: Path, space: Callable[[str], Space] = space_of) -> Iterator[Check]:
    """Checks that the directory can be read and written, how the file system behaves, and its free space.

    A directory that does not exist is not made.
    """
    if not warehouse.exists():
        yield _absent(warehouse)
        return
    if not warehouse.is_dir():
        yield error("Warehouse", f"{warehouse} is not a directory.", "Name the directory of the warehouse with -w.")
        return
    real = os.path.realpath(warehouse)
    place = str(warehouse) if real == str(warehouse) else f"{warehouse}, which leads to {real},"
    if not os.access(warehouse, os.R_OK | os.X_OK):
        yield error("Warehouse", f"{place} cannot be read by this user.", "Grant it read permission: chmod, or chown.")
        return
    problem = _written(warehouse)
    if problem is None:
        yield ok("Warehouse", f"{place} can be read and written.")
        yield from _behaviour(warehouse)
    else:
        advice = "Queries work. To change the warehouse, get write permission for the directory and all its files."
        yield warning("Warehouse", f"{place} can be read, and not written: {problem}.", advice)
        yield skipped("File system", "It is not tried, because the directory cannot be written.")
    yield _space(warehouse, space(str(warehouse)))


def _absent(warehouse: Path) -> Check:
    above = next((folder for folder in warehouse.parents if folder.exists()), None)
    if above is None or not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        advice = f"Name another directory with -w, or get write permission for {above}."
        return error("Warehouse", f"{warehouse} does not exist and cannot be created.", advice)
    return warning(
        "Warehouse",
        f"{warehouse} does not exist.",
        "The first CREATE makes it. For another warehouse, name it with -w.",
    )


def _written(folder: Path) -> str | None:
    """Returns why no file can be made in a directory; ``None`` if one can."""
    path = _temporary(folder)
    try:
        path.write_bytes(b"")
    except OSError as problem:
        return problem.strerror or str(problem)
    finally:
        _remove(path)
    return None


def _behaviour(folder: Path) -> Iterator[Check]:
    problems = [problem for problem in (synced(folder), renamed(folder)) if problem]
    if problems:
        yield error("File system", f"{' '.join(problems)}", _LOCAL_DISK)
    else:
        yield ok("File system", "A file reaches the disk, and replaces another one in one step.")
    if is_case_insensitive(folder):
        yield warning(
            "Names of files",
            "The file system takes A and a for one name.",
            "Do not use partition values that differ in case alone, or move the warehouse.",
        )
    locks = second_writer(folder)
    if locks == "refused":
        yield ok("Locks", "A second process is kept from writing while another one writes.")
    else:
        reason = "it is let in" if locks == "admitted" else locks
        detail = f"A second process is not kept from writing while another one writes: {reason}."
        yield error("Locks", detail, f"The catalog may be damaged. {_LOCAL_DISK}")


def synced(folder: Path) -> str | None:
    """Returns why a file does not reach the disk, or how slowly; ``None`` if it does."""
    path, started = _temporary(folder), time.monotonic()
    try:
        with path.open("wb") as file:
            file.write(b"rewriter")
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        return f"A file cannot be synced: {problem.strerror or problem}."
    finally:
        _remove(path)
    seconds = time.monotonic() - started
    return f"A file took {seconds:.1f} s to reach the disk." if seconds > _SLOW_SYNC_SECONDS else None


def renamed(folder: Path) -> str | None:
    """Returns why a file cannot replace another one in one step; ``None`` if it can."""
    old, new = _temporary(folder), _temporary(folder)
    try:
        old.write_bytes(b"old")
        new.write_bytes(b"new")
        os.replace(new, old)
        content = old.read_bytes()
    except OSError as problem:
        return f"A file cannot replace another one: {problem.strerror or problem}."
    finally:
        _remove(old)
        _remove(new)
    return None if content == b"new" else "A file that replaced another one has the old content."


def is_case_insensitive(folder: Path) -> bool:
    """Tests whether a name in another case is the same file."""
    path = _temporary(folder)
    try:
        path.write_bytes(b"")
        return path.with_name(path.name.upper()).exists()
    except OSError:
        return False
    finally:
        _remove(path)


def second_writer(folder: Path) -> str:
    """Returns ``refused`` where SQLite keeps another process from writing, ``admitted`` where it does not, or an error.

    Uses a temporary database in the directory, and starts a process.
    """
    path = _temporary(folder)
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE t (n)")
            connection.execute("BEGIN IMMEDIATE")
            command = [sys.executable, "-I", "-S", "-c", _SECOND_WRITER, str(path)]
            return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    except (sqlite3.Error, OSError, subprocess.SubprocessError) as problem:
        return str(problem)
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            _remove(Path(f"{path}{suffix}"))


def _space(folder: Path, space: Space) -> Check:
    detail = f"{space.free / 1e9:,.1f} GB of {space.total / 1e9:,.1f} GB are free."
    if space.files == 0:
        return error("Free space", "The file system has no room for another file.", "Remove files, or run VACUUM.")
    if space.free < _LEAST_BYTES:
        return error("Free space", detail, f"Free some of the disk of {folder}; VACUUM removes files without use.")
    if space.free < _FEW_BYTES:
        return warning("Free space", detail, "Large statements may fill the disk; VACUUM removes files without use.")
    return ok("Free space", detail)


def _temporary(folder: Path) -> Path:
    return folder / f".rewriter-doctor-{uuid.uuid4().hex}"


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
