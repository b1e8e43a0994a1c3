"""Measures: the function that rolls up each kind."""

from __future__ import annotations

from rewriter.catalog.model.objects import Aggregate


def test_each_kind_of_measure_has_its_rollup_function() -> None:
    assert {kind: kind.rollup_function for kind in Aggregate} == {
        Aggregate.COUNT: "SUM",
        Aggregate.SUM: "SUM",
        Aggregate.MIN: "MIN",
        Aggregate.MAX: "MAX",
        Aggregate.BOOL_AND: "BOOL_AND",
        Aggregate.BOOL_OR: "BOOL_OR",
        Aggregate.BIT_AND: "BIT_AND",
        Aggregate.BIT_OR: "BIT_OR",
        Aggregate.BITMAP_OR: "BITMAP_OR_AGG",
        Aggregate.THETA_UNION: "THETA_UNION_AGG",
        Aggregate.LAST: "MAX_BY",
        Aggregate.FIRST: "MIN_BY",
    }
