"""The completer of prompt_toolkit: a thin form of the pure function. The only module of the folder that imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from rewriter.grammar.text_pieces import TextPieces
from rewriter.shell.completion.candidates import ValuesReader, candidates, no_values
from rewriter.shell.completion.expectations import Paths
from rewriter.shell.completion.names import Names
from rewriter.shell.completion.position import position_at


class ShellCompleter(Completer):
    """Completes with the names that ``names`` returns at that time, and with partition values from ``values``.

    Wrap it in prompt_toolkit's ``ThreadedCompleter``: a read of values takes some milliseconds. While a word is not
    begun, nothing is offered unbidden.
    """

    def __init__(self, names: Callable[[], Names], values: ValuesReader = no_values) -> None:
        self._names = names
        self._values = values
        self._paths = PathCompleter(expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yields the completions at the cursor of the document."""
        # Threads complete one after the other, and may overlap: each call finds the pieces of its own text.
        position = position_at(document.text, document.cursor_position, TextPieces())
        if position is None:
            return
        if any(isinstance(expected, Paths) for expected in position.expected):
            yield from self._paths.get_completions(Document(position.typed), complete_event)
            return
        is_begun = position.typed or position.quote or document.text_before_cursor.endswith(".")
        if not is_begun and not complete_event.completion_requested:
            return
        for candidate in candidates(position, document.cursor_position, self._names(), self._values):
            yield Completion(
                candidate.text,
                start_position=candidate.start_offset,
                display=candidate.display,
                display_meta=candidate.meta,
            )
