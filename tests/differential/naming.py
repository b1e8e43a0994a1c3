"""The names of time in partition columns, independent of the code under test: types and patterns of columns.

A form lists columns as ``name type pattern``, in the order of the table: ``hr int HH; ds date``. A DATE or TIMESTAMP is
the start of the period. A single column may use the period's default pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from rewriter.timeline.periods import UpdatePeriod

from .periods import Period

P = UpdatePeriod
_DEFAULTS = {
    P.MINUTELY: "yyyy-MM-dd-HH-mm", P.HOURLY: "yyyy-MM-dd-HH", P.DAILY: "yyyy-MM-dd", P.WEEKLY: "YYYY-'W'ww",
    P.MONTHLY: "yyyy-MM", P.QUARTERLY: "yyyy-'Q'q", P.YEARLY: "yyyy",
}  # fmt: skip
_SPELT = {"date": "yyyy-MM-dd", "timestamp": "yyyy-MM-dd HH:mm:00"}
_WORDS = {"date": "DATE ", "timestamp": "TIMESTAMP "}
_FIELD = re.compile(r"'([^']*)'|yyyy|YYYY|MM|dd|HH|mm|ww|q")

#: Forms of each period other than plain texts in the order of time.
TYPED_FORMS: Mapping[UpdatePeriod, tuple[str, ...]] = {
    P.MINUTELY: (
        "dt bigint", "ts timestamp", "ds date; hm int HHmm", "mi tinyint mm; hr int HH; ds date",
        "dt string HH:mm' on 'dd.MM.yyyy",
    ),
    P.HOURLY: (
        "dt bigint", "ts timestamp", "ds date; hr tinyint HH", "y smallint yyyy; mo tinyint MM; d int dd; h bigint HH",
        "dt string HH:dd-MM-yyyy", "hd int HHddMM; y int yyyy", "hr int HH; ds date",
    ),
    P.DAILY: (
        "dt int", "ts timestamp", "ds date", "y string yyyy; mo string 'm'MM; d string dd",
        "ym int yyyyMM; d string dd", "dt string dd'th of 'MM, yyyy", "dt int ddMMyyyy",
        "d string dd; ym string yyyy-MM", "y int yyyy; md int MMdd",
    ),
    P.WEEKLY: (
        "dt int", "ts timestamp", "ds date", "y string YYYY; w string ww", "y int YYYY; w tinyint ww",
        "dt string ww/YYYY", "dt int wwYYYY", "w string ww; y int YYYY",
    ),
    P.MONTHLY: (
        "dt int", "ts timestamp", "ds date", "y string yyyy; mo int MM", "dt string MM.yyyy", "dt int MMyyyy",
        "mo tinyint MM; y string yyyy",
    ),
    P.QUARTERLY: (
        "dt int", "ts timestamp", "ds date", "q int q; y int yyyy", "dt string q/yyyy", "y int yyyy; q string q",
    ),
    P.YEARLY: ("dt smallint", "ts timestamp", "ds date", "dt string 'in 'yyyy"),
}  # fmt: skip


@dataclass(frozen=True)
class TimeColumn:
    """A partition column: its type, and its declared pattern (``""``: none)."""

    name: str
    type: str
    pattern: str

    @property
    def is_number(self) -> bool:
        return self.type.endswith("int")

    @property
    def clause(self) -> str:
        """The clause of CREATE FACT."""
        return f'{self.name} = "{self.pattern}"' if self.pattern else self.name


@dataclass(frozen=True)
class Naming:
    """The partition columns that name periods of one kind, in the order of the table."""

    period: Period
    columns: tuple[TimeColumn, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def declared(self) -> list[str]:
        return [f"{column.name} {column.type.upper()}" for column in self.columns]

    @property
    def clause(self) -> str:
        return f"({', '.join(column.clause for column in self.columns)})"

    def prefixed(self, prefix: str) -> Naming:
        """Returns the same columns with other names."""
        return replace(self, columns=tuple(replace(column, name=f"{prefix}{column.name}") for column in self.columns))

    def literals(self, ordinal: int | None) -> list[str]:
        """Returns the values of a period as SQL, or those of no time."""
        if ordinal is None:
            return ["NULL"] * len(self.columns)
        return list(_literals(self, ordinal))

    def pattern(self, column: TimeColumn) -> str:
        """Returns the pattern of a column. The pattern of a number has only fields."""
        default = _SPELT.get(column.type) or column.pattern or _DEFAULTS[self.period.kind]
        return "".join(match[0] for match in _FIELD.finditer(default) if not match[1]) if column.is_number else default

    def begins(self, finer: Naming) -> int:
        """Returns the number of first characters of a finer period's text that are this period's text, or 0 if they are
        not.
        """
        coarse, fine = self.columns[0], finer.columns[0]
        if len(self.columns) > 1 or coarse.name != fine.name or (coarse.type, fine.type) != ("string", "string"):
            return 0
        mine, finer_pattern = self.pattern(coarse), finer.pattern(fine)
        return len(mine) if finer_pattern.startswith(mine) and "'" not in mine else 0


def named(form: str, period: Period) -> Naming:
    """Returns the columns of a form."""
    columns = (column.split(" ", 2) for column in form.split("; "))
    return Naming(period, tuple(TimeColumn(name, type_, "".join(rest)) for name, type_, *rest in columns))


@cache
def _literals(naming: Naming, ordinal: int) -> tuple[str, ...]:
    return tuple(_literal(column, naming, ordinal) for column in naming.columns)


def _literal(column: TimeColumn, naming: Naming, ordinal: int) -> str:
    at = naming.period.civil(ordinal)
    iso_year, week, _ = at.isocalendar()
    fields = {
        "yyyy": f"{at.year:04}", "YYYY": f"{iso_year:04}", "MM": f"{at.month:02}", "ww": f"{week:02}",
        "dd": f"{at.day:02}", "HH": f"{at.hour:02}", "mm": f"{at.minute:02}", "q": str((at.month + 2) // 3),
    }  # fmt: skip
    text = _FIELD.sub(lambda match: fields.get(match[0], match[1] or ""), naming.pattern(column))
    return str(int(text)) if column.is_number else f"{_WORDS.get(column.type, '')}'{text}'"
