"""Time layouts: how the name of a partition tells its time.

A layout is one or more partition columns with a pattern each, such as ``ds 'yyyy-MM-dd', hr 'HH'``. It maps the
ordinals of one update period to values and back, one to one: what it does not write, it does not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rewriter.errors import AnalysisError, DataError, NotSupportedError
from rewriter.timeline.civil import (
    DAY,
    HOUR,
    MAX_YEAR,
    MIN_YEAR,
    MINUTE,
    civil_from_days,
    days_from_civil,
    month_length,
)
from rewriter.timeline.periods import UpdatePeriod

_DEFAULTS = {
    UpdatePeriod.YEARLY: "yyyy",
    UpdatePeriod.QUARTERLY: "yyyy-'Q'q",
    UpdatePeriod.MONTHLY: "yyyy-MM",
    UpdatePeriod.WEEKLY: "YYYY-'W'ww",
    UpdatePeriod.DAILY: "yyyy-MM-dd",
    UpdatePeriod.HOURLY: "yyyy-MM-dd-HH",
    UpdatePeriod.MINUTELY: "yyyy-MM-dd-HH-mm",
}

#: The fields that name a period of each kind, coarse to fine.
_FIELDS = {
    UpdatePeriod.YEARLY: ("yyyy",),
    UpdatePeriod.QUARTERLY: ("yyyy", "q"),
    UpdatePeriod.MONTHLY: ("yyyy", "MM"),
    UpdatePeriod.WEEKLY: ("YYYY", "ww"),
    UpdatePeriod.DAILY: ("yyyy", "MM", "dd"),
    UpdatePeriod.HOURLY: ("yyyy", "MM", "dd", "HH"),
    UpdatePeriod.MINUTELY: ("yyyy", "MM", "dd", "HH", "mm"),
}

_WIDTHS = {"yyyy": 4, "YYYY": 4, "q": 1, "MM": 2, "ww": 2, "dd": 2, "HH": 2, "mm": 2}
_LIMITS = {"q": (1, 4), "MM": (1, 12), "ww": (1, 53), "dd": (1, 31), "HH": (0, 23), "mm": (0, 59)}
_YEARS = (MIN_YEAR, MAX_YEAR)

_TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<plain>[ !%&*+,\-./:;<=>@_|~])")

#: Characters with a meaning in regular expressions; those of the second line mean something in a class, too.
_IN_CLASS = frozenset(".$|?*+(){}")
_BACKSLASHED = frozenset("[]^\\")


@dataclass(frozen=True)
class LayoutPart:
    """One partition column and the pattern of its values."""

    column: str
    pattern: str


@dataclass(frozen=True)
class _Token:
    """A piece of a pattern: the letters of a time field, or literal text."""

    text: str
    is_field: bool


@dataclass(frozen=True)
class TimeLayout:
    """The partition columns that name a period of one kind, in the order of their meaning.

    Patterns know ``yyyy``, ``MM``, ``dd``, ``HH``, ``mm``, ``q`` (quarter), ``YYYY`` and ``ww`` (ISO week-based year
    and week), literals in single quotes (a doubled quote stands for one), and punctuation. All values are of fixed
    width, and the fields come coarse to fine, so that text order is time order.

    Raises ``AnalysisError`` INVALID_TIME_LAYOUT where the patterns do not name the period exactly,
    ``NotSupportedError`` where only the order of the fields is wrong.
    """

    period: UpdatePeriod
    parts: tuple[LayoutPart, ...]

    def __post_init__(self) -> None:
        _validate(self.period, self.parts)

    @classmethod
    def of(cls, period: UpdatePeriod, columns: Sequence[tuple[str, str | None]]) -> TimeLayout:
        """A layout of (column, pattern) pairs; a single column may leave its pattern to the period's default."""
        if len(columns) == 1 and columns[0][1] is None:
            return cls(period, (LayoutPart(columns[0][0], default_pattern(period)),))
        parts = []
        for column, pattern in columns:
            if pattern is None:
                raise _invalid(
                    f"column '{column}' has no pattern, and a default one serves a single column only",
                    period,
                    object=column,
                )
            parts.append(LayoutPart(column, pattern))
        return cls(period, tuple(parts))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        return tuple(part.column for part in self.parts)

    @property
    def text_ordered(self) -> bool:
        """Whether values ordered as text are ordered in time; true of every layout that is not refused."""
        return True

    def values(self, ordinal: int) -> tuple[str, ...]:
        """The partition values of the period, one for each column; ``DataError`` outside the years 1–9999. O(1)."""
        fields = _fields_of(self.period, ordinal)
        year = fields.get("yyyy", fields.get("YYYY", 0))
        if not MIN_YEAR <= year <= MAX_YEAR:
            raise DataError(
                f"{self.period.name} period {ordinal} lies in the year {year}, outside {MIN_YEAR} to {MAX_YEAR}",
                condition="INVALID_TIME_PARTITION",
            )
        return tuple(
            "".join(f"{fields[t.text]:0{_WIDTHS[t.text]}d}" if t.is_field else t.text for t in _tokens(part.pattern))
            for part in self.parts
        )

    def ordinal(self, values: Sequence[str | None]) -> int:
        """The period that the values name. They must be, to the letter, what ``values`` answers for it. O(1).

        Raises ``DataError`` INVALID_TIME_PARTITION, naming column, value and pattern: '2015-13' is no month.
        """
        if len(values) != len(self.parts):
            raise DataError(
                f"{len(values)} values for the {len(self.parts)} time partition columns {', '.join(self.columns)}",
                condition="INVALID_TIME_PARTITION",
            )
        fields: dict[str, int] = {}
        for part, value in zip(self.parts, values, strict=True):
            match = None if value is None else _reader(part.pattern).fullmatch(value)
            if match is None:
                raise self._unreadable(part, value)
            for token, digits in zip(_field_tokens(part.pattern), match.groups(), strict=True):
                fields[token.text] = int(digits)
                low, high = _limits(token.text, fields)
                if not low <= fields[token.text] <= high:
                    raise self._unreadable(part, value, f"{_NAMES[token.text]} {digits} is not in {low}–{high}")
        return _ordinal_of(self.period, fields)

    def regex(self, index: int) -> str:
        """A regular expression that all values of the column match, and that tells the default layouts apart.

        It is anchored and plain enough for Java and RE2. It filters by shape: '2015-13' passes, ``ordinal`` decides.
        """
        tokens = _tokens(self.parts[index].pattern)
        return "^" + "".join(_field_regex(t.text) if t.is_field else _literal_regex(t.text) for t in tokens) + "$"

    def fields(self, index: int) -> tuple[tuple[str, int, int], ...]:
        """The fields in the values of a column as (letters, offset from 0, width); all values have the same form."""
        found, offset = [], 0
        for token in _tokens(self.parts[index].pattern):
            width = _WIDTHS[token.text] if token.is_field else len(token.text)
            if token.is_field:
                found.append((token.text, offset, width))
            offset += width
        return tuple(found)

    def to_json(self) -> dict[str, object]:
        """The layout as plain data, read back by ``from_json``."""
        return {
            "period": self.period.name,
            "parts": [{"column": part.column, "pattern": part.pattern} for part in self.parts],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> TimeLayout:
        """The layout that ``to_json`` gave; raises what the constructor raises, also for data of other forms."""
        name, parts = data.get("period"), data.get("parts")
        if not isinstance(name, str) or not isinstance(parts, list):
            raise _malformed(data)
        pairs: list[tuple[str, str | None]] = []
        for part in parts:
            column, pattern = (part.get("column"), part.get("pattern")) if isinstance(part, dict) else (None, None)
            if not isinstance(column, str) or not isinstance(pattern, str):
                raise _malformed(data)
            pairs.append((column, pattern))
        return cls.of(UpdatePeriod.named(name), pairs)

    def _unreadable(self, part: LayoutPart, value: str | None, reason: str = "") -> DataError:
        shown = "NULL" if value is None else f"'{value}'"
        return DataError(
            f"{part.column} = {shown} names no {self.period.name} partition of the pattern {part.pattern}"
            + (f": {reason}" if reason else ""),
            condition="INVALID_TIME_PARTITION",
            object=part.column,
            hint=f"a value of {part.column} looks like '{self.values(_EXAMPLE[self.period])[self.parts.index(part)]}'",
        )


def default_pattern(period: UpdatePeriod) -> str:
    """The pattern of a layout that declares none."""
    return _DEFAULTS[period]


_NAMES = {
    "yyyy": "year",
    "YYYY": "week-based year",
    "q": "quarter",
    "MM": "month",
    "ww": "week",
    "dd": "day",
    "HH": "hour",
    "mm": "minute",
}
_EXAMPLE = {period: period.ordinal(days_from_civil(2015, 1, 29) * DAY + 6 * HOUR) for period in UpdatePeriod}


def _validate(period: UpdatePeriod, parts: tuple[LayoutPart, ...]) -> None:
    if not parts:
        raise _invalid("a time layout needs at least one column", period)
    names = [part.column.lower() for part in parts]
    for part in parts:
        if names.count(part.column.lower()) > 1:
            raise _invalid(f"column '{part.column}' stands twice in the layout", period, object=part.column)
        if not _field_tokens(part.pattern):
            raise _invalid(f"the pattern of column '{part.column}' holds no time field", period, object=part.column)
    found = [token.text for part in parts for token in _field_tokens(part.pattern)]
    wanted = _FIELDS[period]
    if sorted(found) != sorted(wanted):
        raise _invalid(f"the fields {' '.join(found)} do not name a {period.name} period exactly", period)
    if tuple(found) != wanted:
        raise NotSupportedError(
            f"the layout {', '.join(part.pattern for part in parts)} does not order its text as time",
            condition="UNORDERED_TIME_LAYOUT",
            hint=f"put the fields in the order {' '.join(wanted)}",
        )


def _invalid(message: str, period: UpdatePeriod, object: str | None = None) -> AnalysisError:
    return AnalysisError(
        message,
        condition="INVALID_TIME_LAYOUT",
        object=object,
        hint=f"{period.name} needs {' '.join(_FIELDS[period])}, each once, as in {_DEFAULTS[period]}",
    )


def _malformed(data: Mapping[str, object]) -> AnalysisError:
    return AnalysisError(f"this is no time layout: {dict(data)!r}", condition="INVALID_TIME_LAYOUT")


@lru_cache(maxsize=256)
def _tokens(pattern: str) -> tuple[_Token, ...]:
    """The pieces of a pattern, in order; ``AnalysisError`` INVALID_TIME_LAYOUT where it cannot be read."""
    tokens: list[_Token] = []
    position = 0
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            raise _unknown_text(pattern, pattern[position])
        letters, quoted = match["letters"], match["quoted"]
        if letters is not None:
            if letters not in _WIDTHS:
                raise _unknown_text(pattern, letters)
            tokens.append(_Token(letters, is_field=True))
        else:
            text = match["plain"] if quoted is None else (quoted.replace("''", "'") or "'")
            if not text.isprintable():
                raise _unknown_text(pattern, text)
            tokens.append(_Token(text, is_field=False))
        position = match.end()
    return tuple(tokens)


def _unknown_text(pattern: str, text: str) -> AnalysisError:
    return AnalysisError(
        f"{text!r} has no meaning in the time pattern {pattern!r}",
        condition="INVALID_TIME_LAYOUT",
        object=text,
        hint=f"the fields are {', '.join(_WIDTHS)}; put other text in single quotes",
    )


@lru_cache(maxsize=256)
def _field_tokens(pattern: str) -> tuple[_Token, ...]:
    return tuple(token for token in _tokens(pattern) if token.is_field)


@lru_cache(maxsize=256)
def _reader(pattern: str) -> re.Pattern[str]:
    pieces = (f"([0-9]{{{_WIDTHS[t.text]}}})" if t.is_field else re.escape(t.text) for t in _tokens(pattern))
    return re.compile("".join(pieces))


def _field_regex(field: str) -> str:
    return "[1-4]" if field == "q" else f"[0-9]{{{_WIDTHS[field]}}}"


def _literal_regex(text: str) -> str:
    # A class needs no backslash, which SQL string literals would swallow.
    return "".join(f"[{c}]" if c in _IN_CLASS else f"\\{c}" if c in _BACKSLASHED else c for c in text)


def _limits(field: str, fields: Mapping[str, int]) -> tuple[int, int]:
    """The least and greatest number of the field, given the coarser ones."""
    if field == "dd":
        return 1, month_length(fields["yyyy"], fields["MM"])
    if field == "ww":
        year = fields["YYYY"]
        return 1, _first_week(year + 1) - _first_week(year)
    return _LIMITS.get(field, _YEARS)


def _first_week(year: int) -> int:
    """The ordinal of week 1 of the ISO year, the one that holds 4 January."""
    return UpdatePeriod.WEEKLY.ordinal(days_from_civil(year, 1, 4) * DAY)


def _fields_of(period: UpdatePeriod, ordinal: int) -> dict[str, int]:
    start = period.start(ordinal)
    day, rest = divmod(start, DAY)
    if period is UpdatePeriod.WEEKLY:
        # The ISO year of a week is the calendar year of its Thursday.
        iso_year = civil_from_days(day + 3)[0]
        return {"YYYY": iso_year, "ww": ordinal - _first_week(iso_year) + 1}
    year, month, day_of_month = civil_from_days(day)
    hour, rest = divmod(rest, HOUR)
    return {"yyyy": year, "q": (month + 2) // 3, "MM": month, "dd": day_of_month, "HH": hour, "mm": rest // MINUTE}


def _ordinal_of(period: UpdatePeriod, fields: Mapping[str, int]) -> int:
    if period is UpdatePeriod.WEEKLY:
        return _first_week(fields["YYYY"]) + fields["ww"] - 1
    month = fields.get("MM", fields.get("q", 1) * 3 - 2)
    days = days_from_civil(fields["yyyy"], month, fields.get("dd", 1))
    return period.ordinal(days * DAY + fields.get("HH", 0) * HOUR + fields.get("mm", 0) * MINUTE)
