"""SECURITY.md: the tests that prove its claims exist, in the files that it names, and its links lead somewhere."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from documents import dead_links

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "SECURITY.md"
NAMED = sorted(set(re.findall(r"`((?:unit|contract|fault)/[\w/]+\.py(?:::\w+)*)`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.share(1)
@pytest.mark.parametrize("named", NAMED)
def test_a_named_test_exists(named: str) -> None:
    path, *names = named.split("::")
    scope = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8")).body
    for name in names:
        found = [node for node in scope if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
        assert found, f"{path} has no {name}"
        scope = found[0].body


def test_the_page_names_tests() -> None:
    assert len(NAMED) > 40
    # Each name of a test in the page is one of these.
    words = re.findall(r"`[^`\n]*(?:test_\w+)[^`\n]*`", PAGE.read_text(encoding="utf-8"))
    assert {word.strip("`") for word in words} == set(NAMED)


def test_links_lead_somewhere() -> None:
    assert dead_links(PAGE) == []
