"""The questions about an object whose results are cached: a word, and its argument."""

from __future__ import annotations

from collections.abc import Hashable

from rewriter.catalog.filters.predicates import ScanFilter
from rewriter.catalog.model.key_ranges import KeyRange

Question = tuple[Hashable, ...]

#: The definition of an object; the stored timelines of a table, and all its partitions in key order.
DEFINITION: Question = ("definition",)
TIMELINES: Question = ("timelines",)
PARTITIONS: Question = ("partitions",)


def one_partition(key: bytes) -> Question:
    """Returns the partition with a key."""
    return ("partition", key)


def partitions_in(ranges: tuple[KeyRange, ...]) -> Question:
    """Returns the partitions in key ranges."""
    return ("partitions in", ranges)


def satisfying(scan_filter: ScanFilter) -> Question:
    """Returns the partitions that satisfy a bound filter."""
    return ("satisfying", scan_filter)


def files_satisfying(scan_filter: ScanFilter) -> Question:
    """Returns the files of the partitions that satisfy a bound filter."""
    return ("files satisfying", scan_filter)


def files_in(ranges: tuple[KeyRange, ...] | None) -> Question:
    """Returns the files of partitions in key ranges."""
    return ("files in", ranges)
