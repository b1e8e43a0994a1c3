"""Translates Spark's (Java's) patterns to DuckDB's: time formats, LIKE, regular expressions.

Each function returns ``None`` for a pattern whose meaning is not proven equal.
"""

from __future__ import annotations

import re

from rewriter.lazy_dataclass import dataclass

#: The line ends of Java, on which ``.`` and ``$`` depend; RE2 supports only the first.
_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"

#: Fields of fixed width that both engines read alike: the format of strptime and the pattern of RE2.
_READ_FIELDS = {
    "yyyy": ("%Y", "[0-9]{4}"),
    "MM": ("%m", "[0-9]{2}"),
    "dd": ("%d", "[0-9]{2}"),
    "HH": ("%H", "[0-9]{2}"),
    "mm": ("%M", "[0-9]{2}"),
    "ss": ("%S", "[0-9]{2}"),
}
#: Fields that both engines write alike, for the years 1 to 9999.
_WRITTEN_FIELDS = {
    **{field: strftime for field, (strftime, _) in _READ_FIELDS.items()},
    "yy": "%y", "M": "%-m", "MMM": "%b", "MMMM": "%B", "d": "%-d", "D": "%-j", "DDD": "%j",
    "E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A", "a": "%p", "H": "%-H",
    "h": "%-I", "hh": "%I", "m": "%-M", "s": "%-S", "SSS": "%g", "SSSSSS": "%f",
}  # fmt: skip
_FORMAT = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z'\[\]{}#]")

DESCRIPTION = (
    f"- Formats that read a time: `{' '.join(_READ_FIELDS)}`, each once at most, and text that is no letter or in "
    "quotes.",
    f"- Formats that write a time: `{' '.join(_WRITTEN_FIELDS)}`, and such text.",
    "- Regular expressions: letters, digits, blanks and signs, classes `[a-z]`, `[^/]`, `\\d`, `\\w`, `\\s`, `.`, `^`, "
    "`$`, groups, `|`, and the quantifiers `* + ? {n,m}` with their lazy forms.",
)


@dataclass(frozen=True)
class TimePattern:
    """A format of fields of fixed width. ``regex`` (RE2) matches texts of that format."""

    text: str
    strftime: str
    regex: str
    has_year: bool


def time_pattern(text: str) -> TimePattern | None:
    """Returns a format for reading: ``yyyy MM dd HH mm ss``, each at most once, and literal text."""
    pieces = _pieces(text)
    fields = [piece for piece, is_field in pieces or () if is_field]
    if not fields or pieces is None or len(set(fields)) < len(fields) or not set(fields) <= _READ_FIELDS.keys():
        return None
    strftime = "".join(_READ_FIELDS[piece][0] if is_field else piece.replace("%", "%%") for piece, is_field in pieces)
    regex = "".join(_READ_FIELDS[piece][1] if is_field else re.escape(piece) for piece, is_field in pieces)
    return TimePattern(text, strftime, regex, "yyyy" in fields)


def time_format(text: str) -> str | None:
    """Returns a format for writing, in strftime's notation."""
    pieces = _pieces(text)
    if pieces is None or any(is_field and piece not in _WRITTEN_FIELDS for piece, is_field in pieces):
        return None
    return "".join(_WRITTEN_FIELDS[piece] if is_field else piece.replace("%", "%%") for piece, is_field in pieces)


def _pieces(text: str) -> list[tuple[str, bool]] | None:
    """Returns the pieces of a format, each with a flag that is True for a field and False for literal text."""
    pieces: list[tuple[str, bool]] = []
    position = 0
    for match in _FORMAT.finditer(text):
        if match.start() != position:
            return None
        position = match.end()
        literal = match[0] if match[1] is None else match[1].replace("''", "'") or "'"
        pieces.append((match[0], True) if match[2] else (literal, False))
    return pieces if position == len(text) and text.isascii() else None


def like_pattern(text: str, escape: str = "\\") -> str | None:
    """Returns a LIKE pattern in which a backslash escapes; ``None`` if Spark refuses the pattern: its escape character
    is only allowed before ``%``, ``_`` and itself.
    """
    parts: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == escape:
            character = next(characters, "")
            if character not in ("%", "_", escape):
                return None
            parts.append(f"\\{character}" if character in "%_\\" else character)
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


