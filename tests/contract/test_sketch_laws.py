"""Which sketches depend on the set of their values alone, and not on how it was split: theta, neither HLL nor KLL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from datasketches import (
    compact_theta_sketch,
    hll_sketch,
    hll_union,
    kll_ints_sketch,
    tgt_hll_type,
    update_theta_sketch,
)

from rewriter.exec.duckdb import own_functions

#: 2^9 hashes, so that small sets fill a sketch.
PRECISION = 9


def theta(values: Iterable[int]) -> bytes:
    """The sketch of some values, as a query makes it."""
    lists, precisions = pa.chunked_array([[list(values)]]), pa.chunked_array([[PRECISION]])
    return bytes(own_functions._of_values(lists, precisions)[0].as_py())


def united(sketches: Sequence[bytes], precision: int = PRECISION) -> bytes:
    """The union of sketches, as a query makes it."""
    lists, precisions = pa.chunked_array([[list(sketches)]]), pa.chunked_array([[precision]])
    return bytes(own_functions._union(lists, precisions)[0].as_py())


def split(source: random.Random, values: Sequence[int]) -> list[list[int]]:
    parts: list[list[int]] = [[] for _ in range(source.randint(1, 9))]
    for value in values:
        source.choice(parts).append(value)
    return parts


def worlds(count: int) -> Iterable[tuple[random.Random, list[int]]]:
    """Random multisets of up to 6,000 values."""
    for seed in range(count):
        source = random.Random(seed)
        size, most = source.choice((3, 300, 700, 6000)), source.choice((500, 10**9))
        yield source, [source.randrange(most) for _ in range(size)]


def in_levels(source: random.Random, parts: Sequence[bytes], union: Callable[[Sequence[bytes]], bytes]) -> bytes:
    """Unites sketches in random groups, level by level, as rollups of rollups do."""
    level = list(parts)
    while len(level) > 1:
        source.shuffle(level)
        size = source.randint(2, 4)
        level = [union(level[at : at + size]) for at in range(0, len(level), size)]
    return union(level)


def test_theta_sketches_do_not_depend_on_how_values_were_split() -> None:
    for source, values in worlds(120):
        parts = [theta(part) for part in split(source, values)]
        assert in_levels(source, parts, united) == theta(values) == united([theta(values)])
        # A query may keep fewer hashes than the rollups have.
        coarse = united(parts, 6)
        assert united([united(parts)], 6) == coarse


def test_sketches_of_fewer_hashes_are_united_alike_in_any_order() -> None:
    """Base rows may have other precisions than their measure."""
    for source, values in worlds(60):
        parts = []
        for part in split(source, values):
            sketch = update_theta_sketch(source.choice((5, 7, 9, 11)))
            for value in part:
                sketch.update(value)
            parts.append(sketch.compact().serialize())
        assert in_levels(source, parts, united) == united(parts)


def test_estimates_are_within_the_published_bounds() -> None:
    """The standard error of 2^9 hashes is 1 / sqrt(2^9 - 2), 4.4 percent. Small sets are counted exactly."""
    outside, draws = 0, 1000
    for number in range(draws):
        count = 1000 + 37 * number
        sketch = compact_theta_sketch.deserialize(theta(range(number * 10**6, number * 10**6 + count)))
        outside += not sketch.get_lower_bound(2) <= count <= sketch.get_upper_bound(2)
        assert abs(sketch.get_estimate() / count - 1) < 5 * 0.0443
    assert outside < draws * 0.06  # 4.6 percent are expected outside of two standard errors.
    assert all(compact_theta_sketch.deserialize(theta(range(n))).get_estimate() == n for n in (0, 1, 2, 511))


def hll(values: Iterable[int]) -> hll_sketch:
    sketch = hll_sketch(PRECISION, tgt_hll_type.HLL_8)
    for value in values:
        sketch.update(value)
    return sketch


def hll_estimate(sketches: Iterable[hll_sketch]) -> float:
    union = hll_union(PRECISION)
    for sketch in sketches:
        union.update(sketch)
    return float(union.get_result(tgt_hll_type.HLL_8).get_estimate())


def test_hll_estimates_depend_on_the_split() -> None:
    """The estimator of a sketch that has seen its values one by one counts their order, too; a union may pass it on."""
    differ = 0
    for source, values in worlds(40):
        differ += hll_estimate([hll(values)]) != hll_estimate(map(hll, split(source, values)))
    assert differ > 0


def test_kll_quantiles_depend_on_the_split() -> None:
    def median(sketches: Iterable[list[int]]) -> int:
        merged = kll_ints_sketch(20)
        for values in sketches:
            sketch = kll_ints_sketch(20)
            for value in values:
                sketch.update(value)
            merged.merge(sketch)
        return int(merged.get_quantile(0.5))

    differ = 0
    for source, values in worlds(40):
        differ += len(values) > 1000 and median([values]) != median(split(source, values))
    assert differ > 0
