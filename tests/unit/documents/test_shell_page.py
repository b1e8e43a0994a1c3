"""docs/reference/shell.md names every command, format, option and setting of the shell; its prompt is a terminal's."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from page_runner import blocks
from terminals import Terminal

from rewriter.cli.main import main
from rewriter.cli.shell import shell
from rewriter.display.terminal.rendering import FORMATS
from rewriter.shell.commands import commands
from rewriter.shell.configuration import Configuration, configuration

PATH = Path(__file__).parents[3] / "docs" / "reference" / "shell.md"
PAGE = PATH.read_text(encoding="utf-8")


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
    (block,) = re.findall(r"```toml [^\n]*\n(.*?)```", PAGE, re.DOTALL)
    assert set(tomllib.loads(block)["shell"]) == {field.name for field in fields(Configuration)}


def test_the_settings_are_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml [^\n]*\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "rewriter.toml").write_text(block, encoding="utf-8")
    assert configuration({"XDG_CONFIG_HOME": "/nowhere"}, tmp_path).null == "∅"


def test_the_prompt_shows_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcripts, in the warehouse of the page, with the settings of the page for the last one."""
    monkeypatch.chdir(tmp_path)
    files = {block.title: block.text for block in blocks(PATH) if block.title}
    assert main(["-w", "warehouse", "--engine", "duckdb", "-e", files["flights.sql"]]) == 0
    first, large, second = (block.text for block in blocks(PATH) if block.language == "text")
    _compare(first, tmp_path)
    _compare(large, tmp_path)
    (tmp_path / "rewriter.toml").write_text(files["rewriter.toml"], encoding="utf-8")
    _compare(second, tmp_path)


def _compare(transcript: str, directory: Path) -> None:
    command, *lines = transcript.splitlines()
    words = shlex.split(command.removeprefix("$ rewriter "))
    with Terminal([sys.executable, "-m", "rewriter", *words], directory, columns=160, lines=60) as terminal:
        terminal.until(lambda _: terminal.is_ready())
        for text in re.findall(r"^default> (.*(?:\n {7}> .*)*)", transcript, re.MULTILINE):
            *above, last = text.split("\n       > ")
            for line in above:
                terminal.type(f"{line}\r")
            shown = terminal.enter(last)
        shown = shown[: shown.rindex("default>") + len("default>")]
        assert _timeless(shown) == _timeless("\n".join(lines))
        terminal.type("\x04")
        assert terminal.end() == 0


def _timeless(text: str) -> list[str]:
    return [re.sub(r"\d\.\d+ s\b", "… s", line).rstrip() for line in text.splitlines()]
