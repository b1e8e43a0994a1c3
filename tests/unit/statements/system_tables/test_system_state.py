"""Partitions, timelines, transactions and statements as tables; how little of the catalog they read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import statements
from results import named_rows

from rewriter.catalog.model.objects import Partition
from rewriter.catalog.reading import queries
from rewriter.errors import Error, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.runtime.recent_statements import LONGEST_TEXT, MOST_STATEMENTS
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_partitions_with_values_that_names_escape(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (s STRING, n INT)")
    session.execute("INSERT INTO t VALUES (1, 'a/b=\"é', 1), (2, 'a/b=\"é', 1), (3, NULL, NULL)")
    session.execute("CREATE TABLE plain (x INT)")
    session.execute("ALTER TABLE t ADD PARTITION (s = 'empty', n = 2)")
    session.execute(f"CREATE TABLE e (x INT) PARTITIONED BY (d INT) LOCATION '{tmp_path / 'e'}'")
    session.execute(f"ALTER TABLE e ADD PARTITION (d = 5) LOCATION '{tmp_path / 'elsewhere'}'")
    found = named_rows(session.execute("SELECT * FROM system.partitions"))
    assert [(row["table_name"], row["partition"]) for row in found] == [
        ("e", "d=5"),
        *(("t", name) for (name,) in sorted(rows(session, "SHOW PARTITIONS t"), key=lambda row: row[0] != _NULLS)[:1]),
        ("t", "s=a%2Fb%3D%22é/n=1"),
        ("t", "s=empty/n=2"),
    ]
    assert [json.loads(str(row["partition_values"])) for row in found] == [
        {"d": "5"},
        {"s": None, "n": None},
        {"s": 'a/b="é', "n": "1"},
        {"s": "empty", "n": "2"},
    ]
    assert [(row["row_count"], row["file_count"], row["location"]) for row in found] == [
        (None, None, str(tmp_path / "elsewhere")),
        (1, 1, None),
        (2, 1, None),
        (0, 0, None),
    ]
    assert {row["status"] for row in found} == {"committed"}
    sizes = rows(session, "SELECT sum(byte_count) FROM system.partitions WHERE table_name = 't'")
    assert sizes == [(sum(file.stat().st_size for file in (tmp_path / "w").rglob("*.parquet")),)]
    values = (
        "SELECT get_json_object(partition_values, '$.s') AS s FROM system.partitions WHERE table_name = 't' ORDER BY 1"
    )
    assert rows(session, values) == [(None,), ('a/b="é',), ("empty",)]


_NULLS = "s=__HIVE_DEFAULT_PARTITION__/n=__HIVE_DEFAULT_PARTITION__"


def test_open_partitions(session: Session, tmp_path: Path) -> None:
    list(session.script(FACT.partition(";\nINSERT")[0]))
    session.execute(
        "ALTER TABLE hours SET TBLPROPERTIES ('rewriter.partition_commit.trigger' = 'partition time', "
        "'rewriter.partition_commit.delay' = '2 hours')"
    )
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"carrier": ["UA", "AA"], "flights": [1, 2], "dt": ["2013-01-01-00", "2013-01-01-01"]}),
        tmp_path / "in" / "a.parquet",
    )
    session.execute(
        f"INSERT INTO hours SELECT carrier, flights, dt FROM STREAM parquet.`{tmp_path / 'in'}` "
        f"OPTIONS ('stream' = 's', 'checkpoint' = '{tmp_path / 'checkpoint'}')"
    )
    session.execute("ALTER TABLE hours COMMIT PARTITION (dt = '2013-01-01-00')")
    expected = rows(session, "SHOW PARTITIONS hours STATUS")
    assert {status for _, status in expected} == {"open", "committed"}
    by_name = "table_name = 'hours' AND partition IN ('dt=2013-01-01-00', 'dt=2013-01-01-01')"
    for where in ("TRUE", by_name):
        assert rows(session, f"SELECT partition, status FROM system.partitions WHERE {where}") == expected
    states = "SELECT state, periods FROM system.timelines ORDER BY 1"
    assert rows(session, states) == [("fresh", 1), ("open", 1)]


class Reads:
    """The statements about partitions that the catalog's database executes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def of(self, session: Session, sql: str) -> tuple[list[tuple[object, ...]], int]:
        self.texts.clear()
        session._reads = None  # The session keeps what it read of the same state.
        end = statements.watch(lambda text: self.texts.append(text))
        try:
            found = rows(session, sql)
        finally:
            end()
        return found, sum("FROM partitions" in text for text in self.texts)


