"""A registered partition whose directory does not exist is an error that names the path, never an empty partition."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rewriter.catalog.storage import data_files
from rewriter.catalog.storage.data_files import FoundFile
from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.session import Session

#: The hours of two days, with one row each.
HOURS = [f"2024-01-0{day}-{hour:02}" for day in (1, 2) for hour in range(24)]
LOST = "2024-01-02-05"
BOTH_DAYS = "t >= '2024-01-01' AND t < '2024-01-03'"

#: Statements that read the lost hour.
READS = [
    "SELECT SUM(n) FROM h",
    "SELECT * FROM h",
    "SELECT COUNT(*) FROM h",
    "SELECT MIN(n), MAX(n) FROM h",
    "SELECT MAX(p) FROM h",
    "SELECT COUNT(n), COUNT(p) FROM h",
    "SELECT DISTINCT p FROM h",
    "SELECT p FROM h LIMIT 1000",
    f"SELECT COUNT(*) FROM h WHERE p = '{LOST}'",
    "SELECT * FROM above",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM h WHERE n = 7)",
    f"SELECT SUM(n) FROM c WHERE {BOTH_DAYS}",
    f"SELECT COUNT(*) FROM c WHERE {BOTH_DAYS}",
    f"SELECT n FROM c WHERE {BOTH_DAYS} ORDER BY t LIMIT 100",
    "CREATE TABLE made AS SELECT * FROM h",
    "INSERT INTO copied SELECT n FROM h",
    "INSERT OVERWRITE d PARTITION (p = '2024-01-02') SELECT SUM(n) FROM h WHERE p LIKE '2024-01-02%'",
    "FROM h INSERT INTO copied SELECT n INSERT OVERWRITE copied SELECT n + 1",
    "INSERT OVERWRITE DIRECTORY '{folder}/exported' USING PARQUET SELECT * FROM h",
    "ANALYZE TABLE h COMPUTE STATISTICS",
    "ANALYZE TABLE h COMPUTE STATISTICS NOSCAN",
    "ANALYZE TABLE h COMPUTE STATISTICS FOR ALL COLUMNS",
    f"ANALYZE TABLE h PARTITION (p = '{LOST}') COMPUTE STATISTICS",
    "CHECK FACT f",
    "CHECK FACT f ACCEPT",
    "REFRESH TABLE h",
    "EXPLAIN SELECT * FROM h",
    "EXPLAIN SCAN SELECT * FROM h",
]


@pytest.fixture(params=["duckdb", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.getfixturevalue(request.param)
    return engine


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        yield opened


def fill(session: Session, folder: Path) -> None:
    """A fact of external hours and managed days, both days refreshed."""
    rows = ", ".join(f"({number}, '{hour}')" for number, hour in enumerate(HOURS))
    for sql in (
        f"CREATE EXTERNAL TABLE h (n BIGINT) PARTITIONED BY (p STRING) LOCATION '{folder}/h'",
        f"INSERT INTO h VALUES {rows}",
        "CREATE VIEW above AS SELECT n FROM h WHERE n > 1",
        "CREATE TABLE copied (n BIGINT)",
        "CREATE TABLE d (n BIGINT) PARTITIONED BY (p STRING)",
        "CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE c STORED IN (TABLE h PERIOD HOURLY PARTITIONED BY t AS (p), "
        "TABLE d PERIOD DAILY PARTITIONED BY t AS (p))",
    ):
        session.execute(sql)


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def failure(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql).fetch()
    return caught.value


def removed(path: Path) -> None:
    shutil.rmtree(path)


def in_place_of_it_a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("no directory")


def a_broken_link(path: Path) -> None:
    shutil.rmtree(path)
    path.symlink_to(path.with_name("_nowhere"))


def moved_away(path: Path) -> None:
    path.rename(path.with_name("_moved"))


def the_location_is_lost(path: Path) -> None:
    path.parent.rename(path.parent.with_name("unmounted"))


def test_every_statement_that_reads_it_names_the_path(session: Session, tmp_path: Path) -> None:
    fill(session, tmp_path)
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-02'")
    session.execute("INSERT OVERWRITE d PARTITION (p = '2024-01-02') VALUES (11)")  # Unproven, so CHECK FACT reads it.
    removed(tmp_path / "h" / f"p={LOST}")
    for sql in READS:
        error = failure(session, sql.format(folder=tmp_path))
        assert error.condition == "PATH_NOT_FOUND", sql
        assert f"{tmp_path}/h/p={LOST}" in error.message, sql
        assert "does not exist" in error.message
    assert rows(session, "SELECT * FROM copied") == []
    assert rows(session, "SELECT n FROM d WHERE p = '2024-01-02'") == [(11,)]
    assert not (tmp_path / "exported").exists()
    # A query that does not read the hour has its result, and one that a rollup answers, too.
    assert rows(session, "SELECT COUNT(*) FROM h WHERE p < '2024-01-02'") == [(24,)]
    assert rows(session, "SELECT SUM(n) FROM c WHERE t >= '2024-01-01' AND t < '2024-01-02'") == [(276,)]
    session.execute("SET rewriter.partial_data = true")
    assert failure(session, f"SELECT SUM(n) FROM c WHERE {BOTH_DAYS}").condition == "PATH_NOT_FOUND"
    # An empty directory is an empty partition.
    (tmp_path / "h" / f"p={LOST}").mkdir()
    assert rows(session, "SELECT COUNT(*), SUM(n) FROM h") == [(47, 1128 - 29)]


@pytest.mark.parametrize(
    "lose", [removed, in_place_of_it_a_file, a_broken_link, moved_away, the_location_is_lost], ids=lambda f: f.__name__
)
def test_each_way_to_be_absent(session: Session, tmp_path: Path, lose: Callable[[Path], None]) -> None:
    fill(session, tmp_path)
    session.execute("REFRESH FACT f")
    lose(tmp_path / "h" / f"p={LOST}")
    for sql in ("SELECT SUM(n) FROM h", "SELECT COUNT(*) FROM h", f"SELECT MAX(n) FROM h WHERE p = '{LOST}'"):
        error = failure(session, sql)
        assert error.condition == "PATH_NOT_FOUND"
        assert f"{tmp_path}/h/p=" in error.message
    kept = rows(session, "SELECT p, n FROM d ORDER BY p")
    (*_, last) = rows(session, "REFRESH FACT f FORCE FROM '2024-01-02' TO '2024-01-03'")
    assert last[:5] == ("d", "DAILY", "2024-01-02", "2024-01-03", "fresh")
    assert str(last[5]).startswith(f"skipped: the directory {tmp_path}/h/p=2024-01-02-")
    assert rows(session, "SELECT p, n FROM d ORDER BY p") == kept
    assert rows(session, f"SELECT SUM(n) FROM c WHERE {BOTH_DAYS}") == [(1128,)]


def test_a_directory_that_may_not_be_listed(session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(session, tmp_path)
    session.execute("REFRESH FACT f")
    kept = rows(session, "SELECT p, n FROM d ORDER BY p")
    place, scandir = f"{tmp_path}/h/p={LOST}", os.scandir

    def refused(path: str) -> object:
        if path == place:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
    for sql in ("SELECT COUNT(*) FROM h", "REFRESH TABLE h", "ANALYZE TABLE h COMPUTE STATISTICS"):
        error = failure(session, sql)
        assert (error.condition, error.object) == ("FAILED_READ_FILE", place)
    assert [(row[2], row[5]) for row in rows(session, "REFRESH FACT f FORCE")] == [
        ("2024-01-01", "refreshed"),
        ("2024-01-02", f"skipped: the directory {place} cannot be read: permission denied"),
    ]
    assert rows(session, "SELECT p, n FROM d ORDER BY p") == kept
    assert rows(session, "SHOW MISSING PARTITIONS OF f") == [
        ("h", "HOURLY", "2024-01-02T05", "2024-01-02T06", 1, "load")
    ]


def test_what_is_to_be_done_agrees_with_what_a_refresh_does(session: Session, tmp_path: Path) -> None:
    fill(session, tmp_path)
    session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-02'")
    place = tmp_path / "h" / f"p={LOST}"
    removed(place)
    assert rows(session, "SHOW MISSING PARTITIONS OF f") == [
        ("h", "HOURLY", "2024-01-02T05", "2024-01-02T06", 1, "load"),
        ("d", "DAILY", "2024-01-02", "2024-01-03", 1, "load, then refresh"),
    ]
    reason = f"the directory {place} of the partition p={LOST} of h does not exist"
    for options in ("", " DRY RUN", " MAX 5 PARTITIONS", " FORCE FROM '2024-01-02' TO '2024-01-03'"):
        refreshed = session.execute(f"REFRESH FACT f{options}")
        assert refreshed.fetch() == [("d", "DAILY", "2024-01-02", "2024-01-03", "missing", f"skipped: {reason}", 1)]
        assert refreshed.warnings == (f"h cannot be listed completely: {reason}.",)
    session.execute("INSERT INTO d VALUES (1, '2024-01-02')")
    assert rows(session, "SHOW UNPROVEN PARTITIONS OF f") == [
        ("d", "DAILY", "2024-01-02", "2024-01-03", 1, "load, then check")
    ]
    place.mkdir()
    assert [row[5] for row in rows(session, "SHOW UNPROVEN PARTITIONS OF f")] == ["check"]
    assert [row[4:6] for row in rows(session, "REFRESH FACT f")] == [("unproven", "refreshed")]
    assert rows(session, "SHOW MISSING PARTITIONS OF f") == []
    assert rows(session, f"SELECT SUM(n) FROM c WHERE {BOTH_DAYS}") == [(1128 - 29,)]


def test_an_unpartitioned_table(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{tmp_path}/e'")
    for sql in ("SELECT * FROM e", "SELECT COUNT(*) FROM e", "ANALYZE TABLE e COMPUTE STATISTICS"):
        error = failure(session, sql)
        assert (error.condition, error.object) == ("PATH_NOT_FOUND", f"{tmp_path}/e")
    session.execute("INSERT INTO e SELECT 1 WHERE false")  # The first INSERT makes the directory.
    assert rows(session, "SELECT COUNT(*) FROM e") == [(0,)]
    session.execute("INSERT INTO e VALUES (1)")
    assert rows(session, "SELECT * FROM e") == [(1,)]


def test_the_location_of_discovered_partitions(session: Session, tmp_path: Path) -> None:
    properties = "TBLPROPERTIES ('rewriter.partitions' = 'discovered')"
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/e' {properties}")
    for sql in ("SELECT * FROM e", "SELECT COUNT(*) FROM e WHERE p = 1", "EXPLAIN SCAN SELECT * FROM e"):
        error = failure(session, sql)
        assert (error.condition, error.object) == ("PATH_NOT_FOUND", f"{tmp_path}/e")
    session.execute("INSERT INTO e VALUES (1, 1)")
    assert rows(session, "SELECT * FROM e") == [(1, 1)]
    removed(tmp_path / "e" / "p=1")
    assert rows(session, "SELECT * FROM e") == []


def test_writing_into_an_absent_directory(session: Session, tmp_path: Path) -> None:
    """INSERT and LOAD DATA make the directory."""
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) PARTITIONED BY (p INT) LOCATION '{tmp_path}/e'")
    session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/loaded' USING PARQUET SELECT 4 AS x")
    session.execute("ALTER TABLE e ADD PARTITION (p = 1) PARTITION (p = 2) PARTITION (p = 3) PARTITION (p = 4)")
    assert failure(session, "SELECT * FROM e").condition == "PATH_NOT_FOUND"
    session.execute("INSERT INTO e PARTITION (p = 1) VALUES (1)")
    session.execute("INSERT OVERWRITE e PARTITION (p = 2) SELECT 1 WHERE false")
    session.execute("INSERT INTO e VALUES (3, 3)")
    session.execute(f"LOAD DATA INPATH '{tmp_path}/loaded' INTO TABLE e PARTITION (p = 4)")
    assert rows(session, "SELECT * FROM e ORDER BY x") == [(1, 1), (3, 3), (4, 4)]
    removed(tmp_path / "e" / "p=1")
    session.execute("INSERT OVERWRITE e PARTITION (p = 1) VALUES (5)")
    assert rows(session, "SELECT * FROM e ORDER BY x") == [(3, 3), (4, 4), (5, 1)]
    # ADD PARTITION registers a place, and makes nothing there: it would be empty where a file system is not mounted.
    session.execute("ALTER TABLE e ADD PARTITION (p = 5)")
    assert failure(session, "SELECT * FROM e").object == f"{tmp_path}/e/p=5"


def test_hours_that_are_marked_complete(session: Session, tmp_path: Path) -> None:
    """The owner's word that nothing happened makes an empty directory, which may be lost as any other."""
    fill(session, tmp_path)
    session.execute("INSERT INTO h MARK COMPLETE FROM '2024-01-03' TO '2024-01-04' VALUES (7, '2024-01-03-07')")
    session.execute("ALTER FACT f MARK COMPLETE FROM '2024-01-04' TO '2024-01-05'")
    query = "SELECT COUNT(*), SUM(n) FROM h WHERE p >= '2024-01-03'"
    assert rows(session, query) == [(1, 7)]
    removed(tmp_path / "h" / "p=2024-01-04-23")
    assert failure(session, query).object == f"{tmp_path}/h/p=2024-01-04-23"


