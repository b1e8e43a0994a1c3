"""docs/how-to/clusters.md is run: its examples are one golden file."""

from __future__ import annotations

from pathlib import Path

import pytest
from documents import check_examples, dead_links

DOCUMENT = Path(__file__).parents[3] / "docs" / "how-to" / "clusters.md"


def test_every_example_answers_what_the_document_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    check_examples(DOCUMENT, tmp_path, rewrite=request.config.getoption("--rewrite"))


def test_links_lead_somewhere() -> None:
    assert dead_links(DOCUMENT) == []
