"""MAINTAIN FACT: refreshes the rollups of a fact, then drops the partitions that RETAIN does not keep any more.

A partition leaves only if every longer rollup that should hold its time does, and is proven. So no number changes: what
rollups hold is read from them, and a query of what only the dropped partitions had fails and names the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from rewriter.catalog.facts.time_binding import TimeBinding
from rewriter.catalog.model.changes import DropPartitions
from rewriter.catalog.model.key_ranges import merge_ranges
from rewriter.catalog.model.objects import Column
from rewriter.errors import ConflictError, Error
from rewriter.grammar.families.timelines import MaintainFact, RefreshFact
from rewriter.planner.cover.validity import window
from rewriter.runtime.result import Result, Row, listing, strings
from rewriter.runtime.statement_runners import runs
from rewriter.statements.maintain.check_fact import ordinals_of, partitions_inside
from rewriter.statements.maintain.refresh_fact import refresh_fact
from rewriter.statements.resolve.fact_periods import StoredPeriod, passed_time, stored_periods, times, within
from rewriter.statements.resolve.named_objects import named_fact
from rewriter.timeline.ranges import RangeSet, TimeRange

if TYPE_CHECKING:
    from rewriter.runtime.statement_context import Context

#: How often a drop is tried again after another transaction has written into the same partitions.
_ATTEMPTS = 4
#: The columns of the result of MAINTAIN.
STEP_COLUMNS = (
    *strings("step", "table", "period", "from", "to"),
    Column("partitions", "bigint"),
    Column("bytes", "bigint"),
    *strings("status"),
)


@runs(MaintainFact)
def maintain_fact(statement: MaintainFact, context: Context) -> Result:
    """MAINTAIN FACT f: rows of (step, table, period, from, to, partitions, bytes, status).

    The step is "refresh", with the rows of REFRESH FACT, or "retain", with the status "dropped", "to drop" with DRY
    RUN, or "kept" and the rollup that has no proven period over the time, or none with a column that it holds. The
    bytes are the size of dropped partitions, where it is known. With DRY RUN, what the refresh would prove does not
    count for the drops. Each step is a transaction of its own: after an error or a kill, the next run does what is
    left. Several workers share the refresh with MAX.

    Costs REFRESH FACT, a look at the timelines, and one look-up of the dropped partitions. Raises the errors of
    REFRESH FACT, and ``ConflictError`` if others write the same old partitions again and again.
    """
    refreshed = refresh_fact(RefreshFact(fact=statement.fact, most=statement.most, dry_run=statement.dry_run), context)
    rows: list[Row] = [
        ("refresh", table, period, start, end, count, None, f"{status}, was {was}" if was else status)
        for table, period, start, end, was, status, count in refreshed.rows()
    ]
    fact = named_fact(statement.fact, context.renewed())
    try:
        for stored in stored_periods(fact):
            rows += _retain(stored, statement.dry_run, context)
    except Error as error:
        raise error.at(statement.fact.span) from None
    return replace(listing("MAINTAIN FACT", STEP_COLUMNS, rows), warnings=refreshed.warnings)


def _retain(stored: StoredPeriod, dry_run: bool, context: Context) -> list[Row]:
    """Drops the partitions of a table and period that are old enough and held by rollups. Returns the rows."""
    if stored.table.retain is None:
        return []
    return retried(lambda: list(_retain_once(stored, dry_run, context.renewed())))


def retried(drop: Callable[[], list[Row]]) -> list[Row]:
    """Returns the rows of a drop, which is tried again a few times after a conflict."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(ConflictError):
            return drop()
    return drop()


