"""A process killed at a moment of MAINTAIN FACT, of a write with REFRESH ON COMMIT or of ALTER CUBE loses nothing.

Queries return what they returned before, or fail, and the next run does what is left. Every n-th moment is tried, from
one that the commit selects. ``pytest -m long tests/fault/test_maintain_kill.py`` tries all of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn

from rewriter.errors import MissingDataError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

WORLD = """
CREATE CUBE v (page STRING, n INT MEASURE COUNT, t TIMESTAMP TIME);
CREATE TABLE h (page STRING, n INT, city STRING) PARTITIONED BY (dt DATE);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (dt) RETAIN 1 DAY)
ROLLUPS (MONTHLY RETAIN 1 YEAR, MONTHLY (), YEARLY);
INSERT INTO h MARK COMPLETE FROM '2014-01-01' TO '2015-01-01'
  SELECT concat('k', id % 3), 1, 'x', date_add(DATE '2014-01-01', CAST(id AS INT)) FROM range(365)
"""
MONTHS = "SELECT page, SUM(n) FROM v WHERE t >= '2014-02-01' AND t < '2014-05-01' GROUP BY page ORDER BY page"
YEAR = "SELECT SUM(n) FROM v WHERE t >= '2014-01-01' AND t < '2015-01-01'"


def results(session: Session) -> list[object]:
    shown: list[object] = []
    for query in (MONTHS, YEAR):
        try:
            shown.append(session.execute(query).fetch())
        except MissingDataError:
            shown.append(None)
    return shown


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_maintenance_goes_on(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    moment, rounds = 1 + turn() % stride, 0
    for number in range(400):
        folder = tmp_path / str(number)
        with Session(folder, duckdb) as session:
            list(session.script(WORLD))
            right = results(session)
            is_killed = killed_at(folder, "MAINTAIN FACT f", moment)
            left = results(session)
            assert all(now in (then, None) for then, now in zip(right, left, strict=True)), f"moment {moment}"
            session.execute("MAINTAIN FACT f")
            assert results(session)[1] == right[1], f"moment {moment}"
            assert [row for row in session.execute("MAINTAIN FACT f").fetch() if row[7] == "dropped"] == []
            assert session.execute("SELECT COUNT(*) FROM h").fetch() == [(0,)]
        if not is_killed:
            break
        moment, rounds = moment + stride, rounds + 1
    assert rounds > 1


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER CUBE v ADD (city STRING)",
        "ALTER CUBE v ALTER n TYPE BIGINT",
        "INSERT INTO h VALUES ('k1', 1, 'y', DATE '2014-02-02')",
    ],
)
def test_a_killed_change_is_made_or_not(tmp_path: Path, duckdb: DuckDBEngine, statement: str, stride: int) -> None:
    moment, rounds = 1 + turn() % stride, 0
    for number in range(400):
        folder = tmp_path / str(number)
        with Session(folder, duckdb) as session:
            list(session.script(WORLD))
            session.execute("REFRESH FACT f")
            session.execute("ALTER FACT f SET REFRESH ON COMMIT")
            before = results(session)[1]
            is_killed = killed_at(folder, statement, moment)
            ((rows,),) = session.execute("SELECT SUM(n) FROM h").fetch()
            assert results(session)[1] == [(rows,)], f"moment {moment}"
            assert before == [(365,)]
            session.execute("REFRESH FACT f")
            assert results(session)[1] == [(rows,)]
            assert session.execute("CHECK FACT f").differs is False
        if not is_killed:
            break
        moment, rounds = moment + stride, rounds + 1
    assert rounds >= 1


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_rename_is_made_everywhere_or_nowhere(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    moment, rounds = 1 + turn() % stride, 0
    for number in range(400):
        folder = tmp_path / str(number)
        with Session(folder, duckdb) as session:
            list(session.script(WORLD))
            session.execute("REFRESH FACT f")
            right = results(session)
            is_killed = killed_at(folder, "ALTER CUBE v RENAME COLUMN page TO url", moment)
            name = str(session.execute("DESCRIBE v").fetch()[0][0])
            assert name in ("page", "url")
            months = session.execute(MONTHS.replace("page", name)).fetch()
            assert [months, session.execute(YEAR).fetch()] == right, f"moment {moment}"
            for table in ("h", "f_yearly"):
                assert session.execute(f"SELECT COUNT({name}) FROM {table}").fetch() != [(0,)], f"moment {moment}"
            assert session.execute("REFRESH FACT f DRY RUN").fetch() == []
            assert session.execute("CHECK FACT f").differs is False
        if not is_killed:
            break
        moment, rounds = moment + stride, rounds + 1
    assert rounds >= 1


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("change", ["RENAME COLUMN a TO c", "DROP COLUMN a"])
def test_a_killed_change_of_a_column_is_made_or_not(
    tmp_path: Path, duckdb: DuckDBEngine, change: str, stride: int
) -> None:
    moment, rounds = 1 + turn() % stride, 0
    for number in range(400):
        folder = tmp_path / str(number)
        with Session(folder, duckdb) as session:
            session.execute("CREATE TABLE t (a INT, b INT)")
            session.execute("INSERT INTO t VALUES (1, 2)")
            is_killed = killed_at(folder, f"ALTER TABLE t {change}", moment)
            left = session.execute("SELECT * FROM t").fetch()
            assert left in ([(1, 2)], [(2,)] if "DROP" in change else [(1, 2)]), f"moment {moment}"
            if len(session.execute("SHOW COLUMNS IN t").fetch()) == 1:
                session.execute("ALTER TABLE t ADD COLUMNS (a INT)")
                assert session.execute("SELECT a FROM t").fetch() == [(None,)]
        if not is_killed:
            break
        moment, rounds = moment + stride, rounds + 1
    assert rounds >= 1
