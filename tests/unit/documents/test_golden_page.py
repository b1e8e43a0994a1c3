"""docs/reference/golden.md: its golden file has its outputs, its table lists the commands, its settings exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.golden.golden_file import COMMANDS
from rewriter.golden.runner import accept, run_file, run_report

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "golden.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_example_is_a_golden_file(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    (block,) = re.findall(r'```text title="flights.golden"\n(.*?)```', TEXT, re.DOTALL)
    path = tmp_path / "page.golden"
    path.write_text(block, encoding="utf-8")
    run = run_file(path)
    rewrite = request.config.getoption("--rewrite")
    if rewrite and accept(run):
        PAGE.write_text(TEXT.replace(block, path.read_text(encoding="utf-8")), encoding="utf-8")
    assert run_report(run, rewrite=rewrite) == ""


def test_the_table_lists_the_commands_and_options() -> None:
    cells = [re.split(r"(?<!\\)\|", line) for line in TEXT.splitlines() if re.match(r"\| `\w+` \|", line)]
    documented = {row[1].strip(" `"): set(re.findall(r"`(\w+)", row[4])) for row in cells}
    assert documented == {name: set(options) for name, options in COMMANDS.items() if name != "options"}
    assert all(f"`{option}=" in TEXT for option in COMMANDS["options"])


def test_the_settings_of_pytest_exist() -> None:
    plugin = (PAGE.parents[2] / "rewriter_pytest" / "__init__.py").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(rewriter_(?:golden|warehouse|catalog)|--rewriter-\w+)\b", TEXT))
    named |= set(re.findall(r"(--rewriter-\w+)", TEXT))
    assert named >= {"rewriter_golden", "rewriter_warehouse", "rewriter_catalog", "--rewriter-warehouse"}
    assert all(f'"{name}"' in plugin for name in named)
