"""A process killed at any point of CREATE TABLE … AS leaves no table or the whole table, and the next one works.

Four moments are tried, two of each statement; ``pytest -m long tests/fault/test_create_kill.py`` tries thirty.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from test_insert_kill import ROWS, attempt, duration

import rewriter

CREATE = "CREATE TABLE made PARTITIONED BY (dt) AS SELECT x, dt FROM src"
REPLACE = "CREATE OR REPLACE TABLE made PARTITIONED BY (dt) AS SELECT x + 1000 AS x, dt FROM src"


def content(warehouse: Path) -> tuple[int, int] | None:
    """How many rows the table has, and its least x; ``None`` where it is not there."""
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        cursor.execute("SHOW TABLES LIKE 'made'")
        if not cursor.fetchall():
            return None
        cursor.execute("SELECT count(*), min(x) FROM made")
        ((rows, least),) = cursor.fetchall()
        return rows, least


def run(warehouse: Path, *statements: str) -> None:
    with rewriter.connect(warehouse, engine="duckdb") as connection:
        cursor = connection.cursor()
        for statement in statements:
            cursor.execute(statement)


@pytest.mark.parametrize("attempts", [4, pytest.param(30, marks=pytest.mark.long)])
def test_a_killed_create_is_before_or_after(tmp_path: Path, attempts: int) -> None:
    rng = random.Random(12)
    run(tmp_path, "CREATE TABLE src (x INT, dt STRING)", f"INSERT INTO src VALUES {ROWS}")
    taken = duration(tmp_path, CREATE)
    assert content(tmp_path) == (400, 0)
    for number in range(attempts):
        replacing = number % 2 == 1
        if not replacing:
            run(tmp_path, "DROP TABLE IF EXISTS made")
        elif content(tmp_path) != (400, 0):
            run(tmp_path, "DROP TABLE IF EXISTS made", CREATE)
        before, after = ((400, 0), (400, 1000)) if replacing else (None, (400, 0))
        done = attempt(tmp_path, REPLACE if replacing else CREATE, rng.uniform(0, 1.2 * taken))
        found = content(tmp_path)
        assert found in ((after,) if done else (before, after)), f"attempt {number}: {found}"
    run(tmp_path, "DROP TABLE IF EXISTS made", CREATE)
    assert content(tmp_path) == (400, 0)
