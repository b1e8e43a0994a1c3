"""The pieces of text that is being typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriter.errors import ParseError
from rewriter.grammar.lexer import tokens
from rewriter.grammar.text_pieces import PieceKind, TextPieces, pieces

#: Texts out of what matters to the lexer, and of anything.
FRAGMENTS = [
    *"SELECT FROM r R r' r\" '' \"\" ' \" ` `` \\ \\' -- /* */ /*+ 1e +5 1. .5 http :// :x : ? ${ } ; ( ) a_b".split(),
    *("\n", "\r\n", "é", "🎈", "\x00", "\x1b"),
]
TEXTS = st.lists(st.sampled_from([*FRAGMENTS, " ", "\n"]) | st.text(max_size=4), max_size=30).map("".join)


@given(TEXTS)
def test_pieces_of_a_finished_text_are_its_tokens(text: str) -> None:
    found = list(pieces(text))
    try:
        expected = tokens(text)
    except ParseError:
        assert any(piece.kind in (PieceKind.UNCLOSED, PieceKind.STRAY) for piece in found) or not _is_encodable(text)
        return
    assert tuple(piece.token for piece in found if piece.token is not None) == expected


@given(TEXTS)
def test_pieces_are_the_text_without_blanks(text: str) -> None:
    position = 0
    for piece in pieces(text):
        assert piece.text == text[piece.start : piece.end] != ""
        assert text[position : piece.start].strip() == ""
        position = piece.end
    assert text[position:].strip() == ""


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), TEXTS), min_size=1, max_size=8))
def test_edits_give_the_pieces_of_the_new_text(edits: list[tuple[float, int, str]]) -> None:
    known, text = TextPieces(), ""
    for place, removed, added in edits:
        at = round(place * len(text))
        text = text[:at] + added + text[at + removed :]
        seen = known.until(text, round(place * len(text)))
        assert list(pieces(text))[: len(seen)] == list(seen)
        assert list(known.until(text, len(text) + 1)) == list(pieces(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 'a", ["word", "unclosed"]),
        ("SELECT r'a", ["word", "unclosed"]),
        ("r 'a'", ["word", "string"]),
        ("SELECT `a", ["word", "unclosed"]),
        ("SELECT /* a /* b */", ["word", "unclosed"]),
        ("SELECT ¿1", ["word", "stray", "number"]),
        ("a -- b\nc", ["word", "comment", "word"]),
    ],
)
def test_unfinished_text(text: str, expected: list[str]) -> None:
    assert [piece.kind.value for piece in pieces(text)] == expected


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
