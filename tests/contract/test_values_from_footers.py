"""COUNT, MIN and MAX from the footers of Parquet files: equal to those of the engines, which read the rows, and a
footer is read once while its file is the same.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import Error
from rewriter.exec.engine import Engine
from rewriter.exec.parquet_footers import FOOTERS, Footers
from rewriter.session import Session
from tests.rotation import turn

#: Column types with the Arrow type that files have, and values of each.
TYPES: dict[str, tuple[pa.DataType, list[object]]] = {
    "TINYINT": (pa.int8(), [-128, 0, 127]),
    "SMALLINT": (pa.int16(), [-32768, 5, 32767]),
    "INT": (pa.int32(), [-(2**31), -1, 0, 2**31 - 1]),
    "BIGINT": (pa.int64(), [-(2**63), 7, 2**63 - 1]),
    "DATE": (pa.date32(), [date(1, 1, 1), date(1582, 10, 14), date(1969, 12, 31), date(9999, 12, 31)]),
    "TIMESTAMP": (
        pa.timestamp("us", tz="UTC"),
        [datetime(1850, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
         datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)],
    ),
    "DECIMAL(5,2)": (pa.decimal128(5, 2), [Decimal("-999.99"), Decimal("0.01"), Decimal("999.99")]),
    "DECIMAL(18,0)": (pa.decimal128(18, 0), [Decimal(-(10**17)), Decimal(0), Decimal(10**17)]),
    "DECIMAL(38,10)": (
        pa.decimal128(38, 10),
        [Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("-0.0000000001"), Decimal("1E+27").quantize(Decimal("0"))],
    ),
    "STRING": (pa.string(), ["", "a", "\U0001f600", "ä" * 100]),
    "DOUBLE": (pa.float64(), [-0.0, 0.0, float("nan"), float("-inf"), 1.5]),
    "FLOAT": (pa.float32(), [float("nan"), 2.5]),
    "BOOLEAN": (pa.bool_(), [True, False]),
}  # fmt: skip
NAMES = {f"c{number}": type_name for number, type_name in enumerate(TYPES)}
DECLARED = ", ".join(f"{name} {type_name}" for name, type_name in NAMES.items())
#: Ways to write the same rows.
WRITTEN: list[dict[str, object]] = [
    {}, {"version": "1.0"}, {"row_group_size": 2}, {"write_statistics": False},
    {"write_statistics": ["c0", "c3", "c4"]},
    {"use_dictionary": False, "data_page_version": "2.0"}, {"store_schema": False}, {"compression": "none"},
    {"use_deprecated_int96_timestamps": True}, {"coerce_timestamps": "ms", "allow_truncated_timestamps": True},
    {"store_decimal_as_integer": True},
]  # fmt: skip


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        yield opened


@pytest.fixture
def compared(session: Session, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], bool]:
    """Compares the names, types and rows of a query with those that the engine returns when it reads the rows. Returns
    whether the footers had them.
    """

    def compare(sql: str) -> bool:
        with monkeypatch.context() as patch:
            patch.setattr("rewriter.statements.query.select.read_footers", lambda plan, context: None)
            expected = session.execute(f"{sql} -- engine")
            expected_rows = expected.fetch()
        result = session.execute(sql)
        assert [(column.name, column.type) for column in result.columns or ()] == [
            (column.name, column.type) for column in expected.columns or ()
        ], sql
        assert sorted(map(repr, result.fetch())) == sorted(map(repr, expected_rows)), sql
        return "only the footers" in session.execute(f"EXPLAIN SCAN {sql}").fetch()[0][0]

    return compare


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files whose footers are read, as they are opened."""
    paths: list[str] = []

    def open_counted(path: str, mode: str) -> object:
        paths.append(path)
        return open(path, mode)

    monkeypatch.setattr("rewriter.exec.parquet_footers.open", open_counted, raising=False)
    return paths


