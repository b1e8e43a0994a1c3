"""The command ``rewriter``: results on stdout, warnings and errors on stderr.

Exit codes: 0; 1 where a statement failed, or a CHECK FACT found a difference; 2 for wrong usage and where there is no
connection; 130 for Ctrl-C. ``rewriter coverage`` has more codes.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import click

from rewriter import __version__
from rewriter.cli.catalog import catalog
from rewriter.cli.connection import connection, connection_options, debug_option, engine_options
from rewriter.cli.convert import convert
from rewriter.cli.coverage import coverage
from rewriter.cli.default_group import DefaultGroup
from rewriter.cli.doctor import doctor
from rewriter.cli.golden import golden
from rewriter.cli.import_metastore import import_metastore
from rewriter.cli.init import init
from rewriter.cli.maintain import maintain
from rewriter.cli.serve import serve
from rewriter.cli.shell import shell, sql
from rewriter.cli.verify import verify
from rewriter.display.terminal.errors import FAILED, INTERRUPTED, exit_code, write_error
from rewriter.errors import Error, foreign
from rewriter.terminal_text import printable

#: New objects between two runs of Python's cyclic garbage collector. By default there are 700, so that the collector
#: takes a tenth of the time in which a command loads its modules, and frees nothing.
_GC_THRESHOLD = 50_000


def run_process() -> int:
    """Runs the command of this process, and returns its exit code. Ctrl-C shows no traceback, whenever it comes: while
    the package is loaded (``rewriter/__init__.py``), in ``main``, and at the end of Python.
    """
    gc.set_threshold(_GC_THRESHOLD)
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # By nohup, for example.
    if not is_ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = main()
    if not is_ignored:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.freeze()  # The end of the process frees all objects: Python need not look for cycles, which takes 50 ms.
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    is_debug = "--debug" in words
    try:
        with rewriter.make_context("rewriter", words, obj=is_debug) as context:
            code = rewriter.invoke(context)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.ClickException as error:
        message = io.StringIO()
        error.show(file=message)
        print(printable(message.getvalue()), end="", file=sys.stderr)
        return error.exit_code
    except Error as error:
        return _failed(error, is_debug)
    except (KeyboardInterrupt, click.Abort):
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has closed it; nothing may be written at exit either.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        own_error = foreign(error)
        own_error.__cause__ = error
        return _failed(own_error, is_debug)


def _prepare_streams() -> None:
    """Makes pipes and files UTF-8, whatever the locale is. On a terminal, characters that its encoding lacks are shown
    as escapes. Streams that are closed take everything, and have nothing.
    """
    sys.stdin = open(os.devnull) if sys.stdin is None else sys.stdin  # noqa: SIM115
    sys.stdout = open(os.devnull, "w") if sys.stdout is None else sys.stdout  # noqa: SIM115
    sys.stderr = open(os.devnull, "w") if sys.stderr is None else sys.stderr  # noqa: SIM115
    if isinstance(sys.stdin, io.TextIOWrapper) and not sys.stdin.isatty():
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="strict")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() or stream is sys.stderr else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _failed(error: Error, is_debug: bool) -> int:
    write_error(error, None, is_debug)
    return exit_code(error)


@click.group(cls=DefaultGroup, default="shell", context_settings={"help_option_names": ["-h", "--help"]})
@debug_option
@click.version_option(__version__, "--version", prog_name="rewriter", message="%(prog)s %(version)s")
def rewriter() -> None:
    """SQL over time-partitioned tables: queries read the cheapest partitions that cover their range of time.

    Without a command, it is the SQL shell: rewriter -w DIR is rewriter shell -w DIR.
    """
    import logging

    # Our errors report sqlglot's warnings about a text, or they do not matter.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)


@rewriter.command()
@connection_options
@click.argument("sql", metavar="SQL")
def rewrite(sql: str, **options: Any) -> int:
    """Print the SQL over tables that a query over cubes becomes.

    SQL is the query. No engine starts. Warnings go to stderr.
    """
    import gc

    # Most of the time goes into imports, and a tenth of that into garbage collection that finds nothing.
    gc.disable()
    try:
        return _print_rewritten(sql, options)
    finally:
        gc.enable()


def _print_rewritten(sql: str, options: dict[str, Any]) -> int:
    # Rewriting only reads: it makes no warehouse from a mistyped name, and upgrades no catalog.
    hint = "Name its directory with -w, or create one with a statement: rewriter sql -w DIR -e 'CREATE TABLE …'."
    with connection(**options).reading_session(hint) as session:
        try:
            plan = session.plan(sql)
        except Error as error:
            write_error(error, sql, click.get_current_context().obj)
            return exit_code(error)
    # A program that reads the query gets it unchanged.
    print(printable(plan.sql) if sys.stdout.isatty() else plan.sql)
    for warning in plan.warnings:
        print(printable(f"Warning: {warning}"), file=sys.stderr)
    return 0


@rewriter.command()
@click.argument("directory", metavar="[DIR]", default="demo")
@engine_options
@debug_option
def demo(directory: str, **options: Any) -> None:
    """Build a warehouse of real flights, and show what queries read.

    DIR is its directory, demo by default. It is new, empty, or that of an earlier demo, which is removed.
    """
    from rewriter.cli.demo import run_demo

    opened = connection(**options)
    run_demo(directory, opened.engine, opened.master)


for command in (
    shell,
    sql,
    coverage,
    serve,
    catalog,
    import_metastore,
    doctor,
    golden,
    init,
    maintain,
    verify,
    convert,
):
    rewriter.add_command(command)
