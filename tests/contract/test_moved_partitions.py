"""Partitions with names that differ from their directories: both engines read the values of the catalog."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rewriter.errors import ConflictError, Error, NotSupportedError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


#: Type, old value, new value, a condition that only the new value satisfies, and its result.
TYPES = [
    ("STRING", "'plain'", "'é中 /=%+ \\'x'", "p LIKE 'é%'", "é中 /=%+ 'x"),
    ("INT", "7", "-12", "p < 0", -12),
    ("BIGINT", "NULL", "9007199254740993", "p = 9007199254740993", 9007199254740993),
    ("DATE", "'2020-01-02'", "'2021-12-31'", "p >= DATE '2021-01-01'", date(2021, 12, 31)),
    ("TIMESTAMP", "'2020-01-02 00:00:00'", "'2020-01-02 03:04:05.1'", "p > TIMESTAMP '2020-01-02 03:00:00'",
     datetime(2020, 1, 2, 3, 4, 5, 100000, UTC)),
    ("DECIMAL(10,2)", "7", "7.5", "p > 7", Decimal("7.50")),
    ("BOOLEAN", "true", "false", "NOT p", False),
    ("DOUBLE", "1.5", "'Infinity'", "p > 2", float("inf")),
    ("VARCHAR(5)", "'x'", "NULL", "p IS NULL", None),
]  # fmt: skip


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(("type_name", "old", "new", "condition", "value"), TYPES, ids=[case[0] for case in TYPES])
def test_a_renamed_partition_has_its_new_value(
    session: Session, type_name: str, old: str, new: str, condition: str, value: object
) -> None:
    session.execute(f"CREATE TABLE t (x INT) PARTITIONED BY (k STRING, p {type_name})")
    session.execute(f"INSERT INTO t PARTITION (k='a', p={old}) VALUES (1), (2)")
    session.execute(f"ALTER TABLE t PARTITION (k='a', p={old}) RENAME TO PARTITION (k='b', p={new})")
    # The old name is free again. Some files spell the new name, others do not.
    session.execute(f"INSERT INTO t PARTITION (k='a', p={old}) VALUES (3)")
    session.execute(f"INSERT INTO t PARTITION (k='b', p={new}) VALUES (4)")
    moved = [(1, "b", value), (2, "b", value), (4, "b", value)]
    assert [row for row in rows(session, "SELECT * FROM t ORDER BY x") if row[0] != 3] == moved
    assert rows(session, f"SELECT * FROM t WHERE {condition} ORDER BY x") == moved
    assert rows(session, "SELECT * FROM t WHERE k = 'b' ORDER BY x") == moved
    assert rows(session, "SELECT x FROM t WHERE k = 'a'") == [(3,)]


def test_a_cube_counts_moved_rows_once(session: Session) -> None:
    for name in ("hours", "days", "stage"):
        session.execute(f"CREATE TABLE {name} (n BIGINT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE CUBE c (n BIGINT MEASURE COUNT, t TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT f OF CUBE c STORED IN (TABLE hours PERIOD HOURLY PARTITIONED BY t AS (dt), "
        "TABLE days PERIOD DAILY PARTITIONED BY t AS (dt))"
    )
    hours = [f"2013-01-0{day}-{hour:02d}" for day in (1, 2) for hour in range(24)]
    session.execute(f"INSERT INTO hours VALUES {', '.join(f'(1, {hour!r})' for hour in hours if hour != hours[-1])}")
    session.execute("INSERT INTO stage VALUES (5, '2013-01-02-23')")
    session.execute("ALTER TABLE hours EXCHANGE PARTITION (dt='2013-01-02-23') WITH TABLE stage")
    session.execute("REFRESH FACT f")
    query = "SELECT SUM(n) AS n FROM c WHERE time_range_in(t, '2013-01-01', '2013-01-03')"

    def asked() -> tuple[object, dict[str, int]]:
        result = session.execute(query)
        parts = {part.table: part.partitions for part in result.coverage.references[0].parts}
        return result.fetch()[0][0], parts

    assert asked() == (52, {"days": 2})
    # Truncated and renamed partitions are seen at once. The days that counted them are no longer used.
    session.execute("TRUNCATE TABLE hours PARTITION (dt='2013-01-02-23')")
    assert asked() == (47, {"days": 1, "hours": 24})
    session.execute("ALTER TABLE hours PARTITION (dt='2013-01-01-00') RENAME TO PARTITION (dt='2013-01-03-00')")
    session.execute("INSERT OVERWRITE hours PARTITION (dt='2013-01-01-00') VALUES (100)")
    assert asked() == (146, {"hours": 48})
    session.execute("TRUNCATE TABLE days")
    assert asked() == (146, {"hours": 48})
    session.execute("REFRESH FACT f")
    assert asked() == (146, {"days": 2})


def test_directories_of_external_tables_move(session: Session, tmp_path: Path) -> None:
    for name in ("one", "two"):
        session.execute(
            f"CREATE EXTERNAL TABLE {name} (x INT) USING csv PARTITIONED BY (c STRING, d INT) "
            f"LOCATION '{tmp_path}/{name}'"
        )
    session.execute("INSERT INTO one VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1)")
    session.execute("ALTER TABLE one PARTITION (c='a', d=1) RENAME TO PARTITION (c='x:y', d=7)")
    assert rows(session, "SELECT * FROM one ORDER BY x") == [(1, "x:y", 7), (2, "a", 2), (3, "b", 1)]
    assert not (tmp_path / "one" / "c=a" / "d=1").exists()
    session.execute("ALTER TABLE two EXCHANGE PARTITION (c='a'), (c='x:y', d=7) WITH TABLE one")
    assert rows(session, "SELECT * FROM one") == [(3, "b", 1)]
    assert rows(session, "SELECT * FROM two ORDER BY x") == [(1, "x:y", 7), (2, "a", 2)]
    assert sorted(path.name for path in (tmp_path / "two").rglob(".rewriter*")) == []
    names = ("SELECT * FROM two WHERE c = 'x:y'", f"SELECT CAST(x AS INT) FROM csv.`{tmp_path}/two/c=x%3Ay/d=7`")
    assert [rows(session, sql) for sql in names] == [[(1, "x:y", 7)], [(1,)]]


def test_directories_that_somebody_else_reads_stay(session: Session, tmp_path: Path) -> None:
    for name, directory in (("one", "one"), ("again", "one"), ("two", "two")):
        session.execute(
            f"CREATE EXTERNAL TABLE {name} (x INT) PARTITIONED BY (c STRING) LOCATION '{tmp_path}/{directory}' "
            "TBLPROPERTIES ('rewriter.shared_location' = 'true')"
        )
    session.execute("INSERT INTO one VALUES (1, 'a'), (2, 'b')")
    session.execute(f"ALTER TABLE two ADD PARTITION (c='p') LOCATION '{tmp_path}/one/c=b'")
    before = sorted(tmp_path.rglob("*"))
    for sql, condition in [
        ("ALTER TABLE one PARTITION (c='a') RENAME TO PARTITION (c='n')", "DIRECTORY_NOT_MOVABLE"),
        ("DROP TABLE again", ""),
        ("ALTER TABLE one PARTITION (c='b') RENAME TO PARTITION (c='n')", "DIRECTORY_NOT_MOVABLE"),
        ("ALTER TABLE two EXCHANGE PARTITION (c='b') WITH TABLE one", "DIRECTORY_NOT_MOVABLE"),
    ]:
        if not condition:
            session.execute(sql)
            continue
        with pytest.raises(Error) as caught:
            session.execute(sql)
        assert (caught.value.condition, caught.value.position is not None) == (condition, True)
    with pytest.raises(Error, match="not a valid directory name"):
        session.catalog.rename_partition("one", ("a",), ("x" * 300,))
    (tmp_path / "one" / "c=n").mkdir()
    (tmp_path / "one" / "c=n" / "unknown").write_text("x")
    session.execute("ALTER TABLE two DROP PARTITION (c='p')")
    with pytest.raises(Error) as caught:
        session.execute("ALTER TABLE one PARTITION (c='b') RENAME TO PARTITION (c='n')")
    assert (caught.value.condition, caught.value.sqlstate) == ("LOCATION_ALREADY_EXISTS", "42710")
    # A partition without a directory has no rows that can be read. It would have these.
    session.execute("ALTER TABLE one ADD PARTITION (c='empty')")
    with pytest.raises(Error) as caught:
        session.execute("ALTER TABLE one PARTITION (c='empty') RENAME TO PARTITION (c='n')")
    assert caught.value.condition == "LOCATION_ALREADY_EXISTS"
    assert rows(session, "SELECT * FROM one WHERE c <> 'empty' ORDER BY x") == [(1, "a"), (2, "b")]
    own = {tmp_path / "one" / "c=n", tmp_path / "one" / "c=n" / "unknown"}
    files = [path for path in sorted(tmp_path.rglob("*")) if path not in own and "warehouse" not in path.parts]
    assert files == [path for path in before if "warehouse" not in path.parts]


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no second file system to move to")
def test_a_move_to_another_file_system_is_refused(duckdb: DuckDBEngine, tmp_path: Path) -> None:
    with TemporaryDirectory(dir="/dev/shm") as elsewhere, Session(tmp_path / "warehouse", duckdb) as session:
        if os.stat(elsewhere).st_dev == os.stat(tmp_path).st_dev:
            pytest.skip("there is no second file system to move to")
        for name, directory in (("one", tmp_path), ("two", elsewhere)):
            session.execute(
                f"CREATE EXTERNAL TABLE {name} (x INT) PARTITIONED BY (c STRING) LOCATION '{directory}/{name}'"
            )
        session.execute("INSERT INTO one VALUES (1, 'a')")
        with pytest.raises(NotSupportedError, match="another file system") as caught:
            session.execute("ALTER TABLE two EXCHANGE PARTITION (c='a') WITH TABLE one")
        assert caught.value.condition == "DIRECTORY_NOT_MOVABLE"
        assert rows(session, "SELECT * FROM one") == [(1, "a")]
        assert rows(session, "SELECT * FROM two") == []


def test_who_began_before_a_directory_moved_fails_and_loses_nothing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.execute(f"CREATE EXTERNAL TABLE one (x INT) PARTITIONED BY (c STRING) LOCATION '{tmp_path}/one'")
    session.execute("INSERT INTO one VALUES (1, 'a'), (2, 'b')")
    old = session.catalog.snapshot()
    session.execute("ALTER TABLE one PARTITION (c='a') RENAME TO PARTITION (c='n')")
    files = sorted((tmp_path / "one").rglob("*.parquet"))
    monkeypatch.setattr(session.catalog, "snapshot", _once(old, session.catalog.snapshot))
    with pytest.raises(ConflictError):
        session.execute("SELECT * FROM one")
    monkeypatch.setattr(session.catalog, "snapshot", _once(old, session.catalog.snapshot))
    with pytest.raises(ConflictError):
        session.execute("INSERT OVERWRITE one PARTITION (c='a') VALUES (3)")
    assert sorted((tmp_path / "one").rglob("*.parquet")) == files
    # INTO is retried alone, and creates the partition again.
    monkeypatch.setattr(session.catalog, "snapshot", _once(old, session.catalog.snapshot))
    session.execute("INSERT INTO one PARTITION (c='a') VALUES (3)")
    assert rows(session, "SELECT * FROM one ORDER BY x") == [(1, "n"), (2, "b"), (3, "a")]


def _once(old, snapshot):  # type: ignore[no-untyped-def]
    """Returns a ``snapshot`` method that returns the old snapshot first."""
    answers = iter([old])
    return lambda *session: next(answers, None) or snapshot(*session)
