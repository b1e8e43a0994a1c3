"""``rewriter golden FILE…`` runs golden files; ``rewriter golden init`` writes a first one from queries."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import Command, connection_settings, debug_option, profile_option
from rewriter.cli.default_group import DefaultGroup
from rewriter.errors import InterfaceError, OperationalError
from rewriter.terminal_text import printable

if TYPE_CHECKING:
    from rewriter.golden.runner import UserWarehouse

_WAREHOUSE_HELP = (
    "The warehouse that files read. Without one, or with a case setup, a file runs in a new warehouse, which is "
    "removed afterwards. Default: $REWRITER_WAREHOUSE, the profile."
)


def _warehouse_options(command: Command) -> Command:
    for option in (
        debug_option,
        profile_option,
        click.option(
            "--catalog",
            metavar="URL",
            help="The PostgreSQL database of its catalog, as postgresql+psycopg://user@host/database. Default: "
            "$REWRITER_CATALOG, the profile.",
        ),
        click.option("-w", "--warehouse", metavar="DIR", help=_WAREHOUSE_HELP),
    ):
        command = option(command)
    return command


@click.group(cls=DefaultGroup, default="run", takes_words=True, no_args_is_help=True)
def golden() -> None:
    """Run golden files: queries with their expected results.

    golden init writes such a file. Without a command, it is golden run.
    """


def _user_warehouse(warehouse: str | None, catalog: str | None, profile: str | None) -> UserWarehouse | None:
    from rewriter.golden.runner import UserWarehouse

    # A file names its engine and its settings itself.
    parts = connection_settings(warehouse=warehouse, catalog=catalog, profile=profile)
    if parts.warehouse is None:
        if catalog:
            hint = "Name the warehouse's directory with -w."
            raise InterfaceError("--catalog needs -w.", object="catalog", hint=hint)
        return None
    return UserWarehouse(os.path.abspath(parts.warehouse), parts.catalog)


@golden.command()
@_warehouse_options
@click.argument("paths", metavar="FILE…", nargs=-1, required=True)
@click.option("--rewrite", is_flag=True, help="Write the actual results into the files.")
def run(paths: tuple[str, ...], rewrite: bool, **options: Any) -> int:
    """Run the cases of golden files.

    FILE is a golden file, or a directory with files *.golden and *.test.

    Exit codes: 0 if each case has its result; 1 if a case differs, or fails.
    """
    from rewriter.golden.runner import accept, differences, golden_files, run_file
    from rewriter.terminal_text import counted

    warehouse = _user_warehouse(**options)
    failures = total = 0
    files = dict.fromkeys(file for path in paths for file in golden_files(Path(path)))
    for file in files:
        file_run = run_file(file.absolute(), warehouse)
        faults = file_run.faults(rewrite=rewrite)
        total += len(file_run.outcomes)
        failures += len(faults)
        if rewrite and accept(file_run):
            print(printable(f"{file} is rewritten."))
        for outcome in faults:
            print(printable(differences(file, outcome)), end="\n\n")
    print(f"{counted(total, 'case')}, {failures} failed.", flush=True)
    if failures:
        hint = "Cases that fail with an error are not accepted." if rewrite else "--rewrite accepts the actual output."
        print(hint, file=sys.stderr)
    return 1 if failures else 0


@golden.command()
@_warehouse_options
@click.argument("path", metavar="FILE")
@click.option("-e", "--execute", metavar="SQL", multiple=True, help="A query. Several -e are several cases.")
@click.option("-f", "--file", "source", metavar="SQLFILE", help="A file of queries, separated by ;. - is stdin.")
@click.option(
    "--engine",
    type=click.Choice(("duckdb", "spark")),
    default="duckdb",
    show_default=True,
    help="The engine that the file names.",
)
@click.option("--now", metavar="TIME", help="The current time of the file, in UTC: 2024-03-01. Default: this moment.")
def init(path: str, execute: tuple[str, ...], source: str | None, engine: str, now: str | None, **options: Any) -> int:
    """Write a golden file of queries and their results.

    FILE must not exist. If a query fails, nothing is written, and the exit code is 1.
    """
    from rewriter.cli.catalog import opened_text
    from rewriter.directory_changes import write_whole
    from rewriter.golden.golden_file import read_golden_file, read_options
    from rewriter.golden.runner import run_report, run_text
    from rewriter.terminal_text import counted

    if bool(execute) == (source is not None):
        raise click.UsageError("Name queries: -e SQL, or -f FILE.")
    target = Path(path).absolute()
    if target.exists():
        raise _exists(target)
    if source is not None:
        with opened_text(source, "Name a readable text file, or - for stdin.", "utf-8-sig") as queries:
            sql = queries.read()
    else:
        sql = ";\n\n".join(text.strip().rstrip(";") for text in execute) + ";\n"
    now = now or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    if problem := _problem(read_options([f"now={now}"], "options")):
        raise InterfaceError(f"--now: {problem}.", object="now", hint="Write --now 2024-03-01.")
    header = f"# Accept changed results: rewriter golden --rewrite.\noptions engine={engine} now={now}\n\n"
    file = read_golden_file(header + sql)
    if not file.of_plain_sql or not file.cases:
        raise InterfaceError("There is no query.", object=source, hint="Write queries, separated by ;.")
    file_run = run_text(target, b"", file, _user_warehouse(**options))
    if failures := run_report(file_run, rewrite=True):
        print(printable(failures), end="\n\n")
        print("No file is written, because a query fails.", file=sys.stderr)
        return 1
    try:
        if not write_whole(str(target), file_run.rewritten, replace=False):
            raise _exists(target)
    except OSError as error:
        raise OperationalError(
            f"The file {target} cannot be written: {error.strerror}.",
            condition="FAILED_WRITE_FILE",
            sqlstate="58030",
            object=str(target),
            hint="Name a file in a directory that exists and that this user can write.",
        ) from error
    print(printable(f"{path}: {counted(len(file_run.outcomes), 'case')}."))
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
