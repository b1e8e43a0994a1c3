"""Which INSERTs from a cube prove the parts of a period: tables that are partitioned by a dimension, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

WITHIN = "t >= '2013-01-01' AND t < '2013-02-01'"
MONTH = "date_format(t, 'yyyy-MM')"


@pytest.fixture
def session(duckdb: DuckDBEngine, tmp_path: Path) -> Iterator[Session]:
    """Creates a complete January of days of u = 'a' and 'b'."""
    with Session(tmp_path / "warehouse", duckdb) as opened:
        opened.execute("CREATE CUBE c (k STRING, u STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        for name in ("days", "months"):
            opened.execute(f"CREATE TABLE {name} (k STRING, n BIGINT) PARTITIONED BY (dt STRING, u STRING)")
        parts = "COMPLETE WITH u IN ('a', 'b')"
        opened.execute(
            f"CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt) {parts}, "
            f"TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt) {parts})"
        )
        rows = ", ".join(f"('x', 1, '2013-01-{day:02}', '{u}')" for day in range(1, 32) for u in "ab")
        opened.execute(f"INSERT INTO days VALUES {rows}")
        yield opened


def states(session: Session) -> tuple[int, int]:
    """Returns the number of fresh and of unproven months."""
    snapshot = session.catalog.snapshot()
    (period,) = snapshot.fact("f").storage_table("months").layouts
    return snapshot.timeline("months", period, "t").count, snapshot.unproven("months", period, "t").count


@pytest.mark.parametrize(
    "statements",
    [
        [
            f"INSERT INTO months PARTITION (dt = '2013-01', u = '{u}') "
            f"SELECT k, SUM(n) FROM c WHERE {WITHIN} AND u = '{u}' GROUP BY k"
            for u in "ab"
        ],
        [
            f"INSERT INTO months PARTITION (dt, u = '{u}') "
            f"SELECT k, SUM(n), {MONTH} FROM c WHERE {WITHIN} AND u IN ('{u}', 'z') GROUP BY k, {MONTH}"
            for u in "ab"
        ],
        [
            f"INSERT INTO months PARTITION (dt = '2013-01', u) "
            f"SELECT k, SUM(n), u FROM c WHERE {WITHIN} AND NOT (u <> '{u}') GROUP BY k, u"
            for u in "ab"
        ],
        [f"INSERT INTO months PARTITION (dt, u) SELECT k, SUM(n), {MONTH}, u FROM c GROUP BY k, u, {MONTH}"],
    ],
)
def test_parts_of_a_period_are_proven(session: Session, statements: list[str]) -> None:
    for statement in statements:
        assert states(session) == (0, 0)
        session.execute(statement)
    assert states(session) == (1, 0)
    result = session.execute(f"SELECT u, COUNT(*) FROM c WHERE {WITHIN} GROUP BY u ORDER BY u")
    assert (result.fetch(), result.stats.partitions) == ([("a", 31), ("b", 31)], 2)


@pytest.mark.parametrize(
    ("part", "select", "condition"),
    [
        ("u = 'b'", "k, SUM(n)", "u = 'a'"),  # Rows of another part.
        ("u = 'b'", "k, SUM(n)", "u = 'z'"),  # None of its rows.
        ("u = 'b'", "k, SUM(n)", "u = 'b' AND k = 'x'"),  # Not all rows of a partition.
        ("u = 'b'", "k, SUM(n)", "(u = 'b' OR k = 'x')"),
        ("u = 'b'", "k, SUM(n)", "u = 'b' AND u IS NULL"),
        ("u", "k, SUM(n), CASE u WHEN 'a' THEN 'b' ELSE 'a' END", "u IN ('a', 'b')"),  # Each as the other.
        ("u", "k, SUM(n), 'b'", "u = 'a'"),
    ],
)
def test_parts_that_lack_rows_are_unproven(session: Session, part: str, select: str, condition: str) -> None:
    session.execute(
        "INSERT INTO months PARTITION (dt = '2013-01', u = 'a') SELECT k, SUM(n) FROM days WHERE u = 'a' "
        "AND dt < '2013-02-01' GROUP BY k"
    )
    session.execute(
        "INSERT INTO months PARTITION (dt = '2013-01', u = 'b') SELECT k, SUM(n) FROM days WHERE u = 'b' "
        "AND dt < '2013-02-01' GROUP BY k"
    )
    assert states(session) == (1, 0)
    keys = "k, u" if part == "u" else "k"
    session.execute(
        f"INSERT OVERWRITE months PARTITION (dt = '2013-01', {part}) "
        f"SELECT {select} FROM c WHERE {WITHIN} AND {condition} GROUP BY {keys}"
    )
    assert states(session)[0] == 0
