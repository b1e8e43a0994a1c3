"""The table properties about timelines (seed 000): the class of each timeline, and whether they are present.

Each timeline of a storage table may choose a class by ``<PREFIX><PERIOD>.<column>.storage.class``; the column is the
partition column that names its time (of several, any), or the time dimension. Names are compared without case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from rewriter.errors import AnalysisError
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline.kinds.registry import DEFAULT
from rewriter.timeline.periods import UpdatePeriod

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import StorageTable
    from rewriter.timeline.calendars import Period
    from rewriter.timeline.layouts import TimeLayout

_PREFIX = "cube.storagetable.partition.timeline.cache."
#: Whether the timelines of the table are present. ``false`` never lasts: setting it rebuilds them in the same commit.
PRESENT = f"{_PREFIX}present"

_SUFFIX = ".storage.class"
_CLASS = re.compile(rf"{re.escape(_PREFIX)}(?P<period>[^.]+)\.(?P<column>.+){re.escape(_SUFFIX)}", re.IGNORECASE)
_HINT = (
    f"Write {_PREFIX}<PERIOD>.<column>{_SUFFIX} for a class, {PRESENT} for a rebuild; the catalog maintains all others."
)


@dataclass(frozen=True)
class Choice:
    """A property that chooses the class of one timeline. ``column`` is as typed."""

    key: str
    period: UpdatePeriod
    column: str
    implementation: str

    def time_in(self, table: StorageTable) -> str | None:
        """Returns the time dimension of the meant timeline in the storage table; ``None`` if there is none."""
        named = self.column.lower()
        for time, layouts in (
            (table.time, table.layouts),
            *((other_time.time, other_time.layouts) for other_time in table.others),
        ):
            layout = layout_of(layouts, self.period)
            if layout is not None and named in {time.lower(), *(column.lower() for column in layout.columns)}:
                return time
        return None


def layout_of(layouts: Mapping[Period, TimeLayout], kind: UpdatePeriod) -> TimeLayout | None:
    """Returns the layout of a period by its kind, for any calendar."""
    return next((layout for period, layout in layouts.items() if period.kind is kind), None)


def is_about_timelines(key: str) -> bool:
    """Returns True if a property belongs to the timelines of its table."""
    return key.lower().startswith(_PREFIX)


def is_present_key(key: str) -> bool:
    """Returns True if the key is ``PRESENT``, in any case."""
    return key.lower() == PRESENT


def class_key(period: UpdatePeriod, column: str) -> str:
    """Returns the key of the property for a timeline's class."""
    return f"{_PREFIX}{period.name}.{column}{_SUFFIX}"


def read_choice(key: str, value: str) -> Choice:
    """Returns the choice of a property about timelines.

    Raises ``AnalysisError`` INVALID_TIMELINE_PROPERTY if the key has another form, UNKNOWN_UPDATE_PERIOD.
    """
    match = _CLASS.fullmatch(key)
    if match is None:
        raise invalid(f"the property '{key}' is not a timeline property", key, _HINT)
    return Choice(key, UpdatePeriod.named(match["period"]), match["column"], value)


def choices(properties: Mapping[str, str]) -> Iterator[Choice]:
    """Yields the choices among properties, without the choices that cannot be read. O(properties)."""
    for key, value in properties.items():
        if is_about_timelines(key):
            try:
                yield read_choice(key, value)
            except AnalysisError:
                continue


def chosen(properties: Mapping[str, str], table: StorageTable, period: Period, time: str) -> str:
    """Returns the class name of one timeline; ``DEFAULT`` if no property chooses one. ``time`` may be in any case.

    Raises ``AnalysisError`` INVALID_TIMELINE_PROPERTY if two properties choose different classes.
    """
    time_key = time.lower()
    matching = [
        choice
        for choice in choices(properties)
        if choice.period is period.kind and (choice.time_in(table) or "").lower() == time_key
    ]
    if len({choice.implementation for choice in matching}) > 1:
        raise invalid(
            f"{' and '.join(choice.key for choice in matching)} choose different classes for one timeline of "
            f"'{table.table}'",
            table.table,
            f"Remove one: ALTER TABLE {table.table} UNSET TBLPROPERTIES ('{matching[0].key}').",
        )
    return matching[0].implementation if matching else DEFAULT


def asks_for_rebuild(properties: Mapping[str, str]) -> bool:
    """Returns True if the properties say that the timelines are not present."""
    return properties.get(PRESENT, "true").strip().lower() != "true"


def invalid(message: str, object: str, hint: str) -> AnalysisError:
    """Returns the error for a property about timelines without a meaning, or with several."""
    return AnalysisError(message, condition="INVALID_TIMELINE_PROPERTY", object=object, hint=hint)
