"""Streams in the background, and Ctrl-C while a program waits for them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.runtime.running_streams import RunningStream, RunningStreams


@pytest.mark.parametrize("wait", [lambda streams, stream: stream.wait(20), lambda streams, stream: streams.wait()])
def test_ctrl_c_while_a_program_waits_leaves_the_stream_running(
    wait: Callable[[RunningStreams, RunningStream], object],
) -> None:
    stopping, last_batch = threading.Event(), threading.Event()

    def work() -> None:
        stopping.wait(20)
        last_batch.wait(20)

    streams = RunningStreams(DuckDBEngine)
    stream = RunningStream("s", work, stopping)
    streams.add(stream)
    interrupt = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        wait(streams, stream)
    interrupt.join()
    assert stream.is_running
    assert not stream.wait(0.1)
    # The end of the session waits for the batch.
    threading.Timer(0.3, last_batch.set).start()
    streams.close()
    assert last_batch.is_set()
    assert not stream.is_running
