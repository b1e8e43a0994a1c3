"""ANALYZE: what it counts, what it corrects, and what it leaves alone. DuckDB; both engines are compared elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewriter.catalog.model.changes import PartitionWrite, WritePartitions
from rewriter.catalog.model.column_statistics import statistics_in
from rewriter.catalog.model.objects import DataFile
from rewriter.errors import Error, NotSupportedError, OperationalError
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", "duckdb") as opened:
        yield opened


def run(session: Session, *statements: str) -> None:
    for statement in statements:
        list(session.execute(statement).rows())


def rows_of(session: Session, table: str) -> dict[tuple[str | None, ...], int | None]:
    """Returns the row counts that the catalog records, by the values of a partition."""
    snapshot = session.catalog.snapshot()
    return {partition.values: partition.rows for partition in snapshot.partitions(snapshot.table(table))}


def figures(session: Session, described: str) -> dict[str, str]:
    return dict(session.execute(f"DESCRIBE EXTENDED {described}").fetch())  # type: ignore[arg-type]


def details(session: Session, described: str) -> dict[str, str]:
    return {row[0]: row[1] for row in session.execute(f"DESCRIBE EXTENDED {described}").fetch()}  # type: ignore[misc]


def write_behind(session: Session, table: str, value: str, *files: DataFile) -> None:
    """Writes a partition through the catalog, with whatever is claimed of its files."""
    with session.catalog.begin() as transaction:
        shown = transaction.snapshot.table(table)
        write_id = transaction.write_id(shown)
        part = PartitionWrite((value,), files)
        transaction.commit([WritePartitions(shown, write_id, (part,), overwrite=True)])


@pytest.mark.parametrize("claimed", [None, 99])
def test_rows_that_are_unknown_or_wrong_are_corrected(session: Session, tmp_path: Path, claimed: int | None) -> None:
    run(session, "CREATE TABLE t (a INT) PARTITIONED BY (p STRING) STORED AS csv", "INSERT INTO t VALUES (1, 'x')")
    path = tmp_path / "three.csv"
    path.write_text("a\n1\n2\n3\n")
    write_behind(session, "t", "y", DataFile(str(path), claimed, path.stat().st_size))
    before = session.catalog.snapshot()
    assert rows_of(session, "t") == {("x",): 1, ("y",): claimed}
    run(session, "ANALYZE TABLE t PARTITION (p='x') COMPUTE STATISTICS")
    assert rows_of(session, "t") == {("x",): 1, ("y",): claimed}
    run(session, "ANALYZE TABLE t COMPUTE STATISTICS")
    assert rows_of(session, "t") == {("x",): 1, ("y",): 3}
    assert [partition.rows for partition in before.partitions(before.table("t"))] == [1, claimed]
    noted = [event for event in session.catalog.events(limit=10**6) if event.kind == "ANALYZE"]
    assert [event.payload["partitions"] for event in noted] == [1]


def test_what_is_right_already_makes_no_commit(session: Session) -> None:
    run(session, "CREATE TABLE t (a INT) PARTITIONED BY (p STRING)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    before = session.catalog.snapshot().sequence
    run(
        session,
        "ANALYZE TABLE t COMPUTE STATISTICS",
        "ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS",
        "ANALYZE TABLE t COMPUTE STATISTICS NOSCAN",
        "ANALYZE TABLES COMPUTE STATISTICS",
    )
    assert session.catalog.snapshot().sequence == before


def test_a_write_in_the_middle_is_left_out(tmp_path: Path) -> None:
    class Interrupted(DuckDBEngine):
        """Lets another session write while this one counts."""

        def execute(self, query: Any) -> Any:
            reader = super().execute(query)
            run(other, "INSERT INTO t VALUES (3, 'x')")
            return reader

    engine = Interrupted()
    with Session(tmp_path / "w", "duckdb") as other, Session(tmp_path / "w", engine) as session:
        run(session, "CREATE TABLE t (a INT) PARTITIONED BY (p STRING)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        run(session, "ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS FOR COLUMNS a")
        assert rows_of(session, "t") == {("x",): 2, ("y",): 1}
        assert figures(session, "t PARTITION (p='x') a")["max"] == "NULL"
        assert figures(session, "t PARTITION (p='y') a")["max"] == "2"
        run(session, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a")
        told = figures(session, "t a")
        assert (told["max"], told["statistics"][:5]) == ("NULL", "stale")
    engine.close()


def test_tables_of_other_databases_are_left_alone(session: Session) -> None:
    run(session, "CREATE DATABASE d", "CREATE TABLE d.t (a INT)", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    snapshot = session.catalog.snapshot()
    ((_, file),) = snapshot.files(snapshot.table("t"))
    os.remove(file.path)
    run(session, "ANALYZE TABLES IN d COMPUTE STATISTICS NOSCAN")
    for current, statement in [("d", "ANALYZE TABLES IN default"), ("default", "ANALYZE TABLES")]:
        run(session, f"USE {current}")
        with pytest.raises(OperationalError) as bad:
            run(session, f"{statement} COMPUTE STATISTICS NOSCAN")
        assert bad.value.condition == "MANAGED_FILE_CHANGED"
    run(session, "USE d", "ANALYZE TABLES COMPUTE STATISTICS NOSCAN")


def test_a_file_that_somebody_changed(session: Session) -> None:
    table = "CREATE TABLE t (a INT) PARTITIONED BY (p STRING) TBLPROPERTIES ('rewriter.packed' = 'false')"
    run(session, table, "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    snapshot = session.catalog.snapshot()
    _, file = snapshot.files(snapshot.table("t"))[1]
    sequence = snapshot.sequence
    with open(file.path, "ab") as opened:
        opened.write(b" ")
    with pytest.raises(
        OperationalError, match=rf"has {file.bytes + 1} bytes, but was written with {file.bytes}"
    ) as bad:
        run(session, "ANALYZE TABLE t COMPUTE STATISTICS NOSCAN")
    assert bad.value.condition == "MANAGED_FILE_CHANGED"
    run(session, "ANALYZE TABLE t PARTITION (p='x') COMPUTE STATISTICS NOSCAN")
    os.remove(file.path)
    for options in ("NOSCAN", "", "FOR COLUMNS a"):
        with pytest.raises(Error) as caught:
            run(session, f"ANALYZE TABLE t COMPUTE STATISTICS {options}")
        assert isinstance(caught.value, OperationalError)
        assert caught.value.position is not None
        assert file.path in caught.value.message
    assert session.catalog.snapshot().sequence == sequence


def test_all_of_several_tables_or_nothing(session: Session, tmp_path: Path) -> None:
    run(session, "CREATE EXTERNAL TABLE a (x INT) STORED AS csv LOCATION 'a'", "INSERT INTO a VALUES (1), (2)")
    run(session, "CREATE EXTERNAL TABLE b (x INT) STORED AS csv LOCATION 'b'", "INSERT INTO b VALUES (1)")
    bad = tmp_path / "warehouse" / "b" / "bad.csv"
    bad.write_text("y\nz\n")
    before = session.catalog.snapshot().sequence
    with pytest.raises(Error, match=r"^\[.*\] b: "):
        run(session, "ANALYZE TABLES COMPUTE STATISTICS")
    assert session.catalog.snapshot().sequence == before
    bad.unlink()
    run(session, "ANALYZE TABLES COMPUTE STATISTICS")
    assert session.catalog.snapshot().sequence == before + 1
    assert details(session, "a")["Statistics"].endswith(", 2 rows")
    assert details(session, "b")["Statistics"].endswith(", 1 rows")


def test_files_of_external_tables_make_figures_stale(session: Session, tmp_path: Path) -> None:
    run(session, "CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (p INT) STORED AS csv LOCATION 'files'")
    folder = tmp_path / "warehouse" / "files"
    (folder / "p=1").mkdir(parents=True)
    (folder / "p=1" / "x.csv").write_text("a\n1\n2\n")
    (folder / "p=2").mkdir()
    run(session, "ALTER TABLE t ADD PARTITION (p=1) PARTITION (p=2)", "ANALYZE TABLE t COMPUTE STATISTICS")
    assert details(session, "t")["Statistics"] == "6 bytes, 2 rows"
    assert "numRows=2" in details(session, "t PARTITION (p=1)")["Partition Parameters"]
    assert "numRows" not in details(session, "t PARTITION (p=2)")["Partition Parameters"]
    time = (folder / "p=1" / "x.csv").stat().st_mtime_ns
    (folder / "p=1" / "x.csv").write_text("a\n3\n4\n")
    os.utime(folder / "p=1" / "x.csv", ns=(time + 1, time + 1))
    assert details(session, "t")["Statistics"] == "6 bytes"
    assert "numRows" not in details(session, "t PARTITION (p=1)")["Partition Parameters"]
    run(session, "ANALYZE TABLE t PARTITION (p) COMPUTE STATISTICS FOR COLUMNS a, p")
    assert figures(session, "t PARTITION (p=1) a")["min"] == "3"
    assert figures(session, "t PARTITION (p=1) p")["max"] == "1"
    assert details(session, "t")["Statistics"] == "6 bytes"
    (folder / "p=2" / "y.csv").write_text("a\n9\n")
    assert figures(session, "t PARTITION (p=1) a")["min"] == "3"
    assert figures(session, "t PARTITION (p=2) a")["statistics"].startswith("stale")


def test_two_partitions_of_one_directory_are_counted_each(session: Session, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "x.csv").write_text("a\n1\n2\n")
    location = f"LOCATION '{tmp_path}/one'"
    run(session, "CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (p INT) STORED AS csv LOCATION 'files'")
    run(session, "ALTER TABLE t SET TBLPROPERTIES ('rewriter.shared_location' = 'true')")
    run(session, f"ALTER TABLE t ADD PARTITION (p=1) {location} PARTITION (p=2) {location}")
    run(session, "ANALYZE TABLE t COMPUTE STATISTICS")
    assert details(session, "t")["Statistics"] == "12 bytes, 4 rows"
    run(session, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS p")
    assert figures(session, "t p")["distinct_count"] == "2"


def test_odd_names_and_many_partitions(session: Session) -> None:
    run(
        session,
        "CREATE TABLE t (`a b` INT, `ü``q` STRING, rw_number_0 INT) PARTITIONED BY (`p/q` INT)",
        "INSERT INTO t SELECT a.x, 'é', 1, a.x * 10 + b.x FROM VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9) AS a(x) "
        "CROSS JOIN VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9) AS b(x)",
        "ANALYZE TABLE t PARTITION (`p/q`) COMPUTE STATISTICS FOR ALL COLUMNS",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS",
    )
    assert figures(session, "t PARTITION (`p/q`=73) `A B`")["max"] == "7"
    assert figures(session, "t PARTITION (`p/q`=73) `ü``q`")["max_col_len"] == "1"
    assert figures(session, "t `a b`")["distinct_count"] == "10"
    assert figures(session, "t `p/q`")["max"] == "99"


def test_what_is_kept_of_an_unpartitioned_table(session: Session) -> None:
    run(
        session,
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a",
    )
    stored = statistics_in(session.catalog.snapshot().table("t").properties)
    assert stored is not None
    assert stored.columns["a"].type == "int"
    assert (stored.rows, stored.files) == (1, 1)
    assert figures(session, "t a")["max"] == "1"


def test_reserved_properties(session: Session) -> None:
    for statement in (
        "CREATE TABLE t (a INT) TBLPROPERTIES ('rewriter.statistics' = 'x')",
        "CREATE TABLE t (a INT) TBLPROPERTIES ('REWRITER.statistics.more' = 'x')",
    ):
        with pytest.raises(Error) as caught:
            run(session, statement)
        assert caught.value.condition == "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY"
    run(
        session,
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a",
    )
    assert session.execute("SHOW TBLPROPERTIES t").fetch() == []
    assert "Table Properties" not in details(session, "t")
    run(session, "ALTER TABLE t SET TBLPROPERTIES ('x' = 'y')")
    assert session.execute("SHOW TBLPROPERTIES t").fetch() == [("x", "y")]
    assert figures(session, "t a")["max"] == "1"
    run(session, "ALTER TABLE t UNSET TBLPROPERTIES ('rewriter.statistics')")
    assert figures(session, "t a")["max"] == "NULL"


def test_a_type_that_nobody_counts(session: Session) -> None:
    run(session, "CREATE TABLE t (a INT, s STRUCT<x: INT>)")
    with pytest.raises(NotSupportedError) as caught:
        run(session, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a, s")
    assert caught.value.condition == "UNSUPPORTED_FEATURE.ANALYZE_UNSUPPORTED_COLUMN_TYPE"
    run(session, "ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a")
    assert figures(session, "t a")["num_nulls"] == "0"
