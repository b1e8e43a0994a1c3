"""docs/reference/dialect.md and its sections: each statement and each section has an example, and each section a link.

``test_pages`` runs the examples, ``test_syntax_blocks`` checks the forms of statements.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from documents import OPEN, headings
from page_runner import blocks

from rewriter.errors import Error
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.statements import RENDERERS
from rewriter.planner import plan_query
from rewriter.planner.model.plan import PruneCause
from rewriter.statements.dispatch import runners

DOCS = Path(__file__).parents[3] / "docs"
ENTRY = DOCS / "reference" / "dialect.md"
SECTIONS = sorted((DOCS / "reference" / "dialect").glob("*.md"))
PAGES = [ENTRY, *SECTIONS]
#: Statements that the documents show elsewhere.
OTHERS = [DOCS / "reference" / "semantics.md"]


def _name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", SECTIONS, ids=_name)
def test_every_section_has_an_example(page: Path) -> None:
    parts = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(parts) > 1, "a page has sections"
    assert [part.splitlines()[0] for part in parts[1:] if OPEN not in part] == []


def test_the_entry_page_links_to_every_section() -> None:
    text = ENTRY.read_text(encoding="utf-8")
    assert [page.name for page in SECTIONS if f"(dialect/{page.name}" not in text] == []


def test_every_statement_has_an_example() -> None:
    shown = {type(parse(text)) for page in [*PAGES, *OTHERS] for text in _statements(page)}
    written = {kind for kind in runners() if kind in RENDERERS}
    assert sorted(kind.__name__ for kind in written - shown) == []


def test_every_line_of_explain_cover_is_explained() -> None:
    source = Path(inspect.getfile(plan_query)).read_text(encoding="utf-8")
    labels = set(re.findall(r'yield f?"  +([a-z][a-z ]+)[:{]', source))
    assert len(labels) > 10
    page = (DOCS / "reference" / "dialect" / "85-explain.md").read_text(encoding="utf-8")
    assert sorted(label for label in labels if f"`{label.strip()}" not in page) == []


def test_every_code_of_a_pruned_candidate_is_explained() -> None:
    page = (DOCS / "reference" / "dialect" / "85-explain.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([A-Z_]+)` \| .*\.", page, re.MULTILINE) == [cause.name for cause in PruneCause]


def test_titles_of_sections_differ() -> None:
    titles = [title for page in PAGES for title in headings(page.read_text(encoding="utf-8"), "##")]
    assert len(titles) == len(set(titles))


def _statements(page: Path) -> list[str]:
    """Returns the statements of a page's examples that can be parsed."""
    rows = []
    for block in (block.text for block in blocks(page) if block.language == "golden"):
        command, _, rest = block.partition("\n")
        text = rest.partition("\n----")[0]
        words = command.split()
        if words[0] == "explain":
            text = f"EXPLAIN {text}"
        try:
            parts = [text[span.start : span.end] for span in split_statements(text)]
        except Error:
            continue
        for part in parts:
            try:
                parse(part)
            except Error:
                continue
            rows.append(part)
    return rows
