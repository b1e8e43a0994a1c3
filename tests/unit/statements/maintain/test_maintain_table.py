"""MAINTAIN TABLE and the property ``rewriter.retain``: which partitions of a plain table leave."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.cli import main
from rewriter.errors import Error
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb", catalog=catalog_url) as opened:
        opened.execute("SET rewriter.now = '2024-03-10 05:00'")
        yield opened


def rows(session: Session, statement: str) -> list[tuple[object, ...]]:
    return list(session.execute(statement).rows())


@pytest.mark.parametrize(
    ("columns", "length", "values", "left", "period"),
    [
        ("d DATE", "9 days", ["DATE '2024-02-28'", "DATE '2024-02-29'", "DATE '2024-03-01'"], 2, "DAILY"),
        ("d DATE", "10 days", ["DATE '2024-02-28'", "DATE '2024-02-29'"], 1, "DAILY"),
        ("h STRING", "5 hours", ["'2024-03-09-22'", "'2024-03-09-23'", "'2024-03-10-00'"], 2, "HOURLY"),
        ("m STRING", "1 month", ["'2024-01'", "'2024-02'"], 1, "MONTHLY"),
        ("ds INT", "30 days by ds", ["20240208", "20240209"], 1, "DAILY"),
        ("k INT, d STRING", "1 day by d", ["1, '2024-03-08'", "2, '2024-03-09'", "NULL, '2023-01-01'"], 2, "DAILY"),
        ("year INT, month INT", "2 months by year, month", ["2023, 12", "2024, 1", "2024, 2"], 1, "MONTHLY"),
        ("d STRING", "1 day", ["'2024-01-01'", "'2024-01-02'", "NULL", "'soon'", "'2024-13-01'"], 2, "DAILY"),
    ],
)  # fmt: skip
def test_old_partitions_leave(
    session: Session, columns: str, length: str, values: list[str], left: int, period: str
) -> None:
    session.execute(f"CREATE TABLE t (n INT) PARTITIONED BY ({columns}) TBLPROPERTIES ('rewriter.retain' = '{length}')")
    session.execute(f"INSERT INTO t VALUES {', '.join(f'({n}, {value})' for n, value in enumerate(values))}")
    before = rows(session, "SHOW PARTITIONS t")
    dry = rows(session, "MAINTAIN TABLE t DRY RUN")
    assert (dry[0][0:3], dry[0][5], dry[0][7]) == (("retain", "t", period), left, "to drop")
    assert rows(session, "SHOW PARTITIONS t") == before
    assert rows(session, "MAINTAIN TABLE t")[0][7] == "dropped"
    assert len(rows(session, "SHOW PARTITIONS t")) == len(before) - left
    assert [row for row in rows(session, "MAINTAIN TABLE t") if row[7] == "dropped"] == []


def test_what_names_no_time_stays_and_is_named(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (d STRING) TBLPROPERTIES ('RETAIN' = 'x')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('Rewriter.Retain' = '1  DAY')")
    assert rows(session, "MAINTAIN TABLE t") == []
    session.execute("INSERT INTO t VALUES (1, '2024-01-01'), (2, 'soon'), (3, NULL)")
    dropped, kept = rows(session, "MAINTAIN TABLE t")
    assert dropped[:6] == ("retain", "t", "DAILY", "2024-01-01", "2024-01-02", 1)
    assert kept[:6] == ("retain", "t", "DAILY", None, None, 2)
    assert kept[7] == "kept: d names no DAILY period"
    session.execute("ALTER TABLE t UNSET TBLPROPERTIES ('rewriter.retain')")
    with pytest.raises(Error, match="The table t has no retention"):
        session.execute("MAINTAIN TABLE t")


def test_partitions_of_several_periods_need_a_word(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (d STRING) TBLPROPERTIES ('rewriter.retain' = '1 day')")
    session.execute("INSERT INTO t VALUES (1, '1999'), (2, '2024-01-01'), (3, '2024-01-02')")
    with pytest.raises(Error, match="d = 1999 reads as d = 'yyyy', others as d = 'yyyy-MM-dd'"):
        session.execute("MAINTAIN TABLE t")
    assert len(rows(session, "SHOW PARTITIONS t")) == 3
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('cube.storagetable.partition.update.period' = 'DAILY')")
    assert rows(session, "MAINTAIN TABLE t")[0][2:6] == ("DAILY", "2024-01-01", "2024-01-03", 2)
    assert rows(session, "SHOW PARTITIONS t") == [("d=1999",)]
    assert [row[7] for row in rows(session, "MAINTAIN TABLE t")] == ["kept: their columns name no time"]


@pytest.mark.parametrize(
    ("columns", "values", "reason"),
    [
        ("c INT, dt DATE", ["20111201, DATE '2024-03-09'", "20111202, NULL"], "it is partitioned by c, dt"),
        ("r STRING, d STRING", ["'2019', '2024-03-09'", "'2018', 'latest'"], "it is partitioned by r, d"),
        ("year INT, month INT, day INT", ["2023, 2, 30", "2024, 3, 9"], "it is partitioned by year, month, day"),
        ("seen DATE, happened DATE", ["DATE '2024-03-09', DATE '2023-01-01'"], "it is partitioned by seen, happened"),
        ("customer BIGINT", ["20200101", "20200102"], "customer has digits alone, which may be no time"),
        ("zip STRING", ["'190101'", "'100112'"], "zip has digits alone, which may be no time"),
        ("d STRING", ["'2020-01-01'", "'20200103'", "'2020-01'"], "its partitions read as|reads as"),
    ],
)
def test_what_may_be_no_time_drops_nothing(session: Session, columns: str, values: list[str], reason: str) -> None:
    session.execute(f"CREATE TABLE t (n INT) PARTITIONED BY ({columns}) TBLPROPERTIES ('rewriter.retain' = '5 days')")
    session.execute(f"INSERT INTO t VALUES {', '.join(f'(1, {value})' for value in values)}")
    for statement in ("MAINTAIN TABLE t DRY RUN", "MAINTAIN TABLE t"):
        with pytest.raises(Error, match=reason) as caught:
            session.execute(statement)
        assert caught.value.condition == "INVALID_RETENTION"
    assert len(rows(session, "SHOW PARTITIONS t")) == len(values)


def test_of_several_times_the_named_one_counts(session: Session) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (seen DATE, happened DATE)")
    session.execute("INSERT INTO t VALUES (1, DATE '2024-03-09', DATE '2023-01-01')")
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.retain' = '30 days by seen')")
    assert rows(session, "MAINTAIN TABLE t") == []
    session.execute("ALTER TABLE t SET TBLPROPERTIES ('rewriter.retain' = '30 days by happened')")
    assert rows(session, "MAINTAIN TABLE t")[0][7] == "dropped"


@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        ("t", "soon", "'soon' is not a length of time."),
        ("t", "90 days by x", "t has no partition column x."),
        ("t", "90 days by d, d", "'d, d' names a column twice."),
        ("plain", "90 days", "plain has no partitions."),
        ("h", "90 days", "h is a table of the fact f."),
    ],
)
def test_a_retention_that_means_nothing_is_refused(session: Session, table: str, value: str, message: str) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (d DATE)")
    session.execute("CREATE TABLE plain (n INT)")
    session.execute("CREATE CUBE v (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    session.execute("CREATE TABLE h (n BIGINT) PARTITIONED BY (d DATE)")
    session.execute("CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (d))")
    with pytest.raises(Error) as caught:
        session.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ('rewriter.retain' = '{value}')")
    assert (caught.value.condition, caught.value.message) == ("INVALID_RETENTION", message)
    assert caught.value.hint


def test_a_table_with_a_retention_cannot_become_a_facts(session: Session) -> None:
    session.execute("CREATE TABLE h (n BIGINT) PARTITIONED BY (d DATE) TBLPROPERTIES ('rewriter.retain' = '9 days')")
    session.execute("CREATE CUBE v (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    with pytest.raises(Error, match="h has a retention of its own") as caught:
        session.execute("CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (d))")
    assert "RETAIN 9 DAYS" in str(caught.value.hint)


def test_the_command_maintains_tables_too(
    session: Session, tmp_path: Path, catalog_url: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    session.execute("CREATE TABLE t (n INT) PARTITIONED BY (d DATE) TBLPROPERTIES ('rewriter.retain' = '9 days')")
    session.execute("INSERT INTO t VALUES (1, DATE '2020-01-01')")
    named = [
        "-w",
        str(tmp_path / "w"),
        "--engine",
        "duckdb",
        *([] if catalog_url is None else ["--catalog", catalog_url]),
    ]
    assert main.main(["maintain", "--dry-run", *named]) == 0
    assert "retain t DAILY [2020-01-01, 2020-01-02): 1 partition" in capsys.readouterr().out
    assert main.main(["maintain", *named]) == 0
    assert rows(session, "SHOW PARTITIONS t") == []
