"""docs/reference/errors.md lists all errors, and each says what is wrong in a sentence."""

from pathlib import Path

import pytest

from tests.error_list import forms, page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "errors.md"


def test_the_page_is_the_list(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page(), "run: pytest tests/unit/documents/test_error_page.py --rewrite"


def test_the_list_reads_the_source() -> None:
    by_condition = {form.condition: form for form in forms()}
    assert by_condition["TABLE_OR_VIEW_ALREADY_EXISTS"].sqlstate == "42P07"
    assert "‹…›" in by_condition["TABLE_OR_VIEW_ALREADY_EXISTS"].message
    assert len(by_condition) > 150
