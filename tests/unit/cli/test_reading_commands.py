"""``rewriter coverage`` and ``rewriter rewrite`` read where one may only read, and change nothing anywhere."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.store.database import stored_version
from rewriter.cli import main

SETUP = """
CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt));
ALTER TABLE days ADD PARTITION (dt='2015-06-16') PARTITION (dt='2015-06-18')
"""
QUERY = "SELECT SUM(n) FROM c WHERE t >= '2015-06-16' AND t < '2015-06-17'"
COMMANDS = [["coverage", "f"], ["coverage", "f", "--json"], ["coverage", "f", "--html", "-"], ["rewrite", QUERY]]
NOBODY = 65534

#: Runs a command as root over a warehouse of its own, which imports all there is to import, and then as another user.
CHILD = """
import contextlib, io, os, sys, tempfile
from rewriter.cli.main import main
place, own, *words = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main([words[0], "-w", own, *words[1:]])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sys.exit(main([words[0], "-w", place, *words[1:]]))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Creates a directory that other users reach, with a warehouse that they may only read, and one beside it."""
    with tempfile.TemporaryDirectory(prefix="rewriter-readonly-") as name:
        Path(name).chmod(0o755)
        for warehouse in ("w", "own"):
            assert main.main(["sql", "-w", f"{name}/{warehouse}", "--engine", "duckdb", "-e", SETUP]) == 0
        yield Path(name)


@pytest.mark.share(1)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_reading_needs_no_right_to_write(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    words = [sys.executable, "-c", CHILD, str(folder / "w"), str(folder / "own"), *command]
    environment = {**os.environ, "HOME": "/nowhere", "XDG_CONFIG_HOME": ""}
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, env=environment)
    capsys.readouterr()
    code = main.main([command[0], "-w", str(folder / "w"), *command[1:]])
    assert (done.stderr, done.returncode) == ("", code)
    assert done.stdout == capsys.readouterr().out
    assert done.stdout


@pytest.mark.share(1)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_older_catalog_is_not_upgraded(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "w" / "catalog.db"
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE schema_version SET version = version - 1")
    connection.close()
    before = stored_version(file)
    assert main.main([command[0], "-w", str(folder / "w"), *command[1:]]) == 2
    assert "[CATALOG_TOO_OLD]" in capsys.readouterr().err
    assert stored_version(file) == before


def test_reading_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "w" / "catalog.db"
    before = file.read_bytes()
    for command in COMMANDS:
        main.main([command[0], "-w", str(folder / "w"), *command[1:]])
    assert file.read_bytes() == before
