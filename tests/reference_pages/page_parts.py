"""The generated part of a page, between two comments, and Markdown of texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference"


def generated(page: Path, marker: str) -> str:
    """Returns what is between the comments ``<!-- marker -->`` and ``<!-- end of marker -->`` of a page."""
    return _parts(page, marker)[1]


def is_current(page: Path, marker: str, text: str, *, rewrite: bool) -> bool:
    """Tests whether the generated part of a page is ``text``; with ``rewrite``, writes it first."""
    before, found, after = _parts(page, marker)
    if rewrite and found != text:
        page.write_text(f"{before}{text}{after}", encoding="utf-8")
    return rewrite or found == text


def _parts(page: Path, marker: str) -> tuple[str, str, str]:
    text = page.read_text(encoding="utf-8")
    begin, end = f"<!-- {marker} -->\n", f"<!-- end of {marker} -->\n"
    assert text.count(begin) == text.count(end) == 1, f"{page} lacks {begin.strip()} or {end.strip()}"
    before, _, rest = text.partition(begin)
    found, _, after = rest.partition(end)
    return before + begin, found, end + after


def code(text: str) -> str:
    """Returns a text as code, in one line."""
    text = " ".join(text.split())
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def plain(text: str) -> str:
    """Returns a text in which no character is a mark of Markdown, in one line."""
    return re.sub(r"([\\`*_<\[|])", r"\\\1", " ".join(text.split()))


def anchor(heading: str) -> str:
    """Returns the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Returns a table of cells that are Markdown."""
    lines = [columns, ("---",) * len(columns), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)
