"""Results of small files are copied, unless the query may multiply their rows."""

import warnings

import pytest

from rewriter.exec.duckdb.engine import DuckDBEngine, is_copied
from rewriter.exec.engine import EngineQuery, Relation, ScanFile


def query(sql: str, files: int = 100, size: int = 1000) -> EngineQuery:
    scanned = tuple(ScanFile(f"/{i}", (), size) for i in range(files))
    return EngineQuery(sql, (Relation("t", "parquet", (), (), scanned),))


@pytest.mark.parametrize(
    ("sql", "copied"),
    [
        ("SELECT a, b FROM t WHERE a IN (1, 2) ORDER BY a, b", True),
        (
            "SELECT k, SUM(n) FROM (SELECT k, n FROM t WHERE n > 1 UNION ALL SELECT k, n FROM t) AS q GROUP BY k",
            True,
        ),
        ("SELECT a, EXTRACT(YEAR FROM d), b FROM t", True),
        ("SELECT 'a JOIN b', `join` FROM t", True),
        ("SELECT * FROM t a JOIN t b ON a.x = b.x", False),
        ("SELECT * FROM t a, t b", False),
        ("SELECT * FROM (SELECT * FROM t) a, t b WHERE 1 = 1", False),
        ("SELECT explode(sequence(1, 1000000)) FROM t", False),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c AS a, c AS b", False),
        ("SELECT a FROM t UNION ALL SELECT id FROM range(1000000000)", False),
        ("WITH RECURSIVE r AS (SELECT a FROM t UNION ALL SELECT a + 1 FROM r) SELECT * FROM r", False),
    ],
)
def test_queries(sql: str, copied: bool) -> None:
    assert is_copied(query(sql)) is copied
    assert is_copied(query(sql, files=2)) is copied
    assert is_copied(query(sql, size=10**5)) is copied
    assert not is_copied(query(sql, files=2, size=10**7))
    assert not is_copied(query(sql, size=10**7))


def test_a_copied_result_warns_nobody() -> None:
    engine = DuckDBEngine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in (1, 2):
            rows = engine.stream_rows(EngineQuery(f"SELECT {number} AS a")).read_all()
            assert rows.to_pylist() == [{"a": number}]
    engine.close()
