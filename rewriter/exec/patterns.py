"""Patterns in Spark's words (Java) as DuckDB reads them: time formats, LIKE, regular expressions.

Each answers ``None`` for a pattern whose meaning is not proven equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What ends a line for Java, by which ``.`` and ``$`` go; RE2 knows only the first.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"

_FIELDS = {
    "yyyy": ("%Y", "[0-9]{4}"),
    "MM": ("%m", "[0-9]{2}"),
    "dd": ("%d", "[0-9]{2}"),
    "HH": ("%H", "[0-9]{2}"),
    "mm": ("%M", "[0-9]{2}"),
    "ss": ("%S", "[0-9]{2}"),
}
_FORMAT = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]")


@dataclass(frozen=True)
class TimePattern:
    """A format of fields of fixed width. ``regex`` (RE2) is what texts of that format match."""

    text: str
    strftime: str
    regex: str
    has_year: bool


def time_pattern(text: str) -> TimePattern | None:
    """A format of ``yyyy MM dd HH mm ss``, each once at most, and literal text."""
    formatted: list[str] = []
    regex: list[str] = []
    seen: set[str] = set()
    position = 0
    for match in _FORMAT.finditer(text):
        if match.start() != position:
            return None
        position = match.end()
        piece = match[0]
        if match[2]:
            if piece not in _FIELDS or piece in seen:
                return None
            seen.add(piece)
            formatted.append(_FIELDS[piece][0])
            regex.append(_FIELDS[piece][1])
            continue
        literal = piece if match[1] is None else match[1].replace("''", "'") or "'"
        formatted.append(literal.replace("%", "%%"))
        regex.append(re.escape(literal))
    if position != len(text) or not seen or not text.isascii():
        return None
    return TimePattern(text, "".join(formatted), "".join(regex), "yyyy" in seen)


def like_pattern(text: str) -> bool:
    """Whether both read the LIKE pattern alike: every backslash escapes ``%``, ``_`` or itself."""
    return re.fullmatch(r"(?:[^\\]|\\[%_\\])*", text, re.DOTALL) is not None


_ATOM = re.compile(
    r"""\\d|\\[.^$*+?()\[\]{}|\\/-]           # a digit, an escaped sign
      | \[\^?(?:[A-Za-z0-9_ .:/+]-[A-Za-z0-9]|\\d|\\[\]\[^\\-]|[A-Za-z0-9_ .:/+,;=])+\]   # a class
      | \((?:\?:)? | \) | \|
      | [A-Za-z0-9_ :/,;=<>"'%@!\#~&-]        # a plain character
      | \. | \^ | \$
      | [*+?]\?? | \{[0-9]{1,3}(?:,[0-9]{0,3})?\}""",
    re.VERBOSE,
)


def java_regex(text: str) -> str | None:
    """A Java regular expression of simple parts in RE2's words, for searching."""
    parts: list[str] = []
    position = 0
    repeated = True
    while position < len(text):
        match = _ATOM.match(text, position)
        if match is None:
            return None
        piece = match[0]
        position = match.end()
        # A quantifier after a quantifier is Java's possessive form.
        repeats = piece[0] in "*+?{"
        if repeats and repeated:
            return None
        # Nor may it follow what opens a group: (?i) and (?=x) are no groups of ours.
        repeated = repeats or piece in ("(", "(?:", "|", "^")
        if piece == ".":
            parts.append(f"[^{_LINE_ENDS}]")
        elif piece == "$":
            # Java's $ also stands before a last line end.
            parts.append(rf"(?:\r\n|[{_LINE_ENDS}])?\z")
        elif piece == "^":
            parts.append(r"\A")
        elif piece == r"\d":
            parts.append("[0-9]")
        elif piece.startswith("["):
            parts.append(piece.replace(r"\d", "0-9"))
        else:
            parts.append(piece)
    try:
        re.compile(text)
    except re.error:
        return None
    return "".join(parts)
