"""Time layouts: the mapping between the name of a partition and its time.

A layout is one or more partition columns, each with the pattern of its values or a type that needs none, such as
``ds 'yyyy-MM-dd', hr 'HH'`` or ``ds DATE``. It maps the ordinals of one update period to values and back, one to one.
It reads only values that it also writes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import combinations
from types import NoneType

from rewriter.errors import AnalysisError, DataError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import time_patterns
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

_YEARS = (MIN_YEAR, MAX_YEAR)
#: The smallest and largest numbers of the fields whose limits do not depend on the coarser fields.
_LIMITS = {"yyyy": _YEARS, "YYYY": _YEARS, "q": (1, 4), "MM": (1, 12), "HH": (0, 23), "mm": (0, 59)}
_COARSE_TO_FINE = tuple(time_patterns.WIDTHS)


#: The most ordinals that a layout keeps: three years of hours.
_MOST_ORDINALS = 30_000


@dataclass(frozen=True)
class TimeLayout:
    """The partition columns that name a period of one kind.

    Patterns may contain ``yyyy``, ``MM``, ``dd``, ``HH``, ``mm``, ``q`` (quarter), ``YYYY`` and ``ww`` (ISO week-based
    year and week), literals in single quotes (a doubled quote represents one), and punctuation. All text is of fixed
    width. A DATE or TIMESTAMP is the start of the period.

    Raises ``AnalysisError`` INVALID_TIME_LAYOUT if the columns do not name the period exactly.

    >>> hours = TimeLayout.of(UpdatePeriod.HOURLY, [("ds", "yyyy-MM-dd"), ("hr", "HH")])
    >>> hours.values(394902)
    ('2015-01-19', '06')
    >>> hours.ordinal(("2015-01-19", "06"))
    394902
    """

    period: UpdatePeriod
    parts: tuple[LayoutPart, ...]

    def __post_init__(self) -> None:
        _validate(self.period, self.parts)

    @classmethod
    def of(
        cls, period: UpdatePeriod, columns: Sequence[tuple[str, str | None]], types: Mapping[str, str] | None = None
    ) -> TimeLayout:
        """Returns a layout of (column, pattern) pairs; ``types`` holds the types of columns that are no strings.

        A single string or number column may omit its pattern and takes the period's default. The parts are put in the
        order of their fields, coarse to fine, in any order of the pairs.
        """
        parts = []
        for column, pattern in columns:
            type = (types or {}).get(column, STRING)
            if pattern is None and len(columns) == 1 and type not in SPELLINGS:
                pattern = default_pattern(period) if type == STRING else "".join(_FIELDS[period])
            parts.append(LayoutPart.of(column, type, pattern))
        return cls(period, tuple(sorted(parts, key=_coarsest)))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        return tuple(part.column for part in self.parts)

    @property
    def text_ordered(self) -> bool:
        """True if values, compared column by column as their types compare, are in the order of time."""
        letters = tuple(field for part in self.parts for field in part.fields)
        return letters == tuple(sorted(letters, key=_COARSE_TO_FINE.index))

    def values(self, ordinal: int) -> tuple[str, ...]:
        """Returns the canonical partition values of the period, one for each column. O(1).

        Raises ``DataError`` outside the years 1–9999, and before year 1000 if a number begins with the year.
        """
        fields = _fields_of(self.period, ordinal)
        field, least_year = self._least_year
        year = fields[field]
        if not least_year <= year <= MAX_YEAR:
            raise DataError(
                f"{self.period.name} period {ordinal} is in the year {year}, outside {least_year} to {MAX_YEAR}",
                condition="INVALID_TIME_PARTITION",
            )
        return tuple(part.write(fields) for part in self.parts)

    @cached_property
    def _least_year(self) -> tuple[str, int]:
        """The field of the year, and the smallest year that the values can name."""
        weekly = any("YYYY" in part.fields for part in self.parts)
        least_year = 1000 if any(part.has_all_digits for part in self.parts) else MIN_YEAR
        return "YYYY" if weekly else "yyyy", least_year

    @cached_property
    def _coarse_to_fine(self) -> tuple[str, ...]:
        """The fields of all parts, each before the fields that it limits."""
        return tuple(sorted((field for part in self.parts for field in part.fields), key=_COARSE_TO_FINE.index))

    def ordinal(self, values: Sequence[str | None]) -> int:
        """Returns the ordinal of the period that the values name. They must equal, to the letter, what ``values``
        returns. O(1). The layout keeps the last ones.

        Raises ``DataError`` INVALID_TIME_PARTITION, naming column, value and pattern: '2015-13' is not a month.
        """
        key = tuple(values)
        ordinal = self._ordinals.get(key)
        if ordinal is None:
            if len(self._ordinals) >= _MOST_ORDINALS:
                self._ordinals.clear()
            ordinal = self._ordinals[key] = self._read(key)
        return ordinal

    def ordinals(self, values: Sequence[tuple[str | None, ...]]) -> list[int | None]:
        """Returns ``ordinal`` of each of the values, ``None`` where that raises. Calls nothing for values that the
        layout has kept.
        """
        ordinals = list(map(self._ordinals.get, values))
        if None in ordinals:
            for at, ordinal in enumerate(ordinals):
                if ordinal is None:
                    with suppress(DataError):
                        ordinals[at] = self.ordinal(values[at])
        return ordinals

    @cached_property
    def _ordinals(self) -> dict[tuple[str | None, ...], int]:
        return {}

    def _read(self, values: tuple[str | None, ...]) -> int:
        if len(values) != len(self.parts):
            raise DataError(
                f"{len(values)} values for the {len(self.parts)} time partition columns {', '.join(self.columns)}",
                condition="INVALID_TIME_PARTITION",
            )
        digits_of: dict[str, tuple[str, LayoutPart, str]] = {}
        for part, value in zip(self.parts, values, strict=True):
            read = None if value is None else part.read(value)
            if value is None or read is None:
                raise self._unreadable(part, value)
            for field, digits in read.items():
                digits_of[field] = digits, part, value
        fields: dict[str, int] = {}
        for field in self._coarse_to_fine:
            digits, part, value = digits_of[field]
            number = fields[field] = int(digits)
            low, high = _LIMITS.get(field) or _limits(field, fields)
            if not low <= number <= high:
                raise self._unreadable(part, value, f"{_NAMES[field]} {digits} is not in {low}–{high}")
        ordinal = _ordinal_of(self.period, fields)
        if len(self.parts) == 1 and self.parts[0].type in SPELLINGS and self.values(ordinal) != values:
            raise self._unreadable(self.parts[0], values[0], f"no {self.period.name} period starts then")
        return ordinal

    def regex(self, index: int) -> str:
        """Returns a regular expression that matches all text of the column and distinguishes the default layouts.

        It is anchored and plain enough for Java and RE2. It checks the form only: '2015-13' matches, and ``ordinal``
        rejects it.
        """
        return time_patterns.regex(self.parts[index].pattern)

    def fields(self, index: int) -> tuple[tuple[str, int, int], ...]:
        """Returns the fields in a column's text as (letters, offset from 0, width). For a number: in its text with
        leading zeros.

        >>> TimeLayout.of(UpdatePeriod.MONTHLY, [("ds", "yyyy-MM")]).fields(0)
        (('yyyy', 0, 4), ('MM', 5, 2))
        """
        positions, offset = [], 0
        for token in time_patterns.tokens(self.parts[index].pattern):
            if token.is_field:
                positions.append((token.text, offset, token.width))
            offset += token.width
        return tuple(positions)

    def to_json(self) -> dict[str, object]:
        """Returns the layout as plain data, which ``from_json`` reads back. String columns have no type in it."""
        parts = []
        for part in self.parts:
            pattern = {} if part.type in SPELLINGS else {"pattern": part.pattern}
            parts.append({"column": part.column, **pattern, **({} if part.type == STRING else {"type": part.type})})
        return {"period": self.period.name, "parts": parts}

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> TimeLayout:
        """Returns the layout that ``to_json`` wrote. Raises the errors of the constructor, also for malformed data."""
        name, parts = data.get("period"), data.get("parts")
        if not isinstance(name, str) or not isinstance(parts, list):
            raise _malformed(data)
        pairs: list[tuple[str, str | None]] = []
        types: dict[str, str] = {}
        for part in parts:
            properties = part if isinstance(part, dict) else {}
            column, pattern, type = properties.get("column"), properties.get("pattern"), properties.get("type", STRING)
            if not isinstance(column, str) or not isinstance(type, str):
                raise _malformed(data)
            if not isinstance(pattern, str if type not in SPELLINGS else NoneType):
                raise _malformed(data)
            pairs.append((column, pattern))
            types[column] = type
        return cls.of(UpdatePeriod.named(name), pairs, types)

    def _unreadable(self, part: LayoutPart, value: str | None, reason: str = "") -> DataError:
        value_text = "NULL" if value is None else f"'{value}'"
        type_or_pattern = f"type {part.type.upper()}" if part.type in SPELLINGS else f"pattern {part.pattern}"
        return DataError(
            f"{part.column} = {value_text} is not a {self.period.name} partition of the {type_or_pattern}"
            + (f": {reason}" if reason else ""),
            condition="INVALID_TIME_PARTITION",
            object=part.column,
            hint=f"A value of {part.column} looks like '{self.values(_EXAMPLE[self.period])[self.parts.index(part)]}'.",
        )


def default_pattern(period: UpdatePeriod) -> str:
    """Returns the pattern of a string layout that declares none.

    >>> default_pattern(UpdatePeriod.DAILY)
    'yyyy-MM-dd'
    """
    return _DEFAULTS[period]


def check_distinguishable(layouts: Collection[TimeLayout]) -> None:
    """Raises ``AnalysisError`` AMBIGUOUS_TIME_LAYOUT if partitions of two periods could have the same values."""
    for layout, other in combinations(layouts, 2):
        other_parts = {part.column.lower(): part for part in other.parts}
        if {part.column.lower() for part in layout.parts} == other_parts.keys() and all(
            part.may_equal(other_parts[part.column.lower()]) for part in layout.parts
        ):
            columns_text = ", ".join(part.declared for part in layout.parts)
            raise AnalysisError(
                f"{layout.period.name} and {other.period.name} partitions could both have the same value of "
                f"{columns_text}",
                condition="AMBIGUOUS_TIME_LAYOUT",
                object=layout.columns[0],
                hint=f"Declare {layout.columns[0]} STRING, whose default patterns distinguish periods, or "
                "use a separate table for each period.",
            )


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


def _coarsest(part: LayoutPart) -> int:
    return min((_COARSE_TO_FINE.index(field) for field in part.fields), default=0)


def _validate(period: UpdatePeriod, parts: tuple[LayoutPart, ...]) -> None:
    if not parts:
        raise _invalid("a time layout needs at least one column", period)
    names = [part.column.lower() for part in parts]
    for part in parts:
        if names.count(part.column.lower()) > 1:
            raise _invalid(f"column '{part.column}' occurs twice in the layout", period, object=part.column)
        if not part.fields:
            raise _invalid(f"the pattern of column '{part.column}' has no time field", period, object=part.column)
    letters = [field for part in parts for field in part.fields]
    if len(parts) == 1 and (
        parts[0].type == TIMESTAMP or (parts[0].type == DATE and period.value >= UpdatePeriod.DAILY)
    ):
        return
    if sorted(letters) != sorted(_FIELDS[period]):
        raise _invalid(f"the fields {' '.join(letters)} do not name a {period.name} period exactly", period)


def _invalid(message: str, period: UpdatePeriod, object: str | None = None) -> AnalysisError:
    return AnalysisError(
        message,
        condition="INVALID_TIME_LAYOUT",
        object=object,
        hint=f"{period.name} needs {' '.join(_FIELDS[period])}, each once, as in {_DEFAULTS[period]}.",
    )


def _malformed(data: Mapping[str, object]) -> AnalysisError:
    return AnalysisError(f"this is not a time layout: {dict(data)!r}", condition="INVALID_TIME_LAYOUT")


def _limits(field: str, fields: Mapping[str, int]) -> tuple[int, int]:
    """Returns the smallest and largest day or week, given the coarser fields."""
    if field == "dd":
        return 1, month_length(fields["yyyy"], fields["MM"])
    year = fields["YYYY"]
    return 1, _first_week(year + 1) - _first_week(year)


def _first_week(year: int) -> int:
    """Returns the ordinal of week 1 of the ISO year, the week that contains 4 January."""
    return UpdatePeriod.WEEKLY.ordinal(days_from_civil(year, 1, 4) * DAY)


def _fields_of(period: UpdatePeriod, ordinal: int) -> dict[str, int]:
    """Returns the fields of the period's start and, for a week, the fields of that week."""
    day, remainder = divmod(period.start(ordinal), DAY)
    year, month, day_of_month = civil_from_days(day)
    hour, remainder = divmod(remainder, HOUR)
    fields = {
        "yyyy": year,
        "q": (month + 2) // 3,
        "MM": month,
        "dd": day_of_month,
        "HH": hour,
        "mm": remainder // MINUTE,
    }
    if period is UpdatePeriod.WEEKLY:
        # The ISO year of a week is the calendar year of its Thursday.
        iso_year = civil_from_days(day + 3)[0]
        fields |= {"YYYY": iso_year, "ww": ordinal - _first_week(iso_year) + 1}
    return fields


