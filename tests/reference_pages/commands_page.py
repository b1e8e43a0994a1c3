"""The generated parts of docs/reference/commands.md: usage, arguments and options of each command, from click."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import click

from rewriter.cli.connection import connection_options, engine_options
from rewriter.cli.main import rewriter
from tests.reference_pages.page_parts import REFERENCE, code, plain, table

PAGE = REFERENCE / "commands.md"
_COLUMNS = ("option", "meaning", "default")
Add = Callable[[Callable[..., object]], Callable[..., object]]
#: Options that most commands have, by the heading of their section.
SHARED = {"Connection options": connection_options, "Engine options": engine_options}


def commands() -> dict[str, click.Command]:
    """Returns all commands by their words: ``rewriter catalog check``. Groups come before their commands."""
    found: dict[str, click.Command] = {}
    _collect("rewriter", rewriter, found)
    return found


def _collect(words: str, command: click.Command, found: dict[str, click.Command]) -> None:
    found[words] = command
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            _collect(f"{words} {name}", command.commands[name], found)


def parts() -> dict[str, str]:
    """Returns the generated parts of the page by their markers."""
    found = {name.lower(): _option_table(_options_of(add)) for name, add in SHARED.items()}
    found["list"] = table(
        ("command", "what it does"),
        [
            (f"[`{words}`](#{words.replace(' ', '-')})", plain(_paragraphs(command)[0]))
            for words, command in commands().items()
            if words != "rewriter"
        ],
    )
    return found | {words: _described(words, command) for words, command in commands().items()}


def options(command: click.Command) -> list[click.Option]:
    """Returns the options of a command, without ``--help``."""
    return [parameter for parameter in command.params if isinstance(parameter, click.Option)]


def arguments(command: click.Command) -> list[str]:
    """Returns the names of the arguments of a command as its usage shows them, without marks."""
    found = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    return [(one.metavar or one.human_readable_name).strip("[]….") for one in found]


def _options_of(add: Add) -> list[click.Option]:
    @click.command()
    @add
    def command(**_: object) -> None:
        """A command with these options alone."""

    return options(command)


def _described(words: str, command: click.Command) -> str:
    context = click.Context(command, info_name=words)
    usage = " ".join([words, *command.collect_usage_pieces(context)])
    lines = [f"**Usage:** {code(usage)}", ""]
    for paragraph in _paragraphs(command):
        lines += [_exit_codes(paragraph) if paragraph.startswith("Exit codes:") else _marked(paragraph), ""]
    own, shared = _own_options(command)
    twin = _twin(words, own)
    if twin:
        lines += [f"Its other options are those of [`{twin}`](#{twin.replace(' ', '-')}).", ""]
    elif own:
        lines.append(_option_table(own))
    if shared:
        links = " and the ".join(f"[{name.lower()}](#{name.lower().replace(' ', '-')})" for name in shared)
        lines += [f"{'It also has' if own else 'It has'} the {links}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _twin(words: str, own: list[click.Option]) -> str | None:
    """Returns the command before this one that has the same options."""
    names = [option.opts for option in own]
    for other, command in commands().items():
        if other == words:
            return None
        if len(own) > 2 and [option.opts for option in _own_options(command)[0]] == names:
            return other
    return None


def _own_options(command: click.Command) -> tuple[list[click.Option], list[str]]:
    """Returns the options that only some commands have, and the names of the sections with the others."""
    own, shared = options(command), []
    for name, add in SHARED.items():
        group = {(tuple(option.opts), option.help) for option in _options_of(add)}
        if group <= {(tuple(option.opts), option.help) for option in own}:
            shared.append(name)
            own = [option for option in own if (tuple(option.opts), option.help) not in group]
    return own, shared


def _paragraphs(command: click.Command) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", (command.help or "").strip())]


#: What is typed: options, variables, URLs, settings, and files.
_TYPED = re.compile(
    r"(?<![\w/])(--?[a-z][\w-]*|\$[A-Z_]+|\$?\{?:?NAME\}|:NAME|\$\{\w+:NAME\}|\w+(?:\+\w+)?://[\w@/?=:-]+|"
    r"\[profiles\.NAME\]|local\[[\d*]\]|rewriter\.\w+(?:=\w+)?|\./\w+|\*\.\w+|pip install '[^']+'|"
    r"rewriter catalog dump|rewriter shell -w DIR|rewriter shell|rewriter -w DIR|hive\.[a-z.]+\w)"
)


def _marked(text: str) -> str:
    """Returns a help text as Markdown, with what is typed as code."""
    pieces = _TYPED.split(text)
    return "".join(plain_piece(piece) if number % 2 == 0 else code(piece) for number, piece in enumerate(pieces))


def plain_piece(text: str) -> str:
    """Returns a piece of a line as Markdown, with the blanks at its ends."""
    return f"{' ' * (text[:1] == ' ')}{plain(text)}{' ' * (text[-1:] == ' ' and text.strip() != '')}"


def _exit_codes(paragraph: str) -> str:
    """Returns the paragraph ``Exit codes: 0 if …; 1 if ….`` as a table."""
    rows = []
    for part in paragraph.removeprefix("Exit codes:").rstrip(".").split("; "):
        match = re.fullmatch(r" ?(\d+),? (.*)", part)
        assert match, f"this is no exit code with its meaning: {part}"
        rows.append((match[1], _marked(match[2].removeprefix("if "))))
    return table(("exit code", "meaning"), rows).rstrip()


def _option_table(found: list[click.Option]) -> str:
    rows = []
    for option in found:
        meaning, default = _meaning_and_default(option)
        rows.append((", ".join(map(code, _spellings(option))), _marked(meaning), _marked(default)))
    return table(_COLUMNS, rows)


def _spellings(option: click.Option) -> Iterator[str]:
    """Yields the names of an option, the last one with its value."""
    value = ""
    if isinstance(option.type, click.Choice):
        value = f" {{{','.join(map(str, option.type.choices))}}}"
    elif not option.is_flag:
        value = f" {option.metavar}"
    names = [*option.opts, *option.secondary_opts]
    yield from names[:-1]
    yield names[-1] + value


def _meaning_and_default(option: click.Option) -> tuple[str, str]:
    meaning, _, default = (option.help or "").partition(" Default: ")
    if not default and option.show_default and option.default is not None:
        default = str(option.default)
    return meaning, default.rstrip(".")
