"""The recorded base of a rollup from INSERT … SELECT: the partitions that were read, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from results import named_rows

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


#: The numbers of fresh, outdated, unproven and incomplete periods of a rollup table.
States = tuple[object, object, object, object]

FRESH, OUTDATED, UNPROVEN = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)


def timeline(session: Session, table: str) -> dict[str, object]:
    (row,) = (row for row in named_rows(session.execute("SHOW TIMELINES OF f")) if row["table"] == table)
    return row


def states(session: Session, table: str) -> States:
    shown = timeline(session, table)
    return shown["partitions"], shown["outdated"], shown["unproven"], shown["incomplete"]


def reason(session: Session, table: str) -> object:
    """Returns why periods of a rollup table are unproven or incomplete."""
    return timeline(session, table)["reason"]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("", (2, 0, 0, 0)),
        ("WHERE ds = '2013-01-01'", (1, 0, 0, 0)),
        ("WHERE ds LIKE '2013-01-0%'", (2, 0, 0, 0)),
        ("WHERE hr IS NOT NULL", (2, 0, 0, 0)),
        # It may leave rows of the cube out: both days are unproven.
        ("WHERE country <> 'jp'", (0, 0, 2, 0)),
        # Half of each day.
        ("WHERE hr < '12'", (0, 2, 0, 0)),
        ("WHERE ds = '2013-01-01' AND hr < '12'", (0, 1, 0, 0)),
        ("WHERE hr < '12' OR ds = '2013-01-01'", (1, 1, 0, 0)),
    ],
)
def test_a_day_of_which_hours_were_left_out_is_not_fresh(session: Session, where: str, wanted: States) -> None:
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
    assert states(session, "days") == (0, 0, 0, 0)
    run(session, days.format("eu", "country = 'eu'"))
    assert states(session, "days") == FRESH
    # The other country's rows are not those that were asked for, and half of them are no day.
    elsewhere = "its query reads hours dt=2013-01-01-00/country=us, which is outside the range that it writes"
    run(session, days.format("eu", "country = 'us'"))
    assert (states(session, "days"), reason(session, "days")) == (UNPROVEN, elsewhere)
    run(session, days.format("eu", "country = 'eu' AND dt < '2013-01-01-12'"))
    assert states(session, "days") == OUTDATED
    run(session, days.format("eu", "country IN ('eu', 'us')"))
    assert (states(session, "days"), reason(session, "days")) == (UNPROVEN, elsewhere)
    run(session, days.format("eu", "country = 'eu'"))
    assert states(session, "days") == FRESH
    sums = "INSERT OVERWRITE sums SELECT country, SUM(n), '2013-01-01' FROM hours {0} GROUP BY country"
    run(session, sums.format("WHERE country = 'us'"))
    assert states(session, "sums") == OUTDATED
    run(session, sums.format(""))
    assert states(session, "sums") == FRESH


@pytest.mark.parametrize(
    "days",
    [
        "PARTITION (dt = '2013-01-01', country = '{0}') SELECT SUM(n) FROM hours WHERE {1}",
        "PARTITION (dt = '2013-01-01', country) SELECT SUM(n), country FROM hours WHERE {1} GROUP BY country",
    ],
    ids=["static", "dynamic"],
)
def test_hours_that_hold_other_countries_only_need_not_be_read(session: Session, days: str) -> None:
    rule = "PARTITIONED BY t AS (dt) COMPLETE WITH ANY country"
    run(
        session,
        "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING, country STRING)",
        f"CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY {rule}, TABLE days PERIOD DAILY {rule})",
    )
    values = [f"(1, '2013-01-01-{hour:02}', '{'us' if hour < 12 else 'eu'}')" for hour in range(24)]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}")
    insert = f"INSERT OVERWRITE days {days}"
    run(session, insert.format("us", "country = 'us'"), insert.format("eu", "country = 'eu'"))
    assert states(session, "days") == FRESH
    typed = "INSERT OVERWRITE days PARTITION (dt = '2013-01-01', country) SELECT SUM(n), 'eu' FROM hours WHERE {0}"
    run(session, typed.format("country = 'us'"))
    assert (states(session, "days"), reason(session, "days")) == (UNPROVEN, "its query computes the dimension country")
    run(session, insert.format("eu", "dt >= '2013-01-01-12'"))
    assert states(session, "days") == FRESH
    run(session, insert.format("eu", "dt >= '2013-01-01-13'"))
    assert states(session, "days") == OUTDATED


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
    assert states(session, "months") == OUTDATED


HALF = "WHERE hr < '12'"


SUBQUERY = "its query has a subquery in an expression"


@pytest.mark.parametrize(
    ("query", "wanted", "why"),
    [
        # What another reference reads, to compare with, says nothing of the rows that the first one leaves out.
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} AND EXISTS (SELECT 1 FROM hours) GROUP BY country, ds",
            UNPROVEN,
            SUBQUERY,
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} "
            "AND country IN (SELECT country FROM hours WHERE hr >= '12') GROUP BY country, ds",
            UNPROVEN,
            SUBQUERY,
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} AND ds IN (SELECT date_format(t, 'yyyy-MM-dd') FROM c "
            "WHERE t >= '2013-01-01' AND t < '2013-01-02') GROUP BY country, ds",
            UNPROVEN,
            SUBQUERY,
        ),
        (
            "SELECT country, COUNT(*), date_format(t, 'yyyy-MM-dd') FROM c WHERE t >= '2013-01-01' "
            "AND t < '2013-01-01 12:00' AND EXISTS (SELECT 1 FROM hours) GROUP BY 1, 3",
            UNPROVEN,
            SUBQUERY,
        ),
        (
            "SELECT country, SUM(n), ds FROM hours WHERE EXISTS (SELECT 1 FROM hours) GROUP BY country, ds",
            UNPROVEN,
            SUBQUERY,
        ),
        # A condition on a derived table, or on a CTE, is one on the table inside it.
        (f"SELECT country, SUM(n), ds FROM (SELECT * FROM hours) {HALF} GROUP BY country, ds", OUTDATED, None),
        (
            f"WITH h AS (SELECT * FROM hours) SELECT country, SUM(n), ds FROM h {HALF} GROUP BY country, ds",
            OUTDATED,
            None,
        ),
        (f"WITH h AS (SELECT * FROM hours {HALF}) SELECT country, SUM(n), ds FROM h GROUP BY 1, 3", OUTDATED, None),
        # One that must be computed is not.
        (
            "SELECT country, SUM(n), ds FROM (SELECT * FROM hours) WHERE CAST(hr AS INT) < 12 GROUP BY country, ds",
            UNPROVEN,
            "its query has a condition that does not select whole partitions: CAST(hr AS INT) < 12",
        ),
        # Branches of a UNION ALL add up.
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            FRESH,
            None,
        ),
        (
            f"WITH h AS (SELECT * FROM hours {HALF}) SELECT country, SUM(n), ds FROM h GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            FRESH,
            None,
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr > '12' GROUP BY country, ds",
            OUTDATED,
            None,
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION ALL "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '11' GROUP BY country, ds",
            UNPROVEN,
            "its query reads hours ds=2013-01-01/hr=11 twice",
        ),
        (
            f"SELECT country, SUM(n), ds FROM hours {HALF} GROUP BY country, ds UNION "
            "SELECT country, SUM(n), ds FROM hours WHERE hr >= '12' GROUP BY country, ds",
            UNPROVEN,
            "its query has a set operation other than UNION ALL",
        ),
    ],
)
def test_all_references_must_have_read_what_is_called_fresh(
    session: Session, query: str, wanted: States, why: str | None
) -> None:
    run(session, *HOURS_AND_DAYS)
    values = [f"('us', 1, '2013-01-01', '{hour:02}')" for hour in range(24)]
    run(session, f"INSERT INTO hours VALUES {', '.join(values)}", f"INSERT OVERWRITE days {query}")
    assert (states(session, "days"), reason(session, "days")) == (wanted, why)


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("t >= '2013-01-02' AND t < '2013-01-02'", OUTDATED),
        ("t >= '2013-01-01' AND t < '2013-01-02' AND false", OUTDATED),
        ("t < '2013-01-01' AND t > '2013-01-02'", OUTDATED),
    ],
)
def test_a_day_computed_from_no_time_is_not_fresh(session: Session, where: str, wanted: States) -> None:
    values = [f"('us', 1, '2013-01-01', '{hour:02}')" for hour in range(24)]
    run(session, *HOURS_AND_DAYS, f"INSERT INTO hours VALUES {', '.join(values)}")
    day = "INSERT OVERWRITE days PARTITION (dt = '2013-01-01') SELECT country, COUNT(*) FROM c"
    run(session, f"{day} WHERE {where} GROUP BY country")
    assert states(session, "days") == wanted
    run(session, f"{day} WHERE t >= '2013-01-01' AND t < '2013-01-02' GROUP BY country")
    assert states(session, "days") == FRESH
    run(session, f"INSERT OVERWRITE days SELECT 'us', COUNT(*), '2013-01-01' FROM c WHERE {where}")
    assert states(session, "days") == UNPROVEN
