"""Golden files: cases of a command, its input, ``----`` and the output that is expected.

    # Anything before a command is a comment.
    sql
    SELECT 1 AS one
    ----
    one
    ---
      1

A case ends at a blank line. Output that holds blank lines stands between ``----`` doubled and ``----`` doubled again.
Each file runs in a warehouse of its own, which its cases share, or all in one that exists (``run_command``).
Options follow the command: ``sql engine=duckdb``, ``sql format=csv``; DuckDB is the default engine;
``sql session=other`` is run by another session. Commands:

- ``sql``: runs the statements; shows rows, warnings, and ``OK`` for a statement without rows. An error fails the case.
- ``error``: the same, where the last statement must fail; shows the error with its caret.
- ``rewrite``: a query's rewritten SQL. ``explain``: the output of EXPLAIN (``what=COVER``); both without any engine.
- ``parse``: the statement as the grammar renders it back.

The warehouse is the working directory, and its path is shown as ``<warehouse>``, moments of creation as ``<time>``.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rewriter.catalog.catalog import Catalog
from rewriter.errors import Error, OperationalError, ParseError, disk_full, is_disk_full, render
from rewriter.grammar.parser import parse
from rewriter.grammar.unparse import render as to_sql
from rewriter.runtime.result import Result
from rewriter.session import Session
from rewriter.shell.rendering import rendered
from rewriter.terminal_text import printable

SUFFIX = ".test"

_SEPARATOR = "----"
#: The times at which an object was created or changed, as DESCRIBE shows them.
_MOMENTS = re.compile(
    r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d UTC \d{4}\b"
    r'|(?<="created_time":")[^"]+|(?<=transient_lastDdlTime=)\d+|(?<="transient_lastDdlTime":")\d+'
)
_OPTIONS = {
    "sql": ("engine", "format", "session"),
    "error": ("engine", "session"),
    "rewrite": (),
    "explain": ("what",),
    "parse": (),
}


@dataclass(frozen=True)
class Case:
    """One case. ``start`` is the line of its command, from 1; ``before`` are the comment lines above it."""

    start: int
    before: tuple[str, ...]
    command: str
    options: dict[str, str]
    text: str
    expected: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case. ``failed``: it cannot be accepted, because ``sql`` raised an error or ``error`` none."""

    case: Case
    actual: str
    failed: bool = False

    @property
    def passed(self) -> bool:
        return not self.failed and self.actual == self.case.expected


@dataclass
class _Lines:
    lines: list[str]
    position: int = 0

    def until(self, *ends: str) -> list[str]:
        lines = []
        while self.position < len(self.lines) and self.lines[self.position] not in ends:
            lines.append(self.lines[self.position])
            self.position += 1
        return lines


def read_cases(text: str) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """Returns the cases of a file, and the comment lines after the last. Raises ``ParseError`` for text that is no
    case.
    """
    source = _Lines(text.splitlines())
    cases: list[Case] = []
    while True:
        before: list[str] = []
        while source.position < len(source.lines) and _is_comment(source.lines[source.position]):
            before.append(source.lines[source.position])
            source.position += 1
        if source.position == len(source.lines):
            return tuple(cases), tuple(before)
        cases.append(_read_case(source, tuple(before)))


