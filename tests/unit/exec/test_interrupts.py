"""Work that another thread ends: the worker threads, and work that does not end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from rewriter.cancellation import (
    Cancellation,
    cancellable,
    check_cancellation,
    current_cancellation,
    waits_for,
)
from rewriter.errors import OperationalError
from rewriter.exec.interrupts import interruptible


class Reports:
    """An observer that keeps the phases, with what is done."""

    is_listening = True

    def __init__(self) -> None:
        self.told: list[tuple[str, int, int | None, str, str]] = []

    def report(
        self, phase: str, done: int = 0, total: int | None = None, unit: str = "", bytes: int = 0, subject: str = ""
    ) -> None:
        self.told.append((phase, done, total, unit, subject))


def engine_threads() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate() if thread.name == "rewriter-engine"}


def requested(cancellation: Cancellation, run: Callable[[], object]) -> float:
    """Requests the end of some work shortly after its start. Returns the seconds until it has ended."""
    asked: list[float] = []

    def request() -> None:
        asked.append(time.monotonic())
        cancellation.request()

    timer = threading.Timer(0.3, request)
    timer.start()
    with cancellable(cancellation), pytest.raises(OperationalError) as caught:
        run()
    timer.join()
    assert caught.value.condition == "OPERATION_CANCELED"
    return time.monotonic() - asked[0]


def test_work_that_ends_is_awaited() -> None:
    stop, ended = threading.Event(), threading.Event()

    def work() -> None:
        stop.wait(20)
        time.sleep(0.3)
        ended.set()

    assert requested(Cancellation(), lambda: interruptible(work, stop.set)) < 5
    assert ended.is_set()


@pytest.mark.parametrize("patience", [0.5, None])
def test_work_that_goes_on_is_left_alone_and_its_thread_is_used_again(patience: float | None) -> None:
    goes_on = threading.Event()
    requests: list[int] = []

    def run() -> None:
        if patience is None:
            interruptible(lambda: goes_on.wait(20))
        else:
            interruptible(lambda: goes_on.wait(20), lambda: requests.append(1), patience=patience)

    seconds = requested(Cancellation(), run)
    assert seconds < 3
    assert (len(requests) >= 2) == (patience is not None)
    goes_on.set()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        threads = engine_threads()
        interruptible(lambda: None)
        if engine_threads() == threads:
            break
    for _ in range(100):
        interruptible(lambda: None)
    assert engine_threads() == threads


def test_the_work_belongs_to_the_statement() -> None:
    cancellation = Cancellation()
    with cancellable(cancellation):
        assert interruptible(current_cancellation) is cancellation
        cancellation.request()
        with pytest.raises(OperationalError):
            interruptible(lambda: pytest.fail("it was canceled before"))
    assert interruptible(current_cancellation) is None


def test_only_observed_work_is_measured() -> None:
    with cancellable(Cancellation()):
        interruptible(lambda: time.sleep(0.5), measure=lambda: pytest.fail("nobody observes"))
    cancellation, reports = Cancellation(), Reports()
    cancellation.observed_by(reports)
    with cancellable(cancellation):
        interruptible(lambda: time.sleep(0.5), measure=lambda: (3, 4, "tasks"))
        interruptible(lambda: time.sleep(0.5), measure=lambda: None)
        interruptible(lambda: None, measure=lambda: pytest.fail("it is short"))
    assert set(reports.told) == {("running", 3, 4, "tasks", ""), ("running", 0, None, "", "")}


def test_a_wait() -> None:
    waits_for("nobody, outside of statements")
    check_cancellation()
    cancellation, reports = Cancellation(), Reports()
    cancellation.observed_by(reports)
    with cancellable(cancellation):
        waits_for("another writer")
        assert reports.told == [("waiting", 0, None, "", "another writer")]
        cancellation.request()
        for wait in (check_cancellation, lambda: waits_for("another writer")):
            with pytest.raises(OperationalError):
                wait()
        with cancellable(None):
            check_cancellation()
    assert len(reports.told) == 1


def test_an_interruption_comes_only_inside_its_block() -> None:
    cancellation = Cancellation()
    calls: list[str] = []
    with cancellation.interrupting(lambda: calls.append("before")):
        pass
    with cancellation.interrupting(lambda: calls.append("inside")):
        cancellation.request()
    with pytest.raises(OperationalError), cancellation.interrupting(lambda: calls.append("after")):
        pytest.fail("the block began")
    cancellation.request()
    assert calls == ["inside"]
