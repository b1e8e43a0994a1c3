"""The table properties about timelines (seed 000): which class each one is kept in, and whether they are there.

Each timeline of a storage table may choose a class by ``<PREFIX><PERIOD>.<column>.storage.class``; the column is the
partition column that names its time (of several, any), or the time dimension. Names are compared without case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rewriter.catalog.models import StorageTable
from rewriter.errors import AnalysisError
from rewriter.timeline.calendars import Period
from rewriter.timeline.layouts import TimeLayout
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline_classes import DEFAULT

PREFIX = "cube.storagetable.partition.timeline.cache."
#: Whether the timelines of the table are there. ``false`` never lasts: who sets it has them rebuilt in the same commit.
PRESENT = f"{PREFIX}present"

_SUFFIX = ".storage.class"
_CLASS = re.compile(rf"{re.escape(PREFIX)}(?P<period>[^.]+)\.(?P<column>.+){re.escape(_SUFFIX)}", re.IGNORECASE)
_HINT = (
    f"write {PREFIX}<PERIOD>.<column>{_SUFFIX} for a class, {PRESENT} for a rebuild; the rest the catalog keeps itself"
)


@dataclass(frozen=True)
class Choice:
    """A property that chooses the class of one timeline. ``column`` stands as it was typed."""

    key: str
    period: UpdatePeriod
    column: str
    implementation: str

    def time_in(self, table: StorageTable) -> str | None:
        """The time dimension of the storage table whose timeline it means; ``None`` where it has no such timeline."""
        named = self.column.lower()
        for time, layouts in ((table.time, table.layouts), *((one.time, one.layouts) for one in table.others)):
            layout = layout_of(layouts, self.period)
            if layout is not None and named in {time.lower(), *(column.lower() for column in layout.columns)}:
                return time
        return None


def layout_of(layouts: Mapping[Period, TimeLayout], kind: UpdatePeriod) -> TimeLayout | None:
    """The layout of a period by its kind, whatever calendar it follows."""
    return next((layout for period, layout in layouts.items() if period.kind is kind), None)


def is_about_timelines(key: str) -> bool:
    """Whether a property belongs to the timelines of its table."""
    return key.lower().startswith(PREFIX)


def is_present_key(key: str) -> bool:
    """Whether the key is that of ``PRESENT``, in any case."""
    return key.lower() == PRESENT


def class_key(period: UpdatePeriod, column: str) -> str:
    """The key under which a timeline's class stands."""
    return f"{PREFIX}{period.name}.{column}{_SUFFIX}"


def read_choice(key: str, value: str) -> Choice:
    """The choice that a property about timelines makes.

    Raises ``AnalysisError`` INVALID_TIMELINE_PROPERTY where the key has another form, UNKNOWN_UPDATE_PERIOD.
    """
    match = _CLASS.fullmatch(key)
    if match is None:
        raise invalid(f"the property '{key}' says nothing about timelines", key, _HINT)
    return Choice(key, UpdatePeriod.named(match["period"]), match["column"], value)


def choices(properties: Mapping[str, str]) -> Iterator[Choice]:
    """The choices among properties; those that cannot be read are left out. O(properties)."""
    for key, value in properties.items():
        if is_about_timelines(key):
            try:
                yield read_choice(key, value)
            except AnalysisError:
                continue


def chosen(properties: Mapping[str, str], table: StorageTable, period: Period, time: str) -> str:
    """The name of the class of one timeline; ``DEFAULT`` where no property chooses. ``time`` may be in any case.

    Raises ``AnalysisError`` INVALID_TIMELINE_PROPERTY where two choose, and not the same.
    """
    wanted = time.lower()
    found = [
        choice
        for choice in choices(properties)
        if choice.period is period.kind and (choice.time_in(table) or "").lower() == wanted
    ]
    if len({choice.implementation for choice in found}) > 1:
        raise invalid(
            f"{' and '.join(choice.key for choice in found)} choose different classes for one timeline of "
            f"'{table.table}'",
            table.table,
            f"take one away: ALTER TABLE {table.table} UNSET TBLPROPERTIES ('{found[0].key}')",
        )
    return found[0].implementation if found else DEFAULT


def asks_for_rebuild(properties: Mapping[str, str]) -> bool:
    """Whether the properties say that the timelines are not there."""
    return properties.get(PRESENT, "true").strip().lower() != "true"


def invalid(message: str, object: str, hint: str) -> AnalysisError:
    """The error for a property about timelines that means nothing, or not one thing."""
    return AnalysisError(message, condition="INVALID_TIMELINE_PROPERTY", object=object, hint=hint)
