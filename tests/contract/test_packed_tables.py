"""Packed tables beside tables with one file a partition: after the same statements, both have the same rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb as plain_duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.catalog.maintenance import file_garbage
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.errors import Error
from rewriter.exec import file_groups
from rewriter.exec.engine import Engine
from rewriter.exec.sinks.file_target import FileTarget
from rewriter.exec.sinks.packed import GROUP_ROWS, PackedSink
from rewriter.session import Session
from rewriter.statements.write import merged_files
from tests.rotation import turn

#: The types of partition columns, with values as Spark SQL. The first four of each are the most frequent.
VALUES = {
    "STRING": ["'a'", "'b'", "NULL", "'x/y=%'", "'é💧'", "''", "' '", "'A'", "'it''s'"],
    "INT": ["1", "-2", "NULL", "0", "2147483647"],
    "BIGINT": ["9223372036854775807", "-9223372036854775808", "NULL", "5"],
    "DATE": ["DATE '2024-01-01'", "DATE '0001-01-01'", "NULL", "DATE '9999-12-31'"],
    "TIMESTAMP": [
        "TIMESTAMP '2024-01-01 00:00:00'", "TIMESTAMP '2024-01-01 00:00:00.000001'", "NULL",
        "TIMESTAMP '1969-12-31 23:59:59.5'",
    ],
    "BOOLEAN": ["true", "false", "NULL", "true"],
    "DECIMAL(20,3)": ["1.5", "-0.001", "NULL", "12345678901234567.123"],
    "DOUBLE": ["1.5D", "0.0D", "-0.0D", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)", "NULL", "1e300D"],
    "FLOAT": ["1.5F", "0.1F", "NULL", "-0.0F"],
    "CHAR(3)": ["'a'", "'abc'", "NULL", "'b '"],
    "VARCHAR(4)": ["'a'", "'a '", "NULL", "'abcd'"],
}  # fmt: skip


class Twins:
    """Two tables, ``packed`` and ``single``, and their partners for EXCHANGE, in one warehouse."""

    def __init__(self, session: Session, source: random.Random) -> None:
        self.session = session
        self.source = source
        self.types = source.sample(sorted(VALUES), source.choice((1, 1, 2)))
        columns = ", ".join(f"p{number} {type_}" for number, type_ in enumerate(self.types))
        for name in ("packed", "single"):
            for table in (name, f"{name}_other"):
                session.execute(
                    f"CREATE TABLE {table} (x INT, s STRING) PARTITIONED BY ({columns}) "
                    f"TBLPROPERTIES ('rewriter.packed' = '{str(name == 'packed').lower()}')"
                )
        self.number = self.added = 0

    def value(self, type_: str) -> str:
        values = VALUES[type_]
        return self.source.choice(values[:4] if self.source.random() < 0.7 else values)

    def rows(self) -> str:
        rows = []
        for _ in range(self.source.choice((1, 5, 40))):
            self.number += 1
            rows.append(f"({self.data()}, {', '.join(map(self.value, self.types))})")
        return ", ".join(rows)

    def data(self) -> str:
        return ", ".join([str(self.number), f"'s{self.number % 7}'", *map(str, range(self.added))])

    def spec(self, leading: bool = False) -> str:
        types = self.types[:1] if leading else self.types
        return ", ".join(f"p{number} = {self.value(type_)}" for number, type_ in enumerate(types))

    def step(self) -> str:
        """Returns a statement with ``{}`` for the table's name."""
        choice = self.source.random()
        into = f"PARTITION ({', '.join(f'p{number}' for number in range(len(self.types)))})"
        if choice < 0.35:
            return f"INSERT INTO {{}} {into} VALUES {self.rows()}"
        if choice < 0.5:
            return f"INSERT OVERWRITE {{}} {into} VALUES {self.rows()}"
        if choice < 0.6:
            return f"ALTER TABLE {{}} DROP IF EXISTS PARTITION ({self.spec(leading=self.source.random() < 0.3)})"
        if choice < 0.7:
            return f"ALTER TABLE {{}} PARTITION ({self.spec()}) RENAME TO PARTITION ({self.spec()})"
        if choice < 0.8:
            goal, origin = self.source.choice((("{}", "{}_other"), ("{}_other", "{}")))
            return f"ALTER TABLE {goal} EXCHANGE PARTITION ({self.spec()}) WITH TABLE {origin}"
        if choice < 0.85:
            return f"TRUNCATE TABLE {{}} PARTITION ({self.spec()})"
        if choice < 0.9:
            return f"INSERT INTO {{}} PARTITION ({self.spec()}) VALUES ({self.data()})"
        if choice < 0.91:
            leading = f"p0 = {self.value(self.types[0])}"
            rest = self.types[1:]
            if rest:
                return f"INSERT INTO {{}} PARTITION ({leading}, p1) VALUES ({self.data()}, {self.value(rest[0])})"
        if choice < 0.92:
            self.added += 1
            column = f"ADD COLUMNS (c{self.added} INT)"
            return f"ALTER TABLE {{}} {column}; ALTER TABLE {{}}_other {column}"
        if choice < 0.93:
            return "ANALYZE TABLE {} COMPUTE STATISTICS"
        if choice < 0.97:
            return "ALTER TABLE {} COMPACT"
        return "VACUUM RETAIN 0 HOURS"

    def take(self, step: str) -> None:
        """Runs a statement on both tables: both succeed, or fail with one condition."""
        outcomes = {}
        for name in ("packed", "single"):
            try:
                for statement in step.split("; "):
                    self.session.execute(statement.replace("{}", name))
                outcomes[name] = ""
            except Error as error:
                outcomes[name] = error.condition
        assert len(set(outcomes.values())) == 1, (step, outcomes)

    def compare(self, reader: Session) -> None:
        columns = ", ".join(f"p{number}" for number in range(len(self.types)))
        condition = self.spec(leading=True).replace("= NULL", "IS NULL")
        for other in ("", "_other"):
            for query in (
                f"SELECT * FROM {{}}{other}",
                f"SELECT {columns}, COUNT(*) AS n, SUM(x) AS x FROM {{}}{other} GROUP BY {columns}",
                f"SELECT x FROM {{}}{other} WHERE {condition}",
                f"SELECT COUNT(*) AS n FROM {{}}{other} WHERE x % 2 = 0",
            ):
                packed, single = (
                    sorted(map(repr, reader.execute(query.replace("{}", name)).fetch()))
                    for name in ("packed", "single")
                )
                assert packed == single, query
        partitions = [self.session.execute(f"SHOW PARTITIONS {name}").fetch() for name in ("packed", "single")]
        assert partitions[0] == partitions[1]


