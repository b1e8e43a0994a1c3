"""One warehouse over three real clusters: a standalone Spark, a Spark Connect server, and DuckDB over an object store.

``pytest -m cluster tests/fault/test_three_clusters.py`` runs it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import ObjectStore
from spark_cluster import ConnectServer, StandaloneCluster, cluster, connect_server

from rewriter.catalog.filesystems.options import store_options
from rewriter.errors import Error
from rewriter.session import Session

pytestmark = [pytest.mark.cluster, pytest.mark.long]

#: The sum of x in each partition, as the model has it.
Content = dict[int, int]


@pytest.fixture(scope="module")
def standalone() -> Iterator[StandaloneCluster]:
    with cluster() as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[ConnectServer]:
    with connect_server() as started:
        yield started


@pytest.fixture
def session(
    tmp_path: Path, standalone: StandaloneCluster, server: ConnectServer, object_store: ObjectStore
) -> Iterator[Session]:
    definitions = {
        "spark": {"filesystem": str(tmp_path / "spark"), "engine": standalone.url, "options": {"spark.cores.max": "2"}},
        "connect": {"filesystem": str(tmp_path / "connect"), "engine": server.url},
        "store": {"filesystem": f"{object_store.uri}/store", "engine": "duckdb"},
    }
    stores = store_options(object_store.options, "the test")
    settings = {"hive.cluster.properties": json.dumps(definitions)}
    with Session(tmp_path / "w", "duckdb", settings=settings, filesystems=stores) as opened:
        yield opened


def fill(session: Session) -> None:
    for name in ("spark", "connect", "store"):
        session.execute(f"CREATE TABLE t_{name} (x INT) PARTITIONED BY (p INT) ON CLUSTER {name}")
        session.execute(f"INSERT INTO t_{name} VALUES (1, 1), (2, 2), (30, 3), (3, 3)")


def answer(session: Session, sql: str) -> tuple[list[tuple[object, ...]], str | None]:
    result = session.execute(sql)
    return result.fetch(), result.cluster


def test_each_table_is_read_and_written_where_it_is(session: Session) -> None:
    fill(session)
    for name in ("spark", "connect", "store"):
        assert answer(session, f"SELECT p, sum(x) FROM t_{name} GROUP BY p ORDER BY p") == (
            [(1, 1), (2, 2), (3, 33)],
            name,
        )
        session.execute(f"INSERT OVERWRITE t_{name} PARTITION (p = 2) SELECT x + 1 FROM t_{name} WHERE p = 2")
        assert answer(session, f"SELECT sum(x) FROM t_{name}") == ([(37,)], name)


def test_partitions_go_between_all_of_them(session: Session) -> None:
    fill(session)
    names = ("spark", "connect", "store")
    for name in names:
        for other in names:
            if other == name:
                continue
            session.execute(f"REPLICATE TABLE t_{name} TO CLUSTER {other}")
            session.execute(f"USE CLUSTER {other}")
            assert answer(session, f"SELECT sum(x), count(*) FROM t_{name}") == ([(36, 4)], other)
            session.execute("USE CLUSTER")
    session.execute("INSERT INTO t_spark VALUES (100, 2)")
    joined = (
        "SELECT sum(a.x) + sum(b.x) + sum(c.x) FROM t_connect a JOIN t_spark b ON a.p = b.p JOIN t_store c ON a.p = c.p"
    )
    assert answer(session, f"{joined} WHERE a.p = 1 AND b.p = 1 AND c.p = 1") == ([(3,)], "connect")
    assert answer(session, joined)[1] == "spark"
    session.execute("REPLICATE TABLE t_spark TO CLUSTER store ONLY STALE")
    session.execute("ALTER TABLE t_spark SET PRIMARY CLUSTER store")
    session.execute("INSERT INTO t_spark VALUES (1000, 1)")
    assert answer(session, "SELECT sum(x) FROM t_spark") == ([(1136,)], "store")


def test_a_cluster_that_stops_in_the_middle(session: Session, server: ConnectServer) -> None:
    fill(session)
    session.execute("REPLICATE TABLE t_connect TO CLUSTER store")
    assert answer(session, "SELECT sum(x) FROM t_connect") == ([(36,)], "connect")
    server.process.kill()
    try:
        result = session.execute("SELECT sum(x) FROM t_connect")
        assert (result.fetch(), result.cluster) == ([(36,)], "store")
        assert any("connect cannot be reached" in warning for warning in result.warnings)
        with pytest.raises(Error) as caught:
            session.execute("INSERT INTO t_connect VALUES (5, 5)")
        assert caught.value.condition == "ENGINE_UNREACHABLE"
        assert session.execute("SELECT count(*) FROM t_connect WHERE p = 5").fetch() == [(0,)]
        session.execute("USE CLUSTER connect")
        with pytest.raises(Error) as caught:
            session.execute("SELECT sum(x) FROM t_connect").fetch()
        assert caught.value.condition == "ENGINE_UNREACHABLE"
    finally:
        server.restart()
    assert answer(session, "SELECT sum(x) FROM t_connect") == ([(36,)], "connect")
    session.execute("USE CLUSTER")
    session.execute("INSERT INTO t_connect VALUES (5, 5)")
    assert answer(session, "SELECT sum(x) FROM t_connect") == ([(41,)], "connect")
