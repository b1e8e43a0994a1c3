"""Results of conditions on partition values, as filters."""

from __future__ import annotations

import random

import pytest

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
    conditions,
    equal,
    filter_of_results,
    replace_computed,
)
from rewriter.catalog.keys.encoding import NULL, encode_value
from rewriter.catalog.model.key_ranges import KeyRange
from rewriter.catalog.model.objects import Column

A, B = Computed("f(a)", "t", (0,)), Computed("g(a, b)", "t", (0, 1))
COLUMN = Column("a", "int")


def field(value: int | None) -> bytes:
    return encode_value("int", None if value is None else str(value))


def only(value: int | None) -> FieldIn:
    return equal(0, COLUMN, None if value is None else str(value))


def test_neighbours_that_are_kept_are_one_range() -> None:
    kept = {(field(value),): value not in (5, 9) for value in (1, 3, 5, 7, 9, 100)}
    condition = filter_of_results(A, kept)
    assert isinstance(condition, FieldIn)
    assert len(condition.ranges) == 3
    assert [condition.holds((field(value),)) for value in (1, 3, 5, 7, 9, 100)] == [
        True,
        True,
        False,
        True,
        False,
        True,
    ]


def test_null_is_a_value_like_others() -> None:
    condition = filter_of_results(A, {(field(None),): True, (field(-1),): True, (field(2),): False})
    assert condition == FieldIn(0, (KeyRange(NULL, field(0)),))
    condition = filter_of_results(A, {(field(None),): False, (field(-1),): True})
    assert condition is not None
    assert not condition.holds((field(None),))


def test_where_all_is_kept_there_is_no_filter() -> None:
    assert filter_of_results(A, {(field(value),): True for value in range(9)}) is None
    assert filter_of_results(A, {}) is None


def test_columns_that_tell_all_need_no_combinations() -> None:
    kept = {(field(a), field(b)): a == 2 for a in range(4) for b in range(4)}
    assert filter_of_results(B, kept) == only(2)
    kept = {(field(a), field(b)): a == b for a in range(4) for b in range(3)}
    condition = filter_of_results(B, kept)
    assert isinstance(condition, AllOf)
    assert any(isinstance(part, FieldsIn) for part in condition.parts)


def test_just_what_is_kept_holds() -> None:
    rng = random.Random(1)
    for _ in range(300):
        values = [None, *rng.sample(range(-50, 50), 6)]
        rows = {(field(rng.choice(values)), field(rng.choice(values))) for _ in range(rng.randrange(1, 20))}
        share = rng.random()
        kept = {row: rng.random() < share for row in rows}
        condition = filter_of_results(B, kept)
        assert kept == {row: condition is None or condition.holds(row) for row in rows}
        single = {(row[0],): rng.random() < share for row in rows}
        condition = filter_of_results(A, single)
        assert single == {row: condition is None or condition.holds(row) for row in single}


@pytest.mark.parametrize(
    ("tree", "without", "with_answer"),
    [
        (A, None, only(1)),
        (AllOf((only(7), A)), only(7), AllOf((only(7), only(1)))),
        (AnyOf((only(7), A)), None, AnyOf((only(7), only(1)))),
        (AllOf((AnyOf((only(7), A)), only(8))), only(8), AllOf((AnyOf((only(7), only(1))), only(8)))),
        (NotOfNulls(A, 2), None, only(1)),
        (only(7), only(7), only(7)),
    ],
)
def test_what_has_no_answer_says_nothing(
    tree: ScanFilter, without: ScanFilter | None, with_answer: ScanFilter | None
) -> None:
    assert replace_computed(tree, {}) == without
    assert replace_computed(tree, {A: only(1)}) == with_answer
    # Until it is settled it may be TRUE of whatever it may be TRUE of then.
    for value in (None, 1, 7, 8):
        row = (field(value), NULL)
        assert without is None or tree.holds(row) == without.holds(row)
        assert tree.holds(row) or with_answer is None or not with_answer.holds(row)


def test_what_nulls_pass_restricts_no_absent_side() -> None:
    tree = AllOf((only(7), NotOfNulls(A, 2)))
    assert replace_computed(tree, {A: only(None)}) == only(7)
    assert replace_computed(tree, {A: only(1)}) == AllOf((only(7), only(1)))
    assert list(conditions(AllOf((B, tree)))) == [(B, False), (A, True)]
