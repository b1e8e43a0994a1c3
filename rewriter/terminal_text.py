"""Text for terminals: escapes for characters that a terminal would act on, and the width of a text in columns."""

from __future__ import annotations

import re
import unicodedata

#: C0 except tab and newline, DEL, C1; characters that change the direction of text; line separators; lone surrogates,
#: which no encoding takes.
_ACTS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

_HALVES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Returns the text with each character that a terminal acts on as an escape; tab and newline stay.

    ``printable("\x1b[31m")`` is ``\u001b[31m``. The escapes are the escapes of JSON and of SQL's string literals.
    """
    return _ACTS.sub(_escape, text)


def encodable(text: str) -> str:
    r"""Returns the text with each half of a surrogate pair as an escape, so that every encoding of Unicode takes it."""
    return _HALVES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def width(text: str) -> int:
    """Returns the columns that the text takes in a terminal: wide characters two, marks on the one before none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(char) in ("Mn", "Me") else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, columns: int) -> str:
    """Returns the text, or its beginning and an ellipsis, in at most ``columns`` columns.

    >>> cut("abcdef", 4)
    'abc…'
    """
    if width(text) <= columns:
        return text
    taken, left = 0, columns - 1
    for char in text:
        left -= width(char)
        if left < 0:
            break
        taken += 1
    return f"{text[:taken]}…"


def counted(count: int, noun: str) -> str:
    """Returns ``1 partition``, ``2 partitions``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
