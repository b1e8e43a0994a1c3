"""The command ``rewriter``: results on stdout, warnings and errors on stderr, exit code 1 where something failed."""

from __future__ import annotations

import argparse
import gc
import logging
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rewriter import __version__
from rewriter.catalog_commands import add_commands, opened_text, require_warehouse
from rewriter.errors import Error, InterfaceError, render

if TYPE_CHECKING:
    from rewriter.progress import Progress
    from rewriter.result import Result
    from rewriter.session import Session

_FAILED, _INTERRUPTED = 1, 130
_FORMATS = ("table", "csv", "json", "markdown")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and answers its exit code: 0, 1 where something failed, 2 for wrong usage, 130 for Ctrl-C."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.run is None:
        parser.print_help()
        return 0
    # What sqlglot thinks of a text is said by our errors, or does not matter.
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    try:
        run: Callable[[argparse.Namespace], int] = arguments.run
        code = run(arguments)
        sys.stdout.flush()
        return code
    except Error as error:
        return _failed(error, None)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout has gone; nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except Exception as error:
        if arguments.debug:
            traceback.print_exc()
        summary = " ".join(str(error).split())[:300]
        print(f"Error: internal error {type(error).__name__}: {summary}", file=sys.stderr)
        print("Hint: this is a bug of rewriter; --debug shows where it happened.", file=sys.stderr)
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rewriter", description="SQL over time-partitioned tables, answered from the best partitions."
    )
    parser.add_argument("--version", action="version", version=f"rewriter {__version__}")
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show the traceback of an internal error")
    warehouse = argparse.ArgumentParser(add_help=False)
    warehouse.add_argument(
        "-w",
        "--warehouse",
        metavar="DIR",
        default=os.environ.get("REWRITER_WAREHOUSE") or "warehouse",
        help="the warehouse directory (default: $REWRITER_WAREHOUSE, otherwise ./warehouse)",
    )
    warehouse.add_argument(
        "--catalog",
        metavar="URL",
        default=os.environ.get("REWRITER_CATALOG") or None,
        help="the PostgreSQL database that holds the catalog (default: $REWRITER_CATALOG, otherwise a file in DIR)",
    )
    warehouse.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a setting, such as rewriter.partial_data=true"
    )
    _sql_command(commands.add_parser("sql", parents=[common, warehouse], help="run SQL statements"))
    rewrite = commands.add_parser("rewrite", parents=[common, warehouse], help="print a query as it would be run")
    rewrite.add_argument("sql", metavar="SQL", help="the query")
    rewrite.set_defaults(run=_rewrite)
    catalog = commands.add_parser("catalog", help="upgrade, check, dump or restore the catalog")
    add_commands(catalog, [common, warehouse])
    demo = commands.add_parser("demo", parents=[common], help="build a warehouse of real flights and query it")
    demo.add_argument("directory", nargs="?", default="demo", metavar="DIR", help="where to build it (default: demo)")
    _engine_options(demo)
    demo.set_defaults(run=_demo)
    golden = commands.add_parser("golden", parents=[common], help="run golden files")
    golden.add_argument("path", metavar="PATH", help="a .test file, or a directory of them")
    golden.add_argument("--rewrite", action="store_true", help="write what came out into the files")
    golden.set_defaults(run=_golden)
    return parser


def _sql_command(command: argparse.ArgumentParser) -> None:
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("-e", "--execute", metavar="SQL", help="the statements, separated by ;")
    source.add_argument("-f", "--file", metavar="FILE", help="a file of statements; - is stdin")
    command.add_argument("--format", choices=_FORMATS, default="table", help="how rows are printed (default: table)")
    _engine_options(command)
    command.set_defaults(run=_sql)


def _engine_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--engine", choices=("spark", "duckdb"), default="spark", help="what runs queries")
    command.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")


def _sql(arguments: argparse.Namespace) -> int:
    text = arguments.execute if arguments.execute is not None else _read(arguments.file)
    from rewriter.shell.progress_line import ProgressLine
    from rewriter.transactions import not_committed

    line = ProgressLine(sys.stderr)
    progress = line if sys.stderr.isatty() else None
    with _session(arguments, arguments.engine, arguments.master, progress) as session:
        try:
            for _, result in session.script(text):
                line.clear()
                _print_result(result, arguments.format)
            if session.in_transaction:
                raise not_committed()
        except Error as error:
            line.clear()
            sys.stdout.flush()
            code = _failed(error, text)
            if session.in_transaction and error.condition != "TRANSACTION_NOT_COMMITTED":
                print("Warning: The open transaction is rolled back.", file=sys.stderr)
            return code
        finally:
            line.clear()
    return 0


def _print_result(result: Result, form: str) -> None:
    from rewriter.shell.rendering import rendered

    if result.kind == "EXPLAIN" and form == "table":
        for row in result.rows():
            print(row[0])
        if sys.stdout.isatty():
            _print_pictures(result)
    elif result.columns is not None:
        for line in rendered([column.name for column in result.columns], result.rows(), form):
            print(line)
        result.close()
    for warning in result.warnings:
        sys.stdout.flush()
        print(f"Warning: {warning}", file=sys.stderr)


def _print_pictures(result: Result) -> None:
    """The covers that EXPLAIN told of, drawn from the same data; for terminals only, so that files stay comparable."""
    from rich.console import Console

    from rewriter.shell.pictures import cover_picture

    console = Console()
    for reference in result.coverage.references:
        console.print()
        console.print(cover_picture(reference, console.width))


def _rewrite(arguments: argparse.Namespace) -> int:
    # Most of the time goes into imports, and a tenth of theirs into looking for garbage that is not there.
    gc.disable()
    try:
        return _print_rewritten(arguments)
    finally:
        gc.enable()


def _print_rewritten(arguments: argparse.Namespace) -> int:
    # Rewriting only reads: it must not make a warehouse out of a mistyped name.
    require_warehouse(
        arguments, "Name its directory with -w, or make one by a statement: rewriter sql -w DIR -e 'CREATE TABLE …'."
    )
    with _session(arguments) as session:
        try:
            plan = session.plan(arguments.sql)
        except Error as error:
            return _failed(error, arguments.sql)
    print(plan.sql)
    for warning in plan.warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from rewriter.demo import run_demo

    run_demo(arguments.directory, arguments.engine, arguments.master)
    return 0


def _golden(arguments: argparse.Namespace) -> int:
    from rewriter.golden import run_command

    return run_command(arguments.path, rewrite=arguments.rewrite)


def _session(
    arguments: argparse.Namespace,
    engine: str = "duckdb",
    master: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Session:
    from rewriter.session import Session

    settings = dict(map(_key_value, arguments.set))
    return Session(arguments.warehouse, engine, master, settings, arguments.catalog, progress)


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InterfaceError(
            f"--set {text} has no value.", object=text, hint="Write --set key=value, as in rewriter.partial_data=true."
        )
    return key.strip(), value.strip()


def _read(path: str) -> str:
    with opened_text(path, "Name a readable text file, or - for stdin.", "utf-8-sig") as file:
        return file.read()


def _failed(error: Error, text: str | None) -> int:
    print(render(error, text), file=sys.stderr)
    return _FAILED
