"""A process killed at any database call of COMMIT: its transaction of two statements exists or not."""

from __future__ import annotations

from pathlib import Path

from kills import killed_at

import rewriter

#: The statements of the transaction. The process dies in the next statement.
TRANSACTION = (
    "START TRANSACTION",
    "INSERT INTO days PARTITION (dt) VALUES (1, '2013-01-01'), (2, '2013-01-02')",
    "INSERT OVERWRITE other VALUES (7)",
)


def state(warehouse: Path, url: str | None) -> list[object]:
    """Returns all that a reader sees."""
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
    # A prime stride meets all kinds of moments. On PostgreSQL everything is slower.
    moment, stride, kills = 1, 11 if catalog_url is None else 37, 0
    while killed_at(tmp_path, "COMMIT", moment, catalog_url, TRANSACTION):
        now = state(tmp_path, catalog_url)
        if now != before:
            break  # The process died after the commit.
        moment, kills = moment + stride, kills + 1
    assert kills >= (4 if catalog_url is None else 2)
    assert moment > 50
    after = state(tmp_path, catalog_url)
    assert after[:3] == [[(1, "2013-01-01"), (2, "2013-01-02")], [(7,)], [("dt=2013-01-01",), ("dt=2013-01-02",)]]
    with rewriter.connect(tmp_path, engine="duckdb", catalog=catalog_url) as connection:
        # The transaction of a dead process is still open, and blocks no other.
        assert len(connection.session.catalog.snapshot().transactions.open) >= kills
        connection.execute("INSERT OVERWRITE other VALUES (8)")
        assert connection.session.catalog.abort_dead(0.0) >= kills
        assert connection.execute("SELECT * FROM other").fetchall() == [(8,)]


def test_killed_between_two_statements(tmp_path: Path) -> None:
    """The transaction is invisible. Its files are orphans, and a rollback leaves none."""
    prepare(tmp_path, None)
    before, files = state(tmp_path, None), set(tmp_path.rglob("*.parquet"))
    assert killed_at(tmp_path, "INSERT INTO other VALUES (9)", 1, first=TRANSACTION)
    assert state(tmp_path, None) == before
    orphans = set(tmp_path.rglob("*.parquet")) - files
    assert len(orphans) >= 2
    assert not killed_at(tmp_path, "ROLLBACK", 0, first=TRANSACTION)
    assert set(tmp_path.rglob("*.parquet")) - files == orphans
    assert state(tmp_path, None) == before
