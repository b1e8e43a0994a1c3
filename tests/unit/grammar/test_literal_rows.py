"""Rows of literals are recognized by their tokens."""

from __future__ import annotations

import pytest

from rewriter.grammar.lexer import tokens
from rewriter.grammar.literal_rows import is_literal_rows, literal_columns

YES = (
    "VALUES (1)",
    "values (1, 'a', -2.5, NULL, true), (2, \"b\", - 3e1, null, FALSE)",
    "VALUES ('a;b'), (r'c')",
    "VALUES (1L)",
)
NO = (
    "SELECT 1",
    "VALUES",
    "VALUES 1, 2",
    "VALUES ()",
    "VALUES (1), ()",
    "VALUES (1), (1, 2)",
    "VALUES (1, 2), (1)",
    "VALUES (1,), (2)",
    "VALUES (1),",
    "VALUES (1) (2)",
    "VALUES (1",
    "VALUES (1))",
    "VALUES ((1))",
    "VALUES (1 2)",
    "VALUES (1-2)",
    "VALUES (- -1)",
    "VALUES (-'a')",
    "VALUES (-NULL)",
    "VALUES (1 -)",
    "VALUES (a)",
    "VALUES (`null`)",
    "VALUES (DATE '2013-01-01')",
    "VALUES ('a' 'b')",
    "VALUES (now())",
    "VALUES (:p)",
    "VALUES (?)",
    "VALUES (1) AS t",
    "VALUES (1) LIMIT 1",
    "VALUES (1), /* c */ (2)",
    "VALUES (1) -- c",
    "VALUES (x)",
    "VALUES (s, n)",
    "(VALUES (1))",
    "VALUES (1) UNION ALL VALUES (2)",
    "VALUES (+1)",
)


@pytest.mark.parametrize("text", YES)
def test_rows_of_literals(text: str) -> None:
    assert is_literal_rows(text, tokens(text))


@pytest.mark.parametrize("text", NO)
def test_other_queries(text: str) -> None:
    assert not is_literal_rows(text, tokens(text))


def test_the_columns_are_kinds_and_tokens() -> None:
    text = "VALUES (1, 'a', true), (- 2.5, NULL, FALSE), (3, \"c\", NULL)"
    columns = literal_columns(text, tokens(text))
    assert columns is not None
    assert [column.kinds for column in columns] == ["nmn", "s0s", "tf0"]
    assert [[token.text for token in column.tokens] for column in columns] == [
        ["1", "2.5", "3"],
        ["'a'", "NULL", '"c"'],
        ["true", "FALSE", "NULL"],
    ]
