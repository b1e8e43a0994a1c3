"""Queries that miss what rollups would serve: the hint names the statement that makes these serve, and it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import MissingDataError
from rewriter.session import Session

DAY = "SELECT COUNT(*) FROM c WHERE t >= '2013-01-01' AND t < '2013-01-02'"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        rows = ", ".join(f"(1, '2013-01-01-{hour:02d}')" for hour in range(24))
        run(
            opened,
            f"""CREATE CUBE c (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME);
            CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING);
            CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING);
            CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt),
              TABLE days PERIOD DAILY PARTITIONED BY t AS (ds));
            INSERT INTO hours VALUES {rows}""",
        )
        yield opened


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    return [row for _, result in session.script(text) for row in result.rows()]


def hint(session: Session) -> str:
    with pytest.raises(MissingDataError) as caught:
        session.execute(DAY)
    assert "Load the missing partitions" in str(caught.value.hint)
    return str(caught.value.hint)


def test_unproven_rollups_of_a_base_that_is_there_are_checked_or_refreshed(session: Session) -> None:
    run(session, "INSERT INTO days VALUES (24, '2013-01-01'); SET rewriter.periods = 'DAILY'")
    told = hint(session)
    assert "CHECK FACT f FROM '2013-01-01' TO '2013-01-02' ACCEPT proves rollups that agree with the base." in told
    assert "REFRESH FACT f FROM '2013-01-01' TO '2013-01-02' computes rollups of days from the base." in told
    assert "TRUSTED" not in told
    run(session, "CHECK FACT f FROM '2013-01-01' TO '2013-01-02' ACCEPT")
    assert run(session, DAY) == [(24,)]


def test_outdated_rollups_of_a_base_that_is_there_are_refreshed(session: Session) -> None:
    run(session, "REFRESH FACT f; INSERT INTO hours VALUES (1, '2013-01-01-05'); SET rewriter.periods = 'DAILY'")
    told = hint(session)
    assert "REFRESH FACT f FROM '2013-01-01' TO '2013-01-02' computes rollups of days" in told
    assert "CHECK FACT" not in told
    run(session, "REFRESH FACT f FROM '2013-01-01' TO '2013-01-02'")
    assert run(session, DAY) == [(25,)]


def test_unproven_rollups_of_a_base_that_was_dropped_need_a_word(session: Session) -> None:
    run(session, "INSERT INTO days VALUES (24, '2013-01-01'); ALTER TABLE hours DROP PARTITION (dt < '2013-01-01-12')")
    told = hint(session)
    assert "At [2013-01-01, 2013-01-02) days has rollups without a proof, and their base is incomplete" in told
    assert "load the base and run CHECK FACT f ACCEPT" in told
    assert "ALTER FACT f TABLE days SET TRUSTED" in told
    assert "REFRESH FACT" not in told
    run(session, "ALTER FACT f TABLE days SET TRUSTED")
    assert run(session, DAY) == [(24,)]


def test_incomplete_rollups_are_marked_complete(session: Session) -> None:
    day = "SELECT SUM(n), '2013-01-02' FROM hours WHERE dt >= '2013-01-02' AND dt < '2013-01-03'"
    run(session, f"INSERT INTO hours VALUES (1, '2013-01-02-05'); INSERT INTO days {day}")
    next_day = DAY.replace("01-02'", "01-03'").replace("01-01'", "01-02'")
    with pytest.raises(MissingDataError) as caught:
        session.execute(next_day)
    told = str(caught.value.hint)
    assert "ALTER FACT f MARK COMPLETE FROM '2013-01-02' TO '2013-01-03'" in told
    run(session, "ALTER FACT f MARK COMPLETE FROM '2013-01-02' TO '2013-01-03'")
    assert run(session, next_day) == [(1,)]


def test_outdated_rollups_of_a_base_that_is_not_there_are_on_no_word(session: Session) -> None:
    run(session, "REFRESH FACT f; INSERT INTO hours VALUES (1, '2013-01-01-05')")
    run(session, "ALTER TABLE hours DROP PARTITION (dt < '2013-01-01-12')")
    told = hint(session)
    assert "TRUSTED" not in told
    assert "REFRESH" not in told


def test_rollups_that_were_not_asked_for_are_not_named(session: Session) -> None:
    run(session, "INSERT INTO days VALUES (24, '2013-01-05'); ALTER TABLE hours DROP PARTITION (dt < '2013-01-01-12')")
    told = hint(session)
    assert "CHECK FACT" not in told
    assert "TRUSTED" not in told
