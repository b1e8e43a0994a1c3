"""Starts the engine that a session names."""

from __future__ import annotations

from typing import Any

from rewriter.exec.engine import Engine


def start_engine(engine: str, master: str | None, spark_session: Any) -> Engine:
    """Returns a new engine, ``duckdb`` or ``spark``, which starts when it is first used. Imports its library."""
    if engine == "duckdb":
        from rewriter.exec.duckdb.engine import DuckDBEngine

        return DuckDBEngine()
    from rewriter.exec.spark.engine import SparkEngine

    return SparkEngine(master, session=spark_session)
