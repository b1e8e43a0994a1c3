"""The settings of the shell in ``rewriter.toml``: the table ``[shell]``.

::

    [shell]
    format = "table"        # table, vertical, csv, tsv, json, jsonl, envelope, markdown
    null = "NULL"
    expanded = "auto"       # on, off, auto
    timing = true           # the number of rows, the time, and what was read
    pager = true            # the program is the program of $PAGER
    max_rows = 1000         # the rows that the terminal shows of a table; 0 is all
    vi = false              # the keys of vi instead of the keys of Emacs
    history = true          # keep the history in a file

The file of the project is read first, then the file of the user, as for profiles; the first that has a key decides. No
key names a program, because a project's file may be written by others.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path

from rewriter.errors import InterfaceError
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.profiles import shell_tables
from rewriter.shell.display import MOST_ROWS, Display

#: The types of keys, by their names.
_TYPES: Mapping[str, type] = {"str": str, "bool": bool, "int": int}


@dataclass(frozen=True)
class Configuration:
    """The settings of the shell; ``None`` where no file has the key."""

    format: str | None = None
    null: str | None = None
    expanded: str | None = None
    timing: bool | None = None
    pager: bool | None = None
    max_rows: int | None = None
    vi: bool = False
    history: bool = True

    def display(self, *, is_prompt: bool, format: str | None, null: str | None, timing: bool) -> Display:
        """Returns the settings of the display. Settings of files, timing and the pager are for prompts: a script has
        the same output everywhere.
        """
        if not is_prompt:
            return Display(format or "table", null, timing=timing)
        return Display(
            format or self.format or "table",
            self.null if null is None else null,
            self.expanded or "off",
            timing=timing or self.timing is not False,
            pager=self.pager is not False,
            max_rows=MOST_ROWS if self.max_rows is None else self.max_rows,
        )


def configuration(environ: Mapping[str, str], directory: Path) -> Configuration:
    """Returns the settings of the files. Raises ``InterfaceError`` for unknown keys and wrong values, with the file."""
    chosen = Configuration()
    taken: set[str] = set()
    types = {field.name: _TYPES[str(field.type).removesuffix(" | None")] for field in fields(Configuration)}
    for path, table in shell_tables(environ, directory):
        for key, value in table.items():
            if key not in types:
                nearest = difflib.get_close_matches(key, types, 1)
                hint = f"Did you mean {nearest[0]}?" if nearest else f"The keys are {', '.join(types)}."
                raise InterfaceError(f"The file {path} has an unknown key, shell.{key}.", object=key, hint=hint)
            if type(value) is not types[key]:
                text = "1000" if types[key] is int else '"…"'
                hint = "Write true or false." if types[key] is bool else f"Write {key} = {text}."
                raise InterfaceError(f"The file {path} has a wrong value of shell.{key}.", object=key, hint=hint)
            if key not in taken:
                taken.add(key)
                chosen = replace(chosen, **{key: value})  # type: ignore[arg-type]
    return chosen


def history_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of the history: ``rewriter/history`` in ``XDG_STATE_HOME``, otherwise in ``~/.local/state``."""
    home = environ.get("XDG_STATE_HOME") or ""
    folder = Path(home) if os.path.isabs(home) else Path(os.path.expanduser("~"), ".local", "state")
    return folder / "rewriter" / "history"
