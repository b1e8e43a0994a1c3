"""Facts whose tables are filled from a cube or from tables of another fact: they are as new as that fact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from results import named_rows

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.session import Session

DAYS = [f"2013-01-{day:02d}" for day in range(1, 5)]
FIRST = "t >= '2013-01-01' AND t < '2013-01-02'"
SECOND = "t >= '2013-01-02' AND t < '2013-01-03'"
ALL = "t >= '2013-01-01' AND t < '2013-01-05'"
FROM_CUBE = f"SELECT k, COUNT(*), date_format(t, 'yyyy-MM-dd') FROM c WHERE {ALL} GROUP BY 1, 3"
NAMED = FROM_CUBE.replace("COUNT(*)", "COUNT(*) AS n").replace("dd') FROM", "dd') AS ds FROM")
FACT_G = "CREATE FACT g OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (ds))"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A fact of hours with one event in the first hour of each day, and a table of days, filled by nothing."""
    with Session(tmp_path, "duckdb") as opened:
        for statement in (
            "CREATE CUBE c (k STRING, n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME)",
            "CREATE TABLE hours (k STRING, n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE days (k STRING, n BIGINT) PARTITIONED BY (ds STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))",
            f"INSERT INTO hours VALUES {hours(DAYS)}",
        ):
            opened.execute(statement)
        yield opened
        problems = [finding.problem for finding in findings(opened.catalog.database)]
        assert problems == []


def hours(days: Sequence[str]) -> str:
    """Returns the rows of whole days: one event in the first hour of each, none in the others."""
    return ", ".join(f"('a', {int(hour == 0)}, '{day}-{hour:02d}')" for day in days for hour in range(24))


def count(session: Session, where: str = FIRST) -> object:
    ((number,),) = session.execute(f"SELECT COUNT(*) FROM c WHERE {where}").fetch()
    return number


def days(session: Session) -> tuple[object, ...]:
    (told,) = named_rows(session.execute("SHOW TIMELINES OF g PERIOD DAILY"))
    return tuple(told[name] for name in ("partitions", "outdated", "unproven"))


def late(session: Session, day: str = "2013-01-01") -> None:
    session.execute(f"INSERT INTO hours VALUES ('a', 1, '{day}-05')")


FILLS = {
    "from the cube": [FACT_G, f"INSERT OVERWRITE days {FROM_CUBE}"],
    "from the table": [FACT_G, "INSERT OVERWRITE days SELECT k, SUM(n), substr(dt, 1, 10) FROM hours GROUP BY 1, 3"],
    "before the fact": [f"INSERT OVERWRITE days {FROM_CUBE}", FACT_G],
    "a day each": [
        FACT_G,
        *(
            f"INSERT OVERWRITE days PARTITION (ds = '{day}') SELECT k, COUNT(*) FROM c "
            f"WHERE t >= '{day}' AND t < TIMESTAMP '{day} 00:00:00' + INTERVAL 1 DAY GROUP BY k"
            for day in DAYS
        ),
    ],
    "through a plain table": [
        FACT_G,
        f"CREATE TABLE staging AS {NAMED}",
        "INSERT OVERWRITE days SELECT k, n, ds FROM staging",
    ],
    "created from it": [
        "DROP TABLE days",
        f"CREATE TABLE days PARTITIONED BY (ds) AS {NAMED}",
        FACT_G,
    ],
    "exchanged": [
        FACT_G,
        "CREATE TABLE staging (k STRING, n BIGINT) PARTITIONED BY (ds STRING)",
        f"INSERT OVERWRITE staging {FROM_CUBE}",
        *(f"ALTER TABLE days EXCHANGE PARTITION (ds = '{day}') WITH TABLE staging" for day in DAYS),
    ],
    "by several inserts": [
        FACT_G,
        "CREATE TABLE other (k STRING, n BIGINT) PARTITIONED BY (ds STRING)",
        f"FROM (SELECT k, n, date_format(t, 'yyyy-MM-dd') AS ds FROM c WHERE {ALL}) x "
        "INSERT OVERWRITE TABLE days SELECT k, SUM(n), ds GROUP BY 1, 3 "
        "INSERT OVERWRITE TABLE other SELECT k, SUM(n), ds GROUP BY 1, 3",
    ],
    "appended": [FACT_G, f"INSERT INTO days {FROM_CUBE}", "INSERT INTO days VALUES ('b', 0, '2013-01-01')"],
    "in a transaction": [FACT_G, "BEGIN", f"INSERT OVERWRITE days {FROM_CUBE}", "SELECT * FROM days", "COMMIT"],
}


