"""Clusters: what routing adds to planning, and REPLICATE beside ``cp -r`` and a plain parallel copy to S3."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from benchmarks.timing import Figure, Table, seconds
from rewriter.catalog.filesystems.options import store_options
from rewriter.catalog.model.changes import AddCopies, CopiedPartition
from rewriter.session import Session

PARTITIONS, CLUSTERS, RUNS = 100_000, 5, 15
#: The bytes that are copied, and the files they are in.
COPIED_BYTES, STORED_BYTES, COPIED_FILES = 512 << 20, 128 << 20, 64
_QUERIES = {
    "a month": "SELECT sum(x) FROM t WHERE p >= 50000 AND p < 50720",
    "everything": "SELECT sum(x) FROM t",
    "a partition in a hundred": "SELECT sum(x) FROM t WHERE p % 100 = 7",
}


def measure() -> list[Table]:
    """Returns the tables of routing and of copying."""
    return [routing(), copying(), copying_to_store()]


def routing() -> Table:
    """Returns the planning time of queries over many partitions, with one cluster and with five, all of which have
    everything except a few partitions here and there.
    """
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "w")
        with Session(plain, "duckdb") as session:
            session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
            session.execute("ALTER TABLE t ADD " + " ".join(f"PARTITION (p={p})" for p in range(PARTITIONS)))
        roots = {f"c{n}": {"filesystem": f"{folder}/c{n}", "engine": "duckdb"} for n in range(1, CLUSTERS)}
        settings = {"hive.cluster.properties": json.dumps({"c0": {}, **roots})}
        without = planning_times(plain, {})
        with Session(plain, "duckdb", settings=settings) as session:
            for name in roots:
                session.execute(f"ALTER TABLE t ADD CLUSTER {name}")
                _hold(session, name)
        first = planning_times(plain, settings)
        last = planning_times(plain, settings, f"c{CLUSTERS - 1}")
    figures = []
    for label, query in _QUERIES.items():
        figures += [
            Figure(f"{label}, without clusters", without[query]),
            Figure(f"{label}, {CLUSTERS} clusters", first[query], f"{first[query] / without[query]:.2f}×"),
            Figure(f"{label}, on a secondary one", last[query], f"{last[query] / without[query]:.2f}×"),
        ]
    return Table(f"Planning over {PARTITIONS:,} partitions", tuple(figures))


def _hold(session: Session, cluster: str) -> None:
    """Registers copies of all partitions, which are empty."""
    table = session.snapshot().table("t")
    with session.catalog.begin() as transaction:
        contents = transaction.snapshot.contents(table)
        copies = tuple(CopiedPartition(content.key, content.commit, (), ()) for content in contents)
        transaction.commit([AddCopies(table, cluster, transaction.write_id(table), copies)])


def planning_times(warehouse: Path, settings: dict[str, str], cluster: str | None = None) -> dict[str, float]:
    """Returns the median time of EXPLAIN SCAN's planning for each query, in a session that has read the table once."""
    with Session(warehouse, "duckdb", settings=settings) as session:
        if cluster is not None:
            session.execute(f"USE CLUSTER {cluster}")
        times = {}
        for query in _QUERIES.values():
            session.execute(f"EXPLAIN SCAN {query}")
            times[query] = seconds(lambda query=query: session.execute(f"EXPLAIN SCAN {query}"), RUNS)  # type: ignore[misc]
        return times


