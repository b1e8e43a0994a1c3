"""The text of a golden file: its cases, each with the place of its output, and the text with other outputs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from rewriter.display.terminal import FORMATS
from rewriter.errors import Error, ParseError, Span
from rewriter.grammar.families.queries import Select
from rewriter.grammar.lexer import split_statements, tokens
from rewriter.grammar.parser import parse
from rewriter.lazy_dataclass import dataclass
from rewriter.runtime.connection_settings import ENGINES
from rewriter.timeline.time_bounds import parse_instant

_SEPARATOR = "----"

#: A line with its end. Only these two are line ends: other characters of Unicode that break lines belong to the text.
_LINE = re.compile(r"([^\n]*?)(\r?\n|\Z)")


@dataclass(frozen=True)
class Case:
    """One case. ``start`` is the line of its command, and ``output_start`` the first line of its output, from 1.

    ``text`` and ``expected`` have ``\\n`` as line ends. ``output`` is the place of the output in the file's text, with
    its last line end and the doubled separators around it. ``line_end`` is the file's line end at this place.
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


def _lines_of(text: str) -> list[_Line]:
    """Returns the lines of a text. A line end at the end of the text begins no further line."""
    lines = [_Line(match[1], match.start(), match[2]) for match in _LINE.finditer(text) if match.start() < len(text)]
    if lines and lines[0].text.startswith("\ufeff"):
        lines[0] = _Line(lines[0].text[1:], 1, lines[0].end)
    return lines


def read_cases(text: str) -> GoldenFile:
    """Returns the options and cases of a file. Raises ``ParseError`` INVALID_GOLDEN_FILE with the line at fault.

    Text without a separator is not understood here (``plain_sql.read_golden_file``).
    """
    lines = _lines_of(text)
    options: Mapping[str, str] | None = None
    cases: list[Case] = []
    position = 0
    while True:
        while position < len(lines) and _is_comment(lines[position].text):
            position += 1
        if position == len(lines):
            return GoldenFile(text, options or {}, tuple(cases))
        if lines[position].text.split()[0] == _FILE_OPTIONS:
            if cases or options is not None:
                raise invalid(
                    position + 1, f"{_FILE_OPTIONS} is not at the top", "Write one such line, before all cases."
                )
            options = _command_options(position + 1, lines[position].text)
            position += 1
        else:
            case, position = _read_case(lines, position)
            cases.append(case)


def _is_comment(line: str) -> bool:
    """Tests whether a line outside of cases is one that is kept and not read."""
    return not line.strip() or line.startswith("#")


