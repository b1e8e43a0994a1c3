"""A cluster whose engine cannot be reached: a read goes to the next cluster that has everything, and says so."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    """A table on c1, with copies on c2 and one partition on c3. Nothing listens at c1's address any more."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{probe.getsockname()[1]}"

    def clusters(engine: str) -> str:
        roots = {name: {"filesystem": str(tmp_path / name), "engine": "duckdb"} for name in ("c1", "c2", "c3")}
        return json.dumps({**roots, "c1": {"filesystem": str(tmp_path / "c1"), "engine": engine}})

    with Session(tmp_path / "w", duckdb) as opened:
        opened.execute(f"SET hive.cluster.properties = '{clusters('duckdb')}'")
        opened.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
        opened.execute("INSERT INTO t VALUES (1, 1), (2, 2)")
        opened.execute("REPLICATE TABLE t TO CLUSTER c2")
        opened.execute("CREATE TABLE u (y INT) ON CLUSTER c2")
        opened.execute("INSERT INTO u VALUES (5)")
        opened.execute(f"SET hive.cluster.properties = '{clusters(address)}'")
        yield opened


def test_a_read_is_tried_on_the_next_cluster(session: Session) -> None:
    result = session.execute("SELECT sum(x) FROM t")
    assert result.fetch() == [(3,)]
    assert result.cluster == "c2"
    (warning,) = [text for text in result.warnings if "cannot be reached" in text]
    assert warning.startswith("c1 cannot be reached: ")
    assert warning.endswith(": the query ran on c2")


def test_what_no_other_cluster_has_is_an_error_with_both_reasons(session: Session) -> None:
    session.execute("ALTER TABLE t PARTITION (p = 2) DROP CLUSTER c2")
    with pytest.raises(OperationalError) as caught:
        session.execute("SELECT sum(x) FROM t")
    assert caught.value.condition == "NO_CLUSTER_HAS_EVERYTHING"
    assert "c1 cannot be reached" in caught.value.message
    assert "c2 lacks 1 partition of t (p=2)" in caught.value.message
    assert "c3 lacks 2 partitions of t" in caught.value.message


@pytest.mark.share(1)
@pytest.mark.parametrize("statement", ["INSERT INTO t VALUES (3, 3)", "SELECT * FROM t"])
def test_a_write_and_a_chosen_cluster_are_not(session: Session, statement: str) -> None:
    if statement.startswith("SELECT"):
        session.execute("USE CLUSTER c1")
    with pytest.raises(OperationalError) as caught:
        session.execute(statement).fetch()
    assert caught.value.condition == "ENGINE_UNREACHABLE"
    session.execute("USE CLUSTER c2")
    assert session.execute("SELECT sum(x) FROM t").fetch() == [(3,)]
