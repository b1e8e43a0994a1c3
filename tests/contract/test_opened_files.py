"""A query with LIMIT opens no more files than its rows need: the files that engines receive are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewriter.session import Session

FILES, ROWS = 12, 3


@pytest.fixture(params=["duckdb", "spark"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    with Session(tmp_path / "warehouse", request.getfixturevalue(request.param)) as opened:
        for day in range(FILES):
            folder = tmp_path / "outside" / f"d={day}"
            folder.mkdir(parents=True)
            # The first file has no rows.
            values = pa.array([day * 10 + i for i in range(ROWS if day else 0)], pa.int32())
            pq.write_table(pa.table({"a": values}), folder / "part.parquet")
        opened.execute(
            f"CREATE EXTERNAL TABLE outside (a INT) PARTITIONED BY (d INT) LOCATION '{tmp_path / 'outside'}'"
        )
        opened.execute("MSCK REPAIR TABLE outside")
        opened.execute("CREATE TABLE inside (a INT) PARTITIONED BY (d INT) TBLPROPERTIES ('rewriter.packed' = 'false')")
        opened.execute("INSERT INTO inside SELECT a, d FROM outside")
        opened.execute("CREATE TABLE together (a INT) PARTITIONED BY (d INT)")
        opened.execute("INSERT INTO together SELECT a, d FROM outside")
        yield opened


@pytest.mark.share(4, "spark")
@pytest.mark.parametrize(
    ("sql", "files", "rows"),
    [
        ("SELECT * FROM outside LIMIT 5", 3, 5),
        ("SELECT o.a + 1 AS x, upper(CAST(d AS STRING)) FROM outside AS o LIMIT 3", 2, 3),
        ("SELECT * FROM outside LIMIT 0", 0, 0),
        ("SELECT * FROM outside LIMIT 1000", 12, 33),
        ("SELECT * FROM inside LIMIT 5", 2, 5),
        ("SELECT * FROM inside LIMIT 33", 11, 33),
        ("SELECT * FROM together LIMIT 5", 1, 5),
        ("SELECT * FROM together LIMIT 0", 0, 0),
        # All files are needed, or that they are not is not certain.
        ("SELECT count(*) FROM outside LIMIT 5", 12, 1),
        ("SELECT DISTINCT a FROM outside LIMIT 5", 12, 5),
        ("SELECT a FROM outside ORDER BY a DESC LIMIT 5", 12, 5),
        ("SELECT a FROM outside WHERE a > 110 LIMIT 5", 12, 2),
        ("SELECT a, sum(a) OVER () FROM outside LIMIT 5", 12, 5),
        ("SELECT a FROM outside UNION ALL SELECT a FROM outside LIMIT 40", 12, 40),
        ("SELECT o.a FROM outside o JOIN inside i ON o.a = i.a LIMIT 30", 23, 30),
        ("SELECT * FROM (SELECT sum(a) FROM outside) LIMIT 5", 12, 1),
    ],
)
def test_limit(session: Session, sql: str, files: int, rows: int) -> None:
    result = session.execute(sql)
    assert result.stats.files == files
    assert len(result.fetch()) == rows


def test_limit_that_is_a_parameter(session: Session) -> None:
    result = session.execute("SELECT a FROM outside LIMIT :n", {"n": 4})
    assert (result.stats.files, len(result.fetch())) == (3, 4)


def test_parts_of_a_packed_file_are_enough(session: Session) -> None:
    lines = [line for (line,) in session.execute("EXPLAIN SCAN SELECT * FROM together LIMIT 5").fetch()]
    assert lines[0].startswith("together: 2 partitions, 1 file, ")
    session.execute("ALTER TABLE together DROP PARTITION (d = 1)")
    session.execute("INSERT INTO together VALUES (7, 3)")
    everything = session.execute("SELECT a, d FROM together").fetch()
    for limit in (1, 3, 4, 8, 30):
        rows = session.execute(f"SELECT a, d FROM together LIMIT {limit}").fetch()
        assert len(rows) == limit
        assert set(rows) <= set(everything)


def test_explain_scan_tells_it(session: Session) -> None:
    lines = [line for (line,) in session.execute("EXPLAIN SCAN SELECT * FROM outside LIMIT 5").fetch()]
    assert lines[0].startswith("outside: 3 partitions, 3 files, ")
    assert lines[1] == "  LIMIT: no more files are read than its rows need"
