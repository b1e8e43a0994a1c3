"""The programs of docs/reference/python.md and docs/how-to/sqlalchemy.md run, one after the other, in one directory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import dead_links
from sqlalchemy.dialects import registry

DOCS = Path(__file__).parents[2] / "docs"
PAGES = pytest.mark.parametrize(
    "page", [DOCS / "reference" / "python.md", DOCS / "how-to" / "sqlalchemy.md"], ids=lambda page: page.stem
)

registry.register("rewriter", "rewriter.integrations.sqlalchemy.dialect", "RewriterDialect")


@PAGES
def test_the_programs_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert programs
    for number, program in enumerate(programs):
        exec(compile(program, f"{page} {number}", "exec"), {})


@PAGES
def test_links_lead_somewhere(page: Path) -> None:
    assert dead_links(page) == []
