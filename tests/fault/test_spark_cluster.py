"""Processes of a real cluster that die while statements run: workers, the master, the driver, a Spark Connect server.

``pytest -m cluster`` runs them.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from spark_cluster import HOST, ConnectServer, StandaloneCluster, cluster, connect_server, until
from sql_client import Client, StatementFailed

from rewriter.catalog.store import schema
from rewriter.session import Session

pytestmark = [pytest.mark.cluster, pytest.mark.long]

FILES, ROWS = 8, 10
#: Each file of the source is a task, and each row of a task is written before the next one is computed.
CONF = {
    "spark.sql.files.maxPartitionBytes": "70000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.buffer.size": "64",
    "spark.sql.execution.pandas.udf.buffer.size": "64",
}
#: The id after some tenths of a second.
SLOW = "id + CAST(0 * aggregate(sequence(1, {work}), 0D, (a, x) -> a + sin(x + id)) AS INT)"
INSERT = f"INSERT INTO target SELECT id, {SLOW.format(work=1_000_000)} AS v, CAST(id AS STRING) AS p FROM source"
EXPECTED = [(number, number, str(number)) for number in range(FILES * ROWS)]


@pytest.fixture(scope="module")
def running() -> Iterator[StandaloneCluster]:
    with cluster() as started:
        yield started


@pytest.fixture
def workers(running: StandaloneCluster) -> StandaloneCluster:
    """The cluster with two workers."""
    alive = [worker for worker in running.workers if worker.is_alive]
    running.workers = alive
    running.add_workers(2 - len(alive))
    return running


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    with Session(tmp_path / "w", "duckdb") as session:
        session.execute("CREATE TABLE source (id INT)")
        session.execute("CREATE TABLE target (id INT, v INT) PARTITIONED BY (p STRING)")
        for file in range(FILES):
            rows = ", ".join(f"({file * ROWS + row})" for row in range(ROWS))
            session.execute(f"INSERT INTO source VALUES {rows}")
    return tmp_path / "w"


def opened(warehouse: Path, engine: str, **conf: str) -> Client:
    client = Client(warehouse, engine, CONF | conf)
    client.execute("SET rewriter.sink = ungrouped")
    client.execute("SET rewriter.sink.max_open_writers = 1")
    return client


def data_files(warehouse: Path) -> set[Path]:
    return {path for path in warehouse.rglob("*.parquet") if "target" in str(path)}


def rows_of(warehouse: Path) -> list[tuple[object, ...]]:
    with Session(warehouse, "duckdb") as session:
        return session.execute("SELECT id, v, p FROM target ORDER BY id").fetch()


def registered(warehouse: Path) -> set[Path]:
    """The files that the catalog has of the target."""
    with Session(warehouse, "duckdb") as session:
        snapshot = session.catalog.snapshot()
        return {Path(file.path) for _, file in snapshot.files(snapshot.table("target"))}


def location_of(warehouse: Path) -> Path:
    with Session(warehouse, "duckdb") as session:
        return Path(session.catalog.snapshot().table("target").location)


def age_transactions(warehouse: Path) -> None:
    """Lets the transactions be silent for days."""
    with Session(warehouse, "duckdb") as session, session.catalog.database.write() as connection:
        row = schema.transactions
        connection.execute(sa.update(row).values(heartbeat_at=row.c.heartbeat_at - 100 * 3600))


class TestWorkers:
    def test_one_dies_during_an_insert(self, workers: StandaloneCluster, warehouse: Path) -> None:
        """Its tasks run again on the other one. Files of the lost attempts are not committed, and VACUUM finds them."""
        with opened(warehouse, workers.url) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            assert client.is_busy
            workers.workers[0].kill()
            client.result()
        assert rows_of(warehouse) == EXPECTED
        # On a busy machine, the worker may die between two files, and leave none.
        with Session(warehouse, "duckdb") as session:
            session.execute("VACUUM")
        assert data_files(warehouse) == registered(warehouse)
        assert rows_of(warehouse) == EXPECTED

    def test_both_die_during_an_insert(self, workers: StandaloneCluster, warehouse: Path) -> None:
        with opened(warehouse, workers.url, **{"spark.rewriter.executorTimeout": "5"}) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            for worker in workers.workers:
                worker.kill()
            started = time.monotonic()
            with pytest.raises(StatementFailed) as caught:
                client.result()
            assert time.monotonic() - started < 60
            assert caught.value.condition == "ENGINE_UNREACHABLE"
            assert "no executor for 5 s" in caught.value.message
            assert caught.value.object == workers.url
            assert rows_of(warehouse) == []
            assert not data_files(warehouse)
            workers.add_workers(2)
            client.execute(INSERT)
        assert rows_of(warehouse) == EXPECTED

    def test_speculation(self, workers: StandaloneCluster, warehouse: Path) -> None:
        """One worker stands still for a while, and its tasks run twice: the files of one attempt are committed."""
        conf = {
            "spark.speculation": "true", "spark.speculation.quantile": "0.3", "spark.speculation.multiplier": "1.1",
            "spark.speculation.interval": "100ms", "spark.speculation.minTaskRuntime": "100ms",
        }  # fmt: skip
        with opened(warehouse, workers.url, **conf) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 35)
            stopped = workers.workers[0].descendants()
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            until(lambda: len(data_files(warehouse)) >= FILES * ROWS + 1 or not client.is_busy)
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
            client.result()
            assert rows_of(warehouse) == EXPECTED
            assert len(registered(warehouse)) == FILES * ROWS
            assert data_files(warehouse) > registered(warehouse)
        assert rows_of(warehouse) == EXPECTED

    def test_one_does_not_share_the_warehouse(self, workers: StandaloneCluster, warehouse: Path) -> None:
        """It writes to a disk of its own, without an error. Its rows are not committed as files that nobody sees."""
        workers.workers[1].kill()
        workers.workers[0].kill()
        (alone,) = workers.add_workers(1, hidden=location_of(warehouse))
        try:
            with opened(warehouse, workers.url) as client:
                assert client.execute("SELECT 1") == [[1]]
                for target in ("target", "target PARTITION (p = 'x')"):
                    values = "(1, 1, 'x')" if target == "target" else "(1, 1)"
                    with pytest.raises(StatementFailed) as caught:
                        client.execute(f"INSERT INTO {target} VALUES {values}")
                    assert caught.value.condition == "WRITTEN_FILES_NOT_SHARED"
            assert rows_of(warehouse) == []
            assert not data_files(warehouse)
        finally:
            alone.kill()

    def test_one_has_no_python(self, workers: StandaloneCluster, warehouse: Path, tmp_path: Path) -> None:
        for worker in workers.workers:
            worker.kill()
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (tmp_path / "own" / "python").chmod(0o755)
        (alone,) = workers.add_workers(1, hidden=tmp_path / "own")
        environment = {"PYSPARK_PYTHON": str(tmp_path / "own" / "python")}
        try:
            with Client(warehouse, workers.url, environment=environment) as client:
                assert client.execute("SELECT 1") == [[1]]
                with pytest.raises(StatementFailed) as caught:
                    client.execute("INSERT INTO target VALUES (1, 1, 'x')")
                assert caught.value.condition == "WORKER_PYTHON"
                assert f'"{environment["PYSPARK_PYTHON"]}"' in caught.value.message
        finally:
            alone.kill()
        assert rows_of(warehouse) == []


class TestTheMaster:
    """The master is started again, at the same address."""

    @pytest.fixture
    def alone(self) -> Iterator[StandaloneCluster]:
        with cluster() as started:
            yield started

    def test_it_dies_and_another_one_comes(self, alone: StandaloneCluster, warehouse: Path) -> None:
        """A running application keeps its executors. A new one does not start."""
        with opened(warehouse, alone.url) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            alone.master.kill()
            client.result()
            assert rows_of(warehouse) == EXPECTED
            assert client.execute("SELECT COUNT(*) AS n FROM target") == [[80]]
            started = time.monotonic()
            with Client(warehouse, alone.url) as late:
                with pytest.raises(StatementFailed) as caught:
                    late.execute("SELECT id FROM source WHERE id = 3")
                assert time.monotonic() - started < 20
                assert caught.value.condition == "ENGINE_UNREACHABLE"
                assert caught.value.object == alone.url
                client.close()
                alone.restart_master()
                assert late.execute("SELECT id FROM source WHERE id = 3") == [[3]]

    def test_it_ends_the_application(self, workers: StandaloneCluster, warehouse: Path) -> None:
        with opened(warehouse, workers.url) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            workers.end_application()
            with pytest.raises(StatementFailed) as caught:
                client.result()
            assert caught.value.condition == "ENGINE_UNREACHABLE"
            assert rows_of(warehouse) == []
            client.execute(INSERT)
        assert rows_of(warehouse) == EXPECTED


class TestTheDriver:
    def test_the_client_is_killed(self, workers: StandaloneCluster, warehouse: Path) -> None:
        """Nothing is committed, and VACUUM removes the files once the write counts as dead."""
        client = opened(warehouse, workers.url)
        client.start(INSERT)
        until(lambda: len(data_files(warehouse)) >= 5)
        client.kill()
        assert rows_of(warehouse) == []
        assert data_files(warehouse)
        until(lambda: not any("Executor" in text for text in workers.java_commands()))
        with Session(warehouse, "duckdb") as session:
            session.execute("VACUUM")
            assert data_files(warehouse), "the writer may be alive"
        age_transactions(warehouse)
        with Session(warehouse, "duckdb") as session:
            session.execute("VACUUM")
        assert not data_files(warehouse)
        with opened(warehouse, workers.url) as another:
            another.execute(INSERT)
        assert rows_of(warehouse) == EXPECTED

    def test_its_java_is_killed(self, workers: StandaloneCluster, warehouse: Path) -> None:
        with opened(warehouse, workers.url) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            for pid in client.java():
                os.kill(pid, signal.SIGKILL)
            with pytest.raises(StatementFailed) as caught:
                client.result()
            assert caught.value.condition == "ENGINE_UNREACHABLE"
            assert rows_of(warehouse) == []
            client.execute(INSERT)
        assert rows_of(warehouse) == EXPECTED


class TestTheConnectServer:
    @pytest.fixture
    def server(self) -> Iterator[ConnectServer]:
        with connect_server() as started:
            yield started

    def test_it_is_killed(self, server: ConnectServer, warehouse: Path) -> None:
        """During an INSERT, during a SELECT, and between two statements."""
        select = INSERT.partition("target ")[2]
        with opened(warehouse, server.url) as client:
            client.start(INSERT)
            until(lambda: len(data_files(warehouse)) >= 5)
            for statement in ("INSERT", "SELECT"):
                killed = time.monotonic()
                server.process.kill()
                with pytest.raises(StatementFailed) as caught:
                    client.result()
                assert time.monotonic() - killed < 60
                assert (statement, caught.value.condition) == (statement, "ENGINE_UNREACHABLE")
                assert caught.value.object == server.url
                assert rows_of(warehouse) == []
                with pytest.raises(StatementFailed) as caught:
                    client.execute("SELECT id FROM source WHERE id = 3")
                assert caught.value.condition == "ENGINE_UNREACHABLE"
                server.restart()
                assert client.execute("SELECT id FROM source WHERE id = 3") == [[3]]
                client.start(select)
                time.sleep(1)
                assert client.is_busy
            server.process.kill()
            server.restart()
            with pytest.raises(StatementFailed) as caught:
                client.result()
            assert caught.value.condition == "ENGINE_UNREACHABLE"
            client.execute(INSERT)
            server.process.kill()
            server.restart()
            with pytest.raises(StatementFailed) as caught:
                client.execute("SELECT id FROM source WHERE id = 3")
            assert caught.value.condition == "ENGINE_UNREACHABLE"
            assert client.execute("SELECT id FROM source WHERE id = 3") == [[3]]
        assert rows_of(warehouse) == EXPECTED


class TestAddresses:
    @pytest.mark.parametrize("scheme", ["spark", "sc"])
    def test_nothing_listens(self, scheme: str, warehouse: Path) -> None:
        with socket.socket() as reserved:
            reserved.bind((HOST, 0))
            url = f"{scheme}://{HOST}:{reserved.getsockname()[1]}"
            started = time.monotonic()
            with Client(warehouse, url) as client, pytest.raises(StatementFailed) as caught:
                client.execute("SELECT id FROM source")
        assert time.monotonic() - started < 20
        assert (caught.value.kind, caught.value.condition) == ("EngineError", "ENGINE_UNREACHABLE")
        assert caught.value.object == url
        assert url.partition("//")[2] in caught.value.message
        assert caught.value.hint

    @pytest.mark.parametrize("scheme", ["spark", "sc"])
    def test_something_else_listens(self, scheme: str, warehouse: Path) -> None:
        """It takes connections, and says nothing. Spark gives up after a minute, gRPC after half of one."""
        with socket.socket() as other:
            other.bind((HOST, 0))
            other.listen(16)
            url = f"{scheme}://{HOST}:{other.getsockname()[1]}"
            started = time.monotonic()
            with Client(warehouse, url) as client, pytest.raises(StatementFailed) as caught:
                client.execute("SELECT id FROM source")
        assert time.monotonic() - started < 150
        assert caught.value.condition == "ENGINE_UNREACHABLE"
        assert caught.value.object == url
