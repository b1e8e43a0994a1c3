"""Unbalanced parentheses are refused at the one that has no counterpart."""

import pytest

from rewriter.errors import ParseError
from rewriter.planner.text.query_text import QueryText


@pytest.mark.parametrize(
    "marked",
    [
        "SELECT percentile«(»distance( 0.5) FROM flights WHERE departed >= '2013-01-30'",
        "SELECT sum«(»distance FROM flights",
        "SELECT a«)» FROM t",
    ],
)
def test_the_parenthesis_is_named(marked: str) -> None:
    start = marked.index("«")
    error = QueryText(marked.replace("«", "").replace("»", "")).unread()
    assert isinstance(error, ParseError)
    assert error.position is not None
    assert error.position.start == start
    assert error.hint