#: Parts of a class in brackets: a range, an abbreviation, an escaped sign, a plain character. A minus is plain at both
#: ends. Java reads ``[`` and ``&&`` within a class as operators.
_IN_CLASS = (
    r"(?:[A-Za-z0-9_ .:/+]-[A-Za-z0-9]|\\[dwstnr]|\\[.^$*+?()\[\]{}|\\/&-]|&(?!&)"
    r"""|[A-Za-z0-9_ .:/+,;=?*(){}|$"'<>@!\#%~])"""
)
_ATOM = re.compile(
    rf"""\\[dDwWsStnr]|\\[.^$*+?()\[\]{{}}|\\/&-]   # an abbreviation, an escaped sign
      | \[\^?-?{_IN_CLASS}+-?\]            # a class
      | \((?:\?:)? | \) | \|
      | [A-Za-z0-9_ :/,;=<>"'%@!\#~&-]        # a plain character
      | \. | \^ | \$
      | [*+?]\?? | \{{[0-9]{{1,3}}(?:,[0-9]{{0,3}})?\}}""",
    re.VERBOSE,
)
#: Java's abbreviations, within brackets. RE2's own ``\s`` lacks the vertical tab.
_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": r" \t\n\x0b\f\r"}


#: The end of a text, or the place before its line end.
_END = rf"(?:\r\n|[{_LINE_ENDS}])?\z"


def java_regex(text: str, end: str = _END) -> str | None:
    """Returns a Java regular expression of simple parts in RE2's notation, for searching. ``end`` stands for ``$``."""
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
        # It may not follow an opening group, either: (?i) and (?=x) are not supported groups.
        repeated = repeats or piece in ("(", "(?:", "|", "^")
        if piece == ".":
            parts.append(f"[^{_LINE_ENDS}]")
        elif piece == "$":
            # Java's $ also matches before a final line end.
            parts.append(end)
        elif piece == "^":
            parts.append(r"\A")
        elif re.fullmatch(r"\\[dDwWsS]", piece):
            parts.append(f"[{'^' * piece[1].isupper()}{_CLASSES[piece[1].lower()]}]")
        elif piece.startswith("["):
            parts.append(re.sub(r"\\(.)", lambda match: _CLASSES.get(match[1], match[0]), piece))
        else:
            parts.append(piece)
    try:
        re.compile(text)
    except re.error:
        return None
    return "".join(parts)


#: A group without groups in it that is repeated.
_REPEATED_GROUP = re.compile(r"\((?:\?:)?((?:\\.|\[(?:\\.|[^\]\\])*\]|[^()\\\[])*)\)[*+?{]")
_REPETITION = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|([*?{])")


def replaceable(text: str, with_end: bool = False) -> bool:
    """Tests whether the matches of a pattern that ``java_regex`` accepts are Java's matches, not only their existence.
    ``$`` would include a line end; ``with_end`` allows it where no text ends with one. A repeated group that may match
    nothing, and empty matches, follow the rules of each engine.
    """
    repeated = re.findall(r"\)[*+?{]", re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "", text))
    bodies = [match[1] for match in _REPEATED_GROUP.finditer(text)]
    try:
        is_simple = len(bodies) == len(repeated) and not any(
            re.match(body, "") or any(match[1] for match in _REPETITION.finditer(body)) for body in bodies
        )
        return is_simple and (with_end or "$" not in text) and re.search(text, "") is None
    except re.error:
        return False


def java_replacement(text: str, group_count: int) -> str | None:
    """Returns a replacement of Java in RE2's notation: ``$1`` is a group, and a backslash makes the next character an
    ordinary one. ``None`` for a group that the pattern does not have, or that has a name.

    >>> java_replacement("$2-$10", 2), java_replacement("$3", 2)
    ('\\\\2-\\\\10', None)
    """
    parts: list[str] = []
    position = 0
    while position < len(text):
        character, position = text[position], position + 1
        if character == "$":
            number = -1
            while position < len(text) and text[position] in "0123456789":
                longer = max(number, 0) * 10 + int(text[position])
                if number >= 0 and longer > group_count:
                    break
                number, position = longer, position + 1
            if not 0 <= number <= min(group_count, _MOST_GROUPS):
                return None
            parts.append(f"\\{number}")
        else:
            if character == "\\":
                if position == len(text):
                    return None
                character, position = text[position], position + 1
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


#: RE2 has no replacement of a later group.
_MOST_GROUPS = 9


def groups(text: str) -> int:
    """Returns the number of groups in a pattern that ``java_regex`` accepts."""
    return re.compile(text).groups
