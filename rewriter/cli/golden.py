"""``rewriter golden FILE…`` runs golden files; ``rewriter golden init`` writes a first one from queries."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rewriter.cli.connection import add_profile_option, connection_settings
from rewriter.errors import InterfaceError, OperationalError
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.golden.runner import UserWarehouse

#: The words of the second command, and its name for argparse, in which a command is one word.
INIT = ("golden", "init")
INIT_NAME = "golden init"
#: The options that name the user's warehouse.
_NAMED = ("warehouse", "catalog", "profile")

_WAREHOUSE_HELP = (
    "the warehouse that files read (default: $REWRITER_WAREHOUSE, the profile). Without one, or with a case setup, a "
    "file runs in a new warehouse, which is removed afterwards"
)


def add_command(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of ``rewriter golden``."""
    command.add_argument("path", nargs="+", metavar="FILE", help="a golden file, or a directory of *.golden and *.test")
    _add_warehouse(command)
    command.add_argument("--rewrite", action="store_true", help="write the actual output into the files")
    command.set_defaults(run=_run)


def add_init_command(command: argparse.ArgumentParser) -> None:
    """Adds the arguments of ``rewriter golden init``."""
    command.add_argument("path", metavar="FILE", help="the golden file to write; it must not exist")
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("-e", "--execute", metavar="SQL", action="append", help="a query; several -e are several cases")
    source.add_argument("-f", "--file", metavar="SQLFILE", help="a file of queries, separated by ;. - is stdin")
    _add_warehouse(command)
    command.add_argument(
        "--engine", choices=("duckdb", "spark"), default="duckdb", help="the engine of the file (default: duckdb)"
    )
    command.add_argument("--now", metavar="TIME", help="the file's present time, in UTC (default: this moment)")
    command.set_defaults(run=_init)


def _add_warehouse(command: argparse.ArgumentParser) -> None:
    command.add_argument("-w", "--warehouse", metavar="DIR", help=_WAREHOUSE_HELP)
    command.add_argument(
        "--catalog",
        metavar="URL",
        help="the PostgreSQL database of its catalog (default: $REWRITER_CATALOG, the profile)",
    )
    add_profile_option(command)


def _user_warehouse(arguments: argparse.Namespace) -> UserWarehouse | None:
    from rewriter.golden.runner import UserWarehouse

    # A file names its engine and its settings itself.
    parts = connection_settings(argparse.Namespace(**{name: vars(arguments)[name] for name in _NAMED}))
    if parts.warehouse is None:
        if arguments.catalog:
            hint = "Name the warehouse's directory with -w."
            raise InterfaceError("--catalog needs -w.", object="catalog", hint=hint)
        return None
    return UserWarehouse(os.path.abspath(parts.warehouse), parts.catalog)


def _run(arguments: argparse.Namespace) -> int:
    """Runs golden files and reports on stdout. Returns exit code 1 where a case differs, or fails and cannot be
    accepted.
    """
    from rewriter.golden.differences import differences
    from rewriter.golden.runner import accept, golden_files, run_file

    warehouse = _user_warehouse(arguments)
    failures = total = 0
    files = dict.fromkeys(file for path in arguments.path for file in golden_files(Path(path)))
    for file in files:
        run = run_file(file.absolute(), warehouse)
        faults = run.faults(rewrite=arguments.rewrite)
        total += len(run.outcomes)
        failures += len(faults)
        if arguments.rewrite and accept(run):
            print(printable(f"{file} is rewritten."))
        for outcome in faults:
            print(printable(differences(file, outcome)), end="\n\n")
    print(f"{total} cases, {failures} failed.")
    if failures:
        hint = (
            "Cases that fail with an error are not accepted."
            if arguments.rewrite
            else "--rewrite accepts the actual output."
        )
        print(hint, file=sys.stderr)
    return 1 if failures else 0


def _init(arguments: argparse.Namespace) -> int:
    """Writes the queries with their results as a golden file, or nothing at all if one of them fails."""
    from rewriter.cli.catalog import opened_text
    from rewriter.durable_files import write_whole
    from rewriter.golden.commands import read_options
    from rewriter.golden.differences import report
    from rewriter.golden.plain_sql import read_golden_file
    from rewriter.golden.runner import run_text

    path = Path(arguments.path).absolute()
    if path.exists():
        raise _exists(path)
    if arguments.file is not None:
        with opened_text(arguments.file, "Name a readable text file, or - for stdin.", "utf-8-sig") as source:
            sql = source.read()
    else:
        sql = ";\n\n".join(text.strip().rstrip(";") for text in arguments.execute) + ";\n"
    now = arguments.now or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if problem := _problem(read_options([f"now={now}"], "options")):
        raise InterfaceError(f"--now: {problem}.", object="now", hint="Write --now 2024-03-01.")
    header = f"# Accept changed results: rewriter golden --rewrite.\noptions engine={arguments.engine} now={now}\n\n"
    file = read_golden_file(header + sql)
    if not file.of_plain_sql or not file.cases:
        raise InterfaceError("There is no query.", object=arguments.file, hint="Write queries, separated by ;.")
    run = run_text(path, b"", file, _user_warehouse(arguments))
    if failures := report(run, rewrite=True):
        print(printable(failures), end="\n\n")
        print("No file is written, because a query fails.", file=sys.stderr)
        return 1
    try:
        if not write_whole(str(path), run.rewritten, replace=False):
            raise _exists(path)
    except OSError as error:
        raise OperationalError(
            f"The file {path} cannot be written: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(path),
            hint="Name a file in a directory that exists and that this user can write.",
        ) from error
    print(printable(f"{arguments.path}: {len(run.outcomes)} cases."))
    return 0


def _problem(options: dict[str, str] | str) -> str:
    return options if isinstance(options, str) else ""


def _exists(path: Path) -> OperationalError:
    return OperationalError(
        f"The file {path} exists.",
        condition="FAILED_WRITE_FILE",
        sqlstate="58030",
        object=str(path),
        hint="Name a new file, or change this one and run rewriter golden --rewrite.",
    )
