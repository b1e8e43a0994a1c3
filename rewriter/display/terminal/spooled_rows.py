"""Rows of texts that are read after all of them are known, in bounded memory."""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Self, TypeVar

from rewriter.errors import disk_full, is_disk_full

#: So many bytes are held in memory. More go to a temporary file without a name, which no killed process leaves behind.
HELD_BYTES = 16 * 1024 * 1024

Text = TypeVar("Text", bound=str | list[str])


class SpooledRows(Generic[Text]):
    """Takes all rows at once. It can be iterated over several times, one after the other. Close it.

    Raises the errors of the rows, and ``OperationalError`` DISK_FULL.
    """

    def __init__(self, rows: Iterable[Text]) -> None:
        self._count = 0
        self._file: tempfile.SpooledTemporaryFile[bytes] = tempfile.SpooledTemporaryFile(HELD_BYTES)  # noqa: SIM115
        try:
            for row in rows:
                with _errors():
                    self._file.write(marshal.dumps(row))
                self._count += 1
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Text]:
        with _errors():
            self._file.seek(0)
        for _ in range(self._count):
            with _errors():
                row: Text = marshal.load(self._file)
            yield row


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The directory {tempfile.gettempdir()}") from error
        raise
