"""docs/how-to/metastore.md: its commands run, in their order; its table of differences is that of the comparison."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "metastore.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Returns the commands of a block, each with the output that the page shows."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, shell=True, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
    )


@contextlib.contextmanager
def server(folder: Path, port: int) -> Iterator[str]:
    """Runs the command of the page at another port, and yields its first line."""
    ((_, _), (command, shown)) = commands(blocks("console")[0])
    assert shown == "thrift://127.0.0.1:9083\n"
    words = command.replace("rewriter", f"{sys.executable} -m rewriter", 1).replace("9083", str(port)).split()
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


@pytest.mark.long
def test_the_commands_run(tmp_path: Path) -> None:
    """Spark is a process of its own: its catalog is the metastore of the page."""
    port = free_port()
    (client,) = [block for block in blocks("python") if "hive.metastore.uris" in block]
    with server(tmp_path, port) as uri:
        assert uri == f"thrift://127.0.0.1:{port}\n"
        done = subprocess.run(
            [sys.executable, "-c", client.replace("9083", str(port))],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        for command, shown in commands(blocks("console")[1]):
            ran = run(command.replace("rewriter", f"{sys.executable} -m rewriter", 1), tmp_path)
            assert ran.returncode == 0, ran.stderr
            if shown:
                assert ran.stdout == shown


def test_the_server_starts_as_the_page_says(tmp_path: Path) -> None:
    port = free_port()
    with server(tmp_path, port) as uri:
        assert uri == f"thrift://127.0.0.1:{port}\n"


def test_it_says_how_many_statements_are_compared() -> None:
    recorded = PAGE.parents[2] / "tests" / "metastore" / "recorded.jsonl"
    count = len(recorded.read_text(encoding="utf-8").splitlines())
    assert f"{count} statements" in TEXT
