"""Conditions that several threads compute first: one database with its macros serves all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: Nothing is open in a new process; the barrier lets all threads begin at once.
SCRIPT = """
import sys, threading
from rewriter.session import Session

QUERY = "SELECT * FROM t WHERE CAST(ds AS INT) % 3 = 2"
with Session(sys.argv[1], engine="duckdb") as session:
    session.execute("CREATE TABLE t (a INT) PARTITIONED BY (ds STRING)")
    session.execute("INSERT INTO t VALUES (1, '1'), (2, '2'), (3, '3')")
    barrier, read = threading.Barrier(4), []

    def run():
        with Session(sys.argv[1], engine="duckdb") as own:
            barrier.wait()
            read.append(own.execute(QUERY).stats.partitions)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(read, session.execute(QUERY).stats.partitions)
"""


def test_threads_that_compute_a_condition_first_prune_alike(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[1, 1, 1, 1] 1\n"
