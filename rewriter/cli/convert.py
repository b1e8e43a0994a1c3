"""``rewriter convert``: a script of Hive or Spark as one that runs here."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import connection, debug_option, profile_option

if TYPE_CHECKING:
    from rewriter.convert.script import Conversion
    from rewriter.convert.script_state import KnownTable

#: The suffixes of scripts of Hive.
_OF_HIVE = (".hql", ".hive", ".q")


@click.command()
@click.argument("path", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="Write the script into OUT. Default: stdout.")
@click.option("--diff", is_flag=True, help="Write the differences to FILE, as diff -u does, in place of the script.")
@click.option(
    "--check", is_flag=True, help="Write the report alone. The exit code is 1 if the script would change, too."
)
@click.option(
    "--from",
    "dialect",
    type=click.Choice(("hive", "spark")),
    help="The dialect of FILE. Default: hive for *.hql, *.hive and *.q, otherwise spark.",
)
@click.option(
    "--lenient",
    is_flag=True,
    help="Errors of casts, divisions and calls are NULL in the original, as in Hive, and in Spark before 4. Default "
    "for spark: from SET spark.sql.ansi.enabled = false on.",
)
@click.option(
    "-w",
    "--warehouse",
    metavar="DIR",
    help="The warehouse whose tables the script reads: the types of their columns decide some changes. Default: none, "
    "the tables that the script creates.",
)
@click.option("--catalog", metavar="URL", help="The PostgreSQL database of its catalog, beside -w.")
@profile_option
@debug_option
def convert(
    path: str, output: str | None, diff: bool, check: bool, dialect: str | None, lenient: bool, **options: Any
) -> int:
    """Rewrite a script of Hive or Spark into one that runs here.

    FILE is the script; - is stdin. Each change has a comment. What could not be converted stays as it is, with a
    comment, and the report on stderr names it. No statement runs.

    Exit codes: 0 if all statements are converted; 1 if some are not, or, with --check, if the script would change; 2
    for wrong usage, and for a script that cannot be read.
    """
    from rewriter.cli.catalog import opened_text
    from rewriter.convert.script import convert_script
    from rewriter.errors import ParseError

    if check and (diff or output is not None):
        raise click.UsageError("--check writes neither the script nor the differences.")
    with opened_text(path, "Name a readable text file, or - for stdin.", "utf-8-sig") as file:
        text = file.read()
    is_hive = dialect == "hive" if dialect else PurePath(path).suffix.lower() in _OF_HIVE
    try:
        converted = convert_script(text, is_hive=is_hive, is_lenient=is_hive or lenient, tables=_tables(**options))
    except ParseError as error:
        _write_error(error, text)
        return 2
    if not check:
        _write(_differences(path, text, converted.text) if diff else converted.text, output)
    _report(path, converted)
    if converted.unconverted:
        return 1
    return 1 if check and converted.text != text else 0


def _tables(warehouse: str | None, catalog: str | None, profile: str | None) -> Mapping[str, KnownTable]:
    """Returns the tables and views of a warehouse, if one is named."""
    if warehouse is None:
        if catalog is not None:
            raise click.UsageError("--catalog needs -w.")
        return {}
    from rewriter.convert.script_state import warehouse_tables

    named = connection(warehouse=warehouse, catalog=catalog, profile=profile)
    with named.reading_session("Name the directory of a warehouse.") as session:
        return warehouse_tables(session.catalog)


def _differences(path: str, before: str, after: str) -> str:
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), path, f"{path} (converted)"
        )
    )


def _write(text: str, output: str | None) -> None:
    from rewriter.shell.display import output_file

    if output is None or output == "-":
        sys.stdout.write(text)
        return
    with output_file(output) as file:
        file.write(text)


def _report(path: str, converted: Conversion) -> None:
    from rewriter.terminal_text import counted, printable

    for entry in converted.unconverted:
        hint = f"\n  Hint: {entry.hint}" if entry.hint else ""
        print(printable(f"{path}:{entry.line}: {entry.statement}\n  {entry.reason}{hint}"), file=sys.stderr)
    lines = {entry.line for entry in converted.unconverted}
    summary = f"{counted(converted.total, 'statement')}: {converted.changed} changed, {len(lines)} not converted."
    print(summary, file=sys.stderr)


def _write_error(error: Any, text: str) -> None:
    from rewriter.display.terminal.errors import write_error

    write_error(error, text, click.get_current_context().obj)
