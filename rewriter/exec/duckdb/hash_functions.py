"""Spark's HASH (Murmur3 of 32 bits) and XXHASH64 of columns. The hash of one column is the seed of the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

#: A column of Arrow, and what numpy knows of it.
_Column = Any
_Array = Any

_MURMUR = (0xCC9E2D51, 0x1B873593, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35)
_XX = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_CANONICAL_NAN = {8: 0x7FF8000000000000, 4: 0x7FC00000}


def _murmur_of_ints(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of INT values. The value NULL has its seed's hash, here and below."""
    return _hashed(values, seeds, lambda v, seed: _finished(_mixed(_bits(v, 4), seed), 4), 4)


def _murmur_of_longs(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of BIGINT values."""
    return _hashed(values, seeds, _murmur_of_long_bits, 4)


def _murmur_of_floats(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of FLOAT values: 0.0 and -0.0 have one hash, and so have all NaN."""
    return _hashed(values, seeds, lambda v, seed: _finished(_mixed(_float_bits(v, 4), seed), 4), 4)


def _murmur_of_doubles(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of DOUBLE values, as ``_murmur_of_floats``."""
    return _hashed(values, seeds, lambda v, seed: _murmur_of_long_bits(_float_bits(v, 8), seed), 4)


def _murmur_of_bytes(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's HASH of BINARY values: four bytes at a time, and then each remaining byte with its sign."""
    return _hashed(values, seeds, _chained_murmur, 4)


def _xx_of_ints(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of INT values."""
    return _hashed(values, seeds, lambda v, seed: _xx_of_int_bits(_bits(v, 4), seed), 8)


def _xx_of_longs(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of BIGINT values."""
    return _hashed(values, seeds, lambda v, seed: _xx_of_long_bits(_bits(v, 8), seed), 8)


def _xx_of_floats(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of FLOAT values."""
    return _hashed(values, seeds, lambda v, seed: _xx_of_int_bits(_float_bits(v, 4), seed), 8)


def _xx_of_doubles(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of DOUBLE values."""
    return _hashed(values, seeds, lambda v, seed: _xx_of_long_bits(_float_bits(v, 8), seed), 8)


def _xx_of_bytes(values: _Column, seeds: _Column) -> _Column:
    """Returns Spark's XXHASH64 of BINARY values."""
    return _hashed(values, seeds, _chained_xx, 8)


def _hashed(values: _Column, seeds: _Column, hash_of: Callable[[_Array, _Array], _Array], width: int) -> _Column:
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


def _chained_murmur(values: _Column, seed: _Array) -> _Array:
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


def _chained_xx(values: _Column, seed: _Array) -> _Array:
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
HASH_FUNCTIONS: dict[str, tuple[Callable[..., _Column], tuple[str, ...], str]] = {
    f"rw_{hash_name}_of_{kind}": (function, (type_, seed_type), seed_type)
    for hash_name, seed_type, functions in (
        (
            "murmur",
            "INTEGER",
            (_murmur_of_ints, _murmur_of_longs, _murmur_of_floats, _murmur_of_doubles, _murmur_of_bytes),
        ),
        ("xx", "BIGINT", (_xx_of_ints, _xx_of_longs, _xx_of_floats, _xx_of_doubles, _xx_of_bytes)),
    )
    for (kind, type_), function in zip(
        (("ints", "INTEGER"), ("longs", "BIGINT"), ("floats", "FLOAT"), ("doubles", "DOUBLE"), ("bytes", "BLOB")),
        functions,
        strict=True,
    )
}
