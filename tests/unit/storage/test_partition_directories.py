"""Listing of directories: by one thread if it is quick, by several if the file system is slow."""

from __future__ import annotations

import gc
import threading
import time

import pytest

from rewriter.catalog.storage import partition_directories
from rewriter.catalog.storage.partition_directories import in_parallel
from rewriter.errors import OperationalError
from rewriter.gc_pause import paused


def test_what_is_quick_is_done_by_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_directories, "_PATIENCE", 60)  # The machine may pause.
    told: list[int] = []
    results = in_parallel(lambda number: (number, threading.get_ident()), range(1000), told.append)
    assert [number for number, _ in results] == list(range(1000))
    assert {thread for _, thread in results} == {threading.get_ident()}
    assert sum(told) == 1000


def test_threads_share_what_is_slow() -> None:
    told: list[int] = []

    def slow(number: int) -> tuple[int, int]:
        time.sleep(0.002)
        return number, threading.get_ident()

    results = in_parallel(slow, range(300), told.append)
    assert [number for number, _ in results] == list(range(300))
    assert len({thread for _, thread in results}) > 4
    assert sum(told) == 300


@pytest.mark.parametrize("at", [3, 250])
def test_an_error_is_that_of_the_item(at: int) -> None:
    def failing(number: int) -> None:
        time.sleep(0.001)
        if number == at:
            raise OperationalError(f"{number} cannot be read")

    with pytest.raises(OperationalError, match=f"{at} cannot be read"):
        in_parallel(failing, range(300))


def test_nothing_is_nothing() -> None:
    assert in_parallel(len, []) == []


def test_the_collector_pauses_where_it_was_on() -> None:
    assert gc.isenabled()
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()  # The outer one ends it.
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_goes_on_after_an_error() -> None:
    @paused()
    def failing() -> None:
        raise ValueError("then")

    with pytest.raises(ValueError, match="then"):
        failing()
    assert gc.isenabled()