def _write(path: Path, table: pa.Table, seconds: int = 10**9, **options: object) -> Path:
    """Writes a file whose last change is long ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    os.utime(path, (seconds, seconds))
    return path


def _numbers(*values: int | None) -> pa.Table:
    return pa.table({"a": pa.array(values, pa.int32())})


def _external(
    session: Session, root: Path, declared: str = "a INT", partitioned: str = "PARTITIONED BY (d INT)"
) -> None:
    session.execute(f"CREATE EXTERNAL TABLE t ({declared}) {partitioned} LOCATION '{root}'")
    if partitioned:
        session.execute("MSCK REPAIR TABLE t")


def _random_table(source: random.Random) -> pa.Table:
    """Returns rows with values of all types; some columns are missing, have only NULLs, or no ancient times."""
    rows = source.randrange(0, 7)
    columns = {}
    for name, type_name in NAMES.items():
        type_, values = TYPES[type_name]
        values = values[source.choice([0, 0, 1, 2]) :] if type_name in ("DATE", "TIMESTAMP") else values
        nulls = source.choice([0.0, 0.3, 1.0])
        column = [None if source.random() < nulls else source.choice(values) for _ in range(rows)]
        if source.random() < 0.95:
            columns[source.choice([name, name, name.upper()])] = pa.array(column, type_)
    return pa.table(columns) if columns else pa.table({"other": pa.array([1] * rows)})


@pytest.mark.share(12)
@pytest.mark.parametrize("number", range(12))
def test_external_files_of_all_types(
    session: Session, tmp_path: Path, compared: Callable[[str], bool], number: int
) -> None:
    source = random.Random(turn() * 100 + number)
    options = source.sample(WRITTEN, 2) if number % 2 else [{}]
    for partition in range(4):
        _write(tmp_path / "outside" / f"d={partition}" / "f", _random_table(source), **source.choice(options))
    _external(session, tmp_path / "outside", DECLARED)
    from_footers = compared("SELECT COUNT(*), MIN(d), MAX(t.d) AS `the end`, COUNT(d) FROM t WHERE d <> 2")
    for name in NAMES:
        if NAMES[name] not in ("FLOAT", "DOUBLE"):  # The engine may return any of equal values, 0.0 or -0.0.
            compared(f"SELECT MIN({name}), max(t.{name}) AS m FROM t")
        compared(f"SELECT COUNT({name}), COUNT(*) AS n FROM t AS t WHERE d >= {source.randrange(4)}")
    assert from_footers


def test_every_type_with_exact_statistics(session: Session, tmp_path: Path, compared: Callable[[str], bool]) -> None:
    columns = {}
    for name, type_name in NAMES.items():
        type_, values = TYPES[type_name]
        columns[name] = pa.array([*values[-2:], None], type_)
    _write(tmp_path / "outside" / "f", pa.table(columns))
    duckdb.sql(f"COPY (SELECT * FROM read_parquet('{tmp_path}/outside/f')) TO '{tmp_path}/outside/g' (FORMAT parquet)")
    os.utime(tmp_path / "outside" / "g", (10**9, 10**9))
    _external(session, tmp_path / "outside", DECLARED, "")
    for name, type_name in NAMES.items():
        is_exact = type_name not in ("STRING", "DOUBLE", "FLOAT", "BOOLEAN")
        assert compared(f"SELECT MIN({name}), MAX({name}) FROM t") == is_exact, type_name
        assert compared(f"SELECT COUNT({name}), COUNT(1) FROM t"), type_name


@pytest.mark.parametrize(("unit", "zone"), [("us", None), ("ms", None), ("ms", "UTC"), ("us", "Asia/Tokyo")])
def test_stored_times(
    session: Session, tmp_path: Path, compared: Callable[[str], bool], unit: str, zone: str | None
) -> None:
    times = [datetime(1999, 12, 31, 23, 59, 59, 5000), datetime(2038, 1, 19, 3, 14, 8)]
    _write(tmp_path / "outside" / "f", pa.table({"a": pa.array(times, pa.timestamp(unit, tz=zone))}))
    _external(session, tmp_path / "outside", "a TIMESTAMP", "")
    assert compared("SELECT MIN(a), MAX(a), COUNT(a) FROM t")


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, 2], pa.int16()), pa.array([1, 2], pa.int64()), pa.array([1, 2], pa.uint32()),
        pa.array([None, None], pa.null()), pa.array([1.5, 2.5]), pa.array([{"a": 1}, None]), pa.array([[1], None]),
        pa.array(["1", "2"]).dictionary_encode(), pa.array([date(2024, 1, 1)] * 2),
    ],
    ids=str,
)  # fmt: skip
def test_another_stored_type_is_left_to_the_engine(session: Session, tmp_path: Path, array: pa.Array) -> None:
    _write(tmp_path / "outside" / "d=0" / "f", _numbers(1))
    _write(tmp_path / "outside" / "d=1" / "f", pa.table({"a": array}))
    _external(session, tmp_path / "outside")
    for aggregate in ("MIN(a)", "COUNT(a)"):
        assert "footers" not in session.execute(f"EXPLAIN SCAN SELECT {aggregate} FROM t").fetch()[0][0]


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT MIN(a) FROM t WHERE a > 0",
        "SELECT MIN(a + 1) FROM t",
        "SELECT SUM(a) FROM t",
        "SELECT MIN(a), 1 FROM t",
        "SELECT COUNT(DISTINCT a) FROM t",
        "SELECT d, MIN(a) FROM t GROUP BY d",
        "SELECT MIN(a) FROM t HAVING MIN(a) > 0",
        "SELECT MIN(a) FILTER (WHERE d = 1) FROM t",
        "SELECT MIN(t.a) FROM t, t AS u",
        "SELECT DISTINCT MIN(a) FROM t",
        "SELECT MIN(a) OVER () FROM t WHERE d = 0",
        "SELECT MIN(a) FROM t WHERE d = (SELECT MAX(d) FROM t)",
        "SELECT -MIN(a) FROM t",
        "SELECT MIN(a) FROM t WHERE d = 1 OR a = 1",
        "SELECT MIN(a) FROM t WHERE NOT (d = 1 AND a = 1)",
        "SELECT MIN(a) FROM (SELECT a FROM t WHERE a = 1) AS t",
        "SELECT MIN(a) FROM t WHERE d % 2 = 0",
        "SELECT MIN(a) FROM t UNION ALL SELECT MAX(a) FROM t WHERE d = 0",
        "SELECT COUNT(a, d) FROM t",
        "SELECT MIN(a) FROM t LIMIT 0",
    ],
)
def test_other_queries_read_rows(session: Session, tmp_path: Path, compared: Callable[[str], bool], query: str) -> None:
    for day, values in enumerate([(3, -5), (None, 1), (1,)]):
        _write(tmp_path / "outside" / f"d={day}" / "f", _numbers(*values))
    _external(session, tmp_path / "outside")
    assert not compared(query)


def test_a_footer_is_read_once(session: Session, tmp_path: Path, opened: list[str]) -> None:
    paths = [str(_write(tmp_path / "outside" / f"d={day}" / "f", _numbers(day, None))) for day in range(12)]
    _external(session, tmp_path / "outside")
    first = session.execute("SELECT MIN(a), MAX(a), COUNT(a), COUNT(*) FROM t")
    assert first.fetch() == [(0, 11, 12, 24)]
    assert (sorted(opened), first.stats.files) == (sorted(paths), 12)
    assert 0 < first.stats.bytes < sum(map(os.path.getsize, paths))
    opened.clear()
    for query, row in (("SELECT MIN(a), MAX(a), COUNT(a), COUNT(*) FROM t", (0, 11, 12, 24)),
                       ("SELECT MAX(a) FROM t WHERE d < 5", (4,)), ("SELECT COUNT(*) FROM t", (24,))):  # fmt: skip
        result = session.execute(query)
        assert (result.fetch(), result.stats.files, result.stats.bytes) == ([row], 0, 0)
    assert opened == []
    new = _write(tmp_path / "outside" / "d=12" / "f", _numbers(99))
    session.execute("MSCK REPAIR TABLE t")
    assert session.execute("SELECT MAX(a) FROM t").fetch() == [(99,)]
    assert opened == [str(new)]


def test_only_the_footer_is_needed(session: Session, tmp_path: Path) -> None:
    path = _write(tmp_path / "outside" / "d=0" / "f", _numbers(*range(1000)), compression="none", use_dictionary=False)
    _external(session, tmp_path / "outside")
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * 2000)  # The pages of the rows.
    assert session.execute("SELECT MIN(a), COUNT(a) FROM t").fetch() == [(0, 1000)]
    with pytest.raises(Error) as caught:
        session.execute("SELECT SUM(a) FROM t").fetch()
    assert str(path) in str(caught.value)


def _replaced(path: Path, other: Path) -> None:
    os.replace(other, path)


def _overwritten(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def _overwritten_with_its_time(path: Path, other: Path) -> None:
    _overwritten(path, other)
    os.utime(path, (10**9, 10**9))


@pytest.mark.parametrize("change", [_replaced, _overwritten, _overwritten_with_its_time])
def test_another_content_of_the_same_size(
    session: Session, tmp_path: Path, opened: list[str], change: Callable[[Path, Path], None]
) -> None:
    path = _write(tmp_path / "outside" / "d=0" / "f", _numbers(1, 2))
    _external(session, tmp_path / "outside")
    assert session.execute("SELECT MAX(a) FROM t").fetch() == [(2,)]
    other = _write(tmp_path / "other", _numbers(1, 3))
    assert os.path.getsize(path) == os.path.getsize(other)
    change(path, other)
    assert session.execute("SELECT MAX(a) FROM t").fetch() == [(3,)]
    assert opened == [str(path)] * 2


def test_a_file_that_has_just_changed_is_not_kept(session: Session, tmp_path: Path, opened: list[str]) -> None:
    """Within one tick of the clock, another content of the same size has the same times."""
    path = tmp_path / "outside" / "d=0" / "f"
    _write(path, _numbers(1, 2))
    os.utime(path)
    _external(session, tmp_path / "outside")
    for _ in range(2):
        assert session.execute("SELECT MAX(a) FROM t").fetch() == [(2,)]
    assert opened == [str(path)] * 2


@pytest.mark.parametrize("length", [0, 3, 100, -1, -8])
def test_a_truncated_file_is_an_error_with_its_name(session: Session, tmp_path: Path, length: int) -> None:
    _write(tmp_path / "outside" / "d=0" / "f", _numbers(1, 2))
    path = _write(tmp_path / "outside" / "d=1" / "f", _numbers(1, 2))
    _external(session, tmp_path / "outside")
    assert session.execute("SELECT COUNT(*) FROM t").fetch() == [(4,)]
    os.truncate(path, length if length >= 0 else path.stat().st_size + length)
    with pytest.raises(Error) as caught:
        session.execute("SELECT COUNT(*), MAX(a) FROM t").fetch()
    assert caught.value.condition.startswith("FAILED_READ_FILE")
    assert str(path) in str(caught.value)


def test_a_file_that_disappears_after_the_listing(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine lists and reads what is there now."""
    paths = [_write(tmp_path / "outside" / f"d={day}" / "f", _numbers(day)) for day in range(3)]
    _external(session, tmp_path / "outside")
    read = Footers.read

    def read_later(footers: Footers, path: str, is_final: bool = False) -> object:
        paths[2].unlink(missing_ok=True)
        return read(footers, path, is_final)

    monkeypatch.setattr(Footers, "read", read_later)
    assert session.execute("SELECT COUNT(*), MAX(a) FROM t").fetch() == [(2, 1)]


