"""Partition commit under kills: a month is in no cover before it is full, and then in all of them.

The first test kills a stream at a counted moment: before a statement of the catalog's database, or at a step on disk,
the policies after the commit included. The second kills two streams of one table at random moments, while rollups are
refreshed and a reader asks. The ordinary run has a share of the kills, ``pytest -m long`` has more.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kills import killed_at
from rotation import turn

import rewriter
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.session import Session

PROPERTIES = (
    "'rewriter.partition_commit.trigger' = 'partition time', "
    "'rewriter.partition_commit.policies' = 'metastore, success-file'"
)
SETUP = (
    f"CREATE TABLE months (x INT, punctual BIGINT) PARTITIONED BY (m STRING) TBLPROPERTIES ({PROPERTIES})",
    "CREATE TABLE years (punctual BIGINT) PARTITIONED BY (y STRING)",
    "CREATE CUBE c (punctual BIGINT MEASURE SUM, t TIMESTAMP TIME)",
    "CREATE FACT f OF CUBE c STORED IN (TABLE months PERIOD MONTHLY PARTITIONED BY t AS (m), "
    "TABLE years PERIOD YEARLY PARTITIONED BY t AS (y))",
)
YEARS = 3


class Source:
    """A directory in which files with numbered rows appear. Months go on, and some rows are late: of months before."""

    def __init__(self, folder: Path, first: int, rng: random.Random) -> None:
        self.folder = folder
        self.numbers = range(first, first)
        self.month = 0
        #: The punctual rows, by month.
        self.punctual: dict[int, int] = {}
        self._rng = rng
        (folder / "in").mkdir(parents=True)

    def add(self) -> None:
        """Adds a file of 10 rows."""
        numbers = range(self.numbers.stop, self.numbers.stop + 10)
        self.month = min(12 * YEARS - 1, self.month + self._rng.randrange(3))
        delays = [self._rng.choice((0, 0, 0, 1, 5)) for _ in numbers]
        months = [max(0, self.month - delay) for delay in delays]
        punctual = [int(month == self.month) for month in months]
        self.punctual[self.month] = self.punctual.get(self.month, 0) + sum(punctual)
        columns = {"x": pa.array(numbers, pa.int32()), "punctual": punctual}
        hidden = self.folder / f"{numbers.start}.parquet"
        pq.write_table(pa.table({**columns, "m": [text(month) for month in months]}), hidden)
        os.rename(hidden, self.folder / "in" / hidden.name)
        self.numbers = range(self.numbers.start, numbers.stop)

    def statement(self) -> str:
        options = f"'stream' = '{self.folder.name}', 'checkpoint' = '{self.folder}/checkpoint', 'max files' = '2'"
        return f"INSERT INTO months SELECT x, punctual, m FROM STREAM parquet.`{self.folder}/in` OPTIONS ({options})"


def text(month: int) -> str:
    return f"{2020 + month // 12}-{month % 12 + 1:02}"


def check(session: Session, sources: list[Source]) -> None:
    """Checks what one moment shows: every month in a cover is full, and the covers agree."""
    rows = session.execute("SELECT x FROM months").fetch()
    assert len(rows) == len(set(rows))
    for year in range(2020, 2020 + YEARS):
        within = f"t >= '{year}-01-01' AND t < '{year + 1}-01-01'"
        ((whole, by_months),) = session.execute(
            f"SELECT a.s, b.s FROM (SELECT SUM(punctual) AS s FROM c WHERE {within}) a CROSS JOIN (SELECT SUM(p) AS s "
            f"FROM (SELECT MONTH(t) AS m, SUM(punctual) AS p FROM c WHERE {within} GROUP BY MONTH(t))) b"
        ).fetch()
        assert whole == by_months, f"{year}"
    shown = session.execute(
        f"SELECT YEAR(t), MONTH(t), SUM(punctual) FROM c WHERE t >= '2020-01-01' AND t < '{2020 + YEARS}-01-01' "
        "GROUP BY YEAR(t), MONTH(t)"
    ).fetch()
    for year, month, punctual in shown:
        number = 12 * (year - 2020) + month - 1
        assert punctual == sum(source.punctual.get(number, 0) for source in sources), text(number)


def check_markers(warehouse: Path, session: Session) -> None:
    """Checks that exactly the committed partitions have success files, and that the timelines are right."""
    status = dict(session.execute("SHOW PARTITIONS months STATUS").fetch())
    markers = {path.parent.name for path in (warehouse / "months-1").glob("m=*/_SUCCESS")}
    assert markers == {name for name, state in status.items() if state == "committed"}
    assert session.execute("REFRESH TIMELINES OF f").fetch() == []


@pytest.mark.parametrize("stride", [17, pytest.param(1, marks=pytest.mark.long)])
def test_a_commit_of_a_killed_stream_is_finished(
    tmp_path: Path, duckdb: DuckDBEngine, stride: int, catalog_url: str | None
) -> None:
    source = Source(tmp_path / "a", 0, random.Random(turn()))
    with Session(tmp_path / "w", duckdb, catalog=catalog_url) as session:
        for statement in SETUP:
            session.execute(statement)
        session.execute("SET rewriter.partial_data = true")
        moment, kills = 1 + turn() % stride, 0
        source.add()
        while killed_at(tmp_path / "w", source.statement(), moment, catalog_url):
            check(session, [source])
            session.execute(source.statement())
            check(session, [source])
            check_markers(tmp_path / "w", session)
            source.add()
            moment, kills = moment + stride, kills + 1
        assert kills > 40 / stride
        assert session.execute("SELECT COUNT(*) FROM months").fetch() == [(len(source.numbers),)]


@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.long)])
def test_no_cover_has_a_half_filled_month(tmp_path: Path, kills: int, catalog_url: str | None) -> None:
    rng = random.Random(turn())
    sources = [Source(tmp_path / name, first, rng) for name, first in (("a", 0), ("b", 1_000_000))]
    statements = [*(source.statement() for source in sources), "REFRESH FACT f"]

    def repeat(statement: str) -> None:
        with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as own:
            while True:
                own.execute(statement)
                time.sleep(0.01)

    def forked(statement: str) -> int:
        child = os.fork()
        if child == 0:
            try:
                repeat(statement)
            finally:
                os._exit(1)
        return child

    with rewriter.connect(tmp_path / "w", engine="duckdb", catalog=catalog_url) as connection:
        for statement in SETUP:
            connection.execute(statement)
        connection.execute("SET rewriter.partial_data = true")
        for source in sources:
            connection.execute(source.statement())  # From its first run on, the watermark waits for a stream.
        children = [forked(statement) for statement in statements]
        try:
            for _ in range(kills):
                for source in sources:
                    source.add()
                deadline = time.monotonic() + rng.random()
                while time.monotonic() < deadline:
                    check(connection.session, sources)
                index = rng.randrange(3)
                os.kill(children[index], signal.SIGKILL)
                assert os.WIFSIGNALED(os.waitpid(children[index], 0)[1])
                children[index] = forked(statements[index])
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        for statement in statements:
            connection.execute(statement)
        check(connection.session, sources)
        check_markers(tmp_path / "w", connection.session)
        numbers = sorted(int(row[0]) for row in connection.execute("SELECT x FROM months").fetchall())
        assert numbers == sorted(number for source in sources for number in source.numbers)
