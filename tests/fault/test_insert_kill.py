"""A process killed at a moment of an INSERT leaves the table as before or as after, and the next INSERT works.

Every n-th moment is tried, from one that the commit selects. ``pytest -m long tests/fault/test_insert_kill.py`` tries
all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

#: Two rows for each of eight days.
ROWS = ", ".join(f"({n}, '2013-01-{n % 8 + 1:02d}')" for n in range(16))
FILL = f"INSERT OVERWRITE days PARTITION (dt) VALUES {ROWS}"
#: Statements, and the existing rows that they leave.
STATEMENTS = {
    f"INSERT INTO days PARTITION (dt) VALUES {ROWS}": lambda rows: sorted(rows * 2),
    f"INSERT OVERWRITE days PARTITION (dt) VALUES {ROWS.replace('(', '(1')}": lambda rows: sorted(
        (int(f"1{x}"), day) for x, day in rows
    ),
    "INSERT OVERWRITE days PARTITION (dt) SELECT x + 1, dt FROM days": lambda rows: [(x + 1, day) for x, day in rows],
}


def rows_of(session: Session) -> list[tuple[object, ...]]:
    return sorted(session.execute("SELECT x, dt FROM days").fetch())


def content(session: Session) -> list[tuple[object, ...]]:
    """Returns all rows, and the partitions and timelines."""
    said = [session.execute(sql).fetch() for sql in ("SHOW PARTITIONS days", "SHOW TIMELINES OF all_days")]
    return [*rows_of(session), *said[0], *said[1]]


@pytest.mark.parametrize("stride", [13, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("statement", STATEMENTS, ids=["into", "overwrite", "overwrite by a query"])
def test_a_killed_insert_is_before_or_after(tmp_path: Path, duckdb: DuckDBEngine, statement: str, stride: int) -> None:
    moment, seen = 1 + turn() % stride, {"before": 0, "after": 0}
    with Session(tmp_path, duckdb) as session:
        session.execute("CREATE TABLE days (x INT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE CUBE c (x INT MEASURE SUM, t TIMESTAMP TIME)")
        session.execute("CREATE FACT all_days OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))")
        session.execute(FILL)
        before, rows = content(session), rows_of(session)
        while killed_at(tmp_path, statement, moment):
            if content(session) == before:
                seen["before"] += 1
            else:
                assert rows_of(session) == STATEMENTS[statement](rows), f"moment {moment}"
                seen["after"] += 1
            session.execute(FILL)
            assert content(session) == before, f"moment {moment}"
            moment += stride
        assert rows_of(session) == STATEMENTS[statement](rows)
    assert seen["before"] > 60 // stride, seen
