"""Defines the macros and functions that a statement calls, in a DuckDB database, when they are first called."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import threading
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from math import ceil, floor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from rewriter.exec.translate.duckdb_macros import macros

if TYPE_CHECKING:
    import duckdb
    import numpy as np

_NAME = re.compile(r"\brw_[a-z0-9_]+")
#: A column of Arrow. DuckDB evaluates the annotations of a function, so that they name nothing that is not imported.
_Column = Any


class OwnFunctions:
    """The macros and functions of one database. A definition costs about 1 ms, and most statements call none."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """``connection`` is used for nothing else."""
        self._connection = connection
        self._lock = threading.Lock()
        self._defined: set[str] = set()

    def define(self, sql: str) -> str:
        """Defines what a statement calls, and what that calls. Returns the statement.

        May be called from several threads.
        """
        names = set(_NAME.findall(sql))
        if not names <= self._defined:
            with self._lock:
                self._define(names)
        return sql

    def _define(self, names: set[str]) -> None:
        for name in sorted(names - self._defined):
            statement = macros().get(name)
            if statement is not None:
                self._define(set(_NAME.findall(statement)) - {name})
                self._connection.execute(statement)
                self._defined.add(name)
            elif name in _FUNCTIONS:
                function, types, returned = _FUNCTIONS[name]
                # Without ``special``, NULL is returned for an empty list, which DuckDB passes as NULL.
                self._connection.create_function(
                    name, function, list(types), returned, type="arrow", null_handling="special"
                )
                self._defined.add(name)


# Theta sketches by Apache DataSketches. A function takes columns and returns a column, by 2,048 rows. Its modules are
# imported by the first call.


def _rows(column: _Column) -> Iterable[Any]:
    """Yields the rows of a column; of a list, its values in Python."""
    for chunk in column.chunks:
        yield from chunk.to_pylist()


def _of_values(values: _Column, precisions: _Column) -> _Column:
    """Returns the sketch of the values in each list."""
    return _binary(
        _of_value(listed[0], precision) if listed is not None and len(listed) == 1 else _hashed(listed or (), precision)
        for listed, precision in zip(_rows(values), _rows(precisions), strict=True)
    )


@lru_cache(maxsize=1 << 16)
def _of_value(value: Any, precision: int) -> bytes:
    """Returns the sketch of one value. Many events may have the same one."""
    return _hashed((value,), precision)


def _hashed(values: Iterable[Any], precision: int) -> bytes:
    from datasketches import update_theta_sketch

    sketch = update_theta_sketch(precision)
    deque(map(sketch.update, values), maxlen=0)
    return _united((sketch,), precision)


def _union(values: _Column, precisions: _Column) -> _Column:
    """Returns the union of the sketches in each list. Those of single events are read once each."""
    from rewriter.exec.theta_sketches import read_sketch

    rows = zip(_rows(values), _rows(precisions), strict=True)
    return _binary(
        _united(map(read_sketch, () if listed is None else _without_repetitions(listed)), precision)
        for listed, precision in rows
    )


def _without_repetitions(sketches: Sequence[bytes]) -> Iterable[bytes]:
    from rewriter.exec.theta_sketches import SINGLE_LENGTH

    single = {sketch for sketch in sketches if len(sketch) == SINGLE_LENGTH}
    return chain(single, (sketch for sketch in sketches if len(sketch) != SINGLE_LENGTH))


def _united(sketches: Iterable[Any], precision: int) -> bytes:
    from datasketches import theta_union

    from rewriter.exec.theta_sketches import compact_bytes

    union = theta_union(precision)
    for sketch in sketches:
        union.update(sketch)
    return compact_bytes(union.get_result())


def _intersection(values: _Column) -> _Column:
    """Returns the intersection of the sketches in each list."""
    return _binary(_intersected(listed or ()) for listed in _rows(values))


def _intersected(sketches: Sequence[bytes]) -> bytes:
    from datasketches import theta_intersection

    from rewriter.exec.theta_sketches import compact_bytes, read_sketch

    if not sketches:
        return _united((), 12)
    intersection = theta_intersection()
    for sketch in sketches:
        intersection.update(read_sketch(sketch))
    return compact_bytes(intersection.get_result())


def _difference(values: _Column) -> _Column:
    """Returns the first sketch of each pair without the values of the second one."""
    from datasketches import theta_a_not_b

    from rewriter.exec.theta_sketches import compact_bytes, read_sketch

    return _binary(
        None if pair is None else compact_bytes(theta_a_not_b().compute(*map(read_sketch, pair)))
        for pair in _rows(values)
    )


def _estimate(values: _Column) -> _Column:
    """Returns the estimated number of values of each sketch, as Java rounds it."""
    import pyarrow as pa

    from rewriter.exec.theta_sketches import GREATEST_THETA, read_sketch

    def rounded(sketch: bytes) -> int:
        return int(min(read_sketch(sketch).get_estimate() + 0.5, GREATEST_THETA))

    return pa.array([None if sketch is None else rounded(sketch) for sketch in _rows(values)], type=pa.int64())


def _weighted_percentiles(rows: _Column, percentages: _Column) -> _Column:
    """Returns percentiles of the values of each list, of which each occurs as often as its frequency says. Spark
    interpolates between the values next to the place in the same way.
    """
    import pyarrow as pa

    results = []
    for chunk, listed_percentages in zip(rows.chunks, percentages.chunks, strict=True):
        for listed, places in zip(chunk, listed_percentages.to_pylist(), strict=True):
            results.append(None if listed.values is None else _percentiles_of(listed.values, places))
    return pa.array(results, type=pa.list_(pa.float64()))


def _percentiles_of(rows: Any, percentages: Sequence[float]) -> list[float] | None:
    """Returns the percentiles of an array of structs of a value and its frequency; ``None`` if all are 0."""
    from pyarrow import compute

    values, frequencies = rows.flatten()
    least = compute.min(frequencies).as_py()
    if least is not None and least < 0:
        raise ValueError(f"[NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION] The frequency {least} is negative.")
    order = compute.sort_indices(values)
    values, counted = values.take(order), compute.cumulative_sum_checked(frequencies.take(order))
    total = counted[-1].as_py() if len(counted) else 0
    if total == 0:
        return None

    def value_at(place: int) -> float:
        """The value at a place among all, from 0."""
        return float(values[bisect_right(counted, place, key=lambda scalar: scalar.as_py())].as_py())

    results = []
    for percentage in percentages:
        place = (total - 1) * percentage
        low, high = floor(place), ceil(place)
        first, last = value_at(low), value_at(high)
        results.append(first if low == high or first == last else (high - place) * first + (place - low) * last)
    return results


def _binary(sketches: Iterable[bytes | None]) -> _Column:
    import pyarrow as pa

    return pa.array(list(sketches), type=pa.binary())


# DOUBLE and FLOAT as text in Java's notation, for the numbers whose digits are not those of DuckDB by proof.
#
# Java 19 and later print the shortest digits that round to the number, two at least. Java 17 and 18 print others for
# some numbers from 2^53 on (FLOAT: from 2^24 on), and for some powers of two. Both are computed; a number for which
# they differ has no text that holds on every Spark, and is refused.

#: Powers of ten that Java 17 takes for insignificant in a whole number, by the power of two of its last digit.
_INSIGNIFICANT = (0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 9,
                  10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15, 15, 16, 16, 16, 17, 17,
                  17, 18, 18, 18, 19)  # fmt: skip
_DOUBLE_BITS, _FLOAT_BITS = 53, 24
#: The least numbers, the least ones with all bits, and half the distance of the least ones as a power of two.
_LEAST = {_DOUBLE_BITS: 2.0**-1074, _FLOAT_BITS: 2.0**-149}
_LEAST_NORMAL = {_DOUBLE_BITS: 2.0**-1022, _FLOAT_BITS: 2.0**-126}
_LEAST_HALF = {_DOUBLE_BITS: -1075, _FLOAT_BITS: -150}
#: The greatest power of two of a whole number whose digits Java 17 takes from an integer.
_GREATEST_WHOLE = 62


def _double_texts(column: _Column) -> _Column:
    """Returns the texts of a column of DOUBLE, which Arrow's chunks hold. Raises ``ValueError`` for a number that Java
    releases print differently.
    """
    return _texts(column, _double_digits)


def _float_texts(column: _Column) -> _Column:
    """Returns the texts of a column of FLOAT, as ``_double_texts``."""
    return _texts(column, _float_digits)


def _texts(column: _Column, digits_of: Any) -> _Column:
    import pyarrow as pa

    texts = [None if value is None else _text(value, digits_of) for value in _rows(column)]
    return pa.array(texts, type=pa.string())


def _text(value: float, digits_of: Any) -> str:
    if math.isnan(value):
        return "NaN"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if math.isinf(value):
        return f"{sign}Infinity"
    if value == 0:
        return f"{sign}0.0"
    digits, exponent = digits_of(abs(value))
    if -3 <= exponent < 7:
        whole, _, rest = f"{digits[0]}.{digits[1:]}".partition(".") if exponent == 0 else ("", "", "")
        if exponent > 0:
            whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
        elif exponent < 0:
            whole, rest = "0", "0" * (-exponent - 1) + digits
        return f"{sign}{whole}.{rest or '0'}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _double_digits(value: float) -> tuple[str, int]:
    return _agreed(value, repr(value), _DOUBLE_BITS)


def _float_digits(value: float) -> tuple[str, int]:
    import numpy as np

    return _agreed(value, str(np.float32(value)), _FLOAT_BITS)


def _agreed(value: float, shortest: str, bits: int) -> tuple[str, int]:
    """Returns the digits of a number, and the power of ten of the first one, if Java's releases agree on them."""
    older = _older_digits(value, bits)
    newer = _split(shortest)
    is_least = value == _LEAST[bits]
    if is_least:
        newer = _split(f"{value:.1e}")
    # Two digits of a number below the normal ones may be nearer than its only one.
    if newer != older or (value < _LEAST_NORMAL[bits] and len(newer[0]) == 1 and not is_least):
        raise ValueError(
            f"[DUCKDB_UNSUPPORTED] The number {value!r} as text is not supported on DuckDB: Java 17 and later releases "
            "of Java print different digits."
        )
    return newer


