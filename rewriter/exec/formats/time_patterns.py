"""Dates and timestamps as texts by a pattern of Spark, as far as each text has one meaning: ``dd/MM/yyyy``.

Workers of Spark run this code: it uses nothing outside this folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

_LETTERS = "yyyy, M, MM, d, dd, H, HH, m, mm, s, ss, S to SSSSSS, and X, XX or XXX for the zone"
#: The widths that a letter may have, with the field of a time.
_FIELDS = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}
_ZONES = {"X": r"Z|[+-]\d\d(?:\d\d)?", "XX": r"Z|[+-]\d{4}", "XXX": r"Z|[+-]\d\d:\d\d"}


@dataclass(frozen=True)
class TimeSpelling:
    """A pattern, split into its pieces: fields of a time and literals.

    ``pieces`` are pairs of a field (``""`` for a literal) and the letters or the literal.
    """

    text: str
    pieces: tuple[tuple[str, str], ...]
    is_date: bool

    def regex(self) -> re.Pattern[str]:
        """Returns the expression that exactly the texts of the pattern match, with a group for each field."""
        return re.compile("".join(map(_group, self.pieces)), re.ASCII)

    def plain(self, text: str, regex: re.Pattern[str]) -> str:
        """Returns a date as ``2013-01-31``, or a timestamp as ``2013-01-31 12:00:00.5``, with its zone if it has one.

        Raises ``ValueError`` for a text that the pattern does not match. The day may not exist: a cast finds out.
        """
        match = regex.fullmatch(text)
        if match is None:
            raise ValueError
        parts = match.groupdict()
        day = f"{parts.get('year', '1970')}-{parts.get('month') or '01':0>2}-{parts.get('day') or '01':0>2}"
        if self.is_date:
            if any(int(parts.get(name) or 0) > most for name, most in (("hour", 23), ("minute", 59), ("second", 59))):
                raise ValueError
            return day
        clock = ":".join(f"{parts.get(name) or '00':0>2}" for name in ("hour", "minute", "second"))
        fraction = f".{parts['fraction']}" if parts.get("fraction") else ""
        return f"{day} {clock}{fraction}{_plain_zone(parts.get('zone'))}"

    def spell(self, date: str, clock: str, fraction: str) -> str:
        """Returns a time in UTC by the pattern: its date ``2013-01-31``, clock ``12:00:00`` and six digits."""
        year, month, day = date.split("-")
        hour, minute, second = clock.split(":")
        values = {"year": year, "month": month, "day": day, "hour": hour, "minute": minute, "second": second}
        texts = []
        for field, letters in self.pieces:
            if field == "":
                texts.append(letters)
            elif field == "zone":
                texts.append("Z")
            elif field == "fraction":
                texts.append(fraction[: len(letters)])
            else:
                texts.append(values[field] if len(letters) > 1 else str(int(values[field])))
        return "".join(texts)


def time_spelling(text: str, is_date: bool) -> TimeSpelling:
    """Returns a pattern of Spark. Raises ``ValueError``, with a hint, for one that is not supported."""
    pieces: list[tuple[str, str]] = []
    for match in re.finditer(r"'((?:[^']|'')*)'|([A-Za-z])\2*|([^A-Za-z'])|(.)", text, re.DOTALL):
        quoted, letter, literal, other = match.groups()
        if other is not None or (literal is not None and literal in "[]{}#"):
            raise ValueError(f"{match[0]} is not supported. The letters are {_LETTERS}.")
        if letter is None:
            pieces.append(("", literal if literal is not None else (quoted or "'").replace("''", "'")))
            continue
        pieces.append((_field(match[0]), match[0]))
    names = [name for name, _ in pieces if name]
    if len(set(names)) < len(names) or not names or (is_date and {"year", "month"} - set(names)):
        raise ValueError("Each of its letters occurs once, and a date has its year and month.")
    if not is_date and "year" not in names:
        raise ValueError("A timestamp has its year.")
    for (first, first_letters), (second, second_letters) in pairwise(pieces):
        is_open = len(first_letters) == 1 or "fraction" in (first, second) or len(second_letters) == 1
        if first and second and second != "zone" and is_open:
            raise ValueError(f"Write a character between {first_letters} and {second_letters}.")
    if is_date and {"zone", "fraction"} & set(names):
        raise ValueError("A date has no zone and no fractions of seconds.")
    return TimeSpelling(text, tuple(pieces), is_date)


def _field(letters: str) -> str:
    if letters in _ZONES:
        return "zone"
    if letters[0] == "S" and len(letters) <= 6:
        return "fraction"
    field = _FIELDS.get(letters[0])
    if field is None or len(letters) not in ((4,) if field == "year" else (1, 2)):
        raise ValueError(f"{letters} is not supported. The letters are {_LETTERS}.")
    return field


def _group(piece: tuple[str, str]) -> str:
    field, letters = piece
    if field == "":
        return re.escape(letters)
    if field == "zone":
        return f"(?P<zone>{_ZONES[letters]})"
    if field == "fraction":
        return rf"(?P<fraction>\d{{1,{len(letters)}}})"
    if field == "year":
        return r"(?P<year>\d{4})"
    return rf"(?P<{field}>\d\d)" if len(letters) == 2 else rf"(?P<{field}>\d\d?)"


def _plain_zone(zone: str | None) -> str:
    if zone is None:
        return ""
    if zone == "Z":
        return "Z"
    digits = zone[1:].replace(":", "")
    return f"{zone[0]}{digits[:2]}:{digits[2:] or '00'}"
