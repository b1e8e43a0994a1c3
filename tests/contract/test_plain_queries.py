"""A query without a cube has the result of plain Spark for the same text: rows, types and column names.

Plain Spark is the same session, with the table as a view under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewriter.exec.spark.engine import SparkEngine
from rewriter.session import Session

QUERIES = r"""
SELECT * FROM plain ORDER BY id
SELECT id, `two words` FROM plain WHERE `two words` = 'it''s' OR name LIKE 'é%'
SELECT 'it''s', 'it\'s', "double", r'raw\n', 'a' 'b', X'4142', 1.5, 1e3, 7L, 1.5BD FROM plain WHERE id = 1
SELECT COUNT(*), count(1), COUNT(name), COUNT(DISTINCT name), avg(amount), SUM(amount) FROM plain
SELECT count(*) AS `count(*)`, `count(1)` FROM (SELECT count(*) FROM plain) GROUP BY `count(1)`
SELECT name, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM plain GROUP BY name ORDER BY name
SELECT id, row_number() OVER (PARTITION BY name ORDER BY id) AS n FROM plain QUALIFY n = 1 ORDER BY id
SELECT name, amount, SUM(amount) OVER w FROM plain WINDOW w AS (PARTITION BY name ORDER BY id) ORDER BY id
SELECT name, COUNT(*) FROM plain GROUP BY ROLLUP (name) ORDER BY name NULLS LAST
SELECT name, COUNT(*) FROM plain GROUP BY ALL ORDER BY ALL
SELECT * FROM plain PIVOT (SUM(amount) FOR name IN ('a', 'b')) ORDER BY id
SELECT id, x FROM plain LATERAL VIEW OUTER explode(array(id, id + 1)) e AS x ORDER BY id, x
SELECT window(at, '1 day').start AS day, COUNT(*) FROM plain GROUP BY window(at, '1 day') ORDER BY day
SELECT transform(array(1, 2), x -> x + id) FROM plain ORDER BY id
SELECT a.id, b.id FROM plain a LEFT JOIN plain b ON a.id = b.id + 1 ORDER BY a.id
SELECT id FROM plain LEFT ANTI JOIN (SELECT 1 AS id) o USING (id) ORDER BY id
SELECT * FROM plain NATURAL JOIN (SELECT 2 AS id) o
WITH c AS (SELECT id FROM plain), d AS (SELECT id + 1 AS id FROM c) SELECT * FROM c EXCEPT SELECT * FROM d
SELECT id FROM plain UNION SELECT 7 ORDER BY id DESC LIMIT 2
SELECT id FROM plain WHERE id IN (SELECT max(id) FROM plain) OR EXISTS (SELECT 1 FROM plain p WHERE p.id = plain.id + 2)
SELECT date_trunc('month', at), last_day(at), add_months(at, 1), at + INTERVAL 1 DAY FROM plain ORDER BY id
SELECT id /* a comment; with 'quotes */ -- and another
  FROM plain ORDER BY id
SELECT CAST(amount AS DECIMAL(10, 2)) / 3, amount div 2, amount % 2, -amount FROM plain ORDER BY id
SELECT try_cast('x' AS INT), 1 <=> NULL, NULL IS DISTINCT FROM 1 FROM plain LIMIT 1
SELECT struct(id, name).name, map('k', id)['k'], named_struct('x', id).x FROM plain ORDER BY id
SELECT /*+ BROADCAST(p) */ p.id FROM plain p JOIN plain q ON p.id = q.id ORDER BY 1
SELECT DISTINCT upper(name) FROM plain ORDER BY 1 DESC NULLS LAST
FROM plain SELECT id WHERE id > 1
SELECT id FROM VALUES (1), (2) AS v (id) WHERE id NOT IN (SELECT id FROM plain WHERE id = 1)
TABLE plain
SELECT id, default.plain.name FROM default.plain ORDER BY id
""".strip()


def _queries() -> Iterator[str]:
    query = ""
    for line in QUERIES.splitlines():
        if line.startswith(" ") or not query:
            query += ("\n" if query else "") + line
            continue
        yield query
        query = line
    yield query


@pytest.fixture(scope="module")
def session(spark: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("plain"), spark) as opened:
        opened.execute("CREATE TABLE plain (id INT, name STRING, `two words` STRING, amount BIGINT, at TIMESTAMP)")
        opened.execute(
            "INSERT INTO plain VALUES (1, 'a', 'it''s', 10, TIMESTAMP '2013-01-31 05:00:00'), "
            "(2, 'b', NULL, NULL, TIMESTAMP '2013-02-01 00:00:00'), (3, 'é', '😀', -7, NULL), (4, NULL, '', 5, NULL)"
        )
        yield opened


@pytest.mark.share(3)
@pytest.mark.parametrize("query", list(_queries()))
def test_plain_queries_answer_as_in_plain_spark(query: str, session: Session, spark: SparkEngine) -> None:
    from pyspark.sql import SparkSession

    plain = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    folder = Path(str(session.catalog.snapshot().table("plain").location))
    plain.read.parquet(*map(str, folder.rglob("*.parquet"))).createOrReplaceTempView("plain")
    expected = plain.sql(query.replace("default.plain", "plain")).toArrow()
    result = session.execute(query)
    fetched = result.fetch()
    assert [column.name for column in result.columns or ()] == expected.schema.names
    rows = list(zip(*(column.to_pylist() for column in expected.columns), strict=True))
    if "ORDER BY" not in query:
        # Instants are printed in different zones. The first column also determines the order.
        fetched, rows = (sorted(result, key=lambda row: repr(row[:1])) for result in (fetched, rows))
    assert fetched == rows
