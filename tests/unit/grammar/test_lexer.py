"""The lexer: tokens, values of strings, ends of statements. The values are those of Spark 4.3."""

import contextlib
import time
from collections.abc import Callable

import pytest

from rewriter.errors import ParseError, Span
from rewriter.grammar.lexer import (
    TokenKind,
    identifier_value,
    readable_statements,
    split_statements,
    string_value,
    tokens,
)


def texts(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<=>b<=c>=d<>e!=f==g", ["a", "<=>", "b", "<=", "c", ">=", "d", "<>", "e", "!=", "f", "==", "g"]),
        ("a||b::int", ["a", "||", "b", "::", "int"]),
        ("x->y=>z", ["x", "->", "y", "=>", "z"]),
        ("array<array<int>>", ["array", "<", "array", "<", "int", ">", ">"]),
        ("struct<a:int>", ["struct", "<", "a", ":", "int", ">"]),
        ("struct<>", ["struct", "<>"]),
        ("1 1.5 1. .5 1e5 1.5E-3 1L 2S 3Y 1BD 1.5D 2F", "1 1.5 1. .5 1e5 1.5E-3 1L 2S 3Y 1BD 1.5D 2F".split()),
        ("1a 2015_t t.1a 5.a", ["1a", "2015_t", "t", ".", "1a", "5", ".", "a"]),
        ("2-1", ["2", "-", "1"]),
        ("a -- x\n b", ["a", "b"]),
        ("a -- x \\\n still\n b", ["a", "b"]),
        ("a -- it's `\r\nb", ["a", "b"]),
        ("a/*b*/c", ["a", "c"]),
        ("a /* b /* c */ d */ e", ["a", "e"]),
        ("a /* /*+ x */ e", ["a", "e"]),
        ("SELECT /*+ BROADCAST(t) */ 1", ["SELECT", "/*+", "BROADCAST", "(", "t", ")", "*/", "1"]),
        ("'--' \"/*\" `;`", ["'--'", '"/*"', "`;`"]),
        ("r'a\\' R\"b\" colr'c'", ["r'a\\'", 'R"b"', "colr", "'c'"]),
        ("'a' 'b'", ["'a'", "'b'"]),
        ("WHERE a = ? AND b > :lim", ["WHERE", "a", "=", "?", "AND", "b", ">", ":lim"]),
        ("v:a.b", ["v", ":", "a", ".", "b"]),
        ("f(x):b `v`:b", ["f", "(", "x", ")", ":", "b", "`v`", ":", "b"]),
        (":a::int", [":a", "::", "int"]),
        ("hdfs://host/a-b--c x", ["hdfs://host/a-b--c", "x"]),
        ("größe 中文", ["größe", "中文"]),
        ("\u00a0a\u3000b", ["a", "b"]),
        ("", []),
        (" -- nothing", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_kinds() -> None:
    lexed = tokens("a `b` 'c' \"d\" r'e' 1.5 <= ? :f")
    assert [token.kind.name for token in lexed] == [
        *("WORD", "IDENTIFIER", "STRING", "STRING", "STRING", "NUMBER", "OPERATOR", "PARAMETER", "PARAMETER")
    ]


def test_spans_are_in_characters_of_the_text() -> None:
    text = "-- é中😀\r\nSELECT '😀'  /* 中 */ FROM\r\n\tt"
    for token in tokens(text):
        assert text[token.start : token.end] == token.text
        assert token.span == Span(token.start, token.end)
    assert [token.start for token in tokens(text)] == [8, 15, 28, 35]


def test_words_compare_without_case_and_only_unquoted() -> None:
    word, quoted, string = tokens("Select `select` 'select'")
    assert word.is_word("FROM", "SELECT")
    assert not quoted.is_word("SELECT")
    assert not string.is_word("SELECT")


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("'it''s'", "it's"),
        ('"a""b"', 'a"b'),
        ("'a\"\"b'", 'a""b'),
        ("\"a''b\"", "a''b"),
        (r"'a\n\t\r\b\Z\x\\\'q'", "a\n\t\r\b\x1ax\\'q"),
        (r"'\%\_'", "\\%\\_"),
        (r"'a''b\'c'", "a'b'c"),
        (r"'\u00e9\u4e2d'", "é中"),
        (r"'\ud83d\ude00'", "😀"),
        (r"'\U0001F600'", "😀"),
        (r"'\101\1\12x\777\400'", "A112x777400"),
        (r"'a\0b\012'", "a\0b\n"),
        (r"r'a\n'", "a\\n"),
        ('R"a\'b"', "a'b"),
        ("''", ""),
        ("'a\nb'", "a\nb"),
        ("'\\\n'", "\n"),
    ],
)
def test_string_value(literal: str, value: str) -> None:
    (token,) = tokens(literal)
    assert token.kind is TokenKind.STRING
    assert string_value(token) == value


@pytest.mark.parametrize("literal", [r"'\ud83d'", r"'\U00110000'", r"'\uDE00\uD83D'"])
def test_escapes_that_are_no_character_are_refused(literal: str) -> None:
    (token,) = tokens("x = " + literal)[2:]
    with pytest.raises(ParseError) as caught:
        string_value(token)
    assert caught.value.position == Span(4, 4 + len(literal))


