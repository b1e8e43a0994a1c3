"""Conditions that an engine computes on partition values, put into a filter as ranges of the existing values.

For each such condition (``predicates.Computed``) an engine decides which of the existing values it keeps. In the order
of keys the kept values are runs, and a run is a range: no other value is between two neighbors. So
``substr(dt, 1, 7) = '2024-01'`` is found like ``dt BETWEEN '2024-01-01' AND '2024-01-31'``, without knowledge of
SUBSTR. This holds under one snapshot, for keys that satisfy the other conditions of the filter; other keys were not
computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import assert_never

from rewriter.catalog.filters.predicates import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldLike,
    FieldRanges,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
    within,
)
from rewriter.catalog.keys.encoding import NULL
from rewriter.catalog.model.key_ranges import KeyRange, after

#: The fields of a key at the indexes of a condition.
Fields = tuple[bytes, ...]


def conditions(tree: ScanFilter, of_nulls: bool = False) -> Iterator[tuple[Computed, bool]]:
    """Yields each occurrence of a condition in a filter that has to be computed, and whether NULLs matter.

    NULLs matter if the filter needs the result for NULLs, too.
    """
    match tree:
        case Computed():
            yield tree, of_nulls
        case NotOfNulls():
            yield from conditions(tree.part, True)
        case AllOf() | AnyOf():
            for part in tree.parts:
                yield from conditions(part, of_nulls)
        case FieldIn() | FieldLike() | FieldsIn():
            pass
        case _:
            assert_never(tree)


def substituted(tree: ScanFilter, filters: Mapping[Computed, ScanFilter]) -> ScanFilter | None:
    """Returns the filter with ``filters`` in place of the computed conditions; ``None`` is no filter: everything.

    A condition without a filter is omitted from an AND, and makes an OR unrestricted. So without any filters the result
    holds for all partitions for which the filter can be TRUE.
    """
    match tree:
        case Computed():
            return filters.get(tree)
        case NotOfNulls():
            part = substituted(tree.part, filters)
            return None if part is None or part.holds((NULL,) * tree.columns) else part
        case AllOf() | AnyOf():
            parts = [substituted(part, filters) for part in tree.parts]
            parts_left = tuple(part for part in parts if part is not None)
            if not parts_left or (isinstance(tree, AnyOf) and len(parts_left) < len(parts)):
                return None
            return parts_left[0] if len(parts_left) == 1 else type(tree)(parts_left)
        case FieldIn() | FieldLike() | FieldsIn():
            return tree
        case _:
            assert_never(tree)


def filter_of_results(condition: Computed, results: Mapping[Fields, bool]) -> ScanFilter | None:
    """Returns the filter that holds for the fields whose result is True, and for no others; ``None`` if all are True.

    For several columns, the ranges of each are those of its values in combinations that hold. O(n log n).
    """
    if all(results.values()):
        return None
    columns: list[tuple[int, FieldIn]] = []
    for number, index in enumerate(condition.indexes):
        values: dict[bytes, bool] = {}
        for fields, holds in results.items():
            values[fields[number]] = values.get(fields[number], False) or holds
        if not all(values.values()):
            columns.append((number, FieldIn(index, _runs(values))))
    parts: list[ScanFilter] = [column for _, column in columns]
    if any(
        not holds and all(within(column.ranges, fields[position]) for position, column in columns)
        for fields, holds in results.items()
    ):
        parts.append(FieldsIn(condition.indexes, frozenset(fields for fields, holds in results.items() if holds)))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _runs(results: Mapping[bytes, bool]) -> FieldRanges:
    """Returns the ranges of neighbouring values that all hold."""
    ranges = []
    for holds, run in groupby(sorted(results), key=results.__getitem__):
        if holds:
            neighbours = list(run)
            ranges.append(KeyRange(neighbours[0], after(neighbours[-1])))
    return tuple(ranges)