def test_only_the_named_tables_are_read(session: Session) -> None:
    session.execute("CREATE DATABASE other")
    for name in ("a", "b", "c", "other.a"):
        session.execute(f"CREATE TABLE {name} (x INT) PARTITIONED BY (n INT)")
        session.execute(f"INSERT INTO {name} VALUES (1, 1), (2, 2)")
    reads = Reads()
    everything, whole = reads.of(session, "SELECT table_schema, table_name FROM system.partitions")
    assert len(everything) == 8
    for where, count in [
        ("table_schema = 'default' AND table_name = 'b'", 1),
        ("table_name = 'b'", 1),
        ("table_name = 'a'", 2),
        ("table_name IN ('a', 'b') AND table_schema = 'default'", 2),
        ("table_schema = 'other'", 1),
        ("table_name = 'none'", 0),
        ("table_name LIKE 'a%' AND row_count > 0", 2),
        ("(table_name = 'a' AND table_schema = 'default') OR table_name = 'b'", 2),
    ]:
        found, read = reads.of(session, f"SELECT table_schema, table_name FROM system.partitions WHERE {where}")
        assert (len(found), read) == (2 * count, whole // 4 * count), where
    joined = "SELECT p.partition FROM system.partitions p JOIN a ON p.row_count = a.x WHERE p.table_name = 'c'"
    assert reads.of(session, joined)[0]
    assert sum("FROM partitions" in text and "UNION" not in text for text in reads.texts) <= whole


def test_named_partitions_are_looked_up(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (n INT)")
    session.execute("INSERT INTO t SELECT id, id FROM (SELECT explode(sequence(1, 300)) AS id)")
    read: list[int] = []
    whole = queries.partition_page

    def counted(*arguments: object) -> list[Partition]:
        page = whole(*arguments)  # type: ignore[arg-type]
        read.append(len(page))
        return page

    monkeypatch.setattr(queries, "partition_page", counted)
    sql = "SELECT partition, row_count FROM system.partitions WHERE table_name = 't' AND partition IN "
    assert rows(session, f"{sql} ('n=7', 'n=299', 'n=300000', 'm=7', 'n=x', 'nothing', 'n=07') ORDER BY 1") == [
        ("n=299", 1),
        ("n=7", 1),
    ]
    assert sum(read) == 2


def test_more_partitions_than_a_batch(session: Session) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (n INT)")
    specs = " ".join(f"PARTITION (n = {number})" for number in range(10_001))
    session.execute(f"ALTER TABLE t ADD {specs}")
    assert rows(session, "SELECT count(*), count(DISTINCT partition), max(row_count) FROM system.partitions") == [
        (10_001, 10_001, 0)
    ]


FACT = """
CREATE CUBE flights (carrier STRING, flights BIGINT MEASURE COUNT, departed TIMESTAMP TIME);
CREATE TABLE hours (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (carrier STRING, flights BIGINT) PARTITIONED BY (dt STRING);
CREATE FACT f OF CUBE flights STORED IN
  STORAGE hot (TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt = 'yyyy-MM-dd-HH'))
  STORED IN STORAGE cold (TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt));
INSERT INTO hours VALUES ('UA', 1, '2013-01-01-00'), ('UA', 1, '2013-01-01-01'), ('UA', 1, '2013-01-03-00');
ALTER FACT f MARK COMPLETE FROM '2013-01-01' TO '2013-01-02';
REFRESH FACT f;
INSERT INTO hours VALUES ('AA', 1, '2013-01-01-05');
ALTER TABLE hours DROP PARTITION (dt = '2013-01-03-00')
"""


def test_timelines_are_ranges_of_instants(session: Session) -> None:
    list(session.script(FACT))
    found = rows(
        session,
        "SELECT table_name, period, state, range_start, range_end, periods FROM system.timelines "
        "ORDER BY table_name, state, range_start",
    )
    day = datetime(2013, 1, 1, tzinfo=UTC)
    assert found == [
        ("days", "DAILY", "outdated", day, day + timedelta(days=1), 1),
        ("hours", "HOURLY", "fresh", day, day + timedelta(days=1), 24),
        ("hours", "HOURLY", "retired", day + timedelta(days=2), day + timedelta(days=2, hours=1), 1),
    ]
    shown = named_rows(session.execute("SHOW TIMELINES OF f"))
    counted = rows(session, "SELECT table_name, sum(periods) FROM system.timelines WHERE state = 'fresh' GROUP BY 1")
    assert dict(counted) == {row["table"]: row["partitions"] for row in shown if row["partitions"]}
    assert rows(
        session,
        "SELECT DISTINCT fact_schema, fact_name, cube_schema, cube_name, storage, time_dimension "
        "FROM system.timelines WHERE table_name = 'days'",
    ) == [("default", "f", "default", "flights", "cold", "departed")]


def test_timelines_of_a_zone_are_its_days(session: Session) -> None:
    zoned = FACT.replace("departed TIMESTAMP TIME", "departed TIMESTAMP TIME) TIME ZONE 'Europe/Berlin'", 1)
    statements_of = zoned.replace("'Europe/Berlin')", "'Europe/Berlin'").split(";")
    try:
        for statement in statements_of[:4]:
            session.execute(statement)
    except Error:
        pytest.fail("the cube with a zone cannot be made")
    session.execute("INSERT INTO days VALUES ('UA', 1, '2013-07-01')")
    found = rows(session, "SELECT range_start, range_end FROM system.timelines WHERE table_name = 'days'")
    assert found == [(datetime(2013, 6, 30, 22, tzinfo=UTC), datetime(2013, 7, 1, 22, tzinfo=UTC))]


def test_transactions(session: Session, tmp_path: Path, duckdb: DuckDBEngine) -> None:
    session.execute("CREATE DATABASE sales")
    session.execute("CREATE TABLE t (x INT)")
    session.execute("CREATE TABLE sales.gone (x INT)")
    session.execute("INSERT INTO t VALUES (1)")
    session.execute("DROP TABLE sales.gone")
    with Session(tmp_path / "w", duckdb) as other:
        other.execute("START TRANSACTION")
        other.execute("INSERT INTO t VALUES (2)")
        found = named_rows(session.execute("SELECT * FROM system.transactions ORDER BY transaction_id"))
        assert [(row["state"], row["objects"]) for row in found] == [
            ("committed", "sales"),
            ("committed", "t"),
            ("committed", None),
            ("committed", "t"),
            ("committed", None),
            ("open", "t"),
        ]
        assert [row["commit"] for row in found] == [1, 2, 3, 4, 5, None]
        assert [row["ended_at"] is None for row in found] == [False] * 5 + [True]
        assert all(row["begun_at"] <= row["heartbeat_at"] for row in found)  # type: ignore[operator]
        # A transaction sees the others as they were when it began.
        session.execute("START TRANSACTION")
        opened = "SELECT count(*) FROM system.transactions WHERE state = 'open' AND objects = 't'"
        before = rows(session, opened)
        other.execute("COMMIT")
        assert rows(session, opened) == before == [(1,)]
        session.execute("ROLLBACK")
        assert rows(session, opened) == [(0,)]


def test_tables_of_one_statement_agree(session: Session, tmp_path: Path, duckdb: DuckDBEngine) -> None:
    """Another session commits while the statement reads."""
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (n INT)")
    session.execute("INSERT INTO t VALUES (1, 1)")
    with Session(tmp_path / "w", duckdb) as other:
        written: list[bool] = []

        def interrupt(text: str) -> None:
            if "FROM partitions" in text and not written:
                written.append(True)
                other.execute("INSERT INTO t VALUES (2, 2)")

        end = statements.watch(interrupt)
        try:
            found = rows(
                session,
                "SELECT (SELECT count(*) FROM system.partitions), (SELECT sum(x) FROM t), "
                "(SELECT max(commit) FROM system.transactions)",
            )
        finally:
            end()
        assert written
        assert found == [(1, 1, 2)]
        assert rows(session, "SELECT (SELECT count(*) FROM system.partitions), (SELECT sum(x) FROM t)") == [(2, 3)]


def test_the_cache(session: Session) -> None:
    assert rows(session, "SELECT * FROM system.cache") == rows(session, "SHOW CACHE")


def statuses(session: Session) -> dict[str, tuple[object, ...]]:
    found = rows(session, "SELECT text, status, row_count, error_condition FROM system.queries")
    return {str(text): tuple(rest) for text, *rest in found}


def test_statements_and_what_became_of_them(session: Session) -> None:
    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 300000))")
    half = session.execute("SELECT x AS half FROM t")
    half.fetch(10)
    left = session.execute("SELECT x AS left FROM t")
    left.fetch(10)
    del left
    closed = session.execute("SELECT x AS closed FROM t")
    closed.close()
    rows(session, "SELECT x AS whole FROM t WHERE x < 3")
    with pytest.raises(Error):
        session.execute("SELECT y FROM t")
    with pytest.raises(Error):
        rows(session, "SELECT x AS late, 1 / (x - 299999) AS y FROM t")
    found = statuses(session)
    assert found["CREATE TABLE t (x BIGINT)"] == ("finished", None, None)
    assert found["INSERT INTO t SELECT explode(sequence(1, 300000))"] == ("finished", 300_000, None)
    assert found["SELECT x AS half FROM t"][0] == "fetching"
    assert 10 <= int(str(found["SELECT x AS half FROM t"][1])) < 300_000
    assert found["SELECT x AS left FROM t"][0] == "closed"
    assert found["SELECT x AS closed FROM t"][0] == "closed"
    assert found["SELECT x AS whole FROM t WHERE x < 3"] == ("finished", 2, None)
    assert found["SELECT y FROM t"] == ("failed", None, "UNRESOLVED_COLUMN.WITH_SUGGESTION")
    assert found["SELECT x AS late, 1 / (x - 299999) AS y FROM t"][::2] == ("failed", "DIVIDE_BY_ZERO")
    assert found["SELECT text, status, row_count, error_condition FROM system.queries"][0] == "running"
    half.fetch()
    assert statuses(session)["SELECT x AS half FROM t"] == ("finished", 300_000, None)
    times = rows(session, "SELECT count(*) FROM system.queries WHERE ended_at < started_at OR planning_seconds < 0")
    assert times == [(0,)]
    assert rows(session, "SELECT count(DISTINCT query_id) = count(*) FROM system.queries") == [(True,)]


