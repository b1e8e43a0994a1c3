"""Facts with rollups in an external table: CHECK FACT accepts their files, and changes of the files are found later."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.session import Session
from rewriter.statements.maintain import check_fact

DAYS = [f"2013-01-{day:02d}" for day in range(7, 14)]
WEEK, WEEKS = "2013-W02", "TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w)"
COUNT = "SELECT SUM(n) FROM c WHERE t >= '2013-01-07' AND t < '2013-01-14'"
COMPARED = [
    "MSCK REPAIR TABLE weeks",
    "REFRESH TABLE weeks",
    "REFRESH FACT f",
    "REFRESH FACT f FROM '2013-01-09' TO '2013-01-10'",
]
REASON = "its files have changed since CHECK FACT accepted it"


class Watched(DuckDBEngine):
    """DuckDB that lets others act before it reads for a write."""

    def __init__(self) -> None:
        super().__init__()
        self.before_writing: Callable[[], object] = lambda: None

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before_writing = self.before_writing, lambda: None
        act()
        return super().write(query, write)


@pytest.fixture
def engine() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Creates the directory of the external table, with the rows of one week."""
    put(tmp_path / "weeks", WEEK, 7)
    return tmp_path / "weeks"


@pytest.fixture
def session(tmp_path: Path, engine: Watched, folder: Path) -> Iterator[Session]:
    """Opens a warehouse with seven days of one event each, and the external week, which CHECK FACT has accepted."""
    with Session(tmp_path / "warehouse", engine) as opened:
        run(
            opened,
            "CREATE CUBE c (a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE TABLE days (a STRING, n BIGINT) PARTITIONED BY (d STRING)",
            f"CREATE EXTERNAL TABLE weeks (a STRING, n BIGINT) PARTITIONED BY (w STRING) LOCATION '{folder}'",
            f"CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (d), {WEEKS})",
            "INSERT INTO days VALUES " + ", ".join(f"('x', 1, '{day}')" for day in DAYS),
            "MSCK REPAIR TABLE weeks",
            "CHECK FACT f ACCEPT",
        )
        yield opened


def put(folder: Path, week: str, n: int, file: str = "0.parquet") -> None:
    """Writes the file of a week, in place of the one that is there."""
    directory = folder / f"w={week}"
    directory.mkdir(parents=True, exist_ok=True)
    new, path = directory / f".{file}.new", directory / file
    pq.write_table(pa.table({"a": pa.array(["x"]), "n": pa.array([n], pa.int64())}), new)
    before = path.stat().st_mtime_ns if path.exists() else 0
    os.replace(new, path)
    if path.stat().st_mtime_ns <= before:
        os.utime(path, ns=(before + 1, before + 1))


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).fetch()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def findings(session: Session, sql: str) -> list[object]:
    """Returns what CHECK FACT finds in the weeks."""
    return [row[8] for row in rows(session, sql) if row[0] == "weeks"]


def state(session: Session) -> object:
    """Returns the state of the week: fresh, outdated, unproven. A rebuild of the timelines has the same result."""
    assert rows(session, "REFRESH TIMELINES OF f") == []
    week = next(row for row in rows(session, "SHOW TIMELINES OF f") if row[0] == "weeks")
    return "outdated" if week[10] else "unproven" if week[11] else "fresh" if week[6] else None


def accepted(session: Session) -> bool:
    return "accepted" in findings(session, "CHECK FACT f ACCEPT")


@pytest.mark.parametrize("compared", COMPARED)
@pytest.mark.parametrize(
    "change",
    [
        lambda folder: put(folder, WEEK, 777),
        lambda folder: put(folder, WEEK, 777, "1.parquet"),
        lambda folder: (folder / f"w={WEEK}" / "0.parquet").unlink(),
    ],
    ids=["replaced", "added", "removed"],
)
def test_an_accepted_rollup_with_other_files_is_unproven(
    session: Session, folder: Path, compared: str, change: Callable[[Path], object]
) -> None:
    assert state(session) == "fresh"
    run(session, compared)
    assert state(session) == "fresh"  # Nothing has changed.
    change(folder)
    run(session, compared)
    assert state(session) == "unproven"
    assert rows(session, COUNT) == [(7,)]
    plan = "\n".join(str(row[0]) for row in rows(session, f"EXPLAIN COVER {COUNT}"))
    assert "[PARTITIONS_UNPROVEN]" in plan
    assert REASON in plan
    run(session, compared)
    assert rows(session, "MSCK TABLE weeks") == []


