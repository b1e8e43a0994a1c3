"""ROLLUPS and narrow tables of facts: the tables that are made, what is refused, and what is left after an error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.session import Session

WORLD = """
CREATE CUBE views (page STRING, country STRING, user_id BIGINT, n BIGINT MEASURE COUNT, delay FLOAT MEASURE SUM,
  t TIMESTAMP TIME);
CREATE TABLE hours (page STRING, country STRING, user_id BIGINT, n BIGINT, delay FLOAT) PARTITIONED BY (h STRING)
"""
FACT = "CREATE FACT v OF CUBE views STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (h))"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", engine="duckdb") as opened:
        list(opened.script(WORLD))
        yield opened


def tables(session: Session) -> list[str]:
    return [str(row[0]) for row in session.execute("SHOW TABLES").rows()]


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("rollups", "message"),
    [
        ("MINUTELY", "The rollup MINUTELY is finer than the base period HOURLY of the fact v."),
        ("HOURLY", "hours holds the same rollup: HOURLY, with the same columns."),
        ("DAILY, DAILY (user_id, country, PAGE)", "The rollup DAILY (user_id, country, PAGE) occurs twice."),
        ("DAILY (city)", "city is not a dimension of the fact."),
        ("DAILY (n)", "n is not a dimension of the fact."),
        ("DAILY (t)", "t is not a dimension of the fact."),
        ("FORTNIGHTLY", "'FORTNIGHTLY' is not an update period"),
    ],
)
def test_a_wrong_rollup_leaves_nothing_behind(session: Session, rollups: str, message: str) -> None:
    with pytest.raises(Error) as caught:
        session.execute(f"{FACT} ROLLUPS (MONTHLY, {rollups})")
    assert caught.value.message == message
    assert caught.value.position is not None
    assert caught.value.hint
    assert tables(session) == ["hours"]
    session.execute(f"{FACT} ROLLUPS (MONTHLY)")


def test_rollups_without_dimensions_and_with_names_that_meet(session: Session) -> None:
    session.execute(
        "CREATE CUBE w (a STRING, b STRING, a_b STRING, total STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)"
    )
    session.execute("CREATE TABLE e (a STRING, b STRING, a_b STRING, total STRING, n BIGINT) PARTITIONED BY (h STRING)")
    rollups = "DAILY (a, b), DAILY (a_b), DAILY (), DAILY (total)"
    session.execute(
        f"CREATE FACT f OF CUBE w STORED IN (TABLE e PERIOD HOURLY PARTITIONED BY t AS (h)) ROLLUPS ({rollups})"
    )
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY (a_b)")
    session.execute("ALTER FACT f ADD ROLLUP MONTHLY (a, b)")
    ((shown,),) = session.execute("SHOW CREATE FACT f").rows()
    assert "DAILY (a, b),\n  DAILY (a_b),\n  DAILY (),\n  DAILY (total),\n  MONTHLY (a_b),\n  MONTHLY (a, b)" in str(
        shown
    )
    session.execute("INSERT INTO e VALUES ('x', 'y', 'z', 'u', 3, '2024-01-01-05')")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-01' TO '2024-02-01'")
    session.execute("REFRESH FACT f")
    day = "FROM w WHERE t >= '2024-01-01' AND t < '2024-01-02'"
    assert "FROM f_daily_total WHERE" in session.plan(f"SELECT SUM(n) {day}").sql
    for query in (f"SELECT SUM(n) {day}", f"SELECT SUM(n) {day} AND a_b = 'z'", f"SELECT SUM(n) {day} AND total = 'u'"):
        assert list(session.execute(query).rows()) == [(3,)]
    session.execute("ALTER FACT f DROP ROLLUP DAILY ()")
    with pytest.raises(Error, match=r"has no rollup DAILY \(\) that ROLLUPS has made"):
        session.execute("ALTER FACT f DROP ROLLUP DAILY ()")


def test_an_existing_table_is_not_taken(session: Session) -> None:
    session.execute("CREATE TABLE v_daily_page (x INT)")
    with pytest.raises(Error, match="Cannot create v_daily_page"):
        session.execute(f"{FACT} ROLLUPS (DAILY, DAILY (page))")
    assert tables(session) == ["hours", "v_daily_page"]


def test_the_shown_fact_makes_the_same(session: Session) -> None:
    session.execute(f"{FACT} ROLLUPS (HOURLY (country), DAILY, MONTHLY (page, country))")
    session.execute("ALTER FACT v ADD ROLLUP DAILY (country)")
    ((shown,),) = session.execute("SHOW CREATE FACT v").rows()
    columns = list(session.execute("DESCRIBE TABLE v_hourly_country").rows())[:4]
    assert [row[:2] for row in columns] == [
        ("country", "string"), ("n", "bigint"), ("delay", "double"), ("dt", "string")
    ]  # fmt: skip
    session.execute("DROP FACT v CASCADE")
    assert tables(session) == ["hours"]
    session.execute(str(shown))
    assert list(session.execute("SHOW CREATE FACT v").rows()) == [(shown,)]
    (warning,) = session.execute("DROP FACT v").warnings
    assert warning == (
        "the tables that ROLLUPS has made stay, until DROP TABLE drops them: "
        "v_hourly_country, v_daily, v_monthly_page_country, v_daily_country"
    )


def test_a_list_of_all_dimensions_is_no_list(session: Session) -> None:
    session.execute(f"{FACT} ROLLUPS (DAILY (country, page, user_id))")
    ((shown,),) = session.execute("SHOW CREATE FACT v").rows()
    session.execute("DROP FACT v CASCADE")
    session.execute(str(shown))
    assert tables(session) == ["hours", "v_daily"]


def test_a_trusted_rollup_is_shown_with_its_table(session: Session) -> None:
    session.execute(f"{FACT} ROLLUPS (DAILY (page), MONTHLY)")
    session.execute("ALTER FACT v TABLE v_daily_page SET TRUSTED")
    shown = str(next(iter(session.execute("SHOW CREATE FACT v").rows()))[0])
    assert (
        "TABLE default.v_daily_page (page, n, delay) PERIOD DAILY PARTITIONED BY t AS (dt = 'yyyy-MM-dd') TRUSTED"
        in shown
    )
    assert "ROLLUPS (\n  MONTHLY)" in shown


def test_rollups_of_another_database_and_of_a_long_name(session: Session) -> None:
    session.execute("CREATE DATABASE web")
    long = "v" * 70
    session.execute(FACT.replace("FACT v", f"FACT web.{long}") + " ROLLUPS (DAILY (page, country))")
    session.execute("USE web")
    (name,) = tables(session)
    assert len(name) == 80


@pytest.mark.parametrize(
    ("columns", "clause", "message"),
    [
        ("page STRING, n BIGINT", "d (page, nope)", "nope is no dimension and no measure of the fact."),
        ("page STRING, n BIGINT", "d (page, country, n)", "The table d has no column country."),
        ("page STRING, country STRING", "d", "The table d has no measure of the cube views."),
        ("page INT, n BIGINT", "d", "page is INT in d, but STRING in views."),
    ],
)
def test_a_narrow_table_that_does_not_fit(session: Session, columns: str, clause: str, message: str) -> None:
    session.execute(f"CREATE TABLE d ({columns}) PARTITIONED BY (p STRING)")
    with pytest.raises(Error) as caught:
        session.execute(FACT[:-1] + f", TABLE {clause} PERIOD DAILY PARTITIONED BY t AS (p))")
    assert caught.value.message == message


def test_the_base_has_all_columns(session: Session) -> None:
    session.execute("CREATE TABLE narrow (page STRING, n BIGINT) PARTITIONED BY (p STRING)")
    with pytest.raises(Error, match=r"narrow lacks the column country .* and it holds the base period HOURLY"):
        session.execute("CREATE FACT v OF CUBE views STORED IN (TABLE narrow PERIOD HOURLY PARTITIONED BY t AS (p))")
    with pytest.raises(Error, match=r"narrow lacks the column country .* and it holds the base period MINUTELY"):
        session.execute(FACT[:-1] + ", TABLE narrow PERIOD MINUTELY PARTITIONED BY t AS (p))")


def test_a_narrow_table_of_the_base_period_is_a_rollup(session: Session) -> None:
    session.execute(f"{FACT} ROLLUPS (HOURLY (country))")
    session.execute(
        "INSERT INTO hours VALUES ('a', 'x', 1, 2, 0.5, '2024-01-01-00'), ('b', 'x', 2, 3, 0.5, '2024-01-01-00')"
    )
    session.execute("REFRESH FACT v")
    query = "SELECT country, SUM(n) FROM views WHERE t >= '2024-01-01' AND t < '2024-01-01 01:00' GROUP BY country"
    assert "FROM v_hourly_country" in session.plan(query).sql
    assert list(session.execute(query).rows()) == [("x", 5)]
    session.execute("INSERT INTO hours VALUES ('c', 'x', 1, 4, 0.5, '2024-01-01-00')")
    assert "FROM hours" in session.plan(query).sql
    assert list(session.execute(query).rows()) == [("x", 9)]
    session.execute("SET rewriter.verify = certificate")
    session.execute("REFRESH FACT v")
    assert list(session.execute(query).rows()) == [("x", 9)]


def test_a_count_of_events_is_not_read_from_the_partition_column(session: Session) -> None:
    """The values of such a column, such as 2024, would be added up in place of the events."""
    session.execute("CREATE TABLE years (k STRING, seen TIMESTAMP) PARTITIONED BY (n STRING)")
    session.execute("CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT, seen TIMESTAMP TIME)")
    fact = "CREATE FACT f OF CUBE c STORED IN (TABLE years PERIOD YEARLY PARTITIONED BY seen AS (n) RAW{})"
    with pytest.raises(Error, match="The partition column n of years names the time, and is no n of an event"):
        session.execute(fact.format(""))
    session.execute(fact.format(" (n AS CAST(1 AS BIGINT))"))
    session.execute("INSERT INTO years VALUES ('a', TIMESTAMP '2023-05-01 00:00:00', '2023'), ('a', NULL, NULL)")
    assert list(session.execute("SELECT COUNT(*), SUM(n) FROM c").rows()) == [(2, 2)]
