"""The session of a shell: executes statements, and shows their results, messages and errors."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from rewriter.display.terminal import rendering
from rewriter.display.terminal.errors import FAILED, NOT_CONNECTED, is_of_connection, write_error
from rewriter.display.terminal.rendering import STATEMENT, Layout, envelope_lines, render_lines
from rewriter.display.terminal.spooled_rows import SpooledRows
from rewriter.errors import Error, OperationalError
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.progress import Progress
from rewriter.runtime.text_variables import substitute_variables
from rewriter.runtime.transaction_errors import not_committed
from rewriter.shell.display import BOUNDED_FORMATS, Destination, Display, page_lines, terminal_columns, terminal_lines
from rewriter.shell.interrupts import Interruption
from rewriter.terminal_text import counted, printable

if TYPE_CHECKING:
    from rewriter.display.terminal.progress_line import ProgressLine
    from rewriter.planner.model.coverage_chart import CoverageChart
    from rewriter.runtime.parameters import BoundText
    from rewriter.runtime.result import Result
    from rewriter.runtime.text_variables import Variables
    from rewriter.session import Session

#: A longer cell is cut on a terminal, so that the layout of one value never takes long.
_LONGEST_CELL = 65_536
#: The rows between two reports of how many were read.
_REPORTED_ROWS = 4096
#: The seconds after the end of the pager in which a request of Ctrl-C, which ended it, arrives.
_PAGER_SECONDS = 0.2

T = TypeVar("T")


class QuitShell(Exception):
    r"""``\q``: the shell ends."""


class Interrupted(Exception):
    """Ctrl-C: the work ended before its end."""


@dataclass
class ShellSession:
    """A session, the settings of the shell, its variables, and the streams for rows and for all else.

    ``progress`` is the line of progress, which is hidden while anything is written to the terminal, and at the prompt.
    """

    session: Session
    display: Display
    variables: Variables
    rows: Destination
    messages: TextIO
    is_interactive: bool = False
    debug: bool = False
    progress: ProgressLine | None = None
    #: The last statement and the next text of the prompt.
    last_statement: str = ""
    next_text: str = ""
    #: The exit code of a script: the code of its first error, or of a CHECK FACT that found a difference.
    exit_code: int = 0
    #: The certificate of the last query over a cube, if the command asks for it.
    keeps_certificate: bool = False
    certificate: Mapping[str, Any] | None = None
    terminal: Destination = field(init=False)
    interruption: Interruption = field(init=False)

    def __post_init__(self) -> None:
        self.terminal = self.rows
        if self.progress is not None:
            self.progress.hide()
        self.interruption = Interruption(self.session.cancel)

    def finish(self) -> None:
        """Ends a script: reports an open transaction, and waits for streams in the background."""
        if self.session.in_transaction:
            raise not_committed()
        with self._progress_shown():
            self.session.streams.wait(self.check_interruption)
        for warning in self.session.last_warnings():
            self.say(f"Warning: {warning}")

    def substituted(self, statement: str) -> BoundText:
        """Returns a statement with the values of the shell's variables, and of those that SET has set."""
        return substitute_variables(statement, self.variables, self.session.settings.text_variables)

    def execute(self, statement: str, is_vertical: bool = False) -> None:
        """Executes a statement and shows its result. Raises its errors."""
        start = time.monotonic()
        with self._progress_shown():
            result = self.session.execute(statement)
        if result.differs:
            self.exit_code = self.exit_code or FAILED
        try:
            if self.keeps_certificate and result.certify is not None:
                self.certificate = result.certify()
            self.show(result, start, is_vertical)
        finally:
            result.close()

    def show(self, result: Result, start: float, is_vertical: bool = False) -> None:
        """Writes rows to their destination; notes, warnings, the number of rows and the time go to messages."""
        display = self.display
        form = "vertical" if is_vertical or (display.expanded == "on" and display.format == "table") else display.format
        shown = None
        if result.kind == "EXPLAIN" and form == "table":
            self.write([printable(str(row[0])) for row in result.rows()], "text")
            if self.rows.is_terminal:
                self._draw(result)
        elif result.columns is not None:
            shown = self._write_rows(result, form)
        self.rows.flush()
        for note in result.coverage.notes if result.kind != "EXPLAIN" else ():
            self.say(f"Note: {note}")
        for warning in result.warnings:
            self.say(f"Warning: {warning}")
        if shown is not None and shown.has_more:
            self.say(f"Note: {shown.sentence} \\maxrows 0 shows all rows, and \\o FILE writes all into a file.")
        if display.timing and result.kind != "EXPLAIN":
            self.say(_footer(result, shown, time.monotonic() - start))

    def _write_rows(self, result: Result, form: str) -> _Shown:
        """Writes the rows of a result; to a terminal, in a format for people, at most ``max_rows`` of them."""
        names = [column.name for column in result.columns or ()]
        if result.stream is not None and form in rendering.ARROW_TEXT_FORMATS:
            counter = _Counter(result.batches())
            with self._progress_shown(on_terminal=False):
                for chunk in rendering.chunks(names, counter, form, self.display.null):
                    self._write_chunk(chunk)
            return _Shown(counter.rows)
        is_bounded = self.rows.is_terminal and form in BOUNDED_FORMATS and self.display.max_rows > 0
        taken = islice(result.rows(), self.display.max_rows if is_bounded else None)
        rows = _CountedRows(self._watched(taken), self.progress)
        longest = _LONGEST_CELL if self.rows.is_terminal and form in BOUNDED_FORMATS else None
        if form == "envelope":
            self.write(envelope_lines(result, rows, lambda: rows.count), form)
        elif self.rows.is_terminal and form in ("table", "markdown") and names != [STATEMENT]:
            with self._progress_shown():
                layout = Layout(names, rows, "NULL" if self.display.null is None else self.display.null, longest)
            with layout:
                self.write(self._lines(layout, form), form)
        else:
            self.write(render_lines(names, rows, form, self.display.null, longest), form)
        if not is_bounded or rows.count < self.display.max_rows or next(result.rows(), None) is None:
            return _Shown(rows.count)
        total = rows.count + 1 + sum(1 for _ in result.rows()) if result.stream is None else None
        return _Shown(rows.count, has_more=True, total=total)

    def _lines(self, layout: Layout, form: str) -> Iterator[str]:
        if form == "markdown":
            return layout.markdown()
        is_wide = self.display.expanded == "auto" and layout.width > terminal_columns()
        return layout.vertical() if is_wide else layout.table()

    def _write_chunk(self, chunk: str) -> None:
        if not self.rows.is_terminal:
            self.check_interruption()
            self.rows.write_text(chunk)
            return
        for line in self._watched(printable(chunk).splitlines(keepends=True)):
            self.rows.write_text(line)

    def write(self, lines: Iterable[str], form: str) -> None:
        """Writes lines: to the pager, if they are many and the destination is the terminal of a prompt."""
        if not self.display.pager or not self.rows.is_terminal:
            with self._progress_shown(on_terminal=False):
                self.rows.write_lines(self._watched(lines), form)
            return
        with self._progress_shown():
            spooled = SpooledRows(self._watched(lines))
        with spooled:
            if len(spooled) >= terminal_lines():
                is_shown = page_lines(map(printable, self._watched(spooled)), self.interruption)
                if not is_shown:
                    self.interruption.wait(_PAGER_SECONDS)  # The pager may have seen Ctrl-C first.
                self.check_interruption()
                if is_shown:
                    return
            self.rows.write_lines(self._watched(spooled), form)

    def _watched(self, rows: Iterable[T]) -> Iterator[T]:
        for row in rows:
            self.check_interruption()
            yield row

    @contextlib.contextmanager
    def _progress_shown(self, *, on_terminal: bool = True) -> Iterator[None]:
        """Shows progress while the block runs, which writes nothing for people; with ``on_terminal=False``, only if it
        writes rows elsewhere.
        """
        line = None if self.rows.is_terminal and not on_terminal else self.progress
        if line is None:
            yield
            return
        line.show()
        try:
            yield
        finally:
            line.hide()

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

        from rewriter.display.terminal.pictures import chart_picture

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
        self._end_rows()
        write_error(error, text, self.debug, self.messages)


