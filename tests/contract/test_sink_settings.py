"""INSERT through each sink, on both engines: the rows, the files, and the choice that EXPLAIN names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.errors import DataError, EngineError
from rewriter.exec.engine import Engine
from rewriter.session import Session
from rewriter.statements.write import written_files

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
        assert "would write 7 partitions" in caught.value.message
    assert rows(session, "t") == Counter()


def explained(session: Session, statement: str) -> str:
    return str(session.execute(f"EXPLAIN {statement}").fetch()[-1][0])


def test_explain_names_the_sink(session: Session, engine: Engine) -> None:
    create(session, "packed", packed=True)
    create(session, "single")
    create(session, "texts", "CSV")
    few = "there are at most {} partitions, and {} files may be open"
    tasks = "each partition gets files of one task"
    session.execute(f"INSERT INTO single {SOURCE}")
    size = "of up to 134,217,728 bytes"
    spark = engine.name == "spark"
    for statement, expected in (
        ("INSERT INTO packed SELECT * FROM single",
         f"packed: grouped sink, packed files {size}: a packed file holds several partitions, one after the other"),
        ("INSERT INTO single PARTITION (p = 1, k = 'a') SELECT 1, 'x'",
         f"single: single-partition sink, PARQUET files {size}: there is only one partition"),
        ("INSERT INTO texts SELECT * FROM single",
         f"texts: {'grouped' if spark else 'ungrouped'} sink, CSV files {size}: "
         f"{tasks if spark else few.format(12, 64)}"),
        ("INSERT INTO texts SELECT x, s, p, 'a' FROM single WHERE p > 2",
         f"texts: {'grouped' if spark else 'ungrouped'} sink, CSV files {size}: "
         f"{tasks if spark else few.format(3, 64)}"),
        ("INSERT INTO single SELECT * FROM single",
         f"single: grouped sink, PARQUET files {size}: "
         f"{tasks if spark else 'there may be 12 partitions, more than 8'}"),
        ("INSERT INTO single SELECT x, s, x, k FROM single",
         f"single: grouped sink, PARQUET files {size}: {tasks if spark else 'the number of partitions is unknown'}"),
        ("INSERT INTO texts SELECT a.* FROM single a JOIN single b ON a.x = b.x",
         f"texts: grouped sink, CSV files {size}: {tasks if spark else 'the number of partitions is unknown'}"),
        ("INSERT INTO texts SELECT * FROM single AS t(k, p, x, s)",
         f"texts: grouped sink, CSV files {size}: {tasks if spark else 'the number of partitions is unknown'}"),
    ):  # fmt: skip
        assert explained(session, statement) == expected, statement
    session.execute("SET rewriter.sink = Sorted")
    session.execute("SET rewriter.sink.target_file_bytes = 1000")
    assert explained(session, "INSERT OVERWRITE texts SELECT * FROM single") == (
        "texts: sorted sink, CSV files of up to 1,000 bytes: rewriter.sink names it"
    )


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
    monkeypatch.setattr(written_files, "_MANY_FILES", 12)
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