def test_accept_accepts_the_new_files_if_they_agree(session: Session, folder: Path) -> None:
    put(folder, WEEK, 777)
    assert findings(session, "CHECK FACT f ACCEPT")[0] == "unproven"
    assert findings(session, "CHECK FACT f ACCEPT")[-1] == "differs"
    assert state(session) == "unproven"
    put(folder, WEEK, 7)
    assert accepted(session)
    assert state(session) == "fresh"
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "fresh"
    put(folder, WEEK, 777)
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "unproven"


def test_check_fact_without_accept_writes_nothing(session: Session, folder: Path) -> None:
    put(folder, WEEK, 777)
    assert findings(session, "CHECK FACT f")[-1] == "differs"
    assert state(session) == "fresh"


def test_an_outdated_rollup_that_was_written_again_is_compared(session: Session, folder: Path) -> None:
    run(session, f"INSERT INTO days VALUES ('x', 3, '{DAYS[2]}')")
    assert state(session) == "outdated"
    assert findings(session, "CHECK FACT f ACCEPT") == ["outdated", "nothing compared"]
    put(folder, WEEK, 9)
    assert findings(session, "CHECK FACT f ACCEPT")[0] == "unproven"
    assert state(session) == "unproven"
    assert rows(session, COUNT) == [(10,)]
    put(folder, WEEK, 10)
    assert findings(session, "CHECK FACT f ACCEPT") == ["unproven", "agrees", "accepted"]
    assert state(session) == "fresh"
    run(session, f"INSERT INTO days VALUES ('x', 3, '{DAYS[2]}')")
    assert state(session) == "outdated"


def test_a_change_during_the_comparison_is_found_later(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, WEEK, 70)
    run(session, "REFRESH TABLE weeks")
    put(folder, WEEK, 7)
    compared = check_fact._compared

    def changed(*arguments: object) -> Iterator[tuple[object, ...]]:
        yield from compared(*arguments)  # type: ignore[arg-type]
        put(folder, WEEK, 777)

    monkeypatch.setattr(check_fact, "_compared", changed)
    assert accepted(session)
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "unproven"


def test_msck_without_repair_tells_and_writes_nothing(session: Session, folder: Path) -> None:
    put(folder, WEEK, 777)
    told = (f"w={WEEK}", "changed on disk", str(folder / f"w={WEEK}"), "the rollup is unproven")
    assert rows(session, "MSCK TABLE weeks") == [told]
    assert state(session) == "fresh"
    assert rows(session, "MSCK REPAIR TABLE weeks") == [(told[0], "noted", *told[2:])]
    assert rows(session, "MSCK TABLE weeks") == []


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT INTO weeks PARTITION (w = '{WEEK}') VALUES ('x', 10)",
        f"INSERT OVERWRITE weeks PARTITION (w = '{WEEK}') VALUES ('x', 10)",
        f"LOAD DATA INPATH '{{file}}' INTO TABLE weeks PARTITION (w = '{WEEK}')",
    ],
    ids=["INTO", "OVERWRITE", "LOAD"],
)
def test_what_we_write_into_an_accepted_rollup_makes_it_unproven(
    session: Session, tmp_path: Path, statement: str
) -> None:
    put(tmp_path / "load", WEEK, 7)
    run(session, statement.format(file=tmp_path / "load" / f"w={WEEK}" / "0.parquet"))
    assert state(session) == "unproven"
    assert rows(session, COUNT) == [(7,)]


def add_copies(session: Session) -> str:
    """Adds a managed table of weeks, and returns the INSERT that computes them from the external ones."""
    run(
        session,
        "CREATE TABLE also (a STRING, n BIGINT) PARTITIONED BY (w STRING)",
        "ALTER FACT f ADD STORAGE (TABLE also PERIOD WEEKLY PARTITIONED BY t AS (w))",
    )
    return "INSERT OVERWRITE also SELECT a, SUM(n), w FROM weeks GROUP BY a, w"


