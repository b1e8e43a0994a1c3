"""SHOW MISSING, OUTDATED, UNPROVEN and NARROW PARTITIONS: what is to be loaded, refreshed or checked in a fact.

A scheduler reads what it has to do: base periods are loaded first, because all rollups are computed from them. Reads
timelines, and no partition of a managed table. A base partition of an external table whose directory does not exist, or
may not be listed, is missing, as for REFRESH FACT, which computes nothing from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING

from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.objects import Column, Fact
from rewriter.catalog.storage.data_files import directory
from rewriter.catalog.storage.partition_directories import unlisted_directories
from rewriter.errors import Error
from rewriter.gc_pause import paused
from rewriter.grammar.families import timelines as s
from rewriter.lazy_dataclass import dataclass
from rewriter.planner.cover.choose_facts import touched
from rewriter.planner.cover.fact_chart import differing_time
from rewriter.planner.cover.validity import window
from rewriter.planner.model.coverage_chart import overlapping
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.refresh_fact import obstacle
from rewriter.statements.resolve.fact_periods import (
    StoredPeriod,
    base_periods,
    passed_time,
    stored_periods,
    times,
    within,
)
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.statements.show.coverage import asked, coverage_of
from rewriter.statements.write.external_base_changes import base_time, external_binding
from rewriter.timeline.ranges import RangeSet

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context


class State(StrEnum):
    """Why periods are in a work list: they do not exist; rollups are older than their base; nothing proves rollups;
    proven rollups lack columns that their table got later.
    """

    MISSING = "missing"
    OUTDATED = "outdated"
    UNPROVEN = "unproven"
    NARROW = "narrow"


@dataclass(frozen=True)
class Work:
    """Periods of a table on which the same is to be done.

    ``time`` is the time of whole periods. ``action`` is ``load`` for what only the owner can write, ``refresh`` for
    what REFRESH FACT computes now, and ``check`` for what CHECK FACT … ACCEPT may prove; ``load, then refresh`` for
    rollups whose base lacks periods; ``wait`` for what streams fill. Narrow rollups without a base are no work: they
    serve what they can.
    """

    stored: StoredPeriod
    time: RangeSet
    action: str

    def rows(self) -> list[Row]:
        """Returns a row for each range, in order."""
        table, period, calendar = self.stored.table.table, self.stored.period, self.stored.fact.calendar
        starts, ends = [range_.start for range_ in self.time], [range_.end for range_ in self.time]
        firsts, lasts = period.ordinals(starts), period.ordinals(end - 1 for end in ends)
        columns = (calendar.texts(starts), calendar.texts(ends), firsts, lasts)
        name = period.name
        return [
            (table, name, start, end, last + 1 - first, self.action)
            for start, end, first, last in zip(*columns, strict=True)
        ]


@runs(s.ShowWork, in_transaction=True)
def show_work(statement: s.ShowWork, context: Context) -> Result:
    """Returns rows of (table, period, from, to, periods, action), in the order in which they are to be done.

    Without bounds the range is the range of a query over all time: the extent of all partitions, and the time that
    LATENESS promises. O(ranges), and for an external base a look at the directory of each of its partitions in the
    range. Raises ``OperationalError`` FAILED_READ_FILE for an object store that does not respond.
    """
    fact = named_fact(statement.fact, context)
    everything = coverage_of(fact, context).extent() if statement.start is None else None
    requested = asked(statement, fact, context, everything)
    try:
        with paused():
            work = _work_list(fact, State(statement.state.lower()), requested, context)
    except Error as error:
        raise error.at(statement.fact.span) from None
    with paused():
        rows = [row for part in work for row in part.rows()]
    columns = (*strings("table", "period", "from", "to"), Column("periods", "bigint"), *strings("action"))
    return listing(f"SHOW {statement.state} PARTITIONS", columns, rows)


def _work_list(fact: Fact, state: State, requested: RangeSet, context: Context) -> tuple[Work, ...]:
    """Returns what is to be done for the periods of a fact that are in a state and lie in a range: base periods that
    share time with it, and rollups that lie in it as a whole.

    A base period of which another table has a copy exists, unless a directory of either does not. One that retention
    dropped is not to be loaded again. Rollups that were computed from a base that lacked periods are missing; rollups
    that no longer have a base are not.
    """
    base = fact.base_period
    wanted = touched(requested, base)
    existing = dropped = copied = valid_somewhere = RangeSet.EMPTY
    for stored in base_periods(fact):
        valid = _valid(stored, context)
        existing |= _line(stored, context, "fresh") & valid
        dropped |= _line(stored, context, "retired") & valid
        copied |= _line(stored, context, State.OUTDATED) & valid
    for stored in base_periods(fact):
        existing = existing - (_unlisted(stored, wanted, context) & _valid(stored, context))
    work: list[Work] = []
    # Outdated base partitions are copies of content that has changed: the INSERT that filled them is run again.
    copied = (copied & wanted) - existing
    lacking = wanted - existing - dropped - copied
    for stored in base_periods(fact):
        # Each period is loaded into the first table whose storage is valid then.
        valid = within(base, _valid(stored, context)) - valid_somewhere
        if state is State.MISSING:
            filled = _line(stored, context, "open")
            work += [Work(stored, (lacking & valid) - filled, "load"), Work(stored, lacking & valid & filled, "wait")]
        elif state is State.OUTDATED:
            work.append(Work(stored, copied & _line(stored, context, state) & valid, "load"))
        valid_somewhere |= valid
    for stored in stored_periods(fact):
        if not stored.is_base:
            work += _of_rollups(stored, state, requested, existing, (lacking | copied) & valid_somewhere, context)
    return tuple(part for part in work if part.time)


def _unlisted(stored: StoredPeriod, wanted: RangeSet, context: Context) -> RangeSet:
    """Returns the time of the base partitions of an external table whose directories do not exist, or may not be
    listed.
    """
    table = context.snapshot.table(stored.table.table)
    binding = external_binding(table, context)
    if binding is None:
        return RangeSet.EMPTY
    ordinals = (overlapping(stored.period, range_) for range_ in wanted)
    keys = merge_ranges(key for periods in ordinals for key in binding.key_ranges(stored.period, periods))
    located = [(directory(table, partition), partition) for partition in context.snapshot.partitions(table, keys)]
    counter = context.progress.counter("listing", "directories")
    unlisted = unlisted_directories([path for path, _ in located], counter)
    return base_time(binding, [partition for path, partition in located if path in unlisted])


def _of_rollups(
    stored: StoredPeriod, state: State, requested: RangeSet, base: RangeSet, loadable: RangeSet, context: Context
) -> Iterator[Work]:
    period = stored.period
    time = within(period, requested & _valid(stored, context))
    if state is State.MISSING:
        for existing in ("fresh", "outdated", "unproven"):
            time = time - _line(stored, context, existing)
        filled = _line(stored, context, "open")
        yield Work(stored, time & filled, "wait")
        time = time - filled - passed_time(stored, int(context.planning.now))
    elif state is State.NARROW:
        line = context.snapshot.lacking(stored.table.table, period, stored.table.time)
        time = time & _line(stored, context, "fresh") & times(period, line.ranges())
    else:
        time = time & _line(stored, context, state)
    differing = RangeSet.EMPTY
    if state is State.UNPROVEN and time:
        differing = time & differing_time(stored.fact, stored.table, period, context.snapshot)
    if differing:
        yield from _of_state(stored, state, differing, "refresh", base, loadable, context)
    action = "check" if state is State.UNPROVEN else "refresh"
    yield from _of_state(stored, state, time - differing, action, base, loadable, context)


def _of_state(
    stored: StoredPeriod,
    state: State,
    time: RangeSet,
    action: str,
    base: RangeSet,
    loadable: RangeSet,
    context: Context,
) -> Iterator[Work]:
    """Yields the work on the rollups of a state, whose ``action`` needs their base."""
    period = stored.period
    table, cube = context.snapshot.table(stored.table.table), context.snapshot.cube(stored.fact.cube)
    if obstacle(stored, table, cube) is not None:
        if state is State.NARROW:
            return  # It serves what it can.
        yield Work(stored, time, "check" if action == "check" else "load")
        return
    computable = within(period, base) & time
    after_load = (within(period, base | loadable) & time) - computable
    yield Work(stored, computable, action)
    yield Work(stored, after_load, f"load, then {action}")
    if state not in (State.MISSING, State.NARROW):
        # Their base was dropped, or lies outside its storage: nothing computes or proves them.
        yield Work(stored, time - computable - after_load, "load")


def _valid(stored: StoredPeriod, context: Context) -> RangeSet:
    return window(stored.storage, stored.table, context.planning.now, stored.fact.calendar)


def _line(stored: StoredPeriod, context: Context, state: str) -> RangeSet:
    """Returns the time of the periods of a stored period that are in a state."""
    snapshot = context.snapshot
    others = {"retired": snapshot.retired, "open": snapshot.open}
    readers = {"fresh": snapshot.timeline, **others, **snapshot.unused_timelines}
    return times(stored.period, readers[state](stored.table.table, stored.period, stored.table.time).ranges())
