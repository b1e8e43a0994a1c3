"""Colors of text that is being typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.document import Document

from rewriter.shell.highlighting import SqlLexer

FRAGMENTS = [
    *"SELECT FROM CREATE FACT r' ' \" ` \\ \\d -- /* */ 1e5 :x :'y' ${ } ; ( ) . é 🎈 date count(".split(),
    " ",
    "\n",
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=25).map("".join)


def colored(lexer: SqlLexer, text: str) -> list[list[tuple[str, str]]]:
    document = Document(text)
    line = lexer.lex_document(document)
    return [
        [(style.replace("class:pygments", "").strip("."), part) for style, part, *_ in line(number)]
        for number in range(len(document.lines))
    ]


@pytest.mark.parametrize(
    ("text", "part", "style"),
    [
        ("select 1", "select", "keyword"),
        ("SELECT a.select FROM t", ".", "punctuation"),
        ("SELECT t.`select`", "`select`", "name.entity"),
        ("SELECT t.order", "order", "name"),
        ("SELECT status FROM t", "status", "name"),
        ("SHOW PARTITIONS t STATUS", "STATUS", "keyword"),
        ("CREATE FACT f OF CUBE c", "FACT", "keyword"),
        ("SELECT fact FROM t", "fact", "name"),
        ("INSERT INTO t SELECT 1", "SELECT", "keyword"),
        ("SELECT sum(x)", "sum", "name.function"),
        ("SELECT CAST(x AS BIGINT)", "BIGINT", "keyword.type"),
        ("SELECT 'a'", "'a'", "literal.string"),
        ("SELECT 1.5e3", "1.5e3", "literal.number"),
        ("SELECT 1 -- x", "-- x", "comment"),
        ("SELECT /* x */ 1", "/* x */", "comment"),
        ("SELECT :x", ":x", "name.variable"),
        ("SELECT :'x'", "'x'", "name.variable"),
        ("SELECT :'x'", ":", "name.variable"),
        ("SELECT ${hivevar:x}, 1", "hivevar", "name.variable"),
        ("SELECT ${hivevar:x}, 1", "1", "literal.number"),
        ("\\d orders", "\\", "name.builtin"),
        ("\\d orders", "d", "name.builtin"),
        ("\\d select", "select", ""),
        ("SELECT 1; \\d orders", "\\", "name.builtin"),
        ("\\d x\nSELECT 1", "SELECT", "keyword"),
        ("SELECT 'open", "'open", "error class:unclosed"),
        ("SELECT `open", "`open", "error class:unclosed"),
        ("SELECT 1 /* open", "/* open", "error class:unclosed"),
        ("SELECT ¿", "¿", "error"),
    ],
)
def test_styles(text: str, part: str, style: str) -> None:
    found = [fragment for line in colored(SqlLexer(), text) for fragment in line]
    assert (style, part) in found


def test_a_string_of_several_lines() -> None:
    lines = colored(SqlLexer(), "SELECT 'a\n\nb', 2")
    assert lines[0][-1] == ("literal.string", "'a")
    assert lines[1] == []
    assert lines[2][0] == ("literal.string", "b'")


@given(st.lists(TEXTS, min_size=1, max_size=6), st.floats(0, 1))
def test_colors_add_nothing_and_are_those_of_a_new_lexer(parts: list[str], place: float) -> None:
    lexer, text = SqlLexer(), ""
    for part in parts:
        at = round(place * len(text))
        text = text[:at] + part + text[at:]
        lines = colored(lexer, text)
        assert ["".join(piece for _, piece in line) for line in lines] == text.split("\n")
        assert lines == colored(SqlLexer(), text)


def test_a_key_in_a_long_text_reads_only_visible_lines() -> None:
    text = "\n".join(f"SELECT a{i}, 'x{i}' FROM t{i} WHERE dt = '2024-01-01' AND c > {i};" for i in range(2000))
    lexer = SqlLexer()
    colored(lexer, text)
    calls = _lines_run(lexer, text[:-1] + " x;")
    assert calls < 6_000, calls


def _lines_run(lexer: SqlLexer, text: str) -> int:
    """Returns the number of lines of our code that run while the last 20 lines are colored after a change."""
    document = Document(text)
    count = 0
    package = str(Path(sys.modules["rewriter"].__file__ or "").parent)

    def trace(frame: object, event: str, _argument: object) -> object:
        nonlocal count
        if not frame.f_code.co_filename.startswith(package):  # type: ignore[attr-defined]
            return None
        count += event == "line"
        return trace

    line = lexer.lex_document(document)
    numbers = range(len(document.lines) - 20, len(document.lines))
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        for number in numbers:
            line(number)
    finally:
        sys.settrace(None)
    return count
