"""Scans of filters: the seed's examples and cases, and random filters over random keys against three-valued logic."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter.catalog.filters.predicates import bind_filter
from rewriter.catalog.filters.scan_plans import MAX_SCANS, FilterPlan, MultiScanPlan, PartitionFilterGenerator, Scan
from rewriter.catalog.keys import encoding
from rewriter.catalog.model.key_ranges import KeyRange, after, successor
from rewriter.catalog.model.objects import Column
from rewriter.grammar import filters as f
from rewriter.grammar.parser import parse_filter
from rewriter.grammar.terms import Literal
from rewriter.grammar.unparse import render_filter

from .filter_model import DOMAINS, truth
from .random_filters import filters, scans_of, tables

CASES = json.loads((Path(__file__).parent / "scan-plans.json").read_text())["cases"]
TABLE = 7
PREFIX = encoding.prefix(TABLE)


def scans(text: str | None, columns: list[Column]) -> tuple[Scan, ...]:
    bound = None if text is None else bind_filter(parse_filter(text), columns)
    return scans_of(bound, columns, PREFIX)


def unmerged(tree: f.Filter, columns: list[Column]) -> FilterPlan:
    """Returns AND and OR of the plans of the leaves, nothing merged."""
    if isinstance(tree, f.And | f.Or):
        first, *rest = (unmerged(operand, columns) for operand in tree.operands)
        for operand in rest:
            first = first.and_(operand) if isinstance(tree, f.And) else first.or_(operand)
        return first
    return PartitionFilterGenerator(len(columns)).plan(bind_filter(tree, columns))


def key(columns: list[Column], *values: Any) -> bytes:
    texts = [None if value is None else str(value) for value in values]
    return encoding.encode(TABLE, [column.type for column in columns], texts)


@pytest.mark.parametrize("case", [case for case in CASES if case["columns"]], ids=lambda case: case["filter"])
def test_cases_of_the_reference(case: dict[str, Any]) -> None:
    columns = [Column(*column) for column in case["columns"]]
    text = None if case["filter"] == "(none)" else case["filter"]
    planned, wanted = scans(text, columns), case["scans"]
    if isinstance(wanted, int):
        assert text is not None
        assert len(unmerged(parse_filter(text), columns).plans) == wanted
        return
    if isinstance(wanted, str):
        wanted = {
            "Get(X10)": [{"p1": {"start": 10, "start_inclusive": True, "end": 10, "end_inclusive": True}}],
            "Scan(X10, X10+)": [{"p1": {"start": 10, "start_inclusive": True, "end": 10, "end_inclusive": True}}],
            "merge(Scan(X10+,X+),Scan(X,X20))": [{"p1": {"start": None, "end": None}}],
            "Scan(X20+, X30)": [{"p1": {"start": 20, "start_inclusive": False, "end": 30, "end_inclusive": False}}],
            "full scan, filter c1<=5": [{}],
        }[wanted]
    assert sorted((scan.start, scan.end) for scan in planned) == sorted(_stretch(stretch) for stretch in wanted)
    assert [bool(scan.filters) for scan in planned] == [case["filter"] == "c1 <= 5"] * len(planned)


def _stretch(wanted: dict[str, Any]) -> tuple[bytes, bytes]:
    if not wanted:
        return PREFIX, successor(PREFIX)
    (bound,) = wanted.values()
    start, end = (
        None if bound[edge] is None else encoding.encode_value("int", str(bound[edge])) for edge in ("start", "end")
    )
    # An open start begins at the first key that is not NULL.
    low = b"\x01" if start is None else start if bound["start_inclusive"] else after(start)
    high = b"\x02" if end is None else after(end) if bound["end_inclusive"] else end
    return PREFIX + low, PREFIX + high


def test_what_the_range_does_not_say_is_the_filter() -> None:
    columns = [Column(name, "string") for name in ("year", "month", "state")]
    (scan,) = scans("year = '2015' and state = 'CA'", columns)
    assert scan.keys == KeyRange.of_prefix(encoding.prefix_of(TABLE, ["string"], ["2015"]))
    (left,) = scan.filters
    assert [ranges is None for ranges in left.ranges] == [True, True, False]
    (scan,) = scans("year = '2015' and month > '10' and month <= '11' and state like '%C'", columns)
    assert key(columns, "2015", "11", "CA") in scan.keys
    assert key(columns, "2015", "10", "CA") not in scan.keys
    (left,) = scan.filters
    assert (left.ranges[:2], len(left.tests)) == ((None, None), 1)


@pytest.mark.parametrize(("left", "op", "right", "count"), [(1, "and_", 1, 1), (2, "and_", 3, 6), (1, "or_", 2, 3)])
def test_unions_multiply_and_add(left: int, op: str, right: int, count: int) -> None:
    generator = PartitionFilterGenerator(2)
    columns = [Column("a", "int"), Column("b", "int")]

    def union(column: str, size: int) -> FilterPlan:
        texts = (f"{column} = {number}" for number in range(size))
        return MultiScanPlan(tuple(generator.plan(bind_filter(parse_filter(text), columns)).plans[0] for text in texts))

    assert len(getattr(union("a", left), op)(union("b", right)).plans) == count


#: The table of the seed: X is the prefix, + the successor.
SEED = [
    ("p1 > 10 and p1 < 20", [("11", "20")], False),
    ("p1 = 10", [("10", "11")], False),
    ("p1 = 9 or p1 = 10", [("9", "11")], False),
    ("p1 = 8 or p1 = 10", [("8", "9"), ("10", "11")], False),
    ("p1 > 10 or p1 < 20", [("", "+")], False),
    ("c1 = 5", [("X", "X+")], True),
    ("p1 > 10 and c1 = 5", [("11", "+")], True),
    ("p1 < 20 and c1 = 5", [("", "20")], True),
    ("p1 > 10 and p1 > 20 and p1 < 30 and p1 < 40", [("21", "30")], False),
    ("p1 > 10 and (p1 > 20 or c1 = 5)", [("11", "+")], True),
    ("c1 = 5 or p1 = 3", [("X", "X+")], True),
    ("p1 = 1 and (c1 = 2 or c1 = 4)", [("1.2", "1.3"), ("1.4", "1.5")], False),
    ("p1 in (1, 3) and (c1 = 2 or c1 = 4)", [("1.2", "1.3"), ("1.4", "1.5"), ("3.2", "3.3"), ("3.4", "3.5")], False),
    ("p1 = 10 and c1 = 5", [("10.5", "10.6")], False),
    ("c1 = 5 or c1 = 7", [("X", "X+")], True),
    ("p1 = 9 and c1 = 5 or p1 >= 30", [("9.5", "9.6"), ("30", "+")], False),
    ("(p1 = 1 or p1 = 3) and (c1 = 2 or c1 < 0)",
     [("1.", "1.0"), ("1.2", "1.3"), ("3.", "3.0"), ("3.2", "3.3")], False),
    ("p1 > 10 and (p1 > 20 or p1 < 15)", [("11", "15"), ("21", "+")], False),
    ("p1 <= 20 and p1 < 20", [("", "20")], False),
    ("c1 <= 5", [("X", "X+")], True),
    ("p1 > 20 and p1 < 10", [], False),
    ("p1 = 255", [("255", "256")], False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted", "filtered"), SEED)
def test_examples_of_the_seed(text: str, wanted: list[tuple[str, str]], filtered: bool) -> None:
    columns = [Column("p1", "int"), Column("c1", "int")]

    def marker(shown: str) -> bytes:
        if shown in ("", "+", "X", "X+"):
            return {"": PREFIX + b"\x01", "+": PREFIX + b"\x02", "X": PREFIX, "X+": successor(PREFIX)}[shown]
        leading, dot, rest = shown.partition(".")
        stem = encoding.prefix_of(TABLE, ["int"], [leading])
        return stem + (encoding.encode_value("int", rest) if rest else b"\x01" if dot else b"")

    planned = scans(text, columns)
    assert [(scan.start, scan.end) for scan in planned] == [(marker(a), marker(b)) for a, b in wanted]
    assert any(scan.filters for scan in planned) == filtered


def test_an_or_of_two_columns_that_is_no_range_of_keys_is_one_filter() -> None:
    """(c1 or c2) and (c3 or c4), on columns that do not lead, is each with each, over the whole table."""
    columns = [Column(name, "int") for name in ("p1", "a", "b")]
    (scan,) = scans("(a = 1 or b = 2) and (a = 3 or b = 4)", columns)
    assert scan.keys == KeyRange.of_prefix(PREFIX)
    # a = 1 and a = 3 is a contradiction, as b = 2 and b = 4 is.
    assert len(scan.filters) == 2
    held = {
        (a, b) for a in range(5) for b in range(5) if scan.holds(encoding.split_key((5, 5, 5), key(columns, 0, a, b)))
    }
    assert held == {(1, 4), (3, 2)}


@pytest.mark.parametrize("type", ["tinyint", "smallint", "int", "bigint", "decimal(3,0)", "decimal(38,5)"])
def test_255_is_above_all_of_one_byte_and_carries_in_none(type: str) -> None:
    """A successor made by adding one to the last byte ``ff`` alone would wrap, or end before the value."""
    columns = [Column("p", type), Column("c", "int")]
    planned = scans("p = 255", columns)
    if type == "tinyint":
        assert planned == ()
        return
    (scan,) = planned
    form = "{}.00000" if type == "decimal(38,5)" else "{}"
    here = [key(columns, form.format(n), None) for n in (-1, 0, 254, 255, 256)]
    assert [candidate in scan.keys for candidate in here] == [False, False, False, True, False]
    for text, wanted in {
        "p > 255": [False, False, False, False, True],
        "p <= 255": [True, True, True, True, False],
        "p > 254 and p < 256": [False, False, False, True, False],
        "p <> 255": [True, True, True, False, True],
    }.items():
        assert [any(candidate in scan.keys for scan in scans(text, columns)) for candidate in here] == wanted, text


def test_not_upon_not() -> None:
    columns = [Column("p", "int"), Column("c", "int")]
    even, odd = "not " * 1000 + "p > 10", "not " * 1001 + "p > 10"
    assert scans(even, columns) == scans("p > 10", columns)
    assert scans(odd, columns) == scans("p <= 10", columns)
    nested = "p > 10"
    for number in range(40):
        nested = f"not (not ({nested}) and not (p = {number % 10} and c <> {number}))"
    rows = [(p, c) for p in (None, "0", "3", "9", "10", "11") for c in (None, "0", "3", "13", "40")]
    check(columns, rows, parse_filter(nested))


@pytest.mark.parametrize("type", ["tinyint", "smallint", "int", "bigint"])
def test_the_edges_of_every_integer(type: str) -> None:
    columns = [Column("p", type)]
    width = encoding.width_of(type)
    assert width is not None
    most = (1 << (8 * (width - 1) - 1)) - 1
    for number in {-most - 1, -1, 0, min(255, most), most}:
        (scan,) = scans(f"p = {number}", columns)
        assert key(columns, number) in scan.keys
        assert all(
            key(columns, neighbor) not in scan.keys
            for neighbor in {number - 1, number + 1}
            if -most <= neighbor <= most
        )
        assert not any(key(columns, most) in scan.keys for scan in scans(f"p > {most} or p < {-most - 1}", columns))
        (scan,) = scans(f"p <= {most}", columns)
        assert key(columns, most) in scan.keys
        assert key(columns, None) not in scan.keys
    assert scans(f"p = {most + 1}", columns) == ()
    assert len(scans(f"p <> {most + 1}", columns)) == 1


def check(columns: list[Column], rows: list[tuple[str | None, ...]], tree: f.Filter) -> int:
    """Asserts that scans find the keys of the model and visit no key twice. Returns the number of visited keys."""
    types = {column.name: column.type for column in columns}
    wanted = {
        key(columns, *row)
        for row in rows
        if truth(tree, types, dict(zip(types, row, strict=True))) is True
    }  # fmt: skip
    planned = scans_of(bind_filter(tree, columns), columns, PREFIX)
    assert len(planned) <= MAX_SCANS
    assert all(scan.start < scan.end for scan in planned)
    assert all(first.end <= second.start for first, second in pairwise(planned))
    widths = [encoding.width_of(column.type) for column in columns]
    visited = [(scan, row_key) for scan in planned for row in rows if (row_key := key(columns, *row)) in scan.keys]
    assert {row_key for scan, row_key in visited if scan.holds(encoding.split_key(widths, row_key))} == wanted, (
        render_filter(tree)
    )
    return len(visited)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_filters_find_what_three_valued_logic_says(data: st.DataObject) -> None:
    columns, rows = data.draw(tables())
    tree = data.draw(filters(columns))
    check(columns, rows, tree)
    assert parse_filter(render_filter(tree)) == tree


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_leading_equalities_and_a_range_visit_only_what_they_find(data: st.DataObject) -> None:
    """One index can do no better: no key beyond the results, for any OR of at most ``MAX_SCANS``."""
    columns, rows = data.draw(tables())
    branches = []
    for _ in range(data.draw(st.integers(1, 5))):
        parts: list[f.Filter] = []
        for column in columns[: data.draw(st.integers(1, len(columns)))]:
            literal = st.sampled_from(DOMAINS[column.type][1]).map(lambda pair: Literal(*pair))
            parts.append(f.Comparison(column.name, "=", data.draw(literal)))
        last = parts.pop()
        assert isinstance(last, f.Comparison)
        op = data.draw(st.sampled_from(["=", "<", "<=", ">", ">="]))
        branches.append(f.conjunction((*parts, f.Comparison(last.column, op, last.value))))
    tree = f.disjunction(tuple(branches))
    types = {column.name: column.type for column in columns}
    zero_first = any(column.type in ("double", "float") for column in columns[:-1])
    matching = sum(truth(tree, types, dict(zip(types, row, strict=True))) is True for row in rows)
    # Both zeros of a floating-point column are a range of two, under which the next column is a test.
    assert check(columns, rows, tree) == matching or zero_first


def test_a_leading_column_without_condition_is_scanned_whole_and_no_more() -> None:
    columns = [Column("a", "int"), Column("b", "int")]
    rows = [(str(a), str(b)) for a in range(20) for b in range(5)]
    assert check(columns, rows, parse_filter("b = 3")) == 100
    assert check(columns, rows, parse_filter("b = 3 and a between 4 and 7")) == 20
    assert check(columns, rows, parse_filter("a in (1, 3, 5) and b in (0, 2)")) == 6


def test_many_branches_are_bounded_and_right() -> None:
    columns = [Column("a", "int"), Column("b", "int")]
    rows = [(str(a), str(b)) for a in (-100, -1, 0, 1, 2, 99, 500, 1001, 20_000) for b in range(2)]
    even = [f"a = {number}" for number in range(0, 20_000, 2)]
    assert check(columns, rows, parse_filter(" or ".join(even))) < len(rows)
    check(columns, rows, parse_filter(f"not ({' or '.join(even[:2000])})"))
    check(
        columns,
        rows,
        parse_filter(" or ".join(f"({condition} and b = {i % 3})" for i, condition in enumerate(even[:2000]))),
    )
    check(columns, rows, parse_filter(" and ".join(f"(a <> {i} or b <> {i % 3})" for i in range(200))))
    pairs = " and ".join(f"(a < {500 - i} or b = {i % 3} or a > {100 + i})" for i in range(30))
    check(columns, rows, parse_filter(pairs))


def test_joined_neighbours_visit_no_other_branch_twice_as_far() -> None:
    """A hundred days apart from each other take 64 scans, each of at most two neighbouring days and what is between."""
    columns = [Column("ds", "int"), Column("hr", "int")]
    rows = [(str(day), str(hour)) for day in range(300) for hour in range(2)]
    days = " or ".join(f"ds = {day}" for day in range(0, 300, 3))
    visited = check(columns, rows, parse_filter(days))
    assert visited <= 2 * (100 + 2 * 36)
