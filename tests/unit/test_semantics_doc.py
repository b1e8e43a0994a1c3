"""docs/semantics.md is run: its examples are one golden file, each of its rules has one.

A fence marked ``golden`` holds one case. For the golden runner all other lines become comments and the closing fence
the blank line that ends a case, so line numbers are those of the document, and ``pytest --rewrite`` can accept what
came out.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.golden import accept, differences, run_file

DOCUMENT = Path(__file__).parents[2] / "docs" / "semantics.md"
_OPEN, _CLOSE = "```golden", "```"


def test_every_example_answers_what_the_document_says(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    cases = tmp_path / "semantics.test"
    cases.write_text(_as_golden(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
    outcomes, after = run_file(cases)
    rewrite = request.config.getoption("--rewrite")
    if rewrite:
        accept(cases, outcomes, after)
        DOCUMENT.write_text(_as_document(cases.read_text(encoding="utf-8")), encoding="utf-8")
    bad = [outcome for outcome in outcomes if (outcome.failed if rewrite else not outcome.passed)]
    report = "\n\n".join(differences(DOCUMENT, outcome) for outcome in bad)
    assert not bad, f"\n{report}\n\npytest {Path(__file__).name} --rewrite accepts what came out."


def test_every_rule_has_an_example() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    rules = [rule for level in ("## ", "### ") for rule in re.split(f"^{level}", text, flags=re.MULTILINE)[1:]]
    assert len(rules) > 30
    lacking = [rule.splitlines()[0] for rule in rules if _OPEN not in rule]
    assert lacking == ["Words"]


def test_links_lead_somewhere() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    files = {target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target}
    anchors = set(re.findall(r"\]\(#([^)]+)\)", text))
    headings = {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in re.findall(r"^#+ (.*)", text, flags=re.MULTILINE)
    }
    assert [target for target in sorted(files) if not (DOCUMENT.parent / target).exists()] == []
    assert sorted(anchors - headings) == []


def _as_golden(document: str) -> str:
    lines, inside = [], False
    for line in document.splitlines():
        if inside:
            assert line, "an example holds one case, without blank lines"
            lines.append("" if line == _CLOSE else line)
            inside = line != _CLOSE
        else:
            lines.append("#" + line)
            inside = line == _OPEN
    return "\n".join(lines) + "\n"


def _as_document(golden: str) -> str:
    lines = golden.splitlines()
    return "\n".join(line[1:] if line.startswith("#") else line or _CLOSE for line in lines) + "\n"
