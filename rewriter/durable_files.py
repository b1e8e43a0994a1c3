"""Files that appear with their whole content, and directories whose entries are on the disk."""

from __future__ import annotations

import errno
import os
import uuid
from contextlib import suppress

#: The errors of file systems that cannot force a directory to disk, and of directories that this user may only write.
_UNSUPPORTED = frozenset({errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM})


def write_whole(path: str, text: str, *, replace: bool) -> bool:
    """Writes a file that appears with its whole content, which then is on the disk, in UTF-8.

    Returns False, and changes nothing, if the file exists and is not to be replaced. Raises ``OSError``. A process that
    is killed leaves the old file or the new one, and may leave a hidden file beside it.
    """
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".{name}-{uuid.uuid4().hex}")
    try:
        with open(unfinished, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(unfinished, path)
        else:
            try:
                os.link(unfinished, path)
            except FileExistsError:
                return False
    finally:
        with suppress(OSError):
            os.unlink(unfinished)
    sync_directory(folder)
    return True


def sync_directory(folder: str) -> None:
    """Forces the entries of a directory to disk, if its file system supports that. Raises ``OSError``."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