def test_rollups_that_another_program_computed(session: Session, tmp_path: Path) -> None:
    """An accepted rollup whose directory is absent is neither used nor taken for changed."""
    fill(session, tmp_path)
    session.execute(f"CREATE EXTERNAL TABLE o (n BIGINT) PARTITIONED BY (q STRING) LOCATION '{tmp_path}/o'")
    session.execute("INSERT INTO o VALUES (276, '2024-01-01'), (852, '2024-01-02')")
    session.execute("ALTER FACT f ADD STORAGE (TABLE o PERIOD DAILY PARTITIONED BY t AS (q))")
    session.execute("CHECK FACT f ACCEPT")
    query = f"SELECT SUM(n) FROM c WHERE {BOTH_DAYS}"
    assert rows(session, query) == [(1128,)]
    place = tmp_path / "o" / "q=2024-01-02"
    moved_away(place)
    assert failure(session, query).object == str(place)
    refreshed = session.execute("REFRESH FACT f FROM '2024-01-01' TO '2024-01-01T01'")
    assert refreshed.warnings == ()
    assert session.execute("REFRESH FACT f DRY RUN").warnings == (
        f"o cannot be listed completely: the directory {place} of the partition q=2024-01-02 of o does not exist.",
    )
    assert rows(session, "MSCK REPAIR TABLE o") == [
        ("q=2024-01-02", "missing on disk", str(place), "SYNC PARTITIONS drops it")
    ]
    place.with_name("_moved").rename(place)
    assert rows(session, query) == [(1128,)]
    assert rows(session, "SHOW UNPROVEN PARTITIONS OF f") == []