def test_a_managed_file_that_disappeared_is_an_error(session: Session) -> None:
    session.execute("CREATE TABLE m (a INT)")
    session.execute("INSERT INTO m VALUES (1), (2)")
    assert session.execute("SELECT MAX(a) FROM m").fetch() == [(2,)]
    (folder,) = Path(_location(session, "m")).glob("rewriter_write_id=*")
    shutil.rmtree(folder)
    with pytest.raises(Error) as caught:
        session.execute("SELECT MAX(a) FROM m").fetch()
    assert caught.value.condition.startswith("FAILED_READ_FILE")


def _location(session: Session, table: str) -> str:
    rows = session.execute(f"DESCRIBE EXTENDED {table}").fetch()
    return next(str(row[1]) for row in rows if row[0] == "Location").removeprefix("file:")


def test_empty_tables(session: Session, tmp_path: Path, compared: Callable[[str], bool]) -> None:
    query = "SELECT COUNT(*), COUNT(a), MIN(a), MAX(a), MIN(d), COUNT(d) FROM t"
    (tmp_path / "outside").mkdir()
    _external(session, tmp_path / "outside")
    assert compared(query)
    _write(tmp_path / "outside" / "d=0" / "f", _numbers())
    session.execute("MSCK REPAIR TABLE t")
    assert compared(query)
    assert session.execute(query).fetch() == [(0, 0, None, None, None, 0)]


