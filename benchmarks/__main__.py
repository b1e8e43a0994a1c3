"""``python -m benchmarks [planning] [cover] [timelines] [worklists] [lookups] [commits] [cache] [completion]
[statements] [certificates] [rollups] [measures] [maintain] [advice] [footers] [results] [ordered] [pages] [clusters]
[streams] [shell] [duckdb] [spark] [metastore] [adoption] [dialect] [sinks] [peers] [stages] [workloads] [limits]``: the
tables of ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks import (
    adoption,
    advice,
    cache,
    certificates,
    clusters,
    commits,
    completion,
    cover,
    cover_costs,
    dialect,
    footers,
    goldens,
    hive_metastore,
    inserting,
    limits,
    lookups,
    maintain,
    measures,
    metastores,
    ordered,
    pages,
    peers,
    planning,
    querying,
    results,
    rollups,
    scanning,
    shell,
    sinks,
    spark,
    stages,
    statements,
    streams,
    thrift_service,
    timelines,
    work_lists,
)
from benchmarks.timing import Table, WideTable, markdown, wide_markdown
from benchmarks.workloads import figures as workloads

GROUPS = (
    "planning",
    "cover",
    "timelines",
    "worklists",
    "lookups",
    "commits",
    "cache",
    "completion",
    "statements",
    "certificates",
    "rollups",
    "measures",
    "maintain",
    "advice",
    "footers",
    "results",
    "ordered",
    "pages",
    "clusters",
    "streams",
    "shell",
    "duckdb",
    "spark",
    "metastore",
    "adoption",
    "dialect",
    "sinks",
    "peers",
    "stages",
    "workloads",
    "limits",
)


def main(
    chosen: set[str],
    metastore_partitions: int = metastores.SMALL,
    dialect_rows: Sequence[str] = tuple(dialect.WHAT),
    *,
    hive: bool = True,
    peer_events: int | None = None,
    spark_rows: int = spark.ROWS,
    spark_events: int | None = None,
    measure_events: int = measures.EVENTS,
    workload_scale: float = 1,
) -> None:
    """Runs the chosen groups (all without a choice) and prints each table when it is complete."""

    def show(table: Table) -> None:
        print(markdown([table]), flush=True)

    if not chosen or "planning" in chosen:
        show(planning.measure())
        show(goldens.measure())
    if not chosen or "cover" in chosen:
        show(cover.measure())
        print(wide_markdown(cover_costs.measure()), flush=True)
    if not chosen or "timelines" in chosen:
        show(timelines.measure())
    if not chosen or "worklists" in chosen:
        show(work_lists.measure())
    if not chosen or "lookups" in chosen:
        _lookups(metastore_partitions, show)
    if not chosen or "commits" in chosen:
        _commits(show)
    if not chosen or "cache" in chosen:
        show(cache.on_sqlite())
        if lookups.no_postgresql() is None:
            show(cache.on_postgresql())
    if not chosen or "completion" in chosen:
        print(wide_markdown(completion.measure()), flush=True)
    if not chosen or "statements" in chosen:
        show(statements.measure())
    if not chosen or "certificates" in chosen:
        show(certificates.measure())
        print(wide_markdown(certificates.measure_proofs()), flush=True)
    if not chosen or "rollups" in chosen:
        show(rollups.measure())
    if not chosen or "measures" in chosen:
        show(measures.measure(measure_events))
    if not chosen or "maintain" in chosen:
        show(maintain.measure())
        show(maintain.measure_refresh())
    if not chosen or "advice" in chosen:
        show(advice.measure())
    if not chosen or "footers" in chosen:
        show(footers.measure())
    if not chosen or "results" in chosen:
        for engine in ("duckdb", "spark"):
            print(wide_markdown(results.measure(engine)), flush=True)
    if not chosen or "ordered" in chosen:
        print(wide_markdown(ordered.measure()), flush=True)
    if not chosen or "pages" in chosen:
        show(pages.measure())
    if not chosen or "clusters" in chosen:
        for table in clusters.measure():
            show(table)
    if not chosen or "streams" in chosen:
        print(wide_markdown(streams.measure()), flush=True)
    if not chosen or "shell" in chosen:
        for table in shell.measure():
            print(wide_markdown(table), flush=True)
    if not chosen or "metastore" in chosen:
        _metastore()
    if not chosen or "adoption" in chosen:
        for table in adoption.measure(300_000):
            print(wide_markdown(table), flush=True)
    if not chosen or "dialect" in chosen:
        _dialect(dialect_rows, hive, show)
    if not chosen or "sinks" in chosen:
        print(wide_markdown(sinks.measure()), flush=True)
    if not chosen or "peers" in chosen:
        _peers(chosen, peer_events)
    if not chosen or "stages" in chosen:
        with tempfile.TemporaryDirectory() as folder:
            print(wide_markdown(stages.measure(Path(folder))), flush=True)
    if not chosen or "workloads" in chosen:
        print(wide_markdown(workloads.measure(workload_scale)), flush=True)
    if not chosen or "limits" in chosen:
        print(wide_markdown(limits.measure()), flush=True)
    if chosen and not chosen & {"duckdb", "spark"}:
        return
    from benchmarks import flights

    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder)
        flights.build(warehouse)
        if not chosen or "duckdb" in chosen:
            show(querying.measure(warehouse, "duckdb"))
        if not chosen or "spark" in chosen:
            _spark(warehouse, show, spark_rows, spark_events)


def _lookups(metastore_partitions: int, show: Callable[[Table], None]) -> None:
    for missing, measured in (
        (None, lookups.on_sqlite()),
        (lookups.no_postgresql(), lookups.on_postgresql()),
        (hive_metastore.unavailable(), metastores.measure(metastore_partitions)),
    ):
        if missing is not None:
            print(f"{missing}\n", flush=True)
            continue
        for table in measured:
            show(table)


def _metastore() -> None:
    if (missing := hive_metastore.unavailable()) is not None:
        print(f"{missing}\n", flush=True)
        return
    for table in thrift_service.measure(100_000):
        print(wide_markdown(table), flush=True)


def _commits(show: Callable[[Table], None]) -> None:
    for missing, measured in ((None, commits.on_sqlite()), (lookups.no_postgresql(), commits.on_postgresql())):
        if missing is not None:
            print(f"{missing}\n", flush=True)
            continue
        for table in measured:
            show(table)


def _spark(warehouse: Path, show: Callable[[Table], None], rows: int, events: int | None) -> None:
    with _started() as (engine, session):
        show(querying.measure(warehouse, engine))
        show(inserting.measure(warehouse, engine, session))
        show(scanning.measure(warehouse, engine, session))
        print(wide_markdown(spark.measure(warehouse, session, rows)), flush=True)
        if events is not None:
            print(wide_markdown(spark.measure_events(warehouse.parent, session, events)), flush=True)


def _dialect(rows: Sequence[str], hive: bool, show: Callable[[Table], None]) -> None:
    with _started() as (engine, session):
        for table in dialect.measure(engine, session, rows, hive=hive):
            if table.figures:
                show(table)


def _peers(chosen: set[str], events: int | None) -> None:
    if (missing := peers.missing()) is not None:
        print(f"{missing}\n", flush=True)
        if not chosen and not peers.given():
            return

    def show(table: WideTable) -> None:
        print(wide_markdown(table), flush=True)

    started = _started() if not chosen or "spark" in chosen else nullcontext((None, None))
    with tempfile.TemporaryDirectory() as folder, started as (engine, session):
        show(peers.measure(Path(folder), engine, session))
    with tempfile.TemporaryDirectory() as folder:
        show(peers.measure_sizes(Path(folder), events))


@contextmanager
def _started() -> Iterator[tuple[Any, Any]]:
    """Starts our engine on Spark and returns it with its session, both warm."""
    from pyspark.sql import SparkSession

    from rewriter.exec.engine import EngineQuery
    from rewriter.exec.spark.engine import SparkEngine

    engine = SparkEngine()
    engine.execute(EngineQuery("SELECT 1")).read_all()
    yield engine, SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    engine.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("groups", nargs="*", help=f"some of {', '.join(GROUPS)}; all where none is named")
    parser.add_argument(
        "--metastore-partitions",
        type=int,
        default=metastores.SMALL,
        metavar="N",
        help="measure a Hive metastore with about N partitions, too (it adds some hundred a second)",
    )
    parser.add_argument(
        "--dialect-rows",
        nargs="+",
        choices=tuple(dialect.WHAT),
        default=tuple(dialect.WHAT),
        help="some rows of dialect",
    )
    parser.add_argument("--no-hive", action="store_true", help="leave out Spark's Hive catalog, which takes longest")
    parser.add_argument(
        "--peer-events", type=int, metavar="N", help="measure peers over about N events, too, such as 100000000"
    )
    parser.add_argument(
        "--spark-rows",
        type=int,
        default=spark.ROWS,
        metavar="N",
        help="rows that are written and read in a Spark session",
    )
    parser.add_argument(
        "--spark-events", type=int, metavar="N", help="query a cube over N events in a Spark session, too"
    )
    parser.add_argument(
        "--measure-events", type=int, default=measures.EVENTS, metavar="N", help="count users of N events"
    )
    parser.add_argument(
        "--workload-scale", type=float, default=1, metavar="F", help="the scale of TPC-H and ClickBench"
    )
    given = parser.parse_args()
    if unknown := set(given.groups) - set(GROUPS):
        parser.error(f"unknown group {', '.join(sorted(unknown))}: choose of {', '.join(GROUPS)}")
    if given.metastore_partitions < metastores.SMALL:
        parser.error(f"--metastore-partitions is {metastores.SMALL} or more")
    if given.peer_events is not None and given.peer_events < peers.EVENTS:
        parser.error(f"--peer-events is {peers.EVENTS} or more")
    main(
        set(given.groups),
        given.metastore_partitions,
        given.dialect_rows,
        hive=not given.no_hive,
        peer_events=given.peer_events,
        spark_rows=given.spark_rows,
        spark_events=given.spark_events,
        measure_events=given.measure_events,
        workload_scale=given.workload_scale,
    )
