"""The forms of statements that pages show in ``syntax`` blocks, as values: their words and instances of them.

The notation, which docs/reference/dialect/05-text.md explains: an upper-case word is a keyword, a lower-case word a
placeholder; ``[a]`` is optional; ``{a | b}`` is one of them; ``a …`` repeats ``a``, and ``a, …`` repeats it with commas
between. A line ``name: form`` defines a placeholder of the block. Everything else is typed as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\s*(?:('[^']*'|`[^`]*`|\w+|…|[\[\]{}|,()=.<>]))")
_DEFINITION = re.compile(r"([a-z_]\w*): ")
_CLOSING = {"[": "]", "{": "}", "(": ")"}


@dataclass(frozen=True)
class Word:
    """A keyword, a placeholder, a string or a punctuation mark."""

    text: str

    @property
    def is_keyword(self) -> bool:
        return self.text.replace("_", "").isalpha() and self.text.isupper()

    @property
    def is_placeholder(self) -> bool:
        return self.text.isidentifier() and not self.is_keyword


@dataclass(frozen=True)
class Row:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Either:
    """One of several parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Maybe:
    """A part that may be absent."""

    part: Part


@dataclass(frozen=True)
class Repeated:
    """A part once or several times, with a separator between them (empty for blanks)."""

    part: Part
    separator: str


Part = Word | Row | Either | Maybe | Repeated
#: The words of one instance, in order.
Words = tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """The forms of one ``syntax`` block, and the placeholders that it defines."""

    forms: tuple[Part, ...]
    definitions: Mapping[str, Part]

    def keywords(self) -> set[str]:
        """Returns all upper-case words of the block."""
        parts = (*self.forms, *self.definitions.values())
        return {word.text for part in parts for word in _words(part) if word.is_keyword}

    def instances(self, form: Part) -> list[Words]:
        """Returns instances that contain each optional part and each alternative of the form, once with all other
        optional parts and once without; the shortest is the first. Placeholders are still words.
        """
        return list(dict.fromkeys(_covering(form, self.definitions)))


def block(text: str) -> Block:
    """Reads the text of a block. ``ValueError`` if a bracket is not closed, or a definition is not used."""
    forms: list[Part] = []
    definitions: dict[str, Part] = {}
    for line in _unwrapped(text):
        defined = _DEFINITION.match(line)
        if defined is None:
            forms.append(_form(line))
        else:
            definitions[defined[1]] = _form(line[defined.end() :])
    used = {word.text for part in (*forms, *definitions.values()) for word in _words(part)}
    if not definitions.keys() <= used:
        raise ValueError(f"not used: {', '.join(sorted(definitions.keys() - used))}")
    return Block(tuple(forms), definitions)


