"""Runs golden files: each in a new warehouse, or in one of the user's, which it reads."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.catalog.catalog import Catalog, not_found
from rewriter.catalog.store.migrations import STEPS
from rewriter.display.terminal.rendering import render_lines
from rewriter.errors import (
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ParseError,
    ProgrammingError,
    Span,
    disk_full,
    is_disk_full,
    render,
    shift_position,
)
from rewriter.golden.golden_file import Case, GoldenFile, read_golden_file, with_outputs
from rewriter.grammar.families.queries import Select
from rewriter.grammar.families.views import CreateView
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.unparse import render as to_sql
from rewriter.lazy_dataclass import dataclass
from rewriter.scratch_directories import ScratchDirectory
from rewriter.session import Session

if TYPE_CHECKING:
    from rewriter.grammar.statements import Statement
    from rewriter.planner.model.plan import Coverage
    from rewriter.runtime.result import Result

#: The names of golden files.
_SUFFIXES = (".golden", ".test")

#: The directory of a warehouse below the root of a cluster.
_IDENTITY = re.compile(r"(<warehouse>/\w+/)[0-9a-f]{12}(?=/)")
#: The path of the warehouse in a golden file.
_WAREHOUSE = "<warehouse>"
#: The times at which an object was created or changed, as DESCRIBE shows them.
_MOMENTS = re.compile(
    r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d UTC \d{4}\b"
    r'|(?<="created_time":")[^"]+|(?<=transient_lastDdlTime=)\d+|(?<="transient_lastDdlTime":")\d+'
)


@dataclass(frozen=True)
class UserWarehouse:
    """The warehouse of the user, and the URL of its catalog if that is a PostgreSQL database."""

    path: str
    catalog: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case. ``failed``: it cannot be accepted, because a command raised an error or ``error`` none."""

    case: Case
    actual: str
    failed: bool = False

    @property
    def passed(self) -> bool:
        return not self.failed and self.actual == self.case.expected


@dataclass(frozen=True)
class FileRun:
    """A file that was run. ``read`` are its bytes at that time."""

    path: Path
    read: bytes
    file: GoldenFile
    outcomes: tuple[Outcome, ...]

    @property
    def rewritten(self) -> str:
        """The file's text with the actual outputs; the outputs of failed cases stay as they were."""
        changed = {i: o.actual for i, o in enumerate(self.outcomes) if not o.passed and not o.failed}
        return with_outputs(self.file, changed)

    def faults(self, *, rewrite: bool) -> list[Outcome]:
        """Returns the outcomes that differ from the file or, if it is rewritten, outcomes that cannot be accepted."""
        return [outcome for outcome in self.outcomes if (outcome.failed if rewrite else not outcome.passed)]


def run_file(path: Path, warehouse: UserWarehouse | None = None) -> FileRun:
    """Runs all cases of a file, in order.

    The file's option ``warehouse`` says where: ``new`` in an empty warehouse that is removed afterwards, ``read`` in
    the user's warehouse, where statements that may change it are refused, ``write`` in the user's warehouse. Without
    the option a file that has a case ``setup`` gets a new warehouse, any other the user's warehouse if there is one.

    Raises ``OperationalError`` PATH_NOT_FOUND for a file that cannot be read, and WAREHOUSE_NOT_FOUND; ``ParseError``
    INVALID_GOLDEN_FILE for text that is not a golden file.
    """
    read = bytes_of(path)
    return run_text(path, read, read_golden_file(text_of(path, read)), warehouse)


def run_text(path: Path, read: bytes, file: GoldenFile, warehouse: UserWarehouse | None = None) -> FileRun:
    """Runs the cases of a file that was read. Raises the errors of ``run_file``."""
    with _sessions(file, warehouse) as sessions:
        return FileRun(path, read, file, tuple(_run(case, sessions) for case in file.cases))


