"""The progress line: the text for each width, and what a terminal gets."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios
import time
from collections.abc import Iterator
from typing import TextIO

import pytest

from rewriter.display.terminal import progress_line as module
from rewriter.display.terminal.progress_line import ASCII, BLOCKS, ProgressLine, glyphs_of, line
from rewriter.runtime.progress import Progress
from rewriter.terminal_text import width

TASKS = Progress("running", 27, 50, "tasks")
WRITER = Progress("waiting", subject="another writer of the catalog /日本語/c.db")


@pytest.mark.parametrize(
    ("progress", "seconds", "columns", "shown"),
    [
        (TASKS, 12, 79, "Running  ████████████░░░░░░░░░░░░   54%  27 of 50 tasks  0:12"),
        (TASKS, 12, 50, "Running  ███████░░░░░░   54%  27 of 50 tasks  0:12"),
        (TASKS, 12, 39, "Running   54%  27 of 50 tasks  0:12"),
        (TASKS, 12, 20, "Running   54%  0:12"),
        (TASKS, 12, 12, "Runni…  0:12"),
        (TASKS, 12, 3, "0:1"),
        (TASKS, 12, 0, ""),
        (Progress("running", 54, 100, "percent"), 3723, 40, "Running  ████████░░░░░░░░   54%  1:02:03"),
        (Progress("running", 100, 100, "percent"), 0, 30, "Running  █████████  100%  0:00"),
        (Progress("running"), 0, 79, "Running  ███░░░░░░░░░░░░░░░░░░░░░  0:00"),
        (Progress("planning"), 1, 30, "Planning  ░░░░███░░░░░░░  0:01"),
        (Progress("starting", subject="Spark"), 5, 40, "Starting Spark  ░░░░░░░░░░███░░░░░  0:05"),
        (Progress("writing", unit="files"), 0, 20, "Writing  ███░░  0:00"),
        (Progress("writing", 1234, None, "files", 5_600_000), 1, 44, "Writing  ░░░░███░  1,234 files, 5.6 MB  0:01"),
        (
            Progress("writing", 2, None, "files", 999, fraction=0.5),
            1,
            60,
            "Writing  █████████░░░░░░░░░░   50%  2 files, 999 bytes  0:01",
        ),
        (Progress("committing", 0, 365, "partitions"), 2, 36, "Committing  365 partitions  0:02"),
        (
            Progress("refreshing", 0, 12, "partitions", subject="days of v", fraction=0.25),
            8,
            60,
            "Refreshing days of v  ██░░░░░░░░░   25%  12 partitions  0:08",
        ),
        (WRITER, 70, 79, "Waiting for another writer of the catalog /日本語/c.db  1:10"),
        (WRITER, 70, 52, "Waiting for another writer of the catalog /日…  1:10"),
        (Progress("waiting", subject="a\x1b[2Jb\nc"), 0, 60, "Waiting for a\\u001b[2Jb c  0:00"),
    ],
)
def test_a_line(progress: Progress, seconds: float, columns: int, shown: str) -> None:
    assert line(progress, seconds, columns) == shown
    assert width(shown) <= columns


def test_no_line_is_wider_than_its_terminal() -> None:
    for columns in range(100):
        for seconds in (0.0, 1.3, 59.9, 36_000.0):
            for progress in (TASKS, WRITER, Progress("planning"), Progress("analyzing", 1, 9, "tables", subject="t")):
                for glyphs in (BLOCKS, ASCII):
                    shown = line(progress, seconds, columns, glyphs)
                    assert width(shown) <= columns
                    assert glyphs is BLOCKS or "█" not in shown


def test_a_bar_in_plain_ascii() -> None:
    assert glyphs_of("utf-8") is BLOCKS
    assert all(glyphs_of(encoding) is ASCII for encoding in ("ascii", "latin-1", "cp1252", None, "no such"))
    assert line(TASKS, 12, 50, ASCII) == "Running  #######------   54%  27 of 50 tasks  0:12"


@pytest.fixture
def terminal() -> Iterator[tuple[TextIO, int]]:
    """A terminal, and the other end of it, from which a test reads what is shown."""
    master, slave = pty.openpty()
    with open(slave, "w", encoding="utf-8") as stream:
        yield stream, master
    os.close(master)


def resize(stream: TextIO, columns: int) -> None:
    fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def shown_by(master: int) -> str:
    return os.read(master, 100_000).decode()


def test_it_follows_the_size_of_the_terminal_and_vanishes(
    terminal: tuple[TextIO, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(module, "_TICK_SECONDS", 60.0)
    stream, master = terminal
    shown = ProgressLine(stream)
    for columns, expected in (
        (36, "Running   54%  27 of 50 tasks  0:00"),
        (20, "Running   54%  0:00"),
        (0, "Running  ████████████░░░░░░░░░░░░   54%  27 of 50 tasks  0:00"),
    ):
        resize(stream, columns)
        shown(TASKS)
        assert shown_by(master) == "\r\x1b[2K" + expected
    shown.clear()
    shown.clear()
    assert shown_by(master) == "\r\x1b[2K"


def test_short_statements_show_nothing(terminal: tuple[TextIO, int]) -> None:
    stream, master = terminal
    os.set_blocking(master, False)
    shown = ProgressLine(stream)
    for _ in range(100):
        shown(TASKS)
    shown.clear()
    time.sleep(module.DELAY_SECONDS + 0.2)
    with pytest.raises(BlockingIOError):
        os.read(master, 100)


def test_late_reports_draw_nothing(terminal: tuple[TextIO, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may report after its statement has ended: the prompt stays as it is."""
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.0)
    monkeypatch.setattr(module, "_TICK_SECONDS", 60.0)
    stream, master = terminal
    shown = ProgressLine(stream)
    resize(stream, 20)
    shown(TASKS)
    assert shown_by(master) == "\r\x1b[2KRunning   54%  0:00"
    shown.hide()
    shown.hide()
    shown(TASKS)
    shown(WRITER)
    assert shown_by(master) == "\r\x1b[2K"
    stream.write("prompt")
    stream.flush()
    assert shown_by(master) == "prompt"
    shown.show()
    shown(TASKS)
    assert shown_by(master) == "\r\x1b[2KRunning   54%  0:00"
    shown.hide()


def test_the_time_goes_on_without_reports(terminal: tuple[TextIO, int]) -> None:
    stream, master = terminal
    shown = ProgressLine(stream)
    shown(WRITER)
    pictures = ""
    deadline = time.monotonic() + 20
    while "0:01" not in pictures and time.monotonic() < deadline:
        pictures += shown_by(master)
    shown.clear()
    assert "0:01" in pictures


def test_a_closed_terminal_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY_SECONDS", 0.0)
    shown = ProgressLine(io.TextIOWrapper(io.BytesIO()))
    shown(TASKS)
    shown(TASKS)
    shown.clear()
