"""Conditions that an engine computes on partition values, put into a filter as ranges of the values that there are.

Of each such condition (``scan_filters.Computed``) somebody says which of the values that occur it keeps. In the order
of keys the values that it keeps are runs, and a run is a range: between two neighbours there is no other value. So
``substr(dt, 1, 7) = '2024-01'`` is found as ``dt BETWEEN '2024-01-01' AND '2024-01-31'`` is, without anybody knowing
what SUBSTR does. That holds under one snapshot, for keys that satisfy the rest of the filter; of others nobody asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from rewriter.catalog.keys import NULL, KeyRange, after
from rewriter.catalog.scan_filters import (
    AllOf,
    AnyOf,
    Computed,
    FieldIn,
    FieldRanges,
    FieldsIn,
    NotOfNulls,
    ScanFilter,
    within,
)

#: The fields of a key at the indexes of a condition.
Fields = tuple[bytes, ...]


def conditions(tree: ScanFilter, of_nulls: bool = False) -> Iterator[tuple[Computed, bool]]:
    """The conditions in a filter that are to be computed, each as often as it stands there, and whether it has to be
    known if they are TRUE of NULLs.
    """
    if isinstance(tree, Computed):
        yield tree, of_nulls
    elif isinstance(tree, NotOfNulls):
        yield from conditions(tree.part, True)
    elif isinstance(tree, AllOf | AnyOf):
        for part in tree.parts:
            yield from conditions(part, of_nulls)


def settled(tree: ScanFilter, answers: Mapping[Computed, ScanFilter]) -> ScanFilter | None:
    """The filter with answers in place of what was to be computed; ``None`` is no filter: everything.

    A condition without an answer is left out of an AND, and makes an OR say nothing. So without any answers it is what
    all partitions satisfy of which the filter can be TRUE.
    """
    if isinstance(tree, Computed):
        return answers.get(tree)
    if isinstance(tree, NotOfNulls):
        part = settled(tree.part, answers)
        return None if part is None or part.holds((NULL,) * tree.columns) else part
    if isinstance(tree, AllOf | AnyOf):
        parts = [settled(part, answers) for part in tree.parts]
        known = tuple(part for part in parts if part is not None)
        if not known or (isinstance(tree, AnyOf) and len(known) < len(parts)):
            return None
        return known[0] if len(known) == 1 else type(tree)(known)
    return tree


def answer(condition: Computed, kept: Mapping[Fields, bool]) -> ScanFilter | None:
    """The filter that holds for the fields that are ``kept`` and for no others of these; ``None`` where all are.
    O(n log n).

    Of several columns, the ranges of each are those of the values that are in some kept combination.
    """
    if all(kept.values()):
        return None
    columns: list[tuple[int, FieldIn]] = []
    for number, index in enumerate(condition.indexes):
        values: dict[bytes, bool] = {}
        for fields, keep in kept.items():
            values[fields[number]] = values.get(fields[number], False) or keep
        if not all(values.values()):
            columns.append((number, FieldIn(index, _runs(values))))
    parts: list[ScanFilter] = [column for _, column in columns]
    if any(not keep and all(within(one.ranges, fields[at]) for at, one in columns) for fields, keep in kept.items()):
        parts.append(FieldsIn(condition.indexes, frozenset(fields for fields, keep in kept.items() if keep)))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _runs(values: Mapping[bytes, bool]) -> FieldRanges:
    """The stretches of neighbouring values that are all kept."""
    ranges = []
    for keep, run in groupby(sorted(values), key=values.__getitem__):
        if keep:
            found = list(run)
            ranges.append(KeyRange(found[0], after(found[-1])))
    return tuple(ranges)
