"""GET_JSON_OBJECT on DuckDB: a text whose result Spark writes otherwise is refused when it occurs."""

from __future__ import annotations

from pathlib import Path

import pytest

import rewriter


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a":"x","t":["a","b"]}', "$.t", '["a","b"]'),
        ('{"a":"x","t":["a","b"]}', "$.t[1]", "b"),
        ('["é"]', "$[0]", "é"),
        ('{"a":["я"]}', "$.a", '["я"]'),
        ("[1,2]", "$[7]", None),
        ('{"a":["x",]}', "$.a", rewriter.NotSupportedError),
        ("[null]", "$[0]", rewriter.NotSupportedError),
        ('{"a":[1,null]}', "$.a[1]", rewriter.NotSupportedError),
        ('{"a":["😀"]}', "$.a", rewriter.NotSupportedError),
    ],
)
def test_texts(tmp_path: Path, text: str, path: str, expected: object) -> None:
    with rewriter.connect(tmp_path / "w", engine="duckdb") as connection:
        query = f"SELECT get_json_object(:text, '{path}')"
        if isinstance(expected, type):
            with pytest.raises(rewriter.NotSupportedError, match="as JSON"):
                connection.execute(query, {"text": text}).fetchall()
        else:
            assert connection.execute(query, {"text": text}).fetchall() == [(expected,)]
