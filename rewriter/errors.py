"""One tree of errors. Every error a user can meet carries its condition, object, position and hint.

    Error
    ├── InterfaceError                 the Python interface was used wrongly (closed cursor, no result)
    └── DatabaseError
        ├── DataError                  a value does not fit its type
        ├── OperationalError           the world outside: engines, files, the catalog's database
        │   ├── MissingDataError       a strict query met holes; the exact ranges are a field
        │   ├── EngineError            an engine refused or failed
        │   │   └── JavaNotFoundError  no Java serves Spark
        │   ├── ConflictError          two transactions met; retryable (SQLSTATE 40001)
        │   └── CommitUnknownError     the catalog's database became unavailable during a commit: the outcome is unknown
        ├── IntegrityError             an object exists already, or does not fit the others
        ├── InternalError              a bug of ours
        ├── ProgrammingError           the statement is wrong
        │   ├── ParseError             it cannot be read
        │   └── AnalysisError          it names missing objects, or has no meaning
        └── NotSupportedError          it is understood and refused, with the reason

The upper names are the names of PEP 249, so the DB-API needs no second tree. ``condition`` is Spark's error
condition where Spark has one (``PARTITIONS_ALREADY_EXIST``), ours otherwise; ``sqlstate`` follows it.
"""

from __future__ import annotations

import errno
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType
from typing import ClassVar, NamedTuple

from rewriter.terminal_text import printable, width
from rewriter.uris import mask_credentials


class Span(NamedTuple):
    """A half-open range of a statement's text, in characters, from ``start`` up to ``end``.

    Examples:
        >>> Span(7, 10).line_column("SELECT foo")
        (1, 8)
    """

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """Returns the same range in a text that has ``by`` more characters in front."""
        return Span(self.start + by, self.end + by)

    def is_within(self, outer: Span) -> bool:
        """Tests whether the range is a part of another one. A place at its edge, between two characters, is not."""
        is_place = self.start == self.end
        return outer.start + is_place <= self.start and self.end + is_place <= outer.end

    def line_column(self, text: str) -> tuple[int, int]:
        """Returns line and column of the start, both counted from 1."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1


class Error(Exception):
    """The root: a message for a person, and the same facts as fields.

    ``message`` is the text without the condition, ``condition`` the name of the error and ``sqlstate`` its SQLSTATE, or
    ``None``. ``position`` is a range of the text that was executed, ``object`` the name of the table, column or setting
    concerned, and ``hint`` what a person can do; ``None`` if there is none. ``retryable`` says that the same statement
    may succeed in a new transaction. ``str(error)`` is the condition and the message, and the hint on a separate line.
    Passwords and signatures of URIs are in none of these texts (``uris.mask_credentials``).

    Examples:
        >>> error = AnalysisError("There is no table t.", condition="TABLE_OR_VIEW_NOT_FOUND", hint="Create it.")
        >>> print(error)
        [TABLE_OR_VIEW_NOT_FOUND] There is no table t.
        Hint: Create it.
    """

    condition: str = "REWRITER_ERROR"
    sqlstate: str | None = None
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        condition: str | None = None,
        sqlstate: str | None = None,
        position: Span | None = None,
        object: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(mask_credentials(message))
        self.message = mask_credentials(message)
        self.condition = condition or type(self).condition
        self.sqlstate = sqlstate or (None if condition else type(self).sqlstate)
        self.position = position
        self.object = None if object is None else mask_credentials(object)
        self.hint = None if hint is None else mask_credentials(hint)

    def at(self, position: Span | None) -> Error:
        """Returns this error, placed at ``position`` unless it has a position already."""
        if self.position is None:
            self.position = position
        return self

    @property
    def headline(self) -> str:
        """Returns condition and message, without the hint."""
        return f"[{self.condition}] {self.message}"

    def __str__(self) -> str:
        return f"{self.headline}\nHint: {self.hint}" if self.hint else self.headline


class InterfaceError(Error):
    """The Python interface was used wrongly: a closed cursor, a wrong argument, an unknown profile."""

    condition = "INTERFACE_ERROR"


class DatabaseError(Error):
    """The root of all errors of statements."""

    condition = "DATABASE_ERROR"


class DataError(DatabaseError):
    """A value does not fit its type, or a time is invalid."""

    condition = "CAST_INVALID_INPUT"
    sqlstate = "22018"


class OperationalError(DatabaseError):
    """A cause outside of the program: an engine, a file, the database of the catalog, too little memory."""

    condition = "OPERATIONAL_ERROR"


class EngineError(OperationalError):
    """An engine has refused or failed a query, or cannot be reached."""

    condition = "ENGINE_ERROR"


class JavaNotFoundError(EngineError):
    """No Java was found that can run Spark."""

    condition = "JAVA_NOT_FOUND"


class ConflictError(OperationalError):
    """Another transaction has written the same. ``retryable``: run the statement, or the whole transaction, again."""

    condition = "CONCURRENT_WRITE"
    sqlstate = "40001"
    retryable = True


class CommitUnknownError(OperationalError):
    """The database of the catalog became unreachable during a commit: the outcome is unknown. Look for the rows before
    the statement is repeated.
    """

    condition = "COMMIT_UNKNOWN"
    sqlstate = "08007"


class MissingDataError(OperationalError):
    """A strict query met holes.

    ``missing`` holds the exact missing ranges as text, ``causes`` one line per candidate that was excluded.
    """

    condition = "MISSING_PARTITIONS"

    def __init__(
        self,
        message: str,
        *,
        missing: tuple[str, ...] = (),
        causes: tuple[str, ...] = (),
        position: Span | None = None,
        object: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, position=position, object=object, hint=hint)
        self.missing = missing
        self.causes = tuple(map(mask_credentials, causes))


class IntegrityError(DatabaseError):
    """An object exists already, is used by another one, or does not fit the others."""

    condition = "INTEGRITY_ERROR"


class InternalError(DatabaseError):
    """A bug of this program. Please report it with the statement."""

    condition = "INTERNAL_ERROR"
    sqlstate = "XX000"


class ProgrammingError(DatabaseError):
    """The statement, or its use, is wrong."""

    condition = "PROGRAMMING_ERROR"


class ParseError(ProgrammingError):
    """The statement cannot be read, at its ``position``."""

    condition = "PARSE_SYNTAX_ERROR"
    sqlstate = "42601"


class AnalysisError(ProgrammingError):
    """The statement names objects that do not exist, or has no meaning."""

    condition = "ANALYSIS_ERROR"


class NotSupportedError(DatabaseError):
    """The statement is understood and refused; the message has the reason."""

    condition = "UNSUPPORTED"
    sqlstate = "0A000"


def partitions_not_found(
    what: str, table: str, *, shown: str | None = None, position: Span | None = None, hint: str = ""
) -> AnalysisError:
    """PARTITIONS_NOT_FOUND 428FT: ``what`` is a spec or a count; ``shown`` is the table's name as the user sees it."""
    shown = table if shown is None else shown
    return AnalysisError(
        f"{what} cannot be found in the table {shown}.",
        condition="PARTITIONS_NOT_FOUND",
        sqlstate="428FT",
        position=position,
        object=table,
        hint=f"SHOW PARTITIONS {shown} lists them.{f' {hint}' if hint else ''}",
    )


