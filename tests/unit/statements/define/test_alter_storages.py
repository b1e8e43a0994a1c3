"""ALTER FACT … ADD STORAGE and DROP STORAGE: tables join a fact and leave it, the others stay as fresh as they were."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump
from rewriter.errors import Error
from rewriter.session import Session

HOURS = ", ".join(f"(1, '2013-01-{day:02d}-{hour:02d}')" for day in (1, 2) for hour in range(24))
SETUP = f"""
CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME);
CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
CREATE TABLE weeks (n BIGINT) PARTITIONED BY (w STRING);
CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt));
INSERT INTO hours VALUES {HOURS}
"""
ADD_DAYS = "ALTER FACT f ADD STORAGE (TABLE days PERIOD DAILY PARTITIONED BY t AS (ds))"
ADD_WEEKS = "ALTER FACT f ADD STORAGE cold (TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w)) END '2020'"
FILL = "INSERT OVERWRITE days SELECT SUM(n), substr(dt, 1, 10) FROM hours GROUP BY substr(dt, 1, 10)"


@pytest.fixture
def session(tmp_path: Path, catalog_url: str | None) -> Iterator[Session]:
    with Session(tmp_path, "duckdb", catalog=catalog_url) as opened:
        run(opened, SETUP)
        yield opened
        assert run(opened, "REFRESH TIMELINES OF f") == []


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    return [row for _, result in session.script(text) for row in result.rows()]


def covered(session: Session, first: str = "2013-01-01", end: str = "2013-01-02") -> list[str]:
    result = session.execute(f"SELECT COUNT(*) FROM c WHERE t >= '{first}' AND t < '{end}'")
    list(result.rows())
    return [part.table for reference in result.coverage.references for part in reference.parts]


def assert_only_the_first_day_agrees(session: Session) -> None:
    """Asserts that the two days of ``days`` are unproven, that CHECK FACT … ACCEPT accepts the first, and that the
    second differs.
    """
    days = {row[0]: row for row in run(session, "SHOW TIMELINES OF f")}["days"]
    assert days[10:] == (0, 2, 0, 0, "it existed before the fact")
    assert covered(session, "2013-01-01", "2013-01-03") == ["hours"]
    accepted = {(row[2], row[3]) for row in run(session, "CHECK FACT f ACCEPT") if row[8] == "accepted"}
    assert accepted == {("2013-01-01", "2013-01-02")}
    assert covered(session) == ["days"]
    assert covered(session, "2013-01-02", "2013-01-03") == ["hours"]


def test_a_table_that_is_added_serves(session: Session) -> None:
    run(session, ADD_DAYS)
    assert covered(session) == ["hours"]
    assert [row[4:6] for row in run(session, "REFRESH FACT f")] == [("missing", "refreshed")]
    assert covered(session) == ["days"]
    run(session, ADD_WEEKS)
    assert covered(session) == ["days"]
    text = str(run(session, "SHOW CREATE FACT f")[0][0])
    assert "TABLE default.days PERIOD DAILY" in text.replace("`", "")
    assert "STORED IN STORAGE cold" in text.replace("\n", " ")
    shown = [(row[0], row[1], row[2]) for row in run(session, "DESCRIBE FACT f")]
    assert shown == [("default", "hours", "HOURLY"), ("default", "days", "DAILY"), ("cold", "weeks", "WEEKLY")]


def test_what_a_table_held_before_is_judged_as_create_fact_judges_it(session: Session) -> None:
    run(session, FILL)
    run(session, "INSERT INTO hours VALUES (1, '2013-01-02-05')")
    run(session, ADD_DAYS)
    assert_only_the_first_day_agrees(session)


def test_a_table_that_left_serves_no_more_and_the_others_stay_as_they_were(session: Session) -> None:
    run(session, f"{ADD_DAYS}; {FILL}; {ADD_WEEKS}; INSERT INTO hours VALUES (1, '2013-01-02-05')")
    run(session, "ALTER FACT f DROP STORAGE weeks")
    assert covered(session) == ["days"]
    assert covered(session, "2013-01-02", "2013-01-03") == ["hours"]
    assert {row[0] for row in run(session, "DESCRIBE FACT f")} == {"default"}
    run(session, "ALTER FACT f DROP STORAGE days")
    assert covered(session) == ["hours"]
    run(session, "DROP TABLE days")


def test_a_table_that_comes_back_was_not_watched_meanwhile(session: Session) -> None:
    run(session, f"{ADD_DAYS}; {FILL}; ALTER FACT f DROP STORAGE days; INSERT INTO hours VALUES (1, '2013-01-02-05')")
    run(session, ADD_DAYS)
    assert_only_the_first_day_agrees(session)


def test_base_partitions_that_a_table_brings_are_news(session: Session) -> None:
    run(session, f"{ADD_DAYS}; {FILL}; CREATE TABLE more (n BIGINT) PARTITIONED BY (dt STRING)")
    run(session, "INSERT INTO more VALUES (1, '2013-01-02-05')")
    run(session, "ALTER FACT f ADD STORAGE (TABLE more PERIOD HOURLY PARTITIONED BY t AS (dt))")
    assert covered(session) == ["days"]
    assert "days" not in covered(session, "2013-01-02", "2013-01-03")
    # What outdated the day stays, though the table that did it goes.
    run(session, "ALTER FACT f DROP STORAGE more")
    assert covered(session, "2013-01-02", "2013-01-03") == ["hours"]
    assert [row[4:6] for row in run(session, "REFRESH FACT f")] == [("outdated", "refreshed")]
    assert covered(session, "2013-01-02", "2013-01-03") == ["days"]


def test_partitions_without_content_that_a_table_brings_are_no_news(session: Session) -> None:
    # One was dropped before the table came, and one was registered and never written.
    run(session, f"{ADD_DAYS}; {FILL}; CREATE TABLE more (n BIGINT) PARTITIONED BY (dt STRING)")
    run(session, "INSERT INTO more VALUES (1, '2013-01-01-05'), (1, '2013-01-02-05')")
    run(session, "ALTER TABLE more DROP PARTITION (dt = '2013-01-01-05')")
    run(session, "ALTER TABLE more ADD PARTITION (dt = '2013-01-01-06')")
    run(session, "ALTER FACT f ADD STORAGE (TABLE more PERIOD HOURLY PARTITIONED BY t AS (dt))")
    assert covered(session) == ["days"]
    assert "days" not in covered(session, "2013-01-02", "2013-01-03")


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("ALTER FACT f DROP STORAGE hours", "INVALID_FACT"),
        ("ALTER FACT f DROP STORAGE days", "INVALID_FACT"),
        ("ALTER FACT g DROP STORAGE hours", "FACT_NOT_FOUND"),
        ("ALTER FACT f ADD STORAGE (TABLE nothing PERIOD DAILY PARTITIONED BY t AS (ds))", "TABLE_OR_VIEW_NOT_FOUND"),
        ("ALTER FACT f ADD STORAGE (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt))", "TABLE_IN_USE"),
        ("ALTER FACT f ADD STORAGE (TABLE days PERIOD MINUTELY PARTITIONED BY t AS (ds))", "INVALID_FACT"),
        (f"{ADD_DAYS} START '2013'", "INVALID_FACT"),
        (f"{ADD_DAYS}; ALTER FACT f DROP STORAGE hours", "INVALID_FACT"),
        (f"{ADD_DAYS}; DROP TABLE days", "TABLE_IN_USE"),
        (
            "ALTER FACT f ADD STORAGE s (TABLE days PERIOD DAILY PARTITIONED BY t AS (ds)) START '2014' END '2013'",
            "INVALID_FACT",
        ),
    ],
)
def test_what_does_not_fit_is_refused(session: Session, statement: str, condition: str) -> None:
    with pytest.raises(Error) as caught:
        run(session, statement)
    assert caught.value.condition == condition, caught.value
    assert caught.value.position is not None
    assert covered(session) == ["hours"]


def test_two_sessions_that_alter_a_fact_meet(session: Session, tmp_path: Path, catalog_url: str | None) -> None:
    run(session, "CREATE TABLE other (n BIGINT) PARTITIONED BY (ds STRING)")
    with Session(tmp_path, "duckdb", catalog=catalog_url) as another:
        run(another, "SHOW FACTS")
        run(session, ADD_DAYS)
        run(another, "ALTER FACT f ADD STORAGE (TABLE other PERIOD DAILY PARTITIONED BY t AS (ds))")
    assert [row[1] for row in run(session, "DESCRIBE FACT f")] == ["hours", "days", "other"]


def test_a_catalog_with_them_is_whole_dumped_and_restored(tmp_path: Path) -> None:
    with Session(tmp_path / "w", "duckdb") as session:
        run(session, f"{SETUP}; {ADD_DAYS}; {FILL}; {ADD_WEEKS}; ALTER FACT f DROP STORAGE weeks; {ADD_WEEKS}")
        before = session.catalog.snapshot().fact("f")
        assert [stored.joined > 0 for stored in before.tables] == [False, True, True]
        assert list(findings(session.catalog.database)) == []
        lines = list(dump(session.catalog.database, session.catalog.warehouse))
    for file in (tmp_path / "w").glob("catalog.db*"):
        file.unlink()
    Catalog.restore(tmp_path / "w", None, lines)
    with Session(tmp_path / "w", "duckdb") as session:
        assert session.catalog.snapshot().fact("f") == before
        assert covered(session) == ["days"]
