"""docs/reference/semantics.md is run: its examples are one golden file, each of its rules has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import OPEN, check_examples, dead_links

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "semantics.md"


def test_every_example_answers_what_the_document_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check_examples(DOCUMENT, tmp_path, rewrite=request.config.getoption("--rewrite"))


def test_every_rule_has_an_example() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rules = [rule for level in ("## ", "### ") for rule in re.split(f"^{level}", text, flags=re.MULTILINE)[1:]]
    assert len(rules) > 30
    lacking = [rule.splitlines()[0] for rule in rules if OPEN not in rule]
    assert lacking == ["Words"]


def test_links_lead_somewhere() -> None:
    assert dead_links(DOCUMENT) == []
