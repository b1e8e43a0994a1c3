"""Warehouses of measures: made by a script, and how their statements fail."""

from __future__ import annotations

from pathlib import Path

import pytest

import rewriter
from rewriter.dbapi import Connection


def opened(path: Path, script: str) -> Connection:
    """Returns a connection to a new warehouse, after the statements of a script."""
    connection = rewriter.connect(path, engine="duckdb")
    for statement in script.split(";"):
        connection.execute(statement)
    return connection


def condition(connection: Connection, statement: str) -> str | None:
    """Returns the condition of the error of a statement. The error has a hint."""
    with pytest.raises(rewriter.Error) as caught:
        connection.execute(statement)
    assert caught.value.hint
    return caught.value.condition
