"""CHECK FACT and REFRESH FACT have the same results on every engine, over random facts with planted faults."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.session import Session

COUNTRIES = ("us", "eu")
ROWS = "carrier STRING, origin STRING, flights BIGINT, delay DOUBLE, miles DECIMAL(10,2), worst INT, first STRING"
ROLLUP = "carrier, origin, SUM(flights), SUM(delay), SUM(miles), MAX(worst), MIN(first)"


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def literal(value: object) -> str:
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    return f"{value:.9e}" if isinstance(value, float) else f"'{value}'"


def load(session: Session, rng: random.Random) -> None:
    """Writes two days of hours by country. Some hours are empty, none is missing."""
    session.execute(
        "CREATE CUBE cube (country STRING, carrier STRING, origin STRING, flights BIGINT MEASURE COUNT, "
        "delay DOUBLE MEASURE SUM, miles DECIMAL(10,2) MEASURE SUM, worst INT MEASURE MAX, first STRING MEASURE MIN, "
        "departed TIMESTAMP TIME)"
    )
    for table in ("hours", "days"):
        session.execute(f"CREATE TABLE {table} ({ROWS}) PARTITIONED BY (dt STRING, country STRING)")
    session.execute(f"CREATE TABLE coarse (country STRING, {ROWS}) PARTITIONED BY (dt STRING)")
    session.execute(
        "CREATE FACT f OF CUBE cube STORED IN ("
        "TABLE hours PERIOD HOURLY PARTITIONED BY departed AS (dt) COMPLETE WITH country IN ('us', 'eu'), "
        "TABLE days PERIOD DAILY PARTITIONED BY departed AS (dt) COMPLETE WITH country IN ('us', 'eu'), "
        "TABLE coarse PERIODS (DAILY, MONTHLY) PARTITIONED BY departed AS (dt))"
    )
    rows, empty = [], []
    for day in ("2013-01-01", "2013-01-02"):
        for hour in range(24):
            for country in COUNTRIES:
                dt = f"{day}-{hour:02d}"
                count = rng.randrange(3)
                if not count or (day == "2013-01-02" and country == "eu"):
                    empty.append(f"PARTITION (dt = '{dt}', country = '{country}')")
                    continue
                for _ in range(count):
                    row = (
                        rng.choice(["UA", "AA", None]), rng.choice(["EWR", "it''s", None]), rng.randrange(1, 4),
                        rng.choice([None, rng.randrange(-999, 999) / 7]), rng.choice([None, rng.randrange(-999, 999)]),
                        rng.choice([None, rng.randrange(99)]), rng.choice([None, "a", "b"]),
                    )  # fmt: skip
                    rows.append(f"({', '.join(map(literal, row))}, '{dt}', '{country}')")
    session.execute(f"INSERT INTO hours VALUES {', '.join(rows)}")
    session.execute(f"ALTER TABLE hours ADD {' '.join(empty)}")


def findings(session: Session, statement: str) -> list[tuple[object, ...]]:
    """Returns (checked, period, row, measure, finding) for all rows."""
    return [(row[0], row[1], row[4], row[5], row[8]) for row in session.execute(statement).rows()]


def test_refreshed_rollups_agree_and_planted_faults_are_found(session: Session) -> None:
    load(session, random.Random(7))
    refreshed = session.execute("REFRESH FACT f").fetch()
    assert [(row[0], row[1], row[4], row[5], row[6]) for row in refreshed] == [
        ("days", "DAILY", "missing", "refreshed", 2),
        ("coarse", "DAILY", "missing", "refreshed", 2),
    ]
    assert "dt=2013-01-02/country=eu" in {row[0] for row in session.execute("SHOW PARTITIONS days").rows()}
    agree = [
        ("days", "DAILY", None, None, "agrees"),
        ("coarse", "MONTHLY", None, None, "nothing compared"),
        ("coarse", "DAILY", None, None, "agrees"),
    ]
    assert findings(session, "CHECK FACT f") == agree
    query = "SELECT country, carrier, SUM(flights), SUM(delay), MAX(worst) FROM f WHERE departed < '2013-01-03' "
    days = session.execute(query + "GROUP BY country, carrier ORDER BY country, carrier").fetch()
    session.execute("SET rewriter.periods = HOURLY")
    hours = session.execute(query + "GROUP BY country, carrier ORDER BY country, carrier").fetch()
    assert [row[:3] for row in days] == [row[:3] for row in hours]
    assert [row[3] for row in days] == pytest.approx([row[3] for row in hours], nan_ok=True)
    session.execute("RESET")

    session.execute(
        "INSERT OVERWRITE days PARTITION (dt = '2013-01-01', country = 'us') "
        f"SELECT {ROLLUP} FROM hours WHERE dt < '2013-01-02' AND country = 'us' GROUP BY carrier, origin"
    )
    assert findings(session, "CHECK FACT f") == agree
    session.execute(
        "INSERT OVERWRITE days PARTITION (dt = '2013-01-01', country = 'us') "
        "SELECT carrier, origin, flights, delay + 0.001, miles, worst, COALESCE(first, 'z') FROM days "
        "WHERE dt = '2013-01-01' AND country = 'us' AND carrier = 'UA' AND origin = 'EWR' "
        "UNION ALL VALUES ('NEW', CAST(NULL AS STRING), 1L, 1D, 1.00BD, 1, 'x')"
    )
    listed = findings(session, "CHECK FACT f FROM '2013-01-01T05' TO '2013-01-01T06'")
    mine = [row for row in listed if row[0] == "days"]
    assert ("days", "DAILY", "country='us', carrier='UA', origin='EWR'", "delay", "value differs") in mine
    assert ("days", "DAILY", "country='us', carrier='NEW', origin=NULL", None, "row surplus") in mine
    assert ("days", "DAILY", "country='us', carrier=NULL, origin=NULL", None, "row missing") in mine
    assert mine[-1] == ("days", "DAILY", None, None, "differs")
    assert listed[len(mine) :] == agree[1:]


def test_only_some_differences_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    with Session(tmp_path, "duckdb") as session:
        session.execute("CREATE CUBE c (a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        session.execute("CREATE TABLE days (a STRING, n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE TABLE years (a STRING, n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute("CREATE TABLE copies (a STRING, n BIGINT) PARTITIONED BY (dt STRING)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt)) "
            "STORED IN STORAGE second (TABLE copies PERIOD DAILY PARTITIONED BY t AS (dt))"
        )
        rows = ", ".join(f"('{number}', 1, '2013-01-01')" for number in range(150))
        session.execute(f"INSERT INTO days VALUES {rows}")
        session.execute("INSERT INTO copies VALUES ('x', 1, '2013-01-01')")
        listed = findings(session, "CHECK FACT f")
    assert [row[4] for row in listed] == ["row missing"] * 100 + ["51 more differences are not shown", "differs"]
    assert {row[0] for row in listed} == {"copies"}


@pytest.mark.parametrize("odd", ["Infinity", "NaN", "-Infinity"])
def test_infinity_and_nan_in_the_base_hide_no_wrong_rollup(tmp_path: Path, odd: str) -> None:
    with Session(tmp_path / "warehouse", "duckdb") as session:
        session.execute("CREATE TABLE days (d DOUBLE) PARTITIONED BY (dt STRING)")
        session.execute("CREATE TABLE months (d DOUBLE) PARTITIONED BY (dt STRING)")
        session.execute("CREATE CUBE c (d DOUBLE MEASURE SUM, t TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt), "
            "TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))"
        )
        values = ", ".join(f"(1.0D, '2013-02-{day:02d}')" for day in range(2, 29))
        session.execute(f"INSERT INTO days VALUES (CAST('{odd}' AS DOUBLE), '2013-02-01'), {values}")
        session.execute("INSERT OVERWRITE months PARTITION (dt = '2013-02') VALUES (5.0D)")
        assert "value differs" in {row[8] for row in session.execute("CHECK FACT f").fetch()}
        session.execute(f"INSERT OVERWRITE months PARTITION (dt = '2013-02') VALUES (CAST('{odd}' AS DOUBLE))")
        assert {row[8] for row in session.execute("CHECK FACT f").fetch()} == {"agrees", "unproven"}
