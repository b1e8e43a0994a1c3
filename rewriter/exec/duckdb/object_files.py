"""Files of object stores for DuckDB: a file system of ``fsspec``, the interface that DuckDB takes.

DuckDB reads the footer of a Parquet file, and then the ranges that a query needs. No directory is listed: the paths are
known. A file of a managed table never changes, so that what is known of it is kept.
"""

from __future__ import annotations

import datetime as dt
import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rewriter.catalog.filesystems.object_files import repeated
from rewriter.catalog.filesystems.registry import Stores, current, store_of
from rewriter.catalog.filesystems.stored_reader import Version, file_changed, version_of
from rewriter.errors import InterfaceError, NotSupportedError
from rewriter.exec.file_groups import is_managed_path
from rewriter.uris import SCHEMES, is_uri, root_and_levels

if TYPE_CHECKING:
    import duckdb

    from rewriter.exec.engine import Relation

_MOST_KNOWN = 100_000
#: Not the first moment of 1970, which DuckDB takes for an unknown one.
_MOMENT = dt.datetime(1971, 1, 1, tzinfo=dt.UTC)


class ObjectFileSystems:
    """Makes object stores known to one database of DuckDB, when a query first reads from one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: Stores | None = None
        #: The paths of files that may change although they look like paths of a managed table.
        self._changing: set[str] = set()
        self._opened = _OpenedVersions()

    def register(self, connection: duckdb.DuckDBPyConnection, relations: Iterable[Relation]) -> None:
        """Lets DuckDB read the files of the relations.

        Raises ``NotSupportedError`` if fsspec is not installed, and ``InterfaceError`` FILESYSTEMS_DIFFER if sessions
        with other options share the engine.
        """
        relations = [relation for relation in relations if any(is_uri(file.path) for file in relation.files)]
        if not relations:
            return
        # An external table may be a copy of a managed one.
        changing = {file.path for relation in relations for file in relation.files if file.modified != -1}
        with self._lock:
            self._changing |= set(filter(is_managed_path, changing))
            if self._stores is None:
                connection.register_filesystem(_file_system(current(), self._changing, self._opened))
                self._stores = current()
            elif self._stores != current():
                raise InterfaceError(
                    "The engine reads object stores with the options of another session.",
                    condition="FILESYSTEMS_DIFFER",
                    object="filesystems",
                    hint="Give each session an engine of its own.",
                )

    @contextmanager
    def unchanged(self, relations: Iterable[Relation]) -> Iterator[None]:
        """Asks after the block for the versions of the files that DuckDB has opened in it, except the files of managed
        tables. A request for each.

        Raises ``OperationalError`` FAILED_READ_FILE for a file that another program has replaced meanwhile.
        """
        paths = {file.path for relation in relations for file in relation.files if file.modified != -1}
        paths = set(filter(is_uri, paths))
        if not paths:
            yield
            return
        with self._opened.since_now() as opened:
            try:
                yield
                self._require({path: versions for path, versions in opened().items() if path in paths})
            except BaseException:
                self._opened.distrust(paths)
                raise

    def _require(self, seen: Mapping[str, set[Version]]) -> None:
        by_bucket: dict[str, list[str]] = {}
        for path in seen:
            by_bucket.setdefault(root_and_levels(path)[0], []).append(path)
        for bucket_paths in by_bucket.values():
            for path, version in store_of(bucket_paths[0], self._stores).versions(bucket_paths).items():
                if seen[path] != {version}:
                    raise file_changed(path)


class _OpenedVersions:
    """The versions of the files that DuckDB opens, while there are queries that ask for them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries = 0
        self._moment = 0
        #: The moment when each version of a file was opened last.
        self._moments: dict[str, dict[Version, int]] = {}
        #: How often DuckDB may have kept content of another version than it has opened.
        self._distrusted: dict[str, int] = {}

    def note(self, path: str, version: Version) -> None:
        with self._lock:
            if self._queries:
                self._moment += 1
                self._moments.setdefault(path, {})[version] = self._moment

    def distrust(self, paths: Iterable[str]) -> None:
        """Makes DuckDB forget what it keeps of files, which may be of a version that is not the one it opened."""
        with self._lock:
            for path in paths:
                self._distrusted[path] = self._distrusted.get(path, 0) + 1

    def content_id(self, path: str, etag: bytes) -> bytes:
        """Returns a text that differs when the content does, or what DuckDB keeps of it is not trusted."""
        with self._lock:
            return etag + b"%d" % self._distrusted.get(path, 0)

    @contextmanager
    def since_now(self) -> Iterator[Callable[[], dict[str, set[Version]]]]:
        """Yields a function that returns the versions opened since the beginning of the block, by path."""
        with self._lock:
            self._queries += 1
            start = self._moment

        def opened() -> dict[str, set[Version]]:
            with self._lock:
                by_path = {
                    path: {version for version, moment in moments.items() if moment > start}
                    for path, moments in self._moments.items()
                }
            return {path: versions for path, versions in by_path.items() if versions}

        try:
            yield opened
        finally:
            with self._lock:
                self._queries -= 1
                if not self._queries:
                    self._moments.clear()