@pytest.mark.share(1)
@pytest.mark.parametrize("fill", FILLS)
def test_a_late_event_outdates_the_copy(session: Session, fill: str) -> None:
    for statement in FILLS[fill]:
        session.execute(statement)
    assert (days(session), count(session)) == ((4, 0, 0), 1)
    late(session)
    assert count(session) == 2
    assert days(session)[1] >= 1
    assert count(session, SECOND) == 1


def filled(session: Session) -> None:
    for statement in FILLS["from the cube"]:
        session.execute(statement)


def test_a_copy_that_keeps_time_is_outdated_where_its_base_changed(session: Session) -> None:
    filled(session)
    late(session)
    assert days(session) == (3, 1, 0)


@pytest.mark.share(1)
@pytest.mark.parametrize("is_parted", [False, True])
def test_an_hour_that_comes_later_outdates_the_copy_of_its_day(session: Session, is_parted: bool) -> None:
    """The copy was made from the hours that were there. A day of it may consist of several partitions."""
    for statement in (
        "INSERT INTO hours VALUES ('a', 1, '2013-01-05-03')",
        f"CREATE TABLE parts ({'n' if is_parted else 'k STRING, n'} BIGINT) PARTITIONED BY "
        f"(ds STRING{', k STRING' if is_parted else ''})",
        "CREATE FACT g OF CUBE c STORED IN (TABLE parts PERIOD DAILY PARTITIONED BY t AS (ds)"
        f"{' COMPLETE WITH ANY k' if is_parted else ''})",
        f"INSERT INTO parts {'' if is_parted else '(n, ds, k) '}SELECT SUM(n), substr(dt, 1, 10), k FROM hours "
        "GROUP BY 2, 3",
    ):
        session.execute(statement)
    assert days(session) == (5, 0, 0)
    session.execute("ALTER TABLE hours ADD PARTITION (dt = '2013-01-05-11')")
    assert days(session) == (5, 0, 0)  # No event.
    session.execute("INSERT INTO hours VALUES ('a', 1, '2013-01-05-12')")
    assert days(session) == (4, 1, 0)


COMPLETE = "MARK COMPLETE FROM '2013-01-01' TO '2013-01-08'"


@pytest.mark.share(1)
@pytest.mark.parametrize(
    "insert",
    [
        f"INSERT INTO days {COMPLETE} SELECT k, SUM(n), substr(dt, 1, 10) FROM hours GROUP BY 1, 3",
        f"INSERT OVERWRITE days {COMPLETE} SELECT k, n, substr(dt, 1, 10) FROM hours WHERE dt > '2013-01-06'",
        f"FROM hours INSERT INTO days {COMPLETE} SELECT k, n, substr(dt, 1, 10) INSERT INTO others SELECT k, n",
    ],
)
def test_a_day_without_rows_is_as_new_as_where_it_was_copied_from(session: Session, insert: str) -> None:
    """MARK COMPLETE of an INSERT says that its query had no rows for the day. There may be some later."""
    for statement in (FACT_G, "CREATE TABLE others (k STRING, n BIGINT)", insert):
        session.execute(statement)
    assert (days(session)[1:], count(session, "t >= '2013-01-05' AND t < '2013-01-08'")) == ((0, 0), 0)
    late(session, "2013-01-06")
    assert days(session)[1:] == (1, 0)
    session.execute(insert.replace("INTO days", "OVERWRITE days"))
    assert days(session)[1:] == (0, 0)


def test_retention_outdates_no_copy(session: Session) -> None:
    filled(session)
    session.execute("ALTER TABLE hours DROP PARTITION (dt < '2013-01-03')")
    assert days(session) == (4, 0, 0)
    late(session, "2013-01-04")
    assert (days(session)[1], count(session), count(session, SECOND)) == (1, 1, 1)


def test_a_copy_is_current_once_it_is_filled_again(session: Session) -> None:
    filled(session)
    late(session)
    rows = named_rows(session.execute("REFRESH FACT g"))
    assert [(row["table"], row["was"]) for row in rows] == [("days", "outdated")]
    assert "INSERT" in str(rows[0]["status"])
    session.execute(f"INSERT OVERWRITE days {FROM_CUBE}")
    assert (days(session), count(session)) == ((4, 0, 0), 2)


def test_a_copy_stays_outdated_when_its_source_leaves(session: Session) -> None:
    filled(session)
    late(session)
    session.execute("DROP FACT f")
    assert days(session) == (3, 1, 0)


