"""Theta sketches depend on the set of their values alone, however it was split. HLL and KLL sketches do not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from datasketches import (
    compact_theta_sketch,
    hll_sketch,
    hll_union,
    kll_ints_sketch,
    tgt_hll_type,
    update_theta_sketch,
)

from rewriter.errors import NotSupportedError
from rewriter.exec.duckdb import own_functions
from rewriter.exec.duckdb.engine import DuckDBEngine
from rewriter.exec.theta_sketches import compact_bytes, read_sketch
from rewriter.exec.translate import theta_functions
from rewriter.session import Session

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


@pytest.mark.parametrize(
    "damaged",
    [
        "", "01", "0104032004", "03030300001acc93", "0a01070800100600000000000000000000",
        # More hashes than there are bytes: the library would read behind them, or allocate gigabytes.
        "01040320041acc9300000008", "01040300041acc9300ca9a3b", "02040300041acc93000000000000004000ca9a3b",
        "01040300081acc9300ca9a3b00000000", "01040300041acc93ffffffff", "02030300001acc93ffffff7f0000803f",
        # A theta of 0, a hash above theta, a hash of 0, another seed, no such version, and a mark without what it says.
        "03030300001acc93000000000000803f0000000000000000",
        "03030300001acc93010000000000803f0000000000000001ffffffffffffff3f",
        "02030300001acc93010000000000803f0000000000000000", "01030300003accff15f97dcbbd86a105",
        "01050300003acc9315f97dcbbd86a105", "02030300001ecc930100000000000000ffffffffffffff00",
    ],
)  # fmt: skip
def test_damaged_sketches_are_refused(damaged: str) -> None:
    with pytest.raises(ValueError, match="THETA_INVALID_INPUT_SKETCH_BUFFER"):
        read_sketch(bytes.fromhex(damaged))


def test_random_damage_is_refused_or_leaves_a_sketch() -> None:
    source = random.Random(7)
    sketches = [theta(range(count)) for count in (0, 1, 2, 40, 600, 5000)]
    sketches += [read_sketch(sketch).serialize() for sketch in sketches]
    for _ in range(4000):
        data = bytearray(source.choice(sketches))
        for _ in range(source.randint(1, 3)):
            place = source.randrange(min(len(data), 32) if source.random() < 0.7 else len(data))
            data[place] ^= 1 << source.randrange(8)
        if source.random() < 0.2:
            del data[source.randrange(len(data)) :]
        try:
            sketch = read_sketch(bytes(data))
        except ValueError:
            continue
        # The sketch can be united, intersected, and written again.
        assert read_sketch(compact_bytes(sketch)).num_retained == sketch.num_retained
        united([bytes(data), sketches[4]])
        own_functions._intersected([bytes(data), sketches[4]])


def test_a_missing_package_is_told_at_the_function(
    duckdb: DuckDBEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theta_functions, "find_spec", lambda name: None)
    with Session(tmp_path / "warehouse", duckdb) as session:
        for statement in (
            "CREATE CUBE visits (site STRING, u BINARY MEASURE THETA_UNION, at TIMESTAMP TIME)",
            "CREATE TABLE days (site STRING, u BINARY) PARTITIONED BY (d STRING)",
            "CREATE FACT f OF CUBE visits STORED IN (TABLE days PERIOD DAILY PARTITIONED BY at AS (d))",
            "INSERT INTO days VALUES ('a', NULL, '2024-05-01')",
        ):
            session.execute(statement)
        call = "theta_sketch_estimate(theta_union_agg(u))"
        query = f"SELECT site, {call} FROM visits WHERE at >= '2024-05-01' AND at < '2024-05-02' GROUP BY site"
        with pytest.raises(NotSupportedError, match="needs the package datasketches") as caught:
            session.execute(query)
    position = caught.value.position
    assert position is not None
    assert query[position.start : position.end] == call
