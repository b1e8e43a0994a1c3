"""The programs of docs/python.md run, one after the other, in one directory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documents import dead_links

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert PROGRAMS
    for number, program in enumerate(PROGRAMS):
        exec(compile(program, f"{PAGE} {number}", "exec"), {})


def test_links_lead_somewhere() -> None:
    assert dead_links(PAGE) == []