def _split(text: str) -> tuple[str, int]:
    """Returns the significant digits of a number's text, and the power of ten of the first one."""
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    significant = digits.lstrip("0")
    first = len(whole) - 1 - (len(digits) - len(significant)) + int(exponent or 0)
    return significant.rstrip("0"), first


def _older_digits(value: float, bits: int) -> tuple[str, int]:
    """Returns the digits of Java 17: those between the neighbours of a number, where a power of two has a narrower
    interval on both sides.
    """
    (raw,) = struct.unpack(">q", struct.pack(">d", value))
    fraction, biased = raw & ((1 << 52) - 1), raw >> 52
    whole, power = (fraction | 1 << 52, biased - 1075) if biased else (fraction, -1074)
    trailing = (whole & -whole).bit_length() - 1
    odd, shift = whole >> trailing, power + trailing
    greatest = odd.bit_length() - 1 + shift
    if shift >= 0 and greatest <= _GREATEST_WHOLE:
        return _whole_digits(odd << shift, greatest - bits - 1)
    half = max(greatest - bits, _LEAST_HALF[bits]) - (odd == 1)
    base = min(shift, half)
    number, margin, unit = odd << (shift - base), 1 << (half - base), 1
    number, margin, unit = (number << base, margin << base, 1) if base >= 0 else (number, margin, 1 << -base)
    exponent = math.floor(math.log10(value))
    if exponent >= 0:
        unit *= 10**exponent
    else:
        number, margin = number * 10**-exponent, margin * 10**-exponent
    if number < unit:
        number, margin, exponent = number * 10, margin * 10, exponent - 1
    elif number >= 10 * unit:
        unit, exponent = unit * 10, exponent + 1
    return _between_neighbours(number, margin, unit, exponent, bits == _FLOAT_BITS and value < 1 << _FLOAT_BITS)