def also(session: Session) -> object:
    row = next(row for row in rows(session, "SHOW TIMELINES OF f") if row[0] == "also")
    return "outdated" if row[10] else "unproven" if row[11] else "fresh" if row[6] else None


def test_a_rollup_of_an_accepted_rollup_is_proven(session: Session) -> None:
    run(session, add_copies(session))
    assert (state(session), also(session)) == ("fresh", "fresh")


def test_a_rollup_of_changed_files_is_unproven(session: Session, folder: Path) -> None:
    insert = add_copies(session)
    put(folder, WEEK, 777)
    run(session, insert)
    assert (state(session), also(session)) == ("unproven", "unproven")
    assert rows(session, COUNT) == [(7,)]


def test_a_rollup_of_files_that_change_meanwhile_is_unproven(session: Session, folder: Path, engine: Watched) -> None:
    insert = add_copies(session)
    engine.before_writing = lambda: put(folder, WEEK, 777)
    run(session, insert)
    assert (state(session), also(session)) == ("unproven", "unproven")
    assert rows(session, COUNT) == [(7,)]


def test_a_transaction_leaves_a_rollup_of_changed_files_unproven(session: Session, folder: Path) -> None:
    insert = add_copies(session)
    put(folder, WEEK, 777)
    run(session, "START TRANSACTION", insert, "SELECT COUNT(*) FROM weeks", "COMMIT")
    assert (state(session), also(session)) == ("unproven", "unproven")
    assert rows(session, COUNT) == [(7,)]


def test_refresh_table_in_a_transaction(session: Session, folder: Path) -> None:
    put(folder, WEEK, 777)
    run(session, "START TRANSACTION", "REFRESH TABLE weeks", "ROLLBACK")
    assert state(session) == "fresh"
    run(session, "START TRANSACTION", "REFRESH TABLE weeks", "COMMIT")
    assert state(session) == "unproven"


def test_a_dry_run_writes_nothing(session: Session, folder: Path) -> None:
    put(folder, WEEK, 777)
    run(session, "REFRESH FACT f DRY RUN")
    assert state(session) == "fresh"


def test_a_new_fact_judges_the_rollup_anew(session: Session, folder: Path) -> None:
    run(session, "DROP FACT f")
    run(session, f"CREATE FACT f OF CUBE c STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (d), {WEEKS})")
    assert state(session) == "unproven"
    put(folder, WEEK, 777)
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "unproven"
    assert rows(session, COUNT) == [(7,)]
    assert rows(session, "MSCK TABLE weeks") == []


def test_a_trusted_rollup_stays_in_use_and_is_unproven_without_the_trust(session: Session, folder: Path) -> None:
    run(session, "ALTER FACT f TABLE weeks SET TRUSTED")
    put(folder, WEEK, 777)
    run(session, "REFRESH TABLE weeks")
    assert rows(session, COUNT) == [(777,)]
    run(session, "ALTER FACT f TABLE weeks UNSET TRUSTED")
    assert state(session) == "unproven"


def test_a_rollup_that_an_earlier_release_accepted_has_no_digest_until_the_next_accept(
    session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, WEEK, 7, "1.parquet")
    run(session, "REFRESH TABLE weeks")
    (folder / f"w={WEEK}" / "1.parquet").unlink()
    with monkeypatch.context() as patch:
        patch.setattr(check_fact, "_rollup_files", lambda *arguments: {})
        assert accepted(session)
    put(folder, WEEK, 777)
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "fresh"
    assert findings(session, "CHECK FACT f ACCEPT")[-2:] == ["differs", "rejected"]
    assert state(session) == "unproven"
    put(folder, WEEK, 7)
    assert findings(session, "CHECK FACT f ACCEPT")[-2:] == ["agrees", "accepted"]
    assert findings(session, "CHECK FACT f ACCEPT") == ["agrees"]
    put(folder, WEEK, 777)
    run(session, "REFRESH TABLE weeks")
    assert state(session) == "unproven"


def test_the_digest_is_no_property_that_is_shown(session: Session) -> None:
    shown = rows(session, f"DESCRIBE EXTENDED weeks PARTITION (w = '{WEEK}')")
    assert not any("rewriter.files" in str(row) for row in shown)
