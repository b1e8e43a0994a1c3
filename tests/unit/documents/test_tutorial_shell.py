"""The text blocks of docs/tutorial/first-cube.md: what the shell shows on a terminal, after the steps of the page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from page_runner import DOCS, ROOT, Block, blocks, run_page
from terminals import Terminal
from warm_commands import command

PAGE = DOCS / "tutorial" / "first-cube.md"
_PROMPT = re.compile(r"(?:default>|       >) ?(.*)")


def _typed(block: Block) -> list[str]:
    """Returns the lines that a reader types at the prompts of a block."""
    return [match[1] for line in block.text.splitlines() if (match := _PROMPT.fullmatch(line))]


def _without_times(text: str) -> str:
    return re.sub(r"\d+\.\d+ s", "… s", text)


@pytest.mark.share(1)
def test_the_shell_shows_what_the_page_shows(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    directory, commands = tmp_path / "tutorial", tmp_path / "commands"
    directory.mkdir()
    commands.mkdir()
    with command(commands):
        run_page(PAGE, directory, commands)
    (block,) = [block for block in blocks(PAGE) if block.language == "text"]
    start = ["bash", "-c", f"cd {directory} && exec {sys.executable} -m rewriter"]
    with Terminal(start, tmp_path, lines=60, PYTHONPATH=str(ROOT)) as terminal:
        terminal.until(lambda _: terminal.is_ready())
        for line in _typed(block):
            if line.startswith("\\") or line.endswith(";"):
                shown = terminal.enter(line)
            else:
                terminal.type(f"{line}\r")
                terminal.until(line)
    shown = "\n".join(line.rstrip() for line in shown[shown.index("default>") :].splitlines())
    actual = shown[: shown.rindex("default>")].rstrip()
    if request.config.getoption("--rewrite") and _without_times(actual) != _without_times(block.text):
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(text.replace(f"```text\n{block.text}\n```", f"```text\n{actual}\n```"), encoding="utf-8")
        return
    assert _without_times(actual) == _without_times(block.text)
