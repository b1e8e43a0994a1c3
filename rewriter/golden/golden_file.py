"""The text of a golden file: its cases, each with the place of its output, and the text with other outputs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rewriter.errors import ParseError, Span
from rewriter.golden.commands import COMMANDS, FILE_OPTIONS, is_command_line, read_options

SEPARATOR = "----"

#: A line with its end. Only these two are line ends: other characters of Unicode that break lines belong to the text.
_LINE = re.compile(r"([^\n]*?)(\r?\n|\Z)")


@dataclass(frozen=True)
class Case:
    """One case. ``start`` is the line of its command, and ``output_start`` that of its first line of output, from 1.

    ``text`` and ``expected`` have ``\\n`` as line ends. ``output`` is the place of the output in the file's text, with
    its last line end and the doubled separators around it. ``line_end`` is that of the file at this place.
    """

    start: int
    command: str
    options: Mapping[str, str]
    text: str
    expected: str
    output: Span
    output_start: int
    line_end: str = "\n"


@dataclass(frozen=True)
class GoldenFile:
    """A file's text, its options, and its cases in order.

    ``of_plain_sql``: the file has no outputs yet. ``text`` is then not the file's, but what it becomes: the same with
    commands and separators.
    """

    text: str
    options: Mapping[str, str] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    of_plain_sql: bool = False


@dataclass
class _Line:
    text: str
    start: int
    end: str

    @property
    def stop(self) -> int:
        return self.start + len(self.text) + len(self.end)


def lines_of(text: str) -> list[_Line]:
    """Returns the lines of a text. A line end at the end of the text begins no further line."""
    lines = [_Line(match[1], match.start(), match[2]) for match in _LINE.finditer(text) if match.start() < len(text)]
    if lines and lines[0].text.startswith("\ufeff"):
        lines[0] = _Line(lines[0].text[1:], 1, lines[0].end)
    return lines


def read_cases(text: str) -> GoldenFile:
    """Returns the options and cases of a file. Raises ``ParseError`` INVALID_GOLDEN_FILE with the line at fault.

    Text without a separator is not understood here (``plain_sql.read_golden_file``).
    """
    lines = lines_of(text)
    options: Mapping[str, str] | None = None
    cases: list[Case] = []
    position = 0
    while True:
        while position < len(lines) and is_comment(lines[position].text):
            position += 1
        if position == len(lines):
            return GoldenFile(text, options or {}, tuple(cases))
        if lines[position].text.split()[0] == FILE_OPTIONS:
            if cases or options is not None:
                raise invalid(
                    position + 1, f"{FILE_OPTIONS} is not at the top", "Write one such line, before all cases."
                )
            options = command_options(position + 1, lines[position].text)
            position += 1
        else:
            case, position = _read_case(lines, position)
            cases.append(case)


def is_comment(line: str) -> bool:
    """Tests whether a line outside of cases is one that is kept and not read."""
    return not line.strip() or line.startswith("#")


def command_options(number: int, line: str) -> dict[str, str]:
    """Returns the options of a command's line. Raises ``ParseError`` INVALID_GOLDEN_FILE."""
    command, *words = line.split()
    if command not in COMMANDS:
        near = difflib.get_close_matches(command, COMMANDS, 1)
        raise invalid(
            number,
            f"unknown command {command}",
            f"{f'Did you mean {near[0]}? ' if near else ''}Commands are {', '.join(COMMANDS)}; put # before a comment.",
        )
    options = read_options(words, command)
    if isinstance(options, str):
        allowed = ", ".join(COMMANDS[command])
        hint = f"The options of {command} are {allowed}." if allowed else f"Write {command} alone."
        raise invalid(number, options, hint)
    return options


def invalid(number: int, problem: str, hint: str) -> ParseError:
    """Returns the error about a line of a golden file."""
    return ParseError(f"Line {number}: {problem}.", condition="INVALID_GOLDEN_FILE", object=str(number), hint=hint)


