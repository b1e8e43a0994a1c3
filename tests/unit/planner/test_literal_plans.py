"""Rows of literals are planned without a tree, to the plan that the passes would make."""

from __future__ import annotations

import pytest

from rewriter.errors import Span
from rewriter.grammar.terms import Query
from rewriter.planner import plan_query as planning
from rewriter.planner.model.plan import Plan, Settings
from rewriter.planner.plan_query import plan_query

from .fakes import reader


@pytest.mark.parametrize("derive", [False, True])
@pytest.mark.parametrize(
    "text", ["VALUES (1)", "VALUES (1, 'a'), (-2, NULL)", 'VALUES ("carrier", true)', "VALUES ('now()', 1.5e3, 2L)"]
)
def test_the_plan_is_that_of_the_passes(text: str, derive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned() -> Plan:
        return plan_query(Query(text, Span(7, 7 + len(text))), reader(), Settings(now=0, derive=derive), {"p": 1})

    short = planned()
    monkeypatch.setattr(planning, "is_literal_rows", lambda *_: False)
    assert planned() == short
    assert short.sql == text
