"""A whole ETL script of Hive and Spark runs unchanged, with the same results on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from rewriter.grammar.lexer import split_statements
from rewriter.session import Session

#: Deliveries of three days. One line of the first arrives late, with the second.
DELIVERED = {
    "2024-01-30": 'id,ts,country,amount,note\n1,2024-01-30 00:15:00,us,10.50,"a,b"\n2,2024-01-30 23:59:59,DE,1.25,\n',
    "2024-01-31": "id,ts,country,amount,note\n3,2024-01-31 05:00:00,US,2.00,x\n4,2024-01-30 23:10:00,DE,7.75,late\n",
    "2024-02-01": "id,ts,country,amount,note\n5,2024-02-01 12:00:00,,100.00,y\n",
}

STAGING = r"""
/* nightly load of sales;
   owner: dwh */
SET hive.exec.dynamic.partition=true;
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.exec.max.dynamic.partitions.pernode=1000;
SET mapreduce.job.queuename=etl;
CREATE DATABASE IF NOT EXISTS stage COMMENT 'landing; zone';
DROP TABLE IF EXISTS stage.sales_raw;  -- forgets; files stay
CREATE EXTERNAL TABLE IF NOT EXISTS stage.sales_raw (
  `id` int COMMENT 'the ''id''', -- odd; comment with 'quote
  ts TIMESTAMP,
  country string,
  amount decimal(10,2) /* money; */,
  note string)
COMMENT "raw sales"
PARTITIONED BY (`dt` string)
STORED AS CSV
LOCATION '<dir>'
TBLPROPERTIES ('skip.header.line.count'='1', 'transient_lastDdlTime'='1700000000');
MSCK REPAIR TABLE stage.sales_raw;
REFRESH TABLE stage.sales_raw;

CREATE TABLE IF NOT EXISTS sales (id INT, ts TIMESTAMP, amount DECIMAL(10,2), note VARCHAR(20))
PARTITIONED BY (dt DATE, country CHAR(2)) STORED AS PARQUET TBLPROPERTIES ('parquet.compression'='SNAPPY');
ALTER TABLE sales CHANGE COLUMN note note VARCHAR(20);
WITH clean AS (
  SELECT r.*, row_number() OVER (PARTITION BY id ORDER BY dt DESC) AS rn FROM stage.sales_raw r WHERE id IS NOT NULL
)
INSERT OVERWRITE TABLE sales PARTITION (dt, country)
SELECT id, ts, amount, nvl(note, 'none'), to_date(ts), upper(country) FROM clean WHERE rn = 1;
INSERT OVERWRITE TABLE sales PARTITION (dt='2024-01-30', country='US') IF NOT EXISTS
SELECT 99, TIMESTAMP '2024-01-30 00:00:00', 0.00, 'never';

CREATE TABLE by_country (n BIGINT, total DECIMAL(20,2)) PARTITIONED BY (country STRING) STORED AS PARQUET;
CREATE TABLE best LIKE sales;
FROM sales s
INSERT OVERWRITE TABLE by_country PARTITION (country) SELECT count(*), sum(amount), country GROUP BY country
INSERT OVERWRITE TABLE best PARTITION (dt, country) SELECT id, ts, amount, note, dt, country WHERE amount >= 10;
CREATE OR REPLACE VIEW last_days AS SELECT dt, country, sum(amount) AS total FROM sales WHERE dt >= '2024-01-30'
GROUP BY dt, country;
ANALYZE TABLE sales PARTITION (dt, country) COMPUTE STATISTICS;
ALTER TABLE best PARTITION (dt='2024-01-30', country='US') RENAME TO PARTITION (dt='2024-01-29', country='US');
ALTER TABLE best DROP IF EXISTS PARTITION (dt='1999-01-01');
ALTER TABLE stage.sales_raw DROP PARTITION (dt < '2024-01-31') PURGE;
"""

ROLLUPS = """
SET rewriter.now = '2024-03-01T00:00:00Z';
CREATE TABLE hourly (country STRING, amount DECIMAL(20,2), n BIGINT) PARTITIONED BY (h STRING) STORED AS PARQUET;
CREATE TABLE daily LIKE hourly; DROP TABLE daily;
CREATE TABLE daily (country STRING, amount DECIMAL(20,2), n BIGINT) PARTITIONED BY (d STRING) STORED AS PARQUET;
CREATE TABLE monthly (country STRING, amount DECIMAL(20,2), n BIGINT) PARTITIONED BY (m STRING) STORED AS PARQUET;
CREATE CUBE turnover (country STRING, amount DECIMAL(20,2) MEASURE SUM, n BIGINT MEASURE COUNT, ts TIMESTAMP TIME);
CREATE FACT turnover_all OF CUBE turnover STORED IN (
  TABLE hourly PERIOD HOURLY PARTITIONED BY ts AS (h = 'yyyy-MM-dd-HH'),
  TABLE daily PERIOD DAILY PARTITIONED BY ts AS (d = 'yyyy-MM-dd'),
  TABLE monthly PERIOD MONTHLY PARTITIONED BY ts AS (m = 'yyyy-MM'));
