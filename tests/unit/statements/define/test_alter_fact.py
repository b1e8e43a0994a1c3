"""ALTER FACT: what a fact says of itself, and that nothing else of it changes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog import Catalog
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.catalog.maintenance.dump import dump
from rewriter.errors import AnalysisError, DataError, Error, NotSupportedError
from rewriter.session import Session

FACT = """CREATE FACT all_sales OF CUBE sales
LATENESS '6 hours'
STORED IN (
  TABLE sale_hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'),
  TABLE sale_days PERIOD DAILY PARTITIONED BY t AS (ds = 'yyyy-MM-dd'),
  TABLE sale_months PERIOD MONTHLY PARTITIONED BY t AS (m = 'yyyy-MM'))"""

SETUP = f"""
CREATE CUBE sales (n BIGINT MEASURE COUNT NOT NULL, t TIMESTAMP TIME);
CREATE TABLE sale_hours (n BIGINT) PARTITIONED BY (dt STRING);
CREATE TABLE sale_days (n BIGINT) PARTITIONED BY (ds STRING);
CREATE TABLE sale_months (n BIGINT) PARTITIONED BY (m STRING);
{FACT};
INSERT INTO sale_hours SELECT 1, concat('2013-01-01-', a.x, b.x) FROM VALUES ('0'), ('1'), ('2') AS a(x)
  CROSS JOIN VALUES ('0'), ('1'), ('2'), ('3'), ('4'), ('5'), ('6'), ('7'), ('8'), ('9') AS b(x)
  WHERE concat(a.x, b.x) < '24';
REFRESH FACT all_sales
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path, "duckdb") as opened:
        run(opened, SETUP)
        yield opened


def run(session: Session, text: str) -> list[tuple[object, ...]]:
    return [row for _, result in session.script(text) for row in result.rows()]


def cover(session: Session) -> list[tuple[str, str]]:
    result = session.execute("SELECT COUNT(*) FROM sales WHERE t >= '2013-01-01' AND t < '2013-01-02'")
    list(result.rows())
    return [(part.fact, part.table) for reference in result.coverage.references for part in reference.parts]


def statement(session: Session) -> str:
    return str(run(session, "SHOW CREATE FACT all_sales")[0][0]).replace("default.", "")


def lateness(session: Session) -> set[object]:
    result = session.execute("DESCRIBE FACT all_sales")
    assert result.columns is not None
    assert result.columns[-1].name == "lateness"
    return {row[-1] for row in result.rows()}


def test_lateness_is_declared_and_shown(session: Session) -> None:
    assert statement(session) == FACT
    assert lateness(session) == {"6 hours"}


def test_it_is_set_and_taken_away(session: Session) -> None:
    run(session, "ALTER FACT all_sales SET LATENESS '1 day 12 hours'")
    assert statement(session) == FACT.replace("6 hours", "1 day 12 hours")
    assert lateness(session) == {"1 day 12 hours"}
    run(session, "alter fact all_sales unset lateness")
    assert "LATENESS" not in statement(session)
    assert lateness(session) == {None}
    run(session, "ALTER FACT all_sales UNSET LATENESS")


def test_timelines_and_freshness_survive(session: Session) -> None:
    run(session, "INSERT OVERWRITE sale_months SELECT n, '2013-01' FROM sale_days WHERE ds = '2013-01-01'")
    before = run(session, "SHOW TIMELINES OF all_sales")
    assert cover(session) == [("all_sales", "sale_days")]
    for action in ("SET LATENESS '3 hours'", "UNSET LATENESS", "SET LATENESS '2 days'"):
        run(session, f"ALTER FACT all_sales {action}")
        # What was computed of a rollup is judged by the commit that made the fact, not by the one that altered it.
        assert run(session, "REFRESH TIMELINES OF all_sales") == []
        assert run(session, "SHOW TIMELINES OF all_sales") == before
        assert cover(session) == [("all_sales", "sale_days")]
    run(session, "INSERT INTO sale_hours VALUES (1, '2013-01-01-05')")
    assert cover(session) == [("all_sales", "sale_hours")]


def test_a_check_and_a_dump_of_the_catalog_know_it(session: Session, tmp_path: Path) -> None:
    run(session, "INSERT OVERWRITE sale_months SELECT n, '2013-01' FROM sale_days WHERE ds = '2013-01-01'")
    run(session, "ALTER FACT all_sales SET LATENESS '3 hours'")
    lines = list(dump(session.catalog.database, session.catalog.warehouse))
    assert list(findings(session.catalog.database)) == []
    session.close()
    for file in tmp_path.glob("catalog.db*"):
        file.unlink()
    Catalog.restore(tmp_path, None, lines)
    catalog = Catalog.open(tmp_path)
    assert catalog.snapshot().fact("all_sales").lateness == "3 hours"
    assert catalog.events()[-2].kind == "ALTER_FACT"
    catalog.close()


@pytest.mark.parametrize(
    "length", ["", "6", "hours", "6 fortnights", "-6 hours", "6 hours!", "now - 6 hours", "9999 years"]
)
def test_what_is_no_length_of_time_is_refused(session: Session, length: str) -> None:
    for text in (
        f"ALTER FACT all_sales SET LATENESS '{length}'",
        FACT.replace("6 hours", length).replace("all_", "x_"),
    ):
        with pytest.raises(DataError) as caught:
            run(session, text)
        assert caught.value.condition == "INVALID_LATENESS"
        position = caught.value.position
        assert position is not None
        assert text[position.start : position.end] == f"'{length}'"
    assert lateness(session) == {"6 hours"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ALTER FACT nothing SET LATENESS '1 hour'", AnalysisError),
        ("ALTER FACT sales SET LATENESS '1 hour'", AnalysisError),
        ("ALTER FACT all_sales SET LATENESS 6", Error),
        ("ALTER FACT all_sales SET WEIGHT 6", Error),
        ("ALTER FACT all_sales RENAME TO f", NotSupportedError),
    ],
)
def test_what_it_cannot_do(session: Session, text: str, kind: type[Error]) -> None:
    with pytest.raises(kind):
        run(session, text)
    assert statement(session) == FACT


def test_it_commits_by_itself(session: Session) -> None:
    run(session, "START TRANSACTION")
    with pytest.raises(NotSupportedError) as caught:
        run(session, "ALTER FACT all_sales UNSET LATENESS")
    assert caught.value.condition == "NOT_IN_TRANSACTION"
    run(session, "ROLLBACK")
