"""The prompt: reads texts until Ctrl-D, and runs each. The only module of the loop that imports prompt_toolkit."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import time
from collections.abc import Iterator
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from rewriter.errors import Error
from rewriter.shell.commands import commands
from rewriter.shell.completion.names import CommandName, Names
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.prompt_completer import ShellCompleter
from rewriter.shell.completion.refresher import Refresher, SessionNames
from rewriter.shell.configuration import Configuration, history_path
from rewriter.shell.executor import run_script
from rewriter.shell.highlighting import STYLES, SqlLexer
from rewriter.shell.script import is_complete
from rewriter.shell.shell_session import Interrupted, QuitShell, ShellSession
from rewriter.terminal.rendering import FORMATS
from rewriter.terminal_text import cut, printable

_STYLE = Style.from_dict({**STYLES, "bottom-toolbar": "noreverse bg:#303030 #c0c0c0", "prompt": "bold"})
#: Seconds between two drawings of the toolbar while the engine starts.
_REFRESH = 0.5


class Prompt:
    """The loop of the shell. ``warehouse`` is shown in the toolbar."""

    def __init__(self, shell: ShellSession, configuration: Configuration, warehouse: str) -> None:
        self._shell = shell
        self._warehouse = os.path.basename(os.path.abspath(warehouse)) or warehouse
        self._start = time.monotonic()
        shell.session.prewarm()
        catalog = shell.session.catalog
        self._refresher = Refresher(catalog, Names(commands=_command_names(), words={"format": FORMATS}))
        self._refresher.note(SessionNames.of(shell.session))
        self._refresher.start()
        completer = ShellCompleter(lambda: self._refresher.names, PartitionValuesReader(catalog))
        self._prompt: PromptSession[str] = PromptSession(
            history=_history(configuration),
            auto_suggest=AutoSuggestFromHistory(),
            lexer=SqlLexer(),
            completer=ThreadedCompleter(completer),
            multiline=True,
            editing_mode=EditingMode.VI if configuration.vi else EditingMode.EMACS,
            key_bindings=_keys(),
            bottom_toolbar=self._toolbar,
            prompt_continuation=lambda width, _line, _is_soft: ">".rjust(width - 1) + " ",
            enable_open_in_editor=True,
            enable_suspend=True,
            style=_STYLE,
            refresh_interval=_REFRESH if shell.session.engine_state == "starting" else 0,
        )

    def run(self) -> int:
        """Runs the loop until Ctrl-D or ``\\q``. Returns exit code 0: a person saw the errors."""
        try:
            return self._loop()
        finally:
            self._refresher.stop()

    def _loop(self) -> int:
        shell = self._shell
        shell.say(f"rewriter: {self._warehouse}, on {shell.session.engine_name}. \\? lists the commands, Ctrl-D ends.")
        while True:
            if shell.session.engine_state != "starting":
                self._prompt.refresh_interval = 0
            next_text, shell.next_text = shell.next_text, ""
            try:
                text = self._prompt.prompt(self._message(), default=next_text)
            except KeyboardInterrupt:
                continue  # Ctrl-C discards the text.
            except EOFError:
                return self._end()
            try:
                with _quiet_terminal():
                    shell.interruption.run(lambda text=text: run_script(shell, text, bail=True))  # type: ignore[misc]
            except Interrupted:
                shell.say("Canceled.")
            except QuitShell:
                return self._end()
            except BrokenPipeError:
                raise
            except Exception as error:
                self._report(error)
            self._refresher.note(SessionNames.of(shell.session))

    def _report(self, error: Exception) -> None:
        """Reports an error outside of statements; the shell goes on."""
        from rewriter.errors import foreign

        own = error if isinstance(error, Error) else foreign(error)
        if own is not error:
            own.__cause__ = error
        self._shell.report(own, None)

    def _end(self) -> int:
        if self._shell.session.in_transaction:
            self._shell.say("Warning: The open transaction is rolled back.")
        return 0

    def _message(self) -> FormattedText:
        mark = "*" if self._shell.session.in_transaction else ""
        return FormattedText([("class:prompt", f"{printable(self._shell.session.database)}{mark}> ")])

    def _toolbar(self) -> str:
        session = self._shell.session
        engine = session.engine_name
        state = session.engine_state
        if state == "starting":
            engine = f"{engine} starts, {time.monotonic() - self._start:.0f} s"
        elif state == "failed":
            engine = f"{engine} did not start"
        parts = [f"{self._warehouse}.{session.database}", engine]
        if session.in_transaction:
            parts.append("transaction open")
        if self._shell.rows is not self._shell.terminal:
            parts.append(f"rows go to {getattr(self._shell.rows.stream, 'name', 'a file')}")
        return cut(printable("  ".join(parts)), 200)


@contextlib.contextmanager
def _quiet_terminal() -> Iterator[None]:
    """Lets the terminal keep what is typed while a statement runs, without an echo and without a longest line. Ctrl-C
    stays a signal.
    """
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, ValueError, OSError):
        yield
        return
    quiet: list[Any] = list(before)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(sys.stdin, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def _command_names() -> tuple[CommandName, ...]:
    return tuple(CommandName(name, command.help, command.kind) for command in commands() for name in command.names)


def _history(configuration: Configuration) -> History:
    """Returns the history in its file, which only this user may read; in memory, if the file cannot be written."""
    if not configuration.history:
        return InMemoryHistory()
    path = history_path(os.environ)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if not os.access(path, os.R_OK | os.W_OK):
            return InMemoryHistory()
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _keys() -> KeyBindings:
    """Enter runs a complete text, and otherwise begins a line."""
    keys = KeyBindings()
    in_text = has_focus("DEFAULT_BUFFER")

    @keys.add("enter", filter=in_text & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("enter", filter=in_text & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    return keys
