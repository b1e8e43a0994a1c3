"""Directories that live as long as their process: spill files of engines, their working files beside a query, and
private copies of catalogs.

Each directory is locked (``flock``) while its process lives, and the kernel releases the locks of dead processes, so a
reused process id is harmless. When a process makes its first directory, it removes the directories of killed processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
import weakref

PREFIX = "rewriter-scratch-"

_lock = threading.Lock()
#: The directories in which this process has looked for leftovers of dead processes.
_swept: set[str] = set()


class ScratchDirectory:
    """A new directory below the system's temporary directory, readable only by its user.

    It is removed by ``remove``, at the end of a ``with`` block, which gets its path, by the garbage collector, or when
    the process ends. If the process is killed, the next process of the same user that makes one removes it. Raises
    ``OSError`` if none can be made.
    """

    def __init__(self, kind: str) -> None:
        root = tempfile.gettempdir()
        with _lock:
            if root not in _swept:
                _swept.add(root)
                remove_dead(root)
        self.path, descriptor = _locked_directory(f"{PREFIX}{kind}-", root)
        self._finalizer = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *error: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Removes the directory and its contents. Idempotent."""
        self._finalizer()


def remove_dead(root: str) -> None:
    """Removes the directories of this user in ``root`` whose process is dead. Follows no links; never fails."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    _remove_if_dead(entry.path)


def _locked_directory(prefix: str, root: str) -> tuple[str, int]:
    while True:
        path = tempfile.mkdtemp(prefix=prefix, dir=root)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        with contextlib.suppress(OSError):  # A file system without locks: other processes cannot lock it, either.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Between the two calls, a starting process may have taken it for the directory of a dead process.
        if _is_at(descriptor, path):
            return path, descriptor
        os.close(descriptor)


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove_if_dead(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid != os.getuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(descriptor, path):
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)


def _remove(path: str, descriptor: int, owner: int) -> None:
    # A forked child shares the lock and ends before its parent, but the directory is not the child's.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(descriptor)
