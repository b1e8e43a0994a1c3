"""SHOW CLUSTERS, USE CLUSTER and SHOW CATALOG PROPERTIES, and the clusters that statements see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.model.changes import SetCatalogProperty
from rewriter.errors import AnalysisError, DataError
from rewriter.session import Session

KEY, DEFAULT, USE = "hive.cluster.properties", "hive.default.cluster.name", "hive.use.default.cluster"
TWO = json.dumps({"West": {"filesystem": "/w", "engine": "sc://h:15002"}, "east": {"engine": "duckdb"}})


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        opened.execute("CREATE TABLE t (x INT)")
        yield opened


def define(session: Session, **values: str | None) -> None:
    keys = {"clusters": KEY, "default": DEFAULT, "use": USE}
    catalog = Catalog.open(session.catalog.warehouse)
    with catalog.begin() as transaction:
        transaction.commit([SetCatalogProperty(keys[name], value) for name, value in values.items()])
    catalog.close()


def rows(session: Session, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in session.execute(text).rows()]


def override(session: Session, key: str, value: str) -> None:
    session.execute(f"SET {key} = '{value}'")


def test_without_clusters(session: Session) -> None:
    assert rows(session, "SHOW CLUSTERS") == []
    assert rows(session, "SHOW CATALOG PROPERTIES") == []
    session.execute("USE CLUSTER")
    assert session.cluster is None
    with pytest.raises(AnalysisError) as raised:
        session.execute("USE CLUSTER c1")
    assert (raised.value.condition, raised.value.position) == ("CLUSTER_NOT_FOUND", (12, 14))


def test_clusters_of_the_catalog(session: Session) -> None:
    define(session, clusters=TWO, default="WEST")
    assert rows(session, "SHOW CLUSTERS") == [
        ("West", "/w", "sc://h:15002", True, False, False),
        ("east", None, "duckdb", False, False, True),
    ]
    assert rows(session, "SHOW CATALOG PROPERTIES") == [(KEY, TWO, "catalog"), (DEFAULT, "WEST", "catalog")]
    session.execute("SET rewriter.allowed_addresses = sc://h:*")
    session.execute("USE CLUSTER EAST")
    assert session.cluster == "east"
    assert rows(session, "SHOW CLUSTERS") == [
        ("West", "/w", "sc://h:15002", True, False, True),
        ("east", None, "duckdb", False, True, True),
    ]
    session.execute("use cluster")
    assert session.cluster is None


def test_a_session_overrides_the_properties(session: Session) -> None:
    define(session, clusters=TWO, default="West", use="true")
    override(session, KEY, '{"own": {"engine": "local[2]"}}')
    assert rows(session, "SHOW CLUSTERS") == [("own", None, "local[2]", True, False, True)]
    assert rows(session, "SHOW CATALOG PROPERTIES") == [
        (KEY, '{"own": {"engine": "local[2]"}}', "session"),
        (USE, "true", "catalog"),
    ]
    override(session, DEFAULT, "own")
    override(session, USE, "FALSE")
    assert rows(session, "SHOW CLUSTERS")[0][3] is True
    assert rows(session, "SHOW CATALOG PROPERTIES")[1:] == [(DEFAULT, "own", "session"), (USE, "FALSE", "session")]
    session.execute("RESET")
    assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["West", "east"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (DEFAULT, "north"),
        (KEY, "{"),
        (KEY, '{"x": {"options": {"spark.jars": "a"}}}'),
        (USE, "perhaps"),
        (DEFAULT, "a b"),
    ],
)
def test_values_that_do_not_fit_change_nothing(session: Session, key: str, value: str) -> None:
    define(session, clusters=TWO, default="West")
    override(session, USE, "true")
    with pytest.raises(DataError) as raised:
        override(session, key, value)
    assert raised.value.condition == "INVALID_CLUSTER_PROPERTIES"
    assert raised.value.position == (0, len(f"SET {key} = '{value}'"))
    assert rows(session, "SHOW CATALOG PROPERTIES") == [
        (KEY, TWO, "catalog"),
        (DEFAULT, "West", "catalog"),
        (USE, "true", "session"),
    ]


def test_a_reset_that_would_not_fit_changes_nothing(session: Session) -> None:
    override(session, KEY, TWO)
    override(session, DEFAULT, "east")
    define(session, clusters='{"other": {}}')
    with pytest.raises(DataError):
        session.execute(f"RESET {KEY}")
    assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["West", "east"]
    session.execute("RESET")
    assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["other"]


def test_a_chosen_cluster_that_vanishes_is_an_error(session: Session) -> None:
    define(session, clusters=TWO)
    session.execute("USE CLUSTER west")
    context = session._context({})
    assert context.chosen_cluster == "West"
    define(session, clusters='{"east": {}}')
    with pytest.raises(AnalysisError, match="The cluster 'West' cannot be found") as raised:
        _ = session._context({}).chosen_cluster
    assert "USE CLUSTER without a name" in (raised.value.hint or "")
    assert context.chosen_cluster == "West"
    assert rows(session, "SHOW CLUSTERS") == [("east", None, None, True, False, True)]
    session.execute("USE CLUSTER")
    assert session._context({}).chosen_cluster is None


def test_clusters_are_read_once_for_each_state(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.runtime import cluster_engines

    reads: list[object] = []
    read = cluster_engines.clusters_of
    monkeypatch.setattr(cluster_engines, "clusters_of", lambda properties: reads.append(1) or read(properties))
    define(session, clusters=TWO)
    first = session._context({}).clusters
    assert session._context({}).clusters is first
    assert len(reads) == 1
    define(session, default="east")
    assert session._context({}).clusters.default == "east"
    assert len(reads) == 2


def test_work_in_the_background_keeps_its_choice(session: Session) -> None:
    define(session, clusters=TWO)
    session.execute("USE CLUSTER west")
    context = session._context({})
    background = context.in_background(context.engine())
    session.execute("USE CLUSTER east")
    assert background.chosen_cluster == "West"
    assert session.cluster == "east"


def test_databases_and_clusters_are_apart(session: Session) -> None:
    define(session, clusters='{"sales": {}}')
    session.execute("CREATE DATABASE sales")
    session.execute("USE CLUSTER sales")
    assert (session.cluster, session.database) == ("sales", "default")
    session.execute("USE sales")
    session.execute("USE CLUSTER")
    assert (session.cluster, session.database) == (None, "sales")
    session.execute("USE CLUSTER sales")  # A name of a cluster gets no database.
    assert session.cluster == "sales"


def test_in_a_transaction(session: Session) -> None:
    define(session, clusters='{"West": {}, "east": {"filesystem": "/nowhere"}}')
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute("USE CLUSTER east")
    define(session, clusters='{"later": {}}')
    assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["West", "east"]
    session.execute("COMMIT")
    assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["later"]


def test_without_a_warehouse(tmp_path: Path) -> None:
    with Session(tmp_path / "none", "duckdb", settings={KEY: TWO}) as session:
        assert [row[0] for row in rows(session, "SHOW CLUSTERS")] == ["West", "east"]
        session.execute("USE CLUSTER west")
        assert session.cluster == "West"
    assert not (tmp_path / "none").exists()
