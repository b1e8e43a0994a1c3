"""Facts whose base is an external table: what changes in its files outdates the rollups computed from them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.session import Session

HOURS = [f"2013-01-01-{hour:02d}" for hour in range(24)]
TABLES = """TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt = 'yyyy-MM-dd-HH'),
  TABLE days PERIOD DAILY PARTITIONED BY t AS (ds)"""
INSERT_DAY = "INSERT OVERWRITE days SELECT a, SUM(n), substr(dt, 1, 10) FROM hours GROUP BY a, substr(dt, 1, 10)"
COUNT = "SELECT SUM(n) FROM c WHERE t >= '2013-01-01' AND t < '2013-01-02'"


class Watched(DuckDBEngine):
    """DuckDB that lets others act before and after it reads for a write."""

    def __init__(self) -> None:
        super().__init__()
        self.before_writing: Callable[[], object] = lambda: None
        self.after_writing: Callable[[], object] = lambda: None

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        act, self.before_writing = self.before_writing, lambda: None
        act()
        files = super().write(query, write)
        act, self.after_writing = self.after_writing, lambda: None
        act()
        return files


@pytest.fixture
def engine() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    watched.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Creates the directory of the external table, with a file of one row, n=1, for each hour of one day."""
    directory = tmp_path / "hours"
    for hour in HOURS:
        put(directory, hour, 1)
    return directory


@pytest.fixture
def session(tmp_path: Path, engine: Watched, folder: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        run(
            opened,
            "CREATE CUBE c (a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            f"CREATE EXTERNAL TABLE hours (a STRING, n BIGINT) PARTITIONED BY (dt STRING) LOCATION '{folder}'",
            "MSCK REPAIR TABLE hours",
            "CREATE TABLE days (a STRING, n BIGINT) PARTITIONED BY (ds STRING)",
            f"CREATE FACT f OF CUBE c STORED IN ({TABLES})",
        )
        yield opened


def put(folder: Path, hour: str, n: int, file: str = "0.parquet") -> None:
    """Writes the file of an hour, in place of the one that is there."""
    directory = folder / f"dt={hour}"
    directory.mkdir(parents=True, exist_ok=True)
    new = directory / f".{file}.new"
    pq.write_table(pa.table({"a": pa.array(["x"] * 1), "n": pa.array([n], pa.int64())}), new)
    path = directory / file
    before = path.stat().st_mtime_ns if path.exists() else 0
    os.replace(new, path)
    if path.stat().st_mtime_ns <= before:
        os.utime(path, ns=(before + 1, before + 1))


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        session.execute(statement).fetch()


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def states(session: Session) -> list[tuple[object, ...]]:
    """Returns the state of the day: (status, table)."""
    coverage = rows(session, "SHOW COVERAGE OF f FROM '2013-01-01' TO '2013-01-02'")
    return [(row[2], row[3]) for row in coverage]


FRESH, FROM_HOURS, OUTDATED = [("covered", "days")], [("covered", "hours")], [("outdated", "days")]


def is_fresh(session: Session) -> bool:
    """Returns True if the rollup of the day is used. A rebuild of the timelines has the same result."""
    before = {row[2:] for row in rows(session, "SHOW COVERAGE OF f FROM '2013-01-01' TO '2013-01-02'")}
    assert rows(session, "REFRESH TIMELINES OF f") == []
    assert before == {row[2:] for row in rows(session, "SHOW COVERAGE OF f FROM '2013-01-01' TO '2013-01-02'")}
    plan = [row[0] for row in rows(session, f"EXPLAIN COVER {COUNT}")]
    return any("f.days" in str(line) and "1 partition" in str(line) for line in plan)


def add_day(session: Session, how: str) -> None:
    run(session, INSERT_DAY if how == "INSERT" else "REFRESH FACT f")


@pytest.mark.parametrize("how", ["INSERT", "REFRESH FACT"])
@pytest.mark.parametrize("noticed", ["MSCK REPAIR TABLE hours", "REFRESH TABLE hours"])
def test_a_file_written_anew_outdates_the_rollups_over_it(
    session: Session, folder: Path, how: str, noticed: str
) -> None:
    add_day(session, how)
    assert is_fresh(session)
    assert rows(session, COUNT) == [(24,)]
    run(session, noticed)
    assert is_fresh(session)  # Nothing has changed.
    put(folder, HOURS[5], 15)
    run(session, noticed)
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(38,)]
    add_day(session, how)
    assert is_fresh(session)
    assert rows(session, COUNT) == [(38,)]


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: put(folder, HOURS[5], 15),
        lambda folder: put(folder, HOURS[5], 15, "1.parquet"),
        lambda folder: (folder / f"dt={HOURS[5]}" / "0.parquet").unlink(),
    ],
    ids=["changed", "added", "removed"],
)
def test_refresh_fact_sees_what_changed(session: Session, folder: Path, change: Callable[[Path], object]) -> None:
    run(session, "REFRESH FACT f")
    assert rows(session, "REFRESH FACT f") == []
    change(folder)
    told = [("days", "DAILY", "2013-01-01", "2013-01-02", "outdated", "to refresh", 1)]
    assert rows(session, "REFRESH FACT f DRY RUN") == told
    assert is_fresh(session)  # A dry run writes nothing.
    assert [row[4:6] for row in rows(session, "REFRESH FACT f")] == [("outdated", "refreshed")]
    assert is_fresh(session)
    assert {row[8] for row in rows(session, "CHECK FACT f")} == {"agrees"}


