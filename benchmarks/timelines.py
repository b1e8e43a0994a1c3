"""Timelines of a year of minutes: the cost of each kind to query, to change, to keep in memory and to store.

They are compared, in the same run, with their parts or alternatives: a plain set, a roaring bitmap, bisect over two
lists.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from pyroaring import BitMap64

from benchmarks.timing import Figure, Table, seconds
from rewriter.timeline.kinds.bitmap import BitmapPartitionTimeline
from rewriter.timeline.kinds.registry import timeline_class
from rewriter.timeline.periods import UpdatePeriod
from rewriter.timeline.timeline import OrdinalRange, PartitionTimeline

SLOTS, HOLES, CALLS = 525_600, 1_000, 20_000
KINDS = ("EndsAndHoles", "Ranges", "StoreAll", "Bitmap")
START = UpdatePeriod.MINUTELY.ordinal(1_420_070_400_000_000)  # 2015-01-01
YEAR = OrdinalRange(START, START + SLOTS)


def measure() -> Table:
    """Returns one row for each operation and kind. The year lacks 1,000 minutes, except if a batch adds all of it."""
    chance = random.Random(0)
    batch = list(range(YEAR.start, YEAR.end))
    chance.shuffle(batch)
    absent, probes = batch[:HOLES], batch[HOLES : HOLES + CALLS]
    figures = [*_exists(absent, chance.sample(batch, CALLS)), *_changes(absent, probes), *_batches(batch)]
    return Table(f"Timelines of {SLOTS:,} minutes with {HOLES:,} holes", (*figures, *_sizes(absent)))


def _year(name: str, absent: Sequence[int]) -> PartitionTimeline:
    timeline = timeline_class(name)([YEAR])
    timeline.drop_all(absent)
    return timeline


def _exists(absent: Sequence[int], probes: Sequence[int]) -> list[Figure]:
    ranges = _year("Ranges", absent).ranges()
    starts, ends = [each.start for each in ranges], [each.end for each in ranges]
    plain = {ordinal for each in ranges for ordinal in range(each.start, each.end)}
    bits = BitMap64(plain)
    beside: dict[str, Callable[[int], object]] = {
        "a plain set": plain.__contains__,
        "a roaring bitmap": bits.__contains__,
        "bisect over two lists": lambda ordinal: ordinal < ends[bisect_right(starts, ordinal) - 1],
    }
    ours = {name: _year(name, absent).exists for name in KINDS}
    return [Figure(f"exists, {name}", _each(ask, probes, repeat=5)) for name, ask in {**ours, **beside}.items()]


def _changes(absent: Sequence[int], probes: Sequence[int]) -> list[Figure]:
    figures = []
    for name in KINDS:
        timeline = _year(name, absent)
        figures.append(Figure(f"drop one, {name}", _each(timeline.drop, probes), f"{CALLS:,} one after the other"))
        figures.append(Figure(f"add one, {name}", _each(timeline.add, probes), "the same again"))
    return figures


def _batches(batch: list[int]) -> list[Figure]:
    ours = {name: timeline_class(name)().add_all for name in KINDS}
    beside: dict[str, Callable[[list[int]], object]] = {
        "a plain set": set[int]().update,
        "a roaring bitmap": BitMap64().update,
    }
    return [
        Figure(f"add all {SLOTS:,} in random order, {name}", _each(add, [batch]))
        for name, add in {**ours, **beside}.items()
    ]


def _sizes(absent: Sequence[int]) -> list[Figure]:
    figures = []
    for name in KINDS:
        tracemalloc.start()
        timeline = _year(name, absent)
        kept, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        if isinstance(timeline, BitmapPartitionTimeline):
            kept += sys.getsizeof(timeline._bitmap)  # Allocations of C are not traced.
        properties = timeline.to_properties()
        stored = sum(len(key) + len(value) for key, value in properties.items())
        note = f"{kept / 1000:,.1f} KB in memory, {stored / 1000:,.1f} KB in {len(properties):,} properties"
        figures.append(Figure(f"to properties, {name}", seconds(timeline.to_properties), note))
    return figures


def _each(call: Callable[[Any], object], arguments: Sequence[Any], repeat: int = 1) -> float:
    """Returns seconds for one call, the median of ``repeat`` rounds."""

    def round() -> None:
        for argument in arguments:
            call(argument)

    return seconds(round, repeat) / len(arguments)