INSERT OVERWRITE TABLE hourly PARTITION (h)
SELECT trim(country), sum(amount), count(*), date_format(ts, 'yyyy-MM-dd-HH') FROM sales
GROUP BY trim(country), date_format(ts, 'yyyy-MM-dd-HH');
"""


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    for day, text in DELIVERED.items():
        folder = tmp_path / "in" / f"dt={day}"
        folder.mkdir(parents=True)
        (folder / "part.csv").write_text(text)
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def run(session: Session, script: str) -> None:
    for span in split_statements(script):
        session.execute(script[span.start : span.end]).fetch()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def test_a_whole_script(session: Session, tmp_path: Path) -> None:
    run(session, STAGING.replace("<dir>", str(tmp_path / "in")))
    assert rows(session, "SELECT id, amount, note, CAST(dt AS STRING), country FROM sales ORDER BY id") == [
        (1, Decimal("10.50"), "a,b", "2024-01-30", "US"),
        (2, Decimal("1.25"), "none", "2024-01-30", "DE"),
        (3, Decimal("2.00"), "x", "2024-01-31", "US"),
        (4, Decimal("7.75"), "late", "2024-01-30", "DE"),
        (5, Decimal("100.00"), "y", "2024-02-01", None),
    ]
    assert [row[0] for row in rows(session, "SHOW PARTITIONS sales WHERE dt >= '2024-01-31'")] == [
        "dt=2024-01-31/country=US",
        "dt=2024-02-01/country=__HIVE_DEFAULT_PARTITION__",
    ]
    assert rows(session, "SELECT country, n, total FROM by_country ORDER BY country") == [
        (None, 1, Decimal("100.00")),
        ("DE", 2, Decimal("9.00")),
        ("US", 2, Decimal("12.50")),
    ]
    assert rows(session, "SELECT country, total FROM last_days WHERE dt = '2024-01-30' ORDER BY country") == [
        ("DE", Decimal("9.00")),
        ("US", Decimal("10.50")),
    ]
    assert rows(session, "SELECT id, CAST(dt AS STRING) FROM best ORDER BY id") == [
        (1, "2024-01-29"),
        (5, "2024-02-01"),
    ]
    assert rows(session, "SELECT dt, count(*) FROM stage.sales_raw GROUP BY dt ORDER BY dt") == [
        ("2024-01-31", 2),
        ("2024-02-01", 1),
    ]
    assert (tmp_path / "in" / "dt=2024-01-30" / "part.csv").exists()


def test_rollups_of_a_script(session: Session, tmp_path: Path) -> None:
    run(session, STAGING.replace("<dir>", str(tmp_path / "in")) + ROLLUPS)
    # As a scheduler does for hours without sales.
    hours = " ".join(f"PARTITION (h='2024-01-{hour // 24 + 1:02}-{hour % 24:02}')" for hour in range(31 * 24))
    session.execute(f"ALTER TABLE hourly ADD IF NOT EXISTS {hours}")
    plain = "SELECT country, sum(amount), count(*) FROM sales WHERE dt < '2024-02-01' GROUP BY country ORDER BY country"
    cube = (
        "SELECT country, SUM(amount), COUNT(*) FROM turnover WHERE ts >= '2024-01-30' AND ts < '2024-02-01' "
        "GROUP BY country ORDER BY country"
    )
    expected = [("DE", Decimal("9.00"), 2), ("US", Decimal("12.50"), 2)]
    assert rows(session, plain) == rows(session, cube) == expected
    for period, table, column, layout in (
        ("DAILY", "daily", "d", "yyyy-MM-dd"),
        ("MONTHLY", "monthly", "m", "yyyy-MM"),
    ):
        session.execute(
            f"INSERT OVERWRITE TABLE {table} PARTITION ({column}) SELECT country, SUM(amount), COUNT(*), "
            f"date_format(ts, '{layout}') FROM turnover WHERE ts >= '2024-01-01' AND ts < '2024-02-01' "
            f"GROUP BY country, date_format(ts, '{layout}')"
        )
        assert rows(session, cube) == expected, period
    # Late data of a day that was rolled up: every result includes it.
    session.execute("INSERT INTO hourly PARTITION (h='2024-01-30-07') VALUES ('US', 0.25, 1)")
    assert rows(session, cube) == [("DE", Decimal("9.00"), 2), ("US", Decimal("12.75"), 3)]
