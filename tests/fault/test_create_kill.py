"""A process killed at a moment of CREATE TABLE … AS leaves no table or the complete table, and the next one works.

Every n-th moment is tried, from one that the commit selects. ``pytest -m long tests/fault/test_create_kill.py`` tries
all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn
from test_insert_kill import ROWS

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

CREATE = "CREATE TABLE made PARTITIONED BY (dt) AS SELECT x, dt FROM src"
REPLACE = "CREATE OR REPLACE TABLE made PARTITIONED BY (dt) AS SELECT x + 1000 AS x, dt FROM src"


def content(session: Session) -> tuple[object, ...] | None:
    """Returns the number of rows and the least x, or ``None`` if the table does not exist."""
    if not session.execute("SHOW TABLES LIKE 'made'").fetch():
        return None
    (row,) = session.execute("SELECT count(*), min(x) FROM made").fetch()
    return row


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("replacing", [False, True])
def test_a_killed_create_is_before_or_after(tmp_path: Path, duckdb: DuckDBEngine, replacing: bool, stride: int) -> None:
    moment, seen = 1 + turn() % stride, {"before": 0, "after": 0}
    before, after = ((16, 0), (16, 1000)) if replacing else (None, (16, 0))
    undo = ["DROP TABLE IF EXISTS made", CREATE][: 2 if replacing else 1]
    with Session(tmp_path, duckdb) as session:
        for statement in ("CREATE TABLE src (x INT, dt STRING)", f"INSERT INTO src VALUES {ROWS}", *undo):
            session.execute(statement)
        assert content(session) == before
        while killed_at(tmp_path, REPLACE if replacing else CREATE, moment):
            now = content(session)
            assert now in (before, after), f"moment {moment}: {now}"
            seen["before" if now == before else "after"] += 1
            for statement in undo:
                session.execute(statement)
            assert content(session) == before, f"moment {moment}"
            moment += stride
        assert content(session) == after
        session.execute(CREATE.replace("TABLE", "OR REPLACE TABLE"))
        assert content(session) == (16, 0)
    assert seen["before"] > 60 // stride, seen
