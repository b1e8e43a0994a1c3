"""INSERT through each sink, on both engines: the rows, the files, and the choice that EXPLAIN names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.errors import DataError, EngineError
from rewriter.exec.engine import Engine
from rewriter.runtime import settings
from rewriter.session import Session
from rewriter.statements.write import managed_write

#: Each partition has rows in every part of the source.
SOURCE = (
    "SELECT a.id, concat('s', a.id % 5), a.id % 6, CASE WHEN a.id % 11 = 0 THEN NULL ELSE concat('k', a.id % 2) END "
    "FROM (SELECT explode(sequence(0L, 499L)) AS id) AS a"
)
FORMATS = ["PARQUET", "ORC", "CSV", "JSON", "TEXTFILE"]


@pytest.fixture
def session(engine: Engine, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", engine) as opened:
        yield opened


def create(session: Session, name: str, format: str = "PARQUET", packed: bool = False) -> None:
    properties = "" if packed or format != "PARQUET" else "TBLPROPERTIES ('rewriter.packed' = 'false')"
    session.execute(
        f"CREATE TABLE {name} (x BIGINT, s STRING) PARTITIONED BY (p BIGINT, k STRING) STORED AS {format} {properties}"
    )


def rows(session: Session, name: str) -> Counter[object]:
    return Counter(session.execute(f"SELECT * FROM {name}").fetch())


def files_of(session: Session, name: str) -> list[str]:
    table = session.catalog.snapshot().table(name)
    return [file.path for _, file in session.catalog.snapshot().files(table)]


@pytest.mark.share(3, "spark")
@pytest.mark.parametrize("format", FORMATS)
def test_every_sink_writes_the_same_rows(format: str, session: Session) -> None:
    create(session, "auto", format)
    session.execute(f"INSERT INTO auto {SOURCE}")
    expected = rows(session, "auto")
    assert sum(expected.values()) == 500
    for sink in ("grouped", "ungrouped", "sorted"):
        session.execute(f"SET rewriter.sink = {sink}")
        session.execute("SET rewriter.sink.max_open_writers = 4")
        create(session, sink, format)
        assert session.execute(f"INSERT INTO {sink} {SOURCE}").rowcount == 500
        assert rows(session, sink) == expected


def test_sinks_of_packed_tables(session: Session) -> None:
    """An ungrouped sink writes files by partition, the others packed ones."""
    for sink in ("grouped", "ungrouped", "sorted"):
        session.execute(f"SET rewriter.sink = {sink}")
        create(session, sink, packed=True)
        stats = session.execute(f"INSERT INTO {sink} {SOURCE}").stats
        assert stats is not None
        assert stats.written_partitions == 12
        assert rows(session, sink) == rows(session, "grouped")
        paths = files_of(session, sink)
        assert (len(set(paths)) == len(paths)) == (sink == "ungrouped")
    # COMPACT sorts, whatever the setting.
    session.execute("SET rewriter.sink = ungrouped")
    session.execute("INSERT INTO grouped SELECT * FROM grouped")
    session.execute("ALTER TABLE grouped COMPACT")
    assert rows(session, "grouped") == Counter({row: 2 * count for row, count in rows(session, "sorted").items()})
    assert len(set(files_of(session, "grouped"))) == 1


def test_too_many_partitions_stop_every_sink(session: Session) -> None:
    session.execute("SET rewriter.max_dynamic_partitions = 3")
    create(session, "t")
    for sink in ("grouped", "ungrouped", "sorted"):
        session.execute(f"SET rewriter.sink = {sink}")
        with pytest.raises(EngineError) as caught:
            session.execute("INSERT INTO t SELECT id, 's', id % 7, 'k' FROM (SELECT explode(sequence(0L, 49L)) AS id)")
        assert caught.value.condition == "TOO_MANY_DYNAMIC_PARTITIONS"
        assert "more than 3 partitions, the limit of rewriter.max_dynamic_partitions" in caught.value.message
    assert rows(session, "t") == Counter()


def test_too_many_partitions_are_noticed_while_rows_are_read(session: Session) -> None:
    """The last row fails: its error would come first if all rows were read."""
    session.execute("SET rewriter.sink = ungrouped")
    session.execute("SET rewriter.max_dynamic_partitions = 20")
    create(session, "t")
    failing = "CAST(IF(id = 29999999L, 'no number', CAST(id % 1000 AS STRING)) AS BIGINT)"
    with pytest.raises(EngineError) as caught:
        session.execute(f"INSERT INTO t SELECT id, 's', {failing}, 'k' FROM range(30000000)")
    assert caught.value.condition == "TOO_MANY_DYNAMIC_PARTITIONS"


def test_the_default_of_most_partitions_depends_on_the_files(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_MOST_PACKED_PARTITIONS", 7)
    monkeypatch.setattr(settings, "_MOST_PARTITIONS_WITH_FILES", 6)
    create(session, "packed", packed=True)
    create(session, "single")
    query = "SELECT id, 's', CAST(id % 7 AS INT), 'k' FROM (SELECT explode(sequence(0L, 49L)) AS id)"
    for name in ("rewriter.max_dynamic_partitions", "hive.exec.max.dynamic.partitions"):
        session.execute(f"INSERT INTO packed {query}")
        with pytest.raises(EngineError, match="more than 6 partitions") as caught:
            session.execute(f"INSERT INTO single {query}")
        assert caught.value.condition == "TOO_MANY_DYNAMIC_PARTITIONS"
        session.execute(f"SET {name} = 7")
        session.execute(f"INSERT INTO single {query}")
        session.execute(f"SET {name} = AUTO")
    assert len(rows(session, "single")) == len(rows(session, "packed"))


def explained(session: Session, statement: str) -> str:
    return str(session.execute(f"EXPLAIN {statement}").fetch()[-1][0])


def test_explain_names_the_sink(session: Session, engine: Engine) -> None:
    create(session, "packed", packed=True)
    create(session, "single")
    create(session, "texts", "CSV")
    few = "there are at most {} partitions, and {} files may be open"
    session.execute(f"INSERT INTO single {SOURCE}")
    size = "of up to 134,217,728 bytes"
    spark = engine.name == "spark"
    little = "one task reads all, and sorts it"
    for statement, table, form, sink, reason in (
        ("INSERT INTO packed SELECT * FROM single", "packed", "packed", "grouped",
         "a packed file holds several partitions, one after the other"),
        ("INSERT INTO single PARTITION (p = 1, k = 'a') SELECT 1, 'x'", "single", "PARQUET", "single-partition",
         "there is only one partition"),
        ("INSERT INTO texts SELECT * FROM single", "texts", "CSV", "ungrouped", few.format(12, 64)),
        ("INSERT INTO texts SELECT x, s, p, 'a' FROM single WHERE p > 2", "texts", "CSV", "ungrouped",
         few.format(3, 64)),
        ("INSERT INTO single SELECT * FROM single", "single", "PARQUET", "grouped",
         "there may be 12 partitions, more than 8"),
        ("INSERT INTO single SELECT x, s, x, k FROM single", "single", "PARQUET", "grouped",
         "the number of partitions is unknown"),
        ("INSERT INTO texts SELECT * FROM single AS t(k, p, x, s)", "texts", "CSV", "grouped",
         "the number of partitions is unknown"),
    ):  # fmt: skip
        if spark and sink != "single-partition":
            sink, reason = "sorted", little
        assert explained(session, statement) == f"{table}: {sink} sink, {form} files {size}: {reason}", statement
    unknown = "each partition gets files of one task" if spark else "the number of partitions is unknown"
    queries = [  # Of few rows, they may make many.
        "SELECT a.* FROM single a JOIN single b ON a.x = b.x",
        "SELECT * FROM (SELECT * FROM single)",
        "SELECT explode(sequence(0L, x)), s, p, k FROM single",
    ]
    for query in queries[: 3 if spark else 2]:
        assert explained(session, f"INSERT INTO texts {query}") == f"texts: grouped sink, CSV files {size}: {unknown}"
    session.execute("SET rewriter.sink = Sorted")
    session.execute("SET rewriter.sink.target_file_bytes = 1000")
    assert explained(session, "INSERT OVERWRITE texts SELECT * FROM single") == (
        "texts: sorted sink, CSV files of up to 1,000 bytes: rewriter.sink names it"
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns files of a million rows, which several tasks of Spark would read."""
    folder = tmp_path_factory.mktemp("source")
    for number in range(4):
        ids = range(number * 250_000, (number + 1) * 250_000)
        table = pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array((x % 400 for x in ids), pa.int32())})
        pq.write_table(table, folder / f"{number}.parquet")
    return f"parquet.`{folder}`"


