"""The running statement of a thread: the request that it ends, and the observer of its progress.

Whatever takes long or waits, in any folder, asks ``current_cancellation`` instead of passing an argument down. Other
threads that work for a statement have none, unless ``cancellable`` sets it there, too.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Protocol, TypeVar

from rewriter.errors import OperationalError

#: The phase of a statement that waits for someone else.
WAITING = "waiting"


class Observer(Protocol):
    """The receiver of a statement's progress."""

    @property
    def is_listening(self) -> bool:
        """False if nobody receives reports, so that nothing need be measured."""

    def report(
        self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0, subject: str = ""
    ) -> None:
        """Reports what the statement does, and how much of it is done."""


AnyObserver = TypeVar("AnyObserver", bound=Observer)


class _Nobody:
    is_listening = False

    def report(
        self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0, subject: str = ""
    ) -> None:
        pass


class Cancellation:
    """The request of another thread that a statement ends. A statement has one of its own, with its id."""

    def __init__(self) -> None:
        self.query_id = str(uuid.uuid4())
        self.observer: Observer = _Nobody()
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._interrupts: list[Callable[[], None]] = []

    @property
    def is_requested(self) -> bool:
        return self._requested.is_set()

    def request(self) -> None:
        """Ends the statement soon, if it is running, with ``canceled``. May be called from any thread."""
        with self._lock:
            self._requested.set()
            for interrupt in self._interrupts:
                with suppress(Exception):  # The others end, whatever one of them does.
                    interrupt()

    def check(self) -> None:
        """Raises ``OperationalError`` OPERATION_CANCELED after a request."""
        if self.is_requested:
            raise canceled()

    def observed_by(self, observer: AnyObserver) -> AnyObserver:
        """Reports the statement's progress to an observer from now on. Returns it."""
        self.observer = observer
        return observer

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Lets a request call ``interrupt``, in the thread that requests, while the block runs, and never later.

        Raises as ``check`` before the block. The block itself decides what an interruption means.
        """
        with self._lock:
            self.check()
            self._interrupts.append(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)


class Grace(Cancellation):
    """Lets work that ends a statement wait for some seconds more, also after the request that the statement ends."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._deadline = time.monotonic() + seconds

    @property
    def is_requested(self) -> bool:
        return time.monotonic() > self._deadline


_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)


def current_cancellation() -> Cancellation | None:
    """Returns the cancellation of the statement that runs in this thread; ``None`` outside of statements."""
    return _current.get()


@contextmanager
def cancellable(cancellation: Cancellation | None) -> Iterator[None]:
    """Lets a request end the work of the block. With ``None``, no request does: not the statement's request, either."""
    token = _current.set(cancellation)
    try:
        yield
    finally:
        _current.reset(token)


def waits_for(subject: str) -> None:
    """Reports that the statement of this thread waits for ``subject``. Call it before, and repeatedly in, each wait.

    Raises ``OperationalError`` OPERATION_CANCELED after a request.
    """
    current = _current.get()
    if current is not None:
        current.check()
        current.observer.report(WAITING, subject=subject)


def check_cancellation() -> None:
    """Raises ``OperationalError`` OPERATION_CANCELED if the end of this thread's statement was requested."""
    current = _current.get()
    if current is not None:
        current.check()


def canceled() -> OperationalError:
    """Returns the error of a statement that another thread has canceled."""
    return OperationalError(
        "The statement was canceled.",
        condition="OPERATION_CANCELED",
        sqlstate="HY008",
        hint="What it had not committed was undone. Execute it again if it is still wanted.",
    )
