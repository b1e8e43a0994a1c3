r"""The commands of the shell: ``\d``, ``\timing``, ``\?`` and others, each with its other names.

Arguments are names and values as typed. They reach statements as values of the grammar, which ``unparse`` quotes.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rewriter.catalog.model.objects import Cube, Fact, full_name
from rewriter.display.terminal import FORMATS
from rewriter.errors import InterfaceError, OperationalError
from rewriter.grammar.terms import parse_name
from rewriter.grammar.unparse import quote, quote_name
from rewriter.lazy_dataclass import dataclass
from rewriter.scratch_directories import ScratchDirectory
from rewriter.shell.display import Destination, Display, not_written
from rewriter.shell.script import pieces
from rewriter.shell.shell_session import QuitShell, ShellSession
from rewriter.terminal_text import width

if TYPE_CHECKING:
    from rewriter.grammar.terms import Name

#: Runs a command with its argument. Returns the text of a file that is to be run, or ``None``.
Run = Callable[[ShellSession, str], str | None]


@dataclass(frozen=True)
class Command:
    """A command: its first name is the one that help shows. ``takes`` names its arguments, ``kind`` what completes
    them: ``object``, ``table``, ``fact``, ``database``, ``file``, ``format``, ``variable`` or nothing.
    """

    names: tuple[str, ...]
    takes: str
    help: str
    run: Run
    kind: str = ""


_COMMANDS: list[Command] = []


def _command(*names: str, takes: str = "", kind: str = "", help: str) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        _COMMANDS.append(Command(names, takes, help, run, kind))
        return run

    return register


def commands() -> tuple[Command, ...]:
    """Returns all commands, in the order of help."""
    return tuple(_COMMANDS)


def run_command(shell: ShellSession, text: str) -> str | None:
    r"""Runs a command as typed, such as ``\d flights``. Returns the text of a file that is to be run, or ``None``.

    Raises ``InterfaceError`` for unknown ones, and its errors.
    """
    name, argument = (*text.split(maxsplit=1), "")[:2]
    if argument.endswith(";"):
        argument = argument[:-1].rstrip()
    name = name.rstrip(";")
    command = next((command for command in _COMMANDS if name in command.names), None)
    if command is None:
        import difflib

        every = [name for command in _COMMANDS for name in command.names]
        nearest = difflib.get_close_matches(name, every, 1)
        hint = f"Did you mean {nearest[0]}? \\? lists all commands." if nearest else "\\? lists all commands."
        raise InterfaceError(f"There is no command {name}.", object=name, hint=hint)
    if argument and not command.takes:
        raise InterfaceError(f"{name} takes no argument.", object=argument, hint=f"Write {name} alone.")
    if not argument and command.takes and not command.takes.startswith("["):
        raise InterfaceError(f"{name} lacks its argument.", object=name, hint=f"Write {name} {command.takes}.")
    return command.run(shell, argument)


@_command("\\?", "\\h", "\\help", ".help", help="list the commands")
def _help(shell: ShellSession, _argument: str) -> None:
    usages = [(", ".join(command.names) + f" {command.takes}").rstrip() for command in _COMMANDS]
    widest = max(map(width, usages))
    lines = [f"{usage.ljust(widest)}  {command.help}" for usage, command in zip(usages, _COMMANDS, strict=True)]
    lines += [
        "",
        "A statement ends with ; and may take several lines. \\G instead of ; shows its rows vertically.",
        ":x, :'x', :\"x\" and ${hivevar:x} in a statement are the value of the variable x, also as a string or a name.",
        "Tab completes, Ctrl-R searches the history, Ctrl-C cancels, Ctrl-D ends the shell.",
    ]
    shell.write(lines, "text")


@_command("\\q", "\\quit", ".quit", ".exit", help="end the shell, as Ctrl-D")
def _quit(_shell: ShellSession, _argument: str) -> None:
    raise QuitShell


@_command("\\d", ".schema", takes="[NAME]", kind="object", help="describe an object, or list all")
def _describe(shell: ShellSession, argument: str) -> None:
    if not argument:
        for listing in ("SHOW TABLES", "SHOW VIEWS", "SHOW CUBES", "SHOW FACTS"):
            if shell.interruption.is_requested:
                return
            shell.execute(listing)
        return
    name = parse_name(argument)
    snapshot = shell.session.snapshot()
    database = name.parts[-2] if len(name.parts) > 1 else shell.session.database
    described = snapshot.find(full_name(database, name.last))
    kind = "CUBE" if isinstance(described, Cube) else "FACT" if isinstance(described, Fact) else "TABLE EXTENDED"
    shell.execute(f"DESCRIBE {kind} {_typed(name)}")


@_command("\\dt", ".tables", takes="[PATTERN]", kind="table", help="list tables")
def _tables(shell: ShellSession, argument: str) -> None:
    shell.execute("SHOW TABLES" + _like(argument))


@_command("\\dv", takes="[PATTERN]", help="list views")
def _views(shell: ShellSession, argument: str) -> None:
    shell.execute("SHOW VIEWS" + _like(argument))


@_command("\\dc", help="list cubes")
def _cubes(shell: ShellSession, _argument: str) -> None:
    shell.execute("SHOW CUBES")


@_command("\\df", help="list facts")
def _facts(shell: ShellSession, _argument: str) -> None:
    shell.execute("SHOW FACTS")


@_command("\\dp", takes="TABLE", kind="table", help="list the partitions of a table")
def _partitions(shell: ShellSession, argument: str) -> None:
    shell.execute(f"SHOW PARTITIONS {_typed(parse_name(argument))}")


@_command("\\l", ".databases", takes="[PATTERN]", help="list databases")
def _databases(shell: ShellSession, argument: str) -> None:
    shell.execute("SHOW DATABASES" + _like(argument))


@_command("\\c", "\\u", "\\connect", takes="DATABASE", kind="database", help="use a database")
def _use(shell: ShellSession, argument: str) -> None:
    shell.execute(f"USE {_typed(parse_name(argument))}")


@_command(
    "\\explain", takes="[QUERY]", help="show the cover, the rewritten SQL and the files of a query, or of the last one"
)
def _explain(shell: ShellSession, argument: str) -> None:
    shell.execute(f"EXPLAIN {_query(shell, argument)}")


@_command("\\cover", takes="[QUERY]", help="draw what a query, or the last one, reads")
def _cover(shell: ShellSession, argument: str) -> None:
    shell.execute(f"EXPLAIN COVER {_query(shell, argument)}")


@_command("\\coverage", takes="FACT [FROM TO]", kind="fact", help="draw what exists of a fact, is missing or outdated")
def _coverage(shell: ShellSession, argument: str) -> None:
    words = _words(argument)
    if len(words) not in (1, 3):
        raise InterfaceError(
            "\\coverage takes a fact, and a range or none.",
            object=argument,
            hint="Write \\coverage f 2024-01-01 2025-01-01.",
        )
    from rewriter.statements.show.coverage import named_fact_chart

    settings = shell.session.settings.for_planner()
    bounds = (words[1], words[2]) if len(words) == 3 else None
    shell.draw([named_fact_chart(words[0], shell.session.snapshot(), settings, bounds)])


@_command("\\watch", takes="[SECONDS]", help="run the last statement again and again, until Ctrl-C")
def _watch(shell: ShellSession, argument: str) -> None:
    try:
        pause = float(argument.rstrip(";") or 2)
        if not 0.1 <= pause <= 86_400:
            raise ValueError
    except ValueError:
        raise InterfaceError(
            f"'{argument}' is no number of seconds.", object=argument, hint="Write \\watch 5: 0.1 to 86400 seconds."
        ) from None
    statement = _last(shell)
    while not shell.interruption.is_requested:
        shell.say(time.strftime("%Y-%m-%d %H:%M:%S"))
        shell.execute(shell.substituted(statement).text)
        if shell.interruption.wait(pause):
            return


@_command("\\timing", ".timer", takes="[on|off]", help="show the number of rows, the time, and what was read")
def _timing(shell: ShellSession, argument: str) -> None:
    shell.display.timing = _switched(shell.display.timing, argument)
    shell.say(f"Timing is {'on' if shell.display.timing else 'off'}.")


@_command("\\x", takes="[on|off|auto]", help="show one value a line")
def _expanded(shell: ShellSession, argument: str) -> None:
    display = shell.display
    _changed(shell, expanded=argument or ("off" if display.expanded != "off" else "on"))
    shell.say(f"Expanded display is {display.expanded}.")


@_command("\\format", "\\pset", ".mode", takes="[FORMAT]", kind="format", help=f"set the format: {', '.join(FORMATS)}")
def _format(shell: ShellSession, argument: str) -> None:
    name, _, value = argument.partition(" ")
    others = {"null": _null, "pager": _pager, "expanded": _expanded, "max_rows": _max_rows}
    if name in others:
        others[name](shell, value.strip())
        return
    wanted = value.strip() if name == "format" else argument
    if wanted:
        _changed(shell, format=wanted)
    shell.say(f"The format is {shell.display.format}.")


@_command("\\null", ".nullvalue", takes="[TEXT]", help="set the text of NULL; alone, that of the format")
def _null(shell: ShellSession, argument: str) -> None:
    words = _words(argument)
    _changed(shell, null=" ".join(words) if words else None)
    shell.say("NULL has the text of the format." if not words else f"NULL is shown as '{shell.display.null}'.")


@_command("\\pager", takes="[on|off]", help="show long results in a pager ($PAGER, otherwise less)")
def _pager(shell: ShellSession, argument: str) -> None:
    shell.display.pager = _switched(shell.display.pager, argument)
    shell.say(f"The pager is {'on' if shell.display.pager else 'off'}.")


@_command("\\maxrows", ".maxrows", takes="[NUMBER]", help="set how many rows a terminal shows; 0 is all")
def _max_rows(shell: ShellSession, argument: str) -> None:
    if argument:
        if not (argument.isascii() and argument.isdigit() and len(argument) <= 18):
            raise InterfaceError(
                f"'{argument}' is no number of rows.", object=argument, hint="Write a whole number; 0 is all rows."
            )
        _changed(shell, max_rows=int(argument))
    most = shell.display.max_rows
    shell.say(f"A terminal shows {'all rows' if not most else f'the first {most:,} rows'} of a table.")


@_command("\\o", ".output", takes="[FILE]", kind="file", help="write rows into a file; alone, to the terminal again")
def _output(shell: ShellSession, argument: str) -> None:
    if shell.rows is not shell.terminal:
        shell.rows.flush()
        shell.close_file()
    if argument and argument != "stdout":
        path = os.path.expanduser(_file(argument))
        try:
            file = open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise not_written(path, error) from None
        shell.rows = Destination(file)


@_command("\\i", ".read", takes="FILE", kind="file", help="run a file of statements and commands")
def _read(_shell: ShellSession, argument: str) -> str:
    return _read_script(os.path.expanduser(_file(argument)))


@_command("\\e", takes="[FILE]", kind="file", help="edit the last statement, or a file, with $EDITOR")
def _edit(shell: ShellSession, argument: str) -> None:
    if not shell.is_interactive:
        raise InterfaceError("\\e needs a terminal.", object="\\e", hint="Use \\i FILE.")
    editor = _words(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "") or ["vi"]
    with contextlib.ExitStack() as stack:
        if argument:
            path = os.path.expanduser(_file(argument))
        else:
            folder = stack.enter_context(ScratchDirectory("editor"))
            path = os.path.join(folder, "statement.sql")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{shell.last_statement};\n" if shell.last_statement else "")
        try:
            code = subprocess.call([*editor, path])
        except OSError as error:
            raise OperationalError(
                f"The editor {editor[0]} cannot be started: {error.strerror}.",
                condition="SYSTEM_IO_ERROR",
                sqlstate="58030",
                object=editor[0],
                hint="Set EDITOR to an editor that exists.",
            ) from None
        if code == 0:
            shell.next_text = _read_script(path).rstrip()
        else:
            shell.say(f"The editor {editor[0]} ended with the code {code}: the text is not taken.")


@_command("\\set", takes="[NAME VALUE]", kind="variable", help="set a variable; alone, list all")
def _set(shell: ShellSession, argument: str) -> None:
    if not argument:
        for name, value in sorted(shell.variables.values.items()):
            shell.say(f"{name} = '{value}'")
        return
    name, rest = (*argument.split(maxsplit=1), "")[:2]
    shell.variables.set(name, _value(rest))


@_command("\\unset", takes="NAME", kind="variable", help="remove a variable")
def _unset(shell: ShellSession, argument: str) -> None:
    if shell.variables.values.pop(argument, None) is None:
        raise InterfaceError(f"There is no variable {argument}.", object=argument, hint="\\set lists them.")


@_command("\\echo", takes="[TEXT]", help="write a text among the rows")
def _echo(shell: ShellSession, argument: str) -> None:
    shell.write([" ".join(_words(argument))], "text")


def assignment(text: str, option: str) -> tuple[str, str]:
    """Returns name and value of ``NAME=VALUE``. Raises ``InterfaceError`` without ``=``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InterfaceError(f"{option} {text} has no value.", object=text, hint=f"Write {option} name=VALUE.")
    return name.strip(), value


