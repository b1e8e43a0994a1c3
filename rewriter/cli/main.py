"""The command ``rewriter``: results on stdout, warnings and errors on stderr.

The exit code is 1 where something failed, or a CHECK FACT found a difference; ``rewriter coverage`` has more codes.
"""

from __future__ import annotations

import argparse
import gc
import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from rewriter import __version__
from rewriter.cli import coverage, golden
from rewriter.cli.catalog import add_commands, opened_text, require_warehouse
from rewriter.cli.connection import add_connection_options, add_engine_options, complete
from rewriter.errors import Error, InterfaceError, InternalError, foreign, render
from rewriter.terminal.rendering import FORMATS, rendered
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.runtime.progress import Progress
    from rewriter.runtime.result import Result
    from rewriter.session import Session

_FAILED, _INTERRUPTED = 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0, 1 where something failed or a CHECK FACT differs, 2 for wrong
    usage, 130 for Ctrl-C.
    """
    parser = _parser()
    words = list(sys.argv[1:] if argv is None else argv)
    if tuple(words[:2]) == golden.INIT:
        words[:2] = [golden.INIT_NAME]
    arguments = parser.parse_args(words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal's encoding lacks are shown as escapes.
            stream.reconfigure(errors="backslashreplace")
    if arguments.run is None:
        parser.print_help()
        return 0
    # Our errors report sqlglot's warnings about a text, or they do not matter.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        if arguments.takes_connection:
            complete(arguments)
        run: Callable[[argparse.Namespace], int] = arguments.run
        code = run(arguments)
        sys.stdout.flush()
        return code
    except Error as error:
        return _failed(error, None, arguments.debug)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has closed it; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except Exception as error:
        own_error = foreign(error)
        own_error.__cause__ = error
        return _failed(own_error, None, arguments.debug)


class _Parser(argparse.ArgumentParser):
    """Reports errors in the arguments without the control characters in them."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rewriter", description="SQL over time-partitioned tables, computed from the cheapest partitions."
    )
    parser.add_argument("--version", action="version", version=f"rewriter {__version__}")
    parser.set_defaults(run=None, takes_connection=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    common_options = _Parser(add_help=False)
    common_options.add_argument("--debug", action="store_true", help="show the traceback of an internal error")
    warehouse = _Parser(add_help=False)
    add_connection_options(warehouse)
    _sql_command(commands.add_parser("sql", parents=[common_options, warehouse], help="run SQL statements"))
    rewrite = commands.add_parser("rewrite", parents=[common_options, warehouse], help="print the rewritten query")
    rewrite.add_argument("sql", metavar="SQL", help="the query")
    rewrite.set_defaults(run=_rewrite)
    work = commands.add_parser(
        "coverage", parents=[common_options, warehouse], help="list what is to be loaded or refreshed in a fact"
    )
    coverage.add_command(work)
    work.set_defaults(run=_coverage)
    catalog = commands.add_parser("catalog", help="upgrade, check, dump or restore the catalog")
    add_commands(catalog, [common_options, warehouse])
    demo = commands.add_parser("demo", parents=[common_options], help="build a warehouse of real flights and query it")
    demo.add_argument("directory", nargs="?", default="demo", metavar="DIR", help="where to build it (default: demo)")
    add_engine_options(demo)
    demo.set_defaults(run=_demo)
    files = commands.add_parser("golden", parents=[common_options], help="run golden files; golden init writes one")
    golden.add_command(files)
    golden.add_init_command(commands.add_parser(golden.INIT_NAME, parents=[common_options]))
    return parser


def _sql_command(command: argparse.ArgumentParser) -> None:
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "-e",
        "--execute",
        metavar="SQL",
        action="append",
        help="the statements, separated by ;. Several -e run one after the other in one session",
    )
    source.add_argument("-f", "--file", metavar="FILE", help="a file of statements; - is stdin")
    command.add_argument("--format", choices=FORMATS, default="table", help="how rows are printed (default: table)")
    command.add_argument(
        "--null",
        metavar="TEXT",
        help='the text of NULL (default: NULL; in csv an empty field, and the empty string is ""). json uses its null',
    )
    add_engine_options(command)
    command.set_defaults(run=_sql)


