"""EXPLAIN of statements that change partitions: it says what they do, raises what they raise, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.catalog.maintenance.dump import dump
from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path, duckdb: DuckDBEngine) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", duckdb) as opened:
        yield opened


def lines(session: Session, statement: str) -> list[str]:
    return [str(row[0]) for row in session.execute(statement).fetch()]


def state(session: Session, *folders: Path) -> object:
    catalog = list(dump(session.catalog.database, session.catalog.warehouse))
    places = (session.catalog.warehouse, *folders)
    on_disk = {
        path: path.stat().st_mtime_ns if path.is_dir() else path.read_bytes()
        for place in places
        for path in sorted(place.rglob("*"))
        if "catalog" not in path.name
    }
    return catalog[1:], on_disk


def filled(session: Session, external: Path) -> None:
    for part in ("ds=2015-01-29", "ds=2015-01-30", "ds=2015-01-31"):
        (external / part).mkdir(parents=True)
    for statement in (
        "CREATE TABLE t (a INT) PARTITIONED BY (ds STRING)",
        "CREATE TABLE u (a INT) PARTITIONED BY (ds STRING)",
        "INSERT INTO t VALUES (1, '2015-01-29'), (2, '2015-01-30')",
        "INSERT INTO u VALUES (1, '2015-02-01')",
        f"CREATE EXTERNAL TABLE e (a INT) PARTITIONED BY (ds STRING) LOCATION '{external}'",
        "ALTER TABLE e ADD PARTITION (ds='2015-01-29') PARTITION (ds='2015-01-28')",
    ):
        session.execute(statement)


STATEMENTS = (
    ("ALTER TABLE t ADD PARTITION (ds='2015-02-02')", ["t: 1 partition is added", "  ds=2015-02-02"]),
    (
        "ALTER TABLE e ADD PARTITION (ds='2015-01-31')",
        ["e: 1 partition is added", "  ds=2015-01-31: {e}/ds=2015-01-31"],
    ),
    (
        "ALTER TABLE e DROP PARTITION (ds='2015-01-29')",
        ["e: 1 partition is dropped; their directories stay", "  ds=2015-01-29: {e}/ds=2015-01-29"],
    ),
    (
        "ALTER TABLE e PARTITION (ds='2015-01-29') RENAME TO PARTITION (ds='2015-03-29')",
        [
            "e: 1 partition gets another name",
            "  ds=2015-01-29 becomes ds=2015-03-29: {e}/ds=2015-01-29 is renamed to {e}/ds=2015-03-29",
        ],
    ),
    (
        "ALTER TABLE t EXCHANGE PARTITION (ds='2015-02-01') WITH TABLE u",
        ["t: 1 partition is moved here from u; no file is moved", "  ds=2015-02-01"],
    ),
    (
        "ALTER TABLE e PARTITION (ds='2015-01-29') SET LOCATION '{e}/other'",
        ["e: ds=2015-01-29 is read from {e}/other; no file is moved"],
    ),
    (
        "ALTER TABLE e SET LOCATION '{e}/other'",
        [
            "e: ds=2015-01-28 is read from {e}/ds=2015-01-28; no file is moved",
            "e: ds=2015-01-29 is read from {e}/ds=2015-01-29; no file is moved",
            "e: the location becomes {e}/other; no file is moved",
        ],
    ),
    ("ALTER TABLE t SET FILEFORMAT parquet", ["nothing changes in the catalog or on disk"]),
    ("ALTER TABLE t SET SERDEPROPERTIES ('a' = 'b')", ["t: rewriter.serdeproperties.a = b"]),
    (
        "MSCK REPAIR TABLE e SYNC PARTITIONS",
        [
            "e: 1 partition is dropped; their directories stay",
            "  ds=2015-01-28: {e}/ds=2015-01-28",
            "e: 2 partitions are added",
            "  ds=2015-01-30: {e}/ds=2015-01-30",
            "  ds=2015-01-31: {e}/ds=2015-01-31",
        ],
    ),
    (
        "ALTER TABLE e RECOVER PARTITIONS",
        [
            "e: 2 partitions are added",
            "  ds=2015-01-30: {e}/ds=2015-01-30",
            "  ds=2015-01-31: {e}/ds=2015-01-31",
        ],
    ),
    ("MSCK TABLE e", ["nothing changes in the catalog or on disk"]),
)


@pytest.mark.parametrize(("statement", "expected"), STATEMENTS, ids=[statement for statement, _ in STATEMENTS])
def test_explains_and_changes_nothing(session: Session, tmp_path: Path, statement: str, expected: list[str]) -> None:
    place = tmp_path / "e"
    filled(session, place)
    statement = statement.replace("{e}", str(place))
    before = state(session, place)
    assert lines(session, f"EXPLAIN {statement}") == [line.replace("{e}", str(place)) for line in expected]
    assert state(session, place) == before
    session.execute(statement)
    if "nothing" not in expected[0]:
        assert state(session, place) != before


@pytest.mark.parametrize("statement", ["TRUNCATE TABLE t", "ALTER TABLE t DROP PARTITION (ds > '2015-01-01')"])
def test_counts_the_files_that_leave(session: Session, tmp_path: Path, statement: str) -> None:
    filled(session, tmp_path / "e")
    before = state(session)
    head, *rest = lines(session, f"EXPLAIN {statement}")
    assert head.startswith("t: 2 partitions are ")
    assert "; 2 files (" in head
    assert [line.split(":")[0] for line in rest] == ["  ds=2015-01-29", "  ds=2015-01-30"]
    assert state(session) == before


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ADD PARTITION (ds='2015-01-29')",
        "ALTER TABLE t DROP PARTITION (ds='2016')",
        "ALTER TABLE t PARTITION (ds='2015-01-29') RENAME TO PARTITION (ds='2015-01-30')",
        "ALTER TABLE t SET LOCATION '/x'",
        "ALTER TABLE t SET FILEFORMAT orc",
        "TRUNCATE TABLE e",
        "ALTER TABLE f ADD PARTITION (ds='2015-01')",
    ],
)
def test_raises_what_the_statement_raises(session: Session, tmp_path: Path, statement: str) -> None:
    filled(session, tmp_path / "e")
    for definition in (
        "CREATE TABLE f (n BIGINT) PARTITIONED BY (ds STRING)",
        "CREATE CUBE c (n BIGINT MEASURE COUNT, at TIMESTAMP TIME)",
        "CREATE FACT c_f OF CUBE c STORED IN (TABLE f PERIOD DAILY PARTITIONED BY at AS (ds = 'yyyy-MM-dd'))",
    ):
        session.execute(definition)
    with pytest.raises(Error) as expected:
        session.execute(statement)
    with pytest.raises(Error) as explained:
        session.execute(f"EXPLAIN {statement}")
    assert (explained.value.condition, explained.value.message) == (expected.value.condition, expected.value.message)


def test_in_a_transaction_nothing_is_added_to_it(session: Session, tmp_path: Path) -> None:
    filled(session, tmp_path / "e")
    session.execute("START TRANSACTION")
    session.execute("EXPLAIN ALTER TABLE t ADD PARTITION (ds='2015-02-03')")
    session.execute("ALTER TABLE t ADD PARTITION (ds='2015-02-02')")
    explained = session.execute("EXPLAIN ALTER TABLE t ADD PARTITION (ds='2015-02-04')").fetch()
    assert "ds=2015-02-04" in str(explained)
    with pytest.raises(Error) as error:
        session.execute("EXPLAIN ALTER TABLE t ADD PARTITION (ds='2015-02-02')")
    assert error.value.condition == "PARTITIONS_ALREADY_EXIST"
    assert ("ds=2015-02-02",) in session.execute("SHOW PARTITIONS t").fetch()
    assert ("ds=2015-02-04",) not in session.execute("SHOW PARTITIONS t").fetch()
    with pytest.raises(Error) as error:
        session.execute("EXPLAIN MSCK REPAIR TABLE e")
    assert error.value.condition == "NOT_IN_TRANSACTION"
    session.execute("COMMIT")
    names = [row[0] for row in session.execute("SHOW PARTITIONS t").fetch()]
    assert names == ["ds=2015-01-29", "ds=2015-01-30", "ds=2015-02-02"]
