"""The parts of time layouts: a partition column with the type and the pattern of its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rewriter.errors import AnalysisError
from rewriter.timeline import time_patterns

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