def test_what_changes_after_a_rollup_was_accepted_outdates_it(session: Session, folder: Path) -> None:
    run(session, "INSERT INTO days VALUES ('x', 24, '2013-01-01')", "CHECK FACT f ACCEPT")
    assert states(session) == FRESH
    put(folder, HOURS[5], 10)
    run(session, "MSCK REPAIR TABLE hours")
    assert states(session) == FROM_HOURS
    assert not is_fresh(session)


def test_accept_compares_with_the_files_that_are_there(session: Session, folder: Path) -> None:
    run(session, "REFRESH FACT f")
    put(folder, HOURS[5], 10)
    run(session, "INSERT OVERWRITE days VALUES ('x', 33, '2013-01-01')", "CHECK FACT f ACCEPT")
    assert is_fresh(session)
    run(session, "MSCK REPAIR TABLE hours")
    assert is_fresh(session)


def test_refresh_fact_compares_only_the_range_that_it_is_asked_for(session: Session, folder: Path) -> None:
    put(folder, "2013-01-02-00", 1)
    run(session, "MSCK REPAIR TABLE hours", "REFRESH FACT f")
    put(folder, HOURS[5], 15)
    assert rows(session, "REFRESH FACT f FROM '2013-01-02' TO '2013-01-03'") == []
    assert is_fresh(session)


def test_a_filter_of_msck_compares_what_it_keeps(session: Session, folder: Path) -> None:
    run(session, "REFRESH FACT f")
    put(folder, HOURS[5], 15)
    run(session, f"MSCK REPAIR TABLE hours SYNC PARTITIONS PARTITION (dt < '{HOURS[5]}')")
    assert is_fresh(session)
    run(session, f"MSCK REPAIR TABLE hours SYNC PARTITIONS PARTITION (dt = '{HOURS[5]}')")
    assert not is_fresh(session)


def test_msck_without_repair_tells_and_writes_nothing(session: Session, folder: Path) -> None:
    run(session, "REFRESH FACT f")
    put(folder, HOURS[5], 15)
    directory = str(folder / f"dt={HOURS[5]}")
    assert rows(session, "MSCK TABLE hours") == [
        (f"dt={HOURS[5]}", "changed on disk", directory, "rollups over it are outdated")
    ]
    assert is_fresh(session)
    assert [row[1] for row in rows(session, "MSCK REPAIR TABLE hours")] == ["noted"]
    assert rows(session, "MSCK TABLE hours") == []


def test_force_computes_what_nothing_has_outdated(session: Session, folder: Path) -> None:
    file = folder / f"dt={HOURS[5]}" / "0.parquet"
    run(session, "REFRESH FACT f")
    before = file.stat()
    put(folder, HOURS[5], 2)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    assert rows(session, "REFRESH FACT f") == []  # Size and time are the same, so the change is not detected.
    told = ("days", "DAILY", "2013-01-01", "2013-01-02", "fresh")
    assert rows(session, "REFRESH FACT f FORCE FROM '2013-01-01' TO '2013-01-02' DRY RUN") == [(*told, "to refresh", 1)]
    assert rows(session, "REFRESH FACT f FORCE FROM '2013-01-02' TO '2013-01-03'") == []
    assert rows(session, COUNT) == [(24,)]
    assert rows(session, "REFRESH FACT f FORCE") == [(*told, "refreshed", 1)]
    assert is_fresh(session)
    assert rows(session, COUNT) == [(25,)]


