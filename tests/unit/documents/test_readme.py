"""The examples of README are run: its Python example, and the names of its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rewriter.cli.main import main

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def test_the_python_example_answers_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    wanted = re.findall(r"print\(.*?\)\s+# (.*)", block)
    assert printed[0] == wanted[0]
    assert printed[1] == wanted[1]
    assert printed[2].startswith("SELECT carrier, COALESCE(SUM(flights), 0) AS n FROM (SELECT")


def test_every_command_that_readme_names_exists(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(re.findall(r"^rewriter (\w+)|&& rewriter (\w+)|`rewriter (\w+)", README, re.MULTILINE))
    commands = {name for match in named for name in match if name}
    assert {"demo", "sql", "rewrite", "golden"} <= commands
    for command in commands:
        assert main([command, "--help"]) == 0
        assert capsys.readouterr().out