def test_columns_of_nulls_and_missing_columns(
    session: Session, tmp_path: Path, compared: Callable[[str], bool]
) -> None:
    _write(tmp_path / "outside" / "d=0" / "f", _numbers(None, None))
    _write(tmp_path / "outside" / "d=1" / "f", pa.table({"b": pa.array([1, 2, 3], pa.int32())}))
    _external(session, tmp_path / "outside")
    query = "SELECT COUNT(*), COUNT(a), MIN(a), MAX(a) FROM t"
    assert compared(query)
    assert session.execute(query).fetch() == [(5, 0, None, None)]
    session.execute("ALTER TABLE t ADD COLUMNS (b INT)")
    assert compared("SELECT MIN(b), COUNT(b), COUNT(a) FROM t")
    assert session.execute("SELECT MIN(b), COUNT(b) FROM t").fetch() == [(1, 3)]


def test_names_that_differ_in_case_or_have_dots(
    session: Session, tmp_path: Path, compared: Callable[[str], bool]
) -> None:
    numbers = pa.array([1, 2], pa.int32())
    _write(tmp_path / "outside" / "f", pa.table({"A": numbers, "x.y": numbers, "B c": numbers, "z": [{"y": 1}, None]}))
    _external(session, tmp_path / "outside", "a INT, `x.y` INT, `b C` INT, `z.y` INT", "")
    assert compared("SELECT MIN(a), MAX(`x.y`) AS m, COUNT(`B c`) AS n FROM t")
    assert compared("SELECT MIN(A), MAX(`b C`) FROM t")
    assert not compared("SELECT COUNT(`z.y`) AS n FROM t")


