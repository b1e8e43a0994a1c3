"""A file system that is really full: a small one in memory, in a namespace of its own, where the system allows that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Fills the file system in the working directory, frees a part of it, and goes on.
PROGRAM = """
import os
from rewriter.errors import OperationalError
from rewriter.session import Session
with Session("w", "duckdb", settings={"rewriter.least_retention_hours": 0}) as session:
    session.execute("CREATE TABLE t (x BIGINT) PARTITIONED BY (p INT)")
    insert, count = "INSERT INTO t SELECT xxhash64(id, {}), {} FROM range(40000)", 0
    try:
        while True:
            session.execute(insert.format(count, count))
            count += 1
    except OperationalError as error:
        print(error.condition, "w/t-1/" in error.message or "catalog.db" in error.message)
    rows = lambda: session.execute("SELECT COUNT(*), COUNT(DISTINCT p) FROM t").fetch()
    assert count and rows() == [(count * 40000, count)], (count, rows())
    os.remove("ballast")
    session.execute(insert.format(count, count))
    assert rows() == [((count + 1) * 40000, count + 1)]
    session.execute("VACUUM RETAIN 0 HOURS")
    files = sum(name.endswith(".parquet") for _, _, names in os.walk("w") for name in names)
    print(files == count + 1)
"""


def mounted(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs a command in a file system of 4 MB, of which a file takes 1 MB."""
    mount = f"mount -t tmpfs -o size=4m none '{folder}' && cd '{folder}' && head -c 1000000 /dev/zero > ballast"
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", *command],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_full_file_system(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or mounted(tmp_path, ["true"]).returncode != 0:
        pytest.skip("this system gives no user a file system of their own")
    done = mounted(tmp_path, [sys.executable, "-W", "ignore", "-c", PROGRAM])
    assert (done.returncode, done.stdout.split()) == (0, ["DISK_FULL", "True", "True"]), done.stderr