def _between_neighbours(number: int, margin: int, unit: int, exponent: int, to_even: bool) -> tuple[str, int]:
    """Returns the digits up to the first at which the rest is near enough to a neighbour. A rest of exactly one half
    rounds to an even digit where Java computes in 64 bits (``to_even``), and down elsewhere.
    """
    digits = []
    is_first = True
    while True:
        digit, rest = divmod(number, unit)
        digits.append(digit)
        number, margin, tens = rest * 10, margin * 10, unit * 10
        is_low, is_high = number < margin, number + margin > tens
        # In scientific notation there are at least two digits.
        if (is_low or is_high) and not (is_first and not -3 <= exponent < 7):
            break
        is_first = False
    is_half = 2 * number == tens
    rises = is_high and (not is_low or 2 * number > tens or (is_half and to_even and digits[-1] % 2 == 1))
    text = str(int("".join(map(str, digits))) + rises)
    return text.rstrip("0"), exponent + len(text) - len(digits)


def _whole_digits(number: int, uncertain: int) -> tuple[str, int]:
    places = _INSIGNIFICANT[uncertain] if 1 < uncertain < len(_INSIGNIFICANT) else 0
    if places:
        number, rest = divmod(number, 10**places)
        number += rest >= 10**places >> 1
    text = str(number)
    return text.rstrip("0"), len(text) - 1 + places


