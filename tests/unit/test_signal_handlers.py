"""What a handler of signals of the caller raises passes unchanged, wherever it interrupts a statement."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import rewriter
from rewriter.errors import Error, InternalError, is_of_signal_handler, only_ours


class TimeIsUpError(Exception):
    """An exception of the caller."""


def plain(number: int, frame: FrameType | None) -> None:
    raise TimeIsUpError("plain")


def with_any_arguments(*arguments: Any) -> None:
    raise TimeIsUpError("any")


class _Handler:
    def method(self, number: int, frame: FrameType | None) -> None:
        raise TimeIsUpError("method")

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.method(number, frame)


def once(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    raise TimeIsUpError("once")


def with_more(more: str, number: int, frame: FrameType | None) -> None:
    raise TimeIsUpError(more)


HANDLERS: list[Callable[..., None]] = [
    plain,
    with_any_arguments,
    _Handler().method,
    _Handler(),
    once,
    functools.partial(with_more, "partial"),
]


_NUMBERS = "(SELECT explode(sequence(1, 1000000)) AS n)"
_ENDLESS = f"SELECT SUM(a.n * b.n % 7) FROM {_NUMBERS} a CROSS JOIN {_NUMBERS} b WHERE a.n * b.n % 5 <> 3"


@contextlib.contextmanager
def alarm(handler: Callable[..., None], seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.Connection]:
    with contextlib.closing(rewriter.connect(tmp_path / "w", engine="duckdb")) as opened:
        opened.cursor().execute("CREATE TABLE t (n INT)")
        yield opened


@pytest.mark.share(1)
@pytest.mark.parametrize("handler", HANDLERS)
def test_an_exception_while_an_engine_works(connection: rewriter.Connection, handler: Callable[..., None]) -> None:
    with alarm(handler, 0.5), pytest.raises(TimeIsUpError):
        connection.cursor().execute(_ENDLESS).fetchall()
    # The work has ended, and the session goes on.
    assert connection.cursor().execute("SELECT COUNT(*) FROM t").fetchall() == [(0,)]


@pytest.mark.parametrize("microseconds", range(200, 20_000, 900))
def test_an_exception_at_any_moment(connection: rewriter.Connection, microseconds: int) -> None:
    """Each statement succeeds, or raises the exception of the handler; never another one. A text is new each time."""
    with alarm(plain, microseconds / 1e6):
        try:
            for number in range(10):
                cursor = connection.cursor()
                cursor.execute(f"SELECT n + {microseconds + number}, COUNT(*) FROM t WHERE n > {number} GROUP BY 1")
                cursor.fetchall()
        except TimeIsUpError:
            pass
    connection.cursor().execute("INSERT INTO t VALUES (1)")
    assert connection.cursor().execute("SELECT COUNT(*) FROM t").fetchall() == [(1,)]


def test_other_exceptions_are_ours() -> None:
    def fails(number: int) -> None:
        raise ValueError(number)

    def passes(number: int) -> None:
        fails(number)

    with pytest.raises(InternalError) as caught, only_ours():
        passes(14)
    assert not is_of_signal_handler(caught.value)
    assert isinstance(caught.value, Error)
