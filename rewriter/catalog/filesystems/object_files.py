"""Files in an object store, through Arrow's client.

A file appears with its whole content or not at all. What fails for a moment, because the store refuses a request (503)
or a connection is cut, is repeated a few times, with growing pauses. A directory is the beginning of keys, and need not
be made.
"""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rewriter.cancellation import Cancellation, cancellable, check_cancellation
from rewriter.catalog.filesystems.stored_reader import StoredReader, Version, version_of
from rewriter.errors import OperationalError, is_disk_full
from rewriter.uris import bucket_and_key

if TYPE_CHECKING:
    import pyarrow as pa

_Result = TypeVar("_Result")

#: How many files are uploaded or deleted at once.
_THREADS = 8
#: How often a request is tried, and the first pause between two, in seconds, which doubles each time.
_ATTEMPTS, _PAUSE = 4, 0.2
_PIECE = 8 << 20
#: The bytes of a request of a stream.
_STREAM_PIECE = 1 << 20
#: Errors that do not pass, as Arrow's client spells them behind the name of the file.
_FINAL = re.compile(r"ACCESS_DENIED|NO_SUCH_|INVALID_|SIGNATURE|MALFORMED|HTTP status (400|401|403|404)|No credentials")
#: How long requests are waited for after an error, in seconds.
_LAST_SECONDS = 5.0
#: The time between two looks at whether the statement was canceled, in seconds.
_PATIENCE = 0.2


class StoredFile(NamedTuple):
    """A file: its path, its size in bytes, and the time of its last change, in nanoseconds, of whole seconds."""

    path: str
    bytes: int
    modified: int


