"""Warehouses of measures: made by a script, what their queries read, and how their statements fail."""

from __future__ import annotations

from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection


def opened(path: Path, script: str) -> Connection:
    """Returns a connection to a new warehouse. A cover that the checker of certificates refutes is an error of the
    query.
    """
    connection = rewriter.connect(path, engine="duckdb")
    for statement in script.split(";"):
        connection.execute(statement)
    connection.execute("SET rewriter.verify = certificate")
    return connection


def tables(connection: Connection, query: str) -> list[str]:
    """Returns the tables whose partitions a query reads. The checker of certificates accepts its cover."""
    cursor = connection.execute(query)
    cursor.fetchall()
    verification = cursor.stats.verification
    assert verification is None or verification.is_accepted, verification.findings
    return [scan.table for scan in cursor.stats.scans]


def condition(connection: Connection, statement: str) -> str | None:
    """Returns the condition of the error of a statement. The error has a hint."""
    with pytest.raises(rewriter.Error) as caught:
        connection.execute(statement)
    assert caught.value.hint
    return caught.value.condition
