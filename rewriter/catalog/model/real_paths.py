"""Paths without links, ``.``, ``..`` and repeated slashes, and the nesting of many of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from rewriter.uris import ancestors, is_uri

_Value = TypeVar("_Value")


class RealPaths:
    """Caches ``os.path.realpath`` for many paths, most of which are in a few directories: one access to the disk for
    each path, and those of ``realpath`` for each directory.
    """

    def __init__(self) -> None:
        self._directories: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Returns the real path of an absolute path. A path that does not exist keeps its name, and a URI is real."""
        if is_uri(path):
            return path.rstrip(os.sep)
        parent, name = os.path.split(path.rstrip(os.sep))
        if name in ("", os.curdir, os.pardir):
            return os.path.realpath(path)
        if parent not in self._directories:
            self._directories[parent] = os.path.realpath(parent or os.sep)
        joined = os.path.join(self._directories[parent], name)
        return os.path.realpath(joined) if os.path.islink(joined) else joined


def is_in(path: str, directory: str) -> bool:
    """Returns True if an absolute path equals another one or is inside it.

    >>> is_in("/a/b", "/a"), is_in("/a", "/a"), is_in("/ab", "/a")
    (True, True, False)
    """
    return path == directory or path.startswith(os.path.join(directory, ""))


class PathIndex(Generic[_Value]):
    """Values by real path, found by a path that equals, contains, or is inside theirs. A look-up costs the depth."""

    def __init__(self, items: Iterable[tuple[str, _Value]]) -> None:
        self._at: dict[str, list[_Value]] = {}
        self._below: dict[str, list[_Value]] = {}
        for path, value in items:
            self.add(path, value)

    def add(self, path: str, value: _Value) -> None:
        """Adds a value at a path. Costs the depth."""
        self._at.setdefault(path, []).append(value)
        for ancestor in _above(path):
            self._below.setdefault(ancestor, []).append(value)

    def overlapping(self, path: str) -> Iterator[_Value]:
        """Yields the values of the paths that equal this one, contain it, or are inside it."""
        for ancestor in (path, *_above(path)):
            yield from self._at.get(ancestor, ())
        yield from self._below.get(path, ())


def _above(path: str) -> Iterator[str]:
    """Yields the directories above one, the nearest first. A real path has no repeated slashes."""
    if is_uri(path):
        yield from ancestors(path)
        return
    end = path.rfind(os.sep)
    while end > 0:
        yield path[:end]
        end = path.rfind(os.sep, 0, end)
    if end == 0 and path != os.sep:
        yield os.sep
