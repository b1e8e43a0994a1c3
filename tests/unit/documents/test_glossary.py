"""docs/reference/glossary.md: its terms are those of the other pages, and it has the states that statements show."""

from __future__ import annotations

import re
from pathlib import Path

from rewriter.catalog.store.schema import STATE_NAMES

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "reference" / "glossary.md"
ROWS = re.findall(r"^\| (\*\*.*?) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
TERMS = [re.findall(r"\*\*(.*?)\*\*", terms) for terms, _ in ROWS]


def test_terms_are_sorted_and_have_one_meaning() -> None:
    first = [terms[0].lower() for terms in TERMS]
    assert len(first) > 50
    assert first == sorted(set(first))


def test_every_term_is_used_by_another_page() -> None:
    others = " ".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md") if page != PAGE).lower()
    words = re.sub(r"\s+", " ", others)
    unused = [term for terms in TERMS for term in terms if not re.search(rf"\b{re.escape(term.lower())}\b", words)]
    assert unused == []


def test_the_states_of_periods_are_terms() -> None:
    named = {term for terms in TERMS for term in terms}
    assert sorted({*STATE_NAMES.values(), "missing"} - named) == []
