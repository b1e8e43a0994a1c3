"""Sessions: statements end to end on DuckDB, and what must hold whatever fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from results import named_rows

from rewriter.catalog import Transaction
from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.errors import (
    AnalysisError,
    CommitUnknownError,
    ConflictError,
    DataError,
    Error,
    InterfaceError,
    MissingDataError,
    NotSupportedError,
    OperationalError,
    ParseError,
    ProgrammingError,
)
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def rows(session: Session, sql: str, parameters: object = None) -> list[tuple[object, ...]]:
    return session.execute(sql, parameters).fetch()  # type: ignore[arg-type]


def error(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        list(session.execute(sql).rows())
    return caught.value


def pointed(sql: str, caught: Error) -> str:
    """Returns the excerpt of the statement that an error points at."""
    assert caught.position is not None
    return sql[caught.position.start : caught.position.end]


def data_files(folder: Path) -> set[Path]:
    own = ("catalog.db", "warehouse.json")
    return {path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(own)}


P = "CREATE TABLE p (id INT, v STRING) USING parquet PARTITIONED BY (c STRING, d INT)"


class TestInsert:
    """With the results of Spark 4.3 (reference/spark-4.3-partition-dml-and-types.txt)."""

    @pytest.fixture(autouse=True)
    def table(self, session: Session) -> None:
        session.execute(P)

    def test_static(self, session: Session) -> None:
        assert session.execute("INSERT INTO p PARTITION (c='US', d='01') VALUES (1,'a')").rowcount == 1
        session.execute("INSERT INTO p PARTITION (c='US', d=1) SELECT 2,'b'")
        session.execute("INSERT INTO TABLE p PARTITION (D=2, C='x:y') SELECT 3,'c'")
        session.execute("INSERT INTO p PARTITION (c=null, d=null) VALUES (5,'n')")
        assert rows(session, "SELECT * FROM p ORDER BY id") == [
            (1, "a", "US", 1),
            (2, "b", "US", 1),
            (3, "c", "x:y", 2),
            (5, "n", None, None),
        ]
        assert [name for (name,) in rows(session, "SHOW PARTITIONS p")] == [
            "c=US/d=1",
            "c=__HIVE_DEFAULT_PARTITION__/d=__HIVE_DEFAULT_PARTITION__",
            "c=x%3Ay/d=2",
        ]

    def test_dynamic_and_mixed(self, session: Session) -> None:
        session.execute(
            "INSERT INTO p PARTITION (c, d) VALUES (10,'j','DE',5),(11,'k',null,6),(12,'l','',7),(13,'m','FR',null)"
        )
        session.execute("INSERT INTO p PARTITION (c='DE', d) VALUES (14,'n',8)")
        session.execute("INSERT INTO p VALUES (17,'q','ES',1)")
        session.execute("INSERT INTO p (c, d, id, v) VALUES ('PT',1,18,'r')")
        session.execute("INSERT INTO p PARTITION (c='PT', d) (id, v, d) VALUES (19,'s',2)")
        session.execute("INSERT INTO p PARTITION (c='PT', d=3) (v, id) VALUES ('t',20)")
        assert rows(session, "SELECT * FROM p ORDER BY id") == [
            (10, "j", "DE", 5),
            (11, "k", None, 6),
            (12, "l", None, 7),
            (13, "m", "FR", None),
            (14, "n", "DE", 8),
            (17, "q", "ES", 1),
            (18, "r", "PT", 1),
            (19, "s", "PT", 2),
            (20, "t", "PT", 3),
        ]

    def test_a_static_column_may_follow_a_dynamic_one(self, session: Session) -> None:
        session.execute("INSERT INTO p PARTITION (c, d=9) VALUES (15,'o','IT'), (16,'p',null) -- the end")
        assert rows(session, "SELECT * FROM p ORDER BY id") == [(15, "o", "IT", 9), (16, "p", None, 9)]

    def test_columns_left_out_of_the_list_are_null(self, session: Session) -> None:
        session.execute("INSERT INTO p PARTITION (c='a', d=1) (v) VALUES ('only')")
        assert rows(session, "SELECT * FROM p") == [(None, "only", "a", 1)]

    @pytest.mark.parametrize(
        ("sql", "condition", "sqlstate", "at"),
        [
            ("INSERT INTO p PARTITION (c='US', d='zz') VALUES (1,'a')", "CAST_INVALID_INPUT", "22018", "'zz'"),
            ("INSERT INTO p PARTITION (c='US', e=1) VALUES (1,'a')", "PARTITIONS_NOT_FOUND", "428FT", "e=1"),
            ("INSERT INTO p PARTITION (c='', d=3) VALUES (6,'e')", "INVALID_PARTITION_SPEC", "42601", "''"),
            (
                "INSERT INTO p PARTITION (d) VALUES (16,'p',1)",
                "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
                "21S01",
                "VALUES (16,'p',1)",
            ),
            (
                "INSERT INTO p PARTITION (c='US') VALUES (16,'p')",
                "INSERT_PARTITION_COLUMN_ARITY_MISMATCH",
                "21S01",
                "VALUES (16,'p')",
            ),
            (
                "INSERT OVERWRITE p PARTITION (c='US') IF NOT EXISTS VALUES (16,'p',1)",
                "INVALID_STATEMENT_OR_CLAUSE",
                "42601",
                "c='US'",
            ),
            ("INSERT INTO p PARTITION (d, c) VALUES (16,'p',1,'Z')", "INVALID_PARTITION_SPEC", "42601", "d, c"),
            (
                "INSERT INTO p PARTITION (c='US', d=1) VALUES (1)",
                "INSERT_PARTITION_COLUMN_ARITY_MISMATCH",
                "21S01",
                "VALUES (1)",
            ),
            (
                "INSERT INTO p PARTITION (c='US', d=1) VALUES (1,'a',9)",
                "INSERT_PARTITION_COLUMN_ARITY_MISMATCH",
                "21S01",
                "VALUES (1,'a',9)",
            ),
            (
                "INSERT INTO p VALUES (10,'j','DE','bad')",
                "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
                "KD000",
                "VALUES (10,'j','DE','bad')",
            ),
            (
                "INSERT INTO p PARTITION (c='US', d=1) IF NOT EXISTS VALUES (1,'a')",
                "INVALID_STATEMENT_OR_CLAUSE",
                "42601",
                "IF",
            ),
            (
                "INSERT INTO p (id, v, c) VALUES (1,'a','b')",
                "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS",
                "21S01",
                "p",
            ),
            ("INSERT INTO p (id, x, c, d) VALUES (1,'a','b',1)", "UNRESOLVED_COLUMN.WITH_SUGGESTION", "42703", "p"),
            (
                "INSERT INTO p PARTITION (c='a', d) (id, c, d) VALUES (1,'a',1)",
                "STATIC_PARTITION_COLUMN_IN_INSERT_COLUMN_LIST",
                "42713",
                "p",
            ),
            ("INSERT INTO nosuch VALUES (1)", "TABLE_OR_VIEW_NOT_FOUND", "42P01", "nosuch"),
        ],
    )
    def test_refused_before_any_work(
        self, session: Session, tmp_path: Path, sql: str, condition: str, sqlstate: str, at: str
    ) -> None:
        caught = error(session, sql)
        assert (caught.condition, caught.sqlstate) == (condition, sqlstate)
        assert pointed(sql, caught) == at
        assert rows(session, "SHOW PARTITIONS p") == []
        assert data_files(tmp_path) == set()

    def test_an_empty_static_insert_makes_its_partition(self, session: Session) -> None:
        session.execute("INSERT INTO p PARTITION (c='emp', d='0007') SELECT 1,'a' WHERE false")
        assert rows(session, "SHOW PARTITIONS p") == [("c=emp/d=7",)]
        session.execute("INSERT INTO p PARTITION (c, d) SELECT 1,'a','b',2 WHERE false")
        assert rows(session, "SHOW PARTITIONS p") == [("c=emp/d=7",)]

    def test_overwrite_replaces_what_it_writes_only(self, session: Session) -> None:
        session.execute("INSERT INTO p VALUES (1,'a','PT',1), (2,'b','PT',2), (3,'c','US',1)")
        session.execute("INSERT OVERWRITE p PARTITION (c='PT', d) VALUES (4,'d',2), (5,'e',3)")
        assert rows(session, "SELECT id, c, d FROM p ORDER BY id") == [
            (1, "PT", 1),
            (3, "US", 1),
            (4, "PT", 2),
            (5, "PT", 3),
        ]
        session.execute("INSERT OVERWRITE p PARTITION (c, d) SELECT 1,'a','PT',1 WHERE false")
        assert len(rows(session, "SHOW PARTITIONS p")) == 4
        session.execute("INSERT OVERWRITE p PARTITION (c='US', d=1) SELECT 7,'o' WHERE false")
        assert rows(session, "SELECT count(*) FROM p WHERE c = 'US'") == [(0,)]
        assert ("c=US/d=1",) in rows(session, "SHOW PARTITIONS p")

    def test_the_static_mode_wipes_the_prefix(self, session: Session) -> None:
        session.execute("INSERT INTO p VALUES (1,'a','PT',1), (2,'b','PT',2), (3,'c','US',1)")
        session.execute("SET spark.sql.sources.partitionOverwriteMode = static")
        session.execute("INSERT OVERWRITE p PARTITION (c='PT', d) VALUES (4,'d',100)")
        assert rows(session, "SHOW PARTITIONS p") == [("c=PT/d=100",), ("c=US/d=1",)]
        caught = error(session, "INSERT OVERWRITE p PARTITION (c, d=1) VALUES (4,'d','x')")
        assert isinstance(caught, NotSupportedError)
        session.execute("INSERT OVERWRITE p SELECT 1,'a','b',2 WHERE false")
        assert rows(session, "SHOW PARTITIONS p") == []

    def test_overwrite_if_not_exists(self, session: Session) -> None:
        session.execute("INSERT INTO p VALUES (1,'a','US',1)")
        assert session.execute("INSERT OVERWRITE p PARTITION (c='US', d=1) IF NOT EXISTS VALUES (99,'z')").rowcount == 0
        session.execute("INSERT OVERWRITE p PARTITION (c='new', d=1) IF NOT EXISTS VALUES (98,'z')")
        assert rows(session, "SELECT id FROM p ORDER BY id") == [(1,), (98,)]

    def test_an_insert_may_read_what_it_overwrites(self, session: Session) -> None:
        session.execute("INSERT INTO p VALUES (1,'a','US',1), (2,'b','US',2)")
        session.execute("INSERT OVERWRITE p PARTITION (c, d) SELECT id + 10, v, c, d FROM p")
        assert rows(session, "SELECT id, d FROM p ORDER BY id") == [(11, 1), (12, 2)]

    def test_too_many_dynamic_partitions_leave_nothing_behind(self, session: Session, tmp_path: Path) -> None:
        session.execute("SET rewriter.max_dynamic_partitions = 2")
        caught = error(session, "INSERT INTO p VALUES (1,'a','x',1), (2,'b','x',2), (3,'c','x',3)")
        assert caught.condition == "TOO_MANY_DYNAMIC_PARTITIONS"
        assert "more than 2 partitions" in caught.message
        assert rows(session, "SHOW PARTITIONS p") == []
        assert data_files(tmp_path) == set()

    def test_a_failing_query_leaves_nothing_behind(self, session: Session, tmp_path: Path) -> None:
        sql = "INSERT INTO p SELECT CAST(x AS INT), 'v', 'c', 1 FROM (VALUES ('1'), ('oops')) AS t(x)"
        assert isinstance(error(session, sql), DataError)
        assert rows(session, "SHOW PARTITIONS p") == []
        assert data_files(tmp_path) == set()
        session.execute("INSERT INTO p VALUES (1,'a','US',1)")
        assert rows(session, "SELECT id FROM p") == [(1,)]

    def test_parameters(self, session: Session) -> None:
        session.execute("INSERT INTO p PARTITION (c='x', d=1) VALUES (?, ?)", [7, "it's"])
        session.execute("INSERT INTO p PARTITION (c='x', d=1) VALUES (:id, :v)", {"id": 8, "v": None})
        assert rows(session, "SELECT id, v FROM p WHERE id >= ? ORDER BY id", (7,)) == [(7, "it's"), (8, None)]

    def test_statistics(self, session: Session) -> None:
        result = session.execute("INSERT INTO p VALUES (1,'a','x',1), (2,'b','y',2)")
        assert (result.rowcount, result.stats.written_partitions) == (2, 2)
        assert result.stats.written_bytes > 0
        read = session.execute("SELECT * FROM p")
        assert (read.stats.partitions, read.stats.files) == (2, 1)
        assert read.stats.bytes == result.stats.written_bytes


def test_unpartitioned_tables(session: Session) -> None:
    session.execute("CREATE TABLE u (a INT, b DECIMAL(10,2))")
    session.execute("INSERT INTO u VALUES (1, 1.5)")
    session.execute("INSERT INTO u SELECT a + 1, b FROM u")
    assert rows(session, "SELECT * FROM u ORDER BY a") == [(1, Decimal("1.50")), (2, Decimal("1.50"))]
    session.execute("INSERT OVERWRITE u SELECT a, b FROM u WHERE a = 2")
    assert rows(session, "SELECT a FROM u") == [(2,)]
    session.execute("INSERT OVERWRITE u SELECT a, b FROM u WHERE false")
    assert rows(session, "SELECT a FROM u") == []


class TestExternalTables:
    @pytest.fixture
    def folder(self, session: Session, tmp_path: Path) -> Path:
        folder = tmp_path / "outside"
        session.execute(f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (p STRING) LOCATION '{folder}'")
        return folder

    def test_inserts_land_in_plain_directories(self, session: Session, folder: Path) -> None:
        session.execute("INSERT INTO e VALUES (1, 'x'), (2, 'y/z')")
        session.execute("INSERT INTO e PARTITION (p='x') VALUES (3)")
        assert sorted(path.name for path in folder.iterdir()) == ["p=x", "p=y%2Fz"]
        assert len(data_files(folder / "p=x")) == 2
        assert rows(session, "SELECT * FROM e ORDER BY a") == [(1, "x"), (2, "y/z"), (3, "x")]

    def test_overwrite_replaces_the_files(self, session: Session, folder: Path) -> None:
        session.execute("INSERT INTO e VALUES (1, 'x'), (2, 'y')")
        session.execute("INSERT OVERWRITE e SELECT a + 10, p FROM e WHERE p = 'x'")
        assert rows(session, "SELECT * FROM e ORDER BY a") == [(2, "y"), (11, "x")]
        assert len(data_files(folder / "p=x")) == 1
        session.execute("SET rewriter.partition_overwrite_mode = static")
        assert isinstance(error(session, "INSERT OVERWRITE e VALUES (1, 'x')"), NotSupportedError)

    def test_a_failing_insert_leaves_nothing_behind(self, session: Session, folder: Path) -> None:
        session.execute("SET rewriter.max_dynamic_partitions = 1")
        error(session, "INSERT INTO e VALUES (1, 'x'), (2, 'y')")
        assert not folder.exists() or list(folder.iterdir()) == []

    def test_partitions_elsewhere_are_read_by_the_catalogs_values(self, session: Session, folder: Path) -> None:
        session.execute("INSERT INTO e VALUES (1, 'x')")
        session.execute("ALTER TABLE e SET TBLPROPERTIES ('rewriter.shared_location' = 'true')")
        session.execute(f"ALTER TABLE e ADD PARTITION (p='other') LOCATION '{folder}/p=x'")
        session.execute("ALTER TABLE e ADD PARTITION (p='empty')")
        (folder / "p=empty").mkdir()
        assert rows(session, "SELECT * FROM e ORDER BY p") == [(1, "other"), (1, "x")]

    def test_dropping_touches_no_file(self, session: Session, folder: Path) -> None:
        session.execute("INSERT INTO e VALUES (1, 'x'), (2, 'y')")
        session.execute("ALTER TABLE e DROP PARTITION (p='x')")
        assert rows(session, "SELECT a FROM e") == [(2,)]
        session.execute("DROP TABLE e")
        assert len(data_files(folder)) == 2

    def test_unpartitioned(self, session: Session, tmp_path: Path) -> None:
        session.execute("CREATE EXTERNAL TABLE u (a INT) LOCATION 'u'")
        session.execute("INSERT INTO u VALUES (1)")
        session.execute("INSERT INTO u VALUES (2)")
        assert rows(session, "SELECT a FROM u ORDER BY a") == [(1,), (2,)]
        session.execute("INSERT OVERWRITE u SELECT a FROM u WHERE a = 2")
        assert rows(session, "SELECT a FROM u") == [(2,)]
        assert len(data_files(tmp_path / "warehouse" / "u")) == 1


class TestFilesReadDirectly:
    def test_csv(self, session: Session, tmp_path: Path) -> None:
        (tmp_path / "f.csv").write_text("a,b\n1,x\n2,\n")
        assert rows(session, f"SELECT a, b FROM csv.`{tmp_path}/f.csv` ORDER BY a") == [("1", "x"), ("2", None)]
        assert rows(session, f"SELECT count(*) FROM csv.`{tmp_path}/*.csv`") == [(2,)]

    def test_parquet_of_a_managed_table(self, session: Session, tmp_path: Path) -> None:
        session.execute("CREATE TABLE u (a INT)")
        session.execute("INSERT INTO u VALUES (1), (2)")
        (file,) = data_files(tmp_path)
        assert rows(session, f"SELECT sum(a) FROM parquet.`{file}`") == [(3,)]

    def test_what_is_not_there(self, session: Session, tmp_path: Path) -> None:
        sql = f"SELECT * FROM parquet.`{tmp_path}/nope`"
        caught = error(session, sql)
        assert isinstance(caught, OperationalError)
        assert (caught.condition, caught.sqlstate) == ("PATH_NOT_FOUND", "42K03")
        assert pointed(sql, caught) == f"parquet.`{tmp_path}/nope`"

    def test_what_is_no_parquet(self, session: Session, tmp_path: Path) -> None:
        (tmp_path / "bad.parquet").write_text("this is no parquet file")
        sql = f"SELECT * FROM parquet.`{tmp_path}/bad.parquet`"
        caught = error(session, sql)
        assert isinstance(caught, OperationalError)
        assert pointed(sql, caught) == f"parquet.`{tmp_path}/bad.parquet`"

    def test_directories_of_partitions_are_refused(self, session: Session, tmp_path: Path) -> None:
        (tmp_path / "t" / "k=v").mkdir(parents=True)
        (tmp_path / "t" / "k=v" / "f.csv").write_text("a\n1\n")
        assert isinstance(error(session, f"SELECT * FROM csv.`{tmp_path}/t`"), NotSupportedError)


CUBE = """CREATE CUBE sales (shop STRING, n BIGINT MEASURE COUNT, amount BIGINT MEASURE SUM, best INT MEASURE MAX,
  sold TIMESTAMP TIME)"""


class TestCubes:
    @pytest.fixture(autouse=True)
    def fact(self, session: Session) -> None:
        columns = "shop STRING, n BIGINT, amount BIGINT, best INT"
        session.execute(f"CREATE TABLE hours ({columns}) PARTITIONED BY (dt STRING)")
        session.execute(f"CREATE TABLE days ({columns}) PARTITIONED BY (dt STRING)")
        session.execute(CUBE)
        session.execute(
            "CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY sold AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY sold AS (dt))"
        )
        values = ", ".join(
            f"('a', 1, {hour}, {hour}, '2013-01-0{day}-{hour:02d}')" for day in (1, 2) for hour in range(24)
        )
        session.execute(f"INSERT INTO hours VALUES {values}")
        session.execute(
            "INSERT INTO days SELECT shop, SUM(n), SUM(amount), MAX(best), SUBSTR(dt, 1, 10) "
            "FROM hours GROUP BY shop, SUBSTR(dt, 1, 10)"
        )

    QUERY = "SELECT shop, COUNT(*), SUM(amount), MAX(best) FROM sales WHERE sold >= '2013-01-01 06:00:00' GROUP BY shop"
    ANSWER = ("a", 42, 276 - 15 + 276, 23)

    def used(self, session: Session, sql: str) -> dict[str, int]:
        result = session.execute(sql)
        assert rows(session, sql) == [self.ANSWER]
        return {part.table: part.partitions for part in result.coverage.references[0].parts}

    def test_rollups_and_base_answer_alike(self, session: Session) -> None:
        assert self.used(session, self.QUERY) == {"days": 1, "hours": 18}
        session.execute("SET rewriter.periods = hourly")
        assert self.used(session, self.QUERY) == {"hours": 42}

    def test_an_insert_outdates_its_day(self, session: Session) -> None:
        session.execute("INSERT OVERWRITE hours PARTITION (dt='2013-01-02-05') VALUES ('a', 1, 5, 5)")
        assert self.used(session, self.QUERY) == {"hours": 42}
        lines = named_rows(session.execute("SHOW TIMELINES OF f"))
        assert {line["table"]: line["outdated"] for line in lines} == {"hours": 0, "days": 1}

    def test_strict_and_partial(self, session: Session) -> None:
        session.execute("ALTER TABLE days DROP PARTITION (dt='2013-01-02')")
        session.execute("ALTER TABLE hours DROP PARTITION (dt='2013-01-02-05')")
        with pytest.raises(MissingDataError) as caught:
            session.execute(self.QUERY)
        assert caught.value.missing == ("[2013-01-02T05, 2013-01-02T06)",)
        assert pointed(self.QUERY, caught.value) == "sales"
        with pytest.raises(MissingDataError):
            session.execute(f"EXPLAIN REWRITE {self.QUERY}")
        assert any("missing: [2013-01-02T05" in str(line) for (line,) in rows(session, f"EXPLAIN COVER {self.QUERY}"))
        session.execute("SET rewriter.partial_data = true")
        result = session.execute(self.QUERY)
        assert result.fetch() == [("a", 41, 276 - 15 + 276 - 5, 23)]
        assert "[2013-01-02T05, 2013-01-02T06)" in " ".join(result.warnings)
        assert not result.coverage.complete

    def test_an_insert_may_query_a_cube(self, session: Session) -> None:
        session.execute("CREATE TABLE report (shop STRING, n BIGINT)")
        session.execute(
            "INSERT INTO report SELECT shop, n FROM (SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop) AS q"
        )
        assert rows(session, "SELECT * FROM report") == [("a", 48)]

    def test_explain_scan_agrees_with_what_is_read(self, session: Session) -> None:
        result = session.execute(self.QUERY)
        lines = [str(line) for (line,) in rows(session, f"EXPLAIN SCAN {self.QUERY}")]
        assert f"total: 19 partitions, 2 files, {result.stats.bytes:,} bytes" in lines
        assert (result.stats.partitions, result.stats.files) == (19, 2)

    def test_a_partition_that_fits_no_layout_is_refused(self, session: Session, tmp_path: Path) -> None:
        before = data_files(tmp_path)
        caught = error(session, "INSERT INTO hours VALUES ('a', 1, 1, 1, '2013-01-01')")
        assert caught.condition == "INVALID_TIME_PARTITION"
        assert data_files(tmp_path) == before


class TestErrors:
    @pytest.mark.parametrize(
        ("sql", "at"),
        [
            ("SELECT nope FROM t", "nope"),
            ("SELECT a FROM tt", "tt"),
            ("SELECT a, FROM WHERE t", None),
            ("SELECT frobnicate(a) FROM t", None),
        ],
    )
    def test_bad_queries_are_placed(self, session: Session, sql: str, at: str | None) -> None:
        session.execute("CREATE TABLE t (a INT)")
        caught = error(session, sql)
        assert caught.position is not None
        assert at is None or pointed(sql, caught) == at

    def test_positions_are_those_of_the_typed_text(self, session: Session) -> None:
        session.execute("CREATE TABLE t (a INT)")
        sql = "SELECT ? + ? + ?, x FROM t WHERE a = ? AND nope = ?"
        with pytest.raises(Error) as caught:
            session.execute(sql, [1, 2, 3, 4, 5])
        assert pointed(sql, caught.value) in ("x", "nope")

    def test_placeholders_need_values(self, session: Session) -> None:
        for sql, parameters, at in [
            ("SELECT ?", None, "?"),
            ("SELECT :a, :b", {"a": 1}, ":b"),
            ("SELECT :a", [1], ":a"),
            ("SELECT ?", {"a": 1}, "?"),
            ("SELECT ?, :a", [1], ":a"),
            ("SELECT ?, ?", [1], "?"),
        ]:
            with pytest.raises(ProgrammingError) as caught:
                session.execute(sql, parameters)  # type: ignore[arg-type]
            assert pointed(sql, caught.value) == at
        with pytest.raises(ProgrammingError):
            session.execute("SELECT 1", [1])
        with pytest.raises(ProgrammingError):
            session.execute("SELECT ?", "x")

    def test_scripts_place_errors_in_the_whole_text(self, session: Session) -> None:
        text = "CREATE DATABASE d;\n-- a comment\nSHOW PARTITIONS nope; SHOW TABLES"
        with pytest.raises(AnalysisError) as caught:
            list(session.script(text))
        assert pointed(text, caught.value) == "nope"

    def test_one_statement_at_a_time(self, session: Session) -> None:
        with pytest.raises(ParseError):
            session.execute("SHOW TABLES; SHOW TABLES")

    def test_a_closed_session(self, tmp_path: Path) -> None:
        session = Session(tmp_path, "duckdb")
        session.close()
        session.close()
        with pytest.raises(InterfaceError):
            session.execute("SHOW TABLES")

    def test_wrong_engines(self, tmp_path: Path) -> None:
        with pytest.raises(InterfaceError):
            Session(tmp_path, "sqlite")
        with pytest.raises(InterfaceError):
            Session(tmp_path, "duckdb", master="local[2]")


def test_only_queries_and_inserts_start_an_engine(tmp_path: Path) -> None:
    class NoEngine:
        name = "none"

        def __getattr__(self, name: str) -> object:
            raise AssertionError(f"the engine was asked for {name}")

    with Session(tmp_path, NoEngine()) as session:  # type: ignore[arg-type]
        session.execute(
            "CREATE TABLE hours (shop STRING, n BIGINT, amount BIGINT, best INT) PARTITIONED BY (dt STRING)"
        )
        session.execute(CUBE)
        session.execute("CREATE FACT f OF CUBE sales STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY sold AS (dt))")
        session.execute("ALTER TABLE hours ADD PARTITION (dt='2013-01-01-00')")
        for sql in ("SHOW TABLES", "SHOW PARTITIONS hours", "SHOW COVERAGE OF f", "DESCRIBE EXTENDED hours", "SET"):
            assert session.execute(sql).fetch()
        query = "SELECT SUM(amount) FROM sales WHERE time_range_in(sold, '2013-01-01', '2013-01-01T01')"
        for kind in ("REWRITE", "COVER", "SCAN", ""):
            assert session.execute(f"EXPLAIN {kind} {query}").fetch()
        assert "FROM hours" in session.plan(query).sql
        session.execute("ALTER TABLE hours DROP PARTITION (dt='2013-01-01-00')")


def test_a_snapshot_sees_what_was_committed_when_the_statement_began(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as first, Session(tmp_path, "duckdb") as second:
        first.execute("CREATE TABLE u (a INT)")
        second.execute("INSERT INTO u VALUES (1)")
        result = first.execute("SELECT a FROM u")
        second.execute("INSERT OVERWRITE u VALUES (2)")
        assert result.fetch() == [(1,)]
        assert rows(first, "SELECT a FROM u") == [(2,)]


def test_writers_of_one_partition(tmp_path: Path) -> None:
    """INTO and INTO both succeed; of two OVERWRITEs one may lose, with a retryable error, and nothing is mixed."""
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
    conflicts: list[Error] = []

    def work(number: int) -> None:
        with Session(tmp_path, "duckdb") as mine:
            for step in range(3):
                mine.execute(f"INSERT INTO t PARTITION (p=1) VALUES ({number * 10 + step})")
                try:
                    mine.execute(f"INSERT OVERWRITE t PARTITION (p=2) VALUES ({number}), ({number})")
                except ConflictError as caught:
                    conflicts.append(caught)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(caught.retryable for caught in conflicts)
    with Session(tmp_path, "duckdb") as session:
        selected = rows(session, "SELECT a FROM t WHERE p = 1 ORDER BY a")
        assert selected == [(0,), (1,), (2,), (10,), (11,), (12,)]
        assert rows(session, "SELECT a FROM t WHERE p = 2") in ([(0,), (0,)], [(1,), (1,)])


def test_settings(session: Session) -> None:
    assert rows(session, "SET rewriter.periods = monthly, DAILY") == [("rewriter.periods", "DAILY,MONTHLY")]
    assert rows(session, "SET REWRITER.PERIODS") == [("REWRITER.PERIODS", "DAILY,MONTHLY")]
    session.execute("RESET rewriter.periods")
    assert rows(session, "SET rewriter.periods") == [("rewriter.periods", "")]
    for sql, condition in [
        ("SET rewriter.now = 'yesterday'", "INVALID_TIME_BOUND"),
        ("SET rewriter.nowhere = 1", "UNKNOWN_SETTING"),
        ("SET rewriter.max_dynamic_partitions = -1", "CAST_INVALID_INPUT"),
        ("SET spark.sql.ansi.enabled = false", "UNSUPPORTED"),
    ]:
        caught = error(session, sql)
        assert caught.condition == condition
        assert caught.hint


def test_the_warehouse_may_be_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Session("w", "duckdb") as session:
        session.execute("CREATE TABLE u (a INT)")
        session.execute("INSERT INTO u VALUES (1)")
        os.chdir("/")
        assert rows(session, "SELECT a FROM u") == [(1,)]


class TestPartitionFilters:
    @pytest.fixture(autouse=True)
    def _table(self, session: Session) -> None:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (ds STRING, hr INT)")
        for day in ("2020-01-01", "2020-01-02"):
            specs = " ".join(f"PARTITION (ds = '{day}', hr = {hour})" for hour in range(3))
            session.execute(f"ALTER TABLE t ADD {specs}")

    @pytest.mark.parametrize(("hour", "conflicts"), [(7, True), (0, False)])
    def test_a_drop_claims_what_it_searched_and_not_only_what_it_found(
        self, session: Session, hour: int, conflicts: bool
    ) -> None:
        catalog = session.catalog
        table = catalog.snapshot().table("t")
        with catalog.begin() as writer:
            session.execute("ALTER TABLE t DROP PARTITION (ds = '2020-01-01', hr > 0)")
            written = PartitionWrite(("2020-01-01", str(hour)))
            change = WritePartitions(table, writer.write_id(table), (written,), overwrite=False)
            if conflicts:
                with pytest.raises(ConflictError):
                    writer.commit([change])
            else:
                writer.commit([change])

    def test_a_filter_that_nests_too_deep_is_refused_in_a_statement(self, session: Session) -> None:
        sql = "SHOW PARTITIONS t WHERE " + "hr = 1 or (hr = 2 and (" * 500 + "hr = 3" + "))" * 500
        caught = error(session, sql)
        assert caught.condition == "FILTER_TOO_DEEP"
        assert pointed(sql, caught).startswith("hr = ")

    def test_an_insert_into_dropped_partitions_comes_back(self, session: Session) -> None:
        session.execute("ALTER TABLE t DROP PARTITION (hr IN (0, 1)), PARTITION (ds LIKE '%2')")
        assert rows(session, "SHOW PARTITIONS t WHERE hr >= 0") == [("ds=2020-01-01/hr=2",)]
        session.execute("INSERT INTO t PARTITION (ds = '2020-01-01', hr = 0) VALUES (1)")
        assert rows(session, "SHOW PARTITIONS t WHERE 2 > hr") == [("ds=2020-01-01/hr=0",)]


def test_a_write_never_takes_the_directory_of_another_catalog(tmp_path: Path) -> None:
    """Numbers of tables and writes count from 1 in each catalog: a new one over old files meets their names."""
    create = "CREATE TABLE t (a INT) PARTITIONED BY (p STRING)"
    with Session(tmp_path, "duckdb") as first:
        rows(first, create)
        rows(first, "INSERT INTO t VALUES (1, 'x')")
        kept = data_files(tmp_path)
    assert kept
    for file in (*tmp_path.glob("catalog.db*"), tmp_path / "warehouse.json"):
        file.unlink()
    moved = tmp_path / "t-1"
    moved.rename(tmp_path.parent / "kept")
    with Session(tmp_path, "duckdb") as second:
        rows(second, create)
        (tmp_path.parent / "kept").rename(moved)
        # The engine fails, and what it has written is removed: not what the other catalog has written.
        refused = error(second, "INSERT INTO t SELECT CAST(b AS INT), 'x' FROM VALUES ('q') AS v(b)")
        assert refused.condition != "WRITE_DIRECTORY_EXISTS"
        assert rows(second, "SELECT * FROM t") == []
    assert data_files(tmp_path) == kept


@pytest.mark.parametrize("failure", [CommitUnknownError("nobody knows"), KeyboardInterrupt()])
def test_files_of_an_external_table_stay_where_the_commit_may_have_come_to_pass(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    rows(session, f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (p STRING) LOCATION '{tmp_path / 'e'}'")
    commit = Transaction.commit

    def lost(self: Transaction, *given: Any, **named: Any) -> int:
        commit(self, *given, **named)
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "commit", lost)
        with pytest.raises(type(failure)):
            session.execute("INSERT INTO e VALUES (1, 'x')")
    assert rows(session, "SELECT * FROM e") == [(1, "x")]


@pytest.mark.parametrize(
    "name", ["cache_bytes", "log_retention_hours", "least_retention_hours", "max_dynamic_partitions"]
)
def test_a_setting_that_counts_takes_what_fits_a_clock(tmp_path: Path, name: str) -> None:
    with Session(tmp_path, "duckdb") as session:
        for wrong in ("-1", "1.5", "many", "9" * 19, "9" * 400, "9" * 5000):
            with pytest.raises(Error) as caught:
                session.execute(f"SET rewriter.{name} = {wrong}")
            assert caught.value.hint is not None
            assert caught.value.position is not None
            with pytest.raises(DataError):
                session.settings.set(f"rewriter.{name}", wrong)
        session.execute(f"SET rewriter.{name} = {'9' * 18}")
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (d INT)")
        session.execute("INSERT INTO t VALUES (1, 2)")
        session.execute(f"VACUUM TABLE t RETAIN {'9' * 18} HOURS")
        session.execute("RESET")
