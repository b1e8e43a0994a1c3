"""Patterns in Spark's words (Java) as DuckDB reads them: time formats, LIKE, regular expressions.

Each answers ``None`` for a pattern whose meaning is not proven equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: What ends a line for Java, by which ``.`` and ``$`` go; RE2 knows only the first.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"

#: Fields of fixed width, by which both read alike: strptime's and RE2's word.
_READ = {
    "yyyy": ("%Y", "[0-9]{4}"),
    "MM": ("%m", "[0-9]{2}"),
    "dd": ("%d", "[0-9]{2}"),
    "HH": ("%H", "[0-9]{2}"),
    "mm": ("%M", "[0-9]{2}"),
    "ss": ("%S", "[0-9]{2}"),
}
#: Fields that both write alike, for the years 1 to 9999.
_WRITTEN = {
    **{field: strftime for field, (strftime, _) in _READ.items()},
    "yy": "%y", "M": "%-m", "MMM": "%b", "MMMM": "%B", "d": "%-d", "DDD": "%j", "E": "%a", "EE": "%a", "EEE": "%a",
    "EEEE": "%A", "a": "%p", "H": "%-H", "h": "%-I", "hh": "%I", "m": "%-M", "s": "%-S", "SSS": "%g", "SSSSSS": "%f",
}  # fmt: skip
_FORMAT = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]")

DESCRIPTION = (
    f"- Formats that read a time: `{' '.join(_READ)}`, each once at most, and text that is no letter or in quotes.",
    f"- Formats that write a time: `{' '.join(_WRITTEN)}`, and such text.",
    "- LIKE: a backslash only before `%`, `_` or itself.",
    "- Regular expressions: letters, digits, blanks and signs, classes `[a-z]`, `\\d`, `.`, `^`, `$`, groups, `|`, and "
    "the quantifiers `* + ? {n,m}` with their lazy forms.",
)


@dataclass(frozen=True)
class TimePattern:
    """A format of fields of fixed width. ``regex`` (RE2) is what texts of that format match."""

    text: str
    strftime: str
    regex: str
    has_year: bool


def time_pattern(text: str) -> TimePattern | None:
    """A format to read: ``yyyy MM dd HH mm ss``, each once at most, and literal text."""
    pieces = _pieces(text)
    fields = [piece for piece, is_field in pieces or () if is_field]
    if not fields or pieces is None or len(set(fields)) < len(fields) or not set(fields) <= _READ.keys():
        return None
    strftime = "".join(_READ[piece][0] if is_field else piece.replace("%", "%%") for piece, is_field in pieces)
    regex = "".join(_READ[piece][1] if is_field else re.escape(piece) for piece, is_field in pieces)
    return TimePattern(text, strftime, regex, "yyyy" in fields)


def time_format(text: str) -> str | None:
    """A format to write, in strftime's words."""
    pieces = _pieces(text)
    if pieces is None or any(is_field and piece not in _WRITTEN for piece, is_field in pieces):
        return None
    return "".join(_WRITTEN[piece] if is_field else piece.replace("%", "%%") for piece, is_field in pieces)


def _pieces(text: str) -> list[tuple[str, bool]] | None:
    """A format as fields and literal text, with whether each is a field."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for match in _FORMAT.finditer(text):
        if match.start() != position:
            return None
        position = match.end()
        literal = match[0] if match[1] is None else match[1].replace("''", "'") or "'"
        pieces.append((match[0], True) if match[2] else (literal, False))
    return pieces if position == len(text) and text.isascii() else None


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


def replaceable(text: str) -> bool:
    """Whether the matches of a pattern that ``java_regex`` takes are those of Java, not only whether there are any:
    ``$`` would take a line end along, repeated groups and matches of nothing go by rules of each engine.
    """
    try:
        return "$" not in text and re.search(r"\)[*+?{]", text) is None and re.search(text, "") is None
    except re.error:
        return False


def groups(text: str) -> int:
    """How many groups a pattern that ``java_regex`` takes has."""
    return re.compile(text).groups
