"""Access paths: the partitions of a filter are found by the index of the keys, or by that of one further column.

The keys are scanned as described in ``scan_plans``. The index of a further column applies if every conjunction of the
plan restricts that column. Its entries (``schema.partition_fields``) name each key once, and the key contains all
values that the filter tests, so only the rows of matching keys are looked up. One index serves the whole filter, so no
key is visited twice.

The choice compares counts of entries. An entry of a further column counts ``LOOK_UP`` times, for the row that it may
lead to. At most n entries of each way are counted, n growing by ``GROWTH``, until at least one way is counted to its
end; the cheapest of these wins. So the choice equals that of exact counts, and costs a constant multiple of the
cheapest way. If even that way has more entries than can be gathered, the keys are scanned, which needs no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.catalog.filters.scan_plans import FilterPlan, ScanPlan, only_keys, stretches_of
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import NULL
from rewriter.catalog.model.key_ranges import KeyRange, after, merged
from rewriter.catalog.model.objects import Table
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.catalog.store.database import Database

#: The maximum number of keys of a secondary index held in memory.
MOST_GATHERED = 50_000
#: The cost of an entry of a secondary index, in entries of the index of keys.
LOOK_UP = 2
#: The first bound of the counts, and how it grows.
FIRST_COUNT, GROWTH = 1024, 8


@dataclass(frozen=True)
class IndexWay:
    """The entries of one partition column (its number, from 1) whose field lies in some ranges.

    ``places`` are these ranges in the index. ``stretches`` are the same entries with one key for one value, which is
    found sooner. ``filters`` are the remaining conjunctions (empty: none).
    """

    column: int
    places: tuple[KeyRange, ...]
    stretches: tuple[KeyRange, ...]
    filters: tuple[ScanPlan, ...]


@dataclass(frozen=True)
class Choice:
    """A way (``None``: scans of keys) and the number of its entries: a lower bound unless ``exact``."""

    index: IndexWay | None
    entries: int
    exact: bool


def index_ways(plan: FilterPlan, table: Table) -> tuple[IndexWay, ...]:
    """Returns the further columns that serve for a plan. None if it names whole keys, which nothing finds sooner."""
    columns = table.partition_columns
    if not plan.plans or only_keys(plan, columns):
        return ()
    ways = []
    for column in range(1, len(columns)):
        allowed = [scan.ranges[column] for scan in plan.plans]
        if None not in allowed:
            exact = merged(part for ranges in allowed for part in ranges or ())
            ranges, head = stretches_of(exact), encoding.place(table.id, column)
            places = tuple(KeyRange(head + fields.start, head + fields.end) for fields in ranges)
            width = encoding.width_of(columns[column].type)
            stretches = tuple(
                KeyRange.of_key(key_range.start) if _is_value(fields, width) else key_range
                for fields, key_range in zip(ranges, places, strict=True)
            )
            open_plans = (plan.plans[0].without(column),) if len(plan.plans) == 1 and ranges == exact else plan.plans
            ways.append(
                IndexWay(
                    column, places, stretches, tuple(open_plan for open_plan in open_plans if open_plan is not None)
                )
            )
    return tuple(ways)


def _is_value(key_range: KeyRange, width: int | None) -> bool:
    """Returns True if a range of fields holds one value."""
    is_complete = (
        key_range.start.endswith(NULL) if width is None or key_range.start == NULL else len(key_range.start) == width
    )
    return is_complete and key_range.end == after(key_range.start)


def choose(database: Database, scanned: Sequence[KeyRange], indexes: Sequence[IndexWay]) -> Choice:
    """Returns the cheapest way to the rows of the scans; ties go to the keys. A statement for each way and bound."""
    if not scanned or not indexes:
        return Choice(None, 0, not scanned)
    bound = FIRST_COUNT
    while bound <= LOOK_UP * MOST_GATHERED:
        complete: list[tuple[int, Choice]] = []
        counted = queries.entry_count(database, schema.partitions.c.key, scanned, bound + 1)
        if counted <= bound:
            complete.append((counted, Choice(None, counted, True)))
        for index in indexes:
            most = bound // LOOK_UP
            entries = queries.entry_count(database, schema.partition_fields.c.place, index.stretches, most + 1)
            if entries <= most:
                complete.append((LOOK_UP * entries, Choice(index, entries, True)))
        if complete:
            return min(complete, key=lambda counted_choice: counted_choice[0])[1]
        bound *= GROWTH
    return Choice(None, counted, False)