def test_a_directory_that_vanishes_while_it_is_listed(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(session, tmp_path)
    measured = data_files._measured

    def vanishing(path: str) -> FoundFile | None:
        if LOST in path:
            shutil.rmtree(Path(path).parent, ignore_errors=True)
        return measured(path)

    monkeypatch.setattr(data_files, "_measured", vanishing)
    assert failure(session, "SELECT SUM(n) FROM h").condition == "PATH_NOT_FOUND"


def test_a_directory_that_vanishes_while_others_are_listed(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files were listed before, and it is gone when the listing ends."""
    fill(session, tmp_path)
    measured = data_files._measured

    def vanishing(path: str) -> FoundFile | None:
        if HOURS[-1] in path:
            shutil.rmtree(tmp_path / "h" / f"p={LOST}", ignore_errors=True)
        return measured(path)

    monkeypatch.setattr(data_files, "_measured", vanishing)
    assert failure(session, "SELECT SUM(n) FROM h").condition == "PATH_NOT_FOUND"


def test_a_directory_that_vanishes_before_it_is_read(
    session: Session, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(session, tmp_path)
    session.execute("REFRESH FACT f")
    kept = rows(session, "SELECT p, n FROM d ORDER BY p")
    for name, sql in (("stream_rows", "SELECT SUM(n) FROM h"), ("write", "REFRESH FACT f FORCE")):
        run = getattr(engine, name)

        def after_the_listing(*arguments: object, run: Callable[..., object] = run) -> object:
            shutil.rmtree(tmp_path / "h" / f"p={LOST}", ignore_errors=True)
            return run(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(engine, name, after_the_listing)
            error = failure(session, sql)
        assert str(error.condition).startswith("FAILED_READ_FILE")
        assert f"p={LOST}" in error.message
        if name == "stream_rows":
            session.execute(f"INSERT INTO h VALUES ({HOURS.index(LOST)}, '{LOST}')")
            session.execute("REFRESH FACT f")
    assert rows(session, "SELECT p, n FROM d ORDER BY p") == kept


def test_a_directory_that_vanishes_after_it_was_read(
    session: Session, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that computes rollups lists its base again: without the directory, nothing is known of its rows."""
    fill(session, tmp_path)
    write = engine.write

    def before_the_second_listing(*arguments: object) -> object:
        files = write(*arguments)  # type: ignore[arg-type]
        shutil.rmtree(tmp_path / "h" / f"p={LOST}")
        return files

    monkeypatch.setattr(engine, "write", before_the_second_listing)
    assert failure(session, "REFRESH FACT f").condition == "PATH_NOT_FOUND"
    assert rows(session, "SELECT * FROM d") == []


@pytest.mark.parametrize("packed", ["true", "false"])
def test_files_of_managed_tables_that_vanished(session: Session, tmp_path: Path, packed: str) -> None:
    session.execute(
        f"CREATE TABLE m (n BIGINT) PARTITIONED BY (p STRING) TBLPROPERTIES ('rewriter.packed' = '{packed}')"
    )
    session.execute("CREATE TABLE r (n BIGINT) PARTITIONED BY (p STRING)")
    session.execute("CREATE CUBE c (n BIGINT MEASURE SUM, t TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE m PERIOD HOURLY PARTITIONED BY t AS (p), "
        "TABLE r PERIOD DAILY PARTITIONED BY t AS (p))"
    )
    session.execute(f"INSERT INTO m VALUES {', '.join(f'({n}, {h!r})' for n, h in enumerate(HOURS))}")
    session.execute("REFRESH FACT f")
    kept = rows(session, "SELECT p, n FROM r ORDER BY p")
    location = Path(session.catalog.snapshot().table("m").location)
    shutil.rmtree(location)
    for sql in ("SELECT SUM(n) FROM m", "SELECT MAX(n + 1) FROM m", "CREATE TABLE x AS SELECT * FROM m"):
        assert str(failure(session, sql).condition).startswith("FAILED_READ_FILE"), sql
    assert failure(session, "ANALYZE TABLE m COMPUTE STATISTICS NOSCAN").condition == "MANAGED_FILE_CHANGED"
    assert str(failure(session, "REFRESH FACT f FORCE").condition).startswith("FAILED_READ_FILE")
    assert rows(session, "SELECT p, n FROM r ORDER BY p") == kept
    assert rows(session, "SELECT COUNT(*) FROM m") == [(48,)]  # The catalog counted them when they were written.