def _history(path: Path, engine: Engine, reader: Engine, seed: int, steps: int) -> None:
    source = random.Random(seed)
    with Session(path, engine) as session, Session(path, reader) as other:
        session.execute("SET rewriter.least_retention_hours = 0")
        session.execute(f"SET rewriter.sink.target_file_bytes = {source.choice((1, 3000, 134217728))}")
        twins = Twins(session, source)
        for number in range(steps):
            twins.take(twins.step())
            if number % 4 == 3:
                twins.compare(session)
        twins.compare(other)
        assert list(findings(session.catalog.database)) == []


@pytest.mark.share(12)
@pytest.mark.parametrize("number", range(12))
def test_histories_leave_the_same_rows(duckdb: Engine, tmp_path: Path, number: int) -> None:
    _history(tmp_path, duckdb, duckdb, turn() * 100 + number, 40)


@pytest.mark.long
@pytest.mark.parametrize("number", range(300))
def test_many_histories_leave_the_same_rows(duckdb: Engine, tmp_path: Path, number: int) -> None:
    _history(tmp_path, duckdb, duckdb, turn() * 1000 + number, 80)


def test_both_engines_read_what_one_has_written(engine: Engine, duckdb: Engine, tmp_path: Path) -> None:
    writer, reader = (duckdb, engine) if turn() % 2 else (engine, duckdb)
    _history(tmp_path, writer, reader, turn(), 8 if engine.name == "spark" else 40)


def _table(session: Session, rows: int = 96) -> None:
    session.execute(
        "CREATE TABLE t (x INT) PARTITIONED BY (dt STRING, hr INT) TBLPROPERTIES ('rewriter.packed' = 'true')"
    )
    values = ", ".join(f"({i}, '2024-01-{i % 4 + 1:02}', {i % 24})" for i in range(rows))
    session.execute(f"INSERT INTO t PARTITION (dt, hr) VALUES {values}")


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("**/*.parquet"))


def test_one_write_makes_one_file_that_others_read_as_parquet(engine: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, engine) as session:
        _table(session)
        rows = sorted(session.execute("SELECT * FROM t").fetch())
    files = _files(tmp_path)
    assert len(files) < 4 if engine.name == "spark" else len(files) == 1
    arrow = pq.ParquetDataset([str(file) for file in files], partitioning=None).read()
    assert sorted(zip(*(column.to_pylist() for column in arrow.columns), strict=True)) == rows
    listed = [str(file) for file in files]
    assert sorted(plain_duckdb.sql(f"SELECT * FROM read_parquet({listed}, hive_partitioning=false)").fetchall()) == rows


def test_parts_are_found_under_any_path(engine: Engine, tmp_path: Path) -> None:
    warehouse = tmp_path / "a [b]* + %20 'é?'"
    with Session(warehouse, engine) as session:
        _table(session)
        assert session.execute("SELECT SUM(x) AS x FROM t WHERE dt = '2024-01-02'").fetch() == [(sum(range(1, 96, 4)),)]
        session.execute("ALTER TABLE t DROP PARTITION (dt = '2024-01-02')")
        assert session.execute("SELECT COUNT(x) AS n FROM t").fetch() == [(72,)]