def _is_comment(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _read_case(source: _Lines, before: tuple[str, ...]) -> Case:
    start = source.position + 1
    command, *rest = source.lines[source.position].split()
    options = dict(word.partition("=")[::2] for word in rest)
    unknown = sorted(set(options) - set(_OPTIONS.get(command, ())))
    if command not in _OPTIONS or unknown:
        raise ParseError(
            f"Line {start}: unknown {'option ' + unknown[0] if unknown else 'command ' + command}.",
            condition="INVALID_GOLDEN_FILE",
            hint=f"Commands are {', '.join(_OPTIONS)}; put # before a comment.",
        )
    source.position += 1
    text = "\n".join(source.until(_SEPARATOR))
    if source.position == len(source.lines):
        raise ParseError(
            f"Line {start}: the case has no {_SEPARATOR}.",
            condition="INVALID_GOLDEN_FILE",
            hint=f"Put {_SEPARATOR} on a separate line between input and output.",
        )
    source.position += 1
    if source.lines[source.position : source.position + 1] == [_SEPARATOR]:
        source.position += 1
        expected: list[str] = []
        while source.position < len(source.lines):
            if source.lines[source.position : source.position + 2] == [_SEPARATOR, _SEPARATOR]:
                break
            expected.append(source.lines[source.position])
            source.position += 1
        source.position += 2
    else:
        expected = source.until("")
    return Case(start, before, command, options, text, "\n".join(expected))


def write_cases(outcomes: list[Outcome], after: tuple[str, ...]) -> str:
    """Returns the file's text with the actual outputs; those of failed cases stay as they were."""
    lines: list[str] = []
    for outcome in outcomes:
        case, output = outcome.case, outcome.case.expected if outcome.failed else outcome.actual
        options = "".join(f" {key}={value}" for key, value in case.options.items())
        lines += [*case.before, case.command + options, case.text, _SEPARATOR]
        if any(not line for line in output.split("\n")[:-1]) or _SEPARATOR in output.split("\n"):
            lines += [_SEPARATOR, output, _SEPARATOR, _SEPARATOR]
        elif output:
            lines.append(output)
    return "\n".join([*lines, *after]) + "\n"


def run_file(
    path: Path, warehouse: str | None = None, catalog: str | None = None
) -> tuple[list[Outcome], tuple[str, ...]]:
    """Runs all cases of a file, in order, in a fresh warehouse or in ``warehouse``, where their changes stay.

    Also returns the comments after the last case. Raises ``OperationalError`` PATH_NOT_FOUND for a file that cannot
    be read, ``ParseError`` INVALID_GOLDEN_FILE for text that is not a golden file.
    """
    cases, after = read_cases(_text_of(path))
    if warehouse is not None:
        with contextlib.chdir(warehouse), _Sessions(os.path.realpath("."), catalog) as sessions:
            return [_run(case, sessions) for case in cases], after
    with (
        tempfile.TemporaryDirectory(prefix="rewriter-golden-") as folder,
        contextlib.chdir(folder),
        _Sessions(os.path.realpath(folder)) as sessions,
    ):
        return [_run(case, sessions) for case in cases], after


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ParseError(
            f"The file {path} is not UTF-8.",
            condition="INVALID_GOLDEN_FILE",
            object=str(path),
            hint="A golden file is a text file. Each case has a command, its input, ---- and the expected output.",
        ) from None
    except OSError as error:
        raise OperationalError(
            f"The file {path} cannot be read: {error.strerror}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=str(path),
            hint=f"Name a {SUFFIX} file, or a directory of them.",
        ) from None


class _Sessions:
    """One session per engine and name over one warehouse; SET and transactions belong to a session."""

    def __init__(self, warehouse: str, catalog: str | None = None) -> None:
        self.warehouse = warehouse
        self._catalog = catalog
        if catalog is None and not any(os.scandir(warehouse)):
            Catalog.open(warehouse).close()  # A fresh warehouse, so that a file may begin with any statement.
        self._open: dict[tuple[str, str], Session] = {}

    def of(self, case: Case) -> Session:
        """Returns the session that a case names by its options."""
        key = engine, _ = case.options.get("engine", "duckdb"), case.options.get("session", "")
        if key not in self._open:
            self._open[key] = Session(self.warehouse, engine, catalog=self._catalog)
        return self._open[key]

    def __enter__(self) -> _Sessions:
        return self

    def __exit__(self, *_: object) -> None:
        for session in self._open.values():
            session.close()

    def hidden(self, text: str) -> str:
        """Returns the text without the parts that differ from run to run."""
        return _MOMENTS.sub("<time>", text.replace(self.warehouse, "<warehouse>"))


def _run(case: Case, sessions: _Sessions) -> Outcome:
    lines: list[str] = []
    error: Error | None = None
    try:
        lines.extend(_output(case, sessions))
    except Error as raised:
        error = raised
        lines.append(render(raised, case.text))
    if case.command == "error" and error is None:
        lines = ["(no error)"]
    failed = (error is None) == (case.command == "error")
    shown = "\n".join(re.sub(r"[ \t]+$", "", line) for line in "\n".join(lines).splitlines())
    return Outcome(case, sessions.hidden(shown), failed)


def _output(case: Case, sessions: _Sessions) -> Iterator[str]:
    text = case.text
    session = sessions.of(case)
    if case.command == "parse":
        yield to_sql(parse(text))
    elif case.command == "rewrite":
        yield session.plan(text).sql
    elif case.command == "explain":
        result = session.execute(f"EXPLAIN {case.options.get('what', 'ALL')} {text}")
        yield from (str(row[0]) for row in result.rows())
    elif case.command == "error":
        for _, result in session.script(text):
            list(result.rows())
    else:
        for _, result in session.script(text):
            yield from _shown(result, case.options.get("format", "table"), sessions)


def _shown(result: Result, form: str, sessions: _Sessions) -> Iterator[str]:
    if result.columns is None:
        yield "OK" if result.rowcount < 0 else f"OK, {result.rowcount} rows"
    elif result.kind == "EXPLAIN" and form == "table":
        yield from (str(row[0]) for row in result.rows())
    else:
        # Paths are hidden before columns are aligned, because their length differs between machines.
        rows = ([sessions.hidden(v) if isinstance(v, str) else v for v in row] for row in result.rows())
        yield from rendered([column.name for column in result.columns], rows, form)
    for warning in result.warnings:
        yield f"Warning: {warning}"


def differences(path: Path, outcome: Outcome) -> str:
    """Returns a failed case as a person reads it: its place, its text, and the difference."""
    case = outcome.case
    diff = difflib.unified_diff(
        case.expected.splitlines(), outcome.actual.splitlines(), "expected", "actual", lineterm="", n=2
    )
    reason = ""
    if outcome.failed:
        reason = "\n(an error was expected)" if case.command == "error" else "\n(an error is not accepted here)"
    return f"{path}:{case.start}: {case.command}\n{case.text}\n" + "\n".join(diff) + reason


def golden_files(path: Path) -> list[Path]:
    """Returns the golden files that a path names: itself, or all below a directory."""
    files = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        raise OperationalError(
            f"There is no golden file at {path}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=str(path),
            hint=f"Name a {SUFFIX} file, or a directory of them.",
        )
    return files


def accept(path: Path, outcomes: list[Outcome], after: tuple[str, ...]) -> None:
    """Writes the actual outputs into the file, except for cases that failed."""
    try:
        path.write_text(write_cases(outcomes, after), encoding="utf-8")
    except OSError as error:
        if is_disk_full(error):
            raise disk_full(f"The file {path}", str(path)) from error
        raise OperationalError(
            f"The file {path} cannot be written: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(path),
            hint="Check that this user can write it.",
        ) from error


def run_command(path: str, *, rewrite: bool, warehouse: str | None = None, catalog: str | None = None) -> int:
    """Runs golden files, each in a fresh warehouse or all in ``warehouse``, and reports on stdout.

    Returns exit code 1 where a case differs, or fails and cannot be accepted.
    """
    failures = total = 0
    for file in golden_files(Path(path)):
        outcomes, after = run_file(file, warehouse, catalog)
        total += len(outcomes)
        bad = [outcome for outcome in outcomes if (outcome.failed if rewrite else not outcome.passed)]
        failures += len(bad)
        if rewrite:
            accept(file, outcomes, after)
        for outcome in bad:
            print(printable(differences(file, outcome)), end="\n\n")
    print(f"{total} cases, {failures} failed.")
    if failures:
        hint = "Cases that fail with an error are not accepted." if rewrite else "--rewrite accepts the actual output."
        print(hint, file=sys.stderr)
    return 1 if failures else 0