# Spark's HASH (Murmur3 of 32 bits) and XXHASH64 of columns. The hash of one column is the seed of the next one.

_Array = Any

_MURMUR = (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35)
_XX = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_CANONICAL_NAN = {8: 0x7FF8000000000000, 4: 0x7FC00000}


def _murmur_of_ints(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of INT values. The value NULL has its seed's hash, here and below."""
    return _column_hashes(values, seeds, lambda v, seed: _finished(_mixed(_bits(v, 4), seed), 4), 4)


def _murmur_of_longs(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of BIGINT values."""
    return _column_hashes(values, seeds, _murmur_of_long_bits, 4)


def _murmur_of_floats(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of FLOAT values: 0.0 and -0.0 have one hash, and so have all NaN."""
    return _column_hashes(values, seeds, lambda v, seed: _finished(_mixed(_float_bits(v, 4), seed), 4), 4)


def _murmur_of_doubles(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of DOUBLE values, as ``_murmur_of_floats``."""
    return _column_hashes(values, seeds, lambda v, seed: _murmur_of_long_bits(_float_bits(v, 8), seed), 4)


def _murmur_of_binary(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of BINARY values: four bytes at a time, and then each remaining byte with its sign."""
    return _column_hashes(values, seeds, _murmur_of_bytes, 4)


def _xx_of_ints(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of INT values."""
    return _column_hashes(values, seeds, lambda v, seed: _xx_of_int_bits(_bits(v, 4), seed), 8)


def _xx_of_longs(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of BIGINT values."""
    return _column_hashes(values, seeds, lambda v, seed: _xx_of_long_bits(_bits(v, 8), seed), 8)


def _xx_of_floats(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of FLOAT values."""
    return _column_hashes(values, seeds, lambda v, seed: _xx_of_int_bits(_float_bits(v, 4), seed), 8)


def _xx_of_doubles(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of DOUBLE values."""
    return _column_hashes(values, seeds, lambda v, seed: _xx_of_long_bits(_float_bits(v, 8), seed), 8)


def _xx_of_binary(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of BINARY values."""
    return _column_hashes(values, seeds, _xx_of_bytes, 8)


def _column_hashes(values: _Column, seeds: _Column, hash_of: Callable[[_Array, _Array], _Array], width: int) -> _Column:
    """Returns the hashes of a column. Arithmetic is in 64 bits without a sign, which wrap."""
    import numpy as np
    import pyarrow as pa

    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    seeds = seeds.combine_chunks() if isinstance(seeds, pa.ChunkedArray) else seeds
    unsigned, signed = (np.uint32, np.int32) if width == 4 else (np.uint64, np.int64)
    seed = seeds.to_numpy(zero_copy_only=False).astype(signed).view(unsigned).astype(np.uint64)
    has_value = values.is_valid().to_numpy(zero_copy_only=False)
    result = seed.copy()
    with np.errstate(over="ignore"):
        result[has_value] = hash_of(values.drop_null(), seed[has_value])
    return pa.array(result.astype(unsigned).view(signed))


def _bits(values: _Column, width: int) -> _Array:
    import numpy as np

    unsigned, signed = (np.uint32, np.int32) if width == 4 else (np.uint64, np.int64)
    return values.to_numpy(zero_copy_only=False).astype(signed).view(unsigned).astype(np.uint64)


def _float_bits(values: _Column, width: int) -> _Array:
    import numpy as np

    numbers = values.to_numpy(zero_copy_only=False) + 0.0
    bits = numbers.view(np.uint32 if width == 4 else np.uint64).astype(np.uint64)
    return np.where(np.isnan(numbers), np.uint64(_CANONICAL_NAN[width]), bits)


def _u64(number: int) -> np.uint64:
    import numpy as np

    return np.uint64(number)


def _rotated(x: _Array, count: int, width: int) -> _Array:
    rotated = (x << _u64(count)) | (x >> _u64(width - count))
    return rotated & _u64(0xFFFFFFFF) if width == 32 else rotated


def _times(x: _Array, factor: int) -> _Array:
    """Returns a product in 32 bits."""
    return (x * _u64(factor)) & _u64(0xFFFFFFFF)


def _mixed(word: _Array, seed: _Array) -> _Array:
    """Returns Murmur3's state after a word of 32 bits."""
    state = seed ^ _times(_rotated(_times(word, _MURMUR[0]), 15, 32), _MURMUR[1])
    return (_times(_rotated(state, 13, 32), 5) + _u64(_MURMUR[2])) & _u64(0xFFFFFFFF)


def _finished(state: _Array, length: _Array | int) -> _Array:
    state = state ^ (_u64(length) if isinstance(length, int) else length)
    state = _times(state ^ (state >> _u64(16)), _MURMUR[3])
    state = _times(state ^ (state >> _u64(13)), _MURMUR[4])
    return state ^ (state >> _u64(16))


def _murmur_of_long_bits(values: _Column, seed: _Array) -> _Array:
    import numpy as np

    bits = values if isinstance(values, np.ndarray) else _bits(values, 8)
    return _finished(_mixed(bits >> _u64(32), _mixed(bits & _u64(0xFFFFFFFF), seed)), 8)


def _words(matrix: _Array, place: int, width: int) -> _Array:
    """Returns the number in ``width`` bytes of each row, the lowest byte first."""
    import numpy as np

    word = np.ascontiguousarray(matrix[:, place : place + width])
    return word.view(np.uint32 if width == 4 else np.uint64)[:, 0].astype(np.uint64)


def _murmur_of_bytes(values: _Column, seed: _Array) -> _Array:
    import numpy as np

    state = seed.copy()
    for rows, matrix, length in _by_width(values):
        part = state[rows]
        for place in range(0, matrix.shape[1], 4):
            part = np.where(place + 4 <= length, _mixed(_words(matrix, place, 4), part), part)
        first = length // 4 * 4
        for offset in range(3):
            has_byte = first + offset < length
            if not has_byte.any():
                break
            byte = matrix[np.arange(len(matrix)), np.where(has_byte, first + offset, 0)]
            word = byte.view(np.int8).astype(np.int32).view(np.uint32).astype(np.uint64)
            part = np.where(has_byte, _mixed(word, part), part)
        state[rows] = _finished(part, length.astype(np.uint64))
    return state


def _by_width(values: _Column) -> list[tuple[_Array, _Array, _Array]]:
    """Returns the numbers of the rows, their bytes and lengths, of rows of similar lengths: one long value would fill
    up all others.
    """
    import numpy as np
    import pyarrow.compute as pc

    if not len(values):
        return []
    length = pc.binary_length(values).to_numpy(zero_copy_only=False)
    groups = np.ceil(np.log2(np.maximum(length, 8))).astype(np.int64)
    parts = []
    for group in np.unique(groups):
        rows = np.nonzero(groups == group)[0]
        width = int(-(-int(length[rows].max()) // 8) * 8)
        joined = b"".join(value.as_py().ljust(width, b"\0") for value in values.take(rows))
        parts.append((rows, np.frombuffer(joined, dtype=np.uint8).reshape(len(rows), width), length[rows]))
    return parts


def _xx_avalanche(state: _Array) -> _Array:
    state = (state ^ (state >> _u64(33))) * _u64(_XX[1])
    state = (state ^ (state >> _u64(29))) * _u64(_XX[2])
    return state ^ (state >> _u64(32))


def _xx_of_int_bits(bits: _Array, seed: _Array) -> _Array:
    return _xx_avalanche(_xx_int(seed + _u64(_XX[4]) + _u64(4), bits))


def _xx_of_long_bits(bits: _Array, seed: _Array) -> _Array:
    return _xx_avalanche(_xx_long(seed + _u64(_XX[4]) + _u64(8), bits))


def _xx_int(state: _Array, word: _Array) -> _Array:
    return _rotated(state ^ (word * _u64(_XX[0])), 23, 64) * _u64(_XX[1]) + _u64(_XX[2])


def _xx_round(state: _Array, word: _Array) -> _Array:
    return _rotated(state + word * _u64(_XX[1]), 31, 64) * _u64(_XX[0])


def _xx_long(state: _Array, word: _Array) -> _Array:
    return _rotated(state ^ _xx_round(_u64(0), word), 27, 64) * _u64(_XX[0]) + _u64(_XX[3])


def _xx_of_bytes(values: _Column, seed: _Array) -> _Array:
    import numpy as np

    result = seed.copy()
    for rows, matrix, length in _by_width(values):
        result[rows] = _xx_avalanche(_xx_rest(matrix, length, _xx_blocks(matrix, length, seed[rows])))
    return result if len(values) else np.zeros(0, dtype=np.uint64)


def _xx_blocks(matrix: _Array, length: _Array, seed: _Array) -> _Array:
    """Returns the state after the blocks of 32 bytes, with the length."""
    import numpy as np

    lanes = [seed + _u64(_XX[0]) + _u64(_XX[1]), seed + _u64(_XX[1]), seed + _u64(0), seed - _u64(_XX[0])]
    for place in range(0, matrix.shape[1] - 31, 32):
        is_full = place + 32 <= length
        for lane in range(4):
            mixed = _xx_round(lanes[lane], _words(matrix, place + 8 * lane, 8))
            lanes[lane] = np.where(is_full, mixed, lanes[lane])
    state = _rotated(lanes[0], 1, 64) + _rotated(lanes[1], 7, 64) + _rotated(lanes[2], 12, 64)
    state = state + _rotated(lanes[3], 18, 64)
    for lane in lanes:
        state = (state ^ _xx_round(_u64(0), lane)) * _u64(_XX[0]) + _u64(_XX[3])
    return np.where(length >= 32, state, seed + _u64(_XX[4])) + length.astype(np.uint64)


def _xx_rest(matrix: _Array, length: _Array, state: _Array) -> _Array:
    """Returns the state after the bytes that fill no block: by eight, four and one."""
    import numpy as np

    first = length // 32 * 32
    for place in range(0, matrix.shape[1], 8):
        state = np.where((place >= first) & (place + 8 <= length), _xx_long(state, _words(matrix, place, 8)), state)
    first = length // 8 * 8
    for place in range(0, matrix.shape[1], 8):
        state = np.where((place == first) & (place + 4 <= length), _xx_int(state, _words(matrix, place, 4)), state)
    first = length // 4 * 4
    for offset in range(3):
        has_byte = first + offset < length
        if not has_byte.any():
            break
        byte = matrix[np.arange(len(matrix)), np.where(has_byte, first + offset, 0)].astype(np.uint64)
        mixed = _rotated(state ^ (byte * _u64(_XX[4])), 11, 64) * _u64(_XX[0])
        state = np.where(has_byte, mixed, state)
    return state


#: The functions of DuckDB by name, with the types of their arguments and of their results.
_HASH_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    f"rw_{hash_name}_of_{kind}": (function, (type_, seed_type), seed_type)
    for hash_name, seed_type, functions in (
        (
            "murmur",
            "INTEGER",
            (_murmur_of_ints, _murmur_of_longs, _murmur_of_floats, _murmur_of_doubles, _murmur_of_binary),
        ),
        ("xx", "BIGINT", (_xx_of_ints, _xx_of_longs, _xx_of_floats, _xx_of_doubles, _xx_of_binary)),
    )
    for (kind, type_), function in zip(
        (("ints", "INTEGER"), ("longs", "BIGINT"), ("floats", "FLOAT"), ("doubles", "DOUBLE"), ("bytes", "BLOB")),
        functions,
        strict=True,
    )
}


# Functions of texts that DuckDB lacks, or that it computes in another way than Spark.

_MOST_BASE = 36
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 1 << 64
#: Soundex: the code of each letter from A on. H and W (7) do not part two letters of one code; vowels (0) do.
_SOUNDEX = "01230127022455012623017202"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_CHARACTERS = r"(?:[A-Za-z0-9_.!~*'():@&=+$,;/-]|%[0-9A-Fa-f]{2})*"
#: URLs that java.net.URI reads in the same way as this pattern.
_URL = re.compile(
    rf"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>(?:(?P<userinfo>[A-Za-z0-9_.!~*'();:&=+$,-]*)@)?"
    rf"(?P<host>(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?|(?:(?:25[0-5]|2[0-4]\d|1?[1-9]?\d)\.){{3}}"
    rf"(?:25[0-5]|2[0-4]\d|1?[1-9]?\d))(?::\d{{1,5}})?)(?P<path>(?:/{_CHARACTERS})?)"
    rf"(?:\?(?P<query>(?:{_CHARACTERS[:-1]}|\?)*))?(?:#(?P<ref>(?:{_CHARACTERS[:-1]}|\?)*))?",
    re.ASCII,
)
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def _mapped(function: Callable[..., Any], arrow_type: str, arity: int) -> Callable[..., _Column]:
    """Returns a function of columns that maps rows; a row with a NULL gives NULL. DuckDB counts its parameters."""

    def of_columns(*columns: _Column) -> _Column:
        import pyarrow as pa

        rows = zip(*(_rows(column) for column in columns), strict=True)
        results = [None if None in row else function(*row) for row in rows]
        return pa.array(results, type=pa.type_for_alias(arrow_type))

    functions: dict[int, Callable[..., _Column]] = {
        1: lambda a: of_columns(a),
        2: lambda a, b: of_columns(a, b),
        3: lambda a, b, c: of_columns(a, b, c),
    }
    return functions[arity]


def _conv(text: str, from_base: int, to_base: int) -> str | None:
    """Returns a number's text in another base: of its leading digits, without a sign, in 64 bits."""
    digits = text.strip(" ")
    bases = range(2, _MOST_BASE + 1)
    if from_base not in bases or abs(to_base) not in bases or not digits:
        return None
    is_negative = digits.startswith("-")
    value = 0
    for character in digits[is_negative:]:
        digit = _DIGITS.find(character.upper()) if character.isascii() else -1
        if not 0 <= digit < from_base:
            break
        value = value * from_base + digit
        if value >= _UNSIGNED:
            raise ValueError(f"[ARITHMETIC_OVERFLOW] CONV of {text}: the number is too large for 64 bits.")
    is_high = value >= _UNSIGNED >> 1
    if is_negative and to_base > 0:
        value = _UNSIGNED - 1 if is_high else -value % _UNSIGNED
    if to_base < 0 and is_high:
        value, is_negative = _UNSIGNED - value, True
    shown = ""
    while value or not shown:
        value, digit = divmod(value, abs(to_base))
        shown = _DIGITS[digit] + shown
    return f"-{shown}" if is_negative and to_base < 0 else shown


def _soundex(text: str) -> str:
    """Returns the code of a text that begins with a letter of A to Z, and any other text as it is."""
    if not text or not (text[0].isascii() and text[0].isalpha()):
        return text
    code = text[0].upper()
    last = _SOUNDEX[ord(code) - ord("A")]
    for character in text[1:].encode():
        letter = chr(character).upper()
        if not "A" <= letter <= "Z":
            last = "0"
            continue
        digit = _SOUNDEX[ord(letter) - ord("A")]
        if digit == "7":
            continue
        if digit not in ("0", last):
            code += digit
            if len(code) == 4:
                break
        last = digit
    return code.ljust(4, "0")


def _crc32(value: bytes) -> int:
    return zlib.crc32(value)


def _sha2(value: bytes, bits: int) -> str:
    return hashlib.new(f"sha{bits}", value).hexdigest()


def _unhex(text: str) -> bytes | None:
    if not re.fullmatch("[0-9A-Fa-f]*", text, re.ASCII):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _url_encoded(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def _url_part(url: str, part: str) -> str | None:
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"[DUCKDB_UNSUPPORTED] PARSE_URL of the text '{url}' is not supported on DuckDB.")
    if part == "FILE":
        query = match["query"]
        return match["path"] if query is None else f"{match['path']}?{query}"
    name = part.lower()
    return match[name] if name.upper() == part and name in _URL.groupindex else None


def _url_value(url: str, part: str, key: str) -> str | None:
    query = _url_part(url, "QUERY")
    if part != "QUERY" or query is None:
        return None
    if not _PLAIN_KEY.fullmatch(key):
        raise ValueError(f"[DUCKDB_UNSUPPORTED] PARSE_URL with the key '{key}' is not supported on DuckDB.")
    match = re.search(f"(?:&|^){key}=([^&]*)", query)
    return None if match is None else match[1]


#: The functions of DuckDB by name, with the types of their arguments and of their results.
_TEXT_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    name: (_mapped(function, arrow_type, len(types)), types, returned)
    for name, function, types, returned, arrow_type in (
        ("rw_conv", _conv, ("VARCHAR", "INTEGER", "INTEGER"), "VARCHAR", "string"),
        ("rw_soundex", _soundex, ("VARCHAR",), "VARCHAR", "string"),
        ("rw_crc32", _crc32, ("BLOB",), "BIGINT", "int64"),
        ("rw_sha2", _sha2, ("BLOB", "INTEGER"), "VARCHAR", "string"),
        ("rw_unhex", _unhex, ("VARCHAR",), "BLOB", "binary"),
        ("rw_url_encoded", _url_encoded, ("VARCHAR",), "VARCHAR", "string"),
        ("rw_url_part", _url_part, ("VARCHAR", "VARCHAR"), "VARCHAR", "string"),
        ("rw_url_value", _url_value, ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR", "string"),
    )
}


#: The functions by name, with the types of their arguments and of their results.
_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    "rw_theta_of_integers": (_of_values, ("BIGINT[]", "INTEGER"), "BLOB"),
    "rw_theta_of_doubles": (_of_values, ("DOUBLE[]", "INTEGER"), "BLOB"),
    "rw_theta_of_texts": (_of_values, ("VARCHAR[]", "INTEGER"), "BLOB"),
    "rw_theta_union": (_union, ("BLOB[]", "INTEGER"), "BLOB"),
    "rw_theta_intersection": (_intersection, ("BLOB[]",), "BLOB"),
    "rw_theta_difference": (_difference, ("BLOB[]",), "BLOB"),
    "rw_weighted_percentiles": (_weighted_percentiles, ("STRUCT(v DOUBLE, n BIGINT)[]", "DOUBLE[]"), "DOUBLE[]"),
    **_HASH_FUNCTIONS,
    **_TEXT_FUNCTIONS,
    "rw_other_double_text": (_double_texts, ("DOUBLE",), "VARCHAR"),
    "rw_other_float_text": (_float_texts, ("FLOAT",), "VARCHAR"),
    "rw_theta_estimate": (_estimate, ("BLOB",), "BIGINT"),
}
