"""Ctrl-C of a shell: requests reach the work, and the handlers of before come back."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from rewriter.shell.interrupts import Interruption


def test_a_request_calls_what_ends_the_work() -> None:
    calls: list[str] = []
    ended = threading.Event()

    def end() -> None:
        calls.append("end")
        ended.set()

    interruption = Interruption(lambda: calls.append("cancel"))

    def work() -> str:
        with interruption.ending(end):
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait()
        return "ended"

    handler = signal.getsignal(signal.SIGINT)
    assert interruption.run(work) == "ended"
    assert interruption.is_requested
    assert calls[:2] == ["cancel", "end"]
    assert signal.getsignal(signal.SIGINT) is handler
    assert interruption.run(lambda: "again") == "again"
    assert not interruption.is_requested


def test_ctrl_c_at_the_end_leaves_no_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second Ctrl-C raises as soon as its own handler is back: all others are back before."""
    original, before = signal.signal, {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def second(number: int, handler: object) -> object:
        previous = original(number, handler)  # type: ignore[arg-type]
        if number == signal.SIGINT and handler is signal.default_int_handler:
            raise KeyboardInterrupt
        return previous

    monkeypatch.setattr(signal, "signal", second)
    with pytest.raises(KeyboardInterrupt):
        Interruption(lambda: None).run(lambda: 1)
    assert {number: signal.getsignal(number) for number in before} == before
