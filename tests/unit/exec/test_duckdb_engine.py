"""Tests of DuckDB only: files are skipped, errors do not leak, Ctrl-C leaves it usable."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import duckdb as database
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.model.objects import Column
from rewriter.errors import EngineError, Error, NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Relation, ScanFile, Write
from rewriter.session import Session


def hours(root: Path, days: int) -> Relation:
    files = []
    for day in range(1, days + 1):
        for hour in (5, 6):
            path = root / f"dt=2013-01-{day:02d}" / f"hr={hour:02d}" / "f.parquet"
            path.parent.mkdir(parents=True)
            pq.write_table(pa.table({"x": pa.array([day * 100 + hour], pa.int64())}), path)
            files.append(ScanFile(str(path), (f"2013-01-{day:02d}", f"{hour:02d}"), 1))
    return Relation(
        "t", "parquet", (Column("x", "bigint"),), (Column("dt", "string"), Column("hr", "string")), tuple(files)
    )


def test_a_filter_on_partition_columns_skips_files(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    relation = hours(tmp_path, 3)
    plan = duckdb.explain(EngineQuery("SELECT sum(x) AS s FROM t WHERE dt = '2013-01-02'", (relation,)))
    assert "2/6" in plan


def test_two_arms_with_times_of_two_shapes(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    """An arm's format must not meet the other arm's values, even with a filter on time outside."""
    files = []
    for number, value in enumerate(["2013-01", "2013-02-01", "2013-02-02"]):
        path = tmp_path / f"dt={value}" / "f.parquet"
        path.parent.mkdir()
        pq.write_table(pa.table({"x": pa.array([number], pa.int64())}), path)
        files.append(ScanFile(str(path), (value,), 1))
    relation = Relation("t", "parquet", (Column("x", "bigint"),), (Column("dt", "string"),), tuple(files))
    sql = (
        "SELECT date_trunc('month', ts) AS m, sum(x) AS s FROM ("
        "SELECT to_timestamp(dt, 'yyyy-MM') AS ts, x FROM t WHERE dt = '2013-01' AND dt RLIKE '^[0-9]{4}-[0-9]{2}$' "
        "UNION ALL SELECT to_timestamp(dt, 'yyyy-MM-dd') AS ts, x FROM t "
        "WHERE dt >= '2013-02-01' AND dt <= '2013-02-28' AND dt RLIKE '^[0-9]{4}-[0-9]{2}-[0-9]{2}$') f "
        "WHERE ts >= '2013-01-01' AND ts < '2013-03-01' GROUP BY 1 ORDER BY 1"
    )
    for _ in range(20):
        answer = duckdb.execute(EngineQuery(sql, (relation,))).read_all()
        assert answer.column("s").to_pylist() == [0, 3]


@pytest.mark.parametrize("is_declared", [False, True])
def test_a_column_does_not_hide_a_relation_of_the_outer_query(
    duckdb: DuckDBEngine, tmp_path: Path, is_declared: bool
) -> None:
    """Relations have names of ours, such as ``s1``. Columns of files may have these names, too."""
    relations = []
    ones, stored = pa.array([1], pa.int64()), pa.array([7], pa.int64()) if is_declared else pa.array([{"k": 7}])
    for name, table in {"o": {"k": ones}, "i": {"x": ones, "s1": stored}}.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(table), path)
        columns = [Column(column, "bigint") for column in table if column != "s1" or is_declared]
        relations.append(Relation(name, "parquet", tuple(columns), (), (ScanFile(str(path), (), 1),)))
    answer = duckdb.execute(EngineQuery("SELECT k FROM o WHERE 1 IN (SELECT o.k FROM i)", tuple(relations)))
    assert answer.read_all().column("k").to_pylist() == [1]


@pytest.mark.parametrize("kind", [database.InternalException, database.FatalException])
def test_a_database_that_duckdb_has_invalidated_is_left(
    monkeypatch: pytest.MonkeyPatch, kind: type[database.Error]
) -> None:
    engine = DuckDBEngine()
    query = EngineQuery("SELECT 1 AS a")
    assert engine.execute(query).read_all().to_pylist() == [{"a": 1}]
    first = engine._database

    def fail(*_: object) -> object:
        raise kind("database has been invalidated")

    with monkeypatch.context() as context:
        context.setattr(DuckDBEngine, "_parsed", fail)
        with pytest.raises(Error):
            engine.execute(EngineQuery("SELECT 2 AS a"))
    assert engine.execute(query).read_all().to_pylist() == [{"a": 1}]
    assert engine._database is not first
    engine.close()


def test_a_comment_may_stand_inside_of_group_by(duckdb: DuckDBEngine) -> None:
    query = "SELECT a, count(*) AS n FROM (SELECT 1 AS a) GROUP /* by */ BY a ORDER -- it\n BY a"
    assert duckdb.execute(EngineQuery(query)).read_all().to_pylist() == [{"a": 1, "n": 1}]


def test_errors_have_no_traces_of_our_translation(duckdb: DuckDBEngine) -> None:
    with pytest.raises(EngineError) as caught:
        duckdb.execute(EngineQuery("SELECT a, count(*) FROM (SELECT 1 AS a)"))
    assert caught.value.condition == "MISSING_GROUP_BY"
    assert "\n" not in caught.value.message


def test_a_sequence_against_its_step_is_refused_when_met(duckdb: DuckDBEngine) -> None:
    for call in (
        "sequence(3, 1, 1)",
        "sequence(1, 3, 0)",
        "sequence(DATE '2024-02-01', DATE '2024-01-01', INTERVAL 1 DAY)",
    ):
        with pytest.raises(NotSupportedError, match="leads away from its end"):
            duckdb.execute(EngineQuery(f"SELECT explode({call})")).read_all()


def test_text_whose_case_may_differ_is_refused_when_met(duckdb: DuckDBEngine) -> None:
    answer = duckdb.execute(EngineQuery("SELECT upper('é中x') AS u, lower('ÀŻ') AS l")).read_all()
    assert answer.to_pylist() == [{"u": "É中X", "l": "àż"}]
    with pytest.raises(NotSupportedError):
        duckdb.execute(EngineQuery("SELECT upper('straße')"))


def test_formats_that_are_not_written(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    with pytest.raises(NotSupportedError):
        duckdb.write(EngineQuery("SELECT 1"), Write(str(tmp_path / "w"), "delta", (Column("a", "int"),), ()))


def test_a_file_with_nanoseconds_names_the_way_to_microseconds(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": pa.array([0], pa.timestamp("ns"))}), tmp_path / "a.parquet")
    with (
        Session(tmp_path / "w", "duckdb") as session,
        pytest.raises(
            EngineError, match=r"(?s)a file stores it as TIMESTAMP_NS.*A TIMESTAMP has microseconds"
        ) as caught,
    ):
        session.execute(f"SELECT t FROM parquet.`{tmp_path}/a.parquet`").fetch()
    assert caught.value.condition == "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH"


def test_interrupt_stops_the_query_and_leaves_the_engine(duckdb: DuckDBEngine) -> None:
    numbers = "SELECT 0 AS a" + "".join(f" UNION ALL SELECT {n}" for n in range(1, 100))
    sql = (
        f"WITH n AS ({numbers}), m AS (SELECT x.a * y.a + z.a AS a FROM n x CROSS JOIN n y CROSS JOIN n z) "
        "SELECT sum(a.a * b.a) AS s FROM m a CROSS JOIN m b"
    )
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            duckdb.execute(EngineQuery(sql))
    finally:
        timer.cancel()
    assert time.monotonic() - started < 10
    assert duckdb.execute(EngineQuery("SELECT 1 AS a")).read_all().to_pylist() == [{"a": 1}]
