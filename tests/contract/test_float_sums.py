"""Sums of FLOAT are DOUBLE in rollups, on every engine: FLOAT cannot represent 16777219."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import AnalysisError
from rewriter.session import Session

CUBE = (
    "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, m FLOAT MEASURE SUM COUNTED BY n NOT NULL, "
    "o FLOAT MEASURE SUM NOT NULL, worst FLOAT MEASURE MAX, t TIMESTAMP TIME)"
)
DAY = "t >= '2013-01-01' AND t < '2013-01-02'"
#: The first day, and an hour of the next: a rollup and a base partition.
MIXED = "t >= '2013-01-01' AND t < '2013-01-02 01:00'"


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        opened.execute(CUBE)
        yield opened


def table(session: Session, name: str, sums: str) -> None:
    session.execute(
        f"CREATE TABLE {name} (k STRING, n BIGINT, m {sums}, o {sums}, worst FLOAT) PARTITIONED BY (dt STRING)"
    )


def make(session: Session) -> None:
    """Writes hours of FLOAT and days of DOUBLE: one complete day, and the first hour of the next."""
    session.execute(CUBE)
    table(session, "hours", "FLOAT")
    table(session, "days", "DOUBLE")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    empty = " ".join(f"PARTITION (dt = '2013-01-01-{hour:02}')" for hour in range(2, 24))
    session.execute(f"ALTER TABLE hours ADD {empty}")
    rows = [
        f"('a', 1, {m}F, 3e38F, 0.1F, '2013-01-{dt}')" for m, dt in ((16777216, "01-00"), (3, "01-01"), (0.5, "02-00"))
    ]
    session.execute(f"INSERT INTO hours VALUES {', '.join(rows)}")
    session.execute("REFRESH FACT f")


def test_rollups_keep_what_the_base_says(session: Session) -> None:
    make(session)
    for where, value, count, partitions in ((DAY, 16777219.0, 2, 1), (MIXED, 16777219.5, 3, 2)):
        result = session.execute(
            "SELECT SUM(m), SUM(-m), SUM(CASE WHEN k = 'a' THEN m END), SUM(CASE WHEN k = 'a' THEN m ELSE 0 END), "
            f"AVG(m) FROM c WHERE {where}"
        )
        assert result.stats.partitions == partitions
        assert {column.type for column in result.columns or ()} == {"double"}
        assert result.fetch() == [(value, -value, value, value, value / count)]
    assert session.execute("SELECT m FROM days").fetch() == [(16777219.0,)]


def test_the_check_tells_the_last_digit(session: Session) -> None:
    make(session)
    checked = session.execute("CHECK FACT f").fetch()
    assert [row[-2] for row in checked] == ["agrees"]
    session.execute(
        "INSERT OVERWRITE days PARTITION (dt = '2013-01-01') "
        "SELECT k, SUM(n), 16777220F, SUM(o), MAX(worst) FROM hours WHERE dt < '2013-01-02' GROUP BY k"
    )
    checked = session.execute("CHECK FACT f").fetch()
    assert [(row[5], row[6], row[7]) for row in checked if row[-2] == "value differs"] == [
        ("m", "16777219.0", "16777220.0")
    ]


def test_what_rounds_each_row_reads_base_rows(session: Session) -> None:
    """A product or a sum of FLOAT is FLOAT in a row and overflows there. Over sums of DOUBLE it would not overflow."""
    make(session)
    for query, value in (
        (f"SELECT SUM(m + o) FROM c WHERE {DAY}", None),
        (f"SELECT SUM(o * 2F) FROM c WHERE {DAY}", float("inf")),
        (f"SELECT SUM(2F * m) FROM c WHERE {DAY}", 33554438.0),
        (f"SELECT MAX(worst) FROM c WHERE {DAY}", None),
    ):
        result = session.execute(query)
        assert result.stats.partitions == (1 if "MAX" in query else 24), query
        ((total,),) = result.fetch()
        assert value is None or total == value
    assert session.execute(f"SELECT MIN(m) FROM c WHERE {DAY}").fetch() == [(3.0,)]


def refused(session: Session, statement: str, *words: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        session.execute(statement)
    assert caught.value.condition == "INVALID_FACT"
    assert caught.value.position is not None
    assert all(word in f"{caught.value.message} {caught.value.hint}" for word in words), caught.value


def test_a_rollup_of_float_is_refused(bare: Session) -> None:
    for name in ("h", "d"):
        table(bare, name, "FLOAT")
    both = "TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt), TABLE d PERIOD DAILY PARTITIONED BY t AS (dt)"
    refused(bare, f"CREATE FACT f OF CUBE c STORED IN ({both})", "m is FLOAT in d", "DAILY", "DOUBLE")
    shared = "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt))"
    refused(bare, shared, "m is FLOAT in h", "DAILY", "DOUBLE")
    # A fact without these measures is not affected, nor is a base.
    bare.execute(f"CREATE FACT f OF CUBE c (k, n, worst) STORED IN ({both})")
    bare.execute("DROP FACT f")
    bare.execute("CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt))")
    coarse = "CREATE FACT g OF CUBE c STORED IN (TABLE d PERIOD DAILY PARTITIONED BY t AS (dt))"
    refused(bare, coarse, "m is FLOAT in d", "DAILY", "DOUBLE")


def test_copies_of_the_base_have_one_type(bare: Session) -> None:
    table(bare, "h", "FLOAT")
    table(bare, "w", "DOUBLE")
    of = "STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt), TABLE w PERIOD HOURLY PARTITIONED BY t AS (dt))"
    refused(bare, f"CREATE FACT f OF CUBE c {of}", "FLOAT in h", "DOUBLE in w", "both hold the base")
    bare.execute("CREATE FACT f OF CUBE c STORED IN (TABLE w PERIODS (HOURLY, DAILY) PARTITIONED BY t AS (dt))")


def older(session: Session) -> None:
    """Makes a fact of an earlier release, whose rollup has sums as FLOAT."""
    table(session, "h", "FLOAT")
    table(session, "d", "DOUBLE")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE d PERIOD DAILY PARTITIONED BY t AS (dt) TRUSTED)"
    )
    with session.catalog.database.write() as connection:
        query = "SELECT definition FROM objects WHERE kind = 'table' AND name_key = 'd'"
        ((text,),) = connection.exec_driver_sql(query).fetchall()
        definition = json.loads(text)
        definition["columns"] = [
            [column[0], column[1].replace("double", "float"), column[2]] for column in definition["columns"]
        ]
        change = "UPDATE objects SET definition = ? WHERE kind = 'table' AND name_key = 'd'"
        connection.exec_driver_sql(change, (json.dumps(definition, separators=(",", ":")),))


def test_a_rollup_of_float_that_is_there_serves_no_sum(bare: Session, tmp_path: Path) -> None:
    older(bare)
    bare.close()
    with Session(tmp_path / "warehouse", "duckdb") as session:
        rows = ", ".join(f"('a', 1, {m}F, 0F, 1F, '2013-01-01-{h:02}')" for h, m in enumerate([16777216, 3, *[0] * 22]))
        session.execute(f"INSERT INTO h VALUES {rows}")
        statement = "INSERT INTO d PARTITION (dt = '2013-01-01') SELECT k, SUM(n), 16777220F, 0F, MAX(worst) FROM h"
        session.execute(f"{statement} WHERE dt < '2013-01-02' GROUP BY k")
        result = session.execute(f"SELECT SUM(m) FROM c WHERE {DAY}")
        assert (result.stats.partitions, result.fetch()) == (24, [(16777219.0,)])
        result = session.execute(f"SELECT COUNT(*), MAX(worst) FROM c WHERE {DAY}")
        assert (result.stats.partitions, result.fetch()) == (1, [(24, 1.0)])
        told = "\n".join(
            str(row[0]) for row in session.execute(f"EXPLAIN COVER SELECT SUM(m) FROM c WHERE {DAY}").rows()
        )
        assert "f.d DAILY: holds sums of FLOAT as FLOAT, which rounds them" in told
        session.execute("ALTER FACT f TABLE d UNSET TRUSTED")
        session.execute("ALTER TABLE d DROP PARTITION (dt = '2013-01-01')")
        ((*_, status, _),) = session.execute("REFRESH FACT f").fetch()
        assert status == "skipped: m is FLOAT in this table, which would round its sums"
