"""A process killed at a moment of CREATE CUBE … FROM leaves nothing, or a cube whose queries are right or refused.

Every n-th moment is tried, from one that the commit selects.
``pytest -m long tests/fault/test_create_cube_from_kill.py`` tries all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn

from rewriter.errors import MissingDataError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

SOURCE = (
    "CREATE TABLE source AS SELECT timestamp_seconds(1704067200 + id * 5000) AS at, concat('k', id % 3) AS k, "
    "CAST(id AS INT) AS n FROM range(100)"
)
CREATE = "CREATE CUBE c FROM {} MEASURES (COUNT(*) AS events, SUM(n) AS n) ROLLUPS (DAILY (k), MONTHLY)"
QUERY = "SELECT COUNT(*), SUM(n) FROM c WHERE at >= '2024-01-01' AND at < '2024-01-05'"
RIGHT = [(70, 2415)]
DROPS = ("DROP FACT IF EXISTS c_all CASCADE", "DROP CUBE IF EXISTS c", "DROP TABLE IF EXISTS c_events")


@pytest.mark.parametrize("stride", [29, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_create_is_right_or_refused(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    moment, seen = 1 + turn() % stride, {"nothing": 0, "refused": 0, "right": 0}
    with Session(tmp_path, duckdb) as session:
        session.execute(SOURCE)
        path = next(tmp_path.rglob("*.parquet"))
        create = CREATE.format(f"parquet.`{path}`")
        while killed_at(tmp_path, create, moment):
            made = [kind for kind in ("CUBES", "FACTS") if session.execute(f"SHOW {kind}").fetch()]
            tables = [str(row[0]) for row in session.execute("SHOW TABLES").fetch()]
            if not made:
                assert tables == ["source"], f"moment {moment}"
                seen["nothing"] += 1
            else:
                assert made == ["CUBES", "FACTS"], f"moment {moment}"
                assert tables == ["c_all_daily", "c_all_monthly", "c_events", "source"], f"moment {moment}"
                try:
                    assert session.execute(QUERY).fetch() == RIGHT, f"moment {moment}"
                    seen["right"] += 1
                except MissingDataError:
                    seen["refused"] += 1
            for statement in DROPS:
                session.execute(statement)
            moment += stride
        assert session.execute(QUERY).fetch() == RIGHT
    assert seen["nothing"] > 20 // stride, seen
    assert seen["right"] > 20 // stride, seen
