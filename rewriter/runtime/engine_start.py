"""Starts the engine that a session names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rewriter.errors import InternalError

if TYPE_CHECKING:
    from rewriter.exec.engine import Engine


def start_engine(
    engine: str, master: str | None, spark_session: Any = None, options: Mapping[str, str] | None = None
) -> Engine:
    """Returns a new engine, ``duckdb`` or ``spark``, which starts when it is first used. Imports its library.

    ``options`` are settings of Spark.
    """
    if engine == "duckdb":
        from rewriter.exec.duckdb.engine import DuckDBEngine

        return DuckDBEngine()
    if engine != "spark":
        raise InternalError(f"The engine {engine} has no module.")
    from rewriter.exec.spark.engine import SparkEngine

    return SparkEngine(master, options, session=spark_session)
