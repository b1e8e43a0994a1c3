"""SHOW MISSING, OUTDATED and UNPROVEN PARTITIONS: what is to be loaded, refreshed or checked in a fact, in order.

A scheduler reads what it has to do: base periods are loaded first, because all rollups are computed from them. Reads
timelines only, and no partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from rewriter.catalog.model.objects import Column, Fact
from rewriter.grammar.families import timelines as s
from rewriter.planner.cover.choose_facts import touched
from rewriter.planner.cover.validity import window
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_context import Context
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.refresh_fact import obstacle
from rewriter.statements.resolve.fact_periods import StoredPeriod, base_periods, stored_periods, times, within
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.statements.show.coverage import asked, overlapping, queried_extent
from rewriter.timeline.ranges import RangeSet, TimeRange


class State(StrEnum):
    """Why periods are in a work list: they do not exist; rollups are older than their base; nothing proves rollups."""

    MISSING = "missing"
    OUTDATED = "outdated"
    UNPROVEN = "unproven"


@dataclass(frozen=True)
class Work:
    """Consecutive periods of a table on which the same is to be done.

    ``action`` is ``load`` for what only the owner can write, ``refresh`` for what REFRESH FACT computes now, and
    ``check`` for what CHECK FACT … ACCEPT may prove; ``load, then refresh`` for rollups whose base lacks periods.
    """

    table: str
    period: str
    time: TimeRange
    periods: int
    state: State
    action: str


@runs(s.ShowWork, in_transaction=True)
def show_work(statement: s.ShowWork, context: Context) -> Result:
    """Returns rows of (table, period, from, to, periods, action), in the order in which they are to be done.

    Without bounds the range is that of a query over all time: the extent of all partitions, and the time that LATENESS
    promises. O(ranges).
    """
    fact = named_fact(statement.fact, context)
    requested = asked(statement, fact, context, queried_extent(fact, context))
    rows: list[Row] = [
        (
            work.table,
            work.period,
            fact.calendar.text(work.time.start),
            fact.calendar.text(work.time.end),
            work.periods,
            work.action,
        )
        for work in work_list(fact, requested, context)
        if work.state == statement.state.lower()
    ]
    columns = (*strings("table", "period", "from", "to"), Column("periods", "bigint"), *strings("action"))
    return listing(f"SHOW {statement.state} PARTITIONS", columns, rows)


def work_list(fact: Fact, requested: RangeSet, context: Context) -> tuple[Work, ...]:
    """Returns what is to be done for the periods of a fact that lie in a range: base periods that share time with it,
    and rollups that lie in it as a whole.

    A base period of which another table has a copy exists, and one that retention dropped is not to be loaded again.
    Rollups that were computed from a base that lacked periods are missing; those that no longer have a base are not.
    """
    base = fact.base_period
    wanted = touched(requested, base)
    existing = dropped = valid_somewhere = RangeSet.EMPTY
    for stored in base_periods(fact):
        valid = _valid(stored, context)
        existing |= _line(stored, context, "fresh") & valid
        dropped |= _line(stored, context, "retired") & valid
    work: list[Work] = []
    lacking = wanted - existing - dropped
    for stored in base_periods(fact):
        # Each period is loaded into the first table whose storage is valid then.
        valid = within(base, _valid(stored, context)) - valid_somewhere
        work += _of_ranges(stored, lacking & valid, State.MISSING, "load")
        valid_somewhere |= valid
    computable = existing - lacking
    for stored in stored_periods(fact):
        if not stored.is_base:
            work += _of_rollups(stored, requested, computable, lacking & valid_somewhere, context)
    return tuple(work)


def _of_rollups(
    stored: StoredPeriod, requested: RangeSet, computable: RangeSet, loadable: RangeSet, context: Context
) -> Iterator[Work]:
    period = stored.period
    wanted = within(period, requested & _valid(stored, context))
    lines = {name: _line(stored, context, name) for name in ("fresh", "outdated", "unproven", "incomplete")}
    by_state: Mapping[State, RangeSet] = {
        State.MISSING: wanted - lines["fresh"] - lines["outdated"] - lines["unproven"],
        State.OUTDATED: wanted & lines["outdated"],
        State.UNPROVEN: wanted & lines["unproven"],
    }
    table, cube = context.snapshot.table(stored.table.table), context.snapshot.cube(stored.fact.cube)
    is_computed = obstacle(stored, table, cube) is None
    for state, time in by_state.items():
        if not is_computed:
            yield from _of_ranges(stored, time, state, "check" if state is State.UNPROVEN else "load")
            continue
        refreshed = within(period, computable) & time
        after_load = (within(period, computable | loadable) & time) - refreshed
        first_action = "check" if state is State.UNPROVEN else "refresh"
        yield from _of_ranges(stored, refreshed, state, first_action)
        yield from _of_ranges(stored, after_load, state, f"load, then {first_action}")
        if state is not State.MISSING:
            # Their base was dropped, or lies outside its storage: nothing computes or proves them.
            yield from _of_ranges(stored, time - refreshed - after_load, state, "load")


def _of_ranges(stored: StoredPeriod, time: RangeSet, state: State, action: str) -> Iterator[Work]:
    for time_range in time:
        count = len(overlapping(stored.period, time_range))
        yield Work(stored.table.table, stored.period.name, time_range, count, state, action)


def _valid(stored: StoredPeriod, context: Context) -> RangeSet:
    return window(stored.storage, stored.table, context.planning.now, stored.fact.calendar)


def _line(stored: StoredPeriod, context: Context, state: str) -> RangeSet:
    """Returns the time of the periods of a stored period that are in a state."""
    snapshot = context.snapshot
    readers = {"fresh": snapshot.timeline, "retired": snapshot.retired, **snapshot.unused_timelines}
    return times(stored.period, readers[state](stored.table.table, stored.period, stored.table.time).ranges())
