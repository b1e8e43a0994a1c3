"""Stretches and filters as text: what stands there is what is searched."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rewriter.catalog.filters.explain import filter_text, key_range_text
from rewriter.catalog.filters.predicates import bind_filter
from rewriter.catalog.filters.scan_plans import PartitionFilterGenerator
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.key_ranges import KeyRange, after
from rewriter.catalog.model.objects import Column
from rewriter.grammar.parser import parse_filter

from .random_filters import scans_of
from .test_scan_plans import PREFIX, filters, key, tables

TEXTS = [
    ("string", "p = 'a'", "[p='a']"),
    ("string", "p < 'a'", "(p=NULL, p='a')"),
    ("string", "p <= 'a'", "(p=NULL, p='a']"),
    ("string", "p > 'a'", "(p='a', end)"),
    ("string", "p >= 'a' and p < 'b'", "[p='a', p='b')"),
    ("string", "p like 'a%'", "[p='a', p='b')"),
    ("string", "p like 'it\\'s'", "[p='it\\'s']"),
    ("string", "p like '\x7f%'", "[p='\x7f', p=X'80')"),
    ("string", "p > '\x01'", "(p='\x01', end)"),
    ("string", "p is null", "[p=NULL]"),
    ("string", "p is not null", "(p=NULL, end)"),
    ("varchar(3)", "p = '01'", "[p='01']"),
    ("int", "p = 10", "[p=10]"),
    ("int", "p > 10 and p < 20", "[p=11, p=20)"),
    ("int", "p in (9, 10)", "[p=9, p=11)"),
    ("int", "p <= 2147483647", "(p=NULL, end)"),
    ("bigint", "p < -1", "(p=NULL, p=-1)"),
    ("decimal(6,2)", "p >= 1.5", "[p=1.50, end)"),
    ("double", "p > 1.5", "(p=1.5, end)"),
    ("double", "p <= -0.25", "(p=NULL, p=-0.25]"),
    ("double", "p = 0", "[p=0.0]"),
    ("float", "p < 'NaN'", "(p=NULL, p=NaN)"),
    ("float", "p >= 'NaN'", "[p=NaN, end)"),
    ("float", "p <= 'NaN'", "(p=NULL, p=NaN]"),
    ("date", "p <= date '9999-12-31'", "(p=NULL, end)"),
    ("date", "p = date '2024-02-29'", "[p='2024-02-29']"),
    ("timestamp", "p > timestamp '2024-02-29'", "(p='2024-02-29 00:00:00', end)"),
    ("timestamp", "p < timestamp '2024-02-29 10:00:00.5'", "(p=NULL, p='2024-02-29 10:00:00.5')"),
    ("boolean", "p = true", "[p=true]"),
    ("boolean", "p <= true", "(p=NULL, end)"),
    ("boolean", "p < true", "(p=NULL, p=true)"),
]  # fmt: skip


@pytest.mark.parametrize(("type", "text", "wanted"), TEXTS)
def test_edges_are_values(type: str, text: str, wanted: str) -> None:
    columns = [Column("p", type)]
    (scan,) = scans_of(bind_filter(parse_filter(text), columns), columns, PREFIX)
    assert key_range_text(columns, PREFIX, scan.keys) == wanted


def test_edges_of_several_columns() -> None:
    columns = [Column("a b", "int"), Column("c", "string"), Column("d", "date")]

    def shown(text: str) -> list[str]:
        planned = scans_of(bind_filter(parse_filter(text), columns), columns, PREFIX)
        return [key_range_text(columns, PREFIX, scan.keys) for scan in planned]

    assert shown("`a b` = 1 and c = 'x' and d < date '2024-01-01'") == [
        "(`a b`=1/c='x'/d=NULL, `a b`=1/c='x'/d='2024-01-01')"
    ]
    assert shown("`a b` in (1, 3) and c >= 'x'") == ["[`a b`=1/c='x', `a b`=1]", "[`a b`=3/c='x', `a b`=3]"]
    assert shown("`a b` is null and c is not null") == ["(`a b`=NULL/c=NULL, `a b`=NULL]"]
    full_key = key(columns, 1, "x", "2024-01-01")
    assert key_range_text(columns, PREFIX, KeyRange(full_key, after(full_key))) == "[`a b`=1/c='x'/d='2024-01-01']"
    assert key_range_text(columns, PREFIX, KeyRange.of_prefix(PREFIX)) == "all keys"
    yes = [Column("p", "boolean")]
    no = scans_of(bind_filter(parse_filter("p <> true"), yes), yes, PREFIX)
    assert [key_range_text(yes, PREFIX, scan.keys) for scan in no] == ["(p=NULL, p=true)", "nothing"]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_text_of_a_plan_is_a_filter_that_finds_the_same(data: st.DataObject) -> None:
    columns, rows = data.draw(tables())
    # What LIKE says of CHAR is shown as an equality, which pads.
    assume(not any(column.type in ("double", "float") or column.type.startswith("char") for column in columns))
    tree = bind_filter(data.draw(filters(columns)), columns)
    plans = PartitionFilterGenerator(len(columns)).plan(tree).plans
    text = filter_text(columns, plans)
    widths = [encoding.width_of(column.type) for column in columns]
    every = [encoding.split_key(widths, key(columns, *row)) for row in rows]
    if text == "FALSE":
        # What lies behind all values: no filter says so.
        assert not any(map(tree.holds, every))
    assume(plans and not text.endswith(" …") and not any(word in text for word in ("X'", "TRUE", "FALSE", "NOT LIKE")))
    again = bind_filter(parse_filter(text), columns)
    for fields in every:
        assert tree.holds(fields) == again.holds(fields), text