class _Handle:
    """An open file. Each thread has a position of its own, because DuckDB may use a file in several."""

    def __init__(self, path: str, stores: Stores, size: int | None = None) -> None:
        """Opens a file; one whose size is known is opened when it is first read, because many never are."""
        self._path, self._stores = path, stores
        self._lock = threading.Lock()
        self._file: Any = None
        self.size = self._opened().size() if size is None else size
        self._position = threading.local()

    def etag(self) -> bytes:
        """Returns a text that differs when the content does; a new one each time from a store that has none."""
        etag: bytes = self._opened().metadata().get("ETag") or os.urandom(16)
        return etag

    def version(self) -> Version:
        return version_of(self._opened())

    def _opened(self) -> Any:
        with self._lock:
            if self._file is None:
                self._file = store_of(self._path, self._stores).open(self._path)
            return self._file

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position.value = offset + (0, self.tell(), self.size)[whence]
        return self.tell()

    def tell(self) -> int:
        return int(getattr(self._position, "value", 0))

    def read(self, size: int = -1) -> bytes:
        """Reads bytes. Raises ``OSError`` where the store returns fewer than there are."""
        start = self.tell()
        wanted = max(self.size - start, 0) if size < 0 else max(min(size, self.size - start), 0)
        file = self._opened()

        def piece() -> bytes:
            content: bytes = file.read_at(wanted, start) if wanted else b""
            if len(content) != wanted:
                raise OSError(f"{self._path}: the store returned {len(content):,} bytes instead of {wanted:,}")
            return content

        content = repeated(piece)
        self._position.value = start + wanted
        return content

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _file_system(stores: Stores, changing: Collection[str], opened: _OpenedVersions) -> Any:
    try:
        import fsspec
    except ImportError as error:
        raise NotSupportedError(
            "DuckDB reads files of object stores through fsspec, which is not installed.",
            condition="MISSING_PACKAGE",
            object="fsspec",
            hint="Run pip install 'rewriter[s3]'.",
        ) from error

    def is_final(path: str) -> bool:
        return is_managed_path(path) and path not in changing

    class ObjectFileSystem(fsspec.AbstractFileSystem):  # type: ignore[misc]
        """Reads files by their full paths."""

        protocol = SCHEMES
        cachable = False

        def __init__(self) -> None:
            super().__init__()
            self._known_lock = threading.Lock()
            #: Size and moment of files, those used longest ago first.
            self._known: OrderedDict[str, tuple[int, dt.datetime]] = OrderedDict()

        def open(self, path: str, mode: str = "rb", **_: object) -> _Handle:
            if mode != "rb":
                raise OSError(f"{path} is only read")
            with self._known_lock:
                figures = self._known.get(path) if is_final(path) else None
            if figures is not None:
                return _Handle(path, stores, figures[0])
            handle = _Handle(path, stores)
            if not is_final(path):
                opened.note(path, handle.version())
            self._note(path, handle.size, opened.content_id(path, handle.etag()))
            return handle

        def info(self, path: str, **_: object) -> dict[str, object]:
            return {"name": path, "size": self._figures(path)[0], "type": "file"}

        def modified(self, path: str) -> dt.datetime:
            """Returns a moment that differs when the content does: DuckDB keeps content by it. The store's own moments
            are whole seconds.
            """
            return self._figures(path)[1]

        def glob(self, path: str, **_: object) -> list[str]:
            """Returns the path itself: characters of patterns are in brackets (``relations``)."""
            return [_unescaped(path)]

        def exists(self, path: str, **_: object) -> bool:
            return True

        def isfile(self, path: str) -> bool:
            return True

        def _figures(self, path: str) -> tuple[int, dt.datetime]:
            with self._known_lock:
                figures = self._known.get(path)
            if figures is None:
                self.open(path).close()
                with self._known_lock:
                    figures = self._known[path]
            return figures

        def _note(self, path: str, size: int, etag: bytes) -> None:
            moment = _MOMENT if is_final(path) else _MOMENT + dt.timedelta(seconds=zlib.crc32(etag) % 10**9)
            with self._known_lock:
                self._known[path] = size, moment
                self._known.move_to_end(path)
                while len(self._known) > _MOST_KNOWN:
                    self._known.popitem(last=False)

    return ObjectFileSystem()


def _unescaped(pattern: str) -> str:
    """Returns the path of a pattern in which only single characters are in brackets."""
    path, rest = "", pattern
    while "[" in rest:
        before, _, behind = rest.partition("[")
        path += before + behind[:1]
        rest = behind[2:]
    return path + rest
