"""Statements about partitions compared with plain Spark 4.3: both run the same texts; the minimum of several runs.

Our tables are managed, in a catalog on SQLite, except for MSCK and SHOW, whose tables are external. Spark has its
catalog in memory, or in a Hive metastore on Derby (a process of its own, because a session has one of both). Each of
our statements is a commit on disk. Spark creates, renames and removes a directory for each partition of a managed
table, which ours does not need. Statements about the catalog alone run in a session on DuckDB, which starts no engine
for them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.timing import Figure, Table, ratio, seconds

CHANGED, SHOWN, DIRECTORIES = 1_000, 100_000, 10_000
#: The number of partitions that a dynamic INSERT writes, and the rows of each.
INSERTED, ROWS = (365, 2_000), 20

#: Rows of the tables by their short names, with their labels.
WHAT = {
    "add": f"ADD {CHANGED:,} partitions, one statement",
    "drop": f"DROP {CHANGED:,} partitions, one statement",
    "rename": f"RENAME {CHANGED:,} partitions, a statement each",
    "msck": f"MSCK REPAIR TABLE, {DIRECTORIES:,} directories",
    "show": f"SHOW PARTITIONS of {SHOWN:,}",
    **{f"insert{count}": f"{count:,} partitions" for count in INSERTED},
}
#: Hive takes most of an hour to add the partitions that it would show.
_NOT_BY_HIVE = "show"
_HIVE_SECONDS = 1800


@dataclass(frozen=True)
class Peer:
    """A client that runs statements to their end, and a directory for files outside the warehouse."""

    run: Callable[[str], object]
    folder: Path


def measure(engine: Any, spark: Any, rows: Collection[str] = tuple(WHAT), *, hive: bool = True) -> Iterator[Table]:
    """Returns two tables: statements about the catalog, and dynamic INSERTs. ``engine`` is ours on the session
    ``spark``.
    """
    with tempfile.TemporaryDirectory(prefix="rewriter-dialect-") as folder, ExitStack() as stack:
        home = Path(folder)
        ours = {
            name: _ours(home / name, chosen, stack) for name, chosen in (("on DuckDB", "duckdb"), ("on Spark", engine))
        }
        plain = Peer(lambda text: spark.sql(text).collect(), home / "spark")
        spark.sql(f"CREATE DATABASE rewriter_benchmark LOCATION '{home / 'database'}'")
        spark.sql("USE rewriter_benchmark")
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        try:
            times: dict[str, dict[str, float]] = {}
            for row in rows:
                asked = {name: peer for name, peer in ours.items() if name == "on DuckDB" or _is_insert(row)}
                times[row] = {name: best(row, peer) for name, peer in {**asked, "plain Spark": plain}.items()}
                print(row, times[row], file=sys.stderr, flush=True)
        finally:
            spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
            spark.sql("USE default")
            spark.sql("DROP DATABASE rewriter_benchmark CASCADE")
        for row, taken in (_by_hive(rows, home) if hive else {}).items():
            times[row]["plain Spark, Hive catalog on Derby"] = taken
    title = "Statements about partitions, ours on SQLite compared with plain Spark 4.3"
    yield _table(title, {row: taken for row, taken in times.items() if not _is_insert(row)})
    title = f"Dynamic INSERT OVERWRITE, {ROWS} rows in each partition"
    yield _table(title, {row: taken for row, taken in times.items() if _is_insert(row)})


def _is_insert(row: str) -> bool:
    return row.startswith("insert")


def _ours(home: Path, engine: Any, stack: ExitStack) -> Peer:
    cursor = stack.enter_context(rewriter.connect(home / "warehouse", engine=engine)).cursor()

    def run(text: str) -> None:
        cursor.execute(text)
        if cursor.description is not None:
            cursor.fetchall()

    return Peer(run, home)


def _table(title: str, times: Mapping[str, Mapping[str, float]]) -> Table:
    """Returns a table. Each row's first figure is ours on DuckDB. The others are multiples of it."""
    figures: list[Figure] = []
    for row, taken in times.items():
        (first, least), *rest = taken.items()
        figures.append(Figure(f"{WHAT[row]}, {first}" if _is_insert(row) else WHAT[row], least))
        for name, time in rest:
            note = f"{ratio(time, least)} of ours"
            if name == "plain Spark" and "on Spark" in taken:
                note += f", {ratio(time, taken['on Spark'])} of ours on Spark"
            figures.append(Figure(f"— {name}", time, "" if name == "on Spark" else note))
    return Table(title, tuple(figures))


def best(row: str, peer: Peer, turns: int | None = None) -> float:
    """Returns the least time of several runs that the peer takes for a row, in seconds."""
    taken = _insert(peer, int(row.removeprefix("insert"))) if _is_insert(row) else _TAKEN[row](peer)
    return min(islice(taken, turns))


def _specs(start: int, count: int) -> list[str]:
    return [f"PARTITION (ds = 'd{number // 24:05d}', hr = {number % 24})" for number in range(start, start + count)]


