"""ALTER TABLE … COMPACT: the same rows in fewer files, whatever they hold; what is refused; nothing left behind."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import ConflictError, EngineError, Error
from rewriter.session import Session

COLUMNS = {
    "i": ("INT", ["1", "-7", "NULL"]),
    "c": ("CHAR(3)", ["'a'", "'abc'", "NULL", "''"]),
    "v": ("VARCHAR(4)", ["'b '", "''", "NULL"]),
    "s": ("STRING", ["'x,y'", "''", "'\"q\"'", "'a\\nb'", "NULL", "'NULL'"]),
    "m": ("DECIMAL(9,2)", ["1.50", "-0.01", "NULL"]),
    "f": ("DOUBLE", ["0.1D", "-0.0D", "1e300D", "NULL"]),
    "d": ("DATE", ["DATE '2013-01-01'", "NULL"]),
    "t": ("TIMESTAMP", ["TIMESTAMP '2013-03-10 02:30:00.123456'", "NULL"]),
    "b": ("BOOLEAN", ["true", "false", "NULL"]),
}
KEYS = ["'2013-01-01', 1", "'a/b=c', 2", "NULL, NULL", "'x', NULL", "' ', -3"]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return session.execute(sql).fetch()


def content(session: Session, table: str = "t") -> list[str]:
    return sorted(map(repr, rows(session, f"SELECT * FROM {table}")))


def folders(session: Session) -> set[str]:
    table = session.catalog.snapshot().table("t")
    return {name for name in os.listdir(table.location) if os.listdir(os.path.join(table.location, name))}


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_what_they_were(session: Session, seed: int) -> None:
    rng = random.Random(seed)
    names = rng.sample(sorted(COLUMNS), 5)
    declared = ", ".join(f"{name} {COLUMNS[name][0]}" for name in names)
    form = rng.choice(["parquet", "parquet", "csv"])
    session.execute(f"CREATE TABLE t ({declared}) USING {form} PARTITIONED BY (p STRING, q INT)")
    late: list[str] = []
    for number in range(rng.randint(3, 6)):
        values = [
            ", ".join([*(rng.choice(COLUMNS[name][1]) for name in names), *late, rng.choice(KEYS)])
            for _ in range(rng.randint(1, 4))
        ]
        session.execute(f"INSERT INTO t VALUES {', '.join(f'({row})' for row in values)}")
        if number == 1 and rng.random() < 0.6:
            session.execute("ALTER TABLE t ADD COLUMNS (late STRING)")
            late = ["'new'"]
    if rng.random() < 0.5:
        table = session.catalog.snapshot().table("t")
        only = next(session.catalog.snapshot().lookup(table, None).partitions())
        session.catalog.rename_partition("t", only.values, ("renamed", "99"))
    before, described = content(session), rows(session, "DESCRIBE t")
    files = len(session.catalog.snapshot().files(session.catalog.snapshot().table("t")))
    told = rows(session, "ALTER TABLE t COMPACT")
    assert (content(session), rows(session, "DESCRIBE t")) == (before, described)
    snapshot = session.catalog.snapshot()
    table = snapshot.table("t")
    assert {partition.files for partition in snapshot.partitions(table)} == {1}
    assert sum(int(str(row[1])) - int(str(row[2])) for row in told) == files - len(snapshot.files(table))
    assert rows(session, "ALTER TABLE t COMPACT") == []
    assert list(findings(session.catalog.database)) == []
    # Engines read values in paths: those of a compacted partition are spelled there.
    assert all("rw_number" not in file.path for _, file in snapshot.files(table))


def test_a_partition_alone_and_a_table_without(session: Session) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING, q INT)")
    session.execute("CREATE TABLE u (x INT)")
    for number in range(3):
        session.execute(f"INSERT INTO t VALUES ({number}, 'a', 1), ({number}, 'a', 2), ({number}, 'b', 1)")
        session.execute(f"INSERT INTO u VALUES ({number})")
    told = rows(session, "ALTER TABLE t PARTITION (q = 1) COMPACT")
    assert [row[:3] for row in told] == [("p=a/q=1", 3, 1), ("p=b/q=1", 3, 1)]
    assert [row[:3] for row in rows(session, "ALTER TABLE u COMPACT")] == [("", 3, 1)]
    assert content(session, "u") == ["(0,)", "(1,)", "(2,)"]


def test_what_is_refused(session: Session, tmp_path: Path) -> None:
    session.execute("CREATE TABLE t (x INT) PARTITIONED BY (p STRING)")
    session.execute(f"CREATE EXTERNAL TABLE e (x INT) LOCATION '{tmp_path}/e'")
    for statement, condition in (
        ("ALTER TABLE e COMPACT", "COMPACT_EXTERNAL_TABLE"),
        ("ALTER TABLE t PARTITION (p = 'z') COMPACT", "PARTITIONS_NOT_FOUND"),
        ("ALTER TABLE t PARTITION (z = 'z') COMPACT", "PARTITIONS_NOT_FOUND"),
        ("ALTER TABLE none COMPACT", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        with pytest.raises(Error) as caught:
            session.execute(statement)
        assert caught.value.condition == condition
        assert caught.value.position is not None


def test_files_that_somebody_changed_are_not_taken_for_the_content(session: Session) -> None:
    session.execute("CREATE TABLE t (x INT)")
    for number in range(2):
        session.execute(f"INSERT INTO t VALUES ({number})")
    (_, file), *_ = session.catalog.snapshot().files(session.catalog.snapshot().table("t"))
    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int32())}), file.path)
    before = folders(session)
    with pytest.raises(Error, match="MANAGED_FILE_CHANGED"):
        session.execute("ALTER TABLE t COMPACT")
    assert folders(session) == before
    os.remove(file.path)
    with pytest.raises(EngineError):
        session.execute("ALTER TABLE t COMPACT")
    assert folders(session) < before


def test_a_conflict_leaves_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.execute("CREATE TABLE t (x INT)")
    for number in range(2):
        session.execute(f"INSERT INTO t VALUES ({number})")
    from rewriter.statements.write import merged_files

    written = merged_files._write_files

    def meanwhile(*args: object) -> object:
        with Session(session.catalog.warehouse, "duckdb") as other:
            other.execute("INSERT OVERWRITE t VALUES (7)")
        return written(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(merged_files, "_write_files", meanwhile)
    with pytest.raises(ConflictError):
        session.execute("ALTER TABLE t COMPACT")
    assert content(session) == ["(7,)"]
    assert len(folders(session)) == 3


def hours(session: Session, count: int) -> None:
    """Creates a table of hours that a fact uses, with two files for each hour from 2024-01-01T00 on."""
    session.execute("CREATE TABLE t (id INT) PARTITIONED BY (dt STRING)")
    session.execute("CREATE CUBE visits (id INT, seen TIMESTAMP TIME)")
    session.execute(
        "CREATE FACT all_visits OF CUBE visits STORED IN ("
        "TABLE t PERIOD HOURLY PARTITIONED BY seen AS (dt = 'yyyy-MM-dd-HH'))"
    )
    for _ in range(2):
        values = ", ".join(f"({hour}, '2024-01-01-{hour:02}')" for hour in range(count))
        session.execute(f"INSERT INTO t VALUES {values}")


def packed(session: Session) -> list[str]:
    return [str(row[0]) for row in rows(session, "ALTER TABLE t COMPACT")]


def test_periods_that_have_not_ended_are_left_alone(session: Session) -> None:
    hours(session, 4)
    session.execute("SET rewriter.now = '2024-01-01T02:59'")
    before = content(session)
    assert packed(session) == ["dt=2024-01-01-00", "dt=2024-01-01-01"]
    assert packed(session) == []
    assert rows(session, "ALTER TABLE t PARTITION (dt = '2024-01-01-03') COMPACT")[0][0] == "dt=2024-01-01-03"
    session.execute("SET rewriter.now = '2024-01-01T03:00'")
    assert "dt=2024-01-01-02" in packed(session)
    assert content(session) == before
    assert list(findings(session.catalog.database)) == []


def test_each_transaction_writes_a_few_files_oldest_first(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    hours(session, 24)
    before = content(session)
    partition_bytes = session.catalog.snapshot().satisfying(session.catalog.snapshot().table("t"), None)[0].bytes
    session.execute(f"SET rewriter.sink.target_file_bytes = {partition_bytes}")
    write, writes = session._started_engine().write, []

    def write_twice(query: object, target: object) -> object:
        writes.append(query)
        if len(writes) == 3:
            raise EngineError("stopped")
        return write(query, target)  # type: ignore[arg-type]

    monkeypatch.setattr(session._started_engine(), "write", write_twice)
    with pytest.raises(EngineError, match="stopped"):
        session.execute("ALTER TABLE t COMPACT")
    table = session.catalog.snapshot().table("t")
    counts = [partition.files for partition in session.catalog.snapshot().satisfying(table, None)]
    assert counts == sorted(counts)
    assert set(counts) == {1, 2}
    assert content(session) == before
    assert list(findings(session.catalog.database)) == []
