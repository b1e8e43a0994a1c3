"""Sources and sinks of users, on both engines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import rewriter
from rewriter.connectors.partition_predicate import PartitionPredicate
from rewriter.dbapi import Connection
from rewriter.errors import AnalysisError, DataError, Error, InterfaceError, NotSupportedError, OperationalError
from rewriter.exec.engine import Engine, EngineQuery
from rewriter.session import Session

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "sources-and-sinks.md").read_text(encoding="utf-8")
SCHEMA = pa.schema([("n", pa.int64()), ("ds", pa.string()), ("h", pa.int32())])
DAYS = [f"2024-01-0{day}" for day in range(1, 6)]
Part = tuple["str | None", "int | None"]


class Source:
    """``count`` rows for each partition. ``reads`` collects the partitions of each read, ``texts`` the predicates."""

    schema = SCHEMA

    def __init__(self, parts: Sequence[Part], count: int = 2, reads: list[list[Part]] | None = None) -> None:
        self.parts, self.count = list(parts), count
        self.reads: list[list[Part]] = [] if reads is None else reads
        self.texts: list[str] = []

    def get_partition_field_names(self) -> list[str]:
        return ["ds", "H"]

    def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> Source:
        self.texts += [predicate.text for predicate in partition_predicates]
        kept = [(ds, h) for ds, h in self.parts if all(p.matches({"ds": ds, "h": h}) for p in partition_predicates)]
        return Source(kept, self.count, self.reads)

    def read(self) -> Iterator[pa.RecordBatch]:
        self.reads.append(self.parts)
        for ds, h in self.parts:
            values = {"h": [h] * self.count, "n": list(range(self.count)), "ds": [ds] * self.count}
            yield pa.RecordBatch.from_pydict(values, schema=pa.schema([SCHEMA.field(name) for name in values]))


class Sink:
    """Collects the batches. ``grouping`` is its answer; ``calls`` are the calls in order."""

    def __init__(self, grouping: bool = True, dynamic: Sequence[str] = ("ds",)) -> None:
        self.grouping, self.dynamic = grouping, dynamic
        self.calls: list[object] = []
        self.rows: list[dict[str, object]] = []

    def set_static_partition(self, partition: Mapping[str, str]) -> None:
        self.calls.append(dict(partition))

    def get_dynamic_partition_field_names(self) -> Sequence[str]:
        self.calls.append("dynamic")
        return self.dynamic

    def enable_dynamic_partition_grouping(self) -> bool:
        self.calls.append("grouping")
        return self.grouping

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.calls.append("write")
        for batch in batches:
            self.rows += batch.to_pylist()


ALL: list[Part] = [(day, hour) for day in DAYS for hour in range(3)]


@pytest.fixture
def connection(engine: Engine, tmp_path: Path) -> Iterator[Connection]:
    with Connection(Session(tmp_path / "warehouse", engine)) as opened:
        opened.execute("CREATE TABLE t (n BIGINT) PARTITIONED BY (ds STRING)")
        yield opened


def rows(connection: Connection, sql: str) -> list[tuple[object, ...]]:
    return sorted(connection.execute(sql).fetchall(), key=repr)


@pytest.mark.parametrize("name", ["duckdb", "spark"])
def test_the_example_prints_what_the_page_says(
    name: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    engine = request.getfixturevalue(name)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (printed,) = re.findall(r"```output\n(.*?)```", PAGE, re.DOTALL)
    assert code.count('engine="duckdb"') == 1
    code = code.replace('engine="duckdb"', "engine=ENGINE")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rewriter, "connect", lambda warehouse, engine: Connection(Session(warehouse, engine)))
    capsys.readouterr()
    exec(compile(code, "sources-and-sinks.md", "exec"), {"ENGINE": engine, "__name__": "example"})
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("ds = '2024-01-02'", [part for part in ALL if part[0] == "2024-01-02"]),
        ("ds >= '2024-01-04' AND h = 1", [("2024-01-04", 1), ("2024-01-05", 1)]),
        ("(ds = '2024-01-01' AND h = 0) OR h > 5", [("2024-01-01", 0)]),
        ("ds LIKE '%-03' AND h IN (0, 2)", [("2024-01-03", 0), ("2024-01-03", 2)]),
        ("NOT h < 2 AND ds IS NOT NULL", [part for part in ALL if part[1] == 2]),
        ("ds IS NULL", []),
    ],
)
def test_a_query_reads_the_partitions_that_it_needs(
    where: str, kept: list[Part], connection: Connection, engine: Engine
) -> None:
    source = Source(ALL)
    connection.register_source("s", source)
    expected = [(n, ds, h) for ds, h in kept for n in range(2)]
    assert rows(connection, f"SELECT * FROM s WHERE {where}") == sorted(expected, key=repr)
    assert source.reads == [kept]


def test_a_query_that_names_a_source_twice_reads_it_once(connection: Connection) -> None:
    source = Source(ALL)
    connection.register_source("s", source)
    sql = "SELECT COUNT(*) FROM s AS a JOIN S AS b ON a.n = b.n WHERE a.ds = '2024-01-01' AND b.ds = '2024-01-02'"
    assert rows(connection, sql) == [(2 * 3 * 3,)]
    assert source.reads == [[part for part in ALL if part[0] in DAYS[:2]]]
    sql = "SELECT COUNT(*) FROM s AS a JOIN s AS b ON a.n = b.n WHERE a.ds = '2024-01-01'"
    assert rows(connection, sql) == [(2 * 3 * 15,)]
    assert source.reads[1:] == [ALL]


def test_values_that_equal_no_other(connection: Connection) -> None:
    """An empty text is no NULL here, unlike in tables; both are read where a condition may hold for them."""
    parts: list[Part] = [("", 1), (None, 2), ("a", None), ("__HIVE_DEFAULT_PARTITION__", 4), ("é", 5)]
    connection.register_source("s", Source(parts, 1))
    assert rows(connection, "SELECT h FROM s WHERE ds = ''") == [(1,)]
    assert rows(connection, "SELECT h FROM s WHERE ds IS NULL") == [(2,)]
    assert rows(connection, "SELECT h FROM s WHERE ds = '__HIVE_DEFAULT_PARTITION__'") == [(4,)]
    assert rows(connection, "SELECT ds FROM s WHERE h IS NULL OR h = 5") == [("a",), ("é",)]
    assert rows(connection, "SELECT h FROM s WHERE ds <> 'a'") == [(1,), (4,), (5,)]


def test_sources_in_other_statements(connection: Connection) -> None:
    source = Source(ALL)
    connection.register_source("s", source)
    assert connection.execute("INSERT INTO t SELECT n, ds FROM s WHERE h = 0").rowcount == 10
    assert rows(connection, "SELECT COUNT(DISTINCT ds) FROM t") == [(5,)]
    connection.execute("CREATE TABLE c PARTITIONED BY (h) AS SELECT n, h FROM s WHERE ds = '2024-01-01'")
    assert rows(connection, "SELECT COUNT(*) FROM c") == [(6,)]
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT ds, n FROM s WHERE h = 1")
    source.reads.clear()
    sql = "WITH s AS (SELECT 1 AS n) SELECT SUM(v.n) FROM v CROSS JOIN s WHERE v.ds = '2024-01-05'"
    assert rows(connection, sql) == [(1,)]
    assert {hour for _, hour in source.reads[0]} == {1}
    connection.execute("INSERT INTO t SELECT n, ds FROM s")
    assert rows(connection, "EXPLAIN SCAN SELECT * FROM s WHERE h = 1 AND ds < '2024'") == [
        ("  predicate: ds < '2024'",), ("  predicate: h = 1",), ("s: a source",)
    ]  # fmt: skip
    assert "@" not in str(connection.execute("EXPLAIN SELECT * FROM s").fetchall()[1])
    for statement in ("INSERT INTO s VALUES (1, 'a', 1)", "DROP TABLE s", "TRUNCATE TABLE s", "DESCRIBE s"):
        with pytest.raises(NotSupportedError) as caught:
            connection.execute(statement)
        assert caught.value.condition == "SOURCE_IS_READ_ONLY"
        assert caught.value.position is not None
    with pytest.raises(AnalysisError):
        connection.execute("CREATE VIEW stored AS SELECT * FROM s")


def test_a_source_comes_before_a_table_and_can_be_replaced(connection: Connection) -> None:
    connection.execute("INSERT INTO t VALUES (7, 'x')")
    connection.register_source("T", Source([("y", 1)], 1))
    assert rows(connection, "SELECT ds FROM t") == [("y",)]
    assert rows(connection, "SELECT ds FROM default.t") == [("x",)]
    connection.register_source("t", Source([], 1))
    assert rows(connection, "SELECT * FROM t") == []
    connection.execute("CREATE TEMPORARY VIEW v AS SELECT 1 AS n")
    with pytest.raises(AnalysisError) as caught:
        connection.register_source("V", Source([]))
    assert caught.value.condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_files_of_a_source_end_with_the_statement(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        session.execute("CREATE TABLE t (n INT)")
        session.register_source("s", Source(ALL))
        result = session.execute("SELECT * FROM s")
        scratch = session._temporaries.sources._scratch
        assert scratch is not None
        assert list(Path(scratch.path).iterdir()) == []
        assert len(result.fetch()) == 30
        with pytest.raises(Error):
            session.execute("SELECT n / 0 FROM s")
        assert list(Path(scratch.path).iterdir()) == []
    assert not Path(scratch.path).exists()


def test_types_of_a_source(connection: Connection) -> None:
    schema = pa.schema([
        ("t", pa.timestamp("ms", "Europe/Paris")), ("d", pa.decimal128(10, 2)),
        ("s", pa.dictionary(pa.int8(), pa.string())), ("p", pa.date32()),
    ])  # fmt: skip

    class Typed(Source):
        def get_partition_field_names(self) -> list[str]:
            return ["p"]

        def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> Source:
            assert all(predicate.matches({"P": date(2024, 1, 2)}) for predicate in partition_predicates)
            assert not all(predicate.matches({"p": "2024-01-01"}) for predicate in partition_predicates)
            assert all(predicate.matches({"other": 1}) for predicate in partition_predicates)
            return self

        def read(self) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"t": [0], "d": [1], "s": ["a"], "p": [date(2024, 1, 2)]}, schema=schema)

    source = Typed([])
    source.schema = schema
    connection.register_source("s", source)
    assert rows(connection, "SELECT * FROM s WHERE p > DATE '2024-01-01'") == [
        (datetime(1970, 1, 1, tzinfo=UTC), Decimal("1.00"), "a", date(2024, 1, 2))
    ]


def test_nested_values_of_a_source(spark: Engine, tmp_path: Path) -> None:
    class Nested(Source):
        schema = pa.schema([("l", pa.list_(pa.struct([("a", pa.int32())])))])

        def get_partition_field_names(self) -> list[str]:
            return []

        def read(self) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"l": [[{"a": 1}], None]}, schema=self.schema)

    with Connection(Session(tmp_path, spark)) as connection:
        connection.execute("CREATE TABLE t (n INT)")
        connection.register_source("s", Nested([]))
        assert rows(connection, "SELECT l[0].a FROM s") == [(1,), (None,)]


def failed(connection: Connection, source: object, sql: str = "SELECT * FROM s WHERE h = 1") -> Error:
    def run() -> None:
        connection.register_source("s", source)  # type: ignore[arg-type]
        connection.execute(sql)

    with pytest.raises(Error) as caught:
        run()
    return caught.value


def test_errors_of_sources(duckdb: Engine, tmp_path: Path) -> None:
    class Failing(Source):
        def read(self) -> Iterator[pa.RecordBatch]:
            yield from super().read()
            raise KeyError("gone")

        def apply_partition_pruning(self, partition_predicates: Sequence[PartitionPredicate]) -> Source:
            return self

    class Other(Failing):
        def read(self) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"n": ["x"], "ds": ["a"], "h": [1]})

    class Fewer(Failing):
        def read(self) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"n": [1], "ds": ["a"]})

    class Twice(Source):
        def get_partition_field_names(self) -> list[str]:
            return ["ds", "ds"]

    class Unknown(Source):
        def get_partition_field_names(self) -> list[str]:
            return ["nosuch"]

    with Connection(Session(tmp_path, duckdb)) as connection:
        connection.execute("CREATE TABLE t (n INT)")
        error = failed(connection, Failing(ALL))
        assert isinstance(error, OperationalError)
        assert error.condition == "SOURCE_FAILED"
        assert error.message == "The source s failed: KeyError: 'gone'."
        assert isinstance(error.__cause__, KeyError)
        for other in (Other(ALL), Fewer(ALL)):
            error = failed(connection, other)
            assert isinstance(error, DataError)
            assert error.condition == "SOURCE_SCHEMA_MISMATCH"
        for wrong in (Twice(ALL), Unknown(ALL), object()):
            assert isinstance(failed(connection, wrong), InterfaceError)
        odd = Source(ALL)
        odd.schema = pa.schema([("n", pa.time64("us")), ("ds", pa.string()), ("h", pa.int32())])
        assert isinstance(failed(connection, odd), InterfaceError)
        assert connection.execute("SELECT COUNT(*) FROM t").fetchall() == [(0,)]


# -- sinks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grouping", "setting"), [(True, "auto"), (False, "auto"), (True, "ungrouped")])
def test_a_sink_is_asked_about_grouping(grouping: bool, setting: str, connection: Connection) -> None:
    connection.execute(f"SET rewriter.sink = {setting}")
    connection.register_source("s", Source([(ds, h) for h in range(3) for ds in reversed(DAYS)]))
    sink = Sink(grouping)
    assert connection.write("SELECT n, ds, h FROM s -- all", sink, {"country": "NO"}) == 30
    asked = ["grouping"] if setting == "auto" else []
    assert sink.calls == [{"country": "NO"}, "dynamic", *asked, "write"]
    days = [str(row["ds"]) for row in sink.rows]
    assert (days == sorted(days)) == (grouping and setting == "auto")
    assert sorted((row["n"], row["ds"], row["h"], row["country"]) for row in sink.rows) == sorted(
        (n, ds, h, "NO") for ds, h in ALL for n in range(2)
    )


def test_a_sink_without_dynamic_columns_is_not_asked(connection: Connection) -> None:
    sink = Sink(dynamic=())
    assert connection.write("SELECT 1 AS n WHERE false", sink) == 0
    assert sink.calls == [{}, "dynamic", "write"]
    assert connection.write("SELECT :x AS n", sink, parameters={"x": 5}) == 1
    assert sink.rows == [{"n": 5}]


def test_errors_of_sinks(duckdb: Engine, tmp_path: Path) -> None:
    class Failing(Sink):
        def write(self, batches: Iterable[pa.RecordBatch]) -> None:
            next(iter(batches))
            raise OSError("full")

    with Connection(Session(tmp_path, duckdb)) as connection:
        connection.execute("CREATE TABLE t (n INT)")

        def condition(sql: str, sink: object, **partition: str) -> str | None:
            with pytest.raises(Error) as caught:
                connection.write(sql, sink, partition)  # type: ignore[arg-type]
            return caught.value.condition

        assert condition("SELECT 1 AS ds", Failing()) == "SINK_FAILED"
        assert condition("SELECT 1 AS n", Sink()) == "UNRESOLVED_PARTITION_COLUMN"
        assert condition("SELECT 1 AS ds, 2 AS DS", Sink()) == "UNRESOLVED_PARTITION_COLUMN"
        assert condition("SELECT 1 AS ds, 2 AS c", Sink(), c="x") == "UNRESOLVED_PARTITION_COLUMN"
        assert condition("SELECT 1 AS ds FROM nosuch", Sink()) == "TABLE_OR_VIEW_NOT_FOUND"
        assert condition("INSERT INTO t VALUES (1)", Sink()) == "PROGRAMMING_ERROR"
        assert condition("SELECT 1 AS ds", object()) == "INTERFACE_ERROR"


# -- statistics -------------------------------------------------------------------------------------------------------


def test_spark_plans_by_the_bytes_that_are_left_after_pruning(spark: Engine, tmp_path: Path) -> None:
    """A join with all days is sorted, and one with a few is broadcast."""
    with Connection(Session(tmp_path, spark)) as connection:
        connection.execute("CREATE TABLE big (n BIGINT)")
        connection.execute("INSERT INTO big SELECT explode(sequence(0L, 50000L))")
        connection.register_source("s", Source(ALL, 5000))
        spark.execute(EngineQuery("SET spark.sql.autoBroadcastJoinThreshold = 50KB"))
        try:
            sql = "EXPLAIN ENGINE SELECT big.n, s.h FROM big JOIN s ON big.n = s.n"
            plans = [
                str(connection.execute(f"{sql}{where}").fetchall()) for where in ("", " WHERE s.ds < '2024-01-02'")
            ]
        finally:
            spark.execute(EngineQuery("SET spark.sql.autoBroadcastJoinThreshold = 10MB"))
    assert ["BroadcastHashJoin" in plan for plan in plans] == [False, True]
    assert ["SortMergeJoin" in plan for plan in plans] == [True, False]


def test_duckdb_knows_the_rows_that_are_left(duckdb: Engine, tmp_path: Path) -> None:
    with Connection(Session(tmp_path, duckdb)) as connection:
        connection.execute("CREATE TABLE t (n INT)")
        connection.register_source("s", Source(ALL, 100))
        plans = [
            str(connection.execute(f"EXPLAIN ENGINE SELECT n FROM s{where}").fetchall())
            for where in ("", " WHERE h < 1 OR h > 9")
        ]
    assert "1,500 rows" in plans[0]
    assert "1,500 rows" not in plans[1]