def _read_case(lines: Sequence[_Line], first: int) -> tuple[Case, int]:
    """Returns the case whose command is in the line ``first``, and the index of the line after it."""
    options = command_options(first + 1, lines[first].text)
    middle = _index_of(lines, first + 1, SEPARATOR)
    _check_separated(lines, first, middle)
    assert middle is not None
    place = lines[middle].stop
    begin = middle + 1
    if begin < len(lines) and lines[begin].text == SEPARATOR:
        begin += 1
        closing = (i for i in range(begin, len(lines) - 1) if lines[i].text == lines[i + 1].text == SEPARATOR)
        end = next(closing, None)
        if end is None:
            raise invalid(
                middle + 1,
                f"the output between doubled {SEPARATOR} has no end",
                f"Put two lines {SEPARATOR} after it, or one instead of two before it.",
            )
        following = end + 2
    else:
        end = following = next((i for i in range(begin, len(lines)) if not lines[i].text.strip()), len(lines))
    case = Case(
        first + 1,
        lines[first].text.split()[0],
        options,
        "\n".join(line.text for line in lines[first + 1 : middle]),
        "\n".join(line.text for line in lines[begin:end]),
        Span(place, lines[following - 1].stop if following > middle + 1 else place),
        begin + 1,
        lines[first].end,
    )
    return case, following


def _index_of(lines: Sequence[_Line], start: int, text: str) -> int | None:
    return next((i for i in range(start, len(lines)) if lines[i].text == text), None)


def _check_separated(lines: Sequence[_Line], first: int, middle: int | None) -> None:
    """Raises if the separator is missing: at the end of the file, or where the next case begins."""
    inside = range(first + 1, len(lines) if middle is None else middle)
    beginnings = (j for i, j in pairwise(inside) if not lines[i].text.strip() and is_command_line(lines[j].text))
    following = next(beginnings, None)
    if middle is None or following is not None:
        before = "" if following is None else f" before the {lines[following].text.split()[0]} in line {following + 1}"
        raise invalid(
            first + 1,
            f"the case has no {SEPARATOR}{before}",
            f"Put {SEPARATOR} on a separate line between input and output.",
        )


def with_outputs(file: GoldenFile, outputs: Mapping[int, str]) -> str:
    """Returns the file's text with other outputs, by the index of the case. All else is as it was.

    Raises ``ParseError`` INVALID_GOLDEN_FILE for an output that could not be read again.
    """
    parts: list[str] = []
    position = 0
    for index, output in sorted(outputs.items()):
        case = file.cases[index]
        parts += [file.text[position : case.output.start], _output_text(case, output, file.text)]
        position = case.output.end
    text = "".join([*parts, file.text[position:]])
    _check_readable(file, outputs, text)
    return text


def _output_text(case: Case, output: str, text: str) -> str:
    """Returns an output as it stands in the file's text, between doubled separators if it needs them."""
    lines = output.split("\n") if output else []
    if any(not line.strip() for line in lines) or SEPARATOR in lines:
        lines = [SEPARATOR, *lines, SEPARATOR, SEPARATOR]
    elif not text.startswith(("\n", "\r\n"), case.output.end) and case.output.end < len(text):
        lines = [*lines, ""]  # The next case followed the doubled separators.
    written = "".join(line + case.line_end for line in lines)
    return written if text.endswith("\n", 0, case.output.start) or not written else case.line_end + written


def _check_readable(file: GoldenFile, outputs: Mapping[int, str], text: str) -> None:
    try:
        again = [(case.text, case.expected) for case in read_cases(text).cases]
    except ParseError:
        again = []
    if again != [(case.text, outputs.get(index, case.expected)) for index, case in enumerate(file.cases)]:
        raise ParseError(
            "The output cannot be written so that it is read again.",
            condition="INVALID_GOLDEN_FILE",
            hint=f"It has a line {SEPARATOR}, or a carriage return: choose another format.",
        )
