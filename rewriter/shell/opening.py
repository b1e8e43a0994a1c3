"""Opens what the prompt needs in the background, so that it is shown at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

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
