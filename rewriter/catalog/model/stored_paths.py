"""Paths as the catalog stores them: relative inside the warehouse, absolute elsewhere.

So a warehouse may be moved, mounted elsewhere or reached through a link, and a copy of one never names the files of
its original. In memory all paths are absolute, below the name of the directory when the warehouse was opened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from rewriter.data_formats import REFUSED_FORMATS, SOURCE_FORMATS
from rewriter.errors import OperationalError
from rewriter.uris import ancestors, is_uri

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table

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


def loaded_path(path: str, warehouse: str) -> str:
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
    """Returns ``loaded_path`` for one warehouse."""
    return lambda path: loaded_path(path, warehouse)


def _is_same(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


# Paths without links, ``.``, ``..`` and repeated slashes, and the nesting of many of them.

_Value = TypeVar("_Value")


class RealPaths:
    """Caches ``os.path.realpath`` for many paths, most of which are in a few directories: one access to the disk for
    each path, and the accesses of ``realpath`` for each directory.
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


# The directories below which files of a table are removed, and new ones made, without following a link.


def roots_of(table: Table, warehouse: Path) -> tuple[str, ...]:
    """Returns the roots of ``directory_changes`` for a table: named paths, which may be links or lie behind one.

    For a managed table it is the warehouse, or the LOCATION of its database; for an external one its own LOCATION.
    """
    if table.external:
        return (table.location,)
    root = str(warehouse.absolute())
    return (root if table.location.startswith(os.path.join(root, "")) else os.path.dirname(table.location),)


def link_not_followed(link: str, table: Table) -> OperationalError:
    """Returns the error for a link in the path that a statement writes or removes."""
    return OperationalError(
        f"{link} is a symbolic link, and files of {table.name} are written and removed without following links.",
        condition="LINK_NOT_FOLLOWED",
        object=link,
        hint="Replace the link with the directory. To keep data elsewhere, name that location: CREATE "
        "DATABASE … LOCATION, "
        "CREATE EXTERNAL TABLE … LOCATION, ALTER TABLE … ADD PARTITION … LOCATION.",
    )


# Names that are paths of files. A query reads files as format.`path`, not by their path alone.

#: How each hint about files begins.
READ_FILES = "A query reads files by their format: "


def files_hint(name: str) -> str | None:
    """Returns the hint for a name that no object has, if it looks like a path of files; otherwise ``None``.

    >>> files_hint("logs/day.csv")
    'A query reads files by their format: FROM csv.`logs/day.csv`.'
    >>> files_hint("logs/day")
    'A query reads files by their format: FROM parquet.`logs/day`.'
    >>> files_hint("day") is None
    True
    """
    format, _, path = name.partition(".")
    refused = REFUSED_FORMATS.get(format.lower())
    if refused is not None and refused.is_source and path:
        return f"{READ_FILES}{', '.join(SOURCE_FORMATS)}. Files of {format} cannot be read."
    ending = name.rpartition(".")[2].lower()
    if "/" not in name and ending not in SOURCE_FORMATS:
        return None
    return f"{READ_FILES}FROM {ending if ending in SOURCE_FORMATS else 'parquet'}.`{name}`."


def path_of(name: str) -> str | None:
    """Returns the path of a name that is format.path, as in parquet.events; otherwise ``None``.

    >>> path_of("parquet.logs/2024"), path_of("sales.days")
    ('logs/2024', None)
    """
    format, _, path = name.partition(".")
    return path if path and format.lower() in SOURCE_FORMATS else None
