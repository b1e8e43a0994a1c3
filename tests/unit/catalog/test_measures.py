"""Measures: the function that rolls up each kind."""

from __future__ import annotations

from rewriter.catalog.model.objects import Aggregate


def test_each_kind_of_measure_has_its_rollup_function() -> None:
    assert {kind: kind.rollup_function for kind in Aggregate} == {
        Aggregate.COUNT: "SUM",
        Aggregate.SUM: "SUM",
        Aggregate.MIN: "MIN",
        Aggregate.MAX: "MAX",
    }
