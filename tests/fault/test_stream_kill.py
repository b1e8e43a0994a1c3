"""Streams whose processes are killed: every row of every file is in the table once.

The first test kills a stream at a counted moment: before a statement of the catalog's database, or at a step on disk.
The second kills two streams of one table, which run at the same time, at random moments; a reader asks beside them. The
ordinary run has a share of the kills, ``pytest -m long tests/fault/test_stream_kill.py`` has a hundred and more.
The table of the streams compacts its files after most batches, so that kills fall into that, too.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kills import killed_at
from rotation import turn

import rewriter
from rewriter.catalog.maintenance.consistency_check import findings
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

#: The rows of a file.
ROWS = 10


class Source:
    """A directory in which files with numbered rows appear, some of them late: of days long before."""

    def __init__(self, folder: Path, first: int, rng: random.Random) -> None:
        self.folder = folder
        self.numbers = range(first, first)
        self._rng = rng
        self._day = dt.date(2013, 1, 1)
        (folder / "in").mkdir(parents=True)

    def add(self) -> None:
        """Adds a file."""
        numbers = range(self.numbers.stop, self.numbers.stop + ROWS)
        self._day += dt.timedelta(days=self._rng.randrange(2))
        days = [self._day - dt.timedelta(days=self._rng.choice((0, 0, 0, 1, 9))) for _ in numbers]
        hidden = self.folder / f"{numbers.start}.parquet"
        pq.write_table(pa.table({"x": pa.array(numbers, pa.int32()), "dt": days}), hidden)
        os.rename(hidden, self.folder / "in" / hidden.name)
        self.numbers = range(self.numbers.start, numbers.stop)

    def statement(self) -> str:
        options = f"'stream' = '{self.folder.name}', 'checkpoint' = '{self.folder}/checkpoint', 'max files' = '2'"
        return f"INSERT INTO t SELECT x, dt FROM STREAM parquet.`{self.folder}/in` OPTIONS ({options})"


def numbers_in(session: Session) -> list[int]:
    return sorted(int(row[0]) for row in session.execute("SELECT x FROM t").fetch())


CREATE = "CREATE TABLE t (x INT) PARTITIONED BY (dt DATE) TBLPROPERTIES ('rewriter.auto_compact.files' = '2')"


def compactions(session: Session) -> int:
    """Returns the number of compactions that were committed. The catalog has to be consistent after them."""
    assert list(findings(session.catalog.database)) == []
    return sum(event.kind == "COMPACT" for event in session.catalog.events(limit=1_000_000))


@pytest.mark.parametrize("stride", [11, pytest.param(1, marks=pytest.mark.long)])
def test_a_batch_of_a_killed_stream_is_loaded_once(
    tmp_path: Path, duckdb: DuckDBEngine, stride: int, catalog_url: str | None
) -> None:
    source = Source(tmp_path / "a", 0, random.Random(turn()))
    with Session(tmp_path / "w", duckdb, catalog=catalog_url) as session:
        session.execute(CREATE)
        moment, kills, kills_after_commit = 1 + turn() % stride, 0, 0
        source.add()
        while killed_at(tmp_path / "w", source.statement(), moment, catalog_url):
            numbers = numbers_in(session)
            assert numbers == list(range(len(numbers))), f"moment {moment}"
            assert len(numbers) % ROWS == 0
            kills_after_commit += numbers == list(source.numbers)
            session.execute(source.statement())
            assert numbers_in(session) == list(source.numbers), f"moment {moment}"
            source.add()
            moment, kills = moment + stride, kills + 1
        assert kills > 40 / stride
        assert numbers_in(session) == list(source.numbers)
        assert session.execute("SHOW STREAMS").fetch()[0][2] == "finished"
        assert compactions(session) > 0
        # Without compaction, few moments come after the commit of a batch.
        assert stride > 1 or kills_after_commit > kills / 3


def forked(run: Callable[[], None]) -> int:
    """Returns the id of a new process that runs this."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run()
            code = 0
        finally:
            os._exit(code)
    return child


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.long)])
def test_two_killed_streams_on_one_table_load_each_row_once(
    tmp_path: Path, kills: int, catalog_url: str | None
) -> None:
    rng = random.Random(turn())
    sources = [Source(tmp_path / name, first, rng) for name, first in (("a", 0), ("b", 1_000_000))]

    def load(source: Source) -> None:
        with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as own:
            while True:
                own.execute(source.statement())
                time.sleep(0.01)

    with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as connection:
        connection.execute(CREATE)

        def check() -> None:
            numbers = numbers_in(connection.session)
            for source in sources:
                of_source = [x for x in numbers if x in source.numbers]
                assert len(of_source) == len(set(of_source))
                assert len(of_source) % ROWS == 0
            assert all(any(x in source.numbers for source in sources) for x in numbers)

        # A process of its own makes the first connections: a fork would copy DuckDB without its threads.
        children = {index: forked(lambda source=source: load(source)) for index, source in enumerate(sources)}
        try:
            for _ in range(kills):
                for source in sources:
                    source.add()
                deadline = time.monotonic() + rng.random()
                while time.monotonic() < deadline:
                    check()
                index = rng.randrange(2)
                os.kill(children[index], signal.SIGKILL)
                assert os.WIFSIGNALED(os.waitpid(children[index], 0)[1])
                children[index] = forked(lambda source=sources[index]: load(source))
        finally:
            for child in children.values():
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        for source in sources:
            connection.execute(source.statement())
        assert numbers_in(connection.session) == sorted(x for source in sources for x in source.numbers)
        assert compactions(connection.session) > kills / 2
