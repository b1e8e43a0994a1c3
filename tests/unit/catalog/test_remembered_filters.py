"""Texts of filters that were asked lately: what they mean stays theirs, for these columns alone."""

from __future__ import annotations

import pytest

from rewriter.catalog.filters.predicates import LONGEST, REMEMBERED, bind_filter, bind_text
from rewriter.catalog.model.objects import Column
from rewriter.errors import AnalysisError, ParseError
from rewriter.grammar.parser import parse_filter

TEXT, NUMBER = (Column("p", "string"),), (Column("p", "int"),)


def test_a_text_means_what_it_means_for_its_columns() -> None:
    for _ in range(2):
        for columns in (TEXT, NUMBER):
            assert bind_text("p > '10'", columns) == bind_filter(parse_filter("p > '10'"), columns)
    assert bind_text("p > '10'", TEXT) != bind_text("p > '10'", NUMBER)
    assert bind_text("p > '10'", TEXT) is bind_text("p > '10'", list(TEXT))


def test_an_error_comes_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ParseError):
            bind_text("p >", TEXT)
        with pytest.raises(AnalysisError):
            bind_text("q > 1", TEXT)


def test_long_texts_and_old_ones_are_not_kept() -> None:
    long = " OR ".join(f"p = '{number:06}'" for number in range(LONGEST // 10))
    assert bind_text(long, TEXT) is not bind_text(long, TEXT)
    assert bind_text(long, TEXT) == bind_text(long, TEXT)
    first = bind_text("p = 'first'", TEXT)
    for number in range(REMEMBERED):
        bind_text(f"p = '{number}'", TEXT)
    assert bind_text("p = 'first'", TEXT) is not first
