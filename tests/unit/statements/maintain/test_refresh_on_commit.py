"""REFRESH ON COMMIT: which writes refresh which rollups, and what a failure leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from rewriter.errors import ConflictError, DataError
from rewriter.session import Session
from rewriter.statements.maintain import refresh_on_commit

FACT = (
    "CREATE FACT f OF CUBE v REFRESH ON COMMIT STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (dt)) "
    "ROLLUPS (DAILY, DAILY ())"
)
LOAD = "INSERT INTO h MARK COMPLETE FROM '2024-01-01' TO '2024-01-05' VALUES ('a', 1, '2024-01-01-03')"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "w", "duckdb") as opened:
        opened.execute("CREATE CUBE v (page STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
        opened.execute("CREATE TABLE h (page STRING, n BIGINT) PARTITIONED BY (dt STRING)")
        opened.execute(FACT)
        yield opened


def to_refresh(session: Session) -> int:
    rows = session.execute("REFRESH FACT f DRY RUN").rows()
    return sum(int(str(row[6])) for row in rows if row[5] == "to refresh")


def test_writes_of_the_base_refresh_rollups(session: Session) -> None:
    assert session.execute(LOAD).warnings == ()
    assert to_refresh(session) == 0
    query = "SELECT page, SUM(n) FROM v WHERE t >= '2024-01-01' AND t < '2024-01-02' GROUP BY page ORDER BY page"
    assert "FROM f_daily WHERE" in session.plan(query).sql
    session.execute("INSERT INTO h VALUES ('b', 2, '2024-01-01-09')")
    assert to_refresh(session) == 0
    assert "FROM f_daily WHERE" in session.plan(query).sql
    assert list(session.execute(query).rows()) == [("a", 1), ("b", 2)]
    session.append("h", pa.table({"page": ["c"], "n": [4], "dt": ["2024-01-01-10"]}))
    assert list(session.execute(query).rows()) == [("a", 1), ("b", 2), ("c", 4)]
    assert to_refresh(session) == 0
    session.execute("START TRANSACTION")
    session.execute("INSERT INTO h VALUES ('b', 8, '2024-01-01-09')")
    session.execute("COMMIT")
    assert to_refresh(session) == 2


def test_it_is_declared_and_changed(session: Session) -> None:
    ((shown,),) = session.execute("SHOW CREATE FACT f").rows()
    assert "REFRESH ON COMMIT" in str(shown)
    session.execute("ALTER FACT f UNSET REFRESH ON COMMIT")
    session.execute(LOAD)
    assert to_refresh(session) == 8
    session.execute("ALTER FACT f SET REFRESH ON COMMIT")
    session.execute("INSERT INTO h VALUES ('b', 2, '2024-01-01-09')")
    assert to_refresh(session) == 0


@pytest.mark.parametrize("error", [DataError("the disk is full"), ConflictError("another was faster")])
def test_a_failure_leaves_the_write(
    session: Session, error: DataError | ConflictError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(refresh_on_commit, "refresh_fact", fail)
        warnings = session.execute(LOAD).warnings
    expected = "f: the write is committed, but its rollups were not refreshed: the disk is full"
    assert warnings == ((expected,) if isinstance(error, DataError) else ())
    assert to_refresh(session) == 8


def test_the_work_of_a_statement_is_bounded(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh_on_commit, "_MOST", 3)
    session.execute(LOAD)
    assert to_refresh(session) == 5
    session.execute("INSERT INTO h VALUES ('b', 2, '2024-01-04-09')")
    assert to_refresh(session) == 2
