"""docs/how-to/metastore.md: its commands run, in their order; its table of differences is that of the comparison."""

from __future__ import annotations

import contextlib
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import self_signed
from page_runner import DOCS, blocks, commands_of

from rewriter.session import Session

PAGE = DOCS / "how-to" / "metastore.md"
START, USE = (commands_of(block) for block in blocks(PAGE) if block.language == "console")
FILES = {block.title: block.text for block in blocks(PAGE) if block.title}
TLS, IMPORT = FILES["serve.sh"], FILES["import.sh"].splitlines()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300)


@contextlib.contextmanager
def server(folder: Path, port: int) -> Iterator[str]:
    """Runs the command of the page at another port, and yields its first line."""
    (_, (command, shown, _)) = START
    assert shown == ["thrift://127.0.0.1:9083"]
    with serving(command.replace("9083", str(port)), folder) as line:
        yield line


def words_of(command: str) -> list[str]:
    return [sys.executable, "-m", *shlex.split(command)]


@contextlib.contextmanager
def serving(command: str, folder: Path) -> Iterator[str]:
    """Runs a command, yields its first line, and ends it as Ctrl-C does."""
    process = subprocess.Popen(words_of(command), cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@contextlib.contextmanager
def following(command: str, folder: Path) -> Iterator[None]:
    """Runs a command that follows a source, and ends it as Ctrl-C does."""
    process = subprocess.Popen(words_of(command), cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "nothing has changed\n"
        yield
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def tables(warehouse: Path, database: str = "default") -> set[str]:
    with Session(warehouse, "duckdb") as session:
        return {row[0] for row in session.execute(f"SHOW TABLES IN {database}").fetch()}


@pytest.mark.long
def test_the_commands_run(tmp_path: Path) -> None:
    """Spark is a process of its own: its catalog is the metastore of the page."""
    port = free_port()
    with server(tmp_path, port) as uri:
        assert uri == f"thrift://127.0.0.1:{port}\n"
        done = subprocess.run(
            [sys.executable, "-c", FILES["client.py"].replace("9083", str(port))],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        for command, shown, _ in USE:
            ran = run(words_of(command), tmp_path)
            assert ran.returncode == 0, ran.stderr
            assert ran.stdout.splitlines() == shown


def test_the_server_starts_as_the_page_says(tmp_path: Path) -> None:
    port = free_port()
    with server(tmp_path, port) as uri:
        assert uri == f"thrift://127.0.0.1:{port}\n"


def test_it_serves_other_machines(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    port = free_port()
    command = TLS.replace("server.pem", str(certificate)).replace("server.key", str(key))
    with serving(f"{command} --port {port}", tmp_path) as line:
        assert line.endswith(f":{port}\n")


def test_the_imports_run(tmp_path: Path) -> None:
    """The source is a metastore of ours with the tables that the commands name."""
    source, port = tmp_path / "source", free_port()
    with Session(source / "warehouse", "duckdb") as session:
        session.execute("CREATE DATABASE sales")
        for table in ("sales.daily", "orders", "others"):
            session.execute(f"CREATE EXTERNAL TABLE {table} (n INT) LOCATION '{tmp_path / table}'")
    once, some, follow = (
        line.replace("metastore.example:9083", f"127.0.0.1:{port}").replace("/shared", str(tmp_path)) for line in IMPORT
    )
    named, target = tmp_path / "named", tmp_path / "warehouse"
    with server(source, port):
        assert run(words_of(some.replace(str(target), str(named))), tmp_path).returncode == 0
        assert (tables(named), tables(named, "sales")) == ({"orders"}, {"daily"})
        assert run(words_of(once), tmp_path).returncode == 0
        assert tables(target) == {"orders", "others"}
        with following(follow.replace("--interval 5", "--interval 0.2"), tmp_path):
            with Session(source / "warehouse", "duckdb") as session:
                session.execute(f"CREATE EXTERNAL TABLE later (n INT) LOCATION '{tmp_path / 'later'}'")
            deadline = time.monotonic() + 60
            while "later" not in tables(target):
                assert time.monotonic() < deadline
                time.sleep(0.2)


def test_it_says_how_many_statements_are_compared() -> None:
    recorded = PAGE.parents[2] / "tests" / "metastore" / "recorded.jsonl"
    count = len(recorded.read_text(encoding="utf-8").splitlines())
    assert f"{count} statements" in PAGE.read_text(encoding="utf-8")
