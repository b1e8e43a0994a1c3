"""Texts in values of at most 3,999 characters."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.timeline.kinds.property_text import LONGEST, from_chunks, separated, to_chunks


@given(st.lists(st.integers(1, LONGEST), max_size=12))
def test_a_text_comes_back_from_chunks_that_are_full_but_not_too_long(lengths: list[int]) -> None:
    pieces = [chr(97 + number) * length for number, length in enumerate(lengths)]
    stored = to_chunks("key", pieces)
    chunks = [stored[f"key{number}"] for number in range(int(stored["key.size"]))]
    assert len(stored) == len(chunks) + 1
    assert all(0 < len(chunk) <= LONGEST for chunk in chunks)
    for chunk, following in pairwise(chunks):
        assert len(chunk) + following.count(following[0]) > LONGEST
    assert from_chunks(stored, "key") == "".join(pieces)


@pytest.mark.parametrize(("lengths", "chunks"), [([3998, 1], 1), ([3999], 1), ([3999, 1], 2), ([2000, 2000], 2)])
def test_a_chunk_holds_3999_characters(lengths: list[int], chunks: int) -> None:
    assert to_chunks("key", ["x" * length for length in lengths])["key.size"] == str(chunks)


def test_a_list_is_cut_after_its_commas() -> None:
    assert separated(["1", "22", "3"]) == ["1,", "22,", "3"]
    assert separated([]) == []


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ({}, None),
        ({"key": "1,2"}, "1,2"),
        ({"key.size": "0", "key0": "left behind"}, ""),
        ({"key.size": "1", "key0": "1,2", "key1": "left behind", "key": "3"}, "1,2"),
        ({"key.size": "2", "key0": "1,"}, None),
        ({"key.size": "", "key0": "1"}, None),
        ({"key.size": "-1", "key0": "1"}, None),
        ({"key.size": "1.0", "key0": "1"}, None),
        ({"key.size": "٣", "key0": "1"}, None),
    ],
)
def test_what_is_not_whole_is_not_read(properties: dict[str, str], text: str | None) -> None:
    assert from_chunks(properties, "key") == text
