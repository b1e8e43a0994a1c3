"""Batch writes of unsorted rows into 1, 365 and 2,000 partitions, beside plain Spark's ``partitionBy``.

Each contender has a process of its own, whose memory, with the memory of its children, is sampled while it writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.timing import WideTable, ratio

ROWS = 1_000_000
PARTITIONS = (1, 365, 2_000)
CONTENDERS = {
    "partitionBy": "plain Spark, partitionBy",
    "spark": "rewriter on Spark",
    "spark unpacked": "rewriter on Spark, a file for each partition",
    "duckdb": "rewriter on DuckDB",
    "duckdb unpacked": "rewriter on DuckDB, a file for each partition",
}


def measure(partitions: tuple[int, ...] = PARTITIONS) -> WideTable:
    """Returns the figures. Each contender writes twice; the second write counts."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for count in partitions:
            source = Path(folder) / f"source-{count}.parquet"
            _write_source(source, count)
            baseline: dict[str, float] = {}
            for contender, label in CONTENDERS.items():
                command = (sys.executable, "-m", "benchmarks.sinks", contender, str(count), str(source))
                given = {**os.environ, "TMPDIR": folder}
                answer = subprocess.run(command, check=True, capture_output=True, text=True, env=given).stdout
                taken = json.loads(answer.strip().splitlines()[-1])
                baseline = baseline or taken
                rows.append(
                    (
                        f"{count:,}: {label}",
                        f"{ROWS / taken['seconds']:,.0f}",
                        "" if taken is baseline else ratio(baseline["seconds"], taken["seconds"]),
                        f"{taken['files']:,}",
                        f"{taken['memory'] / 1e6:,.0f} MB",
                    )
                )
    return WideTable(
        f"Batch writes of {ROWS:,} unsorted rows",
        ("partitions: contender", "rows/s", "of partitionBy", "files", "memory"),
        tuple(rows),
        (
            "rows/s: of the second write; rewriter's includes its commit.",
            "memory: the most of the process and its children while they write twice, above what they had before.",
        ),
    )


def _write_source(path: Path, partitions: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = np.random.default_rng(1)
    table = pa.table(
        {
            "n": source.integers(0, 1 << 40, ROWS),
            "x": source.random(ROWS),
            "s": pa.array(source.integers(0, 10_000, ROWS)).cast(pa.string()),
            "p": pa.array(source.integers(0, partitions, ROWS).astype("int32")),
        }
    )
    pq.write_table(table, path, row_group_size=ROWS // 16)


def _child(contender: str, partitions: int, source: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        prepared = _plain(Path(folder), source) if contender == "partitionBy" else _ours(contender, folder, source)
        with prepared as (write, files):
            before = _memory()
            with _sampled() as peak:
                write(partitions, "warm")
                start = time.perf_counter()
                write(partitions, "measured")
                seconds = time.perf_counter() - start
            return {"seconds": seconds, "files": files("measured"), "memory": max(peak) - before}


Prepared = tuple[Callable[[int, str], None], Callable[[str], int]]


@contextmanager
def _plain(folder: Path, source: str) -> Iterator[Prepared]:
    from rewriter.exec.spark.session import start

    started = start(None, {})
    spark: Any = started.session

    def write(partitions: int, name: str) -> None:
        spark.read.parquet(source).write.partitionBy("p").parquet(str(folder / name))

    spark.range(1).collect()
    yield write, lambda name: len(list((folder / name).rglob("*.parquet")))
    started.stop()


@contextmanager
def _ours(contender: str, folder: str, source: str) -> Iterator[Prepared]:
    import rewriter

    engine, _, unpacked = contender.partition(" ")
    properties = "TBLPROPERTIES ('rewriter.packed' = 'false')" if unpacked else ""
    counts: dict[str, int] = {}
    with rewriter.connect(folder, engine=engine) as connection:

        def write(partitions: int, name: str) -> None:
            columns = "n BIGINT, x DOUBLE, s STRING"
            connection.execute(f"CREATE TABLE {name} ({columns}) PARTITIONED BY (p INT) {properties}")
            static, selected = ("PARTITION (p = 0)", "n, x, s") if partitions == 1 else ("", "n, x, s, p")
            cursor = connection.execute(f"INSERT INTO {name} {static} SELECT {selected} FROM parquet.`{source}`")
            assert cursor.stats is not None
            assert cursor.rowcount == ROWS
            counts[name] = cursor.stats.written_files

        connection.execute("SELECT 1").fetchall()
        yield write, lambda name: counts[name]


@contextmanager
def _sampled() -> Iterator[list[int]]:
    samples, is_done = [_memory()], threading.Event()

    def sample() -> None:
        while not is_done.wait(0.1):
            samples.append(_memory())

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        is_done.set()
        thread.join()


def _memory() -> int:
    """Returns the bytes of the process and its children, each shared page counted once."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0) * 1024
    return total


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