def _sql(arguments: argparse.Namespace) -> int:
    _check_null(arguments)
    texts = arguments.execute if arguments.execute is not None else [_read_script(arguments.file)]
    from rewriter.runtime.multi_statement import not_committed
    from rewriter.terminal.progress_line import ProgressLine

    line = ProgressLine(sys.stderr)
    progress = line if sys.stderr.isatty() else None
    code = 0
    with _session(arguments, arguments.engine, arguments.master, progress) as session:
        text = None
        try:
            for text in texts:
                for _, result in session.script(text):
                    line.clear()
                    _print_result(result, arguments.format, arguments.null)
                    if result.differs:
                        code = _FAILED  # The statements that follow are still run.
            if session.in_transaction:
                raise not_committed()
            text = None
            session.streams.wait()
        except Error as error:
            line.clear()
            sys.stdout.flush()
            code = _failed(error, text, arguments.debug)
            if session.in_transaction and error.condition != "TRANSACTION_NOT_COMMITTED":
                print("Warning: The open transaction is rolled back.", file=sys.stderr)
            return code
        finally:
            line.clear()
    return code


def _check_null(arguments: argparse.Namespace) -> None:
    if arguments.null and arguments.format == "csv" and any(char in arguments.null for char in ',"\r\n'):
        raise InterfaceError(
            "In CSV, the text of NULL cannot contain a comma, a quote or a line end.",
            object="null",
            hint=r"Write --null '\N', or omit it: NULL is then an empty field, and the empty string is quoted.",
        )


def _print_result(result: Result, form: str, null: str | None) -> None:
    if result.kind == "EXPLAIN" and form == "table":
        for row in result.rows():
            print(printable(str(row[0])))
        if sys.stdout.isatty():
            _print_pictures(result)
    elif result.columns is not None:
        # CSV is unchanged data for its reader; only a terminal would act on it. All other formats are printable anyway.
        escape = printable if form == "csv" and sys.stdout.isatty() else str
        for line in rendered([column.name for column in result.columns], result.rows(), form, null):
            print(escape(line))
        result.close()
    for note in result.coverage.notes if result.kind != "EXPLAIN" else ():
        sys.stdout.flush()
        print(f"Note: {note}", file=sys.stderr)
    for warning in result.warnings:
        sys.stdout.flush()
        _warn(warning)


def _warn(warning: str) -> None:
    print(printable(f"Warning: {warning}"), file=sys.stderr)


def _print_pictures(result: Result) -> None:
    """Prints the covers of EXPLAIN as pictures, from the same data. Only for terminals: files stay comparable."""
    from rich.console import Console

    from rewriter.terminal.pictures import cover_picture

    console = Console()
    for reference in result.coverage.references:
        console.print()
        console.print(cover_picture(reference, console.width))


def _rewrite(arguments: argparse.Namespace) -> int:
    # Most of the time goes into imports, and a tenth of that into garbage collection that finds nothing.
    gc.disable()
    try:
        return _print_rewritten(arguments)
    finally:
        gc.enable()


def _print_rewritten(arguments: argparse.Namespace) -> int:
    # Rewriting only reads: it must not make a warehouse from a mistyped name.
    require_warehouse(
        arguments,
        "Name its directory with -w, or create one with a statement: rewriter sql -w DIR -e 'CREATE TABLE …'.",
    )
    with _session(arguments) as session:
        try:
            plan = session.plan(arguments.sql)
        except Error as error:
            return _failed(error, arguments.sql, arguments.debug)
    # A program that reads the query gets it unchanged.
    print(printable(plan.sql) if sys.stdout.isatty() else plan.sql)
    for warning in plan.warnings:
        _warn(warning)
    return 0


def _coverage(arguments: argparse.Namespace) -> int:
    require_warehouse(arguments, "Name the warehouse's directory with -w.")
    with _session(arguments) as session:
        try:
            return coverage.run(arguments, session, lambda line: print(printable(line)))
        except Error as error:
            error.position = None  # The position was in a generated statement.
            return _failed(error, None, arguments.debug)


def _demo(arguments: argparse.Namespace) -> int:
    from rewriter.cli.demo import run_demo

    run_demo(arguments.directory, arguments.engine, arguments.master)
    return 0


def _session(
    arguments: argparse.Namespace,
    engine: str = "duckdb",
    master: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Session:
    from rewriter.session import Session

    return Session(arguments.warehouse, engine, master, arguments.settings, arguments.catalog, progress)


def _read_script(path: str) -> str:
    with opened_text(path, "Name a readable text file, or - for stdin.", "utf-8-sig") as file:
        return file.read()


def _failed(error: Error, text: str | None, debug: bool = False) -> int:
    if isinstance(error, InternalError):
        if debug:
            print(printable("".join(traceback.format_exception(error))), file=sys.stderr)
        else:
            error.hint = f"{error.hint or ''} --debug shows where it happened.".lstrip()
    print(render(error, text), file=sys.stderr)
    return _FAILED