def test_an_update_of_the_source_outdates_the_copy(session: Session) -> None:
    filled(session)
    session.execute(
        "INSERT OVERWRITE hours PARTITION (dt = '2013-01-01-00') SELECT k, n + 4 FROM hours WHERE dt = '2013-01-01-00'"
    )
    assert (days(session)[1], count(session)) == (1, 5)


def test_an_update_of_a_copy_remains_a_copy(session: Session) -> None:
    filled(session)
    session.execute("INSERT OVERWRITE days PARTITION (ds = '2013-01-01') SELECT k, n FROM days WHERE ds = '2013-01-01'")
    assert days(session) == (4, 0, 0)
    late(session)
    assert count(session) == 2


def test_rollups_of_a_copy_follow(session: Session) -> None:
    session.execute("CREATE TABLE months (k STRING, n BIGINT) PARTITIONED BY (m STRING)")
    session.execute(FACT_G.replace("(ds))", "(ds), TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m))"))
    session.execute(f"INSERT INTO hours VALUES {hours([f'2013-01-{day:02d}' for day in range(5, 32)])}")
    january = FROM_CUBE.replace("2013-01-05", "2013-02-01")
    session.execute(f"INSERT OVERWRITE days {january}")
    session.execute("REFRESH FACT g")
    whole = "t >= '2013-01-01' AND t < '2013-02-01'"
    assert count(session, whole) == 31
    late(session)
    assert count(session, whole) == 32
    session.execute(f"INSERT OVERWRITE days {january}")
    session.execute("REFRESH FACT g")
    (told,) = named_rows(session.execute("SHOW TIMELINES OF g PERIOD MONTHLY"))
    assert (told["partitions"], count(session, whole)) == (1, 32)


def test_a_fact_of_another_cube(session: Session) -> None:
    session.execute("CREATE CUBE d (k STRING, n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME)")
    session.execute(FACT_G.replace("CUBE c", "CUBE d"))
    session.execute(f"INSERT OVERWRITE days {FROM_CUBE}")
    late(session)
    assert days(session)[1] >= 1


@pytest.mark.parametrize("later", [False, True])
def test_what_one_transaction_changes_and_copies(session: Session, later: bool) -> None:
    session.execute(FACT_G)
    session.execute("BEGIN")
    late(session)
    session.execute(f"INSERT OVERWRITE days {FROM_CUBE}")
    if later:
        late(session)
    session.execute("SELECT * FROM days")
    session.execute("COMMIT")
    assert (days(session)[1] > 0, count(session)) == (later, 3 if later else 2)


# --- facts that are filled independently ---------------------------------------------------------------------------

WORD = "on your word, g holds the same events"


def warned(session: Session, statement: str) -> bool:
    return any(WORD in warning for warning in session.execute(statement).warnings)


def test_the_first_rows_of_another_fact_are_on_the_owners_word(session: Session) -> None:
    assert not warned(session, FACT_G)
    assert warned(session, "INSERT INTO days VALUES ('a', 1, '2013-01-01')")
    assert not warned(session, "INSERT INTO days VALUES ('a', 1, '2013-01-02')")
    session.execute("DROP FACT g")
    assert warned(session, FACT_G)


def test_a_copy_rests_on_no_word(session: Session) -> None:
    for statement in FILLS["from the cube"]:
        assert not warned(session, statement)
    session.execute("DROP FACT g")
    assert not warned(session, FACT_G)


def test_the_only_fact_of_a_cube_rests_on_no_word(session: Session) -> None:
    session.execute("DROP FACT f")
    for statement in (FACT_G, "INSERT INTO days VALUES ('a', 1, '2013-01-01')"):
        assert not warned(session, statement)


def test_explain_says_on_whose_word_a_fact_fills_a_gap(session: Session) -> None:
    session.execute(FACT_G)
    session.execute("INSERT INTO days VALUES ('a', 1, '2013-01-01'), ('a', 1, '2013-01-05')")
    query = "EXPLAIN COVER SELECT COUNT(*) FROM c WHERE t >= '2013-01-02' AND t < '2013-01-06'"
    lines = [line for (line,) in session.execute(query).fetch()]
    assert lines[-1] == "f, g: that these facts hold the same events is their owner's word; CHECK FACT compares them"
    session.execute(
        f"INSERT OVERWRITE days PARTITION (ds = '2013-01-01') SELECT k, COUNT(*) FROM c WHERE {FIRST} GROUP BY k"
    )
    lines = [line for (line,) in session.execute(query.replace("2013-01-06", "2013-01-05")).fetch()]
    assert not any("owner's word" in line for line in lines)
