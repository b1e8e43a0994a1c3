"""``python -m benchmarks [planning] [cover] [timelines] [duckdb] [spark]``: the tables of ``benchmarks/README.md``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks import cover, goldens, inserting, planning, querying, scanning, timelines
from benchmarks.timing import Table, markdown


def main(chosen: set[str]) -> None:
    """Runs the chosen groups (all without a choice) and prints each table as soon as it is there."""

    def show(table: Table) -> None:
        print(markdown([table]), flush=True)

    if not chosen or "planning" in chosen:
        show(planning.measure())
        show(goldens.measure())
    if not chosen or "cover" in chosen:
        show(cover.measure())
    if not chosen or "timelines" in chosen:
        show(timelines.measure())
    if chosen and not chosen & {"duckdb", "spark"}:
        return
    from benchmarks import flights

    with tempfile.TemporaryDirectory() as folder:
        warehouse = Path(folder)
        flights.build(warehouse)
        if not chosen or "duckdb" in chosen:
            show(querying.measure(warehouse, "duckdb"))
        if not chosen or "spark" in chosen:
            _spark(warehouse, show)


def _spark(warehouse: Path, show: object) -> None:
    from pyspark.sql import SparkSession

    from rewriter.exec.engine import EngineQuery
    from rewriter.exec.spark import SparkEngine

    assert callable(show)
    engine = SparkEngine()
    engine.execute(EngineQuery("SELECT 1")).read_all()
    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    show(querying.measure(warehouse, engine))
    show(inserting.measure(warehouse, engine, session))
    show(scanning.measure(warehouse, engine, session))
    engine.close()


if __name__ == "__main__":
    main(set(sys.argv[1:]))
