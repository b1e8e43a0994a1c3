"""How a shell shows results, and where: the settings of ``\\pset`` and its relatives, and the destinations of rows."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, TextIO

from rewriter.display.terminal import FORMATS, RAW_FORMATS
from rewriter.errors import InterfaceError, OperationalError, is_disk_full
from rewriter.lazy_dataclass import dataclass
from rewriter.terminal_text import cut, printable

if TYPE_CHECKING:
    from rewriter.shell.interrupts import Interruption

_EXPANDED = ("off", "on", "auto")
#: The formats for people, of which a terminal shows the first rows. The others are data, and complete.
BOUNDED_FORMATS = ("table", "vertical")
#: The rows that a terminal shows by default.
MOST_ROWS = 1000
#: The requests of Ctrl-C after which a pager is killed that did not end by itself.
_PATIENT_REQUESTS = 3
#: Characters that a CSV field cannot have without quotes.
_NOT_IN_CSV = ',"\r\n'


@dataclass
class Display:
    """The settings of a shell. ``null`` is the text of NULL, or ``None`` for the text of the format.

    ``expanded`` shows tables vertically: always, never, or where they are wider than the terminal. ``timing`` shows the
    number of rows and the time, ``pager`` long results in a pager; both are for people at a prompt. A terminal shows
    the first ``max_rows`` rows of ``BOUNDED_FORMATS``; 0 is all.
    """

    format: str = "table"
    null: str | None = None
    expanded: str = "off"
    timing: bool = False
    pager: bool = False
    max_rows: int = MOST_ROWS

    def check(self) -> None:
        """Raises ``InterfaceError`` for values that no setting has."""
        if self.format not in FORMATS:
            raise InterfaceError(
                f"'{self.format}' is no format.", object="format", hint=f"The formats are {', '.join(FORMATS)}."
            )
        if self.expanded not in _EXPANDED:
            raise InterfaceError(
                f"'{self.expanded}' is no form of \\x.", object="expanded", hint="Write on, off or auto."
            )
        if self.max_rows < 0:
            raise InterfaceError(
                f"{self.max_rows} is no number of rows.",
                object="max_rows",
                hint="Write a whole number; 0 is all rows.",
            )
        if self.null and self.format == "csv" and any(char in self.null for char in _NOT_IN_CSV):
            raise InterfaceError(
                "In CSV, the text of NULL cannot contain a comma, a quote or a line end.",
                object="null",
                hint=r"Write --null '\N', or omit it: NULL is then an empty field, and the empty string is quoted.",
            )


@dataclass(frozen=True)
class Destination:
    """A stream for rows. What goes to a terminal is cut to its width, and cannot act on it."""

    stream: TextIO
    is_terminal: bool = False

    def flush(self) -> None:
        """Raises ``OperationalError``, as every write does, if the stream takes no more; ``BrokenPipeError`` for a pipe
        that its reader has closed.
        """
        with self._errors():
            self.stream.flush()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise not_written(str(getattr(self.stream, "name", "stdout")), error) from error

    def write_lines(self, lines: Iterable[str], form: str) -> None:
        """Writes lines. The lines of a table are cut to the terminal, if this is one."""
        limit = terminal_columns() if self.is_terminal and form == "table" else None
        is_raw = self.is_terminal and form in RAW_FORMATS
        for line in lines:
            shown = printable(line) if is_raw else line
            self.write_text(f"{shown if limit is None else cut(shown, limit)}\n")

    def write_text(self, text: str) -> None:
        with self._errors():
            self.stream.write(text)


def terminal_columns() -> int:
    return _terminal_size().columns


def terminal_lines() -> int:
    return _terminal_size().lines


def _terminal_size() -> os.terminal_size:
    """Returns the size of the terminal itself, which may change; only without one the size of COLUMNS and LINES."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            size = os.get_terminal_size(stream.fileno())
            if size.columns:
                return size
    return shutil.get_terminal_size()


@contextlib.contextmanager
def output_file(path: str) -> Iterator[TextIO]:
    """Yields a stream whose text becomes the file ``path`` when the block ends without an error; a file that exists
    stays as it is until then. A device or a pipe gets the text at once.

    Raises ``OperationalError`` FAILED_WRITE_FILE or DISK_FULL.
    """
    unfinished = None
    try:
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        target = os.path.realpath(path)
        handle, unfinished = tempfile.mkstemp(prefix=f".{os.path.basename(target)}-", dir=os.path.dirname(target))
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(unfinished, _mode_of(target))
        os.replace(unfinished, target)
        unfinished = None
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise not_written(path, error) from error
    finally:
        if unfinished is not None:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)


def _mode_of(path: str) -> int:
    """Returns the mode that the file has, or that a new one would get."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def not_written(path: str, error: OSError | ValueError) -> OperationalError:
    if is_disk_full(error):
        return OperationalError(
            f"{path} cannot be written: no space is left on the disk, or a quota or limit is used up.",
            condition="DISK_FULL",
            sqlstate="53100",
            object=path,
            hint="Free disk space, and run the query again. Changes of statements before it were kept.",
        )
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return OperationalError(
        f"The file {path} cannot be written: {reason}.",
        condition="FAILED_WRITE_FILE",
        sqlstate="58030",
        object=path,
        hint="Name a writable file, and check that there is free space.",
    )


def page_lines(lines: Iterable[str], interruption: Interruption) -> bool:
    """Shows lines in the pager of the environment (``PAGER``, otherwise ``less``). Returns False if it cannot be
    started, or fails: the lines are to be shown otherwise. Ctrl-C ends it.

    The pager is a program of the user's environment, never of a file or a catalog.
    """
    environment = {"LESS": "-SRFXK", "LESSCHARSET": "utf-8", **os.environ}
    try:
        command = shlex.split(os.environ.get("PAGER") or "less") or ["less"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, encoding="utf-8", env=environment)
    except (OSError, ValueError):
        return False
    assert process.stdin is not None
    requests = count()

    def end() -> None:
        process.kill() if next(requests) >= _PATIENT_REQUESTS else process.terminate()

    with interruption.ending(end):
        try:
            with contextlib.suppress(BrokenPipeError):
                for line in lines:
                    process.stdin.write(f"{line}\n")
        except BaseException:
            process.terminate()
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
    return process.returncode == 0
