"""No statement writes NULL into a measure that is declared NOT NULL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rewriter
from rewriter.errors import ConflictError, DataError
from rewriter.statements.define import facts
from rewriter.statements.query import not_null_measures

CUBE = "CREATE CUBE c (n BIGINT MEASURE SUM NOT NULL, m BIGINT MEASURE SUM NOT NULL, t TIMESTAMP TIME)"
FACT = """CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h = 'yyyy-MM-dd-HH'),
    TABLE days PERIOD DAILY PARTITIONED BY t AS (d))"""
GOOD = pa.table({"n": pa.array([1], pa.int64()), "m": pa.array([2], pa.int64())})
BAD = pa.table({"n": pa.array([3, None], pa.int64()), "m": pa.array([4, 5], pa.int64())})


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[rewriter.Connection]:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as opened:
        opened.execute("CREATE TABLE hours (n BIGINT, m BIGINT) PARTITIONED BY (h STRING)")
        opened.execute("CREATE TABLE days (n BIGINT, m BIGINT) PARTITIONED BY (d STRING)")
        opened.execute(CUBE)
        yield opened


def refuse(connection: rewriter.Connection, statement: str) -> None:
    with pytest.raises(DataError, match="1 row has NULL in n of hours") as caught:
        connection.execute(statement)
    assert (caught.value.condition, caught.value.sqlstate) == ("NOT_NULL_ASSERT_VIOLATION", "42000")
    assert connection.execute("SHOW PARTITIONS hours").fetchall() == []


def test_every_way_to_write_refuses_null(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute(FACT)
    source = tmp_path / "source"
    source.mkdir()
    pq.write_table(BAD, source / "a.parquet")
    streamed = tmp_path / "streamed"
    streamed.mkdir()
    pq.write_table(BAD.append_column("h", pa.array(["2024-01-01-00"] * 2)), streamed / "a.parquet")
    refuse(connection, f"LOAD DATA INPATH '{source}' INTO TABLE hours PARTITION (h = '2024-01-01-00')")
    refuse(connection, f"ALTER TABLE hours ADD PARTITION (h = '2024-01-01-00') LOCATION '{source}'")
    refuse(
        connection,
        f"INSERT INTO hours BY NAME SELECT * FROM STREAM parquet.`{streamed}` "
        f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path / 'checkpoint'}')",
    )
    with pytest.raises(DataError, match="1 row has NULL in n of hours"):
        connection.append("hours", BAD.append_column("h", pa.array(["2024-01-01-00"] * 2)))
    with pytest.raises(DataError, match="1 row has NULL in n of hours"):
        connection.cursor().executemany(
            "INSERT INTO hours VALUES (?, ?, ?)", [(1, 1, "2024-01-01-00"), (None, 1, "2024-01-01-00")]
        )
    assert connection.execute("SHOW PARTITIONS hours").fetchall() == []
    connection.append("hours", GOOD.append_column("h", pa.array(["2024-01-01-00"])))
    assert connection.execute("SELECT SUM(n - m) FROM c").fetchall() == [(-1,)]


@pytest.mark.parametrize(
    "properties", ["STORED AS json", "STORED AS orc", "TBLPROPERTIES ('rewriter.packed' = 'true')"]
)
def test_every_kind_of_files_refuses_null(connection: rewriter.Connection, properties: str) -> None:
    connection.execute("DROP TABLE hours")
    connection.execute(f"CREATE TABLE hours (n BIGINT, m BIGINT) PARTITIONED BY (h STRING) {properties}")
    connection.execute(FACT)
    refuse(connection, "INSERT INTO hours VALUES (1, 1, '2024-01-01-00'), (NULL, 1, '2024-01-01-01')")


def test_footers_prove_writes_without_a_query(connection: rewriter.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    connection.execute(FACT)
    monkeypatch.setattr(not_null_measures, "_count", lambda *_: pytest.fail("a query has read the rows"))
    connection.execute("INSERT INTO hours VALUES (1, 1, '2024-01-01-00'), (2, 1, '2024-01-01-01')")


def test_a_write_that_began_before_the_fact_conflicts(connection: rewriter.Connection, tmp_path: Path) -> None:
    connection.execute("START TRANSACTION")
    connection.execute("INSERT INTO hours VALUES (NULL, 1, '2024-01-01-00')")
    with rewriter.connect(tmp_path / "w", engine="duckdb") as other:
        other.execute(FACT)
    with pytest.raises(ConflictError):
        connection.execute("COMMIT")
    assert connection.execute("SHOW PARTITIONS hours").fetchall() == []


def test_a_fact_conflicts_with_a_write_that_it_did_not_see(
    connection: rewriter.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*arguments: object) -> None:
        with rewriter.connect(tmp_path / "w", engine="duckdb") as other:
            other.execute("INSERT INTO hours VALUES (NULL, 1, '2024-01-01-00')")

    monkeypatch.setattr(facts, "check_stored_not_null", check)
    with pytest.raises(ConflictError):
        connection.execute(FACT)
    assert connection.execute("SHOW FACTS").fetchall() == []
