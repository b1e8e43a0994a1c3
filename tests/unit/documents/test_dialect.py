"""docs/reference/dialect.md and its sections are run: each page is one golden file, each statement has an example."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import CLOSE, OPEN, check_examples, dead_links, headings

from rewriter.errors import Error
from rewriter.grammar.lexer import split_statements
from rewriter.grammar.parser import parse
from rewriter.grammar.statements import RENDERERS
from rewriter.statements.dispatch import runners

DOCS = Path(__file__).parents[3] / "docs"
ENTRY = DOCS / "reference" / "dialect.md"
SECTIONS = sorted((DOCS / "reference" / "dialect").glob("*.md"))
PAGES = [ENTRY, *SECTIONS]
#: Statements that the documents show elsewhere.
OTHERS = [DOCS / "reference" / "semantics.md"]


def _name(page: Path) -> str:
    return page.stem


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_example_answers_what_the_page_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check_examples(page, tmp_path, rewrite=request.config.getoption("--rewrite"))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_what_is_not_run_is_no_example(page: Path) -> None:
    """Syntax is in blocks of ``sql``. A block with an outcome is ``golden``, and is run."""
    assert [text for fence, text in _blocks(page) if fence != OPEN and "\n----" in text] == []


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


def test_titles_of_sections_differ() -> None:
    titles = [title for page in PAGES for title in headings(page.read_text(encoding="utf-8"), "##")]
    assert len(titles) == len(set(titles))


def _blocks(page: Path) -> list[tuple[str, str]]:
    """Returns the blocks of a page: the opening fence, and the text between the fences."""
    examples: list[tuple[str, str]] = []
    fence, lines = None, []
    for line in page.read_text(encoding="utf-8").splitlines():
        if fence is None and line.startswith(CLOSE):
            fence, lines = line, []
        elif line == CLOSE and fence is not None:
            examples.append((fence, "\n".join(lines)))
            fence = None
        else:
            lines.append(line)
    return examples


def _statements(page: Path) -> list[str]:
    """Returns the statements of a page's examples that can be parsed."""
    rows = []
    for block in (text for fence, text in _blocks(page) if fence == OPEN):
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
