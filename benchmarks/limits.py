"""The time and memory of large statements and results on DuckDB: each case runs in a process of its own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import rewriter
from benchmarks.timing import WideTable, shown
from rewriter.dbapi.connection import Connection

_ROWS = 10_000_000
_PARTITIONS = 100_000
_DEPTH = 300
#: The most views that read each other, as in Spark.
_VIEWS = 100
_THREADS, _QUERIES = 64, 20
#: The seconds during which connections are opened and closed.
_OPENING_SECONDS = 300.0
#: A case runs in a directory, and returns what it did in words.
_Case = Callable[[Path], str]


def measure(opening_seconds: float = _OPENING_SECONDS) -> WideTable:
    """Returns the time and the greatest memory of each case. An error stands in its row."""
    rows = []
    for name, case in _cases(opening_seconds).items():
        with tempfile.TemporaryDirectory() as folder:
            queue: Any = multiprocessing.get_context("fork").Queue()
            process = multiprocessing.get_context("fork").Process(target=_run, args=(case, Path(folder), queue))
            process.start()
            took, memory, words = queue.get()
            process.join()
        rows.append((name, shown(took), f"{memory:,.0f} MB", words))
    return WideTable("Limits", ("what", "time", "memory", "result"), tuple(rows), ("DuckDB, a catalog on SQLite.",))


def _run(case: _Case, folder: Path, queue: Any) -> None:
    started = time.perf_counter()
    try:
        words = case(folder)
    except rewriter.Error as error:
        words = f"{error.condition}: {error.message[:120]}"
    except Exception as error:  # It is a fault, and must not keep the other cases waiting.
        words = f"unexpected {type(error).__name__}: {str(error)[:120]}"
    queue.put((time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, words))


def _cases(opening_seconds: float) -> dict[str, _Case]:
    return {
        "10⁷ rows by fetchmany(10,000)": lambda folder: _fetched(folder, _by_fetchmany),
        "10⁷ rows by Arrow batches": lambda folder: _fetched(folder, _by_batches),
        "10⁷ rows as a DataFrame of pandas": lambda folder: _fetched(folder, lambda cursor: len(cursor.fetch_df())),
        "10⁵ partitions added by one statement": lambda folder: _partitions(folder, ()),
        "10⁵ partitions added, the table renamed, all but one dropped": lambda folder: _partitions(
            folder, ("ALTER TABLE t RENAME TO u", "ALTER TABLE u DROP PARTITION (n >= 1)")
        ),
        "a view over 99 views": _nested_views,
        "300 queries in WITH, each over the one before": _chained_ctes,
        "a statement of 5 MB: IN of 600,000 numbers": _long_list,
        "a statement of 5 MB: INSERT of 300,000 rows": _long_insert,
        "64 threads, a connection and 20 queries each": _threads,
        f"connect, query, close for {opening_seconds:g} s": lambda folder: _opened(folder, opening_seconds),
    }


def _connected(folder: Path) -> Connection:
    return rewriter.connect(folder / "warehouse", engine="duckdb")


def _fetched(folder: Path, fetch: Callable[[Any], int]) -> str:
    with closing(_connected(folder)) as connection:
        connection.execute("CREATE TABLE t (id BIGINT, name STRING, amount DOUBLE)")
        connection.execute(f"INSERT INTO t SELECT id, concat('name ', id), id / 7 FROM range({_ROWS})")
        started = time.perf_counter()
        count = fetch(connection.execute("SELECT * FROM t"))
        return f"{count:,} rows, read in {shown(time.perf_counter() - started)}"


def _by_fetchmany(cursor: Any) -> int:
    count = 0
    while rows := cursor.fetchmany(10_000):
        count += len(rows)
    return count


def _by_batches(cursor: Any) -> int:
    return sum(batch.num_rows for batch in cursor.fetch_record_batches())


def _partitions(folder: Path, then: tuple[str, ...]) -> str:
    with closing(_connected(folder)) as connection:
        connection.execute("CREATE TABLE t (a INT) PARTITIONED BY (n INT)")
        added = " ".join(f"PARTITION (n = {number})" for number in range(_PARTITIONS))
        started = time.perf_counter()
        connection.execute(f"ALTER TABLE t ADD {added}")
        seconds = [shown(time.perf_counter() - started)]
        for statement in then:
            started = time.perf_counter()
            connection.execute(statement)
            seconds.append(shown(time.perf_counter() - started))
        count = len(connection.execute(f"SHOW PARTITIONS {'u' if then else 't'}").fetchall())
        return f"{', '.join(seconds)}; {count:,} partitions"


def _nested_views(folder: Path) -> str:
    with closing(_connected(folder)) as connection:
        connection.execute("CREATE VIEW v0 AS SELECT 1 AS a")
        for number in range(1, _VIEWS):
            connection.execute(f"CREATE VIEW v{number} AS SELECT a + 1 AS a FROM v{number - 1}")
        started = time.perf_counter()
        ((value,),) = connection.execute(f"SELECT a FROM v{_VIEWS - 1}").fetchall()
        return f"{value}, in {shown(time.perf_counter() - started)}"


def _chained_ctes(folder: Path) -> str:
    parts = ", ".join(f"c{number} AS (SELECT a + 1 AS a FROM c{number - 1})" for number in range(1, _DEPTH + 1))
    with closing(_connected(folder)) as connection:
        ((value,),) = connection.execute(f"WITH c0 AS (SELECT 1 AS a), {parts} SELECT a FROM c{_DEPTH}").fetchall()
        return f"{value}"


def _long_list(folder: Path) -> str:
    numbers = ", ".join(str(number) for number in range(600_000))
    with closing(_connected(folder)) as connection:
        sql = f"SELECT COUNT(*) FROM range(1000000) WHERE id IN ({numbers})"
        ((count,),) = connection.execute(sql).fetchall()
        return f"{len(sql) / 1e6:.1f} MB of text, {count:,} rows"


def _long_insert(folder: Path) -> str:
    rows = ", ".join(f"({number}, 'name')" for number in range(300_000))
    with closing(_connected(folder)) as connection:
        connection.execute("CREATE TABLE t (id INT, name STRING)")
        connection.execute(f"INSERT INTO t VALUES {rows}")
        ((count,),) = connection.execute("SELECT COUNT(*) FROM t").fetchall()
        return f"{len(rows) / 1e6:.1f} MB of text, {count:,} rows"


def _threads(folder: Path) -> str:
    with closing(_connected(folder)) as connection:
        connection.execute("CREATE TABLE t (a INT)")
        connection.execute("INSERT INTO t SELECT id FROM range(1000)")
    results: list[int] = []

    def query() -> None:
        with closing(_connected(folder)) as connection:
            for number in range(_QUERIES):
                results.append(connection.execute(f"SELECT COUNT(*) FROM t WHERE a >= {number}").fetchall()[0][0])

    threads = [threading.Thread(target=query) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = sum(results) != _THREADS * sum(1000 - number for number in range(_QUERIES))
    return f"{len(results):,} results{', some of them wrong' if wrong else ''}"


def _opened(folder: Path, seconds: float) -> str:
    def once() -> None:
        with closing(_connected(folder)) as connection:
            connection.execute("SELECT COUNT(*) FROM t").fetchall()

    with closing(_connected(folder)) as connection:
        connection.execute("CREATE TABLE t (a INT)")
    for _ in range(20):
        once()
    before, deadline, count = _held(), time.monotonic() + seconds, 0
    while time.monotonic() < deadline:
        once()
        count += 1
    after = _held()
    changes = ", ".join(f"{name} {before[name]} → {after[name]}" for name in before)
    return f"{count:,} connections; {changes}"


def _held() -> dict[str, int]:
    """Returns the memory in MB, the open descriptors, the threads, and the temporary files of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "MB": pages * resource.getpagesize() >> 20,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "temporary files": sum(name.startswith("rewriter") for name in os.listdir(tempfile.gettempdir())),
    }
