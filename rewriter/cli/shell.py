"""``rewriter shell`` and ``rewriter sql``: the prompt, and scripts."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewriter.cli.connection import Command, Connection, connection, connection_options, engine_options
from rewriter.display.terminal import FORMATS

if TYPE_CHECKING:
    from rewriter.runtime.text_variables import Variables
    from rewriter.shell.display import Destination, Display
    from rewriter.shell.shell_session import ShellSession


def _shell_options(command: Command) -> Command:
    options = (
        click.option(
            "-e",
            "--execute",
            metavar="SQL",
            multiple=True,
            help="Run statements, separated by ;. Several -e run one after the other in one session.",
        ),
        click.option(
            "-f", "--file", metavar="FILE", help="Run a file of statements and commands of the shell; - is stdin."
        ),
        click.option("--format", "form", type=click.Choice(FORMATS), help="The format of rows. Default: table."),
        click.option(
            "--null",
            metavar="TEXT",
            help='The text of NULL. Default: NULL; in csv an empty field, and the empty string is "". JSON has null.',
        ),
        click.option(
            "-o", "--output", metavar="FILE", help="Write rows into FILE, which appears when all statements have run."
        ),
        click.option(
            "--certificate",
            metavar="FILE",
            help="Write the certificate of the last query over a cube into FILE: rewriter verify FILE checks it.",
        ),
        click.option(
            "--var",
            "--hivevar",
            "var",
            metavar="NAME=VALUE",
            multiple=True,
            help="Set a variable, which statements name as :NAME or ${NAME}. Repeatable.",
        ),
        click.option(
            "--hiveconf",
            metavar="NAME=VALUE",
            multiple=True,
            help="Set a variable, which statements name as ${hiveconf:NAME}. Repeatable.",
        ),
        click.option(
            "--bail/--continue",
            "bail",
            default=True,
            help="End at the first error of a script, or run the statements after it. Default: --bail.",
        ),
        click.option(
            "--timing",
            is_flag=True,
            help="Write the number of rows, the seconds and the partitions that were read, to stderr.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@connection_options
@engine_options
@_shell_options
def shell(**options: Any) -> int:
    """Open the SQL shell, or run statements.

    With -e or -f, or if stdin is no terminal, the statements run and the command ends.

    Exit codes: 0 if all statements ran; 1 if a statement failed, or CHECK FACT found a difference; 2 for wrong usage,
    or without a connection; 130 after Ctrl-C.
    """
    return run(**options)


@click.command()
@connection_options
@engine_options
@_shell_options
def sql(**options: Any) -> int:
    """Run SQL statements. The same as rewriter shell."""
    return run(**options)


def run(
    execute: Sequence[str],
    file: str | None,
    form: str | None,
    null: str | None,
    output: str | None,
    certificate: str | None,
    var: Sequence[str],
    hiveconf: Sequence[str],
    bail: bool,
    timing: bool,
    **options: Any,
) -> int:
    """Runs texts or the prompt, and returns the exit code."""
    from rewriter.shell.configuration import configuration

    if execute and file is not None:
        raise click.UsageError("-e and -f exclude each other.")
    is_prompt = not execute and file is None and sys.stdin.isatty()
    if is_prompt and output is not None:
        raise click.UsageError("At a prompt, \\o FILE writes rows into a file; --output needs -e, -f or a pipe.")
    if is_prompt and certificate is not None:
        raise click.UsageError("--certificate needs -e, -f or a pipe. At a prompt, run EXPLAIN CERTIFICATE.")
    configured = configuration(os.environ, Path.cwd())
    display = configured.display(is_prompt=is_prompt, format=form, null=null, timing=timing)
    display.check()
    variables = _variables(var, hiveconf)
    opened = connection(**options)
    texts = list(execute) if execute or is_prompt else [_script_text("-" if file is None else file)]
    debug = click.get_current_context().obj
    if is_prompt:
        from rewriter.shell.prompt import Prompt

        with _destination(None) as rows:
            open_shell = partial(_opened, opened, display, variables, rows, is_prompt, debug)
            return Prompt(open_shell, configured, opened.warehouse, opened.engine, opened.note).run()
    try:
        with _destination(output) as rows, _opened(opened, display, variables, rows, is_prompt, debug) as shell:
            shell.keeps_certificate = certificate is not None
            code = _run_texts(shell, texts, bail)
            return code if certificate is None else code or _write_certificate(shell, certificate)
    except _EndedEarly as end:
        return end.code


def _write_certificate(shell: ShellSession, path: str) -> int:
    """Writes the certificate of the last query over a cube. Returns the exit code."""
    import json

    from rewriter.shell.display import output_file

    if shell.certificate is None:
        shell.say("Error: No statement was a query over a cube, so there is no certificate.")
        return 1
    with output_file(path) as file:
        file.write(json.dumps(shell.certificate, ensure_ascii=False, indent=2) + "\n")
    return 0


class _EndedEarly(Exception):
    """The end of a script before its last statement. The file of ``--output`` stays as it was."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _variables(var: Sequence[str], hiveconf: Sequence[str]) -> Variables:
    from rewriter.runtime.text_variables import Variables

    variables = Variables()
    if not var and not hiveconf:
        return variables
    from rewriter.shell.commands import assignment

    for text in var:
        variables.set(*assignment(text, "--var"))
    for text in hiveconf:
        name, value = assignment(text, "--hiveconf")
        variables.configuration[name] = value  # Hive's names have points.
    return variables


def _script_text(path: str) -> str:
    from rewriter.cli.catalog import opened_text

    with opened_text(path, "Name a readable text file, or - for stdin.", "utf-8-sig") as file:
        return file.read()


@contextlib.contextmanager
def _destination(output: str | None) -> Iterator[Destination]:
    from rewriter.shell.display import Destination, output_file

    if output is None or output == "-":
        yield Destination(sys.stdout, sys.stdout.isatty())
        return
    with output_file(output) as file:
        yield Destination(file)


@contextlib.contextmanager
def _opened(
    opened: Connection, display: Display, variables: Variables, rows: Destination, is_prompt: bool, debug: bool
) -> Iterator[ShellSession]:
    from rewriter.display.terminal.progress_line import ProgressLine
    from rewriter.shell.shell_session import ShellSession

    line = ProgressLine(sys.stderr) if sys.stderr.isatty() else None
    with opened.session(progress=line) as session:
        try:
            yield ShellSession(session, display, variables, rows, sys.stderr, is_prompt, debug, line)
        finally:
            if line is not None:
                line.hide()


def _run_texts(shell: ShellSession, texts: Sequence[str], bail: bool) -> int:
    """Runs the texts of a command. Returns the exit code. Raises ``_EndedEarly``."""
    from rewriter.errors import Error
    from rewriter.shell.executor import run_script
    from rewriter.shell.shell_session import Interrupted, QuitShell

    def run() -> bool:
        try:
            for text in texts:
                if not run_script(shell, text, bail) and bail:
                    return False
            shell.finish()
        except QuitShell:
            pass
        except Error as error:
            shell.report(error, None)
        return True

    try:
        is_whole, code = shell.interruption.run(run), shell.exit_code
    except Interrupted:
        shell.say("Interrupted.")
        is_whole, code = False, 128 + shell.interruption.signal
    if shell.session.in_transaction:
        shell.say("Warning: The open transaction is rolled back.")
    if not is_whole:
        raise _EndedEarly(code)
    return code
