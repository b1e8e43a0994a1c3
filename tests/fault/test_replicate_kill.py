"""A process killed at a moment of REPLICATE or SET PRIMARY CLUSTER: no half copy is ever read, nothing committed is
lost, the statement goes on when it is run again, and VACUUM removes what is left.

Every n-th moment is tried, from one that the commit selects. ``pytest -m long tests/fault/test_replicate_kill.py``
tries all of them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session
from rewriter.statements.clusters import replication

DAYS = range(6)
REPLICATE, PRIMARY = "REPLICATE TABLE days TO CLUSTER c2", "ALTER TABLE days SET PRIMARY CLUSTER c2"


@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_replicate(tmp_path: Path, duckdb: DuckDBEngine, monkeypatch: pytest.MonkeyPatch, stride: int) -> None:
    monkeypatch.setattr(replication, "_CHUNK_PARTITIONS", 2)
    clusters = {name: {"filesystem": str(tmp_path / name), "engine": "duckdb"} for name in ("c1", "c2")}
    define = f"SET hive.cluster.properties = '{json.dumps(clusters)}'"
    moment, partial = 1 + turn() % stride, 0
    with Session(tmp_path / "w", duckdb, settings={"rewriter.least_retention_hours": 0}) as session:
        session.execute(define)
        session.execute("CREATE TABLE days (x INT) PARTITIONED BY (p INT)")
        for day in DAYS:
            session.execute(f"INSERT INTO days VALUES ({day}, {day}), ({day + 10}, {day})")
        expected = rows(session, "c1")
        while killed_at(tmp_path / "w", REPLICATE, moment, first=(define,)):
            moment += stride
            partial += 0 < len(on_c2(session)) < 2 * len(DAYS)
            assert set(on_c2(session)) <= set(expected)
            check(session)
            session.execute(REPLICATE)
            assert rows(session, "c2") == expected
            session.execute("ALTER TABLE days DROP CLUSTER c2")
            vacuum(session)
            assert list((tmp_path / "c2").rglob("*.parquet")) == []
            assert rows(session, "c1") == expected
            session.execute("USE CLUSTER")
        moment = 1 + turn() % stride
        while killed_at(tmp_path / "w", PRIMARY, moment, first=(define,)):
            moment += stride
            assert rows(session, "c1") == rows(session, "c2") == expected
            check(session)
            session.execute("USE CLUSTER")
            if primary(session) == "c2":
                session.execute("ALTER TABLE days SET PRIMARY CLUSTER c1")
        assert primary(session) == "c2"
        session.execute("ALTER TABLE days DROP CLUSTER c1")
        vacuum(session)
        assert rows(session, "c2") == expected
        assert list((tmp_path / "c1").rglob("*.parquet")) == []
    assert partial or stride > 1


def vacuum(session: Session) -> None:
    session.catalog.abort_dead(-1.0)
    session.execute("VACUUM RETAIN 0 HOURS")


def primary(session: Session) -> str | None:
    return session.snapshot().table("days").cluster


def rows(session: Session, cluster: str | None) -> list[tuple[object, ...]]:
    session.execute(f"USE CLUSTER {cluster}")
    return sorted(session.execute("SELECT p, x FROM days").fetch())


def on_c2(session: Session) -> list[tuple[object, ...]]:
    """Returns the rows of the partitions that c2 has."""
    session.execute("USE CLUSTER c2")
    found: list[tuple[object, ...]] = []
    for day in DAYS:
        try:
            found += session.execute(f"SELECT p, x FROM days WHERE p = {day}").fetch()
        except Error as error:
            if error.condition != "CLUSTER_LACKS_PARTITIONS":
                raise
    return found


def check(session: Session) -> None:
    assert list(findings(session.catalog.database)) == []
