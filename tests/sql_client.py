"""A session in a process of its own, which a test sends statements, and may kill.

``python sql_client.py`` reads a statement as JSON from each line, and answers with a line of JSON.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_cluster import HOST, SETTINGS, descendants

_SECONDS = 240.0


class StatementFailed(Exception):
    """An error of ``rewriter`` in the other process."""

    def __init__(self, kind: str, condition: str, message: str, hint: str | None, object: str | None) -> None:
        super().__init__(f"{kind} [{condition}] {message} Hint: {hint}")
        self.kind = kind
        self.condition = condition
        self.message = message
        self.hint = hint
        self.object = object


class Client:
    """A session of a warehouse on an engine: a Spark master, ``sc://…`` or ``duckdb``."""

    def __init__(
        self,
        warehouse: Path,
        engine: str,
        conf: Mapping[str, str] | None = None,
        catalog: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        settings = {**SETTINGS, "spark.driver.host": HOST, **(conf or {})}
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(warehouse), engine, json.dumps(settings), catalog or ""],
            env=os.environ | dict(environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            bufsize=1,
        )

    def execute(self, sql: str, seconds: float = _SECONDS) -> list[list[Any]]:
        """Runs a statement, and returns its rows. Raises ``StatementFailed``."""
        self.start(sql)
        return self.result(seconds)

    def start(self, sql: str) -> None:
        """Sends a statement."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(sql) + "\n")
        self._process.stdin.flush()

    def result(self, seconds: float = _SECONDS) -> list[list[Any]]:
        """Waits for the statement that was sent."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        assert ready, f"no answer within {seconds} s"
        line = self._process.stdout.readline()
        if not line:
            self.log.seek(0)
            raise AssertionError(f"the client ended: {self.log.read()[-3000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise StatementFailed(*answer["error"])
        rows: list[list[Any]] = answer["rows"]
        return rows

    @property
    def is_busy(self) -> bool:
        """Tests whether the statement that was sent is still running."""
        return not select.select([self._process.stdout], [], [], 0)[0]

    def java(self) -> list[int]:
        """Returns the processes of Java that the client started."""
        return [
            pid for pid in descendants(self._process.pid) if Path(f"/proc/{pid}/comm").read_text().strip() == "java"
        ]

    def kill(self) -> None:
        """Ends the client by SIGKILL, with its Java."""
        for pid in [self._process.pid, *descendants(self._process.pid)]:
            os.kill(pid, signal.SIGKILL)
        self._process.wait(30)

    def close(self) -> None:
        """Ends the client after its statement; it is killed if that lasts longer than half a minute."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(30)
        except (OSError, subprocess.TimeoutExpired):
            self.kill()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main(warehouse: str, engine: str, conf: str, catalog: str) -> None:
    from rewriter.errors import Error
    from rewriter.exec.spark.engine import SparkEngine
    from rewriter.session import Session

    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # What Spark prints is no answer.
    opened = engine if engine == "duckdb" else SparkEngine(engine, json.loads(conf))
    with Session(warehouse, opened, catalog=catalog or None) as session:
        for line in sys.stdin:
            try:
                answer: dict[str, Any] = {"rows": [list(row) for row in session.execute(json.loads(line)).fetch()]}
            except Error as error:
                kind = type(error).__name__
                answer = {"error": [kind, error.condition, error.message, error.hint, error.object]}
            answers.write(json.dumps(answer, default=str) + "\n")
    if not isinstance(opened, str):
        opened.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
