"""The parts of time layouts: a partition column with the type and the pattern of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rewriter.errors import AnalysisError
from rewriter.timeline import time_patterns

STRING, DATE, TIMESTAMP = "string", "date", "timestamp"

#: How the values of these types are spelled, so that they need no pattern. Every period starts at a whole minute.
SPELLINGS = {DATE: "yyyy-MM-dd", TIMESTAMP: "yyyy-MM-dd HH:mm':00'"}

#: How many digits the numbers of these types can have, whatever the digits are.
_INTEGER_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}

_YEAR_FIELDS = ("yyyy", "YYYY")


@dataclass(frozen=True)
class LayoutPart:
    """One partition column, the pattern of its values' text, and its type: Spark's word for it, without aliases.

    A number is the pattern's digits without leading zeros. One that begins with the year has all digits of its
    pattern, so that its length tells 201501 from 20150101.
    """

    column: str
    pattern: str
    type: str = STRING

    @classmethod
    def of(cls, column: str, type: str, pattern: str | None) -> LayoutPart:
        """A part as declared; ``AnalysisError`` INVALID_TIME_LAYOUT for a type with a pattern that it cannot have."""
        spelling = SPELLINGS.get(type)
        if spelling is not None and pattern is not None:
            raise AnalysisError(
                f"column '{column}' is a {type.upper()}, which has no pattern",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"leave the pattern of {column} out: its value is where the period starts",
            )
        if spelling is None and pattern is None:
            raise AnalysisError(
                f"column '{column}' has no pattern, and a default one serves a single column only",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"write {column} = 'pattern', with patterns that together name the period",
            )
        part = cls(column, spelling or pattern or "", type)
        if part.is_number:
            part._check_number()
        elif type != STRING and spelling is None:
            raise AnalysisError(
                f"column '{column}' is of the type {type}, which names no time",
                condition="INVALID_TIME_LAYOUT",
                object=column,
                hint=f"declare {column} STRING, DATE, TIMESTAMP, or as an integer",
            )
        return part

    @property
    def is_number(self) -> bool:
        """Whether the column is of an integer type."""
        return self.type in _INTEGER_DIGITS

    @property
    def declared(self) -> str:
        """The part as CREATE FACT takes it: ``hr = 'HH'``, or ``ds`` where the type needs no pattern."""
        return self.column if self.type in SPELLINGS else f"{self.column} = '{self.pattern}'"

    @property
    def fields(self) -> tuple[str, ...]:
        """The letters of its fields, in the pattern's order."""
        return time_patterns.fields(self.pattern)

    @property
    def has_all_digits(self) -> bool:
        """Whether it is a number that begins with the year."""
        return self.is_number and self.fields[0] in _YEAR_FIELDS

    def may_equal(self, other: LayoutPart) -> bool:
        """Whether a value of this part and one of another part of the same column could be the same."""
        if self.type == STRING:
            return time_patterns.regex(self.pattern) == time_patterns.regex(other.pattern)
        different = time_patterns.width(self.pattern) != time_patterns.width(other.pattern)
        return not (self.has_all_digits and other.has_all_digits and different)

    def write(self, numbers: Mapping[str, int]) -> str:
        """The canonical value for the numbers of the fields."""
        text = time_patterns.write(self.pattern, numbers)
        return str(int(text)) if self.is_number else text

    def read(self, value: str) -> dict[str, str] | None:
        """The digits of each field; ``None`` for what is no value of the column. Their numbers are not judged."""
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
                f"{text!r} in the pattern {self.pattern!r} is no part of a number, and '{self.column}' is of the type "
                f"{self.type}",
                condition="INVALID_TIME_LAYOUT",
                object=self.column,
                hint=f"write fields only, as in {''.join(self.fields)}, or declare {self.column} STRING",
            )
        width = time_patterns.width(self.pattern)
        if width > _INTEGER_DIGITS[self.type]:
            wide = next((type for type, digits in _INTEGER_DIGITS.items() if digits >= width), STRING)
            raise AnalysisError(
                f"column '{self.column}' is of the type {self.type}, which does not hold all numbers of {width} digits",
                condition="INVALID_TIME_LAYOUT",
                object=self.column,
                hint=f"declare {self.column} {wide.upper()}",
            )
