"""Real Spark clusters for tests: a standalone master with workers, and Spark Connect servers, each in its own process.

They run what PySpark's package contains, on free ports of this machine. Workers compute with a Python that cannot
import ``rewriter``, as on machines where it is not installed. The kernel ends them when the test process dies.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark

from rewriter.exec.spark.java import find_java_home

HOST = "127.0.0.1"
_HOME = Path(pyspark.__file__).parent
_START_SECONDS = 180.0
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG

#: Keeps Python workers from importing the package under test.
_SITE = """\
import sys


class _NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "rewriter":
            raise ModuleNotFoundError("rewriter is not installed on the workers", name=name)


sys.meta_path.insert(0, _NotInstalled())
"""


class SparkProcess:
    """A daemon of Spark and the processes that it started. Its output goes to a file."""

    def __init__(
        self, name: str, arguments: list[str], started: str, directory: Path, memory: str = "256m", host: str = HOST
    ) -> None:
        """``started`` is a pattern of the line by which the daemon reports that it serves."""
        self.log = directory / f"{name}.log"
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                cwd=directory,
                env=environment(directory, memory, host),
                preexec_fn=_end_with_parent,
            )
        self._pattern = re.compile(started)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def started(self) -> re.Match[str]:
        """Waits until the daemon serves."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            text = self.log.read_text(errors="replace")
            if (match := self._pattern.search(text)) is not None:
                return match
            if self._process.poll() is not None:
                raise AssertionError(f"{self.log.name} ended with {self._process.returncode}:\n{text[-3000:]}")
            time.sleep(0.05)
        raise AssertionError(f"{self.log.name} does not serve:\n{self.log.read_text(errors='replace')[-3000:]}")

    def descendants(self) -> list[int]:
        return descendants(self.pid)

    def kill(self) -> None:
        """Ends it by SIGKILL, and all that it started: executors and their Python workers, as a machine that fails."""
        for pid in [self.pid, *descendants(self.pid)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(30)


class StandaloneCluster:
    """A master and its workers, of one core each."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        self._count = 0
        self.master = self._master("0")
        self.url = self.master.started()[1]
        self.workers: list[SparkProcess] = []
        self.add_workers(workers)

    def restart_master(self) -> None:
        """Starts a master at the address of the one that was killed. Workers come back to it by themselves."""
        self.master = self._master(self.url.rpartition(":")[2])
        self.master.started()
        until(lambda: self.master.log.read_text().count("Registering worker") >= len(self.workers))

    def end_application(self) -> None:
        """Has the master end the application that runs, as the button of its page does."""
        log = self.master.log.read_text()
        (page,) = re.findall(r"started at (http://\S+)", log)
        application = re.findall(r"Registered app \S+ with ID (\S+)", log)[-1]
        (token,) = re.findall(r'name="csrfToken" value="(\w+)"', urllib.request.urlopen(page).read().decode())
        form = f"id={application}&terminate=true&csrfToken={token}"
        urllib.request.urlopen(f"{page}/app/kill/", form.encode(), 30).close()

    def java_commands(self) -> list[str]:
        """Returns the command lines of what the workers run."""
        texts = []
        for worker in self.workers:
            for pid in worker.descendants():
                with suppress(OSError):
                    texts.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
        return texts

    def _master(self, port: str) -> SparkProcess:
        name = f"master-{len(list(self._directory.glob('master-*.log'))) + 1}"
        arguments = [*_class("deploy.master.Master"), "--host", HOST, "--port", port, "--webui-port", "0"]
        return SparkProcess(name, arguments, r"Starting Spark master at (spark://\S+)", self._directory)

    def add_workers(self, count: int = 1, hidden: Path | None = None) -> list[SparkProcess]:
        """Starts more workers, and waits until the master knows them. They see an empty directory at ``hidden``."""
        added = []
        for _ in range(count):
            self._count += 1
            # Speculation takes another host.
            name, host = f"worker-{self._count}", f"127.0.0.{self._count % 250 + 2}"
            arguments = [
                *_class("deploy.worker.Worker"), "--host", host, "--port", "0", "--webui-port", "0", "--cores", "1",
                "--memory", "1500m", "--work-dir", str(self._directory / name), self.url,
            ]  # fmt: skip
            if hidden is not None:
                mount = 'mkdir -p "$0" && mount -t tmpfs none "$0" && exec "$@"'
                arguments = [
                    "unshare",
                    "--user",
                    "--map-root-user",
                    "--mount",
                    "sh",
                    "-c",
                    mount,
                    str(hidden),
                    *arguments,
                ]
            added.append(
                SparkProcess(name, arguments, "Successfully registered with master", self._directory, host=host)
            )
        for worker in added:
            worker.started()
        self.workers += added
        return added

    def stop(self) -> None:
        for process in (*self.workers, self.master):
            process.kill()


class ConnectServer:
    """A Spark Connect server at a master, in a process of its own."""

    def __init__(self, directory: Path, master: str, port: int = 0, conf: Mapping[str, str] | None = None) -> None:
        settings = {
            **SETTINGS,
            "spark.connect.grpc.binding.address": HOST,
            "spark.connect.grpc.binding.port": str(port),
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            **(conf or {}),
        }
        options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
        arguments = [
            str(_HOME / "bin" / "spark-submit"), "--master", master, *options,
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
        ]  # fmt: skip
        self._directory, self._arguments = directory, arguments
        self.process = self._started()
        self.port = int(self.process.started()[1])
        self.url = f"sc://{HOST}:{self.port}"

    def restart(self) -> None:
        """Starts a server at the address of the one that was killed."""
        name = "spark.connect.grpc.binding.port="
        self._arguments = [f"{name}{self.port}" if text.startswith(name) else text for text in self._arguments]
        self.process = self._started()
        self.process.started()

    def _started(self) -> SparkProcess:
        name = f"connect-{len(list(self._directory.glob('connect-*.log'))) + 1}"
        served = r"server started at: [^\s:]*:(\d+)"
        return SparkProcess(name, self._arguments, served, self._directory, memory="1g")

    def stop(self) -> None:
        self.process.kill()


#: The settings of the Spark of tests: little memory, few tasks.
SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@contextmanager
def cluster(workers: int = 2) -> Iterator[StandaloneCluster]:
    """Runs a standalone cluster for a block."""
    with _directory("cluster") as directory:
        started = StandaloneCluster(directory, workers)
        try:
            yield started
        finally:
            started.stop()


@contextmanager
def connect_server(master: str = "local[2]", conf: Mapping[str, str] | None = None) -> Iterator[ConnectServer]:
    """Runs a Spark Connect server for a block."""
    with _directory("connect") as directory:
        started = ConnectServer(directory, master, conf=conf)
        try:
            yield started
        finally:
            started.stop()


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process started, and theirs."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(OSError):
                stat = Path("/proc", entry, "stat").read_text(errors="replace")
                children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, open_pids = [], [pid]
    while open_pids:
        for child in children.get(open_pids.pop(), ()):
            found.append(child)
            open_pids.append(child)
    return found


def until(holds: Callable[[], Any], seconds: float = 180.0, pause: float = 0.05) -> Any:
    """Waits until a call returns a true value, and returns it."""
    deadline = time.monotonic() + seconds
    while not (value := holds()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(pause)
    return value


def _class(name: str) -> list[str]:
    return [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.{name}"]


def environment(directory: Path, memory: str = "256m", host: str = HOST) -> dict[str, str]:
    """Returns the environment of a process of Spark that cannot import the package under test."""
    site = directory / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return inherited | {
        "JAVA_HOME": str(find_java_home()),
        "PYTHONPATH": str(site),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(directory / "local"),
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_LOCAL_IP": host,
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
    }


@contextmanager
def _directory(name: str) -> Iterator[Path]:
    directory = tempfile.mkdtemp(prefix=f"rewriter-test-{name}-")
    try:
        yield Path(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


_libc = ctypes.CDLL(None)


def _end_with_parent() -> None:
    _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)
