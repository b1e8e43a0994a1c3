"""The commands of docs/how-to/spark-cluster.md are run, with addresses and directories of the test instead."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from spark_cluster import HOST, SparkProcess

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "spark-cluster.md").read_text(encoding="utf-8")
MASTER, WORKER, USE, SERVER, USE_CONNECT = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
PRINTED = re.findall(r"prints\n\n```\n(.*?)```", PAGE, re.DOTALL)


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return str(probe.getsockname()[1])


@pytest.mark.cluster
@pytest.mark.long
def test_the_commands_of_the_page(tmp_path: Path, postgres_url: str) -> None:
    replacements = {
        "spark.example.com": HOST, "connect.example.com": HOST, "7077": free_port(), "15002": free_port(),
        "postgresql+psycopg://etl@db.example.com/rewriter": f"'{postgres_url}'", "/shared": str(tmp_path),
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

    def printed(script: str) -> str:
        environment = os.environ | {"SPARK_LOCAL_IP": HOST}
        run = subprocess.run(replaced(script), env=environment, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, run.stderr
        return run.stdout

    started: list[SparkProcess] = []

    def start(name: str, script: str, pattern: str) -> None:
        memory = "1g" if script == SERVER else "256m"
        started.append(SparkProcess(name, replaced(script), pattern, tmp_path, memory=memory))
        started[-1].started()

    try:
        start("master", MASTER, "Starting Spark master at")
        for number in range(2):
            start(f"worker-{number}", WORKER, "Successfully registered with master")
        assert printed(USE) == PRINTED[0]
        start("server", SERVER, "server started at")
        assert printed(USE_CONNECT) == PRINTED[1]
    finally:
        for process in reversed(started):
            process.kill()
