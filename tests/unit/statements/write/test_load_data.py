"""LOAD DATA: what is taken, what is refused, and that it is all or nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog import Transaction
from rewriter.errors import AnalysisError, Error, OperationalError
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        opened.execute("CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p STRING)")
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def error(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    return caught.value


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def ids(*values: int) -> pa.Array:
    return pa.array(values, pa.int32())


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "warehouse").rglob("*") if path.suffix in (".parquet", ".csv"))


def test_a_directory_is_copied_and_stays(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    parquet(folder / "a.parquet", id=ids(1, 2), v=["x", None])
    parquet(folder / "b.parquet", V=["y"], ID=ids(3))
    parquet(folder / "none.parquet", id=ids(), v=pa.array([], pa.string()))
    (folder / "_SUCCESS").touch()
    result = session.execute(f"LOAD DATA INPATH '{folder}' INTO TABLE t PARTITION (p='a/b')")
    assert (result.kind, result.rowcount, result.stats.written_files) == ("LOAD DATA", 3, 2)
    assert rows(session, "SELECT * FROM t ORDER BY id") == [(1, "x", "a/b"), (2, None, "a/b"), (3, "y", "a/b")]
    assert rows(session, "SHOW PARTITIONS t") == [("p=a%2Fb",)]
    assert len(list(folder.iterdir())) == 4
    session.execute(f"LOAD DATA LOCAL INPATH 'file://{folder}/b*' OVERWRITE INTO TABLE t PARTITION (p='a/b')")
    assert rows(session, "SELECT id FROM t") == [(3,)]


def test_no_rows_make_an_empty_partition(session: Session, tmp_path: Path) -> None:
    path = parquet(tmp_path / "none.parquet", id=ids(), v=pa.array([], pa.string()))
    assert session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE t PARTITION (p='x')").rowcount == 0
    assert rows(session, "SHOW PARTITIONS t") == [("p=x",)]


AT = dt.datetime(2020, 1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("columns", "difference"),
    [
        ({"id": pa.array([1]), "v": ["x"]}, "id is BIGINT in the file and INT in the table"),
        ({"id": ids(1)}, "lacks v"),
        ({"id": ids(1), "v": ["x"], "w": ["y"]}, "contains the column w, which the table does not have"),
        ({"id": ids(1), "v": ["x"], "P": ["y"]}, "contains the partition column P"),
        ({"id": ids(1), "v": ["x"], "V": ["y"]}, "contains V twice"),
    ],
)
def test_files_of_other_columns_are_refused(
    session: Session, tmp_path: Path, columns: dict[str, Any], difference: str
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    parquet(folder / "a.parquet", id=ids(1), v=["x"])
    bad = parquet(folder / "b.parquet", **columns)
    sql = f"LOAD DATA INPATH '{folder}' INTO TABLE t PARTITION (p='x')"
    caught = error(session, sql)
    assert isinstance(caught, AnalysisError)
    assert (caught.condition, caught.object) == ("LOAD_SCHEMA_MISMATCH", str(bad))
    assert difference in caught.message
    assert caught.position is not None
    assert sql[caught.position.start : caught.position.end] == f"'{folder}'"
    assert rows(session, "SHOW PARTITIONS t") == []
    assert files_of(tmp_path) == []


@pytest.mark.parametrize(
    ("type_", "taken"),
    [
        (pa.timestamp("us", tz="UTC"), True),
        (pa.timestamp("ms", tz="UTC"), True),
        (pa.timestamp("us"), False),
        (pa.timestamp("ns", tz="UTC"), False),
    ],
)
def test_instants_have_a_zone(session: Session, tmp_path: Path, type_: pa.DataType, taken: bool) -> None:
    session.execute("CREATE TABLE at (at TIMESTAMP)")
    pq.write_table(pa.table({"at": pa.array([AT], type_)}), tmp_path / "f.parquet", coerce_timestamps=None)
    sql = f"LOAD DATA INPATH '{tmp_path}/f.parquet' INTO TABLE at"
    if taken:
        session.execute(sql)
        assert rows(session, "SELECT at FROM at") == [(AT.replace(tzinfo=dt.UTC),)]
    else:
        assert error(session, sql).condition == "LOAD_SCHEMA_MISMATCH"


def test_text(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE c (id INT, v STRING) USING csv")
    session.execute("INSERT INTO c VALUES (0, 'there')")
    (tmp_path / "good.csv").write_text("id,v\n1,x\n2,\n")
    (tmp_path / "order.csv").write_text("v,id\nx,1\n")
    (tmp_path / "bad.csv").write_text("id,v\n1,x\nx,1\n")
    assert session.execute(f"LOAD DATA INPATH '{tmp_path}/good.csv' INTO TABLE c").rowcount == 2
    assert error(session, f"LOAD DATA INPATH '{tmp_path}/order.csv' INTO TABLE c").condition == "LOAD_SCHEMA_MISMATCH"
    before = files_of(tmp_path)
    caught = error(session, f"LOAD DATA INPATH '{tmp_path}/bad.csv' OVERWRITE INTO TABLE c")
    assert caught.condition == "CAST_INVALID_INPUT"
    assert f"{tmp_path}/bad.csv" in caught.message
    assert files_of(tmp_path) == before
    assert rows(session, "SELECT * FROM c ORDER BY id") == [(0, "there"), (1, "x"), (2, None)]
    session.execute("CREATE TABLE j (id INT, v STRING) USING json")
    (tmp_path / "good.json").write_text('{"id": 1, "v": "x"}\n{"id": 2}\n')
    assert session.execute(f"LOAD DATA INPATH '{tmp_path}/good.json' INTO TABLE j").rowcount == 2
    assert rows(session, "SELECT * FROM j ORDER BY id") == [(1, "x"), (2, None)]


def test_an_external_table(session: Session, tmp_path: Path) -> None:
    path = parquet(tmp_path / "f.parquet", id=ids(1), v=["x"])
    session.execute(f"CREATE EXTERNAL TABLE e (id INT, v STRING) PARTITIONED BY (p STRING) LOCATION '{tmp_path}/e'")
    session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE e PARTITION (p='a')")
    session.execute(f"LOAD DATA INPATH '{tmp_path}/e/p=a' INTO TABLE e PARTITION (p='a')")
    assert rows(session, "SELECT * FROM e") == [(1, "x", "a"), (1, "x", "a")]
    session.execute(f"LOAD DATA INPATH '{path}' OVERWRITE INTO TABLE e PARTITION (p='a')")
    assert len(list((tmp_path / "e").rglob("*.parquet"))) == 1
    assert [entry.name for entry in (tmp_path / "e").iterdir()] == ["p=a"]


def test_a_commit_that_fails_leaves_no_file(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = parquet(tmp_path / "f.parquet", id=ids(1), v=["x"])

    def failing(*_: object) -> int:
        raise OperationalError("the disk is full")

    monkeypatch.setattr(Transaction, "commit", failing)
    error(session, f"LOAD DATA INPATH '{path}' INTO TABLE t PARTITION (p='x')")
    assert files_of(tmp_path) == []


def test_loading_base_content_outdates_its_rollups(session: Session, tmp_path: Path) -> None:
    for name in ("hours", "days"):
        session.execute(f"CREATE TABLE {name} (n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE CUBE c (n BIGINT MEASURE COUNT, at TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY at AS (dt = 'yyyy-MM-dd-HH'), "
        "TABLE days PERIOD DAILY PARTITIONED BY at AS (dt = 'yyyy-MM-dd'))"
    )
    hours = ", ".join(f"(1, '2013-01-01-{hour:02d}')" for hour in range(24))
    session.execute(f"INSERT INTO hours VALUES {hours}")
    session.execute("INSERT OVERWRITE days SELECT SUM(n), '2013-01-01' FROM hours")
    counted = "SELECT COUNT(*) FROM c WHERE at >= '2013-01-01' AND at < '2013-01-02'"
    assert [scan.partitions for scan in session.execute(counted).stats.scans] == [1]
    path = parquet(tmp_path / "f.parquet", n=pa.array([5], pa.int64()))
    session.execute(f"LOAD DATA INPATH '{path}' INTO TABLE hours PARTITION (dt='2013-01-01-07')")
    result = session.execute(counted)
    assert [scan.partitions for scan in result.stats.scans] == [24]
    assert result.fetch() == [(29,)]
    caught = error(session, f"LOAD DATA INPATH '{path}' INTO TABLE hours PARTITION (dt='yesterday')")
    assert caught.condition == "INVALID_TIME_PARTITION"
