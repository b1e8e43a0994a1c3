"""docs/reference/commands.md: each command with its options as they are, and with an example."""

from __future__ import annotations

import re

import click
import pytest

from tests.reference_pages import commands_page
from tests.reference_pages.page_parts import is_current

COMMANDS = commands_page.commands()


def test_the_generated_parts_are_current(request: pytest.FixtureRequest) -> None:
    rewrite = request.config.getoption("--rewrite")
    stale = [
        marker
        for marker, text in commands_page.parts().items()
        if not is_current(commands_page.PAGE, marker, text, rewrite=rewrite)
    ]
    assert stale == [], "run: pytest tests/unit/documents/test_commands_page.py --rewrite"


def test_each_command_has_a_section_with_an_example() -> None:
    sections = re.split(r"^##+ ", commands_page.PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    by_title = {section.partition("\n")[0]: section for section in sections}
    assert sorted(title for title in by_title if title.startswith("rewriter")) == sorted(COMMANDS)
    commands = [words for words, command in COMMANDS.items() if not isinstance(command, click.Group)]
    assert [words for words in commands if not _is_run(words, by_title[words])] == []


def _is_run(words: str, section: str) -> bool:
    """Tests whether a block of a section runs the command."""
    lines = [line for block in re.findall(r"```console\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]
    return any(line.startswith("$ ") and words in line for line in lines)


@pytest.mark.share(1)
@pytest.mark.parametrize("words", COMMANDS)
def test_each_option_and_argument_is_explained(words: str) -> None:
    command = COMMANDS[words]
    assert [option.opts for option in commands_page.options(command) if not (option.help or "").endswith(".")] == []
    assert [name for name in commands_page.arguments(command) if name not in (command.help or "")] == []
    first, *_ = (command.help or "").split("\n\n")
    assert first.strip().endswith(".")


@pytest.mark.share(1)
@pytest.mark.parametrize("words", COMMANDS)
def test_the_first_sentence_fits_into_the_list_of_commands(words: str) -> None:
    assert not COMMANDS[words].get_short_help_str(66).endswith("...") or words == "rewriter"
