"""The completer of prompt_toolkit: a thin form of the pure function. The only module of the folder that imports it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from rewriter.grammar.text_pieces import TextPieces
from rewriter.shell.completion.candidates import ValuesReader, candidates, no_values
from rewriter.shell.completion.expectations import Argument, Position
from rewriter.shell.completion.position import position_at

if TYPE_CHECKING:
    from rewriter.shell.completion.names import Names


class ShellCompleter(Completer):
    """Completes with the names that ``names`` returns at that time, and with partition values from ``values``.

    Wrap it in prompt_toolkit's ``ThreadedCompleter``: a read of values takes some milliseconds. While a word is not
    begun, nothing is offered unbidden.
    """

    def __init__(self, names: Callable[[], Names], values: ValuesReader = no_values) -> None:
        self._names = names
        self._values = values
        self._paths = PathCompleter(expanduser=True)
        self._pieces = TextPieces()
        self._lock = threading.Lock()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yields the completions at the cursor of the document."""
        position = self._position(document)
        if position is None:
            return
        names = self._names()
        if any(isinstance(e, Argument) and names.argument_kind(e.command) == "file" for e in position.expected):
            path = document.text[document.text.rfind(" ", 0, position.start) + 1 : document.cursor_position]
            yield from self._paths.get_completions(Document(path), complete_event)
            return
        is_begun = position.typed or position.quote or document.text_before_cursor.endswith(".")
        if not is_begun and not complete_event.completion_requested:
            return
        for candidate in candidates(position, document.cursor_position, names, self._values):
            yield Completion(
                candidate.text,
                start_position=candidate.start_offset,
                display=candidate.display,
                display_meta=candidate.meta,
            )

    def _position(self, document: Document) -> Position | None:
        """Returns the position at the cursor. Threads may overlap: one uses the pieces of the text before the key."""
        if not self._lock.acquire(blocking=False):
            return position_at(document.text, document.cursor_position)
        try:
            return position_at(document.text, document.cursor_position, self._pieces)
        finally:
            self._lock.release()
