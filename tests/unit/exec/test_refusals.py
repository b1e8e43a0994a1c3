"""Constructs that are not on DuckDB's list: each refusal has one form, names the construct as typed, and has a hint."""

from __future__ import annotations

import pytest
from contract.proofs import declared, query

from rewriter.errors import NotSupportedError
from rewriter.exec.translate.queries import translate

#: Queries over the relations of the differential tests, with the words by which the error names what it refuses.
REFUSED = [
    # not deterministic, or of the session
    ("SELECT current_date FROM e", "current_date"),
    ("SELECT Current_Timestamp() FROM e", "current_timestamp"),
    ("SELECT rand() FROM e", "rand"),
    ("SELECT uuid() FROM e", "uuid"),
    ("SELECT monotonically_increasing_id() FROM e", "monotonically_increasing_id"),
    ("SELECT input_file_name() FROM e", "input_file_name"),
    ("SELECT unix_timestamp() FROM e", "unix_timestamp"),
    ("SELECT any_value(r) FROM e", "any_value"),
    ("SELECT first(r) FROM e", "first"),
    ("SELECT max_by(r, i8) FROM e", "max_by"),
    ("SELECT collect_list(r) FROM e", "collect_list"),
    ("SELECT approx_count_distinct(r) FROM e", "approx_count_distinct"),
    ("SELECT mode(r) FROM e", "mode"),
    # read as a number by sqlglot, and by Spark as no number or as several words
    ("SELECT 1.5e FROM e", "1.5e"),
    ("SELECT r FROM e WHERE r > 2E", "2E"),
    # never compared, or different
    ("SELECT percentile(r, 0.5) FROM e", "percentile"),
    ("SELECT median(r) FROM e", "median"),
    ("SELECT bround(m, 1) FROM e", "bround"),
    ("SELECT round(m, -1) FROM e", "ROUND"),
    ("SELECT round(f32, 1) FROM e", "ROUND"),
    ("SELECT round(f64, i8) FROM e", "i8"),
    ("SELECT exp(r) FROM e", "exp"),
    ("SELECT POWER(r, 2) FROM e", "power"),
    ("SELECT ceil(m, 1) FROM e", "ceil"),
    ("SELECT abs(w) FROM e", "ABS"),
    ("SELECT -w FROM e", "decimal(38,10)"),
    ("SELECT w * m FROM e", "decimal(38,10) * decimal(10,2)"),
    ("SELECT w + 1 FROM e", "decimal(38,10) + decimal(1,0)"),
    ("SELECT greatest(f64, 1) FROM e", "GREATEST"),
    ("SELECT months_between(d, d) FROM e", "months_between"),
    ("SELECT next_day(d, 'MO') FROM e", "next_day"),
    ("SELECT from_utc_timestamp(ts, 'PST') FROM e", "from_utc_timestamp"),
    ("SELECT year(s) FROM e", "string where a date"),
    ("SELECT extract(EPOCH FROM ts) FROM e", "EPOCH"),
    ("SELECT date_trunc('decade', ts) FROM e", "decade"),
    ("SELECT date_format(ts, 'QQQ') FROM e", "QQQ"),
    ("SELECT to_date(s, 'd/M/y') FROM e", "d/M/y"),
    ("SELECT date_part(s, ts) FROM e", "argument s"),
    ("SELECT datediff(DAY, d, d) FROM e", "datediff"),
    ("SELECT ts - ts FROM e", "timestamp - timestamp"),
    ("SELECT d + 1 FROM e", "date + int"),
    ("SELECT ts + INTERVAL 1.5 SECONDS FROM e", "INTERVAL"),
    ("SELECT ts + r * INTERVAL 1 DAY FROM e", "INTERVAL"),
    ("SELECT initcap(s) FROM e", "initcap"),
    ("SELECT split(s, ',') FROM e", "split"),
    ("SELECT trim('x' FROM s) FROM e", "trim"),
    ("SELECT ltrim('x', s) FROM e", "ltrim"),
    ("SELECT lpad(s, 3, '') FROM e", "LPAD"),
    ("SELECT split_part(s, n, 1) FROM e", "SPLIT_PART"),
    ("SELECT regexp_replace(s, 'x*', 'y') FROM e", "'x*'"),
    ("SELECT regexp_replace(s, 'x', '$1') FROM e", "'$1'"),
    ("SELECT regexp_extract(s, '(a)+') FROM e", "'(a)+'"),
    ("SELECT regexp_extract(s, 'a$', 0) FROM e", "'a$'"),
    ("SELECT s ILIKE 'a' FROM e", "ILIKE"),
    ("SELECT s LIKE n FROM e", "pattern n"),
    ("SELECT s LIKE ANY ('a') FROM e", "'a'"),
    ("SELECT md5(s) FROM e", "md5"),
    ("SELECT my_function(s) FROM e", "my_function"),
    ("SELECT nvl(expr1 => s, expr2 => 'x') FROM e", "s"),
    ("SELECT r & 1 FROM e", "r & 1"),
    ("SELECT array(1)[0] FROM e", "array(1)[0]"),
    ("SELECT CAST(f64 AS STRING) FROM e", "double to string"),
    ("SELECT CAST(f64 AS DECIMAL(10, 2)) FROM e", "double to decimal(10,2)"),
    ("SELECT CAST(ts AS DOUBLE) FROM e", "timestamp to double"),
    ("SELECT CAST(s AS BINARY) FROM e", "BINARY"),
    ("SELECT decode(i8, NULL, 1, 2) FROM e", "DECODE"),
    # what Spark's grammar groups otherwise than the parser
    ("SELECT s || r + 1 FROM e", "s || r + 1"),
    ("SELECT k = r IN (1, 2) FROM e", "k = r IN (1, 2)"),
    ("SELECT k = r < 3 FROM e", "k = r < 3"),
    ("SELECT s LIKE 'a' = k FROM e", "s LIKE 'a' = k"),
    ("SELECT k <=> r < 3 FROM e", "k <=> r < 3"),
    ("SELECT k <=> (r) < 3 FROM e", "k <=> (r) < 3"),
    ("SELECT (k <=> (r) < 3) FROM e", "k <=> (r) < 3"),
    ("SELECT k <=> r IN (1, 2) FROM e", "k <=> r IN (1, 2)"),
    ("SELECT k <=> s LIKE 'a' FROM e", "k <=> s LIKE 'a'"),
    ("SELECT k <=> r BETWEEN 1 AND 2 FROM e", "k <=> r BETWEEN 1 AND 2"),
    # windows
    ("SELECT row_number() OVER () FROM e", "ROW_NUMBER"),
    ("SELECT rank() FROM e", "rank"),
    ("SELECT sum(r) OVER w FROM e WINDOW w AS (ORDER BY r)", "WINDOW"),
    ("SELECT sum(DISTINCT r) OVER () FROM e", "DISTINCT"),
    ("SELECT sum(r) OVER (ORDER BY r RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM e", "RANGE"),
    ("SELECT lag(r) IGNORE NULLS OVER (ORDER BY r) FROM e", "IGNORE NULLS"),
    ("SELECT first_value(r) OVER (ORDER BY r) FROM e", "first_value"),
    ("SELECT sum(r) FILTER (WHERE k) OVER () FROM e", "FILTER"),
    # queries
    ("SELECT r IN (SELECT id FROM t) FROM e", "IN (SELECT"),
    ("SELECT r FROM e WHERE k OR r NOT IN (SELECT id FROM t)", "IN (SELECT"),
    ("SELECT count(DISTINCT r, k) FROM e", "COUNT(DISTINCT"),
    ("SELECT count(*) FROM e GROUP BY GROUPING SETS (())", "GROUPING SETS"),
    ("SELECT count(*) FROM e GROUP BY ROLLUP (r), CUBE (k)", "More than one of ROLLUP"),
    ("SELECT t.id FROM t, e RIGHT JOIN t u ON e.r = u.id", "RIGHT JOIN"),
    ("SELECT t.id FROM t, e JOIN (SELECT r FROM e) f USING (r)", "JOIN after a comma"),
    ("SELECT s FROM t NATURAL JOIN (SELECT r FROM e) f", "NATURAL JOIN"),
    ("SELECT t.id FROM t LEFT SEMI JOIN e", "SEMI JOIN"),
    ("SELECT e.r FROM e JOIN (SELECT i8 AS r FROM e) f USING (r)", "USING of r"),
    ("SELECT x FROM e LATERAL VIEW explode(array(1)) v AS x", "LATERAL VIEW is not supported"),
    ("SELECT r FROM e DISTRIBUTE BY r", "DISTRIBUTE BY is not supported"),
    ("SELECT r FROM e SORT BY r", "SORT BY is not supported"),
    ("SELECT r FROM e CLUSTER BY r", "CLUSTER BY is not supported"),
    ("SELECT r FROM e TABLESAMPLE (100 PERCENT)", "TABLESAMPLE is not supported"),
    ("SELECT r FROM e QUALIFY row_number() OVER (ORDER BY r) = 1", "QUALIFY is not supported"),
    ("SELECT * FROM e PIVOT (count(*) FOR k IN (true, false))", "PIVOT is not supported"),
    ("SELECT r FROM e LIMIT ALL", "LIMIT"),
    ("SELECT * FROM range(10)", "range"),
]


@pytest.mark.parametrize(("sql", "named"), REFUSED, ids=[sql for sql, _ in REFUSED])
def test_a_refusal(sql: str, named: str) -> None:
    with pytest.raises(NotSupportedError) as caught:
        translate(query(sql, declared()))
    error = caught.value
    assert error.condition == "DUCKDB_UNSUPPORTED"
    assert named.lower() in error.message.lower()
    assert error.position is not None
    assert 0 <= error.position.start < error.position.end <= len(sql)
    assert "Spark engine (engine spark)" in (error.hint or "")
