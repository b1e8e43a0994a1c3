"""Lark's private tables: read in the pinned range, refused by name in any other form, and stored for the dialect."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import lark
import pytest

from rewriter.errors import InternalError
from rewriter.grammar import stored_grammar
from rewriter.grammar.compile_grammar import tables_of
from rewriter.grammar.dialect_rules import dialect_rules
from rewriter.grammar.lalr_tables import END, Parse, Shape, Tables
from rewriter.grammar.lexer import Token, TokenKind
from rewriter.grammar.statement_parts import Terminal


def grammar(rules: str = "start: A b\nb: B\nA: /a/\nB: /b/") -> lark.Lark:
    return lark.Lark(rules, parser="lalr", maybe_placeholders=True)


def test_the_tables_of_the_installed_lark_are_read() -> None:
    tables = Tables.of(tables_of(grammar()), {})
    assert set(tables.starts) == set(tables.ends) == {"start"}
    assert {name for row in tables.actions for name in row} == {"A", "B", END}


@pytest.mark.parametrize("parser", [SimpleNamespace(), SimpleNamespace(parse_table=SimpleNamespace())])
def test_another_form_is_named(parser: SimpleNamespace) -> None:
    fake = cast(Any, SimpleNamespace(parser=SimpleNamespace(parser=SimpleNamespace(parser=parser))))
    with pytest.raises(InternalError, match=lark.__version__) as caught:
        tables_of(fake)
    assert caught.value.condition == "LARK_VERSION"


def test_another_place_of_the_shifts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    read = grammar()
    monkeypatch.delattr("lark.parsers.lalr_analysis.Shift")
    with pytest.raises(InternalError, match=lark.__version__) as caught:
        tables_of(read)
    assert caught.value.condition == "LARK_VERSION"


RULES = r"""
start: "a" list_of_b [C d [c_or_d]] _pair* -> whole
list_of_b: B ("," B)*
?d: D | "(" d ")"
?c_or_d: C | D C -> both
_pair: "p" B [C]
B: "b"
C: "c"
D: "d"
"""


@pytest.mark.parametrize(
    "text", ["ab", "ab,b,b", "abcd", "abc(d)", "abc((d))c", "abcddc", "abpb", "ab,bcdcpbcpb", "abcddcpbpbpbc"]
)
def test_builders_get_what_they_would_get_of_lark(text: str) -> None:
    compiled = grammar(RULES)
    spellings = {terminal.pattern.value: terminal.name for terminal in compiled.terminals}

    def builder(rule: str) -> Any:
        return lambda *parts: (rule, *parts)

    names = ("whole", "list_of_b", "d", "c_or_d", "both")
    parse = Parse(Tables.of(tables_of(compiled), {name: builder(name) for name in names}), "start")
    for at, letter in enumerate(text):
        assert parse.feed(Terminal(spellings[letter], Token(TokenKind.WORD, letter, at, at + 1)))
    assert parse.feed(Terminal(END, Token(TokenKind.WORD, "", len(text), len(text))))

    def plain(value: Any) -> Any:
        if isinstance(value, lark.Tree):
            return (value.data, *map(plain, value.children))
        if isinstance(value, Terminal):
            return value.token.text
        return tuple(map(plain, value)) if isinstance(value, tuple) else None if value is None else str(value)

    assert plain(parse.result) == plain(compiled.parse(text))


def test_a_list_grows_in_place() -> None:
    """The value of a rule that repeats itself is used once. To copy it for each part would take quadratic time."""
    appended = Shape(2, "items", "", passes=False, arguments=((0, True, 0), (1, False, 0)), trailing_nones=0)
    items = ["a"]
    build = appended.reduction({}).build
    assert build is not None
    assert build([items, "b"]) is items
    assert items == ["a", "b"]


def test_the_stored_grammar_is_that_of_the_rules(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        Path(str(stored_grammar.STORED)).write_text(stored_grammar.grammar_text(), encoding="utf-8")
    stored = stored_grammar.STORED.read_text(encoding="utf-8")
    assert stored == stored_grammar.grammar_text(), "run: pytest tests/unit/grammar/test_lalr_tables.py --rewrite"
    assert stored_grammar.stored_grammar(dialect_rules()) == json.loads(stored)


@pytest.mark.parametrize("content", ["", "{", '{"fingerprint": "another"}'])
def test_a_grammar_without_its_file_is_compiled(content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = tmp_path / "tables.json"
    monkeypatch.setattr(stored_grammar, "STORED", stored)
    rules = "start: A\nfilter: B\nA: /a/\nB: /b/"
    if content:
        stored.write_text(content, encoding="utf-8")
    assert stored_grammar.stored_grammar(rules)["types"] == {"a": "A", "b": "B"}
