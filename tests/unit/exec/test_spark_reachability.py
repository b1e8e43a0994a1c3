"""Addresses of Spark, executors that do not come, and files that are not shared. No Spark is started."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from rewriter.catalog.model.objects import PackedPart
from rewriter.errors import EngineError, InterfaceError
from rewriter.exec.engine import WrittenFile
from rewriter.exec.interrupts import interruptible
from rewriter.exec.spark import watch
from rewriter.exec.spark.engine import check_shared
from rewriter.exec.spark.session import _reach_master, start
from rewriter.exec.spark.watch import SparkStopped, Watch, reach, says_lost, seconds_of


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class TestAddresses:
    def test_one_of_several_is_enough(self) -> None:
        with socket.socket() as master:
            master.bind(("127.0.0.1", 0))
            master.listen()
            port = master.getsockname()[1]
            _reach_master(f"spark://127.0.0.1:{closed_port()},127.0.0.1:{port}")

    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "no-such-host.invalid", "a" * 70])
    def test_none(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in a process without Spark: other tests may have started one in this process."""
        from pyspark import SparkContext

        monkeypatch.setattr(SparkContext, "_active_spark_context", None)
        url = f"spark://{host}:{closed_port()}"
        started = time.monotonic()
        with pytest.raises(EngineError) as caught:
            start(url, {})
        assert time.monotonic() - started < 15
        assert (caught.value.condition, caught.value.sqlstate) == ("ENGINE_UNREACHABLE", "08001")
        assert caught.value.object == url
        assert f"at {url} cannot be reached: " in caught.value.message

    @pytest.mark.parametrize(
        "master", ["yarn", "k8s://https://h:1", "local[2]", "spark://", "spark://h", "spark://h:x"]
    )
    def test_other_masters_are_left_to_spark(self, master: str) -> None:
        _reach_master(master)

    def test_a_port_that_is_none(self) -> None:
        with pytest.raises(EngineError) as caught:
            reach("Spark", [("127.0.0.1", 99_999)], "x")
        assert caught.value.condition == "ENGINE_UNREACHABLE"

    def test_what_spark_says_of_its_end(self) -> None:
        assert says_lost("Job aborted due to stage failure: Master removed our application: KILLED")
        assert says_lost("[INVALID_HANDLE.SESSION_CHANGED] The handle x is invalid.")
        assert not says_lost("[INVALID_HANDLE.FORMAT] The handle x is invalid.")
        assert not says_lost("[DIVIDE_BY_ZERO] Division by zero.")


class TestWatch:
    @pytest.fixture(autouse=True)
    def _quickly(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(watch, "_PAUSE_SECONDS", 0.01)

    def test_no_executors_for_too_long(self) -> None:
        canceled = threading.Event()
        with Watch("spark://h:1", lambda: True, lambda: 0, 0.1).over(canceled.set) as check:
            check()
            assert canceled.wait(10)
            with pytest.raises(EngineError, match="had no executor") as caught:
                check()
        assert caught.value.condition == "ENGINE_UNREACHABLE"

    def test_the_canceled_work_fails_for_want_of_executors(self) -> None:
        canceled = threading.Event()

        def work() -> None:
            with Watch("spark://h:1", lambda: True, lambda: 0, 0.1).over(canceled.set):
                assert canceled.wait(10)
                raise RuntimeError("canceled")

        with pytest.raises(EngineError, match="had no executor"):
            work()

    def test_they_come_in_time(self) -> None:
        """Each time that there is one, the seconds begin again."""
        counts = iter([0, 0, 1] * 200)
        with Watch("", lambda: True, lambda: next(counts), 0.2).over(lambda: None) as check:
            time.sleep(0.5)
            check()

    def test_the_setting(self) -> None:
        assert (seconds_of(None), seconds_of("2.5")) == (120, 2.5)
        for text in ("", "2 min", "-1", "nan", "0"):
            with pytest.raises(InterfaceError, match="executorTimeout"):
                seconds_of(text)

    def test_a_spark_that_stops_ends_work_that_would_wait_for_ever(self) -> None:
        """No call into its JVM fails, and the work never ends."""
        is_running, never = threading.Event(), threading.Event()
        is_running.set()
        threading.Timer(0.3, is_running.clear).start()
        with Watch("local[2]", is_running.is_set).over(lambda: None) as check, pytest.raises(SparkStopped):
            interruptible(lambda: never.wait(60), check=check)
        never.set()

    def test_an_executor_count_that_fails(self) -> None:
        def fail() -> int:
            raise ConnectionError

        with Watch("", lambda: True, fail, 0.0).over(lambda: None) as check:
            time.sleep(0.1)
            check()


class TestSharedFiles:
    def test_a_file_that_is_here(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"12345")
        path = str(tmp_path / "a")
        parts = [WrittenFile(path, ("x",), 1, size, PackedPart(("x",), 0, 1, 2, 5)) for size in (2, 3)]
        check_shared([WrittenFile(path, (), 1, 5), *parts])

    @pytest.mark.parametrize("content", [None, b"1234"])
    def test_a_file_that_is_not(self, tmp_path: Path, content: bytes | None) -> None:
        if content is not None:
            (tmp_path / "a").write_bytes(content)
        with pytest.raises(EngineError) as caught:
            check_shared([WrittenFile(str(tmp_path / "a"), (), 1, 5)])
        assert caught.value.condition == "WRITTEN_FILES_NOT_SHARED"
        assert caught.value.object == str(tmp_path / "a")