def _path(number: int) -> str:
    return f"ds=d{number // 24:05d}/hr={number % 24}"


def _create(peer: Peer, name: str, location: Path | None = None) -> None:
    where = "" if location is None else f" LOCATION '{location}'"
    peer.run(f"CREATE TABLE {name} (x INT, ds STRING, hr INT) USING parquet PARTITIONED BY (ds, hr){where}")


def _timed(peer: Peer, statement: str) -> float:
    return seconds(lambda: peer.run(statement))


def _add(peer: Peer) -> Iterator[float]:
    _create(peer, "added")
    peer.run(f"ALTER TABLE added ADD {' '.join(_specs(0, 10))}")
    for turn in range(1, 4):
        yield _timed(peer, f"ALTER TABLE added ADD {' '.join(_specs(turn * CHANGED, CHANGED))}")
    peer.run("DROP TABLE added")


def _drop(peer: Peer) -> Iterator[float]:
    _create(peer, "dropped")
    for _ in range(3):
        peer.run(f"ALTER TABLE dropped ADD {' '.join(_specs(0, CHANGED))}")
        yield _timed(peer, f"ALTER TABLE dropped DROP {', '.join(_specs(0, CHANGED))}")
    peer.run("DROP TABLE dropped")


def _rename(peer: Peer) -> Iterator[float]:
    _create(peer, "renamed")
    peer.run(f"ALTER TABLE renamed ADD {' '.join(_specs(0, CHANGED))}")

    def run(start: int, goal: int) -> None:
        for before, after in zip(_specs(start, CHANGED), _specs(goal, CHANGED), strict=True):
            peer.run(f"ALTER TABLE renamed {before} RENAME TO {after}")

    yield seconds(lambda: run(0, 24 * CHANGED))
    peer.run("DROP TABLE renamed")


def _show(peer: Peer) -> Iterator[float]:
    # Spark creates no directories for added partitions that have one: this takes most of an hour for so many.
    for number in range(SHOWN):
        (peer.folder / "shown" / _path(number)).mkdir(parents=True)
    _create(peer, "shown", peer.folder / "shown")
    for start in range(0, SHOWN, 10_000):
        peer.run(f"ALTER TABLE shown ADD {' '.join(_specs(start, 10_000))}")
    for _ in range(5):
        yield _timed(peer, "SHOW PARTITIONS shown")
    peer.run("DROP TABLE shown")


def _msck(peer: Peer) -> Iterator[float]:
    directory = peer.folder / "found"
    for number in range(DIRECTORIES):
        (directory / _path(number)).mkdir(parents=True)
    for _ in range(3):
        _create(peer, "found", directory)
        yield _timed(peer, "MSCK REPAIR TABLE found")
        peer.run("DROP TABLE found")


_TAKEN: Mapping[str, Callable[[Peer], Iterator[float]]] = {
    "add": _add,
    "drop": _drop,
    "rename": _rename,
    "msck": _msck,
    "show": _show,
}


def _insert(peer: Peer, partitions: int) -> Iterator[float]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = peer.folder / f"source{partitions}.parquet"
    source.parent.mkdir(parents=True, exist_ok=True)
    days = [number % partitions for number in range(partitions * ROWS)]
    pq.write_table(pa.table({"x": pa.array(range(len(days)), pa.int32()), "day": pa.array(days, pa.int32())}), source)
    name = f"days{partitions}"
    peer.run(f"CREATE TABLE {name} (x INT, day INT) USING parquet PARTITIONED BY (day)")
    for _ in range(3):
        yield _timed(peer, f"INSERT OVERWRITE TABLE {name} PARTITION (day) SELECT x, day FROM parquet.`{source}`")
    peer.run(f"DROP TABLE {name}")


def _by_hive(rows: Collection[str], home: Path) -> dict[str, float]:
    """Returns the times of plain Spark with a Hive catalog, as far as they are complete after half an hour."""
    command = [sys.executable, "-m", "benchmarks.dialect", str(home / "hive"), *(r for r in rows if r != _NOT_BY_HIVE)]
    taken: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        timer = threading.Timer(_HIVE_SECONDS, child.terminate)
        timer.start()
        for line in child.stdout:
            if line.startswith("{"):
                taken |= json.loads(line)
        timer.cancel()
    return taken


def main(home: Path, rows: Collection[str]) -> None:
    """Prints the time of each row on plain Spark with a Hive catalog, taken once, as a line of JSON."""
    from pyspark.sql import SparkSession

    from rewriter.exec.spark.java import find_java_home

    os.environ["JAVA_HOME"] = str(find_java_home())
    builder = SparkSession.builder.master("local[*]").enableHiveSupport()
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={home}/metastore;create=true",
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    peer = Peer(lambda text: spark.sql(text).collect(), home / "outside")
    for row in rows:
        print(json.dumps({row: best(row, peer, 1)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
