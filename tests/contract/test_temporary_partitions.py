"""Temporary tables with partitions: static and dynamic writes, overwrites, pruned reads, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

HOURS = "SELECT id * 10, concat('2024-01-0', 1 + id % 3), id % 2 FROM (SELECT explode(sequence(0L, 11L)) AS id) AS ids"


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return sorted(session.execute(sql).fetch(), key=repr)


@pytest.mark.share(3, "spark")
@pytest.mark.parametrize("stored", ["", "STORED AS CSV", "TBLPROPERTIES ('rewriter.packed' = 'false')"])
def test_temporary_tables_are_read_and_written_by_partition(stored: str, session: Session) -> None:
    for kind in ("", "TEMPORARY"):
        name = kind.lower() or "stored"
        session.execute(f"CREATE {kind} TABLE {name} (n BIGINT) PARTITIONED BY (ds STRING, h BIGINT) {stored}")
        session.execute(f"INSERT INTO {name} {HOURS}")
        session.execute(f"INSERT INTO {name} PARTITION (ds = '2024-01-09', h = 1) SELECT 7L")
        session.execute(f"INSERT INTO {name} PARTITION (ds = '2024-01-01', h) SELECT 8L, 5L")
        session.execute(f"INSERT OVERWRITE {name} SELECT 9L, '2024-01-02', 1L")
        session.execute(f"ALTER TABLE {name} DROP PARTITION (ds = '2024-01-03', h > 0)")
    assert rows(session, "SELECT * FROM temporary") == rows(session, "SELECT * FROM stored")
    assert rows(session, "SHOW PARTITIONS temporary") == rows(session, "SHOW PARTITIONS stored")
    assert rows(session, "SELECT n FROM temporary WHERE ds = '2024-01-02' AND h = 1") == [(9,)]
    result = session.execute("SELECT n FROM temporary WHERE ds = '2024-01-09'")
    assert result.fetch() == [(7,)]
    assert result.stats is not None
    assert [scan.partitions for scan in result.stats.scans] == [1]
    session.execute("INSERT INTO temporary SELECT * FROM temporary WHERE h = 1")
    assert rows(session, "SELECT COUNT(*) FROM temporary WHERE h = 1") == [
        (2 * session.execute("SELECT COUNT(*) FROM stored WHERE h = 1").fetch()[0][0],)
    ]


def test_a_temporary_table_with_partitions_ends_with_its_session(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, engine) as session:
        session.execute("CREATE TEMPORARY TABLE t PARTITIONED BY (ds) AS SELECT 1 AS n, 'a' AS ds")
        with Session(tmp_path, engine) as other, pytest.raises(Error):
            other.execute("SELECT * FROM t")
        assert rows(session, "SELECT * FROM t") == [(1, "a")]
    assert [path for path in tmp_path.rglob("*") if "temporary" in path.name] == []
    with Session(tmp_path, engine) as session, pytest.raises(Error):
        session.execute("SELECT * FROM t")
