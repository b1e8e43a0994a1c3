"""Paths as the catalog stores them: relative inside the warehouse, absolute elsewhere.

So a warehouse may be moved, mounted elsewhere or reached through a link, and a copy of one never names the files of
its original. In memory all paths are absolute, below the name of the directory when the warehouse was opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from rewriter.uris import is_uri

#: The prefix of the properties that note a move of directories; each move has a property of its own.
MOVING = "rewriter.moving."


def stored(path: str, warehouse: str) -> str:
    """Returns a path as it is stored. A relative path does not change. Does not access the disk.

    >>> stored("/data/w/t-1/write_id=1/a.parquet", "/data/w")
    't-1/write_id=1/a.parquet'
    >>> stored("/data/other/a.parquet", "/data/w")
    '/data/other/a.parquet'
    """
    return all_stored((path,), warehouse)[0]


def all_stored(paths: Iterable[str], warehouse: str) -> list[str]:
    """Returns many paths as they are stored, in their order."""
    if not warehouse:
        return list(paths)
    root = warehouse.rstrip(os.sep) + os.sep
    return [os.curdir if path == warehouse else path.removeprefix(root) for path in paths]


def loaded(path: str, warehouse: str) -> str:
    """Returns the absolute path of a stored one. A URI stays as it is."""
    if path.startswith(os.sep) or not warehouse or is_uri(path):
        return path
    return warehouse if path == os.curdir else f"{warehouse.rstrip(os.sep)}{os.sep}{path}"


def stored_location(path: str, warehouse: str) -> str:
    """Works like ``stored``, for a directory that a user named: another spelling of the warehouse (through a link, or
    another mount) is the warehouse, too. Accesses the disk a few times if the text alone is not enough.
    """
    near = stored(path, warehouse)
    if near != path or not warehouse or not path.startswith(os.sep):
        return near
    return stored(path, root_of(path, warehouse) or warehouse)


def root_of(path: str, warehouse: str) -> str | None:
    """Returns the part of an absolute path that is the warehouse directory in any spelling; ``None`` without one."""
    ancestor = path
    while ancestor != os.path.dirname(ancestor):
        if _is_same(ancestor, warehouse):
            return ancestor
        ancestor = os.path.dirname(ancestor)
    return None


def stored_location_in(warehouse: str) -> Callable[[str], str]:
    """Returns ``stored_location`` for one warehouse."""
    return lambda path: stored_location(path, warehouse)


def loaded_in(warehouse: str) -> Callable[[str], str]:
    """Returns ``loaded`` for one warehouse."""
    return lambda path: loaded(path, warehouse)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False
