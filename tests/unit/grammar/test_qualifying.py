"""The current database in a statement: every name gets it, and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from test_parse_statements import STATEMENTS

from rewriter.grammar.parser import parse
from rewriter.grammar.qualify_names import qualified
from rewriter.grammar.terms import Name
from rewriter.grammar.unparse import render


def names(value: Any) -> Iterator[Name]:
    if isinstance(value, Name):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from names(part)
    elif is_dataclass(value):
        for part in fields(value):
            yield from names(getattr(value, part.name))


@pytest.mark.parametrize("text", [text for text, _ in STATEMENTS])
def test_every_name_gets_its_database(text: str) -> None:
    statement = parse(text)
    result = qualified(statement, "db", lambda name: name == "temporary")
    pairs = list(zip(names(statement), names(result), strict=True))
    for field in statement.unqualified_names():
        assert pairs.pop(0)[1] == getattr(statement, field)
    for before, after in pairs:
        assert after.parts == (before.parts if len(before.parts) > 1 else ("db", *before.parts))
        assert after.span == before.span
    assert result.span == statement.span
    assert (result == statement) == all(len(before.parts) > 1 for before, _ in pairs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO t SELECT * FROM u", "INSERT INTO TABLE db.t SELECT * FROM u"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE db.t RENAME TO u"),
        ("INSERT INTO temporary SELECT * FROM u", "INSERT INTO TABLE `temporary` SELECT * FROM u"),
        ("CREATE TEMPORARY TABLE t LIKE t", "CREATE TEMPORARY TABLE t LIKE db.t"),
        ("SHOW TABLES IN sales", "SHOW TABLES IN sales"),
        ("USE sales", "USE DATABASE sales"),
        ("EXPLAIN SCAN SHOW PARTITIONS t", "EXPLAIN SCAN SHOW PARTITIONS db.t"),
        ("ALTER FACT temporary SET LATENESS '6 hours'", "ALTER FACT db.`temporary` SET LATENESS '6 hours'"),
        (
            "CREATE FACT f OF CUBE c STORED IN (TABLE t PERIOD DAILY PARTITIONED BY d AS (d))",
            "CREATE FACT db.f OF CUBE db.c STORED IN (TABLE db.t PERIOD DAILY PARTITIONED BY d AS (d))",
        ),
    ],
)
def test_what_is_a_name(text: str, expected: str) -> None:
    assert render(qualified(parse(text), "db", lambda name: name == "temporary")) == expected