def test_a_canceled_result(session: Session) -> None:
    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 300000))")
    result = session.execute("SELECT x FROM t")
    session.cancel()
    with pytest.raises(OperationalError):
        result.fetch()
    assert statuses(session)["SELECT x FROM t"][0::2] == ("canceled", "OPERATION_CANCELED")


def test_the_log_is_bounded(session: Session) -> None:
    long = f"SELECT '{'é' * 2 * LONGEST_TEXT}' AS long"
    session.execute(long)
    (text,) = rows(session, "SELECT text FROM system.queries LIMIT 1")[0]
    assert len(str(text)) == LONGEST_TEXT
    assert str(text).endswith("é…")
    for number in range(MOST_STATEMENTS):
        session._queries.running(f"number {number}", str(number)).__enter__()
    found = rows(session, "SELECT count(*), min(text) FROM system.queries")
    assert found == [(MOST_STATEMENTS, "SELECT count(*), min(text) FROM system.queries")]


def test_the_log_holds_no_result(session: Session) -> None:
    import gc
    import weakref

    session.execute("CREATE TABLE t (x BIGINT)")
    session.execute("INSERT INTO t SELECT explode(sequence(1, 300000))")
    result = session.execute("SELECT x FROM t")
    stream = weakref.ref(result.stream)  # type: ignore[arg-type]
    del result
    gc.collect()
    assert stream() is None


