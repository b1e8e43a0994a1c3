"""GET_JSON_OBJECT on DuckDB: what Spark may read differently is an error, and never another value."""

from __future__ import annotations

import pytest

from rewriter.errors import Error
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.engine import EngineQuery


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # malformed for DuckDB, and read by Spark at least in part
        ("{\\'a\\':1}", "$.a"),
        ('{"a":1} x', "$.a"),
        ('{"a":1', "$.a"),
        ('{"a":"x\ty"}', "$.a"),
        # read by DuckDB alone
        ('{"a":NaN}', "$.a"),
        ('{"b":[1,],"a":2}', "$.a"),
        ('{"a":1,"b":-Infinity}', "$.a"),
        # of equal keys, Spark takes the next one
        ('{"a":null,"a":2}', "$.a"),
        ('{"a":{"b":1},"a":{"c":2}}', "$.a.c"),
        # digits and escapes that Java writes in its own way
        ('{"a":1e39}', "$.a"),
        ('{"a":0.0001}', "$.a"),
        ('{"a":{"b":0.5}}', "$.a"),
        ('{"a":["\\\\u0001"]}', "$.a"),
    ],
)
def test_what_may_differ_is_an_error(duckdb: DuckDBEngine, text: str, path: str) -> None:
    sql = f"SELECT get_json_object(x, '{path}') FROM VALUES ('{text}') AS v(x)"
    with pytest.raises(Error) as caught:
        duckdb.execute(EngineQuery(sql)).read_all()
    assert caught.value.condition == "DUCKDB_UNSUPPORTED"


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        # malformed within a value, after which Spark continues
        ('{"a":{"x":1,y:2},"b":1}', "a STRUCT<x: INT>, b INT"),
        ('{"b":1,"a":{"x":', "a STRUCT<x: INT>, b INT"),
        ('{"b":1,"a":"x\ty"}', "a STRING, b INT"),
        ('{"b":1,"a":+INF}', "a STRING, b INT"),
        # values that no other map or text has
        ('{"k":1,"k":2}', "MAP<STRING, INT>"),
        ('{"a":"\\ud800"}', "a STRING"),
        # uncertain times and numbers
        ('{"a":"18000"}', "a DATE"),
        ('{"a":"12:30"}', "a TIMESTAMP"),
        ('{"a":"AP8"}', "a BINARY"),
        ('{"a":1e999999}', "a DECIMAL(5,2)"),
        (f'{{"a":{"[" * 600}{"]" * 600}}}', "a STRING"),
    ],
)
def test_a_value_that_may_differ_is_an_error(duckdb: DuckDBEngine, text: str, schema: str) -> None:
    query = EngineQuery(f"SELECT from_json(:text, '{schema}') AS v", (), {"text": text})
    with pytest.raises(Error) as caught:
        duckdb.execute(query).read_all()
    assert caught.value.condition == "DUCKDB_UNSUPPORTED"
