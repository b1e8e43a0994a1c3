"""Rollups that INSERT computes from TRUSTED and accepted rollups: they serve as long as the word holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from results import named_rows

from rewriter.session import Session

COUNT = "SELECT COUNT(*) FROM c WHERE t >= '2013-01-01' AND t < '2013-02-01'"
MONTH = "m = '2013-01'"
DAYS = [f"2013-01-{day:02d}" for day in range(1, 32)]


def rows(count: int, periods: Sequence[str]) -> str:
    return ", ".join(f"({count}, '{period}')" for period in periods)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A fact of hours, days and months. Each day of January has one event, and the days say that there are 30."""
    with Session(tmp_path, "duckdb") as opened:
        for statement in (
            "CREATE CUBE c (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME)",
            "CREATE TABLE hours (n BIGINT) PARTITIONED BY (dt STRING)",
            "CREATE TABLE days (n BIGINT) PARTITIONED BY (ds STRING)",
            "CREATE TABLE months (n BIGINT) PARTITIONED BY (m STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
            "TABLE days PERIOD DAILY PARTITIONED BY t AS (ds), TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m))",
            f"INSERT INTO hours VALUES {rows(1, [f'{day}-{hour:02d}' for day in DAYS for hour in range(24)])}",
            f"INSERT INTO days VALUES {rows(30, DAYS)}",
            "ALTER FACT f TABLE days SET TRUSTED",
        ):
            opened.execute(statement)
        yield opened


def count(session: Session) -> object:
    ((number,),) = session.execute(COUNT).fetch()
    return number


def months(session: Session) -> tuple[object, ...]:
    (told,) = named_rows(session.execute("SHOW TIMELINES OF f PERIOD MONTHLY"))
    return tuple(told[name] for name in ("partitions", "unproven", "reason"))


FROM_DAYS = f"INSERT OVERWRITE months PARTITION ({MONTH}) SELECT SUM(n) FROM days WHERE ds LIKE '2013-01-%'"
FROM_CUBE = (
    f"INSERT OVERWRITE months PARTITION ({MONTH}) SELECT COUNT(*) FROM c WHERE t >= '2013-01-01' AND t < '2013-02-01'"
)


@pytest.mark.parametrize("statement", [FROM_DAYS, FROM_CUBE])
def test_a_word_that_is_withdrawn_serves_no_longer(session: Session, statement: str) -> None:
    session.execute(statement)
    assert count(session) == 930
    assert months(session) == (1, 0, "1 partition on the word of the owner of days (TRUSTED)")
    session.execute("ALTER FACT f TABLE days UNSET TRUSTED")
    assert count(session) == 744
    used, unproven, reason = months(session)
    assert (used, unproven) == (0, 1)
    assert "the word of the owner of days (TRUSTED)" in str(reason)
    session.execute("ALTER FACT f TABLE days SET TRUSTED")
    assert count(session) == 930


def test_a_rollup_chosen_by_its_period_rests_on_the_same_word(session: Session) -> None:
    session.execute("SET rewriter.periods = 'DAILY'")
    session.execute(FROM_CUBE)
    session.execute("RESET rewriter.periods")
    session.execute("ALTER FACT f DROP STORAGE days")
    assert count(session) == 744
    session.execute("REFRESH FACT f")
    assert months(session) == (1, 0, None)


def test_explain_names_the_word(session: Session) -> None:
    session.execute(FROM_DAYS)
    lines = [line for (line,) in session.execute(f"EXPLAIN COVER {COUNT}").fetch()]
    assert "months: 1 partition on the word of the owner of days (TRUSTED)" in lines
    days = "SELECT COUNT(*) FROM c WHERE t >= '2013-01-05' AND t < '2013-01-08'"
    assert "days: on the word of its owner (TRUSTED)" in [
        line for (line,) in session.execute(f"EXPLAIN COVER {days}").fetch()
    ]


def test_what_was_computed_from_an_accepted_rollup_follows_it(session: Session) -> None:
    session.execute("ALTER FACT f TABLE days UNSET TRUSTED")
    session.execute(f"INSERT OVERWRITE days VALUES {rows(24, DAYS)}")
    session.execute("CHECK FACT f ACCEPT")
    session.execute(FROM_DAYS)
    assert (count(session), months(session)[:2]) == (744, (1, 0))
    assert "the acceptance of days by CHECK FACT" in str(months(session)[2])
    session.execute("ALTER TABLE days DROP PARTITION (ds = '2013-01-07')")
    assert (count(session), months(session)[:2]) == (744, (0, 1))
    session.execute("CHECK FACT f ACCEPT")
    assert months(session)[:2] == (1, 0)


@pytest.mark.parametrize("later", ["", "INSERT OVERWRITE days VALUES (7, '2013-01-03')"])
def test_a_transaction_of_several_statements(session: Session, later: str) -> None:
    """The month rests on days of the same transaction, and on those that it writes afterwards."""
    for statement in ("BEGIN", "INSERT OVERWRITE days VALUES (5, '2013-01-02')", "SELECT * FROM days", FROM_DAYS):
        session.execute(statement)
    session.execute("SELECT * FROM months")
    for statement in (later, "COMMIT") if later else ("COMMIT",):
        session.execute(statement)
    assert months(session)[:2] == ((0, 1) if later else (1, 0))
    session.execute("ALTER FACT f TABLE days UNSET TRUSTED")
    assert count(session) == 744


def test_a_proven_rollup_that_check_fact_finds_different_is_rejected(session: Session, tmp_path: Path) -> None:
    """Its file was damaged: nothing in the catalog shows that."""
    day = "SELECT COUNT(*) FROM c WHERE t >= '2013-01-05' AND t < '2013-01-06'"
    session.execute("ALTER FACT f TABLE days UNSET TRUSTED")
    session.execute("REFRESH FACT f FORCE")
    assert session.execute(day).fetch() == [(24,)]
    for path in tmp_path.rglob("*.parquet"):
        table = pq.read_table(path)
        if "days-" in str(path.relative_to(tmp_path)) and set(table["n"].to_pylist()) == {24}:
            damaged = table.set_column(table.column_names.index("n"), "n", pa.array([99] * len(table), pa.int64()))
            pq.write_table(damaged, path)
    assert session.execute(day).fetch() == [(99,)]
    assert session.execute("CHECK FACT f").differs
    assert session.execute(day).fetch() == [(99,)]
    findings = {(row["checked"], row["finding"]) for row in named_rows(session.execute("CHECK FACT f ACCEPT"))}
    assert ("days", "rejected") in findings
    assert session.execute(day).fetch() == [(24,)]
    told = named_rows(session.execute("SHOW TIMELINES OF f PERIOD DAILY"))[0]
    assert (told["partitions"], told["unproven"]) == (0, 31)
    assert "CHECK FACT found that it differs from the base" in str(told["reason"])
    session.execute("REFRESH FACT f")
    assert session.execute(day).fetch() == [(24,)]
    assert named_rows(session.execute("SHOW TIMELINES OF f PERIOD DAILY"))[0]["unproven"] == 0
