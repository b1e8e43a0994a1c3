"""A scenario as plain values: what happened, what a tool was told, a question, and the right answer.

Times are texts ``YYYY-MM-DD HH:MM:SS[.ffffff]`` in UTC. Ranges contain their start, and not their end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NO_REPORT = "no report known"

#: A period of time in the result, an attribute, or nothing: one row over the whole range.
Grouping = Literal["hour", "day", "week", "month", "item"]
#: COUNT(*), COUNT(amount), SUM(amount), AVG(amount), MIN(amount), MAX(amount), and the number of distinct users.
Measure = Literal["events", "counted", "amount", "average", "least", "most", "users"]
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
class Refresh:
    """The tool's rollups are brought up to date by its scheduled job, which runs at ``now``."""

    now: str


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


Step = Load | Late | Reload | Refresh | Retain | Restart | LoseFiles


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
    the measures. A group is a text: ``2024-03-01 05:00``, ``2024-03-01``, the Monday of a week, ``2024-03``, an item.
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


def happened(scenario: Scenario) -> tuple[Event, ...]:
    """Returns the events that are true at the end: all deliveries, a later one in place of the one that it replaces."""
    events: list[Event] = list(scenario.undelivered)
    for step in scenario.steps:
        if isinstance(step, Reload):
            events = [event for event in events if not step.start <= event.at < step.end]
        if isinstance(step, (Load, Late, Reload)):
            events.extend(step.events)
    return tuple(events)
