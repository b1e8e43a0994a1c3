"""A scenario as plain values: what happened, what a tool was told, a question, and the right answer.

Times are texts ``YYYY-MM-DD HH:MM:SS[.ffffff]`` in UTC. Ranges contain their start, and not their end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NO_REPORT = "no report known"

#: A period of time in the result, an attribute, or nothing: one row over the whole range.
Grouping = Literal["hour", "day", "week", "month", "item", "amount"]
#: COUNT(*), COUNT(amount), SUM(amount), AVG(amount), MIN(amount), MAX(amount), and the numbers of distinct users and
#: of distinct amounts.
Measure = Literal["events", "counted", "amount", "average", "least", "most", "users", "amounts"]
Value = str | int | float | None
Row = tuple[Value, ...]


@dataclass(frozen=True)
class Event:
    """An event. ``id`` is unique in its scenario."""

    id: int
    at: str
    item: str | None
    user: int
    amount: float | None


@dataclass(frozen=True)
class Load:
    """The first delivery of [start, end). It is complete: an hour without events is an empty hour."""

    start: str
    end: str
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Late:
    """Further events of a range that was delivered before."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Reload:
    """[start, end), which lies on whole hours, is delivered again as a whole, and replaces the earlier delivery."""

    start: str
    end: str
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Batch:
    """A stream delivers its batch ``number``, with events of a range that was delivered before.

    A stream that starts again may deliver a batch again, with the same events. They happened once.
    """

    number: int
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Refresh:
    """The tool's rollups are brought up to date by its scheduled job, which runs at ``now``."""

    now: str


@dataclass(frozen=True)
class RefreshBeside:
    """The job of ``Refresh`` starts at ``now`` and reads the events; then ``written`` is delivered; then it ends."""

    now: str
    written: Late | Reload


@dataclass(frozen=True)
class Retain:
    """At ``now``, events that are older than ``days`` days are dropped. Rollups stay."""

    now: str
    days: int


@dataclass(frozen=True)
class Restart:
    """The program ends and starts again on the same storage."""


@dataclass(frozen=True)
class LoseFiles:
    """All files that hold the events of the day ``day`` (``YYYY-MM-DD``) vanish from storage."""

    day: str


@dataclass(frozen=True)
class Widen:
    """The type of the events' ``amount``, which was REAL (32 bits) from the start, becomes DOUBLE."""


@dataclass(frozen=True)
class Rename:
    """The events' column ``item`` is called ``product`` from now on."""


@dataclass(frozen=True)
class AddColumn:
    """The events get a further column, ``channel``: NULL in older events, and ``web`` in later ones."""


Delivery = Load | Late | Reload | Batch
ColumnChange = Widen | Rename | AddColumn
Step = Delivery | Refresh | RefreshBeside | Retain | Restart | LoseFiles | ColumnChange


@dataclass(frozen=True)
class Question:
    """Measures over [start, end), grouped by ``by``. Days, weeks and months of the result are those of ``zone``."""

    measures: tuple[Measure, ...]
    start: str
    end: str
    by: Grouping | None = None
    zone: str = "UTC"


@dataclass(frozen=True)
class Scenario:
    """A fault that was reported, as steps and a question.

    ``right`` has the rows of the right answer, in the order of their first value: the group, if there is one, then
    the measures. A group is a text: ``2024-03-01 05:00``, ``2024-03-01``, the Monday of a week, ``2024-03``, an item;
    or an amount, where NaN is the largest.
    ``derivation`` says how a person computes them. ``undelivered`` are events that happened and that no step
    delivers; the right answer counts them.
    """

    name: str
    family: str
    title: str
    reports: tuple[str, ...]
    steps: tuple[Step, ...]
    question: Question
    right: tuple[Row, ...]
    derivation: str
    zone: str = "UTC"
    undelivered: tuple[Event, ...] = ()

    @property
    def starts_narrow(self) -> bool:
        """Returns whether ``amount`` is REAL at first."""
        return any(isinstance(step, Widen) for step in self.steps)

    @property
    def has_stream(self) -> bool:
        """Returns whether a stream delivers events."""
        return any(isinstance(step, Batch) for step in self.steps)


def happened(scenario: Scenario) -> tuple[Event, ...]:
    """Returns the events that are true at the end: all deliveries, a later one in place of the one that it replaces."""
    events: list[Event] = list(scenario.undelivered)
    batches: set[int] = set()
    for step in scenario.steps:
        delivery = step.written if isinstance(step, RefreshBeside) else step
        if isinstance(delivery, Reload):
            events = [event for event in events if not delivery.start <= event.at < delivery.end]
        if isinstance(delivery, Batch):
            if delivery.number in batches:
                continue
            batches.add(delivery.number)
        if isinstance(delivery, Delivery):
            events.extend(delivery.events)
    return tuple(events)
