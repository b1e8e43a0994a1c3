"""Texts as statements and commands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.errors import ParseError
from rewriter.grammar.lexer import split_statements
from rewriter.shell.script import is_complete, pieces


def split(text: str) -> list[str]:
    return [f"{piece.kind.value[0]}{'G' * piece.is_vertical} {piece.of(text)}" for piece in pieces(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (";;\n ; -- nothing", []),
        ("SELECT 1", ["u SELECT 1"]),
        ("SELECT 1;SELECT 2", ["s SELECT 1", "u SELECT 2"]),
        ("SELECT ';', `;`, \";\" -- ;\n; x", ["s SELECT ';', `;`, \";\"", "u x"]),
        ("SELECT 1 \\G\nSELECT 2\\g", ["sG SELECT 1", "s SELECT 2"]),
        ("\\d t\n\\dt", ["c \\d t", "c \\dt"]),
        ("\\set x 1; y\nSELECT :x;", ["c \\set x 1; y", "s SELECT :x"]),
        ("-- a comment\n  \\d\r\nSELECT 1;", ["c \\d", "s SELECT 1"]),
        (".tables\n.5", ["c .tables", "u .5"]),
        ("SELECT t\n.tables;", ["s SELECT t\n.tables"]),
        ("SELECT 1; \\d\n", ["s SELECT 1", "c \\d"]),
        ("SELECT '\\\\d', '\\\n';", ["s SELECT '\\\\d', '\\\n'"]),
        ("SELECT 1 /* \\d ; */;", ["s SELECT 1"]),
        ("/* ; \\d */ \\q", ["c \\q"]),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["SELECT 'a", "SELECT 1 \\x", "SELECT ‘a’;", "/* a", "SELECT `a"])
def test_unreadable(text: str) -> None:
    with pytest.raises(ParseError):
        list(pieces(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True), (" \n", True), ("SELECT 1", False), ("SELECT 1;", True), ("SELECT 1; SELECT 2", False),
        ("SELECT 1; -- more", True), ("SELECT '", False), ("SELECT ';", False), ("SELECT `", False), ("/* ;", False),
        ("\\d", True), ("\\set x '", True), ("SELECT 1 \\G", True), ("SELECT “;", True), (".tables", True),
        ("exit", True), ("Quit ;", True), ("help", True), ("exit 1", False), ("SELECT exit", False),
    ],
)  # fmt: skip
def test_enter_runs_what_is_complete(text: str, expected: bool) -> None:
    assert is_complete(text) == expected


@given(
    st.lists(st.sampled_from(["SELECT", "1", ";", "'a;b'", "`;`", "--;\n", "/*;*/", " ", "\n", ".5", ","])).map(
        " ".join
    )
)
def test_without_commands_the_pieces_are_the_statements(text: str) -> None:
    assert [piece.span for piece in pieces(text)] == list(split_statements(text))
