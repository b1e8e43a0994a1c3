"""The bytes of theta sketches of Apache DataSketches: reads them, checked, and writes them as Java does.

A sketch has a header, the bound theta, and the hashes below it, which are a sample of all hashes. Version 3 of the
format has the hashes as they are, version 4 has their distances with few bits each. Both begin with the number of
words of the header, the version, the family, and in byte 5 with flags.
"""

from __future__ import annotations

from typing import Any


def read_sketch(data: bytes) -> Any:
    """Reads a sketch. Raises ``ValueError`` for bytes that are none; DuckDB passes its message on to ``own_errors``."""
    from datasketches import compact_theta_sketch

    problem = problem_of_header(data)
    sketch = None
    if problem is None:
        try:
            sketch = compact_theta_sketch.deserialize(data)
        except (ValueError, IndexError, RuntimeError) as error:
            problem = str(error)
        else:
            problem = _problem_of_hashes(sketch)
    if problem is not None:
        raise ValueError(f"[THETA_INVALID_INPUT_SKETCH_BUFFER] This is no theta sketch: {problem}.")
    return sketch


#: The third byte of a theta sketch, and the flags of byte 5 for no value and for hashes in their order.
_FAMILY, _EMPTY, _ORDERED = 3, 0x04, 0x10
GREATEST_THETA = 2**63 - 1


def problem_of_header(data: bytes) -> str | None:
    """Returns why bytes cannot be a sketch. The library trusts the number of hashes: it allocates memory for as many,
    and reads behind the end of the bytes.
    """
    length = len(data)
    if length < 8:
        return f"it has {length} bytes"
    longs, version, family, bits, count_bytes, flags = data[:6]
    if family != _FAMILY:
        return f"its family is {family}, not {_FAMILY}"
    if version == 3:
        if longs not in (1, 2, 3):
            return f"its header has {longs} words"
        if flags & _EMPTY:
            return None if longs == 1 else "it is marked as empty, and is not"
        if length < (16 if longs == 1 else 8 * longs):
            return f"it has {length} bytes"
        hashes = 1 if longs == 1 else int.from_bytes(data[8:12], "little")
        needed = 8 * longs + 8 * hashes
    elif version == 4:
        start = 8 * longs + count_bytes
        if longs not in (1, 2) or not 1 <= bits <= 63 or not 1 <= count_bytes <= 4 or length < start:
            return "its header is damaged"
        hashes = int.from_bytes(data[8 * longs : start], "little")
        needed = start + (bits * hashes + 7) // 8
    else:
        return f"its version is {version}, not 3 or 4"
    return None if length >= needed else f"it has {length} bytes, and {hashes} hashes need {needed}"


def _problem_of_hashes(sketch: Any) -> str | None:
    """Returns why what was read is no sketch: hashes are between 0 and theta, and differ."""
    if sketch.num_retained == 1 and not sketch.is_estimation_mode():
        # The library passes over a hash of 0.
        return None if all(0 < only <= GREATEST_THETA for only in sketch) and list(sketch) else "its hash is damaged"
    import numpy as np

    if not 0 < sketch.theta64 <= GREATEST_THETA:
        return "its theta is out of range"
    count = sketch.num_retained
    if count == 0:
        return None
    data = sketch.serialize()
    hashes = np.frombuffer(data, "<u8", count, 8 * data[0])
    if not data[5] & _ORDERED:
        hashes = np.sort(hashes)
    is_ascending = bool((hashes[1:] > hashes[:-1]).all())
    is_below = int(hashes[0]) > 0 and int(hashes[-1]) < sketch.theta64
    return None if is_ascending and is_below else "its hashes are damaged"


def compact_bytes(sketch: Any) -> bytes:
    """Returns the bytes that Java writes: an empty sketch without the hash of its seed, a mark of a single hash, and a
    rate of 1 beside theta where there is no hash.
    """
    data: bytes = sketch.serialize(compress=True)
    if sketch.is_empty():
        return data[:6] + b"\0\0"
    if data[:2] == b"\3\3":
        return data[:12] + _RATE + data[16:]
    return data[:5] + bytes((data[5] | _SINGLE,)) + data[6:] if len(data) == SINGLE_LENGTH else data


#: The flag of a sketch of one hash in byte 5, and its length: 8 bytes and the hash. 1 as FLOAT.
_SINGLE, SINGLE_LENGTH, _RATE = 0x20, 16, b"\0\0\x80?"
