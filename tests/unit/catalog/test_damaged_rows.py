"""Rows of the catalog that something else has damaged: statements say which, and never that we have a bug."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import Error, OperationalError
from rewriter.session import Session

SCENE = """
CREATE CUBE c (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
CREATE TABLE e (k STRING) PARTITIONED BY (p DATE, i INT) LOCATION '{place}';
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt),
  TABLE days PERIOD DAILY PARTITIONED BY t AS (ds));
INSERT INTO hours VALUES (1, '2013-01-01-05'), (1, '2013-01-01-06'), (1, '2013-01-02-06');
INSERT INTO days VALUES (2, '2013-01-01');
ALTER TABLE e ADD PARTITION (p = DATE'2013-01-01', i = 5) LOCATION '{place}/x';
"""
DAMAGE = [
    "UPDATE partitions SET properties = '{broken'",
    "UPDATE partitions SET properties = '[1]'",
    "UPDATE partitions SET partition_values = '[\"2013'",
    "UPDATE partitions SET partition_values = '{\"a\": 1}'",
    "UPDATE partitions SET partition_values = '[]'",
    'UPDATE partitions SET partition_values = \'["a", "b", "c"]\'',
    "UPDATE partitions SET partition_values = '[5]'",
    "UPDATE partitions SET partition_values = '[5, 6]'",
    "UPDATE partitions SET sources = '[1'",
    "UPDATE partitions SET sources = 'null'",
    "UPDATE partitions SET doubt = x'ff00'",
    "UPDATE partitions SET key = CAST(substr(key, 1, length(key) - 2) AS BLOB)",
    "UPDATE partitions SET key = CAST(key || x'05' AS BLOB)",
    "UPDATE partitions SET key = CAST(substr(key, 1, 9) || x'ffff01' AS BLOB)",
    "UPDATE partitions SET key = CAST(substr(key, 1, 9) || x'01ff00' AS BLOB)",
    "UPDATE partitions SET key = 'text'",
    "UPDATE partitions SET location = x'ff'",
    "UPDATE partitions SET rows = 'x'",
    "UPDATE partitions SET bytes = 'x'",
    "UPDATE timeline_ranges SET start_ordinal = 'x'",
    "UPDATE files SET path = x'ff'",
    "UPDATE files SET key = x'01'",
    "UPDATE files SET bytes = 'x'",
]
STATEMENTS = [
    "SELECT COUNT(*) FROM c",
    "SELECT * FROM hours WHERE dt = '2013-01-01-05'",
    "SELECT * FROM e WHERE i > 3",
    "SHOW PARTITIONS hours",
    "SHOW PARTITIONS e",
    "SHOW TIMELINES OF f",
    "DESCRIBE EXTENDED hours",
    "DESCRIBE EXTENDED hours PARTITION (dt = '2013-01-01-05')",
    "ANALYZE TABLE hours COMPUTE STATISTICS",
    "INSERT OVERWRITE hours VALUES (1, '2013-01-01-05')",
    "REFRESH FACT f",
    "REFRESH TIMELINES OF f",
    "CHECK FACT f ACCEPT",
    "ALTER TABLE hours PARTITION (dt = '2013-01-01-05') RENAME TO PARTITION (dt = '2013-01-01-09')",
    "ALTER TABLE hours DROP PARTITION (dt = '2013-01-01-06')",
    "MSCK REPAIR TABLE e",
    "TRUNCATE TABLE days",
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Creates a warehouse that each case copies."""
    folder = tmp_path_factory.mktemp("sound")
    with Session(folder / "w", "duckdb") as session:
        for _, result in session.script(SCENE.format(place=folder / "e")):
            result.fetch()
    return folder / "w"


@pytest.mark.share(2)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_rows_are_no_bug_of_ours(sound: Path, tmp_path: Path, damage: str) -> None:
    refused = 0
    for number, statement in enumerate(STATEMENTS):
        warehouse = tmp_path / str(number)
        shutil.copytree(sound, warehouse)
        with sqlite3.connect(warehouse / "catalog.db") as catalog:
            catalog.execute(damage)
        catalog.close()
        with Session(warehouse, "duckdb") as session:
            caught: list[Error] = []
            try:
                session.execute(statement).fetch()
            except Error as error:
                caught.append(error)
        for error in caught:
            assert error.condition != "INTERNAL_ERROR", (statement, error, error.__cause__)
            refused += error.condition in ("DAMAGED_CATALOG", "DAMAGED_TIMELINE")
            if error.condition == "DAMAGED_CATALOG":
                assert isinstance(error, OperationalError)
                assert error.object
                assert "rewriter catalog check" in str(error.hint)
    assert refused or "sources" in damage  # They say what was read, and decide nothing by themselves.


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_finds_damaged_rows(sound: Path, tmp_path: Path, damage: str) -> None:
    shutil.copytree(sound, tmp_path / "w")
    with sqlite3.connect(tmp_path / "w" / "catalog.db") as catalog:
        catalog.execute(damage)
    catalog.close()
    with Session(tmp_path / "w", "duckdb") as session:
        assert list(findings(session.catalog.database))