def _read_script(path: str) -> str:
    """Returns the text of a file in UTF-8. Raises ``OperationalError`` PATH_NOT_FOUND."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else _reason(error)
        raise OperationalError(
            f"The file {path} cannot be read: {reason}.",
            condition="PATH_NOT_FOUND",
            sqlstate="42K03",
            object=path,
            hint="Name a readable text file.",
        ) from None


def _reason(error: ValueError) -> str:
    return "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


def _typed(name: Name) -> str:
    """Returns a name as the text of a statement."""
    return ".".join(map(quote_name, name.parts))


def _like(pattern: str) -> str:
    return f" LIKE {quote(pattern)}" if pattern else ""


def _last(shell: ShellSession) -> str:
    if not shell.last_statement:
        raise InterfaceError("No statement was run yet.", object="statement", hint="Run one first.")
    return shell.last_statement


def _query(shell: ShellSession, argument: str) -> str:
    """Returns the query of an argument, or the last statement, with its variables."""
    typed = argument or _last(shell)
    read = list(pieces(typed))
    if len(read) != 1:
        raise InterfaceError("One query is expected.", object=typed, hint="Write one query after the command.")
    return shell.substituted(read[0].of(typed)).text


def _words(argument: str) -> list[str]:
    """Returns the words of an argument; quotes hold words together."""
    try:
        return shlex.split(argument)
    except ValueError:
        raise InterfaceError(f"A quote in {argument} is not closed.", object=argument, hint="Close it.") from None


def _file(argument: str) -> str:
    return " ".join(_words(argument)) if argument[:1] in "'\"" else argument


def _value(text: str) -> str:
    """Returns the value of a variable: as typed, or within single quotes, in which a quote is doubled."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _switched(value: bool, argument: str) -> bool:
    if argument not in ("", "on", "off"):
        raise InterfaceError(f"'{argument}' is neither on nor off.", object=argument, hint="Write on or off.")
    return not value if not argument else argument == "on"


def _changed(shell: ShellSession, **values: str | int | None) -> None:
    """Changes settings of the display, if they are valid together."""
    changed = Display(**{**vars(shell.display), **values})
    changed.check()
    vars(shell.display).update(vars(changed))
