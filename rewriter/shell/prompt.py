"""The prompt: reads texts until Ctrl-D, and runs each. The only module of the loop that imports prompt_toolkit.

It imports nothing that needs the catalog: that takes longer than all else until the prompt is shown.
"""

from __future__ import annotations

import contextlib
import os
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import ThreadedCompleter
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style

from rewriter.catalog.model.objects import DEFAULT_DATABASE
from rewriter.display.terminal import FORMATS
from rewriter.errors import Error
from rewriter.gc_pause import paused
from rewriter.shell.configuration import Configuration, history_path
from rewriter.shell.script import is_complete, typed
from rewriter.terminal_text import cut, encodable, printable
from rewriter.uris import mask_credentials

if TYPE_CHECKING:
    from rewriter.shell.completion.names import CommandName
    from rewriter.shell.completion.refresher import Refresher
    from rewriter.shell.shell_session import ShellSession


_STYLES = {"bottom-toolbar": "noreverse bg:#303030 #c0c0c0", "prompt": "bold"}
#: Seconds between two drawings of the toolbar while the engine starts.
_REFRESH = 0.5


class Prompt:
    """The loop of the shell. ``open_shell`` opens its session in the background, once the prompt is shown; the first
    text waits for it. ``warehouse``, ``engine`` and ``note`` are shown.
    """

    def __init__(
        self,
        open_shell: Callable[[], contextlib.AbstractContextManager[ShellSession]],
        configuration: Configuration,
        warehouse: str,
        engine: str,
        note: str = "",
    ) -> None:
        self._open_shell, self._engine, self._note = open_shell, engine, note
        self._warehouse = os.path.basename(os.path.abspath(warehouse)) or warehouse
        self._start = time.monotonic()
        self._closing = contextlib.ExitStack()
        self._opening: Opening[tuple[ShellSession, Refresher]] = Opening(self._open, self._after_opening)
        self._prompt: PromptSession[str] = PromptSession(
            history=_history(configuration),
            auto_suggest=AutoSuggestFromHistory(),
            multiline=True,
            editing_mode=EditingMode.VI if configuration.vi else EditingMode.EMACS,
            key_bindings=_keys(),
            bottom_toolbar=self._toolbar,
            prompt_continuation=lambda width, _line, _is_soft: ">".rjust(width - 1) + " ",
            enable_open_in_editor=True,
            enable_suspend=True,
            style=Style.from_dict(_STYLES),
            refresh_interval=0 if engine == "duckdb" else _REFRESH,
        )
        self._prompt.app.after_render += lambda _: self._opening.start()

    def run(self) -> int:
        """Runs the loop until Ctrl-D or ``\\q``. Returns exit code 0: a person saw the errors. Raises the errors of
        ``open_shell``.
        """
        with self._closing:
            return self._loop()

    def _open(self) -> tuple[ShellSession, Refresher]:
        with paused():
            from rewriter.shell.completion.names import Names
            from rewriter.shell.completion.partition_values import PartitionValuesReader
            from rewriter.shell.completion.prompt_completer import ShellCompleter
            from rewriter.shell.completion.refresher import Refresher, SessionNames
            from rewriter.shell.highlighting import STYLES, SqlLexer

        self._prompt.style = Style.from_dict({**STYLES, **_STYLES})
        self._prompt.lexer = SqlLexer()
        shell = self._closing.enter_context(self._open_shell())
        shell.session.prewarm()
        catalog = shell.session.catalog
        refresher = Refresher(catalog, Names(commands=_command_names(), words={"format": FORMATS}))
        refresher.note(SessionNames.of(shell.session))
        refresher.start()
        self._closing.callback(refresher.stop)
        completer = ShellCompleter(lambda: refresher.names, PartitionValuesReader(catalog))
        self._prompt.completer = ThreadedCompleter(completer)
        return shell, refresher

    def _after_opening(self, error: BaseException | None) -> None:
        """Shows the engine, colours and completion. Ends a prompt whose warehouse cannot be opened."""
        app = self._prompt.app

        def end() -> None:
            if error is not None and app.is_running and not app.is_done:
                app.exit(exception=error)

        loop = app.loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # The prompt ends now, and waits for the session.
                loop.call_soon_threadsafe(end)
        app.invalidate()

    @property
    def _shell(self) -> ShellSession | None:
        """Returns the session, if it is open already."""
        return None if self._opening.opened is None else self._opening.opened[0]

    def _loop(self) -> int:
        keys = "End a statement with ; and the shell with Ctrl-D. \\? is help."
        greeting = f"rewriter: {self._warehouse}, on {self._engine}. {keys}"
        print(printable(f"{greeting}\n{self._note}".rstrip()), file=sys.stderr, flush=True)
        next_text = ""
        while True:
            try:
                if self._shell is not None and self._shell.session.engine_state != "starting":
                    self._prompt.refresh_interval = 0
                text = self._prompt.prompt(self._message(), default=next_text)
                next_text = ""
                with _quiet_terminal():
                    shell, refresher = self._opening.result()
                    if not _run_text(shell, typed(text)):
                        return self._end()
                _note_names(refresher, shell)
                next_text, shell.next_text = shell.next_text, ""
            except KeyboardInterrupt:
                next_text = ""  # Ctrl-C discards the text, or came once more than needed.
            except EOFError:
                return self._end()

    def _end(self) -> int:
        shell, _ = self._opening.result()
        if shell.session.in_transaction:
            shell.say("Warning: The open transaction is rolled back.")
        return 0

    def _message(self) -> FormattedText:
        session = None if self._shell is None else self._shell.session
        database = DEFAULT_DATABASE if session is None else session.database
        mark = "*" if session is not None and session.in_transaction else ""
        return FormattedText([("class:prompt", f"{printable(database)}{mark}> ")])

    def _toolbar(self) -> str:
        if self._shell is None:
            return cut(printable(f"{self._warehouse}.{DEFAULT_DATABASE}  {self._engine}"), 200)
        session = self._shell.session
        engine = session.engine_name
        state = session.engine_state
        if state == "starting":
            engine = f"{engine} starts, {time.monotonic() - self._start:.0f} s"
        elif state == "failed":
            engine = f"{engine} did not start"
        parts = [f"{self._warehouse}.{session.database}", engine]
        if session.cluster is not None:
            parts.append(f"cluster {session.cluster}")
        if session.in_transaction:
            parts.append("transaction open")
        if self._shell.rows is not self._shell.terminal:
            parts.append(f"rows go to {getattr(self._shell.rows.stream, 'name', 'a file')}")
        return cut(printable("  ".join(parts)), 200)