def test_a_small_query_makes_few_files(session: Session, source: str) -> None:
    """On Spark, too, where several tasks would have made one each."""
    for properties in ("", "TBLPROPERTIES ('rewriter.packed' = 'false')"):
        session.execute(f"CREATE OR REPLACE TABLE t (id BIGINT) PARTITIONED BY (p INT) {properties}")
        session.execute(f"INSERT INTO t SELECT * FROM {source}")
        assert len(set(files_of(session, "t"))) == (400 if properties else 1)
        assert session.execute("SELECT COUNT(DISTINCT id), MAX(p) FROM t").fetch() == [(1_000_000, 399)]
        session.execute(f"INSERT OVERWRITE t PARTITION (p = 5) SELECT id FROM {source}")
        assert session.execute("SELECT COUNT(id) FROM t WHERE p = 5").fetch() == [(1_000_000,)]
        table = session.catalog.snapshot().table("t")
        partition = session.catalog.snapshot().partition(table, ("5",))
        assert partition is not None
        assert partition.files == 1


def test_one_partition_gets_files_of_the_given_size(session: Session, source: str) -> None:
    session.execute("CREATE TABLE t (id BIGINT, s STRING)")
    session.execute("SET rewriter.sink.target_file_bytes = 100000")
    session.execute(f"INSERT INTO t SELECT id, repeat(CAST(id AS STRING), 25) FROM {source}")
    # A file can end when 64 MiB of rows have come together.
    assert len(files_of(session, "t")) == 3
    assert session.execute("SELECT COUNT(DISTINCT id) FROM t WHERE length(s) > 24").fetch() == [(1_000_000,)]


