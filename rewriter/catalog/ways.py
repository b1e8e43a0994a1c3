"""By which index the partitions of a filter are found: that of the keys, or that of one further column.

The keys are scanned as ``scan_plans`` says. A further column serves where every conjunction of the plan restricts it:
its entries (``schema.partition_fields``) name the keys, each once, and the key says all that the filter asks, so that
only rows of keys that count are looked up. One index serves the whole filter, so no key is visited twice.

The choice goes by counts of entries, and an entry of a further column counts ``LOOK_UP`` times, for the row that it may
lead to. At most n entries of each way are counted, n growing by ``GROWTH``, until a way has no more: the cheapest of
those that have none wins. So the choice is that of exact counts, and takes a constant number of times the cheapest way.
Where even that has more than can be gathered, the keys are scanned, which needs no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.catalog import keys, reads, schema
from rewriter.catalog.database import Database
from rewriter.catalog.keys import NULL, KeyRange, merged
from rewriter.catalog.models import Table
from rewriter.catalog.scan_plans import FilterPlan, ScanPlan, only_keys, stretches_of

#: The most keys of a secondary index that are held in memory.
MOST_GATHERED = 50_000
#: What an entry of a secondary index costs, in entries of the index of keys.
LOOK_UP = 2
#: The first bound of the counts, and how it grows.
FIRST_COUNT, GROWTH = 1024, 8


@dataclass(frozen=True)
class IndexWay:
    """The entries of one partition column (its number, from 1) whose field lies in some ranges.

    ``places`` are these ranges in the index, ``stretches`` the same entries with one key for one value, which is found
    sooner; ``filters`` are the conjunctions that they leave open (none: nothing).
    """

    column: int
    places: tuple[KeyRange, ...]
    stretches: tuple[KeyRange, ...]
    filters: tuple[ScanPlan, ...]


@dataclass(frozen=True)
class Choice:
    """A way, ``None`` for the scans of keys, and how many entries it has: at least that many unless ``exact``."""

    index: IndexWay | None
    entries: int
    exact: bool


def index_ways(plan: FilterPlan, table: Table) -> tuple[IndexWay, ...]:
    """The further columns that serve for a plan. None where it names whole keys, which nothing finds sooner."""
    columns = table.partition_columns
    if not plan.plans or only_keys(plan, columns):
        return ()
    found = []
    for column in range(1, len(columns)):
        allowed = [one.ranges[column] for one in plan.plans]
        if None not in allowed:
            exact = merged(part for ranges in allowed for part in ranges or ())
            ranges, head = stretches_of(exact), keys.place(table.id, column)
            places = tuple(KeyRange(head + one.start, head + one.end) for one in ranges)
            width = keys.width_of(columns[column].type)
            stretches = tuple(
                KeyRange.of_key(there.start) if _is_value(one, width) else there
                for one, there in zip(ranges, places, strict=True)
            )
            left = (plan.plans[0].without(column),) if len(plan.plans) == 1 and ranges == exact else plan.plans
            found.append(IndexWay(column, places, stretches, tuple(one for one in left if one is not None)))
    return tuple(found)


def _is_value(one: KeyRange, width: int | None) -> bool:
    """Whether a range of fields holds one value."""
    whole = one.start.endswith(NULL) if width is None or one.start == NULL else len(one.start) == width
    return whole and one.end == keys.after(one.start)


def choose(database: Database, scanned: Sequence[KeyRange], indexes: Sequence[IndexWay]) -> Choice:
    """The cheapest way to what the scans find; ties go to the keys. A statement for each way and bound."""
    if not scanned or not indexes:
        return Choice(None, 0, not scanned)
    bound = FIRST_COUNT
    while bound <= LOOK_UP * MOST_GATHERED:
        found: list[tuple[int, Choice]] = []
        counted = reads.entry_count(database, schema.partitions.c.key, scanned, bound + 1)
        if counted <= bound:
            found.append((counted, Choice(None, counted, True)))
        for index in indexes:
            most = bound // LOOK_UP
            entries = reads.entry_count(database, schema.partition_fields.c.place, index.stretches, most + 1)
            if entries <= most:
                found.append((LOOK_UP * entries, Choice(index, entries, True)))
        if found:
            return min(found, key=lambda one: one[0])[1]
        bound *= GROWTH
    return Choice(None, counted, False)
