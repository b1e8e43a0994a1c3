"""The progress line of a statement on a terminal, with a bar, which is cleared when the statement has ended."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from rewriter.cancellation import WAITING
from rewriter.lazy_dataclass import dataclass
from rewriter.terminal_text import printable, width

if TYPE_CHECKING:
    from rewriter.runtime.progress import Progress

#: The seconds of work before the line is shown, so that short statements do not flicker; and between two pictures.
DELAY_SECONDS, _TICK_SECONDS = 0.5, 0.25
_CLEAR = "\r\x1b[2K"
#: The most and the fewest cells of the bar.
_MOST_CELLS, _LEAST_CELLS = 24, 5
#: The cells of the block that moves where nobody knows how much is left, and its cells a second.
_BLOCK, _SPEED = 3, 4
_GAP = "  "


@dataclass(frozen=True)
class Glyphs:
    """The characters of a bar, and the one for text that is left out."""

    full: str
    empty: str
    ellipsis: str


BLOCKS, ASCII = Glyphs("█", "░", "…"), Glyphs("#", "-", "...")


class ProgressLine:
    """Writes progress over the previous line; ``clear`` removes it. Its stream is a terminal. Any thread may use it.

    The line appears when the work has taken half a second, and the time on it goes on between two reports. Between
    ``hide`` and ``show``, reports are ignored: a thread that reports late draws over nothing that others write.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._glyphs = glyphs_of(stream.encoding)
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._started_at = 0.0
        self._stopped = threading.Event()
        self._is_shown = self._is_hidden = False

    def __call__(self, progress: Progress) -> None:
        with self._lock:
            if self._is_hidden:
                return
            is_first = self._progress is None
            self._progress = progress
            if is_first:
                self._started_at, self._stopped = time.monotonic(), threading.Event()
                threading.Thread(
                    target=self._tick, args=(self._stopped,), name="rewriter-progress-line", daemon=True
                ).start()
            elif self._is_shown:
                self._draw(progress)

    def _tick(self, stopped: threading.Event) -> None:
        pause = DELAY_SECONDS
        while not stopped.wait(pause):
            with self._lock:
                if stopped.is_set() or self._progress is None:
                    return
                self._draw(self._progress)
            pause = _TICK_SECONDS

    def _draw(self, progress: Progress) -> None:
        with suppress(OSError, ValueError):  # The terminal is gone.
            # The width of the stream, which may be another terminal than stdout is, or the only one.
            columns = os.get_terminal_size(self._stream.fileno()).columns or 80
            elapsed = time.monotonic() - self._started_at
            # A full last column would make some terminals begin another line.
            self._stream.write(_CLEAR + line(progress, elapsed, columns - 1, self._glyphs))
            self._stream.flush()
            self._is_shown = True

    def show(self) -> None:
        """Lets the next report draw the line again. Idempotent."""
        with self._lock:
            self._is_hidden = False

    def hide(self) -> None:
        """Restores the terminal, until ``show``. Idempotent."""
        with self._lock:
            self._is_hidden = True
            self._clear()

    def clear(self) -> None:
        """Restores the terminal, until the next report. Idempotent."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        self._stopped.set()
        self._progress = None
        if self._is_shown:
            self._is_shown = False
            with suppress(OSError, ValueError):
                self._stream.write(_CLEAR)
                self._stream.flush()


def glyphs_of(encoding: str | None) -> Glyphs:
    """Returns the characters that a stream of this encoding can write."""
    try:
        "".join((BLOCKS.full, BLOCKS.empty, BLOCKS.ellipsis)).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return BLOCKS


def line(progress: Progress, seconds: float = 0.0, columns: int = 79, glyphs: Glyphs = BLOCKS) -> str:
    """Returns the line of some progress after some time, at most ``columns`` wide.

    Where there is room: ``Running  ███████░░░░░░  54%  27 of 50 tasks  0:12``. On narrow terminals the bar gets
    shorter, and then it, the numbers and the end of the name are left out, in this order.
    """
    label, amount, elapsed = printable(" ".join(_label(progress).split())), _amount(progress), _elapsed(seconds)
    share = progress.share
    percent = "" if share is None else f"{int(share * 100):3d}%"
    for parts in ((label, "", percent, amount, elapsed), (label, percent, amount, elapsed), (label, percent, elapsed)):
        room = columns - sum(width(part) + len(_GAP) for part in parts if part)
        if parts[1]:
            if room + len(_GAP) >= 0:
                return _joined(*parts)
        elif share is None and progress.phase == WAITING:
            if room + len(_GAP) >= 0:  # Nothing moves.
                return _joined(label, elapsed)
        elif room >= _LEAST_CELLS:
            return _joined(label, _bar(share, seconds, min(room, _MOST_CELLS), glyphs), *parts[2:])
        elif not percent and room + len(_GAP) >= 0:
            return _joined(*parts)
    return _joined(_shortened(label, columns - len(elapsed) - len(_GAP), glyphs.ellipsis), elapsed)[: max(columns, 0)]


def _label(progress: Progress) -> str:
    """Returns the phase and its subject: ``Refreshing days of visits``, ``Waiting for another writer``."""
    link = " for " if progress.phase == WAITING else " "
    return progress.phase.capitalize() + (f"{link}{progress.subject}" if progress.subject else "")


def _amount(progress: Progress) -> str:
    """Returns what is counted: ``27 of 50 tasks``, ``1,234 files, 5.6 MB``. The percentage has its own place."""
    if not progress.unit or progress.unit == "percent" or (not progress.done and not progress.total):
        return ""
    if not progress.done:
        return f"{progress.total:,} {progress.unit}"
    total_text = f" of {progress.total:,}" if progress.total is not None else ""
    size = f", {_size(progress.bytes)}" if progress.bytes else ""
    return f"{progress.done:,}{total_text} {progress.unit}{size}"


def _elapsed(seconds: float) -> str:
    """Returns minutes and seconds, ``0:12``, or with hours ``1:02:03``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _bar(share: float | None, seconds: float, cells: int, glyphs: Glyphs) -> str:
    """Returns a bar, full up to the share; without one, a block moves through it."""
    if share is not None:
        full = int(share * cells)
        return glyphs.full * full + glyphs.empty * (cells - full)
    places = cells - _BLOCK
    at = int(seconds * _SPEED) % (2 * places)
    at = min(at, 2 * places - at)
    return glyphs.empty * at + glyphs.full * _BLOCK + glyphs.empty * (places - at)


def _shortened(text: str, columns: int, ellipsis: str) -> str:
    if width(text) <= columns:
        return text
    while text and width(text) + len(ellipsis) > columns:
        text = text[:-1]
    return text.rstrip() + ellipsis if text else ""


def _joined(*parts: str) -> str:
    return _GAP.join(part for part in parts if part)


def _size(count: int) -> str:
    """Returns a readable number of bytes, such as ``5.6 MB``."""
    value, unit = float(count), "bytes"
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{count:,} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