def _retain_once(stored: StoredPeriod, dry_run: bool, context: Context) -> Iterator[Row]:
    calendar, table = stored.fact.calendar, context.snapshot.table(stored.table.table)
    old = _old_time(stored, context)
    kept, held = _blocked(stored, old, context), old
    for _, time in kept:
        held -= time
    partitions = partitions_inside(stored, held, context)
    if partitions and not dry_run:
        binding = TimeBinding(stored.fact, stored.table, table)
        searched = [
            key for ordinals in ordinals_of(stored.period, held) for key in binding.key_ranges(stored.period, ordinals)
        ]
        with context.begin() as transaction:
            keys = tuple(partition.key for partition in partitions)
            transaction.commit([DropPartitions(table, keys, merge_ranges(searched))])
    if partitions:
        bounds = calendar.text(held.ranges[0].start), calendar.text(held.ranges[-1].end)
        size = None if table.external else sum(partition.bytes for partition in partitions)
        status = "to drop" if dry_run else "dropped"
        yield ("retain", table.name, stored.period.name, *bounds, len(partitions), size, status)
    for reason, time in kept:
        bounds = calendar.text(time.ranges[0].start), calendar.text(time.ranges[-1].end)
        count = len(partitions_inside(stored, time, context))
        yield ("retain", table.name, stored.period.name, *bounds, count, None, f"kept: {reason}")


def _old_time(stored: StoredPeriod, context: Context) -> RangeSet:
    """Returns the time of the existing periods that RETAIN does not keep."""
    line = context.snapshot.timeline(stored.table.table, stored.period, stored.table.time)
    unused = [
        reader(stored.table.table, stored.period, stored.table.time)
        for reader in context.snapshot.unused_timelines.values()
    ]
    existing = RangeSet.of(*(time for each in (line, *unused) for time in times(stored.period, each.ranges())))
    return within(stored.period, existing & passed_time(stored, int(context.planning.now)))


def _blocked(stored: StoredPeriod, old: RangeSet, context: Context) -> list[tuple[str, RangeSet]]:
    """Returns the time that must stay, with the reason: a rollup that should hold it and has no proven period over it.

    A rollup should hold what lies in its window, and what its own RETAIN keeps. Its period must be old as a whole, so
    that late events of one day do not meet a month of which other days are gone.
    """
    now, rest = int(context.planning.now), old
    before = passed_time(stored, now)
    blocked = []
    for rollup in stored_periods(stored.fact):
        if rollup.is_base or not (stored.is_base or stored.period < rollup.period):
            continue
        line = context.snapshot.timeline(rollup.table.table, rollup.period, rollup.table.time)
        proven = times(rollup.period, line.ranges())
        valid = window(rollup.storage, rollup.table, now, stored.fact.calendar)
        needed = (rest & valid) - passed_time(rollup, now)
        unproven = _around(stored, needed - proven) & rest
        young = (_around(stored, needed - within(rollup.period, proven & before)) & rest) - unproven
        if unproven:
            blocked.append((f"{rollup.table.table} has no proven {rollup.period.name} period over it", unproven))
        if young:
            blocked.append((f"the {rollup.period.name} period around it is not old enough as a whole", young))
        rest = (rest - unproven) - young
        for column in rollup.table.lacking_columns(0):
            lacking = _around(stored, needed & _time_without(rollup, column, context)) & rest
            lacking -= _time_without(stored, column, context)
            if lacking:
                blocked.append(
                    (f"{rollup.table.table} has no {rollup.period.name} period with {column} over it", lacking)
                )
                rest -= lacking
    return blocked


def _time_without(stored: StoredPeriod, column: str, context: Context) -> RangeSet:
    """Returns the time of the partitions of a table that do not have a column of the cube."""
    cube = context.snapshot.cube(stored.fact.cube)
    if column.lower() not in cube.columns_in(stored.fact.columns_of(stored.table)):
        return RangeSet.ALL
    line = context.snapshot.lacking(stored.table.table, stored.period, stored.table.time, (column,))
    return times(stored.period, line.ranges())


def _around(stored: StoredPeriod, time: RangeSet) -> RangeSet:
    """Returns the periods of a table that share time with a range."""
    period = stored.period
    return RangeSet.of(*(TimeRange(period.floor(part.start), period.ceil(part.end)) for part in time))
