"""Where a task of a cluster ran twice, an engine leaves files that it does not name. No statement reads them."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery, Write, WrittenFile
from rewriter.session import Session


class TwiceEngine(DuckDBEngine):
    """Leaves a copy of each file beside it."""

    def write(self, query: EngineQuery, write: Write) -> tuple[WrittenFile, ...]:
        files = super().write(query, write)
        for path in {file.path for file in files}:
            shutil.copyfile(path, os.path.join(os.path.dirname(path), f"part-{uuid.uuid4().hex}.{write.format}"))
        return files


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    engine = TwiceEngine()
    with Session(tmp_path / "w", engine) as opened:
        opened.execute("CREATE TABLE t (id INT) PARTITIONED BY (p STRING)")
        opened.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        yield opened
    engine.close()


ROWS = [(1, "a"), (2, "b")]


def rows(session: Session, source: str) -> list[tuple[object, ...]]:
    return session.execute(f"SELECT id, p FROM {source} ORDER BY id").fetch()


def test_of_managed_tables(session: Session) -> None:
    assert rows(session, "t") == ROWS
    session.execute("CREATE TABLE u AS SELECT * FROM t")
    session.execute("ALTER TABLE t COMPACT")
    assert rows(session, "u") == rows(session, "t") == ROWS


def test_of_external_tables(session: Session, tmp_path: Path) -> None:
    for number, partition in enumerate(("", "PARTITIONED BY (p) ")):
        session.execute(f"CREATE TABLE e{number} {partition}LOCATION '{tmp_path}/e{number}' AS SELECT id, p FROM t")
        assert rows(session, f"e{number}") == ROWS
        session.execute(f"INSERT OVERWRITE e{number} SELECT id, p FROM t")
        assert rows(session, f"e{number}") == ROWS


def test_of_the_source_of_a_multi_insert(session: Session) -> None:
    for name in "uv":
        session.execute(f"CREATE TABLE {name} (id INT, p STRING, n BIGINT)")
    session.execute(
        "FROM (SELECT id, p, COUNT(*) AS n FROM t GROUP BY id, p) s INSERT INTO u SELECT * INSERT INTO v SELECT *"
    )
    assert rows(session, "u") == rows(session, "v") == ROWS
    assert not [path for path in session.catalog.warehouse.iterdir() if "source" in path.name]


def test_of_an_output_directory(session: Session, tmp_path: Path) -> None:
    for _ in range(2):
        session.execute(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet SELECT id, p FROM t")
        assert rows(session, f"parquet.`{tmp_path}/out`") == ROWS
    assert len(list((tmp_path / "out").iterdir())) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"w", "out"}