def test_the_chosen_ungrouped_sink_writes_the_rows(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        for name in ("source", "copy"):
            create(session, name, "JSON")
        session.execute(f"INSERT INTO source {SOURCE}")
        session.execute("INSERT INTO copy SELECT * FROM source")
        assert rows(session, "copy") == rows(session, "source")
        assert len(files_of(session, "copy")) == 12


def test_a_sink_has_to_exist(duckdb: Engine, tmp_path: Path) -> None:
    with Session(tmp_path, duckdb) as session:
        with pytest.raises(DataError) as caught:
            session.execute("SET rewriter.sink = single")
        assert caught.value.hint == "Use auto, grouped, ungrouped or sorted."
        with pytest.raises(DataError):
            session.execute("SET rewriter.sink.max_open_writers = 0")


def test_many_tiny_files_are_a_warning(duckdb: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(managed_write, "_MANY_FILES", 12)
    with Session(tmp_path, duckdb) as session:
        create(session, "single")
        create(session, "packed", packed=True)
        (warning,) = session.execute(f"INSERT INTO single {SOURCE}").warnings
        assert warning.startswith("single: wrote 12 files of ")
        assert warning.endswith(
            "on average: a table STORED AS PARQUET without 'rewriter.packed' = 'false' has few files."
        )
        assert session.execute(f"INSERT INTO packed {SOURCE}").warnings == ()
        created = session.execute("CREATE TABLE c STORED AS CSV PARTITIONED BY (p, k) AS SELECT * FROM single")
        assert len(created.warnings) == 1
