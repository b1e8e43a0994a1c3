"""The commands of golden files and their options, as text: what each takes, and which values are valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rewriter.display.terminal.formats import FORMATS
from rewriter.errors import Error
from rewriter.runtime.connection_settings import ENGINES
from rewriter.timeline.time_bounds import parse_instant

#: Returns what is wrong with a value, or ''.
Check = Callable[[str], str]


def _one_of(*words: str) -> Check:
    return lambda value: "" if value in words else f"it is one of {', '.join(words)}"


def _name(value: str) -> str:
    return "" if value else "it is empty"


def _instant(value: str) -> str:
    try:
        parse_instant(value)
    except Error:
        return "it is a time in UTC, such as 2024-03-01 or 2024-03-01T06:30:00"
    return ""


_ENGINE, _FORMAT = _one_of(*ENGINES), _one_of(*FORMATS)

#: The line before the first case, about the whole file.
FILE_OPTIONS = "options"
#: ``new``: an empty warehouse; ``read``: that of the user, unchanged; ``write``: that of the user, changes remain.
WAREHOUSES = ("new", "read", "write")

#: The options of each command.
COMMANDS: Mapping[str, Mapping[str, Check]] = {
    "setup": {"engine": _ENGINE, "session": _name},
    "query": {"engine": _ENGINE, "format": _FORMAT, "order": _one_of("query", "sorted"), "session": _name},
    "sql": {"engine": _ENGINE, "format": _FORMAT, "session": _name},
    "error": {"engine": _ENGINE, "session": _name},
    "rewrite": {},
    "cover": {},
    "scan": {},
    "coverage": {},
    "explain": {"what": _one_of("ALL", "REWRITE", "COVER", "SCAN", "ENGINE")},
    "parse": {},
    FILE_OPTIONS: {"engine": _ENGINE, "now": _instant, "warehouse": _one_of(*WAREHOUSES)},
}


def is_command_line(line: str) -> bool:
    """Tests whether a line is a command with its options, valid or not.

    >>> [is_command_line(line) for line in ("sql", "sql engine=spark", "sql is a language", "SELECT 1")]
    [True, True, False, False]
    """
    command, *options = line.split() or [""]
    return command in COMMANDS and all("=" in option for option in options)


def read_options(words: list[str], command: str) -> dict[str, str] | str:
    """Returns the options of a command, or what is wrong with them, as a sentence without its end."""
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        check = COMMANDS[command].get(name)
        if check is None:
            return f"{command} has no option {name}"
        if not equals:
            return f"the option {name} has no value"
        if name in options:
            return f"the option {name} is given twice"
        if problem := check(value):
            return f"{value or 'nothing'} is no value of the option {name}: {problem}"
        options[name] = value
    return options
