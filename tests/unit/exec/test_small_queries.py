"""The queries that Spark computes in one piece: those whose text can add nothing to few rows."""

from __future__ import annotations

import pytest

from rewriter.exec.engine import EngineQuery, Relation, ScanFile
from rewriter.exec.spark.small_queries import is_small

MB = 1 << 20


def query(sql: str, *sizes: int) -> EngineQuery:
    """Returns a query over relations ``rw_1``, ``rw_2`` … with one file of each size."""
    relations = [
        Relation(f"rw_{number}", "parquet", (), (), (ScanFile("/a", (), size),))
        for number, size in enumerate(sizes, start=1)
    ]
    return EngineQuery(sql, tuple(relations))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT a FROM rw_1",
        "SELECT a, SUM(b) AS s FROM rw_1 GROUP BY a ORDER BY s DESC LIMIT 3",
        "SELECT COUNT(*) FROM (SELECT a FROM rw_1 UNION ALL SELECT a FROM rw_2) AS c WHERE a IN (1, 2)",
        "SELECT a FROM (SELECT a FROM rw_1 WHERE t >= TIMESTAMP '2013-01-01' UNION ALL (SELECT a FROM rw_2))",
        "SELECT CAST(a AS DECIMAL(10,2)) x, RANK() OVER (PARTITION BY b ORDER BY c) FROM `rw_1` t",
        "SELECT date_trunc('DAY', t), COUNT(*) FROM rw_1 AS e WHERE NOT (a = :a OR b LIKE 'x%') GROUP BY 1",
    ],
)
def test_aggregations_and_filters_of_little(sql: str) -> None:
    assert is_small(query(sql, MB, MB))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM range(10)",
        "SELECT id FROM (SELECT id FROM range(10))",
        "SELECT explode(a) FROM rw_1",
        "SELECT a FROM rw_1 LATERAL VIEW explode(b) c AS d",
        "SELECT a FROM rw_1, LATERAL (SELECT 1)",
        "SELECT sequence(1, a) FROM rw_1",
        "SELECT repeat(a, 9) FROM rw_1",
        "SELECT a || a FROM rw_1",
        "SELECT concat(a, a) FROM rw_1",
        "SELECT collect_list(a) FROM rw_1",
        "SELECT a.* FROM rw_1 a, rw_1 b",
        "SELECT * FROM rw_1 a CROSS JOIN rw_2",
        "SELECT * FROM rw_1 a JOIN rw_2 b ON a.x = b.x",
        "SELECT * FROM (rw_1 JOIN rw_2 USING (x))",
        "SELECT a FROM rw_1 WHERE a IN (SELECT b FROM rw_2)",
        "SELECT (SELECT MAX(b) FROM rw_2) FROM rw_1",
        "WITH c AS (SELECT a FROM rw_1) SELECT * FROM c UNION ALL SELECT * FROM c",
        "SELECT a, COUNT(*) FROM rw_1 GROUP BY CUBE (a, b)",
        "SELECT a, COUNT(*) FROM rw_1 GROUP BY a, b WITH ROLLUP",
        "SELECT a, COUNT(*) FROM rw_1 GROUP BY GROUPING SETS ((a), ())",
        "SELECT window(t, '2 hours', '1 second'), COUNT(*) FROM rw_1 GROUP BY 1",
        "SELECT transform(a, x -> x + 1) FROM rw_1",
        "SELECT * FROM VALUES (1), (2)",
        "SELECT * FROM rw_1 UNPIVOT (v FOR n IN (a, b))",
        "SELECT own_function(a) FROM rw_1",
        "SELECT /*+ BROADCAST(rw_1) */ a FROM rw_1",
        "FROM rw_1 SELECT a",
        "SET spark.sql.ansi.enabled = true",
    ],
)
def test_what_can_return_more_than_it_reads(sql: str) -> None:
    assert not is_small(query(sql, MB, MB))


def test_much_input() -> None:
    assert not is_small(query("SELECT a FROM rw_1", 9 * MB))
    assert not is_small(query("SELECT a FROM rw_1 UNION ALL SELECT a FROM rw_2", 5 * MB, 5 * MB))
    assert is_small(query("SELECT a FROM rw_1", 5 * MB))
    assert not is_small(query("SELECT a FROM rw_1 UNION ALL SELECT a FROM rw_1", 5 * MB))
    batch = Relation("rw_1", "parquet", (), (), (), view="batch")
    assert not is_small(EngineQuery("SELECT a FROM rw_1", (batch,)))
