"""Stored timelines: ranges of ordinals, updated only around a change, and versioned like all rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import sqlalchemy as sa

from rewriter.catalog.store import schema
from rewriter.catalog.store.prepared_statements import once
from rewriter.catalog.store.schema import FRESH, INCOMPLETE, NARROW, OPEN, OUTDATED, RETIRED, UNPROVEN
from rewriter.lazy_dataclass import dataclass
from rewriter.timeline import runs
from rewriter.timeline.kinds.stored_ranges import RangesPartitionTimeline
from rewriter.timeline.timeline import OrdinalRange

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.timeline.calendars import Period

States = frozenset[int]
ABSENT: States = frozenset()

#: The live timelines of one (period, time dimension) by state. A state that no ordinal has may be left out.
Lines = defaultdict[int, RangesPartitionTimeline]

STATES = (OUTDATED, FRESH, RETIRED, UNPROVEN, INCOMPLETE, OPEN)


@dataclass(frozen=True)
class TimelineDifference:
    """Consecutive ordinals of one timeline whose states were ``was`` and, after a rebuild, are ``now``.

    ``period`` is the number of an update period, unless the stored row was damaged.
    """

    table: str
    period: int
    time_key: str
    ordinals: OrdinalRange
    was: States
    now: States


@dataclass
class TimelineChange:
    """The change of the timelines of one (table, period, time dimension) by one commit.

    ``states`` maps single ordinals to their new states: none, one, or retired together with fresh or open; a narrow
    one stands beside another. All other ordinals that are fresh or incomplete in the ranges of ``touched`` become
    outdated; then the ordinals that are incomplete in the ranges of ``completed`` become fresh. Narrow ones stay.
    """

    states: dict[int, States] = field(default_factory=dict)
    touched: list[OrdinalRange] = field(default_factory=list)
    completed: list[OrdinalRange] = field(default_factory=list)

    def apply(self, lines: Lines) -> None:
        """Applies the change to the timelines, given by state."""
        for touched in self.touched:
            _move(lines, touched, FRESH, OUTDATED)
            _move(lines, touched, INCOMPLETE, OUTDATED)
        for completed in self.completed:
            _move(lines, completed, INCOMPLETE, FRESH)
        for ordinals in ranges_of(self.states):
            for line in lines.values():
                line.drop_range(ordinals)
        by_state: dict[int, list[int]] = {}
        for ordinal, states in self.states.items():
            for state in states:
                by_state.setdefault(state, []).append(ordinal)
        for state, in_state in by_state.items():
            for ordinals in ranges_of(in_state):
                lines[state].add_range(ordinals)

    def hull(self) -> OrdinalRange | None:
        """Returns the least range that contains all changes; ``None`` if there is no change."""
        ranges = (*self.touched, *self.completed)
        starts = [*self.states, *(r.start for r in ranges)]
        ends = [*(ordinal + 1 for ordinal in self.states), *(r.end for r in ranges)]
        return OrdinalRange(min(starts), max(ends)) if starts else None


def lines_of(changes: Mapping[tuple[str, Period], TimelineChange]) -> dict[tuple[int, str], Lines]:
    """Returns the timelines that result from changes to empty ones."""
    timelines: dict[tuple[int, str], Lines] = {}
    for (time_key, period), change in changes.items():
        lines = _empty()
        change.apply(lines)
        timelines[int(period), time_key] = lines
    return timelines


def _move(lines: Lines, within: OrdinalRange, was: int, becomes: int) -> None:
    """Replaces one state by another within a range."""
    for ordinals in lines[was].covered(within):
        lines[was].drop_range(ordinals)
        lines[becomes].add_range(ordinals)


def ranges_of(ordinals: Iterable[int]) -> list[OrdinalRange]:
    """Returns the ordinals as sorted, maximal ranges. O(n log n)."""
    return list(runs.ranges(*runs.of_ordinals(ordinals)))


def change_timeline(
    connection: sa.Connection,
    table_id: int,
    period: Period,
    time_key: str,
    change: TimelineChange,
    write_id: Callable[[], int],
    commit_seq: int,
) -> None:
    """Applies a change to the live ranges next to it. Calls ``write_id`` only if a row changes."""
    hull = change.hull()
    if hull is None:
        return
    row = schema.timeline_ranges
    stored = connection.execute(
        sa.select(row.c.row_id, row.c.state, row.c.start_ordinal, row.c.end_ordinal).where(
            row.c.table_id == table_id,
            row.c.ended == schema.NEVER,
            row.c.period == int(period),
            row.c.time_key == time_key,
            row.c.end_ordinal >= hull.start,
            row.c.start_ordinal <= hull.end,
        )
    ).all()
    row_ids_by_range = {(state, OrdinalRange(start, end)): row_id for row_id, state, start, end in stored}
    lines = _empty()
    for state, ordinals in row_ids_by_range:
        lines[state].add_range(ordinals)
    change.apply(lines)
    new_ranges = {(state, ordinals) for state, line in lines.items() for ordinals in line.ranges()}
    ended_ids = [row_id for key, row_id in row_ids_by_range.items() if key not in new_ranges]
    added_ranges = sorted(new_ranges - row_ids_by_range.keys())
    if not ended_ids and not added_ranges:
        return
    new_write_id = write_id()
    end_rows(connection, row, ended_ids, new_write_id)
    _insert(
        connection,
        table_id,
        [(int(period), time_key, s, r.start, r.end) for s, r in added_ranges],
        new_write_id,
        commit_seq,
    )


def narrow_timelines(
    connection: sa.Connection, table_id: int, widening: int, write_id: Callable[[], int], commit_seq: int
) -> None:
    """Notes that all partitions of rollups of a table lack the columns of a widening, if they do not lack those of an
    earlier one. Three statements, whatever the number of partitions.
    """
    row = schema.timeline_ranges
    stored = connection.execute(
        sa.select(row.c.period, row.c.time_key, row.c.state, row.c.start_ordinal, row.c.end_ordinal).where(
            row.c.table_id == table_id, row.c.ended == schema.NEVER
        )
    )
    existing: dict[tuple[int, str], RangesPartitionTimeline] = defaultdict(RangesPartitionTimeline)
    narrow: list[tuple[tuple[int, str], OrdinalRange]] = []
    for period, time_key, state, start, end in stored:
        if state >= NARROW:
            narrow.append(((period, time_key), OrdinalRange(start, end)))
        elif state in (OUTDATED, FRESH, UNPROVEN, INCOMPLETE):
            existing[period, time_key].add_range(OrdinalRange(start, end))
    for key, ordinals in narrow:
        existing[key].drop_range(ordinals)
    added = [(*key, NARROW + widening, r.start, r.end) for key, line in existing.items() for r in line.ranges()]
    if added:
        _insert(connection, table_id, added, write_id(), commit_seq)


def stored_lines(connection: sa.Connection | None, table_id: int, period: Period, time_key: str) -> Lines:
    """Returns the live timelines of one (table, period, time dimension) by state; empty ones without a connection."""
    lines = _empty()
    if connection is not None:
        row = schema.timeline_ranges.c
        query = sa.select(row.state, row.start_ordinal, row.end_ordinal).where(
            row.table_id == table_id,
            row.ended == schema.NEVER,
            row.period == int(period),
            row.time_key == time_key,
        )
        for state, start, end in connection.execute(query):
            lines[state].add_range(OrdinalRange(start, end))
    return lines


def replace_timelines(
    connection: sa.Connection,
    table: Table,
    expected: Mapping[tuple[int, str], Lines],
    write_id: Callable[[], int],
    commit_seq: int,
) -> list[TimelineDifference]:
    """Makes ``expected``, by period and time dimension, all the live timelines of a table. Returns the differences.

    Correct rows stay; all other rows end. Calls ``write_id`` only if a row changes.
    """
    comparison = compare_timelines(connection, table, expected)
    if comparison.wrong or comparison.missing:
        made = write_id()
        end_rows(connection, schema.timeline_ranges, comparison.wrong, made)
        _insert(connection, table.id, sorted(comparison.missing), made, commit_seq)
    return comparison.differences


@dataclass(frozen=True)
class Comparison:
    """A comparison of stored timelines with the requested ones: the ids of wrong rows, the missing rows, each of
    (period, time dimension, state, start, end), and the resulting differences.
    """

    wrong: list[int]
    missing: set[tuple[int, str, int, int, int]]
    differences: list[TimelineDifference]


def compare_timelines(connection: sa.Connection, table: Table, expected: Mapping[tuple[int, str], Lines]) -> Comparison:
    """Compares all the live timelines of a table with ``expected``, by period and time dimension. One statement."""
    row = schema.timeline_ranges
    columns = (row.c.row_id, row.c.period, row.c.time_key, row.c.state, row.c.start_ordinal, row.c.end_ordinal)
    stored = connection.execute(sa.select(*columns).where(row.c.table_id == table.id, row.c.ended == schema.NEVER))
    missing = {
        (*key, state, ordinals.start, ordinals.end)
        for key, lines in expected.items()
        for state, line in lines.items()
        for ordinals in line.ranges()
    }
    stored_lines_by_key: dict[tuple[int, str], Lines] = {}
    wrong: list[int] = []
    for row_id, period, time_key, state, start, end in stored:
        if (state in STATES or state >= NARROW) and start < end:
            stored_lines_by_key.setdefault((period, time_key), _empty())[state].add_range(OrdinalRange(start, end))
        if (period, time_key, state, start, end) in missing:
            missing.remove((period, time_key, state, start, end))
        else:
            wrong.append(row_id)
    differences = [
        TimelineDifference(table.name, *key, ordinals, was, now)
        for key in sorted({*stored_lines_by_key, *expected}, reverse=True)
        for ordinals, was, now in _differences(stored_lines_by_key.get(key, _empty()), expected.get(key, _empty()))
    ]
    return Comparison(wrong, missing, differences)


def _empty() -> Lines:
    return defaultdict(RangesPartitionTimeline)


def _differences(before: Lines, after: Lines) -> Iterator[tuple[OrdinalRange, States, States]]:
    """Yields the differences between two sets of timelines, as maximal ranges in order. O(r log r)."""
    all_lines = (*before.values(), *after.values())
    edges = sorted(
        {edge for line in all_lines for ordinals in line.ranges() for edge in (ordinals.start, ordinals.end)}
    )
    for start, end in pairwise(edges):
        was, now = (
            frozenset(state for state, line in lines.items() if line.exists(start)) for lines in (before, after)
        )
        if was != now:
            yield OrdinalRange(start, end), was, now


def _insert(
    connection: sa.Connection,
    table_id: int,
    rows: Sequence[tuple[int, str, int, int, int]],
    made: int,
    commit_seq: int,
) -> None:
    """Inserts rows, each of (period, time dimension, state, start, end)."""
    names = ("period", "time_key", "state", "start_ordinal", "end_ordinal")
    common = {"table_id": table_id, "made": made, "ended": schema.NEVER, "commit_seq": commit_seq}
    if rows:
        connection.execute(
            schema.timeline_ranges.insert(), [{**common, **dict(zip(names, values, strict=True))} for values in rows]
        )


def end_timelines(connection: sa.Connection, table_id: int, write_id: int) -> None:
    """Ends all live timelines of a table."""
    row = schema.timeline_ranges
    connection.execute(
        sa.update(row).where(row.c.table_id == table_id, row.c.ended == schema.NEVER).values(ended=write_id)
    )


def end_rows(connection: sa.Connection, table: sa.Table, row_ids: Sequence[int], write_id: int) -> None:
    """Marks rows as ended. One prepared statement, run once for each row."""
    if row_ids:
        statement = _end_row(connection.dialect, table)
        parameters = statement.parameter_sets("gone", row_ids, by=write_id)
        connection.exec_driver_sql(statement.text, cast(Any, parameters))


@once
def _end_row(table: sa.Table) -> sa.Update:
    ended_row, write_id = (sa.bindparam(name, 0, sa.BigInteger) for name in ("gone", "by"))
    return sa.update(table).where(table.c.row_id == ended_row).values(ended=write_id)
