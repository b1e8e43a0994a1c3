"""Plain SQL as a golden file: each statement is a case without output. Rewriting adds commands and separators only.

Comments before a statement become part of its input, comments after the last one become those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewriter.errors import Error, ParseError, Span
from rewriter.golden.commands import FILE_OPTIONS, is_command_line
from rewriter.golden.golden_file import SEPARATOR, GoldenFile, command_options, is_comment, lines_of, read_cases
from rewriter.grammar.families.queries import Select
from rewriter.grammar.lexer import split_statements, tokens
from rewriter.grammar.parser import parse


def read_golden_file(text: str) -> GoldenFile:
    """Returns the options and cases of a file of either form.

    Raises ``ParseError`` INVALID_GOLDEN_FILE, with the line at fault, and the lexer's errors in plain SQL.
    """
    lines = lines_of(text)
    head = 0  # The number of lines before the first statement or case.
    options: Mapping[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.text.split()[:1] == [FILE_OPTIONS] and not options and is_command_line(line.text):
            options = command_options(number, line.text)
        elif not is_comment(line.text):
            break
        head = number
    if head == len(lines) or is_command_line(lines[head].text) or any(line.text == SEPARATOR for line in lines):
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
    parts += [f"# {line.text}{line.end}" if line.text.strip() else line.text + line.end for line in lines_of(rest)]
    return "".join(parts)


def _separated(blank: str, line_end: str, *, last: bool = False) -> list[str]:
    """Returns the separator between a statement and the blanks after it, which are a line if it is not the last."""
    end = blank.find("\n") + 1
    ended = [blank[:end]] if end else [blank, line_end]
    lines = blank[end:] if end else ""
    return [*ended, SEPARATOR, line_end, lines if lines or last else line_end]


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
