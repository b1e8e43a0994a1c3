"""Files on this machine's disks, with the interface of object stores: for work that goes from one to the other.

No link is followed below the roots (``rewriter.safe_removal``). A file appears with its whole content: it is written
under a hidden name beside its place, and renamed.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rewriter.cancellation import check_cancellation
from rewriter.errors import OperationalError, disk_full, is_disk_full
from rewriter.safe_removal import discard_tree, make_directory, move_file, remove_file
from rewriter.storage.filesystems.file_system import StoredFile

if TYPE_CHECKING:
    import pyarrow as pa


class LocalFiles:
    """Implements ``FileSystem`` for absolute paths below the ``roots``, which may be links themselves."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = tuple(roots)

    def find(self, path: str) -> StoredFile | None:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise _failed("FAILED_READ_FILE", path, error) from error
        return StoredFile(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def has_files(self, path: str) -> bool:
        return self.find(path) is not None or bool(self.files_below(path))

    def has_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def files_below(self, path: str) -> list[StoredFile]:
        places = [os.path.join(folder, name) for folder, _, names in os.walk(path, onerror=_check) for name in names]
        found = [self.find(place) for place in places if not os.path.islink(place)]
        return sorted(file for file in found if file is not None)

    def entries(self, path: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(path) as entries:
                return sorted((entry.name, entry.is_dir()) for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _failed("FAILED_READ_FILE", path, error) from error

    def open(self, path: str) -> pa.NativeFile:
        import pyarrow as pa

        try:
            return pa.OSFile(path)
        except OSError as error:
            raise _failed("FAILED_READ_FILE", path, error) from error

    def open_stream(self, path: str) -> pa.NativeFile:
        return self.open(path)

    def upload(self, pairs: Sequence[tuple[str, str]], advance: Callable[[int], object] = lambda files: None) -> None:
        for source, path in pairs:
            check_cancellation()
            folder, name = os.path.split(path)
            unfinished = os.path.join(folder, f".{name[:100]}-{uuid.uuid4().hex}")
            try:
                make_directory(folder, self._roots, exist_ok=True)
                try:
                    shutil.copyfile(source, unfinished)
                    if os.path.getsize(unfinished) != os.path.getsize(source):
                        raise OSError(None, "The copy has another size", path)
                    move_file(unfinished, path, self._roots)
                finally:
                    with suppress(FileNotFoundError):
                        remove_file(unfinished, self._roots)
            except OSError as error:
                if is_disk_full(error):
                    raise disk_full(f"The file {path}", path) from error
                raise _failed("FAILED_WRITE_FILE", path, error) from error
            advance(1)

    def delete(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        failures = []
        for path in paths:
            try:
                remove_file(path, self._roots)
            except FileNotFoundError:
                continue
            except OSError as error:
                failures.append((path, error.strerror or str(error)))
        return failures

    def delete_below(self, path: str) -> None:
        discard_tree(path, self._roots)


def _check(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise _failed("FAILED_READ_FILE", str(error.filename), error) from error


def _failed(condition: str, path: str, error: OSError) -> OperationalError:
    is_read = condition == "FAILED_READ_FILE"
    reason = error.strerror or str(error)
    return OperationalError(
        f"{path} cannot be {'read' if is_read else 'written'}: {reason[:1].lower()}{reason[1:]}.",
        condition=condition,
        sqlstate="KD001" if is_read else "58030",
        object=path,
        hint="Check the permissions of this user, and the disk.",
    )