#: The error numbers of system calls for lack of room: no space, quota used up, file too large.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: The messages of engines and drivers for the same errors, where they keep no number.
_FULL_WORDS = re.compile(
    r"no space left on device|disk quota exceeded|file too large|database or disk is full|"
    r"\[errno (28|122|27)\]|max_temp_directory_size",
    re.IGNORECASE,
)


def is_disk_full(error: BaseException | str) -> bool:
    """Returns whether an exception, or its text, states that a disk, a quota or a limit of file sizes is used up."""
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return _FULL_WORDS.search(str(error)) is not None


def disk_full(what: str, object: str | None = None) -> OperationalError:
    """Returns ``OperationalError`` DISK_FULL 53100. ``what`` names the unwritten object, as ``"The file /a/b"``."""
    return OperationalError(
        f"{what} cannot be written: no space is left on the disk, or a quota or limit is used up.",
        condition="DISK_FULL",
        sqlstate="53100",
        object=object,
        hint="Free disk space (VACUUM removes files that are no longer read) and run the statement again: "
        "it left nothing half done.",
    )


def foreign(error: Exception) -> Error:
    """Returns one of our errors for a foreign exception. Raise it ``from error``.

    An error of the system is an ``OperationalError`` (DISK_FULL, or SYSTEM_IO_ERROR with the path), as are too deep
    a nesting and too little memory. All others are a bug of ours: ``InternalError``.
    """
    summary = " ".join(str(error).split())[:300]
    if isinstance(error, OSError) and error.errno is not None:
        path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else None
        if is_disk_full(error):
            return disk_full("A file" if path is None else f"The file {path}", path)
        return OperationalError(
            f"{error.strerror or summary}{f': {path}' if path else ''}.",
            condition="SYSTEM_IO_ERROR",
            sqlstate="58030",
            object=path,
            hint="Check that the path exists and that this user can access it, and run the statement again.",
        )
    if isinstance(error, RecursionError | MemoryError):
        deep = isinstance(error, RecursionError)
        return OperationalError(
            "The statement, or an object that it names, is nested too deeply."
            if deep
            else "There is not enough memory.",
            condition="STATEMENT_TOO_COMPLEX" if deep else "OUT_OF_MEMORY",
            sqlstate="54001" if deep else "53200",
            hint="Split the statement into smaller ones." if deep else "Read less at once, or use a larger machine.",
        )
    return InternalError(
        f"{type(error).__name__}{f': {summary}' if summary else ''}",
        hint="This is a bug in rewriter: please report it with the statement. None of its changes were kept.",
    )


