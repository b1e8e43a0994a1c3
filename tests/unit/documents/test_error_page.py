"""docs/reference/errors.md has a section for each condition, with when it is raised and what to do."""

from __future__ import annotations

import re

import pytest

from rewriter import errors
from tests.reference_pages import errors_page
from tests.reference_pages.error_forms import forms
from tests.reference_pages.expression_texts import is_computed
from tests.reference_pages.page_parts import is_current
from tests.reference_pages.source_conditions import sqlstates


def test_each_condition_has_a_note_and_no_other() -> None:
    assert sorted(sqlstates().keys() - errors_page.notes().keys()) == [], "say in docs/reference/errors.toml when"
    assert sorted(errors_page.notes().keys() - sqlstates().keys()) == [], "nothing raises them"
    assert list(errors_page.notes()) == sorted(errors_page.notes())
    assert [name for name, note in errors_page.notes().items() if not note.when] == []


def test_each_condition_says_what_to_do_and_has_a_class() -> None:
    hinted = {form.main for form in forms() if not is_computed(form.hint)}
    lacking = [name for name, note in errors_page.notes().items() if not note.action and name not in hinted]
    assert lacking == [], "write do in docs/reference/errors.toml"
    named = {form.main for form in forms()} | {name for name, note in errors_page.notes().items() if note.kind}
    assert sorted(sqlstates().keys() - named) == [], "write class in docs/reference/errors.toml"


def test_the_page_is_the_list(request: pytest.FixtureRequest) -> None:
    rewrite = request.config.getoption("--rewrite")
    is_same = is_current(errors_page.PAGE, errors_page.MARKER, errors_page.conditions(), rewrite=rewrite)
    assert is_same, "run: pytest tests/unit/documents/test_error_page.py --rewrite"


def test_the_tree_has_all_classes() -> None:
    """The block of the classes in errors.md."""
    (block,) = re.findall(r"```text\n(.*?)```", errors_page.PAGE.read_text(encoding="utf-8"), re.DOTALL)
    shown = {}
    parents: list[str] = []
    for line in block.splitlines():
        match = re.fullmatch(r"([│├└─ ]*)(\w+)(?: {2,}\S.*)?", line)
        assert match, line
        depth = len(match[1]) // 4
        parents[depth:] = [match[2]]
        shown[match[2]] = parents[depth - 1] if depth else "Exception"
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Error)]
    assert shown == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds}


def test_all_classes_of_sqlstates_are_explained() -> None:
    assert errors_page.unexplained_classes() == []


def test_the_list_reads_the_source() -> None:
    by_condition = {form.condition: form for form in forms()}
    assert by_condition["TABLE_OR_VIEW_ALREADY_EXISTS"].sqlstate == "42P07"
    assert "‹…›" in by_condition["TABLE_OR_VIEW_ALREADY_EXISTS"].message
    # Its texts come from the callers of the function that makes it.
    assert any("COUNT measure" in form.message for form in forms() if form.condition == "INVALID_CUBE")
    # A query raises it, in SQL.
    assert by_condition["INVALID_INDEX_OF_ZERO"].message == "The first index is 1."
    assert len(by_condition) > 330
