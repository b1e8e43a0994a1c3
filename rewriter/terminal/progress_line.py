"""The progress line of a statement on a terminal, which is cleared when the statement has ended."""

from __future__ import annotations

import os
from typing import TextIO

from rewriter.runtime.progress import Progress
from rewriter.terminal_text import printable

_CLEAR = "\r\x1b[2K"


class ProgressLine:
    """Writes progress over the previous line; ``clear`` removes it. Its stream is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False

    def __call__(self, progress: Progress) -> None:
        # The width of the stream, which may be another terminal than stdout is, or the only one.
        width = os.get_terminal_size(self._stream.fileno()).columns or 80
        self._stream.write(_CLEAR + printable(line(progress))[: width - 1])
        self._stream.flush()
        self._is_shown = True

    def clear(self) -> None:
        """Restores the terminal. Idempotent."""
        if self._is_shown:
            self._stream.write(_CLEAR)
            self._stream.flush()
            self._is_shown = False


def line(progress: Progress) -> str:
    """Returns a line as ``Writing: 1,234 files, 5.6 MB``, ``Checking: 300 of 10,000 directories``, ``Planning …``."""
    phase = progress.phase.capitalize()
    if not progress.unit or (not progress.done and not progress.total):
        return f"{phase} …"
    if not progress.done:
        return f"{phase} {progress.total:,} {progress.unit} …"
    total_text = f" of {progress.total:,}" if progress.total is not None else ""
    size = f", {_size(progress.bytes)}" if progress.bytes else ""
    return f"{phase}: {progress.done:,}{total_text} {progress.unit}{size}"


def _size(count: int) -> str:
    """Returns a readable number of bytes, such as ``5.6 MB``."""
    value, unit = float(count), "bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{count:,} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
