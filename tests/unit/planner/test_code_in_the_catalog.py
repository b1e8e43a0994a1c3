"""Definitions that another program wrote into the catalog bring the readers of a view or a cube no code."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.session import Session


def _replace(warehouse: Path, name: str, old: str, new: str) -> None:
    """Replaces a text in the stored definition of an object."""
    with sqlite3.connect(warehouse / "catalog.db") as connection:
        changed = connection.execute(
            "UPDATE objects SET definition = replace(definition, ?, ?) WHERE name = ? AND instr(definition, ?)",
            [old, new, name, old],
        )
        assert changed.rowcount == 1


def _failure(warehouse: Path, sql: str) -> Error:
    with Session(warehouse, "duckdb") as session, pytest.raises(Error) as raised:
        session.execute(sql).fetch()
    return raised.value


@pytest.mark.parametrize("code", ["reflect('java.lang.System', 'exit', '1')", "IDENTIFIER('reflect')('a', 'b')"])
def test_an_expression_of_a_raw_table_brings_no_code(tmp_path: Path, code: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE events (a STRING, at TIMESTAMP) PARTITIONED BY (dt STRING)")
        session.execute("CREATE CUBE c (n BIGINT MEASURE COUNT, a STRING, t TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE events PERIOD DAILY PARTITIONED BY t AS (dt) "
            "RAW (a AS upper(a), t AS at))"
        )
        session.execute("INSERT INTO events VALUES ('x', TIMESTAMP '2024-01-01 10:00:00', '2024-01-01')")
    query = "SELECT a, COUNT(*) FROM c WHERE t >= '2024-01-01' AND t < '2024-01-02' GROUP BY a"
    with Session(tmp_path, "duckdb") as session:
        assert session.execute(query).fetch() == [("X", 1)]
    _replace(tmp_path, "f", "upper(a)", code)
    error = _failure(tmp_path, query)
    assert error.condition == "DAMAGED_CATALOG"
    assert "calls " in error.message


@pytest.mark.parametrize("code", ["reflect('a', 'b')", "TRANSFORM(a) USING 'touch file'"])
def test_the_query_of_a_view_brings_no_code(tmp_path: Path, code: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (a STRING)")
        session.execute("CREATE VIEW v AS SELECT upper(a) AS a FROM t")
    _replace(tmp_path, "v", "upper(a)", code)
    assert _failure(tmp_path, "SELECT * FROM v").condition == "CODE_IN_VIEW"