def test_a_transaction_sees_its_own_partitions(session: Session) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p INT)")
    session.execute("INSERT INTO t VALUES (1, 1)")
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO t VALUES (2, 2)")
    for where in ("table_name = 't'", "table_name = 't' AND partition IN ('p=1', 'p=2')"):
        assert rows(session, f"SELECT partition FROM system.partitions WHERE {where}") == [("p=1",), ("p=2",)]
    session.execute("ROLLBACK")
    assert rows(session, "SELECT partition FROM system.partitions") == [("p=1",)]


def test_on_both_databases(tmp_path: Path, duckdb: DuckDBEngine, catalog_url: str | None) -> None:
    with Session(tmp_path / "w", duckdb, catalog=catalog_url) as session:
        list(session.script(FACT))
        for where in ("TRUE", "table_schema = 'default' AND table_name IN ('days', 'hours')"):
            found = f"SELECT table_name, count(*) FROM system.partitions WHERE {where} GROUP BY table_name ORDER BY 1"
            assert rows(session, found) == [("days", 1), ("hours", 24)]
        named = (
            "SELECT row_count, status FROM system.partitions WHERE table_name = 'days' AND partition = 'dt=2013-01-01'"
        )
        assert rows(session, named) == [(1, "committed")]
        assert rows(session, "SELECT state FROM system.timelines WHERE table_name = 'days'") == [("outdated",)]
        (last,) = rows(session, "SELECT state, objects FROM system.transactions ORDER BY transaction_id DESC LIMIT 1")
        assert last == ("committed", "hours")
        assert rows(session, "SELECT DISTINCT state FROM system.transactions") == [("committed",)]