def test_identifier_value() -> None:
    assert [identifier_value(token) for token in tokens("Ab `a``b` `x y`")] == ["Ab", "a`b", "x y"]


@pytest.mark.parametrize(
    ("text", "start", "message", "hint"),
    [
        ("SELECT 'a", 7, "string is not closed", "Close it with '"),
        ("SELECT 'a''", 7, "string is not closed", "Close it with '"),
        ("SELECT 'a\\'", 7, "string is not closed", "Close it with '"),
        ('é = "a', 4, "string is not closed", 'Close it with "'),
        ("a\r\n`b", 3, "quoted identifier is not closed", "Close it with `"),
        ("r'abc", 1, "string is not closed", "Close it with '"),
        ("a /* b /* c */", 2, "unclosed bracketed comment", "each /* needs its own */"),
        ("x = ‘a’", 4, "near '‘'", "SQL requires '"),
        ("a @ b", 2, "near '@'", "Quote names"),
        ("a \\ b", 2, "near '\\'", "Quote names"),
    ],
)
def test_unreadable_text(text: str, start: int, message: str, hint: str) -> None:
    with pytest.raises(ParseError) as caught:
        tokens(text)
    assert caught.value.position is not None
    assert caught.value.position.start == start
    assert caught.value.sqlstate == "42601"
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1", ["SELECT 1"]),
        (" SELECT 1 ; ", ["SELECT 1"]),
        (";; a ;;\r\n-- c;\n ; b", ["a", "b"]),
        ("a 'x;y' \"p;q\" `z;` /* ; */ b -- ;\n; c", ["a 'x;y' \"p;q\" `z;` /* ; */ b", "c"]),
        ("-- é\nSELECT '中' -- why\n;/* x */SELECT 2 /* y */", ["SELECT '中'", "SELECT 2"]),
        ("", []),
        (" ; -- x", []),
    ],
)
def test_split_statements(text: str, statements: list[str]) -> None:
    assert [text[span.start : span.end] for span in split_statements(text)] == statements
    assert [text[span.start : span.end] for span in readable_statements(text)[0]] == statements


@pytest.mark.parametrize(
    ("text", "statements", "errors"),
    [
        ("a 'x;\nb 'y'; c;\n", ["b 'y'", "c"], [2]),
        ("a 'x;\nb; c 'y'", ["b", "c 'y'"], [2]),
        ("a 'one; -- two'; b ';\n' c; d 'x", ["a 'one; -- two'", "' c; d 'x"], [19]),
        ("a; b; /* c;\nd;\ne", ["a", "b", "d", "e"], [6]),
        ("a /* 'x;\n */; b r'x;  -- y\nc; `d;\n", ["a", "c"], [17, 30]),
        ("a; b ’x’;\nc", ["a", "c"], [5]),
        ("a ''';\nb", ["b"], [2]),
    ],
)
def test_readable_statements(text: str, statements: list[str], errors: list[int]) -> None:
    """Where something is not closed, a statement ends at a ``;`` at the end of a line."""
    spans, found = readable_statements(text)
    assert [text[span.start : span.end] for span in spans] == statements
    assert [error.position.start for error in found if error.position is not None] == errors
    assert all(error.hint for error in found)


@pytest.mark.parametrize(
    "text",
    [
        lambda n: "'" + "a" * n,
        lambda n: "/*" * n,
        lambda n: "1" * n + "a",
        lambda n: "1." * n,
        lambda n: "`" + "``" * n,
        lambda n: "-" * n,
    ],
)
def test_hostile_texts_cost_linear_time(text: Callable[[int], str]) -> None:
    """Ten times the text costs about ten times the CPU time of this thread; a quadratic cost would be a hundred times.

    Only what regular expressions do in C is to be measured, which no count of executed lines sees.
    """
    small, large = (min(lexing_seconds(text(n)) for _ in range(3)) for n in (20_000, 200_000))
    assert large < 40 * small + 0.05


def lexing_seconds(text: str) -> float:
    started = time.thread_time()
    with contextlib.suppress(ParseError):
        tokens(text)
    return time.thread_time() - started


@pytest.mark.parametrize(
    "text",
    [
        "SELECT {}",
        "SELECT DATE_ADD(DATE '2020-01-01', {})",
        "CREATE TABLE t (x VARCHAR({}))",
        "CREATE TABLE t (x DECIMAL(5,{}))",
        "VACUUM TABLE t RETAIN {} HOURS",
        "ALTER TABLE t DROP PARTITION (d = {})",
    ],
)
def test_a_number_of_thousands_of_digits_is_an_error_of_ours(text: str) -> None:
    number = "9" * 5000
    with pytest.raises(ParseError) as caught:
        tokens(text.format(number))
    assert (caught.value.condition, caught.value.sqlstate) == ("DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", "22003")
    assert caught.value.position == Span(text.index("{"), text.index("{") + 5000)
    assert tokens(f"SELECT '{number}'")[-1].kind is TokenKind.STRING
