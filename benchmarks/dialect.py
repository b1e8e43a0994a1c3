"""Statements about partitions beside plain Spark 4.3 with its in-memory catalog: the same texts, run by both.

Ours are managed tables in a catalog on SQLite, but for MSCK, which concerns external ones. Spark's catalog is in its
memory and gone with the process, while each of our statements is a commit on disk; Spark makes, renames and removes a
directory for each partition, which ours has no need of. Statements about the catalog alone run in a session on DuckDB,
which starts no engine for them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.timing import Figure, Table, ratio, seconds

CHANGED, SHOWN, DIRECTORIES = 1_000, 100_000, 10_000
#: How many partitions a dynamic INSERT writes, of so many rows each.
INSERTED, ROWS = (365, 2_000), 20

#: Runs one statement to its end.
Run = Callable[[str], object]


@dataclass(frozen=True)
class Peer:
    """Somebody who runs the statements, and a directory for what is outside the warehouse."""

    run: Run
    folder: Path


def measure(engine: Any, spark: Any) -> Iterator[Table]:
    """Two tables: statements about the catalog, and dynamic INSERTs. ``engine`` is ours on the session ``spark``."""
    with tempfile.TemporaryDirectory(prefix="rewriter-dialect-") as folder:
        home = Path(folder)
        theirs = Peer(lambda text: spark.sql(text).collect(), home / "spark")
        spark.sql(f"CREATE DATABASE rewriter_benchmark LOCATION '{home / 'database'}'")
        spark.sql("USE rewriter_benchmark")
        try:
            with rewriter.connect(home / "warehouse", engine="duckdb") as connection:
                cursor = connection.cursor()
                yield _statements(Peer(lambda text: _run(cursor, text), home / "ours"), theirs)
            yield _inserts(home, engine, theirs)
        finally:
            spark.sql("USE default")
            spark.sql("DROP DATABASE rewriter_benchmark CASCADE")


def _run(cursor: Any, text: str) -> None:
    cursor.execute(text)
    if cursor.description is not None:
        cursor.fetchall()


def _statements(ours: Peer, theirs: Peer) -> Table:
    figures: list[Figure] = []
    for what, measured in (
        (f"ADD {CHANGED:,} partitions, one statement", _add),
        (f"RENAME {CHANGED:,} partitions, a statement each", _rename),
        (f"DROP {CHANGED:,} partitions, one statement", _drop),
        (f"SHOW PARTITIONS of {SHOWN:,}", _show),
        (f"MSCK REPAIR TABLE, {DIRECTORIES:,} directories", _repair),
    ):
        figures += _beside(what, measured(ours), measured(theirs))
    return Table("Statements about partitions, ours on SQLite beside plain Spark's in-memory catalog", tuple(figures))


def _beside(what: str, ours: float, theirs: float, note: str = "") -> tuple[Figure, Figure]:
    return Figure(what, ours, note), Figure("— plain Spark", theirs, f"ours takes {ratio(theirs, ours)} less")


def _table(peer: Peer, name: str) -> None:
    peer.run(f"CREATE TABLE {name} (x INT) USING parquet PARTITIONED BY (ds STRING, hr INT)")


def _specs(start: int, count: int) -> list[str]:
    return [f"PARTITION (ds = 'd{number // 24:05d}', hr = {number % 24})" for number in range(start, start + count)]


def _add(peer: Peer) -> float:
    _table(peer, "changed")
    peer.run(f"ALTER TABLE changed ADD {' '.join(_specs(0, 10))}")
    return seconds(lambda: peer.run(f"ALTER TABLE changed ADD {' '.join(_specs(10, CHANGED))}"))


def _rename(peer: Peer) -> float:
    def run() -> None:
        for number in range(10, CHANGED + 10):
            (before,), (after,) = _specs(number, 1), _specs(number + 24 * CHANGED, 1)
            peer.run(f"ALTER TABLE changed {before} RENAME TO {after}")

    return seconds(run)


def _drop(peer: Peer) -> float:
    specs = ", ".join(_specs(10 + 24 * CHANGED, CHANGED))
    return seconds(lambda: peer.run(f"ALTER TABLE changed DROP {specs}"))


def _show(peer: Peer) -> float:
    _table(peer, "shown")
    for start in range(0, SHOWN, 10_000):
        peer.run(f"ALTER TABLE shown ADD {' '.join(_specs(start, 10_000))}")
    return seconds(lambda: peer.run("SHOW PARTITIONS shown"), 3)


def _repair(peer: Peer) -> float:
    place = peer.folder / "found"
    for number in range(DIRECTORIES):
        (place / f"ds=d{number // 24:05d}" / f"hr={number % 24}").mkdir(parents=True)
    columns = "(x INT, ds STRING, hr INT) USING parquet PARTITIONED BY (ds, hr)"
    peer.run(f"CREATE TABLE found {columns} LOCATION '{place}'")
    return seconds(lambda: peer.run("MSCK REPAIR TABLE found"))


def _inserts(home: Path, engine: Any, theirs: Peer) -> Table:
    figures: list[Figure] = []
    for partitions in INSERTED:
        query = f"SELECT CAST(id AS INT) AS x, id % {partitions} AS day FROM range({partitions * ROWS})"
        statement = f"INSERT OVERWRITE TABLE days{partitions} PARTITION (day) {query}"
        create = f"CREATE TABLE days{partitions} (x INT) USING parquet PARTITIONED BY (day BIGINT)"
        times = {}
        for name, chosen in (("duckdb", "duckdb"), ("spark", engine)):
            with rewriter.connect(home / name, engine=chosen) as connection:
                cursor = connection.cursor()
                cursor.execute(create)
                times[name] = seconds(lambda: _run(cursor, statement))  # noqa: B023
        theirs.run(create)
        plain = seconds(lambda: theirs.run(statement))  # noqa: B023
        figures += _beside(f"{partitions:,} partitions, on Spark", times["spark"], plain)
        note = f"plain Spark takes {ratio(plain, times['duckdb'])} of that"
        figures.append(Figure(f"{partitions:,} partitions, on DuckDB", times["duckdb"], note))
    return Table(f"Dynamic INSERT OVERWRITE, {ROWS} rows in each partition", tuple(figures))
