"""Fixtures that several suites share: one Spark and one DuckDB for the whole run, started at their first use.

Tests that take Spark have the mark ``spark``, and ``pytest -n`` runs all of them in one process with one JVM.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace

import hypothesis
import pytest
import rotation
import spark_cluster
import spark_connect
from browser import browser as browser
from browser import watched as watched
from object_store import object_server as object_server
from object_store import object_store as object_store
from postgres import catalog_url as catalog_url
from postgres import postgres_server as postgres_server
from postgres import postgres_url as postgres_url

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.spark.engine import SparkEngine
from rewriter.runtime.settings import SessionSettings

# The plans of tests are many and have few rows: Java's second compiler would take more time than it saves.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


#: Has a configuration of its own, that of SQLAlchemy's tests.
collect_ignore = ["sqlalchemy_suite"]

# A busy machine is no failure.
hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")

rotation.turn()  # Set before other processes are started, which read it.


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    rotation.mark_shares(items)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Adds the share of the seeds to the report of a failure."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    if report.failed:
        report.sections.append(("Shares of seeds", f"{rotation.VARIABLE}={rotation.turn()} takes the same ones"))


#: The tests whose queries are also checked by the law as a program. Others count reads, or plant faults.
_CHECKED_COVERS = (
    "tests/contract/", "tests/differential/", "tests/golden/", "tests/histories/", "tests/lifetimes/test_lives.py",
    "tests/planner/", "tests/scripts/", "tests/unit/planner/", "tests/unit/statements/",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _checked_covers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks the cover of each planned query, as ``rewriter.verify`` does: a refuted one is an error."""
    if request.node.nodeid.startswith(_CHECKED_COVERS):
        plain = SessionSettings.for_planner
        monkeypatch.setattr(SessionSettings, "for_planner", lambda self: replace(plain(self), certify=True))


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkEngine]:
    """Starts Spark on two cores. This takes 5 to 30 s, so it happens once, in the process of the marked tests."""
    running = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    if not any(item.nodeid == running and item.get_closest_marker("spark") for item in request.session.items):
        pytest.fail(f"{running} starts a JVM of its own: it must have the fixture, a parameter 'spark' or the mark")
    with contextlib.ExitStack() as stack:
        yield stack.enter_context(contextlib.closing(_spark_of(os.environ.get("REWRITER_TEST_SPARK", "local"), stack)))


def _spark_of(kind: str, stack: contextlib.ExitStack) -> SparkEngine:
    """Returns Spark in this process; a Spark Connect server in it, or in a process of its own; a cluster of two
    workers, or a server in front of one.
    """
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    if kind == "local":
        return SparkEngine("local[2]", settings)
    if kind == "connect":
        engine = stack.enter_context(contextlib.closing(SparkEngine("local[2]", settings)))
        return SparkEngine(spark_connect.serve(engine), settings)
    if kind == "connect-server":
        return SparkEngine(stack.enter_context(spark_cluster.connect_server()).url, settings)
    assert kind in ("cluster", "connect-cluster"), f"REWRITER_TEST_SPARK={kind} is unknown"
    url = stack.enter_context(spark_cluster.cluster()).url
    if kind == "connect-cluster":
        return SparkEngine(stack.enter_context(spark_cluster.connect_server(url)).url, settings)
    # Of 600 MB in two pieces, an executor would not hold one.
    pieces = {"spark.sql.shuffle.partitions": "16"}
    return SparkEngine(url, {**spark_cluster.SETTINGS, "spark.driver.host": spark_cluster.HOST, **settings, **pieces})


@pytest.fixture(scope="session")
def connect(spark: SparkEngine) -> Iterator[SparkEngine]:
    """A client of Spark Connect. Its server is that of the other Spark, or a service of it, which starts in a
    second.
    """
    is_client = str(spark._master).startswith("sc://")
    with_server = SparkEngine(spark._master if is_client else spark_connect.serve(spark))
    yield with_server
    with_server.close()


@pytest.fixture(scope="session")
def duckdb() -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine()
    yield engine
    engine.close()
