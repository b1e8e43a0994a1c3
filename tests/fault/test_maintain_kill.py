"""A process killed at a moment of MAINTAIN, of a write with REFRESH ON COMMIT or of ALTER CUBE or FACT loses nothing.

Queries return what they returned before, or fail, and the next run does what is left. Every n-th moment is tried, from
one that the commit selects. ``pytest -m long tests/fault/test_maintain_kill.py`` tries all of them.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kills import killed_at
from rotation import turn

from rewriter.errors import Error, MissingDataError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

WORLD = """
CREATE CUBE v (page STRING, n INT MEASURE COUNT EVENTS, late INT MEASURE SUM, t TIMESTAMP TIME);
CREATE TABLE h (page STRING, n INT, city STRING, late INT, worst INT) PARTITIONED BY (dt DATE);
CREATE FACT f OF CUBE v STORED IN (TABLE h PERIOD DAILY PARTITIONED BY t AS (dt) RETAIN 1 DAY)
ROLLUPS (MONTHLY RETAIN 1 YEAR, MONTHLY (), YEARLY);
INSERT INTO h MARK COMPLETE FROM '2014-01-01' TO '2015-01-01'
  SELECT concat('k', id % 3), 1, concat('c', id % 2), 2, CAST(id AS INT), date_add(DATE '2014-01-01', CAST(id AS INT))
  FROM range(365)