@dataclass(frozen=True)
class _Shown:
    """The number of rows that were written, and the ``total`` of a result that ``has_more``, if it is known."""

    rows: int
    has_more: bool = False
    total: int | None = None

    @property
    def sentence(self) -> str:
        if self.total is None:
            return f"The first {self.rows:,} rows are shown, the result has more."
        return f"The first {self.rows:,} of {self.total:,} rows are shown."

    @property
    def amount(self) -> str:
        """``3 rows``, ``first 1,000 rows`` or ``1,000 of 26,280 rows``."""
        if not self.has_more:
            return counted(self.rows, "row")
        return f"first {self.rows:,} rows" if self.total is None else f"{self.rows:,} of {self.total:,} rows"


class _CountedRows:
    """Rows, and the number of the rows that were taken, which is reported to a line of progress."""

    def __init__(self, rows: Iterable[tuple[object, ...]], progress: ProgressLine | None) -> None:
        self._rows, self._progress, self.count = rows, progress, 0

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for row in self._rows:
            if self._progress is not None and self.count % _REPORTED_ROWS == 0:
                self._progress(Progress("reading", self.count, unit="rows"))
            self.count += 1
            yield row


class _Counter:
    """Batches, and the number of rows that were taken."""

    def __init__(self, batches: Iterable[object]) -> None:
        self._batches, self.rows = batches, 0

    def __iter__(self) -> Iterator[object]:
        for batch in self._batches:
            self.rows += batch.num_rows  # type: ignore[attr-defined]
            yield batch


def _footer(result: Result, shown: _Shown | None, seconds: float) -> str:
    """Returns a line as ``(3 rows, 0.120 s, 27 of 744 partitions)``."""
    parts = [shown.amount] if shown is not None else [counted(result.rowcount, "row")] if result.rowcount >= 0 else []
    parts.append(f"{seconds:.3f} s")
    if result.stats.scans:
        try:
            every = result.stats.partitions + result.stats.avoided.partitions
        except Error:  # VACUUM has removed what the statement saw.
            every = result.stats.partitions
        if every:
            parts.append(f"{result.stats.partitions:,} of {counted(every, 'partition')}")
    text = ", ".join(parts)
    return f"({text})" if result.columns is not None else f"OK ({text})"