def _run_text(shell: ShellSession, text: str) -> bool:
    """Runs a text, and reports its errors. Returns False if it ends the shell."""
    from rewriter.shell.executor import run_script
    from rewriter.shell.shell_session import Interrupted, QuitShell

    try:
        shell.interruption.run(lambda: run_script(shell, text, bail=True))
    except Interrupted:
        shell.say("Canceled.")
    except QuitShell:
        return False
    except BrokenPipeError:
        if shell.rows is shell.terminal:
            raise
        shell.close_file()
        shell.say("The reader of the output has ended: rows go to the terminal again.")
    except Exception as error:
        _report(shell, error)
    return not shell.interruption.ends_program


def _report(shell: ShellSession, error: Exception) -> None:
    """Reports an error outside of statements; the shell goes on."""
    from rewriter.errors import foreign

    own = error if isinstance(error, Error) else foreign(error)
    if own is not error:
        own.__cause__ = error
    shell.report(own, None)


def _note_names(refresher: Refresher, shell: ShellSession) -> None:
    from rewriter.shell.completion.refresher import SessionNames

    refresher.note(SessionNames.of(shell.session))


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
    from rewriter.shell.commands import commands
    from rewriter.shell.completion.names import CommandName

    return tuple(CommandName(name, command.help, command.kind) for command in commands() for name in command.names)


class _HistoryFile(FileHistory):
    """A history in a file, without the passwords and signatures of URIs. A file that cannot be read or written is no
    error: the history of this session is kept.
    """

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        with contextlib.suppress(OSError):
            super().store_string(encodable(mask_credentials(string)))


def _history(configuration: Configuration) -> History:
    """Returns the history in its file, which only this user may read; in memory, if it is no file."""
    if not configuration.history:
        return InMemoryHistory()
    path = history_path(os.environ)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        if path.is_file():
            return _HistoryFile(str(path))
    return InMemoryHistory()


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


# Opens what the prompt needs in the background, so that it is shown at once.

T = TypeVar("T")


class Opening(Generic[T]):
    """The result of ``open``, which a thread computes between ``start`` and ``result``.

    ``then`` runs in that thread afterwards, with the error, if there was one.
    """

    def __init__(self, open: Callable[[], T], then: Callable[[BaseException | None], object]) -> None:
        self._open, self._then = open, then
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._results: list[T] = []
        self._error: BaseException | None = None

    def start(self) -> None:
        """Starts the thread. Idempotent. For one thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="rewriter-opening", daemon=True)
            self._thread.start()

    @property
    def opened(self) -> T | None:
        """Returns the result if it exists already."""
        return self._results[0] if self._results else None

    def result(self) -> T:
        """Returns the result, for which it waits. Raises the error of ``open``."""
        self.start()
        self._ended.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._open())
        except BaseException as error:
            self._error = error
        self._ended.set()
        self._then(self._error)
