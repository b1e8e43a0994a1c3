"""Comparisons of literals with partition columns at the limits of types, lengths and signs."""

from __future__ import annotations

import pytest

from rewriter.catalog.filters.predicates import bind_filter
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.like_patterns import LikePattern
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, DataError, Error
from rewriter.grammar.parser import parse_filter


def holds(type: str, value: str | None, condition: str) -> bool:
    """Returns True if ``p <condition>`` is TRUE for a canonical value."""
    bound = bind_filter(parse_filter(f"p {condition}"), [Column("p", type)])
    return bound.holds((encoding.encode_value(type, value),))


EDGES = [
    ("char(3)", "a  ", "= 'a'", True),
    ("char(3)", "a  ", "= 'a     '", True),
    ("char(3)", "abc", "< 'abcd'", True),
    ("char(3)", "abc", "= 'abcd'", False),
    ("char(3)", "abc", "> 'abc\t'", True),
    ("char(3)", "abc", "<> 'abcd'", True),
    ("char(3)", "a  ", "LIKE 'a'", False),
    ("varchar(3)", "a ", "= 'a'", False),
    ("string", "a\x01b", "> 'a'", True),
    ("string", "a\x01b", "LIKE 'a\x01%'", True),
    ("string", "ab", "LIKE 'a\x01%'", False),
    ("string", "a%b", r"LIKE 'a\%b'", True),
    ("string", "axb", r"LIKE 'a\%b'", False),
    ("string", "a\nb", "LIKE 'a_b'", True),
    ("string", None, "LIKE '%'", False),
    ("string", "x", "> ''", True),
    ("double", "0.0", "= -0.0", True),
    ("double", "0.0", "< -0.0", False),
    ("double", "NaN", "> 1e300", True),
    ("double", "NaN", "= 'NaN'", True),
    ("double", "NaN", "> 'Infinity'", True),
    ("double", "0.1", "= 0.1", True),
    ("float", "0.1", "= 0.1", False),  # Spark compares as doubles.
    ("float", "0.1", "> 0.1", True),
    ("float", "0.1", "= 0.1F", True),
    ("float", "3.4028235E38", "< 1e300", True),
    ("float", "Infinity", "> 1e300", True),
    ("tinyint", "127", "< 128", True),
    ("tinyint", "-128", "> -128.5", True),
    ("tinyint", "44", "= 300", False),
    ("tinyint", "44", "<> 300", True),
    ("bigint", "9223372036854775807", "< 9223372036854775808", True),
    ("int", "3", "< 3.5", True),
    ("int", "-3", "> -3.5", True),
    ("int", "4", "< 3.5", False),
    ("int", "1", "= '01'", True),
    ("int", "10", "LIKE '1%'", True),
    ("decimal(4,1)", "1.5", "< 1.55", True),
    ("decimal(4,1)", "1.5", "= 1.50", True),
    ("decimal(4,1)", "999.9", "< 1000", True),
    ("decimal(38,0)", "9" * 38, "< 1e39", True),
    ("decimal(38,38)", "0." + "1" * 38, "> 1e-39", True),
    ("date", "2020-01-02", "> TIMESTAMP '2020-01-01 00:00:01'", True),
    ("date", "2020-01-01", "> TIMESTAMP '2020-01-01 00:00:01'", False),
    ("date", "2020-01-01", "= TIMESTAMP '2020-01-01'", True),
    ("date", "9999-12-31", "< TIMESTAMP '9999-12-31 00:00:01'", True),
    ("timestamp", "2020-01-01 00:00:00", "= DATE '2020-01-01'", True),
    ("timestamp", "2020-01-01 10:00:00", "= '2020-01-01 12:00:00+02:00'", True),
    ("boolean", "true", "> false", True),
    ("boolean", None, "<> true", False),
    ("int", None, "BETWEEN NULL AND 3", False),
]


@pytest.mark.parametrize(("type", "value", "condition", "wanted"), EDGES)
def test_edges(type: str, value: str | None, condition: str, wanted: bool) -> None:
    assert holds(type, value, condition) is wanted


def test_what_is_false_on_one_side_of_null_has_a_true_opposite() -> None:
    columns = [Column("p", "int")]
    bound = bind_filter(parse_filter("NOT p BETWEEN NULL AND 3"), columns)
    assert bound.holds((encoding.encode_value("int", "4"),))
    assert not bound.holds((encoding.encode_value("int", "3"),))
    assert not bound.holds((encoding.encode_value("int", None),))


REFUSED = [
    ("string", "= 1", AnalysisError),
    ("string", "= DATE '2020-01-01'", AnalysisError),
    ("int", "= true", AnalysisError),
    ("int", "= DATE '2020-01-01'", AnalysisError),
    ("int", "= '1.5'", DataError),
    ("int", "= '１'", DataError),
    ("int", "= ''", DataError),
    ("decimal(4,1)", "= 'NaN'", DataError),
    ("double", "= 'x'", DataError),
    ("double", "= 1e400", DataError),
    ("date", "= 2020", AnalysisError),
    ("date", "= '2020-01-01 10:00:00'", DataError),
    ("date", "= DATE '2020-13-01'", DataError),
    ("timestamp", "= true", AnalysisError),
    ("boolean", "= 1", AnalysisError),
    ("boolean", "= 'maybe'", DataError),
    ("int", "IN (1, 'x')", DataError),
    ("int", "BETWEEN 1 AND true", AnalysisError),
    ("string", r"LIKE 'a\\'", AnalysisError),
]


@pytest.mark.parametrize(("type", "condition", "kind"), REFUSED)
def test_what_does_not_compare_is_refused_at_the_literal(type: str, condition: str, kind: type[Error]) -> None:
    with pytest.raises(kind) as caught:
        holds(type, None, condition)
    assert caught.value.position is not None
    assert caught.value.position.start > 2


def test_like_is_no_regular_expression_that_explodes() -> None:
    pattern = LikePattern.of("%a" * 200 + "b")
    assert not pattern.matches("a" * 5_000)
    assert pattern.matches("a" * 5_000 + "b")
    assert not LikePattern.of("ab%b").matches("ab")
    assert LikePattern.of("ab%b").matches("abb")
    assert LikePattern.of("%.%").matches("1.2")
    assert not LikePattern.of("%.%").matches("1x2")
