"""Times, periods and names of partitions, as the checker of certificates understands them.

Times are microseconds since 1970-01-01 in UTC; ``FIRST`` and ``LAST`` stand for no bound. HOURLY and MINUTELY periods
are those of UTC, DAILY and coarser ones those of the cube's zone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from rewriter.certificate.evidence import NotUnderstood

FIRST, LAST = -(1 << 62), 1 << 62
#: A range of times: the first, and the first behind it.
Range = tuple[int, int]

#: A range of a forged certificate could have 88 million hours.
_MOST_PERIODS = 1_000_000
_EPOCH = datetime(1970, 1, 1)
_DAY = 86_400_000_000
_OFFSET = re.compile(r"(.*:\d\d(?:\.\d+)?) ?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_FORMAT = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[T \-](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d{1,6}))?)?)?)?)?)?",
    re.ASCII,
)
#: The periods that consist of whole ones of each kind.
NESTS: Mapping[str, tuple[str, ...]] = {
    "MINUTELY": ("MINUTELY", "HOURLY", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
    "HOURLY": ("HOURLY", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
    "DAILY": ("DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
    "WEEKLY": ("WEEKLY",),
    "MONTHLY": ("MONTHLY", "QUARTERLY", "YEARLY"),
    "QUARTERLY": ("QUARTERLY", "YEARLY"),
    "YEARLY": ("YEARLY",),
}
FINEST_FIRST = tuple(NESTS)


def instant(shown: datetime) -> int:
    """Returns the microseconds of a time in UTC."""
    return (shown - _EPOCH) // timedelta(microseconds=1)


def moment(at: int) -> datetime:
    """Returns the time in UTC of microseconds. Raises ``NotUnderstood`` outside of the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(microseconds=at)
    except OverflowError:
        raise NotUnderstood("a time outside of the years 1 to 9999") from None


def to_clocks(at: int, zone: str) -> datetime:
    """Returns what the clocks of a zone show at a time."""
    utc = moment(at)
    return utc if zone == "UTC" else utc.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def from_clocks(shown: datetime, zone: str) -> int:
    """Returns the time at which the clocks of a zone show something; the earlier one of two, and behind a gap as much
    later as the gap is long.
    """
    offset = timedelta() if zone == "UTC" else ZoneInfo(zone).utcoffset(shown) or timedelta()
    return instant(shown - offset)


@lru_cache(maxsize=100_000)
def read_time(text: str, zone: str) -> int | None:
    """Returns the time of a literal such as '2013-01', '2013-01-29 06:00' or '2013-01-29T06:00:00.5' on the clocks of
    a zone, or in its own zone: '2013-01-29 06:00:00Z', '…+09:00'; ``None`` for another text.
    """
    with_offset = _OFFSET.fullmatch(text.strip())
    if with_offset is not None:
        at = read_time(with_offset[1], "UTC")
        minutes = int(with_offset[3] or 0) * 60 + int(with_offset[4] or 0)
        return None if at is None else at - (-1 if with_offset[2] == "-" else 1) * minutes * 60_000_000
    matched = _FORMAT.fullmatch(text.strip())
    if matched is None:
        return None
    year, month, day, hour, minute, second, fraction = matched.groups()
    try:
        shown = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0))
    except ValueError:
        return None
    return from_clocks(shown + timedelta(microseconds=int((fraction or "0").ljust(6, "0"))), zone)


def time_text(at: int) -> str | None:
    """Returns the text of a time in certificates: in UTC, ``None`` for no bound."""
    return None if at in (FIRST, LAST) else f"{moment(at).isoformat()}Z"


