"""Tables with one name in several databases: distinguished by aliases or refused, and unchanged if not needed."""

from __future__ import annotations

import pytest

from rewriter.errors import NotSupportedError
from rewriter.planner.scope.disambiguate import disambiguated
from rewriter.planner.text.query_text import QueryText


def told_apart(text: str, current: str = "default") -> str:
    return disambiguated(QueryText(text), current).text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT t.x FROM a.t",
        "SELECT a.t.x FROM a.t WHERE a.t.y = 1",
        "SELECT a.t.x, u.y FROM a.t JOIN b.u",
        "SELECT x.y, t.y FROM a.t AS x JOIN b.t",
        "SELECT t.x FROM a.t WHERE t.x IN (SELECT t.y FROM b.t)",
        "SELECT x FROM a.t UNION ALL SELECT x FROM b.t",
        "SELECT t.x FROM t, t",
        "SELECT a.t.x FROM parquet.`/t`, a.t",
        "WITH t AS (SELECT x FROM a.t) SELECT t.x FROM t",
        "SELECT s.f.g FROM a.t JOIN b.u",
    ],
)
def test_left_alone(text: str) -> None:
    query = QueryText(text)
    assert disambiguated(query, "default") is query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a.t.x, b.t.x FROM a.t JOIN b.t ON a.t.i = b.t.i",
         "SELECT `a.t`.x, `b.t`.x FROM a.t AS `a.t` JOIN b.t AS `b.t` ON `a.t`.i = `b.t`.i"),
        ("SELECT x, y FROM a.t JOIN b.t USING (i)",
         "SELECT x, y FROM a.t AS `a.t` JOIN b.t AS `b.t` USING (i)"),
        ("SELECT spark_catalog.a.t.* FROM spark_catalog.a.t, B.T",
         "SELECT `a.t`.* FROM spark_catalog.a.t AS `a.t`, B.T AS `b.t`"),
        ("SELECT default.t.x FROM t WHERE EXISTS (SELECT 1 FROM b.t WHERE b.t.x = default.t.x)",
         "SELECT `default.t`.x FROM t AS `default.t` WHERE EXISTS "
         "(SELECT 1 FROM b.t AS `b.t` WHERE `b.t`.x = `default.t`.x)"),
        ("SELECT a.t.x FROM a.t JOIN b.u AS t ON a.t.x = 1",
         "SELECT `a.t`.x FROM a.t AS `a.t` JOIN b.u AS t ON `a.t`.x = 1"),
        ("WITH t AS (SELECT 1 AS x) SELECT a.t.x FROM a.t, t",
         "WITH t AS (SELECT 1 AS x) SELECT `a.t`.x FROM a.t AS `a.t`, t"),
        ("SELECT a.t.x, u.y FROM a.t JOIN b.t JOIN b.u",
         "SELECT `a.t`.x, u.y FROM a.t AS `a.t` JOIN b.t AS `b.t` JOIN b.u"),
    ],
)  # fmt: skip
def test_told_apart(text: str, expected: str) -> None:
    assert told_apart(text) == expected


def test_the_current_database_counts() -> None:
    text = "SELECT a.t.x FROM t JOIN default.t"
    assert told_apart(text, "a") == "SELECT `a.t`.x FROM t AS `a.t` JOIN default.t AS `default.t`"
    assert told_apart("SELECT x FROM t JOIN default.t") == "SELECT x FROM t JOIN default.t"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT t.x FROM a.t JOIN b.t",
        "SELECT a.t.x, t.y FROM a.t JOIN b.t",
        "SELECT a.t.x FROM a.t WHERE EXISTS (SELECT 1 FROM b.t WHERE t.x = a.t.x)",
        "SELECT t.* FROM a.t JOIN b.t",
        "SELECT a.t.x, t.x FROM a.t JOIN b.u AS t",
        "SELECT a.t.x FROM a.t TABLESAMPLE (5 ROWS) JOIN b.t",
    ],
)
def test_refused_where_it_is_not_certain(text: str) -> None:
    with pytest.raises(NotSupportedError, match="have the name t here") as info:
        told_apart(text)
    assert info.value.condition == "AMBIGUOUS_REFERENCE"
    assert info.value.position is not None
    assert text[info.value.position.start : info.value.position.end] == "t"
