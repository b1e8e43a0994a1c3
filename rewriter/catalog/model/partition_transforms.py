"""Transforms of PARTITIONED BY: a hidden partition column that is computed from a time in a data column.

``PARTITIONED BY (days(ts))`` makes the partition column ``ts_day DATE``. No query sees it: every write computes it from
``ts``, and conditions on ``ts`` choose partitions by it. Its value is the start of the period of ``ts``, in UTC, as
that of Iceberg's transforms; of a NULL it is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod

#: The period and the type of the values of each transform.
_VALUES: Mapping[str, tuple[UpdatePeriod, str]] = {
    "years": (UpdatePeriod.YEARLY, "date"),
    "months": (UpdatePeriod.MONTHLY, "date"),
    "days": (UpdatePeriod.DAILY, "date"),
    "hours": (UpdatePeriod.HOURLY, "timestamp"),
}


@dataclass(frozen=True)
class PartitionTransform:
    """``function(source)``: ``function`` is years, months, days or hours, and ``source`` the name of a data column.

    >>> transform = PartitionTransform("days", "ts")
    >>> transform.column, transform.type
    ('ts_day', 'date')
    """

    function: str
    source: str

    @property
    def column(self) -> str:
        """The name of the hidden partition column."""
        return f"{self.source}_{self.function.removesuffix('s')}"

    @property
    def period(self) -> UpdatePeriod:
        """The period whose start is the value."""
        return _VALUES[self.function][0]

    @property
    def type(self) -> str:
        """The type of the hidden partition column."""
        return _VALUES[self.function][1]

    @cached_property
    def layout(self) -> TimeLayout:
        """The layout of the values."""
        return TimeLayout.of(self.period, [(self.column, None)], {self.column: self.type})

    def value_sql(self, time: str, type: str) -> str:
        """Returns the value as Spark SQL. ``time`` is the SQL of the value of the source, of ``type`` or of a type
        that an INSERT assigns to it.
        """
        moment = f"CAST({time} AS {type})"
        match self.period:
            case UpdatePeriod.HOURLY:
                return f"date_trunc('HOUR', {moment})"
            case UpdatePeriod.DAILY:
                return f"CAST({moment} AS DATE)"
            case _:
                return f"trunc(CAST({moment} AS DATE), '{'MM' if self.period is UpdatePeriod.MONTHLY else 'YEAR'}')"
