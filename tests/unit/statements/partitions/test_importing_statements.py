"""ADD PARTITION … LOCATION of a managed table copies the files of a directory, for all partitions or for none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "w", duckdb) as opened:
        opened.execute("CREATE TABLE t (a INT, b STRING) PARTITIONED BY (c STRING, d INT)")
        for name, values in [("one", "(1, 'x')"), ("two", "(2, 'y'), (3, 'z')")]:
            opened.execute(f"CREATE EXTERNAL TABLE {name} (b STRING, a INT) LOCATION '{tmp_path}/{name}'")
            opened.execute(f"INSERT INTO {name} (a, b) VALUES {values}")
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).rows()]


def failure(session: Session, sql: str) -> Error:
    with pytest.raises(Error) as caught:
        session.execute(sql)
    return caught.value


def test_each_partition_gets_a_copy(session: Session, tmp_path: Path) -> None:
    result = session.execute(
        f"ALTER TABLE t ADD PARTITION (c = 'p', d = '01') LOCATION '{tmp_path}/one' "
        f"PARTITION (c = NULL, d = 2) LOCATION 'file:{tmp_path}/two', PARTITION (c = 'empty', d = 3)"
    )
    assert result.warnings == ("2 files were copied into t: a managed table does not read files where they are.",)
    expected = [(1, "x", "p", 1), (2, "y", None, 2), (3, "z", None, 2)]
    assert rows(session, "SELECT * FROM t ORDER BY a") == expected
    assert len(rows(session, "SHOW PARTITIONS t")) == 3
    session.execute("INSERT INTO one (a, b) VALUES (9, 'later')")
    session.execute("DROP TABLE two")
    assert rows(session, "SELECT * FROM t ORDER BY a") == expected
    assert len(rows(session, "SELECT * FROM one")) == 2


def test_existing_partitions_are_an_error_or_stay(session: Session, tmp_path: Path) -> None:
    session.execute("INSERT INTO t PARTITION (c = 'p', d = 1) VALUES (7, 'old')")
    sql = (
        f"ALTER TABLE t ADD {{}} PARTITION (c='n', d=1) LOCATION '{tmp_path}/two' "
        f"PARTITION (c='p', d=1) LOCATION '{tmp_path}/one'"
    )
    error = failure(session, sql.format(""))
    assert error.condition == "PARTITIONS_ALREADY_EXIST"
    assert error.position is not None
    assert sql.format("")[error.position.start :].startswith("c='p'")
    assert rows(session, "SELECT * FROM t") == [(7, "old", "p", 1)]
    session.execute(sql.format("IF NOT EXISTS"))
    session.execute(sql.format("IF NOT EXISTS"))
    assert rows(session, "SELECT a, c FROM t ORDER BY a") == [(2, "n"), (3, "n"), (7, "p")]


def test_nothing_is_half_done(session: Session, tmp_path: Path) -> None:
    session.execute(f"CREATE EXTERNAL TABLE other (a BIGINT, b STRING) LOCATION '{tmp_path}/other'")
    session.execute("INSERT INTO other VALUES (1, 'x')")
    (tmp_path / "none").mkdir()
    before = session.catalog.snapshot().sequence
    files = set((tmp_path / "w").rglob("*"))
    for location, condition in [
        ("other", "LOAD_SCHEMA_MISMATCH"),
        ("missing", "PATH_NOT_FOUND"),
        ("none", "PATH_NOT_FOUND"),
    ]:
        error = failure(
            session,
            f"ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/one' "
            f"PARTITION (c='b', d=2) LOCATION '{tmp_path}/{location}'",
        )
        assert error.condition == condition
        assert error.position is not None
    assert rows(session, "SHOW PARTITIONS t") == []
    assert session.catalog.snapshot().sequence == before
    assert set((tmp_path / "w").rglob("*")) == files


def test_one_partition_has_one_location(session: Session, tmp_path: Path) -> None:
    sql = (
        f"ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/one' "
        f"PARTITION (d='01', c='a') LOCATION '{tmp_path}/two'"
    )
    assert failure(session, sql).condition == "INVALID_PARTITION_SPEC"
    assert rows(session, "SHOW PARTITIONS t") == []


def test_managed_directories_are_refused(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE m (a INT, b STRING)")
    session.execute("INSERT INTO m VALUES (1, 'x')")
    (tmp_path / "link").symlink_to(tmp_path / "w")
    folder = next(path for path in (tmp_path / "w").glob("m-*/*") if path.is_dir())
    for location in [folder, folder.parent, tmp_path / "w", tmp_path / "link" / folder.parent.name, Path("/")]:
        error = failure(session, f"ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{location}'")
        assert error.condition == "UNSAFE_LOCATION"
        assert "by its name" in str(error.hint)


def test_a_transaction_takes_it_back(session: Session, tmp_path: Path) -> None:
    session.execute("START TRANSACTION")
    session.execute(f"ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/one'")
    session.execute("ROLLBACK")
    assert rows(session, "SHOW PARTITIONS t") == []
    session.execute("START TRANSACTION")
    session.execute(f"ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/one'")
    session.execute("COMMIT")
    assert rows(session, "SELECT a FROM t") == [(1,)]


def test_explain_copies_nothing(session: Session, tmp_path: Path) -> None:
    files = set((tmp_path / "w").rglob("*"))
    lines = rows(session, f"EXPLAIN ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/one'")
    assert any("c=a/d=1" in str(line) for line in lines)
    assert failure(session, f"EXPLAIN ALTER TABLE t ADD PARTITION (c='a', d=1) LOCATION '{tmp_path}/no'").condition == (
        "PATH_NOT_FOUND"
    )
    assert rows(session, "SHOW PARTITIONS t") == []
    assert set((tmp_path / "w").rglob("*")) == files


def test_rollups_of_the_partition_are_outdated(session: Session, tmp_path: Path) -> None:
    days = ", ".join(f"(1, '2023-02-{day:02}')" for day in range(1, 29))
    for sql in [
        "CREATE TABLE days (n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE TABLE months (n BIGINT) PARTITIONED BY (dt STRING)",
        "CREATE CUBE visits (n BIGINT MEASURE SUM, t TIMESTAMP TIME)",
        "CREATE FACT f OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY t AS (dt), "
        "TABLE months PERIOD MONTHLY PARTITIONED BY t AS (dt))",
        f"CREATE EXTERNAL TABLE late (n BIGINT) LOCATION '{tmp_path}/late'",
        "INSERT INTO late VALUES (100)",
        f"INSERT INTO days VALUES {days}",
        "REFRESH FACT f",
        "ALTER TABLE days DROP PARTITION (dt = '2023-02-28')",
        f"ALTER TABLE days ADD PARTITION (dt = '2023-02-28') LOCATION '{tmp_path}/late'",
    ]:
        session.execute(sql)
    query = "SELECT SUM(n) AS n FROM visits WHERE t >= '2023-02-01' AND t < '2023-03-01'"
    assert rows(session, query) == [(127,)]
    session.execute("REFRESH FACT f")
    assert rows(session, query) == [(127,)]
