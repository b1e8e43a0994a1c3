"""A process killed at any database call of COMMIT: its transaction of two statements is there, or nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import rewriter

#: Runs two statements, then kills itself at the n-th moment of the third: before each statement of the catalog's
#: database, BEGIN and COMMIT among them.
CHILD = """
import os
import signal
import sys
import rewriter
from statements import watch

warehouse, url, moment, last = sys.argv[1], sys.argv[2] or None, int(sys.argv[3]), sys.argv[4]
connection = rewriter.connect(warehouse, engine="duckdb", catalog=url)
for statement in (
    "START TRANSACTION",
    "INSERT INTO days PARTITION (dt) VALUES (1, '2013-01-01'), (2, '2013-01-02')",
    "INSERT OVERWRITE other VALUES (7)",
):
    connection.execute(statement)
seen = 0


def count(*_):
    global seen
    seen += 1
    if seen == moment:
        os.kill(os.getpid(), signal.SIGKILL)


watch(count)
connection.execute(last)
os._exit(0)
"""


def killed_at(warehouse: Path, url: str | None, moment: int, last: str = "COMMIT") -> bool:
    """Whether the process came to that moment of its last statement."""
    command = [sys.executable, "-c", CHILD, str(warehouse), url or "", str(moment), last]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": path})
    assert child.returncode in (0, -signal.SIGKILL)
    return child.returncode != 0


def state(warehouse: Path, url: str | None) -> list[object]:
    """All that a reader sees."""
    with rewriter.connect(warehouse, engine="duckdb", catalog=url) as connection:
        return [
            sorted(connection.execute(query).fetchall())
            for query in (
                "SELECT * FROM days",
                "SELECT * FROM other",
                "SHOW PARTITIONS days",
                "SHOW TIMELINES OF all_days",
            )
        ]


def prepare(warehouse: Path, url: str | None) -> None:
    with rewriter.connect(warehouse, engine="duckdb", catalog=url) as connection:
        for statement in (
            "CREATE TABLE days (x INT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE other (x INT)",
            "CREATE CUBE c (x INT MEASURE SUM, t TIMESTAMP TIME)",
            "CREATE FACT all_days OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
            "INSERT INTO other VALUES (1)",
        ):
            connection.execute(statement)


def test_killed_at_a_database_call_of_commit(tmp_path: Path, catalog_url: str | None) -> None:
    prepare(tmp_path, catalog_url)
    before = state(tmp_path, catalog_url)
    # A prime stride meets all kinds of moments; on PostgreSQL everything takes longer.
    moment, stride, kills = 1, 11 if catalog_url is None else 37, 0
    while killed_at(tmp_path, catalog_url, moment):
        now = state(tmp_path, catalog_url)
        if now != before:
            break  # the commit was made, and the process died behind it
        moment, kills = moment + stride, kills + 1
    assert kills >= (4 if catalog_url is None else 2)
    assert moment > 50
    after = state(tmp_path, catalog_url)
    assert after[:3] == [[(1, "2013-01-01"), (2, "2013-01-02")], [(7,)], [("dt=2013-01-01",), ("dt=2013-01-02",)]]
    with rewriter.connect(tmp_path, engine="duckdb", catalog=catalog_url) as connection:
        # Who died is open still, and in nobody's way.
        assert len(connection.session.catalog.snapshot().transactions.open) >= kills
        connection.execute("INSERT OVERWRITE other VALUES (8)")
        assert connection.session.catalog.abort_dead(0.0) >= kills
        assert connection.execute("SELECT * FROM other").fetchall() == [(8,)]


def test_killed_between_two_statements(tmp_path: Path) -> None:
    """Nothing is seen of it; its files are nobody's, and a rollback leaves none."""
    prepare(tmp_path, None)
    before, files = state(tmp_path, None), set(tmp_path.rglob("*.parquet"))
    assert killed_at(tmp_path, None, 1, "INSERT INTO other VALUES (9)")
    assert state(tmp_path, None) == before
    orphans = set(tmp_path.rglob("*.parquet")) - files
    assert len(orphans) >= 3
    assert not killed_at(tmp_path, None, 0, "ROLLBACK")
    assert set(tmp_path.rglob("*.parquet")) - files == orphans
    assert state(tmp_path, None) == before
