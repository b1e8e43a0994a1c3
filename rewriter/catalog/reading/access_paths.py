"""Access paths: the partitions of a filter are found by the index of the keys, or by the index of one other column.

The keys are scanned as described in ``scan_plans``. The index of another column applies if every conjunction of the
plan restricts that column. Its entries (``schema.partition_fields``) name each key once, and the key contains all
values that the filter tests, so only the rows of matching keys are looked up. One index serves the whole filter, so no
key is visited twice.

The choice compares counts of entries. An entry of another column counts ``_LOOK_UP`` times, for the row that it may
lead to. At most n entries of each path are counted, n growing by ``GROWTH``, until at least one path is counted to its
end; the cheapest of these wins. So the choice equals the choice by exact counts, and costs a constant multiple of the
cheapest path. If even that path has more entries than can be gathered, the keys are scanned, which needs no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rewriter.catalog.filters.scan_plans import FilterPlan, ScanPlan, join_ranges, only_keys
from rewriter.catalog.keys import encoding
from rewriter.catalog.keys.encoding import NULL
from rewriter.catalog.model.key_ranges import KeyRange, after, merge_ranges
from rewriter.catalog.reading import queries
from rewriter.catalog.store import schema
from rewriter.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from rewriter.catalog.model.objects import Table
    from rewriter.catalog.store.database import Database

#: The maximum number of keys of a secondary index held in memory.
MOST_GATHERED = 50_000
#: The cost of an entry of a secondary index, in entries of the index of keys.
_LOOK_UP = 2
#: The first bound of the counts, and how it grows.
FIRST_COUNT, GROWTH = 1024, 8


@dataclass(frozen=True)
class IndexPath:
    """The entries of one partition column (its number, from 1) whose field is in given ranges.

    ``entry_ranges`` are these ranges in the index. ``search_ranges`` are the same entries; a range of one value is a
    single key there, which is found sooner. ``filters`` are the remaining conjunctions (empty: none).
    """

    column: int
    entry_ranges: tuple[KeyRange, ...]
    search_ranges: tuple[KeyRange, ...]
    filters: tuple[ScanPlan, ...]


@dataclass(frozen=True)
class Choice:
    """An index (``None``: the scans of keys) and the number of its entries: a lower bound unless ``exact``."""

    index: IndexPath | None
    entries: int
    exact: bool


def index_paths(plan: FilterPlan, table: Table) -> tuple[IndexPath, ...]:
    """Returns the indexes of other columns that a plan can use. Empty if it names complete keys: no index is faster."""
    columns = table.partition_columns
    if not plan.plans or only_keys(plan, columns):
        return ()
    paths = []
    for column in range(1, len(columns)):
        column_ranges = [scan.ranges[column] for scan in plan.plans]
        if None not in column_ranges:
            exact = merge_ranges(key_range for ranges in column_ranges for key_range in ranges or ())
            ranges, entry_prefix = join_ranges(exact), encoding.entry_prefix(table.id, column)
            entry_ranges = tuple(
                KeyRange(entry_prefix + field_range.start, entry_prefix + field_range.end) for field_range in ranges
            )
            width = encoding.width_of(columns[column].type)
            search_ranges = tuple(
                KeyRange.of_key(key_range.start) if _is_value(field_range, width) else key_range
                for field_range, key_range in zip(ranges, entry_ranges, strict=True)
            )
            open_plans = (plan.plans[0].without(column),) if len(plan.plans) == 1 and ranges == exact else plan.plans
            paths.append(
                IndexPath(
                    column,
                    entry_ranges,
                    search_ranges,
                    tuple(open_plan for open_plan in open_plans if open_plan is not None),
                )
            )
    return tuple(paths)


def _is_value(key_range: KeyRange, width: int | None) -> bool:
    """Returns True if a range of fields holds one value."""
    is_complete = (
        key_range.start.endswith(NULL) if width is None or key_range.start == NULL else len(key_range.start) == width
    )
    return is_complete and key_range.end == after(key_range.start)


def choose(database: Database, scanned: Sequence[KeyRange], indexes: Sequence[IndexPath]) -> Choice:
    """Returns the cheapest path to the rows of the scans; ties go to the keys.

    Runs one statement for each path and bound.
    """
    if not scanned or not indexes:
        return Choice(None, 0, not scanned)
    bound = FIRST_COUNT
    while bound <= _LOOK_UP * MOST_GATHERED:
        complete: list[tuple[int, Choice]] = []
        key_count = queries.entry_count(database, schema.partitions.c.key, scanned, bound + 1)
        if key_count <= bound:
            complete.append((key_count, Choice(None, key_count, True)))
        for index in indexes:
            entry_limit = bound // _LOOK_UP
            entry_count = queries.entry_count(
                database, schema.partition_fields.c.place, index.search_ranges, entry_limit + 1
            )
            if entry_count <= entry_limit:
                complete.append((_LOOK_UP * entry_count, Choice(index, entry_count, True)))
        if complete:
            return min(complete, key=lambda counted_choice: counted_choice[0])[1]
        bound *= GROWTH
    return Choice(None, key_count, False)
