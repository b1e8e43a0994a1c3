"""A process killed at any point of an INSERT leaves the table as before or as after, and the next INSERT works."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import rewriter

CHILD = """
import sys
import rewriter

with rewriter.connect(sys.argv[1], engine="duckdb") as connection:
    cursor = connection.cursor()
    cursor.execute("SELECT 1")  # what takes long for the first time is behind us
    print("ready", flush=True)
    sys.stdin.readline()
    cursor.execute(sys.argv[2])
    print("done", flush=True)
    sys.stdin.readline()
"""

ROWS = ", ".join(f"({n}, '2013-01-{n % 28 + 1:02d}')" for n in range(400))
STATEMENTS = (
    f"INSERT INTO days PARTITION (dt) VALUES {ROWS}",
    f"INSERT OVERWRITE days PARTITION (dt) VALUES {ROWS}",
    "INSERT OVERWRITE days PARTITION (dt) SELECT x + 1, dt FROM days",
)


def content(warehouse: Path) -> list[tuple[object, ...]]:
    """All rows, and what the timelines and the partitions say, from a session of its own."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT x, dt FROM days")
        rows = sorted(cursor.fetchall())
        cursor.execute("SHOW PARTITIONS days")
        partitions = cursor.fetchall()
        cursor.execute("SHOW TIMELINES OF all_days")
        return [*rows, *partitions, *cursor.fetchall()]


def start(warehouse: Path, statement: str) -> subprocess.Popen[str]:
    """A process that has just begun to run the statement."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(warehouse), statement],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.stdin.write("\n")
    child.stdin.flush()
    return child


def attempt(warehouse: Path, statement: str, delay: float) -> bool:
    """Runs the statement in a process that is killed after ``delay`` seconds; whether it had ended by then."""
    child = start(warehouse, statement)
    time.sleep(delay)
    os.kill(child.pid, signal.SIGKILL)
    return "done" in child.communicate()[0]


def duration(warehouse: Path, statement: str) -> float:
    """How many seconds the statement takes in a process of its own, as in the attempts."""
    child = start(warehouse, statement)
    started = time.perf_counter()
    assert child.stdout is not None
    assert child.stdout.readline() == "done\n"
    taken = time.perf_counter() - started
    child.communicate("\n")
    return taken


def test_a_killed_insert_is_before_or_after(tmp_path: Path) -> None:
    rng = random.Random(11)
    with rewriter.connect(tmp_path, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE TABLE days (x INT) PARTITIONED BY (dt STRING)")
        cursor.execute("CREATE CUBE c (x INT MEASURE SUM, t TIMESTAMP TIME)")
        cursor.execute("CREATE FACT all_days OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))")
        cursor.execute(f"INSERT INTO days PARTITION (dt) VALUES {ROWS}")
    longest = 1.5 * duration(tmp_path, STATEMENTS[1])
    seen = {"before": 0, "after": 0}
    number = 0
    while number < 15 or (min(seen.values()) < 2 and number < 60):
        statement = STATEMENTS[number % len(STATEMENTS)]
        before = content(tmp_path)
        ended = attempt(tmp_path, statement, rng.uniform(0, longest))
        now = content(tmp_path)
        if now == before and not ended:
            seen["before"] += 1
            longest *= 1.0 if seen["after"] else 1.2  # a machine that became slower since the measurement
        else:
            after = expected(before, statement)
            assert [row for row in now if isinstance(row[0], int)] == after, f"attempt {number}: {statement[:60]}"
            seen["after"] += 1
        with rewriter.connect(tmp_path, engine="duckdb") as connection:
            connection.cursor().execute("INSERT OVERWRITE days PARTITION (dt = '2013-01-01') VALUES (7)")
            cursor = connection.cursor()
            cursor.execute("SELECT x FROM days WHERE dt = '2013-01-01'")
            assert cursor.fetchall() == [(7,)]
            connection.cursor().execute(STATEMENTS[1])
        number += 1
    assert seen["before"] >= 2, seen
    assert seen["after"] >= 2, seen


def expected(before: list[tuple[object, ...]], statement: str) -> list[tuple[object, ...]]:
    """The rows after the statement, had it ended."""
    rows = [(x, dt) for row in before if isinstance(row[0], int) for x, dt in [row]]
    new = [(n, f"2013-01-{n % 28 + 1:02d}") for n in range(400)]
    if statement == STATEMENTS[0]:
        return sorted([*rows, *new])
    return sorted(new) if statement == STATEMENTS[1] else sorted((x + 1, dt) for x, dt in rows if isinstance(x, int))
