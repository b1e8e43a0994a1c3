"""Patterns of Java in DuckDB's words, against DuckDB itself."""

from __future__ import annotations

import duckdb as library
import pytest

from rewriter.exec.translate.patterns import java_regex, like_pattern, time_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"^[0-9]{4}-[0-9]{2}$", "2015-01", True),
        (r"^[0-9]{4}-[0-9]{2}$", "2015-01-02", False),
        # Java's $ stands before a last line end, too.
        (r"^[0-9]{4}$", "2015\n", True),
        (r"^[0-9]{4}$", "2015\r\n", True),
        (r"^[0-9]{4}$", "2015\n\n", False),
        (r"a.c", "abc", True),
        (r"a.c", "a\nc", False),
        (r"a.c", "a\rc", False),
        (r"\d+\.\d", "1.5", True),
        (r"\d", "٣", False),
        (r"(ab|cd)+?x", "abcdx", True),
        (r"[^a-c]", "abc", False),
        (r"x$|^y", "yz", True),
        (r"^[^/]+$", "a\n?é", True),
        (r"[^/?]", "/?/", False),
        (r"^[\w.-]+@\w+$", "a.b-c_9@d", True),
        (r"\w", "é", False),
        (r"^\s+$", " \t\n\x0b\f\r", True),
        (r"[\s]", "\x0b", True),
        (r"\S|\W", "\u00a0", True),
        (r"\D", "123", False),
        (r"[&a-]", "-", True),
        (r"[\]\[]", "[", True),
    ],
)
def test_regular_expressions(pattern: str, text: str, matches: bool) -> None:
    regex = java_regex(pattern)
    assert regex is not None
    assert library.execute("SELECT regexp_matches(?, ?)", [text, regex]).fetchone() == (matches,)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bx",
        r"(?i)x",
        "x*+",
        "x++",
        "(?=x)",
        r"(a)\1",
        "[a&&b]",
        "[[a]]",
        "[a^]",
        "[a-c-e]",
        r"[\w-a]",
        "[--a]",
        r"[\D]",
        r"\Qx\E",
        "(",
        "*a",
        "[é]",
    ],
)
def test_what_may_differ_is_left_out(pattern: str) -> None:
    assert java_regex(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "strftime", "regex"),
    [
        ("yyyy-MM-dd HH", "%Y-%m-%d %H", r"[0-9]{4}\-[0-9]{2}\-[0-9]{2}\ [0-9]{2}"),
        ("yyyy'T'HH", "%YT%H", "[0-9]{4}T[0-9]{2}"),
        ("yyyy''''MM", "%Y'%m", "[0-9]{4}'[0-9]{2}"),
        ("yyyy''MM", "%Y'%m", "[0-9]{4}'[0-9]{2}"),
        ("yyyy%", "%Y%%", "[0-9]{4}%"),
    ],
)
def test_time_formats(pattern: str, strftime: str, regex: str) -> None:
    pattern_found = time_pattern(pattern)
    assert pattern_found is not None
    assert (pattern_found.strftime, pattern_found.regex) == (strftime, regex)


@pytest.mark.parametrize(
    "pattern", ["yy", "yyyyy", "MMM", "hh a", "yyyy yyyy", "'x", "", "x", "yyyy[MM]", "YYYY", "qqq"]
)
def test_time_formats_that_are_not_taken(pattern: str) -> None:
    assert time_pattern(pattern) is None


def test_like() -> None:
    assert like_pattern("a%b_\\%\\\\") == "a%b_\\%\\\\"
    assert like_pattern("a\\b") is None
    assert like_pattern("a\\") is None


def test_like_with_another_escape() -> None:
    assert like_pattern("a\\!%!!_", "!") == "a\\\\\\%!_"
    assert like_pattern("%%a", "%") == "\\%a"
    assert like_pattern("!a", "!") is None
    assert like_pattern("a!", "!") is None