def _unwrapped(text: str) -> list[str]:
    """Returns the forms of a block; an indented line continues the one above it."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") or (lines and line.startswith(")")):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return lines


def _form(line: str) -> Part:
    tokens, position = [], 0
    while line[position:].strip():
        hit = _TOKEN.match(line, position)
        if hit is None:
            raise ValueError(f"not understood: {line[position:]}")
        tokens.append(hit[1])
        position = hit.end()
    part, end = _alternatives(tokens, 0, "")
    if end < len(tokens):
        raise ValueError(f"not expected: {tokens[end]} in {line}")
    return part


def _alternatives(tokens: Sequence[str], start: int, closing: str) -> tuple[Part, int]:
    """Reads up to a closing bracket or the end; returns the part and the position of the bracket."""
    rows: list[Part] = []
    while True:
        row, start = _row(tokens, start, closing)
        rows.append(row)
        if start == len(tokens) or tokens[start] != "|":
            break
        start += 1
    if closing and start == len(tokens):
        raise ValueError(f"{closing} is missing: {' '.join(tokens)}")
    return (rows[0] if len(rows) == 1 else Either(tuple(rows))), start


def _row(tokens: Sequence[str], start: int, closing: str) -> tuple[Part, int]:
    parts: list[Part] = []
    while start < len(tokens) and tokens[start] not in ("|", "]", "}", ")"):
        token = tokens[start]
        if token in _CLOSING:
            inner, end = _alternatives(tokens, start + 1, _CLOSING[token])
            if tokens[end] != _CLOSING[token]:
                raise ValueError(f"{_CLOSING[token]} is missing: {' '.join(tokens)}")
            start = end
            parts.append(_bracketed(token, inner))
        elif token == "…":
            _repeat(parts, closing)
        else:
            parts.append(Word(token))
        start += 1
    return Row(tuple(parts)), start


def _bracketed(opening: str, inner: Part) -> Part:
    if opening == "(":
        return Row((Word("("), inner, Word(")")))
    return Maybe(inner) if opening == "[" else inner


def _repeat(parts: list[Part], closing: str) -> None:
    """Replaces the last part, or all parts inside of parentheses, by their repetition."""
    separator = "," if parts and parts[-1] == Word(",") else ""
    if separator:
        parts.pop()
    if not parts:
        raise ValueError("… follows nothing")
    count = len(parts) if closing == ")" else 1
    repeated = Repeated(Row(tuple(parts[-count:])), separator)
    parts[-count:] = [repeated]


def _words(part: Part) -> Iterator[Word]:
    match part:
        case Word():
            yield part
        case Row(parts) | Either(parts):
            for inner in parts:
                yield from _words(inner)
        case Maybe(inner) | Repeated(inner, _):
            yield from _words(inner)


def _covering(part: Part, definitions: Mapping[str, Part]) -> list[Words]:
    """Returns the instances of a part, the shortest first and the fullest last."""
    match part:
        case Word(text):
            return _covering(definitions[text], definitions) if text in definitions else [(text,)]
        case Maybe(inner):
            return [(), *_covering(inner, definitions)]
        case Either(parts):
            return [words for inner in parts for words in _covering(inner, definitions)]
        case Repeated(inner, separator):
            return _repetitions(inner, (separator,) if separator else (), definitions)
        case Row(parts):
            return _rows([_covering(inner, definitions) for inner in parts])


def _repetitions(part: Part, between: Words, definitions: Mapping[str, Part]) -> list[Words]:
    """Returns a part once, and then repeated: several alternatives follow one another, in this order and reversed."""
    alternatives = [_covering(inner, definitions) for inner in _alternatives_of(part, definitions)]
    once = [words for alternative in alternatives for words in alternative]
    fullest = [alternative[-1] for alternative in alternatives]
    if len(fullest) == 1:
        several = [[words, alternatives[0][(at + 1) % len(once)]] for at, words in enumerate(once)]
    else:
        several = [*([words, fullest[at - 1]] for at, words in enumerate(fullest)), fullest[::-1], fullest]
    return [*once, *(_joined(words, between) for words in several)]


def _alternatives_of(part: Part, definitions: Mapping[str, Part]) -> Sequence[Part]:
    match part:
        case Row((inner,)):
            return _alternatives_of(inner, definitions)
        case Word(text) if text in definitions:
            return _alternatives_of(definitions[text], definitions)
        case Either(parts):
            return parts
        case _:
            return [part]


def _joined(parts: Sequence[Words], between: Words) -> Words:
    return tuple(word for at, words in enumerate(parts) for word in ((*between, *words) if at else words))


def _rows(choices: Sequence[Sequence[Words]]) -> list[Words]:
    """Returns rows with each choice of each part: the other parts are all as short, or all as full as possible."""
    if not choices:
        return [()]
    rows = []
    for others in (0, -1):
        for at, part in enumerate(choices):
            for words in part:
                row = [words if at == other else choice[others] for other, choice in enumerate(choices)]
                rows.append(tuple(word for words in row for word in words))
    fullest = tuple(word for choice in choices for word in choice[-1])
    return [*dict.fromkeys(row for row in rows if row != fullest), fullest]