def bytes_of(path: Path) -> bytes:
    """Returns the content of a golden file. Raises ``OperationalError`` PATH_NOT_FOUND."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise OperationalError(
            f"The file {path} cannot be read: {error.strerror}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=str(path),
            hint="Name a file that exists, or a directory of golden files.",
        ) from None


def text_of(path: Path, read: bytes) -> str:
    """Returns the text of a golden file. Raises ``ParseError`` INVALID_GOLDEN_FILE."""
    try:
        text = read.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ParseError(
            f"The file {path} is not text in UTF-8.",
            condition="INVALID_GOLDEN_FILE",
            object=str(path),
            hint="A golden file is a text file. Each case has a command, its input, ---- and the expected output.",
        )
    return text


def golden_files(path: Path) -> list[Path]:
    """Returns the golden files that a path names: itself, or all below a directory."""
    files = (
        sorted(file for suffix in _SUFFIXES for file in path.rglob(f"*{suffix}") if file.is_file())
        if path.is_dir()
        else [path]
        if path.is_file()
        else []
    )
    if not files:
        raise OperationalError(
            f"There is no golden file at {path}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=str(path),
            hint=f"Name a {_SUFFIXES[0]} file, or a directory of them.",
        )
    return files


def accept(run: FileRun) -> bool:
    """Writes the actual outputs into the file, except for cases that failed. Returns whether it changed.

    Raises ``OperationalError`` FAILED_WRITE_FILE, also for a file that was changed while it ran.
    """
    text = run.rewritten.encode()
    if text == run.read or not run.outcomes:
        return False
    if bytes_of(run.path) != run.read:
        raise OperationalError(
            f"The file {run.path} was changed while it ran.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(run.path),
            hint="It is left as it is: run it once more.",
        )
    try:
        run.path.write_bytes(text)
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The file {run.path}", str(run.path)) from error
        raise OperationalError(
            f"The file {run.path} cannot be written: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(run.path),
            hint="Check that this user can write it.",
        ) from error
    return True


@contextlib.contextmanager
def _sessions(file: GoldenFile, user: UserWarehouse | None) -> Iterator[_Sessions]:
    """Yields the sessions of a file. Its warehouse is the working directory."""
    has_setup = any(case.command == "setup" for case in file.cases)
    place = file.options.get("warehouse") or ("new" if user is None or has_setup else "read")
    if place == "new":
        with (
            ScratchDirectory("golden") as folder,
            contextlib.chdir(folder),
            _Sessions(os.path.realpath(folder), file.options) as sessions,
        ):
            Catalog.open(sessions.warehouse).close()  # A file may begin with any statement.
            yield sessions
        return
    if user is None:
        raise InterfaceError(
            f"The file has the option warehouse={place}, but no warehouse is given.",
            object="warehouse",
            hint="Name it: -w DIR, --rewriter-warehouse DIR with pytest, or the variable REWRITER_WAREHOUSE.",
        )
    if not Catalog.exists(user.path, user.catalog):
        Catalog.open(user.path, user.catalog, create=False).close()  # This error may give more details.
        raise not_found(user.path, "Name an existing warehouse, or none: each file then gets a new one.")
    if place == "read":
        _check_current(user.path, user.catalog)
    path = os.path.realpath(user.path)
    with contextlib.chdir(path), _Sessions(path, file.options, user.catalog, reads_only=place == "read") as sessions:
        yield sessions


class _Sessions:
    """One session per engine and name over one warehouse; SET and transactions belong to a session."""

    def __init__(
        self, warehouse: str, options: Mapping[str, str], catalog: str | None = None, *, reads_only: bool = False
    ) -> None:
        self.warehouse = warehouse
        self.reads_only = reads_only
        self._options = options
        self._catalog = catalog
        self._open: dict[tuple[str, str], Session] = {}

    def of(self, case: Case) -> Session:
        """Returns the session that a case names by its options."""
        engine = case.options.get("engine") or self._options.get("engine", "duckdb")
        key = engine, case.options.get("session", "")
        if key not in self._open:
            settings = {"rewriter.now": self._options["now"]} if "now" in self._options else {}
            self._open[key] = Session(self.warehouse, engine, settings=settings, catalog=self._catalog)
        return self._open[key]

    def __enter__(self) -> _Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self._open.values():
            session.close()

    def hidden(self, text: str) -> str:
        """Returns the text without the parts that differ from run to run."""
        return _MOMENTS.sub("<time>", _IDENTITY.sub(r"\1<identity>", text.replace(self.warehouse, _WAREHOUSE)))

    def shown(self, text: str) -> str:
        """Returns the text of statements with the path of the warehouse where ``<warehouse>`` stands."""
        return text.replace(_WAREHOUSE, self.warehouse)


def _run(case: Case, sessions: _Sessions) -> Outcome:
    lines: list[str] = []
    error: Error | None = None
    text = sessions.shown(case.text)
    try:
        if sessions.reads_only:
            _check_reads_only(text)
        lines.extend(_output(case, text, sessions))
    except Error as raised:
        error = raised
        lines.append(render(raised, text))
    if case.command == "error" and error is None:
        lines = ["(no error)"]
    failed = (error is None) == (case.command == "error") or (error is not None and error.condition == _CONDITION)
    shown = "\n".join(line.rstrip(" \t") for line in "\n".join(lines).replace("\r\n", "\n").split("\n"))
    return Outcome(case, sessions.hidden(shown), failed)


def _output(case: Case, text: str, sessions: _Sessions) -> Iterator[str]:
    session = sessions.of(case)
    match case.command:
        case "parse":
            yield to_sql(parse(text))
        case "rewrite":
            yield session.plan(text).sql
        case "coverage":
            yield from _coverage_lines(_coverage(session, text))
        case "cover" | "scan" | "explain":
            what = case.options.get("what", "ALL") if case.command == "explain" else case.command
            yield from _explained(session, what, text)
        case "query":
            yield from _shown(_query(session, text), case, sessions)
        case "error" | "setup":
            for _, result in session.script(text):
                list(result.rows())
        case _:
            for _, result in session.script(text):
                yield from _shown(result, case, sessions)


def _query(session: Session, text: str) -> Result:
    """Returns the result of the only query of a text."""
    results = session.script(text)
    if not isinstance(parse(text), Select):
        raise ProgrammingError(
            "The input of a case query is one query.",
            condition="INVALID_GOLDEN_FILE",
            hint="Write SELECT …; the command sql runs other statements, and several.",
        )
    (_, result), *_ = results
    return result


def _explained(session: Session, what: str, text: str) -> Iterator[str]:
    prefix = f"EXPLAIN {what.upper()} "
    try:
        result = session.execute(prefix + text)
    except Error as error:
        if error.position is not None:
            start, end = error.position.shifted(-len(prefix))
            error.position = Span(max(start, 0), max(end, 0))
        raise
    yield from (str(row[0]) for row in result.rows())


def _coverage(session: Session, text: str) -> Coverage:
    """Returns what a query reads and what it lacks. No engine runs."""
    name = "rewriter.partial_data"
    before = session.settings.get(name)
    session.settings.set(name, "true")
    try:
        return session.plan(text).coverage
    finally:
        session.settings.set(name, before)


def _coverage_lines(coverage: Coverage) -> Iterator[str]:
    yield f"complete: {str(coverage.complete).lower()}"
    for reference in coverage.references:
        shown = reference.calendar.shown
        yield f"{reference.cube}: {shown(reference.requested)}"
        for part in reference.parts:
            yield f"  {part.fact}.{part.table} {part.period.name}: {part.partitions} partitions"
        yield f"  missing: {shown(reference.missing) if reference.missing else 'nothing'}"
        yield f"  outdated: {shown(reference.outdated) if reference.outdated else 'nothing'}"
    yield from (f"note: {note}" for note in coverage.notes)


def _shown(result: Result, case: Case, sessions: _Sessions) -> Iterator[str]:
    form = case.options.get("format", "table")
    if result.columns is None:
        yield "OK" if result.rowcount < 0 else f"OK, {result.rowcount} rows"
    elif result.kind == "EXPLAIN" and form == "table":
        yield from (str(row[0]) for row in result.rows())
    else:
        # Paths are hidden before columns are aligned, because their length differs between machines.
        rows = ([sessions.hidden(v) if isinstance(v, str) else v for v in row] for row in result.rows())
        lines = list(render_lines([column.name for column in result.columns], rows, form))
        header = {"csv": 1, "json": 0}.get(form, 2)
        yield from [*lines[:header], *sorted(lines[header:])] if case.options.get("order") == "sorted" else lines
    for warning in result.warnings:
        yield f"Warning: {warning}"


# Statements that may run in a user's warehouse: statements that only read.

_CONDITION = "GOLDEN_FILE_READS_ONLY"

#: How the classes of statements begin that read, or change the session alone.
_READING = ("Select", "Explain", "Show", "Describe", "SetSetting", "ResetSetting", "UseDatabase")


def _check_reads_only(text: str) -> None:
    """Raises ``NotSupportedError`` GOLDEN_FILE_READS_ONLY if a statement of a text may change the warehouse.

    A statement with a syntax error is not checked: it cannot run.
    """
    try:
        spans = split_statements(text)
    except Error:
        return
    for span in spans:
        try:
            statement = parse(text[span.start : span.end])
        except Error:
            continue
        if not only_reads(statement):
            raise shift_position(_refusal(statement, span), span)


def only_reads(statement: Statement) -> bool:
    """Tests whether a statement leaves the warehouse as it is. A temporary view belongs to the session."""
    if isinstance(statement, CreateView):
        return statement.temporary
    return type(statement).__name__.startswith(_READING)


def _refusal(statement: Statement, span: Span) -> Error:
    return NotSupportedError(
        "The statement may change your warehouse, which golden files only read.",
        condition=_CONDITION,
        position=statement.span or Span(0, span.end - span.start),
        hint="Put it into a case setup: the file then runs in a temporary warehouse. If your warehouse is to be "
        "changed, write the line: options warehouse=write.",
    )


def _check_current(warehouse: str, catalog: str | None) -> None:
    """Raises ``OperationalError`` for a catalog of an older release, which a session would upgrade."""
    version = Catalog.stored_version(warehouse, catalog)
    if version < len(STEPS):
        raise OperationalError(
            f"The catalog has the schema version {version}, and this release has {len(STEPS)}.",
            condition=_CONDITION,
            object=warehouse,
            hint="Golden files do not upgrade it: run rewriter catalog upgrade.",
        )


# The difference between a case and its outcome, as a person reads it.

#: The place of a hunk: line and number of lines of both sides.
_HUNK = re.compile(r"^@@ -(\d+)((?:,\d+)?) \+(\d+)((?:,\d+)?) @@$")


def differences(path: Path, outcome: Outcome) -> str:
    """Returns a failed case: the file and line of its command, its input, and a unified diff with the file's lines."""
    case = outcome.case
    diff = list(
        difflib.unified_diff(
            case.expected.split("\n") if case.expected else [],
            outcome.actual.split("\n") if outcome.actual else [],
            "expected",
            "actual",
            lineterm="",
            n=2,
        )
    )
    diff[2:] = (_HUNK.sub(lambda hunk: _shifted(hunk, case.output_start - 1), line) for line in diff[2:])
    reason = ""
    if outcome.failed:
        reason = "\n(an error was expected)" if case.command == "error" else "\n(an error is not accepted here)"
    return f"{path}:{case.start}: {case.command}\n{case.text}\n" + "\n".join(diff) + reason


def run_report(run: FileRun, *, rewrite: bool) -> str:
    """Returns the differences of all cases that are at fault, '' if there are none."""
    return "\n\n".join(differences(run.path, outcome) for outcome in run.faults(rewrite=rewrite))


def _shifted(hunk: re.Match[str], lines: int) -> str:
    return f"@@ -{int(hunk[1]) + lines}{hunk[2]} +{int(hunk[3]) + lines}{hunk[4]} @@"
