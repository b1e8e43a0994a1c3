"""CHANGELOG.md: the form of Keep a Changelog, and links that lead to pages that exist."""

from __future__ import annotations

import re
from pathlib import Path

from documents import dead_links

PAGE = Path(__file__).parents[3] / "CHANGELOG.md"
TEXT = PAGE.read_text(encoding="utf-8")
KINDS = ("Upgrading", "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
DEFINED = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", TEXT, flags=re.MULTILINE))


def test_versions_are_in_order() -> None:
    versions = re.findall(r"^## \[(.+?)\](.*)$", TEXT, flags=re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    for _, rest in versions[1:]:
        assert re.fullmatch(r" - (\d{4}-\d\d-\d\d|not released)", rest)
    numbers = [tuple(map(int, name.split("."))) for name, _ in versions[1:]]
    assert numbers == sorted(numbers, reverse=True)


def test_sections_are_those_of_the_form_in_their_order() -> None:
    for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", part, flags=re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_links_lead_to_pages() -> None:
    assert dead_links(PAGE) == []
    assert [target for target in DEFINED.values() if not (PAGE.parent / target).exists()] == []
    prose = re.sub(r"^## .*$|`[^`]+`", "", TEXT, flags=re.MULTILINE)
    labels = set(re.findall(r"(?<!\w)\[([A-Za-z][\w ]*)\](?!:|\()", prose))
    labels |= set(re.findall(r"\]\[([^\]]+)\]", prose))
    assert labels - {"the page on DuckDB"} == set(DEFINED)
