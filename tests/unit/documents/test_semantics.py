"""docs/reference/semantics.md: each of its rules has an example, which ``test_pages`` runs."""

from __future__ import annotations

import re
from pathlib import Path

from documents import OPEN

DOCUMENT = Path(__file__).parents[3] / "docs" / "reference" / "semantics.md"


def test_every_rule_has_an_example() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rules = [rule for level in ("## ", "### ") for rule in re.split(f"^{level}", text, flags=re.MULTILINE)[1:]]
    assert len(rules) > 30
    lacking = [rule.splitlines()[0] for rule in rules if OPEN not in rule]
    assert lacking == ["Words"]