def test_a_managed_table_changes(session: Session, compared: Callable[[str], bool]) -> None:
    session.execute("CREATE TABLE m (a INT, b DECIMAL(9,2), s STRING, x DOUBLE) PARTITIONED BY (d STRING, h INT)")
    session.execute(
        "INSERT INTO m VALUES (1, 1.5, 'x', 0.0, 'p', 1), (5, NULL, NULL, NULL, 'p', 2), (NULL, -2, 'y', 1.0, NULL, 1)"
    )
    query = "SELECT COUNT(*), MIN(a), MAX(b) AS m, COUNT(s), MAX(d), MIN(h), COUNT(d) FROM m"
    assert compared(query)
    assert compared("SELECT COUNT(h), COUNT(a) FROM m")
    compared("SELECT COUNT(x), MIN(x) FROM m")
    # The partitions share a row group.
    assert not compared(f"{query} WHERE h = 1")
    session.execute("ALTER TABLE m ADD COLUMNS (c BIGINT)")
    assert compared("SELECT MIN(c), COUNT(c), MAX(a) FROM m")
    session.execute("INSERT INTO m VALUES (9, 9.99, 'z', 1.0, 7, 'q', 3)")
    assert compared("SELECT MIN(c), COUNT(c), MAX(a), MAX(d) FROM m")
    assert compared(f"{query} WHERE h = 3")
    session.execute("ALTER TABLE m PARTITION (d = 'q', h = 3) RENAME TO PARTITION (d = 'zz', h = 30)")
    assert compared("SELECT MAX(a), MAX(d), MAX(h) FROM m")
    session.execute("ALTER TABLE m DROP PARTITION (d = 'p', h = 2)")
    assert not compared("SELECT MAX(a), COUNT(*) FROM m")
    session.execute("TRUNCATE TABLE m")
    assert compared("SELECT MAX(a), COUNT(*) AS n FROM m")