def test_what_changes_while_a_rollup_is_computed_outdates_it(session: Session, folder: Path, engine: Watched) -> None:
    engine.before_writing = lambda: put(folder, HOURS[5], 15)
    assert [row[5] for row in rows(session, "REFRESH FACT f")] == [
        "outdated again: its base has changed in the meantime"
    ]
    assert not is_fresh(session)
    engine.after_writing = lambda: put(folder, HOURS[6], 15)
    run(session, INSERT_DAY)
    assert not is_fresh(session)
    run(session, INSERT_DAY)
    assert is_fresh(session)


def test_an_insert_reads_what_changed_and_outdates_others(session: Session, folder: Path) -> None:
    run(session, "DROP FACT f", "CREATE TABLE weeks (a STRING, n BIGINT) PARTITIONED BY (w STRING)")
    run(session, f"CREATE FACT f OF CUBE c STORED IN ({TABLES}, TABLE weeks PERIOD WEEKLY PARTITIONED BY t AS (w))")
    run(session, "ALTER FACT f MARK COMPLETE FROM '2012-12-31' TO '2013-01-07'", INSERT_DAY)
    assert is_fresh(session)
    put(folder, HOURS[5], 15)
    run(session, "INSERT INTO weeks SELECT a, SUM(n), '2013-W01' FROM hours GROUP BY a")
    assert not is_fresh(session)
    timelines = {row[0]: row for row in rows(session, "SHOW TIMELINES OF f")}
    assert timelines["weeks"][4] is not None


def test_a_partition_that_comes_outdates(session: Session, folder: Path) -> None:
    run(session, f"ALTER TABLE hours DROP PARTITION (dt = '{HOURS[23]}')", "DROP FACT f")
    run(session, f"CREATE FACT f OF CUBE c STORED IN ({TABLES})", INSERT_DAY)
    shutil.rmtree(folder / f"dt={HOURS[23]}")
    put(folder, HOURS[23], 7)
    run(session, f"ALTER TABLE hours ADD PARTITION (dt = '{HOURS[23]}')")
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(30,)]


def test_a_partition_that_goes_is_retention_and_outdates_when_it_comes_back(session: Session, folder: Path) -> None:
    run(session, INSERT_DAY, f"ALTER TABLE hours DROP PARTITION (dt = '{HOURS[5]}')")
    assert is_fresh(session)
    put(folder, HOURS[5], 15)
    run(session, "MSCK REPAIR TABLE hours")
    assert not is_fresh(session)


def test_a_new_partition_before_the_fact_is_made_counts(session: Session, folder: Path) -> None:
    run(session, "DROP FACT f", f"ALTER TABLE hours DROP PARTITION (dt = '{HOURS[23]}')", INSERT_DAY)
    run(session, "MSCK REPAIR TABLE hours", f"CREATE FACT f OF CUBE c STORED IN ({TABLES})")
    assert not is_fresh(session)
    assert "differs" in {row[8] for row in rows(session, "CHECK FACT f ACCEPT")}
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(24,)]


def test_another_location_outdates(session: Session, folder: Path, tmp_path: Path) -> None:
    run(session, INSERT_DAY)
    put(tmp_path / "other", HOURS[5], 15)
    directory = f"{tmp_path}/other/dt={HOURS[5]}"
    run(session, f"ALTER TABLE hours SET LOCATION '{tmp_path}/later'")  # Partitions stay where they are.
    assert is_fresh(session)
    run(session, f"ALTER TABLE hours PARTITION (dt = '{HOURS[5]}') SET LOCATION '{folder}/dt={HOURS[5]}'")
    assert is_fresh(session)
    run(session, f"ALTER TABLE hours PARTITION (dt = '{HOURS[5]}') SET LOCATION '{directory}'")
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(38,)]
    run(session, INSERT_DAY)
    assert is_fresh(session)


def test_a_renamed_partition_outdates_both_times(session: Session, folder: Path) -> None:
    put(folder, "2013-01-02-05", 7)
    run(
        session,
        "MSCK REPAIR TABLE hours",
        "ALTER FACT f MARK COMPLETE FROM '2013-01-02' TO '2013-01-03'",
        INSERT_DAY,
        f"ALTER TABLE hours DROP PARTITION (dt = '{HOURS[5]}')",
    )
    shutil.rmtree(folder / f"dt={HOURS[5]}")
    assert {row[2] for row in rows(session, "SHOW COVERAGE OF f FROM '2013-01-01' TO '2013-01-03'")} == {"covered"}
    run(session, f"ALTER TABLE hours PARTITION (dt = '2013-01-02-05') RENAME TO PARTITION (dt = '{HOURS[5]}')")
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(30,)]
    assert ("outdated", "days") in {
        (r[2], r[3]) for r in rows(session, "SHOW COVERAGE OF f FROM '2013-01-02' TO '2013-01-03'")
    }


