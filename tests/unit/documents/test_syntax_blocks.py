"""The ``syntax`` blocks of all pages: each of their words is a keyword, and instances of each form parse.

An instance has a value for each placeholder: that of the tables below, or the placeholder itself as a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from syntax_forms import Block, Part, Words, block

from rewriter.errors import Error
from rewriter.grammar.dialect_rules import keywords
from rewriter.grammar.families.queries import Select
from rewriter.grammar.parser import parse
from rewriter.grammar.statements import RENDERERS
from rewriter.statements.dispatch import runners

DOCS = Path(__file__).parents[3] / "docs"
BLOCKS = re.compile(r"^```syntax\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if BLOCKS.search(page.read_text(encoding="utf-8"))]

#: Values of placeholders that are no names; one that occurs again in an instance has the next value.
VALUES = {
    "bound": ["'2013-01-01'", "TIMESTAMP '2013-02-01 00:00:00'"],
    "condition": ["c < 1", "NOT d = 2"],
    "expression": ["a + 1"],
    "filter": ["c = 1 OR d = 2"],
    "format": ["parquet"],
    "insert": ["INSERT INTO t SELECT 1"],
    "items": ["*"],
    "literal": ["1"],
    "n": ["2"],
    "operator": ["<="],
    "period": ["HOURLY", "DAILY"],
    "query": ["SELECT 1 AS x"],
    "row_format": ["ROW FORMAT DELIMITED FIELDS TERMINATED BY '|'"],
    "select": ["SELECT a WHERE b > 1"],
    "type": ["INT"],
    "value": ["'x'", "7"],
    "'character'": [r"'\t'"],
    "'class'": ["'org.apache.hadoop.hive.ql.io.orc.OrcSerde'"],
    "'escape'": [r"'\\'"],
    r"'\n'": [r"'\n'"],
    "'size'": ["'2 GB'"],
    "'zone'": ["'Europe/Berlin'"],
}
#: Upper-case words that the grammar reads as names, and builders compare.
NAMES = {"DAYS", "HOURS", "TIMESTAMP"}
#: Keywords that no form shows: types, literals, and the separators of nested values, which are refused.
UNSHOWN = "ARRAY COLLECTION DATE FALSE ITEMS KEYS MAP STRUCT TRUE".split()


def test_every_instance_of_a_form_parses() -> None:
    instances = [(page.name, _typed(words)) for page in PAGES for words in _instances(page)]
    assert len(instances) > 1500
    assert not (wrong := [f"{name}: {text}\n    {error}" for name, text in instances if (error := _failure(text))]), (
        "\n".join(wrong[:10])
    )


def test_every_upper_case_word_is_a_keyword() -> None:
    """A word is no keyword if the statement is the same with it as a quoted name."""
    shortest: dict[tuple[Part, str], Words] = {}
    for forms in (forms for page in PAGES for forms in _blocks(page)):
        for form in forms.forms:
            for words in forms.instances(form):
                for word in forms.keywords() & set(words):
                    shortest.setdefault((form, word), words)
    assert {word for (_, word), words in shortest.items() if _is_name(words, word)} == NAMES


def test_every_keyword_is_in_a_form() -> None:
    shown = {word for page in PAGES for forms in _blocks(page) for word in forms.keywords()}
    assert sorted(keywords() - shown) == sorted(UNSHOWN)


def test_every_statement_has_a_form() -> None:
    """A query has the forms of Spark, which no page shows."""
    shown = {type(parse(_typed(words))) for page in PAGES for words in _instances(page)}
    written = {kind for kind in runners() if kind in RENDERERS} - {Select}
    assert sorted(kind.__name__ for kind in written - shown) == []


def _blocks(page: Path) -> list[Block]:
    return [block(text) for text in BLOCKS.findall(page.read_text(encoding="utf-8"))]


def _instances(page: Path) -> Iterator[Words]:
    for forms in _blocks(page):
        for form in forms.forms:
            yield from forms.instances(form)


def _failure(text: str) -> Error | None:
    try:
        parse(text)
    except Error as error:
        return error
    return None


def _typed(words: Words) -> str:
    """Returns an instance as text, with values for placeholders. Names and strings that occur again get a number."""
    seen: Counter[str] = Counter()
    typed = []
    for word in words:
        if word.isupper() or not (word.isidentifier() or word.startswith("'")):
            typed.append(word)
            continue
        seen[word] += 1
        typed.append(_value(word, seen[word]))
    return " ".join(typed)


def _value(word: str, count: int) -> str:
    if word in VALUES:
        return VALUES[word][(count - 1) % len(VALUES[word])]
    number = str(count) if count > 1 else ""
    return f"{word[:-1]}{number}'" if word.startswith("'") else f"{word}{number}"


def _is_name(words: Words, word: str) -> bool:
    """Tests whether an upper-case word of a statement may as well be a quoted name."""
    at = words.index(word)
    try:
        return parse(_typed((*words[:at], f"`{word}`", *words[at + 1 :]))) == parse(_typed(words))
    except Error:
        return False
