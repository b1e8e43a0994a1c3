"""Documents whose examples are run: the golden runner reads a page as one golden file.

A fence marked ``golden`` contains one case. All other lines become comments and the closing fence the blank line that
ends a case. So line numbers are those of the document, and ``pytest --rewrite`` can accept the actual output.
"""

from __future__ import annotations

import re
from pathlib import Path

from rewriter.golden.runner import accept, differences, run_file

OPEN, CLOSE = "```golden", "```"


def check_examples(document: Path, scratch: Path, *, rewrite: bool) -> None:
    """Runs the examples of a document in a warehouse of its own, and fails if one has another output.

    With ``rewrite`` the actual output is written into the document.
    """
    cases = scratch / f"{document.stem}.test"
    cases.write_text(_as_golden(document.read_text(encoding="utf-8")), encoding="utf-8")
    run = run_file(cases)
    if rewrite:
        accept(run)
        document.write_text(_as_document(cases.read_text(encoding="utf-8")), encoding="utf-8")
    bad = run.faults(rewrite=rewrite)
    report = "\n\n".join(differences(document, outcome) for outcome in bad)
    assert not bad, f"\n{report}\n\npytest --rewrite accepts the actual output."


def headings(text: str, levels: str = "## ### ####") -> list[str]:
    """Returns the titles of a page's sections."""
    marks = "|".join(re.escape(level) for level in levels.split())
    return re.findall(rf"^(?:{marks}) (.*)", text, flags=re.MULTILINE)


def dead_links(document: Path) -> list[str]:
    """Returns the links of a page without an existing file, or without an existing heading of it."""
    text = document.read_text(encoding="utf-8")
    dead = []
    definitions = re.findall(r"^\[[^\]\n]+\]: (\S+)$", text, flags=re.MULTILINE)
    for target in [*re.findall(r"\]\(([^)\s]+)\)", text), *definitions]:
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = document.parent / name if name else document
        if not file.exists() or (anchor and anchor not in _anchors(file.read_text(encoding="utf-8"))):
            dead.append(target)
    return dead


def _anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.*)", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _as_golden(document: str) -> str:
    lines, inside = [], False
    for line in document.splitlines():
        if inside:
            assert line, "an example holds one case, without blank lines"
            lines.append("" if line == CLOSE else line)
            inside = line != CLOSE
        else:
            lines.append("#" + line)
            inside = line == OPEN
    return "\n".join(lines) + "\n"


def _as_document(golden: str) -> str:
    lines, inside = [], False
    for line in golden.splitlines():
        if inside:
            # Output may begin with #, too.
            lines.append(line or CLOSE)
            inside = line != ""
        else:
            lines.append(line[1:])
            inside = line == "#" + OPEN
    return "\n".join(lines) + "\n"