def floor(period: str, zone: str, at: int) -> int:
    """Returns the start of the period that contains a time."""
    if period in ("MINUTELY", "HOURLY"):
        size = 60_000_000 if period == "MINUTELY" else 3_600_000_000
        return at - at % size
    day = to_clocks(at, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "WEEKLY":
        day -= timedelta(days=day.weekday())
    elif period != "DAILY":
        month = {"MONTHLY": day.month, "QUARTERLY": (day.month - 1) // 3 * 3 + 1, "YEARLY": 1}[period]
        day = day.replace(month=month, day=1)
    return from_clocks(day, zone)


def following(period: str, zone: str, start: int) -> int:
    """Returns the start of the period behind the one that begins at ``start``."""
    if period in ("MINUTELY", "HOURLY"):
        return start + (60_000_000 if period == "MINUTELY" else 3_600_000_000)
    day = to_clocks(start, zone)
    # A skipped midnight shows a later time: the day is what counts.
    day = day.replace(hour=0, minute=0, second=0, microsecond=0)
    if period in ("DAILY", "WEEKLY"):
        return from_clocks(day + timedelta(days=7 if period == "WEEKLY" else 1), zone)
    months = day.year * 12 + day.month - 1 + {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}[period]
    return from_clocks(day.replace(year=months // 12, month=months % 12 + 1), zone)


def starts(period: str, zone: str, range_: Range) -> list[int]:
    """Returns the starts of the periods of a range. Raises ``ValueError`` if its bounds are not bounds of periods."""
    at, end = range_
    if floor(period, zone, at) != at or floor(period, zone, end) != end:
        raise ValueError(f"{time_text(at)} to {time_text(end)} does not consist of whole {period} periods")
    result: list[int] = []
    while at < end:
        if len(result) == _MOST_PERIODS:
            raise NotUnderstood(f"a piece of more than {_MOST_PERIODS:,} periods")
        result.append(at)
        at = following(period, zone, at)
    return result


def offset(zone: str, at: int) -> int:
    """Returns how much later the clocks of a zone show a time than those of UTC, in microseconds."""
    return instant(to_clocks(at, zone)) - at


def transitions(zone: str, range_: Range) -> list[int]:
    """Returns the times of a range at which the clocks of a zone are changed; days between two changes."""
    if zone == "UTC":
        return []
    begin, end = range_
    if end - begin > _MOST_PERIODS * 3_600_000_000:
        raise NotUnderstood("the clocks of more than a century")
    changes = []
    for low in range(begin, end, _DAY):
        high = min(low + _DAY, end)
        before = offset(zone, low)
        if offset(zone, high) == before:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
        changes.append(high)
    return changes


_FIELDS = {"yyyy": 4, "YYYY": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ww": 2, "q": 1}
_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|.", re.DOTALL)


@cache
def _compiled(pattern: str) -> tuple[re.Pattern[str], str, int]:
    """Returns the expression that reads a pattern of a layout, the format that writes it, and its width."""
    expression, written, width = "", "", 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if f"<{text}>" in expression:
            raise NotUnderstood(f"the letters {text} twice in the pattern {pattern}")
        if text in _FIELDS:
            expression += rf"(?P<{text}>\d{{{_FIELDS[text]}}})"
            written += f"{{{text}:0{_FIELDS[text]}d}}"
            width += _FIELDS[text]
            continue
        if token[2] is not None:
            raise NotUnderstood(f"the letter {text} in the pattern {pattern}")
        literal = text if token[1] is None else token[1].replace("''", "'") or "'"
        expression += re.escape(literal)
        written += literal.replace("{", "{{").replace("}", "}}")
        width += len(literal)
    return re.compile(expression, re.ASCII), written, width


@lru_cache(maxsize=100_000)
def _fields(pattern: str, text: str) -> Mapping[str, int] | None:
    """Returns the numbers of a text by the letters of a pattern such as 'yyyy-MM'; ``None`` for another text."""
    matched = _compiled(pattern)[0].fullmatch(text)
    return None if matched is None else {name: int(digits) for name, digits in matched.groupdict().items()}


def read_pattern(pattern: str, text: str) -> datetime | None:
    """Returns what clocks show at the beginning of the period that a text names by a pattern such as 'yyyy-MM'."""
    fields = _fields(pattern, text)
    return None if fields is None else _shown(fields)


def _shown(fields: Mapping[str, int]) -> datetime | None:
    try:
        if "YYYY" in fields:
            day = date.fromisocalendar(fields["YYYY"], fields["ww"], 1)
            return datetime(day.year, day.month, day.day)
        month = fields["q"] * 3 - 2 if "q" in fields else fields.get("MM", 1)
        return datetime(fields["yyyy"], month, fields.get("dd", 1), fields.get("HH", 0), fields.get("mm", 0))
    except (ValueError, KeyError):
        return None


class Layout:
    """A layout: partition columns that name a period. ``parts`` are those of the catalog's definition of a fact."""

    def __init__(self, period: str, parts: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
        self.period = period
        names = [column.lower() for column in columns]
        #: The position of the column, its pattern and its type.
        self.parts = [
            (names.index(part["column"].lower()), part.get("pattern"), part.get("type", "string")) for part in parts
        ]

    @property
    def positions(self) -> frozenset[int]:
        return frozenset(position for position, _, _ in self.parts)

    def start(self, values: Sequence[str | None], zone: str) -> int | None:
        """Returns the start of the period that partition values name; ``None`` where they name none."""
        fields: dict[str, int] = {}
        for position, pattern, type in self.parts:
            value = values[position]
            if value is None:
                return None
            if pattern is None:
                try:
                    begin = datetime.fromisoformat(value)
                except ValueError:
                    return None
                if len(self.parts) == 1:
                    return from_clocks(begin, self._zone(zone))
                if type != "date":
                    raise NotUnderstood(f"a {type} among several columns of a layout")
                fields |= {"yyyy": begin.year, "MM": begin.month, "dd": begin.day}
                continue
            is_text = type in ("string", "varchar", "char")
            named = _fields(pattern, value if is_text else value.zfill(_compiled(pattern)[2]))
            if named is None:
                return None
            fields |= named
        shown = _shown(fields)
        return None if shown is None else from_clocks(shown, self._zone(zone))

    def _zone(self, zone: str) -> str:
        return "UTC" if self.period in ("MINUTELY", "HOURLY") else zone

    def text_bounds(self, range_: Range, zone: str) -> tuple[str, str] | tuple[None, None]:
        """Returns texts of the first partition column between which all periods of a range lie; ``None`` for no
        bounds.
        """
        position, pattern, type = self.parts[0]
        if position != 0 or type != "string" or pattern is None or FIRST in range_ or LAST in range_:
            return None, None
        if not re.fullmatch(r"yyyy\W?(?:MM\W?(?:dd\W?(?:HH\W?(?:mm)?)?)?)?", pattern):
            return None, None
        written = _compiled(pattern)[1]
        bounds = [to_clocks(at, self._zone(zone)) for at in (range_[0], range_[1] - 1)]
        low, high = (written.format(yyyy=at.year, MM=at.month, dd=at.day, HH=at.hour, mm=at.minute) for at in bounds)
        return low, high


def union(ranges: Sequence[Range]) -> list[Range]:
    """Returns the same times as disjoint ranges, in order."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def intersection(left: Sequence[Range], right: Sequence[Range]) -> list[Range]:
    """Returns the times that are in both."""
    return union([(max(a, c), min(b, d)) for a, b in left for c, d in right])


def complement(ranges: Sequence[Range]) -> list[Range]:
    """Returns all other times."""
    edges = [FIRST, *(edge for range_ in union(ranges) for edge in range_), LAST]
    return union(list(zip(edges[::2], edges[1::2], strict=True)))


def difference(left: Sequence[Range], right: Sequence[Range]) -> list[Range]:
    """Returns the times that are only in the left ones."""
    return intersection(left, complement(right))
