"""docs/reference/shell.md names every command, format, option and setting of the shell; its script runs."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from rewriter.cli.main import main
from rewriter.cli.shell import shell
from rewriter.shell.commands import commands
from rewriter.shell.configuration import Configuration, configuration
from rewriter.terminal.rendering import FORMATS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "shell.md").read_text(encoding="utf-8")


def test_all_commands_are_listed_as_they_are() -> None:
    rows = re.findall(r"^\| `(\\[^`]+)` \| [^|]*\| ([^|]*)\|$", PAGE.replace("\\|", "¦"), re.MULTILINE)
    listed = {usage.replace("¦", "|"): set(re.findall(r"`([^`]+)`", others)) for usage, others in rows}
    assert listed == {f"{command.names[0]} {command.takes}".rstrip(): set(command.names[1:]) for command in commands()}


def test_all_formats_options_and_settings_are_listed() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| .* \| .* \|$", PAGE, re.MULTILINE)) >= set(FORMATS)
    for parameter in shell.params:
        if parameter.name in ("warehouse", "engine", "master", "catalog", "profile", "settings"):
            continue  # docs/reference/python.md has those of connections.
        assert any(f"`{option}" in PAGE for option in parameter.opts), parameter.name
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert set(tomllib.loads(block)["shell"]) == {field.name for field in fields(Configuration)}


def test_the_settings_are_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "rewriter.toml").write_text(block, encoding="utf-8")
    assert configuration({"XDG_CONFIG_HOME": "/nowhere"}, tmp_path).null == "∅"


def test_the_script_with_variables_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```sql-shell\n(.*?)```", PAGE, re.DOTALL)
    options = ["-w", str(tmp_path / "w"), "--engine", "duckdb", "--format", "csv"]
    setup = "CREATE TABLE hours (n INT) PARTITIONED BY (dt STRING); INSERT INTO hours VALUES (5, '2013-01-01');"
    assert main([*options, "-e", setup, "-e", block]) == 0
    assert capsys.readouterr().out.endswith("n\n5\n")