def test_a_file_under_another_name_is_an_error(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row is lost silently where an engine spells a path otherwise."""

    def misspelled(relation: Any) -> Any:
        groups = file_groups.scan(relation)
        parts = tuple(file._replace(path=file.path.replace("/t-1/", "/./t-1/")) for file in groups.packed_parts)
        return replace(groups, packed_parts=parts)

    with Session(tmp_path, engine) as session:
        _table(session)
        session.execute("ALTER TABLE t DROP PARTITION (dt = '2024-01-02')")
        # A part that is stored under other values is joined with the catalog's.
        session.execute("ALTER TABLE t PARTITION (dt = '2024-01-01', hr = 0) RENAME TO PARTITION (dt = 'x', hr = 0)")
        for module in ("duckdb", "spark"):
            monkeypatch.setattr(f"rewriter.exec.{module}.relations.scan", misspelled)
        if engine.name == "duckdb":  # It calls a file as it was asked for.
            assert session.execute("SELECT COUNT(x) AS n FROM t").fetch() == [(72,)]
        else:
            with pytest.raises(Error, match="no partition values"):
                session.execute("SELECT COUNT(x) AS n FROM t").fetch()


def test_conditions_of_one_period_are_not_computed_for_partitions_of_another(engine: Engine, tmp_path: Path) -> None:
    """Months and days share a table; the one month that is left in a file is no date of a day."""
    with Session(tmp_path, engine) as session:
        session.execute("CREATE TABLE t (n BIGINT) PARTITIONED BY (dt BIGINT, e STRING)")
        session.execute("INSERT INTO t VALUES (1, 201301, '2013-01'), (2, 201304, '2013-01')")
        session.execute("ALTER TABLE t DROP PARTITION (dt = 201304)")
        session.execute("INSERT INTO t VALUES (8, 20130201, '2013-01-02'), (16, 20130202, '2013-01-02')")
        session.execute("CREATE CUBE visits (n BIGINT MEASURE SUM NOT NULL, t TIMESTAMP TIME, e TIMESTAMP TIME)")
        session.execute(
            "CREATE FACT f OF CUBE visits STORED IN (TABLE t PERIODS (DAILY, MONTHLY) PARTITIONED BY t AS (dt) "
            "PARTITIONED BY e AS (e) TRUSTED)"
        )
        rows = session.execute(
            "SELECT SUM(n) AS n FROM visits WHERE t >= '2013-01-01' AND t < '2013-02-03' "
            "AND e >= '2013-01-01' AND e < '2013-02-01'"
        ).fetch()
    assert rows == [(25,)]


def test_row_groups_end_with_partitions(duckdb: Engine, tmp_path: Path) -> None:
    """A row group holds whole partitions, or a piece of one."""
    with Session(tmp_path, duckdb) as session:
        session.execute("CREATE TABLE t (x INT) PARTITIONED BY (d INT) TBLPROPERTIES ('rewriter.packed' = 'true')")
        hundred, times = (", ".join(f"({number})" for number in range(most)) for most in (100, 25))
        query = f"SELECT b.x AS x, a.x DIV 3 AS d FROM VALUES {hundred} AS a(x) CROSS JOIN VALUES {hundred} AS b(x)"
        session.execute(f"INSERT INTO t SELECT q.* FROM ({query}) q CROSS JOIN VALUES {times} AS c(y)")
        (file,) = _files(tmp_path)
        metadata = pq.ParquetFile(file).metadata
        bounds = []
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(1).statistics
            bounds.append((statistics.min, statistics.max))
        assert metadata.num_row_groups > 2
        assert all(before[1] < after[0] for before, after in pairwise(bounds))
        stored = {row[0]: row[1:] for row in session.execute("SELECT d, COUNT(*) FROM t GROUP BY d").fetch()}
        assert sum(count for (count,) in stored.values()) == metadata.num_rows > GROUP_ROWS


@pytest.mark.parametrize(
    ("type_", "values", "ascending", "unsorted"),
    [
        (pa.int32(), ["-2", "9", "10"], True, ["10", "9"]),
        (pa.string(), [None, "", "10", "9", "Z", "a", "é", "💧"], True, ["9", "10"]),
        (pa.date32(), ["0001-01-01", "2024-01-01", "9999-12-31"], True, ["2024-01-02", "2024-01-01"]),
        (pa.float64(), ["1.0", "2.0"], False, ["2.0", "1.0"]),
        (pa.timestamp("us", "UTC"), ["2024-01-01 00:00:00", "2024-01-01 00:00:00.5"], False, []),
    ],
)
def test_positions_are_those_of_sorted_files(
    type_: pa.DataType, values: list[str | None], ascending: bool, unsorted: list[str | None], tmp_path: Path
) -> None:
    """A text that sorts as text may not sort as a number: Spark writes numbers in the order of their texts."""
    for keys, is_sorted in ((values, ascending), (unsorted, False)):
        files = PackedSink(FileTarget(str(tmp_path), "parquet", ("k",), {}, "null"), pa.schema([("k", type_)]))
        for key in keys:
            files.add((key,), pa.record_batch({"x": pa.array([1])}))
        files.close()
        positions = [position for *_, (*_, position) in files.written]
        assert positions == (list(range(len(keys))) if is_sorted else [None] * len(keys))


def test_the_last_partition_of_a_file_ends_it(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        session.execute("SET rewriter.least_retention_hours = 0")
        _table(session)
        (file,) = _files(tmp_path)
        session.execute("ALTER TABLE t DROP PARTITION (dt > '2024-01-01')")
        session.execute("ALTER TABLE t DROP PARTITION (hr > 0)")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert _files(tmp_path) == [file]
        assert sorted(session.execute("SELECT * FROM t").fetch()) == [
            (i, "2024-01-01", 0) for i in range(96) if i % 4 == 0 and i % 24 == 0
        ]
        session.execute("ALTER TABLE t DROP PARTITION (hr = 0)")
        session.execute("VACUUM RETAIN 0 HOURS")
        assert _files(tmp_path) == []


def test_only_managed_partitioned_parquet_tables_are_packed(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        for table, value in (
            ("(x INT)", "true"),
            ("(x INT) USING csv PARTITIONED BY (y INT)", "true"),
            (f"(x INT) USING parquet PARTITIONED BY (y INT) LOCATION '{tmp_path}/outside'", "true"),
            ("(x INT) PARTITIONED BY (y INT)", "perhaps"),
        ):
            words, _, location = table.partition(" LOCATION ")
            place = f" LOCATION {location}" if location else ""
            with pytest.raises(Error) as caught:
                session.execute(f"CREATE TABLE u {words}{place} TBLPROPERTIES ('rewriter.packed' = '{value}')")
            assert caught.value.condition == "INVALID_FILE_PROPERTY"


# -- planted faults -----------------------------------------------------------------------------------------------


@contextmanager
def _planted(monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]) -> Iterator[None]:
    with monkeypatch.context() as patch:
        plant(patch)
        yield


def _reads_whole_files(patch: pytest.MonkeyPatch) -> None:
    """A reader that returns all rows of a packed file."""
    original = file_groups.scan

    def scan(relation: Any) -> Any:
        groups = original(relation)
        paths = tuple(dict.fromkeys(file.path for file in groups.packed_parts))
        return replace(groups, packed=(*groups.packed, *paths), packed_parts=())

    for module in ("duckdb", "spark"):
        patch.setattr(f"rewriter.exec.{module}.relations.scan", scan)


def _compact_keeps_dead_rows(patch: pytest.MonkeyPatch) -> None:
    """A COMPACT that leaves files with dead rows and calls all their rows live."""
    original = merged_files.scan_file

    def scan_file(file: Any, values: Any) -> Any:
        return original(file, values)._replace(part=None)

    patch.setattr(merged_files, "scan_file", scan_file)
    patch.setattr(merged_files, "_check_rows", lambda *_: None)


def _vacuum_takes_one_row_for_all(patch: pytest.MonkeyPatch) -> None:
    """A VACUUM that removes a file when one of its partitions has ended."""
    original = file_garbage._all_paths
    patch.setattr(file_garbage, "_all_paths", lambda connection: iter(()))
    patch.setattr(file_garbage, "Counter", lambda _: _Everything())
    assert original


class _Everything:
    """Equals every number of rows."""

    def __getitem__(self, _: str) -> Any:
        return self

    def __eq__(self, _: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


def _runs_cross_gaps(patch: pytest.MonkeyPatch) -> None:
    """A reader that takes all between the first and the last partition that it reads of a file."""
    original = file_groups._value_runs

    def value_runs(files: Any) -> Any:
        runs = original(files)
        if any(run.leading != runs[0].leading or None in (run.first, run.last) for run in runs):
            return runs
        return (runs[0]._replace(last=runs[-1].last),)

    patch.setattr(file_groups, "_value_runs", value_runs)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "plant", [_reads_whole_files, _compact_keeps_dead_rows, _vacuum_takes_one_row_for_all, _runs_cross_gaps]
)
def test_planted_faults_are_found(
    duckdb: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    failed_histories = 0
    with _planted(monkeypatch, plant):
        for seed in range(30):
            try:
                _history(tmp_path / str(seed), duckdb, duckdb, seed, 40)
            except (AssertionError, Error):
                failed_histories += 1
                break
    assert failed_histories
