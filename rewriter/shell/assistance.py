"""Help while typing: completion of names, which are read in the background, and colors. For the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prompt_toolkit.completion import Completer
from prompt_toolkit.lexers import Lexer

from rewriter.session import Session
from rewriter.shell.commands import Command
from rewriter.shell.completion.names import CommandName, Names
from rewriter.shell.completion.partition_values import PartitionValuesReader
from rewriter.shell.completion.prompt_completer import ShellCompleter
from rewriter.shell.completion.refresher import Refresher, SessionNames
from rewriter.shell.highlighting import SqlLexer


class Assistance:
    """The completer and the lexer of a prompt over a session. ``words`` are those that arguments of commands can be, by
    the kind of the command, such as formats.

    Call ``note`` after each statement, in the thread of the session, and ``stop`` at the end.
    """

    def __init__(self, session: Session, commands: Iterable[Command], words: Mapping[str, tuple[str, ...]]) -> None:
        names = tuple(CommandName(name, known.help, known.kind) for known in commands for name in known.names)
        self._session = session
        self._refresher = Refresher(session.catalog, Names(commands=names, words=words))
        values = PartitionValuesReader(session.catalog)
        self._values = values
        self.completer: Completer = ShellCompleter(lambda: self._refresher.names, values)
        self.lexer: Lexer = SqlLexer()
        self.note()
        self._refresher.start()

    def note(self) -> None:
        """Notes what the session's last statement changed. One read of the catalog."""
        self._refresher.note(SessionNames.of(self._session))
        self._values.forget()

    def stop(self) -> None:
        """Ends the reads in the background. Idempotent."""
        self._refresher.stop()
