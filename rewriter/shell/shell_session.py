"""The session of a shell: executes statements, and shows their results, messages and errors."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from rewriter.errors import Error, OperationalError
from rewriter.planner.explain import counted
from rewriter.planner.model.coverage_chart import CoverageChart
from rewriter.runtime.multi_statement import not_committed
from rewriter.runtime.result import Result
from rewriter.session import Session
from rewriter.shell.display import Destination, Display, page, terminal_columns, terminal_lines
from rewriter.shell.interrupts import Interruption
from rewriter.shell.variables import Variables
from rewriter.terminal import arrow_text
from rewriter.terminal.errors import FAILED, NOT_CONNECTED, is_of_connection, write_error
from rewriter.terminal.rendering import rendered
from rewriter.terminal_text import printable

#: After so many lines, a request of Ctrl-C is looked for.
_LINES = 1000


class QuitShell(Exception):
    r"""``\q``: the shell ends."""


class Interrupted(Exception):
    """Ctrl-C: the work ended before its end."""


@dataclass
class ShellSession:
    """A session, the settings of the shell, its variables, and the streams for rows and for all else.

    ``clear_progress`` removes the line of progress before anything is written.
    """

    session: Session
    display: Display
    variables: Variables
    rows: Destination
    messages: TextIO
    is_interactive: bool = False
    debug: bool = False
    clear_progress: Callable[[], object] = lambda: None
    #: The last statement and the next text of the prompt.
    last_statement: str = ""
    next_text: str = ""
    #: The exit code of a script: that of its first error, or of a CHECK FACT that found a difference.
    exit_code: int = 0
    terminal: Destination = field(init=False)
    interruption: Interruption = field(init=False)

    def __post_init__(self) -> None:
        self.terminal = self.rows
        self.interruption = Interruption(self.session.cancel)

    def finish(self) -> None:
        """Ends a script: reports an open transaction, and waits for streams in the background."""
        if self.session.in_transaction:
            raise not_committed()
        self.session.streams.wait(self.check_interruption)

    def execute(self, statement: str, is_vertical: bool = False) -> None:
        """Executes a statement and shows its result. Raises its errors."""
        start = time.monotonic()
        result = self.session.execute(statement)
        if result.differs:
            self.exit_code = self.exit_code or FAILED
        try:
            self.show(result, start, is_vertical)
        finally:
            result.close()

    def show(self, result: Result, start: float, is_vertical: bool = False) -> None:
        """Writes rows to their destination; notes, warnings, the number of rows and the time go to messages."""
        self.clear_progress()
        display = self.display
        form = "vertical" if is_vertical or (display.expanded == "on" and display.format == "table") else display.format
        count = None
        if result.kind == "EXPLAIN" and form == "table":
            self.write([printable(str(row[0])) for row in result.rows()], "text")
            if self.rows.is_terminal:
                self._draw(result)
        elif result.columns is not None:
            count = self._write_rows(result, form)
        self.rows.flush()
        for note in result.coverage.notes if result.kind != "EXPLAIN" else ():
            self.say(f"Note: {note}")
        for warning in result.warnings:
            self.say(f"Warning: {warning}")
        if display.timing and result.kind != "EXPLAIN":
            self.say(_footer(result, count, time.monotonic() - start))

    def _write_rows(self, result: Result, form: str) -> int:
        names = [column.name for column in result.columns or ()]
        if result.stream is not None and form in arrow_text.FORMATS:
            counter = _Counter(result.batches())
            for chunk in arrow_text.chunks(names, counter, form, self.display.null):
                self.check_interruption()
                self.clear_progress()
                self.rows.write_text(printable(chunk) if self.rows.is_terminal else chunk)
            return counter.rows
        rows = list(result.rows()) if form in ("table", "markdown") else None
        total = 0

        def counted_rows() -> Iterator[tuple[object, ...]]:
            nonlocal total
            for row in result.rows():
                total += 1
                yield row

        lines = rendered(names, counted_rows() if rows is None else rows, form, self.display.null)
        if rows is not None and form == "table" and self.display.expanded == "auto" and self.rows.is_terminal:
            lines = self._fitting(names, rows)
        self.write(lines, form)
        return total if rows is None else len(rows)

    def _fitting(self, names: list[str], rows: list[tuple[object, ...]]) -> Iterator[str]:
        table = list(rendered(names, rows, "table", self.display.null))
        if table and len(table[1 if len(table) > 1 else 0]) <= terminal_columns():
            return iter(table)
        return rendered(names, rows, "vertical", self.display.null)

    def write(self, lines: Iterable[str], form: str) -> None:
        """Writes lines: to the pager, if they are many and the destination is the terminal of a prompt."""
        if self.display.pager and self.rows.is_terminal:
            lines = list(self._watched(lines))
            if len(lines) >= terminal_lines() and page(printable(line) for line in lines):
                return
        self.rows.write_lines(self._watched(lines), form)

    def _watched(self, lines: Iterable[str]) -> Iterator[str]:
        for number, line in enumerate(lines):
            if number % _LINES == 0:
                self.check_interruption()
                self.clear_progress()
            yield line

    def check_interruption(self) -> None:
        if self.interruption.is_requested:
            raise Interrupted

    def _draw(self, result: Result) -> None:
        """Draws the covers of EXPLAIN, beside what exists now. Only for terminals: files stay comparable."""
        from rewriter.planner.cover.fact_chart import query_charts

        settings = self.session.settings.for_planner()
        for chart in query_charts(result.coverage, self.session.snapshot(), settings):
            self.rows.stream.write("\n")
            self.draw([chart])

    def draw(self, charts: Iterable[CoverageChart]) -> None:
        """Writes charts as pictures, which are as wide as the terminal; elsewhere without colours, 80 columns wide."""
        from rich.console import Console

        from rewriter.terminal.pictures import chart_picture

        columns = terminal_columns() if self.rows.is_terminal else 80
        console = Console(file=self.rows.stream, width=columns, force_terminal=self.rows.is_terminal)
        for chart in charts:
            console.print(chart_picture(chart, columns))

    def say(self, text: str) -> None:
        """Writes a message for people."""
        self._end_rows()
        print(printable(text), file=self.messages, flush=True)

    def _end_rows(self) -> None:
        """Writes what is left of the rows before a message. A file that takes no more is left."""
        try:
            self.rows.flush()
        except OperationalError as error:
            self.close_file()
            write_error(error, None, self.debug, self.messages)

    def close_file(self) -> None:
        r"""Ends the file of ``\o``: rows go to the terminal again. What cannot be written any more is lost."""
        file, self.rows = self.rows, self.terminal
        if file is not self.terminal:
            with contextlib.suppress(OSError):
                file.stream.close()

    def report(self, error: Error, text: str | None) -> None:
        """Writes an error, with a caret under the text that it is about."""
        self.exit_code = self.exit_code or (NOT_CONNECTED if is_of_connection(error) else FAILED)
        self.clear_progress()
        self._end_rows()
        write_error(error, text, self.debug, self.messages)


class _Counter:
    """Batches, and the number of rows that were taken."""

    def __init__(self, batches: Iterable[object]) -> None:
        self._batches, self.rows = batches, 0

    def __iter__(self) -> Iterator[object]:
        for batch in self._batches:
            self.rows += batch.num_rows  # type: ignore[attr-defined]
            yield batch


def _footer(result: Result, rows: int | None, seconds: float) -> str:
    """Returns a line as ``(3 rows, 0.120 s, 27 of 744 partitions)``."""
    parts = [] if rows is None and result.rowcount < 0 else [counted(result.rowcount if rows is None else rows, "row")]
    parts.append(f"{seconds:.3f} s")
    if result.stats.scans:
        try:
            every = result.stats.partitions + result.stats.avoided.partitions
        except Error:  # VACUUM has removed what the statement saw.
            every = result.stats.partitions
        if every:
            parts.append(f"{result.stats.partitions:,} of {counted(every, 'partition')}")
    shown = ", ".join(parts)
    return f"({shown})" if result.columns is not None else f"OK ({shown})"
