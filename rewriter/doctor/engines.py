"""Checks of the engines: each runs a small query."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from rewriter.doctor.check import Check, error, ok, skipped
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import Engine, EngineQuery
from rewriter.exec.spark.connect_session import SCHEME, reach_server, shown_address
from rewriter.exec.spark.engine import SparkEngine
from rewriter.exec.spark.installation import INSTALL, is_installed

_QUERY, _EXPECTED = "SELECT SUM(n) AS s FROM VALUES (1), (2), (39) AS t (n)", [{"s": 42}]


def duckdb() -> Iterator[Check]:
    """Runs a query on DuckDB."""
    with closing(DuckDBEngine()) as engine:
        yield _ran("DuckDB", engine, "A query ran in {seconds:.1f} s.")


def spark(master: str | None, *, is_started: bool, is_chosen: bool) -> Iterator[Check]:
    """Starts Spark and runs a query on it. Unless it is to be started, only the address of a Spark Connect server is
    tried.
    """
    is_connect = master is not None and master.startswith(SCHEME)
    if not is_installed():
        install = "pip install 'rewriter[connect]'" if is_connect else INSTALL
        if is_started or is_chosen:
            yield error("Spark", "It is not installed.", f"Run {install}, or use the engine duckdb.")
        else:
            yield skipped("Spark", f"It is not installed, so that duckdb is the default engine. {INSTALL} installs it.")
    elif is_started:
        with closing(SparkEngine(master)) as engine:
            yield _ran("Spark", engine, "It started, and a query ran, in {seconds:.0f} s.")
    elif is_connect and master is not None:
        reach_server(master)
        yield ok("Spark", f"The Spark Connect server at {shown_address(master)} can be reached; no query was run.")
    else:
        chosen = "" if is_chosen else " It is not the engine of this connection."
        yield skipped("Spark", f"It was not started. With --spark it is, which takes half a minute.{chosen}")


def _ran(name: str, engine: Engine, words: str) -> Check:
    started = time.monotonic()
    rows = engine.execute(EngineQuery(_QUERY)).read_all().to_pylist()
    if rows != _EXPECTED:
        return error(name, f"A query returned {rows}, not {_EXPECTED}.", "Install the packages again.")
    return ok(name, words.format(seconds=time.monotonic() - started))
