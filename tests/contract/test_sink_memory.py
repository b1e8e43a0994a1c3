"""The memory of an INSERT of 800 MB into 2,000 partitions, whose rows come in no order.

The bounds are stated in docs/reference/dialect/55-files.md: that of the engine's sort, and of the sink with the
batches on their way.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

#: The memory that DuckDB may use for its sort.
LIMIT = 256_000_000
#: What the sink and the batches take: 64 MiB of rows, the file that is written of them, and three batches of 49 MB.
MOST = 400_000_000
INSERT = "INSERT INTO t SELECT repeat(CAST(1000000 + id AS STRING), 57), id % 2000 FROM parquet.`{source}`"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    for number in range(4):
        ids = range(number * 500_000, (number + 1) * 500_000)
        pq.write_table(
            pa.table({"id": pa.array(ids, pa.int64())}), folder / f"{number}.parquet", row_group_size=100_000
        )
    return folder


@contextmanager
def sampled(measure: Callable[[], int]) -> Iterator[list[int]]:
    """Measures again and again while the block runs."""
    samples, is_done = [measure()], threading.Event()

    def sample() -> None:
        while not is_done.wait(0.02):
            samples.append(measure())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        is_done.set()
        thread.join()


def resident_bytes(process: int | str = "self") -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


_PROGRAM = f"""
    import sys
    import rewriter
    from contract.test_sink_memory import INSERT, LIMIT, resident_bytes, sampled
    from rewriter.exec.duckdb.engine import DuckDBEngine

    warehouse, source, properties = sys.argv[1:]
    engine = DuckDBEngine()
    engine._start().execute("SET memory_limit = '{LIMIT}B'")
    with rewriter.connect(warehouse, engine=engine) as connection:
        connection.execute(f"CREATE TABLE t (s STRING) PARTITIONED BY (p BIGINT) {{properties}}")
        connection.execute("SELECT 1").fetchall()
        with sampled(resident_bytes) as samples:
            connection.execute(INSERT.format(source=source))
    print(max(samples) - samples[0])
"""


@pytest.mark.parametrize(
    "properties", ["", pytest.param("TBLPROPERTIES ('rewriter.packed' = 'false')", marks=pytest.mark.long)]
)
def test_memory_on_duckdb(tmp_path: Path, source: Path, properties: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(_PROGRAM), tmp_path / "w", source, properties]
    path = os.pathsep.join(["tests", os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path})
    assert 0 < int(run.stdout) < LIMIT + MOST


def _workers_of(process: int) -> Iterator[int]:
    """Yields the processes of Python that descend from a process."""
    children: dict[int, list[tuple[int, str]]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, fields = (entry / "stat").read_text().partition("(")[2].rpartition(")")
            except OSError:
                continue
            children.setdefault(int(fields.split()[1]), []).append((int(entry.name), name))
    waiting = [process]
    while waiting:
        for child, name in children.get(waiting.pop(), ()):
            waiting.append(child)
            if name.startswith("python"):
                yield child


@pytest.mark.long
def test_memory_of_a_worker_on_spark(tmp_path: Path, source: Path, spark: SparkEngine) -> None:
    """The memory of the JVM is that of its heap, which has a limit."""
    with Session(tmp_path, spark) as session:
        session.execute("CREATE TABLE t (s STRING) PARTITIONED BY (p BIGINT)")
        session.execute("SET rewriter.sink = grouped")
        with sampled(lambda: max(map(resident_bytes, _workers_of(os.getpid())), default=0)) as samples:
            session.execute(INSERT.format(source=source))
        assert len(samples) > 10
        assert 0 < max(samples) < MOST