@pytest.mark.parametrize(
    ("statement", "total"),
    [
        (f"INSERT INTO hours PARTITION (dt = '{HOURS[5]}') VALUES ('x', 10)", 34),
        (f"INSERT OVERWRITE hours PARTITION (dt = '{HOURS[5]}') VALUES ('x', 10)", 33),
        (f"INSERT OVERWRITE hours PARTITION (dt = '{HOURS[5]}') SELECT 'x', 1 WHERE FALSE", 23),
        (f"LOAD DATA INPATH '{{file}}' INTO TABLE hours PARTITION (dt = '{HOURS[5]}')", 31),
    ],
    ids=["INTO", "OVERWRITE", "emptied", "LOAD"],
)
def test_what_we_write_into_an_external_base_outdates(
    session: Session, tmp_path: Path, statement: str, total: int
) -> None:
    put(tmp_path / "load", HOURS[5], 7)
    run(session, INSERT_DAY)
    run(session, statement.format(file=tmp_path / "load" / f"dt={HOURS[5]}" / "0.parquet"))
    assert not is_fresh(session)
    assert rows(session, COUNT) == [(total,)]
    assert [row[4:6] for row in rows(session, "REFRESH FACT f")] == [("outdated", "refreshed")]
    assert is_fresh(session)
    assert rows(session, "REFRESH FACT f") == []


def test_a_part_of_an_external_base_is_no_whole_rollup(tmp_path: Path, folder: Path, engine: Watched) -> None:
    with Session(tmp_path / "w", engine) as session:
        for country in ("us", "de"):
            put(tmp_path / "parted" / "dt=2013-01-01", country, 1)
            os.rename(
                tmp_path / "parted/dt=2013-01-01" / f"dt={country}", tmp_path / "parted/dt=2013-01-01" / f"k={country}"
            )
        run(
            session,
            "CREATE CUBE c (k STRING, a STRING, n BIGINT MEASURE COUNT, t TIMESTAMP TIME)",
            "CREATE EXTERNAL TABLE base (a STRING, n BIGINT) PARTITIONED BY (dt STRING, k STRING) "
            f"LOCATION '{tmp_path}/parted'",
            "MSCK REPAIR TABLE base",
            "CREATE TABLE months (k STRING, a STRING, n BIGINT) PARTITIONED BY (m STRING)",
            "CREATE FACT f OF CUBE c STORED IN (TABLE base PERIOD DAILY PARTITIONED BY t AS (dt) COMPLETE WITH ANY k,"
            " TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m))",
            "INSERT INTO months SELECT k, a, n, '2013-01' FROM base WHERE k = 'us'",
        )
        coverage = rows(session, "SHOW COVERAGE OF f FROM '2013-01' TO '2013-02'")
        assert {row[2:4] for row in coverage} == {("covered", "base"), ("outdated", "months")}


def test_in_a_transaction_a_change_leaves_the_rollup_outdated(session: Session, folder: Path) -> None:
    run(session, INSERT_DAY)
    put(folder, HOURS[5], 15)
    run(session, "START TRANSACTION", INSERT_DAY, "SELECT COUNT(*) FROM hours", "COMMIT")
    assert not is_fresh(session)
    run(session, INSERT_DAY)
    assert is_fresh(session)
    run(session, "START TRANSACTION", INSERT_DAY, "SELECT COUNT(*) FROM hours", "COMMIT")
    assert is_fresh(session)


def test_a_multi_insert_knows_the_files_too(session: Session, folder: Path) -> None:
    run(session, "FROM hours INSERT OVERWRITE days SELECT a, SUM(n), substr(dt, 1, 10) GROUP BY a, substr(dt, 1, 10)")
    assert is_fresh(session)
    put(folder, HOURS[5], 15)
    run(session, "REFRESH TABLE hours")
    assert not is_fresh(session)


def test_the_state_of_files_is_no_property_that_is_shown(session: Session) -> None:
    run(session, INSERT_DAY)
    shown = rows(session, f"DESCRIBE EXTENDED hours PARTITION (dt = '{HOURS[5]}')")
    assert not any("rewriter.files" in str(row) for row in shown)
    with pytest.raises(Error):
        run(session, "ALTER TABLE hours SET TBLPROPERTIES ('rewriter.files' = 'x')")


def test_a_query_compares_nothing(session: Session, folder: Path) -> None:
    run(session, INSERT_DAY)
    put(folder, HOURS[5], 15)
    assert rows(session, COUNT) == [(24,)]
    assert is_fresh(session)
