"""Fixtures that several suites share: one Spark and one DuckDB for the whole run, started when first asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from postgres import catalog_url as catalog_url
from postgres import postgres_server as postgres_server
from postgres import postgres_url as postgres_url

from rewriter.exec.duckdb import DuckDBEngine
from rewriter.exec.spark import SparkEngine

# The plans of tests are many and their rows few: Java's second compiler would take more time than it saves.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkEngine]:
    """Spark on two cores. Starting it costs 5 to 30 s, so nobody else should."""
    engine = SparkEngine("local[2]", {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def duckdb() -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine()
    yield engine
    engine.close()
