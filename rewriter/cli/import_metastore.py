"""``rewriter import thrift://…``: the tables of a running Hive metastore become external tables of the catalog."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection, connection_options
from rewriter.cli.stop_signals import stop_signals
from rewriter.display.terminal.errors import FAILED
from rewriter.errors import InterfaceError
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.display.terminal.progress_line import ProgressLine
    from rewriter.metastore.adoption.report import Report
    from rewriter.runtime.progress import Progress


@click.command(name="import")
@connection_options
@click.argument("source", metavar="thrift://HOST:PORT")
@click.argument("tables", metavar="[DB.TABLE]…", nargs=-1)
@click.option("--follow", "is_following", is_flag=True, help="Continue with the changes of the source, until Ctrl-C.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow asks for changes.",
)
def import_metastore(source: str, tables: tuple[str, ...], is_following: bool, interval: float, **options: Any) -> int:
    """Take the tables of a running Hive metastore into the catalog.

    thrift://HOST:PORT is the address of the metastore. DB.TABLE names one table, DB.* all tables of a database; without
    names, all tables, views and functions are taken, with partitions and statistics. Tables become external, and their
    files are not touched. An import that was interrupted continues where it was, and one that runs again takes what has
    changed.

    Exit codes: 0 if everything was taken; 1 if something was not, which is listed with the reason.
    """
    _require_thrift()
    from rewriter.catalog.catalog import Catalog
    from rewriter.catalog.filesystems.registry import using
    from rewriter.metastore.adoption.follow import Follower
    from rewriter.metastore.adoption.plan import Selection
    from rewriter.metastore.adoption.report import Report
    from rewriter.metastore.adoption.run import Import
    from rewriter.metastore.adoption.source import Address, Source
    from rewriter.runtime.progress import ProgressReporter

    selection, address = Selection.parse(tables), Address.parse(source)
    named = connection(**options)
    line = _progress_line()
    with (
        using(named.filesystems),
        closing(Source(address)) as read,
        closing(Catalog.open(named.warehouse, named.catalog)) as catalog,
    ):
        importing = Import(
            catalog, read, selection, Report(lambda text: _say(text, line)), ProgressReporter(_shown(line))
        )
        try:
            # Before the import: what changes while it runs is looked at again.
            last = read.last_event()
            names = importing.everything()
        finally:
            _clear(line)
            _print(importing.report)
        _say(importing.report.summary, None)
        if not is_following:
            return 0 if importing.report.is_complete else FAILED
        with stop_signals() as wait:
            follower = Follower(importing, last, names, wait, lambda text: _say(text, line), interval)
            for report in follower.reports():
                _clear(line)
                _print(report)
    return 0


def _require_thrift() -> None:
    try:
        import thrift  # noqa: F401
    except ImportError as error:
        raise InterfaceError(
            f"The metastore needs the package thrift: {error}.",
            condition="METASTORE_LIBRARY_NOT_FOUND",
            hint="Run pip install 'rewriter[metastore]'.",
        ) from None


def _progress_line() -> ProgressLine | None:
    from rewriter.display.terminal.progress_line import ProgressLine

    return ProgressLine(sys.stderr) if sys.stderr.isatty() else None


def _shown(line: ProgressLine | None) -> Any:
    """Returns the observer of the progress: the line on a terminal; otherwise a line for each 100,000 partitions."""
    last: list[tuple[str, int]] = [("", 0)]

    def write(progress: Progress) -> None:
        step = progress.subject, progress.done // 100_000
        if progress.total and step != last[0] and step[1]:
            _say(f"{progress.subject}: {progress.done:,} of {progress.total:,} partitions", None)
        last[0] = step

    return line if line is not None else write


def _say(text: str, line: ProgressLine | None) -> None:
    _clear(line)
    print(printable(text), file=sys.stderr, flush=True)


def _clear(line: ProgressLine | None) -> None:
    if line is not None:
        line.clear()


def _print(report: Report) -> None:
    from rewriter.display.terminal.rendering import render_lines
    from rewriter.metastore.adoption.report import COLUMNS

    rows = list(report.rows())
    if rows:
        for text in render_lines(COLUMNS, rows, "table", null=""):
            print(text.rstrip(), flush=True)
