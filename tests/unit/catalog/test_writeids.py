"""Lists of valid write ids: text form, validity, equivalence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.catalog.model.write_ids import ValidTxnList, ValidWriteIdList, equivalent
from rewriter.errors import DataError


@st.composite
def lists(draw: st.DrawFn) -> ValidWriteIdList:
    high = draw(st.integers(0, 12))
    states = draw(st.lists(st.sampled_from(["seen", "open", "aborted"]), min_size=high, max_size=high))
    ids = [frozenset(i + 1 for i, state in enumerate(states) if state == wanted) for wanted in ("open", "aborted")]
    return ValidWriteIdList("db.flights", high, *ids)


def is_valid(ids: ValidWriteIdList, write_id: int) -> bool:
    return write_id <= ids.high_water_mark and write_id not in ids.open | ids.aborted


@given(lists())
def test_text_form_and_back(ids: ValidWriteIdList) -> None:
    assert ValidWriteIdList.parse(str(ids)) == ids


def test_text_form() -> None:
    ids = ValidWriteIdList("t", 13, frozenset({12, 8}), frozenset({7}))
    assert str(ids) == "t:13:8:8,12:7"
    assert str(ValidWriteIdList("t", 3)) == "t:3:4::"
    assert [w for w in range(1, 15) if is_valid(ids, w)] == [1, 2, 3, 4, 5, 6, 9, 10, 11, 13]


@pytest.mark.parametrize("text", ["", "t:1:2:", "t:1:1::", "t:x:2::", "t:3:3:9:", "t:3:2:3,2:", "t:3:4::0", "t:03:4::"])
def test_unreadable_texts(text: str) -> None:
    with pytest.raises(DataError) as caught:
        ValidWriteIdList.parse(text)
    assert caught.value.condition == "INVALID_WRITE_ID_LIST"


@given(lists(), lists())
def test_equivalent_means_the_same_is_valid(a: ValidWriteIdList, b: ValidWriteIdList) -> None:
    same = all(is_valid(a, w) == is_valid(b, w) for w in range(1, 30))
    assert equivalent(a, b) == same
    assert equivalent(b, a) == same


def test_the_seeds_examples() -> None:
    """For [13:7,8,12]: 12 committed in [12:7,8], which is no hit (an error of the seed); 8 committed in [12:7]."""
    query = ValidWriteIdList("t", 13, frozenset({7, 8, 12, 13}))
    assert equivalent(query, ValidWriteIdList("t", 11, frozenset({7, 8})))
    assert not equivalent(query, ValidWriteIdList("t", 12, frozenset({7, 8})))
    assert not equivalent(query, ValidWriteIdList("t", 12, frozenset({7, 12})))
    assert not equivalent(query, ValidWriteIdList("u", 11, frozenset({7, 8})))


def test_transactions() -> None:
    seen = ValidTxnList(5, frozenset({3}))
    assert [t for t in range(1, 8) if seen.may_see(t)] == [1, 2, 4, 5]