def test_partitions_with_row_groups_of_their_own(
    session: Session, tmp_path: Path, compared: Callable[[str], bool]
) -> None:
    """A row group ends with the partition that reaches 65,536 rows."""
    _write(tmp_path / "outside" / "f", _numbers(*range(210_000)))
    _external(session, tmp_path / "outside", partitioned="")
    session.execute("CREATE TABLE m (a INT) PARTITIONED BY (d INT)")
    session.execute("INSERT INTO m SELECT a, CAST(a DIV 70000 AS INT) FROM t")
    assert len(list(Path(_location(session, "m")).glob("*/*.parquet"))) == 1
    for day in range(3):
        assert compared(f"SELECT MIN(a), MAX(a), COUNT(*), MAX(d) FROM m WHERE d >= {day}")
    assert session.execute("SELECT MIN(a), MAX(a), COUNT(*) FROM m WHERE d = 1").fetch() == [(70000, 139999, 70000)]
    session.execute("ALTER TABLE m DROP PARTITION (d = 1)")
    assert compared("SELECT MIN(a), COUNT(a) FROM m")
    assert session.execute("SELECT COUNT(a) FROM m").fetch() == [(140000,)]


def test_discovered_partitions(session: Session, tmp_path: Path, compared: Callable[[str], bool]) -> None:
    for day in range(3):
        _write(tmp_path / "outside" / f"d={day}" / "f", _numbers(day))
    session.execute(
        f"CREATE EXTERNAL TABLE t (a INT) PARTITIONED BY (d INT) LOCATION '{tmp_path / 'outside'}' "
        "TBLPROPERTIES ('rewriter.partitions' = 'discovered')"
    )
    assert compared("SELECT MAX(a), COUNT(*) FROM t WHERE d < 2")
    _write(tmp_path / "outside" / "d=9" / "f", _numbers(9))
    assert session.execute("SELECT MAX(a), MAX(d), COUNT(*) FROM t").fetch() == [(9, 9, 4)]
    assert compared("SELECT MAX(a), MAX(d), COUNT(*) FROM t")


def test_the_footers_used_longest_ago_are_dropped(tmp_path: Path) -> None:
    paths = [str(_write(tmp_path / str(number), _numbers(number))) for number in range(4)]
    footers = Footers(most_chunks=2)

    def read(numbers: Sequence[int]) -> list[bool]:
        return [footers.read(paths[number])[1] > 0 for number in numbers]

    assert read([0, 1, 0, 1, 2, 1, 0, 2]) == [True, True, False, False, True, False, True, True]
    assert footers.read(paths[0])[0].row_groups[0].chunks == ((0, 0, 0),)


def test_forked_processes_read_for_themselves(tmp_path: Path) -> None:
    path = str(_write(tmp_path / "f", _numbers(1)))
    FOOTERS.read(path)
    assert FOOTERS.read(path)[1] == 0
    with FOOTERS._lock:  # Another thread may hold it.
        child = os.fork()
        if child == 0:
            os._exit(0 if FOOTERS.read(path)[1] > 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
