"""Reading partition filters: what each spelling means, how long and deep they may be, what is refused where."""

from __future__ import annotations

import pytest

from rewriter.errors import AnalysisError, ParseError, Span
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.terms import Literal
from rewriter.grammar.unparse import render_filter


def number(text: str) -> Literal:
    return Literal("number", text)


def is_(column: str, op: str, text: str) -> f.Comparison:
    return f.Comparison(column, op, number(text))


ONE, TWO, THREE = is_("a", "=", "1"), is_("b", "<", "2"), is_("c", ">=", "3")

READ = [
    ("a == 1", ONE),
    ("1 = a", ONE),
    ("2 > b", TWO),
    ("3 <= c", THREE),
    ("a != -1.50", is_("a", "<>", "-1.50")),
    ("a = 1 OR b < 2 AND c >= 3", f.Or((ONE, f.And((TWO, THREE))))),
    ("(a = 1 or b < 2) and ((c >= 3))", f.And((f.Or((ONE, TWO)), THREE))),
    ("a = 1 and (b < 2 and c >= 3)", f.And((ONE, TWO, THREE))),
    ("not a = 1 and b < 2", f.And((f.Not(ONE), TWO))),
    ("not not a = 1", ONE),
    ("(a) in (1, 'x')", f.InList("a", (number("1"), Literal("string", "x")))),
    ("((a)) not in (1)", f.Not(f.InList("a", (number("1"),)))),
    ("a between 1 and 2 and b < 2", f.And((f.Between("a", number("1"), number("2")), TWO))),
    ("a is not null", f.Not(f.IsNull("a"))),
    ('`a b` like "it\'s \\"%"', f.Like("a b", Literal("string", "it's \"%"))),
    ("a = 'it''s'", f.Comparison("a", "=", Literal("string", "it's"))),
    ("date = date '2020-01-01'", f.Comparison("date", "=", Literal("date", "2020-01-01"))),
    ("timestamp '2020' < timestamp", f.Comparison("timestamp", ">", Literal("timestamp", "2020"))),
    ("true = a", f.Comparison("a", "=", Literal("boolean", "true"))),
    ("like = null", f.Comparison("like", "=", Literal("null", ""))),
    ("a = 1 /* or true */ -- and so on", ONE),
]


@pytest.mark.parametrize(("text", "tree"), READ)
def test_reading(text: str, tree: f.Filter) -> None:
    assert parse_filter(text) == tree
    assert parse_filter(render_filter(tree)) == tree


REFUSED = [
    ("", Span(0, 0), "conditions"),
    ("a", Span(1, 1), "="),
    ("a = 1 b", Span(6, 7), "AND"),
    ("a = 'x", Span(4, 5), "Close it"),
    ("a = `x", Span(4, 5), "Close it"),
    ("a = 'x' /*", Span(8, 10), "Close it"),
    ("(a = 1", Span(6, 6), "')'"),
    ("a = 1)", Span(5, 6), "end"),
    ("a = b", Span(4, 5), "must be a literal"),
    ("a < current_date", Span(4, 16), "must be a literal"),
    ("a < date_sub(current_date, 7)", Span(4, 12), "must be a literal"),
    ("1 = 1", Span(4, 5), "a name"),
    ("a in ()", Span(6, 7), "a string"),
    ("a like 1", Span(7, 8), "a string"),
    ("upper(a) = 'X'", Span(5, 6), ""),
    ("a = 1; drop table t", Span(5, 6), "end"),
    ("a = 1 union select 1", Span(6, 11), "AND"),
    ("a = ?", Span(4, 5), "value"),
    ("not = 1", Span(4, 5), ""),
    ("`` = 1", Span(0, 2), "name"),
]


@pytest.mark.parametrize(("text", "span", "hint"), REFUSED)
def test_refusing(text: str, span: Span, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_filter(text)
    assert caught.value.position == span
    assert hint in (caught.value.hint or "")


def test_long_and_nested_filters() -> None:
    many = parse_filter(" or ".join(f"date = '{n}'" for n in range(10_000)))
    assert isinstance(many, f.Or)
    assert len(many.operands) == 10_000
    assert parse_filter("not " * 1_001 + "a = 1") == f.Not(ONE)
    assert parse_filter("not (" * 1_000 + "a = 1" + ")" * 1_000) == ONE
    assert parse_filter("(" * 1_000 + "a = 1" + ")" * 1_000) == ONE
    nested = parse_filter("a = 1 or (" * 1_000 + "a = 1" + ")" * 1_000)
    assert isinstance(nested, f.Or)
    assert len(nested.operands) == 1_001


@pytest.mark.parametrize("depth", [f.MAX_DEPTH // 2 - 1, 1_000])
def test_alternation_is_bounded(depth: int) -> None:
    text = "a = 1 or (b < 2 and (" * depth + "c >= 3" + "))" * depth
    if depth < 1_000:
        assert parse_filter(render_filter(parse_filter(text))) == parse_filter(text)
        return
    with pytest.raises(AnalysisError) as caught:
        parse_filter(text)
    assert caught.value.condition == "FILTER_TOO_DEEP"
    assert caught.value.position is not None
