"""Patterns of time, such as ``yyyy-MM-dd``: their fields, and text of fixed width written and read by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from rewriter.errors import AnalysisError
from rewriter.lazy_dataclass import dataclass

#: The width of each field in text. The order is coarse to fine: each field precedes the fields that it limits.
WIDTHS = {"yyyy": 4, "YYYY": 4, "q": 1, "MM": 2, "ww": 2, "dd": 2, "HH": 2, "mm": 2}

_TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[ !%&*+,\-./:;<=>@_|~])")

#: Characters with a meaning in regular expressions. The characters of the second line have a meaning in a class, too.
_IN_CLASS = frozenset(".$|?*+(){}")
_BACKSLASHED = frozenset("[]^\\")


@dataclass(frozen=True)
class Token:
    """A piece of a pattern: the letters of a time field, or literal text."""

    text: str
    is_field: bool

    @property
    def width(self) -> int:
        """The number of characters of its text."""
        return WIDTHS[self.text] if self.is_field else len(self.text)


@lru_cache(maxsize=256)
def tokens(pattern: str) -> tuple[Token, ...]:
    """Returns the tokens of a pattern, in order. Raises ``AnalysisError`` INVALID_TIME_LAYOUT if the pattern is
    unreadable.
    """
    pieces: list[Token] = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise _unknown_text(pattern, pattern[position])
        letters, quoted = match["letters"], match["quoted"]
        if letters is not None:
            if letters not in WIDTHS:
                raise _unknown_text(pattern, letters)
            pieces.append(Token(letters, is_field=True))
        else:
            text = match["plain"] if quoted is None else (quoted.replace("''", "'") or "'")
            if not text.isprintable():
                raise _unknown_text(pattern, text)
            pieces.append(Token(text, is_field=False))
        position = match.end()
    return tuple(pieces)


def _unknown_text(pattern: str, text: str) -> AnalysisError:
    return AnalysisError(
        f"{text!r} has no meaning in the time pattern {pattern!r}",
        condition="INVALID_TIME_LAYOUT",
        object=text,
        hint=f"The fields are {', '.join(WIDTHS)}; put other text in single quotes.",
    )


@lru_cache(maxsize=256)
def fields(pattern: str) -> tuple[str, ...]:
    """Returns the letters of the pattern's fields, in its order."""
    return tuple(token.text for token in tokens(pattern) if token.is_field)


@lru_cache(maxsize=256)
def width(pattern: str) -> int:
    """Returns the number of characters of every text that the pattern writes."""
    return sum(token.width for token in tokens(pattern))


def write(pattern: str, numbers: Mapping[str, int]) -> str:
    """Returns the text for the numbers of the fields.

    >>> write("yyyy-MM", {"yyyy": 2015, "MM": 3})
    '2015-03'
    """
    return "".join(f"{numbers[t.text]:0{t.width}d}" if t.is_field else t.text for t in tokens(pattern))


def read(pattern: str, text: str) -> tuple[str, ...] | None:
    """Returns the digits of each field in the text, in the pattern's order; ``None`` if the text has another form.

    >>> read("yyyy-MM", "2015-03"), read("yyyy-MM", "2015-3")
    (('2015', '03'), None)
    """
    match = _reader(pattern).fullmatch(text)
    return None if match is None else match.groups()


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str]:
    pieces = (f"([0-9]{{{t.width}}})" if t.is_field else re.escape(t.text) for t in tokens(pattern))
    return re.compile("".join(pieces))


def regex(pattern: str) -> str:
    """Returns a regular expression for the form of the pattern's texts, anchored and plain enough for Java and RE2."""
    return "^" + "".join(_field_regex(t) if t.is_field else _literal_regex(t.text) for t in tokens(pattern)) + "$"


def _field_regex(field: Token) -> str:
    return "[1-4]" if field.text == "q" else f"[0-9]{{{field.width}}}"


def _literal_regex(text: str) -> str:
    # A class needs no backslash, which SQL string literals would swallow.
    return "".join(f"[{c}]" if c in _IN_CLASS else f"\\{c}" if c in _BACKSLASHED else c for c in text)
