"""The model of a cube's life: all rows that the base was ever given, and what the warehouse must still know of them.

It uses no code of the product. Time is counted in *units*: the periods of the base since ``START``. A rollup period is
named by its first unit. The number of a query is that of all rows, whether or not their partitions were dropped since.
A query must have a number if units that are there and rollups that are certainly proven cover its time exactly, and has
the columns; otherwise it may fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

#: A Monday, at which a month begins.
START = datetime(2024, 1, 1)
#: The states of a unit: never written, there, and dropped (its rows are only in rollups).
ABSENT, LIVE, DROPPED = "absent", "live", "dropped"
#: The states of a rollup period: certainly proven and fresh, certainly not, and either.
GOOD, BAD, UNSURE = "good", "bad", "unsure"
#: A row of the base: its columns by name. A column that the table did not have is absent.
Row = dict[str, Any]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass
class Unit:
    """A period of the base, with the rows that it holds or held."""

    state: str = ABSENT
    rows: list[Row] = field(default_factory=list)


@dataclass
class Rollup:
    """A table of rollups, with the columns that it serves and those that it ``stored`` when it was made. ``states`` has
    the periods that are not ``BAD``, by their first unit. ``retain`` is in days. ``made`` is True while ROLLUPS owns
    the table. ``is_whole`` says that it lists no columns: it gets all that the cube gets.
    """

    table: str
    period: str
    columns: frozenset[str]
    stored: frozenset[str]
    retain: int | None = None
    states: dict[int, str] = field(default_factory=dict)
    #: Periods that are there, and are outdated.
    spoiled: set[int] = field(default_factory=set)
    made: bool = True
    is_whole: bool = False
    #: The columns that the partition of a period has certainly, and those that it may have, by its first unit: it was
    #: computed before the table got the others.
    widths: dict[int, tuple[frozenset[str], frozenset[str]]] = field(default_factory=dict)

    @property
    def is_left_alone(self) -> bool:
        """Tests whether REFRESH FACT leaves the table alone: it has a column that the fact does not list."""
        return not self.made and self.columns != self.stored

    def state(self, first: int) -> str:
        return self.states.get(first, BAD)

    def width(self, first: int, state: str) -> frozenset[str]:
        """Returns the columns of a period that is ``GOOD`` or ``UNSURE``."""
        return self.widths.get(first, (self.columns, self.columns))[0 if state == GOOD else 1]

    def spoil(self, first: int) -> None:
        self.widths.pop(first, None)
        if self.states.pop(first, None) is not None:
            self.spoiled.add(first)

    def add(self, names: frozenset[str]) -> None:
        """ALTER CUBE ADD: the table gets columns, and its partitions do not."""
        for first in self.states:
            self.widths.setdefault(first, (self.columns, self.columns))
        self.columns |= names
        self.stored |= names

    def remove(self, name: str) -> None:
        """ALTER CUBE DROP."""
        self.columns -= {name}
        self.widths = {first: (least - {name}, most - {name}) for first, (least, most) in self.widths.items()}

    def computed(self, first: int, state: str) -> None:
        """REFRESH FACT has certainly computed a period, for ``GOOD``, or may have. One that was there may stay."""
        before = self.state(first)
        self.states[first] = GOOD if GOOD in (before, state) else state
        self.spoiled.discard(first)
        if state == GOOD:
            self.widths.pop(first, None)
        else:
            least = self.width(first, GOOD) if before == GOOD else frozenset[str]()
            self.widths[first] = least, self.columns


@dataclass(frozen=True)
class Question:
    """A query of the fixed set: the columns to group by (``month`` is computed from the time), the calls of aggregates
    as (function, measure), with ``*`` for rows, the units of time, and the value of ``page``, if any.
    """

    keys: tuple[str, ...]
    calls: tuple[tuple[str, str], ...]
    start: int
    end: int
    page: str | None = None

    @property
    def columns(self) -> frozenset[str]:
        """The columns of the cube that it needs."""
        named = {*self.keys, *(measure for _, measure in self.calls)} - {"month", "*"}
        return frozenset(named | {"n"} if ("COUNT", "*") in self.calls else named) | ({"page"} if self.page else set())


class Lifetime:
    """The cube, its base, its rollups and the clock. ``step`` is the length of a unit."""

    def __init__(self, step: timedelta, table_columns: Iterable[str], cube: dict[str, str]) -> None:
        self.step = step
        self.units: dict[int, Unit] = {}
        #: Columns of the base table, in their order.
        self.table_columns = list(table_columns)
        #: Column of the cube → its aggregate, empty for a dimension.
        self.cube = cube
        self.rollups: dict[str, Rollup] = {}
        self.retain: int | None = None
        self.refreshes_on_commit = False
        #: After another declaration, CHECK FACT compares what was outdated, too: it counts as unproven.
        self.is_redeclared = False
        self.now = START
        #: The first unit that was never loaded.
        self.loaded = 0
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}

    # -- time ---------------------------------------------------------------------------------------------------------

    def at(self, unit: int) -> datetime:
        """Returns the start of a unit."""
        return START + unit * self.step

    def unit(self, at: datetime) -> int:
        """Returns the unit that contains an instant."""
        return (at - START) // self.step

    def around(self, period: str, unit: int) -> tuple[int, int]:
        """Returns the first unit of the period that contains a unit, and the first one after it."""
        if (period, unit) not in self._bounds:
            day = self.at(unit).replace(hour=0)
            if period == "DAILY":
                start, end = day, day + DAY
            elif period == "WEEKLY":
                start = day - timedelta(days=day.weekday())
                end = start + 7 * DAY
            else:
                start = day.replace(day=1)
                end = (start + timedelta(days=31)).replace(day=1)
            self._bounds[period, unit] = self.unit(start), self.unit(end)
        return self._bounds[period, unit]

    def periods(self, period: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yields the periods that share time with a range of units."""
        while start < end:
            first, stop = self.around(period, start)
            yield first, stop
            start = stop

    def old(self, retain: int | None, period: str | None) -> int:
        """Returns the unit at which what RETAIN keeps begins: whole periods before it may leave."""
        if retain is None:
            return -(10**6)
        cutoff = self.unit(self.now - timedelta(days=retain))
        return cutoff if period is None else self.around(period, cutoff)[0]

    # -- the base -----------------------------------------------------------------------------------------------------

    def of(self, unit: int) -> Unit:
        return self.units.setdefault(unit, Unit())

    def is_live(self, start: int, end: int) -> bool:
        """Tests whether each unit of a range is there."""
        return all(unit in self.units and self.units[unit].state == LIVE for unit in range(start, end))

    def has_rows(self, start: int, end: int) -> bool:
        """Tests whether each unit of a range is there, and one of them has rows."""
        return self.is_live(start, end) and any(self.units[unit].rows for unit in range(start, end))

    def mark(self, start: int, end: int) -> None:
        """MARK COMPLETE: units that never were are there, and empty."""
        for unit in range(start, end):
            if self.of(unit).state == ABSENT:
                self.of(unit).state = LIVE

    def insert(self, rows: dict[int, list[Row]], overwrite: bool) -> None:
        """INSERT: adds rows to units, or replaces their rows. What a dropped unit held is replaced, too."""
        for number, some in rows.items():
            unit = self.of(number)
            unit.rows = some if overwrite or unit.state == DROPPED else unit.rows + some
            unit.state = LIVE
            for rollup in self.rollups.values():
                rollup.spoil(self.around(rollup.period, number)[0])

    def drop(self, number: int) -> None:
        """DROP PARTITION: the rows count as long as rollups hold them."""
        if self.of(number).state == LIVE:
            self.of(number).state = DROPPED

    def is_refused(self, numbers: Iterable[int]) -> bool:
        """Tests whether INSERT INTO is refused: RETAIN is on, and a unit was dropped."""
        return self.retain is not None and any(self.of(number).state == DROPPED for number in numbers)

    # -- rollups ------------------------------------------------------------------------------------------------------

    def refresh(self, start: int | None = None, end: int | None = None, most: int = 10**9) -> None:
        """REFRESH FACT: the periods whose units are all there are proven; those that RETAIN does not keep may be."""
        for rollup in self.rollups.values():
            passed = self.old(rollup.retain, rollup.period)
            todo = [
                (first, stop)
                for first, stop in self.periods(rollup.period, start or 0, self.loaded if end is None else end)
                if (rollup.state(first) != GOOD or rollup.width(first, GOOD) != rollup.columns)
                and self.is_live(first, stop)
            ]
            for first, stop in todo:
                is_certain = len(todo) <= most and stop > passed and not rollup.is_left_alone
                rollup.computed(first, GOOD if is_certain else UNSURE)

    def may_leave(self, period: str | None, start: int, end: int, retain: int | None) -> bool:
        """Tests whether MAINTAIN FACT may drop a partition: all longer rollups that should hold it may be proven, and
        their periods are old as a whole. ``period`` is ``None`` for the base.
        """
        cutoff = self.old(retain, period)
        if end > cutoff:
            return False
        lengths = {None: 0, "DAILY": 1, "WEEKLY": 2, "MONTHLY": 3}
        for rollup in self.rollups.values():
            if lengths[period] >= lengths[rollup.period]:
                continue
            passed = self.old(rollup.retain, rollup.period)
            for first, stop in self.periods(rollup.period, start, end):
                if stop > passed and (rollup.state(first) == BAD or stop > cutoff):
                    return False
                if period is None and stop > passed and rollup.width(first, UNSURE) != rollup.columns:
                    return False  # Nothing else has what the base has of a new column.
        return True

    # -- queries ------------------------------------------------------------------------------------------------------

    def knows(self, question: Question) -> bool:
        """Tests whether the cube has the columns of a query."""
        return question.columns <= self.cube.keys()

    def must_return(self, question: Question) -> bool:
        """Tests whether units that are there, and rollups that are certainly proven, cover a query exactly."""
        return self._is_covered(question, (GOOD,))

    def may_return(self, question: Question) -> bool:
        """Tests whether they do so with the rollups that may be proven."""
        return self._is_covered(question, (GOOD, UNSURE))

    def _is_covered(self, question: Question, states: Collection[str]) -> bool:
        is_additive = all(
            f == "COUNT" or f == self.cube[measure].replace("COUNT", "SUM") for f, measure in question.calls
        )
        serving = [
            rollup
            for rollup in self.rollups.values()
            if is_additive and ("month" not in question.keys or rollup.period != "WEEKLY")
        ]
        reached = {question.start}
        for unit in range(question.start, question.end):
            if unit not in reached:
                continue
            if unit in self.units and self.units[unit].state == LIVE:
                reached.add(unit + 1)
            for rollup in serving:
                first, stop = self.around(rollup.period, unit)
                state = rollup.state(first)
                width = rollup.width(first, GOOD if states == (GOOD,) else UNSURE)
                is_there = first == unit and stop <= question.end and state in states
                if is_there and question.columns <= width:
                    reached.add(stop)
        return question.end in reached

    def number(self, question: Question) -> list[tuple[Any, ...]]:
        """Returns the rows of the result over all rows that the base was ever given, in order."""
        groups: dict[tuple[Any, ...], list[Row]] = {} if question.keys else {(): []}
        for number in range(question.start, question.end):
            for row in self.units[number].rows if number in self.units else ():
                if question.page is None or row["page"] == question.page:
                    month = self.at(number).replace(day=1, hour=0)
                    key = tuple(month if name == "month" else row.get(name) for name in question.keys)
                    groups.setdefault(key, []).append(row)
        return ordered((*key, *(_called(*call, rows) for call in question.calls)) for key, rows in groups.items())


def _called(function: str, measure: str, rows: list[Row]) -> Any:
    values = [value for row in rows if (value := row.get("n" if measure == "*" else measure)) is not None]
    if function == "COUNT":
        return sum(values)
    fold: Any = {"SUM": sum, "MAX": max, "MIN": min}[function]
    return fold(values) if values else None


def ordered(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows in an order that knows NULL."""
    return sorted(rows, key=lambda row: tuple((value is not None, str(value)) for value in row))
