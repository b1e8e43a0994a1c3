"""The metastore that is compared with a real Hive metastore: a process of ``rewriter serve --metastore``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The environment variable with the URI of a running metastore to compare instead, such as ``thrift://127.0.0.1:9083``.
VARIABLE = "REWRITER_TEST_METASTORE"


@contextmanager
def metastore(warehouse: Path, files: Path) -> Iterator[str]:
    """Yields the URI of a metastore over a new warehouse, which makes and removes directories below ``files``."""
    given = os.environ.get(VARIABLE)
    if given:
        yield given
        return
    command = [sys.executable, "-m", "rewriter", "serve", "--metastore", "--port", "0", "-w", str(warehouse)]
    server = subprocess.Popen([*command, "--files-below", str(files)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        uri = server.stdout.readline().strip()
        assert uri.startswith("thrift://"), f"The server ended with {server.wait(10)}"
        yield uri
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
