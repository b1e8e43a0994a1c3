"""The server of docs/how-to/pictures.md shows a page at the URL that it prints."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from page_runner import DOCS, blocks

from rewriter.session import Session

(LIVE,) = [block.text for block in blocks(DOCS / "how-to" / "pictures.md") if block.title == "live.sh"]


@pytest.mark.share(1)
@pytest.mark.parametrize("command", LIVE.splitlines())
def test_the_server_shows_its_pages(command: str, tmp_path: Path) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE t (n INT)")
    words = [sys.executable, "-m", *shlex.split(command)]
    if "--port" not in words:
        words += ["--port", "0"]  # The port of the page may be taken here.
    server = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        with urllib.request.urlopen(server.stdout.readline().strip(), timeout=30) as page:
            assert page.status == 200
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
