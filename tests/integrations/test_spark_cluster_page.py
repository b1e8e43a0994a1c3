"""The commands of docs/how-to/spark-cluster.md are run, with addresses and directories of the test instead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from page_runner import DOCS, blocks, commands_of
from spark_cluster import HOST, SparkProcess

BLOCKS = blocks(DOCS / "how-to" / "spark-cluster.md")
MASTER, WORKER, SERVER = (block.text for block in BLOCKS if block.language == "sh")
USE, USE_CONNECT = (commands_of(block) for block in BLOCKS if block.language == "console")


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return str(probe.getsockname()[1])


@pytest.mark.cluster
@pytest.mark.long
def test_the_commands_of_the_page(tmp_path: Path, postgres_url: str) -> None:
    replacements = {
        "spark.example.com": HOST, "connect.example.com": HOST, "7077": free_port(), "15002": free_port(),
        "postgresql+psycopg://etl@db.example.com/rewriter": postgres_url, "/shared": str(tmp_path),
    }  # fmt: skip
    (tmp_path / "tmp").mkdir()
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, arguments in (("rewriter", "-m rewriter"), ("python", "")):
        (commands / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (commands / name).chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"

    def replaced(script: str) -> list[str]:
        for old, new in replacements.items():
            script = script.replace(old, new)
        return ["bash", "-c", f"export PATH='{path}'\n{script}"]

    def check(commands: list[tuple[str, list[str], int]]) -> None:
        script = "\n".join(command for command, _, _ in commands)
        environment = os.environ | {"SPARK_LOCAL_IP": HOST}
        run = subprocess.run(replaced(script), env=environment, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        assert run.stdout.splitlines() == [line for _, shown, _ in commands for line in shown]

    started: list[SparkProcess] = []

    def start(name: str, script: str, pattern: str) -> None:
        memory = "1g" if script == SERVER else "256m"
        started.append(SparkProcess(name, replaced(script), pattern, tmp_path, memory=memory))
        started[-1].started()

    try:
        start("master", MASTER, "Starting Spark master at")
        for number in range(2):
            start(f"worker-{number}", WORKER, "Successfully registered with master")
        check(USE)
        start("server", SERVER, "server started at")
        check(USE_CONNECT)
    finally:
        for process in reversed(started):
            process.kill()