class ObjectFiles:
    """The files of the buckets that one client reaches, by their URIs. For several threads.

    ``client`` is a ``pyarrow.fs.FileSystem`` of paths ``bucket/key``. Errors are ``OperationalError``: FAILED_READ_FILE
    KD001 and FAILED_WRITE_FILE 58030, with the path.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def find(self, path: str) -> StoredFile | None:
        """Returns the file of a path; ``None`` if there is none. One request, or two."""
        from pyarrow.fs import FileType

        info = _read(path, lambda: self._client.get_file_info(bucket_and_key(path)))
        return StoredFile(path, info.size, info.mtime_ns or 0) if info.type is FileType.File else None

    def has_files(self, path: str) -> bool:
        """Tests whether there is any file at or below a path."""
        from pyarrow.fs import FileType

        info = _read(path, lambda: self._client.get_file_info(bucket_and_key(path)))
        return info.type is not FileType.NotFound and (info.type is FileType.File or bool(self.files_below(path)))

    def has_directory(self, path: str) -> bool:
        """Tests whether there is a directory: any file below a path, or the marker of an empty directory."""
        from pyarrow.fs import FileType

        info = _read(path, lambda: self._client.get_file_info(bucket_and_key(path)))
        return bool(info.type is FileType.Directory)

    def files_below(self, path: str) -> list[StoredFile]:
        """Returns all files below a directory, sorted by path; none if there is no directory. A request for each
        thousand.
        """
        return _stored_files(self._listed(path, recursive=True))

    def files_in(self, path: str) -> list[StoredFile] | None:
        """Returns the same; ``None`` if there is no directory: neither a file below the path nor a marker. The same
        requests.

        Raises ``OperationalError`` FAILED_READ_FILE also for a bucket that does not exist.
        """
        try:
            return _stored_files(self._listed(path, recursive=True, is_required=True))
        except FileNotFoundError:
            return None

    def entries(self, path: str) -> list[tuple[str, bool]]:
        """Returns the names of a directory's entries, sorted, and whether each is a directory."""
        return sorted((info.base_name, not info.is_file) for _, info in self._listed(path, recursive=False))

    def _listed(self, path: str, recursive: bool, is_required: bool = False) -> list[tuple[str, Any]]:
        """Returns the entries of a directory. Raises ``FileNotFoundError`` for a required one that does not exist."""
        from pyarrow.fs import FileSelector

        scheme, _, place = path.partition("://")
        selector = FileSelector(place, allow_not_found=not is_required, recursive=recursive)
        try:
            infos = repeated(lambda: self._client.get_file_info(selector))
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _failed("FAILED_READ_FILE", path, error) from None
        return [(f"{scheme}://{info.path}", info) for info in infos]

    def open(self, path: str) -> pa.NativeFile:
        """Opens a file for reading at any position."""
        return _read(path, lambda: self._client.open_input_file(bucket_and_key(path)))

    def open_reader(self, path: str) -> StoredReader:
        """Opens a file as a Python file. Its reads are repeated as all requests are."""
        file = self.open(path)
        size = file.size()

        def read_at(start: int, wanted: int) -> bytes:
            def piece() -> bytes:
                content: bytes = file.read_at(wanted, start)
                if len(content) != wanted and self._version(path) == version:
                    raise OSError(f"the store returned {len(content):,} bytes instead of {wanted:,}")
                return content

            return _read(path, piece)

        version = version_of(file)
        return StoredReader(path, size, version, read_at, lambda: _read(path, lambda: self._version(path)))

    def open_stream(self, path: str) -> io.BufferedReader:
        """Opens a file for reading from its beginning, in pieces of a megabyte.

        A read raises ``OperationalError`` FAILED_READ_FILE, also at the end of a file that was changed meanwhile.
        """
        return io.BufferedReader(self.open_reader(path), _STREAM_PIECE)

    def versions(self, paths: Sequence[str]) -> dict[str, Version]:
        """Returns the version of each file, several requests at once. A missing one raises FAILED_READ_FILE."""
        return dict(_in_threads(lambda path: (path, _read(path, lambda: self._version(path))), paths))

    def _version(self, path: str) -> Version:
        with self._client.open_input_file(bucket_and_key(path)) as file:
            return version_of(file)

    def upload(self, pairs: Sequence[tuple[str, str]], advance: Callable[[int], object] = lambda files: None) -> None:
        """Copies local files to paths here, several at once, and checks their sizes. ``advance`` is called with the
        number of further files, and may end the copying by an error.

        After an error, some of the files may exist.
        """
        for _ in _in_threads(self._upload_file, pairs):
            advance(1)

    def _upload_file(self, pair: tuple[str, str]) -> None:
        source, path = pair
        try:
            repeated(lambda: self._put(source, bucket_and_key(path)))
        except OSError as error:
            raise _failed("FAILED_WRITE_FILE", path, error) from None

    def _put(self, source: str, place: str) -> None:
        import pyarrow as pa

        with pa.OSFile(source) as file, self._client.open_output_stream(place) as stream:
            size = file.size()
            for start in range(0, size, _PIECE):
                stream.write(file.read_buffer(min(_PIECE, size - start)))
        written = self._client.get_file_info(place).size or 0
        if written != size:
            raise OSError(f"the store has {written:,} bytes of {size:,}")

    def write(self, path: str, content: bytes) -> None:
        """Writes a small file, which may exist. Raises ``OperationalError`` FAILED_WRITE_FILE."""

        def put() -> None:
            with self._client.open_output_stream(bucket_and_key(path)) as stream:
                stream.write(content)

        try:
            repeated(put)
        except OSError as error:
            raise _failed("FAILED_WRITE_FILE", path, error) from None

    def make_directory(self, path: str) -> None:
        """Writes the markers of a directory and of those above it. Raises ``OperationalError`` FAILED_WRITE_FILE."""
        try:
            repeated(lambda: self._client.create_dir(bucket_and_key(path), recursive=True))
        except OSError as error:
            raise _failed("FAILED_WRITE_FILE", path, error) from None

    def open_output(self, path: str) -> pa.NativeFile:
        """Opens a file for writing. It appears when it is closed. Raises ``OSError``."""
        return self._client.open_output_stream(bucket_and_key(path))

    def delete(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Deletes files, missing ones too, and returns the files that could not be deleted, each with the reason."""
        failures: list[tuple[str, str]] = []

        def remove(path: str) -> tuple[str, str] | None:
            try:
                repeated(lambda: self._client.delete_file(bucket_and_key(path)))
            except FileNotFoundError:
                return None
            except OSError as error:
                return path, _reason(error)
            return None

        failures += [failure for failure in _in_threads(remove, list(paths)) if failure is not None]
        return failures

    def delete_below(self, path: str) -> None:
        """Deletes all files below a directory, as far as possible. Raises nothing."""
        with suppress(OSError):
            self._client.delete_dir(bucket_and_key(path))


def _stored_files(entries: Iterable[tuple[str, Any]]) -> list[StoredFile]:
    return sorted(StoredFile(path, info.size, info.mtime_ns or 0) for path, info in entries if info.is_file)


def _in_threads(run: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
    """Yields the results as they come. After an error, or when the statement is canceled, what has not begun is left.
    What has begun is not repeated, and is waited for, but not for long: a store may not respond.
    """
    if not items:
        return
    stopping = Cancellation()

    def work(item: Any) -> Any:
        with cancellable(stopping):
            return run(item)

    pool = ThreadPoolExecutor(min(_THREADS, len(items)), thread_name_prefix="rewriter-objects")
    pending = {pool.submit(work, item) for item in items}
    try:
        while pending:
            check_cancellation()
            done, pending = wait(pending, _PATIENCE, FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        stopping.request()
        pool.shutdown(wait=False, cancel_futures=True)
        wait([future for future in pending if not future.cancelled()], _LAST_SECONDS)


def repeated(run: Callable[[], _Result]) -> _Result:
    """Returns the result of a request, which is repeated after an error that may pass. Raises ``OSError``."""
    pause = _PAUSE
    for _ in range(_ATTEMPTS - 1):
        try:
            return run()
        except OSError as error:
            if not _may_pass(error):
                raise
            check_cancellation()
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause *= 2
    return run()


def _may_pass(error: OSError) -> bool:
    """Tests whether a request may succeed later. The name of the file, which may contain anything, does not matter."""
    reason = str(error).rpartition("AWS Error")[2] if "AWS Error" in str(error) else ""
    return not (isinstance(error, FileNotFoundError) or is_disk_full(error) or _FINAL.search(reason))


def _read(path: str, run: Callable[[], _Result]) -> _Result:
    try:
        return repeated(run)
    except OSError as error:
        raise _failed("FAILED_READ_FILE", path, error) from None


def _failed(condition: str, path: str, reason: object) -> OperationalError:
    is_read = condition == "FAILED_READ_FILE"
    verb = "read" if is_read else "written"
    return OperationalError(
        f"{path} cannot be {verb}: {_reason(reason)}.",
        condition=condition,
        sqlstate="KD001" if is_read else "58030",
        object=path,
        hint="Check that the store can be reached, and that the credentials of this process allow it: "
        '[filesystems."s3://bucket"] in rewriter.toml, or the variables AWS_*.',
    )


def _reason(error: object) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    lines = " ".join(str(error).split()) or type(error).__name__
    return (lines[:1].lower() + lines[1:])[:300].rstrip(".")
