"""The table of statements in docs/reference/dialect.md, from the ``syntax`` blocks of docs/reference/dialect/*.md.

A statement is shown without its optional parts: ``ALTER TABLE t ADD [IF NOT EXISTS] PARTITION (c = value, …)`` becomes
``ALTER TABLE t ADD PARTITION (…)``. Of several words with one meaning, the first is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.reference_pages.page_parts import REFERENCE, anchor, code, generated, table

PAGE = REFERENCE / "dialect.md"
SECTIONS = REFERENCE / "dialect"
MARKER = "statements"
#: Words that have others with the same meaning behind them.
_FIRST_OF_SYNONYMS = ("DATABASE", "DATABASES", "DESCRIBE", "IN", "ALTER", "COLUMN", "TEMPORARY", "EXTENDED", "ADD")
_CHOICE = re.compile(r"\{([A-Z]+(?: \| [A-Z]+)+)\}")
#: The page about the notation, whose forms are examples.
_NOTATION = "05-text.md"
_RULE = re.compile(r"([a-z_]+): (.*)")


@dataclass(frozen=True)
class Statement:
    """A statement, and the section that explains it."""

    text: str
    page: Path
    heading: str
    is_title: bool

    @property
    def link(self) -> str:
        target = self.page.relative_to(PAGE.parent).as_posix()
        return f"[{self.heading}]({target}{'' if self.is_title else f'#{anchor(self.heading)}'})"


def statements() -> list[Statement]:
    """Returns the statements of all pages, in their order, each once."""
    found: dict[str, Statement] = {}
    for page in sorted(SECTIONS.glob("*.md")):
        for statement in _of_page(page) if page.name != _NOTATION else ():
            found.setdefault(statement.text, statement)
    return list(found.values())


def index() -> str:
    """Returns the generated part of the page: a row for each section, with its statements.

    A page that has no forms, and that the rest of the page does not link to, has a row without statements.
    """
    rows: dict[str, list[str]] = {}
    for statement in statements():
        rows.setdefault(statement.link, []).append(code(statement.text))
    linked = PAGE.read_text(encoding="utf-8").replace(generated(PAGE, MARKER), "") + "".join(rows)
    for page in sorted(SECTIONS.glob("*.md")):
        if f"({SECTIONS.name}/{page.name}" not in linked:
            title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
            rows[f"[{title}]({SECTIONS.name}/{page.name})"] = []
    return "\n" + table(("statements", "section"), [("<br>".join(texts), link) for link, texts in rows.items()]) + "\n"


def _of_page(page: Path) -> Iterator[Statement]:
    heading, is_title = "", True
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if re.match(r"#{1,3} ", line):
            heading, is_title = line.lstrip("#").strip(), line.startswith("# ")
        elif line == "```syntax":
            block = list(iter(lines.__next__, "```"))
            for form in _forms(block):
                yield Statement(form, page, heading, is_title)
        elif line.startswith("```"):
            for text in lines:
                if text == "```":
                    break


def _forms(block: list[str]) -> Iterator[str]:
    """Yields the statements of a block. A line that begins with blanks continues the line before it."""
    joined: list[str] = []
    for line in filter(None, block):
        if line.startswith(" "):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    rules = {match[1]: match[2] for line in joined if (match := _RULE.fullmatch(line))}
    for line in joined:
        if _RULE.fullmatch(line) is None:
            for short in map(_short, _choices(line)):
                first, _, rest = short.partition(" ")
                for begin in _alternatives(rules[first]) if first in rules else [first]:
                    yield _with_rules(f"{_short(begin)} {rest}".strip(), rules)


def _with_rules(form: str, rules: dict[str, str]) -> str:
    """Returns a form with the rules that have no alternatives in place of their names."""
    words = [
        _short(rules[word]) if word in rules and len(_alternatives(rules[word])) == 1 else word
        for word in form.split(" ")
    ]
    return " ".join(filter(None, words))


def _choices(form: str) -> list[str]:
    """Returns the forms that a choice of keywords makes, as ``SHOW {CUBES | FACTS}``; of synonyms, the first one."""
    match = _CHOICE.search(form)
    if match is None:
        return [form]
    words = match[1].split(" | ")
    words = words[:1] if words[0] in _FIRST_OF_SYNONYMS else words
    return [choice for word in words for choice in _choices(form[: match.start()] + word + form[match.end() :])]


def _alternatives(rule: str) -> list[str]:
    """Returns the alternatives of a rule, which are separated by | outside of brackets."""
    found, depth = [""], 0
    for character in rule:
        depth += (character in "[{(") - (character in "]})")
        if character == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [text.strip() for text in found]


def _short(form: str) -> str:
    """Returns a form without its optional parts, with the first of alternatives and without what is in parentheses."""
    before = ""
    while before != form:
        before = form
        form = re.sub(r"\[[^\[\]]*\]", "", form)
        form = re.sub(r"\{([^{}|]*)[^{}]*\}", r"\1", form)
    form = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "(…)", form)
    return re.sub(r"\s+([,…])", r" \1", " ".join(form.split())).replace(" ,", ",")