def _ordinal_of(period: UpdatePeriod, fields: Mapping[str, int]) -> int:
    """Returns the ordinal of the period that contains the time that the fields name."""
    if "YYYY" in fields:
        return _first_week(fields["YYYY"]) + fields["ww"] - 1
    month = fields.get("MM", fields.get("q", 1) * 3 - 2)
    days = days_from_civil(fields["yyyy"], month, fields.get("dd", 1))
    return period.ordinal(days * DAY + fields.get("HH", 0) * HOUR + fields.get("mm", 0) * MINUTE)


# The parts of time layouts: a partition column with the type and the pattern of its values.

STRING, DATE, TIMESTAMP = "string", "date", "timestamp"

#: The spelling of values of these types, which need no pattern. Every period starts at a whole minute.
SPELLINGS = {DATE: "yyyy-MM-dd", TIMESTAMP: "yyyy-MM-dd HH:mm':00'"}

#: The number of digits that numbers of these types can have with any digits.
_INTEGER_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}

_YEAR_FIELDS = ("yyyy", "YYYY")


@dataclass(frozen=True)
class LayoutPart:
    """One partition column, the pattern of its values' text, and its type as Spark names it, without aliases.

    A number is the pattern's digits without leading zeros. A number that begins with the year has all digits of its
    pattern, so that its length distinguishes 201501 from 20150101.
    """

    column: str
    pattern: str
    type: str = STRING

    @classmethod
    def of(cls, column: str, type: str, pattern: str | None) -> LayoutPart:
        """Returns a part as declared. Raises ``AnalysisError`` INVALID_TIME_LAYOUT if the type does not allow the
        pattern.
        """
        spelling = SPELLINGS.get(type)
        if spelling is not None and pattern is not None:
            raise AnalysisError(
                f"column '{column}' is a {type.upper()}, which cannot have a pattern",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"Remove the pattern of {column}: its value is the start of the period.",
            )
        if spelling is None and pattern is None:
            raise AnalysisError(
                f"column '{column}' has no pattern, and default patterns exist only for single-column layouts",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"Write {column} = 'pattern', with patterns that together name the period.",
            )
        part = cls(column, spelling or pattern or "", type)
        if part.is_number:
            part._check_number()
        elif type != STRING and spelling is None:
            raise AnalysisError(
                f"column '{column}' has the type {type}, which cannot represent a time",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"Declare {column} STRING, DATE, TIMESTAMP, or as an integer.",
            )
        return part

    @cached_property
    def is_number(self) -> bool:
        """True if the column is of an integer type."""
        return self.type in _INTEGER_DIGITS

    @property
    def declared(self) -> str:
        """The part as CREATE FACT takes it: ``hr = 'HH'``, or ``ds`` where the type needs no pattern."""
        return self.column if self.type in SPELLINGS else f"{self.column} = '{self.pattern}'"

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The letters of its time fields, in the order of the pattern."""
        return time_patterns.fields(self.pattern)

    @property
    def has_all_digits(self) -> bool:
        """True if the part is a number that begins with the year."""
        return self.is_number and self.fields[0] in _YEAR_FIELDS

    def may_equal(self, other: LayoutPart) -> bool:
        """Tests whether this part and another part of the same column could have a value in common."""
        if self.type == STRING:
            return time_patterns.regex(self.pattern) == time_patterns.regex(other.pattern)
        has_other_width = time_patterns.width(self.pattern) != time_patterns.width(other.pattern)
        return not (self.has_all_digits and other.has_all_digits and has_other_width)

    def write(self, numbers: Mapping[str, int]) -> str:
        """Returns the canonical value for the numbers of the fields.

        >>> LayoutPart.of("month", "int", "yyyyMM").write({"yyyy": 2015, "MM": 1})
        '201501'
        """
        text = time_patterns.write(self.pattern, numbers)
        return str(int(text)) if self.is_number else text

    def read(self, value: str) -> dict[str, str] | None:
        """Returns the digits of each field; ``None`` for a text that is no value of the column. The ranges of the
        numbers are not checked.
        """
        text = value
        if self.is_number:
            width = time_patterns.width(self.pattern)
            plain = value.isascii() and value.isdigit() and (value == "0" or value[0] != "0")
            if not plain or (self.has_all_digits and len(value) != width):
                return None
            text = value.zfill(width)
        digits = time_patterns.read(self.pattern, text)
        return None if digits is None else dict(zip(self.fields, digits, strict=True))

    def _check_number(self) -> None:
        text = next((token.text for token in time_patterns.tokens(self.pattern) if not token.is_field), None)
        if text is not None:
            raise AnalysisError(
                f"{text!r} in the pattern {self.pattern!r} cannot be part of a number, and "
                f"'{self.column}' has the type {self.type}",
                condition="INVALID_TIME_LAYOUT",
                object=self.column,
                hint=f"Write fields only, as in {''.join(self.fields)}, or declare {self.column} STRING.",
            )
        width = time_patterns.width(self.pattern)
        if width > _INTEGER_DIGITS[self.type]:
            wide = next((type for type, digits in _INTEGER_DIGITS.items() if digits >= width), STRING)
            raise AnalysisError(
                f"column '{self.column}' has the type {self.type}, which cannot hold all numbers of {width} digits",
                condition="INVALID_TIME_LAYOUT",
                object=self.column,
                hint=f"Declare {self.column} {wide.upper()}.",
            )
