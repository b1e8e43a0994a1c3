"""Changes of directories on this machine: removal that follows no link, and files that appear with their whole content.
Every removal from a warehouse goes through this module.

A path is given with its roots, the directories below which something may be removed. A root may be a link, or lie
behind one, because a user named it. Every directory below it is opened from the one above, by its handle. A
directory that is a link, or that is replaced by a link meanwhile, is an error. A link at the end of a path is
removed itself, and its target stays.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY


def remove_file(path: str, roots: Sequence[str]) -> None:
    """Removes a file, or a link itself.

    Raises ``OSError``: ELOOP where a directory of the path is a link, EPERM where the path lies below no root, and
    the errors of the system, such as ``FileNotFoundError``. Opens each directory of the path below its root once.
    """
    with _parent(path, roots) as (above, name):
        os.unlink(name, dir_fd=above)


def remove_tree(path: str, roots: Sequence[str]) -> None:
    """Removes a directory with all that is in it; links in it are removed themselves, as is a link in its place.

    Raises the errors of ``remove_file``; the rest of the directory is left then.
    """
    with _parent(path, roots) as (above, name):
        if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=above)
        else:
            os.unlink(name, dir_fd=above)


def discard_tree(path: str, roots: Sequence[str]) -> None:
    """Removes as much of a directory as possible, like ``remove_tree``, but raises nothing: VACUUM finds the rest."""
    with suppress(OSError), _parent(path, roots) as (above, name):
        if stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            shutil.rmtree(name, ignore_errors=True, dir_fd=above)
        else:
            os.unlink(name, dir_fd=above)


def remove_directory(path: str, roots: Sequence[str]) -> None:
    """Removes an empty directory. Raises the errors of ``remove_file``, and ``OSError`` for one that holds anything."""
    with _parent(path, roots) as (above, name):
        os.rmdir(name, dir_fd=above)


def remove_empty(path: str, roots: Sequence[str]) -> None:
    """Removes the directories at and below a path that hold nothing else, as far as possible. Raises nothing."""
    with suppress(OSError), _parent(path, roots) as (above, name):
        for _, folders, _, folder in os.fwalk(name, topdown=False, follow_symlinks=False, dir_fd=above):
            for below in folders:
                with suppress(OSError):
                    os.rmdir(below, dir_fd=folder)
        os.rmdir(name, dir_fd=above)


class Entry(NamedTuple):
    """A file or a link: its path, its own size in bytes, and whether it is a link."""

    path: str
    bytes: int
    is_link: bool


def files_below(path: str, roots: Sequence[str]) -> Iterator[Entry]:
    """Yields the files and links below a directory; a link in the directory's place is the only one.

    Yields nothing where the directory does not exist, or where its path leads over a link.
    """
    with suppress(OSError), _parent(path, roots) as (above, name):
        status = os.stat(name, dir_fd=above, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            yield Entry(path, status.st_size, stat.S_ISLNK(status.st_mode))
            return
        for folder, folders, names, handle in os.fwalk(name, follow_symlinks=False, dir_fd=above):
            place = os.path.join(os.path.dirname(path), folder)
            for entry_name in (*names, *folders):
                with suppress(FileNotFoundError):
                    entry = os.stat(entry_name, dir_fd=handle, follow_symlinks=False)
                    if not stat.S_ISDIR(entry.st_mode):
                        yield Entry(os.path.join(place, entry_name), entry.st_size, stat.S_ISLNK(entry.st_mode))


def make_directory(path: str, roots: Sequence[str], exist_ok: bool = False) -> None:
    """Makes a directory and those above it, the root included, without following a link.

    Raises the errors of ``remove_file``, ``FileExistsError`` for an existing directory unless ``exist_ok``, and
    always for anything else in its place.
    """
    root, levels = _split(path, roots)
    os.makedirs(root, exist_ok=True)
    handle = os.open(root, _DIRECTORY)
    try:
        for number, level in enumerate(levels, start=1):
            try:
                os.mkdir(level, dir_fd=handle)
            except FileExistsError:
                if number == len(levels) and not exist_ok:
                    raise
            handle = _below(handle, level, os.path.join(root, *levels[:number]))
    finally:
        os.close(handle)


def move_file(source: str, goal: str, roots: Sequence[str]) -> None:
    """Renames a file; neither path may lead over a link. Raises the errors of ``remove_file``."""
    with _parent(source, roots) as (old, name), _parent(goal, roots) as (new, goal_name):
        os.rename(name, goal_name, src_dir_fd=old, dst_dir_fd=new)


def link_in(path: str, roots: Sequence[str]) -> str | None:
    """Returns the first link on the way from a root to a path, the path included; ``None`` where there is none.

    Raises ``OSError`` EPERM where the path lies below no root.
    """
    root, levels = _split(path, roots)
    places = (os.path.join(root, *levels[:number]) for number in range(1, len(levels) + 1))
    return next((place for place in places if os.path.islink(place)), None)


@contextmanager
def _parent(path: str, roots: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the handle of the directory that holds the path's last component, and the name of that component."""
    root, levels = _split(path, roots)
    if not levels:
        raise OSError(errno.EPERM, f"{path} is named by a LOCATION, or the warehouse itself", path)
    handle = os.open(root, _DIRECTORY)
    try:
        for number, level in enumerate(levels[:-1], start=1):
            handle = _below(handle, level, os.path.join(root, *levels[:number]))
        yield handle, levels[-1]
    finally:
        os.close(handle)


def _below(above: int, level: str, place: str) -> int:
    """Returns the handle of a directory within an open one, which is closed unless an error is raised."""
    try:
        handle = os.open(level, _DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except OSError as error:
        # Some systems report ENOTDIR for a link in place of a directory.
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(level, above):
            raise OSError(errno.ELOOP, f"{place} is a symbolic link, which is not followed", place) from error
        raise
    os.close(above)
    return handle


def _is_link(name: str, above: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _split(path: str, roots: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the root of a path as the path spells it, and the names below it.

    The path may spell its root differently from ``roots``, by a link or another mount: the first directory on the
    way that is one of them is the root.
    """
    # Where a directory before ``..`` is a link, the path leads elsewhere than it seems.
    up = path.rfind(f"{os.sep}{os.pardir}{os.sep}")
    inside = (root_given for root_given in roots if path == root_given or path.startswith(os.path.join(root_given, "")))
    root = next((candidate for candidate in inside if len(candidate) > up), None) or _found_root(path, roots, up)
    levels = (
        [] if root is None else [level for level in path[len(root) :].split(os.sep) if level not in ("", os.curdir)]
    )
    if root is None or os.pardir in levels:
        raise OSError(errno.EPERM, f"{path} is outside {', '.join(roots)}", path)
    return root, levels


def _found_root(path: str, roots: Sequence[str], after: int) -> str | None:
    """Returns the first directory on the way to a path, longer than ``after``, that is one of the roots."""
    identities = set()
    for root in roots:
        with suppress(OSError):
            status = os.stat(root)
            identities.add((status.st_dev, status.st_ino))
    end = path.find(os.sep, max(after + 1, 1))
    while os.path.isabs(path) and end > 0:
        try:
            status = os.stat(path[:end])
        except OSError:
            return None
        if (status.st_dev, status.st_ino) in identities:
            return path[:end]
        end = path.find(os.sep, end + 1)
    return None


# Files that appear with their whole content, and directories whose entries are on the disk.

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
