"""Tokens that are converted from ours are those that sqlglot's tokenizer returns."""

from __future__ import annotations

import random

from sqlglot.dialects.dialect import Dialect

from rewriter.grammar.lexer import tokens
from rewriter.planner.text.sqlglot_trees import sqlglot_tokens
from tests.rotation import turn

SPARK = Dialect.get_or_raise("spark")
PLAIN = ("7", "0042", "'q'", "'ab c'", '"dq"', "''", "'é💧'", "'--'", "'/* c */'", "'it\"s'", "','")
HOSTILE = (
    "1", "-2", "'it''s'", "'x\\n'", "'a\nb'", "'a\rb'", "1.5", "10L", "DATE '2024-01-01'", "NULL", "/* c */ 3",
    "4 -- c\n",
    "r'x'", "'a' 'b'", "'a''b'", "0x1F", "1e3", "X'1F'", "a", "f(1, 2)", "(SELECT 1)", ":p", "?", "1::INT", "'a'[0]",
    "/*+ h */ 5", "٣", "1_000",
)  # fmt: skip
#: Carriage returns, in whose text nothing is converted, are rare.
SEPARATORS = (",", " ,", ",\n", ", ", "\r\n,", ",\t", ",\r", ", /* c */ ", ",\n\n  ")


def _text(source: random.Random) -> str:
    separators = SEPARATORS if source.random() < 0.2 else [text for text in SEPARATORS if "\r" not in text]
    hostility = source.choice((0.0, 0.01, 0.3))

    def listed(length: int) -> str:
        text = ""
        for number in range(length):
            separator = source.choice(separators) if source.random() < 0.1 else ", "
            text += (separator if number else "") + source.choice(HOSTILE if source.random() < hostility else PLAIN)
        return text

    rows = ", ".join(f"({listed(3)})" for _ in range(source.randint(1, 60)))
    shapes = (
        f"SELECT a,\n b FROM t WHERE x IN ({listed(source.randint(1, 150))}) AND y IN({listed(80)}) -- end",
        f"SELECT * FROM VALUES {rows} AS v(a, b)",
        f"SELECT array({listed(90)}), f(({listed(70)}), 1)\n, 'a\nb' AS x",
        f"SELECT (({listed(70)}",
    )
    return source.choice(shapes)


def _attributes(dialect_tokens: list[object]) -> list[tuple[object, ...]]:
    names = ("token_type", "text", "line", "col", "start", "end", "comments")
    return [tuple(getattr(token, name) for name in names) for token in dialect_tokens]


def test_converted_tokens_are_those_of_sqlglot() -> None:
    source = random.Random(turn())
    compared = 0
    for _ in range(400):
        text = _text(source)
        try:
            lexed = tokens(text)
            expected = SPARK.tokenize(text)
        except Exception:  # neither reads the text, or sqlglot does not
            continue
        assert _attributes(sqlglot_tokens(SPARK, text, lexed)) == _attributes(expected), text
        compared += 1
    assert compared > 100


def test_a_long_list_is_not_given_to_the_tokenizer() -> None:
    text = f"SELECT * FROM t WHERE a IN ({', '.join(map(str, range(1000)))}) AND b = 'x'"
    expected = _attributes(SPARK.tokenize(text))
    seen: list[str] = []

    class Recording:
        def tokenize(self, sql: str) -> object:
            seen.append(sql)
            return SPARK.tokenize(sql)

    assert _attributes(sqlglot_tokens(Recording(), text, tokens(text))) == expected  # type: ignore[arg-type]
    assert [len(sql) for sql in seen] == [len(text)]
    assert "999" not in seen[0]