def _command_options(number: int, line: str) -> dict[str, str]:
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
    options = _command_options(first + 1, lines[first].text)
    middle = _index_of(lines, first + 1, _SEPARATOR)
    _check_separated(lines, first, middle)
    assert middle is not None
    place = lines[middle].stop
    begin = middle + 1
    if begin < len(lines) and lines[begin].text == _SEPARATOR:
        begin += 1
        closing = (i for i in range(begin, len(lines) - 1) if lines[i].text == lines[i + 1].text == _SEPARATOR)
        end = next(closing, None)
        if end is None:
            raise invalid(
                middle + 1,
                f"the output between doubled {_SEPARATOR} has no end",
                f"Put two lines {_SEPARATOR} after it, or one instead of two before it.",
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
    beginnings = (j for i, j in pairwise(inside) if not lines[i].text.strip() and _is_command_line(lines[j].text))
    following = next(beginnings, None)
    if middle is None or following is not None:
        before = "" if following is None else f" before the {lines[following].text.split()[0]} in line {following + 1}"
        raise invalid(
            first + 1,
            f"the case has no {_SEPARATOR}{before}",
            f"Put {_SEPARATOR} on a separate line between input and output.",
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
    if any(not line.strip() for line in lines) or _SEPARATOR in lines:
        lines = [_SEPARATOR, *lines, _SEPARATOR, _SEPARATOR]
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
            hint=f"It has a line {_SEPARATOR}, or a carriage return: choose another format.",
        )


# The commands of golden files and their options, as text: what each takes, and which values are valid.

#: Returns what is wrong with a value, or ''.
Check = Callable[[str], str]


def _one_of(*words: str) -> Check:
    return lambda value: "" if value in words else f"it is one of {', '.join(words)}"


def _name(value: str) -> str:
    return "" if value else "it is empty"


def _instant(value: str) -> str:
    try:
        parse_instant(value)
    except Error:
        return "it is a time in UTC, such as 2024-03-01 or 2024-03-01T06:30:00"
    return ""


_ENGINE, _FORMAT = _one_of(*ENGINES), _one_of(*(form for form in FORMATS if form != "envelope"))

#: The line before the first case, about the whole file.
_FILE_OPTIONS = "options"
#: ``new``: an empty warehouse; ``read``: the user's warehouse, unchanged; ``write``: the same, changes remain.
_WAREHOUSES = ("new", "read", "write")

#: The options of each command.
COMMANDS: Mapping[str, Mapping[str, Check]] = {
    "setup": {"engine": _ENGINE, "session": _name},
    "query": {"engine": _ENGINE, "format": _FORMAT, "order": _one_of("query", "sorted"), "session": _name},
    "sql": {"engine": _ENGINE, "format": _FORMAT, "session": _name},
    "error": {"engine": _ENGINE, "session": _name},
    "rewrite": {},
    "cover": {},
    "scan": {},
    "coverage": {},
    "explain": {"what": _one_of("ALL", "REWRITE", "COVER", "SCAN", "ENGINE")},
    "parse": {},
    _FILE_OPTIONS: {"engine": _ENGINE, "now": _instant, "warehouse": _one_of(*_WAREHOUSES)},
}


def _is_command_line(line: str) -> bool:
    """Tests whether a line is a command with its options, valid or not.

    >>> [is_command_line(line) for line in ("sql", "sql engine=spark", "sql is a language", "SELECT 1")]
    [True, True, False, False]
    """
    command, *options = line.split() or [""]
    return command in COMMANDS and all("=" in option for option in options)


def read_options(words: list[str], command: str) -> dict[str, str] | str:
    """Returns the options of a command, or what is wrong with them, as a sentence without its end."""
    options: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        check = COMMANDS[command].get(name)
        if check is None:
            return f"{command} has no option {name}"
        if not equals:
            return f"the option {name} has no value"
        if name in options:
            return f"the option {name} is given twice"
        if problem := check(value):
            return f"{value or 'nothing'} is no value of the option {name}: {problem}"
        options[name] = value
    return options


# Plain SQL as a golden file: each statement is a case without output. Rewriting adds commands and separators only.
#
# Comments before a statement become part of its input, comments after the last one become comments of the file.


def read_golden_file(text: str) -> GoldenFile:
    """Returns the options and cases of a file of either form.

    Raises ``ParseError`` INVALID_GOLDEN_FILE, with the line at fault, and the lexer's errors in plain SQL.
    """
    lines = _lines_of(text)
    head = 0  # The number of lines before the first statement or case.
    options: Mapping[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.text.split()[:1] == [_FILE_OPTIONS] and not options and _is_command_line(line.text):
            options = _command_options(number, line.text)
        elif not _is_comment(line.text):
            break
        head = number
    if head == len(lines) or _is_command_line(lines[head].text) or any(line.text == _SEPARATOR for line in lines):
        return read_cases(text)
    start = lines[head].start
    sql = text[start:]
    try:
        spans = split_statements(sql)
        semicolons = [token.end for token in tokens(sql) if token.is_operator(";")]
    except ParseError:
        # The text is one case, whose error has a position.
        spans, semicolons = (Span(0, len(sql.rstrip())),), []
    file = read_cases(text[:start] + _with_commands(sql, spans, semicolons, lines[head].end or "\n"))
    numbers = [head + 1 + sql.count("\n", 0, span.start) for span in spans]
    cases = (replace(case, start=n, output_start=n) for case, n in zip(file.cases, numbers, strict=True))
    return GoldenFile(file.text, file.options, tuple(cases), of_plain_sql=True)


def _with_commands(sql: str, spans: Sequence[Span], semicolons: Sequence[int], line_end: str) -> str:
    """Returns the statements of a text, each as a case without output. Nothing of the text is lost or changed."""
    parts: list[str] = []
    position = 0
    for span in spans:
        end = _end_of_statement(sql, span.end, semicolons)
        blank = _BLANK_LINES.match(sql, position)
        assert blank is not None
        if position:
            parts += _separated(blank[0], line_end)
        parts += [_command(sql[span.start : span.end]), line_end, sql[blank.end() : end]]
        position = end
    rest = sql[position:]
    if position:
        blank = _BLANK_LINES.match(rest) if rest.strip() else re.match(r"\s*", rest)
        assert blank is not None
        rest = rest[blank.end() :]
        parts += _separated(blank[0], line_end, last=not rest)
    parts += [f"# {line.text}{line.end}" if line.text.strip() else line.text + line.end for line in _lines_of(rest)]
    return "".join(parts)


def _separated(blank: str, line_end: str, *, last: bool = False) -> list[str]:
    """Returns the separator between a statement and the blanks after it, which are a line if it is not the last."""
    end = blank.find("\n") + 1
    ended = [blank[:end]] if end else [blank, line_end]
    lines = blank[end:] if end else ""
    return [*ended, _SEPARATOR, line_end, lines if lines or last else line_end]


def _end_of_statement(sql: str, end: int, semicolons: Sequence[int]) -> int:
    """Returns the place after the semicolon that follows a statement, and after a comment in the same line."""
    end = next((place for place in semicolons if place > end), len(sql.rstrip()))
    comment = _COMMENT_IN_LINE.match(sql, end)
    return end if comment is None else comment.end()


#: Whole blank lines, and the end of the line before them.
_BLANK_LINES = re.compile(r"(?:[^\S\n]*\n)*")
#: A comment that ends with its line: after a backslash it would not.
_COMMENT_IN_LINE = re.compile(r"[ \t]*--[^\r\n]*(?<!\\)(?=\r?\n|\Z)")


def _command(statement: str) -> str:
    try:
        return "query" if isinstance(parse(statement), Select) else "sql"
    except Error:
        return "sql"