@contextmanager
def only_ours() -> Iterator[None]:
    """Converts every foreign exception of the block by ``foreign``, with the original as its cause. An exception of a
    handler of signals is the caller's, and passes.

    Only the entry points (session, result, command line) use it, and the threads of the shell.
    """
    try:
        yield
    except Error:
        raise
    except Exception as error:
        if is_of_signal_handler(error):
            raise
        raise foreign(error) from error


def is_of_signal_handler(error: BaseException) -> bool:
    """Tests whether a handler of signals in Python has raised an exception, in the middle of whatever was running.

    Such a handler is called with the number of the signal and the frame that it interrupts.
    """
    interrupted: FrameType | None = None
    for frame, _ in walk_tb(error.__traceback__):
        values = [*frame.f_locals.values()]
        values += [part for value in values if isinstance(value, tuple) for part in value]
        if any(value is interrupted for value in values if isinstance(value, FrameType)) and any(
            value in _SIGNALS for value in values if isinstance(value, int)
        ):
            return True
        interrupted = frame
    return False


_SIGNALS = signal.valid_signals()


def shift_position(error: Error, span: Span) -> Error:
    """Returns an error of a statement at ``span`` of a longer text, with its position in that text."""
    if error.position is not None:
        error.position = error.position.shifted(span.start)
    return error


def _clipped(line: str, first: int, last: int) -> tuple[str, int, int]:
    """Returns a line as it is shown, and where ``line[first:last]`` stands there. A long line is cut on both sides.

    An ellipsis stands for each cut.
    """
    begin = 0 if len(line) <= _SHOWN_CHARACTERS else max(0, first - _SHOWN_CHARACTERS // 2)
    end = min(len(line), begin + _SHOWN_CHARACTERS)
    before, after = "… " if begin else "", " …" if end < len(line) else ""
    shift = len(before) - begin
    return f"{before}{line[begin:end]}{after}", first + shift, min(last, end) + shift


def render(error: Error, text: str | None = None) -> str:
    """Returns the error as a person reads it: message, the line of ``text`` with a caret, the excluded candidates, the
    hint.

    Characters that a terminal would act on are shown as escapes (``terminal_text.printable``), and the caret stands
    below the shown text.
    """
    lines = [f"Error: {error.headline}"]
    if text is not None and error.position is not None:
        start = min(error.position.start, len(text))
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line = text[line_start : line_end if line_end >= 0 else len(text)].rstrip("\r")
        line = mask_credentials(line, lambda secret: "*" * len(secret))  # The caret stays where it is.
        number, column = Span(start, start).line_column(text)
        line, first, last = _clipped(line, column - 1, max(column, error.position.end - line_start))
        before, pointed = line[:first], line[first:last]
        pad = "\t".join(" " * width(printable(part)) for part in before.split("\t"))
        margin = f"line {number}: "
        lines += [f"{margin}{line}", " " * len(margin) + pad + "^" * max(1, width(printable(pointed)))]
    if isinstance(error, MissingDataError):
        lines += [f"  {cause}" for cause in error.causes[:_SHOWN_CAUSES]]
        if len(error.causes) > _SHOWN_CAUSES:
            lines.append(f"  … and {len(error.causes) - _SHOWN_CAUSES} more candidates")
    if error.hint:
        lines.append(f"Hint: {error.hint}")
    return printable("\n".join(lines))


_SHOWN_CAUSES = 10
#: How many characters of a statement's line ``render`` shows.
_SHOWN_CHARACTERS = 240
