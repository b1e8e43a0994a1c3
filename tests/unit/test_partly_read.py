"""What a rollup that an INSERT … SELECT computes knows of its base: the partitions that were read, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.session import Session

HOURS_AND_DAYS = (
    "CREATE TABLE hours (country STRING, n BIGINT) PARTITIONED BY (ds STRING, hr STRING)",
    "CREATE TABLE days (country STRING, n BIGINT) PARTITIONED BY (dt STRING)",
    "CREATE FACT f OF CUBE c STORED IN ("
    "TABLE hours PERIOD HOURLY PARTITIONED BY t AS (ds = 'yyyy-MM-dd', hr = 'HH'), "
    "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        run(opened, "CREATE CUBE c (country STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        yield opened


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).fetch()


def states(session: Session, table: str) -> tuple[object, object]:
    """How many periods of a rollup table are fresh, and how many outdated."""
    (row,) = (row for row in session.execute("SHOW TIMELINES OF f").fetch() if row[0] == table)
    return row[6], row[10]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("", (2, 0)),
        ("WHERE ds = '2013-01-01'", (1, 0)),
        ("WHERE ds LIKE '2013-01-0%'", (2, 0)),
        ("WHERE hr IS NOT NULL", (2, 0)),
        # The writer's word: nobody can tell whether it leaves rows of the cube out.
        ("WHERE country <> 'jp'", (2, 0)),
        # Half of each day.
        ("WHERE hr < '12'", (0, 2)),
        ("WHERE ds = '2013-01-01' AND hr < '12'", (0, 1)),
        ("WHERE hr < '12' OR ds = '2013-01-01'", (1, 1)),
    ],
)
def test_a_day_of_which_hours_were_left_out_is_not_fresh(session: Session, where: str, wanted: tuple[int, int]) -> None:
    run(session, *HOURS_AND_DAYS)
    values = [f"('us', 1, '2013-01-{day:02}', '{hour:02}')" for day in (1, 2) for hour in range(24)]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}")
    run(session, f"INSERT OVERWRITE days SELECT country, SUM(n), ds FROM hours {where} GROUP BY country, ds")
    assert states(session, "days") == wanted


def test_a_country_needs_its_own_base_partitions_and_all_countries_need_all(session: Session) -> None:
    both = "PERIOD {} PARTITIONED BY t AS (dt) COMPLETE WITH country IN ('us', 'eu')"
    run(
        session,
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        "CREATE TABLE sums (country STRING, n BIGINT) PARTITIONED BY (dt STRING)",
        f"CREATE FACT f OF CUBE c STORED IN (TABLE hours {both.format('HOURLY')}, TABLE days {both.format('DAILY')}, "
        "TABLE sums PERIOD DAILY PARTITIONED BY t AS (dt))",
    )
    values = [f"(1, '2013-01-01-{hour:02}', '{country}')" for hour in range(24) for country in ("us", "eu")]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}")
    days = "INSERT OVERWRITE days PARTITION (dt = '2013-01-01', country = '{0}') SELECT SUM(n) FROM hours WHERE {1}"
    run(session, days.format("us", "country = 'us'"))
    assert states(session, "days") == (0, 0)
    run(session, days.format("eu", "country = 'eu'"))
    assert states(session, "days") == (1, 0)
    # The other country's rows are not those that were asked for, and half of them are no day.
    run(session, days.format("eu", "country = 'us'"))
    assert states(session, "days") == (0, 1)
    run(session, days.format("eu", "country = 'eu' AND dt < '2013-01-01-12'"))
    assert states(session, "days") == (0, 1)
    run(session, days.format("eu", "country IN ('eu', 'us')"))
    assert states(session, "days") == (1, 0)
    sums = "INSERT OVERWRITE sums SELECT country, SUM(n), '2013-01-01' FROM hours {0} GROUP BY country"
    run(session, sums.format("WHERE country = 'us'"))
    assert states(session, "sums") == (0, 1)
    run(session, sums.format(""))
    assert states(session, "sums") == (1, 0)


def test_hours_that_hold_other_countries_only_need_not_be_read(session: Session) -> None:
    rule = "PARTITIONED BY t AS (dt) COMPLETE WITH ANY country"
    run(
        session,
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        f"CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY {rule}, TABLE days PERIOD DAILY {rule})",
    )
    values = [f"(1, '2013-01-01-{hour:02}', '{'us' if hour < 12 else 'eu'}')" for hour in range(24)]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}")
    days = "INSERT OVERWRITE days PARTITION (dt = '2013-01-01', country) SELECT SUM(n), '{0}' FROM hours WHERE {1}"
    run(session, days.format("us", "country = 'us'"), days.format("eu", "country = 'eu'"))
    assert states(session, "days") == (1, 0)
    run(session, days.format("eu", "country = 'us'"))
    assert states(session, "days") == (0, 1)
    run(session, days.format("eu", "dt >= '2013-01-01-12'"))
    assert states(session, "days") == (1, 0)
    run(session, days.format("eu", "dt >= '2013-01-01-13'"))
    assert states(session, "days") == (0, 1)


@pytest.mark.parametrize(
    ("source", "where"),
    [
        ("days", "dt IN ('2013-01-01', '2013-01-03')"),
        ("days", "dt = '2013-01-01' OR dt = '2013-01-03'"),
        ("c", "time_range_in(t, '2013-01-01', '2013-01-02') OR time_range_in(t, '2013-01-03', '2013-01-04')"),
    ],
)
def test_a_month_that_lacks_the_day_between_two_that_were_read_is_not_fresh(
    session: Session, source: str, where: str
) -> None:
    run(
        session,
        "CREATE TABLE days (country STRING, n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE months (country STRING, n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt), "
        "TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))",
        "INSERT INTO days VALUES ('us', 1, '2013-01-01'), ('us', 10, '2013-01-02'), ('us', 100, '2013-01-03')",
        f"INSERT OVERWRITE months SELECT country, SUM(n), '2013-01' FROM {source} WHERE {where} GROUP BY country",
    )
    assert states(session, "months") == (0, 1)


HALF = "WHERE hr < '12'"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        # What another reference reads, to compare with, says nothing of the rows that the first one leaves out.
        (f"SELECT country, SUM(n), ds FROM hours {HALF} AND EXISTS (SELECT 1 FROM hours) GROUP BY country, ds", (0, 1)),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} "
            "AND country IN (SELECT country FROM hours WHERE hr >= '12') GROUP BY country, ds",
            (0, 1),
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} AND ds IN (SELECT date_format(t, 'yyyy-MM-dd') FROM c "
            "WHERE t >= '2013-01-01' AND t < '2013-01-02') GROUP BY country, ds",
            (0, 1),
        ),
        (
            "SELECT country, COUNT(*), date_format(t, 'yyyy-MM-dd') FROM c WHERE t >= '2013-01-01' "
            "AND t < '2013-01-01 12:00' AND EXISTS (SELECT 1 FROM hours) GROUP BY 1, 3",
            (0, 1),
        ),
        ("SELECT country, SUM(n), ds FROM hours WHERE EXISTS (SELECT 1 FROM hours) GROUP BY country, ds", (1, 0)),
        # A condition on a derived table is the writer's word.
        (f"SELECT country, SUM(n), ds FROM (SELECT * FROM hours) {HALF} GROUP BY country, ds", (1, 0)),
        # Branches of a UNION ALL add up.
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            (1, 0),
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            (0, 1),
        ),
        (
            f"WITH h AS (SELECT * FROM hours {HALF}) SELECT country, SUM(n), ds FROM h GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            (0, 1),
        ),
    ],
)
def test_all_references_must_have_read_what_is_called_fresh(
    session: Session, query: str, wanted: tuple[int, int]
) -> None:
    run(session, *HOURS_AND_DAYS)
    values = [f"('us', 1, '2013-01-01', '{hour:02}')" for hour in range(24)]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}", f"INSERT OVERWRITE days {query}")
    assert states(session, "days") == wanted


@pytest.mark.parametrize(
    "where",
    [
        "t >= '2013-01-02' AND t < '2013-01-02'",
        "t >= '2013-01-01' AND t < '2013-01-02' AND false",
        "t < '2013-01-01' AND t > '2013-01-02'",
    ],
)
def test_a_day_computed_from_no_time_is_not_fresh(session: Session, where: str) -> None:
    run(session, *HOURS_AND_DAYS, "INSERT INTO hours VALUES ('us', 1, '2013-01-01', '05')")
    run(session, f"INSERT OVERWRITE days SELECT 'us', COUNT(*), '2013-01-01' FROM c WHERE {where}")
    assert states(session, "days") == (0, 1)
