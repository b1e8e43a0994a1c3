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
        │   └── CommitUnknownError     the catalog's database went away during a commit: done, or not
        ├── IntegrityError             an object exists already, or does not fit the others
        ├── InternalError              a bug of ours
        ├── ProgrammingError           the statement is wrong
        │   ├── ParseError             it cannot be read
        │   └── AnalysisError          it names what is not there, or means nothing
        └── NotSupportedError          it is understood and refused, with the reason

The upper names are those of PEP 249, so the DB-API needs no second tree. ``condition`` is Spark's error
condition where Spark has one (``PARTITIONS_ALREADY_EXIST``), ours otherwise; ``sqlstate`` follows it.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple


class Span(NamedTuple):
    """A half-open stretch ``[start, end)`` of a statement's text, in characters."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """The same stretch in a text that has ``by`` more characters in front."""
        return Span(self.start + by, self.end + by)

    def line_column(self, text: str) -> tuple[int, int]:
        """Line and column of the start, both counted from 1."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1


class Error(Exception):
    """The root: a message for a person, and the same facts as fields.

    ``position`` is a stretch of the text that was executed, ``object`` the name of the table, column or
    setting concerned, ``hint`` says what a person can do.
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
        super().__init__(message)
        self.message = message
        self.condition = condition or type(self).condition
        self.sqlstate = sqlstate or (None if condition else type(self).sqlstate)
        self.position = position
        self.object = object
        self.hint = hint

    def at(self, position: Span | None) -> Error:
        """This error, placed at ``position`` unless it has a place already."""
        if self.position is None:
            self.position = position
        return self

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message}"


class InterfaceError(Error):
    condition = "INTERFACE_ERROR"


class DatabaseError(Error):
    condition = "DATABASE_ERROR"


class DataError(DatabaseError):
    condition = "CAST_INVALID_INPUT"
    sqlstate = "22018"


class OperationalError(DatabaseError):
    condition = "OPERATIONAL_ERROR"


class EngineError(OperationalError):
    condition = "ENGINE_ERROR"


class JavaNotFoundError(EngineError):
    condition = "JAVA_NOT_FOUND"


class ConflictError(OperationalError):
    condition = "CONCURRENT_WRITE"
    sqlstate = "40001"
    retryable = True


class CommitUnknownError(OperationalError):
    """Nobody can tell now whether a commit was made, so nothing that it may refer to may be removed."""

    condition = "COMMIT_UNKNOWN"
    sqlstate = "08007"


class MissingDataError(OperationalError):
    """A strict query met holes.

    ``missing`` holds the exact missing ranges as text, ``causes`` one line per candidate that fell out.
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
        self.causes = causes


class IntegrityError(DatabaseError):
    condition = "INTEGRITY_ERROR"


class InternalError(DatabaseError):
    condition = "INTERNAL_ERROR"
    sqlstate = "XX000"


class ProgrammingError(DatabaseError):
    condition = "PROGRAMMING_ERROR"


class ParseError(ProgrammingError):
    condition = "PARSE_SYNTAX_ERROR"
    sqlstate = "42601"


class AnalysisError(ProgrammingError):
    condition = "ANALYSIS_ERROR"


class NotSupportedError(DatabaseError):
    condition = "UNSUPPORTED"
    sqlstate = "0A000"


def render(error: Error, text: str | None = None) -> str:
    """The error as a person reads it: message, the line of ``text`` with a caret, why candidates fell out, the hint."""
    lines = [f"Error: {error}"]
    if text is not None and error.position is not None:
        start = min(error.position.start, len(text))
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line = text[line_start : line_end if line_end >= 0 else len(text)].rstrip("\r")
        number, column = Span(start, start).line_column(text)
        width = max(1, min(error.position.end, line_start + len(line)) - start)
        pad = "".join("\t" if char == "\t" else " " for char in line[: column - 1])
        margin = f"line {number}: "
        lines += [f"{margin}{line}", " " * len(margin) + pad + "^" * width]
    if isinstance(error, MissingDataError):
        lines += [f"  {cause}" for cause in error.causes[:_SHOWN_CAUSES]]
        if len(error.causes) > _SHOWN_CAUSES:
            lines.append(f"  … and {len(error.causes) - _SHOWN_CAUSES} more candidates")
    if error.hint:
        lines.append(f"Hint: {error.hint}")
    return "\n".join(lines)


_SHOWN_CAUSES = 10