"""
REFRESHED = ("REFRESH FACT f", "ALTER FACT f SET REFRESH ON COMMIT")
LOG = (
    "CREATE TABLE log (m BIGINT) PARTITIONED BY (day DATE) TBLPROPERTIES ('rewriter.retain' = '30 days')",
    "INSERT INTO log SELECT 1, date_add(DATE '2014-01-01', CAST(id AS INT)) FROM range(40)",
    "INSERT INTO log SELECT 2, date_add(current_date, -CAST(id AS INT)) FROM range(20)",
)
MONTHS = "SELECT page, SUM(n) FROM v WHERE t >= '2014-02-01' AND t < '2014-05-01' GROUP BY page ORDER BY page"
YEAR = "SELECT SUM(n) FROM v WHERE t >= '2014-01-01' AND t < '2015-01-01'"
#: Queries of columns that the cube has before or after a statement, and the same over the base.
COLUMNS = (
    (
        "SELECT city, SUM(n) FROM v WHERE {year} GROUP BY city ORDER BY city",
        "SELECT city, SUM(n) FROM h GROUP BY city ORDER BY city",
    ),
    ("SELECT MAX(worst) FROM v WHERE {year}", "SELECT MAX(worst) FROM h"),
    ("SELECT SUM(late) FROM v WHERE {year}", "SELECT SUM(late) FROM h"),
)


#: Statements that change a fact or its base, and what comes before each.
CHANGES: dict[str, tuple[str, ...]] = {
    "ALTER CUBE v ADD (city STRING, worst INT MEASURE MAX)": (),
    "ALTER CUBE v ALTER n TYPE BIGINT": (),
    "ALTER CUBE v DROP (late)": (),
    "ALTER FACT f ADD ROLLUP MONTHLY (city)": ("ALTER CUBE v ADD (city STRING)",),
    "ALTER FACT f DROP ROLLUP MONTHLY ()": (),
    "ALTER FACT f TABLE h SET RETAIN 9 DAYS": (),
    "DROP FACT f": (),
    "INSERT INTO h VALUES ('k1', 1, 'y', 3, 999, DATE '2014-02-02')": (),
    "INSERT OVERWRITE h VALUES ('k1', 5, 'y', 3, 999, DATE '2014-02-02')": (),
}


def results(session: Session) -> list[object]:
    shown: list[object] = []
    for query in (MONTHS, YEAR):
        try:
            shown.append(session.execute(query).fetch())
        except MissingDataError:
            shown.append(None)
    return shown


def kills(folder: Path, duckdb: DuckDBEngine, setup: tuple[str, ...], statement: str, stride: int) -> Iterator[Session]:
    """Yields a session after each kill, over a warehouse in which the statement was killed at another moment; the last
    one was not killed.
    """
    warehouse, template = folder / "warehouse", folder / "template"
    with Session(warehouse, duckdb) as session:
        list(session.script(WORLD))
        for first in setup:
            session.execute(first)
    shutil.copytree(warehouse, template)
    for moment in itertools.count(1 + turn() % stride, stride):
        is_killed = killed_at(warehouse, statement, moment)
        with Session(warehouse, duckdb) as session:
            yield session
        if not is_killed:
            assert moment > stride, "no moment was tried"
            return
        shutil.rmtree(warehouse)
        shutil.copytree(template, warehouse)


@pytest.mark.share(1)
@pytest.mark.parametrize("stride", [151, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_maintenance_goes_on(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    with Session(tmp_path / "right", duckdb) as session:
        list(session.script(WORLD))
        right = results(session)
    for session in kills(tmp_path, duckdb, (), "MAINTAIN FACT f", stride):
        left = results(session)
        assert all(now in (then, None) for then, now in zip(right, left, strict=True))
        session.execute("MAINTAIN FACT f")
        assert results(session)[1] == right[1]
        assert [row for row in session.execute("MAINTAIN FACT f").fetch() if row[7] == "dropped"] == []
        assert session.execute("SELECT COUNT(*) FROM h").fetch() == [(0,)]


@pytest.mark.share(1)
@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_maintenance_of_a_table_goes_on(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    for session in kills(tmp_path, duckdb, LOG, "MAINTAIN TABLE log", stride):
        counts = dict(session.execute("SELECT m, COUNT(*) FROM log GROUP BY m").fetch())
        assert counts in ({1: 40, 2: 20}, {2: 20})
        session.execute("MAINTAIN TABLE log")
        assert session.execute("SELECT m, COUNT(*) FROM log GROUP BY m").fetch() == [(2, 20)]


@pytest.mark.share(len(CHANGES))
@pytest.mark.parametrize("statement", CHANGES)
def test_a_killed_change_is_made_or_not(tmp_path: Path, duckdb: DuckDBEngine, statement: str) -> None:
    check_change(tmp_path, duckdb, statement, stride=97 if statement.startswith("INSERT") else 19)


@pytest.mark.long
@pytest.mark.parametrize("statement", CHANGES)
def test_a_change_is_killed_at_each_moment(tmp_path: Path, duckdb: DuckDBEngine, statement: str) -> None:
    check_change(tmp_path, duckdb, statement, stride=1)


def check_change(folder: Path, duckdb: DuckDBEngine, statement: str, stride: int) -> None:
    year = "t >= '2014-01-01' AND t < '2015-01-01'"
    for session in kills(folder, duckdb, (*REFRESHED, *CHANGES[statement]), statement, stride):
        if not session.execute("SHOW FACTS").fetch():
            assert session.execute("SELECT COUNT(*) FROM h").fetch() == [(365,)]
            continue
        ((rows,),) = session.execute("SELECT SUM(n) FROM h").fetch()
        for _ in range(2):
            assert results(session)[1] == [(rows,)]
            for query, plain in COLUMNS:
                try:
                    found = session.execute(query.format(year=year)).fetch()
                except Error as error:
                    assert error.condition.startswith("UNRESOLVED_COLUMN"), error  # noqa: PT017
                else:
                    assert found == session.execute(plain).fetch()
            session.execute("REFRESH FACT f")
        assert session.execute("CHECK FACT f").differs is False


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
def test_a_killed_rename_is_made_everywhere_or_nowhere(tmp_path: Path, duckdb: DuckDBEngine, stride: int) -> None:
    with Session(tmp_path / "right", duckdb) as session:
        list(session.script(WORLD))
        session.execute("REFRESH FACT f")
        right = results(session)
    for session in kills(tmp_path, duckdb, REFRESHED, "ALTER CUBE v RENAME COLUMN page TO url", stride):
        name = str(session.execute("DESCRIBE v").fetch()[0][0])
        assert name in ("page", "url")
        assert [session.execute(MONTHS.replace("page", name)).fetch(), session.execute(YEAR).fetch()] == right
        for table in ("h", "f_yearly"):
            assert session.execute(f"SELECT COUNT({name}) FROM {table}").fetch() != [(0,)]
        assert session.execute("REFRESH FACT f DRY RUN").fetch() == []
        assert session.execute("CHECK FACT f").differs is False


@pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("change", ["RENAME COLUMN a TO c", "DROP COLUMN a"])
def test_a_killed_change_of_a_column_is_made_or_not(
    tmp_path: Path, duckdb: DuckDBEngine, change: str, stride: int
) -> None:
    setup = ("CREATE TABLE pair (a INT, b INT)", "INSERT INTO pair VALUES (1, 2)")
    for session in kills(tmp_path, duckdb, setup, f"ALTER TABLE pair {change}", stride):
        left = session.execute("SELECT * FROM pair").fetch()
        assert left in ([(1, 2)], [(2,)] if "DROP" in change else [(1, 2)])
        if len(session.execute("SHOW COLUMNS IN pair").fetch()) == 1:
            session.execute("ALTER TABLE pair ADD COLUMNS (a INT)")
            assert session.execute("SELECT a FROM pair").fetch() == [(None,)]