def copying() -> Table:
    """Returns the time of REPLICATE, which compares each copy with its original, and of ``cp -r``."""
    with tempfile.TemporaryDirectory() as folder:
        clusters = {"c1": {"engine": "duckdb"}, "c2": {"filesystem": f"{folder}/c2", "engine": "duckdb"}}
        settings = {"hive.cluster.properties": json.dumps(clusters)}
        with Session(Path(folder, "w"), "duckdb", settings=settings) as session:
            location, size = _filled(session, folder, COPIED_BYTES)

            def copy() -> None:
                subprocess.run(["cp", "-r", str(location), f"{folder}/copy"], check=True)

            def replicate() -> None:
                session.execute("REPLICATE TABLE t TO CLUSTER c2")

            times: dict[str, list[float]] = {"cp": [], "replicate": []}
            for _ in range(5):
                times["cp"].append(seconds(copy))
                shutil.rmtree(f"{folder}/copy")
                times["replicate"].append(seconds(replicate))
                session.execute("ALTER TABLE t DROP CLUSTER c2")
                shutil.rmtree(f"{folder}/c2")
    peer, own = (sorted(values)[2] for values in times.values())
    figures = (
        Figure("`cp -r`", peer, f"{size / peer / 1e6:,.0f} MB/s"),
        Figure("REPLICATE", own, f"{size / own / 1e6:,.0f} MB/s, {peer / own:.2f} of `cp -r`"),
    )
    return Table(f"Copies of {size / 1e6:,.0f} MB in {COPIED_FILES} files", figures)


def _filled(session: Session, folder: str, size: int) -> tuple[Path, int]:
    """Fills a table of so many bytes. Returns its location and the exact size."""
    session.execute("CREATE TABLE t (x BIGINT) PARTITIONED BY (p INT)")
    source = Path(folder, "source.parquet")
    values = np.random.default_rng(1).integers(0, 1 << 62, size // COPIED_FILES // 8)
    pq.write_table(pa.table({"x": values}), source)
    for number in range(COPIED_FILES):
        session.execute(f"INSERT INTO t PARTITION (p = {number}) SELECT x FROM parquet.`{source}`")
    location = Path(session.snapshot().table("t").location)
    return location, sum(file.stat().st_size for file in location.rglob("*.parquet"))


def copying_to_store() -> Table:
    """Returns the time of REPLICATE to an S3 server on the loopback interface, and of Arrow's parallel copy to it."""
    with tempfile.TemporaryDirectory() as folder, _s3_server() as endpoint:
        options = {"endpoint": endpoint, "region": "us-east-1", "allow_http": True}
        options |= {"access_key_env": "REWRITER_BENCHMARK_KEY", "secret_key_env": "REWRITER_BENCHMARK_KEY"}
        os.environ["REWRITER_BENCHMARK_KEY"] = "benchmark"
        client = pyarrow.fs.S3FileSystem(
            access_key="benchmark",
            secret_key="benchmark",
            endpoint_override=endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        client.create_dir("copies")
        clusters = {"c1": {"engine": "duckdb"}, "c2": {"filesystem": "s3://copies/c2", "engine": "duckdb"}}
        settings = {"hive.cluster.properties": json.dumps(clusters)}
        stores = store_options({"s3://copies": options}, "the benchmark")
        with Session(Path(folder, "w"), "duckdb", settings=settings, filesystems=stores) as session:
            location, size = _filled(session, folder, STORED_BYTES)

            def copy() -> None:
                pyarrow.fs.copy_files(str(location), "copies/plain", destination_filesystem=client)

            def replicate() -> None:
                session.execute("REPLICATE TABLE t TO CLUSTER c2")

            times: dict[str, list[float]] = {"plain": [], "replicate": []}
            for _ in range(5):
                times["plain"].append(seconds(copy))
                times["replicate"].append(seconds(replicate))
                session.execute("ALTER TABLE t DROP CLUSTER c2")
                client.delete_dir_contents("copies")
    peer, own = (sorted(values)[2] for values in times.values())
    figures = (
        Figure("Arrow's parallel copy", peer, f"{size / peer / 1e6:,.0f} MB/s"),
        Figure("REPLICATE", own, f"{size / own / 1e6:,.0f} MB/s, {peer / own:.2f} of the plain copy"),
    )
    return Table(f"Copies of {size / 1e6:,.0f} MB in {COPIED_FILES} files to S3 (moto)", figures)


@contextmanager
def _s3_server() -> Iterator[str]:
    """Runs moto's server in a process of its own. Yields its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()
